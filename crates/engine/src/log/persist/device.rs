//! The segment that a logger appends to.
//!
//! Invariants:
//! - Appends are gapless: each starts where the last one ended, so a hole can only be a fault of the device.
//! - Small appends never meet blocks that no write has reached: those take twice as long, because the file system has
//!   metadata to change. Where the preparer had no time to fill the file, zeros are written ahead of them in larger pieces;
//!   the first segment after an open is always such a file.
//! - Whatever fails is reported with the file's name and is final; this type never tries twice.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::LARGE_BATCH_BYTES;
use super::preparer::Blank;
use crate::error::LogFailure;
use crate::ids::LogOffset;
use crate::io::{BLOCK_BYTES, Disk, File, OpenMode};
use crate::log::format::segment::{self, SegmentError, SegmentHeader};

/// What is written ahead at once: a small part of what that many bytes of single blocks take.
#[repr(align(4096))]
struct Zeros([u8; 32 * BLOCK_BYTES]);

static ZEROS: Zeros = Zeros([0; 32 * BLOCK_BYTES]);

/// An open segment.
pub(crate) struct Device {
    header: SegmentHeader,
    file: Arc<dyn File>,
    path: PathBuf,
    /// Where the next batch goes.
    end: LogOffset,
    /// Everything before it was written once.
    written: LogOffset,
}

impl From<SegmentError> for LogFailure {
    fn from(error: SegmentError) -> LogFailure {
        match error {
            SegmentError::Io { action, path, source } => LogFailure::device(action, path, source),
            unsound => LogFailure::Stopped(unsound.to_string()),
        }
    }
}

impl Device {
    /// Turns a blank into the segment of `header`: durable and empty when this returns.
    pub(crate) fn install(
        disk: &dyn Disk,
        directory: &Path,
        blank: Blank,
        header: SegmentHeader,
        mode: OpenMode,
    ) -> Result<Device, LogFailure> {
        let mut block = vec![0; segment::HEADER_BYTES];
        let path = segment::install(disk, &*blank.file, &blank.path, directory, &header, &mut block)?;
        let zeroed = blank.zeroed.saturating_sub(segment::HEADER_BYTES as u64);
        drop(blank);
        let file = disk.open(&path, mode).map_err(|source| LogFailure::device("open", &path, source))?;
        Ok(Device { end: header.base, written: LogOffset(header.base.0 + zeroed), header, file, path })
    }

    /// Fails where the segment no longer lies at its path: nobody would find there what is written to it.
    pub(crate) fn expect_in_place(&self) -> Result<(), LogFailure> {
        match self.file.lies_at(&self.path).map_err(|source| LogFailure::device("look at", &self.path, source))? {
            true => Ok(()),
            false => Err(LogFailure::Displaced { path: self.path.clone() }),
        }
    }

    /// Whether a batch that ends at `end` lies wholly within the segment.
    pub(crate) fn has_room(&self, end: LogOffset) -> bool {
        end <= self.header.capacity_end()
    }

    /// How much of the room for batches is taken, in bytes.
    pub(crate) fn used(&self) -> u64 {
        self.end.0 - self.header.base.0
    }

    /// Writes a batch, given in one or two parts.
    pub(crate) fn append(&mut self, offset: LogOffset, parts: [&[u8]; 2]) -> Result<(), LogFailure> {
        assert_eq!(offset, self.end, "{}: a gap in the log", self.path.display());
        self.write_ahead(parts.iter().map(|part| part.len() as u64).sum())?;
        let mut end = offset;
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            self.write(part, end)?;
            end = LogOffset(end.0 + part.len() as u64);
        }
        assert!(self.has_room(end), "{}: a batch beyond the segment's end", self.path.display());
        self.end = end;
        Ok(())
    }

    /// Makes sure that the next `bytes` meet blocks that were written before, where that helps and there is space for it.
    fn write_ahead(&mut self, bytes: u64) -> Result<(), LogFailure> {
        let end = LogOffset(self.end.0 + bytes);
        if bytes < LARGE_BATCH_BYTES {
            while self.written < end {
                let left = self.header.capacity_end().0 - self.written.0;
                let zeros = &ZEROS.0[..ZEROS.0.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
                match self.write(zeros, self.written) {
                    // Nothing depends on zeros: the batch itself may be short enough.
                    Err(refused) if refused.is_full() => break,
                    written => written?,
                }
                self.written.0 += zeros.len() as u64;
            }
        }
        self.written = self.written.max(end);
        Ok(())
    }

    fn write(&self, bytes: &[u8], offset: LogOffset) -> Result<(), LogFailure> {
        let written = self.file.write_at(bytes, self.header.position(offset));
        written.map_err(|source| LogFailure::device("write", &self.path, source))
    }

    /// Makes what was appended durable.
    pub(crate) fn sync(&self) -> Result<(), LogFailure> {
        self.file.sync().map_err(|source| LogFailure::device("sync", &self.path, source))
    }
}
