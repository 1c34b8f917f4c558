//! The protocol of a recovery that runs transactions again, in the order of their stamps or as their vectors allow: each installs
//! its writes under the stamp of its record, and logs nothing.
//!
//! There is neither a frontier nor a cut: what is run again is durable, and the protocol that wrote it has decided that it lives.
//!
//! Invariants:
//! - A session runs one transaction at a time, so that nothing lies between the look at a stamp and its use.
//! - Whatever a transaction reads or overwrites has a smaller stamp than its own. Where it has not, the transaction is not the
//!   one that was logged, or its log is not in order: the commit fails, and nothing of it takes effect. Once transactions were
//!   run at once that goes for rows alone, and not for purged keys or definitions (docs/protocols.md, O18 and O9).

mod stamp;

pub(crate) use stamp::ReplayedStamp;

use std::sync::Arc;

use crate::error::LogError;
use crate::ids::{Epoch, Stamp, StreamId};
use crate::log::acknowledge::Requirement;
use crate::log::gathering::NO_SOURCE;
use crate::log::persist::Slot;
use crate::log::protocol::none::Unlogged;
use crate::log::protocol::{Committed, LogProtocol};

/// The protocol of transactions that are run again.
pub(crate) struct Replayed {
    stamp: Arc<ReplayedStamp>,
}

impl Replayed {
    /// Commits transactions under `stamp` as it is set.
    pub(crate) fn new(stamp: Arc<ReplayedStamp>) -> Replayed {
        Replayed { stamp }
    }
}

impl LogProtocol for Replayed {
    type Dependency = Stamp;
    type Rule = <Unlogged as LogProtocol>::Rule;
    const IS_LOGGED: bool = false;

    #[inline]
    fn source(&self) -> &() {
        NO_SOURCE
    }

    fn counted(&self, base: Stamp, of_rows: impl FnOnce() -> Stamp) -> Stamp {
        if self.stamp.absences_count() { base } else { of_rows() }
    }

    /// Who came before everybody else is seen by everybody, whatever past he reads.
    fn epoch(&self, _epoch: Epoch) -> Epoch {
        Epoch(0)
    }

    fn stamp(&self, stream: StreamId, base: Stamp, _record_bytes: usize) -> Result<Option<Slot<'_>>, LogError> {
        self.stamp.draw(stream, base).map(Some)
    }

    fn requirement(&self, committed: &Committed<Stamp>) -> Requirement {
        Requirement::none(committed.stream)
    }
}
