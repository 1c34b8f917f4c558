//! Remembers who wrote what when, and says whether a row is what it must be afterwards.
//!
//! A write that began after another one of the same row was acknowledged must not lose to it. So once all writes are
//! acknowledged, a row holds what one of those wrote that no other one followed in that sense; a row that nobody wrote holds
//! what was loaded. With one thread that is exactly the last write. Every [`SAMPLE_EVERY`]th row is watched, so that a
//! measurement hardly notices.
//!
//! Deliberately absent: crashes. What is read back was written, synced or not; that it was synced is the peer's promise.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use osier_bench::ycsb::{Evidence, Pool, Request, Ycsb, YcsbConfig};
use osier_bench::{Acknowledge, Client, Counters, Executed, Target, TargetError};

use crate::store::single_access;
use crate::subject::Subject;

/// One row in so many is watched.
pub const SAMPLE_EVERY: u64 = 16;

/// A write of a watched row.
#[derive(Clone, Copy, Debug)]
struct Write {
    key: u64,
    payload: u32,
    began: Instant,
    acknowledged: Option<Instant>,
}

/// The writes of one client.
type Log = Arc<Mutex<Vec<Write>>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All writes of watched rows since the store was loaded.
#[derive(Debug, Default)]
pub struct Witness {
    logs: Mutex<Vec<Log>>,
}

impl Witness {
    /// A target that does what `target` does, watched.
    pub fn watch<'a, T>(&'a self, target: &'a T) -> Watched<'a, T> {
        Watched { witness: self, target }
    }

    /// Reads all watched rows and returns how many of them were written.
    ///
    /// # Errors
    /// The first row that holds what it must not hold.
    pub fn check(&self, subject: &impl Subject, config: &YcsbConfig) -> Result<u64, TargetError> {
        let keys: Vec<u64> = (0..config.records).step_by(SAMPLE_EVERY as usize).collect();
        let mut by_key: Vec<Vec<Write>> = vec![Vec::new(); keys.len()];
        for log in lock(&self.logs).iter() {
            for write in lock(log).iter() {
                by_key[(write.key / SAMPLE_EVERY) as usize].push(*write);
            }
        }

        let pool = Pool::new(config);
        for ((key, writes), row) in keys.iter().zip(&by_key).zip(subject.read(&keys)?) {
            let content = |payload| pool.payload(payload, config.row_bytes());
            let is_possible = row.is_some_and(|row| last_payloads(*key, writes).any(|payload| content(payload) == row));
            if !is_possible {
                let written = writes.len();
                return Err(TargetError::new(format!(
                    "row {key}, written {written} times, holds none of its last writes"
                )));
            }
        }
        Ok(by_key.iter().filter(|writes| !writes.is_empty()).count() as u64)
    }
}

/// What a row may hold after these writes.
fn last_payloads(key: u64, writes: &[Write]) -> impl Iterator<Item = u32> {
    let last_begin = writes.iter().map(|write| write.began).max();
    let is_last = move |write: &&Write| write.acknowledged.is_none_or(|time| Some(time) >= last_begin);
    let loaded = writes.is_empty().then(|| Pool::loaded(key));
    writes.iter().filter(is_last).map(|write| write.payload).chain(loaded)
}

/// A target whose writes are witnessed.
pub struct Watched<'a, T> {
    witness: &'a Witness,
    target: &'a T,
}

impl<T: Target<Ycsb>> Target<Ycsb> for Watched<'_, T> {
    type Client = WatchedClient<T::Client>;

    fn client(&self, worker: u32) -> Result<Self::Client, TargetError> {
        let client = self.target.client(worker)?;
        let log = Log::default();
        lock(&self.witness.logs).push(Arc::clone(&log));
        Ok(WatchedClient { client, log })
    }

    fn counters(&self) -> Counters {
        self.target.counters()
    }
}

/// One worker's connection.
pub struct WatchedClient<C> {
    client: C,
    log: Log,
}

impl<C: Client<Ycsb>> Client<Ycsb> for WatchedClient<C> {
    type Receipt = WatchedReceipt<C::Receipt>;

    fn execute(&mut self, request: &Request) -> Result<Executed<Self::Receipt, Evidence>, TargetError> {
        let note = match single_access(request)? {
            (key, Some(payload)) if key.is_multiple_of(SAMPLE_EVERY) => {
                let mut writes = lock(&self.log);
                writes.push(Write { key, payload, began: Instant::now(), acknowledged: None });
                Some((Arc::clone(&self.log), writes.len() - 1))
            }
            _ => None,
        };
        let Executed { receipt, outcome, conflicts, evidence } = self.client.execute(request)?;
        Ok(Executed { receipt: WatchedReceipt { receipt, note }, outcome, conflicts, evidence })
    }
}

/// A receipt that notes when its commit was acknowledged.
pub struct WatchedReceipt<R> {
    receipt: R,
    /// The log and the place in it of a watched write.
    note: Option<(Log, usize)>,
}

impl<R> WatchedReceipt<R> {
    fn note(&self) {
        if let Some((log, at)) = &self.note {
            lock(log)[*at].acknowledged.get_or_insert_with(Instant::now);
        }
    }
}

impl<R: Acknowledge> Acknowledge for WatchedReceipt<R> {
    fn is_acknowledged(&self) -> Result<bool, TargetError> {
        let is_acknowledged = self.receipt.is_acknowledged()?;
        if is_acknowledged {
            self.note();
        }
        Ok(is_acknowledged)
    }

    fn wait(&self) -> Result<(), TargetError> {
        self.receipt.wait()?;
        self.note();
        Ok(())
    }
}
