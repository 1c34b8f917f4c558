//! Calls with `OVER`, and the windows that they are over.

use sqlparser::ast::{self, NamedWindowExpr, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType};

use super::Binder;
use super::query::sort_key;
use super::scope::{Aggregates, Level, Typed};
use super::select::refuse_sets;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::function;
use crate::parse::{self, frame::split_name};
use crate::plan::SortKey;
use crate::plan::window::{Bound, Distance, Exclusion, Frame, Unit, WindowCall, WindowFunction};
use crate::types::{Declared, Modifier, Type};
use crate::value::{self, Conversion};

/// The place of an expression in the arguments of a call over a window.
const WITHIN: &str = "a window function";

/// A window that has a name.
#[derive(Clone, Debug)]
pub(crate) struct NamedWindow {
    name: String,
    window: BoundWindow,
}

/// A window that was bound.
#[derive(Clone, Debug, Default)]
struct BoundWindow {
    partition: Vec<Expr>,
    order: Vec<(SortKey, Type)>,
    /// `None`: the standard one.
    frame: Option<Frame>,
}

fn fault<T>(message: impl Into<String>) -> Result<T> {
    Err(SqlError::new(SqlState::WindowingError, message))
}

impl Binder<'_> {
    /// Binds the windows of the clause `WINDOW`.
    pub(super) fn bind_windows(&self, definitions: &[ast::NamedWindowDefinition], level: &Level<'_>) -> Result<()> {
        for ast::NamedWindowDefinition(name, definition) in definitions {
            let name = parse::name(name);
            if level.named_windows.borrow().iter().any(|known| known.name == name) {
                return fault(format!("window \"{name}\" is already defined"));
            }
            let window = match definition {
                NamedWindowExpr::WindowSpec(spec) => self.window(spec, level)?,
                NamedWindowExpr::NamedWindow(other) => find(&parse::name(other), level)?,
            };
            level.named_windows.borrow_mut().push(NamedWindow { name, window });
        }
        Ok(())
    }

    /// Binds a call over a window.
    pub(super) fn window_call(
        &self,
        name: &str,
        call: &ast::Function,
        over: &WindowType,
        list: &ast::FunctionArgumentList,
        level: &Level<'_>,
    ) -> Result<Typed> {
        let is_own = function::is_window(name) && call.within_group.is_empty();
        if let Some(what) = unsupported_part(name, call, list, is_own) {
            return Err(SqlError::unsupported(what));
        }
        if let Some(place) = level.refuses_windows() {
            return match place {
                WITHIN => fault("window function calls cannot be nested"),
                "an aggregate function" => {
                    let message = "aggregate function calls cannot contain window function calls";
                    Err(SqlError::new(SqlState::GroupingError, message))
                }
                place => fault(format!("window functions are not allowed in {place}")),
            };
        }
        let (function, arguments, returns) = level.refusing_windows(WITHIN, || {
            if is_own {
                let arguments = self.arguments(list, level)?;
                if !arguments.is_empty() && function::is_ordered_set(name) {
                    let message = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
                    return Err(SqlError::new(SqlState::WrongObjectType, message));
                }
                let types: Vec<Type> = arguments.iter().map(|argument| argument.declared.ty).collect();
                let Some(resolved) = function::resolve_window(name, &types)? else {
                    return Err(SqlError::unsupported(format!("the window function {name}")));
                };
                let length = arguments.first().map(|argument| argument.declared.modifier);
                let modifier = length.filter(|_| resolved.returns == Type::Char).unwrap_or(Modifier::None);
                let places = arguments.into_iter().zip(&resolved.arguments);
                let arguments = places.map(|(argument, to)| self.convert(argument, *to, Conversion::Implicit));
                let arguments = arguments.collect::<Result<Vec<_>>>()?;
                return Ok((
                    WindowFunction::Own(resolved.window),
                    arguments,
                    Declared { ty: resolved.returns, modifier },
                ));
            }
            if !function::is_aggregate(name) {
                let arguments = self.arguments(list, level)?;
                let types: Vec<Type> = arguments.iter().map(|argument| argument.declared.ty).collect();
                if !function::is_set(name) {
                    function::resolve(name, &types)?;
                }
                let message = format!("OVER specified, but {name} is not a window function nor an aggregate function");
                return Err(SqlError::new(SqlState::WrongObjectType, message));
            }
            let (function, arguments) = self.aggregate_arguments(name, call, list, level)?;
            let returns = Declared { ty: function.returns, modifier: function.modifier };
            Ok((WindowFunction::Aggregate(name.to_owned(), function), arguments, returns))
        })?;
        let filter = self.aggregate_filter(call, level)?;
        let window = match over {
            WindowType::NamedWindow(name) => find(&parse::name(name), level)?,
            WindowType::WindowSpec(spec) => self.window(spec, level)?,
        };
        let order = window.order.into_iter().map(|(key, _)| key).collect();
        let frame = window.frame.unwrap_or_else(Frame::standard);
        let call = WindowCall { function, arguments, filter, partition: window.partition, order, frame };
        let mut parts = Vec::new();
        call.for_each_part(&mut |part| parts.push(part));
        refuse_sets(parts, "window function calls cannot contain set-returning function calls")?;
        Ok(Typed::new(Expr::Window(Box::new(call)), returns))
    }

    fn window(&self, spec: &WindowSpec, level: &Level<'_>) -> Result<BoundWindow> {
        let (name, exclusion) = spec.window_name.as_ref().map_or((None, None), |name| split_name(&name.value));
        let name = name.map(|name| parse::name(&ast::Ident::with_quote('"', name)));
        let name = name.as_deref();
        let mut window = name.map_or_else(|| Ok(BoundWindow::default()), |name| find(name, level))?;
        if let Some(name) = name {
            if !spec.partition_by.is_empty() {
                return fault(format!("cannot override PARTITION BY clause of window \"{name}\""));
            }
            if !spec.order_by.is_empty() && !window.order.is_empty() {
                return fault(format!("cannot override ORDER BY clause of window \"{name}\""));
            }
            if window.frame.is_some() {
                let message = format!("cannot copy window \"{name}\" because it has a frame clause");
                let error = SqlError::new(SqlState::WindowingError, message);
                let is_bare = spec.order_by.is_empty() && spec.window_frame.is_none();
                return Err(if is_bare { error.with_hint("Omit the parentheses in this OVER clause.") } else { error });
            }
        }
        level.refusing_windows("window definitions", || -> Result<()> {
            for expr in &spec.partition_by {
                let bound = self.expr(expr, level)?;
                window.partition.push(self.sortable(bound)?);
            }
            for key in &spec.order_by {
                let bound = self.expr(&key.expr, level)?;
                let ty = bound.declared.ty;
                window.order.push((sort_key(self.sortable(bound)?, &key.options), ty));
            }
            Ok(())
        })?;
        if spec.window_frame.is_none() && exclusion.is_some() {
            return Err(SqlError::new(SqlState::SyntaxError, "syntax error: EXCLUDE without a frame"));
        }
        if let Some(frame) = &spec.window_frame {
            window.frame = Some(self.frame(frame, exclusion, &window.order, level)?);
        }
        Ok(window)
    }

    fn frame(
        &self,
        frame: &ast::WindowFrame,
        exclusion: Option<&str>,
        order: &[(SortKey, Type)],
        level: &Level<'_>,
    ) -> Result<Frame> {
        check_bounds(frame)?;
        let unit = match frame.units {
            WindowFrameUnits::Rows => Unit::Rows,
            WindowFrameUnits::Range => Unit::Range,
            WindowFrameUnits::Groups => Unit::Groups,
        };
        let exclusion = match exclusion {
            Some("current row") => Exclusion::CurrentRow,
            Some("group") => Exclusion::Group,
            Some("ties") => Exclusion::Ties,
            _ => Exclusion::Nothing,
        };
        let end = frame.end_bound.as_ref().unwrap_or(&WindowFrameBound::CurrentRow);
        let has_offset = [&frame.start_bound, end]
            .into_iter()
            .any(|bound| matches!(bound, WindowFrameBound::Preceding(Some(_)) | WindowFrameBound::Following(Some(_))));
        if unit == Unit::Groups && order.is_empty() {
            return fault("GROUPS mode requires an ORDER BY clause");
        }
        if unit == Unit::Range && has_offset && order.len() != 1 {
            return fault("RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column");
        }
        let measured = order.first().map_or(Type::Text, |(_, ty)| *ty);
        let bound = |bound: &WindowFrameBound, unbounded: Bound| -> Result<Bound> {
            let offset = |expr: &ast::Expr| self.offset(expr, unit, measured, level);
            Ok(match bound {
                WindowFrameBound::CurrentRow => Bound::CurrentRow,
                WindowFrameBound::Preceding(None) | WindowFrameBound::Following(None) => unbounded,
                WindowFrameBound::Preceding(Some(expr)) => Bound::Preceding(offset(expr)?),
                WindowFrameBound::Following(Some(expr)) => Bound::Following(offset(expr)?),
            })
        };
        let start = bound(&frame.start_bound, Bound::UnboundedPreceding)?;
        let end = bound(end, Bound::UnboundedFollowing)?;
        let distance = if unit == Unit::Range && has_offset { distance(measured).map(|(kind, _)| kind) } else { None };
        Ok(Frame { unit, start, end, exclusion, distance })
    }

    /// An offset of a bound, which is the same for all rows.
    fn offset(&self, expr: &ast::Expr, unit: Unit, measured: Type, level: &Level<'_>) -> Result<Expr> {
        let place = match unit {
            Unit::Rows => "window ROWS",
            Unit::Range => "window RANGE",
            Unit::Groups => "window GROUPS",
        };
        let outside = level.aggregates.replace(Aggregates::Refused(place));
        let bound = level.refusing_windows(place, || self.expr(expr, level));
        level.aggregates.replace(outside);
        let bound = bound?;
        if !bound.expr.is_fixed() {
            let message = format!("argument of {} must not contain variables", unit.name());
            return Err(SqlError::new(SqlState::InvalidColumnReference, message));
        }
        let from = bound.declared.ty;
        if unit != Unit::Range {
            return self.convert(bound, Type::Int8, Conversion::Implicit).map_err(|error| match error.state {
                SqlState::DatatypeMismatch => {
                    let message = format!("argument of {} must be type bigint, not type {from}", unit.name());
                    SqlError::new(SqlState::DatatypeMismatch, message)
                }
                _ => error,
            });
        }
        let Some((_, wanted)) = distance(measured) else {
            let message = format!("RANGE with offset PRECEDING/FOLLOWING is not supported for column type {measured}");
            return Err(SqlError::new(SqlState::FeatureNotSupported, message));
        };
        let is_implicit = value::conversion(from, wanted) == Some(Conversion::Implicit);
        if from != Type::Unknown && from != wanted && !is_implicit {
            let message = format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {measured} and offset type {from}"
            );
            return Err(SqlError::new(SqlState::FeatureNotSupported, message)
                .with_hint("Cast the offset value to an appropriate type."));
        }
        self.convert(bound, wanted, Conversion::Implicit)
    }
}

/// How `RANGE` measures between values of a type, and the type of offsets.
fn distance(ty: Type) -> Option<(Distance, Type)> {
    Some(match ty {
        Type::Int2 | Type::Int4 | Type::Int8 => (Distance::Integer, Type::Int8),
        Type::Float4 | Type::Float8 => (Distance::Float, Type::Float8),
        Type::Numeric => (Distance::Numeric, Type::Numeric),
        Type::Date => (Distance::Date, Type::Interval),
        Type::Timestamp => (Distance::Timestamp, Type::Interval),
        Type::Timestamptz => (Distance::Timestamptz, Type::Interval),
        Type::Time => (Distance::Time, Type::Interval),
        Type::Interval => (Distance::Interval, Type::Interval),
        _ => return None,
    })
}

fn find(name: &str, level: &Level<'_>) -> Result<BoundWindow> {
    let windows = level.named_windows.borrow();
    let found = windows.iter().find(|known| known.name == name);
    found
        .map(|known| known.window.clone())
        .ok_or_else(|| SqlError::new(SqlState::UndefinedObject, format!("window \"{name}\" does not exist")))
}

/// Refuses bounds of which the start lies behind the end.
fn check_bounds(frame: &ast::WindowFrame) -> Result<()> {
    use WindowFrameBound::{CurrentRow, Following, Preceding};
    match (&frame.start_bound, &frame.end_bound) {
        (Following(None), _) => fault("frame start cannot be UNBOUNDED FOLLOWING"),
        (Following(Some(_)), None) => fault("frame starting from following row cannot end with current row"),
        (_, Some(Preceding(None))) => fault("frame end cannot be UNBOUNDED PRECEDING"),
        (CurrentRow, Some(Preceding(Some(_)))) => fault("frame starting from current row cannot have preceding rows"),
        (Following(Some(_)), Some(CurrentRow | Preceding(Some(_)))) => {
            fault("frame starting from following row cannot have preceding rows")
        }
        _ => Ok(()),
    }
}

fn unsupported_part(
    name: &str,
    call: &ast::Function,
    list: &ast::FunctionArgumentList,
    is_own: bool,
) -> Option<String> {
    if !call.within_group.is_empty() || function::is_ordered_set(name) && !is_own {
        return Some(format!("OVER for the ordered-set aggregate {name}"));
    }
    if list.duplicate_treatment.is_some() {
        return Some("DISTINCT for window functions".to_owned());
    }
    if !list.clauses.is_empty() {
        return Some("ORDER BY in the arguments of a window function".to_owned());
    }
    if call.null_treatment.is_some() {
        return Some("IGNORE NULLS and RESPECT NULLS".to_owned());
    }
    (call.filter.is_some() && is_own).then(|| "FILTER for window functions that are no aggregates".to_owned())
}

/// The calls over windows in expressions, each once.
pub(super) fn calls_in<'e>(exprs: impl Iterator<Item = &'e Expr>) -> Vec<WindowCall> {
    fn visit(expr: &Expr, calls: &mut Vec<WindowCall>) {
        if let Expr::Window(call) = expr {
            if !calls.contains(call) {
                calls.push((**call).clone());
            }
            return;
        }
        expr.for_each_part(&mut |part| visit(part, calls));
    }
    let mut calls = Vec::new();
    exprs.for_each(|expr| visit(expr, &mut calls));
    calls
}

/// Puts the columns in which calls leave their results in the place of these.
pub(super) fn place_calls(expr: &mut Expr, columns: &[(WindowCall, usize)]) {
    if let Expr::Window(call) = expr {
        let column = columns.iter().find(|(known, _)| *known == **call);
        *expr = Expr::Column(column.expect("all calls were gathered").1);
        return;
    }
    expr.for_each_part_mut(&mut |part| place_calls(part, columns));
}
