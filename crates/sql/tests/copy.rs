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
