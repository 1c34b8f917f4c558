//! Runs futures in one thread, in an order drawn by its caller. A future that is not woken is not polled, so that a
//! lost wake-up shows as a session that never goes on.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use fastrand::Rng;

/// A set of futures with the same output.
pub struct Executor<'f, T> {
    running: Vec<Running<'f, T>>,
}

struct Running<'f, T> {
    future: Pin<Box<dyn Future<Output = T> + 'f>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl<T> Default for Executor<'_, T> {
    fn default() -> Self {
        Executor { running: Vec::new() }
    }
}

impl<'f, T> Executor<'f, T> {
    /// Adds a future.
    pub fn spawn(&mut self, future: impl Future<Output = T> + 'f) {
        self.running.push(Running { future: Box::pin(future), woken: Arc::new(Woken(AtomicBool::new(true))) });
    }

    /// The futures that have not ended.
    pub fn live(&self) -> usize {
        self.running.len()
    }

    /// Polls one future, drawn from those that were woken. `None` where none was; `Some(Some(_))` where it ended.
    pub fn step(&mut self, rng: &mut Rng) -> Option<Option<T>> {
        let is_woken = |running: &Running<'f, T>| running.woken.0.load(Ordering::SeqCst);
        let ready: Vec<usize> = (0..self.running.len()).filter(|&index| is_woken(&self.running[index])).collect();
        let index = *ready.get(rng.usize(..ready.len().max(1)))?;
        let running = &mut self.running[index];
        running.woken.0.store(false, Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(&running.woken));
        match running.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => Some(None),
            Poll::Ready(value) => {
                self.running.remove(index);
                Some(Some(value))
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
