//! What a client was told of its transactions, held against what a server has after it was killed: the test is the ledger, and
//! several connections run transactions of many kinds against a real process, which SIGKILL ends at random moments.
//!
//! After each kill everything that was acknowledged is there, and nothing of what was reported as failed; each transaction is
//! there whole or not at all, in all of its tables; indexes, foreign keys and checks agree with the rows. A transaction
//! acknowledged with `synchronous_commit = off` may be lost, but only whole, and not where a later one that read it was
//! acknowledged with `on`. Protocol and concurrency control change from one life of the server to the next, and some are killed
//! while they recover.
//!
//! `OSIER_LEDGER_ROUNDS=50` is how many kills there are, `OSIER_LEDGER_SEED=7` the seed of all that the test draws: what the
//! clients ask for, and when the server dies. How they meet, no seed repeats.
//!
//! That it finds what is lost shows `a_database_that_is_set_back_is_found_out`: after a kill it puts the files of before the
//! round in their place.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test says what it has done, and its seed")]

mod ledger;
#[path = "../support/mod.rs"]
mod support;
mod work;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;
use ledger::{Ledger, State};
use support::served::{Client, Served, query};
use support::{Directory, succeeds};
use work::{PARENTS, Worker};

const TABLES: &str = "\
    CREATE TABLE parents (id bigint PRIMARY KEY, children bigint NOT NULL CHECK (children >= 0), ever bigint NOT NULL);
    CREATE TABLE facts (id bigint PRIMARY KEY, tx bigint NOT NULL, size int NOT NULL, version int NOT NULL,
        code text NOT NULL UNIQUE, parent bigint NOT NULL REFERENCES parents);
    CREATE INDEX facts_tx ON facts (tx);
    CREATE INDEX facts_parent ON facts (parent);
    CREATE TABLE details (fact bigint PRIMARY KEY REFERENCES facts ON DELETE CASCADE, note text NOT NULL);
    CREATE TABLE balances (id int PRIMARY KEY, amount bigint NOT NULL CHECK (amount >= 0))";

/// Makes rows as a statement of a client does, without the checks of SQL.
const PROCEDURES: &str = "
procedure book(tx bigint, parent bigint, size integer) returns (ever bigint) {
    update parents (parent) as p set children = p.children + size, ever = p.ever + size else { abort 'P0002' 'no parent'; }
    for n = 1 to size {
        insert into facts (id, tx, size, version, code, parent)
            values (tx * 8 + n, tx, size, 0, 'c' || (tx * 8 + n), parent);
    }
    return p.ever + size;
}";

/// Small files, so that there are many within a round.
const SMALL: &str = "--auth trust --no-socket --set transaction_log_bytes_max=262144 --set ring_bytes=1048576 \
    --set segment_bytes=8388608";

/// What a server may be started with.
const LIVES: [&str; 9] = [
    "--set protocol=poplar",
    "--set protocol=poplar --set cc=mvcc",
    "--set protocol=poplar --set cc=optimistic",
    "--set protocol=serial --set logged=commands",
    "--set protocol=serial --set logged=adaptive",
    "--set protocol=gsn --set logged=physiological",
    "--set protocol=taurus --set logged=commands",
    "--set protocol=silo",
    "--set protocol=plover",
];

const WORKERS: usize = 4;
/// What all balances hold together.
const MONEY: i64 = 1000 * PARENTS as i64;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Makes the database.
fn fill(directory: &Directory, options: &str) {
    let served = Served::start(directory, options);
    let mut client = served.client();
    let rows = (0..PARENTS)
        .map(|id| format!("INSERT INTO parents VALUES ({id}, 0, 0); INSERT INTO balances VALUES ({id}, 1000)"));
    for text in TABLES.split(";\n").map(str::to_owned).chain(rows) {
        let answers = client.ask(&query(&text));
        assert!(answers.iter().all(|answer| answer.kind != 'E'), "{text}: {answers:?}");
    }
    drop(client);
    served.signal();
    assert!(served.wait().success());
    std::fs::write(directory.join("book.procedures"), PROCEDURES).unwrap();
    succeeds(directory, "procedure load book.procedures --dir db");
}

/// The rows of a query, with their columns as text.
fn rows(client: &mut Client, text: &str) -> Vec<Vec<String>> {
    let answers = client.ask(&query(text));
    assert!(answers.iter().all(|answer| answer.kind != 'E'), "{text}: {answers:?}");
    let shown = |column: Option<Vec<u8>>| column.map_or("NULL".to_owned(), |text| String::from_utf8(text).unwrap());
    let rows = answers.iter().filter(|answer| answer.kind == 'D');
    rows.map(|row| row.columns().into_iter().map(shown).collect()).collect()
}

/// Queries that each count what must not be: the tables agree with each other, and their indexes with them.
const NONE_OF: [(&str, &str); 10] = [
    (
        "transactions in part",
        "SELECT count(*) FROM (SELECT tx FROM facts GROUP BY tx HAVING count(*) <> max(size) \
        OR min(size) <> max(size) OR min(version) <> max(version) OR min(parent) <> max(parent)) t",
    ),
    ("rows that were rolled back", "SELECT count(*) FROM facts WHERE code LIKE 'lost%'"),
    ("rows with a wrong code", "SELECT count(*) FROM facts WHERE code <> 'c' || id"),
    ("facts without a parent", "SELECT count(*) FROM facts LEFT JOIN parents p ON p.id = parent WHERE p.id IS NULL"),
    ("details without a fact", "SELECT count(*) FROM details LEFT JOIN facts f ON f.id = fact WHERE f.id IS NULL"),
    (
        "parents that have counted wrong",
        "SELECT count(*) FROM parents WHERE ever < children \
        OR children <> (SELECT count(*) FROM facts WHERE parent = parents.id)",
    ),
    (
        "codes that the index does not find",
        "SELECT (SELECT count(*) FROM facts) - count(*) FROM facts a \
        JOIN facts b ON b.code = 'c' || a.id WHERE a.id - b.id = 0",
    ),
    ("codes that the index has beside", "SELECT (SELECT count(*) FROM facts WHERE code >= '') - count(*) FROM facts"),
    ("numbers that the index has beside", "SELECT (SELECT count(*) FROM facts WHERE tx >= 0) - count(*) FROM facts"),
    ("balances below zero", "SELECT count(*) FROM balances WHERE amount < 0"),
];

/// Has queries answered by indexes where these can.
const BY_INDEXES: &str = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off";

/// Looks at what a kill has left. Returns what is wrong.
fn check(client: &mut Client, ledgers: &mut [Ledger]) -> Vec<String> {
    let mut wrong = Vec::new();
    rows(client, BY_INDEXES);
    for (what, text) in NONE_OF {
        let count = &rows(client, text)[0][0];
        if count != "0" {
            wrong.push(format!("{count} {what}"));
        }
    }
    let money = &rows(client, "SELECT sum(amount) FROM balances")[0][0];
    if *money != MONEY.to_string() {
        wrong.push(format!("the balances hold {money} of {MONEY}"));
    }
    let version = |row: &Vec<String>| (row[0].parse().unwrap(), Some(row[1].parse().unwrap()));
    let found = rows(client, "SELECT tx, max(version) FROM facts GROUP BY tx");
    let mut found: BTreeMap<u64, State> = found.iter().map(version).collect();
    let tables =
        rows(client, "SELECT substr(relname, 6) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'made\\_%'");
    let mut tables: Vec<u64> = tables.iter().map(|row| row[0].parse().unwrap()).collect();
    for table in &tables {
        let count = &rows(client, &format!("SELECT count(*) FROM made_{table}"))[0][0];
        assert_eq!(count, "2", "made_{table}");
    }
    for ledger in &mut *ledgers {
        wrong.extend(ledger.compare(&mut found));
        for (number, _) in ledger.fates.iter().filter(|(_, fate)| fate.has_table && fate.current.is_some()) {
            match tables.iter().position(|table| table == number) {
                Some(at) => drop(tables.swap_remove(at)),
                None => wrong.push(format!("table made_{number} is missing")),
            }
        }
    }
    wrong.extend(found.keys().map(|number| format!("nobody has made transaction {number}")));
    wrong.extend(tables.iter().map(|number| format!("table made_{number} is there without its row")));
    for row in rows(client, "SELECT id, ever FROM parents") {
        let (parent, ever): (usize, i64) = (row[0].parse().unwrap(), row[1].parse().unwrap());
        let floor = ledgers.iter().filter_map(|ledger| ledger.floors.get(&parent)).max();
        if floor.is_some_and(|floor| ever < *floor) {
            wrong.push(format!("parent {parent} has counted {ever}, and a client has seen {floor:?}"));
        }
    }
    wrong
}

/// All workers work, and after a while the server is killed.
fn work(served: Served, ledgers: &mut Vec<Ledger>, lasts: &mut [u64], rng: &mut Rng) {
    let is_killed = AtomicBool::new(false);
    let until = Duration::from_millis(rng.u64(100..1200));
    // A slow machine is to give them time, too.
    let have_begun = Barrier::new(WORKERS + 1);
    let (served, is_killed, have_begun) = (&served, &is_killed, &have_begun);
    *ledgers = std::thread::scope(|scope| {
        let begin = |(number, (ledger, last)): (usize, (Ledger, _))| {
            let (seed, wavers) = (rng.u64(..), number == 0);
            scope.spawn(move || {
                let mut worker = Worker::new(served, is_killed, seed, ledger, last, wavers);
                have_begun.wait();
                worker.run();
                worker.ledger
            })
        };
        let workers: Vec<_> = ledgers.drain(..).zip(lasts).enumerate().map(begin).collect();
        have_begun.wait();
        std::thread::sleep(until);
        is_killed.store(true, Ordering::SeqCst);
        served.kill();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
}

/// Copies a directory, in place of what is there.
fn copy(from: &Path, to: &Path) {
    drop(std::fs::remove_dir_all(to));
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (kind, target) = (entry.file_type().unwrap(), to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target);
        } else if kind.is_file() {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// So many lives of a server. Returns what was wrong after the first one after which something was.
/// With `sets_back` each one finds the files of before the last one.
fn run(rounds: u64, seed: u64, sets_back: bool) -> Vec<String> {
    let (directory, mut rng) = (Directory::new(), Rng::with_seed(seed));
    let options = |rng: &mut Rng| format!("{SMALL} {}", LIVES[rng.usize(..LIVES.len())]);
    fill(&directory, &format!("{SMALL} {}", LIVES[0]));
    let mut ledgers = vec![Ledger::default(); WORKERS];
    let mut lasts: Vec<u64> = (0..WORKERS as u64).map(|worker| (worker + 1) * 1_000_000_000).collect();
    for round in 0..rounds {
        let options_now = options(&mut rng);
        if rng.u8(..3) == 0 {
            Served::start_and_kill(&directory, &options_now, Duration::from_millis(rng.u64(1..200)));
        }
        if sets_back {
            copy(&directory.join("db"), &directory.join("before"));
        }
        work(Served::start(&directory, &options_now), &mut ledgers, &mut lasts, &mut rng);
        if sets_back {
            copy(&directory.join("before"), &directory.join("db"));
        }
        let served = Served::start(&directory, &options(&mut rng));
        let wrong = check(&mut served.client(), &mut ledgers);
        if !wrong.is_empty() {
            return wrong.into_iter().map(|wrong| format!("round {round}, {options_now}: {wrong}")).collect();
        }
    }
    let [good, failed, doubtful] = [0, 1, 2].map(|at| ledgers.iter().map(|ledger| ledger.outcomes[at]).sum::<u64>());
    eprintln!("{rounds} kills: {good} transactions were acknowledged, {failed} failed, {doubtful} were in doubt");
    assert!(good > 20 * rounds && failed > rounds, "there was little to lose");
    wrong_plan(&directory)
}

/// The queries that compare indexes with rows are answered by the indexes.
fn wrong_plan(directory: &Directory) -> Vec<String> {
    let served = Served::start(directory, SMALL);
    let mut client = served.client();
    rows(&mut client, BY_INDEXES);
    let mut wrong = Vec::new();
    for (text, index) in [
        ("SELECT count(*) FROM facts WHERE code >= ''", "facts_code_key"),
        ("SELECT count(*) FROM facts WHERE tx >= 0", "facts_tx"),
        ("SELECT count(*) FROM facts a JOIN facts b ON b.code = 'c' || a.id WHERE a.id - b.id = 0", "facts_code_key"),
    ] {
        let plan = rows(&mut client, &format!("EXPLAIN {text}")).concat().concat();
        wrong.extend((!plan.contains(index)).then(|| format!("{text} does not use {index}: {plan}")));
    }
    wrong
}

#[test]
fn what_was_acknowledged_survives_kills() {
    let rounds = variable("OSIER_LEDGER_ROUNDS").unwrap_or(5);
    let seed = variable("OSIER_LEDGER_SEED").unwrap_or_else(|| Rng::new().u64(..1_000_000));
    eprintln!("OSIER_LEDGER_SEED={seed}");
    let wrong = run(rounds, seed, false);
    assert!(wrong.is_empty(), "OSIER_LEDGER_SEED={seed}:\n{}", wrong.join("\n"));
}

#[test]
fn a_database_that_is_set_back_is_found_out() {
    let wrong = run(1, 1, true);
    assert!(wrong.iter().any(|wrong| wrong.contains("is in state None")), "{wrong:?}");
    assert!(wrong.iter().any(|wrong| wrong.contains("a client has seen")), "{wrong:?}");
}
