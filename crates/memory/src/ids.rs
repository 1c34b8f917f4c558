//! The two order numbers that reach down into records and leaves.

use std::fmt;

/// The order number that a log protocol gives a transaction: an LSN, a TID or an SSN.
///
/// `Stamp::ZERO` precedes every transaction. A stamp fits in 61 bits, because the record word shares its 64 bits with
/// the lock and the dead bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

impl Stamp {
    /// Before every transaction.
    pub const ZERO: Stamp = Stamp(0);
    /// The largest stamp that a record word can hold.
    pub const MAX: Stamp = Stamp((1 << 61) - 1);

    /// The stamp that follows this one.
    pub fn next(self) -> Stamp {
        assert!(self < Stamp::MAX, "stamps are exhausted");
        Stamp(self.0 + 1)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The universal cut (Silo, section 4.1; see docs/protocols.md): a coarse clock that every transaction reads at its
/// serialization point. `{T : epoch(T) <= E}` is closed under every dependency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
