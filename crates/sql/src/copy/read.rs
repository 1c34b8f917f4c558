//! Records that a client sends.
//!
//! Invariant: all lines end as the first one does.
//!
//! Most lines are plain: they are looked through once for their end and once for their delimiters.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2, memchr3};

use super::split::{Fields, Split};
use super::{Format, Options, SIGNATURE};
use crate::error::{Result, SqlError, SqlState};

/// What lies next in the data.
struct Found {
    /// Where the record lies; `None` where it is none.
    record: Option<Range<usize>>,
    /// Where the next one begins.
    next: usize,
    /// Whether it is a line in which no byte means anything but the delimiter.
    is_plain: bool,
}

/// How far data was looked through without the end of a record.
#[derive(Clone, Copy, Debug, Default)]
struct Looked {
    end: usize,
    is_quoted: bool,
    /// Whether it has bytes that make its line no plain one.
    has_special: bool,
}

/// Longer records are refused.
const RECORD_BYTES_MAX: usize = 1 << 30;

/// How lines end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    Newline,
    CarriageReturnNewline,
    CarriageReturn,
}

impl LineEnd {
    /// The last byte of a line.
    fn last(self) -> u8 {
        if self == LineEnd::CarriageReturn { b'\r' } else { b'\n' }
    }
}

/// Takes data apart.
#[derive(Debug)]
pub(crate) struct Reader {
    options: Options,
    /// The names that the header must have.
    header: Vec<String>,
    /// What has come and is not taken yet.
    pending: Vec<u8>,
    /// How far `pending` was looked through.
    looked: Looked,
    /// How lines end, once one has ended.
    line_end: Option<LineEnd>,
    /// How many records were taken, with the header.
    records: u64,
    /// How many lines of text these had.
    lines: u64,
    is_begun: bool,
    is_ended: bool,
}

impl Reader {
    pub(crate) fn new(options: Options, columns: Vec<String>) -> Reader {
        let (records, lines) = (0, 0);
        let (looked, is_begun, is_ended) = (Looked::default(), false, false);
        Reader {
            options,
            header: columns,
            pending: Vec::new(),
            looked,
            line_end: None,
            records,
            lines,
            is_begun,
            is_ended,
        }
    }

    /// Adds data.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        if !self.is_ended {
            self.pending.extend_from_slice(bytes);
        }
    }

    /// Takes all records that have ended into `split`, each with the number of its last line, or of itself in the binary format;
    /// with `is_last`, what is left is one, too. What was in `split` is forgotten.
    pub(crate) fn split(&mut self, is_last: bool, split: &mut Split) {
        split.clear();
        let mut at = 0;
        let mut result = loop {
            if self.is_ended {
                at = self.pending.len();
                break Ok(());
            }
            let found = match self.options.format {
                Format::Binary => self.tuple(at, is_last),
                Format::Text | Format::Csv => self.line(at, is_last),
            };
            let Found { record, next, is_plain } = match found {
                Ok(Some(found)) => found,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            let taken = &self.pending[at..next];
            at = next;
            self.looked = Looked { end: at, ..Looked::default() };
            let Some(record) = record else { continue };
            self.records += 1;
            self.lines += match is_plain || self.options.format == Format::Binary {
                true => 1,
                false => memchr_iter(b'\n', taken).count() as u64 + u64::from(!taken.ends_with(b"\n")),
            };
            if self.records == 1 && self.options.has_header {
                if self.options.matches_header {
                    let mut header = Split::new();
                    let read = self.fields(record, is_plain, &mut header);
                    header.record(self.lines);
                    header.finish(&mut self.pending[..at].to_vec(), at, read);
                    if let Err(error) = header.each(|_, fields| self.match_header(fields)) {
                        break Err(error);
                    }
                }
                continue;
            }
            if let Err(error) = self.fields(record, is_plain, split) {
                break Err(error);
            }
            split.record(self.lines);
        };
        self.looked.end = self.looked.end.saturating_sub(at);
        if self.pending.len() - at > RECORD_BYTES_MAX && result.is_ok() {
            let message = format!("the record behind line {} is longer than {RECORD_BYTES_MAX} bytes", self.lines);
            result = Err(SqlError::new(SqlState::ProgramLimitExceeded, message));
        }
        split.finish(&mut self.pending, at, result);
    }

    /// Refuses a header whose names are not those of the columns.
    fn match_header(&self, fields: Fields<'_>) -> Result<()> {
        if fields.len() != self.header.len() {
            let (got, expected) = (fields.len(), self.header.len());
            return Err(
                self.in_header(format!("wrong number of fields in header line: got {got}, expected {expected}"))
            );
        }
        for (at, (field, name)) in fields.iter().zip(&self.header).enumerate() {
            let got = match field {
                Some(field) if field == name.as_bytes() => continue,
                Some(field) => format!("got \"{}\"", String::from_utf8_lossy(field)),
                None => format!("got null value (\"{}\")", String::from_utf8_lossy(&self.options.null)),
            };
            let message = format!("column name mismatch in header line field {}: {got}, expected \"{name}\"", at + 1);
            return Err(self.in_header(message));
        }
        Ok(())
    }

    fn in_header(&self, message: String) -> SqlError {
        SqlError::new(SqlState::BadCopyFileFormat, message).with_context(format!("COPY, line {}", self.lines))
    }

    /// The bytes that make a line no plain one. In text the end of lines of other data is one.
    fn special(&self) -> [u8; 2] {
        match (self.options.format, self.line_end) {
            (Format::Csv, _) => [self.options.quote, self.options.escape],
            (_, Some(LineEnd::Newline)) => [b'\\', b'\r'],
            (_, Some(LineEnd::CarriageReturn)) => [b'\\', b'\n'],
            (_, Some(LineEnd::CarriageReturnNewline) | None) => [b'\\'; 2],
        }
    }

    /// The line that begins at `at`.
    fn line(&mut self, at: usize, is_last: bool) -> Result<Option<Found>> {
        let is_csv = self.options.format == Format::Csv;
        let Looked { end, mut is_quoted, mut has_special } = self.looked;
        let mut end = end.max(at);
        let mut next = None;
        let [one, other] = self.special();
        while end < self.pending.len() {
            let left = &self.pending[end..];
            let found = match self.line_end {
                Some(line_end) => memchr3(one, other, line_end.last(), left),
                None => left.iter().position(|byte| [one, other, b'\n', b'\r'].contains(byte)),
            };
            let Some(found) = found else {
                end = self.pending.len();
                break;
            };
            end += found;
            let byte = self.pending[end];
            has_special |= byte == one || byte == other;
            if is_csv && byte == self.options.quote {
                is_quoted = !is_quoted;
            } else if is_csv && is_quoted && byte == self.options.escape && end + 1 < self.pending.len() {
                end += 1;
            } else if !is_csv && byte == b'\\' {
                if end + 1 == self.pending.len() && !is_last {
                    break;
                }
                end += 1;
            } else if matches!(byte, b'\n' | b'\r') && !is_quoted {
                let Some(line_end) = self.line_end.or_else(|| line_end_at(&self.pending[end..], is_last)) else {
                    break;
                };
                self.line_end = Some(line_end);
                if byte == line_end.last() {
                    next = Some(end + 1);
                    break;
                }
            }
            end += 1;
        }
        let next = match next {
            Some(next) => next,
            None if is_last && at < self.pending.len() => {
                if is_quoted {
                    return Err(self.malformed("unterminated CSV quoted field"));
                }
                end = self.pending.len();
                end
            }
            None => {
                self.looked = Looked { end: end.min(self.pending.len()), is_quoted, has_special };
                return Ok(None);
            }
        };
        let line = self.without_return(&self.pending[at..end.min(self.pending.len())], next > end)?;
        if line == b"\\." {
            self.is_ended = true;
            return Ok(Some(Found { record: None, next, is_plain: false }));
        }
        if is_csv || has_special || self.line_end == Some(LineEnd::CarriageReturnNewline) {
            self.refuse_other_ends(line)?;
        }
        Ok(Some(Found { record: Some(at..at + line.len()), next, is_plain: !has_special }))
    }

    /// A line without the carriage return before its newline, where lines end so.
    fn without_return<'l>(&self, line: &'l [u8], has_end: bool) -> Result<&'l [u8]> {
        match line.strip_suffix(b"\r") {
            _ if self.line_end != Some(LineEnd::CarriageReturnNewline) => Ok(line),
            Some(line) => Ok(line),
            None if has_end => Err(self.other_end("newline", "n")),
            None => Ok(line),
        }
    }

    /// Refuses what ends a line in other data and stands within one here.
    fn refuse_other_ends(&self, line: &[u8]) -> Result<()> {
        let is_by_return = self.line_end == Some(LineEnd::CarriageReturn);
        let (other, name, letter) =
            if is_by_return { (b'\n', "newline", "n") } else { (b'\r', "carriage return", "r") };
        if memchr(other, line).is_none() || !self.has_outside(line, other) {
            return Ok(());
        }
        Err(self.other_end(name, letter))
    }

    /// Whether a byte stands in a line without quotes or a backslash before it.
    fn has_outside(&self, line: &[u8], wanted: u8) -> bool {
        let (is_csv, Options { quote, escape, .. }) = (self.options.format == Format::Csv, &self.options);
        let (mut is_quoted, mut at) = (false, 0);
        while let Some(&byte) = line.get(at) {
            if byte == wanted && !is_quoted {
                return true;
            }
            let escapes = if is_csv { is_quoted && byte == *escape && escape != quote } else { byte == b'\\' };
            is_quoted ^= is_csv && byte == *quote;
            at += if escapes { 2 } else { 1 };
        }
        false
    }

    fn other_end(&self, name: &str, letter: &str) -> SqlError {
        match self.options.format {
            Format::Csv => self
                .malformed(&format!("unquoted {name} found in data"))
                .with_hint(format!("Use quoted CSV field to represent {name}.")),
            _ => self
                .malformed(&format!("literal {name} found in data"))
                .with_hint(format!("Use \"\\{letter}\" to represent {name}.")),
        }
    }

    /// Takes a record apart.
    fn fields(&self, record: Range<usize>, is_plain: bool, split: &mut Split) -> Result<()> {
        match self.options.format {
            Format::Text | Format::Csv if is_plain => self.plain_fields(record, split),
            Format::Text => self.text_fields(record, split),
            Format::Csv => return self.csv_fields(record, split),
            Format::Binary => tuple_fields(&self.pending, record, split),
        }
        Ok(())
    }

    /// Adds a field that has neither escapes nor quotes.
    fn plain_field(&self, range: Range<usize>, split: &mut Split) {
        match self.pending[range.clone()] == *self.options.null {
            true => split.null(),
            false => split.field(range),
        }
    }

    fn plain_fields(&self, line: Range<usize>, split: &mut Split) {
        let mut at = line.start;
        for end in memchr_iter(self.options.delimiter, &self.pending[line.clone()]) {
            self.plain_field(at..line.start + end, split);
            at = line.start + end + 1;
        }
        self.plain_field(at..line.end, split);
    }

    fn text_fields(&self, line: Range<usize>, split: &mut Split) {
        let mut at = line.start;
        loop {
            let mut end = at;
            while end < line.end {
                let left = &self.pending[end..line.end];
                end += memchr2(self.options.delimiter, b'\\', left).unwrap_or(left.len());
                if end >= line.end || self.pending[end] != b'\\' {
                    break;
                }
                end += 2;
            }
            let range = at..end.min(line.end);
            let raw = &self.pending[range.clone()];
            match memchr(b'\\', raw).is_none() || *raw == *self.options.null {
                true => self.plain_field(range, split),
                false => split.unescaped(|out| unescape(raw, out)),
            }
            if end >= line.end {
                return;
            }
            at = end + 1;
        }
    }

    fn csv_fields(&self, record: Range<usize>, split: &mut Split) -> Result<()> {
        let Options { delimiter, quote, escape, .. } = self.options;
        let line = &self.pending[..record.end];
        let (mut begin, mut at) = (record.start, record.start);
        // What a field with quotes is, as far as it was read.
        let mut unquoted: Option<Vec<u8>> = None;
        let mut is_quoted = false;
        loop {
            let plain = memchr3(delimiter, quote, escape, &line[at..]).unwrap_or(line.len() - at);
            unquoted.iter_mut().for_each(|field| field.extend_from_slice(&line[at..at + plain]));
            at += plain;
            let byte = line.get(at).copied();
            let is_escape = is_quoted && byte == Some(escape);
            if is_escape && line.get(at + 1).is_some_and(|next| *next == quote || *next == escape) {
                unquoted.iter_mut().for_each(|field| field.push(line[at + 1]));
                at += 1;
            } else if byte == Some(quote) {
                is_quoted = !is_quoted;
                unquoted.get_or_insert_with(|| line[begin..at].to_vec());
            } else if byte.is_none() || byte == Some(delimiter) && !is_quoted {
                match unquoted.take() {
                    Some(field) => split.unescaped(|out| out.extend_from_slice(&field)),
                    None => self.plain_field(begin..at, split),
                }
                begin = at + 1;
            } else {
                unquoted.iter_mut().for_each(|field| field.extend(byte));
            }
            if byte.is_none() {
                break;
            }
            at += 1;
        }
        if is_quoted { Err(self.malformed("unterminated CSV quoted field")) } else { Ok(()) }
    }

    /// The tuple of the binary format that begins at `at`.
    fn tuple(&mut self, mut at: usize, is_last: bool) -> Result<Option<Found>> {
        let found = |record, next| Ok(Some(Found { record, next, is_plain: false }));
        let bytes = &self.pending;
        let int = |at: usize| Some(i32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        if !self.is_begun {
            if let Some(start) = bytes.get(..SIGNATURE.len())
                && start != SIGNATURE
            {
                return Err(self.malformed("COPY file signature not recognized"));
            }
            let Some(extension) = int(SIGNATURE.len() + 4) else { return self.missing(is_last) };
            let begin = SIGNATURE.len() + 8 + usize::try_from(extension).unwrap_or(0);
            if bytes.len() < begin {
                return self.missing(is_last);
            }
            self.is_begun = true;
            return found(None, begin);
        }
        let Some(count) = bytes.get(at..at + 2) else { return self.missing(is_last) };
        let count = i16::from_be_bytes([count[0], count[1]]);
        if count == -1 {
            self.is_ended = true;
            return found(None, at + 2);
        }
        at += 2;
        let begin = at;
        for _ in 0..count {
            let Some(length) = int(at) else { return self.missing(is_last) };
            at += 4;
            if length == -1 {
                continue;
            }
            let Ok(length) = usize::try_from(length) else { return Err(self.malformed("invalid field size")) };
            at += length;
            if at > bytes.len() {
                return self.missing(is_last);
            }
        }
        found(Some(begin..at), at)
    }

    /// A record has not ended.
    fn missing<T>(&self, is_last: bool) -> Result<Option<T>> {
        if is_last { Err(self.malformed("unexpected EOF in COPY data")) } else { Ok(None) }
    }

    fn malformed(&self, what: &str) -> SqlError {
        SqlError::new(SqlState::BadCopyFileFormat, what).with_context(format!("COPY, line {}", self.lines + 1))
    }
}

/// Takes a tuple of the binary format apart, which is whole.
fn tuple_fields(data: &[u8], tuple: Range<usize>, split: &mut Split) {
    let mut at = tuple.start;
    while let Some((length, _)) = data[at..tuple.end].split_first_chunk() {
        at += length.len();
        match usize::try_from(i32::from_be_bytes(*length)) {
            Ok(length) => {
                split.field(at..at + length);
                at += length;
            }
            Err(_) => split.null(),
        }
    }
}

/// How the line ends whose end begins here; `None`: more has to come.
fn line_end_at(bytes: &[u8], is_last: bool) -> Option<LineEnd> {
    match bytes {
        [b'\n', ..] => Some(LineEnd::Newline),
        [_, b'\n', ..] => Some(LineEnd::CarriageReturnNewline),
        [_] if !is_last => None,
        _ => Some(LineEnd::CarriageReturn),
    }
}

/// Writes a field of the text format without its backslashes.
fn unescape(raw: &[u8], out: &mut Vec<u8>) {
    let mut bytes = raw.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some(escaped) = bytes.next() else { break };
        out.push(match escaped {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'x' if bytes.peek().is_some_and(u8::is_ascii_hexdigit) => digits(&mut bytes, 16, 0),
            b'0'..=b'7' => digits(&mut bytes, 8, u32::from(escaped - b'0')),
            other => other,
        });
    }
}

/// A byte that up to two more digits say.
fn digits(bytes: &mut std::iter::Peekable<impl Iterator<Item = u8>>, base: u32, first: u32) -> u8 {
    let mut value = first;
    for _ in 0..2 {
        let Some(digit) = bytes.peek().and_then(|byte| char::from(*byte).to_digit(base)) else { break };
        bytes.next();
        value = value * base + digit;
    }
    (value & 0xff) as u8
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
