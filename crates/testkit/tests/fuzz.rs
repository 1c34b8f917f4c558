//! Fuzzing on stable: every parser of bytes from disk and that of procedures, on valid bytes that are mutated by seed, for a
//! short time.
//!
//! The properties are those of `osier::fuzzing`; here memory is watched too: no length in the input makes a parser allocate
//! what the input does not justify. `fuzz/` runs the same functions under cargo-fuzz, guided by coverage.
//!
//! `OSIER_FUZZ_SECONDS=60` is how long each parser takes, `OSIER_FUZZ_SEED=7` the first seed, `OSIER_FUZZ_PARSER=batch` the
//! only parser; with `OSIER_FUZZ_CORPUS=/tmp/corpus` the valid inputs are written there, for cargo-fuzz to begin with.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fastrand::Rng;
use osier::fuzzing::{PARSERS, Parser};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// No input is longer.
const BYTES_MAX: usize = 32 << 10;
/// What checking an input may take, whatever is in it: this and so much for each of its bytes, of which LZ4 can make 255.
const FIXED_BYTES_MAX: usize = 256 << 10;
const BYTES_PER_BYTE_MAX: usize = 600;

fn variable(name: &str, default: f64) -> f64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A range of `bytes`, short ones more often.
fn range(rng: &mut Rng, bytes: &[u8]) -> std::ops::Range<usize> {
    let length = 1 << rng.u32(..12);
    let begin = rng.usize(..=bytes.len());
    begin..bytes.len().min(begin + rng.usize(..=length))
}

/// A number in which lengths, counts and offsets often go wrong.
fn number(rng: &mut Rng) -> u64 {
    let power = 1_u64 << rng.u32(..64);
    match rng.u8(..6) {
        0 => 0,
        1 => u64::MAX,
        2 => power,
        3 => power - 1,
        4 => u64::from(rng.u8(..)),
        _ => rng.u64(..),
    }
}

fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>, samples: &[Vec<u8>]) {
    let (place, at) = (range(rng, bytes), rng.usize(..bytes.len().max(1)));
    match rng.u8(..9) {
        0 | 1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << rng.u8(..8)),
        2 | 3 => {
            let number = number(rng).to_le_bytes();
            let width = 1 << rng.u32(..4);
            bytes.iter_mut().skip(at).zip(&number[..width]).for_each(|(byte, new)| *byte = *new);
        }
        4 => bytes.truncate(at),
        5 => bytes[place].fill(if rng.bool() { 0 } else { 0xff }),
        6 => drop(bytes.drain(place)),
        7 => {
            let copy = bytes[place].to_vec();
            drop(bytes.splice(at..at, copy));
        }
        _ => {
            let other = &samples[rng.usize(..samples.len())];
            let from = range(rng, other);
            drop(bytes.splice(place, other[from].iter().copied()));
        }
    }
    bytes.truncate(BYTES_MAX);
}

/// The input of a seed.
fn input(seed: u64, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut rng = Rng::with_seed(seed);
    if rng.u8(..16) == 0 {
        return (0..rng.usize(..256)).map(|_| rng.u8(..)).collect();
    }
    let mut bytes = samples[rng.usize(..samples.len())].clone();
    (0..rng.u8(..5)).for_each(|_| mutate(&mut rng, &mut bytes, samples));
    bytes
}

/// What was seen of a parser.
#[derive(Default)]
struct Fuzzed {
    inputs: u64,
    accepted: u64,
    /// The most memory that an input took.
    bytes: usize,
}

impl Fuzzed {
    fn check(&mut self, parser: &Parser, bytes: &[u8], seed: u64) {
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let checked = catch_unwind(|| (parser.check)(bytes));
        let taken = ALLOCATOR.peak_usage().saturating_sub(before);
        let name = parser.name;
        let Ok(is_accepted) = checked else { panic!("{name}: OSIER_FUZZ_SEED={seed}: {} bytes", bytes.len()) };
        let allowed = FIXED_BYTES_MAX + bytes.len() * BYTES_PER_BYTE_MAX;
        assert!(taken <= allowed, "{name}: OSIER_FUZZ_SEED={seed}: {} bytes took {taken}", bytes.len());
        self.inputs += 1;
        self.accepted += u64::from(is_accepted);
        self.bytes = self.bytes.max(taken);
    }
}

fn fuzz(parser: &Parser, time: Duration, mut seed: u64) -> Fuzzed {
    let (samples, mut seen) = ((parser.samples)(), Fuzzed::default());
    samples.iter().for_each(|sample| seen.check(parser, sample, seed));
    assert_eq!(seen.accepted, samples.len() as u64, "{}: a valid input is refused", parser.name);
    let begun = Instant::now();
    while begun.elapsed() < time {
        for _ in 0..64 {
            seen.check(parser, &input(seed, &samples), seed);
            seed += 1;
        }
    }
    seen
}

fn write_corpus(directory: &Path, parser: &Parser) {
    let directory = directory.join(parser.name);
    fs::create_dir_all(&directory).expect("the corpus is writable");
    for (number, sample) in (parser.samples)().iter().enumerate() {
        fs::write(directory.join(format!("sample-{number}")), sample).expect("the corpus is writable");
    }
}

#[test]
fn every_parser_stands_any_bytes() {
    let time = Duration::from_secs_f64(variable("OSIER_FUZZ_SECONDS", 0.7));
    let seed = variable("OSIER_FUZZ_SEED", 0.0) as u64;
    let corpus = std::env::var_os("OSIER_FUZZ_CORPUS").map(PathBuf::from);
    let only = std::env::var("OSIER_FUZZ_PARSER");
    for parser in PARSERS.iter().filter(|parser| only.as_deref().unwrap_or(parser.name) == parser.name) {
        corpus.iter().for_each(|directory| write_corpus(directory, parser));
        let Fuzzed { inputs, accepted, bytes } = fuzz(parser, time, seed);
        println!("{:>9} {inputs:>9} inputs, {accepted:>7} accepted, at most {bytes} bytes taken", parser.name);
    }
}
