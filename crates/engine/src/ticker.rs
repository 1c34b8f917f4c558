//! Advances the global epoch, and with it reclamation, and sees to log records that nobody asks about.
//!
//! Invariant: the epoch never stands still while the database is open; memory retired by transactions is freed at most
//! two ticks after the last transaction that could see it has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use osier_memory::Epochs;

use crate::io::{Clock, Environment, Joiner, Signal, Step, Task};

/// The running ticker. Dropped, it is told to stop.
pub(crate) struct Ticker {
    stop: Arc<AtomicBool>,
    signal: Arc<Signal>,
    joiner: Option<Box<dyn Joiner>>,
}

/// Has forgotten records written.
pub(crate) type Nudge = Box<dyn Fn() + Send>;

struct Tick {
    epochs: Arc<Epochs>,
    nudge: Nudge,
    stop: Arc<AtomicBool>,
    clock: Arc<dyn Clock>,
    interval: Duration,
    due: Duration,
}

impl Ticker {
    /// Of the thread.
    pub(crate) const NAME: &str = "osier-epoch";

    /// Advances `epochs` and calls `nudge` every `interval`.
    pub(crate) fn start(
        epochs: &Arc<Epochs>,
        environment: &Environment,
        interval: Duration,
        nudge: Nudge,
    ) -> std::io::Result<Ticker> {
        let (stop, signal) = (Arc::new(AtomicBool::new(false)), Arc::new(Signal::new()));
        let clock = environment.clock.clone();
        let due = clock.now() + interval;
        let tick = Tick { epochs: epochs.clone(), nudge, stop: stop.clone(), clock, interval, due };
        let joiner = environment.spawn.spawn(Ticker::NAME.to_owned(), Box::new(tick), signal.clone())?;
        Ok(Ticker { stop, signal, joiner: Some(joiner) })
    }

    /// Stops it and waits until it has.
    pub(crate) fn stop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.signal.wake();
        if let Some(joiner) = self.joiner.take() {
            let _ = joiner.join();
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Task for Tick {
    fn step(&mut self) -> Step {
        if self.stop.load(Ordering::SeqCst) {
            return Step::Done;
        }
        let now = self.clock.now();
        if now < self.due {
            return Step::Idle(Some(self.due - now));
        }
        self.epochs.advance();
        (self.nudge)();
        self.due = now + self.interval;
        Step::Idle(Some(self.interval))
    }
}
