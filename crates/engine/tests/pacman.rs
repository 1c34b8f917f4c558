//! Replay of calls at once, as their procedures and arguments allow: it makes what replay in order makes.
//!
//! The calls have no hashes: nothing but the rows tells whether one of them ran too early.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use osier::call::Procedures;
use osier::config::{Logged, ReplayKind};
use osier::procedure::program::Program;
use osier::table::{KeyRange, Schema, Type};
use osier::{
    Config, Database, Error, Protocol, RecoveryError, SequenceOptions, Session, Transaction, Value, simulate_replay,
};

mod support;

/// The threads that run calls.
const THREADS: [usize; 2] = [2, 4];

fn config(home: &Path) -> Config {
    support::config(home, Protocol::Serial, 1).logged(Logged::Commands).command_hash_interval(0)
}

fn define(db: &Database, text: &str) {
    db.create_procedure(&Program::parse(text).expect("a program")).expect("a procedure");
}

/// A database with the tables `a` and `b`, of pairs of numbers, and these procedures.
fn database(home: &Path, procedures: &[&str]) -> Database {
    let db = Database::open(config(home)).expect("a database");
    for name in ["a", "b"] {
        let schema = Schema::builder(name).column("id", Type::Int64).column("n", Type::Int64).primary_key(["id"]);
        db.create_table(schema.build().expect("a schema")).expect("a table");
    }
    db.create_sequence(&SequenceOptions::new("ids")).expect("a sequence");
    procedures.iter().for_each(|text| define(&db, text));
    db
}

fn rows(db: &Database, table: &str) -> Vec<(i64, i64)> {
    let read = |tx: &Transaction<'_>| {
        let table = tx.table(table)?;
        let (id, n) = (table.column("id")?, table.column("n")?);
        tx.scan(&table, KeyRange::all())?
            .map(|row| row.map(|row| (row.int(id), row.int(n))))
            .collect::<Result<_, Error>>()
    };
    db.run(read).expect("rows").0
}

/// Closes the database, and opens it again with several threads; returns how many transactions each of them ran at once.
fn replay(db: Database, home: &Path) -> Vec<u64> {
    let expected = ["a", "b"].map(|table| rows(&db, table));
    db.close().expect("it closes");
    let open = |(kind, threads)| {
        let config = config(home).recovery_replay(kind).recovery_threads(threads);
        let db = Database::open(config).unwrap_or_else(|error| panic!("{kind:?}, {threads} threads: {error}"));
        let at_once = db.recovery().expect("it was recovered").at_once;
        let found = ["a", "b"].map(|table| rows(&db, table));
        assert!(found == expected, "{kind:?}, {threads} threads: other rows");
        db.close().expect("it closes");
        at_once
    };
    assert_eq!(open((ReplayKind::Serial, 1)), 0);
    open((ReplayKind::PacmanStatic, THREADS[0]));
    let at_once = THREADS.map(|threads| open((ReplayKind::Pacman, threads)));
    assert_eq!(open((ReplayKind::PacmanSynchronous, THREADS[0])) > 0, at_once[0] > 0);
    at_once.to_vec()
}

fn call(session: &mut Session, name: &str, ids: [i64; 2], n: i64) {
    let ids = ids.map(Value::Int).to_vec();
    session.call(name, &[ids.into(), n.into()]).expect("a call");
}

/// Adds to rows of `a`, and then puts what each of them holds into `b`, by this procedure.
fn sums(name: &str, sum: &str) {
    let home = support::directory("pacman", name);
    let put = "procedure put(id bigint) {
        update a (id) as of set n = of.n + 1 else { insert into a (id, n) values (id, 1); } }";
    let db = database(&home, &[put, sum]);
    let mut session = db.session().expect("a session");
    session.call("put", &[999.into()]).expect("a call");
    for id in (0..100).flat_map(|_| 0..20_i64) {
        session.call("put", &[id.into()]).expect("a call");
    }
    (0..20).for_each(|id| call(&mut session, "sum", [999, id], id + 1));
    drop(session);
    assert!(replay(db, &home).iter().all(|at_once| *at_once > 1000), "they are run at once");
}

/// The loop goes on at several places, of which the keys do not know.
#[test]
fn every_round_of_a_loop_is_known() {
    let of_loop = |name, body: &str| {
        let rest = "insert into b (id, n) values (t, total);";
        let sum =
            format!("procedure sum(ids bigint[], t bigint) {{ let total = 0; foreach id in ids {{ {body} }} {rest} }}");
        sums(name, &sum);
    };
    of_loop("plain", "get a (id) as r; set total = total + r.n;");
    of_loop("absent", "get a (id) as r else { continue; } set total = total + r.n;");
    of_loop("read", "get a (id) as r; if r.n < 0 { continue; } set total = total + r.n;");
    of_loop("argument", "get a (id) as r; set total = total + r.n; if t < 0 { continue; } set total = total + 0;");
    of_loop("break", "get a (id) as r; set total = total + r.n; if r.n < 0 { break; } set total = total + 0;");
    of_loop(
        "caught",
        "try { get a (id) as r; set total = total + r.n; set total = total + 0 / (id - 999); } catch any { continue; }",
    );
}

#[test]
fn what_catches_an_error_is_known() {
    let caught = "get a (ids[2]) as r; insert into b (id, n) values (t, r.n); return 0;";
    for (name, body) in [("return", "return 1 / (t - t);"), ("let", "let y = 1 / (t - t); return y;")] {
        let sum = format!(
            "procedure sum(ids bigint[], t bigint) returns (x bigint) {{ try {{ {body} }} catch any {{ {caught} }} }}"
        );
        sums(name, &sum);
    }
}

/// Calls find their rows by others, which change at first and then no more. Behind that they are run at once.
#[test]
fn keys_are_read_of_rows_that_nobody_changes() {
    let home = support::directory("pacman", "routes");
    let lead = "procedure lead(id bigint, by bigint) {
        upsert into a (id, n) values (id, (id * 7 + by) % 20); upsert into b (id, n) values (id, id); }";
    let follow = "procedure follow(id bigint, by bigint) {
        get a (id) as route; update b (route.n) as of set n = (of.n * 3 + by) % 1000003; }";
    let db = database(&home, &[lead, follow]);
    let mut session = db.session().expect("a session");
    let changing = (0..3000).map(|by| if by % 3 == 2 && by > 20 { ("follow", by) } else { ("lead", by) });
    for (name, by) in changing.chain((0..50_000).map(|by| ("follow", by))) {
        session.call(name, &[(by % 20).into(), i64::from(by).into()]).expect("a call");
    }
    drop(session);
    let at_once = replay(db, &home);
    assert!(at_once.iter().all(|at_once| *at_once > 10_000), "they are run at once: {at_once:?}");
}

#[test]
fn reserved_values_of_a_sequence_hinder_nobody() {
    let home = support::directory("pacman", "sequence");
    let db = database(&home, &["procedure add(id bigint) { insert into a (id, n) values (id, nextval('ids')); }"]);
    let mut session = db.session().expect("a session");
    for id in 0..3000_i64 {
        session.call("add", &[id.into()]).expect("a call");
    }
    drop(session);
    assert!(replay(db, &home).iter().all(|at_once| *at_once > 2500), "reservations are among them");
}

/// Keys come and go while sessions purge those that are gone.
#[test]
fn keys_are_purged_beside_those_that_insert_them() {
    let home = support::directory("pacman", "purge");
    let put = "procedure put(id bigint, n bigint) { insert into a (id, n) values (id, n); }";
    let db = database(&home, &[put, "procedure remove(id bigint) { delete from a (id); }"]);
    let mut session = db.session().expect("a session");
    for n in 0..4000_i64 {
        let id = n % 7;
        if n >= 7 {
            session.call("remove", &[id.into()]).expect("a call");
        }
        session.call("put", &[id.into(), n.into()]).expect("a call");
    }
    drop(session);
    assert!(replay(db, &home).iter().all(|at_once| *at_once > 4000), "they are run at once");
}

/// Between calls stand transactions that were logged as rows, some of them as so many that they have the table for themselves.
#[test]
fn rows_keep_their_place_among_calls() {
    let home = support::directory("pacman", "rows");
    let put = "procedure put(id bigint) {
        update a (id) as of set n = of.n + 1 else { insert into a (id, n) values (id, 1); } }";
    let copy = "procedure copy(id bigint) { get a (id) as r; upsert into b (id, n) values (id, r.n); }";
    let db = database(&home, &[put, copy]);
    let mut session = db.session().expect("a session");
    for round in 0..20_i64 {
        for id in (0..10).flat_map(|_| 0..20_i64) {
            session.call("put", &[id.into()]).expect("a call");
        }
        let rows = if round % 5 == 4 { 5000 } else { 20 };
        let double = |tx: &Transaction<'_>| {
            let table = tx.table("a")?;
            (0..rows).try_for_each(|id| tx.upsert(&table, &[id.into(), (id * round).into()]))
        };
        session.run(double).expect("a transaction");
        for id in 0..20_i64 {
            session.call("copy", &[id.into()]).expect("a call");
        }
    }
    drop(session);
    assert!(replay(db, &home).iter().all(|at_once| *at_once > 3000), "they are run at once");
}

/// Calls read a table that none of them changes, and transactions that were logged as rows do.
#[test]
fn calls_see_the_rows_that_were_there() {
    let home = support::directory("pacman", "seen");
    let copy = "procedure copy(id bigint, at bigint) { get a (id) as r; insert into b (id, n) values (at, r.n); }";
    let db = database(&home, &[copy]);
    let mut session = db.session().expect("a session");
    for round in 0..100_i64 {
        let put = |tx: &Transaction<'_>| {
            let table = tx.table("a")?;
            (0..50_i64).try_for_each(|id| tx.upsert(&table, &[id.into(), round.into()]))
        };
        session.run(put).expect("a transaction");
        for id in 0..50_i64 {
            session.call("copy", &[id.into(), (round * 100 + id).into()]).expect("a call");
        }
    }
    drop(session);
    assert!(replay(db, &home).iter().all(|at_once| *at_once > 4000), "they are run at once");
}

/// The files below a directory, with what they hold.
fn files(home: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![home.to_owned()]);
    while let Some(path) = open.pop() {
        match path.is_dir() {
            true => {
                open.extend(std::fs::read_dir(path).expect("a directory").map(|entry| entry.expect("a file").path()))
            }
            false => _ = found.insert(path.clone(), std::fs::read(path).expect("a file")),
        }
    }
    found
}

/// What is simulated has the transactions and the segments of a replay, and nothing is written.
#[test]
fn a_replay_is_simulated_for_other_numbers_of_threads() {
    const SIMULATED: [usize; 3] = [1, 2, 40];
    let put = "procedure put(id bigint) {
        update a (id) as of set n = of.n + 1 else { insert into a (id, n) values (id, 1); } }";
    for ids in [500, 1] {
        let home = support::directory("pacman", &format!("simulated-{ids}"));
        let db = database(&home, &[put]);
        let mut session = db.session().expect("a session");
        for id in (0..2500).map(|call| call % ids) {
            session.call("put", &[id.into()]).expect("a call");
        }
        drop(session);
        let expected = rows(&db, "a");
        db.close().expect("it closes");

        let before = files(&home);
        let simulation = simulate_replay(&config(&home), Procedures::new(), &SIMULATED, 2).expect("a simulation");
        assert!(before == files(&home), "nothing is written");
        let text = simulation.to_string();
        let calls =
            simulation.procedures.iter().find(|cost| cost.name.as_deref() == Some("put")).map(|cost| cost.calls);
        assert_eq!((calls, simulation.rounds), (Some(2500), 2), "{text}");
        // Nobody waits for another one, or each for the one before. Engines with mutations run whatever they can at once.
        assert_eq!(simulation.at_once > 1000, ids > 1 || cfg!(feature = "mutations"), "{text}");
        assert_eq!(simulation.replays.iter().map(|replay| replay.threads).collect::<Vec<_>>(), SIMULATED);
        assert!((simulation.replays[0].speedup - 1.0).abs() < 1e-9 && simulation.replays[0].waiting < 1e-9, "{text}");
        for replay in &simulation.replays {
            assert!(replay.seconds > 0.0 && (0.0..1.0).contains(&replay.waiting), "{text}");
            assert_eq!(replay.measured_seconds.is_some(), replay.threads <= simulation.cores, "{text}");
            assert!(text.contains(&format!("  replay   {} thread", replay.threads)), "{text}");
        }
        let most = simulation.replays[2];
        assert!(most.seconds >= simulation.planning_seconds.max(simulation.chains_seconds), "{text}");
        if ids == 1 {
            assert!(most.waiting > 0.9, "of 40 threads one has something to do: {text}");
        }

        for kind in [ReplayKind::Serial, ReplayKind::Vectors] {
            let config = config(&home).recovery_replay(kind);
            let refused = simulate_replay(&config, Procedures::new(), &SIMULATED, 1).expect_err("it is run in order");
            assert!(matches!(refused, Error::Recovery(RecoveryError::NoSimulation { .. })), "{refused}");
            assert!(refused.to_string().contains("recovery_replay=pacman"), "{refused}");
        }
        let config = config(&home).recovery_replay(ReplayKind::PacmanSynchronous);
        simulate_replay(&config, Procedures::new(), &[2], 1).expect("a simulation");
        let db = Database::open(self::config(&home)).expect("it is recovered as ever");
        let refused = simulate_replay(&self::config(&home), Procedures::new(), &[2], 1).expect_err("it is open");
        assert_eq!(refused.sqlstate(), "55006", "{refused}");
        assert_eq!(rows(&db, "a"), expected);
        db.close().expect("it closes");
    }
}
