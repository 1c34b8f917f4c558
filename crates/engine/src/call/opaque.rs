//! Procedures that are functions of the program that has opened the database.
//!
//! The contract: a function does the same when it is called again with the same arguments, draws and rows. It uses no clock, no
//! chance and no shared state but what the call gives, and goes through no hash map whose order is random. Where the database
//! logs commands, a function that breaks it is found when the log is replayed: by the hash of what it wrote.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use super::draws::Draws;
use crate::error::{Error, ProcedureError};
use crate::ids::ProcedureVersion;
use crate::procedure::program::{DataType, Field, Results};
use crate::table::{Argument, Datum};
use crate::transaction::Transaction;

type Function = dyn Fn(&OpaqueCall<'_, '_>) -> Result<Vec<Datum>, Error> + Send + Sync;

/// A Rust function that is a procedure of a database.
pub struct OpaqueProcedure {
    pub(super) name: String,
    pub(super) version: ProcedureVersion,
    pub(super) parameters: Vec<Field>,
    pub(super) results: Arc<Results>,
    pub(super) function: Box<Function>,
}

impl OpaqueProcedure {
    /// Makes a procedure of a function. Whoever changes what it does gives it a greater version, and registers the earlier one
    /// as long as a log may need it.
    pub fn new(
        name: impl Into<String>,
        version: u32,
        function: impl Fn(&OpaqueCall<'_, '_>) -> Result<Vec<Datum>, Error> + Send + Sync + 'static,
    ) -> OpaqueProcedure {
        let (parameters, results) = Default::default();
        let version = ProcedureVersion(version);
        OpaqueProcedure { name: name.into(), version, parameters, results, function: Box::new(function) }
    }

    /// Adds a parameter.
    pub fn parameter(mut self, name: impl Into<String>, ty: impl Into<DataType>) -> OpaqueProcedure {
        self.parameters.push(Field { name: name.into(), ty: ty.into() });
        self
    }

    /// Adds a value that it returns.
    pub fn returns(mut self, name: impl Into<String>, ty: impl Into<DataType>) -> OpaqueProcedure {
        let mut fields = self.results.fields().to_vec();
        fields.push(Field { name: name.into(), ty: ty.into() });
        self.results = Arc::new(Results::Values(fields));
        self
    }
}

impl fmt::Debug for OpaqueProcedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpaqueProcedure")
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// The functions that a program registers before it opens a database: [`Database::open_with`](crate::Database::open_with).
#[derive(Clone, Debug, Default)]
pub struct Procedures {
    registered: Vec<Arc<OpaqueProcedure>>,
}

impl Procedures {
    /// Returns the registry without a procedure.
    pub fn new() -> Procedures {
        Procedures::default()
    }

    /// Registers a version of a procedure. The greatest version of a name is the one that calls run; others are for replay.
    ///
    /// # Panics
    /// Where the version is registered already.
    pub fn register(mut self, procedure: OpaqueProcedure) -> Procedures {
        let known = self.find(&procedure.name, procedure.version);
        assert!(known.is_none(), "version {} of procedure `{}` is registered twice", procedure.version, procedure.name);
        self.registered.push(Arc::new(procedure));
        self
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.registered.is_empty()
    }

    /// Returns those that a transaction's database was opened with.
    pub(super) fn of<'t>(transaction: &'t Transaction<'_>) -> &'t Procedures {
        transaction.registered::<Procedures>()
    }

    pub(super) fn find(&self, name: &str, version: ProcedureVersion) -> Option<Arc<OpaqueProcedure>> {
        self.registered.iter().find(|of| of.name == name && of.version == version).cloned()
    }

    /// Returns the version of each name that calls run.
    pub(super) fn newest(&self) -> Vec<Arc<OpaqueProcedure>> {
        let is_newest = |of: &&Arc<OpaqueProcedure>| {
            !self.registered.iter().any(|other| other.name == of.name && other.version > of.version)
        };
        self.registered.iter().filter(is_newest).cloned().collect()
    }
}

/// A call of an opaque procedure.
pub struct OpaqueCall<'t, 's> {
    pub(super) transaction: &'t Transaction<'s>,
    pub(super) arguments: &'t [Argument<'t>],
    pub(super) draws: RefCell<Draws<'t>>,
    pub(super) name: &'t str,
}

impl<'t, 's> OpaqueCall<'t, 's> {
    /// Returns the transaction, to read and write rows.
    pub fn transaction(&self) -> &'t Transaction<'s> {
        self.transaction
    }

    /// Returns the arguments, which are of the types of the parameters.
    pub fn arguments(&self) -> &'t [Argument<'t>] {
        self.arguments
    }

    /// Returns the time of the call, in microseconds since 1970: the same however often it is asked for.
    pub fn now(&self) -> i64 {
        self.draws.borrow_mut().now()
    }

    /// Returns a random number from 0 up to 1.
    pub fn random(&self) -> f64 {
        self.draws.borrow_mut().random()
    }

    /// Returns a random UUID of version 4.
    pub fn uuid(&self) -> [u8; 16] {
        self.draws.borrow_mut().uuid()
    }

    /// Returns the next value of a sequence.
    ///
    /// # Errors
    /// Those of [`Transaction::next_value`].
    pub fn next_value(&self, sequence: &str) -> Result<i64, Error> {
        self.draws.borrow_mut().next_value_of(sequence).map_err(|failure| {
            // That there was no value is not noted.
            self.transaction.log_rows();
            failure.into_error(self.name, "its function")
        })
    }

    /// Returns the error with which a procedure gives its transaction up.
    pub fn abort(&self, sqlstate: &str, message: impl Into<String>) -> Error {
        let (procedure, place) = (self.name.to_owned(), "its function".to_owned());
        ProcedureError::Aborted { procedure, place, sqlstate: sqlstate.to_owned(), message: message.into() }.into()
    }
}
