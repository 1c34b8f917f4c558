//! RocksDB: a log-structured store in C++ whose writers share syncs of the log.

use std::path::Path;
use std::sync::Arc;

use osier_bench::TargetError;
use osier_bench::machine::cores;
use osier_bench::ycsb::YcsbConfig;
use rocksdb::statistics::{StatsLevel, Ticker};
use rocksdb::{DB, Options, WriteBatch, WriteOptions};

use crate::store::{Connection, Rows, Store, key_bytes};

/// A database with default settings, but for its threads and for counters, which cost nothing beside a sync.
pub struct RocksDb {
    db: Arc<DB>,
    options: Options,
}

fn durable() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(true);
    options
}

impl Store for RocksDb {
    type Connection = RocksDbConnection;
    const SYNCS: &'static str =
        "the write-ahead log: `fdatasync` (`sync = true`) for a group of commits that wait, led by one of them";

    fn create(place: &Path, rows: &Rows<'_>) -> Result<RocksDb, TargetError> {
        let store = RocksDb::open(place, rows.config())?;
        for batch in rows.batches() {
            let mut write = WriteBatch::default();
            batch.iter().for_each(|(key, row)| write.put(key_bytes(*key), row));
            store.db.write_opt(write, &durable()).map_err(TargetError::new)?;
        }
        Ok(store)
    }

    fn open(place: &Path, _config: &YcsbConfig) -> Result<RocksDb, TargetError> {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.increase_parallelism(cores() as i32);
        options.enable_statistics();
        options.set_statistics_level(StatsLevel::ExceptHistogramOrTimers);
        let db = Arc::new(DB::open(&options, place).map_err(TargetError::new)?);
        Ok(RocksDb { db, options })
    }

    fn connect(&self) -> Result<RocksDbConnection, TargetError> {
        Ok(RocksDbConnection { db: Arc::clone(&self.db), durable: durable() })
    }

    fn syncs(&self) -> Option<u64> {
        Some(self.options.get_ticker_count(Ticker::WalFileSynced))
    }
}

/// A handle of the database.
pub struct RocksDbConnection {
    db: Arc<DB>,
    durable: WriteOptions,
}

impl Connection for RocksDbConnection {
    fn put(&mut self, key: u64, row: &[u8]) -> Result<(), TargetError> {
        self.db.put_opt(key_bytes(key), row, &self.durable).map_err(TargetError::new)
    }

    fn get(&mut self, key: u64, row: &mut Vec<u8>) -> Result<bool, TargetError> {
        let found = self.db.get_pinned(key_bytes(key)).map_err(TargetError::new)?;
        Ok(found.map(|found| row.extend_from_slice(&found)).is_some())
    }
}
