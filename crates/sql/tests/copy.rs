//! `COPY ... FROM STDIN`: rows that the engine takes as they come, and those that a check has looked at, are the same.

mod support;

use support::{Client, directory, open};

/// Columns of every kind that may be taken as it comes. The table that has a check takes nothing so.
const COLUMNS: &str = "i integer NOT NULL, s smallint, b bigint, l boolean, t text, v varchar(4), c char(3), n numeric(6,2), \
                       f double precision, r real, d date, w time(0), z timestamp, u timestamptz";

/// Values of each column, of which some fit and some do not; the first two do.
const VALUES: [&[&str]; 14] = [
    &["1", "2", "3", "4", " 5 ", "-6", "7", "8", "2147483647", "2147483648", "\\N", "x"],
    &["0", "-32768", "32768", "\\N", "1"],
    &["9223372036854775807", "\\N", "1e3", "12"],
    &["t", "false", "on", "\\N", "maybe"],
    &["", "a b", "tab\\there", "back\\\\slash", "\\N", "\u{e9}\u{20ac}", "\\x41", "\\0"],
    &["", "abcd", "abcd   ", "abcde", "\u{e9}\u{e9}\u{e9}\u{e9}", "\\N"],
    &["", "a", "a  ", "abc    ", "abcd", "\\N"],
    &["1.005", "-9999.99", "10000", "NaN", "\\N", "1e2"],
    &["1.5", "NaN", "-Infinity", "1e400", "\\N"],
    &["1.1", "-0", "1e39", "\\N"],
    &["2024-02-29", "infinity", "2023-02-29", "\\N"],
    &["12:00:00.6", "24:00", "25:00", "\\N"],
    &["2024-01-01 10:00:00.1234567", "infinity", "yesterday?", "\\N"],
    &["2024-01-01 10:00:00+02", "-infinity", "\\N"],
];

/// Puts data into a table: what is there afterwards, or the error with all that it says.
fn copied(client: &mut Client, table: &str, options: &str, data: &[u8]) -> Result<String, String> {
    client.run(&format!("TRUNCATE {table}"));
    client.run(&format!("COPY {table} FROM STDIN {options}"));
    for piece in data.chunks(100) {
        client.session.copy_data(piece).map_err(|error| format!("{error:?}"))?;
    }
    client.session.copy_done().map_err(|error| format!("{error:?}"))?;
    Ok(client.run(&format!("COPY (SELECT * FROM {table} ORDER BY i, t) TO STDOUT")))
}

/// Records of values that were drawn, each mostly of those that fit.
fn drawn(random: &mut fastrand::Rng) -> String {
    let mut data = String::new();
    for _ in 0..random.usize(1..6) {
        let numbers = [random.i16(..).to_string(), random.i16(..).to_string()];
        let fields = VALUES.iter().enumerate().map(|(at, values)| match random.u8(..150) {
            0..2 => values[random.usize(..values.len())],
            _ if at < numbers.len() => numbers[at].as_str(),
            _ => values[random.usize(..2)],
        });
        let mut fields: Vec<&str> = fields.collect();
        match random.u8(..40) {
            0 => drop(fields.pop()),
            1 => fields.push("more"),
            _ => {}
        }
        data.push_str(&fields.join("\t"));
        data.push('\n');
    }
    data
}

/// What a copy of some data ends with: its tag, or the SQLSTATE and the message of its error.
fn ended(client: &mut Client, statement: &str, data: &str) -> Result<String, (String, String)> {
    let failed = |error: osier_sql::SqlError| (error.code().to_owned(), error.message.clone());
    client.try_run(statement).map_err(failed)?;
    client.session.copy_data(data.as_bytes()).map_err(failed)?;
    client.session.copy_done().map(|done| done.tag).map_err(failed)
}

/// As PostgreSQL 15 ends them.
#[test]
fn headers_are_compared_and_rows_chosen() {
    let mut client = Client::new(&open(&directory("copied_some")));
    client.run("CREATE TABLE t (a int, b text, c text DEFAULT 'd')");
    let refused = |code: &str, message: &str| Err((code.to_owned(), message.to_owned()));
    let copied = |count: u32| Ok(format!("COPY {count}"));
    let in_header = |message: &str| refused("22P04", message);
    for (statement, data, expected) in [
        ("COPY t FROM STDIN (FORMAT csv, HEADER MATCH)", "a,b,c\n1,x,y\n", copied(1)),
        ("COPY t (b, a) FROM STDIN (HEADER match)", "b\ta\nx\t2\n", copied(1)),
        (
            "COPY t FROM STDIN (FORMAT csv, HEADER MATCH)",
            "a,c,b\n",
            in_header("column name mismatch in header line field 2: got \"c\", expected \"b\""),
        ),
        (
            "COPY t FROM STDIN (FORMAT csv, HEADER MATCH)",
            "a,b\n",
            in_header("wrong number of fields in header line: got 2, expected 3"),
        ),
        (
            "COPY t FROM STDIN (HEADER MATCH)",
            "a\t\\N\tc\n",
            in_header("column name mismatch in header line field 2: got null value (\"\\N\"), expected \"b\""),
        ),
        ("COPY t FROM STDIN WHERE a > 5", "4\tx\ty\n6\tx\ty\n\\N\tx\ty\n", copied(1)),
        ("COPY t (a, b) FROM STDIN WITH (FORMAT csv) WHERE c = 'd' AND b LIKE 'o%'", "7,ok\n8,no\n", copied(1)),
        ("COPY t FROM STDIN WHERE nosuch > 5", "", refused("42703", "column \"nosuch\" does not exist")),
        (
            "COPY t FROM STDIN WHERE a IN (SELECT 1)",
            "",
            refused("0A000", "cannot use subquery in COPY FROM WHERE condition"),
        ),
        ("COPY t FROM STDIN WHERE a", "", refused("42804", "argument of WHERE must be type boolean, not type integer")),
        ("COPY t TO STDOUT WHERE a > 5", "", refused("42601", "WHERE clause not allowed with COPY TO")),
        ("COPY t TO STDOUT (HEADER MATCH)", "", refused("0A000", "cannot use \"match\" with HEADER in COPY TO")),
        // A line of a quoted field is no end of the data.
        ("COPY t FROM STDIN (FORMAT csv)", "30,\"x\n\\.\ny\",z\n31,\\.,z\n", copied(2)),
        ("COPY t FROM STDIN (ENCODING 'UTF-8')", "40\tx\ty\n", copied(1)),
    ] {
        assert_eq!(ended(&mut client, statement, data), expected, "{statement}");
    }
    client.expect("SELECT * FROM t WHERE a < 10 ORDER BY a", &["1|x|y", "2|x|d", "6|x|y", "7|ok|d"]);
    client.expect("SELECT a, length(b) FROM t WHERE a BETWEEN 30 AND 39 ORDER BY a", &["30|6", "31|2"]);
    client.run("DELETE FROM t WHERE a > 1");
    for statement in ["COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE *)", "COPY t TO STDOUT CSV FORCE QUOTE *"] {
        assert_eq!(client.run(statement), "\"1\",\"x\",\"y\"\n", "{statement}");
    }
}

#[test]
fn what_a_check_looks_at_is_copied_as_what_none_does() {
    let sql = open(&directory("copied_alike"));
    let mut client = Client::new(&sql);
    client.run("CREATE SCHEMA plain; CREATE SCHEMA checked");
    let (mut rows, mut errors) = (0, 0);
    for (key, seed) in [(", PRIMARY KEY (i)", 1), ("", 2), (", PRIMARY KEY (i), UNIQUE (s)", 3)] {
        client.run(&format!("CREATE TABLE plain.t ({COLUMNS}{key})"));
        client.run(&format!("CREATE TABLE checked.t ({COLUMNS}{key}, CHECK (true))"));
        let mut random = fastrand::Rng::with_seed(seed);
        for round in 0..150 {
            let data = drawn(&mut random);
            let csv = data.replace('\t', ",").replace("\\N", "");
            for (options, data) in [("", &data), ("(FORMAT csv)", &csv)] {
                let plain = copied(&mut client, "plain.t", options, data.as_bytes());
                let checked = copied(&mut client, "checked.t", options, data.as_bytes());
                let plain = plain.map_err(|error| error.replace("\"plain\"", "\"checked\""));
                assert_eq!(plain, checked, "seed {seed}, round {round}, {options}:\n{data}");
                *if plain.is_ok() { &mut rows } else { &mut errors } += 1;
            }
        }
        client.run("DROP TABLE plain.t, checked.t");
    }
    assert!(rows > 100 && errors > 100, "{rows} copies succeeded, {errors} failed");
}
