//! What a seed concentrates on: situations that seeds of all kinds together would hardly reach.
//!
//! Invariant: a profile narrows a plan that was drawn as any other and adds nothing to it that another seed could not draw.

use std::time::Duration;

use clap::ValueEnum;
use fastrand::Rng;
use osier::Protocol;
use osier::config::{CheckpointKind, RecoveryKind};

use super::{Choices, Ending, KINDS, Plan, Shares};
use crate::disk::LogWrites;

/// What a seed concentrates on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// Nothing.
    Any,
    /// Short transactions that all depend on each other: whoever is acknowledged has read from others a moment ago.
    Hot,
    /// The same over rows that come and go: what is depended on is mostly an absence.
    Absent,
    /// The same in batches of large records, of which the power tears one.
    Torn,
    /// Deletes that nobody asks about, asleep in their streams while a checkpoint passes, which is the last thing to happen.
    Quiet,
    /// Small segments, recycled at every checkpoint.
    Recycling,
    /// Tables and indexes that come and go, between crashes too.
    Defining,
    /// Columns, names and partial indexes of tables that have rows, and rows that enter and leave such an index.
    Altering,
    /// Recoveries that fail where they name what they have copied, one after the other.
    Relapsing,
    /// Trees of many leaves, in which transactions scan, delete, split leaves that they have read, and roll back to savepoints in
    /// large write sets, beside checkpoints of many steps.
    Large,
    /// Backups, restores, and ways back to epochs and times.
    Backup,
    /// As hot, with ways back to the last epochs before the power failed: to records that wait for the cut.
    Returning,
    /// Transactions in parts of a few bytes, beside checkpoints that give up the log, in segments that are recycled.
    Parts,
    /// Values of a sequence, drawn by many sessions on several streams, and little else.
    Drawing,
    /// Calls of procedures that are replaced and dropped, logged as commands, by sessions that all depend on each other.
    Calling,
    /// As `Calling`, and databases open before the calls have run again. Hardly any definition keeps them from that.
    Instant,
    /// Transactions at snapshots of different ages, beside deletes, purges and definitions.
    Snapshots,
    /// One stream that is far ahead of the others, whose calls rest on what it wrote by existence alone.
    Lagging,
    /// Another protocol, number of streams, payload and concurrency control at every second open, with calls and definitions.
    Changing,
    /// Salvages of sound and damaged copies.
    Salvaged,
    /// Directories that are moved, copied, spelled in other ways and mixed up, below others that are new.
    Moved,
}

impl Profile {
    pub(super) fn draw(rng: &mut Rng) -> Profile {
        match rng.u8(0..12) {
            0..3 => Profile::Hot,
            3 => Profile::Absent,
            4 => Profile::Torn,
            5 => Profile::Quiet,
            6 => Profile::Recycling,
            7 => Profile::Relapsing,
            8 => Profile::Defining,
            9 => Profile::Large,
            _ => Profile::Any,
        }
    }

    /// How a generation ends, if it is up to the profile.
    pub(super) fn ending(self, rng: &mut Rng) -> Option<Ending> {
        let drawn = rng.u8(0..8);
        match self {
            Profile::Hot
            | Profile::Absent
            | Profile::Altering
            | Profile::Returning
            | Profile::Drawing
            | Profile::Calling
            | Profile::Instant
            | Profile::Changing
            | Profile::Lagging
            | Profile::Snapshots
                if drawn < 4 =>
            {
                Some(Ending::PowerLoss)
            }
            Profile::Torn if drawn < 6 => Some(Ending::PowerLossAtLogWrite(rng.u64(1..20))),
            Profile::Quiet if drawn < 6 => Some(Ending::PowerLossAtCheckpoint(rng.u64(1..4))),
            Profile::Recycling if drawn < 4 => Some(Ending::PowerLoss),
            Profile::Recycling if drawn < 5 => Some(Ending::PowerLossAt(rng.u64(200..1000))),
            Profile::Recycling => Some(Ending::PowerLossAtRemoval(rng.u64(1..30))),
            Profile::Parts if drawn < 3 => Some(Ending::PowerLoss),
            Profile::Parts if drawn < 6 => Some(Ending::PowerLossAtLogWrite(rng.u64(1..40))),
            Profile::Relapsing if drawn < 3 => Some(Ending::DirSyncErrorAt(rng.u64(1..5))),
            Profile::Relapsing if drawn < 6 => Some(Ending::PowerLossAtDirSync(rng.u64(1..5))),
            _ => None,
        }
    }
}

impl Plan {
    /// The plan with a profile.
    pub(super) fn concentrate(self, profile: Profile, choices: &Choices) -> Plan {
        let plan = match profile {
            Profile::Any | Profile::Salvaged => self,
            Profile::Hot => self.hot(choices),
            Profile::Absent => self.absent(choices),
            Profile::Torn => self.torn(choices),
            Profile::Quiet => self.quiet(),
            Profile::Recycling => self.recycling(),
            Profile::Defining => self.defining(),
            Profile::Altering => self.altering(),
            Profile::Large => self.large(),
            Profile::Backup => self.backup(),
            Profile::Returning => self.returning(choices),
            Profile::Moved => self.moved(),
            Profile::Drawing => self.drawing(choices),
            Profile::Lagging => self.lagging(choices),
            Profile::Snapshots => self.snapshots(),
            Profile::Calling => self.calling(choices),
            Profile::Instant => {
                let (_, calls, rows) = self.recovery;
                Plan { recovery: (RecoveryKind::Instant, calls, rows), procedure_share: 0.01, ..self.calling(choices) }
            }
            Profile::Changing => self.changing(choices),
            Profile::Parts => self.parts(choices),
            Profile::Relapsing => Plan { generations: self.generations.max(6), ..self },
        };
        Plan { profile, ..plan }
    }

    pub(super) fn hot(self, choices: &Choices) -> Plan {
        let mut weights = [0; KINDS];
        (weights[0], weights[6], weights[10]) = (1, 2, 4);
        let (awaited, leads) = (self.shares.awaited.max(0.2), self.shares.leads.max(0.3));
        let shares = Shares { read_only: 0.1, relaxed: 0.0, abort: 0.0, dropped: 0.0, awaited, leads };
        let is_free = !matches!(self.protocol, Protocol::None | Protocol::Serial) && choices.streams.is_none();
        let streams = if is_free { self.streams.max(2) } else { self.streams };
        let (sessions, steps_max) = (self.sessions.max(4), self.steps_max.max(250));
        Plan {
            streams,
            sessions,
            steps_max,
            keys: 2,
            operations_max: 1,
            indexed_share: 0.0,
            extra_share: 0.0,
            weights,
            shares,
            ..self
        }
    }

    fn absent(self, choices: &Choices) -> Plan {
        let mut weights = [0; KINDS];
        (weights[0], weights[5], weights[6], weights[8], weights[12], weights[13]) = (4, 2, 2, 2, 2, 2);
        let shares = Shares { read_only: 0.4, ..self.shares };
        Plan { weights, shares, ..self.hot(choices) }
    }

    fn torn(self, choices: &Choices) -> Plan {
        let plan = self.hot(choices);
        let mut weights = plan.weights;
        // Most records are rows as large as several sectors.
        (weights[6], weights[10]) = (6, 2);
        Plan {
            payload_bytes_max: 2000,
            log_writes: LogWrites::Buffered,
            // Batches of many records.
            group_commit_interval: Duration::from_millis(4),
            sessions: 8,
            weights,
            ..plan
        }
    }

    fn quiet(self) -> Plan {
        let mut weights = [0; KINDS];
        (weights[5], weights[6], weights[12], weights[13]) = (1, 2, 3, 1);
        let shares = Shares { read_only: 0.0, relaxed: 0.9, abort: 0.0, dropped: 0.0, awaited: 0.0, leads: 0.0 };
        let is_fuzzy = self.checkpoints.is_some_and(|checkpoints| checkpoints.kind == CheckpointKind::Fuzzy);
        // With an epoch goes a look at what nobody has asked about.
        let epoch_interval = if is_fuzzy { Duration::from_millis(10) } else { self.epoch_interval };
        let (keys, operations_max) = (self.keys.min(5), 1);
        Plan {
            sessions: 2,
            keys,
            operations_max,
            savepoint_share: 0.0,
            indexed_share: 0.0,
            extra_share: 0.0,
            epoch_interval,
            weights,
            shares,
            ..self
        }
    }

    fn defining(self) -> Plan {
        let mut weights = self.weights;
        (weights[5], weights[6], weights[15]) = (2, 2, 4);
        let generations = self.generations.max(4);
        Plan { weights, extra_share: 0.8, operations_max: 6, generations, ..self }
    }

    fn large(self) -> Plan {
        const RING_BYTES: usize = 64 << 10;
        let mut weights = [1; KINDS];
        (weights[1], weights[5], weights[6], weights[12], weights[15]) = (4, 4, 4, 3, u32::from(self.has_partial()));
        let shares = Shares { read_only: 0.05, abort: 0.05, dropped: 0.05, ..self.shares };
        Plan {
            keys: 8 * self.keys.max(5),
            window: Some(self.keys.clamp(5, 12)),
            codes: 400,
            ring_bytes: RING_BYTES,
            segment_bytes: RING_BYTES as u64 + (16 << 10),
            transaction_log_bytes_max: RING_BYTES / 4,
            operations_max: 4 * self.operations_max.min(4),
            payload_bytes_max: self.payload_bytes_max.min(40),
            savepoint_share: self.savepoint_share.max(0.1),
            sessions: self.sessions.clamp(2, 4),
            steps_max: 2000,
            preempted_share: self.preempted_share.max(0.1),
            generations: self.generations.min(3),
            extra_share: 0.0,
            weights,
            shares,
            ..self
        }
    }

    fn backup(self) -> Plan {
        let generations = self.generations.clamp(3, 5);
        let preempted_share = self.preempted_share.max(0.1);
        Plan { generations, steps_max: 800, preempted_share, ..self }
    }

    fn returning(self, choices: &Choices) -> Plan {
        let plan = self.hot(choices);
        Plan { generations: plan.generations.max(4), ..plan }
    }

    pub(super) fn drawing(self, choices: &Choices) -> Plan {
        let plan = self.hot(choices);
        let shares = Shares { abort: 0.1, dropped: 0.1, ..plan.shares };
        let generations = plan.generations.max(4);
        Plan { operations_max: 3, savepoint_share: 0.1, sequence_share: 0.7, generations, shares, ..plan }
    }

    fn moved(self) -> Plan {
        Plan { generations: self.generations.clamp(2, 4), steps_max: 500, ..self }
    }

    fn parts(self, choices: &Choices) -> Plan {
        let plan = self.recycling();
        let kinds = [CheckpointKind::Epoch, CheckpointKind::Fuzzy];
        let kind = choices.checkpoints.unwrap_or(kinds[plan.sessions % 2]);
        let kind = if plan.protocol.completes_fuzzy_checkpoints() { kind } else { CheckpointKind::Epoch };
        let checkpoints = plan.checkpoints.map(|checkpoints| super::Checkpoints { share: 0.1, kind, ..checkpoints });
        // Half of the transactions reach from one segment into the next.
        let (sessions, operations_max, payload_bytes_max) = (plan.sessions.max(2), 6, 300);
        let preempted_share = plan.preempted_share.max(0.2);
        Plan { checkpoints, sessions, operations_max, payload_bytes_max, preempted_share, ..plan }
    }

    fn recycling(self) -> Plan {
        const RING_BYTES: usize = 16 << 10;
        let shares = Shares { awaited: 0.9, ..self.shares };
        let checkpoints = self.checkpoints.map(|checkpoints| super::Checkpoints { share: 0.05, ..checkpoints });
        Plan {
            ring_bytes: RING_BYTES,
            segment_bytes: RING_BYTES as u64 + (8 << 10),
            transaction_log_bytes_max: RING_BYTES / 4,
            group_commit_interval: Duration::ZERO,
            checkpoints,
            generations: 3,
            sessions: self.sessions.min(3),
            steps_max: 1500,
            operations_max: self.operations_max.min(3),
            payload_bytes_max: self.payload_bytes_max.min(40),
            shares,
            ..self
        }
    }
}
