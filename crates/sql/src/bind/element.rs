//! Subscripts of arrays and of `jsonb`: elements that are read, and elements that are assigned.

use sqlparser::ast::{self, AccessExpr, Subscript};

use super::Binder;
use super::scope::{Level, Typed};
use super::view::Target;
use super::write::{Given, expect_updatable, is_default};
use crate::catalog::relation::Column;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::parse;
use crate::types::{Declared, Type};
use crate::value::Conversion;

/// What is assigned to the columns of a table.
#[derive(Default)]
pub(super) struct Assigned {
    pub(super) columns: Vec<(usize, Expr)>,
    /// The columns of which elements are assigned, one after the other.
    in_parts: Vec<usize>,
}

impl Binder<'_> {
    /// Assigns a value to a column, or to an element of it.
    pub(super) fn assign_to(
        &self,
        target: &Target,
        at: usize,
        given: Given<'_>,
        level: &Level<'_>,
        assigned: &mut Assigned,
    ) -> Result<()> {
        let column = &target.relation.columns[at];
        let Assigned { columns, in_parts } = assigned;
        let known = columns.iter().position(|(known, _)| *known == at);
        let element = if let Given::Written(expr) = &given { parse::elements::assigned(expr) } else { None };
        if let Some(element) = element.filter(|_| known.is_none() || in_parts.contains(&at)) {
            refuse_other(column, element.1)?;
            let before = known.map_or_else(|| target.columns[at].expr.clone(), |known| columns.remove(known).1);
            columns.push((at, self.assigned_element(column, before, element, level)?));
            in_parts.push(at);
            return Ok(());
        }
        if known.is_some() {
            let message = format!("multiple assignments to same column \"{}\"", column.name);
            return Err(SqlError::new(SqlState::SyntaxError, message));
        }
        columns.push((at, self.given_value(&target.relation, at, given, level)?));
        Ok(())
    }

    /// A subscript of a value, or a slice.
    pub(super) fn subscript(&self, value: Typed, subscript: &Subscript, level: &Level<'_>) -> Result<Typed> {
        let ty = value.declared.ty;
        let index = |expr: &ast::Expr| self.index(expr, level);
        match (subscript, ty.element()) {
            (Subscript::Index { index: at }, _) if ty == Type::Jsonb => {
                let step = self.step(at, level)?.0;
                // Steps go on where those before them have ended.
                if let Expr::Call(call) = &value.expr
                    && call.function.name == "#>"
                    && let [of, Expr::Array(path)] = &call.arguments[..]
                {
                    let path = path.iter().cloned().chain([step]).collect();
                    let path = Typed::new(Expr::Array(path), Type::Array(&Type::Text));
                    return self.operate("#>", Typed::new(of.clone(), Type::Jsonb), path);
                }
                self.operate("#>", value, Typed::new(Expr::Array(vec![step]), Type::Array(&Type::Text)))
            }
            (Subscript::Slice { lower_bound, .. }, _) if ty == Type::Jsonb => Err(no_slices(lower_bound.as_ref())),
            (Subscript::Index { index: at }, Some(element)) if ty.is_vector() => {
                let one = Typed::new(Expr::Constant(Datum::Int(1)), Type::Int4);
                let at = self.operate("+", Typed::new(index(at)?, Type::Int4), one)?;
                Ok(Typed::new(Expr::Subscript(Box::new((value.expr, at.expr))), element))
            }
            (Subscript::Index { index: at }, Some(element)) => {
                Ok(Typed::new(Expr::Subscript(Box::new((value.expr, index(at)?))), element))
            }
            (Subscript::Slice { lower_bound, upper_bound, stride: None }, Some(_)) => {
                let from = lower_bound.as_ref().map(index).transpose()?;
                let to = upper_bound.as_ref().map(index).transpose()?;
                Ok(Typed::new(Expr::Slice(Box::new((value.expr, from, to))), value.declared))
            }
            (_, None) => Err(not_subscripted(ty)),
            (Subscript::Slice { .. }, Some(_)) => Err(SqlError::unsupported("a slice with a stride")),
        }
    }

    /// The subscript of an array.
    fn index(&self, expr: &ast::Expr, level: &Level<'_>) -> Result<Expr> {
        self.convert(self.expr(expr, level)?, Type::Int4, Conversion::Assignment)
    }

    /// A subscript of a `jsonb` as text, and whether it is a number.
    fn step(&self, expr: &ast::Expr, level: &Level<'_>) -> Result<(Expr, bool)> {
        let typed = self.expr(expr, level)?;
        let ty = typed.declared.ty;
        let becomes = |to: Type| crate::value::conversion(ty, to) == Some(Conversion::Implicit);
        let (is_number, is_text) = (becomes(Type::Int4), becomes(Type::Text));
        if ty != Type::Unknown && is_number == is_text {
            let hint = match is_text {
                true => "jsonb subscript must be coercible to only one type, integer or text.",
                false => "jsonb subscript must be coercible to either integer or text.",
            };
            let message = format!("subscript type {ty} is not supported");
            return Err(SqlError::new(SqlState::DatatypeMismatch, message).with_hint(hint).at_node(expr));
        }
        let is_number = is_number && ty != Type::Unknown;
        let step = if is_number {
            Typed::new(self.convert(typed, Type::Int4, Conversion::Implicit)?, Type::Int4)
        } else {
            typed
        };
        Ok((self.convert(step, Type::Text, Conversion::Explicit)?, is_number))
    }

    /// The value of a column of which one element is assigned.
    fn assigned_element(
        &self,
        column: &Column,
        before: Expr,
        (chain, value): (&[AccessExpr], &ast::Expr),
        level: &Level<'_>,
    ) -> Result<Expr> {
        let declared = column.declared;
        let mut indexes = Vec::with_capacity(chain.len());
        for access in chain {
            match access {
                AccessExpr::Subscript(Subscript::Index { index }) => indexes.push(index),
                AccessExpr::Subscript(Subscript::Slice { lower_bound, .. }) if declared.ty == Type::Jsonb => {
                    return Err(no_slices(lower_bound.as_ref()));
                }
                _ => return Err(SqlError::unsupported("an assignment to a slice or a field of a column")),
            }
        }
        let element = match declared.ty {
            Type::Jsonb => declared,
            Type::Array(element) => Declared { ty: *element, modifier: declared.modifier },
            ty => return Err(not_subscripted(ty)),
        };
        let typed = self.expr(value, level)?;
        let from = typed.declared.ty;
        let new = self.convert(typed, element, Conversion::Assignment).map_err(|error| match error.state {
            SqlState::DatatypeMismatch => {
                let message = format!(
                    "subscripted assignment to \"{}\" requires type {} but expression is of type {from}",
                    column.name, element.ty
                );
                SqlError::new(SqlState::DatatypeMismatch, message)
                    .with_hint("You will need to rewrite or cast the expression.")
                    .at_node(value)
            }
            _ => error,
        })?;
        let (before, new) = (Typed::new(before, declared.ty), Typed::new(new, element.ty));
        if let Type::Array(_) = declared.ty {
            let [index] = indexes[..] else {
                return Err(SqlError::unsupported("an array of more than one dimension"));
            };
            let index = Typed::new(self.index(index, level)?, Type::Int4);
            return Ok(self.apply("array element set", vec![before, index, new])?.expr);
        }
        let steps = indexes.into_iter().map(|index| self.step(index, level)).collect::<Result<Vec<_>>>()?;
        let is_number = Expr::Constant(Datum::Bool(steps.first().is_some_and(|(_, is_number)| *is_number)));
        let path = Expr::Array(steps.into_iter().map(|(step, _)| step).collect());
        let path = Typed::new(path, Type::Array(&Type::Text));
        let arguments = vec![before, path, new, Typed::new(is_number, Type::Bool)];
        Ok(self.apply("jsonb element set", arguments)?.expr)
    }
}

/// Refuses to assign an element of a column that takes its default alone, or the default as an element.
fn refuse_other(column: &Column, value: &ast::Expr) -> Result<()> {
    expect_updatable(column)?;
    let message = "cannot set an array element to DEFAULT";
    match is_default(value) {
        true => Err(SqlError::new(SqlState::FeatureNotSupported, message).at_node(value)),
        false => Ok(()),
    }
}

fn no_slices(bound: Option<&ast::Expr>) -> SqlError {
    let error = SqlError::new(SqlState::DatatypeMismatch, "jsonb subscript does not support slices");
    bound.map_or(error.clone(), |bound| error.at_node(bound))
}

fn not_subscripted(ty: Type) -> SqlError {
    let message = format!("cannot subscript type {ty} because it does not support subscripting");
    SqlError::new(SqlState::DatatypeMismatch, message)
}
