//! The calls, as VoltDB's client makes them up: any telephone of any area code, and now and then nobody that one can vote for.

use fastrand::Rng;

use super::Voter;
use super::area_codes::area_codes;
use crate::random::worker_rng;

/// Telephone numbers of an area code at most: seven digits.
pub const PHONES_MAX: u32 = 10_000_000;
/// Who is voted for in one call of a hundred, and does not exist.
pub const NO_CONTESTANT: i64 = 999;

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoteInput {
    /// The telephone: area code and seven digits.
    pub phone_number: i64,
    /// Who is voted for.
    pub contestant_number: i64,
}

/// Draws the requests of one worker without end.
pub(super) struct Requests {
    rng: Rng,
    area_codes: Vec<i64>,
    contestants: i64,
    phones: i64,
}

impl Requests {
    pub(super) fn new(config: &Voter, worker: u32, seed: u64) -> Requests {
        let Voter { contestants, phones, .. } = *config;
        assert!((1..=PHONES_MAX).contains(&phones) && i64::from(contestants) < NO_CONTESTANT, "{config:?}");
        let area_codes = area_codes().map(|(code, _)| code).collect();
        Requests { rng: worker_rng(seed, worker), area_codes, contestants: contestants.into(), phones: phones.into() }
    }
}

impl Iterator for Requests {
    type Item = VoteInput;

    fn next(&mut self) -> Option<VoteInput> {
        let rng = &mut self.rng;
        let area_code = self.area_codes[rng.usize(..self.area_codes.len())];
        let phone_number = area_code * i64::from(PHONES_MAX) + rng.i64(0..self.phones);
        let contestant = rng.i64(1..=self.contestants);
        let contestant_number = if rng.u8(0..100) == 0 { NO_CONTESTANT } else { contestant };
        Some(VoteInput { phone_number, contestant_number })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn calls_come_from_all_area_codes_and_one_in_a_hundred_is_for_nobody() {
        let voter = Voter { contestants: 6, votes_max: 2, phones: 1000 };
        let calls: Vec<_> = Requests::new(&voter, 0, 5).take(50_000).collect();
        let codes: BTreeSet<_> = calls.iter().map(|call| call.phone_number / i64::from(PHONES_MAX)).collect();
        assert_eq!(codes, area_codes().map(|(code, _)| code).collect());
        assert!(calls.iter().all(|call| call.phone_number % i64::from(PHONES_MAX) < 1000));
        let for_nobody = calls.iter().filter(|call| call.contestant_number == NO_CONTESTANT).count();
        assert!((400..600).contains(&for_nobody), "{for_nobody}");
        for number in 1..=6 {
            let votes = calls.iter().filter(|call| call.contestant_number == number).count();
            assert!(votes.abs_diff(8250) < 500, "{votes} for contestant {number}");
        }
        assert!(calls.iter().all(|call| call.contestant_number <= 6 || call.contestant_number == NO_CONTESTANT));
    }
}
