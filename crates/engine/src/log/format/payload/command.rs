//! The payload of a transaction that logs how it was called, in place of what it wrote: a stored procedure, its arguments, and
//! what it drew that another run would draw otherwise.
//!
//! Invariants:
//! - Of each command there is one encoding: [`check`] refuses every other one.
//! - What [`check`] accepts can be read: [`CommandReader::command`] cannot fail.
//!
//! Absent: what a procedure is, and how it is run again (recovery/ordered/).

use std::borrow::Cow;
use std::fmt;

use super::PayloadError;
use crate::ids::{ProcedureId, ProcedureVersion};
use crate::log::format::varint::{put_varint, split_varint, unzigzag, varint_len, zigzag};
use crate::table::{Argument, Arguments, Value};

const TIME: u8 = 1;
const SEED: u8 = 1 << 1;
const SEQUENCES: u8 = 1 << 2;
const HASH: u8 = 1 << 3;

const NULL: u8 = 0;
/// Of arrays whose elements are all truth values, too.
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INT: u8 = 3;
const FLOAT: u8 = 4;
const NUMERIC: u8 = 5;
const TEXT: u8 = 6;
const BYTES: u8 = 7;
const TIMESTAMP: u8 = 8;
/// An array whose elements have the kind in the high bits of its tag.
const ALIKE: u8 = 9;
/// Any other array: its elements have tags.
const MIXED: u8 = 10;
/// The bits of the kind in a tag.
const KIND_BITS: u32 = 4;

/// A transaction as it was called.
#[derive(Clone, Debug, PartialEq)]
pub struct Command<'a> {
    /// The stored procedure.
    pub procedure: ProcedureId,
    /// Its definition.
    pub version: ProcedureVersion,
    /// What it was told of the time of day, in microseconds since 1970.
    pub time: Option<i64>,
    /// What its random numbers came from.
    pub seed: Option<u64>,
    /// What it drew from sequences, in the order in which it did.
    pub sequence_values: Cow<'a, [i64]>,
    /// The hash of what it wrote.
    pub hash: Option<WriteHash<'a>>,
    /// The arguments.
    pub arguments: Arguments<'a>,
}

/// What tells whether a transaction that is run again writes the same rows (docs/log-format.md).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteHash<'a> {
    /// Of all rows.
    pub all: u32,
    /// A byte of each row, in the order of tables and keys; empty where there are more than [`WriteHash::ROWS_MAX`].
    pub rows: Cow<'a, [u8]>,
}

impl WriteHash<'_> {
    /// Of more rows there is no byte for each.
    pub const ROWS_MAX: usize = u8::MAX as usize;
}

impl Command<'_> {
    /// Returns how many bytes it takes.
    pub fn encoded_len(&self) -> usize {
        let mut length = Length(0);
        self.put(&mut length);
        length.0
    }

    /// Writes it to the start of `buffer`, and returns how many bytes it took. The number of arguments goes into the header of
    /// the record.
    pub fn encode(&self, buffer: &mut [u8]) -> usize {
        let mut writer = Writer { buffer, position: 0 };
        self.put(&mut writer);
        writer.position
    }

    fn flags(&self) -> u8 {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        flag(self.time.is_some(), TIME)
            | flag(self.seed.is_some(), SEED)
            | flag(!self.sequence_values.is_empty(), SEQUENCES)
            | flag(self.hash.is_some(), HASH)
    }

    fn put(&self, sink: &mut impl Sink) {
        sink.number(self.procedure.0.into());
        sink.number(self.version.0.into());
        sink.bytes(&[self.flags()]);
        self.time.iter().for_each(|time| sink.bytes(&time.to_le_bytes()));
        self.seed.iter().for_each(|seed| sink.bytes(&seed.to_le_bytes()));
        if !self.sequence_values.is_empty() {
            sink.number(self.sequence_values.len() as u64);
            let mut before = 0_i64;
            for value in self.sequence_values.iter() {
                sink.number(zigzag(value.wrapping_sub(before)));
                before = *value;
            }
        }
        if let Some(WriteHash { all, rows }) = &self.hash {
            sink.bytes(&all.to_le_bytes());
            sink.bytes(&[u8::try_from(rows.len()).expect("of many rows there are no bytes")]);
            sink.bytes(rows);
        }
        self.arguments.iter().for_each(|argument| put_argument(sink, argument));
    }
}

/// Shows it as a call, with what it drew.
impl fmt::Display for Command<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Command { procedure, version, time, seed, sequence_values, hash, arguments } = self;
        write!(f, "procedure {procedure} version {version} ({})", Listed(arguments))?;
        if let Some(time) = time {
            write!(f, ", time {time}")?;
        }
        if let Some(seed) = seed {
            write!(f, ", seed {seed:016x}")?;
        }
        if !sequence_values.is_empty() {
            write!(f, ", drew {}", Listed(sequence_values))?;
        }
        if let Some(hash) = hash {
            write!(f, ", {hash}")?;
        }
        Ok(())
    }
}

impl fmt::Display for WriteHash<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hash {:08x} of ", self.all)?;
        match self.rows.len() {
            0 => write!(f, "more than {} rows", WriteHash::ROWS_MAX),
            1 => write!(f, "1 row"),
            rows => write!(f, "{rows} rows"),
        }
    }
}

/// Items with commas between them.
pub(crate) struct Listed<'l, T>(pub(crate) &'l [T]);

impl<T: fmt::Display> fmt::Display for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if at > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// Where encoded bytes go, or only their number.
trait Sink {
    fn number(&mut self, value: u64);
    fn bytes(&mut self, bytes: &[u8]);
}

struct Length(usize);

impl Sink for Length {
    fn number(&mut self, value: u64) {
        self.0 += varint_len(value);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

struct Writer<'b> {
    buffer: &'b mut [u8],
    position: usize,
}

impl Sink for Writer<'_> {
    fn number(&mut self, value: u64) {
        self.position += put_varint(&mut self.buffer[self.position..], value);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.buffer[self.position..self.position + bytes.len()].copy_from_slice(bytes);
        self.position += bytes.len();
    }
}

/// The tag of a value.
fn tag_of(value: Value<'_>) -> u8 {
    match value {
        Value::Null => NULL,
        Value::Bool(false) => FALSE,
        Value::Bool(true) => TRUE,
        Value::Int(_) => INT,
        Value::Float(_) => FLOAT,
        Value::Numeric(_) => NUMERIC,
        Value::Text(_) => TEXT,
        Value::Bytes(_) => BYTES,
        Value::Timestamp(_) => TIMESTAMP,
    }
}

/// The kind that an element has in an array whose elements are alike; `None`: it has none in any.
fn element_kind(value: Value<'_>) -> Option<u8> {
    match tag_of(value) {
        NULL => None,
        TRUE => Some(FALSE),
        tag => Some(tag),
    }
}

/// The kind of all elements, if they have one in common.
fn common_kind(elements: &[Value<'_>]) -> Option<u8> {
    let kind = element_kind(*elements.first()?)?;
    elements.iter().all(|element| element_kind(*element) == Some(kind)).then_some(kind)
}

fn put_argument(sink: &mut impl Sink, argument: &Argument<'_>) {
    let elements = match argument {
        Argument::Scalar(value) => {
            sink.bytes(&[tag_of(*value)]);
            return put_content(sink, *value);
        }
        Argument::Array(elements) => elements,
    };
    match common_kind(elements) {
        Some(kind) => {
            sink.bytes(&[kind << KIND_BITS | ALIKE]);
            sink.number(elements.len() as u64);
            for element in elements.iter() {
                match element {
                    Value::Bool(is_true) => sink.bytes(&[u8::from(*is_true)]),
                    element => put_content(sink, *element),
                }
            }
        }
        None => {
            sink.bytes(&[MIXED]);
            sink.number(elements.len() as u64);
            for element in elements.iter() {
                sink.bytes(&[tag_of(*element)]);
                put_content(sink, *element);
            }
        }
    }
}

/// What follows the tag of a value.
fn put_content(sink: &mut impl Sink, value: Value<'_>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Int(number) | Value::Numeric(number) | Value::Timestamp(number) => sink.number(zigzag(number)),
        Value::Float(float) => sink.bytes(&float.to_le_bytes()),
        Value::Text(text) => put_string(sink, text.as_bytes()),
        Value::Bytes(bytes) => put_string(sink, bytes),
    }
}

fn put_string(sink: &mut impl Sink, bytes: &[u8]) {
    sink.number(bytes.len() as u64);
    sink.bytes(bytes);
}

/// Checks that `bytes` begin with a command with so many arguments, and returns how many of them it takes.
pub(in crate::log::format) fn check(bytes: &[u8], arguments: u32) -> Result<usize, PayloadError> {
    let mut input = Input { rest: bytes };
    input.command(arguments)?;
    Ok(bytes.len() - input.rest.len())
}

/// A command in checked bytes.
#[derive(Clone, Copy)]
pub struct CommandReader<'a> {
    bytes: &'a [u8],
    arguments: u32,
}

impl<'a> CommandReader<'a> {
    /// Returns the command with so many arguments at the start of `bytes`, which [`check`] has accepted.
    pub(in crate::log::format) fn new(bytes: &'a [u8], arguments: u32) -> CommandReader<'a> {
        CommandReader { bytes, arguments }
    }

    /// Returns which version of which procedure it calls.
    pub fn called(&self) -> (ProcedureId, ProcedureVersion) {
        Input { rest: self.bytes }.called().expect("the payload was checked")
    }

    /// Returns the command.
    pub fn command(&self) -> Command<'a> {
        Input { rest: self.bytes }.command(self.arguments).expect("the payload was checked")
    }
}

/// Bytes that are yet to be read.
struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    fn called(&mut self) -> Result<(ProcedureId, ProcedureVersion), PayloadError> {
        let small = |number| u32::try_from(number).map_err(|_| malformed("the number of a procedure is out of range"));
        Ok((ProcedureId(small(self.number()?)?), ProcedureVersion(small(self.number()?)?)))
    }

    fn command(&mut self, arguments: u32) -> Result<Command<'a>, PayloadError> {
        let (procedure, version) = self.called()?;
        let flags = self.byte()?;
        if flags & !(TIME | SEED | SEQUENCES | HASH) != 0 {
            return Err(malformed("a command has flags that are not known"));
        }
        let time = if flags & TIME != 0 { Some(i64::from_le_bytes(self.array()?)) } else { None };
        let seed = if flags & SEED != 0 { Some(u64::from_le_bytes(self.array()?)) } else { None };
        let sequence_values = if flags & SEQUENCES != 0 { self.sequence_values()? } else { Vec::new() };
        let hash = if flags & HASH != 0 { Some(self.write_hash()?) } else { None };
        if arguments as usize > self.rest.len() {
            return Err(CUT_SHORT);
        }
        let arguments = (0..arguments).map(|_| self.argument()).collect::<Result<Vec<_>, _>>()?;
        let (sequence_values, arguments) = (sequence_values.into(), arguments.into());
        Ok(Command { procedure, version, time, seed, sequence_values, hash, arguments })
    }

    fn write_hash(&mut self) -> Result<WriteHash<'a>, PayloadError> {
        let (all, rows) = (u32::from_le_bytes(self.array()?), self.byte()?);
        Ok(WriteHash { all, rows: self.bytes(rows.into())?.into() })
    }

    fn sequence_values(&mut self) -> Result<Vec<i64>, PayloadError> {
        let count = self.count()?;
        if count == 0 {
            return Err(malformed("a command names no values of sequences where it should"));
        }
        let mut before = 0_i64;
        let value = |_| {
            before = before.wrapping_add(unzigzag(self.number()?));
            Ok(before)
        };
        (0..count).map(value).collect()
    }

    fn argument(&mut self) -> Result<Argument<'a>, PayloadError> {
        let tag = self.byte()?;
        let (kind, of_elements) = (tag & ((1 << KIND_BITS) - 1), tag >> KIND_BITS);
        match (kind, of_elements) {
            (ALIKE, FALSE | INT..=TIMESTAMP) => self.alike(of_elements).map(Argument::Array),
            (MIXED, 0) => self.mixed().map(Argument::Array),
            (kind, 0) => self.value(kind).map(Argument::Scalar),
            _ => Err(UNKNOWN),
        }
    }

    fn alike(&mut self, kind: u8) -> Result<Vec<Value<'a>>, PayloadError> {
        let count = self.count()?;
        if count == 0 {
            return Err(NOT_CANONICAL);
        }
        let element = |_| match kind {
            FALSE => match self.byte()? {
                0 => Ok(Value::Bool(false)),
                1 => Ok(Value::Bool(true)),
                _ => Err(malformed("an element is neither true nor false")),
            },
            kind => self.value(kind),
        };
        (0..count).map(element).collect()
    }

    fn mixed(&mut self) -> Result<Vec<Value<'a>>, PayloadError> {
        let count = self.count()?;
        let element = |_| {
            let kind = self.byte()?;
            self.value(kind)
        };
        let elements = (0..count).map(element).collect::<Result<Vec<_>, _>>()?;
        if common_kind(&elements).is_some() { Err(NOT_CANONICAL) } else { Ok(elements) }
    }

    /// What follows the tag of a value.
    fn value(&mut self, kind: u8) -> Result<Value<'a>, PayloadError> {
        Ok(match kind {
            NULL => Value::Null,
            FALSE => Value::Bool(false),
            TRUE => Value::Bool(true),
            INT => Value::Int(unzigzag(self.number()?)),
            FLOAT => Value::Float(f64::from_le_bytes(self.array()?)),
            NUMERIC => Value::Numeric(unzigzag(self.number()?)),
            TEXT => {
                let text = std::str::from_utf8(self.string()?);
                Value::Text(text.map_err(|_| malformed("a text is not UTF-8"))?)
            }
            BYTES => Value::Bytes(self.string()?),
            TIMESTAMP => Value::Timestamp(unzigzag(self.number()?)),
            _ => return Err(UNKNOWN),
        })
    }

    fn byte(&mut self) -> Result<u8, PayloadError> {
        Ok(self.array::<1>()?[0])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PayloadError> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(CUT_SHORT)?;
        self.rest = rest;
        Ok(*array)
    }

    fn number(&mut self) -> Result<u64, PayloadError> {
        let (number, rest) = split_varint(self.rest).ok_or(CUT_SHORT)?;
        self.rest = rest;
        Ok(number)
    }

    /// How many items follow, each of which takes a byte at least: no count makes us reserve much more than there is.
    fn count(&mut self) -> Result<usize, PayloadError> {
        let count = self.number()?;
        if count > self.rest.len() as u64 { Err(CUT_SHORT) } else { Ok(count as usize) }
    }

    fn string(&mut self) -> Result<&'a [u8], PayloadError> {
        let length = usize::try_from(self.number()?).map_err(|_| CUT_SHORT)?;
        self.bytes(length)
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], PayloadError> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(CUT_SHORT)?;
        self.rest = rest;
        Ok(bytes)
    }
}

const CUT_SHORT: PayloadError = malformed("a command is cut short");
const UNKNOWN: PayloadError = malformed("an argument is of a kind that is not known");
const NOT_CANONICAL: PayloadError = malformed("an array is encoded in another way than arrays are");

const fn malformed(what: &'static str) -> PayloadError {
    PayloadError { what }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
