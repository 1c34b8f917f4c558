//! Expressions that are bound: names are columns of the row at hand, types are known, conversions are written out.
//!
//! Invariants:
//! - A column is a position in the row that the operator gives. Whoever moves an expression to another operator rewrites it.
//! - What a subquery takes from the query around it lies in registers, which are written before the subquery is opened.
//! - [`Expr::Aggregate`], [`Expr::Window`], [`Expr::Grouping`] and [`Expr::Set`] are there while a query is bound, and never when
//!   it runs.

use std::sync::Arc;

use crate::datum::Datum;
use crate::function::{Function, ResolvedSet};
use crate::plan::Plan;
use crate::plan::window::WindowCall;
use crate::record::RowType;
use crate::types::{Declared, Type};

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Constant(Datum),
    /// The parameter with this position, from 0 on.
    Parameter(usize),
    /// The column of the row with this position.
    Column(usize),
    /// What the query around has left there.
    Register(usize),
    /// The aggregate with this number among those of the query.
    Aggregate(usize),
    /// A call over a window.
    Window(Box<WindowCall>),
    /// A call of a function that returns a set.
    Set(Box<SetCall>),
    /// `GROUPING`: which of these the grouping set of the row does not have.
    Grouping(Vec<Expr>),
    Call(Box<Call>),
    Cast(Box<Cast>),
    Compare(Box<(Comparison, Expr, Expr)>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    /// `IS TRUE`, or with `false` `IS FALSE`.
    Is(Box<Expr>, bool),
    IsDistinct(Box<(Expr, Expr)>),
    Case(Box<Case>),
    /// The operand of the innermost `CASE` around it that has one ([`Case::operand`]).
    Operand,
    Coalesce(Vec<Expr>),
    /// The greatest, or with `false` the least, of those that are not NULL.
    Extreme(Vec<Expr>, bool),
    /// Whether the first is among the others, or with `true` is not.
    InList(Box<(Expr, Vec<Expr>)>, bool),
    Array(Vec<Expr>),
    /// A row, with its type where it is a value of its own.
    Row(Vec<Expr>, Option<Arc<RowType>>),
    /// A comparison with some element of an array, or with `true` with all.
    Quantified(Box<(Comparison, Expr, Expr)>, bool),
    Subscript(Box<(Expr, Expr)>),
    Slice(Box<(Expr, Option<Expr>, Option<Expr>)>),
    Subquery(Box<Subquery>),
}

/// A call of a function or an operator.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: &'static Function,
    pub(crate) arguments: Vec<Expr>,
    /// Of the arguments, as the function takes them.
    pub(crate) types: Vec<Type>,
    pub(crate) returns: Type,
}

impl PartialEq for Call {
    fn eq(&self, other: &Call) -> bool {
        std::ptr::eq(self.function, other.function)
            && self.arguments == other.arguments
            && self.types == other.types
            && self.returns == other.returns
    }
}

/// A call of a function that returns a set, of which rows are made.
#[derive(Clone, Debug)]
pub(crate) struct SetCall {
    pub(crate) function: ResolvedSet,
    pub(crate) arguments: Vec<Expr>,
}

impl PartialEq for SetCall {
    fn eq(&self, other: &SetCall) -> bool {
        let (one, two) = (&self.function, &other.function);
        one.name() == two.name()
            && (&one.arguments, &one.columns) == (&two.arguments, &two.columns)
            && self.arguments == other.arguments
    }
}

/// A conversion.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cast {
    pub(crate) input: Expr,
    pub(crate) from: Type,
    pub(crate) to: Declared,
    pub(crate) is_explicit: bool,
}

/// The comparisons that all types with an order share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison with that symbol.
    pub(crate) fn of(symbol: &str) -> Option<Comparison> {
        Some(match symbol {
            "=" => Comparison::Equal,
            "<>" | "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            _ => return None,
        })
    }

    /// Whether it holds of values that compare so.
    pub(crate) fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
    }

    /// The comparison of the same values the other way round.
    pub(crate) fn swapped(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same => same,
        }
    }
}

/// `CASE`: the result of the first condition that is true.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Case {
    /// What [`Expr::Operand`] stands for in the branches. It is evaluated once.
    pub(crate) operand: Option<Expr>,
    pub(crate) branches: Vec<(Expr, Expr)>,
    pub(crate) otherwise: Expr,
}

/// A subquery in an expression.
#[derive(Clone, Debug)]
pub(crate) struct Subquery {
    pub(crate) plan: Arc<Plan>,
    /// Which registers it reads, and what of the row at hand they hold.
    pub(crate) captures: Vec<(usize, Expr)>,
    pub(crate) asks: Asks,
    /// Where its result is kept, if it captures nothing.
    pub(crate) slot: usize,
}

impl PartialEq for Subquery {
    fn eq(&self, other: &Subquery) -> bool {
        Arc::ptr_eq(&self.plan, &other.plan) && self.captures == other.captures
    }
}

/// What is asked of a subquery.
#[derive(Clone, Debug)]
pub(crate) enum Asks {
    /// The value of its only row, NULL where there is none.
    Value,
    /// All values of its only row, NULL where there is none.
    Row,
    /// Whether there is a row.
    Exists,
    /// Whether a comparison with some row, or with `true` with all, holds of these values.
    Compares(Comparison, Vec<Expr>, bool),
    /// The array of all values.
    Array,
}

impl Expr {
    /// NULL.
    pub(crate) const NULL: Expr = Expr::Constant(Datum::Null);

    /// Whether all of `conditions` are true; no condition is true.
    pub(crate) fn all(mut conditions: Vec<Expr>) -> Option<Expr> {
        match conditions.len() {
            0 => None,
            1 => conditions.pop(),
            _ => Some(Expr::And(conditions)),
        }
    }

    /// Splits a condition into those that must all be true.
    pub(crate) fn split(self, into: &mut Vec<Expr>) {
        match self {
            Expr::And(parts) => parts.into_iter().for_each(|part| part.split(into)),
            other => into.push(other),
        }
    }

    /// Calls `visit` for each direct part.
    pub(crate) fn for_each_part<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match self {
            Expr::Constant(_) | Expr::Parameter(_) | Expr::Column(_) | Expr::Register(_) | Expr::Operand => {}
            Expr::Aggregate(_) => {}
            Expr::Window(call) => call.for_each_part(visit),
            Expr::Set(call) => call.arguments.iter().for_each(visit),
            Expr::Call(call) => call.arguments.iter().for_each(visit),
            Expr::Cast(cast) => visit(&cast.input),
            Expr::Compare(parts) | Expr::Quantified(parts, _) => {
                visit(&parts.1);
                visit(&parts.2);
            }
            Expr::And(parts) | Expr::Or(parts) | Expr::Coalesce(parts) | Expr::Extreme(parts, _) => {
                parts.iter().for_each(visit);
            }
            Expr::Array(parts) | Expr::Row(parts, _) | Expr::Grouping(parts) => parts.iter().for_each(visit),
            Expr::Not(part) | Expr::IsNull(part) | Expr::Is(part, _) => visit(part),
            Expr::IsDistinct(parts) | Expr::Subscript(parts) => {
                visit(&parts.0);
                visit(&parts.1);
            }
            Expr::Case(case) => {
                case.operand.iter().for_each(&mut *visit);
                for (condition, result) in &case.branches {
                    visit(condition);
                    visit(result);
                }
                visit(&case.otherwise);
            }
            Expr::InList(parts, _) => {
                visit(&parts.0);
                parts.1.iter().for_each(visit);
            }
            Expr::Slice(parts) => {
                visit(&parts.0);
                parts.1.iter().chain(&parts.2).for_each(visit);
            }
            Expr::Subquery(subquery) => {
                subquery.captures.iter().for_each(|(_, part)| visit(part));
                if let Asks::Compares(_, parts, _) = &subquery.asks {
                    parts.iter().for_each(visit);
                }
            }
        }
    }

    /// Calls `visit` for each direct part, to change it.
    pub(crate) fn for_each_part_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match self {
            Expr::Constant(_) | Expr::Parameter(_) | Expr::Column(_) | Expr::Register(_) | Expr::Operand => {}
            Expr::Aggregate(_) => {}
            Expr::Window(call) => call.for_each_part_mut(visit),
            Expr::Set(call) => call.arguments.iter_mut().for_each(visit),
            Expr::Call(call) => call.arguments.iter_mut().for_each(visit),
            Expr::Cast(cast) => visit(&mut cast.input),
            Expr::Compare(parts) | Expr::Quantified(parts, _) => {
                visit(&mut parts.1);
                visit(&mut parts.2);
            }
            Expr::And(parts) | Expr::Or(parts) | Expr::Coalesce(parts) | Expr::Extreme(parts, _) => {
                parts.iter_mut().for_each(visit);
            }
            Expr::Array(parts) | Expr::Row(parts, _) | Expr::Grouping(parts) => parts.iter_mut().for_each(visit),
            Expr::Not(part) | Expr::IsNull(part) | Expr::Is(part, _) => visit(part),
            Expr::IsDistinct(parts) | Expr::Subscript(parts) => {
                visit(&mut parts.0);
                visit(&mut parts.1);
            }
            Expr::Case(case) => {
                case.operand.iter_mut().for_each(&mut *visit);
                for (condition, result) in &mut case.branches {
                    visit(condition);
                    visit(result);
                }
                visit(&mut case.otherwise);
            }
            Expr::InList(parts, _) => {
                visit(&mut parts.0);
                parts.1.iter_mut().for_each(visit);
            }
            Expr::Slice(parts) => {
                visit(&mut parts.0);
                let (from, to) = (&mut parts.1, &mut parts.2);
                from.iter_mut().chain(to).for_each(visit);
            }
            Expr::Subquery(subquery) => {
                subquery.captures.iter_mut().for_each(|(_, part)| visit(part));
                if let Asks::Compares(_, parts, _) = &mut subquery.asks {
                    parts.iter_mut().for_each(visit);
                }
            }
        }
    }

    /// Whether `is_so` holds of the expression or a part of it.
    pub(crate) fn any(&self, is_so: &dyn Fn(&Expr) -> bool) -> bool {
        let mut found = is_so(self);
        self.for_each_part(&mut |part| found = found || part.any(is_so));
        found
    }

    /// Calls `visit` with each column that it reads.
    pub(crate) fn for_each_column(&self, visit: &mut dyn FnMut(usize)) {
        if let Expr::Column(at) = self {
            visit(*at);
        }
        self.for_each_part(&mut |part| part.for_each_column(visit));
    }

    /// Gives each column the position that `position` says.
    pub(crate) fn move_columns(&mut self, position: &dyn Fn(usize) -> usize) {
        if let Expr::Column(at) = self {
            *at = position(*at);
        }
        self.for_each_part_mut(&mut |part| part.move_columns(position));
    }

    /// Puts expressions in the place of the columns for which `meant` has one.
    pub(crate) fn replace_columns(&mut self, meant: &dyn Fn(usize) -> Option<Expr>) {
        match self {
            Expr::Column(at) => {
                if let Some(expr) = meant(*at) {
                    *self = expr;
                }
            }
            other => other.for_each_part_mut(&mut |part| part.replace_columns(meant)),
        }
    }

    /// Whether it has more parts than a number says, with their parts.
    pub(crate) fn has_more_than(&self, parts_max: usize) -> bool {
        fn count(expr: &Expr, left: &mut usize) {
            if *left > 0 {
                *left -= 1;
                expr.for_each_part(&mut |part| count(part, left));
            }
        }
        let mut left = parts_max.saturating_add(1);
        count(self, &mut left);
        left == 0
    }

    /// Whether it reads no column: it is the same for all rows of a query.
    pub(crate) fn is_fixed(&self) -> bool {
        !self.has_set()
            && !self
                .any(&|part| matches!(part, Expr::Column(_) | Expr::Aggregate(_) | Expr::Window(_) | Expr::Grouping(_)))
    }

    /// Whether it calls a function that returns a set.
    pub(crate) fn has_set(&self) -> bool {
        self.any(&|part| matches!(part, Expr::Set(_)))
    }

    /// Whether it gives the same value for the same row for ever, whatever is set.
    pub(crate) fn is_immutable(&self) -> bool {
        use crate::function::Volatility::Immutable;
        let may_change = |part: &Expr| match part {
            Expr::Call(call) if call.function.volatility == Immutable => false,
            // It shows a value as a cast does.
            Expr::Call(call) if call.function.name == "||" => {
                call.types.iter().any(|ty| !crate::value::is_immutable(*ty, Type::Text))
            }
            Expr::Call(_) => true,
            Expr::Cast(cast) => !crate::value::is_immutable(cast.from, cast.to.ty),
            _ => false,
        };
        !self.any(&may_change)
    }

    /// Whether it calls a function that may give something else each time.
    pub(crate) fn is_volatile(&self) -> bool {
        use crate::function::Volatility::Volatile;
        self.any(&|part| matches!(part, Expr::Call(call) if call.function.volatility == Volatile))
    }
}
