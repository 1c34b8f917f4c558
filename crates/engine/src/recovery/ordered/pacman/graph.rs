//! Which transactions of a segment may run: those of which everybody has run who they wait for.
//!
//! Invariants:
//! - Each transaction waits for others before it in the order alone, so that no two wait for each other, and the first that has
//!   not run may always run.
//! - What has run before another one that waited for it is seen by it: the count of those that are waited for falls with release
//!   and is found to be zero with acquire.
//! - Each thread has a queue of its own; one that finds nothing there takes what nobody waits for in the order of the log, and
//!   then from the queues of others.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use osier_memory::sync::{Mutex, lock};

use super::super::merge::{Batch, LiveRecord};
use super::super::threads::Schedule;
use super::Ran;
use super::plan::{Place, Segment};
use crate::call::Unordered;
use crate::ids::Stamp;
use crate::recovery::log_scan::LogScan;
use crate::sizes::at_once_taken;

/// The transactions of a segment, and who waits for whom.
pub(super) struct Graph {
    scan: Arc<LogScan>,
    window: Arc<Vec<Batch>>,
    places: Vec<Place>,
    first_stamp: Stamp,
    /// How many each one waits for.
    waits_for: Vec<AtomicU32>,
    /// Who waits for each: a range of `followers`.
    begins: Vec<u32>,
    followers: Vec<u32>,
    /// Those who wait for nobody, and how many of them were taken.
    first: Vec<u32>,
    taken: AtomicUsize,
    has_run: Vec<AtomicBool>,
    left: AtomicUsize,
    unordered: Arc<Unordered>,
    queues: Vec<CachePadded<Mutex<VecDeque<u32>>>>,
}

impl Graph {
    /// Returns the graph of a segment, for so many threads.
    pub(super) fn new(
        scan: &Arc<LogScan>,
        window: &Arc<Vec<Batch>>,
        Segment { places, edges, unordered, .. }: Segment,
        threads: usize,
    ) -> Graph {
        let count = places.len();
        let mut waits_for = vec![0; count];
        let mut begins = vec![0_u32; count + 1];
        for (from, to) in &edges {
            assert!(from < to, "who is waited for comes before");
            waits_for[*to as usize] += 1;
            begins[*from as usize + 1] += 1;
        }
        (0..count).for_each(|at| begins[at + 1] += begins[at]);
        let (mut next, mut followers) = (begins.clone(), vec![0; edges.len()]);
        for (from, to) in &edges {
            followers[next[*from as usize] as usize] = *to;
            next[*from as usize] += 1;
        }
        let first = (0..count as u32).filter(|at| waits_for[*at as usize] == 0).collect();
        let stamp_at = |(batch, at): Place| window[batch as usize].stamp(at as usize);
        Graph {
            scan: scan.clone(),
            window: window.clone(),
            first_stamp: stamp_at(places[0]),
            places,
            waits_for: waits_for.into_iter().map(AtomicU32::new).collect(),
            begins,
            followers,
            first,
            taken: AtomicUsize::new(0),
            has_run: (0..count).map(|_| AtomicBool::new(false)).collect(),
            left: AtomicUsize::new(count),
            unordered,
            queues: (0..threads).map(|_| CachePadded::default()).collect(),
        }
    }
}

impl Graph {
    /// How many records its transactions have.
    pub(super) fn ran(&self) -> Ran {
        let mut ran = Ran::default();
        for (batch, at) in &self.places {
            let batch = &self.window[*batch as usize];
            ran.records += batch.records_of(*at as usize) as u64;
            ran.commands += u64::from(batch.is_command(*at as usize));
        }
        ran
    }
}

/// What a thread has taken and not run.
pub(super) struct Taken {
    index: usize,
    ready: VecDeque<u32>,
}

impl Schedule for Graph {
    type Taken = Taken;

    fn begin(&self, (index, _): (usize, usize)) -> Taken {
        Taken { index, ready: VecDeque::with_capacity(at_once_taken()) }
    }

    fn take(&self, taken: &mut Taken) -> Option<u32> {
        if taken.ready.len() >= at_once_taken() {
            return None;
        }
        let own = || lock(&self.queues[taken.index]).pop_front();
        let first = || match self.taken.load(Ordering::Relaxed) < self.first.len() {
            true => self.first.get(self.taken.fetch_add(1, Ordering::Relaxed)).copied(),
            false => None,
        };
        let others = || {
            // What others are about to run stays with them.
            let is_idle = taken.ready.is_empty();
            let others = (1..self.queues.len()).map(|next| (taken.index + next) % self.queues.len());
            others.filter(|_| is_idle).find_map(|other| lock(&self.queues[other]).pop_front())
        };
        let next = own().or_else(first).or_else(others);
        taken.ready.extend(next);
        next
    }

    fn ready(&self, taken: &mut Taken) -> Option<u32> {
        taken.ready.pop_front()
    }

    fn is_over_for(&self, _taken: &Taken) -> bool {
        self.is_over()
    }

    fn ran(&self, taken: &mut Taken, at: u32) {
        self.has_run[at as usize].store(true, Ordering::Release);
        let followers = self.begins[at as usize] as usize..self.begins[at as usize + 1] as usize;
        for follower in &self.followers[followers] {
            if self.waits_for[*follower as usize].fetch_sub(1, Ordering::AcqRel) == 1 {
                lock(&self.queues[taken.index]).push_back(*follower);
            }
        }
        self.left.fetch_sub(1, Ordering::AcqRel);
    }

    fn is_over(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    fn record(&self, at: u32) -> LiveRecord<'_> {
        let (batch, at) = self.places[at as usize];
        self.window[batch as usize].record(&self.scan, at as usize)
    }

    fn rest(&self) -> Box<dyn Iterator<Item = LiveRecord<'_>> + '_> {
        let has_run = |at: &u32| self.has_run[*at as usize].load(Ordering::Acquire);
        Box::new((0..self.places.len() as u32).filter(move |at| !has_run(at)).map(|at| self.record(at)))
    }

    fn unordered(&self) -> Arc<Unordered> {
        self.unordered.clone()
    }

    fn first_stamp(&self) -> Stamp {
        self.first_stamp
    }

    fn scan(&self) -> &LogScan {
        &self.scan
    }
}
