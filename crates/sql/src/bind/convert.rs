//! Conversions that an expression needs, and the type that several of them share.

use super::Binder;
use super::scope::Typed;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::{Cast, Expr};
use crate::types::{Declared, Modifier, Type};
use crate::value::{self, Conversion};

impl Binder<'_> {
    /// Makes an expression one of another type, where the place allows that.
    pub(crate) fn convert(&self, input: Typed, to: impl Into<Declared>, place: Conversion) -> Result<Expr> {
        let to = to.into();
        let from = input.declared.ty;
        if from == Type::Unknown {
            return self.convert_unknown(input.expr, to, place);
        }
        let is_same = from == to.ty;
        let fits = to.modifier == Modifier::None || (is_same && input.declared.modifier == to.modifier);
        if is_same && fits || matches!(input.expr, Expr::Constant(Datum::Null)) {
            return Ok(input.expr);
        }
        if !is_same && value::conversion(from, to.ty).is_none_or(|allowed| allowed > place) {
            return Err(self.no_conversion(from, to.ty, place));
        }
        if fits && is_same_value(from, to.ty) {
            return Ok(input.expr);
        }
        let is_explicit = place == Conversion::Explicit;
        if let Expr::Constant(value) = input.expr {
            return Ok(Expr::Constant(value::cast(value, from, to, is_explicit, self.settings)?));
        }
        Ok(Expr::Cast(Box::new(Cast { input: input.expr, from, to, is_explicit })))
    }

    /// Gives a literal or a parameter without a type one.
    fn convert_unknown(&self, expr: Expr, to: Declared, place: Conversion) -> Result<Expr> {
        match expr {
            Expr::Constant(Datum::Null) => Ok(Expr::NULL),
            Expr::Constant(Datum::Text(text)) if to.ty == Type::Unknown => Ok(Expr::Constant(Datum::Text(text))),
            Expr::Constant(Datum::Text(text)) if to.ty.is_string() || to.ty == Type::Text => {
                let value =
                    value::cast(Datum::Text(text), Type::Text, to, place == Conversion::Explicit, self.settings);
                Ok(Expr::Constant(value?))
            }
            Expr::Constant(Datum::Text(text)) if to.ty == Type::RegClass => self.relation_number(&text),
            Expr::Constant(Datum::Text(text)) => Ok(Expr::Constant(value::parse(&text, to, self.settings)?)),
            Expr::Parameter(at) => {
                let known = self.parameters.borrow()[at];
                if known == Type::Unknown && to.ty != Type::Unknown {
                    self.parameters.borrow_mut()[at] = to.ty;
                    let typed = Typed::new(Expr::Parameter(at), to.ty);
                    return self.convert(typed, to, place);
                }
                if known == Type::Unknown {
                    return Ok(Expr::Parameter(at));
                }
                self.convert(Typed::new(Expr::Parameter(at), known), to, place)
            }
            // A text of which only the query knew that it was a literal.
            expr if to.ty == Type::Unknown => Ok(expr),
            expr => self.convert(Typed::new(expr, Type::Text), to, Conversion::Explicit),
        }
    }

    /// The number of the table that a text names. The name of a sequence stays as it is: functions of sequences take names.
    fn relation_number(&self, text: &str) -> Result<Expr> {
        if let Ok(number) = text.parse::<u32>() {
            return Ok(Expr::Constant(Datum::Int(number.into())));
        }
        let parts = crate::parse::object_name(text)?;
        let object: Vec<sqlparser::ast::Ident> =
            parts.into_iter().map(|part| sqlparser::ast::Ident::with_quote('"', part)).collect();
        match self.find_relation(&object.into())? {
            Some(relation) => Ok(Expr::Constant(Datum::Int(relation.oid().into()))),
            None => Ok(Expr::Constant(Datum::text(text))),
        }
    }

    fn no_conversion(&self, from: Type, to: Type, place: Conversion) -> SqlError {
        match place {
            Conversion::Explicit => SqlError::new(SqlState::CannotCoerce, format!("cannot cast type {from} to {to}")),
            _ => SqlError::new(SqlState::DatatypeMismatch, format!("expression is of type {from}, and {to} is needed"))
                .with_hint("You will need to rewrite or cast the expression."),
        }
    }

    /// Makes a value of a column's type, as an assignment does.
    pub(crate) fn assign(&self, input: Typed, name: &str, to: Declared) -> Result<Expr> {
        let from = input.declared.ty;
        self.convert(input, to, Conversion::Assignment).map_err(|error| match error.state {
            SqlState::DatatypeMismatch => {
                let message = format!("column \"{name}\" is of type {} but expression is of type {from}", to.ty);
                SqlError::new(SqlState::DatatypeMismatch, message)
                    .with_hint("You will need to rewrite or cast the expression.")
            }
            _ => error,
        })
    }

    /// The type that the parts of `what` have in common (PostgreSQL, section 10.5).
    pub(crate) fn common_type(&self, what: &str, types: impl Iterator<Item = Type>) -> Result<Type> {
        let mut common = Type::Unknown;
        for ty in types {
            if ty == Type::Unknown || ty == common {
                continue;
            }
            if common == Type::Unknown {
                common = ty;
                continue;
            }
            if common.category() != ty.category() {
                let message = format!("{what} types {common} and {ty} cannot be matched");
                return Err(SqlError::new(SqlState::DatatypeMismatch, message));
            }
            let is_implicit = |from, to| value::conversion(from, to) == Some(Conversion::Implicit);
            if is_implicit(common, ty) && !is_implicit(ty, common) {
                common = ty;
            }
        }
        Ok(if common == Type::Unknown { Type::Text } else { common })
    }

    /// Makes all of `parts` one type, which is returned.
    pub(crate) fn unify(&self, what: &str, parts: Vec<Typed>) -> Result<(Vec<Expr>, Declared)> {
        let common = self.common_type(what, parts.iter().map(|part| part.declared.ty))?;
        let first = parts.first().map(|part| part.declared);
        let is_alike = parts.iter().all(|part| Some(part.declared) == first);
        let exprs = parts.into_iter().map(|part| self.convert(part, common, Conversion::Implicit));
        let declared = first.filter(|first| is_alike && first.ty == common).unwrap_or(common.into());
        Ok((exprs.collect::<Result<_>>()?, declared))
    }
}

/// Whether every value of one type is the same datum in the other one.
fn is_same_value(from: Type, to: Type) -> bool {
    let is_number = |ty| matches!(ty, Type::Int2 | Type::Int4 | Type::Int8);
    match (from, to) {
        (Type::Int2, Type::Int4 | Type::Int8) | (Type::Int4, Type::Int8) => true,
        (Type::Oid | Type::RegClass | Type::RegType | Type::RegProc, to) if to == Type::Oid || is_number(to) => {
            to != Type::Int4 && to != Type::Int2
        }
        (from, Type::Text) => from.is_string(),
        (Type::Text, Type::Varchar) | (Type::Float4, Type::Float8) => true,
        _ => false,
    }
}
