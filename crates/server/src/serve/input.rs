//! The bytes that came from a client and are not answered yet.
//!
//! Invariants:
//! - A length is checked as soon as it is there; memory is taken as the bytes come.
//! - While nothing waits in it, it keeps no more than a small buffer.

use bytes::{Buf, Bytes, BytesMut};
use osier_sql::{SqlError, SqlState};

use super::message::{Request, violation};

/// Read at a time, where little is to come.
const READ_BYTES: usize = 4 * 1024;
/// Read at a time, within a large message.
const READ_BYTES_MAX: usize = 64 * 1024;
/// The kind of a message and its length.
const HEADER_BYTES: usize = 5;

/// Bytes of a client.
#[derive(Debug)]
pub struct Input {
    /// What was read.
    pub bytes: BytesMut,
    /// The longest message that is taken.
    message_bytes_max: usize,
}

impl Input {
    /// Begins with bytes that were read already.
    pub fn new(bytes: BytesMut, message_bytes_max: usize) -> Input {
        Input { bytes, message_bytes_max }
    }

    /// Sets the length of the longest message that is taken.
    pub fn set_message_bytes_max(&mut self, message_bytes_max: usize) {
        self.message_bytes_max = message_bytes_max;
    }

    /// Returns the length of the message that comes next, with its kind, as soon as that is known.
    ///
    /// # Errors
    /// A kind that does not exist, or a length that is not allowed. The connection cannot go on.
    fn length(&self) -> Result<Option<usize>, SqlError> {
        let Some(kind) = self.bytes.first() else { return Ok(None) };
        if !Request::is_kind(*kind) {
            return Err(violation(format!("invalid frontend message type {kind}")));
        }
        let Some(length) = self.bytes.get(1..HEADER_BYTES) else { return Ok(None) };
        let length = (&mut &length[..]).get_u32() as usize;
        if length < 4 {
            return Err(violation("invalid message length"));
        }
        if length > self.message_bytes_max {
            let message = format!("a message of {length} bytes is longer than the limit of {}", self.message_bytes_max);
            let hint = "Send less at a time, or raise --message-bytes-max of osier serve.";
            return Err(SqlError::new(SqlState::ProgramLimitExceeded, message).with_hint(hint));
        }
        Ok(Some(length + 1))
    }

    /// Takes the next message, if all of it is there.
    ///
    /// # Errors
    /// As those of [`Input::length`].
    pub fn next(&mut self) -> Result<Option<(u8, Bytes)>, SqlError> {
        match self.length()? {
            Some(length) if length <= self.bytes.len() => {
                let mut message = self.bytes.split_to(length);
                let kind = message[0];
                message.advance(HEADER_BYTES);
                Ok(Some((kind, message.freeze())))
            }
            _ => Ok(None),
        }
    }

    /// Whether the next message is there and has that kind.
    pub fn is_next(&self, kind: u8) -> bool {
        self.bytes.len() >= HEADER_BYTES && self.bytes[0] == kind
    }

    /// Makes room for the next read.
    pub fn reserve(&mut self) {
        let missing = match self.length() {
            Ok(Some(length)) => length.saturating_sub(self.bytes.len()),
            _ => 0,
        };
        if self.bytes.is_empty() && self.bytes.capacity() > READ_BYTES {
            self.bytes = BytesMut::new();
        }
        if self.bytes.capacity() - self.bytes.len() < READ_BYTES / 4 {
            self.bytes.reserve(missing.clamp(READ_BYTES, READ_BYTES_MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_takes_no_memory() {
        let mut input = Input::new(BytesMut::from(&b"Q\x0f\xff\xff\xffSELECT"[..]), 0x3fff_ffff);
        assert!(input.next().unwrap().is_none());
        input.reserve();
        assert!(input.bytes.capacity() <= 2 * READ_BYTES_MAX);
        input.set_message_bytes_max(1000);
        assert_eq!(input.next().unwrap_err().code(), "54000");
        assert_eq!(Input::new(BytesMut::from(&b"Q\0\0\0\x03"[..]), 99).next().unwrap_err().code(), "08P01");
        assert_eq!(Input::new(BytesMut::from(&b"\0"[..]), 99).next().unwrap_err().code(), "08P01");
    }
}
