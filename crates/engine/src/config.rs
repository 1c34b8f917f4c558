//! The configuration of a database: its settings, and which of them fit together. [`settings`] is the registry of single
//! settings.
//!
//! Invariant: [`Config::check`] runs before anything is touched on disk; an unsound combination of concurrency control,
//! log protocol and logged content never opens (the matrix is [`legality`]).

mod faults;
mod progress;
mod settings;
mod until;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::io::BLOCK_BYTES;

pub use osier_memory::Locking;
pub use progress::{Progress, RecoveryPhase};
pub use settings::{Config, SETTINGS, Setting};
pub use until::Until;

/// How transactions are isolated (seam 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConcurrencyControlKind {
    /// Optimistic, after Silo, section 4.4: reads are validated at commit.
    #[default]
    Optimistic,
    /// Strict two-phase locking: what is read or written is locked until the commit, and others wait.
    TwoPhaseLocking,
    /// Multiversion and optimistic, after Hekaton (Larson et al., VLDB 2012): a transaction sees the state as of one moment, and
    /// is validated at commit if it has written.
    Multiversion,
}

impl fmt::Display for ConcurrencyControlKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConcurrencyControlKind::Optimistic => "optimistic",
            ConcurrencyControlKind::TwoPhaseLocking => "2pl",
            ConcurrencyControlKind::Multiversion => "mvcc",
        })
    }
}

/// How the log is ordered and when a commit is durable (seam 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// No log. Commits are acknowledged at once and lost with the process; the upper bound for measurements.
    None,
    /// One stream in one total order of LSNs (CENTR in Poplar, section 6).
    Serial,
    /// Partially constrained logs on many streams, ordered by SSN (Poplar).
    #[default]
    Poplar,
    /// Many streams in one total order of GSNs, which is a serialization order (NVM-D in Poplar, section 6).
    Gsn,
    /// Many streams with a partition of the keys each, and a commit's record divided among them (Plover in Taurus, section 5).
    Plover,
    /// Many streams that are durable by whole epochs, ordered by TIDs (SiloR in Poplar, sections 2 and 6).
    Silo,
    /// Many streams, partially ordered by vectors of LSNs (Taurus).
    Taurus,
}

impl Protocol {
    /// Whether checkpoints may be fuzzy: those of Poplar and SiloR are.
    pub fn completes_fuzzy_checkpoints(self) -> bool {
        matches!(self, Protocol::Poplar | Protocol::Silo)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protocol::None => "none",
            Protocol::Serial => "serial",
            Protocol::Poplar => "poplar",
            Protocol::Gsn => "gsn",
            Protocol::Plover => "plover",
            Protocol::Silo => "silo",
            Protocol::Taurus => "taurus",
        })
    }
}

/// How recovery runs the transactions of a log of commands again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplayKind {
    /// By the vectors of the log where it has some, else by the procedures.
    #[default]
    Auto,
    /// One after the other.
    Serial,
    /// Several at once, as the LSN vectors of their records allow (Taurus, section 3.3); one after the other where there are
    /// none.
    Vectors,
    /// Several at once, as their procedures and arguments allow (PACMAN, section 4). The next ones are planned while some run.
    Pacman,
    /// As [`ReplayKind::Pacman`], but nothing is planned before all that was planned has run ("synchronous", section 4.3.2): for
    /// comparisons.
    PacmanSynchronous,
    /// As [`ReplayKind::PacmanSynchronous`], without a look at arguments, by the tables that procedures name ("static analysis",
    /// section 6.3.2): for comparisons.
    PacmanStatic,
}

/// When a database that logs commands can be used after a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryKind {
    /// When everything in the log has run again.
    #[default]
    Whole,
    /// When it is known which rows the commands of the log access. They run again while the database is open, first those that a
    /// transaction waits for.
    Instant,
}

/// How recovery replays the rows of a log, up to the first call in it (PACMAN, section 6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowReplayKind {
    /// The one that is fastest for most logs.
    #[default]
    Auto,
    /// Rows are installed under a latch each, and secondary indexes are built last.
    Plr,
    /// Rows are installed under a latch each, and their entries in secondary indexes with them.
    Llr,
    /// Rows are handed to the threads that own them, which install them without latches; secondary indexes are built last.
    LlrP,
}

impl RowReplayKind {
    /// Returns the way that is taken.
    pub(crate) fn effective(self) -> RowReplayKind {
        match self {
            RowReplayKind::Auto => RowReplayKind::Plr,
            chosen => chosen,
        }
    }
}

impl fmt::Display for RowReplayKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RowReplayKind::Auto => "auto",
            RowReplayKind::Plr => "plr",
            RowReplayKind::Llr => "llr",
            RowReplayKind::LlrP => "llr-p",
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
    /// The one or the other, decided for each call of a procedure by what it saves and what it costs a recovery.
    Adaptive,
    /// The rows that a transaction wrote, as a group of images with or without those before (Command logging, section IV).
    Physiological,
}

impl fmt::Display for Logged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Logged::Values => "values",
            Logged::Commands => "commands",
            Logged::Adaptive => "adaptive",
            Logged::Physiological => "physiological",
        })
    }
}

impl Logged {
    /// Whether there are commands among the records: a recovery runs them again, as if in the order of their stamps.
    pub fn has_commands(self) -> bool {
        match self {
            Logged::Values | Logged::Physiological => false,
            Logged::Commands | Logged::Adaptive => true,
        }
    }

    /// Returns what the manifest says of a generation: one that logs commands holds values, too, whoever decides which.
    pub(crate) fn on_disk(self) -> Logged {
        match self {
            Logged::Adaptive => Logged::Commands,
            logged => logged,
        }
    }
}

/// What of a row that changes physiological logging logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PhysiologicalImages {
    /// What changed in it, where the transaction has read it and that is shorter.
    #[default]
    Changed,
    /// All of it.
    Full,
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
    /// Returns the number that stands for it in files.
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

/// A function that is called with recovery's progress.
pub type ProgressCallback = Arc<dyn Fn(&Progress) + Send + Sync>;

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
    #[error("logged = {logged} cannot be had with protocol {protocol}: {reason}")]
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
    /// Returns the SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        "22023"
    }
}

/// Checks that a triple is sound. The error says why it is not. Every concurrency control orders transactions by their S-points,
/// and what a protocol or a payload asks of them follows from that.
///
/// Replaying commands needs an order that covers anti-dependencies. A GSN is one, the LSN of a serial log if it is drawn before
/// reads are validated, and a vector of LSNs; the stamps of Poplar, Plover and SiloR are none.
pub fn legality(control: ConcurrencyControlKind, protocol: Protocol, logged: Logged) -> Result<(), ConfigError> {
    let refuse = |reason| Err(ConfigError::Unsound { control, protocol, logged, reason });
    match (protocol, logged) {
        (Protocol::None, Logged::Physiological | Logged::Commands | Logged::Adaptive) => {
            refuse("nothing is logged without a log; choose another protocol, or log values")
        }
        (_, Logged::Values | Logged::Physiological)
        | (Protocol::Serial | Protocol::Gsn | Protocol::Taurus, Logged::Commands | Logged::Adaptive) => Ok(()),
        (Protocol::Poplar | Protocol::Plover | Protocol::Silo, Logged::Commands | Logged::Adaptive) => refuse(
            "its log does not say which of two transactions came first where one read what the other wrote afterwards, and \
             commands that are run again need that; choose protocol serial, gsn or taurus, or log values",
        ),
    }
}

const BLOCK: u64 = BLOCK_BYTES as u64;

impl Config {
    /// Checks that every setting is in its range and that all fit together. The error names the setting and what it takes.
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
                "protocol serial has one total order, so exactly 1 stream; set streams=1",
            );
        }
        let is_fuzzy = faults::is_fuzzy(self.checkpoint_kind == CheckpointKind::Fuzzy);
        if is_fuzzy && !self.protocol.completes_fuzzy_checkpoints() {
            let expected = "fuzzy needs protocol poplar or silo, whose logs it is completed from; take epoch";
            return bad("checkpoint_kind", "fuzzy".to_owned(), expected);
        }
        if is_fuzzy && self.logged.has_commands() {
            let expected = "fuzzy holds rows at different moments, upon which no command can be run again; take epoch";
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

    /// Whether transactions read all that they overwrite, because it is logged.
    pub(crate) fn logs_before_images(&self) -> bool {
        self.logged == Logged::Physiological && self.physiological_before_images
    }

    /// Whether transactions hold locks before they commit.
    pub(crate) fn locks_rows(&self) -> bool {
        self.concurrency_control == ConcurrencyControlKind::TwoPhaseLocking
    }

    /// Returns the number of threads for scan and replay.
    pub fn effective_recovery_threads(&self) -> usize {
        match self.recovery_threads {
            0 => self.environment.spawn.parallelism(),
            threads => threads,
        }
    }

    /// Returns the number of files of a checkpoint: one per thread.
    pub(crate) fn checkpoint_parts(&self) -> u32 {
        self.checkpoint_threads as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROLS: [ConcurrencyControlKind; 3] = [
        ConcurrencyControlKind::Optimistic,
        ConcurrencyControlKind::TwoPhaseLocking,
        ConcurrencyControlKind::Multiversion,
    ];
    const PROTOCOLS: [Protocol; 7] = [
        Protocol::None,
        Protocol::Serial,
        Protocol::Poplar,
        Protocol::Gsn,
        Protocol::Plover,
        Protocol::Silo,
        Protocol::Taurus,
    ];

    /// Each concurrency control logs values with every protocol, images with every one that has a log, and commands, or
    /// either, where the stamps are one total order.
    #[test]
    fn every_triple_is_sound_or_refused() {
        for control in CONTROLS {
            for protocol in PROTOCOLS {
                assert!(legality(control, protocol, Logged::Values).is_ok(), "{control:?} {protocol:?} values");
                let mut config = Config::new("x").protocol(protocol).concurrency_control(control);
                assert_eq!(config.check(), Ok(()));
                for logged in [Logged::Commands, Logged::Adaptive, Logged::Physiological] {
                    config.logged = logged;
                    let legal = legality(control, protocol, logged);
                    let is_sound = match protocol {
                        Protocol::None => false,
                        Protocol::Poplar | Protocol::Plover | Protocol::Silo => !logged.has_commands(),
                        Protocol::Serial | Protocol::Gsn | Protocol::Taurus => true,
                    };
                    assert_eq!(legal.is_ok(), is_sound, "{control:?} {protocol:?} {logged:?}");
                    assert_eq!(config.check(), legal, "an unsound triple must not open");
                    let is_advised = |refused| match refused {
                        ConfigError::Unsound { reason, .. } => reason.contains("log values"),
                        _ => false,
                    };
                    assert!(legal.err().is_none_or(is_advised));
                }
            }
        }
    }

    /// No command can be run again upon rows of different moments, whoever decides that it is one.
    #[test]
    fn commands_refuse_fuzzy_checkpoints() {
        for logged in [Logged::Values, Logged::Commands, Logged::Adaptive] {
            let config = Config::new("x").protocol(Protocol::Gsn).logged(logged).checkpoint_kind(CheckpointKind::Fuzzy);
            assert!(matches!(config.check(), Err(ConfigError::BadValue { name: "checkpoint_kind", .. })), "{logged:?}");
            assert_eq!(logged.on_disk() == Logged::Commands, logged.has_commands());
        }
    }

    /// Another legal value than the default.
    fn another(setting: &Setting) -> Option<String> {
        let default = setting.default_value();
        let numbers = setting.range.map(|(low, high)| [low.to_string(), high.to_string()]);
        let texts = setting.choices.iter().map(|text| (*text).to_owned());
        numbers.into_iter().flatten().chain(texts).find(|value| *value != default)
    }

    fn values(config: &Config) -> Vec<String> {
        SETTINGS.iter().map(|setting| (setting.get)(config)).collect()
    }

    #[test]
    fn every_setting_is_described_and_has_a_legal_default() {
        let defaults = Config::new("x");
        assert_eq!(defaults.check(), Ok(()));
        for (index, setting) in SETTINGS.iter().enumerate() {
            let name = setting.name;
            assert!(setting.doc.starts_with("Sets ") && setting.doc.ends_with('.'), "{name}: {}", setting.doc);
            assert!(SETTINGS[..index].iter().all(|other| other.name != name), "{name} is there twice");
            assert_ne!(setting.range.is_some(), !setting.choices.is_empty(), "{name} is a number or a choice");
            assert_eq!(setting.unit.is_empty(), setting.range.is_none(), "{name}: a number has a unit");
            let again = Config::new("x").set(&name.replace('_', "-"), &setting.default_value()).expect(name);
            assert_eq!(values(&again), values(&defaults));
        }
        assert_eq!((defaults.protocol, defaults.logged), (Protocol::default(), Logged::default()));
        assert_eq!(defaults.checkpoint_kind, CheckpointKind::default());
    }

    /// By name and by its method a setting changes, and no other one does.
    #[test]
    fn every_setting_changes_itself_only() {
        for (index, setting) in SETTINGS.iter().enumerate() {
            let Some(value) = another(setting) else {
                assert_eq!(setting.choices.len(), 1, "{}", setting.name);
                continue;
            };
            let mut expected = values(&Config::new("x"));
            expected[index].clone_from(&value);
            let named = Config::new("x").set(setting.name, &value).expect(setting.name);
            assert_eq!(values(&named), expected, "{}", setting.name);
            assert_eq!(values(&(setting.copy)(Config::new("x"), &named)), expected, "{}", setting.name);
        }
    }

    #[test]
    fn every_setting_refuses_what_is_out_of_its_range() {
        let with = |setting: &Setting, value: &str| Config::new("x").set(setting.name, value).map(|_| ());
        for setting in SETTINGS {
            let mut wrong = vec![String::new(), "?".to_owned(), "-1".to_owned()];
            if let Some((low, high)) = setting.range {
                assert_eq!(with(setting, &low.to_string()), Ok(()));
                assert_eq!(with(setting, &high.to_string()), Ok(()));
                wrong.push((high + 1).to_string());
                wrong.extend(low.checked_sub(1).map(|below| below.to_string()));
            }
            assert!(setting.choices.iter().all(|choice| with(setting, choice) == Ok(())));
            for value in wrong {
                let error = with(setting, &value).expect_err(setting.name);
                assert!(matches!(&error, ConfigError::BadValue { name, .. } if *name == setting.name), "{error}");
                assert!(error.to_string().contains(&setting.values()), "{error}");
            }
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
        for protocol in PROTOCOLS {
            let mut config = Config::new("x").protocol(protocol).streams(64);
            assert_eq!(config.check().is_ok(), protocol != Protocol::Serial, "{protocol} with 64 streams");
            config.streams = 1;
            config.checkpoint_kind = CheckpointKind::Fuzzy;
            let is_theirs = matches!(protocol, Protocol::Poplar | Protocol::Silo);
            assert_eq!(config.check().is_ok(), is_theirs, "{protocol} with fuzzy checkpoints");
        }
        let error = Config::new("x").protocol(Protocol::Serial).streams(2).check().expect_err("serial");
        assert!(error.to_string().contains("exactly 1 stream"), "{error}");
    }
}
