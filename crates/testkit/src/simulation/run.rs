//! One simulation: a database is opened, used, broken and judged, over and over, as its seed has it.
//!
//! ```text
//! draw the plan -> per generation: set the faults -> open -> judge what was recovered -> interleave sessions and
//! background tasks -> crash, kill, close or fail -> at the end open without faults, judge, close, open, judge
//! ```

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use fastrand::Rng;
use osier::call::Procedures;
use osier::checkpoint::CheckpointState;
use osier::config::{CheckpointKind, RecoveryKind};

use osier::inspect::verify;
use osier::io::{Clock, Disk, Environment, Spawn};
use osier::{Config, Database, Error, Metrics, Protocol, RecoveryError, RestoreReport, restore_with};

use super::backups::Copied;
use super::checkpoints::Watch;
use super::coverage::{Coverage, What};
use super::directories::Moved;
use super::executor::Executor;
use super::oracle::{Oracle, Violation};
use super::plan::{Choices, Ending, Plan};
use super::procedures;
use super::session::{self, World};
use super::settings::{Changing, Settings};
use super::tables::{self, Tables};
use crate::clock::ManualClock;
use crate::disk::{Faults, Kind, SimDisk};
use crate::fiber;
use crate::spawn::SimSpawn;

/// How far the clock is moved on before a receipt that is still pending counts as forgotten, and how often at least.
const PATIENCE: Duration = Duration::from_millis(200);
const PATIENCE_ROUNDS: usize = 20;

/// Within how many steps a session must return from what it was calling.
const QUIESCENCE_STEPS_MAX: usize = 400_000;

/// How long bursts and silences last on average.
const PHASE_STEPS: f64 = 25.0;

/// Why a seed failed.
#[derive(Debug)]
pub enum Failure {
    /// The oracle says so.
    Violation(Violation),
    /// The engine reported an error that nothing explains.
    Engine(String),
    /// A receipt stays pending although nothing is left to do.
    Forgotten(String),
    /// Something panicked.
    Panic(String),
}

impl Failure {
    /// Whether a promise was broken, and not only something refused.
    pub fn is_broken_promise(&self) -> bool {
        matches!(self, Failure::Violation(_) | Failure::Forgotten(_))
    }

    pub(super) fn engine(doing: impl fmt::Display, error: &dyn fmt::Display) -> Failure {
        Failure::Engine(format!("{doing}: {error}"))
    }
}

impl From<Violation> for Failure {
    fn from(violation: Violation) -> Failure {
        Failure::Violation(violation)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Violation(violation) => violation.fmt(f),
            Failure::Engine(what) => write!(f, "an error that nothing explains: {what}"),
            Failure::Forgotten(what) => f.write_str(what),
            Failure::Panic(what) => write!(f, "a panic: {what}"),
        }
    }
}

/// What a passed seed went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Successful opens.
    pub opens: u64,
    /// Opens that a fault ended.
    pub failed_opens: u64,
    /// Transactions that ended with a receipt.
    pub finished: u64,
    /// Of these, acknowledged before the crash.
    pub acknowledged: u64,
    /// Marked transactions that did not survive.
    pub lost: u64,
    /// Checkpoints that became valid.
    pub checkpoints: u64,
    /// Of these, compared with their epochs.
    pub compared: u64,
    /// What they went through.
    pub coverage: Coverage,
    /// Of everything that was traced: equal seeds give equal digests.
    pub digest: u64,
}

impl Summary {
    /// Adds the counts of another seed.
    pub fn add(&mut self, other: &Summary) {
        self.opens += other.opens;
        self.failed_opens += other.failed_opens;
        self.finished += other.finished;
        self.acknowledged += other.acknowledged;
        self.lost += other.lost;
        self.checkpoints += other.checkpoints;
        self.compared += other.compared;
        self.coverage.add(&other.coverage);
    }
}

/// Prints what happens, or only digests it.
pub struct Trace {
    prints: bool,
    digest: Arc<Mutex<DefaultHasher>>,
}

impl Trace {
    fn new(prints: bool) -> Trace {
        Trace { prints, digest: Arc::default() }
    }

    pub(super) fn line(&self, line: impl FnOnce() -> String) {
        Trace::put(self.prints, &self.digest, &line());
    }

    fn put(prints: bool, digest: &Mutex<DefaultHasher>, line: &str) {
        if prints {
            println!("{line}");
        }
        if let Ok(mut digest) = digest.lock() {
            line.hash(&mut *digest);
        }
    }

    pub(super) fn observe(&self, disk: &SimDisk) {
        let (prints, digest) = (self.prints, Arc::clone(&self.digest));
        disk.observe(Arc::new(move |line| Trace::put(prints, &digest, line)));
    }

    fn digest(&self) -> u64 {
        self.digest.lock().map_or(0, |digest| digest.finish())
    }
}

pub(super) struct Simulation<'s> {
    pub(super) plan: Plan,
    pub(super) rng: RefCell<Rng>,
    pub(super) oracle: RefCell<Oracle>,
    ids: Cell<u64>,
    pub(super) trace: &'s Trace,
    summary: Cell<Summary>,
    pub(super) copied: Copied,
    pub(super) moved: Moved,
    pub(super) changing: Changing,
    /// Whether rows may be marked that were changed early.
    pub(super) has_marked: Cell<bool>,
}

/// Runs a seed. Its trace goes to standard output where `prints` is set.
pub fn run(seed: u64, choices: &Choices, prints: bool) -> Result<Summary, Failure> {
    // The engine draws database identities from the thread's own generator.
    fastrand::seed(seed);
    let trace = Trace::new(prints);
    let result = catch_unwind(AssertUnwindSafe(|| Simulation::new(seed, choices, &trace).run()));
    fiber::stop();
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Failure::Panic(text.unwrap_or_default()))
    })
}

impl<'s> Simulation<'s> {
    fn new(seed: u64, choices: &Choices, trace: &'s Trace) -> Simulation<'s> {
        let mut rng = Rng::with_seed(seed);
        let plan = Plan::draw(&mut rng, choices);
        trace.line(|| format!("{plan:#?}"));
        fiber::start(rng.clone().u64(..), plan.preempted_share, plan.variant, &choices.mutations);
        let moved = Moved::new(seed, plan.is_moved);
        let changing = Changing::new(seed, &plan);
        Simulation {
            plan,
            rng: RefCell::new(rng),
            oracle: RefCell::default(),
            ids: Cell::new(1),
            trace,
            summary: Cell::default(),
            copied: Copied::default(),
            moved,
            changing,
            has_marked: Cell::new(false),
        }
    }

    pub(super) fn seed(&self) -> u64 {
        self.rng.borrow_mut().u64(..)
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut Summary)) {
        let mut summary = self.summary.get();
        change(&mut summary);
        self.summary.set(summary);
    }

    pub(super) fn note(&self, what: What) {
        self.count(|summary| summary.coverage.note(what));
    }

    /// Draws something of this chance.
    pub(super) fn is_drawn(&self, share: f64) -> bool {
        self.rng.borrow_mut().f64() < share
    }

    fn run(&self) -> Result<Summary, Failure> {
        let mut disk = SimDisk::new(self.seed(), self.plan.log_writes);
        for generation in 1..=self.plan.generations {
            let ending = self.plan.ending(&mut self.rng.borrow_mut());
            self.trace.line(|| format!("-- generation {generation} ends with {ending:?}"));
            disk = self.generation(disk, ending)?;
            fiber::spared(|| self.salvage_some(&disk))?;
            disk = fiber::spared(|| self.restore_some(disk))?;
            disk = fiber::spared(|| self.move_about(disk))?;
        }
        for _ in 0..2 {
            self.trace.line(|| "-- last look".to_owned());
            disk = self.generation(disk, Ending::Close)?;
        }
        self.count(|summary| summary.digest = self.trace.digest());
        Ok(self.summary.get())
    }

    /// Opens, uses and breaks the database once; returns what is left on the disk.
    fn generation(&self, disk: SimDisk, ending: Ending) -> Result<SimDisk, Failure> {
        self.change_settings();
        self.trace.observe(&disk);
        disk.set_faults(faults(ending));
        fiber::strike(if let Ending::TaskDiesAt(step) = ending { step } else { 0 });
        let clock = Arc::new(ManualClock::new());
        clock.advance(self.copied.now.get());
        let spawn = SimSpawn::new(self.seed(), Arc::clone(&clock));
        let config = self.config(&disk, &clock, &spawn);
        let unsound = self.unsound(&disk, &config);
        match self.open(&disk, config)? {
            Ok(database) => {
                if let Some(error) = unsound.filter(|_| database.recovery().is_some_and(|report| report.records > 0)) {
                    return Err(Failure::Engine(format!("an open found nothing wrong, and verify says: {error}")));
                }
                // After a failure nobody waits for what it was doing.
                let database = ManuallyDrop::new(database);
                self.count(|summary| summary.opens += 1);
                let early = self.use_early(&database, (&spawn, &clock))?;
                match self.while_tasks_run((&spawn, &clock), &database, || self.judge(&database)) {
                    // One that has failed gives no rows that are still to come.
                    Err(Failure::Engine(_)) if database.metrics().backlog.left > 0 && is_explained(&disk) => {
                        self.count(|summary| summary.failed_opens += 1);
                    }
                    judged => {
                        judged?;
                        self.check_early(&database, &early)?;
                        if self.end_early(&database, (&spawn, &clock))? {
                            self.use_and_break(&database, &disk, &spawn, &clock, ending)?;
                        }
                    }
                }
                let Metrics { checkpoints, procedures, .. } = database.metrics();
                self.count(|summary| {
                    summary.checkpoints += checkpoints.taken;
                    summary.coverage.note_logged(&procedures);
                });
                // What a dropped database still does must not reach the disk of a killed process.
                if ending != Ending::Close {
                    disk.crash();
                }
                drop(ManuallyDrop::into_inner(database));
            }
            Err(error) if is_explained(&disk) => {
                self.trace.line(|| format!("open failed: {error}"));
                self.count(|summary| {
                    summary.failed_opens += 1;
                    if disk.is_crashed() {
                        summary.coverage.note_crash(disk.crashed_in(), false, false);
                    }
                });
                disk.crash();
            }
            Err(error) => return Err(Failure::engine("open", &error)),
        }
        assert_eq!(spawn.live(), 0, "a background task outlived its database");
        self.copied.generation_ended(&self.plan, &self.oracle.borrow(), &*clock);
        Ok(self.next_disk(&disk, ending))
    }

    /// What verify finds wrong with a copy of the disk, where it is asked: at every third open.
    fn unsound(&self, disk: &SimDisk, config: &Config) -> Option<RecoveryError> {
        if self.summary.get().opens % 3 != 1 {
            return None;
        }
        let mut config = config.clone();
        config.environment.disk = Arc::new(disk.kill(0));
        fiber::spared(|| verify(&config).err())
    }

    fn next_disk(&self, disk: &SimDisk, ending: Ending) -> SimDisk {
        let was_power = matches!(
            ending,
            Ending::PowerLossAt(_)
                | Ending::PowerLossAtDirSync(_)
                | Ending::PowerLossAtCheckpoint(_)
                | Ending::PowerLossAtLogWrite(_)
                | Ending::PowerLossAtRemoval(_)
                | Ending::PowerLoss
                | Ending::Close
                | Ending::SyncErrorAt(_)
        );
        let seed = self.seed();
        if was_power || self.rng.borrow_mut().bool() { disk.survive(seed) } else { disk.kill(seed) }
    }

    /// Whether stamps are a serialization order: drawn at the serialization point, and above those of all who have read what is
    /// overwritten. In one stream each is above all before it.
    fn stamps_are_serial(&self) -> bool {
        let Settings { protocol, logged, .. } = self.settings();
        match protocol {
            Protocol::Gsn => true,
            Protocol::Taurus => logged.has_commands(),
            Protocol::Serial => self.plan.variant.stamps_early || logged.has_commands(),
            _ => false,
        }
    }

    pub(super) fn config(&self, disk: &SimDisk, clock: &Arc<ManualClock>, spawn: &SimSpawn) -> Config {
        let plan = &self.plan;
        let disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let clock: Arc<dyn Clock> = Arc::<ManualClock>::clone(clock);
        let spawn: Arc<dyn Spawn> = Arc::new(spawn.clone());
        let Settings { protocol, streams, logged, control } = self.settings();
        let mut config = Config::new("/").dirs(self.directories()).protocol(protocol).streams(streams).logged(logged);
        (config.concurrency_control, config.locking) = control;
        config.command_hash_interval = plan.command_hash_interval;
        (_, config.recovery_replay, config.recovery_rows) = plan.recovery;
        config.physiological_images = plan.images.after;
        config.physiological_before_images = plan.images.before;
        config.ring_bytes = plan.ring_bytes;
        config.segment_bytes = plan.segment_bytes;
        config.transaction_log_bytes_max = plan.transaction_log_bytes_max;
        config.group_commit_interval = plan.group_commit_interval;
        config.recovery_buffer_bytes = plan.recovery_buffer_bytes;
        config.sessions_max = 64;
        if plan.snapshot_share() > 0.0 {
            config.epoch_interval = plan.epoch_interval;
        }
        if let Some(checkpoints) = &plan.checkpoints {
            // Calls that are switched away from take long, so that the debt is a reason for checkpoints, too.
            config.recovery_seconds_target = 1;
            config.epoch_interval = plan.epoch_interval;
            config.checkpoint_kind = match protocol.completes_fuzzy_checkpoints() {
                true => checkpoints.kind,
                false => CheckpointKind::Epoch,
            };
            config.checkpoint_threads = checkpoints.threads;
            config.checkpoint_compression = checkpoints.compression;
            config.checkpoint_at_close = checkpoints.at_close;
        }
        config.environment(Environment { disk, clock, spawn })
    }

    /// Opens a database as the program does that calls procedures, or as one without functions.
    pub(super) fn opened(&self, config: Config) -> Result<Database, Error> {
        Database::open_with(config, self.functions())
    }

    /// Restores a backup, likewise.
    pub(super) fn restored(&self, config: Config, from: &Path) -> Result<RestoreReport, Error> {
        restore_with(config, from, self.functions())
    }

    pub(super) fn functions(&self) -> Procedures {
        if self.plan.call_share > 0.0 && self.plan.recovery.0 == RecoveryKind::Whole {
            procedures::functions()
        } else {
            Procedures::new()
        }
    }

    /// Compares what was recovered with what the oracle allows.
    fn judge(&self, database: &Database) -> Result<(), Failure> {
        let recovered = tables::recovered(database).map_err(|error| Failure::engine("reading everything", &error))?;
        let mut oracle = self.oracle.borrow_mut();
        self.trace.line(|| format!("recovered {:?}", recovered.transactions));
        self.count(|summary| {
            let lost =
                |finished: &&super::oracle::Finished| finished.marked && !recovered.transactions.contains(&finished.id);
            summary.finished += oracle.finished().len() as u64;
            summary.acknowledged += oracle.finished().iter().filter(|finished| finished.acknowledged).count() as u64;
            oracle.finished().iter().for_each(|finished| summary.coverage.note_transaction(finished));
            summary.lost += oracle.finished().iter().filter(lost).count() as u64;
        });
        if self.plan.protocol == Protocol::None {
            oracle.check_epoch_cut(&recovered)?;
        }
        Ok(self.copied.check_recovery(&mut oracle, &recovered)?)
    }

    fn use_and_break(
        &self,
        database: &Database,
        disk: &SimDisk,
        spawn: &SimSpawn,
        clock: &ManualClock,
        ending: Ending,
    ) -> Result<(), Failure> {
        let Some(tables) = self.tables(database)? else { return Ok(()) };
        let world = World {
            database,
            tables,
            plan: &self.plan,
            oracle: &self.oracle,
            rng: &self.rng,
            ids: &self.ids,
            spawn: spawn.clone(),
            clock,
            disk,
            trace: self.trace,
            wanted: Cell::default(),
            receipts: RefCell::default(),
            snapshots: RefCell::default(),
            checkpoints: Watch::start(disk, ending),
        };
        self.interleave(&world, disk, ending)?;
        if self.plan.has_partial() {
            // What sessions have left in the indexes, which the next open builds anew.
            let check = || {
                let found = tables::recovered(database);
                let found = found.map_err(|error| Failure::engine("reading what was left", &error))?;
                Ok(found.check_indexes()?)
            };
            fiber::spared(|| self.while_tasks_run((spawn, clock), database, check))?;
        }
        self.note_crash(&world, disk);
        if ending == Ending::Kill && fiber::spared(|| self.is_displaced(disk)) {
            self.displace(&world, disk)?;
        }
        if self.rng.borrow_mut().bool() {
            spawn.run_until_idle();
        }
        self.poll(&world);
        match ending {
            Ending::PowerLossAt(_)
            | Ending::PowerLossAtDirSync(_)
            | Ending::PowerLossAtLogWrite(_)
            | Ending::PowerLossAtRemoval(_)
            | Ending::PowerLossAtCheckpoint(_) => {}
            Ending::Close => self.close(&world, disk)?,
            _ => {
                if self.rng.borrow_mut().bool() {
                    self.settle(&world)?;
                }
            }
        }
        disk.crash();
        self.poll(&world);
        self.oracle.borrow().check_run()?;
        if self.stamps_are_serial() {
            self.oracle.borrow().check_stamps()?;
        }
        Ok(())
    }

    /// Notes what the power failed in, if it has failed by now, and a task that has died.
    fn note_crash(&self, world: &World<'_>, disk: &SimDisk) {
        let is_taking = world.database.metrics().checkpoints.state != CheckpointState::Idle;
        self.count(|summary| {
            if disk.is_crashed() {
                summary.coverage.note_crash(disk.crashed_in(), true, is_taking);
            }
            if fiber::has_struck() {
                summary.coverage.note(What::TasksThatDied);
            }
        });
    }

    /// Finds or creates the tables; `None` where a fault prevents it.
    fn tables(&self, database: &Database) -> Result<Option<Tables>, Failure> {
        let mut session = database.session().map_err(|error| Failure::engine("a session", &error))?;
        let transaction = session.begin();
        let found = Tables::find(&transaction).map_err(|error| Failure::engine("looking tables up", &error))?;
        if found.is_some() {
            return Ok(found);
        }
        let created = Tables::create(&transaction);
        match created.and_then(|tables| transaction.commit().map(|_receipt| tables)) {
            Ok(tables) => Ok(Some(tables)),
            Err(Error::Log(_)) if database.failure().is_some() => Ok(None),
            Err(error) => Err(Failure::engine("creating tables", &error)),
        }
    }

    /// Steps sessions and tasks until the disk crashes or the steps are used up.
    pub(super) fn interleave(&self, world: &World<'_>, disk: &SimDisk, ending: Ending) -> Result<(), Failure> {
        let mut executor = Executor::default();
        let mut sessions = 0;
        let poll_share = if self.rng.borrow_mut().bool() { 1.0 } else { 0.1 };
        let mut session_share = 1.0;
        let steps = self.rng.borrow_mut().usize(1..=self.plan.steps_max);
        for _ in 0..steps {
            if disk.is_crashed() {
                break;
            }
            if self.plan.checkpoints.is_some_and(|checkpoints| world.chance(checkpoints.share)) {
                self.trace.line(|| "a checkpoint is asked for".to_owned());
                world.database.request_checkpoint();
            }
            if self.copied.is_free() && self.plan.copies.is_some_and(|copies| world.chance(copies.share)) {
                executor.spawn(self.back_up(world));
            }
            if world.chance(1.0 / PHASE_STEPS) {
                session_share = self.plan.session_share(&mut self.rng.borrow_mut());
            }
            while executor.live() < self.plan.sessions + self.copied.backups() {
                executor.spawn(session::run(world, sessions));
                sessions += 1;
            }
            let stepped = if world.chance(session_share) {
                let mut rng = self.rng.borrow_mut().fork();
                let stepped = executor.step(&mut rng);
                let is_ready = stepped.is_some();
                if let Some(Some(ended)) = stepped {
                    ended?;
                }
                is_ready
            } else {
                let stepped = world.spawn.step();
                self.trace.line(|| format!("task {stepped:?}"));
                self.check_checkpoint(world, disk)?;
                stepped.is_some()
            };
            if !stepped || world.chance(0.05) {
                world.clock.advance(Duration::from_micros(self.rng.borrow_mut().u64(1..3000)));
            }
            if world.chance(poll_share) {
                self.poll(world);
            }
        }
        if matches!(ending, Ending::PowerLoss | Ending::Kill) && self.rng.borrow_mut().bool() {
            disk.crash();
        }
        self.quiesce(world, executor)?;
        self.check_checkpoint(world, disk)
    }

    /// Ends the sessions: those that are preempted inside a call return from it first.
    fn quiesce(&self, world: &World<'_>, mut executor: Executor<'_, Result<(), Failure>>) -> Result<(), Failure> {
        executor.cancel();
        for _ in 0..QUIESCENCE_STEPS_MAX {
            if executor.live() == 0 {
                return Ok(());
            }
            let mut rng = self.rng.borrow_mut().fork();
            executor.step(&mut rng).flatten().unwrap_or(Ok(()))?;
            if world.spawn.step().is_none() {
                world.clock.advance(Duration::from_micros(100));
            }
        }
        Err(Failure::Forgotten(format!("{} sessions are inside a call for ever", executor.live())))
    }

    /// Asks every receipt, and forgets those that were answered.
    fn poll(&self, world: &World<'_>) {
        world.receipts.borrow_mut().retain(|(at, receipt)| match receipt.is_acknowledged() {
            Ok(false) => true,
            Ok(true) => {
                world.acknowledge(*at);
                false
            }
            Err(_) => false,
        });
    }

    /// As [`Simulation::poll`], and has the tasks know that somebody waits.
    fn await_all(&self, world: &World<'_>) {
        let mut context = Context::from_waker(Waker::noop());
        world.receipts.borrow_mut().retain_mut(|(at, receipt)| match Pin::new(receipt).poll(&mut context) {
            Poll::Pending => true,
            Poll::Ready(Ok(())) => {
                world.acknowledge(*at);
                false
            }
            Poll::Ready(Err(_)) => false,
        });
    }

    /// Lets the background finish. Every receipt must then be answered, whether it is awaited or only asked, by an error where
    /// the log has failed.
    fn settle(&self, world: &World<'_>) -> Result<(), Failure> {
        let begun = world.clock.now();
        let mut rounds = 0;
        let only_asks = self.rng.borrow_mut().bool();
        while rounds < PATIENCE_ROUNDS || world.clock.now() < begun + PATIENCE {
            rounds += 1;
            if only_asks {
                self.poll(world)
            } else {
                self.await_all(world)
            }
            if world.receipts.borrow().is_empty() {
                return Ok(());
            }
            world.spawn.run_until_idle();
            world.spawn.advance_to_deadline();
        }
        let pending = world.receipts.borrow();
        let ids: Vec<_> = pending.iter().map(|(at, _)| self.oracle.borrow().finished()[*at].id).collect();
        Err(Failure::Forgotten(format!("receipts are pending for ever, of {ids:?}")))
    }

    /// Closes the database: then everything that was committed is durable, asked for or not.
    fn close(&self, world: &World<'_>, disk: &SimDisk) -> Result<(), Failure> {
        match world.database.close() {
            Ok(()) => {}
            Err(_) if is_explained(disk) => return Ok(()),
            Err(error) => return Err(Failure::engine("close", &error)),
        }
        let pending = world
            .receipts
            .borrow()
            .iter()
            .filter(|(_, receipt)| !matches!(receipt.is_acknowledged(), Ok(true)))
            .count();
        if pending > 0 {
            return Err(Failure::Forgotten(format!("{pending} after a close")));
        }
        self.check_checkpoint(world, disk)?;
        let finished = self.oracle.borrow().finished().len();
        (0..finished).for_each(|at| world.acknowledge(at));
        Ok(())
    }
}

fn faults(ending: Ending) -> Faults {
    let none = Faults::default();
    match ending {
        Ending::PowerLossAt(at) => Faults { crash_at: Some(at), ..none },
        Ending::IoErrorAt(at) => Faults { io_error_at: Some(at), ..none },
        // Some find that the device is full only now.
        Ending::SyncErrorAt(at) => Faults { sync_error_at: Some(at), errors_are_full: at.is_multiple_of(3), ..none },
        Ending::PowerLossAtLogWrite(at) => Faults { crash_in: Some((Kind::LogWrite, at)), ..none },
        Ending::PowerLossAtRemoval(at) => Faults { crash_in: Some((Kind::Removal, at)), ..none },
        Ending::DirSyncErrorAt(at) => Faults { dir_sync_error_at: Some(at), ..none },
        Ending::PowerLossAtDirSync(at) => Faults { crash_in: Some((Kind::DirSync, at)), ..none },
        Ending::ReadErrorAt(at) => Faults { read_error_at: Some(at), ..none },
        Ending::FullAt(at) => Faults { full_at: Some(at), copies_on_write: at.is_multiple_of(2), ..none },
        Ending::PowerLoss | Ending::PowerLossAtCheckpoint(_) | Ending::Kill | Ending::Close | Ending::TaskDiesAt(_) => {
            none
        }
    }
}

/// Whether an error of the engine may come of what was done to it.
pub(super) fn is_explained(disk: &SimDisk) -> bool {
    disk.is_crashed() || disk.fault_met() || fiber::has_struck()
}
