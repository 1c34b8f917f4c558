//! Transactions of users while the log of the life before still runs again: a database that opens at once.
//!
//! The oracle has to know what was recovered before it can judge anything that comes after it. So these transactions put back what
//! they find, or are rolled back: what they read is compared with what is there when everything has run.

use std::cell::RefCell;
use std::time::Duration;

use fastrand::Rng;
use osier::{Database, Error};

use super::coverage::What;
use super::executor::Executor;
use super::run::{Failure, Simulation};
use super::tables::{self, Looked};
use crate::clock::ManualClock;
use crate::spawn::SimSpawn;

/// The SQLSTATE of a wait for a lock that took too long.
const LOCK_TIMEOUT: &str = "55P03";

/// So many sessions use so many rows at most.
const SESSIONS_MAX: usize = 3;
const USED_MAX: usize = 12;

impl Simulation<'_> {
    /// Uses rows in several sessions while transactions of the log still run again. Where the disk fails on the way, nothing more
    /// is used.
    pub(super) fn use_early(
        &self,
        database: &Database,
        world: (&SimSpawn, &ManualClock),
    ) -> Result<Vec<Looked>, Failure> {
        if database.metrics().backlog.left == 0 {
            return Ok(Vec::new());
        }
        self.note(What::EarlyUses);
        let looked = RefCell::new(Vec::new());
        let sessions = self.rng.borrow_mut().usize(0..=SESSIONS_MAX);
        let rngs: Vec<_> = (0..sessions).map(|_| self.rng.borrow_mut().fork()).collect();
        let use_some = |rng| self.use_rows(database, rng, &looked);
        self.run_while_tasks_do(world, rngs.into_iter().map(|rng| move || use_some(rng)))?;
        Ok(looked.into_inner())
    }

    fn use_rows(&self, database: &Database, mut rng: Rng, looked: &RefCell<Vec<Looked>>) -> Result<(), Failure> {
        let mut session = database.session().map_err(|error| Failure::engine("a session", &error))?;
        for _ in 0..rng.usize(0..=USED_MAX) {
            let (name, key) = self.plan.place(&mut rng);
            let transaction = session.begin();
            let is_kept = rng.u8(0..4) > 0;
            let used = tables::use_row(&transaction, (name, key), &mut rng).and_then(|found| {
                self.trace.line(|| format!("early: {found:?}, put back: {is_kept}"));
                if is_kept { transaction.commit().map(|_| found) } else { Ok(found) }
            });
            match used {
                Ok(found) => looked.borrow_mut().extend(found),
                Err(error) if error.is_conflict() || error.sqlstate() == LOCK_TIMEOUT => {}
                Err(Error::Log(_)) if database.failure().is_some() => return Ok(()),
                Err(error) => return Err(Failure::engine("using a row early", &error)),
            }
        }
        Ok(())
    }

    /// Does something that waits for tasks, where it does.
    pub(super) fn while_tasks_run(
        &self,
        world: (&SimSpawn, &ManualClock),
        database: &Database,
        body: impl Fn() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if database.metrics().backlog.left == 0 {
            return body();
        }
        self.run_while_tasks_do(world, [body].into_iter())
    }

    fn run_while_tasks_do<B: FnOnce() -> Result<(), Failure>>(
        &self,
        (spawn, clock): (&SimSpawn, &ManualClock),
        bodies: impl Iterator<Item = B>,
    ) -> Result<(), Failure> {
        let mut executor = Executor::default();
        bodies.for_each(|body| executor.spawn(async move { body() }));
        while executor.live() > 0 {
            let mut rng = self.rng.borrow_mut().fork();
            if rng.bool() {
                executor.step(&mut rng).flatten().unwrap_or(Ok(()))?;
            } else if spawn.step().is_none() {
                clock.advance(Duration::from_micros(rng.u64(1..3000)));
            }
        }
        Ok(())
    }

    /// Compares what was read early with what there is now.
    pub(super) fn check_early(&self, database: &Database, looked: &[Looked]) -> Result<(), Failure> {
        let mut session = database.session().map_err(|error| Failure::engine("a session", &error))?;
        let transaction = session.begin();
        for early in looked {
            let now = early.again(&transaction).map_err(|error| Failure::engine("reading a row again", &error))?;
            if now != early.row {
                return Err(Failure::Engine(format!("{early:?} was read early, and is {now:?}")));
            }
        }
        Ok(())
    }
}
