//! What is accepted of commands that do something else than before ([`Config::accept_divergence`](crate::Config)).
//!
//! Invariants:
//! - Nothing is accepted before the stamp that was asked for, and nothing without one.
//! - What a command without a hash does behind the first one that was accepted is uncertain: it may have read what is different.
//!   So is what an accepted one does. Values are certain, but for changes of rows that rest on what is not: these are refused,
//!   since a change that is applied to another version makes a row that nobody wrote.
//!
//! Absent: the checkpoint that makes what was accepted last (operate/open.rs).

use std::collections::HashSet;

use crate::error::RecoveryError;
use crate::ids::{Epoch, Stamp};
use crate::log::format::payload::delta::Delta;
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::recovery::report::AcceptedDivergence;

/// From which stamp on divergence is accepted, and what was.
#[derive(Debug, Default)]
pub(in crate::recovery) struct Acceptance {
    from: Option<Stamp>,
    accepted: Vec<AcceptedDivergence>,
    /// Of commands that may have written something else than before.
    uncertain: HashSet<Stamp>,
}

impl Acceptance {
    /// Accepts what diverges at `from` or behind it; without a stamp nothing.
    pub(in crate::recovery) fn new(from: Option<Stamp>) -> Acceptance {
        Acceptance { from, ..Acceptance::default() }
    }

    /// Returns what was accepted, in order.
    pub(in crate::recovery) fn into_accepted(self) -> Vec<AcceptedDivergence> {
        self.accepted
    }

    /// Accepts what a [`RecoveryError::Diverged`] tells of, or gives it back. What the command does now may be what counts, or
    /// nothing of it.
    pub(super) fn accept(&mut self, error: Box<RecoveryError>, counts: bool) -> Result<(), Box<RecoveryError>> {
        let RecoveryError::Diverged { stamp, epoch, can_be_accepted, .. } = *error else { return Err(error) };
        if !can_be_accepted || self.from.is_none_or(|from| stamp < from) {
            return Err(error);
        }
        self.uncertain.insert(stamp);
        self.accepted.extend(AcceptedDivergence::of(&error, (stamp, epoch), counts));
        Ok(())
    }

    /// Forgets what was accepted last: it turned out otherwise.
    pub(super) fn take_back(&mut self) {
        self.accepted.pop();
    }

    /// A command ran as before, as far as is known: by the hash of what it wrote, or without one.
    pub(super) fn ran(&mut self, stamp: Stamp, has_hash: bool) {
        if !has_hash && !self.accepted.is_empty() {
            self.uncertain.insert(stamp);
        }
    }

    /// Whether a write changes a row in a version that is uncertain; returns that.
    pub(super) fn uncertain_base(&self, write: &LoggedWrite<'_>) -> Option<Stamp> {
        match write.change {
            Change::Delta(Delta { base, .. }) if self.uncertain.contains(&base) => Some(base),
            _ => None,
        }
    }

    /// Says of a record of values that does not fit that something was accepted before it.
    pub(super) fn explain(&self, error: RecoveryError, (stamp, epoch): (Stamp, Epoch)) -> RecoveryError {
        let (Some(from), false) = (self.from, self.accepted.is_empty()) else { return error };
        let what = match error {
            RecoveryError::Unfit { what, .. } => what,
            RecoveryError::MissingVersion { table, key, base, .. } => {
                format!("it changed row {key} of table `{table}`, which has no version {base} any more")
            }
            error => return error,
        };
        RecoveryError::Unacceptable { stamp, epoch, from, what }
    }
}
