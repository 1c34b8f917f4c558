//! The error of a second row with a key.

use crate::error::TransactionError;
use crate::table::handle::OpenIndex;
use crate::table::{Datum, KeyCodec, Table};

/// Two rows have the same key in a unique index.
pub(crate) fn duplicate_entry(table: &Table, index: &OpenIndex, key: &[u8]) -> TransactionError {
    duplicate_key(table, format!("unique index `{}`", index.name), &index.codec, key)
}

/// Two rows have the same key.
pub(super) fn duplicate_key(table: &Table, constraint: String, codec: &KeyCodec, key: &[u8]) -> TransactionError {
    let values = codec.decode(key).map(|values| values.iter().map(Datum::from).collect());
    let (table, key) = (table.name().to_owned(), codec.describe(key));
    TransactionError::DuplicateKey { table, constraint, key, values: values.unwrap_or_default() }
}
