//! Comparisons of two values of a type.
//!
//! Invariant: they order as [`Datum`] does, because the sort and the indexes do so too.

use std::collections::HashSet;

use super::argument::elements;
use super::functions;
use crate::datum::Datum;
use crate::datum::Datum::Bool;

/// The six comparisons of pairs of types.
macro_rules! comparisons {
    ($($left:ident $right:ident),* $(,)?) => {
        functions! {
            /// The comparisons.
            OPERATORS: $(
                "=" ($left, $right) -> Bool = |_, a| Ok(Bool(a[0] == a[1]));
                "<>" ($left, $right) -> Bool = |_, a| Ok(Bool(a[0] != a[1]));
                "<" ($left, $right) -> Bool = |_, a| Ok(Bool(a[0] < a[1]));
                "<=" ($left, $right) -> Bool = |_, a| Ok(Bool(a[0] <= a[1]));
                ">" ($left, $right) -> Bool = |_, a| Ok(Bool(a[0] > a[1]));
                ">=" ($left, $right) -> Bool = |_, a| Ok(Bool(a[0] >= a[1]));
            )*
        }
    };
}

comparisons! {
    Bool Bool, Int2 Int2, Int2 Int4, Int2 Int8, Int4 Int2, Int4 Int4, Int4 Int8, Int8 Int2, Int8 Int4, Int8 Int8,
    Float4 Float4, Float4 Float8, Float8 Float4, Float8 Float8, Numeric Numeric,
    Text Text, Char Char, Name Name, Name Text, Text Name, InternalChar InternalChar, Bytea Bytea,
    Date Date, Time Time, Timestamp Timestamp, Timestamptz Timestamptz, Interval Interval,
    Inet Inet, MacAddr MacAddr, Uuid Uuid, Jsonb Jsonb, Oid Oid, AnyArray AnyArray, AnyEnum AnyEnum, Record Record,
}

/// Whether two intervals of time share a moment, as `OVERLAPS` has it. Their ends may be in either order.
pub(super) fn overlaps(a: &[Datum]) -> Datum {
    let span =
        |from: &Datum, to: &Datum| if from <= to { (from.clone(), to.clone()) } else { (to.clone(), from.clone()) };
    if a.iter().any(Datum::is_null) {
        return Datum::Null;
    }
    let ((from, to), (other_from, other_to)) = (span(&a[0], &a[1]), span(&a[2], &a[3]));
    let (first_to, second_from) = if from <= other_from { (to, other_from.clone()) } else { (other_to, from.clone()) };
    Bool(from == other_from || second_from < first_to)
}

/// For so many comparisons of elements a table is not worth its making.
pub(super) const FEW_COMPARISONS: usize = 1_000;

/// Whether each element of the second array is one of the first.
pub(super) fn contains(outer: &Datum, inner: &Datum) -> bool {
    let (outer, inner) = (elements(outer), elements(inner));
    if outer.len().saturating_mul(inner.len()) <= FEW_COMPARISONS {
        return inner.iter().all(|element| !element.is_null() && outer.contains(element));
    }
    let outer: HashSet<&Datum> = outer.iter().collect();
    inner.iter().all(|element| !element.is_null() && outer.contains(element))
}
