//! `MERGE` beside other transactions, and as a statement that comes again.

use std::sync::Arc;

use osier::config::{ConcurrencyControlKind, Locking};
use osier::{Config, Create, Database};
use osier_sql::{Sql, Type};

#[allow(dead_code, reason = "this uses a part")]
mod support;

use support::Client;

const KINDS: [ConcurrencyControlKind; 3] =
    [ConcurrencyControlKind::Optimistic, ConcurrencyControlKind::TwoPhaseLocking, ConcurrencyControlKind::Multiversion];
const CLIENTS: usize = 4;
const ROUNDS: usize = 60;

fn database(test: &str, kind: ConcurrencyControlKind) -> Arc<Sql> {
    let config = Config::new(support::directory(&format!("{test}-{kind:?}")))
        .create(Create::IfMissing)
        .concurrency_control(kind)
        .locking(Locking::Detect)
        .transaction_log_bytes_max(256 << 10)
        .ring_bytes(1 << 20)
        .segment_bytes(8 << 20);
    let sql = Sql::new(Arc::new(Database::open(config).expect("a database"))).expect("a catalog");
    Client::new(&sql).run("CREATE TABLE counters (id int PRIMARY KEY, n int NOT NULL)");
    sql
}

/// Lets clients run texts at the same time until each has gone well so many times. Returns how many conflicts there were.
fn count_together(sql: &Arc<Sql>, text: impl Fn(usize, usize) -> String + Sync) -> usize {
    std::thread::scope(|scope| {
        let run = |number: usize| {
            let text = &text;
            scope.spawn(move || {
                let (mut client, mut conflicts) = (Client::new(sql), 0);
                for round in 0..ROUNDS {
                    while let Err(error) = client.try_run(&text(number, round)) {
                        assert_eq!(error.code(), "40001", "{error} {:?}", error.detail());
                        client.try_run("ROLLBACK").expect("that always goes");
                        conflicts += 1;
                    }
                }
                conflicts
            })
        };
        let threads: Vec<_> = (0..CLIENTS).map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).sum()
    })
}

/// Counts the keys, which may not be there yet.
fn counting(keys: &str) -> String {
    format!(
        "MERGE INTO counters USING (VALUES {keys}) AS x (id) ON counters.id = x.id
         WHEN MATCHED THEN UPDATE SET n = n + 1 WHEN NOT MATCHED THEN INSERT VALUES (x.id, 1)"
    )
}

#[test]
fn no_increment_is_lost() {
    for kind in KINDS {
        let sql = database("merge-counts", kind);
        let mut client = Client::new(&sql);
        let all = CLIENTS * ROUNDS;
        // One key, and several in the one order and in the other.
        count_together(&sql, |_, _| counting("(1)"));
        client.expect("SELECT * FROM counters", &[&format!("1|{all}")]);
        count_together(&sql, |number, round| {
            counting(if (number + round) % 2 == 0 { "(1), (2), (3)" } else { "(3), (2), (1)" })
        });
        let expected = [format!("1|{}", 2 * all), format!("2|{all}"), format!("3|{all}")];
        client.expect("SELECT * FROM counters ORDER BY id", &expected.each_ref().map(String::as_str));
        // In blocks, whose rows change their keys, too.
        count_together(&sql, |number, _| {
            format!(
                "BEGIN; {}; MERGE INTO counters USING (VALUES (4, {number})) AS x (id, by) ON counters.id = x.id
                 WHEN MATCHED AND n > 1000 THEN DELETE WHEN MATCHED THEN UPDATE SET n = n + 1
                 WHEN NOT MATCHED THEN INSERT VALUES (x.id, 1); COMMIT",
                counting("(2)")
            )
        });
        client.expect(
            "SELECT id, n FROM counters WHERE id IN (2, 4) ORDER BY id",
            &[&format!("2|{}", 2 * all), &format!("4|{all}")],
        );
    }
}

/// A row is locked as it is to be written when it is found: nobody gives way to another one that has read it, too.
#[test]
fn those_that_wait_for_a_row_do_not_wait_for_each_other() {
    let sql = database("merge-waits", ConcurrencyControlKind::TwoPhaseLocking);
    let mut client = Client::new(&sql);
    client.run("INSERT INTO counters VALUES (1, 0)");
    let conflicts = count_together(&sql, |_, _| format!("BEGIN; {}; COMMIT", counting("(1)")));
    assert_eq!(conflicts, 0);
    client.expect("SELECT * FROM counters", &[&format!("1|{}", CLIENTS * ROUNDS)]);
    // Rows that are found and do not count.
    let conflicts = count_together(&sql, |_, _| {
        "BEGIN; MERGE INTO counters USING (VALUES (1)) AS x (id) ON counters.id = x.id AND n < 0
         WHEN MATCHED THEN DELETE; COMMIT"
            .to_owned()
    });
    assert_eq!(conflicts, 0);
}

#[test]
fn rows_that_are_added_at_the_same_time_are_added_once() {
    for kind in KINDS {
        let sql = database("merge-adds", kind);
        let mut client = Client::new(&sql);
        count_together(&sql, |_, round| format!("BEGIN; {}; COMMIT", counting(&format!("({round})"))));
        client.expect("SELECT count(*), min(n), max(n) FROM counters", &[&format!("{ROUNDS}|{CLIENTS}|{CLIENTS}")]);
        // Without a key of its own, a table has no row to wait for: the transactions find each other by what they have read.
        client.run("CREATE TABLE names (name text, n int)");
        count_together(&sql, |_, round| {
            format!(
                "MERGE INTO names USING (VALUES ('{}')) AS x (name) ON names.name = x.name
                 WHEN MATCHED THEN UPDATE SET n = n + 1 WHEN NOT MATCHED THEN INSERT VALUES (x.name, 1)",
                round % 5
            )
        });
        let each = CLIENTS * ROUNDS / 5;
        let expected: Vec<String> = (0..5).map(|name| format!("{name}|{each}")).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        client.expect("SELECT * FROM names ORDER BY name", &expected);
    }
}

#[test]
fn the_tag_counts_what_is_written() {
    let sql = database("merge-tags", ConcurrencyControlKind::TwoPhaseLocking);
    let mut client = Client::new(&sql);
    for (text, tag) in [
        (
            "MERGE INTO counters c USING generate_series(1, 5) i ON c.id = i WHEN NOT MATCHED THEN INSERT VALUES (i, 0)",
            "MERGE 5",
        ),
        (
            "MERGE INTO counters c USING generate_series(1, 5) i ON c.id = i WHEN NOT MATCHED THEN INSERT VALUES (i, 0)",
            "MERGE 0",
        ),
        (
            "MERGE INTO counters c USING generate_series(1, 9) i ON c.id = i WHEN MATCHED AND i = 1 THEN DELETE
             WHEN MATCHED AND i = 2 THEN DO NOTHING WHEN MATCHED THEN UPDATE SET n = 1
             WHEN NOT MATCHED AND i = 9 THEN DO NOTHING WHEN NOT MATCHED AND i < 8 THEN INSERT VALUES (i, 0)",
            "MERGE 6",
        ),
        ("MERGE INTO counters USING counters x ON true WHEN MATCHED AND false THEN DELETE", "MERGE 0"),
        ("WITH x AS (SELECT 2 AS id) MERGE INTO counters c USING x ON c.id = x.id WHEN MATCHED THEN DELETE", "MERGE 1"),
    ] {
        assert_eq!(client.run(text), tag, "{text}");
        assert!(!client.has_rows, "{text}");
    }
    client.expect("SELECT * FROM counters ORDER BY id", &["3|1", "4|1", "5|1", "6|0", "7|0"]);
}

#[test]
fn parameters_have_the_types_of_their_places() {
    let sql = database("merge-parameters", ConcurrencyControlKind::TwoPhaseLocking);
    let mut client = Client::new(&sql);
    client.run("CREATE TABLE kept (id bigint PRIMARY KEY, at date, n numeric(6, 2))");
    let text = "MERGE INTO kept USING (SELECT $1::bigint AS id) AS x ON kept.id = x.id
                WHEN MATCHED AND $2 THEN DELETE WHEN MATCHED AND n < $3 THEN UPDATE SET at = $4
                WHEN NOT MATCHED THEN INSERT VALUES (x.id, $5, $6)";
    let prepared = client.session.prepare(text, &[]).expect("a statement");
    assert_eq!(prepared.parameters(), [Type::Int8, Type::Bool, Type::Numeric, Type::Date, Type::Date, Type::Numeric]);
    assert!(prepared.columns().is_none());
    let shown = prepared.text();
    for part in ["MERGE INTO kept USING", "WHEN MATCHED AND $2 THEN DELETE", "THEN INSERT VALUES (x.id, $5, $6)"] {
        assert!(shown.contains(part), "{shown}");
    }
    let with = |client: &mut Client, deletes: &str| {
        client.try_with(text, &["7", deletes, "5", "2024-01-02", "2023-01-01", "1.5"]).expect("a tag")
    };
    assert_eq!(with(&mut client, "false"), "MERGE 1");
    client.expect("SELECT * FROM kept", &["7|2023-01-01|1.50"]);
    assert_eq!(with(&mut client, "false"), "MERGE 1");
    client.expect("SELECT * FROM kept", &["7|2024-01-02|1.50"]);
    assert_eq!(with(&mut client, "true"), "MERGE 1");
    client.expect("SELECT count(*) FROM kept", &["0"]);
}

/// Of a statement by a key the plan is kept, whatever its literals are.
#[test]
fn a_merge_that_comes_again_is_known() {
    let sql = database("merge-shapes", ConcurrencyControlKind::TwoPhaseLocking);
    let mut client = Client::new(&sql);
    client.run("INSERT INTO counters SELECT i, 0 FROM generate_series(1, 200) AS i");
    let merge = |id: u32, n: u32| {
        format!(
            "MERGE INTO counters AS c USING (SELECT {id} AS id, {n} AS n) AS x ON c.id = x.id WHEN MATCHED AND c.n > 100 \
             THEN DELETE WHEN MATCHED THEN UPDATE SET n = c.n + x.n WHEN NOT MATCHED THEN INSERT VALUES (x.id, x.n)"
        )
    };
    for (id, n) in [(1, 7), (2, 200), (2, 1), (500, 5), (500, 6)] {
        assert_eq!(client.run(&merge(id, n)), "MERGE 1");
    }
    assert!(client.session.recall(&merge(9, 9)).is_some());
    client.expect("SELECT * FROM counters WHERE n > 0 ORDER BY id", &["1|7", "500|11"]);
    client.expect("SELECT count(*) FROM counters WHERE id = 2", &["0"]);
}

#[test]
fn rows_are_found_by_their_keys() {
    let sql = database("merge-plans", ConcurrencyControlKind::TwoPhaseLocking);
    let mut client = Client::new(&sql);
    client.run("CREATE TABLE big (id int PRIMARY KEY, code int UNIQUE, n int)");
    let sources = ["(VALUES (1, 2)) AS x (id, n)", "(SELECT 1 AS id, 2 AS n) AS x", "(SELECT 1::int, 2) AS x (id, n)"];
    for rows in [0, 3, 5_000] {
        client.run(&format!("INSERT INTO big SELECT i, i, 0 FROM generate_series(1, {rows}) AS i; ANALYZE big"));
        for (source, key) in sources.iter().flat_map(|source| [(source, "id"), (source, "code")]) {
            let plan = client.run(&format!(
                "EXPLAIN (COSTS off) MERGE INTO big USING {source} ON big.{key} = x.id WHEN MATCHED THEN UPDATE SET n = x.n
                 WHEN NOT MATCHED THEN INSERT VALUES (x.id, x.id, x.n)"
            ));
            assert!(plan.starts_with("Merge on big"), "{plan}");
            assert!(plan.contains("Index Scan using") && !plan.contains("Seq Scan on big"), "{rows} rows: {plan}");
        }
        client.run("DELETE FROM big");
    }
    let plan = client.run(
        "EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) MERGE INTO counters c USING generate_series(1, 3) i ON c.id = i
         WHEN NOT MATCHED AND i > 1 THEN INSERT VALUES (i, 0)",
    );
    let lines: Vec<&str> = plan.lines().collect();
    assert_eq!(lines[..2], ["Merge on counters (actual rows=0 loops=1)", "  Tuples: inserted=2 skipped=1"], "{plan}");
    let plan = client.run(
        "EXPLAIN (ANALYZE, FORMAT json) MERGE INTO counters c USING generate_series(1, 4) i ON c.id = i
         WHEN MATCHED AND c.id = 2 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 7 WHEN NOT MATCHED THEN INSERT VALUES (i, 0)",
    );
    for fact in [
        "\"Operation\": \"Merge\"",
        "\"Tuples Inserted\": 2",
        "\"Tuples Updated\": 1",
        "\"Tuples Deleted\": 1",
        "\"Tuples Skipped\": 0",
    ] {
        assert!(plan.contains(fact), "{fact}: {plan}");
    }
    client.expect("SELECT * FROM counters ORDER BY id", &["1|0", "3|7", "4|0"]);
}

#[test]
fn errors_say_what_is_meant() {
    let sql = database("merge-views", ConcurrencyControlKind::TwoPhaseLocking);
    let mut client = Client::new(&sql);
    client.run("CREATE VIEW v AS SELECT * FROM counters");
    let error = client.error("MERGE INTO v USING counters c ON v.id = c.id WHEN MATCHED THEN DELETE");
    assert_eq!((error.code(), error.message.as_str()), ("0A000", "cannot execute MERGE on relation \"v\""));
    assert_eq!(error.detail(), Some("This operation is not supported for views."));
    for (condition, code, message) in [
        ("counters.n = 1", "42P01", "invalid reference to FROM-clause entry for table \"counters\""),
        ("n = 1", "42703", "column \"n\" does not exist"),
    ] {
        let source = "(VALUES (1)) AS x (i) ON counters.id = i";
        let error = client
            .error(&format!("MERGE INTO counters USING {source} WHEN NOT MATCHED AND {condition} THEN DO NOTHING"));
        assert_eq!((error.code(), error.message.as_str()), (code, message));
        assert!(error.hint().is_some_and(|hint| hint.ends_with("cannot be referenced from this part of the query.")));
    }
    client.run("INSERT INTO counters VALUES (1, 0)");
    let error =
        client.error("MERGE INTO counters c USING (VALUES (1), (1)) x (i) ON c.id = i WHEN MATCHED THEN DELETE");
    assert_eq!((error.code(), error.message.as_str()), ("21000", "MERGE command cannot affect row a second time"));
    assert_eq!(error.hint(), Some("Ensure that not more than one source row matches any one target row."));
    client.expect("SELECT * FROM counters", &["1|0"]);
}
