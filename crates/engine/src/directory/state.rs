//! How a directory was left.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::directory::manifest::Manifest;

/// Who has the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatabaseState {
    /// A process.
    Open,
    /// Nobody; it was closed.
    Closed,
    /// Nobody: the last process that had it did not close it. Or a process without a control socket.
    Crashed,
}

impl DatabaseState {
    /// As the manifest of a database that nobody has open tells.
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
