//! Partial indexes, and tables and columns that change while they have rows.
//!
//! Invariant: whether a seed has partial indexes is drawn from numbers of its own, so that the rest of a plan does not depend on
//! it. Seeds that hunt for a mutation do without, unless their profile says so.

use fastrand::Rng;

use super::{Choices, KINDS, Plan, Profile, Shares, range};
use crate::simulation::operation::{EXTRAS, IndexName, Key, Operation, TableName};

/// None of the indexes is partial in three seeds of four.
pub(super) fn partial_share(rng: &Rng, choices: &Choices) -> f64 {
    let share =
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 0.7][Rng::with_seed(rng.clone().u64(..).rotate_left(31)).usize(0..8)];
    if choices.mutations.is_empty() { share } else { 0.0 }
}

impl Plan {
    /// Whether there are partial indexes.
    pub fn has_partial(&self) -> bool {
        self.partial_share > 0.0
    }

    /// Tables that live for long, full of rows, whose columns, names and indexes change.
    pub(super) fn altering(self) -> Plan {
        let mut weights = [1; KINDS];
        (weights[3], weights[4], weights[5], weights[6], weights[9], weights[15]) = (4, 4, 4, 2, 6, 8);
        let (generations, preempted_share) = (self.generations.max(4), self.preempted_share.max(0.1));
        let shares = Shares { read_only: 0.1, abort: 0.05, dropped: 0.05, ..self.shares };
        Plan {
            partial_share: 0.7,
            renames: true,
            extra_share: 0.3,
            indexed_share: self.indexed_share.max(0.8),
            keys: self.keys.clamp(5, 12),
            operations_max: self.operations_max.clamp(2, 4),
            steps_max: 800,
            sessions: self.sessions.max(2),
            generations,
            preempted_share,
            weights,
            shares,
            ..self
        }
    }

    /// Whether a partial index is meant.
    pub(super) fn is_partial(&self, rng: &mut Rng) -> bool {
        self.has_partial() && rng.f64() < self.partial_share
    }

    /// The index that a new table has, if it has one.
    pub(super) fn first_index(&self, rng: &mut Rng) -> Option<IndexName> {
        let indexes = [IndexName::Coded, IndexName::Pairs, IndexName::Codes, IndexName::Teams];
        self.is_partial(rng).then(|| indexes[rng.usize(0..indexes.len())])
    }

    /// The index that is made or dropped.
    pub(super) fn index(&self, rng: &mut Rng) -> IndexName {
        const PARTIAL: [IndexName; 4] = [IndexName::Coded, IndexName::Pairs, IndexName::Added, IndexName::Added];
        match self.is_partial(rng) {
            true => PARTIAL[rng.usize(0..PARTIAL.len())],
            false if rng.bool() => IndexName::Codes,
            false => IndexName::Teams,
        }
    }

    /// A scan of a partial index.
    pub(super) fn scan_of_partial(&self, rng: &mut Rng, key: Key) -> Operation {
        let table = self.table_with_index(rng);
        match self.index(rng) {
            IndexName::Added => {
                let first = |rng: &mut Rng| 10 * rng.i32(0..i32::from(key.0) + 2);
                Operation::ScanPartial(table, IndexName::Added, range(rng, first))
            }
            IndexName::Codes | IndexName::Coded => {
                Operation::ScanPartial(table, IndexName::Coded, range(rng, |rng| self.code(rng)))
            }
            IndexName::Teams | IndexName::Pairs => {
                Operation::ScanPartial(table, IndexName::Pairs, range(rng, |rng| self.code(rng)))
            }
        }
    }

    /// A change of `indexed`, which has more indexes now and then.
    pub(super) fn definition_of_indexed(&self, rng: &mut Rng) -> Operation {
        const TABLE: TableName = TableName::Indexed;
        let index = if rng.bool() { IndexName::Coded } else { IndexName::Pairs };
        match rng.u8(0..3) {
            _ if self.profile == Profile::Altering => self.alteration(rng, TABLE),
            0 => Operation::DropIndex(TABLE, index),
            _ => Operation::CreateIndex(TABLE, index),
        }
    }

    /// A change of a table that has rows, mostly.
    pub(super) fn alteration(&self, rng: &mut Rng, table: TableName) -> Operation {
        let comes_and_goes = table != TableName::Indexed;
        let index = match self.index(rng) {
            // These it always has.
            IndexName::Codes | IndexName::Teams if !comes_and_goes => IndexName::Added,
            index => index,
        };
        // What procedures insert has the columns that their tables had when they were declared.
        let are_columns_free = self.procedure_share == 0.0;
        match rng.u8(0..16) {
            0..5 if comes_and_goes => Operation::CreateTable(table, self.first_index(rng)),
            5 if comes_and_goes => Operation::DropTable(table),
            6 | 7 if comes_and_goes => Operation::RenameTable(table, TableName::Extra(rng.u8(0..EXTRAS))),
            8 | 9 if are_columns_free => Operation::AddColumn(table),
            10 if are_columns_free => Operation::DropColumn(table),
            11 if are_columns_free => Operation::RenameColumn(table),
            12 | 13 => Operation::DropIndex(table, index),
            _ => Operation::CreateIndex(table, index),
        }
    }
}
