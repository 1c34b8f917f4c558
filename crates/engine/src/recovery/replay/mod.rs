//! What becomes of the records that live: machines to which the passes over the log feed them.
//!
//! Absent: files, and the decision which records live.

pub(crate) mod kept_indexes;
pub(crate) mod machine;
mod row_map;
pub(crate) mod rows;
mod shards;
mod shuffle;
pub(crate) mod values;
pub(crate) mod waiting;

use crate::config::Config;
use crate::sizes::replay_waiting_bytes_max;
use crate::transaction::memory_limit::log_kept_bytes;
use waiting::WaitingDeltas;

/// The log is read in the order of stamps from so small a share of what may wait on.
const WAITING_ONE_IN: u64 = 16;

/// Returns how many bytes of changes may wait for their bases before machines are ahead.
fn waiting_bytes_max(config: &Config) -> u64 {
    replay_waiting_bytes_max().min(log_kept_bytes(config))
}

/// Whether anything worth mentioning waits, of which so much may.
fn is_waiting(waiting: &WaitingDeltas, bytes_max: u64) -> bool {
    waiting.memory_bytes() > bytes_max / WAITING_ONE_IN
}
