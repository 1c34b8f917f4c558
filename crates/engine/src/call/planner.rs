//! Which rows commands of a log will access, before they run again (PACMAN, section 4.3.1).
//!
//! Invariants:
//! - What is said of a command is complete, if it does what it did ([`analysis::keys`](crate::procedure::analysis)).
//! - A planner reads definitions, and those rows alone of which it was told that nobody changes them until the call has run. What
//!   it says holds until it is told of others, and until the next definition of the log.
//!
//! Absent: functions of the program. What they access nobody knows.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bumpalo::Bump;
use foldhash::fast::RandomState;

use super::compiled::Body;
use super::draws::{Drawn, Source};
use super::machine::Machine;
use super::memory::Arena;
use super::run::{conformed, variables};
use super::trace::{Access, Hook};
use super::turns::whole;
use super::version::{NotReplayed, compiled_version};
use crate::catalog::procedure::VersionKey;
use crate::log::format::payload::command::Command;
use crate::procedure::analysis::{KeySpace, KeySpaces};
use crate::procedure::code::Code;
use crate::table::KeyBuf;
use crate::transaction::{Session, Transaction};

/// A call of which more steps are needed to say what it accesses may access its tables as a whole.
const NOTING_STEPS_MAX: u64 = 1_000_000;

/// Of procedures, for each instruction whether it reads what nobody changes while a segment is replayed.
pub(crate) type Unordered = HashMap<VersionKey, Box<[bool]>>;

/// Knows the procedures of a log.
#[derive(Default)]
pub(crate) struct Planner {
    procedures: HashMap<VersionKey, Option<Planned>, RandomState>,
}

/// A procedure, analysed.
pub(crate) struct Planned {
    whole: Code,
    /// The instructions that read what nobody changes until a call has run.
    settled: Box<[bool]>,
    spaces: KeySpaces,
    /// What is wanted of the notes, and the code that gives that.
    wanted: Vec<(usize, usize)>,
    code: Code,
    /// Which of them are the first ones of these: only their order with others of the log counts.
    ordered: usize,
}

impl Planned {
    /// What its calls access.
    pub(crate) fn notes(&self) -> &[KeySpace] {
        &self.spaces.notes
    }

    /// Returns which instructions read what nobody changes, if this is so of notes.
    pub(crate) fn settled(&self, is_changed: impl Fn(&KeySpace) -> bool) -> Box<[bool]> {
        self.spaces.reads_but(&self.whole, |_, note| is_changed(note))
    }

    /// From now on nobody changes what these instructions read until a call has run.
    pub(crate) fn settle(&mut self, settled: Box<[bool]>) {
        if self.settled != settled {
            self.spaces = KeySpaces::of(&self.whole, &settled);
            (self.wanted, self.code) = (Vec::new(), self.spaces.code(&self.whole, &[]));
            self.settled = settled;
        }
    }

    /// From now on only these are noted, each by so many columns of its key: those whose order with others of the log counts, and
    /// those of which that is not so. Returns which instructions read what is not among the first.
    pub(crate) fn want(&mut self, ordered: Vec<(usize, usize)>, others: Vec<(usize, usize)>) -> Box<[bool]> {
        let is_ordered = |number: usize, _: &KeySpace| ordered.iter().any(|(other, _)| *other == number);
        let unordered = self.spaces.reads_but(&self.whole, is_ordered);
        let mut settled = self.settled.iter().zip(&unordered);
        assert!(settled.all(|(is_settled, is_unordered)| !is_settled || *is_unordered), "what is settled has no order");
        self.ordered = ordered.len();
        let wanted = [ordered, others].concat();
        if self.wanted != wanted {
            self.code = self.spaces.code(&self.whole, &wanted);
            self.wanted = wanted;
        }
        unordered
    }

    /// Whether the order of what a note is of counts with others of the log.
    fn is_ordered(&self, number: usize) -> bool {
        self.wanted[..self.ordered].iter().any(|(wanted, _)| *wanted == number)
    }
}

impl Planner {
    /// Forgets everything: definitions have changed.
    pub(crate) fn forget(&mut self) {
        self.procedures.clear();
    }

    /// Makes a procedure known; `false` where what its calls access is not known, for whatever reason.
    pub(crate) fn knows(&mut self, session: &mut Session, key: VersionKey) -> bool {
        match self.procedures.entry(key) {
            Entry::Occupied(known) => known.get().is_some(),
            Entry::Vacant(new) => planned(&session.begin(), key).is_some_and(|planned| new.insert(planned).is_some()),
        }
    }

    /// Returns the procedures that are known.
    pub(crate) fn known(&mut self) -> impl Iterator<Item = (VersionKey, &mut Planned)> {
        self.procedures.iter_mut().filter_map(|(key, planned)| Some((*key, planned.as_mut()?)))
    }

    /// Returns what a command accesses, wanted or not.
    pub(crate) fn notes(&self, command: &Command<'_>) -> impl Iterator<Item = &KeySpace> {
        let key = VersionKey::of_command(command);
        self.procedures.get(&key).into_iter().flatten().flat_map(Planned::notes)
    }

    /// Gives what is wanted of a command, which is known, to `found`: a note with the prefix of the key, or without one where the
    /// whole table may be accessed, and whether its order counts. `false` where that fails, and nothing is known.
    pub(crate) fn note(
        &self,
        transaction: &Transaction<'_>,
        command: &Command<'_>,
        memory: &mut Bump,
        mut found: impl FnMut(&KeySpace, Option<&KeyBuf>, bool),
    ) -> bool {
        let key = VersionKey::of_command(command);
        let Some(Some(planned)) = self.procedures.get(&key) else { return false };
        if planned.wanted.is_empty() {
            return true;
        }
        let notes = planned.notes();
        let found = |number: usize, key: Option<&KeyBuf>| found(&notes[number], key, planned.is_ordered(number));
        let noting = Noting { found };
        noted(transaction, &planned.code, command, noting, memory)
    }
}

/// Runs the code that notes what a command accesses; `false` where that fails.
pub(super) fn noted<F: FnMut(usize, Option<&KeyBuf>)>(
    transaction: &Transaction<'_>,
    code: &Code,
    command: &Command<'_>,
    noting: Noting<F>,
    memory: &mut Bump,
) -> bool {
    let arena = Arena::new(std::mem::take(memory), usize::MAX);
    let (program, drawn) = (&code.program, Drawn { time: command.time, ..Drawn::default() });
    let is_noted = conformed(&program.name, &program.parameters, &command.arguments, &arena).is_ok_and(|arguments| {
        let source = Source::Earlier { drawn: &drawn, taken: 0 };
        let variables = variables((code, &[]), &arguments, &arena, source);
        // Nobody changes what it reads.
        let unordered = arena.slots(code.instructions.len() as u16, true);
        let mut machine = Machine::new(code, transaction, variables, NOTING_STEPS_MAX).with_unordered(unordered);
        whole(machine.run::<false, _>(noting)).is_ok()
    });
    *memory = arena.into_memory();
    is_noted
}

/// Compiles and analyses a version of a procedure; `Some(None)` of a function, and where a replay would refuse it. `None`: nobody
/// can tell now.
fn planned(transaction: &Transaction<'_>, key: VersionKey) -> Option<Option<Planned>> {
    let body = match compiled_version(transaction, key) {
        Ok(compiled) => compiled.body,
        Err(NotReplayed::Missing | NotReplayed::Superseded(_)) => return Some(None),
        Err(_) => return None,
    };
    let Body::Declared { code, .. } = body else { return Some(None) };
    let (spaces, settled) = (KeySpaces::of(&code, &[]), Box::default());
    Some(Some(Planned { code: spaces.code(&code, &[]), whole: code, settled, spaces, wanted: Vec::new(), ordered: 0 }))
}

/// Tells of notes, by their numbers.
pub(super) struct Noting<F> {
    pub(super) found: F,
}

impl<F: FnMut(usize, Option<&KeyBuf>)> Hook for Noting<F> {
    const IS_ON: bool = true;

    fn accessed(&mut self, _: &Transaction<'_>, _: (&str, usize), access: &Access<'_>) {
        let Access::Note { number, table, prefix } = access else { return };
        // Values that make no key are those of no row; where it is not known whether the access is made they may be others.
        let key = if prefix.is_empty() { None } else { table.keys.prefix(prefix).ok() };
        (self.found)(usize::from(*number), key.as_ref());
    }

    fn caught(&mut self, _: &Transaction<'_>, _: &str) {}
}
