//! The machine that [`Config::recovery_rows`] chooses for the rows of a log.

use std::sync::Arc;
use std::time::Duration;

use super::kept_indexes::KeptIndexes;
use super::machine::{LogBegin, ReplayBatch, ReplayMachine};
use super::shards::{ShardBatch, ShardMachine};
use super::values::{ValueBatch, ValueMachine};
use super::waiting::WaitingDeltas;
use crate::config::{Config, RowReplayKind};
use crate::error::RecoveryError;
use crate::ids::Stamp;
use crate::log::format::dependency::Dependency;
use crate::log::format::payload::values::LoggedWrite;
use crate::log::format::record::RecordReader;
use crate::log::protocol::replay_order::ReplayOrder;
use crate::table::store::Store;

/// A machine for rows.
pub(crate) enum RowMachine {
    /// Under latches (PLR, LLR).
    Latched(Box<ValueMachine>),
    /// Without any (LLR-P).
    Owning(Box<ShardMachine>),
}

impl RowMachine {
    /// Returns so many machines of the kind that the configuration chooses, and the indexes that they keep in step, if they do.
    ///
    /// # Errors
    /// [`RecoveryError::Thread`] where the store has no participant left.
    pub(crate) fn for_threads(
        store: &Store,
        config: &Config,
        waiting: &Arc<WaitingDeltas>,
        threads: usize,
    ) -> Result<(Vec<RowMachine>, Option<Arc<KeptIndexes>>), RecoveryError> {
        let kind = config.recovery_rows.effective();
        if kind == RowReplayKind::LlrP {
            let machines = ShardMachine::for_threads(store, config, waiting, threads)?;
            return Ok((machines.into_iter().map(|machine| RowMachine::Owning(Box::new(machine))).collect(), None));
        }
        let indexes = (kind == RowReplayKind::Llr).then(|| Arc::new(KeptIndexes::new(config, store)));
        let machine = |_| {
            let machine = ValueMachine::with_indexes(store, config, waiting, indexes.clone())?;
            Ok(RowMachine::Latched(Box::new(machine)))
        };
        Ok(((0..threads).map(machine).collect::<Result<_, RecoveryError>>()?, indexes))
    }
}

impl ReplayMachine for RowMachine {
    type Batch<'m> = RowBatch<'m>;

    /// The last writer of a key wins.
    const NEEDS: ReplayOrder = ReplayOrder::PerKey;

    fn learn(&mut self, begin: &LogBegin<'_>) -> Result<(), RecoveryError> {
        match self {
            RowMachine::Latched(machine) => machine.learn(begin),
            RowMachine::Owning(machine) => machine.learn(begin),
        }
    }

    fn begin(&mut self) {
        match self {
            RowMachine::Latched(machine) => machine.begin(),
            RowMachine::Owning(machine) => machine.begin(),
        }
    }

    fn batch(&mut self) -> RowBatch<'_> {
        match self {
            RowMachine::Latched(machine) => RowBatch::Latched(machine.batch()),
            RowMachine::Owning(machine) => RowBatch::Owning(machine.batch()),
        }
    }

    fn is_waiting(&self) -> bool {
        match self {
            RowMachine::Latched(machine) => machine.is_waiting(),
            RowMachine::Owning(machine) => machine.is_waiting(),
        }
    }

    fn is_ahead(&self) -> bool {
        match self {
            RowMachine::Latched(machine) => machine.is_ahead(),
            RowMachine::Owning(machine) => machine.is_ahead(),
        }
    }

    fn tend(&mut self, is_idle: bool) {
        match self {
            RowMachine::Latched(machine) => machine.tend(is_idle),
            RowMachine::Owning(machine) => machine.tend(is_idle),
        }
    }

    fn finish(&mut self) -> bool {
        match self {
            RowMachine::Latched(machine) => machine.finish(),
            RowMachine::Owning(machine) => machine.finish(),
        }
    }

    fn waited(&self) -> Duration {
        match self {
            RowMachine::Latched(machine) => machine.waited(),
            RowMachine::Owning(machine) => machine.waited(),
        }
    }

    fn merge(&mut self) -> bool {
        match self {
            RowMachine::Latched(machine) => machine.merge(),
            RowMachine::Owning(machine) => machine.merge(),
        }
    }

    fn complete(config: &Config, machines: Vec<RowMachine>) -> Result<(), RecoveryError> {
        let owning = machines.into_iter().filter_map(|machine| match machine {
            RowMachine::Owning(machine) => Some(*machine),
            RowMachine::Latched(_) => None,
        });
        ShardMachine::complete(config, owning.collect())
    }
}

/// A machine for rows that is fed one batch.
pub(crate) enum RowBatch<'m> {
    Latched(ValueBatch<'m>),
    Owning(ShardBatch<'m>),
}

impl ReplayBatch for RowBatch<'_> {
    fn replay<D: Dependency>(&mut self, record: &RecordReader<'_, D>) {
        match self {
            RowBatch::Latched(batch) => batch.replay(record),
            RowBatch::Owning(batch) => batch.replay(record),
        }
    }

    fn replay_write(&mut self, stamp: Stamp, write: LoggedWrite<'_>) {
        match self {
            RowBatch::Latched(batch) => batch.replay_write(stamp, write),
            RowBatch::Owning(batch) => batch.replay_write(stamp, write),
        }
    }

    fn is_ahead(&self) -> bool {
        match self {
            RowBatch::Latched(batch) => batch.is_ahead(),
            RowBatch::Owning(batch) => batch.is_ahead(),
        }
    }

    fn renew(&mut self) {
        match self {
            RowBatch::Latched(batch) => batch.renew(),
            RowBatch::Owning(batch) => batch.renew(),
        }
    }
}
