//! Commands of a log, run again.
//!
//! Invariants:
//! - A command draws what it drew when it ran first, no more and no less.
//! - It runs the version that it ran then. The order of the log has that version as the current one there, because a transaction
//!   relies on the definitions that it uses.

use std::collections::HashMap;
use std::sync::Arc;

use bumpalo::Bump;

use super::compiled::Compiled;
use super::draws::{Drawn, Source};
use super::memory::Arena;
use super::opaque::Procedures;
use super::planner::Unordered;
use super::run::{checked, expected_keys, run};
use super::trace::{Hook, Trace, Untraced};
use super::turns::whole;
use super::version::{NotReplayed, compiled_version};
use crate::catalog::procedure::VersionKey;
use crate::log::format::payload::command::Command;
use crate::transaction::{RowAhead, Transaction};

/// Runs commands again.
#[derive(Default)]
pub(crate) struct Replayer {
    procedures: Arc<Procedures>,
    compiled: HashMap<VersionKey, Arc<Compiled>>,
    memory: Bump,
    unordered: Arc<Unordered>,
    #[cfg(feature = "mutations")]
    spaces: super::covered::KnownSpaces,
}

impl Replayer {
    /// Returns one that knows the functions that are registered.
    pub(crate) fn new(procedures: Arc<Procedures>) -> Replayer {
        Replayer { procedures, ..Replayer::default() }
    }

    pub(crate) fn procedures(&self) -> &Arc<Procedures> {
        &self.procedures
    }

    /// Says which reads of procedures nobody changes from now on.
    pub(crate) fn set_unordered(&mut self, unordered: &Arc<Unordered>) {
        self.unordered = unordered.clone();
    }

    /// Does in `transaction` what `command` did.
    pub(crate) fn run(&mut self, transaction: &Transaction<'_>, command: &Command<'_>) -> Result<(), NotReplayed> {
        #[cfg(feature = "mutations")]
        if let Ok(compiled) = self.compiled(transaction, command) {
            let unordered = self.unordered.get(&VersionKey::of_command(command)).map_or(&[][..], |of| of);
            let covered = self.spaces.of(transaction, &compiled, command, unordered);
            return self.run_hooked(transaction, command, covered);
        }
        self.run_hooked(transaction, command, Untraced)
    }

    /// As [`Replayer::run`], and traces it.
    pub(crate) fn run_traced(
        &mut self,
        transaction: &Transaction<'_>,
        command: &Command<'_>,
        trace: &mut Trace,
    ) -> Result<(), NotReplayed> {
        self.run_hooked(transaction, command, trace)
    }

    /// Begins to ask for the rows that a command's arguments name, where its code is at hand.
    pub(crate) fn ask_ahead<'t>(
        &mut self,
        transaction: &'t Transaction<'_>,
        command: &Command<'_>,
        rows: &mut Vec<RowAhead<'t>>,
    ) {
        let key = VersionKey::of_command(command);
        let Some(compiled) = self.compiled.get(&key) else { return };
        let arena = Arena::new(std::mem::take(&mut self.memory), transaction.config().procedure_bytes_max);
        if let Ok(arguments) = checked(compiled, &command.arguments, &arena) {
            expected_keys(transaction, compiled, &arguments, &arena, |table, key| {
                rows.push(transaction.ask_ahead(table, key));
            });
        }
        self.memory = arena.into_memory();
    }

    fn run_hooked<H: Hook>(
        &mut self,
        transaction: &Transaction<'_>,
        command: &Command<'_>,
        hook: H,
    ) -> Result<(), NotReplayed> {
        let compiled = self.compiled(transaction, command)?;
        let arena = Arena::new(std::mem::take(&mut self.memory), transaction.config().procedure_bytes_max);
        let arguments = checked(&compiled, &command.arguments, &arena)?;
        let drawn = Drawn { time: command.time, seed: command.seed, sequence_values: command.sequence_values.to_vec() };
        let source = Source::Earlier { drawn: &drawn, taken: 0 };
        let unordered = self.unordered.clone();
        let key = VersionKey::of_command(command);
        let source = (source, unordered.get(&key).map_or(&[][..], |of| of));
        let ran = whole(run::<false, _>(transaction, &compiled, &arguments, &arena, source, hook));
        let again = ran.map(|(_, drawn)| drawn);
        drop(arguments);
        self.memory = arena.into_memory();
        match again? {
            again if again == drawn => Ok(()),
            _ => Err(NotReplayed::Diverged("it does not draw what it drew".to_owned())),
        }
    }

    fn compiled(&mut self, transaction: &Transaction<'_>, command: &Command<'_>) -> Result<Arc<Compiled>, NotReplayed> {
        let key = VersionKey::of_command(command);
        if let Some(compiled) = self.compiled.get(&key)
            && compiled.is_current(transaction)?
        {
            return Ok(compiled.clone());
        }
        let compiled = Arc::new(compiled_version(transaction, key)?);
        self.compiled.insert(key, compiled.clone());
        Ok(compiled)
    }
}
