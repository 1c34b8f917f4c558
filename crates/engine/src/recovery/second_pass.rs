//! The second pass over the log: what only the cut decides, and the merge of the machines.
//!
//! Invariants:
//! - A record is replayed in one of the passes, never in neither: here are exactly those that live under the cut and were
//!   not certain when they were read. Those of generations that are replayed in order are counted only.
//! - Machines merge when every one of them has replayed its last record, one stage later.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::RecoveryPhase;
use super::cut::Verdict;
use super::faults;
use super::generation_scan::{ReadBatch, SegmentId};
use super::log_scan::LogScan;
use super::parts;
use super::replay::machine::ReplayMachine;
use super::report::ProgressReporter;
use super::tally::Tally;
use super::workers::{self, Work};
use crate::config::Config;
use crate::error::RecoveryError;
use crate::ids::Stamp;
use crate::log::format::record::Entry;
use crate::log::format::records::Records;
use crate::log::protocol::recovery_rule::{RecoveryRule, with_rule};

/// A batch with records whose fate the cut decides.
pub(super) struct Deferred {
    pub(super) segment: SegmentId,
    pub(super) batch: ReadBatch,
    /// The end of its valid records.
    pub(super) record_bytes: u64,
    /// Its bytes up to `record_bytes`, where they were kept.
    pub(super) bytes: Option<Box<[u8]>>,
}

/// What the threads of the pass share.
struct SecondPass<R: RecoveryRule> {
    scan: Arc<LogScan>,
    deferred: Vec<Deferred>,
    /// Of the generation that crashed; the only one that defers.
    cut: R::Cut,
    next: AtomicUsize,
}

/// Replays what `deferred` holds and the cut of the generation that crashed lets live, with a thread for each of `machines`;
/// returns what that was, and the machines.
pub(super) fn run<M: ReplayMachine>(
    config: &Config,
    scan: &Arc<LogScan>,
    deferred: Vec<Deferred>,
    crashed: Option<&Verdict>,
    machines: Vec<M>,
) -> Result<(Tally, Vec<M>), RecoveryError> {
    let Some(verdict) = crashed else {
        assert!(deferred.is_empty(), "only a generation that crashed defers");
        return Ok((Tally::default(), machines));
    };
    let crashed = &scan.generations.last().expect("the generation that crashed was read").layout;
    with_rule!(crashed.protocol, Rule => {
        let cut = verdict.cut::<Rule>(crashed.floor);
        run_by::<Rule, M>(config, scan, deferred, cut, machines)
    })
}

/// Does so by the rule `R` of the generation that crashed.
pub(super) fn run_by<R: RecoveryRule, M: ReplayMachine>(
    config: &Config,
    scan: &Arc<LogScan>,
    deferred: Vec<Deferred>,
    cut: R::Cut,
    machines: Vec<M>,
) -> Result<(Tally, Vec<M>), RecoveryError> {
    let is_open = |deferred: &Deferred| scan.generations[deferred.segment.generation].frozen.is_none();
    assert!(deferred.iter().all(is_open), "a frozen generation defers nothing");
    let certain = |deferred: &Deferred| scan.generations[deferred.segment.generation].certain::<R>();
    assert!(deferred.iter().all(|deferred| certain(deferred) <= cut), "what was certain lies beyond the cut {cut:?}");
    let total: u64 = deferred.iter().map(|deferred| deferred.record_bytes).sum();
    let mut machines = machines;
    machines.iter_mut().for_each(ReplayMachine::begin);
    let pass = Arc::new(SecondPass::<R> { scan: scan.clone(), deferred, cut, next: AtomicUsize::new(0) });
    let replay = |machine| DeferredReplay { pass: pass.clone(), machine, tally: Tally::default() };
    let finished = workers::run(&config.environment, machines.into_iter().map(replay).collect())?;
    if let Some(progress) = ProgressReporter::of(config) {
        progress.report(RecoveryPhase::Replay, total, total);
    }
    let mut replayed = Tally::default();
    finished.iter().for_each(|finished| replayed.add(&finished.tally));
    Ok((replayed, finished.into_iter().map(|finished| finished.machine).collect()))
}

/// Merges what all machines replayed.
pub(super) fn merge<M: ReplayMachine>(config: &Config, machines: Vec<M>) -> Result<(), RecoveryError> {
    let merged = workers::run(&config.environment, machines.into_iter().map(Merge).collect())?;
    M::complete(config, merged.into_iter().map(|Merge(machine)| machine).collect())
}

/// One thread of the pass.
struct DeferredReplay<R: RecoveryRule, M> {
    pass: Arc<SecondPass<R>>,
    machine: M,
    tally: Tally,
}

impl<R: RecoveryRule, M: ReplayMachine> DeferredReplay<R, M> {
    /// Replays what lives of a batch and was not certain when it was read.
    fn replay(&mut self, deferred: &Deferred) -> Result<(), RecoveryError> {
        let scan = &self.pass.scan;
        let header = &deferred.batch.header;
        let log = &scan.stream(deferred.segment).chain.log;
        let generation = &scan.generations[deferred.segment.generation];
        let certain = generation.certain::<R>();
        let mut reread = Vec::new();
        let bytes = match &deferred.bytes {
            Some(bytes) => &**bytes,
            None => {
                reread.resize(deferred.record_bytes as usize, 0);
                scan.read_exactly(deferred.segment, &mut reread, header.offset)?;
                &reread
            }
        };
        assert_eq!(bytes.len() as u64, deferred.record_bytes, "the records of the first pass are at hand");
        let mut machine = self.machine.batch();
        let mut records = Records::<R::Dependency>::new(log, header.offset, bytes);
        for (offset, entry) in records.by_ref() {
            let entry = entry.map_err(|error| scan.damaged(deferred.segment, offset, error.to_string()))?;
            let Entry::Record(record) = entry else { continue };
            let order = record.header();
            let counts = !faults::is_deferred_after(order.epoch > generation.until)
                && !scan.base.covers(order.stamp, order.epoch);
            let lives = |cut| R::lives(order.stamp, &order.raw_dep, cut);
            if counts && !lives(&certain) && lives(&self.pass.cut) {
                self.tally.replay(&record, log.stream(), &scan.held);
                self.tally.note_closed(order.epoch, header.closed, scan.time);
                if !scan.is_ordered(deferred.segment.generation) {
                    parts::replay(scan, (deferred.segment, offset), &record, &mut machine, Stamp::ZERO)?;
                }
            }
        }
        assert_eq!(records.sound_bytes(), bytes.len(), "both passes find the same records");
        Ok(())
    }
}

impl<R: RecoveryRule, M: ReplayMachine> Work for DeferredReplay<R, M> {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        let pass = self.pass.clone();
        let Some(deferred) = pass.deferred.get(pass.next.fetch_add(1, Ordering::Relaxed)) else {
            return Ok(self.machine.finish());
        };
        self.machine.tend(false);
        self.replay(deferred)?;
        Ok(true)
    }
}

/// One thread of the merge.
struct Merge<M>(M);

impl<M: ReplayMachine> Work for Merge<M> {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        Ok(self.0.merge())
    }
}
