//! The chain of segments of one stream in one generation: found by name, checked by header, not yet read.
//!
//! Invariants:
//! - The segments are complete: numbers without a gap from the first on, each beginning where its predecessor may end.
//! - Segment i is read up to the base of segment i + 1 and no further. What lies beyond is superseded: a tail that a
//!   recovery copied to segment i + 1 before it crashed or froze the generation.
//! - Every segment has a header: it got its name only after the header was durable.
//! - A stream that is being written records its newest segment, and before that its generation: a segment that is gone is missed,
//!   wherever it was in the chain, and so is a whole directory that an older one has replaced.
//!
//! Absent: the batches (log_scan.rs).

use std::io;
use std::path::{Path, PathBuf};

use super::faults;
use crate::directory::manifest::{FrozenGeneration, Layout, Manifest};
use crate::error::RecoveryError;
use crate::ids::{Generation, LogOffset, Stamp, StreamId};
use crate::io::Disk;
use crate::log::format::LogIdentity;
use crate::log::format::newest::{self, NewestRecord};
use crate::log::format::segment::{
    FIRST_OFFSET, FIRST_SEQUENCE, FileName, Segment, SegmentError, read_header, segment_path,
};

/// The segments of one stream in one generation.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) log: LogIdentity,
    pub(crate) directory: PathBuf,
    pub(crate) segments: Vec<Segment>,
    /// Where a frozen generation ends; `None` for one that crashed.
    pub(crate) frozen_end: Option<LogOffset>,
    /// Every stamp before the generation is at or below this.
    generation_floor: Stamp,
    /// A stamp that the stream reached durably, by the manifest: a frozen generation was judged, and every one of its streams
    /// had reached the cut.
    durable: Stamp,
    /// Whether the stream records its newest segment.
    records_newest: bool,
    /// Whether it has done so from the begin of the generation on.
    records_begin: bool,
}

/// How far a segment is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) end: LogOffset,
    /// Whether the batches must reach the end exactly; else the first invalid one ends the stream.
    pub(crate) exact: bool,
}

impl Chain {
    /// Finds the chains of all streams of a generation.
    pub(crate) fn find_all(
        disk: &dyn Disk,
        home: &Path,
        manifest: &Manifest,
        layout: &Layout,
        frozen: Option<&FrozenGeneration>,
    ) -> Result<Vec<Chain>, RecoveryError> {
        let find = |index| match Chain::find(disk, home, manifest, layout, frozen, index) {
            (chain, None) => Ok(chain),
            (_, Some(broken)) => Err(broken),
        };
        (0..layout.streams.len()).map(find).collect()
    }

    /// Returns the chain of one stream as far as it is sound, and why it ends there where that is too early: a segment whose file
    /// is too short is the last one.
    pub(crate) fn find(
        disk: &dyn Disk,
        home: &Path,
        manifest: &Manifest,
        layout: &Layout,
        frozen: Option<&FrozenGeneration>,
        index: usize,
    ) -> (Chain, Option<RecoveryError>) {
        let expected = frozen.map_or(&manifest.current, |frozen| &frozen.layout);
        assert_eq!(layout, expected, "only the current generation is not frozen");
        assert!(index < layout.streams.len(), "stream {index} of {layout:?}");
        let stream = StreamId(index as u32);
        let frozen_stream = frozen.map(|frozen| frozen.streams[index]);
        let (first, durable) = match frozen_stream {
            Some(stream) => (
                stream.first_sequence,
                faults::frozen_durable(frozen.map_or(layout.floor, |frozen| frozen.cut), layout.floor),
            ),
            None => (manifest.begins[index].sequence, manifest.begins[index].durable),
        };
        let mut chain = Chain {
            log: layout.log(manifest.database, stream),
            directory: manifest.stream_directory(home, layout, stream),
            segments: Vec::new(),
            frozen_end: frozen_stream.map(|stream| stream.end),
            generation_floor: layout.floor,
            durable,
            records_newest: frozen.is_none() && manifest.records_newest,
            records_begin: manifest.records_begin,
        };
        let broken = chain.fill(disk, first, manifest.current.generation).err();
        (chain, broken)
    }

    /// Opens the segments, and checks that none is missing.
    fn fill(&mut self, disk: &dyn Disk, first: u64, current: Generation) -> Result<(), RecoveryError> {
        // Before the files are listed: a database that is open begins segments meanwhile.
        let newest = if self.records_newest { self.newest(disk) } else { Ok(first - 1) };
        let opened = self.open_segments(disk, first, current);
        if let Some(end) = self.frozen_end {
            let is_beyond = |segments: &[Segment]| {
                let last = segments.last().map(|last| last.header.base);
                // One that begins where the stream ends stays if it is the only one.
                last.is_some_and(|base| base > end || (base == end && segments.len() > 1))
            };
            while is_beyond(&self.segments) {
                self.segments.pop();
            }
        }
        opened?;
        let last = self.segments.last().map_or(first - 1, |last| last.header.sequence);
        if newest? > last {
            return Err(self.missing(last + 1, None));
        }
        let reach = self.segments.last().map_or(FIRST_OFFSET, |last| last.header.capacity_end());
        match self.frozen_end {
            Some(end) if end > reach => Err(self.missing(first + self.segments.len() as u64, None)),
            _ => Ok(()),
        }
    }

    /// Returns the number of the newest segment that the stream records; one below the first where it has none.
    fn newest(&self, disk: &dyn Disk) -> Result<u64, RecoveryError> {
        let path = newest::path(&self.directory);
        let refuse = |what: String| Err(RecoveryError::Newest { path: path.clone(), what });
        let records = match newest::read(disk, &self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return refuse("is missing".to_owned()),
            records => records.map_err(RecoveryError::io("read", &path))?,
        };
        let newer = newest::newer_version(disk, &self.directory).map_err(RecoveryError::io("read", &path))?;
        if let Some(found) = newer {
            return Err(RecoveryError::NewestVersion { path, found });
        }
        let own = self.log.generation();
        let is_of_stream = |NewestRecord { log, sequence }: &NewestRecord| {
            // An open that did not end was to begin the next generation.
            let is_next = log.generation().0 == own.0 + 1 && *sequence < FIRST_SEQUENCE;
            (log.database(), log.stream()) == (self.log.database(), self.log.stream())
                && (log.generation() < own || is_next || *log == self.log)
        };
        match records.iter().find(|record| !is_of_stream(record)) {
            Some(record) => {
                let (database, generation) = (record.log.database(), record.log.generation());
                let stream = record.log.stream();
                refuse(format!(
                    "is of database {:032x}, stream {stream}, generation {generation}, or of another copy of this database",
                    database.0
                ))
            }
            None if records.is_empty() => refuse("is damaged".to_owned()),
            None => {
                let current = records.iter().filter(|record| record.log == self.log);
                match current.map(|record| record.sequence).max() {
                    None if faults::misses_begin(self.records_begin) => refuse(format!(
                        "has no record of generation {own}, which the manifest names: the stream's directory is older than the \
                         manifest; restore all directories from one copy"
                    )),
                    newest => Ok(newest.unwrap_or(FIRST_SEQUENCE - 1)),
                }
            }
        }
    }

    /// Opens the segments from number `first` on, as far as they follow each other.
    fn open_segments(&mut self, disk: &dyn Disk, first: u64, current: Generation) -> Result<(), RecoveryError> {
        let all = self.sequences(disk, current)?;
        let (older, sequences) = all.split_at(all.partition_point(|sequence| *sequence < first));
        // Where one seems to be missing the manifest may be another database's: a segment that is there tells.
        let (directory, log) = (self.directory.clone(), self.log);
        let open = |sequence| Segment::open(disk, &directory, &log, sequence).map_err(RecoveryError::Segment);
        // The manifest names no segment as the first that was not there.
        if sequences.is_empty() && first > FIRST_SEQUENCE && self.frozen_end.is_none() {
            older.last().copied().map(open).transpose()?;
            return Err(self.missing(first, None));
        }
        for (sequence, expected) in sequences.iter().zip(first..) {
            let opened = open(*sequence);
            let path = segment_path(&directory, log.generation(), *sequence);
            if let Err(RecoveryError::Segment(SegmentError::Short { .. })) = &opened
                && *sequence == expected
                && let Ok((header, file)) = read_header(disk, &path)
            {
                // The chain ends with it: a salvage and a dump read what the file still has.
                self.push(Segment { path, header, file })?;
            }
            let segment = opened?;
            if *sequence != expected {
                return Err(self.missing(expected, None));
            }
            self.push(segment)?;
        }
        Ok(())
    }

    /// Returns the numbers of the segments there are, ascending.
    fn sequences(&self, disk: &dyn Disk, current: Generation) -> Result<Vec<u64>, RecoveryError> {
        let directory = &self.directory;
        if !disk.exists(directory).map_err(RecoveryError::io("look for", directory))? {
            return Err(RecoveryError::MissingDirectory { path: directory.clone(), stream: self.log.stream() });
        }
        let mut sequences = Vec::new();
        for path in disk.list(directory).map_err(RecoveryError::io("list", directory))? {
            if let Some(FileName::Segment { generation, sequence }) = FileName::parse(&path) {
                if generation > current {
                    return Err(RecoveryError::ManifestTooOld { path, generation: current });
                }
                if generation == self.log.generation() {
                    sequences.push(sequence);
                }
            }
        }
        sequences.sort_unstable();
        Ok(sequences)
    }

    /// Adds the next segment, if its header fits the one before.
    fn push(&mut self, segment: Segment) -> Result<(), RecoveryError> {
        let refuse = |what: String| Err(RecoveryError::Chain { path: segment.path.clone(), what });
        let header = &segment.header;
        match self.segments.last().map(|last| last.header) {
            None if header.sequence == FIRST_SEQUENCE && header.base != FIRST_OFFSET => {
                return refuse(format!("it begins at {} and not at {FIRST_OFFSET}", header.base));
            }
            None if header.floor < self.generation_floor => {
                return refuse(format!("its floor is {} and its generation's {}", header.floor, self.generation_floor));
            }
            Some(last) if header.base < last.base || header.base > last.capacity_end() => {
                return refuse(format!(
                    "it begins at {}, the one before it holds {} to {}",
                    header.base,
                    last.base,
                    last.capacity_end()
                ));
            }
            Some(last) if header.floor < last.floor => {
                return refuse(format!("its floor is {}, the one before it has {}", header.floor, last.floor));
            }
            _ => {}
        }
        let follows = |last: &Segment| last.header.sequence + 1 == header.sequence;
        assert!(self.segments.last().is_none_or(follows), "segment {} leaves a gap", header.sequence);
        self.segments.push(segment);
        Ok(())
    }

    /// Returns the error for a segment that is not there; `promised` is how far other streams knew this one to be durable.
    pub(crate) fn missing(&self, sequence: u64, promised: Option<LogOffset>) -> RecoveryError {
        let path = segment_path(&self.directory, self.log.generation(), sequence);
        RecoveryError::MissingSegment { path, promised }
    }

    /// Returns how far the segment at `index` is read.
    pub(crate) fn limit(&self, index: usize) -> Limit {
        let header = &self.segments[index].header;
        let limit = match (self.segments.get(index + 1), self.frozen_end) {
            (Some(next), _) => Limit { end: next.header.base, exact: true },
            (None, Some(end)) => Limit { end, exact: true },
            (None, None) => Limit { end: header.capacity_end(), exact: false },
        };
        assert!(header.base <= limit.end, "segment {} ends at {} before it begins", header.sequence, limit.end);
        limit
    }

    /// Returns a stamp that the stream certainly reached durably: its newest segment's floor, or what the manifest says.
    pub(crate) fn floor(&self) -> Stamp {
        self.segments.last().map_or(self.durable, |last| last.header.floor.max(self.durable))
    }

    /// No record above this was in a segment before the first one.
    pub(crate) fn begin_floor(&self) -> Stamp {
        self.segments.first().map_or(self.durable, |first| first.header.floor)
    }

    /// Returns the number of the segment that a tail goes to.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.segments.last().map_or(FIRST_SEQUENCE, |last| last.header.sequence + 1)
    }
}
