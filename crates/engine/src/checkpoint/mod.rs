//! Checkpoints: the rows of a database in files, so that recovery need not read the log from its beginning.
//!
//! ```text
//! epoch:  announce E -> wait until every transaction up to E has ended -> note the greatest stamp -> scan the state of E
//!         -> sync the files -> wait until that stamp is stable -> manifest -> remove the checkpoint before
//! fuzzy:  RSN := CSN -> scan every record when nobody holds its lock, noting the greatest stamp -> sync the files
//!         -> wait until that stamp is stable -> manifest -> remove the checkpoint before
//! ```
//!
//! Invariants: K1 to K4 in docs/protocols.md, with the arguments. In short: what a checkpoint holds is exactly a state of the
//! database (K1) that no crash can discard any more when it counts (K2); nothing goes before that (K3); and nothing that recovery
//! skips is younger (K4).
//!
//! Deliberately absent: what becomes of segments that are not needed any more. The log's preparer makes blanks of them.

mod checkpoints;
mod faults;
pub(crate) mod files;
pub(crate) mod format;
pub(crate) mod loader;
mod pace;
mod part;
mod report;
mod requests;
pub(crate) mod retention;
mod scan;
mod status;
mod task;
mod writer;

pub(crate) use checkpoints::Checkpoints;
pub use report::{CheckpointMetrics, CheckpointReport, CheckpointState};
pub use status::CheckpointStatus;
pub(crate) use task::Inherited;
