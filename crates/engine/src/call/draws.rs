//! What a call draws: the time, random numbers, values of sequences.
//!
//! Invariants:
//! - A call that runs again with the draws of another one gets the same ones, in the same order.
//! - What was drawn is known when the call ends, so that it can be logged with its arguments.
//!
//! Random numbers are those of SplitMix64 (Steele, Lea, Flood: *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014)
//! from one seed. They are a part of the log's format: a later version gives the same.

use super::failure::Failure;
use super::faults;
use crate::catalog::sequence::Sequence;
use crate::error::Error;
use crate::failpoint::{Draw, drew};
use crate::ids::WallTime;
use crate::transaction::Transaction;

/// What a call drew, or is to draw again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drawn {
    /// The time, in microseconds since 1970.
    pub(crate) time: Option<i64>,
    /// The seed of random numbers.
    pub(crate) seed: Option<u64>,
    /// The values of sequences, in order.
    pub(crate) sequence_values: Vec<i64>,
}

/// What can be drawn.
pub(super) trait World {
    /// Returns the time of day.
    fn time(&self) -> WallTime;
    /// Returns the next value of a sequence.
    fn next_value(&self, sequence: &Sequence) -> Result<i64, Error>;
    /// Returns the next value of the sequence with this name.
    fn next_value_of(&self, name: &str) -> Result<i64, Error>;
}

impl World for Transaction<'_> {
    fn time(&self) -> WallTime {
        WallTime::now(&*self.config().environment.clock)
    }

    fn next_value(&self, sequence: &Sequence) -> Result<i64, Error> {
        self.take_next_value(sequence)
    }

    fn next_value_of(&self, name: &str) -> Result<i64, Error> {
        self.take_next_value(&self.sequence(name)?)
    }
}

/// The draws of a call in progress.
pub(super) struct Draws<'a> {
    source: Source<'a>,
    drawn: Drawn,
    /// The state of the generator.
    random: u64,
    /// Those of the code.
    sequences: &'a [Sequence],
}

/// Where draws come from.
pub(super) enum Source<'a> {
    /// The world.
    World(&'a dyn World),
    /// An earlier run, which drew the same.
    Earlier { drawn: &'a Drawn, taken: usize },
}

impl<'a> Draws<'a> {
    pub(super) fn new(source: Source<'a>, sequences: &'a [Sequence]) -> Draws<'a> {
        if let Source::World(_) = source {
            drew(Draw::Begun);
        }
        Draws { source, drawn: Drawn::default(), random: 0, sequences }
    }

    /// Returns what was drawn.
    pub(super) fn into_drawn(self) -> Drawn {
        self.drawn
    }

    /// The time of the call: one for all of it.
    pub(super) fn now(&mut self) -> i64 {
        let source = &self.source;
        *self.drawn.time.get_or_insert_with(|| match source {
            Source::World(world) => {
                let time = i64::try_from(world.time().0).unwrap_or(i64::MAX);
                drew(Draw::Time(time));
                time
            }
            Source::Earlier { drawn, .. } => faults::time(drawn.time.unwrap_or_default()),
        })
    }

    fn next_random(&mut self) -> u64 {
        if self.drawn.seed.is_none() {
            let seed = match &self.source {
                Source::World(_) => {
                    let seed = fastrand::u64(..);
                    drew(Draw::Seed(seed));
                    seed
                }
                Source::Earlier { drawn, .. } => drawn.seed.unwrap_or_default(),
            };
            let is_again = matches!(self.source, Source::Earlier { .. });
            (self.drawn.seed, self.random) = (Some(seed), faults::random(seed, is_again));
        }
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A float from 0 up to 1, a multiple of 2^-53.
    pub(super) fn random(&mut self) -> f64 {
        (self.next_random() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A UUID of version 4.
    pub(super) fn uuid(&mut self) -> [u8; 16] {
        let (high, low) = (self.next_random(), self.next_random());
        let mut bytes = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        bytes
    }

    /// The next value of a sequence of the code.
    pub(super) fn next_value(&mut self, sequence: u16) -> Result<i64, Failure> {
        let sequences = self.sequences;
        self.draw(|world| world.next_value(&sequences[usize::from(sequence)]))
    }

    /// The next value of the sequence with this name.
    pub(super) fn next_value_of(&mut self, name: &str) -> Result<i64, Failure> {
        self.draw(|world| world.next_value_of(name))
    }

    fn draw(&mut self, draw: impl FnOnce(&dyn World) -> Result<i64, Error>) -> Result<i64, Failure> {
        let value = match &mut self.source {
            Source::World(world) => {
                let value = draw(*world)?;
                drew(Draw::Value(value));
                value
            }
            Source::Earlier { drawn, taken } => {
                let value = drawn.sequence_values.get(*taken).copied();
                *taken += 1;
                // One that there was not is a draw all the same: what was drawn differs, whatever the call makes of the error.
                self.drawn.sequence_values.push(value.unwrap_or_default());
                return value.ok_or_else(|| Failure::raised("XX001", "the call drew fewer values of sequences before"));
            }
        };
        self.drawn.sequence_values.push(value);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minute of 2026, and one sequence.
    struct TestWorld;

    impl World for TestWorld {
        fn time(&self) -> WallTime {
            WallTime::of_second(1_769_900_340)
        }

        fn next_value(&self, _sequence: &Sequence) -> Result<i64, Error> {
            unreachable!("the code has no sequences")
        }

        fn next_value_of(&self, name: &str) -> Result<i64, Error> {
            Ok(name.len() as i64)
        }
    }

    /// The first numbers from seed 1234567, as other implementations of SplitMix64 give them.
    #[test]
    fn random_numbers_are_those_of_the_format() {
        let drawn = Drawn { seed: Some(1_234_567), ..Drawn::default() };
        let mut draws = Draws::new(Source::Earlier { drawn: &drawn, taken: 0 }, &[]);
        let numbers = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([(); 3].map(|()| draws.next_random()), numbers);
        assert_eq!(draws.into_drawn().seed, Some(1_234_567));
    }

    #[test]
    fn what_was_drawn_can_be_drawn_again() {
        let mut first = Draws::new(Source::World(&TestWorld), &[]);
        let seen = |draws: &mut Draws<'_>| {
            let sequence = draws.next_value_of("sequence").expect("there is a value");
            (draws.now(), draws.random().to_bits(), draws.uuid(), draws.now(), sequence)
        };
        let before = seen(&mut first);
        assert_eq!(before.0, before.3, "a call has one time");
        let drawn = first.into_drawn();
        let mut again = Draws::new(Source::Earlier { drawn: &drawn, taken: 0 }, &[]);
        assert_eq!(seen(&mut again), before);
        assert!(again.next_value_of("sequence").is_err(), "it drew one value");
    }
}
