//! Notifications over the wire: when clients are told, idle or busy, and what becomes of one that does not read.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::{Duration, Instant};

use support::client::prints;
use support::served::{Answer, Client, Served, bind, bind_one, execute, kinds, message, parse, query, sync};
use support::{Directory, eventually};

fn served(options: &str) -> (Directory, Served) {
    let directory = Directory::new();
    let served = Served::start(&directory, &format!("--auth trust --no-socket {options}"));
    (directory, served)
}

/// Whom a notification comes from, its channel and what was sent.
fn notification(answer: &Answer) -> (i32, String, String) {
    assert_eq!(answer.kind, 'A', "{answer:?}");
    let (pid, texts) = answer.body.split_at(4);
    let texts = texts.strip_suffix(b"\0").unwrap();
    let mut texts = texts.split(|byte| *byte == 0).map(|text| String::from_utf8(text.to_vec()).unwrap());
    let told = (i32::from_be_bytes(pid.try_into().unwrap()), texts.next().unwrap(), texts.next().unwrap());
    assert_eq!(texts.next(), None, "{answer:?}");
    told
}

/// What was sent by the notifications among answers.
fn payloads(answers: &[Answer]) -> Vec<String> {
    answers.iter().filter(|answer| answer.kind == 'A').map(|answer| notification(answer).2).collect()
}

/// The number of a client's session.
fn pid(client: &Client) -> i32 {
    i32::from_be_bytes(client.key[..4].try_into().unwrap())
}

#[track_caller]
fn run(client: &mut Client, text: &str) -> Vec<Answer> {
    let answers = client.ask(&query(text));
    assert!(answers.iter().all(|answer| answer.kind != 'E'), "{text}: {answers:?}");
    answers
}

/// The kinds of what is answered.
#[track_caller]
fn asked(client: &mut Client, text: &str) -> String {
    kinds(&run(client, text))
}

#[test]
fn an_idle_client_is_told_at_once() {
    let (_directory, served) = served("");
    let (mut listener, mut sender) = (served.client(), served.client());
    assert_eq!(asked(&mut listener, "LISTEN c"), "CZ");
    assert_eq!(asked(&mut sender, "NOTIFY c, 'x'"), "CZ", "it does not listen");
    assert_eq!(notification(&listener.answer().unwrap()), (pid(&sender), "c".to_owned(), "x".to_owned()));
    assert_eq!(asked(&mut sender, "SELECT pg_notify('c', 'y')"), "TDCZ");
    assert_eq!(notification(&listener.answer().unwrap()).2, "y");
    assert_eq!(asked(&mut sender, "NOTIFY other, 'x'; NOTIFY c"), "CCZ");
    assert_eq!(notification(&listener.answer().unwrap()), (pid(&sender), "c".to_owned(), String::new()));
    // What is told behind this would come before the answer.
    assert_eq!(asked(&mut sender, "BEGIN; NOTIFY c, 'never'; ROLLBACK"), "CCCZ");
    assert_eq!(asked(&mut listener, "SELECT 1"), "TDCZ");
}

#[test]
fn a_client_hears_itself_before_the_next_request() {
    let (_directory, served) = served("");
    let mut client = served.client();
    for text in ["NOTIFY c, '1'", "LISTEN c"] {
        assert_eq!(asked(&mut client, text), "CZ");
    }
    // The commit writes to the log, and is waited for.
    run(&mut client, "CREATE TABLE t (n int)");
    for n in 0..20 {
        let answers = run(&mut client, &format!("INSERT INTO t VALUES ({n}); NOTIFY c, '{n}'"));
        assert_eq!(kinds(&answers), "CCAZ");
        assert_eq!(notification(&answers[2]), (pid(&client), "c".to_owned(), n.to_string()));
    }
    let answers = run(&mut client, "BEGIN; NOTIFY c, '1'; NOTIFY c, '2'; NOTIFY c, '1'; COMMIT; SELECT 1");
    assert_eq!((&*kinds(&answers), payloads(&answers)), ("CCCCCTDCAAZ", vec!["1".to_owned(), "2".to_owned()]));
    assert_eq!(asked(&mut client, "BEGIN; NOTIFY c, '1'; UNLISTEN *; COMMIT"), "CCCCZ");
    let answers = run(&mut client, "LISTEN c; SELECT pg_notify('c', n::text) FROM generate_series(1, 10000) AS n");
    assert_eq!(payloads(&answers), (1..=10_000).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!(answers.last().unwrap().kind, 'Z');
}

#[test]
fn a_block_is_told_of_nothing_until_it_ends() {
    let (_directory, served) = served("");
    let (mut listener, mut sender) = (served.client(), served.client());
    run(&mut listener, "LISTEN c");
    for end in ["COMMIT", "ROLLBACK"] {
        run(&mut listener, "BEGIN");
        run(&mut sender, "NOTIFY c, '1'");
        run(&mut sender, "NOTIFY c, '2'");
        assert_eq!(asked(&mut listener, "SELECT 1"), "TDCZ");
        let answers = run(&mut listener, end);
        assert_eq!((&*kinds(&answers), payloads(&answers)), ("CAAZ", vec!["1".to_owned(), "2".to_owned()]), "{end}");
    }
    // A block that has failed is a block, too.
    run(&mut listener, "BEGIN");
    assert_eq!(kinds(&listener.ask(&query("SELECT 1 / 0"))), "EZ");
    run(&mut sender, "NOTIFY c, '3'");
    assert_eq!(kinds(&listener.ask(&query("SELECT 1"))), "EZ");
    assert_eq!(asked(&mut listener, "ROLLBACK"), "CAZ");
}

#[test]
fn pipelines_send_with_their_transaction() {
    let (_directory, served) = served("");
    let (mut listener, mut sender) = (served.client(), served.client());
    run(&mut listener, "LISTEN c");
    let notify = |text: &str| [parse("", &format!("NOTIFY c, '{text}'")), bind("", ""), execute("", 0)].concat();
    let answers = sender.ask(&[notify("1"), notify("2"), sync()].concat());
    assert_eq!(kinds(&answers), "12C12CZ");
    for expected in ["1", "2"] {
        assert_eq!(notification(&listener.answer().unwrap()).2, expected);
    }
    // The last statement of it fails: all of it is rolled back.
    let failing = [parse("", "SELECT 1 / 0"), bind("", ""), execute("", 0)].concat();
    assert_eq!(kinds(&sender.ask(&[notify("never"), failing, sync()].concat())), "12C12EZ");
    // A statement that is kept is run as often as one likes.
    let prepared = parse("send", "SELECT pg_notify('c', $1)");
    assert_eq!(kinds(&sender.ask(&[prepared, sync()].concat())), "1Z");
    for n in 0..3 {
        let value = format!("kept {n}");
        let one = [bind_one("", "send", 0, value.as_bytes()), execute("", 0), sync()].concat();
        assert_eq!(kinds(&sender.ask(&one)), "2DCZ");
        assert_eq!(notification(&listener.answer().unwrap()).2, value);
    }
    // A transaction that is open because nothing has ended it is told of nothing.
    listener.send(&[parse("", "SELECT 1"), bind("", ""), execute("", 0), message(b'H', b"")].concat());
    let answers: Vec<Answer> = (0..4).map(|_| listener.answer().unwrap()).collect();
    assert_eq!(kinds(&answers), "12DC");
    run(&mut sender, "NOTIFY c, 'late'");
    let own = listener.ask(&[notify("own"), sync()].concat());
    assert_eq!((&*kinds(&own), payloads(&own)), ("12CAAZ", vec!["late".to_owned(), "own".to_owned()]));
}

/// One that is told of much and reads nothing holds nobody up, takes little, and is told why it ends.
#[test]
fn who_does_not_read_is_cut_off() {
    let (_directory, served) = served("--idle-in-transaction-timeout 0");
    let [mut deaf, mut blocked, mut good, mut sender] = [0; 4].map(|_| served.client());
    for client in [&mut deaf, &mut blocked, &mut good] {
        run(client, "LISTEN c");
    }
    run(&mut blocked, "BEGIN");
    let many = "SELECT count(pg_notify('c', n || repeat('x', 7000))) FROM generate_series(1, 1000) AS n";
    for round in 0..20 {
        run(&mut sender, many);
        for n in 1..=1000 {
            let (_, _, payload) = notification(&good.answer().unwrap());
            assert!(payload.starts_with(&format!("{n}x")), "{round}: {n}");
        }
    }
    let answers = blocked.answers();
    assert_eq!((&*kinds(&answers), answers[0].field('S').as_deref()), ("E", Some("FATAL")));
    assert_eq!(answers[0].field('C').as_deref(), Some("54000"));
    assert!(answers[0].field('M').unwrap().contains("its queue is full"));
    // What the system had taken for the other one comes, whole, and then the end.
    let answers = deaf.answers();
    let count = answers.iter().take_while(|answer| answer.kind == 'A').count();
    assert!((1..20_000).contains(&count), "{count}");
    assert!(answers[count..].iter().all(|answer| answer.kind == 'E'), "{}", kinds(&answers[count..]));
    let usage = run(&mut sender, "SELECT pg_notification_queue_usage()");
    assert_eq!(usage[1].columns()[0].as_deref(), Some(&b"0"[..]));
    run(&mut good, "SELECT 1");
}

#[test]
fn notifications_do_not_keep_an_idle_client() {
    let (_directory, served) = served("--idle-timeout 2");
    let (mut listener, mut sender) = (served.client(), served.client());
    run(&mut listener, "LISTEN c");
    let begun = Instant::now();
    loop {
        run(&mut sender, "NOTIFY c, 'x'");
        let answer = listener.answer().unwrap();
        if answer.kind != 'A' {
            assert_eq!(answer.field('C').as_deref(), Some("57P05"));
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "it is kept");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn many_listen_without_threads_and_are_told_of_the_end() {
    const LISTENERS: usize = 300;
    let (_directory, served) = served("");
    let mut sender = served.client();
    run(&mut sender, "LISTEN other");
    let threads = |id: u32| std::fs::read_dir(format!("/proc/{id}/task")).unwrap().count();
    let before = threads(served.id());
    let mut listeners: Vec<Client> = (0..LISTENERS).map(|_| served.client()).collect();
    listeners.iter_mut().for_each(|listener| drop(run(listener, "LISTEN c")));
    assert_eq!(threads(served.id()), before);
    for n in 0..3 {
        run(&mut sender, &format!("NOTIFY c, '{n}'"));
        for listener in &mut listeners {
            assert_eq!(notification(&listener.answer().unwrap()).2, n.to_string());
        }
    }
    listeners.truncate(10);
    served.signal();
    for listener in &mut listeners {
        assert_eq!(listener.answer().unwrap().field('C').as_deref(), Some("57P01"));
    }
    drop((listeners, sender));
    assert!(served.wait().success());
}

/// A session that listens, and looks for notifications until the last one has come.
fn listen(mut client: Client, counts: usize) -> Vec<(i32, String, String)> {
    let mut told = Vec::new();
    let mut blocks = 0;
    while told.len() < counts {
        if told.len() % 7 == 3 {
            // Every now and then it is busy, and in a block.
            blocks += 1;
            let answers = run(&mut client, "BEGIN READ ONLY; SELECT count(*) FROM t; COMMIT");
            told.extend(answers.iter().filter(|answer| answer.kind == 'A').map(notification));
        } else {
            told.push(notification(&client.answer().unwrap()));
        }
    }
    assert!(blocks > 0 && told.len() == counts, "{blocks} {}", told.len());
    told
}

/// Runs transactions that count in a row, and tell of it three times; some are given up. Returns how often it was done.
fn send(client: &mut Client, transactions: usize, number: usize) {
    let mut done = 0;
    for attempt in 0.. {
        assert!(attempt < 100 * transactions, "it never commits");
        let given_up = attempt % 5 == number % 5;
        let mut texts = vec![
            "BEGIN".to_owned(),
            "UPDATE t SET n = n + 1 WHERE k = 1 RETURNING pg_notify('c', n || ' 1')".to_owned(),
            "SAVEPOINT s; NOTIFY c, 'never'; ROLLBACK TO s".to_owned(),
            "SELECT pg_notify('c', n || ' ' || m) FROM t, generate_series(2, 3) AS m WHERE k = 1".to_owned(),
            if given_up { "ROLLBACK" } else { "COMMIT" }.to_owned(),
        ];
        if number % 2 == 1 && !given_up {
            // A statement by itself does the same; it is run again after conflicts.
            let all = "WITH u AS (UPDATE t SET n = n + 1 WHERE k = 1 RETURNING n) \
                       SELECT pg_notify('c', n || ' ' || m) FROM u, generate_series(1, 3) AS m";
            texts = vec![all.to_owned()];
        }
        let has_failed = texts.iter().any(|text| {
            let answers = client.ask(&query(text));
            let error = answers.iter().find(|answer| answer.kind == 'E');
            error.inspect(|error| assert_eq!(error.field('C').as_deref(), Some("40001"), "{text}")).is_some()
        });
        if has_failed {
            client.ask(&query("ROLLBACK"));
        } else if !given_up {
            done += 1;
        }
        if done == transactions {
            return;
        }
    }
}

/// Each listener gets what each committed transaction has sent, once and together, in the order of the commits.
#[test]
fn all_are_told_of_all_in_the_order_of_commits() {
    const SENDERS: usize = 8;
    const LISTENERS: usize = 4;
    const EACH: usize = 25;
    for options in ["", "--set cc=optimistic --set streams=2", "--set cc=mvcc"] {
        let (_directory, served) = served(options);
        let mut first = served.client();
        run(&mut first, "CREATE TABLE t (k int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)");
        let mut listeners: Vec<Client> = (0..LISTENERS).map(|_| served.client()).collect();
        listeners.iter_mut().for_each(|listener| drop(run(listener, "LISTEN c")));
        let counts = SENDERS * EACH * 3;
        let told: Vec<Vec<(i32, String, String)>> = std::thread::scope(|scope| {
            let listening: Vec<_> =
                listeners.into_iter().map(|listener| scope.spawn(move || listen(listener, counts))).collect();
            for number in 0..SENDERS {
                let served = &served;
                scope.spawn(move || {
                    let mut client = served.client();
                    if number == 3 {
                        run(&mut client, "SET synchronous_commit = off");
                    }
                    send(&mut client, EACH, number);
                });
            }
            listening.into_iter().map(|listening| listening.join().unwrap()).collect()
        });
        let expected: Vec<String> =
            (1..=SENDERS * EACH).flat_map(|n| (1..=3).map(move |m| format!("{n} {m}"))).collect();
        for told in &told {
            let payloads: Vec<&String> = told.iter().map(|(_, _, payload)| payload).collect();
            assert_eq!(payloads, expected.iter().collect::<Vec<_>>(), "{options}");
            assert!(told.chunks(3).all(|group| group.iter().all(|(pid, _, _)| *pid == group[0].0)), "{options}");
        }
        assert!(told.iter().all(|other| *other == told[0]), "{options}");
    }
}

#[test]
fn a_client_that_is_gone_is_told_nothing() {
    let (_directory, served) = served("");
    let (mut listener, mut sender) = (served.client(), served.client());
    run(&mut listener, "LISTEN c");
    run(&mut sender, "LISTEN d");
    drop(listener);
    let usage = "SELECT pg_notification_queue_usage()";
    run(&mut sender, "SELECT count(pg_notify('c', n::text)) FROM generate_series(1, 1000) AS n");
    eventually(|| run(&mut sender, usage)[1].columns()[0].as_deref() == Some(b"0"));
    run(&mut sender, "DISCARD ALL");
    assert_eq!(asked(&mut sender, "NOTIFY d"), "CZ");
}

#[test]
fn the_shell_shows_them() {
    let (directory, served) = served("");
    let port = served.port.to_string();
    let connect = ["shell", "-h", "127.0.0.1", "-p", &port];
    let texts =
        ["LISTEN \"a b\"", "NOTIFY \"a b\", 'x y'; SELECT 1 AS one", "SELECT pg_notify('a b', NULL) IS NULL AS n"];
    let arguments: Vec<&str> = texts.iter().flat_map(|text| ["-c", text]).collect();
    let shown = prints(&directory, &[&connect[..], &["-A", "-t"], &arguments].concat());
    let told =
        |with: &str| format!("Asynchronous notification \"a b\"{with} received from server process with PID 1.\n");
    assert_eq!(shown, format!("LISTEN\nNOTIFY\n1\n{}f\n{}", told(" with payload \"x y\""), told("")));
}
