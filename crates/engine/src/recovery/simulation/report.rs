//! What a simulation has found, for people and as figures.

use std::fmt;

use serde::Serialize;

use super::super::ordered::{NotedStretch, Simulated};
use super::{Replayed, Round};
use crate::catalog::procedure::VersionKey;
use crate::directory::manifest::Manifest;
use crate::units::count;

/// How long running the calls of a log again would take, by the number of threads.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ReplaySimulation {
    /// The database.
    pub database: String,
    /// How many cores the machine has on which this was calibrated and measured.
    pub cores: usize,
    /// How often; all figures are medians.
    pub rounds: usize,
    /// Transactions that are run again.
    pub transactions: u64,
    /// Of these, those of segments in which several could run at a time.
    pub at_once: u64,
    /// These segments.
    pub segments: u64,
    /// What procedures cost, the dearest first.
    pub procedures: Vec<ProcedureCost>,
    /// What the steps cost.
    pub steps: ReplaySteps,
    /// Planning, in seconds: no number of threads goes below.
    pub planning_seconds: f64,
    /// The longest chains of which each transaction waits for the one before, in seconds: no number of threads goes below.
    pub chains_seconds: f64,
    /// How many times as long transactions take beside others as alone, if that is all that the simulation lacks with the most
    /// threads that were measured; `None`: none of several threads was.
    pub beside_times: Option<f64>,
    /// By the number of threads.
    pub replays: Vec<SimulatedReplay>,
}

/// What the calls of a procedure cost that run one after the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProcedureCost {
    /// Its name; `None`: transactions that were logged as rows, or a procedure that is gone.
    pub name: Option<String>,
    /// Its version; 0 of rows.
    pub version: u32,
    /// How many there are in the log.
    pub calls: u64,
    /// What one takes on average, in microseconds.
    pub microseconds: f64,
}

/// What the steps of a replay cost, on average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReplaySteps {
    /// Running a transaction after the one before, in microseconds.
    pub in_order_us: f64,
    /// Reading one, in microseconds.
    pub read_us: f64,
    /// Planning one, in microseconds.
    pub plan_us: f64,
    /// Making the queues of a segment, for each of its transactions, in microseconds.
    pub queue_us: f64,
    /// Beginning a segment with one thread, in microseconds.
    pub begin_us: f64,
    /// How many times as long transactions take by the queues of a segment as in order, run by one thread alone.
    pub at_once_times: f64,
}

/// A replay by some number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SimulatedReplay {
    /// How many.
    pub threads: usize,
    /// How long it takes, as simulated.
    pub seconds: f64,
    /// How many times as fast that is as one thread, as simulated.
    pub speedup: f64,
    /// The share of their time in which the threads wait, as simulated.
    pub waiting: f64,
    /// How long it takes, as simulated, where transactions take [`beside_times`](ReplaySimulation::beside_times) as long; `None`:
    /// that is not known, or there is one thread.
    pub beside_seconds: Option<f64>,
    /// How long it took; `None`: the machine has fewer cores.
    pub measured_seconds: Option<f64>,
    /// By how much the simulation differs from that, as a share of it.
    pub error: Option<f64>,
}

/// Returns the median.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

impl ReplaySimulation {
    pub(super) fn new(manifest: &Manifest, cores: usize, threads: &[usize], rounds: &[Round]) -> ReplaySimulation {
        let stretches = &rounds[0].planned.stretches;
        let at_once = || stretches.iter().filter(|stretch| stretch.at_once.is_some());
        ReplaySimulation {
            database: format!("{:032x}", manifest.database.0),
            cores,
            rounds: rounds.len(),
            transactions: rounds[0].in_order.transactions.len() as u64,
            at_once: at_once().map(|stretch| u64::from(stretch.transactions)).sum(),
            segments: at_once().count() as u64,
            procedures: procedures(rounds),
            steps: ReplaySteps::of(rounds),
            planning_seconds: median(rounds.iter().map(|round| round.limits.0 as f64 / 1e9)),
            chains_seconds: median(rounds.iter().map(|round| round.limits.1 as f64 / 1e9)),
            beside_times: rounds[0].beside.map(|_| median(rounds.iter().filter_map(|round| round.beside))),
            replays: (0..threads.len()).map(|at| SimulatedReplay::of(rounds, at)).collect(),
        }
    }
}

/// Returns what procedures cost.
fn procedures(rounds: &[Round]) -> Vec<ProcedureCost> {
    let cost = |key: &Option<VersionKey>| {
        let of = &rounds[0].in_order.procedures[key];
        let took = rounds.iter().map(|round| round.in_order.procedures[key].took.as_secs_f64());
        let microseconds = 1e6 * median(took) / of.calls as f64;
        ProcedureCost {
            name: of.name.clone(),
            version: key.map_or(0, |key| key.version.0),
            calls: of.calls,
            microseconds,
        }
    };
    let mut costs: Vec<_> = rounds[0].in_order.procedures.keys().map(cost).collect();
    costs.sort_by(|one, other| f64::total_cmp(&other.microseconds, &one.microseconds));
    costs
}

impl ReplaySteps {
    fn of(rounds: &[Round]) -> ReplaySteps {
        let of = |figure: &dyn Fn(&Round) -> f64| median(rounds.iter().map(figure));
        let transactions = rounds[0].in_order.transactions.len().max(1) as f64;
        let in_order = |round: &Round| round.costs.transactions.iter().map(|nanos| f64::from(*nanos)).sum::<f64>();
        let planned = |round: &Round| {
            let stretches = round.planned.stretches.iter().filter(|stretch| !stretch.groups.is_empty());
            let add = |(nanos, count), of: &NotedStretch| {
                (nanos + of.planned.as_nanos() as f64, count + f64::from(of.transactions))
            };
            let (nanos, count): (f64, f64) = stretches.fold((0.0, 0.0), add);
            nanos / count.max(1.0)
        };
        let queued = |round: &Round| {
            let graphs = round.planned.stretches.iter().filter_map(|of| Some((of.transactions, of.at_once.as_ref()?)));
            let (nanos, count) = graphs.fold((0.0, 0.0), |(nanos, count), (transactions, graph)| {
                (nanos + graph.queued.as_nanos() as f64, count + f64::from(transactions))
            });
            nanos / f64::max(count, 1.0)
        };
        ReplaySteps {
            in_order_us: of(&|round| in_order(round) / transactions) / 1000.0,
            read_us: of(&|round| round.costs.read) / 1000.0,
            plan_us: of(&planned) / 1000.0,
            queue_us: of(&queued) / 1000.0,
            begin_us: of(&|round| round.costs.begin as f64) / 1000.0,
            at_once_times: of(&|round| round.costs.at_once),
        }
    }
}

impl SimulatedReplay {
    /// The one at a place among those that were asked for.
    fn of(rounds: &[Round], at: usize) -> SimulatedReplay {
        let of = |figure: &dyn Fn(&Round) -> f64| median(rounds.iter().map(figure));
        let Replayed { threads, beside, measured, .. } = rounds[0].replays[at];
        let in_seconds = |simulated: Simulated| simulated.nanos as f64 / 1e9;
        let seconds = |round: &Round| in_seconds(round.replays[at].simulated);
        let one = |round: &Round| in_seconds(round.one);
        let slowed = |round: &Round| round.replays[at].beside.map_or(0.0, in_seconds);
        let waiting = |round: &Round| {
            let simulated = round.replays[at].simulated;
            1.0 - simulated.busy_nanos as f64 / (simulated.nanos.max(1) as f64 * threads as f64)
        };
        let is_measured = measured.is_some();
        let measured = |round: &Round| round.replays[at].measured.map_or(0.0, |took| took.as_secs_f64());
        SimulatedReplay {
            threads,
            seconds: of(&seconds),
            speedup: of(&|round| one(round) / seconds(round).max(1e-9)),
            waiting: of(&waiting),
            beside_seconds: beside.map(|_| of(&slowed)),
            measured_seconds: is_measured.then(|| of(&measured)),
            error: is_measured.then(|| of(&|round| seconds(round) / measured(round).max(1e-9) - 1.0)),
        }
    }
}

impl fmt::Display for ReplaySimulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReplaySimulation { database, cores, rounds, transactions, at_once, segments, procedures, steps, .. } = self;
        let cores = count(*cores as u64, "core");
        writeln!(f, "database {database}: replay simulated, on a machine with {cores}; medians of {rounds}")?;
        writeln!(
            f,
            "  order    {} to run again, of which {at_once} in {} of which several can run at a time",
            count(*transactions, "transaction"),
            count(*segments, "segment"),
        )?;
        for ProcedureCost { name, version, calls, microseconds } in procedures {
            let what = match (name, version) {
                (Some(name), version) => format!("calls of `{name}` version {version}"),
                (None, 0) => "transactions that were logged as rows".to_owned(),
                (None, version) => format!("calls of version {version} of a procedure that is gone"),
            };
            writeln!(f, "  cost     {microseconds:.2} us for each of {calls} {what}, in order")?;
        }
        let ReplaySteps { in_order_us, read_us, plan_us, queue_us, begin_us, at_once_times } = steps;
        writeln!(
            f,
            "  steps    of a transaction: run {in_order_us:.2} us in order, and {at_once_times:.2} times that by queues; read \
             {read_us:.2}, plan {plan_us:.2}, queue {queue_us:.2} us; of a segment: begin with a thread {begin_us:.1} us"
        )?;
        let (planning, chains) = (self.planning_seconds, self.chains_seconds);
        writeln!(
            f,
            "  limits   planning {planning:.3} s, chains of transactions that wait for each other {chains:.3} s"
        )?;
        self.replays.iter().try_for_each(|replay| writeln!(f, "{replay}"))?;
        if let Some(times) = self.beside_times {
            writeln!(
                f,
                "  beside   others a transaction takes {times:.2} times as long, if that is what the simulation lacks"
            )?;
        }
        write!(f, "  unknown  what threads cost each other by caches and memory that they share")
    }
}

impl fmt::Display for SimulatedReplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SimulatedReplay { threads, seconds, speedup, waiting, beside_seconds, measured_seconds, error } = self;
        let (threads, waiting) = (count(*threads as u64, "thread"), 100.0 * waiting);
        write!(f, "  replay   {threads}: {seconds:.3} s, {speedup:.2} times as fast as one, {waiting:.0} % waiting")?;
        if let Some(beside) = beside_seconds {
            write!(f, "; {beside:.3} s if threads are in each other's way as measured")?;
        }
        if let Some((measured, error)) = measured_seconds.zip(*error) {
            write!(f, "; measured {measured:.3} s, so the simulation is {:+.0} % off", 100.0 * error)?;
        }
        Ok(())
    }
}
