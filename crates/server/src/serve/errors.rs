//! How a request, or a connection, ends before its time, and what the client is told of it.
//!
//! Invariant: an `ErrorResponse` has the severity twice (for people, and untranslated), the code and the message; the other
//! fields where they are known.

use std::io;

use osier_sql::{SqlError, SqlState};
use pgwire::messages::response::{ErrorResponse, NoticeResponse};

pub use super::message::violation;
use super::output::Output;

/// Why a connection ends.
#[derive(Debug)]
pub enum End {
    /// The client said goodbye, or has gone.
    Closed,
    /// The client is told why.
    Fatal(SqlError),
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> End {
        End::Closed
    }
}

/// Why a request is not answered as the client wished.
#[derive(Debug)]
pub enum Failure {
    /// The request fails, the connection goes on.
    Request(SqlError),
    /// The connection ends.
    Connection(End),
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Failure {
        Failure::Request(error)
    }
}

impl From<End> for Failure {
    fn from(end: End) -> Failure {
        Failure::Connection(end)
    }
}

/// How much an error ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The request.
    Error,
    /// The connection.
    Fatal,
}

/// Makes the end of a connection, with an error.
#[cold]
pub fn fatal(state: SqlState, message: impl Into<String>) -> End {
    End::Fatal(SqlError::new(state, message))
}

/// Makes the error of a database that is being closed.
pub fn shutting_down() -> SqlError {
    SqlError::new(SqlState::AdminShutdown, "terminating connection due to administrator command")
}

/// Appends an `ErrorResponse`.
pub fn push_error(output: &mut Output, severity: Severity, error: &SqlError) {
    let name = match severity {
        Severity::Error => "ERROR",
        Severity::Fatal => "FATAL",
    };
    output.push(&ErrorResponse::new(fields(name, error)));
}

/// Appends a `NoticeResponse`.
pub fn push_notice(output: &mut Output, notice: &SqlError) {
    // Those of class 25 are about transactions that there are or are not.
    let is_warning = ["01", "25"].iter().any(|class| notice.code().starts_with(class));
    let name = if is_warning { "WARNING" } else { "NOTICE" };
    output.push(&NoticeResponse::new(fields(name, notice)));
}

fn fields(severity: &str, error: &SqlError) -> Vec<(u8, String)> {
    // A string of the protocol ends at its first zero.
    let text = |text: &str| text.replace('\0', "\u{fffd}");
    let always = [
        (b'S', severity.to_owned()),
        (b'V', severity.to_owned()),
        (b'C', text(error.code())),
        (b'M', text(&error.message)),
    ];
    let position = error.position().map(|position| position.to_string());
    let known = [
        (b'D', error.detail()),
        (b'H', error.hint()),
        (b'P', position.as_deref()),
        (b'W', error.context()),
        (b's', error.schema()),
        (b't', error.table()),
        (b'c', error.column()),
        (b'n', error.constraint()),
    ];
    always.into_iter().chain(known.into_iter().filter_map(|(code, field)| Some((code, text(field?))))).collect()
}
