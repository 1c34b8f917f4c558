//! `logged = adaptive`: which calls are logged as commands, that both kinds come back together, and what is counted of calls.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use osier::call::{Call, OpaqueProcedure, Procedures};
use osier::config::Logged;
use osier::procedure::program::Program;
use osier::table::{Argument, KeyRange, Schema, Type, Value};
use osier::{Config, Database, Error, ProcedureMetrics, Protocol, Transaction, TransactionOptions};

mod support;

/// Rows that `read_all` reads.
const SEEDS: i64 = 2000;

/// Reads much and writes little, writes much by a short call, and gives up.
const PROCEDURES: &str = "
procedure read_all(id bigint) {
    let sum = 0;
    for s in seeds { set sum = sum + s.id; }
    upsert into results (id, n, content) values (id, sum, '');
}
procedure write_many(first bigint) {
    for i = 0 to 49 {
        upsert into results (id, n, content) values (first + i, i, lpad('', 4000, 'x'));
    }
}
procedure increment(id bigint, by bigint) {
    update results (id) as r set n = r.n + by else {
        abort 'P0002' 'there is no row ' || id;
    }
}
procedure ask(id bigint) returns (n bigint) {
    for r in results (id) { return r.n; }
    return 0;
}";

fn home(test: &str) -> PathBuf {
    support::directory("adaptive", test)
}

fn config(home: &Path, protocol: Protocol, streams: u32, logged: Logged) -> Config {
    let config = support::config(home, protocol, streams).logged(logged).command_hash_interval(1);
    config.checkpoint_log_bytes(0)
}

fn opened(config: Config) -> Database {
    let db = Database::open(config).expect("a database");
    if db.table("results").is_err() {
        let schema = Schema::builder("results").column("id", Type::Int64).column("n", Type::Int64);
        let schema = schema.column("content", Type::Text).primary_key(["id"]).build();
        db.create_table(schema.expect("a schema")).expect("a table");
        let schema = Schema::builder("seeds").column("id", Type::Int64).primary_key(["id"]).build();
        let seeds = db.create_table(schema.expect("a schema")).expect("a table");
        let fill = |tx: &Transaction<'_>| (0..SEEDS).try_for_each(|id| tx.insert(&seeds, &[Value::Int(id)]));
        db.run(fill).expect("rows").1.wait().expect("durable");
        let programs = Program::parse_all(PROCEDURES).expect("programs");
        let create = |tx: &Transaction<'_>| programs.iter().try_for_each(|program| tx.create_procedure(program));
        db.run(create).expect("procedures").1.wait().expect("durable");
    }
    db
}

fn rows(db: &Database) -> Vec<(i64, i64, usize)> {
    let read = |tx: &Transaction<'_>| {
        let table = tx.table("results")?;
        let (id, n, content) = (table.column("id")?, table.column("n")?, table.column("content")?);
        let rows = tx.scan(&table, KeyRange::all())?;
        rows.map(|row| row.map(|row| (row.int(id), row.int(n), row.text(content).len())))
            .collect::<Result<Vec<_>, Error>>()
    };
    db.run(read).expect("rows").0
}

fn put(db: &Database, id: i64, n: i64) {
    let put = |tx: &Transaction<'_>| {
        tx.upsert(&tx.table("results")?, &[Value::Int(id), Value::Int(n), Value::Text("by hand")])
    };
    db.run(put).expect("a row").1.wait().expect("durable");
}

fn figures(db: &Database, name: &str) -> ProcedureMetrics {
    let found = db.metrics().procedures.into_iter().find(|of| of.name == name);
    found.unwrap_or_default()
}

/// What reads much and writes little turns to values when little is owed; what writes much by a short call stays a command. Both
/// kinds, and transactions without a call, come back in their order.
#[test]
fn readers_turn_to_values_and_writers_stay_commands() {
    for (protocol, streams) in [(Protocol::Serial, 1), (Protocol::Gsn, 2), (Protocol::Taurus, 2)] {
        let home = home(&format!("mixed-{protocol}"));
        let config = || config(&home, protocol, streams, Logged::Adaptive);
        let db = opened(config());
        let mut session = db.session().expect("a session");
        let mut call = |name: &str, argument: i64| {
            session.call(name, &[argument.into()]).expect("a call").1.wait().expect("durable");
        };

        let mut calls = 0_i64;
        while figures(&db, "read_all").values < 20 {
            assert!(calls < 50_000, "it is not logged as values: {:?}", db.metrics());
            call("read_all", calls % 7);
            if calls % 16 == 0 {
                call("write_many", 100);
                put(&db, 8, calls);
            }
            calls += 1;
        }
        call("write_many", 200);

        let (reader, writer) = (figures(&db, "read_all"), figures(&db, "write_many"));
        assert_eq!((reader.calls, reader.commands + reader.values), (calls as u64, calls as u64));
        assert!(reader.commands > 0, "nothing was owed at first: {reader:?}");
        assert_eq!((writer.values, writer.commands), (0, writer.calls), "{writer:?}");
        assert!(reader.execution_us > 0.0 && reader.rows == 1.0 && writer.rows == 50.0, "{reader:?} {writer:?}");
        assert!(writer.value_bytes > 200_000.0 && writer.command_bytes < 100.0, "{writer:?}");
        let recovery = db.metrics().recovery.expect("commands are logged");
        assert!(!recovery.debt.is_zero() && recovery.target.as_secs() == 30, "{recovery:?}");

        let expected = rows(&db);
        drop(session);
        db.close().expect("closed");
        let db = opened(config());
        assert_eq!(rows(&db), expected);
        let report = db.recovery().expect("it was recovered").clone();
        assert!(
            report.commands >= reader.commands + writer.commands && report.replayed > report.commands,
            "{report:?}"
        );
        assert!(!db.metrics().recovery.expect("commands are logged").debt.is_zero(), "the log is still there");
        assert!(db.status().expect("a status").logs_commands, "such a log is replayed in order");
        db.close().expect("closed");
    }
}

/// What earlier lives logged is replayed in its way, whatever the next one logs.
#[test]
fn the_payload_changes_from_one_open_to_the_next() {
    let home = home("changes");
    let lives = [Logged::Values, Logged::Adaptive, Logged::Commands, Logged::Values, Logged::Adaptive];
    let mut expected = Vec::new();
    for (life, logged) in (0_i64..).zip(lives) {
        let db = opened(config(&home, Protocol::Gsn, 2, logged));
        assert_eq!(rows(&db), expected, "before life {life}, which logs {logged:?}");
        assert_eq!(db.status().expect("a status").logs_commands, logged.has_commands());
        let mut session = db.session().expect("a session");
        for call in 0..40 {
            put(&db, 10 * life, call);
            session.call("increment", &[(10 * life).into(), call.into()]).expect("a call");
            session.call("read_all", &[(10 * life + 1).into()]).expect("a call").1.wait().expect("durable");
        }
        let counted = figures(&db, "increment");
        assert_eq!(counted.commands + counted.values, 40);
        match logged {
            Logged::Values | Logged::Physiological => {
                assert_eq!((counted.commands, db.metrics().recovery), (0, None));
            }
            Logged::Commands => assert_eq!((counted.values, db.metrics().recovery.is_some()), (0, true)),
            Logged::Adaptive => assert!(db.metrics().recovery.is_some()),
        }
        expected = rows(&db);
        drop(session);
        db.close().expect("closed");
    }
    assert_eq!(rows(&opened(config(&home, Protocol::Gsn, 4, Logged::Values))), expected);
}

/// At half of the target a checkpoint is taken, and covers what was owed before it.
#[test]
fn the_debt_calls_for_a_checkpoint() {
    let home = home("debt");
    let db = opened(config(&home, Protocol::Gsn, 2, Logged::Adaptive).recovery_seconds_target(1));
    let mut session = db.session().expect("a session");
    let debt = || db.metrics().recovery.expect("commands are logged").debt.as_secs_f64();
    let mut most = 0_f64;
    for call in 0.. {
        if db.metrics().checkpoints.taken > 0 {
            break;
        }
        assert!(call < 50_000, "no checkpoint with a debt of {} s: {:?}", debt(), db.metrics().checkpoints);
        session.call("write_many", &[(50 * (call % 20)).into()]).expect("a call").1.wait().expect("durable");
        most = most.max(debt());
    }
    assert!(most > 0.49, "the debt was {most} s");
    assert!(debt() < most - 0.4, "the debt was {most} s, and is {} s", debt());
    let expected = rows(&db);
    drop(session);
    db.close().expect("closed");
    assert_eq!(rows(&opened(config(&home, Protocol::Gsn, 2, Logged::Adaptive))), expected);
}

/// With every payload: how calls ended, and what was measured of those that take turns.
#[test]
fn calls_are_counted_with_every_payload() {
    for logged in [Logged::Values, Logged::Commands, Logged::Adaptive] {
        let home = home(&format!("counted-{logged:?}"));
        let config = || config(&home, Protocol::Gsn, 2, logged);
        let db = opened(config());
        (0..10).for_each(|id| put(&db, id, 0));
        let mut session = db.session().expect("a session");
        let arguments: Vec<[Argument<'_>; 2]> = (0..400_i64).map(|call| [(call % 10).into(), 1.into()]).collect();
        let calls: Vec<_> = arguments.iter().map(|arguments| Call { procedure: "increment", arguments }).collect();
        for batch in calls.chunks(80) {
            let ended = session.call_all(TransactionOptions::default(), batch);
            ended.into_iter().for_each(|ended| ended.expect("a call").1.wait().expect("durable"));
        }
        let gave_up = session.call("increment", &[77.into(), 1.into()]).expect_err("there is no such row");
        assert_eq!(gave_up.sqlstate(), "P0002");
        (0..2).for_each(|_| drop(session.call("ask", &[1.into()]).expect("a call")));
        db.run(|tx: &Transaction<'_>| tx.call("increment", &[1.into(), 5.into()]))
            .expect("a call")
            .1
            .wait()
            .expect("durable");
        assert!(session.call("increment", &[1.into()]).is_err(), "an argument is missing");

        let increment = figures(&db, "increment");
        assert_eq!((increment.calls, increment.aborted), (403, 2), "{increment:?}");
        assert_eq!(increment.commands + increment.values, 400, "{increment:?}");
        assert_eq!(increment.commands == 400, logged == Logged::Commands || increment.values == 0, "{increment:?}");
        assert!(logged != Logged::Values || increment.commands == 0, "{increment:?}");
        assert!(increment.execution_us > 0.0 && increment.rows == 1.0, "{increment:?}");
        assert!(increment.command_bytes > 0.0 && increment.value_bytes > 0.0, "{increment:?}");
        let ask = figures(&db, "ask");
        assert_eq!((ask.calls, ask.commands, ask.values, ask.version), (2, 0, 0, 1), "{ask:?}");
        assert!(ask.execution_us > 0.0 && ask.rows == 0.0, "who only reads is measured, too: {ask:?}");
        assert_eq!(figures(&db, "read_all"), ProcedureMetrics::default(), "nobody has called it");
        let text = db.status().expect("a status").to_string();
        assert!(text.contains("increment version 1: 403 calls"), "{text}");

        let program = Program::parse("procedure ask(id bigint) returns (n bigint) { return id; }").expect("a program");
        db.replace_procedure(&program).expect("replaced");
        session.call("ask", &[1.into()]).expect("a call");
        let versions: Vec<_> = db.metrics().procedures.into_iter().map(|of| (of.name, of.version, of.calls)).collect();
        let named = |name: &str, version, calls| (name.to_owned(), version, calls);
        assert_eq!(versions, [named("ask", 1, 2), named("ask", 2, 1), named("increment", 1, 403)]);
        let expected = rows(&db);
        drop(session);
        db.close().expect("closed");
        assert_eq!(rows(&opened(config())), expected);
    }
}

/// An attempt that met a conflict is counted apart from its call.
#[test]
fn conflicts_are_counted() {
    static OTHER: OnceLock<Database> = OnceLock::new();
    let home = home("conflicts");
    let function = OpaqueProcedure::new("slow", 1, |call| {
        let tx = call.transaction();
        let table = tx.table("results")?;
        let is_first = tx.get(&table, &[Value::Int(1)])?.is_none();
        if is_first {
            // Behind the transaction's back.
            put(OTHER.get().expect("the database"), 1, 1);
        }
        tx.upsert(&table, &[Value::Int(2), Value::Int(2), Value::Text("")])?;
        Ok(Vec::new())
    });
    let db =
        Database::open_with(config(&home, Protocol::Gsn, 1, Logged::Adaptive), Procedures::new().register(function));
    let db = db.expect("a database");
    let schema = Schema::builder("results").column("id", Type::Int64).column("n", Type::Int64);
    let schema = schema.column("content", Type::Text).primary_key(["id"]).build().expect("a schema");
    db.create_table(schema).expect("a table");
    assert!(OTHER.set(db.clone()).is_ok());
    let mut session = db.session().expect("a session");
    session.call("slow", &[]).expect("a call").1.wait().expect("durable");
    let slow = figures(&db, "slow");
    assert_eq!((slow.calls, slow.conflicts, slow.commands, slow.aborted), (1, 1, 1, 0), "{slow:?}");
    drop(session);
    db.close().expect("closed");
}
