//! Runs futures in fibers, in an order drawn by its caller. A future that is not woken is not polled, so that a
//! lost wake-up shows as a session that never goes on.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use fastrand::Rng;

use crate::fiber::{Fiber, Turn, give_way};

/// A set of futures with the same output.
pub struct Executor<'f, T> {
    running: Vec<Running<'f, T>>,
    is_cancelled: Rc<Cell<bool>>,
}

struct Running<'f, T> {
    fiber: Fiber<'f>,
    output: Rc<RefCell<Option<T>>>,
    woken: Arc<Woken>,
    is_preempted: bool,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl<T> Default for Executor<'_, T> {
    fn default() -> Self {
        Executor { running: Vec::new(), is_cancelled: Rc::default() }
    }
}

impl<'f, T: 'f> Executor<'f, T> {
    /// Adds a future.
    pub fn spawn(&mut self, future: impl Future<Output = T> + 'f) {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let (output, is_cancelled) = (Rc::new(RefCell::new(None)), Rc::clone(&self.is_cancelled));
        let (waker, result) = (Waker::from(Arc::clone(&woken)), Rc::clone(&output));
        let fiber = Fiber::new_local(move || {
            let mut future = Box::pin(future);
            while !is_cancelled.get() {
                match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                    Poll::Pending => give_way(Turn::Pending),
                    Poll::Ready(value) => {
                        *result.borrow_mut() = Some(value);
                        break;
                    }
                }
            }
            Turn::Over(None)
        });
        self.running.push(Running { fiber, output, woken, is_preempted: false });
    }

    /// The futures that have not ended.
    pub fn live(&self) -> usize {
        self.running.len()
    }

    /// Drops every future where it is pending; those that are preempted inside a poll end it first.
    pub fn cancel(&mut self) {
        self.is_cancelled.set(true);
    }

    /// Runs one future, drawn from those that are preempted or were woken. `None` where there is none; `Some(Some(_))` where
    /// it ended by itself.
    pub fn step(&mut self, rng: &mut Rng) -> Option<Option<T>> {
        let is_ready = |running: &Running<'f, T>| {
            running.is_preempted || self.is_cancelled.get() || running.woken.0.load(Ordering::SeqCst)
        };
        let ready: Vec<usize> = (0..self.running.len()).filter(|&index| is_ready(&self.running[index])).collect();
        let index = *ready.get(rng.usize(..ready.len().max(1)))?;
        let running = &mut self.running[index];
        if !std::mem::take(&mut running.is_preempted) {
            running.woken.0.store(false, Ordering::SeqCst);
        }
        match running.fiber.resume() {
            Turn::Over(_) => {
                let ended = self.running.remove(index);
                ended.fiber.end();
                Some(ended.output.take())
            }
            turn => {
                running.is_preempted = matches!(turn, Turn::Preempted(_));
                Some(None)
            }
        }
    }
}

/// Lets others run before the caller goes on.
pub async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn futures_interleave_and_the_unwoken_wait() {
        let seen = RefCell::new(Vec::new());
        let mut executor = Executor::default();
        for tag in 0..2 {
            let seen = &seen;
            executor.spawn(async move {
                for _ in 0..20 {
                    seen.borrow_mut().push(tag);
                    pause().await;
                }
            });
        }
        executor.spawn(std::future::pending());
        let mut rng = Rng::with_seed(1);
        while executor.step(&mut rng).is_some() {}
        assert_eq!(executor.live(), 1, "one is never woken");
        let seen = seen.borrow();
        assert_eq!(seen.len(), 40);
        assert!(seen.windows(2).filter(|pair| pair[0] != pair[1]).count() > 5, "{seen:?} does not interleave");
    }
}
