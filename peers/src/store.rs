//! What a workload of single accesses asks of a peer, and the target (seam 6) that is made of it.

use std::path::Path;
use std::sync::Arc;

use osier_bench::ycsb::{Evidence, Pool, Request, Ycsb, YcsbConfig};
use osier_bench::{Acknowledge, Client, Counters, Executed, Outcome, StreamCounters, Target, TargetError};

use crate::subject::Subject;

/// Rows that a store loads in one transaction.
pub const LOAD_ROWS: usize = 1000;

/// A store of rows by key, open.
pub trait Store: Sync + Sized {
    /// What one thread uses.
    type Connection: Connection;
    /// What makes a commit durable: which file, by which call, for each commit or for a group of them.
    const SYNCS: &'static str;

    /// Makes a store in an empty directory, or in the server that listens there, with these rows, durable.
    fn create(place: &Path, rows: &Rows<'_>) -> Result<Self, TargetError>;
    /// Opens the store that is there.
    fn open(place: &Path, config: &YcsbConfig) -> Result<Self, TargetError>;
    /// Connects the calling thread.
    fn connect(&self) -> Result<Self::Connection, TargetError>;

    /// How often the log was made durable since the store was opened, where the store counts that.
    fn syncs(&self) -> Option<u64> {
        None
    }
}

/// One thread's way to a store.
pub trait Connection {
    /// Overwrites a row in a transaction of its own, and returns when that is durable.
    fn put(&mut self, key: u64, row: &[u8]) -> Result<(), TargetError>;
    /// Appends a row to `row`; false where there is none.
    fn get(&mut self, key: u64, row: &mut Vec<u8>) -> Result<bool, TargetError>;
}

/// The rows that a store is loaded with.
pub struct Rows<'a> {
    config: &'a YcsbConfig,
    pool: &'a Pool,
}

impl<'a> Rows<'a> {
    /// The rows of a workload.
    pub fn new(config: &'a YcsbConfig, pool: &'a Pool) -> Rows<'a> {
        Rows { config, pool }
    }

    /// The workload.
    pub fn config(&self) -> &'a YcsbConfig {
        self.config
    }

    /// All rows, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &'a [u8])> {
        let (pool, bytes) = (self.pool, self.config.row_bytes());
        (0..self.config.records).map(move |key| (key, pool.payload(Pool::loaded(key), bytes)))
    }

    /// The keys of each loading transaction with their rows.
    pub fn batches(&self) -> impl Iterator<Item = Vec<(u64, &'a [u8])>> {
        let mut rows = self.iter();
        std::iter::from_fn(move || {
            Some(rows.by_ref().take(LOAD_ROWS).collect::<Vec<_>>()).filter(|rows| !rows.is_empty())
        })
    }
}

/// The key of a row where keys are bytes: its order is that of the numbers.
pub fn key_bytes(key: u64) -> [u8; 8] {
    key.to_be_bytes()
}

/// A store as a target of YCSB.
pub struct Peer<S> {
    store: S,
    contents: Arc<Contents>,
}

/// What rows consist of.
struct Contents {
    pool: Pool,
    row_bytes: usize,
}

impl<S: Store> Peer<S> {
    /// The target that executes requests on a store.
    pub fn new(store: S, config: &YcsbConfig) -> Peer<S> {
        let contents = Contents { pool: Pool::new(config), row_bytes: config.row_bytes() };
        Peer { store, contents: Arc::new(contents) }
    }
}

impl<S: Store> Subject for Peer<S> {
    const SYNCS: &'static str = S::SYNCS;

    fn create(place: &Path, config: &YcsbConfig) -> Result<Peer<S>, TargetError> {
        let pool = Pool::new(config);
        Ok(Peer::new(S::create(place, &Rows::new(config, &pool))?, config))
    }

    fn open(place: &Path, config: &YcsbConfig) -> Result<Peer<S>, TargetError> {
        Ok(Peer::new(S::open(place, config)?, config))
    }

    fn read(&self, keys: &[u64]) -> Result<Vec<Option<Vec<u8>>>, TargetError> {
        let mut connection = self.store.connect()?;
        let read = |key: &u64| {
            let mut row = Vec::new();
            Ok(connection.get(*key, &mut row)?.then_some(row))
        };
        keys.iter().map(read).collect()
    }
}

impl<S: Store> Target<Ycsb> for Peer<S> {
    type Client = PeerClient<S::Connection>;

    fn client(&self, _worker: u32) -> Result<Self::Client, TargetError> {
        let connection = self.store.connect()?;
        Ok(PeerClient { connection, contents: Arc::clone(&self.contents), row: Vec::new() })
    }

    fn counters(&self) -> Counters {
        let stream = |syncs| StreamCounters { syncs, ..StreamCounters::default() };
        Counters { streams: self.store.syncs().map(stream).into_iter().collect(), ..Counters::default() }
    }
}

/// One worker's connection to a peer.
pub struct PeerClient<C> {
    connection: C,
    contents: Arc<Contents>,
    row: Vec<u8>,
}

/// The receipt of a commit that was durable before it returned.
#[derive(Clone, Copy, Debug)]
pub struct Durable;

impl Acknowledge for Durable {
    fn is_acknowledged(&self) -> Result<bool, TargetError> {
        Ok(true)
    }

    fn wait(&self) -> Result<(), TargetError> {
        Ok(())
    }
}

impl<C: Connection> Client<Ycsb> for PeerClient<C> {
    type Receipt = Durable;

    fn execute(&mut self, request: &Request) -> Result<Executed<Durable, Evidence>, TargetError> {
        let (key, written) = single_access(request)?;
        match written {
            Some(payload) => self.connection.put(key, self.contents.pool.payload(payload, self.contents.row_bytes))?,
            None => self.read(key)?,
        }
        Ok(Executed { receipt: Durable, outcome: Outcome::Committed, conflicts: 0, evidence: Evidence::default() })
    }
}

impl<C: Connection> PeerClient<C> {
    fn read(&mut self, key: u64) -> Result<(), TargetError> {
        self.row.clear();
        if !self.connection.get(key, &mut self.row)? {
            return Err(TargetError::new(format!(
                "there is no row with key {key}, which was loaded and is never removed"
            )));
        }

        // All bytes are looked at, as Osier's target does.
        std::hint::black_box(self.row.iter().fold(0_u8, |sum, byte| sum ^ byte));
        Ok(())
    }
}

/// The key of a request and, where it writes, where in the pool the new row is.
///
/// # Errors
/// A request of several accesses: peers differ in how they isolate those, so that nothing would be compared.
pub fn single_access(request: &Request) -> Result<(u64, Option<u32>), TargetError> {
    match *request {
        Request::Overwrite { key, payload } => Ok((key, Some(payload))),
        Request::Accesses { accesses: [access, ..], count: 1, payload } => {
            Ok((access.key, access.is_write.then_some(payload)))
        }
        _ => Err(TargetError::new("peers execute transactions of one access only")),
    }
}
