//! Which transactions of a window may run: those whose vectors lie within `RLV`.
//!
//! A window is a stretch of the order. Everything before it has run, and nothing behind it runs meanwhile, so that only what its
//! vectors say of the window itself is waited for.
//!
//! Invariants:
//! - `RLV` of a stream says that everything of the window at or below it in that stream has run: it is one below the first record
//!   that has not, whoever has taken it, and rises only. (The paper's takes a transaction that was taken for one that has run.)
//! - What a transaction depends on has a smaller stamp than its own. So the first of the order that has not run may always run:
//!   no two wait for each other (Y2).
//! - No lock is taken: a record is taken by a counter of its stream, and `RLV` is raised by whoever has run the record that
//!   held it back. Of two that run at the same time and are neighbours one sees that the other has run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

use super::super::merge::{Batch, Found, LiveRecord};
use super::super::threads::Schedule;
use crate::ids::Stamp;
use crate::log::format::dependency::LsnVector;
use crate::recovery::faults;
use crate::recovery::log_scan::LogScan;

/// A window of the order, shared by the threads that run it.
pub(super) struct Vectors {
    scan: Arc<LogScan>,
    pub(super) batches: Vec<Batch>,
    records: Vec<Planned>,
    streams: Vec<CachePadded<Lane>>,
}

/// So many records are kept that may not run yet, ...
const KEPT_MAX: usize = 32;
/// ... and so many that were not looked at yet: their memory is on its way.
const AHEAD: usize = 4;

/// A record of the window.
struct Planned {
    batch: u32,
    at: u32,
    stream: u32,
    stamp: Stamp,
    vector: LsnVector,
    has_run: AtomicBool,
}

/// The records of one stream.
struct Lane {
    records: Vec<u32>,
    /// The next to be taken.
    next: AtomicUsize,
    /// Those before have run.
    passed: AtomicUsize,
    rlv: AtomicU64,
}

/// What a record waits for: `RLV` of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Blocked {
    stream: usize,
    lsn: u64,
}

impl Blocked {
    /// Whether it is over, by what is known of `RLV`.
    #[inline]
    pub(super) fn is_over(&self, rlv: &[u64]) -> bool {
        rlv[self.stream] >= self.lsn
    }
}

/// The records that a thread has taken and not run.
pub(super) struct Taken {
    /// Which one it is of so many threads.
    place: (usize, usize),
    /// With what they wait for, if they were looked at.
    kept: Vec<(u32, Option<Blocked>)>,
    /// As it was at the last look.
    rlv: Vec<u64>,
}

/// A thread takes records of its own streams as far as there are any, in their order: those of one stream it need not wait for
/// when it is the only one at them. A record that may not run yet is kept until it may; what it waits for is one word. When so
/// many are kept that nothing may run, it takes the first of the order that nobody has taken, for which others may wait.
impl Schedule for Vectors {
    type Taken = Taken;

    fn begin(&self, place: (usize, usize)) -> Taken {
        Taken { place, kept: Vec::new(), rlv: vec![0; self.streams()] }
    }

    fn take(&self, taken: &mut Taken) -> Option<u32> {
        let streams = 0..self.streams();
        let ahead = taken.kept.iter().filter(|(_, blocked)| blocked.is_none()).count();
        let is_wanted = ahead < AHEAD && taken.kept.len() < KEPT_MAX;
        let next = if is_wanted {
            let (index, threads) = taken.place;
            let (own, shared) = (index % streams.end, threads.min(streams.end));
            self.take_of(streams.clone().skip(own).step_by(shared)).or_else(|| self.take_of(streams))
        } else {
            let first = streams.clone().map(|stream| self.next(stream)).min()?;
            let is_first = ahead == 0 && taken.kept.iter().all(|(kept, _)| self.stamp(*kept).0 > first);
            if is_first { self.take_of(streams) } else { None }
        };
        taken.kept.extend(next.map(|record| (record, None)));
        next
    }

    fn ready(&self, taken: &mut Taken) -> Option<u32> {
        self.look(&mut taken.rlv);
        for at in 0..taken.kept.len() {
            let (record, blocked) = &mut taken.kept[at];
            if blocked.is_none_or(|blocked| blocked.is_over(&taken.rlv)) {
                *blocked = self.blocked(*record, &taken.rlv);
                if blocked.is_none() {
                    return Some(taken.kept.remove(at).0);
                }
            }
        }
        None
    }

    fn is_over_for(&self, taken: &Taken) -> bool {
        taken.kept.is_empty()
    }

    fn ran(&self, _taken: &mut Taken, at: u32) {
        self.has_run(at);
    }

    fn is_over(&self) -> bool {
        self.streams.iter().all(|lane| lane.passed.load(Ordering::SeqCst) == lane.records.len())
    }

    fn record(&self, at: u32) -> LiveRecord<'_> {
        let planned = &self.records[at as usize];
        self.batches[planned.batch as usize].record(&self.scan, planned.at as usize)
    }

    fn rest(&self) -> Box<dyn Iterator<Item = LiveRecord<'_>> + '_> {
        let has_run = |at: &u32| self.records[*at as usize].has_run.load(Ordering::Acquire);
        Box::new((0..self.records.len() as u32).filter(move |at| !has_run(at)).map(|at| self.record(at)))
    }

    fn first_stamp(&self) -> Stamp {
        self.stamp(0)
    }

    fn scan(&self) -> &LogScan {
        &self.scan
    }
}

impl Vectors {
    /// Plans the records of `batches`, of a generation with so many streams.
    pub(super) fn new(scan: &Arc<LogScan>, batches: Vec<Batch>, streams: usize) -> Vectors {
        let (mut records, mut lanes) = (Vec::new(), vec![Vec::new(); streams]);
        let all = (0..)
            .zip(&batches)
            .flat_map(|(batch, of)| (0..).zip(of.order()).map(move |(at, found)| (batch, at, found)));
        for (batch, at, (stream, Found { stamp, vector, .. })) in all {
            lanes[stream].push(records.len() as u32);
            let vector = vector.clone().expect("a window is of records with vectors");
            let (stream, has_run) = (stream as u32, AtomicBool::new(false));
            records.push(Planned { batch, at, stream, stamp: *stamp, vector, has_run });
        }
        let lane = |records: Vec<u32>| {
            let (next, passed) = Default::default();
            CachePadded::new(Lane { records, next, passed, rlv: AtomicU64::new(0) })
        };
        let schedule = Vectors { scan: scan.clone(), batches, streams: lanes.into_iter().map(lane).collect(), records };
        schedule.streams.iter().for_each(|lane| schedule.publish(lane, 0));
        schedule
    }

    fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Takes the next record of one of these streams, that with the smallest stamp; `None` where all were taken.
    fn take_of(&self, streams: impl Iterator<Item = usize> + Clone) -> Option<u32> {
        loop {
            let (first, stream) = streams.clone().map(|stream| (self.next(stream), stream)).min()?;
            if first == u64::MAX {
                return None;
            }
            // Somebody else may be faster.
            let lane = &self.streams[stream];
            let next = lane.next.fetch_add(1, Ordering::Relaxed);
            if let Some(at) = lane.records.get(next) {
                faults::run_ahead(|| self.has_run(*at));
                return Some(*at);
            }
        }
    }

    /// Returns the stamp of the next record to be taken of a stream; the greatest number where there is none.
    fn next(&self, stream: usize) -> u64 {
        let lane = &self.streams[stream];
        let next = lane.records.get(lane.next.load(Ordering::Relaxed));
        next.map_or(u64::MAX, |at| self.records[*at as usize].stamp.0)
    }

    /// Returns the stamp of a record.
    fn stamp(&self, at: u32) -> Stamp {
        self.records[at as usize].stamp
    }

    /// Copies `RLV`.
    fn look(&self, rlv: &mut [u64]) {
        rlv.iter_mut().zip(&self.streams).for_each(|(rlv, lane)| *rlv = lane.rlv.load(Ordering::Acquire));
    }

    /// Returns what a record waits for, by what is known of `RLV`.
    fn blocked(&self, at: u32, rlv: &[u64]) -> Option<Blocked> {
        let vector = &self.records[at as usize].vector;
        let all = vector.all().0;
        let of_all = (all >= self.records[0].stamp.0).then(|| rlv.iter().position(|rlv| *rlv < all)).flatten();
        let named = || vector.iter().find(|(stream, lsn)| rlv[stream.0 as usize] < lsn.0);
        let of_all = of_all.map(|stream| Blocked { stream, lsn: all });
        of_all.or_else(|| named().map(|(stream, lsn)| Blocked { stream: stream.0 as usize, lsn: lsn.0 }))
    }

    /// A record has run: raises `RLV` of its stream, if that held it back.
    fn has_run(&self, at: u32) {
        let planned = &self.records[at as usize];
        // In one order with the look at `passed`, as it is in whoever runs the record before.
        planned.has_run.store(true, Ordering::SeqCst);
        let lane = &self.streams[planned.stream as usize];
        loop {
            let passed = lane.passed.load(Ordering::SeqCst);
            let Some(first) = lane.records.get(passed) else { return };
            if !self.records[*first as usize].has_run.load(Ordering::SeqCst) {
                return;
            }
            if lane.passed.compare_exchange(passed, passed + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                self.publish(lane, passed + 1);
            }
        }
    }

    /// Publishes `RLV` of a stream of which so many records have run.
    fn publish(&self, lane: &Lane, passed: usize) {
        let first = lane.records.get(passed).map(|at| self.records[*at as usize].stamp.0 - 1);
        lane.rlv.fetch_max(first.unwrap_or(u64::MAX), Ordering::AcqRel);
    }

    /// Returns the length of the longest chain of records of which each waits for the one before it: what no number of threads
    /// goes below.
    pub(super) fn critical_path(&self) -> usize {
        // Of each stream the stamps so far, and the longest chain up to each.
        let mut chains: Vec<Vec<(u64, usize)>> = vec![Vec::new(); self.streams.len()];
        let up_to = |chain: &[(u64, usize)], lsn: u64| {
            let behind = chain.partition_point(|(stamp, _)| *stamp <= lsn);
            behind.checked_sub(1).map_or(0, |at| chain[at].1)
        };
        let first = self.records.first().map_or(0, |planned| planned.stamp.0);
        for planned in &self.records {
            let all = planned.vector.all().0;
            let of_all = || chains.iter().map(|chain| up_to(chain, all)).max().unwrap_or(0);
            let before = if all >= first { of_all() } else { 0 };
            let named = planned.vector.iter().map(|(stream, lsn)| up_to(&chains[stream.0 as usize], lsn.0));
            let length = 1 + named.fold(before, usize::max);
            let chain = &mut chains[planned.stream as usize];
            let longest = chain.last().map_or(0, |(_, longest)| *longest).max(length);
            chain.push((planned.stamp.0, longest));
        }
        chains.iter().filter_map(|chain| chain.last()).map(|(_, longest)| *longest).max().unwrap_or(0)
    }
}
