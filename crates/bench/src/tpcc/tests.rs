//! TPC-C on a small database without a log: what is loaded, what the transactions do, and that the checks can fail.

use std::time::Duration;

use osier::table::{KeyRange, Value};
use osier::{Config, Database, Durability, Error, Protocol, Table};

use super::consistency::{CONDITIONS, break_condition, check};
use super::*;
use crate::crash::Evidence as _;
use crate::driver::{Length, RunConfig, run};
use crate::in_process::InProcessTarget;
use crate::{Ledger, NoLedger};

const SCALE: Scale = Scale { warehouses: 2, items: 200, customers: 60 };

fn loaded(scale: Scale) -> (Database, Tables) {
    let config = Config::new("no-directory-is-made-without-a-log").protocol(Protocol::None);
    let db = Database::open(config).unwrap();
    let tables = Tables::create(&db).unwrap();
    let rows = loader::load(&db, &tables, scale, 2, 7, &|_| ()).unwrap();
    assert!(rows.abs_diff(loader::rows_expected(scale)) < rows / 20, "{rows} rows");
    (db, tables)
}

fn count_rows(db: &Database, table: &Table, range: KeyRange<'_>) -> usize {
    db.run(|tx| tx.scan(table, range)?.try_fold(0, |n, row| row.map(|_| n + 1))).unwrap().0
}

fn config(mix_length: u64) -> RunConfig {
    RunConfig {
        workers: 3,
        length: Length::Transactions(mix_length),
        warmup: Duration::ZERO,
        blocking: false,
        outstanding_max: 64,
        batch: 1,
        rate: None,
        timeline: false,
        latency_every: 1,
        seed: 3,
    }
}

#[test]
fn the_load_has_the_cardinalities_of_the_specification() {
    let (db, tables) = loaded(SCALE);
    let count = |table: &Table| count_rows(&db, table, KeyRange::all());
    let districts = (SCALE.warehouses * DISTRICTS) as usize;
    assert_eq!(count(&tables.warehouse), 2);
    assert_eq!(count(&tables.district), districts);
    assert_eq!(count(&tables.customer), districts * 60);
    assert_eq!(count(&tables.history), districts * 60);
    assert_eq!(count(&tables.orders), districts * 60);
    assert_eq!(count(&tables.new_order), districts * 18);
    assert_eq!(count(&tables.item), 200);
    assert_eq!(count(&tables.stock), 400);
    let first_lines = count_rows(&db, &tables.order_line, KeyRange::prefix(&[int(1), int(1), int(1)]));
    assert!((5..=15).contains(&first_lines), "{first_lines}");
    let mut session = db.session().unwrap();
    assert_eq!(check(&mut session, &tables, SCALE, || ()).unwrap(), []);
}

#[test]
fn every_condition_can_be_violated() {
    for condition in 1..=CONDITIONS as u8 {
        let (db, tables) = loaded(Scale { warehouses: 1, ..SCALE });
        let mut session = db.session().unwrap();
        break_condition(&mut session, &tables, condition);
        let violations = check(&mut session, &tables, Scale { warehouses: 1, ..SCALE }, || ()).unwrap();
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert_eq!(violations[0].condition, condition, "{violations:?}");
    }
}

#[test]
fn both_mixes_keep_the_conditions() {
    for mix in [Mix::Standard, Mix::PaymentNewOrder] {
        let (db, tables) = loaded(SCALE);
        let tpcc = Tpcc { scale: SCALE, mix };
        let target = InProcessTarget::new(db.clone(), tpcc.clone(), Durability::Durable, 1).unwrap();
        let result = run(&tpcc, &target, &config(3000), |_| NoLedger, |_, _| ()).unwrap();
        assert_eq!(result.acknowledged, 3000);
        assert!(result.rolled_back > 0, "one new order in a hundred rolls back");
        let expected_kinds = if mix == Mix::Standard { 5 } else { 2 };
        assert_eq!(result.kinds.iter().filter(|n| **n > 0).count(), expected_kinds, "{:?}", result.kinds);
        let mut session = db.session().unwrap();
        assert_eq!(check(&mut session, &tables, SCALE, || ()).unwrap(), []);
        let orders = count_rows(&db, &tables.orders, KeyRange::all()) as u64;
        assert_eq!(orders, u64::from(SCALE.warehouses * DISTRICTS * SCALE.customers) + result.kinds[0]);
    }
}

#[test]
fn every_fact_is_found_until_its_row_is_gone() {
    /// Collects the facts of one worker.
    struct Collect(Vec<TpccFact>, std::sync::mpsc::Sender<TpccFact>);
    impl Ledger<Evidence> for Collect {
        type Entry = Evidence;

        fn committed(&mut self, evidence: Evidence) -> Evidence {
            evidence
        }

        fn acknowledged(&mut self, evidence: Evidence, _latency: Option<std::time::Duration>) {
            evidence.facts(|fact| self.0.push(fact));
        }

        fn flush(&mut self) -> Result<(), TargetError> {
            self.0.drain(..).for_each(|fact| self.1.send(fact).unwrap());
            Ok(())
        }
    }

    let (db, tables) = loaded(SCALE);
    let tpcc = Tpcc { scale: SCALE, mix: Mix::Standard };
    let target = InProcessTarget::new(db.clone(), tpcc.clone(), Durability::Durable, 1).unwrap();
    let (sender, facts) = std::sync::mpsc::channel();
    run(&tpcc, &target, &config(1000), |_| Collect(Vec::new(), sender.clone()), |_, _| ()).unwrap();
    drop(sender);
    let facts: Vec<_> = facts.iter().collect();
    let kinds: std::collections::BTreeSet<_> = facts.iter().map(|fact| fact.encode_kind()).collect();
    assert_eq!(kinds.len(), 4, "orders, payments, deliveries and observations");
    let is_found = |fact: &TpccFact| db.run(|tx| fact.is_found(tx, &tables)).unwrap().0;
    for fact in &facts {
        assert!(is_found(fact), "{fact:?}");
    }
    for fact in facts {
        match fact {
            TpccFact::Order { w_id, d_id, o_id, .. } => {
                let key = [int(w_id), int(d_id), int(o_id), int(1)];
                db.run(|tx| tx.delete(&tables.order_line, &key)).unwrap();
            }
            TpccFact::Payment { w_id, h_id, .. } => {
                db.run(|tx| tx.delete(&tables.history, &[int(w_id), Value::Int(h_id)])).unwrap();
            }
            TpccFact::Delivered { w_id, d_id, o_id, .. } | TpccFact::Observed { w_id, d_id, o_id } => {
                db.run(|tx| tx.delete(&tables.orders, &[int(w_id), int(d_id), int(o_id)])).unwrap();
            }
        }
        assert!(!is_found(&fact), "{fact:?}");
    }
}

#[test]
fn the_customer_in_the_middle_is_taken() -> Result<(), Failure> {
    let (db, tables) = loaded(SCALE);
    let name = random::last_name(5);
    // Customer 6 has this name; give it to three more of the district, with first names around.
    let rename = |c_id: u32, first: &'static str| {
        let changes = [(schema::customer::C_LAST, Value::Text(name)), (schema::customer::C_FIRST, Value::Text(first))];
        db.run(|tx| tx.update(&tables.customer, &[int(1), int(1), int(c_id)], &changes)).map(|_| ())
    };
    rename(6, "C")?;
    rename(20, "A")?;
    rename(21, "B")?;
    rename(22, "D")?;
    let by_name = |name| {
        db.run(|tx| {
            let row = customer_row(tx, &tables, 1, 1, (input::CustomerBy::LastName(name), false))?;
            Ok::<_, Failure>(row.int(schema::customer::C_ID))
        })
    };
    assert_eq!(by_name(name)?.0, 21, "of A, B, C and D the second");
    assert!(by_name("NOBODY").is_err());
    let gone: Result<_, Error> =
        db.run(|tx| tx.get(&tables.customer, &[int(9), int(9), int(9)]).map(|row| row.is_none()));
    assert!(gone?.0);
    assert_eq!(Tpcc { scale: SCALE, mix: Mix::Standard }.kinds().len(), 5);
    Ok(())
}
