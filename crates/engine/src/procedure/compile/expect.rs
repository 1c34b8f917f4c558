//! Which rows a call will use by its arguments alone, so that their memory is asked for side by side before the first is used.
//!
//! Invariant: it changes no result. Keys are taken only where they are computed from parameters, or from the elements of arrays that
//! are parameters, and where the statement is executed in every call that goes well.

use super::Compiler;
use crate::procedure::code::{Each, ExpectedKeys, Instruction, ParameterSlot, Scalar, Slot, TableSlot, Target};

/// The most keys that are asked for together, but for those of arrays: what comes later drives out what came first.
const KEYS_MAX: usize = 24;

/// Keys of an access, before it is known which slots are parameters.
pub(super) struct Candidate {
    table: TableSlot,
    key: Box<[Scalar]>,
    each: Option<Each>,
}

impl Compiler<'_> {
    /// An access by a key is compiled.
    pub(super) fn expect_key(&mut self, table: TableSlot, key: &[Scalar]) {
        if self.conditions == 0 && self.procedures.len() == 1 && key.iter().all(is_plain) {
            self.expected.push(Candidate { table, key: key.into(), each: self.each.clone() });
        }
    }

    /// A write of a whole row that is there is compiled.
    pub(super) fn expect_row(&mut self, table: TableSlot, values: &[Scalar]) {
        let schema = self.schema(table);
        let key: Vec<_> = schema.primary_key().iter().map(|column| values[usize::from(column.0)].clone()).collect();
        self.expect_key(table, &key);
    }

    /// A loop over arrays begins; returns whether its keys count as those of every call.
    pub(super) fn begin_expected_each(&mut self, each: &Each) -> bool {
        let counts = self.conditions == 0 && self.each.is_none();
        if counts {
            self.each = Some(each.clone());
        }
        counts
    }

    pub(super) fn end_expected_each(&mut self, counted: bool) {
        if counted {
            self.each = None;
        }
    }

    /// Puts what is known beforehand of the keys before the first instruction.
    pub(super) fn prepend_expected(&mut self, parameters: &[ParameterSlot]) {
        let values = |slot: &Slot| parameters.iter().any(|of| matches!(of, ParameterSlot::Scalar(at, _) if at == slot));
        let is_known = |candidate: &Candidate| {
            let each = candidate.each.as_ref();
            let is_array = |slot: &_| parameters.iter().any(|of| matches!(of, ParameterSlot::Array(at, _) if at == slot));
            each.is_none_or(|each| each.arrays.iter().all(is_array))
                && candidate.key.iter().all(|part| {
                    uses(part, &|slot| values(&slot) || each.is_some_and(|each| each.variables.contains(&slot)))
                })
        };
        let candidates = std::mem::take(&mut self.expected);
        let mut known: Vec<_> = candidates.into_iter().filter(is_known).collect();
        // A key in a loop that does not change is one.
        for candidate in &mut known {
            let each = candidate.each.take();
            candidate.each = each.filter(|_| !candidate.key.iter().all(|part| uses(part, &|slot| values(&slot))));
        }
        let mut single = 0;
        known.retain(|candidate| {
            single += usize::from(candidate.each.is_none());
            candidate.each.is_some() || single <= KEYS_MAX
        });
        if known.len() > 1 || known.iter().any(|candidate| candidate.each.is_some()) {
            let keys = known.into_iter().map(|Candidate { table, key, each }| ExpectedKeys { table, key, each }).collect();
            self.instructions.insert(0, Instruction::Expect(keys));
            self.statements.insert(0, 0);
            self.shift_targets();
        }
    }

    /// Every instruction has moved by one.
    fn shift_targets(&mut self) {
        let shift = |target: &mut Target| target.0 += 1;
        for at in 1..self.instructions.len() {
            self.instructions[at].targets(shift);
        }
        let catches = self.handlers.iter_mut().flat_map(|handler| handler.catches.iter_mut());
        catches.for_each(|catch| shift(&mut catch.body));
    }
}

impl Instruction {
    /// Gives each target to `change`.
    fn targets(&mut self, mut change: impl FnMut(&mut Target)) {
        match self {
            Instruction::Jump { to }
            | Instruction::Unless { to, .. }
            | Instruction::Get { missing: to, .. }
            | Instruction::First { missing: to, .. }
            | Instruction::Replace { missing: to, .. }
            | Instruction::Update { missing: to, .. }
            | Instruction::Delete { missing: to, .. }
            | Instruction::BeginFor { end: to, .. }
            | Instruction::NextFor { body: to, .. }
            | Instruction::NextEach { end: to, .. }
            | Instruction::NextRow { end: to, .. } => change(to),
            _ => {}
        }
    }
}

/// Whether a part of a key is as cheap as a variable or a constant, and cannot fail.
fn is_plain(part: &Scalar) -> bool {
    matches!(part, Scalar::Slot(_) | Scalar::Constant(_))
}

/// Whether a plain part of a key uses only slots that `is_known`.
fn uses(part: &Scalar, is_known: &dyn Fn(Slot) -> bool) -> bool {
    match part {
        Scalar::Slot(slot) => is_known(*slot),
        part => is_plain(part),
    }
}

