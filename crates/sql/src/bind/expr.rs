//! Expressions.

use std::sync::Arc;

use sqlparser::ast::{self, BinaryOperator, CaseWhen, Spanned, UnaryOperator, Value};

use super::Binder;
use super::scope::{Level, Typed};
use super::select::refuse_sets;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::{Asks, Call, Case, Comparison, Expr, Subquery};
use crate::function;
use crate::parse;
use crate::plan::Plan;
use crate::types::{Declared, Type};
use crate::value::Conversion;
use crate::value::numeric::Numeric;

/// So many parts may an expression have of which copies are made.
const COPIED_PARTS_MAX: usize = 5_000;

/// A `boolean` expression.
fn truth(expr: Expr) -> Typed {
    Typed::new(expr, Type::Bool)
}

impl Binder<'_> {
    /// Binds an expression.
    pub(crate) fn expr(&self, expr: &ast::Expr, level: &Level<'_>) -> Result<Typed> {
        match expr {
            ast::Expr::Identifier(ident) => self.column(std::slice::from_ref(ident), level),
            ast::Expr::CompoundIdentifier(idents) => self.column(idents, level),
            ast::Expr::Value(value) => self.literal(value).map_err(|error| error.at_node(value)),
            ast::Expr::Nested(inner) => self.expr(inner, level),
            ast::Expr::QualifiedWildcard(table, _) => self.whole_row(table, level),
            ast::Expr::BinaryOp { left, op, right } => self.binary(left, op, right, level),
            ast::Expr::UnaryOp { op, expr } => self.unary(*op, expr, level),
            ast::Expr::Cast { expr, data_type, kind, .. } => match kind {
                ast::CastKind::Cast | ast::CastKind::DoubleColon => {
                    let to = self.data_type(data_type)?;
                    let input = match self.array_of(expr, to.ty, level)? {
                        Some(array) => array,
                        None => self.expr(expr, level)?,
                    };
                    let place =
                        if matches!(**expr, ast::Expr::Value(_)) { Conversion::Explicit } else { apart(&input, to.ty) };
                    let converted = self.convert(input, to, place);
                    Ok(Typed::new(converted.map_err(|error| error.at_node(&**expr))?, to))
                }
                _ => Err(SqlError::unsupported("TRY_CAST")),
            },
            ast::Expr::IsNull(inner) => Ok(truth(is_null(self.expr(inner, level)?, false))),
            ast::Expr::IsNotNull(inner) => Ok(truth(is_null(self.expr(inner, level)?, true))),
            ast::Expr::IsTrue(inner) => self.is(inner, Some(true), false, level),
            ast::Expr::IsNotTrue(inner) => self.is(inner, Some(true), true, level),
            ast::Expr::IsFalse(inner) => self.is(inner, Some(false), false, level),
            ast::Expr::IsNotFalse(inner) => self.is(inner, Some(false), true, level),
            ast::Expr::IsUnknown(inner) => self.is(inner, None, false, level),
            ast::Expr::IsNotUnknown(inner) => self.is(inner, None, true, level),
            ast::Expr::IsDistinctFrom(left, right) => self.is_distinct(left, right, false, level),
            ast::Expr::IsNotDistinctFrom(left, right) => self.is_distinct(left, right, true, level),
            ast::Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated, level),
            ast::Expr::InSubquery { expr, subquery, negated } => {
                let found = self.compare_subquery(Comparison::Equal, expr, subquery, false, level)?;
                Ok(if *negated { truth(Expr::Not(Box::new(found.expr))) } else { found })
            }
            ast::Expr::Between { expr, negated, low, high } => self.between(expr, *negated, (low, high), level),
            ast::Expr::Case { operand, conditions, else_result, .. } => {
                let case = self.case(operand.as_deref(), conditions, else_result.as_deref(), level)?;
                refuse_sets([&case.expr], "set-returning functions are not allowed in CASE")?;
                Ok(case)
            }
            ast::Expr::Exists { subquery, negated } => {
                let exists = self.subquery(subquery, Asks::Exists, level)?.0;
                Ok(truth(if *negated { Expr::Not(Box::new(exists)) } else { exists }))
            }
            ast::Expr::Subquery(query) => {
                let (expr, columns) = self.subquery(query, Asks::Value, level)?;
                match &columns[..] {
                    [column] => Ok(Typed::new(expr, column.declared)),
                    _ => Err(SqlError::new(SqlState::SyntaxError, "subquery must return only one column")),
                }
            }
            ast::Expr::Tuple(parts) => Ok(Typed::row(self.row_parts(parts.iter(), level)?)),
            ast::Expr::AnyOp { left, compare_op, right, .. } => self.quantified(left, compare_op, right, false, level),
            ast::Expr::AllOp { left, compare_op, right } => self.quantified(left, compare_op, right, true, level),
            ast::Expr::Array(array) => self.array(&array.elem, level),
            ast::Expr::Function(function) => self.call(function, level),
            other => self.special(other, level),
        }
    }

    /// Binds an array that is cast to type `ty`: its elements become what the type says, each by itself.
    fn array_of(&self, expr: &ast::Expr, ty: Type, level: &Level<'_>) -> Result<Option<Typed>> {
        let (array, element) = match (expr, ty.element()) {
            (ast::Expr::Array(array), Some(element)) => (array, element),
            (ast::Expr::Nested(inner), Some(_)) => return self.array_of(inner, ty, level),
            _ => return Ok(None),
        };
        if array.elem.iter().any(|part| matches!(part, ast::Expr::Array(_))) {
            return Ok(None);
        }
        let part = |part: &ast::Expr| {
            let bound = self.expr(part, level)?;
            let place = apart(&bound, element);
            self.convert(bound, element, place).map_err(|error| error.at_node(part))
        };
        let parts = array.elem.iter().map(part).collect::<Result<Vec<_>>>()?;
        Ok(Some(Typed::new(Expr::Array(parts), ty)))
    }

    /// Binds a condition.
    pub(crate) fn condition(&self, expr: &ast::Expr, what: &str, level: &Level<'_>) -> Result<Expr> {
        let bound = self.expr(expr, level)?;
        let ty = bound.declared.ty;
        self.convert(bound, Type::Bool, Conversion::Implicit).map_err(|error| match error.state {
            SqlState::DatatypeMismatch => {
                let message = format!("argument of {what} must be type boolean, not type {ty}");
                SqlError::new(SqlState::DatatypeMismatch, message).at_node(expr)
            }
            _ => error.at_node(expr),
        })
    }

    fn column(&self, idents: &[ast::Ident], level: &Level<'_>) -> Result<Typed> {
        self.named_column(idents, level, false)
    }

    /// Binds a column, or what else a name means; `is_item` where a list has it without another name.
    pub(crate) fn named_column(&self, idents: &[ast::Ident], level: &Level<'_>, is_item: bool) -> Result<Typed> {
        let names: Vec<String> = idents.iter().map(parse::name).collect();
        let (table, name) = match &names[..] {
            [name] => (None, name),
            [table, name] => (Some(table.as_str()), name),
            [_, table, name] => (Some(table.as_str()), name),
            _ => return Err(SqlError::unsupported(format!("the name {}", names.join(".")))),
        };
        if let Some(found) = level.resolve(table, name).map_err(|error| error.at_ident(&idents[0]))? {
            self.place_column(idents, (table, name), is_item, level);
            return Ok(found);
        }
        if let Some(row) = level.whole_row(name).filter(|_| table.is_none()) {
            self.place_row(&idents[0], is_item, level);
            return Ok(row);
        }
        // Functions that are written without parentheses.
        let is_call = table.is_none() && idents[0].quote_style.is_none() && super::special::is_bare_function(name);
        if is_call {
            return self.apply(name, Vec::new());
        }
        let error = match table {
            Some(table) if !level.has_table(table) => missing_table(table, level),
            Some(table) => SqlError::new(SqlState::UndefinedColumn, format!("column {table}.{name} does not exist")),
            None => missing_column(name, level),
        };
        Err(error.at_ident(&idents[0]))
    }

    /// The values of a row that is written as one, for whose `t.*` all columns stand.
    pub(super) fn row_parts<'e>(
        &self,
        parts: impl Iterator<Item = &'e ast::Expr>,
        level: &Level<'_>,
    ) -> Result<Vec<Typed>> {
        let mut values = Vec::new();
        for part in parts {
            match unnested(part) {
                ast::Expr::QualifiedWildcard(table, _) => {
                    let name = parse::parts(table)?.pop().unwrap_or_default();
                    let columns = level.all_of(&name)?.ok_or_else(|| missing_table(&name, level).at_node(table))?;
                    values.extend(columns);
                }
                _ => values.push(self.expr(part, level)?),
            }
        }
        Ok(values)
    }

    /// `t.*` as a value: the row of a table.
    pub(super) fn whole_row(&self, table: &ast::ObjectName, level: &Level<'_>) -> Result<Typed> {
        let name = parse::parts(table)?.pop().unwrap_or_default();
        level.whole_row(&name).ok_or_else(|| missing_table(&name, level).at_node(table))
    }

    /// Binds a literal.
    pub(crate) fn literal(&self, value: &ast::ValueWithSpan) -> Result<Typed> {
        let bound = self.literal_value(&value.value)?;
        if let Expr::Constant(Datum::Text(text)) = &bound.expr {
            self.place_literal(value.span, text);
        }
        Ok(bound)
    }

    fn literal_value(&self, value: &Value) -> Result<Typed> {
        Ok(match value {
            Value::Null => Typed::new(Expr::NULL, Type::Unknown),
            Value::Boolean(value) => truth(Expr::Constant(Datum::Bool(*value))),
            Value::Number(text, _) => return number(text),
            Value::UnicodeStringLiteral(text) if text.contains('\0') => {
                return Err(SqlError::new(SqlState::SyntaxError, "invalid Unicode escape value"));
            }
            Value::SingleQuotedString(text)
            | Value::EscapedStringLiteral(text)
            | Value::UnicodeStringLiteral(text)
            | Value::NationalStringLiteral(text) => {
                Typed::new(Expr::Constant(Datum::text(text.as_str())), Type::Unknown)
            }
            Value::DollarQuotedString(text) => {
                Typed::new(Expr::Constant(Datum::text(text.value.as_str())), Type::Unknown)
            }
            Value::HexStringLiteral(_) | Value::SingleQuotedByteStringLiteral(_) => {
                return Err(SqlError::unsupported("a bit string"));
            }
            Value::Placeholder(name) => return self.parameter(name),
            other => return Err(SqlError::unsupported(format!("the literal {other}"))),
        })
    }

    fn parameter(&self, name: &str) -> Result<Typed> {
        let number = name.strip_prefix('$').and_then(|number| number.parse::<u16>().ok()).filter(|number| *number > 0);
        let Some(number) = number else {
            return Err(SqlError::new(SqlState::UndefinedParameter, format!("there is no parameter {name}")));
        };
        let at = usize::from(number) - 1;
        let mut parameters = self.parameters.borrow_mut();
        if parameters.len() <= at {
            parameters.resize(at + 1, Type::Unknown);
        }
        Ok(Typed::new(Expr::Parameter(at), parameters[at]))
    }

    fn is(&self, inner: &ast::Expr, wanted: Option<bool>, is_negated: bool, level: &Level<'_>) -> Result<Typed> {
        let inner = Box::new(self.condition(inner, "IS", level)?);
        let found = wanted.map_or_else(|| Expr::IsNull(inner.clone()), |wanted| Expr::Is(inner.clone(), wanted));
        Ok(truth(if is_negated { Expr::Not(Box::new(found)) } else { found }))
    }

    fn is_distinct(&self, left: &ast::Expr, right: &ast::Expr, is_negated: bool, level: &Level<'_>) -> Result<Typed> {
        let (left, right) = (self.expr(left, level)?, self.expr(right, level)?);
        let (left, right) = self.comparable("=", left, right)?;
        let is_distinct = Expr::IsDistinct(Box::new((left, right)));
        Ok(truth(if is_negated { Expr::Not(Box::new(is_distinct)) } else { is_distinct }))
    }

    fn binary(&self, left: &ast::Expr, op: &BinaryOperator, right: &ast::Expr, level: &Level<'_>) -> Result<Typed> {
        if let BinaryOperator::And | BinaryOperator::Or = op {
            let what = op.to_string();
            let parts = vec![self.condition(left, &what, level)?, self.condition(right, &what, level)?];
            return Ok(truth(match op {
                BinaryOperator::And => {
                    let mut flat = Vec::new();
                    parts.into_iter().for_each(|part| part.split(&mut flat));
                    Expr::And(flat)
                }
                _ => Expr::Or(parts),
            }));
        }
        let symbol = match op {
            BinaryOperator::PGCustomBinaryOperator(parts) => parts.last().cloned().unwrap_or_default(),
            BinaryOperator::NotEq => "<>".to_owned(),
            other => other.to_string(),
        };
        let place = operator_place(left, op, right);
        let left = self.expr(left, level)?;
        if let (ast::Expr::Subquery(query), Some(comparison), Some(parts)) =
            (right, Comparison::of(&symbol), left.parts())
        {
            return self.compare_row(comparison, parts, query, level);
        }
        let right = self.expr(right, level)?;
        if *op == BinaryOperator::Overlaps {
            return self.overlaps(left, right);
        }
        self.operate(&symbol, left, right).map_err(|error| match place {
            Some(place) if error.state == SqlState::UndefinedFunction => error.at(place),
            _ => error,
        })
    }

    /// Applies a binary operator.
    pub(crate) fn operate(&self, symbol: &str, left: Typed, right: Typed) -> Result<Typed> {
        if let Some(comparison) = Comparison::of(symbol) {
            let (left, right) = self.comparable(symbol, left, right)?;
            return Ok(truth(Expr::Compare(Box::new((comparison, left, right)))));
        }
        let resolved = function::resolve_operator(symbol, Some(left.declared.ty), right.declared.ty)?;
        self.finish_call(resolved, vec![left, right])
    }

    /// Two values as they can be compared.
    pub(crate) fn comparable(&self, symbol: &str, left: Typed, right: Typed) -> Result<(Expr, Expr)> {
        if let (Some(left), Some(right)) = (left.parts(), right.parts()) {
            return self.comparable_rows(symbol, left, right);
        }
        if left.declared.ty == Type::Record && right.declared.ty == Type::Record {
            return Ok((left.expr, right.expr));
        }
        if left.declared.ty == Type::Unknown && right.declared.ty == Type::Unknown {
            let left = self.convert(left, Type::Text, Conversion::Implicit)?;
            return Ok((left, self.convert(right, Type::Text, Conversion::Implicit)?));
        }
        let resolved = function::resolve_operator(symbol, Some(left.declared.ty), right.declared.ty)?;
        let (to_left, to_right) = (resolved.arguments[0], resolved.arguments[1]);
        let left = self.convert(left, to_left, Conversion::Implicit)?;
        Ok((left, self.convert(right, to_right, Conversion::Implicit)?))
    }

    /// The type as which the left side of `=` is compared. A row keeps its own.
    pub(super) fn compared_as(&self, left: &Typed, right: &Typed) -> Result<Declared> {
        match (left.declared.ty, right.declared.ty) {
            (Type::Record, _) | (_, Type::Record) => Ok(left.declared),
            (Type::Unknown, Type::Unknown) => Ok(Type::Text.into()),
            (from, other) => match function::resolve_operator("=", Some(from), other)?.arguments[0] {
                to if to == from => Ok(left.declared),
                to => Ok(to.into()),
            },
        }
    }

    /// Two rows as they can be compared: each part with the other one in its place.
    fn comparable_rows(&self, symbol: &str, left: Vec<Typed>, right: Vec<Typed>) -> Result<(Expr, Expr)> {
        if left.len() != right.len() {
            return Err(SqlError::new(SqlState::SyntaxError, "unequal number of entries in row expressions"));
        }
        let pairs = left.into_iter().zip(right).map(|(left, right)| self.comparable(symbol, left, right));
        let (left, right) = pairs.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        Ok((Expr::Row(left, None), Expr::Row(right, None)))
    }

    fn unary(&self, op: UnaryOperator, expr: &ast::Expr, level: &Level<'_>) -> Result<Typed> {
        if op == UnaryOperator::Not {
            return Ok(truth(Expr::Not(Box::new(self.condition(expr, "NOT", level)?))));
        }
        // The least integer of a type has no positive counterpart.
        if let (UnaryOperator::Minus, ast::Expr::Value(value)) = (op, expr)
            && let Value::Number(text, _) = &value.value
        {
            return number(&format!("-{text}"));
        }
        let operand = self.expr(expr, level)?;
        let resolved = function::resolve_operator(&op.to_string(), None, operand.declared.ty)?;
        self.finish_call(resolved, vec![operand])
    }

    /// A call of what a name and its arguments were found to mean.
    pub(crate) fn finish_call(&self, resolved: function::Resolved, arguments: Vec<Typed>) -> Result<Typed> {
        let function::Resolved { function, arguments: types, returns, .. } = resolved;
        let takes_blanks = |at: usize| match function.name {
            "~~" | "!~~" | "~~*" | "!~~*" | "~" | "!~" | "~*" | "!~*" => at == 0,
            name => super::blanks::matter_to(name),
        };
        let mut types = types;
        let padded = arguments.into_iter().enumerate().map(|(at, argument)| match takes_blanks(at) {
            true => self.padded(argument, &mut types[at]),
            false => Ok(argument),
        });
        let arguments = padded.collect::<Result<Vec<_>>>()?;
        let takes_sequence = matches!(function.name, "nextval" | "currval" | "setval");
        let may_wait = function::is_advisory(function.name) || function.name.starts_with("pg_sleep");
        self.takes_advisory.set(self.takes_advisory.get() || may_wait);
        let places = arguments.into_iter().zip(&types);
        let arguments = places.map(|(argument, to)| match sequence_name(&argument) {
            Some(name) if takes_sequence && *to == Type::RegClass => Ok(name),
            _ => self.convert(argument, *to, Conversion::Implicit),
        });
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        Ok(Typed::new(Expr::Call(Box::new(Call { function, arguments, types, returns })), returns))
    }

    /// Calls a function by its name.
    pub(crate) fn apply(&self, name: &str, arguments: Vec<Typed>) -> Result<Typed> {
        let types: Vec<Type> = arguments.iter().map(|argument| argument.declared.ty).collect();
        let resolved = function::resolve(name, &types).map_err(|error| self.undefined(name, error))?;
        self.finish_call(resolved, arguments)
    }

    fn in_list(&self, expr: &ast::Expr, list: &[ast::Expr], is_negated: bool, level: &Level<'_>) -> Result<Typed> {
        let input = self.expr(expr, level)?;
        let elements = list.iter().map(|element| self.expr(element, level)).collect::<Result<Vec<_>>>()?;
        if input.declared.ty == Type::Record {
            let pairs = elements.into_iter().map(|element| self.comparable("=", input.clone(), element));
            let pairs = pairs.collect::<Result<Vec<_>>>()?;
            let equal = |(left, right)| Expr::Compare(Box::new((Comparison::Equal, left, right)));
            let any = Expr::Or(pairs.into_iter().map(equal).collect());
            return Ok(truth(if is_negated { Expr::Not(Box::new(any)) } else { any }));
        }
        if let [element] = &elements[..] {
            let (left, right) = self.comparable("=", input, element.clone())?;
            let symbol = if is_negated { Comparison::NotEqual } else { Comparison::Equal };
            return Ok(truth(Expr::Compare(Box::new((symbol, left, right)))));
        }
        let mut parts = vec![input];
        parts.extend(elements);
        let (mut parts, declared) = self.unify("IN", parts)?;
        function::resolve_operator("=", Some(declared.ty), declared.ty)?;
        let input = parts.remove(0);
        Ok(truth(Expr::InList(Box::new((input, parts)), is_negated)))
    }

    fn between(
        &self,
        expr: &ast::Expr,
        is_negated: bool,
        (low, high): (&ast::Expr, &ast::Expr),
        level: &Level<'_>,
    ) -> Result<Typed> {
        let input = self.expr(expr, level)?;
        refuse_copies(&input)?;
        let within = |low: Typed, high: Typed| {
            let low = self.operate(">=", input.clone(), low)?.expr;
            let high = self.operate("<=", input.clone(), high)?.expr;
            Ok::<_, SqlError>(Expr::And(vec![low, high]))
        };
        let both = match low {
            ast::Expr::Prefixed { prefix, value } if prefix.value == "SYMMETRIC" => {
                let (low, high) = (self.expr(value, level)?, self.expr(high, level)?);
                refuse_copies(&low)?;
                refuse_copies(&high)?;
                Expr::Or(vec![within(low.clone(), high.clone())?, within(high, low)?])
            }
            low => within(self.expr(low, level)?, self.expr(high, level)?)?,
        };
        Ok(truth(if is_negated { Expr::Not(Box::new(both)) } else { both }))
    }

    fn case(
        &self,
        operand: Option<&ast::Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&ast::Expr>,
        level: &Level<'_>,
    ) -> Result<Typed> {
        let operand = operand.map(|operand| self.expr(operand, level)).transpose()?;
        let (operand, compared) = operand.map(shared).transpose()?.unzip();
        let mut tests = Vec::new();
        let mut results = Vec::new();
        for CaseWhen { condition, result } in conditions {
            tests.push(match &compared {
                Some(compared) => self.operate("=", compared.clone(), self.expr(condition, level)?)?.expr,
                None => self.condition(condition, "CASE/WHEN", level)?,
            });
            results.push(self.expr(result, level)?);
        }
        let nothing = || Ok(Typed::new(Expr::NULL, Type::Unknown));
        results.push(otherwise.map_or_else(nothing, |otherwise| self.expr(otherwise, level))?);
        let (mut results, declared) = self.unify("CASE", results)?;
        let otherwise = results.pop().expect("there is one more result than conditions");
        let branches = tests.into_iter().zip(results).collect();
        Ok(Typed::new(Expr::Case(Box::new(Case { operand: operand.flatten(), branches, otherwise })), declared))
    }

    fn quantified(
        &self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
        is_all: bool,
        level: &Level<'_>,
    ) -> Result<Typed> {
        let symbol = op.to_string();
        let Some(comparison) = Comparison::of(&symbol) else {
            return self.each(&symbol, left, right, is_all, level);
        };
        if let ast::Expr::Subquery(query) = right {
            return self.compare_subquery(comparison, left, query, is_all, level);
        }
        let (left, array) = (self.expr(left, level)?, self.expr(right, level)?);
        let element = match array.declared.ty {
            Type::Unknown if left.declared.ty == Type::Unknown => Type::Text,
            Type::Unknown => left.declared.ty,
            ty => ty.element().ok_or_else(|| {
                let message = "op ANY/ALL (array) requires array on right side";
                SqlError::new(SqlState::WrongObjectType, message)
            })?,
        };
        let resolved = function::resolve_operator(&symbol, Some(left.declared.ty), element)?;
        let (to_left, to_element) = (resolved.arguments[0], resolved.arguments[1]);
        let to_array = to_element.array().ok_or_else(|| SqlError::unsupported(format!("an array of {to_element}")))?;
        let left = self.convert(left, to_left, Conversion::Implicit)?;
        let array = self.convert(array, to_array, Conversion::Implicit)?;
        Ok(truth(Expr::Quantified(Box::new((comparison, left, array)), is_all)))
    }

    /// `ARRAY[...]`.
    fn array(&self, elements: &[ast::Expr], level: &Level<'_>) -> Result<Typed> {
        if elements.is_empty() {
            return Err(SqlError::new(SqlState::IndeterminateDatatype, "cannot determine type of empty array")
                .with_hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
        }
        let elements = elements.iter().map(|element| self.expr(element, level)).collect::<Result<Vec<_>>>()?;
        let (elements, declared) = self.unify("ARRAY", elements)?;
        let ty = declared.ty.array().ok_or_else(|| SqlError::unsupported(format!("an array of {}", declared.ty)))?;
        Ok(Typed::new(Expr::Array(elements), Declared { ty, ..declared }))
    }

    fn compare_subquery(
        &self,
        comparison: Comparison,
        left: &ast::Expr,
        query: &ast::Query,
        is_all: bool,
        level: &Level<'_>,
    ) -> Result<Typed> {
        let left = match left {
            ast::Expr::Tuple(parts) => parts.iter().map(|part| self.expr(part, level)).collect::<Result<Vec<_>>>()?,
            one => vec![self.expr(one, level)?],
        };
        let (left, plan, captures) = self.beside(left, query, level)?;
        let asks = Asks::Compares(comparison, left, is_all);
        let subquery = Subquery { plan: Arc::new(plan), captures, asks, slot: self.new_slot() };
        Ok(truth(Expr::Subquery(Box::new(subquery))))
    }

    /// A comparison of a row with the one row of a query; NULL where it has none.
    fn compare_row(
        &self,
        comparison: Comparison,
        left: Vec<Typed>,
        query: &ast::Query,
        level: &Level<'_>,
    ) -> Result<Typed> {
        let (left, plan, captures) = self.beside(left, query, level)?;
        let subquery = Subquery { plan: Arc::new(plan), captures, asks: Asks::Row, slot: self.new_slot() };
        let right = Expr::Subquery(Box::new(subquery));
        Ok(truth(Expr::Compare(Box::new((comparison, Expr::Row(left, None), right)))))
    }

    /// Values, and a query with a column for each, as they can be compared; with what the query captures.
    #[expect(clippy::type_complexity, reason = "it is the plan of a query with what its registers hold")]
    fn beside(
        &self,
        left: Vec<Typed>,
        query: &ast::Query,
        level: &Level<'_>,
    ) -> Result<(Vec<Expr>, Plan, Vec<(usize, Expr)>)> {
        let inner = self.inner_query(query, level)?;
        if inner.columns.len() != left.len() {
            let many = if inner.columns.len() > left.len() { "many" } else { "few" };
            return Err(SqlError::new(SqlState::SyntaxError, format!("subquery has too {many} columns")));
        }
        let mut exprs = Vec::with_capacity(left.len());
        let mut given = Vec::with_capacity(left.len());
        for (at, (part, column)) in left.into_iter().zip(&inner.columns).enumerate() {
            let (left, right) = self.comparable("=", part, Typed::new(Expr::Column(at), column.declared))?;
            exprs.push(left);
            given.push(right);
        }
        let is_plain = given.iter().enumerate().all(|(at, expr)| *expr == Expr::Column(at));
        let plan = if is_plain { inner.plan } else { Plan::Project(Box::new(inner.plan), given) };
        Ok((exprs, plan, inner.captures))
    }

    /// Binds a subquery of which something is asked, and returns its columns.
    pub(crate) fn subquery(
        &self,
        query: &ast::Query,
        asks: Asks,
        level: &Level<'_>,
    ) -> Result<(Expr, Vec<super::OutColumn>)> {
        let inner = self.inner_query(query, level)?;
        let slot = self.new_slot();
        let subquery = Subquery { plan: Arc::new(inner.plan), captures: inner.captures, asks, slot };
        Ok((Expr::Subquery(Box::new(subquery)), inner.columns))
    }
}

/// The error of a name that no table has which can be named here.
pub(super) fn missing_table(name: &str, level: &Level<'_>) -> SqlError {
    if level.concealed(Some(name), "").is_none() {
        let message = format!("missing FROM-clause entry for table \"{name}\"");
        return SqlError::new(SqlState::UndefinedTable, message);
    }
    let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
    let hint =
        format!("There is an entry for table \"{name}\", but it cannot be referenced from this part of the query.");
    SqlError::new(SqlState::UndefinedTable, message).with_hint(hint)
}

fn missing_column(name: &str, level: &Level<'_>) -> SqlError {
    let error = SqlError::new(SqlState::UndefinedColumn, format!("column \"{name}\" does not exist"));
    match level.concealed(None, name) {
        None => error,
        Some(table) => error.with_hint(format!(
            "There is a column named \"{name}\" in table \"{table}\", but it cannot be referenced from this part of the query."
        )),
    }
}

/// An expression without parentheses around it.
fn unnested(mut expr: &ast::Expr) -> &ast::Expr {
    while let ast::Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

/// Refuses a large expression of which copies are to be made: each level of such expressions would double them.
fn refuse_copies(copied: &Typed) -> Result<()> {
    if !copied.expr.has_more_than(COPIED_PARTS_MAX) {
        return Ok(());
    }
    let message = format!("an operand that is compared several times has more than {COPIED_PARTS_MAX} parts");
    Err(SqlError::new(SqlState::StatementTooComplex, message)
        .with_hint("Compute it in a subquery in FROM, and name it there."))
}

/// Divides the operand of a `CASE` into what is worked out once, if it has to be, and what is compared with each condition.
pub(super) fn shared(operand: Typed) -> Result<(Option<Expr>, Typed)> {
    match operand.expr {
        Expr::Constant(_) | Expr::Parameter(_) | Expr::Column(_) | Expr::Register(_) => Ok((None, operand)),
        // Their parts are compared, or have types that what they are compared with decides.
        _ if !operand.fields().is_empty() => refuse_copies(&operand).map(|()| (None, operand)),
        Expr::Row(..) | Expr::Array(_) => refuse_copies(&operand).map(|()| (None, operand)),
        expr => Ok((Some(expr), Typed::new(Expr::Operand, operand.declared))),
    }
}

/// Whether a value is NULL, or is not; of a row, whether all of its parts are so.
fn is_null(value: Typed, is_negated: bool) -> Expr {
    if value.declared.ty != Type::Record || value.fields().is_empty() {
        return test_null(value.expr, is_negated);
    }
    Expr::And(value.fields().iter().map(|(_, field)| test_null(field.expr.clone(), is_negated)).collect())
}

fn test_null(expr: Expr, is_negated: bool) -> Expr {
    let is_null = Expr::IsNull(Box::new(expr));
    if is_negated { Expr::Not(Box::new(is_null)) } else { is_null }
}

/// The name of a sequence, where it is written as a literal: functions of sequences take it as it is.
fn sequence_name(argument: &Typed) -> Option<Expr> {
    let is_number = |text: &str| text.parse::<u32>().is_ok() || text == "-";
    match &argument.expr {
        Expr::Constant(Datum::Text(text)) if argument.declared.ty == Type::Unknown && !is_number(text) => {
            Some(argument.expr.clone())
        }
        Expr::Call(call) if call.function.name == "regclass in" => match &call.arguments[..] {
            [name @ Expr::Constant(_)] => Some(name.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// How a cast converts what its type does not stand right behind: a label is to get its type beside it in a text that is kept.
fn apart(input: &Typed, to: Type) -> Conversion {
    match input.declared.ty == Type::Unknown && to.enumeration().is_some() {
        true => Conversion::Assignment,
        false => Conversion::Explicit,
    }
}

/// Where an operator stands, if that is certain: right between its operands, or with one character on each side.
fn operator_place(left: &ast::Expr, op: &BinaryOperator, right: &ast::Expr) -> Option<usize> {
    let (end, start) = (left.span().end, right.span().start);
    if end.line == 0 || start.line == 0 {
        return None;
    }
    let gap = start.column.checked_sub(end.column)?.checked_sub(op.to_string().chars().count() as u64)?;
    let before = match gap {
        0 => 0,
        2 => 1,
        _ => return None,
    };
    usize::try_from(end.column + before).ok()
}

/// A number: the smallest of `integer`, `bigint` and `numeric` that holds it.
fn number(text: &str) -> Result<Typed> {
    let is_whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_whole && let Ok(value) = text.parse::<i64>() {
        let ty = if i32::try_from(value).is_ok() { Type::Int4 } else { Type::Int8 };
        return Ok(Typed::new(Expr::Constant(Datum::Int(value)), ty));
    }
    let hex = text.trim_start_matches('-').strip_prefix("0x");
    if let Some(value) = hex.and_then(|hex| i64::from_str_radix(hex, 16).ok()) {
        return Ok(Typed::new(Expr::Constant(Datum::Int(value)), Type::Int8));
    }
    let value = Numeric::parse(text).ok_or_else(|| {
        SqlError::new(SqlState::SyntaxError, format!("trailing junk after numeric literal at or near \"{text}\""))
    })?;
    Ok(Typed::new(Expr::Constant(Datum::Numeric(Arc::new(value))), Type::Numeric))
}
