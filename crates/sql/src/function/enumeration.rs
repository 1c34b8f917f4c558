//! Functions of enumerations.

use super::{Call, functions};
use crate::datum::Datum;
use crate::error::Result;
use crate::types::Type;

functions! {
    /// What tells of the labels of a type. The value of the argument may be NULL: its type is what counts.
    FUNCTIONS:
    "enum_first" (AnyEnum) -> AnyElement [lax stable] = |call, _| Ok(end(call, |labels| labels.first()));
    "enum_last" (AnyEnum) -> AnyElement [lax stable] = |call, _| Ok(end(call, |labels| labels.last()));
    "enum_range" (AnyEnum) -> AnyArray [lax stable] = |call, _| range(call, &Datum::Null, &Datum::Null);
    "enum_range" (AnyEnum, AnyEnum) -> AnyArray [lax stable] = |call, a| range(call, &a[0], &a[1]);
}

fn labels(call: &Call<'_>) -> Vec<Datum> {
    match call.types[0] {
        Type::Enum(own) => own.labels().iter().map(|label| Datum::Enum(label)).collect(),
        _ => Vec::new(),
    }
}

/// The first label, or the last one; NULL of a type without labels.
fn end(call: &Call<'_>, which: impl Fn(&[Datum]) -> Option<&Datum>) -> Datum {
    which(&labels(call)).cloned().unwrap_or(Datum::Null)
}

/// The labels from one to another one, with NULL from the first, or to the last one.
fn range(call: &Call<'_>, from: &Datum, to: &Datum) -> Result<Datum> {
    let is_within = |label: &Datum| (from.is_null() || from <= label) && (to.is_null() || label <= to);
    Ok(Datum::Array(labels(call).into_iter().filter(is_within).collect()))
}
