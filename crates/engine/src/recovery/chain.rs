//! The chain of segments of one stream in one generation: found by name, checked by header, not yet read.
//!
//! Invariants:
//! - The segments are complete: numbers without a gap from the first on, each beginning where its predecessor may end.
//! - Segment i is read up to the base of segment i + 1 and no further. What lies beyond is superseded: a tail that a
//!   recovery copied to segment i + 1 before it crashed or froze the generation.
//! - Every segment has a header: it got its name only after the header was durable.
//!
//! Absent: the batches (scan.rs).

use std::path::{Path, PathBuf};

use super::RecoveryError;
use crate::ids::{Generation, LogOffset, Stamp, StreamId};
use crate::io::Disk;
use crate::log::LogIdentity;
use crate::persist::manifest::{FrozenGeneration, Layout, Manifest};
use crate::persist::segment::{FIRST_OFFSET, FIRST_SEQUENCE, FileName, Segment, segment_path};

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
    /// What the manifest says the stream reached durably.
    durable: Stamp,
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

    /// The chain of one stream as far as it is sound, and why it ends there where that is too early.
    pub(crate) fn find(
        disk: &dyn Disk,
        home: &Path,
        manifest: &Manifest,
        layout: &Layout,
        frozen: Option<&FrozenGeneration>,
        index: usize,
    ) -> (Chain, Option<RecoveryError>) {
        assert!(frozen.is_none_or(|frozen| frozen.layout == *layout));
        let stream = StreamId(index as u32);
        let place = frozen.map(|frozen| frozen.streams[index]);
        let (first, durable) = match place {
            Some(place) => (place.first_sequence, layout.floor),
            None => (manifest.begins[index].sequence, manifest.begins[index].durable),
        };
        let mut chain = Chain {
            log: layout.log(manifest.database, stream),
            directory: manifest.stream_directory(home, layout, stream),
            segments: Vec::new(),
            frozen_end: place.map(|place| place.end),
            generation_floor: layout.floor,
            durable,
        };
        let broken = chain.fill(disk, first, manifest.current.generation).err();
        (chain, broken)
    }

    fn fill(&mut self, disk: &dyn Disk, first: u64, current: Generation) -> Result<(), RecoveryError> {
        let opened = self.open_segments(disk, first, current);
        if let Some(end) = self.frozen_end {
            while self.segments.last().is_some_and(|last| last.header.base >= end) {
                self.segments.pop();
            }
        }
        opened?;
        let reach = self.segments.last().map_or(FIRST_OFFSET, |last| last.header.capacity_end());
        match self.frozen_end {
            Some(end) if end > reach => Err(self.missing(first + self.segments.len() as u64, None)),
            _ => Ok(()),
        }
    }

    fn open_segments(&mut self, disk: &dyn Disk, first: u64, current: Generation) -> Result<(), RecoveryError> {
        let all = self.sequences(disk, current)?;
        let (older, sequences) = all.split_at(all.partition_point(|sequence| *sequence < first));
        // Where one seems to be missing the manifest may be another database's: a segment that is there tells.
        let open = |sequence| Segment::open(disk, &self.directory, &self.log, sequence).map_err(RecoveryError::Segment);
        // The manifest names no segment as the first that was not there.
        if sequences.is_empty() && first > FIRST_SEQUENCE && self.frozen_end.is_none() {
            older.last().copied().map(open).transpose()?;
            return Err(self.missing(first, None));
        }
        let segments = sequences.iter().map(|sequence| open(*sequence)).collect::<Result<Vec<_>, _>>()?;
        for ((segment, sequence), expected) in segments.into_iter().zip(sequences).zip(first..) {
            if *sequence != expected {
                return Err(self.missing(expected, None));
            }
            self.push(segment)?;
        }
        Ok(())
    }

    /// The numbers of the segments there are, ascending.
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
        self.segments.push(segment);
        Ok(())
    }

    /// The error for a segment that is not there; `promised` is how far other streams knew this one to be durable.
    pub(crate) fn missing(&self, sequence: u64, promised: Option<LogOffset>) -> RecoveryError {
        let path = segment_path(&self.directory, self.log.generation(), sequence);
        RecoveryError::MissingSegment { path, promised }
    }

    /// How far the segment at `place` is read.
    pub(crate) fn limit(&self, place: usize) -> Limit {
        match (self.segments.get(place + 1), self.frozen_end) {
            (Some(next), _) => Limit { end: next.header.base, exact: true },
            (None, Some(end)) => Limit { end, exact: true },
            (None, None) => Limit { end: self.segments[place].header.capacity_end(), exact: false },
        }
    }

    /// A stamp that the stream certainly reached durably: its newest segment's floor, or what the manifest says.
    pub(crate) fn floor(&self) -> Stamp {
        self.segments.last().map_or(self.durable, |last| last.header.floor.max(self.durable))
    }

    /// No record above this was in a segment before the first one.
    pub(crate) fn begin_floor(&self) -> Stamp {
        self.segments.first().map_or(self.durable, |first| first.header.floor)
    }

    /// [`Chain::floor`] for a copy of the stream that ends at `end`.
    pub(crate) fn floor_of_copy(&self, end: LogOffset) -> Stamp {
        let copied = self.segments.iter().take_while(|segment| segment.header.base <= end);
        copied.last().map_or(self.durable, |last| last.header.floor.max(self.durable))
    }

    /// The number of the segment that a tail goes to.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.segments.last().map_or(FIRST_SEQUENCE, |last| last.header.sequence + 1)
    }
}
