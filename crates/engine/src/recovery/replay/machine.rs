//! Seam 3: what a pass over the log feeds with records, and the law that lets it do so in parallel.
//!
//! Absent: threads (workers.rs), what a record means (values.rs).

use crate::log::format::record::RecordReader;

/// Replays records that live into a store. Each thread has a machine of its own; together they have one store.
///
/// # The law
///
/// - **Replay.** The machines of a store may be fed a set of records in any order, split over them in any way, and each
///   record any number of times, where the protocol allows any order
///   ([`ReplayOrder`](crate::log::protocol::replay_order::ReplayOrder)). What is in the store after the merge depends on the
///   set alone.
/// - **Merge.** It begins when every machine of the store has replayed its last record. No machine replays afterwards. The
///   machines may merge in any order, and at the same time.
///
/// So replay is commutative, associative and idempotent: a record may be replayed when it is first read, by whichever
/// thread reads it, and again after that.
pub(crate) trait ReplayMachine: Send + 'static {
    /// The machine while it is fed the records of one batch.
    type Batch<'m>: ReplayBatch;

    /// Begins a batch.
    fn batch(&mut self) -> Self::Batch<'_>;

    /// Takes one bounded step of the merge; returns whether there is more to do.
    fn merge(&mut self) -> bool;
}

/// A machine that is fed the records of one batch, in the order of their stream.
pub(crate) trait ReplayBatch {
    /// Replays a record that lives.
    fn replay(&mut self, record: &RecordReader<'_>);
}

/// A machine that replays nothing, for those who only read and count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NullMachine;

impl ReplayMachine for NullMachine {
    type Batch<'m> = NullMachine;

    fn batch(&mut self) -> NullMachine {
        NullMachine
    }

    fn merge(&mut self) -> bool {
        false
    }
}

impl ReplayBatch for NullMachine {
    #[inline(always)]
    fn replay(&mut self, _record: &RecordReader<'_>) {}
}
