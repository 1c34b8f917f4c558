//! Sequences: numbers that no two transactions are given, and that are never given again, whatever crashes.
//!
//! A value comes from a block that the session has reserved in a transaction of its own ([`reservation`](super::reservation)).
//! *Drawing* takes a value out of the block. *Using* it makes the transaction depend on the reservation: it is acknowledged no
//! earlier, and after a crash there is nothing of it where the reservation is lost.
//!
//! Invariants:
//! - Whoever uses a sequence relies on its definition and not on what is left of it: transactions that draw do not conflict.
//! - Of a sequence that the transaction itself has created or restarted, values come from its own row, which it writes when it
//!   commits; a rollback to a savepoint gives none back.

use osier_memory::Version;
use osier_memory::sync::Backoff;

use super::definition::{Definition, refuse_reserved};
use super::own_sequence::OwnSequence;
use super::{Transaction, TransactionState, faults, try_access};
use crate::catalog::DefinitionHandle;
use crate::catalog::sequence::{Sequence, SequenceRow};
use crate::concurrency::{ConcurrencyControl, Intent, with_scheme};
use crate::error::{Error, TransactionError};
use crate::ids::Stamp;
use crate::table::Value;

/// How a sequence is declared. As in PostgreSQL, but for the cache, which is 1 there.
///
/// ```
/// use osier::{Config, Database, Protocol, SequenceOptions};
///
/// # fn main() -> Result<(), osier::Error> {
/// let db = Database::open(Config::new("numbers.osier").protocol(Protocol::None))?;
/// let orders = db.create_sequence(&SequenceOptions::new("orders").start(1000))?;
/// let (number, _receipt) = db.run(|tx| tx.next_value(&orders))?;
/// assert_eq!(number, 1000);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceOptions {
    name: String,
    increment: i64,
    minimum: Option<i64>,
    maximum: Option<i64>,
    start: Option<i64>,
    cycle: bool,
    cache: i64,
}

impl SequenceOptions {
    /// How many values a session reserves at once, unless it is told otherwise. A reservation is a commit with its dependencies,
    /// so few are slow; and a session that ends loses what it has left.
    pub const CACHE: i64 = 32;

    /// From 1 upwards by 1, without a cycle.
    pub fn new(name: impl Into<String>) -> SequenceOptions {
        let (minimum, maximum, start) = (None, None, None);
        let (increment, cycle, cache) = (1, false, SequenceOptions::CACHE);
        SequenceOptions { name: name.into(), increment, minimum, maximum, start, cycle, cache }
    }

    /// Sets what is added from one value to the next; below 0 the sequence goes down.
    pub fn increment(self, increment: i64) -> Self {
        SequenceOptions { increment, ..self }
    }

    /// Sets the smallest value. Otherwise it is 1 on the way up, and the smallest `bigint` on the way down.
    pub fn minimum(self, minimum: i64) -> Self {
        SequenceOptions { minimum: Some(minimum), ..self }
    }

    /// Sets the greatest value. Otherwise it is the greatest `bigint` on the way up, and -1 on the way down.
    pub fn maximum(self, maximum: i64) -> Self {
        SequenceOptions { maximum: Some(maximum), ..self }
    }

    /// Sets the first value. Otherwise it is the minimum on the way up, and the maximum on the way down.
    pub fn start(self, start: i64) -> Self {
        SequenceOptions { start: Some(start), ..self }
    }

    /// Sets whether it begins anew at its other bound when it has reached one.
    pub fn cycle(self, cycle: bool) -> Self {
        SequenceOptions { cycle, ..self }
    }

    /// Sets how many values a session reserves at once.
    pub fn cache(self, cache: i64) -> Self {
        SequenceOptions { cache, ..self }
    }

    /// The row of the sequence, with this id.
    fn row(&self, id: i64) -> Result<SequenceRow, TransactionError> {
        let SequenceOptions { increment, cycle, cache, .. } = *self;
        let (least, greatest) = if increment < 0 { (i64::MIN, -1) } else { (1, i64::MAX) };
        let (minimum, maximum) = (self.minimum.unwrap_or(least), self.maximum.unwrap_or(greatest));
        let start = self.start.unwrap_or(if increment < 0 { maximum } else { minimum });
        let refuse = |what| Err(TransactionError::InvalidSequence { sequence: self.name.clone(), what });
        match () {
            () if self.name.is_empty() || self.name.contains('\0') => {
                refuse("the name is empty or has a zero byte; give another one".to_owned())
            }
            () if increment == 0 => refuse("the increment is 0; give another one".to_owned()),
            () if minimum >= maximum => {
                refuse(format!("the minimum {minimum} must be less than the maximum {maximum}; give other bounds"))
            }
            () if !(minimum..=maximum).contains(&start) => {
                refuse(format!("it cannot start with {start}; give a value from {minimum} to {maximum}"))
            }
            () if cache < 1 => refuse(format!("it cannot cache {cache} values; give at least 1")),
            () => Ok(SequenceRow { id, increment, minimum, maximum, start, cycle, cache, next: Some(start) }),
        }
    }
}

/// A value that was drawn and is not used yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub(crate) value: i64,
    /// The stamp of the reservation; [`Stamp::ZERO`]: of this transaction.
    pub(super) reserved: Stamp,
}

impl Transaction<'_> {
    /// Creates a sequence. It can be used at once, by this transaction.
    ///
    /// # Errors
    /// [`TransactionError::SequenceExists`], [`TransactionError::InvalidSequence`]; [`TransactionError::ReservedName`] for a name
    /// that begins as those of system tables.
    pub fn create_sequence(&self, options: &SequenceOptions) -> Result<Sequence, Error> {
        self.refuse_at_snapshot("create a sequence")?;
        let name = options.name.as_str();
        refuse_reserved(name)?;
        let (catalog, system) = (&self.shared.catalog, &self.shared.catalog.system.sequences);
        let row = options.row(catalog.next_sequence_id())?;
        self.write_catalog(system, |state, tree_ref| {
            let values = row.values(name);
            let key = system.keys.of_values(&values)?;
            let version = self.encode(system, &values)?;
            self.insert_encoded(state, system, tree_ref, &key, version).map_err(|error| match error {
                Error::Transaction(TransactionError::DuplicateKey { .. }) => {
                    TransactionError::SequenceExists { sequence: name.to_owned() }.into()
                }
                error => error,
            })
        })?;
        let sequence = Sequence::new(name, row.id, None);
        let own = OwnSequence { sequence: sequence.clone(), row, is_new: true, is_drawn: false };
        self.define(Definition::Sequence(own));
        Ok(sequence)
    }

    /// The sequence of this name, as this transaction sees it.
    ///
    /// # Errors
    /// [`TransactionError::UnknownSequence`].
    pub fn sequence(&self, name: &str) -> Result<Sequence, Error> {
        self.refuse_at_snapshot("use a sequence")?;
        let unknown = || TransactionError::UnknownSequence { sequence: name.to_owned() };
        let (state, catalog) = (&mut **self.state(), &self.shared.catalog);
        let own = state.definitions.iter().rev().find_map(|own| match own {
            Definition::Sequence(own) if own.sequence.name() == name => Some(Some(own.sequence.clone())),
            Definition::DropSequence(sequence) if sequence.name() == name => Some(None),
            _ => None,
        });
        if let Some(own) = own {
            return own.ok_or_else(|| unknown().into());
        }
        // Mostly the published handle is current, and its definition is what is relied on. The row is not read then: reservations
        // change it, and whoever had read it would conflict with them.
        if let Some(sequence) = catalog.open_sequences.find(name, |_| true)
            && self.touch_definition(state, &DefinitionHandle::Sequence(sequence.clone()))?
        {
            return Ok(sequence);
        }
        self.touch(state, &catalog.system.sequences)?;
        // Where it was created this very moment its handle is about to be published.
        let mut backoff = Backoff::new();
        loop {
            let id = self.sequence_id(state, name)?.ok_or_else(unknown)?;
            match catalog.open_sequences.find(name, |sequence| sequence.id() == id) {
                Some(sequence) => return Ok(sequence),
                None => self.shared.wait_for_handle(&mut backoff)?,
            }
        }
    }

    /// Removes a sequence.
    ///
    /// # Errors
    /// [`TransactionError::UnknownSequence`] where it is gone already.
    pub fn drop_sequence(&self, sequence: &Sequence) -> Result<(), Error> {
        self.refuse_at_snapshot("drop a sequence")?;
        self.wait_until_published(sequence)?;
        let system = &self.shared.catalog.system.sequences;
        self.write_catalog(system, |state, tree_ref| {
            self.expect_sequence(state, sequence)?;
            let key = system.keys.of_key(&[Value::Text(sequence.name())])?;
            match self.delete_encoded(state, system, tree_ref, &key)? {
                true => Ok(()),
                // Dropped since this transaction touched it.
                false => Err(state.lose(TransactionError::ROW_CONFLICT).into()),
            }
        })?;
        self.define(Definition::DropSequence(sequence.clone()));
        Ok(())
    }

    /// Makes `value` the next one of a sequence, or the one that it started with. From the commit on, values that sessions had
    /// reserved before are not given any more; what a restarted sequence gives may have been given before.
    ///
    /// # Errors
    /// [`TransactionError::InvalidSequence`] where the value is beyond the bounds.
    pub fn restart_sequence(&self, sequence: &Sequence, value: Option<i64>) -> Result<(), Error> {
        self.refuse_at_snapshot("restart a sequence")?;
        let system = &self.shared.catalog.system.sequences;
        let (row, is_new) = self.write_catalog(system, |state, tree_ref| {
            self.expect_sequence(state, sequence)?;
            let is_new = state.own_sequence(sequence).is_some_and(|own| own.is_new);
            let key = system.keys.of_key(&[Value::Text(sequence.name())])?;
            let Some((record, Some(old))) = self.look_up(state, &system.primary, key.as_bytes(), Intent::Definition)?
            else {
                return Err(state.lose(TransactionError::ROW_CONFLICT).into());
            };
            let mut row = SequenceRow::of(&system.rows.row(old.bytes()));
            let next = value.unwrap_or(row.start);
            if !(row.minimum..=row.maximum).contains(&next) {
                let what =
                    format!("it cannot restart with {next}; give a value from {} to {}", row.minimum, row.maximum);
                return Err(TransactionError::InvalidSequence { sequence: sequence.name().to_owned(), what }.into());
            }
            row.next = Some(next);
            self.change_next(state, tree_ref, record, &old, &row)?;
            Ok((row, is_new))
        })?;
        let own = OwnSequence { sequence: sequence.clone(), row, is_new, is_drawn: false };
        self.define(Definition::Sequence(own));
        Ok(())
    }

    /// The next value of a sequence. No other transaction is given it, also when this one does not commit, until the sequence
    /// cycles or is restarted. Values of one session follow each other in the direction of the sequence; those of several come in
    /// any order, and there are gaps.
    ///
    /// The commit is acknowledged no earlier than it is durable that the value is taken. A relaxed transaction that is lost in a
    /// crash may have been given a value that is given again.
    ///
    /// # Errors
    /// [`TransactionError::SequenceExhausted`], [`TransactionError::UnknownSequence`] where it was dropped,
    /// [`TransactionError::ReadOnlySequence`]; [`ProcedureError::WithinFunction`](crate::ProcedureError::WithinFunction) within a
    /// function that is a procedure, which draws by its call.
    pub fn next_value(&self, sequence: &Sequence) -> Result<i64, Error> {
        self.refuse_in_function("`Transaction::next_value`", "draw by `OpaqueCall::next_value`, which the log notes")?;
        self.take_next_value(sequence)
    }

    /// As [`Transaction::next_value`], for whoever notes the value where a replay finds it.
    pub(crate) fn take_next_value(&self, sequence: &Sequence) -> Result<i64, Error> {
        let drawn = self.draw(sequence)?;
        Ok(self.use_drawn(drawn))
    }

    /// Takes a value, which is nobody else's from now on; reserves some where the session has none left.
    pub(crate) fn draw(&self, sequence: &Sequence) -> Result<Drawn, Error> {
        self.refuse_at_snapshot("draw a value of a sequence")?;
        let exhausted = |bound| TransactionError::SequenceExhausted { sequence: sequence.name().to_owned(), bound };
        if self.options.read_only {
            return Err(TransactionError::ReadOnlySequence { sequence: sequence.name().to_owned() }.into());
        }
        let mut reservations = {
            let state = &mut **self.state();
            self.expect_sequence(state, sequence)?;
            if let Some(own) = state.own_sequence(sequence) {
                let bound = own.row.bound();
                let value =
                    own.row.reserve(1).and_then(|mut reserved| reserved.next()).ok_or_else(|| exhausted(bound))?;
                own.is_drawn = true;
                return Ok(Drawn { value, reserved: Stamp::ZERO });
            }
            try_access!(state, control => control.observe_now())?;
            std::mem::take(&mut state.reservations)
        };
        let drawn = reservations.draw(self.shared, self.stream, sequence);
        self.state().reservations = reservations;
        match drawn? {
            Ok(drawn) => Ok(drawn),
            Err(exhausted_at) => {
                // What this says must not be told before it is durable either.
                self.depend_on(exhausted_at.observed);
                Err(exhausted(exhausted_at.bound).into())
            }
        }
    }

    /// Makes the transaction depend on the reservation of a value, and returns the value.
    pub(crate) fn use_drawn(&self, drawn: Drawn) -> i64 {
        self.depend_on(faults::reservation(drawn.reserved));
        drawn.value
    }

    fn depend_on(&self, stamp: Stamp) {
        let state = &mut **self.state();
        with_scheme!(&mut state.scheme, control => control.depend(stamp));
    }

    /// Whoever has created a sequence publishes its handle after the commit. Who drops it before, by a handle of its own, would
    /// find nothing to withdraw, and the handle would stay for ever.
    fn wait_until_published(&self, sequence: &Sequence) -> Result<(), Error> {
        let (state, mut backoff) = (&mut **self.state(), Backoff::new());
        let published = &self.shared.catalog.open_sequences;
        self.touch(state, &self.shared.catalog.system.sequences)?;
        let is_new = state.own_sequence(sequence).is_some_and(|own| own.is_new);
        while !is_new && !published.holds(sequence) {
            match self.sequence_id(state, sequence.name())? == Some(sequence.id()) {
                true => self.shared.wait_for_handle(&mut backoff)?,
                false => break,
            }
        }
        Ok(())
    }

    /// Relies on a sequence being there.
    fn expect_sequence(&self, state: &mut TransactionState, sequence: &Sequence) -> Result<(), Error> {
        match self.touch_definition(state, &DefinitionHandle::Sequence(sequence.clone()))? {
            true => Ok(()),
            false => {
                // Who keeps a handle may keep another one when it is called again.
                self.log_rows();
                Err(TransactionError::UnknownSequence { sequence: sequence.name().to_owned() }.into())
            }
        }
    }

    /// Whether `sequence` is what its name means to this transaction.
    pub(super) fn is_current_sequence(&self, state: &mut TransactionState, sequence: &Sequence) -> Result<bool, Error> {
        let own = state.definitions.iter().rev().find_map(|own| match own {
            Definition::Sequence(own) if own.sequence.id() == sequence.id() => Some(true),
            Definition::DropSequence(gone) if gone.id() == sequence.id() => Some(false),
            _ => None,
        });
        match own {
            Some(is_current) => Ok(is_current),
            None => Ok(self.sequence_id(state, sequence.name())? == Some(sequence.id())),
        }
    }

    /// The id of the sequence of this name. Only that its row exists is noted as read: as long as it does it has the same id.
    fn sequence_id(&self, state: &mut TransactionState, name: &str) -> Result<Option<i64>, Error> {
        let system = &self.shared.catalog.system.sequences;
        let key = system.keys.of_key(&[Value::Text(name)])?;
        let existing = self.look_up_existence(state, &system.primary, key.as_bytes(), Intent::Definition)?;
        let Some(existing) = existing else { return Ok(None) };
        let id = |version: &Version| SequenceRow::of(&system.rows.row(version.bytes())).id;
        Ok(self.pin().get(existing.record).version(self.pin()).map(id))
    }

    /// A definition was written.
    pub(super) fn define(&self, definition: Definition) {
        let state = &mut **self.state();
        state.definitions.push(definition);
        state.forget_checks();
    }

    /// Before the commit: the rows of own sequences learn what was drawn.
    pub(super) fn write_drawn(&self, state: &mut TransactionState) -> Result<(), Error> {
        if state.definitions.is_empty() {
            return Ok(());
        }
        let mut drawn: Vec<(Sequence, SequenceRow)> = Vec::new();
        let mut settled = Vec::new();
        for own in state.definitions.iter_mut().rev() {
            match own {
                Definition::DropSequence(sequence) => settled.push(sequence.id()),
                Definition::Sequence(own) if !settled.contains(&own.row.id) => {
                    settled.push(own.row.id);
                    if std::mem::take(&mut own.is_drawn) {
                        drawn.push((own.sequence.clone(), own.row.clone()));
                    }
                }
                _ => {}
            }
        }
        let system = &self.shared.catalog.system.sequences;
        for (sequence, row) in drawn {
            let tree_ref = self.touch(state, system)?;
            let values = row.values(sequence.name());
            let key = system.keys.of_values(&values)?;
            let version = self.encode(system, &values)?;
            if !self.replace_encoded(state, system, tree_ref, &key, version)? {
                // Its placeholder was purged: the commit would not get the lock.
                return Err(state.lose(TransactionError::ROW_CONFLICT).into());
            }
        }
        Ok(())
    }
}

impl TransactionState {
    /// What this transaction has made of a sequence, where it has created or restarted it.
    fn own_sequence(&mut self, sequence: &Sequence) -> Option<&mut OwnSequence> {
        let found = self.definitions.iter_mut().rev().find_map(|own| match own {
            Definition::Sequence(own) if own.sequence.id() == sequence.id() => Some(Some(own)),
            Definition::DropSequence(gone) if gone.id() == sequence.id() => Some(None),
            _ => None,
        });
        found.flatten()
    }
}
