//! What only large tables and large transactions reach, through the public API, with the constants that ship: trees of many
//! leaves, write sets that are no longer searched one by one, checkpoints of many steps.

mod support;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;
use osier::checkpoint::CheckpointState;
use osier::config::CheckpointKind;
use osier::io::{Joiner, OsSpawn, Signal, Spawn, Step, Task};
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, Table, Transaction};

const ROWS: i64 = 300_000;

/// Rows that are there before the first checkpoint. Each is the first of many that come while it is taken: ranges of one leaf
/// then have hundreds.
const FIRST_ROWS: i64 = 1_000;
const ROWS_BETWEEN: i64 = ROWS / FIRST_ROWS;

const ROWS_PER_TRANSACTION: usize = 250;

fn numbers(name: &str, is_indexed: bool) -> Schema {
    let schema = Schema::builder(name).column("key", Type::Int64).column("value", Type::Int64).primary_key(["key"]);
    let schema = if is_indexed { schema.index("by_value", ["value"]) } else { schema };
    schema.build().expect("a schema")
}

fn put(tx: &Transaction<'_>, table: &Table, key: i64, value: i64) -> Result<(), Error> {
    tx.upsert(table, &[Value::Int(key), Value::Int(value)])
}

/// All rows, by the primary key; the index leads to as many.
fn rows(db: &Database) -> BTreeMap<i64, i64> {
    let table = db.table("numbers").expect("the table");
    let (key, value) = (table.column("key").expect("key"), table.column("value").expect("value"));
    let rows = db.run(|tx| -> Result<BTreeMap<i64, i64>, Error> {
        let rows: BTreeMap<i64, i64> = tx
            .scan(&table, KeyRange::all())?
            .map(|row| row.map(|row| (row.int(key), row.int(value))))
            .collect::<Result<_, _>>()?;
        assert_eq!(tx.scan_index(&table, "by_value", KeyRange::all())?.count(), rows.len());
        Ok(rows)
    });
    rows.expect("a scan").0
}

/// Two sessions, each with every other key: rows in an order of their own, some of them changed or deleted at once. What was
/// there before stays as it is.
fn grow(db: &Database, table: &Table) {
    std::thread::scope(|scope| {
        for half in 0..2 {
            let mut session = db.session().expect("a session");
            scope.spawn(move || {
                let is_new = |key: &i64| key % ROWS_BETWEEN != 0 && key % 2 == half;
                let mut keys: Vec<i64> = (0..ROWS).filter(is_new).collect();
                Rng::with_seed(half as u64).shuffle(&mut keys);
                for keys in keys.chunks(ROWS_PER_TRANSACTION) {
                    let transaction = |tx: &Transaction<'_>| -> Result<(), Error> {
                        keys.iter().try_for_each(|key| put(tx, table, *key, 1))?;
                        let changed = keys.iter().filter(|key| *key % 7 == 0);
                        changed.clone().try_for_each(|key| put(tx, table, *key, 2))?;
                        let deleted = keys.iter().filter(|key| *key % 5 == 0);
                        deleted.clone().try_for_each(|key| tx.delete(table, &[Value::Int(*key)]).map(drop))
                    };
                    session.run(transaction).expect("an insert");
                }
            });
        }
    });
}

/// What [`grow`] leaves.
fn grown() -> BTreeMap<i64, i64> {
    let value = |key: i64| match key {
        key if key % ROWS_BETWEEN == 0 => Some(0),
        key if key % 5 == 0 => None,
        key => Some(if key % 7 == 0 { 2 } else { 1 }),
    };
    (0..ROWS).filter_map(|key| Some((key, value(key)?))).collect()
}

/// Keeps the threads of checkpoints, which know what they are to read, from reading it.
#[derive(Clone, Default)]
struct Gate(Arc<AtomicBool>);

impl Gate {
    fn close(&self) -> Closed<'_> {
        self.0.store(true, Ordering::SeqCst);
        Closed(self)
    }
}

/// Opens the gate again, also where a test panics.
struct Closed<'g>(&'g Gate);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::SeqCst);
    }
}

struct GatedSpawn(Gate);

struct GatedTask {
    gate: Gate,
    task: Box<dyn Task>,
}

impl Task for GatedTask {
    fn step(&mut self) -> Step {
        if self.gate.0.load(Ordering::SeqCst) {
            return Step::Idle(Some(Duration::from_millis(1)));
        }
        self.task.step()
    }
}

impl Spawn for GatedSpawn {
    fn spawn(&self, name: String, task: Box<dyn Task>, signal: Arc<Signal>) -> io::Result<Box<dyn Joiner>> {
        let is_part = name.starts_with("osier-checkpoint-");
        let task = if is_part { Box::new(GatedTask { gate: self.0.clone(), task }) } else { task };
        OsSpawn.spawn(name, task, signal)
    }
}

fn assert_same(found: &BTreeMap<i64, i64>, expected: &BTreeMap<i64, i64>, when: &str) {
    let differs = expected.iter().find(|(key, value)| found.get(key) != Some(value));
    assert!(found.len() == expected.len() && differs.is_none(), "{when}: {} rows, {differs:?} differs", found.len());
}

fn config(home: &std::path::Path, kind: CheckpointKind) -> Config {
    let mut config = support::config(home, Protocol::Poplar, 2);
    config.segment_bytes = 16 << 20;
    config.ring_bytes = 4 << 20;
    config.transaction_log_bytes_max = 1 << 20;
    config.checkpoint_kind = kind;
    config
}

/// A table grows a thousandfold while a checkpoint of it is taken; then the next one, of all of it.
fn a_large_table_is_whole(kind: CheckpointKind) {
    let home = support::directory("large", &format!("{kind:?}"));
    let mut config = config(&home, kind);
    let gate = Gate::default();
    config.environment.spawn = Arc::new(GatedSpawn(gate.clone()));
    let db = Database::open(config.clone()).expect("opened");
    let table = db.create_table(numbers("numbers", true)).expect("a table");
    let first = |tx: &Transaction<'_>| -> Result<(), Error> {
        (0..FIRST_ROWS).try_for_each(|number| put(tx, &table, number * ROWS_BETWEEN, 0))
    };
    db.run(first).expect("the first rows");
    {
        let _closed = gate.close();
        db.request_checkpoint();
        while db.metrics().checkpoints.state != CheckpointState::Writes {
            std::thread::sleep(Duration::from_millis(1));
        }
        grow(&db, &table);
        assert_eq!(db.metrics().checkpoints.state, CheckpointState::Writes, "its threads stand still");
    }
    while db.metrics().checkpoints.state != CheckpointState::Idle {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(db.metrics().checkpoints.taken, 1, "{:?}", db.metrics().checkpoints.failure);
    let expected = grown();
    assert_same(&rows(&db), &expected, "before the close");
    db.close().expect("closed");
    drop((table, db));

    config.checkpoint_threads = 2;
    let db = Database::open(config.clone()).expect("opened");
    assert!(db.recovery().expect("recovered").checkpoint > 0);
    assert_same(&rows(&db), &expected, "after the first checkpoint");
    let report = db.checkpoint().expect("a checkpoint");
    assert!(report.rows as usize > expected.len(), "{report}");
    db.close().expect("closed");
    drop(db);

    let db = Database::open(config).expect("opened");
    assert_eq!(db.recovery().expect("recovered").checkpoint, report.number);
    assert_same(&rows(&db), &expected, "after the second checkpoint");
}

#[test]
fn a_large_table_is_whole_after_epoch_checkpoints() {
    a_large_table_is_whole(CheckpointKind::Epoch);
}

#[test]
fn a_large_table_is_whole_after_fuzzy_checkpoints() {
    a_large_table_is_whole(CheckpointKind::Fuzzy);
}

fn in_memory() -> (Database, Table) {
    let db = Database::open(Config::new("unused").protocol(Protocol::None)).expect("a database without a log");
    let table = db.create_table(numbers("numbers", true)).expect("a table");
    (db, table)
}

/// Whoever splits a leaf that it has scanned has observed both halves: a row that another one adds to either is a conflict.
#[test]
fn both_halves_of_a_leaf_that_was_scanned_and_split_stay_observed() {
    for phantom in [1, 39, 801, 959] {
        let (db, table) = in_memory();
        // One leaf, full.
        db.run(|tx| (0..48).try_for_each(|at| put(tx, &table, at * 20, at))).expect("a full leaf");
        let (mut scans, mut adds) = (db.session().expect("a session"), db.session().expect("a session"));
        let tx = scans.begin();
        assert_eq!(tx.scan(&table, KeyRange::all()).expect("a scan").count(), 48);
        put(&tx, &table, 490, -1).expect("a row that splits the leaf");
        adds.run(|tx| put(tx, &table, phantom, -2)).expect("a phantom");
        let error = tx.commit().expect_err("the range has changed");
        assert!(error.is_conflict(), "{phantom}: {error}");
    }
}

/// Random transactions of up to a hundred writes of eighty rows, with savepoints, compared with a map.
#[test]
fn rolling_back_in_large_transactions_restores_what_was_there() {
    let (db, table) = in_memory();
    let mut session = db.session().expect("a session");
    let mut committed: BTreeMap<i64, i64> = BTreeMap::new();
    for seed in 0..150 {
        let mut rng = Rng::with_seed(seed);
        let tx = session.begin();
        let mut present = committed.clone();
        let mut savepoints = Vec::new();
        for value in 0..rng.i64(1..150) {
            let key = rng.i64(0..80);
            match rng.u8(0..16) {
                0 => savepoints.push((tx.savepoint(), present.clone())),
                1 if !savepoints.is_empty() => {
                    savepoints.truncate(rng.usize(0..savepoints.len()) + 1);
                    let (savepoint, rows) = savepoints.last().expect("one is left");
                    tx.rollback_to(*savepoint).expect("rolled back");
                    present.clone_from(rows);
                }
                2..5 => {
                    let existed = tx.delete(&table, &[Value::Int(key)]).expect("a delete");
                    assert_eq!(existed, present.remove(&key).is_some(), "seed {seed}, key {key}");
                }
                5..8 => {
                    let found = tx.get(&table, &[Value::Int(key)]).expect("a read");
                    let found = found.map(|row| row.int(table.column("value").expect("value")));
                    assert_eq!(found, present.get(&key).copied(), "seed {seed}, key {key}");
                }
                _ => {
                    put(&tx, &table, key, value).expect("an upsert");
                    present.insert(key, value);
                }
            }
        }
        if rng.u8(0..8) > 0 {
            tx.commit().expect("alone");
            committed = present;
        } else {
            drop(tx);
        }
        assert_eq!(rows(&db), committed, "seed {seed}");
    }
}
