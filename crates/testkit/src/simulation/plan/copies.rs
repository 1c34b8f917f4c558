//! How a seed writes backups, restores them, and takes its database back to epochs and times.
//!
//! Invariant: it is drawn from numbers of its own, so that the rest of a plan does not depend on it. Seeds that hunt for a
//! mutation do without, unless their profile says so: what finds it stays what it was.

use fastrand::Rng;

use super::{Choices, Profile};

/// How often things are done with copies.
#[derive(Clone, Copy, Debug)]
pub struct Copies {
    /// The chance that a step begins a backup.
    pub share: f64,
    /// Of these, that begin with a new checkpoint.
    pub fresh_share: f64,
    /// Of these, that go where the one before went.
    pub continued_share: f64,
    /// The chance that a backup is restored after a generation.
    pub restored_share: f64,
    /// Of these, with which the simulation goes on.
    pub gone_on_share: f64,
    /// The chance that an open or a restore goes back to an epoch or a time.
    pub until_share: f64,
    /// The chance that a fault ends a restore.
    pub interrupted_share: f64,
}

impl Copies {
    pub(super) fn draw(rng: &mut Rng, choices: &Choices) -> Option<Copies> {
        let copies = Copies {
            share: [0.002, 0.01, 0.03][rng.usize(0..3)],
            fresh_share: [0.0, 0.3][rng.usize(0..2)],
            continued_share: [0.0, 0.5, 0.9][rng.usize(0..3)],
            restored_share: [0.5, 1.0][rng.usize(0..2)],
            gone_on_share: [0.0, 0.3][rng.usize(0..2)],
            until_share: [0.0, 0.3, 0.6][rng.usize(0..3)],
            interrupted_share: [0.0, 0.3][rng.usize(0..2)],
        };
        let is_drawn = rng.u8(0..12) == 0 && choices.mutations.is_empty() && choices.profile.is_none();
        match choices.profile {
            Some(Profile::Returning) => Some(Copies { share: 0.0, restored_share: 0.0, until_share: 0.8, ..copies }),
            Some(Profile::Backup) => Some(copies),
            _ => is_drawn.then_some(copies),
        }
    }
}

/// The chance that what a generation leaves is salvaged.
pub(super) fn salvaged_share(rng: &mut Rng, choices: &Choices) -> f64 {
    let is_drawn = rng.u8(0..12) == 0 && choices.mutations.is_empty() && choices.profile.is_none();
    if is_drawn || choices.profile == Some(Profile::Salvaged) { 0.5 } else { 0.0 }
}

/// Draws whether the directories of a database are moved, copied and mixed up.
pub(super) fn is_moved(rng: &mut Rng, choices: &Choices) -> bool {
    let is_drawn = rng.u8(0..12) == 0 && choices.mutations.is_empty() && choices.profile.is_none();
    is_drawn || choices.profile == Some(Profile::Moved)
}
