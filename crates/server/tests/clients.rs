//! Clients that others have written, against `osier serve`: psql, the JDBC driver, psycopg and SQLAlchemy. What each prints is
//! compared with what it has printed of PostgreSQL 15. pgbench and sysbench run without an error, and their sums are right.
//!
//! A client that is not installed is left out, which the test says. `OSIER_TEST_PYTHON` names the interpreter that has psycopg
//! and SQLAlchemy, `OSIER_TEST_JDBC` the file with the driver.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test that is left out says so")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::Directory;
use support::served::Served;

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// What a program has printed; `None` where it cannot be started.
fn run(program: &str, arguments: &[&str]) -> Option<(bool, String)> {
    let output = Command::new(program).args(arguments).current_dir(programs()).output().ok()?;
    let shown = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Some((output.status.success(), shown))
}

/// Whether a program is there and does what it is asked.
fn is_there(program: &str, arguments: &[&str]) -> bool {
    let is_there = run(program, arguments).is_some_and(|(is_good, _)| is_good);
    if !is_there {
        eprintln!("skipped: {program} {} does not run here", arguments.join(" "));
    }
    is_there
}

/// A server with the tables that all programs ask for.
fn served() -> (Directory, Served) {
    let directory = Directory::new();
    let served = Served::start(&directory, "--auth trust --no-socket");
    let mut client = served.client();
    let tables = std::fs::read_to_string(programs().join("tables.sql")).unwrap();
    for statement in tables.lines().filter(|line| !line.is_empty()) {
        let answers = client.ask(&support::served::query(statement));
        assert!(answers.iter().all(|answer| answer.kind != 'E'), "{statement}: {answers:?}");
    }
    (directory, served)
}

#[track_caller]
fn compare(name: &str, found: &str) {
    let expected = std::fs::read_to_string(programs().join(name)).unwrap();
    for (at, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "{name}, line {}", at + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{name}");
}

#[test]
fn psql_describes_tables() {
    if !run("psql", &["--version"]).is_some_and(|(_, version)| version.contains("(PostgreSQL) 15.")) {
        eprintln!("skipped: psql 15 is not installed");
        return;
    }
    let (_directory, served) = served();
    let port = served.port.to_string();
    let arguments = ["-qX", "-h", "127.0.0.1", "-p", &port, "-U", "osier", "-f", "commands.psql", "osier"];
    let (_, shown) = run("psql", &arguments).unwrap();
    compare("psql.expected", &shown);
}

#[test]
fn the_jdbc_driver_finds_tables() {
    let driver = std::env::var("OSIER_TEST_JDBC").unwrap_or_else(|_| "/usr/share/java/postgresql.jar".to_owned());
    if !Path::new(&driver).exists() || !is_there("javac", &["-version"]) || !is_there("java", &["-version"]) {
        eprintln!("skipped: no JDBC driver at {driver}, or no Java");
        return;
    }
    let (directory, served) = served();
    let classes = directory.path().join("classes");
    std::fs::create_dir_all(&classes).unwrap();
    let classes = classes.to_str().unwrap().to_owned();
    let (is_compiled, said) = run("javac", &["-d", &classes, "Metadata.java"]).unwrap();
    assert!(is_compiled, "{said}");
    let url = format!("jdbc:postgresql://127.0.0.1:{}/osier?user=osier", served.port);
    let (_, shown) = run("java", &["-cp", &format!("{classes}:{driver}"), "Metadata", &url]).unwrap();
    compare("jdbc.expected", &shown);
}

fn python() -> String {
    std::env::var("OSIER_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

#[test]
fn psycopg_writes_and_reads() {
    let python = python();
    if !is_there(&python, &["-c", "import psycopg"]) {
        return;
    }
    let (_directory, served) = served();
    let home = format!("host=127.0.0.1 port={} user=osier dbname=osier", served.port);
    let (_, shown) = run(&python, &["driver.py", &home]).unwrap();
    compare("psycopg.expected", &shown);
}

#[test]
fn sqlalchemy_reflects_and_maps() {
    let python = python();
    if !is_there(&python, &["-c", "import psycopg, sqlalchemy; assert sqlalchemy.__version__ > '2'"]) {
        return;
    }
    let (_directory, served) = served();
    let url = format!("postgresql+psycopg://osier@127.0.0.1:{}/osier", served.port);
    let (_, shown) = run(&python, &["reflect.py", &url]).unwrap();
    compare("sqlalchemy.expected", &shown);
}

/// Runs a benchmark, which must succeed; returns what it prints.
fn benchmark(program: &str, served: &Served, line: &str) -> String {
    let port = served.port.to_string();
    let line = line.replace("PORT", &port);
    let (is_good, shown) = run(program, &line.split_whitespace().collect::<Vec<_>>()).unwrap();
    assert!(is_good && !shown.contains("FATAL") && !shown.contains("ERROR"), "{program} {line}:\n{shown}");
    shown
}

/// The number behind a label.
fn figure(shown: &str, label: &str) -> i64 {
    let line =
        shown.lines().find_map(|line| line.trim().strip_prefix(label)).unwrap_or_else(|| panic!("{label}: {shown}"));
    let digits = line.trim_start().split(|c: char| !c.is_ascii_digit()).next();
    digits.unwrap().parse().unwrap_or_else(|_| panic!("{label}: {shown}"))
}

/// The one row of a query, with its columns as text.
fn row(served: &Served, text: &str) -> Vec<String> {
    let answers = served.client().ask(&support::served::query(text));
    let row = answers.iter().find(|answer| answer.kind == 'D').unwrap_or_else(|| panic!("{text}: {answers:?}"));
    row.columns().into_iter().map(|column| String::from_utf8(column.unwrap()).unwrap()).collect()
}

#[test]
fn pgbench_loses_no_transaction() {
    const CLIENTS: i64 = 4;
    const EACH: i64 = 50;
    if !is_there("pgbench", &["--version"]) {
        return;
    }
    let directory = Directory::new();
    let served = Served::start(&directory, "--auth trust --no-socket");
    let home = "-h 127.0.0.1 -p PORT -U osier osier";
    benchmark("pgbench", &served, &format!("-i -I dtgvpf -q -s 1 {home}"));
    let mut written = 0;
    for (script, writes) in [("tpcb-like", true), ("simple-update", true), ("select-only", false)] {
        for mode in ["simple", "extended", "prepared"] {
            let line = format!("-n -c {CLIENTS} -j 2 -t {EACH} -M {mode} -b {script} {home}");
            let shown = benchmark("pgbench", &served, &line);
            assert_eq!(figure(&shown, "number of transactions actually processed:"), CLIENTS * EACH, "{line}");
            assert_eq!(figure(&shown, "number of failed transactions:"), 0, "{line}: {shown}");
            written += if writes { CLIENTS * EACH } else { 0 };
        }
        // The simple update leaves tellers and branches as they are.
        let sums = "SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(delta) FROM pgbench_history), \
                    (SELECT sum(tbalance) FROM pgbench_tellers), (SELECT sum(bbalance) FROM pgbench_branches), \
                    (SELECT count(*) FROM pgbench_history)";
        let sums = row(&served, sums);
        assert_eq!((&sums[0], &sums[2]), (&sums[1], &sums[3]), "{script}: {sums:?}");
        assert!(script != "tpcb-like" || sums[0] == sums[2], "{sums:?}");
        assert_eq!(sums[4], written.to_string(), "{script}");
    }
}

#[test]
fn sysbench_runs_to_its_end() {
    const EVENTS: i64 = 200;
    if !is_there("sysbench", &["--version"]) {
        return;
    }
    let directory = Directory::new();
    let served = Served::start(&directory, "--auth trust --no-socket");
    let options = "--db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port=PORT --pgsql-user=osier --pgsql-db=osier \
                   --tables=2 --table-size=2000 --rand-type=uniform --threads=4 --time=60";
    benchmark("sysbench", &served, &format!("oltp_read_write {options} prepare"));
    for script in ["oltp_read_write", "oltp_point_select", "oltp_write_only"] {
        for prepares in ["auto", "disable"] {
            let line = format!("{script} {options} --events={EVENTS} --db-ps-mode={prepares} run");
            let shown = benchmark("sysbench", &served, &line);
            // Those that met in a circle were run again, which it counts as errors that it passes over.
            assert!(figure(&shown, "transactions:") >= EVENTS, "{line}: {shown}");
            assert!(figure(&shown, "ignored errors:") <= EVENTS / 4, "{line}: {shown}");
            assert_eq!(figure(&shown, "reconnects:"), 0, "{line}: {shown}");
        }
    }
    for table in ["sbtest1", "sbtest2"] {
        let found = row(&served, &format!("SELECT count(*), count(DISTINCT id), min(length(c)) FROM {table}"));
        assert_eq!(found, ["2000", "2000", "119"], "{table}: each deleted row is inserted again");
    }
    benchmark("sysbench", &served, &format!("oltp_read_write {options} cleanup"));
}
