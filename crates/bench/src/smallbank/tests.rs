//! SmallBank on a small database without a log: what is loaded, what the transactions do, and that the checks can fail.

use std::collections::BTreeSet;

use osier::Database;
use osier::table::{KeyRange, Value};

use super::consistency::CONDITIONS;
use super::input::CustomerName;
use super::schema::{checking, savings};
use super::transactions::*;
use super::*;
use crate::Outcome;
use crate::in_process::LOADED_MAX;
use crate::journal::{Entry, journal};
use crate::trial::{Break, change, delete, execute_one, loaded, run_collecting, violations};

const BANK: SmallBank = SmallBank { accounts: 600, hot_accounts: 10, hot_percent: 0, has_journal: true };
/// The number of a request.
const ENTRY: i64 = LOADED_MAX + 1;

/// Runs one transaction, and says whether it committed.
fn commits(db: &Database, body: impl Fn(&Transaction<'_>) -> Result<Decision<Recorded>, Failure>) -> bool {
    execute_one(db, body).0 == Outcome::Committed
}

/// Savings and checking of a customer, in cents.
fn balances(db: &Database, tables: &Tables, custid: i64) -> (i64, i64) {
    let key = [Value::Int(custid)];
    let read = |tx: &Transaction<'_>| {
        let savings = tx.get(&tables.savings, &key)?.unwrap().numeric(savings::BAL);
        Ok::<_, osier::Error>((savings, tx.get(&tables.checking, &key)?.unwrap().numeric(checking::BAL)))
    };
    db.run(read).unwrap().0
}

fn set(db: &Database, tables: &Tables, custid: i64, (savings, checking): (i64, i64)) {
    let key = [Value::Int(custid)];
    db.run(|tx| {
        tx.update(&tables.savings, &key, &[(savings::BAL, Value::Numeric(savings))])?;
        tx.update(&tables.checking, &key, &[(checking::BAL, Value::Numeric(checking))])
    })
    .unwrap();
}

#[test]
fn the_load_is_consistent_with_and_without_a_journal() {
    for has_journal in [false, true] {
        let bank = SmallBank { has_journal, ..BANK };
        let (db, tables) = loaded(&bank);
        assert_eq!(violations(&db, &tables, &bank), []);
        let (savings, checking) = balances(&db, &tables, 600);
        assert!(loader::OPENING_BALANCE.contains(&savings) && loader::OPENING_BALANCE.contains(&checking));
    }
}

#[test]
fn each_transaction_does_what_the_paper_says() {
    let (db, tables) = loaded(&BANK);
    let name = CustomerName::of(1);
    set(&db, &tables, 1, (3000, 700));
    set(&db, &tables, 2, (10, 20));
    let now = || (balances(&db, &tables, 1), balances(&db, &tables, 2));

    assert!(commits(&db, |tx| balance(tx, &tables, name.as_str())));
    assert!(commits(&db, |tx| deposit_checking(tx, &tables, ENTRY, name.as_str(), 130)));
    assert_eq!(now(), ((3000, 830), (10, 20)));
    assert!(commits(&db, |tx| transact_savings(tx, &tables, ENTRY + 1, name.as_str(), -2020)));
    assert_eq!(now(), ((980, 830), (10, 20)));
    assert!(commits(&db, |tx| send_payment(tx, &tables, ENTRY + 2, 1, 2, 500)));
    assert_eq!(now(), ((980, 330), (10, 520)));
    assert!(commits(&db, |tx| write_check(tx, &tables, ENTRY + 3, name.as_str(), 500)), "covered by both accounts");
    assert_eq!(now(), ((980, -170), (10, 520)));
    assert!(commits(&db, |tx| write_check(tx, &tables, ENTRY + 4, name.as_str(), 900)), "not covered: a penalty");
    assert_eq!(now(), ((980, -1070 - PENALTY), (10, 520)));
    assert!(commits(&db, |tx| amalgamate(tx, &tables, ENTRY + 5, 1, 2)));
    assert_eq!(now(), ((0, 0), (10, 520 + 980 - 1070 - PENALTY)));
}

#[test]
fn what_is_not_covered_or_unknown_is_rolled_back() {
    let (db, tables) = loaded(&BANK);
    set(&db, &tables, 1, (2019, 499));
    let (name, nobody) = (CustomerName::of(1), CustomerName::of(601));
    assert!(!commits(&db, |tx| transact_savings(tx, &tables, ENTRY, name.as_str(), -2020)));
    assert!(!commits(&db, |tx| send_payment(tx, &tables, ENTRY, 1, 2, 500)));
    assert!(!commits(&db, |tx| deposit_checking(tx, &tables, ENTRY, name.as_str(), -1)));
    assert!(!commits(&db, |tx| balance(tx, &tables, nobody.as_str())));
    assert!(!commits(&db, |tx| deposit_checking(tx, &tables, ENTRY, nobody.as_str(), 1)));
    assert!(!commits(&db, |tx| transact_savings(tx, &tables, ENTRY, nobody.as_str(), 1)));
    assert!(!commits(&db, |tx| write_check(tx, &tables, ENTRY, nobody.as_str(), 1)));
    for (from, to) in [(1, 601), (601, 1)] {
        assert!(!commits(&db, |tx| send_payment(tx, &tables, ENTRY, from, to, 1)));
        assert!(!commits(&db, |tx| amalgamate(tx, &tables, ENTRY, from, to)));
    }
    assert_eq!(balances(&db, &tables, 1), (2019, 499));
    let entries = db.run(|tx| {
        let table = db.table(journal::TABLE)?;
        tx.scan(&table, KeyRange::all())?.try_fold(0, |n, row| row.map(|_| n + 1))
    });
    assert_eq!(entries.unwrap().0, BANK.accounts, "nothing but the opening balances");
}

#[test]
fn every_condition_can_be_violated() {
    let breaks: [Break<'_, Tables>; 6] = [
        &|tx, tables| delete(tx, &tables.accounts, &[Value::Int(3)]),
        &|tx, tables| Ok(tx.insert(&tables.accounts, &[Value::Int(601), Value::Text("somebody")])?),
        &|tx, tables| {
            tables.journal.record(tx, &Entry::of_one(ENTRY, 3, -6_000_000))?;
            let change = |old| Value::Numeric(old - 6_000_000);
            let old = tx.get(&tables.savings, &[Value::Int(3)])?.unwrap().numeric(savings::BAL);
            tx.update(&tables.savings, &[Value::Int(3)], &[(savings::BAL, change(old))])?;
            Ok(())
        },
        &|tx, tables| {
            // A cent too much in one account and too little in another: the total is right.
            for (custid, change) in [(3, 1), (4, -1)] {
                let old = tx.get(&tables.checking, &[Value::Int(custid)])?.unwrap().numeric(checking::BAL);
                tx.update(&tables.checking, &[Value::Int(custid)], &[(checking::BAL, Value::Numeric(old + change))])?;
            }
            Ok(())
        },
        &|tx, tables| tables.journal.record(tx, &Entry::of_one(ENTRY, 3, 1)).map(drop),
        &|tx, tables| tables.journal.record(tx, &Entry::of_one(ENTRY, 601, 0)).map(drop),
    ];
    let mut broken = BTreeSet::new();
    for (breaks, (condition, count)) in breaks.iter().zip([(1, 1), (1, 1), (2, 1), (3, 2), (3, 1), (3, 1)]) {
        let (db, tables) = loaded(&BANK);
        change(&db, |tx| breaks(tx, &tables));
        let found = violations(&db, &tables, &BANK);
        assert_eq!(found.iter().map(|v| v.condition).collect::<Vec<_>>(), vec![condition; count], "{found:?}");
        broken.insert(condition);
    }
    assert_eq!(broken.len(), CONDITIONS);
}

#[test]
fn a_run_keeps_the_conditions_and_facts_are_found() {
    for bank in [BANK, SmallBank { hot_percent: 90, ..BANK }, SmallBank { has_journal: false, ..BANK }] {
        let (db, tables) = loaded(&bank);
        let (result, facts) = run_collecting(&db, &bank, 5000);
        assert!(result.kinds.iter().all(|count| *count > 300) && result.rolled_back > 0, "{result:?}");
        assert_eq!(violations(&db, &tables, &bank), []);
        let writers = result.committed - result.kinds[1];
        assert_eq!(facts.len() as u64, if bank.has_journal { writers } else { 0 });
        if !bank.has_journal {
            assert!(db.table(journal::TABLE).is_err(), "no journal unless it is asked for");
        }
        for fact in facts {
            let is_found = || db.run(|tx| bank.is_found(tx, &tables, &fact)).unwrap().0;
            assert!(is_found(), "{fact:?}");
            let table = db.table(journal::TABLE).unwrap();
            db.run(|tx| tx.delete(&table, &[Value::Int(fact.id)])).unwrap();
            assert!(!is_found(), "{fact:?}");
        }
    }
}
