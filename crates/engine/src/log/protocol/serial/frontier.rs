//! The serial frontier: the contiguous durable end of the one stream.
//!
//! With one stream `CSN = DSN`, nothing can lag behind anything, and there is nobody to certify. A batch's stamp is the LSN
//! of its last record; raising it would tear LSNs off from positions.

use crate::ids::{Stamp, StreamId};
use crate::log::format::batch::Certificate;
use crate::log::persist::Log;
use crate::log::persist::frontier::{Frontier, Lag};

/// The serial frontier.
pub(crate) enum SerialFrontier {}

impl Frontier for SerialFrontier {
    fn raise(_log: &Log) -> Stamp {
        Stamp::ZERO
    }

    fn certify(_log: &Log, _own: StreamId, _stamp: Stamp, certificates: &mut Vec<Certificate>) {
        assert!(certificates.is_empty(), "there is no other stream");
    }

    fn lag(_log: &Log, _own: StreamId) -> Lag {
        Lag::None
    }
}
