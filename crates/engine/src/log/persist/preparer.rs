//! Blank segments, ready before they are needed.
//!
//! Small appends are about twice as fast into a file whose blocks were written before (the file system then has no
//! metadata to change), large ones gain nothing. So a blank is allocated at once and filled with zeros piece by piece:
//! gently while the logger is far from needing it, at full speed when the logger comes closer, not at all when the logger
//! writes large batches or waits.
//!
//! There is a preparer for each directory of the database, so that a device that is slow or full keeps no other one waiting.
//!
//! Invariants:
//! - A blank is on its stream's shelf or in the hands of one task: its preparer while that writes a piece, the logger from
//!   [`SegmentPool::take`] on. A preparer never writes to a file that a logger has.
//! - Every byte of a blank is allocated before it is shelved: a logger does not run out of space in mid-segment.
//! - A full device costs nothing until a logger needs the blank. Then the preparer tries once more, gives up spare segments
//!   one by one, those of other directories last, and only then fails the log.
//! - A file whose sync found no space is abandoned: no logger has it, and it has no name that recovery reads. A directory holds
//!   the names of other files as well, so its failed sync fails the log, as does any error but a lack of space.
//! - A segment becomes a blank again ([`SegmentPool::recycle`]) only when no durable manifest needs it. Its blocks were written,
//!   so it is the best of blanks, and its old bytes do not pass for batches (log-format.md, L2). As many as the last checkpoint
//!   gave back are kept, because the next checkpoint will need no more; the others are removed piece by piece.
//!
//! Absent: names and headers of segments ([`crate::log::format::segment`]); which segments recovery needs (checkpoint/).

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use osier_memory::sync::{Mutex, lock};

use super::{LARGE_BATCH_BYTES, faults};
use crate::directory::manifest::StreamBegin;
use crate::error::{LogError, LogFailure};
use crate::ids::{LogOffset, Stamp, StreamId};
use crate::io::error::is_full;
use crate::io::{Disk, FULL_PAUSE, File, OpenMode, REMOVAL_PAUSE, Signal, Step, Task};
use crate::log::format::segment::{self, FIRST_OFFSET, FIRST_SEQUENCE, FileName, SegmentHeader};
use crate::log::persist::Log;
use crate::sizes::removed_piece_bytes;

/// Zeros are written in pieces of this many bytes: short enough that a logger on the same device hardly notices.
const PIECE_BYTES: usize = 256 << 10;
/// The rest between two pieces while there is no hurry.
const PIECE_PAUSE: Duration = Duration::from_millis(2);
/// Superseded segments that wait to become blanks at least; more are kept where the log fills more between two checkpoints.
const SPARES_MIN: usize = 2;

/// An allocated file without a header.
pub(crate) struct Blank {
    pub(crate) path: PathBuf,
    /// Open for buffered writing.
    pub(crate) file: Arc<dyn File>,
    /// How many bytes from its start were written.
    pub(crate) zeroed: u64,
    /// The device had no space for more zeros; the segment does without them.
    is_refused: bool,
}

/// Why there is no blank.
enum Trouble {
    /// The device is full; what was begun is undone or given up.
    Full(LogFailure),
    /// The log cannot go on.
    Fatal(LogFailure),
}

impl Trouble {
    /// The error of an operation that a lack of space leaves undone.
    fn refused(action: &'static str, path: &Path, source: io::Error) -> Trouble {
        let failure = LogFailure::device(action, path, source);
        if failure.is_full() { Trouble::Full(failure) } else { Trouble::Fatal(failure) }
    }
}

impl From<Trouble> for LogFailure {
    fn from(trouble: Trouble) -> LogFailure {
        let (Trouble::Full(failure) | Trouble::Fatal(failure)) = trouble;
        failure
    }
}

impl From<LogFailure> for Trouble {
    fn from(failure: LogFailure) -> Trouble {
        Trouble::Fatal(failure)
    }
}

/// The shelves from which loggers take their next segment.
pub(crate) struct SegmentPool {
    shelves: Box<[CachePadded<Shelf>]>,
    segment_bytes: u64,
    /// For each directory of the database, what wakes its preparer.
    signals: Box<[Arc<Signal>]>,
    stopping: AtomicBool,
}

struct Shelf {
    directory: PathBuf,
    /// The number of the preparer that fills it.
    preparer: usize,
    state: Mutex<ShelfState>,
    /// Written by the logger: how much of its present segment is used, in bytes, and the length of its usual batch.
    used: AtomicU64,
    batch_bytes: AtomicU64,
}

#[derive(Default)]
struct ShelfState {
    blank: Option<Blank>,
    /// A logger waits for it.
    is_wanted: bool,
    /// The device had no space for one; tried again when a logger wants it or a segment is removed or recycled.
    is_full: bool,
    /// The segments of this generation that recovery needs, oldest first; the last one is being written.
    segments: VecDeque<SegmentHeader>,
    /// Obsolete segments, oldest first, and how many of them are worth keeping.
    superseded: VecDeque<PathBuf>,
    spares_max: usize,
    /// The obsolete segment that is being removed.
    removed: Option<PathBuf>,
}

impl std::fmt::Debug for SegmentPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentPool").field("shelves", &self.shelves.len()).finish_non_exhaustive()
    }
}

impl SegmentPool {
    /// One shelf for each directory of a stream. `cycle_bytes` are what all streams together write between two checkpoints.
    pub(crate) fn new(directories: Vec<PathBuf>, segment_bytes: u64, cycle_bytes: u64) -> SegmentPool {
        let spares_max = SPARES_MIN.max((cycle_bytes / segment_bytes) as usize / directories.len());
        let mut homes: Vec<PathBuf> = Vec::new();
        let shelf = |directory: PathBuf| {
            let home = directory.parent().expect("a stream's directory lies in one of the database");
            let preparer = homes.iter().position(|known| known == home).unwrap_or_else(|| {
                homes.push(home.to_owned());
                homes.len() - 1
            });
            CachePadded::new(Shelf {
                directory,
                preparer,
                state: Mutex::new(ShelfState { spares_max, ..ShelfState::default() }),
                used: AtomicU64::new(0),
                batch_bytes: AtomicU64::new(0),
            })
        };
        let shelves = directories.into_iter().map(shelf).collect();
        let signals = homes.iter().map(|_| Arc::default()).collect();
        SegmentPool { shelves, segment_bytes, signals, stopping: AtomicBool::new(false) }
    }

    /// Returns the blank of `stream`; where there is none yet, its logger is woken when there is.
    pub(crate) fn take(&self, stream: StreamId) -> Option<Blank> {
        let shelf = &self.shelves[stream.0 as usize];
        let blank = {
            let mut state = lock(&shelf.state);
            let blank = state.blank.take();
            state.is_wanted = blank.is_none();
            blank
        };
        shelf.used.store(0, Ordering::Relaxed);
        self.signals[shelf.preparer].wake();
        blank
    }

    /// Notes that the logger of `stream` began a segment.
    pub(crate) fn began(&self, stream: StreamId, header: SegmentHeader) {
        lock(&self.shelves[stream.0 as usize].state).segments.push_back(header);
    }

    /// Returns the sequence number of the segment that each stream is writing: all records that are stamped from now on are in it
    /// or behind it.
    pub(crate) fn current(&self) -> Vec<u64> {
        let current = |shelf: &CachePadded<Shelf>| lock(&shelf.state).segments.back().map(|last| last.sequence);
        self.shelves.iter().map(|shelf| current(shelf).unwrap_or(FIRST_SEQUENCE)).collect()
    }

    /// Returns the sequence number of the first segment of each stream that may hold records above `stamp`.
    pub(crate) fn first_above(&self, stamp: Stamp) -> Vec<u64> {
        let first = |shelf: &CachePadded<Shelf>| {
            let state = lock(&shelf.state);
            let begins = state.segments.iter().rev().find(|segment| segment.floor <= stamp).or(state.segments.front());
            begins.map_or(FIRST_SEQUENCE, |segment| segment.sequence)
        };
        self.shelves.iter().map(first).collect()
    }

    /// Returns the sequence number of the segment of a stream that holds `offset`: the last one that begins at or before it.
    pub(crate) fn holding(&self, stream: StreamId, offset: LogOffset) -> u64 {
        let state = lock(&self.shelves[stream.0 as usize].state);
        let holding = state.segments.iter().rev().find(|segment| segment.base <= offset);
        assert!(holding.is_some() || state.segments.is_empty(), "the log was given up to behind {offset}");
        holding.map_or(FIRST_SEQUENCE, |segment| segment.sequence)
    }

    /// Returns where the first segment of each stream begins that recovery needs.
    pub(crate) fn bases(&self) -> Vec<LogOffset> {
        let base = |shelf: &CachePadded<Shelf>| lock(&shelf.state).segments.front().map(|first| first.base);
        self.shelves.iter().map(|shelf| base(shelf).unwrap_or(FIRST_OFFSET)).collect()
    }

    /// Takes back the segments before `begins`, and `others`: the manifest without them is durable.
    pub(crate) fn recycle(&self, begins: &[StreamBegin], others: &[PathBuf]) {
        for (shelf, begin) in self.shelves.iter().zip(begins) {
            let mut state = lock(&shelf.state);
            let count = state.segments.iter().take_while(|segment| segment.sequence < begin.sequence).count();
            assert!(count == 0 || count < state.segments.len(), "the segment that is being written stays");
            let paths = state
                .segments
                .drain(..count)
                .map(|segment| segment::segment_path(&shelf.directory, segment.log.generation(), segment.sequence));
            let others = others.iter().filter(|path| path.parent() == Some(&shelf.directory));
            let paths: Vec<_> = others.cloned().chain(paths).collect();
            state.spares_max = count.max(SPARES_MIN);
            state.is_full &= paths.is_empty();
            state.superseded.extend(paths);
        }
        self.wake_preparers();
    }

    fn wake_preparers(&self) {
        self.signals.iter().for_each(|signal| signal.wake());
    }

    /// Returns the bytes of the segments that recovery needs.
    pub(crate) fn retained_bytes(&self) -> u64 {
        let bytes =
            |shelf: &CachePadded<Shelf>| lock(&shelf.state).segments.iter().map(|segment| segment.bytes).sum::<u64>();
        self.shelves.iter().map(bytes).sum()
    }

    /// Notes that the logger of `stream` wrote a batch, and how much of its segment is used.
    pub(crate) fn report(&self, stream: StreamId, batch_bytes: u64, used: u64) {
        let shelf = &self.shelves[stream.0 as usize];
        shelf.used.store(used, Ordering::Relaxed);
        // A moving average over about eight batches, written by this logger alone.
        let usual = shelf.batch_bytes.load(Ordering::Relaxed);
        shelf.batch_bytes.store(usual - usual / 8 + batch_bytes / 8, Ordering::Relaxed);
    }

    /// Returns the directory of `stream`.
    pub(crate) fn directory(&self, stream: StreamId) -> &Path {
        &self.shelves[stream.0 as usize].directory
    }

    /// Tells the preparers to end.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.wake_preparers();
    }
}

/// The task that keeps a blank on every shelf of one directory of the database.
pub(crate) struct Preparer {
    log: Arc<Log>,
    number: usize,
    streams: Vec<Tending>,
    zeros: Vec<u8>,
    finished: bool,
}

/// What a preparer remembers of one stream.
struct Tending {
    /// The place of the stream's shelf.
    shelf: usize,
    /// The number of the next `prepared-` file.
    number: u64,
    /// When the next piece is due, where nothing hurries.
    next_piece_at: Duration,
    /// When the next piece of an obsolete segment may be removed.
    next_removal_at: Duration,
}

impl Preparer {
    /// Makes the preparers of `log`, one for each directory of the database.
    pub(crate) fn all(log: &Arc<Log>) -> Vec<Preparer> {
        let tending =
            |shelf| Tending { shelf, number: 1, next_piece_at: Duration::ZERO, next_removal_at: Duration::ZERO };
        let shelves = &log.pool.shelves;
        let of = |number| {
            let own = (0..shelves.len()).filter(|&shelf| shelves[shelf].preparer == number);
            let streams = own.map(tending).collect();
            Preparer { log: Arc::clone(log), number, streams, zeros: vec![0; PIECE_BYTES], finished: false }
        };
        (0..log.pool.signals.len()).map(of).collect()
    }

    /// Returns the task's name.
    pub(crate) fn name(&self) -> String {
        format!("osier-prepare-{}", self.number)
    }

    /// Returns what wakes the task.
    pub(crate) fn signal(&self) -> Arc<Signal> {
        Arc::clone(&self.log.pool.signals[self.number])
    }

    /// Puts a first blank on each of its shelves: adopts what an earlier life prepared, removes what it cannot use.
    pub(crate) fn prepare_first(&mut self) -> Result<(), LogError> {
        for index in 0..self.streams.len() {
            let adopted = self.adopt(index)?;
            let blank = adopted.map_or_else(|| self.create(index), Ok).map_err(LogFailure::from)?;
            lock(&self.shelf(index).state).blank = Some(blank);
        }
        Ok(())
    }

    fn shelf(&self, index: usize) -> &Shelf {
        &self.log.pool.shelves[self.streams[index].shelf]
    }

    fn disk(&self) -> &dyn Disk {
        &*self.log.environment.disk
    }

    /// A prepared file of the right length, if there is one. More of them are spares; others are removed.
    fn adopt(&mut self, index: usize) -> Result<Option<Blank>, LogFailure> {
        let directory = self.shelf(index).directory.clone();
        let listed = self.disk().list(&directory);
        let files = listed.map_err(|source| LogFailure::device("list", &directory, source))?;
        let mut adopted = None;
        for path in files {
            let Some(FileName::Prepared(number)) = FileName::parse(&path) else { continue };
            self.streams[index].number = self.streams[index].number.max(number + 1);
            if !self.is_ours(index, &path)? {
                continue;
            }
            let opened = self.disk().open(&path, OpenMode::Write);
            let file = opened.map_err(|source| LogFailure::device("open", &path, source))?;
            let length = file.len().map_err(|source| LogFailure::device("measure", &path, source))?;
            if length != self.log.pool.segment_bytes {
                self.disk().remove(&path).map_err(|source| LogFailure::device("remove", &path, source))?;
            } else if adopted.is_none() {
                adopted = Some(Blank { path, file, zeroed: 0, is_refused: false });
            } else {
                lock(&self.shelf(index).state).superseded.push_back(path);
            }
        }
        Ok(adopted)
    }

    /// Whether a file of the stream's directory may become a blank: it is there, it is of this stream, and it has no second name.
    /// A file that has one only loses this name.
    fn is_ours(&self, index: usize, path: &Path) -> Result<bool, LogFailure> {
        let (log, directory) = (&self.log.streams[self.streams[index].shelf].identity, &self.shelf(index).directory);
        let owner = match segment::owner(self.disk(), path, FileName::parse(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            owner => owner,
        };
        if !owner.map_err(|source| LogFailure::device("read", path, source))?.may_go(log.database(), directory) {
            return Ok(false);
        }
        let status = self.disk().status(path).map_err(|source| LogFailure::device("look at", path, source))?;
        if !status.is_private() {
            self.disk().remove(path).map_err(|source| LogFailure::device("remove", path, source))?;
        }
        Ok(status.is_private())
    }

    /// A new file with its space reserved. What a failure leaves behind is removed.
    fn create(&mut self, index: usize) -> Result<Blank, Trouble> {
        let number = self.streams[index].number;
        let path = segment::prepared_path(&self.shelf(index).directory, number);
        let opened = self.disk().open(&path, OpenMode::Create);
        let file = opened.map_err(|source| Trouble::refused("create", &path, source))?;
        self.streams[index].number = number + 1;
        let allocated = file.allocate(self.log.pool.segment_bytes).and_then(|()| file.sync());
        if let Err(source) = allocated {
            self.give_up(&path, file);
            return Err(Trouble::refused("allocate", &path, source));
        }
        Ok(Blank { path, file, zeroed: 0, is_refused: false })
    }

    /// Removes a blank whose state is unknown. What that leaves behind is for the next open.
    fn give_up(&self, path: &Path, file: Arc<dyn File>) {
        drop(file);
        // The error that came before is the one to report.
        let _ = self.disk().remove(path);
    }

    /// Removes a piece of the superseded segments that are not worth keeping.
    fn trim(&mut self, index: usize) -> Result<Step, LogFailure> {
        let (log, stream) = (&self.log, &mut self.streams[index]);
        let shelf = &log.pool.shelves[stream.shelf];
        let removed = {
            let state = &mut *lock(&shelf.state);
            if state.removed.is_none() && state.superseded.len() > state.spares_max {
                state.removed = state.superseded.pop_front();
            }
            state.removed.clone()
        };
        let Some(path) = &removed else { return Ok(Step::Idle(None)) };
        let now = log.environment.clock.now();
        let pause = stream.next_removal_at.saturating_sub(now);
        if !pause.is_zero() {
            return Ok(Step::Idle(Some(pause)));
        }
        let removed = match log.environment.disk.remove_piece(path, removed_piece_bytes()) {
            // It was removed by hand, or another preparer needed the space.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            removed => removed,
        };
        match removed {
            Ok(is_gone) => {
                let state = &mut *lock(&shelf.state);
                state.is_full = false;
                state.removed.take_if(|_| is_gone);
                stream.next_removal_at = now + REMOVAL_PAUSE;
                Ok(Step::Again)
            }
            Err(source) => {
                let failure = LogFailure::device("remove", path, source);
                if !failure.is_full() {
                    return Err(failure);
                }
                // Where nothing is overwritten in place, a removal takes space, too.
                stream.next_removal_at = now + FULL_PAUSE;
                Ok(Step::Idle(Some(FULL_PAUSE)))
            }
        }
    }

    /// A blank made of a superseded segment, if there is one of the right length.
    fn reuse(&mut self, index: usize) -> Result<Option<Blank>, Trouble> {
        let Some(path) = lock(&self.shelf(index).state).superseded.pop_back() else { return Ok(None) };
        if !self.is_ours(index, &path)? {
            return Ok(None);
        }
        let number = self.streams[index].number;
        let directory = self.shelf(index).directory.clone();
        let blank = segment::prepared_path(&directory, number);
        if let Err(source) = self.disk().rename(&path, &blank) {
            let trouble = Trouble::refused("rename", &path, source);
            lock(&self.shelf(index).state).superseded.push_back(path);
            return Err(trouble);
        }
        self.streams[index].number = number + 1;
        // Before it is renamed again, as a segment (recovery/freeze.rs).
        faults::sync_names(|| self.disk().sync_dir(&directory))
            .map_err(|source| LogFailure::device("sync the directory", &directory, source))?;
        let opened = self.disk().open(&blank, OpenMode::Write).and_then(|file| Ok((file.len()?, file)));
        let (length, file) = opened.map_err(|source| LogFailure::device("open", &blank, source))?;
        if length != self.log.pool.segment_bytes {
            self.disk().remove(&blank).map_err(|source| Trouble::refused("remove", &blank, source))?;
            return Ok(None);
        }
        Ok(Some(Blank { path: blank, file, zeroed: length, is_refused: false }))
    }

    /// One piece of work for one stream: what it did, as a step.
    fn tend(&mut self, index: usize) -> Result<Step, LogFailure> {
        let blank = {
            let mut state = lock(&self.shelf(index).state);
            match &state.blank {
                Some(blank) => {
                    let pace = self.pace(index, blank);
                    if pace != Step::Again {
                        return Ok(pace);
                    }
                    state.blank.take()
                }
                None if state.is_full && !state.is_wanted => return Ok(Step::Idle(None)),
                None => None,
            }
        };
        let was_begun = blank.is_some();
        let prepared = match blank {
            Some(blank) => self.write_piece(index, blank),
            None => self.reuse(index).and_then(|blank| blank.map_or_else(|| self.create(index), Ok)),
        };
        match prepared {
            Ok(blank) => self.shelve(index, blank),
            // If a logger has asked for it meanwhile, it gets another one, where there is room.
            Err(Trouble::Full(_)) if was_begun => lock(&self.shelf(index).state).is_full = true,
            Err(Trouble::Full(failure)) => self.do_without(index, failure)?,
            Err(Trouble::Fatal(failure)) => return Err(failure),
        }
        Ok(Step::Again)
    }

    /// The device is full: makes room, or fails the log, only if a logger cannot go on.
    fn do_without(&mut self, index: usize, failure: LogFailure) -> Result<(), LogFailure> {
        {
            let mut state = lock(&self.shelf(index).state);
            if !state.is_wanted {
                state.is_full = true;
                return Ok(());
            }
        }
        if self.give_up_a_spare()? { Ok(()) } else { Err(failure) }
    }

    /// Removes a superseded segment of any stream that was kept to be used again; whether there was one.
    fn give_up_a_spare(&mut self) -> Result<bool, LogFailure> {
        while let Some(path) = self.take_spare() {
            match self.disk().remove(&path) {
                Ok(()) => return Ok(true),
                // Somebody else has removed it, or not even that is possible.
                Err(error) if error.kind() == io::ErrorKind::NotFound || is_full(&error) => {}
                Err(source) => return Err(LogFailure::device("remove", &path, source)),
            }
        }
        Ok(false)
    }

    /// Takes a superseded segment, one that is being removed first. One of another preparer is the last choice: its directory may
    /// be on the same device.
    fn take_spare(&self) -> Option<PathBuf> {
        let of = |is_own| {
            let mut shelves = self.log.pool.shelves.iter().filter(|shelf| (shelf.preparer == self.number) == is_own);
            shelves.find_map(|shelf| {
                let state = &mut *lock(&shelf.state);
                state.removed.take().or_else(|| state.superseded.pop_front())
            })
        };
        of(true).or_else(|| of(false))
    }

    fn shelve(&self, index: usize, blank: Blank) {
        let mut state = lock(&self.shelf(index).state);
        assert!(state.blank.is_none(), "two blanks on one shelf");
        state.blank = Some(blank);
        state.is_full = false;
        if std::mem::take(&mut state.is_wanted) {
            self.log.streams[self.streams[index].shelf].baton.signal.wake();
        }
    }

    /// Whether to write the next piece of `blank` now, later, or never.
    fn pace(&self, index: usize, blank: &Blank) -> Step {
        let shelf = self.shelf(index);
        let total = self.log.pool.segment_bytes;
        if blank.zeroed >= total || blank.is_refused || shelf.batch_bytes.load(Ordering::Relaxed) >= LARGE_BATCH_BYTES {
            return Step::Idle(None);
        }
        // Be done by the time the logger has used half of its present segment.
        let is_behind = blank.zeroed < shelf.used.load(Ordering::Relaxed).saturating_mul(2);
        let pause = self.streams[index].next_piece_at.saturating_sub(self.log.environment.clock.now());
        if is_behind || pause.is_zero() { Step::Again } else { Step::Idle(Some(pause)) }
    }

    /// Writes the next zeros of a blank. If a write finds no space the blank is used as it is; if only the sync does, the state
    /// of the file is unknown, and it is abandoned.
    fn write_piece(&mut self, index: usize, mut blank: Blank) -> Result<Blank, Trouble> {
        let left = self.log.pool.segment_bytes - blank.zeroed;
        let piece = &self.zeros[..self.zeros.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        let written = blank.file.write_at(piece, blank.zeroed);
        match written.map_err(|source| Trouble::refused("fill", &blank.path, source)) {
            Err(Trouble::Full(failure)) => {
                faults::demand_zeros(failure)?;
                blank.is_refused = true;
                return Ok(blank);
            }
            written => written?,
        }
        if let Err(source) = blank.file.sync() {
            let Blank { path, file, .. } = blank;
            self.give_up(&path, file);
            return Err(Trouble::refused("fill", &path, source));
        }
        blank.zeroed += piece.len() as u64;
        self.streams[index].next_piece_at = self.log.environment.clock.now() + PIECE_PAUSE;
        Ok(blank)
    }

    /// One piece of work for the stream that needs it most.
    fn tend_one(&mut self) -> Result<Step, LogFailure> {
        let is_wanted = |&index: &usize| lock(&self.shelf(index).state).is_wanted;
        if let Some(wanted) = (0..self.streams.len()).find(is_wanted) {
            return self.tend(wanted);
        }
        let mut pause: Option<Duration> = None;
        for index in 0..self.streams.len() {
            for step in [self.tend(index)?, self.trim(index)?] {
                match step {
                    Step::Idle(Some(other)) => pause = Some(pause.map_or(other, |pause| pause.min(other))),
                    Step::Idle(None) => {}
                    busy => return Ok(busy),
                }
            }
        }
        Ok(Step::Idle(pause))
    }
}

impl Task for Preparer {
    fn step(&mut self) -> Step {
        let is_over = self.log.pool.stopping.load(Ordering::SeqCst) || self.log.acknowledger.failure().is_some();
        let step = if is_over { Ok(Step::Done) } else { self.tend_one() };
        let step = step.unwrap_or_else(|failure| {
            self.log.fail(failure);
            Step::Done
        });
        self.finished = step == Step::Done;
        step
    }
}

impl Drop for Preparer {
    fn drop(&mut self) {
        if faults::has_died(self.finished) {
            self.log.fail(LogFailure::TaskDied { task: self.name() });
        }
    }
}

#[cfg(test)]
#[path = "preparer_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "full_device_tests.rs"]
mod full_device_tests;
