//! Values while a statement runs.
//!
//! Invariants:
//! - A datum has no type of its own: whoever has one knows its [`Type`](crate::types::Type). Types share a variant where their
//!   values are alike: all integers and numbers of the catalog are [`Datum::Int`], `real` is a [`Datum::Float`] that a 32-bit
//!   float can hold, `varchar`, `char`, `name` and `json` are [`Datum::Text`].
//! - `Ord` is the order of SQL within a type, with NULL behind everything, as PostgreSQL sorts it. Values that are equal have the
//!   same hash.
//! - To clone one copies no text.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::enumeration::Label;
use crate::record::Record;
use crate::value::interval::Interval;
use crate::value::network::Network;
use crate::value::numeric::Numeric;

/// One value.
#[derive(Clone, Debug)]
pub enum Datum {
    /// NULL.
    Null,
    /// `boolean`.
    Bool(bool),
    /// `smallint`, `integer`, `bigint`, and the numbers of the catalog.
    Int(i64),
    /// `real` and `double precision`.
    Float(f64),
    /// `numeric`.
    Numeric(Arc<Numeric>),
    /// Character strings, and `json`. A `char(n)` holds no blanks at its end: they are added where it is shown.
    Text(Arc<str>),
    /// `bytea`.
    Bytes(Arc<[u8]>),
    /// `date`: days since 1970-01-01.
    Date(i32),
    /// `time`: microseconds since midnight, up to 24:00.
    Time(i64),
    /// `timestamp` and `timestamptz`: microseconds since 1970-01-01 00:00:00, of the latter in UTC. The least and the greatest
    /// number are `-infinity` and `infinity`.
    Timestamp(i64),
    /// `interval`.
    Interval(Interval),
    /// `uuid`.
    Uuid([u8; 16]),
    /// `inet` and `cidr`.
    Network(Network),
    /// `macaddr`.
    MacAddr([u8; 6]),
    /// A value of an enumeration.
    Enum(&'static Label),
    /// `jsonb`.
    Jsonb(Arc<serde_json::Value>),
    /// An array of one dimension; its first element has number 1.
    Array(Arc<[Datum]>),
    /// A row.
    Record(Arc<Record>),
}

impl Datum {
    /// Makes a text.
    pub fn text(text: impl Into<Arc<str>>) -> Datum {
        Datum::Text(text.into())
    }

    /// Makes a row of values that have no names.
    pub fn record(fields: Vec<Datum>) -> Datum {
        Datum::Record(Arc::new(fields.into()))
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// Whether it is true, and not false or NULL.
    pub fn is_true(&self) -> bool {
        matches!(self, Datum::Bool(true))
    }

    /// Compares as SQL does: `None` where one of them is NULL.
    pub fn compare(&self, other: &Datum) -> Option<Ordering> {
        (!self.is_null() && !other.is_null()).then(|| self.cmp(other))
    }

    /// The position of the variant, to make the order total.
    fn rank(&self) -> u8 {
        match self {
            Datum::Bool(_) => 0,
            Datum::Int(_) => 1,
            Datum::Float(_) => 2,
            Datum::Numeric(_) => 3,
            Datum::Text(_) => 4,
            Datum::Bytes(_) => 5,
            Datum::Date(_) => 6,
            Datum::Time(_) => 7,
            Datum::Timestamp(_) => 8,
            Datum::Interval(_) => 9,
            Datum::Uuid(_) => 10,
            Datum::Jsonb(_) => 11,
            Datum::Array(_) => 12,
            Datum::Record(_) => 13,
            Datum::Enum(_) => 14,
            Datum::Network(_) => 15,
            Datum::MacAddr(_) => 16,
            Datum::Null => 17,
        }
    }
}

/// A float as a number that orders as PostgreSQL orders floats: one zero, one NaN, NaN last.
fn ordered(float: f64) -> i64 {
    let float = if float.is_nan() { f64::NAN.abs() } else { float + 0.0 };
    let bits = float.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

impl PartialEq for Datum {
    fn eq(&self, other: &Datum) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Datum {}

impl PartialOrd for Datum {
    fn partial_cmp(&self, other: &Datum) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Datum {
    fn cmp(&self, other: &Datum) -> Ordering {
        match (self, other) {
            (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
            (Datum::Int(a), Datum::Int(b))
            | (Datum::Time(a), Datum::Time(b))
            | (Datum::Timestamp(a), Datum::Timestamp(b)) => a.cmp(b),
            (Datum::Float(a), Datum::Float(b)) => ordered(*a).cmp(&ordered(*b)),
            (Datum::Numeric(a), Datum::Numeric(b)) => a.cmp(b),
            (Datum::Text(a), Datum::Text(b)) => a.cmp(b),
            (Datum::Bytes(a), Datum::Bytes(b)) => a.cmp(b),
            (Datum::Date(a), Datum::Date(b)) => a.cmp(b),
            (Datum::Interval(a), Datum::Interval(b)) => a.cmp(b),
            (Datum::Uuid(a), Datum::Uuid(b)) => a.cmp(b),
            (Datum::Network(a), Datum::Network(b)) => a.cmp(b),
            (Datum::MacAddr(a), Datum::MacAddr(b)) => a.cmp(b),
            (Datum::Enum(a), Datum::Enum(b)) => a.order().cmp(&b.order()),
            (Datum::Jsonb(a), Datum::Jsonb(b)) => crate::value::json::compare(a, b),
            (Datum::Array(a), Datum::Array(b)) => a.cmp(b),
            (Datum::Record(a), Datum::Record(b)) => a[..].cmp(&b[..]),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl Hash for Datum {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            Datum::Null => {}
            Datum::Bool(value) => value.hash(state),
            Datum::Int(value) | Datum::Time(value) | Datum::Timestamp(value) => value.hash(state),
            Datum::Float(value) => ordered(*value).hash(state),
            Datum::Numeric(value) => value.hash(state),
            Datum::Text(value) => value.hash(state),
            Datum::Bytes(value) => value.hash(state),
            Datum::Date(value) => value.hash(state),
            Datum::Interval(value) => value.hash(state),
            Datum::Uuid(value) => value.hash(state),
            Datum::Network(value) => value.hash(state),
            Datum::MacAddr(value) => value.hash(state),
            Datum::Enum(label) => label.order().hash(state),
            Datum::Jsonb(value) => crate::value::json::hash(value, state),
            Datum::Array(values) => values.hash(state),
            Datum::Record(fields) => fields[..].hash(state),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_order_as_postgresql_orders_them() {
        let floats = [f64::NEG_INFINITY, -1.5, -1.0, 0.0, 1.0, 1.5, f64::INFINITY, f64::NAN];
        assert!(floats.map(Datum::Float).is_sorted_by(|a, b| a < b));
        assert_eq!(Datum::Float(-0.0), Datum::Float(0.0));
        assert_eq!(Datum::Float(-f64::NAN), Datum::Float(f64::NAN));
        assert!(Datum::Null > Datum::Float(f64::NAN), "NULL is last");
    }
}
