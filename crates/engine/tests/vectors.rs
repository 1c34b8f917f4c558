//! Logs of commands: what several threads run at once, by vectors or by procedures, is what the sessions did, whatever is
//! logged in between.

use std::path::Path;

use osier::config::{Logged, ReplayKind};
use osier::procedure::program::Program;
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, Transaction};

mod support;

const ACCOUNTS: i64 = 40;

fn config(home: &Path, logged: Logged) -> Config {
    support::config(home, Protocol::Taurus, 3).logged(logged).command_hash_interval(1)
}

fn define(db: &Database, text: &str) {
    db.create_procedure(&Program::parse(text).expect("a program")).expect("a procedure");
}

fn filled(config: Config) -> Database {
    let db = Database::open(config).expect("a database");
    for name in ["accounts", "moves"] {
        let schema = Schema::builder(name).column("id", Type::Int64).column("n", Type::Int64).primary_key(["id"]);
        db.create_table(schema.build().expect("a schema")).expect("a table");
    }
    define(&db, "procedure fill(id bigint) { insert into accounts (id, n) values (id, 100); }");
    // What it writes depends on the rows that it reads, and whether it writes on what is there.
    define(
        &db,
        "procedure move(id bigint, source bigint, target bigint) {
            update accounts (source) as payer set n = payer.n - 1 else { abort 'P0002' 'no such account'; }
            update accounts (target) as payee set n = payee.n + 1 else { abort 'P0002' 'no such account'; }
            insert into moves (id, n) values (id, payer.n * 1000 + payee.n);
        }",
    );
    // Recovery checks that the keys of deleted rows are gone.
    define(&db, "procedure forget(id bigint) { delete from moves (id); }");
    let mut session = db.session().expect("a session");
    for id in 0..ACCOUNTS {
        session.call("fill", &[id.into()]).expect("a call").1.wait().expect("durable");
    }
    db
}

/// Moves money by several sessions; each also writes rows that it logs as values.
fn work(db: &Database, first: i64) {
    std::thread::scope(|scope| {
        for worker in 0..4 {
            scope.spawn(move || {
                let (mut session, mut rng) = (db.session().expect("a session"), fastrand(first + worker));
                for at in 0..250 {
                    let (source, target) = (rng() % ACCOUNTS, rng() % ACCOUNTS);
                    let id = (first + worker) * 1000 + at;
                    if source == target {
                        let add = |tx: &Transaction<'_>| {
                            let accounts = tx.table("accounts")?;
                            tx.upsert(&accounts, &[Value::Int(source), Value::Int(500)])
                        };
                        session.run(add).expect("a transaction");
                        continue;
                    }
                    session.call("move", &[id.into(), source.into(), target.into()]).expect("a move");
                    if at % 3 == 0 {
                        session.call("forget", &[id.into()]).expect("it is forgotten");
                    }
                }
            });
        }
    });
}

/// Numbers that look drawn.
fn fastrand(seed: i64) -> impl FnMut() -> i64 {
    let mut state = seed as u64 + 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64
    }
}

fn rows(db: &Database) -> Vec<(String, i64, i64)> {
    let scanned = db.run(|tx: &Transaction<'_>| {
        let mut found = Vec::new();
        for name in ["accounts", "moves"] {
            let table = tx.table(name)?;
            let (id, n) = (table.column("id")?, table.column("n")?);
            for row in tx.scan(&table, KeyRange::all())? {
                let row = row?;
                found.push((name.to_owned(), row.int(id), row.int(n)));
            }
        }
        Ok::<_, Error>(found)
    });
    scanned.expect("rows").0
}

/// The log of several lives, each of which logs something else, is run by one thread and by several.
#[test]
fn what_several_threads_run_at_once_is_what_the_sessions_did() {
    for logged in [Logged::Commands, Logged::Adaptive] {
        let home = support::directory("vectors", &logged.to_string());
        let db = filled(config(&home, logged));
        work(&db, 0);
        let mut expected = rows(&db);
        db.close().expect("closed");
        let plan = osier::explain(&config(&home, logged)).expect("a plan");
        assert!(plan.chained > 0 && plan.chained < plan.ordered, "{plan}");
        for (life, threads) in [1, 4, 2].into_iter().enumerate() {
            let db = Database::open(config(&home, logged).recovery_threads(threads)).expect("it opens");
            let report = db.recovery().expect("it was recovered").clone();
            assert_eq!(report.at_once > 0, threads > 1, "{report}");
            assert!(report.commands > 100, "{report}");
            assert_eq!(rows(&db), expected, "{threads} threads");
            work(&db, 10 * (life as i64 + 1));
            expected = rows(&db);
            db.close().expect("closed");
        }
        // Another protocol goes on from it, and values behind commands are replayed in their order.
        for (protocol, logged) in [(Protocol::Poplar, Logged::Values), (Protocol::Gsn, Logged::Commands)] {
            let other = support::config(&home, protocol, 2).logged(logged).recovery_threads(4);
            let db = Database::open(other).expect("it opens");
            assert_eq!(rows(&db), expected, "{protocol}");
            work(&db, 100 * (logged as i64 + 1));
            expected = rows(&db);
            db.close().expect("closed");
        }
        assert_eq!(rows(&Database::open(config(&home, Logged::Values)).expect("it opens")), expected);
    }
}

/// Runs a log of commands again, by one thread and by several, and returns the rows, which are the same.
fn replayed(config: &Config, kinds: &[ReplayKind]) -> Vec<(String, i64, i64)> {
    let mut found = Vec::new();
    for (kind, threads) in kinds.iter().flat_map(|kind| [(*kind, 1), (*kind, 4), (*kind, 2)]) {
        let db = Database::open(config.clone().recovery_replay(kind).recovery_threads(threads)).expect("it opens");
        let report = db.recovery().expect("it was recovered").clone();
        assert_eq!(report.at_once > 0, threads > 1 && kind != ReplayKind::Serial, "{kind:?}, {threads}: {report}");
        assert!(report.commands > 100, "{report}");
        found.push(rows(&db));
        db.close().expect("closed");
    }
    assert!(found.windows(2).all(|of| of[0] == of[1]), "all of them find the same");
    found.pop().expect("there is one")
}

/// Without vectors the procedures and their arguments say it; with vectors they do, too.
#[test]
fn procedures_say_what_may_run_at_once() {
    for (protocol, streams) in [(Protocol::Serial, 1), (Protocol::Gsn, 3), (Protocol::Taurus, 3)] {
        let home = support::directory("vectors", &format!("procedures {protocol}"));
        let config = support::config(&home, protocol, streams).logged(Logged::Commands).command_hash_interval(1);
        let db = filled(config.clone());
        work(&db, 0);
        // Definitions in between run alone.
        define(&db, "procedure gift(id bigint) { update accounts (id) as of set n = of.n + 7; }");
        let mut session = db.session().expect("a session");
        for at in 0..200 {
            session.call("gift", &[(at % ACCOUNTS).into()]).expect("a gift");
        }
        drop(session);
        work(&db, 10);
        let expected = rows(&db);
        db.close().expect("closed");
        assert_eq!(replayed(&config, &[ReplayKind::Serial, ReplayKind::Pacman]), expected, "{protocol}");
    }
}

/// Rows that exclude each other by a unique index have nothing else in common.
#[test]
fn rows_that_exclude_each_other_come_in_their_order() {
    let home = support::directory("vectors", "unique");
    let config = support::config(&home, Protocol::Gsn, 2).logged(Logged::Commands).command_hash_interval(1);
    let db = Database::open(config.clone()).expect("a database");
    for name in ["accounts", "moves"] {
        let schema = Schema::builder(name).column("id", Type::Int64).column("n", Type::Int64).primary_key(["id"]);
        let schema = schema.unique_index(format!("{name}_by_n"), ["n"]);
        db.create_table(schema.build().expect("a schema")).expect("a table");
    }
    define(&db, "procedure enter(id bigint, n bigint) { insert into accounts (id, n) values (id, n); }");
    define(&db, "procedure leave(id bigint) { delete from accounts (id); }");
    define(
        &db,
        "procedure look(id bigint, n bigint) {
            first accounts using accounts_by_n (n) as found;
            upsert into moves (id, n) values (id, coalesce(found.id, -id - 1));
        }",
    );
    let mut session = db.session().expect("a session");
    for id in 0..900_i64 {
        if id >= 3 {
            session.call("leave", &[(id - 3).into()]).expect("it goes");
        }
        session.call("enter", &[id.into(), (id % 3).into()]).expect("it comes");
        session.call("look", &[id.into(), ((id + 1) % 3).into()]).expect("it looks");
    }
    drop(session);
    let expected = rows(&db);
    db.close().expect("closed");
    let by_threads = config.recovery_replay(ReplayKind::Pacman).recovery_threads(4);
    assert_eq!(rows(&Database::open(by_threads).expect("it opens")), expected);
}
