//! How a seed calls procedures, and whether calls are logged.
//!
//! Invariant: it is drawn from numbers of its own, so that the rest of a plan does not depend on it. Seeds that hunt for a
//! mutation do without, unless what is logged or their profile says so.

use fastrand::Rng;
use osier::Protocol;
use osier::config::{CheckpointKind, Logged, RecoveryKind};

use super::{Changes, Checkpoints, Choices, Declared, Generator, Operation, Plan, Profile, TransactionId, procedures};

impl Plan {
    /// The plan with calls of procedures, if they are drawn.
    pub(super) fn with_calls(self, rng: &mut Rng, choices: &Choices) -> Plan {
        let kind = rng.u8(0..8);
        let calls_log = choices.logged.filter(|logged| *logged != Logged::Physiological);
        let is_calling = |profile| matches!(profile, Profile::Calling | Profile::Instant | Profile::Changing);
        let is_chosen = calls_log.is_some() || choices.profile.is_some_and(is_calling);
        let has_calls = is_chosen || choices.mutations.is_empty() && kind < 3;
        // From numbers of its own, as a plan's.
        let is_adaptive = Rng::with_seed(rng.clone().u64(..).rotate_left(23)).u8(0..3) == 0;
        let commands = if is_adaptive { Logged::Adaptive } else { Logged::Commands };
        let drawn = if is_chosen || kind < 2 { commands } else { Logged::Values };
        let wanted = choices.logged.map_or(drawn, |_| calls_log.unwrap_or_default());
        let indexed_is_read = Rng::with_seed(rng.clone().u64(..).rotate_left(41)).u8(0..4) == 0;
        let is_on_streams = rng.bool();
        let is_taurus = choices.mutations.is_empty() && Rng::with_seed(rng.clone().u64(..).rotate_left(31)).bool();
        let total = match (is_on_streams, is_taurus) {
            (true, false) => Protocol::Gsn,
            (true, true) => Protocol::Taurus,
            (false, _) => Protocol::Serial,
        };
        let (streams, shares) = (rng.u32(1..=4), (rng.usize(0..4), rng.usize(0..3), rng.usize(0..3)));
        let hashes = rng.usize(0..3);
        let changes = rng.u8(0..4) == 0 && choices.mutations.is_empty() && choices.streams.is_none();
        if !has_calls {
            return self;
        }
        let is_total = |protocol| matches!(protocol, Protocol::Gsn | Protocol::Serial | Protocol::Taurus);
        // Who asks for commands and for no protocol gets one that has them.
        let protocol = if is_chosen && choices.protocol.is_none() { total } else { self.protocol };
        let logged = if is_total(protocol) { wanted } else { Logged::Values };
        let streams = match protocol {
            Protocol::Serial => 1,
            _ if protocol == self.protocol => self.streams,
            _ => choices.streams.unwrap_or(streams),
        };
        let epochs = |checkpoints| Checkpoints { kind: CheckpointKind::Epoch, ..checkpoints };
        Plan {
            protocol,
            logged,
            streams,
            checkpoints: if protocol.completes_fuzzy_checkpoints() {
                self.checkpoints
            } else {
                self.checkpoints.map(epochs)
            },
            command_hash_interval: [0, 1, 3][hashes],
            call_share: [0.2, 0.5, 0.8, 0.9][shares.0],
            changes: Changes { log: self.changes.log || changes, ..self.changes },
            procedure_share: [0.05, 0.15, 0.3][shares.1],
            statements_max: [2, 6, 14][shares.2],
            indexed_is_read,
            ..self
        }
    }

    /// Short procedures that all depend on each other, and what changes their definitions.
    pub(super) fn calling(self, choices: &Choices) -> Plan {
        let before = self.clone();
        let plan = self.hot(choices);
        let weights = before.weights.map(|weight| weight.max(1));
        let generations = before.generations.max(4);
        Plan {
            keys: before.keys.min(5),
            operations_max: 3,
            generations,
            indexed_share: 0.4,
            extra_share: if before.extra_share > 0.0 { 0.3 } else { 0.0 },
            sequence_share: before.sequence_share.max(0.05),
            preempted_share: before.preempted_share.max(0.1),
            streams: before.streams,
            weights,
            shares: super::Shares { abort: 0.05, ..plan.shares },
            ..plan
        }
    }

    /// What procedures are made for.
    pub fn generator(&self) -> Generator {
        let lags = self.lag > 0.0;
        Generator {
            keys: self.keys,
            codes: self.codes,
            extra_share: self.extra_share / 2.0,
            indexed_share: if lags { 0.0 } else { self.indexed_share },
            draws_values: self.sequence_share > 0.0,
            draws_mostly: lags,
            statements_max: self.statements_max,
            // Who registers functions waits for all that has to run again.
            has_function: !lags && self.recovery.0 == RecoveryKind::Whole,
            indexed_is_read: self.indexed_is_read,
        }
    }

    /// Declares a procedure of a slot, anew where there is one.
    pub fn declaration(&self, rng: &mut Rng, slot: u8) -> Operation {
        Operation::Declare(slot, Declared(self.generator().program(rng, slot).into()))
    }

    pub(super) fn operation_on_procedures(&self, rng: &mut Rng, id: TransactionId) -> Operation {
        let slot = rng.u8(0..procedures::SLOTS);
        match rng.u8(0..12) {
            0..5 => self.declaration(rng, slot),
            5 => Operation::DropProcedure(slot),
            _ => Operation::Call(self.generator().invocation(rng, id)),
        }
    }
}
