//! Everything that a seed decides before the run begins, and the operations that it then draws.
//!
//! Invariant: every probability is itself drawn, some of them as zero, so that seeds differ in kind (swarm testing) and
//! rare combinations are common in some of them.

use std::collections::Bound;
use std::time::Duration;

use fastrand::Rng;
use osier::Protocol;
use osier::config::{CheckpointKind, Compression, ConcurrencyControlKind, Locking, Logged};
use osier::config::{RecoveryKind, ReplayKind, RowReplayKind};
use osier::failpoint::Mutation;
use osier::failpoint::simulated::Variant;

pub use self::changes::Changes;
pub use self::control::draw_any as draw_control;
pub use self::copies::Copies;
pub use self::images::Images;
pub use self::profile::Profile;
use super::operation::{Change, EXTRAS, Key, Operation, Range, Row, TableName, TransactionId};
use super::procedures::{self, Declared, Generator};
use crate::disk::LogWrites;

mod altering;
mod calls;
mod changes;
mod control;
mod copies;
mod images;
mod lagging;
mod profile;
mod snapshots;
mod variant;

/// How many kinds of operation a weight is drawn for.
const KINDS: usize = 16;

/// What a write takes in the log at most, besides its payload.
const ROW_LOG_BYTES: usize = 200;

/// What the caller fixes; the seed decides the rest.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// Otherwise drawn.
    pub protocol: Option<Protocol>,
    /// How transactions are isolated; otherwise drawn.
    pub control: Option<ConcurrencyControlKind>,
    /// Who waits for whom where they lock; otherwise drawn.
    pub locking: Option<Locking>,
    /// Otherwise drawn from 1 to 4.
    pub streams: Option<u32>,
    /// What a call of a procedure logs; otherwise drawn, also whether there are any. Physiological: what all transactions log.
    pub logged: Option<Logged>,
    /// Checkpoints of this kind are taken; otherwise drawn, also whether there are any.
    pub checkpoints: Option<CheckpointKind>,
    /// How recovery replays rows; otherwise drawn, or, where there are faults, as it ships.
    pub rows: Option<RowReplayKind>,
    /// What the seed concentrates on; otherwise drawn.
    pub profile: Option<Profile>,
    /// Faults to build into the engine.
    pub mutations: Vec<Mutation>,
}

/// How checkpoints are taken.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoints {
    /// The chance that a step asks for one.
    pub share: f64,
    /// Which state they hold.
    pub kind: CheckpointKind,
    /// Files of one checkpoint.
    pub threads: usize,
    /// Of its blocks.
    pub compression: Compression,
    /// Whether one is taken at a clean close.
    pub at_close: bool,
    /// The chance that what a valid one holds is compared with its epoch.
    pub compared_share: f64,
}

impl Checkpoints {
    fn draw(rng: &mut Rng, protocol: Protocol, choices: &Choices) -> Option<Checkpoints> {
        let fuzzy_share = if protocol.completes_fuzzy_checkpoints() { 0.4 } else { 0.0 };
        let kind = if rng.f64() < fuzzy_share { CheckpointKind::Fuzzy } else { CheckpointKind::Epoch };
        let checkpoints = Checkpoints {
            share: [0.005, 0.02, 0.1][rng.usize(0..3)],
            kind: if protocol.completes_fuzzy_checkpoints() {
                choices.checkpoints.unwrap_or(kind)
            } else {
                CheckpointKind::Epoch
            },
            threads: rng.usize(1..=3),
            compression: if rng.bool() { Compression::Lz4 } else { Compression::None },
            at_close: rng.bool(),
            compared_share: [0.0, 0.3, 1.0][rng.usize(0..3)],
        };
        let are_taken = rng.bool() || choices.checkpoints.is_some() || protocol == Protocol::None && rng.bool();
        are_taken.then_some(checkpoints)
    }
}

/// How a generation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The power fails during this changing operation of the disk.
    PowerLossAt(u64),
    /// The power fails between two steps.
    PowerLoss,
    /// The process is killed between two steps.
    Kill,
    /// The database is closed, and then the power fails.
    Close,
    /// This changing operation fails with EIO.
    IoErrorAt(u64),
    /// This sync of a file fails with EIO, and then the power.
    SyncErrorAt(u64),
    /// The power fails during this write to a file of the log.
    PowerLossAtLogWrite(u64),
    /// The power fails while this file goes.
    PowerLossAtRemoval(u64),
    /// This sync of a directory fails with EIO.
    DirSyncErrorAt(u64),
    /// The power fails during this sync of a directory.
    PowerLossAtDirSync(u64),
    /// The power fails as soon as a manifest names this checkpoint.
    PowerLossAtCheckpoint(u64),
    /// This read fails with EIO.
    ReadErrorAt(u64),
    /// The disk is full from this changing operation on.
    FullAt(u64),
    /// The background task that takes this step dies of a panic.
    TaskDiesAt(u64),
}

/// The parameters of one simulation.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The log protocol.
    pub protocol: Protocol,
    /// How transactions are isolated, and who waits for whom where they lock.
    pub control: (ConcurrencyControlKind, Locking),
    /// Log streams.
    pub streams: u32,
    /// What a call of a procedure logs, or where it is physiological, all transactions.
    pub logged: Logged,
    /// What is logged of a row then.
    pub images: Images,
    /// So many commands are logged for each hash; zero for none.
    pub command_hash_interval: u64,
    /// Whether the database opens before what was logged as commands has run again, where nothing else is wanted of the open; how
    /// recovery runs that, and how it replays rows.
    pub recovery: (RecoveryKind, ReplayKind, RowReplayKind),
    /// The chance that a transaction is a call of a procedure.
    pub call_share: f64,
    /// What changes between generations.
    pub changes: Changes,
    /// Memory of one stream's ring.
    pub ring_bytes: usize,
    /// Length of a segment.
    pub segment_bytes: u64,
    /// The limit of one transaction.
    pub transaction_log_bytes_max: usize,
    /// What a write to the log promises.
    pub log_writes: LogWrites,
    /// How long a logger gathers.
    pub group_commit_interval: Duration,
    /// Kept in memory between scan and replay.
    pub recovery_buffer_bytes: u64,
    /// How checkpoints are taken, if they are.
    pub checkpoints: Option<Checkpoints>,
    /// How backups are written and epochs gone back to, if they are.
    pub copies: Option<Copies>,
    /// The chance that copies of what a generation leaves are salvaged.
    pub salvaged_share: f64,
    /// Whether its directories are moved, copied, respelled and mixed up between generations.
    pub is_moved: bool,
    /// How the engine differs from the one that ships.
    pub variant: Variant,
    /// Sessions at a time.
    pub sessions: usize,
    /// Generations before the last look.
    pub generations: usize,
    /// Steps of sessions and tasks in one generation.
    pub steps_max: usize,
    /// The chance that a thread is preempted at a point inside a call.
    pub preempted_share: f64,
    /// The share of turns that sessions let pass, but for those of the first stream, whose stamps run ahead then.
    lag: f64,
    /// Whether tables get other names and more columns.
    renames: bool,
    /// How often transactions are finished in certain ways.
    pub shares: Shares,
    /// What it concentrates on.
    pub profile: Profile,
    /// How often the global epoch advances, where checkpoints are taken.
    pub epoch_interval: Duration,
    /// Most of its generations end in their recovery.
    is_restless: bool,
    /// Of transactions that read a snapshot.
    snapshot_share: f64,
    savepoint_share: f64,
    keys: u16,
    /// Keys that neighbouring transactions mostly work on, where they do not on all.
    window: Option<u16>,
    codes: i32,
    operations_max: usize,
    payload_bytes_max: usize,
    indexed_share: f64,
    /// Of tables that come and go.
    extra_share: f64,
    /// Of partial indexes, where an index is meant.
    partial_share: f64,
    /// Of operations on the sequence.
    sequence_share: f64,
    /// Of operations on procedures.
    procedure_share: f64,
    /// How many statements a procedure has at most, about.
    statements_max: usize,
    /// Whether procedures write no row of `indexed`.
    indexed_is_read: bool,
    weights: [u32; KINDS],
}

/// Chances of what happens to a whole transaction.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// It only reads, and says so.
    pub read_only: f64,
    /// It is acknowledged at once.
    pub relaxed: f64,
    /// It gives up, and its reason is validated.
    pub abort: f64,
    /// It is dropped.
    pub dropped: f64,
    /// Its session waits for the receipt.
    pub awaited: f64,
    /// Of these, its session waits as a blocked thread does: in the place of a logger that sleeps.
    pub leads: f64,
}

impl Plan {
    /// The plan of a seed.
    pub fn draw(rng: &mut Rng, choices: &Choices) -> Plan {
        let plan = Plan::draw_any(rng, choices);
        let plan = plan.with_calls(&mut Rng::with_seed(rng.clone().u64(..).rotate_left(43)), choices);
        let plan = plan.with_images(&mut Rng::with_seed(rng.clone().u64(..).rotate_left(53)), choices);
        let profile = Profile::draw(rng);
        let plan = plan.concentrate(choices.profile.unwrap_or(profile), choices);
        plan.varied(&mut Rng::with_seed(rng.clone().u64(..).rotate_left(19)))
    }

    /// The plan with an engine of its own.
    fn varied(self, rng: &mut Rng) -> Plan {
        let is_alone = self.sessions == 1 && self.preempted_share == 0.0;
        let variant = variant::draw(rng, is_alone);
        let trees = if self.profile == Profile::Large { variant::trees(rng) } else { variant.trees };
        let sizes = if self.profile == Profile::Parts { variant::in_parts(rng, variant.sizes) } else { variant.sizes };
        // From a number of its own, as above.
        let commands_of_256 = Some([64, 128, 230][Rng::with_seed(rng.clone().u64(..)).usize(0..3)]);
        let of_timeouts = &mut Rng::with_seed(rng.clone().u64(..).rotate_left(29));
        let timeouts = (of_timeouts.u8(0..3) == 0).then(|| of_timeouts.u64(..));
        let variant = Variant { trees, sizes, commands_of_256, timeouts, ..variant };
        Plan { variant: if self.profile == Profile::Lagging { Plan::apart(variant) } else { variant }, ..self }
    }

    fn draw_protocol(rng: &mut Rng, choices: &Choices) -> Protocol {
        // From numbers of their own, as below.
        let one_in = |rotated, seeds| Rng::with_seed(rng.clone().u64(..).rotate_left(rotated)).u8(0..seeds) == 0;
        let (is_unlogged, is_gsn) = (one_in(7, 8), one_in(37, 3));
        // Seeds that hunt for a mutation are as they were before there were these.
        let is_taurus = choices.mutations.is_empty() && one_in(47, 3);
        let is_silo = choices.mutations.is_empty() && one_in(53, 4);
        let is_plover = choices.mutations.is_empty() && one_in(41, 6);
        let on_streams = match (is_gsn, is_taurus) {
            _ if is_silo => Protocol::Silo,
            _ if is_plover => Protocol::Plover,
            (true, _) => Protocol::Gsn,
            (false, true) => Protocol::Taurus,
            (false, false) => Protocol::Poplar,
        };
        let logged = if rng.u8(0..4) == 0 { Protocol::Serial } else { on_streams };
        choices.protocol.unwrap_or(if is_unlogged { Protocol::None } else { logged })
    }

    fn draw_any(rng: &mut Rng, choices: &Choices) -> Plan {
        let protocol = Plan::draw_protocol(rng, choices);
        let streams = if protocol == Protocol::Serial { 1 } else { choices.streams.unwrap_or(rng.u32(1..=4)) };
        let (operations_max, payload_bytes_max) = ([1, 1, 2, 3, 6][rng.usize(0..5)], [0, 40, 900][rng.usize(0..3)]);
        // Small segments are left and recycled more often.
        let is_small = operations_max * (payload_bytes_max + ROW_LOG_BYTES) < 4 << 10 && rng.bool();
        let ring_bytes: usize = if is_small { 16 << 10 } else { 64 << 10 };
        let is_restless = rng.u8(0..8) == 0;
        let ends = |rng: &mut Rng| if rng.bool() { 0.0 } else { rng.f64() * 0.4 };
        Plan {
            protocol,
            // From a number of its own, as below.
            control: control::draw(&mut Rng::with_seed(rng.clone().u64(..).rotate_left(17)), choices),
            streams,
            ring_bytes,
            logged: Logged::Values,
            images: Images::default(),
            command_hash_interval: 0,
            recovery: recovery(rng, choices),
            call_share: 0.0,
            changes: Changes::draw(&mut Rng::with_seed(rng.clone().u64(..).rotate_left(61)), choices),
            procedure_share: 0.0,
            statements_max: 0,
            indexed_is_read: false,
            segment_bytes: ring_bytes as u64 + 4096 * rng.u64(2..8),
            transaction_log_bytes_max: ring_bytes / 4,
            log_writes: if rng.bool() { LogWrites::Synchronous } else { LogWrites::Buffered },
            group_commit_interval: Duration::from_micros(if rng.u8(0..4) == 0 { rng.u64(1..5000) } else { 0 }),
            recovery_buffer_bytes: [0, 20_000, 1 << 30][rng.usize(0..3)],
            // From numbers of its own: the rest of a seed's plan does not depend on it.
            checkpoints: Checkpoints::draw(&mut Rng::with_seed(rng.clone().u64(..)), protocol, choices),
            is_moved: copies::is_moved(&mut Rng::with_seed(rng.clone().u64(..).rotate_left(29)), choices),
            salvaged_share: copies::salvaged_share(&mut Rng::with_seed(rng.clone().u64(..).rotate_left(3)), choices),
            copies: Copies::draw(&mut Rng::with_seed(rng.clone().u64(..).rotate_left(13)), choices),
            variant: Variant::SHIPPED,
            sessions: rng.usize(1..=8),
            generations: if is_restless { rng.usize(4..=10) } else { rng.usize(2..=4) },
            steps_max: [60, 250, 800][rng.usize(0..3)],
            shares: Shares {
                read_only: ends(rng),
                relaxed: if rng.u8(0..4) == 0 { 0.3 } else { 0.0 },
                abort: ends(rng) * 0.5,
                dropped: ends(rng) * 0.5,
                awaited: ends(rng),
                leads: ends(rng) * 2.0,
            },
            lag: 0.0,
            // A mutation may leave a table with two names, of which neither has a handle then.
            renames: choices.mutations.is_empty(),
            preempted_share: [0.0, 0.1, 0.5][Rng::with_seed(!rng.clone().u64(..)).usize(0..3)],
            profile: Profile::Any,
            // Epochs must go on within the life of a generation.
            epoch_interval: Duration::from_micros(300),
            is_restless,
            // From a number of its own, as above.
            snapshot_share: snapshots::share(&mut Rng::with_seed(rng.clone().u64(..).rotate_left(23))),
            savepoint_share: [0.0, 0.1, 0.3][rng.usize(0..3)],
            keys: [2, 5, 12, 24][rng.usize(0..4)],
            window: None,
            codes: rng.i32(1..12),
            operations_max,
            payload_bytes_max,
            indexed_share: [0.0, 0.3, 0.5, 1.0][rng.usize(0..4)],
            extra_share: [0.0, 0.0, 0.4][rng.usize(0..3)],
            // From numbers of their own, as above.
            partial_share: altering::partial_share(rng, choices),
            sequence_share: sequence_share(&mut Rng::with_seed(rng.clone().u64(..).rotate_left(37))),
            weights: std::array::from_fn(|_| [0, 1, 1, 4][rng.usize(0..4)]),
        }
    }

    /// How a generation ends.
    pub fn ending(&self, rng: &mut Rng) -> Ending {
        let changes_max = [15, 60, 200, 500][rng.usize(0..4)];
        let drawn = rng.u8(0..18);
        if let Some(ending) = self.profile.ending(rng) {
            return ending;
        }
        if self.is_restless && drawn < 13 {
            return match drawn {
                0..5 => Ending::DirSyncErrorAt(rng.u64(1..10)),
                5..10 => Ending::PowerLossAtDirSync(rng.u64(1..10)),
                _ => Ending::PowerLossAt(rng.u64(1..30)),
            };
        }
        match drawn {
            _ if self.checkpoints.is_some() && rng.u8(0..6) == 0 => Ending::PowerLossAtCheckpoint(rng.u64(1..4)),
            0..6 => Ending::PowerLossAt(rng.u64(1..changes_max)),
            6..9 => Ending::PowerLoss,
            9..11 => Ending::Kill,
            11 => Ending::Close,
            12..14 => Ending::IoErrorAt(rng.u64(1..changes_max)),
            14 => Ending::ReadErrorAt(rng.u64(1..60)),
            16 => Ending::SyncErrorAt(rng.u64(1..40)),
            15 => Ending::TaskDiesAt(rng.u64(1..changes_max)),
            _ => Ending::FullAt(rng.u64(1..changes_max)),
        }
    }

    /// The chance that a step is one of a session and not of a background task. It is drawn again now and then: bursts
    /// of commits, and silences in which the background catches up.
    pub fn session_share(&self, rng: &mut Rng) -> f64 {
        [0.0, 0.1, 0.3, 0.6, 0.8, 0.9][rng.usize(0..6)]
    }

    /// How many operations a transaction has.
    pub fn operations(&self, rng: &mut Rng) -> usize {
        rng.usize(0..=self.operations_max)
    }

    /// The next operation of transaction `id`, which has `savepoints` open.
    pub fn operation(&self, rng: &mut Rng, id: TransactionId, read_only: bool, savepoints: usize) -> Operation {
        if !read_only && rng.f64() < self.savepoint_share {
            return if savepoints > 0 && rng.bool() {
                Operation::RollbackTo(rng.usize(0..savepoints))
            } else {
                Operation::Savepoint
            };
        }
        if !read_only && self.sequence_share > 0.0 && rng.f64() < self.sequence_share {
            return self.operation_of_sequence(rng);
        }
        if !read_only && self.procedure_share > 0.0 && rng.f64() < self.procedure_share {
            return self.operation_on_procedures(rng, id);
        }
        let kinds = if read_only { 5 } else { KINDS };
        let total: u32 = self.weights[..kinds].iter().sum();
        if total == 0 {
            return Operation::Get(self.table(rng), self.key(rng, id));
        }
        let mut at = rng.u32(0..total);
        let drawn = self.weights.iter().position(|&weight| {
            let here = at < weight;
            at = at.wrapping_sub(weight);
            here
        });
        self.operation_of_kind(rng, id, drawn.unwrap_or_default())
    }

    fn operation_of_sequence(&self, rng: &mut Rng) -> Operation {
        match rng.u8(0..24) {
            // Many values, and soon: those that lag do nothing else.
            0..8 if self.lag > 0.0 => Operation::CreateSequence(8 * rng.i64(1..4)),
            0..3 => Operation::CreateSequence(rng.i64(1..4)),
            3 => Operation::DropSequence,
            _ => Operation::NextValue,
        }
    }

    fn operation_of_kind(&self, rng: &mut Rng, id: TransactionId, kind: usize) -> Operation {
        let (table, key) = (self.table(rng), self.key(rng, id));
        match kind {
            0 => Operation::Get(table, key),
            1 => Operation::Scan(table, range(rng, |rng| self.key(rng, id))),
            2 => Operation::GetByCode(self.code(rng)),
            3 | 4 if self.is_partial(rng) => self.scan_of_partial(rng, key),
            3 => Operation::ScanCodes(self.table_with_index(rng), range(rng, |rng| self.code(rng))),
            4 => Operation::ScanTeams(self.table_with_index(rng), range(rng, team)),
            5 => Operation::Insert(table, key, self.row(rng, id)),
            6 | 7 => Operation::Upsert(table, key, self.row(rng, id)),
            8 => Operation::Replace(table, key, self.row(rng, id)),
            9 => Operation::Update(table, key, id, self.changes(rng)),
            10 | 11 => Operation::Increment(table, key, id, rng.i64(-9..10)),
            12 => Operation::Delete(table, key),
            13 => Operation::DeleteBlind(table, key),
            14 => Operation::Append(table, key, id),
            15 if matches!(table, TableName::Extra(_)) => self.definition(rng, table),
            15 if table == TableName::Indexed && self.is_partial(rng) => self.definition_of_indexed(rng),
            15 => Operation::Get(table, key),
            other => unreachable!("there is no kind {other}"),
        }
    }

    fn definition(&self, rng: &mut Rng, table: TableName) -> Operation {
        if self.profile == Profile::Altering {
            return self.alteration(rng, table);
        }
        let index = self.index(rng);
        match rng.u8(0..8) {
            0..3 => Operation::CreateTable(table, self.first_index(rng)),
            3 => Operation::DropTable(table),
            // What procedures insert has as many columns as their tables had when they were declared.
            5 if self.renames && self.procedure_share == 0.0 => match rng.u8(0..3) {
                0 => Operation::DropColumn(table),
                _ => Operation::AddColumn(table),
            },
            6 if self.renames => Operation::RenameTable(table, TableName::Extra(rng.u8(0..EXTRAS))),
            4..7 => Operation::CreateIndex(table, index),
            _ => Operation::DropIndex(table, index),
        }
    }

    fn table_with_index(&self, rng: &mut Rng) -> TableName {
        match self.table(rng) {
            TableName::Plain => TableName::Indexed,
            table => table,
        }
    }

    /// Draws a row.
    pub(super) fn place(&self, rng: &mut Rng) -> (TableName, Key) {
        (self.table(rng), Key(rng.u16(0..self.keys)))
    }

    fn table(&self, rng: &mut Rng) -> TableName {
        if rng.f64() < self.extra_share {
            return TableName::Extra(rng.u8(0..EXTRAS));
        }
        if rng.f64() < self.indexed_share { TableName::Indexed } else { TableName::Plain }
    }

    fn key(&self, rng: &mut Rng, id: TransactionId) -> Key {
        /// So many transactions have a window in common, and it moves on by so many keys.
        const NEIGHBOURS: u64 = 16;
        const STRIDE: u64 = 37;
        match self.window {
            Some(window) if rng.u8(0..8) > 0 => {
                let low = id.0 / NEIGHBOURS * STRIDE % u64::from(self.keys);
                Key(low as u16 + rng.u16(0..window))
            }
            _ => Key(rng.u16(0..self.keys)),
        }
    }

    fn code(&self, rng: &mut Rng) -> i32 {
        rng.i32(0..self.codes) - 3
    }

    fn row(&self, rng: &mut Rng, id: TransactionId) -> Row {
        Row {
            writer: id,
            counter: rng.i64(0..10),
            code: rng.bool().then(|| self.code(rng)),
            team: team(rng),
            payload: self.payload(rng),
            added: 0,
        }
    }

    fn payload(&self, rng: &mut Rng) -> Option<Vec<u8>> {
        rng.bool().then(|| vec![rng.u8(..); rng.usize(0..=self.payload_bytes_max)])
    }

    fn changes(&self, rng: &mut Rng) -> Vec<Change> {
        let mut changes = Vec::new();
        if rng.bool() {
            changes.push(Change::Counter(rng.i64(0..10)));
        }
        if rng.u8(0..3) == 0 {
            changes.push(Change::Code(rng.bool().then(|| self.code(rng))));
        }
        if rng.u8(0..3) == 0 {
            changes.push(Change::Team(team(rng)));
        }
        if rng.u8(0..3) == 0 {
            changes.push(Change::Payload(self.payload(rng)));
        }
        changes
    }
}

/// Most seeds have no sequence.
fn sequence_share(rng: &mut Rng) -> f64 {
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.4][rng.usize(0..8)]
}

fn team(rng: &mut Rng) -> i16 {
    rng.i16(-2..3)
}

fn range<T: Copy + Ord>(rng: &mut Rng, value: impl Fn(&mut Rng) -> T) -> Range<T> {
    let (a, b) = (value(rng), value(rng));
    let bound = |rng: &mut Rng, at| match rng.u8(0..4) {
        0 => Bound::Unbounded,
        1 => Bound::Excluded(at),
        _ => Bound::Included(at),
    };
    Range {
        low: bound(rng, a.min(b)),
        high: bound(rng, a.max(b)),
        reverse: rng.bool(),
        limit: if rng.u8(0..3) == 0 { rng.usize(0..4) } else { usize::MAX },
    }
}

/// How recovery goes, from numbers of its own: commands as their procedures allow even where there are vectors in one seed of
/// four, two thirds of these in a way for comparisons, and one after the other in one of eight; each way to replay rows in as
/// many seeds.
fn recovery(rng: &Rng, choices: &Choices) -> (RecoveryKind, ReplayKind, RowReplayKind) {
    let apart = |turn| Rng::with_seed(rng.clone().u64(..).rotate_left(turn));
    let is_as_shipped = !choices.mutations.is_empty();
    let commands = match apart(7).u8(0..8) {
        0 | 1 if is_as_shipped => ReplayKind::Pacman,
        0 | 1 => [ReplayKind::Pacman, ReplayKind::PacmanSynchronous, ReplayKind::PacmanStatic][apart(19).usize(0..3)],
        2 => ReplayKind::Serial,
        _ => ReplayKind::Auto,
    };
    let drawn = [RowReplayKind::Plr, RowReplayKind::Llr, RowReplayKind::LlrP][apart(33).usize(0..3)];
    let rows = choices.rows.unwrap_or(if is_as_shipped { RowReplayKind::Auto } else { drawn });
    (RecoveryKind::Whole, commands, rows)
}
