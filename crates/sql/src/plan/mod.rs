//! Plans: what is done to answer a query, operator by operator.
//!
//! Invariants:
//! - An operator gives rows of a fixed number of values; expressions name the values of the rows that the operator below gives.
//! - A plan holds no values of parameters: it is made once and run by many.

pub(crate) mod access;
pub(crate) mod computed;
mod equality;
pub(crate) mod estimate;
pub(crate) mod foreign;
pub(crate) mod join;
mod order;
mod outer;
mod pieces;
pub(crate) mod pull;
mod push;
mod walk;
pub(crate) mod window;

use std::sync::Arc;

use osier::ids::TableId;

use crate::catalog::relation::Relation;
use crate::catalog::system::SystemRelation;
use crate::error::{Result, SqlError};
use crate::expr::Expr;
use crate::function::{ResolvedAggregate, ResolvedSet};

pub(crate) use window::Window;

/// An operator with those below it.
#[derive(Debug)]
pub(crate) enum Plan {
    /// One row without columns.
    One,
    /// No row.
    Nothing,
    /// Rows of expressions.
    Values(Vec<Vec<Expr>>),
    Scan(Scan),
    Filter(Box<Plan>, Expr),
    Project(Box<Plan>, Vec<Expr>),
    /// Set-returning functions beside expressions: as many rows as the longest of them gives.
    ProjectSet(Box<Plan>, Vec<Item>),
    Join(Box<Join>),
    Aggregate(Box<Aggregate>),
    Window(Box<Window>),
    /// Rows without duplicates; of the first columns, if a number is given.
    Distinct(Box<Plan>, Option<usize>),
    Sort(Box<Plan>, Vec<SortKey>),
    Lock(Box<LockRows>),
    Limit(Box<Limit>),
    /// The rows of all, one after the other.
    Append(Vec<Plan>),
    /// Rows of the first that are (`EXCEPT` with `false`: are not) in the second.
    Intersect(Box<SetOperation>),
    /// The rows of a set-returning function, or of several side by side: those of which there are fewer have NULLs at the end.
    Series(Box<Series>),
    /// Rows of a relation of the catalog.
    System(Box<SystemScan>),
    /// What the common table expression with this number has given.
    Common(usize, Arc<CommonTable>),
    /// What the last round of a recursive one has given.
    Working(usize),
    /// A statement that writes, and the rows that it returns.
    Write(Box<Write>),
}

/// Rows of a table.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) relation: Arc<Relation>,
    /// What the statement calls the table.
    pub(crate) alias: Arc<str>,
    pub(crate) access: Access,
    /// Which rows of those are meant.
    pub(crate) filter: Option<Expr>,
    /// From the end to the beginning.
    pub(crate) is_reversed: bool,
    /// Whether something relies on the order of the rows.
    pub(crate) is_ordered: bool,
    /// How rows are locked for what follows.
    pub(crate) lock: RowLock,
}

/// How the rows of a table are locked. Of several that are asked for, the last one here counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RowLock {
    /// Not for what follows.
    None,
    /// Each that is looked at.
    Wait,
    /// Each that comes out of the joins and the sort above, if nobody else has it: `SKIP LOCKED`. The others are not there.
    Skip,
    /// As `Wait`, and without a wait: `NOWAIT`.
    AtOnce,
    /// As `Skip`, and waited for: rows that a statement writes which skips others in the same table.
    Found,
}

impl RowLock {
    /// Whether rows are locked when they have been found: by a [`Plan::Lock`].
    pub(crate) fn is_later(self) -> bool {
        matches!(self, RowLock::Skip | RowLock::Found)
    }
}

/// Locks rows that were found, and looks again whether they are meant.
#[derive(Debug)]
pub(crate) struct LockRows {
    /// The columns of the tables are among those of its rows.
    pub(crate) input: Plan,
    pub(crate) tables: Vec<LockedTable>,
    pub(crate) changed: Changed,
}

/// A table whose rows are locked when they have been found.
#[derive(Debug)]
pub(crate) struct LockedTable {
    pub(crate) relation: Arc<Relation>,
    /// Where its columns begin.
    pub(crate) start: usize,
    /// Whether rows are left out which somebody else has: they are waited for if not.
    pub(crate) skips: bool,
}

/// What becomes of a row that may have changed since it was found.
#[derive(Debug)]
pub(crate) enum Changed {
    /// It is meant if this holds of it as it is now.
    Checked(Option<Expr>),
    /// If it has changed it is left out.
    LeftOut,
}

/// Rows of a relation of the catalog.
#[derive(Debug)]
pub(crate) struct SystemScan {
    pub(crate) relation: &'static SystemRelation,
    /// The position of a column, and a value of which rows are wanted: others may be left out.
    pub(crate) key: Option<(usize, Expr)>,
}

/// Which rows of a table are looked at. Expressions read no column.
#[derive(Debug)]
pub(crate) enum Access {
    /// All.
    All,
    /// The row with this primary key.
    Key(Vec<Expr>),
    /// Those with one of several primary keys of one column.
    Keys(Vec<Expr>),
    /// Those with any of the elements of an array as primary key of one column.
    KeysOf(Expr),
    /// A range of the primary key, or of the index with this position.
    Range { index: Option<usize>, prefix: Vec<Expr>, low: Option<(Expr, bool)>, high: Option<(Expr, bool)> },
}

/// A column of [`Plan::ProjectSet`].
#[derive(Debug)]
pub(crate) enum Item {
    One(Expr),
    Set(ResolvedSet, Vec<Expr>),
}

/// What a join keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinKind {
    Inner,
    /// Rows of the left without a partner, too.
    Left,
    /// Rows of the right without a partner, too.
    Right,
    Full,
}

/// A join.
#[derive(Debug)]
pub(crate) struct Join {
    pub(crate) kind: JoinKind,
    pub(crate) left: Plan,
    pub(crate) right: Plan,
    pub(crate) left_columns: usize,
    pub(crate) right_columns: usize,
    pub(crate) method: Method,
    /// What else holds of a pair: a condition on the columns of the left, followed by those of the right.
    pub(crate) condition: Option<Expr>,
}

/// How partners are found.
#[derive(Debug)]
pub(crate) enum Method {
    /// The right is opened for each row of the left, which it finds in registers.
    Nested(Vec<(usize, Expr)>),
    /// The right is read once and looked up by equal keys.
    Hash { left: Vec<Expr>, right: Vec<Expr> },
    /// Both come in the order of their keys, apart from rows with NULL in one of them.
    Merge { left: Vec<Expr>, right: Vec<Expr> },
    /// The right is read once and looked through.
    Loop,
}

/// Groups of rows.
#[derive(Debug)]
pub(crate) struct Aggregate {
    pub(crate) input: Plan,
    /// All expressions that rows are grouped by. A row of the result has their values first.
    pub(crate) groups: Vec<Expr>,
    /// The grouping sets: which of the groups each has. Where there are several, the number of the set, from 1 on, is the last
    /// value of a row, and groups that the set does not have are NULL.
    pub(crate) sets: Vec<Vec<usize>>,
    pub(crate) calls: Vec<AggregateCall>,
}

/// A call of an aggregate function.
#[derive(Debug)]
pub(crate) struct AggregateCall {
    pub(crate) name: String,
    pub(crate) function: ResolvedAggregate,
    pub(crate) arguments: Vec<Expr>,
    pub(crate) is_distinct: bool,
    pub(crate) order: Vec<SortKey>,
    pub(crate) filter: Option<Expr>,
    /// The row of a hypothetical-set aggregate, with a value for each key of the order; empty for any other.
    pub(crate) hypothetical: Vec<Expr>,
}

impl AggregateCall {
    /// What it reads of a row.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Expr> {
        let keys = self.order.iter().map(|key| &key.expr);
        self.arguments.iter().chain(&self.filter).chain(keys).chain(&self.hypothetical)
    }
}

impl PartialEq for AggregateCall {
    fn eq(&self, other: &AggregateCall) -> bool {
        self.name == other.name
            && self.function.arguments == other.function.arguments
            && self.arguments == other.arguments
            && self.is_distinct == other.is_distinct
            && self.order == other.order
            && self.filter == other.filter
            && self.hypothetical == other.hypothetical
    }
}

/// What rows are sorted by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SortKey {
    pub(crate) expr: Expr,
    pub(crate) is_descending: bool,
    pub(crate) nulls_first: bool,
}

/// The first rows, behind those that are passed over.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) input: Plan,
    pub(crate) limit: Option<Expr>,
    pub(crate) offset: Option<Expr>,
}

/// `INTERSECT` and `EXCEPT`.
#[derive(Debug)]
pub(crate) struct SetOperation {
    pub(crate) left: Plan,
    pub(crate) right: Plan,
    /// `EXCEPT`.
    pub(crate) is_except: bool,
    pub(crate) is_all: bool,
}

/// The rows of a set-returning function.
#[derive(Debug)]
pub(crate) struct Series {
    /// The functions with their arguments: at least one.
    pub(crate) calls: Vec<(ResolvedSet, Vec<Expr>)>,
    pub(crate) with_ordinality: bool,
}

/// A common table expression.
#[derive(Debug)]
pub(crate) struct CommonTable {
    pub(crate) plan: Plan,
    pub(crate) recursion: Option<Recursion>,
    /// The registers of the queries around it that its rows depend on.
    pub(crate) captures: Vec<usize>,
}

/// The round of a common table expression that is repeated on what the last one gave.
#[derive(Debug)]
pub(crate) struct Recursion {
    pub(crate) step: Plan,
    pub(crate) keeps_duplicates: bool,
    /// The register that each round writes: what depends on the rows of the last round depends on it.
    pub(crate) round: usize,
}

/// A statement that writes.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) relation: Arc<Relation>,
    pub(crate) change: Change,
    /// What is returned of each row that was written; empty: nothing is.
    pub(crate) returning: Option<Vec<Expr>>,
    pub(crate) rules: Rules,
}

/// What is written.
#[derive(Debug)]
pub(crate) enum Change {
    /// Rows of the input, which have a value for each column.
    Insert { input: Plan, conflict: Option<Conflict> },
    /// The input gives the old row, and whatever stands beside it.
    Update { input: Plan, assignments: Vec<(usize, Expr)> },
    /// The input begins with the row.
    Delete { input: Plan },
    /// The input gives a row of the table, or NULLs where there is none, and then one of the source.
    Merge { input: Plan, clauses: Vec<MergeClause> },
}

impl Change {
    /// What gives the rows.
    pub(crate) fn input(&self) -> &Plan {
        match self {
            Change::Insert { input, .. } | Change::Update { input, .. } => input,
            Change::Delete { input } | Change::Merge { input, .. } => input,
        }
    }
}

/// A `WHEN` of `MERGE`: of those for a row the first one counts whose condition holds.
#[derive(Debug)]
pub(crate) struct MergeClause {
    /// Whether it is for rows of the source that have a partner in the table.
    pub(crate) is_matched: bool,
    pub(crate) condition: Option<Expr>,
    pub(crate) action: MergeAction,
}

/// What a `WHEN` of `MERGE` does. Expressions are over the rows of the input.
#[derive(Debug)]
pub(crate) enum MergeAction {
    Nothing,
    /// Adds a row with these values.
    Insert(Vec<Expr>),
    /// Changes the row; what is assigned can read the values of `rows` behind those of the input.
    Update {
        rows: Vec<Expr>,
        assignments: Vec<(usize, Expr)>,
    },
    Delete,
}

impl MergeClause {
    /// What it evaluates.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let (values, assignments) = match &self.action {
            MergeAction::Nothing | MergeAction::Delete => (&[][..], &[][..]),
            MergeAction::Insert(values) => (&values[..], &[][..]),
            MergeAction::Update { rows, assignments } => (&rows[..], &assignments[..]),
        };
        self.condition.iter().chain(values).chain(assignments.iter().map(|(_, expr)| expr))
    }
}

/// What happens to a row whose key is there.
#[derive(Debug)]
pub(crate) struct Conflict {
    /// The key that is meant: the primary key, or the index with this position; `None`: any.
    pub(crate) key: Option<Option<usize>>,
    /// What becomes of the row that is there: its columns are followed by those of the new one. `None`: nothing.
    pub(crate) update: Option<Resolution>,
}

/// What becomes of a row whose key a new one has.
#[derive(Debug)]
pub(crate) struct Resolution {
    pub(crate) assignments: Vec<(usize, Expr)>,
    pub(crate) condition: Option<Expr>,
}

/// What the rows of a table must keep.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// The columns that are computed of the others, and how.
    pub(crate) generated: Vec<(usize, Expr)>,
    pub(crate) checks: Vec<(String, Expr)>,
    /// The foreign keys, where there are some; the table is the first one of them.
    pub(crate) keys: Option<Arc<foreign::Keys>>,
    /// What rows must fulfil that are written through a view, which is named.
    pub(crate) view_checks: Vec<(String, Expr)>,
}

/// A query that can be run.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) plan: Plan,
    pub(crate) registers: usize,
    pub(crate) slots: usize,
    pub(crate) commons: usize,
    /// Statements in `WITH` that write: they run, whether or not something reads what they return.
    pub(crate) writes: Vec<(usize, Arc<CommonTable>)>,
    /// So many of them come before the query itself, which reads what they return.
    pub(crate) writes_first: usize,
    /// The tables that are read, or written once more, after they were written.
    pub(crate) reread: Vec<TableId>,
    /// Whether rows that it reads are locked for what follows.
    pub(crate) locks_rows: bool,
    /// Whether it fails where it would wait for a lock.
    pub(crate) waits_not: bool,
    /// Whether it calls functions that take advisory locks, or sleep.
    pub(crate) takes_advisory: bool,
    /// The error of a materialized view that it reads and that nothing has been put into.
    pub(crate) unpopulated: Option<SqlError>,
}

impl Query {
    /// Refuses to run what reads a materialized view that nothing has been put into.
    pub(crate) fn need_populated(&self) -> Result<()> {
        self.unpopulated.clone().map_or(Ok(()), Err)
    }

    /// What expressions are evaluated with that are no part of a query.
    pub(crate) fn none() -> Query {
        Query {
            plan: Plan::Nothing,
            registers: 0,
            slots: 0,
            commons: 0,
            writes: Vec::new(),
            writes_first: 0,
            reread: Vec::new(),
            locks_rows: false,
            waits_not: false,
            takes_advisory: false,
            unpopulated: None,
        }
    }
}

impl Plan {
    /// Whether it asks for a row of a table by its key, or for none.
    pub(crate) fn is_point(&self) -> bool {
        match self {
            Plan::One | Plan::Nothing | Plan::Values(_) => true,
            Plan::Scan(scan) => matches!(scan.access, Access::Key(_)),
            Plan::Filter(input, _) | Plan::Project(input, _) | Plan::ProjectSet(input, _) => input.is_point(),
            Plan::Sort(input, _) => input.is_point(),
            Plan::Limit(limit) => limit.input.is_point(),
            Plan::Lock(lock) => lock.input.is_point(),
            _ => false,
        }
    }
}
