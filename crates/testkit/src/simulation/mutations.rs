//! The faults that the simulation must find, and within how many seeds.
//!
//! Invariant: every [`Mutation`] that exists is listed here, or has a directed test, and a second time where it is another
//! fault to a log of commands; `docs/testing.md` shows the table that
//! [`table`] makes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use osier::Protocol;
use osier::config::{CheckpointKind, ConcurrencyControlKind, Logged, RowReplayKind};
use osier::failpoint::Mutation;

use super::{Choices, Profile, run};

/// A fault must be caught within this many seeds; most are within a hundred.
const SEEDS_MAX: u64 = 3000;

/// One fault.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The fault.
    pub mutation: Mutation,
    /// The step that it takes away.
    pub what: &'static str,
    /// Which invariant that breaks.
    pub invariant: &'static str,
    /// The protocol that shows it best; otherwise drawn.
    pub protocol: Option<Protocol>,
    /// How transactions are isolated.
    pub control: ConcurrencyControlKind,
    /// The number of streams that shows it best; otherwise drawn.
    pub streams: Option<u32>,
    /// What calls of procedures, or all transactions log; otherwise nothing is called, and values are logged.
    pub logged: Option<Logged>,
    /// The kind of checkpoints that shows it best; otherwise drawn, if there are any.
    pub checkpoints: Option<CheckpointKind>,
    /// How recovery replays rows where it shows; otherwise as it ships.
    pub rows: Option<RowReplayKind>,
    /// What seeds concentrate on that show it best; otherwise drawn.
    pub profile: Option<Profile>,
    /// What it breaks is that the database opens, that a wait ends or that the engine goes on: there is a check of its own
    /// against it. Of all others it is a promise to a transaction, and only the oracle's verdict counts.
    pub is_refused: bool,
}

/// A fault that was found.
#[derive(Debug)]
struct Caught {
    /// After how many seeds.
    seeds: u64,
    /// What was wrong.
    verdict: String,
}

const fn case(mutation: Mutation, what: &'static str, invariant: &'static str) -> Case {
    let (protocol, streams, logged, checkpoints, rows, profile) = (None, None, None, None, None, None);
    let control = ConcurrencyControlKind::Optimistic;
    Case {
        mutation,
        what,
        invariant,
        control,
        protocol,
        streams,
        logged,
        checkpoints,
        rows,
        profile,
        is_refused: false,
    }
}

impl Case {
    const fn of(self, protocol: Protocol) -> Case {
        Case { protocol: Some(protocol), ..self }
    }

    const fn locking(self) -> Case {
        Case { control: ConcurrencyControlKind::TwoPhaseLocking, ..self }
    }

    const fn multiversion(self) -> Case {
        Case { control: ConcurrencyControlKind::Multiversion, ..self }
    }

    const fn streams(self, streams: u32) -> Case {
        Case { streams: Some(streams), ..self }.of(Protocol::Poplar)
    }

    const fn gsn(self) -> Case {
        self.of(Protocol::Gsn)
    }

    /// With calls, which are logged as commands.
    const fn commands(self, protocol: Protocol) -> Case {
        Case { logged: Some(Logged::Commands), ..self }.of(protocol)
    }

    /// With images of what rows become and were, in half of the seeds.
    const fn physiological(self, protocol: Protocol) -> Case {
        Case { logged: Some(Logged::Physiological), ..self }.of(protocol)
    }

    /// With commands, on several streams.
    const fn on_streams(self) -> Case {
        Case { streams: Some(4), ..self.commands(Protocol::Gsn) }
    }

    /// With epochs over three streams.
    const fn epochs(self) -> Case {
        Case { streams: Some(3), ..self }.of(Protocol::Silo)
    }

    /// With commits that are divided among three streams.
    const fn shares(self) -> Case {
        Case { streams: Some(3), ..self }.of(Protocol::Plover)
    }

    /// With vectors of four streams.
    const fn vectors(self) -> Case {
        Case { streams: Some(4), ..self }.of(Protocol::Taurus)
    }

    /// With vectors that say in which order commands are run again.
    const fn vectors_of_commands(self) -> Case {
        Case { streams: Some(4), ..self.commands(Protocol::Taurus) }.profile(Profile::Calling)
    }

    /// With calls that recovery runs again as procedures and arguments allow.
    const fn calls(self) -> Case {
        self.on_streams().profile(Profile::Calling)
    }

    /// With calls that recovery runs again while the database is open.
    const fn instant(self) -> Case {
        self.on_streams().profile(Profile::Instant)
    }

    const fn epoch(self) -> Case {
        Case { checkpoints: Some(CheckpointKind::Epoch), ..self }
    }

    const fn fuzzy(self) -> Case {
        Case { checkpoints: Some(CheckpointKind::Fuzzy), ..self }.of(Protocol::Poplar)
    }

    const fn profile(self, profile: Profile) -> Case {
        Case { profile: Some(profile), ..self }
    }

    /// With this way to replay rows.
    const fn rows(self, rows: RowReplayKind) -> Case {
        Case { rows: Some(rows), ..self }
    }

    const fn backup(self) -> Case {
        self.profile(Profile::Backup)
    }

    const fn moved(self) -> Case {
        self.profile(Profile::Moved)
    }

    const fn salvaged(self) -> Case {
        self.profile(Profile::Salvaged)
    }

    const fn altering(self) -> Case {
        self.profile(Profile::Altering)
    }

    const fn large(self) -> Case {
        self.profile(Profile::Large)
    }

    const fn refused(self) -> Case {
        Case { is_refused: true, ..self }
    }
}

/// What fits a cell of a table.
fn shortened(verdict: &str) -> String {
    const LENGTH_MAX: usize = 110;
    let plain = verdict.replace('|', "/").replace(char::is_control, " ");
    let mut short: String = plain.chars().take(LENGTH_MAX).collect();
    if short.len() < plain.len() {
        short.push_str(" ...");
    }
    short
}

/// All of them.
pub const CASES: &[Case] = &[
    // Durability.
    case(Mutation::SkipLogSync, "batches are published without a sync", "P2: what is acknowledged is durable"),
    case(Mutation::SyncErrorIgnored, "a failed sync counts as none", "P2: what is acknowledged is durable"),
    case(Mutation::SyncRetried, "a failed sync is tried again and believed", "P2: acknowledged is durable").refused(),
    case(
        Mutation::LeaderUnsynced,
        "a committer that leads is answered at its first step",
        "P2: acknowledged is durable",
    ),
    case(Mutation::ReadersAtOnce, "who wrote nothing is acknowledged at once", "what was observed is durable"),
    case(Mutation::VolatileHeartbeat, "a heartbeat counts before it is durable", "P2: the frontier exceeds no stream")
        .streams(4),
    case(Mutation::NoCsnWait, "acknowledged by the own stream alone", "P3: CSN covers what was read"),
    case(Mutation::NoHeartbeat, "no markers, no certificates", "every receipt is answered"),
    case(Mutation::DeathIgnored, "a log whose task died goes on", "every receipt is answered"),
    case(Mutation::RestUnending, "a logger that rests sets itself no time", "every receipt is answered"),
    case(Mutation::BusyCertified, "a stream is certified with records in flight", "P2: a certificate is true"),
    case(Mutation::EarlyReach, "batches call durable what is only reserved elsewhere", "L9: a reach is true")
        .streams(4)
        .refused(),
    case(Mutation::CloseOutsideLatch, "a batch's stamp is read after its close", "P2: no record is behind its batch"),
    case(Mutation::DirectoryNotSynced, "a new segment's directory is not synced", "P2: segments keep their names")
        .refused(),
    case(Mutation::ManifestNotSynced, "the manifest is renamed before its sync", "a manifest is old or new").refused(),
    case(Mutation::NoFloor, "a segment's header says nothing of the stamps before", "a rotation loses no frontier")
        .refused(),
    // Directories.
    case(Mutation::IncarnationIgnored, "identities do not tell copies apart", "directories of two copies do not mix")
        .moved(),
    case(Mutation::DirectoryTwice, "two names of a directory are two directories", "a directory is named once")
        .moved()
        .refused(),
    case(Mutation::PlaceUnwatched, "files go by paths, whatever lies there by now", "a path is not a directory")
        .moved(),
    case(Mutation::IdentityUnsynced, "an identity is renamed before its sync", "an identity is old or new")
        .moved()
        .refused(),
    case(Mutation::IdentityLate, "identities follow their manifest", "directories belong to their manifest")
        .moved()
        .refused(),
    case(Mutation::DeepDirectoryUnsynced, "of new directories only three are synced", "a database has a place").moved(),
    case(Mutation::HeaderUnread, "files go by their names alone", "only our own files go").moved(),
    case(Mutation::NewestUnrecorded, "nobody records the newest segment", "a segment that is gone is missed").moved(),
    case(Mutation::BegunUnsynced, "a manifest is stored before its streams' records", "a sound database opens")
        .refused(),
    case(Mutation::StaleStreamTaken, "a stream is older than the manifest", "a stream that was put back is missed")
        .moved(),
    case(Mutation::NewestRecordedFirst, "a segment is recorded before it is there", "a sound database opens").refused(),
    // Isolation.
    case(Mutation::UnlockBeforeInstall, "locks are released before the install", "serializability"),
    case(Mutation::LateIndexInsert, "new keys go in after their locks are released", "serializability"),
    case(Mutation::PlaceholderUnobserved, "absent records are not observed", "serializability: phantoms"),
    case(Mutation::NoLeafValidation, "versions of leaves are not validated", "serializability: phantoms"),
    case(Mutation::ReadsUnlocked, "rows that are read are not locked", "serializability: two phases").locking(),
    case(Mutation::TimedOutHeld, "who has waited for a row in vain reads it", "serializability: two phases").locking(),
    case(Mutation::LocksReleasedEarly, "shared locks are given back before the S-point", "serializability: two phases")
        .locking(),
    case(Mutation::GapsUnlocked, "the gaps of a range are not locked", "serializability: phantoms").locking(),
    case(Mutation::LockedPurged, "keys leave their tree whoever has locked them", "what is locked stays").locking(),
    case(Mutation::PastPurged, "keys leave their tree though some see a row there", "who reads sees one state")
        .multiversion(),
    case(Mutation::TimestampBeforeLocks, "timestamps are drawn before locks", "who reads sees one state")
        .multiversion(),
    case(Mutation::PastUnvalidated, "who writes does not validate its reads", "serializability: write skew")
        .multiversion(),
    case(Mutation::PastWritten, "who has seen the past may write", "serializability").multiversion(),
    case(Mutation::PastLeftUnchecked, "who goes on to the present does not look back", "who reads sees one state")
        .multiversion(),
    case(Mutation::PastUnseen, "who reads sees what is there, and validates nothing", "who reads sees one state")
        .multiversion(),
    case(
        Mutation::UniqueUnobserved,
        "a unique index is looked at and not observed",
        "a unique index has no duplicates",
    ),
    case(Mutation::SavepointKeepsEntries, "a savepoint's rollback leaves index entries", "an index says what rows say"),
    case(Mutation::AbortedLogged, "a transaction that did not validate is logged", "only what commits is logged"),
    case(Mutation::AbortNotValidated, "aborts and readers are not validated", "an abort tells what holds"),
    // Trees of many leaves, and large write sets.
    case(
        Mutation::SplitHalfForgotten,
        "one half of a leaf that was read and split is observed",
        "serializability: phantoms",
    )
    .large(),
    case(
        Mutation::LaterLeavesUnobserved,
        "a scan observes only the leaf that it begins in",
        "serializability: phantoms",
    )
    .large(),
    case(Mutation::StaleParentScanned, "a scan goes on in a parent that has changed", "a scan has no gap").large(),
    case(Mutation::StalePlaces, "a rollback leaves places of writes that it took out", "a rollback restores the set")
        .large()
        .refused(),
    case(Mutation::BisectionTrusted, "all locks count as one's own, in large sets", "serializability").large(),
    // Definitions.
    case(Mutation::CatalogUnlogged, "definitions are not logged", "a definition is a write like any other")
        .profile(Profile::Defining),
    case(Mutation::TableIdReused, "ids of tables that are gone are given again", "an id is one table's for ever")
        .profile(Profile::Defining),
    case(
        Mutation::ReservationIgnored,
        "who uses a value does not depend on its reservation",
        "no value is given twice",
    )
    .profile(Profile::Drawing),
    case(Mutation::NameUnobserved, "commits do not ask whether absent names are still absent", "serializability: DDL")
        .profile(Profile::Defining),
    case(Mutation::DefinitionUnchecked, "commits do not ask whether definitions still hold", "serializability: DDL")
        .profile(Profile::Defining),
    // Partial indexes, layouts and names of tables that have rows.
    case(Mutation::LeftEntryStays, "a row that leaves a partial index leaves its entry", "an index says what rows say")
        .altering(),
    case(
        Mutation::ReplayedEntryStays,
        "a row that leaves a partial index again leaves its entry",
        "an index says what rows say",
    )
    .commands(Protocol::Serial)
    .altering(),
    case(
        Mutation::ExcludedFilled,
        "a partial index that is added has all rows",
        "an index has what its condition includes",
    )
    .altering(),
    case(
        Mutation::ExcludedIndexed,
        "a partial index that is recovered has all rows",
        "an index has what its condition includes",
    )
    .altering(),
    case(
        Mutation::IncludedLeftOut,
        "a partial index that is recovered takes zero for NULL",
        "an index has what its condition includes",
    )
    .altering(),
    case(Mutation::LayoutForgotten, "rows are read as if columns had never changed", "a row is one of each layout")
        .altering()
        .refused(),
    case(Mutation::MissingForgotten, "rows hold zero in columns that came after them", "a row is one of each layout")
        .altering()
        .refused(),
    case(Mutation::OldNameKept, "a table that gets another name keeps the old one", "a table has one name").altering(),
    case(Mutation::NewNameLost, "a table that gets another name gets none", "a table has one name").altering(),
    case(Mutation::NewNameLost, "a table that gets another name again gets none", "a table has one name")
        .commands(Protocol::Serial)
        .altering(),
    // Dependencies.
    case(Mutation::AbsencesIgnored, "`raw_dep` leaves out absent rows", "P3 for absences"),
    case(Mutation::BirthIgnored, "`raw_dep` leaves out the birth of a replaced row", "P3 for existence")
        .profile(Profile::Absent),
    case(Mutation::EarlyPurge, "tombstones go, stamp and all, before they are stable", "P1 for absent keys"),
    // A total order of stamps.
    case(Mutation::ReadsUnordered, "stamps do not cover anti-dependencies", "P6: stamps are a serialization order")
        .gsn(),
    case(Mutation::ReadsUnordered, "stamps do not cover anti-dependencies", "P6: under locks, too").gsn().locking(),
    case(Mutation::ReadsRaisedLate, "read stamps are raised after the validation", "P6: a reader or a writer sees")
        .gsn(),
    case(Mutation::LeavesUnraised, "absences and ranges leave no read stamp", "P6 for absences").gsn(),
    case(Mutation::StampDrawnLate, "stamps are drawn after the validation", "P6: the serialization point").gsn(),
    case(Mutation::UsersUnordered, "a definition is stamped without regard to its users", "P6: DDL")
        .gsn()
        .profile(Profile::Defining),
    case(
        Mutation::PrefixUnawaited,
        "a commit is acknowledged by Poplar's rule",
        "what is acknowledged is in the prefix",
    )
    .gsn(),
    // Divided commits.
    case(Mutation::ShareMissing, "the last share of a commit is not logged", "a commit is whole").shares().refused(),
    case(Mutation::StreamsApart, "a stream is replayed as far as it goes", "a commit is whole").shares(),
    case(Mutation::NoCsnWait, "a commit waits for no stream", "all shares are durable").shares(),
    case(Mutation::BusyCertified, "a stream in flight is certified as idle", "all shares are durable").shares(),
    // Whole epochs.
    case(Mutation::OpenEpochClaimed, "a stream's first records end its epoch", "D: epochs that are over").epochs(),
    case(Mutation::OpenEpochLives, "the epoch in which a stream ends lives", "what lives is closed").epochs(),
    case(Mutation::NoCsnWait, "a commit is acknowledged without its epoch", "D reaches the own epoch").epochs(),
    case(Mutation::BusyCertified, "a stream in flight is certified as idle", "D: epochs that are over").epochs(),
    case(Mutation::NoGenerationFreeze, "a frozen generation is judged by the next one's cut", "D is written down")
        .epochs(),
    // Vectors.
    case(Mutation::NoCsnWait, "a commit is acknowledged by its own stream alone", "PLV reaches the vector").vectors(),
    case(Mutation::VectorNotHandedOn, "readers take over the writer's LSN alone", "Y1: what lives is closed").vectors(),
    case(
        Mutation::OwnLsnForgotten,
        "readers take over the vector without the writer's LSN",
        "Y1: what lives is closed",
    )
    .vectors(),
    case(Mutation::NoGenerationFreeze, "a frozen generation is judged by the next one's cut", "ELV is written down")
        .vectors(),
    case(Mutation::ReadersUnmerged, "vectors leave out who has read what is overwritten", "Y1: commands run in order")
        .vectors_of_commands()
        .refused(),
    case(Mutation::OverwrittenUnmerged, "vectors leave out whose rows are overwritten", "Y1: commands run in order")
        .vectors_of_commands()
        .refused(),
    case(Mutation::TakenForRun, "a transaction that was taken counts as one that has run", "RLV: what was run")
        .vectors_of_commands()
        .refused(),
    // Procedures and arguments.
    case(Mutation::KeysGuessed, "accesses whose keys are read are not planned", "O4").calls().refused(),
    case(Mutation::BranchesGuessed, "accesses that a row decides about are not planned", "O4").calls().refused(),
    case(Mutation::RoundsForgotten, "of loops only the first round is planned", "O4").calls().refused(),
    case(Mutation::ChangedRowsRead, "keys are read of rows that change", "O17").calls().refused(),
    case(Mutation::RunningForgotten, "keys are read of rows that running calls change", "O17").calls().refused(),
    case(Mutation::UniqueIndexesForgotten, "unique indexes are no accesses", "O8")
        .commands(Protocol::Serial)
        .profile(Profile::Calling)
        .refused(),
    case(Mutation::AdHocUnordered, "rows among commands have no place", "O5").calls().refused(),
    case(Mutation::ReadersUnawaited, "writers do not wait for readers", "O7").calls().refused(),
    case(Mutation::PurgedCounted, "stamps of purged keys count at once", "O18").calls().refused(),
    case(Mutation::TablesUnawaited, "who reads a table does not wait for its rows", "O6").calls().refused(),
    case(Mutation::DefinitionsBeside, "definitions run beside calls", "O9").calls().refused(),
    // Instant recovery.
    case(Mutation::BacklogUnread, "a row is read before its turn has come", "O10").instant().refused(),
    case(Mutation::BacklogOverwritten, "a row is written before the log has read it", "O10").instant().refused(),
    case(Mutation::BacklogColumnsOverwritten, "the same of what the log does not change", "O10").instant().refused(),
    case(Mutation::BacklogRangeAsKey, "of a range only the beginning is waited for", "O10").instant().refused(),
    case(Mutation::BacklogOfNow, "what runs again is of the present", "O13").instant().multiversion().refused(),
    // Recovery.
    case(Mutation::NoGenerationFreeze, "a frozen generation is judged by the next one's cut", "the dead stay dead"),
    case(Mutation::ReplayBeforeCut, "records are replayed before the cut is known", "P3: what is recovered is closed"),
    case(Mutation::ExistenceAsBase, "who knows only that a row exists logs what changed in it", "P3: the base lives")
        .profile(Profile::Absent)
        .streams(4)
        .refused(),
    case(Mutation::BaseIgnored, "what changed in a row is applied to any version", "a delta has one base").streams(4),
    case(Mutation::DeltaDropped, "what changed in a version to come is dropped", "replay in any order").streams(4),
    case(Mutation::WaitingForgotten, "an image drops what waits for a later version", "replay in any order").streams(4),
    case(Mutation::RecordUnchecked, "checksums of records are not looked at", "a record is whole or not there")
        .streams(4)
        .profile(Profile::Torn),
    case(Mutation::UnboundSeal, "checksums say nothing of the place", "L2: a recycled segment is blank")
        .epoch()
        .profile(Profile::Recycling)
        .refused(),
    case(Mutation::TailNotPersisted, "recovery does not write tails again", "what was recovered is durable")
        .profile(Profile::Torn)
        .refused(),
    case(Mutation::TailNamedFirst, "a tail is named before the one before it durably is", "a chain has no gaps")
        .profile(Profile::Relapsing)
        .refused(),
    case(Mutation::StampsIgnored, "replay keeps the image that comes first", "last writer wins"),
    case(Mutation::TombstonesNotReplayed, "a delete that comes before its row is ignored", "last writer wins"),
    case(Mutation::ChunkEndsSegment, "the end of a chunk counts as that of its segment", "the valid prefix is whole"),
    case(Mutation::IndexPieceLost, "one piece of an index is left out", "an index says what rows say").large(),
    case(Mutation::ReplacedEntryKept, "the entry of a replaced version stays", "an index says what rows say")
        .rows(RowReplayKind::Llr),
    case(Mutation::OwnersDisagree, "threads count owners from themselves on", "a row has one owner")
        .rows(RowReplayKind::LlrP)
        .refused(),
    case(Mutation::OwnedTombstoneDropped, "the owner of a row forgets that it is deleted", "last writer wins")
        .rows(RowReplayKind::LlrP),
    // Epochs and their checkpoints.
    case(Mutation::LateEpoch, "the epoch is drawn after the validation", "P4: an epoch cuts no dependency").epoch(),
    case(Mutation::EpochBeforeLocks, "the epoch is drawn before the locks are held", "P4: an epoch cuts no dependency")
        .epoch(),
    case(Mutation::EarlyScan, "the scan begins before its epoch has ended", "K1").epoch(),
    case(Mutation::NotRetained, "what is overwritten is not kept for the snapshot", "K1, U3").epoch(),
    case(Mutation::RetainedForAnother, "it is kept for the snapshot before", "K1, U2").epoch(),
    case(Mutation::StaleAnnouncement, "committers look for a snapshot before their epoch is drawn", "K1, U1").epoch(),
    case(Mutation::OrphansForgotten, "what snapshots see of purged records is not kept", "K1, U4").epoch(),
    case(Mutation::CommitUnannounced, "a commit does not announce its epoch", "Z1, E5").profile(Profile::Snapshots),
    case(Mutation::SnapshotBeforeEnd, "a snapshot is read before its epoch has ended", "Z1")
        .profile(Profile::Snapshots),
    case(Mutation::SnapshotToldAtOnce, "what a snapshot holds is told before it is durable", "Z3")
        .profile(Profile::Snapshots),
    case(Mutation::EpochReused, "a generation's epochs begin at the floor", "K4").epoch(),
    case(Mutation::EpochFloorForgotten, "the floor leaves out the checkpoint's epoch", "K4").epoch(),
    case(Mutation::ScanPlaceLost, "a step does not go on where the one before stopped", "K1").epoch().large(),
    case(Mutation::BlockEndsRange, "a full block is taken for the end of its range", "K1").epoch().large(),
    // Fuzzy checkpoints.
    case(Mutation::LateReplayStart, "RSN is read after the tuples", "K1").fuzzy(),
    case(Mutation::NoTupleLock, "records are read although they are locked", "K1").fuzzy(),
    case(Mutation::TombstoneUnseen, "`max_seen` leaves out absences", "K2").fuzzy().profile(Profile::Quiet),
    case(Mutation::CheckpointBeforeStable, "a manifest names what the log does not bear out yet", "K2").fuzzy(),
    // Files.
    case(Mutation::CheckpointBeforeSync, "a manifest names files that were not synced", "K2").epoch().refused(),
    case(Mutation::UnlinkBeforeManifest, "files go before the manifest that does not need them", "K3")
        .epoch()
        .refused(),
    case(Mutation::CheckpointRemovedEarly, "a checkpoint goes before the next one is durable", "K3").epoch().refused(),
    case(Mutation::LateBegins, "segments that are needed are recycled", "K3").epoch(),
    case(Mutation::BeginsAhead, "begins claim what was stamped and not what is durable", "K3: the cut does not rise")
        .fuzzy()
        .streams(4),
    // Transactions in parts.
    case(Mutation::PartsUnheld, "the log is given up to behind parts that are needed", "K3: parts are held")
        .profile(Profile::Parts)
        .epoch()
        .refused(),
    case(Mutation::PartMissing, "a part is missing and nobody looks", "a transaction is whole").profile(Profile::Parts),
    case(Mutation::PartOfAnother, "the parts of the transaction before are named", "a transaction is its own")
        .profile(Profile::Parts)
        .streams(1),
    // Commands.
    case(Mutation::StampDrawnLate, "stamps are drawn after the validation", "O1: a command comes after all it read")
        .commands(Protocol::Serial)
        .profile(Profile::Calling),
    case(Mutation::ReadsUnordered, "stamps do not cover anti-dependencies", "O1: and before what overwrites it")
        .on_streams()
        .profile(Profile::Calling),
    case(Mutation::UsersUnordered, "a definition is stamped without regard to its users", "O1: DDL and procedures")
        .on_streams()
        .profile(Profile::Calling),
    case(Mutation::AbortedLogged, "a call that did not validate is logged", "only what commits is run again")
        .commands(Protocol::Serial)
        .profile(Profile::Calling),
    case(Mutation::ValuesUnlogged, "values of sequences are not logged", "O3: what a call drew is a part of it")
        .commands(Protocol::Serial)
        .profile(Profile::Calling)
        .refused(),
    case(Mutation::SeedUnlogged, "the seed of random numbers is not logged", "O3: what a call drew is a part of it")
        .commands(Protocol::Serial)
        .refused(),
    case(Mutation::ClockReadAgain, "a call that is run again reads the clock", "O3: a call has one time")
        .commands(Protocol::Serial)
        .refused(),
    case(Mutation::RandomDiffers, "a call that is run again draws other random numbers", "O3: hashes are compared")
        .commands(Protocol::Serial)
        .refused(),
    case(Mutation::HashUncompared, "the same, and hashes are not compared", "O3").commands(Protocol::Serial),
    case(Mutation::FirstVersionRun, "the first version of a procedure is run again", "O3: a call has a version")
        .commands(Protocol::Serial)
        .profile(Profile::Calling)
        .refused(),
    case(Mutation::StreamsUnmerged, "streams are run again one after the other", "O2").on_streams().refused(),
    case(Mutation::SharesRunApart, "what several streams hold is run again piece by piece", "a commit is whole")
        .shares()
        .profile(Profile::Changing)
        .refused(),
    case(Mutation::DeadRunAgain, "what the cut leaves out is run again", "O2: the dead stay dead")
        .on_streams()
        .refused(),
    case(Mutation::CoveredRunAgain, "what a checkpoint holds is run again", "O2: once")
        .commands(Protocol::Serial)
        .epoch()
        .refused(),
    case(Mutation::StaleCodeRun, "compiled code is used after its tables are gone", "O3: a command can be compiled")
        .commands(Protocol::Serial),
    case(
        Mutation::LeafScannedOnce,
        "a loop sees what it inserts as leaves have it",
        "O3: the form of trees is nothing",
    )
    .commands(Protocol::Serial),
    case(
        Mutation::ProcedureIdReused,
        "ids of procedures in the log are given again",
        "an id is one procedure's for ever",
    )
    .commands(Protocol::Serial)
    .profile(Profile::Calling),
    case(Mutation::ValuesRunFirst, "values are put in place before the commands around them", "O2: each in its place")
        .commands(Protocol::Serial)
        .refused(),
    case(
        Mutation::SlotUnskipped,
        "the room of a call that did not validate is left as it is",
        "a number that nobody has is a skip",
    )
    .commands(Protocol::Serial),
    case(
        Mutation::EpochBeforeLocks,
        "the epoch is drawn before the locks are held",
        "P4: the base of a replay is whole",
    )
    .on_streams()
    .epoch(),
    case(
        Mutation::BornInCheckpoint,
        "a row of a checkpoint was born when it was last written",
        "O2: who only relies on a row may have a smaller stamp",
    )
    .on_streams()
    .epoch()
    .profile(Profile::Lagging)
    .refused(),
    // Physiological logging.
    case(
        Mutation::BeforeImageReplayed,
        "the image before takes the place of the one after",
        "a row is what was written",
    )
    .physiological(Protocol::Serial),
    case(
        Mutation::OverwrittenUnread,
        "a row counts as read because its image before is wanted",
        "R14: the row before was read",
    )
    .physiological(Protocol::Poplar)
    .profile(Profile::Absent)
    .refused(),
    // Backups and restores.
    case(Mutation::BackupUnsynced, "files of a backup are not synced", "a backup is durable").backup(),
    case(Mutation::BackupDirectoriesUnsynced, "directories of a backup are not synced", "a backup is durable").backup(),
    case(Mutation::BackupIndexUnsynced, "its index is renamed before its sync", "a backup is old or new").backup(),
    case(Mutation::BackupBeginsLate, "it takes the log from where that is now", "a backup has what had ended").backup(),
    case(Mutation::BackupEndsEarly, "it ends with what is durable", "a backup has what had ended").backup(),
    case(Mutation::BackupEndsUnfit, "ends of streams are read one after the other", "L7 in a backup")
        .backup()
        .streams(4)
        .refused(),
    case(Mutation::BackupEpochAhead, "it names an epoch that has not ended", "a backup has its epochs").backup(),
    case(Mutation::BackupUnheld, "what it reads is removed meanwhile", "a backup is one state").backup().refused(),
    case(Mutation::BackupGapIgnored, "it is continued over segments that are gone", "a backup has no gap")
        .backup()
        .streams(1)
        .refused(),
    case(Mutation::BackupOfOtherCopyReplaced, "it replaces what another copy went on to", "a backup is of one copy")
        .backup(),
    case(Mutation::RestoreUnsynced, "what is copied back is not synced", "a restore is durable").backup(),
    case(Mutation::RestoreUnmarked, "its directory is not marked", "nothing opens in part").backup(),
    case(Mutation::UnfinishedBackedUp, "a part of a database is backed up", "nothing opens in part").backup(),
    // Back to an epoch or a time.
    case(Mutation::UntilForgotten, "the manifest does not say so", "M10: the dead stay dead").backup(),
    case(Mutation::UntilIgnored, "records are judged by the cut alone", "M10").backup(),
    case(Mutation::LateUntilIgnored, "records that waited for the cut are judged by it alone", "M10")
        .profile(Profile::Returning)
        .epoch()
        .refused(),
    case(Mutation::MaxEpochIgnored, "a checkpoint of later epochs is the base", "M10: `max_epoch`").backup(),
    case(Mutation::TimeOvershot, "a time means the epoch after", "M10: closed by then").backup(),
    // Salvage.
    case(Mutation::LossCertified, "certificates count for a stream that lost something", "V1").salvaged().streams(4),
];

impl Case {
    /// As it is named on the command line.
    pub fn name(&self) -> String {
        let camel = format!("{:?}", self.mutation);
        let kebab = camel.chars().flat_map(|letter| {
            let dash = letter.is_uppercase().then_some('-');
            dash.into_iter().chain(letter.to_lowercase())
        });
        kebab.skip(1).collect()
    }

    fn row(&self) -> (String, bool) {
        let caught = self.hunt();
        let streams = match self.streams {
            None => String::new(),
            Some(1) => " with one stream".to_owned(),
            Some(streams) => format!(" with {streams} streams"),
        };
        let kind = self.checkpoints.map_or(String::new(), |kind| format!(" with {kind:?} checkpoints").to_lowercase());
        let logged = match self.logged {
            None | Some(Logged::Values) => "",
            Some(Logged::Commands) => " with commands",
            Some(Logged::Adaptive) => " with either",
            Some(Logged::Physiological) => " with images",
        };
        let rows = self.rows.map_or(String::new(), |rows| format!(" with `{rows}`"));
        let locks = match self.control {
            ConcurrencyControlKind::Optimistic => "",
            ConcurrencyControlKind::TwoPhaseLocking => " with locks",
            ConcurrencyControlKind::Multiversion => " with versions",
        };
        let profile = self.profile.map_or(String::new(), |profile| format!(" of `{profile:?}`").to_lowercase());
        let (seeds, verdict) = match &caught {
            Some(caught) => {
                (format!("{}{profile}{locks}{streams}{logged}{kind}{rows}", caught.seeds), shortened(&caught.verdict))
            }
            None => (format!("not in {SEEDS_MAX}"), String::new()),
        };
        let row = format!("| `{}`: {} | {} | {seeds} | {verdict} |\n", self.name(), self.what, self.invariant);
        (row, caught.is_some())
    }

    /// Runs seeds until one finds the fault.
    fn hunt(&self) -> Option<Caught> {
        let choices = Choices {
            control: Some(self.control),
            locking: None,
            protocol: self.protocol,
            streams: self.streams,
            logged: self.logged,
            checkpoints: self.checkpoints,
            rows: self.rows,
            profile: self.profile,
            mutations: vec![self.mutation],
        };
        (0..SEEDS_MAX).find_map(|seed| {
            let failure = run(seed, &choices, false).err()?;
            let counts = self.is_refused || failure.is_broken_promise();
            let verdict = failure.to_string().lines().next().unwrap_or_default().to_owned();
            counts.then_some(Caught { seeds: seed + 1, verdict })
        })
    }
}

/// Catches the faults, on as many threads as there are cores; the rows of the table in docs/testing.md. The flag says whether
/// each was caught within its limit.
pub fn table(cases: &[Case]) -> (String, bool) {
    let next = AtomicUsize::new(0);
    let rows: Vec<OnceLock<(String, bool)>> = cases.iter().map(|_| OnceLock::new()).collect();
    let hunt = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else { return };
            let _ = rows[at].set(case.row());
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        (0..cores).for_each(|_| drop(scope.spawn(hunt)));
    });
    let mut table = "| mutation | invariant broken | seeds | what was found |\n|---|---|---|---|\n".to_owned();
    let mut all = true;
    for (row, caught) in rows.iter().filter_map(OnceLock::get) {
        table.push_str(row);
        all &= caught;
    }
    (table, all)
}
