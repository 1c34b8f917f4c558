//! In the simulation: whether every access of a call that is run again lies in a key space that was noted before (O4).
//!
//! What notes is another program for each choice of notes and of columns. So of every other version of a procedure some notes are
//! left out, which nothing is said of then, and others are of fewer columns.

use std::collections::HashMap;
use std::sync::Arc;

use bumpalo::Bump;

use super::compiled::{Body, Compiled};
use super::planner::{Noting, noted};
use super::trace::{Access, Hook};
use crate::catalog::procedure::VersionKey;
use crate::ids::TableId;
use crate::log::format::payload::command::Command;
use crate::procedure::analysis::{KeySpace, KeySpaces};
use crate::procedure::code::Code;
use crate::table::{KeyBuf, Table};
use crate::transaction::Transaction;

/// What an instruction of a call may access: a table, the beginning of the key, and whether it may be modified.
type Space = (usize, TableId, Box<[u8]>, bool);

/// Knows the key spaces of procedures.
#[derive(Default)]
pub(super) struct KnownSpaces {
    of: HashMap<VersionKey, OfProcedure>,
}

/// Knows those of one procedure.
struct OfProcedure {
    /// The code that they are of: tables may be others by now.
    compiled: Arc<Compiled>,
    known: KeySpaces,
    /// The instructions that read what nobody changes.
    settled: Box<[bool]>,
    noting: Code,
    /// Of each instruction the one with whose access its own is noted; `None`: it is left out.
    noted_at: Arc<[Option<usize>]>,
}

impl OfProcedure {
    fn new(key: VersionKey, compiled: &Arc<Compiled>, code: &Code, settled: &[bool]) -> OfProcedure {
        let known = KeySpaces::of(code, settled);
        let is_choice = key.version.0.is_multiple_of(2);
        let is_left_out = |at: usize| is_choice && at % 3 == 1;
        let columns = |number: usize, space: &KeySpace| match is_choice {
            true => space.columns().saturating_sub(number % 2),
            false => space.columns(),
        };
        let wanted = known.notes.iter().enumerate().filter(|(_, space)| !is_left_out(space.at()));
        let wanted: Vec<_> = wanted.map(|(number, space)| (number, columns(number, space))).collect();
        let noted_at = (0..code.instructions.len()).map(|at| KeySpaces::opener(code, at));
        let noted_at = noted_at.map(|at| (!is_left_out(at)).then_some(at)).collect();
        let noting = known.code(code, &wanted);
        OfProcedure { compiled: compiled.clone(), noting, known, settled: settled.into(), noted_at }
    }
}

impl KnownSpaces {
    /// Returns the key spaces of a command, of which some instructions read what nobody changes now; `None` of a function, or
    /// where they are not known.
    pub(super) fn of(
        &mut self,
        transaction: &Transaction<'_>,
        compiled: &Arc<Compiled>,
        command: &Command<'_>,
        settled: &[bool],
    ) -> Covered {
        let Body::Declared { code, .. } = &compiled.body else {
            return Covered { spaces: None, noted_at: Arc::default() };
        };
        let key = VersionKey::of_command(command);
        let is_other = |of: &OfProcedure| !Arc::ptr_eq(&of.compiled, compiled) || *of.settled != *settled;
        if self.of.get(&key).is_some_and(is_other) {
            self.of.remove(&key);
        }
        let of = self.of.entry(key).or_insert_with(|| OfProcedure::new(key, compiled, code, settled));
        let OfProcedure { known, noting, noted_at, .. } = of;
        let mut spaces = Vec::new();
        let found = |number: usize, key: Option<&KeyBuf>| {
            let space = &known.notes[number];
            let prefix = key.map_or_else(Box::default, |key| key.as_bytes().into());
            spaces.push((space.at(), space.table.id, prefix, space.modifies()));
        };
        let is_known = noted(transaction, noting, command, Noting { found }, &mut Bump::new());
        Covered { spaces: is_known.then_some(spaces), noted_at: noted_at.clone() }
    }
}

/// The key spaces of one call.
pub(super) struct Covered {
    spaces: Option<Vec<Space>>,
    /// Of each instruction the one with whose access its own is noted; `None`: it is left out.
    noted_at: Arc<[Option<usize>]>,
}

impl Covered {
    fn expect(&self, (place, at): (&str, usize), table: &Table, key: Option<&[u8]>, modifies: bool) {
        let (Some(spaces), Some(at)) = (&self.spaces, self.noted_at[at]) else { return };
        let is_it = |(by, of, prefix, may_modify): &Space| {
            *by == at && *of == table.id && key.is_none_or(|key| key.starts_with(prefix)) && (*may_modify || !modifies)
        };
        assert!(spaces.iter().any(is_it), "{place} accesses rows of table {} that were not noted", table.name());
    }
}

impl Hook for Covered {
    const IS_ON: bool = true;

    fn accessed(&mut self, _: &Transaction<'_>, at: (&str, usize), access: &Access<'_>) {
        match access {
            Access::Read { table, key, row } => {
                let key = match (key, row) {
                    (_, Some((codec, row))) => Some(table.keys.of_row(&codec.row(*row))),
                    (Some(key), None) => table.keys.of_key(key).ok(),
                    (None, None) => None,
                };
                self.expect(at, table, key.as_ref().map(|key| key.as_bytes()), false);
            }
            Access::WriteKey { table, key } => {
                let key = table.keys.of_key(key).ok();
                self.expect(at, table, key.as_ref().map(|key| key.as_bytes()), true);
            }
            Access::WriteRow { table, row } => {
                let key = table.keys.of_values(row).ok();
                self.expect(at, table, key.as_ref().map(|key| key.as_bytes()), true);
            }
            Access::WriteMany | Access::Note { .. } => {}
        }
    }

    fn caught(&mut self, _: &Transaction<'_>, _: &str) {}
}
