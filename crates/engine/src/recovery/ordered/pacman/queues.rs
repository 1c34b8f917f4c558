//! Which transactions of a segment may run, those of which everybody has run who they wait for, and in which order threads take
//! them.
//!
//! Invariants:
//! - Each transaction waits for others before it in the order alone, so that no two wait for each other, and the first that has
//!   not run may always run.
//! - What has run before another one that waited for it is seen by it: the count of those that are waited for falls with release
//!   and is found to be zero with acquire.
//! - Each thread runs first what it is the home of ([`homes`](super::homes)): what others were waited for, and then what waits
//!   for nobody, in the order of the log. One that finds nothing there takes what others are the home of.
//!
//! Absent: the transactions ([`graph`](super::graph)). Simulations take what these queues give, too ([`model`](super::model)).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use osier_memory::sync::{Mutex, lock};

use crate::sizes::at_once_taken;

/// Who waits for whom, and what may run.
pub(super) struct Queues {
    /// How many each one waits for.
    waits_for: Vec<AtomicU32>,
    /// Who waits for each: a range of `followers`.
    begins: Vec<u32>,
    followers: Vec<u32>,
    /// The thread at which each is at home.
    homes: Vec<u16>,
    /// By thread.
    of: Vec<CachePadded<Queue>>,
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

impl Queues {
    /// Returns the queues of so many transactions for so many threads. Each of `edges` leads from one to another one that waits
    /// for it.
    pub(super) fn new(count: usize, edges: &[(u32, u32)], homes: Vec<u16>, threads: usize) -> Queues {
        assert_eq!(homes.len(), count, "each is at home somewhere");
        let mut waits_for = vec![0; count];
        for (from, to) in edges {
            assert!(from < to, "who is waited for comes before");
            waits_for[*to as usize] += 1;
        }
        let (begins, followers) = lists(count, edges.iter().copied());
        let mut of: Vec<CachePadded<Queue>> = (0..threads).map(|_| CachePadded::default()).collect();
        for at in (0..count).filter(|at| waits_for[*at] == 0) {
            of[usize::from(homes[at])].first.push(at as u32);
        }
        Queues { waits_for: waits_for.into_iter().map(AtomicU32::new).collect(), begins, followers, homes, of }
    }

    /// Where a transaction is at home.
    pub(super) fn home(&self, at: u32) -> usize {
        usize::from(self.homes[at as usize])
    }

    /// Whether a transaction waits for nobody, or for nobody any more.
    pub(super) fn waits_for_nobody(&self, at: u32) -> bool {
        self.waits_for[at as usize].load(Ordering::SeqCst) == 0
    }

    /// Adds one that waits for nobody any more to the queue of its home.
    pub(super) fn add(&self, at: u32) {
        self.of[self.home(at)].add(at);
    }

    /// Returns the next one of a thread whose memory is to be asked for.
    pub(super) fn next_to_ask_for(&self, thread: usize) -> Option<u32> {
        self.of[thread].next_to_ask_for()
    }

    /// Takes the next one of a thread, of those whose memory was asked for.
    pub(super) fn next(&self, thread: usize) -> Option<u32> {
        self.of[thread].next()
    }

    /// Takes one that is at home elsewhere.
    pub(super) fn next_of_others(&self, thread: usize) -> Option<u32> {
        (1..self.of.len()).find_map(|next| self.of[(thread + next) % self.of.len()].next_for_others())
    }

    /// Whether a thread has nothing of its own, once it has asked for the memory of all that it takes.
    pub(super) fn is_empty(&self, thread: usize) -> bool {
        self.of[thread].is_empty()
    }

    /// One has run: gives those to `ready` that waited for it and wait for nobody any more.
    pub(super) fn ran(&self, at: u32, mut ready: impl FnMut(u32)) {
        for follower in &self.followers[range(&self.begins, at)] {
            if self.waits_for[*follower as usize].fetch_sub(1, Ordering::SeqCst) == 1 {
                ready(*follower);
            }
        }
    }
}

/// Returns the lists of those that each number leads to, one behind the other, and where each begins.
pub(super) fn lists(count: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> (Vec<u32>, Vec<u32>) {
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

/// Where the list of a number lies.
pub(super) fn range(begins: &[u32], at: u32) -> std::ops::Range<usize> {
    begins[at as usize] as usize..begins[at as usize + 1] as usize
}
