//! What is to be sent to a client, gathered so that one call sends it.
//!
//! Invariant: it holds whole messages, except between [`Output::begin`] and [`Output::end`].
//!
//! Absent: the rows of results (`rows.rs`); when it is sent (`connection.rs`).

use bytes::BytesMut;
use osier_sql::notify::Notification;
use osier_sql::session::{Column, Status};
use pgwire::messages::Message;
use pgwire::messages::data::{FieldDescription, RowDescription};

use super::formats::Formats;

/// A buffer that is larger is given back while a client is idle.
const KEPT_BYTES: usize = 16 * 1024;

/// Messages that are not sent yet.
#[derive(Debug, Default)]
pub struct Output {
    /// The messages.
    pub bytes: Vec<u8>,
}

impl Output {
    /// Appends a message.
    pub fn push(&mut self, message: &impl Message) {
        let mut encoded = BytesMut::with_capacity(message.message_length() + 1);
        let mark = self.bytes.len();
        match message.encode(&mut encoded) {
            Ok(()) => self.bytes.extend_from_slice(&encoded),
            // Longer than clients take, which no message of this server is.
            Err(_) => self.bytes.truncate(mark),
        }
    }

    /// Appends a message that has no body.
    pub fn push_empty(&mut self, kind: u8) {
        self.bytes.extend_from_slice(&[kind, 0, 0, 0, 4]);
    }

    /// Begins a message. Returns its mark, for [`Output::end`].
    pub fn begin(&mut self, kind: u8) -> usize {
        begin(&mut self.bytes, kind)
    }

    /// Ends a message: its length is known now.
    pub fn end(&mut self, mark: usize) {
        let length = (self.bytes.len() - mark) as u32;
        self.bytes[mark..mark + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Appends `CommandComplete`.
    pub fn push_complete(&mut self, tag: &str) {
        let mark = self.begin(b'C');
        self.bytes.extend_from_slice(tag.as_bytes());
        self.bytes.push(0);
        self.end(mark);
    }

    /// Appends `ReadyForQuery`.
    pub fn push_ready(&mut self, status: Status) {
        let status = match status {
            Status::Idle => b'I',
            Status::Open => b'T',
            Status::Failed => b'E',
        };
        self.bytes.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
    }

    /// Appends `NotificationResponse`.
    pub fn push_notification(&mut self, notification: &Notification) {
        let mark = self.begin(b'A');
        self.bytes.extend_from_slice(&notification.pid.to_be_bytes());
        for text in [&notification.channel, &notification.payload] {
            self.bytes.extend_from_slice(text.as_bytes());
            self.bytes.push(0);
        }
        self.end(mark);
    }

    /// Appends `RowDescription`, or `NoData` where there are no columns.
    pub fn push_columns(&mut self, columns: Option<&[Column]>, formats: &Formats) {
        let Some(columns) = columns else { return self.push_empty(b'n') };
        let describe = |(number, column): (usize, &Column)| {
            let declared = column.declared;
            FieldDescription::new(
                column.name.clone(),
                column.origin.0 as i32,
                column.origin.1,
                declared.ty.oid(),
                declared.ty.wire_length(),
                declared.modifier.wire(),
                formats.is_binary(number).into(),
            )
        };
        self.push(&RowDescription::new(columns.iter().enumerate().map(describe).collect()));
    }

    /// Gives memory back that an idle client does not need.
    pub fn shrink(&mut self) {
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
    }
}

/// Begins a message in any buffer. Returns the place of its length.
pub fn begin(bytes: &mut Vec<u8>, kind: u8) -> usize {
    bytes.push(kind);
    let mark = bytes.len();
    bytes.extend_from_slice(&[0; 4]);
    mark
}
