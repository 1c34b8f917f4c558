//! Records that a database was taken back to an epoch, and which epochs that discarded.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A decision to go back to an epoch that was taken before, and what it gave up. It is known as long as a part of the log from
/// before it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TakenBack {
    /// The epoch that the database was taken back to.
    pub to: u64,
    /// The last epoch that was given up; what came later counts.
    pub last: u64,
}

impl TakenBack {
    /// Whether the transactions of an epoch were given up.
    pub fn gave_up(&self, epoch: u64) -> bool {
        self.to < epoch && epoch <= self.last
    }
}

impl fmt::Display for TakenBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TakenBack { to, last } = self;
        write!(f, "taken back to epoch {to}: what later epochs up to {last} held is gone")
    }
}
