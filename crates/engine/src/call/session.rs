//! Calls of procedures: as transactions of their own, which are retried and logged as commands where the database logs those, or
//! within a transaction, which then logs what it wrote.

use std::borrow::Cow;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use super::compiled::{Caller, Kept, Workspace};
use super::draws::{Drawn, Source};
use super::faults;
use super::memory::Arena;
use super::output::Output;
use super::run::{checked, run};
use super::signature::Signature;
use super::trace::Untraced;
use super::turns::{timed, whole};
use crate::catalog::handles::Handle;
use crate::catalog::procedure::VersionKey;
use crate::error::{Error, ProcedureError};
use crate::io::Clock;
use crate::log::acknowledge::Receipt;
use crate::log::format::payload::command::Command;
use crate::table::{Argument, Arguments};
use crate::transaction::{Session, Transaction, TransactionOptions, wait_until_durable};

impl Session {
    /// Calls a procedure as a transaction of its own, again after a conflict, as [`Session::run`] does. Where the database logs
    /// commands, the log gets the call and not what it wrote.
    ///
    /// # Errors
    /// [`ProcedureError::Unknown`], or [`ProcedureError::Arguments`] where they do not fit the parameters.
    /// [`ProcedureError::Aborted`] where the procedure gives up, or a statement fails that nothing catches; as with
    /// [`Session::run`] nothing took effect, and what the error tells of is durable.
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
        let mut caller = workspace.caller();
        let called = self.attempts(options, |transaction| {
            whole(caller.attempt::<false>(transaction, procedure, None, arguments)).and_then(told)
        });
        self.keep_workspace(workspace);
        called
    }

    /// Makes one attempt of a call, and does not wait until it is durable. What the procedure returned, or why it gave up, may be
    /// told to others as soon as the receipt is acknowledged.
    ///
    /// # Errors
    /// Those of [`Session::call`] that are no outcome of the procedure, and
    /// [`TransactionError::Conflict`](crate::TransactionError::Conflict): try again.
    pub fn try_call(
        &mut self,
        options: TransactionOptions,
        procedure: &str,
        arguments: &[Argument<'_>],
    ) -> Result<(Result<Output, Error>, Receipt), Error> {
        self.attempt_call(options, procedure, None, arguments)
    }

    /// As [`Session::try_call`], of the version of a procedure that the caller has looked at.
    ///
    /// # Errors
    /// Those of [`Session::try_call`]; [`ProcedureError::Changed`] where it is not the current version any more. Nothing was
    /// executed then.
    pub fn try_call_of(
        &mut self,
        options: TransactionOptions,
        signature: &Signature,
        arguments: &[Argument<'_>],
    ) -> Result<(Result<Output, Error>, Receipt), Error> {
        self.attempt_call(options, &signature.name, Some(signature.version), arguments)
    }

    fn attempt_call(
        &mut self,
        options: TransactionOptions,
        procedure: &str,
        version: Option<VersionKey>,
        arguments: &[Argument<'_>],
    ) -> Result<(Result<Output, Error>, Receipt), Error> {
        let mut workspace = self.take_workspace::<Workspace>();
        let transaction = self.begin_with(options);
        let called = whole(workspace.caller().attempt::<false>(transaction, procedure, version, arguments));
        self.keep_workspace(workspace);
        called
    }
}

impl Transaction<'_> {
    /// Returns what the current version of a procedure takes and returns.
    ///
    /// # Errors
    /// [`ProcedureError::Unknown`]; [`ProcedureError::Invalid`] where it makes no sense any more.
    pub fn signature(&self, procedure: &str) -> Result<Signature, Error> {
        let mut workspace = self.take_workspace::<Workspace>();
        let signature = workspace.caller().procedures.get(self, procedure).map(|kept| kept.compiled.signature());
        self.keep_workspace(workspace);
        signature
    }

    /// Calls a procedure as a part of this transaction. What it writes is logged as rows, with what else the transaction writes.
    /// Where it fails, what it has written until then stays: roll back to a savepoint, or give the transaction up.
    ///
    /// # Errors
    /// Those of [`Session::call`]; [`ProcedureError::WithinFunction`] within a function that is a procedure.
    pub fn call(&self, procedure: &str, arguments: &[Argument<'_>]) -> Result<Output, Error> {
        let cure = "do what it does in the function, or call both procedures from a transaction of `Session::run`";
        self.refuse_in_function("`Transaction::call`", cure)?;
        let mut workspace = self.take_workspace::<Workspace>();
        let mut caller = workspace.caller();
        let arena = caller.arena(self.config());
        let called = caller.procedures.get(self, procedure).and_then(|kept| {
            let called = whole(call::<false>(self, &arena, &kept, None, arguments)).map(|called| called.output);
            kept.count_part(&called);
            called
        });
        caller.keep(arena);
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
    arguments: Arguments<'a>,
    output: Output,
    drawn: Drawn,
    /// How long it took, where that was measured.
    execution: Option<Duration>,
}

/// Runs a call; with a clock it is measured.
async fn call<'a, const INTERLEAVED: bool>(
    transaction: &Transaction<'_>,
    arena: &'a Arena,
    kept: &Kept,
    clock: Option<&dyn Clock>,
    arguments: &'a [Argument<'a>],
) -> Result<Called<'a>, Error> {
    let arguments = checked(&kept.compiled, arguments, arena)?;
    let mut spent = Duration::ZERO;
    let (output, drawn) = {
        let source = Source::World(transaction);
        let mut running =
            pin!(run::<INTERLEAVED, _>(transaction, &kept.compiled, &arguments, arena, (source, &[]), Untraced));
        poll_fn(|context| timed(clock, &mut spent, || running.as_mut().poll(context))).await?
    };
    Ok(Called { arguments, output, drawn, execution: clock.map(|_| spent) })
}

impl Kept {
    /// Refuses another version than the one that the caller has looked at.
    fn expect(self: Arc<Kept>, version: Option<VersionKey>) -> Result<Arc<Kept>, Error> {
        let handle = &self.compiled.handle;
        if version.is_none_or(|version| version == handle.version()) {
            return Ok(self);
        }
        Err(ProcedureError::Changed { procedure: handle.name().to_owned() }.into())
    }

    /// Counts an attempt of a transaction of its own.
    fn count(&self, ended: &Result<(Result<Output, Error>, Receipt), Error>) {
        match ended {
            Err(error) if error.is_conflict() => self.figures.conflicted(),
            Err(_) | Ok((Ok(_), _)) => self.figures.ended(),
            Ok((Err(_), _)) => {
                self.figures.ended();
                self.figures.aborted();
            }
        }
    }

    /// Counts a call within another transaction.
    fn count_part(&self, called: &Result<Output, Error>) {
        match called {
            Err(error) if error.is_conflict() => self.figures.conflicted(),
            Err(_) => {
                self.figures.ended();
                self.figures.aborted();
            }
            Ok(_) => self.figures.ended(),
        }
    }
}

impl Caller<'_> {
    /// Calls a procedure, in the version that is given if one is, and commits or gives the transaction up. The result may be told
    /// once the receipt is acknowledged.
    pub(super) async fn attempt<const INTERLEAVED: bool>(
        &mut self,
        transaction: Transaction<'_>,
        procedure: &str,
        version: Option<VersionKey>,
        arguments: &[Argument<'_>],
    ) -> Result<(Result<Output, Error>, Receipt), Error> {
        let arena = self.arena(transaction.config());
        let found = self.procedures.get(&transaction, procedure).and_then(|kept| kept.expect(version));
        let ended = match found {
            Ok(kept) => {
                let clock = kept.clock(&transaction);
                let ended = match call::<INTERLEAVED>(&transaction, &arena, &kept, clock, arguments).await {
                    Ok(called) => {
                        self.commit(transaction, &kept, called).map(|(output, receipt)| (Ok(output), receipt))
                    }
                    Err(error) => transaction.abort().map(|receipt| (Err(error), receipt)),
                };
                kept.count(&ended);
                ended
            }
            Err(error) => transaction.abort().map(|receipt| (Err(error), receipt)),
        };
        self.keep(arena);
        ended
    }

    fn commit(
        &mut self,
        transaction: Transaction<'_>,
        kept: &Kept,
        called: Called<'_>,
    ) -> Result<(Output, Receipt), Error> {
        let Called { arguments, output, drawn, execution } = called;
        let config = transaction.config();
        let VersionKey { id: procedure, version } = kept.compiled.handle.version();
        let Drawn { time, seed, sequence_values } = drawn;
        let (seed, sequence_values) = (faults::logged_seed(seed), faults::logged_values(sequence_values));
        let sequence_values = Cow::Owned(sequence_values);
        let command = Command { procedure, version, time, seed, sequence_values, hash: None, arguments };
        if let Some(execution) = execution {
            kept.learn(&transaction, execution, &command);
        }
        let (receipt, entry) = if kept.choice.is_command(config, &command) {
            let is_hashed = self.procedures.is_hashed(config);
            transaction.commit_command(command, is_hashed, kept.choice.execution_ns())?
        } else {
            transaction.commit_values()?
        };
        kept.figures.logged(entry);
        Ok((output, receipt))
    }
}
