//! The walk over the records of a batch.
//!
//! Invariants:
//! - What it gives is sound and lies behind one another; nothing behind an unsound record is given.
//! - Every record is checked for the place where it stands.
//!
//! Absent: which records follow each other in order, and what an unsound one means (recovery/, operate/).

use std::marker::PhantomData;

use crate::ids::{LogOffset, Stamp};
use crate::log::format::LogIdentity;
use crate::log::format::batch::{header_bytes, record_layout};
use crate::log::format::dependency::Dependency;
use crate::log::format::layout::RecordLayout;
use crate::log::format::record::{self, Entry, RecordError};

/// Goes through what stands in a batch: each entry with its offset in the log, up to the first that is unsound, which is given as
/// an error. Records carry dependencies of type `D`.
#[derive(Debug)]
pub struct Records<'b, D: Dependency = Stamp> {
    log: LogIdentity,
    batch: LogOffset,
    bytes: &'b [u8],
    layout: RecordLayout,
    at: usize,
    dependency: PhantomData<D>,
}

impl<'b, D: Dependency> Records<'b, D> {
    /// Returns the walk over the batch at offset `batch`; `bytes` begin with its header and end with its last record.
    pub fn new(log: &LogIdentity, batch: LogOffset, bytes: &'b [u8]) -> Records<'b, D> {
        let layout = record_layout(bytes);
        Records { log: *log, batch, bytes, layout, at: header_bytes(log.streams()), dependency: PhantomData }
    }

    /// Returns how many bytes of the batch were found sound so far, its header included.
    pub fn sound_bytes(&self) -> usize {
        self.at
    }
}

impl<'b, D: Dependency> Iterator for Records<'b, D> {
    type Item = (LogOffset, Result<Entry<'b, D>, RecordError>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let offset = LogOffset(self.batch.0 + self.at as u64);
        let entry = record::parse(rest, self.log.seal(offset), self.layout);
        match &entry {
            Ok(entry) => self.at += entry.len(),
            // Nothing behind it is given.
            Err(_) => self.bytes = &self.bytes[..self.at],
        }
        Some((offset, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{DatabaseId, Epoch, Generation, StreamId};
    use crate::log::format::batch::set_layout;
    use crate::log::format::payload::PayloadKind;
    use crate::log::format::record::{RecordHeader, encode, encoded_len, write_skip};

    const BATCH: LogOffset = LogOffset(8192);

    fn log() -> LogIdentity {
        LogIdentity::new(DatabaseId(9), Generation(1), StreamId(0), 2)
    }

    /// A batch of records without writes, of these stamps; a zero stands for a skip.
    fn batch(stamps: &[u64]) -> Vec<u8> {
        let mut bytes = vec![0; header_bytes(2)];
        set_layout(&mut bytes, RecordLayout::Compact);
        for stamp in stamps {
            let at = bytes.len();
            let seal = log().seal(LogOffset(BATCH.0 + at as u64));
            let header = RecordHeader { stamp: Stamp(*stamp), raw_dep: Stamp::ZERO, epoch: Epoch(1), write_count: 0 };
            bytes.resize(at + encoded_len(&header, 0), 0);
            match stamp {
                0 => write_skip(&mut bytes[at..]),
                _ => encode(&mut bytes[at..], &header, PayloadKind::Values, seal, |_| 0),
            }
        }
        bytes
    }

    fn stamp((_, entry): (LogOffset, Result<Entry<'_>, RecordError>)) -> Option<u64> {
        match entry.ok()? {
            Entry::Record(record) => Some(record.header().stamp.0),
            Entry::Part(_) => None,
            Entry::Skip(_) => Some(0),
        }
    }

    #[test]
    fn everything_sound_is_given_in_order() {
        let bytes = batch(&[1, 0, 2]);
        let mut records = Records::<Stamp>::new(&log(), BATCH, &bytes);
        assert_eq!(records.by_ref().map(stamp).collect::<Vec<_>>(), [Some(1), Some(0), Some(2)]);
        assert_eq!(records.sound_bytes(), bytes.len());
    }

    #[test]
    fn nothing_behind_an_unsound_record_is_given() {
        let (mut bytes, first) = (batch(&[1, 2, 3]), batch(&[1]).len());
        bytes[first + 20] ^= 1;
        let mut records = Records::<Stamp>::new(&log(), BATCH, &bytes);
        assert_eq!(records.by_ref().map(stamp).collect::<Vec<_>>(), [Some(1), None]);
        assert_eq!(records.sound_bytes(), first);
        assert!(records.next().is_none());
    }

    #[test]
    fn a_marker_has_no_record() {
        let bytes = batch(&[]);
        assert!(Records::<Stamp>::new(&log(), BATCH, &bytes).next().is_none());
        assert!(Records::<Stamp>::new(&log(), BATCH, &bytes[..8]).next().is_none(), "cut off in its header");
    }
}
