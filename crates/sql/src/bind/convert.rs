//! Conversions that an expression needs, and the type that several of them share.

use super::query::Bound;
use super::scope::Typed;
use super::{Binder, OutColumn};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::{Cast, Expr};
use crate::plan::Plan;
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
        if from.is_registered() && to.ty.is_string() {
            let shown = self.apply(&format!("{from} out"), vec![input])?;
            return self.convert(shown, to, place);
        }
        if from.is_string() && to.ty.is_registered() {
            return Ok(self.apply(&format!("{} in", to.ty), vec![input])?.expr);
        }
        if fits && is_same_value(from, to.ty) {
            return Ok(input.expr);
        }
        if to.ty == Type::Bytea && from == Type::Char && input.declared.modifier != Modifier::None {
            let mut shown = Type::Char;
            return self.convert(self.padded(input, &mut shown)?, to, place);
        }
        let is_explicit = place == Conversion::Explicit;
        // What is kept is converted when it runs, unless all who run it get the same.
        let is_read_now = !self.is_kept() || value::is_immutable(from, to.ty);
        match input.expr {
            Expr::Constant(value) if is_read_now => {
                Ok(Expr::Constant(value::cast(value, from, to, is_explicit, self.settings)?))
            }
            input => Ok(Expr::Cast(Box::new(Cast { input, from, to, is_explicit }))),
        }
    }

    /// Gives a literal or a parameter without a type one.
    fn convert_unknown(&self, expr: Expr, to: Declared, place: Conversion) -> Result<Expr> {
        match expr {
            Expr::Constant(Datum::Null) => Ok(Expr::NULL),
            Expr::Constant(Datum::Text(text)) if to.ty == Type::Unknown => Ok(Expr::Constant(Datum::Text(text))),
            Expr::Constant(Datum::Text(text)) if to.ty.is_string() || to.ty == Type::Text => {
                self.literal_means(&text, to.ty, place, || text.to_string());
                let value =
                    value::cast(Datum::Text(text), Type::Text, to, place == Conversion::Explicit, self.settings);
                Ok(Expr::Constant(value?))
            }
            Expr::Constant(Datum::Text(text)) if to.ty.is_registered() => self.registered(Datum::Text(text), to.ty),
            Expr::Constant(Datum::Text(text)) => Ok(Expr::Constant(self.read_literal(&text, to, place)?)),
            Expr::Parameter(at) => {
                let known = self.parameters.borrow()[at];
                // Its value may be a name, which is looked up when the statement runs.
                let wanted = if to.ty.is_registered() { Type::Text.into() } else { to };
                if known == Type::Unknown && to.ty != Type::Unknown {
                    self.parameters.borrow_mut()[at] = wanted.ty;
                    let typed = Typed::new(Expr::Parameter(at), wanted.ty);
                    let place = if wanted.ty == to.ty { place } else { Conversion::Explicit };
                    return self.convert(typed, to, place);
                }
                if known == Type::Unknown {
                    return Ok(Expr::Parameter(at));
                }
                self.convert(Typed::new(Expr::Parameter(at), known), to, place)
            }
            // A text of which only the query knew that it was a literal.
            expr if to.ty == Type::Unknown => Ok(expr),
            expr if place == Conversion::Explicit || to.ty.is_registered() => {
                self.reads_late(to.ty);
                self.convert(Typed::new(expr, Type::Text), to, Conversion::Explicit)
            }
            // It is read as the literal would be, and fits, or is refused: only who asks for a length gets a part of it.
            expr if to.ty == Type::Text => Ok(expr),
            input => {
                self.reads_late(to.ty);
                Ok(Expr::Cast(Box::new(Cast { input, from: Type::Text, to, is_explicit: false })))
            }
        }
    }

    /// The number of what a text names in the catalog, which is looked up when the statement runs.
    fn registered(&self, text: Datum, ty: Type) -> Result<Expr> {
        let is_number = matches!(&text, Datum::Text(text) if text.parse::<u32>().is_ok() || &**text == "-");
        if is_number && let Datum::Text(text) = &text {
            return Ok(Expr::Constant(value::parse(text, ty.into(), self.settings)?));
        }
        let name = Typed::new(Expr::Constant(text), Type::Text);
        Ok(self.apply(&format!("{ty} in"), vec![name])?.expr)
    }

    /// The rows of a query as clients see them: numbers of the catalog have their names beside them.
    pub(crate) fn shown(&self, bound: Bound) -> Result<Bound> {
        if bound.columns.iter().all(|column| !column.declared.ty.is_registered()) {
            return Ok(bound);
        }
        let show = |(at, column): (usize, &OutColumn)| {
            let typed = Typed::new(Expr::Column(at), column.declared);
            match column.declared.ty {
                ty if ty.is_registered() => Ok(self.apply(&format!("{ty} shown"), vec![typed])?.expr),
                _ => Ok(typed.expr),
            }
        };
        let exprs = bound.columns.iter().enumerate().map(show).collect::<Result<_>>()?;
        Ok(Bound { plan: Plan::Project(Box::new(bound.plan), exprs), columns: bound.columns })
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
        let convert = |part: Typed| {
            let from = part.declared.ty;
            self.convert(part, common, Conversion::Implicit).map_err(|error| match error.state {
                SqlState::DatatypeMismatch => {
                    SqlError::new(SqlState::CannotCoerce, format!("{what} could not convert type {from} to {common}"))
                }
                _ => error,
            })
        };
        let exprs = parts.into_iter().map(convert);
        let declared = first.filter(|first| is_alike && first.ty == common).unwrap_or(common.into());
        Ok((exprs.collect::<Result<_>>()?, declared))
    }
}

/// Whether every value of one type is the same datum in the other one.
fn is_same_value(from: Type, to: Type) -> bool {
    match (from, to) {
        (Type::Int2, Type::Int4 | Type::Int8) | (Type::Int4, Type::Int8) => true,
        (from, to) if from == Type::Oid || from.is_registered() => to == Type::Oid || to == Type::Int8,
        (from, Type::Array(to)) if from.is_vector() => from.element() == Some(*to),
        (Type::Cidr, Type::Inet) => true,
        (from, Type::Text) => from.is_string(),
        (Type::Text, Type::Varchar) | (Type::Float4, Type::Float8) => true,
        _ => false,
    }
}
