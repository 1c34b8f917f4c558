//! From the files of a crashed database to its tables.

/// A stage of recovery, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecoveryPhase {
    /// Reading the manifest.
    Manifest,
    /// Finding the valid prefix of every stream.
    Scan,
    /// Deciding which transactions count as committed.
    Cut,
    /// Making the tails durable and freezing the generation.
    Persist,
    /// Installing rows.
    Replay,
    /// Building secondary indexes.
    Index,
    /// Checking the result.
    Verify,
}

/// How far recovery has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The present stage.
    pub phase: RecoveryPhase,
    /// What is done of it, in bytes (scan, replay) or rows (index).
    pub done: u64,
    /// What there is to do in it.
    pub total: u64,
}
