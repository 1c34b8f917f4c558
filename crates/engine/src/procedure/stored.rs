//! Programs as the catalog stores them: a byte that says how, and the printed form.

use super::program::Program;
use crate::error::{Error, ProcedureError};
use crate::table::SchemaError;

/// The printed form, as UTF-8.
const TEXT: u8 = 1;

/// Returns the bytes of a program.
pub(crate) fn encode(program: &Program) -> Vec<u8> {
    let mut bytes = vec![TEXT];
    bytes.extend(program.to_string().as_bytes());
    bytes
}

/// Returns the program that bytes of the catalog hold.
///
/// # Errors
/// [`SchemaError::CorruptRow`].
pub(crate) fn decode(name: &str, bytes: &[u8]) -> Result<Program, Error> {
    let corrupt = |reason: String| {
        let reason = format!("the definition of procedure `{name}` cannot be read: {reason}");
        Error::from(SchemaError::CorruptRow { table: "osier_procedure_versions".to_owned(), reason })
    };
    let text = match bytes.split_first() {
        Some((&TEXT, text)) => std::str::from_utf8(text).map_err(|error| corrupt(error.to_string()))?,
        Some((format, _)) => return Err(corrupt(format!("it has format {format}, which this version does not know"))),
        None => return Err(corrupt("it is empty".to_owned())),
    };
    Program::parse(text).map_err(|error: ProcedureError| corrupt(error.to_string()))
}
