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

/// What recovery did.
#[derive(Clone, Debug, Default)]
pub struct RecoveryReport {
    /// Records installed.
    pub replayed: u64,
    /// Rows that secondary indexes were built from.
    pub indexed: u64,
    /// Time it took to build them.
    pub index_time: std::time::Duration,
}

/// Why recovery failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoveryError {
    /// There is something to recover.
    #[error("generation {0} needs recovery")]
    Needed(crate::ids::Generation),
}

impl RecoveryError {
    /// The SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        "XX001"
    }
}

/// What recovery leaves.
pub(crate) struct Recovered {
    pub(crate) manifest: crate::persist::manifest::Manifest,
    pub(crate) report: RecoveryReport,
}

pub(crate) fn run(
    _config: &crate::Config,
    manifest: crate::persist::manifest::Manifest,
    _store: &crate::table::store::Store,
) -> Result<Recovered, RecoveryError> {
    Err(RecoveryError::Needed(manifest.current.generation))
}
