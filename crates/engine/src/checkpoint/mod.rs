//! Checkpoints: the rows of a database in files, so that recovery need not read the log from its beginning.
//!
//! ```text
//! epoch:  announce E -> wait until every transaction up to E has ended -> note the greatest stamp -> scan the state of E
//!         -> sync the files -> wait until that stamp is stable -> manifest -> remove the checkpoint before
//! fuzzy:  RSN := CSN -> scan every record when nobody holds its lock, noting the greatest stamp -> sync the files
//!         -> wait until that stamp is stable -> manifest -> remove the checkpoint before
//! ```
//!
//! Invariants (docs/protocols.md):
//! - **K1** An epoch checkpoint holds what the transactions with an epoch up to E left behind, no more and no less; a fuzzy
//!   one holds for every key a version at least as new as that of the last transaction with a stamp up to RSN.
//! - **K2** A checkpoint counts when a manifest names it, which is stored only when its files and their directories are
//!   synced and everything that it holds, absences included, is stable. Nothing that a crash could discard is in it.
//! - **K3** The checkpoint before, and the segments and generations whose every record the new one covers, go only after the
//!   manifest that no longer names them is durable. A segment that was left before the boundary was drawn holds epochs up to
//!   it; one whose successor has a floor up to RSN holds stamps up to that.
//! - **K4** Epochs go on above E after recovery and stamps above `max_seen`: what a checkpoint makes recovery skip is
//!   never younger than the checkpoint.
//!
//! Deliberately absent: the end of what is not needed any more, which the log's preparer makes into blank segments.

mod checkpoints;
mod control;
mod faults;
pub(crate) mod files;
pub(crate) mod format;
pub(crate) mod loader;
mod pace;
mod part;
mod report;
pub(crate) mod retention;
mod scan;
mod status;
mod task;
mod writer;

pub(crate) use checkpoints::Checkpoints;
pub use report::{CheckpointMetrics, CheckpointReport, CheckpointState};
pub use status::CheckpointStatus;
pub(crate) use task::Inherited;
