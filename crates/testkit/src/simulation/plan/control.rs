//! How transactions are isolated.

use fastrand::Rng;
use osier::config::{ConcurrencyControlKind, Locking};

use super::Choices;

/// Drawn from a number of its own: the rest of a seed's plan does not depend on it. A third of the seeds each.
pub(super) fn draw(rng: &mut Rng, choices: &Choices) -> (ConcurrencyControlKind, Locking) {
    let (control, locking) = draw_any(rng);
    (choices.control.unwrap_or(control), choices.locking.unwrap_or(locking))
}

/// Of all there are.
pub fn draw_any(rng: &mut Rng) -> (ConcurrencyControlKind, Locking) {
    let control = match rng.u8(0..3) {
        0 => ConcurrencyControlKind::TwoPhaseLocking,
        1 => ConcurrencyControlKind::Optimistic,
        _ => ConcurrencyControlKind::Multiversion,
    };
    let locking = [Locking::NoWait, Locking::WaitDie, Locking::WoundWait, Locking::Detect][rng.usize(0..4)];
    (control, locking)
}
