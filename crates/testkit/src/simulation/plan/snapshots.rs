//! Transactions at snapshots: of their own, or of one that several share for long, while rows, keys, tables and indexes come
//! and go.

use fastrand::Rng;

use super::{KINDS, Plan, Shares};

/// The chance that a transaction reads a snapshot. Most seeds have none.
pub(super) fn share(rng: &mut Rng) -> f64 {
    [0.0, 0.0, 0.0, 0.1][rng.usize(0..4)]
}

impl Plan {
    /// The chance that a transaction reads a snapshot.
    pub fn snapshot_share(&self) -> f64 {
        self.snapshot_share
    }

    pub(super) fn snapshots(self) -> Plan {
        let mut weights: [u32; KINDS] = self.weights.map(|weight| weight.min(1));
        (weights[0], weights[1], weights[6], weights[12]) = (1, 2, 3, 3);
        let (abort, dropped) = (self.shares.abort.min(0.05), self.shares.dropped.min(0.05));
        let shares = Shares { read_only: 0.05, relaxed: 0.0, abort, dropped, ..self.shares };
        Plan {
            snapshot_share: 0.3,
            sessions: self.sessions.max(4),
            keys: self.keys.clamp(5, 12),
            steps_max: 800,
            operations_max: self.operations_max.clamp(2, 3),
            preempted_share: self.preempted_share.max(0.2),
            generations: self.generations.min(3),
            weights,
            shares,
            ..self
        }
    }
}
