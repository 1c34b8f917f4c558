//! Schemas as bytes, for the catalog (docs/row-format.md).
//!
//! Invariants:
//! - Decoding reads within bounds, takes exactly the bytes that encoding gives, and lets nothing pass that the builder
//!   would refuse: `decode(encode(s)) == s`, and any other bytes are an error.
//! - The first two bytes are the format; every later program reads the formats of earlier ones.
//!
//! Deliberately absent: a checksum. A schema lies in a row of the catalog, and the log's records have one.

use super::error::SchemaError;
use super::schema::{Column, ColumnId, Index, IndexId, Schema};
use super::value::Type;

/// The latest format: schemas with notes are written in it.
const FORMAT: u16 = 2;
/// The format without notes: other schemas are written in it, so that an earlier program reads them.
const FORMAT_WITHOUT_NOTES: u16 = 1;

/// The flag of a column that takes NULL.
const NULLABLE: u8 = 1;
/// The flag of an index that takes one row per key.
const UNIQUE: u8 = 1;

impl Schema {
    /// Returns the schema as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + 32 * self.columns.len());
        put_u16(&mut out, if self.notes.is_empty() { FORMAT_WITHOUT_NOTES } else { FORMAT });
        put_name(&mut out, &self.name);
        put_count(&mut out, self.columns.len());
        for column in &self.columns {
            put_name(&mut out, &column.name);
            out.extend(type_to_bytes(column.ty));
            out.push(if column.is_nullable { NULLABLE } else { 0 });
        }
        put_columns(&mut out, &self.primary_key);
        put_u16(&mut out, self.next_index);
        put_count(&mut out, self.indexes.len());
        for index in &self.indexes {
            put_u16(&mut out, index.id.0);
            put_name(&mut out, &index.name);
            out.push(if index.is_unique { UNIQUE } else { 0 });
            put_columns(&mut out, &index.columns);
        }
        if !self.notes.is_empty() {
            let Ok(bytes) = u32::try_from(self.notes.len()) else { panic!("notes beyond their limit") };
            out.extend(bytes.to_le_bytes());
            out.extend(self.notes.as_bytes());
        }
        out
    }

    /// Returns the schema that `bytes` encode.
    pub fn decode(bytes: &[u8]) -> Result<Schema, SchemaError> {
        let mut reader = Reader { bytes, position: 0 };
        let found = reader.u16()?;
        if found > FORMAT {
            return Err(SchemaError::UnknownFormat { found, known: FORMAT });
        }
        if found == 0 {
            return Err(reader.corrupt("format 0"));
        }
        let name = reader.name()?;
        let columns = reader.list(Reader::column)?;
        let primary_key = reader.list(Reader::column_id)?;
        let next_index = reader.u16()?;
        let indexes = reader.list(Reader::index)?;
        let notes = if found == FORMAT_WITHOUT_NOTES { String::new() } else { reader.notes()? };
        if reader.position != bytes.len() {
            return Err(reader.corrupt("bytes follow its end"));
        }
        let schema = Schema { name, columns, primary_key, indexes, next_index, notes };
        schema.check()?;
        let ids = || schema.indexes.iter().map(|index| index.id.0);
        if !ids().is_sorted_by(|a, b| a < b) || ids().any(|id| id >= next_index) {
            return Err(reader.corrupt("index numbers are out of order"));
        }
        Ok(schema)
    }
}

fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend(value.to_le_bytes());
}

/// A length within the limits that [`Schema::check`] keeps, all of which are below 2^16.
fn put_count(out: &mut Vec<u8>, count: usize) {
    let Ok(count) = u16::try_from(count) else { panic!("a schema beyond its limits: {count} items") };
    put_u16(out, count);
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    put_count(out, name.len());
    out.extend(name.as_bytes());
}

fn put_columns(out: &mut Vec<u8>, columns: &[ColumnId]) {
    put_count(out, columns.len());
    columns.iter().for_each(|column| put_u16(out, column.0));
}

/// Tag, precision and scale.
fn type_to_bytes(ty: Type) -> [u8; 3] {
    match ty {
        Type::Bool => [1, 0, 0],
        Type::Int16 => [2, 0, 0],
        Type::Int32 => [3, 0, 0],
        Type::Int64 => [4, 0, 0],
        Type::Float64 => [5, 0, 0],
        Type::Numeric { precision, scale } => [6, precision, scale],
        Type::Text => [7, 0, 0],
        Type::Bytes => [8, 0, 0],
        Type::Timestamp => [9, 0, 0],
    }
}

fn type_from_bytes(bytes: [u8; 3]) -> Option<Type> {
    Some(match bytes {
        [1, 0, 0] => Type::Bool,
        [2, 0, 0] => Type::Int16,
        [3, 0, 0] => Type::Int32,
        [4, 0, 0] => Type::Int64,
        [5, 0, 0] => Type::Float64,
        [6, precision, scale] => Type::Numeric { precision, scale },
        [7, 0, 0] => Type::Text,
        [8, 0, 0] => Type::Bytes,
        [9, 0, 0] => Type::Timestamp,
        _ => return None,
    })
}

struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    fn corrupt(&self, what: &str) -> SchemaError {
        SchemaError::CorruptSchema { reason: format!("{what} at byte {} of {}", self.position, self.bytes.len()) }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], SchemaError> {
        let taken = self.bytes[self.position..].get(..count).ok_or_else(|| self.corrupt("it ends too early"))?;
        self.position += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SchemaError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u16(&mut self) -> Result<u16, SchemaError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    fn notes(&mut self) -> Result<String, SchemaError> {
        let count = u32::from_le_bytes(self.array()?) as usize;
        let notes = self.take(count)?.to_vec();
        match String::from_utf8(notes) {
            Ok(notes) if !notes.is_empty() => Ok(notes),
            _ => Err(self.corrupt("notes that are empty or no UTF-8")),
        }
    }

    fn flag(&mut self, known: u8) -> Result<bool, SchemaError> {
        match self.array()? {
            [0] => Ok(false),
            [flag] if flag == known => Ok(true),
            [flag] => Err(self.corrupt(&format!("unknown flags {flag:#x}"))),
        }
    }

    fn name(&mut self) -> Result<String, SchemaError> {
        let length = self.u16()?;
        let bytes = self.take(length.into())?;
        let name = std::str::from_utf8(bytes).map_err(|_| self.corrupt("a name that is not UTF-8"))?;
        Ok(name.to_owned())
    }

    /// A count and that many items. Nothing is reserved for a count: it may be corrupt.
    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, SchemaError>) -> Result<Vec<T>, SchemaError> {
        let count = self.u16()?;
        (0..count).map(|_| item(self)).collect()
    }

    fn column(&mut self) -> Result<Column, SchemaError> {
        let name = self.name()?;
        let ty = self.array()?;
        let ty =
            type_from_bytes(ty).ok_or_else(|| self.corrupt(&format!("column {name} has the unknown type {ty:?}")))?;
        Ok(Column { name, ty, is_nullable: self.flag(NULLABLE)? })
    }

    fn column_id(&mut self) -> Result<ColumnId, SchemaError> {
        self.u16().map(ColumnId)
    }

    fn index(&mut self) -> Result<Index, SchemaError> {
        let id = IndexId(self.u16()?);
        let name = self.name()?;
        let is_unique = self.flag(UNIQUE)?;
        Ok(Index { id, name, columns: self.list(Reader::column_id)?, is_unique })
    }
}
