//! The frontier of LSN vectors: `PLV`, the durable LSN of each stream (Taurus, section 3.2), is `DSN` per stream.
//!
//! A commit waits for the streams that its vector names and for no others. `CSN` is the least of `PLV`: what every stream has
//! reached needs no naming. It moves as Poplar's does, so that vectors stay short, and checkpoints and tombstones go on.

use crate::log::protocol::poplar::PoplarFrontier;

/// The frontier of LSN vectors.
pub(crate) type TaurusFrontier = PoplarFrontier;
