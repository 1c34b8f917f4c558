//! Tests of dates and times: texts and what they mean, faults, and round trips of random values.

use super::*;

fn shown(push: impl Fn(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    push(&mut out);
    String::from_utf8(out).unwrap()
}

fn date(text: &str) -> String {
    parse_date(text, &TimeZone::UTC, DateOrder::Mdy)
        .map_or_else(|error| error.message, |date| shown(|out| push_date(date, out)))
}

fn timestamp(text: &str) -> String {
    parse_timestamp(text, &TimeZone::UTC, DateOrder::Mdy)
        .map_or_else(|error| error.message, |us| shown(|out| push_timestamp(us, out)))
}

fn timestamptz(text: &str, zone: &str) -> String {
    let zone = TimeZone::get(zone).unwrap();
    let read = parse_timestamptz(text, &zone, DateOrder::Mdy);
    read.map_or_else(|error| error.message, |us| shown(|out| push_timestamptz(us, &zone, out)))
}

#[test]
fn dates_are_read_in_every_form() {
    for text in [
        "2024-01-31",
        "20240131",
        "240131",
        "Jan 31 2024",
        "January 31, 2024",
        "31 Jan 2024",
        "1/31/2024",
        "1/31/24",
        "31-Jan-2024",
        "2024-Jan-31",
        " 2024-01-31 10:00 ",
        "2024-01-31T10:00:00Z",
        "Wed Jan 31 2024",
        "2024.01.31",
    ] {
        assert_eq!(date(text), "2024-01-31", "{text}");
    }
    assert_eq!(date("0044-03-15 BC"), "0044-03-15 BC");
    assert_eq!((date("infinity"), date("-infinity")), ("infinity".into(), "-infinity".into()));
    assert_eq!(date("epoch"), "1970-01-01");
    assert_eq!(parse_date("1969-12-31", &TimeZone::UTC, DateOrder::Mdy), Ok(-1));
}

#[test]
fn faults_have_their_words_and_codes() {
    let fault = |text| {
        parse_date(text, &TimeZone::UTC, DateOrder::Mdy)
            .map_err(|error| (error.code().to_owned(), error.message))
            .unwrap_err()
    };
    assert_eq!(fault("x"), ("22007".into(), "invalid input syntax for type date: \"x\"".into()));
    assert_eq!(fault("").0, "22007");
    assert_eq!(fault("2024-13-01"), ("22008".into(), "date/time field value out of range: \"2024-13-01\"".into()));
    assert_eq!(fault("2023-02-29").0, "22008");
    assert_eq!(fault("0000-01-01").0, "22008");
    assert_eq!(timestamp("10000-01-01"), "timestamp out of range: \"10000-01-01\"");
    assert_eq!(timestamp("2024-01-01 25:00"), "date/time field value out of range: \"2024-01-01 25:00\"");
    assert_eq!(
        timestamp("2024-01-01 10:00 11:00"),
        "invalid input syntax for type timestamp: \"2024-01-01 10:00 11:00\""
    );
    assert_eq!(timestamptz("2024-01-01 10:00 Foo/Bar", "UTC"), "time zone \"foo/bar\" not recognized");
    assert_eq!(
        parse_time("x", &TimeZone::UTC, DateOrder::Mdy).unwrap_err().message,
        "invalid input syntax for type time: \"x\""
    );
}

#[test]
fn timestamps_are_read_in_every_form() {
    let table = [
        ("2024-01-31 10:20:30.5", "2024-01-31 10:20:30.5"),
        ("2024-01-31T10:20:30.123456", "2024-01-31 10:20:30.123456"),
        ("2024-01-31 10:20:30.9999999", "2024-01-31 10:20:31"),
        ("2024-01-31 10:20 PM", "2024-01-31 22:20:00"),
        ("2024-01-31 12:20 am", "2024-01-31 00:20:00"),
        ("20240131T102030", "2024-01-31 10:20:30"),
        ("20240131 102030", "2024-01-31 10:20:30"),
        ("2024-01-31 24:00:00", "2024-02-01 00:00:00"),
        ("2024-01-31 10:20:30+05", "2024-01-31 10:20:30"),
        ("Jan 31 10:20:30 2024", "2024-01-31 10:20:30"),
        ("infinity", "infinity"),
    ];
    for (text, expected) in table {
        assert_eq!(timestamp(text), expected, "{text}");
    }
}

#[test]
fn zones_are_followed() {
    let table = [
        ("2024-05-01 10:00:00", "2024-05-01 10:00:00+02"),
        ("2024-01-01 10:00:00", "2024-01-01 10:00:00+01"),
        ("2024-05-01 10:00:00Z", "2024-05-01 12:00:00+02"),
        ("2024-05-01 10:00:00+02:30", "2024-05-01 09:30:00+02"),
        ("2024-05-01 10:00:00-0330", "2024-05-01 15:30:00+02"),
        ("2024-05-01 10:00:00 America/New_York", "2024-05-01 16:00:00+02"),
        ("2024-05-01 10:00:00 UTC", "2024-05-01 12:00:00+02"),
        // Clocks skip 02:30, and show it twice in autumn.
        ("2024-03-31 02:30:00", "2024-03-31 03:30:00+02"),
        ("2024-10-27 02:30:00", "2024-10-27 02:30:00+01"),
    ];
    for (text, expected) in table {
        assert_eq!(timestamptz(text, "Europe/Berlin"), expected, "{text}");
    }
    assert_eq!(timestamptz("2024-05-01 10:00:00", "Asia/Kolkata"), "2024-05-01 10:00:00+05:30");
}

#[test]
fn times_are_read() {
    let table = [
        ("10:20", "10:20:00"),
        ("10:20:30.25", "10:20:30.25"),
        ("102030", "10:20:30"),
        ("10:20:30 PM", "22:20:30"),
        ("24:00", "24:00:00"),
        ("T10:20", "10:20:00"),
        ("2024-01-31 10:20:30+02", "10:20:30"),
    ];
    for (text, expected) in table {
        let us = parse_time(text, &TimeZone::UTC, DateOrder::Mdy).unwrap();
        assert_eq!(shown(|out| push_time(us, out)), expected, "{text}");
    }
}

#[test]
fn what_is_pushed_is_read() {
    let mut random = fastrand::Rng::with_seed(1);
    let zones = ["UTC", "Europe/Berlin", "America/St_Johns"].map(|name| TimeZone::get(name).unwrap());
    for _ in 0..5_000 {
        let days = random.i64(FIRST_DAY..=LAST_DAY) as i32;
        assert_eq!(parse_date(&shown(|out| push_date(days, out)), &TimeZone::UTC, DateOrder::Mdy), Ok(days));
        let us = random.i64((FIRST_DAY + 1) * DAY_US..LAST_DAY * DAY_US);
        assert_eq!(parse_timestamp(&shown(|out| push_timestamp(us, out)), &TimeZone::UTC, DateOrder::Mdy), Ok(us));
        for zone in &zones {
            let text = shown(|out| push_timestamptz(us, zone, out));
            assert_eq!(parse_timestamptz(&text, zone, DateOrder::Mdy), Ok(us), "{text}");
        }
        let time = random.i64(0..=DAY_US);
        assert_eq!(parse_time(&shown(|out| push_time(time, out)), &TimeZone::UTC, DateOrder::Mdy), Ok(time));
    }
    assert_eq!((days_of_civil(-9_999, 1, 1), days_of_civil(9_999, 12, 31)), (FIRST_DAY, LAST_DAY));
}

#[test]
fn fractions_are_rounded() {
    assert_eq!(round_fraction(1_499_999, 0), 1_000_000);
    assert_eq!(round_fraction(1_500_000, 0), 2_000_000);
    assert_eq!(round_fraction(-1_500_000, 0), -2_000_000);
    assert_eq!(round_fraction(1_234_567, 3), 1_235_000);
    assert_eq!(round_fraction(i64::MAX, 0), i64::MAX);
}
