//! What rows contain.
//!
//! Measured rows take their fields from a pool of random bytes. *Stamped* rows, for crash tests, have two columns more, the
//! row's version and a checksum, and their fields begin with who wrote them. The checksum is over key and fields; the version
//! is added to it, so that a procedure can count up a version without computing a checksum. A version of a row is larger than
//! all earlier ones, so that an acknowledged write is found exactly if the row's version is at least the written one.

use osier::table::{Row, Value};

use super::{FIELDS_MAX, YcsbConfig};
use crate::random::worker_rng;

/// Bytes at the beginning of a stamped row's fields: the writer.
pub const STAMP_BYTES: usize = 8;

/// Columns that no row has more of: key, version, checksum and fields.
const COLUMNS_MAX: usize = 3 + FIELDS_MAX as usize;

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
    values: [Value<'a>; COLUMNS_MAX],
    count: usize,
}

impl<'a> RowValues<'a> {
    /// The row `key` whose fields are `content` cut into equal pieces.
    pub fn new(config: &YcsbConfig, key: u64, content: &'a [u8]) -> RowValues<'a> {
        RowValues::with(config, &[key_value(key)], content)
    }

    /// The stamped row `key`, whose fields have this checksum.
    pub fn stamped(config: &YcsbConfig, key: u64, version: u64, checksum: i64, content: &'a [u8]) -> RowValues<'a> {
        let version = i64::try_from(version).expect("versions are counted in 63 bits");
        RowValues::with(config, &[key_value(key), Value::Int(version), Value::Int(checksum + version)], content)
    }

    /// These columns, then the fields.
    fn with(config: &YcsbConfig, first: &[Value<'a>], content: &'a [u8]) -> RowValues<'a> {
        assert_eq!(content.len(), config.row_bytes(), "the content fills the fields");
        let mut values = [Value::Null; COLUMNS_MAX];
        values[..first.len()].copy_from_slice(first);
        let fields = content.chunks_exact(config.field_bytes as usize);
        values[first.len()..].iter_mut().zip(fields).for_each(|(value, field)| *value = Value::Bytes(field));
        RowValues { values, count: first.len() + config.fields as usize }
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

/// Fills `content` from the pool and names the writer. Returns the checksum of the row `key` with it, without a version.
pub fn stamp(content: &mut Vec<u8>, config: &YcsbConfig, pool: &Pool, payload: u32, key: u64, writer: u64) -> i64 {
    content.clear();
    content.extend_from_slice(pool.payload(payload, config.row_bytes()));
    content[..STAMP_BYTES].copy_from_slice(&writer.to_le_bytes());
    checksum(key, content)
}

/// The version of a stamped row; `None` where its checksum does not match.
pub fn read_version(config: &YcsbConfig, key: u64, row: &Row<'_>) -> Option<u64> {
    let mut values = row.values().skip(1);
    let (Some(Value::Int(version)), Some(Value::Int(sum))) = (values.next(), values.next()) else { return None };
    let mut content = Vec::with_capacity(config.row_bytes());
    for value in values {
        let Value::Bytes(field) = value else { return None };
        content.extend_from_slice(field);
    }
    check(key, version, sum, &content)
}

fn check(key: u64, version: i64, sum: i64, content: &[u8]) -> Option<u64> {
    let is_whole = sum.checked_sub(version) == Some(checksum(key, content));
    u64::try_from(version).ok().filter(|_| is_whole)
}

fn checksum(key: u64, content: &[u8]) -> i64 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(&key.to_le_bytes());
    digest.update(content);
    i64::from(digest.finalize() as u32)
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
        let sum = 77 + stamp(&mut content, &config, &pool, 12345, 6, 1 << 40);
        assert_eq!(content.len(), 72);
        assert_eq!(check(6, 77, sum, &content), Some(77));
        assert_eq!(check(7, 77, sum, &content), None);
        assert_eq!(check(6, 78, sum, &content), None);
        for bit in 0..content.len() * 8 {
            content[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(check(6, 77, sum, &content), None, "bit {bit}");
            content[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
