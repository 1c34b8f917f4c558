//! Opens that take the database back to an epoch or a time, which is then what the simulation goes on with.
//!
//! Invariants:
//! - What explain says of a way back on a copy of the disk is what the open does.
//! - An epoch is gone back to exactly if the log, or the checkpoint, reaches it; a fuzzy checkpoint does not say from where on.
//! - A fault during such an open leaves the database as it was, or taken back; which one, the next open that succeeds shows.
//! - What is given up is dead from then on: the oracle sees to it.

use std::sync::Arc;
use std::time::Duration;

use osier::config::CheckpointKind;
use osier::ids::{Epoch, WallTime};
use osier::io::Clock;
use osier::{BackupError, Config, Database, Error, RecoveryError, RecoveryPlan, Until, explain};

use super::backups::Copied;
use super::coverage::What;
use super::oracle::{Oracle, Recovered, Violation};
use super::run::{Failure, Simulation};
use super::tables;
use crate::clock::ManualClock;
use crate::disk::SimDisk;
use crate::fiber;

/// A way back that is tried.
struct WayBack {
    until: Until,
    /// Since the start of the simulation.
    time: Option<Duration>,
    /// The epoch that explain takes it for; `None`: it refuses.
    planned: Option<u64>,
}

impl Simulation<'_> {
    /// Opens the database; where that is drawn, as it was at an epoch or a time.
    pub(super) fn open(&self, disk: &SimDisk, config: Config) -> Result<Result<Database, Error>, Failure> {
        let Some(way) = fiber::spared(|| self.way_back(disk, &config))? else {
            return Ok(self.opened(config.recovery(self.plan.recovery.0)));
        };
        let opened = self.opened(config.clone().until(way.until));
        self.trace.line(|| format!("back to {}, planned {:?}: {:?}", way.until, way.planned, opened.as_ref().err()));
        match (opened, way.planned) {
            (Ok(database), Some(epoch)) => {
                let until = database.recovery().and_then(|report| report.until);
                if until != Some(Epoch(epoch)) {
                    return Err(Failure::Engine(format!(
                        "{} was explained as {epoch} and done as {until:?}",
                        way.until
                    )));
                }
                let found = tables::recovered(&database).map_err(|error| Failure::engine("reading", &error))?;
                let mut oracle = self.oracle.borrow_mut();
                way.time.map_or(Ok(()), |time| oracle.check_time(time, epoch, &found))?;
                oracle.go_back(epoch)?;
                self.note(if way.time.is_some() { What::TimesGoneBackTo } else { What::EpochsGoneBackTo });
                Ok(Ok(database))
            }
            (Ok(_), None) => Err(Failure::Engine(format!("{} was refused and then gone back to", way.until))),
            (Err(error), None) if self.is_refused(&error) => {
                self.note(What::WaysBackRefused);
                Ok(self.opened(config))
            }
            (Err(error), planned) => {
                self.copied.pending.set(planned);
                self.note(What::WaysBackInterrupted);
                Ok(Err(error))
            }
        }
    }

    /// Whether the error is that there is no such way back.
    pub(super) fn is_refused(&self, error: &Error) -> bool {
        match error {
            Error::Recovery(RecoveryError::Until { .. }) => true,
            // Where files of another backup keep it from being seen before anything is copied.
            Error::Backup(BackupError::RestoreFailed { error, .. }) => self.is_refused(error),
            _ => false,
        }
    }

    fn way_back(&self, disk: &SimDisk, config: &Config) -> Result<Option<WayBack>, Failure> {
        let share = self.plan.copies.map_or(0.0, |copies| copies.until_share);
        if share == 0.0 || !self.is_drawn(share) || self.copied.pending.get().is_some() {
            return Ok(None);
        }
        let mut config = config.clone();
        config.environment.disk = Arc::new(disk.kill(self.seed()));
        // There may be none yet.
        let Ok(plan) = explain(&config) else { return Ok(None) };
        let Some((first, last)) = reach(&plan) else { return Ok(None) };
        let is_time = self.rng.borrow_mut().bool();
        let now_us = self.rng.borrow_mut().u64(0..=self.copied.now.get().as_micros() as u64);
        // The last ones are those of records that wait for the cut.
        let low = if self.rng.borrow_mut().bool() { first } else { last };
        let epoch = self.rng.borrow_mut().u64(low.saturating_sub(1)..=last + 1);
        let time = is_time.then(|| Duration::from_micros(now_us));
        let until = time.map_or(Until::Epoch(Epoch(epoch)), |time| Until::Time(wall(time)));
        let planned = match explain(&config.until(until)) {
            Ok(plan) => plan.until,
            Err(RecoveryError::Until { .. }) => None,
            Err(error) => return Err(Failure::engine("explain", &error)),
        };
        let is_fuzzy = plan.checkpoint.is_some_and(|checkpoint| checkpoint.kind == CheckpointKind::Fuzzy);
        // What an epoch before the first one gives can only be wrong, which the oracle sees.
        let is_there = epoch <= last && !plan.taken_back.iter().any(|back| back.gave_up(epoch));
        if time.is_none() && !is_fuzzy && epoch >= first && is_there != planned.is_some() {
            return Err(Failure::Engine(format!("epoch {epoch} of {first} to {last} is taken for {planned:?}")));
        }
        Ok(Some(WayBack { until, time, planned }))
    }
}

/// The first and the last epoch that there is a way back to.
fn reach(plan: &RecoveryPlan) -> Option<(u64, u64)> {
    let boundary = plan.checkpoint.as_ref().filter(|checkpoint| checkpoint.kind == CheckpointKind::Epoch);
    let boundary = boundary.map(|checkpoint| checkpoint.boundary);
    match (boundary, plan.epochs) {
        (Some(boundary), epochs) => Some((boundary, epochs.map_or(boundary, |(_, last)| last.max(boundary)))),
        (None, epochs) => epochs,
    }
}

fn wall(since: Duration) -> WallTime {
    let clock = ManualClock::new();
    clock.advance(since);
    clock.wall().into()
}

impl Copied {
    /// Judges what an open found, which may or may not have gone back to the epoch that an earlier one was to go back to.
    pub(super) fn check_recovery(&self, oracle: &mut Oracle, found: &Recovered) -> Result<(), Violation> {
        if let Some(epoch) = self.pending.take() {
            let mut back = oracle.clone();
            back.go_back(epoch)?;
            if back.check_recovery(found).is_ok() {
                *oracle = back;
                return Ok(());
            }
        }
        oracle.check_recovery(found)
    }
}
