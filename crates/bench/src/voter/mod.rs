//! Voter: votes by telephone for the contestants of a show (the command logging paper, section V-A, and VoltDB's sample).
//!
//! [`vote`] is the one transaction, [`input`] draws the calls, [`consistency`] says what must hold. The tables are those of
//! the paper; VoltDB also maintains a view with the number of votes of each telephone, which the limit needs. Here it is a
//! table that the transaction writes.
//!
//! Departures: VOTES has a primary key (`phone_number`, `vote_id`), because every table of Osier has one; contestants are
//! drawn uniformly, where VoltDB's client gives each area code a favourite; VoltDB's second view, of votes by contestant and
//! state, is not maintained.

pub mod area_codes;
pub mod consistency;
pub mod input;
pub mod ledger;
#[cfg(test)]
mod tests;
pub mod vote;

use osier::call::Output;
use osier::table::{ColumnId, Schema, SchemaError, Table, Value};
use osier::{Database, Session, Transaction};
use serde::{Deserialize, Serialize};

use crate::attempt::{Decision, Failure};
use crate::calls::{self, Call, Refusal};
use crate::conditions::{Conditions, Violation};
use crate::in_process::InProcess;
use crate::schema::{BIGINT, INT, TEXT, table};
use crate::{TargetError, Workload, loading};
use area_codes::area_codes;
use input::{Requests, VoteInput};
pub use ledger::{Evidence, VoterFact};

/// The transaction as a procedure.
const PROCEDURE: &str = include_str!("../procedures/voter.osier");
/// With which it refuses a vote of a telephone that has cast all of its votes.
const TOO_OFTEN: &str = "P0002";

/// The workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voter {
    /// Contestants: 6 in the paper.
    pub contestants: u32,
    /// Votes of one telephone at most: 2 in the paper.
    pub votes_max: u32,
    /// Telephones of an area code: 10,000,000 in VoltDB's client, all numbers of seven digits.
    pub phones: u32,
}

impl Voter {
    /// Which transactions run, as reports say it.
    pub fn mix(&self) -> String {
        format!("{} telephones per area code", self.phones)
    }
}

table! {
    /// Who can be voted for.
    contestants {
        CONTESTANT_NUMBER: INT, CONTESTANT_NAME: TEXT,
    }
    key (CONTESTANT_NUMBER)
}

table! {
    /// In which state an area code is.
    area_code_state {
        AREA_CODE: INT, STATE: TEXT,
    }
    key (AREA_CODE)
}

table! {
    /// Every valid vote.
    votes {
        VOTE_ID: BIGINT, PHONE_NUMBER: BIGINT, STATE: TEXT, CONTESTANT_NUMBER: INT,
    }
    key (PHONE_NUMBER, VOTE_ID)
}

table! {
    /// How many votes a telephone has cast.
    votes_by_phone_number {
        PHONE_NUMBER: BIGINT, NUM_VOTES: INT,
    }
    key (PHONE_NUMBER)
}

/// Handles on the tables.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Who can be voted for.
    pub contestants: Table,
    /// In which state an area code is.
    pub area_code_state: Table,
    /// Every valid vote.
    pub votes: Table,
    /// How many votes a telephone has cast.
    pub votes_by_phone_number: Table,
}

impl Workload for Voter {
    type Request = VoteInput;
    type Evidence = Evidence;

    fn name(&self) -> &'static str {
        "voter"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["vote"]
    }

    fn kind(&self, _request: &VoteInput) -> usize {
        0
    }

    fn requests(&self, worker: u32, _workers: u32, seed: u64) -> impl Iterator<Item = VoteInput> + Send {
        Requests::new(self, worker, seed)
    }
}

impl InProcess for Voter {
    type Tables = Tables;

    fn create(&self, db: &Database) -> Result<Tables, osier::Error> {
        for schema in
            [contestants::schema(), area_code_state::schema(), votes::schema(), votes_by_phone_number::schema()]
        {
            db.create_table(schema?)?;
        }
        self.open(db)
    }

    fn open(&self, db: &Database) -> Result<Tables, osier::Error> {
        Ok(Tables {
            contestants: db.table(contestants::TABLE)?,
            area_code_state: db.table(area_code_state::TABLE)?,
            votes: db.table(votes::TABLE)?,
            votes_by_phone_number: db.table(votes_by_phone_number::TABLE)?,
        })
    }

    /// Contestants and area codes: nobody has voted yet.
    fn load(
        &self,
        db: &Database,
        tables: &Tables,
        threads: u32,
        _seed: u64,
        observe: &(impl Fn(u64) + Sync),
    ) -> Result<u64, TargetError> {
        loading::run(db, threads, &[()], observe, |tx, _, ()| {
            for number in 1..=self.contestants {
                let name = format!("contestant {number}");
                tx.insert(&tables.contestants, &[Value::Int(number.into()), Value::Text(&name)])?;
            }
            for (code, state) in area_codes() {
                tx.insert(&tables.area_code_state, &[Value::Int(code), Value::Text(state)])?;
            }
            Ok(self.rows_expected())
        })
    }

    fn rows_expected(&self) -> u64 {
        u64::from(self.contestants) + area_codes().count() as u64
    }

    fn is_read_only(&self, _request: &VoteInput) -> bool {
        false
    }

    fn transact(
        &self,
        tx: &Transaction<'_>,
        tables: &Tables,
        request: &VoteInput,
        number: i64,
    ) -> Result<Decision<Evidence>, Failure> {
        vote::run(tx, tables, number, request.phone_number, request.contestant_number, i64::from(self.votes_max))
    }

    fn procedures(&self) -> Vec<&'static str> {
        vec![PROCEDURE]
    }

    fn call<'r>(&self, request: &'r VoteInput, number: i64) -> Call<'r> {
        let VoteInput { phone_number, contestant_number } = *request;
        let votes_max = i64::from(self.votes_max);
        Call::new("vote", [number.into(), phone_number.into(), contestant_number.into(), votes_max.into()])
    }

    fn returned(&self, request: &VoteInput, number: i64, _output: &Output) -> Option<Evidence> {
        let VoteInput { phone_number, contestant_number } = *request;
        Some(Evidence::Vote { phone_number, vote_id: number, contestant_number })
    }

    fn refused(&self, request: &VoteInput, refusal: &Refusal<'_>) -> Option<Evidence> {
        match refusal.sqlstate {
            calls::REFUSED => Some(Evidence::Nothing),
            TOO_OFTEN => {
                let num_votes = refusal.last_number()?;
                Some(Evidence::Refused { phone_number: request.phone_number, num_votes })
            }
            _ => None,
        }
    }
}

impl Conditions for Voter {
    fn is_found(&self, tx: &Transaction<'_>, tables: &Tables, fact: &VoterFact) -> Result<bool, Failure> {
        fact.is_found(tx, tables)
    }

    /// Unknown: votes are what transactions have added.
    fn check_steps(&self) -> u64 {
        0
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
