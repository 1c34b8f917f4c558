//! PostgreSQL, a server beside this process, over a Unix socket in its directory.

use std::path::{Path, PathBuf};

use osier_bench::TargetError;
use osier_bench::ycsb::YcsbConfig;
use postgres::binary_copy::BinaryCopyInWriter;
use postgres::types::{ToSql, Type};
use postgres::{Client, Error, NoTls, Statement};

use super::sql;
use crate::store::{Connection, Rows, Store};

const USER: &str = "postgres";

/// A server that listens in `place`.
pub struct Postgres {
    place: PathBuf,
    config: YcsbConfig,
}

impl Postgres {
    fn client(&self) -> Result<Client, Error> {
        postgres::Config::new().host_path(&self.place).user(USER).dbname(USER).connect(NoTls)
    }

    fn load(&self, rows: &Rows<'_>) -> Result<(), Error> {
        let mut client = self.client()?;
        client.batch_execute("DROP TABLE IF EXISTS usertable")?;
        client.batch_execute(&sql::create(&self.config, "BIGINT", "BYTEA"))?;
        let types: Vec<Type> =
            std::iter::once(Type::INT8).chain((0..self.config.fields).map(|_| Type::BYTEA)).collect();
        let copy = client.copy_in("COPY usertable FROM STDIN (FORMAT binary)")?;
        let mut writer = BinaryCopyInWriter::new(copy, &types);
        for (key, row) in rows.iter() {
            with_parameters(&self.config, key, row, |parameters| writer.write(parameters))?;
        }
        writer.finish()?;
        Ok(())
    }

    fn prepare(&self) -> Result<PostgresConnection, Error> {
        let mut client = self.client()?;
        let update = client.prepare(&sql::update(&self.config, '$'))?;
        let select = client.prepare(&sql::select(&self.config, '$'))?;
        Ok(PostgresConnection { client, update, select, config: self.config.clone() })
    }
}

/// Calls `then` with a key and the fields of its row.
fn with_parameters<T>(config: &YcsbConfig, key: u64, row: &[u8], then: impl FnOnce(&[&(dyn ToSql + Sync)]) -> T) -> T {
    let key = key as i64;
    let fields: Vec<&[u8]> = row.chunks_exact(config.field_bytes as usize).collect();
    let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&key];
    parameters.extend(fields.iter().map(|field| field as &(dyn ToSql + Sync)));
    then(&parameters)
}

impl Store for Postgres {
    type Connection = PostgresConnection;
    const SYNCS: &'static str = "the write-ahead log: `fdatasync` (`fsync` and `synchronous_commit` on) \
        for a commit and all others that are in the log by then";

    fn create(place: &Path, rows: &Rows<'_>) -> Result<Postgres, TargetError> {
        let store = Postgres::open(place, rows.config())?;
        store.load(rows).map_err(TargetError::new)?;
        Ok(store)
    }

    fn open(place: &Path, config: &YcsbConfig) -> Result<Postgres, TargetError> {
        Ok(Postgres { place: place.to_owned(), config: config.clone() })
    }

    fn connect(&self) -> Result<PostgresConnection, TargetError> {
        self.prepare().map_err(TargetError::new)
    }
}

/// One thread's connection with its prepared statements.
pub struct PostgresConnection {
    client: Client,
    update: Statement,
    select: Statement,
    config: YcsbConfig,
}

impl Connection for PostgresConnection {
    fn put(&mut self, key: u64, row: &[u8]) -> Result<(), TargetError> {
        let PostgresConnection { client, update, config, .. } = self;
        let updated = with_parameters(config, key, row, |parameters| client.execute(update, parameters));
        match updated.map_err(TargetError::new)? {
            1 => Ok(()),
            rows => Err(TargetError::new(format!("key {key} has {rows} rows"))),
        }
    }

    fn get(&mut self, key: u64, row: &mut Vec<u8>) -> Result<bool, TargetError> {
        let found = self.client.query_opt(&self.select, &[&(key as i64)]).map_err(TargetError::new)?;
        let Some(found) = found else { return Ok(false) };
        for field in 0..self.config.fields as usize {
            row.extend_from_slice(found.try_get::<_, &[u8]>(field).map_err(TargetError::new)?);
        }
        Ok(true)
    }
}
