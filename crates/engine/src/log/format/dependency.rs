//! What a transaction depends on: where a crash takes one of its reads, it must take the transaction as well.
//!
//! The type is the protocol's choice. It is gathered while the transaction reads, carried by its record, and decides when
//! it may be acknowledged and whether it survives. The scalar stamp beside it gives the order per key, whatever the
//! protocol.

use std::fmt;

use crate::ids::Stamp;
use crate::log::format::bytes::u64_at;

/// What a transaction depends on. The default is nothing: a blind write. People read it in a dump of the log.
pub trait Dependency: Clone + fmt::Debug + fmt::Display + Default + PartialEq + Send + Sync + 'static {
    /// Adds what committed with `stamp`.
    fn add(&mut self, stamp: Stamp);

    /// Returns the greatest stamp in it. The transaction's own exceeds it.
    fn greatest(&self) -> Stamp;

    /// Returns how many bytes it takes in the header of a record, a multiple of 8.
    fn encoded_len(&self) -> usize;

    /// Writes it to `bytes`, which are [`Dependency::encoded_len`] long.
    fn encode(&self, bytes: &mut [u8]);

    /// Reads what [`Dependency::encode`] wrote at the start of `bytes`; `None` where they are too short.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

/// The greatest stamp that the transaction read, absences included: `raw_dep` of serial and Poplar.
impl Dependency for Stamp {
    #[inline]
    fn add(&mut self, stamp: Stamp) {
        *self = stamp.max(*self);
    }

    #[inline]
    fn greatest(&self) -> Stamp {
        *self
    }

    #[inline]
    fn encoded_len(&self) -> usize {
        size_of::<Stamp>()
    }

    #[inline]
    fn encode(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.0.to_le_bytes());
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Option<Stamp> {
        (bytes.len() >= size_of::<Stamp>()).then(|| Stamp(u64_at(bytes, 0)))
    }
}
