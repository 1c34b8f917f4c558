//! A queue of jobs in a table: workers take the next one with `FOR UPDATE SKIP LOCKED`, and none waits for another one.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test says what it has measured")]

mod support;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use support::Directory;
use support::served::{Answer, Client, Served, query};

const JOBS: i32 = 2_000;
const WORKERS: usize = 8;
const OPTIONS: &str = "--auth trust --no-socket";

/// What was answered: the rows, or the code of the error and its message.
fn shown(answers: &[Answer]) -> String {
    let column = |column: Option<Vec<u8>>| column.map_or("NULL".to_owned(), |text| String::from_utf8(text).unwrap());
    let mut lines = Vec::new();
    for answer in answers {
        match answer.kind {
            'D' => lines.push(answer.columns().into_iter().map(column).collect::<Vec<_>>().join("|")),
            'E' => lines.push(format!("{}: {}", answer.field('C').unwrap(), answer.field('M').unwrap())),
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

fn served(options: &str) -> (Directory, Served) {
    let directory = Directory::new();
    let served = Served::start(&directory, &format!("{OPTIONS} {options}"));
    let mut client = served.client();
    expect(
        &mut client,
        "CREATE TABLE jobs (id int PRIMARY KEY, state text NOT NULL DEFAULT 'new', priority int NOT NULL); \
         CREATE INDEX ON jobs (state, priority); \
         CREATE TABLE done (id int, worker int, PRIMARY KEY (id, worker))",
        "",
    );
    (directory, served)
}

fn fill(client: &mut Client, count: i32) {
    let text = format!("INSERT INTO jobs SELECT n, 'new', n % 7 FROM generate_series(1, {count}) AS n");
    expect(client, &text, "");
}

/// How a worker asks for its next job: by the primary key, by an index, and by what has to be sorted.
const NEXT: [&str; 3] = ["ORDER BY id", "ORDER BY priority, id", "ORDER BY priority DESC, id"];

/// Works until there is nothing left, or the server is gone: returns which jobs it was told to have done.
fn work(mut client: Client, worker: usize, next: &str) -> Vec<i32> {
    let text = format!("BEGIN; SELECT id FROM jobs WHERE state = 'new' {next} LIMIT 1 FOR UPDATE SKIP LOCKED");
    let mut done = Vec::new();
    loop {
        if !client.try_send(&query(&text)) {
            return done;
        }
        let told = shown(&client.answers());
        let Ok(id) = told.parse::<i32>() else {
            assert!(told.is_empty(), "worker {worker}: {told}");
            return done;
        };
        let finish = format!(
            "UPDATE jobs SET state = 'done' WHERE id = {id}; INSERT INTO done VALUES ({id}, {worker}); COMMIT; SELECT 7"
        );
        if !client.try_send(&query(&finish)) {
            return done;
        }
        match &*shown(&client.answers()) {
            "7" => done.push(id),
            "" => return done,
            other => panic!("worker {worker}: {other}"),
        }
    }
}

/// Each job is done by one worker, and no transaction fails: neither by a conflict nor by a circle.
#[test]
fn each_job_is_done_once() {
    let (_directory, served) = served("");
    let mut client = served.client();
    for next in NEXT {
        expect(&mut client, "TRUNCATE jobs, done", "");
        fill(&mut client, JOBS);
        let begun = Instant::now();
        let done: Vec<Vec<i32>> = std::thread::scope(|scope| {
            let start = |worker| {
                let client = served.client();
                scope.spawn(move || work(client, worker, next))
            };
            let workers: Vec<_> = (0..WORKERS).map(start).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        let taken = begun.elapsed();
        let all: BTreeSet<i32> = done.iter().flatten().copied().collect();
        assert_eq!(all, (1..=JOBS).collect(), "{next}: none is left out");
        assert_eq!(done.iter().map(Vec::len).sum::<usize>(), all.len(), "{next}: none is done twice");
        assert!(done.iter().all(|done| !done.is_empty()), "{next}: all work");
        expect(&mut client, "SELECT count(*), count(DISTINCT id) FROM done", &format!("{JOBS}|{JOBS}"));
        expect(&mut client, "SELECT count(*) FROM jobs WHERE state <> 'done'", "0");
        eprintln!("{next}: {:.0} jobs a second", f64::from(JOBS) / taken.as_secs_f64());
    }
}

/// All workers hold a job at the same time, although each would hold it for long.
#[test]
fn no_worker_waits_for_another_one() {
    let (_directory, served) = served("");
    let mut client = served.client();
    fill(&mut client, 50);
    for next in NEXT {
        let mut workers: Vec<Client> = (0..WORKERS).map(|_| served.client()).collect();
        let taken: Vec<String> = workers
            .iter_mut()
            .map(|worker| {
                let select = format!("SELECT id FROM jobs WHERE state = 'new' {next} LIMIT 1 FOR UPDATE SKIP LOCKED");
                ask(worker, &format!("BEGIN; SET LOCAL lock_timeout = 1000; {select}"))
            })
            .collect();
        let different: BTreeSet<&String> = taken.iter().collect();
        assert!(different.len() == WORKERS && taken.iter().all(|id| id.parse::<i32>().is_ok()), "{next}: {taken:?}");
        // What is not returned is not locked: the others can be changed, and new ones put in.
        let list = taken.join(",");
        let free = (1..=50).filter(|id| !taken.contains(&id.to_string()));
        expect(&mut client, "SET lock_timeout = 1000", "");
        for id in free {
            expect(&mut client, &format!("UPDATE jobs SET priority = priority WHERE id = {id}"), "");
        }
        expect(&mut client, "INSERT INTO jobs VALUES (51, 'new', 0); DELETE FROM jobs WHERE id = 51", "");
        let free = "(SELECT id FROM jobs FOR UPDATE SKIP LOCKED) AS free";
        expect(&mut client, &format!("SELECT count(*) FROM {free} WHERE id IN ({list})"), "0");
        for (worker, id) in workers.iter_mut().zip(&taken) {
            expect(worker, &format!("UPDATE jobs SET priority = priority WHERE id = {id}; COMMIT"), "");
        }
        expect(&mut client, &format!("SELECT count(*) FROM {free} WHERE id IN ({list})"), &WORKERS.to_string());
    }
}

/// Statements that take a job in one go, each of which must not wait for another worker. `$N` is how jobs are ordered.
const TAKING: [&str; 7] = [
    "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE state = 'new' $N FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id",
    "DELETE FROM jobs WHERE id = ANY(ARRAY(SELECT id FROM jobs WHERE state = 'new' $N LIMIT 1 FOR UPDATE SKIP LOCKED)) \
     RETURNING id",
    "UPDATE jobs SET state = 'done' WHERE id = (SELECT id FROM jobs WHERE state = 'new' $N FOR UPDATE SKIP LOCKED LIMIT 1) \
     RETURNING id",
    "UPDATE jobs AS j SET state = 'done' WHERE (j.id, j.priority) IN \
     (SELECT id, priority FROM jobs WHERE state = 'new' $N LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id",
    "WITH next AS (SELECT id FROM jobs WHERE state = 'new' $N LIMIT 1 FOR UPDATE SKIP LOCKED) \
     UPDATE jobs SET state = 'done' FROM next WHERE jobs.id = next.id RETURNING jobs.id",
    "DELETE FROM jobs USING (SELECT id FROM jobs WHERE state = 'new' $N LIMIT 1 FOR UPDATE SKIP LOCKED) AS next \
     WHERE jobs.id = next.id RETURNING jobs.id",
    "UPDATE jobs AS j SET state = 'done' WHERE EXISTS (SELECT FROM (SELECT id FROM jobs WHERE state = 'new' $N LIMIT 1 \
     FOR UPDATE SKIP LOCKED) AS next WHERE next.id = j.id) RETURNING id",
];

/// Takes jobs until there are none.
fn take(mut client: Client, text: &str) -> Vec<i32> {
    let mut taken = Vec::new();
    loop {
        let told = ask(&mut client, text);
        match told.parse::<i32>() {
            Ok(id) => taken.push(id),
            Err(_) if told.is_empty() => return taken,
            Err(_) => panic!("{text}: {told}"),
        }
    }
}

/// One statement takes a job: workers do not wait for each other, and each gets another one.
#[test]
fn a_statement_takes_a_job() {
    let (_directory, served) = served("");
    let mut client = served.client();
    for text in TAKING {
        for next in NEXT {
            let text = text.replace("$N", next);
            expect(&mut client, "TRUNCATE jobs", "");
            fill(&mut client, 20);
            let mut workers: Vec<Client> = (0..WORKERS).map(|_| served.client()).collect();
            let held = workers.iter_mut().map(|worker| ask(worker, &format!("BEGIN; SET lock_timeout = 2000; {text}")));
            let held: Vec<String> = held.collect();
            let different: BTreeSet<&String> = held.iter().collect();
            assert!(different.len() == WORKERS && held.iter().all(|id| id.parse::<i32>().is_ok()), "{text}: {held:?}");
            for worker in &mut workers {
                expect(worker, "ROLLBACK", "");
            }
        }
    }
}

/// Many workers at once take all jobs with statements alone: each job is taken once, and no statement fails.
#[test]
fn statements_take_each_job_once() {
    let (_directory, served) = served("");
    let mut client = served.client();
    for text in TAKING {
        let text = text.replace("$N", "ORDER BY id");
        expect(&mut client, "TRUNCATE jobs", "");
        fill(&mut client, JOBS / 20);
        let begun = Instant::now();
        let taken: Vec<Vec<i32>> = std::thread::scope(|scope| {
            let start = |_| {
                let (client, text) = (served.client(), &text);
                scope.spawn(move || take(client, text))
            };
            let workers: Vec<_> = (0..WORKERS).map(start).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        let per_second = f64::from(JOBS / 20) / begun.elapsed().as_secs_f64();
        let mut all: Vec<i32> = taken.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (1..=JOBS / 20).collect::<Vec<_>>(), "{text}");
        eprintln!("{per_second:.0} jobs a second: {text}");
    }
}

/// Of a join only those rows are locked that are returned.
#[test]
fn rows_of_joins_are_skipped() {
    let (_directory, served) = served("");
    let [mut one, mut other, mut third] = std::array::from_fn(|_| served.client());
    fill(&mut one, 20);
    expect(&mut one, "CREATE TABLE priorities (priority int PRIMARY KEY, name text)", "");
    expect(&mut one, "INSERT INTO priorities SELECT n, 'p' || n FROM generate_series(0, 6) AS n", "");
    let join =
        "SELECT j.id, p.name FROM jobs j JOIN priorities p USING (priority) WHERE state = 'new' AND name <> 'p1'";
    let outer = "SELECT j.id, p.name FROM jobs j LEFT JOIN priorities p ON p.priority = j.priority AND p.name <> 'p1'";
    let lock = "ORDER BY id LIMIT 2 FOR UPDATE OF j SKIP LOCKED";
    expect(&mut other, "SET lock_timeout = 1000", "");
    expect(&mut third, "SET lock_timeout = 1000", "");
    expect(&mut one, &format!("BEGIN; {join} {lock}"), "2|p2 3|p3");
    expect(&mut other, &format!("BEGIN; {join} {lock}"), "4|p4 5|p5");
    expect(&mut third, &format!("BEGIN; {outer} {lock}"), "1|NULL 6|p6");
    expect(&mut third, "UPDATE jobs SET priority = 1 WHERE id = 7; COMMIT", "");
    expect(&mut third, &format!("{join} {lock}"), "6|p6 9|p2");
    expect(&mut one, "ROLLBACK", "");
    expect(&mut third, &format!("{join} {lock}"), "2|p2 3|p3");
}

/// A row that somebody else has is not one that is not there.
#[test]
fn nothing_is_skipped_where_an_outer_join_has_nulls() {
    let (_directory, served) = served("");
    let mut client = served.client();
    expect(&mut client, "CREATE VIEW early AS SELECT * FROM jobs WHERE id < 3", "");
    let refused = "0A000: FOR UPDATE cannot be applied to the nullable side of an outer join";
    for right in ["jobs", "early", "(SELECT * FROM jobs)", "(SELECT * FROM early)"] {
        let text = format!("SELECT * FROM done LEFT JOIN {right} AS j USING (id) FOR UPDATE");
        expect(&mut client, &format!("{text} SKIP LOCKED"), refused);
        expect(&mut client, &format!("{text} OF j"), refused);
        expect(&mut client, &format!("{text} OF done SKIP LOCKED"), "");
        expect(&mut client, &format!("SELECT * FROM {right} AS j FULL JOIN done USING (id) FOR UPDATE"), refused);
        expect(&mut client, &format!("SELECT * FROM {right} AS j RIGHT JOIN done USING (id) FOR UPDATE"), refused);
    }
    expect(&mut client, "SELECT done.id FROM done LEFT JOIN (VALUES (1)) AS v (id) USING (id) FOR UPDATE", "");
}

/// A row that has changed since it was found is looked at again.
#[test]
fn a_row_is_meant_when_it_is_locked() {
    let (_directory, served) = served("");
    let [mut one, mut other] = std::array::from_fn(|_| served.client());
    fill(&mut one, 3);
    expect(&mut one, "BEGIN; UPDATE jobs SET state = 'done' WHERE id = 1; DELETE FROM jobs WHERE id = 2", "");
    let next = "SELECT id FROM jobs WHERE state = 'new' ORDER BY id FOR UPDATE SKIP LOCKED";
    expect(&mut other, next, "3");
    expect(&mut other, "SELECT id FROM jobs WHERE id IN (1, 2) FOR SHARE SKIP LOCKED", "");
    expect(&mut other, "SELECT id FROM jobs WHERE id = 1 FOR SHARE SKIP LOCKED", "");
    expect(&mut one, "ROLLBACK", "");
    expect(&mut other, next, "1 2 3");
}

#[test]
fn nowait_names_the_table() {
    let (_directory, served) = served("");
    let [mut one, mut other] = std::array::from_fn(|_| served.client());
    fill(&mut one, 3);
    expect(&mut one, "BEGIN; SELECT id FROM jobs WHERE id = 2 FOR UPDATE", "2");
    for text in [
        "SELECT id FROM jobs WHERE id = 2 FOR UPDATE NOWAIT",
        "SELECT id FROM jobs WHERE id IN (1, 2) FOR SHARE NOWAIT",
        "SELECT id FROM jobs ORDER BY id FOR UPDATE NOWAIT",
        "SELECT id FROM jobs AS j WHERE priority > 0 FOR UPDATE OF j NOWAIT",
    ] {
        expect(&mut other, text, "55P03: could not obtain lock on row in relation \"jobs\"");
    }
    expect(&mut other, "SELECT id FROM jobs WHERE id = 3 FOR UPDATE NOWAIT", "3");
}

/// Where rows are not locked none is skipped: two that take the same one meet a conflict, and nothing is done twice.
#[test]
fn without_locks_nothing_is_skipped() {
    for options in ["--set cc=optimistic", "--set cc=mvcc"] {
        let (_directory, served) = served(options);
        let [mut one, mut other] = std::array::from_fn(|_| served.client());
        fill(&mut one, 3);
        for client in [&mut one, &mut other] {
            let next = "SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
            expect(client, &format!("BEGIN; {next}"), "1");
            expect(client, "UPDATE jobs SET state = 'done' WHERE id = 1", "");
        }
        expect(&mut one, "COMMIT", "");
        let told = ask(&mut other, "COMMIT");
        assert!(told.starts_with("40001"), "{options}: {told}");
    }
}

/// What a worker was told to have done is done once, whenever the server is killed.
#[test]
fn a_kill_loses_no_job_and_doubles_none() {
    let (directory, mut served) = served("");
    fill(&mut served.client(), JOBS);
    let mut told = BTreeSet::new();
    for round in 0..4 {
        let done: Vec<Vec<i32>> = std::thread::scope(|scope| {
            let start = |worker| {
                let client = served.client();
                scope.spawn(move || work(client, worker, NEXT[round % NEXT.len()]))
            };
            let workers: Vec<_> = (0..WORKERS).map(start).collect();
            if round < 3 {
                std::thread::sleep(Duration::from_millis(60));
                served.kill();
            }
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        for id in done.into_iter().flatten() {
            assert!(told.insert(id), "job {id} was done by two");
        }
        drop(served);
        served = Served::start(&directory, OPTIONS);
        let mut client = served.client();
        expect(&mut client, "SELECT count(*) FROM (SELECT id FROM done GROUP BY id HAVING count(*) > 1) AS twice", "0");
        let recorded = ask(&mut client, "SELECT id FROM done");
        let recorded: BTreeSet<i32> = recorded.split_whitespace().map(|id| id.parse().unwrap()).collect();
        assert!(told.is_subset(&recorded), "what was acknowledged is there");
        expect(&mut client, "SELECT count(*) FROM jobs WHERE state = 'done'", &recorded.len().to_string());
        // What a worker had done and was not told is done, too.
        told = recorded;
    }
    assert_eq!(told.len(), JOBS as usize);
}

/// What is locked through a view, or a subquery in `FROM`, nobody else gets.
#[test]
fn rows_are_locked_through_views() {
    let (_directory, served) = served("");
    let [mut one, mut other, mut third] = std::array::from_fn(|_| served.client());
    fill(&mut one, 3);
    expect(&mut one, "CREATE VIEW early AS SELECT * FROM jobs WHERE id < 3", "");
    expect(&mut one, "BEGIN; SELECT id FROM early ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED", "1");
    expect(&mut other, "SELECT id FROM early WHERE id = 1 FOR UPDATE SKIP LOCKED", "");
    expect(&mut other, "SELECT id FROM (SELECT * FROM early) s WHERE id = 1 FOR UPDATE OF s SKIP LOCKED", "");
    expect(&mut other, "BEGIN; SELECT id FROM (SELECT * FROM jobs WHERE id = 3) s FOR UPDATE SKIP LOCKED", "3");
    expect(&mut third, "SELECT id FROM jobs WHERE id IN (1, 3) FOR UPDATE SKIP LOCKED", "");
    let refused = "55P03: could not obtain lock on row in relation \"jobs\"";
    expect(&mut third, "SELECT id FROM early WHERE id = 1 FOR UPDATE NOWAIT", refused);
    expect(&mut third, "SELECT id FROM (SELECT id FROM jobs) s WHERE id = 1 FOR UPDATE NOWAIT", refused);
    expect(&mut one, "COMMIT", "");
    expect(&mut other, "COMMIT", "");
    expect(&mut third, "SELECT id FROM early ORDER BY id FOR UPDATE NOWAIT", "1 2");
}
