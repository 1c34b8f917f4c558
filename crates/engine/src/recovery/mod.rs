//! From the files of a database to its tables: the mirror of the life of a transaction.
//!
//! [`run`] is the order of the steps, and the order is the correctness argument:
//!
//! 1. **Manifest**: which generations there are and how they lie. Those that ended are *frozen*: their cut and their exact
//!    ends were written down. The newest may have crashed.
//!    The checkpoint that it names is loaded ([`base`]); records of the log that it covers are skipped from here on.
//! 2. **Scan** the valid prefix of every stream of every generation. Damage is told from torn writes: a batch is written
//!    only after the one before is durable, so only the last batch of a stream that crashed can be torn. Records whose
//!    fate no other record can change are replayed here, in the same pass ([`first_pass`]).
//! 3. **Cut**: which transactions of the crashed generation count as committed. It needs the ends of *all* streams.
//! 4. **Persist**: the tails are written again and synced, then the generation is frozen in the manifest and the next one
//!    begins. From here on the decision stands, whatever happens ([`freeze`]). Where the database is taken back to an
//!    epoch ([`until`]), that is a part of the decision: nothing later ever counts again.
//! 5. **Replay** what waited for the cut ([`second_pass`]), by last writer wins; then the
//!    machines merge.
//! 6. **Check** the result ([`postconditions`]). To [`verify`] a database is another thing: to read all of it, for people.
//!
//! [`open_tables`] goes on where epochs go on above all that was seen:
//!
//! 7. **Open** the catalog, and build secondary indexes from the rows ([`indexes`]).
//! 8. **Order**: from the first generation on that logs commands nothing was replayed so far. Its transactions are run again
//!    now, as if one after the other ([`ordered`]).
//!
//! Invariants:
//! - Nothing that is durable is changed or removed before step 4 is durable; a crash at any moment leaves files from
//!   which the next recovery decides the same, or more precisely: anything acknowledged before lives, anything dead stays
//!   dead. All other steps write nothing.
//! - The store is used only if all steps succeed.
//! - The next generation begins above the greatest stamp seen, discarded records included.
//!
//! Absent: creation of a database ([`Claim::create`]), what runs stored procedures ([`CommandReplayer`]).

mod base;
mod catalog;
pub(crate) mod chain;
mod cut;
pub(crate) mod dry_run;
mod explain;
mod faults;
mod first_pass;
mod freeze;
mod generation_scan;
pub(crate) mod indexes;
mod log_scan;
pub(crate) mod names;
pub(crate) mod one;
mod ordered;
mod parts;
mod postconditions;
pub(crate) mod replay;
mod report;
mod second_pass;
mod simulation;
mod sorted;
mod tally;
#[cfg(test)]
mod tests;
pub(crate) mod until;
pub(crate) mod verify;
pub(crate) mod walk;
pub(crate) mod workers;

use std::path::Path;
use std::sync::Arc;

#[cfg_attr(not(test), expect(unused_imports, reason = "stored procedures make it"))]
pub(crate) use ordered::CommandError;
pub(crate) use ordered::{CommandReplayer, Replaying, Rest};
pub use ordered::{ReplayedTransaction, RowChange};

pub use explain::{PlannedGeneration, PlannedStream, RecoveryPlan, explain};
pub use report::{AcceptedDivergence, RecoveryReport};
pub use simulation::{ProcedureCost, ReplaySimulation, ReplaySteps, SimulatedReplay, simulate_replay};

use crate::catalog::Catalog;
use crate::config::{Config, Protocol};
pub use crate::config::{Progress, RecoveryPhase, Until};
use crate::directory::Claim;
use crate::directory::manifest::{self, FrozenGeneration, Layout, Manifest, NEVER};
use crate::error::{Error, RecoveryError};
use crate::ids::{Epoch, Generation, WallTime};
use crate::io::Disk;
use crate::table::store::Store;
use base::Base;
use chain::Chain;
use cut::Verdict;
use first_pass::ScannedLog;
use generation_scan::GenerationScan;
use ordered::{Acceptance, OrderedLog};
use replay::kept_indexes::KeptIndexes;
use replay::rows::RowMachine;
use replay::values::ValueMachine;
use replay::waiting::WaitingDeltas;
use report::Stopwatch;
use tally::Tally;

/// What recovery ends with. The rows are in the store, but for those of what is to be replayed in order.
pub(crate) struct Recovered {
    /// The manifest as it is on disk now. Its current generation is the next one, to be begun by the log; the floors of
    /// that are at or above every stamp and epoch ever seen.
    pub(crate) manifest: Manifest,
    /// For people.
    pub(crate) report: RecoveryReport,
    /// What is to be replayed in order, when the tables are open.
    ordered: Option<OrderedLog>,
    /// What is to run again while the database is open.
    pub(crate) rest: Option<Rest>,
    /// Secondary indexes that are in step with the rows.
    indexes: Option<Arc<KeptIndexes>>,
}

/// Recovers the database of `manifest`, in the directories of `claim`, into an empty `store`. The configuration also says how the
/// next generation is laid out.
pub(crate) fn run(
    config: &Config,
    claim: &mut Claim,
    mut manifest: Manifest,
    store: &Store,
) -> Result<Recovered, RecoveryError> {
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    let mut watch = Stopwatch::start(&*config.environment.clock);
    let mut report = RecoveryReport::default();

    let until = until::resolve(config, &manifest)?;
    let generations = find_generations(disk, home, &manifest, until)?;
    report.manifest_seconds = watch.lap();

    let greatest = Base::of(&manifest).load(config, &manifest, store)?;
    manifest.note_loaded(greatest);
    let base = Base::of(&manifest);
    report.checkpoint_seconds = watch.lap();
    if let Some(checkpoint) = &base.checkpoint {
        (report.checkpoint, report.checkpoint_rows) = (checkpoint.number, checkpoint.rows);
    }

    ordered::expect_base(&base, &generations, home)?;
    let waiting = Arc::new(WaitingDeltas::new());
    let (machines, indexes) = RowMachine::for_threads(store, config, &waiting, workers::count(config))?;
    let bases = (base.clone(), base);
    let (mut scanned, machines) = first_pass::run(config, generations, bases, WallTime(u64::MAX), machines)?;
    report.scan_seconds = watch.lap();

    let verdicts = judge_all(&scanned)?;
    let next = persist(config, claim, &manifest, &scanned, &verdicts, until)?;
    report.persist_seconds = watch.lap();

    let crashed = verdicts.last().filter(|_| !manifest.is_closed());
    let deferred = std::mem::take(&mut scanned.deferred);
    let (second, machines) = second_pass::run(config, &scanned.scan, deferred, crashed, machines)?;
    second_pass::merge(config, machines)?;
    postconditions::expect_whole(home, &scanned, &second)?;
    postconditions::expect_bases(store, &waiting)?;
    // Nobody is at work: frees all that the threads left behind.
    store.epochs().advance();
    report.replay_seconds = watch.lap();

    describe(&mut report, config, &scanned, &second);
    report.rows = config.recovery_rows.effective();
    report.until = (until != NEVER).then_some(until);
    (report.max_seen, report.clean) = (next.current.floor, manifest.is_closed());
    report.cut = verdicts.last().map_or(next.current.floor, |verdict| verdict.cut);
    postconditions::check(disk, home, &next, &report, &scanned.total())?;
    report.check_seconds = watch.lap();
    report.seconds = watch.total();
    let ordered = ordered_log(&scanned, &verdicts, &second);
    Ok(Recovered { manifest: next, report, ordered, rest: None, indexes })
}

/// Opens the tables of a database that was recovered, makes their indexes, and replays what is to be replayed in order, by
/// `replayer`; returns the catalog. Epochs are above all that were seen.
pub(crate) fn open_tables(
    config: &Config,
    store: &Store,
    catalog: Catalog,
    recovered: &mut Recovered,
    replayer: &mut dyn CommandReplayer,
) -> Result<Catalog, Error> {
    let report = &mut recovered.report;
    let mut watch = Stopwatch::start(&*config.environment.clock);
    report.indexed = catalog.load(config, store, recovered.indexes.take().as_deref())?;
    report.index_seconds = watch.lap();
    let catalog = match recovered.ordered.take() {
        None => catalog,
        Some(log) => {
            let mut acceptance = Acceptance::new(config.accept_divergence);
            let (catalog, replayed, rest) =
                ordered::replay_until_rest(config, store, catalog, &log, replayer, &mut acceptance, None)?;
            let left = rest.as_ref().map(Rest::counts).unwrap_or_default();
            assert_eq!(replayed.commands + left.commands, report.commands, "every command that lives is run again");
            (report.left, recovered.rest) = (left.transactions, rest);
            (report.ordered, report.ordered_seconds) = (replayed.transactions, watch.lap());
            report.at_once = replayed.at_once;
            report.planned_seconds = replayed.planned.as_secs_f64();
            report.waited_seconds = replayed.waited.as_secs_f64();
            report.scheduling_seconds += report.waited_seconds;
            report.accepted = acceptance.into_accepted();
            catalog
        }
    };
    report.seconds += watch.total();
    Ok(catalog)
}

/// Returns what is to be replayed in order of a log that was read, of which `second` is what the second pass counted.
fn ordered_log(scanned: &ScannedLog, verdicts: &[Verdict], second: &Tally) -> Option<OrderedLog> {
    let generations = scanned.scan.ordered();
    let second = if generations.is_empty() { 0 } else { second.replayed };
    let first: u64 = scanned.tallies[generations].iter().map(|tally| tally.replayed).sum();
    OrderedLog::of(&scanned.scan, verdicts, first + second)
}

/// Loads into an empty `store` what counts of the frozen generations of `manifest`, each as far as its chains are sound, which
/// reach the frozen ends. They may have lost what their batches promise. Nothing is decided and nothing written. What is to be
/// replayed in order `replayer` runs again.
pub(crate) fn load(
    config: &Config,
    manifest: &Manifest,
    store: &Store,
    replayer: &mut dyn CommandReplayer,
) -> Result<RecoveryReport, Error> {
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    expect_streams(home, manifest)?;
    let generation = |frozen: &FrozenGeneration| {
        let layout = &frozen.layout;
        let chain = |stream| Chain::find(disk, home, manifest, layout, Some(frozen), stream).0;
        let chains = (0..layout.streams.len()).map(chain).collect();
        let mut scan = GenerationScan::new(layout.clone(), Some(frozen.clone()), chains, NEVER);
        scan.is_salvaged = true;
        scan
    };
    let generations: Vec<_> = manifest.frozen.iter().map(generation).collect();
    let base = Base::of(manifest);
    ordered::expect_base(&base, &generations, home)?;
    base.load(config, manifest, store)?;
    let waiting = Arc::new(WaitingDeltas::new());
    let machines = ValueMachine::for_threads(store, config, &waiting)?;
    let bases = (base.clone(), base);
    let (scanned, machines) = first_pass::run(config, generations, bases, WallTime(u64::MAX), machines)?;
    let verdicts = judge_all(&scanned)?;
    assert!(scanned.deferred.is_empty(), "only a generation that crashed defers");
    let mut report = RecoveryReport::default();
    describe(&mut report, config, &scanned, &Tally::default());
    second_pass::merge(config, machines)?;
    postconditions::expect_whole(home, &scanned, &Tally::default())?;
    postconditions::expect_bases(store, &waiting)?;
    store.epochs().advance();
    if let Some(log) = ordered_log(&scanned, &verdicts, &Tally::default()) {
        let catalog = Catalog::new(store)?;
        catalog.load(config, store, None)?;
        ordered::replay(config, store, catalog, &log, replayer, &mut Acceptance::default())?;
    }
    Ok(report)
}

/// Finds the segments of every generation that may hold records, oldest first.
pub(crate) fn find_generations(
    disk: &dyn Disk,
    home: &Path,
    manifest: &Manifest,
    until: Epoch,
) -> Result<Vec<GenerationScan>, RecoveryError> {
    expect_streams(home, manifest)?;
    let mut generations = Vec::new();
    for frozen in &manifest.frozen {
        let chains = Chain::find_all(disk, home, manifest, &frozen.layout, Some(frozen))?;
        generations.push(GenerationScan::new(frozen.layout.clone(), Some(frozen.clone()), chains, until));
    }
    if !manifest.is_closed() {
        let chains = Chain::find_all(disk, home, manifest, &manifest.current, None)?;
        generations.push(GenerationScan::new(manifest.current.clone(), None, chains, until));
    }
    Ok(generations)
}

/// Refuses a manifest whose generations have other numbers of streams than their protocols write.
fn expect_streams(home: &Path, manifest: &Manifest) -> Result<(), RecoveryError> {
    let contradicts = |layout: &&Layout| match layout.protocol {
        Protocol::None => !layout.streams.is_empty(),
        Protocol::Serial => layout.streams.len() != 1,
        Protocol::Poplar | Protocol::Gsn | Protocol::Plover | Protocol::Silo | Protocol::Taurus => {
            layout.streams.is_empty()
        }
    };
    match manifest.layouts().find(contradicts) {
        None => Ok(()),
        Some(Layout { generation, protocol, streams, .. }) => Err(RecoveryError::Contradiction {
            path: home.join(manifest::FILE_NAME),
            what: format!("generation {generation} of protocol {protocol} has {} streams", streams.len()),
        }),
    }
}

/// Says in `report` what the passes counted, of which `second` is the second one's part.
fn describe(report: &mut RecoveryReport, config: &Config, scanned: &ScannedLog, second: &Tally) {
    let mut total = scanned.total();
    assert_eq!(second.records, 0, "a record is counted when it is first read");
    total.add(second);
    report.log_bytes = total.bytes;
    report.batches = total.batches;
    report.records = total.records;
    report.replayed = total.replayed;
    report.commands = total.commands;
    report.covered = total.covered;
    report.discarded = total.beyond_cut() + total.after + total.given_up;
    report.after = total.after;
    report.writes = total.writes;
    report.streams = scanned.scan.generations.iter().map(|generation| generation.streams.len() as u32).sum();
    report.segments = scanned.scan.segments() as u32;
    report.generations = scanned.scan.generations.len() as u32;
    report.threads = workers::count(config) as u32;
    report.loading_seconds = scanned.times.loading.as_secs_f64();
    report.scheduling_seconds = scanned.times.waiting.as_secs_f64();
}

/// Reads and judges everything, and replays nothing: returns the log with every record counted as what becomes of it, and the
/// cut of every generation, oldest first. Which batches were closed after `time` is told apart ([`Tally::late`]).
fn read_and_judge(
    config: &Config,
    manifest: &Manifest,
    generations: Vec<GenerationScan>,
    base: Base,
    time: WallTime,
) -> Result<(ScannedLog, Vec<Verdict>), RecoveryError> {
    let bases = (base, Base::of(manifest));
    let (mut scanned, machines) = first_pass::read(config, generations, bases, time)?;
    let verdicts = judge_all(&scanned)?;
    let crashed = verdicts.last().filter(|_| !manifest.is_closed());
    let deferred = std::mem::take(&mut scanned.deferred);
    let (second, _) = second_pass::run(config, &scanned.scan, deferred, crashed, machines)?;
    postconditions::expect_whole(&config.dirs[0], &scanned, &second)?;
    if let Some(last) = scanned.tallies.last_mut() {
        last.add(&second);
    }
    Ok((scanned, verdicts))
}

/// Returns the cut of every generation, oldest first.
fn judge_all(scanned: &ScannedLog) -> Result<Vec<Verdict>, RecoveryError> {
    scanned.tallies.iter().enumerate().map(|(index, tally)| cut::judge(&scanned.scan, index, tally)).collect()
}

/// Makes the decision durable: tails, manifest, and only then the removal of what is superseded.
fn persist(
    config: &Config,
    claim: &mut Claim,
    manifest: &Manifest,
    scanned: &ScannedLog,
    verdicts: &[Verdict],
    until: Epoch,
) -> Result<Manifest, RecoveryError> {
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    let last = scanned.scan.generations.len().wrapping_sub(1);
    let crashed = match verdicts.last() {
        Some(verdict) if !manifest.is_closed() => {
            let ends = match scanned.tallies[last].records {
                0 => verdict.streams.iter().map(|stream| stream.end).collect(),
                _ => freeze::persist_tails(disk, &scanned.scan, last, verdict)?,
            };
            Some((&scanned.scan.generations[last], verdict, ends))
        }
        _ => None,
    };
    let is_empty = |generation: Generation| {
        let of = scanned.scan.generations.iter().position(|scan| scan.layout.generation == generation);
        of.is_none_or(|index| scanned.tallies[index].records == 0)
    };
    let next = freeze::next_manifest(manifest, config, crashed, is_empty, until);
    claim.store(&next)?;
    freeze::clear_superseded(disk, home, &next, config.segment_bytes)?;
    Ok(next)
}
