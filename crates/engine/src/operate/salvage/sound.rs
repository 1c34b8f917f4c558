//! The sound batches of a segment, also those behind damage.
//!
//! A batch is written only after the one before is durable. So an unsound batch with a sound one behind it was damaged
//! afterwards, and one with nothing behind it may have been torn by a crash.

use crate::error::RecoveryError;
use crate::ids::LogOffset;
use crate::io::BLOCK_BYTES;
use crate::log::format::batch::BatchHeader;
use crate::log::format::segment::{HEADER_BYTES, Segment};

/// Returns where the first batch with a sound header begins, at `from` or behind it, and before `end`.
pub(in crate::operate) fn next_batch(
    segment: &Segment,
    from: LogOffset,
    end: LogOffset,
) -> Result<Option<LogOffset>, RecoveryError> {
    BatchHeader::find(&segment.header.log, from, end, |buffer, offset| read(segment, buffer, offset))
}

/// Reads `buffer` full; what the file does not have reads as zeros.
pub(super) fn read(segment: &Segment, buffer: &mut [u8], offset: LogOffset) -> Result<(), RecoveryError> {
    let (position, mut read) = (segment.header.position(offset), 0);
    while read < buffer.len() {
        let some = segment.file.read_at(&mut buffer[read..], position + read as u64);
        match some.map_err(RecoveryError::io("read", &segment.path))? {
            0 => break,
            some => read += some,
        }
    }
    buffer[read..].fill(0);
    Ok(())
}

/// Goes through the sound batches of a segment.
pub(super) struct SoundBatches<'s> {
    segment: &'s Segment,
    offset: LogOffset,
    bytes: Vec<u8>,
}

impl<'s> SoundBatches<'s> {
    /// Begins at `from`, or where the segment does.
    pub(super) fn new(segment: &'s Segment, from: LogOffset) -> SoundBatches<'s> {
        SoundBatches { segment, offset: from.max(segment.header.base), bytes: Vec::new() }
    }

    /// Returns where the batch before ends, and the next batch, whose records are [`SoundBatches::bytes`].
    pub(super) fn next(&mut self) -> Result<Option<(LogOffset, BatchHeader)>, RecoveryError> {
        let (before, end) = (self.offset, self.segment.header.capacity_end());
        while self.offset < end {
            self.fill(BLOCK_BYTES as u64)?;
            let batch = BatchHeader::decode(&self.bytes, &self.segment.header.log, self.offset);
            if let Ok(batch) = batch.map(|(batch, _)| batch)
                && batch.end() <= end
            {
                self.fill(batch.record_bytes)?;
                assert!(before <= batch.offset && batch.offset < batch.end(), "batches follow each other: {batch:?}");
                self.offset = batch.end();
                return Ok(Some((before, batch)));
            }
            let behind = LogOffset(self.offset.0 + BLOCK_BYTES as u64);
            self.offset = next_batch(self.segment, behind, end)?.unwrap_or(end);
        }
        Ok(None)
    }

    /// Returns the bytes of the last batch, to the end of its last record.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn fill(&mut self, bytes: u64) -> Result<(), RecoveryError> {
        self.bytes.resize(bytes as usize, 0);
        read(self.segment, &mut self.bytes, self.offset)
    }
}

/// Returns how far the file of a segment has whole blocks.
pub(super) fn held(segment: &Segment) -> Result<LogOffset, RecoveryError> {
    let length = segment.file.len().map_err(RecoveryError::io("measure", &segment.path))?;
    let blocks = length.saturating_sub(HEADER_BYTES as u64) / BLOCK_BYTES as u64;
    Ok(LogOffset(segment.header.base.0 + blocks * BLOCK_BYTES as u64))
}
