//! What a checkpoint says about itself, while it runs and afterwards.

use std::fmt;
use std::sync::Arc;

use crate::config::CheckpointKind;
use crate::error::CheckpointError;
use crate::ids::{Epoch, Stamp};
use crate::units::{bytes, count};

/// A checkpoint that is valid.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CheckpointReport {
    /// Its number; each one has a larger one than those before.
    pub number: u64,
    /// Which state it holds.
    pub kind: CheckpointKind,
    /// The epoch at whose end that was, or RSN of a fuzzy checkpoint.
    pub boundary: u64,
    /// Everything in it has a stamp at or below this one.
    pub max_seen: Stamp,
    /// Rows.
    pub rows: u64,
    /// Of the rows, before compression.
    pub raw_bytes: u64,
    /// Of the files.
    pub bytes: u64,
    /// Files.
    pub parts: u32,
    /// From the beginning until it was valid, in seconds.
    pub seconds: f64,
    /// Of these, until the scan could begin: transactions of earlier epochs had to end.
    pub waited_seconds: f64,
}

impl fmt::Display for CheckpointReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "checkpoint {} ({:?} {}): {}, {} in {} of {}, {:.3} s, of which {:.3} s waited",
            self.number,
            self.kind,
            self.boundary,
            count(self.rows, "row"),
            bytes(self.raw_bytes),
            count(self.parts, "file"),
            bytes(self.bytes),
            self.seconds,
            self.waited_seconds,
        )
    }
}

/// What the checkpointer is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckpointState {
    /// Nothing.
    #[default]
    Idle,
    /// It waits for commits of this epoch, or earlier ones, to end.
    WaitsForCommits(Epoch),
    /// It reads rows and writes files.
    Writes,
    /// The files are complete; it waits until everything up to this stamp is durable in the log.
    WaitsForLog(Stamp),
}

impl fmt::Display for CheckpointState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckpointState::Idle => f.write_str("none is being taken"),
            CheckpointState::WaitsForCommits(epoch) => {
                write!(f, "one waits for the end of epoch {epoch} and of the commits in it")
            }
            CheckpointState::Writes => f.write_str("one is being written"),
            CheckpointState::WaitsForLog(stamp) => {
                write!(f, "one is written, and waits until everything up to stamp {stamp} is durable in the log")
            }
        }
    }
}

/// Checkpoints since the database was opened.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CheckpointMetrics {
    /// Checkpoints that became valid.
    pub taken: u64,
    /// Checkpoints that failed.
    pub failed: u64,
    /// Bytes of the files of those that became valid.
    pub bytes: u64,
    /// For how long checkpoints were being taken, the present one included.
    pub active_seconds: f64,
    /// What is being done now.
    pub state: CheckpointState,
    /// The last one that became valid.
    pub last: Option<CheckpointReport>,
    /// Why the last one that failed did.
    pub failure: Option<Arc<CheckpointError>>,
}
