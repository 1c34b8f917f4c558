//! What running the calls of a log again would take with other numbers of threads: a simulation that is calibrated on the log.
//!
//! ```text
//! replay in order -> what each transaction takes, and reading
//! replay by procedures, by one thread, planned while nothing runs -> segments, who waits for whom, planning
//! for each number of threads: simulate these segments with these costs
//! for those that the machine has cores for: replay, and compare
//! ```
//!
//! Invariants:
//! - Each replay begins with what a recovery would begin with, made in memory anew. Nothing is written.
//! - What is simulated and what is measured is the last step of a recovery, in which calls run again. The steps before are
//!   neither.
//!
//! Absent: the simulation itself (ordered/pacman/model.rs). It knows neither caches nor the bandwidth of memory, which threads
//! share: what that costs shows in the comparison alone.

mod report;

use std::sync::Arc;
use std::time::Duration;

use super::base::Base;
use super::ordered::{self, Acceptance, Costs, Notes, OrderedLog, Simulated};
use super::{find_generations, one, workers};
use crate::call::{Procedures, Replayer};
use crate::catalog::Catalog;
use crate::config::{Config, RecoveryKind, ReplayKind};
use crate::directory;
use crate::directory::manifest::{Manifest, NEVER};
use crate::error::{Error, RecoveryError};
use crate::table::store::Store;
pub use report::{ProcedureCost, ReplaySimulation, ReplaySteps, SimulatedReplay};

/// Participants of epochs beside those of the replay: whoever opens the catalog.
const CATALOG_PARTICIPANTS: usize = 4;

/// A transaction that takes so many times longer than others of its procedure on average was interrupted.
const INTERRUPTED_TIMES: u64 = 50;

/// Says how long running the calls again would take that the log of the database in the configured directories holds, with each
/// of these numbers of threads, by procedures as `recovery_replay` says. It calibrates and measures so many times, and gives
/// medians. Functions that are procedures are among `procedures`. Nothing is written; all is done in memory, which takes as
/// much of it as to open the database.
///
/// # Errors
/// [`RecoveryError::NoSimulation`] where the log holds nothing that procedures may divide, or another way to replay it is
/// configured. What a recovery would fail with. [`DirectoryError`](crate::DirectoryError) where another process has the database
/// open.
pub fn simulate_replay(
    config: &Config,
    procedures: Procedures,
    threads: &[usize],
    rounds: u32,
) -> Result<ReplaySimulation, Error> {
    let _locks = directory::lock_to_read(config).map_err(RecoveryError::from)?;
    directory::refuse_unfinished(config).map_err(RecoveryError::from)?;
    let manifest = directory::find(config).map_err(RecoveryError::from)?;
    let manifest = manifest.ok_or_else(|| RecoveryError::NoDatabase { path: config.dirs[0].clone() })?;
    let config = config.clone().recovery(RecoveryKind::Whole);
    let replays = Replays { config: &config, manifest, procedures: Arc::new(procedures) };
    let cores = config.environment.spawn.parallelism();
    let rounds = (0..rounds.max(1)).map(|_| replays.round(threads, cores)).collect::<Result<Vec<_>, Error>>()?;
    Ok(ReplaySimulation::new(&replays.manifest, cores, threads, &rounds))
}

/// What one round has found.
struct Round {
    in_order: Notes,
    planned: Notes,
    costs: Costs,
    /// One thread, simulated.
    one: Simulated,
    /// What no number of threads goes below, in nanoseconds: planning, and chains.
    limits: (u64, u64),
    /// So many times as long transactions take beside others as alone, if that is what the simulation lacks.
    beside: Option<f64>,
    replays: Vec<Replayed>,
}

/// A replay by so many threads.
struct Replayed {
    threads: usize,
    simulated: Simulated,
    /// The same, where transactions take as much longer beside others as was measured.
    beside: Option<Simulated>,
    /// `None`: the machine does not have the cores.
    measured: Option<Duration>,
}

/// How often it is tried how many times as long transactions take beside others, and how many times at most.
const BESIDE_STEPS: u32 = 6;
const BESIDE_MAX: f64 = 10.0;

/// Replays the log of a database, in memory.
struct Replays<'c> {
    config: &'c Config,
    manifest: Manifest,
    procedures: Arc<Procedures>,
}

impl Replays<'_> {
    /// Calibrates, simulates and measures.
    fn round(&self, threads: &[usize], cores: usize) -> Result<Round, Error> {
        let noted = |threads| {
            self.replay(threads, |config, begun, log, replayer| {
                ordered::replay_noted(config, &begun.store, begun.catalog, log, replayer)
            })
        };
        let (in_order, planned) = (noted(1)?, noted(2)?);
        let is_pipelined = matches!(self.config.recovery_replay, ReplayKind::Auto | ReplayKind::Pacman);
        let costs = costs(&in_order, &planned, is_pipelined);
        let simulate = |threads| ordered::simulate(&planned.stretches, &costs, threads);
        let measure = |of: &usize| if *of <= cores { self.measure(*of).map(Some) } else { Ok(None) };
        let measured = threads.iter().map(measure).collect::<Result<Vec<_>, Error>>()?;

        let several = threads.iter().zip(&measured).filter(|(of, _)| **of > 1);
        let most = several.filter_map(|(of, measured)| Some((*of, (*measured)?))).max();
        let beside = most.map(|(of, measured)| beside(&planned, &costs, of, measured));
        let slowed = beside.map(|times| Costs { at_once: costs.at_once * times, ..costs.clone() });
        let replayed = |(threads, measured): (&usize, &Option<Duration>)| {
            let slowed = slowed.as_ref().filter(|_| *threads > 1);
            let beside = slowed.map(|costs| ordered::simulate(&planned.stretches, costs, *threads));
            Replayed { threads: *threads, simulated: simulate(*threads), beside, measured: *measured }
        };
        let replays = threads.iter().zip(&measured).map(replayed).collect();
        let (one, limits) = (simulate(1), ordered::limits(&planned.stretches, &costs));
        Ok(Round { in_order, planned, costs, one, limits, beside, replays })
    }

    /// Measures a replay by so many threads.
    fn measure(&self, threads: usize) -> Result<Duration, Error> {
        self.replay(threads, |config, Begun { store, catalog }, log, replayer| {
            let clock = &config.environment.clock;
            let since = clock.now();
            ordered::replay(config, &store, catalog, log, replayer, &mut Acceptance::default())?;
            Ok(clock.now().saturating_sub(since))
        })
    }

    /// Makes what a recovery would begin to replay upon, and lets `run` replay the log by so many threads.
    fn replay<T>(
        &self,
        threads: usize,
        run: impl FnOnce(&Config, Begun, &OrderedLog, &mut Replayer) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (manifest, home) = (&self.manifest, self.config.dirs[0].as_path());
        let generations = find_generations(&*self.config.environment.disk, home, manifest, NEVER)?;
        let participants = CATALOG_PARTICIPANTS + workers::sessions(threads);
        let (store, log) = one::prepare(self.config, manifest, Base::of(manifest), generations, participants)?;
        let log = self.expect_calls(log)?;
        let catalog = Catalog::new(&store)?;
        catalog.load(self.config, &store, None)?;
        let config = self.config.clone().recovery_threads(threads);
        run(&config, Begun { store, catalog }, &log, &mut Replayer::new(self.procedures.clone()))
    }

    /// Refuses a log that would not be replayed by procedures.
    fn expect_calls(&self, log: Option<OrderedLog>) -> Result<OrderedLog, RecoveryError> {
        let refuse =
            |what: &str| RecoveryError::NoSimulation { path: self.config.dirs[0].clone(), what: what.to_owned() };
        let log = log.ok_or_else(|| refuse("no call is to be run again; rows alone are replayed in any order"))?;
        match log.way(self.config) {
            ReplayKind::Serial => Err(refuse("calls are run one after the other; ask for recovery_replay=pacman")),
            ReplayKind::Vectors => Err(refuse("vectors order its calls; ask for recovery_replay=pacman")),
            _ => Ok(log),
        }
    }
}

/// What a replay begins with.
struct Begun {
    store: Store,
    catalog: Catalog,
}

/// Returns what things take.
fn costs(in_order: &Notes, planned: &Notes, is_pipelined: bool) -> Costs {
    let transactions = uninterrupted(&in_order.transactions);
    let (mut rest, mut alone, mut at_once) = (&transactions[..], 0, 0);
    let mut begun = Vec::new();
    for stretch in &planned.stretches {
        let (own, behind) = rest.split_at(stretch.transactions as usize);
        rest = behind;
        if let Some(graph) = &stretch.at_once {
            alone += own.iter().map(|nanos| u64::from(*nanos)).sum::<u64>();
            at_once += graph.ran.as_nanos() as u64;
            begun.push(graph.begun.as_nanos() as u64);
        }
    }
    Costs {
        at_once: if alone > 0 { at_once as f64 / alone as f64 } else { 1.0 },
        read: in_order.read.as_nanos() as f64 / transactions.len().max(1) as f64,
        // It is always the same: whatever it took longer is that of others on the machine.
        begin: begun.into_iter().min().unwrap_or(0),
        transactions,
        is_pipelined,
    }
}

/// Returns how many times as long transactions take beside others as alone, where so many threads took so long as was measured.
fn beside(planned: &Notes, costs: &Costs, threads: usize, measured: Duration) -> f64 {
    let mut times = 1.0;
    for _ in 0..BESIDE_STEPS {
        let costs = Costs { at_once: costs.at_once * times, ..costs.clone() };
        let simulated = ordered::simulate(&planned.stretches, &costs, threads);
        times *= measured.as_nanos() as f64 / simulated.nanos.max(1) as f64;
        times = times.clamp(1.0, BESIDE_MAX);
    }
    times
}

/// Spreads over all what transactions took in which the thread was interrupted: that has nothing to do with them. The sum stays.
fn uninterrupted(transactions: &[u32]) -> Vec<u32> {
    let count = transactions.len().max(1) as u64;
    let sum = |of: &[u32]| of.iter().map(|nanos| u64::from(*nanos)).sum::<u64>();
    let max = u32::try_from(INTERRUPTED_TIMES * sum(transactions) / count).unwrap_or(u32::MAX);
    let cut: Vec<u32> = transactions.iter().map(|nanos| max.min(*nanos)).collect();
    let share = sum(transactions) as f64 / sum(&cut).max(1) as f64;
    cut.into_iter().map(|nanos| (f64::from(nanos) * share) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_is_spread_over_all() {
        let mut transactions = vec![1000; 9999];
        transactions.push(10_000_000);
        let spread = uninterrupted(&transactions);
        assert_eq!(spread.len(), transactions.len());
        let sum = |of: &[u32]| of.iter().map(|nanos| u64::from(*nanos)).sum::<u64>();
        assert!(sum(&transactions).abs_diff(sum(&spread)) <= 10_000, "no more than what is rounded");
        assert!(spread[9999] < 300_000 && spread[0] > 1900, "{} and {}", spread[9999], spread[0]);
        let usual = [10, 20, 30, 200];
        assert_eq!(uninterrupted(&usual), usual);
        assert!(uninterrupted(&[]).is_empty());
    }
}
