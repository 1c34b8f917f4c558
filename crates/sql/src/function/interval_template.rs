//! `to_char` of intervals.

use super::argument::*;
use super::functions;
use super::template::{Piece, ROMAN, pieces, shown, suffix};
use crate::datum::Datum;
use crate::error::{Result, SqlState};
use crate::value::datetime::SECOND_US;
use crate::value::interval::Interval;

functions! {
    /// Templates of intervals.
    FUNCTIONS:
    "to_char" (Interval, Text) -> Text = |_, a| formatted(interval(&a[0]), text(&a[1]));
}

fn formatted(span: Interval, template: &str) -> Result<Datum> {
    let mut out = String::new();
    for piece in pieces(template)? {
        match piece {
            Piece::Literal(literal) => out.push_str(literal),
            Piece::Keyword { name, written, is_bare, ordinal } => {
                let start = out.len();
                push_keyword(span, name, written, is_bare, &mut out)?;
                if let Some(is_upper) = ordinal {
                    let number = out[start..].trim_start_matches('-').parse().unwrap_or(0);
                    out.push_str(suffix(number, is_upper));
                }
            }
        }
    }
    Ok(shown(out, template))
}

/// Returns the number of a month, which counts from the end of the year where it is negative. Whole years are December.
fn roman(years: i64, months: i64) -> Option<&'static str> {
    let month = match months {
        0 if years == 0 => return None,
        0 if years > 0 => 12,
        0 => 1,
        1.. => months,
        _ => 13 + months,
    };
    usize::try_from(month - 1).ok().and_then(|at| ROMAN.get(at)).copied()
}

fn push_keyword(span: Interval, name: &str, written: &str, is_bare: bool, out: &mut String) -> Result<()> {
    let (years, months) = (i64::from(span.months) / 12, i64::from(span.months) % 12);
    let hours = span.us / SECOND_US / 3_600;
    let (minutes, seconds) = (span.us / SECOND_US / 60 % 60, span.us / SECOND_US % 60);
    let fraction = span.us % SECOND_US;
    let day_of_year = (years * 12 + months) * 30 + i64::from(span.days);
    let is_lower = written.starts_with(char::is_lowercase);
    let mut word = |word: &str| out.push_str(&if is_lower { word.to_lowercase() } else { word.to_owned() });
    let (number, width) = match name {
        "AM" | "PM" => {
            word(if hours.rem_euclid(24) >= 12 { "PM" } else { "AM" });
            return Ok(());
        }
        "A.M." | "P.M." => {
            word(if hours.rem_euclid(24) >= 12 { "P.M." } else { "A.M." });
            return Ok(());
        }
        "RM" => {
            let Some(roman) = roman(years, months) else { return Ok(()) };
            let width = if is_bare { 0 } else { 4 };
            word(&format!("{:width$}", roman.to_uppercase()));
            return Ok(());
        }
        "Q" if span.months % 12 == 0 => return Ok(()),
        "Q" => ((months - 1) / 3 + 1, 0),
        "HH24" => (hours, 2),
        "HH12" | "HH" => (if hours % 12 == 0 { 12 } else { hours % 12 }, 2),
        "MI" => (minutes, 2),
        "SS" => (seconds, 2),
        "SSSSS" | "SSSS" => (span.us / SECOND_US, 0),
        "MS" | "FF3" => (fraction / 1_000, 3),
        "US" | "FF6" => (fraction, 6),
        "FF1" => (fraction / 100_000, 1),
        "FF2" => (fraction / 10_000, 2),
        "FF4" => (fraction / 100, 4),
        "FF5" => (fraction / 10, 5),
        "YYYY" | "IYYY" => (years, 4),
        "YYY" => (years % 1_000, 3),
        "YY" => (years % 100, 2),
        "Y" => (years % 10, 1),
        "Y,YYY" => {
            out.push_str(&format!("{},{:03}", years / 1_000, years % 1_000));
            return Ok(());
        }
        "MM" => (months, 2),
        "DD" => (span.days.into(), 2),
        "DDD" => (day_of_year, 3),
        "WW" => ((day_of_year - 1) / 7 + 1, 2),
        "W" => ((i64::from(span.days) - 1) / 7 + 1, 0),
        "CC" => (years / 100 + i64::from(years > 0), 2),
        _ => {
            let message = "invalid format specification for an interval value";
            return Err(error(SqlState::InvalidDatetimeFormat, message)
                .with_hint("Intervals are not tied to specific calendar dates."));
        }
    };
    // A minus sign takes no place of a digit, but in days, weeks and fractions.
    let is_fraction = name.starts_with("FF") || matches!(name, "MS" | "US");
    let takes_place = is_fraction || matches!(name, "DD" | "DDD" | "WW");
    let sign = usize::from(number < 0 && width > 0 && !takes_place);
    let width = if is_bare && !is_fraction { 0 } else { width + sign };
    out.push_str(&format!("{number:0width$}"));
    Ok(())
}
