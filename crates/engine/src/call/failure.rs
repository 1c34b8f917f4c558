//! Why a call does not go on.

use crate::error::{Error, ProcedureError, TransactionError};
use crate::table::SchemaError;

/// Why an instruction failed. Boxed: it is rare, and results should stay small.
#[derive(Debug)]
pub(super) struct Failure(Box<Kind>);

#[derive(Debug)]
enum Kind {
    /// A `try` statement may catch it: it follows from the data and the program alone.
    Raised {
        sqlstate: String,
        message: String,
    },
    /// It ends the call: a conflict, a limit of the database, an error of the log.
    Fatal(Error),
    Steps(u64),
    Memory {
        bytes: usize,
        limit: usize,
    },
}

impl Failure {
    pub(super) fn raised(sqlstate: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure(Box::new(Kind::Raised { sqlstate: sqlstate.into(), message: message.into() }))
    }

    pub(super) fn steps(limit: u64) -> Failure {
        Failure(Box::new(Kind::Steps(limit)))
    }

    pub(super) fn memory(bytes: usize, limit: usize) -> Failure {
        Failure(Box::new(Kind::Memory { bytes, limit }))
    }

    #[cold]
    pub(super) fn division_by_zero() -> Failure {
        Failure::raised("22012", "division by zero")
    }

    /// Arithmetic has left the range of its type.
    #[cold]
    pub(super) fn out_of_range(ty: impl std::fmt::Display) -> Failure {
        Failure::raised("22003", format!("{ty} out of range"))
    }

    /// Returns the SQLSTATE and the message, where they can be caught.
    pub(super) fn caught(&self) -> Option<(&str, &str)> {
        match &*self.0 {
            Kind::Raised { sqlstate, message } => Some((sqlstate, message)),
            _ => None,
        }
    }

    /// Returns the error that the caller gets.
    pub(super) fn into_error(self, procedure: &str, place: &str) -> Error {
        let (procedure, place) = (procedure.to_owned(), place.to_owned());
        match *self.0 {
            Kind::Raised { sqlstate, message } => {
                ProcedureError::Aborted { procedure, place, sqlstate, message }.into()
            }
            Kind::Steps(steps) => ProcedureError::Steps { procedure, place, steps }.into(),
            Kind::Memory { bytes, limit } => ProcedureError::Memory { procedure, place, bytes, limit }.into(),
            Kind::Fatal(error) => error,
        }
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Failure {
        match &error {
            // That a row is damaged follows from no program.
            Error::Schema(SchemaError::CorruptRow { .. } | SchemaError::CorruptKey { .. }) => {
                Failure(Box::new(Kind::Fatal(error)))
            }
            Error::Transaction(TransactionError::DuplicateKey { .. }) | Error::Schema(_) => {
                Failure::raised(error.sqlstate().to_owned(), error.to_string())
            }
            _ => Failure(Box::new(Kind::Fatal(error))),
        }
    }
}

impl From<TransactionError> for Failure {
    fn from(error: TransactionError) -> Failure {
        Error::from(error).into()
    }
}
