//! The journal of a bank: a row for each transaction that changed a balance, written by that transaction.
//!
//! It is no part of the workloads that have it, but an option: without it nobody can tell from the tables which deposits
//! survived a crash, because one that was not acknowledged may have survived or not. With it every consistent state satisfies
//! an exact equation: what an account holds is the sum of what the journal says of it, the opening balance included. A
//! transaction of which only a part survived, or one that is missing below another that built on it, breaks the equation. And
//! an acknowledged transaction proves that its row is there.
//!
//! Invariants:
//! - Each row has a number that is never used twice: the account's own for the opening balance, the request's for all others.
//! - Rows are only added. So the journal puts no two transactions in order that were not in order without it.

use osier::call::Output;
use osier::table::{ColumnId, Schema, SchemaError, Type, Value};
use osier::{Database, Session, Table, Transaction};

use crate::TargetError;
use crate::attempt::Failure;
use crate::calls;
use crate::conditions::visit_rows;
use crate::crash::{Evidence, FACT_BYTES, Fact};
use crate::in_process::LOADED_MAX;
use crate::schema::{BIGINT, INT, table};

/// The procedure with which others record what they changed.
pub(crate) const PROCEDURE: &str = include_str!("procedures/journal.osier");
/// The same where no journal is kept.
pub(crate) const NO_PROCEDURE: &str = include_str!("procedures/no_journal.osier");

/// Amounts of any size.
pub(crate) const AMOUNT: Type = Type::Numeric { precision: Type::PRECISION_MAX, scale: 2 };

table! {
    /// One row per transaction that changed a balance.
    journal {
        J_ID: BIGINT, J_ACCOUNT: BIGINT, J_CHANGE: AMOUNT, J_OTHER: BIGINT nullable, J_OTHER_CHANGE: AMOUNT,
        J_COUNTER: INT nullable,
    }
    key (J_ID)
}

/// What a transaction changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub id: i64,
    /// The first account that it changed.
    pub account: i64,
    /// By how much, in cents.
    pub change: i64,
    /// The second account and its change, where there is one.
    pub other: Option<(i64, i64)>,
    /// The counter that it raised by one, where the workload has counters.
    pub counter: Option<u32>,
}

impl Entry {
    /// A change of one account.
    pub fn of_one(id: i64, account: i64, change: i64) -> Entry {
        Entry { id, account, change, other: None, counter: None }
    }
}

/// The journal, or that there is none.
#[derive(Clone, Debug)]
pub struct Journal(Option<Table>);

impl Journal {
    /// Creates the journal, if one is kept.
    pub fn create(db: &Database, is_kept: bool) -> Result<Journal, osier::Error> {
        if is_kept {
            db.create_table(journal::schema()?)?;
        }
        Journal::open(db, is_kept)
    }

    /// Opens the journal, if one is kept.
    pub fn open(db: &Database, is_kept: bool) -> Result<Journal, osier::Error> {
        Ok(Journal(if is_kept { Some(db.table(journal::TABLE)?) } else { None }))
    }

    /// Whether there is one.
    pub fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Writes an account's opening balance. Returns the number of rows.
    pub fn open_account(&self, tx: &Transaction<'_>, account: i64, balance: i64) -> Result<u64, Failure> {
        assert!((1..=LOADED_MAX).contains(&account), "account {account} has the number of a request");
        self.record(tx, &Entry::of_one(account, account, balance))?;
        Ok(u64::from(self.is_kept()))
    }

    /// Writes the row of a transaction. Returns what the acknowledgement will prove.
    pub fn record(&self, tx: &Transaction<'_>, entry: &Entry) -> Result<Recorded, Failure> {
        let Some(table) = &self.0 else { return Ok(Recorded::NOTHING) };
        let Entry { id, account, change, other, counter } = *entry;
        let (other, other_change) = other.map_or((Value::Null, 0), |(other, change)| (Value::Int(other), change));
        let counter = counter.map_or(Value::Null, |counter| Value::Int(counter.into()));
        let (change, other_change) = (Value::Numeric(change), Value::Numeric(other_change));
        tx.insert(table, &[Value::Int(id), Value::Int(account), change, other, other_change, counter])?;
        Ok(Recorded(Some(JournalFact { id, account, change: entry.change })))
    }

    /// Whether the row of an acknowledged transaction is there.
    pub fn is_found(&self, tx: &Transaction<'_>, fact: &JournalFact) -> Result<bool, Failure> {
        let Some(table) = &self.0 else { return Ok(false) };
        let row = tx.get(table, &[Value::Int(fact.id)])?;
        Ok(row.is_some_and(|row| {
            row.int(journal::J_ACCOUNT) == fact.account && row.numeric(journal::J_CHANGE) == fact.change
        }))
    }

    /// Adds up what the journal says of accounts 1 to `accounts` and counters 1 to `counters`; `None` where none is kept.
    pub fn sums(
        &self,
        session: &mut Session,
        accounts: u64,
        counters: u32,
        observe: &mut dyn FnMut(u64),
    ) -> Result<Option<Sums>, TargetError> {
        let Some(table) = &self.0 else { return Ok(None) };
        let mut sums =
            Sums { accounts: vec![0; accounts as usize], counters: vec![0; counters as usize], unknown: Vec::new() };
        visit_rows(
            session,
            table,
            observe,
            |row| Entry {
                id: row.int(journal::J_ID),
                account: row.int(journal::J_ACCOUNT),
                change: row.numeric(journal::J_CHANGE),
                other: (!row.is_null(journal::J_OTHER))
                    .then(|| (row.int(journal::J_OTHER), row.numeric(journal::J_OTHER_CHANGE))),
                counter: (!row.is_null(journal::J_COUNTER)).then(|| row.int(journal::J_COUNTER) as u32),
            },
            |entry| sums.add(&entry),
        )?;
        Ok(Some(sums))
    }
}

/// What the journal says of all accounts and counters.
#[derive(Debug)]
pub struct Sums {
    accounts: Vec<i64>,
    counters: Vec<i64>,
    /// Entries about accounts or counters that do not exist.
    pub unknown: Vec<Entry>,
}

impl Sums {
    fn add(&mut self, entry: &Entry) {
        let Entry { account, change, other, counter, .. } = *entry;
        let mut is_known = add_at(&mut self.accounts, account, change);
        if let Some((other, change)) = other {
            is_known &= add_at(&mut self.accounts, other, change);
        }
        if let Some(counter) = counter {
            is_known &= add_at(&mut self.counters, counter.into(), 1);
        }
        if !is_known {
            self.unknown.push(*entry);
        }
    }

    /// All changes of an account, in cents.
    pub fn of_account(&self, account: i64) -> i64 {
        self.accounts[account as usize - 1]
    }

    /// How often a counter was raised.
    pub fn of_counter(&self, counter: u32) -> i64 {
        self.counters[counter as usize - 1]
    }
}

/// Adds to the sum with the number `at`, counted from 1; `false` where there is none.
fn add_at(sums: &mut [i64], at: i64, change: i64) -> bool {
    let sum = usize::try_from(at - 1).ok().and_then(|at| sums.get_mut(at));
    sum.map(|sum| *sum += change).is_some()
}

/// What an acknowledged transaction proves: that its row is there, where a journal is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded(Option<JournalFact>);

impl Recorded {
    /// Nothing was written.
    pub const NOTHING: Recorded = Recorded(None);

    /// What a call proves that returned the account and its change; nothing where it changed none or where no journal is kept.
    pub(crate) fn of_call(is_kept: bool, id: i64, output: &Output) -> Recorded {
        let (account, change) = (calls::int(output, "account"), calls::numeric(output, "change"));
        let fact = account.zip(change).map(|(account, change)| JournalFact { id, account, change });
        Recorded(fact.filter(|_| is_kept))
    }
}

/// A row of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalFact {
    /// Its number.
    pub id: i64,
    /// The account.
    pub account: i64,
    /// Its change, in cents.
    pub change: i64,
}

impl Evidence for Recorded {
    type Fact = JournalFact;

    fn facts(&self, note: impl FnMut(JournalFact)) {
        self.0.into_iter().for_each(note);
    }
}

impl Fact for JournalFact {
    fn encode(&self) -> [u8; FACT_BYTES] {
        let mut bytes = [0; FACT_BYTES];
        for (at, word) in bytes.chunks_exact_mut(8).zip([self.id, self.account, self.change]) {
            at.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8; FACT_BYTES]) -> Option<JournalFact> {
        let (words, _) = bytes.as_chunks::<8>();
        let &[id, account, change] = words else { return None };
        let [id, account, change] = [id, account, change].map(i64::from_le_bytes);
        (id > LOADED_MAX && account > 0).then_some(JournalFact { id, account, change })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_survive_encoding() {
        let fact = JournalFact { id: LOADED_MAX + 1, account: 1, change: -1 };
        assert_eq!(JournalFact::decode(&fact.encode()), Some(fact));
        assert_eq!(JournalFact::decode(&JournalFact { id: LOADED_MAX, ..fact }.encode()), None);
        assert_eq!(JournalFact::decode(&JournalFact { account: 0, ..fact }.encode()), None);
        assert_eq!(JournalFact::decode(&[0; FACT_BYTES]), None);
    }

    #[test]
    fn sums_are_of_both_accounts_and_of_the_counter() {
        let mut sums = Sums { accounts: vec![0; 2], counters: vec![0; 1], unknown: Vec::new() };
        sums.add(&Entry::of_one(1, 1, 500));
        sums.add(&Entry { other: Some((2, 30)), counter: Some(1), ..Entry::of_one(9, 1, -30) });
        assert_eq!((sums.of_account(1), sums.of_account(2), sums.of_counter(1)), (470, 30, 1));
        assert_eq!(sums.unknown, []);
        let stranger = Entry { counter: Some(2), ..Entry::of_one(10, 1, 1) };
        sums.add(&stranger);
        sums.add(&Entry::of_one(11, 0, 1));
        assert_eq!(sums.unknown, [stranger, Entry::of_one(11, 0, 1)]);
    }
}
