//! The frontier of Plover's GSNs: Poplar's, as it stands. A certificate is refused to a stream in which a record of a commit is
//! not durable, and no commit is about to put one there: its records get their room in all streams as one step.

use crate::log::protocol::poplar::PoplarFrontier;

/// The frontier of Plover's GSNs.
pub(crate) type PloverFrontier = PoplarFrontier;
