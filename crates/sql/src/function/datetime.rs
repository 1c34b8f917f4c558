//! Operators of dates and times, what the clock says, and values made of their parts.
//!
//! Absent: `time with time zone`, so that `current_time` is a `time`.

use jiff::tz::TimeZone;

use super::argument::*;
use super::{Call, functions};
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Date, Int, Null, Time, Timestamp};
use crate::error::{Result, SqlError, SqlState};
use crate::value::datetime::*;
use crate::value::interval::Interval;

functions! {
    /// Operators of dates and times.
    OPERATORS:
    "+" (Date, Int4) -> Date = |_, a| moved(date(&a[0]), int(&a[1]));
    "+" (Int4, Date) -> Date = |_, a| moved(date(&a[1]), int(&a[0]));
    "-" (Date, Int4) -> Date = |_, a| moved(date(&a[0]), -int(&a[1]));
    "-" (Date, Date) -> Int4 = |_, a| difference_of_dates(date(&a[0]), date(&a[1]));
    "+" (Date, Time) -> Timestamp = |_, a| at_time(&a[0], &a[1]);
    "+" (Time, Date) -> Timestamp = |_, a| at_time(&a[1], &a[0]);
    "+" (Date, Interval) -> Timestamp = |_, a| {
        shifted(date_to_timestamp(date(&a[0]))?, interval(&a[1]), None).map(Timestamp)
    };
    "+" (Interval, Date) -> Timestamp = |_, a| {
        shifted(date_to_timestamp(date(&a[1]))?, interval(&a[0]), None).map(Timestamp)
    };
    "-" (Date, Interval) -> Timestamp = |_, a| {
        shifted(date_to_timestamp(date(&a[0]))?, interval(&a[1]).neg()?, None).map(Timestamp)
    };
    "+" (Timestamp, Interval) -> Timestamp = |_, a| shifted(moment(&a[0]), interval(&a[1]), None).map(Timestamp);
    "+" (Interval, Timestamp) -> Timestamp = |_, a| shifted(moment(&a[1]), interval(&a[0]), None).map(Timestamp);
    "-" (Timestamp, Interval) -> Timestamp = |_, a| {
        shifted(moment(&a[0]), interval(&a[1]).neg()?, None).map(Timestamp)
    };
    "+" (Timestamptz, Interval) -> Timestamptz [stable] = |call, a| {
        shifted(moment(&a[0]), interval(&a[1]), Some(zone(call))).map(Timestamp)
    };
    "+" (Interval, Timestamptz) -> Timestamptz [stable] = |call, a| {
        shifted(moment(&a[1]), interval(&a[0]), Some(zone(call))).map(Timestamp)
    };
    "-" (Timestamptz, Interval) -> Timestamptz [stable] = |call, a| {
        shifted(moment(&a[0]), interval(&a[1]).neg()?, Some(zone(call))).map(Timestamp)
    };
    "-" (Timestamp, Timestamp) -> Interval = |_, a| difference(moment(&a[0]), moment(&a[1]));
    "-" (Timestamptz, Timestamptz) -> Interval = |_, a| difference(moment(&a[0]), moment(&a[1]));
    "-" (Time, Time) -> Interval = |_, a| Ok(Datum::Interval(Interval::of_us(moment(&a[0]) - moment(&a[1]))));
    "+" (Time, Interval) -> Time = |_, a| Ok(turned(moment(&a[0]), interval(&a[1]).us));
    "+" (Interval, Time) -> Time = |_, a| Ok(turned(moment(&a[1]), interval(&a[0]).us));
    "-" (Time, Interval) -> Time = |_, a| Ok(turned(moment(&a[0]), interval(&a[1]).us.wrapping_neg()));
    "+" (Interval, Interval) -> Interval = |_, a| interval(&a[0]).add(&interval(&a[1])).map(Datum::Interval);
    "-" (Interval, Interval) -> Interval = |_, a| interval(&a[0]).sub(&interval(&a[1])).map(Datum::Interval);
    "-" (Interval) -> Interval = |_, a| interval(&a[0]).neg().map(Datum::Interval);
    "*" (Interval, Float8) -> Interval = |_, a| interval(&a[0]).mul(float(&a[1])).map(Datum::Interval);
    "*" (Float8, Interval) -> Interval = |_, a| interval(&a[1]).mul(float(&a[0])).map(Datum::Interval);
    "/" (Interval, Float8) -> Interval = |_, a| interval(&a[0]).div(float(&a[1])).map(Datum::Interval);
}

functions! {
    /// Functions of dates and times.
    FUNCTIONS:
    "now" () -> Timestamptz [stable] = |call, _| Ok(Timestamp(call.environment.transaction_start_us()));
    "current_timestamp" () -> Timestamptz [stable] = |call, _| Ok(Timestamp(call.environment.transaction_start_us()));
    "transaction_timestamp" () -> Timestamptz [stable] = |call, _| Ok(Timestamp(call.environment.transaction_start_us()));
    "statement_timestamp" () -> Timestamptz [stable] = |call, _| Ok(Timestamp(call.environment.statement_start_us()));
    "clock_timestamp" () -> Timestamptz [volatile] = |call, _| Ok(Timestamp(call.environment.clock_us()));
    "localtimestamp" () -> Timestamp [stable] = |call, _| local_now(call).map(Timestamp);
    "current_date" () -> Date [stable] = |call, _| timestamp_to_date(local_now(call)?).map(Date);
    "current_time" () -> Time [stable] = |call, _| timestamp_to_time(local_now(call)?).map(Time);
    "localtime" () -> Time [stable] = |call, _| timestamp_to_time(local_now(call)?).map(Time);
    "age" (Timestamp, Timestamp) -> Interval = |_, a| age(moment(&a[0]), moment(&a[1]));
    "age" (Timestamptz, Timestamptz) -> Interval [stable] = |call, a| {
        age(utc_to_local(moment(&a[0]), zone(call))?, utc_to_local(moment(&a[1]), zone(call))?)
    };
    "age" (Timestamp) -> Interval [stable] = |call, a| age(today(call)?, moment(&a[0]));
    "age" (Timestamptz) -> Interval [stable] = |call, a| age(today(call)?, utc_to_local(moment(&a[0]), zone(call))?);
    "overlaps" (Timestamp, Timestamp, Timestamp, Timestamp) -> Bool [lax] = |_, a| Ok(overlap(a));
    "overlaps" (Timestamptz, Timestamptz, Timestamptz, Timestamptz) -> Bool [lax] = |_, a| Ok(overlap(a));
    "overlaps" (Time, Time, Time, Time) -> Bool [lax] = |_, a| Ok(overlap(a));
    "make_date" (Int4, Int4, Int4) -> Date = |_, a| make_date(a).map(Date);
    "make_time" (Int4, Int4, Float8) -> Time = |_, a| make_time(a).map(Time);
    "make_timestamp" (Int4, Int4, Int4, Int4, Int4, Float8) -> Timestamp = |_, a| make_timestamp(a).map(Timestamp);
    "make_timestamptz" (Int4, Int4, Int4, Int4, Int4, Float8) -> Timestamptz [stable] = |call, a| {
        local_to_utc(make_timestamp(a)?, zone(call)).map(Timestamp)
    };
    "make_timestamptz" (Int4, Int4, Int4, Int4, Int4, Float8, Text) -> Timestamptz [stable] = |_, a| {
        local_to_utc(make_timestamp(a)?, &time_zone(text(&a[6]))?).map(Timestamp)
    };
    "make_interval" () -> Interval = |_, a| make_interval(a);
    "make_interval" (Int4) -> Interval = |_, a| make_interval(a);
    "make_interval" (Int4, Int4) -> Interval = |_, a| make_interval(a);
    "make_interval" (Int4, Int4, Int4) -> Interval = |_, a| make_interval(a);
    "make_interval" (Int4, Int4, Int4, Int4) -> Interval = |_, a| make_interval(a);
    "make_interval" (Int4, Int4, Int4, Int4, Int4) -> Interval = |_, a| make_interval(a);
    "make_interval" (Int4, Int4, Int4, Int4, Int4, Int4) -> Interval = |_, a| make_interval(a);
    "make_interval" (Int4, Int4, Int4, Int4, Int4, Int4, Float8) -> Interval = |_, a| make_interval(a);
    "to_timestamp" (Float8) -> Timestamptz = |_, a| moment_of_epoch(float(&a[0]));
    "justify_hours" (Interval) -> Interval = |_, a| justify(interval(&a[0]), true, false);
    "justify_days" (Interval) -> Interval = |_, a| justify(interval(&a[0]), false, true);
    "justify_interval" (Interval) -> Interval = |_, a| justify(interval(&a[0]), true, true);
    "isfinite" (Date) -> Bool = |_, a| Ok(Bool(!matches!(date(&a[0]), i32::MIN | i32::MAX)));
    "isfinite" (Timestamp) -> Bool = |_, a| Ok(Bool(is_finite(moment(&a[0]))));
    "isfinite" (Timestamptz) -> Bool = |_, a| Ok(Bool(is_finite(moment(&a[0]))));
    "isfinite" (Interval) -> Bool = |_, _| Ok(Bool(true));
    "timezone" (Text, Timestamp) -> Timestamptz = |_, a| {
        local_to_utc(moment(&a[1]), &time_zone(text(&a[0]))?).map(Timestamp)
    };
    "timezone" (Text, Timestamptz) -> Timestamp = |_, a| {
        utc_to_local(moment(&a[1]), &time_zone(text(&a[0]))?).map(Timestamp)
    };
    "timezone" (Interval, Timestamp) -> Timestamptz = |_, a| shifted(moment(&a[1]), interval(&a[0]).neg()?, None).map(Timestamp);
    "timezone" (Interval, Timestamptz) -> Timestamp = |_, a| shifted(moment(&a[1]), interval(&a[0]), None).map(Timestamp);
    "overlaps" (Timestamp, Timestamp, Timestamp, Timestamp) -> Bool = |_, a| Ok(super::comparison::overlaps(a));
    "overlaps" (Timestamptz, Timestamptz, Timestamptz, Timestamptz) -> Bool = |_, a| Ok(super::comparison::overlaps(a));
    "overlaps" (Time, Time, Time, Time) -> Bool = |_, a| Ok(super::comparison::overlaps(a));
    "overlaps" (Timestamp, Interval, Timestamp, Interval) -> Bool = |_, a| {
        let end = |place: usize| shifted(moment(&a[place]), interval(&a[place + 1]), None).map(Timestamp);
        Ok(super::comparison::overlaps(&[a[0].clone(), end(0)?, a[2].clone(), end(2)?]))
    };
    "overlaps" (Timestamptz, Interval, Timestamptz, Interval) -> Bool [stable] = |call, a| {
        let end = |place: usize| shifted(moment(&a[place]), interval(&a[place + 1]), Some(zone(call))).map(Timestamp);
        Ok(super::comparison::overlaps(&[a[0].clone(), end(0)?, a[2].clone(), end(2)?]))
    };
}

/// Returns the time zone of the session.
pub(super) fn zone<'a>(call: &Call<'a>) -> &'a TimeZone {
    &call.environment.settings().time_zone
}

fn local_now(call: &Call<'_>) -> Result<i64> {
    utc_to_local(call.environment.transaction_start_us(), zone(call))
}

/// Returns the local midnight before the transaction began.
fn today(call: &Call<'_>) -> Result<i64> {
    Ok(local_now(call)?.div_euclid(DAY_US) * DAY_US)
}

fn moved(date: i32, days: i64) -> Result<Datum> {
    if matches!(date, i32::MIN | i32::MAX) {
        return Ok(Date(date));
    }
    check_date(i64::from(date) + days).map(Date)
}

fn difference_of_dates(first: i32, second: i32) -> Result<Datum> {
    if [first, second].iter().any(|date| matches!(*date, i32::MIN | i32::MAX)) {
        return Err(error(SqlState::DatetimeFieldOverflow, "cannot subtract infinite dates"));
    }
    Ok(Int(i64::from(first) - i64::from(second)))
}

fn at_time(day: &Datum, time: &Datum) -> Result<Datum> {
    let midnight = date_to_timestamp(date(day))?;
    if !is_finite(midnight) {
        return Ok(Timestamp(midnight));
    }
    check_timestamp(midnight + moment(time)).map(Timestamp)
}

/// Adds to a time of day, which turns at midnight.
fn turned(time: i64, us: i64) -> Datum {
    Time((time + us % DAY_US).rem_euclid(DAY_US))
}

/// Adds an interval to a moment. Months and days count by the calendar, in `zone` where there is one; a day that the month does
/// not have becomes its last day.
///
/// # Errors
/// `timestamp out of range`.
pub(crate) fn shifted(us: i64, span: Interval, zone: Option<&TimeZone>) -> Result<i64> {
    if !is_finite(us) {
        return Ok(us);
    }
    let mut at = us;
    if span.months != 0 || span.days != 0 {
        let local = zone.map_or(Ok(at), |zone| utc_to_local(at, zone))?;
        let mut days = local.div_euclid(DAY_US);
        if span.months != 0 {
            let (year, month, day) = civil_of_days(days);
            let months = year * 12 + month - 1 + i64::from(span.months);
            let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
            days = days_of_civil(year, month, day.min(days_of_month(year, month)));
        }
        let days = i64::from(check_date(days + i64::from(span.days)).map_err(|_| timestamp_out_of_range())?);
        let local = days * DAY_US + local.rem_euclid(DAY_US);
        at = zone.map_or(Ok(local), |zone| local_to_utc(local, zone))?;
    }
    check_timestamp(at.checked_add(span.us).ok_or_else(timestamp_out_of_range)?)
}

fn difference(first: i64, second: i64) -> Result<Datum> {
    if !is_finite(first) || !is_finite(second) {
        return Err(error(SqlState::DatetimeFieldOverflow, "cannot subtract infinite timestamps"));
    }
    justify(Interval::of_us(first - second), true, false)
}

/// Moves whole days out of the time, and whole months out of the days, so that all fields have one sign.
fn justify(span: Interval, hours: bool, days: bool) -> Result<Datum> {
    let range = || error(SqlState::DatetimeFieldOverflow, "interval out of range");
    let (mut all_months, mut all_days, mut us) = (i64::from(span.months), i64::from(span.days), span.us);
    if hours {
        all_days += us / DAY_US;
        us %= DAY_US;
    }
    if days {
        all_months += all_days / 30;
        all_days %= 30;
    }
    let has_rest = |is_positive: bool| {
        if is_positive { all_days > 0 || all_days == 0 && us > 0 } else { all_days < 0 || all_days == 0 && us < 0 }
    };
    if days && all_months > 0 && (has_rest(false)) {
        (all_months, all_days) = (all_months - 1, all_days + 30);
    } else if days && all_months < 0 && has_rest(true) {
        (all_months, all_days) = (all_months + 1, all_days - 30);
    }
    if hours && all_days > 0 && us < 0 {
        (all_days, us) = (all_days - 1, us + DAY_US);
    } else if hours && all_days < 0 && us > 0 {
        (all_days, us) = (all_days + 1, us - DAY_US);
    }
    let months = i32::try_from(all_months).map_err(|_| range())?;
    let days = i32::try_from(all_days).map_err(|_| range())?;
    Ok(Datum::Interval(Interval { months, days, us }))
}

/// Returns the years, months, days and time from one moment to another, as a calendar counts them.
fn age(first: i64, second: i64) -> Result<Datum> {
    if !is_finite(first) || !is_finite(second) {
        return Err(timestamp_out_of_range());
    }
    let (late, early) = (first.max(second), first.min(second));
    let ((late_year, late_month, late_day), (early_year, early_month, early_day)) =
        (civil_of_days(late.div_euclid(DAY_US)), civil_of_days(early.div_euclid(DAY_US)));
    let mut us = late.rem_euclid(DAY_US) - early.rem_euclid(DAY_US);
    let mut days = late_day - early_day;
    let mut months = (late_year - early_year) * 12 + late_month - early_month;
    if us < 0 {
        (us, days) = (us + DAY_US, days - 1);
    }
    if days < 0 {
        (days, months) = (days + days_of_month(early_year, early_month), months - 1);
    }
    let span = Interval { months: months as i32, days: days as i32, us };
    Ok(Datum::Interval(if first < second { span.neg()? } else { span }))
}

#[cold]
fn field_fault(ty: &str, shown: &str) -> SqlError {
    error(SqlState::DatetimeFieldOverflow, format!("{ty} field value out of range: {shown}"))
}

fn make_date(a: &[Datum]) -> Result<i32> {
    let [year, month, day] = [int(&a[0]), int(&a[1]), int(&a[2])];
    // A negative year is before Christ; there is no year 0.
    let astronomical = if year < 0 { year + 1 } else { year };
    let fault = || field_fault("date", &format!("{year}-{month:02}-{day:02}"));
    if year == 0 { Err(fault()) } else { date_of_civil(astronomical, month, day).ok_or_else(fault) }
}

fn make_time(a: &[Datum]) -> Result<i64> {
    let (hour, minute, second) = (int(&a[0]), int(&a[1]), float(&a[2]));
    let fault = || field_fault("time", &format!("{hour:02}:{minute:02}:{second:02}"));
    if !(0..=24).contains(&hour) || !(0..60).contains(&minute) || !(0.0..=60.0).contains(&second) {
        return Err(fault());
    }
    let us = (hour * 3_600 + minute * 60) * SECOND_US + (second * 1e6).round_ties_even() as i64;
    if us > DAY_US { Err(fault()) } else { Ok(us) }
}

fn make_timestamp(a: &[Datum]) -> Result<i64> {
    let (date, time) = (make_date(a)?, make_time(&a[3..])?);
    check_timestamp(i64::from(date) * DAY_US + time)
}

/// Whether two spans have a moment in common, each of a start and an end in any order; NULL where a bound that is not there
/// would decide. A span of one moment has that moment, any other has not its end.
fn overlap(a: &[Datum]) -> Datum {
    let span = |one: &Datum, other: &Datum| match (one, other) {
        (Datum::Null, Datum::Null) => None,
        (Datum::Null, bound) | (bound, Datum::Null) => Some((bound.clone(), None)),
        (one, other) => Some((one.min(other).clone(), Some(one.max(other).clone()))),
    };
    let (Some(first), Some(second)) = (span(&a[0], &a[1]), span(&a[2], &a[3])) else { return Datum::Null };
    let (earlier, later) = if first.0 <= second.0 { (first, second) } else { (second, first) };
    let known = |is_so: bool| if is_so { Datum::Bool(true) } else { Datum::Null };
    if earlier.0 == later.0 {
        return known(earlier.1.is_some() && later.1.is_some());
    }
    match earlier.1 {
        Some(end) if later.0 < end => Datum::Bool(true),
        Some(_) if later.1.is_some() => Datum::Bool(false),
        _ => Datum::Null,
    }
}

/// Takes years, months, weeks, days, hours, minutes and seconds; those that lack are 0.
fn make_interval(a: &[Datum]) -> Result<Datum> {
    let field = |place: usize| a.get(place).map_or(0, int);
    let seconds = a.get(6).map_or(0.0, float);
    let range = || error(SqlState::DatetimeFieldOverflow, "interval out of range");
    if !seconds.is_finite() || seconds.abs() > 9e12 {
        return Err(range());
    }
    let months = i32::try_from(field(0) * 12 + field(1)).map_err(|_| range())?;
    let days = i32::try_from(field(2) * 7 + field(3)).map_err(|_| range())?;
    let us = (field(4) * 3_600 + field(5) * 60) * SECOND_US + (seconds * 1e6).round_ties_even() as i64;
    Ok(Datum::Interval(Interval { months, days, us }))
}

fn moment_of_epoch(seconds: f64) -> Result<Datum> {
    if seconds.is_infinite() {
        return Ok(Timestamp(if seconds > 0.0 { i64::MAX } else { i64::MIN }));
    }
    let fault = || error(SqlState::DatetimeFieldOverflow, format!("timestamp out of range: \"{seconds}\""));
    if seconds.is_nan() {
        return Err(error(SqlState::DatetimeFieldOverflow, "timestamp cannot be NaN"));
    }
    if seconds.abs() > 1e12 {
        return Err(fault());
    }
    check_timestamp((seconds * 1e6).round_ties_even() as i64).map(Timestamp).map_err(|_| fault())
}

/// Returns NULL for an infinite moment, whose fields nobody knows.
pub(super) fn of_finite(us: i64, make: impl FnOnce() -> Result<Datum>) -> Result<Datum> {
    if is_finite(us) { make() } else { Ok(Null) }
}
