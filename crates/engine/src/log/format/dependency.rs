//! What a transaction depends on: where a crash takes one of its reads, it must take the transaction as well.
//!
//! The type is the protocol's choice. It is gathered while the transaction reads (log/gathering/), carried by its record, and
//! decides when it may be acknowledged and whether it survives. The scalar stamp beside it gives the order per key, whatever
//! the protocol.

use std::fmt;

use crate::ids::Stamp;
use crate::log::format::bytes::u64_at;
use crate::log::format::lsn_vector::LsnVector;
use crate::log::format::varint::{put_varint, split_varint, varint_len};

/// What a transaction depends on. The default is nothing: a blind write. People read it in a dump of the log.
pub trait Dependency: Clone + fmt::Debug + fmt::Display + Default + PartialEq + Send + Sync + 'static {
    /// Returns the greatest stamp in it. The transaction's own exceeds it.
    fn greatest(&self) -> Stamp;

    /// Returns how many bytes it takes in the header of a record.
    fn encoded_len(&self) -> usize;

    /// Writes it to `bytes`, which are [`Dependency::encoded_len`] long.
    fn encode(&self, bytes: &mut [u8]);

    /// Whether it is encoded as a vector, of which the record is marked.
    fn is_vector(&self) -> bool {
        false
    }

    /// Reads what [`Dependency::encode`] wrote at the start of `bytes`, as a vector or not, and returns what is behind it; `None`
    /// where nothing was written like that. Of each dependency there is one encoding.
    fn split(bytes: &[u8], is_vector: bool) -> Option<(Self, &[u8])>;

    /// As [`Dependency::split`], of a record of [`RecordLayout::Fixed`](super::layout::RecordLayout::Fixed): only serial and
    /// Poplar wrote any.
    fn split_fixed(bytes: &[u8]) -> Option<(Self, &[u8])>;

    /// Returns what a record says whose protocol is not known: every dependency is a vector, in its bytes. `None` where it is none
    /// of this protocol's.
    fn of_vector(vector: &LsnVector) -> Option<Self>;

    /// Returns it, where it is a vector.
    fn as_vector(&self) -> Option<&LsnVector> {
        None
    }

    /// Whether every stream that it names is one of so many.
    fn names_streams_below(&self, _streams: usize) -> bool {
        true
    }
}

/// The greatest stamp that the transaction read, absences included: `raw_dep` of serial and Poplar.
impl Dependency for Stamp {
    #[inline]
    fn greatest(&self) -> Stamp {
        *self
    }

    #[inline]
    fn encoded_len(&self) -> usize {
        varint_len(self.0)
    }

    #[inline]
    fn encode(&self, bytes: &mut [u8]) {
        put_varint(bytes, self.0);
    }

    #[inline]
    fn split(bytes: &[u8], is_vector: bool) -> Option<(Stamp, &[u8])> {
        let (stamp, rest) = split_varint(bytes)?;
        (!is_vector).then_some((Stamp(stamp), rest))
    }

    #[inline]
    fn split_fixed(bytes: &[u8]) -> Option<(Stamp, &[u8])> {
        let (stamp, rest) = bytes.split_at_checked(size_of::<Stamp>())?;
        Some((Stamp(u64_at(stamp, 0)), rest))
    }

    #[inline]
    fn of_vector(vector: &LsnVector) -> Option<Stamp> {
        (!vector.is_vector()).then_some(vector.all())
    }
}
