//! LMDB, through heed: a copy-on-write tree in a memory map; one writer at a time.

use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions};
use osier_bench::TargetError;
use osier_bench::ycsb::YcsbConfig;

use crate::store::{Connection, Rows, Store, key_bytes};

/// What the map may grow to; the file takes what is written.
const MAP_BYTES: usize = 8 << 30;

/// An environment with default settings, those of durability among them.
#[derive(Clone)]
pub struct Lmdb {
    env: Env,
    table: Database<'static, Bytes, Bytes>,
}

impl Lmdb {
    fn write<'r>(&self, rows: impl IntoIterator<Item = (u64, &'r [u8])>) -> Result<(), TargetError> {
        let mut write = self.env.write_txn().map_err(TargetError::new)?;
        for (key, row) in rows {
            self.table.put(&mut write, &key_bytes(key), row).map_err(TargetError::new)?;
        }
        write.commit().map_err(TargetError::new)
    }
}

impl Store for Lmdb {
    type Connection = Lmdb;
    const SYNCS: &'static str = "`data.mdb`: `fdatasync` of the pages, then a write of the meta page \
        with `O_DSYNC`, for each commit; one writer at a time";

    fn create(place: &Path, rows: &Rows<'_>) -> Result<Lmdb, TargetError> {
        std::fs::create_dir_all(place).map_err(TargetError::new)?;
        let store = Lmdb::open(place, rows.config())?;
        rows.batches().try_for_each(|batch| store.write(batch))?;
        Ok(store)
    }

    fn open(place: &Path, _config: &YcsbConfig) -> Result<Lmdb, TargetError> {
        // SAFETY: the directory was made for this run, so nothing but LMDB changes the mapped file.
        let env = unsafe { EnvOpenOptions::new().map_size(MAP_BYTES).open(place) }.map_err(TargetError::new)?;
        let write = env.write_txn().map_err(TargetError::new)?;
        let created = env.create_databases_and_commit(write, |opener, write| {
            opener.create_database(write, None).map(CommitOrAbort::<_, ()>::Commit)
        });
        let table = created.map_err(TargetError::new)?.commit();
        Ok(Lmdb { table: table.ok_or_else(|| TargetError::new("the table was not created"))?, env })
    }

    fn connect(&self) -> Result<Lmdb, TargetError> {
        Ok(self.clone())
    }
}

impl Connection for Lmdb {
    fn put(&mut self, key: u64, row: &[u8]) -> Result<(), TargetError> {
        self.write([(key, row)])
    }

    fn get(&mut self, key: u64, row: &mut Vec<u8>) -> Result<bool, TargetError> {
        let read = self.env.read_txn().map_err(TargetError::new)?;
        let found = self.table.get(&read, &key_bytes(key)).map_err(TargetError::new)?;
        Ok(found.map(|found| row.extend_from_slice(found)).is_some())
    }
}
