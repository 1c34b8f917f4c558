//! SmallBank (Alomari 2008), as H-Store and OLTP-Bench brought it into use: customers with a savings and a checking account.
//!
//! [`input`] draws the requests, [`transactions`] has one function for each of the six, [`loader`] fills the tables,
//! [`consistency`] says what must hold. Mix and amounts are those of OLTP-Bench (`SmallBankConstants` and its sample
//! configuration): 25 % SendPayment, 15 % each of the others.
//!
//! Where the paper and OLTP-Bench differ, the paper counts: Amalgamate moves all that the first customer has, both accounts,
//! and so keeps the sum of all balances; a check that is not covered costs a dollar more, not a dollar less; a name that is
//! unknown and a balance that does not suffice roll back in both.
//!
//! Departures from both: TransactSavings deposits as often as it withdraws, so that accounts do not run empty for good; opening
//! balances are uniform and not Gaussian. Another one is optional, the [`journal`]: a row more for each
//! transaction that changes a balance. Crash tests keep it, measurements do not unless they are asked to.

pub mod consistency;
pub mod input;
pub mod loader;
pub mod schema;
#[cfg(test)]
mod tests;
pub mod transactions;

use osier::call::Output;
use osier::table::Table;
use osier::table::{Argument, Value};
use osier::{Database, Session, Transaction};
use serde::{Deserialize, Serialize};

use crate::attempt::{Decision, Failure};
use crate::calls::{self, Call, Refusal};
use crate::conditions::{Conditions, Violation};
use crate::in_process::InProcess;
use crate::journal::{self, Journal, JournalFact, Recorded};
use crate::{TargetError, Workload};
use input::{Request, Requests};

/// The six transactions as procedures.
const PROCEDURES: &str = include_str!("../procedures/smallbank.osier");

/// The workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmallBank {
    /// Customers: 1,000,000 in OLTP-Bench, 18,000 in the paper.
    pub accounts: u64,
    /// The first so many of them are hot.
    pub hot_accounts: u64,
    /// So many of 100 transactions are about hot customers; 0 is uniform.
    pub hot_percent: u32,
    /// Whether each transaction that changes a balance writes a row into the journal.
    pub has_journal: bool,
}

impl SmallBank {
    /// Which transactions run, as reports say it.
    pub fn mix(&self) -> String {
        let SmallBank { hot_accounts, hot_percent, .. } = self;
        match hot_percent {
            0 => "uniform".to_owned(),
            _ => format!("{hot_percent} % on {hot_accounts} hot accounts"),
        }
    }
}

/// Handles on the tables.
#[derive(Clone, Debug)]
pub struct Tables {
    /// The customers.
    pub accounts: Table,
    /// Their savings accounts.
    pub savings: Table,
    /// Their checking accounts.
    pub checking: Table,
    /// What was changed, where it is kept.
    pub journal: Journal,
}

impl Workload for SmallBank {
    type Request = Request;
    type Evidence = Recorded;

    fn name(&self) -> &'static str {
        "smallbank"
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

impl InProcess for SmallBank {
    type Tables = Tables;

    fn create(&self, db: &Database) -> Result<Tables, osier::Error> {
        for schema in [schema::accounts::schema(), schema::savings::schema(), schema::checking::schema()] {
            db.create_table(schema?)?;
        }
        Journal::create(db, self.has_journal)?;
        self.open(db)
    }

    fn open(&self, db: &Database) -> Result<Tables, osier::Error> {
        Ok(Tables {
            accounts: db.table(schema::accounts::TABLE)?,
            savings: db.table(schema::savings::TABLE)?,
            checking: db.table(schema::checking::TABLE)?,
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
        loader::load(db, tables, self.accounts, threads, seed, observe)
    }

    fn rows_expected(&self) -> u64 {
        self.accounts * if self.has_journal { 4 } else { 3 }
    }

    fn is_read_only(&self, request: &Request) -> bool {
        matches!(request, Request::Balance { .. })
    }

    fn transact(
        &self,
        tx: &Transaction<'_>,
        tables: &Tables,
        request: &Request,
        number: i64,
    ) -> Result<Decision<Recorded>, Failure> {
        match request {
            Request::Amalgamate { from, to } => transactions::amalgamate(tx, tables, number, *from, *to),
            Request::Balance { name } => transactions::balance(tx, tables, name.as_str()),
            Request::DepositChecking { name, amount } => {
                transactions::deposit_checking(tx, tables, number, name.as_str(), *amount)
            }
            Request::SendPayment { from, to, amount } => {
                transactions::send_payment(tx, tables, number, *from, *to, *amount)
            }
            Request::TransactSavings { name, amount } => {
                transactions::transact_savings(tx, tables, number, name.as_str(), *amount)
            }
            Request::WriteCheck { name, amount } => {
                transactions::write_check(tx, tables, number, name.as_str(), *amount)
            }
        }
    }

    fn procedures(&self) -> Vec<&'static str> {
        vec![if self.has_journal { journal::PROCEDURE } else { journal::NO_PROCEDURE }, PROCEDURES]
    }

    fn call<'r>(&self, request: &'r Request, number: i64) -> Call<'r> {
        let entry = Argument::from(number);
        let money = |amount| Argument::from(Value::Numeric(amount));
        match request {
            Request::Amalgamate { from, to } => Call::new("amalgamate", [entry, (*from).into(), (*to).into()]),
            Request::Balance { name } => Call::new("balance", [name.as_str().into()]),
            Request::DepositChecking { name, amount } => {
                Call::new("deposit_checking", [entry, name.as_str().into(), money(*amount)])
            }
            Request::SendPayment { from, to, amount } => {
                Call::new("send_payment", [entry, (*from).into(), (*to).into(), money(*amount)])
            }
            Request::TransactSavings { name, amount } => {
                Call::new("transact_savings", [entry, name.as_str().into(), money(*amount)])
            }
            Request::WriteCheck { name, amount } => {
                Call::new("write_check", [entry, name.as_str().into(), money(*amount)])
            }
        }
    }

    fn returned(&self, request: &Request, number: i64, output: &Output) -> Option<Recorded> {
        match request {
            Request::Balance { .. } => Some(Recorded::NOTHING),
            _ => Some(Recorded::of_call(self.has_journal, number, output)),
        }
    }

    fn refused(&self, _request: &Request, refusal: &Refusal<'_>) -> Option<Recorded> {
        (refusal.sqlstate == calls::REFUSED).then_some(Recorded::NOTHING)
    }
}

impl Conditions for SmallBank {
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
        consistency::check(session, tables, self.accounts, observe)
    }
}
