//! One transaction of a log, shown upon the state just before it: without opening the database, and without writing anything.
//!
//! ```text
//! find it in the log -> checkpoint -> generations before, as in a recovery -> its own, in order up to it -> it
//! ```
//!
//! Invariants:
//! - The state before it is what a recovery makes that ends there: by the same scan, cut, replay and order (mod.rs).
//! - There is such a state where the order of the log is a serialization order, reads included: of commands, with protocols
//!   `serial`, `gsn` and `taurus`. Of values these logs may have somebody before the transaction who wrote what it had read; the
//!   state that is shown has that, too. With the other protocols only what the log says of the transaction is shown.
//! - What does not count, or is in the checkpoint, is refused with the reason.

use std::sync::Arc;

use osier_memory::Epochs;

use super::base::Base;
use super::cut::Verdict;
use super::first_pass::{self, ScannedLog};
use super::generation_scan::GenerationScan;
use super::names::Names;
use super::ordered::{self, CommandReplayer, OrderedLog, ReplayedTransaction, Wanted};
use super::replay::machine::ReplayMachine;
use super::replay::values::ValueMachine;
use super::replay::waiting::WaitingDeltas;
use super::tally::Tally;
use super::{find_generations, judge_all, ordered_log, postconditions, second_pass, walk, workers};
use crate::catalog::Catalog;
use crate::config::{Config, Protocol};
use crate::directory;
use crate::directory::manifest::{Manifest, NEVER};
use crate::error::{Error, RecoveryError};
use crate::ids::{Generation, Stamp, WallTime};
use crate::table::store::Store;

/// Participants of epochs beside the threads: a session with its reservations, and whoever opens the catalog.
const PARTICIPANTS: usize = 4;

/// Shows the transaction of the database in the configured directories that has this stamp, and with `is_traced` each of its
/// statements.
pub(crate) fn show(
    config: &Config,
    replayer: &mut dyn CommandReplayer,
    stamp: Stamp,
    is_traced: bool,
) -> Result<Vec<ReplayedTransaction>, Error> {
    let _locks = directory::lock_to_read(config).map_err(RecoveryError::from)?;
    directory::refuse_unfinished(config).map_err(RecoveryError::from)?;
    let manifest = directory::find(config).map_err(RecoveryError::from)?;
    let manifest = manifest.ok_or_else(|| RecoveryError::NoDatabase { path: config.dirs[0].clone() })?;
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    let base = Base::of(&manifest);
    let refuse = |what| RecoveryError::NoReplay { path: home.to_owned(), stamp, what };

    let (found, names) = find(config, &manifest, &base, stamp)?;
    let Found { generation, protocol } = found.map_err(refuse)?;
    let mut generations = find_generations(disk, home, &manifest, NEVER)?;
    generations.retain(|scan| scan.layout.generation <= generation);
    let own = generations.last_mut().ok_or_else(|| refuse("its generation is gone".to_owned()))?;
    assert_eq!(own.layout.generation, generation, "the generation whose record was read has its segments");
    // Whatever it logs: up to the transaction it is replayed in order.
    own.is_ordered = true;

    let wanted = Wanted { stamp, generation, protocol, is_traced, names: &names };
    let shown = match protocol {
        Protocol::Serial | Protocol::Gsn | Protocol::Taurus => {
            replay(config, &manifest, base, generations, replayer, wanted)?
        }
        Protocol::Poplar | Protocol::Plover | Protocol::Silo | Protocol::None => {
            generations.drain(..generations.len() - 1);
            let bases = (base.clone(), base);
            let (scanned, machines) = first_pass::read(config, generations, bases, WallTime(u64::MAX))?;
            let (log, _) = order(config, scanned, machines)?;
            log.map_or(Ok(Vec::new()), |log| ordered::look_at(&log, wanted))?
        }
    };
    if shown.is_empty() {
        let what = "it is beyond the cut of its generation, which crashed: what it read may be lost, and nobody was told of it";
        return Err(refuse(what.to_owned()).into());
    }
    Ok(shown)
}

/// Replays everything before a transaction, and shows that.
fn replay(
    config: &Config,
    manifest: &Manifest,
    base: Base,
    generations: Vec<GenerationScan>,
    replayer: &mut dyn CommandReplayer,
    wanted: Wanted<'_>,
) -> Result<Vec<ReplayedTransaction>, Error> {
    let (store, log) = prepare(config, manifest, base, generations, PARTICIPANTS)?;
    let Some(log) = log else { return Ok(Vec::new()) };
    let catalog = Catalog::new(&store)?;
    catalog.load(config, &store, None)?;
    ordered::replay_up_to(config, &store, catalog, &log, replayer, wanted)
}

/// Makes in memory what comes before whatever is replayed in order, as a recovery does, and writes nothing. Returns it with what
/// is to be replayed in order. So many participants of epochs are wanted beside the threads.
pub(super) fn prepare(
    config: &Config,
    manifest: &Manifest,
    base: Base,
    generations: Vec<GenerationScan>,
    participants: usize,
) -> Result<(Store, Option<OrderedLog>), Error> {
    let store = Store::new(Epochs::new(workers::count(config) + participants));
    ordered::expect_base(&base, &generations, &config.dirs[0])?;
    base.load(config, manifest, &store)?;
    let waiting = Arc::new(WaitingDeltas::new());
    let machines = ValueMachine::for_threads(&store, config, &waiting)?;
    let bases = (base.clone(), base);
    let (scanned, machines) = first_pass::run(config, generations, bases, WallTime(u64::MAX), machines)?;
    let (log, machines) = order(config, scanned, machines)?;
    second_pass::merge(config, machines)?;
    postconditions::expect_bases(&store, &waiting)?;
    store.epochs().advance();
    Ok((store, log))
}

/// Judges a log that was read, of which the last generation is replayed in order.
fn order<M: ReplayMachine>(
    config: &Config,
    mut scanned: ScannedLog,
    machines: Vec<M>,
) -> Result<(Option<OrderedLog>, Vec<M>), RecoveryError> {
    let verdicts: Vec<Verdict> = judge_all(&scanned)?;
    let has_crashed = scanned.scan.generations.last().is_some_and(|last| last.frozen.is_none());
    let crashed = verdicts.last().filter(|_| has_crashed);
    let deferred = std::mem::take(&mut scanned.deferred);
    let (second, machines): (Tally, _) = second_pass::run(config, &scanned.scan, deferred, crashed, machines)?;
    Ok((ordered_log(&scanned, &verdicts, &second), machines))
}

/// Where a transaction is.
struct Found {
    generation: Generation,
    protocol: Protocol,
}

/// Finds a transaction by its stamp, or says why it cannot be replayed; returns what the ids of the log mean, too.
fn find(
    config: &Config,
    manifest: &Manifest,
    base: &Base,
    stamp: Stamp,
) -> Result<(Result<Found, String>, Names), Error> {
    let mut names = Names::new()?;
    names.read_checkpoint(config, manifest);
    let (mut found, mut before, mut after) = (None, None, None);
    walk::for_each_record(config, manifest, &mut |record| {
        record.for_each_write(|write| names.note_write(&write));
        let is_covered = base.covers(record.stamp, record.epoch);
        if record.stamp == stamp {
            let of = Found { generation: record.layout.generation, protocol: record.layout.protocol };
            found = Some(match (is_covered, record.given_up) {
                (true, _) => Err(covered(base)),
                (_, Some(why)) => Err(why.to_owned()),
                (false, None) => Ok(of),
            });
        } else if !is_covered && record.given_up.is_none() {
            match record.stamp < stamp {
                true => before = before.max(Some(record.stamp)),
                false => after = after.map_or(Some(record.stamp), |after: Stamp| Some(after.min(record.stamp))),
            }
        }
    });
    let missing = || match (before, after) {
        (None, _) if stamp <= base.max_seen() => covered(base),
        (Some(before), Some(after)) => format!("there is none; the nearest ones are {before} and {after}"),
        (Some(only), None) | (None, Some(only)) => format!("there is none; the nearest one is {only}"),
        (None, None) => "the log holds no transaction that could be".to_owned(),
    };
    Ok((found.unwrap_or_else(|| Err(missing())), names))
}

/// Why there is nothing to replay of what a checkpoint holds.
fn covered(base: &Base) -> String {
    let number = base.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.number);
    format!(
        "checkpoint {number} holds what it did, if there was one, and not the state before: there is nothing to replay. \
         osier restore makes a database of a backup from before"
    )
}
