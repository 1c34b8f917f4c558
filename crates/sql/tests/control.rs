//! Statements about statements: prepared ones, cursors, plans, calls of procedures, and where errors are.

use std::sync::Arc;

use osier::config::Logged;
use osier::procedure::program::Program;
use osier::{Config, Create, Database, Protocol};
use osier_sql::Sql;
use osier_sql::session::{Mode, Status};

mod support;

use support::{Client, directory, open};

/// A database with the tables of a text and the procedures of another one, which logs calls.
fn with_procedures(test: &str, tables: &str, procedures: &str) -> Arc<Sql> {
    let config = Config::new(support::directory(test))
        .create(Create::IfMissing)
        .protocol(Protocol::Taurus)
        .logged(Logged::Commands)
        .transaction_log_bytes_max(256 << 10)
        .ring_bytes(1 << 20)
        .segment_bytes(8 << 20);
    let sql = Sql::new(Arc::new(Database::open(config).expect("a database"))).expect("a catalog");
    Client::new(&sql).run(tables);
    let programs = Program::parse_all(procedures).expect("procedures");
    let create = |tx: &osier::Transaction<'_>| programs.iter().try_for_each(|program| tx.replace_procedure(program));
    let ((), receipt) = sql.database().run(create).expect("they make sense");
    receipt.wait().expect("durable");
    sql
}

const ACCOUNTS: &str =
    "CREATE TABLE accounts (id bigint PRIMARY KEY, owner text NOT NULL, balance numeric(12,2) NOT NULL);
    INSERT INTO accounts VALUES (1, 'ann', 100), (2, 'bob', 50.25)";

#[test]
fn prepared_statements_are_those_of_postgresql() {
    Client::new(&open(&directory("prepare.sql"))).suite("prepare.sql");
}

#[test]
fn cursors_are_those_of_postgresql() {
    Client::new(&open(&directory("cursors.sql"))).suite("cursors.sql");
}

#[test]
fn advisory_locks() {
    Client::new(&open(&directory("advisory.sql"))).suite("advisory.sql");
}

#[test]
fn plans_are_explained() {
    Client::new(&open(&directory("explain.sql"))).suite("explain.sql");
}

#[test]
fn procedures_are_called() {
    let sql = with_procedures("calls.sql", ACCOUNTS, include_str!("suite/calls.procedures"));
    Client::new(&sql).suite("calls.sql");
}

#[test]
fn errors_have_a_place() {
    let mut client = Client::new(&open(&directory("places")));
    client.run("CREATE TABLE t (a int, b text)");
    for (text, place) in [
        ("SELECT a FROM t WHERE", 22),
        ("SELECT nosuch FROM t", 8),
        ("SELECT a,\n  t.nosuch FROM t", 13),
        ("SELECT x.a FROM t", 8),
        ("SELECT a FROM nosuch", 15),
        ("SELECT nosuch(a) FROM t", 8),
        ("SELECT 1 + nosuch(a) FROM t", 12),
        ("SELECT a::nosuch FROM t", 11),
        ("SELECT 'x'::int", 8),
        ("SELECT a + b FROM t", 10),
        ("SELECT a+b FROM t", 9),
        ("SELECT a FROM t WHERE a", 23),
        ("INSERT INTO nosuch VALUES (1)", 13),
        ("UPDATE nosuch SET a = 1", 8),
        ("DELETE FROM nosuch", 13),
        ("SELECT \u{e4} FROM t", 8),
        ("/* \u{e4}\u{f6} */ SELECT nosuch FROM t", 17),
        ("FETCHES 1", 1),
        ("SELECT 1 FROM t t u", 19),
        ("CALL nosuch(1)", 6),
        ("EXECUTE nosuch(1", 17),
    ] {
        assert_eq!(client.error(text).position(), Some(place), "{text}");
    }
    client.run("CREATE TABLE u (a int DEFAULT length('x'))");
    assert_eq!(client.error("CREATE TABLE v (a int DEFAULT nosuch(1))").position(), None);
}

#[test]
fn calls_are_logged_as_the_calls_that_they_are() {
    let sql = with_procedures("logged", ACCOUNTS, include_str!("suite/calls.procedures"));
    let mut client = Client::new(&sql);
    let figures = || {
        let metrics = sql.database().metrics();
        metrics.procedures.iter().find(|of| of.name == "deposit").map(|of| (of.calls, of.commands)).expect("figures")
    };
    client.run("CALL deposit(1, 1)");
    assert_eq!(client.try_with("CALL deposit($1, $2)", &["1", "2.5"]).expect("a row"), "103.50");
    client.run("SELECT deposit(1, 1); SELECT * FROM deposit(1, 1)");
    let prepared = client.session.prepare("CALL deposit($1, $2)", &[]).expect("it is there");
    assert_eq!(prepared.parameters(), [osier_sql::Type::Int8, osier_sql::Type::Numeric]);
    assert_eq!(prepared.columns().map(<[_]>::len), Some(1));
    assert_eq!(figures(), (4, 4));
    // As a part of another transaction it is logged with the rows of that one.
    client.run("BEGIN; CALL deposit(1, 1); COMMIT");
    assert_eq!(figures(), (5, 4));
}

#[test]
fn a_procedure_that_returns_something_else_is_not_called() {
    let sql = with_procedures("replaced", ACCOUNTS, include_str!("suite/calls.procedures"));
    let mut client = Client::new(&sql);
    let prepared = client.session.prepare("CALL deposit(1, $1)", &[]).expect("it is there");
    let replace = |text: &str| {
        let program = Program::parse(text).expect("a procedure");
        sql.database().replace_procedure(&program).expect("it makes sense");
    };
    sql.database().drop_procedure("transfer").expect("it is there");
    let call = |client: &mut Client| client.call(&prepared, "5");
    assert_eq!(call(&mut client).expect("a row"), "105.00");
    // What it takes and returns stays: it is called as it is now.
    replace(
        "procedure deposit(account bigint, amount numeric(12,2)) returns (balance numeric(12,2)) {
            return amount * 2;
        }",
    );
    assert_eq!(call(&mut client).expect("a row"), "10.00");
    replace("procedure deposit(account bigint, amount numeric(12,2)) returns (id bigint) { return account; }");
    assert_eq!(call(&mut client).unwrap_err().message, "cached plan must not change result type");
    sql.database().drop_procedure("deposit").expect("it is there");
    assert_eq!(call(&mut client).unwrap_err().code(), "42883");
    assert_eq!(client.status(), Status::Idle);
}

/// What indexes compute is a part of rows, which a procedure does not know.
#[test]
fn procedures_do_not_write_what_indexes_compute() {
    let sql = with_procedures(
        "computed",
        "CREATE TABLE t (id bigint PRIMARY KEY, a text); INSERT INTO t VALUES (1, 'A')",
        "procedure put(id bigint, a text) { insert into t (id, a) values (id, a); }
         procedure change(id bigint, a text) { update t (id) set a = a; }
         procedure take(id bigint) { delete from t (id); }",
    );
    let mut client = Client::new(&sql);
    client.run("CALL put(2, 'B'); CALL change(2, 'C'); CREATE UNIQUE INDEX lower ON t (lower(a))");
    for call in ["CALL put(3, 'D')", "CALL change(2, 'D')"] {
        let error = client.error(call);
        assert!(error.message.contains("indexes on expressions"), "{call}: {error}");
    }
    client.run("CALL take(1)");
    client.expect("SELECT id FROM t WHERE lower(a) = 'c'", &["2"]);
    client.run("DROP INDEX lower; CALL put(3, 'D'); CALL change(3, 'E')");
    client.expect("SELECT * FROM t ORDER BY id", &["2|C", "3|E"]);
}

#[test]
fn calls_of_two_clients_do_not_lose_each_other() {
    let sql = with_procedures("both", ACCOUNTS, include_str!("suite/calls.procedures"));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut client = Client::new(&sql);
                (0..50).for_each(|_| drop(client.run("CALL deposit(1, 1)")));
            });
        }
    });
    let (mut a, mut b) = (Client::new(&sql), Client::new(&sql));
    a.expect("SELECT balance FROM accounts WHERE id = 1", &["200.00"]);
    // Beside a block that has read what they write.
    a.run("BEGIN");
    a.expect("SELECT balance FROM accounts WHERE id = 1", &["200.00"]);
    b.run("CALL deposit(1, 1)");
    let lost = a.try_run("CALL deposit(1, 1); COMMIT").expect_err("a conflict");
    assert_eq!(lost.code(), "40001");
    a.run("ROLLBACK");
    a.expect("SELECT balance FROM accounts WHERE id = 1", &["201.00"]);
}

#[test]
fn errors_of_procedures_say_where_they_come_from() {
    let sql = with_procedures("context", ACCOUNTS, include_str!("suite/calls.procedures"));
    let mut client = Client::new(&sql);
    let error = client.error("CALL transfer(1, 2, 1000)");
    assert_eq!((error.code(), error.message.as_str()), ("P0001", "account 1 has only 100.00"));
    assert!(error.context().is_some_and(|context| context.contains("transfer")), "{:?}", error.context());
    assert!(client.session.take_observed().is_some(), "what it has seen");
    let error = client.error("CALL fail('conflict')");
    assert_eq!((error.code(), error.is_conflict()), ("40001", false));
    let error = client.error("SELECT deposit(1, 1) + 1");
    assert_eq!(error.code(), "0A000");
    assert!(error.hint().is_some_and(|hint| hint.contains("CALL deposit(...)")), "{:?}", error.hint());
    let error = client.error("CREATE FUNCTION f() RETURNS int AS $$ x $$");
    assert!(error.hint().is_some_and(|hint| hint.contains("osier procedure load")), "{:?}", error.hint());
}

#[test]
fn tpc_b_is_one_call() {
    let tables =
        "CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
        CREATE TABLE pgbench_tellers (tid int NOT NULL PRIMARY KEY, bid int, tbalance int, filler char(84));
        CREATE TABLE pgbench_accounts (aid int NOT NULL PRIMARY KEY, bid int, abalance int, filler char(84));
        CREATE TABLE pgbench_branches (bid int NOT NULL PRIMARY KEY, bbalance int, filler char(88));
        INSERT INTO pgbench_branches VALUES (1, 0);
        INSERT INTO pgbench_tellers SELECT g, 1, 0 FROM generate_series(1, 10) g;
        INSERT INTO pgbench_accounts SELECT g, 1, 0, '' FROM generate_series(1, 100) g";
    let sql = with_procedures("tpcb", tables, include_str!("../examples/tpcb/tpcb.procedures"));
    let mut client = Client::new(&sql);
    let prepared = client.session.prepare("CALL tpcb($1, $2, $3, $4)", &[]).expect("it is there");
    for round in 1..=20 {
        let values = [round, 1, round % 10 + 1, 7].map(osier_sql::Datum::Int);
        let mut rows = support::Rows::default();
        let done = client.session.run(&prepared, &values, Mode::Alone, &mut rows).expect("it commits");
        assert_eq!(done.tag, "CALL");
        done.receipt.expect("a commit").wait().expect("durable");
    }
    client.expect("SELECT bbalance, (SELECT sum(tbalance) FROM pgbench_tellers) FROM pgbench_branches", &["140|140"]);
    client.expect("SELECT sum(abalance), count(*) FROM pgbench_accounts WHERE abalance <> 0", &["140|20"]);
    client.expect("SELECT count(*), sum(delta), bool_and(mtime <= now()) FROM pgbench_history", &["20|140|t"]);
    assert_eq!(client.error("CALL tpcb(1000, 1, 1, 5)").code(), "P0002");
    client.run("BEGIN; CALL tpcb(1, 1, 1, 5); ROLLBACK; CALL tpcb(1, 1, 1, 5)");
    client.expect("SELECT abalance FROM pgbench_accounts WHERE aid = 1", &["12"]);
}

#[test]
fn cursors_may_be_binary_and_have_parameters() {
    let mut client = Client::new(&open(&directory("binary")));
    client.run("BEGIN");
    client.try_with("DECLARE c BINARY SCROLL CURSOR FOR SELECT $1::int + 1", &["41"]).expect("declared");
    let prepared = client.session.prepare("FETCH c", &[]).expect("it is there");
    assert!(prepared.is_binary());
    assert_eq!(client.session.cursor_columns("c").map(<[_]>::len), Some(1));
    client.expect("FETCH c", &["42"]);
    client.session.close_cursor("c");
    assert_eq!(client.error("FETCH c").code(), "34000");
}

#[test]
fn settings_are_shown_by_the_names_that_postgresql_has_for_them() {
    let sql = open(&directory("shown_names"));
    let mut client = Client::new(&sql);
    for (text, name) in [("SHOW TIME ZONE", "TimeZone"), ("SHOW DATESTYLE", "DateStyle"), ("SHOW a.B", "a.B")] {
        let prepared = client.session.prepare(text, &[]).expect("a query");
        assert_eq!(prepared.columns().expect("a column")[0].name, name, "{text}");
    }
}
