//! Fields of dates and times: `extract`, `date_part`, `date_trunc` and `date_bin`.

use std::borrow::Cow;

use super::argument::*;
use super::datetime::zone;
use super::{Call, functions};
use crate::datum::Datum;
use crate::datum::Datum::{Float, Timestamp};
use crate::error::{Result, SqlError, SqlState};
use crate::types::Type;
use crate::value::datetime::*;
use crate::value::interval::Interval;
use crate::value::numeric::Numeric;

functions! {
    /// Functions of fields.
    FUNCTIONS:
    "extract" (Text, Date) -> Numeric = |call, a| extract(call, a, Field::numeric, infinite_numeric);
    "extract" (Text, Time) -> Numeric = |call, a| field(call, a).map(Field::numeric);
    "extract" (Text, Timestamp) -> Numeric = |call, a| extract(call, a, Field::numeric, infinite_numeric);
    "extract" (Text, Timestamptz) -> Numeric [stable] = |call, a| extract(call, a, Field::numeric, infinite_numeric);
    "extract" (Text, Interval) -> Numeric = |call, a| field(call, a).map(Field::numeric);
    "date_part" (Text, Date) -> Float8 = |call, a| {
        let Datum::Date(days) = a[1] else { unreachable!("the argument is a date") };
        let call = Call { types: &[Type::Text, Type::Timestamp], ..*call };
        extract(&call, &[a[0].clone(), Timestamp(date_to_timestamp(days)?)], Field::float, infinite_float)
    };
    "date_part" (Text, Time) -> Float8 = |call, a| field(call, a).map(Field::float);
    "date_part" (Text, Timestamp) -> Float8 = |call, a| extract(call, a, Field::float, infinite_float);
    "date_part" (Text, Timestamptz) -> Float8 [stable] = |call, a| extract(call, a, Field::float, infinite_float);
    "date_part" (Text, Interval) -> Float8 = |call, a| field(call, a).map(Field::float);
    "date_trunc" (Text, Timestamp) -> Timestamp = |call, a| truncated(call, text(&a[0]), moment(&a[1])).map(Timestamp);
    "date_trunc" (Text, Timestamptz) -> Timestamptz [stable] = |call, a| {
        let local = truncated(call, text(&a[0]), utc_to_local(moment(&a[1]), zone(call))?)?;
        local_to_utc(local, zone(call)).map(Timestamp)
    };
    "date_trunc" (Text, Timestamptz, Text) -> Timestamptz = |call, a| {
        let zone = time_zone(text(&a[2]))?;
        local_to_utc(truncated(call, text(&a[0]), utc_to_local(moment(&a[1]), &zone)?)?, &zone).map(Timestamp)
    };
    "date_trunc" (Text, Interval) -> Interval = |call, a| truncated_interval(call, text(&a[0]), interval(&a[1]));
    "date_bin" (Interval, Timestamp, Timestamp) -> Timestamp = |_, a| bin(a);
    "date_bin" (Interval, Timestamptz, Timestamptz) -> Timestamptz = |_, a| bin(a);
}

fn infinite_numeric(is_positive: bool) -> Datum {
    make_numeric(if is_positive { Numeric::INFINITY } else { Numeric::NEGATIVE_INFINITY })
}

fn infinite_float(is_positive: bool) -> Datum {
    Float(if is_positive { f64::INFINITY } else { f64::NEG_INFINITY })
}

/// A field of a date or a moment, which may be infinite.
fn extract(call: &Call<'_>, a: &[Datum], finite: fn(Field) -> Datum, infinite: fn(bool) -> Datum) -> Result<Datum> {
    let is_positive = match a[1] {
        Datum::Date(i32::MAX) => true,
        Datum::Date(i32::MIN) => false,
        Timestamp(us) if !is_finite(us) => us > 0,
        _ => return field(call, a).map(finite),
    };
    let unit = lower(text(&a[0]));
    match singular(&unit) {
        "year" | "decade" | "century" | "millennium" | "julian" | "isoyear" | "epoch" => Ok(infinite(is_positive)),
        "day" | "month" | "quarter" | "week" | "dow" | "isodow" | "doy" => Ok(Datum::Null),
        name if matches!(a[1], Timestamp(_)) && (is_of_time(name) || name.starts_with("timezone")) => Ok(Datum::Null),
        _ => Err(unit_fault(call, &unit)),
    }
}

fn is_of_time(unit: &str) -> bool {
    matches!(unit, "hour" | "minute" | "second" | "millisecond" | "microsecond")
}

/// A decimal number: `value / 10^digits`.
struct Field {
    value: i64,
    digits: u32,
}

impl Field {
    fn numeric(self) -> Datum {
        let value = Numeric::from_i64(self.value);
        if self.digits == 0 {
            return make_numeric(value);
        }
        let (sign, all) = (if self.value < 0 { "-" } else { "" }, self.value.unsigned_abs());
        let unit = 10_u64.pow(self.digits);
        let shown = format!("{sign}{}.{:0width$}", all / unit, all % unit, width = self.digits as usize);
        make_numeric(Numeric::parse(&shown).unwrap_or(value))
    }

    fn float(self) -> Datum {
        Float(self.value as f64 / 10_f64.powi(self.digits as i32))
    }
}

fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) { name.to_ascii_lowercase().into() } else { name.into() }
}

#[cold]
fn unit_fault(call: &Call<'_>, unit: &str) -> SqlError {
    let ty = call.types[1];
    let is_known = matches!(
        singular(unit),
        "microsecond"
            | "millisecond"
            | "second"
            | "minute"
            | "hour"
            | "day"
            | "week"
            | "month"
            | "quarter"
            | "year"
            | "decade"
            | "century"
            | "millennium"
            | "epoch"
            | "dow"
            | "isodow"
            | "doy"
            | "isoyear"
            | "julian"
            | "timezone"
            | "timezone_hour"
            | "timezone_minute"
    );
    if is_known {
        error(SqlState::FeatureNotSupported, format!("unit \"{unit}\" not supported for type {ty}"))
    } else {
        invalid(format!("unit \"{unit}\" not recognized for type {ty}"))
    }
}

/// Returns the one name of a unit that has several.
fn singular(unit: &str) -> &str {
    match unit {
        "us" | "usec" | "usecs" | "microseconds" | "microsecon" => "microsecond",
        "ms" | "msec" | "msecs" | "milliseconds" | "millisecon" => "millisecond",
        "s" | "sec" | "secs" | "seconds" => "second",
        "m" | "min" | "mins" | "minutes" => "minute",
        "h" | "hr" | "hrs" | "hours" => "hour",
        "d" | "days" => "day",
        "w" | "weeks" => "week",
        "mon" | "mons" | "months" => "month",
        "qtr" => "quarter",
        "y" | "yr" | "yrs" | "years" => "year",
        "decades" => "decade",
        "c" | "centuries" => "century",
        "mil" | "mils" | "millennia" => "millennium",
        other => other,
    }
}

fn field(call: &Call<'_>, a: &[Datum]) -> Result<Field> {
    let unit = lower(text(&a[0]));
    let name = singular(&unit);
    let found = match &a[1] {
        Datum::Date(days) if name == "epoch" => Some(Field { value: i64::from(*days) * 86_400, digits: 0 }),
        Datum::Date(days) if !is_of_time(name) => of_local(name, i64::from(*days) * DAY_US),
        Datum::Date(_) => None,
        Datum::Time(us) => of_time(name, *us).or((name == "epoch").then_some(Field { value: *us, digits: 6 })),
        Datum::Timestamp(us) if call.types[1] == Type::Timestamptz => {
            let offset = offset_at(*us, zone(call));
            match name {
                "timezone" => Some(Field { value: offset, digits: 0 }),
                "timezone_hour" => Some(Field { value: offset / 3_600, digits: 0 }),
                "timezone_minute" => Some(Field { value: offset / 60 % 60, digits: 0 }),
                "epoch" => Some(Field { value: *us, digits: 6 }),
                _ => of_local(name, utc_to_local(*us, zone(call))?),
            }
        }
        Datum::Timestamp(us) => of_local(name, *us),
        value => of_interval(name, interval(value)),
    };
    found.ok_or_else(|| unit_fault(call, &unit))
}

/// Returns a field of a time of day or of the time of an interval.
fn of_time(unit: &str, us: i64) -> Option<Field> {
    let minute_us = 60 * SECOND_US;
    let (value, digits) = match unit {
        "microsecond" => (us % minute_us, 0),
        "millisecond" => (us % minute_us, 3),
        "second" => (us % minute_us, 6),
        "minute" => (us / minute_us % 60, 0),
        "hour" => (us / (60 * minute_us), 0),
        _ => return None,
    };
    Some(Field { value, digits })
}

/// Returns the century or the millennium that a year of the calendar is in; those before Christ are negative.
fn group_of_years(year: i64, years: i64) -> i64 {
    if year > 0 { (year + years - 1) / years } else { -((years - year) / years) }
}

/// Returns the day of the week, from Monday, which is 1, to Sunday, which is 7.
fn weekday(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

/// Returns the year and the week of ISO 8601, whose first week has the first Thursday.
pub(super) fn iso_week(days: i64) -> (i64, i64) {
    let thursday = days - weekday(days) + 4;
    let (year, _, _) = civil_of_days(thursday);
    (year, (thursday - days_of_civil(year, 1, 1)) / 7 + 1)
}

/// Returns the number of a year as people count them, where 1 BC is -1.
fn counted(year: i64) -> i64 {
    if year > 0 { year } else { year - 1 }
}

fn of_local(unit: &str, us: i64) -> Option<Field> {
    let (days, time) = (us.div_euclid(DAY_US), us.rem_euclid(DAY_US));
    let (year, month, day) = civil_of_days(days);
    let value = match unit {
        "day" => day,
        "month" => month,
        "quarter" => (month - 1) / 3 + 1,
        "year" => counted(year),
        "decade" => year.div_euclid(10),
        "century" => group_of_years(year, 100),
        "millennium" => group_of_years(year, 1_000),
        "week" => iso_week(days).1,
        "isoyear" => counted(iso_week(days).0),
        "dow" => weekday(days) % 7,
        "isodow" => weekday(days),
        "doy" => days - days_of_civil(year, 1, 1) + 1,
        "epoch" => return Some(Field { value: us, digits: 6 }),
        "julian" if time == 0 => days + 2_440_588,
        "julian" => {
            let day_share = (time as f64 / DAY_US as f64 * 1e6).round() as i64;
            return Some(Field { value: (days + 2_440_588) * 1_000_000 + day_share, digits: 6 });
        }
        _ => return of_time(unit, time),
    };
    Some(Field { value, digits: 0 })
}

fn of_interval(unit: &str, span: Interval) -> Option<Field> {
    let (years, months) = (i64::from(span.months / 12), i64::from(span.months % 12));
    let value = match unit {
        "day" => i64::from(span.days),
        "month" => months,
        "quarter" => months / 3 + 1,
        "year" => years,
        "decade" => years / 10,
        "century" => years / 100,
        "millennium" => years / 1_000,
        "epoch" => {
            // A year has 365.25 days here, and a month 30.
            let seconds = years * 31_557_600 + (months * 30 + i64::from(span.days)) * 86_400;
            return Some(Field { value: seconds.saturating_mul(SECOND_US).saturating_add(span.us), digits: 6 });
        }
        _ => return of_time(unit, span.us),
    };
    Some(Field { value, digits: 0 })
}

/// Sets the fields below a unit to their least values.
fn truncated(call: &Call<'_>, unit: &str, us: i64) -> Result<i64> {
    let unit = lower(unit);
    let days = us.div_euclid(DAY_US);
    let (year, month, _) = civil_of_days(days);
    let start = |year, month| days_of_civil(year, month, 1) * DAY_US;
    let down = |size: i64| us.div_euclid(size) * size;
    let first_year = |years: i64| (year - 1).div_euclid(years) * years + 1;
    let truncated = match singular(&unit) {
        _ if !is_finite(us) => us,
        "microsecond" => us,
        "millisecond" => down(1_000),
        "second" => down(SECOND_US),
        "minute" => down(60 * SECOND_US),
        "hour" => down(3_600 * SECOND_US),
        "day" => days * DAY_US,
        "week" => (days - weekday(days) + 1) * DAY_US,
        "month" => start(year, month),
        "quarter" => start(year, (month - 1) / 3 * 3 + 1),
        "year" => start(year, 1),
        "decade" => start(year.div_euclid(10) * 10, 1),
        "century" => start(first_year(100), 1),
        "millennium" => start(first_year(1_000), 1),
        _ => return Err(unit_fault(call, &unit)),
    };
    if is_finite(us) { check_timestamp(truncated) } else { Ok(us) }
}

fn truncated_interval(call: &Call<'_>, unit: &str, span: Interval) -> Result<Datum> {
    let unit = lower(unit);
    let months = |size: i32| Interval { months: span.months / size * size, ..Interval::default() };
    let time = |size: i64| Interval { us: span.us / size * size, ..span };
    Ok(Datum::Interval(match singular(&unit) {
        "microsecond" => span,
        "millisecond" => time(1_000),
        "second" => time(SECOND_US),
        "minute" => time(60 * SECOND_US),
        "hour" => time(3_600 * SECOND_US),
        "day" => Interval { us: 0, ..span },
        "month" => months(1),
        "quarter" => months(3),
        "year" => months(12),
        "decade" => months(120),
        "century" => months(1_200),
        "millennium" => months(12_000),
        _ => return Err(unit_fault(call, &unit)),
    }))
}

/// Returns the start of the bin that holds a moment; bins are one `stride` long and one begins at an origin.
fn bin(a: &[Datum]) -> Result<Datum> {
    let (stride, us, origin) = (interval(&a[0]), moment(&a[1]), moment(&a[2]));
    if !is_finite(us) {
        return Ok(Timestamp(us));
    }
    if !is_finite(origin) {
        return Err(error(SqlState::DatetimeFieldOverflow, "origin out of range"));
    }
    if stride.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return Err(error(SqlState::FeatureNotSupported, message));
    }
    let size = i64::from(stride.days).checked_mul(DAY_US).and_then(|days| days.checked_add(stride.us));
    let size = size.ok_or_else(|| error(SqlState::DatetimeFieldOverflow, "interval out of range"))?;
    if size <= 0 {
        return Err(error(SqlState::DatetimeFieldOverflow, "stride must be greater than zero"));
    }
    Ok(Timestamp(origin + (us - origin).div_euclid(size) * size))
}
