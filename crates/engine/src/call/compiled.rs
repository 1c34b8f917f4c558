//! Procedures as sessions keep them: compiled once per version and state of the catalog.
//!
//! Invariant: what is kept is used only by transactions for which every definition that went into it is the current one, whether
//! the call comes to it or not. Else it would depend on what a session has kept whether a procedure makes sense, and a call that
//! was logged could not be run again where a table is gone that it did not need.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bumpalo::Bump;
use foldhash::fast::RandomState;

use super::choice::{self, Choice};
use super::faults;
use super::lanes::Lanes;
use super::memory::Arena;
use super::opaque::{OpaqueProcedure, Procedures};
use crate::catalog::procedure::{Procedure, ProcedureDefinition, ProcedureKind};
use crate::catalog::sequence::Sequence;
use crate::config::Config;
use crate::error::{Error, ProcedureError};
use crate::io::Clock;
use crate::log::format::payload::command::Command;
use crate::procedure::code::Code;
use crate::procedure::compile::{Definitions, compile};
use crate::procedure::program::Program;
use crate::procedure::stored;
use crate::table::Table;
use crate::transaction::Transaction;
use crate::transaction::figures::{Sample, SessionFigures};

/// A procedure that can be run.
pub(super) struct Compiled {
    pub(super) handle: Procedure,
    pub(super) body: Body,
}

/// What a procedure does.
pub(super) enum Body {
    /// A program, with the procedures that it calls.
    Declared { code: Code, callees: Vec<Procedure>, sequences: Vec<Sequence> },
    /// A function of the program that has opened the database.
    Opaque(Arc<OpaqueProcedure>),
}

/// A procedure as a session keeps it.
pub(super) struct Kept {
    pub(super) compiled: Compiled,
    /// What the session counts of its calls.
    pub(super) figures: SessionFigures,
    pub(super) choice: Choice,
}

/// What a session keeps from one call to the next.
#[derive(Default)]
pub(super) struct Workspace {
    pub(super) memory: Bump,
    pub(super) procedures: KeptProcedures,
    /// For calls that are interleaved.
    pub(super) lanes: Lanes,
}

/// The procedures that a session has called. Calls that are interleaved use those of one session together.
#[derive(Default)]
pub(super) struct KeptProcedures {
    kept: RefCell<HashMap<String, Arc<Kept>, RandomState>>,
    /// Calls that were logged as commands.
    commands: Cell<u64>,
}

/// Makes calls, one after the other.
pub(super) struct Caller<'w> {
    pub(super) procedures: &'w KeptProcedures,
    pub(super) memory: &'w mut Bump,
}

impl Workspace {
    /// Returns what makes calls with it.
    pub(super) fn caller(&mut self) -> Caller<'_> {
        Caller { procedures: &self.procedures, memory: &mut self.memory }
    }
}

impl KeptProcedures {
    /// Returns the current version of a procedure, as a transaction sees it.
    pub(super) fn get(&self, transaction: &Transaction<'_>, name: &str) -> Result<Arc<Kept>, Error> {
        transaction.refuse_at_snapshot("call a procedure")?;
        let kept = self.kept.borrow().get(name).cloned();
        if let Some(kept) = kept
            && kept.compiled.is_current(transaction)?
        {
            return Ok(kept);
        }
        self.kept.borrow_mut().remove(name);
        let kept = Arc::new(Kept::of(transaction, name)?);
        self.kept.borrow_mut().insert(name.to_owned(), kept.clone());
        Ok(kept)
    }

    /// Whether the next command is logged with the hash of what it wrote.
    pub(super) fn is_hashed(&self, config: &Config) -> bool {
        self.commands.set(self.commands.get() + 1);
        config.command_hash_interval > 0 && self.commands.get().is_multiple_of(config.command_hash_interval)
    }
}

impl Caller<'_> {
    /// Returns the memory of a call, as the configuration bounds it.
    pub(super) fn arena(&mut self, config: &Config) -> Arena {
        Arena::new(std::mem::take(self.memory), config.procedure_bytes_max)
    }

    /// Takes the memory back.
    pub(super) fn keep(&mut self, arena: Arena) {
        *self.memory = arena.into_memory();
    }
}

impl Kept {
    fn of(transaction: &Transaction<'_>, name: &str) -> Result<Kept, Error> {
        let compiled = Compiled::of(transaction, name)?;
        let figures = transaction.shared().figures.begin(name, compiled.handle.version());
        let kept = Kept { compiled, figures, choice: Choice::new() };
        kept.decide(transaction);
        Ok(kept)
    }

    /// Returns the clock by which the next attempt is measured, if it is.
    #[inline]
    pub(super) fn clock<'t>(&self, transaction: &Transaction<'t>) -> Option<&'t dyn Clock> {
        let config = transaction.config();
        choice::is_sampled(self.figures.attempts(), config.logged).then(|| &*config.environment.clock)
    }

    /// Notes what an attempt took, and what it is about to commit. Of a procedure that writes only calls that do are judged.
    pub(super) fn learn(&self, transaction: &Transaction<'_>, execution: Duration, command: &Command<'_>) {
        let (rows, bytes) = transaction.values_size();
        if rows > 0 || !self.figures.means().is_some_and(|means| means.rows > 0.0) {
            let (command_bytes, value_bytes) = (command.encoded_len() as f64, bytes as f64);
            let execution_ns = execution.as_nanos() as f64;
            self.figures.learn(Sample { execution_ns, command_bytes, value_bytes, rows: rows.into() });
            self.decide(transaction);
        }
    }

    fn decide(&self, transaction: &Transaction<'_>) {
        if let Some(means) = self.figures.means().filter(|means| means.rows > 0.0) {
            self.choice.decide(&means, &transaction.shared().debt);
        }
    }
}

impl Compiled {
    /// Compiles the current version of a procedure.
    fn of(transaction: &Transaction<'_>, name: &str) -> Result<Compiled, Error> {
        let Some((handle, definition)) = transaction.procedure_definition(name)? else {
            return Err(ProcedureError::Unknown { procedure: name.to_owned() }.into());
        };
        let body = Body::of(transaction, name, &handle, &definition)?;
        Ok(Compiled { handle, body })
    }

    pub(super) fn is_current(&self, transaction: &Transaction<'_>) -> Result<bool, Error> {
        if !transaction.use_definition(&self.handle)? {
            return Ok(false);
        }
        match &self.body {
            Body::Opaque(_) => Ok(true),
            Body::Declared { code, callees, sequences } => {
                for callee in callees {
                    if !transaction.use_definition(callee)? {
                        return Ok(false);
                    }
                }
                for sequence in sequences {
                    if !faults::is_current(transaction.use_sequence(sequence)?) {
                        return Ok(false);
                    }
                }
                for table in &code.tables {
                    if !faults::is_current(transaction.use_table(table)?) {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }
}

impl Body {
    /// Compiles a definition.
    pub(super) fn of(
        transaction: &Transaction<'_>,
        name: &str,
        handle: &Procedure,
        definition: &ProcedureDefinition,
    ) -> Result<Body, Error> {
        match definition.kind {
            ProcedureKind::Declared => {
                let lookup = Lookup::new(transaction);
                let code = compile(Arc::new(stored::decode(name, &definition.definition)?), &lookup)?;
                let (callees, sequences) = (lookup.callees.into_inner(), lookup.sequences.into_inner());
                Ok(Body::Declared { code, callees, sequences })
            }
            ProcedureKind::Opaque => {
                let version = handle.version().version;
                let registered = Procedures::of(transaction).find(name, version);
                registered.map(Body::Opaque).ok_or_else(|| {
                    let (procedure, version) = (name.to_owned(), version.0);
                    ProcedureError::NotRegistered { procedure, version }.into()
                })
            }
        }
    }
}

/// What names mean to a transaction.
pub(super) struct Lookup<'t, 's> {
    transaction: &'t Transaction<'s>,
    callees: RefCell<Vec<Procedure>>,
    /// In the order in which they were asked for, which is that of the code.
    sequences: RefCell<Vec<Sequence>>,
}

impl<'t, 's> Lookup<'t, 's> {
    pub(super) fn new(transaction: &'t Transaction<'s>) -> Lookup<'t, 's> {
        Lookup { transaction, callees: RefCell::default(), sequences: RefCell::default() }
    }
}

impl Definitions for Lookup<'_, '_> {
    fn table(&self, name: &str) -> Result<Table, Error> {
        self.transaction.table(name)
    }

    fn procedure(&self, name: &str) -> Result<Arc<Program>, Error> {
        let Some((handle, definition)) = self.transaction.procedure_definition(name)? else {
            return Err(ProcedureError::Unknown { procedure: name.to_owned() }.into());
        };
        if definition.kind == ProcedureKind::Opaque {
            return Err(ProcedureError::Opaque { procedure: name.to_owned() }.into());
        }
        self.callees.borrow_mut().push(handle);
        Ok(Arc::new(stored::decode(name, &definition.definition)?))
    }

    fn sequence(&self, name: &str) -> Result<(), Error> {
        self.sequences.borrow_mut().push(self.transaction.sequence(name)?);
        Ok(())
    }
}
