//! The columns that `USING` and `NATURAL` make one of two, their aliases, and what the tables of `FROM` are called.
//!
//! Invariants:
//! - A name without a table means one column of two that are one; the other one is `is_merged`.
//! - The columns of an alias are those of the join, and no columns of a leaf: only the alias names them.

use std::rc::Rc;

use sqlparser::ast::{self, JoinConstraint, TableFactor};

use super::Binder;
use super::from::From;
use super::places::ColumnText;
use super::scope::{Level, Merged, ScopeColumn, Typed};
use crate::error::{Result, SqlError, SqlState};
use crate::expr::{Comparison, Expr};
use crate::parse;
use crate::plan::JoinKind;

/// Where the columns of both sides of a join begin, and the aliases of `USING` in them.
#[derive(Clone, Copy)]
pub(super) struct Sides {
    pub(super) start: usize,
    pub(super) middle: usize,
    pub(super) aliases: usize,
}

/// What a table of `FROM` is called.
pub(super) struct Called {
    name: String,
    /// The name of a table without an alias: tables of several schemas may be called so.
    table: Option<Vec<String>>,
}

impl From {
    /// Notes what a table or a subquery is called.
    pub(super) fn call(&mut self, factor: &TableFactor) -> Result<()> {
        let (name, alias, is_table) = match factor {
            TableFactor::Table { name, alias, args, .. } => (Some(name), alias, args.is_none()),
            TableFactor::Function { name, alias, .. } => (Some(name), alias, false),
            TableFactor::UNNEST { alias, .. } | TableFactor::Derived { alias, .. } => (None, alias, false),
            _ => return Ok(()),
        };
        if let Some(alias) = alias {
            return self.call_as(&parse::name(&alias.name), None);
        }
        let Some(parts) = name.map(parse::parts).transpose()? else { return Ok(()) };
        let last = parts.last().cloned().unwrap_or_default();
        self.call_as(&last, is_table.then_some(parts))
    }

    /// As [`From::call`], of this name; with the name of a table that has no alias.
    pub(super) fn call_as(&mut self, name: &str, table: Option<Vec<String>>) -> Result<()> {
        let differ = |one: &Option<Vec<String>>| matches!((one, &table), (Some(one), Some(other)) if one != other);
        if self.called.iter().any(|called| called.name == name && !differ(&called.table)) {
            let message = format!("table name \"{name}\" specified more than once");
            return Err(SqlError::new(SqlState::DuplicateAlias, message));
        }
        self.called.push(Called { name: name.to_owned(), table });
        Ok(())
    }
}

impl Binder<'_> {
    /// What `ON`, `USING` or `NATURAL` asks for.
    pub(super) fn join_condition(
        &self,
        from: &mut From,
        sides: Sides,
        kind: JoinKind,
        (constraint, factor): (&JoinConstraint, &TableFactor),
        outer: Option<&Level<'_>>,
    ) -> Result<Vec<Expr>> {
        let Sides { start, middle, .. } = sides;
        let mut alias = None;
        let names: Vec<String> = match constraint {
            JoinConstraint::None => return Ok(Vec::new()),
            JoinConstraint::On(condition) => {
                let mut level = Level::new(outer, &self.registers);
                level.columns = from.columns[sides.start..].to_vec();
                level.columns.extend_from_slice(&from.aliases[sides.aliases..]);
                level.refuse_aggregates("JOIN conditions");
                let mut conditions = Vec::new();
                self.condition(condition, "JOIN/ON", &level)?.split(&mut conditions);
                level.end(outer);
                return Ok(conditions);
            }
            JoinConstraint::Using(names) => {
                let (names, last) = parse::forms::split_alias(names);
                alias = last;
                names.iter().map(column_name).collect::<Result<Vec<_>>>()?
            }
            JoinConstraint::Natural => {
                let is_right = |name: &str| {
                    let mut right = from.columns[middle..].iter();
                    right.any(|column| !column.is_hidden && !column.is_merged && column.name == name)
                };
                let left = from.star.iter().filter(|at| (start..middle).contains(*at)).map(|at| &from.columns[*at]);
                let left = left.filter(|column| !column.is_hidden && !column.is_merged && is_right(&column.name));
                left.map(|column| column.name.clone()).collect()
            }
        };
        let mut conditions = Vec::with_capacity(names.len());
        let mut shown = Vec::with_capacity(names.len());
        let mut named = Vec::with_capacity(names.len());
        for name in &names {
            let (condition, texts, at) = self.merge_columns(from, sides, kind, name)?;
            conditions.push(condition);
            named.push(of_alias(&from.columns[at], &texts));
            shown.push(texts);
        }
        from.merge_star(start, middle, &names);
        if let Some(alias) = &alias {
            from.call_as(alias, None)?;
            named.iter_mut().for_each(|column| column.table = Some(alias.clone()));
            from.aliases.extend(named);
        }
        self.place_join(constraint, factor, shown);
        Ok(conditions)
    }

    /// Makes one column of two with a name. Returns the condition that they are equal, how both are written, and which of them
    /// the name means.
    fn merge_columns(
        &self,
        from: &mut From,
        Sides { start, middle, .. }: Sides,
        kind: JoinKind,
        name: &str,
    ) -> Result<(Expr, (ColumnText, ColumnText), usize)> {
        let find = |range: std::ops::Range<usize>, side: &str| {
            let mut found = range.filter(|at| from.columns[*at].name == name && !from.columns[*at].is_merged);
            match (found.next(), found.next()) {
                (Some(at), None) => Ok(at),
                (None, _) => {
                    let message = format!("column \"{name}\" specified in USING clause does not exist in {side} table");
                    Err(SqlError::new(SqlState::UndefinedColumn, message))
                }
                _ => {
                    let message = format!("common column name \"{name}\" appears more than once in {side} table");
                    Err(SqlError::new(SqlState::AmbiguousColumn, message))
                }
            }
        };
        let (left, right) = (find(start..middle, "left")?, find(middle..from.columns.len(), "right")?);
        let typed = |at: usize| {
            let column = &from.columns[at];
            column.is_read();
            let (expr, declared) = column.bare();
            Typed::new(expr.clone(), declared)
        };
        let text = |at: usize| ColumnText::of(&from.columns[at], true, false);
        let texts = (text(left), text(right));
        let sides = [typed(left), typed(right)];
        let (a, b) = self.comparable("=", sides[0].clone(), sides[1].clone())?;
        let (exprs, declared) = self.unify("JOIN/USING", sides.to_vec())?;
        let is_same = |side: usize| sides[side].declared.ty == declared.ty;
        let shown = match kind {
            JoinKind::Right => 1,
            JoinKind::Inner if !is_same(0) && is_same(1) => 1,
            _ => 0,
        };
        let (shown, other) = if shown == 0 { (left, right) } else { (right, left) };
        let at = usize::from(shown == right);
        from.columns[other].is_merged = true;
        let own = |text: &ColumnText| text.whole(false).unwrap_or_default();
        let merged = if kind == JoinKind::Full {
            let text = format!("COALESCE({}, {})", own(&texts.0), own(&texts.1));
            Some(Merged { expr: Expr::Coalesce(exprs), declared, text })
        } else if is_same(at) {
            from.columns[shown].merged.take().map(|merged| (*merged).clone())
        } else {
            let text = format!("CAST({} AS {})", own(if at == 0 { &texts.0 } else { &texts.1 }), declared.ty);
            Some(Merged { expr: exprs[at].clone(), declared: declared.ty.into(), text })
        };
        from.columns[shown].merged = merged.map(Rc::new);
        Ok((Expr::Compare(Box::new((Comparison::Equal, a, b))), texts, shown))
    }
}

/// The column of an alias of `USING` that two columns have become; `column` is what their name means.
fn of_alias(column: &ScopeColumn, texts: &(ColumnText, ColumnText)) -> ScopeColumn {
    let (expr, declared) = column.bare();
    let text = ColumnText::of(column, true, false).whole(false).unwrap_or_default();
    let tables = [&texts.0, &texts.1].into_iter().filter_map(|text| text.table.clone()).collect();
    ScopeColumn {
        table: None,
        name: column.name.clone(),
        expr: expr.clone(),
        declared,
        origin: column.origin,
        is_merged: true,
        is_hidden: false,
        present: None,
        origin_use: None,
        merged: Some(Rc::new(Merged { expr: expr.clone(), declared, text })),
        is_of_join: false,
        own_name: None,
        of_using: Some(tables),
        field: None,
    }
}

/// A name in `USING`.
fn column_name(name: &ast::ObjectName) -> Result<String> {
    match &parse::parts(name)?[..] {
        [name] => Ok(name.clone()),
        _ => Err(SqlError::new(SqlState::SyntaxError, "syntax error at or near \".\"").at_node(name)),
    }
}
