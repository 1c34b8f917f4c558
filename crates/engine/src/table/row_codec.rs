//! Rows as bytes (docs/row-format.md): null bits, fixed columns, end offsets, variable columns.
//!
//! Invariants:
//! - Equal values, equal bytes: a NULL column holds zeros or nothing, unused bits are zero, offsets have no gaps. So
//!   patching a row gives the bytes that encoding its new values would.
//! - Every column lies at an offset known from the schema, or between two offsets that do: reading one is O(1).
//! - Encoding writes every byte of its buffer and allocates nothing; the lengths are computed, and the values checked,
//!   beforehand. Writing to a buffer of another length is a defect and panics.
//! - Bytes that passed [`RowCodec::check`] never make a reader panic for what they hold.
//!
//! Deliberately absent: alignment (unaligned loads cost nothing here), compression, a format number per row (rows live in
//! records of the log, whose segments have one).

use std::ops::Range;
use std::sync::Arc;

use super::bounds::COLUMNS_MAX;
use super::error::SchemaError;
use super::schema::{ColumnId, Schema, column_id_at};
use super::value::{Type, Value, numeric_fits};

/// The width of an end offset, in bytes.
const END_BYTES: usize = 4;
/// [`ColumnSlot::null_bit`] of a column that does not take NULL.
const NO_NULL_BIT: u16 = u16::MAX;

/// Where one column lies in a row.
#[derive(Clone, Copy, Debug)]
struct ColumnSlot {
    ty: Type,
    /// The bit that says NULL.
    null_bit: u16,
    /// Fixed columns: where the value begins. Variable ones: where its end offset is.
    offset: u32,
}

impl ColumnSlot {
    #[inline]
    fn is_variable(&self) -> bool {
        matches!(self.ty, Type::Text | Type::Bytes)
    }

    #[inline]
    fn takes(&self, value: Value<'_>) -> bool {
        if value.is_null() { self.null_bit != NO_NULL_BIT } else { self.ty.admit(value).is_ok() }
    }
}

/// How the rows of one schema are encoded, worked out once.
#[derive(Debug)]
pub struct RowCodec {
    schema: Arc<Schema>,
    slots: Vec<ColumnSlot>,
    /// The variable columns, in order.
    variable: Vec<ColumnId>,
    /// The bytes of the null bits.
    null_bytes: usize,
    null_bits: usize,
    /// Where the end offsets begin, which is where the fixed columns end.
    ends: usize,
    /// Where the variable columns begin; all of a row without any.
    head: usize,
}

impl RowCodec {
    /// Returns the codec of `schema`.
    pub fn new(schema: Arc<Schema>) -> RowCodec {
        let columns = schema.columns();
        assert!(columns.len() <= COLUMNS_MAX, "table {} was built beyond its limits", schema.name());
        let null_bits = columns.iter().filter(|column| column.is_nullable()).count();
        let null_bytes = null_bits.div_ceil(8);
        let ends = null_bytes + columns.iter().filter_map(|column| column.ty().width()).sum::<usize>();
        let (mut fixed, mut end, mut null_bit) = (null_bytes, ends, 0);
        let mut slots = Vec::with_capacity(columns.len());
        let mut variable = Vec::new();
        for (position, column) in columns.iter().enumerate() {
            let bit = if column.is_nullable() { null_bit } else { NO_NULL_BIT };
            null_bit += u16::from(column.is_nullable());
            let width = column.ty().width();
            let next = if width.is_some() { &mut fixed } else { &mut end };
            slots.push(ColumnSlot { ty: column.ty(), null_bit: bit, offset: offset_to_u32(*next) });
            *next += width.unwrap_or(END_BYTES);
            if width.is_none() {
                variable.push(column_id_at(position));
            }
        }
        assert_eq!(fixed, ends, "the fixed columns of table {} do not fill their part", schema.name());
        RowCodec { slots, variable, null_bytes, null_bits, ends, head: end, schema }
    }

    /// Returns the schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Checks one value per column and returns the bytes that the row will take.
    pub fn encoded_len(&self, values: &[Value<'_>]) -> Result<usize, SchemaError> {
        if values.len() != self.slots.len() {
            let (table, object) = (self.schema.name().to_owned(), "a row".to_owned());
            return Err(SchemaError::WrongCount { table, object, expected: self.slots.len(), found: values.len() });
        }
        let mut bytes = self.head;
        for (position, (slot, value)) in self.slots.iter().zip(values).enumerate() {
            if !slot.takes(*value) {
                return Err(self.refused(column_id_at(position), *value));
            }
            bytes += variable_bytes(*value).len();
        }
        self.check_len(bytes)
    }

    /// Encodes values that [`RowCodec::encoded_len`] passed into a buffer of the length it returned.
    ///
    /// # Panics
    /// Where the buffer has another length.
    pub fn encode_into(&self, values: &[Value<'_>], out: &mut [u8]) {
        assert_eq!(values.len(), self.slots.len(), "unchecked values for table {}", self.schema.name());
        let (head, mut rest) = out.split_at_mut(self.head);
        head[..self.null_bytes].fill(0);
        let mut end = self.head;
        for (slot, value) in self.slots.iter().zip(values) {
            if value.is_null() {
                set_null(head, slot, true);
            }
            if slot.is_variable() {
                let bytes = variable_bytes(*value);
                let (place, after) = rest.split_at_mut(bytes.len());
                place.copy_from_slice(bytes);
                rest = after;
                end += bytes.len();
                put_end(head, slot.offset as usize, end);
            } else {
                put_fixed(head, slot, *value);
            }
        }
        assert!(rest.is_empty(), "a row of table {} was encoded into too long a buffer", self.schema.name());
    }

    /// Checks and encodes into a vector.
    pub fn encode(&self, values: &[Value<'_>]) -> Result<Vec<u8>, SchemaError> {
        let mut out = vec![0; self.encoded_len(values)?];
        self.encode_into(values, &mut out);
        Ok(out)
    }

    /// Checks the changes of some columns of the row `old` and returns the bytes that the new row will take.
    pub fn patched_len(&self, old: &[u8], changes: &[(ColumnId, Value<'_>)]) -> Result<usize, SchemaError> {
        let mut seen = [0_u64; COLUMNS_MAX.div_ceil(64)];
        let (mut added, mut removed) = (0, 0);
        for (column, value) in changes {
            let position = usize::from(column.0);
            let Some(slot) = self.slots.get(position) else {
                return Err(self.schema.unknown_column(format!("with number {column}")));
            };
            if !slot.takes(*value) {
                return Err(self.refused(*column, *value));
            }
            let bit = 1 << (position % 64);
            if seen[position / 64] & bit != 0 {
                let (table, column) = (self.schema.name().to_owned(), self.schema.column(*column).name().to_owned());
                return Err(SchemaError::RepeatedChange { table, column });
            }
            seen[position / 64] |= bit;
            if slot.is_variable() {
                added += variable_bytes(*value).len();
                removed += self.variable_range(old, slot).len();
            }
        }
        self.check_len(old.len() + added - removed)
    }

    /// Encodes the row `old` with changes that [`RowCodec::patched_len`] passed into a buffer of the length it returned.
    ///
    /// # Panics
    /// Where the buffer has another length.
    pub fn patch_into(&self, old: &[u8], changes: &[(ColumnId, Value<'_>)], out: &mut [u8]) {
        let keeps_lengths = out.len() == old.len() && {
            out.copy_from_slice(old);
            changes.iter().all(|(column, value)| self.overwrite(out, *column, *value))
        };
        if !keeps_lengths {
            out[..self.ends].copy_from_slice(&old[..self.ends]);
            self.patch_variable(old, changes, out);
            for (column, value) in changes {
                let slot = &self.slots[usize::from(column.0)];
                set_null_where_possible(out, slot, value.is_null());
                if !slot.is_variable() {
                    put_fixed(out, slot, *value);
                }
            }
        }
    }

    /// Changes one column of the row `out` where that keeps its length; `false` where it does not.
    #[inline]
    fn overwrite(&self, out: &mut [u8], column: ColumnId, value: Value<'_>) -> bool {
        let slot = &self.slots[usize::from(column.0)];
        if slot.is_variable() {
            let range = self.variable_range(out, slot);
            let place = &mut out[range];
            let bytes = variable_bytes(value);
            if place.len() != bytes.len() {
                return false;
            }
            place.copy_from_slice(bytes);
        } else {
            put_fixed(out, slot, value);
        }
        set_null_where_possible(out, slot, value.is_null());
        true
    }

    /// Writes all end offsets and variable columns; unchanged neighbours are copied together.
    fn patch_variable(&self, old: &[u8], changes: &[(ColumnId, Value<'_>)], out: &mut [u8]) {
        const UNCHANGED: u16 = u16::MAX;
        let mut change_of = [UNCHANGED; COLUMNS_MAX];
        for (position, (column, _)) in (0..).zip(changes) {
            change_of[usize::from(column.0)] = position;
        }
        let (mut end, mut run) = (self.head, self.head..self.head);
        for column in &self.variable {
            let slot = &self.slots[usize::from(column.0)];
            let range = self.variable_range(old, slot);
            let change = change_of[usize::from(column.0)];
            if change == UNCHANGED {
                run.end = range.end;
                put_end(out, slot.offset as usize, end + run.len());
                continue;
            }
            out[end..end + run.len()].copy_from_slice(&old[run.clone()]);
            end += run.len();
            let bytes = variable_bytes(changes[usize::from(change)].1);
            out[end..end + bytes.len()].copy_from_slice(bytes);
            end += bytes.len();
            put_end(out, slot.offset as usize, end);
            run = range.end..range.end;
        }
        out[end..].copy_from_slice(&old[run]);
    }

    /// Says whether `bytes` are a row of this schema: exactly what encoding some values gives.
    pub fn check(&self, bytes: &[u8]) -> Result<(), SchemaError> {
        if bytes.len() < self.head {
            return Err(self.corrupt(None, &format!("it has {} bytes of at least {}", bytes.len(), self.head)));
        }
        for bit in self.null_bits..self.null_bytes * 8 {
            if bytes[bit / 8] & (1 << (bit % 8)) != 0 {
                return Err(self.corrupt(None, "it has a null bit of no column"));
            }
        }
        // Most texts are ASCII; looking at all of them at once is several times faster than at each.
        let is_ascii = bytes[self.head..].is_ascii();
        let mut start = self.head;
        for (position, slot) in self.slots.iter().enumerate() {
            let range = match slot.ty.width() {
                Some(width) => slot.offset as usize..slot.offset as usize + width,
                None => start..get_end(bytes, slot.offset as usize),
            };
            let Some(value) = bytes.get(range.clone()) else {
                return Err(self.corrupt(Some(position), "its offsets are outside the row"));
            };
            if let Err(what) = check_bytes(slot, value, is_null(bytes, slot), is_ascii) {
                return Err(self.corrupt(Some(position), what));
            }
            if slot.ty.width().is_none() {
                start = range.end;
            }
        }
        if start != bytes.len() {
            return Err(self.corrupt(None, &format!("its columns end at byte {start} of {}", bytes.len())));
        }
        Ok(())
    }

    /// Why a column does not take a value.
    #[cold]
    fn refused(&self, column: ColumnId, value: Value<'_>) -> SchemaError {
        match self.schema.check_value(column, value) {
            Err(error) => error,
            Ok(()) => panic!("{} was refused for column {column} of table {}", value.kind(), self.schema.name()),
        }
    }

    #[cold]
    fn corrupt(&self, column: Option<usize>, what: &str) -> SchemaError {
        let column = column.map(|position| self.schema.columns()[position].name());
        let reason = column.map_or_else(|| what.to_owned(), |name| format!("column {name}: {what}"));
        SchemaError::CorruptRow { table: self.schema.name().to_owned(), reason }
    }

    fn check_len(&self, bytes: usize) -> Result<usize, SchemaError> {
        if u32::try_from(bytes).is_err() {
            return Err(SchemaError::RowTooLong { table: self.schema.name().to_owned(), bytes });
        }
        Ok(bytes)
    }

    /// Returns how many columns there are.
    pub(super) fn columns(&self) -> usize {
        self.slots.len()
    }

    /// Returns the type of a column, `None` where it is NULL in `bytes`.
    ///
    /// # Panics
    /// Where the table has no such column.
    #[inline]
    pub(super) fn present(&self, bytes: &[u8], column: ColumnId) -> Option<Type> {
        let slot = self.slot(column);
        if is_null(bytes, slot) { None } else { Some(slot.ty) }
    }

    /// Returns where a column lies in `bytes`, without its end offset; a fixed column lies there in every row.
    #[inline]
    pub(crate) fn range(&self, bytes: &[u8], column: ColumnId) -> Range<usize> {
        let slot = self.slot(column);
        match slot.ty.width() {
            Some(width) => slot.offset as usize..slot.offset as usize + width,
            None => self.variable_range(bytes, slot),
        }
    }

    #[inline]
    fn slot(&self, column: ColumnId) -> &ColumnSlot {
        match self.slots.get(usize::from(column.0)) {
            Some(slot) => slot,
            None => panic!("table {} has no column {column}", self.schema.name()),
        }
    }

    /// Where a variable column lies in the row `bytes`.
    #[inline]
    fn variable_range(&self, bytes: &[u8], slot: &ColumnSlot) -> Range<usize> {
        let end = slot.offset as usize;
        let start = if end == self.ends { self.head } else { get_end(bytes, end - END_BYTES) };
        start..get_end(bytes, end)
    }
}

fn offset_to_u32(offset: usize) -> u32 {
    match u32::try_from(offset) {
        Ok(offset) => offset,
        Err(_) => panic!("{COLUMNS_MAX} columns cannot reach offset {offset}"),
    }
}

/// The bytes that a value adds to the variable part.
#[inline]
fn variable_bytes<'a>(value: Value<'a>) -> &'a [u8] {
    match value {
        Value::Text(text) => text.as_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => &[],
    }
}

#[inline]
fn get<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[offset..offset + N]);
    array
}

#[inline]
fn put<const N: usize>(out: &mut [u8], offset: usize, array: [u8; N]) {
    out[offset..offset + N].copy_from_slice(&array);
}

#[inline]
fn get_end(bytes: &[u8], offset: usize) -> usize {
    u32::from_le_bytes(get(bytes, offset)) as usize
}

/// `end` is at most the row's length, which was checked to fit.
#[inline]
fn put_end(out: &mut [u8], offset: usize, end: usize) {
    put(out, offset, (end as u32).to_le_bytes());
}

#[inline]
fn is_null(bytes: &[u8], slot: &ColumnSlot) -> bool {
    slot.null_bit != NO_NULL_BIT && bytes[usize::from(slot.null_bit) / 8] & (1 << (slot.null_bit % 8)) != 0
}

#[inline]
fn set_null(out: &mut [u8], slot: &ColumnSlot, is_null: bool) {
    assert_ne!(slot.null_bit, NO_NULL_BIT, "NULL for a column that does not take it: an unchecked value");
    let byte = &mut out[usize::from(slot.null_bit) / 8];
    let bit = 1 << (slot.null_bit % 8);
    *byte = if is_null { *byte | bit } else { *byte & !bit };
}

#[inline]
fn set_null_where_possible(out: &mut [u8], slot: &ColumnSlot, is_null: bool) {
    if slot.null_bit != NO_NULL_BIT {
        set_null(out, slot, is_null);
    }
}

#[inline]
fn put_fixed(out: &mut [u8], slot: &ColumnSlot, value: Value<'_>) {
    let offset = slot.offset as usize;
    match (slot.ty, value) {
        (Type::Bool, Value::Bool(value)) => put(out, offset, [u8::from(value)]),
        (Type::Int16, Value::Int(value)) => put(out, offset, (value as i16).to_le_bytes()),
        (Type::Int32, Value::Int(value)) => put(out, offset, (value as i32).to_le_bytes()),
        (Type::Int64, Value::Int(value))
        | (Type::Numeric { .. }, Value::Numeric(value))
        | (Type::Timestamp, Value::Timestamp(value)) => put(out, offset, value.to_le_bytes()),
        (Type::Float64, Value::Float(value)) => put(out, offset, value.to_bits().to_le_bytes()),
        (ty, Value::Null) => out[offset..offset + ty.width().unwrap_or(0)].fill(0),
        (ty, value) => panic!("an unchecked {} value for a column of type {ty}", value.kind()),
    }
}

/// Whether the bytes of one column are what encoding gives.
#[inline]
fn check_bytes(slot: &ColumnSlot, bytes: &[u8], is_null: bool, is_ascii: bool) -> Result<(), &'static str> {
    if is_null {
        let is_empty = bytes.iter().all(|byte| *byte == 0) && (slot.ty.width().is_some() || bytes.is_empty());
        return if is_empty { Ok(()) } else { Err("it is NULL and has a value") };
    }
    match slot.ty {
        Type::Bool if bytes[0] > 1 => Err("it is neither true nor false"),
        Type::Numeric { precision, .. } if !numeric_fits(i64::from_le_bytes(get(bytes, 0)), precision) => {
            Err("it has more digits than its precision")
        }
        Type::Text if !is_ascii && std::str::from_utf8(bytes).is_err() => Err("it is not UTF-8"),
        _ => Ok(()),
    }
}
