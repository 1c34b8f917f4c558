//! Deliberate faults. Each [`Mutation`] removes one step that the correctness argument needs; the crash simulation
//! must catch every one of them (docs/testing.md). Without the cargo feature `mutations` none can be switched on and
//! every check is constant.

/// A fault of the durability protocol, for tests only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mutation {
    /// The logger publishes a batch without syncing it (breaks P2).
    SkipLogSync,
    /// A stream's durable SSN follows its heartbeat before the heartbeat's marker is durable (breaks P2; Poplar's
    /// pseudocode leaves this open).
    VolatileHeartbeat,
}
