//! A world in which tests step the tasks of a log by hand: a disk with faults, a clock that stands still, no threads.
//!
//! Invariant: a task that sleeps is stepped again only when its signal was raised or its time has come, so that a lost
//! wake-up shows as a log that stands still.
//!
//! Absent: seeds, torn writes, crashes in mid-operation (osier-testkit has them).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use osier_memory::Epochs;
use osier_memory::sync::{Mutex, lock};

use crate::config::{Config, Protocol};
use crate::error::LogError;
use crate::ids::{DatabaseId, Epoch, Generation, Incarnation, LogOffset, Stamp, StreamId, TableId};
use crate::io::disk_for_tests::TestDisk;
use crate::io::{Clock, Disk, Environment, File, FileStatus, Joiner, Lock, OpenMode, Signal, Spawn, Step, Task};
use crate::log::acknowledge::Receipt;
use crate::log::format::LogIdentity;
use crate::log::format::batch::{BatchHeader, Certificate};
use crate::log::format::dependency::LsnVector;
use crate::log::format::payload::PayloadKind;
use crate::log::format::payload::values::{Change, LoggedWrite, ValuesWriter};
use crate::log::format::record::{self, Entry, RecordHeader};
use crate::log::format::records::Records;
use crate::log::format::segment::{self, Segment, SegmentHeader};
use crate::log::persist::{LogLayout, Slot};
use crate::log::protocol::{Committed, LogProtocol};
use crate::log::{ActiveProtocol, CommitLog, with_protocol};

/// Decides about each changing operation, named as in "sync 00000001-00000001.log".
type Rule = Box<dyn FnMut(&str) -> Option<io::Error> + Send>;

/// A [`TestDisk`] with faults, which counts the syncs of log segments.
#[derive(Clone, Default)]
pub(crate) struct FaultyDisk {
    pub(crate) inner: TestDisk,
    rule: Arc<Mutex<Option<Rule>>>,
    syncs: Arc<AtomicU64>,
}

impl FaultyDisk {
    /// Has `rule` decide about each operation from now on.
    pub(crate) fn set_rule(&self, rule: impl FnMut(&str) -> Option<io::Error> + Send + 'static) {
        *lock(&self.rule) = Some(Box::new(rule));
    }

    /// No more faults.
    pub(crate) fn clear_rule(&self) {
        *lock(&self.rule) = None;
    }

    /// Syncs of files that were opened for the log.
    pub(crate) fn log_syncs(&self) -> u64 {
        self.syncs.load(Ordering::SeqCst)
    }

    fn judge(&self, call: &str, path: &Path) -> io::Result<()> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match lock(&self.rule).as_mut().and_then(|rule| rule(&format!("{call} {name}"))) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Disk for FaultyDisk {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir_all(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.inner.list(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.inner.exists(path)
    }

    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        self.inner.status(path)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.judge("open", path)?;
        let file = self.inner.open(path, mode)?;
        Ok(Arc::new(FaultyFile { disk: self.clone(), path: path.to_owned(), file, mode }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.judge("rename", to)?;
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.judge("remove", path)?;
        self.inner.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.judge("sync_dir", dir)?;
        self.inner.sync_dir(dir)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        Disk::lock(&self.inner, path)
    }
}

struct FaultyFile {
    disk: FaultyDisk,
    path: PathBuf,
    file: Arc<dyn File>,
    mode: OpenMode,
}

impl File for FaultyFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.disk.judge("write", &self.path)?;
        self.file.write_at(bytes, offset)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        self.disk.judge("allocate", &self.path)?;
        self.file.allocate(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.judge("sync", &self.path)?;
        if self.mode == OpenMode::Log {
            self.disk.syncs.fetch_add(1, Ordering::SeqCst);
        }
        self.file.sync()
    }
}

/// A clock that moves when told.
#[derive(Debug, Default)]
pub(crate) struct ManualClock(AtomicU64);

impl ManualClock {
    pub(crate) fn advance(&self, duration: Duration) {
        self.0.fetch_add(duration.as_nanos() as u64, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::SeqCst))
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.now()
    }

    fn sleep(&self, duration: Duration) {
        self.advance(duration);
    }
}

/// Where a task stands with its signal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Awake,
    Listening { is_rest: bool },
    Asleep(Option<Duration>),
}

struct Stepped {
    name: String,
    signal: Arc<Signal>,
    rest: Rest,
    /// Absent while it is being stepped and when it is over.
    task: Option<Box<dyn Task>>,
    end: Option<Result<(), String>>,
}

/// Tasks that run when told.
#[derive(Clone, Default)]
pub(crate) struct HandSpawn {
    clock: Arc<ManualClock>,
    tasks: Arc<Mutex<Vec<Stepped>>>,
    /// The process uses all the time of its processors.
    pub(crate) is_short: Arc<AtomicBool>,
}

impl HandSpawn {
    /// Steps the task called `name`, asleep or not; `None` where it is over.
    pub(crate) fn step(&self, name: &str) -> Option<Step> {
        let index = lock(&self.tasks).iter().position(|task| task.name == name).expect("a task of that name");
        self.step_at(index)
    }

    /// Steps the task at `index`, if it is not over.
    fn step_at(&self, index: usize) -> Option<Step> {
        let mut task = {
            let mut tasks = lock(&self.tasks);
            let stepped = &mut tasks[index];
            if let Rest::Asleep(_) = stepped.rest {
                stepped.signal.wait(Some(Duration::ZERO));
                stepped.rest = Rest::Awake;
            }
            stepped.task.take()?
        };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| task.step()));
        let is_over = !matches!(outcome, Ok(Step::Again | Step::Idle(_) | Step::Rest(_)));
        let mut task = Some(task);
        if is_over {
            task = None;
        }
        let mut tasks = lock(&self.tasks);
        let stepped = &mut tasks[index];
        stepped.task = task;
        stepped.rest = match (&outcome, stepped.rest) {
            (Ok(Step::Idle(timeout)), Rest::Listening { is_rest: false }) => {
                Rest::Asleep(timeout.map(|timeout| self.clock.now() + timeout))
            }
            (Ok(Step::Rest(time)), Rest::Listening { is_rest: true }) => Rest::Asleep(Some(self.clock.now() + *time)),
            (Ok(Step::Idle(_)), Rest::Awake | Rest::Asleep(_)) => {
                stepped.signal.listen();
                Rest::Listening { is_rest: false }
            }
            (Ok(Step::Rest(_)), Rest::Awake | Rest::Asleep(_)) => {
                stepped.signal.rest();
                Rest::Listening { is_rest: true }
            }
            (_, Rest::Listening { .. }) => {
                stepped.signal.unlisten();
                Rest::Awake
            }
            _ => Rest::Awake,
        };
        if is_over {
            stepped.end = Some(outcome.as_ref().map(|_| ()).map_err(|_| "it panicked".to_owned()));
        }
        Some(outcome.unwrap_or(Step::Done))
    }

    /// Steps whoever is awake, in turn, until all sleep. The clock stands still.
    pub(crate) fn settle(&self) {
        while let Some(index) = self.awake().first() {
            self.step_at(*index);
        }
    }

    /// As [`HandSpawn::settle`], and moves the clock to every deadline until nobody has one.
    pub(crate) fn settle_for_good(&self) {
        for _ in 0..100_000 {
            self.settle();
            let deadlines = |task: &Stepped| match task.rest {
                Rest::Asleep(until) if task.task.is_some() => until,
                _ => None,
            };
            let next = lock(&self.tasks).iter().filter_map(deadlines).min();
            let Some(next) = next else { return };
            self.clock.advance(next.saturating_sub(self.clock.now()));
        }
        panic!("the tasks never rest");
    }

    /// The tasks that can be stepped now.
    pub(crate) fn awake(&self) -> Vec<usize> {
        let now = self.clock.now();
        let is_awake = |task: &Stepped| {
            task.task.is_some()
                && match task.rest {
                    Rest::Asleep(until) => task.signal.is_raised() || until.is_some_and(|until| until <= now),
                    _ => true,
                }
        };
        let tasks = lock(&self.tasks);
        (0..tasks.len()).filter(|index| is_awake(&tasks[*index])).collect()
    }

    /// Steps one of the awake tasks.
    pub(crate) fn step_any(&self, choose: impl FnOnce(usize) -> usize) {
        let awake = self.awake();
        if !awake.is_empty() {
            self.step_at(awake[choose(awake.len())]);
        }
    }

    /// How many tasks are not over.
    pub(crate) fn live(&self) -> usize {
        lock(&self.tasks).iter().filter(|task| task.end.is_none()).count()
    }
}

impl Spawn for HandSpawn {
    fn spawn(&self, name: String, task: Box<dyn Task>, signal: Arc<Signal>) -> io::Result<Box<dyn Joiner>> {
        let mut tasks = lock(&self.tasks);
        tasks.push(Stepped { name, signal, rest: Rest::Awake, task: Some(task), end: None });
        Ok(Box::new(HandJoiner { spawn: self.clone(), index: tasks.len() - 1 }))
    }

    fn processor_time(&self) -> Option<Duration> {
        let processors = if self.is_short.load(Ordering::SeqCst) { self.parallelism() as u32 } else { 0 };
        Some(self.clock.now() * processors)
    }
}

struct HandJoiner {
    spawn: HandSpawn,
    index: usize,
}

impl Joiner for HandJoiner {
    fn join(self: Box<Self>) -> Result<(), String> {
        self.spawn.settle_for_good();
        let end = lock(&self.spawn.tasks)[self.index].end.clone();
        end.expect("waited for a task that nothing will end")
    }
}

/// All of it, with a configuration for small logs.
pub(crate) struct World {
    pub(crate) disk: FaultyDisk,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) spawn: HandSpawn,
    pub(crate) epochs: Arc<Epochs>,
    pub(crate) config: Config,
}

impl World {
    pub(crate) const DATABASE: DatabaseId = DatabaseId(77);

    pub(crate) fn new() -> World {
        let spawn = HandSpawn::default();
        let (disk, clock) = (FaultyDisk::default(), Arc::clone(&spawn.clock));
        let environment = Environment {
            disk: Arc::new(disk.clone()),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            spawn: Arc::new(spawn.clone()),
        };
        let mut config = Config::new("/db").environment(environment);
        config.ring_bytes = 64 << 10;
        config.segment_bytes = 128 << 10;
        config.transaction_log_bytes_max = 16 << 10;
        World { disk, clock, spawn, epochs: Epochs::new(1), config }
    }

    /// A world of real threads and real time over the same disk.
    pub(crate) fn threaded() -> World {
        let mut world = World::new();
        let os = Environment::os();
        world.config.environment.clock = os.clock;
        world.config.environment.spawn = os.spawn;
        world
    }

    pub(crate) fn directory(stream: u32) -> PathBuf {
        PathBuf::from(format!("/db/stream-{stream}"))
    }

    pub(crate) fn identity(generation: u64, stream: u32, streams: u32) -> LogIdentity {
        LogIdentity::new(World::DATABASE, Generation(generation), StreamId(stream), streams)
    }

    pub(crate) fn layout(&self, generation: u64, streams: u32, floor: u64) -> LogLayout {
        let dirs: Vec<PathBuf> = (0..streams).map(World::directory).collect();
        for dir in &dirs {
            self.disk.create_dir_all(dir).unwrap();
        }
        let (database, incarnation) = (World::DATABASE, Incarnation::NONE);
        let epochs = self.epochs.clone();
        LogLayout { database, generation: Generation(generation), incarnation, floor: Stamp(floor), dirs, epochs }
    }

    pub(crate) fn poplar(&self, streams: u32) -> CommitLog {
        CommitLog::start(&self.config, self.layout(1, streams, 0)).unwrap()
    }

    pub(crate) fn gsn(&self, streams: u32) -> CommitLog {
        let config = self.config.clone().protocol(Protocol::Gsn);
        CommitLog::start(&config, self.layout(1, streams, 0)).unwrap()
    }

    pub(crate) fn plover(&self, streams: u32) -> CommitLog {
        let config = self.config.clone().protocol(Protocol::Plover);
        CommitLog::start(&config, self.layout(1, streams, 0)).unwrap()
    }

    pub(crate) fn taurus(&self, streams: u32) -> CommitLog {
        let config = self.config.clone().protocol(Protocol::Taurus);
        CommitLog::start(&config, self.layout(1, streams, 0)).unwrap()
    }

    pub(crate) fn silo(&self, streams: u32) -> CommitLog {
        let config = self.config.clone().protocol(Protocol::Silo);
        CommitLog::start(&config, self.layout(1, streams, 0)).unwrap()
    }

    pub(crate) fn serial(&self, floor: u64) -> CommitLog {
        let config = self.config.clone().protocol(Protocol::Serial);
        CommitLog::start(&config, self.layout(1, 1, floor)).unwrap()
    }
}

/// A transaction that wrote nothing and read up to `raw_dep`.
pub(crate) fn reader(raw_dep: Stamp) -> Committed<Stamp> {
    Committed { stamp: Stamp::ZERO, stream: StreamId(0), epoch: Epoch(1), raw_dep }
}

/// The receipt of a transaction, which where vectors are depends on all streams alike.
pub(crate) fn receipt_of(log: &CommitLog, committed: &Committed<Stamp>) -> Receipt {
    if let ActiveProtocol::Taurus(protocol) = log.protocol() {
        let Committed { stamp, stream, epoch, raw_dep } = *committed;
        let committed = Committed { stamp, stream, epoch, raw_dep: LsnVector::of_all(raw_dep) };
        return log.receipts().durable(committed.outcome(protocol));
    }
    log.receipts().durable(with_protocol!(log, protocol => committed.outcome(protocol)))
}

/// Draws an order number.
pub(crate) fn draw(
    log: &CommitLog,
    stream: StreamId,
    base: Stamp,
    record_bytes: usize,
) -> Result<Option<Slot<'_>>, LogError> {
    match log.protocol() {
        ActiveProtocol::Taurus(protocol) => protocol.stamp(stream, base, record_bytes),
        _ => with_protocol!(log, protocol => protocol.stamp(stream, base, record_bytes)),
    }
}

/// Commits one row of `row_bytes` to `stream` over `base`, having read `raw_dep`. Nobody asks about it.
pub(crate) fn commit_row(
    log: &CommitLog,
    stream: u32,
    base: u64,
    raw_dep: u64,
    row_bytes: usize,
) -> Result<Committed<Stamp>, LogError> {
    let committed = write_row(log, stream, base, raw_dep, row_bytes)?;
    drop(receipt_of(log, &committed));
    Ok(committed)
}

fn row_write(row: &[u8]) -> LoggedWrite<'_> {
    LoggedWrite { table: TableId(16), key: b"key", change: Change::Put(row) }
}

/// The length of the record of [`write_row`].
pub(crate) fn row_record_bytes(raw_dep: Stamp, row: &[u8]) -> usize {
    let header = RecordHeader { stamp: Stamp::ZERO, raw_dep, epoch: Epoch(1), write_count: 1 };
    record::encoded_len(&header, row_write(row).encoded_len())
}

/// As [`commit_row`], and leaves it to the caller to ask.
pub(crate) fn write_row(
    log: &CommitLog,
    stream: u32,
    base: u64,
    raw_dep: u64,
    row_bytes: usize,
) -> Result<Committed<Stamp>, LogError> {
    assert!(base >= raw_dep, "what was read is part of the base");
    let row = vec![stream as u8; row_bytes];
    let raw_dep = Stamp(raw_dep);
    let bytes = row_record_bytes(raw_dep, &row);
    let slot = loop {
        match draw(log, StreamId(stream), Stamp(base), bytes)? {
            Some(slot) => break slot,
            None => log.wait_for_room(StreamId(stream), bytes)?,
        }
    };
    let (stamp, epoch) = (slot.stamp(), Epoch(1));
    slot.fill(|buffer, seal| {
        let header = RecordHeader { stamp, raw_dep, epoch, write_count: 1 };
        record::encode(buffer, &header, PayloadKind::Values, seal, |bytes| {
            ValuesWriter::new(bytes).write_all(&[row_write(&row)])
        });
    });
    Ok(Committed { stamp, stream: StreamId(stream), epoch, raw_dep })
}

/// Commits a small row that read everything it is based on.
pub(crate) fn commit(log: &CommitLog, stream: u32, base: u64) -> Committed<Stamp> {
    commit_row(log, stream, base, base, 20).unwrap()
}

/// One batch as a reader finds it.
#[derive(Debug)]
pub(crate) struct FoundBatch {
    pub(crate) header: BatchHeader,
    pub(crate) certificates: Vec<Certificate>,
    pub(crate) records: Vec<RecordHeader>,
}

/// The valid prefix of a stream, segment by segment.
pub(crate) type FoundStream = Vec<(SegmentHeader, Vec<FoundBatch>)>;

/// Reads a stream; fails where a segment does not end where the next one starts.
pub(crate) fn read_stream(disk: &dyn Disk, log: &LogIdentity) -> Result<FoundStream, String> {
    let directory = World::directory(log.stream().0);
    let open = |sequence| Segment::open(disk, &directory, log, sequence).ok();
    let segments: Vec<Segment> = (segment::FIRST_SEQUENCE..).map_while(open).collect();
    let bases: Vec<LogOffset> = segments.iter().map(|segment| segment.header.base).collect();
    let mut found = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        let mut bytes = vec![0; segment.header.bytes as usize];
        segment.file.read_at(&mut bytes, 0).unwrap();
        let mut batches = Vec::new();
        let (mut offset, end) = (segment.header.base, bases.get(index + 1).copied());
        while end.is_none_or(|end| offset < end) && offset < segment.header.capacity_end() {
            let rest = &bytes[segment.header.position(offset) as usize..];
            let Some(batch) = read_batch(rest, log, offset) else { break };
            offset = batch.header.end();
            batches.push(batch);
        }
        if end.is_some_and(|end| offset != end) {
            return Err(format!("{} ends at {offset}, the next segment starts elsewhere", segment.path.display()));
        }
        found.push((segment.header, batches));
    }
    Ok(found)
}

fn read_batch(bytes: &[u8], log: &LogIdentity, offset: LogOffset) -> Option<FoundBatch> {
    let (header, certificates) = BatchHeader::decode(bytes, log, offset).ok()?;
    let certificates = certificates.collect();
    let mut records = Vec::new();
    for (_, entry) in Records::new(log, offset, bytes.get(..header.record_bytes as usize)?) {
        if let Entry::Record(record) = entry.ok()? {
            assert!(record.header().stamp <= header.stamp, "a record beyond its batch's stamp");
            records.push(record.header());
        }
    }
    Some(FoundBatch { header, certificates, records })
}

/// Whether the outcome may be told.
pub(crate) fn is_acknowledged(log: &CommitLog, committed: &Committed<Stamp>) -> bool {
    receipt_of(log, committed).is_acknowledged().unwrap_or(false)
}
