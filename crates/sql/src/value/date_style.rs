//! `DateStyle`: how dates and timestamps are shown, and in which order a date of numbers is read.
//!
//! Invariants:
//! - What is pushed in a style is read as the same value under it, but for seconds of an offset that a name stands for. As in
//!   PostgreSQL that does not hold of `German, MDY`, nor of `YMD` with any other form than `ISO`.
//! - The default style is `ISO, MDY`. What the catalog keeps and JSON are in it, whatever a session has set.

use std::io::Write;

use jiff::tz::TimeZone;

use super::datetime::{
    self, DAY_US, SECOND_US, civil_of_days, is_finite, month_name, offset_at, push, push_fraction, weekday_name,
};

/// How dates are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    #[default]
    Iso,
    Sql,
    German,
    Postgres,
}

/// The order of the parts of a date that is written in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateOrder {
    /// Month, day, year.
    #[default]
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day.
    Ymd,
}

/// The value of `DateStyle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DateStyle {
    form: Form,
    /// The order of numbers.
    pub order: DateOrder,
}

/// Why a value of `DateStyle` is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Conflicting,
    Unknown(String),
}

impl DateStyle {
    /// Returns this style with what a value says of it.
    pub(crate) fn with(self, value: &str) -> Result<DateStyle, Refused> {
        let (mut form, mut order) = (None, None);
        for word in value.split(',').map(|word| word.trim().to_lowercase()) {
            let begins = |start: &str| word.starts_with(start);
            let (new_form, new_order) = match word.as_str() {
                "iso" => (Some(Form::Iso), None),
                "sql" => (Some(Form::Sql), None),
                "german" => (Some(Form::German), None),
                _ if begins("postgres") => (Some(Form::Postgres), None),
                "ymd" => (None, Some(DateOrder::Ymd)),
                "dmy" => (None, Some(DateOrder::Dmy)),
                _ if begins("euro") => (None, Some(DateOrder::Dmy)),
                "mdy" | "us" => (None, Some(DateOrder::Mdy)),
                _ if begins("noneuro") => (None, Some(DateOrder::Mdy)),
                // It says what nothing else does.
                "default" => {
                    form = form.or(Some(Form::default()));
                    order = order.or(Some(DateOrder::default()));
                    continue;
                }
                _ => return Err(Refused::Unknown(word)),
            };
            let differs = form.is_some() && new_form.is_some() && form != new_form
                || order.is_some() && new_order.is_some() && order != new_order;
            if differs {
                return Err(Refused::Conflicting);
            }
            (form, order) = (new_form.or(form), new_order.or(order));
        }
        // Germans write the day first.
        let implied = if form == Some(Form::German) { DateOrder::Dmy } else { self.order };
        Ok(DateStyle { form: form.unwrap_or(self.form), order: order.unwrap_or(implied) })
    }

    /// Returns the style as `SHOW` has it.
    pub(crate) fn shown(self) -> String {
        let form = match self.form {
            Form::Iso => "ISO",
            Form::Sql => "SQL",
            Form::German => "German",
            Form::Postgres => "Postgres",
        };
        let order = match self.order {
            DateOrder::Mdy => "MDY",
            DateOrder::Dmy => "DMY",
            DateOrder::Ymd => "YMD",
        };
        format!("{form}, {order}")
    }

    /// Appends a date.
    pub fn push_date(self, date: i32, out: &mut Vec<u8>) {
        if self.form == Form::Iso || matches!(date, i32::MIN | i32::MAX) {
            return datetime::push_date(date, out);
        }
        self.push_day(i64::from(date), out);
        datetime::push_era(i64::from(date), out);
    }

    /// Appends a timestamp without time zone.
    pub fn push_timestamp(self, us: i64, out: &mut Vec<u8>) {
        if self.form == Form::Iso || !is_finite(us) {
            return datetime::push_timestamp(us, out);
        }
        self.push_local(us, None, out);
    }

    /// Appends a timestamp with time zone, local in `zone`, with what the zone is called then.
    pub fn push_timestamptz(self, us: i64, zone: &TimeZone, out: &mut Vec<u8>) {
        if self.form == Form::Iso || !is_finite(us) {
            return datetime::push_timestamptz(us, zone, out);
        }
        let local = us + offset_at(us, zone) * SECOND_US;
        let moment = jiff::Timestamp::from_microsecond(us).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        self.push_local(local, Some(zone.to_offset_info(moment).abbreviation()), out);
    }

    /// Day, month and year in the order of the style.
    fn push_day(self, days: i64, out: &mut Vec<u8>) {
        let (year, month, day) = civil_of_days(days);
        let year = if year > 0 { year } else { 1 - year };
        let is_day_first = self.order == DateOrder::Dmy;
        let (first, second) = if is_day_first { (day, month) } else { (month, day) };
        match self.form {
            Form::German => push!(out, "{day:02}.{month:02}.{year:04}"),
            Form::Sql => push!(out, "{first:02}/{second:02}/{year:04}"),
            Form::Iso | Form::Postgres => push!(out, "{first:02}-{second:02}-{year:04}"),
        }
    }

    fn push_local(self, us: i64, zone: Option<&str>, out: &mut Vec<u8>) {
        let days = us.div_euclid(DAY_US);
        if self.form == Form::Postgres {
            self.push_words(us, out);
        } else {
            self.push_day(days, out);
            out.push(b' ');
            datetime::push_time(us.rem_euclid(DAY_US), out);
        }
        if let Some(zone) = zone {
            push!(out, " {zone}");
        }
        datetime::push_era(days, out);
    }

    /// `Thu Mar 04 05:06:07 2021`.
    fn push_words(self, us: i64, out: &mut Vec<u8>) {
        let days = us.div_euclid(DAY_US);
        let (year, month, day) = civil_of_days(days);
        let year = if year > 0 { year } else { 1 - year };
        // 1970-01-01 was a Thursday.
        let weekday = short(weekday_name(days + 4));
        let month = short(month_name(month));
        match self.order {
            DateOrder::Dmy => push!(out, "{weekday} {day:02} {month} "),
            DateOrder::Mdy | DateOrder::Ymd => push!(out, "{weekday} {month} {day:02} "),
        }
        let seconds = us.rem_euclid(DAY_US) / SECOND_US;
        push!(out, "{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
        push_fraction(us.rem_euclid(SECOND_US), out);
        push!(out, " {year:04}");
    }
}

/// The first three letters of a name, of which the first one is large.
fn short(name: &str) -> String {
    let mut letters = name.chars().take(3);
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(value: &str) -> DateStyle {
        DateStyle::default().with(value).expect(value)
    }

    #[test]
    fn values_say_a_form_an_order_or_both() {
        for (value, shown) in [
            ("sql, dmy", "SQL, DMY"),
            ("German", "German, DMY"),
            ("german, mdy", "German, MDY"),
            ("European", "ISO, DMY"),
            ("Postgresql,YMD", "Postgres, YMD"),
            ("default", "ISO, MDY"),
            ("sql, default", "SQL, MDY"),
        ] {
            assert_eq!(style(value).shown(), shown, "{value}");
        }
        assert_eq!(style("sql, dmy").with("postgres").expect("a form").shown(), "Postgres, DMY");
        assert_eq!(DateStyle::default().with("iso, sql"), Err(Refused::Conflicting));
        assert_eq!(DateStyle::default().with("dmy, us"), Err(Refused::Conflicting));
        assert_eq!(DateStyle::default().with("iso, x"), Err(Refused::Unknown("x".to_owned())));
    }

    /// What a style shows, it reads.
    #[test]
    fn styles_read_what_they_show() {
        let utc = TimeZone::UTC;
        for form in ["iso", "sql", "german", "postgres"] {
            for order in ["mdy", "dmy", "ymd"] {
                // PostgreSQL reads none of its own forms with the year last where it is to be the first, and no German one
                // where the month is.
                if (order == "ymd" && form != "iso") || (order == "mdy" && form == "german") {
                    continue;
                }
                let style = style(&format!("{form}, {order}"));
                for us in (-20_i64..20).map(|step| step * 3_141_592_653_589_793 + 7) {
                    let mut out = Vec::new();
                    style.push_timestamp(us, &mut out);
                    let text = String::from_utf8(out).expect("ASCII");
                    assert_eq!(datetime::parse_timestamp(&text, &utc, style.order), Ok(us), "{text}");
                    let (days, mut out) = (us.div_euclid(DAY_US) as i32, Vec::new());
                    style.push_date(days, &mut out);
                    let text = String::from_utf8(out).expect("ASCII");
                    assert_eq!(datetime::parse_date(&text, &utc, style.order), Ok(days), "{text}");
                    let mut out = Vec::new();
                    style.push_timestamptz(us, &utc, &mut out);
                    let text = String::from_utf8(out).expect("ASCII");
                    assert_eq!(datetime::parse_timestamptz(&text, &utc, style.order), Ok(us), "{text}");
                }
            }
        }
    }
}
