//! Exports and imports on the real binary: of a database that is open in another process and of a closed one, and killed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use osier::table::{Schema, Type};
use osier::{Config, Database};
use support::client::prints;
use support::served::Served;
use support::{Directory, Running, eventually, fails, json, osier, succeeds};

const SMALL_FILES: &str = "--set ring_bytes=4194304 --set segment_bytes=8388608";
const BANK: &str = "bank --people 2000 --nations 5";

/// The files of an export but the manifest.
fn files(directory: &Directory, name: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory.join(name)).unwrap().map(|entry| entry.unwrap());
    let named = entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()));
    named.filter(|(name, _)| name != "EXPORT").collect()
}

#[test]
fn a_closed_database_is_exported_and_imported() {
    let directory = Directory::new();
    let bench = format!("bench {BANK} --procedures --dir db {SMALL_FILES}");
    succeeds(&directory, &format!("{bench} --transactions 3000"));
    let report = json(&directory, "export --dir db --to out");
    assert!(report["rows"].as_u64() > Some(4000) && report["procedures"].as_u64() > Some(1), "{report}");
    let text = succeeds(&directory, "import --dir new --from out");
    assert!(text.contains("/new: 6007 rows of 5 tables") && text.contains("table     "), "{text}");
    succeeds(&directory, "export --dir new --to again");
    assert_eq!(files(&directory, "again"), files(&directory, "out"));
    // The conditions of the workload hold, and it goes on.
    succeeds(&directory, &bench.replace("--dir db", "--dir new --transactions 100"));

    let error = fails(&directory, "import --dir new --from out", 1);
    assert!(error.contains("exists in the database in ") && error.contains("drop it, or import"), "{error}");
    let error = fails(&directory, "export --dir new --to again", 14);
    assert!(error.contains("again is not empty; export to a new directory"), "{error}");
    let error = fails(&directory, "export --dir nowhere --to more", 14);
    assert!(error.contains("nowhere holds no database") && !directory.join("more").exists(), "{error}");
    assert!(fails(&directory, "import --dir fresh --from new", 14).contains("new holds no export"));
    assert!(fails(&directory, "import --dir out --from again", 14).contains("out is not empty and holds no database"));
    // The lock that an open leaves which was refused does not keep the export from being read.
    fails(&directory, "recover new out", 14);
    assert!(directory.join("out/LOCK").exists());
    succeeds(&directory, "import --dir third --from out");
    std::fs::write(directory.join("again/table-1.jsonl"), "").unwrap();
    assert!(fails(&directory, "import --dir fresh --from again", 10).contains("table-1.jsonl is damaged"));
    assert!(!directory.join("fresh").exists());
}

/// A table that was made anew keeps its number in the catalog, which another one would get in the new database.
#[test]
fn tables_of_an_import_have_numbers_of_their_own() {
    let directory = Directory::new();
    let shell = |database: &str, sql: &str| prints(&directory, &["shell", "--dir", database, "-A", "-t", "-c", sql]);
    let served = Served::start(&directory, "--auth trust");
    shell("db", "CREATE TABLE a (a1 int PRIMARY KEY); CREATE TABLE b (b1 int PRIMARY KEY); CREATE TABLE c (c1 text)");
    shell("db", "TRUNCATE a; CREATE INDEX ON a ((a1 + 1)) WHERE a1 > 2; INSERT INTO a VALUES (1), (5)");
    let all = "SELECT count(*), count(DISTINCT oid) FROM pg_class WHERE relkind = 'r' AND relname IN ('a', 'b', 'c')";
    drop(served);
    assert_eq!(shell("db", all), "3|3\n");
    let number = "SELECT oid FROM pg_class WHERE relname = 'a'";
    assert_eq!(shell("db", number), shell("db", number), "it stays the same when it is opened again");
    succeeds(&directory, "export --dir db --to out");
    succeeds(&directory, "import --dir new --from out");
    assert_eq!(shell("new", all), "3|3\n");
    let names = "SELECT 'a'::regclass, 'c'::regclass, 'a'::regclass::oid = 'c'::regclass::oid";
    assert_eq!(shell("new", names), "a|c|f\n");
    assert_eq!(shell("new", "SELECT indexname FROM pg_indexes ORDER BY 1"), "a_expr_idx\na_pkey\nb_pkey\n");
    assert_eq!(shell("new", "SELECT a1 FROM a WHERE a1 + 1 = 6 AND a1 > 2"), "5\n");
}

#[test]
fn a_running_database_is_exported_as_of_one_moment() {
    let directory = Directory::new();
    let running = Running::start(&directory, &format!("{BANK} --seconds 300 --workers 1 {SMALL_FILES}"), 1000);
    let report = json(&directory, "export --dir db --to out");
    assert_eq!(json(&directory, "status db")["live"]["pid"], running.id());
    let text = succeeds(&directory, "export --dir db --to out2");
    assert!(text.contains("as of     the end of epoch "), "{text}");
    let error = fails(&directory, "export --dir db --to db/out", 2);
    assert!(error.contains("lies in"), "{error}");
    // It would take the place of tables that are there.
    assert!(fails(&directory, "import --dir db --from out", 1).contains("exists"));
    running.kill();
    // Everything in the export was durable: the killed database has at least as many rows.
    let recovered = json(&directory, "export --dir db --to out3");
    assert!(recovered["rows"].as_u64() >= report["rows"].as_u64(), "{recovered}");
    // What is checked of the bank holds for rows of one moment only.
    succeeds(&directory, "import --dir new --from out");
    succeeds(&directory, &format!("bench {BANK} --dir new --transactions 10 {SMALL_FILES}"));
    assert_eq!(json(&directory, "status new")["state"], "closed");

    // Into a database that another process has open.
    let db = Database::open(Config::new(directory.join("own")).control_socket(true)).unwrap();
    let own = Schema::builder("own").column("id", Type::Int64).primary_key(["id"]).build().unwrap();
    db.create_table(own).unwrap();
    let imported = json(&directory, "import --dir own --from out");
    assert_eq!(imported["rows"], report["rows"]);
    assert!(db.table("own").is_ok());
    for table in report["tables"].as_array().unwrap() {
        db.table(table["name"].as_str().unwrap()).unwrap();
    }
    db.close().unwrap();
    // And from one that has no socket.
    let db = Database::open(Config::new(directory.join("own"))).unwrap();
    assert!(fails(&directory, "export --dir own --to never", 11).contains("control_socket=yes"));
    db.close().unwrap();
}

#[test]
fn an_export_that_is_killed_is_not_imported() {
    let directory = Directory::new();
    succeeds(&directory, &format!("bench ycsb --records 60000 --transactions 10 --dir db {SMALL_FILES}"));
    let mut killed = 0;
    for round in 0..6 {
        let name = format!("out-{round}");
        let mut export = Command::new(env!("CARGO_BIN_EXE_osier"))
            .args(["export", "--dir", "db", "--to", &name])
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let seen = directory.join(&name).join(if round % 2 == 0 { "EXPORT.tmp" } else { "table-2.jsonl" });
        eventually(|| seen.exists() || export.try_wait().unwrap().is_some());
        let _ = export.kill();
        export.wait().unwrap();
        if directory.join(&name).join("EXPORT").exists() {
            continue;
        }
        killed += 1;
        let error = fails(&directory, &format!("import --dir new-{round} --from {name}"), 10);
        assert!(error.contains("holds an export that did not end"), "{error}");
        assert!(!directory.join(&format!("new-{round}")).exists());
        assert!(!osier(&directory, &format!("export --dir db --to {name}")).status.success());
    }
    assert!(killed > 0, "no export was killed half way");
}
