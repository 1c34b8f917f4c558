//! What becomes of temporary tables when clients and servers end, in good order or not.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::{Duration, Instant};

use support::Directory;
use support::served::{Answer, Client, Served, query};

const OPTIONS: &str = "--auth trust --no-socket --workers 1";

/// Everything that a session may have: tables with and without rows, a view, and sequences.
const MAKE: &str =
    "CREATE TEMP TABLE t (id serial PRIMARY KEY, n int); CREATE TEMP TABLE u (n int); INSERT INTO t (n) VALUES (1);
    CREATE TEMP VIEW v AS SELECT n FROM t; CREATE TEMP SEQUENCE s";

/// How many temporary objects there are, and whether a schema is left.
const LEFT: &str = "SELECT (SELECT count(*) FROM pg_class WHERE relpersistence = 't'),
    (SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pg\\_temp%')";

fn ask(client: &mut Client, text: &str) -> String {
    let column = |column: Option<Vec<u8>>| column.map_or("NULL".to_owned(), |text| String::from_utf8(text).unwrap());
    let shown = |answer: &Answer| match answer.kind {
        'D' => Some(answer.columns().into_iter().map(column).collect::<Vec<_>>().join("|")),
        'E' => answer.field('C'),
        _ => None,
    };
    client.ask(&query(text)).iter().filter_map(shown).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn until(client: &mut Client, text: &str, expected: &str) {
    let begun = Instant::now();
    while ask(client, text) != expected {
        assert!(begun.elapsed() < Duration::from_secs(30), "{text}: {}", ask(client, text));
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn they_go_with_their_connection() {
    let directory = Directory::new();
    let served = Served::start(&directory, OPTIONS);
    let mut watcher = served.client();
    // `X` is a goodbye; else the socket is closed, within a block or not.
    for (last, says_goodbye) in
        [("SELECT 1", true), ("SELECT 1", false), ("BEGIN; DELETE FROM t; CREATE TEMP TABLE w (a int)", false)]
    {
        let mut client = served.client();
        assert_eq!(ask(&mut client, MAKE), "");
        ask(&mut client, last);
        assert_ne!(ask(&mut watcher, LEFT), "0|0");
        if says_goodbye {
            client.send(&[b'X', 0, 0, 0, 4]);
        }
        drop(client);
        until(&mut watcher, LEFT, "0|0");
    }
    let mut client = served.client();
    assert_eq!(ask(&mut client, "CREATE TEMP TABLE t (a int); SELECT pg_my_temp_schema()::regnamespace"), "pg_temp_1");
}

#[test]
fn a_session_that_has_to_wait_for_its_end_holds_nobody_up() {
    let directory = Directory::new();
    let served = Served::start(&directory, OPTIONS);
    let [mut client, mut writer, mut watcher] = [served.client(), served.client(), served.client()];
    assert_eq!(ask(&mut client, MAKE), "");
    // Views are rows of a table of which this holds locks.
    assert_eq!(ask(&mut writer, "BEGIN; CREATE VIEW p AS SELECT 1 AS a"), "");
    drop(client);
    let begun = Instant::now();
    for _ in 0..20 {
        assert_eq!(ask(&mut watcher, "SELECT 1"), "1");
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
    assert_eq!(ask(&mut writer, "COMMIT"), "");
    until(&mut watcher, LEFT, "0|0");
    assert_eq!(ask(&mut watcher, "SELECT a FROM p"), "1");
}

#[test]
fn what_a_killed_server_leaves_goes_with_its_next_start() {
    for options in ["", "--set protocol=serial", "--set protocol=taurus", "--set cc=mvcc"] {
        let directory = Directory::new();
        let options = format!("{OPTIONS} {options}");
        let served = Served::start(&directory, &options);
        let mut client = served.client();
        assert_eq!(ask(&mut client, "CREATE TABLE p (a int); INSERT INTO p VALUES (5)"), "");
        assert_eq!(ask(&mut client, MAKE), "");
        drop(served);
        let served = Served::start(&directory, &options);
        let mut client = served.client();
        assert_eq!(ask(&mut client, LEFT), "0|0", "{options}");
        assert_eq!(ask(&mut client, "SELECT a FROM p"), "5");
        assert_eq!(ask(&mut client, MAKE), "");
        assert_eq!(ask(&mut client, "SELECT n, nextval('s') FROM v"), "1|1");
        // A server that ends in good order leaves none, or drops them next time.
        served.signal();
        assert!(served.wait().success());
        let served = Served::start(&directory, &options);
        assert_eq!(ask(&mut served.client(), LEFT), "0|0");
    }
}
