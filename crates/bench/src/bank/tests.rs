//! The bank on a small database without a log: what is loaded, what the transactions do, and that the checks can fail.

use std::collections::BTreeSet;

use osier::Database;
use osier::table::Value;

use super::consistency::CONDITIONS;
use super::loader::spouse;
use super::transactions::*;
use super::*;
use crate::Outcome;
use crate::in_process::LOADED_MAX;
use crate::journal::{Entry, journal};
use crate::trial::{Break, change, delete, execute_one, loaded, run_collecting, violations};

const BANK: Bank = Bank { people: 601, nations: 5, has_journal: true };
/// The number of a request.
const ENTRY: i64 = LOADED_MAX + 1;

/// Current and saving account of a person, in cents.
fn balances(db: &Database, tables: &Tables, person: i64) -> (i64, i64) {
    let key = [Value::Int(person)];
    let read = |tx: &Transaction<'_>| {
        let current = tx.get(&tables.current, &key)?.unwrap().numeric(current::BALANCE);
        Ok::<_, osier::Error>((current, tx.get(&tables.saving, &key)?.unwrap().numeric(saving::BALANCE)))
    };
    db.run(read).unwrap().0
}

fn set(tx: &Transaction<'_>, tables: &Tables, person: i64, current: i64, saving: i64) -> Result<(), Failure> {
    tx.update(&tables.current, &[Value::Int(person)], &[(current::BALANCE, Value::Numeric(current))])?;
    tx.update(&tables.saving, &[Value::Int(person)], &[(saving::BALANCE, Value::Numeric(saving))])?;
    Ok(())
}

fn deposits(db: &Database, tables: &Tables, nation: u32) -> i64 {
    let key = [Value::Int(nation.into())];
    db.run(|tx| Ok::<_, osier::Error>(tx.get(&tables.stats, &key)?.unwrap().int(stats::DEPOSITS))).unwrap().0
}

#[test]
fn spouses_have_each_other_and_some_people_have_none() {
    let unmarried = (1..=601).filter(|person| match spouse(*person, 601) {
        Some(other) => {
            assert!(other != *person && spouse(other, 601) == Some(*person), "{person} and {other}");
            false
        }
        None => true,
    });
    assert_eq!(unmarried.count(), 60 + 1, "a tenth, and the last one, who is left over");
}

#[test]
fn the_load_is_consistent_with_and_without_a_journal() {
    for has_journal in [false, true] {
        let bank = Bank { has_journal, ..BANK };
        let (db, tables) = loaded(&bank);
        assert_eq!(violations(&db, &tables, &bank), []);
    }
}

#[test]
fn each_transaction_does_what_the_figures_say() {
    let (db, tables) = loaded(&BANK);
    change(&db, |tx| {
        set(tx, &tables, 1, 50, 7)?;
        set(tx, &tables, 2, 999_900, 20)?;
        set(tx, &tables, 601, 5, 6)
    });
    let now = || (balances(&db, &tables, 1), balances(&db, &tables, 2));
    let commits = |body: &dyn Fn(&Transaction<'_>) -> Result<Decision<Recorded>, Failure>| {
        let (outcome, recorded) = execute_one(&db, body);
        assert_eq!(outcome, Outcome::Committed);
        recorded != Recorded::NOTHING
    };

    assert!(commits(&|tx| transfer(tx, &tables, ENTRY, 1, 60)));
    assert_eq!(now(), ((-10, 7 + TRANSFER_BONUS), (999_960, 20)));
    assert!(!commits(&|tx| transfer(tx, &tables, ENTRY + 1, 601, 5)), "no spouse");
    assert_eq!(balances(&db, &tables, 601), (5, 6));

    assert!(commits(&|tx| deposit(tx, &tables, ENTRY + 2, 2, 40, 3)), "not above the threshold, but at it");
    assert_eq!((now().1, deposits(&db, &tables, 3)), ((LARGE, 20), 0));
    assert!(commits(&|tx| deposit(tx, &tables, ENTRY + 3, 2, 1, 3)));
    assert_eq!((now().1, deposits(&db, &tables, 3)), ((LARGE + 1, 20 + 20_000), 1));
}

#[test]
fn a_bonus_is_rounded_as_sql_rounds() {
    assert_eq!([0, 24, 25, 50, 74, 75, 1_000_000].map(bonus), [0, 0, 1, 1, 1, 2, 20_000]);
    assert_eq!([-24, -25, -75].map(bonus), [0, -1, -2]);
}

#[test]
fn every_condition_can_be_violated() {
    let breaks: [(u8, Break<'_, Tables>); 8] = [
        (1, &|tx, tables| delete(tx, &tables.stats, &[Value::Int(5)])),
        (1, &|tx, tables| Ok(tx.insert(&tables.family, &[Value::Int(602), Value::Null])?)),
        (2, &|tx, tables| {
            tx.update(&tables.family, &[Value::Int(1)], &[(family::SPOUSE, Value::Int(3))])?;
            Ok(())
        }),
        (3, &|tx, tables| {
            let old = tx.get(&tables.saving, &[Value::Int(9)])?.unwrap().numeric(saving::BALANCE);
            tx.update(&tables.saving, &[Value::Int(9)], &[(saving::BALANCE, Value::Numeric(old + 1))])?;
            Ok(())
        }),
        (3, &|tx, tables| tables.journal.record(tx, &Entry::of_one(ENTRY, 3, 1)).map(drop)),
        (3, &|tx, tables| tables.journal.record(tx, &Entry::of_one(ENTRY, 602, 0)).map(drop)),
        (4, &|tx, tables| {
            tx.update(&tables.stats, &[Value::Int(2)], &[(stats::DEPOSITS, Value::Int(1))])?;
            Ok(())
        }),
        (4, &|tx, tables| {
            let entry = Entry { counter: Some(4), ..Entry::of_one(ENTRY, 3, 0) };
            tables.journal.record(tx, &entry).map(drop)
        }),
    ];
    for (condition, breaks) in breaks {
        let (db, tables) = loaded(&BANK);
        change(&db, |tx| breaks(tx, &tables));
        let found = violations(&db, &tables, &BANK);
        assert_eq!(found.iter().map(|v| v.condition).collect::<Vec<_>>(), [condition], "{found:?}");
    }
    assert_eq!(breaks.map(|(condition, _)| condition).into_iter().collect::<BTreeSet<_>>().len(), CONDITIONS);
}

#[test]
fn a_run_keeps_the_conditions_and_facts_are_found() {
    for bank in [BANK, Bank { people: 20, nations: 2, ..BANK }, Bank { has_journal: false, ..BANK }] {
        let (db, tables) = loaded(&bank);
        let (result, facts) = run_collecting(&db, &bank, 5000);
        assert!(result.kinds.iter().all(|count| *count > 2000), "{result:?}");
        assert_eq!(violations(&db, &tables, &bank), []);
        assert!((1..=bank.nations).all(|nation| deposits(&db, &tables, nation) > 100), "large deposits are made");
        if !bank.has_journal {
            assert!(facts.is_empty() && db.table(journal::TABLE).is_err(), "no journal unless it is asked for");
            continue;
        }
        assert!(facts.len() > 4000, "{} of 5000 changed something", facts.len());
        let table = db.table(journal::TABLE).unwrap();
        for fact in facts {
            let is_found = || db.run(|tx| bank.is_found(tx, &tables, &fact)).unwrap().0;
            assert!(is_found(), "{fact:?}");
            db.run(|tx| tx.delete(&table, &[Value::Int(fact.id)])).unwrap();
            assert!(!is_found(), "{fact:?}");
        }
    }
}
