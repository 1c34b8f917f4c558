//! `IntervalStyle`: how intervals are shown. They are read in all of these, whatever is set.
//!
//! Absent: `sql_standard`, in which a sign counts for the fields behind it, too.

use std::io::Write;

use super::datetime::{SECOND_US, push, push_fraction};
use super::interval::Interval;

/// The value of `IntervalStyle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntervalStyle {
    /// `1 year 2 mons 3 days 04:05:06`.
    #[default]
    Postgres,
    /// `@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs`.
    PostgresVerbose,
    /// `P1Y2M3DT4H5M6S`.
    Iso8601,
}

impl IntervalStyle {
    /// Returns the style with a name, and the name as it is shown.
    pub(crate) fn named(name: &str) -> Option<(IntervalStyle, &'static str)> {
        const ALL: [(IntervalStyle, &str); 3] = [
            (IntervalStyle::Postgres, "postgres"),
            (IntervalStyle::PostgresVerbose, "postgres_verbose"),
            (IntervalStyle::Iso8601, "iso_8601"),
        ];
        ALL.into_iter().find(|(_, known)| known.eq_ignore_ascii_case(name))
    }

    /// Appends an interval.
    pub fn push(self, interval: &Interval, out: &mut Vec<u8>) {
        match self {
            IntervalStyle::Postgres => interval.push(out),
            IntervalStyle::PostgresVerbose => push_verbose(interval, out),
            IntervalStyle::Iso8601 => push_iso(interval, out),
        }
    }
}

/// Years, months and days, with the letters that ISO 8601 has for them and their names.
fn large_fields(interval: &Interval) -> [(i64, char, &'static str); 3] {
    [
        ((interval.months / 12).into(), 'Y', "year"),
        ((interval.months % 12).into(), 'M', "mon"),
        (interval.days.into(), 'D', "day"),
    ]
}

/// Hours and minutes, as above.
fn small_fields(interval: &Interval) -> [(i64, char, &'static str); 2] {
    let minutes = interval.us / (60 * SECOND_US);
    [(minutes / 60, 'H', "hour"), (minutes % 60, 'M', "min")]
}

fn push_iso(interval: &Interval, out: &mut Vec<u8>) {
    let Interval { months: 0, days: 0, us: 0 } = interval else {
        out.push(b'P');
        push_lettered(&large_fields(interval), out);
        if interval.us != 0 {
            out.push(b'T');
            push_lettered(&small_fields(interval), out);
        }
        let us = interval.us % (60 * SECOND_US);
        if us != 0 {
            push!(out, "{}{}", if us < 0 { "-" } else { "" }, us.abs() / SECOND_US);
            push_fraction(us.abs() % SECOND_US, out);
            out.push(b'S');
        }
        return;
    };
    out.extend_from_slice(b"PT0S");
}

fn push_lettered(fields: &[(i64, char, &str)], out: &mut Vec<u8>) {
    for (value, letter, _) in fields.iter().filter(|(value, ..)| *value != 0) {
        push!(out, "{value}{letter}");
    }
}

/// The first field that is not zero says whether all is `ago`; those with the other sign have a minus then.
fn push_verbose(interval: &Interval, out: &mut Vec<u8>) {
    out.push(b'@');
    let mut is_ago = None;
    for (value, _, name) in large_fields(interval).into_iter().chain(small_fields(interval)) {
        if value != 0 {
            let value = if *is_ago.get_or_insert(value < 0) { -value } else { value };
            push!(out, " {value} {name}{}", if value == 1 { "" } else { "s" });
        }
    }
    let us = interval.us % (60 * SECOND_US);
    if us != 0 {
        let shown = if *is_ago.get_or_insert(us < 0) { -us } else { us };
        push!(out, " {}{}", if shown < 0 { "-" } else { "" }, us.abs() / SECOND_US);
        push_fraction(us.abs() % SECOND_US, out);
        push!(out, " sec{}", if us.abs() == SECOND_US { "" } else { "s" });
    }
    match is_ago {
        None => out.extend_from_slice(b" 0"),
        Some(true) => out.extend_from_slice(b" ago"),
        Some(false) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_read_what_they_show() {
        for (text, verbose, iso) in [
            ("0", "@ 0", "PT0S"),
            ("1 year 2 mons 3 days 04:05:06.7", "@ 1 year 2 mons 3 days 4 hours 5 mins 6.7 secs", "P1Y2M3DT4H5M6.7S"),
            ("-1 day", "@ 1 day ago", "P-1D"),
            ("1 day -00:00:01", "@ 1 day -1 sec", "P1DT-1S"),
            ("-1 mons +2 days", "@ 1 mon -2 days ago", "P-1M2D"),
            ("-00:00:00.5", "@ 0.5 secs ago", "PT-0.5S"),
        ] {
            let interval = Interval::parse(text).expect(text);
            for (style, shown) in [(IntervalStyle::PostgresVerbose, verbose), (IntervalStyle::Iso8601, iso)] {
                let mut out = Vec::new();
                style.push(&interval, &mut out);
                assert_eq!(String::from_utf8(out).expect("ASCII"), shown);
                let read = Interval::parse(shown).expect(shown);
                assert_eq!((read.months, read.days, read.us), (interval.months, interval.days, interval.us), "{shown}");
            }
        }
    }
}
