//! Enumerations beside other sessions: whoever uses a type has its labels as they are, and no type goes that somebody begins to
//! use.

#[allow(dead_code, reason = "this uses a part")]
mod support;

use std::sync::atomic::{AtomicBool, Ordering};

use support::{Client, directory, open};

#[test]
fn statements_that_are_prepared_know_labels_that_come() {
    let sql = open(&directory("enum_prepared"));
    let (mut client, mut other) = (Client::new(&sql), Client::new(&sql));
    client.run("CREATE TYPE mood AS ENUM ('sad', 'ok')");
    client.run("CREATE TABLE t (m mood PRIMARY KEY, l mood[])");
    let insert = client.session.prepare("INSERT INTO t VALUES ($1) RETURNING m", &[]).expect("an insert");
    let find = client.session.prepare("SELECT $1::mood, count(*) FROM t WHERE m = $1", &[]).expect("a query");
    assert_eq!(insert.parameters()[0].to_string(), "mood");
    assert_eq!(client.call(&insert, "happy").unwrap_err().code(), "22P02");
    other.run("ALTER TYPE mood ADD VALUE 'happy' AFTER 'sad'");
    assert_eq!(client.call(&insert, "happy").expect("a label"), "happy");
    other.run("ALTER TYPE mood RENAME VALUE 'happy' TO 'glad'");
    assert_eq!(client.call(&find, "glad").expect("a label"), "glad|1");
    assert_eq!(client.call(&find, "happy").unwrap_err().code(), "22P02");
    assert_eq!(client.call(&insert, "ok").expect("a label"), "ok");
    other.run("ALTER TYPE mood RENAME TO temper");
    assert_eq!(client.call(&insert, "sad").expect("a label"), "sad");
    client.expect("SELECT m FROM t ORDER BY m", &["sad", "glad", "ok"]);
    // The same text with other literals has a plan that is kept.
    for (label, count) in [("sad", 1), ("glad", 1), ("ok", 1)] {
        client.expect(&format!("SELECT count(*) FROM t WHERE m = '{label}'"), &[&count.to_string()]);
    }
    other.run("ALTER TYPE temper RENAME VALUE 'ok' TO 'fine'");
    client.expect("SELECT count(*) FROM t WHERE m = 'fine'", &["1"]);
    assert_eq!(client.error("SELECT count(*) FROM t WHERE m = 'ok'").code(), "22P02");
}

/// Of two transactions, one that uses a type and one that drops or changes it, the second to commit finds out.
#[test]
fn no_type_goes_that_somebody_begins_to_use() {
    let sql = open(&directory("enum_dropped"));
    let (mut one, mut two) = (Client::new(&sql), Client::new(&sql));
    let uses = [
        "CREATE TABLE t (m mood)",
        "CREATE TABLE t (i int, s text DEFAULT ('ok'::mood)::text)",
        "CREATE VIEW t AS SELECT 'ok'::mood AS m",
        "ALTER TABLE there ADD COLUMN m mood[]",
        "ALTER TABLE there ADD CHECK (s <> ('ok'::mood)::text)",
    ];
    for used in uses {
        for change in
            ["DROP TYPE mood", "ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'", "ALTER TYPE mood RENAME TO temper"]
        {
            one.run("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE there (s text)");
            one.run(&format!("BEGIN; {used}"));
            two.run(change);
            assert_eq!(one.error("COMMIT").code(), "40001", "{used}, {change}");
            two.run("DROP TABLE there; DROP TYPE IF EXISTS mood, temper");

            one.run("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE there (s text)");
            two.run(&format!("BEGIN; {change}"));
            one.run(used);
            assert_eq!(two.error("COMMIT").code(), "40001", "{change}, {used}");
            assert_eq!(one.error("DROP TYPE mood").code(), "2BP01", "{used}");
            one.run("DROP TYPE mood CASCADE; DROP TABLE there; DROP TABLE IF EXISTS t");
        }
    }
}

#[test]
fn rows_have_labels_while_these_come_and_change() {
    let sql = open(&directory("enum_beside"));
    let mut client = Client::new(&sql);
    client.run("CREATE TYPE mood AS ENUM ('l')");
    client.run("CREATE TABLE t (i int GENERATED ALWAYS AS IDENTITY, m mood); CREATE INDEX ON t (m)");
    let is_over = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        let write = || {
            let mut client = Client::new(&sql);
            let mut written = 0;
            while !is_over.load(Ordering::Relaxed) {
                let added = client.try_run("INSERT INTO t (m) SELECT m FROM unnest(enum_range(NULL::mood)) m");
                let seen = client.try_run("SELECT m, count(*) FROM t GROUP BY m ORDER BY m");
                for done in [added, seen] {
                    match done {
                        Ok(tag) => {
                            written += tag.strip_prefix("INSERT 0 ").map_or(0, |count| count.parse().expect("a count"))
                        }
                        Err(error) => assert_eq!(error.code(), "40001", "{error}"),
                    }
                }
            }
            written
        };
        let writers: Vec<_> = (0..2).map(|_| scope.spawn(write)).collect();
        for at in 0..12 {
            let place = ["", "BEFORE 'l'", "AFTER 'l'"][at % 3];
            for change in [format!("ADD VALUE 'n{at}' {place}"), format!("RENAME VALUE 'n{at}' TO 'r{at}'")] {
                while let Err(error) = client.try_run(&format!("ALTER TYPE mood {change}")) {
                    assert_eq!(error.code(), "40001", "{error}");
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().expect("it writes")).sum::<u64>()
    });
    client.expect("SELECT count(*) FROM t", &[&written.to_string()]);
    client.expect("SELECT count(*) FROM t WHERE m::text LIKE 'n%'", &["0"]);
    client.expect("SELECT bool_and(a <= b) FROM (SELECT m AS a, lead(m) OVER (ORDER BY m) AS b FROM t) s", &["t"]);
}

#[test]
fn texts_that_are_kept_mean_the_type_that_they_meant() {
    let mut client = Client::new(&open(&directory("enum_kept")));
    client.run("CREATE SCHEMA a; CREATE SCHEMA b");
    client.run("CREATE TYPE a.mood AS ENUM ('x', 'y'); CREATE TYPE b.mood AS ENUM ('y', 'x')");
    client.run("SET search_path = a");
    client.run(
        "CREATE TABLE t (i int, m mood DEFAULT 'y', CHECK (m > 'x'::mood), l mood[] DEFAULT ARRAY[('x'), 'y']::mood[])",
    );
    client.run("CREATE INDEX ON t (i) WHERE m = CAST('y' AS mood)");
    client.run("CREATE VIEW v AS SELECT i, m FROM t WHERE m IN ('y') AND l = '{x,y}'");
    client.run("SET search_path = b, public");
    client.run("INSERT INTO a.t (i) VALUES (1)");
    assert_eq!(client.error("INSERT INTO a.t VALUES (2, 'x')").code(), "23514");
    client.expect("SELECT * FROM a.v", &["1|y"]);
    client.run("ALTER TYPE a.mood RENAME VALUE 'y' TO 'it''s'; ALTER SCHEMA a RENAME TO c; ALTER TYPE c.mood RENAME TO feeling");
    client.run("INSERT INTO c.t (i) VALUES (2)");
    client.expect("SELECT * FROM c.v ORDER BY i", &["1|it's", "2|it's"]);
    client.expect("SELECT l FROM c.t LIMIT 1", &["{x,it's}"]);
    client.run("INSERT INTO c.t (i) SELECT generate_series(3, 3000); ANALYZE c.t");
    client.expect(
        "EXPLAIN (COSTS OFF) SELECT i FROM c.t WHERE m = 'it''s' AND i = 1",
        &["Index Scan using t_i_idx on t", "  Index Cond: (i = 1)", "  Filter: (m = 'it''s')"],
    );
    let query = "SELECT typname, typnamespace::regnamespace FROM pg_type WHERE typtype = 'e' ORDER BY 1";
    client.expect(query, &["feeling|c", "mood|b"]);
}

/// What depends on a type goes with it, whoever owns that and wherever it is.
#[test]
fn what_others_have_of_a_type_goes_with_it() {
    let sql = open(&directory("enum_cascade"));
    let (mut client, mut other) = (Client::new(&sql), Client::new(&sql));
    client
        .run("CREATE TYPE mood AS ENUM ('x'); CREATE ROLE joe; CREATE SCHEMA far; CREATE TABLE far.t (i int, m mood)");
    client.run(
        "CREATE VIEW far.v AS SELECT m FROM far.t; ALTER TYPE mood OWNER TO joe; GRANT CREATE ON SCHEMA public TO joe",
    );
    other.run("CREATE TEMP TABLE passing (i int, m mood); INSERT INTO passing VALUES (1, 'x')");
    client.run("SET ROLE joe");
    assert_eq!(client.error("DROP TYPE mood").code(), "2BP01");
    client.run("DROP TYPE mood CASCADE; RESET ROLE");
    other.expect("SELECT * FROM passing", &["1"]);
    client.run("INSERT INTO far.t VALUES (1)");
    assert_eq!(client.error("SELECT * FROM far.v").code(), "42P01");
}

#[test]
fn types_belong_to_who_made_them() {
    let mut client = Client::new(&open(&directory("enum_rights")));
    client
        .run("CREATE SCHEMA s; CREATE TYPE s.mood AS ENUM ('x'); CREATE ROLE joe; CREATE SCHEMA own AUTHORIZATION joe");
    client.run("SET ROLE joe");
    for (denied, code) in [
        ("ALTER TYPE s.mood ADD VALUE 'y'", "42501"),
        ("DROP TYPE s.mood", "42501"),
        ("SELECT 'x'::s.mood", "42501"),
        ("CREATE TYPE s.other AS ENUM ()", "42501"),
        ("COMMENT ON TYPE s.mood IS 'x'", "42501"),
    ] {
        assert_eq!(client.error(denied).code(), code, "{denied}");
    }
    client.run("RESET ROLE; GRANT USAGE ON SCHEMA s TO joe; SET ROLE joe");
    client.run("CREATE TABLE own.t (m s.mood DEFAULT 'x'); INSERT INTO own.t DEFAULT VALUES");
    assert_eq!(client.error("ALTER TYPE s.mood RENAME TO other").code(), "42501");
    client.run("CREATE TYPE own.mine AS ENUM ('a'); RESET ROLE; REVOKE USAGE ON SCHEMA s FROM joe");
    client.run("SET ROLE joe; INSERT INTO own.t DEFAULT VALUES");
    client.expect("SELECT m FROM own.t", &["x", "x"]);
    client.run("RESET ROLE");
    assert_eq!(
        client.error("DROP ROLE joe").detail(),
        Some("owner of table own.t\nowner of type own.mine\nowner of schema own")
    );
    client.run("ALTER ROLE joe RENAME TO jim; SET ROLE jim; ALTER TYPE own.mine ADD VALUE 'b'; RESET ROLE");
    client.run("DROP SCHEMA own CASCADE; DROP ROLE jim; DROP TYPE s.mood");
}

/// What was prepared in a transaction that was rolled back knows nothing of what others make.
#[test]
fn numbers_are_given_once() {
    let sql = open(&directory("enum_numbers"));
    let mut client = Client::new(&sql);
    client.run("BEGIN; CREATE TYPE mood AS ENUM ('sad', 'ok')");
    let number = client.run("SELECT 'mood'::regtype::oid");
    let statement = client.session.prepare("SELECT $1::mood", &[]).expect("a query");
    client.run("ROLLBACK; CREATE TYPE fruit AS ENUM ('apple', 'pear')");
    assert_ne!(client.run("SELECT 'fruit'::regtype::oid"), number);
    assert_eq!(client.call(&statement, "apple").unwrap_err().code(), "22P02");
    assert_eq!(client.call(&statement, "sad").unwrap_err().code(), "42704");
    let kinds = [
        ("TABLE {} (i int)", "'{}'::regclass::oid"),
        ("SEQUENCE {}", "'{}'::regclass::oid"),
        ("VIEW {} AS SELECT 1", "'{}'::regclass::oid"),
        ("SCHEMA {}", "'{}'::regnamespace::oid"),
        ("ROLE {}", "'{}'::regrole::oid"),
        ("TYPE {} AS ENUM ()", "'{}'::regtype::oid"),
    ];
    for (definition, number) in kinds {
        let mut given = Vec::new();
        for (name, end) in [("first", "ROLLBACK"), ("second", "ROLLBACK"), ("third", "COMMIT"), ("fourth", "COMMIT")] {
            client.run(&format!("BEGIN; CREATE {}", definition.replace("{}", name)));
            given.push(client.run(&format!("SELECT {}", number.replace("{}", name))));
            client.run(end);
        }
        given.sort();
        given.dedup();
        assert_eq!(given.len(), 4, "{definition}: {given:?}");
        let what = definition.split(' ').next().expect("a word");
        client.run(&format!("DROP {what} third; DROP {what} fourth"));
    }
}

/// The label that a literal of a prepared statement means is the same for ever, as in PostgreSQL.
#[test]
fn literals_of_prepared_statements_follow_their_labels() {
    let sql = open(&directory("enum_literals"));
    let (mut client, mut other) = (Client::new(&sql), Client::new(&sql));
    client.run("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE t (i int, m mood)");
    client.run("INSERT INTO t VALUES (1, 'sad'), (2, 'ok')");
    client.run("CREATE VIEW v AS SELECT i FROM t WHERE m = 'ok'");
    client.run("PREPARE find AS SELECT i, m FROM t WHERE m = 'ok'");
    client.run("PREPARE several AS SELECT i FROM t WHERE m = ANY ('{ok}') AND m IN ('ok', 'sad')");
    client.run("PREPARE late AS SELECT 'ok'::text::mood");
    client.run("PREPARE viewed AS SELECT * FROM v");
    let text = "SELECT i, m, 'ok'::mood FROM t WHERE m = 'ok'";
    let find = client.session.prepare(text, &[]).expect("a query");
    let add = client.session.prepare("INSERT INTO t VALUES (3, 'ok') RETURNING m", &[]).expect("an insert");
    client.expect("EXECUTE late", &["ok"]);
    other.run("ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'");
    client.expect("EXECUTE find", &["2|fine"]);
    client.expect("EXECUTE several", &["2"]);
    assert_eq!(client.call(&find, "").expect("a row"), "2|fine|fine");
    client.expect("EXPLAIN (COSTS OFF) EXECUTE find", &["Seq Scan on t", "  Filter: (m = 'fine')"]);
    assert_eq!(client.error("EXECUTE late").code(), "22P02");
    assert_eq!(client.session.prepare(text, &[]).unwrap_err().code(), "22P02");

    // The labels change names with each other.
    other.run("BEGIN; ALTER TYPE mood RENAME VALUE 'sad' TO 'x'");
    other.run("ALTER TYPE mood RENAME VALUE 'fine' TO 'sad'; ALTER TYPE mood RENAME VALUE 'x' TO 'ok'; COMMIT");
    client.expect("EXECUTE find", &["2|sad"]);
    client.expect("EXECUTE several", &["2"]);
    client.expect("EXECUTE viewed", &["2"]);
    client.expect("EXECUTE late", &["ok"]);
    assert_eq!(client.call(&find, "").expect("a row"), "2|sad|sad");
    assert_eq!(client.call(&add, "").expect("a row"), "sad");
    let anew = client.session.prepare(text, &[]).expect("a query");
    assert_eq!(client.call(&anew, "").expect("a row"), "1|ok|ok");
    assert_eq!(client.call(&find, "").expect("rows"), "2|sad|sad\n3|sad|sad");
    client.expect("SELECT i FROM t WHERE m = 'ok'", &["1"]);

    // A label that was never there is none that comes later.
    client.run("BEGIN; ALTER TYPE mood ADD VALUE 'high'; PREPARE gone AS SELECT 'high'::mood; ROLLBACK");
    client.run("ALTER TYPE mood ADD VALUE 'higher'");
    assert_eq!(client.error("EXECUTE gone").code(), "22P02");
    client.run("ALTER TYPE mood ADD VALUE 'high'");
    client.expect("EXECUTE gone", &["high"]);
}
