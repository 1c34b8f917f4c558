//! The first packet of a connection: it has a length and a number, and no kind.
//!
//! Invariants:
//! - A length outside of the limits is refused before anything is read for it: what is not this protocol ends here.
//! - Names and values are UTF-8.

use std::collections::BTreeMap;

use bytes::{Buf, Bytes, BytesMut};
use osier_sql::{SqlError, SqlState};

use super::message::{Fields, violation};

/// The longest packet, as PostgreSQL has it.
const BYTES_MAX: usize = 10_000;
const CANCEL: u32 = 80_877_102;
const TLS: u32 = 80_877_103;
const GSS: u32 = 80_877_104;
/// The longest secret of a request to cancel.
const SECRET_BYTES_MAX: usize = 256;

/// What a client wishes that begins a session.
#[derive(Debug, Default)]
pub struct Startup {
    /// The minor number of the protocol's version 3.
    pub minor: u16,
    /// What it says of itself and what it sets.
    pub parameters: BTreeMap<String, String>,
}

impl Startup {
    /// Returns the user.
    pub fn user(&self) -> &str {
        self.parameters.get("user").map_or("", String::as_str)
    }
}

/// A first packet.
#[derive(Debug)]
pub enum Packet {
    /// Asks for TLS.
    Tls,
    /// Asks for the encryption of GSSAPI.
    Gss,
    /// Cancels a statement of another connection.
    Cancel {
        /// The connection's number.
        number: i32,
        /// Its secret.
        secret: Bytes,
    },
    /// Begins a session.
    Startup(Startup),
}

impl Packet {
    /// Takes the first packet, if all of it is there.
    ///
    /// # Errors
    /// What is no first packet, or of another version of the protocol.
    pub fn take(bytes: &mut BytesMut) -> Result<Option<Packet>, SqlError> {
        let Some(length) = bytes.get(..4) else { return Ok(None) };
        let length = (&mut &length[..]).get_u32() as usize;
        if !(8..=BYTES_MAX).contains(&length) {
            return Err(violation("invalid length of startup packet"));
        }
        if bytes.len() < length {
            return Ok(None);
        }
        let mut fields = Fields(bytes.split_to(length).freeze());
        fields.u32()?;
        let packet = match fields.u32()? {
            TLS => Packet::Tls,
            GSS => Packet::Gss,
            CANCEL => Packet::cancel(fields)?,
            version => Packet::startup(version, fields)?,
        };
        Ok(Some(packet))
    }

    fn cancel(mut fields: Fields) -> Result<Packet, SqlError> {
        let number = fields.u32()? as i32;
        let secret = fields.rest();
        if secret.is_empty() || secret.len() > SECRET_BYTES_MAX {
            return Err(violation("invalid length of cancel request packet"));
        }
        Ok(Packet::Cancel { number, secret })
    }

    fn startup(version: u32, mut fields: Fields) -> Result<Packet, SqlError> {
        let (major, minor) = ((version >> 16) as u16, version as u16);
        if major != 3 {
            let message = format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.2");
            return Err(SqlError::new(SqlState::FeatureNotSupported, message));
        }
        let mut parameters = BTreeMap::new();
        loop {
            let name = fields.text()?;
            if name.is_empty() {
                break;
            }
            parameters.insert(name, fields.text()?);
        }
        if !fields.0.is_empty() {
            return Err(violation("invalid startup packet layout: expected terminator as last byte"));
        }
        let startup = Startup { minor, parameters };
        if startup.user().is_empty() {
            let message = "no PostgreSQL user name specified in startup packet";
            return Err(SqlError::new(SqlState::InvalidPassword, message).with_code("28000"));
        }
        Ok(Packet::Startup(startup))
    }
}

/// Splits the words of parameter `options`, in which a backslash keeps the character behind it.
fn words(options: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut characters = options.chars();
    while let Some(character) = characters.next() {
        let word = words.last_mut().expect("there is always a word");
        match character {
            '\\' => word.extend(characters.next()),
            character if character.is_ascii_whitespace() => words.push(String::new()),
            character => word.push(character),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Reads the settings of parameter `options`: `-c name=value`, `-cname=value` and `--name=value`.
///
/// # Errors
/// Anything else.
pub fn settings_of_options(options: &str) -> Result<Vec<(String, String)>, SqlError> {
    let mut settings = Vec::new();
    let mut words = words(options).into_iter();
    while let Some(word) = words.next() {
        let setting = match (word.strip_prefix("-c"), word.strip_prefix("--")) {
            (Some(""), _) => words.next(),
            (Some(setting), _) | (None, Some(setting)) => Some(setting.to_owned()),
            (None, None) => None,
        };
        let setting = setting.as_deref().and_then(|setting| setting.split_once('='));
        let Some((name, value)) = setting else {
            let message = format!("invalid command-line argument for server process: {word}");
            return Err(SqlError::new(SqlState::SyntaxError, message).with_hint("Use -c name=value."));
        };
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(bytes: &[u8]) -> Result<Option<Packet>, SqlError> {
        Packet::take(&mut BytesMut::from(bytes))
    }

    #[test]
    fn what_is_no_first_packet_is_refused() {
        for garbage in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            b"\0\0\0\0\0\0\0\0",
            b"\0\0\0\x07",
            b"\xff\xff\xff\xff",
            b"\x16\x03\x01\x02",
        ] {
            assert_eq!(take(garbage).unwrap_err().code(), "08P01", "{garbage:?}");
        }
        assert_eq!(take(b"\0\0\0\x09\0\x02\0\0\0").unwrap_err().code(), "0A000");
        assert_eq!(take(b"\0\0\0\x09\0\x03\0\0\0").unwrap_err().code(), "28000");
        assert_eq!(take(b"\0\0\0\x0d\0\x03\0\0user\0").unwrap_err().code(), "08P01");
        assert!(take(b"\0\0\0\x0d\0\x03").unwrap().is_none());
        assert!(matches!(take(b"\0\0\0\x08\x04\xd2\x16\x2f"), Ok(Some(Packet::Tls))));
    }

    #[test]
    fn options_are_settings() {
        let settings = settings_of_options(r"-c search_path=a\ b  --time-zone=UTC -cx=1").unwrap();
        let pairs: Vec<_> = settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("search_path", "a b"), ("time_zone", "UTC"), ("x", "1")]);
        assert!(settings_of_options("-c").is_err() && settings_of_options("-x 3").is_err());
    }
}
