//! Which rows a call will access, by what is known before it runs: its arguments, and rows that nobody changes meanwhile (PACMAN,
//! section 4.3.1).
//!
//! A *key space* is a table with a prefix of its primary key: all rows whose keys begin with it. Of each access the longest
//! prefix is taken that is known. What gives it is again a procedure, which writes no row, and reads those alone that are
//! *settled*: those instructions that the prefixes need, with a note in place of each access. Where one is left out that may go
//! on at several places, nothing is needed until all of these ways meet: there it goes on.
//!
//! Invariants:
//! - Whatever a call accesses, if it commits, lies in a key space that was noted. Where nothing known says anything of a key, the
//!   key space is the whole table; where it does not say whether an access is made, it is noted.
//! - A key space is by the primary key, whichever index finds the rows: an index gives the prefix if the values that are
//!   known of its columns, and of the primary key behind them, are those of the first columns of the primary key.
//! - Two rows may exclude each other by a unique index. So the key spaces of what adds, removes or moves its entries are as large
//!   as needed for equal entries to lie in equal key spaces.
//!
//! A note stands where its access does, or, where a branch decides that is not known, at the last place before it that
//! every run comes to. The values of the prefix have to be the same there. If they are the same before a loop, it stands there.

use std::collections::BTreeSet;

use super::effects::{self, Access, Accessed, Dependencies, Effects, Variable};
use super::faults;
use super::flow::Flow;
use super::operations::ANALYSED_MAX;
use crate::procedure::code::{Code, Instruction, RowRange, Scalar, TableSlot, Target};
use crate::table::{ColumnId, Schema, Table};

/// The key spaces of a procedure.
#[derive(Debug)]
pub(crate) struct KeySpaces {
    pub(crate) notes: Vec<KeySpace>,
    effects: Vec<Effects>,
    /// `None` where the procedure is too long to be analysed.
    known: Option<Known>,
}

/// What one access is made to.
#[derive(Debug)]
pub(crate) struct KeySpace {
    pub(crate) table: Table,
    slot: TableSlot,
    access: Access,
    /// The instruction that accesses, and the one before which that is noted.
    at: usize,
    place: usize,
    /// The first columns of the primary key, as far as they are known.
    prefix: Vec<Scalar>,
}

impl KeySpace {
    fn new(code: &Code, access: Access) -> KeySpace {
        let Accessed::Table(id) = access.of else { unreachable!("a declared procedure accesses tables") };
        let at = code.tables.iter().position(|table| table.id == id).expect("the table is one of the code");
        KeySpace {
            table: code.tables[at].clone(),
            slot: TableSlot(at as u16),
            access,
            at: 0,
            place: 0,
            prefix: Vec::new(),
        }
    }

    /// The instruction that accesses.
    #[cfg(feature = "mutations")]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// How many columns of the primary key are known.
    pub(crate) fn columns(&self) -> usize {
        self.prefix.len()
    }

    /// Whether it changes what others may read.
    pub(crate) fn modifies(&self) -> bool {
        self.access.modifies()
    }

    /// Whether its order with an access of another call counts, if both are to the same rows.
    pub(crate) fn conflicts(&self, other: &KeySpace) -> bool {
        self.access.conflicts(&other.access, Dependencies::Columns)
    }
}

impl KeySpaces {
    /// Analyses a procedure; `settled` are the instructions that read what nobody changes until it has run. By itself there is
    /// none.
    pub(crate) fn of(code: &Code, settled: &[bool]) -> KeySpaces {
        let effects: Vec<Effects> =
            code.instructions.iter().map(|instruction| Effects::of(code, instruction)).collect();
        let columns = effects::columns_of_rows(&effects);
        let accesses = |at: usize| {
            let of_rows = |access: &Access| access.of != Accessed::Draws;
            effects::accesses(code, at, &effects[at], &columns).into_iter().filter(of_rows)
        };
        if effects.len() > ANALYSED_MAX {
            let at = |at| accesses(at).map(move |access| KeySpace { at, ..KeySpace::new(code, access) });
            let notes = (0..effects.len()).flat_map(at).collect();
            return KeySpaces { notes, effects, known: None };
        }
        let known = Known::of(code, &effects, settled);
        let live: Vec<usize> = (0..effects.len()).filter(|at| known.flow.is_live[*at]).collect();
        let mut notes = Vec::<KeySpace>::new();
        for at in live {
            // What a scan takes is noted where it is opened.
            let opener = effects::opener(code, at);
            for access in accesses(at) {
                let opened = opener.and_then(|opener| notes.iter_mut().find(|note| note.at == opener));
                match opened {
                    Some(note) => note.access.reads.extend(access.reads),
                    None => {
                        let note = known.note(code, at, access);
                        notes.extend(faults::is_noted(note.columns(), known.is_certain(at)).then_some(note));
                    }
                }
            }
        }
        KeySpaces { notes, effects, known: Some(known) }
    }

    /// Returns the instruction with whose access that of an instruction is noted.
    #[cfg(feature = "mutations")]
    pub(crate) fn opener(code: &Code, at: usize) -> usize {
        effects::opener(code, at).unwrap_or(at)
    }

    /// Returns for each instruction whether it reads what is no access of these: what nobody changes who matters.
    pub(crate) fn reads_but(&self, of: &Code, is_among: impl Fn(usize, &KeySpace) -> bool) -> Box<[bool]> {
        let mut reads = vec![false; of.instructions.len()];
        for (number, note) in self.notes.iter().enumerate() {
            reads[note.at] = !note.modifies() && !is_among(number, note);
        }
        reads.into()
    }

    /// Returns the code that notes these, each by so many columns of its key.
    pub(crate) fn code(&self, of: &Code, wanted: &[(usize, usize)]) -> Code {
        let needed = self.known.as_ref().map_or_else(BTreeSet::new, |known| {
            let prefixes = wanted.iter().map(|(note, columns)| {
                let KeySpace { place, prefix, .. } = &self.notes[*note];
                (*place, &prefix[..*columns])
            });
            known.needed(&self.effects, prefixes)
        });
        let goes_on = |at: usize| {
            let to = self.known.as_ref().and_then(|known| known.flow.goes_on(at));
            let to = to.filter(|to| faults::goes_back(*to <= at));
            to.map(|to| Instruction::Jump { to: Target(to as u32) })
        };
        let (mut instructions, mut moved_to) = (Vec::new(), Vec::new());
        for (at, instruction) in of.instructions.iter().enumerate() {
            moved_to.push(instructions.len() as u32);
            let here = wanted.iter().filter(|(note, _)| self.notes[*note].place == at);
            instructions.extend(here.map(|(note, columns)| {
                let KeySpace { slot, prefix, .. } = &self.notes[*note];
                Instruction::Note { number: *note as u16, table: *slot, prefix: prefix[..*columns].into() }
            }));
            instructions.extend(if needed.contains(&at) { Some(instruction.clone()) } else { goes_on(at) });
        }
        moved_to.push(instructions.len() as u32);
        instructions.push(Instruction::End);
        for instruction in &mut instructions {
            instruction.target_mut().into_iter().for_each(|target| target.0 = moved_to[target.0 as usize]);
        }
        Code {
            program: of.program.clone(),
            results: of.results.clone(),
            parameters: of.parameters.clone(),
            statements: vec![0; instructions.len()].into(),
            places: of.places[..1].into(),
            numbers: of.numbers[..1].into(),
            is_expected: vec![false; instructions.len()].into(),
            instructions: instructions.into(),
            handlers: Box::default(),
            tables: of.tables.clone(),
            sequences: 0,
            sizes: of.sizes,
        }
    }
}

/// Which instructions do what the arguments and settled rows say, and nothing else.
#[derive(Debug)]
struct Known {
    flow: Flow,
    is_known: Vec<bool>,
    /// What each instruction defines.
    defines: Vec<BTreeSet<Variable>>,
}

impl Known {
    fn of(code: &Code, effects: &[Effects], settled: &[bool]) -> Known {
        let flow = Flow::of(code, effects);
        let is_settled = |at: usize| settled.get(at).is_some_and(|is_settled| *is_settled);
        let computes = |at: usize| {
            flow.is_live[at]
                && !effects[at].draws
                && !flow.tries.iter().any(|range| range.contains(&at))
                && match code.instructions[at] {
                    Instruction::Evaluate { .. }
                    | Instruction::EvaluateArray { .. }
                    | Instruction::Append { .. }
                    | Instruction::Collect { .. }
                    | Instruction::Unless { .. }
                    | Instruction::BeginFor { .. }
                    | Instruction::NextFor { .. }
                    | Instruction::NextEach { .. } => true,
                    Instruction::Get { for_update: false, .. } | Instruction::First { .. } => is_settled(at),
                    _ => false,
                }
        };
        let mut is_known: Vec<bool> = (0..effects.len()).map(computes).collect();
        let needs: Vec<Vec<usize>> = (0..effects.len()).map(|at| flow.needs(at, &effects[at])).collect();
        let mut has_changed = true;
        while std::mem::take(&mut has_changed) {
            for at in 0..effects.len() {
                if is_known[at] && !needs[at].iter().all(|needed| is_known[*needed]) {
                    (is_known[at], has_changed) = (false, true);
                }
            }
        }
        let defines = effects.iter().map(|effects| effects.defines.clone()).collect();
        Known { flow, is_known, defines }
    }

    /// Returns the key space of an access, with the place where it is noted.
    fn note(&self, code: &Code, at: usize, access: Access) -> KeySpace {
        let whole = KeySpace { at, ..KeySpace::new(code, access) };
        let schema = whole.table.schema();
        let key = key(code, at);
        let of_column = |column: &ColumnId| key.iter().find(|(of, _)| of == column).map(|(_, value)| *value);
        let columns = schema.primary_key().iter().take_while(|column| is_enough(schema, **column, &whole.access));
        let values: Vec<&Scalar> = columns.map_while(of_column).collect();
        let known = |place| values.iter().take_while(|value| self.is_at_hand(value, at, place)).count();
        let place = self.place(at);
        let columns = known(place);
        let before = self.before_loops(place).filter(|before| known(*before) == columns);
        let prefix = values[..columns].iter().copied().cloned().collect();
        KeySpace { place: before.unwrap_or(place), prefix, ..whole }
    }

    /// Where the access of an instruction is noted: there, or at the last instruction before it that every run comes to and about
    /// which nothing decides that is not known.
    fn place(&self, at: usize) -> usize {
        self.dominators(at).find(|at| self.is_certain(*at)).unwrap_or(0)
    }

    /// The last place before all loops that a place is in; `None` where it is in none.
    fn before_loops(&self, place: usize) -> Option<usize> {
        let behind = self.flow.behind(place);
        let before = self.dominators(place).find(|before| !behind.contains(before))?;
        (before != place && self.is_certain(before)).then_some(before)
    }

    /// Whether nothing that is not known decides about an instruction.
    fn is_certain(&self, at: usize) -> bool {
        self.flow.branches(at).all(|branch| self.is_known[branch])
    }

    /// An instruction, and those before it that every run comes to, the last one first.
    fn dominators(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(at), |at| self.flow.dominator(*at))
    }

    /// Whether a value at an instruction is known, and is the same at the place before it.
    fn is_at_hand(&self, value: &Scalar, at: usize, place: usize) -> bool {
        let effects = Effects::of_scalar(value);
        let is_known = |variable: &Variable| {
            let mut definitions = self.flow.definitions(*variable, place);
            definitions.all(|definition| self.is_known[definition])
        };
        let between = if place == at { Vec::new() } else { self.flow.between(place, at) };
        let stays = |variable: &Variable| between.iter().all(|of| !self.defines[*of].contains(variable));
        !effects.draws && effects.uses.iter().all(|variable| is_known(variable) && stays(variable))
    }

    /// Returns the instructions that these prefixes need, each at its place.
    fn needed<'p>(
        &self,
        effects: &[Effects],
        prefixes: impl Iterator<Item = (usize, &'p [Scalar])>,
    ) -> BTreeSet<usize> {
        let mut open = Vec::new();
        for (place, prefix) in prefixes {
            open.extend(self.flow.branches(place).filter(|branch| self.is_known[*branch]));
            for variable in prefix.iter().flat_map(|value| Effects::of_scalar(value).uses) {
                open.extend(self.flow.definitions(variable, place));
            }
        }
        let mut needed = BTreeSet::new();
        while let Some(at) = open.pop() {
            assert!(self.is_known[at], "what a prefix needs is known");
            if needed.insert(at) {
                open.extend(self.flow.needs(at, &effects[at]));
            }
        }
        needed
    }
}

/// How many columns of the primary key are enough to tell the key spaces of rows apart that come, go or change in any way.
pub(crate) fn columns_enough(schema: &Schema) -> usize {
    let access = Access::of_anything();
    schema.primary_key().iter().take_while(|column| is_enough(schema, **column, &access)).count()
}

/// Whether rows that exclude each other by a unique index whose entries this access changes have the same value in this column.
fn is_enough(schema: &Schema, column: ColumnId, access: &Access) -> bool {
    let changed = schema.indexes().iter().filter(|index| {
        index.is_unique() && (access.moves || index.columns().iter().any(|column| access.writes.contains(column)))
    });
    faults::is_enough(changed.into_iter().all(|index| index.columns().contains(&column)))
}

/// The values that columns have in all rows that an instruction accesses.
fn key(code: &Code, at: usize) -> Vec<(ColumnId, &Scalar)> {
    let schema = |table: TableSlot| code.tables[usize::from(table.0)].schema();
    let (columns, values): (&[ColumnId], &[Scalar]) = match &code.instructions[at] {
        Instruction::Get { table, key, .. }
        | Instruction::Update { table, key, .. }
        | Instruction::Delete { table, key, .. } => (schema(*table).primary_key(), key),
        Instruction::Insert { table, values }
        | Instruction::Upsert { table, values }
        | Instruction::Replace { table, values, .. } => {
            let columns = schema(*table).primary_key().iter();
            return columns.map(|column| (*column, &values[usize::from(column.0)])).collect();
        }
        Instruction::First { range, .. }
        | Instruction::DeleteAll { range, .. }
        | Instruction::OpenRows { range, .. } => {
            let RowRange { table, index, prefix, .. } = range;
            let index = index.as_ref().and_then(|name| schema(*table).index(name).ok());
            let of_index = index.map_or(&[][..], |index| index.columns());
            let columns = of_index.iter().chain(schema(*table).primary_key());
            return columns.copied().zip(prefix).collect();
        }
        _ => return Vec::new(),
    };
    columns.iter().copied().zip(values).collect()
}
