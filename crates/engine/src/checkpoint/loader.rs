//! Reads the parts of a checkpoint back, block by block, and checks everything on the way.
//!
//! Invariants:
//! - Rows are handed out only from blocks that are sound at their place.
//! - A part that was read to its end, in one go or in *runs* of blocks that were joined, holds exactly the blocks, rows and
//!   bytes that its footer and the manifest say, in ascending order of (table, key). Only a salvage goes on behind damage.
//!
//! Absent: what becomes of the rows (recovery/base.rs).

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files;
pub(crate) use super::format::Totals;
use super::format::{self, BLOCK_HEADER_BYTES, BlockHeader, HEADER_BYTES, PartIdentity, RowRef, Unsound, VERSION};
use crate::directory::manifest::{CheckpointEntry, Manifest};
use crate::error::CheckpointError;
use crate::ids::TableId;
use crate::io::{BLOCK_BYTES, Disk, File, OpenMode};

/// A row's place in the order.
pub(crate) type RowKey = (TableId, Box<[u8]>);

/// A part that is being read, or a run of its blocks.
pub(crate) struct PartReader {
    part: PartIdentity,
    path: PathBuf,
    file: Arc<dyn File>,
    /// As the manifest has it.
    length: u64,
    at: u64,
    /// The first block's index.
    base: u64,
    /// The number of blocks of a run; the part's reader goes on to the footer.
    limit: Option<u64>,
    /// What was read.
    totals: Totals,
    ends: Ends,
    /// Whether blocks were left out.
    has_gaps: bool,
    /// Runs that were read, each with its base.
    runs: Vec<(u64, Ends)>,
    /// Buffers.
    stored: Vec<u8>,
    raw: Vec<u8>,
}

/// The first and the last row.
#[derive(Default)]
struct Ends {
    first: Option<RowKey>,
    last: Option<RowKey>,
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
        let mut reader = PartReader {
            part,
            path,
            file,
            length,
            at: HEADER_BYTES as u64,
            base: 0,
            limit: None,
            totals: Totals::default(),
            ends: Ends::default(),
            has_gaps: false,
            runs: Vec::new(),
            stored: Vec::new(),
            raw: Vec::new(),
        };
        reader.fill(0..HEADER_BYTES, 0)?;
        part.check(&reader.stored).map_err(|unsound| refused(&reader.path, 0, unsound))?;
        Ok(reader)
    }

    /// Reads a whole part; returns what it holds.
    pub(crate) fn read_all(
        disk: &dyn Disk,
        path: PathBuf,
        part: PartIdentity,
        length: u64,
    ) -> Result<Totals, CheckpointError> {
        let mut reader = PartReader::open(disk, path, part, length)?;
        while reader.next_block(|_, _| ())? {}
        Ok(reader.totals())
    }

    /// Takes the next `blocks` blocks off the part, to be read by another thread and joined again; `None` where only the footer
    /// is left. The lengths in their headers are checked when the run is read.
    pub(crate) fn take_run(&mut self, blocks: u64) -> Result<Option<PartReader>, CheckpointError> {
        assert!(blocks > 0 && self.limit.is_none(), "runs are taken off a part, and have blocks");
        let (at, base) = (self.at, self.base);
        while self.base - base < blocks {
            let header = self.peek()?;
            if header.is_footer() {
                break;
            }
            self.at += header.len();
            self.base += 1;
        }
        let run = PartReader {
            path: self.path.clone(),
            file: self.file.clone(),
            at,
            base,
            limit: Some(self.base - base),
            totals: Totals::default(),
            ends: Ends::default(),
            runs: Vec::new(),
            stored: Vec::new(),
            raw: Vec::new(),
            ..*self
        };
        assert!(self.base - base <= blocks && self.at <= self.length, "a run ends within its part");
        Ok((self.base > base).then_some(run))
    }

    /// Takes back a run that was read to its end.
    pub(crate) fn join(&mut self, run: PartReader) {
        assert_eq!(run.part, self.part, "a run is joined to the part that it was taken off");
        assert_eq!(run.limit, Some(run.totals.blocks), "a run is joined when it was read to its end");
        assert!(run.base + run.totals.blocks <= self.base, "a run was taken off this part");
        self.totals.rows += run.totals.rows;
        self.totals.blocks += run.totals.blocks;
        self.totals.raw_bytes += run.totals.raw_bytes;
        self.runs.push((run.base, run.ends));
    }

    /// Checks the footer of a part that was read in runs, all of which were joined, and their order.
    pub(crate) fn finish(mut self) -> Result<(), CheckpointError> {
        assert_eq!(self.totals.blocks, self.base, "every run that was taken was joined");
        self.runs.sort_by_key(|(base, ..)| *base);
        assert!(self.runs.windows(2).all(|pair| pair[0].0 < pair[1].0), "each run was joined once");
        let mut last: Option<&RowKey> = None;
        for (_, ends) in &self.runs {
            if last >= ends.first.as_ref() {
                return Err(self.damaged(self.at, "its runs of rows do not ascend".to_owned()));
            }
            last = ends.last.as_ref();
        }
        let at = self.at;
        let (header, bytes) = self.read_block()?;
        let footer = format::open_block(&self.part, self.base, &header, &self.stored[..bytes], &mut self.raw)
            .and_then(format::read_footer)
            .map_err(|unsound| refused(&self.path, at, unsound))?;
        self.at += header.len();
        self.check_footer(at, footer)
    }

    /// Hands every row of the next block to `take`; `false` at the end of the part, or of the run.
    pub(crate) fn next_block(&mut self, mut take: impl FnMut(TableId, RowRef<'_>)) -> Result<bool, CheckpointError> {
        if self.limit == Some(self.totals.blocks) {
            return Ok(false);
        }
        let at = self.at;
        let (header, bytes) = self.read_block()?;
        let index = self.base + self.totals.blocks;
        let refused = |unsound| refused(&self.path, at, unsound);
        let opened = format::open_block(&self.part, index, &header, &self.stored[..bytes], &mut self.raw);
        let raw = opened.map_err(refused)?;
        if header.is_footer() {
            let footer = format::read_footer(raw).map_err(refused)?;
            self.at += header.len();
            return match self.limit {
                None => self.check_footer(at, footer).map(|()| false),
                Some(_) => Err(self.damaged(at, "its footer comes too early".to_owned())),
            };
        }
        self.totals.rows += self.ends.hand_out(&header, raw, &mut take).map_err(refused)?;
        self.totals.blocks += 1;
        self.totals.raw_bytes += raw.len() as u64;
        self.at += header.len();
        Ok(true)
    }

    /// After an error: goes to the next block that is sound, whatever lies before it; `false` where none is left.
    pub(crate) fn skip_damage(&mut self) -> bool {
        let (from, unsound) = (self.at, self.base + self.totals.blocks);
        self.has_gaps = true;
        for at in (from..self.length).step_by(BLOCK_BYTES).skip(1) {
            self.at = at;
            let Ok((header, bytes)) = self.read_block() else { continue };
            let indexes = unsound + 1..=unsound + (at - from) / BLOCK_BYTES as u64;
            if let Some(index) = format::find_index(&self.part, &header, &self.stored[..bytes], indexes) {
                assert!(self.at > from && index > unsound, "behind the damage");
                self.base = index - self.totals.blocks;
                return true;
            }
        }
        false
    }

    /// Returns the last row of the blocks that were read.
    pub(crate) fn last(&self) -> Option<RowKey> {
        self.ends.last.clone()
    }

    /// Returns what was read so far.
    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }

    fn peek(&mut self) -> Result<BlockHeader, CheckpointError> {
        let at = self.at;
        self.fill(0..BLOCK_HEADER_BYTES, at)?;
        let bytes = self.stored.first_chunk().expect("it was just read");
        let header = BlockHeader::decode(bytes).map_err(|unsound| refused(&self.path, at, unsound))?;
        if header.len() > self.length.saturating_sub(at) {
            return Err(self.damaged(at, "a block reaches beyond the end of the part".to_owned()));
        }
        Ok(header)
    }

    /// Reads the next block, and stays before it; returns how many bytes it has up to its padding.
    fn read_block(&mut self) -> Result<(BlockHeader, usize), CheckpointError> {
        let (at, header) = (self.at, self.peek()?);
        let end = BLOCK_HEADER_BYTES + header.stored as usize;
        self.fill(BLOCK_HEADER_BYTES..end, at + BLOCK_HEADER_BYTES as u64)?;
        Ok((header, end))
    }

    fn check_footer(&self, at: u64, footer: Totals) -> Result<(), CheckpointError> {
        if footer != self.totals && !self.has_gaps {
            return Err(self.damaged(at, format!("its footer says {footer:?}, it holds {:?}", self.totals)));
        }
        if self.at != self.length {
            return Err(self.damaged(self.at, "there is something behind its footer".to_owned()));
        }
        Ok(())
    }

    /// Reads into a range of `stored` from `position`.
    fn fill(&mut self, range: Range<usize>, position: u64) -> Result<(), CheckpointError> {
        if self.stored.len() < range.end {
            self.stored.resize(range.end, 0);
        }
        let wanted = range.len();
        let read = self.file.read_at(&mut self.stored[range], position);
        if read.map_err(CheckpointError::io("read", &self.path))? < wanted {
            return Err(self.damaged(position, "it is cut short".to_owned()));
        }
        Ok(())
    }

    fn damaged(&self, position: u64, what: String) -> CheckpointError {
        refused(&self.path, position, Unsound::Damaged(what))
    }
}

impl Ends {
    /// Hands out the rows of the block that follows.
    fn hand_out(
        &mut self,
        header: &BlockHeader,
        raw: &[u8],
        take: &mut impl FnMut(TableId, RowRef<'_>),
    ) -> Result<u64, Unsound> {
        let (mut rest, mut rows) = (raw, 0);
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
            if self.first.is_none() {
                self.first = Some((header.table, row.key.into()));
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
}

/// What is wrong with the part, as an error that names it.
fn refused(path: &Path, position: u64, unsound: Unsound) -> CheckpointError {
    let path = path.to_owned();
    match unsound {
        Unsound::Version(found) => CheckpointError::Version { path, found, newest: VERSION },
        Unsound::Foreign(what) => CheckpointError::Foreign { path, what },
        Unsound::Damaged(what) => CheckpointError::Damaged { path, position, what },
    }
}

/// Fails where a part of a checkpoint that was just written does not lie where it was written: nothing may rest on it then.
pub(super) fn expect_written(
    disk: &dyn Disk,
    home: &Path,
    manifest: &Manifest,
    entry: &CheckpointEntry,
) -> Result<(), CheckpointError> {
    files::parts_of(home, manifest, entry).into_iter().try_for_each(|(path, part, length)| {
        PartReader::open(disk, path, part, length).map(drop).map_err(|error| match error {
            CheckpointError::Missing { path }
            | CheckpointError::Damaged { path, .. }
            | CheckpointError::Foreign { path, .. } => CheckpointError::PartDisplaced { path },
            error => error,
        })
    })
}

/// Reads every block of a checkpoint.
pub(crate) fn check(
    disk: &dyn Disk,
    home: &Path,
    manifest: &Manifest,
    entry: &CheckpointEntry,
) -> Result<(), CheckpointError> {
    let mut rows = 0;
    for (path, part, length) in files::parts_of(home, manifest, entry) {
        rows += PartReader::read_all(disk, path, part, length)?.rows;
    }
    if rows == entry.rows {
        return Ok(());
    }
    let what = format!("checkpoint {} holds {rows} rows and should have {}", entry.number, entry.rows);
    Err(CheckpointError::Damaged { path: home.to_owned(), position: 0, what })
}
