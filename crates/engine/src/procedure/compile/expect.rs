//! Which rows a call will use by what is known before it uses the first of them, so that their memory is asked for side by side:
//! at the beginning by the arguments alone, and where a loop begins by what the loop does not change.
//!
//! Invariant: it changes no result. Keys are taken only where they are put together from variables and constants, which cannot
//! fail, and where the statement is executed in every call, or every round, that goes well, or one of several that have the key.

use super::{Compiled, Compiler};
use crate::procedure::code::{
    ExpectedKey, ExpectedKeys, Instruction, ParameterSlot, Rounds, RowSlot, Scalar, Slot, TableSlot,
};

/// The most keys outside of loops that are asked for together: what comes later drives out what came first.
const KEYS_MAX: usize = 24;

/// Keys of an access that is compiled.
struct Candidate {
    /// The instruction.
    at: usize,
    key: ExpectedKey,
    /// The innermost loop around it, from 0, in which it is executed in every round.
    inner: Option<usize>,
    /// Whether it is executed in every call, or in every round of a loop that is.
    is_certain: bool,
}

/// A loop that is being compiled.
struct OpenLoop {
    rounds: Option<Rounds>,
    /// Where its keys are asked for.
    place: usize,
    /// The number of conditions around its body.
    conditions: u32,
    is_certain: bool,
}

/// What is known so far of the keys of a procedure.
#[derive(Default)]
pub(super) struct Expected {
    candidates: Vec<Candidate>,
    loops: Vec<OpenLoop>,
    /// Of loops over parameters, for the beginning.
    of_loops: Vec<ExpectedKeys>,
    /// The instructions whose rows are asked for.
    pub(super) instructions: Vec<usize>,
}

impl Compiler<'_> {
    /// An access by a key is compiled.
    pub(super) fn expect_key(&mut self, table: TableSlot, key: &[Scalar]) {
        let is_plain = |part: &Scalar| matches!(part, Scalar::Slot(_) | Scalar::Constant(_) | Scalar::Column(..));
        if !key.iter().all(is_plain) {
            return;
        }
        let (conditions, loops) = (self.conditions, &self.expected.loops);
        let inner = loops.last().filter(|open| open.conditions == conditions).map(|_| loops.len() - 1);
        let is_certain = match loops.last() {
            None => conditions == 0,
            Some(open) => inner.is_some() && open.is_certain,
        };
        // It is the next one that is emitted.
        let at = self.instructions.len();
        let key = ExpectedKey { table, key: key.into() };
        self.expected.candidates.push(Candidate { at, key, inner, is_certain });
    }

    /// A write of a whole row that is there is compiled.
    pub(super) fn expect_row(&mut self, table: TableSlot, values: &[Scalar]) {
        let schema = self.schema(table);
        let key: Vec<_> = schema.primary_key().iter().map(|column| values[usize::from(column.0)].clone()).collect();
        self.expect_key(table, &key);
    }

    /// A loop begins: the next instruction asks for what its rounds use. Without `rounds` it is not known how many there are.
    pub(super) fn begin_loop_keys(&mut self, rounds: Option<Rounds>) -> Compiled<()> {
        let place = match &rounds {
            Some(_) => self.emit(Instruction::Expect(Box::default()))?,
            None => 0,
        };
        let is_certain = self.conditions == 0 && self.expected.loops.is_empty() && rounds.is_some();
        // The body is a condition of its own.
        self.expected.loops.push(OpenLoop { rounds, place, conditions: self.conditions + 1, is_certain });
        Ok(())
    }

    /// The body of the loop is compiled.
    pub(super) fn end_loop_keys(&mut self, parameters: &[ParameterSlot]) {
        let ended = self.expected.loops.pop().expect("the loop has begun");
        let at = self.expected.loops.len();
        let candidates = std::mem::take(&mut self.expected.candidates);
        let (own, others): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|candidate| candidate.inner == Some(at));
        self.expected.candidates = others;
        let Some(rounds) = ended.rounds else { return };
        let body = &self.instructions[ended.place + 1..];
        let is_kept = |part: &Scalar| match part {
            Scalar::Slot(slot) => rounds.gives(*slot) || !body.iter().any(|instruction| instruction.writes(*slot)),
            Scalar::Column(row, _) => !body.iter().any(|instruction| instruction.writes_row(*row)),
            _ => true,
        };
        let varies = |key: &[Scalar]| key.iter().any(|part| matches!(part, Scalar::Slot(slot) if rounds.gives(*slot)));
        let (mut begin, mut here) = (Vec::new(), Vec::new());
        for Candidate { at, key, is_certain, .. } in own {
            let parts = &key.key;
            if !parts.iter().all(is_kept) || !varies(parts) {
                continue;
            }
            self.expected.instructions.push(at);
            let is_given = |part: &Scalar| match part {
                Scalar::Slot(slot) => rounds.gives(*slot) || is_parameter(parameters, *slot),
                Scalar::Column(..) => false,
                _ => true,
            };
            let of_arguments = is_certain && rounds.is_over(parameters) && parts.iter().all(is_given);
            add(if of_arguments { &mut begin } else { &mut here }, key);
        }
        let of_rounds = |keys: Vec<ExpectedKey>| {
            (!keys.is_empty()).then(|| ExpectedKeys { keys: keys.into(), rounds: Some(rounds.clone()) })
        };
        self.instructions[ended.place] = Instruction::Expect(of_rounds(here).into_iter().collect());
        self.expected.of_loops.extend(of_rounds(begin));
    }

    /// The procedure is compiled: its first instruction asks for what the arguments alone give.
    pub(super) fn expect_arguments(&mut self, parameters: &[ParameterSlot]) {
        let is_given = |part: &Scalar| match part {
            Scalar::Slot(slot) => is_parameter(parameters, *slot),
            Scalar::Column(..) => false,
            _ => true,
        };
        let mut candidates = std::mem::take(&mut self.expected.candidates);
        candidates.retain(|of| of.inner.is_none() && of.key.key.iter().all(is_given));
        // Of one key more than once: probably in all branches of a condition.
        let is_named =
            |of: &Candidate| of.is_certain || candidates.iter().filter(|other| other.key == of.key).count() > 1;
        let (mut keys, mut at) = (Vec::new(), Vec::new());
        for candidate in candidates.iter().filter(|of| is_named(of)) {
            at.push(candidate.at);
            add(&mut keys, candidate.key.clone());
        }
        let of_loops = std::mem::take(&mut self.expected.of_loops);
        // One row alone is asked for when it is read.
        if keys.len() == 1 && of_loops.is_empty() {
            return;
        }
        keys.truncate(KEYS_MAX);
        self.expected.instructions.extend(at);
        let keys = ExpectedKeys { keys: keys.into(), rounds: None };
        self.instructions[0] = Instruction::Expect(std::iter::once(keys).chain(of_loops).collect());
    }
}

/// Adds a key that is not there yet.
fn add(keys: &mut Vec<ExpectedKey>, key: ExpectedKey) {
    if !keys.contains(&key) {
        keys.push(key);
    }
}

fn is_parameter(parameters: &[ParameterSlot], slot: Slot) -> bool {
    parameters.iter().any(|of| matches!(of, ParameterSlot::Scalar(at) if *at == slot))
}

impl Rounds {
    /// Whether a variable gets another value in each round.
    fn gives(&self, slot: Slot) -> bool {
        match self {
            Rounds::Arrays(each) => each.variables.contains(&slot),
            Rounds::Numbers { variable, .. } => *variable == slot,
        }
    }

    /// Whether the rounds are known from the arguments.
    fn is_over(&self, parameters: &[ParameterSlot]) -> bool {
        let is_array = |slot: &_| parameters.iter().any(|of| matches!(of, ParameterSlot::Array(at) if at == slot));
        matches!(self, Rounds::Arrays(each) if each.arrays.iter().all(is_array))
    }
}

impl Instruction {
    /// Whether it gives a variable another value.
    fn writes(&self, slot: Slot) -> bool {
        match self {
            Instruction::Evaluate { to, .. }
            | Instruction::DeleteAll { count: to, .. }
            | Instruction::NextFor { variable: to, .. } => *to == slot,
            Instruction::NextEach { index, each, .. } => *index == slot || each.variables.contains(&slot),
            _ => false,
        }
    }

    /// Whether it reads another row into a variable.
    fn writes_row(&self, slot: RowSlot) -> bool {
        match self {
            Instruction::Get { row, .. }
            | Instruction::First { row, .. }
            | Instruction::Update { row, .. }
            | Instruction::Delete { row, .. }
            | Instruction::NextRow { row, .. } => *row == slot,
            _ => false,
        }
    }
}
