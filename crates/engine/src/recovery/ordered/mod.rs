//! Replays, in the order of their stamps, the transactions of the first generation that logs commands and of all generations
//! behind it: one after the other, or several at once, as vectors in their records allow ([`at_once`]) or their procedures and
//! arguments ([`pacman`]).
//!
//! A command reads: what it does depends on all transactions before it, and on none behind it. So nothing of these generations is
//! replayed when it is read ([`first_pass`](super::first_pass)), and here each transaction is run again as a transaction, by the
//! code that users' transactions run, under the stamp of its record ([`replayed`](crate::log::protocol::replayed)). What logged
//! values among them are put in their place (transaction/replayed.rs), definitions too.
//!
//! Invariants:
//! - It begins when everything before is replayed and merged, tables are open and their indexes built. The decision what lives is
//!   durable by then: an error here leaves a database that the next open finds as it was.
//! - The order is that of stamps, and of streams where two are equal: transactions without a conflict may share one (O2).
//! - A command does what it did, or recovery fails (O3, [`RecoveryError::Diverged`]): it wrote something, rests on nothing that
//!   came after it, and wrote the same rows, if their hash is in the log. Recovery goes on only where whoever opens the database
//!   has accepted that ([`Acceptance`]); what cannot be found at all is accepted by nobody.
//! - No setting that limits transactions applies: they were accepted.
//! - Keys of deleted rows are gone at the end, as after the merge of machines.
//! - What a checkpoint covers is in it wholly, and nothing else is: a fuzzy checkpoint of these generations is refused.
//!
//! Absent: the read and the merge of the streams (merge.rs), in a thread of its own (feeder.rs); the look ahead (ahead.rs); one
//! transaction (run.rs); what runs a procedure ([`CommandReplayer`]).

mod acceptance;
mod ahead;
mod at_once;
mod feeder;
mod instant;
mod merge;
mod notes;
mod pacman;
mod replayer;
mod run;
mod threads;
mod up_to;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(super) use acceptance::Acceptance;
pub(crate) use instant::{Replaying, Rest};
pub(super) use notes::{NotedStretch, Notes};
pub(super) use pacman::{Costs, Simulated, limits, simulate};
pub(crate) use replayer::{CommandError, CommandReplayer};
pub use up_to::{ReplayedTransaction, RowChange};
pub(super) use up_to::{Wanted, look_at, replay_up_to};

use super::RecoveryPhase;
use super::base::Base;
use super::cut::Verdict;
use super::faults;
use super::generation_scan::GenerationScan;
use super::log_scan::LogScan;
use super::report::ProgressReporter;
use super::workers;
use crate::catalog::Catalog;
use crate::config::{CheckpointKind, ConcurrencyControlKind, Config, Logged, Protocol, RecoveryKind, ReplayKind};
use crate::directory::manifest::{self, Layout};
use crate::error::{Error, RecoveryError};
use crate::log::CommitLog;
use crate::log::protocol::replayed::ReplayedStamp;
use crate::sizes::window_records;
use crate::table::store::Store;
use crate::transaction::Session;
use crate::transaction::shared::Shared;
use ahead::Ahead;
use at_once::AtOnce;
use feeder::Feeder;
use instant::UntilRest;
use merge::{Batch, LiveRecord, Merge};
use pacman::{Pacman, Place, Ran, Stretch};
use run::{Company, Missing, Refusal};
use threads::Stopped;

/// After so many transactions the memory of what they replaced is freed.
const TRANSACTIONS_PER_EPOCH: u64 = 1024;

/// No further batch is added to a window that has so many bytes.
const WINDOW_BYTES: usize = 16 << 20;

/// The generations that are replayed in order: what was read of them, and what lives.
pub(crate) struct OrderedLog {
    scan: Arc<LogScan>,
    /// Of all generations.
    verdicts: Arc<[Verdict]>,
    /// How many transactions live.
    transactions: u64,
}

impl OrderedLog {
    /// Returns what is to be replayed in order of a log that was read, `transactions` in number; `None` where that is none.
    pub(super) fn of(scan: &Arc<LogScan>, verdicts: &[Verdict], transactions: u64) -> Option<OrderedLog> {
        (transactions > 0).then(|| OrderedLog { scan: scan.clone(), verdicts: verdicts.into(), transactions })
    }

    /// Returns how it is to be replayed, if there are several threads.
    pub(super) fn way(&self, config: &Config) -> ReplayKind {
        match (config.recovery_replay, self.has_vectors()) {
            (ReplayKind::Auto | ReplayKind::Vectors, true) => ReplayKind::Vectors,
            (ReplayKind::Auto, _) => ReplayKind::Pacman,
            (ReplayKind::Vectors, false) => ReplayKind::Serial,
            (chosen, _) => chosen,
        }
    }

    /// Whether it has commands whose records carry vectors.
    fn has_vectors(&self) -> bool {
        let has_vectors = |layout: &Layout| layout.protocol == Protocol::Taurus && layout.logged == Logged::Commands;
        self.scan.generations[self.scan.ordered()].iter().any(|generation| has_vectors(&generation.layout))
    }
}

/// Refuses a base upon which no command can be run again: a fuzzy checkpoint that may hold what came after a transaction that it
/// does not hold.
pub(super) fn expect_base(base: &Base, generations: &[GenerationScan], home: &Path) -> Result<(), RecoveryError> {
    let first = generations.iter().find(|generation| generation.is_ordered);
    let fuzzy = base.checkpoint.as_ref().filter(|checkpoint| checkpoint.kind == CheckpointKind::Fuzzy);
    match (first, fuzzy) {
        (Some(first), Some(fuzzy)) if faults::is_no_base(fuzzy.max_seen > first.layout.floor) => {
            Err(RecoveryError::Contradiction {
                path: home.join(manifest::FILE_NAME),
                what: format!(
                    "checkpoint {} is fuzzy, and generation {}, which it does not hold wholly, logs commands",
                    fuzzy.number, first.layout.generation
                ),
            })
        }
        _ => Ok(()),
    }
}

/// How many transactions were replayed in order, how many of them are commands, and how many were run at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Replayed {
    pub(super) transactions: u64,
    pub(super) commands: u64,
    pub(super) at_once: u64,
    /// How long planning by procedures took.
    pub(super) planned: Duration,
    /// How long the threads that ran some at once had nothing to run, all together.
    pub(super) waited: Duration,
}

/// Replays `log` upon the tables of `catalog`, which it returns; `replayer` runs the procedures. `acceptance` says what becomes
/// of those that do something else, and is told.
pub(super) fn replay(
    config: &Config,
    store: &Store,
    catalog: Catalog,
    log: &OrderedLog,
    replayer: &mut dyn CommandReplayer,
    acceptance: &mut Acceptance,
) -> Result<(Catalog, Replayed), Error> {
    let config = &Config { recovery: RecoveryKind::Whole, ..config.clone() };
    let (catalog, replayed, _) = replay_until_rest(config, store, catalog, log, replayer, acceptance, None)?;
    Ok((catalog, replayed))
}

/// As [`replay`], where nothing may diverge, and takes notes: of each transaction with one thread, of stretches with several,
/// which do not run anything while one of them plans.
pub(super) fn replay_noted(
    config: &Config,
    store: &Store,
    catalog: Catalog,
    log: &OrderedLog,
    replayer: &mut dyn CommandReplayer,
) -> Result<Notes, Error> {
    let config = &Config { recovery: RecoveryKind::Whole, ..config.clone() };
    let (mut notes, mut acceptance) = (Notes::new(&config.environment.clock), Acceptance::default());
    replay_until_rest(config, store, catalog, log, replayer, &mut acceptance, Some(&mut notes))?;
    Ok(notes)
}

/// As [`replay`], where the configuration may want the database to be opened before the end: then the rest is returned, too.
/// Takes `notes`, if they are wanted.
pub(super) fn replay_until_rest(
    config: &Config,
    store: &Store,
    catalog: Catalog,
    log: &OrderedLog,
    replayer: &mut dyn CommandReplayer,
    acceptance: &mut Acceptance,
    notes: Option<&mut Notes>,
) -> Result<(Catalog, Replayed, Option<Rest>), Error> {
    let is_instant = instant::is_wanted(config, replayer);
    let threads = if is_instant { instant::threads(config) } else { threads::count(config, replayer) };
    let (stamp, shared) = shared(config, store, catalog, replayer, threads);
    let (session, scout) = (Session::new(shared.clone())?, Session::new(shared.clone())?);
    let mut way = match is_instant {
        true => Way::InOrder,
        false => Way::new(config, log, threads, (&shared, &stamp), replayer)?,
    };
    if let (Way::Pacman(pacman), Some(_)) = (&mut way, &notes) {
        pacman.note();
    }
    let feeder = Feeder::new(config, Merge::new(log.scan.clone(), log.verdicts.clone()));
    let until_rest = is_instant.then(|| UntilRest::new(config, &shared, &stamp, replayer)).transpose()?;
    let (replayed, progress) = (Replayed::default(), ProgressReporter::of(config));
    let mut replay = Replay {
        config,
        store,
        log,
        stamp,
        session,
        scout,
        way,
        feeder,
        replayer,
        acceptance,
        replayed,
        progress,
        notes,
    };
    let rest = match until_rest {
        Some(until_rest) => until_rest.run(&mut replay)?,
        None => replay.run().map(|()| None)?,
    };
    replay.expect_all(rest.as_ref());
    let Replay { mut session, scout, way, mut replayed, .. } = replay;
    (replayed.planned, replayed.waited) = way.spent();
    // With the stamps of their rows, which nobody needed until now.
    shared.catalog.follow_replay(store)?;
    // What is to be purged by sessions that end before is taken over.
    drop((scout, way));
    if rest.is_none() {
        session.purge_all();
    }
    drop(session);
    store.epochs().advance();
    if rest.is_some() {
        return Ok((shared.catalog.same(), replayed, rest));
    }
    let shared = Arc::into_inner(shared).expect("the only sessions have ended");
    debug_assert!(!shared.has_orphans(), "the keys of deleted rows are gone");
    Ok((shared.catalog, replayed, None))
}

/// How transactions are run.
enum Way {
    /// One after the other.
    InOrder,
    /// At once, as their vectors allow.
    Vectors(AtOnce),
    /// At once, as their procedures and arguments allow.
    Pacman(Box<Pacman>),
}

impl Way {
    /// Chooses one, for so many threads.
    fn new(
        config: &Config,
        log: &OrderedLog,
        threads: usize,
        (shared, stamp): (&Arc<Shared>, &Arc<ReplayedStamp>),
        replayer: &dyn CommandReplayer,
    ) -> Result<Way, Error> {
        Ok(match log.way(config) {
            ReplayKind::Serial => Way::InOrder,
            _ if threads == 0 => Way::InOrder,
            ReplayKind::Vectors => Way::Vectors(AtOnce::new(threads, shared, stamp, replayer)?),
            kind => Way::Pacman(Box::new(Pacman::new(kind, threads, shared, stamp, replayer)?)),
        })
    }

    /// How long planning took, and how long threads had nothing to run, all together.
    fn spent(&self) -> (Duration, Duration) {
        match self {
            Way::InOrder => Default::default(),
            Way::Vectors(at_once) => (Duration::ZERO, at_once.waited()),
            Way::Pacman(pacman) => pacman.spent(),
        }
    }

    /// Returns how many records the window that begins with a batch has, about.
    fn window(&mut self, first: &Batch) -> usize {
        match self {
            Way::Vectors(at_once) if at_once.takes(first) => window_records(),
            Way::Pacman(pacman) => pacman.next_window(),
            _ => 0,
        }
    }
}

/// Whether a window of so many records that has these batches takes another one.
fn has_room(batches: &[Batch], records_max: usize) -> bool {
    let (records, bytes) =
        batches.iter().fold((0, 0), |(records, bytes), batch| (records + batch.len(), bytes + batch.bytes()));
    records < records_max && bytes < WINDOW_BYTES
}

/// A replay in progress.
struct Replay<'r> {
    config: &'r Config,
    store: &'r Store,
    log: &'r OrderedLog,
    stamp: Arc<ReplayedStamp>,
    /// Runs transactions, ...
    session: Session,
    /// ... and asks for memory ahead of it.
    scout: Session,
    way: Way,
    feeder: Feeder,
    replayer: &'r mut dyn CommandReplayer,
    acceptance: &'r mut Acceptance,
    replayed: Replayed,
    progress: Option<ProgressReporter>,
    notes: Option<&'r mut Notes>,
}

impl Replay<'_> {
    /// Replays everything, a window after the other.
    fn run(&mut self) -> Result<(), Error> {
        let (mut next, mut done, mut kept) = (None, Vec::new(), Vec::<Arc<Vec<Batch>>>::new());
        loop {
            let Some(first) = next.take().map_or_else(|| self.feeder.next(done.pop()), |next| Ok(Some(next)))? else {
                break;
            };
            let mut window = vec![first];
            let records_max = self.way.window(&window[0]);
            while has_room(&window, records_max) {
                match self.feeder.next(done.pop())? {
                    Some(batch) if batch.generation() == window[0].generation() => window.push(batch),
                    other => {
                        next = other;
                        break;
                    }
                }
            }
            self.notes.iter_mut().for_each(|notes| notes.has_read());
            if let Way::Pacman(_) = self.way {
                let window = Arc::new(window);
                self.replay_stretches(&window, next.as_ref())?;
                kept.push(window);
                // Those in which nothing is running any more.
                let (over, running) = kept.into_iter().partition(|window| Arc::strong_count(window) == 1);
                kept = running;
                done.extend(over.into_iter().filter_map(Arc::into_inner).flatten());
            } else {
                done.append(&mut self.replay_window(window, next.as_ref())?);
            }
        }
        self.end_stretch()
    }

    /// Everything was replayed but for the rest.
    fn expect_all(&self, rest: Option<&Rest>) {
        let left = rest.map_or(0, |rest| rest.counts().transactions);
        assert_eq!(
            self.replayed.transactions + left,
            self.log.transactions,
            "the passes over the log find the same transactions"
        );
        report(&self.progress, self.replayed, self.log);
    }

    /// Replays the records of a window, at once if that is worth it; `next` is the batch behind it, if the feeder has given it.
    /// Returns the window.
    fn replay_window(&mut self, mut window: Vec<Batch>, next: Option<&Batch>) -> Result<Vec<Batch>, Error> {
        match &mut self.way {
            Way::Vectors(at_once) if at_once.takes(&window[0]) => match at_once.run(&self.log.scan, &mut window) {
                Ok(true) => {
                    let all = || window.iter().flat_map(Batch::order);
                    let commands = all().filter(|(_, found)| found.is_command).count() as u64;
                    self.ran_at_once(all().count() as u64, commands);
                    return Ok(window);
                }
                Ok(false) => {}
                Err(stopped) => {
                    let behind = next.into_iter().flat_map(|batch| batch.records(&self.log.scan));
                    return Err(self.stopped(stopped, behind));
                }
            },
            _ => {}
        }
        let log = self.log;
        for at in 0..window.len() {
            let scan = &log.scan;
            let behind = window[at + 1..].iter().chain(next).flat_map(|batch| batch.records(scan));
            self.in_order(window[at].records(scan), behind)?;
        }
        Ok(window)
    }

    /// Replays a window stretch by stretch, as procedures and arguments allow; the last one may not have ended.
    fn replay_stretches(&mut self, window: &Arc<Vec<Batch>>, next: Option<&Batch>) -> Result<(), Error> {
        let (log, mut from) = (self.log, (0, 0));
        while (from.0 as usize) < window.len() {
            let Way::Pacman(pacman) = &mut self.way else { unreachable!("it was asked before") };
            let (mut ran, (planned, _)) = (Ran::default(), pacman.spent());
            let begun = pacman.begin(self.config, &mut self.scout, (&log.scan, window), from, &mut |of| ran = of);
            self.ran_at_once(ran.records, ran.commands);
            self.note(&begun, planned, (window, from));
            let record = |place| pacman::record(&log.scan, window, place);
            let behind = |end| {
                let of_next = next.into_iter().flat_map(|batch| batch.records(&log.scan));
                pacman::places_from(window, end).map(record).chain(of_next)
            };
            from = match begun {
                Ok(Stretch::AtOnce { end }) => end,
                Ok(Stretch::InOrder { places, end }) => {
                    self.in_order(places.into_iter().map(record), behind(end))?;
                    end
                }
                Err(stopped) => return Err(self.stopped(stopped, behind(from))),
            };
        }
        Ok(())
    }

    /// Notes a stretch that has begun at a place, if notes are wanted; `planned` is how long planning had taken before.
    fn note(&mut self, begun: &Result<Stretch, Stopped>, planned: Duration, (window, from): (&[Batch], Place)) {
        let (Some(notes), Way::Pacman(pacman), Ok(stretch)) = (&mut self.notes, &mut self.way, begun) else { return };
        let transactions = match stretch {
            Stretch::AtOnce { end } => pacman::places_from(window, from).take_while(|place| place < end).count(),
            Stretch::InOrder { places, .. } => places.len(),
        };
        notes.stretches.extend(pacman.noted(transactions, planned));
    }

    /// Waits for the last stretch.
    fn end_stretch(&mut self) -> Result<(), Error> {
        let mut ran = Ran::default();
        if let Way::Pacman(pacman) = &mut self.way
            && let Err(stopped) = pacman.end(&mut |of| ran = of)
        {
            return Err(self.stopped(stopped, std::iter::empty()));
        }
        self.ran_at_once(ran.records, ran.commands);
        Ok(())
    }

    /// So many records were run at once, if any.
    fn ran_at_once(&mut self, records: u64, commands: u64) {
        if records == 0 {
            return;
        }
        self.replayed.transactions += records;
        self.replayed.at_once += records;
        self.replayed.commands += commands;
        self.store.epochs().advance();
        report(&self.progress, self.replayed, self.log);
    }

    /// Returns the error that ended a window; `behind` are the records behind it that the feeder has given.
    fn stopped<'b>(&self, stopped: Stopped, behind: impl Iterator<Item = LiveRecord<'b>>) -> Error {
        match stopped {
            Stopped::Recovery(error) => error.into(),
            Stopped::Missing { missing, not_run } => match count(self.log, &self.feeder, behind, &missing) {
                Ok(commands) => missing.into_error(not_run + commands).into(),
                Err(error) => error.into(),
            },
        }
    }

    /// Replays records one after the other; `behind` are those behind them that the feeder has given.
    fn in_order<'b>(
        &mut self,
        records: impl Iterator<Item = LiveRecord<'b>>,
        behind: impl Iterator<Item = LiveRecord<'b>>,
    ) -> Result<(), Error> {
        let (log, transaction) = (self.log, self.scout.begin());
        let mut coming = Ahead::new(&transaction, records);
        while let Some(record) = coming.next(self.replayer) {
            self.stamp.set(record.stamp);
            let again =
                run::run(&mut self.session, &log.scan, &record, self.replayer, self.acceptance, Company::Nobody);
            let epochs = self.replayed.transactions / TRANSACTIONS_PER_EPOCH;
            self.replayed.transactions += 1 + record.others.len() as u64;
            self.replayed.commands += u64::from(record.command.is_some());
            if let (Way::InOrder, Some(notes)) = (&self.way, &mut self.notes) {
                notes.ran(&record, || run::name_of(&transaction, record.command.as_ref()?));
            }
            match again {
                Ok(()) => {}
                Err(Refusal::Recovery(error)) => return Err(error.into()),
                Err(Refusal::Conflict | Refusal::Doubtful) => unreachable!("nobody else runs transactions"),
                Err(Refusal::Missing(missing)) => {
                    let commands = 1 + count(log, &self.feeder, coming.rest().chain(behind), &missing)?;
                    return Err(missing.into_error(commands).into());
                }
            }
            if self.replayed.transactions / TRANSACTIONS_PER_EPOCH > epochs {
                self.store.epochs().advance();
                report(&self.progress, self.replayed, log);
            }
        }
        Ok(())
    }
}

/// Counts the records to come that need a procedure: these and all batches behind them.
fn count<'b>(
    log: &OrderedLog,
    feeder: &Feeder,
    rest: impl Iterator<Item = LiveRecord<'b>>,
    missing: &Missing,
) -> Result<u64, RecoveryError> {
    let mut count = rest.filter(|record| missing.is_run_by(record)).count();
    while let Some(batch) = feeder.next(None)? {
        count += batch.records(&log.scan).filter(|record| missing.is_run_by(record)).count();
    }
    Ok(count as u64)
}

fn report(progress: &Option<ProgressReporter>, replayed: Replayed, log: &OrderedLog) {
    if let Some(progress) = progress {
        progress.report(RecoveryPhase::Order, replayed.transactions, log.transactions);
    }
}

/// What running the transactions of a log again in their order would take, in transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Foreseen {
    pub(super) transactions: u64,
    /// Of these the longest chain of which each waits for the one before: what no number of threads goes below.
    pub(super) chained: u64,
    /// Whether procedures say how many may run at a time, which is known when they are planned.
    pub(super) by_procedures: bool,
}

/// Foresees the replay of a log that was read, by the vectors in it.
pub(super) fn foresee(config: &Config, log: &OrderedLog) -> Result<Foreseen, RecoveryError> {
    let (way, transactions) = (log.way(config), log.transactions);
    if way != ReplayKind::Vectors {
        let by_procedures = way != ReplayKind::Serial;
        return Ok(Foreseen { transactions, chained: transactions, by_procedures });
    }
    let mut merge = Merge::new(log.scan.clone(), log.verdicts.clone());
    let (mut foreseen, mut window) = (Foreseen::default(), Vec::<Batch>::new());
    let mut end = |window: Vec<Batch>| {
        let transactions = window.iter().map(|batch| batch.len() as u64).sum::<u64>();
        foreseen.transactions += transactions;
        foreseen.chained += at_once::chained(&log.scan, window).unwrap_or(transactions);
    };
    loop {
        let mut batch = Batch::default();
        let is_end = !merge.gather(&mut batch)?;
        let goes_on = |last: &Batch| last.generation() == batch.generation();
        if is_end || !has_room(&window, window_records()) || !window.last().is_none_or(goes_on) {
            end(std::mem::take(&mut window));
        }
        if is_end {
            return Ok(foreseen);
        }
        window.push(batch);
    }
}

/// What transactions that are run again share, and the stamp of the present one.
fn shared(
    config: &Config,
    store: &Store,
    catalog: Catalog,
    replayer: &dyn CommandReplayer,
    threads: usize,
) -> (Arc<ReplayedStamp>, Arc<Shared>) {
    let sessions = workers::sessions(threads) as u32;
    let stamp = Arc::new(ReplayedStamp::new(sessions));
    let log = CommitLog::replaying(&stamp);
    let shared = Shared::new(unlimited(config, sessions), store.clone(), catalog, log, replayer.registered());
    (stamp, Arc::new(shared))
}

/// What transactions are run again under: they were accepted under the settings of their time.
fn unlimited(config: &Config, sessions: u32) -> Config {
    let mut config = config.clone();
    config.concurrency_control = ConcurrencyControlKind::Optimistic;
    // A stream for each session, which has a stamp of its own.
    (config.protocol, config.streams, config.logged) = (Protocol::None, sessions, Logged::Values);
    (config.memory_limit, config.transaction_bytes_max, config.transaction_writes_max) = (0, usize::MAX, usize::MAX);
    (config.key_bytes_max, config.row_bytes_max) = (usize::MAX, usize::MAX);
    (config.procedure_steps_max, config.procedure_bytes_max) = (u64::MAX, usize::MAX);
    config.sessions_max = config.sessions_max.max(sessions as usize);
    config
}
