//! Osier: a serializable main-memory database whose durability is parallel from end to end.
//!
//! ```no_run
//! use osier::table::{Schema, Type, Value};
//! use osier::{Config, Database};
//!
//! # fn main() -> Result<(), osier::Error> {
//! let db = Database::open(Config::new("accounts.osier").streams(2))?;
//! let schema = Schema::builder("account").column("id", Type::Int64).column("cents", Type::Int64).primary_key(["id"]);
//! let account = db.create_table(schema.build()?)?;
//! let ((), receipt) = db.run(|tx| tx.insert(&account, &[Value::Int(1), Value::Int(500)]))?;
//! receipt.wait()?; // on disk, with everything the transaction read
//! db.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! The life of a transaction, file by file, is in ARCHITECTURE.md.

mod acknowledge;
pub mod backup;
mod catalog;
pub mod checkpoint;
mod concurrency;
pub mod config;
pub mod control;
mod database;
mod directory;
mod error;
pub mod failpoint;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod ids;
pub mod io;
mod limits;
pub mod log;
mod metrics;
pub mod persist;
pub mod recovery;
pub mod salvage;
pub mod status;
pub mod table;
mod ticker;
mod transaction;
mod wall_time;

pub use acknowledge::Receipt;
pub use backup::{BackupError, BackupReport, RestoreReport, backup_closed, restore};
pub use checkpoint::{CheckpointError, CheckpointReport};
pub use config::{Config, ConfigError, Create, Protocol};
pub use database::Database;
pub use directory::DirectoryError;
pub use error::Error;
pub use limits::MemoryMetrics;
pub use log::{LogError, LogMetrics, StreamMetrics};
pub use metrics::Metrics;
pub use osier_memory::MemoryUse;
pub use recovery::{RecoveryError, RecoveryPlan, RecoveryReport, Until, explain};
pub use salvage::{SalvageError, SalvageReport, salvage};
pub use status::{Status, status};
pub use table::{Row, Schema, SchemaError, Table, Value};
pub use transaction::{
    Changes, Contended, Durability, Savepoint, Scan, Session, Transaction, TransactionError, TransactionOptions,
};
