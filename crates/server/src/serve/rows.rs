//! Takes the result of a statement while it runs, and encodes it straight into the buffer from which it is sent.
//!
//! Invariants:
//! - A statement that may be run again is not shown to the client: its rows stay in the buffer behind `start`, until more than
//!   [`GATHERED_BYTES_MAX`] have gathered. From then on they are sent while it runs, and it cannot be run again.
//! - Nothing is sent before the commits are durable of which the buffer tells.
//! - A row of a portal that is fetched by pieces is never sent from here ([`Rows::keep`]).
//!
//! The statement is a plain call, which waits for its client while it sends from here, though not for ever ([`Patience`]).

use std::sync::Arc;

use osier::Receipt;
use osier_sql::session::{Column, CopyShape, Output};
use osier_sql::settings::Settings;
use osier_sql::types::{Declared, Type};
use osier_sql::value::{push_binary, push_text};
use osier_sql::{Datum, SqlError, SqlState};
use pgwire::messages::Message;
use pgwire::messages::copy::CopyOutResponse;

use super::formats::Formats;
use super::output::begin;
use super::stream::{Patience, Stream};

/// What a result may take in memory while its statement may be run again.
const GATHERED_BYTES_MAX: usize = 16 << 20;
/// What is sent at a time, once the result is being sent.
const PIECE_BYTES: usize = 256 * 1024;
/// What the rows of a portal may take that is fetched by pieces.
const KEPT_BYTES_MAX: usize = 1 << 30;

/// Where rows go when too many have gathered.
pub struct Outlet<'a> {
    /// The client.
    pub stream: &'a mut Stream,
    /// The commits of which the buffer tells, each with its place there.
    pub receipts: &'a mut Vec<(usize, Receipt)>,
}

/// Takes a result.
pub struct Rows<'a> {
    bytes: &'a mut Vec<u8>,
    start: usize,
    columns: Vec<Declared>,
    formats: &'a Formats,
    settings: Arc<Settings>,
    outlet: Option<Outlet<'a>>,
    patience: Patience,
    is_shown: bool,
    is_copying: bool,
    is_broken: bool,
}

impl<'a> Rows<'a> {
    /// Takes a result that is sent at once.
    pub fn send(
        bytes: &'a mut Vec<u8>,
        columns: Option<&[Column]>,
        formats: &'a Formats,
        settings: &Arc<Settings>,
        outlet: Outlet<'a>,
    ) -> Rows<'a> {
        let mut rows = Rows::keep(bytes, columns, formats, settings);
        rows.outlet = Some(outlet);
        rows
    }

    /// Takes a result that is kept.
    pub fn keep(
        bytes: &'a mut Vec<u8>,
        columns: Option<&[Column]>,
        formats: &'a Formats,
        settings: &Arc<Settings>,
    ) -> Rows<'a> {
        let start = bytes.len();
        let columns: Vec<Declared> = columns.unwrap_or_default().iter().map(|column| column.declared).collect();
        Rows {
            bytes,
            start,
            columns,
            formats,
            settings: settings.clone(),
            outlet: None,
            patience: Patience::default(),
            is_shown: false,
            is_copying: false,
            is_broken: false,
        }
    }

    /// Whether a part of the result was sent.
    pub fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// Whether the client could not be sent what it should have got: the connection is of no use any more.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Whether a `COPY ... TO STDOUT` has begun.
    pub fn is_copying(&self) -> bool {
        self.is_copying
    }

    fn end_message(&mut self, mark: usize) -> Result<(), SqlError> {
        let length = i32::try_from(self.bytes.len() - mark).map_err(|_| too_long())?;
        self.bytes[mark..mark + 4].copy_from_slice(&length.to_be_bytes());
        self.send_surplus()
    }

    fn send_surplus(&mut self) -> Result<(), SqlError> {
        let gathered = self.bytes.len() - self.start;
        let Some(outlet) = &mut self.outlet else {
            return if gathered > KEPT_BYTES_MAX { Err(too_many()) } else { Ok(()) };
        };
        if gathered <= if self.is_shown { PIECE_BYTES } else { GATHERED_BYTES_MAX } {
            return Ok(());
        }
        for (_, receipt) in outlet.receipts.drain(..) {
            if let Err(error) = receipt.wait() {
                // The buffer tells of a commit that will never be durable: none of it may go.
                self.is_broken = true;
                return Err(osier::Error::from(error).into());
            }
        }
        let sent = outlet.stream.send_now(self.bytes, &mut self.patience);
        // What was taken of it cannot be told from what was not: it does not go a second time, and the connection ends.
        self.bytes.clear();
        (self.start, self.is_shown, self.is_broken) = (0, true, sent.is_err());
        sent.map_err(|error| slow(&error))
    }
}

impl Output for Rows<'_> {
    fn row(&mut self, row: &[Datum]) -> Result<(), SqlError> {
        let mark = begin(self.bytes, b'D');
        self.bytes.extend_from_slice(&(row.len() as u16).to_be_bytes());
        for (number, datum) in row.iter().enumerate() {
            if datum.is_null() {
                self.bytes.extend_from_slice(&(-1i32).to_be_bytes());
                continue;
            }
            let declared = self.columns.get(number).copied().unwrap_or(Type::Text.into());
            let at = self.bytes.len();
            self.bytes.extend_from_slice(&[0; 4]);
            if self.formats.is_binary(number) {
                push_binary(datum, declared, self.bytes);
            } else {
                push_text(datum, declared, &self.settings, self.bytes);
            }
            let length = i32::try_from(self.bytes.len() - at - 4).map_err(|_| too_long())?;
            self.bytes[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
        self.end_message(mark)
    }

    fn copy_begin(&mut self, shape: CopyShape) -> Result<(), SqlError> {
        self.is_copying = true;
        push_copy_out(self.bytes, shape);
        Ok(())
    }

    fn copy_data(&mut self, bytes: &[u8]) -> Result<(), SqlError> {
        assert!(self.is_copying, "COPY says what it writes before it writes");
        let mark = begin(self.bytes, b'd');
        self.bytes.extend_from_slice(bytes);
        self.end_message(mark)
    }

    fn restart(&mut self) -> bool {
        if self.is_shown {
            return false;
        }
        self.bytes.truncate(self.start);
        self.is_copying = false;
        true
    }
}

/// Appends `CopyOutResponse`.
pub fn push_copy_out(bytes: &mut Vec<u8>, shape: CopyShape) {
    let (format, formats) = copy_formats(shape);
    let message = CopyOutResponse::new(format, shape.columns as i16, formats);
    let mut encoded = bytes::BytesMut::new();
    // It is short: a format for each column of a table.
    if message.encode(&mut encoded).is_ok() {
        bytes.extend_from_slice(&encoded);
    }
}

/// Returns the format of a `COPY` and those of its columns, which are the same.
pub fn copy_formats(shape: CopyShape) -> (i8, Vec<i16>) {
    (shape.is_binary.into(), vec![shape.is_binary.into(); shape.columns.into()])
}

#[cold]
fn too_long() -> SqlError {
    SqlError::new(SqlState::ProgramLimitExceeded, "a row is longer than a message of the protocol can be")
}

#[cold]
fn too_many() -> SqlError {
    SqlError::new(SqlState::ProgramLimitExceeded, "the rows of a portal take more than 1 GiB")
        .with_hint("Execute the portal without a limit of rows, or use LIMIT.")
}

#[cold]
fn slow(error: &std::io::Error) -> SqlError {
    let message = format!("cannot send the result to the client: {error}");
    SqlError::new(SqlState::IoError, message).with_code("08006")
}
