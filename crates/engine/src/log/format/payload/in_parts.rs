//! The payload of a transaction that is too large for one record: where its parts are, which lie before the record in the
//! same stream.
//!
//! Absent: the parts themselves (log/format/part.rs).

use super::{PayloadError, PayloadKind, WriteForm};
use crate::ids::LogOffset;
use crate::log::format::bytes::{u32_at, u64_at};

/// How many bytes the payload of the record takes.
pub const ENCODED_BYTES: usize = 32;

/// Which parts a transaction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InParts {
    /// The first one: the number of the transaction.
    pub first: LogOffset,
    /// The last one.
    pub last: LogOffset,
    /// The bytes of all of them.
    pub bytes: u64,
    /// How many there are.
    pub parts: u32,
    /// The CRC-32C of the bytes of all of them, one behind the other.
    pub checksum: u32,
    /// How the writes in them are encoded. The kind of the payload says so.
    pub form: WriteForm,
}

impl InParts {
    /// Returns the kind of the payload.
    pub fn kind(&self) -> PayloadKind {
        match self.form {
            WriteForm::Values => PayloadKind::InParts,
            WriteForm::Physiological => PayloadKind::PhysiologicalInParts,
        }
    }

    /// Writes it to the start of `buffer`, and returns how many bytes it took.
    pub fn encode(&self, buffer: &mut [u8]) -> usize {
        assert!(self.is_sensible(), "{self:?}");
        buffer[..8].copy_from_slice(&self.first.0.to_le_bytes());
        buffer[8..16].copy_from_slice(&self.last.0.to_le_bytes());
        buffer[16..24].copy_from_slice(&self.bytes.to_le_bytes());
        buffer[24..28].copy_from_slice(&self.parts.to_le_bytes());
        buffer[28..32].copy_from_slice(&self.checksum.to_le_bytes());
        ENCODED_BYTES
    }

    /// Reads it from the start of `bytes`; `form` is that of the writes in the parts.
    pub(super) fn decode(bytes: &[u8], form: WriteForm) -> Result<InParts, PayloadError> {
        if bytes.len() < ENCODED_BYTES {
            return Err(PayloadError { what: "the names of its parts are cut short" });
        }
        let named = InParts {
            first: LogOffset(u64_at(bytes, 0)),
            last: LogOffset(u64_at(bytes, 8)),
            bytes: u64_at(bytes, 16),
            parts: u32_at(bytes, 24),
            checksum: u32_at(bytes, 28),
            form,
        };
        if named.is_sensible() { Ok(named) } else { Err(PayloadError { what: "the parts that it names cannot be" }) }
    }

    fn is_sensible(&self) -> bool {
        let is_single = self.first == self.last;
        self.first <= self.last
            && self.parts > 0
            && is_single == (self.parts == 1)
            && self.bytes >= u64::from(self.parts)
    }
}

/// The checksum of a payload that comes in parts.
pub(crate) struct PayloadSum(crc_fast::Digest);

impl PayloadSum {
    /// Returns that of no bytes.
    pub(crate) fn new() -> PayloadSum {
        PayloadSum(crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi))
    }

    /// Adds the bytes of the next part.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the checksum of all bytes so far.
    pub(crate) fn value(&self) -> u32 {
        self.0.finalize() as u32
    }
}

/// Checks that `bytes` begin with such a payload, and returns how many bytes it takes.
pub fn check(bytes: &[u8]) -> Result<usize, PayloadError> {
    InParts::decode(bytes, WriteForm::Values).map(|_| ENCODED_BYTES)
}
