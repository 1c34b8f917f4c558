//! Which columns a name can mean.
//!
//! Invariants:
//! - A level is one query. Names that it does not have are looked up in the query around it, and what they mean there is
//!   captured: it lies in a register while the inner query runs.
//! - A name that two columns of a level have means neither.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::places::ColumnText;
use super::uses::Use;
use super::window::NamedWindow;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::{Case, Expr};
use crate::plan::AggregateCall;
use crate::record::RowType;
use crate::types::{Declared, Type};

/// A bound expression with its type.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) expr: Expr,
    pub(crate) declared: Declared,
    /// The fields of a row, where they are known, with their names.
    fields: Vec<(String, Typed)>,
    /// Whether the row is written as one: it is compared value by value.
    is_written: bool,
}

impl Typed {
    pub(crate) fn new(expr: Expr, declared: impl Into<Declared>) -> Typed {
        Typed { expr, declared: declared.into(), fields: Vec::new(), is_written: false }
    }

    /// A row that is written as one of these.
    pub(crate) fn row(parts: impl IntoIterator<Item = Typed>) -> Typed {
        let fields = parts.into_iter().enumerate().map(|(at, part)| (format!("f{}", at + 1), part));
        Typed { is_written: true, ..Typed::record(fields.collect()) }
    }

    /// A row with these fields.
    fn record(fields: Vec<(String, Typed)>) -> Typed {
        let types = fields.iter().map(|(name, field)| (name.clone(), field.declared));
        let row_type = Some(Arc::new(RowType(types.collect())));
        let exprs = fields.iter().map(|(_, field)| field.expr.clone()).collect();
        Typed { expr: Expr::Row(exprs, row_type), declared: Type::Record.into(), fields, is_written: false }
    }

    /// The parts of a row that is written as one.
    pub(crate) fn parts(&self) -> Option<Vec<Typed>> {
        self.is_written.then(|| self.fields.iter().map(|(_, field)| field.clone()).collect())
    }

    /// The fields of a row, where they are known, with their names.
    pub(crate) fn fields(&self) -> &[(String, Typed)] {
        &self.fields
    }
}

/// What `USING` has made of two columns.
#[derive(Clone, Debug)]
pub(crate) struct Merged {
    pub(crate) expr: Expr,
    pub(crate) declared: Declared,
    /// How it is written.
    pub(crate) text: String,
}

/// A column that a query can name.
#[derive(Clone, Debug)]
pub(crate) struct ScopeColumn {
    /// The table, or its alias.
    pub(crate) table: Option<String>,
    pub(crate) name: String,
    pub(crate) expr: Expr,
    pub(crate) declared: Declared,
    /// See [`Column::origin`](crate::session::Column::origin).
    pub(crate) origin: (u32, i16),
    /// Whether its name without the table's means another column: one that `USING` has joined it with.
    pub(crate) is_merged: bool,
    /// Whether `*` leaves it out, and only its own name means it.
    pub(crate) is_hidden: bool,
    /// Of a table that an outer join may leave out: what is not all NULL of a row that is there.
    pub(crate) present: Option<Rc<[Expr]>>,
    /// The table or view that it is a column of, and its position there.
    pub(crate) origin_use: Option<(Rc<Use>, usize)>,
    /// Where `USING` has made something else of it: what its name without the table's means.
    pub(crate) merged: Option<Rc<Merged>>,
    /// Whether its table is a join that has a name.
    pub(crate) is_of_join: bool,
    /// Whether its table is an alias of `USING`: the tables whose columns it is made of.
    pub(crate) of_using: Option<Rc<[String]>>,
    /// Its name where the list of names behind the alias of its table is left out.
    pub(crate) own_name: Option<String>,
    /// What it is called now as a field of its row, where the query of a view knows it by another name, or not at all.
    pub(crate) field: Option<String>,
}

impl ScopeColumn {
    /// What its name means without the table's.
    pub(crate) fn bare(&self) -> (&Expr, Declared) {
        self.merged.as_ref().map_or((&self.expr, self.declared), |merged| (&merged.expr, merged.declared))
    }

    /// Whether its table has this alias.
    pub(super) fn is_of(&self, table: &str) -> bool {
        self.table.as_deref() == Some(table)
    }

    /// Says that it is read.
    pub(crate) fn is_read(&self) {
        if let Some((used, at)) = &self.origin_use {
            used.reads(*at);
        }
    }
}

/// The names of a query, and of those around it.
pub(crate) struct Level<'p> {
    pub(crate) columns: Vec<ScopeColumn>,
    /// Their order in `*`, where it is another one.
    pub(crate) star: Vec<usize>,
    /// Columns of the statement that cannot be named here.
    pub(crate) concealed: Vec<ScopeColumn>,
    parent: Option<&'p Level<'p>>,
    /// Registers, and what of the level around they hold.
    pub(crate) captures: RefCell<Vec<(usize, Expr)>>,
    registers: &'p Cell<usize>,
    /// Whether it stands between a query and the one around it, and has no rows of its own: it captures nothing, but keeps what
    /// the query within does.
    is_between: bool,
    /// Aggregates of the query, where they may stand; else where the expression stands.
    pub(crate) aggregates: RefCell<Aggregates>,
    /// What becomes of calls over windows.
    pub(crate) windows: Cell<Windows>,
    /// Whether calls of functions that return sets may stand in what is bound now.
    pub(crate) takes_sets: Cell<bool>,
    /// Whether literals of the list keep their unknown type, for a set operation to say it.
    pub(crate) keeps_unknown: Cell<bool>,
    /// The windows of the clause `WINDOW`.
    pub(crate) named_windows: RefCell<Vec<NamedWindow>>,
}

/// What becomes of a call over a window in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Windows {
    /// It is refused, because the expression stands here.
    Refused(&'static str),
    /// It is refused where aggregates are.
    AsAggregates,
}

/// What becomes of an aggregate function in an expression.
#[derive(Debug)]
pub(crate) enum Aggregates {
    /// It is one more of these.
    Gathered(Vec<AggregateCall>),
    /// It is refused, because the expression stands here.
    Refused(&'static str),
}

impl<'p> Level<'p> {
    pub(crate) fn new(parent: Option<&'p Level<'p>>, registers: &'p Cell<usize>) -> Level<'p> {
        Level {
            columns: Vec::new(),
            star: Vec::new(),
            concealed: Vec::new(),
            parent,
            captures: RefCell::default(),
            registers,
            is_between: false,
            aggregates: RefCell::new(Aggregates::Refused("FROM")),
            windows: Cell::new(Windows::AsAggregates),
            takes_sets: Cell::default(),
            keeps_unknown: Cell::default(),
            named_windows: RefCell::default(),
        }
    }

    /// The place in which a query within another one is bound.
    pub(crate) fn between(parent: Option<&'p Level<'p>>, registers: &'p Cell<usize>) -> Level<'p> {
        Level { is_between: true, ..Level::new(parent, registers) }
    }

    /// Ends the level; what it has captured is there when the query around is.
    pub(crate) fn end(self, outer: Option<&Level<'_>>) {
        if let Some(outer) = outer {
            outer.captures.borrow_mut().extend(self.captures.into_inner());
        }
    }

    /// Says where the expressions stand that are bound next.
    pub(crate) fn refuse_aggregates(&self, place: &'static str) {
        *self.aggregates.borrow_mut() = Aggregates::Refused(place);
    }

    /// Binds something within which calls over windows are refused.
    pub(crate) fn refusing_windows<T>(&self, place: &'static str, bind: impl FnOnce() -> T) -> T {
        let outside = self.windows.replace(Windows::Refused(place));
        let bound = bind();
        self.windows.set(outside);
        bound
    }

    /// Where expressions stand, if calls over windows are refused there.
    pub(crate) fn refuses_windows(&self) -> Option<&'static str> {
        match (self.windows.get(), &*self.aggregates.borrow()) {
            (Windows::Refused(place), _) => Some(place),
            (Windows::AsAggregates, Aggregates::Refused(place)) => Some(*place),
            (Windows::AsAggregates, Aggregates::Gathered(_)) => None,
        }
    }

    /// Binds something in which functions that return sets may be called.
    pub(crate) fn taking_sets<T>(&self, bind: impl FnOnce() -> T) -> T {
        let outside = self.takes_sets.replace(true);
        let bound = bind();
        self.takes_sets.set(outside);
        bound
    }

    /// The column that a name means, with the alias of its table if that is given.
    pub(crate) fn resolve(&self, table: Option<&str>, name: &str) -> Result<Option<Typed>> {
        let fits = |column: &&ScopeColumn| {
            column.name == name
                && match table {
                    Some(table) => column.is_of(table),
                    None => !column.is_merged,
                }
        };
        let mut found = self.columns.iter().filter(fits);
        match (found.next(), found.next()) {
            (Some(column), None) => {
                column.is_read();
                let (expr, declared) = if table.is_none() { column.bare() } else { (&column.expr, column.declared) };
                Ok(Some(Typed::new(expr.clone(), declared)))
            }
            (Some(_), Some(_)) => {
                let message = format!("column reference \"{name}\" is ambiguous");
                Err(SqlError::new(SqlState::AmbiguousColumn, message))
            }
            (None, _) => {
                let Some(outer) = self.parent.map(|parent| parent.resolve(table, name)).transpose()?.flatten() else {
                    return Ok(None);
                };
                let expr = if self.is_between { outer.expr } else { self.capture(outer.expr) };
                Ok(Some(Typed::new(expr, outer.declared)))
            }
        }
    }

    /// All columns of a table, as a row: what its alias means as a value.
    pub(crate) fn whole_row(&self, table: &str) -> Option<Typed> {
        // A row has all columns, also those that a view knows nothing of.
        let is_field = |column: &&ScopeColumn| column.table.as_deref() == Some(table);
        let is_shown = |column: &&ScopeColumn| !column.is_hidden || column.field.is_some();
        let columns: Vec<&ScopeColumn> = self.columns.iter().filter(is_field).filter(is_shown).collect();
        let Some(first) = columns.first() else {
            let outer = self.parent?.whole_row(table)?;
            return Some(if self.is_between { outer } else { Typed::new(self.capture(outer.expr), outer.declared) });
        };
        columns.iter().for_each(|column| column.is_read());
        let name = |column: &ScopeColumn| column.field.as_ref().unwrap_or(&column.name).clone();
        let field = |column: &&ScopeColumn| (name(column), Typed::new(column.expr.clone(), column.declared));
        let mut row = Typed::record(columns.iter().map(field).collect());
        if let Some(present) = &first.present {
            let is_null = present.iter().map(|expr| Expr::IsNull(Box::new(expr.clone())));
            let branches = vec![(Expr::And(is_null.collect()), Expr::NULL)];
            row.expr = Expr::Case(Box::new(Case { operand: None, branches, otherwise: row.expr }));
        }
        Some(row)
    }

    /// All columns of a table, each by itself.
    pub(crate) fn all_of(&self, table: &str) -> Result<Option<Vec<Typed>>> {
        let mut level = self;
        while !level.columns.iter().any(|column| column.is_of(table)) {
            let Some(parent) = level.parent else { return Ok(None) };
            level = parent;
        }
        let names: Vec<&str> = level.of_table(table).map(|column| column.name.as_str()).collect();
        names
            .into_iter()
            .filter_map(|name| self.resolve(Some(table), name).transpose())
            .collect::<Result<_>>()
            .map(Some)
    }

    /// The columns in the order of `*`.
    pub(crate) fn starred(&self) -> impl Iterator<Item = &ScopeColumn> {
        let natural = if self.star.is_empty() { 0..self.columns.len() } else { 0..0 };
        self.star.iter().copied().chain(natural).map(|at| &self.columns[at])
    }

    /// The columns of a table that `*` means.
    pub(crate) fn of_table<'l>(&'l self, table: &'l str) -> impl Iterator<Item = &'l ScopeColumn> {
        self.columns.iter().filter(move |column| column.is_of(table) && !column.is_hidden)
    }

    /// How the columns of an alias of `USING` are written, if a name is one.
    pub(crate) fn of_using(&self, alias: &str) -> Option<Vec<ColumnText>> {
        let columns: Vec<&ScopeColumn> = self.columns.iter().filter(|column| column.is_of(alias)).collect();
        match columns.first() {
            None => self.parent?.of_using(alias),
            Some(first) if first.of_using.is_none() => None,
            Some(_) => Some(columns.into_iter().map(|column| ColumnText::of(column, false, false)).collect()),
        }
    }

    /// The column that a name was resolved to, and whether the name of its table means another one here, too.
    pub(crate) fn found(&self, table: Option<&str>, name: &str) -> Option<(&ScopeColumn, bool)> {
        let fits = |column: &&ScopeColumn| match table {
            Some(table) => column.name == name && column.table.as_deref() == Some(table),
            None => column.name == name && !column.is_merged,
        };
        let is_of = |column: &ScopeColumn, other: &ScopeColumn| match (&column.origin_use, &other.origin_use) {
            _ if column.is_of_join || other.is_of_join => column.is_of_join == other.is_of_join,
            (Some((one, _)), Some((other, _))) => Rc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        let hides = |found: &ScopeColumn, is_own: bool| {
            if let Some(tables) = &found.of_using {
                return !is_own && self.columns.iter().any(|column| tables.iter().any(|table| column.is_of(table)));
            }
            let same_name = self.columns.iter().filter(|column| column.table == found.table);
            same_name.into_iter().any(|column| !is_own || !is_of(column, found))
        };
        match self.columns.iter().find(fits) {
            Some(column) => Some((column, hides(column, true))),
            None => {
                let (column, is_hidden) = self.parent?.found(table, name)?;
                Some((column, is_hidden || hides(column, false)))
            }
        }
    }

    /// Whether a table has this alias here or in a query around.
    pub(crate) fn has_table(&self, table: &str) -> bool {
        self.columns.iter().any(|column| column.is_of(table))
            || self.parent.is_some_and(|parent| parent.has_table(table))
    }

    /// The table of a column that is there and cannot be named: of any one with that alias, or of one with that name.
    pub(crate) fn concealed(&self, table: Option<&str>, name: &str) -> Option<&str> {
        let fits = |column: &&ScopeColumn| match table {
            Some(table) => column.is_of(table),
            None => column.name == name && !column.is_hidden,
        };
        match self.concealed.iter().find(fits) {
            Some(column) => column.table.as_deref(),
            None => self.parent?.concealed(table, name),
        }
    }

    /// The register that holds what is `outer` in the level around.
    fn capture(&self, outer: Expr) -> Expr {
        if let Expr::Constant(_) | Expr::Parameter(_) = outer {
            return outer;
        }
        let mut captures = self.captures.borrow_mut();
        if let Some((register, _)) = captures.iter().find(|(_, captured)| *captured == outer) {
            return Expr::Register(*register);
        }
        let register = new_register(self.registers);
        captures.push((register, outer));
        Expr::Register(register)
    }
}

/// Takes the next register.
pub(crate) fn new_register(registers: &Cell<usize>) -> usize {
    registers.replace(registers.get() + 1)
}
