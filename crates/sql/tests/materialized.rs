//! Materialized views beside other transactions, behind a restart, and in dumps.

#[allow(dead_code, reason = "this uses a part")]
mod support;

use osier_sql::session::Status;
use support::{Client, directory, open};

/// Whoever reads them while they are refreshed sees the rows from before, and is not waited for.
#[test]
fn readers_go_on_while_rows_are_refreshed() {
    let sql = open(&directory("materialized_readers"));
    let (mut writer, mut reader) = (Client::new(&sql), Client::new(&sql));
    writer.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)");
    writer.run("CREATE MATERIALIZED VIEW m AS SELECT a FROM t; CREATE UNIQUE INDEX ON m (a)");
    for (how, before, after) in [("", "2", "3"), ("CONCURRENTLY", "3", "4")] {
        writer.run("INSERT INTO t SELECT max(a) + 1 FROM t");
        writer.run("BEGIN");
        writer.run(&format!("REFRESH MATERIALIZED VIEW {how} m"));
        writer.expect("SELECT count(*) FROM m", &[after]);
        reader.expect("SELECT count(*) FROM m", &[before]);
        writer.run("COMMIT");
        reader.expect("SELECT count(*) FROM m", &[after]);
    }
    assert_eq!(reader.session.status(), Status::Idle);
}

/// A refresh that keeps readers going writes only the rows that are others than before.
#[test]
fn rows_that_come_again_are_not_written() {
    let sql = open(&directory("materialized_same"));
    let (mut writer, mut reader) = (Client::new(&sql), Client::new(&sql));
    writer.run("CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t VALUES (1, 'x'), (2, NULL)");
    writer.run("CREATE MATERIALIZED VIEW m AS SELECT a, b FROM t; CREATE UNIQUE INDEX ON m (a)");
    // A block that has read a row which stays does not conflict with the refresh.
    reader.run("BEGIN");
    reader.expect("SELECT b FROM m WHERE a = 1", &["x"]);
    writer.run("UPDATE t SET b = 'y' WHERE a = 2; REFRESH MATERIALIZED VIEW CONCURRENTLY m");
    reader.run("CREATE TABLE seen (a int)");
    reader.run("COMMIT");
    reader.expect("SELECT * FROM m ORDER BY a", &["1|x", "2|y"]);
}

#[test]
fn they_are_there_behind_a_restart() {
    let path = directory("materialized_restart");
    {
        let mut client = Client::new(&open(&path));
        client.run("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, 'y')");
        client.run("CREATE MATERIALIZED VIEW m (k) AS SELECT a, b FROM t; CREATE INDEX ON m (lower(b))");
        client.run("CREATE MATERIALIZED VIEW e AS SELECT * FROM m WITH NO DATA; INSERT INTO t VALUES (3, 'z')");
    }
    let mut client = Client::new(&open(&path));
    client.expect("SELECT * FROM m ORDER BY k", &["1|x", "2|y"]);
    let error = client.error("SELECT * FROM e");
    assert_eq!(error.code(), "55000");
    assert_eq!(error.message, "materialized view \"e\" has not been populated");
    assert_eq!(error.hint(), Some("Use the REFRESH MATERIALIZED VIEW command."));
    client.run("REFRESH MATERIALIZED VIEW m; REFRESH MATERIALIZED VIEW e");
    client.expect("SELECT k FROM e WHERE lower(b) = 'z'", &["3"]);
    assert_eq!(
        client.error("DROP TABLE t").detail(),
        Some("materialized view m depends on table t\nmaterialized view e depends on materialized view m")
    );
}

#[test]
fn errors_say_what_postgresql_says() {
    let mut client = Client::new(&open(&directory("materialized_errors")));
    client.run("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, 'y')");
    assert_eq!(client.run("CREATE MATERIALIZED VIEW m AS SELECT a, b FROM t"), "SELECT 2");
    assert_eq!(client.run("CREATE MATERIALIZED VIEW n AS SELECT a FROM t WITH NO DATA"), "CREATE MATERIALIZED VIEW");
    assert_eq!(client.run("REFRESH MATERIALIZED VIEW m"), "REFRESH MATERIALIZED VIEW");
    let mut says = |text: &str, message: &str, more: Option<&str>| {
        let error = client.error(text);
        assert_eq!(error.message, message, "{text}");
        assert_eq!(error.detail().or(error.hint()), more, "{text}");
    };
    says("INSERT INTO m VALUES (1)", "cannot change materialized view \"m\"", None);
    says("TRUNCATE m", "\"m\" is not a table", None);
    says("COPY m FROM STDIN", "cannot copy to materialized view \"m\"", None);
    let to = Some("Try the COPY (SELECT ...) TO variant.");
    says("COPY m TO STDOUT", "cannot copy from materialized view \"m\"", to);
    says("DROP TABLE m", "\"m\" is not a table", Some("Use DROP MATERIALIZED VIEW to remove a materialized view."));
    says("DROP INDEX m", "\"m\" is not an index", Some("Use DROP MATERIALIZED VIEW to remove a materialized view."));
    says("SELECT * FROM m FOR UPDATE", "cannot lock rows in materialized view \"m\"", None);
    let unsupported = Some("This operation is not supported for materialized views.");
    says(
        "ALTER TABLE m ALTER COLUMN a ADD GENERATED ALWAYS AS IDENTITY",
        "ALTER action ALTER COLUMN ... ADD IDENTITY cannot be performed on relation \"m\"",
        unsupported,
    );
    let key = "Create a unique index with no WHERE clause on one or more columns of the materialized view.";
    says(
        "REFRESH MATERIALIZED VIEW CONCURRENTLY m",
        "cannot refresh materialized view \"public.m\" concurrently",
        Some(key),
    );
    says(
        "EXPLAIN ANALYZE SELECT * FROM n",
        "materialized view \"n\" has not been populated",
        Some("Use the REFRESH MATERIALIZED VIEW command."),
    );
    client.run("CREATE UNIQUE INDEX mi ON m (a); INSERT INTO t VALUES (1, 'z')");
    let error = client.error("REFRESH MATERIALIZED VIEW m");
    assert_eq!((error.code(), error.constraint()), ("23505", Some("mi")));
    assert_eq!(error.message, "could not create unique index \"mi\"");
    assert_eq!(error.detail(), Some("Key (a)=(1) is duplicated."));
    let error = client.error("REFRESH MATERIALIZED VIEW CONCURRENTLY m");
    assert_eq!(error.detail(), Some("Key (a)=(1) already exists."));
    client.run("DELETE FROM t; INSERT INTO t VALUES (1, 'x'), (1, 'x')");
    let error = client.error("REFRESH MATERIALIZED VIEW CONCURRENTLY m");
    assert_eq!(error.message, "new data for materialized view \"m\" contains duplicate rows without any null columns");
    assert_eq!((error.code(), error.detail()), ("21000", Some("Row: (1,x)")));
}

/// A view that reads a materialized one which reads that view: the view is made twice, and rows come at the end.
#[test]
fn definitions_come_before_rows() {
    let mut client = Client::new(&open(&directory("materialized_definitions")));
    client.run("CREATE TABLE t (a int); CREATE VIEW v AS SELECT a FROM t");
    client.run("CREATE MATERIALIZED VIEW m (k) AS SELECT a FROM v; CREATE OR REPLACE VIEW v AS SELECT k AS a FROM m");
    client.run("CREATE MATERIALIZED VIEW a AS SELECT k FROM m; CREATE UNIQUE INDEX ai ON a (k)");
    client.run("CREATE MATERIALIZED VIEW e AS SELECT k FROM a WITH NO DATA");
    client.run("COMMENT ON MATERIALIZED VIEW a IS 'kept'");
    client.expect(
        "SHOW osier.definitions",
        &[
            "before|public.t|CREATE TABLE public.t (",
            "    a integer",
            ");",
            "rows|public.t|public.t (a)",
            "after|public.v|CREATE VIEW public.v AS SELECT NULL::integer AS a;",
            "after|public.m|CREATE MATERIALIZED VIEW public.m (k) AS SELECT v.a FROM public.v WITH NO DATA;",
            "after|public.a|CREATE MATERIALIZED VIEW public.a (k) AS SELECT m.k FROM public.m WITH NO DATA;",
            "after|public.e|CREATE MATERIALIZED VIEW public.e (k) AS SELECT a.k FROM public.a WITH NO DATA;",
            "after|public.v|CREATE OR REPLACE VIEW public.v (a) AS SELECT m.k AS a FROM public.m;",
            "after|public.ai|CREATE UNIQUE INDEX ai ON public.a (k);",
            "after|public.a|COMMENT ON MATERIALIZED VIEW public.a IS 'kept';",
            "after|public.m|REFRESH MATERIALIZED VIEW public.m;",
            "after|public.a|REFRESH MATERIALIZED VIEW public.a;",
        ],
    );
}
