//! What rows contain.
//!
//! Measured rows take their fields from a pool of random bytes. *Stamped* rows, for crash tests, begin with a header:
//! the row's version, who wrote it, and a checksum over key, header and everything else. A version of a row is larger
//! than all earlier ones, so that an acknowledged write is found exactly if the row's version is at least the written
//! one.

use osier::table::{Row, Value};

use super::{FIELDS_MAX, YcsbConfig};
use crate::random::worker_rng;

/// Bytes of a stamped row's header: version, writer, checksum.
pub const STAMP_BYTES: usize = 8 + 8 + 4;

/// Random bytes to take fields from.
#[derive(Debug)]
pub struct Pool {
    bytes: Vec<u8>,
}

impl Pool {
    /// Payloads begin at offsets below this.
    pub const OFFSETS: u32 = 1 << 16;

    /// A pool for rows of `config`.
    pub fn new(config: &YcsbConfig) -> Pool {
        let mut bytes = vec![0; Pool::OFFSETS as usize + config.row_bytes()];
        worker_rng(1, 0).fill(&mut bytes);
        Pool { bytes }
    }

    /// Where the fields of a row begin that was loaded and never written. Neighbours share no bytes, so that a store that
    /// compresses gains nothing from the pool.
    pub fn loaded(key: u64) -> u32 {
        (key.wrapping_mul(4099) % u64::from(Pool::OFFSETS)) as u32
    }

    /// The bytes from an offset on.
    pub fn payload(&self, offset: u32, bytes: usize) -> &[u8] {
        &self.bytes[offset as usize..offset as usize + bytes]
    }
}

/// The values of one row.
pub struct RowValues<'a> {
    values: [Value<'a>; FIELDS_MAX as usize + 1],
    count: usize,
}

impl<'a> RowValues<'a> {
    /// The row `key` whose fields are `content` cut into equal pieces.
    pub fn new(config: &YcsbConfig, key: u64, content: &'a [u8]) -> RowValues<'a> {
        assert_eq!(content.len(), config.row_bytes(), "the content fills the fields");
        let mut values = [Value::Null; FIELDS_MAX as usize + 1];
        values[0] = key_value(key);
        let fields = content.chunks_exact(config.field_bytes as usize);
        values[1..].iter_mut().zip(fields).for_each(|(value, field)| *value = Value::Bytes(field));
        RowValues { values, count: config.fields as usize + 1 }
    }

    /// The row whose fields come from the pool.
    pub fn of_pool(config: &YcsbConfig, pool: &'a Pool, key: u64, payload: u32) -> RowValues<'a> {
        RowValues::new(config, key, pool.payload(payload, config.row_bytes()))
    }

    /// As the database takes them.
    pub fn as_slice(&self) -> &[Value<'a>] {
        &self.values[..self.count]
    }
}

/// A key as the database takes it.
pub fn key_value(key: u64) -> Value<'static> {
    Value::Int(i64::try_from(key).expect("records are counted in 63 bits"))
}

/// The header of a stamped row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Larger than that of all earlier contents of the row.
    pub version: u64,
    /// Who wrote it, and which of the writer's transactions.
    pub writer: u64,
}

/// Fills `content` from the pool and stamps it.
pub fn stamp(content: &mut Vec<u8>, config: &YcsbConfig, pool: &Pool, payload: u32, key: u64, stamp: Stamp) {
    content.clear();
    content.extend_from_slice(pool.payload(payload, config.row_bytes()));
    content[..8].copy_from_slice(&stamp.version.to_le_bytes());
    content[8..16].copy_from_slice(&stamp.writer.to_le_bytes());
    let checksum = checksum(key, content);
    content[16..STAMP_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// The stamp of a row; `None` where its checksum does not match.
pub fn read_stamp(config: &YcsbConfig, key: u64, row: &Row<'_>) -> Option<Stamp> {
    let mut content = Vec::with_capacity(config.row_bytes());
    for value in row.values().skip(1) {
        let Value::Bytes(field) = value else { return None };
        content.extend_from_slice(field);
    }
    check_stamp(key, &content)
}

fn check_stamp(key: u64, content: &[u8]) -> Option<Stamp> {
    let (version, rest) = content.split_first_chunk::<8>()?;
    let (writer, rest) = rest.split_first_chunk::<8>()?;
    let (expected, _) = rest.split_first_chunk::<4>()?;
    let is_whole = checksum(key, content) == u32::from_le_bytes(*expected);
    is_whole.then(|| Stamp { version: u64::from_le_bytes(*version), writer: u64::from_le_bytes(*writer) })
}

fn checksum(key: u64, content: &[u8]) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(&key.to_le_bytes());
    digest.update(&content[..16]);
    digest.update(&content[STAMP_BYTES..]);
    digest.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::super::Variant;
    use super::*;

    #[test]
    fn every_flipped_bit_of_a_stamped_row_is_noticed() {
        let config = YcsbConfig {
            variant: Variant::TwoAccess,
            records: 10,
            fields: 3,
            field_bytes: 24,
            theta: 0.0,
            read_fraction: 0.5,
            is_stamped: true,
        };
        let pool = Pool::new(&config);
        let mut content = Vec::new();
        let written = Stamp { version: 77, writer: 1 << 40 };
        stamp(&mut content, &config, &pool, 12345, 6, written);
        assert_eq!(content.len(), 72);
        assert_eq!(check_stamp(6, &content), Some(written));
        assert_eq!(check_stamp(7, &content), None);
        for bit in 0..content.len() * 8 {
            content[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(check_stamp(6, &content), None, "bit {bit}");
            content[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
