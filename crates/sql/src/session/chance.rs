//! What `random` draws from: xoroshiro128** by David Blackman and Sebastiano Vigna, seeded as PostgreSQL 15 does it. So a session
//! that has called `setseed` gets the numbers that it would get there.

/// The state of a session.
#[derive(Debug)]
pub(super) struct Chance(u64, u64);

/// So many bits of a number that is drawn count.
const BITS: u32 = 52;

/// The next number of the generator that fills the state.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Chance {
    /// Begins with a number.
    pub(super) fn new(mut seed: u64) -> Chance {
        let first = split_mix(&mut seed);
        Chance(first, split_mix(&mut seed))
    }

    /// Begins with what `setseed` was given, from -1 to 1.
    pub(super) fn of_setting(seed: f64) -> Chance {
        let greatest = ((1_u64 << BITS) - 1) as f64;
        Chance::new((greatest * seed) as i64 as u64)
    }

    /// A number from 0 up to 1, without 1.
    pub(super) fn draw(&mut self) -> f64 {
        let Chance(first, second) = *self;
        let drawn = first.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let mixed = first ^ second;
        *self = Chance(first.rotate_left(24) ^ mixed ^ (mixed << 16), mixed.rotate_left(37));
        (drawn >> (u64::BITS - BITS)) as f64 / (1_u64 << BITS) as f64
    }
}
