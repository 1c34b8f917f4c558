//! Logs of commands that once brought back something else, or nothing at all: faults that the crash simulation has found, and
//! readers of the code.

use std::time::Duration;

use osier::config::{CheckpointKind, Logged};
use osier::procedure::program::Program;
use osier::table::{Argument, KeyRange, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, SequenceOptions, Table, Transaction, restore};

mod support;

fn home(test: &str) -> std::path::PathBuf {
    support::directory("commands", test)
}

fn commands(home: &std::path::Path) -> Config {
    support::config(home, Protocol::Gsn, 2).logged(Logged::Commands).command_hash_interval(1)
}

fn table(db: &Database, name: &str) -> Table {
    let schema = Schema::builder(name).column("id", Type::Int64).column("n", Type::Int64).primary_key(["id"]);
    db.create_table(schema.build().expect("a schema")).expect("a table")
}

fn replace(db: &Database, text: &str) {
    let program = Program::parse(text).expect("a program");
    db.run(|tx: &Transaction<'_>| tx.replace_procedure(&program)).expect("replaced").1.wait().expect("durable");
}

fn call(db: &Database, name: &str, argument: i64) -> Result<(), Error> {
    let mut session = db.session().expect("a session");
    session.call(name, &[argument.into()])?.1.wait().expect("durable");
    Ok(())
}

fn rows(db: &Database, name: &str) -> Vec<(i64, i64)> {
    let scanned = db.run(|tx: &Transaction<'_>| {
        let table = tx.table(name)?;
        let (id, n) = (table.column("id")?, table.column("n")?);
        let rows = tx.scan(&table, KeyRange::all())?;
        rows.map(|row| row.map(|row| (row.int(id), row.int(n)))).collect::<Result<Vec<_>, Error>>()
    });
    scanned.expect("rows").0
}

/// Ids of procedures that were only in the log were given again after a recovery that ran commands: a new procedure took the
/// place of the definition of another one, under its name.
#[test]
fn a_new_procedure_leaves_those_of_the_log_as_they_are() {
    let home = home("ids");
    {
        let db = Database::open(commands(&home)).expect("a database");
        table(&db, "t");
        replace(&db, "procedure first(k bigint) { upsert into t (id, n) values (k, 1); }");
        call(&db, "first", 1).expect("a call");
        db.close().expect("closed");
    }
    let db = Database::open(commands(&home)).expect("recovered");
    replace(&db, "procedure second(k bigint) { upsert into t (id, n) values (k, 2); }");
    call(&db, "first", 2).expect("a call");
    call(&db, "second", 3).expect("a call");
    assert_eq!(rows(&db, "t"), [(1, 1), (2, 1), (3, 2)]);
}

/// A loop over rows saw those that its body inserted or not, as leaves had it: run again upon a tree of another form, it did
/// something else.
#[test]
fn a_loop_sees_the_rows_that_it_inserts() {
    let home = home("loop");
    let expected = {
        let db = Database::open(commands(&home)).expect("a database");
        table(&db, "t");
        let step = "
            procedure fill(last bigint) {
                upsert into t (id, n) values (0, 0);
                for r in t {
                    if r.id < last {
                        upsert into t (id, n) values (r.id + 1, r.n + 2);
                    }
                }
            }";
        replace(&db, step);
        let back = "
            procedure back(last bigint) {
                for r in t descending {
                    if r.id > last {
                        upsert into t (id, n) values (r.id - 1, r.n + 1);
                    }
                }
            }";
        replace(&db, back);
        call(&db, "fill", 500).expect("a call");
        let filled: Vec<_> = (0..=500).map(|id| (id, 2 * id)).collect();
        assert_eq!(rows(&db, "t"), filled);
        call(&db, "back", -100).expect("a call");
        let expected = rows(&db, "t");
        assert_eq!((expected.len(), expected[0]), (601, (-100, 1600)));
        db.close().expect("closed");
        expected
    };
    assert_eq!(rows(&Database::open(commands(&home)).expect("recovered"), "t"), expected);
}

/// A session that had compiled a procedure went on calling it when a table was gone that its calls did not come to. In the log
/// was then a command that no recovery could compile.
#[test]
fn a_procedure_makes_sense_or_not_for_all_sessions() {
    let home = home("stale");
    {
        let db = Database::open(commands(&home)).expect("a database");
        let (_, gone) = (table(&db, "t"), table(&db, "gone"));
        db.create_sequence(&osier::SequenceOptions::new("numbers")).expect("a sequence");
        let rare = "
            procedure rare(k bigint) {
                upsert into t (id, n) values (k, 1);
                if k > 100 { upsert into gone (id, n) values (k, 1); }
                if k > 200 { upsert into t (id, n) values (k, nextval('numbers')); }
            }";
        replace(&db, rare);
        let mut session = db.session().expect("a session");
        session.call("rare", &[1_i64.into()]).expect("a call");
        db.run(|tx: &Transaction<'_>| tx.drop_table(&gone)).expect("dropped");
        let refused = session.call("rare", &[2_i64.into()]).expect_err("a table is gone");
        assert_eq!(refused.sqlstate(), "42P13", "{refused}");
        table(&db, "gone");
        session.call("rare", &[3_i64.into()]).expect("a call");
        db.run(|tx: &Transaction<'_>| tx.drop_sequence(&tx.sequence("numbers")?)).expect("dropped");
        let refused = session.call("rare", &[4_i64.into()]).expect_err("a sequence is gone");
        assert_eq!(refused.sqlstate(), "42P13", "{refused}");
        drop(session);
        db.close().expect("closed");
    }
    assert_eq!(rows(&Database::open(commands(&home)).expect("recovered"), "t"), [(1, 1), (3, 1)]);
}

/// A backup was restored under its own protocol, and under a payload and checkpoints that go with another one: refused, after
/// everything was copied.
#[test]
fn a_backup_is_restored_whatever_is_logged_afterwards() {
    let (home, backup) = (home("backup"), support::directory("commands", "backup-target"));
    {
        let db = Database::open(support::config(&home, Protocol::Poplar, 2)).expect("a database");
        table(&db, "t");
        replace(&db, "procedure put(k bigint) { upsert into t (id, n) values (k, 1); }");
        call(&db, "put", 1).expect("a call");
        db.backup(&backup, true).expect("a backup");
        db.close().expect("closed");
    }
    let restored = support::directory("commands", "backup-restored");
    restore(commands(&restored), &backup).expect("restored");
    let db = Database::open(commands(&restored)).expect("opened");
    call(&db, "put", 2).expect("a call");
    assert_eq!(rows(&db, "t"), [(1, 1), (2, 1)]);
    let second = support::directory("commands", "backup-of-commands");
    db.backup(&second, true).expect("a backup");
    db.close().expect("closed");
    let fuzzy = support::directory("commands", "backup-restored-again");
    let mut config = support::config(&fuzzy, Protocol::Poplar, 2);
    config.checkpoint_kind = CheckpointKind::Fuzzy;
    restore(config.clone(), &second).expect("restored");
    assert_eq!(rows(&Database::open(config).expect("opened"), "t"), [(1, 1), (2, 1)]);
}

/// A call of the epoch behind a checkpoint draws from values that its session has reserved long ago, while the sequence's row was
/// written last by another session, of a stream that is far ahead and an epoch that the checkpoint holds: the call has a smaller
/// stamp than that row in the checkpoint, and relies on no more than its existence.
#[test]
fn a_call_behind_a_checkpoint_draws_what_was_reserved_before() {
    let home = home("reserved_before");
    let slow =
        |config: Config| config.group_commit_interval(Duration::from_secs(1)).epoch_interval(Duration::from_millis(1));
    let db = Database::open(slow(commands(&home))).expect("a database");
    let (_, other) = (table(&db, "items"), table(&db, "other"));
    db.create_sequence(&SequenceOptions::new("numbers").cache(1_000_000)).expect("a sequence");
    replace(&db, "procedure add() { insert into items (id, n) values (nextval('numbers'), 1); }");

    let (mut lagging, mut leading) = (db.session().expect("a session"), db.session().expect("a session"));
    assert_ne!(lagging.stream(), leading.stream());
    lagging.call("add", &[]).expect("a call").1.wait().expect("durable");
    let mut write = |number| {
        let write = |tx: &Transaction<'_>| tx.upsert(&other, &[Value::Int(number % 10), Value::Int(number)]);
        leading.run(write).expect("a row").1.stamp()
    };
    let stamp = (0..5000).map(&mut write).max().expect("there were writes");
    let (_, reserved) = leading.run(|tx| tx.next_value(&tx.sequence("numbers")?)).expect("a value");
    let (mut before, mut after, mut calls) = (0, 0, 0);
    std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| db.checkpoint().expect("a checkpoint"));
        while !checkpoint.is_finished() {
            let (_, receipt) = lagging.call("add", &[]).expect("a call");
            before += u32::from(receipt.stamp() < stamp);
            after += u32::from(receipt.epoch() > reserved.epoch());
            calls += 1;
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    assert!(before > 0 && after > 0, "of {calls} calls {before} have smaller stamps, {after} a later epoch");
    drop((lagging, leading));
    db.close().expect("closed");

    let db = Database::open(commands(&home)).expect("it opens");
    assert_eq!(rows(&db, "items").len(), calls + 1);
}

/// A recovery has sessions of its own: one that runs commands, one that asks for the rows of those to come.
#[test]
fn one_session_is_enough() {
    let home = home("one_session");
    let one = || commands(&home).sessions_max(1);
    let db = Database::open(one()).expect("a database");
    table(&db, "items");
    replace(&db, "procedure add(id bigint) { insert into items (id, n) values (id, 1); }");
    let mut session = db.session().expect("a session");
    for id in 0..600 {
        session.call("add", &[Argument::from(id)]).expect("a call");
    }
    drop(session);
    db.close().expect("closed");
    assert_eq!(rows(&Database::open(one()).expect("it opens"), "items").len(), 600);
}

/// The records that a transaction of `plover` has in several streams were run again as if each were a transaction of its own: a
/// row could come before its table, and was let go, and of rows that had changed places under a unique index one met the other.
#[test]
fn a_transaction_in_several_records_is_run_again_whole() {
    let home = home("shares");
    let (int, all) = (Value::Int, 1..=20);
    {
        let db = Database::open(commands(&home)).expect("a database");
        table(&db, "t");
        replace(&db, "procedure first(k bigint) { upsert into t (id, n) values (k, 1); }");
        call(&db, "first", 1).expect("a call");
        db.close().expect("closed");
    }
    {
        let db = Database::open(support::config(&home, Protocol::Plover, 4)).expect("opened again");
        let schema = Schema::builder("codes").column("id", Type::Int64).column("code", Type::Int64).primary_key(["id"]);
        let schema = schema.unique_index("by_code", ["code"]).build().expect("a schema");
        let create = |tx: &Transaction<'_>| -> Result<Table, Error> {
            let codes = tx.create_table(schema.clone())?;
            all.clone().try_for_each(|id| tx.insert(&codes, &[int(id), int(id)]))?;
            Ok(codes)
        };
        let (codes, _) = db.run(create).expect("a table with rows");
        let turn_round = |tx: &Transaction<'_>| -> Result<(), Error> {
            let code = codes.column("code")?;
            let set = |id, value| tx.update(&codes, &[int(id)], &[(code, int(value))]).map(drop);
            all.clone().try_for_each(|id| set(id, -id))?;
            all.clone().try_for_each(|id| set(id, 21 - id))
        };
        db.run(turn_round).expect("they change places").1.wait().expect("durable");
        db.close().expect("closed");
    }
    let db = Database::open(commands(&home)).expect("all of it is run again");
    assert_eq!(rows(&db, "t"), [(1, 1)]);
    let codes = |tx: &Transaction<'_>| {
        let table = tx.table("codes")?;
        let (id, code) = (table.column("id")?, table.column("code")?);
        let rows = tx.scan_index(&table, "by_code", KeyRange::all())?;
        rows.map(|row| row.map(|row| (row.int(code), row.int(id)))).collect::<Result<Vec<_>, Error>>()
    };
    let expected: Vec<_> = all.map(|code| (code, 21 - code)).collect();
    assert_eq!(db.run(codes).expect("rows").0, expected);
}
