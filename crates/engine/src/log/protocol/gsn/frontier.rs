//! The frontier of GSNs: Poplar's, as it stands. `CSN` asks of a stamp only that it rises within its stream, so certificates,
//! heartbeats and markers are the same. NVM-D itself has no streams that lag: its workers force their records one by one.

use crate::log::protocol::poplar::PoplarFrontier;

/// The frontier of GSNs.
pub(crate) type GsnFrontier = PoplarFrontier;
