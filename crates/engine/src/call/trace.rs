//! What a call of a declared procedure does, statement by statement, for people.
//!
//! Invariants:
//! - Whoever runs a call decides once whether it is traced ([`Hook`]): code that is not has nothing of it.
//! - A trace reads nothing by the transaction but what that has written already, so that the call does the same with it.
//!
//! Absent: functions of programs, whose accesses belong to no statement.

use std::collections::HashMap;
use std::fmt;

use crate::ids::TableId;
use crate::table::{RowCodec, Table, Value};
use crate::transaction::Transaction;

/// What is told of a call that runs.
pub(super) trait Hook {
    /// Whether anything is.
    const IS_ON: bool;

    /// A statement has made an access, by the instruction with this number.
    fn accessed(&mut self, transaction: &Transaction<'_>, at: (&str, usize), access: &Access<'_>);

    /// An error of a statement was caught, and what its block had written is undone.
    fn caught(&mut self, transaction: &Transaction<'_>, place: &str);
}

impl<H: Hook> Hook for &mut H {
    const IS_ON: bool = H::IS_ON;

    fn accessed(&mut self, transaction: &Transaction<'_>, at: (&str, usize), access: &Access<'_>) {
        (**self).accessed(transaction, at, access);
    }

    fn caught(&mut self, transaction: &Transaction<'_>, place: &str) {
        (**self).caught(transaction, place);
    }
}

/// Tells nothing.
pub(super) struct Untraced;

impl Hook for Untraced {
    const IS_ON: bool = false;

    fn accessed(&mut self, _: &Transaction<'_>, _: (&str, usize), _: &Access<'_>) {}

    fn caught(&mut self, _: &Transaction<'_>, _: &str) {}
}

/// An access of a statement.
pub(super) enum Access<'m> {
    /// A row, or none, was read. `key` is what was asked for; of a scan there is none.
    Read { table: &'m Table, key: Option<&'m [Value<'m>]>, row: Option<(&'m RowCodec, &'m [u8])> },
    /// The row with this key was written, if it was there to be.
    WriteKey { table: &'m Table, key: &'m [Value<'m>] },
    /// This row was written.
    WriteRow { table: &'m Table, row: &'m [Value<'m>] },
    /// Any number of rows of a table were.
    WriteMany,
    /// Rows whose keys begin with this prefix will be.
    Note { number: u16, table: &'m Table, prefix: &'m [Value<'m>] },
}

/// What one statement did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TracedStep {
    /// The statement.
    pub place: String,
    /// What it did, each in a line.
    pub lines: Vec<String>,
}

impl fmt::Display for TracedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        self.lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

/// A row: its table and its key.
type RowKey = (TableId, Box<[u8]>);

/// The steps of a call.
#[derive(Default)]
pub(crate) struct Trace {
    steps: Vec<TracedStep>,
    /// How many writes the transaction had made, and what the rows of these were last.
    writes: usize,
    rows: HashMap<RowKey, Option<Box<[u8]>>>,
}

impl Trace {
    /// Returns the steps.
    pub(crate) fn into_steps(self) -> Vec<TracedStep> {
        self.steps
    }

    /// Adds what a statement did to its step, which is the last one where that is the same statement.
    fn add(&mut self, place: &str, lines: Vec<String>) {
        match self.steps.last_mut() {
            Some(step) if step.place == place => step.lines.extend(lines),
            _ => self.steps.push(TracedStep { place: place.to_owned(), lines }),
        }
    }

    /// Returns what has become since the last look of rows that were not written before, and of those that `may_differ`.
    fn written(&mut self, transaction: &Transaction<'_>, may_differ: impl Fn(TableId, &[u8]) -> bool) -> Vec<String> {
        let mut rows = transaction.written_rows_from(self.writes, may_differ);
        self.writes = transaction.write_count();
        rows.retain(|row| self.rows.get(&(row.table.id, row.key.clone())) != Some(&row.after));
        let mut lines = Vec::new();
        for row in rows {
            let was = self.rows.insert((row.table.id, row.key.clone()), row.after.clone());
            let was = was.as_ref().unwrap_or(&row.before);
            let (is, was) = (row.shown(row.after.as_deref()), row.shown(was.as_deref()));
            lines.push(format!("wrote {}: {is} in place of {was}", row.shown_key()));
        }
        lines
    }
}

impl Hook for Trace {
    const IS_ON: bool = true;

    fn accessed(&mut self, transaction: &Transaction<'_>, (place, _): (&str, usize), access: &Access<'_>) {
        let lines = match access {
            Access::Read { table, key, row } => {
                let bytes = match (key, row) {
                    (Some(key), _) => table.keys.of_key(key).ok(),
                    (None, Some((codec, row))) => Some(table.keys.of_row(&codec.row(*row))),
                    (None, None) => None,
                };
                let named = bytes.map_or("the end".to_owned(), |key| table.keys.describe(key.as_bytes()));
                let found = match (key, row) {
                    (_, Some((codec, row))) => format!(": {}", codec.describe(row)),
                    (Some(_), None) => ": nothing".to_owned(),
                    (None, None) => String::new(),
                };
                vec![format!("read {named} of table `{}`{found}", table.name())]
            }
            Access::WriteKey { table, key } => {
                let key = table.keys.of_key(key).ok();
                self.written(transaction, |of, found| {
                    of == table.id && key.as_ref().is_some_and(|key| found == key.as_bytes())
                })
            }
            Access::WriteRow { table, row } => {
                let key = table.keys.of_values(row).ok();
                self.written(transaction, |of, found| {
                    of == table.id && key.as_ref().is_some_and(|key| found == key.as_bytes())
                })
            }
            Access::WriteMany => self.written(transaction, |_, _| true),
            Access::Note { .. } => unreachable!("what is traced is a call"),
        };
        self.add(place, lines);
    }

    fn caught(&mut self, transaction: &Transaction<'_>, place: &str) {
        self.rows = transaction.written_rows().into_iter().map(|row| ((row.table.id, row.key), row.after)).collect();
        self.writes = transaction.write_count();
        self.add(place, vec!["failed, and was caught: what its block had written is undone".to_owned()]);
    }
}
