//! Versions of procedures, as commands of a log name them.
//!
//! Invariant: what is compiled is the version that is the current one for the transaction, which is that of the command where the
//! order of the log is kept.

use super::compiled::{Body, Compiled};
use super::faults;
use crate::catalog::procedure::VersionKey;
use crate::error::{Error, ProcedureError};
use crate::transaction::Transaction;

/// Why a command did not run again.
#[derive(Debug)]
pub(crate) enum NotReplayed {
    /// There is no such version, or it is a function that is not registered.
    Missing,
    /// It ran to its end, and did not do what it did.
    Diverged(String),
    /// It is not the version that is the current one there.
    Superseded(String),
    /// It failed.
    Failed(Error),
}

impl From<Error> for NotReplayed {
    fn from(error: Error) -> NotReplayed {
        match error {
            Error::Procedure(ProcedureError::NotRegistered { .. }) => NotReplayed::Missing,
            error => NotReplayed::Failed(error),
        }
    }
}

/// Compiles a version of a procedure, which is the current one where it is run.
pub(super) fn compiled_version(transaction: &Transaction<'_>, key: VersionKey) -> Result<Compiled, NotReplayed> {
    let definition = transaction.procedure_version(faults::version(key))?.ok_or(NotReplayed::Missing)?;
    let name = &definition.name;
    let Some((handle, _)) = transaction.procedure_definition(name)?.filter(|(of, _)| of.version() == key) else {
        return Err(NotReplayed::Superseded(format!(
            "it is no longer the current version of procedure `{name}` there"
        )));
    };
    let body = Body::of(transaction, name, &handle, &definition)?;
    Ok(Compiled { handle, body })
}
