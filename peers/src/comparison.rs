//! One subject from beginning to end: load, run with each number of threads, read back, open again, read back.

use std::path::Path;
use std::time::{Duration, Instant};

use osier_bench::driver::{Length, RunConfig};
use osier_bench::error::BenchError;
use osier_bench::experiment::measure;
use osier_bench::fixture::WorkloadConfig;
use osier_bench::report::{LoadFigures, Report};
use osier_bench::ycsb::{Variant, Ycsb, YcsbConfig};

use crate::subject::Subject;
use crate::witness::Witness;

/// Receipts that a worker keeps where commits are not waited for one by one.
const OUTSTANDING_MAX: usize = 8192;
/// Where commits are not waited for, one in so many is timed: reading the clock would be a part of what is measured.
const LATENCY_EVERY: u32 = 16;

/// Overwrites one row of 1 KB without reading it.
pub fn overwrite(records: u64) -> YcsbConfig {
    YcsbConfig {
        variant: Variant::WriteOnly,
        records,
        fields: 10,
        field_bytes: 100,
        theta: 0.0,
        read_fraction: 0.0,
        is_stamped: false,
    }
}

/// Reads or overwrites one row of 100 bytes, one as often as the other.
pub fn access(records: u64) -> YcsbConfig {
    YcsbConfig { variant: Variant::OneAccess, fields: 1, read_fraction: 0.5, ..overwrite(records) }
}

/// What is run on every subject.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The rows and the transactions.
    pub workload: YcsbConfig,
    /// One run for each number of threads, in this order.
    pub workers: Vec<u32>,
    /// How long each run is measured.
    pub length: Length,
    /// Not measured, before each run.
    pub warmup: Duration,
    /// Whether receipts are kept while the next transactions are executed.
    pub is_pipelined: bool,
    /// Where the requests are drawn from.
    pub seed: u64,
}

impl Plan {
    fn run(&self, workers: u32) -> RunConfig {
        RunConfig {
            workers,
            length: self.length,
            warmup: self.warmup,
            blocking: !self.is_pipelined,
            outstanding_max: OUTSTANDING_MAX,
            batch: 1,
            rate: None,
            timeline: false,
            latency_every: if self.is_pipelined { LATENCY_EVERY } else { 1 },
            seed: self.seed,
        }
    }
}

/// Runs a plan on one subject, which is made in `place`. Returns a report for each number of threads.
///
/// # Errors
/// The subject's own, and a row that afterwards is not what was acknowledged last.
pub fn run<S: Subject>(name: &str, place: &Path, plan: &Plan) -> Result<Vec<Report>, BenchError> {
    let config = &plan.workload;
    let start = Instant::now();
    let subject = S::create(place, config)?;
    let load = LoadFigures { seconds: start.elapsed().as_secs_f64(), rows: config.records };

    let witness = Witness::default();
    let mut reports = Vec::new();
    for &workers in &plan.workers {
        let mut report = describe::<S>(name, config, &plan.run(workers));
        report.load = Some(load);
        measure(&Ycsb::new(config.clone()), &witness.watch(&subject), &plan.run(workers), &mut report)?;
        witness.check(&subject, config)?;
        report.consistent = Some(true);
        reports.push(report);
    }

    drop(subject);
    witness.check(&S::open(place, config)?, config)?;
    Ok(reports)
}

/// A report with everything that is known before the run.
fn describe<S: Subject>(name: &str, config: &YcsbConfig, run: &RunConfig) -> Report {
    let mut report = Report::new("ycsb");
    report.variant = config.mix();
    report.workers = run.workers;
    report.durability = "durable".to_owned();
    (report.blocking, report.latency_every) = (run.blocking, run.latency_every);
    let contents = WorkloadConfig::Ycsb(config.clone()).contents();
    let told = [("peer", name), ("syncs", S::SYNCS), ("contents", &contents), ("seed", &run.seed.to_string())]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    report.configuration.extend(told);
    report
}
