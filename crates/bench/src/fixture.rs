//! What a database holds before a run: loaded once, used by any number of runs.
//!
//! The table `bench_notes` notes what was loaded and how many processes have used it. Each use gets an *incarnation*, a
//! number of its own from 1, made durable before the first transaction: identities made from it are never used twice,
//! whatever a crash has undone.

use std::time::Instant;

use osier::table::{Schema, Type, Value};
use osier::{Database, Error, Table, TransactionError};
use serde::{Deserialize, Serialize};

use crate::bank::Bank;
use crate::calls::{self, Issue};
use crate::driver::RunConfig;
use crate::error::BenchError;
use crate::experiment::Experiment;
use crate::in_process::InProcess;
use crate::progress::{Bar, Unit};
use crate::report::{LoadFigures, plural};
use crate::smallbank::SmallBank;
use crate::tpcc::Tpcc;
use crate::voter::Voter;
use crate::ycsb::{self, YcsbConfig};

const TABLE: &str = "bench_notes";
const CONTENTS: &str = "contents";
const INCARNATION: &str = "incarnation";

/// A workload and its size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WorkloadConfig {
    /// See [`ycsb`].
    Ycsb(YcsbConfig),
    /// See [`tpcc`](crate::tpcc).
    Tpcc(Tpcc),
    /// See [`smallbank`](crate::smallbank).
    SmallBank(SmallBank),
    /// See [`voter`](crate::voter).
    Voter(Voter),
    /// See [`bank`](crate::bank).
    Bank(Bank),
}

impl WorkloadConfig {
    /// The name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            WorkloadConfig::Ycsb(_) => "ycsb",
            WorkloadConfig::Tpcc(_) => "tpcc",
            WorkloadConfig::SmallBank(_) => "smallbank",
            WorkloadConfig::Voter(_) => "voter",
            WorkloadConfig::Bank(_) => "bank",
        }
    }

    /// Which transactions run, as reports say it.
    pub fn mix(&self) -> String {
        match self {
            WorkloadConfig::Ycsb(ycsb) => ycsb.mix(),
            WorkloadConfig::Tpcc(tpcc) => tpcc.mix(),
            WorkloadConfig::SmallBank(bank) => bank.mix(),
            WorkloadConfig::Voter(voter) => voter.mix(),
            WorkloadConfig::Bank(bank) => bank.mix(),
        }
    }

    /// What is loaded for it, as far as it matters to who comes later.
    pub fn contents(&self) -> String {
        match self {
            WorkloadConfig::Ycsb(YcsbConfig { records, fields, field_bytes, is_stamped, .. }) => {
                let stamped = if *is_stamped { ", stamped" } else { "" };
                format!("ycsb with {records} records of {fields} x {field_bytes} bytes{stamped}")
            }
            WorkloadConfig::Tpcc(Tpcc { scale, .. }) => {
                let (warehouses, items, customers) =
                    (plural(scale.warehouses, "warehouse"), scale.items, scale.customers);
                format!("tpcc with {warehouses}, {items} items and {customers} customers per district")
            }
            WorkloadConfig::SmallBank(SmallBank { accounts, has_journal, .. }) => {
                format!("smallbank with {accounts} accounts{}", journal(*has_journal))
            }
            WorkloadConfig::Voter(Voter { contestants, votes_max, .. }) => {
                format!("voter with {contestants} contestants and {votes_max} votes per telephone")
            }
            WorkloadConfig::Bank(Bank { people, nations, has_journal }) => {
                format!("bank with {people} people and {nations} nations{}", journal(*has_journal))
            }
        }
    }
}

fn journal(is_kept: bool) -> &'static str {
    if is_kept { ", journal" } else { "" }
}

/// A database ready for a run.
pub struct Fixture {
    /// Differs for each use.
    pub incarnation: u32,
    /// Where it had to be loaded.
    pub load: Option<LoadFigures>,
}

impl Fixture {
    /// Loads the database if it is empty, creates the procedures that requests call, and begins the next incarnation.
    pub fn prepare(db: &Database, experiment: &Experiment, threads: u32) -> Result<Fixture, BenchError> {
        let Experiment { workload, engine, run: RunConfig { seed, .. }, issue, .. } = experiment;
        let wanted = workload.contents();
        let (notes, load) = match db.table(TABLE) {
            Ok(notes) => {
                let dir = engine.home().to_owned();
                match note(db, &notes, CONTENTS)? {
                    Some(found) if found == wanted => (notes, None),
                    Some(found) => return Err(BenchError::OtherContents { dir, found, wanted }),
                    None => return Err(BenchError::Unfinished { dir }),
                }
            }
            Err(Error::Transaction(TransactionError::UnknownTable { .. })) => {
                let schema = Schema::builder(TABLE).column("name", Type::Text).column("value", Type::Text);
                let notes = db.create_table(schema.primary_key(["name"]).build().map_err(Error::from)?)?;
                let load = load(db, workload, threads, *seed)?;
                set_note(db, &notes, CONTENTS, &wanted)?;
                (notes, Some(load))
            }
            Err(error) => return Err(error.into()),
        };
        if *issue != Issue::Rust {
            create_procedures(db, workload)?;
        }
        let before = note(db, &notes, INCARNATION)?.and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
        set_note(db, &notes, INCARNATION, &(before + 1).to_string())?;
        Ok(Fixture { incarnation: before + 1, load })
    }
}

fn load(db: &Database, workload: &WorkloadConfig, threads: u32, seed: u64) -> Result<LoadFigures, BenchError> {
    let start = Instant::now();
    let rows = match workload {
        WorkloadConfig::Ycsb(config) => {
            let bar = Bar::new("loading", config.records, Unit::Count);
            ycsb::target::load(db, config, threads, &|rows| bar.at(rows))?
        }
        WorkloadConfig::Tpcc(tpcc) => fill(db, tpcc, threads, seed)?,
        WorkloadConfig::SmallBank(bank) => fill(db, bank, threads, seed)?,
        WorkloadConfig::Voter(voter) => fill(db, voter, threads, seed)?,
        WorkloadConfig::Bank(bank) => fill(db, bank, threads, seed)?,
    };
    Ok(LoadFigures { seconds: start.elapsed().as_secs_f64(), rows })
}

fn create_procedures(db: &Database, workload: &WorkloadConfig) -> Result<(), BenchError> {
    let texts = match workload {
        WorkloadConfig::Ycsb(config) => return calls::create(db, &[&ycsb::calls::procedures(config)]),
        WorkloadConfig::Tpcc(tpcc) => tpcc.procedures(),
        WorkloadConfig::SmallBank(bank) => bank.procedures(),
        WorkloadConfig::Voter(voter) => voter.procedures(),
        WorkloadConfig::Bank(bank) => bank.procedures(),
    };
    calls::create(db, &texts)
}

fn fill<W: InProcess>(db: &Database, workload: &W, threads: u32, seed: u64) -> Result<u64, BenchError> {
    let bar = Bar::new("loading", workload.rows_expected(), Unit::Count);
    let tables = workload.create(db)?;
    Ok(workload.load(db, &tables, threads, seed, &|rows| bar.at(rows))?)
}

fn note(db: &Database, notes: &Table, name: &str) -> Result<Option<String>, Error> {
    let value = notes.column("value")?;
    let (text, receipt) = db.run(|tx| {
        let row = tx.get(notes, &[Value::Text(name)])?;
        Ok::<_, Error>(row.map(|row| row.text(value).to_owned()))
    })?;
    receipt.wait()?;
    Ok(text)
}

fn set_note(db: &Database, notes: &Table, name: &str, value: &str) -> Result<(), Error> {
    let ((), receipt) = db.run(|tx| tx.upsert(notes, &[Value::Text(name), Value::Text(value)]))?;
    receipt.wait()?;
    Ok(())
}
