//! What acknowledged transactions of YCSB on stamped rows prove, and looking for it after a crash.

use super::ACCESSES_MAX;
use crate::crash::{FACT_BYTES, Fact};

/// A version of a row that an acknowledged transaction wrote or saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct YcsbFact {
    /// The row.
    pub key: u64,
    /// Its version.
    pub version: u64,
    /// Whether it was written, not seen.
    pub is_write: bool,
}

/// The versions of one transaction; empty where rows are not stamped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    facts: [YcsbFact; ACCESSES_MAX],
    count: u8,
}

impl Evidence {
    /// Adds a version.
    pub fn add(&mut self, fact: YcsbFact) {
        self.facts[usize::from(self.count)] = fact;
        self.count += 1;
    }
}

impl crate::crash::Evidence for Evidence {
    type Fact = YcsbFact;

    fn facts(&self, note: impl FnMut(YcsbFact)) {
        self.facts[..usize::from(self.count)].iter().copied().for_each(note);
    }
}

impl Fact for YcsbFact {
    fn encode(&self) -> [u8; FACT_BYTES] {
        let mut bytes = [0; FACT_BYTES];
        bytes[..8].copy_from_slice(&self.key.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.version.to_le_bytes());
        bytes[16] = 1 + u8::from(self.is_write);
        bytes
    }

    fn decode(bytes: &[u8; FACT_BYTES]) -> Option<YcsbFact> {
        let (key, rest) = bytes.split_first_chunk::<8>()?;
        let (version, rest) = rest.split_first_chunk::<8>()?;
        let is_write = match rest {
            [1, 0, ..] => false,
            [2, 0, ..] => true,
            _ => return None,
        };
        Some(YcsbFact { key: u64::from_le_bytes(*key), version: u64::from_le_bytes(*version), is_write })
    }
}

/// What is known of each row: the version that recovery must find at least.
#[derive(Debug)]
pub struct Versions {
    /// By key: the largest version that was acknowledged or recovered so far.
    known: Vec<u64>,
    /// Written versions of this round, to find two writers of one version.
    written: Vec<(u64, u64)>,
}

/// What came out of comparing a ledger with a recovered row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// An acknowledged version is missing.
    Lost {
        /// The row.
        key: u64,
        /// What was acknowledged.
        acknowledged: u64,
        /// What is there; `None`: no row, or one whose checksum does not match.
        found: Option<u64>,
    },
    /// Two transactions wrote the same version of a row, or one that was recovered before: not serializable.
    WrittenTwice {
        /// The row.
        key: u64,
        /// The version.
        version: u64,
    },
}

impl Versions {
    /// Nothing known of `records` rows.
    pub fn new(records: u64) -> Versions {
        Versions { known: vec![0; records as usize], written: Vec::new() }
    }

    /// Takes in what a round acknowledged. Returns what cannot be, whatever is recovered.
    pub fn add(&mut self, facts: &[YcsbFact]) -> Vec<Finding> {
        self.written.clear();
        self.written.extend(facts.iter().filter(|fact| fact.is_write).map(|fact| (fact.key, fact.version)));
        self.written.sort_unstable();
        let twice = self.written.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        let again = self.written.iter().copied().filter(|(key, version)| *version <= self.known[*key as usize]);
        let findings = twice.chain(again).map(|(key, version)| Finding::WrittenTwice { key, version }).collect();
        for fact in facts {
            let known = &mut self.known[fact.key as usize];
            *known = fact.version.max(*known);
        }
        findings
    }

    /// Compares a recovered row, whose version is then known.
    pub fn look(&mut self, key: u64, found: Option<u64>) -> Option<Finding> {
        let known = &mut self.known[key as usize];
        let acknowledged = *known;
        match found {
            Some(version) if version >= acknowledged => {
                *known = version;
                None
            }
            _ => Some(Finding::Lost { key, acknowledged, found }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_survive_encoding() {
        for is_write in [false, true] {
            let fact = YcsbFact { key: u64::MAX, version: 12, is_write };
            assert_eq!(YcsbFact::decode(&fact.encode()), Some(fact));
        }
        assert_eq!(YcsbFact::decode(&[0; FACT_BYTES]), None);
    }

    #[test]
    fn a_lost_write_and_a_lost_read_are_found() {
        let write = |key, version| YcsbFact { key, version, is_write: true };
        let mut versions = Versions::new(3);
        assert_eq!(versions.add(&[write(0, 1), write(0, 2), YcsbFact { key: 1, version: 5, is_write: false }]), []);
        assert_eq!(versions.look(0, Some(2)), None);
        assert_eq!(versions.look(1, Some(4)), Some(Finding::Lost { key: 1, acknowledged: 5, found: Some(4) }));
        assert_eq!(versions.look(2, Some(9)), None);
        assert_eq!(versions.look(2, Some(8)), Some(Finding::Lost { key: 2, acknowledged: 9, found: Some(8) }));
        assert_eq!(versions.look(0, None), Some(Finding::Lost { key: 0, acknowledged: 2, found: None }));
    }

    #[test]
    fn two_writers_of_one_version_are_found() {
        let write = |key, version| YcsbFact { key, version, is_write: true };
        let mut versions = Versions::new(2);
        assert_eq!(versions.add(&[write(1, 7), write(1, 7)]), [Finding::WrittenTwice { key: 1, version: 7 }]);
        assert_eq!(versions.look(1, Some(8)), None);
        assert_eq!(versions.add(&[write(1, 8)]), [Finding::WrittenTwice { key: 1, version: 8 }]);
        assert_eq!(versions.add(&[write(1, 9)]), []);
    }
}
