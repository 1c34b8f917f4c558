//! What tests of workloads share: a small database without a log, runs on it, and the facts that they prove.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use osier::table::{Table, Value};
use osier::{Config, Database, Durability, Protocol, Transaction};

use crate::attempt::{Decision, Failure, execute, options};
use crate::conditions::{Conditions, FactOf, Violation};
use crate::crash::Evidence;
use crate::driver::{Length, RunConfig, RunResult, run};
use crate::in_process::InProcessTarget;
use crate::{Ledger, Outcome, TargetError};

/// Breaks a condition.
pub type Break<'a, Tables> = &'a dyn Fn(&Transaction<'_>, &Tables) -> Result<(), Failure>;

/// A database with what the workload loads.
pub fn loaded<W: Conditions>(workload: &W) -> (Database, W::Tables) {
    let config = Config::new("no-directory-is-made-without-a-log").protocol(Protocol::None);
    let db = Database::open(config).unwrap();
    let tables = workload.create(&db).unwrap();
    assert_eq!(workload.load(&db, &tables, 2, 7, &|_| ()).unwrap(), workload.rows_expected());
    (db, tables)
}

pub fn violations<W: Conditions>(db: &Database, tables: &W::Tables, workload: &W) -> Vec<Violation> {
    workload.check(&mut db.session().unwrap(), tables, &mut |_| ()).unwrap()
}

/// Runs one transaction, and returns how it ended and what it proves.
pub fn execute_one<E>(db: &Database, body: impl Fn(&Transaction<'_>) -> Result<Decision<E>, Failure>) -> (Outcome, E) {
    let executed = execute(&mut db.session().unwrap(), options(false, Durability::Durable), body).unwrap();
    (executed.outcome, executed.evidence)
}

/// Changes tables, however wrong that is.
pub fn change(db: &Database, body: impl Fn(&Transaction<'_>) -> Result<(), Failure>) {
    assert_eq!(execute_one(db, |tx| body(tx).map(Decision::Commit)).0, Outcome::Committed);
}

/// Removes a row that is there.
pub fn delete(tx: &Transaction<'_>, table: &Table, key: &[Value<'_>]) -> Result<(), Failure> {
    assert!(tx.delete(table, key)?, "{} has no row {key:?}", table.name());
    Ok(())
}

/// Runs so many transactions of three workers, and returns what the acknowledged ones prove.
pub fn run_collecting<W: Conditions>(db: &Database, workload: &W, transactions: u64) -> (RunResult, Vec<FactOf<W>>) {
    let target = InProcessTarget::new(db.clone(), workload.clone(), Durability::Durable, 1).unwrap();
    let config = RunConfig {
        workers: 3,
        length: Length::Transactions(transactions),
        warmup: Duration::ZERO,
        blocking: false,
        outstanding_max: 64,
        batch: 1,
        rate: None,
        timeline: false,
        latency_every: 1,
        seed: 3,
    };
    let (sender, facts) = channel();
    let ledger = |_| Collect::<W::Evidence>(Vec::new(), sender.clone());
    let result = run(workload, &target, &config, ledger, |_, _| ()).unwrap();
    drop(sender);
    assert_eq!(result.acknowledged, transactions);
    (result, facts.iter().collect())
}

/// Collects the facts of one worker.
struct Collect<E: Evidence>(Vec<E::Fact>, Sender<E::Fact>);

impl<E: Evidence> Ledger<E> for Collect<E> {
    type Entry = E;

    fn committed(&mut self, evidence: E) -> E {
        evidence
    }

    fn acknowledged(&mut self, evidence: E, _latency: Option<Duration>) {
        evidence.facts(|fact| self.0.push(fact));
    }

    fn flush(&mut self) -> Result<(), TargetError> {
        self.0.drain(..).for_each(|fact| self.1.send(fact).unwrap());
        Ok(())
    }
}
