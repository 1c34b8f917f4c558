//! How many columns, indexes and bytes of a name a table can have. Larger numbers are refused by name.

/// The most columns of a table.
pub const COLUMNS_MAX: usize = 1600;
/// The most columns of a primary key or an index.
pub const KEY_COLUMNS_MAX: usize = 32;
/// The most secondary indexes of a table.
pub const INDEXES_MAX: usize = 64;
/// The most bytes of the notes of a table.
pub const NOTES_BYTES_MAX: usize = 1 << 20;
/// The most bytes of a name, as in PostgreSQL.
pub const NAME_BYTES_MAX: usize = 63;
/// The most groups of columns of a table: rows can stay as they are once less often where columns are added.
pub const GROUPS_MAX: usize = 65;
/// The most bytes of the values of columns that are added at once, in rows that are there.
pub const MISSING_BYTES_MAX: usize = 1 << 16;
