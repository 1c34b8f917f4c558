//! Bounds of what statements take: memory of values, and time.

use std::time::{Duration, Instant};

use osier_sql::session::Status;

mod support;

use support::Client;

fn client(test: &str) -> Client {
    Client::new(&support::open(&support::directory(test)))
}

/// Values that would be larger than a value may be are refused before they are made.
#[test]
fn values_are_bounded() {
    let mut client = client("value-bounds");
    for (text, code) in [
        ("SELECT length(repeat('x', 300000000))", "54000"),
        ("SELECT length(lpad('x', 100000000, 'ab'))", "54000"),
        ("SELECT length(replace(repeat('a', 1000000), 'a', repeat('b', 1000)))", "54000"),
        ("SELECT length(regexp_replace(repeat('a', 1000000), 'a', repeat('b', 1000), 'g'))", "54000"),
        (r"SELECT length(regexp_replace(repeat('a', 1000000), 'a*', repeat('\&', 1000)))", "54000"),
        ("SELECT array_length(array_fill(0, ARRAY[100000000]), 1)", "54000"),
        ("SELECT array_length(string_to_array(repeat('x,', 10000000), ','), 1)", "54000"),
        ("SELECT array_length(string_to_array(repeat('x', 10000000), NULL), 1)", "54000"),
        ("SELECT count(*) FROM string_to_table(repeat('x,', 10000000), ',')", "54000"),
        ("SELECT count(*) FROM regexp_matches(repeat('x', 10000000), '(x)', 'g')", "54000"),
        ("SELECT length(array_to_string(array_fill(1, ARRAY[1000]), repeat('x', 1000000)))", "54000"),
        ("SELECT length(concat_ws(repeat('x', 100000000), 1, 2, 3, 4))", "54000"),
        ("SELECT length(format('%300000000s', 'x'))", "54000"),
        ("SELECT length(repeat('x', 200000000) || repeat('y', 200000000))", "53200"),
        ("SELECT length(encode(repeat('x', 150000000)::bytea, 'hex'))", "54000"),
        (
            "SELECT length(jsonb_pretty((repeat('[', 100) || repeat('1,', 1000000) || '1' || repeat(']', 100))::jsonb))",
            "54000",
        ),
        ("SELECT jsonb_array_length(('[' || repeat('1,', 10000000) || '1]')::jsonb)", "54000"),
        ("SELECT length(to_char(now(), repeat('YYYY', 1000000)))", "54000"),
        ("SELECT length(to_char(1, repeat('9', 10000000)))", "54000"),
        ("SELECT length(to_char(interval '1 day', repeat('DD', 10000000)))", "54000"),
        ("SELECT length(string_agg(repeat('x', 1000000), '')) FROM generate_series(1, 1000)", "53200"),
        ("SELECT repeat('a', 200000000), repeat('b', 200000000)", "53200"),
        (
            "SELECT array_length(ARRAY[a, a, a, a, a, a], 1) FROM (SELECT repeat('x', 50000000) AS a OFFSET 0) t",
            "54000",
        ),
        (
            "WITH RECURSIVE t(n, x) AS (SELECT 1, 'abcd' UNION ALL SELECT n + 1, x || x FROM t WHERE n < 40)
             SELECT max(length(x)) FROM t",
            "53200",
        ),
        (
            "WITH RECURSIVE t(n, x) AS (SELECT 1, ARRAY[1, 2] UNION ALL SELECT n + 1, x || x FROM t WHERE n < 40)
             SELECT max(array_length(x, 1)) FROM t",
            "53200",
        ),
        (
            "WITH RECURSIVE t(n, x) AS (SELECT 1, '[1, 2]'::jsonb UNION ALL SELECT n + 1, x || x FROM t WHERE n < 40)
             SELECT max(jsonb_array_length(x)) FROM t",
            "53200",
        ),
    ] {
        let error = client.error(text);
        assert_eq!(error.code(), code, "{text}: {error}");
    }
    client.run("SET work_mem = '8MB'");
    let endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t";
    assert_eq!(client.error(endless).code(), "53200");
}

/// What grows faster than its arguments looks at the time.
#[test]
fn time_is_bounded() {
    let mut client = client("time-bounds");
    for text in [
        "SELECT repeat('a', 300000) LIKE '%' || repeat('a', 150000) || 'b' || '%'",
        "SELECT array_agg(i) <@ array_agg(-i) FROM (SELECT i FROM generate_series(1, 20000) i) t, generate_series(1, 1000)",
        "SELECT jsonb_agg(i) @> jsonb_agg(i + 1) FROM generate_series(1, 30000) i",
        "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b",
        "SELECT count(*) FROM generate_series(1, 100000) a WHERE a IN (SELECT b + 200000 FROM generate_series(1, 100000) b)",
        "SELECT max(md5(i::text)) FROM generate_series(1, 100000000) i",
        "SELECT regexp_count(repeat('a', 300000), '(a*b)|a')",
        "SELECT array_agg(i) OVER (ORDER BY i ROWS BETWEEN 5000 PRECEDING AND CURRENT ROW EXCLUDE TIES)
         FROM generate_series(1, 20000) i",
    ] {
        client.run("SET statement_timeout = 300");
        let begun = Instant::now();
        let error = client.error(text);
        client.run("SET statement_timeout = 0");
        assert!(["57014", "53200"].contains(&error.code()), "{text}: {error}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{text}: {:?}", begun.elapsed());
    }
    assert_eq!(client.status(), Status::Idle);
}

/// The same functions give what they should of values that are large, and within bounds.
#[test]
fn large_values_are_made() {
    let mut client = client("large-values");
    client.expect("SELECT length(repeat('ab', 10000000)), length(lpad('x', 5000000, 'ab'))", &["20000000|5000000"]);
    client.expect("SELECT length(translate(repeat('abc', 100000), repeat('xyzab', 20), 'c'))", &["100000"]);
    client.expect("SELECT btrim('xxabcxx', repeat('yx', 40)), translate('abc', repeat('c', 40), 'z')", &["abc|abz"]);
    client.expect("SELECT array_length(string_to_array(repeat('x,', 100000), ','), 1)", &["100001"]);
    client.expect("SELECT length(encode(sha256(repeat('x', 1000000)::bytea), 'hex'))", &["64"]);
    client.expect(
        "SELECT encode('\\x00ff10'::bytea, 'hex'), encode('\\x005c41ff'::bytea, 'escape')",
        &[r"00ff10|\000\\A\377"],
    );
    client.expect(
        "SELECT a @> b, a && b, b <@ a, a @> ARRAY[0], ARRAY[NULL, 0] && a FROM
         (SELECT array_agg(i) a, array_agg(i) FILTER (WHERE i % 2 = 0) b FROM generate_series(1, 3000) i) t",
        &["t|t|t|f|f"],
    );
    client.expect(
        "SELECT array_to_string(ARRAY[1, NULL, 3], ','), array_to_string(ARRAY['a', NULL], ',', '-')",
        &["1,3|a,-"],
    );
    client.expect("SELECT length(format('%2000000s|', 'x')), format('%-5s|%5s|', 'a', 'b')", &["2000001|a    |    b|"]);
    client.expect(
        "SELECT count(*), sum(length(x)) FROM (SELECT repeat('x', 2000000) AS x FROM generate_series(1, 300)) t",
        &["300|600000000"],
    );
    client.expect("SELECT max(length(repeat('x', 2000000) || i)) FROM generate_series(1, 300) i", &["2000003"]);
}

/// Each of many common table expressions names the one before it twice, and the first one a column around: what they depend on
/// does not double.
#[test]
fn what_common_tables_depend_on_is_bounded() {
    let mut client = client("common-bounds");
    client.run("CREATE TABLE o (n int)");
    let next = |at: usize| format!(", c{at} AS (SELECT v FROM c{0} UNION ALL SELECT v FROM c{0})", at - 1);
    let chain: String = (1..60).map(next).collect();
    client.run(&format!("EXPLAIN SELECT (WITH c0 AS (SELECT o.n AS v){chain} SELECT 1) FROM o"));
}
