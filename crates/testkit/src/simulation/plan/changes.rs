//! Whether generations differ in how they log and isolate.
//!
//! Invariant: it is drawn from numbers of its own, so that the rest of a plan does not depend on it. Seeds that hunt for a
//! mutation do without, unless their profile says so.

use fastrand::Rng;

use super::{Choices, Plan, Profile, Shares};

/// What changes from one generation to the next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes {
    /// Protocol, number of streams and payload.
    pub log: bool,
    /// The concurrency control, and who waits for whom.
    pub control: bool,
}

impl Changes {
    pub(super) fn draw(rng: &mut Rng, choices: &Choices) -> Changes {
        let is_free = choices.mutations.is_empty() && choices.profile.is_none() && choices.streams.is_none();
        let log = is_free && rng.u8(0..8) == 0 || choices.profile == Some(Profile::Changing);
        let is_chosen = choices.control.is_some() || choices.locking.is_some();
        let control = !is_chosen && (log || is_free && rng.u8(0..8) == 0);
        Changes { log, control }
    }
}

impl Plan {
    /// Many generations, with calls, and tables that are created and filled by one transaction.
    pub(super) fn changing(self, choices: &Choices) -> Plan {
        let plan = self.calling(choices);
        let mut weights = plan.weights;
        (weights[5], weights[6], weights[15]) = (2, 2, 8);
        let shares = Shares { awaited: 0.5, ..plan.shares };
        let generations = plan.generations.max(5);
        Plan { generations, extra_share: 0.6, operations_max: 6, weights, shares, ..plan }
    }
}
