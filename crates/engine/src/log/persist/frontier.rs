//! What a protocol says to the loggers: how streams keep up with each other.

use super::Log;
use crate::ids::{Stamp, StreamId};
use crate::log::format::batch::Certificate;

/// How far a stream with nothing to write is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lag {
    /// Nothing that is durable elsewhere waits for this stream.
    None,
    /// Other streams are durable further; no commit waits for this one yet.
    Behind,
    /// A commit waits for this stream to catch up.
    Demanded,
}

/// How the durable frontier moves: the part of a logger that differs between protocols.
pub(crate) trait Frontier: Send + 'static {
    /// Whether a waiter could be acknowledged if what is pending in `own` were written now. Where not, it is written when the
    /// epoch ends, or the room gets short.
    fn is_due(_log: &Log, _own: StreamId) -> bool {
        true
    }

    /// `DSN` of a stream whose durable batches go up to `stamp`.
    fn reached(stamp: Stamp) -> Stamp {
        stamp
    }

    /// The stamp to which closing a batch raises its stream: the heartbeat.
    fn raise(log: &Log) -> Stamp;

    /// Raises streams other than `own` that have nothing in flight to `stamp`, and says of all how far they are durable.
    fn certify(log: &Log, own: StreamId, stamp: Stamp, certificates: &mut Vec<Certificate>);

    /// Whether `own`, which has nothing to write, is to write a marker.
    fn lag(log: &Log, own: StreamId) -> Lag;
}
