//! Statistics of tables: when they are collected, what they say, and who sees them.

mod support;

use std::time::{Duration, Instant};

use osier_sql::Session;
use support::Client;

fn client(test: &str) -> Client {
    Client::new(&support::open(&support::directory(&format!("statistics-{test}"))))
}

/// The plan of a query, without what it costs.
fn plan(client: &mut Client, query: &str) -> String {
    client.run(&format!("EXPLAIN (COSTS off) {query}"))
}

/// The number of rows that the first operator of a plan is expected to give.
fn expected_rows(client: &mut Client, query: &str) -> f64 {
    let plan = client.run(&format!("EXPLAIN {query}"));
    let rows = plan.split("rows=").nth(1).and_then(|rest| rest.split(' ').next());
    rows.and_then(|rows| rows.parse().ok()).unwrap_or_else(|| panic!("no rows in {plan}"))
}

#[test]
fn columns_are_described() {
    let mut client = client("columns");
    client.run(
        "CREATE TABLE t (id int PRIMARY KEY, kind int, name text, none text);
         INSERT INTO t SELECT g, CASE WHEN g % 4 = 0 THEN NULL ELSE g % 2 END, 'n' || g % 50, NULL
             FROM generate_series(1, 1000) g",
    );
    client.expect("SELECT count(*) FROM pg_stats WHERE tablename = 't'", &["0"]);
    assert_eq!(client.run("ANALYZE t"), "ANALYZE");
    let columns = "attname, null_frac, n_distinct, most_common_vals, most_common_freqs";
    client.expect(
        &format!("SELECT {columns} FROM pg_stats WHERE tablename = 't' AND attname <> 'name' ORDER BY attname"),
        &["id|0|-1|NULL|NULL", "kind|0.25|2|{1,0}|{0.5,0.25}", "none|1|0|NULL|NULL"],
    );
    client.expect("SELECT n_distinct FROM pg_stats WHERE attname = 'name'", &["50"]);
    client.expect("SELECT left(histogram_bounds, 14) FROM pg_stats WHERE attname = 'id'", &["{1,10,20,30,40"]);
    client
        .expect("SELECT reltuples FROM pg_class WHERE relname IN ('t', 't_pkey') ORDER BY relname", &["1000", "1000"]);
}

#[test]
fn rows_are_estimated() {
    let mut client = client("rows");
    client.run(
        "CREATE TABLE t (id int PRIMARY KEY, kind int, ten int, name text);
         INSERT INTO t SELECT g, CASE WHEN g % 100 = 0 THEN NULL ELSE least(g % 20, 5) END, g % 10, 'n' || lpad(g::text, 4, '0')
             FROM generate_series(1, 2000) g;
         CREATE TABLE u (id int PRIMARY KEY, t_id int);
         INSERT INTO u SELECT g, g % 500 + 1 FROM generate_series(1, 4000) g;
         ANALYZE",
    );
    for (condition, rows, tolerance) in [
        ("true", 2000.0, 0.0),
        ("id = 7", 1.0, 0.0),
        ("kind = 5", 1500.0, 0.0),
        ("kind = 1", 100.0, 0.0),
        ("kind = 77", 1.0, 0.0),
        ("kind <> 5", 480.0, 1.0),
        ("kind IS NULL", 20.0, 0.0),
        ("kind IS NOT NULL", 1980.0, 0.0),
        ("kind IN (1, 2)", 200.0, 0.0),
        ("kind = ANY ('{1,2,3}')", 300.0, 0.0),
        ("NOT (kind = 5)", 480.0, 1.0),
        ("kind = 1 OR kind = 5", 1525.0, 20.0),
        ("id < 501", 500.0, 25.0),
        ("id > 1500", 500.0, 25.0),
        ("id BETWEEN 501 AND 600", 100.0, 10.0),
        ("id > 900 AND id < 100", 1.0, 25.0),
        ("ten = 3 AND kind = 5", 150.0, 1.0),
        ("name LIKE 'n00%'", 99.0, 20.0),
        ("name LIKE 'n0123'", 1.0, 0.0),
        ("kind = NULL", 1.0, 0.0),
        ("false", 1.0, 0.0),
    ] {
        let found = expected_rows(&mut client, &format!("SELECT * FROM t WHERE {condition}"));
        assert!((found - rows).abs() <= tolerance, "{condition}: {found} rows and not {rows}");
    }
    for (query, rows, tolerance) in [
        ("SELECT * FROM t JOIN u ON u.t_id = t.id", 4000.0, 40.0),
        ("SELECT * FROM t JOIN u ON u.t_id = t.id WHERE t.id < 201", 400.0, 60.0),
        ("SELECT * FROM t LEFT JOIN u ON u.t_id = t.id AND u.id < 5", 2000.0, 20.0),
        ("SELECT ten, count(*) FROM t GROUP BY ten", 10.0, 0.0),
        ("SELECT DISTINCT ten, kind FROM t", 70.0, 1.0),
        ("SELECT count(*) FROM t", 1.0, 0.0),
        ("SELECT * FROM t UNION ALL SELECT * FROM t", 4000.0, 0.0),
        ("SELECT * FROM t LIMIT 7", 7.0, 0.0),
        ("SELECT * FROM generate_series(1, 50)", 50.0, 0.0),
    ] {
        let found = expected_rows(&mut client, query);
        assert!((found - rows).abs() <= tolerance, "{query}: {found} rows and not {rows}");
    }
}

#[test]
fn an_index_is_read_where_few_rows_are_wanted() {
    let mut client = client("access");
    client.run(
        "CREATE TABLE t (id int PRIMARY KEY, few int, many int, v int);
         CREATE INDEX t_few ON t (few); CREATE INDEX t_many ON t (many);
         INSERT INTO t SELECT g, g % 500, g % 3, g FROM generate_series(1, 3000) g; ANALYZE t",
    );
    let index_of = |client: &mut Client, condition: &str| {
        let plan = plan(client, &format!("SELECT * FROM t WHERE {condition}"));
        plan.split_whitespace().skip_while(|word| *word != "using").nth(1).map(str::to_owned)
    };
    let mut index = |condition: &str| index_of(&mut client, condition);
    assert_eq!(index("few = 3").as_deref(), Some("t_few"));
    assert_eq!(index("many = 1 AND few = 3").as_deref(), Some("t_few"));
    assert_eq!(index("few > 3"), None, "nearly all rows");
    assert_eq!(index("few > 495").as_deref(), Some("t_few"));
    assert_eq!(index("few > 3 AND id < 20").as_deref(), Some("t_pkey"));
    assert_eq!(index("few = 3 AND id = 20").as_deref(), Some("t_pkey"));
}

#[test]
fn the_smaller_side_leads_whichever_is_named_first() {
    let mut client = client("order");
    client.run(
        "CREATE TABLE fact (id int PRIMARY KEY, dim int, v int); CREATE TABLE dim (id int PRIMARY KEY, name text);
         CREATE TABLE big (id int PRIMARY KEY, fact int); CREATE INDEX ON big (fact);
         INSERT INTO dim SELECT g, 'd' || g FROM generate_series(1, 20) g;
         INSERT INTO fact SELECT g, g % 20 + 1, g FROM generate_series(1, 3000) g;
         INSERT INTO big SELECT g, g % 3000 + 1 FROM generate_series(1, 3000) g; ANALYZE",
    );
    let hashed =
        "Hash Join\n  Hash Cond: (fact.dim = dim.id)\n  ->  Seq Scan on fact\n  ->  Hash\n        ->  Seq Scan on dim";
    assert_eq!(plan(&mut client, "SELECT * FROM fact JOIN dim ON dim.id = fact.dim"), hashed);
    assert_eq!(plan(&mut client, "SELECT * FROM dim JOIN fact ON dim.id = fact.dim"), hashed);
    let outer = plan(&mut client, "SELECT * FROM dim LEFT JOIN fact ON dim.id = fact.dim");
    assert!(outer.starts_with("Hash Right Join"), "{outer}");
    // What is equal to a value is found by that.
    let seven = plan(&mut client, "SELECT * FROM fact JOIN big ON big.fact = fact.id WHERE fact.id = 7");
    for condition in ["Index Cond: (fact.id = 7)", "Index Cond: (big.fact = 7)"] {
        assert!(seven.contains(condition) && !seven.contains("Filter"), "{seven}");
    }
    let three = "SELECT * FROM big, fact, dim WHERE big.fact = fact.id AND fact.dim = dim.id AND dim.name = 'd3' AND big.id < 9";
    let plan = plan(&mut client, three);
    assert!(plan.contains("Index Scan using fact_pkey on fact\n"), "few rows look up others: {plan}");
}

#[test]
fn a_query_by_key_collects_nothing() {
    let mut client = client("point");
    client.run(
        "CREATE TABLE t (id int PRIMARY KEY, v int); CREATE INDEX ON t (v); CREATE TABLE u (id int PRIMARY KEY, w int);
         INSERT INTO t SELECT g, g FROM generate_series(1, 100) g; INSERT INTO u SELECT g, g FROM generate_series(1, 100) g",
    );
    for query in [
        "SELECT * FROM t WHERE id = 1",
        "SELECT * FROM t WHERE id = 1 AND v = 1",
        "SELECT * FROM t WHERE id BETWEEN 1 AND 10 ORDER BY id",
        "SELECT * FROM t WHERE id IN (1, 2, 3)",
        "SELECT * FROM t JOIN u ON u.id = t.id WHERE t.id = 5",
        "SELECT * FROM t LEFT JOIN u ON u.id = t.id WHERE t.id = 5",
        "UPDATE t SET v = v + 1 WHERE id = 1",
        "DELETE FROM u WHERE id = 99",
    ] {
        client.run(query);
        client.expect("SELECT count(*) FROM pg_stats WHERE schemaname = 'public'", &["0"]);
    }
    client.run("SELECT * FROM t WHERE v = 1");
    client.expect("SELECT DISTINCT tablename FROM pg_stats WHERE schemaname = 'public'", &["t"]);
}

#[test]
fn analyze_is_for_owners_and_tables() {
    let sql = support::open(&support::directory("statistics-rights"));
    let mut client = Client::new(&sql);
    client.run(
        "CREATE TABLE t (a int, secret int); INSERT INTO t VALUES (1, 2); CREATE VIEW v AS SELECT * FROM t; CREATE ROLE joe LOGIN;
         GRANT SELECT (a) ON t TO joe; ANALYZE t (a)",
    );
    assert_eq!(client.error("ANALYZE nosuch").code(), "42P01");
    assert_eq!(client.error("ANALYZE t (nosuch)").code(), "42703");
    assert_eq!(client.error("ANALYZE t (a, a)").code(), "42701");
    let warned = |client: &mut Client, statement: &str| {
        client.session.take_notices();
        client.run(statement);
        client.session.take_notices().into_iter().map(|notice| notice.to_string()).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(
        warned(&mut client, "ANALYZE v"),
        "skipping \"v\" --- cannot analyze non-tables or special system tables"
    );
    let mut joe = Client { session: Session::new(&sql, "joe").expect("a session"), has_rows: false };
    assert_eq!(warned(&mut joe, "ANALYZE t"), "skipping \"t\" --- only table or database owner can analyze it");
    assert_eq!(warned(&mut joe, "ANALYZE"), "");
    joe.expect("SELECT attname FROM pg_stats WHERE tablename = 't'", &["a"]);
    client.expect("SELECT attname FROM pg_stats WHERE tablename = 't' ORDER BY 1", &["a", "secret"]);
}

#[test]
fn statistics_go_with_what_they_are_of() {
    let mut client = client("stale");
    client.run("CREATE TABLE t (a int, b text); INSERT INTO t SELECT g, 'x' FROM generate_series(1, 100) g; ANALYZE t");
    let known = "SELECT count(*) FROM pg_stats WHERE tablename = 't'";
    client.expect(known, &["2"]);
    client.run("ALTER TABLE t DROP COLUMN a");
    client.expect(known, &["0"]);
    assert_eq!(expected_rows(&mut client, "SELECT * FROM t WHERE b = 'x'"), 100.0);
    client.run("TRUNCATE t; ANALYZE t");
    client.expect("SELECT reltuples FROM pg_class WHERE relname = 't'", &["0"]);
    // Rows that are not committed are not counted, and leave nothing.
    client.run("BEGIN; INSERT INTO t SELECT 'y' FROM generate_series(1, 50) g; ANALYZE t");
    client.expect("SELECT count(*) FROM t WHERE b = 'y'", &["50"]);
    client.run("ROLLBACK; ANALYZE t");
    client.expect("SELECT reltuples FROM pg_class WHERE relname = 't'", &["0"]);
    client.run("DROP TABLE t; CREATE TABLE t (c int); INSERT INTO t VALUES (1), (2)");
    client.expect(known, &["0"]);
    assert_eq!(expected_rows(&mut client, "SELECT * FROM t"), 2.0);
}

#[test]
fn statistics_follow_the_number_of_rows() {
    let mut client = client("growth");
    client.run("CREATE TABLE t (a int, b int); INSERT INTO t SELECT g, g FROM generate_series(1, 100) g");
    assert_eq!(expected_rows(&mut client, "SELECT * FROM t"), 100.0);
    client.run("INSERT INTO t SELECT g, g FROM generate_series(1, 900) g");
    let begun = Instant::now();
    while expected_rows(&mut client, "SELECT * FROM t") != 1000.0 {
        assert!(begun.elapsed() < Duration::from_secs(20), "the statistics are still the old ones");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_prepared_statement_is_planned_again_when_its_tables_have_grown() {
    let mut client = client("prepared");
    client.run(
        "CREATE TABLE small (id int PRIMARY KEY, v int); CREATE TABLE other (id int PRIMARY KEY, v int);
         CREATE INDEX ON small (v); INSERT INTO small SELECT g, g FROM generate_series(1, 5) g;
         INSERT INTO other SELECT g, g FROM generate_series(1, 2000) g;
         ANALYZE; PREPARE q AS SELECT count(*) FROM small JOIN other ON other.v = small.v",
    );
    let shown = "EXPLAIN (COSTS off) EXECUTE q";
    let first = client.run(shown);
    assert!(first.ends_with("->  Hash\n              ->  Seq Scan on small"), "{first}");
    client.run("INSERT INTO small SELECT g, g FROM generate_series(6, 20) g; ANALYZE");
    assert_eq!(client.run(shown), first);
    client.run("INSERT INTO small SELECT g, g FROM generate_series(21, 9000) g; ANALYZE");
    let then = client.run(shown);
    assert!(then.contains("->  Index Scan using small_v_idx on small\n"), "{then}");
    client.expect("EXECUTE q", &["2000"]);
}
