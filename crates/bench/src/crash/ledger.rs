//! What the killed process acknowledged, kept by the process that kills it.
//!
//! The worker process writes one entry into a pipe for every fact that an acknowledged transaction proves, only after
//! the acknowledgement. What the pipe has taken survives the kill; the other side reads it to the end.
//!
//! Invariants:
//! - An entry is 32 bytes: checksum, flags, microseconds, fact. Writes are of whole entries and at most [`WRITE_BYTES_MAX`],
//!   which the system does not tear; a torn or altered entry is an error, not the end of the ledger.
//! - The first entry of each transaction is marked, so that transactions are counted and not facts.

use std::fs::File;
use std::io::{Read, Write};
use std::marker::PhantomData;
use std::time::Duration;

use crate::latency::Latencies;
use crate::{Ledger, TargetError};

/// The bytes of a fact.
pub const FACT_BYTES: usize = 24;
const ENTRY_BYTES: usize = 32;
/// `PIPE_BUF` on Linux.
const WRITE_BYTES_MAX: usize = 4096;

const STARTED: u8 = 1;
const TRANSACTION: u8 = 2;
const FACT: u8 = 4;
const TIMED: u8 = 8;
const OPENING: u8 = 16;
const OPENED: u8 = 32;

/// Latencies are 24 bits of microseconds; longer ones count as the longest.
const MICROS_MAX: u32 = (1 << 24) - 1;

/// Something that an acknowledged transaction did or saw, and that must be found after a crash.
pub trait Fact: Copy + Send + 'static {
    /// Its bytes.
    fn encode(&self) -> [u8; FACT_BYTES];
    /// The fact of these bytes, if they are those of one.
    fn decode(bytes: &[u8; FACT_BYTES]) -> Option<Self>;
}

/// What an acknowledged transaction proves, as facts.
pub trait Evidence: Send {
    /// One of them.
    type Fact: Fact;

    /// Hands out the facts.
    fn facts(&self, note: impl FnMut(Self::Fact));
}

/// The end of the pipe in the worker process; one per worker thread.
pub struct PipeLedger<E> {
    pipe: File,
    buffer: Vec<u8>,
    evidence: PhantomData<fn(E)>,
}

impl<E> PipeLedger<E> {
    /// Writes into `pipe`.
    pub fn new(pipe: File) -> PipeLedger<E> {
        PipeLedger { pipe, buffer: Vec::with_capacity(2 * WRITE_BYTES_MAX), evidence: PhantomData }
    }

    /// Tells the other side that recovery begins.
    pub fn opening(&mut self) -> Result<(), TargetError> {
        self.push(OPENING, 0, &[0; FACT_BYTES]);
        self.write_out()
    }

    /// Tells the other side that it is done.
    pub fn opened(&mut self) -> Result<(), TargetError> {
        self.push(OPENED, 0, &[0; FACT_BYTES]);
        self.write_out()
    }

    /// Tells the other side that transactions begin.
    pub fn started(&mut self) -> Result<(), TargetError> {
        self.push(STARTED, 0, &[0; FACT_BYTES]);
        self.write_out()
    }

    fn push(&mut self, flags: u8, micros: u32, fact: &[u8; FACT_BYTES]) {
        let mut entry = [0; ENTRY_BYTES];
        entry[4] = flags;
        entry[5..8].copy_from_slice(&micros.to_le_bytes()[..3]);
        entry[8..].copy_from_slice(fact);
        let checksum = checksum(&entry);
        entry[..4].copy_from_slice(&checksum.to_le_bytes());
        self.buffer.extend_from_slice(&entry);
    }

    fn write_out(&mut self) -> Result<(), TargetError> {
        for part in self.buffer.chunks(WRITE_BYTES_MAX) {
            self.pipe.write_all(part).map_err(|error| {
                TargetError::new(format!("the process that keeps the ledger is gone (writing to the pipe: {error})"))
            })?;
        }
        self.buffer.clear();
        Ok(())
    }
}

fn checksum(entry: &[u8; ENTRY_BYTES]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &entry[4..]) as u32
}

impl<E: Evidence> Ledger<E> for PipeLedger<E> {
    type Entry = E;

    fn committed(&mut self, evidence: E) -> E {
        evidence
    }

    fn acknowledged(&mut self, evidence: E, latency: Option<Duration>) {
        let micros = |latency: Duration| latency.as_micros().min(MICROS_MAX.into()) as u32;
        let first = (TRANSACTION | latency.map_or(0, |_| TIMED), latency.map_or(0, micros));
        let mut next = first;
        evidence.facts(|fact| {
            self.push(next.0 | FACT, next.1, &fact.encode());
            next = (0, 0);
        });
        if next == first {
            self.push(first.0, first.1, &[0; FACT_BYTES]);
        }
    }

    fn flush(&mut self) -> Result<(), TargetError> {
        self.write_out()
    }
}

/// What the pipe brought.
#[derive(Debug)]
pub struct Received<F> {
    /// Whether recovery began.
    pub opening: bool,
    /// Whether it ended.
    pub opened: bool,
    /// Whether transactions began.
    pub started: bool,
    /// Acknowledged transactions.
    pub transactions: u64,
    /// How long they took, as far as they were timed.
    pub latencies: Latencies,
    /// What they prove.
    pub facts: Vec<F>,
}

impl<F> Default for Received<F> {
    fn default() -> Self {
        Received {
            opening: false,
            opened: false,
            started: false,
            transactions: 0,
            latencies: Latencies::new(),
            facts: Vec::new(),
        }
    }
}

impl<F: Fact> Received<F> {
    /// Reads `pipe` to its end. `observe` is called after each read.
    pub fn read(mut pipe: impl Read, mut observe: impl FnMut(&Received<F>)) -> Result<Received<F>, TargetError> {
        let mut received = Received::default();
        let mut buffer = vec![0; 16 * WRITE_BYTES_MAX];
        let mut held = 0;
        loop {
            let read = pipe.read(&mut buffer[held..]).map_err(TargetError::new)?;
            held += read;
            let (entries, _) = buffer[..held].as_chunks::<ENTRY_BYTES>();
            for entry in entries {
                received.add(entry)?;
            }
            let whole = entries.len() * ENTRY_BYTES;
            buffer.copy_within(whole..held, 0);
            held -= whole;
            if read == 0 {
                break;
            }
            observe(&received);
        }
        if held > 0 {
            return Err(TargetError::new(format!("the ledger ends with {held} bytes of an entry")));
        }
        Ok(received)
    }

    fn add(&mut self, entry: &[u8; ENTRY_BYTES]) -> Result<(), TargetError> {
        let expected = u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
        if checksum(entry) != expected {
            return Err(TargetError::new("an entry of the ledger has a wrong checksum"));
        }
        let flags = entry[4];
        self.opening |= flags & OPENING != 0;
        self.opened |= flags & OPENED != 0;
        self.started |= flags & STARTED != 0;
        self.transactions += u64::from(flags & TRANSACTION != 0);
        if flags & TIMED != 0 {
            let micros = u32::from_le_bytes([entry[5], entry[6], entry[7], 0]);
            self.latencies.record(Duration::from_micros(micros.into()));
        }
        if flags & FACT != 0 {
            let mut bytes = [0; FACT_BYTES];
            bytes.copy_from_slice(&entry[8..]);
            let fact = F::decode(&bytes).ok_or_else(|| TargetError::new("an entry of the ledger is no fact"))?;
            self.facts.push(fact);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Number(u64);

    impl Fact for Number {
        fn encode(&self) -> [u8; FACT_BYTES] {
            let mut bytes = [7; FACT_BYTES];
            bytes[..8].copy_from_slice(&self.0.to_le_bytes());
            bytes
        }

        fn decode(bytes: &[u8; FACT_BYTES]) -> Option<Number> {
            let (number, rest) = bytes.split_first_chunk()?;
            rest.iter().all(|byte| *byte == 7).then(|| Number(u64::from_le_bytes(*number)))
        }
    }

    impl Evidence for Vec<Number> {
        type Fact = Number;

        fn facts(&self, note: impl FnMut(Number)) {
            self.iter().copied().for_each(note);
        }
    }

    fn written(transactions: impl IntoIterator<Item = Vec<Number>>) -> Vec<u8> {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let thread = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let mut ledger = PipeLedger::new(File::from(std::os::fd::OwnedFd::from(writer)));
        ledger.started().unwrap();
        for transaction in transactions {
            let entry = ledger.committed(transaction);
            let latency = entry.first().map(|Number(number)| Duration::from_micros(*number));
            ledger.acknowledged(entry, latency);
        }
        ledger.flush().unwrap();
        drop(ledger);
        thread.join().unwrap()
    }

    #[test]
    fn facts_come_through_whole_and_in_order() {
        let bytes = written((0..10_000).map(|n| (0..n % 3).map(|i| Number(n * 10 + i)).collect()));
        let mut observed = 0;
        let received = Received::<Number>::read(&bytes[..], |received| observed = received.transactions).unwrap();
        assert!(received.started);
        assert_eq!(received.transactions, 10_000);
        assert_eq!(observed, 10_000);
        let expected: Vec<_> = (0..10_000).flat_map(|n| (0..n % 3).map(move |i| Number(n * 10 + i))).collect();
        assert_eq!(received.facts, expected);
        let timed = expected.iter().filter(|Number(number)| number % 10 == 0).count();
        assert_eq!(received.latencies.count(), timed as u64, "transactions without a fact were not timed");
        assert!((99_000.0..101_000.0).contains(&received.latencies.percentiles().max));
    }

    #[test]
    fn a_damaged_ledger_is_an_error() {
        let bytes = written([vec![Number(1)], vec![Number(2)]]);
        let read = |bytes: &[u8]| Received::<Number>::read(bytes, |_| ());
        assert!(read(&bytes).is_ok());
        assert!(read(&bytes[..bytes.len() - 1]).is_err());
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(read(&damaged).is_err(), "a flipped bit in byte {at}");
        }
    }
}
