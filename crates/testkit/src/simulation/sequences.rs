//! The sequence of a simulation: in the serial model what was given of it, in the engine the calls of the public API.
//!
//! Which value a transaction is given is the engine's choice. The model holds it to two promises: nobody was given it before,
//! as far as anybody can know, and values of one session grow. What is given is never given back, whatever becomes of the
//! transaction; only a crash makes forgotten what nobody was promised.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use osier::{Error, Sequence, SequenceOptions, Transaction};

use super::operation::{Operation, Outcome};
use super::tables::UNDEFINED_TABLE;

const NAME: &str = "numbers";

/// What the model knows of a sequence.
#[derive(Clone, Debug, Default)]
pub struct SequenceModel {
    given: BTreeSet<i64>,
    /// The last value of each session.
    last: BTreeMap<usize, i64>,
}

impl PartialEq for SequenceModel {
    /// A database does not say what was given, only whether there is a sequence.
    fn eq(&self, _: &SequenceModel) -> bool {
        true
    }
}

impl Eq for SequenceModel {}

impl SequenceModel {
    /// Notes that a session was given `value`; what it may have seen.
    pub(super) fn give(&mut self, value: i64, session: usize) -> Outcome {
        let is_later = self.last.get(&session).is_none_or(|last| *last < value);
        if value < 1 || !is_later || !self.given.insert(value) {
            return Outcome::Value(None);
        }
        self.last.insert(session, value);
        Outcome::Value(Some(value))
    }
}

/// The sequence in the engine: a handle that may be out of date.
#[derive(Default)]
pub(super) struct Numbers {
    handle: RefCell<Option<Sequence>>,
}

impl Numbers {
    /// Does one operation of a sequence.
    pub(super) fn execute(&self, transaction: &Transaction<'_>, operation: &Operation) -> Result<Outcome, Error> {
        if let Operation::CreateSequence(cache) = operation {
            let created = transaction.create_sequence(&SequenceOptions::new(NAME).cache(*cache))?;
            *self.handle.borrow_mut() = Some(created);
            return Ok(Outcome::Done);
        }
        // First with the handle that was used last, then with a new one.
        let known = self.handle.take();
        let outcome = known.map(|sequence| self.execute_with(transaction, operation, sequence));
        match outcome {
            Some(Err(error)) if error.sqlstate() == UNDEFINED_TABLE => {}
            Some(outcome) => return outcome,
            None => {}
        }
        self.execute_with(transaction, operation, transaction.sequence(NAME)?)
    }

    fn execute_with(
        &self,
        transaction: &Transaction<'_>,
        operation: &Operation,
        sequence: Sequence,
    ) -> Result<Outcome, Error> {
        match operation {
            Operation::NextValue => {
                let value = transaction.next_value(&sequence)?;
                *self.handle.borrow_mut() = Some(sequence);
                Ok(Outcome::Value(Some(value)))
            }
            Operation::DropSequence => transaction.drop_sequence(&sequence).map(|()| Outcome::Done),
            other => unreachable!("{other:?} is not of a sequence"),
        }
    }
}

/// What an open found of the sequence.
pub(super) fn recovered(transaction: &Transaction<'_>) -> Result<Option<SequenceModel>, Error> {
    match transaction.sequence(NAME) {
        Ok(_) => Ok(Some(SequenceModel::default())),
        Err(error) if error.sqlstate() == UNDEFINED_TABLE => Ok(None),
        Err(error) => Err(error),
    }
}
