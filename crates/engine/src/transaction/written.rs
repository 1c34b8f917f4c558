//! What a transaction has written so far: what a log says of it beside a command, and what is compared and shown when the command
//! is run again.
//!
//! Invariants:
//! - The hash does not depend on the order of the writes. The bytes of rows are in the order of tables and keys.
//! - Index entries do not count: they follow from rows.
//!
//! Absent: the encoding (log/format/payload/command.rs), what becomes of a difference (recovery/ordered).

use std::borrow::Cow;

use osier_memory::VersionBox;

use super::{Transaction, TransactionState, logged_table};
use crate::concurrency::write_set::Write;
use crate::ids::TableId;
use crate::log::format::mix;
use crate::log::format::payload::command::WriteHash;
use crate::table::Table;
use crate::units::count;

/// A row that a transaction has written.
#[derive(Clone)]
pub(crate) struct WrittenRow {
    pub(crate) table: Table,
    pub(crate) key: Box<[u8]>,
    /// Before the transaction.
    pub(crate) before: Option<Box<[u8]>>,
    /// As it is now; `None` where it was deleted.
    pub(crate) after: Option<Box<[u8]>>,
}

impl WrittenRow {
    /// Returns its content, before or after, for messages.
    pub(crate) fn shown(&self, content: Option<&[u8]>) -> String {
        content.map_or_else(|| "nothing".to_owned(), |row| self.table.rows.describe(row))
    }

    /// Returns the key for messages.
    pub(crate) fn shown_key(&self) -> String {
        format!("{} of table `{}`", self.table.keys.describe(&self.key), self.table.name())
    }
}

/// A row, and what stands for it.
struct Digested<'w> {
    table: TableId,
    key: &'w [u8],
    digest: u64,
    write: &'w Write,
}

impl Digested<'_> {
    /// The byte that stands for it.
    fn byte(&self) -> u8 {
        (self.digest >> 56) as u8
    }
}

/// How what a transaction wrote differs from what another run of it had written.
pub(crate) struct Difference {
    /// In words.
    pub(crate) what: String,
    /// The first row that differs, if that is known.
    pub(crate) row: Option<WrittenRow>,
}

impl Difference {
    /// Returns one of which no row is known.
    pub(crate) fn new(what: impl Into<String>) -> Difference {
        Difference { what: what.into(), row: None }
    }
}

impl Transaction<'_> {
    /// Returns the hash of the rows that the transaction has written so far.
    pub(crate) fn write_hash(&self) -> WriteHash<'static> {
        let state = &**self.state();
        let mut rows = self.digested(state);
        let all = whole(&rows);
        sort(&mut rows);
        WriteHash { all, rows: bytes(&rows) }
    }

    /// Compares what the transaction has written with the hash of what another run had written; `None`: it is the same.
    pub(crate) fn difference(&self, logged: &WriteHash<'_>) -> Option<Difference> {
        let state = &**self.state();
        let mut rows = self.digested(state);
        let all = whole(&rows);
        if all == logged.all {
            return None;
        }
        sort(&mut rows);
        let hashes = format!("it wrote rows of hash {all:08x}, and had written {:08x}", logged.all);
        let (was, is) = (&*logged.rows, &*bytes(&rows));
        if was.is_empty() || is.is_empty() {
            let what = format!("{hashes}; of more than {} rows none is named", WriteHash::ROWS_MAX);
            return Some(Difference::new(what));
        }
        let at = was.iter().zip(is).take_while(|(was, is)| was == is).count();
        let counts =
            format!("it wrote {}, and had written {}", count(is.len() as u64, "row"), count(was.len() as u64, "row"));
        let Some(first) = rows.get(at) else {
            let last = rows.last().map(|last| self.written(state, last.write).shown_key()).unwrap_or_default();
            let what = match was.len() == is.len() {
                true => format!("{hashes}; their bytes are the same, so that no row is named"),
                false => format!("{hashes}; {counts}: those behind {last} are missing"),
            };
            return Some(Difference::new(what));
        };
        let row = self.written(state, first.write);
        let holds = match &row.after {
            Some(after) => format!("holds {}", row.table.rows.describe(after)),
            None => "is deleted".to_owned(),
        };
        let (more, fewer) = (is.len().saturating_sub(was.len()), was.len().saturating_sub(is.len()));
        let known = match (more, fewer) {
            (1.., _) if is[at + more..] == was[at..] => ", and was not written before".to_owned(),
            (_, 1..) if is[at..] == was[at + fewer..] => {
                format!(", and {} before it missing", count(fewer as u64, "row"))
            }
            _ => String::new(),
        };
        let place = at + 1;
        let what = format!(
            "{hashes}; {counts}: the first that differs, {place}, is {}, which {holds}{known}",
            row.shown_key()
        );
        Some(Difference { what, row: Some(row) })
    }

    /// Returns the key of a row for messages.
    pub(crate) fn shown_key(&self, table: TableId, key: &[u8]) -> String {
        match self.shared.catalog.table(table) {
            Some(table) => format!("{} of table `{}`", table.keys.describe(key), table.name()),
            None => format!("a row of table {}", table.0),
        }
    }

    /// Returns how many rows and index entries the transaction has written.
    pub(crate) fn write_count(&self) -> usize {
        self.state().writes.len()
    }

    /// Returns the rows that the transaction has written, in the order in which it came to them first.
    pub(crate) fn written_rows(&self) -> Vec<WrittenRow> {
        self.written_rows_from(0, |_, _| false)
    }

    /// Returns those that come after the first `from` writes, and of these writes those that `also` wants.
    pub(crate) fn written_rows_from(&self, from: usize, also: impl Fn(TableId, &[u8]) -> bool) -> Vec<WrittenRow> {
        let state = &**self.state();
        let is_wanted = |(at, write): &(usize, &Write)| {
            let table = || state.tables[write.tree_ref.table as usize].table.id;
            write.tree_ref.index.is_none() && (*at >= from || also(table(), self.pin().get(write.record).key()))
        };
        let rows = state.writes.iter().enumerate().filter(is_wanted);
        rows.map(|(_, write)| self.written(state, write)).collect()
    }

    fn written(&self, state: &TransactionState, write: &Write) -> WrittenRow {
        let record = self.pin().get(write.record);
        WrittenRow {
            table: state.tables[write.tree_ref.table as usize].table.clone(),
            key: record.key().into(),
            before: record.version(self.pin()).map(|version| version.bytes().into()),
            after: write.pending.as_ref().map(|row| row.bytes().into()),
        }
    }

    /// Returns the rows that were written, in no order.
    fn digested<'w>(&'w self, state: &'w TransactionState) -> Vec<Digested<'w>> {
        let digested = |write: &'w Write| {
            let table = logged_table(&state.tables, write.tree_ref)?;
            let (key, row) = (self.pin().get(write.record).key(), write.pending.as_ref().map(VersionBox::bytes));
            let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc64Nvme);
            digest.update(&table.0.to_le_bytes());
            digest.update(&(key.len() as u32).to_le_bytes());
            digest.update(key);
            digest.update(&[u8::from(row.is_some())]);
            digest.update(row.unwrap_or_default());
            // Mixed, because a checksum is linear: the sum of two would not tell which of them changed.
            Some(Digested { table, key, digest: mix(digest.finalize()), write })
        };
        state.writes.iter().filter_map(digested).collect()
    }
}

/// Puts rows into the order of tables and keys, if a byte of each is logged.
fn sort(rows: &mut [Digested<'_>]) {
    if rows.len() <= WriteHash::ROWS_MAX {
        rows.sort_unstable_by_key(|row| (row.table, row.key));
    }
}

/// The hash of all rows.
fn whole(rows: &[Digested<'_>]) -> u32 {
    let sum = rows.iter().fold(0_u64, |sum, row| sum.wrapping_add(row.digest));
    (sum ^ sum >> 32) as u32
}

/// The bytes of rows in order.
fn bytes(rows: &[Digested<'_>]) -> Cow<'static, [u8]> {
    match rows.len() {
        0..=WriteHash::ROWS_MAX => rows.iter().map(Digested::byte).collect(),
        _ => Cow::Borrowed(&[]),
    }
}
