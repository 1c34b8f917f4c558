//! What sessions see of each other, and how one ends the statement or the session of another one.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::Directory;
use support::served::{Answer, Client, Served, bind, execute, kinds, parse, query, sync};

/// Runs until it is cancelled.
const SLEEPS: &str = "SELECT pg_sleep(1000)";

fn trusting(directory: &Directory) -> Served {
    Served::start(directory, "--auth trust --no-socket --set cc=2pl --set locking=detect")
}

/// The rows of an answer, with `|` between columns.
fn rows(client: &mut Client, text: &str) -> Vec<String> {
    let answers = client.ask(&query(text));
    let row = |answer: &Answer| {
        let shown =
            |column: Option<Vec<u8>>| column.map_or("NULL".to_owned(), |bytes| String::from_utf8(bytes).unwrap());
        answer.columns().into_iter().map(shown).collect::<Vec<_>>().join("|")
    };
    assert!(!kinds(&answers).contains('E'), "{text}: {:?}", answers[0].field('M'));
    answers.iter().filter(|answer| answer.kind == 'D').map(row).collect()
}

fn number(client: &mut Client) -> String {
    rows(client, "SELECT pg_backend_pid()").remove(0)
}

fn code(answers: &[Answer]) -> Option<String> {
    answers.iter().find(|answer| answer.kind == 'E')?.field('C')
}

fn user(served: &Served, name: &str) -> Client {
    let mut client = served.raw();
    client.start(&[("user", name), ("application_name", "tool of its own")]);
    client.answers();
    client
}

/// Waits until a session is in a state.
fn until(watcher: &mut Client, pid: &str, state: &str) {
    let text = format!("SELECT state FROM pg_stat_activity WHERE pid = {pid}");
    support::eventually(|| rows(watcher, &text) == [state]);
}

#[test]
fn sessions_see_what_others_do() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut watcher = served.client();
    watcher.ask(&query("CREATE ROLE joe LOGIN; CREATE TABLE t (n int)"));
    let mut joe = user(&served, "joe");
    let pid = number(&mut joe);
    let seen = format!(
        "SELECT usename, application_name, state, query, xact_start IS NULL, query_start >= backend_start, \
         state_change >= query_start FROM pg_stat_activity WHERE pid = {pid}"
    );
    let expected = ["joe|tool of its own|idle|SELECT pg_backend_pid()|t|t|t"];
    support::eventually(|| rows(&mut watcher, &seen) == expected);
    joe.send(&query(SLEEPS));
    until(&mut watcher, &pid, "active");
    assert_eq!(rows(&mut watcher, &seen), [format!("joe|tool of its own|active|{SLEEPS}|f|t|t")]);
    assert_eq!(rows(&mut watcher, &format!("SELECT pg_cancel_backend({pid})")), ["t"]);
    assert_eq!(code(&joe.answers()).as_deref(), Some("57014"));
    until(&mut watcher, &pid, "idle");
    joe.ask(&query("BEGIN; SELECT 1"));
    until(&mut watcher, &pid, "idle in transaction");
    joe.ask(&query("SELECT 1 / 0"));
    until(&mut watcher, &pid, "idle in transaction (aborted)");
    joe.ask(&query("ROLLBACK"));
    // A statement that was prepared, and a text that is cut off within a character.
    joe.ask(&[parse("own", "SELECT 'prepared'"), sync()].concat());
    joe.ask(&[bind("", "own"), execute("", 0), sync()].concat());
    let last = format!("SELECT query FROM pg_stat_activity WHERE pid = {pid}");
    assert_eq!(rows(&mut watcher, &last), ["SELECT 'prepared'"]);
    let long = format!("SELECT '{}' AS x", "ä".repeat(600));
    joe.ask(&query(&long));
    support::eventually(|| rows(&mut watcher, &last) == [long[..1022].to_owned()]);
    // Others see who there is, and not what they do.
    let own = number(&mut watcher);
    let hidden = format!("SELECT usename, state, query, query_start FROM pg_stat_activity WHERE pid = {own}");
    assert_eq!(rows(&mut joe, &hidden), ["osier|NULL|<insufficient privilege>|NULL"]);
    drop(joe);
    let count = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}");
    support::eventually(|| rows(&mut watcher, &count) == ["0"]);
}

#[test]
fn one_ends_the_statement_of_another() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut admin = served.client();
    admin.ask(&query("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)"));
    admin.ask(&query("BEGIN; UPDATE t SET n = 1"));
    let mut other = served.client();
    let pid = number(&mut other);
    let cancel = format!("SELECT pg_cancel_backend({pid})");
    // It waits for a lock, and it computes.
    for text in ["UPDATE t SET n = 2 WHERE id = 1", SLEEPS, "SELECT count(*) FROM generate_series(1, 1000000000000)"] {
        other.send(&query(text));
        until(&mut admin, &pid, "active");
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(rows(&mut admin, &cancel), ["t"], "{text}");
        assert_eq!(code(&other.answers()).as_deref(), Some("57014"), "{text}");
        until(&mut admin, &pid, "idle");
    }
    // What comes next does not suffer.
    assert_eq!(rows(&mut admin, &cancel), ["t"]);
    assert_eq!(rows(&mut other, "SELECT 1"), ["1"]);
    let unknown = admin.ask(&query("SELECT pg_cancel_backend(123456)"));
    let warning = unknown.iter().find(|answer| answer.kind == 'N').and_then(|answer| answer.field('M'));
    assert_eq!(warning.as_deref(), Some("PID 123456 is not a PostgreSQL server process"));
    assert_eq!(rows(&mut admin, "SELECT pg_terminate_backend(NULL)"), ["NULL"]);
}

#[test]
fn one_ends_the_session_of_another() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut admin = served.client();
    admin.ask(&query("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)"));
    // It is idle, in a block, computes, waits for data.
    let cases = [
        "SELECT 1",
        "BEGIN; UPDATE t SET n = n + 1 WHERE id = 1",
        SLEEPS,
        "BEGIN; UPDATE t SET n = n + 1 WHERE id = 1; SELECT count(*) FROM generate_series(1, 1000000000000)",
        "COPY t FROM STDIN",
    ];
    for text in cases {
        let mut other = served.client();
        let pid = number(&mut other);
        other.send(&query(text));
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(rows(&mut admin, &format!("SELECT pg_terminate_backend({pid}, 10000)")), ["t"], "{text}");
        let mut last = None;
        while let Some(answer) = other.answer() {
            last = Some(answer);
        }
        let last = last.unwrap();
        assert_eq!((last.kind, last.field('C').as_deref()), ('E', Some("57P01")), "{text}");
        assert_eq!(
            rows(&mut admin, &format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}")),
            ["0"],
            "{text}"
        );
        // Its locks are free, and what was not committed is not there.
        assert_eq!(rows(&mut admin, "UPDATE t SET n = n WHERE id = 1 RETURNING n"), ["0"], "{text}");
    }
}

#[test]
fn only_those_who_may_end_what_others_do() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut admin = served.client();
    admin.ask(&query("CREATE ROLE joe LOGIN; CREATE ROLE jim LOGIN; CREATE ROLE team LOGIN; GRANT team TO jim"));
    let (mut joe, mut jim, mut team) = (user(&served, "joe"), user(&served, "jim"), user(&served, "team"));
    let (pid, own) = (number(&mut team), number(&mut admin));
    for function in ["pg_cancel_backend", "pg_terminate_backend"] {
        assert_eq!(code(&joe.ask(&query(&format!("SELECT {function}({pid})")))).as_deref(), Some("42501"));
        assert_eq!(code(&jim.ask(&query(&format!("SELECT {function}({own})")))).as_deref(), Some("42501"));
    }
    assert_eq!(rows(&mut team, "SELECT 1"), ["1"]);
    assert_eq!(rows(&mut jim, &format!("SELECT pg_cancel_backend({pid})")), ["t"]);
    assert_eq!(rows(&mut team, "SELECT 1"), ["1"]);
    assert_eq!(rows(&mut jim, &format!("SELECT pg_terminate_backend({pid})")), ["t"]);
    assert_eq!(team.answer().unwrap().field('C').as_deref(), Some("57P01"));
    assert_eq!(rows(&mut admin, "SELECT 1"), ["1"]);
}
