//! Statements that nobody would write, within the process: each ends, with rows or with an error, whatever it says.
//!
//! `OSIER_HOSTILE_SECONDS=600` is how long mutated statements are run, `OSIER_HOSTILE_SEED=7` what they are drawn from.

#![expect(clippy::print_stderr, reason = "a test says what it has done, and its seed")]

mod support;
#[path = "../../server/tests/hostile/text.rs"]
mod text;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use fastrand::Rng;
use osier_sql::Result;
use osier_sql::session::{Mode, Status};
use support::{Client, Rows};

fn client(test: &str) -> Client {
    Client::new(&support::open(&support::directory(test)))
}

/// Each view doubles what the one before names.
#[test]
fn views_that_double_end() {
    let mut client = client("doubling");
    client.run("CREATE VIEW v0 AS SELECT 1 AS a");
    for level in 1..12 {
        let below = level - 1;
        client.run(&format!("CREATE VIEW v{level} AS SELECT x.a FROM v{below} x, v{below} y"));
    }
    client.expect("SELECT count(*) FROM v7", &["1"]);
    assert_eq!(client.error("SELECT count(*) FROM v11, v11 other").code(), "54000");
}

/// Two of them are printed as a comment, in which the rest of the text was lost.
#[test]
fn a_minus_before_a_minus_is_kept() {
    let mut client = client("minus");
    client.run("CREATE TABLE t (a int DEFAULT - -5, b int, CHECK (a > - - 1 AND b > 0))");
    client.run("INSERT INTO t (b) VALUES (7)");
    assert_eq!(client.error("INSERT INTO t VALUES (5, 0)").code(), "23514");
    client.run("CREATE VIEW v AS SELECT - -a AS a, - - -b ^ 2 AS c FROM t WHERE a > - -1");
    client.run("CREATE TABLE u AS SELECT - -a AS a, b FROM t");
    client.expect("SELECT * FROM v", &["5|49"]);
    client.expect("SELECT * FROM u", &["5|7"]);
    client.expect("SELECT 1 - -1, - - 2 * 3, 2 - - -1, -2 ^ 2, 2 ^ -1 ^ 2, -(2) ^ 2", &["2|6|1|4|0.25|4"]);
    client.expect("SELECT -a[1], -a[1]::text::int % 2 FROM (VALUES (ARRAY[5])) v(a)", &["-5|-1"]);
}

/// A literal is kept as it is, wherever its text is: one that ends in its middle would make SQL of the rest.
#[test]
fn literals_are_kept() {
    let mut client = client("literals");
    let texts = ["it''s", "''", r"\'", r"\' UNION SELECT ''secret", r"a\''b", "'", r"\", "'''", "x'", "$$", "\n\t"];
    for (at, text) in texts.iter().enumerate() {
        let (escaped, length) = (text.replace('\'', "''"), text.chars().count());
        for (which, literal) in [format!("'{escaped}'"), format!("N'{escaped}'")].iter().enumerate() {
            let name = format!("{at}_{which}");
            client.run(&format!("CREATE VIEW v{name} AS SELECT {literal} AS a, 1 AS b"));
            client.run(&format!("CREATE TABLE t{name} (a text DEFAULT {literal}, b int, CHECK (a = {literal}))"));
            client.run(&format!("INSERT INTO t{name} (b) VALUES (1)"));
            client.run(&format!("CREATE TABLE u{name} AS SELECT {literal} AS a, 1 AS b"));
            for relation in ["v", "t", "u"] {
                let found = client.run(&format!("SELECT b, length(a) FROM {relation}{name} WHERE a = {literal}"));
                assert_eq!(found, format!("1|{length}"), "{relation}: {literal}");
            }
            let copied = client.run(&format!("COPY (SELECT length({literal})) TO STDOUT"));
            assert_eq!(copied.trim(), length.to_string(), "{literal}");
        }
    }
    client.run(r"CREATE SEQUENCE s; CREATE TABLE n (a text DEFAULT nextval('s')::text || E'\'x' || '\''', b int)");
    client.run("INSERT INTO n (b) VALUES (1)");
    client.expect("SELECT a FROM n", &[r"1'x\'"]);
    for name in [r#""a""""b""#, r#""a\""""#] {
        assert_eq!(client.error(&format!("SELECT 1 AS {name}")).code(), "42602");
    }
}

#[test]
fn what_is_unknown_is_null() {
    let mut client = client("unknown");
    client.expect("SELECT pg_get_constraintdef(99), pg_get_viewdef(99), pg_get_indexdef(99)", &["NULL|NULL|NULL"]);
    client.expect(
        "SELECT translate('abcab', 'aba', 'xyz'), translate('abc', 'ab', ''), translate('ab', '', 'x')",
        &["xycxy|c|ab"],
    );
}

#[test]
fn what_is_too_large_is_refused() {
    let mut client = client("large");
    let list = |count: usize| vec!["1"; count].join(", ");
    let tables = |joined: &str| (0..257).map(|at| format!("(VALUES (1)) v{at}")).collect::<Vec<_>>().join(joined);
    for (text, code) in [
        (format!("SELECT {}", list(1665)), "54011"),
        (format!("VALUES ({})", list(1665)), "54011"),
        (format!("SELECT * FROM (SELECT {}) a, (SELECT {}) b", list(1000), list(1000)), "54011"),
        (format!("SELECT 1 FROM {}", tables(" CROSS JOIN ")), "54000"),
        (format!("SELECT 1 FROM {}", tables(", ")), "54000"),
        (format!("SELECT 1::int{}", "[]".repeat(100_000)), "54001"),
        (format!("CREATE TABLE t (a int{})", "[]".repeat(100_000)), "54001"),
        (format!("SELECT '{{1}}'::int[]{}", "[1]".repeat(100_000)), "54001"),
        (format!("SELECT 1, 2{}", " UNION ALL SELECT 1, 2".repeat(100_000)), "54001"),
        (format!("SELECT 'a'{}", " COLLATE \"C\"".repeat(100_000)), "54001"),
        (format!("SELECT {}true{}", "(".repeat(40), " BETWEEN false AND true)".repeat(40)), "54001"),
        (format!("SELECT {}true{}", "(".repeat(40), " BETWEEN SYMMETRIC false AND true)".repeat(40)), "54001"),
        (format!("INSERT INTO t VALUES (1) ON CONFLICT ({}1) DO NOTHING", "ARRAY[".repeat(300)), "54001"),
    ] {
        assert_eq!(client.error(&text).code(), code, "{}", &text[..60]);
    }
    let row = client.run(&format!("SELECT {}", list(1664)));
    assert_eq!(row.split('|').count(), 1664);
    let keys: Vec<String> = (0..1664).map(|at| format!("g + {at}")).collect();
    let ordered = format!("SELECT g FROM generate_series(1, 2) g ORDER BY {}", keys.join(", "));
    assert_eq!(client.error(&ordered).code(), "54011");
}

/// Runs the statements of a text, each as a client does that has nothing to say to `COPY` but the same text.
fn run(client: &mut Client, text: &str) -> Result<()> {
    let session = &mut client.session;
    for parsed in session.split(text)? {
        let prepared = session.prepare_parsed(&parsed)?;
        let columns = prepared.columns().map(|columns| columns.iter().map(|column| column.declared).collect());
        let done = session.run(&prepared, &[], Mode::Alone, &mut Rows::of(columns.unwrap_or_default()))?;
        if done.copy_in.is_some() {
            session.copy_data(text.as_bytes())?;
            session.copy_done()?;
        }
    }
    Ok(())
}

/// As the server does: on a stack of that size.
#[test]
fn mutated_statements_end() {
    let work = std::thread::Builder::new().stack_size(osier::task::STACK_BYTES).spawn(run_mutated);
    work.expect("a thread").join().expect("each statement ends");
}

fn run_mutated() {
    /// So long may a statement take beyond its timeout: what is planned for long is not interrupted.
    const LATE_MAX: Duration = Duration::from_secs(20);
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = variable("OSIER_HOSTILE_SECONDS").unwrap_or(5);
    let seed = variable("OSIER_HOSTILE_SEED").unwrap_or_else(|| Rng::new().u64(..1_000_000));
    eprintln!("OSIER_HOSTILE_SEED={seed}");
    let (mut rng, samples) = (Rng::with_seed(seed), text::samples());
    let sql = support::open(&support::directory("mutated"));
    let until = Instant::now() + Duration::from_secs(seconds);
    let (mut counts, mut longest) = ([0_u64; 2], Duration::ZERO);
    while Instant::now() < until {
        let mut client = Client::new(&sql);
        for _ in 0..50 {
            client.run("SET statement_timeout = '1s'; SET lock_timeout = '1s'; SET work_mem = '64MB'");
            let drawn = text::draw(&mut rng, &samples);
            let Ok(text) = String::from_utf8(drawn) else { continue };
            let begun = Instant::now();
            let ended = catch_unwind(AssertUnwindSafe(|| run(&mut client, &text)));
            let shown: String = text.chars().take(4000).collect();
            let Ok(ended) = ended else { panic!("OSIER_HOSTILE_SEED={seed}: a panic at {shown:?}") };
            longest = longest.max(begun.elapsed());
            assert!(begun.elapsed() < LATE_MAX, "OSIER_HOSTILE_SEED={seed}: {:?} for {shown:?}", begun.elapsed());
            counts[usize::from(ended.is_err())] += 1;
            if let Err(error) = ended {
                assert_ne!(error.code(), "XX000", "OSIER_HOSTILE_SEED={seed}: {error} at {shown:?}");
                client.session.fail(error);
            }
            let is_open = client.status() != Status::Idle;
            if client.status() == Status::Failed || is_open && rng.u8(..4) == 0 {
                drop(run(&mut client, "ROLLBACK"));
            }
        }
    }
    eprintln!("{} statements ran, {} failed, the longest took {longest:?}", counts[0], counts[1]);
    assert!(counts[0] > 20 && counts[1] > 20, "{counts:?}");
}
