//! Hands the writes of a log to the threads that own their rows (LLR-P in PACMAN, section 6.2).
//!
//! A row belongs to one thread, by the hash of its table and key. Whoever reads a write of another thread's row copies it into a
//! batch for that thread, and puts the batch, when it is full, into the thread's inbox.
//!
//! Invariants:
//! - Every thread counts with the same hash and the same number of threads, so that a row has one owner.
//! - An inbox holds a bounded number of bytes, and a batch more of each other thread. Whoever finds one full empties its own
//!   while it waits, so that no two wait for each other for ever. The inbox of a thread that has ended takes whatever comes:
//!   recovery has failed.
//! - The pass over the log is over for a thread when all have handed over their last batch and its own inbox is empty.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use osier_memory::KeyHash;
use osier_memory::sync::{Mutex, lock};

use crate::config::Config;
use crate::ids::{Stamp, TableId};
use crate::io::Clock;
use crate::log::format::payload::delta::Delta;
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::recovery::faults;
use crate::recovery::sorted::Entry;
use crate::sizes::shuffled_bytes_max;

/// What the threads that own rows share.
pub(super) struct Shuffle {
    inboxes: Vec<Inbox>,
    /// Threads that may still hand something over.
    pub(super) feeding: AtomicUsize,
    pub(super) clock: Arc<dyn Clock>,
    /// When all is replayed: the rows of tables that had none before, sorted, of one thread each.
    pub(super) sorted: Mutex<BTreeMap<TableId, Vec<Vec<Entry>>>>,
}

/// The writes that others have handed to a thread.
#[derive(Default)]
struct Inbox {
    batches: Mutex<VecDeque<Vec<u8>>>,
    bytes: AtomicUsize,
    is_closed: AtomicBool,
}

/// Whose row it is, and where it is among the owner's.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) owner: usize,
    pub(super) hash: u32,
}

impl Shuffle {
    /// Returns what so many threads share.
    pub(super) fn new(config: &Config, threads: usize) -> Shuffle {
        assert!(threads > 0, "somebody owns the rows");
        Shuffle {
            inboxes: (0..threads).map(|_| Inbox::default()).collect(),
            feeding: AtomicUsize::new(0),
            clock: config.environment.clock.clone(),
            sorted: Mutex::default(),
        }
    }

    /// Returns how many threads own rows.
    pub(super) fn threads(&self) -> usize {
        self.inboxes.len()
    }

    /// Returns whose a row is, as the thread `own` sees it.
    #[inline]
    pub(super) fn place(&self, own: usize, table: TableId, key: &[u8]) -> Place {
        let hash = KeyHash::of(key).bits();
        // Upper bits of a product choose the owner, and lower bits of the hash the place among its rows.
        let spread = (u64::from(table.0) << 32 | u64::from(hash)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let owner = (spread as usize * self.threads()) >> 32;
        Place { owner: faults::owner(owner, own, self.threads()), hash }
    }

    /// Whether the inbox of a thread is full.
    pub(super) fn is_full(&self, owner: usize) -> bool {
        let inbox = &self.inboxes[owner];
        inbox.bytes.load(Ordering::Relaxed) > shuffled_bytes_max() && !inbox.is_closed.load(Ordering::Acquire)
    }

    /// Hands a batch over.
    pub(super) fn send(&self, owner: usize, batch: Vec<u8>) {
        let inbox = &self.inboxes[owner];
        if !inbox.is_closed.load(Ordering::Acquire) {
            inbox.bytes.fetch_add(batch.len(), Ordering::Relaxed);
            lock(&inbox.batches).push_back(batch);
        }
    }

    /// Returns a batch for the thread `own`.
    pub(super) fn receive(&self, own: usize) -> Option<Vec<u8>> {
        let inbox = &self.inboxes[own];
        let batch = lock(&inbox.batches).pop_front()?;
        inbox.bytes.fetch_sub(batch.len(), Ordering::Relaxed);
        Some(batch)
    }

    /// Nobody empties the inbox of a thread any more.
    pub(super) fn close(&self, own: usize) {
        self.inboxes[own].is_closed.store(true, Ordering::Release);
    }
}

const PUT: u8 = 0;
const DELETE: u8 = 1;
const DELTA: u8 = 2;

/// Appends a write to a batch.
pub(super) fn push(batch: &mut Vec<u8>, hash: u32, stamp: Stamp, write: &LoggedWrite<'_>) {
    let LoggedWrite { table, key, change } = write;
    let (kind, base, body): (_, _, &[u8]) = match change {
        Change::Put(row) => (PUT, Stamp::ZERO, row),
        Change::Delete => (DELETE, Stamp::ZERO, &[]),
        Change::Delta(Delta { base, body }) => (DELTA, *base, body),
    };
    batch.push(kind);
    for word in [stamp.0, base.0] {
        batch.extend_from_slice(&word.to_le_bytes());
    }
    for word in [hash, table.0, key.len() as u32, body.len() as u32] {
        batch.extend_from_slice(&word.to_le_bytes());
    }
    batch.extend_from_slice(key);
    batch.extend_from_slice(body);
}

/// Takes the first write off the rest of a batch.
pub(super) fn pop<'b>(rest: &mut &'b [u8]) -> Option<(u32, Stamp, LoggedWrite<'b>)> {
    let (kind, after) = rest.split_first()?;
    *rest = after;
    let [stamp, base] = [(); 2].map(|()| Stamp(u64::from_le_bytes(fixed(rest))));
    let [hash, table, key_bytes, body_bytes] = [(); 4].map(|()| u32::from_le_bytes(fixed(rest)));
    let [key, body] = [key_bytes, body_bytes].map(|bytes| {
        let (taken, after) = rest.split_at(bytes as usize);
        *rest = after;
        taken
    });
    let change = match *kind {
        PUT => Change::Put(body),
        DELETE => Change::Delete,
        _ => Change::Delta(Delta { base, body }),
    };
    Some((hash, stamp, LoggedWrite { table: TableId(table), key, change }))
}

fn fixed<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (taken, after) = rest.split_first_chunk().expect("a batch holds whole writes");
    *rest = after;
    *taken
}
