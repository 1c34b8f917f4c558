//! A view of one encoded row (docs/row-format.md).
//!
//! Invariants:
//! - Reading a column is O(1), apart from verifying the UTF-8 of a text, and from a step per group before that of a column which
//!   was added to rows.
//! - A getter of the wrong type, or of a NULL, panics and names the column: that is a defect of the caller, who
//!   knows the schema. [`Row::value`] takes any type, and NULL.
//!
//! Deliberately absent: writing. Rows are immutable; a changed row is encoded anew or patched by its codec.

use std::borrow::Cow;
use std::fmt;

use super::row_codec::RowCodec;
use super::schema::{ColumnId, Schema, column_id_at};
use super::slot::array;
use super::value::{Type, Value};

/// A row: encoded bytes and how to read them.
#[derive(Clone)]
pub struct Row<'a> {
    codec: &'a RowCodec,
    bytes: Cow<'a, [u8]>,
}

impl RowCodec {
    /// A view of encoded bytes, which must have passed [`RowCodec::check`] or come from this codec.
    pub fn row<'a>(&'a self, bytes: impl Into<Cow<'a, [u8]>>) -> Row<'a> {
        Row::new(self, bytes.into())
    }

    /// Returns the value of a column of encoded bytes, as [`Row::value`] does.
    #[inline]
    pub(crate) fn value<'b>(&'b self, bytes: &'b [u8], column: ColumnId) -> Value<'b> {
        let (Some(ty), raw) = self.found(bytes, column) else {
            return Value::Null;
        };
        match ty {
            Type::Bool => Value::Bool(raw[0] != 0),
            Type::Int16 => Value::Int(i16::from_le_bytes(array(raw)).into()),
            Type::Int32 => Value::Int(i32::from_le_bytes(array(raw)).into()),
            Type::Int64 => Value::Int(i64::from_le_bytes(array(raw))),
            Type::Float64 => Value::Float(f64::from_le_bytes(array(raw))),
            Type::Numeric { .. } => Value::Numeric(i64::from_le_bytes(array(raw))),
            Type::Timestamp => Value::Timestamp(i64::from_le_bytes(array(raw))),
            Type::Bytes => Value::Bytes(raw),
            Type::Text => match std::str::from_utf8(raw) {
                Ok(text) => Value::Text(text),
                Err(error) => panic!("{} of an unchecked row: {error}", describe(self.schema(), column)),
            },
        }
    }
}

impl RowCodec {
    /// Returns encoded bytes for messages, as `(1, 'Ada', 100.00)`. They must have passed [`RowCodec::check`] or come from this
    /// codec.
    pub(crate) fn describe(&self, bytes: &[u8]) -> String {
        let columns = self.schema().columns().iter().enumerate();
        let shown = columns.map(|(at, column)| column.ty().shown(self.value(bytes, column_id_at(at))).to_string());
        format!("({})", shown.collect::<Vec<_>>().join(", "))
    }
}

impl<'a> Row<'a> {
    pub(super) fn new(codec: &'a RowCodec, bytes: Cow<'a, [u8]>) -> Row<'a> {
        Row { codec, bytes }
    }

    /// Returns the codec and the encoded bytes.
    pub(crate) fn into_parts(self) -> (&'a RowCodec, Cow<'a, [u8]>) {
        (self.codec, self.bytes)
    }

    /// Returns the schema.
    pub fn schema(&self) -> &'a Schema {
        self.codec.schema()
    }

    /// Returns the encoded bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the encoded bytes, copied where they are borrowed.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes.into_owned()
    }

    /// Whether a column is NULL.
    ///
    /// # Panics
    /// As every getter: where the table has no such column.
    pub fn is_null(&self, column: ColumnId) -> bool {
        self.codec.found(&self.bytes, column).0.is_none()
    }

    /// Returns the value of any column.
    pub fn value(&self, column: ColumnId) -> Value<'_> {
        self.codec.value(&self.bytes, column)
    }

    /// Returns all columns, in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Value<'_>> {
        (0..self.codec.columns()).map(|position| self.value(column_id_at(position)))
    }

    /// A column of type boolean.
    ///
    /// # Panics
    /// As every typed getter: where the column is of another type or NULL.
    pub fn boolean(&self, column: ColumnId) -> bool {
        match self.value(column) {
            Value::Bool(value) => value,
            value => self.is_not(column, "boolean", value),
        }
    }

    /// A column of an integer type.
    pub fn int(&self, column: ColumnId) -> i64 {
        match self.value(column) {
            Value::Int(value) => value,
            value => self.is_not(column, "integer", value),
        }
    }

    /// A column of type double precision.
    pub fn float(&self, column: ColumnId) -> f64 {
        match self.value(column) {
            Value::Float(value) => value,
            value => self.is_not(column, "float", value),
        }
    }

    /// A numeric column, in units of its last digit.
    pub fn numeric(&self, column: ColumnId) -> i64 {
        match self.value(column) {
            Value::Numeric(value) => value,
            value => self.is_not(column, "numeric", value),
        }
    }

    /// A column of type text.
    pub fn text(&self, column: ColumnId) -> &str {
        match self.value(column) {
            Value::Text(value) => value,
            value => self.is_not(column, "text", value),
        }
    }

    /// A column of type bytea.
    pub fn bytes(&self, column: ColumnId) -> &[u8] {
        match self.value(column) {
            Value::Bytes(value) => value,
            value => self.is_not(column, "bytes", value),
        }
    }

    /// A column of type timestamp, in microseconds since 1970-01-01 00:00:00.
    pub fn timestamp(&self, column: ColumnId) -> i64 {
        match self.value(column) {
            Value::Timestamp(value) => value,
            value => self.is_not(column, "timestamp", value),
        }
    }

    /// Returns the encoded bytes of one column, without their end offset; zeros or nothing where it is NULL.
    #[inline]
    pub(super) fn raw(&self, column: ColumnId) -> &[u8] {
        self.codec.found(&self.bytes, column).1
    }

    #[cold]
    fn is_not(&self, column: ColumnId, wanted: &str, value: Value<'_>) -> ! {
        let ty = self.schema().column(column).ty();
        let column = describe(self.schema(), column);
        panic!("{column} was read as {wanted}; it is of type {ty} and holds {}", value.kind())
    }
}

/// Returns how messages call a column.
fn describe(schema: &Schema, column: ColumnId) -> String {
    format!("column {} of table {}", schema.column(column).name(), schema.name())
}

impl PartialEq for Row<'_> {
    fn eq(&self, other: &Self) -> bool {
        let is_same_table = std::ptr::eq(self.schema(), other.schema()) || self.schema() == other.schema();
        is_same_table && self.codec.is_same(&self.bytes, &other.bytes)
    }
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.schema().columns().iter().zip(self.values());
        f.debug_map().entries(columns.map(|(column, value)| (column.name(), value))).finish()
    }
}
