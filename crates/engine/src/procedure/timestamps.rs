//! Timestamps as texts: `2026-01-31 12:00:00.000000`, of the Gregorian calendar, without a time zone.
//!
//! Invariant: what is printed is parsed back to the same number of microseconds, for every number. Years after 9999 have more
//! digits, the year before 1 is 0, and those before it have a minus sign.
//!
//! Absent: time zones, leap seconds, and the times of the log ([`WallTime`](crate::ids::WallTime)).

use std::fmt;

const MICROS: i64 = 1_000_000;
const DAY_SECONDS: i64 = 86_400;

/// Microseconds since 1970-01-01 00:00:00 as a text.
pub(crate) struct TimestampText(pub(crate) i64);

impl fmt::Display for TimestampText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, micros) = (self.0.div_euclid(MICROS), self.0.rem_euclid(MICROS));
        let (days, second) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
        let (year, month, day) = date_of(days);
        let sign = if year < 0 { "-" } else { "" };
        let (hour, minute, second) = (second / 3600, second % 3600 / 60, second % 60);
        write!(f, "{sign}{:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}", year.abs())
    }
}

/// Returns the microseconds since 1970-01-01 00:00:00 of a date, or of a date and a time with up to six decimals; `None` where
/// the text is neither.
pub(crate) fn parse_timestamp(text: &str) -> Option<i64> {
    let (date, time) = text.split_once([' ', 'T', 't']).unwrap_or((text, "00:00:00"));
    let (sign, date) = date.strip_prefix('-').map_or((1, date), |date| (-1, date));
    let mut parts = date.split('-');
    let (year, month, day) = (sign * number(parts.next()?, 4..=6)?, two(parts.next()?)?, two(parts.next()?)?);
    if parts.next().is_some() {
        return None;
    }
    let days = days_to(year, month, day)?;

    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = time.split(':');
    let (hour, minute) = (two(parts.next()?)?, two(parts.next()?)?);
    let second = parts.next().map_or(Some(0), two)?;
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    number(fraction, 1..=6)?;
    let micros: i64 = format!("{fraction:0<6}").parse().ok()?;
    let of_day = (hour * 3600 + minute * 60 + second) * MICROS + micros;

    // The first day that there is begins before the first microsecond, so the sum is made where it cannot overflow.
    let micros = i128::from(days) * i128::from(DAY_SECONDS * MICROS) + i128::from(of_day);
    i64::try_from(micros).ok()
}

fn two(text: &str) -> Option<i64> {
    number(text, 2..=2)
}

fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let is_plain = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

/// Returns the days from 1970 to a date, where there is such a date.
fn days_to(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) {
        return None;
    }
    // Years begin in March, so that the day that comes and goes is the last one.
    let (year_of_march, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year_of_march.div_euclid(400), year_of_march.rem_euclid(400));
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * m + 2) / 5 + day - 1 - 719_468;
    (date_of(days) == (year, month, day)).then_some(days)
}

/// Returns the date so many days after the first of January 1970.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let m = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * m + 2) / 5 + 1, if m < 10 { m + 3 } else { m - 9 });
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_instants() {
        for (text, micros) in [
            ("1970-01-01", 0),
            ("1970-01-01 00:00:00.000001", 1),
            ("1969-12-31T23:59:59.5", -500_000),
            ("2000-02-29 12:34", 951_827_640_000_000),
            ("2026-11-22 03:05:08.000001", 1_795_316_708_000_001),
            ("0001-01-01", -62_135_596_800_000_000),
        ] {
            assert_eq!(parse_timestamp(text), Some(micros), "{text}");
        }
        assert_eq!(TimestampText(-1).to_string(), "1969-12-31 23:59:59.999999");
        assert_eq!(TimestampText(-62_167_219_200_000_001).to_string(), "-0001-12-31 23:59:59.999999");
    }

    #[test]
    fn what_is_printed_is_parsed() {
        let mut random = fastrand::Rng::with_seed(1);
        let random = std::iter::repeat_with(|| random.i64(..) >> random.u32(..64)).take(20_000);
        for micros in [i64::MIN, i64::MAX, 0, -1].into_iter().chain(random) {
            let text = TimestampText(micros).to_string();
            assert_eq!(parse_timestamp(&text), Some(micros), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "now",
            "5",
            "2026-02-29",
            "2026-13-01",
            "2026-00-01",
            "2026-01-00",
            "2026-01-01 24:00:00",
            "2026-01-01 00:60:00",
            "2026-01-01 00:00:60",
            "2026-01-01 00:00:00Z",
            "2026-01-01 00:00:00.",
            "26-01-01",
            "2026-1-1",
            "2026-01-01-01",
            "2026-01-01 00",
            "2026-01-01 00:00:00.1234567",
            "300000-01-01",
        ] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }
}
