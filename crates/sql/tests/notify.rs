//! Notifications between the sessions of a program: when they come, to whom, and what is not told.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use osier::io::{Disk, Environment, File, FileStatus, Lock, OpenMode};
use osier::{Config, Create, Database, Receipt};
use osier_sql::Sql;
use osier_sql::session::{Mode, Session};

mod support;

use support::{Client, Rows, directory, open};

/// What a session is told by now, as `channel=payload`.
#[track_caller]
fn told(client: &mut Client) -> Vec<String> {
    let taken = client.session.take_notifications().expect("its inbox is not full");
    taken.into_iter().map(|notification| format!("{}={}", notification.channel, notification.payload)).collect()
}

/// Runs a statement by itself and does not wait until it is durable.
fn run_ahead(session: &mut Session, text: &str) -> Receipt {
    let parsed = session.split(text).expect("syntax");
    let prepared = session.prepare_parsed(&parsed[0]).expect("sense");
    let done = session.run(&prepared, &[], Mode::Alone, &mut Rows::default()).expect("it commits");
    done.receipt.expect("it was a transaction")
}

#[test]
fn statements_are_those_of_postgresql() {
    Client::new(&open(&directory("notify.sql"))).suite("notify.sql");
}

#[test]
fn what_commits_is_told_once_and_what_is_rolled_back_is_not() {
    let sql = open(&directory("notify"));
    let [mut one, mut two, mut other] = [1, 2, 3].map(|pid| {
        let mut client = Client::new(&sql);
        client.session.set_backend_pid(pid);
        client
    });
    assert!(one.session.inbox().is_none(), "it has not listened");
    one.run("LISTEN c; LISTEN d");
    two.run("LISTEN c");

    other.run("NOTIFY c, 'x'");
    let taken = one.session.take_notifications().expect("one");
    assert_eq!((taken.len(), taken[0].pid, &*taken[0].channel, &*taken[0].payload), (1, 3, "c", "x"));
    assert_eq!((told(&mut two), told(&mut other)), (vec!["c=x".to_owned()], Vec::new()));

    other.run("BEGIN; NOTIFY c, 'never'; ROLLBACK");
    other.run("BEGIN; NOTIFY c, '1'; NOTIFY d, '2'; NOTIFY c, '1'; SAVEPOINT s; NOTIFY c, '3'; NOTIFY c, '1'");
    other.run("ROLLBACK TO s; NOTIFY c, '4'; SAVEPOINT t; NOTIFY c, '3'; RELEASE t");
    assert!(told(&mut one).is_empty(), "it has not committed");
    other.run("COMMIT");
    assert_eq!(told(&mut one), ["c=1", "d=2", "c=4", "c=3"]);
    assert_eq!(told(&mut two), ["c=1", "c=4", "c=3"]);

    // Within a transaction nothing is handed out; a session that has sent it hears it, too.
    two.run("BEGIN; SELECT 1; NOTIFY c, 'own'");
    other.run("NOTIFY c, 'before'");
    assert!(told(&mut two).is_empty() && !two.session.is_idle());
    two.run("COMMIT");
    assert_eq!(told(&mut two), ["c=before", "c=own"]);
    two.run("BEGIN; NOTIFY c, 'never'; UNLISTEN c; COMMIT");
    assert!(told(&mut two).is_empty(), "it does not listen any more");
    two.run("BEGIN; LISTEN c; NOTIFY c, 'at once'; COMMIT");
    assert_eq!(told(&mut two), ["c=at once"]);

    // A statement that fails sends nothing, nor does a block that has failed.
    other.error("SELECT pg_notify('c', n::text), 1 / (2 - n) FROM generate_series(1, 3) AS n");
    other.run("BEGIN; NOTIFY c, 'never'");
    other.error("SELECT 1 / 0");
    other.run("COMMIT");
    told(&mut one);
    other.run("NOTIFY c, 'end'");
    assert_eq!(told(&mut one), ["c=end"]);
    drop(two);
    other.run("NOTIFY c, 'gone'");
    assert_eq!(told(&mut one), ["c=gone"]);
}

#[test]
fn a_thread_waits_for_what_comes() {
    let sql = open(&directory("notify_wait"));
    let mut listener = Client::new(&sql);
    listener.run("LISTEN c");
    let inbox = listener.session.inbox().expect("it listens").clone();
    assert!(!inbox.wait(Duration::from_millis(1)));
    let sending = thread::spawn(move || {
        let mut sender = Client::new(&sql);
        sender.run("CREATE TABLE t (n int)");
        for n in 1..=20 {
            sender.run(&format!("BEGIN; INSERT INTO t VALUES ({n}); NOTIFY c, '{n}'; COMMIT"));
        }
    });
    let mut seen = 0;
    while seen < 20 {
        assert!(inbox.wait(Duration::from_secs(30)), "only {seen} came");
        for notification in listener.session.take_notifications().expect("all of them") {
            seen += 1;
            assert_eq!(*notification.payload, *seen.to_string());
            // Who is told of it can read it.
            assert!(listener.run("SELECT max(n) FROM t").parse::<i32>().expect("a number") >= seen);
        }
    }
    sending.join().expect("it has sent them");
}

/// Statements that are run again after conflicts send once, and in the order in which they saw each other.
#[test]
fn what_runs_again_after_conflicts_sends_once_and_in_order() {
    const THREADS: usize = 4;
    const EACH: usize = 50;
    for control in ["optimistic", "mvcc", "2pl"] {
        let config = Config::new(directory(&format!("notify_{control}"))).create(Create::IfMissing).streams(2);
        let config = config.set("cc", control).expect("a kind of control");
        let sql = Sql::new(Arc::new(Database::open(config).expect("a database"))).expect("a catalog");
        let mut listener = Client::new(&sql);
        listener.run("CREATE TABLE t (k int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0); LISTEN c");
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let mut sender = Client::new(&sql);
                    for _ in 0..EACH {
                        sender.run("UPDATE t SET n = n + 1 WHERE k = 1 RETURNING pg_notify('c', n::text)");
                    }
                });
            }
        });
        let expected: Vec<String> = (1..=THREADS * EACH).map(|n| format!("c={n}")).collect();
        assert_eq!(told(&mut listener), expected, "{control}");
    }
}

#[test]
fn who_takes_nothing_is_cut_off_and_senders_are_not() {
    let sql = open(&directory("notify_full"));
    let (mut lazy, mut busy, mut sender) = (Client::new(&sql), Client::new(&sql), Client::new(&sql));
    lazy.run("LISTEN c");
    busy.run("LISTEN c");
    let many = "SELECT count(pg_notify('c', n || repeat('x', 7000))) FROM generate_series(1, 2000) AS n";
    for round in 0..5 {
        sender.run(many);
        assert_eq!(told(&mut busy).len(), 2_000, "{round}");
        if round == 0 {
            let usage: f64 = sender.run("SELECT pg_notification_queue_usage()").parse().expect("a part");
            assert!((0.3..0.6).contains(&usage), "{usage}");
        }
    }
    let error = lazy.session.take_notifications().expect_err("they were too many");
    assert_eq!(error.code(), "54000");
    assert!(error.hint().is_some());
    assert_eq!(sender.run("SELECT pg_notification_queue_usage()"), "0");
    assert_eq!(lazy.run("SELECT count(*) FROM pg_listening_channels()"), "0");
    lazy.run("LISTEN c");
    sender.run("NOTIFY c, 'again'");
    assert_eq!(told(&mut lazy), ["c=again"]);

    // What one transaction sends is bounded, too, and what it has sent before goes with it.
    for count in [140_000, 20_000] {
        let payload = if count > 100_000 { "n::text" } else { "n || repeat('x', 1000)" };
        let error = sender.error(&format!("SELECT pg_notify('c', {payload}) FROM generate_series(1, {count}) AS n"));
        assert_eq!(error.code(), "54000", "{count}");
    }
    sender.run("NOTIFY c, 'end'");
    assert_eq!(told(&mut lazy), ["c=end"]);
    sender.run("SELECT count(pg_notify('c', n::text)) FROM generate_series(1, 130000) AS n");
    assert_eq!(told(&mut lazy).len(), 130_000);
}

/// What a gate does with what is written to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Open,
    Closed,
    Broken,
}

/// A disk whose files wait at a gate before anything is written or synced.
struct GatedDisk {
    disk: Arc<dyn Disk>,
    gate: Arc<(Mutex<Gate>, Condvar)>,
}

struct GatedFile {
    file: Arc<dyn File>,
    gate: Arc<(Mutex<Gate>, Condvar)>,
}

impl GatedFile {
    fn pass(&self) -> io::Result<()> {
        let (gate, has_moved) = &*self.gate;
        let gate = has_moved.wait_while(gate.lock().expect("no panic"), |gate| *gate == Gate::Closed);
        match *gate.expect("no panic") {
            Gate::Broken => Err(io::Error::from_raw_os_error(5)),
            _ => Ok(()),
        }
    }
}

impl File for GatedFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.pass()?;
        self.file.write_at(bytes, offset)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        self.file.allocate(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.pass()?;
        self.file.sync()
    }
}

impl Disk for GatedDisk {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.disk.create_dir_all(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.disk.list(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        self.disk.status(path)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(GatedFile { file: self.disk.open(path, mode)?, gate: self.gate.clone() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        self.disk.lock(path)
    }
}

/// A database whose writes wait at a gate.
fn gated(test: &str) -> (Arc<Sql>, impl Fn(Gate)) {
    let gate = Arc::new((Mutex::new(Gate::Open), Condvar::new()));
    let disk = Arc::new(GatedDisk { disk: Environment::os().disk, gate: gate.clone() });
    let config = Config::new(directory(test)).create(Create::IfMissing);
    let config = config.environment(Environment { disk, ..Environment::os() });
    let sql = Sql::new(Arc::new(Database::open(config).expect("a database"))).expect("a catalog");
    let turn = move |to: Gate| {
        *gate.0.lock().expect("no panic") = to;
        gate.1.notify_all();
    };
    (sql, turn)
}

#[test]
fn nothing_is_told_before_it_is_durable() {
    let (sql, turn) = gated("notify_gated");
    let (mut listener, mut sender, mut hasty) = (Client::new(&sql), Client::new(&sql), Client::new(&sql));
    sender.run("CREATE TABLE t (n int)");
    listener.run("LISTEN c");
    hasty.run("SET synchronous_commit = off");
    let inbox = listener.session.inbox().expect("it listens").clone();

    turn(Gate::Closed);
    let text = "INSERT INTO t VALUES (1) RETURNING pg_notify('c', 'late')";
    let receipt = run_ahead(&mut sender.session, text);
    assert!(!inbox.wait(Duration::from_millis(50)), "it is not durable");
    assert!(told(&mut listener).is_empty());
    assert!(!receipt.is_acknowledged().expect("a log"), "or the test shows nothing");
    // One that does not wait for itself waits for those before it.
    run_ahead(&mut hasty.session, "INSERT INTO t VALUES (2) RETURNING pg_notify('c', 'behind')");
    assert!(told(&mut listener).is_empty());
    turn(Gate::Open);
    // The receipt is not waited for: that is done for the listener.
    let begun = Instant::now();
    let mut came = Vec::new();
    while came.len() < 2 {
        assert!(inbox.wait(Duration::from_secs(30)) && begun.elapsed() < Duration::from_secs(30), "{came:?}");
        came.extend(told(&mut listener));
    }
    assert_eq!(came, ["c=late", "c=behind"]);
    assert!(receipt.is_acknowledged().expect("a log"));

    turn(Gate::Closed);
    run_ahead(&mut hasty.session, "INSERT INTO t VALUES (3) RETURNING pg_notify('c', 'at once')");
    assert_eq!(told(&mut listener), ["c=at once"], "it did not wait for the log");
    turn(Gate::Open);
}

#[test]
fn what_waits_for_the_log_is_bounded() {
    let (sql, turn) = gated("notify_behind");
    let (mut listener, mut sender, mut hasty) = (Client::new(&sql), Client::new(&sql), Client::new(&sql));
    sender.run("CREATE TABLE t (n int)");
    listener.run("LISTEN c");
    hasty.run("SET synchronous_commit = off");
    turn(Gate::Closed);
    let receipt = run_ahead(&mut sender.session, "INSERT INTO t VALUES (1) RETURNING pg_notify('c', 'late')");
    let many = "SELECT count(pg_notify('c', n || repeat('x', 7000))) FROM generate_series(1, 2300) AS n";
    let error = (0..10).find_map(|_| hasty.try_run(many).err()).expect("it is bounded");
    assert_eq!((error.code(), error.hint().is_some()), ("54000", true));
    assert_eq!(hasty.error("BEGIN; NOTIFY c, 'more'; COMMIT").code(), "54000");
    // Who sends nothing goes on.
    run_ahead(&mut hasty.session, "INSERT INTO t VALUES (2)");
    turn(Gate::Open);
    receipt.wait().expect("durable");
    // All of it comes at once, which is more than one listener keeps.
    assert_eq!(listener.session.take_notifications().expect_err("they were too many").code(), "54000");
    listener.run("LISTEN c");
    hasty.run("NOTIFY c, 'again'");
    assert_eq!(told(&mut listener), ["c=again"]);
}

#[test]
fn what_the_log_has_lost_is_not_told() {
    let (sql, turn) = gated("notify_lost");
    let (mut listener, mut sender) = (Client::new(&sql), Client::new(&sql));
    sender.run("CREATE TABLE t (n int); LISTEN c");
    listener.run("LISTEN c");
    turn(Gate::Closed);
    let receipt = run_ahead(&mut sender.session, "INSERT INTO t VALUES (1) RETURNING pg_notify('c', 'lost')");
    let own = sender.session.inbox().expect("it listens").clone();
    assert!(own.awaits_own());
    turn(Gate::Broken);
    assert!(receipt.wait().is_err());
    assert!(!listener.session.inbox().expect("it listens").wait(Duration::from_millis(50)));
    assert!(told(&mut listener).is_empty() && told(&mut sender).is_empty());
    assert!(!own.awaits_own(), "nothing is to come any more");
}
