//! The exact test of an epoch checkpoint: loaded alone it is what the transactions up to its epoch left behind, and so is
//! the log up to that epoch, replayed on what recovery would have begun with otherwise.
//!
//! Invariants:
//! - Both are opened from what a power failure leaves of the disk: at the moment at which a manifest names the checkpoint, and
//!   just before. So everything in it is durable by then, in its files and in the log.
//! - The comparison runs on disks of its own and changes nothing of the simulation but the numbers drawn.
//!
//! Absent: fuzzy checkpoints, which hold no state that ever was; only what recovery makes of them can be judged.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use osier::config::CheckpointKind;
use osier::failpoint::{Slice, simulated};
use osier::ids::Epoch;
use osier::{CheckpointReport, Protocol};

use super::plan::Ending;
use super::run::{Failure, Simulation};
use super::session::World;
use super::tables;
use crate::clock::ManualClock;
use crate::disk::SimDisk;
use crate::fiber;
use crate::spawn::SimSpawn;

/// Sees the checkpoints of one generation.
pub(super) struct Watch {
    /// The last one that was seen.
    taken: Cell<u64>,
    /// The power fails when this one is seen.
    last: Option<u64>,
    /// What a power failure left just before the last one was named.
    before: Rc<RefCell<Option<SimDisk>>>,
}

impl Watch {
    /// Of a database on `disk`, opened just now.
    pub(super) fn start(disk: &SimDisk, ending: Ending) -> Watch {
        let power_fails_at = if let Ending::PowerLossAtCheckpoint(number) = ending { Some(number) } else { None };
        let (before, disk) = (Rc::<RefCell<Option<SimDisk>>>::default(), disk.clone());
        let last = Rc::clone(&before);
        fiber::on_complete(move || *last.borrow_mut() = Some(disk.survive(fastrand::u64(..))));
        Watch { taken: Cell::new(0), last: power_fails_at, before }
    }
}

impl Simulation<'_> {
    /// To be called after each step that may have ended a checkpoint.
    pub(super) fn check_checkpoint(&self, world: &World<'_>, disk: &SimDisk) -> Result<(), Failure> {
        let Some(plan) = &self.plan.checkpoints else { return Ok(()) };
        let metrics = world.database.metrics().checkpoints;
        let Some(last) = metrics.last.filter(|_| metrics.taken > world.checkpoints.taken.get()) else { return Ok(()) };
        world.checkpoints.taken.set(metrics.taken);
        self.trace.line(|| format!("taken: {last:?}"));
        if world.checkpoints.last.is_some_and(|last| last <= metrics.taken) {
            disk.crash();
        }
        if last.kind != CheckpointKind::Epoch {
            return Ok(());
        }
        let is_unlogged = self.plan.protocol == Protocol::None;
        if is_unlogged {
            self.oracle.borrow_mut().acknowledge_up_to(last.boundary);
        }
        let before = world.checkpoints.before.take();
        if world.chance(1.0 - plan.compared_share) {
            return Ok(());
        }
        self.count(|summary| summary.compared += 1);
        let after = disk.survive(self.seed());
        fiber::spared(|| {
            self.check_slice(&after, Slice::Checkpoint, "the checkpoint", &last)?;
            match before {
                Some(before) if !is_unlogged => {
                    self.check_slice(&before, Slice::UpTo(Epoch(last.boundary)), "the log", &last)
                }
                _ => Ok(()),
            }
        })
    }

    fn check_slice(
        &self,
        disk: &SimDisk,
        slice: Slice,
        name: &'static str,
        taken: &CheckpointReport,
    ) -> Result<(), Failure> {
        let epoch = taken.boundary;
        let clock = Arc::new(ManualClock::new());
        let spawn = SimSpawn::new(self.seed(), Arc::clone(&clock));
        let open = || self.opened(self.config(disk, &clock, &spawn));
        let doing = || format!("opening {name} of epoch {epoch}");
        let database = simulated::sliced(slice, open).map_err(|error| Failure::engine(doing(), &error))?;
        let found = tables::recovered(&database).map_err(|error| Failure::engine(doing(), &error))?;
        // What a dropped database still does.
        disk.crash();
        let loaded = database.recovery().map_or(0, |report| report.checkpoint);
        drop(database);
        // The power failed while the next one was named, and kept that name.
        if loaded > taken.number {
            return Ok(());
        }
        Ok(self.oracle.borrow().check_slice(name, epoch, found)?)
    }
}
