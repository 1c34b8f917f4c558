//! From a program to code: names are looked up, types checked, statements become instructions.
//!
//! Invariants:
//! - Code that is returned is sound: whatever a program's tables hold, running it meets no slot, target or type that is not
//!   there.
//! - Each variable has a slot of its own, which nothing else uses. Parameters and the variables of loops are written by calls and
//!   loops only.
//! - Procedures that are called become a part of the code, with variables of their own; none calls itself.
//! - An error names the statement.
//!
//! Absent: whether a program is well formed without a catalog, which was checked before
//! ([`Program::check_form`](super::program::Program::check_form)).

mod expect;
mod expressions;
mod functions;
mod inline;
mod intent;
mod rows;
mod scope;
mod statements;

use std::sync::Arc;

use super::code::{ArraySlot, RowSlot, ScanSlot, Slot, TableSlot};
use super::code::{Code, Handler, Instruction, Kind, Output, ParameterSlot, Sizes, Target};
use super::program::{Field, Program, Results};
use crate::error::{Error, ProcedureError};
use crate::table::Table;
use scope::{Scope, Variable};

/// The most instructions of a procedure, with those that it calls.
const INSTRUCTIONS_MAX: usize = 65_535;
/// The most variables, loops and intermediate values.
const SLOTS_MAX: usize = 16_384;
/// How deep procedures may call each other.
const CALLS_MAX: usize = 32;

/// What names mean. Errors are those of a lookup, as that of a table that does not exist.
pub(crate) trait Definitions {
    /// Returns the table of this name.
    fn table(&self, name: &str) -> Result<Table, Error>;
    /// Returns the declared procedure of this name.
    fn procedure(&self, name: &str) -> Result<Arc<Program>, Error>;
    /// Makes sure that there is a sequence of this name.
    fn sequence(&self, name: &str) -> Result<(), Error>;
}

/// Why something does not compile.
enum Problem {
    /// It is wrong; the statement is added on the way out.
    Wrong(String),
    /// Complete as it is.
    Error(Error),
}

type Compiled<T> = Result<T, Problem>;

impl From<String> for Problem {
    fn from(what: String) -> Problem {
        Problem::Wrong(what)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        // What is retried or ends the database is not a mistake of the program.
        match error {
            Error::Transaction(inner) if !Error::Transaction(inner.clone()).is_conflict() => {
                Problem::Wrong(inner.to_string())
            }
            Error::Schema(inner) => Problem::Wrong(inner.to_string()),
            Error::Procedure(inner @ ProcedureError::Unknown { .. }) => Problem::Wrong(inner.to_string()),
            error => Problem::Error(error),
        }
    }
}

/// A wrong statement.
fn wrong<T>(what: impl Into<String>) -> Compiled<T> {
    Err(Problem::Wrong(what.into()))
}

/// Compiles a program.
///
/// # Errors
/// [`ProcedureError::Invalid`], and what a lookup fails with.
pub(crate) fn compile(program: Arc<Program>, definitions: &dyn Definitions) -> Result<Code, Error> {
    program.check_form()?;
    let mut compiler = Compiler::new(definitions);
    compiler.begin_procedure(&program, None);
    let compiled = compiler.whole(&program);
    compiled.map_err(|problem| compiler.invalid(problem))?;
    Ok(compiler.finish(program))
}

/// A procedure that is being compiled: the outermost one, or one that is called.
struct Procedure {
    name: String,
    results: Results,
    /// Where results go, and who returns; `None`: the outermost one.
    caller: Option<Caller>,
    /// `try` statements and scans that were begun outside.
    tries: u16,
    scans: u16,
    /// Of the statement that is being compiled.
    number: usize,
}

/// Where a procedure that is called leaves its results.
struct Caller {
    values: Vec<Variable>,
    /// Jumps that end the call.
    ends: Vec<usize>,
}

/// A loop that is being compiled.
struct Loop {
    next: Target,
    breaks: Vec<usize>,
    tries: u16,
}

struct Compiler<'d> {
    definitions: &'d dyn Definitions,
    instructions: Vec<Instruction>,
    statements: Vec<u16>,
    places: Vec<String>,
    numbers: Vec<u32>,
    /// The statement that is being compiled.
    place: usize,
    handlers: Vec<Handler>,
    tables: Vec<Table>,
    sequences: Vec<String>,
    sizes: Sizes,
    scope: Scope,
    procedures: Vec<Procedure>,
    loops: Vec<Loop>,
    /// `try` statements around what is compiled.
    tries: u16,
    /// Scans that are open there.
    scans: u16,
    /// How many conditions decide whether it is executed.
    conditions: u32,
    expected: expect::Expected,
    parameters: Vec<ParameterSlot>,
}

impl<'d> Compiler<'d> {
    fn new(definitions: &'d dyn Definitions) -> Compiler<'d> {
        Compiler {
            definitions,
            instructions: Vec::new(),
            statements: Vec::new(),
            places: vec!["its head".to_owned()],
            numbers: vec![0],
            place: 0,
            handlers: Vec::new(),
            tables: Vec::new(),
            sequences: Vec::new(),
            sizes: Sizes::default(),
            scope: Scope::default(),
            procedures: Vec::new(),
            loops: Vec::new(),
            tries: 0,
            scans: 0,
            conditions: 0,
            expected: expect::Expected::default(),
            parameters: Vec::new(),
        }
    }

    fn begin_procedure(&mut self, program: &Program, caller: Option<Caller>) {
        let (tries, scans) = (self.tries, self.scans);
        let (name, results) = (program.name.clone(), program.results.clone());
        self.procedures.push(Procedure { name, results, caller, tries, scans, number: 0 });
        self.scope.begin_procedure();
    }

    /// Compiles the outermost procedure.
    fn whole(&mut self, program: &Program) -> Compiled<()> {
        self.parameters = program.parameters.iter().map(|field| self.parameter(field)).collect::<Compiled<_>>()?;
        self.emit(Instruction::Expect(Box::default()))?;
        self.block(&program.body)?;
        self.emit(Instruction::End)?;
        self.expect_arguments(&self.parameters.clone());
        Ok(())
    }

    fn parameter(&mut self, field: &Field) -> Compiled<ParameterSlot> {
        let variable = self.declare(field, false)?;
        Ok(match variable {
            Variable::Scalar { slot, .. } => ParameterSlot::Scalar(slot),
            Variable::Array { slot, .. } => ParameterSlot::Array(slot),
            Variable::Row { .. } | Variable::Error { .. } => unreachable!("a field has a type"),
        })
    }

    /// Makes a variable of a type known.
    fn declare(&mut self, field: &Field, is_settable: bool) -> Compiled<Variable> {
        let ty = field.ty.ty;
        let variable = match field.ty.is_array {
            true => Variable::Array { slot: self.array_slot()?, ty, is_settable },
            false => Variable::Scalar { slot: self.slot()?, ty, is_settable },
        };
        self.scope.declare(&field.name, variable)?;
        Ok(variable)
    }

    fn emit(&mut self, instruction: Instruction) -> Compiled<usize> {
        if self.instructions.len() >= INSTRUCTIONS_MAX {
            return wrong(format!(
                "the procedure, with what it calls, has more than {INSTRUCTIONS_MAX} instructions; split it"
            ));
        }
        self.instructions.push(instruction);
        let place = u16::try_from(self.place).map_err(|_| "it has too many statements; split it".to_owned())?;
        self.statements.push(place);
        Ok(self.instructions.len() - 1)
    }

    /// Returns the next instruction, as a target.
    fn here(&self) -> Target {
        Target(self.instructions.len() as u32)
    }

    /// Gives an instruction that jumps its target.
    fn patch(&mut self, at: usize, to: Target) {
        let target = self.instructions[at].target_mut().expect("only what jumps is patched");
        *target = to;
    }

    fn patch_here(&mut self, at: usize) {
        self.patch(at, self.here());
    }

    fn slot(&mut self) -> Compiled<Slot> {
        next(&mut self.sizes.values).map(Slot)
    }

    fn array_slot(&mut self) -> Compiled<ArraySlot> {
        next(&mut self.sizes.arrays).map(ArraySlot)
    }

    fn row_slot(&mut self) -> Compiled<RowSlot> {
        next(&mut self.sizes.rows).map(RowSlot)
    }

    /// Opens a scan; scans end in the opposite order.
    fn open_scan(&mut self) -> Compiled<ScanSlot> {
        let scan = next(&mut self.scans).map(ScanSlot)?;
        self.sizes.scans = self.sizes.scans.max(self.scans);
        Ok(scan)
    }

    /// Looks a table up.
    fn table(&mut self, name: &str) -> Compiled<TableSlot> {
        let at = match self.tables.iter().position(|table| table.name() == name) {
            Some(at) => at,
            None => {
                self.tables.push(self.definitions.table(name)?);
                self.tables.len() - 1
            }
        };
        Ok(TableSlot(u16::try_from(at).map_err(|_| "it uses too many tables".to_owned())?))
    }

    fn sequence(&mut self, name: &str) -> Compiled<u16> {
        let at = match self.sequences.iter().position(|known| known == name) {
            Some(at) => at,
            None => {
                self.definitions.sequence(name)?;
                self.sequences.push(name.to_owned());
                self.sequences.len() - 1
            }
        };
        Ok(u16::try_from(at).map_err(|_| "it uses too many sequences".to_owned())?)
    }

    fn procedure(&mut self) -> &mut Procedure {
        self.procedures.last_mut().expect("a procedure is being compiled")
    }

    fn invalid(&self, problem: Problem) -> Error {
        match problem {
            Problem::Error(error) => error,
            Problem::Wrong(what) => {
                let procedure = self.procedures.first().map_or_else(String::new, |outer| outer.name.clone());
                let place = self.places[self.place].clone();
                ProcedureError::Invalid { procedure, place, what }.into()
            }
        }
    }

    fn finish(mut self, program: Arc<Program>) -> Code {
        intent::mark(&mut self.instructions);
        let mut is_expected = vec![false; self.instructions.len()];
        self.expected.instructions.iter().for_each(|at| is_expected[*at] = true);
        Code {
            is_expected: is_expected.into(),
            results: Arc::new(program.results.clone()),
            program,
            parameters: self.parameters.into(),
            instructions: self.instructions.into(),
            statements: self.statements.into(),
            places: self.places.into(),
            numbers: self.numbers.into(),
            handlers: self.handlers.into(),
            tables: self.tables.into(),
            sequences: self.sequences.len(),
            sizes: self.sizes,
        }
    }
}

/// Takes the next slot.
fn next(count: &mut u16) -> Compiled<u16> {
    let slot = *count;
    if usize::from(slot) >= SLOTS_MAX {
        return wrong(format!(
            "the procedure has more than {SLOTS_MAX} variables, those that it calls included; split it"
        ));
    }
    *count += 1;
    Ok(slot)
}

/// Whether nothing has to be done so that a value of this kind fits a type.
fn fits_as_it_is(kind: Kind, ty: crate::table::Type) -> bool {
    use crate::table::Type;
    match ty {
        Type::Int16 | Type::Int32 => false,
        Type::Numeric { precision, scale } => kind == Kind::Numeric(scale) && precision == Type::PRECISION_MAX,
        ty => kind == Kind::of(ty),
    }
}

/// The outputs of a `return` or `emit`.
type Outputs = Vec<Output>;
