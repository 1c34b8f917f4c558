//! The second pass: what only the cut decides, and the tombstones.
//!
//! Invariants:
//! - A record is replayed in the scan or here, never in neither: here are exactly those that live under the cut and were
//!   not certain when they were read.
//! - Tombstones are purged when every thread has replayed its last record, one stage later.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use osier_memory::sync::{Mutex, lock};

use super::check::lives;
use super::cut::Verdict;
use super::replay_values::Replayer;
use super::report::Pace;
use super::scan::{Deferred, Scan, Tally};
use super::workers::{self, Work};
use super::{RecoveryError, RecoveryPhase};
use crate::config::Config;
use crate::failpoint::{Mutation, has};
use crate::ids::{LogOffset, Stamp};
use crate::log::batch::header_bytes;
use crate::log::record::{self, Entry};

/// How many tombstones are purged under one pin.
const PURGE_COUNT: usize = 256;

/// What was deferred, for all threads.
pub(crate) struct Schedule {
    scan: Arc<Scan>,
    deferred: Vec<Deferred>,
    /// Of the generation that crashed; the only one that defers.
    cut: Stamp,
    next: AtomicUsize,
    finished: Mutex<(Tally, Vec<Replayer>)>,
}

/// Replays what `deferred` holds and the cut lets live; returns what that was. Without replayers it is only counted.
pub(crate) fn replay_deferred(
    config: &Config,
    scan: &Arc<Scan>,
    deferred: Vec<Deferred>,
    verdict: Option<&Verdict>,
    replayers: Vec<Option<Replayer>>,
) -> Result<(Tally, Vec<Replayer>), RecoveryError> {
    let Some(verdict) = verdict else {
        assert!(deferred.is_empty(), "only a generation that crashed defers");
        return Ok((Tally::default(), replayers.into_iter().flatten().collect()));
    };
    let total: u64 = deferred.iter().map(|deferred| deferred.record_bytes).sum();
    let next = AtomicUsize::new(0);
    let schedule = Schedule { scan: scan.clone(), deferred, cut: verdict.cut, next, finished: Default::default() };
    let schedule = Arc::new(schedule);
    let work = |replayer| DeferredReplay { schedule: schedule.clone(), replayer, tally: Tally::default() };
    workers::run(&config.environment, replayers.into_iter().map(work).collect())?;
    if let Some(pace) = Pace::of(config) {
        pace.report(RecoveryPhase::Replay, total, total);
    }
    Ok(std::mem::take(&mut *lock(&schedule.finished)))
}

/// Purges what every replayer deleted.
pub(crate) fn purge(config: &Config, replayers: Vec<Replayer>) -> Result<(), RecoveryError> {
    workers::run(&config.environment, replayers.into_iter().map(Purge).collect())
}

struct DeferredReplay {
    schedule: Arc<Schedule>,
    replayer: Option<Replayer>,
    tally: Tally,
}

impl DeferredReplay {
    fn replay(&mut self, deferred: &Deferred) -> Result<(), RecoveryError> {
        let scan = &self.schedule.scan;
        let header = &deferred.batch.header;
        let (log, until) = (scan.stream(deferred.place).chain.log, scan.generations[deferred.place.generation].until);
        let mut reread = Vec::new();
        let bytes = match &deferred.bytes {
            Some(bytes) => &**bytes,
            None => {
                reread.resize(deferred.record_bytes as usize, 0);
                scan.read_exactly(deferred.place, &mut reread, header.offset)?;
                &reread
            }
        };
        let mut session = self.replayer.as_mut().map(Replayer::session);
        let mut at = header_bytes(log.streams());
        while at < bytes.len() {
            let offset = LogOffset(header.offset.0 + at as u64);
            let entry = record::parse(&bytes[at..], log.seal(offset));
            let entry = entry.map_err(|error| scan.damaged(deferred.place, offset, error.to_string()))?;
            if let Entry::Record(record) = &entry {
                let order = record.header();
                let counts = (order.epoch <= until || has(Mutation::LateUntilIgnored))
                    && !scan.base.covers(order.stamp, order.epoch);
                let is_open = counts && !lives(&order, deferred.certain);
                if is_open && lives(&order, self.schedule.cut) {
                    self.tally.replayed += 1;
                    self.tally.writes += u64::from(order.write_count);
                    self.tally.replayed_bytes += entry.len() as u64;
                    if let Some(session) = &mut session {
                        session.replay(record);
                    }
                }
            }
            at += entry.len();
        }
        Ok(())
    }
}

impl Work for DeferredReplay {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        let schedule = self.schedule.clone();
        if let Some(deferred) = schedule.deferred.get(schedule.next.fetch_add(1, Ordering::Relaxed)) {
            self.replay(deferred)?;
            return Ok(true);
        }
        let mut finished = lock(&schedule.finished);
        finished.0.add(&self.tally);
        finished.1.extend(self.replayer.take());
        Ok(false)
    }
}

struct Purge(Replayer);

impl Work for Purge {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        Ok(self.0.purge(PURGE_COUNT))
    }
}
