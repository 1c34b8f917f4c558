//! What the simulation reaches into the engine for: deliberate faults, and points where others may run.
//!
//! Each [`Mutation`] removes one step that the correctness argument needs; the crash simulation must catch every one of
//! them (docs/testing.md). Each [`Point`] lies inside a step that is one call for its caller, and lets a simulator that runs
//! many threads as one switch there. Without the cargo feature `mutations` neither exists at run time: every check is constant.

use crate::ids::Epoch;

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
    /// Where rows are locked, those that are read are not.
    ReadsUnlocked,
    /// Where rows are locked, who has waited for a row in vain reads it all the same.
    TimedOutHeld,
    /// Where rows are locked, what was read is given back before the serialization point.
    LocksReleasedEarly,
    /// Where rows are locked, the gaps between them are not, nor are leaves validated.
    GapsUnlocked,
    /// Keys without a row leave their tree whoever has locked them.
    LockedPurged,
    /// Where transactions see rows of the past, keys without a row leave their tree though some see one there.
    PastPurged,
    /// Where transactions see rows of the past, a commit draws its timestamp before it locks.
    TimestampBeforeLocks,
    /// Where transactions see rows of the past, those that write do not validate what they read of rows.
    PastUnvalidated,
    /// A transaction that has seen rows of the past may write.
    PastWritten,
    /// A transaction goes on from the past to the present, whatever has become of what it read.
    PastLeftUnchecked,
    /// Where transactions see rows of the past, what they see is what is there.
    PastUnseen,
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
    /// What is only reserved in a stream is said to be durable by the batches of others (breaks L9).
    EarlyReach,
    /// A stream is certified while it has records in flight.
    BusyCertified,
    /// The stamp of a batch is read after the batch was closed, outside the latch.
    CloseOutsideLatch,
    /// The epoch is drawn after the reads were validated (breaks the S-point rule).
    LateEpoch,
    /// The scan of an epoch begins while transactions of that epoch are at work.
    EarlyScan,
    /// A transaction that drew its stamp before it validated, and did not validate, is logged.
    AbortedLogged,
    /// A stamp says nothing of those who have read the rows that are overwritten.
    ReadsUnordered,
    /// Stamps of what is read are raised after the validation.
    ReadsRaisedLate,
    /// Stamps of rows that are read are raised, those of absences and ranges are not.
    LeavesUnraised,
    /// A stamp that covers anti-dependencies is drawn after the validation.
    StampDrawnLate,
    /// Who changes a definition draws a stamp that says nothing of those who have used the one before.
    UsersUnordered,
    /// A vector leaves out those who have read what is overwritten.
    ReadersUnmerged,
    /// A vector leaves out those whose rows are overwritten.
    OverwrittenUnmerged,
    /// Whoever reads a row takes over the LSN of its writer alone, and nothing that the writer depends on.
    VectorNotHandedOn,
    /// Whoever writes a row hands on what it depends on, and not its own LSN.
    OwnLsnForgotten,
    /// Who replays in parallel takes a transaction that another thread has taken for one that has run.
    TakenForRun,
    /// Of procedures only those accesses are known whose keys the arguments give.
    KeysGuessed,
    /// An access about which a row decides that is read first is taken for one that is not made.
    BranchesGuessed,
    /// Of the rounds of a loop the first one alone is planned.
    RoundsForgotten,
    /// What calls change is read where they are planned, for the keys that it gives.
    ChangedRowsRead,
    /// Of what is read where calls are planned it is not asked whether those change it that are still running.
    RunningForgotten,
    /// Rows that exclude each other by a unique index are told apart by their primary keys.
    UniqueIndexesForgotten,
    /// Nobody waits for what was logged as values among commands, and that waits for nobody.
    AdHocUnordered,
    /// Who modifies a row waits for those that have modified it, and not for those that have read it.
    ReadersUnawaited,
    /// Stamps of keys that were purged while transactions are run at once count for whoever comes later.
    PurgedCounted,
    /// Who accesses a whole table does not wait for those that have accessed some rows of it.
    TablesUnawaited,
    /// What changes definitions runs beside others.
    DefinitionsBeside,
    /// Who reads a row of a database that opens at once does not wait for what may write it.
    BacklogUnread,
    /// Who writes one waits for what may write it, and not for what reads it.
    BacklogOverwritten,
    /// Nor for what reads columns that nobody of the log changes.
    BacklogColumnsOverwritten,
    /// A range is waited for as if its rows had the key with which it begins.
    BacklogRangeAsKey,
    /// What runs again while the database is open is of the epoch in which it does.
    BacklogOfNow,
    /// A stream says that an epoch is over in it when it has written its first records.
    OpenEpochClaimed,
    /// Records live of the epoch in which a stream ends.
    OpenEpochLives,
    /// Of the shares of a transaction the last one is not logged.
    ShareMissing,
    /// Each stream is replayed as far as it goes, whatever the others lost of the same transactions.
    StreamsApart,
    /// A commit of a total order is acknowledged as one of Poplar: by its own stream, and by all streams up to what it read.
    PrefixUnawaited,
    /// Versions of a snapshot that are overwritten are not kept for it.
    NotRetained,
    /// What an epoch overwrites is kept for the snapshot of the epoch before.
    RetainedForAnother,
    /// Whoever commits looks for a snapshot before its locks are held and its epoch is drawn (breaks U1).
    StaleAnnouncement,
    /// Records are purged during a snapshot, and what it has of them is not kept.
    OrphansForgotten,
    /// A commit does not announce its epoch.
    CommitUnannounced,
    /// A snapshot is read before its epoch has ended.
    SnapshotBeforeEnd,
    /// What a snapshot holds is told before it is durable.
    SnapshotToldAtOnce,
    /// A fuzzy scan reads records that are locked.
    NoTupleLock,
    /// `max_seen` leaves out absences.
    TombstoneUnseen,
    /// New keys and index entries go in after their locks are given back.
    LateIndexInsert,
    /// The log begins, for recovery, where it is when a checkpoint is complete (breaks K3).
    LateBegins,
    /// Checksums of records say nothing of their place.
    UnboundSeal,
    /// The checkpoint before goes before the manifest is durable that names the next one.
    CheckpointRemovedEarly,
    /// The manifest takes what was stamped for what streams have reached durably.
    BeginsAhead,
    /// Epochs of a new generation begin at the floor and not above it (breaks K4).
    EpochReused,
    /// The floor of epochs leaves out the boundary of the checkpoint (breaks K4).
    EpochFloorForgotten,
    /// A failed sync of the log counts as none.
    SyncErrorIgnored,
    /// A failed sync of the log is tried again, and believed.
    SyncRetried,
    /// A failure of the device while a checkpoint replaces the manifest is the checkpoint's alone.
    ManifestFailureIgnored,
    /// A log that a full device leaves without zeros for its next segment fails at once.
    ZerosDemanded,
    /// Files that are written past the page cache are not synced by the real disk.
    DirectUnsynced,
    /// A log whose task died goes on.
    DeathIgnored,
    /// A committer in the place of the logger is answered before the sync.
    LeaderUnsynced,
    /// A logger that rests sets itself no time.
    RestUnending,
    /// Checksums of records are not looked at.
    RecordUnchecked,
    /// What follows an unsound record is replayed.
    GapSkipped,
    /// Who wrote nothing is acknowledged at once.
    ReadersAtOnce,
    /// Rolling back to a savepoint leaves index entries behind.
    SavepointKeepsEntries,
    /// A unique index is looked at without observing it.
    UniqueUnobserved,
    /// `raw_dep` of a replaced row leaves out its birth.
    BirthIgnored,
    /// Replay ignores a delete that comes before its row.
    TombstonesNotReplayed,
    /// Records are replayed before the cut is known.
    ReplayBeforeCut,
    /// Definitions are not logged.
    CatalogUnlogged,
    /// Ids of tables that are gone are given again after a restart.
    TableIdReused,
    /// Whoever looks for a definition that is not there does not ask at the commit whether it is there now.
    NameUnobserved,
    /// Whoever commits does not ask whether the definitions it relies on still hold.
    DefinitionUnchecked,
    /// Whoever uses a value of a sequence does not depend on its reservation.
    ReservationIgnored,
    /// A tail gets its name before that of the tail before it is durable.
    TailNamedFirst,
    /// Identities do not tell copies of a database apart.
    IncarnationIgnored,
    /// The identity of a directory is renamed into its place before it is synced.
    IdentityUnsynced,
    /// Directories get the identity of an open although the manifest that it goes on from is not durable.
    ManifestUnsettled,
    /// Directories get the identity of an open after its manifest is stored.
    IdentityLate,
    /// Names change under the path of a directory that somebody has moved away.
    PlaceUnwatched,
    /// Two names of one directory count as two directories.
    DirectoryTwice,
    /// Of directories that are created only the next three above are synced.
    DeepDirectoryUnsynced,
    /// Files are removed and used again whatever their headers say.
    HeaderUnread,
    /// Nothing records which segment of a stream is the newest.
    NewestUnrecorded,
    /// A segment is recorded as the newest before it has its name.
    NewestRecordedFirst,
    /// A generation begins before its record in the stream's directory is durable.
    BegunUnsynced,
    /// A stream's directory from before the last open is taken for the present one.
    StaleStreamTaken,
    /// What a checkpoint knew of durable stamps is forgotten when its generation is frozen.
    BeginsForgotten,
    /// A file is renamed although the name that it has is not durable.
    RenamedTwice,
    /// The files of a backup are not synced.
    BackupUnsynced,
    /// The directories of a backup are not synced.
    BackupDirectoriesUnsynced,
    /// The index of a backup is renamed into its place before it is synced.
    BackupIndexUnsynced,
    /// A backup takes the log from where it is now, and not from where its checkpoint needs it.
    BackupBeginsLate,
    /// A backup ends with what is durable, and not with what had ended.
    BackupEndsEarly,
    /// The ends of the streams in a backup are read one after the other.
    BackupEndsUnfit,
    /// A backup says that it reaches an epoch that has not ended.
    BackupEpochAhead,
    /// What a backup reads may be removed meanwhile.
    BackupUnheld,
    /// A backup is continued although segments in between are gone.
    BackupGapIgnored,
    /// A backup of another copy of the database, in which other transactions followed, is continued or replaced.
    BackupOfOtherCopyReplaced,
    /// What a restore copies is not synced.
    RestoreUnsynced,
    /// A directory that is being restored is not marked.
    RestoreUnmarked,
    /// A database that is being restored is backed up.
    UnfinishedBackedUp,
    /// The manifest does not say which epoch the database was taken back to.
    UntilForgotten,
    /// Records after the epoch that a database is taken back to count as they would.
    UntilIgnored,
    /// Records that had to wait for the cut are judged by it alone, whatever epoch a database is taken back to.
    LateUntilIgnored,
    /// A checkpoint is a base for going back to epochs before those in it.
    MaxEpochIgnored,
    /// A time is taken for the epoch after the one that it means.
    TimeOvershot,
    /// A checkpoint without a log says nothing of the stamps in it, and whoever loads it does not look.
    RowStampsUnseen,
    /// A thread that dies with locks held leaves them to the others.
    DeathWithLocks,
    /// A thread dies when its definitions have committed and are not published.
    DeathUnpublished,
    /// Errors that tell of what was read are returned before that is durable.
    ErrorToldAtOnce,
    /// A committer waits for room in the log with its locks held.
    RoomAwaitedWithLocks,
    /// A row that is replaced may have gone and come back before the commit.
    BirthUnchecked,
    /// What was noted of a tombstone serves for the one after it.
    LaterTombstonePurged,
    /// The boundary of a checkpoint is announced before it is noted where the log begins.
    AnnouncedBeforeBegins,
    /// Validation looks at the row first, and then whether somebody is changing it.
    RowBeforeWord,
    /// Whoever splits a leaf that it has read goes on with one half of what it read.
    SplitHalfForgotten,
    /// Rolling back to a savepoint leaves places of writes in a large write set that it has taken out.
    StalePlaces,
    /// Every locked record counts as one of the transaction's own, where its write set is so large that it is bisected.
    BisectionTrusted,
    /// A thread of a checkpoint that stops in the middle of a range does not go on in it.
    ScanPlaceLost,
    /// A block of a checkpoint that is full is taken for the end of its range.
    BlockEndsRange,
    /// Recovery takes the end of what it read at once for the end of a segment.
    ChunkEndsSegment,
    /// Of an index that is built in several pieces one is left out.
    IndexPieceLost,
    /// Recovery leaves the entry in an index of a row that a later version replaces, where indexes are kept in step.
    ReplacedEntryKept,
    /// Where threads of recovery own rows, each counts the owners from itself on.
    OwnersDisagree,
    /// Where threads of recovery own rows, a delete leaves nothing behind.
    OwnedTombstoneDropped,
    /// A scan goes on to the next slot of an inner node that has changed meanwhile.
    StaleParentScanned,
    /// A scan observes the leaf in which it begins, and not those to which it goes on.
    LaterLeavesUnobserved,
    /// Who replaces a row of which it knows only that it exists logs what changed in it.
    ExistenceAsBase,
    /// Replay applies what changed in a row to whatever version of it there is.
    BaseIgnored,
    /// Replay drops what changed in a version that it has not met yet.
    DeltaDropped,
    /// Replay of an image drops what waits for a later version.
    WaitingForgotten,
    /// The log before a checkpoint is given up although parts of a transaction that goes on are in it.
    PartsUnheld,
    /// The last part of a transaction is not written, and its record is taken although one is missing.
    PartMissing,
    /// The record of a transaction names the parts of the one before.
    PartOfAnother,
    /// The values of sequences that a call has drawn are not logged with it.
    ValuesUnlogged,
    /// The seed of random numbers that a call has drawn is not logged with it.
    SeedUnlogged,
    /// A call that is run again reads the clock.
    ClockReadAgain,
    /// Random numbers of a call that is run again are others.
    RandomDiffers,
    /// The same, and the hash of what it writes is not compared.
    HashUncompared,
    /// A call is run again with the first version of its procedure.
    FirstVersionRun,
    /// Streams of commands are run again one after the other.
    StreamsUnmerged,
    /// Beside commands, each record of a transaction is run again by itself.
    SharesRunApart,
    /// A salvage believes certificates of a stream that lost something.
    LossCertified,
    /// Commands that the cut leaves out are run again.
    DeadRunAgain,
    /// Commands that a checkpoint covers are run again.
    CoveredRunAgain,
    /// A session goes on with a procedure that it has compiled for tables and sequences that are others by now.
    StaleCodeRun,
    /// A scan sees what its transaction inserts meanwhile as leaves have it.
    LeafScannedOnce,
    /// Ids of procedures that were defined behind the last checkpoint are given again.
    ProcedureIdReused,
    /// Of a row that is changed the image before takes the place of what became of it.
    BeforeImageReplayed,
    /// What changed against the row before is logged although the transaction has not read that.
    OverwrittenUnread,
    /// Of what is read at once of a log of commands, transactions that logged values are run first.
    ValuesRunFirst,
    /// The room in the log of a transaction that drew its stamp and did not validate is left as it is.
    SlotUnskipped,
    /// A fuzzy checkpoint is taken, and is a base, where commands are logged.
    FuzzyBaseTaken,
    /// The epoch is drawn before the locks are held (breaks the S-point rule).
    EpochBeforeLocks,
    /// A row of a checkpoint was born when it was last written.
    BornInCheckpoint,
    /// A row that leaves a partial index by a change leaves its entry there.
    LeftEntryStays,
    /// The same, where recovery makes the change again in the order of transactions.
    ReplayedEntryStays,
    /// A partial index that is added to a table gets entries of the rows that it leaves out.
    ExcludedFilled,
    /// A partial index that recovery builds gets entries of the rows that it leaves out.
    ExcludedIndexed,
    /// Where recovery builds a partial index, rows with zero in its first column count as those with NULL.
    IncludedLeftOut,
    /// Recovery opens tables as if all rows had been written with the columns that there are now.
    LayoutForgotten,
    /// NULL that rows hold in columns which came after them becomes zero when recovery opens their table.
    MissingForgotten,
    /// Replay of a table's new name leaves it the old one.
    OldNameKept,
    /// Replay of a table's new name takes the old one away, and does not give it the new one.
    NewNameLost,
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
    /// A committer has written a part of its payload, or is about to write the first one.
    InParts,
    /// One of its writes is installed.
    Installed,
    /// Validation has looked at one of the two words of a record that it needs, and not yet at the other.
    HalfChecked,
    /// A scan goes on to its next leaf.
    Scanning,
    /// A logger has drawn its heartbeat.
    Beat,
    /// A logger has certified others.
    Certified,
    /// A logger has published a batch.
    Published,
    /// A thread of recovery has read batches, and looked at none of them.
    Read,
    /// A thread of recovery has replayed what certainly lives of a batch, and has not put the rest aside.
    Sifted,
    /// A file of a backup is copied.
    Copied,
    /// A checkpoint knows one of where the log begins and its boundary, or none of them yet.
    HalfBegun,
    /// A checkpoint is complete and stable, and the manifest does not name it yet.
    Complete,
    /// Somebody waits for another thread.
    Waiting,
}

/// What a call of a procedure draws from the world, and that it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Draw {
    /// A call begins, perhaps once more.
    Begun,
    /// It reads the clock: microseconds since 1970.
    Time(i64),
    /// It takes a seed of random numbers.
    Seed(u64),
    /// It takes a value of a sequence.
    Value(i64),
}

/// A part of what a database has on its disk, to be opened alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slice {
    /// The checkpoint, without anything of the log.
    Checkpoint,
    /// The checkpoint, if there is one, and the log up to this epoch.
    UpTo(Epoch),
}

/// Whether the caller is a thread of a simulator, which sees to it if that dies.
#[inline(always)]
pub(crate) fn is_simulated() -> bool {
    #[cfg(feature = "mutations")]
    return osier_memory::sync::SIMULATOR.get().is_some_and(|simulator| (simulator.is_here)());
    #[cfg(not(feature = "mutations"))]
    false
}

/// Lets the simulator switch, if there is one.
#[inline(always)]
pub(crate) fn yield_at(point: Point) {
    #[cfg(feature = "mutations")]
    if let Some(reached) = simulated::REACHED.get() {
        reached(point);
    }
    let _ = point;
}

/// Tells the simulator what a call draws, if there is one.
#[inline(always)]
pub(crate) fn drew(draw: Draw) {
    #[cfg(feature = "mutations")]
    if let Some(drew) = simulated::DREW.get() {
        drew(draw);
    }
    let _ = draw;
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

/// Takes a step, unless the fault is built in that leaves it out.
#[inline(always)]
pub(crate) fn unless<E>(mutation: Mutation, step: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    if has(mutation) { Ok(()) } else { step() }
}

/// Whether records are locked in the order of their keys, in a run that must not depend on addresses.
#[inline(always)]
pub(crate) fn locks_by_key() -> bool {
    #[cfg(feature = "mutations")]
    return simulated::LOCKS_BY_KEY.get();
    #[cfg(not(feature = "mutations"))]
    false
}

/// Whether a call is logged as a command, where the simulator draws that: in its time a procedure takes no time.
#[inline(always)]
pub(crate) fn logs_command() -> Option<bool> {
    #[cfg(feature = "mutations")]
    return simulated::COMMANDS_OF_256.get().map(|share| fastrand::u8(..) < share);
    #[cfg(not(feature = "mutations"))]
    None
}

/// A place in the serial order, as the simulation counts; nothing in what ships.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    #[cfg(feature = "mutations")]
    number: u64,
}

/// Takes the next place for a transaction that will perhaps be ordered there.
#[inline(always)]
pub(crate) fn take_place() -> Place {
    #[cfg(feature = "mutations")]
    return Place { number: simulated::PLACES.get().map_or(0, |(take, _)| take()) };
    #[cfg(not(feature = "mutations"))]
    Place {}
}

/// Tells that the transaction is ordered at a place that was taken.
#[inline(always)]
pub(crate) fn tell_place(place: Place) {
    #[cfg(feature = "mutations")]
    if let Some((_, tell)) = simulated::PLACES.get() {
        tell(place.number);
    }
    #[cfg(not(feature = "mutations"))]
    let _ = place;
}

/// Whether commits draw their order numbers before they validate, whatever their protocol asks for.
#[cfg(feature = "mutations")]
pub(crate) fn stamps_early() -> bool {
    simulated::STAMPS_EARLY.get()
}

/// Whether a record of the log is not in the slice that this thread opens.
#[inline(always)]
pub(crate) fn is_cut_off(epoch: Epoch) -> bool {
    #[cfg(feature = "mutations")]
    return match simulated::SLICE.get() {
        None => false,
        Some(Slice::Checkpoint) => true,
        Some(Slice::UpTo(last)) => epoch > last,
    };
    #[cfg(not(feature = "mutations"))]
    {
        let _ = epoch;
        false
    }
}

/// The simulator's side.
#[cfg(feature = "mutations")]
pub mod simulated {
    use std::cell::{Cell, RefCell};
    use std::sync::OnceLock;

    use osier_memory::sync::{SIMULATOR, Simulator};
    use osier_memory::{TreeFault, set_timeouts, set_tree_fault, set_tree_sizes};

    use super::{Draw, Mutation, Point, Slice};
    use crate::sizes;

    pub use osier_memory::TreeSizes;

    pub use crate::sizes::Sizes;

    pub(super) static REACHED: OnceLock<fn(Point)> = OnceLock::new();
    pub(super) static DREW: OnceLock<fn(Draw)> = OnceLock::new();
    pub(super) static PLACES: OnceLock<Places> = OnceLock::new();

    /// Who takes places, and is told of them.
    type Places = (fn() -> u64, fn(u64));

    thread_local! {
        pub(super) static MUTATIONS: RefCell<Vec<Mutation>> = const { RefCell::new(Vec::new()) };
        pub(super) static SLICE: Cell<Option<Slice>> = const { Cell::new(None) };
        pub(super) static LOCKS_BY_KEY: Cell<bool> = const { Cell::new(false) };
        pub(super) static STAMPS_EARLY: Cell<bool> = const { Cell::new(false) };
        pub(super) static COMMANDS_OF_256: Cell<Option<u8>> = const { Cell::new(None) };
    }

    /// From now on `reached` is called at every point, by whatever thread, and takes the place of waiting where `is_here`.
    /// The first call counts.
    pub fn install(is_here: fn() -> bool, reached: fn(Point)) {
        let _ = REACHED.set(reached);
        let _ = SIMULATOR.set(Simulator { is_here, pause: || super::yield_at(Point::Waiting) });
    }

    /// From now on `drew` is told what calls of procedures draw, in the thread that draws. The first call counts.
    pub fn watch_draws(drew: fn(Draw)) {
        let _ = DREW.set(drew);
    }

    /// From now on `take` gives the next place in the serial order to transactions that will perhaps be ordered there, and
    /// `tell` is told of one that is. All other places are those of [`Point::Ordered`]. The first call counts.
    pub fn number_places(take: fn() -> u64, tell: fn(u64)) {
        let _ = PLACES.set((take, tell));
    }

    /// Lets the databases that `open` opens in the calling thread have no more than a slice of what is there.
    pub fn sliced<T>(slice: Slice, open: impl FnOnce() -> T) -> T {
        /// Takes it back where the open panics, too.
        struct Sliced;
        impl Drop for Sliced {
            fn drop(&mut self) {
                SLICE.set(None);
            }
        }
        SLICE.set(Some(slice));
        let _sliced = Sliced;
        open()
    }

    /// Builds these faults, and no others, into what the calling thread runs.
    pub fn build_in(mutations: &[Mutation]) {
        MUTATIONS.set(mutations.to_vec());
        set_tree_fault(mutations.iter().find_map(|mutation| tree_fault(*mutation)));
    }

    fn tree_fault(mutation: Mutation) -> Option<TreeFault> {
        match mutation {
            Mutation::StaleParentScanned => Some(TreeFault::StaleParentScanned),
            _ => None,
        }
    }

    /// How the engine differs from what ships, in one thread.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Variant {
        /// Of steps and searches.
        pub sizes: Sizes,
        /// Of trees.
        pub trees: TreeSizes,
        /// Whether records are locked in the order of their keys and not of their addresses, which no seed repeats.
        pub locks_by_key: bool,
        /// Whether commits draw their order numbers before they validate, whatever their protocol asks for.
        pub stamps_early: bool,
        /// Of 256 calls so many are logged as commands where the database decides that, by chance; otherwise by what it measures.
        pub commands_of_256: Option<u8>,
        /// Whether waits for locks pass their limit now and then, drawn from this seed.
        pub timeouts: Option<u64>,
    }

    impl Variant {
        /// What ships, and what every thread runs unless it is told otherwise.
        pub const SHIPPED: Variant = Variant {
            sizes: Sizes::SHIPPED,
            trees: TreeSizes::SHIPPED,
            locks_by_key: false,
            stamps_early: false,
            commands_of_256: None,
            timeouts: None,
        };
    }

    /// Lets the calling thread run this variant from now on.
    pub fn vary(variant: Variant) {
        sizes::set(variant.sizes);
        set_tree_sizes(variant.trees);
        LOCKS_BY_KEY.set(variant.locks_by_key);
        STAMPS_EARLY.set(variant.stamps_early);
        COMMANDS_OF_256.set(variant.commands_of_256);
        set_timeouts(variant.timeouts);
    }
}
