//! The status of a database: what its files are for, what keeps the log from being cut, and, where it is open, what it does.
//!
//! Invariants:
//! - Nothing is written, and no file is read but the manifest: names and lengths tell the rest. So the process that has the
//!   database open answers in the same way as one that finds it closed.
//! - Whatever keeps a segment is named with its reason.
//!
//! Absent: what the log holds (recovery/explain.rs reads it).

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use crate::checkpoint::CheckpointStatus;
use crate::config::{Config, Logged, Protocol};
use crate::database::{Database, Inner};
use crate::directory::manifest::{DirectoryEntry, Layout, Manifest, StreamBegin};
use crate::directory::{self, DirectoryError};
pub use crate::directory::{DatabaseState, TakenBack};
use crate::error::Error;
use crate::ids::{Generation, StreamId, WallTime};
use crate::io::{Disk, OpenMode};
use crate::log::format::segment::FileName;
use crate::log::persist::StreamMetrics;
use crate::transaction::figures::ProcedureMetrics;
use crate::transaction::open_snapshots::{OldestSnapshot, SnapshotMetrics};
use crate::units::{bytes, count};

/// The status of a database.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Status {
    /// The database.
    pub database: String,
    /// Its first directory.
    pub home: PathBuf,
    /// Whether a process has it open.
    pub state: DatabaseState,
    /// Its directories.
    pub directories: Vec<DirectoryStatus>,
    /// How its log is ordered.
    pub protocol: Protocol,
    /// Whether it logs calls of procedures in place of what they wrote.
    #[serde(default)]
    pub logs_commands: bool,
    /// Whether it logs physiologically.
    #[serde(default)]
    pub logs_physiologically: bool,
    /// Its lives so far.
    pub generation: u64,
    /// Streams of the newest generation.
    pub stream_count: u32,
    /// Which epochs the database was taken back to.
    #[serde(default)]
    pub taken_back: Vec<TakenBack>,
    /// The valid checkpoints.
    pub checkpoints: Vec<CheckpointStatus>,
    /// The logs that recovery would read, by generation and stream.
    pub streams: Vec<StreamStatus>,
    /// What recovery would read.
    pub recovery: RecoveryNeeds,
    /// What keeps the log from being cut shorter than it is.
    pub blocks: Vec<String>,
    /// Only where it is open.
    pub live: Option<LiveStatus>,
}

/// A directory of the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DirectoryStatus {
    /// Its index, which its identity names, too.
    pub index: u32,
    /// Where it lies; where it was last, if it was left out.
    pub path: PathBuf,
    /// Whether it was left out: nothing in it is needed.
    pub is_retired: bool,
}

/// The log of one stream in one generation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StreamStatus {
    /// The generation.
    pub generation: u64,
    /// The stream.
    pub stream: u32,
    /// Where it lies.
    pub directory: PathBuf,
    /// The number of the first segment that recovery needs.
    pub first_segment: u64,
    /// How many there are.
    pub segments: u64,
    /// The length of their files, which may not be full.
    pub bytes: u64,
    /// Spare files, allocated in advance.
    pub spares: u64,
}

/// What recovery would read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecoveryNeeds {
    /// Of checkpoint files.
    pub checkpoint_bytes: u64,
    /// Segment files.
    pub segments: u64,
    /// Of segment files, at most.
    pub log_bytes: u64,
}

/// What the process that has the database open says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LiveStatus {
    /// The process.
    pub pid: u32,
    /// Transactions that committed since it opened the database.
    pub committed: u64,
    /// Transactions that did not commit: conflicts, refusals, and those that were given up.
    pub aborted: u64,
    /// The present epoch.
    pub epoch: u64,
    /// Every transaction of an epoch up to this one has ended.
    pub ended_epoch: u64,
    /// Everything up to this stamp is durable on every stream.
    pub stable: u64,
    /// The greatest stamp drawn.
    pub last_stamp: u64,
    /// The streams of the log.
    pub streams: Vec<LiveStream>,
    /// Of the segments of this generation that recovery needs.
    pub retained_bytes: u64,
    /// What the checkpointer does, and waits for.
    pub checkpoint: String,
    /// Checkpoints that became valid since the database was opened.
    pub checkpoints_taken: u64,
    /// Checkpoints that failed.
    pub checkpoints_failed: u64,
    /// Why the last one that failed did.
    pub checkpoint_failure: Option<String>,
    /// Where backups are being written to.
    pub backups: Vec<PathBuf>,
    /// Snapshots that are open, and what is kept for them.
    #[serde(default)]
    pub snapshots: SnapshotStatus,
    /// Transactions of the log that have still to run again (`recovery = instant`).
    #[serde(default)]
    pub recovery_left: u64,
    /// How many there were when the database was opened.
    #[serde(default)]
    pub recovery_transactions: u64,
    /// How long a recovery would take to replay the log, in seconds; `None` where no commands are logged.
    #[serde(default)]
    pub recovery_debt_seconds: Option<f64>,
    /// What that is to be at most.
    #[serde(default)]
    pub recovery_target_seconds: Option<f64>,
    /// Versions of procedures that were called since the database was opened.
    #[serde(default)]
    pub procedures: Vec<ProcedureMetrics>,
    /// Why the log stopped, if it did.
    pub failure: Option<String>,
}

/// The snapshots of an open database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SnapshotStatus {
    /// How many are open, that of a checkpoint included.
    pub open: u64,
    /// Row images that are kept for them.
    pub versions: u64,
    /// The memory that these take.
    pub bytes: u64,
    /// How many were ended by `snapshot_age_max_us` or `memory_limit` since the database was opened.
    pub ended: u64,
    /// The one that was opened first of those that users hold.
    pub oldest: Option<OldestSnapshotStatus>,
}

/// The oldest snapshot that a user holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OldestSnapshotStatus {
    /// The epoch at whose end it is.
    pub epoch: u64,
    /// How long it has been open.
    pub seconds: f64,
    /// Row images that are kept for it; a younger one may need some of them, too.
    pub versions: u64,
    /// The memory that they take.
    pub bytes: u64,
}

impl From<SnapshotMetrics> for SnapshotStatus {
    fn from(metrics: SnapshotMetrics) -> SnapshotStatus {
        let SnapshotMetrics { open, versions, bytes, ended, oldest } = metrics;
        let oldest = oldest.map(|OldestSnapshot { epoch, seconds, versions, bytes }| {
            let epoch = epoch.0;
            OldestSnapshotStatus { epoch, seconds, versions, bytes }
        });
        SnapshotStatus { open: open as u64, versions, bytes, ended, oldest }
    }
}

/// One stream of an open log.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LiveStream {
    /// Everything in it up to this stamp is durable.
    pub durable: u64,
    /// Bytes written since the database was opened.
    pub bytes: u64,
    /// Transactions logged.
    pub records: u64,
    /// Batches written.
    pub batches: u64,
    /// Syncs of the device.
    pub syncs: u64,
}

/// Returns the status of the database in the configured directories, as its files tell. Where a process has it open,
/// [`crate::operate::control::ask`] asks the process for the rest.
///
/// # Errors
/// Where there is no readable manifest, or a directory cannot be listed.
pub fn status(config: &Config) -> Result<Status, DirectoryError> {
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    directory::refuse_unfinished(config)?;
    let manifest = directory::find(config)?.ok_or_else(|| DirectoryError::NoDatabase { home: home.to_owned() })?;
    Status::of(disk, home, &manifest, config.environment.clock.wall().into())
}

impl Database {
    /// Returns the status of the database: what its files are for, and what it does.
    ///
    /// # Errors
    /// [`Error::Directory`] where nothing of it is on disk yet, or its directories cannot be listed.
    pub fn status(&self) -> Result<Status, Error> {
        let Inner { shared, retention, .. } = &*self.inner;
        let now = shared.config.environment.clock.wall().into();
        let status = retention.read(|disk, home, manifest| Status::of(disk, home, manifest, now));
        let home = shared.config.dirs[0].clone();
        let mut status = status.unwrap_or(Err(DirectoryError::NoDatabase { home }))?;
        status.state = DatabaseState::Open;
        status.live = Some(self.live_status());
        Ok(status)
    }

    fn live_status(&self) -> LiveStatus {
        let (shared, metrics) = (&self.inner.shared, self.metrics());
        let epochs = shared.store.epochs();
        let durable = shared.log.begins(None);
        let stream = |(stream, begin): (&StreamMetrics, &StreamBegin)| LiveStream {
            durable: begin.durable.0,
            bytes: stream.bytes,
            records: stream.records,
            batches: stream.batches,
            syncs: stream.syncs,
        };
        LiveStatus {
            pid: crate::io::process_id(),
            committed: metrics.committed,
            aborted: metrics.aborted,
            epoch: epochs.current().0,
            ended_epoch: epochs.safe().0,
            stable: shared.log.csn().0,
            last_stamp: shared.log.last_stamp().0,
            streams: metrics.log.streams.iter().zip(&durable).map(stream).collect(),
            retained_bytes: metrics.log.retained_bytes,
            checkpoint: metrics.checkpoints.state.to_string(),
            checkpoints_taken: metrics.checkpoints.taken,
            checkpoints_failed: metrics.checkpoints.failed,
            checkpoint_failure: metrics.checkpoints.failure.map(|failure| failure.to_string()),
            backups: self.inner.retention.holds(),
            snapshots: metrics.snapshots.into(),
            recovery_left: metrics.backlog.left,
            recovery_transactions: metrics.backlog.transactions,
            recovery_debt_seconds: metrics.recovery.map(|recovery| recovery.debt.as_secs_f64()),
            recovery_target_seconds: metrics.recovery.map(|recovery| recovery.target.as_secs_f64()),
            procedures: metrics.procedures,
            failure: self.failure().map(|failure| failure.to_string()),
        }
    }
}

impl Status {
    /// Of the files in `home` of which `manifest` speaks.
    pub(crate) fn of(
        disk: &dyn Disk,
        home: &Path,
        manifest: &Manifest,
        now: WallTime,
    ) -> Result<Status, DirectoryError> {
        let mut streams = Vec::new();
        let mut add = |layout: &Layout, firsts: Vec<u64>| {
            for (stream, first) in firsts.into_iter().enumerate() {
                let directory = manifest.stream_directory(home, layout, StreamId(stream as u32));
                streams.push(StreamStatus::of(disk, directory, layout.generation, stream as u32, first)?);
            }
            Ok::<(), DirectoryError>(())
        };
        for frozen in &manifest.frozen {
            add(&frozen.layout, frozen.streams.iter().map(|stream| stream.first_sequence).collect())?;
        }
        if !manifest.is_closed() {
            add(&manifest.current, manifest.begins.iter().map(|begin| begin.sequence).collect())?;
        }
        let directory = |(index, entry): (u32, &DirectoryEntry)| DirectoryStatus {
            index,
            path: manifest.directory(home, index),
            is_retired: entry.is_retired,
        };
        let checkpoints: Vec<_> = manifest.checkpoints.iter().map(|entry| CheckpointStatus::of(entry, now)).collect();
        let recovery = RecoveryNeeds {
            checkpoint_bytes: checkpoints.last().map_or(0, |checkpoint| checkpoint.bytes),
            segments: streams.iter().map(|stream| stream.segments).sum(),
            log_bytes: streams.iter().map(|stream| stream.bytes).sum(),
        };
        Ok(Status {
            database: format!("{:032x}", manifest.database.0),
            home: home.to_owned(),
            state: DatabaseState::of(manifest),
            directories: (0..).zip(&manifest.directories).map(directory).collect(),
            protocol: manifest.current.protocol,
            logs_commands: manifest.current.logged == Logged::Commands,
            logs_physiologically: manifest.current.logged == Logged::Physiological,
            generation: manifest.current.generation.0,
            stream_count: manifest.current.streams.len() as u32,
            taken_back: manifest.taken_back(),
            blocks: blocks(&checkpoints, &streams),
            checkpoints,
            streams,
            recovery,
            live: None,
        })
    }
}

/// Why recovery needs what it needs of the log.
fn blocks(checkpoints: &[CheckpointStatus], streams: &[StreamStatus]) -> Vec<String> {
    let why = match checkpoints.last() {
        None => "no checkpoint was taken, so recovery needs the log from its beginning".to_owned(),
        Some(CheckpointStatus { number, .. }) => format!("what came after checkpoint {number} begins there"),
    };
    let block = |stream: &StreamStatus| {
        let StreamStatus { generation, stream, first_segment, .. } = stream;
        format!("generation {generation}, stream {stream}: kept from segment {first_segment} on, {why}")
    };
    streams.iter().filter(|stream| stream.segments > 0).map(block).collect()
}

impl StreamStatus {
    fn of(
        disk: &dyn Disk,
        directory: PathBuf,
        generation: Generation,
        stream: u32,
        first_segment: u64,
    ) -> Result<StreamStatus, DirectoryError> {
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |source| DirectoryError::Io { action, path, source }
        };
        let mut status = StreamStatus {
            generation: generation.0,
            stream,
            first_segment,
            segments: 0,
            bytes: 0,
            spares: 0,
            directory: directory.clone(),
        };
        if !disk.exists(&directory).map_err(io("look for", &directory))? {
            return Err(DirectoryError::StreamMissing { path: directory, stream });
        }
        for path in disk.list(&directory).map_err(io("list", &directory))? {
            match FileName::parse(&path) {
                Some(FileName::Prepared(_)) => status.spares += 1,
                Some(FileName::Segment { generation: of, sequence })
                    if of == generation && sequence >= first_segment =>
                {
                    // A process that has the database open may have renamed it meanwhile.
                    if let Ok(file) = disk.open(&path, OpenMode::Read) {
                        status.segments += 1;
                        status.bytes += file.len().map_err(io("measure", &path))?;
                    }
                }
                _ => {}
            }
        }
        Ok(status)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Status { database, home, state, generation, recovery, .. } = self;
        write!(f, "database {database} in {}, {state}", home.display())?;
        if let Some(live) = &self.live {
            write!(f, " in process {}", live.pid)?;
        }
        writeln!(f)?;
        let logs = match (self.logs_commands, self.logs_physiologically) {
            (true, _) => "commands",
            (false, true) => "physiological",
            (false, false) => "values",
        };
        writeln!(f, "  protocol    {}, {logs}, generation {generation}", self.protocol)?;
        for DirectoryStatus { index, path, is_retired } in &self.directories {
            let state = if *is_retired { ", left out" } else { "" };
            writeln!(f, "  directory   {index}: {}{state}", path.display())?;
        }
        self.taken_back.iter().try_for_each(|back| writeln!(f, "  history     {back} for ever"))?;
        self.checkpoints.iter().try_for_each(|checkpoint| writeln!(f, "  {checkpoint}"))?;
        for StreamStatus { generation, stream, directory, segments, bytes: size, spares, .. } in &self.streams {
            let (size, directory) = (bytes(*size), directory.display());
            writeln!(
                f,
                "  log         generation {generation}, stream {stream}: {} of {size}, {spares} spare, in {directory}",
                count(*segments, "segment")
            )?;
        }
        let (checkpoint, log) = (bytes(recovery.checkpoint_bytes), bytes(recovery.log_bytes));
        writeln!(
            f,
            "  recovery    would read {checkpoint} of checkpoint and at most {log} of log in {}",
            count(recovery.segments, "segment")
        )?;
        for block in &self.blocks {
            writeln!(f, "  kept        {block}")?;
        }
        match &self.live {
            Some(live) => write!(f, "{live}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for LiveStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LiveStatus { committed, aborted, epoch, ended_epoch, stable, last_stamp, .. } = self;
        writeln!(f, "  since open  {} committed, {aborted} did not", count(*committed, "transaction"))?;
        writeln!(f, "  epochs      now {epoch}; every transaction up to epoch {ended_epoch} has ended")?;
        writeln!(f, "  durable     everything up to stamp {stable}; the last one drawn is {last_stamp}")?;
        for (index, LiveStream { durable, bytes: size, records, batches, syncs }) in self.streams.iter().enumerate() {
            let size = bytes(*size);
            writeln!(
                f,
                "  stream {index:<4} durable up to {durable}, {} in {} of {size}, {}",
                count(*records, "transaction"),
                count(*batches, "batch"),
                count(*syncs, "sync")
            )?;
        }
        if self.recovery_left > 0 {
            let (left, all) = (self.recovery_left, count(self.recovery_transactions, "transaction"));
            writeln!(f, "  replay      {left} of {all} of the log have still to run; checkpoints wait for them")?;
        }
        let (taken, failed) = (self.checkpoints_taken, self.checkpoints_failed);
        write!(f, "  checkpoints {taken} taken, {failed} failed; {}", self.checkpoint)?;
        if let Some(failure) = &self.checkpoint_failure {
            write!(f, "\n  the last one that failed: {failure}")?;
        }
        write!(f, "{}", self.snapshots)?;
        if let (Some(debt), Some(target)) = (self.recovery_debt_seconds, self.recovery_target_seconds) {
            write!(f, "\n  debt        a recovery would replay for about {debt:.1} s; the target is {target:.0} s")?;
        }
        self.procedures.iter().try_for_each(|procedure| write!(f, "\n  procedure   {procedure}"))?;
        for target in &self.backups {
            write!(f, "\n  a backup to {} is being written: nothing is removed until it ends", target.display())?;
        }
        match &self.failure {
            Some(failure) => write!(f, "\n  the log has stopped: {failure}"),
            None => Ok(()),
        }
    }
}

/// Lines that begin with their end; none where there is nothing to say.
impl fmt::Display for SnapshotStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = |versions: u64, size: u64| format!("{} of {}", count(versions, "version"), bytes(size));
        if self.open > 0 || self.ended > 0 {
            write!(f, "\n  snapshots   {} open, {} kept for them", self.open, kept(self.versions, self.bytes))?;
            write!(f, "; {} ended by limits", self.ended)?;
        }
        if let Some(OldestSnapshotStatus { epoch, seconds, versions, bytes }) = self.oldest {
            let kept = kept(versions, bytes);
            write!(f, "\n  the oldest  of epoch {epoch}, open for {seconds:.1} s, {kept} kept for it")?;
        }
        Ok(())
    }
}
