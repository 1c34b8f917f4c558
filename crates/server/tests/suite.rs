//! The statements of `osier-sql`'s tests, with what they give, sent to a server that is killed between them and started again,
//! under every protocol and payload. What was acknowledged is there, or a later statement gives something else.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::Path;

use support::Directory;
use support::served::{Answer, Client, Served, query};

/// Files with few statements that need a session.
const FILES: [&str; 24] = [
    "queries",
    "expressions",
    "functions",
    "grouping",
    "windows",
    "catalog",
    "foreign_keys",
    "views",
    "materialized",
    "generated",
    "indexes",
    "kept",
    "snapshots",
    "rows",
    "characters",
    "forms",
    "names",
    "columns",
    "from",
    "merge",
    "enums",
    "network",
    "elements",
    "sets",
];

/// Files about sessions, or with numbers of sequences, of which a session has taken some: nothing is killed.
const OF_SESSIONS: [&str; 12] = [
    "prepare",
    "cursors",
    "explain",
    "roles",
    "schemas",
    "objects",
    "advisory",
    "moments",
    "notify",
    "refusals",
    "temporary",
    "styles",
];

/// A statement with the lines that it gives.
struct Checked {
    line: usize,
    text: String,
    expected: Vec<String>,
}

/// The statements of a file.
fn read(file: &str) -> Vec<Checked> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/tests/suite").join(file).with_extension("sql");
    let mut statements: Vec<Checked> = Vec::new();
    for (number, line) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
        match line {
            line if line.starts_with("--> ") || line.starts_with("--! ") => {
                statements.last_mut().unwrap().expected.push(line.to_owned());
            }
            line if line.is_empty() || line.starts_with("--") => {}
            text => statements.push(Checked { line: number + 1, text: text.to_owned(), expected: Vec::new() }),
        }
    }
    statements
}

/// Whether a statement leaves something with its session that others need.
fn is_of_session(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().take(2).map(str::to_lowercase).collect();
    let is_lasting = !matches!(words.get(1).map(String::as_str), Some("local" | "transaction" | "constraints"));
    match words.first().map(String::as_str) {
        Some("set") => is_lasting,
        Some("prepare") => true,
        _ => text.contains("nextval"),
    }
}

/// What a statement has given, as the files have it.
fn shown(answers: &[Answer]) -> Vec<String> {
    let mut lines = Vec::new();
    for answer in answers {
        match answer.kind {
            'D' => {
                let column =
                    |column: Option<Vec<u8>>| column.map_or("NULL".to_owned(), |text| String::from_utf8(text).unwrap());
                let row = answer.columns().into_iter().map(column).collect::<Vec<_>>().join("|");
                // A value may have several lines.
                lines.extend(row.lines().map(|line| format!("--> {line}")));
                lines.extend(row.is_empty().then(|| "--> ".to_owned()));
            }
            'E' => lines = vec![format!("--! {}", answer.field('C').unwrap())],
            _ => {}
        }
    }
    lines
}

/// Runs a statement; returns the answers, and how they differ from what it is to give.
fn ask(client: &mut Client, Checked { line, text, expected }: &Checked) -> (Vec<Answer>, Option<String>) {
    let answers = client.ask(&query(text));
    let found = shown(&answers);
    let differs = found != *expected;
    (answers, differs.then(|| format!("{line}: {text}\n  expected {expected:?}\n  found    {found:?}")))
}

#[track_caller]
fn assert_none(options: &str, wrong: &[String]) {
    assert!(wrong.is_empty(), "{options}: {} statements:\n{}", wrong.len(), wrong.join("\n"));
}

/// Runs all files against servers with these options. Each is killed after some statements, outside of blocks:
/// `OSIER_SUITE_STATEMENTS` says after how many.
fn run(options: &str) {
    let statements_max = std::env::var("OSIER_SUITE_STATEMENTS").map_or(25, |count| count.parse().unwrap());
    let options = format!(
        "--auth trust --no-socket --set transaction_log_bytes_max=262144 --set ring_bytes=1048576 \
         --set segment_bytes=8388608 {options}"
    );
    for file in FILES {
        let directory = Directory::new();
        let start = || Served::start(&directory, &options);
        let mut served = start();
        let mut client = served.client();
        let (mut wrong, mut kills, mut count, mut has_state) = (Vec::new(), 0, 0, false);
        for checked in read(file) {
            let (answers, difference) = ask(&mut client, &checked);
            wrong.extend(difference.map(|difference| format!("{file}.sql:{difference}")));
            count += 1;
            has_state |= is_of_session(&checked.text);
            has_state &= !checked.text.starts_with("DEALLOCATE ALL");
            let Some(ready) = answers.last() else {
                panic!("{options}: {file}.sql:{}: no answer to {}", checked.line, checked.text)
            };
            if !has_state && count >= statements_max && ready.body == b"I" {
                drop(served);
                served = start();
                client = served.client();
                (kills, count) = (kills + 1, 0);
            }
        }
        assert_none(&options, &wrong);
        assert!(kills > 0, "{file}: nothing was killed");
    }
}

#[test]
fn poplar() {
    run("");
    run("--set cc=optimistic");
    run("--set cc=mvcc");
}

#[test]
fn serial() {
    run("--set protocol=serial");
    run("--set protocol=serial --set logged=commands");
    run("--set protocol=serial --set logged=adaptive");
}

#[test]
fn gsn() {
    run("--set protocol=gsn");
    run("--set protocol=gsn --set logged=physiological");
}

#[test]
fn taurus() {
    run("--set protocol=taurus");
    run("--set protocol=taurus --set logged=commands");
}

#[test]
fn silo_and_plover() {
    run("--set protocol=silo");
    run("--set protocol=plover");
}

#[test]
fn statements_about_sessions() {
    for file in OF_SESSIONS {
        let directory = Directory::new();
        let served = Served::start(&directory, "--auth trust --no-socket");
        let mut client = served.client();
        let differences = read(file).into_iter().filter_map(|checked| ask(&mut client, &checked).1);
        assert_none(file, &differences.collect::<Vec<_>>());
    }
}

/// Whether a statement gives the same when it is run again.
fn is_repeatable(text: &str) -> bool {
    let text = text.to_lowercase();
    let is_query = ["select", "with", "values", "table", "("].iter().any(|first| text.starts_with(first));
    let changes = [
        "insert ",
        "update",
        "delete ",
        "nextval",
        "setval",
        "random",
        "clock_",
        "timeofday",
        "set_config",
        "advisory",
        "pg_sleep",
        "into ",
        "from sqv",
    ];
    is_query && !changes.iter().any(|word| text.contains(word))
}

/// A text that comes again is not read again, nor is one with other literals: each query gives the same three times, also its
/// errors and the types of its columns.
#[test]
fn asked_again() {
    let mut count = 0;
    for file in FILES {
        let directory = Directory::new();
        let served = Served::start(&directory, "--auth trust --no-socket");
        let mut client = served.client();
        for checked in read(file) {
            let (first, difference) = ask(&mut client, &checked);
            assert_none(file, difference.as_slice());
            if first.last().unwrap().body == b"E" || !is_repeatable(&checked.text) {
                continue;
            }
            for _ in 0..2 {
                let again = client.ask(&query(&checked.text));
                // Where a literal is converted says whether its error has a place.
                let parts = |answers: &[Answer]| -> Vec<_> {
                    let part = |answer: &Answer| match answer.kind {
                        'E' => ('E', [answer.field('C').unwrap(), answer.field('M').unwrap()].concat().into_bytes()),
                        kind => (kind, answer.body.clone()),
                    };
                    answers.iter().map(part).collect()
                };
                assert_eq!(parts(&first), parts(&again), "{file}.sql:{}: {}", checked.line, checked.text);
            }
            count += 1;
        }
    }
    assert!(count > 700, "{count} queries were asked again");
}
