//! Writes one part of a checkpoint: rows in, a file out.
//!
//! Invariants:
//! - Rows come in ascending order of (table, key), and lie so in the file.
//! - What [`PartWriter::finish`] reports is durable, its directory entry excepted, which [`super::task`] syncs.
//! - Blocks go to the device directly, in large pieces: a page cache full of them would stall the log's syncs, and push out
//!   what others keep there.
//!
//! Absent: where rows come from (scan.rs), and the manifest, without which nothing here counts.

use std::path::PathBuf;
use std::sync::Arc;

use osier_memory::AlignedBuffer;

use super::CheckpointError;
use super::format::{self, BlockBuilder, HEADER_BYTES, PartIdentity, Totals};
use crate::ids::{Stamp, TableId};
use crate::io::{Disk, File, OpenMode};

/// A block is written when its rows have this many bytes.
const BLOCK_RAW_BYTES: usize = 256 << 10;
/// What one write carries.
const WRITE_BYTES: usize = 1 << 20;

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
    /// The block that was built last.
    out: Vec<u8>,
    /// Blocks that wait to be written, and their bytes.
    stage: AlignedBuffer,
    staged: usize,
    /// What was written.
    length: u64,
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
        let file = disk.open(&path, OpenMode::Stream).map_err(CheckpointError::io("create", &path))?;
        let mut writer = PartWriter {
            part,
            path,
            file,
            compress,
            skip_sync,
            block: BlockBuilder::default(),
            totals: Totals::default(),
            out: part.encode(),
            stage: AlignedBuffer::zeroed(WRITE_BYTES),
            staged: 0,
            length: 0,
        };
        assert_eq!(writer.out.len(), HEADER_BYTES);
        writer.put()?;
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

    /// Makes a block of the rows that wait; returns how many bytes of the file that takes.
    pub(crate) fn flush(&mut self) -> Result<u64, CheckpointError> {
        if self.block.is_empty() {
            return Ok(0);
        }
        self.totals.rows += u64::from(self.block.rows());
        self.totals.raw_bytes += self.block.raw_bytes() as u64;
        self.block.build(&self.part, self.totals.blocks, self.compress, &mut self.out);
        self.totals.blocks += 1;
        self.put()?;
        Ok(self.out.len() as u64)
    }

    /// Ends the part.
    pub(crate) fn finish(mut self) -> Result<WrittenPart, CheckpointError> {
        self.flush()?;
        format::footer(&self.part, &self.totals, &mut self.out);
        self.put()?;
        self.write()?;
        if !self.skip_sync {
            self.file.sync().map_err(CheckpointError::io("sync", &self.path))?;
        }
        Ok(WrittenPart { part: self.part.part, bytes: self.length, totals: self.totals })
    }

    /// Stages the block that was built last, and writes what has become a full piece.
    fn put(&mut self) -> Result<(), CheckpointError> {
        let mut taken = 0;
        while taken < self.out.len() {
            let piece = (self.out.len() - taken).min(WRITE_BYTES - self.staged);
            self.stage[self.staged..self.staged + piece].copy_from_slice(&self.out[taken..taken + piece]);
            self.staged += piece;
            taken += piece;
            if self.staged == WRITE_BYTES {
                self.write()?;
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), CheckpointError> {
        let piece = &self.stage[..self.staged];
        self.file.write_at(piece, self.length).map_err(CheckpointError::io("write", &self.path))?;
        self.length += self.staged as u64;
        self.staged = 0;
        Ok(())
    }
}
