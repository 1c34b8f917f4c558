//! Redis, a server beside this process, over a Unix socket in its directory.

use std::path::{Path, PathBuf};

use osier_bench::TargetError;
use osier_bench::ycsb::YcsbConfig;
use redis::{Client, ConnectionAddr};

use crate::store::{Connection, Rows, Store, key_bytes};

/// The name of the socket.
const SOCKET: &str = "redis.sock";

/// A server that listens in a directory.
pub struct Redis(Client);

impl Store for Redis {
    type Connection = RedisConnection;
    const SYNCS: &'static str =
        "the append-only file: `fdatasync` (`appendfsync always`) for the commands of one turn of the event loop";

    fn create(place: &Path, rows: &Rows<'_>) -> Result<Redis, TargetError> {
        let store = Redis::open(place, rows.config())?;
        let mut connection = store.connect()?;
        for batch in rows.batches() {
            let mut pipe = redis::pipe();
            batch.iter().for_each(|(key, row)| {
                pipe.set(&key_bytes(*key), *row).ignore();
            });
            pipe.exec(&mut connection.0).map_err(TargetError::new)?;
        }
        Ok(store)
    }

    fn open(place: &Path, _config: &YcsbConfig) -> Result<Redis, TargetError> {
        let socket: PathBuf = place.join(SOCKET);
        Ok(Redis(Client::open(ConnectionAddr::Unix(socket)).map_err(TargetError::new)?))
    }

    fn connect(&self) -> Result<RedisConnection, TargetError> {
        Ok(RedisConnection(self.0.get_connection().map_err(TargetError::new)?))
    }
}

/// One thread's connection.
pub struct RedisConnection(redis::Connection);

impl Connection for RedisConnection {
    fn put(&mut self, key: u64, row: &[u8]) -> Result<(), TargetError> {
        redis::cmd("SET").arg(&key_bytes(key)).arg(row).exec(&mut self.0).map_err(TargetError::new)
    }

    fn get(&mut self, key: u64, row: &mut Vec<u8>) -> Result<bool, TargetError> {
        let found = redis::cmd("GET").arg(&key_bytes(key)).query::<Option<Vec<u8>>>(&mut self.0);
        Ok(found.map_err(TargetError::new)?.map(|found| row.extend_from_slice(&found)).is_some())
    }
}
