//! The blanks at the end of a `char(n)`, which its values do not have: where they matter, they are added.
//!
//! To most functions they do not: they take a `text`, and a `char(n)` becomes one without them.

use super::Binder;
use super::scope::Typed;
use crate::datum::Datum;
use crate::error::Result;
use crate::expr::Expr;
use crate::types::{Modifier, Type};

/// Whether the function with a name takes values as they are shown.
pub(super) fn matter_to(name: &str) -> bool {
    matches!(
        name,
        "octet_length"
            | "concat"
            | "concat_ws"
            | "format"
            | "to_json"
            | "to_jsonb"
            | "json_build_array"
            | "jsonb_build_array"
            | "json_build_object"
            | "jsonb_build_object"
            | "json_agg"
            | "jsonb_agg"
            | "json_object_agg"
            | "jsonb_object_agg"
    )
}

impl Binder<'_> {
    /// A `char(n)` as a text with its blanks, for a parameter of a type; anything else as it is.
    pub(super) fn padded(&self, value: Typed, parameter: &mut Type) -> Result<Typed> {
        let (Type::Char, Modifier::Length(length)) = (value.declared.ty, value.declared.modifier) else {
            return Ok(value);
        };
        if *parameter == Type::Char {
            *parameter = Type::Text;
        }
        let length = Typed::new(Expr::Constant(Datum::Int(length.into())), Type::Int4);
        self.apply("rpad", vec![Typed::new(value.expr, Type::Text), length])
    }
}
