//! Osier in process, as its own benchmark drives it.

use std::path::Path;

use osier::table::Value;
use osier::{Config, Database, Durability, Error};
use osier_bench::machine::cores;
use osier_bench::ycsb::content::key_value;
use osier_bench::ycsb::target::{YcsbSession, YcsbTarget, load};
use osier_bench::ycsb::{Ycsb, YcsbConfig};
use osier_bench::{Counters, Target, TargetError};

use crate::subject::Subject;

/// Blind writes of stamped rows are numbered with it; rows are not stamped here.
const INCARNATION: u32 = 1;

/// A database with default settings.
pub struct Osier {
    db: Database,
    target: YcsbTarget,
}

impl Osier {
    fn with_table(db: Database, config: &YcsbConfig) -> Result<Osier, TargetError> {
        let target = YcsbTarget::new(db.clone(), config.clone(), Durability::Durable, INCARNATION)?;
        Ok(Osier { db, target })
    }
}

impl Subject for Osier {
    const SYNCS: &'static str =
        "the log segment: one direct, synchronous write for the commits of a batch, led by one that waits";

    fn create(place: &Path, config: &YcsbConfig) -> Result<Osier, TargetError> {
        let db = Database::open(Config::new(place)).map_err(TargetError::new)?;
        load(&db, config, cores() as u32, &|_| ())?;
        Osier::with_table(db, config)
    }

    fn open(place: &Path, config: &YcsbConfig) -> Result<Osier, TargetError> {
        Osier::with_table(Database::open(Config::new(place)).map_err(TargetError::new)?, config)
    }

    fn read(&self, keys: &[u64]) -> Result<Vec<Option<Vec<u8>>>, TargetError> {
        let read = |key: &u64| {
            let (row, receipt) = self.db.run(|tx| {
                let row = tx.get(self.target.table(), &[key_value(*key)])?;
                let fields = row.map(|row| row.values().filter_map(bytes).collect::<Vec<_>>().concat());
                Ok::<_, Error>(fields)
            })?;
            receipt.wait()?;
            Ok::<_, Error>(row)
        };
        keys.iter().map(read).collect::<Result<_, _>>().map_err(TargetError::new)
    }
}

fn bytes(value: Value<'_>) -> Option<Vec<u8>> {
    if let Value::Bytes(bytes) = value { Some(bytes.to_vec()) } else { None }
}

impl Target<Ycsb> for Osier {
    type Client = YcsbSession;

    fn client(&self, worker: u32) -> Result<YcsbSession, TargetError> {
        self.target.client(worker)
    }

    fn counters(&self) -> Counters {
        self.target.counters()
    }
}
