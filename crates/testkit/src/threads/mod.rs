//! The crash test with real threads: the engine's own threads and several of ours over the simulated disk, crashed at a
//! drawn disk operation. It finds races that the simulation in one thread cannot.
//!
//! Invariant: a seed decides the crash and what each thread tries, not how the threads interleave; a failure need not
//! repeat, so the history that broke the promise is in its message. Threads that wait for each other end the process.

pub mod faults;
pub mod history;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{process, thread};

use fastrand::Rng;
use osier::config::{CheckpointKind, ConcurrencyControlKind, Locking};
use osier::failpoint::{Mutation, simulated};
use osier::io::Environment;
use osier::table::{ColumnId, KeyRange, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, Receipt, Session, Table};

use crate::disk::{Faults, LogWrites, SimDisk};
use faults::with_faults;
use history::{Committed, Id, Survivors, check, check_stamps};

const THREADS: usize = 4;
const KEYS: i64 = 8;
const GENERATIONS: usize = 2;
const TRANSACTIONS_PER_THREAD: usize = 400;

/// A checkpoint is asked for about once in so many transactions of a thread, where there are any.
const TRANSACTIONS_PER_CHECKPOINT: u64 = 60;

/// Transactions that share two lists: they stay short.
const IDS_PER_LIST: u64 = 200;

/// Receipts that a thread leaves unanswered before it waits for the oldest.
const OUTSTANDING_MAX: usize = 32;

/// A seed takes a tenth of a second.
const STANDSTILL: Duration = Duration::from_secs(300);

/// Runs a seed, with deliberate faults built into the engine; returns how many transactions were acknowledged.
pub fn run(seed: u64, protocol: Protocol, mutations: &[Mutation]) -> Result<usize, String> {
    let (over, is_over) = mpsc::channel::<()>();
    thread::spawn(move || {
        if is_over.recv_timeout(STANDSTILL) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("seed {seed} of {protocol:?} stands still: a thread waits for what nobody will tell it");
            process::abort();
        }
    });
    let acknowledged = crash_twice(seed, protocol, mutations);
    drop(over);
    acknowledged
}

fn crash_twice(seed: u64, protocol: Protocol, mutations: &[Mutation]) -> Result<usize, String> {
    let mut rng = Rng::with_seed(seed);
    let log_writes = if rng.bool() { LogWrites::Synchronous } else { LogWrites::Buffered };
    let streams = if protocol == Protocol::Serial { 1 } else { rng.u32(1..=4) };
    let fuzzy = if protocol.completes_fuzzy_checkpoints() { CheckpointKind::Fuzzy } else { CheckpointKind::Epoch };
    let checkpoints = [None, Some(CheckpointKind::Epoch), Some(fuzzy)][rng.usize(0..3)];
    let control = control(&mut Rng::with_seed(!seed));
    let open = |disk: &SimDisk| {
        let mut config = config(disk, protocol, streams, mutations);
        config.checkpoint_kind = checkpoints.unwrap_or_default();
        (config.concurrency_control, config.locking) = control;
        Database::open(config).map_err(|error| error.to_string())
    };
    let mut disk = SimDisk::new(rng.u64(..), log_writes);
    let ids = AtomicU64::new(1);
    let mut base = prepare(&open(&disk)?)?;
    let mut acknowledged = 0;
    for _ in 0..GENERATIONS {
        let database = open(&disk)?;
        disk.set_faults(Faults { crash_at: Some(rng.u64(1..400)), ..Faults::default() });
        let history = in_parallel(&database, &ids, &mut rng, (checkpoints.is_some(), mutations))?;
        disk.crash();
        drop(database);
        disk = disk.survive(rng.u64(..));
        let database = open(&disk)?;
        let found = read_all(&database).map_err(|error| error.to_string())?;
        let failed = |error| format!("seed {seed}, {streams} streams: {error}");
        check(&history, &base, &found).map_err(failed)?;
        if protocol == Protocol::Gsn {
            check_stamps(&history, &base).map_err(failed)?;
        }
        acknowledged += history.iter().filter(|committed| committed.acknowledged).count();
        base = found;
        database.close().map_err(|error| error.to_string())?;
    }
    Ok(acknowledged)
}

/// A third of the seeds each.
fn control(rng: &mut Rng) -> (ConcurrencyControlKind, Locking) {
    let controls = [
        ConcurrencyControlKind::Optimistic,
        ConcurrencyControlKind::TwoPhaseLocking,
        ConcurrencyControlKind::Multiversion,
    ];
    let policies = [Locking::NoWait, Locking::WaitDie, Locking::WoundWait, Locking::Detect];
    (controls[rng.usize(0..3)], policies[rng.usize(0..4)])
}

fn config(disk: &SimDisk, protocol: Protocol, streams: u32, mutations: &[Mutation]) -> Config {
    let mut config = Config::new("/osier").protocol(protocol).streams(streams);
    config.checkpoint_threads = 2;
    config.epoch_interval = Duration::from_micros(500);
    config.ring_bytes = 64 << 10;
    config.segment_bytes = 96 << 10;
    config.transaction_log_bytes_max = 16 << 10;
    let environment = Environment { disk: Arc::new(disk.clone()), ..Environment::os() };
    config.environment(with_faults(environment, mutations))
}

/// Creates the tables and a row for every key, durably.
fn prepare(database: &Database) -> Result<Survivors, String> {
    let create = || -> Result<Survivors, Error> {
        let values = Schema::builder("values").column("key", Type::Int64).column("writer", Type::Int64);
        let values = database.create_table(values.primary_key(["key"]).build()?)?;
        let lists = Schema::builder("lists").column("key", Type::Int64).column("items", Type::Bytes);
        database.create_table(lists.primary_key(["key"]).build()?)?;
        let markers = Schema::builder("markers").column("id", Type::Int64).primary_key(["id"]);
        database.create_table(markers.build()?)?;
        database
            .run(|tx| (0..KEYS).try_for_each(|key| tx.insert(&values, &[Value::Int(key), Value::Int(0)])))?
            .1
            .wait()?;
        let found = read_all(database)?;
        database.close()?;
        Ok(found)
    };
    create().map_err(|error| error.to_string())
}

fn read_all(database: &Database) -> Result<Survivors, Error> {
    let (values, markers, lists) = (database.table("values")?, database.table("markers")?, database.table("lists")?);
    let mut session = database.session()?;
    let tx = session.begin();
    let mut found = Survivors::default();
    for row in tx.scan(&markers, KeyRange::all())? {
        found.markers.insert(row?.int(ColumnId(0)) as Id);
    }
    for row in tx.scan(&values, KeyRange::all())? {
        let row = row?;
        found.writers.insert(row.int(ColumnId(0)), row.int(ColumnId(1)) as Id);
    }
    for row in tx.scan(&lists, KeyRange::all())? {
        let row = row?;
        found.lists.insert(row.int(ColumnId(0)), ids(row.bytes(ColumnId(1))));
    }
    Ok(found)
}

fn ids(items: &[u8]) -> Vec<Id> {
    items.as_chunks().0.iter().map(|item| Id::from_le_bytes(*item)).collect()
}

/// Runs the threads until the log fails or they are done, and gathers what they committed.
fn in_parallel(
    database: &Database,
    ids: &AtomicU64,
    rng: &mut Rng,
    (takes_checkpoints, mutations): (bool, &[Mutation]),
) -> Result<Vec<Committed>, String> {
    let find = |name| database.table(name).map_err(|error: Error| error.to_string());
    let tables =
        Tables { values: find("values")?, markers: find("markers")?, lists: find("lists")?, takes_checkpoints };
    let seeds: Vec<u64> = (0..THREADS).map(|_| rng.u64(..)).collect();
    thread::scope(|scope| {
        let spawn = |seed: &u64| {
            let (tables, rng) = (&tables, Rng::with_seed(*seed));
            scope.spawn(move || {
                simulated::build_in(mutations);
                Worker::new(database, tables, ids, rng)?.run()
            })
        };
        let handles: Vec<_> = seeds.iter().map(spawn).collect();
        let mut history = Vec::new();
        for handle in handles {
            let committed = handle.join().map_err(|_| "a worker panicked".to_owned())?;
            history.extend(committed.map_err(|error| error.to_string())?);
        }
        Ok(history)
    })
}

struct Tables {
    values: Table,
    markers: Table,
    lists: Table,
    takes_checkpoints: bool,
}

struct Worker<'w> {
    database: &'w Database,
    tables: &'w Tables,
    ids: &'w AtomicU64,
    session: Session,
    rng: Rng,
    committed: Vec<Committed>,
    outstanding: VecDeque<(usize, Receipt)>,
}

impl<'w> Worker<'w> {
    fn new(database: &'w Database, tables: &'w Tables, ids: &'w AtomicU64, rng: Rng) -> Result<Worker<'w>, Error> {
        let (committed, outstanding) = (Vec::new(), VecDeque::new());
        Ok(Worker { database, tables, ids, session: database.session()?, rng, committed, outstanding })
    }

    fn run(mut self) -> Result<Vec<Committed>, Error> {
        for _ in 0..TRANSACTIONS_PER_THREAD {
            match self.transaction() {
                Ok(()) => {}
                Err(error) if error.is_conflict() => {}
                Err(Error::Log(_)) if self.database.failure().is_some() => break,
                Err(error) => return Err(error),
            }
            if self.outstanding.len() > OUTSTANDING_MAX {
                self.answer_oldest();
            }
        }
        while !self.outstanding.is_empty() {
            self.answer_oldest();
        }
        Ok(self.committed)
    }

    /// Blocks until the oldest receipt is answered, be it by the crash.
    fn answer_oldest(&mut self) {
        if let Some((at, receipt)) = self.outstanding.pop_front() {
            self.committed[at].acknowledged = receipt.wait().is_ok();
        }
    }

    fn transaction(&mut self) -> Result<(), Error> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let Tables { values, markers, lists, takes_checkpoints } = self.tables;
        if *takes_checkpoints && self.rng.u64(..).is_multiple_of(TRANSACTIONS_PER_CHECKPOINT) {
            self.database.request_checkpoint();
        }
        let (mut reads, mut committed) =
            (BTreeMap::new(), Committed { id, stream: self.session.stream().0, ..Committed::default() });
        let tx = self.session.begin();
        for _ in 0..self.rng.usize(1..4) {
            let key = self.rng.i64(0..KEYS);
            let is_own = committed.writes.contains(&key);
            if self.rng.bool() && !is_own {
                let row = tx.get(values, &[Value::Int(key)])?.expect("every key has a row");
                reads.insert(key, row.int(ColumnId(1)) as Id);
            }
            if self.rng.u8(0..3) > 0 {
                tx.upsert(values, &[Value::Int(key), Value::Int(id as i64)])?;
                if !is_own {
                    committed.writes.push(key);
                }
            }
        }
        if self.rng.bool() {
            let list = ((id / IDS_PER_LIST) * 2 + self.rng.u64(0..2)) as i64;
            let row = tx.get(lists, &[Value::Int(list)])?;
            let mut items = row.map_or_else(Vec::new, |row| row.bytes(ColumnId(1)).to_vec());
            committed.lists.push((list, ids(&items)));
            if self.rng.bool() {
                items.extend_from_slice(&id.to_le_bytes());
                tx.upsert(lists, &[Value::Int(list), Value::Bytes(&items)])?;
                committed.appends.push(list);
            }
        }
        if !committed.writes.is_empty() || !committed.appends.is_empty() {
            tx.upsert(markers, &[Value::Int(id as i64)])?;
        }
        let receipt = tx.commit()?;
        (committed.stamp, committed.reads) = (receipt.stamp().0, reads.into_iter().collect());
        self.committed.push(committed);
        self.outstanding.push_back((self.committed.len() - 1, receipt));
        Ok(())
    }
}
