//! Intervals: months, days and microseconds side by side.
//!
//! Invariant: order, equality and hash are those of the whole span, where a month has 30 days and a day 24 hours. `1 day` and
//! `24:00:00` are equal, and shown differently.
//!
//! Absent: infinite intervals. Styles other than `postgres` are in `interval_style.rs`.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::io::Write;

use super::datetime::{DAY_US, SECOND_US, push, push_fraction};
use crate::error::{Result, SqlError, SqlState};

/// A span of time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// Months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub us: i64,
}

impl PartialEq for Interval {
    fn eq(&self, other: &Interval) -> bool {
        self.span_us() == other.span_us()
    }
}

impl Eq for Interval {}

impl PartialOrd for Interval {
    fn partial_cmp(&self, other: &Interval) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Interval {
    fn cmp(&self, other: &Interval) -> Ordering {
        self.span_us().cmp(&other.span_us())
    }
}

impl Hash for Interval {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.span_us().hash(state);
    }
}

/// A field of an interval, from the largest to the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Field {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

impl Field {
    /// Their names, and their bits in the number of a declaration.
    const ALL: [(Field, &'static str, u32); 6] = [
        (Field::Year, "year", 2),
        (Field::Month, "month", 1),
        (Field::Day, "day", 3),
        (Field::Hour, "hour", 10),
        (Field::Minute, "minute", 11),
        (Field::Second, "second", 12),
    ];

    fn unit(self) -> Unit {
        match self {
            Field::Year => Unit::Months(12.0),
            Field::Month => Unit::Months(1.0),
            Field::Day => Unit::Days(1.0),
            Field::Hour => Unit::Microseconds(3.6e9),
            Field::Minute => Unit::Microseconds(6e7),
            Field::Second => Unit::Microseconds(1e6),
        }
    }

    fn name(self) -> &'static str {
        Field::ALL[self as usize].1
    }
}

/// The fields of a declaration, as `day to minute`. A number without a unit is one of the last of them, and what is smaller is
/// cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fields {
    first: Field,
    last: Field,
}

impl Fields {
    /// Returns the fields with these names, in any case; `None` where there are no such fields, or not beside each other.
    pub fn named(first: &str, last: Option<&str>) -> Option<Fields> {
        let find = |name: &str| Field::ALL.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(name));
        let first = find(first)?.0;
        let last = last.map_or(Some(first), |last| find(last).map(|found| found.0).filter(|last| *last > first))?;
        let are_beside = first == last || first >= Field::Day || last == Field::Month;
        are_beside.then_some(Fields { first, last })
    }

    /// Returns whether the last of them may have a fraction.
    pub fn have_seconds(self) -> bool {
        self.last == Field::Second
    }

    /// Returns their bits in PostgreSQL's number of a declaration.
    pub fn bits(self) -> i32 {
        let within = Field::ALL.iter().filter(|(field, ..)| (self.first..=self.last).contains(field));
        within.fold(0, |bits, (.., bit)| bits | 1 << bit)
    }

    /// Returns the fields with these bits.
    pub fn of_bits(bits: i32) -> Option<Fields> {
        let mut found = Field::ALL.iter().filter(|(.., bit)| bits & 1 << bit != 0).map(|(field, ..)| *field);
        let first = found.next()?;
        let fields = Fields { first, last: found.next_back().unwrap_or(first) };
        (fields.bits() == bits).then_some(fields)
    }

    /// Returns what they keep of an interval.
    pub fn keep(self, interval: Interval) -> Interval {
        let Interval { months, days, us } = interval;
        match self.last {
            Field::Year => Interval { months: months / 12 * 12, days: 0, us: 0 },
            Field::Month => Interval { months, days: 0, us: 0 },
            Field::Day => Interval { us: 0, ..interval },
            Field::Hour => Interval { months, days, us: us - us % (3_600 * SECOND_US) },
            Field::Minute => Interval { us: us - us % (60 * SECOND_US), ..interval },
            Field::Second => interval,
        }
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.first.name())?;
        if self.first == self.last { Ok(()) } else { write!(f, " to {}", self.last.name()) }
    }
}

/// What a unit of a text is made of.
#[derive(Clone, Copy)]
enum Unit {
    Months(f64),
    Days(f64),
    Microseconds(f64),
}

/// The names of units; a plural `s` is cut off before.
const UNITS: &[(&[&str], Unit)] = &[
    (&["us", "u", "usec", "microsecond", "microsec"], Unit::Microseconds(1.0)),
    (&["ms", "m.s", "msec", "millisecond", "millisec"], Unit::Microseconds(1e3)),
    (&["s", "sec", "second"], Unit::Microseconds(1e6)),
    (&["m", "min", "minute"], Unit::Microseconds(6e7)),
    (&["h", "hr", "hour"], Unit::Microseconds(3.6e9)),
    (&["d", "day"], Unit::Days(1.0)),
    (&["w", "week"], Unit::Days(7.0)),
    (&["mon", "month"], Unit::Months(1.0)),
    (&["y", "yr", "year"], Unit::Months(12.0)),
    (&["dec", "decade"], Unit::Months(120.0)),
    (&["c", "cent", "century", "centurie"], Unit::Months(1_200.0)),
    (&["mil", "millennium", "millennia"], Unit::Months(12_000.0)),
];

fn unit_of(word: &str) -> Option<Unit> {
    let find = |word: &str| UNITS.iter().find(|(names, _)| names.contains(&word)).map(|(_, unit)| *unit);
    find(word).or_else(|| find(word.strip_suffix('s')?))
}

#[cold]
fn out_of_range() -> SqlError {
    SqlError::new(SqlState::DatetimeFieldOverflow, "interval out of range")
}

#[cold]
fn field_out_of_range(text: &str) -> SqlError {
    SqlError::new(SqlState::IntervalFieldOverflow, format!("interval field value out of range: \"{text}\""))
}

#[cold]
fn malformed(text: &str) -> SqlError {
    SqlError::new(SqlState::InvalidDatetimeFormat, format!("invalid input syntax for type interval: \"{text}\""))
}

/// Rounds to microseconds of a second.
fn round_us(value: f64) -> f64 {
    (value * 1e6).round_ties_even() / 1e6
}

fn to_i32(value: f64) -> Result<i32> {
    let is_held = value >= f64::from(i32::MIN) && value <= f64::from(i32::MAX);
    if is_held { Ok(value as i32) } else { Err(out_of_range()) }
}

fn to_i64(value: f64) -> Result<i64> {
    let is_held = value >= i64::MIN as f64 && value < i64::MAX as f64;
    if is_held { Ok(value as i64) } else { Err(out_of_range()) }
}

/// Collects the fields of a text.
struct Reader<'a> {
    text: &'a str,
    /// The fields that are declared.
    fields: Option<Fields>,
    sum: Interval,
}

impl Reader<'_> {
    /// Adds a number of a unit. Fractions go to the smaller units.
    fn add(&mut self, number: &str, unit: Unit) -> Result<()> {
        let range = |_| field_out_of_range(self.text);
        let value: f64 = number.parse().map_err(|_| malformed(self.text))?;
        let mut part = Interval::default();
        match unit {
            Unit::Months(factor) => {
                let months = if factor > 1.0 { (value * factor).round() } else { value.trunc() };
                part.months = to_i32(months).map_err(range)?;
                let days = if factor > 1.0 { 0.0 } else { value.fract() * 30.0 };
                part.days = to_i32(round_us(days).trunc()).map_err(range)?;
                part.us = to_i64((round_us(days).fract() * DAY_US as f64).round_ties_even()).map_err(range)?;
            }
            Unit::Days(factor) => {
                let days = round_us(value * factor);
                part.days = to_i32(days.trunc()).map_err(range)?;
                part.us = to_i64((days.fract() * DAY_US as f64).round_ties_even()).map_err(range)?;
            }
            Unit::Microseconds(factor) => part.us = scaled(number, factor).map_err(range)?,
        }
        self.sum = self.sum.add(&part).map_err(range)?;
        Ok(())
    }

    /// Adds `hours:minutes[:seconds[.fraction]]`, or `minutes:seconds.fraction`.
    fn clock(&mut self, token: &str) -> Result<()> {
        let malformed = || malformed(self.text);
        let unsigned = token.trim_start_matches(['+', '-']);
        let mut parts: Vec<&str> = unsigned.split(':').collect();
        let has_minutes_first = self.fields == Fields::named("minute", Some("second"))
            || parts.get(1).is_some_and(|part| part.contains('.'));
        if parts.len() == 2 && has_minutes_first {
            parts.insert(0, "0");
        }
        let is_time = (2..=3).contains(&parts.len());
        if !is_time || !parts[..2].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit())) {
            return Err(malformed());
        }
        let hours: i64 = parts[0].parse().map_err(|_| malformed())?;
        let minutes: i64 = parts[1].parse().map_err(|_| malformed())?;
        let seconds = parts.get(2).map_or(Ok(0), |part| scaled(part, 1e6)).map_err(|_| malformed())?;
        if minutes > 59 || seconds >= 60 * SECOND_US || hours > i64::from(i32::MAX) {
            return Err(field_out_of_range(self.text));
        }
        let us = (hours * 3_600 + minutes * 60) * SECOND_US + seconds;
        let part = Interval { us: if token.starts_with('-') { -us } else { us }, ..Interval::default() };
        self.sum = self.sum.add(&part).map_err(|_| field_out_of_range(self.text))?;
        Ok(())
    }

    /// Reads `1 year 2 mons 3 days 04:05:06.7`.
    fn verbose(mut self) -> Result<Interval> {
        let lower = self.text.trim().to_ascii_lowercase();
        let tokens = tokens(&lower);
        let mut is_ago = false;
        let mut position = usize::from(tokens.first() == Some(&"@"));
        if position == tokens.len() {
            return Err(malformed(self.text));
        }
        while position < tokens.len() {
            let token = tokens[position];
            let next = tokens.get(position + 1).copied();
            position += 1;
            if token == "ago" && position == tokens.len() && position > 1 {
                is_ago = true;
            } else if token.contains(':') {
                self.clock(token)?;
            } else if let Some(unit) = next.and_then(unit_of) {
                self.add(token, unit)?;
                position += 1;
            } else if next.is_some_and(|next| next.contains(':') || self.is_hour(next, position, tokens.len())) {
                self.add(token, Unit::Days(1.0))?;
            } else if let Some(at) = token.get(1..).and_then(|rest| rest.find('-')) {
                let sign = if token.starts_with('-') { "-" } else { "" };
                self.add(&token[..=at], Unit::Months(12.0))?;
                self.add(&format!("{sign}{}", &token[at + 2..]), Unit::Months(1.0))?;
            } else if next.is_none() {
                self.add(token, self.fields.map_or(Field::Second, |fields| fields.last).unit())?;
            } else {
                return Err(malformed(self.text));
            }
        }
        if is_ago { self.sum.neg() } else { Ok(self.sum) }
    }

    /// Whether a token is a number without a unit, and the hour of what is declared so: days stand before it.
    fn is_hour(&self, token: &str, position: usize, count: usize) -> bool {
        let is_last = position + 1 == count;
        is_last && self.fields.is_some_and(|fields| fields.last == Field::Hour) && token.parse::<f64>().is_ok()
    }

    /// Reads what follows the `P` of ISO 8601.
    fn iso(mut self, fields: &str) -> Result<Interval> {
        let mut is_time = false;
        let mut start = 0;
        for (at, letter) in fields.char_indices().filter(|(_, letter)| letter.is_ascii_alphabetic()) {
            let number = &fields[start..at];
            start = at + 1;
            let unit = match (letter.to_ascii_uppercase(), is_time) {
                ('T', false) if number.is_empty() => {
                    is_time = true;
                    continue;
                }
                ('Y', false) => Unit::Months(12.0),
                ('M', false) => Unit::Months(1.0),
                ('W', false) => Unit::Days(7.0),
                ('D', false) => Unit::Days(1.0),
                ('H', true) => Unit::Microseconds(3.6e9),
                ('M', true) => Unit::Microseconds(6e7),
                ('S', true) => Unit::Microseconds(1e6),
                _ => return Err(malformed(self.text)),
            };
            self.add(number, unit)?;
        }
        if start == 0 || start < fields.len() { Err(malformed(self.text)) } else { Ok(self.sum) }
    }
}

/// Splits at blanks, and between a number and the word behind it.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    for piece in text.split_ascii_whitespace() {
        let is_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b':' | b'+' | b'-');
        let is_exponent =
            |at: usize| piece.as_bytes()[at] == b'e' && piece.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit);
        let end = (0..piece.len()).find(|at| !is_number(piece.as_bytes()[*at]) && !is_exponent(*at));
        match end {
            Some(at) if at > 0 && piece.is_char_boundary(at) => tokens.extend([&piece[..at], &piece[at..]]),
            _ => tokens.push(piece),
        }
    }
    tokens
}

/// Multiplies a decimal number by a factor that is a whole number; digits of the result behind the point are rounded.
fn scaled(number: &str, factor: f64) -> Result<i64> {
    let fault = |_| out_of_range();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.parse::<i64>().is_err() || fraction.bytes().any(|byte| !byte.is_ascii_digit()) {
        return to_i64((number.parse::<f64>().map_err(|_| out_of_range())? * factor).round_ties_even());
    }
    let units = whole.parse::<i64>().map_err(fault)?.checked_mul(factor as i64).ok_or_else(out_of_range)?;
    let rest = format!("0.{fraction}0").parse::<f64>().map_err(|_| out_of_range())? * factor;
    let rest = to_i64(rest.round_ties_even())?;
    let signed = if whole.starts_with('-') { units.checked_sub(rest) } else { units.checked_add(rest) };
    signed.ok_or_else(out_of_range)
}

impl Interval {
    /// Makes an interval of microseconds alone.
    pub fn of_us(us: i64) -> Interval {
        Interval { us, ..Interval::default() }
    }

    /// The whole span in microseconds, where a month has 30 days.
    fn span_us(&self) -> i128 {
        (i128::from(self.months) * 30 + i128::from(self.days)) * i128::from(DAY_US) + i128::from(self.us)
    }

    /// Reads an interval.
    ///
    /// # Errors
    /// Text that is no interval, or fields that are out of range.
    pub fn parse(text: &str) -> Result<Interval> {
        Interval::read(text, None)
    }

    /// Reads an interval that is declared with some fields; the others are still in it.
    ///
    /// # Errors
    /// As [`Interval::parse`].
    pub fn read(text: &str, fields: Option<Fields>) -> Result<Interval> {
        let reader = Reader { text, fields, sum: Interval::default() };
        match text.trim().strip_prefix(['P', 'p']) {
            Some(fields) => reader.iso(fields),
            None => reader.verbose(),
        }
    }

    /// Appends the interval as `1 year 2 mons 3 days 04:05:06.7`.
    pub fn push(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let mut is_before = false;
        for (value, unit) in [(self.months / 12, "year"), (self.months % 12, "mon"), (self.days, "day")] {
            if value != 0 {
                let blank = if out.len() > start { " " } else { "" };
                let sign = if is_before && value > 0 { "+" } else { "" };
                push!(out, "{blank}{sign}{value} {unit}{}", if value == 1 { "" } else { "s" });
                is_before = value < 0;
            }
        }
        if self.us != 0 || out.len() == start {
            let blank = if out.len() > start { " " } else { "" };
            let sign = match self.us {
                ..0 => "-",
                _ if is_before => "+",
                _ => "",
            };
            let us = self.us.unsigned_abs();
            let seconds = us / 1_000_000;
            push!(out, "{blank}{sign}{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
            push_fraction((us % 1_000_000) as i64, out);
        }
    }

    fn checked(months: Option<i32>, days: Option<i32>, us: Option<i64>) -> Result<Interval> {
        match (months, days, us) {
            (Some(months), Some(days), Some(us)) => Ok(Interval { months, days, us }),
            _ => Err(out_of_range()),
        }
    }

    /// Adds field by field.
    ///
    /// # Errors
    /// `interval out of range`.
    pub fn add(&self, other: &Interval) -> Result<Interval> {
        let months = self.months.checked_add(other.months);
        Interval::checked(months, self.days.checked_add(other.days), self.us.checked_add(other.us))
    }

    /// Subtracts field by field.
    ///
    /// # Errors
    /// `interval out of range`.
    pub fn sub(&self, other: &Interval) -> Result<Interval> {
        let months = self.months.checked_sub(other.months);
        Interval::checked(months, self.days.checked_sub(other.days), self.us.checked_sub(other.us))
    }

    /// Turns the sign of each field.
    ///
    /// # Errors
    /// `interval out of range`.
    pub fn neg(&self) -> Result<Interval> {
        Interval::checked(self.months.checked_neg(), self.days.checked_neg(), self.us.checked_neg())
    }

    /// Multiplies by a factor. Fractions of months become days, and those of days become time.
    ///
    /// # Errors
    /// `interval out of range`.
    pub fn mul(&self, factor: f64) -> Result<Interval> {
        self.scale(|field| field * factor)
    }

    /// Divides by a divisor, as [`Interval::mul`] multiplies.
    ///
    /// # Errors
    /// `division by zero` and `interval out of range`.
    pub fn div(&self, divisor: f64) -> Result<Interval> {
        if divisor == 0.0 {
            return Err(SqlError::new(SqlState::DivisionByZero, "division by zero"));
        }
        self.scale(|field| field / divisor)
    }

    fn scale(&self, scale: impl Fn(f64) -> f64) -> Result<Interval> {
        let (months, days) = (scale(f64::from(self.months)), scale(f64::from(self.days)));
        let whole_months = to_i32(months.trunc())?;
        let mut whole_days = to_i32(days.trunc())?;
        let month_days = round_us((months - f64::from(whole_months)) * 30.0);
        let mut seconds = round_us((days - f64::from(whole_days) + month_days.fract()) * 86_400.0);
        if seconds.abs() >= 86_400.0 {
            let carry = (seconds / 86_400.0).trunc();
            whole_days = whole_days.checked_add(carry as i32).ok_or_else(out_of_range)?;
            seconds -= carry * 86_400.0;
        }
        let days = whole_days.checked_add(month_days as i32);
        let us = to_i64((scale(self.us as f64) + seconds * 1e6).round_ties_even())?;
        Interval::checked(Some(whole_months), days, Some(us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(interval: Result<Interval>) -> String {
        let mut out = Vec::new();
        match interval {
            Ok(interval) => interval.push(&mut out),
            Err(error) => return error.message,
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn intervals_are_read_in_every_form() {
        let table = [
            ("1 year 2 mons 3 days 04:05:06.7", "1 year 2 mons 3 days 04:05:06.7"),
            ("@ 1 hour 30 mins ago", "-01:30:00"),
            ("P1Y2M3DT4H5M6S", "1 year 2 mons 3 days 04:05:06"),
            ("PT0.5S", "00:00:00.5"),
            ("1.5 days", "1 day 12:00:00"),
            ("1.5 months", "1 mon 15 days"),
            ("1.5 years", "1 year 6 mons"),
            ("1w", "7 days"),
            ("2h 3m 4s", "02:03:04"),
            ("1-2", "1 year 2 mons"),
            ("3 04:05", "3 days 04:05:00"),
            ("90", "00:01:30"),
            ("-1 day +02:00", "-1 days +02:00:00"),
            ("1 mon -1 days", "1 mon -1 days"),
            ("0", "00:00:00"),
            ("100 milliseconds", "00:00:00.1"),
            ("2 centuries", "200 years"),
            ("100:00:00", "100:00:00"),
        ];
        for (text, expected) in table {
            assert_eq!(shown(Interval::parse(text)), expected, "{text}");
        }
        for text in ["", "x", "1 foo", "P", "1:2:3:4", "@", "P1", "ago"] {
            let expected = format!("invalid input syntax for type interval: \"{text}\"");
            assert_eq!(shown(Interval::parse(text)), expected);
        }
        assert_eq!(Interval::parse("999999999999 years").unwrap_err().code(), "22015");
    }

    #[test]
    fn what_is_pushed_is_read() {
        let mut random = fastrand::Rng::with_seed(2);
        for _ in 0..5_000 {
            let months = random.i32(-100_000..100_000) * random.i32(0..2);
            let days = random.i32(-100_000..100_000) * random.i32(0..2);
            let us = random.i64(-1_000_000_000_000..1_000_000_000_000);
            let read = Interval::parse(&shown(Ok(Interval { months, days, us }))).unwrap();
            assert_eq!((read.months, read.days, read.us), (months, days, us));
        }
    }

    #[test]
    fn arithmetic_is_checked_and_carries_down() {
        let interval = |text| Interval::parse(text).unwrap();
        assert_eq!(shown(interval("1 month").mul(1.5)), "1 mon 15 days");
        assert_eq!(shown(interval("1 day").div(3.0)), "08:00:00");
        assert_eq!(shown(interval("1 year").div(5.0)), "2 mons 12 days");
        assert_eq!(shown(interval("1 day").div(0.0)), "division by zero");
        assert_eq!(shown(interval("1 month").mul(1e12)), "interval out of range");
        assert_eq!(
            shown(Interval { months: i32::MAX, ..Interval::default() }.add(&interval("1 mon"))),
            "interval out of range"
        );
        assert_eq!(interval("1 day"), interval("24 hours"));
        assert!(interval("1 month") > interval("29 days"));
    }
}
