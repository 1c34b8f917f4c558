//! What a simulated transaction does and sees, in terms that the engine and the serial model share.
//!
//! Invariant: the order of [`Key`]s is the order of the encoded keys, so that scans can be compared as lists.

use std::collections::Bound;
use std::fmt;

use super::procedures::{Called, Declared, Invocation};

/// A transaction of a simulation, unique over all generations; its marker row and the values it writes carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId(pub u64);

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}", self.0)
    }
}

/// The tables of a simulation, besides the one of the markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableName {
    /// An integer key and no index: its upserts and blind deletes read nothing.
    Plain,
    /// A key of an integer and a text, a unique index on `code` and another index on `team`.
    Indexed,
    /// As `Plain`, but it comes and goes, and so do its indexes.
    Extra(u8),
}

/// How many tables come and go.
pub const EXTRAS: u8 = 2;

/// A secondary index. [`TableName::Indexed`] always has the first two; all others come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexName {
    /// On `code`, unique.
    Codes,
    /// On `team`.
    Teams,
    /// On `code` and `counter`, partial: of the rows that have a code.
    Coded,
    /// On `code` and `team`, partial and unique: of the rows that have a code.
    Pairs,
    /// On the first column that the table was given later, partial: of the rows that were written since.
    Added,
}

impl IndexName {
    /// All of them.
    pub const ALL: [IndexName; 5] =
        [IndexName::Codes, IndexName::Teams, IndexName::Coded, IndexName::Pairs, IndexName::Added];

    /// Whether it leaves rows out.
    pub fn is_partial(self) -> bool {
        matches!(self, IndexName::Coded | IndexName::Pairs | IndexName::Added)
    }

    /// Whether two of its rows must differ in what it is on.
    pub fn is_unique(self) -> bool {
        matches!(self, IndexName::Codes | IndexName::Pairs)
    }

    /// What a partial index has of a row, besides its key; `None` where it leaves the row out.
    pub fn entry(self, key: Key, row: &Row) -> Option<(i32, i64)> {
        match self {
            IndexName::Coded => row.code.map(|code| (code, row.counter)),
            IndexName::Pairs => row.code.map(|code| (code, i64::from(row.team))),
            IndexName::Added => (row.added > 0).then(|| (added_int(key, 0), 0)),
            IndexName::Codes | IndexName::Teams => unreachable!("{self:?} has all rows"),
        }
    }
}

/// A primary key, by its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub u16);

/// The columns besides the key.
#[derive(Clone, PartialEq, Eq)]
pub struct Row {
    /// Who wrote the row last.
    pub writer: TransactionId,
    /// Depends on the value before, where the row is incremented.
    pub counter: i64,
    /// Unique where there is [`IndexName::Codes`], nulls aside.
    pub code: Option<i32>,
    /// Not unique.
    pub team: i16,
    /// Of variable length.
    pub payload: Option<Vec<u8>>,
    /// How many of the columns that its table was given later hold what is written to them; the others hold what the rows got
    /// that were there.
    pub added: usize,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} code {:?} team {}", self.writer, self.counter, self.code, self.team)?;
        match &self.payload {
            None => f.write_str(" null")?,
            Some(payload) => write!(f, " {}x{:?}", payload.len(), payload.first())?,
        }
        if self.added > 0 { write!(f, " +{}", self.added) } else { Ok(()) }
    }
}

/// A new value for one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Of `counter`.
    Counter(i64),
    /// Of `code`.
    Code(Option<i32>),
    /// Of `team`.
    Team(i16),
    /// Of `payload`.
    Payload(Option<Vec<u8>>),
}

/// A range scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<T> {
    /// Where it begins.
    pub low: Bound<T>,
    /// Where it ends.
    pub high: Bound<T>,
    /// From high to low.
    pub reverse: bool,
    /// After how many rows the reader stops.
    pub limit: usize,
}

impl<T> Range<T> {
    /// All of it, from low to high.
    pub fn all() -> Range<T> {
        Range { low: Bound::Unbounded, high: Bound::Unbounded, reverse: false, limit: usize::MAX }
    }
}

/// One operation inside a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads a row or its absence.
    Get(TableName, Key),
    /// Reads a range by primary key.
    Scan(TableName, Range<Key>),
    /// Reads through the unique index.
    GetByCode(i32),
    /// Reads a range of the unique index, nulls first where it begins at none.
    ScanCodes(TableName, Range<i32>),
    /// Reads a range of the other index.
    ScanTeams(TableName, Range<i16>),
    /// Reads a range of a partial index, by its first column.
    ScanPartial(TableName, IndexName, Range<i32>),
    /// Adds a row; a duplicate is an error of the statement.
    Insert(TableName, Key, Row),
    /// Adds or replaces a row, and does not say which.
    Upsert(TableName, Key, Row),
    /// Replaces a row where there is one.
    Replace(TableName, Key, Row),
    /// Sets columns of a row where there is one.
    Update(TableName, Key, TransactionId, Vec<Change>),
    /// Adds to the counter of a row where there is one.
    Increment(TableName, Key, TransactionId, i64),
    /// Reads a row and appends to the list in its payload, where there is one.
    Append(TableName, Key, TransactionId),
    /// Removes a row, and says whether there was one.
    Delete(TableName, Key),
    /// Removes a row, and does not say whether there was one.
    DeleteBlind(TableName, Key),
    /// Adds a table, empty and with one index at most.
    CreateTable(TableName, Option<IndexName>),
    /// Removes a table with its rows.
    DropTable(TableName),
    /// Gives a table the name of another slot.
    RenameTable(TableName, TableName),
    /// Adds a column; the rows stay as they are.
    AddColumn(TableName),
    /// Removes the column that was added last; the rows stay as they are.
    DropColumn(TableName),
    /// Gives a column another name, or takes that back; the rows stay as they are.
    RenameColumn(TableName),
    /// Adds an index and fills it.
    CreateIndex(TableName, IndexName),
    /// Removes an index.
    DropIndex(TableName, IndexName),
    /// Creates the sequence, of which a session reserves so many values at once.
    CreateSequence(i64),
    /// Removes it.
    DropSequence,
    /// Draws a value of it.
    NextValue,
    /// Creates the procedure of a slot, or replaces it.
    Declare(u8, Declared),
    /// Removes it.
    DropProcedure(u8),
    /// Calls a procedure.
    Call(Invocation),
    /// Marks a point to roll back to.
    Savepoint,
    /// Undoes every write since the savepoint that was set when this many were open; later ones are gone.
    RollbackTo(usize),
}

/// The most columns that a table is given.
pub const ADDED_MAX: usize = 6;

/// What an operation told its transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing.
    Done,
    /// Whether there was a row.
    Existed(bool),
    /// A row, or that there is none.
    Row(Option<(Key, Row)>),
    /// Rows in the order of the scan.
    Rows(Vec<(Key, Row)>),
    /// A value of the sequence, or in the model that there is none that may be given.
    Value(Option<i64>),
    /// A duplicate of the primary key, in a unique index or of the name of a table, an index or a sequence; the statement did
    /// nothing.
    Duplicate,
    /// There is no such table, no such column, no such index, no sequence, or no such procedure.
    Missing,
    /// An index has the column that was to go.
    InUse,
    /// A procedure makes no sense with the definitions that there are.
    Invalid,
    /// What a call gave.
    Called(Called),
}

impl Operation {
    /// What it works on.
    pub fn table(&self) -> Option<TableName> {
        match self {
            Operation::Get(table, _)
            | Operation::Scan(table, _)
            | Operation::ScanCodes(table, _)
            | Operation::ScanTeams(table, _)
            | Operation::ScanPartial(table, ..)
            | Operation::Insert(table, ..)
            | Operation::Upsert(table, ..)
            | Operation::Replace(table, ..)
            | Operation::Update(table, ..)
            | Operation::Increment(table, ..)
            | Operation::Append(table, ..)
            | Operation::Delete(table, _)
            | Operation::DeleteBlind(table, _)
            | Operation::CreateTable(table, _)
            | Operation::DropTable(table)
            | Operation::RenameTable(table, _)
            | Operation::AddColumn(table)
            | Operation::DropColumn(table)
            | Operation::RenameColumn(table)
            | Operation::CreateIndex(table, _)
            | Operation::DropIndex(table, _) => Some(*table),
            Operation::GetByCode(_) => Some(TableName::Indexed),
            Operation::CreateSequence(_)
            | Operation::DropSequence
            | Operation::NextValue
            | Operation::Declare(..)
            | Operation::DropProcedure(_)
            | Operation::Call(_)
            | Operation::Savepoint
            | Operation::RollbackTo(_) => None,
        }
    }

    /// Whether it writes nothing, if it does anything. A value of a sequence is reserved beside the transaction.
    pub fn is_read(&self) -> bool {
        use Operation::{Get, GetByCode, NextValue, RollbackTo, Savepoint, Scan, ScanCodes, ScanPartial, ScanTeams};
        let is_of_rows = matches!(self, Get(..) | Scan(..) | GetByCode(_) | ScanCodes(..) | ScanTeams(..));
        is_of_rows || matches!(self, ScanPartial(..)) || matches!(self, NextValue | Savepoint | RollbackTo(_))
    }

    /// Whether it is of procedures.
    pub fn is_of_procedures(&self) -> bool {
        matches!(self, Operation::Declare(..) | Operation::DropProcedure(_) | Operation::Call(_))
    }

    /// Whether it is of the sequence.
    pub fn is_of_sequence(&self) -> bool {
        matches!(self, Operation::CreateSequence(_) | Operation::DropSequence | Operation::NextValue)
    }
}

impl Change {
    /// Makes the change.
    pub fn apply(&self, row: &mut Row) {
        match self {
            Change::Counter(counter) => row.counter = *counter,
            Change::Code(code) => row.code = *code,
            Change::Team(team) => row.team = *team,
            Change::Payload(payload) => row.payload.clone_from(payload),
        }
    }
}

/// What is written to a column that was given later and holds a number; it had been given `at` columns before.
pub fn added_int(key: Key, at: usize) -> i32 {
    10 * i32::from(key.0) + at as i32
}

/// What [`Operation::Increment`] makes of a counter: order matters, so that a lost or doubled update shows.
pub fn increment(counter: i64, by: i64) -> i64 {
    counter.wrapping_mul(3).wrapping_add(by)
}

/// What [`Operation::Append`] makes of a payload: a list of who appended, begun again when it is long.
pub fn appended(payload: Option<&[u8]>, id: TransactionId) -> Vec<u8> {
    const BYTES_MAX: usize = 256;
    let list = payload.filter(|list| list.len() < BYTES_MAX).unwrap_or_default();
    [list, &id.0.to_le_bytes()].concat()
}
