//! Transactions of users while the log of the life before still runs again: a database that opens at once.
//!
//! The oracle has to know what was recovered before it can judge anything that comes after it. So these transactions mark what
//! they change, and what is marked counts as it was before ([`as_it_was`]); when everything has run, it is put back. What they
//! read is compared with what is there then.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use fastrand::Rng;
use osier::table::{KeyRange, Row as EngineRow, Value};
use osier::{Database, Error, Table, Transaction, TransactionOptions};

use super::coverage::What;
use super::executor::Executor;
use super::operation::{EXTRAS, Key, Row, TableName, TransactionId};
use super::procedures;
use super::run::{Failure, Simulation};
use super::tables::{Columns, decode, key_values, table_name};
use crate::clock::ManualClock;
use crate::fiber;
use crate::spawn::SimSpawn;

/// The SQLSTATE of a wait for a lock that took too long.
const LOCK_TIMEOUT: &str = "55P03";

/// The SQLSTATE of a table that does not exist.
const UNDEFINED_TABLE: &str = "42P01";

/// So many sessions make so many transactions of so many uses at most.
const SESSIONS_MAX: usize = 3;
const TRANSACTIONS_MAX: usize = 12;
const USES_MAX: usize = 3;

/// Marks the writer of a row that was changed early.
const MARK: u64 = 1 << 52;
/// What is added to its counter.
const ADDED: i64 = 1 << 45;

/// Returns a row as it was before it was changed early.
pub(super) fn as_it_was(row: Row) -> Row {
    if row.writer.0 & MARK == 0 {
        return row;
    }
    Row { writer: TransactionId(row.writer.0 & !MARK), counter: row.counter.wrapping_sub(ADDED), ..row }
}

/// Rows of a table that were read: the one with a key, or all from there on.
#[derive(Debug)]
pub(super) struct Looked {
    name: TableName,
    key: Key,
    is_range: bool,
    rows: Vec<(Key, Row)>,
}

/// Returns a table, if there is one.
fn table(transaction: &Transaction<'_>, name: TableName) -> Result<Option<Table>, Error> {
    match transaction.table(&table_name(name)) {
        Err(error) if error.sqlstate() == UNDEFINED_TABLE => Ok(None),
        table => table.map(Some),
    }
}

impl Looked {
    /// Reads rows.
    fn at(
        transaction: &Transaction<'_>,
        (name, key, is_range): (TableName, Key, bool),
    ) -> Result<Option<Looked>, Error> {
        let Some(table) = table(transaction, name)? else { return Ok(None) };
        let values = key_values(name, key);
        let decoded = |row: EngineRow<'_>| decode(name, &row);
        let rows = match is_range {
            true => {
                let range = KeyRange::all().from_included(&values);
                transaction.scan(&table, range)?.map(|row| row.map(decoded)).collect::<Result<_, _>>()?
            }
            false => transaction.get(&table, &values)?.map(decoded).into_iter().collect(),
        };
        Ok(Some(Looked { name, key, is_range, rows }))
    }

    /// Reads them once more.
    fn again(&self, transaction: &Transaction<'_>) -> Result<Vec<(Key, Row)>, Error> {
        let looked = Looked::at(transaction, (self.name, self.key, self.is_range))?;
        Ok(looked.map(|looked| looked.rows).unwrap_or_default())
    }
}

/// Changes a row and marks it, or puts back one that is marked; in some ways it removes it in between.
fn change(transaction: &Transaction<'_>, (name, key): (TableName, Key), way: u8) -> Result<(), Error> {
    let Some(table) = table(transaction, name)? else { return Ok(()) };
    let (values, columns) = (key_values(name, key), Columns::of(name));
    let is_locked = way.is_multiple_of(2);
    let found =
        if is_locked { transaction.get_for_update(&table, &values)? } else { transaction.get(&table, &values)? };
    let Some(found) = found else { return transaction.delete(&table, &values).map(drop) };
    if way > 5 {
        transaction.delete(&table, &values)?;
        transaction.insert(&table, &found.values().collect::<Vec<_>>())?;
    }
    let (writer, counter) = (found.int(columns.writer), found.int(columns.counter));
    let (writer, counter) = match writer as u64 & MARK {
        0 => (writer | MARK as i64, counter.wrapping_add(ADDED)),
        _ => (writer & !(MARK as i64), counter.wrapping_sub(ADDED)),
    };
    let changes = [(columns.writer, Value::Int(writer)), (columns.counter, Value::Int(counter))];
    transaction.update(&table, &values, &changes).map(drop)
}

/// Puts back whatever is marked.
fn put_all_back(transaction: &Transaction<'_>) -> Result<(), Error> {
    for name in [TableName::Plain, TableName::Indexed].into_iter().chain((0..EXTRAS).map(TableName::Extra)) {
        let Some(table) = table(transaction, name)? else { continue };
        let is_marked = |row: &EngineRow<'_>| row.int(Columns::of(name).writer) as u64 & MARK != 0;
        let rows = transaction.scan(&table, KeyRange::all())?.collect::<Result<Vec<_>, _>>()?;
        for row in rows.iter().filter(|row| is_marked(row)) {
            change(transaction, (name, decode(name, row).0), 0)?;
        }
    }
    Ok(())
}

/// Puts a procedure in its own place, if there is one, and what it names.
fn redefine(transaction: &Transaction<'_>, slot: u8) -> Result<(), Error> {
    let program = transaction.procedure(&procedures::name(slot));
    match program.and_then(|program| transaction.replace_procedure(&program)) {
        Err(error) if error.is_conflict() || matches!(error, Error::Log(_)) => Err(error),
        _ => Ok(()),
    }
}

impl Simulation<'_> {
    /// Uses rows in several sessions while transactions of the log still run again. Where the disk fails on the way, nothing more
    /// is used.
    pub(super) fn use_early(
        &self,
        database: &Database,
        world: (&SimSpawn, &ManualClock),
    ) -> Result<Vec<Looked>, Failure> {
        if database.metrics().backlog.left == 0 {
            return Ok(Vec::new());
        }
        self.note(What::EarlyUses);
        let looked = RefCell::new(Vec::new());
        let sessions = self.rng.borrow_mut().usize(0..=SESSIONS_MAX);
        let rngs: Vec<_> = (0..sessions).map(|_| self.rng.borrow_mut().fork()).collect();
        let use_some = |rng| self.use_rows(database, rng, &looked);
        self.run_while_tasks_do(world, rngs.into_iter().map(|rng| move || use_some(rng)))?;
        Ok(looked.into_inner())
    }

    fn use_rows(&self, database: &Database, mut rng: Rng, looked: &RefCell<Vec<Looked>>) -> Result<(), Failure> {
        let mut session = database.session().map_err(|error| Failure::engine("a session", &error))?;
        for _ in 0..rng.usize(0..=TRANSACTIONS_MAX) {
            let snapshot = rng.u8(0..6) == 0;
            let transaction = session.begin_with(TransactionOptions { snapshot, ..TransactionOptions::default() });
            let mut found = Vec::new();
            let used = self.use_some(&transaction, &mut found, snapshot, &mut rng);
            match used.and_then(|()| if rng.u8(0..6) > 0 { transaction.commit().map(drop) } else { Ok(()) }) {
                Ok(()) => {
                    self.trace.line(|| format!("early: {found:?}"));
                    looked.borrow_mut().append(&mut found);
                }
                Err(error) if error.is_conflict() || error.sqlstate() == LOCK_TIMEOUT => {}
                Err(Error::Log(_)) if database.failure().is_some() => return Ok(()),
                Err(error) => return Err(Failure::engine("using a row early", &error)),
            }
        }
        Ok(())
    }

    /// Uses rows in a transaction.
    fn use_some(
        &self,
        transaction: &Transaction<'_>,
        found: &mut Vec<Looked>,
        only_reads: bool,
        rng: &mut Rng,
    ) -> Result<(), Error> {
        for _ in 0..rng.usize(1..=USES_MAX) {
            let (name, key) = self.plan.place(rng);
            match rng.u8(0..16) {
                0 if !only_reads => redefine(transaction, rng.u8(0..procedures::SLOTS))?,
                1..8 if !only_reads && !self.plan.has_partial() => {
                    self.has_marked.set(true);
                    change(transaction, (name, key), rng.u8(0..8))?;
                }
                drawn => found.extend(Looked::at(transaction, (name, key, drawn == 8))?),
            }
            fiber::wait();
        }
        Ok(())
    }

    /// Compares what was read early with what there is now.
    pub(super) fn check_early(&self, database: &Database, looked: &[Looked]) -> Result<(), Failure> {
        let mut session = database.session().map_err(|error| Failure::engine("a session", &error))?;
        let transaction = session.begin();
        for early in looked {
            let now = early.again(&transaction).map_err(|error| Failure::engine("reading a row again", &error))?;
            if now != early.rows {
                return Err(Failure::Engine(format!("{early:?} was read early, and is {now:?}")));
            }
        }
        Ok(())
    }

    /// Puts back what was changed early, now or in a life before: a crash may have lost that it was put back. `false`: the
    /// disk has failed.
    pub(super) fn end_early(&self, database: &Database, world: (&SimSpawn, &ManualClock)) -> Result<bool, Failure> {
        if !self.has_marked.get() {
            return Ok(true);
        }
        let is_put_back = Cell::new(false);
        let put_back = || match database.run(put_all_back) {
            Ok(_) => {
                is_put_back.set(true);
                Ok(())
            }
            Err(Error::Log(_)) if database.failure().is_some() => Ok(()),
            Err(error) => Err(Failure::engine("putting rows back", &error)),
        };
        self.run_while_tasks_do(world, [put_back].into_iter())?;
        Ok(is_put_back.get())
    }

    /// Does something that waits for tasks, where it does.
    pub(super) fn while_tasks_run(
        &self,
        world: (&SimSpawn, &ManualClock),
        database: &Database,
        body: impl Fn() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if database.metrics().backlog.left == 0 {
            return body();
        }
        self.run_while_tasks_do(world, [body].into_iter())
    }

    fn run_while_tasks_do<B: FnOnce() -> Result<(), Failure>>(
        &self,
        (spawn, clock): (&SimSpawn, &ManualClock),
        bodies: impl Iterator<Item = B>,
    ) -> Result<(), Failure> {
        let mut executor = Executor::default();
        bodies.for_each(|body| executor.spawn(async move { body() }));
        while executor.live() > 0 {
            let mut rng = self.rng.borrow_mut().fork();
            if rng.bool() {
                executor.step(&mut rng).flatten().unwrap_or(Ok(()))?;
            } else if spawn.step().is_none() || rng.u8(0..20) == 0 {
                clock.advance(Duration::from_micros(rng.u64(1..3000)));
            }
        }
        Ok(())
    }
}
