//! Statements as tasks: one that waits for another transaction leaves its thread to the other connections.
//!
//! A statement is a plain call, and where it waits it stands deep in the engine. So it runs as a [`Fiber`], which is suspended
//! there. Statements that take long give way, too, in between.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use osier::task::{Fiber, Panic, Turn};
use osier_sql::session::Canceller;
use tokio::time::Sleep;

/// The timer is no finer: who pauses for less only lets the others run once.
const PAUSE_MIN: Duration = Duration::from_millis(1);

/// Runs a statement. `canceller` ends its waits.
///
/// # Errors
/// Its panic.
pub async fn run<R: 'static>(canceller: &Canceller, statement: impl FnOnce() -> R) -> Result<R, Panic> {
    Running { fiber: Fiber::new(statement), canceller, pause: Pause::Until }.await
}

/// When a statement goes on.
enum Pause {
    /// When it is woken.
    Until,
    /// At the next turn.
    Over,
    /// Then, at the latest.
    Timed(Pin<Box<Sleep>>),
}

struct Running<'a, R: 'static> {
    fiber: Fiber<'a, R>,
    canceller: &'a Canceller,
    pause: Pause,
}

impl<R: 'static> Future for Running<'_, R> {
    type Output = Result<R, Panic>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Running { fiber, canceller, pause } = &mut *self;
        let is_over = match pause {
            Pause::Until => false,
            Pause::Over => true,
            Pause::Timed(sleep) => sleep.as_mut().poll(context).is_ready(),
        };
        let is_due = canceller.is_due();
        fiber.set_to_end(is_due);
        match fiber.resume(context.waker(), !is_over && !is_due) {
            Turn::Over(result) => return Poll::Ready(result),
            Turn::Paused(limit) => {
                canceller.wake(context.waker());
                let limit = canceller.wait_max().map_or(limit, |longest| limit.min(longest));
                *pause = match limit < PAUSE_MIN || canceller.is_due() {
                    true => Pause::Over,
                    false => Pause::Timed(Box::pin(tokio::time::sleep(limit))),
                };
            }
        }
        match pause {
            Pause::Timed(sleep) => drop(sleep.as_mut().poll(context).map(|()| context.waker().wake_by_ref())),
            _ => context.waker().wake_by_ref(),
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use osier::task;

    use super::*;

    fn in_a_thread(body: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(body);
    }

    #[test]
    fn a_statement_that_waits_is_woken() {
        in_a_thread(async {
            let canceller = Canceller::default();
            let waker = RefCell::new(None);
            let waiting = run(&canceller, || {
                waker.replace(task::waker());
                task::pause(Duration::from_secs(600))
            });
            let waking = run(&canceller, || waker.take().expect("the other one waits").wake());
            let (has_time, woken) = tokio::join!(waiting, waking);
            assert!(has_time.expect("no panic") && woken.is_ok());
        });
    }

    #[test]
    fn a_pause_ends_in_time_or_when_it_is_cancelled() {
        in_a_thread(async {
            let canceller = Canceller::default();
            for limit in [0, 100, 3_000].map(Duration::from_micros) {
                assert!(!run(&canceller, || task::pause(limit)).await.expect("no panic"));
            }
            let cancelling = async {
                tokio::time::sleep(Duration::from_millis(5)).await;
                canceller.cancel();
            };
            let long = || task::pause(Duration::from_secs(600));
            let (has_time, ()) = tokio::join!(run(&canceller, long), cancelling);
            assert!(!has_time.expect("no panic"));
            assert!(!run(&canceller, long).await.expect("no panic"), "it is cancelled still");
        });
    }
}
