//! The GSN: one above everything the transaction read or overwrites, above everybody who read what it overwrites, and above
//! everything in its stream.
//!
//! Drawn under the stream's latch together with the room for the record, as Poplar's SSN. What is more is in `base`: the read
//! stamps of the write set (`LogProtocol::read_stamps`). They are read while every write lock is held; those of the read set are
//! raised to the GSN before validation (transaction/lifecycle.rs).

pub(super) use crate::log::protocol::poplar::draw;
