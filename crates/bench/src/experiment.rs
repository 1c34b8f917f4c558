//! One measurement from beginning to end: open, load, run, check, close, report.

use osier::{Create, Database};
use serde::{Deserialize, Serialize};

use crate::calls::Issue;
use crate::conditions::Conditions;
use crate::driver::{self, Length, RunConfig, RunResult};
use crate::engine::{EngineOptions, accounted, call_figures, counters, recovery_figures, settings};
use crate::error::BenchError;
use crate::fixture::{Fixture, WorkloadConfig};
use crate::in_process::InProcessTarget;
use crate::machine::resident_bytes;
use crate::progress::{Bar, Unit};
use crate::report::{MemoryFigures, Report, count, plural};
use crate::snapshot_scans::SnapshotScans;
use crate::tpcc;
use crate::ycsb::Ycsb;
use crate::ycsb::target::YcsbTarget;
use crate::{NoLedger, Target, Workload};

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Which transactions, on which tables.
    pub workload: WorkloadConfig,
    /// By which database.
    pub engine: EngineOptions,
    /// How they are driven.
    pub run: RunConfig,
    /// How they are issued.
    pub issue: Issue,
    /// Threads beside the workers that read all tables at snapshots.
    pub snapshot_scans: u32,
}

/// Measures, and reports what was acknowledged.
pub fn run(experiment: &Experiment) -> Result<Report, BenchError> {
    let Experiment { workload, engine, run, issue, .. } = experiment;
    let db = engine.open(Create::IfMissing)?;
    let mut report = describe(experiment, &db);
    report.recovery = db.recovery().map(recovery_figures);
    let fixture = Fixture::prepare(&db, experiment, run.workers.min(LOADERS_MAX))?;
    report.load = fixture.load;
    match workload {
        WorkloadConfig::Ycsb(config) => {
            let (durability, incarnation) = (engine.durability(), fixture.incarnation);
            let target = YcsbTarget::new(db.clone(), config.clone(), durability, incarnation)?.issuing(*issue);
            measure_beside_scans(&db, &Ycsb::new(config.clone()), &target, experiment, &mut report)?;
        }
        WorkloadConfig::Tpcc(tpcc) => {
            measure_and_check(&db, tpcc, experiment, fixture.incarnation, &mut report)?;
            let new_orders = report.transactions.get(tpcc::input::KINDS[0]).copied().unwrap_or(0);
            report.new_order_per_minute = Some(new_orders as f64 / report.seconds * 60.0);
        }
        WorkloadConfig::SmallBank(bank) => {
            measure_and_check(&db, bank, experiment, fixture.incarnation, &mut report)?;
        }
        WorkloadConfig::Voter(voter) => {
            measure_and_check(&db, voter, experiment, fixture.incarnation, &mut report)?;
        }
        WorkloadConfig::Bank(bank) => {
            measure_and_check(&db, bank, experiment, fixture.incarnation, &mut report)?;
        }
    }
    report.memory.accounted = accounted(&db);
    report.calls = call_figures(&db);
    db.close()?;
    Ok(report)
}

/// Threads that load at most.
const LOADERS_MAX: u32 = 64;

/// Runs a workload, and checks its conditions.
fn measure_and_check<W: Conditions>(
    db: &Database,
    workload: &W,
    experiment: &Experiment,
    incarnation: u32,
    report: &mut Report,
) -> Result<(), BenchError> {
    let target = InProcessTarget::new(db.clone(), workload.clone(), experiment.engine.durability(), incarnation)?;
    let target = target.issuing(experiment.issue);
    measure_beside_scans(db, workload, &target, experiment, report)?;
    let bar = Bar::new("checking", workload.check_steps(), Unit::Count);
    let violations = workload.check(&mut db.session()?, target.tables(), &mut |steps| bar.advance(steps))?;
    violations.iter().for_each(|v| eprintln!("condition {} is violated: {}", v.condition, v.what));
    report.consistent = Some(violations.is_empty());
    Ok(())
}

/// Runs a workload, beside scans if the experiment has any.
fn measure_beside_scans<W, T>(
    db: &Database,
    workload: &W,
    target: &T,
    experiment: &Experiment,
    report: &mut Report,
) -> Result<(), BenchError>
where
    W: Workload,
    T: Target<W>,
{
    let scans = SnapshotScans::start(db, experiment.snapshot_scans);
    let measured = measure(workload, target, &experiment.run, report);
    // They end also where the run has failed.
    report.snapshot_scans = scans.map(SnapshotScans::stop).transpose()?;
    measured
}

/// Runs a workload against any target, Osier or a peer; the figures of the run go into the report.
pub fn measure<W, T>(workload: &W, target: &T, config: &RunConfig, report: &mut Report) -> Result<(), BenchError>
where
    W: Workload,
    T: Target<W>,
{
    let (total, unit) = match config.length {
        Length::Time(time) => (time.as_millis() as u64, Unit::Time),
        Length::Transactions(n) => (n, Unit::Count),
    };
    let bar = Bar::new("running", total, unit);
    report.memory.start_bytes = resident_bytes().0;
    let mut timeline = Vec::new();
    let result = driver::run(
        workload,
        target,
        config,
        |_| NoLedger,
        |acknowledged, elapsed| {
            timeline.extend(config.timeline.then_some((elapsed.as_secs_f64(), acknowledged)));
            bar.at(if unit == Unit::Time { elapsed.as_millis() as u64 } else { acknowledged });
            bar.note(format!("{} acknowledged", count(acknowledged)));
        },
    )?;
    let (end_bytes, peak_bytes) = resident_bytes();
    report.memory = MemoryFigures { end_bytes, peak_bytes, ..report.memory };
    fill(report, workload.kinds(), &result);
    report.timeline = timeline;
    Ok(())
}

fn fill(report: &mut Report, kinds: &[&str], result: &RunResult) {
    report.seconds = result.seconds;
    report.committed = result.committed;
    report.rolled_back = result.rolled_back;
    report.acknowledged = result.acknowledged;
    report.aborted = result.aborted;
    report.txn_per_s = result.acknowledged as f64 / result.seconds;
    report.latency_us = Some(result.latencies.percentiles());
    report.log_bytes = result.counters.bytes();
    report.log_bytes_per_txn = result.counters.bytes() as f64 / result.acknowledged.max(1) as f64;
    report.syncs = result.counters.syncs();
    report.stream_bytes = result.counters.streams.iter().map(|stream| stream.bytes).collect();
    report.stream_syncs = result.counters.streams.iter().map(|stream| stream.syncs).collect();
    report.checkpoints = result.counters.checkpoints;
    let named = kinds.iter().zip(&result.kinds).filter(|(_, n)| **n > 0);
    report.transactions = named.map(|(kind, n)| ((*kind).to_owned(), *n)).collect();
}

/// A report with everything that is known before the run.
pub fn describe(experiment: &Experiment, db: &Database) -> Report {
    let Experiment { workload, engine, run, issue, .. } = experiment;
    let mut report = Report::new(workload.name());
    report.configuration = settings(db.config());
    report.configuration.insert("contents".to_owned(), workload.contents());
    report.configuration.insert("seed".to_owned(), run.seed.to_string());
    let setting = |name: &str| report.configuration.get(name).cloned().unwrap_or_default();
    (report.protocol, report.cc) = (setting("protocol"), setting("cc"));
    report.streams = counters(db).streams.len() as u32;
    report.workers = run.workers;
    report.durability = if engine.is_relaxed { "relaxed" } else { "durable" }.to_owned();
    (report.blocking, report.rate, report.latency_every) = (run.blocking, run.rate, run.latency_every);
    report.batch = run.batch;
    report.variant = workload.mix() + &issue.description();
    if let WorkloadConfig::Ycsb(config) = workload {
        report.configuration.insert("theta".to_owned(), config.theta.to_string());
    }
    report
}

/// The first line of what people read.
pub fn headline(report: &Report) -> String {
    let Report { variant, protocol, cc, .. } = report;
    let setting = |name| report.configuration.get(name).map_or("", String::as_str);
    let (contents, logged) = (setting("contents"), setting("logged"));
    let (streams, workers) = (plural(report.streams, "stream"), plural(report.workers, "worker"));
    let batch = if report.batch > 1 { format!(", batches of {}", report.batch) } else { String::new() };
    format!("{contents}; {variant}{batch}; protocol {protocol}, {logged}, {cc}, {streams}, {workers}")
}
