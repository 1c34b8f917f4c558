//! What a record says of its transaction: how to bring its effects about again. One file for each kind.
//!
//! Invariant: whoever writes, checks or reads a payload matches its kind here, so that a kind that is added is missed by nobody.

pub mod command;
pub mod delta;
mod fixed;
pub mod in_parts;
pub mod values;
mod write;

use command::CommandReader;
use in_parts::InParts;
use values::Writes;

use crate::log::format::layout::RecordLayout;

/// Which kind of payload a record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadKind {
    /// The rows that the transaction wrote ([`values`]).
    Values,
    /// The same, in parts that lie before the record ([`in_parts`]).
    InParts,
    /// How the transaction was called ([`command`]).
    Command,
}

impl PayloadKind {
    /// Returns the number that stands for it in a record.
    pub fn tag(self) -> u8 {
        match self {
            PayloadKind::Values => 0,
            PayloadKind::InParts => 1,
            PayloadKind::Command => 2,
        }
    }

    /// Returns the kind that `tag` stands for.
    pub fn of(tag: u8) -> Option<PayloadKind> {
        [PayloadKind::Values, PayloadKind::InParts, PayloadKind::Command].into_iter().find(|kind| kind.tag() == tag)
    }

    /// Checks that `bytes` begin with a payload of this kind and returns how many of them it takes; `count` is the number in the
    /// header of its record.
    pub(in crate::log::format) fn check(
        self,
        bytes: &[u8],
        count: u32,
        layout: RecordLayout,
    ) -> Result<usize, PayloadError> {
        match self {
            PayloadKind::Values => values::check(bytes, count, layout),
            PayloadKind::InParts => in_parts::check(bytes),
            PayloadKind::Command => command::check(bytes, count),
        }
    }
}

/// The payload of a record, by its kind.
#[derive(Clone)]
pub enum PayloadReader<'a> {
    /// The rows that the transaction wrote, in the order in which they were encoded.
    Values(Writes<'a>),
    /// Where they are.
    InParts(InParts),
    /// How the transaction was called.
    Command(CommandReader<'a>),
}

impl<'a> PayloadReader<'a> {
    /// Returns the payload at the start of `bytes`, which [`PayloadKind::check`] has accepted.
    pub(in crate::log::format) fn new(
        kind: PayloadKind,
        bytes: &'a [u8],
        count: u32,
        layout: RecordLayout,
    ) -> PayloadReader<'a> {
        match kind {
            PayloadKind::Values => PayloadReader::Values(Writes::new(bytes, count, layout)),
            PayloadKind::InParts => PayloadReader::InParts(InParts::decode(bytes).expect("the payload was checked")),
            PayloadKind::Command => PayloadReader::Command(CommandReader::new(bytes, count)),
        }
    }
}

/// Why the bytes of a payload make no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct PayloadError {
    /// What is wrong.
    pub what: &'static str,
}
