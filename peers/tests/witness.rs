//! The witness notices a store that acknowledges what it does not keep.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use osier_bench::driver::{self, Length, RunConfig};
use osier_bench::ycsb::{Pool, Ycsb, YcsbConfig};
use osier_bench::{NoLedger, TargetError};
use osier_peers::comparison;
use osier_peers::store::{Connection, Peer, Rows, Store};
use osier_peers::witness::Witness;

/// What becomes of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It is kept.
    None,
    /// One in a hundred is dropped.
    Drops,
    /// One in a hundred goes to the row beside.
    Misplaces,
    /// One in a hundred is kept but for its last byte.
    Tears,
    /// It is kept only when the next one comes: the last one of each thread is missing.
    Defers,
}

#[derive(Clone)]
struct Faulty {
    fault: Fault,
    writes: u64,
    deferred: Option<(u64, Vec<u8>)>,
    rows: Arc<Mutex<HashMap<u64, Vec<u8>>>>,
}

impl Store for Faulty {
    type Connection = Faulty;
    const SYNCS: &'static str = "nothing";

    fn create(_place: &Path, rows: &Rows<'_>) -> Result<Faulty, TargetError> {
        let rows = rows.iter().map(|(key, row)| (key, row.to_vec())).collect();
        Ok(Faulty { fault: Fault::None, writes: 0, deferred: None, rows: Arc::new(Mutex::new(rows)) })
    }

    fn open(_place: &Path, _config: &YcsbConfig) -> Result<Faulty, TargetError> {
        Err(TargetError::new("in memory"))
    }

    fn connect(&self) -> Result<Faulty, TargetError> {
        Ok(self.clone())
    }
}

impl Connection for Faulty {
    fn put(&mut self, key: u64, row: &[u8]) -> Result<(), TargetError> {
        self.writes += 1;
        let mut rows = self.rows.lock().unwrap();
        let (mut key, mut row) = (key, row.to_vec());
        if self.writes.is_multiple_of(100) {
            match self.fault {
                Fault::Drops => return Ok(()),
                Fault::Misplaces => key ^= 1,
                Fault::Tears => *row.last_mut().unwrap() ^= 1,
                Fault::None | Fault::Defers => {}
            }
        }
        let kept = if self.fault == Fault::Defers { self.deferred.replace((key, row)) } else { Some((key, row)) };
        rows.extend(kept);
        Ok(())
    }

    fn get(&mut self, key: u64, row: &mut Vec<u8>) -> Result<bool, TargetError> {
        Ok(self.rows.lock().unwrap().get(&key).map(|found| row.extend_from_slice(found)).is_some())
    }
}

/// Runs `transactions` on a store of `records` rows with a fault, and returns what the witness says.
fn check(fault: Fault, workers: u32, records: u64, transactions: u64) -> Result<u64, TargetError> {
    let config = comparison::overwrite(records);
    let pool = Pool::new(&config);
    let store = Faulty { fault, ..Faulty::create(Path::new(""), &Rows::new(&config, &pool)).unwrap() };
    let (peer, witness) = (Peer::new(store, &config), Witness::default());
    let run = RunConfig {
        workers,
        length: Length::Transactions(transactions),
        warmup: Duration::ZERO,
        blocking: true,
        outstanding_max: 1,
        batch: 1,
        rate: None,
        timeline: false,
        latency_every: 1,
        seed: 3,
    };
    driver::run(&Ycsb::new(config.clone()), &witness.watch(&peer), &run, |_| NoLedger, |_, _| ()).unwrap();
    witness.check(&peer, &config)
}

/// So many rows that most are written once or twice: a later write would hide what became of an earlier one.
const ROWS: u64 = 20_000;

#[test]
fn an_honest_store_passes() {
    for workers in [1, 4] {
        let written = check(Fault::None, workers, ROWS, ROWS).unwrap();
        assert!(written > 500, "{written} rows were watched and written");
        assert_eq!(check(Fault::None, workers, 1, 1000).unwrap(), 1);
    }
}

#[test]
fn a_store_that_does_not_keep_what_it_acknowledged_is_found() {
    for fault in [Fault::Drops, Fault::Misplaces, Fault::Tears] {
        assert!([1, 4].iter().all(|workers| check(fault, *workers, ROWS, ROWS).is_err()), "{fault:?}");
    }
}

/// With one row, later writes hide what became of all but the last one.
#[test]
fn a_lost_last_write_is_found() {
    assert!(check(Fault::Defers, 1, 1, 50).is_err());
}
