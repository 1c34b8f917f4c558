//! redb: a copy-on-write tree in one file, in Rust; one writer at a time.

use std::path::Path;
use std::sync::Arc;

use osier_bench::TargetError;
use osier_bench::ycsb::YcsbConfig;
use redb::{Database, Durability, ReadableDatabase, TableDefinition};

use crate::store::{Connection, Rows, Store};

const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("usertable");
const FILE: &str = "redb";

/// A database with default settings.
pub struct Redb(Arc<Database>);

impl Store for Redb {
    type Connection = RedbConnection;
    const SYNCS: &'static str =
        "the database file: one `fdatasync` for each commit (`Durability::Immediate`, one phase); one writer at a time";

    fn create(place: &Path, rows: &Rows<'_>) -> Result<Redb, TargetError> {
        std::fs::create_dir_all(place).map_err(TargetError::new)?;
        let store = Redb::open(place, rows.config())?;
        let mut connection = store.connect()?;
        for batch in rows.batches() {
            connection.write(&batch)?;
        }
        Ok(store)
    }

    fn open(place: &Path, _config: &YcsbConfig) -> Result<Redb, TargetError> {
        Ok(Redb(Arc::new(Database::create(place.join(FILE)).map_err(TargetError::new)?)))
    }

    fn connect(&self) -> Result<RedbConnection, TargetError> {
        Ok(RedbConnection(Arc::clone(&self.0)))
    }
}

/// A handle of the database.
pub struct RedbConnection(Arc<Database>);

impl RedbConnection {
    /// Writes rows in one transaction, durable when this returns.
    fn write(&mut self, rows: &[(u64, &[u8])]) -> Result<(), TargetError> {
        let mut write = self.0.begin_write().map_err(TargetError::new)?;
        write.set_durability(Durability::Immediate).map_err(TargetError::new)?;
        {
            let mut table = write.open_table(TABLE).map_err(TargetError::new)?;
            for (key, row) in rows {
                table.insert(key, row).map_err(TargetError::new)?;
            }
        }
        write.commit().map_err(TargetError::new)
    }
}

impl Connection for RedbConnection {
    fn put(&mut self, key: u64, row: &[u8]) -> Result<(), TargetError> {
        self.write(&[(key, row)])
    }

    fn get(&mut self, key: u64, row: &mut Vec<u8>) -> Result<bool, TargetError> {
        let read = self.0.begin_read().map_err(TargetError::new)?;
        let table = read.open_table(TABLE).map_err(TargetError::new)?;
        let found = table.get(key).map_err(TargetError::new)?;
        Ok(found.map(|found| row.extend_from_slice(found.value())).is_some())
    }
}
