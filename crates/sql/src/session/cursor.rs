//! Cursors: `DECLARE`, `FETCH`, `MOVE`, `CLOSE`.
//!
//! The query is run when its cursor is declared, and its rows are kept: what is written later changes none of them, and every
//! direction is as easy. What they may take is bounded as the memory of any statement is.
//!
//! Invariants:
//! - A cursor ends with its transaction, unless it was declared `WITH HOLD` and the transaction has committed.
//! - One that was declared behind a savepoint ends where that is rolled back to.

use osier::Transaction;
use sqlparser::ast::{self, CloseCursor, FetchDirection};

use super::statement::{Planned, Task, query_of};
use super::{Column, Core, Done, Output, Parsed, Session};
use crate::bind::Binder;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::plan::Query;
use crate::run::{Row, set};

/// A cursor that is to be declared.
#[derive(Debug)]
pub(crate) struct NewCursor {
    name: String,
    query: Query,
    columns: Vec<Column>,
    /// Whether it goes back: as far as the query allows, if nothing is said.
    scrolls: Option<bool>,
    pub(super) is_held: bool,
    is_binary: bool,
}

/// A cursor that was declared.
#[derive(Debug)]
pub(super) struct Cursor {
    columns: Vec<Column>,
    rows: Vec<Row>,
    /// The row that it is on, from 1 on; 0 is before the first, one more than there are is behind the last.
    at: usize,
    scrolls: Option<bool>,
    is_held: bool,
    is_binary: bool,
    /// How many savepoints there were.
    depth: usize,
    /// Whether the transaction has committed that declared it.
    is_committed: bool,
}

/// Where a cursor goes.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Over so many rows; backwards, if there are fewer than none.
    By(i64),
    /// Over all that are left, or with `false` back over all that were.
    All(bool),
    /// To the row with this number; from the end, if it is negative.
    To(i64),
    /// To the row that is so many further.
    Further(i64),
}

/// Reads `DECLARE`.
pub(super) fn task(binder: &Binder<'_>, declared: &[ast::Declare]) -> Result<NewCursor> {
    let [ast::Declare { names, binary, sensitive, scroll, hold, for_query: Some(query), .. }] = declared else {
        return Err(SqlError::unsupported("DECLARE of anything but one cursor"));
    };
    let name = names.first().map(parse::name).unwrap_or_default();
    let is_held = *hold == Some(true);
    if !query.locks.is_empty() {
        let refused = [
            (
                is_held,
                "0A000",
                "DECLARE CURSOR WITH HOLD ... FOR UPDATE is not supported",
                "Holdable cursors must be READ ONLY.",
            ),
            (
                *scroll == Some(true),
                "0A000",
                "DECLARE SCROLL CURSOR ... FOR UPDATE is not supported",
                "Scrollable cursors must be READ ONLY.",
            ),
            (
                *sensitive == Some(true),
                "42P11",
                "DECLARE INSENSITIVE CURSOR ... FOR UPDATE is not valid",
                "Insensitive cursors must be READ ONLY.",
            ),
        ];
        if let Some((_, code, message, detail)) = refused.into_iter().find(|(is_so, ..)| *is_so) {
            return Err(SqlError::new(SqlState::FeatureNotSupported, message).with_code(code).with_detail(detail));
        }
    }
    if let ast::SetExpr::Insert(written) | ast::SetExpr::Update(written) | ast::SetExpr::Delete(written) = &*query.body
    {
        let text = written.to_string();
        let word = text.split_whitespace().next().unwrap_or_default();
        return Err(SqlError::new(SqlState::SyntaxError, format!("syntax error at or near \"{word}\"")));
    }
    let (query, columns) = query_of(binder, &ast::Statement::Query(query.clone()))?;
    if query.is_writing() {
        let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
        return Err(SqlError::new(SqlState::FeatureNotSupported, message));
    }
    let (columns, is_binary) = (columns.unwrap_or_default(), *binary == Some(true));
    Ok(NewCursor { name, query, columns, scrolls: *scroll, is_held, is_binary })
}

fn unknown(name: &str) -> SqlError {
    SqlError::new(SqlState::InvalidCursorName, format!("cursor \"{name}\" does not exist"))
}

/// Where `FETCH` or `MOVE` goes.
fn step(direction: &FetchDirection) -> Result<Step> {
    let number = |limit: &ast::ValueWithSpan| {
        let text = limit.value.to_string();
        let refused =
            || SqlError::new(SqlState::SyntaxError, format!("syntax error at or near \"{text}\"")).at_node(limit);
        text.parse::<i32>().map(i64::from).map_err(|_| refused())
    };
    let optional = |limit: &Option<ast::ValueWithSpan>| limit.as_ref().map_or(Ok(1), number);
    Ok(match direction {
        FetchDirection::Count { limit } => Step::By(number(limit)?),
        FetchDirection::Next => Step::By(1),
        FetchDirection::Prior => Step::By(-1),
        FetchDirection::First => Step::To(1),
        FetchDirection::Last => Step::To(-1),
        FetchDirection::Absolute { limit } => Step::To(number(limit)?),
        FetchDirection::Relative { limit } => Step::Further(number(limit)?),
        FetchDirection::All | FetchDirection::ForwardAll => Step::All(true),
        FetchDirection::Forward { limit } => Step::By(optional(limit)?),
        FetchDirection::Backward { limit } => match optional(limit)? {
            0 => Step::By(0),
            count => Step::By(count.saturating_neg()),
        },
        FetchDirection::BackwardAll => Step::All(false),
    })
}

impl Cursor {
    /// Goes to another place, and returns the positions of the rows that it has come over.
    fn go(&mut self, step: Step) -> Result<Vec<usize>> {
        let count = self.rows.len();
        if self.scrolls == Some(false) && self.goes_back(step) {
            return Err(SqlError::new(SqlState::ObjectNotInPrerequisiteState, "cursor can only scan forward")
                .with_hint("Declare it with SCROLL option to enable backward scan."));
        }
        let here = (1..=count).contains(&self.at).then(|| self.at - 1);
        let row = |number: i128| usize::try_from(number).ok().filter(|at| (1..=count).contains(at));
        let jump = |number: i128| match row(number) {
            Some(at) => (at, vec![at - 1]),
            None if number <= 0 => (0, Vec::new()),
            None => (count + 1, Vec::new()),
        };
        let (at, passed) = match step {
            Step::By(0) | Step::Further(0) => (self.at, here.into_iter().collect()),
            Step::All(true) => (count + 1, (self.at..count).collect()),
            Step::All(false) => (0, (0..self.at.saturating_sub(1)).rev().collect()),
            Step::By(steps @ 1..) => {
                let end = self.at.saturating_add(usize::try_from(steps).unwrap_or(usize::MAX));
                let passed: Vec<usize> = (self.at..end.min(count)).collect();
                (end.min(count + 1), passed)
            }
            Step::By(steps) => {
                let back = usize::try_from(steps.unsigned_abs()).unwrap_or(usize::MAX);
                let begin = self.at.saturating_sub(back);
                let from = begin.max(1) - 1;
                (begin, (from..self.at.saturating_sub(1)).rev().collect())
            }
            Step::To(number @ 0..) => jump(number.into()),
            Step::To(number) => jump(count as i128 + 1 + i128::from(number)),
            Step::Further(number) => jump(self.at as i128 + i128::from(number)),
        };
        self.at = at;
        Ok(passed)
    }

    /// Whether a step needs rows again that the cursor has come over.
    fn goes_back(&self, step: Step) -> bool {
        let is_on_row = (1..=self.rows.len()).contains(&self.at);
        match step {
            Step::By(0) | Step::Further(0) => is_on_row,
            Step::By(steps) | Step::Further(steps) => steps < 0,
            Step::All(is_forward) => !is_forward,
            Step::To(number) => number < 0 || (self.at > 0 && number <= self.at as i64),
        }
    }
}

impl Session {
    /// Returns the columns of a cursor, if there is one of this name.
    pub fn cursor_columns(&self, name: &str) -> Option<&[Column]> {
        self.core.cursors.get(name).map(|cursor| &cursor.columns[..])
    }

    /// Closes a cursor, if there is one of this name.
    pub fn close_cursor(&mut self, name: &str) {
        self.core.cursors.remove(name);
    }
}

impl Core {
    /// `DECLARE`.
    pub(super) fn declare(
        &mut self,
        transaction: &Transaction<'_>,
        new: &NewCursor,
        parameters: &[Datum],
    ) -> Result<Done> {
        if self.cursors.contains_key(&new.name) {
            let message = format!("cursor \"{}\" already exists", new.name);
            return Err(SqlError::new(SqlState::DuplicateCursor, message));
        }
        let rows =
            self.with_context(transaction, &new.query, parameters, |context| set::all(&new.query.plan, context))?;
        let NewCursor { name, columns, scrolls, is_held, is_binary, .. } = new;
        let cursor = Cursor {
            columns: columns.clone(),
            rows,
            at: 0,
            scrolls: *scrolls,
            is_held: *is_held,
            is_binary: *is_binary,
            depth: self.depth,
            is_committed: false,
        };
        self.cursors.insert(name.clone(), cursor);
        Ok(Done::tagged("DECLARE CURSOR"))
    }

    /// What `FETCH` or `MOVE` is to its client.
    pub(super) fn fetch_planned(&self, parsed: &Parsed, name: &str, is_move: bool) -> Result<Planned> {
        let cursor = self.cursors.get(name).ok_or_else(|| unknown(name))?;
        let Some(statement) = parsed.0.as_deref() else { return Err(super::gone()) };
        let columns = (!is_move).then(|| cursor.columns.clone());
        let planned = Planned::plain(Task::Utility(Box::new(statement.clone())), Vec::new(), columns);
        Ok(Planned { is_binary: cursor.is_binary, ..planned })
    }

    /// `FETCH` and `MOVE`. `told` are the columns that the client knows of.
    pub(super) fn fetch(
        &mut self,
        name: &ast::Ident,
        direction: &FetchDirection,
        is_move: bool,
        told: Option<&[Column]>,
        output: &mut dyn Output,
    ) -> Result<Done> {
        let name = parse::name(name);
        let cursor = self.cursors.get_mut(&name).ok_or_else(|| unknown(&name))?;
        if !is_move && told != Some(&cursor.columns[..]) {
            return Err(SqlError::changed_shape());
        }
        let passed = cursor.go(step(direction)?)?;
        if is_move {
            return Ok(Done::tagged(format!("MOVE {}", passed.len())));
        }
        for at in &passed {
            output.row(&cursor.rows[*at])?;
        }
        Ok(Done::tagged(format!("FETCH {}", passed.len())))
    }

    /// `CLOSE`.
    pub(super) fn close(&mut self, cursor: &CloseCursor) -> Result<Done> {
        match cursor {
            CloseCursor::All => {
                self.cursors.clear();
                Ok(Done::tagged("CLOSE CURSOR ALL"))
            }
            CloseCursor::Specific { name } => {
                let name = parse::name(name);
                self.cursors.remove(&name).ok_or_else(|| unknown(&name))?;
                Ok(Done::tagged("CLOSE CURSOR"))
            }
        }
    }

    /// Ends the cursors of a transaction that has ended.
    pub(super) fn end_cursors(&mut self, has_committed: bool) {
        if self.cursors.is_empty() {
            return;
        }
        for cursor in self.cursors.values_mut() {
            cursor.is_committed |= has_committed;
        }
        self.cursors.retain(|_, cursor| cursor.is_held && cursor.is_committed);
    }

    /// Ends the cursors that were declared behind a savepoint.
    pub(super) fn end_cursors_behind(&mut self, savepoint: usize) {
        self.cursors.retain(|_, cursor| cursor.is_committed || cursor.depth <= savepoint);
    }

    /// A savepoint is gone: what was declared behind it is as good as declared before.
    pub(super) fn keep_cursors_behind(&mut self, savepoint: usize) {
        for cursor in self.cursors.values_mut() {
            cursor.depth = cursor.depth.min(savepoint);
        }
    }
}
