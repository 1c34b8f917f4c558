//! Hostile clients beside an honest one: garbage, damaged messages, floods, half-open connections and mutated statements, from a
//! seed. The server goes on, serves the honest client all the while, and keeps what it was told.
//!
//! What is checked, beside the answers (`attack.rs`): the honest client gets right answers in time, over its own connection and
//! over new ones; at the end the process lives, its log has no panic, memory, threads and file descriptors have come back; the
//! rows of the honest client are those that it was told of, also after a kill and a restart.
//!
//! The hostile clients are a role without rights on what the honest one has. `OSIER_HOSTILE_SECONDS=600` is how long they go on,
//! `OSIER_HOSTILE_SEED=7` what they draw from; a seed does not repeat how clients meet.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test says what it has done, and its seed")]

mod attack;
#[path = "../support/mod.rs"]
mod support;
mod text;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use attack::{Attacker, ROLE, Seen};
use fastrand::Rng;
use support::Directory;
use support::served::{Answer, Client, Served, query};

const OPTIONS: &str = "--auth trust --no-socket --connections-max 64 --idle-in-transaction-timeout 20";
const ATTACKERS: usize = 6;
/// How long the honest client may have to wait for one answer. Its statements take a millisecond where nobody disturbs.
const LATENCY_MAX: Duration = Duration::from_secs(20);
/// What the process may take at the end beyond what it took at the beginning: allocators keep some, and so does the engine.
const GROWTH_MAX_KIB: u64 = 400 << 10;
/// How long it may take to give back what it took.
const SETTLED_MAX: Duration = Duration::from_secs(60);

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// The columns of the rows, as text. An error ends the test.
fn rows(client: &mut Client, text: &str) -> Vec<Vec<String>> {
    let answers = client.ask(&query(text));
    let errors: Vec<_> =
        answers.iter().filter(|answer| answer.kind == 'E').filter_map(|answer| answer.field('M')).collect();
    assert!(errors.is_empty(), "{text}: {errors:?}");
    assert_eq!(answers.last().map(|answer| answer.kind), Some('Z'), "{text}: the connection is gone");
    let shown = |column: Option<Vec<u8>>| column.map_or("NULL".to_owned(), |text| String::from_utf8(text).unwrap());
    let rows = answers.iter().filter(|answer: &&Answer| answer.kind == 'D');
    rows.map(|row| row.columns().into_iter().map(shown).collect()).collect()
}

/// What a process takes.
#[derive(Clone, Copy, Debug)]
struct Taken {
    memory_kib: u64,
    threads: u64,
    descriptors: u64,
}

impl Taken {
    fn by(process: u32) -> Taken {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        let descriptors = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().count() as u64;
        Taken { memory_kib: field("VmRSS:"), threads: field("Threads:"), descriptors }
    }
}

/// The honest client. Returns how many rows it has, and the longest time that it has waited.
fn be_honest(served: &Served, is_over: &AtomicBool) -> (u64, Duration) {
    let mut client = served.client();
    let (mut count, mut longest) = (0_u64, Duration::ZERO);
    let mut timed = |action: &mut dyn FnMut()| {
        let begun = Instant::now();
        action();
        longest = longest.max(begun.elapsed());
        assert!(longest < LATENCY_MAX, "an answer took {longest:?}");
    };
    while !is_over.load(Ordering::Relaxed) {
        for _ in 0..20 {
            count += 1;
            let insert = format!("INSERT INTO honest VALUES ({count}, 'row {count}') RETURNING id");
            timed(&mut || assert_eq!(rows(&mut client, &insert), [[count.to_string()]]));
            std::thread::sleep(Duration::from_millis(15));
        }
        let sum = format!("SELECT count(*), sum(id), max(note) FROM honest WHERE id > {}", count - 20);
        let expected = [20.to_string(), (20 * count - 190).to_string()];
        timed(&mut || assert_eq!(rows(&mut client, &sum)[0][..2], expected));
        timed(&mut || {
            let found = rows(&mut served.client(), &format!("SELECT note FROM honest WHERE id = {count}"));
            assert_eq!(found, [[format!("row {count}")]]);
        });
    }
    (count, longest)
}

#[track_caller]
fn assert_rows(client: &mut Client, count: u64) {
    let found = rows(client, "SELECT id, note FROM honest ORDER BY id");
    assert_eq!(found.len() as u64, count, "the honest client was told of {count} rows");
    for (row, id) in found.iter().zip(1..) {
        assert_eq!(*row, [id.to_string(), format!("row {id}")]);
    }
}

/// Drops what the hostile clients have made, so that the memory that is left is not for their rows.
fn clear(client: &mut Client) {
    let text = format!(
        "SELECT CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, n.nspname, relname FROM pg_class c \
         JOIN pg_namespace n ON n.oid = relnamespace JOIN pg_roles r ON r.oid = relowner \
         WHERE rolname = '{ROLE}' AND relkind IN ('r', 'v', 'S')"
    );
    for row in rows(client, &text) {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        // One may have gone with another, or be locked by a client that has not gone yet.
        let drop_it = format!("DROP {} IF EXISTS {}.{} CASCADE", row[0], quoted(&row[1]), quoted(&row[2]));
        drop(client.ask(&query(&format!("SET lock_timeout = '2s'; {drop_it}"))));
    }
}

/// Waits until the process has given back what it took.
fn assert_settled(served: &Served, client: &mut Client, before: Taken) {
    let deadline = Instant::now() + SETTLED_MAX;
    loop {
        clear(client);
        let now = Taken::by(served.id());
        let is_settled = now.memory_kib <= before.memory_kib + GROWTH_MAX_KIB
            && now.threads <= before.threads
            && now.descriptors <= before.descriptors;
        if is_settled {
            eprintln!("before: {before:?}, after: {now:?}");
            return;
        }
        assert!(Instant::now() < deadline, "before: {before:?}, after: {now:?}");
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn assert_no_panic(log: &Path) {
    let said = std::fs::read_to_string(log).unwrap();
    let is_bad = said.contains("panicked") || said.contains("overflow") || said.contains("assertion");
    assert!(!is_bad, "the log of the server:\n{}", said.chars().take(8000).collect::<String>());
}

/// Attacks for a while.
fn attack(served: &Served, seed: u64, seconds: u64, seen: &[Seen]) -> (u64, Duration) {
    let (samples, is_over) = (text::samples(), AtomicBool::new(false));
    let until = Instant::now() + Duration::from_secs(seconds);
    let (samples, is_over) = (&samples[..], &is_over);
    std::thread::scope(|scope| {
        let honest = scope.spawn(move || be_honest(served, is_over));
        for (number, seen) in seen.iter().enumerate() {
            let rng = Rng::with_seed(seed.wrapping_add(number as u64));
            let mut attacker = Attacker { port: served.port, rng, samples, seen, until };
            scope.spawn(move || {
                while Instant::now() < until && !is_over.load(Ordering::Relaxed) {
                    attacker.attack();
                }
            });
        }
        let mut janitor = served.client();
        while Instant::now() < until && !honest.is_finished() {
            std::thread::sleep(Duration::from_millis(500).min(until.saturating_duration_since(Instant::now())));
            // Their rows are not what fills the memory.
            if Rng::new().u8(..16) == 0 {
                clear(&mut janitor);
            }
        }
        is_over.store(true, Ordering::Relaxed);
        honest.join().unwrap()
    })
}

#[test]
fn hostile_clients_harm_nobody() {
    let seconds = variable("OSIER_HOSTILE_SECONDS").unwrap_or(10);
    let seed = variable("OSIER_HOSTILE_SEED").unwrap_or_else(|| Rng::new().u64(..1_000_000));
    eprintln!("OSIER_HOSTILE_SEED={seed}");
    let directory = Directory::new();
    let log = directory.join("log");
    let mut served = Served::start_logged(&directory, OPTIONS, &log);
    let mut admin = served.client();
    for text in [
        "CREATE TABLE honest (id bigint PRIMARY KEY, note text NOT NULL)",
        &format!("CREATE ROLE {ROLE} LOGIN"),
        &format!("GRANT CREATE ON SCHEMA public TO {ROLE}"),
    ] {
        rows(&mut admin, text);
    }
    // What a session takes once is not for the hostile ones.
    clear(&mut admin);
    let before = Taken::by(served.id());

    let seen: Vec<Seen> = (0..ATTACKERS).map(|_| Seen::default()).collect();
    let attacked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| attack(&served, seed, seconds, &seen)));
    let is_alive = served.is_alive();
    if attacked.is_err() || !is_alive {
        for seen in &seen {
            eprintln!("the last inputs of one:\n  {}", seen.recent.lock().unwrap().join("\n  "));
        }
    }
    assert_no_panic(&log);
    assert!(is_alive, "the server is gone");
    let (count, longest) = attacked.unwrap();
    let wrong: Vec<String> = seen.iter().flat_map(|seen| std::mem::take(&mut *seen.wrong.lock().unwrap())).collect();
    assert!(wrong.is_empty(), "OSIER_HOSTILE_SEED={seed}: {} answers:\n{}", wrong.len(), wrong.join("\n"));
    let [connections, statements, errors] =
        [0, 1, 2].map(|at| seen.iter().map(|seen| seen.counts.lock().unwrap()[at]).sum::<u64>());
    eprintln!(
        "{connections} connections, {statements} statements, {errors} errors; {count} honest rows, longest wait {longest:?}"
    );
    assert!(connections > 20 && statements > 100 && errors > 50, "nobody was hostile");

    assert_settled(&served, &mut admin, before);
    assert_rows(&mut admin, count);
    drop(served);
    let served = Served::start_logged(&directory, OPTIONS, &log);
    assert_rows(&mut served.client(), count);
    served.signal();
    assert!(served.wait().success());
    assert_no_panic(&log);
}
