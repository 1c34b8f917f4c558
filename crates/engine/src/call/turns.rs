//! Calls as futures that take turns on one thread, or run to their end.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::io::Clock;

/// Lets other calls of the thread go on, once.
pub(super) fn stop() -> Stop {
    Stop { has_stopped: false }
}

pub(super) struct Stop {
    has_stopped: bool,
}

impl Future for Stop {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.has_stopped, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

/// Polls once, and adds what that took to `spent`, if there is a clock: while others go on no time is spent.
#[inline]
pub(super) fn timed<T>(clock: Option<&dyn Clock>, spent: &mut Duration, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
    let Some(clock) = clock else { return poll() };
    let begun = clock.now();
    let polled = poll();
    *spent += clock.now().saturating_sub(begun);
    polled
}

/// Runs a future that stops nowhere.
#[inline]
pub(super) fn whole<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a call that is not interleaved stops nowhere"),
    }
}
