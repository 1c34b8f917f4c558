//! A session: what one thread needs to run transactions one after the other, and the retry loop.
//!
//! Invariant: a session is bound to one log stream for its life; sessions are dealt to the streams in turn.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use osier_memory::{Participant, task};

use super::advisory::Advisory;
use super::purge::purge_all;
use super::snapshot::{AtSnapshot, Snapshot};
use super::{Transaction, TransactionOptions, TransactionState};
use crate::concurrency::{ConcurrencyControl, with_scheme};
use crate::config::Config;
use crate::error::{Error, TransactionError};
use crate::ids::StreamId;
use crate::log::acknowledge::{Receipt, ReceiptSource};
use crate::transaction::shared::Shared;

/// Runs transactions, one at a time. Make one per thread; it can move between threads.
pub struct Session {
    participant: Participant,
    stream: StreamId,
    receipts: ReceiptSource,
    state: Box<TransactionState>,
    shared: Arc<Shared>,
    /// Dropped after the participant.
    _admission: Admission,
}

/// A place among `sessions_max`, given back on drop.
struct Admission(Arc<Shared>);

impl Admission {
    fn of(shared: &Arc<Shared>) -> Result<Admission, TransactionError> {
        shared.admit_session().map(|()| Admission(shared.clone()))
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.0.session_ended();
    }
}

impl Session {
    pub(crate) fn new(shared: Arc<Shared>) -> Result<Session, TransactionError> {
        let stream = shared.next_stream();
        Session::on(shared, stream)
    }

    /// Returns another session that commits to the same stream.
    pub(crate) fn beside(&self) -> Result<Session, TransactionError> {
        Session::on(self.shared.clone(), self.stream)
    }

    fn on(shared: Arc<Shared>, stream: StreamId) -> Result<Session, TransactionError> {
        let admission = Admission::of(&shared)?;
        let participant = shared.store.epochs().register().expect("a participant for each session that is admitted");
        let receipts = shared.log.receipts();
        assert!(stream.0 < shared.config.streams, "a session commits to a stream that there is");
        let state = Box::new(TransactionState::new(shared.scheme(), shared.take_orphans(), shared.counters.begin()));
        Ok(Session { participant, stream, receipts, state, shared, _admission: admission })
    }

    /// The log stream that this session commits to.
    pub fn stream(&self) -> StreamId {
        self.stream
    }

    /// Returns advisory locks for whoever uses this session: where transactions lock rows, a wait for the one kind and a wait for
    /// the other are found to be a circle.
    pub fn advisory(&self) -> Advisory {
        let owner = with_scheme!(&self.state.scheme, control => control.owner().cloned());
        Advisory::new(&self.shared.advisory, owner)
    }

    /// Begins a transaction.
    pub fn begin(&mut self) -> Transaction<'_> {
        self.begin_with(TransactionOptions::default())
    }

    /// Begins a transaction with options.
    pub fn begin_with(&mut self, options: TransactionOptions) -> Transaction<'_> {
        if options.snapshot {
            return self.begin_at_snapshot(options, None);
        }
        let Session { participant, stream, receipts, state, shared, _admission } = self;
        shared.memory.make_room(participant);
        Transaction::begin(participant.pin(), shared, *stream, receipts, options, state)
    }

    /// Begins a transaction that reads a snapshot. It takes as long as it takes, and reads again what others at the snapshot have
    /// read.
    ///
    /// # Errors
    /// [`TransactionError::ForeignSnapshot`].
    pub fn begin_at(&mut self, snapshot: &Snapshot) -> Result<Transaction<'_>, Error> {
        if !snapshot.is_of(&self.shared) {
            return Err(TransactionError::ForeignSnapshot { epoch: snapshot.epoch() }.into());
        }
        let options = TransactionOptions { snapshot: true, ..TransactionOptions::default() };
        Ok(self.begin_at_snapshot(options, Some(snapshot.clone())))
    }

    fn begin_at_snapshot(&mut self, options: TransactionOptions, snapshot: Option<Snapshot>) -> Transaction<'_> {
        let Session { participant, stream, receipts, state, shared, _admission } = self;
        if !state.purges.is_empty() {
            // It has no pin to purge under.
            shared.adopt_purges(state.purges.drain(..));
        }
        let at = AtSnapshot::new(shared, participant, snapshot);
        Transaction::begin_at(at, shared, *stream, receipts, options, state)
    }

    /// Makes room as the limit of memory asks for it.
    pub(crate) fn make_room(&mut self) {
        self.shared.memory.make_room(&mut self.participant);
    }

    /// Begins a transaction beside others of the same thread, for whose end it does not wait.
    pub(crate) fn begin_beside(&mut self, options: TransactionOptions) -> Transaction<'_> {
        if options.snapshot {
            return self.begin_at_snapshot(options, None);
        }
        let Session { participant, stream, receipts, state, shared, _admission } = self;
        shared.memory.make_some_room(participant);
        Transaction::begin(participant.pin(), shared, *stream, receipts, options, state)
    }

    /// Lets the others finish before a transaction is run again that has met so many conflicts in a row: for whoever begins
    /// transactions himself, as [`Session::run`] does.
    ///
    /// # Errors
    /// [`TransactionError::LockTimeout`]: what the transaction met is not over.
    pub fn pause_after(&mut self, conflicts: u32) -> Result<(), Error> {
        if conflicts == 0 || !with_scheme!(&mut self.state.scheme, control => control.await_met())? {
            self.pause_at_random(conflicts);
        }
        Ok(())
    }

    /// Lets the others finish after so many conflicts in a row, whatever they do.
    pub(crate) fn pause_at_random(&self, conflicts: u32) {
        pause(&self.shared, conflicts);
    }

    /// Runs `body` as a transaction and commits it, again after a conflict, up to `conflict_retries_max` times with
    /// growing pauses. A conflict that an operation returned to `body` counts whatever `body` makes of it.
    ///
    /// An error of `body` aborts the transaction. It is reported only when what `body` had observed was valid and is
    /// durable, so that an error never tells of something that a crash could undo; otherwise `body` runs again. A relaxed
    /// transaction waits for no device, so its errors may tell of that.
    ///
    /// # Errors
    /// What `body` returned, [`TransactionError::RetriesExhausted`], or an error of the log.
    pub fn run<T, E: From<Error>>(
        &mut self,
        body: impl FnMut(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<(T, Receipt), E> {
        self.run_with(TransactionOptions::default(), body)
    }

    /// [`Session::run`] with options.
    pub fn run_with<T, E: From<Error>>(
        &mut self,
        options: TransactionOptions,
        mut body: impl FnMut(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<(T, Receipt), E> {
        self.attempts(options, |transaction| match body(&transaction) {
            Ok(value) => transaction.commit().map(|receipt| Ok((value, receipt))),
            Err(error) => transaction.give_up().map(|()| Err(error)),
        })
    }

    /// Makes attempts until one does not end with a conflict. An attempt ends its transaction: it commits it, or gives it up and
    /// returns why.
    pub(crate) fn attempts<T, E: From<Error>>(
        &mut self,
        options: TransactionOptions,
        mut attempt: impl FnMut(Transaction<'_>) -> Result<Result<T, E>, Error>,
    ) -> Result<T, E> {
        let attempts = self.shared.config.conflict_retries_max.saturating_add(1);
        for number in 0..attempts {
            self.pause_after(number)?;
            match attempt(self.begin_with(options)) {
                Ok(result) => return result,
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::from(TransactionError::RetriesExhausted { attempts }).into())
    }

    /// The settings of the database.
    pub(crate) fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Takes what is kept for calls of procedures.
    pub(crate) fn take_workspace<W: Any + Send + Default>(&mut self) -> Box<W> {
        self.state.take_workspace()
    }

    /// Gives it back.
    pub(crate) fn keep_workspace<W: Any + Send>(&mut self, workspace: Box<W>) {
        self.state.workspace = Some(workspace);
    }

    /// Removes every key that has no row any more. Nothing else may be at work, and nothing may depend on an earlier stamp than
    /// those of the keys.
    pub(crate) fn purge_all(&mut self) {
        purge_all(&self.participant.pin(), &self.shared, &mut self.state.purges);
    }
}

/// Lets the others finish: nothing at first, then randomly up to 1 us doubled with each attempt, at most 1 ms.
pub(super) fn pause(shared: &Shared, attempt: u32) {
    if attempt >= 2 {
        let limit_ns = 1000_u64 << attempt.min(10);
        let pause = Duration::from_nanos(fastrand::u64(..limit_ns));
        match task::waker() {
            Some(_) => _ = task::pause(pause),
            None => shared.config.environment.clock.sleep(pause),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.state.end(&self.shared);
    }
}
