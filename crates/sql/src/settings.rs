//! What a session has set: `SET`, `SHOW`, and the options with which a client connects.
//!
//! Invariants:
//! - A name that is not listed is refused, unless it has a full stop: those are a program's own.
//! - What functions and conversions look at is parsed when it is set, so that a value that makes no sense is refused there.

mod unit;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::catalog::temporary::{ALIAS, Temporary};
use crate::error::{Result, SqlError, SqlState};
use crate::plan::estimate::Preferences;
use crate::value::date_style::{DateStyle, Refused};
use crate::value::interval_style::IntervalStyle;
use unit::{SIZES, TIMES};

/// The settings of a session.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `TimeZone`.
    pub time_zone: TimeZone,
    /// `DateStyle`.
    pub date_style: DateStyle,
    /// `IntervalStyle`.
    pub interval_style: IntervalStyle,
    /// `extra_float_digits`: below 1, floats are shown with so many digits fewer than all that are sure.
    pub extra_float_digits: i32,
    /// `bytea_output`: whether bytes are shown as `escape` has them and not as `hex`.
    pub escapes_bytea: bool,
    /// `search_path`: the schemas in which names are looked up.
    pub search_path: Vec<String>,
    /// `statement_timeout`; `None`: statements take as long as they take.
    pub statement_timeout: Option<Duration>,
    /// `idle_session_timeout` and `idle_in_transaction_session_timeout`: how long a client may be silent outside of a
    /// transaction, and within one. `None`: as long as the server lets it.
    pub idle_timeouts: [Option<Duration>; 2],
    /// `lock_timeout`; `None`: locks are waited for as long as the engine lets it.
    pub lock_timeout: Option<Duration>,
    /// `work_mem`: how many bytes the operators of a statement may keep rows in.
    pub work_bytes_max: usize,
    /// `synchronous_commit`: whether a commit is acknowledged when it is durable.
    pub awaits_durability: bool,
    /// `default_transaction_read_only`.
    pub is_read_only: bool,
    /// `enable_hashjoin` and its like: the ways of joining and reading that plans avoid. Cached plans stay as they are.
    pub(crate) preferences: Preferences,
    pub(crate) texts: BTreeMap<String, String>,
    /// `search_path` with `$user` in it.
    pub(crate) path: Vec<String>,
    /// The role whose rights count.
    pub(crate) user: String,
    /// The role that the session is of: what `SET SESSION AUTHORIZATION` says.
    pub(crate) session_user: String,
    /// Whether the user may do everything.
    pub(crate) is_superuser: bool,
    /// What the session has of temporary objects.
    pub(crate) temporary: Arc<Temporary>,
}

/// What there is to set, with what it is from the start. Clients are told of changes to those marked `true`.
const KNOWN: &[(&str, &str, bool)] = &[
    ("application_name", "", true),
    ("bytea_output", "hex", false),
    ("check_function_bodies", "on", false),
    ("client_encoding", "UTF8", true),
    ("client_min_messages", "notice", false),
    ("DateStyle", "ISO, MDY", true),
    ("default_table_access_method", "heap", false),
    ("default_tablespace", "", false),
    ("default_transaction_deferrable", "off", false),
    ("default_transaction_isolation", "serializable", false),
    ("default_transaction_read_only", "off", true),
    ("enable_hashjoin", "on", false),
    ("enable_indexscan", "on", false),
    ("enable_mergejoin", "on", false),
    ("enable_nestloop", "on", false),
    ("enable_seqscan", "on", false),
    ("extra_float_digits", "1", false),
    ("idle_in_transaction_session_timeout", "0", false),
    ("idle_session_timeout", "0", false),
    ("in_hot_standby", "off", true),
    ("integer_datetimes", "on", true),
    ("IntervalStyle", "postgres", true),
    ("is_superuser", "on", true),
    ("lc_collate", "C", false),
    ("lc_ctype", "C", false),
    ("lc_messages", "C", false),
    ("lc_monetary", "C", false),
    ("lc_numeric", "C", false),
    ("lc_time", "C", false),
    ("lock_timeout", "0", false),
    ("max_connections", "1000", false),
    ("max_identifier_length", "63", false),
    ("max_index_keys", "32", false),
    ("password_encryption", "scram-sha-256", false),
    ("role", "none", false),
    ("row_security", "on", false),
    ("search_path", "\"$user\", public", false),
    ("server_encoding", "UTF8", true),
    ("server_version", concat!("15.8 (Osier ", env!("CARGO_PKG_VERSION"), ")"), true),
    ("server_version_num", "150008", false),
    ("session_authorization", "", true),
    ("standard_conforming_strings", "on", true),
    ("statement_timeout", "0", false),
    ("synchronize_seqscans", "on", false),
    ("synchronous_commit", "on", false),
    ("TimeZone", "UTC", true),
    ("transaction_isolation", "serializable", false),
    ("transaction_read_only", "off", false),
    ("work_mem", "256MB", false),
    ("xmloption", "content", false),
];

/// What is said of the server and cannot be set.
const FIXED: &[&str] = &[
    "in_hot_standby",
    "integer_datetimes",
    "is_superuser",
    "max_connections",
    "max_identifier_length",
    "max_index_keys",
    "role",
    "server_encoding",
    "server_version",
    "server_version_num",
    "session_authorization",
    "lc_collate",
    "lc_ctype",
];

/// Whether a setting is said of the server and cannot be set.
pub(crate) fn is_fixed(name: &str) -> bool {
    FIXED.contains(&name)
}

/// What stands for the schema that is called as the user.
const OWN: &str = "$user";

/// `work_mem` from the start.
const WORK_BYTES: usize = 256 << 20;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            time_zone: TimeZone::UTC,
            date_style: DateStyle::default(),
            interval_style: IntervalStyle::default(),
            extra_float_digits: 1,
            escapes_bytea: false,
            search_path: vec!["public".to_owned()],
            statement_timeout: None,
            idle_timeouts: [None; 2],
            lock_timeout: None,
            work_bytes_max: WORK_BYTES,
            awaits_durability: true,
            is_read_only: false,
            preferences: Preferences::default(),
            texts: BTreeMap::new(),
            path: vec![OWN.to_owned(), "public".to_owned()],
            user: String::new(),
            session_user: String::new(),
            is_superuser: false,
            temporary: Arc::default(),
        }
    }
}

/// The setting with a name, whatever its case.
fn known(name: &str) -> Option<&'static (&'static str, &'static str, bool)> {
    KNOWN.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))
}

/// The name of a setting as it is listed, if there is one with that name.
pub(crate) fn listed_name(name: &str) -> Option<&'static str> {
    known(name).map(|(name, ..)| *name)
}

fn unknown(name: &str) -> SqlError {
    SqlError::new(SqlState::UndefinedObject, format!("unrecognized configuration parameter \"{name}\""))
}

impl Settings {
    /// Returns the value of a setting as text.
    ///
    /// # Errors
    /// A name that nothing has.
    pub fn show(&self, name: &str) -> Result<String> {
        if let Some(text) = self.texts.get(&name.to_lowercase()) {
            return Ok(text.clone());
        }
        known(name).map(|(_, initial, _)| (*initial).to_owned()).ok_or_else(|| unknown(name))
    }

    /// Returns all settings with their values.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, String)> {
        KNOWN.iter().map(|(name, initial, _)| {
            (*name, self.texts.get(&name.to_lowercase()).cloned().unwrap_or_else(|| (*initial).to_owned()))
        })
    }

    /// Returns the settings that clients are told of, with their values.
    pub fn reported(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.all().filter(|(name, _)| known(name).is_some_and(|(_, _, is_reported)| *is_reported))
    }

    /// Changes a setting; `None` makes it what it was from the start.
    ///
    /// # Errors
    /// A name that nothing has, or a value that it does not take.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let key = name.to_lowercase();
        let Some((shown, initial, _)) = known(name) else {
            if !name.contains('.') {
                return Err(unknown(name));
            }
            match value {
                Some(value) => drop(self.texts.insert(key, value.to_owned())),
                None => drop(self.texts.remove(&key)),
            }
            return Ok(());
        };
        if FIXED.contains(shown) {
            let message = format!("parameter \"{shown}\" cannot be changed");
            return Err(SqlError::new(SqlState::ObjectNotInPrerequisiteState, message).with_code("55P02"));
        }
        let text = self.apply(shown, value.unwrap_or(initial))?;
        self.texts.insert(key, text);
        Ok(())
    }

    /// Says who the session is.
    pub(crate) fn set_user(&mut self, user: &str, is_superuser: bool) {
        user.clone_into(&mut self.session_user);
        self.texts.insert("session_authorization".to_owned(), user.to_owned());
        self.set_role(None, is_superuser);
    }

    /// Says whose rights count; `None`: those of the session's user.
    pub(crate) fn set_role(&mut self, role: Option<&str>, is_superuser: bool) {
        self.user = role.unwrap_or(&self.session_user).to_owned();
        self.texts.insert("role".to_owned(), role.unwrap_or("none").to_owned());
        self.set_superuser(is_superuser);
    }

    /// Says whether the user may do everything.
    pub(crate) fn set_superuser(&mut self, is_superuser: bool) {
        self.is_superuser = is_superuser;
        self.texts.insert("is_superuser".to_owned(), if is_superuser { "on" } else { "off" }.to_owned());
    }

    /// The role whose rights count.
    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    /// The role that the session is of.
    pub(crate) fn session_user(&self) -> &str {
        &self.session_user
    }

    /// Whether the user may do everything.
    pub(crate) fn is_superuser(&self) -> bool {
        self.is_superuser
    }

    /// What the session has of temporary objects.
    pub(crate) fn temporary(&self) -> &Temporary {
        &self.temporary
    }

    /// The schemas in which names are looked up, whether or not there are such: the session's temporary one is the first, unless
    /// the path says another place.
    pub(crate) fn schemas(&self) -> impl Iterator<Item = &str> {
        let own = self.temporary.schema().filter(|_| !self.path.iter().any(|schema| schema == ALIAS));
        own.into_iter().chain(self.said_schemas())
    }

    /// The schemas that the path says.
    pub(crate) fn said_schemas(&self) -> impl Iterator<Item = &str> {
        self.path.iter().filter_map(|schema| match schema.as_str() {
            OWN => Some(self.user.as_str()),
            ALIAS => self.temporary.schema(),
            schema => Some(schema),
        })
    }

    /// Whether things are made in the temporary schema whose name says no other one: of those that are there it is the first that
    /// the path says.
    pub(crate) fn makes_temporary(&self, is_there: impl Fn(&str) -> bool) -> bool {
        let mut said = self.path.iter().map(|schema| if schema == OWN { &self.user } else { schema });
        said.find(|schema| *schema == ALIAS || is_there(schema)).is_some_and(|schema| schema == ALIAS)
    }

    /// Sets whether plans may use what a setting is about, and returns how that is shown; `None`: it is no Boolean.
    fn prefer(&mut self, name: &str, value: &str) -> Option<String> {
        let is_on = boolean(value)?;
        let preferences = &mut self.preferences;
        *match name {
            "enable_hashjoin" => &mut preferences.allows_hash,
            "enable_indexscan" => &mut preferences.allows_index,
            "enable_mergejoin" => &mut preferences.allows_merge,
            "enable_nestloop" => &mut preferences.allows_nested,
            _ => &mut preferences.allows_sequence,
        } = is_on;
        Some(if is_on { "on" } else { "off" }.to_owned())
    }

    /// What plans avoid, and how much memory they may take.
    pub(crate) fn preferences(&self) -> Preferences {
        Preferences { work_bytes_max: self.work_bytes_max, ..self.preferences }
    }

    /// Settings as they are from the start, of the same user.
    pub(crate) fn afresh(&self, is_superuser: bool) -> Settings {
        let mut settings = Settings { temporary: self.temporary.clone(), ..Settings::default() };
        settings.set_user(&self.session_user, is_superuser);
        settings
    }

    /// Sets a style, and returns how it is shown; `refused` is the error of a value that is none.
    fn show_as(&mut self, name: &str, value: &str, refused: SqlError) -> Result<String> {
        if name == "DateStyle" {
            self.date_style = match self.date_style.with(value) {
                Ok(style) => style,
                Err(Refused::Conflicting) => {
                    return Err(refused.with_detail("Conflicting \"datestyle\" specifications."));
                }
                Err(Refused::Unknown(word)) => {
                    return Err(refused.with_detail(format!("Unrecognized key word: \"{word}\".")));
                }
            };
            return Ok(self.date_style.shown());
        }
        let Some((style, shown)) = IntervalStyle::named(value) else {
            return Err(refused.with_hint("Available values: postgres, postgres_verbose, iso_8601."));
        };
        self.interval_style = style;
        Ok(shown.to_owned())
    }

    /// Makes a value count, and returns how it is shown.
    fn apply(&mut self, name: &str, value: &str) -> Result<String> {
        let refused = || {
            let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
            SqlError::new(SqlState::InvalidParameterValue, message)
        };
        match name {
            "TimeZone" => {
                if let Some(seconds) = hours(value) {
                    self.time_zone = TimeZone::fixed(jiff::tz::Offset::from_seconds(seconds).map_err(|_| refused())?);
                    return Ok(shown_offset(seconds));
                }
                self.time_zone = time_zone(value).ok_or_else(refused)?;
            }
            "extra_float_digits" => {
                self.extra_float_digits =
                    value.parse().ok().filter(|digits| (-15..=3).contains(digits)).ok_or_else(refused)?;
            }
            "bytea_output" => {
                self.escapes_bytea = match value.to_lowercase().as_str() {
                    "hex" => false,
                    "escape" => true,
                    _ => return Err(refused()),
                };
            }
            "search_path" => {
                let schemas = value.split(',').map(|schema| schema_of(schema.trim()));
                self.path = schemas.filter(|schema| !schema.is_empty()).collect();
                self.search_path = self.path.iter().filter(|schema| *schema != OWN).cloned().collect();
            }
            "statement_timeout" | "lock_timeout" | "idle_session_timeout" | "idle_in_transaction_session_timeout" => {
                let ms = TIMES.read(name, value, 0, i32::MAX.into())?;
                let duration = (ms > 0).then(|| Duration::from_millis(ms.unsigned_abs()));
                match name {
                    "statement_timeout" => self.statement_timeout = duration,
                    "lock_timeout" => self.lock_timeout = duration,
                    _ => self.idle_timeouts[usize::from(name == "idle_in_transaction_session_timeout")] = duration,
                }
                return Ok(TIMES.shown(ms));
            }
            "work_mem" => {
                let kilobytes = SIZES.read(name, value, 64, i32::MAX.into())?;
                self.work_bytes_max = usize::try_from(kilobytes).unwrap_or(usize::MAX).saturating_mul(1 << 10);
                return Ok(SIZES.shown(kilobytes));
            }
            "synchronous_commit" => {
                self.awaits_durability = match value.to_lowercase().as_str() {
                    "local" | "remote_write" | "remote_apply" => true,
                    other => boolean(other).ok_or_else(refused)?,
                };
            }
            "default_transaction_read_only" | "transaction_read_only" => {
                self.is_read_only = boolean(value).ok_or_else(refused)?;
            }
            name if name.starts_with("enable_") => return self.prefer(name, value).ok_or_else(refused),
            "client_min_messages" => return level(value).ok_or_else(refused),
            "client_encoding" => {
                if !matches!(value.to_lowercase().replace('-', "").as_str(), "utf8" | "unicode") {
                    return Err(refused().with_hint("Texts are UTF8 here."));
                }
                return Ok("UTF8".to_owned());
            }
            "DateStyle" | "IntervalStyle" => return self.show_as(name, value, refused()),
            "password_encryption" if value != "scram-sha-256" => {
                return Err(refused().with_hint("Passwords are kept for scram-sha-256 alone."));
            }
            "standard_conforming_strings" if boolean(value) != Some(true) => return Err(refused()),
            _ => {}
        }
        Ok(value.to_owned())
    }
}

/// A name in `search_path`, which is written as any.
fn schema_of(text: &str) -> String {
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => text.to_lowercase(),
    }
}

/// The seconds east of UTC, where a zone is a number of hours.
fn hours(value: &str) -> Option<i32> {
    value.parse::<f64>().ok().filter(|hours| hours.is_finite()).map(|hours| (hours * 3600.0) as i32)
}

/// A zone that is a distance from UTC, as POSIX writes it: behind the name it counts to the west.
fn shown_offset(seconds: i32) -> String {
    let part = |is_west: bool| {
        let sign = if is_west { '-' } else { '+' };
        let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() / 60 % 60);
        if minutes == 0 { format!("{sign}{hours:02}") } else { format!("{sign}{hours:02}:{minutes:02}") }
    };
    format!("<{}>{}", part(seconds < 0), part(seconds >= 0))
}

fn time_zone(value: &str) -> Option<TimeZone> {
    match value.to_lowercase().as_str() {
        "utc" | "gmt" | "z" | "default" | "local" => Some(TimeZone::UTC),
        _ if value.starts_with('<') => TimeZone::posix(value).ok(),
        _ => TimeZone::get(value).ok(),
    }
}

/// A level of messages to a client.
fn level(value: &str) -> Option<String> {
    const LEVELS: [&str; 9] = ["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"];
    Some(value.to_lowercase()).filter(|level| LEVELS.contains(&level.as_str()))
}

/// Reads a truth value as settings are written.
pub(crate) fn boolean(value: &str) -> Option<bool> {
    match value.to_lowercase().as_str() {
        "on" | "true" | "yes" | "1" | "t" | "y" => Some(true),
        "off" | "false" | "no" | "0" | "f" | "n" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_refused() {
        let mut settings = Settings::default();
        settings.set("timezone", Some("Europe/Berlin")).expect("a zone");
        assert_eq!(settings.show("TimeZone").expect("known"), "Europe/Berlin");
        settings.set("statement_timeout", Some("2s")).expect("a time");
        assert_eq!(settings.statement_timeout, Some(Duration::from_secs(2)));
        settings.set("work_mem", Some("64MB")).expect("a size");
        assert_eq!(settings.work_bytes_max, 64 << 20);
        settings.set("timezone", None).expect("a reset");
        assert_eq!(settings.show("TimeZone").expect("known"), "UTC");
        for (name, value, code) in [
            ("nosuch", "1", "42704"),
            ("timezone", "Mars/Olympus", "22023"),
            ("client_encoding", "latin1", "22023"),
            ("server_version", "9", "55P02"),
            ("statement_timeout", "soon", "22023"),
        ] {
            assert_eq!(settings.set(name, Some(value)).unwrap_err().code(), code, "{name}");
        }
        settings.set("my.own", Some("1")).expect("a program's own");
        assert_eq!(settings.show("my.own").expect("set"), "1");
    }
}
