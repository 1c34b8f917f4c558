//! From the files of a database to its tables: the mirror of the life of a transaction.
//!
//! [`run`] is the order of the steps, and the order is the correctness argument:
//!
//! 1. **Manifest**: which generations there are and how they lie. Those that ended are *frozen*: their cut and their exact
//!    ends were written down. The newest may have crashed.
//!    The checkpoint that it names is loaded ([`base`]); records of the log that it covers are skipped from here on.
//! 2. **Scan** the valid prefix of every stream of every generation. Damage is told from torn writes: a batch is written
//!    only after the one before is durable, so only the last batch of a stream that crashed can be torn. Records whose
//!    fate no other record can change are replayed here, in the same pass ([`check`]).
//! 3. **Cut**: which transactions of the crashed generation count as committed. It needs the ends of *all* streams.
//! 4. **Persist**: the tails are written again and synced, then the generation is frozen in the manifest and the next one
//!    begins. From here on the decision stands, whatever happens ([`freeze`]). Where the database is taken back to an
//!    epoch ([`until`]), that is a part of the decision: nothing later ever counts again.
//! 5. **Replay** what waited for the cut, by last writer wins; then purge the tombstones.
//! 6. **Verify**.
//!
//! Invariants:
//! - Nothing that is durable is changed or removed before step 4 is durable; a crash at any moment leaves files from
//!   which the next recovery decides the same, or more precisely: anything acknowledged before lives, anything dead stays
//!   dead. Steps 1 to 3, 5 and 6 write nothing.
//! - The store is used only if `run` succeeds.
//! - The next generation begins above the greatest stamp seen, discarded records included.
//!
//! Absent: secondary indexes (the catalog builds them from the rows), creation of a database
//! ([`Manifest::create`]).

mod base;
pub(crate) mod chain;
pub(crate) mod check;
mod cut;
mod error;
pub(crate) mod examine;
mod explain;
mod freeze;
pub(crate) mod indexes;
mod replay_values;
mod report;
mod scan;
mod schedule;
#[cfg(test)]
mod tests;
mod until;
mod verify;
pub(crate) mod workers;

use std::path::Path;
use std::sync::Arc;

pub use error::RecoveryError;
pub use explain::{PlannedGeneration, PlannedStream, RecoveryPlan, explain};
pub(crate) use report::bytes;
pub use report::{Progress, RecoveryPhase, RecoveryReport};
pub use until::Until;

use crate::config::Config;
use crate::ids::{Epoch, Generation, WallTime};
use crate::io::Disk;
use crate::persist::manifest::{FrozenGeneration, Manifest, NEVER};
use crate::table::store::Store;
use base::Base;
use chain::Chain;
use check::Scanner;
use cut::Verdict;
pub(crate) use replay_values::Replayer;
use report::Stopwatch;
use scan::{Deferred, GenerationScan, Scan, Tally};

/// What recovery ends with. The tables are in the store.
#[derive(Clone, Debug)]
pub(crate) struct Recovered {
    /// The manifest as it is on disk now. Its current generation is the next one, to be begun by the log; the floors of
    /// that are at or above every stamp and epoch ever seen.
    pub(crate) manifest: Manifest,
    /// For people.
    pub(crate) report: RecoveryReport,
}

/// Recovers the database of `manifest`, which was read from the first of the configured directories, into an empty
/// `store`. The configuration also says how the next generation is laid out.
pub(crate) fn run(config: &Config, mut manifest: Manifest, store: &Store) -> Result<Recovered, RecoveryError> {
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    let mut watch = Stopwatch::start(&*config.environment.clock);
    let mut report = RecoveryReport::default();

    manifest.relocate(disk, &config.dirs)?;
    let until = until::resolve(config, &manifest)?;
    let generations = find_generations(disk, home, &manifest, until)?;
    report.manifest_seconds = watch.lap();

    let base = Base::of(&manifest);
    base.load(config, &manifest, store)?;
    report.checkpoint_seconds = watch.lap();
    if let Some(checkpoint) = &base.checkpoint {
        (report.checkpoint, report.checkpoint_rows) = (checkpoint.number, checkpoint.rows);
    }

    let mut found = scan_all(config, generations, base, WallTime(u64::MAX), Some(store))?;
    report.scan_seconds = watch.lap();

    let verdicts = judge_all(&found)?;
    let next = persist(config, &manifest, &found, &verdicts, until)?;
    report.persist_seconds = watch.lap();

    let crashed = verdicts.last().filter(|_| !manifest.is_closed());
    let deferred = std::mem::take(&mut found.deferred);
    let replayers = std::mem::take(&mut found.replayers);
    let (late, replayers) = schedule::replay_deferred(config, &found.scan, deferred, crashed, replayers)?;
    schedule::purge(config, replayers)?;
    // Nobody is at work: frees all that the threads left behind.
    store.epochs().advance();
    report.replay_seconds = watch.lap();

    found.describe(&mut report, &late);
    report.until = (until != NEVER).then_some(until);
    (report.max_seen, report.clean) = (next.current.floor, manifest.is_closed());
    report.cut = verdicts.last().map_or(next.current.floor, |verdict| verdict.cut);
    verify::verify(disk, home, &next, &report)?;
    report.verify_seconds = watch.lap();
    report.seconds = watch.total();
    Ok(Recovered { manifest: next, report })
}

/// Loads into an empty `store` what counts of the frozen generations of `manifest`, each as far as its chains are sound, which
/// reach the frozen ends. They may have lost what their batches promise. Nothing is decided and nothing written.
pub(crate) fn load(config: &Config, manifest: &Manifest, store: &Store) -> Result<RecoveryReport, RecoveryError> {
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    let generation = |frozen: &FrozenGeneration| {
        let layout = &frozen.layout;
        let chain = |stream| Chain::find(disk, home, manifest, layout, Some(frozen), stream).0;
        let chains = (0..layout.streams.len()).map(chain).collect();
        let mut scan = GenerationScan::new(layout.clone(), Some(frozen.clone()), chains, NEVER);
        scan.is_salvaged = true;
        scan
    };
    let generations = manifest.frozen.iter().map(generation).collect();
    let base = Base::of(manifest);
    base.load(config, manifest, store)?;
    let mut found = scan_all(config, generations, base, WallTime(u64::MAX), Some(store))?;
    judge_all(&found)?;
    assert!(found.deferred.is_empty(), "only a generation that crashed defers");
    let mut report = RecoveryReport::default();
    found.describe(&mut report, &Tally::default());
    schedule::purge(config, found.replayers.drain(..).flatten().collect())?;
    store.epochs().advance();
    Ok(report)
}

/// Finds the segments of every generation that may hold records, oldest first.
pub(crate) fn find_generations(
    disk: &dyn Disk,
    home: &Path,
    manifest: &Manifest,
    until: Epoch,
) -> Result<Vec<GenerationScan>, RecoveryError> {
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

/// What a scan found.
struct Found {
    scan: Arc<Scan>,
    /// By generation.
    tallies: Vec<Tally>,
    deferred: Vec<Deferred>,
    /// One for each thread, where there is a store.
    replayers: Vec<Option<Replayer>>,
    threads: usize,
}

impl Found {
    /// Over all generations.
    fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.tallies.iter().for_each(|tally| total.add(tally));
        total
    }

    fn describe(&self, report: &mut RecoveryReport, late: &Tally) {
        let mut total = self.total();
        total.add(late);
        report.log_bytes = total.bytes;
        report.batches = total.batches;
        report.records = total.records;
        report.replayed = total.replayed;
        report.covered = total.covered;
        report.discarded = total.records - total.replayed - total.covered;
        report.after = total.after;
        report.writes = total.writes;
        report.streams = self.scan.generations.iter().map(|generation| generation.streams.len() as u32).sum();
        report.segments = self.scan.segments() as u32;
        report.generations = self.scan.generations.len() as u32;
        report.threads = self.threads as u32;
    }
}

/// Reads everything; into `store`, where there is one, goes what certainly lives.
fn scan_all(
    config: &Config,
    generations: Vec<GenerationScan>,
    base: Base,
    time: WallTime,
    store: Option<&Store>,
) -> Result<Found, RecoveryError> {
    let scan = Scan::new(generations, base, time, config);
    let threads = config.effective_recovery_threads().max(1);
    let scanner = |_| Ok(Scanner::new(&scan, store.map(|store| Replayer::new(store, config)).transpose()?));
    let scanners = (0..threads).map(scanner).collect::<Result<Vec<_>, RecoveryError>>()?;
    workers::run(&config.environment, scanners)?;
    let tallies = vec![Tally::default(); scan.generations.len()];
    let mut found = Found { scan, tallies, deferred: Vec::new(), replayers: Vec::new(), threads };
    let finished = found.scan.take_finished();
    assert_eq!(finished.len(), threads, "a thread did not hand back what it found");
    for finished in finished {
        found.tallies.iter_mut().zip(&finished.tallies).for_each(|(sum, tally)| sum.add(tally));
        found.deferred.extend(finished.deferred);
        found.replayers.push(finished.replayer);
    }
    Ok(found)
}

/// The cut of every generation, oldest first.
fn judge_all(found: &Found) -> Result<Vec<Verdict>, RecoveryError> {
    found.tallies.iter().enumerate().map(|(index, tally)| cut::judge(&found.scan, index, tally)).collect()
}

/// Makes the decision durable: tails, manifest, and only then the removal of what is superseded.
fn persist(
    config: &Config,
    manifest: &Manifest,
    found: &Found,
    verdicts: &[Verdict],
    until: Epoch,
) -> Result<Manifest, RecoveryError> {
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    let last = found.scan.generations.len().wrapping_sub(1);
    let crashed = match verdicts.last() {
        Some(verdict) if !manifest.is_closed() => {
            let ends = match found.tallies[last].records {
                0 => verdict.streams.iter().map(|stream| stream.end).collect(),
                _ => freeze::persist_tails(disk, &found.scan, last, verdict)?,
            };
            Some((&found.scan.generations[last], verdict, ends))
        }
        _ => None,
    };
    let is_empty = |generation: Generation| {
        let of = found.scan.generations.iter().position(|scan| scan.layout.generation == generation);
        of.is_none_or(|index| found.tallies[index].records == 0)
    };
    let next = freeze::next_manifest(manifest, config, crashed, is_empty, until);
    freeze::commit(disk, home, &next)?;
    freeze::clear_superseded(disk, home, &next, config.segment_bytes)?;
    Ok(next)
}
