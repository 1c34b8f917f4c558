//! Writes as records of the first layout have them, with fields of fixed width and rows in full. They are only read.

use super::PayloadError;
use super::write::{Change, LoggedWrite};
use crate::ids::TableId;
use crate::log::format::bytes::{u16_at, u32_at};

/// The bytes before a write's key.
const WRITE_HEADER_BYTES: usize = 12;

const KIND_PUT: u8 = 1;
const KIND_DELETE: u8 = 2;

/// The write at the start of `bytes`, and what is behind it.
pub(super) fn split(bytes: &[u8]) -> Result<(LoggedWrite<'_>, &[u8]), PayloadError> {
    let malformed = |what| PayloadError { what };
    let (header, rest) = bytes.split_at_checked(WRITE_HEADER_BYTES).ok_or(malformed("a write is cut short"))?;
    let (table, key_length, row_length) = (TableId(u32_at(header, 0)), u16_at(header, 6), u32_at(header, 8));
    let (key, rest) = rest.split_at_checked(key_length.into()).ok_or(malformed("a key is cut short"))?;
    let (row, rest) = rest.split_at_checked(row_length as usize).ok_or(malformed("a row is cut short"))?;
    let change = match (header[4], header[5], row_length) {
        (KIND_PUT, 0, _) => Change::Put(row),
        (KIND_DELETE, 0, 0) => Change::Delete,
        _ => return Err(malformed("a write is neither a put nor a delete")),
    };
    Ok((LoggedWrite { table, key, change }, rest))
}
