//! What one instruction reads and defines, and what it accesses.
//!
//! Invariants:
//! - Whatever an instruction's effect depends on is among its uses, but for rows of tables, which are its accesses.
//! - Results, and the messages of `abort`, are no uses: whoever needs them runs elsewhere. But they are evaluated, which may
//!   fail, so the columns that they read are columns that the procedure reads.
//!
//! Absent: which definition reaches which use, and what decides whether an instruction is executed (flow.rs).

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::TableId;
use crate::procedure::code::{Array, Code, Instruction, Output, RangeEnd, RowRange, RowSlot, Scalar, TableSlot};
use crate::procedure::expression::Function;
use crate::table::ColumnId;

/// What holds something between two instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variable {
    Value(u16),
    Array(u16),
    Row(u16),
    Scan(u16),
}

/// What is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Accessed {
    Table(TableId),
    /// What is drawn one after the other: random numbers and values of sequences.
    Draws,
    /// Any table: of a function of the program.
    Anything,
}

/// An access to rows of a table.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) of: Accessed,
    pub(super) reads: BTreeSet<ColumnId>,
    pub(super) writes: BTreeSet<ColumnId>,
    /// Whether it adds or removes rows.
    pub(super) moves: bool,
}

/// How fine data dependencies are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dependencies {
    /// Two operations depend on each other if they access the same table and one of them modifies it (PACMAN, section 4.1.1).
    #[default]
    Tables,
    /// As [`Dependencies::Tables`], but a read does not depend on what neither adds nor removes rows and changes other columns.
    Columns,
}

impl Access {
    fn new(of: Accessed) -> Access {
        Access { of, reads: BTreeSet::new(), writes: BTreeSet::new(), moves: false }
    }

    /// The worst: one that may do anything.
    pub(super) fn of_anything() -> Access {
        Access { moves: true, ..Access::new(Accessed::Anything) }
    }

    /// Whether it changes what others may read.
    pub(super) fn modifies(&self) -> bool {
        self.moves || !self.writes.is_empty()
    }

    /// Whether two accesses may not change places (PACMAN, section 4.1.1).
    pub(super) fn conflicts(&self, other: &Access, by: Dependencies) -> bool {
        let is_same = self.of == other.of || [self.of, other.of].contains(&Accessed::Anything);
        if !is_same || !(self.modifies() || other.modifies()) {
            return false;
        }
        match by {
            Dependencies::Tables => true,
            Dependencies::Columns => {
                // Rows are written as a whole: two writes of one table have an order whatever their columns.
                let is_seen = |by: &Access, of: &Access| of.moves || !of.writes.is_disjoint(&by.reads);
                (self.modifies() && other.modifies()) || is_seen(self, other) || is_seen(other, self)
            }
        }
    }
}

/// What an instruction uses and defines.
#[derive(Debug, Default)]
pub(super) struct Effects {
    pub(super) uses: BTreeSet<Variable>,
    pub(super) defines: BTreeSet<Variable>,
    /// The columns of rows that it uses.
    columns: BTreeSet<(u16, ColumnId)>,
    /// Whether it draws something of which the next draw is another one.
    pub(super) draws: bool,
}

impl Effects {
    /// Returns those of an instruction of `code`.
    pub(super) fn of(code: &Code, instruction: &Instruction) -> Effects {
        let mut effects = Effects::default();
        effects.add(code, instruction);
        effects
    }

    /// Returns those of an expression.
    pub(super) fn of_scalar(scalar: &Scalar) -> Effects {
        let mut effects = Effects::default();
        effects.scalar(scalar);
        effects
    }

    fn add(&mut self, code: &Code, instruction: &Instruction) {
        match instruction {
            Instruction::Evaluate { to, value } => {
                self.scalar(value);
                self.defines.insert(Variable::Value(to.0));
            }
            Instruction::EvaluateArray { to, value } => {
                self.array(value);
                self.defines.insert(Variable::Array(to.0));
            }
            Instruction::Append { to, value } => self.append([to.0], [value]),
            Instruction::Collect { values, to } => self.append(to.iter().map(|to| to.0), &**values),
            Instruction::Unless { condition, .. } => self.scalar(condition),
            Instruction::BeginFor { variable, last, .. } => self.values([variable.0, last.0]),
            Instruction::NextFor { variable, last, .. } => {
                self.values([variable.0, last.0]);
                self.defines.insert(Variable::Value(variable.0));
            }
            Instruction::NextEach { index, each, .. } => {
                self.values([index.0]);
                self.uses.extend(each.arrays.iter().map(|array| Variable::Array(array.0)));
                self.defines.insert(Variable::Value(index.0));
                self.defines.extend(each.variables.iter().map(|variable| Variable::Value(variable.0)));
            }
            Instruction::BeginTry { handler } => {
                let caught = code.handlers[usize::from(*handler)].catches.iter().filter_map(|catch| catch.error);
                let slots = caught.flat_map(|(sqlstate, message)| [sqlstate.0, message.0]);
                self.defines.extend(slots.map(Variable::Value));
            }
            Instruction::Expect(_)
            | Instruction::Jump { .. }
            | Instruction::EndTry
            | Instruction::LeaveTry { .. }
            | Instruction::End => {}
            Instruction::Return { values } | Instruction::Emit { values } => values.iter().for_each(|output| {
                let mut evaluated = Effects::default();
                match output {
                    Output::Scalar(value) => evaluated.scalar(value),
                    Output::Array(array) => evaluated.array(array),
                }
                self.columns.extend(evaluated.columns);
            }),
            Instruction::Abort { message, .. } => self.columns.extend(Effects::of_scalar(message).columns),
            Instruction::Note { prefix, .. } => self.scalars(&**prefix),
            access => self.access(access),
        }
    }

    /// Those of an instruction that accesses rows.
    fn access(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Get { key, row, .. } | Instruction::Delete { key, row, .. } => {
                self.scalars(&**key);
                self.defines.insert(Variable::Row(row.0));
            }
            Instruction::First { range, row, .. } => {
                self.range(range);
                self.defines.insert(Variable::Row(row.0));
            }
            Instruction::Insert { values, .. }
            | Instruction::Upsert { values, .. }
            | Instruction::Replace { values, .. } => self.scalars(&**values),
            Instruction::Update { key, row, changes, .. } => {
                // The changes may use the row, which the instruction reads before.
                self.scalars(changes.iter().map(|(_, value)| value));
                self.uses.remove(&Variable::Row(row.0));
                self.scalars(&**key);
                self.defines.insert(Variable::Row(row.0));
            }
            Instruction::DeleteAll { range, count } => {
                self.range(range);
                self.defines.insert(Variable::Value(count.0));
            }
            Instruction::OpenRows { scan, range } => {
                self.range(range);
                self.defines.insert(Variable::Scan(scan.0));
            }
            Instruction::NextRow { scan, row, .. } => {
                self.uses.insert(Variable::Scan(scan.0));
                self.defines.extend([Variable::Scan(scan.0), Variable::Row(row.0)]);
            }
            Instruction::CloseRows { scan } => {
                self.uses.insert(Variable::Scan(scan.0));
            }
            other => unreachable!("{other:?} accesses no rows"),
        }
    }

    fn append<'s>(&mut self, to: impl IntoIterator<Item = u16>, values: impl IntoIterator<Item = &'s Scalar>) {
        self.scalars(values);
        for to in to {
            self.uses.insert(Variable::Array(to));
            self.defines.insert(Variable::Array(to));
        }
    }

    fn values(&mut self, slots: impl IntoIterator<Item = u16>) {
        self.uses.extend(slots.into_iter().map(Variable::Value));
    }

    fn range(&mut self, range: &RowRange) {
        self.scalars(&*range.prefix);
        let ends = [&range.low, &range.high].into_iter().flatten();
        ends.for_each(|RangeEnd { values, .. }| self.scalars(&**values));
        self.scalars(range.limit.iter());
    }

    fn scalars<'s>(&mut self, scalars: impl IntoIterator<Item = &'s Scalar>) {
        scalars.into_iter().for_each(|scalar| self.scalar(scalar));
    }

    fn scalar(&mut self, scalar: &Scalar) {
        match scalar {
            Scalar::Constant(_) => {}
            Scalar::Slot(slot) => self.values([slot.0]),
            Scalar::Column(row, column) => {
                self.uses.insert(Variable::Row(row.0));
                self.columns.insert((row.0, *column));
            }
            Scalar::Exists(row) => {
                self.uses.insert(Variable::Row(row.0));
            }
            Scalar::Not(of)
            | Scalar::IsNull(of)
            | Scalar::Negate(of)
            | Scalar::Convert(_, of)
            | Scalar::Round(_, _, of)
            | Scalar::RoundFloat(_, of) => self.scalar(of),
            Scalar::And(a, b)
            | Scalar::Or(a, b)
            | Scalar::CompareUnits(_, a, b)
            | Scalar::Compare(_, a, b)
            | Scalar::Int(_, a, b)
            | Scalar::Float(_, a, b)
            | Scalar::Shift(_, a, b)
            | Scalar::Numeric(_, (a, _), (b, _)) => self.scalars([&**a, &**b]),
            Scalar::Concatenate(parts) => self.scalars(parts),
            Scalar::Case(branches, otherwise) => {
                self.scalars(branches.iter().flat_map(|(condition, value)| [condition, value]));
                self.scalar(otherwise);
            }
            Scalar::Call(function, arguments) => {
                self.draws |= matches!(function, Function::Random | Function::Uuid | Function::NextValue);
                self.scalars(&**arguments);
            }
            Scalar::Cardinality(array) => self.array(array),
            Scalar::Contains(array, value) | Scalar::Element(array, value) => {
                self.array(array);
                self.scalar(value);
            }
            Scalar::NextValue(_) => self.draws = true,
        }
    }

    fn array(&mut self, array: &Array) {
        match array {
            Array::Null => {}
            Array::Slot(slot) => {
                self.uses.insert(Variable::Array(slot.0));
            }
            Array::Elements(elements) => self.scalars(&**elements),
            Array::Concatenate(a, b) => [a, b].into_iter().for_each(|array| self.array(array)),
            Array::Convert(_, of) | Array::Sorted(of) | Array::Distinct(of) => self.array(of),
        }
    }
}

/// Returns the columns of each row variable that `effects` use.
pub(super) fn columns_of_rows(effects: &[Effects]) -> BTreeMap<u16, BTreeSet<ColumnId>> {
    let mut columns = BTreeMap::<u16, BTreeSet<ColumnId>>::new();
    for (row, column) in effects.iter().flat_map(|effects| &effects.columns) {
        columns.entry(*row).or_default().insert(*column);
    }
    columns
}

/// Returns what the instruction at a place accesses: nothing, where it only computes. `columns` are those that are used of
/// each row variable.
pub(super) fn accesses(
    code: &Code,
    at: usize,
    effects: &Effects,
    columns: &BTreeMap<u16, BTreeSet<ColumnId>>,
) -> Vec<Access> {
    let schema = |table: TableSlot| code.tables[usize::from(table.0)].schema();
    let table = |table: TableSlot| Access::new(Accessed::Table(code.tables[usize::from(table.0)].id));
    let all = |table: TableSlot| (0..schema(table).columns().len() as u16).map(ColumnId).collect();
    let row = |row: &RowSlot| columns.get(&row.0).cloned().unwrap_or_default();
    let range = |range: &RowRange| {
        let index = range.index.as_ref().and_then(|name| schema(range.table).index(name).ok());
        let reads = index.iter().flat_map(|index| index.columns()).copied().collect();
        Access { reads, ..table(range.table) }
    };
    let access = match &code.instructions[at] {
        Instruction::Get { table: of, row: to, .. } => Some(Access { reads: row(to), ..table(*of) }),
        Instruction::First { range: of, row: to, .. } => {
            let found = range(of);
            Some(Access { reads: &found.reads | &row(to), ..found })
        }
        Instruction::OpenRows { range: of, .. } => Some(range(of)),
        Instruction::NextRow { row: to, .. } => {
            let opener = opener(code, at).map(|at| &code.instructions[at]);
            let Some(Instruction::OpenRows { range: of, .. }) = opener else { unreachable!("the scan was opened") };
            Some(Access { reads: row(to), ..table(of.table) })
        }
        Instruction::Insert { table: of, .. } | Instruction::Upsert { table: of, .. } => {
            Some(Access { writes: all(*of), moves: true, ..table(*of) })
        }
        Instruction::Replace { table: of, .. } => Some(Access { writes: all(*of), ..table(*of) }),
        Instruction::Update { table: of, row: to, changes, .. } => {
            let writes = changes.iter().map(|(column, _)| *column).collect();
            Some(Access { reads: row(to), writes, ..table(*of) })
        }
        Instruction::Delete { table: of, row: to, .. } => {
            Some(Access { reads: row(to), writes: all(*of), moves: true, ..table(*of) })
        }
        Instruction::DeleteAll { range: of, .. } => Some(Access { writes: all(of.table), moves: true, ..range(of) }),
        _ => None,
    };
    let drawn = effects.draws.then(|| Access { moves: true, ..Access::new(Accessed::Draws) });
    access.into_iter().chain(drawn).collect()
}

/// The instruction that opens the scan of the one at a place: the last before it, because scans end in the opposite order.
pub(super) fn opener(code: &Code, at: usize) -> Option<usize> {
    let Instruction::NextRow { scan, .. } = &code.instructions[at] else { return None };
    let opens = |other: &Instruction| matches!(other, Instruction::OpenRows { scan: opened, .. } if opened == scan);
    code.instructions[..at].iter().rposition(opens)
}
