//! Kills a process that runs transactions, recovers what it left, and looks for everything it had acknowledged.
//!
//! ```text
//! parent:  load, close | start worker, wait, SIGKILL | recover | look for every entry of the ledger | conditions | again
//! worker:              | open, run, write each acknowledgement into the pipe ...
//! ```
//!
//! Invariants:
//! - The ledger is kept outside of the killed process, and only grows: each round looks for the facts of all rounds.
//! - Each round goes on from what the one before recovered; now and then a recovery is killed too.
//! - A worker that ends by itself is an error, but only after its ledger was looked for.

mod examine;
mod ledger;
mod process;

use std::io::Write;
use std::time::Duration;

use osier::Create;

pub use ledger::{Evidence, FACT_BYTES, Fact, PipeLedger, Received};
pub use process::work;

use crate::driver::Length;
use crate::engine::{EngineOptions, recovery_figures};
use crate::error::BenchError;
use crate::experiment::{Experiment, describe, headline};
use crate::fixture::{Fixture, WorkloadConfig};
use crate::latency::Latencies;
use crate::machine::{cores, resident_bytes};
use crate::progress::{Bar, Unit};
use crate::report::{Kills, Report, RoundFigures, bytes, count};
use examine::{Examination, Examiner, FactExaminer, YcsbExaminer};
use process::{Kill, Worked, WorkerCommand};

/// Of all rounds, how many kill recovery too: one in so many.
const RECOVERY_KILLED_EVERY: u32 = 3;

/// A crash test.
#[derive(Clone, Debug, PartialEq)]
pub struct CrashPlan {
    /// What the worker process runs; its time is what it runs on average.
    pub experiment: Experiment,
    /// How often it is killed.
    pub rounds: u32,
}

/// Runs the test. `worker` makes the command that runs [`work`] in another process with the given argument; the course
/// of the test is written to `out`.
///
/// # Errors
/// Where the test could not be done. Losses are not errors, they are in the report.
pub fn run(plan: &CrashPlan, worker: WorkerCommand<'_>, out: &mut dyn Write) -> Result<Report, BenchError> {
    match &plan.experiment.workload {
        WorkloadConfig::Ycsb(config) => Test::new(plan, worker, YcsbExaminer::new(config.clone())).run(out),
        WorkloadConfig::Tpcc(tpcc) => Test::new(plan, worker, FactExaminer::new(tpcc.clone())).run(out),
        WorkloadConfig::SmallBank(bank) => Test::new(plan, worker, FactExaminer::new(bank.clone())).run(out),
        WorkloadConfig::Voter(voter) => Test::new(plan, worker, FactExaminer::new(voter.clone())).run(out),
        WorkloadConfig::Bank(bank) => Test::new(plan, worker, FactExaminer::new(bank.clone())).run(out),
    }
}

struct Test<'a, X> {
    plan: &'a CrashPlan,
    worker: WorkerCommand<'a>,
    examiner: X,
    rng: fastrand::Rng,
    /// Of the last recovery: how long one takes.
    recovery_time: Duration,
    /// Of all rounds.
    latencies: Latencies,
}

impl<'a, X: Examiner> Test<'a, X> {
    fn new(plan: &'a CrashPlan, worker: WorkerCommand<'a>, examiner: X) -> Test<'a, X> {
        let rng = fastrand::Rng::with_seed(plan.experiment.run.seed);
        Test { plan, worker, examiner, rng, recovery_time: Duration::ZERO, latencies: Latencies::new() }
    }

    fn run(mut self, out: &mut dyn Write) -> Result<Report, BenchError> {
        let experiment = &self.plan.experiment;
        let mut report = self.load(out)?;
        let mut say = |text: String| writeln!(out, "{text}").map_err(BenchError::io("write to", "the output".as_ref()));
        report.memory.start_bytes = resident_bytes().0;
        for round in 1..=self.plan.rounds {
            let (figures, ended) = self.round(round)?;
            say(describe_round(&figures))?;
            report.round_details.push(figures);
            if let Some(status) = ended {
                return Err(BenchError::Worker { round, status });
            }
        }
        let rounds = &report.round_details;
        report.rounds = Some(self.plan.rounds);
        rounds.iter().for_each(|round| report.kills.add(round.kills));
        report.seconds = rounds.iter().map(|round| round.seconds).sum();
        report.acknowledged = rounds.iter().map(|round| round.acknowledged).sum();
        report.committed = report.acknowledged;
        report.txn_per_s = report.acknowledged as f64 / report.seconds.max(1e-9);
        report.latency_us = (self.latencies.count() > 0).then(|| self.latencies.percentiles());
        report.latency_every = experiment.run.latency_every;
        report.lost = Some(rounds.iter().map(|round| round.lost).sum());
        report.consistent = Some(rounds.iter().all(|round| round.consistent));
        report.recovery = rounds.last().map(|round| round.recovery.clone());
        if let Some(recovery) = &report.recovery {
            (report.log_bytes, report.syncs) = (recovery.log_bytes, recovery.batches);
        }
        (report.memory.end_bytes, report.memory.peak_bytes) = resident_bytes();
        say(format!("{:>14}  {}", "seed", experiment.run.seed))?;
        Ok(report)
    }

    /// Opens the database for the first time, so that what is killed later is running and not loading.
    fn load(&self, out: &mut dyn Write) -> Result<Report, BenchError> {
        let experiment = &self.plan.experiment;
        let db = experiment.engine.open(Create::IfMissing)?;
        let mut report = describe(experiment, &db);
        let io = || BenchError::io("write to", "the output".as_ref());
        writeln!(out, "{}", headline(&report)).map_err(io())?;
        let fixture = Fixture::prepare(&db, experiment, cores() as u32)?;
        report.load = fixture.load;
        db.close()?;
        if let Some(load) = report.load {
            writeln!(out, "{:>14}  {} rows in {:.1} s", "loaded", count(load.rows), load.seconds).map_err(io())?;
        }
        Ok(report)
    }

    /// One crash and what follows from it. The status is that of a worker that ended by itself.
    fn round(&mut self, round: u32) -> Result<(RoundFigures, Option<String>), BenchError> {
        let bar = Bar::new(&format!("round {round}"), 0, Unit::Time);
        let kill = Kill::AfterStart(self.draw_run_time());
        let mut worked: Worked<X::Fact> = process::run_and_kill(self.worker, &self.plan.experiment, kill, &bar)?;
        let (seconds, acknowledged) = (worked.time.as_secs_f64(), worked.received.transactions);
        self.latencies.add(&worked.received.latencies);
        let mut kills = self.kills(&worked)?;
        if worked.ended.is_none() && self.rng.u32(..RECOVERY_KILLED_EVERY) == 0 {
            let kill = Kill::AfterOpening(self.recovery_time.mul_f64(self.rng.f64()));
            let again: Worked<X::Fact> = process::run_and_kill(self.worker, &self.plan.experiment, kill, &bar)?;
            kills.add(self.kills(&again)?);
            worked.received.facts.extend(again.received.facts);
            worked.ended = again.ended;
        }
        drop(bar);

        let db = self.plan.experiment.engine.open(Create::Never)?;
        let recovery = db.recovery().map(recovery_figures).unwrap_or_default();
        self.recovery_time = Duration::from_secs_f64(recovery.seconds);
        let examination = self.examiner.examine(&db, worked.received.facts)?;
        db.close()?;
        let Examination { looked_for, lost, is_consistent, complaints } = examination;
        complaints.iter().for_each(|complaint| eprintln!("round {round}: {complaint}"));
        let consistent = is_consistent;
        let figures = RoundFigures { round, seconds, acknowledged, kills, looked_for, lost, consistent, recovery };
        Ok((figures, worked.ended))
    }

    /// What the end of a worker hit, as what it left tells.
    fn kills<F>(&self, worked: &Worked<F>) -> Result<Kills, BenchError> {
        if worked.ended.is_some() {
            return Ok(Kills::default());
        }
        let in_recovery = u32::from(worked.received.opening && !worked.received.opened);
        // A worker that did not come to transactions left the files of the one before.
        let in_checkpoint = u32::from(worked.received.started && has_half_a_checkpoint(&self.plan.experiment.engine)?);
        Ok(Kills { total: 1, in_checkpoint, in_recovery })
    }

    /// From half to one and a half times what was asked for.
    fn draw_run_time(&mut self) -> Duration {
        match self.plan.experiment.run.length {
            Length::Time(time) => time.mul_f64(0.5 + self.rng.f64()),
            Length::Transactions(_) => unreachable!("a crash test is measured in seconds"),
        }
    }
}

/// Whether there are files of a checkpoint that the manifest does not name yet.
fn has_half_a_checkpoint(engine: &EngineOptions) -> Result<bool, BenchError> {
    let status = osier::status(&engine.config(Create::Never)?).map_err(osier::Error::from)?;
    let newest = status.checkpoints.last().map_or(0, |checkpoint| checkpoint.number);
    let number = |name: &str| name.strip_suffix(".ckpt")?.split_once('-')?.0.parse().ok();
    for directory in engine.dirs.iter().map(|dir| dir.join("checkpoints")).filter(|directory| directory.exists()) {
        let files = std::fs::read_dir(&directory).map_err(BenchError::io("list", &directory))?;
        for file in files {
            let name = file.map_err(BenchError::io("list", &directory))?.file_name();
            if name.to_str().and_then(number).is_some_and(|number: u64| number > newest) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn describe_round(figures: &RoundFigures) -> String {
    let RoundFigures { round, seconds, acknowledged, kills, looked_for, lost, consistent, recovery } = figures;
    let in_checkpoint = if kills.in_checkpoint > 0 { " in a checkpoint" } else { "" };
    let again = match kills {
        Kills { in_recovery: 1.., .. } => " (and killed while recovering)",
        Kills { total: 2.., .. } => " (and killed again)",
        _ => "",
    };
    let lost = if *lost == 0 { "0 lost".to_owned() } else { format!("{lost} LOST") };
    format!(
        "{:>14}  killed{in_checkpoint} after {seconds:.1} s and {} acknowledged{again}; \
         recovered {} in {:.2} s; {} facts looked for, \
         {lost}; {}",
        format!("round {round}"),
        count(*acknowledged),
        bytes(recovery.log_bytes),
        recovery.seconds,
        count(*looked_for),
        if *consistent { "consistent" } else { "INCONSISTENT" },
    )
}
