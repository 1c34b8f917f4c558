//! Advances the global epoch, and with it reclamation, ends snapshots as the limits ask for it, and sees to log records that
//! nobody asks about.
//!
//! Invariants:
//! - The epoch never stands still while the database is open; memory retired by transactions is freed at most two ticks
//!   after the last transaction that could see it has ended.
//! - A ticker that ends without being told fails the log and every checkpoint: nothing waits for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::LogFailure;
use crate::io::{Joiner, Signal, Step, Task};
use crate::transaction::shared::Shared;

/// The running ticker. Dropped, it is told to stop.
pub(crate) struct Ticker {
    stop: Arc<AtomicBool>,
    signal: Arc<Signal>,
    joiner: Option<Box<dyn Joiner>>,
}

struct Tick {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    due: Duration,
    /// Until when it frees what was dropped.
    frees_until: Duration,
}

/// The ticker may take so much of its time to free what was dropped.
const FREES_ONE_IN: u32 = 4;

impl Ticker {
    /// The name of its thread.
    pub(crate) const NAME: &str = "osier-epoch";

    /// Advances the epoch of `shared` every `epoch_interval`.
    pub(crate) fn start(shared: &Arc<Shared>) -> std::io::Result<Ticker> {
        let (stop, signal) = (Arc::new(AtomicBool::new(false)), Arc::new(Signal::new()));
        let config = &shared.config;
        assert!(!config.epoch_interval.is_zero(), "epochs take time");
        let due = config.environment.clock.now() + config.epoch_interval;
        let tick = Tick { shared: shared.clone(), stop: stop.clone(), due, frees_until: Duration::ZERO };
        let joiner = config.environment.spawn.spawn(Ticker::NAME.to_owned(), Box::new(tick), signal.clone())?;
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
        let config = &self.shared.config;
        let now = config.environment.clock.now();
        let epochs = self.shared.store.epochs();
        if now >= self.due {
            epochs.advance();
            self.shared.log.nudge();
            let Shared { open_snapshots, memory, snapshots, .. } = &*self.shared;
            open_snapshots.enforce_limits(now, config.snapshot_age_max, memory, snapshots);
            self.due = now + config.epoch_interval;
            self.frees_until = now + config.epoch_interval / FREES_ONE_IN;
        }
        if now < self.frees_until && (self.shared.sweep_snapshots() | epochs.free_more()) {
            return Step::Again;
        }
        assert!(self.due > now, "the next tick lies ahead");
        Step::Idle(Some(self.due - now))
    }
}

impl Drop for Tick {
    fn drop(&mut self) {
        if !self.stop.load(Ordering::SeqCst) {
            self.shared.has_no_ticker.store(true, Ordering::SeqCst);
            self.shared.log.fail(LogFailure::TaskDied { task: Ticker::NAME.to_owned() });
        }
    }
}
