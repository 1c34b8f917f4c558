//! Whether a database is open, was closed, or crashed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::directory::manifest::Manifest;

/// Whether a process has the database open, and how the last one left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatabaseState {
    /// A process has it open.
    Open,
    /// No process has it open; it was closed.
    Closed,
    /// The last process that had it open did not close it; or a process without a control socket still has it open.
    Crashed,
}

impl DatabaseState {
    /// Returns what the manifest says of a database that no process has open.
    pub(crate) fn of(manifest: &Manifest) -> DatabaseState {
        if manifest.is_closed() { DatabaseState::Closed } else { DatabaseState::Crashed }
    }
}

impl fmt::Display for DatabaseState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DatabaseState::Open => "open",
            DatabaseState::Closed => "closed",
            DatabaseState::Crashed => "not closed: its process died, or has it open without a control socket",
        })
    }
}
