//! That the procedures of a workload do what its transactions in Rust do: the same requests on two databases, one after the
//! other, with the same outcome and evidence each time, and the same rows in all tables at the end.

use std::fmt::Debug;

use osier::table::{Datum, KeyRange};
use osier::{Config, Database, Durability, Protocol};

use crate::bank::Bank;
use crate::calls::{self, Issue};
use crate::conditions::Conditions;
use crate::in_process::InProcessTarget;
use crate::smallbank::SmallBank;
use crate::tpcc::{Mix, Scale, Tpcc};
use crate::voter::Voter;
use crate::ycsb::target::YcsbTarget;
use crate::ycsb::{self, Variant, Ycsb, YcsbConfig};
use crate::{Client, Outcome, Target, TargetError, Workload};

/// Requests of each workload.
const REQUESTS: usize = 4000;

fn database() -> Database {
    Database::open(Config::new("no-directory-is-made-without-a-log").protocol(Protocol::None)).unwrap()
}

/// All rows of these tables. Times up to `loaded` are those of loading, which differ.
fn state(db: &Database, tables: &[&str], loaded: i64) -> Vec<Vec<Datum>> {
    let same = |value| match value {
        Datum::Timestamp(time) if time <= loaded => Datum::Timestamp(0),
        value => value,
    };
    let rows = |tx: &osier::Transaction<'_>| {
        let mut rows = Vec::new();
        for name in tables {
            let table = tx.table(name)?;
            for row in tx.scan(&table, KeyRange::all())? {
                rows.push(row?.values().map(|value| same(Datum::from(value))).collect());
            }
        }
        Ok::<Vec<Vec<Datum>>, osier::Error>(rows)
    };
    db.run(rows).unwrap().0
}

/// Executes each request with both, and returns how many were rolled back.
fn compare<W: Workload<Request: Debug, Evidence: Debug + PartialEq>, T: Target<W>>(
    workload: &W,
    rust: &T,
    calls: &T,
) -> usize {
    let (mut rust, mut calls) = (rust.client(0).unwrap(), calls.client(0).unwrap());
    let mut rolled_back = 0;
    for request in workload.requests(0, 1, 17).take(REQUESTS) {
        let told = |error: TargetError| panic!("{request:?}: {error}");
        let expected = rust.execute(&request).unwrap_or_else(told);
        let found = calls.execute(&request).unwrap_or_else(told);
        assert_eq!((found.outcome, &found.evidence), (expected.outcome, &expected.evidence), "{request:?}");
        rolled_back += usize::from(found.outcome == Outcome::RolledBack);
    }
    rolled_back
}

/// Returns how many were rolled back.
fn is_the_same<W>(workload: &W, tables: &[&str]) -> usize
where
    W: Conditions<Request: Debug, Evidence: Debug + PartialEq>,
{
    let [rust, calls] = [Issue::Rust, Issue::Calls { ad_hoc_percent: 0 }].map(|issue| {
        let db = database();
        let tables = workload.create(&db).unwrap();
        workload.load(&db, &tables, 2, 7, &|_| ()).unwrap();
        calls::create(&db, &workload.procedures()).unwrap();
        let target = InProcessTarget::new(db.clone(), workload.clone(), Durability::Durable, 1).unwrap();
        (db, target.issuing(issue))
    });
    let loaded = crate::tpcc::input::now_us();
    let before = state(&rust.0, tables, loaded);
    assert!(before == state(&calls.0, tables, loaded), "the load is the same");
    let rolled_back = compare(workload, &rust.1, &calls.1);
    let after = state(&rust.0, tables, loaded);
    assert!(before != after, "the requests change something");
    for (found, expected) in state(&calls.0, tables, loaded).iter().zip(&after) {
        assert_eq!(found, expected);
    }
    assert_eq!(state(&calls.0, tables, loaded).len(), after.len());
    rolled_back
}

#[test]
fn tpcc_is_the_same() {
    let scale = Scale { warehouses: 2, items: 200, customers: 60 };
    let tables = ["warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock"];
    assert!(is_the_same(&Tpcc { scale, mix: Mix::Standard }, &tables) > 5);
}

#[test]
fn smallbank_is_the_same() {
    // Few customers, so that some of them run out of money.
    for has_journal in [false, true] {
        let bank = SmallBank { accounts: 5, hot_accounts: 2, hot_percent: 0, has_journal };
        let tables = ["accounts", "savings", "checking", "journal"];
        let rolled_back = is_the_same(&bank, &tables[..if has_journal { 4 } else { 3 }]);
        assert!(rolled_back > 100, "{rolled_back}");
    }
}

#[test]
fn voter_is_the_same() {
    let voter = Voter { contestants: 6, votes_max: 2, phones: 3 };
    let tables = ["contestants", "area_code_state", "votes", "votes_by_phone_number"];
    assert!(is_the_same(&voter, &tables) > 100);
}

#[test]
fn bank_is_the_same() {
    for has_journal in [false, true] {
        let bank = Bank { people: 99, nations: 5, has_journal };
        let tables = ["family", "current", "saving", "stats", "journal"];
        assert_eq!(is_the_same(&bank, &tables[..if has_journal { 5 } else { 4 }]), 0);
    }
}

#[test]
fn ycsb_is_the_same() {
    for variant in [Variant::WriteOnly, Variant::Hybrid { scan: 5 }, Variant::OneAccess, Variant::TwoAccess] {
        for is_stamped in [false, true] {
            let (records, fields, field_bytes) = (50, 3, 10);
            let config =
                YcsbConfig { variant, records, fields, field_bytes, theta: 0.5, read_fraction: 0.5, is_stamped };
            let [rust, calls] = [Issue::Rust, Issue::Calls { ad_hoc_percent: 0 }].map(|issue| {
                let db = database();
                ycsb::target::load(&db, &config, 2, &|_| ()).unwrap();
                calls::create(&db, &[&ycsb::calls::procedures(&config)]).unwrap();
                let target = YcsbTarget::new(db.clone(), config.clone(), Durability::Durable, 1).unwrap();
                (db, target.issuing(issue))
            });
            let before = state(&rust.0, &["usertable"], 0);
            assert_eq!(compare(&Ycsb::new(config), &rust.1, &calls.1), 0);
            let after = state(&rust.0, &["usertable"], 0);
            assert_eq!(state(&calls.0, &["usertable"], 0), after, "{variant:?}");
            assert!(before != after);
        }
    }
}
