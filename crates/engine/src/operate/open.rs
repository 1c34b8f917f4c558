//! Opening a database, as its users do: what a restore or a salvage does not do for itself.

use crate::config::Config;
use crate::database::Database;
use crate::directory;
use crate::error::Error;

impl Database {
    /// Opens the database in `config.dirs`, recovering it where it was not closed, or creates one there.
    ///
    /// # Errors
    /// [`Error::Config`] for a configuration that cannot be opened, [`Error::Recovery`] where the directories do not hold
    /// a sound database or are in use by another process, [`Error::Log`] where they cannot be written.
    pub fn open(config: Config) -> Result<Database, Error> {
        directory::refuse_unfinished(&config)?;
        let database = Database::claim_and_open(config)?;
        if database.config().control_socket {
            database.listen()?;
        }
        Ok(database)
    }
}
