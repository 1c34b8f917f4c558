//! The notifications that wait for one session.
//!
//! Invariants:
//! - It holds whole transactions, in the order of their turns.
//! - It is bounded. Where one more transaction does not fit it is full for good: what it holds is dropped, and nothing comes.
//! - One task or thread waits for it at a time: its session's own.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use super::{INBOX_BYTES_MAX, INBOX_MAX, Notification};
use crate::error::{Result, SqlError, SqlState};

/// How much of an inbox something takes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    pub(super) count: usize,
    pub(super) bytes: usize,
}

impl Load {
    pub(super) fn add(&mut self, other: Load) {
        self.count += other.count;
        self.bytes += other.bytes;
    }

    /// The part of an inbox that it is.
    fn part(self) -> f64 {
        (self.count as f64 / INBOX_MAX as f64).max(self.bytes as f64 / INBOX_BYTES_MAX as f64)
    }
}

/// A transaction's notifications, of which some are for the session.
#[derive(Debug)]
struct Waiting {
    notifications: Arc<[Notification]>,
    next: usize,
    load: Load,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Waiting>,
    load: Load,
    /// How many transactions of the session itself are to come.
    own: usize,
    is_full: bool,
    waker: Option<Waker>,
}

#[derive(Debug)]
struct Shared {
    number: u64,
    state: Mutex<State>,
    has_changed: Condvar,
}

/// Where the notifications of a session wait until it takes them with
/// [`Session::next_notification`](crate::Session::next_notification).
#[derive(Clone, Debug)]
pub struct Inbox(Arc<Shared>);

impl Inbox {
    pub(super) fn new(number: u64) -> Inbox {
        Inbox(Arc::new(Shared { number, state: Mutex::default(), has_changed: Condvar::new() }))
    }

    /// What tells it from others.
    pub(super) fn number(&self) -> u64 {
        self.0.number
    }

    /// Waits until something has arrived, or until it is full. Safe to cancel.
    pub async fn arrival(&self) {
        self.until(|state| !state.waiting.is_empty() || state.is_full).await;
    }

    /// Waits until it is full. Safe to cancel.
    pub async fn overflow(&self) {
        self.until(|state| state.is_full).await;
    }

    /// Waits until all has arrived that the session has sent to itself, or is lost with the log. Safe to cancel.
    pub async fn own_arrival(&self) {
        self.until(|state| state.own == 0 || state.is_full).await;
    }

    /// Blocks the thread until something has arrived, or for so long. Returns whether it has, or the inbox is full.
    pub fn wait(&self, at_most: Duration) -> bool {
        let is_empty = |state: &mut State| state.waiting.is_empty() && !state.is_full;
        let waited = self.0.has_changed.wait_timeout_while(self.state(), at_most, is_empty);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !is_empty(&mut state)
    }

    /// Whether something is to come that the session has sent to itself.
    pub fn awaits_own(&self) -> bool {
        self.state().own > 0
    }

    /// Checks that it has taken all that came.
    ///
    /// # Errors
    /// Where it is full.
    pub fn check(&self) -> Result<()> {
        if !self.state().is_full {
            return Ok(());
        }
        let message = "the session has not taken its notifications: its queue is full";
        let detail = format!("A queue holds {INBOX_MAX} notifications, or {} MiB.", INBOX_BYTES_MAX >> 20);
        let hint = "Read notifications as they come, and end transaction blocks: within them none is handed out. \
                    Connect again, LISTEN, and look for what has changed.";
        Err(SqlError::new(SqlState::ProgramLimitExceeded, message).with_detail(detail).with_hint(hint))
    }

    /// Takes the next notification of a channel that is listened to.
    pub(crate) fn take(&self, listens: impl Fn(&str) -> bool) -> Option<Notification> {
        let mut state = self.state();
        loop {
            let waiting = state.waiting.front_mut()?;
            while let Some(notification) = waiting.notifications.get(waiting.next) {
                waiting.next += 1;
                if listens(&notification.channel) {
                    return Some(notification.clone());
                }
            }
            let load = waiting.load;
            state.waiting.pop_front();
            state.load.count -= load.count;
            state.load.bytes -= load.bytes;
        }
    }

    /// Puts a transaction's notifications in. Returns who is to be woken when no lock is held.
    pub(super) fn put(&self, notifications: &Arc<[Notification]>, load: Load) -> Option<Waker> {
        let mut state = self.state();
        if state.is_full {
            return None;
        }
        state.load.add(load);
        if state.load.count > INBOX_MAX || state.load.bytes > INBOX_BYTES_MAX {
            *state = State { is_full: true, waker: state.waker.take(), ..State::default() };
        } else {
            state.waiting.push_back(Waiting { notifications: notifications.clone(), next: 0, load });
        }
        self.0.has_changed.notify_all();
        state.waker.take()
    }

    /// Something is to come that the session has sent to itself.
    pub(super) fn expect_own(&self) {
        self.state().own += 1;
    }

    /// It has come, or will not come. Returns who is to be woken when no lock is held.
    pub(super) fn end_own(&self) -> Option<Waker> {
        let mut state = self.state();
        state.own = state.own.saturating_sub(1);
        state.waker.take()
    }

    /// The part of it that is taken.
    pub(super) fn usage(&self) -> f64 {
        self.state().load.part()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until(&self, is_so: impl Fn(&State) -> bool) {
        poll_fn(|context| {
            let mut state = self.state();
            if is_so(&state) {
                return Poll::Ready(());
            }
            if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                state.waker = Some(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(count: usize) -> (Arc<[Notification]>, Load) {
        let one = |at: usize| Notification { pid: 1, channel: ["a", "b"][at % 2].into(), payload: "p".into() };
        let notifications: Arc<[Notification]> = (0..count).map(one).collect();
        let bytes = notifications.iter().map(Notification::bytes).sum();
        (notifications, Load { count, bytes })
    }

    #[test]
    fn what_is_taken_makes_room() {
        let inbox = Inbox::new(1);
        let (notifications, load) = batch(INBOX_MAX / 2);
        for _ in 0..5 {
            assert!(inbox.put(&notifications, load).is_none());
            assert!(inbox.usage() > 0.4);
            let mut taken = 0;
            while inbox.take(|channel| channel == "a").is_some() {
                taken += 1;
            }
            assert_eq!((taken, inbox.usage()), (INBOX_MAX / 4, 0.0), "those of the other channel are passed over");
        }
        assert!(inbox.check().is_ok());
    }

    #[test]
    fn a_full_inbox_keeps_nothing() {
        let inbox = Inbox::new(1);
        let (notifications, load) = batch(INBOX_MAX / 2);
        for _ in 0..2 {
            inbox.put(&notifications, load);
            assert!(inbox.check().is_ok());
        }
        inbox.put(&notifications, load);
        assert_eq!(inbox.check().unwrap_err().code(), "54000");
        inbox.put(&notifications, load);
        assert_eq!((inbox.take(|_| true), Arc::strong_count(&notifications)), (None, 1));
        assert!(inbox.wait(Duration::ZERO), "its session is to hear of it");
    }
}
