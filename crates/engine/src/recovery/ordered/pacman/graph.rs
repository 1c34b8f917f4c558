//! Which transactions of a segment may run: those of which everybody has run who they wait for.
//!
//! Invariants:
//! - Each transaction waits for others before it in the order alone, so that no two wait for each other, and the first that has
//!   not run may always run.
//! - What has run before another one that waited for it is seen by it: the count of those that are waited for falls with release
//!   and is found to be zero with acquire.
//! - Each thread runs first what it is the home of ([`homes`](super::homes)): what others were waited for, and then what waits
//!   for nobody, in the order of the log. One that finds nothing there takes what others are the home of.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use osier_memory::sync::{Mutex, lock};

use super::super::merge::{Batch, LiveRecord};
use super::super::threads::Schedule;
use super::Ran;
use super::accesses::Accesses;
use super::places::Place;
use super::plan::Segment;
use super::waits::Runs;
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
    /// The thread at which each is at home.
    homes: Vec<u16>,
    has_run: Vec<AtomicBool>,
    left: AtomicUsize,
    unordered: Arc<Unordered>,
    /// By thread.
    queues: Vec<CachePadded<Queue>>,
    /// Where others wait for some of the transactions.
    asked: Option<Asked>,
}

/// What is at home at a thread.
#[derive(Default)]
struct Queue {
    /// Those who wait for nobody from the beginning, and how many of them were taken.
    first: Vec<u32>,
    taken: AtomicUsize,
    ready: Mutex<Ready>,
}

/// Those who wait for nobody any more.
#[derive(Default)]
struct Ready {
    numbers: VecDeque<u32>,
    /// Of so many of the first ones the thread has asked for the memory.
    asked_for: usize,
}

impl Queue {
    fn add(&self, at: u32) {
        lock(&self.ready).numbers.push_back(at);
    }

    /// Returns the next one whose memory is to be asked for.
    fn next_to_ask_for(&self) -> Option<u32> {
        let Ready { numbers, asked_for } = &mut *lock(&self.ready);
        if *asked_for >= at_once_taken() {
            return None;
        }
        if numbers.len() == *asked_for {
            numbers.extend(self.next_first());
        }
        let next = numbers.get(*asked_for).copied()?;
        *asked_for += 1;
        Some(next)
    }

    /// Takes the next one, for the thread.
    fn next(&self) -> Option<u32> {
        let Ready { numbers, asked_for } = &mut *lock(&self.ready);
        *asked_for = asked_for.saturating_sub(1);
        numbers.pop_front()
    }

    /// Takes one for another thread.
    fn next_for_others(&self) -> Option<u32> {
        self.next_first().or_else(|| {
            let Ready { numbers, asked_for } = &mut *lock(&self.ready);
            let last = numbers.pop_back();
            *asked_for = numbers.len().min(*asked_for);
            last
        })
    }

    fn is_empty(&self) -> bool {
        lock(&self.ready).numbers.is_empty()
    }

    fn next_first(&self) -> Option<u32> {
        // A count that many find at its end goes no further.
        (self.taken.load(Ordering::Relaxed) < self.first.len())
            .then(|| self.first.get(self.taken.fetch_add(1, Ordering::Relaxed)).copied())
            .flatten()
    }
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
        Segment { places, edges, homes, unordered, accesses, .. }: Segment,
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
        let mut queues: Vec<CachePadded<Queue>> = (0..threads).map(|_| CachePadded::default()).collect();
        for at in (0..count).filter(|at| waits_for[*at] == 0) {
            queues[usize::from(homes[at])].first.push(at as u32);
        }
        let stamp_at = |(batch, at): Place| window[batch as usize].stamp(at as usize);
        let graph = Graph {
            scan: scan.clone(),
            window: window.clone(),
            first_stamp: stamp_at(places[0]),
            places,
            waits_for: waits_for.into_iter().map(AtomicU32::new).collect(),
            begins,
            followers,
            homes,
            has_run: (0..count).map(|_| AtomicBool::new(false)).collect(),
            left: AtomicUsize::new(count),
            unordered,
            queues,
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
            _ => self.queues[usize::from(self.homes[at as usize])].add(at),
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
        let own = &self.queues[taken.index];
        let is_idle = taken.ready.is_none();
        if is_idle {
            taken.ready = self.next_asked_for();
        }
        if is_idle && taken.ready.is_some() {
            return taken.ready;
        }
        own.next_to_ask_for().or_else(|| {
            let others = (1..self.queues.len()).map(|next| &self.queues[(taken.index + next) % self.queues.len()]);
            let mut taken_of_others = || others.clone().find_map(|other| other.next_for_others());
            if is_idle && own.is_empty() {
                taken.ready = std::iter::from_fn(&mut taken_of_others).find(|at| self.is_own(*at));
                return taken.ready;
            }
            None
        })
    }

    fn ready(&self, taken: &mut Taken) -> Option<u32> {
        let own = || std::iter::from_fn(|| self.queues[taken.index].next()).find(|at| self.is_own(*at));
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
        for follower in &self.followers[range(&self.begins, at)] {
            if self.waits_for[*follower as usize].fetch_sub(1, Ordering::SeqCst) == 1 {
                self.make_ready(*follower);
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
