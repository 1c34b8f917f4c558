//! Calls of procedures: as transactions of their own, which are retried and logged as commands where the database logs those, or
//! within a transaction, which then logs what it wrote.

use std::borrow::Cow;
use std::sync::Arc;

use super::compiled::{Compiled, Workspace};
use super::draws::{Drawn, Source};
use super::faults;
use super::memory::Arena;
use super::output::Output;
use super::run::{checked, run};
use super::turns::whole;
use crate::catalog::procedure::VersionKey;
use crate::error::Error;
use crate::log::acknowledge::Receipt;
use crate::log::format::payload::command::Command;
use crate::table::{Argument, Arguments};
use crate::transaction::{Session, Transaction, TransactionOptions, wait_until_durable};

impl Session {
    /// Calls a procedure as a transaction of its own, again after a conflict, as [`Session::run`] does. Where the database logs
    /// commands, the log gets the call and not what it wrote.
    ///
    /// # Errors
    /// [`ProcedureError::Unknown`](crate::ProcedureError::Unknown), or
    /// [`ProcedureError::Arguments`](crate::ProcedureError::Arguments) where they do not fit the parameters.
    /// [`ProcedureError::Aborted`](crate::ProcedureError::Aborted) where the procedure gives up, or a statement fails that
    /// nothing catches; as with [`Session::run`] nothing took effect, and what the error tells of is durable.
    pub fn call(&mut self, procedure: &str, arguments: &[Argument<'_>]) -> Result<(Output, Receipt), Error> {
        self.call_with(TransactionOptions::default(), procedure, arguments)
    }

    /// [`Session::call`] with options.
    ///
    /// # Errors
    /// Those of [`Session::call`].
    pub fn call_with(
        &mut self,
        options: TransactionOptions,
        procedure: &str,
        arguments: &[Argument<'_>],
    ) -> Result<(Output, Receipt), Error> {
        let mut workspace = self.take_workspace::<Workspace>();
        let called = workspace.call_whole(self, options, procedure, arguments);
        self.keep_workspace(workspace);
        called
    }

    /// Makes one attempt of a call, and waits for nothing. What the procedure returned, or why it gave up, may be told to
    /// others as soon as the receipt is acknowledged.
    ///
    /// # Errors
    /// Those of [`Session::call`] that are no outcome of the procedure, and [`TransactionError::Conflict`]: try again.
    pub fn try_call(
        &mut self,
        options: TransactionOptions,
        procedure: &str,
        arguments: &[Argument<'_>],
    ) -> Result<(Result<Output, Error>, Receipt), Error> {
        let mut workspace = self.take_workspace::<Workspace>();
        let called = whole(workspace.attempt::<false>(self.begin_with(options), procedure, arguments));
        self.keep_workspace(workspace);
        called
    }
}

impl Transaction<'_> {
    /// Calls a procedure as a part of this transaction. What it writes is logged as rows, with what else the transaction writes.
    /// Where it fails, what it has written until then stays: roll back to a savepoint, or give the transaction up.
    ///
    /// # Errors
    /// Those of [`Session::call`]; [`ProcedureError::WithinFunction`](crate::ProcedureError::WithinFunction) within a function
    /// that is a procedure.
    pub fn call(&self, procedure: &str, arguments: &[Argument<'_>]) -> Result<Output, Error> {
        let cure = "do what it does in the function, or call both procedures from a transaction of `Session::run`";
        self.refuse_in_function("`Transaction::call`", cure)?;
        let mut workspace = self.take_workspace::<Workspace>();
        let arena = workspace.arena(self.config());
        let called = whole(workspace.call::<false>(self, &arena, procedure, arguments)).map(|called| called.output);
        workspace.keep(arena);
        self.keep_workspace(workspace);
        called
    }
}

/// Returns what became of a call once it may be told: an error when what it rests on is durable.
pub(super) fn told(
    (result, receipt): (Result<Output, Error>, Receipt),
) -> Result<Result<(Output, Receipt), Error>, Error> {
    match result {
        Ok(output) => Ok(Ok((output, receipt))),
        Err(error) => wait_until_durable(&receipt).map(|()| Err(error)),
    }
}

/// A call that has been run.
struct Called<'a> {
    compiled: Arc<Compiled>,
    arguments: Arguments<'a>,
    output: Output,
    drawn: Drawn,
}

impl Workspace {
    /// Calls a procedure that does not stop in between.
    pub(super) fn call_whole(
        &mut self,
        session: &mut Session,
        options: TransactionOptions,
        procedure: &str,
        arguments: &[Argument<'_>],
    ) -> Result<(Output, Receipt), Error> {
        session.attempts(options, |transaction| {
            whole(self.attempt::<false>(transaction, procedure, arguments)).and_then(told)
        })
    }

    /// Calls a procedure, and commits or gives the transaction up. The result may be told once the receipt is acknowledged.
    pub(super) async fn attempt<const INTERLEAVED: bool>(
        &mut self,
        transaction: Transaction<'_>,
        procedure: &str,
        arguments: &[Argument<'_>],
    ) -> Result<(Result<Output, Error>, Receipt), Error> {
        let arena = self.arena(transaction.config());
        let ended = match self.call::<INTERLEAVED>(&transaction, &arena, procedure, arguments).await {
            Ok(called) => self.commit(transaction, called).map(|(output, receipt)| (Ok(output), receipt)),
            Err(error) => transaction.abort().map(|receipt| (Err(error), receipt)),
        };
        self.keep(arena);
        ended
    }

    async fn call<'a, const INTERLEAVED: bool>(
        &mut self,
        transaction: &Transaction<'_>,
        arena: &'a Arena,
        procedure: &str,
        arguments: &'a [Argument<'a>],
    ) -> Result<Called<'a>, Error> {
        let compiled = self.compiled(transaction, procedure)?;
        let arguments = checked(&compiled, arguments, arena)?;
        let source = Source::World(transaction);
        let (output, drawn) = run::<INTERLEAVED>(transaction, &compiled, &arguments, arena, source).await?;
        Ok(Called { compiled, arguments, output, drawn })
    }

    fn commit(&mut self, transaction: Transaction<'_>, called: Called<'_>) -> Result<(Output, Receipt), Error> {
        let Called { compiled, arguments, output, drawn } = called;
        let is_hashed = self.is_hashed(transaction.config());
        let VersionKey { id: procedure, version } = compiled.handle.version();
        let Drawn { time, seed, sequence_values } = drawn;
        let (seed, sequence_values) = (faults::logged_seed(seed), faults::logged_values(sequence_values));
        let sequence_values = Cow::Owned(sequence_values);
        let command = Command { procedure, version, time, seed, sequence_values, hash: None, arguments };
        let receipt = transaction.commit_command(command, is_hashed)?;
        Ok((output, receipt))
    }
}
