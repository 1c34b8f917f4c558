//! `GROUP BY`: expressions, grouping sets, and what may stand above them.
//!
//! Absent: `GROUP BY DISTINCT`, and `GROUPING SETS` within another one; both are syntax errors of the parser.

use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr};

use super::Binder;
use super::from::From;
use super::query::number_of;
use super::scope::{Level, ScopeColumn};
use super::select::{Listed, Output, listed_as};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::function;
use crate::parse;
use crate::plan::AggregateCall;
use crate::plan::join::Source;

/// So many grouping sets may a query have.
const SETS_MAX: usize = 4096;

/// So many elements may `CUBE` have.
const CUBE_MAX: usize = 12;

/// What `GROUP BY` says.
pub(super) struct Groups {
    /// All expressions, each once.
    pub(super) exprs: Vec<Expr>,
    /// Which of them each grouping set has.
    pub(super) sets: Vec<Vec<usize>>,
    /// Whether there is a `GROUP BY`.
    pub(super) is_there: bool,
}

fn grouping_error<T>(message: impl Into<String>) -> Result<T> {
    Err(SqlError::new(SqlState::GroupingError, message))
}

fn too_many_sets() -> SqlError {
    let message = format!("too many grouping sets present (maximum {SETS_MAX})");
    SqlError::new(SqlState::StatementTooComplex, message)
}

impl Binder<'_> {
    /// Binds `GROUP BY`.
    pub(super) fn groups(&self, group_by: &GroupByExpr, list: &[Listed], level: &Level<'_>) -> Result<Groups> {
        let GroupByExpr::Expressions(exprs, modifiers) = group_by else {
            return Err(SqlError::unsupported("GROUP BY ALL"));
        };
        if !modifiers.is_empty() {
            return Err(SqlError::unsupported("GROUP BY with modifiers"));
        }
        let mut groups = Groups { exprs: Vec::new(), sets: vec![Vec::new()], is_there: !exprs.is_empty() };
        for expr in exprs {
            let sets = self.grouping_sets(expr, &mut groups.exprs, list, level)?;
            if groups.sets.len() * sets.len() > SETS_MAX {
                return Err(too_many_sets());
            }
            // Each set of what stands before with each set of this one.
            let before = std::mem::take(&mut groups.sets);
            for first in &before {
                for second in &sets {
                    groups.sets.push(union(first, second));
                }
            }
        }
        Ok(groups)
    }

    /// The grouping sets that one element stands for, as positions in `known`.
    fn grouping_sets(
        &self,
        expr: &ast::Expr,
        known: &mut Vec<Expr>,
        list: &[Listed],
        level: &Level<'_>,
    ) -> Result<Vec<Vec<usize>>> {
        let mut set_of = |parts: &[ast::Expr]| {
            let mut set = Vec::new();
            for part in parts {
                for nested in self.grouping_sets(part, known, list, level)? {
                    set = union(&set, &nested);
                }
            }
            Ok(set)
        };
        match expr {
            ast::Expr::GroupingSets(sets) => {
                let mut all = Vec::new();
                for set in sets {
                    match &set[..] {
                        [one] => all.extend(self.grouping_sets(one, known, list, level)?),
                        several => {
                            let mut set = Vec::new();
                            for part in several {
                                set = union(&set, &self.grouping_sets(part, known, list, level)?.concat());
                            }
                            all.push(set);
                        }
                    }
                    if all.len() > SETS_MAX {
                        return Err(too_many_sets());
                    }
                }
                Ok(all)
            }
            ast::Expr::Rollup(parts) => {
                let parts = parts.iter().map(|part| set_of(part)).collect::<Result<Vec<_>>>()?;
                rollup(&parts)
            }
            ast::Expr::Cube(parts) => {
                let parts = parts.iter().map(|part| set_of(part)).collect::<Result<Vec<_>>>()?;
                cube(&parts)
            }
            ast::Expr::Tuple(parts) => Ok(vec![set_of(parts)?]),
            // Within GROUPING SETS these two look like functions.
            ast::Expr::Function(call) if is_sets(call, "rollup") => {
                let parts = arguments(call)?;
                rollup(&parts.iter().map(|part| set_of(std::slice::from_ref(*part))).collect::<Result<Vec<_>>>()?)
            }
            ast::Expr::Function(call) if is_sets(call, "cube") => {
                let parts = arguments(call)?;
                cube(&parts.iter().map(|part| set_of(std::slice::from_ref(*part))).collect::<Result<Vec<_>>>()?)
            }
            one => {
                let bound = self.group(one, list, level)?;
                let at = known.iter().position(|group| *group == bound).unwrap_or_else(|| {
                    known.push(bound);
                    known.len() - 1
                });
                Ok(vec![vec![at]])
            }
        }
    }

    /// One expression of `GROUP BY`: a column of the list, by name or number, or any expression.
    fn group(&self, expr: &ast::Expr, list: &[Listed], level: &Level<'_>) -> Result<Expr> {
        let listed = number_of(expr, list.len())?.map(|at| &list[at].expr);
        let named = match expr {
            _ if listed.is_some() => None,
            // A column of the tables comes before one of the list.
            ast::Expr::Identifier(ident) => match level.resolve(None, &parse::name(ident)) {
                Ok(Some(_)) => None,
                _ => listed_as(list, ident, "GROUP BY")?.map(|at| &list[at].expr),
            },
            expr => list.iter().find(|listed| listed.written.as_deref() == Some(expr)).map(|listed| &listed.expr),
        };
        let Some(found) = listed.or(named) else {
            let typed = self.expr(expr, level)?;
            return self.sortable(typed);
        };
        if found.any(&|part| matches!(part, Expr::Aggregate(_) | Expr::Grouping(_))) {
            return grouping_error("aggregate functions are not allowed in GROUP BY");
        }
        if found.any(&|part| matches!(part, Expr::Window(_))) {
            let message = "window functions are not allowed in GROUP BY";
            return Err(SqlError::new(SqlState::WindowingError, message));
        }
        Ok(found.clone())
    }
}

fn union(first: &[usize], second: &[usize]) -> Vec<usize> {
    let mut both = first.to_vec();
    for at in second {
        if !both.contains(at) {
            both.push(*at);
        }
    }
    both
}

/// All first elements: from all of them to none.
fn rollup(parts: &[Vec<usize>]) -> Result<Vec<Vec<usize>>> {
    if parts.len() >= SETS_MAX {
        return Err(too_many_sets());
    }
    let joined = |count: usize| parts[..count].iter().fold(Vec::new(), |set, part| union(&set, part));
    Ok((0..=parts.len()).rev().map(joined).collect())
}

/// All subsets of the elements.
fn cube(parts: &[Vec<usize>]) -> Result<Vec<Vec<usize>>> {
    if parts.len() > CUBE_MAX {
        let message = format!("CUBE is limited to {CUBE_MAX} elements");
        return Err(SqlError::new(SqlState::TooManyColumns, message));
    }
    let chosen = |mask: usize| {
        let is_in = |at: &usize| mask >> (parts.len() - 1 - at) & 1 == 1;
        (0..parts.len()).filter(is_in).fold(Vec::new(), |set, at| union(&set, &parts[at]))
    };
    Ok((0..1_usize << parts.len()).rev().map(chosen).collect())
}

fn is_sets(call: &ast::Function, name: &str) -> bool {
    parse::parts(&call.name).is_ok_and(|parts| parts == [name])
}

fn arguments(call: &ast::Function) -> Result<Vec<&ast::Expr>> {
    let FunctionArguments::List(list) = &call.args else { return Ok(Vec::new()) };
    let argument = |argument| match argument {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref expr)) => Ok(expr),
        _ => Err(SqlError::new(SqlState::SyntaxError, format!("{} takes expressions", call.name))),
    };
    list.args.iter().map(argument).collect()
}

impl Groups {
    /// How many values a row of the groups has.
    pub(super) fn width(&self, calls: &[AggregateCall]) -> usize {
        self.exprs.len() + calls.len() + usize::from(self.sets.len() > 1)
    }

    /// Adds the columns of tables whose primary key rows are grouped by, where something uses them: the key says what they are.
    pub(super) fn add_dependent(&mut self, from: &From, output: &Output) {
        if self.exprs.is_empty() || self.sets.len() != 1 {
            return;
        }
        let mut used = Vec::new();
        self.uses(output, &mut used);
        for leaf in &from.leaves {
            let Source::Table { relation, .. } = &leaf.source else { continue };
            let start = leaf.columns.start;
            let has = |column: &usize| self.exprs.contains(&Expr::Column(start + column));
            if relation.has_hidden_key || !relation.key.iter().all(has) {
                continue;
            }
            for column in used.iter().filter(|column| leaf.columns.contains(column)) {
                let column = Expr::Column(*column);
                if !self.exprs.contains(&column) {
                    self.exprs.push(column);
                    self.sets[0].push(self.exprs.len() - 1);
                }
            }
        }
    }

    /// The columns that stand outside of what rows are grouped by.
    fn uses(&self, output: &Output, used: &mut Vec<usize>) {
        fn visit(expr: &Expr, groups: &[Expr], used: &mut Vec<usize>) {
            match expr {
                expr if groups.contains(expr) => {}
                Expr::Column(at) => used.push(*at),
                expr => expr.for_each_part(&mut |part| visit(part, groups, used)),
            }
        }
        output.exprs().for_each(|expr| visit(expr, &self.exprs, used));
    }

    /// Makes expressions over rows ones over groups.
    pub(super) fn rewrite(&self, calls: &[AggregateCall], columns: &[ScopeColumn], output: &mut Output) -> Result<()> {
        let grouping = Grouping { groups: self, calls: calls.len(), columns };
        output.exprs_mut().try_for_each(|expr| grouping.rewrite(expr))?;
        // What is said once for a group reads its columns alone. It is evaluated for a row, so the result is not needed.
        for call in calls {
            let is_ordered = function::is_ordered_set(&call.name);
            let direct = call.arguments.len().saturating_sub(1);
            let direct = call.arguments[..if is_ordered { direct } else { 0 }].iter().chain(&call.hypothetical);
            direct.cloned().try_for_each(|mut expr| {
                grouping.rewrite(&mut expr).map_err(|error| {
                    error.with_detail("Direct arguments of an ordered-set aggregate must use only grouped columns.")
                })
            })?;
        }
        Ok(())
    }
}

/// Rewrites expressions over rows into expressions over groups.
struct Grouping<'g> {
    groups: &'g Groups,
    calls: usize,
    columns: &'g [ScopeColumn],
}

impl Grouping<'_> {
    fn position(&self, expr: &Expr) -> Option<usize> {
        self.groups.exprs.iter().position(|group| group == expr)
    }

    fn rewrite(&self, expr: &mut Expr) -> Result<()> {
        if let Some(at) = self.position(expr) {
            *expr = Expr::Column(at);
            return Ok(());
        }
        match expr {
            Expr::Aggregate(at) => {
                *expr = Expr::Column(self.groups.exprs.len() + *at);
                return Ok(());
            }
            Expr::Grouping(parts) => {
                *expr = self.absent(parts)?;
                return Ok(());
            }
            Expr::Column(_) => {
                let named = self.columns.iter().find(|column| column.expr == *expr);
                let name = named.map_or_else(String::new, |column| match &column.table {
                    Some(table) => format!("{table}.{}", column.name),
                    None => column.name.clone(),
                });
                return grouping_error(format!(
                    "column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function"
                ));
            }
            _ => {}
        }
        let mut result = Ok(());
        expr.for_each_part_mut(&mut |part| {
            if result.is_ok() {
                result = self.rewrite(part);
            }
        });
        result
    }

    /// The value of `GROUPING`: a bit for each part, which is 1 where the grouping set of the row does not have it.
    fn absent(&self, parts: &[Expr]) -> Result<Expr> {
        let mut bits = vec![0_i64; self.groups.sets.len()];
        for part in parts {
            let Some(at) = self.position(part) else {
                return grouping_error(
                    "arguments to GROUPING must be grouping expressions of the associated query level",
                );
            };
            for (bits, set) in bits.iter_mut().zip(&self.groups.sets) {
                *bits = *bits << 1 | i64::from(!set.contains(&at));
            }
        }
        if let [bits] = bits[..] {
            return Ok(Expr::Constant(Datum::Int(bits)));
        }
        let values = Expr::Constant(Datum::Array(bits.into_iter().map(Datum::Int).collect()));
        let set = Expr::Column(self.groups.exprs.len() + self.calls);
        Ok(Expr::Subscript(Box::new((values, set))))
    }
}
