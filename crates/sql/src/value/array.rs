//! Arrays and rows as text: `{1,NULL,"a b"}` and `(1,,"a b")`.
//!
//! Invariant: an element in quotes is never NULL, and one without quotes is NULL where it is the word.
//!
//! Absent: arrays of more than one dimension, arrays whose first element has another number than 1, and rows that are read.

use std::sync::Arc;

use super::text::{is_blank, parse as parse_value, push_text};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::record::Record;
use crate::run::datum_bytes;
use crate::settings::Settings;
use crate::types::{Declared, Type};

/// The most memory that elements may take which are read from a text.
const BYTES_MAX: usize = 256 << 20;

/// What is read of an array.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    #[cold]
    fn malformed(&self, detail: &str) -> SqlError {
        let message = format!("malformed array literal: \"{}\"", self.text);
        SqlError::new(SqlState::InvalidTextRepresentation, message).with_detail(detail)
    }

    #[cold]
    fn unexpected(&self, byte: u8) -> SqlError {
        self.malformed(&format!("Unexpected \"{}\" character.", byte as char))
    }

    #[cold]
    fn unexpected_end(&self) -> SqlError {
        self.malformed("Unexpected end of input.")
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    /// Skips `[1:n]=`, which may stand before the elements, and returns `n`.
    fn dimension(&mut self) -> Result<Option<usize>> {
        self.skip_blanks();
        if self.peek() != Some(b'[') {
            return Ok(None);
        }
        let rest = &self.text[self.at..];
        let parsed = rest[1..].split_once("]=").and_then(|(range, _)| {
            let (from, to) = range.split_once(':')?;
            Some((from.parse::<i32>().ok()?, to.parse::<i32>().ok()?, range.len() + "[]=".len()))
        });
        let Some((from, to, length)) = parsed else {
            let is_nested = rest.contains("][");
            return Err(if is_nested { dimensions() } else { self.malformed("Missing array dimension value.") });
        };
        if from != 1 {
            return Err(SqlError::unsupported("an array whose first element has another number than 1"));
        }
        self.at += length;
        self.skip_blanks();
        Ok(usize::try_from(to).ok())
    }

    /// Reads an element in quotes, behind the first quote.
    fn quoted(&mut self) -> Result<String> {
        let mut element = String::new();
        loop {
            let rest = &self.text[self.at..];
            let length = rest.find(['"', '\\']).ok_or_else(|| self.unexpected_end())?;
            element.push_str(&rest[..length]);
            self.at += length + 1;
            if rest.as_bytes()[length] == b'"' {
                break;
            }
            element.push(self.escaped()?);
        }
        self.skip_blanks();
        match self.peek() {
            Some(b',' | b'}') => Ok(element),
            None => Err(self.unexpected_end()),
            Some(_) => Err(self.malformed("Unexpected array element.")),
        }
    }

    /// Returns the character behind a backslash.
    fn escaped(&mut self) -> Result<char> {
        let escaped = self.text[self.at..].chars().next().ok_or_else(|| self.unexpected_end())?;
        self.at += escaped.len_utf8();
        Ok(escaped)
    }

    /// Reads an element without quotes; `None` is NULL.
    fn unquoted(&mut self) -> Result<Option<String>> {
        let mut element = String::new();
        // Blanks at the end do not count, unless a backslash stands before them.
        let mut kept = 0;
        let mut has_escape = false;
        loop {
            match self.peek() {
                None => return Err(self.unexpected_end()),
                Some(b',' | b'}') => break,
                Some(b'"') => return Err(self.malformed("Unexpected array element.")),
                Some(b'{') => return Err(self.unexpected(b'{')),
                Some(b'\\') => {
                    self.at += 1;
                    element.push(self.escaped()?);
                    kept = element.len();
                    has_escape = true;
                }
                Some(byte) => {
                    element.push(self.escaped()?);
                    kept = if is_blank(byte) { kept } else { element.len() };
                }
            }
        }
        element.truncate(kept);
        let is_null = !has_escape && element.eq_ignore_ascii_case("null");
        Ok((!is_null).then_some(element))
    }
}

fn dimensions() -> SqlError {
    SqlError::unsupported("an array of more than one dimension")
}

/// Reads an array whose elements are `declared` so.
///
/// # Errors
/// Text that is no array, and elements that are no values of their type.
pub fn parse(text: &str, declared: Declared, settings: &Settings) -> Result<Arc<[Datum]>> {
    let mut reader = Reader { text, at: 0 };
    let expected = reader.dimension()?;
    if reader.peek() != Some(b'{') {
        return Err(reader.malformed("Array value must start with \"{\" or dimension information."));
    }
    reader.at += 1;
    let (mut elements, mut bytes) = (Vec::new(), 0);
    loop {
        reader.skip_blanks();
        let element = match reader.peek() {
            None => return Err(reader.unexpected_end()),
            Some(b'}') if elements.is_empty() => {
                reader.at += 1;
                break;
            }
            Some(b'{') if elements.is_empty() => return Err(dimensions()),
            Some(b'{') => return Err(reader.malformed("Unexpected array element.")),
            Some(byte @ (b'}' | b',')) => return Err(reader.unexpected(byte)),
            Some(b'"') => {
                reader.at += 1;
                Some(reader.quoted()?)
            }
            Some(_) => reader.unquoted()?,
        };
        elements.push(element.map_or(Ok(Datum::Null), |element| parse_value(&element, declared, settings))?);
        bytes += elements.last().map_or(0, datum_bytes);
        if bytes > BYTES_MAX {
            let message = format!("array size exceeds the maximum allowed ({BYTES_MAX} bytes)");
            return Err(SqlError::new(SqlState::ProgramLimitExceeded, message));
        }
        let end = reader.peek();
        reader.at += 1;
        if end == Some(b'}') {
            break;
        }
    }

    reader.skip_blanks();
    if reader.peek().is_some() {
        return Err(reader.malformed("Junk after closing right brace."));
    }
    if expected.is_some_and(|expected| expected != elements.len()) {
        return Err(reader.malformed("Specified array dimensions do not match array contents."));
    }
    Ok(elements.into())
}

/// Appends what stands behind `from` in quotes, where `needs_quotes` says so; backslashes before what would end the quotes.
fn quote_tail(out: &mut Vec<u8>, from: usize, needs_quotes: bool, quote: impl Fn(u8, &mut Vec<u8>)) {
    if !needs_quotes {
        return;
    }
    let plain = out.split_off(from);
    out.push(b'"');
    plain.into_iter().for_each(|byte| quote(byte, out));
    out.push(b'"');
}

/// Appends an array whose elements are `declared` so.
pub fn push(elements: &[Datum], declared: Declared, settings: &Settings, out: &mut Vec<u8>) {
    out.push(b'{');
    for (at, element) in elements.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if element.is_null() {
            out.extend_from_slice(b"NULL");
            continue;
        }
        let from = out.len();
        push_text(element, declared, settings, out);
        let text = &out[from..];
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | b'{' | b'}' | b',') || is_blank(*byte);
        let needs_quotes = text.is_empty() || text.eq_ignore_ascii_case(b"null") || text.iter().any(is_special);
        quote_tail(out, from, needs_quotes, |byte, out| {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(byte);
        });
    }
    out.push(b'}');
}

/// Returns the type that a field of a row is shown as, where its row does not know it.
pub(crate) fn field_type(field: &Datum) -> Type {
    match field {
        Datum::Bool(_) => Type::Bool,
        Datum::Int(_) => Type::Int8,
        Datum::Float(_) => Type::Float8,
        Datum::Numeric(_) => Type::Numeric,
        Datum::Null | Datum::Text(_) | Datum::Enum(_) => Type::Text,
        Datum::Bytes(_) => Type::Bytea,
        Datum::Date(_) => Type::Date,
        Datum::Time(_) => Type::Time,
        Datum::Timestamp(_) => Type::Timestamp,
        Datum::Interval(_) => Type::Interval,
        Datum::Uuid(_) => Type::Uuid,
        Datum::Network(_) => Type::Inet,
        Datum::MacAddr(_) => Type::MacAddr,
        Datum::Jsonb(_) => Type::Jsonb,
        Datum::Record(_) => Type::Record,
        Datum::Array(elements) => {
            let first = elements.iter().find(|element| !element.is_null());
            first.and_then(|first| field_type(first).array()).unwrap_or(Type::Array(&Type::Text))
        }
    }
}

/// Appends a row.
pub(super) fn push_record(record: &Record, settings: &Settings, out: &mut Vec<u8>) {
    out.push(b'(');
    for (at, field) in record.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if field.is_null() {
            continue;
        }
        let from = out.len();
        push_text(field, record.declared(at).unwrap_or_else(|| field_type(field).into()), settings, out);
        let text = &out[from..];
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | b'(' | b')' | b',') || is_blank(*byte);
        let needs_quotes = text.is_empty() || text.iter().any(is_special);
        quote_tail(out, from, needs_quotes, |byte, out| {
            if matches!(byte, b'"' | b'\\') {
                out.push(byte);
            }
            out.push(byte);
        });
    }
    out.push(b')');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text: &str, element: Type) -> String {
        let settings = Settings::default();
        let elements = parse(text, element.into(), &settings).unwrap();
        let mut out = Vec::new();
        push(&elements, element.into(), &settings, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn arrays_are_read_and_shown() {
        assert_eq!(again("{1, NULL ,3}", Type::Int4), "{1,NULL,3}");
        assert_eq!(again(" { } ", Type::Int4), "{}");
        assert_eq!(again("[1:2]={1,2}", Type::Int4), "{1,2}");
        let text = r#"{"a b", NULL, "NULL", null, "", x\,y, a b , c\ }"#;
        assert_eq!(again(text, Type::Text), r#"{"a b",NULL,"NULL",NULL,"","x,y","a b","c "}"#);
        assert_eq!(again(r#"{"a\"b\\c","{é}"}"#, Type::Text), r#"{"a\"b\\c","{é}"}"#);
    }

    #[test]
    fn what_is_no_array_is_refused() {
        let cases = [
            ("{1,2", "Unexpected end of input."),
            ("1", "Array value must start with \"{\" or dimension information."),
            ("", "Array value must start with \"{\" or dimension information."),
            ("{1,,2}", "Unexpected \",\" character."),
            ("{1,}", "Unexpected \"}\" character."),
            ("{,1}", "Unexpected \",\" character."),
            ("{1} x", "Junk after closing right brace."),
            ("{}}", "Junk after closing right brace."),
            ("{\"a\"b}", "Unexpected array element."),
            ("{a\"b\"}", "Unexpected array element."),
            ("{\"", "Unexpected end of input."),
            ("{abc", "Unexpected end of input."),
            ("{a\\", "Unexpected end of input."),
        ];
        for (text, detail) in cases {
            let error = parse(text, Type::Text.into(), &Settings::default()).unwrap_err();
            assert_eq!(error.message, format!("malformed array literal: \"{text}\""));
            assert_eq!(error.detail(), Some(detail), "{text}");
        }
        let state = |text| parse(text, Type::Int4.into(), &Settings::default()).unwrap_err().state;
        assert_eq!(state("{{1,2},{3,4}}"), SqlState::FeatureNotSupported);
        assert_eq!(state("[0:1]={1,2}"), SqlState::FeatureNotSupported);
        assert_eq!(state("[1:3]={1,2}"), SqlState::InvalidTextRepresentation);
    }

    #[test]
    fn rows_are_shown_as_postgresql_does() {
        let fields = [
            Datum::Int(1),
            Datum::text("a b"),
            Datum::Null,
            Datum::text(""),
            Datum::Bool(true),
            Datum::text("x\"y\\z"),
            Datum::Array([Datum::Int(1), Datum::Int(2)].into()),
        ];
        let mut out = Vec::new();
        push_record(&fields.to_vec().into(), &Settings::default(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), r#"(1,"a b",,"",t,"x""y\\z","{1,2}")"#);
    }
}
