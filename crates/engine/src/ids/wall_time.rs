//! The time of day, as the log and people write it.
//!
//! Invariant: what is printed is parsed back to the same instant. Text is RFC 3339, with any offset when it is read and in
//! UTC when it is written, or `@` and seconds since 1970.
//!
//! Absent: leap seconds, which the system's clock does not count either, and time zones by name.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

/// An instant in microseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(pub u64);

const MICROS: u64 = 1_000_000;
const DAY_SECONDS: u64 = 86_400;

/// Text that is no time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no time: write it like 2026-01-31T23:59:00Z, 2026-01-31T23:59:00.5+01:00, or @1769900340, in seconds since 1970"
)]
pub struct NoTime(String);

impl WallTime {
    /// Of what was written before batches carried the time.
    pub const UNKNOWN: WallTime = WallTime(0);

    /// The beginning of a second since 1970.
    pub fn of_second(second: u64) -> WallTime {
        WallTime(second * MICROS)
    }

    /// Whole seconds since 1970.
    pub fn seconds(self) -> u64 {
        self.0 / MICROS
    }
}

impl From<SystemTime> for WallTime {
    fn from(time: SystemTime) -> WallTime {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        WallTime(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, micros) = (self.0 / MICROS, self.0 % MICROS);
        let (year, month, day) = date_of(seconds / DAY_SECONDS);
        let (hour, minute, second) = (seconds % DAY_SECONDS / 3600, seconds % 3600 / 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

impl FromStr for WallTime {
    type Err = NoTime;

    fn from_str(text: &str) -> Result<WallTime, NoTime> {
        rfc3339(text).or_else(|| decimal(text.strip_prefix('@')?)).map(WallTime).ok_or_else(|| NoTime(text.to_owned()))
    }
}

/// Seconds with up to six decimals, in microseconds.
fn decimal(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    number(whole, 1..=12)?.checked_mul(MICROS)?.checked_add(micros(fraction)?)
}

/// Decimals of a second; those beyond microseconds are dropped.
fn micros(fraction: &str) -> Option<u64> {
    number(fraction, 1..=18)?;
    let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
    digits.parse().ok()
}

fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<u64> {
    let is_plain = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

/// `YYYY-MM-DDThh:mm:ss[.ffffff](Z|+hh:mm|-hh:mm)`, in microseconds since 1970.
fn rfc3339(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let zone = time.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = time.split_at(zone);
    let [year, month, day] = fields(date, '-', [4, 2, 2])?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = fields(time, ':', [2, 2, 2])?;
    let days = days_to(year, month, day)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let local = days * DAY_SECONDS + hour * 3600 + minute * 60 + second;
    let utc = if zone.eq_ignore_ascii_case("z") {
        local
    } else {
        let [hours, minutes] = fields(&zone[1..], ':', [2, 2])?;
        let offset = (hours < 24 && minutes < 60).then_some(hours * 3600 + minutes * 60)?;
        if zone.starts_with('+') { local.checked_sub(offset)? } else { local + offset }
    };
    Some(utc * MICROS + micros(fraction)?)
}

fn fields<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[u64; N]> {
    let mut parts = text.split(separator);
    let mut fields = [0; N];
    for (field, digits) in fields.iter_mut().zip(digits) {
        *field = number(parts.next()?, digits..=digits)?;
    }
    parts.next().is_none().then_some(fields)
}

/// Days from 1970 to a date of the Gregorian calendar, where there is such a date from then on.
fn days_to(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    // Years begin in March, so that the day that comes and goes is the last one.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
    let since = days.checked_sub(719_468)?;
    (date_of(since) == (year, month, day)).then_some(since)
}

/// The date so many days after the first of January 1970.
fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let m = (5 * day_of_year + 2) / 153;
    let (day, month) = (day_of_year - (153 * m + 2) / 5 + 1, if m < 10 { m + 3 } else { m - 9 });
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<u64> {
        text.parse().ok().map(|WallTime(us)| us)
    }

    #[test]
    fn known_instants() {
        for (text, us) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:34:56.789Z", 951_827_696_789_000),
            ("2026-11-22T03:05:08.000001Z", 1_795_316_708_000_001),
            ("2026-11-22T04:05:08+01:00", 1_795_316_708_000_000),
            ("2026-11-21 22:35:08-04:30", 1_795_316_708_000_000),
            ("@1795316708.25", 1_795_316_708_250_000),
            ("@1795316708", 1_795_316_708_000_000),
        ] {
            assert_eq!(parse(text), Some(us), "{text}");
        }
        assert_eq!(WallTime(951_827_696_789_000).to_string(), "2000-02-29T12:34:56.789000Z");
    }

    #[test]
    fn what_is_printed_is_parsed() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let time = WallTime(random.u64(..200_000_000_000_000_000));
            assert_eq!(time.to_string().parse(), Ok(time));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "now",
            "5",
            "@-5",
            "@1e9",
            "@5.",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01",
            "1969-12-31T23:59:59Z",
            "2026-01-01T00:00:00+1:00",
            "2026-01-01T00:00:00.Z",
            "2026-1-1T00:00:00Z",
            "@9999999999999",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert!("soon".parse::<WallTime>().unwrap_err().to_string().contains("2026-01-31T23:59:00Z"));
    }
}
