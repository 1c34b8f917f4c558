//! Calls of aggregate functions.
//!
//! Absent: an aggregate within a subquery all of whose arguments are columns of the query around, to which it would belong.

use sqlparser::ast::{
    self, DuplicateTreatment, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, OrderByExpr,
};

use super::Binder;
use super::query::sort_key;
use super::scope::{Aggregates, Level, Typed, Windows};
use super::select::refuse_sets;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::{Asks, Expr};
use crate::function::{self, Direct, ResolvedAggregate};
use crate::plan::{AggregateCall, SortKey};
use crate::types::{Declared, Type};
use crate::value::Conversion;

/// The place of an expression in the arguments of an aggregate.
const WITHIN: &str = "an aggregate function";

fn types(arguments: &[Typed]) -> Vec<Type> {
    arguments.iter().map(|argument| argument.declared.ty).collect()
}

/// Whether an expression reads a column of a query around it. What a subquery captures for the common table expressions that it
/// names does not count.
fn reads_outer(expr: &Expr) -> bool {
    match expr {
        Expr::Register(_) => true,
        Expr::Subquery(subquery) => {
            let mut captures = subquery.captures.iter().filter(|(register, held)| *held != Expr::Register(*register));
            let compared = if let Asks::Compares(_, parts, _) = &subquery.asks { &parts[..] } else { &[] };
            captures.any(|(_, held)| reads_outer(held)) || compared.iter().any(reads_outer)
        }
        expr => {
            let mut found = false;
            expr.for_each_part(&mut |part| found = found || reads_outer(part));
            found
        }
    }
}

fn wrong_object<T>(message: impl Into<String>) -> Result<T> {
    Err(SqlError::new(SqlState::WrongObjectType, message))
}

impl Binder<'_> {
    /// A call of an aggregate function, if the name is one of these.
    pub(super) fn aggregate(
        &self,
        name: &str,
        call: &ast::Function,
        list: &ast::FunctionArgumentList,
        level: &Level<'_>,
    ) -> Result<Option<Typed>> {
        if name == "grouping" {
            return self.grouping(list, level).map(Some);
        }
        let is_ordered = function::is_ordered_set(name) && !(call.within_group.is_empty() && function::is_window(name));
        if !function::is_aggregate(name) && !is_ordered {
            if call.within_group.is_empty() {
                return Ok(None);
            }
            function::resolve(name, &self.all_types(call, list, level)?)?;
            return wrong_object(format!("WITHIN GROUP specified, but {name} is not an aggregate function"));
        }
        let place = match &*level.aggregates.borrow() {
            Aggregates::Refused(place) => Some(*place),
            Aggregates::Gathered(_) => None,
        };
        // Within the arguments of an aggregate there is no other one.
        let outside = level.aggregates.replace(Aggregates::Refused(WITHIN));
        let bound = level.refusing_windows(WITHIN, || match is_ordered {
            true => self.ordered_set_call(name, call, list, level),
            false => self.aggregate_call(name, call, list, level),
        });
        level.aggregates.replace(outside);
        let bound = bound?;
        if let Some(place) = place {
            let message = match place {
                WITHIN => "aggregate function calls cannot be nested".to_owned(),
                place => format!("aggregate functions are not allowed in {place}"),
            };
            return Err(SqlError::new(SqlState::GroupingError, message));
        }
        refuse_sets(bound.inputs(), "aggregate function calls cannot contain set-returning function calls")?;
        let reads_own = |argument: &Expr| argument.any(&|part| matches!(part, Expr::Column(_)));
        if bound.arguments.iter().any(reads_outer) && !bound.arguments.iter().any(reads_own) {
            return Err(SqlError::unsupported(format!("{name} of columns of the query around"))
                .with_hint("Compute it there, and name the result."));
        }
        let returns = Declared { ty: bound.function.returns, modifier: bound.function.modifier };
        let mut aggregates = level.aggregates.borrow_mut();
        let Aggregates::Gathered(calls) = &mut *aggregates else { unreachable!("it was looked at above") };
        let at = calls.iter().position(|known| *known == bound).unwrap_or_else(|| {
            calls.push(bound);
            calls.len() - 1
        });
        Ok(Some(Typed::new(Expr::Aggregate(at), returns)))
    }

    /// The types of arguments, followed by those of what `WITHIN GROUP` sorts by: what PostgreSQL looks for a function with.
    fn all_types(
        &self,
        call: &ast::Function,
        list: &ast::FunctionArgumentList,
        level: &Level<'_>,
    ) -> Result<Vec<Type>> {
        let mut all = self.arguments(list, level)?;
        for key in &call.within_group {
            all.push(self.expr(&key.expr, level)?);
        }
        Ok(types(&all))
    }

    fn aggregate_call(
        &self,
        name: &str,
        call: &ast::Function,
        list: &ast::FunctionArgumentList,
        level: &Level<'_>,
    ) -> Result<AggregateCall> {
        if !call.within_group.is_empty() {
            function::resolve_aggregate(name, &self.all_types(call, list, level)?)?;
            return wrong_object(format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"));
        }
        let (function, arguments) = self.aggregate_arguments(name, call, list, level)?;
        let is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        if is_distinct && arguments.is_empty() {
            return Err(SqlError::new(SqlState::SyntaxError, "syntax error: DISTINCT without an argument"));
        }
        let mut order = Vec::new();
        for clause in &list.clauses {
            let FunctionArgumentClause::OrderBy(keys) = clause else {
                return Err(SqlError::unsupported(format!("{clause} in a call")));
            };
            for key in keys {
                let expr = self.expr(&key.expr, level)?;
                order.push(sort_key(self.sortable(expr)?, &key.options));
            }
        }
        if is_distinct {
            let is_argument = |key: &SortKey| arguments.contains(&key.expr);
            if !order.iter().all(is_argument) {
                let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
                return Err(SqlError::new(SqlState::InvalidColumnReference, message));
            }
            let depends_on_order = name.ends_with("_agg") || function.arguments.contains(&Type::Float8);
            for (argument, ty) in arguments.iter().zip(&function.arguments) {
                let argument = self.sortable(Typed::new(argument.clone(), *ty))?;
                // Duplicates are found by sorting in PostgreSQL, and some results show that.
                if depends_on_order && !order.iter().any(|key| key.expr == argument) {
                    order.push(SortKey { expr: argument, is_descending: false, nulls_first: false });
                }
            }
        }
        let filter = self.aggregate_filter(call, level)?;
        let name = name.to_owned();
        Ok(AggregateCall { name, function, arguments, is_distinct, order, filter, hypothetical: Vec::new() })
    }

    /// The function that a call of an aggregate means, with its arguments.
    pub(super) fn aggregate_arguments(
        &self,
        name: &str,
        call: &ast::Function,
        list: &ast::FunctionArgumentList,
        level: &Level<'_>,
    ) -> Result<(ResolvedAggregate, Vec<Expr>)> {
        let is_star = matches!(list.args[..], [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]);
        if list.args.is_empty() && matches!(call.args, FunctionArguments::List(_)) && name == "count" {
            return wrong_object(format!("{name}(*) must be used to call a parameterless aggregate function"));
        }
        let arguments = if is_star { Vec::new() } else { self.arguments(list, level)? };
        let resolved = function::resolve_aggregate(name, &types(&arguments))?;
        let mut function = resolved.ok_or_else(|| SqlError::unsupported(format!("the aggregate {name}")))?;
        let keeps_length = |argument: &&Typed| {
            let ty = argument.declared.ty;
            ty == Type::Char && (function.returns == ty || Some(function.returns) == ty.array())
        };
        if let Some(argument) = arguments.first().filter(keeps_length) {
            function.modifier = argument.declared.modifier;
        }
        let pads = super::blanks::matter_to(name);
        let places = arguments.into_iter().zip(&mut function.arguments);
        let arguments = places.map(|(argument, to)| {
            let argument = if pads { self.padded(argument, to)? } else { argument };
            self.convert(argument, *to, Conversion::Implicit)
        });
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        Ok((function, arguments))
    }

    pub(super) fn aggregate_filter(&self, call: &ast::Function, level: &Level<'_>) -> Result<Option<Expr>> {
        let Some(filter) = &call.filter else { return Ok(None) };
        let outside = level.aggregates.replace(Aggregates::Refused("FILTER"));
        let bound = level.refusing_windows("FILTER", || self.condition(filter, "FILTER", level));
        level.aggregates.replace(outside);
        bound.map(Some)
    }

    /// A call with `WITHIN GROUP`.
    fn ordered_set_call(
        &self,
        name: &str,
        call: &ast::Function,
        list: &ast::FunctionArgumentList,
        level: &Level<'_>,
    ) -> Result<AggregateCall> {
        if call.within_group.is_empty() {
            function::resolve_ordered_set(name, &types(&self.arguments(list, level)?), &[])?;
            return wrong_object(format!("WITHIN GROUP is required for ordered-set aggregate {name}"));
        }
        if list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
            let message = "cannot use DISTINCT or multiple ORDER BY clauses with WITHIN GROUP";
            return Err(SqlError::new(SqlState::SyntaxError, message));
        }
        let direct = self.arguments(list, level)?;
        let bind = |key: &OrderByExpr| self.expr(&key.expr, level);
        let sorted = call.within_group.iter().map(bind).collect::<Result<Vec<_>>>()?;
        let kind = function::resolve_ordered_set(name, &types(&direct), &types(&sorted))?;
        let filter = self.aggregate_filter(call, level)?;
        let key = |(expr, key): (Expr, &OrderByExpr)| sort_key(expr, &key.options);
        let (function, arguments, order, hypothetical) = match kind {
            Direct::Parameters(function) => {
                let places = direct.into_iter().chain(sorted).zip(&function.arguments);
                let arguments = places.map(|(argument, to)| self.convert(argument, *to, Conversion::Implicit));
                let arguments = arguments.collect::<Result<Vec<_>>>()?;
                let last = arguments.last().cloned().unwrap_or(Expr::NULL);
                let ty = function.arguments.last().copied().unwrap_or(Type::Text);
                let last = self.sortable(Typed::new(last, ty))?;
                (function, arguments, [last].into_iter().zip(&call.within_group).map(key).collect(), Vec::new())
            }
            Direct::Row(function) => {
                let (mut row, mut exprs) = (Vec::new(), Vec::new());
                for pair in direct.into_iter().zip(sorted) {
                    let (mut parts, declared) = self.unify("WITHIN GROUP", vec![pair.0, pair.1])?;
                    let sorted = parts.pop().unwrap_or(Expr::NULL);
                    exprs.push(self.sortable(Typed::new(sorted, declared))?);
                    row.extend(parts);
                }
                (function, Vec::new(), exprs.into_iter().zip(&call.within_group).map(key).collect(), row)
            }
        };
        Ok(AggregateCall {
            name: name.to_owned(),
            function,
            arguments,
            is_distinct: false,
            order,
            filter,
            hypothetical,
        })
    }

    /// `GROUPING(...)`.
    fn grouping(&self, list: &ast::FunctionArgumentList, level: &Level<'_>) -> Result<Typed> {
        let place = match &*level.aggregates.borrow() {
            Aggregates::Refused(place) => Some(*place),
            Aggregates::Gathered(_) => None,
        };
        if let Some(place) = place {
            let message = format!("grouping operations are not allowed in {place}");
            return Err(SqlError::new(SqlState::GroupingError, message));
        }
        let outside = (level.aggregates.replace(Aggregates::Refused("GROUPING")), level.windows.get());
        level.windows.set(Windows::AsAggregates);
        let arguments = self.arguments(list, level);
        level.aggregates.replace(outside.0);
        level.windows.set(outside.1);
        let arguments: Vec<Expr> = arguments?.into_iter().map(|argument| argument.expr).collect();
        if arguments.len() > 31 {
            return Err(SqlError::new(SqlState::TooManyArguments, "GROUPING must have fewer than 32 arguments"));
        }
        Ok(Typed::new(Expr::Grouping(arguments), Type::Int4))
    }
}
