//! Dates and times by templates: `to_char`, `to_timestamp` and `to_date`.
//!
//! Absent: names of months in other languages, and weeks where a template is read.

use super::argument::*;
use super::bound::template_fits;
use super::datetime::{of_finite, zone};
use super::{Call, functions};
use crate::datum::Datum;
use crate::datum::Datum::{Date, Timestamp};
use crate::error::{Result, SqlError, SqlState};
use crate::value::datetime::*;

functions! {
    /// Functions of templates.
    FUNCTIONS:
    "to_char" (Timestamp, Text) -> Text [stable] = |_, a| {
        of_finite(moment(&a[0]), || formatted(moment(&a[0]), 0, "", text(&a[1])).map(|out| shown(out, text(&a[1]))))
    };
    "to_char" (Timestamptz, Text) -> Text [stable] = |call, a| {
        of_finite(moment(&a[0]), || zoned(call, moment(&a[0]), text(&a[1])))
    };
    "timeofday" () -> Text [volatile] = |call, _| {
        zoned(call, call.environment.clock_us(), "Dy Mon DD HH24:MI:SS.US YYYY TZ")
    };
    "to_timestamp" (Text, Text) -> Timestamptz [stable] = |call, a| {
        local_to_utc(read(text(&a[0]), text(&a[1]))?, zone(call)).map(Timestamp)
    };
    "to_date" (Text, Text) -> Date = |_, a| timestamp_to_date(read(text(&a[0]), text(&a[1]))?).map(Date);
}

/// What a template makes of a moment in the zone of the session.
fn zoned(call: &Call<'_>, us: i64, template: &str) -> Result<Datum> {
    let zone = zone(call);
    let instant = jiff::Timestamp::from_microsecond(us).map_err(|_| timestamp_out_of_range())?;
    let name = zone.to_offset_info(instant).abbreviation().to_owned();
    let out = formatted(utc_to_local(us, zone)?, offset_at(us, zone), &name, template)?;
    Ok(shown(out, template))
}

/// What a template has made of a moment or an interval: one without a character makes NULL.
pub(super) fn shown(text: String, template: &str) -> Datum {
    if template.is_empty() { Datum::Null } else { Datum::text(text) }
}

/// Keywords; a longer one stands before those that it starts with.
const KEYWORDS: &[&str] = &[
    "HH24", "HH12", "HH", "MI", "SSSSS", "SSSS", "SS", "MS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "AM",
    "PM", "A.M.", "P.M.", "AD", "BC", "A.D.", "B.C.", "Y,YYY", "YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "IW",
    "IDDD", "ID", "I", "MONTH", "MON", "MM", "RM", "DAY", "DY", "DDD", "DD", "D", "WW", "W", "CC", "J", "Q", "TZH",
    "TZM", "TZ", "OF",
];

/// Keywords whose letters are all of one case.
const OF_ONE_CASE: &[&str] = &["AM", "PM", "A.M.", "P.M.", "AD", "BC", "A.D.", "B.C.", "RM"];

/// The months in Roman numbers.
pub(super) const ROMAN: [&str; 12] = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"];

/// A piece of a template.
pub(super) enum Piece<'a> {
    /// A keyword, as it was written, with `FM` before it or not, and whether a `TH` behind it is upper case.
    Keyword {
        name: &'static str,
        written: &'a str,
        is_bare: bool,
        ordinal: Option<bool>,
    },
    Literal(&'a str),
}

fn starts_with_any_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Whether a template begins with a keyword.
fn is_at(template: &str, keyword: &str) -> bool {
    let is_upper = |text: &str| text.contains(char::is_uppercase);
    let is_mixed = |text: &str| is_upper(text) && text.contains(char::is_lowercase);
    starts_with_any_case(template, keyword) && !(OF_ONE_CASE.contains(&keyword) && is_mixed(&template[..keyword.len()]))
}

/// Takes a template apart.
///
/// # Errors
/// 54000 where it is too long.
pub(super) fn pieces(template: &str) -> Result<Vec<Piece<'_>>> {
    template_fits(template)?;
    let mut pieces = Vec::new();
    let mut rest = template;
    let mut is_bare = false;
    while let Some(first) = rest.chars().next() {
        if first == '"' {
            let end = rest[1..].find('"').map_or(rest.len(), |at| at + 1);
            pieces.push(Piece::Literal(&rest[1..end]));
            rest = rest.get(end + 1..).unwrap_or("");
        } else if starts_with_any_case(rest, "FM") || starts_with_any_case(rest, "FX") {
            is_bare |= starts_with_any_case(rest, "FM");
            rest = &rest[2..];
        } else if let Some(name) = KEYWORDS.iter().find(|name| is_at(rest, name)) {
            let (written, behind) = rest.split_at(name.len());
            let ordinal = starts_with_any_case(behind, "TH").then(|| behind.starts_with('T'));
            pieces.push(Piece::Keyword { name, written, is_bare, ordinal });
            rest = if ordinal.is_some() { &behind[2..] } else { behind };
            is_bare = false;
        } else {
            let (literal, behind) = rest.split_at(first.len_utf8());
            pieces.push(Piece::Literal(literal));
            rest = behind;
        }
    }
    Ok(pieces)
}

/// Gives a word the case of the keyword.
fn cased(word: &str, written: &str) -> String {
    let mut letters = written.chars().filter(|letter| letter.is_alphabetic());
    let is_upper = |letter: Option<char>| letter.is_some_and(char::is_uppercase);
    match (is_upper(letters.next()), is_upper(letters.next())) {
        (true, true) => word.to_uppercase(),
        (true, false) => word[..1].to_uppercase() + &word[1..],
        _ => word.to_owned(),
    }
}

pub(super) fn suffix(number: i64, is_upper: bool) -> &'static str {
    let suffixes = if is_upper { ["ST", "ND", "RD", "TH"] } else { ["st", "nd", "rd", "th"] };
    match (number % 10, number % 100) {
        (_, 11..=13) => suffixes[3],
        (unit @ 1..=3, _) => suffixes[unit as usize - 1],
        _ => suffixes[3],
    }
}

/// Shows a local time by a template.
fn formatted(us: i64, offset: i64, zone: &str, template: &str) -> Result<String> {
    let mut out = String::new();
    for piece in pieces(template)? {
        match piece {
            Piece::Literal(literal) => out.push_str(literal),
            Piece::Keyword { name, written, is_bare, ordinal } => {
                push_keyword(us, offset, zone, name, written, is_bare, &mut out);
                if let Some(is_upper) = ordinal {
                    let digits = out.len() - out.bytes().rev().take_while(u8::is_ascii_digit).count();
                    let number = out[digits..].parse().unwrap_or(0);
                    out.push_str(suffix(number, is_upper));
                }
            }
        }
    }
    Ok(out)
}

fn push_keyword(us: i64, offset: i64, zone: &str, name: &str, written: &str, is_bare: bool, out: &mut String) {
    let (days, time) = (us.div_euclid(DAY_US), us.rem_euclid(DAY_US));
    let (year, month, day) = civil_of_days(days);
    let (hour, fraction) = (time / SECOND_US / 3_600, time % SECOND_US);
    let (week_year, week) = super::extract::iso_week(days);
    let day_of_year = days - days_of_civil(year, 1, 1) + 1;
    let weekday = (days + 4).rem_euclid(7);
    let shown_year = if year > 0 { year } else { 1 - year };
    let mut word = |word: &str, width: usize| {
        let padding = if is_bare { 0 } else { width.saturating_sub(word.len()) };
        out.push_str(&cased(word, written));
        out.extend(std::iter::repeat_n(' ', padding));
    };
    let (number, width) = match name {
        "AD" | "BC" => return word(if year > 0 { "ad" } else { "bc" }, 0),
        "A.D." | "B.C." => return word(if year > 0 { "a.d." } else { "b.c." }, 0),
        "RM" => return word(ROMAN[month as usize - 1], 4),
        "MONTH" => return word(month_name(month), 9),
        "MON" => return word(&month_name(month)[..3], 0),
        "DAY" => return word(weekday_name(weekday), 9),
        "DY" => return word(&weekday_name(weekday)[..3], 0),
        "AM" | "PM" => return word(if hour < 12 { "am" } else { "pm" }, 0),
        "A.M." | "P.M." => return word(if hour < 12 { "a.m." } else { "p.m." }, 0),
        "TZ" => return out.push_str(&if written == "tz" { zone.to_lowercase() } else { zone.to_owned() }),
        "TZH" | "OF" => {
            out.push_str(&format!("{}{:02}", if offset < 0 { '-' } else { '+' }, offset.abs() / 3_600));
            if name == "OF" && offset % 3_600 != 0 {
                out.push_str(&format!(":{:02}", offset.abs() / 60 % 60));
            }
            return;
        }
        "Y,YYY" => return out.push_str(&format!("{},{:03}", shown_year / 1_000, shown_year % 1_000)),
        "TZM" => (offset.abs() / 60 % 60, 2),
        "HH24" => (hour, 2),
        "HH12" | "HH" => ((hour + 11) % 12 + 1, 2),
        "MI" => (time / SECOND_US / 60 % 60, 2),
        "SS" => (time / SECOND_US % 60, 2),
        "SSSSS" | "SSSS" => (time / SECOND_US, 0),
        "MS" | "FF3" => (fraction / 1_000, 3),
        "US" | "FF6" => (fraction, 6),
        "FF1" => (fraction / 100_000, 1),
        "FF2" => (fraction / 10_000, 2),
        "FF4" => (fraction / 100, 4),
        "FF5" => (fraction / 10, 5),
        "YYYY" => (shown_year, 4),
        "YYY" => (shown_year % 1_000, 3),
        "YY" => (shown_year % 100, 2),
        "Y" => (shown_year % 10, 1),
        "IYYY" => (week_year, 4),
        "IYY" => (week_year % 1_000, 3),
        "IY" => (week_year % 100, 2),
        "I" => (week_year % 10, 1),
        "IDDD" => ((week - 1) * 7 + (weekday + 6) % 7 + 1, 3),
        "IW" => (week, 2),
        "MM" => (month, 2),
        "DDD" => (day_of_year, 3),
        "DD" => (day, 2),
        "D" => (weekday + 1, 0),
        "ID" => ((weekday + 6) % 7 + 1, 0),
        "WW" => ((day_of_year - 1) / 7 + 1, 2),
        "W" => ((day - 1) / 7 + 1, 0),
        "CC" => ((shown_year + 99) / 100, 2),
        "J" => (days + 2_440_588, 0),
        _ => ((month - 1) / 3 + 1, 0),
    };
    let is_fraction = name.starts_with("FF") || matches!(name, "MS" | "US");
    let width = if is_bare && !is_fraction { 0 } else { width };
    out.push_str(&format!("{number:0width$}"));
}

#[cold]
fn mismatch(value: &str, keyword: &str) -> SqlError {
    error(SqlState::InvalidDatetimeFormat, format!("invalid value \"{value}\" for \"{keyword}\""))
}

/// The fields that were read.
struct Fields {
    year: i64,
    month: i64,
    day: i64,
    day_of_year: Option<i64>,
    hour: i64,
    is_afternoon: Option<bool>,
    /// Whether the year is one before Christ.
    is_before: bool,
    us: i64,
}

impl Default for Fields {
    fn default() -> Fields {
        let (day_of_year, is_afternoon) = (None, None);
        Fields { year: 1, month: 1, day: 1, day_of_year, hour: 0, is_afternoon, is_before: false, us: 0 }
    }
}

impl Fields {
    /// Takes a number of so many digits.
    fn set(&mut self, name: &str, number: i64, digits: usize) {
        match name {
            "YYYY" => self.year = number,
            "YY" => self.year = number + if number < 70 { 2_000 } else { 1_900 },
            "MM" => self.month = number,
            "DD" => self.day = number,
            "DDD" => self.day_of_year = Some(number),
            "HH24" | "HH12" | "HH" => self.hour = number,
            "MI" => self.us += number * 60 * SECOND_US,
            "SS" | "SSSS" | "SSSSS" => self.us += number * SECOND_US,
            "MS" | "US" => self.us += number * 10_i64.pow(6_u32.saturating_sub(digits as u32)),
            _ => {}
        }
    }

    fn timestamp(&self, value: &str) -> Result<i64> {
        let hour = match self.is_afternoon {
            Some(is_afternoon) => self.hour % 12 + if is_afternoon { 12 } else { 0 },
            None => self.hour,
        };
        let fault =
            || error(SqlState::DatetimeFieldOverflow, format!("date/time field value out of range: \"{value}\""));
        if hour > 24 || self.us >= 2 * DAY_US {
            return Err(fault());
        }
        let year = if self.is_before { 1 - self.year } else { self.year };
        let date = date_of_civil(year, self.month, self.day).ok_or_else(fault)?;
        let days = self.day_of_year.map_or(i64::from(date), |day| days_of_civil(year, 1, 1) + day - 1);
        check_timestamp(days * DAY_US + hour * 3_600 * SECOND_US + self.us)
    }
}

/// Skips what stands for a literal of the template: the same letters, or any one separator.
fn behind_literal<'a>(rest: &'a str, literal: &str) -> &'a str {
    if literal.starts_with(char::is_alphanumeric) {
        return rest.strip_prefix(literal).unwrap_or(rest);
    }
    rest.strip_prefix(|first: char| !first.is_alphanumeric()).unwrap_or(rest)
}

/// Returns the month that a text starts with, as the keyword has it, and the length of its name.
fn month_at(rest: &str, keyword: &str) -> Option<(i64, usize)> {
    let name = |month: i64| match keyword {
        "RM" => ROMAN[month as usize - 1],
        "MON" => &month_name(month)[..3],
        _ => month_name(month),
    };
    // Of Roman numbers one may begin another one.
    let found = (1..=12).filter(|month| starts_with_any_case(rest, name(*month)));
    found.max_by_key(|month| name(*month).len()).map(|month| (month, name(month).len()))
}

/// Reads a local time by a template.
fn read(value: &str, template: &str) -> Result<i64> {
    let mut rest = value.trim_start();
    let mut fields = Fields::default();
    let all = pieces(template)?;
    for (at, piece) in all.iter().enumerate() {
        let (name, written) = match piece {
            Piece::Literal(literal) => {
                rest = behind_literal(rest, literal);
                continue;
            }
            Piece::Keyword { name, written, .. } => (*name, *written),
        };
        rest = rest.trim_start();
        if matches!(name, "MONTH" | "MON" | "RM") {
            let (month, length) = month_at(rest, name).ok_or_else(|| mismatch(rest, written))?;
            (fields.month, rest) = (month, &rest[length..]);
            continue;
        }
        if matches!(name, "AM" | "PM" | "A.M." | "P.M.") {
            fields.is_afternoon = Some(rest.starts_with(['p', 'P']));
            rest = rest.get(name.len()..).unwrap_or("");
            continue;
        }
        if matches!(name, "AD" | "BC" | "A.D." | "B.C.") {
            let eras = if name.len() == 2 { ["AD", "BC"] } else { ["A.D.", "B.C."] };
            let era = eras.iter().position(|era| starts_with_any_case(rest, era));
            fields.is_before = era.ok_or_else(|| mismatch(rest, written))? == 1;
            rest = &rest[name.len()..];
            continue;
        }

        // Digits that follow one another are told apart by the widths of their keywords.
        let is_followed = matches!(all.get(at + 1), Some(Piece::Keyword { .. }));
        let width = match name {
            "HH24" | "HH12" => 2,
            "US" => 6,
            "MS" => 3,
            name => name.len(),
        };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let is_open = !is_followed && matches!(name, "YYYY" | "SSSS" | "SSSSS");
        let taken = if is_open { digits } else { digits.min(width) };
        let number: i64 = rest[..taken].parse().map_err(|_| mismatch(rest, written))?;
        if number > 1_000_000_000 {
            return Err(mismatch(rest, written));
        }
        fields.set(name, number, taken);
        rest = &rest[taken..];
    }
    fields.timestamp(value)
}
