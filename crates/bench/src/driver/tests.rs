//! The driver against a target made of counters.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::{Acknowledge, Client, Executed, NoLedger, Outcome, StreamCounters};

/// Requests are the numbers from 0; every tenth rolls back.
struct Numbers;

impl Workload for Numbers {
    type Request = u64;
    type Evidence = u64;

    fn name(&self) -> &'static str {
        "numbers"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["even", "odd"]
    }

    fn kind(&self, request: &u64) -> usize {
        (request % 2) as usize
    }

    fn requests(&self, _worker: u32, _workers: u32, _seed: u64) -> impl Iterator<Item = u64> + Send {
        0..
    }
}

/// Acknowledges a transaction `lag` transactions later, or when waited for.
#[derive(Default, Debug)]
struct Fake {
    lag: u64,
    fail_at: Option<u64>,
    panic_at: Option<u64>,
    executed: AtomicU64,
    outstanding_seen: AtomicUsize,
    waits: AtomicUsize,
}

struct FakeClient {
    target: Arc<Fake>,
    executed: Arc<AtomicU64>,
    waited: Arc<AtomicU64>,
}

struct FakeReceipt {
    number: u64,
    lag: u64,
    executed: Arc<AtomicU64>,
    waited: Arc<AtomicU64>,
    target: Arc<Fake>,
}

impl Target<Numbers> for Arc<Fake> {
    type Client = FakeClient;

    fn client(&self, _worker: u32) -> Result<FakeClient, TargetError> {
        Ok(FakeClient { target: Arc::clone(self), executed: Arc::default(), waited: Arc::default() })
    }

    fn counters(&self) -> Counters {
        let bytes = self.executed.load(Ordering::Relaxed) * 100;
        Counters { streams: vec![StreamCounters { bytes, syncs: 0, records: 0 }], ..Counters::default() }
    }
}

impl Client<Numbers> for FakeClient {
    type Receipt = FakeReceipt;

    fn execute(&mut self, request: &u64) -> Result<Executed<FakeReceipt, u64>, TargetError> {
        let total = self.target.executed.fetch_add(1, Ordering::Relaxed);
        if self.target.fail_at == Some(total) {
            return Err(TargetError::new("no space left on the fake"));
        }
        assert_ne!(self.target.panic_at, Some(total), "told to panic");
        let number = self.executed.fetch_add(1, Ordering::Relaxed) + 1;
        let receipt = FakeReceipt {
            number,
            lag: self.target.lag,
            executed: Arc::clone(&self.executed),
            waited: Arc::clone(&self.waited),
            target: Arc::clone(&self.target),
        };
        let outcome = if request % 10 == 9 { Outcome::RolledBack } else { Outcome::Committed };
        Ok(Executed { receipt, outcome, conflicts: request.is_multiple_of(3).into(), evidence: *request })
    }
}

impl Acknowledge for FakeReceipt {
    fn is_acknowledged(&self) -> Result<bool, TargetError> {
        let executed = self.executed.load(Ordering::Relaxed);
        self.target.outstanding_seen.fetch_max((executed - self.number) as usize + 1, Ordering::Relaxed);
        Ok(executed >= self.number + self.lag || self.waited.load(Ordering::Relaxed) >= self.number)
    }

    /// Everything so far is acknowledged together.
    fn wait(&self) -> Result<(), TargetError> {
        self.target.waits.fetch_add(1, Ordering::Relaxed);
        self.waited.fetch_max(self.executed.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(())
    }
}

fn config(length: Length) -> RunConfig {
    RunConfig {
        workers: 3,
        length,
        warmup: Duration::ZERO,
        blocking: false,
        outstanding_max: 100,
        batch: 1,
        rate: None,
        timeline: false,
        latency_every: 1,
        seed: 1,
    }
}

fn drive(target: Fake, config: &RunConfig) -> Result<(RunResult, Arc<Fake>), TargetError> {
    let target = Arc::new(target);
    run(&Numbers, &target, config, |_| NoLedger, |_, _| ()).map(|result| (result, target))
}

#[test]
fn counts_exactly_what_was_asked_for() {
    let (result, _) = drive(Fake { lag: 10, ..Fake::default() }, &config(Length::Transactions(1000))).unwrap();
    // Shares of 334, 333 and 333, each with 33 rollbacks.
    assert_eq!(result.rolled_back, 99);
    assert_eq!(result.committed, 1000 - 99);
    assert_eq!(result.acknowledged, 1000);
    assert_eq!(result.aborted, 112 + 111 + 111);
    assert_eq!(result.kinds, [167 + 167 + 167, 400]);
    assert_eq!(result.latencies.count(), 1000);
    assert_eq!(result.counters.bytes(), 100_000);
    assert!(result.seconds > 0.0);
}

#[test]
fn never_more_outstanding_than_allowed() {
    let mut config = config(Length::Transactions(5000));
    let (_, target) = drive(Fake { lag: u64::MAX / 2, ..Fake::default() }, &config).unwrap();
    assert!(target.outstanding_seen.load(Ordering::Relaxed) <= 100);
    let waits = target.waits.load(Ordering::Relaxed);
    // One for each hundred, and those at the end.
    assert!(waits < 50 + 300, "{waits} waits: a queue that was full once stays full");
    config.blocking = true;
    let (result, target) = drive(Fake { lag: u64::MAX / 2, ..Fake::default() }, &config).unwrap();
    assert!(target.outstanding_seen.load(Ordering::Relaxed) <= 1);
    assert_eq!(result.acknowledged, 5000);
}

#[test]
fn batches_count_as_their_requests_do() {
    for batch in [2, 7, 64] {
        let config = RunConfig { batch, ..config(Length::Transactions(1000)) };
        let (result, target) = drive(Fake { lag: u64::MAX / 2, ..Fake::default() }, &config).unwrap();
        assert_eq!((result.rolled_back, result.acknowledged, result.aborted), (99, 1000, 112 + 111 + 111));
        assert_eq!(result.latencies.count(), 1000);
        let outstanding = target.outstanding_seen.load(Ordering::Relaxed);
        assert!(outstanding > 64 && outstanding <= 100, "{outstanding} in batches of {batch}");
    }
}

#[test]
fn time_ends_a_run_and_warmup_does_not_count() {
    let mut config = config(Length::Time(Duration::from_millis(100)));
    config.warmup = Duration::from_millis(50);
    let mut observed = Vec::new();
    let target = Arc::new(Fake { lag: 5, ..Fake::default() });
    let result = run(&Numbers, &target, &config, |_| NoLedger, |n, t| observed.push((n, t))).unwrap();
    assert!((0.1..1.0).contains(&result.seconds), "{}", result.seconds);
    assert!(result.acknowledged < target.executed.load(Ordering::Relaxed), "the warm-up executed something");
    assert!(observed.last().unwrap().0 <= result.acknowledged);
    assert_eq!(result.counters.bytes(), result.acknowledged * 100);
}

#[test]
fn a_rate_is_kept() {
    let mut config = config(Length::Time(Duration::from_millis(300)));
    config.rate = Some(2000.0);
    let (result, _) = drive(Fake::default(), &config).unwrap();
    assert!((400..=620).contains(&result.acknowledged), "{}", result.acknowledged);
}

#[test]
fn the_first_error_ends_the_run() {
    for warmup in [Duration::ZERO, Duration::from_secs(60)] {
        let config = RunConfig { warmup, ..config(Length::Time(Duration::from_secs(60))) };
        let error = drive(Fake { fail_at: Some(500), ..Fake::default() }, &config).unwrap_err();
        assert_eq!(error.to_string(), "no space left on the fake");
    }
}

#[test]
#[should_panic(expected = "told to panic")]
fn a_panic_of_a_worker_ends_the_run() {
    let config = config(Length::Time(Duration::from_secs(60)));
    let _ended = drive(Fake { panic_at: Some(500), ..Fake::default() }, &config);
}

#[test]
fn a_ledger_hears_of_every_acknowledgement_in_order() {
    struct Collect(Vec<u64>, Arc<Mutex<Vec<u64>>>);
    impl Ledger<u64> for Collect {
        type Entry = u64;

        fn committed(&mut self, evidence: u64) -> u64 {
            evidence
        }

        fn acknowledged(&mut self, entry: u64, _latency: Option<Duration>) {
            self.0.push(entry);
        }

        fn flush(&mut self) -> Result<(), TargetError> {
            self.1.lock().unwrap().append(&mut self.0);
            Ok(())
        }
    }
    let target = Arc::new(Fake { lag: 7, ..Fake::default() });
    let all = Arc::new(Mutex::new(Vec::new()));
    let config = RunConfig { workers: 1, ..config(Length::Transactions(1000)) };
    run(&Numbers, &target, &config, |_| Collect(Vec::new(), Arc::clone(&all)), |_, _| ()).unwrap();
    assert_eq!(*all.lock().unwrap(), (0..1000).collect::<Vec<_>>());
}
