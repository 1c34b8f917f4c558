//! Loads by `COPY` that are so large that another thread takes their data apart: they go as small ones do.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fmt::Write;

use support::served::{Answer, Client, Served, kinds, message, query};
use support::{Directory, eventually};

/// So many rows of [`row`] are some megabytes.
const ROWS: u32 = 6_000;
/// What clients send in one message.
const MESSAGE_BYTES: usize = 8_000;

const TABLE: &str = "CREATE TABLE t (n int PRIMARY KEY, x text, y bigint)";

fn started(directory: &Directory) -> (Served, Client) {
    let served = Served::start(directory, "--auth trust --no-socket");
    let mut client = served.client();
    assert_eq!(kinds(&client.ask(&query(TABLE))), "CZ");
    (served, client)
}

fn row(number: u32) -> String {
    format!("{number}\t{}\t{}\n", "x".repeat(500), i64::from(number) << 32)
}

/// The rows from `first` on; `odd` may give another one in the place of one.
fn rows(first: u32, odd: impl Fn(u32) -> Option<String>) -> String {
    (first..first + ROWS).map(|number| odd(number).unwrap_or_else(|| row(number))).collect()
}

fn begin(client: &mut Client, text: &str) {
    client.send(&query(text));
    assert_eq!(client.answer().unwrap().kind, 'G');
}

fn send(client: &mut Client, data: &str) -> bool {
    data.as_bytes().chunks(MESSAGE_BYTES).all(|bytes| client.try_send(&message(b'd', bytes)))
}

fn load(client: &mut Client, text: &str, data: &str) -> Vec<Answer> {
    begin(client, text);
    assert!(send(client, data));
    client.ask(&message(b'c', b""))
}

fn value(client: &mut Client, text: &str) -> String {
    let answers = client.ask(&query(text));
    assert_eq!(kinds(&answers), "TDCZ", "{text}: {answers:?}");
    String::from_utf8(answers[1].columns()[0].clone().unwrap()).unwrap()
}

fn count(client: &mut Client) -> u32 {
    value(client, "SELECT count(*) FROM t").parse().unwrap()
}

#[test]
fn an_error_in_the_middle_names_its_line_and_leaves_nothing() {
    let directory = Directory::new();
    let (_served, mut client) = started(&directory);
    let at = ROWS - 100;
    let column = format!("COPY t, line {}, column n: \"none\"", at + 1);
    let line = format!("COPY t, line {}", at + 1);
    let short = format!("COPY, line {}", at + 1);
    for (odd, code, place) in [
        ("none\tx\t1\n".to_owned(), "22P02", &column),
        (format!("{at}\tx\n"), "22P04", &line),
        (format!("{at}\tx\t1\t2\n"), "22P04", &line),
        (row(7), "23505", &line),
        (format!("{at}\tx\r\t1\n"), "22P04", &short),
    ] {
        let data = rows(0, |number| (number == at).then(|| odd.clone()));
        let answers = load(&mut client, "COPY t FROM STDIN", &data);
        assert_eq!(kinds(&answers), "EZ", "{odd:?}");
        assert_eq!(answers[0].field('C').as_deref(), Some(code), "{odd:?}");
        assert_eq!(answers[0].field('W').as_ref(), Some(place), "{odd:?}");
        assert_eq!(count(&mut client), 0);
    }
    assert_eq!(load(&mut client, "COPY t FROM STDIN", &rows(0, |_| None))[0].body, format!("COPY {ROWS}\0").as_bytes());
    assert_eq!(count(&mut client), ROWS);
}

#[test]
fn a_client_that_waits_is_told_of_the_error_in_what_it_sent_last() {
    let directory = Directory::new();
    let (_served, mut client) = started(&directory);
    begin(&mut client, "COPY t FROM STDIN");
    assert!(send(&mut client, &rows(0, |_| None)));
    client.send(&message(b'd', b"none\tx\t1\n"));
    let answers = client.answers();
    assert_eq!((kinds(&answers).as_str(), answers[0].field('C').as_deref()), ("EZ", Some("22P02")));
    assert_eq!(count(&mut client), 0);
}

#[test]
fn a_load_is_cancelled_given_up_and_left_in_the_middle() {
    let directory = Directory::new();
    let (served, mut client) = started(&directory);
    begin(&mut client, "COPY t FROM STDIN");
    assert!(send(&mut client, &rows(0, |_| None)));
    served.cancel(&client);
    assert!(send(&mut client, &rows(ROWS, |_| None)));
    let answers = client.ask(&message(b'c', b""));
    assert_eq!((kinds(&answers).as_str(), answers[0].field('C').as_deref()), ("EZ", Some("57014")));

    begin(&mut client, "COPY t FROM STDIN");
    assert!(send(&mut client, &rows(0, |_| None)));
    assert_eq!(kinds(&client.ask(&message(b'f', b"enough\0"))), "EZ");
    assert_eq!(count(&mut client), 0);

    let mut other = served.client();
    begin(&mut other, "COPY t FROM STDIN");
    assert!(send(&mut other, &rows(0, |_| None)));
    drop(other);
    // Its locks are gone, too.
    eventually(|| kinds(&client.ask(&query("INSERT INTO t VALUES (1), (2)"))) == "CZ");
    assert_eq!(count(&mut client), 2);
}

#[test]
fn a_statement_takes_no_longer_than_it_may() {
    let directory = Directory::new();
    let (_served, mut client) = started(&directory);
    client.ask(&query("SET statement_timeout = '300ms'"));
    begin(&mut client, "COPY t FROM STDIN");
    assert!(send(&mut client, &rows(0, |_| None)));
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(send(&mut client, &rows(ROWS, |_| None)));
    let answers = client.ask(&message(b'c', b""));
    assert_eq!((kinds(&answers).as_str(), answers[0].field('C').as_deref()), ("EZ", Some("57014")));
    assert_eq!(count(&mut client), 0);
}

#[test]
fn a_kill_in_the_middle_leaves_nothing() {
    let directory = Directory::new();
    let (served, mut client) = started(&directory);
    assert_eq!(kinds(&load(&mut client, "COPY t FROM STDIN", &rows(0, |_| None))), "CZ");
    begin(&mut client, "COPY t FROM STDIN");
    assert!(send(&mut client, &rows(ROWS, |_| None)));
    served.kill();
    served.wait();
    let served = Served::start(&directory, "--auth trust --no-socket");
    assert_eq!(count(&mut served.client()), ROWS);
}

#[test]
fn unusual_values_stand_between_plain_ones() {
    let directory = Directory::new();
    let (_served, mut client) = started(&directory);
    client.ask(&query("CREATE TABLE expected (n int PRIMARY KEY, x text, y bigint)"));
    let odd = |number: u32| match number % 7 {
        0 => Some(format!("{number}\t\\N\t\\N\n")),
        1 => Some(format!("  {number}\ta\\tb\\\\c\\\n{}\\x41\t-{number}\n", "é".repeat(300))),
        2 => Some(format!("{number}\t\t+{number}\n")),
        _ => None,
    };
    let data = rows(0, odd);
    assert!(data.len() > 2 << 20, "it is a large load");
    assert_eq!(kinds(&load(&mut client, "COPY t FROM STDIN", &data)), "CZ");
    let text = |number: u32| match number % 7 {
        0 => "NULL, NULL".to_owned(),
        1 => format!("'a\tb\\c\n{}A', -{number}", "é".repeat(300)),
        2 => format!("'', {number}"),
        _ => format!("'{}', {}", "x".repeat(500), i64::from(number) << 32),
    };
    for first in (0..ROWS).step_by(1_000) {
        let mut insert = "INSERT INTO expected VALUES ".to_owned();
        (first..first + 1_000).for_each(|number| write!(insert, "({number}, {}), ", text(number)).unwrap());
        assert_eq!(kinds(&client.ask(&query(insert.trim_end_matches(", ")))), "CZ");
    }
    let differ = "SELECT count(*) FROM (SELECT * FROM t EXCEPT SELECT * FROM expected) d";
    assert_eq!((count(&mut client), value(&mut client, differ)), (ROWS, "0".to_owned()));

    // The same as CSV, with lines within fields.
    client.ask(&query("DELETE FROM t"));
    let csv: String = (0..ROWS)
        .map(|number| match number % 7 {
            0 => format!("{number},,\n"),
            1 => format!("{number},\"a\tb\\c\n{}A\",-{number}\n", "é".repeat(300)),
            2 => format!("{number},\"\",{number}\n"),
            _ => format!("{number},{},{}\n", "x".repeat(500), i64::from(number) << 32),
        })
        .collect();
    assert_eq!(kinds(&load(&mut client, "COPY t FROM STDIN (FORMAT csv)", &csv)), "CZ");
    assert_eq!((count(&mut client), value(&mut client, differ)), (ROWS, "0".to_owned()));
}

#[test]
fn loads_stand_in_blocks_with_savepoints() {
    let directory = Directory::new();
    let (_served, mut client) = started(&directory);
    assert_eq!(kinds(&client.ask(&query("BEGIN"))), "CZ");
    assert_eq!(kinds(&load(&mut client, "COPY t FROM STDIN", &rows(0, |_| None))), "CZ");
    for end in ["none\tx\t1\n".to_owned(), row(3), String::new()] {
        assert_eq!(kinds(&client.ask(&query("SAVEPOINT s"))), "CZ");
        let answers = load(&mut client, "COPY t FROM STDIN", &(rows(ROWS, |_| None) + &end));
        assert_eq!(kinds(&answers), if end.is_empty() { "CZ" } else { "EZ" });
        assert_eq!(kinds(&client.ask(&query("ROLLBACK TO s"))), "CZ");
        assert_eq!(count(&mut client), ROWS);
    }
    assert_eq!(kinds(&load(&mut client, "COPY t FROM STDIN", &rows(2 * ROWS, |_| None))), "CZ");
    assert_eq!(kinds(&client.ask(&query("COMMIT"))), "CZ");
    let all = value(&mut client, "SELECT count(*) || ' ' || min(n) || ' ' || max(n) FROM t");
    assert_eq!(all, format!("{} 0 {}", 2 * ROWS, 3 * ROWS - 1));
}
