//! Rows and definitions that were logged as values, among commands and before and behind generations of them.

use super::shop::{ADD, APPEND, MULTIPLY, Shop, call, command, named, row, run, survives};
use super::some_calls;
use crate::config::{Logged, Protocol};
use crate::database::Database;
use crate::error::Error;
use crate::recovery::RecoveryReport;
use crate::table::{Argument, Value};
use crate::transaction::Transaction;

/// Runs a transaction that logs values, durably.
fn values(db: &Database, body: impl Fn(&Transaction<'_>) -> Result<(), Error>) {
    db.run(body).unwrap().1.wait().unwrap();
}

fn report(shop: &Shop) -> RecoveryReport {
    shop.crashed().open().recovery().unwrap().clone()
}

#[test]
fn changes_of_rows_take_their_place_among_commands() {
    let (shop, db) = Shop::with_counters();
    let mut session = db.session().unwrap();
    let table = db.table("counter").unwrap();
    let n = table.column("n").unwrap();
    for round in 0..3 {
        call(&mut session, ADD, &[1, 4]);
        // What changed in the row that the command wrote.
        values(&db, |tx| {
            let double = |row: &crate::table::Row<'_>, changes: &mut crate::transaction::Changes<'_>| {
                changes.set(n, Value::Int(row.int(n) * 2 + 1));
                Ok::<_, Error>(())
            };
            tx.update_with(&table, &[Value::Int(1)], double).map(drop)
        });
        call(&mut session, MULTIPLY, &[1, 3]);
        values(&db, |tx| tx.upsert(&table, &row(50 + round, 1)));
        call(&mut session, APPEND, &[]);
        values(&db, |tx| tx.delete(&table, &[Value::Int(50 + round)]).map(drop));
        values(&db, |tx| tx.delete_blind(&table, &[Value::Int(777)]));
        values(&db, |tx| {
            tx.delete(&table, &[Value::Int(1)])?;
            tx.insert(&table, &row(1, round))
        });
        call(&mut session, APPEND, &[]).wait().unwrap();
    }
    survives(&shop, &db);
    let report = report(&shop);
    assert_eq!((report.commands, report.ordered), (4 * 3, 1 + 9 * 3), "{report}");
}

#[test]
fn a_transaction_in_parts_takes_its_place_among_commands() {
    let (shop, db) = Shop::with_counters();
    let mut session = db.session().unwrap();
    let table = db.table("counter").unwrap();
    call(&mut session, ADD, &[3, 4]);
    values(&db, |tx| (10..2000).try_for_each(|id| tx.insert(&table, &row(id, id))));
    call(&mut session, ADD, &[11, 5]);
    values(&db, |tx| {
        let table = tx.create_index(&table, "by_n", &["n"], false)?;
        (10..2000).try_for_each(|id| tx.upsert(&table, &row(id, -id)))
    });
    call(&mut session, ADD, &[12, 5]);
    call(&mut session, APPEND, &[]).wait().unwrap();
    survives(&shop, &db);
}

/// Two rows of one transaction exchange a value that is unique, and others take what is free by then.
#[test]
fn a_unique_value_moves_between_rows_of_one_transaction() {
    let (shop, db) = Shop::with_counters();
    let table = db.run(|tx| tx.create_index(&tx.table("counter")?, "by_n", &["n"], true)).unwrap().0;
    let mut session = db.session().unwrap();
    (1..9).for_each(|id| drop(call(&mut session, ADD, &[id, 10 * id])));
    values(&db, |tx| {
        (1..9).try_for_each(|id| tx.delete(&table, &[Value::Int(id)]).map(drop))?;
        (1..9).try_for_each(|id| tx.insert(&table, &row(9 - id, 10 * id)))?;
        tx.insert(&table, &row(20, 5))
    });
    call(&mut session, ADD, &[20, 1]);
    values(&db, |tx| {
        tx.delete(&table, &[Value::Int(20)])?;
        tx.insert(&table, &row(0, 6))
    });
    call(&mut session, APPEND, &[]).wait().unwrap();
    survives(&shop, &db);
}

#[test]
fn definitions_change_between_commands() {
    let (shop, db) = Shop::with_counters();
    let mut rng = fastrand::Rng::with_seed(5);
    let step = |db: &Database, rng: &mut fastrand::Rng, body: &dyn Fn(&Transaction<'_>) -> Result<(), Error>| {
        some_calls(db, rng, 20);
        values(db, body);
        some_calls(db, rng, 20);
        survives(&shop, db);
    };
    // An index over the rows of commands, which keep it from then on.
    step(&db, &mut rng, &|tx| tx.create_index(&tx.table("counter")?, "by_n", &["n"], false).map(drop));
    // A table with rows, which is there twice under one name, and once within one transaction.
    step(&db, &mut rng, &|tx| {
        let table = tx.create_table(named("other").unique_index("by_n", ["n"]).build()?)?;
        (0..9).try_for_each(|id| tx.insert(&table, &row(id, -id)))
    });
    step(&db, &mut rng, &|tx| tx.upsert(&tx.table("other")?, &row(3, 300)));
    step(&db, &mut rng, &|tx| tx.drop_table(&tx.table("other")?));
    step(&db, &mut rng, &|tx| {
        let table = tx.create_table(named("other").build()?)?;
        tx.insert(&table, &row(1, 1))
    });
    step(&db, &mut rng, &|tx| {
        tx.insert(&tx.table("other")?, &row(2, 2))?;
        tx.drop_table(&tx.table("other")?)?;
        let table = tx.create_table(named("other").index("by_n", ["n"]).build()?)?;
        tx.insert(&table, &row(7, 7))
    });
    // Rows leave before the index that would not have held them both, and come when another one is gone.
    step(&db, &mut rng, &|tx| tx.insert(&tx.table("other")?, &row(8, 7)));
    step(&db, &mut rng, &|tx| {
        let table = tx.table("other")?;
        tx.delete(&table, &[Value::Int(7)])?;
        let table = tx.create_index(&table, "one_n", &["n"], true)?;
        tx.insert(&table, &row(9, 9))
    });
    step(&db, &mut rng, &|tx| {
        let table = tx.drop_index(&tx.table("other")?, "one_n")?;
        tx.insert(&table, &row(10, 9))?;
        let table = tx.drop_index(&table, "by_n")?;
        tx.create_index(&table, "by_padding", &["padding", "n"], false).map(drop)
    });
    step(&db, &mut rng, &|tx| tx.drop_index(&tx.table("counter")?, "by_n").map(drop));
    db.checkpoint().unwrap();
    step(&db, &mut rng, &|tx| tx.insert(&tx.create_table(named("third").build()?)?, &row(1, 1)));
}

/// A new table gets none of the ids of those that there were, dropped ones included.
#[test]
fn ids_of_tables_are_not_given_again() {
    let (shop, db) = Shop::with_counters();
    let other = db.create_table(named("other").build().unwrap()).unwrap();
    call(&mut db.session().unwrap(), ADD, &[1, 1]);
    values(&db, |tx| tx.insert(&other, &row(1, 1)));
    values(&db, |tx| tx.drop_table(&other));
    let recovered = shop.crashed().open();
    let third = recovered.create_table(named("third").build().unwrap()).unwrap();
    assert!(third.id() > other.id(), "{:?} was given again", third.id());
}

/// What no record can hold as a command, and what changes definitions, is logged as values.
#[test]
fn what_cannot_be_a_command_is_logged_as_values() {
    let (shop, db) = Shop::with_counters();
    let mut session = db.session().unwrap();
    let long = "x".repeat(20_000);
    let arguments = [Argument::from(1_i64), Argument::from(5_i64), Argument::from(long.as_str())];
    run(&mut session, &command(ADD, &arguments), true).unwrap();
    let tx = session.begin();
    tx.create_table(named("other").build().unwrap()).unwrap();
    tx.commit_command(command(ADD, &[]), true, 0).unwrap().0.wait().unwrap();
    // Nothing was written, so that nothing is logged.
    session.begin().commit_command(command(ADD, &[]), true, 0).unwrap().0.wait().unwrap();
    survives(&shop, &db);
    assert_eq!((report(&shop).commands, report(&shop).ordered), (0, 3));
}

/// Where the database logs values, a procedure logs what it wrote.
#[test]
fn a_database_that_logs_values_logs_no_command() {
    let shop = Shop::new().as_of(Protocol::Poplar, 2, Logged::Values);
    let db = shop.open();
    db.create_table(super::shop::schema()).unwrap();
    some_calls(&db, &mut fastrand::Rng::with_seed(5), 50);
    survives(&shop, &db);
    let report = report(&shop);
    assert_eq!((report.commands, report.ordered), (0, 0), "{report}");
    assert!(report.replayed > 40, "{report}");
}

/// Values on several streams, commands on one, values again, commands again: of each life something is left for the next ones.
#[test]
fn generations_of_values_and_of_commands_follow_each_other() {
    let mut shop = Shop::new().as_of(Protocol::Poplar, 3, Logged::Values);
    let db = shop.open();
    db.create_table(super::shop::schema()).unwrap();
    let mut rng = fastrand::Rng::with_seed(8);
    let live = |db: &Database, rng: &mut fastrand::Rng| {
        let threads = (0..3).map(|_| {
            let (db, seed) = (db.clone(), rng.u64(..));
            std::thread::spawn(move || some_calls(&db, &mut fastrand::Rng::with_seed(seed), 60))
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let table = db.table("counter").unwrap();
        values(db, |tx| tx.upsert(&table, &row(100, 1)));
        values(db, |tx| tx.delete(&table, &[Value::Int(100)]).map(drop));
    };
    live(&db, &mut rng);
    shop = survives(&shop, &db);
    for (life, (protocol, streams, logged)) in [
        (Protocol::Serial, 1, Logged::Commands),
        (Protocol::Poplar, 4, Logged::Values),
        (Protocol::Serial, 1, Logged::Values),
        (Protocol::Poplar, 2, Logged::Values),
        (Protocol::Serial, 1, Logged::Commands),
    ]
    .into_iter()
    .enumerate()
    {
        shop = shop.as_of(protocol, streams, logged);
        let db = shop.open();
        live(&db, &mut rng);
        if life == 3 {
            db.create_table(named("other").build().unwrap()).unwrap();
        }
        shop = survives(&shop, &db);
    }
    let report = report(&shop);
    assert!(report.ordered > report.commands && report.replayed > report.ordered, "{report}");
}

/// Not wholly covered by the checkpoint of a later generation that logs values are no commands, and none is run again.
#[test]
fn a_checkpoint_of_values_covers_the_commands_before() {
    let (shop, db) = Shop::with_counters();
    some_calls(&db, &mut fastrand::Rng::with_seed(5), 50);
    db.close().unwrap();
    let shop = shop.crashed().as_of(Protocol::Poplar, 2, Logged::Values);
    let db = shop.open();
    assert!(db.recovery().unwrap().commands > 30);
    db.checkpoint().unwrap();
    some_calls(&db, &mut fastrand::Rng::with_seed(6), 50);
    survives(&shop, &db);
    let report = report(&shop);
    assert_eq!((report.commands, report.ordered), (0, 0), "{report}");
}
