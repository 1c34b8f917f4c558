//! What functions ask of a session.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::Core;
use super::chance::Chance;
use crate::catalog::listing;
use crate::catalog::name::Name;
use crate::catalog::relation::Relation;
use crate::catalog::rights::{Object, Rights};
use crate::catalog::system::{self, Catalog, Seen};
use crate::catalog::temporary;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::function;
use crate::run::store::Store;
use crate::settings::Settings;
use crate::sql::OWN_SCHEMA;

/// The name of the only database.
pub(crate) const DATABASE: &str = crate::sql::Sql::DATABASE;

/// A thread that runs no tasks sleeps so long between two looks at whether its statement was cancelled.
const SLEEP_MAX: Duration = Duration::from_millis(20);

/// The values that sequences gave to a session.
#[derive(Debug, Default)]
pub(super) struct Values {
    of: RefCell<HashMap<String, i64>>,
    last: RefCell<Option<i64>>,
}

/// The environment of one statement.
pub(super) struct Environment<'e> {
    pub(super) core: &'e Core,
    pub(super) store: &'e dyn Store,
    pub(super) statement_start_us: i64,
    pub(super) seen: Seen,
}

/// Microseconds since 1970.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl Environment<'_> {
    /// The catalog as the statement sees it.
    fn catalog(&self) -> Catalog<'_> {
        let Environment { store, statement_start_us, ref seen, .. } = *self;
        let Core { sql, settings, advisory, prepared, .. } = self.core;
        Catalog { sql, store, settings, user: settings.user(), statement_start_us, advisory, prepared, seen }
    }

    /// The sequence that an argument names, as the engine does, if the user has one of some rights on it.
    fn sequence(&self, argument: &Datum, rights: Rights) -> Result<String> {
        let text = match argument {
            Datum::Text(text) => text,
            // The engine's name: it is that of an identity column.
            Datum::Bytes(name) => return Ok(String::from_utf8_lossy(name).into_owned()),
            number => {
                let name = Name::of_engine(&system::sequence_name(&self.catalog(), number)?);
                return self.usable(name, rights);
            }
        };
        let object = crate::parse::object_name(text)?;
        let objects = self.core.objects.as_deref();
        let user = self.core.settings.user();
        let name = match &object[..] {
            [name] => {
                let is_seen = |schema: &str| objects.is_none_or(|objects| objects.may_use(&self.core.settings, schema));
                let named = self.core.settings.schemas().filter(|schema| is_seen(schema));
                named.map(|schema| Name::new(schema, name)).find(|name| self.has_sequence(name))
            }
            [schema, name] => {
                let temporary = self.core.settings.temporary();
                let name = Name::new(temporary.meant(schema.clone()), name);
                if let Some(objects) = objects.filter(|objects| objects.has_schema(schema)) {
                    objects.need_schema(user, schema, Rights::USAGE)?;
                }
                Some(name).filter(|name| self.has_sequence(name))
            }
            _ => return Err(SqlError::new(SqlState::InvalidName, format!("invalid name syntax: \"{text}\""))),
        };
        let Some(name) = name else {
            if let [schema, _] = &object[..]
                && !self.store.objects(&self.core.sql)?.has_schema(schema)
            {
                let message = format!("schema \"{schema}\" does not exist");
                return Err(SqlError::new(SqlState::InvalidSchemaName, message));
            }
            let message = format!("relation \"{}\" does not exist", object.join("."));
            return Err(SqlError::new(SqlState::UndefinedTable, message));
        };
        self.usable(name, rights)
    }

    /// What the engine calls a sequence, if the user has one of some rights on it.
    fn usable(&self, name: Name, rights: Rights) -> Result<String> {
        let is_own = self.core.settings.temporary().is_own(&name.schema);
        if !is_own
            && temporary::has_number(&name.schema)
            && self.store.objects(&self.core.sql)?.is_temporary(&name.schema)
        {
            return Err(temporary::of_other_session());
        }
        if let Some(objects) = self.core.objects.as_deref() {
            let part_of = if is_own && !objects.sequences.contains_key(&name) { self.table_of(&name)? } else { None };
            let owner = part_of.as_ref().map_or(objects.sequence_owner(&name), |table| &table.notes.owner);
            let object = Object::Sequence(name.clone());
            if !objects.rights(self.core.settings.user(), &object, owner, None).meets(rights) {
                return Err(object.denied());
            }
        }
        Ok(name.engine())
    }

    /// The temporary table that a sequence is a part of.
    fn table_of(&self, sequence: &Name) -> Result<Option<Arc<Relation>>> {
        let engine = sequence.engine();
        for name in self.core.settings.temporary().tables() {
            let Ok(table) = self.store.table(&name.engine()) else { continue };
            let relation = self.core.sql.relation(&table)?;
            if relation.notes.columns.iter().any(|note| note.sequence.as_deref() == Some(&engine)) {
                return Ok(Some(relation));
            }
        }
        Ok(None)
    }

    fn has_sequence(&self, name: &Name) -> bool {
        name.is_sound() && name.schema != OWN_SCHEMA && self.store.has_sequence(&name.engine())
    }

    fn next_value(&self, argument: &Datum) -> Result<Datum> {
        let name = self.sequence(argument, Rights::USAGE.and(Rights::UPDATE))?;
        let drawn = self.store.sequence(&name).and_then(|sequence| self.store.next_value(&sequence));
        let value = drawn.map_err(|error| match error {
            osier::Error::Transaction(osier::TransactionError::UnknownSequence { sequence }) => {
                SqlError::new(SqlState::UndefinedTable, format!("relation \"{sequence}\" does not exist"))
            }
            error => error.into(),
        })?;
        self.core.values.of.borrow_mut().insert(name, value);
        *self.core.values.last.borrow_mut() = Some(value);
        Ok(Datum::Int(value))
    }

    /// The row of a sequence. What sessions have taken of it counts as given.
    fn sequence_row(&self, argument: &Datum) -> Result<Datum> {
        let Datum::Bytes(name) = argument else { return Ok(Datum::Null) };
        let name = Name::of_engine(&String::from_utf8_lossy(name));
        let found = listing::sequences_now(self.store)?.into_iter().find(|sequence| sequence.name == name);
        let sequence = found
            .ok_or_else(|| SqlError::new(SqlState::UndefinedTable, format!("relation \"{name}\" does not exist")))?;
        let last = sequence.last_value();
        let row = vec![Datum::Int(last.unwrap_or(sequence.start)), Datum::Int(0), Datum::Bool(last.is_some())];
        Ok(Datum::record(row))
    }

    fn current_value(&self, argument: &Datum) -> Result<Datum> {
        let name = self.sequence(argument, Rights::USAGE.and(Rights::SELECT))?;
        let value = self.core.values.of.borrow().get(&name).copied();
        value.map(Datum::Int).ok_or_else(|| {
            let message = format!("currval of sequence \"{name}\" is not yet defined in this session");
            SqlError::new(SqlState::ObjectNotInPrerequisiteState, message)
        })
    }

    /// The settings with what the statement has changed so far.
    fn configured(&self) -> Result<Cow<'_, Settings>> {
        let configured = self.core.configured.borrow();
        if configured.is_empty() {
            return Ok(Cow::Borrowed(&self.core.settings));
        }
        let mut settings = Settings::clone(&self.core.settings);
        for (name, value, _) in configured.iter() {
            settings.set(name, Some(value))?;
        }
        Ok(Cow::Owned(settings))
    }

    /// Sleeps until a moment.
    fn sleep_until(&self, moment: Result<i64>) -> Result<Datum> {
        let left_us = moment?.saturating_sub(now_us());
        self.sleep(left_us as f64 / 1_000_000.0)
    }

    /// Lets others run for so many seconds, or until the statement is to end.
    pub(super) fn sleep(&self, seconds: f64) -> Result<Datum> {
        let Ok(length) = Duration::try_from_secs_f64(seconds.max(0.0)) else {
            let message = "a time to sleep must be a number of seconds";
            return Err(SqlError::new(SqlState::NumericValueOutOfRange, message));
        };
        let begun = Instant::now();
        loop {
            self.core.canceller.check()?;
            let left = length.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(Datum::text(""));
            }
            let turn = self.core.canceller.time_left().map_or(left, |most| left.min(most));
            if osier::task::waker().is_some() {
                osier::task::pause(turn);
            } else {
                // Nobody else runs in this thread.
                std::thread::sleep(turn.min(SLEEP_MAX));
            }
        }
    }

    /// The error of a value that a sequence cannot be set to.
    fn out_of_bounds(&self, name: &str, value: i64, error: SqlError) -> SqlError {
        let name = Name::of_engine(name);
        let sequences = listing::sequences_now(self.store).unwrap_or_default();
        let Some(sequence) = sequences.iter().find(|sequence| sequence.name == name) else { return error };
        let (minimum, maximum) = (sequence.minimum, sequence.maximum);
        let message =
            format!("setval: value {value} is out of bounds for sequence \"{}\" ({minimum}..{maximum})", name.name);
        SqlError::new(SqlState::NumericValueOutOfRange, message)
    }

    fn set_value(&self, arguments: &[Datum]) -> Result<Datum> {
        let name = self.sequence(&arguments[0], Rights::UPDATE)?;
        let Datum::Int(value) = arguments[1] else { return Ok(Datum::Null) };
        let is_called = !matches!(arguments.get(2), Some(Datum::Bool(false)));
        self.store.set_sequence(&name, value, is_called).map_err(|error| match SqlError::from(error) {
            error if error.state == SqlState::InvalidParameterValue => self.out_of_bounds(&name, value, error),
            error => error,
        })?;
        self.core.values.of.borrow_mut().insert(name, value);
        Ok(Datum::Int(value))
    }
}

impl function::Environment for Environment<'_> {
    fn settings(&self) -> &Settings {
        &self.core.settings
    }

    fn transaction_start_us(&self) -> i64 {
        self.core.transaction_start_us
    }

    fn statement_start_us(&self) -> i64 {
        self.statement_start_us
    }

    fn clock_us(&self) -> i64 {
        now_us()
    }

    fn user(&self) -> &str {
        self.core.settings.user()
    }

    fn session_user(&self) -> &str {
        self.core.settings.session_user()
    }

    fn database(&self) -> &str {
        DATABASE
    }

    fn schema(&self) -> Option<&str> {
        let objects = self.store.objects(&self.core.sql).ok()?;
        let settings = &self.core.settings;
        settings.said_schemas().find(|schema| objects.may_use(settings, schema))
    }

    fn random(&self) -> f64 {
        self.core.chance.borrow_mut().draw()
    }

    fn set_seed(&self, seed: f64) {
        *self.core.chance.borrow_mut() = Chance::of_setting(seed);
    }

    fn random_uuid(&self) -> Result<[u8; 16]> {
        let mut bytes = [0; 16];
        let no_bytes = |error| SqlError::new(SqlState::IoError, format!("the system gives no random bytes: {error}"));
        getrandom::fill(&mut bytes).map_err(no_bytes)?;
        Ok(bytes)
    }

    fn look(&self) -> Result<()> {
        osier::task::give_way();
        self.core.canceller.check()
    }

    fn backend_pid(&self) -> i32 {
        self.core.backend_pid
    }

    fn ask(&self, function: &'static str, arguments: &[Datum]) -> Result<Datum> {
        let text = |at: usize| match arguments.get(at) {
            Some(Datum::Text(text)) => text.to_string(),
            _ => String::new(),
        };
        match function {
            "nextval" => self.next_value(&arguments[0]),
            "currval" => self.current_value(&arguments[0]),
            "setval" => self.set_value(arguments),
            "lastval" => self.core.values.last.borrow().map(Datum::Int).ok_or_else(|| {
                let message = "lastval is not yet defined in this session";
                SqlError::new(SqlState::ObjectNotInPrerequisiteState, message)
            }),
            function::SEQUENCE_ROW => self.sequence_row(&arguments[0]),
            "set_config" => {
                let (name, value) = (text(0), text(1));
                if ["role", "session_authorization"].iter().any(|own| name.eq_ignore_ascii_case(own)) {
                    return Err(SqlError::unsupported(format!("set_config of {name}")).with_hint("Use SET."));
                }
                let mut settings = Settings::clone(&*self.configured()?);
                settings.set(&name, Some(&value))?;
                let shown = settings.show(&name)?;
                let is_local = matches!(arguments.get(2), Some(Datum::Bool(true)));
                self.core.configured.borrow_mut().push((name, value, is_local));
                Ok(Datum::text(shown))
            }
            "current_setting" => match self.configured().and_then(|settings| settings.show(&text(0))) {
                Ok(value) => Ok(Datum::text(value)),
                Err(_) if matches!(arguments.get(1), Some(Datum::Bool(true))) => Ok(Datum::Null),
                Err(error) => Err(error),
            },
            "pg_sleep" => match arguments[0] {
                Datum::Float(seconds) => self.sleep(seconds),
                _ => Ok(Datum::Null),
            },
            "pg_sleep_for" => match &arguments[0] {
                Datum::Interval(interval) => {
                    self.sleep_until(function::shifted(now_us(), *interval, Some(&self.core.settings.time_zone)))
                }
                _ => Ok(Datum::Null),
            },
            "pg_sleep_until" => match arguments[0] {
                Datum::Timestamp(us) => self.sleep_until(Ok(us)),
                _ => Ok(Datum::Null),
            },
            "pg_cancel_backend" | "pg_terminate_backend" => self.signal(function, arguments),
            "pg_notify" | "pg_listening_channels" | "pg_notification_queue_usage" => {
                self.core.ask_notifying(function, arguments)
            }
            _ if function::is_advisory(function) => self.core.advise(function, arguments),
            _ => system::answer(&self.catalog(), function, arguments)?
                .ok_or_else(|| SqlError::unsupported(format!("the function {function}"))),
        }
    }

    fn catalog_rows(&self, relation: &'static str, key: Option<(usize, &Datum)>) -> Result<Vec<Vec<Datum>>> {
        self.catalog().rows(relation, key)
    }
}
