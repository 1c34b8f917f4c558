//! The sound batches of a segment, also those behind damage.
//!
//! A batch is written only after the one before is durable. So an unsound batch with a sound one behind it was damaged
//! afterwards, and one with nothing behind it may have been torn by a crash.

use crate::error::RecoveryError;
use crate::ids::LogOffset;
use crate::io::BLOCK_BYTES;
use crate::log::format::batch::BatchHeader;
use crate::log::format::segment::Segment;

/// How much is read at once where a batch is looked for.
const SEARCHED_BYTES: u64 = 64 * BLOCK_BYTES as u64;

/// Returns where the first batch with a sound header begins, at `from` or behind it, and before `end`.
pub(in crate::operate) fn next_batch(
    segment: &Segment,
    from: LogOffset,
    end: LogOffset,
) -> Result<Option<LogOffset>, RecoveryError> {
    let (log, mut offset, mut bytes) = (&segment.header.log, from, Vec::new());
    while offset < end {
        bytes.resize(SEARCHED_BYTES.min(end.0 - offset.0) as usize, 0);
        read(segment, &mut bytes, offset)?;
        for block in bytes.chunks(BLOCK_BYTES) {
            if BatchHeader::names(block, log, offset) && BatchHeader::decode(block, log, offset).is_ok() {
                return Ok(Some(offset));
            }
            offset.0 += BLOCK_BYTES as u64;
        }
    }
    Ok(None)
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
