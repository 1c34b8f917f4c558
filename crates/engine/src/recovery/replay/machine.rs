//! Seam 3: what a pass over the log feeds with records, and the law that lets it do so in parallel.
//!
//! Absent: threads (workers.rs), what a record means (values.rs).

use std::time::Duration;

use crate::config::Config;
use crate::error::RecoveryError;
use crate::ids::Stamp;
use crate::log::format::dependency::Dependency;
use crate::log::format::payload::values::LoggedWrite;
use crate::log::format::record::RecordReader;
use crate::log::protocol::recovery_rule::RecoveryRule;
use crate::log::protocol::replay_order::ReplayOrder;

/// Gives the writes at the begin of a log to whoever is given to it. They may be of transactions that do not count.
pub(crate) type LogBegin<'l> = dyn Fn(&mut dyn FnMut(Stamp, LoggedWrite<'_>)) + 'l;

/// Replays records that live into a store. Each thread has a machine of its own; together they have one store.
///
/// # The law
///
/// - **Replay.** The machines of a store may be fed a set of records in any order, split over them in any way, and each
///   record any number of times, where the stamps of the protocol say what the machine [needs](ReplayMachine::NEEDS). What
///   is in the store after the merge depends on the set alone.
/// - **Merge.** It begins when every machine of the store has replayed its last record. No machine replays afterwards. The
///   machines may merge in any order, and at the same time; then one step completes it for all.
///
/// So replay is commutative, associative and idempotent: a record may be replayed when it is first read, by whichever
/// thread reads it, and again after that.
pub(crate) trait ReplayMachine: Send + 'static {
    /// The machine while it is fed the records of one batch.
    type Batch<'m>: ReplayBatch;

    /// What the stamps of records have to say of their order, so that the law holds.
    const NEEDS: ReplayOrder;

    /// Before the first record is replayed: learns of the log what the machines need to know. The first of them does it for all.
    ///
    /// # Errors
    /// [`RecoveryError::Thread`].
    fn learn(&mut self, _begin: &LogBegin<'_>) -> Result<(), RecoveryError> {
        Ok(())
    }

    /// Begins a pass over the log, before the first thread of the pass starts.
    fn begin(&mut self) {}

    /// Begins a batch.
    fn batch(&mut self) -> Self::Batch<'_>;

    /// Whether anything worth mentioning waits for what is yet to be replayed, and comes before it in the order of stamps.
    fn is_waiting(&self) -> bool;

    /// Whether so much waits for what is yet to be replayed that only who replays what comes first is to go on.
    fn is_ahead(&self) -> bool;

    /// Does what other threads ask of this one, between two pieces of the log. With `is_idle` it gives way to others, which may
    /// need what it has for them.
    fn tend(&mut self, _is_idle: bool) {}

    /// When the thread has no more log to read: takes a bounded step towards the end of the pass; returns whether others may
    /// still ask something.
    fn finish(&mut self) -> bool {
        false
    }

    /// Returns how long it has waited for other threads.
    fn waited(&self) -> Duration {
        Duration::ZERO
    }

    /// Takes one step of the merge; returns whether there is more to do.
    fn merge(&mut self) -> bool;

    /// Ends the merge, which all of `machines` have come through.
    ///
    /// # Errors
    /// [`RecoveryError::Thread`].
    fn complete(_config: &Config, _machines: Vec<Self>) -> Result<(), RecoveryError>
    where
        Self: Sized,
    {
        Ok(())
    }
}

/// A machine that is fed the records of one batch, in the order of their stream.
pub(crate) trait ReplayBatch {
    /// Replays a record that lives. What it depends on decided that it does, and means nothing here.
    ///
    /// Its payload is in it; of one in parts the writes are replayed as they are found.
    fn replay<D: Dependency>(&mut self, record: &RecordReader<'_, D>);

    /// Replays one write of a record that lives and has this stamp.
    fn replay_write(&mut self, stamp: Stamp, write: LoggedWrite<'_>);

    /// As [`ReplayMachine::is_ahead`].
    fn is_ahead(&self) -> bool;

    /// Lets go of what it holds for the others to free.
    fn renew(&mut self);
}

/// Checks that the records of a protocol may be fed to a machine in any order.
pub(crate) fn expect_order<R: RecoveryRule, M: ReplayMachine>() {
    assert!(M::NEEDS <= R::ORDER, "the machine needs stamps that say {:?}, and these say {:?}", M::NEEDS, R::ORDER);
}

/// A machine that replays nothing, for those who only read and count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NullMachine;

impl ReplayMachine for NullMachine {
    type Batch<'m> = NullMachine;

    const NEEDS: ReplayOrder = ReplayOrder::Unknown;

    fn is_waiting(&self) -> bool {
        false
    }

    fn is_ahead(&self) -> bool {
        false
    }

    fn batch(&mut self) -> NullMachine {
        NullMachine
    }

    fn merge(&mut self) -> bool {
        false
    }
}

impl ReplayBatch for NullMachine {
    #[inline(always)]
    fn replay<D: Dependency>(&mut self, _record: &RecordReader<'_, D>) {}

    #[inline(always)]
    fn replay_write(&mut self, _stamp: Stamp, _write: LoggedWrite<'_>) {}

    fn is_ahead(&self) -> bool {
        false
    }

    fn renew(&mut self) {}
}
