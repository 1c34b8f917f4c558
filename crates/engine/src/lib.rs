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

pub mod call;
mod catalog;
pub mod checkpoint;
mod concurrency;
pub mod config;
mod database;
mod directory;
mod error;
pub mod failpoint;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod ids;
pub mod io;
pub mod log;
mod operate;
pub mod procedure;
pub mod recovery;
mod sizes;
pub mod table;
mod transaction;
mod units;

pub use catalog::sequence::Sequence;
pub use checkpoint::CheckpointReport;
pub use config::{Config, ConfigError, Create, Protocol};
pub use database::{Database, Metrics};
pub use directory::DirectoryError;
pub use error::{
    BackupError, CheckpointError, Contended, DivergedRow, Error, ExportError, LogError, LogFailure, ProcedureError,
    RecoveryError, SalvageError, SnapshotEnd, TransactionError,
};
pub use log::acknowledge::Receipt;
pub use log::persist::{LogMetrics, StreamMetrics};
pub use operate::backup::{BackupReport, RestoreReport, backup_closed, restore, restore_with};
pub use operate::export::{ExportReport, ExportedTable, ImportReport, import};
pub use operate::salvage::{SalvageReport, salvage, salvage_with};
pub use operate::status::{Status, status};
pub use operate::{backup, control, inspect, salvage, status};
pub use osier_memory::{MemoryUse, task};
pub use recovery::{RecoveryPlan, RecoveryReport, ReplaySimulation, Until, explain, simulate_replay};
pub use table::{Row, Schema, SchemaError, Table, Value};
pub use transaction::advisory;
pub use transaction::backlog::BacklogMetrics;
pub use transaction::debt::RecoveryDebt;
pub use transaction::figures::ProcedureMetrics;
pub use transaction::memory_limit::MemoryMetrics;
pub use transaction::open_snapshots::{OldestSnapshot, SnapshotMetrics};
pub use transaction::snapshot::Snapshot;
pub use transaction::{
    Changes, Durability, SampleLimits, Savepoint, Scan, SequenceOptions, Session, Transaction, TransactionOptions,
};
