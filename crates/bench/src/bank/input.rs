//! The inputs of the two transactions, half of each.

use std::ops::RangeInclusive;

use fastrand::Rng;

use super::Bank;
use crate::random::worker_rng;

/// The names of the transactions, in the order of [`Request::kind`].
pub const KINDS: [&str; 2] = ["transfer", "deposit"];

/// What is transferred, in cents.
pub const TRANSFER_AMOUNT: RangeInclusive<i64> = 100..=10_000;
/// What is deposited, in cents.
pub const DEPOSIT_AMOUNT: RangeInclusive<i64> = 100..=100_000;

/// One transaction's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A person pays the spouse.
    Transfer {
        /// The person.
        src: i64,
        /// In cents.
        amount: i64,
    },
    /// Somebody deposits in a person's current account.
    Deposit {
        /// The person.
        name: i64,
        /// In cents.
        amount: i64,
        /// Where from.
        nation: u32,
    },
}

impl Request {
    /// An index into [`KINDS`].
    pub fn kind(&self) -> usize {
        match self {
            Request::Transfer { .. } => 0,
            Request::Deposit { .. } => 1,
        }
    }
}

/// Draws the requests of one worker without end.
pub(super) struct Requests {
    rng: Rng,
    people: i64,
    nations: u32,
}

impl Requests {
    pub(super) fn new(config: &Bank, worker: u32, seed: u64) -> Requests {
        let Bank { people, nations, .. } = *config;
        let people = i64::try_from(people).expect("people have numbers of type bigint");
        Requests { rng: worker_rng(seed, worker), people, nations }
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let rng = &mut self.rng;
        let person = rng.i64(1..=self.people);
        Some(if rng.bool() {
            Request::Transfer { src: person, amount: rng.i64(TRANSFER_AMOUNT) }
        } else {
            Request::Deposit { name: person, amount: rng.i64(DEPOSIT_AMOUNT), nation: rng.u32(1..=self.nations) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_nations_exist_and_half_of_the_requests_are_deposits() {
        let bank = Bank { people: 100, nations: 5, has_journal: false };
        let mut counts = [0; 2];
        let mut by_nation = [0; 5];
        for request in Requests::new(&bank, 3, 1).take(10_000) {
            counts[request.kind()] += 1;
            let (person, amount, range) = match request {
                Request::Transfer { src, amount } => (src, amount, TRANSFER_AMOUNT),
                Request::Deposit { name, amount, nation } => {
                    by_nation[nation as usize - 1] += 1;
                    (name, amount, DEPOSIT_AMOUNT)
                }
            };
            assert!((1..=100).contains(&person) && range.contains(&amount), "{request:?}");
        }
        assert!(counts.iter().all(|count| (4800..5200).contains(count)), "{counts:?}");
        assert!(by_nation.iter().all(|count| (850..1150).contains(count)), "{by_nation:?}");
    }
}
