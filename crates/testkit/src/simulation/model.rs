//! The serial model: what the operations of one transaction after another must see. Maps, no concurrency, no log.
//!
//! Invariant: a statement that fails changes nothing, and a transaction that aborts leaves nothing behind.

use std::collections::{BTreeMap, Bound};

use super::operation::{Key, Operation, Outcome, Range, Row, TableName, increment};

/// The tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    plain: BTreeMap<Key, Row>,
    indexed: BTreeMap<Key, Row>,
    /// The unique index of `indexed`.
    codes: BTreeMap<i32, Key>,
}

/// A transaction in progress; dropped or aborted it leaves nothing behind.
#[derive(Debug)]
pub struct Execution<'m> {
    model: &'m mut Model,
    /// What was there before each write.
    undo: Vec<(TableName, Key, Option<Row>)>,
    /// The length of `undo` at each open savepoint.
    savepoints: Vec<usize>,
}

impl Model {
    /// The rows of a table.
    pub fn rows(&self, table: TableName) -> &BTreeMap<Key, Row> {
        match table {
            TableName::Plain => &self.plain,
            TableName::Indexed => &self.indexed,
        }
    }

    /// Begins a transaction.
    pub fn begin(&mut self) -> Execution<'_> {
        Execution { model: self, undo: Vec::new(), savepoints: Vec::new() }
    }

    /// Writes a row or its absence, and returns what was there.
    pub fn put(&mut self, table: TableName, key: Key, row: Option<Row>) -> Option<Row> {
        let code = row.as_ref().and_then(|row| row.code);
        let rows = match table {
            TableName::Plain => &mut self.plain,
            TableName::Indexed => &mut self.indexed,
        };
        let before = match row {
            Some(row) => rows.insert(key, row),
            None => rows.remove(&key),
        };
        if table == TableName::Indexed {
            if let Some(code) = before.as_ref().and_then(|row| row.code) {
                self.codes.remove(&code);
            }
            if let Some(code) = code {
                let other = self.codes.insert(code, key);
                assert_eq!(other, None, "the model admitted a duplicate");
            }
        }
        before
    }

    fn has_duplicate(&self, table: TableName, key: Key, row: &Row) -> bool {
        table == TableName::Indexed
            && row.code.and_then(|code| self.codes.get(&code)).is_some_and(|&other| other != key)
    }

    /// The rows of `indexed` by what `sort` takes of them, then by key.
    fn by_index<S: Ord>(&self, sort: impl Fn(&Row) -> S) -> Vec<(S, Key, &Row)> {
        let mut rows: Vec<_> = self.indexed.iter().map(|(&key, row)| (sort(row), key, row)).collect();
        rows.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        rows
    }
}

impl Execution<'_> {
    /// Keeps what was written.
    pub fn commit(mut self) {
        self.undo.clear();
    }

    /// Does one operation.
    pub fn apply(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::Get(table, key) => Outcome::Row(self.get(*table, *key).map(|row| (*key, row))),
            Operation::Scan(table, range) => {
                let rows = self.model.rows(*table).iter().map(|(&key, row)| (key, (key, row)));
                Outcome::Rows(select(range, rows))
            }
            Operation::GetByCode(code) => {
                let key = self.model.codes.get(code).copied();
                Outcome::Row(key.and_then(|key| Some((key, self.get(TableName::Indexed, key)?))))
            }
            Operation::ScanCodes(range) => {
                let range = Range {
                    low: range.low.map(Some),
                    high: range.high.map(Some),
                    reverse: range.reverse,
                    limit: range.limit,
                };
                Outcome::Rows(select(&range, self.model.by_index(|row| row.code).into_iter().map(flatten)))
            }
            Operation::ScanTeams(range) => {
                Outcome::Rows(select(range, self.model.by_index(|row| row.team).into_iter().map(flatten)))
            }
            Operation::Savepoint => {
                self.savepoints.push(self.undo.len());
                Outcome::Done
            }
            Operation::RollbackTo(depth) => {
                let length = self.savepoints[*depth];
                self.savepoints.truncate(depth + 1);
                self.roll_back(length);
                Outcome::Done
            }
            write => self.write(write),
        }
    }

    fn write(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::Insert(table, key, row) => match self.get(*table, *key) {
                Some(_) => Outcome::Duplicate,
                None => self.put(*table, *key, row.clone(), Outcome::Done),
            },
            Operation::Upsert(table, key, row) => self.put(*table, *key, row.clone(), Outcome::Done),
            Operation::Replace(table, key, row) => match self.get(*table, *key) {
                None => Outcome::Existed(false),
                Some(_) => self.put(*table, *key, row.clone(), Outcome::Existed(true)),
            },
            Operation::Update(table, key, writer, changes) => match self.get(*table, *key) {
                None => Outcome::Existed(false),
                Some(mut row) => {
                    row.writer = *writer;
                    changes.iter().for_each(|change| change.apply(&mut row));
                    self.put(*table, *key, row, Outcome::Existed(true))
                }
            },
            Operation::Increment(table, key, writer, by) => match self.get(*table, *key) {
                None => Outcome::Existed(false),
                Some(mut row) => {
                    row.writer = *writer;
                    row.counter = increment(row.counter, *by);
                    self.put(*table, *key, row, Outcome::Existed(true))
                }
            },
            Operation::Delete(table, key) => Outcome::Existed(self.remove(*table, *key)),
            Operation::DeleteBlind(table, key) => {
                self.remove(*table, *key);
                Outcome::Done
            }
            read => unreachable!("{read:?} is not a write"),
        }
    }

    fn get(&self, table: TableName, key: Key) -> Option<Row> {
        self.model.rows(table).get(&key).cloned()
    }

    fn put(&mut self, table: TableName, key: Key, row: Row, outcome: Outcome) -> Outcome {
        if self.model.has_duplicate(table, key, &row) {
            return Outcome::Duplicate;
        }
        let before = self.model.put(table, key, Some(row));
        self.undo.push((table, key, before));
        outcome
    }

    fn remove(&mut self, table: TableName, key: Key) -> bool {
        let before = self.model.put(table, key, None);
        let existed = before.is_some();
        self.undo.push((table, key, before));
        existed
    }

    fn roll_back(&mut self, length: usize) {
        while self.undo.len() > length
            && let Some((table, key, before)) = self.undo.pop()
        {
            self.model.put(table, key, before);
        }
    }
}

impl Drop for Execution<'_> {
    fn drop(&mut self) {
        self.roll_back(0);
    }
}

fn flatten<S>((sort, key, row): (S, Key, &Row)) -> (S, (Key, &Row)) {
    (sort, (key, row))
}

/// The rows of a range; `rows` come in ascending order.
fn select<'r, T: Ord>(range: &Range<T>, rows: impl Iterator<Item = (T, (Key, &'r Row))>) -> Vec<(Key, Row)> {
    let after_low = |at: &T| match &range.low {
        Bound::Included(low) => at >= low,
        Bound::Excluded(low) => at > low,
        Bound::Unbounded => true,
    };
    let before_high = |at: &T| match &range.high {
        Bound::Included(high) => at <= high,
        Bound::Excluded(high) => at < high,
        Bound::Unbounded => true,
    };
    let mut found: Vec<(Key, Row)> =
        rows.filter(|(at, _)| after_low(at) && before_high(at)).map(|(_, (key, row))| (key, row.clone())).collect();
    if range.reverse {
        found.reverse();
    }
    found.truncate(range.limit);
    found
}
