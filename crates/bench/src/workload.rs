//! Seam 6: what is asked (`Workload`) and who answers (`Target`).
//!
//! A workload draws requests and says what an acknowledged one proves; it does not know who executes them. A target
//! executes the requests of one workload: Osier in process, Osier over the wire, or a peer. So a figure of Osier and
//! a figure of a peer come from the same requests, the same driver and the same clock.
//!
//! Invariants:
//! - A request is drawn from the seed and the worker's number only, never from an earlier answer.
//! - [`Acknowledge::is_acknowledged`] is true only when everything the transaction did *and observed* is as durable as
//!   the target was asked to make it.

use serde::Serialize;
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// A stream of requests.
pub trait Workload: Send + Sync {
    /// One transaction's input.
    type Request: Send;
    /// What an acknowledged request proves: facts to look for after a crash.
    type Evidence: Send;

    /// The name on the command line and in reports.
    fn name(&self) -> &'static str;
    /// The names of the transaction types, in the order of [`Workload::kind`].
    fn kinds(&self) -> &'static [&'static str];
    /// The type of a request, an index into [`Workload::kinds`].
    fn kind(&self, request: &Self::Request) -> usize;
    /// The requests of one worker out of `workers`, without end.
    fn requests(&self, worker: u32, workers: u32, seed: u64) -> impl Iterator<Item = Self::Request> + Send;
}

/// Something that executes the requests of a workload.
pub trait Target<W: Workload>: Sync {
    /// What one worker thread uses.
    type Client: Client<W>;

    /// Connects a client; called once by each worker, in its own thread.
    fn client(&self, worker: u32) -> Result<Self::Client, TargetError>;
    /// What the target has counted since it was opened.
    fn counters(&self) -> Counters;
}

/// One worker's connection to a target.
pub trait Client<W: Workload> {
    /// The promise a commit gives.
    type Receipt: Acknowledge;

    /// Executes one request, retrying it while it conflicts, and returns without waiting for durability.
    fn execute(&mut self, request: &W::Request) -> Result<Executed<Self::Receipt, W::Evidence>, TargetError>;

    /// Executes requests that are there at the same time, each as [`Client::execute`] does, in any order.
    fn execute_all(&mut self, requests: &[W::Request]) -> ExecutedAll<Self::Receipt, W::Evidence> {
        requests.iter().map(|request| self.execute(request)).collect()
    }
}

/// A commit that becomes durable later.
pub trait Acknowledge {
    /// Whether the commit may be reported. Cheap enough to be asked after every transaction.
    fn is_acknowledged(&self) -> Result<bool, TargetError>;
    /// Returns when the commit may be reported.
    fn wait(&self) -> Result<(), TargetError>;
}

/// What became of a request.
#[derive(Debug)]
pub struct Executed<R, E> {
    /// When the outcome may be reported.
    pub receipt: R,
    /// Committed, or rolled back because the request said so.
    pub outcome: Outcome,
    /// How often it conflicted and was tried again.
    pub conflicts: u32,
    /// What its acknowledgement will prove.
    pub evidence: E,
}

/// Requests that were executed at a time, in their order.
pub type ExecutedAll<R, E> = Result<Vec<Executed<R, E>>, TargetError>;

/// The end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its effects are part of the database.
    Committed,
    /// The request asked for a rollback (TPC-C: one NewOrder in a hundred).
    RolledBack,
}

/// What a target counts. Differences of two readings are what a run cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// One per log stream; none where nothing is logged.
    pub streams: Vec<StreamCounters>,
    /// Checkpoints.
    pub checkpoints: CheckpointCounters,
}

/// Checkpoints beside a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CheckpointCounters {
    /// Those that became valid.
    pub taken: u64,
    /// Those that failed.
    pub failed: u64,
    /// Bytes of those that became valid.
    pub bytes: u64,
    /// How long one was being taken.
    pub active_seconds: f64,
}

/// One log stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounters {
    /// Bytes written, padding and headers included.
    pub bytes: u64,
    /// Writes made durable, each one device sync.
    pub syncs: u64,
    /// Transaction records written.
    pub records: u64,
}

impl Counters {
    /// Bytes over all streams.
    pub fn bytes(&self) -> u64 {
        self.streams.iter().map(|stream| stream.bytes).sum()
    }

    /// Syncs over all streams.
    pub fn syncs(&self) -> u64 {
        self.streams.iter().map(|stream| stream.syncs).sum()
    }

    /// What was counted between `earlier` and `self`.
    pub fn since(&self, earlier: &Counters) -> Counters {
        assert!(self.streams.len() >= earlier.streams.len(), "a target does not lose streams");
        let none = StreamCounters::default();
        let streams = self.streams.iter().enumerate().map(|(i, now)| {
            let then = earlier.streams.get(i).unwrap_or(&none);
            assert!(now.bytes >= then.bytes && now.syncs >= then.syncs, "counters only grow");
            StreamCounters {
                bytes: now.bytes - then.bytes,
                syncs: now.syncs - then.syncs,
                records: now.records - then.records,
            }
        });
        let (now, then) = (&self.checkpoints, &earlier.checkpoints);
        let checkpoints = CheckpointCounters {
            taken: now.taken - then.taken,
            failed: now.failed - then.failed,
            bytes: now.bytes - then.bytes,
            active_seconds: now.active_seconds - then.active_seconds,
        };
        Counters { streams: streams.collect(), checkpoints }
    }
}

/// Keeps what acknowledgements prove. One per worker.
pub trait Ledger<E>: Send {
    /// What is kept of a transaction until it is acknowledged.
    type Entry;

    /// A transaction has committed.
    fn committed(&mut self, evidence: E) -> Self::Entry;
    /// It has been acknowledged, so long after it began, where that was timed.
    fn acknowledged(&mut self, entry: Self::Entry, latency: Option<Duration>);
    /// Hands on what was acknowledged since the last call; called now and then and at the end.
    fn flush(&mut self) -> Result<(), TargetError>;
}

/// Keeps nothing: for measuring.
#[derive(Clone, Copy, Debug)]
pub struct NoLedger;

impl<E> Ledger<E> for NoLedger {
    type Entry = ();

    fn committed(&mut self, _evidence: E) {}

    fn acknowledged(&mut self, _entry: (), _latency: Option<Duration>) {}

    fn flush(&mut self) -> Result<(), TargetError> {
        Ok(())
    }
}

/// Why a target could not go on. Carries the target's own error.
#[derive(Debug)]
pub struct TargetError(Box<dyn Error + Send + Sync>);

impl TargetError {
    /// Wraps the target's own error, or a message.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> TargetError {
        TargetError(error.into())
    }

    /// The target's own error.
    pub fn get(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for TargetError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
