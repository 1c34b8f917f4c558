//! `osier import FILE`: CSV, the text of COPY, and SQL.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;
use support::Directory;
use support::client::{prints, run};
use support::served::Served;

/// A database in `db` with a table.
fn with_table(directory: &Directory) {
    write(directory, "table.sql", "CREATE TABLE t (a int PRIMARY KEY, \"B b\" text, c date);");
    prints(directory, &["import", "table.sql", "--dir", "db"]);
}

fn write(directory: &Directory, name: &str, text: &str) {
    std::fs::write(directory.join(name), text).unwrap();
}

fn rows(directory: &Directory) -> String {
    prints(directory, &["shell", "--dir", "db", "-c", "COPY (SELECT * FROM t ORDER BY a) TO STDOUT", "-q"])
}

#[test]
fn csv_names_its_columns() {
    let directory = Directory::new();
    with_table(&directory);
    write(&directory, "in.csv", "\u{feff}c,a,B b\r\n2020-01-02,1,\"x, \"\"y\"\"\nz\"\r\n,2,\"\"\r\n,3,\r\n");
    let said = prints(&directory, &["import", "in.csv", "--dir", "db", "--table", "t", "--json", "out.json"]);
    assert_eq!(said, "imported 3 rows in 1 transactions\n");
    let json: Value = serde_json::from_str(&std::fs::read_to_string(directory.join("out.json")).unwrap()).unwrap();
    assert_eq!(json["rows"], 3);
    assert_eq!(rows(&directory), "1\tx, \"y\"\\nz\t2020-01-02\n2\t\t\\N\n3\t\\N\t\\N\n");
    write(&directory, "more.csv", "7;NULL\n8;x\n");
    let more = ["import", "more.csv", "--dir", "db", "--table", "t", "--no-header", "--columns", "a,B b"];
    prints(&directory, &[&more[..], &["--delimiter", ";", "--null", "NULL"]].concat());
    write(&directory, "text.txt", "9\ta\\tb\t\\N\n");
    prints(&directory, &["import", "text.txt", "--dir", "db", "--table", "public.t"]);
    assert!(rows(&directory).ends_with("7\t\\N\t\\N\n8\tx\t\\N\n9\ta\\tb\t\\N\n"), "{}", rows(&directory));
}

#[test]
fn errors_name_line_and_column_and_nothing_stays() {
    let directory = Directory::new();
    with_table(&directory);
    write(&directory, "in.csv", "a,B b,c\n1,\"two\nlines\",2020-01-01\n2,x,2020-13-01\n");
    let import = ["import", "in.csv", "--dir", "db", "--table", "t"];
    let (code, _, err) = run(&directory, &import);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("in.csv:4, column c: \"2020-13-01\": date/time field value out of range"), "{err}");
    assert_eq!(rows(&directory), "");
    let (code, _, err) = run(&directory, &[&import[..], &["--batch-rows", "1"]].concat());
    assert!(code == 1 && err.contains("in.csv:4, column c") && err.contains("the 1 rows of earlier batches"), "{err}");
    assert_eq!(rows(&directory), "1\ttwo\\nlines\t2020-01-01\n");
    write(&directory, "short.csv", "a,B b,c\n5,x\n");
    let (_, _, err) = run(&directory, &["import", "short.csv", "--dir", "db", "--table", "t"]);
    assert!(err.contains("short.csv:2: missing data for column \"c\""), "{err}");
    write(&directory, "names.csv", "a,nosuch\n5,x\n");
    let (_, _, err) = run(&directory, &["import", "names.csv", "--dir", "db", "--table", "t"]);
    assert!(err.contains("column \"nosuch\" of relation \"t\" does not exist"), "{err}");
    for (arguments, what) in [
        (&["import", "in.csv", "--dir", "db"][..], "--table"),
        (&["import", "db", "--dir", "db", "--table", "t"][..], "--format"),
        (&["import", "table.sql", "--dir", "db", "--table", "t"][..], "leave out --table"),
    ] {
        let (code, _, err) = run(&directory, arguments);
        assert!(code == 2 && err.contains(what), "{code} {err}");
    }
    assert_eq!(run(&directory, &["import", "missing.csv", "--dir", "db", "--table", "t"]).0, 13);
}

#[test]
fn many_rows_go_to_a_server_in_batches() {
    let directory = Directory::new();
    let served = Served::start(&directory, "--auth trust --no-socket");
    let port = served.port.to_string();
    let to = ["-h", "127.0.0.1", "-p", &port];
    write(&directory, "table.sql", "CREATE TABLE t (a int PRIMARY KEY, b text);\nINSERT INTO t VALUES (0, 'zero');\n");
    prints(&directory, &[&["import", "table.sql"][..], &to].concat());
    let text: String = (1..=20_000).map(|number| format!("{number},row {number}\n")).collect();
    write(&directory, "in.csv", &format!("a,b\n{text}"));
    let said = prints(&directory, &[&["import", "in.csv", "--table", "t", "--batch-rows", "6000"][..], &to].concat());
    assert_eq!(said, "imported 20000 rows in 4 transactions\n");
    let count = prints(&directory, &[&["shell", "-A", "-t", "-c", "SELECT count(*), sum(a) FROM t"][..], &to].concat());
    assert_eq!(count, "20001|200010000\n");
    // Far more than the server looks at before it fails: the client hears of it.
    let (code, _, err) = run(&directory, &[&["import", "in.csv", "--table", "t"][..], &to].concat());
    assert!(code == 1 && err.contains("in.csv:2: duplicate key value"), "{err}");
}

#[test]
fn sql_is_one_transaction_unless_told_otherwise() {
    let directory = Directory::new();
    with_table(&directory);
    write(
        &directory,
        "in.sql",
        "INSERT INTO t (a) VALUES (1);\nINSERT INTO t (a) VALUES (2);\nINSERT INTO t VALUES (nosuch);\n",
    );
    let (code, _, err) = run(&directory, &["import", "in.sql", "--dir", "db"]);
    assert_eq!(code, 1);
    assert!(err.contains("osier:in.sql:3: ERROR:  42703") && err.contains("nothing was imported"), "{err}");
    assert_eq!(rows(&directory), "");
    let (code, _, err) = run(&directory, &["import", "in.sql", "--dir", "db", "--each-statement"]);
    assert!(code == 1 && err.contains("the statements before it were committed"), "{err}");
    assert_eq!(rows(&directory), "1\t\\N\t\\N\n2\t\\N\t\\N\n");
}
