//! The registry of settings: each is written down once, with what it does, its unit, its default and its range.
//!
//! The macro turns an entry into a field of [`Config`], the one method that sets it, and a [`Setting`] of [`SETTINGS`], by which
//! the command line and reports find it under its name. Invariant: a field, its method and its name mean the same value.
//!
//! Absent: what two settings must have in common, which is [`Config::check`].

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Until;
use super::{
    CheckpointKind, Compression, ConcurrencyControlKind, ConfigError, Create, Locking, Logged, PhysiologicalImages,
    ProgressCallback, Protocol, RecoveryKind, ReplayKind, RowReplayKind,
};
use crate::ids::Stamp;
use crate::io::Environment;

/// One setting, as it is known by name.
pub struct Setting {
    /// Its name; on the command line dashes may stand for underscores.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// The unit of its number; empty for a choice.
    pub unit: &'static str,
    /// The smallest and the largest number that it takes; `None` for a choice.
    pub range: Option<(u64, u64)>,
    /// The values that a choice takes; empty for a number.
    pub choices: &'static [&'static str],
    /// Returns the present value.
    pub get: fn(&Config) -> String,
    /// Sets the value and tells whether the text was one, in its range or not.
    set: fn(&mut Config, &str) -> bool,
    /// Copies the value with the setting's method.
    #[cfg(test)]
    pub(super) copy: fn(Config, &Config) -> Config,
}

/// What the kinds of settings differ in: `number(unit, low, high)`, `bytes(low, high)`, `micros(low, high)` and
/// `choice("name" => value, ...)`. Sizes are written as they are printed: `8 MiB`.
macro_rules! kind {
    (default bytes $_:tt ($number:literal $unit:ident)) => { kind!(size $number $unit) };
    (default micros $_:tt ($default:expr)) => { Duration::from_micros($default) };
    (default $_:ident $__:tt ($default:expr)) => { $default };

    (size $number:literal bytes) => { $number };
    (size $number:literal KiB) => { $number << 10 };
    (size $number:literal MiB) => { $number << 20 };
    (size $number:literal GiB) => { $number << 30 };
    (size $number:literal TiB) => { $number << 40 };

    (unit number ($unit:literal, $low:expr, $high:expr)) => { $unit };
    (unit bytes $_:tt) => { "bytes" };
    (unit micros $_:tt) => { "us" };
    (unit choice $_:tt) => { "" };

    (range number ($unit:literal, $low:expr, $high:expr)) => { Some(($low, $high)) };
    (range bytes ($low:literal $low_unit:ident, $high:literal $high_unit:ident)) => {
        Some((kind!(size $low $low_unit), kind!(size $high $high_unit)))
    };
    (range micros ($low:expr, $high:expr)) => { Some(($low, $high)) };
    (range choice $_:tt) => { None };

    (choices choice ($($text:literal => $value:expr),+)) => { &[$($text),+] };
    (choices $_:ident $__:tt) => { &[] };

    (text micros $_:tt $value:expr) => { $value.as_micros().to_string() };
    (text choice ($($text:literal => $choice:expr),+) $value:expr) => {
        match $value { $(value if value == $choice => $text,)+ _ => "?" }.to_owned()
    };
    (text $_:ident $__:tt $value:expr) => { $value.to_string() };

    (parse micros $_:tt $text:expr) => { $text.parse().ok().map(Duration::from_micros) };
    (parse choice ($($name:literal => $choice:expr),+) $text:expr) => {
        match $text { $($name => Some($choice),)+ _ => None }
    };
    (parse $_:ident $__:tt $text:expr) => { $text.parse().ok() };

    (doc number ($unit:literal, $low:literal, $high:literal) ($default:literal) $name:literal) => {
        kind!(refusing [
            "Unit: ", $unit, ". Default: ", stringify!($default), ". Range: ", stringify!($low), " to ", stringify!($high), "."
        ] $name)
    };
    (doc bytes ($low:literal $low_unit:ident, $high:literal $high_unit:ident) ($default:literal $unit:ident) $name:literal) => {
        kind!(refusing [
            "Default: ", $default, " ", stringify!($unit), ". Range: ", $low, " ", stringify!($low_unit),
            " to ", $high, " ", stringify!($high_unit), "."
        ] $name)
    };
    (doc micros ($low:literal, $high:literal) ($default:literal) $name:literal) => {
        kind!(refusing [
            "Default: ", stringify!($default), " us. Range: ", stringify!($low), " to ", stringify!($high), " us."
        ] $name)
    };
    (doc choice ($($text:literal => $value:expr),+) ($default:expr) $name:literal) => {
        concat!("Default: `", stringify!($default), "`. By name:", $(" `", $text, "`",)+ ".")
    };
    (refusing [$($doc:expr),+] $name:literal) => {
        concat!($($doc,)+ " [`Config::check`] refuses any other value with [`ConfigError::BadValue`] of `", $name, "`.")
    };
}

macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $field:ident: $type:ty, $name:literal, $kind:ident $of:tt, default $default:tt;)+) => {
        /// Everything that can be chosen about a database. Build it with [`Config::new`] and the methods below.
        ///
        /// The fields are public to be read. To assign one is to call the method of its name: either takes any value, and
        /// [`Config::check`], and with it [`Database::open`](crate::Database::open), refuses one that is out of range. An open
        /// database has its own copy, which nobody can change.
        #[derive(Clone)]
        pub struct Config {
            /// The directories; see [`Config::dirs`](method@Config::dirs).
            pub dirs: Vec<PathBuf>,
            /// The directories to leave; see [`Config::leaving`](method@Config::leaving).
            pub leaving: Vec<PathBuf>,
            /// What to do about a directory without a database; see [`Config::create`](method@Config::create).
            pub create: Create,
            /// Where to take the database back to; see [`Config::until`](method@Config::until).
            pub until: Option<Until>,
            /// From where on divergence is accepted; see [`Config::accept_divergence`](method@Config::accept_divergence).
            pub accept_divergence: Option<Stamp>,
            /// What is called with recovery's progress; see [`Config::progress`](method@Config::progress).
            pub progress: Option<ProgressCallback>,
            /// The world to run in; see [`Config::environment`](method@Config::environment).
            pub environment: Environment,
            $(
                #[doc = concat!("The setting `", $name, "`; see")]
                #[doc = concat!("[`Config::", stringify!($field), "`](method@Config::", stringify!($field), ").")]
                pub $field: $type,
            )+
        }

        /// The registry of settings.
        pub const SETTINGS: &[Setting] = &[$(
            Setting {
                name: $name,
                doc: concat!($($doc),+).trim_ascii(),
                unit: kind!(unit $kind $of),
                range: kind!(range $kind $of),
                choices: kind!(choices $kind $of),
                get: |config| kind!(text $kind $of config.$field),
                set: |config, text| kind!(parse $kind $of text).map(|value| config.$field = value).is_some(),
                #[cfg(test)]
                copy: |config, from| config.$field(from.$field),
            },
        )+];

        impl Config {
            /// Returns the defaults, with the database in `dir`.
            pub fn new(dir: impl Into<PathBuf>) -> Config {
                Config {
                    dirs: vec![dir.into()],
                    leaving: Vec::new(),
                    create: Create::default(),
                    until: None,
                    accept_divergence: None,
                    progress: None,
                    environment: Environment::os(),
                    $($field: kind!(default $kind $of $default),)+
                }
            }

            $(
                $(#[doc = $doc])+
                ///
                #[doc = kind!(doc $kind $of $default $name)]
                pub fn $field(mut self, value: $type) -> Config {
                    self.$field = value;
                    self
                }
            )+
        }
    };
}

settings! {
    /// Sets how the log is ordered, and with it when a commit is durable.
    protocol: Protocol, "protocol",
        choice("none" => Protocol::None, "serial" => Protocol::Serial, "poplar" => Protocol::Poplar, "gsn" => Protocol::Gsn,
            "plover" => Protocol::Plover, "silo" => Protocol::Silo, "taurus" => Protocol::Taurus),
        default (Protocol::Poplar);

    /// Sets how transactions are isolated.
    concurrency_control: ConcurrencyControlKind, "cc",
        choice("optimistic" => ConcurrencyControlKind::Optimistic, "2pl" => ConcurrencyControlKind::TwoPhaseLocking,
            "mvcc" => ConcurrencyControlKind::Multiversion),
        default (ConcurrencyControlKind::Optimistic);

    /// Sets what becomes of a transaction that wants a lock which another one holds, where `cc` is `2pl`. `no-wait`: it is run
    /// again. `wait-die`: it waits if it is older than the other, and is run again otherwise. `wound-wait`: it waits, and the
    /// other is run again if it is younger. `detect`: it waits, and of those that wait in a circle the youngest is run again.
    locking: Locking, "locking",
        choice("no-wait" => Locking::NoWait, "wait-die" => Locking::WaitDie, "wound-wait" => Locking::WoundWait,
            "detect" => Locking::Detect),
        default (Locking::WoundWait);

    /// Sets how long a transaction waits for a lock that nobody gives back, where `cc` is `2pl`. No circle of waits is made by
    /// transactions of different threads; this one ends the wait of a thread for itself, or for a transaction that nobody goes
    /// on with.
    lock_timeout: Duration, "lock_timeout_us", micros(1, 86_400_000_000), default (10_000_000);

    /// Sets what a log record holds: the rows that a transaction wrote, or the stored procedure that it ran, to be run again by a
    /// recovery; `adaptive` decides for each call, within `recovery_seconds_target`. Commands need protocol `serial`, `gsn` or
    /// `taurus`, and checkpoints of kind `epoch`; what no procedure ran is logged as values. `physiological` logs rows as
    /// ARIES-like systems do, to compare with; any protocol but `none` takes it.
    logged: Logged, "logged",
        choice("values" => Logged::Values, "commands" => Logged::Commands, "adaptive" => Logged::Adaptive,
            "physiological" => Logged::Physiological),
        default (Logged::Values);

    /// Sets how long a recovery may take to replay the log since the last checkpoint, where `logged` is `adaptive`: the longer
    /// it would take, the more calls are logged as values, and at half of it a checkpoint is due.
    recovery_seconds_target: u64, "recovery_seconds_target", number("seconds", 1, 86_400), default (30);

    /// Sets what `logged = physiological` logs of a row that changes: what changed in it, or its full image.
    physiological_images: PhysiologicalImages, "physiological_images",
        choice("changed" => PhysiologicalImages::Changed, "full" => PhysiologicalImages::Full),
        default (PhysiologicalImages::Changed);

    /// Sets whether `logged = physiological` logs what rows were before, too. Every write then reads what it overwrites. Recovery
    /// does not need it.
    physiological_before_images: bool, "physiological_before_images", choice("off" => false, "on" => true), default (false);

    /// Sets how many log streams work in parallel. The number may change from one open to the next; protocol `serial` takes 1.
    streams: u32, "streams", number("streams", 1, 64), default (1);

    /// Sets how long a logger gathers commits before it writes, whoever waits for them. 0 writes at once, or 2 ms after the last
    /// time where nobody waits and the processors are short. Protocol `silo` gathers until the epoch is over in any case.
    group_commit_interval: Duration, "group_commit_interval_us", micros(0, 1_000_000), default (0);

    /// Sets how often the global epoch advances.
    epoch_interval: Duration, "epoch_interval_us", micros(100, 1_000_000), default (10_000);

    /// Sets the memory of one stream's log ring: a power of two, at least four times `transaction_log_bytes_max`.
    ring_bytes: usize, "ring_bytes", bytes(16 KiB, 1 GiB), default (8 MiB);

    /// Sets the length of one log segment file: a multiple of 4096, larger than `ring_bytes` + 4096.
    segment_bytes: u64, "segment_bytes", bytes(16 KiB, 4 GiB), default (64 MiB);

    /// Sets how many sessions can be open at once. What they need is made as they come: there is no reason to set less but to
    /// bound them.
    sessions_max: usize, "sessions_max", number("sessions", 1, 65_536), default (65_536);

    /// Sets the longest log record that is written in one piece. What a larger transaction writes goes to the log in parts before
    /// it commits; `transaction_bytes_max` bounds that.
    transaction_log_bytes_max: usize, "transaction_log_bytes_max", bytes(4 KiB, 256 MiB), default (1 MiB);

    /// Sets how much memory one transaction's pending writes may take, with those of indexes and what savepoints keep. The write
    /// that would take more fails.
    transaction_bytes_max: usize, "transaction_bytes_max", bytes(4 KiB, 64 GiB), default (4 GiB);

    /// Sets how many rows and index entries one transaction may write.
    transaction_writes_max: usize, "transaction_writes_max", number("writes", 1, 4_294_967_295), default (67_108_864);

    /// Sets how much memory rows, keys and indexes may take. At the limit, transactions that need more fail; reads, deletes and
    /// updates in place go on. 0 sets no limit.
    memory_limit: u64, "memory_limit", bytes(0 bytes, 1024 TiB), default (0 bytes);

    /// Sets for how long a snapshot may be read: whoever reads an older one gets an error, and what was kept for it is freed. 0
    /// sets no limit. At `memory_limit` snapshots are ended, too, the oldest first.
    snapshot_age_max: Duration, "snapshot_age_max_us", micros(0, 4_398_046_511_104), default (0);

    /// Sets the largest encoded key.
    key_bytes_max: usize, "key_bytes_max", bytes(16 bytes, 32 KiB), default (1 KiB);

    /// Sets the largest encoded row.
    row_bytes_max: usize, "row_bytes_max", bytes(64 bytes, 64 MiB), default (64 MiB);

    /// Sets how often `Database::run` and `Session::run` retry a transaction that met a conflict.
    conflict_retries_max: u32, "conflict_retries_max", number("attempts", 0, 4_294_967_295), default (1000);

    /// Sets how many steps a call of a procedure may take: a loop without an end ends there.
    procedure_steps_max: u64, "procedure_steps_max", number("steps", 1, 1_000_000_000_000), default (100_000_000);

    /// Sets how much memory the values of one call of a procedure may take: texts, arrays and results.
    procedure_bytes_max: usize, "procedure_bytes_max", bytes(4 KiB, 64 GiB), default (256 MiB);

    /// Sets of which commands the log gets a hash of what they wrote: every n-th of a session. 0 writes none. A command whose
    /// hash is there and that does something else when it is replayed ends the recovery.
    command_hash_interval: u64, "command_hash_interval", number("commands", 0, 1_000_000), default (16);

    /// Sets how many threads scan and replay the log in a recovery. 0 takes one per core.
    recovery_threads: usize, "recovery_threads", number("threads", 0, 1024), default (0);

    /// Sets how much scanned log recovery keeps in memory between scan and replay. It reads what is beyond twice. Where as much
    /// waits for earlier log, one thread alone goes on.
    recovery_buffer_bytes: u64, "recovery_buffer_bytes", bytes(0 bytes, 16 TiB), default (4 GiB);

    /// Sets how recovery runs the transactions of a log of commands again: one after the other (`serial`), or several at once, as
    /// their LSN vectors allow (`vectors`, protocol `taurus`) or their procedures and arguments (`pacman`). `auto` takes the
    /// vectors where there are some, and the procedures where not. For comparisons there are `pacman-synchronous`, which plans
    /// nothing while calls run, and `pacman-static`, which looks at no arguments either.
    recovery_replay: ReplayKind, "recovery_replay",
        choice("auto" => ReplayKind::Auto, "serial" => ReplayKind::Serial, "vectors" => ReplayKind::Vectors,
            "pacman" => ReplayKind::Pacman, "pacman-synchronous" => ReplayKind::PacmanSynchronous,
            "pacman-static" => ReplayKind::PacmanStatic), default (ReplayKind::Auto);

    /// Sets when a database whose log has commands can be used: when all of them have run again (`whole`), or as soon as it is
    /// known which rows they access (`instant`). Then they run again while the database is open, first those that a transaction
    /// waits for. Checkpoints and definitions wait for all of them. With `accept_divergence` it is always `whole`.
    recovery: RecoveryKind, "recovery",
        choice("whole" => RecoveryKind::Whole, "instant" => RecoveryKind::Instant), default (RecoveryKind::Whole);

    /// Sets how recovery replays the rows of a log, up to the first call in it: each installed under a latch of its own, with
    /// secondary indexes built last (`plr`) or kept in step (`llr`), or by the thread that owns it, without latches (`llr-p`).
    /// `auto` takes the fastest. What comes out is the same.
    recovery_rows: RowReplayKind, "recovery_rows",
        choice("auto" => RowReplayKind::Auto, "plr" => RowReplayKind::Plr, "llr" => RowReplayKind::Llr,
            "llr-p" => RowReplayKind::LlrP), default (RowReplayKind::Auto);

    /// Sets which state a checkpoint holds: one that the database was in, or (protocols `poplar` and `silo`) a fuzzy one that
    /// the log completes.
    checkpoint_kind: CheckpointKind, "checkpoint_kind",
        choice("epoch" => CheckpointKind::Epoch, "fuzzy" => CheckpointKind::Fuzzy), default (CheckpointKind::Epoch);

    /// Sets after how much log a checkpoint is due: when a recovery would have to read so much. It is spread over most of the
    /// log until the next one. 0 takes none for that reason.
    checkpoint_log_bytes: u64, "checkpoint_log_bytes", bytes(0 bytes, 1024 TiB), default (4 GiB);

    /// Sets after how much time a checkpoint is due, if something was logged since the last one; where recovery had to read log,
    /// one is due at once. It is spread over most of the time until the next one. 0 takes none for that reason.
    checkpoint_interval: Duration, "checkpoint_interval_us", micros(0, 4_398_046_511_104), default (0);

    /// Sets whether closing the database takes a checkpoint.
    checkpoint_at_close: bool, "checkpoint_at_close", choice("no" => false, "yes" => true), default (false);

    /// Sets how many threads write a checkpoint; each writes one file.
    checkpoint_threads: usize, "checkpoint_threads", number("threads", 1, 64), default (1);

    /// Sets how many bytes a second a checkpoint may write, all threads together. 0 writes as fast as transactions leave room.
    checkpoint_bytes_per_second: u64, "checkpoint_bytes_per_second", bytes(0 bytes, 1024 TiB), default (0 bytes);

    /// Sets how the blocks of a checkpoint are compressed.
    checkpoint_compression: Compression, "checkpoint_compression",
        choice("none" => Compression::None, "lz4" => Compression::Lz4), default (Compression::None);

    /// Sets whether the process listens on the socket `CONTROL` in the first directory, over which `osier status`, `checkpoint`
    /// and `backup` ask it.
    control_socket: bool, "control_socket", choice("no" => false, "yes" => true), default (false);
}

impl Config {
    /// Sets the directories that the streams are spread over. The first one also holds the manifest.
    pub fn dirs(mut self, dirs: impl IntoIterator<Item = impl Into<PathBuf>>) -> Config {
        self.dirs = dirs.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the directories of the database that it is to leave: what lies in them is read, and nothing new is written there.
    /// Once a checkpoint has superseded all of it, they need not be named any more;
    /// [`Database::status`](crate::Database::status) says which directories hold what. The open fails with
    /// [`DirectoryError::NotPart`](crate::DirectoryError::NotPart) where one of them is no directory of the database.
    pub fn leaving(mut self, dirs: impl IntoIterator<Item = impl Into<PathBuf>>) -> Config {
        self.leaving = dirs.into_iter().map(Into::into).collect();
        self
    }

    /// Sets what to do about a directory without a database. Default: [`Create::IfMissing`].
    pub fn create(mut self, create: Create) -> Config {
        self.create = create;
        self
    }

    /// Takes the database back to an epoch or a time when it is opened: what came later is gone for ever. An open that cannot
    /// do exactly that fails and changes nothing. The database must exist. docs/operations.md says more.
    pub fn until(mut self, until: Until) -> Config {
        self.until = Some(until);
        self
    }

    /// Opens the database also where commands of the log, from the transaction with this stamp on, do something else when they
    /// are run again: what they do now counts, and nothing of those that fail now. Before that stamp divergence ends the
    /// recovery, as it does everywhere by default. [`RecoveryReport::accepted`](crate::RecoveryReport::accepted) lists what was
    /// accepted. If anything was, the database is given away only once a checkpoint holds the result, so that no later open
    /// comes to these commands again. docs/procedures.md says more.
    pub fn accept_divergence(mut self, from: Stamp) -> Config {
        self.accept_divergence = Some(from);
        self
    }

    /// Sets a function that is called with recovery's progress. Default: none.
    pub fn progress(mut self, callback: impl Fn(&super::Progress) + Send + Sync + 'static) -> Config {
        self.progress = Some(Arc::new(callback));
        self
    }

    /// Sets the disk, the clock and the threads that the database uses. Default: those of the operating system.
    pub fn environment(mut self, environment: Environment) -> Config {
        self.environment = environment;
        self
    }

    /// Sets any setting of [`SETTINGS`] by its name; dashes may stand for underscores.
    ///
    /// Fails with [`ConfigError::UnknownSetting`] or, for a value out of range, [`ConfigError::BadValue`].
    pub fn set(mut self, name: &str, value: &str) -> Result<Config, ConfigError> {
        let setting = Setting::find(name)?;
        if !(setting.set)(&mut self, value) {
            return Err(setting.bad(value));
        }
        setting.check(&self)?;
        Ok(self)
    }
}

impl Setting {
    /// Returns the setting of this name; dashes may stand for underscores.
    pub fn find(name: &str) -> Result<&'static Setting, ConfigError> {
        let wanted = name.replace('-', "_");
        SETTINGS.iter().find(|setting| setting.name == wanted).ok_or_else(|| {
            let known = SETTINGS.iter().map(|setting| setting.name).collect::<Vec<_>>().join(", ");
            ConfigError::UnknownSetting { name: name.to_owned(), known }
        })
    }

    /// Returns the default value.
    pub fn default_value(&self) -> String {
        (self.get)(&Config::new(""))
    }

    /// Returns what values it takes, as the end of a sentence that begins with "takes".
    pub fn values(&self) -> String {
        match self.range {
            Some((low, high)) => format!("a whole number of {} from {low} to {high}", self.unit),
            None => format!("one of: {}", self.choices.join(", ")),
        }
    }

    pub(super) fn bad(&self, value: &str) -> ConfigError {
        ConfigError::BadValue { name: self.name, value: value.to_owned(), expected: format!("takes {}", self.values()) }
    }

    pub(super) fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let Some((low, high)) = self.range else { return Ok(()) };
        let value = (self.get)(config);
        match value.parse::<u64>() {
            Ok(number) if (low..=high).contains(&number) => Ok(()),
            _ => Err(self.bad(&value)),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Config");
        debug.field("dirs", &self.dirs).field("leaving", &self.leaving);
        for setting in SETTINGS {
            debug.field(setting.name, &(setting.get)(self));
        }
        debug.finish()
    }
}
