//! Looking at transactions of a log: one run again upon the state just before it, and functions that break the contract.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use osier::call::{OpaqueProcedure, Procedures};
use osier::config::Logged;
use osier::ids::Stamp;
use osier::inspect::{self, ReplayedTransaction};
use osier::procedure::program::Program;
use osier::table::{Argument, KeyRange, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, RecoveryError, SequenceOptions, Transaction};

mod support;

const PROGRAMS: &str = "
procedure put(id bigint, n bigint) {
    upsert into items (id, n) values (id, n);
}

procedure move(one bigint, other bigint, amount numeric(12,2)) {
    get items (one) as a else { abort 'P0002' 'there is no ' || one; }
    update items (one) set n = a.n - 1;
    update items (one) set n = a.n - 2;
    try {
        insert into items (id, n) values (other, 7);
        insert into items (id, n) values (other, 8);
    } catch any {
        upsert into items (id, n) values (other, nextval('numbers') + 100);
    }
    for row in items (one) {
        delete from items (row.id);
    }
}
";

fn home(test: &str) -> std::path::PathBuf {
    support::directory("procedure_debugging", test)
}

fn config(home: &std::path::Path, protocol: Protocol, logged: Logged) -> Config {
    support::config(home, protocol, 1).logged(logged).command_hash_interval(1)
}

/// A database with a table, a sequence and the programs.
fn filled(config: Config) -> Database {
    let db = Database::open(config).expect("a database");
    let items = Schema::builder("items").column("id", Type::Int64).column("n", Type::Int64).primary_key(["id"]);
    db.create_table(items.build().expect("a schema")).expect("a table");
    db.create_sequence(&SequenceOptions::new("numbers")).expect("a sequence");
    for program in Program::parse_all(PROGRAMS).expect("programs") {
        db.create_procedure(&program).expect("a procedure");
    }
    db
}

fn called(db: &Database, name: &str, arguments: &[Argument<'_>]) -> Stamp {
    let (_, receipt) = db.session().expect("a session").call(name, arguments).expect("a call");
    receipt.wait().expect("durable");
    receipt.stamp()
}

fn put(db: &Database, id: i64, n: i64) -> Stamp {
    called(db, "put", &[id.into(), n.into()])
}

fn shown(config: &Config, stamp: Stamp, is_traced: bool) -> ReplayedTransaction {
    let mut shown = inspect::replay(config, Procedures::new(), stamp, is_traced).expect("a transaction");
    assert_eq!(shown.len(), 1);
    shown.remove(0)
}

/// Key, before and after of the rows that it wrote.
fn rows(shown: &ReplayedTransaction) -> Vec<(&str, Option<&str>, &str)> {
    shown.rows.iter().map(|row| (&*row.row, row.before.as_deref(), &*row.after)).collect()
}

fn refused(config: &Config, stamp: Stamp) -> String {
    let error = inspect::replay(config, Procedures::new(), stamp, false).expect_err("refused");
    assert!(matches!(error, Error::Recovery(RecoveryError::NoReplay { .. })), "{error}");
    assert_eq!(error.sqlstate(), "22023");
    error.to_string()
}

fn copy_all(from: &std::path::Path, to: &std::path::Path) {
    let _ = std::fs::remove_dir_all(to);
    for (path, bytes) in files(from) {
        let path = to.join(path.strip_prefix(from).expect("a path below"));
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, bytes).expect("a file");
    }
}

/// All bytes in a directory, by path.
fn files(home: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut left = vec![home.to_owned()];
    while let Some(path) = left.pop() {
        match path.is_dir() {
            true => left.extend(std::fs::read_dir(&path).expect("a directory").map(|entry| entry.expect("one").path())),
            false => found.push((path.clone(), std::fs::read(&path).expect("a file"))),
        }
    }
    found.sort();
    found
}

#[test]
fn a_command_is_shown_upon_the_state_before_it() {
    for protocol in [Protocol::Serial, Protocol::Gsn, Protocol::Taurus] {
        let home = home(&format!("command-{protocol}"));
        let config = config(&home, protocol, Logged::Commands);
        let db = filled(config.clone());
        let first = put(&db, 1, 10);
        let stamps: Vec<_> = (11..15).map(|n| put(&db, 1, n)).collect();
        let values = db.run(|tx| tx.upsert(&tx.table("items")?, &[Value::Int(1), Value::Int(99)])).expect("a row").1;
        values.wait().expect("durable");
        let moved = called(&db, "move", &[1.into(), 2.into(), Value::Numeric(150).into()]);
        let last = put(&db, 3, 3);
        let busy = inspect::replay(&config, Procedures::new(), first, false).expect_err("it is open");
        assert_eq!(busy.sqlstate(), "55006", "{busy}");
        db.close().expect("closed");

        let before = files(&home);
        let key = "(id)=(1) of table `items`";
        assert_eq!(rows(&shown(&config, first, false)), [(key, Some("nothing"), "(1, 10)")]);
        for (stamp, n) in stamps.iter().zip(11..) {
            let (was, is) = (format!("(1, {})", n - 1), format!("(1, {n})"));
            let one = shown(&config, *stamp, false);
            assert_eq!(rows(&one), [(key, Some(&*was), &*is)]);
            assert!(one.is_same && one.outcome.starts_with("it does what it did, by the hash"), "{one}");
            assert!(one.steps.is_empty(), "{one}");
        }
        let one = shown(&config, values.stamp(), true);
        assert_eq!(rows(&one), [(key, Some("(1, 14)"), "(1, 99)")]);
        assert_eq!(one.call, None);

        let one = shown(&config, moved, true);
        assert_eq!(
            rows(&one),
            [(key, Some("(1, 99)"), "nothing"), ("(id)=(2) of table `items`", Some("nothing"), "(2, 101)")]
        );
        let call = one.call.as_deref().expect("a call");
        assert!(call.contains("`move` version 1 (one = 1, other = 2, amount = 1.50), drew 1, hash "), "{call}");
        let lines: Vec<_> = one.steps.iter().flat_map(|step| step.lines.iter().map(String::as_str)).collect();
        let expected = [
            "read (id)=(1) of table `items`: (1, 99)",
            "wrote (id)=(1) of table `items`: (1, 98) in place of (1, 99)",
            "wrote (id)=(1) of table `items`: (1, 97) in place of (1, 98)",
            "wrote (id)=(2) of table `items`: (2, 7) in place of nothing",
            "failed, and was caught: what its block had written is undone",
            "wrote (id)=(2) of table `items`: (2, 101) in place of nothing",
            "read (id)=(1) of table `items`: (1, 97)",
            "wrote (id)=(1) of table `items`: nothing in place of (1, 97)",
            "read the end of table `items`",
        ];
        assert_eq!(lines, expected, "{one}");
        assert!(
            one.to_string().contains("  step     ") && one.to_string().contains("  outcome  it does what"),
            "{one}"
        );
        assert!(shown(&config, moved, false).steps.is_empty());
        assert_eq!(files(&home), before, "nothing is written");

        // Stamps that are none.
        let told = refused(&config, Stamp(last.0 + 1000));
        assert!(told.contains(&format!("the nearest one is {last}")), "{told}");
        if moved.0 + 1 < last.0 {
            let told = refused(&config, Stamp(moved.0 + 1));
            assert!(told.contains(&format!("the nearest ones are {moved} and {last}")), "{told}");
        }
    }
}

#[test]
fn what_a_checkpoint_holds_is_not_replayed() {
    let home = home("checkpoint");
    let config = config(&home, Protocol::Gsn, Logged::Commands);
    let db = filled(config.clone());
    let covered = put(&db, 1, 10);
    db.checkpoint().expect("a checkpoint");
    let later = put(&db, 1, 11);
    db.close().expect("closed");
    let told = refused(&config, covered);
    assert!(told.contains("checkpoint 1 holds what it did") && told.contains("osier restore"), "{told}");
    // Names are those of the checkpoint, and it is the base.
    let one = shown(&config, later, true);
    assert_eq!(rows(&one), [("(id)=(1) of table `items`", Some("(1, 10)"), "(1, 11)")]);
    assert!(one.call.as_deref().is_some_and(|call| call.contains("`put` version 1 (id = 1, n = 11)")), "{one}");
}

/// Generations of values before and behind: each transaction is shown by the protocol that wrote it.
#[test]
fn rows_before_are_shown_where_there_is_such_a_state() {
    let home = home("values");
    let lives = [
        (Protocol::Poplar, Logged::Values),
        (Protocol::Serial, Logged::Values),
        (Protocol::Gsn, Logged::Commands),
        (Protocol::Gsn, Logged::Values),
        (Protocol::Gsn, Logged::Physiological),
        (Protocol::Taurus, Logged::Physiological),
        (Protocol::Taurus, Logged::Commands),
    ];
    let mut stamps = Vec::new();
    for (life, (protocol, logged)) in lives.into_iter().enumerate() {
        let config = config(&home, protocol, logged);
        let db = if life == 0 { filled(config) } else { Database::open(config).expect("a database") };
        for n in 0..2 {
            stamps.push((protocol, put(&db, 1, 10 * life as i64 + n)));
        }
        let set = |tx: &Transaction<'_>| {
            let table = tx.table("items")?;
            tx.update(&table, &[Value::Int(1)], &[(table.column("n")?, Value::Int(10 * life as i64 + 2))]).map(drop)
        };
        let receipt = db.run(set).expect("an update").1;
        receipt.wait().expect("durable");
        stamps.push((protocol, receipt.stamp()));
        db.close().expect("closed");
    }
    let config = config(&home, Protocol::Gsn, Logged::Commands);
    let ns: Vec<i64> = (0..lives.len() as i64).flat_map(|life| (0..3).map(move |n| 10 * life + n)).collect();
    let key = "(id)=(1) of table `items`";
    for (at, (protocol, stamp)) in stamps.iter().enumerate() {
        let one = shown(&config, *stamp, false);
        assert_eq!(one.protocol, *protocol);
        let is = format!("(1, {})", ns[at]);
        if *protocol == Protocol::Poplar {
            assert!(
                one.outcome.contains("protocol poplar") && one.outcome.contains("serial, gsn and taurus have one"),
                "{one}"
            );
            let is_image = at < 2;
            assert!(
                one.rows[0].row == key && one.rows[0].before.is_none() && (one.rows[0].after == is) == is_image,
                "{one}"
            );
        } else {
            let was = format!("(1, {})", ns[at - 1]);
            assert_eq!(rows(&one), [(key, Some(&*was), &*is)], "{one}");
        }
    }
}

/// Adds what a counter of the program says: another number in each run.
fn drifting(outside: &Arc<AtomicI64>) -> Procedures {
    let outside = outside.clone();
    let function = OpaqueProcedure::new("drift", 1, move |call| {
        let [Argument::Scalar(id)] = call.arguments() else { return Err(call.abort("22004", "an id is needed")) };
        let (tx, n) = (call.transaction(), outside.fetch_add(1, Ordering::Relaxed));
        tx.upsert(&tx.table("items")?, &[*id, Value::Int(n)])?;
        Ok(Vec::new())
    });
    Procedures::new().register(function.parameter("id", Type::Int64))
}

fn contents(db: &Database) -> Vec<Vec<String>> {
    let body = |tx: &Transaction<'_>| {
        let (table, mut found) = (tx.table("items")?, Vec::new());
        for row in tx.scan(&table, KeyRange::all())? {
            found.push(row?.values().map(|value| value.to_string()).collect());
        }
        Ok::<_, Error>(found)
    };
    db.run(body).expect("rows").0
}

#[test]
fn a_function_that_drifts_is_caught_accepted_and_not_asked_for_again() {
    let home = home("drift");
    let config = config(&home, Protocol::Gsn, Logged::Commands);
    filled(config.clone()).close().expect("closed");
    let outside = Arc::new(AtomicI64::new(500));
    let db = Database::open_with(config.clone(), drifting(&outside)).expect("a database");
    put(&db, 1, 1);
    let drifted = called(&db, "drift", &[5.into()]);
    put(&db, 9, 9);
    db.close().expect("closed");

    let opened = |config: &Config| Database::open_with(config.clone(), drifting(&outside));
    let Err(Error::Recovery(error)) = opened(&config) else { panic!("it opened") };
    let told = error.to_string();
    let RecoveryError::Diverged { stamp, row: Some(row), .. } = error else { panic!("{told}") };
    assert_eq!((stamp, &*row.table, &*row.key, row.now.as_deref()), (drifted, "items", "(id)=(5)", Some("(5, 501)")));
    assert!(
        told.contains("`drift` version 1 (5)") && told.contains("(id)=(5) of table `items`, which holds (5, 501)"),
        "{told}"
    );
    assert!(told.contains(&format!("--accept-divergence {drifted}")) && told.contains("--until"), "{told}");

    // It can be looked at by a program that has the function.
    let seen = inspect::replay(&config, drifting(&outside), drifted, true).expect("a transaction");
    assert!(!seen[0].is_same && seen[0].outcome.contains("(5, 502)"), "{}", seen[0]);
    let missing = inspect::replay(&config, Procedures::new(), drifted, true).expect_err("no function");
    assert!(matches!(missing, Error::Recovery(RecoveryError::MissingProcedure { .. })), "{missing}");

    let later = config.clone().accept_divergence(Stamp(drifted.0 + 1));
    assert!(
        matches!(opened(&later), Err(Error::Recovery(RecoveryError::Diverged { .. }))),
        "before that stamp it stops"
    );
    let db = opened(&config.clone().accept_divergence(drifted)).expect("it is accepted");
    let accepted = &db.recovery().expect("a recovery").accepted;
    assert_eq!(accepted.iter().map(|one| (one.stamp, one.counts)).collect::<Vec<_>>(), [(drifted, true)]);
    let expected = contents(&db);
    assert_eq!(expected, [["1", "1"], ["5", "504"], ["9", "9"]]);
    // As a crash leaves it: without a close.
    std::mem::forget(db);
    let copy = home.with_extension("copy");
    copy_all(&home, &copy);
    let mut copied = config.clone();
    copied.dirs = vec![copy];
    for _ in 0..2 {
        let db = opened(&copied).expect("it is not asked for again");
        assert_eq!(contents(&db), expected);
        assert!(db.recovery().expect("a recovery").accepted.is_empty());
        db.close().expect("closed");
    }
}
