//! What a transaction depends on: where a crash takes one of its reads, it must take the transaction as well.
//!
//! The type is the protocol's choice. It is gathered while the transaction reads (log/gathering/), carried by its record, and
//! decides when it may be acknowledged and whether it survives. The scalar stamp beside it gives the order per key, whatever
//! the protocol.
//!
//! # LSN vectors
//!
//! The LSN vector of a transaction (Taurus, section 3.1): of each stream the last record that it may depend on.
//!
//! The LSN of a record is its stamp. It rises strictly with the position in the stream, and both are drawn in one step, so that
//! either orders the records of a stream; a stamp is a shorter number, and one that everything else knows.
//!
//! ```text
//! all varint; in a record that is marked: count varint, count x { stream varint, LSN - all varint }
//! ```
//!
//! Invariants:
//! - Streams ascend, and every LSN that is named is above `all`, which holds for the streams that are not. A record is marked
//!   where one is named. So of each vector there is one encoding; that of a vector that names none is that of the stamp `all`;
//!   and a vector whose dependencies are durable for the most part is short (the paper's compression, with an anchor in each
//!   record).

use std::fmt;

use osier_memory::LANES_MAX;
use smallvec::SmallVec;

use crate::ids::{Stamp, StreamId};
use crate::log::format::bytes::u64_at;
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

    /// Returns what a record says whose protocol is not known: every dependency is a vector, in its bytes. `None` where it is
    /// none of this protocol's.
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

/// A vector of LSNs, one for each stream. The default is zero for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LsnVector {
    /// Of every stream at least this.
    all: Stamp,
    /// Those that are above it.
    above: SmallVec<[(StreamId, Stamp); 3]>,
}

impl LsnVector {
    /// Returns the vector that has this LSN for each stream.
    pub(crate) fn of_all(all: Stamp) -> LsnVector {
        LsnVector { all, above: SmallVec::new() }
    }

    /// Returns what it has of every stream at least.
    #[inline]
    pub fn all(&self) -> Stamp {
        self.all
    }

    /// Returns the LSNs above that, by streams.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (StreamId, Stamp)> {
        self.above.iter().copied()
    }

    /// Raises the LSN of every stream.
    #[inline]
    pub(crate) fn raise_all(&mut self, stamp: Stamp) {
        if stamp > self.all {
            self.all = stamp;
            self.above.retain(|(_, lsn)| *lsn > stamp);
        }
    }

    /// Takes the LSNs in `lanes` for those streams that have a bit in `streams`, which are all that are above [`LsnVector::all`].
    pub(crate) fn set_above(&mut self, mut streams: u64, lanes: &[u64]) {
        self.above.clear();
        while streams != 0 {
            let stream = streams.trailing_zeros();
            self.above.push((StreamId(stream), Stamp(lanes[stream as usize])));
            streams &= streams - 1;
        }
    }

    /// Whether it is at or below `others`, an LSN for each stream, in all of them.
    #[inline]
    pub(crate) fn is_within(&self, least: Stamp, others: &[Stamp]) -> bool {
        let reaches =
            |(stream, lsn): &(StreamId, Stamp)| others.get(stream.0 as usize).is_some_and(|other| lsn <= other);
        self.all <= least && self.above.iter().all(reaches)
    }

    /// Returns how many bytes a vector of so many streams has at most.
    pub(crate) fn encoded_len_max(streams: usize) -> usize {
        let number = varint_len(Stamp::MAX.0);
        number + 1 + streams * (1 + number)
    }
}

impl fmt::Display for LsnVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.all)?;
        self.above.iter().try_for_each(|(stream, lsn)| write!(f, " [{stream}]={lsn}"))
    }
}

impl Dependency for LsnVector {
    #[inline]
    fn greatest(&self) -> Stamp {
        self.above.iter().map(|(_, lsn)| *lsn).fold(self.all, Stamp::max)
    }

    fn encoded_len(&self) -> usize {
        if self.above.is_empty() {
            return varint_len(self.all.0);
        }
        let named =
            |(stream, lsn): &(StreamId, Stamp)| varint_len(u64::from(stream.0)) + varint_len(lsn.0 - self.all.0);
        varint_len(self.all.0) + varint_len(self.above.len() as u64) + self.above.iter().map(named).sum::<usize>()
    }

    fn encode(&self, bytes: &mut [u8]) {
        let mut at = put_varint(bytes, self.all.0);
        if self.above.is_empty() {
            return;
        }
        at += put_varint(&mut bytes[at..], self.above.len() as u64);
        for (stream, lsn) in &self.above {
            at += put_varint(&mut bytes[at..], u64::from(stream.0));
            at += put_varint(&mut bytes[at..], lsn.0 - self.all.0);
        }
    }

    fn is_vector(&self) -> bool {
        !self.above.is_empty()
    }

    fn split(bytes: &[u8], is_vector: bool) -> Option<(LsnVector, &[u8])> {
        let (all, rest) = split_varint(bytes)?;
        let mut vector = LsnVector::of_all(Stamp(all));
        if !is_vector {
            return Some((vector, rest));
        }
        let (count, mut rest) = split_varint(rest)?;
        if !(1..=LANES_MAX as u64).contains(&count) {
            return None;
        }
        let mut next = 0;
        for _ in 0..count {
            let (stream, behind) = split_varint(rest)?;
            let (distance, behind) = split_varint(behind)?;
            let lsn = all.checked_add(distance).filter(|_| distance > 0)?;
            if stream < next || stream >= LANES_MAX as u64 {
                return None;
            }
            vector.above.push((StreamId(stream as u32), Stamp(lsn)));
            (next, rest) = (stream + 1, behind);
        }
        Some((vector, rest))
    }

    /// A stamp: no record of that layout names streams.
    fn split_fixed(bytes: &[u8]) -> Option<(LsnVector, &[u8])> {
        let (all, rest) = Stamp::split_fixed(bytes)?;
        Some((LsnVector::of_all(all), rest))
    }

    fn of_vector(vector: &LsnVector) -> Option<LsnVector> {
        Some(vector.clone())
    }

    fn as_vector(&self) -> Option<&LsnVector> {
        Some(self)
    }

    fn names_streams_below(&self, streams: usize) -> bool {
        self.above.last().is_none_or(|(stream, _)| (stream.0 as usize) < streams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(all: u64, above: &[(u32, u64)]) -> LsnVector {
        LsnVector {
            all: Stamp(all),
            above: above.iter().map(|(stream, lsn)| (StreamId(*stream), Stamp(*lsn))).collect(),
        }
    }

    fn encoded(vector: &LsnVector) -> Vec<u8> {
        let mut bytes = vec![0; vector.encoded_len()];
        vector.encode(&mut bytes);
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let long: Vec<(u32, u64)> = (0..64).map(|stream| (stream, Stamp::MAX.0)).collect();
        for vector in [vector(0, &[]), vector(7, &[(0, 9), (2, 8)]), vector(0, &long), vector(Stamp::MAX.0, &[])] {
            let mut bytes = encoded(&vector);
            assert!(bytes.len() <= LsnVector::encoded_len_max(64), "{vector:?}");
            assert!(
                (0..bytes.len()).all(|length| LsnVector::split(&bytes[..length], vector.is_vector()).is_none()),
                "{vector:?}"
            );
            bytes.push(7);
            assert_eq!(LsnVector::split(&bytes, vector.is_vector()), Some((vector, &[7][..])));
        }
    }

    #[test]
    fn what_is_written_otherwise_is_refused() {
        assert_eq!(LsnVector::split(&encoded(&vector(7, &[(2, 8), (0, 9)])), true), None, "streams ascend");
        assert_eq!(LsnVector::split(&encoded(&vector(7, &[(2, 8), (2, 9)])), true), None, "each is named once");
        assert_eq!(LsnVector::split(&encoded(&vector(7, &[(2, 7)])), true), None, "only what is above is named");
        assert_eq!(LsnVector::split(&encoded(&vector(7, &[(64, 9)])), true), None, "there are 64 streams");
        assert_eq!(LsnVector::split(&[7, 0], true), None, "a record is marked where a stream is named");
        assert_eq!(Stamp::split(&encoded(&vector(7, &[(2, 8)])), true), None, "a stamp names none");
        assert_eq!(Stamp::split(&encoded(&vector(7, &[])), false), Some((Stamp(7), &[][..])));
    }

    #[test]
    fn it_is_within_what_is_at_least_as_great() {
        let one = vector(3, &[(1, 5)]);
        let within = |others: [u64; 3]| {
            let others = others.map(Stamp);
            one.is_within(others.into_iter().min().unwrap(), &others)
        };
        assert!(within([3, 5, 3]) && within([9, 9, 9]));
        assert!(!within([2, 5, 3]) && !within([3, 4, 3]));
        assert!(!vector(0, &[(3, 5)]).is_within(Stamp(9), &[Stamp(9); 3]), "a stream that there is not");
        assert!(one.names_streams_below(2) && !one.names_streams_below(1) && vector(3, &[]).names_streams_below(0));
    }

    #[test]
    fn what_all_have_is_not_named() {
        let mut raised = vector(3, &[(0, 4), (1, 6)]);
        raised.raise_all(Stamp(5));
        assert_eq!(raised, vector(5, &[(1, 6)]));
        raised.raise_all(Stamp(4));
        raised.set_above(0b101, &[7, 0, 8]);
        assert_eq!(raised, vector(5, &[(0, 7), (2, 8)]));
        assert_eq!((raised.greatest(), raised.to_string().as_str()), (Stamp(8), "5 [0]=7 [2]=8"));
    }
}
