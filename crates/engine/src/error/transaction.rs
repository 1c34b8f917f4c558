//! What can go wrong within a transaction. Conflicts are retried by [`Session::run`](crate::Session::run); the rest is
//! reported.

use std::time::Duration;

use crate::ids::Epoch;
use crate::table::Datum;
use crate::units::bytes;

/// Why a snapshot was ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotEnd {
    /// It was open for longer than `snapshot_age_max`.
    #[error(
        "it was open for {:.1} s, the limit snapshot_age_max is {:.1} s; read in less time, or raise the limit",
        age.as_secs_f64(), limit.as_secs_f64()
    )]
    Age {
        /// How long it was open.
        age: Duration,
        /// The limit.
        limit: Duration,
    },
    /// Memory was short, and it was the oldest one for which rows were kept.
    #[error(
        "rows that changed since were kept for snapshots in {} of memory, {} are in use and the limit memory_limit is {}; read \
         in less time, or raise the limit", bytes(*retained), bytes(*used), bytes(*limit)
    )]
    Memory {
        /// What was kept.
        retained: u64,
        /// What was in use, all in all.
        used: u64,
        /// The limit.
        limit: u64,
    },
}

/// Why an operation or a commit did not happen. Unless said otherwise the transaction can go on; its earlier operations
/// stand.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionError {
    /// Another transaction changed what this one read, before this one committed, or holds a lock that this one may not wait for.
    /// Nothing of it took effect: run it
    /// again. Where an operation returns this, the transaction can only be rolled back; committing it returns this again.
    #[error("the transaction conflicts with another one on {what}; nothing of it took effect, run it again")]
    Conflict {
        /// What the two met on.
        what: Contended,
    },
    /// A lock was not given back for so long: its holder is slow, or waits for this very thread. What the transaction has locked
    /// stays locked until it ends.
    #[error(
        "another transaction has held a lock for {limit:?}, the limit is lock_timeout; end transactions sooner, hold one at a \
         time in a thread, or raise the limit"
    )]
    LockTimeout {
        /// The limit.
        limit: Duration,
    },
    /// Calls of the log have to run again first (`recovery = instant`), and the task of this transaction shall wait no more.
    #[error(
        "calls of the log that access the same rows have still to run again, and there is no more time to wait for them; try \
         again later, or open the database with recovery=whole"
    )]
    BacklogTimeout,
    /// Sessions waited for each other in a circle, and this one waited for an advisory lock. It holds what it held.
    #[error(
        "sessions wait for each other's locks in a circle; take locks in the same order everywhere, and run it again"
    )]
    Deadlock,
    /// [`Session::run`](crate::Session::run) gave up.
    #[error(
        "the transaction met conflicts in all of {attempts} attempts; raise conflict_retries_max or make it smaller"
    )]
    RetriesExhausted {
        /// How often it was run.
        attempts: u32,
    },
    /// A row with this primary or unique key exists.
    #[error("duplicate key {key} in {constraint} of table `{table}`")]
    DuplicateKey {
        /// The table.
        table: String,
        /// "the primary key" or "unique index `name`".
        constraint: String,
        /// The key's columns and values, as a text.
        key: String,
        /// The key's values.
        values: Vec<Datum>,
    },
    /// A write in a transaction that was begun read-only.
    #[error("table `{table}` cannot be written by a read-only transaction; begin one without read_only")]
    ReadOnly {
        /// The table.
        table: String,
    },
    /// A snapshot was ended while it was in use: nothing that it has read is wrong, and it reads nothing more.
    #[error("the snapshot of epoch {epoch} has ended: {end}")]
    SnapshotEnded {
        /// The epoch at whose end it is.
        epoch: Epoch,
        /// Why.
        end: SnapshotEnd,
    },
    /// A table handle that is not the one of the snapshot: the table was created, altered or dropped in between.
    #[error(
        "the handle of table `{table}` is not of the snapshot that the transaction reads; look the table up in this transaction"
    )]
    TableNotOfSnapshot {
        /// The table.
        table: String,
    },
    /// What a transaction at a snapshot cannot do.
    #[error("a transaction at a snapshot cannot {what}; do that in another transaction")]
    NotAtSnapshot {
        /// What it was to do.
        what: &'static str,
    },
    /// A snapshot of another database, or of this one before it was closed and opened again.
    #[error(
        "the snapshot of epoch {epoch} is of another database, or of an earlier open of this one; take one of this database"
    )]
    ForeignSnapshot {
        /// The epoch at whose end it is.
        epoch: Epoch,
    },
    /// Epochs have reached the last one that rows can name.
    #[error("the database has used up its epochs for snapshots; restore its rows into a new database")]
    EpochsExhausted,
    /// A write to a table of the catalog.
    #[error(
        "table `{table}` holds definitions and is written by those only; create, change or drop what it names instead"
    )]
    SystemTable {
        /// The table.
        table: String,
    },
    /// A name that begins as the names of the catalog's tables do.
    #[error("the name `{name}` begins with osier_, which is reserved for the catalog; choose another name")]
    ReservedName {
        /// The name.
        name: String,
    },
    /// There is no such sequence, or no more.
    #[error("sequence `{sequence}` does not exist; check the name, or create the sequence")]
    UnknownSequence {
        /// As given.
        sequence: String,
    },
    /// There is a sequence of this name.
    #[error("sequence `{sequence}` exists already; look it up instead of creating it, or choose another name")]
    SequenceExists {
        /// The sequence.
        sequence: String,
    },
    /// A sequence that cannot be declared, or restarted, so.
    #[error("sequence `{sequence}`: {what}")]
    InvalidSequence {
        /// The sequence.
        sequence: String,
        /// What does not fit, and what would.
        what: String,
    },
    /// A sequence that does not cycle has no value left.
    #[error(
        "sequence `{sequence}` has reached {bound}, its last value; restart it, or create one that cycles or has other bounds"
    )]
    SequenceExhausted {
        /// The sequence.
        sequence: String,
        /// The bound that it ended at.
        bound: i64,
    },
    /// A value of a sequence was drawn in a transaction that was begun read-only.
    #[error("sequence `{sequence}` gives no values to a read-only transaction; begin one without read_only")]
    ReadOnlySequence {
        /// The sequence.
        sequence: String,
    },
    /// There is no such table.
    #[error("table `{table}` does not exist; check the name, or create the table")]
    UnknownTable {
        /// As given.
        table: String,
    },
    /// There is a table of this name.
    #[error("table `{table}` exists already; look it up instead of creating it, or choose another name")]
    TableExists {
        /// The table.
        table: String,
    },
    /// The table was altered or dropped since the handle was made, or its creation was rolled back.
    #[error("the definition of table `{table}` has changed since this handle was made; look the table up again")]
    TableChanged {
        /// The table.
        table: String,
    },
    /// A key longer than `key_bytes_max`.
    #[error(
        "a key of table `{table}` takes {bytes} bytes, the limit key_bytes_max is {limit}; shorten it or raise the limit"
    )]
    KeyTooLarge {
        /// The table.
        table: String,
        /// Its encoded size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A row longer than `row_bytes_max`.
    #[error(
        "a row of table `{table}` takes {bytes} bytes, the limit row_bytes_max is {limit}; shorten it or raise the limit"
    )]
    RowTooLarge {
        /// The table.
        table: String,
        /// Its encoded size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The transaction's pending writes take more memory than `transaction_bytes_max`: it can be committed as it is or rolled
    /// back, and takes no further write.
    #[error(
        "the writes of the transaction take {bytes} bytes of memory, the limit transaction_bytes_max is {limit}; split it \
         or raise the limit"
    )]
    TransactionBytes {
        /// What they take.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The transaction has `transaction_writes_max` writes: it can be committed as it is or rolled back.
    #[error(
        "the transaction has {writes} writes of rows and index entries, the limit transaction_writes_max is {limit}; \
         split it or raise the limit"
    )]
    TransactionWrites {
        /// How many there are.
        writes: usize,
        /// The limit.
        limit: usize,
    },
    /// The transaction would leave more behind than `memory_limit` allows. Nothing of it took effect.
    #[error(
        "the transaction needs {needed} bytes more, and {used} bytes of memory are in use where memory_limit is {limit}; \
         delete rows, or raise memory_limit"
    )]
    MemoryLimit {
        /// What its rows take.
        needed: u64,
        /// What is in use.
        used: u64,
        /// The limit.
        limit: u64,
    },
    /// All `sessions_max` sessions are in use.
    #[error("all {limit} sessions are in use; drop one or raise sessions_max")]
    TooManySessions {
        /// The limit.
        limit: usize,
    },
    /// A savepoint of another transaction, or one that was rolled back already.
    #[error("the savepoint does not belong to this transaction or was rolled back already")]
    UnknownSavepoint,
}

/// What two transactions met on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Contended {
    /// A row that this transaction read was changed.
    Row,
    /// A row appeared or vanished in a range that this transaction read.
    Range,
    /// Another transaction holds a lock that this one wants, or the other way round, and by their ages this one may not wait.
    Lock,
}

impl std::fmt::Display for Contended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Contended::Row => "a row that it read",
            Contended::Range => "a range that it read",
            Contended::Lock => "a lock",
        })
    }
}

impl TransactionError {
    pub(crate) const ROW_CONFLICT: TransactionError = TransactionError::Conflict { what: Contended::Row };
    pub(crate) const LOCK_CONFLICT: TransactionError = TransactionError::Conflict { what: Contended::Lock };
    pub(crate) const RANGE_CONFLICT: TransactionError = TransactionError::Conflict { what: Contended::Range };

    /// Whether a commit was refused because its writes are beyond a limit.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, TransactionError::MemoryLimit { .. })
    }

    /// The SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            TransactionError::Conflict { .. } | TransactionError::RetriesExhausted { .. } => "40001",
            TransactionError::Deadlock => "40P01",
            TransactionError::LockTimeout { .. } | TransactionError::BacklogTimeout => "55P03",
            TransactionError::DuplicateKey { .. } => "23505",
            TransactionError::ReadOnly { .. } | TransactionError::ReadOnlySequence { .. } => "25006",
            TransactionError::SnapshotEnded { .. } => "72000",
            TransactionError::TableNotOfSnapshot { .. } | TransactionError::ForeignSnapshot { .. } => "55000",
            TransactionError::NotAtSnapshot { .. } => "25006",
            TransactionError::EpochsExhausted => "54000",
            TransactionError::SystemTable { .. } => "42501",
            TransactionError::ReservedName { .. } => "42939",
            TransactionError::UnknownTable { .. } | TransactionError::UnknownSequence { .. } => "42P01",
            TransactionError::TableExists { .. } | TransactionError::SequenceExists { .. } => "42P07",
            TransactionError::InvalidSequence { .. } => "22023",
            TransactionError::SequenceExhausted { .. } => "2200H",
            TransactionError::TableChanged { .. } => "0A000",
            TransactionError::KeyTooLarge { .. }
            | TransactionError::RowTooLarge { .. }
            | TransactionError::TransactionBytes { .. }
            | TransactionError::TransactionWrites { .. } => "54000",
            TransactionError::MemoryLimit { .. } => "53200",
            TransactionError::TooManySessions { .. } => "53300",
            TransactionError::UnknownSavepoint => "3B001",
        }
    }
}
