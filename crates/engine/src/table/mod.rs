//! Tables: what they are made of (schemas) and how rows and keys are bytes.
//!
//! Invariants:
//! - A schema is immutable and checked when it is built or decoded; the codecs are derived from it once.
//! - Everything that turns bytes from a disk into rows, keys or schemas is bounds-checked: corrupt bytes are an error.

mod argument;
mod bounds;
mod datum;
mod error;
pub(crate) mod handle;
mod key;
mod key_buffer;
mod key_range;
mod layout;
mod row;
mod row_codec;
mod schema;
mod schema_codec;
mod slot;
pub(crate) mod store;
mod value;

pub use argument::{Argument, Arguments};
pub use bounds::{
    COLUMNS_MAX, GROUPS_MAX, INDEXES_MAX, KEY_COLUMNS_MAX, MISSING_BYTES_MAX, NAME_BYTES_MAX, NOTES_BYTES_MAX,
};
pub use datum::Datum;
pub use error::SchemaError;
pub use handle::Table;
pub use key::{KeyCodec, KeyValues};
pub use key_buffer::{KEY_INLINE_BYTES, KeyBuf};
pub use key_range::{KeyBounds, KeyRange};
pub use layout::NewColumn;
pub use row::Row;
pub use row_codec::RowCodec;
pub use schema::{Column, ColumnId, Index, IndexId, Schema, SchemaBuilder};
pub use value::{Type, Value};
