//! Which records of a generation that crashed live. Recovery asks, by the protocol that wrote the generation.
//!
//! The `cut.rs` of each protocol has these functions: pure ones, of stamps, frontiers and certificates. A frozen generation
//! keeps the cut that was written down.
//!
//! Invariants, for every protocol (docs/protocols.md has the arguments):
//! - What was acknowledged lives.
//! - What lives is closed under reads-from.
//! - Of what can be read, whatever lives under [`certain`] lives under the [`cut`] that follows.
//!
//! Absent: how the evidence is read and what is damage (recovery/).

use super::{none, poplar, serial};
use crate::config::Protocol;
use crate::ids::Stamp;

/// What is known of a stream when all streams of its generation were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamEvidence {
    /// The stamp of its last sound batch, or of the last sound record where that batch is torn; zero where there is none.
    pub(crate) reached: Stamp,
    /// The floor of its newest segment, or what the manifest says that it had reached, whichever is greater.
    pub(crate) floor: Stamp,
    /// The greatest certificate about it; zero where there is none.
    pub(crate) certified: Stamp,
}

/// Calls a function of the protocol's `cut.rs`.
macro_rules! by_protocol {
    ($protocol:expr, $function:ident($($argument:expr),+)) => {
        match $protocol {
            Protocol::None => none::cut::$function($($argument),+),
            Protocol::Serial => serial::cut::$function($($argument),+),
            Protocol::Poplar => poplar::cut::$function($($argument),+),
        }
    };
}

/// Returns the stamp that a stream durably reached: every record of it at or below this was read.
pub(crate) fn durable(protocol: Protocol, stream: &StreamEvidence) -> Stamp {
    by_protocol!(protocol, durable(stream))
}

/// Returns the cut of a generation whose streams durably reached `durable`, and whose stamps are all above `floor`.
pub(crate) fn cut(protocol: Protocol, floor: Stamp, durable: &[Stamp]) -> Stamp {
    by_protocol!(protocol, cut(floor, durable))
}

/// Returns a stamp under which no record lives that the cut will not let live, whatever the rest of the log holds. `floors`
/// are those of all streams, as in [`StreamEvidence`]; `csn` is the greatest frontier in any batch read so far, at least the
/// floor of the generation.
pub(crate) fn certain(protocol: Protocol, floors: &[Stamp], csn: Stamp) -> Stamp {
    by_protocol!(protocol, certain(floors, csn))
}

/// Whether a record of `stamp` that depends on `raw_dep` counts as committed under a cut.
#[inline]
pub(crate) fn lives(protocol: Protocol, stamp: Stamp, raw_dep: Stamp, cut: Stamp) -> bool {
    by_protocol!(protocol, lives(stamp, raw_dep, cut))
}
