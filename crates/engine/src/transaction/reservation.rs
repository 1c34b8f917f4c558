//! Values of sequences that a session has reserved, and the transactions that reserve them.
//!
//! A reservation is a short transaction beside the one that draws, with a state and a participant of its own: it commits whatever
//! becomes of that one, and nobody's values are held up by its length. It is logged to the session's stream and waits for no
//! device; who uses a value depends on its stamp.
//!
//! Invariants:
//! - A value is in the row's past before it is handed out, and is handed out once.
//! - A block serves the sequence that it was reserved of, and only until that is restarted.

use osier_memory::{Held, Participant, Record, Stamp};

use super::access::Content;
use super::backlog::{Reach, Use};
use super::sequence::Drawn;
use super::session::pause;
use super::{Transaction, TransactionOptions, TransactionState};
use crate::catalog::handles::Handle;
use crate::catalog::sequence::{NEXT, Reserved, Sequence, SequenceRow};
use crate::concurrency::Intent;
use crate::concurrency::write_set::TreeRef;
use crate::error::{Error, TransactionError};
use crate::ids::StreamId;
use crate::log::acknowledge::ReceiptSource;
use crate::table::Value;
use crate::transaction::shared::Shared;

/// What a session has reserved.
#[derive(Default)]
pub(super) struct Reservations {
    blocks: Vec<Block>,
    /// Made when it is first needed.
    reserver: Option<Box<Reserver>>,
}

/// Values of one sequence.
struct Block {
    sequence: Sequence,
    /// Of the sequence, before the values were reserved.
    restarts: u64,
    values: Reserved,
    /// Of the reservation.
    stamp: Stamp,
}

/// A sequence has no value left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exhausted {
    pub(super) bound: i64,
    /// The stamp of the row that says so.
    pub(super) observed: Stamp,
}

/// What a reservation ends with.
type Taken = Result<(Reserved, Stamp), Exhausted>;

/// Runs the reservations of a session.
struct Reserver {
    participant: Participant,
    receipts: ReceiptSource,
    state: TransactionState,
}

impl Reservations {
    /// Takes the next value, from a new block where there is none at hand.
    pub(super) fn draw(
        &mut self,
        shared: &Shared,
        stream: StreamId,
        sequence: &Sequence,
    ) -> Result<Result<Drawn, Exhausted>, Error> {
        let restarts = sequence.restarts();
        if let Some(at) = self.blocks.iter().position(|block| block.sequence.is_same(sequence)) {
            let block = &mut self.blocks[at];
            if block.restarts == restarts
                && let Some(value) = block.values.next()
            {
                return Ok(Ok(Drawn { value, reserved: block.stamp }));
            }
            self.blocks.swap_remove(at);
        }
        // Those of sequences that are gone.
        self.blocks.retain(|block| shared.catalog.open_sequences.holds(&block.sequence));
        let reserver = self.reserver.get_or_insert_with(|| Box::new(Reserver::new(shared)));
        let (mut values, stamp) = match reserver.reserve(shared, stream, sequence)? {
            Ok(taken) => taken,
            Err(exhausted) => return Ok(Err(exhausted)),
        };
        let value = values.next().expect("a reservation takes at least one value");
        self.blocks.push(Block { sequence: sequence.clone(), restarts, values, stamp });
        Ok(Ok(Drawn { value, reserved: stamp }))
    }

    /// The session ends. What is left of its blocks is lost.
    pub(super) fn end(&mut self, shared: &Shared) {
        if let Some(mut reserver) = self.reserver.take() {
            reserver.state.end(shared);
        }
    }
}

impl Reserver {
    fn new(shared: &Shared) -> Reserver {
        let participant = shared.store.epochs().register().expect("two participants for each session that is admitted");
        let state = TransactionState::new(shared.scheme(), Vec::new(), shared.counters.begin());
        Reserver { participant, receipts: shared.log.receipts(), state }
    }

    /// Reserves a block, again after a conflict: another session has reserved one at the same time.
    fn reserve(&mut self, shared: &Shared, stream: StreamId, sequence: &Sequence) -> Result<Taken, Error> {
        let attempts = shared.config.conflict_retries_max.saturating_add(1);
        for attempt in 0..attempts {
            pause(shared, attempt);
            let (pin, options) = (self.participant.pin(), TransactionOptions::default());
            let transaction = Transaction::begin(pin, shared, stream, &self.receipts, options, &mut self.state);
            let taken = transaction.reserve(sequence);
            drop(transaction);
            // Of other sessions: this one's next transaction, or another one's, works them off.
            if !self.state.purges.is_empty() {
                shared.adopt_purges(self.state.purges.drain(..));
            }
            match taken {
                Err(error) if error.is_conflict() => {}
                taken => return taken,
            }
        }
        Err(TransactionError::RetriesExhausted { attempts }.into())
    }
}

impl Transaction<'_> {
    /// Takes a block out of the row of a sequence, and commits.
    fn reserve(&self, sequence: &Sequence) -> Result<Taken, Error> {
        let (observed, bound, reserved) =
            self.write_system(&self.shared.catalog.system.sequences, |state, tree_ref| {
                let system = &self.shared.catalog.system.sequences;
                let unknown = || TransactionError::UnknownSequence { sequence: sequence.name().to_owned() };
                let key = system.keys.of_key(&[Value::Text(sequence.name())])?;
                self.shared.settle(system, Reach::Key(key.as_bytes()), Use::Write)?;
                let looked = self.look_up(state, &system.primary, key.as_bytes(), Intent::Definition)?;
                let Some((record, Some(old))) = looked else {
                    return Err(unknown().into());
                };
                let mut row = SequenceRow::of(&system.rows.row(old.bytes()));
                if row.id != sequence.id() {
                    return Err(unknown().into());
                }
                let reserved = row.reserve(row.cache as u64);
                if reserved.is_some() {
                    self.change_next(state, tree_ref, record, &old, &row)?;
                }
                Ok((old.base(), row.bound(), reserved))
            })?;
        let (outcome, entry) = self.conclude(None)?;
        self.state().debt.add(&self.shared.debt, entry, 0);
        Ok(match reserved {
            Some(reserved) => Ok((reserved, outcome.stamp)),
            None => Err(Exhausted { bound, observed }),
        })
    }

    /// Writes what is left of a sequence into its row, whose birth stays what it is.
    pub(super) fn change_next(
        &self,
        state: &mut TransactionState,
        tree_ref: TreeRef,
        record: Held<Record>,
        old: &Content<'_>,
        row: &SequenceRow,
    ) -> Result<(), Error> {
        let system = &self.shared.catalog.system.sequences;
        self.change(state, system, tree_ref, record, old, &[(NEXT, row.next_value())])
    }
}
