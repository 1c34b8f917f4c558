//! The hashes of PostgreSQL: "lookup3" by Bob Jenkins, as its hash indexes and partitions have them. They are the same on every
//! machine, which programs rely on that derive keys of advisory locks from texts.

use super::argument::*;
use super::functions;
use crate::datum::Datum;
use crate::datum::Datum::Int;

functions! {
    /// Hashes.
    FUNCTIONS:
    "hashtext" (Text) -> Int4 = |_, a| Ok(narrow(hash(text(&a[0]).as_bytes())));
    "hashtextextended" (Text, Int8) -> Int8 = |_, a| Ok(wide(hash_seeded(text(&a[0]).as_bytes(), int(&a[1]) as u64)));
    "hashint2" (Int2) -> Int4 = |_, a| Ok(narrow(hash_number(int(&a[0]) as i32 as u32)));
    "hashint4" (Int4) -> Int4 = |_, a| Ok(narrow(hash_number(int(&a[0]) as i32 as u32)));
    "hashint8" (Int8) -> Int4 = |_, a| Ok(narrow(hash_number(folded(int(&a[0])))));
    "hashoid" (Oid) -> Int4 = |_, a| Ok(narrow(hash_number(int(&a[0]) as u32)));
}

/// Where the three parts of the state begin.
const START: u32 = 0x9e37_79b9;
const OFFSET: u32 = 3_923_095;
/// So many bytes are mixed in at a time.
const BLOCK: usize = 12;

fn narrow(hash: u32) -> Datum {
    Int((hash as i32).into())
}

fn wide(hash: u64) -> Datum {
    Int(hash as i64)
}

/// Both halves of a number, so that one that fits into 32 bits has the hash that it has there.
fn folded(number: i64) -> u32 {
    let (low, high) = (number as u32, (number >> 32) as u32);
    low ^ if number >= 0 { high } else { !high }
}

struct State {
    a: u32,
    b: u32,
    c: u32,
}

impl State {
    fn new(length: usize) -> State {
        let start = START.wrapping_add(length as u32).wrapping_add(OFFSET);
        State { a: start, b: start, c: start }
    }

    fn add(&mut self, [a, b, c]: [u32; 3]) {
        self.a = self.a.wrapping_add(a);
        self.b = self.b.wrapping_add(b);
        self.c = self.c.wrapping_add(c);
    }

    fn mix(&mut self) {
        let State { a, b, c } = self;
        for (turn, shift) in [4, 6, 8, 16, 19, 4].into_iter().enumerate() {
            let (x, y, z) = match turn % 3 {
                0 => (&mut *a, &mut *b, &mut *c),
                1 => (&mut *b, &mut *c, &mut *a),
                _ => (&mut *c, &mut *a, &mut *b),
            };
            *x = x.wrapping_sub(*z) ^ z.rotate_left(shift);
            *z = z.wrapping_add(*y);
        }
    }

    fn finish(&mut self) {
        let State { a, b, c } = self;
        for (turn, shift) in [14, 11, 25, 16, 4, 14, 24].into_iter().enumerate() {
            let (x, y) = match turn % 3 {
                0 => (&mut *c, &*b),
                1 => (&mut *a, &*c),
                _ => (&mut *b, &*a),
            };
            *x = (*x ^ *y).wrapping_sub(y.rotate_left(shift));
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut blocks = bytes.chunks_exact(BLOCK);
        for block in &mut blocks {
            self.add(words(block));
            self.mix();
        }
        let rest = blocks.remainder();
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let [a, b, c] = words(&last);
        // The lowest byte of the last part is that of the length.
        self.add([a, b, c << 8]);
        self.finish();
    }
}

fn words(block: &[u8]) -> [u32; 3] {
    let word = |at: usize| block[at * 4..][..4].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    [word(0), word(1), word(2)]
}

fn hash(bytes: &[u8]) -> u32 {
    let mut state = State::new(bytes.len());
    state.take(bytes);
    state.c
}

fn hash_seeded(bytes: &[u8], seed: u64) -> u64 {
    let mut state = State::new(bytes.len());
    if seed != 0 {
        state.add([(seed >> 32) as u32, seed as u32, 0]);
        state.mix();
    }
    state.take(bytes);
    u64::from(state.b) << 32 | u64::from(state.c)
}

fn hash_number(number: u32) -> u32 {
    let mut state = State::new(size_of::<u32>());
    state.add([number, 0, 0]);
    state.finish();
    state.c
}
