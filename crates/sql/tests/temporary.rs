//! Temporary tables: those of several sessions, the end of a session, what a crash leaves, and names that are like theirs.

#[allow(dead_code, reason = "this uses a part")]
mod support;

use std::path::Path;
use std::sync::Arc;

use osier::table::Type;
use osier::{Database, Schema, Value};
use osier_sql::{Session, Sql};
use support::{Client, directory, open};

const FILE: &str = "temporary.sql";

/// The tables of the engine, but those of SQL itself.
fn tables(db: &Database) -> Vec<String> {
    let names = |table: &str| {
        let (names, _) = db
            .run(|transaction| {
                let system = transaction.table(table)?;
                let name = system.column("name")?;
                let rows = transaction.scan(&system, osier::table::KeyRange::all())?;
                rows.map(|row| Ok(row?.text(name).to_owned())).collect::<Result<Vec<_>, osier::Error>>()
            })
            .expect("the names");
        names
    };
    let all = names("osier_tables").into_iter().chain(names("osier_sequences"));
    all.filter(|name| name.contains("pg_temp") || !name.starts_with("osier.")).collect()
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        match entry.file_type().expect("a type").is_dir() {
            true => copy_all(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy")),
        }
    }
}

/// A client of another role.
fn client_of(sql: &Arc<Sql>, role: &str) -> Client {
    Client { session: Session::new(sql, role).expect("a session"), has_rows: false }
}

#[test]
fn the_suite() {
    let sql = open(&directory("temporary_suite"));
    let mut client = Client::new(&sql);
    client.suite(FILE);
    drop(client);
    assert_eq!(tables(sql.database()), ["b", "p"]);
}

#[test]
fn each_session_has_its_own() {
    let sql = open(&directory("temporary_sessions"));
    let [mut one, mut two] = [Client::new(&sql), Client::new(&sql)];
    for (client, n) in [(&mut one, 1), (&mut two, 2)] {
        client.run(&format!("CREATE TEMP TABLE t (id serial PRIMARY KEY, n int); INSERT INTO t (n) VALUES ({n})"));
        client.run("CREATE TEMP SEQUENCE s; CREATE TEMP VIEW v AS SELECT n FROM t");
    }
    one.expect("SELECT id, n FROM t, nextval('s') x", &["1|1"]);
    two.expect("SELECT n FROM v", &["2"]);
    one.expect("SELECT pg_my_temp_schema()::regnamespace", &["pg_temp_1"]);
    two.expect("SELECT pg_my_temp_schema()::regnamespace", &["pg_temp_2"]);
    for text in [
        "SELECT * FROM pg_temp_2.t",
        "SELECT * FROM pg_temp_2.v",
        "INSERT INTO pg_temp_2.t (n) VALUES (3)",
        "UPDATE pg_temp_2.t SET n = 3",
        "DELETE FROM pg_temp_2.t",
        "TRUNCATE pg_temp_2.t",
        "COPY pg_temp_2.t TO STDOUT",
        "ALTER TABLE pg_temp_2.t ADD COLUMN x int",
        "CREATE INDEX ON pg_temp_2.t (n)",
        "CREATE TEMP TABLE l (LIKE pg_temp_2.t)",
        "CREATE VIEW w AS SELECT n FROM pg_temp_2.t",
        "SELECT nextval('pg_temp_2.s')",
        "ANALYZE pg_temp_2.t",
    ] {
        let error = one.error(text);
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            ("0A000", "cannot access temporary tables of other sessions"),
            "{text}"
        );
    }
    assert_eq!(one.error("CREATE TABLE pg_temp_2.x (a int)").code(), "42P16");
    assert_eq!(one.error("CREATE TEMP TABLE x (a int REFERENCES pg_temp_2.t)").code(), "42P16");
    one.run("ANALYZE");
    one.expect("SELECT count(*) FROM pg_class WHERE relname = 't' AND relpersistence = 't'", &["2"]);
    one.expect("SELECT table_schema FROM information_schema.tables WHERE table_name = 't'", &["pg_temp_1"]);
    one.expect("SELECT pg_is_other_temp_schema(oid) FROM pg_namespace WHERE nspname = 'pg_temp_2'", &["t"]);
    one.expect("SELECT count(*) FROM pg_class WHERE relname = 't' AND pg_table_is_visible(oid)", &["1"]);
    one.run("DROP TABLE pg_temp_2.t CASCADE");
    assert_eq!(two.error("SELECT * FROM t").code(), "42P01");
    two.run("CREATE TEMP TABLE t (n int)");
    two.expect("SELECT n FROM t", &[]);
}

#[test]
fn a_role_without_rights_has_its_own_too() {
    let sql = open(&directory("temporary_roles"));
    let mut first = Client::new(&sql);
    first.run("CREATE ROLE ann LOGIN; CREATE TEMP TABLE of_first (n int)");
    let mut ann = client_of(&sql, "ann");
    assert_eq!(ann.error("CREATE TABLE t (n int)").code(), "42501");
    ann.run("CREATE TEMP TABLE t (id serial PRIMARY KEY, n int); INSERT INTO t (n) VALUES (5)");
    ann.run("CREATE TEMP SEQUENCE s; CREATE TEMP VIEW v AS SELECT n FROM pg_temp.t; ALTER TABLE t RENAME TO u");
    ann.expect("SELECT u.n, v.n, nextval('s'), nextval('pg_temp.s') FROM u, v", &["5|5|1|2"]);
    ann.expect("SELECT current_schema(), current_schemas(true)", &["public|{pg_temp_2,pg_catalog,public}"]);
    ann.expect("SELECT 'u'::regclass, pg_table_is_visible('u'::regclass)", &["u|t"]);
    let error = ann.error("SELECT * FROM pg_temp_1.of_first");
    assert_eq!((error.code(), error.to_string().as_str()), ("42501", "permission denied for schema pg_temp_1"));
    assert_eq!(ann.error("DROP TABLE pg_temp_1.of_first").code(), "42501");
    ann.run("CREATE TEMP TABLE owner (id int); ALTER SEQUENCE t_id_seq OWNED BY owner.id");
    ann.expect("SELECT relowner::regrole FROM pg_class WHERE relname = 't_id_seq'", &["ann"]);
    ann.run("ALTER TABLE u ALTER id DROP DEFAULT; ALTER SEQUENCE t_id_seq OWNED BY NONE; DROP TABLE owner");
    ann.expect("SELECT nextval('t_id_seq') > 0", &["t"]);
    first.run("CREATE TEMP TABLE counted (id serial); SET ROLE ann");
    assert_eq!(first.error("SELECT nextval('counted_id_seq')").code(), "42501");
    first.run("RESET ROLE; DROP TABLE counted");
    drop(ann);
    assert_eq!(tables(sql.database()).len(), 2, "the table of the first, and the sequence of its rows");
    first.expect("SELECT relname FROM pg_class WHERE relpersistence = 't'", &["of_first"]);
    first.run("DROP ROLE ann");
}

#[test]
fn all_goes_with_the_session() {
    let sql = open(&directory("temporary_end"));
    let mut watcher = Client::new(&sql);
    watcher.run("CREATE TABLE stays (n int)");
    let before = tables(sql.database());
    let make = "CREATE TEMP TABLE t (id serial PRIMARY KEY, n int); CREATE TEMP TABLE u (n int REFERENCES t);
        CREATE TEMP SEQUENCE s; CREATE TEMP VIEW v AS SELECT * FROM t; COMMENT ON SEQUENCE s IS 'x';
        GRANT SELECT ON t TO PUBLIC; INSERT INTO t (n) VALUES (1), (2)";
    for ending in
        ["", "BEGIN; INSERT INTO t (n) VALUES (3); DROP TABLE u", "BEGIN; SELECT * FROM t; CREATE TEMP TABLE w (a int)"]
    {
        let mut client = Client::new(&sql);
        client.run(make);
        client.run(ending);
        assert!(tables(sql.database()).len() > before.len());
        drop(client);
        assert_eq!(tables(sql.database()), before, "after {ending:?}");
    }
    // The number is free again.
    let mut client = Client::new(&sql);
    client.run("CREATE TEMP TABLE t (a text)");
    client.expect("SELECT pg_my_temp_schema()::regnamespace, count(*) FROM t", &["pg_temp_1|0"]);
    watcher.expect("SELECT count(*) FROM pg_description WHERE description = 'x'", &["0"]);
    watcher.expect("SELECT count(*) FROM pg_class WHERE relname IN ('u', 'v', 's')", &["0"]);
    watcher.expect("SELECT n FROM stays", &[]);
}

#[test]
fn what_a_defect_leaves_goes_with_the_next_session() {
    let sql = open(&directory("temporary_panic"));
    let before = tables(sql.database());
    let panicked = std::thread::spawn({
        let sql = sql.clone();
        move || {
            let mut client = Client::new(&sql);
            client.run("CREATE TEMP TABLE t (a int)");
            panic!("this is the defect");
        }
    });
    assert!(panicked.join().is_err());
    let mut client = Client::new(&sql);
    client.run("CREATE TEMP TABLE t (b int)");
    client.expect("SELECT pg_my_temp_schema()::regnamespace", &["pg_temp_2"]);
    drop(client);
    assert_eq!(tables(sql.database()), before);
}

#[test]
fn what_a_crash_leaves_is_dropped_and_nothing_else() {
    let path = directory("temporary_crash");
    let sql = open(&path);
    let mut client = Client::new(&sql);
    client.run(
        "CREATE TEMP TABLE t (id serial PRIMARY KEY, n int); CREATE TEMP TABLE u (a int); INSERT INTO u VALUES (1)",
    );
    client.run("CREATE TEMP SEQUENCE s; CREATE TEMP VIEW v AS SELECT * FROM t; CREATE TABLE stays (n int)");
    client.run("INSERT INTO stays VALUES (7)");
    // What a program has made without SQL is its own, whatever it is called.
    let db = sql.database();
    for name in ["pg_temp_1.own", "pg_temp_2.own", "pg_temp.own"] {
        let schema = Schema::builder(name).column("id", Type::Int64).primary_key(["id"]);
        let table = db.create_table(schema.build().expect("a schema")).expect("a table");
        let ((), receipt) = db.run(|transaction| transaction.insert(&table, &[Value::Int(1)])).expect("a row");
        receipt.wait().expect("durable");
    }
    db.create_sequence(&osier::SequenceOptions::new("pg_temp_4.own")).expect("a sequence");
    // The process dies: nothing is dropped.
    std::mem::forget(client);
    let copy = directory("temporary_crash_copy");
    copy_all(&path, &copy);
    let sql = open(&copy);
    let stays = ["pg_temp.own", "pg_temp_1.own", "pg_temp_2.own", "stays", "pg_temp_4.own"];
    assert_eq!(tables(sql.database()), stays);
    let mut clients = [Client::new(&sql), Client::new(&sql)];
    for (client, schema) in clients.iter_mut().zip(["pg_temp_3", "pg_temp_5"]) {
        client.run("CREATE TEMP TABLE t (a int)");
        client.expect("SELECT pg_my_temp_schema()::regnamespace", &[schema]);
        client.expect("SELECT n FROM stays", &["7"]);
        client.expect("SELECT id FROM pg_temp_1.own", &["1"]);
    }
    drop(clients);
    assert_eq!(tables(sql.database()), stays);
}

#[test]
fn sessions_that_have_none_notice_nothing() {
    let sql = open(&directory("temporary_caches"));
    let [mut one, mut two] = [Client::new(&sql), Client::new(&sql)];
    one.run("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 10)");
    let text = |id: i32| format!("SELECT n FROM t WHERE id = {id}");
    for client in [&mut one, &mut two] {
        for id in 1..5 {
            client.run(&text(id));
        }
        assert!(client.session.recall(&text(9)).is_some());
    }
    one.run("CREATE TEMP TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 20); CREATE INDEX ON t (n)");
    assert!(two.session.recall(&text(9)).is_some(), "what the other one keeps is as good as before");
    assert!(one.session.recall(&text(9)).is_none(), "the name means another table");
    for _ in 0..4 {
        one.expect(&text(1), &["20"]);
        two.expect(&text(1), &["10"]);
    }
    assert!(one.session.recall(&text(9)).is_some());
    let prepared = one.session.prepare("SELECT n FROM t WHERE id = $1", &[]).expect("a statement");
    assert_eq!(one.call(&prepared, "1").expect("a row"), "20");
    one.run("DROP TABLE t");
    assert_eq!(one.call(&prepared, "1").expect("a row"), "10");
    one.expect(&text(1), &["10"]);
    one.run("BEGIN; CREATE TEMP TABLE t (id int PRIMARY KEY, n int)");
    assert_eq!(one.call(&prepared, "1").expect("no row"), "");
    one.run("ROLLBACK");
    assert_eq!(one.call(&prepared, "1").expect("a row"), "10");
    one.expect(&text(1), &["10"]);
}

#[test]
fn nothing_permanent_names_them_and_no_dump_has_them() {
    let sql = open(&directory("temporary_dump"));
    let mut client = Client::new(&sql);
    client.run("CREATE TABLE stays (n int PRIMARY KEY)");
    let before = client.run("SHOW osier.definitions");
    client.run("CREATE TEMP TABLE t (id serial PRIMARY KEY, n int UNIQUE); CREATE TEMP SEQUENCE s");
    client.run("CREATE TEMP VIEW v AS SELECT n FROM stays; COMMENT ON SEQUENCE s IS 'x'; COMMENT ON VIEW v IS 'y'");
    client.run("GRANT SELECT ON t, v TO PUBLIC; GRANT USAGE ON SEQUENCE s TO PUBLIC");
    assert_eq!(client.run("SHOW osier.definitions"), before);
    for text in [
        "CREATE TABLE x (a int DEFAULT nextval('s'))",
        "CREATE TABLE x (a int CHECK (a < nextval('pg_temp.s')))",
        "ALTER TABLE stays ADD COLUMN a bigint DEFAULT nextval('t_id_seq')",
        "ALTER TABLE stays ALTER COLUMN n SET DEFAULT nextval('s')",
        "CREATE VIEW x AS SELECT nextval('s')",
    ] {
        assert_eq!(client.error(text).code(), "42P16", "{text}");
    }
    assert_eq!(client.run("SHOW osier.definitions"), before);
}

#[test]
fn rows_go_where_a_transaction_commits_in_any_way() {
    let sql = open(&directory("temporary_commit"));
    let mut client = Client::new(&sql);
    client.run("CREATE TEMP TABLE d (a int) ON COMMIT DELETE ROWS; CREATE TABLE log (n bigint)");
    let run = |client: &mut Client, text: &str| {
        for parsed in client.session.split(text).expect("statements") {
            let prepared = client.session.prepare_parsed(&parsed).expect("a statement");
            let mut rows = support::Rows::default();
            client.session.run(&prepared, &[], osier_sql::session::Mode::Implicit, &mut rows).expect("it runs");
        }
        client.session.end_implicit().expect("a commit");
    };
    run(&mut client, "INSERT INTO d VALUES (1), (2); INSERT INTO log SELECT count(*) FROM d");
    client.expect("SELECT n, (SELECT count(*) FROM d) FROM log", &["2|0"]);
    // A commit that fails leaves the table watched.
    client.run("CREATE TABLE parent (a int PRIMARY KEY)");
    client.run("CREATE TABLE child (a int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)");
    client.run("BEGIN; DROP TABLE d; INSERT INTO child VALUES (1)");
    assert_eq!(client.error("COMMIT").code(), "23503");
    client.run("BEGIN; INSERT INTO d SELECT generate_series(1, 1000)");
    client.expect("SELECT count(*) FROM d", &["1000"]);
    client.run("COMMIT");
    client.expect("SELECT count(*) FROM d", &["0"]);
    client.run("SET default_transaction_read_only = on");
    client.expect("SELECT count(*) FROM d", &["0"]);
    assert_eq!(client.error("INSERT INTO d VALUES (1)").code(), "25006");
}

/// What a session makes for itself is in nobody's way.
#[test]
fn blocks_of_other_sessions_do_not_conflict() {
    const ROUNDS: usize = 100;
    let sql = open(&directory("temporary_beside"));
    let mut first = Client::new(&sql);
    first.run(
        "CREATE ROLE ann LOGIN; CREATE TABLE acct (id int PRIMARY KEY, n int); CREATE VIEW v AS SELECT * FROM acct",
    );
    first.run("INSERT INTO acct SELECT i, 0 FROM generate_series(1, 6) i; GRANT ALL ON acct, v TO ann");
    let makes = |id: usize| {
        format!(
            "BEGIN; CREATE TEMP TABLE work (id serial PRIMARY KEY, n int CHECK (n > 0)) ON COMMIT DROP;
            INSERT INTO work (n) VALUES (1), (2); SELECT n FROM v WHERE id = {id}; CREATE INDEX ON work (n);
            ALTER TABLE work ADD COLUMN t text; UPDATE acct SET n = n + 1 WHERE id = {id}; COMMIT;
            CREATE TEMP TABLE kept AS SELECT * FROM acct WHERE id = {id}; TRUNCATE kept; DROP TABLE kept"
        )
    };
    let looks = |id: usize| {
        format!(
            "BEGIN; SELECT n FROM v WHERE id = {id}; SELECT current_setting('server_version');
            DROP TABLE IF EXISTS nosuch; UPDATE acct SET n = n + 1 WHERE id = {id}; SELECT n FROM v WHERE id = {id}; COMMIT"
        )
    };
    let run = |(id, text, role): (usize, String, &str)| {
        let mut client = client_of(&sql, role);
        (0..ROUNDS)
            .filter_map(|_| client.try_run(&text).err())
            .map(|error| format!("{id}: {error}"))
            .collect::<Vec<_>>()
    };
    let tasks = [
        (1, makes(1), "osier"),
        (2, makes(2), "ann"),
        (3, makes(3), "ann"),
        (4, looks(4), "osier"),
        (5, looks(5), "ann"),
    ];
    let failed: Vec<String> = std::thread::scope(|scope| {
        let threads = tasks.map(|task| scope.spawn(|| run(task)));
        threads.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect()
    });
    assert!(failed.is_empty(), "{} failed, {:?}", failed.len(), &failed[..failed.len().min(5)]);
    first.expect("SELECT sum(n) FROM acct", &[&(5 * ROUNDS).to_string()]);
    drop(first);
    assert_eq!(tables(sql.database()), ["acct"]);
}
