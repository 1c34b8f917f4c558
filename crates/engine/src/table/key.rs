//! Keys as bytes whose bytewise order is the order of the values (docs/row-format.md).
//!
//! Invariants:
//! - `encode(a) < encode(b)` exactly where `a < b`, column by column, in the order of [`Value`].
//! - No encoded column is a prefix of another value of it. So keys that begin with given values are the keys that begin
//!   with their bytes, and a range of values is a range of bytes.
//! - Equal values have equal bytes, and decoding refuses all others.
//! - An index entry ends with the primary key where its columns alone may repeat: in an index that is not unique, and in a
//!   unique one where a column is NULL. So no two rows have equal entries, except where that violates uniqueness.
//!
//! Deliberately absent: descending columns (scans go both ways), NULLs last.

use std::fmt;
use std::sync::Arc;

use super::error::SchemaError;
use super::key_buffer::KeyBuf;
use super::row::Row;
use super::schema::{ColumnId, IndexId, PRIMARY_KEY, Schema};
use super::slot::array;
use super::value::{Type, Value, float_from_ordered, float_to_ordered, numeric_fits};

/// Before a NULL.
const NULL: u8 = 0x00;
/// Before a value that could have been NULL.
const PRESENT: u8 = 0x01;
/// In variable columns: what a zero byte is followed by.
const ESCAPED: u8 = 0xFF;
/// In variable columns: what the zero byte at the end is followed by.
const END: u8 = 0x01;

/// A column of a key.
#[derive(Clone, Copy, Debug)]
struct KeyColumn {
    id: ColumnId,
    ty: Type,
    is_nullable: bool,
}

/// How the keys of one table's primary key or index are encoded.
#[derive(Debug)]
pub struct KeyCodec {
    schema: Arc<Schema>,
    /// How messages call the key.
    name: String,
    columns: Vec<KeyColumn>,
    /// The primary key's columns, for an index; empty for the primary key itself.
    suffix: Vec<KeyColumn>,
    is_unique: bool,
    is_partial: bool,
}

impl KeyCodec {
    /// Returns the codec of the primary key.
    pub fn primary(schema: Arc<Schema>) -> KeyCodec {
        let columns = key_columns(&schema, schema.primary_key());
        let (is_unique, is_partial) = (true, false);
        KeyCodec { name: PRIMARY_KEY.to_owned(), columns, suffix: Vec::new(), is_unique, is_partial, schema }
    }

    /// Returns the codec of a secondary index.
    pub fn index(schema: Arc<Schema>, id: IndexId) -> Result<KeyCodec, SchemaError> {
        let index = schema.index_by_id(id)?;
        let name = format!("index {}", index.name());
        let (is_unique, is_partial) = (index.is_unique(), index.is_partial());
        let (columns, suffix) = (key_columns(&schema, index.columns()), key_columns(&schema, schema.primary_key()));
        Ok(KeyCodec { name, columns, suffix, is_unique, is_partial, schema })
    }

    /// Returns the schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Returns the declared columns, without the primary key that an index entry may end with.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = ColumnId> + '_ {
        self.columns.iter().map(|column| column.id)
    }

    /// Whether two rows must differ in the declared columns.
    pub fn is_unique(&self) -> bool {
        self.is_unique
    }

    /// Whether it has no entries of rows with NULL in the first column.
    pub(crate) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Whether these values of the declared columns belong to one row at most, so that [`KeyCodec::of_key`] is the bytes of
    /// its whole entry, not only of its beginning.
    pub fn finds_one(&self, key: &[Value<'_>]) -> bool {
        self.is_unique && key.len() == self.columns.len() && !key.iter().any(|value| value.is_null())
    }

    /// Whether changing these columns can change a row's entry.
    pub fn depends_on(&self, changes: &[(ColumnId, Value<'_>)]) -> bool {
        changes.iter().any(|(id, _)| self.columns.iter().chain(&self.suffix).any(|column| column.id == *id))
    }

    /// Returns the entry of a row given as one value per column of the table.
    pub fn of_values(&self, row: &[Value<'_>]) -> Result<KeyBuf, SchemaError> {
        let expected = self.schema.columns().len();
        if row.len() != expected {
            return Err(self.wrong_count("a row", expected, row.len()));
        }
        let mut key = KeyBuf::new();
        let mut has_null = false;
        for column in &self.columns {
            let value = row[usize::from(column.id.0)];
            has_null |= value.is_null();
            self.put_checked(&mut key, column, value)?;
        }
        if has_null || !self.is_unique {
            for column in &self.suffix {
                self.put_checked(&mut key, column, row[usize::from(column.id.0)])?;
            }
        }
        Ok(key)
    }

    /// Returns the entry that an index has of an encoded row; `None` where it is partial and leaves the row out.
    pub fn entry_of_row(&self, row: &Row<'_>) -> Option<KeyBuf> {
        let is_left_out = self.is_partial && self.columns.first().is_some_and(|first| row.is_null(first.id));
        (!is_left_out).then(|| self.of_row(row))
    }

    /// Returns the key of an encoded row.
    pub fn of_row(&self, row: &Row<'_>) -> KeyBuf {
        assert!(std::ptr::eq(row.schema(), &*self.schema) || *row.schema() == *self.schema, "a row of another table");
        let mut key = KeyBuf::new();
        let mut has_null = false;
        for column in &self.columns {
            has_null |= put_from_row(&mut key, column, row);
        }
        if has_null || !self.is_unique {
            for column in &self.suffix {
                put_from_row(&mut key, column, row);
            }
        }
        key
    }

    /// Returns the bytes of the declared columns: the whole entry where [`KeyCodec::finds_one`], otherwise its beginning.
    pub fn of_key(&self, key: &[Value<'_>]) -> Result<KeyBuf, SchemaError> {
        if key.len() != self.columns.len() {
            return Err(self.wrong_count(&self.name, self.columns.len(), key.len()));
        }
        let mut bytes = KeyBuf::new();
        for (column, value) in self.columns.iter().zip(key) {
            self.put_checked(&mut bytes, column, *value)?;
        }
        Ok(bytes)
    }

    /// Returns the bytes that every entry begins with whose first columns have these values. The columns of an index that is not
    /// unique are followed by those of the primary key.
    pub fn prefix(&self, values: &[Value<'_>]) -> Result<KeyBuf, SchemaError> {
        let mut key = KeyBuf::new();
        self.extend_prefix(&mut key, 0, values)?;
        Ok(key)
    }

    /// Adds values of the columns from position `skip` on to a prefix of that many.
    pub(super) fn extend_prefix(&self, key: &mut KeyBuf, skip: usize, values: &[Value<'_>]) -> Result<(), SchemaError> {
        let suffix = if self.is_unique { &[] } else { &*self.suffix };
        let (known, found) = (self.columns.len() + suffix.len(), skip + values.len());
        if found > known {
            return Err(self.wrong_count(&self.name, known, found));
        }
        for (column, value) in self.columns.iter().chain(suffix).skip(skip).zip(values) {
            self.put_checked(key, column, *value)?;
        }
        Ok(())
    }

    /// Returns how many of its first columns are those of another one, in the same order.
    pub(crate) fn columns_as_of(&self, other: &KeyCodec) -> usize {
        let own = self.columns.iter().chain(&self.suffix);
        own.zip(&other.columns).take_while(|(own, other)| own.id == other.id).count()
    }

    /// Returns how many bytes of an entry its first columns take.
    pub(crate) fn prefix_len(&self, key: &[u8], columns: usize) -> Result<usize, SchemaError> {
        let mut reader = Reader { rest: key };
        for column in self.columns.iter().take(columns) {
            reader.value(column).map_err(|what| self.corrupt(column, what))?;
        }
        Ok(key.len() - reader.rest.len())
    }

    /// Returns the values of an entry: those of the declared columns and, where it ends with the primary key, of its columns.
    pub fn decode(&self, key: &[u8]) -> Result<KeyValues, SchemaError> {
        let mut reader = Reader { rest: key };
        let mut values = Vec::with_capacity(self.columns.len() + self.suffix.len());
        let mut take_all = |columns: &[KeyColumn]| {
            columns.iter().try_fold(false, |has_null, column| {
                let part = reader.value(column).map_err(|what| self.corrupt(column, what))?;
                let is_null = matches!(part, Part::Plain(Value::Null));
                values.push(part);
                Ok(has_null | is_null)
            })
        };
        if take_all(&self.columns)? || !self.is_unique {
            take_all(&self.suffix)?;
        }
        if !reader.rest.is_empty() {
            let reason = format!("{} bytes follow the last column", reader.rest.len());
            return Err(SchemaError::CorruptKey {
                table: self.schema.name().to_owned(),
                key: self.name.clone(),
                reason,
            });
        }
        Ok(KeyValues(values))
    }

    /// An entry for messages, as PostgreSQL's "Key (a, b)=(1, 2)", or the bytes where they do not decode.
    pub fn describe(&self, key: &[u8]) -> String {
        struct Shown<'a>(Type, Value<'a>);
        impl fmt::Display for Shown<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.show(self.1, f)
            }
        }
        let names =
            self.columns.iter().map(|column| self.schema.column(column.id).name()).collect::<Vec<_>>().join(", ");
        match self.decode(key) {
            Ok(values) => {
                let shown =
                    self.columns.iter().zip(values.iter()).map(|(column, value)| Shown(column.ty, value).to_string());
                format!("({names})=({})", shown.collect::<Vec<_>>().join(", "))
            }
            Err(_) => format!("({names})={:?}", KeyBuf::from(key)),
        }
    }

    #[inline]
    fn put_checked(&self, key: &mut KeyBuf, column: &KeyColumn, value: Value<'_>) -> Result<(), SchemaError> {
        if !(value.is_null() && column.is_nullable) && column.ty.admit(value).is_err() {
            return self.schema.check_value(column.id, value);
        }
        put(key, column, value);
        Ok(())
    }

    #[cold]
    fn wrong_count(&self, object: &str, expected: usize, found: usize) -> SchemaError {
        let (table, object) = (self.schema.name().to_owned(), object.to_owned());
        SchemaError::WrongCount { table, object, expected, found }
    }

    #[cold]
    fn corrupt(&self, column: &KeyColumn, what: &str) -> SchemaError {
        let reason = format!("column {}: {what}", self.schema.column(column.id).name());
        SchemaError::CorruptKey { table: self.schema.name().to_owned(), key: self.name.clone(), reason }
    }
}

fn key_columns(schema: &Schema, ids: &[ColumnId]) -> Vec<KeyColumn> {
    let column = |id: &ColumnId| {
        let column = schema.column(*id);
        KeyColumn { id: *id, ty: column.ty(), is_nullable: column.is_nullable() }
    };
    ids.iter().map(column).collect()
}

/// Appends a value that the column admits.
#[inline]
fn put(key: &mut KeyBuf, column: &KeyColumn, value: Value<'_>) {
    if column.is_nullable {
        key.push(if value.is_null() { NULL } else { PRESENT });
    }
    match (column.ty, value) {
        (_, Value::Null) => assert!(column.is_nullable, "NULL in a key column that does not take it"),
        (Type::Bool, Value::Bool(value)) => key.push(value.into()),
        (Type::Int16, Value::Int(value)) => key.extend_array((value as i16 ^ i16::MIN).to_be_bytes()),
        (Type::Int32, Value::Int(value)) => key.extend_array((value as i32 ^ i32::MIN).to_be_bytes()),
        (Type::Int64, Value::Int(value))
        | (Type::Numeric { .. }, Value::Numeric(value))
        | (Type::Timestamp, Value::Timestamp(value)) => key.extend_array((value ^ i64::MIN).to_be_bytes()),
        (Type::Float64, Value::Float(value)) => key.extend_array(float_to_ordered(value).to_be_bytes()),
        (Type::Text, Value::Text(value)) => put_variable(key, value.as_bytes()),
        (Type::Bytes, Value::Bytes(value)) => put_variable(key, value),
        (ty, value) => panic!("an unchecked {} value for a key column of type {ty}", value.kind()),
    }
}

/// Appends a column of an encoded row; says whether it is NULL.
#[inline]
fn put_from_row(key: &mut KeyBuf, column: &KeyColumn, row: &Row<'_>) -> bool {
    if column.is_nullable {
        if row.is_null(column.id) {
            key.push(NULL);
            return true;
        }
        key.push(PRESENT);
    }
    let raw = row.raw(column.id);
    match column.ty {
        // Past `Row::value`, which would verify the text once more.
        Type::Text | Type::Bytes => put_variable(key, raw),
        Type::Bool => key.push(raw[0]),
        Type::Int16 => key.extend_array((i16::from_le_bytes(array(raw)) ^ i16::MIN).to_be_bytes()),
        Type::Int32 => key.extend_array((i32::from_le_bytes(array(raw)) ^ i32::MIN).to_be_bytes()),
        Type::Int64 | Type::Numeric { .. } | Type::Timestamp => {
            key.extend_array((i64::from_le_bytes(array(raw)) ^ i64::MIN).to_be_bytes());
        }
        Type::Float64 => key.extend_array(float_to_ordered(f64::from_le_bytes(array(raw))).to_be_bytes()),
    }
    false
}

/// Appends bytes so that they order before all that they are a prefix of: zeros escaped, an end that no byte equals.
#[inline]
fn put_variable(key: &mut KeyBuf, bytes: &[u8]) {
    if bytes.contains(&0) {
        let mut parts = bytes.split(|byte| *byte == 0);
        key.extend(parts.next().unwrap_or(&[]));
        for part in parts {
            key.extend_array([0, ESCAPED]);
            key.extend(part);
        }
    } else {
        key.extend(bytes);
    }
    key.extend_array([0, END]);
}

/// The decoded values of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValues(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Plain(Value<'static>),
    Text(String),
    Bytes(Vec<u8>),
}

impl Part {
    fn value(&self) -> Value<'_> {
        match self {
            Part::Plain(value) => *value,
            Part::Text(text) => Value::Text(text),
            Part::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

impl KeyValues {
    /// Returns the values, in key order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Value<'_>> {
        self.0.iter().map(Part::value)
    }

    /// Returns the values as a slice for the calls that take one.
    pub fn to_values(&self) -> Vec<Value<'_>> {
        self.iter().collect()
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let (array, rest) = self.rest.split_first_chunk().ok_or("it ends too early")?;
        self.rest = rest;
        Ok(*array)
    }

    fn value(&mut self, column: &KeyColumn) -> Result<Part, &'static str> {
        if column.is_nullable {
            match self.array()? {
                [NULL] => return Ok(Part::Plain(Value::Null)),
                [PRESENT] => {}
                _ => return Err("it is neither NULL nor present"),
            }
        }
        Ok(Part::Plain(match column.ty {
            Type::Bool => match self.array()? {
                [0] => Value::Bool(false),
                [1] => Value::Bool(true),
                _ => return Err("it is neither true nor false"),
            },
            Type::Int16 => Value::Int((i16::from_be_bytes(self.array()?) ^ i16::MIN).into()),
            Type::Int32 => Value::Int((i32::from_be_bytes(self.array()?) ^ i32::MIN).into()),
            Type::Int64 => Value::Int(self.int64()?),
            Type::Timestamp => Value::Timestamp(self.int64()?),
            Type::Numeric { precision, .. } => match self.int64()? {
                units if numeric_fits(units, precision) => Value::Numeric(units),
                _ => return Err("it has more digits than its precision"),
            },
            Type::Float64 => {
                let ordered = u64::from_be_bytes(self.array()?);
                let float = float_from_ordered(ordered);
                if float_to_ordered(float) != ordered {
                    return Err("it is a second form of zero or NaN");
                }
                Value::Float(float)
            }
            Type::Text => return self.text(),
            Type::Bytes => return Ok(Part::Bytes(self.variable()?)),
        }))
    }

    fn int64(&mut self) -> Result<i64, &'static str> {
        Ok(i64::from_be_bytes(self.array()?) ^ i64::MIN)
    }

    fn text(&mut self) -> Result<Part, &'static str> {
        String::from_utf8(self.variable()?).map(Part::Text).map_err(|_| "it is not UTF-8")
    }

    fn variable(&mut self) -> Result<Vec<u8>, &'static str> {
        let mut bytes = Vec::new();
        loop {
            let zero = self.rest.iter().position(|byte| *byte == 0).ok_or("it has no end")?;
            bytes.extend_from_slice(&self.rest[..zero]);
            self.rest = &self.rest[zero + 1..];
            match self.array()? {
                [END] => return Ok(bytes),
                [ESCAPED] => bytes.push(0),
                _ => return Err("a zero byte is neither escaped nor the end"),
            }
        }
    }
}
