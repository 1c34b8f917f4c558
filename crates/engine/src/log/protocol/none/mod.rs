//! No log: commits are ordered, never durable. The upper bound that measurements compare with.
//!
//! There is no `frontier.rs`: no stream, no frontier that moves.
//!
//! Invariant: nothing is shared between workers, and every receipt is born acknowledged.

mod cut;
mod replay_order;
mod stamp;

use cut::NoRule;

use crate::error::LogError;
use crate::ids::{Stamp, StreamId};
use crate::log::acknowledge::Requirement;
use crate::log::gathering::NO_SOURCE;
use crate::log::persist::Slot;
use crate::log::protocol::{Committed, LogProtocol};

/// The protocol without a log.
#[derive(Debug)]
pub(crate) struct Unlogged;

impl LogProtocol for Unlogged {
    type Dependency = Stamp;
    type Rule = NoRule;
    const IS_LOGGED: bool = false;

    #[inline]
    fn source(&self) -> &() {
        NO_SOURCE
    }

    fn stamp(&self, _stream: StreamId, base: Stamp, _record_bytes: usize) -> Result<Option<Slot<'_>>, LogError> {
        Ok(Some(stamp::draw(base)))
    }

    fn requirement(&self, committed: &Committed<Stamp>) -> Requirement {
        Requirement::none(committed.stream)
    }
}
