//! Transactions that are too large for one record of the log, through the public API on the file system: whole after recovery,
//! whatever comes between their parts and whatever is given up of the log meanwhile.

#[path = "support/copying.rs"]
mod copying;
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use copying::copy;
use fastrand::Rng;
use osier::config::CheckpointKind;
use osier::inspect::{Detail, dump, verify};
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Create, Database, Error, Protocol, Session, Table, Transaction, explain, restore, salvage};

fn directory(name: &str) -> PathBuf {
    support::directory("parts", name)
}

/// Records are at most 4 KiB, and segments little more than a ring.
fn config(home: &Path, protocol: Protocol, streams: u32) -> Config {
    let mut config = support::config(home, protocol, streams);
    (config.transaction_log_bytes_max, config.ring_bytes, config.segment_bytes) = (4 << 10, 16 << 10, 24 << 10);
    config
}

fn open(config: Config) -> (Database, Table) {
    let db = Database::open(config).expect("opened");
    let schema = Schema::builder("t").column("id", Type::Int64).column("n", Type::Int64).column("text", Type::Text);
    let schema = schema.primary_key(["id"]).index("by_n", ["n"]).build().expect("a schema");
    let table = db.table("t").or_else(|_| db.create_table(schema)).expect("a table");
    (db, table)
}

fn put(tx: &Transaction<'_>, table: &Table, id: i64, n: i64, text: &str) -> Result<(), Error> {
    tx.upsert(table, &[Value::Int(id), Value::Int(n), Value::Text(text)])
}

type Rows = BTreeMap<i64, (i64, String)>;

fn rows(db: &Database) -> Rows {
    let table = db.table("t").expect("the table");
    let [id, n, text] = ["id", "n", "text"].map(|name| table.column(name).expect("a column"));
    let scan = db.run(|tx| -> Result<Rows, Error> {
        let rows = tx.scan(&table, KeyRange::all())?;
        let rows: Rows = rows
            .map(|row| row.map(|row| (row.int(id), (row.int(n), row.text(text).to_owned()))))
            .collect::<Result<_, _>>()?;
        assert_eq!(tx.scan_index(&table, "by_n", KeyRange::all())?.count(), rows.len());
        Ok(rows)
    });
    scan.expect("a scan").0
}

/// Three transactions in parts, one of them rolled back to a savepoint on its way, and small ones in between.
fn fill(db: &Database, table: &Table) -> Rows {
    let (mut one, mut other) = (db.session().expect("a session"), db.session().expect("a session"));
    let mut expected = Rows::new();
    let small = |session: &mut Session, id: i64, expected: &mut Rows| {
        session.run(|tx| put(tx, table, id, id, "small")).expect("a commit").1.wait().expect("durable");
        expected.insert(id, (id, "small".to_owned()));
    };
    small(&mut other, -1, &mut expected);
    let text = |id: i64| "x".repeat(300 + id as usize % 500);
    let insert = |tx: &Transaction<'_>| -> Result<(), Error> {
        (0..400).try_for_each(|id| put(tx, table, id, id % 7, &text(id)))?;
        let savepoint = tx.savepoint();
        (0..900).try_for_each(|id| put(tx, table, id, 9, "gone again"))?;
        Ok(tx.rollback_to(savepoint)?)
    };
    one.run(insert).expect("a large commit").1.wait().expect("durable");
    expected.extend((0..400).map(|id| (id, (id % 7, text(id)))));
    small(&mut other, -2, &mut expected);

    let change = |tx: &Transaction<'_>| -> Result<(), Error> {
        (0..200).try_for_each(|id| tx.delete(table, &[Value::Int(id)]).map(drop))?;
        (200..300).try_for_each(|id| put(tx, table, id, 8, &text(id + 1)))
    };
    other.run(change).expect("a large commit").1.wait().expect("durable");
    expected.retain(|id, _| !(0..200).contains(id));
    expected.extend((200..300).map(|id| (id, (8, text(id + 1)))));

    // One row that goes over many parts and segments, with others beside it.
    let long = "y".repeat(100_000);
    let row =
        |tx: &Transaction<'_>| [(1000, "a"), (1001, &*long), (1002, "c")].map(|(id, text)| put(tx, table, id, 1, text));
    one.run(|tx| row(tx).into_iter().collect::<Result<(), _>>()).expect("a large commit").1.wait().expect("durable");
    expected.extend([(1000, "a"), (1001, &*long), (1002, "c")].map(|(id, text)| (id, (1, text.to_owned()))));
    let refused = one.begin();
    (0..900).for_each(|id| put(&refused, table, id, 10, "rolled back").expect("an upsert"));
    drop(refused);
    small(&mut one, -3, &mut expected);
    expected
}

/// What a crash now would leave, opened.
fn reopened(config: &Config, home: &Path, name: &str) -> Database {
    let to = directory(name);
    copy(home, &to);
    let mut config = config.clone();
    config.dirs = vec![to];
    Database::open(config).expect("recovered")
}

#[test]
fn transactions_in_parts_are_recovered_under_every_protocol() {
    for (protocol, streams) in [
        (Protocol::Serial, 1),
        (Protocol::Poplar, 1),
        (Protocol::Poplar, 2),
        (Protocol::Gsn, 2),
        (Protocol::Silo, 2),
        (Protocol::Plover, 2),
        (Protocol::Taurus, 2),
    ] {
        let name = format!("{protocol}-{streams}");
        let home = directory(&name);
        let config = config(&home, protocol, streams);
        let (db, table) = open(config.clone());
        let expected = fill(&db, &table);
        assert_eq!(rows(&db), expected, "{name}");
        let crashed = reopened(&config, &home, &format!("{name}-crashed"));
        assert_eq!(rows(&crashed), expected, "{name}: after a crash");
        assert!(crashed.recovery().expect("it recovered").replayed >= 6);
        drop(crashed);
        db.close().expect("closed");
        drop((table, db));

        let report = verify(&config).expect("sound");
        assert!(report.log_bytes() > 400 * 300, "{report}");
        explain(&config).expect("a plan");
        let mut text = Vec::new();
        dump(&config, Detail::Records, &mut text).expect("a dump");
        let text = String::from_utf8(text).expect("text");
        assert!(text.contains("part: ") && text.contains(" parts from "), "{text}");
        assert_eq!(rows(&Database::open(config).expect("opened")), expected, "{name}: after a close");
    }
}

#[test]
fn without_a_log_a_large_transaction_needs_no_parts() {
    let (db, table) = open(config(&directory("unlogged"), Protocol::None, 1));
    let expected = fill(&db, &table);
    assert_eq!(rows(&db), expected);
}

/// Writes large and small transactions until `stop`, from `round` on; returns the last round.
fn write(db: &Database, table: &Table, writer: i64, mut round: i64, stop: &AtomicBool) -> i64 {
    let mut session = db.session().expect("a session");
    while !stop.load(Ordering::Relaxed) && round < 100_000 {
        round += 1;
        let text = "z".repeat(100 + round as usize % 300);
        let many = |tx: &Transaction<'_>| -> Result<(), Error> {
            (0..100).try_for_each(|id| put(tx, table, writer * 1000 + id, round, &text))
        };
        session.run(many).expect("a large commit");
        let small = |tx: &Transaction<'_>| put(tx, table, writer * 1000 + 500, round, "");
        session.run(small).expect("a commit").1.wait().expect("durable");
    }
    round
}

/// Checkpoints are taken, and give up the log, while transactions in parts are in flight; then the process dies.
fn the_log_is_kept_for_parts(kind: CheckpointKind) {
    let name = format!("truncation-{kind:?}");
    let home = directory(&name);
    let mut config = config(&home, Protocol::Poplar, 2);
    config.checkpoint_kind = kind;
    let (db, table) = open(config.clone());
    let mut rounds = [0; 2];
    for _ in 0..6 {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (db, table, stop) = (&db, &table, &stop);
            let writers = [0, 1].map(|at| scope.spawn(move || write(db, table, at as i64, rounds[at], stop)));
            let checkpoints: Result<Vec<_>, _> = (0..3).map(|_| db.checkpoint()).collect();
            stop.store(true, Ordering::Relaxed);
            rounds = writers.map(|writer| writer.join().expect("a writer"));
            checkpoints.expect("checkpoints");
        });
        let found = rows(&reopened(&config, &home, &format!("{name}-crashed")));
        for (writer, round) in rounds.iter().enumerate() {
            let of = |id: usize| found.get(&((writer * 1000 + id) as i64)).map(|row| row.0);
            assert_eq!(of(500), Some(*round), "it was acknowledged");
            (0..100).for_each(|id| assert_eq!(of(id), Some(*round), "a transaction is whole"));
        }
    }
    let expected = rows(&db);
    db.close().expect("closed");
    drop((table, db));
    let checked = verify(&config).expect("what a checkpoint covers needs no parts");
    assert!(checked.checkpoint.is_some());
    assert_eq!(rows(&Database::open(config).expect("opened")), expected);
}

#[test]
fn the_log_is_kept_for_parts_beside_epoch_checkpoints() {
    the_log_is_kept_for_parts(CheckpointKind::Epoch);
}

#[test]
fn the_log_is_kept_for_parts_beside_fuzzy_checkpoints() {
    the_log_is_kept_for_parts(CheckpointKind::Fuzzy);
}

#[test]
fn backups_and_salvages_have_transactions_in_parts() {
    let home = directory("operate");
    let config = config(&home, Protocol::Poplar, 2);
    let (db, table) = open(config.clone());
    let expected = fill(&db, &table);
    let backup = directory("operate-backup");
    db.backup(&backup, false).expect("a backup");
    let more = |tx: &Transaction<'_>| (2000..2200).try_for_each(|id| put(tx, &table, id, 3, &"v".repeat(200)));
    db.run(more).expect("a large commit").1.wait().expect("durable");
    db.backup(&backup, false).expect("it is continued");
    let expected_now = rows(&db);
    assert_eq!(expected_now.len(), expected.len() + 200);
    db.close().expect("closed");
    drop((table, db));

    let restored = directory("operate-restored");
    restore(Config::new(&restored), &backup).expect("restored");
    assert_eq!(rows(&Database::open(Config::new(&restored)).expect("opened")), expected_now);

    for rows_only in [false, true] {
        let salvaged = directory(&format!("operate-salvaged-{rows_only}"));
        let report = salvage(&config, Config::new(&salvaged), rows_only).expect("salvaged");
        assert!(report.damages.is_empty(), "{report}");
        assert_eq!(rows(&Database::open(Config::new(&salvaged)).expect("opened")), expected_now, "rows: {rows_only}");
    }
}

#[test]
fn a_damaged_part_is_named_and_its_transaction_is_left_out() {
    let home = directory("damaged");
    let config = config(&home, Protocol::Poplar, 1);
    let (db, table) = open(config.clone());
    db.run(|tx| put(tx, &table, 1, 1, "before")).expect("a commit").1.wait().expect("durable");
    let many = |tx: &Transaction<'_>| (100..300).try_for_each(|id| put(tx, &table, id, 2, &"w".repeat(400)));
    db.run(many).expect("a large commit").1.wait().expect("durable");
    db.run(|tx| put(tx, &table, 2, 1, "after")).expect("a commit").1.wait().expect("durable");
    db.close().expect("closed");
    drop((table, db));

    let segment = home.join("stream-0/00000001-00000002.log");
    let mut bytes = fs::read(&segment).expect("a segment");
    let at = bytes.windows(8).position(|eight| eight == b"wwwwwwww").expect("a part");
    bytes[at] ^= 1;
    fs::write(&segment, bytes).expect("a segment");

    let error = Database::open(config.clone()).map(drop).expect_err("a part is damaged").to_string();
    assert!(error.contains("00000001-00000002.log") && error.contains("checksum"), "{error}");
    let salvaged = directory("damaged-salvaged");
    let report = salvage(&config, Config::new(&salvaged), true).expect("salvaged");
    assert!(report.damages.len() >= 2, "the part and the record that names it: {report}");
    let found = rows(&Database::open(Config::new(&salvaged).create(Create::Never)).expect("opened"));
    let expected = [(1, (1, "before".to_owned())), (2, (1, "after".to_owned()))];
    assert_eq!(found, Rows::from(expected), "nothing of the transaction is there");
}

/// Set in the process that is to be killed: where its database is.
const KILLED: &str = "OSIER_TEST_KILLED_WITH_PARTS";
const KILLED_ROWS: i64 = 300;

/// Overwrites all rows again and again, and says how often that was acknowledged.
fn overwrite_until_killed(home: &Path) {
    let (db, table) = open(config(home, Protocol::Poplar, 2));
    let n = table.column("n").expect("a column");
    let mut session = db.session().expect("a session");
    let tx = session.begin();
    let round = tx.get(&table, &[Value::Int(0)]).expect("a read").map_or(0, |row| row.int(n));
    drop(tx);
    for round in round + 1.. {
        let text = "k".repeat(900 + round as usize % 100);
        let all = |tx: &Transaction<'_>| (0..KILLED_ROWS).try_for_each(|id| put(tx, &table, id, round, &text));
        session.run(all).expect("a large commit").1.wait().expect("durable");
        println!("acknowledged {round}");
        if round % 16 == 0 {
            db.checkpoint().expect("a checkpoint");
        }
    }
}

/// `kill -9` while a transaction in parts is in flight: it is there as a whole, or not at all.
#[test]
fn a_process_that_is_killed_between_parts_leaves_whole_transactions() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    const NAME: &str = "a_process_that_is_killed_between_parts_leaves_whole_transactions";
    if let Ok(home) = std::env::var(KILLED) {
        return overwrite_until_killed(Path::new(&home));
    }
    let home = directory("killed");
    let (mut acknowledged, mut in_flight) = (0, 0);
    for kill in 0..12_u64 {
        let mut child = Command::new(std::env::current_exe().expect("this test"));
        let child = child.args([NAME, "--exact", "--nocapture"]).env(KILLED, &home).stdout(Stdio::piped());
        let mut child = child.spawn().expect("a child");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let number = |line: String| line.strip_prefix("acknowledged ").and_then(|round| round.parse::<i64>().ok());
        for _ in 0..3 + kill {
            let next = lines.by_ref().find_map(|line| number(line.expect("a line")));
            acknowledged = acknowledged.max(next.expect("it goes on"));
        }
        // Somewhere in the rounds that follow.
        std::thread::sleep(std::time::Duration::from_micros(kill * 397));
        child.kill().expect("killed");
        acknowledged = lines.filter_map(|line| number(line.ok()?)).fold(acknowledged, i64::max);
        child.wait().expect("it is gone");

        let (db, _) = open(config(&home, Protocol::Poplar, 2));
        let found = rows(&db);
        let round = found[&0].0;
        assert!(
            round == acknowledged || round == acknowledged + 1,
            "{round} is there, {acknowledged} was acknowledged"
        );
        in_flight += round - acknowledged;
        assert_eq!(found.len() as i64, KILLED_ROWS);
        for (id, (n, text)) in &found {
            assert_eq!((*n, text.len()), (round, 900 + round as usize % 100), "row {id} of another transaction");
        }
        db.close().expect("closed");
        acknowledged = round;
    }
    println!("{in_flight} of 12 transactions in flight had committed");
}

/// Changes of its rows come to recovery before their bases do, from several threads and generations.
#[test]
fn many_changes_of_one_row_wait_for_a_transaction_in_parts() {
    let home = directory("hot");
    let mut config = config(&home, Protocol::Serial, 1);
    config.recovery_threads = 4;
    const CHANGES: i64 = 30_000;
    let mut changed = 0;
    for generation in 0..3 {
        let (db, table) = open(config.clone());
        let n = table.column("n").expect("a column");
        let mut session = db.session().expect("a session");
        if generation == 0 {
            let text = "x".repeat(200);
            session.run(|tx| (0..500).try_for_each(|id| put(tx, &table, id, 0, &text))).expect("a large commit");
        }
        let mut update = || {
            changed += 1;
            session.run(|tx| tx.update(&table, &[Value::Int(5)], &[(n, Value::Int(changed))])).expect("an update").1
        };
        (0..CHANGES).for_each(|_| drop(update()));
        update().wait().expect("durable");
        let crashed = reopened(&config, &home, "hot-crashed");
        assert_eq!((rows(&crashed)[&5].0, rows(&crashed).len()), (changed, 500));
        drop(session);
        db.close().expect("closed");
    }
}

/// It waits for the device, not for the interval.
#[test]
fn parts_do_not_wait_for_group_commits() {
    let mut config = Config::new(directory("timed")).streams(1);
    config.group_commit_interval = std::time::Duration::from_secs(1);
    let (db, table) = open(config);
    let (done, waiting) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let text = "x".repeat(1 << 20);
        let insert = |tx: &Transaction<'_>| (0..70).try_for_each(|id| put(tx, &table, id, id, &text));
        let (_, receipt) = db.session().expect("a session").run(insert).expect("a large commit");
        let _ = done.send(receipt.wait().is_ok());
    });
    let patience = std::time::Duration::from_secs(60);
    assert_eq!(waiting.recv_timeout(patience), Ok(true), "a second for each of 70 MiB");
}

/// With the settings that ship: a row of 64 MB, and one that is beyond the limit.
#[test]
fn a_row_of_64_megabytes_is_kept_with_default_settings() {
    let home = directory("row");
    let db = Database::open(Config::new(&home)).expect("opened");
    let schema = Schema::builder("blobs").column("id", Type::Int64).column("data", Type::Bytes).primary_key(["id"]);
    let table = db.create_table(schema.build().expect("a schema")).expect("a table");
    let mut data = vec![0; 64_000_000];
    Rng::with_seed(7).fill(&mut data);
    let put = |id: i64, data: &[u8]| db.run(|tx| tx.upsert(&table, &[Value::Int(id), Value::Bytes(data)]));
    put(1, &data).expect("a commit").1.wait().expect("durable");
    let too_long = vec![0; (64 << 20) + 1];
    assert_eq!(put(2, &too_long).expect_err("too long").sqlstate(), "54000");
    drop(too_long);
    let check = |db: &Database| {
        let table = db.table("blobs").expect("the table");
        let column = table.column("data").expect("a column");
        let is_same = |tx: &Transaction<'_>| -> Result<bool, Error> {
            Ok(tx.get(&table, &[Value::Int(1)])?.is_some_and(|row| row.bytes(column) == data))
        };
        assert!(db.run(is_same).expect("a read").0, "the row is another one");
    };
    check(&db);
    let crashed = reopened(&Config::new(&home), &home, "row-crashed");
    check(&crashed);
    drop(crashed);
    db.checkpoint().expect("a checkpoint with a block of 64 MB");
    db.close().expect("closed");
    drop((table, db));
    verify(&Config::new(&home)).expect("sound");
    let db = Database::open(Config::new(&home)).expect("opened");
    assert!(db.recovery().expect("recovered").checkpoint > 0);
    check(&db);
}
