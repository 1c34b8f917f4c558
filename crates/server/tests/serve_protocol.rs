//! The protocol of `osier serve`, spoken with bytes of one's own and with a client library.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::{Duration, Instant};

use support::served::{Answer, Client, Served, bind, bind_one, describe, execute, kinds, message, parse, query, sync};
use support::{Directory, fails};
use tokio_postgres::NoTls;

/// Statements with an effect that the tests need.
mod statements {
    /// Returns five rows with an integer.
    pub const FIVE_ROWS: &str = "SELECT x FROM generate_series(1, 5) x";
    /// Returns so many rows that they take more than 16 MiB.
    pub const MANY_ROWS: (&str, usize) = ("SELECT generate_series(1, 2000000)", 2_000_000);
    /// Returns its parameter, an integer.
    pub const PARAMETER: &str = "SELECT $1::int4";
    /// Fails with 22012.
    pub const FAILS: &str = "SELECT 1 / 0";
    /// Runs until it is cancelled.
    pub const SLEEPS: &str = "SELECT count(*) FROM generate_series(1, 1000000000000)";
    /// Runs for half a second or so.
    pub const NAPS: &str = "SELECT count(*) FROM generate_series(1, 3000000)";
    /// Makes what takes data.
    pub const TABLE: &str = "CREATE TABLE t (n int)";
    /// Takes data.
    pub const COPY_IN: &str = "COPY t FROM STDIN";
    /// Writes two lines.
    pub const COPY_OUT: &str = "COPY (VALUES (1), (2)) TO STDOUT";
}

use statements::{COPY_IN, COPY_OUT, FAILS, FIVE_ROWS, MANY_ROWS, NAPS, PARAMETER, SLEEPS, TABLE};

fn trusting(directory: &Directory) -> Served {
    Served::start(directory, "--auth trust --no-socket")
}

#[test]
fn a_session_begins_with_what_clients_want_to_know() {
    let directory = Directory::new();
    let served = trusting(&directory);
    assert!(served.line.contains(&format!("psql -h 127.0.0.1 -p {} -U osier osier", served.port)), "{}", served.line);
    let mut client = served.raw();
    client.start(&[("user", "osier"), ("application_name", "tests"), ("options", "-c extra_float_digits=1")]);
    let answers = client.answers();
    assert!(kinds(&answers).starts_with("RSS") && kinds(&answers).ends_with("SKZ"), "{}", kinds(&answers));
    let told: Vec<_> = answers.iter().map(|answer| String::from_utf8_lossy(&answer.body).into_owned()).collect();
    for setting in
        ["server_version\x0015.8 (Osier", "integer_datetimes\0on", "application_name\0tests", "TimeZone\0UTC"]
    {
        assert!(told.iter().any(|told| told.starts_with(setting)), "{setting}: {told:?}");
    }
    assert_eq!(answers.last().unwrap().body, b"I");
    let selected = client.ask(&query("SELECT 1"));
    assert_eq!(kinds(&selected), "TDCZ");
    assert_eq!(selected[1].columns(), [Some(b"1".to_vec())]);
    assert_eq!(selected[2].body, b"SELECT 1\0");
    assert_eq!(kinds(&client.ask(&query(" ; "))), "IZ");
    client.send(&message(b'X', b""));
    assert_eq!(client.answer(), None);
}

#[test]
fn the_start_is_negotiated() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut client = served.raw();
    client.send(&[0, 0, 0, 8, 4, 210, 22, 48]);
    assert_eq!(client.byte(), b'N', "no encryption by GSSAPI");
    client.send(&[0, 0, 0, 8, 4, 210, 22, 47]);
    assert_eq!(client.byte(), b'N', "no TLS without a certificate");
    client.start_version(3 << 16 | 9999, &[("user", "osier"), ("_pq_.compression", "on")]);
    let answers = client.answers();
    assert_eq!(answers[0].kind, 'v');
    assert_eq!(answers[0].body, b"\0\x03\0\x02\0\0\0\x01_pq_.compression\0");
    let key = answers.iter().find(|answer| answer.kind == 'K').unwrap();
    assert_eq!(key.body.len(), 4 + 32, "version 3.2 has long secrets");

    for (parameters, code) in [
        (&[("user", "nobody")][..], "28000"),
        (&[("database", "osier")], "28000"),
        (&[("user", "osier"), ("replication", "true")], "0A000"),
        (&[("user", "osier"), ("client_encoding", "LATIN1")], "0A000"),
        (&[("user", "osier"), ("options", "-x")], "42601"),
        (&[("user", "osier"), ("nosuch", "1")], "42704"),
    ] {
        let mut client = served.raw();
        client.start(parameters);
        let last = client.answers().pop().unwrap();
        assert_eq!((last.kind, last.field('C').as_deref()), ('E', Some(code)), "{parameters:?}");
        assert_eq!(last.field('S').as_deref(), Some("FATAL"));
    }
}

#[test]
fn a_failing_statement_ends_its_text() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut client = served.client();
    let answers = client.ask(&query(&format!("SELECT 1; {FAILS}; SELECT 2")));
    assert_eq!(kinds(&answers), "TDCEZ");
    assert_eq!(answers[3].field('C').as_deref(), Some("22012"));
    assert_eq!(answers[3].field('V').as_deref(), Some("ERROR"));
    assert_eq!(client.ask(&query("BEGIN"))[1].body, b"T");
    assert_eq!(client.ask(&query(FAILS))[1].body, b"E");
    assert_eq!(client.ask(&query("SELECT 1"))[0].field('C').as_deref(), Some("25P02"));
    assert_eq!(client.ask(&query("ROLLBACK"))[1].body, b"I");
    assert_eq!(client.ask(&message(b'F', b"\0\0\0\x01"))[0].field('C').as_deref(), Some("0A000"));
}

#[test]
fn a_portal_is_fetched_by_pieces() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut client = served.client();
    let begin = [query("BEGIN"), parse("s", FIVE_ROWS), bind("p", "s"), describe('P', "p"), execute("p", 2)].concat();
    client.send(&[begin, execute("p", 2), execute("p", 2), execute("p", 0), sync()].concat());
    assert_eq!(kinds(&client.answers()), "CZ");
    let answers = client.answers();
    assert_eq!(kinds(&answers), "12TDDsDDsDCCZ");
    assert_eq!(answers[10].body, b"SELECT 1\0");
    assert_eq!(answers[11].body, b"SELECT 0\0", "nothing is left");
    client.ask(&query("ROLLBACK"));
    let answers = client.ask(&[bind("p", "s"), sync(), execute("p", 0), sync()].concat());
    assert_eq!(kinds(&answers), "2Z");
    let answers = client.answers();
    assert_eq!(kinds(&answers), "EZ");
    assert_eq!(answers[0].field('C').as_deref(), Some("34000"), "portals end with their transaction");
}

/// What PostgreSQL 15 answers to an execution of a portal that is over, or whose statement was closed.
#[test]
fn portals_that_are_over_give_nothing() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut client = served.client();
    client.ask(&query("CREATE TABLE t (i int)"));
    let twice = |text: &str| [parse("", text), bind("p", ""), execute("p", 0), execute("p", 0), sync()].concat();
    let tags = |answers: &[Answer]| {
        let of = |answer: &Answer| String::from_utf8_lossy(&answer.body).trim_end_matches('\0').to_owned();
        answers.iter().filter(|answer| answer.kind == 'C').map(of).collect::<Vec<_>>()
    };
    assert_eq!(tags(&client.ask(&twice("SELECT 1 WHERE false"))), ["SELECT 0", "SELECT 0"]);
    assert_eq!(tags(&client.ask(&twice("INSERT INTO t VALUES (1), (2) RETURNING i"))), ["INSERT 0 2", "INSERT 0 0"]);
    assert_eq!(tags(&client.ask(&twice("SHOW TimeZone"))), ["SHOW", "SHOW"]);
    assert_eq!(kinds(&client.ask(&twice(""))), "12IIZ");
    let answers = client.ask(&twice("INSERT INTO t VALUES (3)"));
    assert_eq!((kinds(&answers).as_str(), answers[3].field('C').as_deref()), ("12CEZ", Some("55000")));
    let pieces =
        [parse("", "INSERT INTO t VALUES (4), (5) RETURNING i"), bind("p", ""), execute("p", 1), execute("p", 1)];
    let answers = client.ask(&[pieces.concat(), execute("p", 1), execute("p", 0), sync()].concat());
    assert_eq!((kinds(&answers).as_str(), tags(&answers).join(";")), ("12DsDsCCZ", "INSERT 0 0;INSERT 0 0".to_owned()));

    let begin =
        [parse("s", FIVE_ROWS), bind("p", "s"), execute("p", 1), message(b'C', b"Ss\0"), execute("p", 0)].concat();
    let answers = client.ask(&[begin, describe('P', "p"), sync()].concat());
    assert_eq!(kinds(&answers), "12Ds3DDDDCTZ", "a portal outlives its statement");
    assert_eq!(kinds(&client.ask(&[bind("p", "s"), sync()].concat())), "EZ", "the statement is gone");
}

#[test]
fn parameters_and_results_are_text_or_binary() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut client = served.client();
    let answers = client.ask(&[parse("s", PARAMETER), describe('S', "s"), sync()].concat());
    assert_eq!(kinds(&answers), "1tTZ");
    assert_eq!(answers[1].body, b"\0\x01\0\0\0\x17");
    let answers = client.ask(&[bind_one("", "s", 0, b"42"), execute("", 0), sync()].concat());
    assert_eq!(answers[1].columns(), [Some(b"42".to_vec())]);
    let answers =
        client.ask(&[bind_one("", "s", 1, &[0, 0, 0, 42]), describe('P', ""), execute("", 0), sync()].concat());
    assert_eq!(kinds(&answers), "2TDCZ");
    assert_eq!(answers[1].body.last(), Some(&1));
    assert_eq!(answers[2].columns(), [Some(vec![0, 0, 0, 42])]);
    for (wrong, code) in [
        (bind("", "s"), "08P01"),
        (bind_one("", "s", 2, b"1"), "08P01"),
        (bind_one("", "t", 0, b"1"), "26000"),
        (bind_one("", "s", 0, b"\xff"), "22021"),
        (parse("s", "SELECT 1"), "42P05"),
        (message(b'B', b"\0s\0\0\x01"), "08P01"),
    ] {
        let answers = client.ask(&[wrong, sync()].concat());
        assert_eq!((kinds(&answers).as_str(), answers[0].field('C').as_deref()), ("EZ", Some(code)));
    }
}

#[test]
fn what_is_sent_together_is_answered_in_order_and_errors_skip_to_sync() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut client = served.client();
    let one = |text: &str| [parse("", text), bind("", ""), execute("", 0)].concat();
    let good = [one("SELECT 1"), sync()].concat();
    let bad = [one("SELECT 1"), one(FAILS), one("SELECT 2"), message(b'H', b""), query("SELECT 3"), sync()].concat();
    client.send(&[good.clone(), bad, good.clone(), query("SELECT 4")].concat());
    assert_eq!(kinds(&client.answers()), "12DCZ");
    assert_eq!(kinds(&client.answers()), "12DC12EZ");
    assert_eq!(kinds(&client.answers()), "12DCZ");
    assert_eq!(kinds(&client.answers()), "TDCZ");
    client.send(&[one("SELECT 1"), message(b'H', b"")].concat());
    let flushed: String = (0..4).map(|_| client.answer().unwrap().kind).collect();
    assert_eq!(flushed, "12DC", "without Sync");
    assert_eq!(kinds(&client.ask(&sync())), "Z");
    let closed = client.ask(&[message(b'C', b"Snone\0"), message(b'C', b"Pnone\0"), one(""), sync()].concat());
    assert_eq!(kinds(&closed), "3312IZ");
}

#[test]
fn who_says_at_once_that_nothing_more_comes_is_answered() {
    let directory = Directory::new();
    let served = trusting(&directory);
    served.client().ask(&query(TABLE));
    let terminate = || message(b'X', b"");
    for _ in 0..5 {
        let mut client = served.client();
        client.send(&[query("INSERT INTO t VALUES (1)"), query(FIVE_ROWS), terminate()].concat());
        assert_eq!((kinds(&client.answers()), kinds(&client.answers())), ("CZ".into(), "TDDDDDCZ".into()));
        assert!(client.answer().is_none(), "the connection is closed");
        let mut client = served.client();
        client.send(&[parse("", FIVE_ROWS), bind("", ""), execute("", 0), sync(), terminate()].concat());
        assert_eq!(kinds(&client.answers()), "12DDDDDCZ");
    }
}

#[test]
fn copy_goes_both_ways() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut client = served.client();
    client.ask(&query(TABLE));
    let out = client.ask(&query(COPY_OUT));
    assert_eq!(kinds(&out), "HddcCZ", "a message for each row");
    client.send(&query(COPY_IN));
    assert_eq!(client.answer().unwrap().kind, 'G');
    let data = [message(b'd', b"1\n"), message(b'H', b""), message(b'd', b"2\n"), message(b'c', b"")].concat();
    assert_eq!(kinds(&client.ask(&data)), "CZ");
    client.send(&query(COPY_IN));
    assert_eq!(client.answer().unwrap().kind, 'G');
    assert_eq!(kinds(&client.ask(&message(b'f', b"no more\0"))), "EZ");
    client.send(&query(COPY_IN));
    assert_eq!(client.answer().unwrap().kind, 'G');
    let answers = client.ask(&query("SELECT 1"));
    assert_eq!((kinds(&answers).as_str(), answers[0].field('C').as_deref()), ("EZ", Some("08P01")));
    let late = [message(b'd', b"3\n"), message(b'c', b""), query("SELECT 1")].concat();
    assert_eq!(kinds(&client.ask(&late)), "TDCZ", "late data is passed over");
    let extended =
        [parse("", COPY_IN), bind("", ""), execute("", 0), sync(), message(b'd', b"4\n"), message(b'c', b""), sync()];
    client.send(&extended.concat());
    assert_eq!(kinds(&client.answers()), "12GCZ");

    // Other statements stand behind it in the same text.
    let rows = |client: &mut Client| client.ask(&query("SELECT count(*) FROM t"))[1].columns();
    let before = rows(&mut client);
    let put = |client: &mut Client, text: &str| {
        client.send(&query(text));
        while client.answer().unwrap().kind != 'G' {}
        kinds(&client.ask(&[message(b'd', b"5\n6\n"), message(b'c', b"")].concat()))
    };
    assert_eq!(put(&mut client, "BEGIN; COPY t FROM STDIN; ROLLBACK"), "CCZ");
    assert_eq!(rows(&mut client), before);
    assert_eq!(put(&mut client, "COPY t FROM STDIN; SELECT 1 / 0"), "CEZ");
    assert_eq!(rows(&mut client), before, "all of a text is one transaction");
    assert_eq!(put(&mut client, "BEGIN; COPY t FROM STDIN; COMMIT; SELECT count(*) FROM t"), "CCTDCZ");
    assert_ne!(rows(&mut client), before);
}

#[test]
fn only_the_secret_cancels() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut client = served.client();
    client.send(&query(SLEEPS));
    // A request that comes before the statement has begun cancels nothing.
    std::thread::sleep(Duration::from_millis(300));
    let mut wrong = client.key.clone();
    wrong[7] ^= 1;
    served.cancel_by(&wrong);
    // The other worker goes on, and both together do not keep a request to cancel from being heard.
    let mut second = served.client();
    assert_eq!(kinds(&second.ask(&query("SELECT 1"))), "TDCZ");
    served.cancel(&client);
    assert_eq!(client.answers()[0].field('C').as_deref(), Some("57014"));
    assert_eq!(kinds(&client.ask(&query("SELECT 1"))), "TDCZ");
}

#[test]
fn what_is_no_protocol_ends_its_connection_alone() {
    let directory = Directory::new();
    let served = Served::start(&directory, "--auth trust --no-socket --message-bytes-max 4096");
    let mut witness = served.client();
    for garbage in [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], b"\0\0\0\0\0\0\0\0", b"\xff\xff\xff\xff\xff"] {
        let mut client = served.raw();
        client.send(garbage);
        assert_eq!(client.answer().unwrap().field('C').as_deref(), Some("08P01"));
        assert_eq!(client.answer(), None);
    }
    for (wrong, code) in [
        (&b"Q\x7f\xff\xff\xff"[..], "54000"),
        (b"Q\0\0\x10\x01", "54000"),
        (b"Q\0\0\0\x03", "08P01"),
        (b"\x16\x03\x01\x02\0", "08P01"),
    ] {
        let mut client = served.client();
        client.send(wrong);
        let answer = client.answer().unwrap();
        assert_eq!((answer.field('S').as_deref(), answer.field('C').as_deref()), (Some("FATAL"), Some(code)));
        assert_eq!(client.answer(), None);
    }
    // Clients that stop in the middle, and go.
    for part in [&b""[..], b"\0\0\0\x20\0\x03", b"\0"] {
        served.raw().send(part);
    }
    let mut stopped = served.client();
    stopped.send(b"Q\0\0\0\x21SELE");
    assert_eq!(kinds(&witness.ask(&query("SELECT 1"))), "TDCZ");
    stopped.send(b"CT 1; SELECT 2; SELECT 3\0");
    assert_eq!(kinds(&stopped.answers()), "TDCTDCTDCZ");
}

#[test]
fn a_large_result_arrives_whole() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut client = served.client();
    client.send(&query(MANY_ROWS.0));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(client.answer().unwrap().kind, 'T');
    for _ in 0..MANY_ROWS.1 {
        assert_eq!(client.answer().unwrap().kind, 'D');
    }
    assert_eq!(kinds(&client.answers()), "CZ");
}

#[test]
fn deep_expressions_harm_nobody() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut client = served.client();
    let sum = |terms: usize| query(&format!("SELECT {}", vec!["1"; terms].join(" + ")));
    let answers = client.ask(&sum(5000));
    assert_eq!(answers[1].columns(), [Some(b"5000".to_vec())]);
    assert_eq!(client.ask(&sum(500_000))[0].field('C').as_deref(), Some("54001"));
    let nested = format!("SELECT {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(client.ask(&query(&nested))[0].field('C').as_deref(), Some("54001"));
    assert_eq!(kinds(&client.ask(&query("SELECT 1"))), "TDCZ");
}

#[test]
fn seats_are_limited() {
    let directory = Directory::new();
    let served = Served::start(&directory, "--auth trust --no-socket --connections-max 1");
    let first = served.client();
    let mut second = served.raw();
    second.start(&[("user", "osier")]);
    assert_eq!(second.answer().unwrap().field('C').as_deref(), Some("53300"));
    drop(first);
    support::eventually(|| {
        let mut next = served.raw();
        next.start(&[("user", "osier")]);
        next.answers().last().unwrap().kind == 'Z'
    });
}

#[test]
fn silence_in_a_transaction_ends_it() {
    let directory = Directory::new();
    let served = Served::start(&directory, "--auth trust --no-socket --idle-in-transaction-timeout 0.2");
    let mut idle = served.client();
    let mut client = served.client();
    client.ask(&query("BEGIN"));
    assert_eq!(client.answer().unwrap().field('C').as_deref(), Some("25P03"));
    assert_eq!(client.answer(), None);
    assert_eq!(kinds(&idle.ask(&query("SELECT 1"))), "TDCZ");
}

#[test]
fn sessions_bound_their_own_silence() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let (mut within, mut outside) = (served.client(), served.client());
    within.ask(&query("SET idle_in_transaction_session_timeout = '100ms'"));
    outside.ask(&query("SET idle_session_timeout = '100ms'"));
    assert_eq!(outside.answer().unwrap().field('C').as_deref(), Some("57P05"));
    assert_eq!(kinds(&within.ask(&query("SELECT 1"))), "TDCZ", "it was silent outside of a block");
    within.ask(&query("BEGIN"));
    assert_eq!(within.answer().unwrap().field('C').as_deref(), Some("25P03"));
    let mut other = served.client();
    other.ask(&query("CREATE TABLE u (a int, b int)"));
    assert_eq!(code(&other.ask(&query("COPY u (a, a) FROM STDIN"))[0]).as_deref(), Some("42701"));
}

/// Connects two clients in one thread, to a table with two rows. The first one has a block open and has written row 1.
fn blocked(directory: &Directory) -> (Served, Client, Client) {
    let served = Served::start(directory, "--auth trust --no-socket --workers 1 --set cc=2pl --set locking=detect");
    let (mut one, other) = (served.client(), served.client());
    one.ask(&query("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0), (2, 0)"));
    assert_eq!(kinds(&one.ask(&query("BEGIN; UPDATE t SET n = n + 1 WHERE id = 1"))), "CCZ");
    (served, one, other)
}

fn code(answer: &support::served::Answer) -> Option<String> {
    answer.field('C')
}

#[test]
fn a_statement_that_waits_for_a_lock_leaves_its_thread_to_others() {
    let directory = Directory::new();
    let (served, mut one, mut other) = blocked(&directory);
    other.send(&query("UPDATE t SET n = n + 1 WHERE id = 1 RETURNING n"));
    std::thread::sleep(Duration::from_millis(50));
    let mut third = served.client();
    assert_eq!(third.ask(&query("SELECT n FROM t WHERE id = 2"))[1].columns(), [Some(b"0".to_vec())]);
    assert_eq!(kinds(&one.ask(&query("COMMIT"))), "CZ");
    let answers = other.answers();
    assert_eq!(kinds(&answers), "TDCZ", "it was not run into a conflict");
    assert_eq!(answers[1].columns(), [Some(b"2".to_vec())]);
}

#[test]
fn of_a_circle_of_waits_one_is_run_again() {
    let directory = Directory::new();
    let (_served, mut one, mut other) = blocked(&directory);
    other.ask(&query("BEGIN; UPDATE t SET n = n + 1 WHERE id = 2"));
    other.send(&query("UPDATE t SET n = n + 1 WHERE id = 1"));
    std::thread::sleep(Duration::from_millis(50));
    one.send(&query("UPDATE t SET n = n + 1 WHERE id = 2"));
    let answers = [one.answers(), other.answers()];
    let failed: Vec<_> = answers.iter().filter(|answers| answers[0].kind == 'E').collect();
    assert_eq!(failed.len(), 1, "{answers:?}");
    assert_eq!(code(&failed[0][0]).as_deref(), Some("40001"));
}

#[test]
fn a_wait_ends_when_it_is_cancelled_or_too_long() {
    let directory = Directory::new();
    let (served, _one, mut other) = blocked(&directory);
    let waits = "UPDATE t SET n = n + 1 WHERE id = 1";
    other.ask(&query("SET lock_timeout = '50ms'"));
    assert_eq!(code(&other.ask(&query(waits))[0]).as_deref(), Some("55P03"));
    other.ask(&query("SET lock_timeout = 0; SET statement_timeout = '50ms'"));
    assert_eq!(code(&other.ask(&query(waits))[0]).as_deref(), Some("57014"));
    other.ask(&query("SET statement_timeout = 0"));
    other.send(&query(waits));
    std::thread::sleep(Duration::from_millis(50));
    served.cancel(&other);
    assert_eq!(code(&other.answers()[0]).as_deref(), Some("57014"));
    assert_eq!(kinds(&other.ask(&query("SELECT 1"))), "TDCZ");
}

#[test]
fn a_block_goes_on_from_a_savepoint_after_a_wait_in_vain() {
    let directory = Directory::new();
    let (served, mut one, mut other) = blocked(&directory);
    let waits = "UPDATE t SET n = n + 1 WHERE id = 1";
    other.ask(&query("BEGIN; UPDATE t SET n = 7 WHERE id = 2; SAVEPOINT here"));
    for limit in ["lock_timeout", "statement_timeout"] {
        other.ask(&query(&format!("SET {limit} = '50ms'; INSERT INTO t VALUES (3, 3)")));
        let expected = if limit == "lock_timeout" { "55P03" } else { "57014" };
        assert_eq!(code(&other.ask(&query(waits))[0]).as_deref(), Some(expected));
        assert_eq!(code(&other.ask(&query("SELECT 1"))[0]).as_deref(), Some("25P02"));
        assert_eq!(kinds(&other.ask(&query("ROLLBACK TO here"))), "CZ");
    }
    other.send(&query(waits));
    std::thread::sleep(Duration::from_millis(50));
    served.cancel(&other);
    assert_eq!(code(&other.answers()[0]).as_deref(), Some("57014"));
    assert_eq!(kinds(&one.ask(&query("COMMIT"))), "CZ");
    let rest = "ROLLBACK TO here; UPDATE t SET n = n + 1 WHERE id = 1; COMMIT";
    assert_eq!(kinds(&other.ask(&query(rest))), "CCCZ");
    let answers = other.ask(&query("SELECT string_agg(id || ':' || n, ' ' ORDER BY id) FROM t"));
    assert_eq!(answers[1].columns(), [Some(b"1:2 2:7".to_vec())]);
}

/// Queries by themselves see what has committed, whoever is about to change it, and all that has.
#[test]
fn who_only_reads_waits_for_nobody() {
    let directory = Directory::new();
    let (_served, mut one, mut other) = blocked(&directory);
    other.ask(&query("SET lock_timeout = '5s'"));
    other.ask(&query("CREATE SEQUENCE s"));
    let mut one_value = |text: &str, expected: &str| {
        let answers = other.ask(&query(text));
        assert_eq!(kinds(&answers), "TDCZ", "{text}: {answers:?}");
        assert_eq!(answers[1].columns(), [Some(expected.as_bytes().to_vec())], "{text}");
    };
    one_value("SELECT n FROM t WHERE id = 1", "0");
    one_value("SELECT sum(n) FROM t", "0");
    one_value("SELECT n FROM t ORDER BY n DESC LIMIT 1", "0");
    one_value("UPDATE t SET n = 5 WHERE id = 2 RETURNING n", "5");
    one_value("SELECT n FROM t WHERE id = 1", "0");
    one_value("SELECT sum(n) FROM t", "5");
    for round in 1..=20 {
        one_value(&format!("INSERT INTO t VALUES ({}, 1) RETURNING id", 10 + round), &(10 + round).to_string());
        one_value("SELECT count(*) FROM t", &(2 + round).to_string());
    }
    assert_eq!(kinds(&one.ask(&query("COMMIT"))), "CZ");
    one_value("SELECT n FROM t WHERE id = 1", "1");
    one_value("SELECT sum(n) FROM t", "26");
    let answers = one.ask(&query("BEGIN READ ONLY; SELECT nextval('s')"));
    assert_eq!(code(&answers[1]).as_deref(), Some("25006"));
    // What a snapshot does not answer.
    one_value("SELECT count(nextval('s')) FROM t", "22");
    one_value("SELECT count(*) FROM (SELECT n FROM t FOR UPDATE) locked", "22");
}

/// A client that disappears in the middle gives its locks back.
#[test]
fn a_client_that_is_gone_holds_no_locks() {
    let directory = Directory::new();
    let (_served, one, mut other) = blocked(&directory);
    other.send(&query("UPDATE t SET n = n + 1 WHERE id = 1 RETURNING n"));
    std::thread::sleep(Duration::from_millis(50));
    drop(one);
    let answers = other.answers();
    assert_eq!(answers[1].columns(), [Some(b"1".to_vec())]);
}

#[test]
fn a_long_statement_lets_others_of_its_thread_run() {
    let directory = Directory::new();
    let served = Served::start(&directory, "--auth trust --no-socket --workers 1");
    let (mut busy, mut quick) = (served.client(), served.client());
    busy.send(&query(SLEEPS));
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(kinds(&quick.ask(&query("SELECT 1"))), "TDCZ");
    served.cancel(&busy);
    assert_eq!(code(&busy.answers()[0]).as_deref(), Some("57014"));
}

#[test]
fn the_end_waits_for_statements_and_tells_idle_clients() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let (mut idle, mut busy) = (served.client(), served.client());
    busy.send(&query(NAPS));
    std::thread::sleep(Duration::from_millis(100));
    served.signal();
    assert_eq!(idle.answer().unwrap().field('C').as_deref(), Some("57P01"));
    assert_eq!(idle.answer(), None);
    assert_eq!(kinds(&busy.answers()), "TDCZ", "it is done");
    assert_eq!(busy.answer().unwrap().field('C').as_deref(), Some("57P01"));
    assert_eq!(served.wait().code(), Some(0));

    let served = Served::start(&directory, "--auth trust --no-socket --shutdown-timeout 0.2");
    let mut busy = served.client();
    busy.send(&query(SLEEPS));
    std::thread::sleep(Duration::from_millis(100));
    let begun = Instant::now();
    served.signal();
    assert_eq!(busy.answers()[0].field('C').as_deref(), Some("57014"), "it is cancelled");
    assert_eq!(served.wait().code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(8));
}

#[test]
fn a_second_signal_ends_at_once() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut busy = served.client();
    busy.send(&query(SLEEPS));
    std::thread::sleep(Duration::from_millis(100));
    served.signal();
    std::thread::sleep(Duration::from_millis(100));
    served.signal();
    assert_eq!(served.wait().code(), Some(130));
}

#[test]
fn the_own_user_needs_no_password_at_the_socket() {
    let directory = Directory::new();
    let served = Served::start(&directory, "--socket-dir .");
    let path = directory.join(&format!(".s.PGSQL.{}", served.port));
    assert!(served.line.contains("psql -h /"), "psql takes a relative path for a host: {}", served.line);
    let mut client = Client::unix(&path);
    client.start(&[("user", "osier")]);
    assert_eq!(client.answers().last().unwrap().kind, 'Z');
    let mut other = Client::unix(&path);
    other.start(&[("user", "ada")]);
    assert_eq!(other.answer().unwrap().body[..4], [0, 0, 0, 10], "another role needs a password");
    let mut tcp = served.raw();
    tcp.start(&[("user", "osier")]);
    assert_eq!(tcp.answer().unwrap().body[..4], [0, 0, 0, 10], "and so does TCP");
    served.signal();
    served.wait();
    assert!(!path.exists());
}

#[test]
fn what_cannot_be_served_is_said() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let taken = fails(&directory, &format!("serve --dir other --listen 127.0.0.1:{}", served.port), 2);
    assert!(taken.contains(&format!("127.0.0.1:{}", served.port)) && taken.contains("--listen"), "{taken}");
    let open = fails(&directory, "serve --dir other --auth trust --listen 0.0.0.0:0", 2);
    assert!(open.contains("--auth trust"), "{open}");
    fails(&directory, "serve --dir other --listen nowhere", 2);
    fails(&directory, "serve --dir other --listen 127.0.0.1:0 --tls-cert a --tls-key b", 2);
    fails(&directory, "serve --dir db --listen 127.0.0.1:0", 11);
}

/// Runs what a client library does.
fn asynchronously<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn a_client_library_proves_its_password() {
    let directory = Directory::new();
    let served = Served::start_with(&directory, "--no-socket", Some("p\u{e4}ss word"));
    let line = |user: &str, password: &str| {
        format!("host=127.0.0.1 port={} user={user} password='{password}' dbname=osier", served.port)
    };
    asynchronously(async {
        let (client, connection) = tokio_postgres::connect(&line("osier", "p\u{e4}ss word"), NoTls).await.unwrap();
        let talk = async {
            let row = client.query_one("SELECT 1", &[]).await.unwrap();
            assert_eq!(row.get::<_, i32>(0), 1);
            let row = client.query_one(PARAMETER, &[&42i32]).await.unwrap();
            assert_eq!(row.get::<_, i32>(0), 42);
            let failed = client.batch_execute(FAILS).await.unwrap_err();
            assert_eq!(failed.code().unwrap().code(), "22012");
        };
        tokio::select! {
            () = talk => {}
            ended = connection => panic!("{ended:?}"),
        }
        for (user, password) in [("osier", "pass word"), ("nobody", "p\u{e4}ss word"), ("osier", "")] {
            let Err(error) = tokio_postgres::connect(&line(user, password), NoTls).await else { panic!("{user}") };
            if !password.is_empty() {
                let error = error.as_db_error().unwrap();
                assert_eq!(error.code().code(), "28P01");
                assert_eq!(error.message(), format!("password authentication failed for user \"{user}\""));
            }
        }
    });
}

/// A simple query is prepared in one transaction and run in another one, or with a plan from before: what a definition changes in
/// between makes it fail with no error that only prepared statements may have, and its columns are those of its rows.
#[test]
fn definitions_that_change_meanwhile_fail_no_simple_query() {
    let directory = Directory::new();
    let served = trusting(&directory);
    let mut owner = served.client();
    let text = "CREATE TABLE t (id int PRIMARY KEY, x text); INSERT INTO t VALUES (1, 'a')";
    assert_eq!(owner.ask(&query(text)).last().unwrap().kind, 'Z');
    let mut reader = served.client();
    let until = Instant::now() + Duration::from_secs(3);
    let defining = std::thread::spawn(move || {
        while Instant::now() < until {
            for text in ["ALTER TABLE t ADD COLUMN y int DEFAULT 7", "ALTER TABLE t DROP COLUMN y"] {
                assert_eq!(kinds(&owner.ask(&query(text))), "CZ", "{text}");
            }
        }
    });
    let mut seen = [0, 0];
    for number in 0.. {
        // Every other one has a text that never came before.
        let text = format!("SELECT * FROM t WHERE id = 1 AND 'a' <> '{}'", if number % 2 == 0 { "" } else { "''" });
        let answers = reader.ask(&query(&text));
        assert_eq!(kinds(&answers), "TDCZ", "{answers:?}");
        let columns = answers[1].columns();
        assert_eq!(usize::from(answers[0].body[1]), columns.len());
        assert_eq!(columns[1], Some(b"a".to_vec()));
        seen[columns.len() - 2] += 1;
        if Instant::now() >= until {
            break;
        }
    }
    defining.join().unwrap();
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}
