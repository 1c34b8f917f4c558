//! Functions of a program as procedures: what they return, what they may not do, and what a log of their calls needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use osier::call::{OpaqueCall, OpaqueProcedure, Procedures};
use osier::config::Logged;
use osier::ids::Epoch;
use osier::procedure::program::Program;
use osier::table::{Datum, Schema, Type, Value};
use osier::{
    BackupError, Config, Database, Error, ProcedureError, Protocol, RecoveryError, SequenceOptions, Until, restore,
    restore_with, salvage, salvage_with,
};

mod support;

fn home(test: &str) -> std::path::PathBuf {
    support::directory("procedure_functions", test)
}

fn commands(home: &std::path::Path) -> Config {
    support::config(home, Protocol::Gsn, 2).logged(Logged::Commands).command_hash_interval(1)
}

fn opened(config: Config, procedures: Procedures) -> Database {
    let db = Database::open_with(config, procedures).expect("a database");
    if db.table("items").is_err() {
        let schema =
            Schema::builder("items").column("id", Type::Int64).column("price", Type::Int64).primary_key(["id"]);
        db.create_table(schema.build().expect("a schema")).expect("a table");
        db.create_sequence(&SequenceOptions::new("numbers")).expect("a sequence");
    }
    db
}

fn function(
    name: &str,
    version: u32,
    body: impl Fn(&OpaqueCall<'_, '_>) -> Result<Vec<Datum>, Error> + Send + Sync + 'static,
) -> OpaqueProcedure {
    OpaqueProcedure::new(name, version, body).returns("id", Type::Int64)
}

/// Inserts an item under the next number with this price.
fn add(call: &OpaqueCall<'_, '_>, price: i64) -> Result<Vec<Datum>, Error> {
    let (tx, id) = (call.transaction(), call.next_value("numbers")?);
    tx.insert(&tx.table("items")?, &[Value::Int(id), Value::Int(price)])?;
    Ok(vec![Datum::Int(id)])
}

/// The prices of all items, in the order of their numbers.
fn prices(db: &Database) -> Vec<i64> {
    let body = |tx: &osier::Transaction<'_>| {
        let (table, mut found) = (tx.table("items")?, Vec::new());
        for row in tx.scan(&table, osier::table::KeyRange::all())? {
            found.push(row?.int(table.column("price")?));
        }
        Ok::<_, Error>(found)
    };
    db.run(body).expect("rows").0
}

#[test]
fn what_would_not_be_noted_is_refused() {
    let procedures = Procedures::new()
        .register(function("draws", 1, |call| {
            let tx = call.transaction();
            Ok(vec![Datum::Int(tx.next_value(&tx.sequence("numbers")?)?)])
        }))
        .register(function("calls", 1, |call| {
            call.transaction().call("add", &[])?;
            Ok(vec![Datum::Int(1)])
        }))
        .register(function("add", 1, |call| add(call, 1)))
        .register(function("ignores", 1, |call| {
            let refused = call.transaction().call("add", &[]).expect_err("refused");
            assert!(matches!(refused, Error::Procedure(ProcedureError::WithinFunction { .. })), "{refused}");
            add(call, 2)
        }));
    let db = opened(Config::new(home("refused")), procedures);
    let mut session = db.session().expect("a session");
    let told = session.call("draws", &[]).expect_err("refused").to_string();
    assert!(told.contains("OpaqueCall::next_value"), "{told}");
    let told = session.call("calls", &[]).expect_err("refused").to_string();
    assert!(told.contains("Transaction::call") && told.contains("Session::run"), "{told}");
    session.call("ignores", &[]).expect("it goes on");
    // What is refused to functions is not refused to others, in the same session.
    session.run(|tx| tx.call("add", &[]).and_then(|_| tx.next_value(&tx.sequence("numbers")?))).expect("a transaction");
    assert_eq!(prices(&db), [2, 1]);
}

#[test]
fn a_function_returns_what_it_has_declared() {
    let procedures = Procedures::new()
        .register(function("nothing", 1, |_| Ok(Vec::new())))
        .register(function("text", 1, |_| Ok(vec![Datum::Text("one".to_owned())])))
        .register(function("gives_up", 1, |call| Err(call.abort("P0001", "not today"))));
    let db = opened(Config::new(home("returns")), procedures);
    let mut session = db.session().expect("a session");
    let mut told = |name: &str| session.call(name, &[]).expect_err("refused").to_string();
    assert!(told("nothing").contains("returned 0 values for 1 results"));
    assert!(told("text").contains("returned 'one' for the result `id`, which is bigint"));
    assert!(told("gives_up").contains("not today"));
}

#[test]
fn a_log_of_calls_needs_the_functions() {
    let home = home("needs");
    let one = || function("add", 1, |call| add(call, 1));
    let two = || function("add", 2, |call| add(call, 2));
    let call = |db: &Database| {
        db.session().expect("a session").call("add", &[]).expect("a call").1.wait().expect("durable");
    };
    let db = opened(commands(&home), Procedures::new().register(one()));
    call(&db);
    db.close().expect("closed");

    let error = Database::open(commands(&home)).map(drop).expect_err("nothing is registered");
    assert!(matches!(error, Error::Recovery(RecoveryError::MissingProcedure { commands: 1, .. })), "{error}");
    let db = opened(commands(&home), Procedures::new().register(one()).register(two()));
    call(&db);
    db.close().expect("closed");

    let error = Database::open_with(commands(&home), Procedures::new().register(two()))
        .map(drop)
        .expect_err("version 1 is missing");
    assert!(error.to_string().contains("version 1"), "{error}");
    let db = opened(commands(&home), Procedures::new().register(one()).register(two()));
    assert_eq!(prices(&db), [1, 2]);
    // After a checkpoint nothing needs version 1.
    db.checkpoint().expect("a checkpoint");
    db.close().expect("closed");
    let db = opened(commands(&home), Procedures::new().register(two()));
    call(&db);
    assert_eq!(prices(&db), [1, 2, 2]);
    db.close().expect("closed");
    // An earlier version alone would undo what the newer one does.
    db.checkpoint().expect_err("closed");
    let older =
        Database::open_with(commands(&home), Procedures::new().register(one())).map(drop).expect_err("it is older");
    assert!(older.to_string().contains("version 2"), "{older}");
}

#[test]
fn what_calls_functions_is_restored_and_salvaged_with_them() {
    let parent = home("restored");
    let target = |name: &str| parent.join(name);
    let home = target("db");
    let functions = || Procedures::new().register(function("add", 1, |call| add(call, 10)));
    let db = opened(commands(&home), functions());
    // A backup takes one where there is none, and then there would be no call behind it.
    db.checkpoint().expect("a checkpoint");
    let mut session = db.session().expect("a session");
    for _ in 0..3 {
        session.call("add", &[]).expect("a call").1.wait().expect("durable");
    }
    drop(session);
    let copy = target("copy");
    db.backup(&copy, false).expect("a backup");
    db.close().expect("closed");

    let is_missing = |error: &Error| match error {
        Error::Recovery(RecoveryError::MissingProcedure { name, commands: 3, .. }) => name.as_deref() == Some("add"),
        _ => false,
    };
    let error = restore(Config::new(target("refused")), &copy).expect_err("nobody knows the function");
    let Error::Backup(BackupError::RestoreFailed { error, .. }) = &error else { panic!("{error:?}") };
    assert!(is_missing(error), "{error}");
    restore_with(Config::new(target("restored")), &copy, functions()).expect("restored");
    assert_eq!(prices(&opened(commands(&target("restored")), functions())), [10, 10, 10]);

    let error = salvage(&Config::new(&home), Config::new(target("none")), false).expect_err("nobody knows it");
    assert!(is_missing(&error), "{error}");
    let salvaged = Config::new(target("salvaged"));
    salvage_with(&Config::new(&home), salvaged.clone(), false, functions()).expect("salvaged");
    assert_eq!(prices(&opened(salvaged, functions())), [10, 10, 10]);
}

#[test]
fn a_function_that_breaks_the_contract_is_named() {
    let home = home("contract");
    let outside = Arc::new(AtomicI64::new(1));
    let procedures = || {
        let outside = outside.clone();
        Procedures::new().register(function("add", 1, move |call| add(call, outside.fetch_add(1, Ordering::Relaxed))))
    };
    let db = opened(commands(&home), procedures());
    let sound = |tx: &osier::Transaction<'_>| tx.insert(&tx.table("items")?, &[Value::Int(100), Value::Int(7)]);
    db.run(sound).expect("a row").1.wait().expect("durable");
    std::thread::sleep(std::time::Duration::from_millis(50));
    db.session().expect("a session").call("add", &[]).expect("a call").1.wait().expect("durable");
    db.close().expect("closed");
    let error = Database::open_with(commands(&home), procedures()).map(drop).expect_err("it wrote another price");
    let told = error.to_string();
    let Error::Recovery(RecoveryError::Diverged { epoch, .. }) = error else { panic!("{told}") };
    assert!(
        told.contains("`add`") && told.contains("hash") && told.contains(&format!("--until {}", epoch.0 - 1)),
        "{told}"
    );
    Database::open_with(commands(&home), procedures()).map(drop).expect_err("it stays so");

    // Whoever asks for it goes on from before; what came later is gone, and that stays so.
    let back = commands(&home).until(Until::Epoch(Epoch(epoch.0 - 1)));
    let db = Database::open_with(back, procedures()).expect("it goes back");
    assert_eq!(prices(&db), [7]);
    db.close().expect("closed");
    let db = Database::open_with(commands(&home), procedures()).expect("it opens");
    assert_eq!(prices(&db), [7]);
}

/// A function that keeps the handle of a table: the caller hears of it when the table has changed, and is not kept waiting.
#[test]
fn a_handle_that_a_function_keeps_gets_old() {
    let kept = Arc::new(std::sync::OnceLock::<osier::Table>::new());
    let of_function = kept.clone();
    let procedures = Procedures::new().register(function("add", 1, move |call| {
        let id = call.next_value("numbers")?;
        call.transaction().insert(of_function.get().expect("a handle"), &[Value::Int(id), Value::Int(1)])?;
        Ok(vec![Datum::Int(id)])
    }));
    let db = opened(commands(&home("kept")), procedures);
    kept.set(db.table("items").expect("a table")).expect("no handle yet");
    let mut session = db.session().expect("a session");
    session.call("add", &[]).expect("the handle is new");
    let items = db.table("items").expect("a table");
    db.run(|tx| tx.create_index(&items, "by_price", &["price"], false)).expect("an index");
    let refused = session.call("add", &[]).expect_err("the handle is old");
    assert!(matches!(refused, Error::Transaction(osier::TransactionError::TableChanged { .. })), "{refused}");
    assert_eq!(prices(&db), [1]);
}

/// What a function does after an error that a recovery does not meet is logged as rows: a limit of the settings, a sequence that
/// gave nothing, a table that has changed.
#[test]
fn what_follows_a_limit_is_logged_as_rows() {
    let home = home("limits");
    let long = "x".repeat(100);
    let put = |tx: &osier::Transaction<'_>, name: &str| tx.upsert(&tx.table("notes")?, &[Value::Text(name)]).map(drop);
    let kept = Arc::new(std::sync::OnceLock::<osier::Table>::new());
    let procedures = || {
        let (long, kept) = (long.clone(), kept.clone());
        Procedures::new()
            .register(OpaqueProcedure::new("key", 1, move |call| {
                let refused = put(call.transaction(), &long);
                put(call.transaction(), if refused.is_ok() { "a long key" } else { "no long key" }).map(|()| Vec::new())
            }))
            .register(OpaqueProcedure::new("writes", 1, move |call| {
                let names = ["one", "two", "three", "four"];
                names.iter().for_each(|name| drop(put(call.transaction(), name)));
                Ok(Vec::new())
            }))
            .register(OpaqueProcedure::new("drawn", 1, move |call| {
                let name = call.next_value("few").map_or("no number".to_owned(), |number| format!("number {number}"));
                put(call.transaction(), &name).map(|()| Vec::new())
            }))
            .register(OpaqueProcedure::new("changed", 1, move |call| {
                let handle = kept.get().expect("a handle");
                let refused = call.transaction().insert(handle, &[Value::Text("as it was")]);
                put(call.transaction(), if refused.is_ok() { "unchanged" } else { "changed" }).map(|()| Vec::new())
            }))
    };
    let names = |db: &Database| {
        let body = |tx: &osier::Transaction<'_>| {
            let table = tx.table("notes")?;
            let rows = tx.scan(&table, osier::table::KeyRange::all())?;
            rows.map(|row| Ok(row?.text(table.column("name")?).to_owned())).collect::<Result<Vec<_>, Error>>()
        };
        db.run(body).expect("rows").0
    };
    let config = || commands(&home).key_bytes_max(64).transaction_writes_max(6).command_hash_interval(0);
    let db = Database::open_with(config(), procedures()).expect("a database");
    let schema = Schema::builder("notes").column("name", Type::Text).primary_key(["name"]);
    db.create_table(schema.build().expect("a schema")).expect("a table");
    db.create_sequence(&SequenceOptions::new("few").start(2).maximum(2)).expect("a sequence");
    kept.set(db.table("notes").expect("a table")).expect("no handle yet");
    let notes = db.table("notes").expect("a table");
    db.run(|tx| tx.create_index(&notes, "by_name", &["name"], false)).expect("an index");

    let mut session = db.session().expect("a session");
    for name in ["key", "writes", "drawn", "drawn", "changed"] {
        session.call(name, &[]).expect("a call").1.wait().expect("durable");
    }
    drop(session);
    let before = names(&db);
    assert_eq!(before, ["changed", "no long key", "no number", "number 2", "one", "three", "two"]);
    db.close().expect("closed");
    let db = Database::open_with(config(), procedures()).expect("it opens");
    assert_eq!(names(&db), before);
}

/// One that draws more when it runs again is found out, though it hides that there was nothing.
#[test]
fn a_function_that_draws_more_is_named() {
    let home = home("draws_more");
    let outside = Arc::new(AtomicI64::new(0));
    let procedures = || {
        let outside = outside.clone();
        Procedures::new().register(function("add", 1, move |call| {
            let added = add(call, 1);
            if outside.fetch_add(1, Ordering::Relaxed) > 0 {
                let _ = call.next_value("numbers");
            }
            added
        }))
    };
    let db = opened(commands(&home).command_hash_interval(0), procedures());
    db.session().expect("a session").call("add", &[]).expect("a call").1.wait().expect("durable");
    db.close().expect("closed");
    let error = Database::open_with(commands(&home), procedures()).map(drop).expect_err("it drew twice");
    assert!(error.to_string().contains("does not draw what it drew"), "{error}");
}

/// A log may need a function as long as it holds calls of it: its name is not given to a program under it.
#[test]
fn a_function_is_not_replaced_by_a_program() {
    let home = home("replaced");
    let add_one = || Procedures::new().register(function("add", 1, |call| add(call, 1)));
    let program =
        Program::parse("procedure add() { upsert into items (id, price) values (7, 70); }").expect("a program");
    let db = opened(commands(&home), add_one());
    let mut session = db.session().expect("a session");
    session.call("add", &[]).expect("a call").1.wait().expect("durable");
    let refused = db.replace_procedure(&program).expect_err("it is a function").to_string();
    assert!(refused.contains("function of the program") && refused.contains("drop it first"), "{refused}");

    // Dropped, its name is free, and a log of its calls can still be opened with it.
    db.run(|tx| tx.drop_procedure("add")).expect("dropped");
    db.replace_procedure(&program).expect("declared");
    session.call("add", &[]).expect("a call").1.wait().expect("durable");
    drop(session);
    db.close().expect("closed");
    let db = opened(commands(&home), add_one());
    assert_eq!(prices(&db), [1, 70]);
    db.session().expect("a session").call("add", &[]).expect("the declared one").1.wait().expect("durable");
    db.close().expect("closed");

    // Where there has been no such function it is a mistake.
    let other = || add_one().register(function("other", 1, |call| add(call, 1)));
    let db = opened(commands(&home), add_one());
    db.replace_procedure(&Program::parse("procedure other() { }").expect("a program")).expect("declared");
    db.close().expect("closed");
    let refused = Database::open_with(commands(&home), other()).map(drop).expect_err("the name is taken").to_string();
    assert!(refused.contains("`other` is declared in the database"), "{refused}");
}

/// Handles of tables are of one open of one database.
#[test]
fn a_handle_of_another_database_is_told() {
    let (one, other) =
        (opened(commands(&home("one")), Procedures::new()), opened(commands(&home("other")), Procedures::new()));
    let foreign = one.table("items").expect("a table");
    let refused = other.run(|tx| tx.insert(&foreign, &[Value::Int(1), Value::Int(1)])).map(drop).expect_err("refused");
    assert!(matches!(refused, Error::Transaction(osier::TransactionError::TableChanged { .. })), "{refused}");
    let refused = other.run(|tx| tx.get(&foreign, &[Value::Int(1)]).map(drop)).map(drop).expect_err("refused");
    assert!(matches!(refused, Error::Transaction(osier::TransactionError::TableChanged { .. })), "{refused}");
    assert_eq!((prices(&one).len(), prices(&other).len()), (0, 0));
}
