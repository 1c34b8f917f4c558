//! Backups that are written while sessions run, and what can be restored of them after whatever has happened since.
//!
//! Invariants:
//! - A backup that was whole can be restored, until another one to the same place is: to exactly what a set of transactions
//!   leaves in which all are that had ended before it was begun, and all up to the epoch that it names.
//! - One that was interrupted is refused, or is one that could have been whole; it leaves the one before.
//! - A restore that was interrupted is refused; again it succeeds. A power failure just after its end takes nothing away.
//! - What is in a backup survives in the database, too.
//! - What was restored from a backup is another copy: it does not replace what the original backed up since.
//!
//! Restores happen on copies of the disk; now and then the simulation goes on with one: other copies of the same database are
//! not looked at any more.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use osier::ids::Epoch;
use osier::inspect::verify;
use osier::io::{Clock, Disk};
use osier::{BackupError, BackupReport, Config, Database, DirectoryError, Error, Protocol, Until};
use osier::{backup_closed, explain};

use super::coverage::What;
use super::executor::pause;
use super::oracle::{Finished, Oracle, Recovered, Violation};
use super::plan::{Copies, Plan};
use super::run::{Failure, Simulation, is_explained};
use super::session::World;
use super::tables;
use crate::clock::ManualClock;
use crate::disk::{Faults, SimDisk};
use crate::spawn::SimSpawn;

/// Backups that are written at a time.
const BACKUPS_MAX: usize = 2;
/// Of so many backups one is taken for that of an original whose copy goes on, too.
const FORKED_EVERY: usize = 3;

/// What is known of the copies of a database.
#[derive(Default)]
pub(super) struct Copied {
    /// The database in use comes of this restore; zero: of none.
    home: Cell<u32>,
    /// Numbers of restores and backups that were given.
    numbers: Cell<u32>,
    targets: RefCell<Vec<Target>>,
    forks: RefCell<Vec<Fork>>,
    /// The epoch that an open was to go back to which a fault ended: it may have done so.
    pub(super) pending: Cell<Option<u64>>,
    /// When the last generation ended.
    pub(super) now: Cell<Duration>,
}

/// A place for backups.
struct Target {
    path: PathBuf,
    is_written: bool,
    /// Whether there is one that was whole.
    is_whole: bool,
    /// One of these backups is there, if one is.
    promises: Vec<Promise>,
}

impl Target {
    /// Whether the error says that there is no backup, where none was whole.
    fn may_be_missing(&self, error: &Error) -> bool {
        use BackupError::{NoBackup, NotThere, NotWhole};
        let is_missing = matches!(error, Error::Backup(NotWhole { .. } | NotThere { .. } | NoBackup { .. }));
        is_missing && !self.is_whole
    }
}

/// A backup that was written to a place where one was whole.
struct Fork {
    path: PathBuf,
    /// The disk with the one before.
    before: SimDisk,
    /// The disk with the new one.
    after: SimDisk,
}

/// What a backup is measured by.
#[derive(Clone)]
struct Promise {
    /// So many transactions of its generation had ended when it was begun.
    ended: usize,
    /// Of its generation, when that is over.
    oracle: Option<Rc<Oracle>>,
}

impl Promise {
    /// Takes what was restored for what the oracle's next generation begins with.
    fn judge(&self, epoch: u64, found: &Recovered, protocol: Protocol) -> Result<Oracle, Violation> {
        let mut oracle = Oracle::clone(self.oracle.as_ref().expect("its generation is over"));
        oracle.promise(|number, finished| number < self.ended || finished.epoch <= epoch);
        if protocol == Protocol::None {
            oracle.check_epoch_cut(found)?;
        }
        oracle.check_recovery(found)?;
        Ok(oracle)
    }
}

impl Copied {
    /// The name of the directories of the database.
    pub(super) fn home(&self) -> String {
        match self.home.get() {
            0 => "osier".to_owned(),
            number => format!("restored-{number}"),
        }
    }

    pub(super) fn number(&self) -> u32 {
        self.numbers.set(self.numbers.get() + 1);
        self.numbers.get()
    }

    /// Whether another backup may be begun.
    pub(super) fn is_free(&self) -> bool {
        self.backups() < BACKUPS_MAX
    }

    /// How many backups are being written.
    pub(super) fn backups(&self) -> usize {
        self.targets.borrow().iter().filter(|target| target.is_written).count()
    }

    /// The process is gone; nothing of this generation is judged yet.
    pub(super) fn generation_ended(&self, plan: &Plan, oracle: &Oracle, clock: &dyn Clock) {
        if plan.copies.is_none() {
            return;
        }
        self.now.set(clock.now());
        let oracle = Rc::new(oracle.clone());
        for target in &mut *self.targets.borrow_mut() {
            target.is_written = false;
            for promise in &mut target.promises {
                promise.oracle.get_or_insert_with(|| Rc::clone(&oracle));
            }
        }
    }

    /// Chooses where a backup goes that is begun now, after so many transactions of the generation.
    fn begin(&self, continues: bool, ended: usize) -> usize {
        let mut targets = self.targets.borrow_mut();
        let at = match targets.iter().rposition(|target| !target.is_written).filter(|_| continues) {
            Some(at) => at,
            None => {
                let path = PathBuf::from(format!("/backups/{}", self.number()));
                targets.push(Target { path, is_written: false, is_whole: false, promises: Vec::new() });
                targets.len() - 1
            }
        };
        targets[at].is_written = true;
        targets[at].promises.push(Promise { ended, oracle: None });
        at
    }

    fn end(&self, at: usize, is_whole: bool) {
        let target = &mut self.targets.borrow_mut()[at];
        target.is_written = false;
        if is_whole {
            target.is_whole = true;
            target.promises.drain(..target.promises.len() - 1);
        }
    }
}

/// A backup that was restored.
struct Restored {
    disk: SimDisk,
    home: u32,
    report: BackupReport,
    found: Recovered,
    /// Of whoever goes on with it.
    oracle: Oracle,
}

impl Simulation<'_> {
    /// Writes a backup while others go on.
    pub(super) async fn back_up(&self, world: &World<'_>) -> Result<(), Failure> {
        let Some(copies) = self.plan.copies else { return Ok(()) };
        let ended = self.oracle.borrow().finished().len();
        let at = self.copied.begin(world.chance(copies.continued_share), ended);
        let (target, is_fresh) = (self.copied.targets.borrow()[at].path.clone(), world.chance(copies.fresh_share));
        self.trace.line(|| format!("a backup to {} begins, {ended} have ended", target.display()));
        pause().await;
        let before = self.copied.targets.borrow()[at].is_whole.then(|| world.disk.kill(ended as u64));
        let written = world.database.backup(&target, is_fresh);
        self.trace.line(|| format!("the backup to {} ends: {written:?}", target.display()));
        self.copied.end(at, written.is_ok());
        if let (Ok(_), Some(before), 0) = (&written, before, ended % FORKED_EVERY) {
            let after = world.disk.kill(ended as u64);
            self.copied.forks.borrow_mut().push(Fork { path: target.clone(), before, after });
        }
        self.note(if written.is_ok() { What::Backups } else { What::BackupsInterrupted });
        match written {
            Err(error) if !is_explained(world.disk) && !self.moved.is_away.get() => {
                Err(Failure::engine("backup", &error))
            }
            _ => Ok(()),
        }
    }

    /// After a generation: restores a backup, and may go on with it. Returns the disk to go on with.
    pub(super) fn restore_some(&self, disk: SimDisk) -> Result<SimDisk, Failure> {
        let Some(copies) = self.plan.copies else { return Ok(disk) };
        // The rest of the plan does not depend on it.
        let rng = self.rng.borrow().clone();
        self.copied.forks.take().into_iter().try_for_each(|fork| self.go_separate_ways(fork))?;
        self.rng.replace(rng);
        let targets = self.copied.targets.borrow().len();
        if targets == 0 || !self.is_drawn(copies.restored_share) {
            return Ok(disk);
        }
        let at = self.rng.borrow_mut().usize(0..targets);
        let Some(mut restored) = self.restore(&disk, at, copies)? else { return Ok(disk) };
        let is_held = |finished: &Finished| restored.found.transactions.contains(&finished.id);
        self.oracle.borrow_mut().promise(|_, finished| finished.acknowledged || is_held(finished));
        if self.is_drawn(copies.until_share) {
            let Some(back) = self.restore_until(&restored, at)? else { return Ok(disk) };
            restored = back;
        }
        if !self.is_drawn(copies.gone_on_share) {
            return Ok(disk);
        }
        self.note(What::RestoresGoneOnWith);
        self.trace.line(|| format!("-- goes on with restored-{}", restored.home));
        self.copied.home.set(restored.home);
        self.copied.pending.set(None);
        self.copied.targets.borrow_mut().clear();
        self.oracle.replace(restored.oracle);
        Ok(restored.disk)
    }

    /// Restores what is in a target to a copy of the disk; `None` where there is nothing, as may be.
    fn restore(&self, disk: &SimDisk, at: usize, copies: Copies) -> Result<Option<Restored>, Failure> {
        let mut copy = disk.kill(self.seed());
        if self.is_drawn(copies.interrupted_share) {
            copy = self.interrupt(copy, at)?;
        }
        let targets = self.copied.targets.borrow();
        let (target, home) = (&targets[at], self.copied.number());
        self.trace.line(|| format!("-- restores {} to restored-{home}", target.path.display()));
        let report = match self.on(&copy, home, |config| self.restored(config, &target.path)) {
            Ok(report) => report.backup,
            Err(error) if target.may_be_missing(&error) => return Ok(None),
            Err(error) => return Err(unrestorable(&error).into()),
        };
        self.note(What::Restores);
        let (disk, found) = self.reopen(&copy, home)?;
        let oracle = self.judge_restored(target, report.epoch, &found)?;
        Ok(Some(Restored { disk, home, report, found, oracle }))
    }

    fn judge_restored(&self, target: &Target, epoch: u64, found: &Recovered) -> Result<Oracle, Violation> {
        self.trace.line(|| format!("restored {:?}", found.transactions));
        // The earliest promise that holds: a later backup may be there or not, where what it promises beyond leaves no trace.
        let judged = target.promises.iter().map(|promise| promise.judge(epoch, found, self.plan.protocol));
        judged.reduce(Result::or).expect("a backup that was begun")
    }

    /// Restores the older backup, and backs the copy up to the place that the original has backed up to since.
    fn go_separate_ways(&self, Fork { path, before: disk, after }: Fork) -> Result<(), Failure> {
        let copy = self.copied.number();
        let target = PathBuf::from(format!("/backups/forked-{copy}"));
        self.trace
            .line(|| format!("-- restores {} to restored-{copy}, backs up to {}", path.display(), target.display()));
        let restored = |from: &Path| {
            let home = self.copied.number();
            self.on(&disk, home, |config| self.restored(config, from)).map_err(|error| unrestorable(&error))?;
            self.on(&disk, home, |config| look(self.opened(config))).map_err(|error| unrestorable(&error))
        };
        let report =
            self.on(&disk, copy, |config| self.restored(config, &path)).map_err(|error| unrestorable(&error))?;
        for (from, bytes) in after.content(&path) {
            let to = target.join(from.strip_prefix(&path).expect("it lies there"));
            disk.create_dir_all(to.parent().expect("a directory")).expect("no faults");
            disk.put(&to, &bytes);
        }
        let original = restored(&target)?;

        // A generation in which nothing was written is gone with the next one.
        let opens = self.rng.borrow_mut().u8(0..3);
        for _ in 0..opens {
            self.on(&disk, copy, |config| look(self.opened(config))).map_err(|error| unrestorable(&error))?;
        }
        let written = self.on(&disk, copy, |config| backup_closed(&config, &target));
        self.trace.line(|| format!("the backup to {} ends: {written:?}", target.display()));
        if let Err(error) = &written
            && !matches!(error, Error::Backup(BackupError::OtherCopy { .. }))
        {
            return Err(Failure::engine("backup", error));
        }
        let found = restored(&target)?;
        // A checkpoint of its own takes away what would show that it is another copy, and its floors may have passed the backup.
        if written.is_ok_and(|written| written.checkpoint != report.backup.checkpoint) {
            return Ok(());
        }
        match original.transactions.difference(&found.transactions).next() {
            Some(lost) => Err(Violation::RecoveredLost(*lost).into()),
            None => Ok(()),
        }
    }

    /// Begins a restore that a fault ends, if it meets one.
    fn interrupt(&self, disk: SimDisk, at: usize) -> Result<SimDisk, Failure> {
        let targets = self.copied.targets.borrow();
        let (target, home) = (&targets[at], self.copied.number());
        let place = Some(self.rng.borrow_mut().u64(1..120));
        let faults = match self.rng.borrow_mut().u8(0..4) {
            0 => Faults { io_error_at: place, ..Faults::default() },
            1 => Faults { full_at: place, ..Faults::default() },
            _ => Faults { crash_at: place, ..Faults::default() },
        };
        self.trace.line(|| format!("-- restores {} to restored-{home}, with {faults:?}", target.path.display()));
        disk.set_faults(faults);
        match self.on(&disk, home, |config| self.restored(config, &target.path)) {
            Ok(_) => {}
            Err(_) if is_explained(&disk) => self.note(What::RestoresInterrupted),
            Err(_) if !target.is_whole => return Ok(disk),
            Err(error) => return Err(unrestorable(&error).into()),
        }
        let disk = self.power_fails(&disk);
        let directory = self.on(&disk, home, |config| config.dirs[0].clone());
        // A lock alone is nothing of a database.
        if disk.list(&directory).unwrap_or_default().iter().all(|entry| entry.ends_with("LOCK")) {
            return Ok(disk);
        }
        match self.on(&disk, home, |config| look(self.opened(config))) {
            Err(Error::Directory(DirectoryError::Unfinished { .. })) => self.is_trusted_nowhere(&disk, home)?,
            Err(error) => return Err(unrestorable(&error).into()),
            // Only that the mark is gone may not have been durable.
            Ok(found) => drop(self.judge_restored(target, 0, &found)?),
        }
        Ok(self.power_fails(&disk))
    }

    /// A directory that does not open is not backed up, and nobody calls it sound.
    fn is_trusted_nowhere(&self, disk: &SimDisk, home: u32) -> Result<(), Violation> {
        let trusted = |what: &str| Violation::Unrestorable { what: format!("an unfinished restore is {what}") };
        let target = PathBuf::from(format!("/backups/unfinished-{home}"));
        if self.on(disk, home, |config| backup_closed(&config, &target)).is_ok() {
            return Err(trusted("backed up"));
        }
        let sound = self.on(disk, home, |config| verify(&config).is_ok() || explain(&config).is_ok());
        if sound { Err(trusted("sound")) } else { Ok(()) }
    }

    /// Restores to an epoch that is drawn; `None` where that is refused, as it must be.
    fn restore_until(&self, whole: &Restored, at: usize) -> Result<Option<Restored>, Failure> {
        let targets = self.copied.targets.borrow();
        let (target, home, report) = (&targets[at], self.copied.number(), &whole.report);
        let first = report.first_epoch.or_else(|| whole.oracle.epochs().first().copied()).unwrap_or(report.epoch);
        let epoch = self.rng.borrow_mut().u64(first.saturating_sub(1)..=report.epoch.max(first) + 1);
        self.trace.line(|| format!("-- restores {} to restored-{home}, up to epoch {epoch}", target.path.display()));
        let until = |config: Config| config.until(Until::Epoch(Epoch(epoch)));
        let is_given_up = report.taken_back.iter().any(|back| back.gave_up(epoch));
        let is_there = (first..=report.epoch).contains(&epoch) && !is_given_up;
        let disk = whole.disk.clone();
        match self.on(&disk, home, |config| self.restored(until(config), &target.path)) {
            Ok(_) => self.note(What::EpochsGoneBackTo),
            Err(error) if self.is_refused(&error) && !is_there => return Ok(None),
            // The power has failed since, and took away the name that nobody was told is durable.
            Err(error) if target.may_be_missing(&error) => return Ok(None),
            Err(error) => return Err(unrestorable(&error).into()),
        }
        let (disk, found) = self.reopen(&disk, home)?;
        let mut oracle = whole.oracle.clone();
        oracle.go_back(epoch)?;
        oracle.check_recovery(&found)?;
        Ok(Some(Restored { disk, home, report: report.clone(), found, oracle }))
    }

    /// What opens of a restored database after a power failure, and the disk after the next one.
    fn reopen(&self, disk: &SimDisk, home: u32) -> Result<(SimDisk, Recovered), Violation> {
        let disk = self.power_fails(disk);
        let found = self.on(&disk, home, |config| look(self.opened(config)));
        let found = found.map_err(|error| unrestorable(&error))?;
        Ok((self.power_fails(&disk), found))
    }

    fn power_fails(&self, disk: &SimDisk) -> SimDisk {
        disk.crash();
        disk.survive(self.seed())
    }

    /// Does something with the configuration of the database itself.
    pub(super) fn at_home<T>(&self, disk: &SimDisk, body: impl FnOnce(Config) -> T) -> T {
        self.on(disk, self.copied.home.get(), body)
    }

    /// Does something with the configuration of a restored database.
    pub(super) fn on<T>(&self, disk: &SimDisk, home: u32, body: impl FnOnce(Config) -> T) -> T {
        self.trace.observe(disk);
        let clock = Arc::new(ManualClock::new());
        clock.advance(self.copied.now.get());
        let spawn = SimSpawn::new(self.seed(), Arc::clone(&clock));
        let before = self.copied.home.replace(home);
        let config = self.config(disk, &clock, &spawn);
        self.copied.home.set(before);
        body(config)
    }
}

fn unrestorable(error: &Error) -> Violation {
    Violation::Unrestorable { what: error.to_string() }
}

/// Everything in a database, which is closed then.
pub(super) fn look(database: Result<Database, Error>) -> Result<Recovered, Error> {
    let database = database?;
    let found = tables::recovered(&database)?;
    database.close()?;
    Ok(found)
}
