//! Why a client's command fails.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use osier_bench::error::BenchError;
use postgres_protocol::message::backend::ErrorFields;

use fallible_iterator::FallibleIterator;

/// An error or a notice that the server has told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// `ERROR`, `FATAL`, `WARNING`, `NOTICE`.
    pub severity: String,
    /// The SQLSTATE.
    pub code: String,
    /// What it is about.
    pub message: String,
    /// More of it.
    pub detail: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// Where in the statement, in characters from 1.
    pub position: Option<usize>,
    /// What the server was doing.
    pub context: Option<String>,
}

impl Told {
    /// Reads the fields of a message.
    ///
    /// # Errors
    /// A message that is malformed.
    pub fn read(mut fields: ErrorFields<'_>) -> io::Result<Told> {
        let mut told = Told::default();
        while let Some(field) = fields.next()? {
            let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'S' => told.severity = value,
                b'C' => told.code = value,
                b'M' => told.message = value,
                b'D' => told.detail = Some(value),
                b'H' => told.hint = Some(value),
                b'P' => told.position = value.parse().ok(),
                b'W' => told.context = Some(value),
                _ => {}
            }
        }
        Ok(told)
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:  {}: {}", self.severity, self.code, self.message)
    }
}

/// Why a client's command fails.
#[derive(Debug)]
pub enum ClientError {
    /// The server has told.
    Told(Box<Told>),
    /// The connection broke, or could not be made.
    Connection(String),
    /// A file of the client.
    File {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A script has failed, which was said where it was.
    Script,
    /// What is asked for makes no sense.
    Usage(String),
    /// Anything else.
    Failed(String),
    /// The database could not be opened.
    Engine(Box<BenchError>),
}

impl ClientError {
    /// Makes the error of a file.
    pub fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ClientError {
        let path = path.to_owned();
        move |source| ClientError::File { action, path, source }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Told(told) => {
                write!(f, "{told}")?;
                told.detail.iter().try_for_each(|detail| write!(f, "\nDETAIL:  {detail}"))?;
                told.hint.iter().try_for_each(|hint| write!(f, "\nHINT:  {hint}"))
            }
            ClientError::Connection(what) | ClientError::Usage(what) | ClientError::Failed(what) => f.write_str(what),
            ClientError::File { action, path, source } => write!(f, "cannot {action} {}: {source}", path.display()),
            ClientError::Script => f.write_str("the script has failed"),
            ClientError::Engine(error) => error.fmt(f),
        }
    }
}

impl From<BenchError> for ClientError {
    fn from(error: BenchError) -> ClientError {
        ClientError::Engine(Box::new(error))
    }
}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> ClientError {
        ClientError::Connection(format!("the connection to the server was lost: {error}"))
    }
}

/// As other commands show it.
impl From<ClientError> for BenchError {
    fn from(error: ClientError) -> BenchError {
        match error {
            ClientError::Engine(error) => *error,
            ClientError::File { action, path, source } => BenchError::Io { action, path, source },
            ClientError::Usage(what) => BenchError::Usage(what),
            ClientError::Told(ref told) => {
                let sqlstate = told.code.clone();
                // What the server says of its own files says nothing of files of the client.
                let sqlstate = if sqlstate == "53200" { sqlstate } else { String::new() };
                BenchError::Asked { message: error.to_string(), sqlstate }
            }
            other => BenchError::Asked { message: other.to_string(), sqlstate: String::new() },
        }
    }
}

/// How `osier shell` exits, as psql does.
pub mod status {
    /// Something failed that is not of the kinds below.
    pub const FAILED: u8 = 1;
    /// There is no connection, or it was lost.
    pub const NO_CONNECTION: u8 = 2;
    /// A script failed, and was to stop then.
    pub const SCRIPT: u8 = 3;
}
