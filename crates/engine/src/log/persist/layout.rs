//! Where a new generation of the log goes.

use std::path::PathBuf;
use std::sync::Arc;

use osier_memory::Epochs;

use crate::config::Config;
use crate::directory::manifest::Manifest;
use crate::ids::{DatabaseId, Generation, Incarnation, Stamp};

/// Where a new generation of the log goes.
#[derive(Clone, Debug)]
pub(crate) struct LogLayout {
    /// The database.
    pub(crate) database: DatabaseId,
    /// A generation that no file belongs to yet.
    pub(crate) generation: Generation,
    /// The open that begins it.
    pub(crate) incarnation: Incarnation,
    /// The greatest stamp ever seen, discarded records included: new stamps are above it.
    pub(crate) floor: Stamp,
    /// One directory per stream; each exists.
    pub(crate) dirs: Vec<PathBuf>,
    /// The epochs of the transactions: above all that were seen.
    pub(crate) epochs: Arc<Epochs>,
}

impl LogLayout {
    /// Returns the newest generation of `manifest`.
    pub(crate) fn of(config: &Config, manifest: &Manifest, epochs: &Arc<Epochs>) -> LogLayout {
        LogLayout {
            database: manifest.database,
            generation: manifest.current.generation,
            incarnation: manifest.incarnation(),
            floor: manifest.current.floor,
            dirs: manifest.current_directories(&config.dirs[0]),
            epochs: epochs.clone(),
        }
    }
}
