//! The segment that a logger appends to.
//!
//! Invariants:
//! - Appends are gapless: each starts where the last one ended, so a hole can only be a fault of the device.
//! - Whatever fails is reported with the file's name and is final; this type never tries twice.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::preparer::Blank;
use super::segment::{self, SegmentError, SegmentHeader};
use crate::ids::LogOffset;
use crate::io::{Disk, File, OpenMode};
use crate::log::LogFailure;

/// An open segment.
pub(crate) struct Device {
    header: SegmentHeader,
    file: Arc<dyn File>,
    path: PathBuf,
    /// Where the next batch goes.
    end: LogOffset,
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
        drop(blank);
        let file = disk.open(&path, mode).map_err(|source| LogFailure::device("open", &path, source))?;
        Ok(Device { end: header.base, header, file, path })
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
        let mut end = offset;
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let position = self.header.position(end);
            let written = self.file.write_at(part, position);
            written.map_err(|source| LogFailure::device("write", &self.path, source))?;
            end = LogOffset(end.0 + part.len() as u64);
        }
        assert!(self.has_room(end), "{}: a batch beyond the segment's end", self.path.display());
        self.end = end;
        Ok(())
    }

    /// Makes what was appended durable.
    pub(crate) fn sync(&self) -> Result<(), LogFailure> {
        self.file.sync().map_err(|source| LogFailure::device("sync", &self.path, source))
    }
}
