//! Records whose values the engine takes as they were sent: no value of SQL is made of them.
//!
//! Most data is so. Whatever is unusual in a record, an error above all, is left to the general way, which says what is wrong.

use osier::table::Value;
use smallvec::SmallVec;

use super::split::Fields;
use super::{Format, Options};
use crate::catalog::relation::Column;
use crate::plan::Rules;
use crate::settings::Settings;
use crate::types::{Declared, Type};
use crate::value::storage::{self, Stored};
use crate::value::text::{int_range, without_nul};
use crate::value::{self, fitting_text};

/// The values of a record. More are kept with an allocation.
pub(crate) type Values<'v> = SmallVec<[Value<'v>; 16]>;

/// Whether records may be taken so: nothing but their types says what becomes of them.
pub(crate) fn is_possible(columns: &[Column], options: &Options, rules: &Rules) -> bool {
    let Rules { generated, checks, keys, view_checks } = rules;
    options.format != Format::Binary
        && options.force_null.is_empty()
        && options.force_not_null.is_empty()
        && generated.is_empty()
        && checks.is_empty()
        && keys.is_none()
        && view_checks.is_empty()
        && columns.iter().all(|column| is_plain(column.declared.ty))
}

/// Whether values of a type are texts, or have a fixed width.
fn is_plain(ty: Type) -> bool {
    is_text(ty)
        || matches!(ty, Type::Bool | Type::Int2 | Type::Int4 | Type::Int8 | Type::Float4 | Type::Float8)
        || matches!(ty, Type::Numeric | Type::Date | Type::Time | Type::Timestamp | Type::Timestamptz)
}

fn is_text(ty: Type) -> bool {
    matches!(ty, Type::Text | Type::Varchar | Type::Char)
}

/// Returns the values of a record; `None` where something about it is unusual.
pub(crate) fn values<'f>(columns: &[Column], fields: Fields<'f>, settings: &Settings) -> Option<Values<'f>> {
    if fields.len() != columns.len() {
        return None;
    }
    let mut values = Values::new();
    for (column, field) in columns.iter().zip(fields.iter()) {
        values.push(match field {
            None if column.is_nullable => Value::Null,
            None => return None,
            Some(bytes) => match plain_int(bytes, column.declared.ty) {
                Some(number) => Value::Int(number),
                None => value(std::str::from_utf8(bytes).ok()?, column.declared, settings)?,
            },
        });
    }
    Some(values)
}

/// The integer that bytes are, where they are its digits alone.
fn plain_int(bytes: &[u8], ty: Type) -> Option<i64> {
    // So many never overflow.
    const DIGITS_MAX: usize = 18;
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    if !matches!(ty, Type::Int2 | Type::Int4 | Type::Int8) || digits.is_empty() || digits.len() > DIGITS_MAX {
        return None;
    }
    let mut number = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + i64::from(digit);
    }
    let number = if digits.len() < bytes.len() { -number } else { number };
    let (least, greatest) = int_range(ty);
    (least..=greatest).contains(&number).then_some(number)
}

fn value<'t>(text: &'t str, declared: Declared, settings: &Settings) -> Option<Value<'t>> {
    if is_text(declared.ty) {
        return Some(Value::Text(fitting_text(without_nul(text).ok()?, declared, false).ok()?));
    }
    let datum = value::parse(text, declared, settings).ok()?;
    match storage::store(&datum, declared, &mut Vec::new()).ok()? {
        Stored::Value(Value::Bool(value)) => Some(Value::Bool(value)),
        Stored::Value(Value::Int(value)) => Some(Value::Int(value)),
        Stored::Value(Value::Float(value)) => Some(Value::Float(value)),
        Stored::Value(Value::Numeric(value)) => Some(Value::Numeric(value)),
        Stored::Value(Value::Timestamp(value)) => Some(Value::Timestamp(value)),
        _ => None,
    }
}
