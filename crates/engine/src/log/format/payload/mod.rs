//! What a record says of its transaction: how to bring its effects about again. One file for each kind.
//!
//! Invariant: whoever writes, checks or reads a payload matches its kind here, so that a kind that is added is missed by nobody.

pub mod command;
pub mod delta;
mod fixed;
pub mod in_parts;
pub mod physiological;
pub mod share;
pub mod values;
mod write;

use command::CommandReader;
use in_parts::InParts;
use physiological::ImagedWrites;
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
    /// The rows that it wrote, perhaps with what they were before ([`physiological`]).
    Physiological,
    /// The same, in parts that lie before the record ([`in_parts`]).
    PhysiologicalInParts,
    /// Of the rows that it wrote those of one partition ([`share`]), as [`PayloadKind::Values`].
    Share,
    /// The same, as [`PayloadKind::Physiological`].
    PhysiologicalShare,
}

/// How writes are encoded, in a record or in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteForm {
    /// As [`values`].
    Values,
    /// As [`physiological`].
    Physiological,
}

impl PayloadKind {
    /// Returns the number that stands for it in a record.
    pub fn tag(self) -> u8 {
        match self {
            PayloadKind::Values => 0,
            PayloadKind::InParts => 1,
            PayloadKind::Command => 2,
            PayloadKind::Physiological => 3,
            PayloadKind::PhysiologicalInParts => 4,
            PayloadKind::Share => 5,
            PayloadKind::PhysiologicalShare => 6,
        }
    }

    /// Returns the kind that `tag` stands for.
    pub fn of(tag: u8) -> Option<PayloadKind> {
        let kinds = [
            PayloadKind::Values,
            PayloadKind::InParts,
            PayloadKind::Command,
            PayloadKind::Physiological,
            PayloadKind::PhysiologicalInParts,
            PayloadKind::Share,
            PayloadKind::PhysiologicalShare,
        ];
        kinds.into_iter().find(|kind| kind.tag() == tag)
    }

    /// Whether writes are logged with images as physiological logging has them, in one piece, in parts or in shares.
    pub fn is_physiological(self) -> bool {
        matches!(self, PayloadKind::Physiological | PayloadKind::PhysiologicalInParts | PayloadKind::PhysiologicalShare)
    }

    /// Whether the rows of a transaction are among the records of several streams.
    pub fn is_share(self) -> bool {
        matches!(self, PayloadKind::Share | PayloadKind::PhysiologicalShare)
    }

    /// Returns the kind of a share of writes that are logged as this kind in one piece.
    pub(crate) fn share(self) -> PayloadKind {
        match self {
            PayloadKind::Values => PayloadKind::Share,
            PayloadKind::Physiological => PayloadKind::PhysiologicalShare,
            kind => unreachable!("what is divided are the rows that were written, not {kind:?}"),
        }
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
            PayloadKind::InParts | PayloadKind::PhysiologicalInParts => in_parts::check(bytes),
            PayloadKind::Command => command::check(bytes, count),
            PayloadKind::Physiological => physiological::check(bytes, count),
            PayloadKind::Share => share::check(bytes, |rest| values::check(rest, count, layout)),
            PayloadKind::PhysiologicalShare => share::check(bytes, |rest| physiological::check(rest, count)),
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
    /// The rows that it wrote, with what they were before.
    Physiological(ImagedWrites<'a>),
}

impl<'a> PayloadReader<'a> {
    /// Returns the payload at the start of `bytes`, which [`PayloadKind::check`] has accepted.
    pub(in crate::log::format) fn new(
        kind: PayloadKind,
        bytes: &'a [u8],
        count: u32,
        layout: RecordLayout,
    ) -> PayloadReader<'a> {
        let in_parts = |form| InParts::decode(bytes, form).expect("the payload was checked");
        match kind {
            PayloadKind::Values => PayloadReader::Values(Writes::new(bytes, count, layout)),
            PayloadKind::InParts => PayloadReader::InParts(in_parts(WriteForm::Values)),
            PayloadKind::PhysiologicalInParts => PayloadReader::InParts(in_parts(WriteForm::Physiological)),
            PayloadKind::Physiological => PayloadReader::Physiological(ImagedWrites::new(bytes, count)),
            PayloadKind::Command => PayloadReader::Command(CommandReader::new(bytes, count)),
            // Replayed as a record of its own: what makes it one of several is only checked.
            PayloadKind::Share => PayloadReader::Values(Writes::new(share::behind(bytes), count, layout)),
            PayloadKind::PhysiologicalShare => {
                PayloadReader::Physiological(ImagedWrites::new(share::behind(bytes), count))
            }
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
