//! The log protocols. Each folder holds the same files, so that comparing two folders compares two papers:
//! `stamp.rs`, the order number of a commit, and `frontier.rs`, what becomes durable when.
//!
//! | | stamp | frontier |
//! |---|---|---|
//! | none | `max(base) + 1` | everything, at once |
//! | serial | LSN: the end of the record in the one stream | the contiguous durable end |
//! | poplar | SSN: `max(base, stream) + 1` | `CSN = min DSN`, heartbeats, certificates |
//!
//! Invariant: a protocol decides order and durability only. Rings, files and waiting are the same for all.
//!
//! Absent: the order of replay. Records of these protocols are row images, which last-writer-wins by stamp installs in any
//! order (recovery/).

pub(crate) mod none;
pub(crate) mod poplar;
pub(crate) mod serial;

pub(crate) use none::Unlogged;
pub(crate) use poplar::Poplar;
pub(crate) use serial::Serial;

use super::batch::Certificate;
use super::{Log, Observed};
use crate::acknowledge::Watermark;
use crate::ids::{Stamp, StreamId};

/// How far a stream with nothing to write is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lag {
    /// Nothing that is durable elsewhere waits for this stream.
    None,
    /// Other streams are durable further; nobody waits for it yet.
    Behind,
    /// Somebody waits for this stream to catch up.
    Demanded,
}

/// What a protocol calls durable, and how that frontier moves: the part of a logger that differs between protocols.
pub(crate) trait Frontier: Send + 'static {
    /// Whether everything that a transaction observed is durable, so that its outcome may be told.
    fn may_acknowledge(watermark: &Watermark, observed: &Observed) -> bool;

    /// The stamp to which closing a batch raises its stream: the heartbeat.
    fn raise(log: &Log) -> Stamp;

    /// Raises streams other than `own` that have nothing in flight to `stamp`, and says of all how far they are durable.
    fn certify(log: &Log, own: StreamId, stamp: Stamp, certificates: &mut Vec<Certificate>);

    /// Whether `own`, which has nothing to write, is to write a marker.
    fn lag(log: &Log, own: StreamId) -> Lag;
}
