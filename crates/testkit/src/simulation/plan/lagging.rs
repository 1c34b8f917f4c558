//! Streams whose stamps part: the sessions of the first have almost all turns, and write what those of the others do not read.
//!
//! Invariant: what the others share with the first is the sequence, of which they draw values that they have reserved. Rows,
//! and the leaves of the markers, are each side's own, so that nothing else raises a stamp.

use std::time::Duration;

use osier::failpoint::simulated::{Sizes, TreeSizes, Variant};

use super::super::operation::TransactionId;
use super::{Choices, KINDS, Plan, Shares};

/// What the first stream's transactions are numbered from.
const FIRST_AHEAD: u64 = 1 << 40;

impl Plan {
    pub(super) fn lagging(self, choices: &Choices) -> Plan {
        let keys = self.keys.max(5);
        let plan = self.drawing(choices);
        let mut weights = [0; KINDS];
        (weights[0], weights[6]) = (1, 6);
        let shares = Shares { abort: 0.0, dropped: 0.0, read_only: 0.0, ..plan.shares };
        Plan {
            lag: 0.97,
            sessions: 8,
            keys,
            operations_max: 2,
            savepoint_share: 0.0,
            indexed_share: 1.0,
            sequence_share: 0.3,
            procedure_share: 0.01,
            call_share: if plan.call_share > 0.0 { 0.95 } else { 0.0 },
            statements_max: 2,
            steps_max: 800,
            group_commit_interval: Duration::from_millis(20),
            weights,
            shares,
            ..plan
        }
    }

    /// Sizes with which neither read stamps nor leaves are common to both sides.
    pub(super) fn apart(variant: Variant) -> Variant {
        let sizes = Sizes { read_stamp_slots: 1 << 10, ..variant.sizes };
        let trees = TreeSizes { leaf_slots: 4, ..variant.trees };
        Variant { sizes, trees, ..variant }
    }

    /// The share of turns that a session of a stream lets pass.
    pub fn lag_of(&self, stream: u32) -> f64 {
        if stream == 0 { 0.0 } else { self.lag }
    }

    /// The share of calls among the transactions of a stream.
    pub fn call_share_of(&self, stream: u32) -> f64 {
        if self.lag > 0.0 && stream == 0 { 0.0 } else { self.call_share }
    }

    /// The transaction of a number, on a stream.
    pub fn transaction(&self, number: u64, stream: u32) -> TransactionId {
        let is_ahead = self.lag > 0.0 && stream == 0;
        TransactionId(if is_ahead { FIRST_AHEAD + number } else { number })
    }
}
