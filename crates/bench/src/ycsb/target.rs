//! YCSB on Osier in process.

use std::sync::Arc;

use osier::table::{KeyRange, Schema, Table, Type};
use osier::{Database, Durability, Receipt, Transaction};

use super::calls::{Written, call, returned};
use super::content::{RowValues, key_value, read_version, stamp};
use super::{Access, Evidence, Pool, Request, Ycsb, YcsbConfig, YcsbFact};
use crate::attempt::{Decision, Failure, execute, execute_call, execute_calls, options};
use crate::calls::{Issue, conclude};
use crate::{Client, Counters, Executed, ExecutedAll, Target, TargetError, loading};

const TABLE: &str = "usertable";
/// Log bytes that a loading transaction may take.
const LOAD_BYTES: usize = 256 << 10;
/// Rows of a loading transaction.
const LOAD_ROWS_MAX: usize = 1000;

/// A database with the table of YCSB.
pub struct YcsbTarget {
    db: Database,
    parts: Arc<Parts>,
    durability: Durability,
    incarnation: u32,
    issue: Issue,
}

/// What sessions share and never write.
struct Parts {
    config: YcsbConfig,
    table: Table,
    pool: Pool,
}

impl YcsbTarget {
    /// `incarnation` differs for each time that a process uses the database: blind writes are numbered with it.
    pub fn new(
        db: Database,
        config: YcsbConfig,
        durability: Durability,
        incarnation: u32,
    ) -> Result<YcsbTarget, TargetError> {
        let table = db.table(TABLE).map_err(TargetError::new)?;
        let parts = Arc::new(Parts { pool: Pool::new(&config), table, config });
        Ok(YcsbTarget { db, parts, durability, incarnation, issue: Issue::Rust })
    }

    /// The target with requests issued in this way; [`Fixture::prepare`](crate::fixture::Fixture::prepare) has created the
    /// procedures.
    pub fn issuing(self, issue: Issue) -> YcsbTarget {
        YcsbTarget { issue, ..self }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.parts.table
    }
}

/// Creates the table and loads its rows.
pub fn load(
    db: &Database,
    config: &YcsbConfig,
    threads: u32,
    observe: &(impl Fn(u64) + Sync),
) -> Result<u64, TargetError> {
    let stamps: &[&str] = if config.is_stamped { &["version", "checksum"] } else { &[] };
    let schema = Schema::builder(TABLE).column("ycsb_key", Type::Int64);
    let schema = stamps.iter().fold(schema, |schema, name| schema.column(*name, Type::Int64));
    let schema = (0..config.fields)
        .fold(schema, |schema, field| schema.column(format!("field{field}"), Type::Bytes))
        .primary_key(["ycsb_key"])
        .build()
        .map_err(TargetError::new)?;
    let table = db.create_table(schema).map_err(TargetError::new)?;
    let pool = Pool::new(config);
    // Half of what one may take, for what a row takes beside its columns.
    let bytes = LOAD_BYTES.min(db.config().transaction_log_bytes_max / 2);
    let step = (bytes / (config.row_bytes() + 64)).clamp(1, LOAD_ROWS_MAX);
    let tasks: Vec<_> = (0..config.records).step_by(step).collect();
    loading::run(db, threads, &tasks, observe, |tx, _, first| {
        let last = (first + step as u64).min(config.records);
        let mut content = Vec::new();
        for key in *first..last {
            let payload = Pool::loaded(key);
            if config.is_stamped {
                let checksum = stamp(&mut content, config, &pool, payload, key, 0);
                tx.upsert(&table, RowValues::stamped(config, key, 1, checksum, &content).as_slice())?;
            } else {
                tx.upsert(&table, RowValues::of_pool(config, &pool, key, payload).as_slice())?;
            }
        }
        Ok(last - first)
    })
}

impl Target<Ycsb> for YcsbTarget {
    type Client = YcsbSession;

    fn client(&self, worker: u32) -> Result<YcsbSession, TargetError> {
        let session = self.db.session().map_err(TargetError::new)?;
        assert!(worker < 1 << 12 && (1..1 << 19).contains(&self.incarnation), "numbers of writers are limited");
        let writer = u64::from(self.incarnation) << 44 | u64::from(worker) << 32;
        let state = Requester { parts: Arc::clone(&self.parts), writer, content: Vec::new() };
        Ok(YcsbSession { session, durability: self.durability, issue: self.issue, state })
    }

    fn counters(&self) -> Counters {
        crate::engine::counters(&self.db)
    }
}

/// One worker's session.
pub struct YcsbSession {
    session: osier::Session,
    durability: Durability,
    issue: Issue,
    state: Requester,
}

struct Requester {
    parts: Arc<Parts>,
    /// Counts this session's transactions; also the version of what it writes blindly.
    writer: u64,
    content: Vec<u8>,
}

impl Client<Ycsb> for YcsbSession {
    type Receipt = Receipt;

    fn execute(&mut self, request: &Request) -> Result<Executed<Receipt, Evidence>, TargetError> {
        let YcsbSession { session, durability, issue, state } = self;
        state.writer += 1;
        let options = options(false, *durability);
        let writer = state.writer;
        if !issue.is_call(writer.cast_signed()) {
            return execute(session, options, |tx| state.run(tx, request).map(Decision::Commit));
        }
        let Requester { parts, content, .. } = state;
        let written = Written::of(&parts.config, &parts.pool, request, writer, content);
        let executed = execute_call(session, options, &call(&parts.config, request, &written, writer))?;
        conclude(executed, |output| returned(&parts.config, request, writer, output), |_| None)
    }

    fn execute_all(&mut self, requests: &[Request]) -> ExecutedAll<Receipt, Evidence> {
        if self.issue.has_ad_hoc() {
            return requests.iter().map(|request| self.execute(request)).collect();
        }
        let YcsbSession { session, durability, state: Requester { parts, writer, .. }, .. } = self;
        let config = &parts.config;
        let writers = *writer + 1..;
        *writer += requests.len() as u64;
        let mut contents = vec![Vec::new(); requests.len()];
        let requested = contents.iter_mut().zip(requests.iter().zip(writers.clone()));
        let calls: Vec<_> = requested
            .map(|(content, (request, writer))| {
                call(config, request, &Written::of(config, &parts.pool, request, writer, content), writer)
            })
            .collect();
        let executed = execute_calls(session, options(false, *durability), &calls)?.into_iter();
        let concluded = executed.zip(requests.iter().zip(writers)).map(|(executed, (request, writer))| {
            conclude(executed, |output| returned(config, request, writer, output), |_| None)
        });
        concluded.collect()
    }
}

impl Requester {
    fn run(&mut self, tx: &Transaction<'_>, request: &Request) -> Result<Evidence, Failure> {
        let mut evidence = Evidence::default();
        match *request {
            Request::Overwrite { key, payload } => self.overwrite(tx, key, payload, &mut evidence)?,
            Request::UpdateAndScan { key, payload, from, length } => {
                self.update(tx, key, payload, &mut evidence)?;
                self.scan(tx, from, length)?;
            }
            Request::Accesses { accesses, count, payload } => {
                let accesses = &accesses[..usize::from(count)];
                if accesses.len() > 1 {
                    tx.expect(&self.parts.table, accesses.iter().map(|access| [key_value(access.key)]))?;
                }
                for Access { key, is_write } in accesses {
                    if *is_write {
                        self.update(tx, *key, payload, &mut evidence)?;
                    } else {
                        self.read(tx, *key, &mut evidence)?;
                    }
                }
            }
        }
        Ok(evidence)
    }

    /// A blind write: depends on nothing.
    fn overwrite(&mut self, tx: &Transaction<'_>, key: u64, payload: u32, out: &mut Evidence) -> Result<(), Failure> {
        let Parts { config, table, pool } = &*self.parts;
        if !config.is_stamped {
            return Ok(tx.upsert(table, RowValues::of_pool(config, pool, key, payload).as_slice())?);
        }
        let version = self.writer;
        let checksum = stamp(&mut self.content, config, pool, payload, key, self.writer);
        tx.upsert(table, RowValues::stamped(config, key, version, checksum, &self.content).as_slice())?;
        out.add(YcsbFact { key, version, is_write: true });
        Ok(())
    }

    /// An UPDATE of all fields. Measured, it depends on the row's existence only; stamped, it counts up what it reads.
    fn update(&mut self, tx: &Transaction<'_>, key: u64, payload: u32, out: &mut Evidence) -> Result<(), Failure> {
        let Parts { config, table, pool } = &*self.parts;
        if !config.is_stamped {
            let is_there = tx.replace(table, RowValues::of_pool(config, pool, key, payload).as_slice())?;
            return if is_there { Ok(()) } else { Err(missing(key)) };
        }
        let row = tx.get_for_update(table, &[key_value(key)])?.ok_or_else(|| missing(key))?;
        let version = read_version(config, key, &row).ok_or_else(|| missing(key))? + 1;
        let checksum = stamp(&mut self.content, config, pool, payload, key, self.writer);
        tx.replace(table, RowValues::stamped(config, key, version, checksum, &self.content).as_slice())?;
        out.add(YcsbFact { key, version, is_write: true });
        Ok(())
    }

    fn read(&self, tx: &Transaction<'_>, key: u64, out: &mut Evidence) -> Result<(), Failure> {
        let Parts { config, table, .. } = &*self.parts;
        let row = tx.get(table, &[key_value(key)])?.ok_or_else(|| missing(key))?;
        if config.is_stamped {
            let version = read_version(config, key, &row).ok_or_else(|| missing(key))?;
            out.add(YcsbFact { key, version, is_write: false });
        } else {
            // All bytes are looked at, as a caller would.
            std::hint::black_box(row.as_bytes().iter().fold(0_u8, |sum, byte| sum ^ byte));
        }
        Ok(())
    }

    fn scan(&self, tx: &Transaction<'_>, from: u64, length: u32) -> Result<(), Failure> {
        let from = [key_value(from)];
        let rows = tx.scan(&self.parts.table, KeyRange::all().from_included(&from))?;
        for row in rows.take(length as usize) {
            std::hint::black_box(row?.as_bytes().len());
        }
        Ok(())
    }
}

#[cold]
fn missing(key: u64) -> Failure {
    Failure::Missing { table: TABLE, key: key.to_string() }
}
