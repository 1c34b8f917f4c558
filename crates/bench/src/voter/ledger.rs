//! What acknowledged calls prove, and looking for it after a crash.

use osier::Transaction;
use osier::table::Value;

use super::{Tables, votes, votes_by_phone_number};
use crate::attempt::Failure;
use crate::crash::{self, FACT_BYTES, Fact};

/// What an acknowledged call proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A vote was entered.
    Vote {
        /// The telephone.
        phone_number: i64,
        /// The number of the vote.
        vote_id: i64,
        /// Who was voted for.
        contestant_number: i64,
    },
    /// The telephone had cast all of its votes: they must not have been shown before they were durable.
    Refused {
        /// The telephone.
        phone_number: i64,
        /// How many votes it had cast.
        num_votes: i64,
    },
    /// Nothing that stays.
    Nothing,
}

/// One fact: a [`Evidence::Vote`] or a [`Evidence::Refused`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoterFact {
    /// See [`Evidence::Vote`].
    Vote {
        /// The telephone.
        phone_number: i64,
        /// The number of the vote.
        vote_id: i64,
        /// Who was voted for.
        contestant_number: i64,
    },
    /// See [`Evidence::Refused`].
    Refused {
        /// The telephone.
        phone_number: i64,
        /// How many votes it had cast.
        num_votes: i64,
    },
}

/// In place of the contestant.
const REFUSED: i64 = -1;

impl crash::Evidence for Evidence {
    type Fact = VoterFact;

    fn facts(&self, mut note: impl FnMut(VoterFact)) {
        match *self {
            Evidence::Vote { phone_number, vote_id, contestant_number } => {
                note(VoterFact::Vote { phone_number, vote_id, contestant_number });
            }
            Evidence::Refused { phone_number, num_votes } => note(VoterFact::Refused { phone_number, num_votes }),
            Evidence::Nothing => {}
        }
    }
}

impl Fact for VoterFact {
    fn encode(&self) -> [u8; FACT_BYTES] {
        let words = match *self {
            VoterFact::Vote { phone_number, vote_id, contestant_number } => [phone_number, vote_id, contestant_number],
            VoterFact::Refused { phone_number, num_votes } => [phone_number, num_votes, REFUSED],
        };
        let mut bytes = [0; FACT_BYTES];
        for (at, word) in bytes.chunks_exact_mut(8).zip(words) {
            at.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8; FACT_BYTES]) -> Option<VoterFact> {
        let (words, _) = bytes.as_chunks::<8>();
        let &[phone_number, number, contestant] = words else { return None };
        let [phone_number, number, contestant_number] = [phone_number, number, contestant].map(i64::from_le_bytes);
        match contestant_number {
            REFUSED => Some(VoterFact::Refused { phone_number, num_votes: number }),
            1.. => Some(VoterFact::Vote { phone_number, vote_id: number, contestant_number }),
            _ => None,
        }
    }
}

impl VoterFact {
    /// Whether the database still knows it.
    pub fn is_found(&self, tx: &Transaction<'_>, tables: &Tables) -> Result<bool, Failure> {
        match *self {
            VoterFact::Vote { phone_number, vote_id, contestant_number } => {
                let vote = tx.get(&tables.votes, &[Value::Int(phone_number), Value::Int(vote_id)])?;
                Ok(vote.is_some_and(|vote| vote.int(votes::CONTESTANT_NUMBER) == contestant_number))
            }
            VoterFact::Refused { phone_number, num_votes } => {
                let cast = tx.get(&tables.votes_by_phone_number, &[Value::Int(phone_number)])?;
                Ok(cast.is_some_and(|row| row.int(votes_by_phone_number::NUM_VOTES) >= num_votes))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_survive_encoding() {
        let vote = VoterFact::Vote { phone_number: 9_079_999_999, vote_id: (9 << 44) | 12, contestant_number: 6 };
        for fact in [vote, VoterFact::Refused { phone_number: 2_010_000_000, num_votes: 2 }] {
            assert_eq!(VoterFact::decode(&fact.encode()), Some(fact));
        }
        assert_eq!(VoterFact::decode(&[0; FACT_BYTES]), None);
    }
}
