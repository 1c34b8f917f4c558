//! Models of waiting, waking and failing, explored by loom: `RUSTFLAGS="--cfg loom" cargo test -p osier --release --lib models`.
//!
//! A wake-up that is lost is a thread that waits for ever, which loom reports as a deadlock. Loggers are threads that publish.

use osier_memory::sync::thread::{self, JoinHandle};

use super::tests::{acknowledger, publish, receipt};
use super::*;
use crate::error::LogFailure;
use crate::io::explore;

type Told = JoinHandle<Result<(), LogError>>;

/// A thread that waits for a commit with `stamp` of `stream` that read up to `raw_dep`.
fn waiter(acknowledger: &Arc<Acknowledger>, stamp: u64, stream: u32, raw_dep: u64) -> Told {
    let receipt = receipt(acknowledger, stamp, stream, raw_dep);
    thread::spawn(move || receipt.wait())
}

fn logger(acknowledger: &Arc<Acknowledger>, stream: u32, stamp: u64) -> JoinHandle<()> {
    let acknowledger = acknowledger.clone();
    thread::spawn(move || publish(&acknowledger, stream, stamp))
}

fn fail(acknowledger: &Acknowledger) {
    acknowledger.fail(LogFailure::TaskDied { task: "osier-logger-0".to_owned() }.into());
}

#[test]
fn whoever_is_covered_is_told() {
    explore(|| {
        let acknowledger = acknowledger(1);
        let waiters = [waiter(&acknowledger, 1, 0, 0), waiter(&acknowledger, 2, 0, 1)];
        publish(&acknowledger, 0, 2);
        assert!(waiters.into_iter().all(|waiter| waiter.join().unwrap().is_ok()));
    });
}

#[test]
fn the_last_of_two_streams_tells() {
    explore(|| {
        let acknowledger = acknowledger(2);
        let waiter = waiter(&acknowledger, 2, 0, 1);
        let other = logger(&acknowledger, 1, 1);
        publish(&acknowledger, 0, 2);
        assert!(waiter.join().unwrap().is_ok());
        other.join().unwrap();
        assert_eq!(acknowledger.watermark().csn(), Stamp(1));
    });
}

#[test]
fn a_demand_wakes_an_idle_stream() {
    explore(|| {
        let acknowledger = acknowledger(2);
        let waiter = waiter(&acknowledger, 2, 0, 1);
        let idle = {
            let (acknowledger, stream) = (acknowledger.clone(), StreamId(1));
            thread::spawn(move || {
                let signal = &acknowledger.signals[1];
                while acknowledger.demand() <= acknowledger.watermark().dsn(stream) {
                    signal.listen();
                    match acknowledger.demand() <= acknowledger.watermark().dsn(stream) {
                        true => drop(signal.wait(None)),
                        false => signal.unlisten(),
                    }
                }
                publish(&acknowledger, 1, acknowledger.demand().0);
            })
        };
        publish(&acknowledger, 0, 2);
        assert!(waiter.join().unwrap().is_ok());
        idle.join().unwrap();
    });
}

/// The three that sleep are woken by each other; each may see the failure before it sleeps.
#[test]
fn a_failure_tells_everybody() {
    explore(|| {
        let acknowledger = acknowledger(1);
        let waiters = [1, 2, 3].map(|stamp| waiter(&acknowledger, stamp, 0, 0));
        fail(&acknowledger);
        assert!(waiters.into_iter().all(|waiter| waiter.join().unwrap().is_err()));
    });
}

/// A logger moves the waiter to the queue for all streams while another fails.
#[test]
fn a_failure_tells_whoever_changes_queues() {
    explore(|| {
        let acknowledger = acknowledger(2);
        let waiter = waiter(&acknowledger, 2, 0, 1);
        let mover = logger(&acknowledger, 0, 2);
        fail(&acknowledger);
        assert!(waiter.join().unwrap().is_err(), "stream 1 has published nothing");
        mover.join().unwrap();
    });
}
