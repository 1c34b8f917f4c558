//! The waiters for the frontier, by the stamp that they wait for.
//!
//! Invariants:
//! - Only receipts that are waited for are registered: a commit whose receipt is dropped or polled costs nothing here, and a
//!   flush without waiters costs one relaxed load per queue.
//! - No wake-up is lost. The waiter pushes, fences, looks at the frontier again; the logger publishes, fences, looks at
//!   the length: one of the two sees the other.
//! - Waiters are woken outside every lock, and a logger wakes few of many: each thread that is woken takes half of those
//!   that are left along and wakes them before it returns ([`wake_all`]).

use std::cmp::Ordering as Order;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::task::Waker;

use osier_memory::sync::atomic::{AtomicUsize, Ordering, fence};
use osier_memory::sync::{Condvar, Mutex, lock, wait};

use super::Requirement;
use crate::ids::Stamp;

/// One waiting thread or future.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// What it waits for.
    pub(crate) requirement: Requirement,
    state: Mutex<WaiterState>,
    woken: Condvar,
}

#[derive(Debug, Default)]
struct WaiterState {
    /// Woken, or taken back: the queue may still hold it, but nothing is left to wake.
    is_over: bool,
    waker: Option<Waker>,
    /// Those that the woken thread is to wake in turn.
    followers: Vec<Arc<Waiter>>,
}

impl Waiter {
    /// Makes a waiter that is not registered yet.
    pub(crate) fn new(requirement: Requirement) -> Arc<Waiter> {
        Arc::new(Waiter { requirement, state: Mutex::default(), woken: Condvar::new() })
    }

    /// The future was polled by `waker`.
    pub(crate) fn set_waker(&self, waker: &Waker) {
        let mut state = lock(&self.state);
        match &mut state.waker {
            Some(known) => known.clone_from(waker),
            unset => *unset = Some(waker.clone()),
        }
    }

    /// Blocks until woken.
    pub(crate) fn block(&self) {
        let mut followers = {
            let mut state = lock(&self.state);
            while !state.is_over {
                state = wait(&self.woken, &self.state, state);
            }
            std::mem::take(&mut state.followers)
        };
        wake_all(&mut followers);
    }

    /// Takes the waiter back; the queue drops its entry when its turn comes.
    pub(crate) fn abandon(&self) {
        let mut followers = {
            let mut state = lock(&self.state);
            state.is_over = true;
            state.waker = None;
            std::mem::take(&mut state.followers)
        };
        wake_all(&mut followers);
    }

    /// Wakes the thread or future that waits. A thread takes half of `rest` along, to wake them in turn; a future takes none.
    fn wake(&self, rest: &mut Vec<Arc<Waiter>>) {
        let waker = {
            let mut state = lock(&self.state);
            if std::mem::replace(&mut state.is_over, true) {
                return;
            }
            let waker = state.waker.take();
            if waker.is_none() && rest.len() > 1 {
                state.followers = rest.split_off(rest.len() / 2);
            }
            waker
        };
        match waker {
            Some(waker) => waker.wake(),
            None => self.woken.notify_one(),
        }
    }
}

/// Wakes all of them, if need be by each other.
pub(crate) fn wake_all(waiters: &mut Vec<Arc<Waiter>>) {
    while let Some(waiter) = waiters.pop() {
        waiter.wake(waiters);
    }
}

/// Waiters by the stamp that releases them.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// The heap's length, written under the lock.
    length: AtomicUsize,
    heap: Mutex<BinaryHeap<QueuedWaiter>>,
}

#[derive(Debug)]
struct QueuedWaiter {
    due: Stamp,
    waiter: Arc<Waiter>,
}

impl PartialEq for QueuedWaiter {
    fn eq(&self, other: &QueuedWaiter) -> bool {
        self.due == other.due
    }
}

impl Eq for QueuedWaiter {}

impl PartialOrd for QueuedWaiter {
    fn partial_cmp(&self, other: &QueuedWaiter) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for QueuedWaiter {
    /// The heap keeps its largest on top, so the earliest is the largest.
    fn cmp(&self, other: &QueuedWaiter) -> Order {
        other.due.cmp(&self.due)
    }
}

impl Queue {
    /// Registers; the caller looks at the frontier again afterwards.
    pub(crate) fn push(&self, due: Stamp, waiter: Arc<Waiter>) {
        {
            let mut heap = lock(&self.heap);
            heap.push(QueuedWaiter { due, waiter });
            self.length.store(heap.len(), Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
    }

    /// Whether anybody is registered. The caller has published the frontier and fenced.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many are registered.
    pub(super) fn len(&self) -> usize {
        self.length.load(Ordering::Relaxed)
    }

    /// Moves everyone due at or before `frontier` to `out`.
    pub(crate) fn take_due(&self, frontier: Stamp, out: &mut Vec<Arc<Waiter>>) {
        let mut heap = lock(&self.heap);
        while heap.peek().is_some_and(|entry| entry.due <= frontier) {
            let entry = heap.pop().expect("it was peeked at");
            assert!(entry.due <= frontier, "woken beyond the frontier");
            out.push(entry.waiter);
        }
        self.length.store(heap.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::StreamId;

    fn waiter(csn: u64) -> Arc<Waiter> {
        Waiter::new(Requirement { csn: Stamp(csn), ..Requirement::none(StreamId(0)) })
    }

    #[test]
    fn takes_those_due_and_no_others() {
        let queue = Queue::default();
        assert!(queue.is_empty());
        for due in [5, 1, 9, 3, 7] {
            queue.push(Stamp(due), waiter(due));
        }
        let mut out = Vec::new();
        queue.take_due(Stamp(5), &mut out);
        assert_eq!(out.iter().map(|waiter| waiter.requirement.csn.0).collect::<Vec<_>>(), [1, 3, 5]);
        assert!(!queue.is_empty());
        queue.take_due(Stamp::MAX, &mut out);
        assert_eq!(out.len(), 5);
        assert!(queue.is_empty());
    }

    #[test]
    fn an_abandoned_waiter_is_not_told() {
        struct Loud;
        impl std::task::Wake for Loud {
            fn wake(self: Arc<Self>) {
                panic!("nobody waits");
            }
        }
        let waiter = waiter(1);
        waiter.set_waker(&Waker::from(Arc::new(Loud)));
        waiter.abandon();
        wake_all(&mut vec![Arc::clone(&waiter)]);
        waiter.block();
    }

    /// However a woken thread leaves, those it was to wake are woken.
    #[test]
    fn whoever_is_woken_wakes_the_others() {
        for leave in [Waiter::block, Waiter::abandon] {
            let all: Vec<Arc<Waiter>> = (0..21).map(waiter).collect();
            let mut left = all.clone();
            wake_all(&mut left);
            assert!(left.is_empty());
            let is_over = |waiter: &&Arc<Waiter>| lock(&waiter.state).is_over;
            assert!(all.iter().filter(is_over).count() < 8, "the caller wakes only a few itself");
            while let Some(woken) = all.iter().filter(is_over).find(|waiter| !lock(&waiter.state).followers.is_empty())
            {
                leave(woken);
            }
            assert_eq!(all.iter().filter(is_over).count(), all.len());
        }
    }
}
