//! What a protocol says to recovery, about a generation that it wrote: which records of a crash live, and in which order they may
//! be replayed.
//!
//! The `cut.rs` of each protocol has its rule: pure functions of stamps, frontiers and certificates. A rule keeps nothing, and
//! what recovery keeps for it between its passes is evidence, of a type that all protocols share. So a log of generations of
//! several protocols is read in one scan, and whoever needs a cut derives it under the protocol of the generation
//! ([`with_rule`]).
//!
//! Invariants, for every protocol (docs/protocols.md has the arguments):
//! - What was acknowledged lives.
//! - What lives is closed under reads-from.
//! - Of what can be read, whatever lives under [`RecoveryRule::certain`] lives under the [`RecoveryRule::cut`] that follows.
//!
//! Absent: how the evidence is read and what is damage (recovery/).

use std::fmt;

use super::replay_order::ReplayOrder;
use crate::directory::manifest::FrozenGeneration;
use crate::ids::Stamp;
use crate::log::format::dependency::Dependency;

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

/// What decides over the records of a generation. A cut that is greater lets more of them live; two may be neither.
pub(crate) trait Cut: Clone + fmt::Debug + PartialOrd + Send + Sync + 'static {
    /// Returns the stamp up to which every record lives: what the manifest and reports say.
    fn stamp(&self) -> Stamp;
}

impl Cut for Stamp {
    #[inline]
    fn stamp(&self) -> Stamp {
        *self
    }
}

/// The rule of a protocol.
pub(crate) trait RecoveryRule: 'static {
    /// What its records depend on.
    type Dependency: Dependency;
    /// What decides over them.
    type Cut: Cut;

    /// What the stamps of its records say of their order.
    const ORDER: ReplayOrder;

    /// Returns the stamp that a stream durably reached: every record of it at or below this was read.
    fn durable(stream: &StreamEvidence) -> Stamp;

    /// Returns the cut of a generation whose streams durably reached `durable`, and whose stamps are all above `floor`.
    fn cut(floor: Stamp, durable: &[Stamp]) -> Self::Cut;

    /// Returns a cut under which no record lives that the final one will not let live, whatever the rest of the log holds.
    /// `floors` are those of all streams, as in [`StreamEvidence`]; `csn` is the greatest frontier in any batch read so far, at
    /// least the floor of the generation.
    fn certain(floors: &[Stamp], csn: Stamp) -> Self::Cut;

    /// Returns the cut of a frozen generation, from what was written down: its stamp and the ends of its streams.
    fn frozen(generation: &FrozenGeneration) -> Self::Cut;

    /// Whether a record of `stamp` that depends on `raw_dep` counts as committed under a cut.
    fn lives(stamp: Stamp, raw_dep: &Self::Dependency, cut: &Self::Cut) -> bool;
}

/// Evaluates `$body` with `$Rule` as the [`RecoveryRule`] of a protocol: one match for what is done by one rule.
macro_rules! with_rule {
    ($protocol:expr, $Rule:ident => $body:expr) => {
        match $protocol {
            $crate::config::Protocol::None => {
                type $Rule = <$crate::log::protocol::none::Unlogged as $crate::log::protocol::LogProtocol>::Rule;
                $body
            }
            $crate::config::Protocol::Serial => {
                type $Rule = <$crate::log::protocol::serial::Serial as $crate::log::protocol::LogProtocol>::Rule;
                $body
            }
            $crate::config::Protocol::Poplar => {
                type $Rule = <$crate::log::protocol::poplar::Poplar as $crate::log::protocol::LogProtocol>::Rule;
                $body
            }
            $crate::config::Protocol::Gsn => {
                type $Rule = <$crate::log::protocol::gsn::Gsn as $crate::log::protocol::LogProtocol>::Rule;
                $body
            }
            $crate::config::Protocol::Plover => {
                type $Rule = <$crate::log::protocol::plover::Plover as $crate::log::protocol::LogProtocol>::Rule;
                $body
            }
            $crate::config::Protocol::Silo => {
                type $Rule = <$crate::log::protocol::silo::Silo as $crate::log::protocol::LogProtocol>::Rule;
                $body
            }
            $crate::config::Protocol::Taurus => {
                type $Rule = <$crate::log::protocol::taurus::Taurus as $crate::log::protocol::LogProtocol>::Rule;
                $body
            }
        }
    };
}
pub(crate) use with_rule;
