//! Several calls on one thread, which take turns while memory is on its way (CoroBase).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Lets other calls of the thread go on, once.
pub(super) fn stop() -> Stop {
    Stop { has_stopped: false }
}

pub(super) struct Stop {
    has_stopped: bool,
}

impl Future for Stop {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.has_stopped, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}
