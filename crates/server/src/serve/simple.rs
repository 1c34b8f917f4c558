//! Simple queries: a text with any number of statements, all results as text.
//!
//! Invariant: the statements of a text are one transaction, unless the text says otherwise; a single one is its own, which the
//! engine may run again after a conflict.

use std::sync::Arc;
use std::time::Instant;

use osier_sql::session::{Done, Kind, Mode, Parsed, Prepared, Status};
use osier_sql::{Datum, Session};

use super::connection::{Connection, act};
use super::errors::{End, Failure};
use super::formats::Formats;
use super::rows::{Outlet, Rows, push_copy_out};

/// How often a statement is prepared while others change what it returns. One that is `EXECUTE` may have changed for good.
const ATTEMPTS_MAX: u32 = 10;

impl Connection {
    /// Answers a simple query.
    ///
    /// # Errors
    /// What one of its statements fails with: those behind it are not run.
    pub async fn query(&mut self, text: &str) -> Result<(), Failure> {
        self.session.runs_text(text);
        self.session.forget("");
        self.portals.remove("");
        match self.guard(|session| session.recall(text))? {
            Some((prepared, values)) => match self.run_prepared(&prepared, &values, Mode::Alone).await {
                Err(failure) if self.is_outdated(&failure) => self.statements(text).await?,
                done => done?,
            },
            None => self.statements(text).await?,
        }
        let receipt = self.act(Session::end_implicit).await??;
        self.keep(receipt);
        self.ready().await?;
        self.flush_late().await?;
        Ok(())
    }

    async fn statements(&mut self, text: &str) -> Result<(), Failure> {
        let parsed = self.guard(|session| session.split(text))??;
        if parsed.is_empty() {
            self.wire.output.push_empty(b'I');
        }
        let mode = if parsed.len() == 1 { Mode::Alone } else { Mode::Implicit };
        for statement in &parsed {
            self.statement(statement, mode).await?;
            self.give_way().await;
        }
        Ok(())
    }

    async fn statement(&mut self, parsed: &Parsed, mode: Mode) -> Result<(), Failure> {
        for attempt in 1.. {
            let prepared = self.guard(|session| session.prepare_parsed(parsed))??;
            if prepared.kind() == Kind::Empty {
                self.wire.output.push_empty(b'I');
                break;
            }
            match self.run_prepared(&prepared, &[], mode).await {
                Err(failure) if mode == Mode::Alone && attempt < ATTEMPTS_MAX && self.is_outdated(&failure) => {}
                done => return done,
            }
        }
        Ok(())
    }

    /// Whether a statement that is a transaction by itself has to be prepared again: somebody has changed what it returns
    /// between the transaction that prepared it and its own one.
    fn is_outdated(&self, failure: &Failure) -> bool {
        let is_of_changed_shape = matches!(failure, Failure::Request(error) if error.is_of_changed_shape());
        is_of_changed_shape && self.session.status() == Status::Idle
    }

    async fn run_prepared(&mut self, prepared: &Arc<Prepared>, values: &[Datum], mode: Mode) -> Result<(), Failure> {
        let mark = self.wire.output.bytes.len();
        let formats = Formats::All { is_binary: prepared.is_binary() };
        if prepared.columns().is_some() {
            self.wire.output.push_columns(prepared.columns(), &formats);
        }
        let done = self.run_whole(prepared, values, mode, &formats, mark).await?;
        self.complete(prepared, done);
        Ok(())
    }

    /// Runs a statement with the data that the client sends it, and counts it.
    ///
    /// # Errors
    /// What it fails with.
    pub async fn run_whole(
        &mut self,
        prepared: &Arc<Prepared>,
        parameters: &[Datum],
        mode: Mode,
        formats: &Formats,
        mark: usize,
    ) -> Result<Done, Failure> {
        let begun = Instant::now();
        let done = match self.run(prepared, parameters, mode, formats, mark).await {
            Ok(done) => self.copy_in(done).await,
            failed => failed,
        };
        self.server.statistics.statement(&self.slot, begun.elapsed(), || prepared.text());
        done
    }

    /// Runs a statement whose rows go to the client. Where it fails and nothing of them was sent, the output ends at `mark`.
    ///
    /// # Errors
    /// What it fails with.
    async fn run(
        &mut self,
        prepared: &Arc<Prepared>,
        parameters: &[Datum],
        mode: Mode,
        formats: &Formats,
        mark: usize,
    ) -> Result<Done, Failure> {
        let Connection { wire, session, receipts, .. } = self;
        let (output, outlet) = (&mut wire.output.bytes, Outlet { stream: &mut wire.stream, receipts });
        let mut rows = Rows::send(output, prepared.columns(), formats, session.settings(), outlet);
        let canceller = session.canceller();
        let done = act(&canceller, || session.run(prepared, parameters, mode, &mut rows)).await?;
        let (is_shown, is_broken, is_copying) = (rows.is_shown(), rows.is_broken(), rows.is_copying());
        drop(rows);
        if is_broken {
            return Err(End::Closed.into());
        }
        let done = done.inspect_err(|_| {
            if !is_shown {
                wire.output.bytes.truncate(mark);
            }
        })?;
        if let Some(shape) = done.copy_out {
            // One that has written nothing.
            if !is_copying {
                push_copy_out(&mut wire.output.bytes, shape);
            }
            wire.output.push_empty(b'c');
        }
        Ok(done)
    }

    /// Tells the client that a statement is done.
    pub fn complete(&mut self, prepared: &Prepared, done: Done) {
        self.push_notices();
        self.keep(done.receipt);
        self.wire.output.push_complete(&done.tag);
        if prepared.kind() == Kind::Transaction && self.session.status() == Status::Idle {
            self.portals.clear();
        }
    }
}
