//! Foreign keys between sessions, over restarts, and against what is written without SQL.

use std::path::Path;
use std::sync::Arc;

use osier::config::{ConcurrencyControlKind, Locking};
use osier::table::Value;
use osier::{Config, Create, Database};
use osier_sql::Sql;
use osier_sql::session::Status;

mod support;

use support::Client;

const ORPHANS: &str = "SELECT count(*) FROM child WHERE p IS NOT NULL AND p NOT IN (SELECT id FROM parent)";

fn client(test: &str) -> Client {
    Client::new(&support::open(&support::directory(test)))
}

/// Every concurrency control, with no session waiting for another one, since one thread runs them all.
fn databases(test: &str) -> Vec<(ConcurrencyControlKind, Arc<Sql>)> {
    use ConcurrencyControlKind::{Multiversion, Optimistic, TwoPhaseLocking};
    let open = |kind: ConcurrencyControlKind| {
        let config = Config::new(support::directory(&format!("{test}-{kind:?}")))
            .create(Create::IfMissing)
            .concurrency_control(kind)
            .locking(Locking::NoWait)
            .transaction_log_bytes_max(256 << 10)
            .ring_bytes(1 << 20)
            .segment_bytes(8 << 20);
        let sql = Sql::new(Arc::new(Database::open(config).expect("a database"))).expect("a catalog");
        (kind, sql)
    };
    [Optimistic, TwoPhaseLocking, Multiversion].map(open).into()
}

/// Runs a statement where the block can go on, and says whether it went well. Errors are conflicts or violations.
fn step(client: &mut Client, text: &str) -> bool {
    if client.status() == Status::Failed {
        return false;
    }
    match client.try_run(text) {
        Ok(tag) => tag != "ROLLBACK",
        Err(error) => {
            assert!(matches!(error.code(), "40001" | "23503"), "{text}: {} {error}", error.code());
            false
        }
    }
}

/// Lets two transactions meet in every order in which each runs its statement and commits, and looks for orphans.
fn meet(sql: &Arc<Sql>, set_up: &[&str], (first, second): (&str, &str), orphans: &str) -> usize {
    let mut both_refused = 0;
    for reads_before in [false, true] {
        for order in ["xXyY", "xyXY", "xyYX", "yxXY", "yxYX", "yYxX"] {
            let (mut a, mut b) = (Client::new(sql), Client::new(sql));
            for statement in set_up {
                a.run(statement);
            }
            for client in [&mut a, &mut b] {
                client.run("BEGIN");
                if reads_before {
                    client.run("SELECT count(*) FROM other");
                }
            }
            let mut has_committed = [false, false];
            for turn in order.chars() {
                match turn {
                    'x' => _ = step(&mut a, first),
                    'y' => _ = step(&mut b, second),
                    'X' => has_committed[0] = a.status() == Status::Open && step(&mut a, "COMMIT"),
                    _ => has_committed[1] = b.status() == Status::Open && step(&mut b, "COMMIT"),
                }
            }
            for client in [&mut a, &mut b] {
                client.run("ROLLBACK");
            }
            assert_eq!(a.run(orphans), "0", "{first} and {second} in the order {order}: {has_committed:?}");
            assert!(
                order.starts_with("xy") || order.starts_with("yx") || has_committed.contains(&true),
                "one after the other, the first one commits: {first}, {second}, {order}"
            );
            both_refused += usize::from(has_committed == [false, false]);
        }
    }
    both_refused
}

#[test]
fn no_orphan_comes_of_two_sessions() {
    const TABLES: [&str; 3] = [
        "DROP TABLE IF EXISTS child, parent, other; CREATE TABLE other (id int)",
        "CREATE TABLE parent (id int PRIMARY KEY, u int UNIQUE, name text)",
        "INSERT INTO parent VALUES (1, 1, 'one'), (2, 2, 'two')",
    ];
    let children = [
        "CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent)",
        "CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent (u))",
        "CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent); CREATE INDEX ON child (p)",
        "CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)",
        "CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE)",
        "CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent ON DELETE SET NULL ON UPDATE SET NULL)",
    ];
    for (kind, sql) in databases("meet") {
        for child in children {
            let set_up: Vec<&str> = TABLES.into_iter().chain([child, "INSERT INTO child VALUES (1, 2)"]).collect();
            for refers in ["INSERT INTO child VALUES (9, 1)", "UPDATE child SET p = 1 WHERE id = 1"] {
                for leaves in ["DELETE FROM parent WHERE id = 1", "UPDATE parent SET id = 7, u = 7 WHERE id = 1"] {
                    let refused = meet(&sql, &set_up, (refers, leaves), ORPHANS);
                    assert!(refused < 12, "{kind:?}: nobody ever gets on with {child}, {refers}, {leaves}");
                }
            }
        }
    }
}

#[test]
fn no_orphan_comes_of_a_definition() {
    let tables = [
        "DROP TABLE IF EXISTS child, parent, other; CREATE TABLE other (id int)",
        "CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent VALUES (1), (2)",
    ];
    let free =
        [tables[0], tables[1], "CREATE TABLE child (id int PRIMARY KEY, p int); INSERT INTO child VALUES (1, 1)"];
    let bound = [tables[0], tables[1], "CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent)"];
    // Where the key was not made, rows may be what they like.
    let orphans =
        "SELECT count(*) FROM child WHERE p NOT IN (SELECT id FROM parent) AND NOT EXISTS (SELECT 1 FROM other)";
    let key = "ALTER TABLE child ADD CONSTRAINT key FOREIGN KEY (p) REFERENCES parent";
    for (_, sql) in databases("definition") {
        for write in ["INSERT INTO child VALUES (5, 9)", "DELETE FROM parent WHERE id = 1"] {
            for order in ["xyXY", "xyYX", "yxXY", "yxYX", "yYxX"] {
                let (mut a, mut b) = (Client::new(&sql), Client::new(&sql));
                free.iter().for_each(|statement| _ = a.run(statement));
                a.run("BEGIN");
                b.run("BEGIN");
                let mut is_bound = false;
                for turn in order.chars() {
                    match turn {
                        'x' => _ = step(&mut a, write),
                        'y' => _ = step(&mut b, key),
                        'X' => _ = a.status() == Status::Open && step(&mut a, "COMMIT"),
                        _ => is_bound = b.status() == Status::Open && step(&mut b, "COMMIT"),
                    }
                }
                a.run("ROLLBACK");
                b.run("ROLLBACK");
                if is_bound {
                    assert_eq!(a.run(orphans), "0", "{write} in the order {order}");
                    assert_eq!(a.error("INSERT INTO child VALUES (6, 9)").code(), "23503");
                }
            }
        }
        meet(&sql, &bound, ("INSERT INTO child VALUES (3, 1)", "TRUNCATE parent CASCADE"), orphans);
        meet(&sql, &bound, ("INSERT INTO child VALUES (3, 1)", "TRUNCATE parent, child"), orphans);
    }
}

#[test]
fn other_columns_of_the_parent_may_change_meanwhile() {
    for (kind, sql) in databases("meanwhile") {
        if kind == ConcurrencyControlKind::TwoPhaseLocking {
            continue;
        }
        let (mut a, mut b) = (Client::new(&sql), Client::new(&sql));
        a.run("CREATE TABLE parent (id int PRIMARY KEY, n int); INSERT INTO parent VALUES (1, 0)");
        a.run("CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent)");
        a.run("BEGIN; INSERT INTO child VALUES (1, 1)");
        b.run("UPDATE parent SET n = n + 1");
        a.run("COMMIT");
        a.expect("SELECT n, count(*) FROM parent JOIN child ON p = parent.id GROUP BY n", &["1|1"]);
    }
}

#[test]
fn no_orphan_comes_of_many_threads() {
    let sql = support::open(&support::directory("threads"));
    let mut client = Client::new(&sql);
    client.run(
        "CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent)",
    );
    client.run("CREATE INDEX ON child (p); INSERT INTO parent SELECT * FROM generate_series(1, 8)");
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let sql = &sql;
            scope.spawn(move || {
                let mut client = Client::new(sql);
                let mut random = fastrand::Rng::with_seed(thread.into());
                for round in 0..150_u32 {
                    let (p, id) = (random.u32(1..=8), thread * 1000 + round);
                    let text = match random.u32(0..4) {
                        0 => format!("DELETE FROM parent WHERE id = {p}"),
                        1 => format!("INSERT INTO parent VALUES ({p}) ON CONFLICT DO NOTHING"),
                        2 => format!("DELETE FROM child WHERE p = {p}"),
                        _ => format!("INSERT INTO child VALUES ({id}, {p})"),
                    };
                    if let Err(error) = client.try_run(&text) {
                        assert!(matches!(error.code(), "40001" | "23503"), "{text}: {error}");
                    }
                }
            });
        }
    });
    client.expect(ORPHANS, &["0"]);
    let left: u32 = client.run("SELECT count(*) FROM parent").parse().expect("a number");
    assert!(left <= 8, "{left} parents");
}

#[test]
fn keys_are_there_after_a_restart() {
    let path = support::directory("keys-restart");
    let reopened = |act: &dyn Fn(&mut Client)| {
        let sql = support::open(&path);
        let mut client = Client::new(&sql);
        act(&mut client);
        drop(client);
        sql.database().close().expect("closed");
    };
    reopened(&|client| {
        client.run("CREATE TABLE parent (id int PRIMARY KEY, n int); INSERT INTO parent VALUES (1, 1), (2, 2), (3, 3)");
        client.run("CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent ON UPDATE CASCADE)");
        client.run("CREATE TABLE late (p int CONSTRAINT late_key REFERENCES parent DEFERRABLE INITIALLY DEFERRED)");
        client.run("CREATE TABLE gone (p int REFERENCES parent ON DELETE CASCADE)");
        client.run("INSERT INTO child VALUES (1, 1); INSERT INTO gone VALUES (2)");
        client.run("ALTER TABLE parent RENAME TO folk; ALTER TABLE folk RENAME COLUMN id TO key");
    });
    reopened(&|client| {
        let error = client.error("INSERT INTO child VALUES (2, 9)");
        assert_eq!((error.code(), error.constraint(), error.table()), ("23503", Some("child_p_fkey"), Some("child")));
        assert_eq!(error.detail(), Some("Key (p)=(9) is not present in table \"folk\"."));
        let error = client.error("DELETE FROM folk WHERE key = 1");
        assert_eq!((error.code(), error.schema()), ("23503", Some("public")));
        assert_eq!(error.detail(), Some("Key (key)=(1) is still referenced from table \"child\"."));
        client.run("BEGIN; INSERT INTO late VALUES (9); INSERT INTO folk VALUES (9, 9); COMMIT");
        client.run("BEGIN; INSERT INTO late VALUES (10)");
        assert_eq!((client.error("COMMIT").code(), client.status()), ("23503", Status::Idle));
        client.run("UPDATE folk SET key = 11 WHERE key = 1; DELETE FROM folk WHERE key = 2");
    });
    reopened(&|client| {
        client.expect("SELECT * FROM child", &["1|11"]);
        client.expect("SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM late)", &["0|1"]);
        client.run("DROP TABLE child, late, gone; DELETE FROM folk");
    });
}

#[test]
fn a_copy_is_checked_when_it_is_over() {
    let mut client = client("keys-copy");
    client.run("CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree)");
    client.run("COPY tree FROM STDIN");
    client.session.copy_data(b"1\t3\n2\t1").expect("data");
    client.session.copy_data(b"\n3\t\\N\n").expect("data");
    assert_eq!(client.session.copy_done().expect("the end").tag, "COPY 3");
    client.run("COPY tree FROM STDIN");
    client.session.copy_data(b"4\t1\n5\t9\n").expect("data");
    client.session.copy_data(b"6\t4\n").expect("data");
    let error = client.session.copy_done().unwrap_err();
    assert_eq!((error.code(), error.detail()), ("23503", Some("Key (up)=(9) is not present in table \"tree\".")));
    assert_eq!(client.status(), Status::Idle);
    client.expect("SELECT count(*) FROM tree", &["3"]);
    client.run("ALTER TABLE tree DROP CONSTRAINT tree_up_fkey");
    client.run("ALTER TABLE tree ADD FOREIGN KEY (up) REFERENCES tree DEFERRABLE INITIALLY DEFERRED");
    client.run("BEGIN; COPY tree FROM STDIN");
    client.session.copy_data(b"5\t9\n").expect("data");
    assert_eq!(client.session.copy_done().expect("the end").tag, "COPY 1");
    client.run("INSERT INTO tree VALUES (9, 9); COMMIT");
    client.expect("SELECT count(*) FROM tree", &["5"]);
}

#[test]
fn a_large_statement_is_not_quadratic() {
    let mut client = client("keys-large");
    client.run("CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE child (id int PRIMARY KEY, p int)");
    client.run("ALTER TABLE child ADD FOREIGN KEY (p) REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE");
    client.run("INSERT INTO parent SELECT * FROM generate_series(1, 3000)");
    client.run("INSERT INTO child SELECT g, 1 + g % 3000 FROM generate_series(1, 6000) g");
    // One look at the table of 6000 rows for each of 3000 keys would take minutes.
    client.run("SET statement_timeout = '60s'; UPDATE parent SET id = id + 1");
    client.expect("SELECT min(p), max(p), count(*) FROM child", &["2|3001|6000"]);
    client.run("DELETE FROM parent WHERE id > 100");
    client.expect("SELECT max(p), count(*) FROM child", &["100|198"]);
}

/// A database whose table `child` refers to `parent`.
fn bound(path: &Path) -> (Arc<Sql>, Client) {
    let sql = support::open(path);
    let mut client = Client::new(&sql);
    client.run("CREATE TABLE parent (id bigint PRIMARY KEY); INSERT INTO parent VALUES (1), (2)");
    client.run("CREATE TABLE child (id bigint PRIMARY KEY, p bigint, n bigint, FOREIGN KEY (p) REFERENCES parent)");
    (sql, client)
}

#[test]
fn rows_that_were_written_without_sql_are_lived_with() {
    let (sql, mut client) = bound(&support::directory("keys-library"));
    let child = sql.database().table("child").expect("the table");
    let insert = |id: i64, p: i64| {
        let mut session = sql.database().session().expect("a session");
        session.run(|tx| tx.insert(&child, &[Value::Int(id), Value::Int(p), Value::Null])).expect("a row");
    };
    insert(1, 9);
    insert(2, 9);
    client.run("UPDATE child SET n = 5 WHERE id = 1; DELETE FROM child WHERE id = 2");
    assert_eq!(client.error("UPDATE child SET p = 8 WHERE id = 1").code(), "23503");
    assert_eq!(client.error("INSERT INTO child VALUES (3, 9, 0)").code(), "23503");
    client.run("ALTER TABLE child DROP CONSTRAINT child_p_fkey");
    assert_eq!(client.error("ALTER TABLE child ADD FOREIGN KEY (p) REFERENCES parent").code(), "23503");
    client.run("UPDATE child SET p = 1; ALTER TABLE child ADD FOREIGN KEY (p) REFERENCES parent");
    assert_eq!(client.error("DELETE FROM parent WHERE id = 1").code(), "23503");
}

#[test]
fn tables_that_were_dropped_without_sql_are_lived_with() {
    let (sql, mut client) = bound(&support::directory("keys-dropped"));
    let drop = |name: &str| {
        let table = sql.database().table(name).expect("the table");
        sql.database().session().expect("a session").run(|tx| tx.drop_table(&table)).expect("gone");
    };
    drop("child");
    client.run(
        "DELETE FROM parent WHERE id = 1; UPDATE parent SET id = 3; TRUNCATE parent; INSERT INTO parent VALUES (1)",
    );
    client.run("DROP TABLE parent; CREATE TABLE parent (id bigint PRIMARY KEY); INSERT INTO parent VALUES (1)");
    client
        .run("CREATE TABLE child (id bigint PRIMARY KEY, p bigint REFERENCES parent); INSERT INTO child VALUES (1, 1)");
    drop("parent");
    let error = client.error("INSERT INTO child VALUES (2, 1)");
    assert_eq!((error.code(), error.hint().is_some()), ("55000", true), "{error}");
    client.expect("SELECT * FROM child", &["1|1"]);
    client.run("ALTER TABLE child DROP CONSTRAINT child_p_fkey; INSERT INTO child VALUES (2, 1); DROP TABLE child");
}

#[test]
fn what_is_not_there_is_refused() {
    let mut client = client("keys-refused");
    client.run("CREATE TABLE p (n numeric(9,2) PRIMARY KEY, t text UNIQUE, w timestamp UNIQUE)");
    for column in ["int REFERENCES p", "char(3) REFERENCES p (t)", "date REFERENCES p (w)", "int UNIQUE DEFERRABLE"] {
        let error = client.error(&format!("CREATE TABLE c (x {column})"));
        assert_eq!((error.code(), error.hint().is_some()), ("0A000", true), "{column}: {error}");
    }
    let long = "a_column_with_a_name_that_is_as_long_as_names_may_be_or_nearly_so";
    client.run(&format!("CREATE TABLE the_table_that_refers ({long} text REFERENCES p (t))"));
    let error = client.error("INSERT INTO the_table_that_refers VALUES ('x')");
    assert_eq!(error.constraint(), Some("the_table_that_refers_a_column_with_a_name_that_is_as_long_fkey"));
}

#[test]
fn a_failed_commit_is_over() {
    let (_, mut client) = bound(&support::directory("keys-commit"));
    client.run("CREATE TABLE late (p bigint REFERENCES parent DEFERRABLE INITIALLY DEFERRED)");
    assert_eq!(client.error("INSERT INTO late VALUES (7)").code(), "23503");
    client.run("BEGIN; SET LOCAL work_mem = '1MB'; INSERT INTO late VALUES (7)");
    assert_eq!((client.error("COMMIT").code(), client.status()), ("23503", Status::Idle));
    client.expect("SELECT count(*) FROM late", &["0"]);
    client.run("BEGIN; INSERT INTO late VALUES (7); SAVEPOINT s; INSERT INTO parent VALUES (7); RELEASE s; COMMIT");
    // What a table was that is not there any more does not matter at the end.
    client.run("BEGIN; SAVEPOINT s; CREATE TABLE brief (p bigint REFERENCES parent DEFERRABLE INITIALLY DEFERRED)");
    client.run("INSERT INTO brief VALUES (70); ROLLBACK TO s; COMMIT");
    // A definition that a savepoint undoes leaves the key as it was.
    client.run("BEGIN; INSERT INTO late VALUES (8); SAVEPOINT s; CREATE TABLE brief (p bigint REFERENCES parent)");
    client.run("ROLLBACK TO s");
    assert_eq!(client.error("COMMIT").code(), "23503");
    client.run("BEGIN; INSERT INTO late VALUES (8); SAVEPOINT s; CREATE TABLE brief (p bigint REFERENCES parent)");
    client.run("ROLLBACK TO s; INSERT INTO parent VALUES (8); COMMIT");
    client.expect("SELECT * FROM late ORDER BY p", &["7", "8"]);
}
