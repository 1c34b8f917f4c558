//! The worker process, from both sides.

use std::fs::File;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use osier::{Create, Database};

use super::ledger::{Evidence, Fact, PipeLedger, Received};
use crate::conditions::Conditions;
use crate::driver::{self, Length};
use crate::error::BenchError;
use crate::experiment::Experiment;
use crate::fixture::{Fixture, WorkloadConfig};
use crate::in_process::InProcessTarget;
use crate::progress::Bar;
use crate::report::count;
use crate::ycsb::Ycsb;
use crate::ycsb::target::YcsbTarget;
use crate::{Target, TargetError, Workload};

/// Makes the command that runs [`work`] in another process, given its argument.
pub type WorkerCommand<'a> = &'a dyn Fn(&str) -> Command;

/// What a worker runs at most: it goes away even if nobody kills it.
const WORK_MAX: Duration = Duration::from_secs(3600);
/// How often the parent looks.
const LOOK: Duration = Duration::from_millis(1);

/// When to kill.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kill {
    /// So long after transactions began.
    AfterStart(Duration),
    /// So long after recovery began.
    AfterOpening(Duration),
}

/// What a worker left.
pub(super) struct Worked<F> {
    pub(super) received: Received<F>,
    /// From the first transaction, or from the beginning of recovery, to the kill.
    pub(super) time: Duration,
    /// How it ended, where it was not killed.
    pub(super) ended: Option<String>,
}

/// Kills the process when dropped: it must not outlive an error of its parent.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // Both fail only where the process is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a worker, kills it, and returns what it had acknowledged.
pub(super) fn run_and_kill<F: Fact>(
    worker: WorkerCommand<'_>,
    experiment: &Experiment,
    kill: Kill,
    bar: &Bar,
) -> Result<Worked<F>, BenchError> {
    let argument = serde_json::to_string(experiment).expect("an experiment has string keys and finite numbers");
    let mut command = worker(&argument);
    let program = std::path::PathBuf::from(command.get_program());
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = KillOnDrop(spawned.map_err(BenchError::io("start", &program))?);
    let pipe = child.0.stdout.take().expect("the output is piped");
    let (is_time, transactions) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            Received::read(pipe, |received: &Received<F>| {
                transactions.store(received.transactions, Ordering::Relaxed);
                let begins = if matches!(kill, Kill::AfterStart(_)) { received.started } else { received.opening };
                is_time.store(begins, Ordering::Release);
            })
        });
        let (Kill::AfterStart(delay) | Kill::AfterOpening(delay)) = kill;
        let (mut begun, mut ended) = (None::<Instant>, None);
        while begun.is_none_or(|begun| begun.elapsed() < delay) {
            if let Some(status) = child.0.try_wait().map_err(BenchError::io("wait for", &program))? {
                ended = Some(status.to_string());
                break;
            }
            if begun.is_none() && is_time.load(Ordering::Acquire) {
                begun = Some(Instant::now());
            }
            bar.note(format!("{} acknowledged", count(transactions.load(Ordering::Relaxed))));
            std::thread::sleep(LOOK);
        }
        let time = begun.map_or(Duration::ZERO, |begun| begun.elapsed());
        drop(child);
        // The pipe ends with the process.
        let received = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Worked { received, time, ended })
    })
}

/// The worker process: runs the experiment that the argument describes and writes what is acknowledged to its standard
/// output, until it is killed.
pub fn work(argument: &str) -> Result<(), BenchError> {
    let experiment: Experiment =
        serde_json::from_str(argument).map_err(|error| BenchError::Usage(format!("not an experiment: {error}")))?;
    let Experiment { workload, engine, issue, .. } = &experiment;
    let mut ledger = PipeLedger::<()>::new(pipe()?);
    ledger.opening()?;
    let db = engine.open_quietly(Create::Never)?;
    ledger.opened()?;
    let fixture = Fixture::prepare(&db, &experiment, 1)?;
    let incarnation = fixture.incarnation;
    match workload {
        WorkloadConfig::Ycsb(config) => {
            let target = YcsbTarget::new(db.clone(), config.clone(), engine.durability(), incarnation)?.issuing(*issue);
            drive(&Ycsb::new(config.clone()), &target, &experiment, incarnation)
        }
        WorkloadConfig::Tpcc(tpcc) => drive_in_process(&db, tpcc, &experiment, incarnation),
        WorkloadConfig::SmallBank(bank) => drive_in_process(&db, bank, &experiment, incarnation),
        WorkloadConfig::Voter(voter) => drive_in_process(&db, voter, &experiment, incarnation),
        WorkloadConfig::Bank(bank) => drive_in_process(&db, bank, &experiment, incarnation),
    }
}

fn drive_in_process<W: Conditions>(
    db: &Database,
    workload: &W,
    experiment: &Experiment,
    incarnation: u32,
) -> Result<(), BenchError> {
    let durability = experiment.engine.durability();
    let target = InProcessTarget::new(db.clone(), workload.clone(), durability, incarnation)?;
    let target = target.issuing(experiment.issue);
    drive(workload, &target, experiment, incarnation)
}

/// The standard output.
fn pipe() -> Result<File, TargetError> {
    Ok(File::from(std::io::stdout().as_fd().try_clone_to_owned().map_err(TargetError::new)?))
}

fn drive<W, T>(workload: &W, target: &T, experiment: &Experiment, incarnation: u32) -> Result<(), BenchError>
where
    W: Workload<Evidence: Evidence>,
    T: Target<W>,
{
    let pipes = (0..experiment.run.workers).map(|_| pipe()).collect::<Result<Vec<_>, _>>();
    let pipes = std::sync::Mutex::new(pipes?);
    PipeLedger::<W::Evidence>::new(pipe()?).started()?;
    let mut config = experiment.run.clone();
    config.length = Length::Time(WORK_MAX);
    // Other requests than in the rounds before.
    config.seed = config.seed.wrapping_add(u64::from(incarnation) << 32);
    let ledger = |_| {
        let mut pipes = pipes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        PipeLedger::new(pipes.pop().expect("there is a pipe for each worker"))
    };
    driver::run(workload, target, &config, ledger, |_, _| ())?;
    Ok(())
}
