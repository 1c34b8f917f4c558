//! The batch: what a logger writes at once, and the unit of durability.
//!
//! Invariants:
//! - A batch starts on a block of its segment, is a multiple of a block long and lies in one segment.
//! - Batch n + 1 of a stream is written only after batch n is durable. Hence at most the last batch of a stream is torn,
//!   and a damaged batch with a sound one behind it was damaged afterwards.
//! - Every record of the stream up to the end of the batch has a stamp at or below the batch's; every later one is above
//!   it.
//! - A certificate (B, s) says: when this batch was closed, every record of stream B at or below s was durable in B, and
//!   every later one will be above s. Its reach says how far the log of B was durable then. Both are true whether or not the
//!   batch becomes durable.
//! - `csn` was the durable frontier over all streams when the batch was closed: nothing at or below it may ever be lost.
//!
//! The checksum of the header covers the header; records carry their own. The padding behind the last record is zero or
//! left over from before, and is never read.

use crate::ids::{Generation, LogOffset, Stamp, StreamId, WallTime};
use crate::io::BLOCK_BYTES;
use crate::log::format::bytes::{u16_at, u32_at, u64_at};
use crate::log::format::layout::RecordLayout;
use crate::log::format::{LogIdentity, faults};

/// The header's length without certificates.
const FIXED_BYTES: usize = 64;
/// The length of one certificate.
const CERTIFICATE_BYTES: usize = 16;
/// The first format of a header: lengths of eight bytes each.
const FORMAT_WITHOUT_TIME: u16 = 0;
/// The second one: lengths of four bytes each, and the time.
const FORMAT_WITH_TIME: u16 = 1;
/// The third one: certificates say how far the other stream's log is durable.
const FORMAT_WITH_REACH: u16 = 2;
/// The present one: the records are compact.
const FORMAT_COMPACT: u16 = 3;
/// More than any segment.
const LENGTH_MAX: u64 = u32::MAX as u64;
/// How much is read at once where a batch is looked for.
const SEARCHED_BYTES: u64 = 64 * BLOCK_BYTES as u64;
/// How many streams a generation may have: the header of a batch has room for a certificate about each other stream,
/// and must fit in a block.
pub const STREAMS_MAX: u32 = ((BLOCK_BYTES - FIXED_BYTES) / CERTIFICATE_BYTES) as u32 + 1;

/// Returns the length of a batch's header where there are `streams`; the first record follows.
pub const fn header_bytes(streams: u32) -> usize {
    assert!(streams > 0 && streams <= STREAMS_MAX, "number of streams out of range");
    FIXED_BYTES + CERTIFICATE_BYTES * (streams as usize - 1)
}

/// What the logger of an active stream certifies about another stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The other stream.
    pub stream: StreamId,
    /// Every record of it at or below this is durable, every later one will be above; zero for one that is not idle.
    pub stamp: Stamp,
    /// Its log is durable up to here at least, every such record included. On disk a number of blocks, that saturates.
    pub reach: LogOffset,
}

/// The head of a batch. Generation, stream and the length of the header come from the [`LogIdentity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// Where the batch starts.
    pub offset: LogOffset,
    /// The whole batch in bytes: header, records, padding.
    pub length: u64,
    /// From the start of the batch to the end of its last record, in bytes; the header's length where there is none.
    pub record_bytes: u64,
    /// The stream's stamp when the batch was closed.
    pub stamp: Stamp,
    /// CSN, the durable frontier over all streams, when the batch was closed.
    pub csn: Stamp,
    /// The time of day then.
    pub closed: WallTime,
    /// How the records are laid out.
    pub layout: RecordLayout,
}

/// Why bytes are not the header of the expected batch.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The bytes end within the header.
    #[error("a batch header has {expected} bytes, only {found} are left")]
    Truncated {
        /// The bytes at hand.
        found: usize,
        /// The header's length.
        expected: usize,
    },
    /// Nothing was ever written here.
    #[error("there is no batch: the bytes are zero")]
    Blank,
    /// Damaged, or of another database.
    #[error("the checksum of the batch header is {found:08x} and should be {expected:08x}")]
    Checksum {
        /// The checksum in the header.
        found: u32,
        /// The checksum of its bytes in this database.
        expected: u32,
    },
    /// A batch of another life of the database, left over in a recycled segment.
    #[error("the batch belongs to generation {found}, not to {expected}")]
    Generation {
        /// The generation in the header.
        found: Generation,
        /// The segment's generation.
        expected: Generation,
    },
    /// A batch of another stream.
    #[error("the batch belongs to stream {found}, not to {expected}")]
    Stream {
        /// The stream in the header.
        found: StreamId,
        /// The segment's stream.
        expected: StreamId,
    },
    /// A batch of another place, left over in a recycled segment.
    #[error("the batch belongs at offset {found}, not at {expected}")]
    Offset {
        /// The offset in the header.
        found: LogOffset,
        /// The offset of the bytes.
        expected: LogOffset,
    },
    /// The header is sealed and makes no sense.
    #[error("the batch header is malformed: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
}

impl BatchError {
    /// Whether the bytes are a sound header of another place, as a recycled segment holds them.
    pub fn is_left_over(&self) -> bool {
        matches!(self, BatchError::Generation { .. } | BatchError::Stream { .. } | BatchError::Offset { .. })
    }
}

impl BatchHeader {
    /// Writes the header, with `certificates`, to `out`, which has [`header_bytes`] for the log's streams.
    pub fn encode(&self, log: &LogIdentity, certificates: &[Certificate], out: &mut [u8]) {
        assert_eq!(out.len(), header_bytes(log.streams()));
        assert_eq!(self.check(out.len()), Ok(()));
        assert!(certificates.len() < log.streams() as usize, "{} certificates", certificates.len());
        let header_bytes = out.len() as u16;
        out[FIXED_BYTES..].fill(0);
        out[4..6].copy_from_slice(&header_bytes.to_le_bytes());
        set_layout(out, self.layout);
        out[8..16].copy_from_slice(&log.generation().0.to_le_bytes());
        out[16..20].copy_from_slice(&log.stream().0.to_le_bytes());
        out[20..24].copy_from_slice(&(certificates.len() as u32).to_le_bytes());
        out[24..32].copy_from_slice(&self.offset.0.to_le_bytes());
        out[32..36].copy_from_slice(&(self.length as u32).to_le_bytes());
        out[36..40].copy_from_slice(&(self.record_bytes as u32).to_le_bytes());
        out[40..48].copy_from_slice(&self.closed.0.to_le_bytes());
        out[48..56].copy_from_slice(&self.stamp.0.to_le_bytes());
        out[56..64].copy_from_slice(&self.csn.0.to_le_bytes());
        for (certificate, slot) in certificates.iter().zip(out[FIXED_BYTES..].chunks_exact_mut(CERTIFICATE_BYTES)) {
            assert!(certificate.stream != log.stream() && certificate.stream.0 < log.streams(), "{certificate:?}");
            let reach = u32::try_from(certificate.reach.0 / BLOCK_BYTES as u64).unwrap_or(u32::MAX);
            slot[..4].copy_from_slice(&certificate.stream.0.to_le_bytes());
            slot[4..8].copy_from_slice(&reach.to_le_bytes());
            slot[8..].copy_from_slice(&certificate.stamp.0.to_le_bytes());
        }
        let checksum = log.header_seal().checksum(&out[4..]);
        out[..4].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads the header of the batch at `offset` from the start of `bytes`, which may go on behind it.
    pub fn decode<'a>(
        bytes: &'a [u8],
        log: &LogIdentity,
        offset: LogOffset,
    ) -> Result<(BatchHeader, Certificates<'a>), BatchError> {
        let expected = header_bytes(log.streams());
        let bytes = bytes.get(..expected).ok_or(BatchError::Truncated { found: bytes.len(), expected })?;
        let (found, expected) = (u32_at(bytes, 0), log.header_seal().checksum(&bytes[4..]));
        if found != expected {
            let blank = bytes.iter().all(|byte| *byte == 0);
            return Err(if blank { BatchError::Blank } else { BatchError::Checksum { found, expected } });
        }
        check_place(bytes, log, offset)?;
        let (length, record_bytes, closed) = match format_of(bytes) {
            FORMAT_WITHOUT_TIME => (u64_at(bytes, 32), u64_at(bytes, 40), WallTime::UNKNOWN),
            FORMAT_WITH_TIME.. => (u32_at(bytes, 32).into(), u32_at(bytes, 36).into(), WallTime(u64_at(bytes, 40))),
        };
        let (stamp, csn) = (Stamp(u64_at(bytes, 48)), Stamp(u64_at(bytes, 56)));
        let layout = record_layout(bytes);
        let header = BatchHeader { offset, length, record_bytes, stamp, csn, closed, layout };
        header.check(bytes.len()).map_err(|what| BatchError::Malformed { what })?;
        Ok((header, Certificates::check(bytes, log)?))
    }

    /// Whether `bytes` name generation, stream and `offset` as a header would: a cheap test before [`BatchHeader::decode`].
    pub(crate) fn names(bytes: &[u8], log: &LogIdentity, offset: LogOffset) -> bool {
        bytes.len() >= FIXED_BYTES && check_place(bytes, log, offset).is_ok()
    }

    /// Returns where the first batch with a sound header begins, at `from` or behind it and before `end`; `read` fills a buffer
    /// from an offset of the log.
    pub(crate) fn find<E>(
        log: &LogIdentity,
        from: LogOffset,
        end: LogOffset,
        mut read: impl FnMut(&mut [u8], LogOffset) -> Result<(), E>,
    ) -> Result<Option<LogOffset>, E> {
        let (mut offset, mut bytes) = (from, Vec::new());
        while offset < end {
            bytes.resize(SEARCHED_BYTES.min(end.0 - offset.0) as usize, 0);
            read(&mut bytes, offset)?;
            for block in bytes.chunks(BLOCK_BYTES) {
                if BatchHeader::names(block, log, offset) && BatchHeader::decode(block, log, offset).is_ok() {
                    return Ok(Some(offset));
                }
                offset.0 += BLOCK_BYTES as u64;
            }
        }
        Ok(None)
    }

    /// Returns the end of the batch.
    pub fn end(&self) -> LogOffset {
        LogOffset(self.offset.0 + self.length)
    }

    fn check(&self, header_bytes: usize) -> Result<(), &'static str> {
        let block = BLOCK_BYTES as u64;
        if !self.offset.0.is_multiple_of(block) {
            return Err("it does not start on a block");
        }
        if self.length == 0 || !self.length.is_multiple_of(block) || self.offset.0.checked_add(self.length).is_none() {
            return Err("its length is not a number of blocks");
        }
        if self.length > LENGTH_MAX {
            return Err("it is longer than any segment");
        }
        if self.record_bytes < header_bytes as u64 || self.record_bytes > self.length {
            return Err("its records do not fit");
        }
        if self.stamp > Stamp::MAX || self.csn > Stamp::MAX {
            return Err("a stamp is out of range");
        }
        Ok(())
    }
}

fn check_place(bytes: &[u8], log: &LogIdentity, offset: LogOffset) -> Result<(), BatchError> {
    let found = Generation(u64_at(bytes, 8));
    if faults::is_elsewhere(found != log.generation()) {
        return Err(BatchError::Generation { found, expected: log.generation() });
    }
    let found = StreamId(u32_at(bytes, 16));
    if found != log.stream() {
        return Err(BatchError::Stream { found, expected: log.stream() });
    }
    let found = LogOffset(u64_at(bytes, 24));
    if faults::is_elsewhere(found != offset) {
        return Err(BatchError::Offset { found, expected: offset });
    }
    if usize::from(u16_at(bytes, 4)) != header_bytes(log.streams()) {
        return Err(BatchError::Malformed { what: "its header is for another number of streams" });
    }
    if format_of(bytes) > FORMAT_COMPACT {
        return Err(BatchError::Malformed { what: "its header has a format that is not known" });
    }
    Ok(())
}

fn format_of(bytes: &[u8]) -> u16 {
    u16_at(bytes, 6)
}

/// Returns how the records are laid out of the batch that begins with `bytes`.
pub(in crate::log::format) fn record_layout(bytes: &[u8]) -> RecordLayout {
    match bytes.get(..8).map_or(FORMAT_COMPACT, format_of) {
        ..FORMAT_COMPACT => RecordLayout::Fixed,
        FORMAT_COMPACT.. => RecordLayout::Compact,
    }
}

/// Writes the format into a header: the records of a tail that is written again stay as they are.
pub(in crate::log::format) fn set_layout(header: &mut [u8], layout: RecordLayout) {
    let format = match layout {
        RecordLayout::Fixed => FORMAT_WITH_REACH,
        RecordLayout::Compact => FORMAT_COMPACT,
    };
    header[6..8].copy_from_slice(&format.to_le_bytes());
}

/// The certificates of a batch.
#[derive(Clone, Debug)]
pub struct Certificates<'a> {
    bytes: &'a [u8],
}

impl<'a> Certificates<'a> {
    fn check(header: &'a [u8], log: &LogIdentity) -> Result<Certificates<'a>, BatchError> {
        let malformed = |what| Err(BatchError::Malformed { what });
        let count = u32_at(header, 20) as usize;
        if count >= log.streams() as usize {
            return malformed("it has more certificates than there are other streams");
        }
        let certificates = Certificates { bytes: &header[FIXED_BYTES..FIXED_BYTES + count * CERTIFICATE_BYTES] };
        let has_reach = format_of(header) >= FORMAT_WITH_REACH;
        for Certificate { stream, stamp, reach } in certificates.clone() {
            if stream == log.stream() || stream.0 >= log.streams() || stamp > Stamp::MAX {
                return malformed("a certificate is about no other stream");
            }
            if !has_reach && reach.0 > 0 {
                return malformed("a certificate has bytes that nobody wrote");
            }
        }
        if header[FIXED_BYTES + certificates.bytes.len()..].iter().any(|byte| *byte != 0) {
            return malformed("it has bytes that nobody wrote");
        }
        Ok(certificates)
    }
}

impl Iterator for Certificates<'_> {
    type Item = Certificate;

    fn next(&mut self) -> Option<Certificate> {
        let (slot, rest) = self.bytes.split_at_checked(CERTIFICATE_BYTES)?;
        self.bytes = rest;
        let reach = LogOffset(u64::from(u32_at(slot, 4)) * BLOCK_BYTES as u64);
        Some(Certificate { stream: StreamId(u32_at(slot, 0)), stamp: Stamp(u64_at(slot, 8)), reach })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::DatabaseId;

    fn log(database: u128, generation: u64, stream: u32) -> LogIdentity {
        LogIdentity::new(DatabaseId(database), Generation(generation), StreamId(stream), 4)
    }

    const OFFSET: LogOffset = LogOffset(3 * 4096);

    fn header() -> BatchHeader {
        BatchHeader {
            offset: OFFSET,
            length: 8192,
            record_bytes: 5000,
            stamp: Stamp(40),
            csn: Stamp(30),
            closed: WallTime(77),
            layout: RecordLayout::Compact,
        }
    }

    const fn certificate(stream: u32, stamp: u64, blocks: u64) -> Certificate {
        Certificate { stream: StreamId(stream), stamp: Stamp(stamp), reach: LogOffset(blocks * BLOCK_BYTES as u64) }
    }

    const CERTIFICATES: [Certificate; 2] = [certificate(0, 40, 7), certificate(3, 0, 12)];

    fn sample() -> Vec<u8> {
        let mut bytes = vec![0xff; header_bytes(4)];
        header().encode(&log(1, 2, 1), &CERTIFICATES, &mut bytes);
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = sample();
        bytes.extend([0xee; 100]);
        let (read, certificates) = BatchHeader::decode(&bytes, &log(1, 2, 1), OFFSET).unwrap();
        assert_eq!(read, header());
        assert_eq!(read.end(), LogOffset(5 * 4096));
        assert_eq!(certificates.collect::<Vec<_>>(), CERTIFICATES);
    }

    fn seal(bytes: &mut [u8]) {
        let checksum = log(1, 2, 1).header_seal().checksum(&bytes[4..]);
        bytes[..4].copy_from_slice(&checksum.to_le_bytes());
    }

    #[test]
    fn earlier_formats_are_read() {
        let certificates = [certificate(0, 40, 0), certificate(3, 12, 0)];
        let mut bytes = vec![0; header_bytes(4)];
        header().encode(&log(1, 2, 1), &certificates, &mut bytes);
        for (format, closed) in [(FORMAT_WITH_TIME, header().closed), (FORMAT_WITHOUT_TIME, WallTime::UNKNOWN)] {
            bytes[6..8].copy_from_slice(&format.to_le_bytes());
            if format == FORMAT_WITHOUT_TIME {
                bytes[32..40].copy_from_slice(&8192_u64.to_le_bytes());
                bytes[40..48].copy_from_slice(&5000_u64.to_le_bytes());
            }
            seal(&mut bytes);
            let (read, found) = BatchHeader::decode(&bytes, &log(1, 2, 1), OFFSET).unwrap();
            assert_eq!(read, BatchHeader { closed, layout: RecordLayout::Fixed, ..header() });
            assert_eq!(found.collect::<Vec<_>>(), certificates);
            let mut reaching = bytes.clone();
            reaching[68] = 1;
            seal(&mut reaching);
            let error = BatchHeader::decode(&reaching, &log(1, 2, 1), OFFSET).unwrap_err();
            assert!(matches!(error, BatchError::Malformed { .. }), "{error}");
        }
    }

    #[test]
    fn a_reach_saturates() {
        let mut bytes = vec![0; header_bytes(4)];
        header().encode(&log(1, 2, 1), &[certificate(0, 0, 1 << 40)], &mut bytes);
        let mut read = BatchHeader::decode(&bytes, &log(1, 2, 1), OFFSET).unwrap().1;
        assert_eq!(read.next(), Some(certificate(0, 0, u32::MAX.into())));
    }

    #[test]
    fn a_lone_stream_has_no_room_for_certificates() {
        let log = LogIdentity::new(DatabaseId(1), Generation(1), StreamId(0), 1);
        let mut bytes = vec![0; header_bytes(1)];
        assert_eq!(bytes.len(), 64);
        header().encode(&log, &[], &mut bytes);
        assert_eq!(BatchHeader::decode(&bytes, &log, OFFSET).unwrap().1.count(), 0);
    }

    #[test]
    fn the_widest_header_fits_a_block() {
        assert_eq!(header_bytes(STREAMS_MAX), BLOCK_BYTES);
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let mut bytes = sample();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let error = BatchHeader::decode(&bytes, &log(1, 2, 1), OFFSET).unwrap_err();
            assert!(matches!(error, BatchError::Checksum { .. }), "bit {bit}: {error}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn the_error_says_what_is_wrong() {
        let bytes = sample();
        let decode = |log: LogIdentity, offset| BatchHeader::decode(&bytes, &log, offset).unwrap_err();
        assert!(matches!(decode(log(7, 2, 1), OFFSET), BatchError::Checksum { .. }));
        let error = decode(log(1, 3, 1), OFFSET);
        assert_eq!(error, BatchError::Generation { found: Generation(2), expected: Generation(3) });
        assert!(error.is_left_over());
        let error = decode(log(1, 2, 2), OFFSET);
        assert_eq!(error, BatchError::Stream { found: StreamId(1), expected: StreamId(2) });
        let error = decode(log(1, 2, 1), LogOffset(0));
        assert_eq!(error, BatchError::Offset { found: OFFSET, expected: LogOffset(0) });
    }

    #[test]
    fn short_and_blank_bytes_are_told_apart() {
        let bytes = sample();
        for length in 0..bytes.len() {
            let error = BatchHeader::decode(&bytes[..length], &log(1, 2, 1), OFFSET).unwrap_err();
            assert_eq!(error, BatchError::Truncated { found: length, expected: bytes.len() });
        }
        let error = BatchHeader::decode(&[0; 4096], &log(1, 2, 1), OFFSET).unwrap_err();
        assert_eq!(error, BatchError::Blank);
    }

    #[test]
    fn a_resealed_header_without_sense_is_refused() {
        let damage: [(&str, usize, &[u8]); 10] = [
            ("header length", 4, &[80]),
            ("certificate count", 20, &[4]),
            ("length not in blocks", 32, &[1]),
            ("length zero", 32, &[0; 4]),
            ("format unknown", 6, &[4]),
            ("first format, length too large", 6, &[0, 0]),
            ("records beyond the end", 36, &[1, 32]),
            ("records within the header", 36, &[8, 0]),
            ("stamp out of range", 55, &[0xff]),
            ("certificate about itself", 64, &[1]),
        ];
        for (what, at, new) in damage {
            let mut bytes = sample();
            bytes[at..at + new.len()].copy_from_slice(new);
            seal(&mut bytes);
            let error = BatchHeader::decode(&bytes, &log(1, 2, 1), OFFSET).unwrap_err();
            assert!(matches!(error, BatchError::Malformed { .. }), "{what}: {error}");
        }
    }

    #[test]
    fn random_headers_never_panic() {
        let mut random = fastrand::Rng::with_seed(2);
        for _ in 0..20_000 {
            let mut bytes = sample();
            for _ in 0..random.usize(1..16) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            seal(&mut bytes);
            if let Ok((header, certificates)) = BatchHeader::decode(&bytes, &log(1, 2, 1), OFFSET) {
                assert!(header.end() > header.offset);
                assert!(certificates.count() < 4);
            }
        }
    }
}
