//! The operating system's disk, clock and threads through the seam, and the signal under stress.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use osier::io::{BLOCK_BYTES, Environment, OpenMode, Signal, Step, Task};

/// A directory of its own for one test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(parent: &Path, name: &str) -> Scratch {
        let dir = parent.join(format!("osier-io-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `blocks` blocks of `fill`, at an address that direct writes take.
fn with_blocks(blocks: usize, fill: u8, body: impl FnOnce(&mut [u8])) {
    let mut bytes = vec![fill; (blocks + 1) * BLOCK_BYTES];
    let start = bytes.as_ptr().align_offset(BLOCK_BYTES);
    body(&mut bytes[start..start + blocks * BLOCK_BYTES]);
}

#[test]
fn a_log_file_keeps_what_is_written_on_every_file_system() {
    let env = Environment::os();
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let parents = [std::env::temp_dir(), target, PathBuf::from("/dev/shm")];
    for parent in parents.iter().filter(|dir| dir.is_dir()) {
        let scratch = Scratch::new(parent, "log");
        let path = scratch.0.join("segment");
        let header = env.disk.open(&path, OpenMode::Create).unwrap();
        header.write_at(b"header", 0).unwrap();
        header.allocate(16 * BLOCK_BYTES as u64).unwrap();
        header.sync().unwrap();
        env.disk.sync_dir(&scratch.0).unwrap();
        assert_eq!(header.len().unwrap(), 16 * BLOCK_BYTES as u64);

        let log = env.disk.open(&path, OpenMode::Log).unwrap();
        with_blocks(3, 7, |bytes| log.write_at(bytes, 4 * BLOCK_BYTES as u64).unwrap());
        log.allocate(32 * BLOCK_BYTES as u64).unwrap();
        log.sync().unwrap();
        with_blocks(40, 1, |bytes| {
            let read = log.read_at(bytes, 0).unwrap();
            assert_eq!(read, 32 * BLOCK_BYTES, "a read stops at the end of the file");
            assert!(bytes.starts_with(b"header\0"));
            assert!(bytes[4 * BLOCK_BYTES..7 * BLOCK_BYTES].iter().all(|byte| *byte == 7));
            assert!(bytes[7 * BLOCK_BYTES..read].iter().all(|byte| *byte == 0));
        });

        let path = scratch.0.join("stream");
        let stream = env.disk.open(&path, OpenMode::Stream).unwrap();
        with_blocks(5, 9, |bytes| stream.write_at(bytes, 0).unwrap());
        stream.sync().unwrap();
        assert_eq!(stream.len().unwrap(), 5 * BLOCK_BYTES as u64);
        let read = env.disk.open(&path, OpenMode::Read).unwrap();
        with_blocks(6, 0, |bytes| {
            assert_eq!(read.read_at(bytes, 0).unwrap(), 5 * BLOCK_BYTES);
            assert!(bytes[..5 * BLOCK_BYTES].iter().all(|byte| *byte == 9));
        });
    }
}

#[test]
#[should_panic(expected = "is not aligned")]
fn an_unaligned_write_to_a_log_file_is_a_defect() {
    let scratch = Scratch::new(&std::env::temp_dir(), "unaligned");
    let env = Environment::os();
    let path = scratch.0.join("segment");
    env.disk.open(&path, OpenMode::Create).unwrap();
    let log = env.disk.open(&path, OpenMode::Log).unwrap();
    let _ = log.write_at(&[1; 100], 0);
}

#[test]
fn files_are_listed_renamed_and_removed() {
    let scratch = Scratch::new(&std::env::temp_dir(), "names");
    let disk = Environment::os().disk;
    let dir = scratch.0.join("a/b");
    disk.create_dir_all(&dir).unwrap();
    for name in ["2", "10", "1"] {
        assert!(disk.open(&dir.join(name), OpenMode::Create).unwrap().is_empty().unwrap());
    }
    assert_eq!(disk.list(&dir).unwrap(), ["1", "10", "2"].map(|name| dir.join(name)));
    disk.rename(&dir.join("1"), &dir.join("2")).unwrap();
    disk.remove(&dir.join("10")).unwrap();
    disk.sync_dir(&dir).unwrap();
    assert_eq!(disk.list(&dir).unwrap(), [dir.join("2")]);
    assert!(!disk.exists(&dir.join("1")).unwrap());
    assert!(disk.exists(&dir.join("2")).unwrap());
}

#[test]
fn errors_name_the_file_and_keep_their_kind() {
    let scratch = Scratch::new(&std::env::temp_dir(), "errors");
    let disk = Environment::os().disk;
    let path = scratch.0.join("missing");
    let text = path.display().to_string();
    for mode in [OpenMode::Read, OpenMode::Write, OpenMode::Log] {
        let error = disk.open(&path, mode).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains(&text), "{error}");
    }
    disk.open(&path, OpenMode::Create).unwrap();
    for mode in [OpenMode::Create, OpenMode::Stream] {
        assert_eq!(disk.open(&path, mode).err().unwrap().kind(), ErrorKind::AlreadyExists);
    }
    assert_eq!(disk.list(&path).unwrap_err().kind(), ErrorKind::NotADirectory);

    let full = disk.open(Path::new("/dev/full"), OpenMode::Write).unwrap();
    let error = full.write_at(b"x", 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert!(error.to_string().contains("/dev/full") && error.to_string().contains("make room"), "{error}");
}

#[test]
fn a_lock_is_exclusive_until_dropped() {
    let scratch = Scratch::new(&std::env::temp_dir(), "lock");
    let disk = Environment::os().disk;
    let path = scratch.0.join("LOCK");
    let held = disk.lock(&path).unwrap();
    let error = disk.lock(&path).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    assert!(error.to_string().contains("LOCK"), "{error}");
    drop(held);
    disk.lock(&path).unwrap();
}

/// Answers requests: whoever raises its number in `asked` wants the same place of `answered` to follow.
struct Answer {
    asked: Arc<Vec<AtomicU64>>,
    answered: Arc<Vec<AtomicU64>>,
    is_over: Arc<AtomicBool>,
}

impl Task for Answer {
    fn step(&mut self) -> Step {
        let mut step = if self.is_over.load(Ordering::Relaxed) { Step::Done } else { Step::Idle(None) };
        for (asked, answered) in self.asked.iter().zip(&*self.answered) {
            let asked = asked.load(Ordering::Relaxed);
            if asked != answered.load(Ordering::Relaxed) {
                answered.store(asked, Ordering::Release);
                step = Step::Again;
            }
        }
        step
    }
}

/// Every thread raises its number and waits until the task saw it: one lost wake-up and the test stands still. The
/// numbers are plain stores, so that nothing but the signal's own fences orders them before its loads.
fn ask_from(threads: usize, rounds: u64) {
    let env = Environment::os();
    let signal = Arc::new(Signal::new());
    let numbers = || Arc::new((0..threads).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
    let (asked, answered, is_over) = (numbers(), numbers(), Arc::new(AtomicBool::new(false)));
    let task = Answer { asked: asked.clone(), answered: answered.clone(), is_over: is_over.clone() };
    let joiner = env.spawn.spawn("answer".to_owned(), Box::new(task), signal.clone()).unwrap();

    let (finished, watchdog) = mpsc::channel();
    for own in 0..threads {
        let (asked, answered, signal, finished) = (asked.clone(), answered.clone(), signal.clone(), finished.clone());
        thread::spawn(move || {
            let mut random = fastrand::Rng::with_seed(own as u64);
            for round in 1..=rounds {
                asked[own].store(round, Ordering::Relaxed);
                signal.wake();
                let mut spins = 0_u32;
                while answered[own].load(Ordering::Acquire) < round {
                    spins += 1;
                    if spins.is_multiple_of(64) { thread::yield_now() } else { std::hint::spin_loop() }
                }
                // Sweep over the moments at which the task falls asleep.
                for _ in 0..random.u32(0..500) {
                    std::hint::spin_loop();
                }
            }
            finished.send(()).unwrap();
        });
    }
    for _ in 0..threads {
        watchdog.recv_timeout(Duration::from_secs(120)).expect("a wake-up was lost");
    }
    is_over.store(true, Ordering::Relaxed);
    signal.wake();
    joiner.join().unwrap();
}

#[test]
fn one_waker_is_always_heard() {
    ask_from(1, 100_000);
}

#[test]
fn four_wakers_are_always_heard() {
    ask_from(4, 20_000);
}

/// Looks for work, is overtaken by it, and reports that there was none.
struct Overtaken {
    work: Arc<AtomicBool>,
    signal: Arc<Signal>,
    has_looked: bool,
}

impl Task for Overtaken {
    fn step(&mut self) -> Step {
        if self.work.load(Ordering::Relaxed) {
            return Step::Done;
        }
        if !std::mem::replace(&mut self.has_looked, true) {
            self.work.store(true, Ordering::Relaxed);
            self.signal.wake();
        }
        Step::Idle(None)
    }
}

#[test]
fn work_that_came_just_before_the_sleep_is_done() {
    let signal = Arc::new(Signal::new());
    let task = Overtaken { work: Arc::new(AtomicBool::new(false)), signal: signal.clone(), has_looked: false };
    let joiner = Environment::os().spawn.spawn("overtaken".to_owned(), Box::new(task), signal).unwrap();
    let (finished, watchdog) = mpsc::channel();
    thread::spawn(move || finished.send(joiner.join()).unwrap());
    watchdog.recv_timeout(Duration::from_secs(60)).expect("a wake-up was lost").unwrap();
}

#[test]
fn a_wait_ends_at_its_timeout_and_tells_a_wake_from_it() {
    let signal = Signal::new();
    signal.wake();
    assert!(!signal.is_raised(), "nobody listened");
    signal.listen();
    assert!(!signal.wait(Some(Duration::from_millis(2))));
    signal.listen();
    signal.wake();
    signal.wake();
    assert!(signal.is_raised());
    assert!(signal.wait(None));
    assert!(!signal.is_raised());
}

struct Count(u64, Arc<AtomicU64>);

impl Task for Count {
    fn step(&mut self) -> Step {
        if self.0 == 0 {
            return Step::Done;
        }
        self.0 -= 1;
        self.1.fetch_add(1, Ordering::Relaxed);
        Step::Idle(Some(Duration::from_millis(1)))
    }
}

struct Panic(bool);

impl Task for Panic {
    fn step(&mut self) -> Step {
        if self.0 { panic!("stream {} broke", 3) } else { panic!("broke") }
    }
}

#[test]
fn tasks_run_on_timeouts_and_panics_come_back_at_the_join() {
    let env = Environment::os();
    let steps = Arc::new(AtomicU64::new(0));
    let spawn = |task: Box<dyn Task>| env.spawn.spawn("task".to_owned(), task, Arc::new(Signal::new())).unwrap();
    spawn(Box::new(Count(9, steps.clone()))).join().unwrap();
    assert_eq!(steps.load(Ordering::Relaxed), 9);
    assert_eq!(spawn(Box::new(Panic(true))).join(), Err("stream 3 broke".to_owned()));
    assert_eq!(spawn(Box::new(Panic(false))).join(), Err("broke".to_owned()));
}

#[test]
fn the_clock_goes_forward() {
    let clock = Environment::os().clock;
    let before = clock.now();
    clock.sleep(Duration::from_millis(2));
    assert!(clock.now() >= before + Duration::from_millis(2));
    assert!(clock.wall() > std::time::UNIX_EPOCH);
}

/// Children have every open file of their parent until they run their own program.
#[test]
fn a_lock_ends_with_its_holder_while_children_start() {
    let scratch = Scratch::new(&std::env::temp_dir(), "children");
    let (disk, path) = (Environment::os().disk, scratch.0.join("LOCK"));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                std::process::Command::new("true").status().unwrap();
            }
        });
        let locked = (0..2000).try_for_each(|_| disk.lock(&path).map(drop));
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        locked.unwrap();
    });
}
