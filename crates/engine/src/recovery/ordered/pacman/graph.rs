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
use super::accesses::{Accesses, Runs};
use super::plan::{Place, Segment};
use crate::call::Unordered;
use crate::ids::Stamp;
use crate::recovery::log_scan::LogScan;
use crate::sizes::at_once_taken;

/// The transactions of a segment, and who waits for whom.
pub(in super::super) struct Graph {
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
    /// Where others wait for some of the transactions.
    asked: Option<Asked>,
}

/// Which transactions go first, because somebody waits for them.
struct Asked {
    /// Whom each one waits for: a range of `before`.
    begins: Vec<u32>,
    before: Vec<u32>,
    is_asked_for: Vec<AtomicBool>,
    /// One may be in several queues: who takes it first has it.
    is_taken: Vec<AtomicBool>,
    /// Those that wait for nobody.
    ready: Mutex<VecDeque<u32>>,
    /// How many of the first ones have run.
    run: AtomicU32,
    /// How many users are always in the way of, so that they are to stand still.
    crowded: AtomicU32,
}

impl Asked {
    fn new(count: usize, edges: &[(u32, u32)]) -> Asked {
        let flags = || (0..count).map(|_| AtomicBool::new(false)).collect();
        let (begins, before) = lists(count, edges.iter().map(|(from, to)| (*to, *from)));
        let (run, crowded) = Default::default();
        Asked { begins, before, is_asked_for: flags(), is_taken: flags(), ready: Mutex::default(), run, crowded }
    }
}

/// Returns the lists of those that each number leads to, one behind the other, and where each begins.
fn lists(count: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> (Vec<u32>, Vec<u32>) {
    let mut begins = vec![0_u32; count + 1];
    edges.clone().for_each(|(from, _)| begins[from as usize + 1] += 1);
    (0..count).for_each(|at| begins[at + 1] += begins[at]);
    let (mut next, mut lists) = (begins.clone(), vec![0; begins[count] as usize]);
    for (from, to) in edges {
        lists[next[from as usize] as usize] = to;
        next[from as usize] += 1;
    }
    (begins, lists)
}

impl Graph {
    /// Returns the graph of a segment, for so many threads.
    pub(in super::super) fn new(
        scan: &Arc<LogScan>,
        window: &Arc<Vec<Batch>>,
        Segment { places, edges, unordered, accesses, .. }: Segment,
        threads: usize,
    ) -> (Graph, Option<Accesses>) {
        let count = places.len();
        let mut waits_for = vec![0; count];
        for (from, to) in &edges {
            assert!(from < to, "who is waited for comes before");
            waits_for[*to as usize] += 1;
        }
        let (begins, followers) = lists(count, edges.iter().copied());
        let asked = accesses.is_some().then(|| Asked::new(count, &edges));
        let first = (0..count as u32).filter(|at| waits_for[*at as usize] == 0).collect();
        let stamp_at = |(batch, at): Place| window[batch as usize].stamp(at as usize);
        let graph = Graph {
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
            asked,
        };
        (graph, accesses)
    }
}

impl Graph {
    /// Returns the first one that has not run.
    pub(in super::super) fn first_left(&self) -> Option<u32> {
        let asked = self.asked.as_ref().expect("others wait for this segment");
        let run = asked.run.load(Ordering::Acquire);
        let more = (run..self.places.len() as u32).take_while(|at| self.has_run(*at)).count() as u32;
        asked.run.fetch_max(run + more, Ordering::AcqRel);
        (run + more < self.places.len() as u32).then_some(run + more)
    }

    /// Whether users are to stand still.
    pub(in super::super) fn is_crowded(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.crowded.load(Ordering::Relaxed) > 0)
    }

    /// How many have not run.
    pub(in super::super) fn left(&self) -> usize {
        self.left.load(Ordering::Acquire)
    }

    /// Takes one that somebody waits for.
    fn next_asked_for(&self) -> Option<u32> {
        self.asked.as_ref().and_then(|asked| lock(&asked.ready).pop_front())
    }

    /// Whether a transaction that was found in a queue is the finder's.
    fn is_own(&self, at: u32) -> bool {
        let is_first = |asked: &Asked| !asked.is_taken[at as usize].swap(true, Ordering::Relaxed);
        self.asked.as_ref().is_none_or(is_first)
    }

    /// The queue of one that waits for nobody any more.
    fn make_ready(&self, taken: &Taken, at: u32) {
        match &self.asked {
            Some(asked) if asked.is_asked_for[at as usize].load(Ordering::SeqCst) => lock(&asked.ready).push_back(at),
            _ => lock(&self.queues[taken.index]).push_back(at),
        }
    }

    /// How many records its transactions have.
    pub(in super::super) fn ran(&self) -> Ran {
        let mut ran = Ran::default();
        for (batch, at) in &self.places {
            let batch = &self.window[*batch as usize];
            ran.records += batch.records_of(*at as usize) as u64;
            ran.commands += u64::from(batch.is_command(*at as usize));
        }
        ran
    }
}

impl Runs for Graph {
    fn has_run(&self, at: u32) -> bool {
        self.has_run[at as usize].load(Ordering::Acquire)
    }

    fn ask_for(&self, at: u32) {
        let asked = self.asked.as_ref().expect("others wait for this segment");
        let mut open = vec![at];
        while let Some(at) = open.pop() {
            // SeqCst, as in `ran`: who asks sees that it waits for nobody, or who has run the last one sees that it is asked for.
            let is_asked_for = &asked.is_asked_for[at as usize];
            if self.has_run(at) || is_asked_for.load(Ordering::Relaxed) || is_asked_for.swap(true, Ordering::SeqCst) {
                continue;
            }
            if self.waits_for[at as usize].load(Ordering::SeqCst) == 0 {
                lock(&asked.ready).push_back(at);
            }
            open.extend(&asked.before[range(&asked.begins, at)]);
        }
    }
}

/// Where the list of a number lies.
fn range(begins: &[u32], at: u32) -> std::ops::Range<usize> {
    begins[at as usize] as usize..begins[at as usize + 1] as usize
}

/// What a thread has taken and not run.
pub(in super::super) struct Taken {
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
        let next = || self.next_asked_for().or_else(own).or_else(first).or_else(others);
        let next = std::iter::from_fn(next).find(|at| self.is_own(*at));
        taken.ready.extend(next);
        next
    }

    fn ready(&self, taken: &mut Taken) -> Option<u32> {
        taken.ready.pop_front()
    }

    fn is_over_for(&self, _taken: &Taken) -> bool {
        self.is_over()
    }

    fn set_crowded(&self, is_crowded: bool) {
        if let Some(asked) = &self.asked {
            match is_crowded {
                true => asked.crowded.fetch_add(1, Ordering::Relaxed),
                false => asked.crowded.fetch_sub(1, Ordering::Relaxed),
            };
        }
    }

    fn ran(&self, taken: &mut Taken, at: u32) {
        self.has_run[at as usize].store(true, Ordering::Release);
        for follower in &self.followers[range(&self.begins, at)] {
            if self.waits_for[*follower as usize].fetch_sub(1, Ordering::SeqCst) == 1 {
                self.make_ready(taken, *follower);
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
