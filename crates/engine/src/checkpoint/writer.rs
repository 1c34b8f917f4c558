//! Writes one part of a checkpoint: rows in, a file out.
//!
//! Invariants:
//! - Rows come in ascending order of (table, key), and lie so in the file: the loader refuses a part that does not ascend.
//! - What [`PartWriter::finish`] reports is durable, its directory entry excepted, which [`super::task`] syncs.
//! - Blocks go to the device directly, in large pieces: a page cache full of them would stall the log's syncs, and push out
//!   what others keep there.
//!
//! Absent: where rows come from (scan.rs), and the manifest, without which nothing here counts.

use std::path::PathBuf;
use std::sync::Arc;

use osier_memory::AlignedBuffer;

use super::faults;
use super::format::{self, BlockBuilder, HEADER_BYTES, PartIdentity, Totals};
use crate::error::CheckpointError;
use crate::ids::{Stamp, TableId};
use crate::io::{BLOCK_BYTES, Disk, File, OpenMode};
use crate::sizes::{checkpoint_block_bytes, checkpoint_write_bytes};

/// A part that is being written.
pub(crate) struct PartWriter {
    part: PartIdentity,
    path: PathBuf,
    file: Arc<dyn File>,
    compress: bool,
    /// Mutation `CheckpointBeforeSync`.
    block: BlockBuilder,
    totals: Totals,
    /// The table and the key of the row that came last, empty before the first one.
    last: (TableId, Vec<u8>),
    /// The greatest stamp of a row.
    max_stamp: Stamp,
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
    pub(crate) max_stamp: Stamp,
}

impl PartWriter {
    /// Begins the file at `path`.
    pub(crate) fn create(
        disk: &dyn Disk,
        path: PathBuf,
        part: PartIdentity,
        compress: bool,
    ) -> Result<PartWriter, CheckpointError> {
        let file = disk.open(&path, OpenMode::Stream).map_err(CheckpointError::io("create", &path))?;
        let mut writer = PartWriter {
            part,
            path,
            file,
            compress,
            block: BlockBuilder::default(),
            totals: Totals::default(),
            last: (TableId(0), Vec::new()),
            max_stamp: Stamp::ZERO,
            out: part.encode(),
            stage: AlignedBuffer::zeroed(checkpoint_write_bytes()),
            staged: 0,
            length: 0,
        };
        assert_eq!(writer.out.len(), HEADER_BYTES);
        writer.put()?;
        Ok(writer)
    }

    /// Whether the next row belongs into a new block: to be followed by [`PartWriter::flush`].
    pub(crate) fn is_full(&self) -> bool {
        self.block.raw_bytes() >= checkpoint_block_bytes()
    }

    /// Whether rows of `table` may join those that wait.
    pub(crate) fn takes(&self, table: TableId) -> bool {
        self.block.is_empty() || self.block.table() == table
    }

    /// Adds a row to the block that waits.
    pub(crate) fn push(&mut self, table: TableId, key: &[u8], stamp: Stamp, row: &[u8]) {
        assert!(stamp > Stamp::ZERO && stamp <= Stamp::MAX, "a row in a checkpoint was stamped");
        let is_first = self.max_stamp == Stamp::ZERO;
        assert!(is_first || (self.last.0, &self.last.1[..]) < (table, key), "the rows of a part ascend");
        self.last.0 = table;
        self.last.1.clear();
        self.last.1.extend(key);
        self.max_stamp = self.max_stamp.max(stamp);
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
        let Totals { rows, blocks, .. } = self.totals;
        assert!(
            self.block.is_empty() && blocks <= rows && (blocks > 0) == (rows > 0),
            "a block has rows: {:?}",
            self.totals
        );
        format::footer(&self.part, &self.totals, &mut self.out);
        self.put()?;
        self.write()?;
        faults::sync(|| self.file.sync().map_err(CheckpointError::io("sync", &self.path)))?;
        let least = (HEADER_BYTES + BLOCK_BYTES) as u64 + self.totals.blocks * BLOCK_BYTES as u64;
        assert!(self.length >= least, "every block, the footer too, has a place in the file");
        let (part, bytes) = (self.part.part, self.length);
        Ok(WrittenPart { part, bytes, totals: self.totals, max_stamp: self.max_stamp })
    }

    /// Stages the block that was built last, and writes what has become a full piece.
    fn put(&mut self) -> Result<(), CheckpointError> {
        assert!(!self.out.is_empty() && self.out.len().is_multiple_of(BLOCK_BYTES), "a block is padded");
        let mut taken = 0;
        while taken < self.out.len() {
            let piece = (self.out.len() - taken).min(self.stage.len() - self.staged);
            self.stage[self.staged..self.staged + piece].copy_from_slice(&self.out[taken..taken + piece]);
            self.staged += piece;
            taken += piece;
            if self.staged == self.stage.len() {
                self.write()?;
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), CheckpointError> {
        assert!(self.staged.is_multiple_of(BLOCK_BYTES), "direct writes are of whole blocks");
        assert!(self.length.is_multiple_of(BLOCK_BYTES as u64), "and at block boundaries");
        let piece = &self.stage[..self.staged];
        self.file.write_at(piece, self.length).map_err(CheckpointError::io("write", &self.path))?;
        self.length += self.staged as u64;
        self.staged = 0;
        Ok(())
    }
}
