//! The LSN: one above everything the transaction depends on and above everything in its stream.
//!
//! The paper's LSN is the position of the record. This one rises with the position, because both are drawn under the stream's
//! latch, and over streams with the dependencies besides (the clock of Poplar's SSN). So it also gives the order per key, and
//! where commands are logged an order of all transactions, as a GSN does.

pub(super) use crate::log::protocol::poplar::draw;
