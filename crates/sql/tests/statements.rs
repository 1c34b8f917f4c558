//! Statements, as a client runs them.

use osier_sql::session::Status;

mod support;

use support::Client;

fn client(test: &str) -> Client {
    Client::new(&support::open(&support::directory(test)))
}

#[test]
fn rows_are_inserted_changed_and_deleted() {
    let mut client = client("rows");
    client.run("CREATE TABLE account (id bigint PRIMARY KEY, owner text NOT NULL, cents bigint DEFAULT 100)");
    assert_eq!(client.run("INSERT INTO account VALUES (1, 'ann', 500), (2, 'bob', 250)"), "INSERT 0 2");
    assert_eq!(client.run("INSERT INTO account (id, owner) VALUES (3, 'cat')"), "INSERT 0 1");
    client.expect("SELECT * FROM account ORDER BY id", &["1|ann|500", "2|bob|250", "3|cat|100"]);
    client.expect("SELECT owner FROM account WHERE id = 2", &["bob"]);
    client.expect("SELECT id FROM account WHERE cents BETWEEN 200 AND 600 ORDER BY 1 DESC", &["2", "1"]);
    assert_eq!(client.run("UPDATE account SET cents = cents - 50 WHERE id IN (1, 3)"), "UPDATE 2");
    client.expect("SELECT sum(cents), count(*) FROM account", &["750|3"]);
    client.expect("UPDATE account SET id = id + 10 WHERE id = 2 RETURNING id, owner", &["12|bob"]);
    assert_eq!(client.run("DELETE FROM account WHERE owner = 'ann'"), "DELETE 1");
    client.expect("SELECT id FROM account ORDER BY id DESC LIMIT 1", &["12"]);
    let error = client.error("INSERT INTO account VALUES (3, 'dan')");
    assert_eq!((error.code(), error.constraint()), ("23505", Some("account_pkey")));
    assert_eq!(error.detail(), Some("Key (id)=(3) already exists."));
    let error = client.error("INSERT INTO account VALUES (4, NULL)");
    assert_eq!((error.code(), error.column()), ("23502", Some("owner")));
}

#[test]
fn tables_are_joined() {
    let mut client = client("join");
    client.run(
        "CREATE TABLE a (id int PRIMARY KEY, n int); CREATE TABLE b (id int PRIMARY KEY, a_id int, t text);
         CREATE INDEX b_a ON b (a_id);
         INSERT INTO a VALUES (1, 10), (2, 20), (3, 30);
         INSERT INTO b VALUES (1, 1, 'x'), (2, 1, 'y'), (3, 2, 'z'), (4, NULL, 'w')",
    );
    client.expect("SELECT a.id, t FROM a JOIN b ON b.a_id = a.id ORDER BY b.id", &["1|x", "1|y", "2|z"]);
    client.expect("SELECT a.id, t FROM a LEFT JOIN b ON b.a_id = a.id ORDER BY 1, 2", &["1|x", "1|y", "2|z", "3|NULL"]);
    client
        .expect("SELECT a.id, t FROM a RIGHT JOIN b ON b.a_id = a.id ORDER BY b.id", &["1|x", "1|y", "2|z", "NULL|w"]);
    client.expect(
        "SELECT a.id, b.id FROM a FULL JOIN b ON b.a_id = a.id ORDER BY 1, 2",
        &["1|1", "1|2", "2|3", "3|NULL", "NULL|4"],
    );
    client.expect("SELECT count(*) FROM a, b", &["12"]);
    client.expect("SELECT t FROM a, b WHERE a.id = a_id AND a.id = 2", &["z"]);
    client
        .expect("SELECT id, n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a_id = a.id) ORDER BY id", &["1|10", "2|20"]);
    client.expect("SELECT id FROM a WHERE id NOT IN (SELECT a_id FROM b WHERE a_id IS NOT NULL)", &["3"]);
    client.expect("SELECT id, (SELECT count(*) FROM b WHERE a_id = a.id) FROM a ORDER BY id", &["1|2", "2|1", "3|0"]);
    client.expect(
        "SELECT a.id, s.m FROM a, LATERAL (SELECT max(b.id) AS m FROM b WHERE a_id = a.id) s ORDER BY 1",
        &["1|2", "2|3", "3|NULL"],
    );
    client.expect("SELECT * FROM a JOIN b USING (id) ORDER BY id", &["1|10|1|x", "2|20|1|y", "3|30|2|z"]);
}

#[test]
fn groups_are_made() {
    let mut client = client("group");
    client.run("CREATE TABLE s (id int PRIMARY KEY, region text, amount numeric(10,2))");
    client.run("INSERT INTO s VALUES (1,'n',1.50),(2,'n',2.25),(3,'s',10),(4,'s',NULL),(5,NULL,4)");
    client.expect(
        "SELECT region, count(*), count(amount), sum(amount) FROM s GROUP BY region ORDER BY region",
        &["n|2|2|3.75", "s|2|1|10.00", "NULL|1|1|4.00"],
    );
    client.expect("SELECT region FROM s GROUP BY 1 HAVING sum(amount) > 5 ORDER BY 1", &["s"]);
    client.expect(
        "SELECT upper(region) r, avg(amount) FROM s WHERE region IS NOT NULL GROUP BY r ORDER BY 1",
        &["N|1.8750000000000000", "S|10.0000000000000000"],
    );
    client.expect("SELECT count(DISTINCT region), string_agg(region, ',' ORDER BY id DESC) FROM s", &["2|s,s,n,n"]);
    client.expect("SELECT count(*) FROM s WHERE false", &["0"]);
    client.expect("SELECT DISTINCT region FROM s ORDER BY region NULLS FIRST", &["NULL", "n", "s"]);
    client.expect("SELECT DISTINCT ON (region) region, id FROM s ORDER BY region, id DESC", &["n|2", "s|4", "NULL|5"]);
    let error = client.error("SELECT region, amount FROM s GROUP BY region");
    assert_eq!(error.code(), "42803");
    assert_eq!(client.error("SELECT sum(sum(amount)) FROM s").code(), "42803");
}

#[test]
fn queries_are_combined() {
    let mut client = client("combine");
    client.expect("SELECT 1 UNION SELECT 2 UNION ALL SELECT 2 ORDER BY 1", &["1", "2", "2"]);
    client.expect("SELECT x FROM generate_series(1, 5) x INTERSECT SELECT 3", &["3"]);
    client.expect("SELECT x FROM generate_series(1, 3) x EXCEPT SELECT 2 ORDER BY 1 DESC", &["3", "1"]);
    client.expect("VALUES (1, 'a'), (2, 'b') ORDER BY 1 DESC", &["2|b", "1|a"]);
    client.expect(
        "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n), max(n) FROM t",
        &["15|5"],
    );
    client.expect("WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT x, y FROM a, b", &["1|2"]);
    client.expect("SELECT * FROM (VALUES (1, 'one'), (2, 'two')) AS v(n, w) WHERE n = 2", &["2|two"]);
    client.expect("SELECT generate_series(1, 3), 'x'", &["1|x", "2|x", "3|x"]);
    client.expect("SELECT 1 LIMIT 0", &[]);
    client.expect("SELECT x FROM generate_series(1, 10) x OFFSET 3 LIMIT 2", &["4", "5"]);
}

#[test]
fn expressions_have_values() {
    let mut client = client("expressions");
    for (text, expected) in [
        ("1 + 2 * 3", "7"),
        ("7 / 2, -7 / 2, 7 % 3, 7.0 / 2", "3|-3|1|3.5000000000000000"),
        ("'a' || 'b' || 1", "ab1"),
        ("CASE WHEN 1 > 2 THEN 'x' ELSE 'y' END", "y"),
        ("CASE 3 WHEN 1 THEN 'a' WHEN 3 THEN 'c' END", "c"),
        ("coalesce(NULL, 2, 3), nullif(1, 1), greatest(1, 5, 3), least(NULL, 2)", "2|NULL|5|2"),
        ("NULL IS NULL, NULL = NULL, 1 IS DISTINCT FROM NULL, true AND NULL, false AND NULL", "t|NULL|t|NULL|f"),
        ("'abc' LIKE 'a%', 'abc' NOT LIKE '_b_', 'ABC' ILIKE 'abc'", "t|f|t"),
        ("1 IN (1, 2), 3 NOT IN (1, 2), NULL IN (1), 1 IN (2, NULL)", "t|t|NULL|NULL"),
        ("(1, 'a') = (1, 'a'), (1, 2) < (1, 3)", "t|t"),
        ("2 = ANY(ARRAY[1, 2]), 2 > ALL(ARRAY[0, 1]), ARRAY[1, 2, 3][2]", "t|t|2"),
        ("'2024-01-31'::date + 1, date '2024-03-01' - date '2024-02-01'", "2024-02-01|29"),
        ("timestamp '2024-01-31 10:00' + interval '1 month'", "2024-02-29 10:00:00"),
        ("extract(year from date '2024-05-06'), length('héllo'), upper('abc')", "2024|5|ABC"),
        ("'42'::int + 1, 42::text || 'x', 1.5::numeric(5,1), '1e3'::float8", "43|42x|1.5|1000"),
        ("substring('hello' from 2 for 3), position('l' in 'hello'), trim(' x ')", "ell|3|x"),
        ("round(2.5), round(1.234, 2), abs(-3), power(2, 10)", "3|1.23|3|1024"),
    ] {
        client.expect(&format!("SELECT {text}"), &[expected]);
    }
    assert_eq!(client.error("SELECT 1 / 0").code(), "22012");
    assert_eq!(client.error("SELECT 2147483647 + 1").code(), "22003");
    assert_eq!(client.error("SELECT 'x'::int").code(), "22P02");
    assert_eq!(client.error("SELECT nosuch").code(), "42703");
    assert_eq!(client.error("SELECT * FROM nosuch").code(), "42P01");
    assert_eq!(client.error("SELECT nosuch(1)").code(), "42883");
    assert_eq!(client.error("SELECT 1 1").code(), "42601");
}

#[test]
fn parameters_have_types() {
    let mut client = client("parameters");
    client.run("CREATE TABLE t (id bigint PRIMARY KEY, n numeric(8,2), s varchar(5))");
    client.try_with("INSERT INTO t VALUES ($1, $2, $3)", &["7", "1.5", "abc"]).expect("a row");
    assert_eq!(client.try_with("SELECT n, s FROM t WHERE id = $1", &["7"]).expect("rows"), "1.50|abc");
    assert_eq!(client.try_with("SELECT $1::int + $2", &["1", "2"]).expect("rows"), "3");
    assert_eq!(client.try_with("SELECT id FROM t WHERE id = ANY($1)", &["{5,7}"]).expect("rows"), "7");
    assert_eq!(client.error("INSERT INTO t VALUES (8, 1, 'too long')").code(), "22001");
    assert_eq!(client.error("INSERT INTO t VALUES (8, 1234567.0, 'x')").code(), "22003");
}

#[test]
fn transactions_are_whole() {
    let mut client = client("transactions");
    client.run("CREATE TABLE t (id int PRIMARY KEY, n int)");
    client.run("BEGIN; INSERT INTO t VALUES (1, 1); ROLLBACK");
    client.expect("SELECT count(*) FROM t", &["0"]);
    client.run("BEGIN; INSERT INTO t VALUES (1, 1); SAVEPOINT s; INSERT INTO t VALUES (2, 2)");
    assert_eq!(client.error("INSERT INTO t VALUES (1, 9)").code(), "23505");
    assert_eq!(client.status(), Status::Failed);
    assert_eq!(client.error("SELECT 1").code(), "25P02");
    client.run("ROLLBACK TO s; INSERT INTO t VALUES (3, 3); COMMIT");
    client.expect("SELECT id FROM t ORDER BY id", &["1", "3"]);
    client.run("BEGIN; SET TRANSACTION READ ONLY");
    assert_eq!(client.error("INSERT INTO t VALUES (9, 9)").code(), "25006");
    client.run("ROLLBACK; BEGIN READ ONLY");
    assert_eq!(client.error("INSERT INTO t VALUES (9, 9)").code(), "25006");
    client.run("ROLLBACK; INSERT INTO t VALUES (9, 9)");
    client.run("BEGIN; CREATE TABLE u (id serial PRIMARY KEY, t text); INSERT INTO u (t) VALUES ('a'), ('b'); COMMIT");
    client.expect("SELECT * FROM u ORDER BY id", &["1|a", "2|b"]);
    assert_eq!(client.run("BEGIN; DROP TABLE u; ROLLBACK"), "ROLLBACK");
    client.expect("SELECT count(*) FROM u", &["2"]);
}

#[test]
fn two_clients_conflict() {
    let sql = support::open(&support::directory("conflict"));
    let (mut a, mut b) = (Client::new(&sql), Client::new(&sql));
    a.run("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)");
    a.run("BEGIN");
    b.run("BEGIN");
    a.expect("SELECT n FROM t WHERE id = 1", &["0"]);
    b.expect("SELECT n FROM t WHERE id = 1", &["0"]);
    a.run("UPDATE t SET n = n + 1 WHERE id = 1; COMMIT");
    let lost = b.try_run("UPDATE t SET n = n + 1 WHERE id = 1; COMMIT").expect_err("a conflict");
    assert_eq!((lost.code(), lost.hint()), ("40001", Some("The transaction might succeed if retried.")));
    b.run("ROLLBACK");
    b.expect("SELECT n FROM t", &["1"]);
}

#[test]
fn definitions_change() {
    let mut client = client("definitions");
    client.run("CREATE TABLE t (a int, b text UNIQUE, CHECK (a > 0))");
    client.run("INSERT INTO t VALUES (1, 'x'), (2, 'y')");
    client.expect("SELECT * FROM t ORDER BY a", &["1|x", "2|y"]);
    assert_eq!(client.error("INSERT INTO t VALUES (0, 'z')").constraint(), Some("t_a_check"));
    assert_eq!(client.error("INSERT INTO t VALUES (3, 'x')").constraint(), Some("t_b_key"));
    client.run("ALTER TABLE t ADD COLUMN c numeric(9,1) DEFAULT 1.5");
    client.expect("SELECT * FROM t ORDER BY a", &["1|x|1.5", "2|y|1.5"]);
    client.run("ALTER TABLE t ADD PRIMARY KEY (a)");
    assert_eq!(client.error("INSERT INTO t VALUES (1, 'q')").constraint(), Some("t_pkey"));
    client.run("ALTER TABLE t ALTER COLUMN c SET DEFAULT 9; INSERT INTO t (a) VALUES (5)");
    client.expect("SELECT c FROM t WHERE a = 5", &["9.0"]);
    client.run("ALTER TABLE t RENAME COLUMN c TO d; ALTER TABLE t DROP COLUMN b");
    client.expect("SELECT * FROM t WHERE a = 5", &["5|9.0"]);
    client.run("ALTER TABLE t RENAME TO u; CREATE INDEX ON u (d); DROP INDEX u_d_idx");
    assert_eq!(client.error("SELECT * FROM t").code(), "42P01");
    client.run("TRUNCATE u");
    client.expect("SELECT count(*) FROM u", &["0"]);
    client.run("CREATE TABLE v AS SELECT x AS id, x * 2 AS twice FROM generate_series(1, 3) x");
    client.expect("SELECT * FROM v ORDER BY id", &["1|2", "2|4", "3|6"]);
    assert_eq!(client.run("DROP TABLE IF EXISTS u, v, nosuch"), "DROP TABLE");
}

#[test]
fn a_key_is_there_already() {
    let mut client = client("upsert");
    client.run("CREATE TABLE t (id int PRIMARY KEY, n int, u text UNIQUE)");
    client.run("INSERT INTO t VALUES (1, 1, 'a')");
    assert_eq!(client.run("INSERT INTO t VALUES (1, 5, 'b') ON CONFLICT DO NOTHING"), "INSERT 0 0");
    client.expect(
        "INSERT INTO t VALUES (1, 5, 'b') ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n RETURNING *",
        &["1|6|a"],
    );
    client.run("INSERT INTO t VALUES (2, 0, 'a') ON CONFLICT (u) DO UPDATE SET n = 100 WHERE t.n > 5");
    client.expect("SELECT * FROM t", &["1|100|a"]);
}

#[test]
fn a_statement_sees_the_rows_from_before() {
    let mut client = client("before");
    client.run("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1), (2, 1), (3, 1)");
    client.run("UPDATE t SET n = (SELECT sum(n) FROM t b WHERE b.id <= t.id)");
    client.expect("SELECT id, n FROM t ORDER BY id", &["1|1", "2|2", "3|3"]);
    client.run("INSERT INTO t VALUES (10, (SELECT count(*) FROM t)), (11, (SELECT count(*) FROM t))");
    client.expect("SELECT id, n FROM t WHERE id > 9 ORDER BY id", &["10|3", "11|3"]);
    client.run("UPDATE t SET id = id + 1");
    client.expect("SELECT id FROM t ORDER BY id", &["2", "3", "4", "11", "12"]);
    client.run("CREATE TABLE u (id int PRIMARY KEY)");
    client.expect("WITH w AS (INSERT INTO u VALUES (1), (2) RETURNING id) SELECT 7", &["7"]);
    client.expect("SELECT count(*) FROM u", &["2"]);
    client.expect("WITH w AS (DELETE FROM u RETURNING id) SELECT sum(id) FROM w", &["3"]);
    client.run("INSERT INTO u VALUES (3)");
    client.expect("WITH w AS (DELETE FROM u RETURNING id) SELECT * FROM u", &["3"]);
    client.expect("SELECT count(*) FROM u", &["0"]);
    let twice = "INSERT INTO t VALUES (50, 1), (50, 2) ON CONFLICT (id) DO UPDATE SET n = excluded.n";
    assert_eq!(client.error(twice).code(), "21000");
    assert_eq!(client.error("CREATE TABLE v (a int CHECK (a > (SELECT 1)))").code(), "0A000");
    assert_eq!(client.error("SELECT * FROM osier.roles").code(), "42P01");
}

#[test]
fn tables_without_a_key_are_renamed_and_made_again() {
    let mut client = client("hidden");
    client.run(
        "CREATE TABLE t (n int); INSERT INTO t VALUES (1), (1); ALTER TABLE t RENAME TO u; CREATE TABLE t (n int)",
    );
    client.run("INSERT INTO t SELECT n + 1 FROM u; UPDATE u SET n = n * 10");
    client.expect("SELECT n FROM t UNION ALL SELECT n FROM u ORDER BY n", &["2", "2", "10", "10"]);
    client.run("DROP TABLE u; CREATE TABLE u (n int); DROP TABLE t; DROP TABLE u");
}

#[test]
fn rows_are_copied() {
    let mut client = client("copy");
    client.run("CREATE TABLE t (id int PRIMARY KEY, s text)");
    client.run("INSERT INTO t VALUES (1, 'a,b'), (2, NULL), (3, E'x\\ty')");
    assert_eq!(client.run("COPY t TO STDOUT"), "1\ta,b\n2\t\\N\n3\tx\\ty\n");
    assert_eq!(client.run("COPY t TO STDOUT (FORMAT csv, HEADER)"), "id,s\n1,\"a,b\"\n2,\n3,x\ty\n");
    assert_eq!(client.run("COPY (SELECT s FROM t WHERE id = 1) TO STDOUT"), "a,b\n");
    client.run("COPY t FROM STDIN");
    client.session.copy_data(b"4\tfou").expect("data");
    client.session.copy_data(b"r\n5\t\\N\n").expect("data");
    let done = client.session.copy_done().expect("the end");
    assert_eq!((done.tag.as_str(), done.receipt.is_some()), ("COPY 2", true));
    client.expect("SELECT * FROM t WHERE id > 3 ORDER BY id", &["4|four", "5|NULL"]);
    client.run("COPY t FROM STDIN");
    assert_eq!(client.session.copy_data(b"6\tx\ty\n").unwrap_err().code(), "22P04");
    assert_eq!(client.status(), Status::Idle);
    client.expect("SELECT count(*) FROM t", &["5"]);
}

#[test]
fn everything_is_there_after_a_restart() {
    let path = support::directory("restart");
    {
        let sql = support::open(&path);
        let mut client = Client::new(&sql);
        client.run("CREATE TABLE t (id serial PRIMARY KEY, n numeric(9,3) CHECK (n > 0), w timestamptz DEFAULT now())");
        client.run("INSERT INTO t (n) VALUES (1.5), (2)");
        drop(client);
        sql.database().close().expect("closed");
    }
    let sql = support::open(&path);
    let mut client = Client::new(&sql);
    client.expect("SELECT id, n FROM t ORDER BY id", &["1|1.500", "2|2.000"]);
    assert_eq!(client.error("INSERT INTO t (n) VALUES (-1)").code(), "23514");
    client.run("INSERT INTO t (n) VALUES (3)");
    client.expect("SELECT count(DISTINCT id), bool_and(w <= now()) FROM t", &["3|t"]);
}

#[test]
fn numbers_of_the_catalog_are_kept() {
    let path = support::directory("numbers");
    let numbers = "SELECT relname, oid FROM pg_class WHERE relnamespace = 2200 \
                   UNION ALL SELECT conname, oid FROM pg_constraint WHERE connamespace = 2200 ORDER BY 1, 2";
    let before = {
        let sql = support::open(&path);
        let mut client = Client::new(&sql);
        client.run("CREATE TABLE t (id serial PRIMARY KEY, n int UNIQUE CHECK (n > 0)); CREATE INDEX t_n ON t (n, id)");
        client.run("COMMENT ON TABLE t IS 'kept'; COMMENT ON SEQUENCE t_id_seq IS 'kept, too'");
        let before = client.run(numbers);
        assert_eq!(before.lines().count(), 8, "{before}");
        client.run("INSERT INTO t (n) VALUES (1); ALTER TABLE t ADD COLUMN s text; TRUNCATE t");
        assert_eq!(client.run(numbers), before, "a table that is made anew keeps its number");
        let prepared = client.session.prepare("SELECT n FROM t", &[]).expect("a query");
        let (table, column) = prepared.columns().expect("rows")[0].origin;
        client.expect(&format!("SELECT 't'::regclass::oid = {table}, {column}"), &["t|2"]);
        drop(client);
        sql.database().close().expect("closed");
        before
    };
    let sql = support::open(&path);
    let mut client = Client::new(&sql);
    assert_eq!(client.run(numbers), before);
    client.expect("SELECT obj_description('t'::regclass), obj_description('t_id_seq'::regclass)", &["kept|kept, too"]);
    client.run("DROP TABLE t; CREATE TABLE t (id serial PRIMARY KEY)");
    client.expect("SELECT count(*) FROM pg_description WHERE description LIKE 'kept%'", &["0"]);
    assert_eq!(client.error("DELETE FROM pg_class").code(), "42501");
    assert_eq!(client.error("INSERT INTO pg_namespace VALUES (1)").code(), "42501");
}

/// Runs the statements of a file, and compares what they give with what stands behind them there.
fn suite(name: &str) {
    client(name).suite(name);
}

#[test]
fn queries_are_answered_as_postgresql_does() {
    suite("queries.sql");
}

#[test]
fn settings_are_read_and_shown_as_in_postgresql() {
    suite("settings.sql");
}

#[test]
fn sequences_count_as_postgresqls_do() {
    suite("sequences.sql");
}

#[test]
fn what_programs_run_into_is_as_in_postgresql() {
    suite("gaps.sql");
}

#[test]
fn indexes_on_expressions_and_conditions_are_as_in_postgresql() {
    suite("indexes.sql");
}

#[test]
fn enumerations_are_as_in_postgresql() {
    suite("enums.sql");
}

#[test]
fn addresses_are_as_in_postgresql() {
    suite("network.sql");
}

#[test]
fn elements_are_read_and_assigned_as_in_postgresql() {
    suite("elements.sql");
}

#[test]
fn sets_are_as_in_postgresql() {
    suite("sets.sql");
}

#[test]
fn generated_columns_are_as_in_postgresql() {
    suite("generated.sql");
}

#[test]
fn expressions_are_evaluated_as_postgresql_does() {
    suite("expressions.sql");
}

#[test]
fn foreign_keys_are_kept_as_postgresql_does() {
    suite("foreign_keys.sql");
}

#[test]
fn views_are_what_postgresql_makes_of_them() {
    suite("views.sql");
}

#[test]
fn materialized_views_have_the_rows_of_their_queries() {
    suite("materialized.sql");
}

#[test]
fn schemas_hold_what_postgresql_puts_there() {
    suite("schemas.sql");
}

#[test]
fn roles_may_do_what_postgresql_allows() {
    suite("roles.sql");
}

#[test]
fn views_schemas_and_roles_are_in_the_catalog_and_among_other_things() {
    suite("objects.sql");
}

#[test]
fn the_catalog_is_as_postgresql_has_it() {
    suite("catalog.sql");
}

#[test]
fn windows_are_computed_as_postgresql_does() {
    suite("windows.sql");
}

#[test]
fn groups_are_made_as_postgresql_does() {
    suite("grouping.sql");
}

#[test]
fn functions_give_what_postgresql_does() {
    suite("functions.sql");
}

#[test]
fn windows_take_rows_once_and_count_their_memory() {
    let mut client = client("window_memory");
    client.run("SET work_mem = '1MB'");
    let running = "SELECT max(s) FROM (SELECT sum(x) OVER (ORDER BY x) AS s FROM generate_series(1, 50000) x) t";
    assert_eq!(client.error(running).code(), "53200");
    client.run("RESET work_mem");
    client.expect(running, &["1250025000"]);
    // States that grow are counted, too: each row has an array of all rows before.
    let arrays = "SELECT array_agg(x) OVER (ORDER BY x) FROM generate_series(1, 50000) x";
    assert_eq!(client.error(arrays).code(), "53200");
    // A frame of a fixed number of rows gives back what it has taken.
    client.expect(
        "SELECT max(length(s)) FROM (SELECT string_agg('x', '') OVER (ORDER BY x ROWS 9 PRECEDING) AS s
         FROM generate_series(1, 50000) x) t",
        &["10"],
    );
}

/// `COPY` leaves generated columns out, and what it reads is computed.
#[test]
fn a_copy_has_no_generated_columns() {
    let mut client = client("generated-copy");
    client.run("CREATE TABLE g (a int, b int GENERATED ALWAYS AS (a * 2) STORED UNIQUE, c text DEFAULT 'd')");
    client.run("COPY g FROM STDIN");
    client.session.copy_data(b"1\tx\n2\t\\N\n").expect("data");
    assert_eq!(client.session.copy_done().expect("the end").tag, "COPY 2");
    client.run("COPY g (a) FROM STDIN");
    client.session.copy_data(b"3\n").expect("data");
    assert_eq!(client.session.copy_done().expect("the end").tag, "COPY 1");
    client.expect("SELECT * FROM g ORDER BY a", &["1|2|x", "2|4|NULL", "3|6|d"]);
    client.run("COPY g FROM STDIN");
    let copied = client.session.copy_data(b"3\ty\n").and_then(|()| client.session.copy_done());
    assert_eq!(copied.unwrap_err().detail(), Some("Key (b)=(6) already exists."));
    for copy in ["COPY g (a, b) FROM STDIN", "COPY g (b) TO STDOUT"] {
        let error = client.error(copy);
        assert_eq!((error.code(), error.message.as_str()), ("42P10", "column \"b\" is a generated column"));
        assert_eq!(error.detail(), Some("Generated columns cannot be used in COPY."));
    }
    assert_eq!(client.error("INSERT INTO g VALUES (1, 2)").detail(), Some("Column \"b\" is a generated column."));
    let error = client.error("ALTER TABLE g DROP COLUMN a");
    assert_eq!(error.detail(), Some("column b of table g depends on column a of table g"));
}

#[test]
fn statements_see_what_was_before_them() {
    suite("snapshots.sql");
}

#[test]
fn from_takes_rows_of_all_kinds() {
    suite("from.sql");
}

#[test]
fn styles_of_dates_and_intervals_are_those_of_postgresql() {
    suite("styles.sql");
}

#[test]
fn rows_are_values() {
    suite("rows.sql");
}

#[test]
fn rows_are_merged() {
    suite("merge.sql");
}

#[test]
fn what_postgresql_refuses_is_refused() {
    suite("refusals.sql");
}
