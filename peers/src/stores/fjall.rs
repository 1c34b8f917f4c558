//! fjall: a log-structured store in Rust, synced by `Database::persist` after each write.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use osier_bench::TargetError;
use osier_bench::ycsb::YcsbConfig;

use crate::store::{Connection, Rows, Store, key_bytes};

const TABLE: &str = "usertable";

/// A database with default settings.
pub struct Fjall {
    db: Database,
    table: Keyspace,
}

impl Store for Fjall {
    type Connection = FjallConnection;
    const SYNCS: &'static str =
        "the journal: `fsync` (`PersistMode::SyncAll`) for each commit; commits do not share one";

    fn create(place: &Path, rows: &Rows<'_>) -> Result<Fjall, TargetError> {
        let store = Fjall::open(place, rows.config())?;
        for batch in rows.batches() {
            let mut write = store.db.batch();
            batch.iter().for_each(|(key, row)| write.insert(&store.table, key_bytes(*key), *row));
            write.commit().map_err(TargetError::new)?;
        }
        store.db.persist(PersistMode::SyncAll).map_err(TargetError::new)?;
        Ok(store)
    }

    fn open(place: &Path, _config: &YcsbConfig) -> Result<Fjall, TargetError> {
        let db = Database::builder(place).open().map_err(TargetError::new)?;
        let table = db.keyspace(TABLE, KeyspaceCreateOptions::default).map_err(TargetError::new)?;
        Ok(Fjall { db, table })
    }

    fn connect(&self) -> Result<FjallConnection, TargetError> {
        Ok(FjallConnection { db: self.db.clone(), table: self.table.clone() })
    }
}

/// Handles of the database and its table.
pub struct FjallConnection {
    db: Database,
    table: Keyspace,
}

impl Connection for FjallConnection {
    fn put(&mut self, key: u64, row: &[u8]) -> Result<(), TargetError> {
        self.table.insert(key_bytes(key), row).map_err(TargetError::new)?;
        self.db.persist(PersistMode::SyncAll).map_err(TargetError::new)
    }

    fn get(&mut self, key: u64, row: &mut Vec<u8>) -> Result<bool, TargetError> {
        let found = self.table.get(key_bytes(key)).map_err(TargetError::new)?;
        Ok(found.map(|found| row.extend_from_slice(&found)).is_some())
    }
}
