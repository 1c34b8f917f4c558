//! Reads the parts of a checkpoint back, block by block, and checks everything on the way.
//!
//! Invariants:
//! - Rows are handed out only from blocks that are sound at their place.
//! - A part that was read to its end holds exactly the blocks, rows and bytes that its footer and the manifest say, in
//!   ascending order of (table, key).
//!
//! Absent: what becomes of the rows (recovery/base.rs).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::CheckpointError;
use super::format::{self, BLOCK_HEADER_BYTES, BlockHeader, HEADER_BYTES, PartIdentity, RowRef, Totals, Unsound};
use crate::ids::TableId;
use crate::io::{Disk, File, OpenMode};

/// A part that is being read.
pub(crate) struct PartReader {
    part: PartIdentity,
    path: PathBuf,
    file: Arc<dyn File>,
    /// As the manifest has it.
    length: u64,
    at: u64,
    totals: Totals,
    /// The last row's table and key.
    last: Option<(TableId, Box<[u8]>)>,
    stored: Vec<u8>,
    raw: Vec<u8>,
}

impl PartReader {
    /// Opens the file and checks its header.
    pub(crate) fn open(
        disk: &dyn Disk,
        path: PathBuf,
        part: PartIdentity,
        length: u64,
    ) -> Result<PartReader, CheckpointError> {
        if !disk.exists(&path).map_err(CheckpointError::io("look for", &path))? {
            return Err(CheckpointError::Missing { path });
        }
        let file = disk.open(&path, OpenMode::Read).map_err(CheckpointError::io("open", &path))?;
        let found = file.len().map_err(CheckpointError::io("measure", &path))?;
        if found != length {
            let what = format!("it has {found} bytes and should have {length}");
            return Err(CheckpointError::Damaged { path, position: found.min(length), what });
        }
        let (totals, at) = (Totals::default(), HEADER_BYTES as u64);
        let (stored, raw) = (vec![0; HEADER_BYTES], Vec::new());
        let mut reader = PartReader { part, path, file, length, at, totals, last: None, stored, raw };
        reader.fill(0, 0)?;
        part.check(&reader.stored).map_err(|unsound| reader.unsound(0, unsound))?;
        Ok(reader)
    }

    /// Hands every row of the next block to `take`; `false` at the end of the part.
    pub(crate) fn next_block(&mut self, mut take: impl FnMut(TableId, RowRef<'_>)) -> Result<bool, CheckpointError> {
        let at = self.at;
        let header = self.read_block()?;
        let index = self.totals.blocks;
        let result = format::open_block(&self.part, index, &header, &self.stored, &mut self.raw);
        result.map_err(|unsound| self.unsound(at, unsound))?;
        if header.is_footer() {
            return self.check_footer(at).map(|()| false);
        }
        let rows = self.hand_out(&header, &mut take).map_err(|unsound| self.unsound(at, unsound))?;
        self.totals.rows += rows;
        self.totals.blocks += 1;
        self.totals.raw_bytes += self.raw.len() as u64;
        Ok(true)
    }

    /// What was read so far.
    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }

    fn read_block(&mut self) -> Result<BlockHeader, CheckpointError> {
        let at = self.at;
        self.stored.clear();
        self.stored.resize(BLOCK_HEADER_BYTES, 0);
        self.fill(0, at)?;
        let mut bytes = [0; BLOCK_HEADER_BYTES];
        bytes.copy_from_slice(&self.stored);
        let header = BlockHeader::decode(&bytes).map_err(|unsound| self.unsound(at, unsound))?;
        if header.len() > self.length.saturating_sub(at) {
            return Err(self.damaged(at, "a block reaches beyond the end of the part".to_owned()));
        }
        self.stored.resize(BLOCK_HEADER_BYTES + header.stored as usize, 0);
        self.fill(BLOCK_HEADER_BYTES, at + BLOCK_HEADER_BYTES as u64)?;
        self.at += header.len();
        Ok(header)
    }

    fn hand_out(&mut self, header: &BlockHeader, take: &mut impl FnMut(TableId, RowRef<'_>)) -> Result<u64, Unsound> {
        let (mut rest, mut rows) = (&self.raw[..], 0);
        let mut last: Option<&[u8]> = None;
        if let Some((table, key)) = &self.last {
            if header.table < *table {
                return Err(Unsound::Damaged("its tables do not ascend".to_owned()));
            }
            last = (*table == header.table).then_some(key);
        }
        while let Some(row) = format::next_row(&mut rest)? {
            if last.is_some_and(|last| last >= row.key) {
                return Err(Unsound::Damaged("its keys do not ascend".to_owned()));
            }
            take(header.table, row);
            last = Some(row.key);
            rows += 1;
        }
        if rows != u64::from(header.rows) {
            return Err(Unsound::Damaged(format!("a block holds {rows} rows, not {}", header.rows)));
        }
        self.last = last.map(|key| (header.table, key.into()));
        Ok(rows)
    }

    fn check_footer(&self, at: u64) -> Result<(), CheckpointError> {
        let totals = format::read_footer(&self.raw).map_err(|unsound| self.unsound(at, unsound))?;
        if totals != self.totals {
            return Err(self.damaged(at, format!("its footer says {totals:?}, it holds {:?}", self.totals)));
        }
        if self.at != self.length {
            return Err(self.damaged(self.at, "there is something behind its footer".to_owned()));
        }
        Ok(())
    }

    /// Reads the rest of `stored` from `position`.
    fn fill(&mut self, from: usize, position: u64) -> Result<(), CheckpointError> {
        let wanted = self.stored.len() - from;
        let read = self.file.read_at(&mut self.stored[from..], position);
        if read.map_err(CheckpointError::io("read", &self.path))? < wanted {
            return Err(self.damaged(position, "it is cut short".to_owned()));
        }
        Ok(())
    }

    fn damaged(&self, position: u64, what: String) -> CheckpointError {
        CheckpointError::Damaged { path: self.path.clone(), position, what }
    }

    fn unsound(&self, position: u64, unsound: Unsound) -> CheckpointError {
        let path: &Path = &self.path;
        match unsound {
            Unsound::Version(found) => CheckpointError::Version { path: path.to_owned(), found },
            Unsound::Foreign(what) => CheckpointError::Foreign { path: path.to_owned(), what },
            Unsound::Damaged(what) => self.damaged(position, what),
        }
    }
}
