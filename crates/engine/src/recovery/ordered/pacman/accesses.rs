//! Who of a segment accesses what: for whoever comes after all of it, while it is still running.
//!
//! Who reads a row waits for the last one that may write it, and who writes one also for those that may read it. Those before
//! them have run then, because they are waited for in the segment. A read whose order does not count within the segment, as
//! nobody of it changes what is read, is waited for by whoever writes, one by one.

use std::collections::BTreeMap;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::key_table::ClosedKeyTable;
use super::waits::{Runs, Waits};
use crate::ids::TableId;
use crate::procedure::analysis::columns_enough;
use crate::recovery::faults;
use crate::table::Table;
use crate::transaction::backlog::{Reach, Use};

/// Tells key spaces of a table apart.
pub(super) fn hash(table: TableId, key: &[u8]) -> u64 {
    FixedState::with_seed(u64::from(table.0)).hash_one(key)
}

/// Who accesses a table.
#[derive(Debug, Default)]
pub(super) struct OfTable {
    /// By so many columns key spaces are told apart; zero: not at all.
    pub(super) columns: usize,
    /// The last one that accesses the whole of it.
    pub(super) whole: Option<u32>,
    /// Who has accessed any of it since.
    pub(super) since: Waits,
    /// Of reads whose order does not count: by so many columns, who reads the whole of it, and all who read any of it.
    pub(super) read_columns: usize,
    pub(super) whole_reads: Waits,
    pub(super) all_reads: Waits,
}

/// Who accesses what, last.
#[derive(Debug, Default)]
pub(in super::super) struct Accesses {
    pub(super) tables: BTreeMap<TableId, OfTable>,
    pub(super) keys: ClosedKeyTable,
    /// Of reads whose order does not count.
    pub(super) reads: ClosedKeyTable,
}

impl Accesses {
    /// Returns one that an access has to wait for, if there is one left, and asks for all such.
    pub(in super::super) fn first_left(
        &self,
        graph: &impl Runs,
        table: &Table,
        reach: Reach<'_>,
        to: Use,
    ) -> Option<u32> {
        let of = self.tables.get(&table.id).filter(|_| faults::settles(to == Use::Write))?;
        let one =
            |number: Option<u32>| number.filter(|number| !graph.has_run(*number)).inspect(|at| graph.ask_for(*at));
        let key = |columns: usize| {
            let enough = to == Use::Read || columns <= columns_enough(table.schema());
            let prefix = prefix(table, reach, columns).filter(|_| enough);
            prefix.map(|prefix| hash(table.id, prefix))
        };
        let ordered = match key(of.columns) {
            None => one(of.whole).or_else(|| of.since.first_left(graph)),
            Some(key) => one(of.whole).or_else(|| {
                let readers_count = faults::settles_readers(to == Use::Write);
                self.keys.first_left(key, graph, readers_count)
            }),
        };
        if ordered.is_some() || !faults::settles_mere_readers(to == Use::Write) {
            return ordered;
        }
        of.whole_reads.first_left(graph).or_else(|| match key(of.read_columns) {
            Some(key) => self.reads.first_left(key, graph, true),
            None => of.all_reads.first_left(graph),
        })
    }
}

/// Returns what the keys of all these rows begin with, as far as the first `columns`; `None` where they do not begin alike.
fn prefix<'k>(table: &Table, reach: Reach<'k>, columns: usize) -> Option<&'k [u8]> {
    let (key, bounds) = match reach {
        _ if columns == 0 => return None,
        Reach::Range(_, known) if known < columns => return None,
        Reach::Range(bounds, _) => (bounds.low.as_bytes(), Some(bounds)),
        Reach::Key(key) => (key, None),
    };
    let prefix = &key[..table.keys.prefix_len(key, columns).ok()?];
    faults::begin_alike(bounds.is_none_or(|bounds| bounds.begin_with(prefix))).then_some(prefix)
}
