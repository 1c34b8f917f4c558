//! Which names are known where, and what they stand for.
//!
//! Invariant: a procedure that is called sees none of its caller's names.

use super::{Compiled, wrong};
use crate::procedure::code::{ArraySlot, RowSlot, Slot, TableSlot};
use crate::table::Type;

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Variable {
    Scalar {
        slot: Slot,
        ty: Type,
        is_settable: bool,
    },
    Array {
        slot: ArraySlot,
        ty: Type,
        is_settable: bool,
    },
    Row {
        slot: RowSlot,
        table: TableSlot,
    },
    /// A caught error.
    Error {
        sqlstate: Slot,
        message: Slot,
    },
}

impl Variable {
    /// Whether statements may give it another value.
    pub(super) fn is_settable(self) -> bool {
        match self {
            Variable::Scalar { is_settable, .. } | Variable::Array { is_settable, .. } => is_settable,
            Variable::Row { .. } | Variable::Error { .. } => false,
        }
    }

    /// Returns what it is, for messages.
    pub(super) fn what(self) -> &'static str {
        match self {
            Variable::Scalar { .. } => "a value",
            Variable::Array { .. } => "an array",
            Variable::Row { .. } => "a row",
            Variable::Error { .. } => "an error",
        }
    }
}

/// The names that are known at one place of a program.
#[derive(Default)]
pub(super) struct Scope {
    names: Vec<(String, Variable)>,
    /// Where the names of each procedure that is being compiled begin.
    procedures: Vec<usize>,
}

impl Scope {
    pub(super) fn begin_procedure(&mut self) {
        self.procedures.push(self.names.len());
    }

    pub(super) fn end_procedure(&mut self) {
        let begin = self.procedures.pop().expect("a procedure that ends has begun");
        self.names.truncate(begin);
    }

    /// Begins a block; [`Scope::end_block`] takes what this returns.
    pub(super) fn begin_block(&self) -> usize {
        self.names.len()
    }

    pub(super) fn end_block(&mut self, begin: usize) {
        self.names.truncate(begin);
    }

    fn known(&self) -> &[(String, Variable)] {
        &self.names[self.procedures.last().copied().unwrap_or(0)..]
    }

    pub(super) fn declare(&mut self, name: &str, variable: Variable) -> Compiled<()> {
        if self.known().iter().any(|(known, _)| known == name) {
            return wrong(format!("`{name}` is declared already; choose another name"));
        }
        self.names.push((name.to_owned(), variable));
        Ok(())
    }

    pub(super) fn find(&self, name: &str) -> Compiled<Variable> {
        let known = self.known();
        match known.iter().rev().find(|(of, _)| of == name) {
            Some((_, variable)) => Ok(*variable),
            None if known.is_empty() => wrong(format!("`{name}` is not known here, and there is no variable yet")),
            None => {
                let names: Vec<_> = known.iter().map(|(name, _)| name.as_str()).collect();
                wrong(format!("`{name}` is not known here; known are {}", names.join(", ")))
            }
        }
    }
}
