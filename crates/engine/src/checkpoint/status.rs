//! What a valid checkpoint is, for people and for other processes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::CheckpointReport;
use crate::config::CheckpointKind;
use crate::directory::manifest::CheckpointEntry;
use crate::ids::WallTime;
use crate::units::{bytes, count};

/// A valid checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CheckpointStatus {
    /// Its number.
    pub number: u64,
    /// Which state it holds.
    pub kind: CheckpointKind,
    /// The epoch at whose end that was, or RSN of a fuzzy checkpoint.
    pub boundary: u64,
    /// When it was taken.
    pub taken: String,
    /// How long ago, in seconds.
    pub age_seconds: u64,
    /// Its rows.
    pub rows: u64,
    /// Their bytes before compression.
    pub raw_bytes: u64,
    /// Of the files.
    pub bytes: u64,
    /// The files.
    pub parts: u64,
}

impl CheckpointStatus {
    pub(crate) fn of(entry: &CheckpointEntry, now: WallTime) -> CheckpointStatus {
        CheckpointStatus {
            number: entry.number,
            kind: entry.kind,
            boundary: entry.boundary,
            taken: WallTime(entry.taken_seconds * 1_000_000).to_string(),
            age_seconds: now.seconds().saturating_sub(entry.taken_seconds),
            rows: entry.rows,
            raw_bytes: entry.raw_bytes,
            bytes: entry.parts.iter().map(|part| part.bytes).sum(),
            parts: entry.parts.len() as u64,
        }
    }

    /// Of one that was taken just now.
    pub(crate) fn taken(report: &CheckpointReport, now: WallTime) -> CheckpointStatus {
        CheckpointStatus {
            number: report.number,
            kind: report.kind,
            boundary: report.boundary,
            taken: now.to_string(),
            age_seconds: 0,
            rows: report.rows,
            raw_bytes: report.raw_bytes,
            bytes: report.bytes,
            parts: report.parts.into(),
        }
    }
}

impl fmt::Display for CheckpointStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CheckpointStatus { number, kind, boundary, taken, age_seconds, rows, parts, .. } = self;
        let kind = match kind {
            CheckpointKind::Epoch => format!("the end of epoch {boundary}"),
            CheckpointKind::Fuzzy => format!("fuzzy, from stamp {boundary} on"),
        };
        let (rows, bytes, parts) = (count(*rows, "row"), bytes(self.bytes), count(*parts, "file"));
        write!(f, "checkpoint {number}: {kind}, {rows}, {bytes} in {parts}, taken {taken} ({age_seconds} s ago)")
    }
}
