//! Statements that come again, with other literals: they are not read again, and mean what they would mean if they were.

mod support;

use std::sync::Arc;

use osier_sql::Sql;
use support::{Client, directory, open};

/// A database with a table, and a client of it.
fn begin(test: &str) -> (Arc<Sql>, Client) {
    let sql = open(&directory(test));
    let mut client = Client::new(&sql);
    client.run("CREATE TABLE t (id bigint PRIMARY KEY, n numeric, name varchar(5))");
    client.run("INSERT INTO t VALUES (1, 1.5, 'one'), (2, 2, 'two'), (3, NULL, NULL)");
    (sql, client)
}

impl Client {
    fn code(&mut self, text: &str) -> String {
        self.try_run(text).expect_err(text).code().to_owned()
    }

    /// Whether the statement would be one that is known.
    fn knows(&mut self, text: &str) -> bool {
        self.session.recall(text).is_some()
    }
}

#[test]
fn a_shape_is_known_from_the_third_time_on() {
    let (_, mut client) = begin("cache_shapes");
    for (id, name) in [(1, "one"), (2, "two"), (1, "one")] {
        assert_eq!(client.run(&format!("SELECT name FROM t WHERE id = {id} AND name <> 'x'")), name);
    }
    assert!(client.knows("SELECT name FROM t WHERE id = 7 AND name <> 'y'"));
    assert!(!client.knows("SELECT name FROM t WHERE id = 7 and name <> 'y'"), "it has another text");
    assert!(
        !client.knows("SELECT name FROM t WHERE id = 3000000000 AND name <> 'y'"),
        "it is a number of another type"
    );
    for id in 4..8 {
        assert_eq!(client.run(&format!("INSERT INTO t VALUES ({id}, {id}.25, 'a{id}')")), "INSERT 0 1");
        assert_eq!(client.run(&format!("UPDATE t SET n = n + -1, name = 'b{id}' WHERE id = {id};")), "UPDATE 1");
    }
    assert!(client.knows("UPDATE t SET n = n + -2, name = 'c' WHERE id = 4;"));
    assert_eq!(client.run("SELECT n, name FROM t WHERE id > 3 ORDER BY 1 DESC LIMIT 2"), "6.25|b7\n5.25|b6");
    for text in ["BEGIN", "COMMIT", "BEGIN", "COMMIT", "BEGIN", "COMMIT"] {
        assert_eq!(client.run(text), text);
    }
    assert!(client.knows("BEGIN"));
}

#[test]
fn a_literal_that_fits_nothing_is_an_error() {
    let (_, mut client) = begin("cache_errors");
    for id in 1..4 {
        client.run(&format!("SELECT name FROM t WHERE id = '{id}'"));
    }
    assert!(client.knows("SELECT name FROM t WHERE id = '4'"));
    let error = client.try_run("SELECT name FROM t WHERE id = 'x'").expect_err("that is no number");
    assert_eq!(error.code(), "22P02");
    for name in ["a", "b", "c"] {
        client.run(&format!("UPDATE t SET name = '{name}' WHERE id = 3"));
    }
    let error = client.try_run("UPDATE t SET name = 'too long' WHERE id = 3").expect_err("it does not fit");
    assert_eq!(error.code(), "22001");
    assert_eq!(client.run("SELECT name FROM t WHERE id = 3"), "c");
}

#[test]
fn definitions_count_at_once() {
    let (sql, mut client) = begin("cache_definitions");
    let mut other = Client::new(&sql);
    let text = "SELECT * FROM t WHERE id = 1";
    let know = |client: &mut Client, expected: &str| {
        for _ in 0..4 {
            assert_eq!(client.run(text), expected);
        }
        assert!(client.knows(text));
    };
    know(&mut client, "1|1.5|one");
    other.run("ALTER TABLE t ADD COLUMN k int DEFAULT 7");
    assert!(!client.knows(text));
    know(&mut client, "1|1.5|one|7");
    let prepared = client.session.prepare(text, &[]).expect("it is right");
    assert!(Arc::ptr_eq(&prepared, &client.session.prepare(text, &[]).expect("it is right")));

    // What a transaction defines is seen by it alone, and gone when it is rolled back.
    client.run("BEGIN");
    client.run("ALTER TABLE t DROP COLUMN n");
    assert_eq!(client.run(text), "1|one|7");
    assert_eq!(other.run("SELECT 1"), "1");
    client.run("ROLLBACK");
    know(&mut client, "1|1.5|one|7");
    client.run("BEGIN; SAVEPOINT a; CREATE TABLE u (x int); INSERT INTO u VALUES (1)");
    for _ in 0..4 {
        assert_eq!(client.run("SELECT x FROM u"), "1");
    }
    client.run("ROLLBACK TO a");
    assert_eq!(client.code("SELECT x FROM u"), "42P01");
    client.run("ROLLBACK");

    // A name means another table, and another schema.
    other.run("DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, x text); INSERT INTO t VALUES (1, 'new')");
    know(&mut client, "1|new");
    client.run("CREATE SCHEMA s; CREATE TABLE s.t (id int PRIMARY KEY); INSERT INTO s.t VALUES (1)");
    know(&mut client, "1|new");
    client.run("SET search_path = s, public");
    know(&mut client, "1");
    client.run("DROP TABLE s.t");
    know(&mut client, "1|new");
}

#[test]
fn settings_and_moments_count() {
    let (_, mut client) = begin("cache_settings");
    for (zone, shown) in [("UTC", "2024-01-01 12:00:00+00"), ("Asia/Tokyo", "2024-01-01 03:00:00+00")] {
        client.run(&format!("SET TimeZone = '{zone}'"));
        let prepared = client.session.prepare("SELECT timestamptz '2024-01-01 12:00'", &[]).expect("it is right");
        assert_eq!(client.call(&prepared, "").expect("it runs"), shown);
    }
    let mut moments = Vec::new();
    for _ in 0..4 {
        let text = "SELECT 'now'::timestamptz - timestamptz '2024-01-01'";
        let prepared = client.session.prepare(text, &[]).expect("it is right");
        moments.push(client.call(&prepared, "").expect("it runs"));
        moments.push(client.run("SELECT extract(epoch FROM 'now'::timestamptz)"));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    moments.sort();
    let count = moments.len();
    moments.dedup();
    assert_eq!(moments.len(), count, "{moments:?}");
}

#[test]
fn rights_count() {
    let (sql, mut client) = begin("cache_rights");
    client.run("CREATE ROLE ann; GRANT SELECT ON t TO ann; SET ROLE ann");
    for _ in 0..4 {
        assert_eq!(client.run("SELECT name FROM t WHERE id = 2"), "two");
    }
    assert!(client.knows("SELECT name FROM t WHERE id = 2"));
    Client::new(&sql).run("REVOKE SELECT ON t FROM ann");
    assert_eq!(client.code("SELECT name FROM t WHERE id = 2"), "42501");
    client.run("RESET ROLE");
    assert_eq!(client.run("SELECT name FROM t WHERE id = 2"), "two");
}

#[test]
fn as_many_are_kept_as_may_be() {
    let (_, mut client) = begin("cache_many");
    let text = |number: usize| format!("SELECT id AS c{number} FROM t WHERE id = 1");
    for number in 0..300 {
        for _ in 0..4 {
            client.run(&text(number));
        }
    }
    assert!((250..300).rev().all(|number| client.knows(&text(number))), "the last ones are known");
    assert!(!(0..150).any(|number| client.knows(&text(number))), "the first ones made room");
}

#[test]
fn no_table_is_kept_that_is_gone() {
    let (sql, mut client) = begin("cache_memory");
    client.run("CREATE TABLE large (id int PRIMARY KEY, x text)");
    client.run("INSERT INTO large SELECT n, repeat('x', 1000) FROM generate_series(1, 5000) n");
    for id in 1..5 {
        client.run(&format!("SELECT length(x) FROM large WHERE id = {id}"));
    }
    assert!(client.knows("SELECT length(x) FROM large WHERE id = 9"));
    let used = || sql.database().metrics().memory.used.total();
    let before = used();
    let mut other = Client::new(&sql);
    other.run("DROP TABLE large");
    // The session of the engine forgets the table now, and rows are freed when no reader can have them in hand.
    client.run("SELECT 1");
    let begun = std::time::Instant::now();
    while before - used() < 4_000_000 {
        other.run("UPDATE t SET n = 1 WHERE id = 1");
        assert!(begun.elapsed().as_secs() < 60, "{} bytes, and {before} before", used());
    }
}
