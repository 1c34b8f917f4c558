//! `osier shell`, on a server and in a directory.

mod support;

use support::Directory;
use support::client::{prints, run, run_with};
use support::served::Served;

#[test]
fn rows_are_shown_as_psql_shows_them() {
    let directory = Directory::new();
    let served = Served::start(&directory, "--auth trust");
    let shell = |arguments: &[&str]| {
        let port = served.port.to_string();
        prints(&directory, &[&["shell", "-h", "127.0.0.1", "-p", &port], arguments].concat())
    };
    let sql = "SELECT 1 AS n, 'text' AS t UNION ALL SELECT 22, NULL";
    assert_eq!(shell(&["-c", sql]), " n  |  t   \n----+------\n  1 | text\n 22 | \n(2 rows)\n\n");
    assert_eq!(shell(&["-A", "-c", sql]), "n|t\n1|text\n22|\n(2 rows)\n");
    assert_eq!(shell(&["-A", "-t", "-c", sql]), "1|text\n22|\n");
    assert_eq!(shell(&["-c", "SELECT 'ä\nb' AS x, 2 AS y"]), " x | y \n---+---\n ä+| 2\n b | \n(1 row)\n\n");
    assert_eq!(shell(&["-c", "\\x", "-c", "SELECT 1 AS one"]), "Expanded display is on.\n-[ RECORD 1 ]\none | 1\n\n");
    assert_eq!(shell(&["-c", "SELECT 1 AS a WHERE false"]), " a \n---\n(0 rows)\n\n");
    let written = shell(&["-c", "CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2) RETURNING a", "-c", "\\dt"]);
    assert_eq!(written, "CREATE TABLE\n a \n---\n 1\n 2\n(2 rows)\n\nINSERT 0 2\npublic.t\n");
    assert_eq!(shell(&["-q", "-c", "UPDATE t SET a = 3"]), "");
    let defined = shell(&["-c", "CREATE INDEX t_a ON t (a)", "-c", "\\d t"]);
    assert_eq!(
        defined,
        "CREATE INDEX\nCREATE TABLE public.t (\n    a integer\n);\nCREATE INDEX t_a ON public.t (a);\n"
    );
    std::fs::write(directory.join("in.csv"), "x\n7\n8\n").unwrap();
    shell(&[
        "-c",
        "\\copy t from 'in.csv' with (format csv, header)",
        "-c",
        "\\copy (SELECT a FROM t WHERE a > 5 ORDER BY a) to out.txt",
    ]);
    assert_eq!(std::fs::read_to_string(directory.join("out.txt")).unwrap(), "7\n8\n");
    // The socket in the directory leads to the server that has it open.
    assert_eq!(prints(&directory, &["shell", "--dir", "db", "-A", "-t", "-c", "SELECT count(*) FROM t"]), "4\n");
}

#[test]
fn passwords_are_proven() {
    let directory = Directory::new();
    let served = Served::start_with(&directory, "--no-socket", Some("s3cret é"));
    let url = |password: &str| format!("postgres://osier:{password}@127.0.0.1:{}/osier", served.port);
    assert_eq!(
        prints(&directory, &["shell", &url("s3cret%20%C3%A9"), "-A", "-t", "-c", "SELECT current_user"]),
        "osier\n"
    );
    let (code, _, err) = run(&directory, &["shell", &url("wrong"), "-c", "SELECT 1"]);
    assert!(code == 2 && err.contains("password authentication failed"), "{code} {err}");
    let (code, _, err) = run(&directory, &["shell", &url(""), "-c", "SELECT 1"]);
    assert!(code == 2 && err.contains("no password supplied"), "{code} {err}");
    let (code, _, err) = run(&directory, &["shell", "postgres://127.0.0.1:1/x", "-c", "SELECT 1"]);
    assert!(code == 2 && err.contains("port 1 failed"), "{code} {err}");
}

#[test]
fn errors_say_where_and_end_scripts() {
    let directory = Directory::new();
    let shell = |arguments: &[&str]| run(&directory, &[&["shell", "--dir", "db"], arguments].concat());
    assert_eq!(shell(&["-c", "SELECT 1"]).0, 14, "there is no database, and none is made");
    std::fs::write(directory.join("none.sql"), "").unwrap();
    prints(&directory, &["import", "none.sql", "--dir", "db"]);
    let (code, _, err) = shell(&["-c", "\n SELECTS 1"]);
    assert_eq!(code, 1);
    let marked = "ERROR:  42601: syntax error at or near \"SELECTS\"\nLINE 2:  SELECTS 1\n         ^\n";
    assert!(err.starts_with(marked), "{err}");
    let script =
        "CREATE TABLE t (a int);\n\nINSERT INTO t VALUES (1);\nSELECT 1 / 0; -- fails\nINSERT INTO t VALUES (2);\n";
    std::fs::write(directory.join("script.sql"), script).unwrap();
    let (code, out, err) = shell(&["-f", "script.sql"]);
    assert_eq!((code, out.as_str()), (3, "CREATE TABLE\nINSERT 0 1\n"));
    assert!(err.starts_with("osier:script.sql:4: ERROR:  22012: division by zero"), "{err}");
    let (code, out, _) =
        shell(&["-v", "ON_ERROR_STOP=0", "-A", "-t", "-q", "-f", "script.sql", "-c", "SELECT count(*) FROM t"]);
    assert_eq!((code, out.as_str()), (0, "1\n"), "-c comes first");
    let (code, _, _) = shell(&["-1", "-q", "-f", "script.sql"]);
    assert_eq!(code, 3);
    let (_, out, _) = shell(&["-A", "-t", "-c", "SELECT count(*) FROM t"]);
    assert_eq!(out, "3\n", "two of the script that went on, and none of the one transaction");
    let (code, _, err) = shell(&["-c", "\\nosuch"]);
    assert!(code == 1 && err.contains("invalid command \\nosuch"), "{err}");
    assert_eq!(shell(&["-f", "missing.sql"]).0, 13);
}

#[test]
fn a_script_has_data_and_comments() {
    let directory = Directory::new();
    std::fs::write(directory.join("none.sql"), "").unwrap();
    prints(&directory, &["import", "none.sql", "--dir", "db"]);
    let script = "CREATE TABLE t (a int, b text); /* ; */\nCOPY t FROM stdin;\n1\tone; two\n2\t\\N\n\\.\n\\echo done\n\
                  SELECT a, b\n  FROM t -- ;\n ORDER BY a DESC;\nSELECT $$;\n$$ AS x";
    let output = run_with(&directory, &["shell", "--dir", "db", "-A", "-t"], script);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "CREATE TABLE\nCOPY 2\ndone\n2|\n1|one; two\n;\n\n");
    assert!(output.status.success());
}
