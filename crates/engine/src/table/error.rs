//! What can be wrong with a schema, with the values given for its columns, or with bytes read back for it.
//!
//! Invariants:
//! - Every message names the table (or the object being defined) and, where there is one, the column or index.
//! - Refusals of values say what the column takes; corruption says where the bytes stop making sense.

use super::bounds::{
    COLUMNS_MAX, GROUPS_MAX, INDEXES_MAX, KEY_COLUMNS_MAX, MISSING_BYTES_MAX, NAME_BYTES_MAX, NOTES_BYTES_MAX,
};
use super::value::Type;

/// A schema or a value that was refused, or encoded bytes that do not decode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// An empty name, or one with a NUL character.
    #[error("{name:?} cannot name a {object}: a name has at least one character and no NUL")]
    InvalidName {
        /// What was to be named.
        object: &'static str,
        /// The name.
        name: String,
    },
    /// A name of more than [`NAME_BYTES_MAX`] bytes.
    #[error("{object} name {name:?} has {} bytes; shorten it to {max}", name.len(), max = NAME_BYTES_MAX)]
    NameTooLong {
        /// What was to be named.
        object: &'static str,
        /// The name.
        name: String,
    },
    /// Two columns of the same name.
    #[error("table {table} declares column {column} twice; rename one")]
    DuplicateColumn {
        /// The table.
        table: String,
        /// The name.
        column: String,
    },
    /// Two indexes of the same name on one table.
    #[error("table {table} has an index {index} already; choose another name")]
    DuplicateIndex {
        /// The table.
        table: String,
        /// The name.
        index: String,
    },
    /// A name that no column has.
    #[error("table {table} has no column {column}; its columns are {known}")]
    UnknownColumn {
        /// The table.
        table: String,
        /// The name or number.
        column: String,
        /// The names that there are, or the first of them.
        known: String,
    },
    /// A name that no index has.
    #[error("table {table} has no index {index}; its indexes are {known}")]
    UnknownIndex {
        /// The table.
        table: String,
        /// The name or number.
        index: String,
        /// The names that there are, or the first of them.
        known: String,
    },
    /// More columns than [`COLUMNS_MAX`].
    #[error("table {table} has {count} columns; {max} are possible: split it", max = COLUMNS_MAX)]
    TooManyColumns {
        /// The table.
        table: String,
        /// How many were declared.
        count: usize,
    },
    /// More groups of columns than [`GROUPS_MAX`].
    #[error(
        "the columns of table {table} changed {max} times while its rows stayed; copy them to a new table to change more",
        max = GROUPS_MAX - 1
    )]
    TooManyGroups {
        /// The table.
        table: String,
    },
    /// More than [`MISSING_BYTES_MAX`] bytes of values for columns that are added to rows.
    #[error("the values of columns added to table {table} have {bytes} bytes; {max} are possible", max = MISSING_BYTES_MAX)]
    MissingTooLong {
        /// The table.
        table: String,
        /// How many bytes they have.
        bytes: usize,
    },
    /// A column of a key that was to go, or of an index that was to take NULL or not.
    #[error("column {column} of table {table} is in {key}; drop that first")]
    ColumnOfKey {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// `the primary key` or the index.
        key: String,
    },
    /// Notes of more than [`NOTES_BYTES_MAX`] bytes.
    #[error("the notes of table {table} have {bytes} bytes; {max} are possible", max = NOTES_BYTES_MAX)]
    NotesTooLong {
        /// The table.
        table: String,
        /// How long they are.
        bytes: usize,
    },
    /// More columns in one key than [`KEY_COLUMNS_MAX`].
    #[error("{key} of table {table} has {count} columns; {max} are possible", max = KEY_COLUMNS_MAX)]
    TooManyKeyColumns {
        /// The table.
        table: String,
        /// `the primary key` or the index.
        key: String,
        /// How many were declared.
        count: usize,
    },
    /// More indexes than [`INDEXES_MAX`], or their numbers are used up.
    #[error("table {table} cannot have another index; {max} are possible: drop one", max = INDEXES_MAX)]
    TooManyIndexes {
        /// The table.
        table: String,
    },
    /// A key without columns, among them a missing primary key.
    #[error("{key} of table {table} names no column; name at least one")]
    EmptyKey {
        /// The table.
        table: String,
        /// `the primary key` or the index.
        key: String,
    },
    /// A key that names a column twice.
    #[error("{key} of table {table} names column {column} twice; remove one")]
    RepeatedKeyColumn {
        /// The table.
        table: String,
        /// `the primary key` or the index.
        key: String,
        /// The column.
        column: String,
    },
    /// A nullable column in the primary key.
    #[error("column {column} of table {table} is in the primary key and must not be nullable; declare it NOT NULL")]
    NullableKey {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A numeric type beyond what 64 bits hold.
    #[error(
        "column {column} of table {table} cannot be numeric({precision},{scale}); the precision is 1 to {max} and the scale at \
         most the precision", max = Type::PRECISION_MAX
    )]
    InvalidNumeric {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Digits altogether.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// Not one value per column.
    #[error("{object} of table {table} takes {expected} values, {found} were given; give one for each of its columns")]
    WrongCount {
        /// The table.
        table: String,
        /// `a row`, `the primary key` or the index.
        object: String,
        /// Columns.
        expected: usize,
        /// Values.
        found: usize,
    },
    /// A value of another kind than the column's.
    #[error("column {column} of table {table} is of type {expected} and does not take {found} values; convert it")]
    WrongType {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The column's type.
        expected: Type,
        /// The value's kind.
        found: &'static str,
    },
    /// NULL for a column that does not take it.
    #[error("column {column} of table {table} does not take NULL; give a value")]
    NotNull {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A number too large for the column.
    #[error("{value} is out of range for column {column} of table {table}, of type {expected}")]
    OutOfRange {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The column's type.
        expected: Type,
        /// The number; for a numeric in units of the last digit.
        value: i64,
    },
    /// The same column changed twice in one update.
    #[error("column {column} of table {table} is changed twice in one update; give one value")]
    RepeatedChange {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A row of 4 GiB or more.
    #[error("a row of table {table} would take {bytes} bytes; its offsets have 32 bits: shorten its values")]
    RowTooLong {
        /// The table.
        table: String,
        /// The length it would have.
        bytes: usize,
    },
    /// Bytes that are not a row of the table.
    #[error("table {table} has a corrupt row: {reason}")]
    CorruptRow {
        /// The table.
        table: String,
        /// What does not fit.
        reason: String,
    },
    /// Bytes that are not a key.
    #[error("{key} of table {table} has a corrupt entry: {reason}")]
    CorruptKey {
        /// The table.
        table: String,
        /// `the primary key` or the index.
        key: String,
        /// What does not fit.
        reason: String,
    },
    /// Bytes that are not a schema.
    #[error("the catalog holds a corrupt schema: {reason}")]
    CorruptSchema {
        /// What does not fit.
        reason: String,
    },
    /// A schema written by a later program.
    #[error("the catalog holds a schema of format {found}, this program reads up to {known}; use a newer program")]
    UnknownFormat {
        /// The format found.
        found: u16,
        /// The newest that is known.
        known: u16,
    },
}

impl SchemaError {
    /// Returns the SQLSTATE that PostgreSQL's clients know the error by.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            SchemaError::InvalidName { .. } => "42602",
            SchemaError::NameTooLong { .. } => "42622",
            SchemaError::DuplicateColumn { .. } | SchemaError::RepeatedKeyColumn { .. } => "42701",
            SchemaError::DuplicateIndex { .. } => "42P07",
            SchemaError::UnknownColumn { .. } => "42703",
            SchemaError::UnknownIndex { .. } => "42704",
            SchemaError::TooManyColumns { .. } | SchemaError::TooManyKeyColumns { .. } => "54011",
            SchemaError::NotesTooLong { .. }
            | SchemaError::MissingTooLong { .. }
            | SchemaError::TooManyGroups { .. } => "54000",
            SchemaError::TooManyIndexes { .. } | SchemaError::RowTooLong { .. } => "54000",
            SchemaError::EmptyKey { .. } | SchemaError::NullableKey { .. } => "42P16",
            SchemaError::ColumnOfKey { .. } => "2BP01",
            SchemaError::InvalidNumeric { .. } => "22023",
            SchemaError::WrongCount { .. } | SchemaError::RepeatedChange { .. } => "42601",
            SchemaError::WrongType { .. } => "42804",
            SchemaError::NotNull { .. } => "23502",
            SchemaError::OutOfRange { .. } => "22003",
            SchemaError::CorruptRow { .. } | SchemaError::CorruptKey { .. } | SchemaError::CorruptSchema { .. } => {
                "XX001"
            }
            SchemaError::UnknownFormat { .. } => "0A000",
        }
    }
}
