//! SQLite with a write-ahead log; one writer at a time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use osier_bench::TargetError;
use osier_bench::ycsb::YcsbConfig;
use rusqlite::{Connection as Handle, Statement};

use super::sql;
use crate::store::{Connection, Rows, Store};

const FILE: &str = "sqlite";

/// A database file with default settings, but for the log and its syncs.
pub struct Sqlite {
    file: PathBuf,
    config: YcsbConfig,
    /// Held by the writer. SQLite's own lock makes writers sleep and try again, which would leave the device idle.
    writer: Arc<Mutex<()>>,
}

impl Sqlite {
    fn handle(&self) -> Result<Handle, rusqlite::Error> {
        let handle = Handle::open(&self.file)?;
        handle.pragma_update_and_check(None, "journal_mode", "wal", |mode| mode.get::<_, String>(0))?;
        handle.pragma_update(None, "synchronous", "full")?;
        Ok(handle)
    }

    fn load(&self, rows: &Rows<'_>) -> Result<(), rusqlite::Error> {
        let mut handle = self.handle()?;
        handle.execute(&sql::create(&self.config, "INTEGER", "BLOB"), ())?;
        for batch in rows.batches() {
            let transaction = handle.transaction()?;
            {
                let mut insert = transaction.prepare_cached(&sql::insert(&self.config, '?'))?;
                for (key, row) in batch {
                    bind(&mut insert, &self.config, key, row)?;
                    insert.raw_execute()?;
                }
            }
            transaction.commit()?;
        }
        Ok(())
    }
}

fn bind(statement: &mut Statement<'_>, config: &YcsbConfig, key: u64, row: &[u8]) -> Result<(), rusqlite::Error> {
    statement.raw_bind_parameter(1, key as i64)?;
    let mut fields = row.chunks_exact(config.field_bytes as usize).enumerate();
    fields.try_for_each(|(at, field)| statement.raw_bind_parameter(at + 2, field))
}

impl Store for Sqlite {
    type Connection = SqliteConnection;
    const SYNCS: &'static str = "the write-ahead log: `fsync` (`synchronous = FULL`) for each commit; \
        one writer at a time; every 1,000 pages a checkpoint syncs the log and the database";

    fn create(place: &Path, rows: &Rows<'_>) -> Result<Sqlite, TargetError> {
        std::fs::create_dir_all(place).map_err(TargetError::new)?;
        let store = Sqlite::open(place, rows.config())?;
        store.load(rows).map_err(TargetError::new)?;
        Ok(store)
    }

    fn open(place: &Path, config: &YcsbConfig) -> Result<Sqlite, TargetError> {
        Ok(Sqlite { file: place.join(FILE), config: config.clone(), writer: Arc::default() })
    }

    fn connect(&self) -> Result<SqliteConnection, TargetError> {
        let handle = self.handle().map_err(TargetError::new)?;
        let [update, select] = [sql::update(&self.config, '?'), sql::select(&self.config, '?')];
        Ok(SqliteConnection { handle, update, select, config: self.config.clone(), writer: Arc::clone(&self.writer) })
    }
}

/// One thread's connection with its statements, which the connection keeps prepared.
pub struct SqliteConnection {
    handle: Handle,
    update: String,
    select: String,
    config: YcsbConfig,
    writer: Arc<Mutex<()>>,
}

impl Connection for SqliteConnection {
    fn put(&mut self, key: u64, row: &[u8]) -> Result<(), TargetError> {
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut update = self.handle.prepare_cached(&self.update).map_err(TargetError::new)?;
        bind(&mut update, &self.config, key, row).map_err(TargetError::new)?;
        match update.raw_execute().map_err(TargetError::new)? {
            1 => Ok(()),
            rows => Err(TargetError::new(format!("key {key} has {rows} rows"))),
        }
    }

    fn get(&mut self, key: u64, row: &mut Vec<u8>) -> Result<bool, TargetError> {
        let mut select = self.handle.prepare_cached(&self.select).map_err(TargetError::new)?;
        let mut found = select.query((key as i64,)).map_err(TargetError::new)?;
        let Some(found) = found.next().map_err(TargetError::new)? else { return Ok(false) };
        for field in 0..self.config.fields as usize {
            let field = found.get_ref(field).map_err(TargetError::new)?;
            row.extend_from_slice(field.as_blob().map_err(TargetError::new)?);
        }
        Ok(true)
    }
}
