//! The messages of clients, read from their bytes.
//!
//! Invariants:
//! - Nothing outside of the one message is read, and nothing of it is left over.
//! - Memory is taken for bytes that are there, never for a number that a client wrote.
//! - Text is UTF-8 without zeros, or the message fails with 22021.
//!
//! Absent: the start of a connection (`startup_packet.rs`); lengths, which `input.rs` has checked. The decoders of crate `pgwire`
//! are not used: they read beyond the end of a message, panic where it is too short, and replace what is not UTF-8.

use bytes::{Buf, Bytes};
use osier_sql::{SqlError, SqlState};

/// What a message is about: a prepared statement or a portal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A prepared statement.
    Statement,
    /// A portal.
    Portal,
}

/// `Bind`.
#[derive(Debug)]
pub struct Bind {
    /// The portal that it makes.
    pub portal: String,
    /// The statement.
    pub statement: String,
    /// The formats of the parameters.
    pub parameter_formats: Vec<u16>,
    /// The parameters; `None` is NULL.
    pub parameters: Vec<Option<Bytes>>,
    /// The formats of the result.
    pub result_formats: Vec<u16>,
}

/// A message of a client.
#[derive(Debug)]
pub enum Request {
    /// A simple query.
    Query(String),
    /// Prepares a statement.
    Parse {
        /// Its name.
        name: String,
        /// Its text.
        text: String,
        /// The types of its parameters, as far as the client says.
        types: Vec<u32>,
    },
    /// Makes a portal.
    Bind(Bind),
    /// Asks what a statement or portal is.
    Describe(Target, String),
    /// Runs a portal.
    Execute {
        /// Its name.
        portal: String,
        /// How many rows to return at most; zero: all.
        rows_max: usize,
    },
    /// Forgets a statement or portal.
    Close(Target, String),
    /// Asks for what was answered so far.
    Flush,
    /// Ends a sequence of extended requests.
    Sync,
    /// A piece of the data of `COPY`.
    CopyData(Bytes),
    /// The end of these.
    CopyDone,
    /// Gives `COPY` up.
    CopyFail(String),
    /// The call of a function by its number, which no client of today uses.
    FunctionCall,
    /// A password, or a part of an exchange about it.
    Password(Bytes),
    /// Goodbye.
    Terminate,
}

impl Request {
    /// Whether a message of this kind exists.
    pub fn is_kind(kind: u8) -> bool {
        b"QPBDECHSdcfFpX".contains(&kind)
    }

    /// Reads a message of `kind`.
    ///
    /// # Errors
    /// A message that is malformed.
    pub fn decode(kind: u8, body: Bytes) -> Result<Request, SqlError> {
        let mut fields = Fields(body);
        let request = match kind {
            b'Q' => Request::Query(fields.text()?),
            b'P' => Request::Parse { name: fields.text()?, text: fields.text()?, types: fields.list(Fields::u32)? },
            b'B' => Request::Bind(Bind {
                portal: fields.text()?,
                statement: fields.text()?,
                parameter_formats: fields.list(Fields::u16)?,
                parameters: fields.list(Fields::value)?,
                result_formats: fields.list(Fields::u16)?,
            }),
            b'D' => Request::Describe(fields.target()?, fields.text()?),
            b'E' => {
                let portal = fields.text()?;
                Request::Execute { portal, rows_max: (fields.u32()? as i32).max(0) as usize }
            }
            b'C' => Request::Close(fields.target()?, fields.text()?),
            b'H' => Request::Flush,
            b'S' => Request::Sync,
            b'd' => Request::CopyData(fields.rest()),
            b'c' => Request::CopyDone,
            b'f' => Request::CopyFail(fields.text()?),
            b'F' => {
                fields.rest();
                Request::FunctionCall
            }
            b'p' => Request::Password(fields.rest()),
            b'X' => Request::Terminate,
            other => return Err(violation(format!("invalid frontend message type {other}"))),
        };
        if fields.0.is_empty() { Ok(request) } else { Err(malformed()) }
    }
}

/// Makes the error of a message that the protocol does not allow.
#[cold]
pub fn violation(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::ProtocolViolation, message)
}

#[cold]
fn malformed() -> SqlError {
    violation("invalid message format")
}

/// Checks that bytes are text.
///
/// # Errors
/// Bytes that are not UTF-8, or zeros.
pub fn check_text(bytes: &[u8]) -> Result<&str, SqlError> {
    let invalid = |at: usize| {
        let byte = bytes.get(at).copied().unwrap_or_default();
        let message = format!("invalid byte sequence for encoding \"UTF8\": 0x{byte:02x}");
        SqlError::new(SqlState::CharacterNotInRepertoire, message)
    };
    let text = std::str::from_utf8(bytes).map_err(|error| invalid(error.valid_up_to()))?;
    match bytes.iter().position(|byte| *byte == 0) {
        Some(zero) => Err(invalid(zero)),
        None => Ok(text),
    }
}

/// The fields of a message that are not read yet.
#[derive(Debug)]
pub struct Fields(pub Bytes);

impl Fields {
    /// Reads text up to its final zero.
    ///
    /// # Errors
    /// Text without an end, or that is none.
    pub fn text(&mut self) -> Result<String, SqlError> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or_else(malformed)?;
        let text = check_text(&self.0[..end]).map(str::to_owned);
        self.0.advance(end + 1);
        text
    }

    /// Reads a number of two bytes.
    ///
    /// # Errors
    /// Where they are not there.
    pub fn u16(&mut self) -> Result<u16, SqlError> {
        self.0.try_get_u16().map_err(|_| malformed())
    }

    /// Reads a number of four bytes.
    ///
    /// # Errors
    /// Where they are not there.
    pub fn u32(&mut self) -> Result<u32, SqlError> {
        self.0.try_get_u32().map_err(|_| malformed())
    }

    /// Reads a value behind its length; -1 is NULL.
    ///
    /// # Errors
    /// A value that is longer than the message.
    pub fn value(&mut self) -> Result<Option<Bytes>, SqlError> {
        match self.u32()? as i32 {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| malformed())?;
                if length > self.0.len() { Err(malformed()) } else { Ok(Some(self.0.split_to(length))) }
            }
        }
    }

    /// Reads all that is left.
    pub fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.0)
    }

    fn list<T>(&mut self, read: impl Fn(&mut Fields) -> Result<T, SqlError>) -> Result<Vec<T>, SqlError> {
        let count = self.u16()?;
        (0..count).map(|_| read(self)).collect()
    }

    fn target(&mut self) -> Result<Target, SqlError> {
        match self.0.try_get_u8() {
            Ok(b'S') => Ok(Target::Statement),
            Ok(b'P') => Ok(Target::Portal),
            _ => Err(malformed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(kind: u8, body: &'static [u8]) -> Result<Request, SqlError> {
        Request::decode(kind, Bytes::from_static(body))
    }

    #[test]
    fn messages_that_are_too_short_or_too_long_are_refused() {
        let bind = b"p\0s\0\0\x01\0\x01\0\x01\0\0\0\x02ab\0\0";
        assert!(
            matches!(decode(b'B', bind), Ok(Request::Bind(bind)) if bind.parameters[0].as_deref() == Some(&b"ab"[..]))
        );
        for end in 0..bind.len() {
            assert_eq!(decode(b'B', &bind[..end]).unwrap_err().code(), "08P01", "{end}");
        }
        assert_eq!(decode(b'S', b"x").unwrap_err().code(), "08P01");
        assert_eq!(decode(b'D', b"Xname\0").unwrap_err().code(), "08P01");
        assert_eq!(decode(b'B', b"\0\0\0\0\xff\xff").unwrap_err().code(), "08P01");
        assert_eq!(decode(b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0").unwrap_err().code(), "08P01");
    }

    #[test]
    fn text_is_utf8() {
        assert_eq!(decode(b'Q', b"SELECT '\xff'\0").unwrap_err().code(), "22021");
        assert_eq!(check_text(b"a\0b").unwrap_err().code(), "22021");
    }
}
