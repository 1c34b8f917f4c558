//! Advisory locks between clients: who waits, what ends a wait, what a client that is gone leaves behind, and circles.
//!
//! A test that needs somebody to wait looks into `pg_locks` until it does: nothing rests on how long something takes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::{Duration, Instant};

use support::Directory;
use support::served::{Answer, Client, Served, query};

/// How rows are kept apart, and what is said of circles.
const SERVERS: [&str; 6] = [
    "",
    "--set cc=optimistic",
    "--set cc=mvcc",
    "--set locking=wound-wait",
    "--set locking=wait-die",
    "--set locking=no-wait",
];

fn served(options: &str) -> (Directory, Served) {
    let directory = Directory::new();
    let served = Served::start(&directory, &format!("--auth trust --no-socket --workers 1 {options}"));
    (directory, served)
}

/// What was answered: the rows, or the code of the error.
fn shown(answers: &[Answer]) -> String {
    let column = |column: Option<Vec<u8>>| column.map_or("NULL".to_owned(), |text| String::from_utf8(text).unwrap());
    let mut lines = Vec::new();
    for answer in answers {
        match answer.kind {
            'D' => lines.push(answer.columns().into_iter().map(column).collect::<Vec<_>>().join("|")),
            'E' => lines.push(answer.field('C').unwrap()),
            _ => {}
        }
    }
    lines.join(" ")
}

fn ask(client: &mut Client, text: &str) -> String {
    shown(&client.ask(&query(text)))
}

#[track_caller]
fn expect(client: &mut Client, text: &str, expected: &str) {
    assert_eq!(ask(client, text), expected, "{text}");
}

/// Sends a statement that is to wait, and returns when so many clients wait.
#[track_caller]
fn wait(client: &mut Client, text: &str, watcher: &mut Client, waiting: usize) {
    client.send(&query(text));
    until(watcher, "SELECT count(*) FROM pg_locks WHERE NOT granted", &waiting.to_string());
}

/// Asks until it is so.
#[track_caller]
fn until(client: &mut Client, text: &str, expected: &str) {
    let begun = Instant::now();
    while ask(client, text) != expected {
        assert!(begun.elapsed() < Duration::from_secs(30), "{text}: {}", ask(client, text));
        std::thread::sleep(Duration::from_millis(2));
    }
}

const HELD: &str = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";

/// One thread serves them all: who waits holds none.
#[test]
fn who_waits_gets_the_lock_in_turn() {
    for options in SERVERS {
        let (_directory, served) = served(options);
        let mut clients: Vec<Client> = (0..5).map(|_| served.client()).collect();
        let mut watcher = served.client();
        expect(&mut clients[0], "SELECT pg_advisory_lock(1), 0", "|0");
        for (at, client) in clients.iter_mut().enumerate().skip(1) {
            wait(client, &format!("SELECT pg_advisory_lock(1), {at}"), &mut watcher, at);
            expect(&mut watcher, "SELECT pg_try_advisory_lock(1), pg_try_advisory_lock_shared(1)", "f|f");
        }
        for at in 1..5 {
            expect(&mut clients[at - 1], "SELECT pg_advisory_unlock(1)", "t");
            assert_eq!(shown(&clients[at].answers()), format!("|{at}"), "{options}");
            expect(&mut watcher, "SELECT count(*) FROM pg_locks WHERE NOT granted", &(4 - at).to_string());
        }
        expect(&mut watcher, "SELECT mode, granted, pid <> pg_backend_pid() FROM pg_locks", "ExclusiveLock|t|t");
    }
}

#[test]
fn sharers_wait_behind_who_wants_it_alone() {
    let (_directory, served) = served("");
    let [mut one, mut two, mut alone, mut late, mut watcher] = std::array::from_fn(|_| served.client());
    for client in [&mut one, &mut two] {
        expect(client, "SELECT pg_advisory_lock_shared(1, 2), 1", "|1");
    }
    wait(&mut alone, "BEGIN; SELECT pg_advisory_xact_lock(1, 2), 2", &mut watcher, 1);
    expect(&mut watcher, "SELECT pg_try_advisory_lock_shared(1, 2)", "f");
    // Who has it already takes it again at once.
    expect(&mut one, "SELECT pg_advisory_lock_shared(1, 2), pg_advisory_unlock_shared(1, 2)", "|t");
    wait(&mut late, "SELECT pg_advisory_lock_shared(1, 2), 3", &mut watcher, 2);
    expect(&mut one, "SELECT pg_advisory_unlock_shared(1, 2)", "t");
    expect(&mut watcher, "SELECT count(*) FROM pg_locks WHERE NOT granted", "2");
    // A savepoint does not free what the transaction holds from before it.
    expect(&mut two, "SELECT pg_advisory_unlock_shared(1, 2)", "t");
    assert_eq!(shown(&alone.answers()), "|2");
    expect(&mut alone, "SAVEPOINT a; SELECT pg_advisory_xact_lock(1, 2), 0; ROLLBACK TO SAVEPOINT a", "|0");
    expect(&mut watcher, "SELECT count(*) FROM pg_locks WHERE NOT granted", "1");
    expect(&mut alone, "COMMIT", "");
    assert_eq!(shown(&late.answers()), "|3");
    // Two that share it and both want it alone wait for each other: one of them is told.
    expect(&mut one, "SELECT pg_advisory_lock_shared(1, 2), 4", "|4");
    wait(&mut late, "SELECT pg_advisory_lock(1, 2), 5", &mut watcher, 1);
    let second = ask(&mut one, "SELECT pg_advisory_lock(1, 2), 6");
    assert_eq!(second, "40P01", "who came last");
    expect(&mut one, "SELECT pg_advisory_unlock_shared(1, 2)", "t");
    assert_eq!(shown(&late.answers()), "|5");
    expect(&mut late, "SELECT pg_advisory_unlock(1, 2), pg_advisory_unlock_shared(1, 2)", "t|t");
    expect(&mut watcher, HELD, "0");
}

/// A shared lock is left when the exclusive one is given back: those who share it come through.
#[test]
fn to_share_lets_others_share() {
    let (_directory, served) = served("");
    let [mut one, mut other, mut watcher] = std::array::from_fn(|_| served.client());
    expect(&mut one, "SELECT pg_advisory_lock_shared(1), pg_advisory_lock(1)", "|");
    wait(&mut other, "SELECT pg_advisory_lock_shared(1), 1", &mut watcher, 1);
    expect(&mut one, "SELECT pg_advisory_unlock(1)", "t");
    assert_eq!(shown(&other.answers()), "|1");
    expect(&mut watcher, "SELECT mode, granted FROM pg_locks", "ShareLock|t ShareLock|t");
}

#[test]
fn a_wait_ends_in_time_or_when_it_is_cancelled() {
    for options in SERVERS {
        let (_directory, served) = served(options);
        let [mut holder, mut client, mut watcher] = std::array::from_fn(|_| served.client());
        expect(&mut holder, "SELECT pg_advisory_lock(1), 1", "|1");
        expect(&mut client, "SET statement_timeout = 50", "");
        expect(&mut client, "SELECT pg_advisory_lock(1)", "57014");
        expect(&mut client, "SELECT pg_advisory_lock_shared(1)", "57014");
        expect(&mut client, "RESET statement_timeout; SET lock_timeout = 50", "");
        expect(&mut client, "SELECT pg_advisory_lock(1)", "55P03");
        // The transaction of the session itself, a savepoint of which brings it back.
        expect(&mut client, "BEGIN; SAVEPOINT a; SELECT pg_advisory_xact_lock(1)", "55P03");
        expect(&mut client, "ROLLBACK TO SAVEPOINT a; SELECT pg_advisory_xact_lock(2), 2; COMMIT", "|2");
        expect(&mut client, "RESET lock_timeout", "");
        wait(&mut client, "SELECT pg_advisory_lock(1)", &mut watcher, 1);
        served.cancel(&client);
        assert_eq!(shown(&client.answers()), "57014", "{options}");
        expect(&mut watcher, HELD, "1");
        expect(&mut holder, "SELECT pg_advisory_unlock(1)", "t");
        expect(&mut client, "SELECT pg_advisory_lock(1), 3", "|3");
    }
}

/// Who sleeps holds no thread, and is woken when the statement is to end.
#[test]
fn who_sleeps_holds_nobody_up() {
    let (_directory, served) = served("");
    let [mut one, mut other] = std::array::from_fn(|_| served.client());
    let begun = Instant::now();
    expect(&mut one, "SET statement_timeout = 50; SELECT pg_sleep(600)", "57014");
    expect(&mut one, "SET statement_timeout = 0; BEGIN", "");
    one.send(&query("SELECT pg_advisory_xact_lock(7), pg_sleep(600)"));
    until(&mut other, "SELECT count(*) FROM pg_locks WHERE granted", "1");
    served.cancel(&one);
    assert_eq!(shown(&one.answers()), "57014");
    expect(&mut one, "ROLLBACK; SELECT 2", "2");
    assert!(begun.elapsed() < Duration::from_secs(300), "nobody slept");
}

#[test]
fn a_client_that_is_gone_holds_nothing() {
    let (_directory, served) = served("--idle-timeout 1000");
    let mut watcher = served.client();
    let keep_alive = |watcher: &mut Client| until(watcher, HELD, "0");
    // It says goodbye, or it does not; in a block, or not.
    for (text, farewell) in [
        ("SELECT pg_advisory_lock(1)", &b"X\0\0\0\x04"[..]),
        ("SELECT pg_advisory_lock(1)", b""),
        ("BEGIN; SELECT pg_advisory_lock(1), pg_advisory_xact_lock(2)", b""),
        ("BEGIN; SELECT pg_advisory_xact_lock(2); SELECT 1 / 0", b""),
    ] {
        let mut client = served.client();
        client.ask(&query(text));
        client.send(farewell);
        drop(client);
        keep_alive(&mut watcher);
    }
    // It has waited, and gets the lock when it is gone.
    let [mut holder, mut gone] = std::array::from_fn(|_| served.client());
    expect(&mut holder, "SELECT pg_advisory_lock(1), 1", "|1");
    wait(&mut gone, "SELECT pg_advisory_lock(1)", &mut watcher, 1);
    drop(gone);
    drop(holder);
    keep_alive(&mut watcher);
    // It falls silent.
    let mut silent = served.client();
    expect(&mut silent, "SET idle_session_timeout = 100; SELECT pg_advisory_lock(1), 1", "|1");
    keep_alive(&mut watcher);
    assert_eq!(silent.answer().and_then(|end| end.field('C')).as_deref(), Some("57P05"));
}

/// Each holds a lock and wants that of the other one: one is told, and the other one goes on.
#[test]
fn a_circle_of_advisory_locks_is_found() {
    for options in SERVERS {
        let (_directory, served) = served(options);
        for (how, end) in [("xact_lock", "COMMIT"), ("lock", "SELECT pg_advisory_unlock_all()")] {
            let [mut one, mut other, mut watcher] = std::array::from_fn(|_| served.client());
            let begin = if how == "xact_lock" { "BEGIN; " } else { "" };
            expect(&mut one, &format!("{begin}SELECT pg_advisory_{how}(1), 1"), "|1");
            expect(&mut other, &format!("{begin}SELECT pg_advisory_{how}(2), 2"), "|2");
            wait(&mut one, &format!("SELECT pg_advisory_{how}(2), 3"), &mut watcher, 1);
            other.send(&query(&format!("SELECT pg_advisory_{how}(1), 4")));
            // Whoever is told gives back what it holds, and so does the other one that has got it.
            let finish = |client: &mut Client| {
                let told = shown(&client.answers());
                let after = ask(client, "SELECT 1");
                assert_eq!(after, if told == "40P01" && how == "xact_lock" { "25P02" } else { "1" });
                ask(client, end);
                told
            };
            let told = std::thread::scope(|scope| {
                let waiting = [&mut one, &mut other].map(|client| scope.spawn(|| finish(client)));
                waiting.map(|waiting| waiting.join().unwrap())
            });
            let is_good = told == ["40P01", "|4"] || told == ["|3", "40P01"];
            assert!(is_good, "{options}: {told:?}");
            until(&mut watcher, HELD, "0");
        }
    }
}

/// A row in one direction and an advisory lock in the other one, whichever wait closes the circle.
#[test]
fn a_circle_with_rows_is_found() {
    for options in ["", "--set locking=wound-wait", "--set locking=wait-die"] {
        let (_directory, served) = served(options);
        let [mut rows, mut locks, mut watcher] = std::array::from_fn(|_| served.client());
        expect(&mut rows, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)", "");
        for (how, end) in [("xact_lock", ""), ("lock", "SELECT pg_advisory_unlock(1)")] {
            // The row is waited for last.
            expect(&mut rows, "BEGIN; UPDATE t SET v = v + 1 WHERE id = 1", "");
            expect(&mut locks, &format!("BEGIN; SELECT pg_advisory_{how}(1), 1"), "|1");
            wait(&mut rows, &format!("SELECT pg_advisory_{how}(1), 2"), &mut watcher, 1);
            locks.send(&query("UPDATE t SET v = v + 1 WHERE id = 1"));
            let told = shown(&locks.answers());
            if told.is_empty() {
                // The other one was chosen, and has given the row back.
                let other = shown(&rows.answers());
                assert!(["40P01", "40001"].contains(&&*other), "{options}: {other}");
                expect(&mut locks, "COMMIT", "");
                ask(&mut rows, "ROLLBACK");
            } else {
                assert!(["40P01", "40001"].contains(&&*told), "{options}: {told}");
                expect(&mut locks, "ROLLBACK", "");
                ask(&mut locks, end);
                assert_eq!(shown(&rows.answers()), "|2", "{options}");
                expect(&mut rows, "COMMIT", "");
            }
            [&mut rows, &mut locks].into_iter().for_each(|client| drop(ask(client, "SELECT pg_advisory_unlock_all()")));
            until(&mut watcher, HELD, "0");
        }
    }
}

/// The statement that is run again after a conflict counts what it takes once.
#[test]
fn what_is_run_again_counts_once() {
    for options in ["", "--set cc=optimistic", "--set cc=mvcc", "--set locking=no-wait"] {
        let (_directory, served) = served(options);
        let mut clients: Vec<Client> = (0..4).map(|_| served.client()).collect();
        expect(&mut clients[0], "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)", "");
        let text = "UPDATE t SET v = v + 1 WHERE id = 1 RETURNING pg_advisory_lock_shared(7), 1";
        for _ in 0..100 {
            clients.iter_mut().for_each(|client| client.send(&query(text)));
            let done: Vec<String> = clients.iter_mut().map(|client| shown(&client.answers())).collect();
            for (client, done) in clients.iter_mut().zip(done) {
                let held = done == "|1";
                assert!(held || done == "40001", "{options}: {done}");
                expect(
                    client,
                    "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()",
                    if held { "1" } else { "0" },
                );
                if held {
                    expect(client, "SELECT pg_advisory_unlock_shared(7), pg_advisory_unlock_shared(7)", "t|f");
                }
            }
        }
        expect(&mut clients[0], HELD, "0");
    }
}
