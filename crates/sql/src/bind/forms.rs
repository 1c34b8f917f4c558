//! Expressions that mean others: `OVERLAPS`, operators with `ANY` and `ALL`, arguments with names, times with a precision.

use std::sync::Arc;

use sqlparser::ast::{self, FunctionArg, FunctionArgExpr};

use super::Binder;
use super::scope::{Level, Typed, new_register};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::{Asks, Case, Comparison, Expr, Subquery};
use crate::function;
use crate::parse;
use crate::plan::{Plan, Series};
use crate::types::{Category, Declared, Modifier, Type};
use crate::value::Conversion;

/// The names of arguments of functions that have defaults, or whose calls are read more easily with them.
const ARGUMENTS: &[(&str, &[&str])] = &[
    ("make_date", &["year", "month", "day"]),
    ("make_interval", &["years", "months", "weeks", "days", "hours", "mins", "secs"]),
    ("make_time", &["hour", "min", "sec"]),
    ("make_timestamp", &["year", "month", "mday", "hour", "min", "sec"]),
    ("make_timestamptz", &["year", "month", "mday", "hour", "min", "sec", "timezone"]),
    ("jsonb_set", &["jsonb_in", "path", "replacement", "create_if_missing"]),
];

/// A text in one of the collations that order it as texts are ordered here.
pub(crate) fn collated(text: Typed, collation: &ast::ObjectName) -> Result<Typed> {
    let parts = parse::parts(collation)?;
    let is_known = match &parts[..] {
        [name] => is_collation(name),
        [schema, name] => schema == "pg_catalog" && is_collation(name),
        _ => false,
    };
    if !is_known {
        let message = format!("collation \"{}\" for encoding \"UTF8\" does not exist", parts.join("."));
        return Err(SqlError::new(SqlState::UndefinedObject, message)
            .with_hint("Texts are ordered by their bytes, as COLLATE \"C\" says. Leave the collation out.")
            .at_node(collation));
    }
    let ty = text.declared.ty;
    let element = ty.element().unwrap_or(ty);
    if element != Type::Unknown && element.category() != Category::String {
        return Err(SqlError::new(SqlState::DatatypeMismatch, format!("collations are not supported by type {ty}"))
            .at_node(collation));
    }
    Ok(text)
}

fn is_collation(name: &str) -> bool {
    matches!(name, "C" | "POSIX" | "default" | "ucs_basic")
}

impl Binder<'_> {
    /// Whether two spans of time have a moment in common. Each is a row of its start, and of its end or how long it is.
    pub(super) fn overlaps(&self, left: Typed, right: Typed) -> Result<Typed> {
        let mut bounds = Vec::with_capacity(4);
        for (span, side) in [(left, "left"), (right, "right")] {
            let Some(Ok([start, end])) = span.parts().map(<[Typed; 2]>::try_from) else {
                let message = format!("wrong number of parameters on {side} side of OVERLAPS expression");
                return Err(SqlError::new(SqlState::SyntaxError, message));
            };
            let is_length = end.declared.ty == Type::Interval;
            let end = if is_length { self.operate("+", start.clone(), end)? } else { end };
            bounds.extend([start, end]);
        }
        let has = |ty: Type| bounds.iter().any(|bound| bound.declared.ty == ty);
        let to = match () {
            () if has(Type::Timestamptz) => Type::Timestamptz,
            () if has(Type::Timestamp) || has(Type::Date) => Type::Timestamp,
            () if has(Type::Time) => Type::Time,
            () => return self.apply("overlaps", bounds),
        };
        let convert = |bound: Typed| Ok(Typed::new(self.convert(bound, to, Conversion::Implicit)?, to));
        self.apply("overlaps", bounds.into_iter().map(convert).collect::<Result<Vec<_>>>()?)
    }

    /// An operator with some element of an array or row of a query, or with all: `TRUE = ANY` of what it gives for them.
    pub(super) fn each(
        &self,
        symbol: &str,
        left: &ast::Expr,
        right: &ast::Expr,
        is_all: bool,
        level: &Level<'_>,
    ) -> Result<Typed> {
        let left = self.expr(left, level)?;
        if let ast::Expr::Subquery(query) = right {
            let inner = self.inner_query(query, level)?;
            let [column] = &inner.columns[..] else {
                return Err(SqlError::new(SqlState::SyntaxError, "subquery has too many columns"));
            };
            let element = column.declared;
            return self.each_of(symbol, left, (inner.plan, inner.captures, element), is_all);
        }
        let array = self.expr(right, level)?;
        let ty = match array.declared.ty {
            Type::Unknown => Type::Text.array().unwrap_or(Type::Text),
            ty => ty,
        };
        let Some(element) = ty.element() else {
            let message = "op ANY/ALL (array) requires array on right side";
            return Err(SqlError::new(SqlState::WrongObjectType, message));
        };
        let array = self.convert(array, ty, Conversion::Implicit)?;
        let Some(function) = function::resolve_set("unnest", &[ty])? else {
            return Err(SqlError::unsupported(format!("{symbol} with ANY or ALL of {ty}")));
        };
        let (argument, captures) = self.captured(Expr::Operand);
        let series = Series { calls: vec![(function, vec![argument])], with_ordinality: false };
        let plan = Plan::Series(Box::new(series));
        let found = self.each_of(symbol, left, (plan, captures, element.into()), is_all)?;
        let branches = vec![(Expr::IsNull(Box::new(Expr::Operand)), Expr::NULL)];
        let case = Case { operand: Some(array), branches, otherwise: found.expr };
        Ok(Typed::new(Expr::Case(Box::new(case)), Type::Bool))
    }

    fn each_of(
        &self,
        symbol: &str,
        left: Typed,
        (plan, mut captures, element): (Plan, Vec<(usize, Expr)>, Declared),
        is_all: bool,
    ) -> Result<Typed> {
        let (own, captured) = self.captured(left.expr);
        captures.extend(captured);
        let test = self.operate(symbol, Typed::new(own, left.declared), Typed::new(Expr::Column(0), element))?;
        if test.declared.ty != Type::Bool {
            let message = "op ANY/ALL (array) requires operator to yield boolean";
            return Err(SqlError::new(SqlState::WrongObjectType, message));
        }
        let plan = Arc::new(Plan::Project(Box::new(plan), vec![test.expr]));
        let asks = Asks::Compares(Comparison::Equal, vec![Expr::Constant(Datum::Bool(true))], is_all);
        let subquery = Subquery { plan, captures, asks, slot: self.new_slot() };
        Ok(Typed::new(Expr::Subquery(Box::new(subquery)), Type::Bool))
    }

    /// A value as a plan within an expression reads it, and which register holds it.
    fn captured(&self, expr: Expr) -> (Expr, Vec<(usize, Expr)>) {
        match expr {
            Expr::Constant(_) | Expr::Parameter(_) => (expr, Vec::new()),
            expr => {
                let register = new_register(&self.registers);
                (Expr::Register(register), vec![(register, expr)])
            }
        }
    }

    /// The arguments of a call in the order of the parameters, where some have names; `None`: none has.
    pub(super) fn named_arguments(
        &self,
        name: &str,
        list: &ast::FunctionArgumentList,
        level: &Level<'_>,
    ) -> Result<Option<Vec<Typed>>> {
        let named = |argument: &FunctionArg| !matches!(argument, FunctionArg::Unnamed(_));
        if !list.args.iter().any(named) {
            return Ok(None);
        }
        let Some((_, names)) = ARGUMENTS.iter().find(|(function, _)| *function == name) else {
            return Err(SqlError::unsupported(format!("an argument of {name} with a name"))
                .with_hint("Give the arguments in their order, without names."));
        };
        let undefined = |what: String| SqlError::new(SqlState::UndefinedFunction, what);
        let mut bound: Vec<Option<Typed>> = vec![None; names.len()];
        let mut is_named = false;
        for (at, argument) in list.args.iter().enumerate() {
            let (at, expr) = match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(_)) if is_named => {
                    let message = "positional argument cannot follow named argument";
                    return Err(SqlError::new(SqlState::SyntaxError, message));
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => (at, expr),
                FunctionArg::Named { name: ident, arg: FunctionArgExpr::Expr(expr), .. } => {
                    let wanted = parse::name(ident);
                    let Some(at) = names.iter().position(|known| *known == wanted) else {
                        return Err(undefined(format!("function {name} has no argument \"{wanted}\"")));
                    };
                    is_named = true;
                    (at, expr)
                }
                _ => return Err(SqlError::unsupported(format!("this argument of {name}"))),
            };
            match bound.get_mut(at) {
                Some(place @ None) => *place = Some(self.expr(expr, level)?),
                Some(Some(_)) => {
                    let message = format!("argument name \"{}\" used more than once", names[at]);
                    return Err(SqlError::new(SqlState::SyntaxError, message));
                }
                None => return Err(undefined(format!("function {name} takes up to {} arguments", names.len()))),
            }
        }
        while bound.last().is_some_and(Option::is_none) {
            bound.pop();
        }
        // The parts of an interval that are not given are zero.
        let zero = || Typed::new(Expr::Constant(Datum::Int(0)), Type::Int4);
        let missing = |argument: Option<Typed>| match argument {
            None if name == "make_interval" => Ok(zero()),
            None => Err(undefined(format!("a call of {name} leaves out an argument that has no default"))),
            Some(argument) => Ok(argument),
        };
        bound.into_iter().map(missing).collect::<Result<Vec<_>>>().map(Some)
    }

    /// `current_timestamp(3)` and its kin.
    pub(super) fn time_with_precision(&self, name: &str, list: &ast::FunctionArgumentList) -> Result<Option<Typed>> {
        let is_time = matches!(name, "current_timestamp" | "current_time" | "localtimestamp" | "localtime");
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Value(value)))] = &list.args[..] else {
            return Ok(None);
        };
        let digits = match &value.value {
            ast::Value::Number(digits, _) if is_time => digits.parse::<u8>().ok(),
            _ => return Ok(None),
        };
        let Some(digits) = digits.filter(|digits| *digits <= 6) else {
            let message = format!("precision of {} must be between 0 and 6", name.to_uppercase());
            return Err(SqlError::new(SqlState::InvalidParameterValue, message).at_node(value));
        };
        let moment = self.apply(name, Vec::new())?;
        let to = Declared { ty: moment.declared.ty, modifier: Modifier::Fraction(digits) };
        Ok(Some(Typed::new(self.convert(moment, to, Conversion::Explicit)?, to)))
    }
}
