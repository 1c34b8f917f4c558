//! A replay by procedures, simulated: how long it would take with any number of threads, event by event, from what was noted of
//! real ones ([`notes`](super::super::notes)).
//!
//! Invariants:
//! - What runs when is decided by the queues, the homes and the segments of a real replay. Only the passing of time is made up.
//! - The same notes give the same result.
//! - A transaction takes as long as in the notes, whoever runs beside it, and a thread finds at once what it may run.
//!
//! As in a real replay some threads plan while the others run the segment before, and run transactions as they do from then on
//! until the segment has ended. What a stretch accesses several of them note, one plans the rest behind that. Another one reads
//! the log, a stretch ahead.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::super::notes::{NotedGraph, NotedStretch};
use super::homes::Homes;
use super::noters;
use super::queues::Queues;

/// What things take, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(in crate::recovery) struct Costs {
    /// Of each transaction, in the order of the log, if they run one after the other.
    pub(in crate::recovery) transactions: Vec<u32>,
    /// So many times as long each of them takes where they run at once.
    pub(in crate::recovery) at_once: f64,
    /// Reading one of them.
    pub(in crate::recovery) read: f64,
    /// Beginning a segment with one thread.
    pub(in crate::recovery) begin: u64,
    /// Whether a segment is planned while the one before runs.
    pub(in crate::recovery) is_pipelined: bool,
}

/// A replay that was simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::recovery) struct Simulated {
    /// How long it takes, ...
    pub(in crate::recovery) nanos: u64,
    /// ... and how long its threads have something to do, all together. Reading the log is not counted where it has a thread of
    /// its own.
    pub(in crate::recovery) busy_nanos: u64,
}

/// Simulates a replay of these stretches by so many threads.
pub(in crate::recovery) fn simulate(stretches: &[NotedStretch], costs: &Costs, threads: usize) -> Simulated {
    assert!(threads > 0, "somebody replays");
    let all: u64 = stretches.iter().map(|stretch| u64::from(stretch.transactions)).sum();
    assert_eq!(all, costs.transactions.len() as u64, "both replays have run the same transactions");
    if threads == 1 {
        let nanos = in_order(&costs.transactions) + costs.reading(all);
        return Simulated { nanos, busy_nanos: nanos };
    }
    let (homes, running) = (Homes::new(threads), None);
    let mut replay = Replay { costs, threads, homes, now: 0, read: 0, taken: 0, busy: 0, running };
    let mut rest = &costs.transactions[..];
    for stretch in stretches {
        let (transactions, behind) = rest.split_at(stretch.transactions as usize);
        rest = behind;
        replay.stretch(stretch, transactions);
    }
    replay.end();
    Simulated { nanos: replay.now, busy_nanos: replay.busy }
}

/// What no number of threads goes below, in nanoseconds: planning, as far as one thread does it, and the longest chains of
/// transactions that wait for each other.
pub(in crate::recovery) fn limits(stretches: &[NotedStretch], costs: &Costs) -> (u64, u64) {
    let (mut planning, mut chains, mut rest) = (0, 0, &costs.transactions[..]);
    for stretch in stretches {
        let (transactions, behind) = rest.split_at(stretch.transactions as usize);
        rest = behind;
        planning += stretch.planned.saturating_sub(stretch.noted).as_nanos() as u64;
        chains += match &stretch.at_once {
            None => in_order(transactions),
            Some(NotedGraph { edges, queued, .. }) => {
                planning += queued.as_nanos() as u64;
                (longest_chain(transactions, edges) as f64 * costs.at_once) as u64
            }
        };
    }
    (planning, chains)
}

/// How long the longest chain takes. Each of `edges` leads from one to another one behind it, in the order of the latter.
fn longest_chain(transactions: &[u32], edges: &[(u32, u32)]) -> u64 {
    // When the last one has run that each waits for.
    let mut begins = vec![0; transactions.len()];
    for (from, to) in edges {
        let ends = begins[*from as usize] + u64::from(transactions[*from as usize]);
        begins[*to as usize] = ends.max(begins[*to as usize]);
    }
    let ends = begins.iter().zip(transactions).map(|(begins, nanos)| begins + u64::from(*nanos));
    ends.max().unwrap_or(0)
}

/// How long transactions take one after the other.
fn in_order(transactions: &[u32]) -> u64 {
    transactions.iter().map(|nanos| u64::from(*nanos)).sum()
}

impl Costs {
    fn reading(&self, transactions: u64) -> u64 {
        (self.read * transactions as f64) as u64
    }
}

/// A replay by several threads, which is somewhere in the log.
struct Replay<'c> {
    costs: &'c Costs,
    threads: usize,
    homes: Homes,
    /// Of the thread that plans.
    now: u64,
    /// When the stretch was read, and taken by that thread: from then on the next one is read.
    read: u64,
    taken: u64,
    busy: u64,
    /// The segment that the others run, ...
    running: Option<Running<'c>>,
}

/// ... of which they have begun one after the other at this moment.
struct Running<'c> {
    segment: Segment<'c>,
    begun: u64,
}

impl<'c> Replay<'c> {
    fn stretch(&mut self, stretch: &'c NotedStretch, transactions: &'c [u32]) {
        let homes: Vec<u16> = stretch.groups.iter().map(|group| self.homes.of(*group)).collect();
        self.read = self.read.max(self.taken) + self.costs.reading(transactions.len() as u64);
        self.now = self.now.max(self.read);
        self.taken = self.now;
        if !self.costs.is_pipelined {
            self.end();
        }
        self.plans(stretch);
        self.end();
        match &stretch.at_once {
            None => self.works(in_order(transactions)),
            Some(NotedGraph { edges, queued, .. }) => {
                self.works(queued.as_nanos() as u64);
                let queues = Queues::new(transactions.len(), edges, homes, self.threads);
                let segment = Segment::new(queues, transactions, self.costs.at_once, self.threads);
                self.running = Some(Running { segment, begun: self.now });
                self.works(self.costs.begin * self.active() as u64);
            }
        }
    }

    /// Some threads plan.
    fn plans(&mut self, NotedStretch { planned, noted, .. }: &NotedStretch) {
        let (planned, noted) = (planned.as_nanos() as u64, noted.as_nanos() as u64);
        self.works(planned.saturating_sub(noted));
        self.now += noted / noters(self.threads) as u64;
        self.busy += noted;
    }

    /// How many threads run a segment while the next one is planned.
    fn active(&self) -> usize {
        self.threads - noters(self.threads)
    }

    /// The thread that plans does something.
    fn works(&mut self, nanos: u64) {
        self.now += nanos;
        self.busy += nanos;
    }

    /// Waits until what is running has ended, and one more thread runs it meanwhile.
    fn end(&mut self) {
        let Some(Running { mut segment, begun }) = self.running.take() else { return };
        for thread in 0..self.active() {
            segment.comes(thread, begun + (thread as u64 + 1) * self.costs.begin);
        }
        for thread in self.active()..self.threads {
            self.works(self.costs.begin);
            segment.comes(thread, self.now);
        }
        let ended = segment.run();
        self.busy += segment.busy;
        self.now = self.now.max(ended);
    }
}

/// A segment that threads run.
struct Segment<'c> {
    queues: Queues,
    transactions: &'c [u32],
    at_once: f64,
    /// When which thread has nothing to run any more.
    events: BinaryHeap<Reverse<(u64, usize)>>,
    /// What each of the threads runs.
    runs: Vec<Option<u32>>,
    /// Those that find nothing to run.
    idle: BTreeSet<usize>,
    /// How many may run and were not taken, and how many have not run.
    ready: usize,
    left: usize,
    busy: u64,
}

impl<'c> Segment<'c> {
    fn new(queues: Queues, transactions: &'c [u32], at_once: f64, threads: usize) -> Segment<'c> {
        let left = transactions.len();
        let ready = (0..left as u32).filter(|at| queues.waits_for_nobody(*at)).count();
        let (events, idle) = Default::default();
        Segment { queues, transactions, at_once, events, runs: vec![None; threads], idle, ready, left, busy: 0 }
    }

    /// A thread begins with it at some moment.
    fn comes(&mut self, thread: usize, at: u64) {
        self.events.push(Reverse((at, thread)));
    }

    /// Runs it, and returns when the last transaction has run.
    fn run(&mut self) -> u64 {
        let mut ended = 0;
        while let Some(Reverse((now, thread))) = self.events.pop() {
            let mut released = Vec::new();
            if let Some(ran) = self.runs[thread].take() {
                self.queues.ran(ran, |next| released.push(next));
                (self.left, ended) = (self.left - 1, now);
            }
            self.ready += released.len();
            released.iter().for_each(|next| self.queues.add(*next));
            self.takes(thread, now);
            // Who waits looks all the time: those first at which it is at home.
            let homes: Vec<usize> = released.iter().map(|next| self.queues.home(*next)).collect();
            homes.into_iter().for_each(|home| self.takes_if_idle(home, now));
            while self.ready > 0
                && let Some(idle) = self.idle.first().copied()
            {
                self.takes_if_idle(idle, now);
            }
        }
        assert_eq!(self.left, 0, "the first that has not run may run");
        ended
    }

    fn takes_if_idle(&mut self, thread: usize, now: u64) {
        if self.idle.remove(&thread) {
            self.takes(thread, now);
        }
    }

    /// A thread takes the next one that it may run, as a real one does.
    fn takes(&mut self, thread: usize, now: u64) {
        if self.ready == 0 {
            self.idle.insert(thread);
            return;
        }
        while self.queues.next_to_ask_for(thread).is_some() {}
        let next =
            if self.queues.is_empty(thread) { self.queues.next_of_others(thread) } else { self.queues.next(thread) };
        let next = next.expect("one is in a queue");
        self.ready -= 1;
        let nanos = (f64::from(self.transactions[next as usize]) * self.at_once) as u64;
        self.runs[thread] = Some(next);
        self.busy += nanos;
        self.events.push(Reverse((now + nanos, thread)));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const STEP: u64 = 1000;

    /// Costs of so many transactions of one step each, where nothing else takes time.
    fn costs(transactions: usize) -> Costs {
        let transactions = vec![STEP as u32; transactions];
        Costs { transactions, at_once: 1.0, read: 0.0, begin: 0, is_pipelined: true }
    }

    /// A segment of so many transactions, of groups in turn, which took so many steps to plan.
    fn segment(transactions: u32, groups: u16, edges: &[(u32, u32)], planned: u64) -> NotedStretch {
        NotedStretch {
            transactions,
            planned: Duration::from_nanos(planned * STEP),
            noted: Duration::ZERO,
            groups: (0..transactions).map(|at| Some(at as u16 % groups)).collect(),
            at_once: Some(NotedGraph { edges: edges.to_vec(), ..NotedGraph::default() }),
        }
    }

    /// How many steps a replay takes.
    fn steps(stretches: &[NotedStretch], costs: &Costs, threads: usize) -> u64 {
        let simulated = simulate(stretches, costs, threads);
        assert!(simulated.busy_nanos <= simulated.nanos * threads as u64, "nobody does two things at a time");
        assert_eq!(simulated.nanos % STEP, 0, "{simulated:?}");
        simulated.nanos / STEP
    }

    #[test]
    fn a_chain_is_not_run_faster() {
        let chain: Vec<_> = (1..64).map(|at| (at - 1, at)).collect();
        let stretches = [segment(64, 64, &chain, 0)];
        for threads in [1, 2, 3, 40] {
            assert_eq!(steps(&stretches, &costs(64), threads), 64, "{threads} threads");
        }
        assert_eq!(limits(&stretches, &costs(64)), (0, 64 * STEP));
        let Simulated { nanos, busy_nanos } = simulate(&stretches, &costs(64), 4);
        assert_eq!(busy_nanos, nanos, "of four threads three wait");
    }

    #[test]
    fn what_is_independent_runs_at_once_until_planning_takes_longer() {
        // The second segment is planned while all threads but one run the first one. It has 60 transactions.
        let stretches = [segment(60, 60, &[], 10), segment(60, 60, &[], 10), segment(60, 60, &[], 10)];
        let costs = costs(180);
        assert_eq!(steps(&stretches, &costs, 1), 180);
        assert_eq!(limits(&stretches, &costs), (30 * STEP, 3 * STEP));
        // 10, then planning beside one thread, which has run 10 of 60 then: two have 50 left.
        assert_eq!(steps(&stretches, &costs, 2), 10 + (10 + 25) * 2 + 30);
        // Two threads have run 20 after 10 steps, and three run the other 40.
        assert_eq!(steps(&stretches, &costs, 3), 10 + (10 + 14) * 2 + 20);
        assert_eq!(steps(&stretches, &costs, 7), 10 + 10 * 2 + 9);
        // From there on more threads do not help but for the last segment.
        assert_eq!(steps(&stretches, &costs, 61), 10 + 10 * 2 + 1);
        // Planned one after the other.
        let costs = Costs { is_pipelined: false, ..costs };
        assert_eq!(steps(&stretches, &costs, 6), 3 * (10 + 10));
    }

    #[test]
    fn of_many_threads_some_note() {
        // Planning takes 12 steps, of which 8 are noting.
        let noted = NotedStretch { noted: Duration::from_nanos(8 * STEP), ..segment(60, 60, &[], 12) };
        let stretches = [noted.clone(), noted];
        assert_eq!(limits(&stretches, &costs(120)), (2 * 4 * STEP, 2 * STEP));
        assert_eq!(steps(&stretches, &costs(120), 6), 12 * 2 + 10);
        // Two of eight threads note. Six run the first segment meanwhile, in 10 steps.
        assert_eq!(steps(&stretches, &costs(120), 8), (4 + 8 / 2) + 10 + 8);
    }

    #[test]
    fn one_thread_takes_the_sum() {
        let transactions: Vec<u32> = (0..100).map(|at| 10 + 7 * at).collect();
        let sum = in_order(&transactions);
        let costs = Costs { transactions, at_once: 1.5, read: 2.0, begin: 50, is_pipelined: true };
        let stretches = [segment(60, 3, &[(0, 59)], 5), NotedStretch { transactions: 40, ..NotedStretch::default() }];
        let expected = sum + 200;
        assert_eq!(simulate(&stretches, &costs, 1), Simulated { nanos: expected, busy_nanos: expected });
    }

    #[test]
    fn stretches_in_order_run_alone() {
        let in_order = NotedStretch { transactions: 10, ..NotedStretch::default() };
        let stretches = [segment(40, 40, &[], 0), in_order, segment(40, 40, &[], 4)];
        // Four threads run 40 in 10 steps, the first three of them until the next stretch was read.
        assert_eq!(steps(&stretches, &costs(90), 4), 10 + 10 + 4 + 10);
    }

    #[test]
    fn what_others_are_the_home_of_is_taken() {
        // All are at home at one thread, and may run at once.
        let stretches = [segment(40, 1, &[], 0)];
        assert_eq!(steps(&stretches, &costs(40), 4), 10);
        // Two chains, of which the second one is released by the first one's head: 1 + 19 steps.
        let edges: Vec<_> = (2..40).map(|at| (at - 2, at)).chain([(0, 1)]).collect();
        assert_eq!(steps(&[segment(40, 2, &edges, 0)], &costs(40), 4), 21);
    }

    #[test]
    fn what_beginning_and_reading_take_counts() {
        let stretches = [segment(10, 10, &[], 0)];
        let begun = Costs { begin: STEP, ..costs(10) };
        // One begins after each step, the last one when all others have: 1 + 2 + 3 have run by the fourth step.
        assert_eq!(steps(&stretches, &begun, 4), 5);
        let read = Costs { read: STEP as f64, ..costs(20) };
        // The second segment is read while the first one runs.
        assert_eq!(steps(&[segment(10, 10, &[], 0), segment(10, 10, &[], 0)], &read, 3), 10 + 10 + 4);
        let at_once = Costs { at_once: 2.0, ..costs(10) };
        assert_eq!(steps(&stretches, &at_once, 3), 2 * 4);
    }

    /// The makespan is at least the longest chain and its share of all, and a greedy schedule is at most the sum of both.
    #[test]
    fn random_graphs_are_within_the_bounds_of_greedy_schedules() {
        for seed in 0..200 {
            let rng = &mut fastrand::Rng::with_seed(seed);
            let count = rng.u32(1..200);
            let edges: Vec<_> = (1..count).map(|at| (rng.u32(0..2 * at), at)).filter(|(from, at)| from < at).collect();
            let stretches = [segment(count, 1 + rng.u16(0..20), &edges, 0)];
            let transactions: Vec<u32> = (0..count).map(|_| rng.u32(1..1000)).collect();
            let sum = in_order(&transactions);
            let costs = Costs { transactions, ..costs(0) };
            let (planning, chain) = limits(&stretches, &costs);
            assert_eq!(planning, 0);
            for threads in [2, 3, 8, 40] {
                let simulated = simulate(&stretches, &costs, threads);
                assert_eq!(simulated, simulate(&stretches, &costs, threads), "seed {seed}: it is not the same again");
                assert_eq!(simulated.busy_nanos, sum, "seed {seed}: each has run once");
                let bounds = chain.max(sum.div_ceil(threads as u64))..=chain + sum.div_ceil(threads as u64);
                assert!(bounds.contains(&simulated.nanos), "seed {seed}, {threads} threads: {simulated:?}, {bounds:?}");
            }
        }
    }
}
