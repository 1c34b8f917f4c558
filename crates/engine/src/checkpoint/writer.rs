//! Writes one part of a checkpoint: rows in, a file out.
//!
//! Invariants:
//! - Rows come in ascending order of (table, key), and lie so in the file.
//! - What [`PartWriter::finish`] reports is durable, its directory entry excepted, which [`super::task`] syncs.
//! - A page cache full of unsynced blocks would stall the log's syncs at the end: the file is synced every few blocks.
//!
//! Absent: where rows come from (scan.rs), and the manifest, without which nothing here counts.

use std::path::PathBuf;
use std::sync::Arc;

use super::CheckpointError;
use super::format::{self, BlockBuilder, HEADER_BYTES, PartIdentity, Totals};
use crate::ids::{Stamp, TableId};
use crate::io::{Disk, File, OpenMode};

/// A block is written when its rows have this many bytes.
const BLOCK_RAW_BYTES: usize = 256 << 10;
/// How much may be unsynced.
const SYNC_BYTES: u64 = 4 << 20;

/// A part that is being written.
pub(crate) struct PartWriter {
    part: PartIdentity,
    path: PathBuf,
    file: Arc<dyn File>,
    compress: bool,
    /// Mutation `CheckpointBeforeSync`.
    skip_sync: bool,
    block: BlockBuilder,
    totals: Totals,
    length: u64,
    synced: u64,
    out: Vec<u8>,
}

/// A part that is complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenPart {
    pub(crate) part: u32,
    pub(crate) bytes: u64,
    pub(crate) totals: Totals,
}

impl PartWriter {
    /// Begins the file at `path`.
    pub(crate) fn create(
        disk: &dyn Disk,
        path: PathBuf,
        part: PartIdentity,
        compress: bool,
        skip_sync: bool,
    ) -> Result<PartWriter, CheckpointError> {
        let file = disk.open(&path, OpenMode::Create).map_err(CheckpointError::io("create", &path))?;
        let mut writer = PartWriter {
            part,
            path,
            file,
            compress,
            skip_sync,
            block: BlockBuilder::default(),
            totals: Totals::default(),
            length: 0,
            synced: 0,
            out: part.encode(),
        };
        writer.write()?;
        assert_eq!(writer.length, HEADER_BYTES as u64);
        Ok(writer)
    }

    /// Whether the next row belongs into a new block: to be followed by [`PartWriter::flush`].
    pub(crate) fn is_full(&self) -> bool {
        self.block.raw_bytes() >= BLOCK_RAW_BYTES
    }

    /// Whether rows of `table` may join those that wait.
    pub(crate) fn takes(&self, table: TableId) -> bool {
        self.block.is_empty() || self.block.table() == table
    }

    /// Adds a row to the block that waits.
    pub(crate) fn push(&mut self, table: TableId, key: &[u8], stamp: Stamp, row: &[u8]) {
        self.block.push(table, key, stamp, row);
    }

    /// Writes the rows that wait; returns how many bytes that were in the file.
    pub(crate) fn flush(&mut self) -> Result<u64, CheckpointError> {
        if self.block.is_empty() {
            return Ok(0);
        }
        let before = self.length;
        self.totals.rows += u64::from(self.block.rows());
        self.totals.raw_bytes += self.block.raw_bytes() as u64;
        self.block.build(&self.part, self.totals.blocks, self.compress, &mut self.out);
        self.totals.blocks += 1;
        self.write()?;
        if self.length - self.synced >= SYNC_BYTES {
            self.sync()?;
        }
        Ok(self.length - before)
    }

    /// Ends the part.
    pub(crate) fn finish(mut self) -> Result<WrittenPart, CheckpointError> {
        self.flush()?;
        format::footer(&self.part, &self.totals, &mut self.out);
        self.write()?;
        self.sync()?;
        Ok(WrittenPart { part: self.part.part, bytes: self.length, totals: self.totals })
    }

    fn write(&mut self) -> Result<(), CheckpointError> {
        self.file.write_at(&self.out, self.length).map_err(CheckpointError::io("write", &self.path))?;
        self.length += self.out.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), CheckpointError> {
        self.synced = self.length;
        if self.skip_sync {
            return Ok(());
        }
        self.file.sync().map_err(CheckpointError::io("sync", &self.path))
    }
}
