//! What a record says of its transaction: how to bring its effects about again. One file for each kind.

pub mod values;

/// Which kind of payload a record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadKind {
    /// The rows that the transaction wrote ([`values`]).
    Values,
}

impl PayloadKind {
    /// Returns the number that stands for it in a record.
    pub fn tag(self) -> u32 {
        match self {
            PayloadKind::Values => 0,
        }
    }

    /// Returns the kind that `tag` stands for.
    pub fn of(tag: u32) -> Option<PayloadKind> {
        (tag == PayloadKind::Values.tag()).then_some(PayloadKind::Values)
    }
}

/// Why the bytes of a payload make no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct PayloadError {
    /// What is wrong.
    pub what: &'static str,
}
