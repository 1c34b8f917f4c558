//! What becomes of the records that live: machines to which the passes over the log feed them.
//!
//! Absent: files, and the decision which records live.

pub(crate) mod machine;
pub(crate) mod values;
pub(crate) mod waiting;
