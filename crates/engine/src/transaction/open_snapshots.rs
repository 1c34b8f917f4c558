//! The snapshots that users hold: which there are, what they cost, and how the limits end them.
//!
//! Invariants:
//! - There is one [`Parts`] for each boundary, whoever shares it.
//! - The epoch of a snapshot is ended for it, so that nobody waits for the clock, but not more often than every [`EPOCH_MIN`].
//! - Where memory is short the oldest one goes for which anything is kept, and no other one before what that held is counted.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use osier_memory::sync::{Mutex, lock};
use osier_memory::{Epochs, Snapshots};

use crate::error::{CheckpointError, SnapshotEnd};
use crate::ids::{Epoch, Stamp};
use crate::io::Clock;
use crate::transaction::memory_limit::MemoryLimit;

/// Snapshots end epochs at most so often: epochs are counted in 42 bits, and each one that begins costs every session a cache
/// miss.
const EPOCH_MIN: Duration = Duration::from_micros(200);

/// What the handles on a snapshot share.
pub(super) struct Parts {
    pub(super) kept: osier_memory::Snapshot,
    /// By the clock of the database.
    opened: Duration,
    /// Nothing in it has a greater one.
    pub(super) stamp: Stamp,
    /// Why it was ended, if it was.
    pub(super) end: OnceLock<SnapshotEnd>,
}

/// The snapshots that users hold, and how they end.
#[derive(Default)]
pub(crate) struct OpenSnapshots {
    /// Some may be gone.
    open: Mutex<BTreeMap<Epoch, Weak<Parts>>>,
    /// When an epoch was ended for a snapshot.
    last_ended: Mutex<Option<Duration>>,
    /// Those that limits have ended.
    ended: AtomicU64,
}

/// The snapshots that are open, and what they cost.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SnapshotMetrics {
    /// How many there are, that of a checkpoint included.
    pub open: usize,
    /// Row images that are kept for them.
    pub versions: u64,
    /// The memory that these take, which counts against `memory_limit`.
    pub bytes: u64,
    /// How many were ended by `snapshot_age_max` or `memory_limit` since the database was opened.
    pub ended: u64,
    /// The one that was opened first of those that users hold.
    pub oldest: Option<OldestSnapshot>,
}

/// The oldest snapshot that a user holds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct OldestSnapshot {
    /// The epoch at whose end it is.
    pub epoch: Epoch,
    /// How long it has been open.
    pub seconds: f64,
    /// Row images that are kept for it. A younger snapshot may need some of them, too.
    pub versions: u64,
    /// The memory that they take.
    pub bytes: u64,
}

impl OpenSnapshots {
    /// Notes a snapshot, unless its boundary is noted: then that one is given.
    pub(super) fn share(&self, kept: osier_memory::Snapshot, opened: Duration, stamp: Stamp) -> Arc<Parts> {
        let mut open = lock(&self.open);
        let noted = open.entry(kept.boundary()).or_default();
        noted.upgrade().unwrap_or_else(|| {
            let parts = Arc::new(Parts { kept, opened, stamp, end: OnceLock::new() });
            *noted = Arc::downgrade(&parts);
            parts
        })
    }

    /// Ends the epoch `boundary` for a snapshot, or waits where an epoch has ended for another one just now.
    pub(super) fn end_epoch(&self, clock: &dyn Clock, epochs: &Epochs, boundary: Epoch) {
        let pause = {
            let mut last = lock(&self.last_ended);
            let now = clock.now();
            match last.map(|last| (last + EPOCH_MIN).saturating_sub(now)).filter(|pause| !pause.is_zero()) {
                Some(pause) => pause,
                None => {
                    if epochs.current() <= boundary {
                        epochs.advance();
                        *last = Some(now);
                    }
                    return;
                }
            }
        };
        clock.sleep(pause);
    }

    fn oldest(&self) -> Option<Arc<Parts>> {
        lock(&self.open).values().find_map(Weak::upgrade)
    }

    /// The first of some boundaries that a user's snapshot has.
    fn first_of(&self, mut boundaries: impl Iterator<Item = Epoch>) -> Option<Arc<Parts>> {
        let open = lock(&self.open);
        boundaries.find_map(|boundary| open.get(&boundary)?.upgrade())
    }

    /// Ends snapshots that are older than `age_max`, unless that is zero, or for which memory is short. For the ticker.
    pub(super) fn enforce_limits(&self, now: Duration, age_max: Duration, memory: &MemoryLimit, snapshots: &Snapshots) {
        let is_empty = {
            let mut open = lock(&self.open);
            open.retain(|_, parts| parts.strong_count() > 0);
            open.is_empty()
        };
        if is_empty {
            return;
        }
        while let Some(oldest) = self.oldest().filter(|_| !age_max.is_zero()) {
            let age = now.saturating_sub(oldest.opened);
            if age <= age_max {
                break;
            }
            self.end(snapshots, &oldest, SnapshotEnd::Age { age, limit: age_max });
        }
        if memory.admit_snapshot().is_ok() {
            return;
        }
        let open = snapshots.list();
        // What is let go of already comes back by itself.
        let kept = open.iter().map(|open| open.bytes as u64).sum();
        if let Err(CheckpointError::MemoryLimit { retained, used, limit }) = memory.admit_retained(kept) {
            let costly = open.iter().filter(|open| open.versions > 0).map(|open| open.boundary);
            if let Some(oldest) = self.first_of(costly) {
                self.end(snapshots, &oldest, SnapshotEnd::Memory { retained, used, limit });
            }
        }
    }

    fn end(&self, snapshots: &Snapshots, parts: &Parts, end: SnapshotEnd) {
        // Before anybody can miss a row of it.
        let _ = parts.end.set(end);
        snapshots.end(parts.kept.boundary());
        lock(&self.open).remove(&parts.kept.boundary());
        self.ended.fetch_add(1, Relaxed);
    }

    pub(crate) fn metrics(&self, now: Duration, snapshots: &Snapshots) -> SnapshotMetrics {
        let oldest = self.oldest();
        let open = snapshots.list();
        let cost = |boundary: Epoch| {
            let of = open.iter().find(|open| open.boundary == boundary);
            of.map_or((0, 0), |open| (open.versions as u64, open.bytes as u64))
        };
        let oldest = oldest.map(|parts| {
            let (epoch, (versions, bytes)) = (parts.kept.boundary(), cost(parts.kept.boundary()));
            OldestSnapshot { epoch, seconds: now.saturating_sub(parts.opened).as_secs_f64(), versions, bytes }
        });
        SnapshotMetrics {
            open: open.len(),
            versions: open.iter().map(|open| open.versions as u64).sum(),
            bytes: open.iter().map(|open| open.bytes as u64).sum(),
            ended: self.ended.load(Relaxed),
            oldest,
        }
    }
}
