//! Tests of resolution, and tables of calls and their results as PostgreSQL 15 gives them.

use super::*;
use crate::error::SqlError;
use crate::types::Type::*;

/// A statement at 2024-05-01 10:00:00 UTC.
struct Fixed(Settings);

const NOW_US: i64 = 1_714_557_600_000_000;

impl Environment for Fixed {
    fn settings(&self) -> &Settings {
        &self.0
    }
    fn transaction_start_us(&self) -> i64 {
        NOW_US
    }
    fn statement_start_us(&self) -> i64 {
        NOW_US
    }
    fn clock_us(&self) -> i64 {
        NOW_US
    }
    fn user(&self) -> &str {
        "ada"
    }
    fn session_user(&self) -> &str {
        "ada"
    }
    fn database(&self) -> &str {
        "test"
    }
    fn schema(&self) -> Option<&str> {
        Some("public")
    }
    fn random(&self) -> f64 {
        0.5
    }
    fn set_seed(&self, _: f64) {}

    fn random_uuid(&self) -> Result<[u8; 16]> {
        Ok([0xff; 16])
    }
    fn backend_pid(&self) -> i32 {
        7
    }
    fn ask(&self, function: &'static str, _: &[Datum]) -> Result<Datum> {
        Ok(Datum::text(format!("asked {function}")))
    }
}

fn environment() -> Fixed {
    Fixed(Settings { time_zone: jiff::tz::TimeZone::get("Europe/Berlin").unwrap(), ..Settings::default() })
}

/// Reads `text:type`; without a type it is unknown. The text `NULL` is NULL.
fn argument(written: &str) -> (Datum, Type) {
    let (text, ty) = match written.rsplit_once("::") {
        Some((text, name)) => (text, Type::of_name(name).unwrap_or_else(|| panic!("no type {name}"))),
        None => (written, Unknown),
    };
    if text == "NULL" {
        return (Datum::Null, ty);
    }
    (crate::value::parse(text, ty.into(), environment().settings()).unwrap(), ty)
}

fn run(resolved: &Resolved, arguments: Vec<(Datum, Type)>, environment: &Fixed) -> Result<Datum> {
    let cast = arguments
        .into_iter()
        .zip(&resolved.arguments)
        .map(|((value, from), to)| crate::value::cast(value, from, (*to).into(), false, environment.settings()));
    resolved.call(environment, &cast.collect::<Result<Vec<_>>>()?)
}

fn show(value: Result<Datum>, ty: Type) -> String {
    let mut out = Vec::new();
    match value {
        Ok(Datum::Null) => return "NULL".to_owned(),
        Ok(value) => crate::value::push_text(&value, ty.into(), environment().settings(), &mut out),
        Err(error) => return format!("{}: {error}", error.code()),
    }
    String::from_utf8(out).unwrap()
}

/// Calls a function.
fn call(name: &str, arguments: &[&str]) -> String {
    let arguments: Vec<_> = arguments.iter().map(|written| argument(written)).collect();
    let types: Vec<_> = arguments.iter().map(|(_, ty)| *ty).collect();
    match resolve(name, &types) {
        Ok(resolved) => show(run(&resolved, arguments, &environment()), resolved.returns),
        Err(error) => format!("{}: {error}", error.code()),
    }
}

/// Applies an operator.
fn apply(left: &str, symbol: &str, right: &str) -> String {
    let arguments = vec![argument(left), argument(right)];
    match resolve_operator(symbol, Some(arguments[0].1), arguments[1].1) {
        Ok(resolved) => show(run(&resolved, arguments, &environment()), resolved.returns),
        Err(error) => format!("{}: {error}", error.code()),
    }
}

fn check(table: &[(&str, &[&str], &str)]) {
    let wrong: Vec<String> = table
        .iter()
        .filter(|(name, arguments, expected)| call(name, arguments) != *expected)
        .map(|(name, arguments, expected)| format!("{name}{arguments:?} = {}, not {expected}", call(name, arguments)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn check_operators(table: &[(&str, &str, &str, &str)]) {
    let wrong: Vec<String> = table
        .iter()
        .filter(|(left, symbol, right, expected)| apply(left, symbol, right) != *expected)
        .map(|(left, symbol, right, expected)| {
            format!("{left} {symbol} {right} = {}, not {expected}", apply(left, symbol, right))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn operators_are_chosen_as_postgresql_chooses_them() {
    let chosen = |symbol, left, right| resolve_operator(symbol, Some(left), right).map(|chosen| chosen.arguments);
    assert_eq!(chosen("+", Int4, Unknown), Ok(vec![Int4, Int4]));
    assert_eq!(chosen("+", Int2, Int8), Ok(vec![Int2, Int8]));
    assert_eq!(chosen("+", Int4, Float8), Ok(vec![Float8, Float8]));
    assert_eq!(chosen("+", Int4, Numeric), Ok(vec![Numeric, Numeric]));
    assert_eq!(chosen("=", Varchar, Unknown), Ok(vec![Text, Text]));
    assert_eq!(chosen("=", Unknown, Unknown), Ok(vec![Text, Text]));
    assert_eq!(chosen("=", Char, Unknown), Ok(vec![Char, Char]));
    assert_eq!(chosen("=", Date, Timestamp), Ok(vec![Timestamp, Timestamp]));
    assert_eq!(chosen("<", Date, Timestamptz), Ok(vec![Timestamptz, Timestamptz]));
    assert_eq!(chosen("-", Date, Unknown), Ok(vec![Date, Date]));
    assert_eq!(chosen("-", Timestamp, Unknown), Ok(vec![Timestamp, Timestamp]));
    assert_eq!(chosen("+", Date, Interval), Ok(vec![Date, Interval]));
    assert_eq!(chosen("*", Interval, Int4), Ok(vec![Interval, Float8]));
    assert_eq!(chosen("||", Unknown, Int4), Ok(vec![Text, Int4]));
    assert_eq!(chosen("||", Text, Unknown), Ok(vec![Text, Text]));
    assert_eq!(chosen("||", Array(&Int4), Int4), Ok(vec![Array(&Int4), Int4]));
    assert_eq!(chosen("||", Jsonb, Unknown), Ok(vec![Jsonb, Jsonb]));
    assert_eq!(chosen("->", Json, Unknown), Ok(vec![Json, Text]));
    assert_eq!(chosen("->", Jsonb, Int4), Ok(vec![Jsonb, Int4]));
    assert_eq!(chosen("=", RegClass, Oid), Ok(vec![Oid, Oid]));
    assert_eq!(chosen("=", Array(&Text), Unknown), Ok(vec![Array(&Text), Array(&Text)]));
}

#[test]
fn faults_of_resolution_have_postgresqls_words() {
    let fault = |error: SqlError| (error.code().to_owned(), error.message.clone(), error.hint().is_some());
    let of = |code: &str, message: &str| (code.to_owned(), message.to_owned(), true);
    let error = resolve("foo", &[Int4]).unwrap_err();
    assert_eq!(fault(error), of("42883", "function foo(integer) does not exist"));
    let error = resolve("upper", &[Int4, Text]).unwrap_err();
    assert_eq!(fault(error), of("42883", "function upper(integer, text) does not exist"));
    let error = resolve_operator("+", Some(Int4), Bool).unwrap_err();
    assert_eq!(fault(error), of("42883", "operator does not exist: integer + boolean"));
    let error = resolve_operator("-", None, Text).unwrap_err();
    assert_eq!(fault(error), of("42883", "operator does not exist: - text"));
    let error = resolve_operator("+", Some(Unknown), Unknown).unwrap_err();
    assert_eq!(fault(error), of("42725", "operator is not unique: unknown + unknown"));
    assert!(resolve_aggregate("sum", &[Text]).is_err());
}

#[test]
fn functions_are_chosen_as_postgresql_chooses_them() {
    let chosen = |name, arguments: &[Type]| resolve(name, arguments).map(|chosen| chosen.arguments);
    assert_eq!(chosen("abs", &[Unknown]), Ok(vec![Float8]));
    assert_eq!(chosen("abs", &[Int2]), Ok(vec![Int2]));
    assert_eq!(chosen("round", &[Int4]), Ok(vec![Float8]));
    assert_eq!(chosen("round", &[Int4, Int4]), Ok(vec![Numeric, Int4]));
    assert_eq!(chosen("length", &[Varchar]), Ok(vec![Text]));
    assert_eq!(chosen("length", &[Unknown]), Ok(vec![Text]));
    assert_eq!(chosen("date_trunc", &[Unknown, Date]), Ok(vec![Text, Timestamptz]));
    assert_eq!(chosen("concat", &[Int4, Unknown, Bool]), Ok(vec![Int4, Text, Bool]));
    assert_eq!(resolve("array_append", &[Array(&Int4), Unknown]).unwrap().returns, Array(&Int4));
    assert!(chosen("array_append", &[Array(&Int4), Text]).is_err());
    let names = all().count();
    assert!(names > 300 && exists("sum") && exists("unnest") && exists("rank") && !exists("nosuch"), "{names}");
}

#[test]
fn numbers() {
    check_operators(&[
        ("2147483647::int4", "+", "1::int4", "22003: integer out of range"),
        ("32767::int2", "+", "1::int2", "22003: smallint out of range"),
        ("9223372036854775807::int8", "*", "2::int4", "22003: bigint out of range"),
        ("-9223372036854775808::int8", "/", "-1::int8", "22003: bigint out of range"),
        ("-9223372036854775808::int8", "%", "-1::int8", "0"),
        ("7::int4", "/", "-2::int4", "-3"),
        ("-7::int4", "%", "3::int4", "-1"),
        ("1::int4", "/", "0::int4", "22012: division by zero"),
        ("1::float8", "/", "0::float8", "22012: division by zero"),
        ("1e308::float8", "*", "10::float8", "22003: value out of range: overflow"),
        ("0.1::numeric", "+", "0.20::numeric", "0.30"),
        ("5::int4", "&", "3::int4", "1"),
        ("5::int4", "#", "3::int4", "6"),
        ("1::int4", "<<", "31::int4", "-2147483648"),
        ("2::int4", "^", "10::int4", "1024"),
        ("NULL::int4", "+", "1::int4", "NULL"),
        ("1::int2", "<", "2::int8", "t"),
    ]);
    check(&[
        ("abs", &["-5::int4"], "5"),
        ("abs", &["-2147483648::int4"], "22003: integer out of range"),
        ("round", &["2.5::float8"], "2"),
        ("round", &["2.5::numeric"], "3"),
        ("round", &["-2.345::numeric", "2::int4"], "-2.35"),
        ("trunc", &["-2.7::numeric"], "-2"),
        ("sqrt", &["-1::float8"], "2201F: cannot take square root of a negative number"),
        ("ln", &["0::float8"], "2201E: cannot take logarithm of zero"),
        ("power", &["0::float8", "-1::float8"], "2201F: zero raised to a negative power is undefined"),
        ("mod", &["-7::int4", "3::int4"], "-1"),
        ("div", &["-7::numeric", "2::numeric"], "-3"),
        ("gcd", &["12::int4", "-18::int4"], "6"),
        ("lcm", &["4::int4", "6::int4"], "12"),
        ("asin", &["2::float8"], "22003: input is out of range"),
        ("width_bucket", &["5.35::float8", "0.024::float8", "10.06::float8", "5::int4"], "3"),
        ("factorial", &["5::int8"], "120"),
        ("random", &[], "0.5"),
    ]);
}

#[test]
fn texts() {
    check(&[
        ("length", &["jösé"], "4"),
        ("octet_length", &["jösé"], "6"),
        ("initcap", &["hi THOMAS o'neil"], "Hi Thomas O'Neil"),
        ("substr", &["alphabet", "3::int4", "2::int4"], "ph"),
        ("substr", &["alphabet", "-1::int4", "4::int4"], "al"),
        ("substring", &["alphabet", "1::int4", "-1::int4"], "22011: negative substring length not allowed"),
        ("substring", &["Thomas", "...$"], "mas"),
        ("substring", &["foobar", "o(.)b"], "o"),
        ("left", &["abcde", "-2::int4"], "abc"),
        ("right", &["abcde", "-2::int4"], "cde"),
        ("right", &["añcde", "4::int4"], "ñcde"),
        ("lpad", &["hi", "5::int4", "xy"], "xyxhi"),
        ("rpad", &["house", "3::int4"], "hou"),
        ("btrim", &["xyxtrimyyx", "xyz"], "trim"),
        ("strpos", &["high", "ig"], "2"),
        ("replace", &["abcabc", "bc", "X"], "aXaX"),
        ("translate", &["12345", "143", "ax"], "a2x5"),
        ("split_part", &["a,b,c", ",", "2::int4"], "b"),
        ("split_part", &["a,b,c", ",", "-1::int4"], "c"),
        ("split_part", &["a", ",", "0::int4"], "22023: field position must not be zero"),
        ("concat", &["a", "NULL::text", "1::int4", "true::bool"], "a1t"),
        ("concat_ws", &[",", "a", "NULL::text", "b"], "a,b"),
        ("format", &["Hello %s, %1$s %I %L %%", "World", "a b", "it's"], "Hello World, World \"a b\" 'it''s' %"),
        ("format", &["|%-6s|%6s|", "ab", "cd"], "|ab    |    cd|"),
        ("format", &["%s"], "22023: too few arguments for format()"),
        ("quote_ident", &["select"], "\"select\""),
        ("quote_literal", &["a\\b"], "E'a\\\\b'"),
        ("quote_nullable", &["NULL::text"], "NULL"),
        ("ascii", &["é"], "233"),
        ("chr", &["8364::int4"], "€"),
        ("to_hex", &["-1::int4"], "ffffffff"),
        ("encode", &["\\x0001ff::bytea", "base64"], "AAH/"),
        ("decode", &["AAH/", "base64"], "\\x0001ff"),
        ("decode", &["abc", "hex"], "22023: invalid hexadecimal data: odd number of digits"),
        ("string_to_array", &["a,b,,c", ",", ""], "{a,b,NULL,c}"),
        ("overlay", &["Wxxxxow", "ill", "2::int4", "4::int4"], "Willow"),
        ("starts_with", &["alphabet", "alpha"], "t"),
        ("reverse", &["añb"], "bña"),
        ("upper", &["NULL::text"], "NULL"),
    ]);
    check_operators(&[
        ("a::text", "||", "1::int4", "a1"),
        ("\\x01::bytea", "||", "\\x02::bytea", "\\x0102"),
        ("b::text", ">", "a", "t"),
    ]);
}

#[test]
fn patterns() {
    check_operators(&[
        ("abc::text", "~~", "a%", "t"),
        ("abc::text", "~~", "_b_", "t"),
        ("abc::text", "~~", "b", "f"),
        ("äbc::text", "~~", "_bc", "t"),
        ("xäbc::text", "~~", "%_bc", "t"),
        ("aXbXc::text", "~~", "a%b%c", "t"),
        ("a%c::text", "~~", "a\\%c", "t"),
        ("abc::text", "~~", "a\\%c", "f"),
        ("a::text", "~~", "a\\", "f"),
        ("abc::text", "~~", "a\\", "22025: LIKE pattern must not end with escape character"),
        ("::text", "~~", "%", "t"),
        ("ABC::text", "~~*", "a%C", "t"),
        ("ÄBC::text", "~~*", "ä_c", "t"),
        ("abc::text", "!~~", "a%", "f"),
        ("foobar::text", "~", "^f.+r$", "t"),
        ("a\nb::text", "~", "a.b", "t"),
        ("foo bar::text", "~", "\\mbar\\M", "t"),
        ("FOO::text", "~*", "o{2}", "t"),
        ("a::text", "~", "[", "2201B: invalid regular expression: unclosed character class"),
    ]);
    check(&[
        ("like_escape", &["a#%b\\", "#"], "a\\%b\\\\"),
        ("similar_to_escape", &["a%(b|c)_"], "^(?:a.*(?:b|c).)$"),
        ("regexp_replace", &["foobarbaz", "b(..)", "X\\1Y", "g"], "fooXarYXazY"),
        ("regexp_replace", &["foobarbaz", "b..", "X"], "fooXbaz"),
        ("regexp_match", &["foobarbequebaz", "(bar)(beque)"], "{bar,beque}"),
        ("regexp_match", &["foo", "x"], "NULL"),
        ("regexp_split_to_array", &["a, b,c", ",\\s*"], "{a,b,c}"),
        ("regexp_count", &["ababab", "ab"], "3"),
    ]);
}

#[test]
fn dates_and_times() {
    check_operators(&[
        ("2024-01-31::date", "+", "1 month::interval", "2024-02-29 00:00:00"),
        ("2024-03-31::date", "-", "1 month::interval", "2024-02-29 00:00:00"),
        ("2024-01-31::date", "+", "7::int4", "2024-02-07"),
        ("2024-03-01::date", "-", "2024-02-01::date", "29"),
        ("2024-01-01::date", "+", "10:30::time", "2024-01-01 10:30:00"),
        ("2024-03-30 12:00::timestamptz", "+", "1 day::interval", "2024-03-31 12:00:00+02"),
        ("2024-03-30 12:00::timestamptz", "+", "24 hours::interval", "2024-03-31 13:00:00+02"),
        ("2024-05-03 12:00::timestamp", "-", "2024-05-01 10:00::timestamp", "2 days 02:00:00"),
        ("23:00::time", "+", "2 hours::interval", "01:00:00"),
        ("1 day::interval", "*", "1.5::float8", "1 day 12:00:00"),
        ("9999-12-31::date", "+", "1::int4", "22008: date out of range"),
        ("infinity::timestamp", "+", "1 day::interval", "infinity"),
        ("2024-01-01::date", "<", "2024-01-01 00:00:01::timestamp", "t"),
    ]);
}

#[test]
fn functions_of_dates_and_times() {
    check(&[
        ("now", &[], "2024-05-01 12:00:00+02"),
        ("current_date", &[], "2024-05-01"),
        ("age", &["2001-04-10::timestamp", "1957-06-13::timestamp"], "43 years 9 mons 27 days"),
        ("age", &["1957-06-13::timestamp", "2001-04-10::timestamp"], "-43 years -9 mons -27 days"),
        ("extract", &["second", "2024-05-01 10:00:06.7::timestamp"], "6.700000"),
        ("extract", &["epoch", "2024-05-01 10:00:00+00::timestamptz"], "1714557600.000000"),
        ("extract", &["hour", "2024-05-01 10:00:00+00::timestamptz"], "12"),
        ("extract", &["week", "2021-01-03::date"], "53"),
        ("extract", &["isoyear", "2021-01-03::date"], "2020"),
        ("extract", &["dow", "2024-05-05::date"], "0"),
        ("extract", &["century", "2000-12-16::timestamp"], "20"),
        ("extract", &["hour", "2024-05-05::date"], "0A000: unit \"hour\" not supported for type date"),
        ("extract", &["foo", "2024-05-05::date"], "22023: unit \"foo\" not recognized for type date"),
        ("extract", &["epoch", "1 year 1 mon::interval"], "34149600.000000"),
        ("date_part", &["doy", "2024-12-31::timestamp"], "366"),
        ("date_trunc", &["month", "2024-05-17 10:11:12::timestamp"], "2024-05-01 00:00:00"),
        ("date_trunc", &["day", "2024-05-01 23:30:00+00::timestamptz"], "2024-05-02 00:00:00+02"),
        ("date_trunc", &["hour", "2 days 10:45:00::interval"], "2 days 10:00:00"),
        (
            "date_bin",
            &["15 minutes::interval", "2020-02-11 15:44:17::timestamp", "2001-01-01::timestamp"],
            "2020-02-11 15:30:00",
        ),
        ("make_date", &["2013::int4", "2::int4", "30::int4"], "22008: date field value out of range: 2013-02-30"),
        (
            "make_timestamp",
            &["2013::int4", "7::int4", "15::int4", "8::int4", "15::int4", "23.5::float8"],
            "2013-07-15 08:15:23.5",
        ),
        ("make_interval", &["1::int4", "2::int4", "1::int4"], "1 year 2 mons 7 days"),
        ("to_timestamp", &["1284352323::float8"], "2010-09-13 06:32:03+02"),
        ("justify_interval", &["1 mon -1 hour::interval"], "29 days 23:00:00"),
        ("justify_days", &["35 days::interval"], "1 mon 5 days"),
        ("timezone", &["America/New_York", "2024-05-01 10:00::timestamp"], "2024-05-01 16:00:00+02"),
        ("timezone", &["UTC", "2024-05-01 12:00+02::timestamptz"], "2024-05-01 10:00:00"),
        (
            "to_char",
            &["2024-05-01 10:00:00.5+00::timestamptz", "YYYY-MM-DD HH24:MI:SS.MS TZH"],
            "2024-05-01 12:00:00.500 +02",
        ),
        (
            "to_char",
            &["2024-05-01 15:04:05::timestamp", "FMDay, DDth Mon YYYY HH12:MI PM"],
            "Wednesday, 01st May 2024 03:04 PM",
        ),
        ("to_char", &["2024-05-01::timestamp", "\"Q\"Q IYYY-IW DDD"], "Q2 2024-18 122"),
        ("to_date", &["05 Dec 2000", "DD Mon YYYY"], "2000-12-05"),
        ("to_timestamp", &["20240501 0304 PM", "YYYYMMDD HH12MI AM"], "2024-05-01 15:04:00+02"),
        ("to_date", &["2024-13-01", "YYYY-MM-DD"], "22008: date/time field value out of range: \"2024-13-01\""),
        ("isfinite", &["infinity::date"], "f"),
        (
            "overlaps",
            &["2024-01-01::timestamp", "2024-02-01::timestamp", "2024-02-01::timestamp", "2024-03-01::timestamp"],
            "f",
        ),
    ]);
}

#[test]
fn arrays_and_json() {
    check_operators(&[
        ("{1,2,3}::int4[]", "@>", "{2}", "t"),
        ("{1,NULL}::int4[]", "@>", "{NULL}", "f"),
        ("{1,2}::int4[]", "&&", "{2,3}", "t"),
        ("{1,2}::int4[]", "||", "3::int4", "{1,2,3}"),
        ("0::int4", "||", "{1,2}::int4[]", "{0,1,2}"),
        ("{1}::int4[]", "<", "{1,2}::int4[]", "t"),
        ("{\"a\": {\"b\": [1, 2]}}::jsonb", "#>>", "{a,b,-1}", "2"),
        ("{\"a\": \"x\"}::jsonb", "->>", "a", "x"),
        ("{\"a\":  1.50}::json", "->", "a", "1.50"),
        ("[1,2]::jsonb", "->", "5::int4", "NULL"),
        ("{\"a\":1,\"b\":2}::jsonb", "@>", "{\"a\":1}", "t"),
        ("{\"a\":1,\"b\":2}::jsonb", "-", "a::text", "{\"b\": 2}"),
        ("{\"a\":1}::jsonb", "?", "a", "t"),
        ("{\"a\":1}::jsonb", "||", "{\"a\":2}", "{\"a\": 2}"),
    ]);
    check(&[
        ("array_length", &["{}::int4[]", "1::int4"], "NULL"),
        ("cardinality", &["{1,2}::int4[]"], "2"),
        ("array_position", &["{a,b}::text[]", "b"], "2"),
        ("array_remove", &["{1,2,1}::int4[]", "1::int4"], "{2}"),
        ("array_to_string", &["{1,NULL,3}::int4[]", ",", "*"], "1,*,3"),
        ("array_append", &["NULL::int4[]", "1::int4"], "{1}"),
        ("json_build_object", &["a", "1::int4", "b", "x"], "{\"a\" : 1, \"b\" : \"x\"}"),
        ("json_build_object", &["a"], "22023: argument list must have even number of elements"),
        ("json_build_array", &["1::int4", "NULL::text", "x"], "[1, null, \"x\"]"),
        ("to_json", &["2024-05-01 12:00+02::timestamptz"], "\"2024-05-01T12:00:00+02:00\""),
        ("jsonb_set", &["{\"a\":[1,2]}::jsonb", "{a,0}", "9"], "{\"a\": [9, 2]}"),
        ("jsonb_typeof", &["[1]::jsonb"], "array"),
        ("jsonb_strip_nulls", &["{\"a\":null}::jsonb"], "{}"),
        ("json_array_length", &["[1,2]::json"], "2"),
    ]);
}

#[test]
fn the_system() {
    check(&[
        ("current_user", &[], "ada"),
        ("format_type", &["1043::oid", "14::int4"], "character varying(10)"),
        ("format_type", &["1700::oid", "786438::int4"], "numeric(12,2)"),
        ("format_type", &["1007::oid", "-1::int4"], "integer[]"),
        ("pg_size_pretty", &["123456789::int8"], "118 MB"),
        ("pg_size_pretty", &["10239::int8"], "10239 bytes"),
        ("gen_random_uuid", &[], "ffffffff-ffff-4fff-bfff-ffffffffffff"),
        ("obj_description", &["1::oid", "pg_class"], "asked obj_description"),
        ("pg_typeof", &["1::int4"], "23"),
    ]);
}

/// Runs an aggregate over rows of one argument.
fn aggregate(name: &str, rows: &[&str]) -> String {
    let rows: Vec<_> = rows.iter().map(|row| argument(row)).collect();
    let resolved = resolve_aggregate(name, &[rows[0].1]).unwrap().expect("the aggregate is known");
    let mut accumulator = resolved.accumulator(&environment());
    for (value, from) in rows {
        let value = crate::value::cast(value, from, resolved.arguments[0].into(), false, environment().settings());
        if let Err(error) = accumulator.add(&[value.unwrap()]) {
            return show(Err(error), resolved.returns);
        }
    }
    assert!(accumulator.bytes() > 0);
    show(accumulator.finish(), resolved.returns)
}

#[test]
fn aggregates() {
    assert_eq!(aggregate("sum", &["2147483647::int4", "1::int4", "NULL::int4"]), "2147483648");
    assert_eq!(aggregate("sum", &["9223372036854775807::int8", "1::int8"]), "9223372036854775808");
    assert_eq!(aggregate("sum", &["NULL::int4"]), "NULL");
    assert_eq!(aggregate("avg", &["1::int4", "2::int4"]), "1.5000000000000000");
    assert_eq!(aggregate("count", &["1::int4", "NULL::int4"]), "1");
    assert_eq!(aggregate("min", &["b::text", "a::text", "NULL::text"]), "a");
    assert_eq!(aggregate("max", &["2024-01-01::date", "2024-02-01::date"]), "2024-02-01");
    assert_eq!(aggregate("bool_and", &["true::bool", "false::bool"]), "f");
    assert_eq!(aggregate("stddev", &["1::float8", "2::float8", "3::float8"]), "1");
    assert_eq!(aggregate("var_pop", &["1::float8"]), "0");
    assert_eq!(aggregate("var_samp", &["1::int4"]), "NULL");
    assert_eq!(aggregate("array_agg", &["1::int4", "NULL::int4"]), "{1,NULL}");
    assert_eq!(aggregate("json_agg", &["1::int4", "NULL::int4"]), "[1, null]");
    assert_eq!(aggregate("sum", &["1e308::float8", "1e308::float8"]), "22003: value out of range: overflow");
    assert_eq!(aggregate("avg", &["1 day::interval", "3 days::interval"]), "2 days");
    let star = resolve_aggregate("count", &[]).unwrap().unwrap();
    let mut rows = star.accumulator(&environment());
    rows.add(&[]).unwrap();
    assert_eq!(rows.finish(), Ok(Datum::Int(1)));
    assert!(resolve_aggregate("upper", &[Text]).unwrap().is_none());
}

/// Lists the rows of a function that returns sets.
fn set(name: &str, arguments: &[&str]) -> Vec<String> {
    let arguments: Vec<_> = arguments.iter().map(|written| argument(written)).collect();
    let types: Vec<_> = arguments.iter().map(|(_, ty)| *ty).collect();
    let resolved = resolve_set(name, &types).unwrap().expect("the function is known");
    let environment = environment();
    let values = arguments.into_iter().zip(&resolved.arguments);
    let values = values.map(|((value, from), to)| crate::value::cast(value, from, (*to).into(), false, &environment.0));
    match resolved.evaluate(&environment, &values.collect::<Result<Vec<_>>>().unwrap()) {
        Ok(rows) => rows.map(|row| show(row, resolved.returns)).collect(),
        Err(error) => vec![error.message],
    }
}

#[test]
fn sets() {
    assert_eq!(set("generate_series", &["1::int4", "7::int4", "3::int4"]), ["1", "4", "7"]);
    assert_eq!(set("generate_series", &["3::int4", "1::int4", "-1::int4"]), ["3", "2", "1"]);
    assert_eq!(set("generate_series", &["1::int4", "1::int4", "0::int4"]), ["step size cannot equal zero"]);
    let top = ["9223372036854775806", "9223372036854775807"];
    assert_eq!(set("generate_series", &["9223372036854775806::int8", "9223372036854775807::int8"]), top);
    let days = set("generate_series", &["2024-03-30::timestamptz", "2024-04-01::timestamptz", "1 day::interval"]);
    assert_eq!(days, ["2024-03-30 00:00:00+01", "2024-03-31 00:00:00+01", "2024-04-01 00:00:00+02"]);
    assert_eq!(set("unnest", &["{1,NULL}::int4[]"]), ["1", "NULL"]);
    assert_eq!(set("unnest", &["NULL::int4[]"]), [""; 0]);
    assert_eq!(set("regexp_matches", &["abab", "(a)(b)", "g"]), ["{a,b}", "{a,b}"]);
    assert_eq!(set("jsonb_each_text", &["{\"aa\":1,\"b\":null}::jsonb"]), ["(b,)", "(aa,1)"]);
    assert_eq!(set("json_object_keys", &["{\"b\":1,\"a\":2}::json"]), ["b", "a"]);
    assert_eq!(set("string_to_table", &["a,b", ","]), ["a", "b"]);
    assert_eq!(resolve_set("jsonb_each", &[Jsonb]).unwrap().unwrap().columns, [("key", Text), ("value", Jsonb)]);
}

#[test]
fn window_functions() {
    let lag = resolve_window("lag", &[Int4, Int4, Int8]).unwrap().unwrap();
    assert_eq!((lag.window, lag.arguments, lag.returns), (Window::Lag, vec![Int8, Int4, Int8], Int8));
    let rank = resolve_window("rank", &[]).unwrap().unwrap();
    assert_eq!((rank.window, rank.returns), (Window::Rank, Int8));
    assert!(resolve_window("ntile", &[Text]).is_err() && resolve_window("sum", &[Int4]).unwrap().is_none());
}
