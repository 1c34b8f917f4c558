//! Schemas as bytes, for the catalog (docs/row-format.md).
//!
//! Invariants:
//! - Decoding reads within bounds, takes exactly the bytes that encoding gives, and lets nothing pass that the builder
//!   would refuse: `decode(encode(s)) == s`, and any other bytes are an error.
//! - The first two bytes are the format; every later program reads the formats of earlier ones.
//!
//! Deliberately absent: a checksum. A schema lies in a row of the catalog, and the log's records have one.

use super::error::SchemaError;
use super::schema::{Column, ColumnId, Group, Index, IndexId, Place, Schema};
use super::value::Type;

/// The latest format: schemas with a layout of rows are written in it.
const FORMAT: u16 = 3;
/// The format with notes alone.
const FORMAT_WITH_NOTES: u16 = 2;
/// The format without notes: other schemas are written in it, so that an earlier program reads them.
const FORMAT_WITHOUT_NOTES: u16 = 1;

/// The flag of a column that takes NULL.
const NULLABLE: u8 = 1;
/// The flag of an index that takes one row per key.
const UNIQUE: u8 = 1;
const PARTIAL: u8 = 2;

/// The kinds of places in rows.
const COLUMN: u8 = 0;
const COLUMN_WITH_NULL: u8 = 1;
const NULL: u8 = 2;
const GONE: u8 = 3;
const GONE_WITH_NULL: u8 = 4;
const GONE_NULL: u8 = 5;

impl Schema {
    /// Returns the schema as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + 32 * self.columns.len());
        let format = match (self.layout.is_empty(), self.notes.is_empty()) {
            (false, _) => FORMAT,
            (true, false) => FORMAT_WITH_NOTES,
            (true, true) => FORMAT_WITHOUT_NOTES,
        };
        put_u16(&mut out, format);
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
            let (unique, partial) = (u8::from(index.is_unique) * UNIQUE, u8::from(index.is_partial) * PARTIAL);
            out.push(unique | partial);
            put_columns(&mut out, &index.columns);
        }
        if format >= FORMAT_WITH_NOTES {
            put_bytes(&mut out, self.notes.as_bytes());
        }
        if format >= FORMAT {
            put_count(&mut out, self.layout.len());
            for group in &self.layout {
                put_count(&mut out, group.places.len());
                group.places.iter().for_each(|place| put_place(&mut out, *place));
                put_bytes(&mut out, &group.missing);
            }
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
        let notes = if found == FORMAT_WITHOUT_NOTES { String::new() } else { reader.notes(found)? };
        let layout = if found < FORMAT { Vec::new() } else { reader.list(Reader::group)? };
        if reader.position != bytes.len() {
            return Err(reader.corrupt("bytes follow its end"));
        }
        if found == FORMAT && layout.is_empty() {
            return Err(reader.corrupt("no layout"));
        }
        let schema = Schema { name, columns, layout, primary_key, indexes, next_index, notes };
        schema.check()?;
        schema.check_missing()?;
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

fn put_place(out: &mut Vec<u8>, place: Place) {
    match place {
        Place::Column { column, has_null_bit } => {
            out.push(if has_null_bit { COLUMN_WITH_NULL } else { COLUMN });
            put_u16(out, column.0);
        }
        Place::Null(column) => {
            out.push(NULL);
            put_u16(out, column.0);
        }
        Place::Gone(Some((ty, has_null_bit))) => {
            out.push(if has_null_bit { GONE_WITH_NULL } else { GONE });
            out.extend(type_to_bytes(ty));
        }
        Place::Gone(None) => out.push(GONE_NULL),
    }
}

/// Bytes within the limits that [`Schema::check`] keeps.
fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let Ok(count) = u32::try_from(bytes.len()) else { panic!("a schema beyond its limits: {} bytes", bytes.len()) };
    out.extend(count.to_le_bytes());
    out.extend(bytes);
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

    fn bytes(&mut self) -> Result<Vec<u8>, SchemaError> {
        let count = u32::from_le_bytes(self.array()?) as usize;
        self.take(count).map(<[u8]>::to_vec)
    }

    fn notes(&mut self, format: u16) -> Result<String, SchemaError> {
        match String::from_utf8(self.bytes()?) {
            Ok(notes) if format > FORMAT_WITH_NOTES || !notes.is_empty() => Ok(notes),
            _ => Err(self.corrupt("notes that are empty or no UTF-8")),
        }
    }

    /// Flags, of which these are known.
    fn flags(&mut self, known: u8) -> Result<u8, SchemaError> {
        match self.array()? {
            [flags] if flags & !known == 0 => Ok(flags),
            [flags] => Err(self.corrupt(&format!("unknown flags {flags:#x}"))),
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
        let ty = self.ty()?;
        Ok(Column { name, ty, is_nullable: self.flags(NULLABLE)? == NULLABLE })
    }

    fn column_id(&mut self) -> Result<ColumnId, SchemaError> {
        self.u16().map(ColumnId)
    }

    fn group(&mut self) -> Result<Group, SchemaError> {
        Ok(Group { places: self.list(Reader::place)?, missing: self.bytes()? })
    }

    fn place(&mut self) -> Result<Place, SchemaError> {
        let [kind] = self.array()?;
        Ok(match kind {
            COLUMN | COLUMN_WITH_NULL => {
                Place::Column { column: self.column_id()?, has_null_bit: kind == COLUMN_WITH_NULL }
            }
            NULL => Place::Null(self.column_id()?),
            GONE | GONE_WITH_NULL => Place::Gone(Some((self.ty()?, kind == GONE_WITH_NULL))),
            GONE_NULL => Place::Gone(None),
            kind => return Err(self.corrupt(&format!("a place of the unknown kind {kind}"))),
        })
    }

    fn ty(&mut self) -> Result<Type, SchemaError> {
        let ty = self.array()?;
        type_from_bytes(ty).ok_or_else(|| self.corrupt(&format!("the unknown type {ty:?}")))
    }

    fn index(&mut self) -> Result<Index, SchemaError> {
        let id = IndexId(self.u16()?);
        let name = self.name()?;
        let flags = self.flags(UNIQUE | PARTIAL)?;
        let (is_unique, is_partial) = (flags & UNIQUE != 0, flags & PARTIAL != 0);
        Ok(Index { id, name, columns: self.list(Reader::column_id)?, is_unique, is_partial })
    }
}
