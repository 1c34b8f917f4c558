//! How transactions are isolated.

use fastrand::Rng;
use osier::config::{ConcurrencyControlKind, Locking};

use super::Choices;

/// Drawn from a number of its own: the rest of a seed's plan does not depend on it. A third of the seeds each.
pub(super) fn draw(rng: &mut Rng, choices: &Choices) -> (ConcurrencyControlKind, Locking) {
    let drawn = match rng.u8(0..3) {
        0 => ConcurrencyControlKind::TwoPhaseLocking,
        1 => ConcurrencyControlKind::Optimistic,
        _ => ConcurrencyControlKind::Multiversion,
    };
    let locking = [Locking::NoWait, Locking::WaitDie, Locking::WoundWait][rng.usize(0..3)];
    (choices.control.unwrap_or(drawn), choices.locking.unwrap_or(locking))
}
