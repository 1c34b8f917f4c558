//! How far what was saved reaches.

use serde::Serialize;

use crate::config::CheckpointKind;
use crate::directory::manifest::{CheckpointEntry, NEVER};
use crate::ids::{Epoch, WallTime};

/// The newest that a salvaged state holds.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Reach {
    /// The greatest epoch of a transaction of the log that is in it, or the one at whose end the checkpoint was taken.
    pub epoch: u64,
    /// When that transaction's batch was closed, or the checkpoint was taken; `None` where nothing says.
    pub time: Option<String>,
}

impl Reach {
    pub(super) fn new(epoch: Epoch, time: WallTime) -> Reach {
        Reach { epoch: epoch.0, time: (time != WallTime::UNKNOWN).then(|| time.to_string()) }
    }

    /// That of a checkpoint, where its epoch is known.
    pub(super) fn of_checkpoint(entry: &CheckpointEntry) -> Option<(Epoch, WallTime)> {
        let epoch = match entry.kind {
            CheckpointKind::Epoch => Epoch(entry.boundary),
            CheckpointKind::Fuzzy => Some(entry.max_epoch).filter(|epoch| *epoch != NEVER)?,
        };
        Some((epoch, WallTime::of_second(entry.taken_seconds)))
    }
}
