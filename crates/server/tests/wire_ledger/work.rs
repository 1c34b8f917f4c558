//! What a worker does: transactions of several kinds, through one connection at a time, until the server is gone.
//!
//! Each transaction has a number. The rows that it makes carry the number, how many they are and a version; its parent counts
//! them. A worker changes and removes the rows of its own transactions alone, and all workers change the same parents.

use std::sync::atomic::{AtomicBool, Ordering};

use fastrand::Rng;

use super::ledger::{Ledger, Outcome};
use super::support::served::{Answer, Client, Served, execute, message, parse, query, sync};

/// How many parents and balances there are.
pub const PARENTS: usize = 6;
/// Rows of one transaction, at most.
const SIZE_MAX: usize = 5;
/// The numbers of rows: that of the transaction times this, and more.
const ROWS_PER_NUMBER: u64 = 8;

/// Makes rows, counts them with their parent, and returns the count.
const WHOLE: &str = "WITH p AS (UPDATE parents SET children = children + $3, ever = ever + $3 WHERE id = $2 RETURNING id, ever), \
    f AS (INSERT INTO facts SELECT $1::bigint * 8 + n, $1, $3, 0, 'c' || ($1::bigint * 8 + n), $2 \
    FROM generate_series(1, $3::int) n RETURNING id) \
    SELECT ever FROM p";

/// The connection broke.
#[derive(Debug)]
struct Gone;

/// Errors that a transaction may end with because of others.
const CONFLICTS: [&str; 2] = ["40001", "40P01"];

/// A worker.
pub struct Worker<'a> {
    server: &'a Served,
    /// Set before the server is killed.
    is_killed: &'a AtomicBool,
    client: Client,
    rng: Rng,
    /// What it knows.
    pub ledger: Ledger,
    /// The number of the last transaction.
    last: &'a mut u64,
    is_durable: bool,
    /// Whether `synchronous_commit` changes now and then.
    wavers: bool,
}

/// Whether one of the answers is an error. One that nobody expects ends the test.
fn failed(answers: &[Answer], expected: &[&str]) -> bool {
    let mut errors = answers.iter().filter(|answer| answer.kind == 'E').map(|answer| answer.field('C').unwrap());
    errors.any(|code| {
        let is_expected = CONFLICTS.contains(&code.as_str()) || expected.contains(&code.as_str());
        assert!(is_expected, "{:?}", answers.iter().filter_map(|answer| answer.field('M')).collect::<Vec<_>>());
        true
    })
}

/// The tags of what was done.
fn tags(answers: &[Answer]) -> Vec<String> {
    let tags = answers.iter().filter(|answer| answer.kind == 'C');
    tags.map(|answer| String::from_utf8_lossy(&answer.body).trim_end_matches('\0').to_owned()).collect()
}

/// The first column of the first row.
fn number(answers: &[Answer]) -> Option<i64> {
    let row = answers.iter().find(|answer| answer.kind == 'D')?;
    String::from_utf8(row.columns()[0].clone()?).unwrap().parse().ok()
}

/// Binds with parameters as text.
fn bind(statement: &str, parameters: &[u64]) -> Vec<u8> {
    let mut body = format!("\0{statement}\0\0\0").into_bytes();
    body.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
    for parameter in parameters {
        let text = parameter.to_string();
        body.extend_from_slice(&(text.len() as u32).to_be_bytes());
        body.extend_from_slice(text.as_bytes());
    }
    body.extend_from_slice(&[0, 0]);
    message(b'B', &body)
}

impl<'a> Worker<'a> {
    /// Connects.
    pub fn new(
        server: &'a Served,
        is_killed: &'a AtomicBool,
        seed: u64,
        ledger: Ledger,
        last: &'a mut u64,
        wavers: bool,
    ) -> Worker<'a> {
        let (client, rng) = (server.client(), Rng::with_seed(seed));
        let mut worker = Worker { server, is_killed, client, rng, ledger, last, is_durable: !wavers, wavers };
        assert!(worker.begin().is_ok(), "the server is there");
        worker
    }

    fn begin(&mut self) -> Result<(), Gone> {
        self.set()?;
        let prepared = [
            parse("whole", WHOLE),
            parse("fact", "INSERT INTO facts VALUES ($1, $2, $3, 0, 'c' || $1::bigint, $4)"),
            parse(
                "count",
                "UPDATE parents SET children = children + $2, ever = ever + $2 WHERE id = $1 RETURNING ever",
            ),
            parse("ever", "SELECT ever FROM parents WHERE id = $1"),
            sync(),
        ];
        let answers = self.ask(&prepared.concat(), &[])?;
        assert!(answers.iter().all(|answer| answer.kind != 'E'), "{answers:?}");
        Ok(())
    }

    fn set(&mut self) -> Result<(), Gone> {
        let commit = if self.is_durable { "on" } else { "off" };
        self.ask(&query(&format!("SET synchronous_commit = {commit}; SET lock_timeout = '20s'")), &[]).map(drop)
    }

    /// Works until the server is gone.
    pub fn run(&mut self) {
        while self.step().is_ok() {}
        assert!(self.is_killed.load(Ordering::SeqCst), "the server has closed a connection");
    }

    /// Sends, and reads up to `ReadyForQuery`. Says nothing of errors that are expected.
    fn ask(&mut self, bytes: &[u8], expected: &[&str]) -> Result<Vec<Answer>, Gone> {
        if !self.client.try_send(bytes) {
            return Err(Gone);
        }
        self.read(expected)
    }

    fn read(&mut self, expected: &[&str]) -> Result<Vec<Answer>, Gone> {
        let answers = self.client.answers();
        if answers.last().is_none_or(|answer| answer.kind != 'Z') {
            return Err(Gone);
        }
        failed(&answers, expected);
        Ok(answers)
    }

    fn next(&mut self) -> u64 {
        *self.last += 1;
        *self.last
    }

    /// Asks for something that is a transaction by itself.
    fn whole(&mut self, bytes: &[u8]) -> (Outcome, Vec<Answer>) {
        match self.ask(bytes, &[]) {
            Err(Gone) => (Outcome::InDoubt, Vec::new()),
            Ok(answers) if failed(&answers, &[]) => (Outcome::Failed, answers),
            Ok(answers) => (Outcome::Acknowledged, answers),
        }
    }

    /// Runs statements as a block, one by one. Unless `commits`, or where one of them fails, it is rolled back.
    fn block(&mut self, statements: &[String], commits: bool, expected: &[&str]) -> (Outcome, Vec<Answer>) {
        let mut all = Vec::new();
        for statement in [&["BEGIN".to_owned()], statements].concat() {
            // Nothing was committed before it was asked for.
            let Ok(answers) = self.ask(&query(&statement), expected) else { return (Outcome::Failed, all) };
            let is_failed = failed(&answers, expected);
            all.extend(answers);
            if is_failed {
                drop(self.ask(&query("ROLLBACK"), &[]));
                return (Outcome::Failed, all);
            }
        }
        if !commits {
            drop(self.ask(&query("ROLLBACK"), &[]));
            return (Outcome::Failed, all);
        }
        let (outcome, answers) = self.whole(&query("COMMIT"));
        if outcome == Outcome::Acknowledged {
            assert_eq!(tags(&answers), ["COMMIT"]);
        }
        (outcome, all)
    }

    /// One transaction. Fails where the server is gone.
    fn step(&mut self) -> Result<(), Gone> {
        let (number, size) = (self.next(), self.rng.usize(1..=SIZE_MAX));
        let parent = self.rng.usize(..PARENTS);
        if self.wavers && self.rng.u8(..6) == 0 {
            self.is_durable = !self.is_durable;
            self.set()?;
        }
        match self.rng.u8(..16) {
            0 => self.as_text(number, size, parent),
            1 | 2 => self.as_block(number, size, parent),
            3 => self.with_savepoints(number, size, parent),
            4 => self.by_copy(number, size, parent),
            5 | 6 => self.prepared(number, size, parent),
            7 => self.pipelined(parent),
            8 => self.called(number, size, parent),
            9 => self.with_a_table(number, parent),
            10 => self.failing(number, parent),
            11 => self.abandoned(number, size, parent),
            12 => self.revises(),
            13 => self.removes(),
            14 => self.transfers(),
            _ => self.observes(parent),
        }
        // A connection that is gone answers nothing.
        self.ask(&query(""), &[]).map(drop)
    }

    fn made(&mut self, number: u64, outcome: Outcome, size: usize, parent: usize, count: Option<i64>) {
        let is_durable = self.is_durable;
        self.ledger.made(number, outcome, is_durable, [size, parent], false);
        if let (Outcome::Acknowledged, true, Some(count)) = (outcome, is_durable, count) {
            self.ledger.observed(parent, count);
        }
    }

    /// The statements that make rows: by `INSERT` with several, with details, and with their count.
    fn statements(&self, number: u64, size: usize, parent: usize) -> Vec<String> {
        let row = |n: usize| {
            let id = number * ROWS_PER_NUMBER + n as u64;
            format!("({id}, {number}, {size}, 0, 'c{id}', {parent})")
        };
        let rows: Vec<String> = (1..=size).map(row).collect();
        let (first, count) = (number * ROWS_PER_NUMBER + 1, Worker::counting(parent, size));
        vec![
            format!("{count} RETURNING ever"),
            format!("INSERT INTO facts VALUES {} RETURNING id, code", rows.join(", ")),
            format!("INSERT INTO details VALUES ({first}, 'of {number}')"),
        ]
    }

    fn counting(parent: usize, size: usize) -> String {
        format!("UPDATE parents SET children = children + {size}, ever = ever + {size} WHERE id = {parent}")
    }

    /// Several statements in one message.
    fn as_text(&mut self, number: u64, size: usize, parent: usize) {
        let text = self.statements(number, size, parent).join("; ");
        let (outcome, answers) = self.whole(&query(&text));
        if outcome == Outcome::Acknowledged {
            assert_eq!(tags(&answers), ["UPDATE 1", &format!("INSERT 0 {size}"), "INSERT 0 1"]);
        }
        self.made(number, outcome, size, parent, crate::work::number(&answers));
    }

    fn as_block(&mut self, number: u64, size: usize, parent: usize) {
        let mut statements = self.statements(number, size, parent);
        // The count behind the rows: it waits longer, and in a circle.
        if self.rng.bool() {
            statements.rotate_left(1);
        }
        let commits = self.rng.u8(..8) > 0;
        let (outcome, answers) = self.block(&statements, commits, &[]);
        let rows = answers.iter().filter(|answer| answer.kind == 'D').count();
        assert!(outcome == Outcome::Failed || rows == size + 1, "{rows} rows of {size} and a count");
        self.made(number, outcome, size, parent, None);
    }

    /// What stands behind a savepoint that is rolled back to is not there.
    fn with_savepoints(&mut self, number: u64, size: usize, parent: usize) {
        let mut statements = self.statements(number, size, parent);
        let lost = number * ROWS_PER_NUMBER + ROWS_PER_NUMBER - 1;
        let insert = format!("INSERT INTO facts VALUES ({lost}, {number}, {size}, 0, 'lost{lost}', {parent})");
        let at = self.rng.usize(..=statements.len());
        let between =
            ["SAVEPOINT a", &insert, "SAVEPOINT b", "UPDATE balances SET amount = amount + 1", "ROLLBACK TO a"];
        drop(statements.splice(at..at, between.map(str::to_owned)));
        if self.rng.bool() {
            statements.push("RELEASE a".to_owned());
        }
        let (outcome, _) = self.block(&statements, true, &[]);
        self.made(number, outcome, size, parent, None);
    }

    fn by_copy(&mut self, number: u64, size: usize, parent: usize) {
        let ends_well = self.rng.u8(..4) > 0;
        let outcome = self.copy(number, size, parent, ends_well);
        self.made(number, outcome, size, parent, None);
    }

    fn copy(&mut self, number: u64, size: usize, parent: usize, ends_well: bool) -> Outcome {
        let text = format!("BEGIN; {}", Worker::counting(parent, size));
        if !matches!(self.ask(&query(&text), &[]), Ok(answers) if !failed(&answers, &[])) {
            drop(self.ask(&query("ROLLBACK"), &[]));
            return Outcome::Failed;
        }
        let mut bytes = query("COPY facts FROM STDIN");
        for n in 1..=size {
            let id = number * ROWS_PER_NUMBER + n as u64;
            let line = format!("{id}\t{number}\t{size}\t0\tc{id}\t{parent}\n");
            // A line may come in two pieces.
            let (first, second) = line.split_at(self.rng.usize(..line.len()));
            bytes.extend([message(b'd', first.as_bytes()), message(b'd', second.as_bytes())].concat());
        }
        bytes.extend(if ends_well { message(b'c', b"") } else { message(b'f', b"given up\0") });
        match self.ask(&bytes, &["57014"]) {
            Ok(answers) if failed(&answers, &["57014"]) => {
                drop(self.ask(&query("ROLLBACK"), &[]));
                Outcome::Failed
            }
            Ok(answers) => {
                assert!(ends_well && tags(&answers) == [format!("COPY {size}")], "{answers:?}");
                self.whole(&query("COMMIT")).0
            }
            Err(Gone) => Outcome::Failed,
        }
    }

    /// Several executions, which `Sync` makes one transaction.
    fn prepared(&mut self, number: u64, size: usize, parent: usize) {
        let (parent_id, count) = (parent as u64, size as u64);
        let mut bytes = [bind("count", &[parent_id, count]), execute("", 0)].concat();
        for n in 1..=size {
            let id = number * ROWS_PER_NUMBER + n as u64;
            bytes.extend([bind("fact", &[id, number, count, parent_id]), execute("", 0)].concat());
        }
        let (outcome, answers) = self.whole(&[bytes, sync()].concat());
        self.made(number, outcome, size, parent, crate::work::number(&answers));
    }

    /// Several transactions sent in one go, one of which fails.
    fn pipelined(&mut self, parent: usize) {
        let mut numbers = Vec::new();
        let mut bytes = Vec::new();
        for turn in 0..4 {
            let (number, size) = (self.next(), self.rng.usize(1..=SIZE_MAX));
            // There is no parent with that number, so that the row refers to nothing.
            let place = if turn == 1 { 1_000_000 } else { parent };
            bytes.extend([bind("whole", &[number, place as u64, size as u64]), execute("", 0), sync()].concat());
            numbers.push((number, size, turn == 1));
        }
        let is_sent = self.client.try_send(&bytes);
        for (number, size, fails) in numbers {
            let answers = if is_sent { self.read(&["23503"]) } else { Err(Gone) };
            let (outcome, count) = match answers {
                Err(Gone) if fails => (Outcome::Failed, None),
                Err(Gone) => (Outcome::InDoubt, None),
                Ok(answers) if failed(&answers, &["23503"]) => (Outcome::Failed, None),
                Ok(answers) => {
                    assert!(!fails, "a row refers to nothing");
                    (Outcome::Acknowledged, crate::work::number(&answers))
                }
            };
            self.made(number, outcome, size, parent, count);
        }
    }

    fn called(&mut self, number: u64, size: usize, parent: usize) {
        let (outcome, answers) = self.whole(&query(&format!("CALL book({number}, {parent}, {size})")));
        self.made(number, outcome, size, parent, crate::work::number(&answers));
    }

    /// A table is made or not, with the rows.
    fn with_a_table(&mut self, number: u64, parent: usize) {
        let mut statements = self.statements(number, 1, parent);
        statements.push(format!("CREATE TABLE made_{number} (id int PRIMARY KEY)"));
        statements.push(format!("INSERT INTO made_{number} VALUES (1), (2)"));
        // Tables are kept: there are not to be too many.
        let commits = self.rng.u8(..4) == 0;
        let (outcome, _) = self.block(&statements, commits, &[]);
        let is_durable = self.is_durable;
        self.ledger.made(number, outcome, is_durable, [1, parent], true);
    }

    /// The last statement fails, and takes the others with it.
    fn failing(&mut self, number: u64, parent: usize) {
        let id = number * ROWS_PER_NUMBER + 1;
        let mut statements = self.statements(number, 1, parent);
        statements.push(match self.rng.u8(..5) {
            0 => format!("INSERT INTO facts VALUES ({}, {number}, 1, 0, 'c{id}', {parent})", id + 1),
            1 => format!("INSERT INTO facts VALUES ({id}, {number}, 1, 0, 'lost', {parent})"),
            2 => format!("INSERT INTO facts VALUES ({}, {number}, 1, 0, 'lost', 1000000)", id + 1),
            3 => format!("DELETE FROM parents WHERE id = {parent}"),
            _ => "UPDATE balances SET amount = amount - 1000000000".to_owned(),
        });
        let expected = ["23505", "23503", "23514"];
        let outcome = if self.rng.bool() {
            self.block(&statements, true, &expected).0
        } else {
            let answers = self.ask(&query(&statements.join("; ")), &expected);
            assert!(answers.is_err() || failed(&answers.unwrap(), &expected), "{statements:?}");
            Outcome::Failed
        };
        assert_eq!(outcome, Outcome::Failed, "{statements:?}");
        self.made(number, outcome, 1, parent, None);
    }

    /// The client goes without a word.
    fn abandoned(&mut self, number: u64, size: usize, parent: usize) {
        let statements = self.statements(number, size, parent);
        drop(self.ask(&query(&format!("BEGIN; {}", statements.join("; "))), &[]));
        self.made(number, Outcome::Failed, size, parent, None);
        if let Some(client) = self.server.try_client() {
            self.client = client;
            drop(self.begin());
        }
    }

    /// A transaction of its own that is there.
    fn some(&mut self) -> Option<(u64, i32)> {
        let present: Vec<_> =
            self.ledger.fates.iter().filter(|(_, fate)| fate.current.is_some() && !fate.has_table).collect();
        let (number, fate) = present.get(self.rng.usize(..present.len().max(1)))?;
        Some((**number, fate.current?))
    }

    fn revises(&mut self) {
        let Some((number, version)) = self.some() else { return };
        let (size, version) = (self.ledger.fates[&number].size, version + 1);
        let text = format!("UPDATE facts SET version = {version} WHERE tx = {number} RETURNING id");
        let (outcome, answers) = match self.rng.bool() {
            true => self.whole(&query(&text)),
            false => {
                let bytes = [parse("", &text), bind("", &[]), execute("", 0), sync()].concat();
                self.whole(&bytes)
            }
        };
        if outcome == Outcome::Acknowledged {
            assert_eq!(tags(&answers), [format!("UPDATE {size}")], "{text}");
        }
        self.ledger.changed(number, outcome, self.is_durable, Some(version), false);
    }

    fn removes(&mut self) {
        let Some((number, _)) = self.some() else { return };
        let (size, parent) = (self.ledger.fates[&number].size, self.ledger.fates[&number].parent);
        let statements = [
            format!("UPDATE parents SET children = children - {size} WHERE id = {parent}"),
            format!("DELETE FROM facts WHERE tx = {number} RETURNING code"),
        ];
        let (outcome, answers) = match self.rng.bool() {
            true => self.whole(&query(&statements.join("; "))),
            false => self.block(&statements, true, &[]),
        };
        if outcome == Outcome::Acknowledged {
            assert_eq!(answers.iter().filter(|answer| answer.kind == 'D').count(), size, "{statements:?}");
        }
        self.ledger.changed(number, outcome, self.is_durable, None, true);
    }

    fn transfers(&mut self) {
        let (from, to, amount) = (self.rng.usize(..PARENTS), self.rng.usize(..PARENTS), self.rng.u8(..));
        let statements = [(from, -i32::from(amount)), (to, i32::from(amount))];
        let statements =
            statements.map(|(id, by)| format!("UPDATE balances SET amount = amount + {by} WHERE id = {id}"));
        drop(self.block(&statements, true, &["23514"]));
    }

    /// What a client was shown is durable, too.
    fn observes(&mut self, parent: usize) {
        let bytes = [bind("ever", &[parent as u64]), execute("", 0), sync()].concat();
        if let (Outcome::Acknowledged, answers) = self.whole(&bytes)
            && self.is_durable
        {
            self.ledger.observed(parent, number(&answers).unwrap());
        }
    }
}
