//! What can be chosen, in one registry: [`SETTINGS`] drives the API's checks, the command line and the documentation.
//!
//! Invariant: [`Config::check`] runs before anything is touched on disk; an unsound combination of concurrency control,
//! log protocol and logged content never opens (the matrix is [`legality`]).

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failpoint::Mutation;
use crate::io::{BLOCK_BYTES, Environment};
use crate::recovery::{Progress, Until};

/// How transactions are isolated (seam 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConcurrencyControlKind {
    /// Optimistic, after Silo (SOSP 2013): reads are validated at commit.
    #[default]
    Optimistic,
}

/// How the log is ordered and when a commit is durable (seam 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// No log. Commits are acknowledged at once and lost with the process; the upper bound for measurements.
    None,
    /// One stream in one total order of LSNs; the papers' CENTR.
    Serial,
    /// Partially constrained logs on many streams, ordered by SSN (Poplar).
    #[default]
    Poplar,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protocol::None => "none",
            Protocol::Serial => "serial",
            Protocol::Poplar => "poplar",
        })
    }
}

/// What a log record holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Logged {
    /// The rows that a transaction wrote.
    #[default]
    Values,
    /// The procedure and its parameters.
    Commands,
}

/// Which state a checkpoint holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckpointKind {
    /// What the transactions up to the end of an epoch left behind: a state that the database was in.
    #[default]
    Epoch,
    /// Rows at different moments, made whole by the log from RSN on (Poplar).
    Fuzzy,
}

impl CheckpointKind {
    /// As files name it.
    pub(crate) fn tag(self) -> u8 {
        match self {
            CheckpointKind::Epoch => 1,
            CheckpointKind::Fuzzy => 2,
        }
    }
}

/// How the blocks of a checkpoint are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// By LZ4, where that makes a block smaller.
    Lz4,
}

/// What `Database::open` does about a directory without a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Create {
    /// Create one where the directory is missing or empty.
    #[default]
    IfMissing,
    /// Fail where there is none.
    Never,
    /// Fail where there is one.
    New,
}

/// Told of recovery's progress.
pub type ProgressCallback = Arc<dyn Fn(&Progress) + Send + Sync>;

/// Everything that can be chosen about a database. Build it with [`Config::new`] and the methods named as the fields.
#[derive(Clone)]
#[expect(missing_docs, reason = "every field is documented once, in SETTINGS or on its setter")]
pub struct Config {
    pub dirs: Vec<PathBuf>,
    pub create: Create,
    pub protocol: Protocol,
    pub concurrency_control: ConcurrencyControlKind,
    pub logged: Logged,
    pub streams: u32,
    pub group_commit_interval: Duration,
    pub epoch_interval: Duration,
    pub ring_bytes: usize,
    pub segment_bytes: u64,
    pub sessions_max: usize,
    pub transaction_log_bytes_max: usize,
    pub transaction_bytes_max: usize,
    pub transaction_writes_max: usize,
    pub memory_limit: u64,
    pub key_bytes_max: usize,
    pub row_bytes_max: usize,
    pub conflict_retries_max: u32,
    pub recovery_threads: usize,
    pub recovery_buffer_bytes: u64,
    pub checkpoint_kind: CheckpointKind,
    pub checkpoint_log_bytes: u64,
    pub checkpoint_interval: Duration,
    pub checkpoint_at_close: bool,
    pub checkpoint_threads: usize,
    pub checkpoint_bytes_per_second: u64,
    pub checkpoint_compression: Compression,
    pub control_socket: bool,
    pub until: Option<Until>,
    pub progress: Option<ProgressCallback>,
    pub environment: Environment,
    #[cfg(feature = "mutations")]
    pub mutations: Vec<Mutation>,
}

/// A configuration that cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No setting has this name.
    #[error("there is no setting `{name}`; the settings are: {known}")]
    UnknownSetting {
        /// As given.
        name: String,
        /// All names.
        known: String,
    },
    /// A value that the setting does not take.
    #[error("setting `{name}` = `{value}`: {expected}")]
    BadValue {
        /// The setting.
        name: &'static str,
        /// As given.
        value: String,
        /// What it takes.
        expected: String,
    },
    /// A triple of concurrency control, protocol and logged content that would lose or reorder transactions.
    #[error("{control:?} concurrency control with protocol {protocol:?} cannot log {logged:?}: {reason}")]
    Unsound {
        /// The concurrency control.
        control: ConcurrencyControlKind,
        /// The protocol.
        protocol: Protocol,
        /// What was to be logged.
        logged: Logged,
        /// Why not.
        reason: &'static str,
    },
}

impl ConfigError {
    /// The SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        "22023"
    }
}

/// Whether a triple is sound, after the matrix of the design: `Err` says why not.
///
/// Replaying commands needs an order that covers anti-dependencies; Poplar's SSN gives none, and a command record needs
/// a registered procedure.
pub fn legality(control: ConcurrencyControlKind, protocol: Protocol, logged: Logged) -> Result<(), ConfigError> {
    let refuse = |reason| Err(ConfigError::Unsound { control, protocol, logged, reason });
    match (control, protocol, logged) {
        (ConcurrencyControlKind::Optimistic, _, Logged::Values) => Ok(()),
        (ConcurrencyControlKind::Optimistic, Protocol::None, Logged::Commands) => {
            refuse("nothing is logged without a log; use Values")
        }
        (ConcurrencyControlKind::Optimistic, Protocol::Poplar, Logged::Commands) => {
            refuse("an SSN does not order a read before the write that follows it, so replay would diverge; use Values")
        }
        (ConcurrencyControlKind::Optimistic, Protocol::Serial, Logged::Commands) => {
            refuse("commands need registered procedures, which this version does not have; use Values")
        }
    }
}

/// One setting: its name, unit, range and how it reads and writes a [`Config`].
pub struct Setting {
    /// As on the command line, with dashes for underscores.
    pub name: &'static str,
    /// What it decides.
    pub doc: &'static str,
    /// Of the number; empty for names.
    pub unit: &'static str,
    /// Inclusive; `None` for names.
    pub range: Option<(u64, u64)>,
    /// The present value.
    pub get: fn(&Config) -> String,
    set: fn(&mut Config, &str) -> bool,
}

macro_rules! number {
    ($name:literal, $unit:literal, $range:expr, $field:ident, $doc:literal) => {
        Setting {
            name: $name,
            doc: $doc,
            unit: $unit,
            range: Some($range),
            get: |config| config.$field.to_string(),
            set: |config, text| text.parse().map(|value| config.$field = value).is_ok(),
        }
    };
}

macro_rules! micros {
    ($name:literal, $range:expr, $field:ident, $doc:literal) => {
        Setting {
            name: $name,
            doc: $doc,
            unit: "us",
            range: Some($range),
            get: |config| config.$field.as_micros().to_string(),
            set: |config, text| text.parse().map(|us| config.$field = Duration::from_micros(us)).is_ok(),
        }
    };
}

macro_rules! choice {
    ($name:literal, $field:ident, $doc:literal, $($text:literal => $value:expr),+) => {
        Setting {
            name: $name,
            doc: $doc,
            unit: "",
            range: None,
            get: |config| match config.$field { $(value if value == $value => $text,)+ _ => "?" }.to_owned(),
            set: |config, text| match text { $($text => { config.$field = $value; true })+ _ => false },
        }
    };
}

const BLOCK: u64 = BLOCK_BYTES as u64;

/// The registry of settings.
pub const SETTINGS: &[Setting] = &[
    choice!("protocol", protocol, "How the log is ordered: none, serial or poplar.",
        "none" => Protocol::None, "serial" => Protocol::Serial, "poplar" => Protocol::Poplar),
    choice!("cc", concurrency_control, "How transactions are isolated: optimistic.",
        "optimistic" => ConcurrencyControlKind::Optimistic),
    choice!("logged", logged, "What a log record holds: values or commands.",
        "values" => Logged::Values, "commands" => Logged::Commands),
    number!(
        "streams",
        "streams",
        (1, 64),
        streams,
        "How many log streams work in parallel; may change from one open to the next."
    ),
    micros!(
        "group_commit_interval_us",
        (0, 1_000_000),
        group_commit_interval,
        "How long a logger gathers commits before it writes; 0 writes whenever the device is idle and work is pending."
    ),
    micros!("epoch_interval_us", (100, 1_000_000), epoch_interval, "How often the global epoch advances."),
    number!(
        "ring_bytes",
        "bytes",
        (16 << 10, 1 << 30),
        ring_bytes,
        "Memory of one stream's log ring; a power of two, at least four times transaction_log_bytes_max."
    ),
    number!(
        "segment_bytes",
        "bytes",
        (4 * BLOCK, 1 << 32),
        segment_bytes,
        "Length of one log segment file; a multiple of 4096, larger than ring_bytes."
    ),
    number!("sessions_max", "sessions", (1, 65_536), sessions_max, "How many sessions can be open at once."),
    number!(
        "transaction_log_bytes_max",
        "bytes",
        (4096, 256 << 20),
        transaction_log_bytes_max,
        "The largest log record of one transaction; beyond it the transaction fails before anything is logged."
    ),
    number!(
        "transaction_bytes_max",
        "bytes",
        (4096, 1 << 36),
        transaction_bytes_max,
        "Memory of one transaction's pending writes, those of indexes and what savepoints keep included; beyond it no write."
    ),
    number!(
        "transaction_writes_max",
        "writes",
        (1, 1 << 32),
        transaction_writes_max,
        "Rows and index entries that one transaction may write."
    ),
    number!(
        "memory_limit",
        "bytes",
        (0, 1 << 50),
        memory_limit,
        "Memory of rows, keys and indexes beyond which no transaction grows them; reads, deletes and updates in place go on; 0: none."
    ),
    number!("key_bytes_max", "bytes", (16, 32_768), key_bytes_max, "The largest encoded key."),
    number!("row_bytes_max", "bytes", (64, 64 << 20), row_bytes_max, "The largest encoded row."),
    number!(
        "conflict_retries_max",
        "attempts",
        (0, u32::MAX as u64),
        conflict_retries_max,
        "How often Database::run and Session::run retry a transaction that met a conflict."
    ),
    number!(
        "recovery_threads",
        "threads",
        (0, 1024),
        recovery_threads,
        "Threads that scan and replay; 0 takes one per core."
    ),
    number!(
        "recovery_buffer_bytes",
        "bytes",
        (0, 1 << 44),
        recovery_buffer_bytes,
        "How much scanned log is kept in memory between scan and replay; what is beyond is read twice."
    ),
    choice!("checkpoint_kind", checkpoint_kind,
        "Which state a checkpoint holds: epoch (one that the database was in) or fuzzy (poplar only).",
        "epoch" => CheckpointKind::Epoch, "fuzzy" => CheckpointKind::Fuzzy),
    number!(
        "checkpoint_log_bytes",
        "bytes",
        (0, 1 << 50),
        checkpoint_log_bytes,
        "A checkpoint is taken whenever a recovery would have to read so much log, and spread over most of the log until the next \
         one; 0: never for that reason."
    ),
    micros!(
        "checkpoint_interval_us",
        (0, 1 << 42),
        checkpoint_interval,
        "A checkpoint is taken when so much time has passed and something was logged since, and at once where recovery had to read \
         log; it is spread over most of the time until the next one. 0: never for that reason."
    ),
    choice!("checkpoint_at_close", checkpoint_at_close, "Whether closing the database takes a checkpoint: no or yes.",
        "no" => false, "yes" => true),
    number!("checkpoint_threads", "threads", (1, 64), checkpoint_threads, "Threads, and files, of one checkpoint."),
    number!(
        "checkpoint_bytes_per_second",
        "bytes",
        (0, 1 << 50),
        checkpoint_bytes_per_second,
        "How fast a checkpoint may write, all threads together; 0: as fast as it can behind the transactions."
    ),
    choice!("checkpoint_compression", checkpoint_compression, "How checkpoints are compressed: none or lz4.",
        "none" => Compression::None, "lz4" => Compression::Lz4),
    choice!("control_socket", control_socket,
        "Whether CONTROL in the first directory is a socket over which `osier status`, `checkpoint` and `backup` ask this process: no or yes.",
        "no" => false, "yes" => true),
];

impl Config {
    /// The defaults, with the database in `dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Config {
        Config {
            dirs: vec![dir.into()],
            create: Create::default(),
            protocol: Protocol::default(),
            concurrency_control: ConcurrencyControlKind::default(),
            logged: Logged::default(),
            streams: 1,
            group_commit_interval: Duration::ZERO,
            epoch_interval: Duration::from_millis(10),
            ring_bytes: 8 << 20,
            segment_bytes: 64 << 20,
            sessions_max: 1024,
            transaction_log_bytes_max: 1 << 20,
            transaction_bytes_max: 64 << 20,
            transaction_writes_max: 1 << 20,
            memory_limit: 0,
            key_bytes_max: 1024,
            row_bytes_max: 256 << 10,
            conflict_retries_max: 1000,
            recovery_threads: 0,
            recovery_buffer_bytes: 4 << 30,
            checkpoint_kind: CheckpointKind::default(),
            checkpoint_log_bytes: 4 << 30,
            checkpoint_interval: Duration::ZERO,
            checkpoint_at_close: false,
            checkpoint_threads: 1,
            checkpoint_bytes_per_second: 0,
            checkpoint_compression: Compression::default(),
            control_socket: false,
            until: None,
            progress: None,
            environment: Environment::os(),
            #[cfg(feature = "mutations")]
            mutations: Vec::new(),
        }
    }

    /// The directories that streams are spread over; the first also holds the manifest.
    pub fn dirs(mut self, dirs: impl IntoIterator<Item = impl Into<PathBuf>>) -> Config {
        self.dirs = dirs.into_iter().map(Into::into).collect();
        self
    }

    /// What to do about a directory without a database.
    pub fn create(mut self, create: Create) -> Config {
        self.create = create;
        self
    }

    /// The log protocol.
    pub fn protocol(mut self, protocol: Protocol) -> Config {
        self.protocol = protocol;
        self
    }

    /// The number of log streams.
    pub fn streams(mut self, streams: u32) -> Config {
        self.streams = streams;
        self
    }

    /// How long a logger gathers commits before it writes.
    pub fn group_commit_interval(mut self, interval: Duration) -> Config {
        self.group_commit_interval = interval;
        self
    }

    /// Takes the database back to an epoch or a time when it is opened: what came later is gone for ever. An open that cannot
    /// do exactly that fails and changes nothing. For a database that is there; see docs/operations.md.
    pub fn until(mut self, until: Until) -> Config {
        self.until = Some(until);
        self
    }

    /// Is told of recovery's progress.
    pub fn progress(mut self, callback: impl Fn(&Progress) + Send + Sync + 'static) -> Config {
        self.progress = Some(Arc::new(callback));
        self
    }

    /// The world to run in.
    pub fn environment(mut self, environment: Environment) -> Config {
        self.environment = environment;
        self
    }

    /// Sets any setting of [`SETTINGS`] by its name; dashes may stand for underscores.
    pub fn set(mut self, name: &str, value: &str) -> Result<Config, ConfigError> {
        let wanted = name.replace('-', "_");
        let setting = SETTINGS.iter().find(|setting| setting.name == wanted).ok_or_else(|| {
            let known = SETTINGS.iter().map(|setting| setting.name).collect::<Vec<_>>().join(", ");
            ConfigError::UnknownSetting { name: name.to_owned(), known }
        })?;
        if !(setting.set)(&mut self, value) {
            return Err(setting.bad(value));
        }
        setting.check(&self)?;
        Ok(self)
    }

    /// Whether the configuration can be opened; says what to change where not.
    pub fn check(&self) -> Result<(), ConfigError> {
        SETTINGS.iter().try_for_each(|setting| setting.check(self))?;
        legality(self.concurrency_control, self.protocol, self.logged)?;
        let bad = |name, value: String, expected: &str| {
            Err(ConfigError::BadValue { name, value, expected: expected.to_owned() })
        };
        if self.dirs.is_empty() {
            return bad("dirs", "nothing".to_owned(), "name at least one directory");
        }
        if self.protocol == Protocol::Serial && self.streams != 1 {
            return bad(
                "streams",
                self.streams.to_string(),
                "protocol serial has one total order, so exactly 1 stream",
            );
        }
        if self.checkpoint_kind == CheckpointKind::Fuzzy && self.protocol != Protocol::Poplar {
            let expected = "fuzzy needs protocol poplar, whose log it is completed from; take epoch";
            return bad("checkpoint_kind", "fuzzy".to_owned(), expected);
        }
        if !self.ring_bytes.is_power_of_two() || self.ring_bytes < 4 * self.transaction_log_bytes_max {
            let expected = "takes a power of two, at least four times transaction_log_bytes_max";
            return bad("ring_bytes", self.ring_bytes.to_string(), expected);
        }
        if !self.segment_bytes.is_multiple_of(BLOCK) || self.segment_bytes <= self.ring_bytes as u64 + BLOCK {
            let expected = "takes a multiple of 4096, larger than ring_bytes + 4096";
            return bad("segment_bytes", self.segment_bytes.to_string(), expected);
        }
        Ok(())
    }

    /// The number of threads for scan and replay.
    pub fn effective_recovery_threads(&self) -> usize {
        match self.recovery_threads {
            0 => self.environment.spawn.parallelism(),
            threads => threads,
        }
    }

    /// The files of a checkpoint: one per thread, and for a snapshot one of the rows that its scan could not find.
    pub(crate) fn checkpoint_parts(&self) -> u32 {
        self.checkpoint_threads as u32 + u32::from(self.checkpoint_kind == CheckpointKind::Epoch)
    }

    /// Whether a deliberate fault is switched on; never without the feature `mutations`.
    pub fn has(&self, mutation: Mutation) -> bool {
        #[cfg(feature = "mutations")]
        return self.mutations.contains(&mutation);
        #[cfg(not(feature = "mutations"))]
        {
            let _ = mutation;
            false
        }
    }
}

impl Setting {
    fn bad(&self, value: &str) -> ConfigError {
        let expected = match self.range {
            Some((low, high)) => format!("takes a whole number of {} from {low} to {high}", self.unit),
            None => format!("unknown; {}", self.doc),
        };
        ConfigError::BadValue { name: self.name, value: value.to_owned(), expected }
    }

    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let Some((low, high)) = self.range else { return Ok(()) };
        let value = (self.get)(config);
        match value.parse::<u64>() {
            Ok(number) if (low..=high).contains(&number) => Ok(()),
            _ => Err(self.bad(&value)),
        }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Config");
        debug.field("dirs", &self.dirs);
        for setting in SETTINGS {
            debug.field(setting.name, &(setting.get)(self));
        }
        debug.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROLS: [ConcurrencyControlKind; 1] = [ConcurrencyControlKind::Optimistic];
    const PROTOCOLS: [Protocol; 3] = [Protocol::None, Protocol::Serial, Protocol::Poplar];

    /// The row `optimistic` of the design's matrix: values everywhere; commands nowhere until procedures exist.
    #[test]
    fn the_legality_matrix_is_the_designs() {
        for control in CONTROLS {
            for protocol in PROTOCOLS {
                assert!(legality(control, protocol, Logged::Values).is_ok(), "{control:?} {protocol:?} values");
                let refused = legality(control, protocol, Logged::Commands).expect_err("commands are refused");
                assert!(matches!(refused, ConfigError::Unsound { reason, .. } if reason.contains("use Values")));
                let mut config = Config::new("x").protocol(protocol);
                assert_eq!(config.check(), Ok(()));
                config.logged = Logged::Commands;
                assert_eq!(config.check(), Err(refused), "an unsound triple must not open");
            }
        }
    }

    #[test]
    fn every_default_is_in_its_range_and_survives_being_set_by_name() {
        let defaults = Config::new("x");
        assert_eq!(defaults.check(), Ok(()));
        for setting in SETTINGS {
            let value = (setting.get)(&defaults);
            let again = Config::new("x").set(&setting.name.replace('_', "-"), &value).expect(setting.name);
            assert_eq!((setting.get)(&again), value);
        }
    }

    #[test]
    fn bad_settings_are_named() {
        let error = Config::new("x").set("colour", "red").expect_err("unknown");
        assert!(error.to_string().contains("colour") && error.to_string().contains("segment_bytes"), "{error}");
        let error = Config::new("x").set("streams", "0").expect_err("range");
        assert!(error.to_string().contains("streams") && error.to_string().contains("from 1 to 64"), "{error}");
        let error = Config::new("x").set("protocol", "aries").expect_err("name");
        assert!(error.to_string().contains("poplar"), "{error}");
        let error = Config::new("x").protocol(Protocol::Serial).streams(2).check().expect_err("serial");
        assert!(error.to_string().contains("exactly 1 stream"), "{error}");
    }
}
