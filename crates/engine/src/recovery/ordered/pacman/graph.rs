//! The transactions of a segment, which run as their [queues](super::queues) allow, and those first that somebody waits for who
//! comes after all of it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use osier_memory::sync::{Mutex, lock};

use super::super::merge::{Batch, LiveRecord};
use super::super::threads::Schedule;
use super::Ran;
use super::accesses::Accesses;
use super::places::Place;
use super::plan::Segment;
use super::queues::{Queues, lists, range};
use super::waits::Runs;
use crate::call::Unordered;
use crate::ids::Stamp;
use crate::recovery::log_scan::LogScan;

/// The transactions of a segment, and who waits for whom.
pub(in super::super) struct Graph {
    scan: Arc<LogScan>,
    window: Arc<Vec<Batch>>,
    places: Vec<Place>,
    first_stamp: Stamp,
    queues: Queues,
    has_run: Vec<AtomicBool>,
    left: AtomicUsize,
    unordered: Arc<Unordered>,
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

impl Graph {
    /// Returns the graph of a segment, for so many threads.
    pub(in super::super) fn new(
        scan: &Arc<LogScan>,
        window: &Arc<Vec<Batch>>,
        Segment { places, edges, homes, unordered, accesses, .. }: Segment,
        threads: usize,
    ) -> (Graph, Option<Accesses>) {
        let count = places.len();
        let asked = accesses.is_some().then(|| Asked::new(count, &edges));
        let stamp_at = |(batch, at): Place| window[batch as usize].stamp(at as usize);
        let graph = Graph {
            scan: scan.clone(),
            window: window.clone(),
            first_stamp: stamp_at(places[0]),
            places,
            queues: Queues::new(count, &edges, homes, threads),
            has_run: (0..count).map(|_| AtomicBool::new(false)).collect(),
            left: AtomicUsize::new(count),
            unordered,
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
        let next = || self.asked.as_ref().and_then(|asked| lock(&asked.ready).pop_front());
        std::iter::from_fn(next).find(|at| self.is_own(*at))
    }

    /// Whether a transaction that was found in a queue is the finder's.
    fn is_own(&self, at: u32) -> bool {
        let is_first = |asked: &Asked| !asked.is_taken[at as usize].swap(true, Ordering::Relaxed);
        self.asked.as_ref().is_none_or(is_first)
    }

    /// The queue of one that waits for nobody any more.
    fn make_ready(&self, at: u32) {
        match &self.asked {
            Some(asked) if asked.is_asked_for[at as usize].load(Ordering::SeqCst) => lock(&asked.ready).push_back(at),
            _ => self.queues.add(at),
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
            if self.queues.waits_for_nobody(at) {
                lock(&asked.ready).push_back(at);
            }
            open.extend(&asked.before[range(&asked.begins, at)]);
        }
    }
}

/// A thread, and what it has taken of others and not run.
pub(in super::super) struct Taken {
    index: usize,
    ready: Option<u32>,
}

impl Schedule for Graph {
    type Taken = Taken;

    fn begin(&self, (index, _): (usize, usize)) -> Taken {
        Taken { index, ready: None }
    }

    fn take(&self, taken: &mut Taken) -> Option<u32> {
        let (queues, own) = (&self.queues, taken.index);
        let is_idle = taken.ready.is_none();
        if is_idle {
            taken.ready = self.next_asked_for();
        }
        if is_idle && taken.ready.is_some() {
            return taken.ready;
        }
        queues.next_to_ask_for(own).or_else(|| {
            if is_idle && queues.is_empty(own) {
                taken.ready = std::iter::from_fn(|| queues.next_of_others(own)).find(|at| self.is_own(*at));
                return taken.ready;
            }
            None
        })
    }

    fn ready(&self, taken: &mut Taken) -> Option<u32> {
        let own = || std::iter::from_fn(|| self.queues.next(taken.index)).find(|at| self.is_own(*at));
        taken.ready.take().or_else(own)
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

    fn ran(&self, _: &mut Taken, at: u32) {
        self.has_run[at as usize].store(true, Ordering::Release);
        self.queues.ran(at, |follower| self.make_ready(follower));
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
