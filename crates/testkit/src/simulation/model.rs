//! The serial model: what the operations of one transaction after another must see. Maps, no concurrency, no log.
//!
//! Invariant: a statement that fails changes nothing, and a transaction that aborts leaves nothing behind.

use std::collections::{BTreeMap, BTreeSet, Bound};

use super::operation::{ADDED_MAX, IndexName, Key, Operation, Outcome, Range, Row, TableName, appended, increment};
use super::procedures::{self, Declared};
use super::sequences::SequenceModel;

/// The tables that there are, and the sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    tables: BTreeMap<TableName, TableModel>,
    /// If there is one.
    pub sequence: Option<SequenceModel>,
    /// By slot.
    pub procedures: BTreeMap<u8, Declared>,
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableModel {
    /// By primary key.
    pub rows: BTreeMap<Key, Row>,
    /// The secondary indexes that it has.
    pub indexes: BTreeSet<IndexName>,
    /// How many columns it was given later.
    pub added: usize,
    /// Whether a column has its other name.
    pub is_renamed: bool,
}

/// A transaction in progress; dropped or aborted it leaves nothing behind.
#[derive(Debug)]
pub struct Execution<'m> {
    model: &'m mut Model,
    /// What was there before each write.
    undo: Vec<Undo>,
    /// The length of `undo` at each open savepoint.
    savepoints: Vec<usize>,
}

#[derive(Debug)]
enum Undo {
    Row(TableName, Key, Option<Row>),
    Table(TableName, Option<TableModel>),
    Sequence(Option<SequenceModel>),
    Procedure(u8, Option<Declared>),
}

impl Default for Model {
    /// Without a row.
    fn default() -> Model {
        let indexed = TableModel { indexes: [IndexName::Codes, IndexName::Teams].into(), ..TableModel::default() };
        let tables = [(TableName::Plain, TableModel::default()), (TableName::Indexed, indexed)].into();
        Model { tables, sequence: None, procedures: BTreeMap::new() }
    }
}

impl Model {
    /// Without a row, with a sequence where there is one.
    pub fn with(sequence: Option<SequenceModel>) -> Model {
        Model { sequence, ..Model::default() }
    }

    /// The tables.
    pub fn tables(&self) -> impl Iterator<Item = (TableName, &TableModel)> {
        self.tables.iter().map(|(&name, table)| (name, table))
    }

    /// A table, if there is one of this name.
    pub fn table(&self, name: TableName) -> Option<&TableModel> {
        self.tables.get(&name)
    }

    /// Adds or replaces a table.
    pub fn add(&mut self, name: TableName, table: TableModel) {
        self.tables.insert(name, table);
    }

    /// Begins a transaction.
    pub fn begin(&mut self) -> Execution<'_> {
        Execution { model: self, undo: Vec::new(), savepoints: Vec::new() }
    }

    /// Writes a row of a table that there is, or its absence, and returns what was there.
    pub fn put(&mut self, table: TableName, key: Key, row: Option<Row>) -> Option<Row> {
        let rows = &mut self.tables.get_mut(&table).expect("a table that there is").rows;
        match row {
            Some(row) => rows.insert(key, row),
            None => rows.remove(&key),
        }
    }
}

impl TableModel {
    pub(super) fn has_duplicate(&self, key: Key, row: &Row) -> bool {
        let mut others = self.rows.iter().filter(|(other, _)| **other != key);
        let [of_codes, of_pairs] = [IndexName::Codes, IndexName::Pairs].map(|index| self.indexes.contains(&index));
        let is_same = |other: &Row| other.code == row.code && (of_codes || of_pairs && other.team == row.team);
        row.code.is_some() && others.any(|(_, other)| is_same(other))
    }

    /// The rows by what `sort` takes of them, then by key; if there is such an index.
    fn by_index<S: Ord>(&self, index: IndexName, range: &Range<S>, sort: impl Fn(&Row) -> S) -> Outcome {
        if !self.indexes.contains(&index) {
            return Outcome::Missing;
        }
        let mut rows: Vec<_> = self.rows.iter().map(|(&key, row)| (sort(row), (key, row))).collect();
        rows.sort_by(|a, b| (&a.0, a.1.0).cmp(&(&b.0, b.1.0)));
        Outcome::Rows(select(range, rows.into_iter()))
    }

    /// The rows of a partial index, in its order.
    fn by_partial(&self, index: IndexName, range: &Range<i32>) -> Outcome {
        if !self.indexes.contains(&index) {
            return Outcome::Missing;
        }
        let entry = |(&key, row)| index.entry(key, row).map(|(first, second)| ((first, second, key), row));
        let mut rows: Vec<_> = self.rows.iter().filter_map(entry).collect();
        rows.sort_by_key(|(entry, _)| *entry);
        Outcome::Rows(select(range, rows.into_iter().map(|((first, _, key), row)| (first, (key, row)))))
    }

    /// Changes the definition; what it is then counts only where that is done.
    fn alter(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::AddColumn(_) if self.added == ADDED_MAX => return Outcome::Duplicate,
            Operation::AddColumn(_) => self.added += 1,
            Operation::DropColumn(_) if self.added == 0 => return Outcome::Missing,
            Operation::DropColumn(_) if self.added == 1 && self.indexes.contains(&IndexName::Added) => {
                return Outcome::InUse;
            }
            Operation::DropColumn(_) => {
                self.added -= 1;
                self.rows.values_mut().for_each(|row| row.added = row.added.min(self.added));
            }
            Operation::RenameColumn(_) => self.is_renamed = !self.is_renamed,
            Operation::CreateIndex(_, index) if self.indexes.contains(index) => return Outcome::Duplicate,
            Operation::CreateIndex(_, index) => return self.add_index(*index),
            Operation::DropIndex(_, index) if self.indexes.remove(index) => {}
            Operation::DropIndex(..) => return Outcome::Missing,
            other => unreachable!("{other:?} changes no definition"),
        }
        Outcome::Done
    }

    fn add_index(&mut self, index: IndexName) -> Outcome {
        if index == IndexName::Added && self.added == 0 {
            return Outcome::Missing;
        }
        self.indexes.insert(index);
        match self.rows.iter().any(|(&key, row)| index.is_unique() && self.has_duplicate(key, row)) {
            true => Outcome::Duplicate,
            false => Outcome::Done,
        }
    }
}

impl Execution<'_> {
    /// Keeps what was written.
    pub fn commit(mut self) {
        self.undo.clear();
    }

    /// Does one operation, of which a transaction of this session has seen the outcome: of several that may be it is the one that
    /// counts. Returns what it may be.
    pub fn follow(&mut self, operation: &Operation, seen: &Outcome, session: usize) -> Outcome {
        match (operation, seen, &mut self.model.sequence) {
            (Operation::NextValue, Outcome::Value(Some(value)), Some(sequence)) => sequence.give(*value, session),
            (Operation::Call(invocation), Outcome::Called(called), _) => {
                Outcome::Called(procedures::call(self, invocation, &called.drawn, session))
            }
            _ => self.apply(operation),
        }
    }

    /// Does one operation.
    pub fn apply(&mut self, operation: &Operation) -> Outcome {
        if operation.is_of_sequence() {
            return self.apply_to_sequence(operation);
        }
        if operation.is_of_procedures() {
            return self.apply_to_procedure(operation);
        }
        let Some(name) = operation.table() else { return self.mark(operation) };
        let table = match (self.model.tables.get(&name), operation) {
            (None, Operation::CreateTable(_, index)) => {
                let table = TableModel { indexes: index.iter().copied().collect(), ..TableModel::default() };
                return self.define(name, Some(table));
            }
            (Some(_), Operation::CreateTable(..)) => return Outcome::Duplicate,
            (None, _) => return Outcome::Missing,
            (Some(table), _) => table,
        };
        match operation {
            Operation::Get(_, key) => Outcome::Row(table.rows.get(key).map(|row| (*key, row.clone()))),
            Operation::Scan(_, range) => {
                Outcome::Rows(select(range, table.rows.iter().map(|(&key, row)| (key, (key, row)))))
            }
            Operation::GetByCode(code) => {
                let found = table.rows.iter().find(|(_, row)| row.code == Some(*code));
                Outcome::Row(found.map(|(&key, row)| (key, row.clone())))
            }
            Operation::ScanCodes(_, Range { low, high, reverse, limit }) => {
                let range = Range { low: low.map(Some), high: high.map(Some), reverse: *reverse, limit: *limit };
                table.by_index(IndexName::Codes, &range, |row| row.code)
            }
            Operation::ScanTeams(_, range) => table.by_index(IndexName::Teams, range, |row| row.team),
            Operation::ScanPartial(_, index, range) => table.by_partial(*index, range),
            Operation::DropTable(_) => self.define(name, None),
            Operation::RenameTable(_, new) if self.model.tables.contains_key(new) => Outcome::Duplicate,
            Operation::RenameTable(_, new) => {
                let table = table.clone();
                self.define(name, None);
                self.define(*new, Some(table))
            }
            Operation::AddColumn(_)
            | Operation::DropColumn(_)
            | Operation::RenameColumn(_)
            | Operation::CreateIndex(..)
            | Operation::DropIndex(..) => {
                let mut altered = table.clone();
                match altered.alter(operation) {
                    Outcome::Done => self.define(name, Some(altered)),
                    refused => refused,
                }
            }
            write => self.write(write),
        }
    }

    fn apply_to_sequence(&mut self, operation: &Operation) -> Outcome {
        let after = match (operation, &self.model.sequence) {
            (Operation::CreateSequence(_), None) => Some(SequenceModel::default()),
            (Operation::CreateSequence(_), Some(_)) => return Outcome::Duplicate,
            (_, None) => return Outcome::Missing,
            (Operation::DropSequence, Some(_)) => None,
            // Which value is the engine's choice.
            (_, Some(_)) => return Outcome::Value(None),
        };
        let before = std::mem::replace(&mut self.model.sequence, after);
        self.undo.push(Undo::Sequence(before));
        Outcome::Done
    }

    fn apply_to_procedure(&mut self, operation: &Operation) -> Outcome {
        let (slot, after) = match operation {
            Operation::Declare(_, declared) if !procedures::resolves(self.model, &declared.0) => {
                return Outcome::Invalid;
            }
            Operation::Declare(slot, declared) => (*slot, Some(declared.clone())),
            Operation::DropProcedure(slot) if !self.model.procedures.contains_key(slot) => return Outcome::Missing,
            Operation::DropProcedure(slot) => (*slot, None),
            // What it draws is the engine's choice.
            _ => return Outcome::Done,
        };
        self.undo.push(Undo::Procedure(slot, put_procedure(self.model, slot, after)));
        Outcome::Done
    }

    /// The state as it is.
    pub(super) fn model(&self) -> &Model {
        self.model
    }

    /// A place to undo to.
    pub(super) fn mark_here(&self) -> usize {
        self.undo.len()
    }

    /// Undoes what was written since.
    pub(super) fn undo_to(&mut self, mark: usize) {
        self.roll_back(mark);
    }

    /// Writes a row, or its absence.
    pub(super) fn put_row(&mut self, table: TableName, key: Key, row: Option<Row>) {
        let before = self.model.put(table, key, row);
        self.undo.push(Undo::Row(table, key, before));
    }

    /// Notes that a session was given a value of the sequence; whether it may be.
    pub(super) fn give(&mut self, value: i64, session: usize) -> bool {
        let sequence = self.model.sequence.as_mut();
        sequence.is_some_and(|sequence| sequence.give(value, session) == Outcome::Value(Some(value)))
    }

    fn mark(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::RollbackTo(depth) => {
                let length = self.savepoints[*depth];
                self.savepoints.truncate(depth + 1);
                self.roll_back(length);
            }
            _ => self.savepoints.push(self.undo.len()),
        }
        Outcome::Done
    }

    fn define(&mut self, name: TableName, table: Option<TableModel>) -> Outcome {
        let before = match table {
            Some(table) => self.model.tables.insert(name, table),
            None => self.model.tables.remove(&name),
        };
        self.undo.push(Undo::Table(name, before));
        Outcome::Done
    }

    fn write(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::Insert(table, key, row) => match self.get(*table, *key) {
                Some(_) => Outcome::Duplicate,
                None => self.put(*table, *key, self.whole(*table, row), Outcome::Done),
            },
            Operation::Upsert(table, key, row) => self.put(*table, *key, self.whole(*table, row), Outcome::Done),
            Operation::Replace(table, key, row) => match self.get(*table, *key) {
                None => Outcome::Existed(false),
                Some(_) => self.put(*table, *key, self.whole(*table, row), Outcome::Existed(true)),
            },
            Operation::Update(table, key, writer, changes) => match self.get(*table, *key) {
                None => Outcome::Existed(false),
                Some(mut row) => {
                    row = Row { writer: *writer, ..self.whole(*table, &row) };
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
            Operation::Append(table, key, writer) => match self.get(*table, *key) {
                None => Outcome::Row(None),
                Some(before) => {
                    let payload = Some(appended(before.payload.as_deref(), *writer));
                    let row = Row { writer: *writer, payload, ..before.clone() };
                    self.put(*table, *key, row, Outcome::Row(Some((*key, before))))
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

    /// The row with a value written to every column of its table.
    fn whole(&self, table: TableName, row: &Row) -> Row {
        Row { added: self.model.tables[&table].added, ..row.clone() }
    }

    fn get(&self, table: TableName, key: Key) -> Option<Row> {
        self.model.tables[&table].rows.get(&key).cloned()
    }

    fn put(&mut self, table: TableName, key: Key, row: Row, outcome: Outcome) -> Outcome {
        if self.model.tables[&table].has_duplicate(key, &row) {
            return Outcome::Duplicate;
        }
        let before = self.model.put(table, key, Some(row));
        self.undo.push(Undo::Row(table, key, before));
        outcome
    }

    fn remove(&mut self, table: TableName, key: Key) -> bool {
        let before = self.model.put(table, key, None);
        let existed = before.is_some();
        self.undo.push(Undo::Row(table, key, before));
        existed
    }

    fn roll_back(&mut self, length: usize) {
        for undo in self.undo.drain(length..).rev() {
            match undo {
                Undo::Row(table, key, before) => drop(self.model.put(table, key, before)),
                Undo::Table(name, Some(before)) => drop(self.model.tables.insert(name, before)),
                Undo::Table(name, None) => drop(self.model.tables.remove(&name)),
                Undo::Sequence(before) => self.model.sequence = before,
                Undo::Procedure(slot, before) => drop(put_procedure(self.model, slot, before)),
            }
        }
    }
}

impl Drop for Execution<'_> {
    fn drop(&mut self) {
        self.roll_back(0);
    }
}

/// Puts a procedure in its slot, or leaves that empty; returns what was there.
fn put_procedure(model: &mut Model, slot: u8, declared: Option<Declared>) -> Option<Declared> {
    match declared {
        Some(declared) => model.procedures.insert(slot, declared),
        None => model.procedures.remove(&slot),
    }
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
