//! One stream in one total order of LSNs (CENTR in Poplar, section 6).
//!
//! A commit is durable when the log is durable up to it. What it read has smaller LSNs in the same stream, so its own
//! LSN says it all; a reader waits for the greatest LSN it read.

mod cut;
mod frontier;
mod replay_order;
mod stamp;

use std::sync::Arc;

use cut::SerialRule;
pub(crate) use frontier::SerialFrontier;

use crate::config::Logged;
use crate::error::LogError;
use crate::ids::{Stamp, StreamId};
use crate::log::acknowledge::Requirement;
use crate::log::gathering::NO_SOURCE;
use crate::log::persist::{Log, Slot};
use crate::log::protocol::{Committed, LogProtocol, StampOrder};

/// The serial protocol.
pub(crate) struct Serial {
    log: Arc<Log>,
    /// LSNs count on from here: the greatest stamp of earlier generations.
    floor: Stamp,
    /// What its records hold.
    logged: Logged,
}

impl Serial {
    /// Orders the commits of a log whose stamps are to be above `floor`.
    pub(crate) fn new(log: Arc<Log>, floor: Stamp, logged: Logged) -> Serial {
        assert_eq!(log.streams.len(), 1, "a total order has one stream");
        Serial { log, floor, logged }
    }
}

impl LogProtocol for Serial {
    type Dependency = Stamp;
    type Rule = SerialRule;

    /// Commands are run again in the order of their LSNs, so that has to be one of their reads, too.
    #[inline]
    fn stamp_order(&self) -> StampOrder {
        match self.logged {
            Logged::Values | Logged::Physiological => StampOrder::AfterValidation,
            Logged::Commands | Logged::Adaptive => StampOrder::BeforeValidation,
        }
    }

    #[inline]
    fn source(&self) -> &() {
        NO_SOURCE
    }

    fn stamp(&self, stream: StreamId, base: Stamp, record_bytes: usize) -> Result<Option<Slot<'_>>, LogError> {
        assert_eq!(stream, StreamId(0), "a total order has one stream");
        stamp::draw(&self.log, self.floor, base, record_bytes)
    }

    #[inline]
    fn requirement(&self, committed: &Committed<Stamp>) -> Requirement {
        let dsn = committed.stamp.max(committed.raw_dep);
        Requirement { dsn, ..Requirement::none(committed.stream) }
    }
}
