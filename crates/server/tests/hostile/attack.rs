//! Clients that mean no good: what they send, and what the server must answer nevertheless.
//!
//! Invariants that are checked of every connection whose messages are whole: each request is answered up to `ReadyForQuery`, or
//! the connection ends with an error of severity FATAL; a statement ends soon after it is cancelled; and no error says that the
//! server ran into a defect (`XX000`).

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::support::served::{Answer, describe, execute, message, startup, sync};
use super::text;

/// Who the clients say they are: a role that may make tables and touch no others.
pub const ROLE: &str = "hostile";
/// A statement that takes longer is cancelled.
const PATIENCE: Duration = Duration::from_secs(4);
/// So long after that it must have ended.
const CANCELLED_MAX: Duration = Duration::from_secs(40);
/// The last inputs that are kept.
const RECENT_MAX: usize = 24;

/// What one attacker has done, for the report.
#[derive(Default)]
pub struct Seen {
    /// Its last inputs.
    pub recent: Mutex<Vec<String>>,
    /// What was wrong.
    pub wrong: Mutex<Vec<String>>,
    /// Connections, statements and errors.
    pub counts: Mutex<[u64; 3]>,
}

impl Seen {
    fn note(&self, input: &[u8]) {
        let mut recent = self.recent.lock().unwrap();
        if recent.len() == RECENT_MAX {
            recent.remove(0);
        }
        let shown = String::from_utf8_lossy(&input[..input.len().min(2000)]).into_owned();
        recent.push(format!("{} bytes: {shown:?}", input.len()));
    }

    fn wrong(&self, what: &str, input: &[u8]) {
        let input = String::from_utf8_lossy(&input[..input.len().min(4000)]).into_owned();
        self.wrong.lock().unwrap().push(format!("{what}: {input:?}"));
    }

    fn count(&self, what: usize) {
        self.counts.lock().unwrap()[what] += 1;
    }
}

/// How a client's wait for an answer ended.
#[derive(Debug, PartialEq, Eq)]
enum Wait {
    Answer(Answer),
    Closed,
    Late,
}

/// An attacker.
pub struct Attacker<'a> {
    /// The server's port.
    pub port: u16,
    /// What it draws from.
    pub rng: Rng,
    /// Statements.
    pub samples: &'a [String],
    /// What it has seen.
    pub seen: &'a Seen,
    /// When it ends.
    pub until: Instant,
}

/// A connection of one.
struct Wire {
    socket: TcpStream,
    bytes: Vec<u8>,
    key: Vec<u8>,
}

impl Wire {
    fn connect(port: u16) -> Option<Wire> {
        let socket = TcpStream::connect(("127.0.0.1", port)).ok()?;
        socket.set_write_timeout(Some(Duration::from_secs(5))).ok()?;
        Some(Wire { socket, bytes: Vec::new(), key: Vec::new() })
    }

    fn send(&mut self, bytes: &[u8]) -> bool {
        self.socket.write_all(bytes).is_ok()
    }

    /// The next message, if it comes before `until`.
    fn answer(&mut self, until: Instant) -> Wait {
        loop {
            if let Some(header) = self.bytes.first_chunk::<5>() {
                let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
                if self.bytes.len() > length {
                    let body = self.bytes[5..=length].to_vec();
                    let kind = char::from(header[0]);
                    self.bytes.drain(..=length);
                    return Wait::Answer(Answer { kind, body });
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Wait::Late;
            }
            self.socket.set_read_timeout(Some(left)).unwrap();
            let mut piece = [0; 16 * 1024];
            match self.socket.read(&mut piece) {
                Ok(0) => return Wait::Closed,
                Ok(count) => self.bytes.extend_from_slice(&piece[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Wait::Late,
                Err(_) => return Wait::Closed,
            }
        }
    }

    /// Reads whatever comes for a while.
    fn drain(&mut self, time: Duration) {
        let until = Instant::now() + time;
        self.bytes.clear();
        let mut piece = [0; 64 * 1024];
        while Instant::now() < until {
            drop(self.socket.set_read_timeout(Some(Duration::from_millis(20))));
            match self.socket.read(&mut piece) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return,
                Err(_) => return,
            }
        }
    }
}

/// A startup packet that is as it should be.
fn greeting() -> Vec<u8> {
    startup(
        3 << 16,
        &[("user", ROLE), ("database", "osier"), ("options", "-c statement_timeout=3s -c lock_timeout=2s")],
    )
}

impl Attacker<'_> {
    /// Attacks once.
    pub fn attack(&mut self) {
        self.seen.count(0);
        match self.rng.u8(..16) {
            0 => self.garbage(),
            1 | 2 => self.beginnings(),
            3..6 => self.damaged(),
            6 => self.flood(),
            7 => self.half_open(),
            8 => self.idle_block(),
            _ => self.statements(),
        }
    }

    fn begin(&mut self) -> Option<Wire> {
        let mut wire = Wire::connect(self.port)?;
        wire.send(&greeting());
        let until = Instant::now() + CANCELLED_MAX;
        loop {
            match wire.answer(until) {
                Wait::Answer(answer) if answer.kind == 'Z' => return Some(wire),
                Wait::Answer(answer) if answer.kind == 'K' => wire.key = answer.body,
                // Others may hold all seats.
                Wait::Answer(answer) if answer.kind == 'E' => {
                    if answer.field('C').as_deref() != Some("53300") {
                        self.seen.wrong(&format!("no session: {:?}", answer.field('M')), b"");
                    }
                    return None;
                }
                Wait::Answer(_) => {}
                ended => {
                    self.seen.wrong(&format!("no session: {ended:?}"), b"");
                    return None;
                }
            }
        }
    }

    fn bytes(&mut self, length_max: usize) -> Vec<u8> {
        let length = self.rng.usize(..=length_max);
        (0..length).map(|_| self.rng.u8(..)).collect()
    }

    /// No protocol at all.
    fn garbage(&mut self) {
        let Some(mut wire) = Wire::connect(self.port) else { return };
        let bytes = self.bytes(4096);
        self.seen.note(&bytes);
        wire.send(&bytes);
        wire.drain(Duration::from_millis(50));
    }

    /// First packets of all kinds.
    fn beginnings(&mut self) {
        let Some(mut wire) = Wire::connect(self.port) else { return };
        let versions = [3 << 16, 3 << 16 | 2, 3 << 16 | 9999, 2 << 16, 0, u32::MAX, 80_877_102, 80_877_103, 80_877_104];
        let long = "x".repeat(1 << self.rng.u32(..14));
        let names = [
            "user",
            "database",
            "options",
            "replication",
            "client_encoding",
            "_pq_.x",
            "work_mem",
            "DateStyle",
            "",
            &long,
        ];
        let values = [ROLE, "osier", "true", "-c x=1", "-c", "\\", "UTF8", "latin1", "-1", "", &long, "\u{fffd}"];
        for _ in 0..=self.rng.u8(..3) {
            let version = versions[self.rng.usize(..versions.len())];
            let mut parameters = vec![("user", ROLE)];
            for _ in 0..self.rng.u8(..6) {
                let pair = (names[self.rng.usize(..names.len())], values[self.rng.usize(..values.len())]);
                // Nobody is to be let in as somebody else.
                parameters.extend((pair.0 != "user").then_some(pair));
            }
            let mut bytes = startup(version, &parameters);
            if self.rng.u8(..3) == 0 {
                self.damage(&mut bytes);
            }
            self.seen.note(&bytes);
            wire.send(&bytes);
        }
        if self.rng.bool() {
            let more = self.bytes(64);
            wire.send(&more);
        }
        wire.drain(Duration::from_millis(30));
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        let at = self.rng.usize(..bytes.len().max(1));
        let end = bytes.len().min(at + 1 + self.rng.usize(..16));
        match self.rng.u8(..8) {
            0 | 1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << self.rng.u8(..8)),
            2 => bytes.iter_mut().skip(at).take(4).for_each(|byte| *byte = 0xff),
            3 => bytes.iter_mut().skip(at).take(4).for_each(|byte| *byte = 0),
            4 => bytes.truncate(at),
            5 => drop(bytes.drain(at..end)),
            6 => {
                let copy = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, copy));
            }
            _ => {
                let new = self.bytes(16);
                drop(bytes.splice(at..end, new));
            }
        }
    }

    /// One message of a conversation, most of them as they should be.
    fn request(&mut self) -> Vec<u8> {
        let mut text = text::draw(&mut self.rng, self.samples);
        let name = ["", "a", "b", "\u{e4}"][self.rng.usize(..4)];
        let zero = [0_u8];
        match self.rng.u8(..14) {
            0..3 => message(b'Q', &[&text[..], &zero].concat()),
            3..6 => {
                let types = self.rng.u16(..3);
                let mut body = [name.as_bytes(), &zero, &text, &zero, &types.to_be_bytes()].concat();
                for _ in 0..types {
                    body.extend([0_u32, 20, 23, 25, 1700, 1184, 17, 1007, 99_999][self.rng.usize(..9)].to_be_bytes());
                }
                message(b'P', &body)
            }
            6 | 7 => message(b'B', &self.bind_body(name)),
            8 => execute(name, [0, 1, 3, u32::MAX][self.rng.usize(..4)]),
            9 => describe(if self.rng.bool() { 'S' } else { 'P' }, name),
            10 => message(b'C', format!("{}{name}\0", if self.rng.bool() { 'S' } else { 'P' }).as_bytes()),
            11 => {
                text.truncate(200);
                let kind = b"dcfHFp"[self.rng.usize(..6)];
                message(kind, &text)
            }
            12 => message(b'H', b""),
            _ => sync(),
        }
    }

    fn bind_body(&mut self, name: &str) -> Vec<u8> {
        let mut body = format!("{name}\0{name}\0").into_bytes();
        let format = self.rng.u16(..3);
        body.extend([0, 1].into_iter().chain(format.to_be_bytes()));
        let count = self.rng.u16(..4);
        body.extend(count.to_be_bytes());
        for _ in 0..count {
            let value = match self.rng.u8(..3) {
                0 => self.bytes(40),
                1 => text::draw(&mut self.rng, self.samples),
                _ => vec![0; self.rng.usize(..17)],
            };
            let length = if self.rng.u8(..8) == 0 { u32::MAX } else { value.len() as u32 };
            body.extend(length.to_be_bytes());
            body.extend_from_slice(if length == u32::MAX { b"" } else { &value });
        }
        body.extend([0, 1, 0, self.rng.u8(..3)]);
        body
    }

    /// A conversation in which bytes are damaged, messages cut, doubled and reordered.
    fn damaged(&mut self) {
        let Some(mut wire) = self.begin() else { return };
        let mut messages: Vec<Vec<u8>> = (0..1 + self.rng.usize(..12)).map(|_| self.request()).collect();
        for _ in 0..self.rng.u8(..4) {
            let (at, other) = (self.rng.usize(..messages.len()), self.rng.usize(..messages.len()));
            match self.rng.u8(..3) {
                0 => messages.swap(at, other),
                1 => messages.insert(other, messages[at].clone()),
                _ => self.damage(&mut messages[at]),
            }
        }
        let mut bytes = messages.concat();
        if self.rng.bool() {
            self.damage(&mut bytes);
        }
        self.seen.note(&bytes);
        // In pieces that have nothing to do with messages.
        while !bytes.is_empty() {
            let piece: Vec<u8> = bytes.drain(..bytes.len().min(1 << self.rng.u32(2..18))).collect();
            if !wire.send(&piece) {
                break;
            }
        }
        if self.rng.u8(..4) > 0 {
            let until = Instant::now() + Duration::from_millis(self.rng.u64(1..200));
            while let Wait::Answer(answer) = wire.answer(until) {
                self.look(&answer, &[]);
            }
        }
    }

    fn look(&self, answer: &Answer, input: &[u8]) {
        if answer.kind == 'E' {
            self.seen.count(2);
            let said = answer.field('M').unwrap_or_default();
            // PostgreSQL has no other code for this one.
            if answer.field('C').as_deref() == Some("XX000") && !said.starts_with("unsupported jsonb version") {
                self.seen.wrong(&format!("a defect: {said}"), input);
            }
        }
    }

    /// Asks for much and reads nothing.
    fn flood(&mut self) {
        let Some(mut wire) = self.begin() else { return };
        let texts = [
            "SELECT repeat('x', 1000), n FROM generate_series(1, 100000) n",
            "SELECT 1",
            "COPY (SELECT repeat('y', 100) FROM generate_series(1, 1000000)) TO STDOUT",
            "SELECT * FROM pg_catalog.pg_attribute",
        ];
        let text = texts[self.rng.usize(..texts.len())];
        let one = if self.rng.bool() {
            message(b'Q', format!("{text}\0").as_bytes())
        } else {
            let parse = message(b'P', format!("\0{text}\0\0\0").as_bytes());
            [parse, message(b'B', b"\0\0\0\0\0\0\0\0"), execute("", 0), sync()].concat()
        };
        self.seen.note(&one);
        let until = Instant::now() + Duration::from_millis(self.rng.u64(10..1500));
        drop(wire.socket.set_write_timeout(Some(Duration::from_millis(200))));
        while Instant::now() < until && wire.send(&one) {}
        if self.rng.bool() {
            drop(wire.socket.shutdown(Shutdown::Both));
        }
    }

    /// Goes in the middle of a message, or stays a while in it.
    fn half_open(&mut self) {
        let Some(mut wire) = self.begin() else { return };
        let bytes = self.request();
        wire.send(&bytes[..self.rng.usize(..bytes.len())]);
        // A length that is never lived up to.
        wire.send(&[b'Q', 0x0f, 0xff, 0xff, 0xff]);
        std::thread::sleep(Duration::from_millis(self.rng.u64(..300)));
    }

    /// Leaves a block open, and its portals and statements with it.
    fn idle_block(&mut self) {
        let Some(mut wire) = self.begin() else { return };
        wire.send(&message(b'Q', b"BEGIN; CREATE TABLE kept (a int)\0"));
        for number in 0..self.rng.usize(..200) {
            let text = text::draw(&mut self.rng, self.samples);
            wire.send(&message(b'P', &[format!("s{number}\0").as_bytes(), &text, &[0, 0, 0]].concat()));
            wire.send(&sync());
        }
        wire.drain(Duration::from_millis(self.rng.u64(..500)));
    }

    /// Statements, each in messages that are as they should be: the server must answer all of them.
    fn statements(&mut self) {
        let Some(mut wire) = self.begin() else { return };
        for _ in 0..self.rng.usize(1..60) {
            if Instant::now() > self.until {
                return;
            }
            let text = text::draw(&mut self.rng, self.samples);
            self.seen.note(&text);
            self.seen.count(1);
            let is_extended = self.rng.bool();
            let bytes = if is_extended {
                let name: &[u8] = b"\0";
                let parse = message(b'P', &[name, &text, &[0, 0, 0]].concat());
                let parts = [parse, message(b'B', &self.bind_body("")), describe('P', ""), execute("", 0), sync()];
                parts.concat()
            } else {
                message(b'Q', &[&text[..], &[0]].concat())
            };
            if !wire.send(&bytes) || !self.answered(&mut wire, &text, is_extended) {
                return;
            }
        }
    }

    /// Reads the answers to a request. Returns whether the connection goes on.
    fn answered(&mut self, wire: &mut Wire, text: &[u8], is_extended: bool) -> bool {
        let mut until = Instant::now() + PATIENCE;
        let (mut is_cancelled, mut is_fatal) = (false, false);
        loop {
            match wire.answer(until) {
                Wait::Answer(answer) => {
                    self.look(&answer, text);
                    match answer.kind {
                        'Z' => return true,
                        // The server wants data.
                        'G' => {
                            let data = text::draw(&mut self.rng, self.samples);
                            let end = if self.rng.bool() { message(b'c', b"") } else { message(b'f', b"no\0") };
                            wire.send(&[message(b'd', &data), end].concat());
                            // That which came with the request was passed over.
                            if is_extended {
                                wire.send(&sync());
                            }
                        }
                        'E' => is_fatal = answer.field('S').as_deref() == Some("FATAL"),
                        _ => {}
                    }
                }
                Wait::Closed if is_fatal => return false,
                Wait::Closed => {
                    self.seen.wrong("the server has closed the connection without a word", text);
                    return false;
                }
                Wait::Late if !is_cancelled => {
                    is_cancelled = true;
                    until = Instant::now() + CANCELLED_MAX;
                    if let Some(mut other) = Wire::connect(self.port) {
                        other.send(&[&[0, 0, 0, 16, 4, 210, 22, 46], &wire.key[..]].concat());
                    }
                }
                Wait::Late => {
                    self.seen.wrong("no answer after a request to cancel", text);
                    return false;
                }
            }
        }
    }
}
