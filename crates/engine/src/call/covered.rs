//! In the simulation: whether every access of a call that is run again lies in a key space that was noted before (O4).

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
    /// With the code that they are of: tables may be others by now.
    of: HashMap<VersionKey, (Arc<Compiled>, KeySpaces, Code)>,
}

impl KnownSpaces {
    /// Returns the key spaces of a command; `None` of a function, or where they are not known.
    pub(super) fn of(
        &mut self,
        transaction: &Transaction<'_>,
        compiled: &Arc<Compiled>,
        command: &Command<'_>,
    ) -> Covered {
        let Body::Declared { code, .. } = &compiled.body else {
            return Covered { spaces: None, openers: Box::default() };
        };
        let key = VersionKey::of_command(command);
        if self.of.get(&key).is_some_and(|(of, ..)| !Arc::ptr_eq(of, compiled)) {
            self.of.remove(&key);
        }
        let (_, known, noting) = self.of.entry(key).or_insert_with(|| {
            let known = KeySpaces::of(code);
            let all: Vec<_> = known.notes.iter().enumerate().map(|(at, space)| (at, space.columns())).collect();
            let noting = known.code(code, &all);
            (compiled.clone(), known, noting)
        });
        let mut spaces = Vec::new();
        let found = |space: &KeySpace, key: Option<&KeyBuf>| {
            let prefix = key.map_or_else(Box::default, |key| key.as_bytes().into());
            spaces.push((space.at(), space.table.id, prefix, space.modifies()));
        };
        let is_known = noted(transaction, noting, command, Noting { notes: &known.notes, found }, &mut Bump::new());
        let openers = (0..code.instructions.len()).map(|at| KeySpaces::opener(code, at)).collect();
        Covered { spaces: is_known.then_some(spaces), openers }
    }
}

/// The key spaces of one call.
pub(super) struct Covered {
    spaces: Option<Vec<Space>>,
    /// Of each instruction the one with whose access its own is noted.
    openers: Box<[usize]>,
}

impl Covered {
    fn expect(&self, (place, at): (&str, usize), table: &Table, key: Option<&[u8]>, modifies: bool) {
        let Some(spaces) = &self.spaces else { return };
        let is_it = |(by, of, prefix, may_modify): &Space| {
            *by == self.openers[at]
                && *of == table.id
                && key.is_none_or(|key| key.starts_with(prefix))
                && (*may_modify || !modifies)
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
