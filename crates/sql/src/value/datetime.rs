//! Dates, times and timestamps: as text, and as one another.
//!
//! Dates are shown as ISO has them: other styles are in `date_style.rs`. Days and microseconds count from 1970-01-01 00:00:00.
//!
//! Invariants:
//! - The least and the greatest number of a date or a timestamp are `-infinity` and `infinity`.
//! - Every finite value is within the years -9999 and 9999, which is what time zones are known for.
//! - What is pushed is read as the same value.
//!
//! Absent: `time with time zone`.

use std::io::Write;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::date_style::DateOrder;
use crate::error::{Result, SqlError, SqlState};

/// Microseconds of a second.
pub const SECOND_US: i64 = 1_000_000;
/// Microseconds of a day.
pub const DAY_US: i64 = 86_400 * SECOND_US;

/// The first day, -9999-01-01, in days since 1970-01-01.
const FIRST_DAY: i64 = -4_371_587;
/// The last day, 9999-12-31.
const LAST_DAY: i64 = 2_932_896;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// Abbreviations of time zones that PostgreSQL knows, with their hours east of UTC.
const ABBREVIATIONS: &[(&str, i32)] = &[
    ("z", 0),
    ("utc", 0),
    ("gmt", 0),
    ("zulu", 0),
    ("wet", 0),
    ("west", 1),
    ("bst", 1),
    ("cet", 1),
    ("cest", 2),
    ("eet", 2),
    ("eest", 3),
    ("msk", 3),
    ("jst", 9),
    ("kst", 9),
    ("est", -5),
    ("edt", -4),
    ("cst", -6),
    ("cdt", -5),
    ("mst", -7),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
];

/// Makes the error of a timestamp that is too early or too late.
#[cold]
pub fn timestamp_out_of_range() -> SqlError {
    SqlError::new(SqlState::DatetimeFieldOverflow, "timestamp out of range")
}

#[cold]
fn malformed(ty: &str, text: &str) -> SqlError {
    SqlError::new(SqlState::InvalidDatetimeFormat, format!("invalid input syntax for type {ty}: \"{text}\""))
}

#[cold]
fn field_out_of_range(text: &str) -> SqlError {
    SqlError::new(SqlState::DatetimeFieldOverflow, format!("date/time field value out of range: \"{text}\""))
}

/// Returns the days from 1970-01-01 to a day of the Gregorian calendar. Year 0 is 1 BC.
pub fn days_of_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Returns year, month and day of so many days from 1970-01-01.
pub fn civil_of_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Returns how many days a month has.
pub fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Returns the date of year, month and day; `None` where there is no such day or it is out of range. Year 0 is 1 BC.
pub fn date_of_civil(year: i64, month: i64, day: i64) -> Option<i32> {
    if !(-9_999..=9_999).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=days_of_month(year, month)).contains(&day)
    {
        return None;
    }
    i32::try_from(days_of_civil(year, month, day)).ok()
}

/// Passes a date that is infinite or in range.
///
/// # Errors
/// `date out of range`.
pub fn check_date(days: i64) -> Result<i32> {
    match i32::try_from(days) {
        Ok(date) if (FIRST_DAY..=LAST_DAY).contains(&days) => Ok(date),
        _ => Err(SqlError::new(SqlState::DatetimeFieldOverflow, "date out of range")),
    }
}

/// Passes a timestamp that is in range.
///
/// # Errors
/// `timestamp out of range`.
pub fn check_timestamp(us: i64) -> Result<i64> {
    let in_range = (FIRST_DAY..=LAST_DAY).contains(&us.div_euclid(DAY_US));
    if in_range { Ok(us) } else { Err(timestamp_out_of_range()) }
}

/// Whether a timestamp is neither `infinity` nor `-infinity`.
pub fn is_finite(us: i64) -> bool {
    us != i64::MIN && us != i64::MAX
}

/// Returns the month that a word names, from 1 on: its full name, or at least three letters of it.
fn month_of(word: &str) -> Option<i64> {
    let known = |month: &str| word.len() >= 3 && month.starts_with(word) && (word.len() == 3 || month == word);
    let position = MONTHS.iter().position(|month| known(month));
    position.or((word == "sept").then_some(8)).map(|position| position as i64 + 1)
}

/// Returns the English name of a month, from 1 on, in small letters.
pub fn month_name(month: i64) -> &'static str {
    MONTHS[(month - 1).rem_euclid(12) as usize]
}

/// Returns the English name of a day of the week, from Sunday, which is 0, in small letters.
pub fn weekday_name(weekday: i64) -> &'static str {
    WEEKDAYS[weekday.rem_euclid(7) as usize]
}

/// A word that is a date or a timestamp by itself.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    Epoch,
    Infinity,
    NegativeInfinity,
    /// So many days from today, at midnight.
    Day(i64),
    Now,
}

/// Where a time was said to be.
enum Zone {
    /// Seconds east of UTC.
    Offset(i64),
    Named(TimeZone),
}

/// What a text holds.
#[derive(Default)]
struct Fields {
    date: Option<(i64, i64, i64)>,
    special: Option<Special>,
    time_us: Option<i64>,
    zone: Option<Zone>,
    is_afternoon: Option<bool>,
    is_before_christ: bool,
    /// Month, day and year that stand apart, as in `Jan 31 2024`.
    month: Option<i64>,
    numbers: Vec<(i64, usize)>,
    order: DateOrder,
}

/// Why a text could not be read.
enum Fault {
    Syntax,
    Range,
    /// As `Range`; the order of day and month may be the reason.
    Order,
    Zone(String),
}

impl Fault {
    fn error(self, ty: &str, text: &str) -> SqlError {
        match self {
            Fault::Syntax => malformed(ty, text),
            Fault::Range => field_out_of_range(text),
            Fault::Order => field_out_of_range(text).with_hint("Perhaps you need a different \"datestyle\" setting."),
            Fault::Zone(name) => {
                SqlError::new(SqlState::InvalidParameterValue, format!("time zone \"{name}\" not recognized"))
            }
        }
    }
}

type Read<T> = std::result::Result<T, Fault>;

fn number(text: &str) -> Read<i64> {
    let is_number = !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().map_err(|_| Fault::Range) } else { Err(Fault::Syntax) }
}

/// A year of two digits is in 1970 to 2069.
fn full_year(year: i64, digits: usize) -> i64 {
    match year {
        0..70 if digits <= 2 => year + 2_000,
        70..100 if digits <= 2 => year + 1_900,
        _ => year,
    }
}

/// Reads hours, minutes and seconds, as microseconds.
fn clock(text: &str) -> Read<i64> {
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
    let compact = !whole.contains(':');
    let parts: Vec<&str> = match whole.len() {
        4 if compact => vec![&whole[..2], &whole[2..]],
        6 if compact => vec![&whole[..2], &whole[2..4], &whole[4..]],
        _ => whole.split(':').collect(),
    };
    if !(2..=3).contains(&parts.len()) {
        return Err(Fault::Syntax);
    }
    let [hour, minute] = [number(parts[0])?, number(parts[1])?];
    let second = parts.get(2).map_or(Ok(0), |part| number(part))?;
    if hour > 24 || minute > 59 || second > 60 {
        return Err(Fault::Range);
    }
    let us = (hour * 3_600 + minute * 60 + second) * SECOND_US + fraction.map_or(Ok(0), fraction_us)?;
    if us > DAY_US { Err(Fault::Range) } else { Ok(us) }
}

/// Reads the digits behind the point of a second, rounded to microseconds.
fn fraction_us(digits: &str) -> Read<i64> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::Syntax);
    }
    let digit = |position| i64::from(digits.as_bytes().get(position).map_or(0, |byte| byte - b'0'));
    let us = (0..6).fold(0, |us, position| us * 10 + digit(position));
    Ok(us + i64::from(digit(6) >= 5))
}

/// Reads what follows the sign of an offset, as `02`, `0230`, `02:30` or `02:30:15`, as seconds.
fn offset(text: &str, sign: i64) -> Read<i64> {
    let mut parts: Vec<&str> = text.split(':').collect();
    if parts.len() == 1 && text.is_ascii() && text.len() > 2 {
        let minutes = text.len() - 2;
        parts = vec![&text[..minutes], &text[minutes..]];
    }
    let mut seconds = number(parts[0])? * 3_600;
    for (part, unit) in parts[1..].iter().zip([60, 1]) {
        let part = number(part)?;
        if part > 59 {
            return Err(Fault::Range);
        }
        seconds += part * unit;
    }
    if parts.len() > 3 {
        return Err(Fault::Syntax);
    }
    if seconds >= 16 * 3_600 { Err(Fault::Range) } else { Ok(sign * seconds) }
}

impl Fields {
    fn read(text: &str, order: DateOrder) -> Read<Fields> {
        let mut fields = Fields { order, ..Fields::default() };
        let lower = text.trim().to_ascii_lowercase();
        if lower.is_empty() {
            return Err(Fault::Syntax);
        }
        for token in lower.split([' ', ',', '\t', '\n']).filter(|token| !token.is_empty()) {
            fields.token(token)?;
        }
        fields.gather()?;
        Ok(fields)
    }

    fn token(&mut self, token: &str) -> Read<()> {
        let first = token.as_bytes()[0];
        if !first.is_ascii_digit() {
            return match first {
                b'+' | b'-' if token.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => self.suffix(token),
                _ => self.word(token),
            };
        }
        let bytes = token.as_bytes();
        let between = |at: &usize| bytes[*at] == b't' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        if let Some(at) = (0..bytes.len()).find(between) {
            self.token(&token[..at])?;
            return self.time(&token[at + 1..]);
        }
        if token.contains(':') {
            return self.time(token);
        }
        let is_number = bytes.iter().all(u8::is_ascii_digit);
        if is_number {
            return self.digits(token);
        }
        if bytes.iter().position(|byte| matches!(byte, b'-' | b'/' | b'.')).is_some() && self.date.is_none() {
            return self.dashed(token);
        }
        let end = bytes.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.').unwrap_or(bytes.len());
        match &token[end..] {
            "am" | "pm" => {
                self.set_time(number(&token[..end])? * 3_600 * SECOND_US)?;
                self.word(&token[end..])
            }
            _ if self.date.is_some() || end == 6 || end == 4 => self.time(token),
            _ => Err(Fault::Syntax),
        }
    }

    /// Takes a token of digits alone.
    fn digits(&mut self, token: &str) -> Read<()> {
        match token.len() {
            8 if self.date.is_none() => {
                self.set_date(number(&token[..4])?, number(&token[4..6])?, number(&token[6..])?)
            }
            6 if self.date.is_none() && self.month.is_none() && self.numbers.is_empty() => {
                let year = full_year(number(&token[..2])?, 2);
                self.set_date(year, number(&token[2..4])?, number(&token[4..])?)
            }
            4 | 6 if self.date.is_some() => self.time(token),
            digits => {
                self.numbers.push((number(token)?, digits));
                Ok(())
            }
        }
    }

    fn set_date(&mut self, year: i64, month: i64, day: i64) -> Read<()> {
        if self.date.replace((year, month, day)).is_some() { Err(Fault::Syntax) } else { Ok(()) }
    }

    fn set_time(&mut self, us: i64) -> Read<()> {
        if self.time_us.replace(us).is_some() { Err(Fault::Syntax) } else { Ok(()) }
    }

    /// Takes a date whose parts are joined.
    fn dashed(&mut self, token: &str) -> Read<()> {
        let parts: Vec<&str> = token.split(['-', '/', '.']).collect();
        let [first, second, third] = parts[..] else {
            // A zone may follow a date: `2024-01-31+02`.
            return Err(Fault::Syntax);
        };
        if let Some(at) = third.find('+') {
            self.dashed(&token[..token.len() - third.len() + at])?;
            return self.suffix(&third[at..]);
        }
        let counted = |part: &str| Ok((number(part)?, part.len()));
        match (month_of(first), month_of(second)) {
            (Some(month), _) => self.set_named(month, counted(second)?, counted(third)?),
            (_, Some(month)) => self.set_named(month, counted(first)?, counted(third)?),
            _ => self.set_numbers([counted(first)?, counted(second)?, counted(third)?]),
        }
    }

    /// Takes a date of three numbers, each with how many digits it has.
    fn set_numbers(&mut self, [first, second, third]: [(i64, usize); 3]) -> Read<()> {
        let (year, month, day) = match self.order {
            _ if first.1 > 2 => (first, second, third),
            DateOrder::Ymd => (first, second, third),
            DateOrder::Mdy => (third, first, second),
            DateOrder::Dmy => (third, second, first),
        };
        self.set_date(full_year(year.0, year.1), month.0, day.0)
    }

    /// Takes a date whose month has a name, and two numbers.
    fn set_named(&mut self, month: i64, first: (i64, usize), second: (i64, usize)) -> Read<()> {
        let is_year_first = first.1 > 2 || self.order == DateOrder::Ymd && second.1 <= 2;
        let (year, day) = if is_year_first { (first, second) } else { (second, first) };
        self.set_date(full_year(year.0, year.1), month, day.0)
    }

    /// Takes a time, with a zone or a half of the day behind it.
    fn time(&mut self, token: &str) -> Read<()> {
        let is_clock = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b':' | b'.');
        let end = token.bytes().position(|byte| !is_clock(&byte)).unwrap_or(token.len());
        self.set_time(clock(&token[..end])?)?;
        if end < token.len() { self.suffix(&token[end..]) } else { Ok(()) }
    }

    /// Takes what may follow a time.
    fn suffix(&mut self, text: &str) -> Read<()> {
        let sign = match text.as_bytes()[0] {
            b'+' => 1,
            b'-' => -1,
            _ => return self.word(text),
        };
        self.set_zone(Zone::Offset(offset(&text[1..], sign)?))
    }

    fn set_zone(&mut self, zone: Zone) -> Read<()> {
        if self.zone.replace(zone).is_some() { Err(Fault::Syntax) } else { Ok(()) }
    }

    fn word(&mut self, word: &str) -> Read<()> {
        let special = match word {
            "epoch" => Some(Special::Epoch),
            "infinity" | "+infinity" => Some(Special::Infinity),
            "-infinity" => Some(Special::NegativeInfinity),
            "today" => Some(Special::Day(0)),
            "tomorrow" => Some(Special::Day(1)),
            "yesterday" => Some(Special::Day(-1)),
            "now" => Some(Special::Now),
            _ => None,
        };
        if special.is_some() {
            return if std::mem::replace(&mut self.special, special).is_some() { Err(Fault::Syntax) } else { Ok(()) };
        }
        if let Some(month) = month_of(word) {
            return if self.month.replace(month).is_some() { Err(Fault::Syntax) } else { Ok(()) };
        }
        match word {
            "am" => self.is_afternoon = Some(false),
            "pm" => self.is_afternoon = Some(true),
            "bc" => self.is_before_christ = true,
            "ad" | "t" | "at" | "on" => {}
            _ if word.len() >= 3 && WEEKDAYS.iter().any(|day| day.starts_with(word)) => {}
            _ => return self.zone_name(word),
        }
        Ok(())
    }

    fn zone_name(&mut self, word: &str) -> Read<()> {
        if let Some((_, hours)) = ABBREVIATIONS.iter().find(|(name, _)| *name == word) {
            return self.set_zone(Zone::Offset(i64::from(*hours) * 3_600));
        }
        match TimeZone::get(word) {
            Ok(zone) => self.set_zone(Zone::Named(zone)),
            Err(_) if word.contains('/') && word.as_bytes()[0].is_ascii_alphabetic() => Err(Fault::Zone(word.into())),
            Err(_) => Err(Fault::Syntax),
        }
    }

    /// Joins the parts that stood apart.
    fn gather(&mut self) -> Read<()> {
        match (self.month, &self.numbers[..]) {
            (None, []) => {}
            (Some(month), &[first, second]) => self.set_named(month, first, second)?,
            (None, &[first, second, third]) => self.set_numbers([first, second, third])?,
            _ => return Err(Fault::Syntax),
        }
        if let (Some(us), Some(is_afternoon)) = (self.time_us, self.is_afternoon) {
            let hour = us / (3_600 * SECOND_US);
            if hour > 12 {
                return Err(Fault::Range);
            }
            self.time_us =
                Some(us - if hour == 12 { DAY_US / 2 } else { 0 } + if is_afternoon { DAY_US / 2 } else { 0 });
        }
        if let Some((year, _, _)) = &mut self.date {
            if *year == 0 {
                return Err(Fault::Range);
            }
            *year = if self.is_before_christ { 1 - *year } else { *year };
        }
        Ok(())
    }

    /// Returns the day; `None` where a special word or nothing says it.
    fn days(&self) -> Read<Option<i64>> {
        let Some((year, month, day)) = self.date else { return Ok(None) };
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(Fault::Order);
        }
        if day > days_of_month(year, month) {
            return Err(Fault::Range);
        }
        Ok(Some(days_of_civil(year, month, day)))
    }

    /// Returns the local time, and whether it is UTC already.
    fn timestamp(&self, zone: &TimeZone) -> Read<(Option<i64>, bool)> {
        let time_us = self.time_us.unwrap_or(0);
        Ok(match (self.days()?, self.special) {
            (Some(days), None) => (days.checked_mul(DAY_US).and_then(|us| us.checked_add(time_us)), false),
            (None, Some(Special::Day(days))) => {
                (Some((now_us(zone).div_euclid(DAY_US) + days) * DAY_US + time_us), false)
            }
            (None, Some(_)) if self.time_us.is_some() => return Err(Fault::Syntax),
            (None, Some(Special::Epoch)) => (Some(0), true),
            (None, Some(Special::Infinity)) => (Some(i64::MAX), true),
            (None, Some(Special::NegativeInfinity)) => (Some(i64::MIN), true),
            (None, Some(Special::Now)) => (Some(now_us(zone)), false),
            _ => return Err(Fault::Syntax),
        })
    }
}

/// The local time in a zone.
fn now_us(zone: &TimeZone) -> i64 {
    utc_to_local(jiff::Timestamp::now().as_microsecond(), zone).unwrap_or(0)
}

/// Reads a date, as days since 1970-01-01. `today` and its like are those of `zone`.
///
/// # Errors
/// Text that is no date, or a date that does not exist or is out of range.
pub fn parse_date(text: &str, zone: &TimeZone, order: DateOrder) -> Result<i32> {
    let read = Fields::read(text, order).and_then(|fields| fields.timestamp(zone));
    let (us, _) = read.map_err(|fault| fault.error("date", text))?;
    let out_of_range = || SqlError::new(SqlState::DatetimeFieldOverflow, format!("date out of range: \"{text}\""));
    match us {
        Some(i64::MIN) => Ok(i32::MIN),
        Some(i64::MAX) => Ok(i32::MAX),
        Some(us) => check_date(us.div_euclid(DAY_US)).map_err(|_| out_of_range()),
        None => Err(out_of_range()),
    }
}

/// Reads a time, as microseconds since midnight. A date and a zone beside it are ignored; `now` is the time in
/// `zone`.
///
/// # Errors
/// Text that is no time.
pub fn parse_time(text: &str, zone: &TimeZone, order: DateOrder) -> Result<i64> {
    let text_of_time = text.trim().trim_start_matches(['t', 'T']);
    let is_digits = matches!(text_of_time.len(), 4 | 6) && text_of_time.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits {
        return clock(text_of_time).map_err(|fault| fault.error("time", text));
    }
    let read = Fields::read(text_of_time, order).and_then(|fields| match (fields.time_us, fields.special) {
        (Some(us), None) => fields.days().map(|_| us),
        (None, Some(Special::Now)) => Ok(now_us(zone).rem_euclid(DAY_US)),
        _ => Err(Fault::Syntax),
    });
    read.map_err(|fault| fault.error("time", text))
}

fn out_of_range_text(text: &str) -> SqlError {
    SqlError::new(SqlState::DatetimeFieldOverflow, format!("timestamp out of range: \"{text}\""))
}

/// Reads a timestamp without time zone, as microseconds. A zone in the text is ignored; `now` and its like are those of `zone`.
///
/// # Errors
/// Text that is no timestamp, or one that does not exist or is out of range.
pub fn parse_timestamp(text: &str, zone: &TimeZone, order: DateOrder) -> Result<i64> {
    let read = Fields::read(text, order).and_then(|fields| fields.timestamp(zone));
    match read.map_err(|fault| fault.error("timestamp", text))?.0 {
        Some(us) if !is_finite(us) => Ok(us),
        Some(us) => check_timestamp(us).map_err(|_| out_of_range_text(text)),
        None => Err(out_of_range_text(text)),
    }
}

/// Reads a timestamp with time zone, as microseconds in UTC. Without a zone it is local in `zone`.
///
/// # Errors
/// Text that is no timestamp, or one that does not exist or is out of range; a zone that is unknown.
pub fn parse_timestamptz(text: &str, zone: &TimeZone, order: DateOrder) -> Result<i64> {
    let fault = |fault: Fault| fault.error("timestamp with time zone", text);
    let fields = Fields::read(text, order).map_err(fault)?;
    let (us, is_utc) = fields.timestamp(zone).map_err(fault)?;
    let us = us.ok_or_else(|| out_of_range_text(text))?;
    if is_utc {
        return Ok(us);
    }
    let utc = match &fields.zone {
        None => local_to_utc(us, zone),
        Some(Zone::Named(zone)) => local_to_utc(us, zone),
        Some(Zone::Offset(seconds)) => check_timestamp(us - seconds * SECOND_US),
    };
    utc.map_err(|_| out_of_range_text(text))
}

/// Appends formatted text; to write to memory does not fail.
macro_rules! push {
    ($out:expr, $($argument:tt)*) => {
        write!($out, $($argument)*).expect("memory takes all bytes")
    };
}
pub(crate) use push;

fn push_civil(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil_of_days(days);
    push!(out, "{:04}-{month:02}-{day:02}", if year > 0 { year } else { 1 - year });
}

pub(super) fn push_era(days: i64, out: &mut Vec<u8>) {
    if civil_of_days(days).0 <= 0 {
        out.extend_from_slice(b" BC");
    }
}

fn push_infinity(is_negative: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if is_negative { b"-infinity" } else { b"infinity" });
}

/// Appends a date.
pub fn push_date(date: i32, out: &mut Vec<u8>) {
    if matches!(date, i32::MIN | i32::MAX) {
        return push_infinity(date < 0, out);
    }
    push_civil(i64::from(date), out);
    push_era(i64::from(date), out);
}

/// Appends a time.
pub fn push_time(us: i64, out: &mut Vec<u8>) {
    let seconds = us / SECOND_US;
    push!(out, "{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    push_fraction(us % SECOND_US, out);
}

/// Appends a fraction of a second with its point, without zeros at its end.
pub(crate) fn push_fraction(us: i64, out: &mut Vec<u8>) {
    if us != 0 {
        push!(out, ".{us:06}");
        let kept = out.iter().rposition(|byte| *byte != b'0').expect("the point is no zero") + 1;
        out.truncate(kept);
    }
}

/// Appends a timestamp without time zone.
pub fn push_timestamp(us: i64, out: &mut Vec<u8>) {
    if !is_finite(us) {
        return push_infinity(us < 0, out);
    }
    push_local(us, out);
    push_era(us.div_euclid(DAY_US), out);
}

fn push_local(us: i64, out: &mut Vec<u8>) {
    push_civil(us.div_euclid(DAY_US), out);
    out.push(b' ');
    push_time(us.rem_euclid(DAY_US), out);
}

/// Appends a timestamp with time zone, local in `zone`, as `2024-05-01 10:00:00.5+02`.
pub fn push_timestamptz(us: i64, zone: &TimeZone, out: &mut Vec<u8>) {
    if !is_finite(us) {
        return push_infinity(us < 0, out);
    }
    let offset = offset_at(us, zone);
    let local = us + offset * SECOND_US;
    push_local(local, out);
    push!(out, "{}{:02}", if offset < 0 { '-' } else { '+' }, offset.abs() / 3_600);
    let rest = offset.abs() % 3_600;
    if rest != 0 {
        push!(out, ":{:02}", rest / 60);
    }
    if rest % 60 != 0 {
        push!(out, ":{:02}", rest % 60);
    }
    push_era(local.div_euclid(DAY_US), out);
}

/// Returns how many seconds east of UTC a zone is at a moment.
pub fn offset_at(us: i64, zone: &TimeZone) -> i64 {
    let moment = jiff::Timestamp::from_microsecond(us).unwrap_or(if us < 0 {
        jiff::Timestamp::MIN
    } else {
        jiff::Timestamp::MAX
    });
    i64::from(zone.to_offset(moment).seconds())
}

/// Returns midnight of a date.
///
/// # Errors
/// `date out of range for timestamp`; a date that was read is in range.
pub fn date_to_timestamp(date: i32) -> Result<i64> {
    match date {
        i32::MIN => Ok(i64::MIN),
        i32::MAX => Ok(i64::MAX),
        _ => check_timestamp(i64::from(date) * DAY_US)
            .map_err(|_| SqlError::new(SqlState::DatetimeFieldOverflow, "date out of range for timestamp")),
    }
}

/// Returns the date of a timestamp.
///
/// # Errors
/// `date out of range`.
pub fn timestamp_to_date(us: i64) -> Result<i32> {
    match us {
        i64::MIN => Ok(i32::MIN),
        i64::MAX => Ok(i32::MAX),
        _ => check_date(us.div_euclid(DAY_US)),
    }
}

/// Returns the time of day of a timestamp. An infinite one has none.
///
/// # Errors
/// `timestamp out of range` for an infinite timestamp.
pub fn timestamp_to_time(us: i64) -> Result<i64> {
    if is_finite(us) { Ok(us.rem_euclid(DAY_US)) } else { Err(timestamp_out_of_range()) }
}

/// Returns the moment when clocks in a zone show a time. A time that they skip is read with the offset before the gap; of a time
/// that they show twice, the second one is meant.
///
/// # Errors
/// `timestamp out of range`.
pub fn local_to_utc(us: i64, zone: &TimeZone) -> Result<i64> {
    if !is_finite(us) {
        return Ok(us);
    }
    check_timestamp(us)?;
    let (year, month, day) = civil_of_days(us.div_euclid(DAY_US));
    let seconds = us.rem_euclid(DAY_US) / SECOND_US;
    let [hour, minute, second] = [seconds / 3_600, seconds / 60 % 60, seconds % 60].map(|field| field as i8);
    let civil = DateTime::new(year as i16, month as i8, day as i8, hour, minute, second, 0);
    let civil = civil.map_err(|_| timestamp_out_of_range())?;
    let offset = match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Gap { before, .. } => before,
        AmbiguousOffset::Fold { after, .. } => after,
    };
    check_timestamp(us - i64::from(offset.seconds()) * SECOND_US)
}

/// Returns what clocks in a zone show at a moment.
///
/// # Errors
/// `timestamp out of range`.
pub fn utc_to_local(us: i64, zone: &TimeZone) -> Result<i64> {
    if !is_finite(us) {
        return Ok(us);
    }
    check_timestamp(us + offset_at(us, zone) * SECOND_US)
}

/// Rounds a time or a timestamp to so many digits of the fraction of its second, 0 to 6.
pub fn round_fraction(us: i64, digits: u8) -> i64 {
    if digits >= 6 || !is_finite(us) {
        return us;
    }
    let unit = 10_i64.pow(6 - u32::from(digits));
    let half = unit / 2;
    let rounded = if us >= 0 { us.saturating_add(half) / unit } else { us.saturating_sub(half) / unit };
    rounded.saturating_mul(unit)
}

/// Finds the time zone that a name, an abbreviation or an offset means.
///
/// # Errors
/// `time zone "x" not recognized`.
pub fn time_zone(name: &str) -> Result<TimeZone> {
    let unknown = || SqlError::new(SqlState::InvalidParameterValue, format!("time zone \"{name}\" not recognized"));
    let lower = name.trim().to_ascii_lowercase();
    let fixed = |seconds: i64| {
        let seconds = i32::try_from(seconds).map_err(|_| unknown())?;
        jiff::tz::Offset::from_seconds(seconds).map(TimeZone::fixed).map_err(|_| unknown())
    };
    if let Some((_, hours)) = ABBREVIATIONS.iter().find(|(known, _)| *known == lower) {
        return fixed(i64::from(*hours) * 3_600);
    }
    // A bare offset counts west of UTC, as POSIX has it.
    let unsigned = lower.trim_start_matches(['+', '-']);
    if unsigned.starts_with(|first: char| first.is_ascii_digit()) {
        let sign = if lower.starts_with('-') { 1 } else { -1 };
        return fixed(offset(unsigned, sign).map_err(|_| unknown())?);
    }
    TimeZone::get(&lower).map_err(|_| unknown())
}

#[cfg(test)]
#[path = "datetime_tests.rs"]
mod tests;
