//! Views, schemas, roles and rights: after a restart, in plans that were made before, and with several clients.

use std::sync::Arc;

use osier::procedure::program::Program;
use osier::table::{Schema, Type};
use osier::{Config, Create, Database, Value};
use osier_sql::session::{CopyShape, Mode, Output, Prepared, Session};
use osier_sql::{Datum, Result, Sql, scram};

#[allow(dead_code, reason = "this uses a part")]
mod support;

use support::Client;

/// Counts rows.
#[derive(Default)]
struct Count(usize);

impl Output for Count {
    fn row(&mut self, _: &[Datum]) -> Result<()> {
        self.0 += 1;
        Ok(())
    }

    fn copy_begin(&mut self, _: CopyShape) -> Result<()> {
        Ok(())
    }

    fn copy_data(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn restart(&mut self) -> bool {
        self.0 = 0;
        true
    }
}

/// How many rows a statement gives that was prepared before.
fn rows(client: &mut Client, prepared: &Arc<Prepared>) -> Result<usize> {
    let mut count = Count::default();
    client.session.run(prepared, &[], Mode::Alone, &mut count).map(|_| count.0)
}

fn client_of(sql: &Arc<Sql>, user: &str) -> Client {
    Client { session: Session::new(sql, user).expect("a session"), has_rows: false }
}

#[test]
fn all_of_it_is_there_after_a_restart() {
    let path = support::directory("rights-restart");
    {
        let sql = support::open(&path);
        let mut client = Client::new(&sql);
        client.run("CREATE ROLE ann LOGIN PASSWORD 'secret'; CREATE ROLE crew; GRANT crew TO ann; CREATE SCHEMA empty");
        client.run("CREATE SCHEMA s AUTHORIZATION ann; CREATE TABLE s.t (id serial PRIMARY KEY, n int)");
        client.run(
            "CREATE VIEW s.v AS SELECT id, n FROM s.t WHERE n > 0 WITH CHECK OPTION; INSERT INTO s.v (n) VALUES (1)",
        );
        client.run("GRANT SELECT ON s.v TO crew; GRANT SELECT (n) ON s.t TO PUBLIC; CREATE SEQUENCE s.q");
        client.run("ALTER SEQUENCE s.q OWNER TO ann");
        drop(client);
        sql.database().close().expect("closed");
    }
    let sql = support::open(&path);
    let mut client = client_of(&sql, "ann");
    client.expect("SELECT id, n FROM s.v", &["1|1"]);
    client.expect("SELECT n FROM s.t", &["1"]);
    assert_eq!(client.error("SELECT id FROM s.t").code(), "42501");
    assert_eq!(client.error("INSERT INTO s.v (n) VALUES (1)").message, "permission denied for view v");
    client.expect("SELECT nextval('s.q')", &["1"]);
    client.run("DROP SEQUENCE s.q");
    let mut first = Client::new(&sql);
    assert_eq!(first.error("INSERT INTO s.v (n) VALUES (-1)").code(), "44000");
    assert_eq!(first.error("CREATE SCHEMA empty").code(), "42P06");
    assert_eq!(first.error("DROP TABLE s.t").detail(), Some("view s.v depends on table s.t"));
    first.run("DROP SCHEMA empty; DROP TABLE s.t CASCADE");
    let notices = first.session.take_notices();
    assert_eq!(notices.last().expect("a notice").message, "drop cascades to view s.v");
    assert_eq!(client.error("SELECT 1 FROM s.v").code(), "42P01");
    let secret = sql.role("ann").expect("a role").expect("it is there").secret.expect("a password");
    assert!(scram::Verifier::of_secret(&secret).is_some(), "{secret}");
}

#[test]
fn a_database_from_before_is_opened() {
    let path = support::directory("rights-before");
    {
        let db = Database::open(Config::new(&path).create(Create::IfMissing)).expect("a database");
        let schema = Schema::builder("osier.roles")
            .column("name", Type::Text)
            .column("superuser", Type::Bool)
            .column("login", Type::Bool)
            .nullable_column("secret", Type::Text)
            .primary_key(["name"]);
        db.run(|tx| -> std::result::Result<(), osier::Error> {
            let table = tx.create_table(schema.clone().build()?)?;
            tx.insert(&table, &[Value::Text("osier"), Value::Bool(true), Value::Bool(true), Value::Null])?;
            let table = tx.create_table(Schema::builder("t").column("id", Type::Int64).primary_key(["id"]).build()?)?;
            tx.insert(&table, &[Value::Int(5)])
        })
        .expect("tables");
        db.close().expect("closed");
    }
    let sql = support::open(&path);
    let mut client = Client::new(&sql);
    client.run("CREATE VIEW v AS SELECT id FROM t; CREATE ROLE ann LOGIN; GRANT SELECT ON v TO ann");
    let mut ann = client_of(&sql, "ann");
    ann.expect("SELECT * FROM v", &["5"]);
    assert_eq!(ann.error("SELECT * FROM t").code(), "42501");
    assert_eq!(client.error("DROP ROLE osier").code(), "55006");
    assert_eq!(client.error("ALTER ROLE osier NOLOGIN").code(), "55000");
    assert_eq!(client.error("ALTER ROLE osier NOSUPERUSER").code(), "55000");
}

#[test]
fn plans_notice_what_has_changed() {
    let sql = support::open(&support::directory("rights-plans"));
    let (mut first, mut other) = (Client::new(&sql), Client::new(&sql));
    first.run("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3); CREATE ROLE ann LOGIN");
    first.run("CREATE VIEW v AS SELECT a FROM t WHERE a > 1; CREATE VIEW w AS SELECT a FROM v");
    let prepared = first.session.prepare("SELECT * FROM w", &[]).expect("a plan");
    assert_eq!(rows(&mut first, &prepared).expect("rows"), 2);
    other.run("CREATE OR REPLACE VIEW v AS SELECT a FROM t");
    assert_eq!(rows(&mut first, &prepared).expect("rows"), 3);
    other.run("BEGIN; CREATE OR REPLACE VIEW v AS SELECT a FROM t WHERE a > 2; ROLLBACK");
    assert_eq!(rows(&mut first, &prepared).expect("rows"), 3);
    other.run("DROP VIEW w");
    assert_eq!(rows(&mut first, &prepared).expect_err("no view").code(), "42P01");

    other.run("GRANT SELECT ON t TO ann");
    let mut ann = client_of(&sql, "ann");
    let prepared = ann.session.prepare("SELECT * FROM t", &[]).expect("a plan");
    assert_eq!(rows(&mut ann, &prepared).expect("rows"), 3);
    other.run("REVOKE SELECT ON t FROM ann");
    assert_eq!(rows(&mut ann, &prepared).expect_err("no right").code(), "42501");
    other.run("ALTER ROLE ann SUPERUSER");
    assert_eq!(rows(&mut ann, &prepared).expect("rows"), 3);
    other.run("ALTER ROLE ann NOSUPERUSER");
    assert_eq!(rows(&mut ann, &prepared).expect_err("no right").code(), "42501");
    other.run("BEGIN; ALTER ROLE ann SUPERUSER");
    assert_eq!(rows(&mut ann, &prepared).expect_err("no right").code(), "42501");
    other.run("ROLLBACK");
    assert_eq!(rows(&mut ann, &prepared).expect_err("no right").code(), "42501");

    // A prepared statement is of whoever runs it.
    let prepared = first.session.prepare("SELECT * FROM t", &[]).expect("a plan");
    assert_eq!(rows(&mut first, &prepared).expect("rows"), 3);
    first.run("SET ROLE ann");
    assert_eq!(rows(&mut first, &prepared).expect_err("no right").code(), "42501");
    first.run("RESET ROLE; CREATE SCHEMA s; CREATE TABLE s.t (a int PRIMARY KEY); SET search_path = s, public");
    assert_eq!(rows(&mut first, &prepared).expect("rows"), 0);
    first.run("DROP TABLE s.t");
    assert_eq!(rows(&mut first, &prepared).expect("rows"), 3);
    first.run("CREATE TABLE s.t (a int PRIMARY KEY)");
    assert_eq!(rows(&mut first, &prepared).expect("rows"), 0);
}

#[test]
fn rights_are_not_got_around() {
    let sql = support::open(&support::directory("rights-around"));
    let mut first = Client::new(&sql);
    first.run("CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN; CREATE TABLE t (a int PRIMARY KEY, b text)");
    first.run("INSERT INTO t VALUES (1, 'secret'); CREATE SEQUENCE q; CREATE SCHEMA s AUTHORIZATION ann");
    let mut ann = client_of(&sql, "ann");
    ann.run("CREATE VIEW s.peek AS SELECT b FROM t; CREATE TABLE s.own (a int DEFAULT nextval('q'), b text)");
    for statement in [
        "SELECT * FROM s.peek",
        "INSERT INTO s.own DEFAULT VALUES",
        "INSERT INTO s.own (a, b) SELECT a, b FROM t",
        "INSERT INTO s.own (a, b) VALUES (1, (SELECT b FROM t))",
        "CREATE TABLE s.copied AS SELECT * FROM t",
        "UPDATE s.own SET b = t.b FROM t",
        "DELETE FROM s.own USING t",
        "WITH x AS (DELETE FROM t RETURNING b) SELECT * FROM x",
        "COPY (SELECT b FROM s.peek) TO STDOUT",
        "TABLE t",
        "SELECT * FROM \"osier\".\"objects\"",
        "SET SESSION AUTHORIZATION osier",
        "SET ROLE osier",
        "SET session_authorization = 'osier'",
        "SET role = 'osier'",
        "SET is_superuser = on",
        "ALTER ROLE ann SUPERUSER",
        "ALTER ROLE ann CREATEROLE",
        "ALTER ROLE osier PASSWORD 'mine'",
        "GRANT osier TO ann",
        "ALTER VIEW s.peek OWNER TO osier",
        "ALTER SCHEMA public OWNER TO ann",
        "DROP SCHEMA public",
        "CREATE VIEW public.x AS SELECT 1",
    ] {
        let code = ann.error(statement).code().to_owned();
        let is_refused = ["42501", "42P01", "55P02"].contains(&code.as_str());
        assert!(is_refused, "{statement}: {code}");
    }
    assert_eq!(ann.error("SELECT * FROM \"s.own\"").code(), "42P01");
    assert_eq!(ann.run("DISCARD ALL"), "DISCARD ALL");
    ann.expect("SELECT current_user", &["ann"]);
    assert_eq!(ann.error("SELECT * FROM t").code(), "42501");
    // A superuser reads a view with the rights of its owner.
    assert_eq!(first.error("SELECT * FROM s.peek").code(), "42501");
    first.run("GRANT SELECT ON t TO ann");
    first.expect("SELECT * FROM s.peek", &["secret"]);
    first.run("ALTER ROLE ann PASSWORD 'x'; ALTER ROLE ann PASSWORD NULL");
    assert_eq!(first.error("ALTER ROLE ann PASSWORD 'md55f4dcc3b5aa765d61d8327deb882cf99'").code(), "0A000");
    for refused in ["REASSIGN OWNED BY ann TO bob", "DROP OWNED BY ann"] {
        assert_eq!(first.error(refused).code(), "0A000", "{refused}");
    }
}

#[test]
fn procedures_are_called_by_who_may() {
    let sql = support::open(&support::directory("rights-procedures"));
    let mut first = Client::new(&sql);
    let text = "procedure add(one bigint, two bigint) returns (sum bigint) { return one + two + 9; }";
    let program = Program::parse(text).expect("a procedure");
    let (_, receipt) = sql.database().run(|tx| tx.replace_procedure(&program)).expect("it makes sense");
    receipt.wait().expect("durable");
    first.run("CREATE ROLE ann LOGIN; CREATE ROLE crew; GRANT crew TO ann");
    let mut ann = client_of(&sql, "ann");
    for statement in ["CALL add(1, 5)", "SELECT add(1, 5)", "SELECT * FROM add(1, 5)"] {
        let error = ann.error(statement);
        assert_eq!((error.code(), &*error.message), ("42501", "permission denied for procedure add"), "{statement}");
    }
    ann.run("PREPARE call AS SELECT add(1, $1)");
    assert_eq!(ann.error("EXECUTE call(5)").code(), "42501");
    assert_eq!(ann.error("GRANT EXECUTE ON PROCEDURE add TO ann").code(), "42501");
    assert_eq!(first.error("GRANT SELECT ON PROCEDURE add TO crew").code(), "0LP01");
    assert_eq!(first.error("GRANT EXECUTE ON PROCEDURE nosuch TO crew").code(), "42883");
    first.expect("SELECT has_function_privilege('ann', 'add(bigint, bigint)', 'EXECUTE')", &["f"]);
    first.run("GRANT EXECUTE ON PROCEDURE add(bigint, bigint) TO crew");
    first.expect("SELECT has_function_privilege('ann', 'add(bigint, bigint)', 'EXECUTE')", &["t"]);
    first.expect("SELECT proacl FROM pg_proc WHERE proname = 'add'", &["{osier=X/osier,crew=X/osier}"]);
    ann.expect("SELECT add(1, 5)", &["15"]);
    ann.expect("EXECUTE call(6)", &["16"]);
    assert_eq!(first.error("DROP ROLE crew").code(), "2BP01");
    // A session that may call all is told when it may not any more.
    first.run("ALTER ROLE ann SUPERUSER; REVOKE EXECUTE ON PROCEDURE add FROM crew");
    ann.expect("SELECT add(1, 7)", &["17"]);
    first.run("ALTER ROLE ann NOSUPERUSER");
    assert_eq!(ann.error("SELECT add(1, 7)").code(), "42501");
    assert_eq!(ann.error("EXECUTE call(6)").code(), "42501");
    first.run("SET ROLE ann");
    assert_eq!(first.error("CALL add(1, 5)").code(), "42501");
}

#[test]
fn what_is_gone_leaves_no_rights() {
    let sql = support::open(&support::directory("rights-gone"));
    let mut first = Client::new(&sql);
    first.run("CREATE ROLE ann LOGIN; CREATE TABLE t (a int); GRANT SELECT ON t TO ann; CREATE SEQUENCE q");
    first.run("GRANT USAGE ON SEQUENCE q TO ann; CREATE VIEW v AS SELECT 1 AS a; GRANT SELECT ON v TO ann");
    first.run(
        "DROP TABLE t; DROP SEQUENCE q; DROP VIEW v; CREATE TABLE v (a int); CREATE SEQUENCE t; CREATE TABLE q (a int)",
    );
    let mut ann = client_of(&sql, "ann");
    for statement in ["SELECT * FROM v", "SELECT nextval('t')", "SELECT * FROM q"] {
        assert_eq!(ann.error(statement).code(), "42501", "{statement}");
    }
    // One that a program drops, and SQL makes again.
    first.run("CREATE TABLE again (a int PRIMARY KEY); GRANT SELECT ON again TO ann");
    let drop = |tx: &osier::Transaction<'_>| tx.drop_table(&tx.table("again")?);
    sql.database().run(drop).expect("it is there");
    first.run("CREATE TABLE again (a int PRIMARY KEY)");
    assert_eq!(ann.error("SELECT * FROM again").code(), "42501");
    first.run("REVOKE ALL ON again FROM ann; DROP ROLE ann");
}

#[test]
fn definitions_at_the_same_time_leave_nothing_dangling() {
    let sql = support::open(&support::directory("rights-same-time"));
    let (mut one, mut other) = (Client::new(&sql), Client::new(&sql));
    other.run("SET lock_timeout = 100");
    // A view on a table that goes, a table in a schema that goes, a right of a role that goes, whichever commits first.
    let races = [
        ("CREATE VIEW v AS SELECT a FROM t", "DROP TABLE t"),
        ("CREATE TABLE s.u (a int)", "DROP SCHEMA s"),
        ("GRANT SELECT ON t TO ann", "DROP ROLE ann"),
        ("ALTER TABLE t OWNER TO ann", "DROP ROLE ann"),
        ("CREATE VIEW s.w AS SELECT 1 AS a", "DROP SCHEMA s"),
        ("CREATE SEQUENCE s.q", "DROP SCHEMA s"),
        ("CREATE VIEW x AS SELECT 1 AS a", "CREATE TABLE x (a int)"),
        ("CREATE VIEW x AS SELECT 1 AS a", "CREATE SEQUENCE x"),
    ];
    for (make, drop) in races {
        for is_first in [true, false] {
            one.run("CREATE TABLE t (a int PRIMARY KEY); CREATE SCHEMA s; CREATE ROLE ann");
            one.run("BEGIN");
            other.run("BEGIN");
            let (first, second) = if is_first { (make, drop) } else { (drop, make) };
            one.run(first);
            // Who waits for a name gives up, because the other one goes on only then.
            let began = other.try_run(second);
            let ended = one.try_run("COMMIT");
            let last = began.and_then(|_| other.try_run("COMMIT"));
            assert!(ended.is_err() || last.is_err(), "{first} beside {second}");
            for client in [&mut one, &mut other] {
                let _ = client.try_run("ROLLBACK");
            }
            for clean in [
                "DROP VIEW IF EXISTS v, x CASCADE",
                "DROP SEQUENCE IF EXISTS x",
                "DROP TABLE IF EXISTS t, x CASCADE",
                "DROP SCHEMA IF EXISTS s CASCADE",
                "DROP ROLE IF EXISTS ann",
            ] {
                let _ = one.try_run(clean);
            }
            one.expect(
                "SELECT count(*) FROM pg_views WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
                &["0"],
            );
            one.expect("SELECT count(*) FROM pg_class WHERE relname IN ('t', 'u', 'v', 'w', 'q', 'x')", &["0"]);
        }
    }
}
