//! What the simulation reaches into the engine for: deliberate faults, and points where others may run.
//!
//! Each [`Mutation`] removes one step that the correctness argument needs; the crash simulation must catch every one of
//! them (docs/testing.md). Each [`Point`] lies inside a step that is one call for its caller, and lets a simulator that runs
//! many threads as one switch there. Without the cargo feature `mutations` neither exists at run time: every check is constant.

/// A fault of the durability protocol, for tests only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mutation {
    /// The logger publishes a batch without syncing it (breaks P2).
    SkipLogSync,
    /// A stream's durable SSN follows its heartbeat before the heartbeat's marker is durable (breaks P2; Poplar's
    /// pseudocode leaves this open).
    VolatileHeartbeat,
    /// The manifest names a checkpoint whose files were not synced (breaks K2).
    CheckpointBeforeSync,
    /// The manifest names a checkpoint before everything in it is stable (breaks K2).
    CheckpointBeforeStable,
    /// What a checkpoint supersedes is removed before the manifest is durable that no longer needs it (breaks K3).
    UnlinkBeforeManifest,
    /// RSN of a fuzzy checkpoint is read after its tuples (breaks K1).
    LateReplayStart,
    /// Records of a frozen generation are judged by the cut of the next one.
    NoGenerationFreeze,
    /// Tombstones leave their tree before they are stable, and their stamp with them.
    EarlyPurge,
    /// Write locks are given back before the new versions are in place.
    UnlockBeforeInstall,
    /// Absent records that a scan or a look-up meets, placeholders among them, are not observed.
    PlaceholderUnobserved,
    /// Versions of leaves are not validated.
    NoLeafValidation,
    /// Whoever read from another stream is acknowledged by its own stream alone.
    NoCsnWait,
    /// Idle streams neither write markers nor are certified.
    NoHeartbeat,
    /// What recovery read last is not written again.
    TailNotPersisted,
    /// A new segment's directory is not synced.
    DirectoryNotSynced,
    /// The manifest is renamed into its place before it is synced.
    ManifestNotSynced,
    /// The header of a segment says nothing of the stamps before it.
    NoFloor,
    /// What a transaction without writes observed is not validated: a user's abort, a reader.
    AbortNotValidated,
    /// `raw_dep` leaves out absent rows.
    AbsencesIgnored,
    /// Replay keeps the image that comes first.
    StampsIgnored,
    /// A stream is certified while it has records in flight.
    BusyCertified,
    /// The stamp of a batch is read after the batch was closed, outside the latch.
    CloseOutsideLatch,
}

/// Where a simulated thread may be switched away from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Point {
    /// A committer holds its write locks.
    Locked,
    /// A committer's place in the serial order is fixed just now: locks are held, reads are not yet validated.
    Ordered,
    /// It has validated.
    Validated,
    /// It has a stamp and room in the log.
    Reserved,
    /// Its record is filled.
    Filled,
    /// One of its writes is installed.
    Installed,
    /// A logger has drawn its heartbeat.
    Beat,
    /// A logger has certified others.
    Certified,
    /// A logger has published a batch.
    Published,
    /// Somebody waits for another thread.
    Waiting,
}

/// Lets the simulator switch, if there is one.
#[inline(always)]
pub(crate) fn reach(point: Point) {
    #[cfg(feature = "mutations")]
    if let Some(reached) = simulated::REACHED.get() {
        reached(point);
    }
    let _ = point;
}

/// Whether the fault is built into what this thread runs.
#[inline(always)]
pub(crate) fn has(mutation: Mutation) -> bool {
    #[cfg(feature = "mutations")]
    return simulated::MUTATIONS.with_borrow(|on| on.contains(&mutation));
    #[cfg(not(feature = "mutations"))]
    {
        let _ = mutation;
        false
    }
}

/// The simulator's side.
#[cfg(feature = "mutations")]
pub mod simulated {
    use std::cell::RefCell;
    use std::sync::OnceLock;

    use osier_memory::sync::{SIMULATOR, Simulator};

    use super::{Mutation, Point};

    pub(super) static REACHED: OnceLock<fn(Point)> = OnceLock::new();

    thread_local! {
        pub(super) static MUTATIONS: RefCell<Vec<Mutation>> = const { RefCell::new(Vec::new()) };
    }

    /// From now on `reached` is called at every point, by whatever thread, and takes the place of waiting where `is_here`.
    /// The first call counts.
    pub fn install(is_here: fn() -> bool, reached: fn(Point)) {
        let _ = REACHED.set(reached);
        let _ = SIMULATOR.set(Simulator { is_here, pause: || super::reach(Point::Waiting) });
    }

    /// Builds these faults, and no others, into what the calling thread runs.
    pub fn build_in(mutations: &[Mutation]) {
        MUTATIONS.set(mutations.to_vec());
    }
}
