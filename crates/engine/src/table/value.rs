//! Values and their types.
//!
//! Invariants:
//! - `Ord` on [`Value`] is the order of encoded keys: NULL before everything, text and bytes bytewise (the C collation),
//!   float8 as PostgreSQL orders it: `-0.0` equals `0.0`, NaN equals itself and is greater than every number.
//! - A value belongs to a type or is refused; nothing is converted silently. Conversions are the business of SQL.
//!
//! Deliberately absent: collations other than C, time zones, numerics of more than 18 digits.

use std::cmp::Ordering;
use std::fmt;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `boolean`, takes [`Value::Bool`].
    Bool,
    /// `smallint`, takes [`Value::Int`].
    Int16,
    /// `integer`, takes [`Value::Int`].
    Int32,
    /// `bigint`, takes [`Value::Int`].
    Int64,
    /// `double precision`, takes [`Value::Float`].
    Float64,
    /// `numeric(precision, scale)`, takes [`Value::Numeric`].
    Numeric {
        /// Decimal digits altogether, 1 to [`Type::PRECISION_MAX`].
        precision: u8,
        /// Decimal digits after the point, at most `precision`.
        scale: u8,
    },
    /// `text`: UTF-8, compared bytewise; takes [`Value::Text`].
    Text,
    /// `bytea`, takes [`Value::Bytes`].
    Bytes,
    /// `timestamp`, takes [`Value::Timestamp`].
    Timestamp,
}

/// Why a type does not take a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The value is of another kind.
    Kind,
    /// The kind is right, the number too large.
    Range,
}

impl Type {
    /// Whether a column can be of the type: the digits of a numeric fit.
    pub(super) fn is_sound(self) -> bool {
        match self {
            Type::Numeric { precision, scale } => (1..=Type::PRECISION_MAX).contains(&precision) && scale <= precision,
            _ => true,
        }
    }

    /// The largest precision of a numeric: what fits in 64 bits.
    pub const PRECISION_MAX: u8 = 18;

    /// Returns the bytes that every value of the type takes in a row and, at least, in a key; `None` where they vary.
    pub fn width(self) -> Option<usize> {
        match self {
            Type::Bool => Some(1),
            Type::Int16 => Some(2),
            Type::Int32 => Some(4),
            Type::Int64 | Type::Float64 | Type::Numeric { .. } | Type::Timestamp => Some(8),
            Type::Text | Type::Bytes => None,
        }
    }

    /// Whether the type takes `value`. NULL is the column's business and counts as another kind here.
    #[inline]
    pub(super) fn admit(self, value: Value<'_>) -> Result<(), Refusal> {
        let fits = match (self, value) {
            (Type::Bool, Value::Bool(_))
            | (Type::Int64, Value::Int(_))
            | (Type::Float64, Value::Float(_))
            | (Type::Text, Value::Text(_))
            | (Type::Bytes, Value::Bytes(_))
            | (Type::Timestamp, Value::Timestamp(_)) => true,
            (Type::Int16, Value::Int(int)) => i16::try_from(int).is_ok(),
            (Type::Int32, Value::Int(int)) => i32::try_from(int).is_ok(),
            (Type::Numeric { precision, .. }, Value::Numeric(units)) => numeric_fits(units, precision),
            _ => return Err(Refusal::Kind),
        };
        if fits { Ok(()) } else { Err(Refusal::Range) }
    }

    /// Whether the type takes `value`, which is not NULL.
    pub(crate) fn takes(self, value: Value<'_>) -> bool {
        self.admit(value).is_ok()
    }

    /// Returns what shows a value of this type as SQL would.
    pub(crate) fn shown<'v>(self, value: Value<'v>) -> impl fmt::Display + use<'v> {
        fmt::from_fn(move |f| self.show(value, f))
    }

    /// Writes a value of this type as SQL would show it.
    pub(super) fn show(self, value: Value<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, value) {
            (Type::Numeric { scale, .. }, Value::Numeric(units)) if scale > 0 => {
                let unit = 10_u64.pow(scale.into());
                let sign = if units < 0 { "-" } else { "" };
                let (whole, rest) = (units.unsigned_abs() / unit, units.unsigned_abs() % unit);
                write!(f, "{sign}{whole}.{rest:0digits$}", digits = usize::from(scale))
            }
            (_, value) => write!(f, "{value}"),
        }
    }
}

/// Whether `units` has at most `precision` decimal digits.
pub(super) fn numeric_fits(units: i64, precision: u8) -> bool {
    assert!(precision <= Type::PRECISION_MAX, "a schema with numeric precision {precision} was built");
    units.unsigned_abs() < 10_u64.pow(precision.into())
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Bool => "boolean",
            Type::Int16 => "smallint",
            Type::Int32 => "integer",
            Type::Int64 => "bigint",
            Type::Float64 => "double precision",
            Type::Numeric { precision, scale } => return write!(f, "numeric({precision},{scale})"),
            Type::Text => "text",
            Type::Bytes => "bytea",
            Type::Timestamp => "timestamp",
        })
    }
}

/// One value, borrowing its text or bytes.
// The tag takes a word of its own: a value that was written in smaller pieces is copied by loads that wait for all of these
// stores.
#[repr(u64)]
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// SQL's NULL. As a key it equals itself and precedes everything.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer of any width.
    Int(i64),
    /// A float8.
    Float(f64),
    /// A numeric, in units of 10^-scale of its column: 1.50 in a `numeric(5,2)` is 150.
    Numeric(i64),
    /// A text.
    Text(&'a str),
    /// A byte string.
    Bytes(&'a [u8]),
    /// Microseconds since 1970-01-01 00:00:00.
    Timestamp(i64),
}

impl Value<'_> {
    /// Whether this is [`Value::Null`].
    pub fn is_null(self) -> bool {
        matches!(self, Value::Null)
    }

    /// Returns what the value is, for messages.
    pub fn kind(self) -> &'static str {
        match self {
            Value::Null => "NULL",
            Value::Bool(_) => "boolean",
            Value::Int(_) => "integer",
            Value::Float(_) => "float",
            Value::Numeric(_) => "numeric",
            Value::Text(_) => "text",
            Value::Bytes(_) => "bytes",
            Value::Timestamp(_) => "timestamp",
        }
    }

    /// The position of the kind in the order of values: only there to make the order total.
    fn rank(self) -> u8 {
        match self {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::Int(_) => 2,
            Value::Float(_) => 3,
            Value::Numeric(_) => 4,
            Value::Text(_) => 5,
            Value::Bytes(_) => 6,
            Value::Timestamp(_) => 7,
        }
    }
}

/// A float8 as an integer that orders as PostgreSQL orders floats: one zero, one NaN, NaN last.
#[inline]
pub(super) fn float_to_ordered(float: f64) -> u64 {
    let bits = if float.is_nan() {
        f64::NAN.to_bits() & !SIGN
    } else if float == 0.0 {
        0
    } else {
        float.to_bits()
    };
    // Negative numbers order by descending magnitude and come first.
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// Returns the inverse of [`float_to_ordered`], up to the sign of zero and the payload of NaN.
#[inline]
pub(super) fn float_from_ordered(ordered: u64) -> f64 {
    f64::from_bits(if ordered & SIGN == 0 { !ordered } else { ordered & !SIGN })
}

const SIGN: u64 = 1 << 63;

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value<'_> {}

impl PartialOrd for Value<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Int(a), Value::Int(b))
            | (Value::Numeric(a), Value::Numeric(b))
            | (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => float_to_ordered(*a).cmp(&float_to_ordered(*b)),
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) | Value::Numeric(value) | Value::Timestamp(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value}"),
            Value::Text(value) => write!(f, "'{}'", value.replace('\'', "''")),
            Value::Bytes(value) => {
                f.write_str("'\\x")?;
                value.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
        }
    }
}

macro_rules! from {
    ($($inner:ty => $variant:ident),* $(,)?) => {
        $(impl From<$inner> for Value<'_> {
            fn from(value: $inner) -> Self {
                Value::$variant(value.into())
            }
        })*
    };
}

from!(bool => Bool, i16 => Int, i32 => Int, i64 => Int, u8 => Int, u16 => Int, u32 => Int, f64 => Float);

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(value)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Value::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Value::Bytes(value)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}
