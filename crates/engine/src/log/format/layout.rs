//! How the bytes of records are laid out: as this program writes them, or as earlier ones did.

/// How records are laid out. A batch says which one its records have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordLayout {
    /// With fields of fixed width; it is only read.
    Fixed,
    /// The present one.
    Compact,
}
