//! Whether a seed logs physiologically, and which images.
//!
//! Invariant: it is drawn from numbers of its own, so that the rest of a plan does not depend on it. Seeds that hunt for a
//! mutation log values, unless it is said what they log.

use fastrand::Rng;
use osier::Protocol;
use osier::config::{Logged, PhysiologicalImages};

use super::{Choices, Plan};

/// What physiological logging logs of a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Images {
    /// What became of it.
    pub after: PhysiologicalImages,
    /// Whether what it was before, too.
    pub before: bool,
}

impl Plan {
    /// The plan with physiological logging, if that is drawn.
    pub(super) fn with_images(self, rng: &mut Rng, choices: &Choices) -> Plan {
        let (kind, is_full, before) = (rng.u8(0..8), rng.bool(), rng.bool());
        let is_chosen = choices.logged == Some(Logged::Physiological);
        let is_drawn = choices.logged.is_none() && choices.mutations.is_empty() && kind == 0;
        // Who asks for images and for no protocol gets one that has a log.
        let protocol = match self.protocol {
            Protocol::None if is_chosen && choices.protocol.is_none() => Protocol::Poplar,
            protocol => protocol,
        };
        if !(is_chosen || is_drawn) || protocol == Protocol::None || self.logged != Logged::Values {
            return self;
        }
        let after = if is_full { PhysiologicalImages::Full } else { PhysiologicalImages::Changed };
        Plan { protocol, logged: Logged::Physiological, images: Images { after, before }, ..self }
    }
}
