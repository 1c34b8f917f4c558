//! Osier and the peers in Rust execute requests as the workload means them, and keep what they acknowledged over a reopen.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::PathBuf;
use std::time::Duration;

use osier_bench::driver::Length;
use osier_bench::ycsb::YcsbConfig;
use osier_peers::comparison::{self, Plan};
use osier_peers::osier::Osier;
use osier_peers::subject::Subject;

/// A directory that goes with the value.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let place = std::env::temp_dir().join(format!("osier-peers-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        Place(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Loads 100 rows, runs 200 transactions with one thread and 200 with three; the run itself reads back and reopens.
fn runs<S: Subject>(name: &str, is_pipelined: bool) {
    for workload in [comparison::overwrite(100), comparison::access(100)] {
        let place = Place::new(&format!("{name}-{}", workload.fields));
        let plan = Plan {
            workload: workload.clone(),
            workers: vec![1, 3],
            length: Length::Transactions(200),
            warmup: Duration::ZERO,
            is_pipelined,
            seed: 7,
        };
        let reports = comparison::run::<S>(name, &place.0.join("store"), &plan).unwrap();
        assert_eq!(reports.len(), 2);
        for (report, workers) in reports.iter().zip([1, 3]) {
            assert_eq!((report.workers, report.consistent, report.blocking), (workers, Some(true), !is_pipelined));
            assert!(report.acknowledged >= 200 && report.committed == report.acknowledged, "{report}");
        }
        loads_what_the_workload_says::<S>(name, &workload);
    }
}

fn loads_what_the_workload_says<S: Subject>(name: &str, workload: &YcsbConfig) {
    let place = Place::new(&format!("{name}-loaded-{}", workload.fields));
    let subject = S::create(&place.0.join("store"), workload).unwrap();
    let rows = subject.read(&[0, 99, 100]).unwrap();
    assert!(rows[..2].iter().all(|row| row.as_ref().is_some_and(|row| row.len() == workload.row_bytes())), "{name}");
    assert_ne!(rows[0], rows[1], "{name}");
    assert_eq!(rows[2], None, "{name}");
}

#[test]
fn osier_blocking() {
    runs::<Osier>("osier", false);
}

#[test]
fn osier_pipelined() {
    runs::<Osier>("osier-pipelined", true);
}

#[cfg(feature = "fjall")]
#[test]
fn fjall() {
    runs::<osier_peers::store::Peer<osier_peers::stores::fjall::Fjall>>("fjall", false);
}

#[cfg(feature = "redb")]
#[test]
fn redb() {
    runs::<osier_peers::store::Peer<osier_peers::stores::redb::Redb>>("redb", false);
}

#[cfg(feature = "lmdb")]
#[test]
fn lmdb() {
    runs::<osier_peers::store::Peer<osier_peers::stores::lmdb::Lmdb>>("lmdb", false);
}

#[cfg(feature = "sqlite")]
#[test]
fn sqlite() {
    runs::<osier_peers::store::Peer<osier_peers::stores::sqlite::Sqlite>>("sqlite", false);
}

#[cfg(feature = "rocksdb")]
#[test]
fn rocksdb() {
    runs::<osier_peers::store::Peer<osier_peers::stores::rocksdb::RocksDb>>("rocksdb", false);
}
