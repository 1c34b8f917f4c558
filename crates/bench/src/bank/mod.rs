//! The bank of PACMAN's running example (section 4.1): people who pay their spouses and deposit money.
//!
//! [`transactions`] has the two procedures as figures 2 and 4 have them, with their lines in the same order; [`input`] draws
//! the requests; [`consistency`] says what must hold. The paper gives no numbers: the mix is half transfers, half deposits, one
//! couple in ten is no couple, and so many accounts begin above the threshold of the bonus that both branches are taken often.
//!
//! Departures: people have numbers for names. The [`journal`] is optional and no part of the example: a row
//! more for each transaction that changes a balance. Crash tests keep it, measurements do not unless they are asked to.

pub mod consistency;
pub mod input;
pub mod loader;
#[cfg(test)]
mod tests;
pub mod transactions;

use osier::call::Output;
use osier::table::{Argument, ColumnId, Schema, SchemaError, Table, Value};
use osier::{Database, Session, Transaction};
use serde::{Deserialize, Serialize};

use crate::attempt::{Decision, Failure};
use crate::calls::{Call, Refusal};
use crate::conditions::{Conditions, Violation};
use crate::in_process::InProcess;
use crate::journal::{self, AMOUNT, Journal, JournalFact, Recorded};
use crate::schema::{BIGINT, INT, table};
use crate::{TargetError, Workload};
use input::{Request, Requests};

/// The two transactions as procedures.
const PROCEDURES: &str = include_str!("../procedures/bank.osier");

/// The workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bank {
    /// People, two of which may be a couple.
    pub people: u64,
    /// Nations, whose large deposits are counted.
    pub nations: u32,
    /// Whether each transaction that changes a balance writes a row into the journal.
    pub has_journal: bool,
}

impl Bank {
    /// Which transactions run, as reports say it.
    pub fn mix(&self) -> String {
        "half transfers, half deposits".to_owned()
    }
}

table! {
    /// Who is married to whom.
    family {
        PERSON: BIGINT, SPOUSE: BIGINT nullable,
    }
    key (PERSON)
}

table! {
    /// The current account of each person.
    current {
        PERSON: BIGINT, BALANCE: AMOUNT,
    }
    key (PERSON)
}

table! {
    /// The saving account of each person.
    saving {
        PERSON: BIGINT, BALANCE: AMOUNT,
    }
    key (PERSON)
}

table! {
    /// How many large deposits came from each nation.
    stats {
        NATION: INT, DEPOSITS: BIGINT,
    }
    key (NATION)
}

/// Handles on the tables.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Who is married to whom.
    pub family: Table,
    /// The current accounts.
    pub current: Table,
    /// The saving accounts.
    pub saving: Table,
    /// Large deposits by nation.
    pub stats: Table,
    /// What was changed, where it is kept.
    pub journal: Journal,
}

impl Workload for Bank {
    type Request = Request;
    type Evidence = Recorded;

    fn name(&self) -> &'static str {
        "bank"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &input::KINDS
    }

    fn kind(&self, request: &Request) -> usize {
        request.kind()
    }

    fn requests(&self, worker: u32, _workers: u32, seed: u64) -> impl Iterator<Item = Request> + Send {
        Requests::new(self, worker, seed)
    }
}

impl InProcess for Bank {
    type Tables = Tables;

    fn create(&self, db: &Database) -> Result<Tables, osier::Error> {
        for schema in [family::schema(), current::schema(), saving::schema(), stats::schema()] {
            db.create_table(schema?)?;
        }
        Journal::create(db, self.has_journal)?;
        self.open(db)
    }

    fn open(&self, db: &Database) -> Result<Tables, osier::Error> {
        Ok(Tables {
            family: db.table(family::TABLE)?,
            current: db.table(current::TABLE)?,
            saving: db.table(saving::TABLE)?,
            stats: db.table(stats::TABLE)?,
            journal: Journal::open(db, self.has_journal)?,
        })
    }

    fn load(
        &self,
        db: &Database,
        tables: &Tables,
        threads: u32,
        seed: u64,
        observe: &(impl Fn(u64) + Sync),
    ) -> Result<u64, TargetError> {
        loader::load(db, tables, self, threads, seed, observe)
    }

    fn rows_expected(&self) -> u64 {
        self.people * if self.has_journal { 4 } else { 3 } + u64::from(self.nations)
    }

    fn is_read_only(&self, _request: &Request) -> bool {
        false
    }

    fn transact(
        &self,
        tx: &Transaction<'_>,
        tables: &Tables,
        request: &Request,
        number: i64,
    ) -> Result<Decision<Recorded>, Failure> {
        match *request {
            Request::Transfer { src, amount } => transactions::transfer(tx, tables, number, src, amount),
            Request::Deposit { name, amount, nation } => {
                transactions::deposit(tx, tables, number, name, amount, nation)
            }
        }
    }

    fn procedures(&self) -> Vec<&'static str> {
        vec![if self.has_journal { journal::PROCEDURE } else { journal::NO_PROCEDURE }, PROCEDURES]
    }

    fn call<'r>(&self, request: &'r Request, number: i64) -> Call<'r> {
        let money = |amount| Argument::from(Value::Numeric(amount));
        match *request {
            Request::Transfer { src, amount } => Call::new("transfer", [number.into(), src.into(), money(amount)]),
            Request::Deposit { name, amount, nation } => {
                let nation = Value::Int(nation.into()).into();
                Call::new("deposit", [number.into(), name.into(), money(amount), nation])
            }
        }
    }

    fn returned(&self, _request: &Request, number: i64, output: &Output) -> Option<Recorded> {
        Some(Recorded::of_call(self.has_journal, number, output))
    }

    fn refused(&self, _request: &Request, _refusal: &Refusal<'_>) -> Option<Recorded> {
        None
    }
}

impl Conditions for Bank {
    fn is_found(&self, tx: &Transaction<'_>, tables: &Tables, fact: &JournalFact) -> Result<bool, Failure> {
        tables.journal.is_found(tx, fact)
    }

    fn check_steps(&self) -> u64 {
        self.rows_expected()
    }

    fn check(
        &self,
        session: &mut Session,
        tables: &Tables,
        observe: &mut dyn FnMut(u64),
    ) -> Result<Vec<Violation>, TargetError> {
        consistency::check(session, tables, self, observe)
    }
}
