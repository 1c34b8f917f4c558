//! Where one column lies in the bytes of its group of columns (docs/row-format.md), and how its value is put there.
//!
//! Invariant: all functions take bytes that begin with the group; nothing here looks beyond the column.

use std::ops::Range;

use super::bounds::COLUMNS_MAX;
use super::value::{Type, Value, numeric_fits};

/// The width of an end offset, in bytes.
pub(super) const END_BYTES: usize = 4;
/// [`Slot::null_bit`] of a column without one.
const NO_NULL_BIT: u16 = u16::MAX;
/// [`Slot::begin`] of a column that begins where the one before it ends.
const BEHIND: u32 = 0;

/// The most bytes of a fixed column.
const FIXED_BYTES_MAX: usize = 8;

/// Where one column lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) ty: Type,
    /// The number of the group: 0 is the one that every row has.
    pub(super) group: u16,
    /// Whether NULL is a value of the column.
    pub(super) takes_null: bool,
    /// The group with the bit that says NULL; the column's own where there is none.
    pub(super) null_group: u16,
    null_bit: u16,
    /// Fixed columns: where the value begins. Variable ones: where its end offset is.
    offset: u32,
    /// Of a group's first variable column: where it begins.
    begin: u32,
}

impl Slot {
    /// A place in group `group`, without a bit for NULL. A variable column that is the group's first one begins at `begin`.
    pub(super) fn new(ty: Type, group: u16, offset: usize, begin: Option<usize>) -> Slot {
        let begin = begin.map_or(BEHIND, to_u32);
        let offset = to_u32(offset);
        Slot { ty, group, takes_null: false, null_group: group, null_bit: NO_NULL_BIT, offset, begin }
    }

    /// The same with a bit for NULL.
    pub(super) fn with_null(self, null_group: u16, null_bit: u16, takes_null: bool) -> Slot {
        Slot { null_group, null_bit, takes_null, ..self }
    }

    #[inline]
    pub(super) fn is_variable(&self) -> bool {
        matches!(self.ty, Type::Text | Type::Bytes)
    }

    #[inline]
    pub(super) fn takes(&self, value: Value<'_>) -> bool {
        if value.is_null() { self.takes_null } else { self.ty.admit(value).is_ok() }
    }

    /// Where the value lies.
    #[inline]
    pub(super) fn range(&self, bytes: &[u8]) -> Range<usize> {
        let offset = self.offset as usize;
        match self.ty.width() {
            Some(width) => offset..offset + width,
            None if self.begin == BEHIND => get_end(bytes, offset - END_BYTES)..get_end(bytes, offset),
            None => self.begin as usize..get_end(bytes, offset),
        }
    }

    /// Whether it is NULL, by the bytes of the group with its bit.
    #[inline]
    pub(super) fn is_null(&self, bytes: &[u8]) -> bool {
        self.null_bit != NO_NULL_BIT && bytes[usize::from(self.null_bit) / 8] & (1 << (self.null_bit % 8)) != 0
    }

    /// Whether the column holds `value`, which it takes, leaving aside whether it is NULL; floats are compared by their bits.
    pub(super) fn holds(&self, bytes: &[u8], value: Value<'_>) -> bool {
        let held = &bytes[self.range(bytes)];
        match self.ty.width() {
            None => held == variable_bytes(value),
            Some(width) => {
                let mut fixed = [0; FIXED_BYTES_MAX];
                Slot { offset: 0, ..*self }.put_fixed(&mut fixed, value);
                *held == fixed[..width]
            }
        }
    }

    /// Says whether a value is NULL, in the group with its bit; a column without one has no place for that.
    #[inline]
    pub(super) fn put_null(&self, out: &mut [u8], is_null: bool) {
        if self.null_bit != NO_NULL_BIT {
            let byte = &mut out[usize::from(self.null_bit) / 8];
            let bit = 1 << (self.null_bit % 8);
            *byte = if is_null { *byte | bit } else { *byte & !bit };
        } else {
            assert!(!is_null, "NULL for a column that does not take it: an unchecked value");
        }
    }

    /// Writes where a variable column ends, which was checked to fit.
    #[inline]
    pub(super) fn put_end(&self, out: &mut [u8], end: usize) {
        put(out, self.offset as usize, (end as u32).to_le_bytes());
    }

    /// Writes a fixed column.
    #[inline]
    pub(super) fn put_fixed(&self, out: &mut [u8], value: Value<'_>) {
        let offset = self.offset as usize;
        match (self.ty, value) {
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

    /// Whether `value`, the bytes of the column, are what encoding gives where it is NULL or not.
    #[inline]
    pub(super) fn check(&self, value: &[u8], is_null: bool, is_ascii: bool) -> Result<(), &'static str> {
        if is_null {
            let is_empty = value.iter().all(|byte| *byte == 0) && (self.ty.width().is_some() || value.is_empty());
            return if is_empty { Ok(()) } else { Err("it is NULL and has a value") };
        }
        match self.ty {
            Type::Bool if value[0] > 1 => Err("it is neither true nor false"),
            Type::Numeric { precision, .. } if !numeric_fits(i64::from_le_bytes(array(value)), precision) => {
                Err("it has more digits than its precision")
            }
            Type::Text if !is_ascii && std::str::from_utf8(value).is_err() => Err("it is not UTF-8"),
            _ => Ok(()),
        }
    }
}

fn to_u32(offset: usize) -> u32 {
    match u32::try_from(offset) {
        Ok(offset) => offset,
        Err(_) => panic!("{COLUMNS_MAX} columns cannot reach offset {offset}"),
    }
}

/// The bytes that a value adds to the variable part.
#[inline]
pub(super) fn variable_bytes<'a>(value: Value<'a>) -> &'a [u8] {
    match value {
        Value::Text(text) => text.as_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => &[],
    }
}

#[inline]
fn put<const N: usize>(out: &mut [u8], offset: usize, array: [u8; N]) {
    out[offset..offset + N].copy_from_slice(&array);
}

#[inline]
pub(super) fn get_end(bytes: &[u8], offset: usize) -> usize {
    u32::from_le_bytes(array(&bytes[offset..offset + END_BYTES])) as usize
}

/// Returns the bytes of a fixed column, whose width its type gives.
#[inline]
pub(super) fn array<const N: usize>(raw: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(raw);
    array
}
