//! What must be durable before a transaction may be acknowledged: thresholds on the frontier.
//!
//! Every protocol's rule of acknowledgement is such thresholds
//! ([`LogProtocol::requirement`](crate::log::protocol::LogProtocol::requirement) gives them), so that receipts and queues know no
//! protocol, and no type of a dependency.
//!
//! The kinds of thresholds are closed. What a transaction depends on need not be a stamp for that: one threshold is waited for at
//! a time, whichever is missing first, in the queue of the stream that is behind.

use smallvec::SmallVec;

use super::Watermark;
use crate::ids::{Epoch, Stamp, StreamId};

/// What must be durable before a transaction may be acknowledged. A threshold of zero is always met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    /// A stream with a record of the transaction; that of its session where it has none.
    pub(crate) stream: StreamId,
    /// `DSN` of that stream.
    pub(crate) dsn: Stamp,
    /// `DSN` of other streams.
    pub(crate) streams: SmallVec<[(StreamId, Stamp); 3]>,
    /// `CSN`: every stream is durable up to it.
    pub(crate) csn: Stamp,
}

/// A threshold that the frontier has not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmet {
    /// `DSN` of a stream is to come up to here.
    Dsn(StreamId, Stamp),
    /// `CSN` is to come up to here.
    Csn(Stamp),
}

impl Requirement {
    /// Returns what is always met.
    pub(crate) fn none(stream: StreamId) -> Requirement {
        Requirement { stream, dsn: Stamp::ZERO, streams: SmallVec::new(), csn: Stamp::ZERO }
    }

    /// Returns the first threshold that the frontier has not reached: one load for each.
    #[inline]
    pub(crate) fn unmet(&self, watermark: &Watermark) -> Option<Unmet> {
        if self.dsn > Stamp::ZERO && watermark.dsn(self.stream) < self.dsn {
            return Some(Unmet::Dsn(self.stream, self.dsn));
        }
        if let Some((stream, dsn)) = self.streams.iter().find(|(stream, dsn)| watermark.dsn(*stream) < *dsn) {
            return Some(Unmet::Dsn(*stream, *dsn));
        }
        (self.csn > Stamp::ZERO && watermark.csn() < self.csn).then_some(Unmet::Csn(self.csn))
    }
}

/// How a transaction ended, as its receipt knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Its order number; zero where it logged nothing.
    pub(crate) stamp: Stamp,
    /// The epoch of its serialization point.
    pub(crate) epoch: Epoch,
    /// What must be durable before it may be acknowledged.
    pub(crate) requirement: Requirement,
}

impl Outcome {
    /// Returns the outcome of a reader of everything up to `stamp`, on every stream.
    pub(crate) fn stable(stamp: Stamp) -> Outcome {
        let requirement = Requirement { csn: stamp, ..Requirement::none(StreamId(0)) };
        Outcome { stamp: Stamp::ZERO, epoch: Epoch(0), requirement }
    }
}
