//! What functions ask of a session.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use super::Core;
use crate::catalog::name::Name;
use crate::catalog::system::{self, Catalog, Seen, SessionFacts};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::function;
use crate::run::store::Store;
use crate::settings::Settings;

/// The name of the only database.
pub(crate) const DATABASE: &str = "osier";

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
pub(super) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl Environment<'_> {
    /// The catalog as the statement sees it.
    fn catalog(&self) -> Catalog<'_> {
        let session = SessionFacts {
            pid: self.core.backend_pid,
            transaction_start_us: self.core.transaction_start_us,
            statement_start_us: self.statement_start_us,
        };
        let Core { sql, settings, user, .. } = self.core;
        Catalog { sql, store: self.store, settings, user, session, seen: &self.seen }
    }

    /// The sequence that an argument names.
    fn sequence(&self, argument: &Datum) -> Result<String> {
        let Datum::Text(text) = argument else {
            return system::sequence_name(&self.catalog(), argument);
        };
        let object = crate::parse::object_name(text)?;
        let name = match &object[..] {
            [name] => Name::new(function::Environment::schema(self).unwrap_or("public"), name),
            [schema, name] => Name::new(schema, name),
            _ => return Err(SqlError::new(SqlState::InvalidName, format!("invalid name syntax: \"{text}\""))),
        };
        Ok(name.engine())
    }

    fn next_value(&self, argument: &Datum) -> Result<Datum> {
        let name = self.sequence(argument)?;
        let value = self.store.next_value(&name).map_err(|error| match error {
            osier::Error::Transaction(osier::TransactionError::UnknownSequence { sequence }) => {
                SqlError::new(SqlState::UndefinedTable, format!("relation \"{sequence}\" does not exist"))
            }
            error => error.into(),
        })?;
        self.core.values.of.borrow_mut().insert(name, value);
        *self.core.values.last.borrow_mut() = Some(value);
        Ok(Datum::Int(value))
    }

    fn current_value(&self, argument: &Datum) -> Result<Datum> {
        let name = self.sequence(argument)?;
        let value = self.core.values.of.borrow().get(&name).copied();
        value.map(Datum::Int).ok_or_else(|| {
            let message = format!("currval of sequence \"{name}\" is not yet defined in this session");
            SqlError::new(SqlState::ObjectNotInPrerequisiteState, message)
        })
    }

    fn set_value(&self, arguments: &[Datum]) -> Result<Datum> {
        let name = self.sequence(&arguments[0])?;
        let Datum::Int(value) = arguments[1] else { return Ok(Datum::Null) };
        let is_called = !matches!(arguments.get(2), Some(Datum::Bool(false)));
        self.store.set_sequence(&name, value, is_called)?;
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
        &self.core.user
    }

    fn session_user(&self) -> &str {
        &self.core.user
    }

    fn database(&self) -> &str {
        DATABASE
    }

    fn schema(&self) -> Option<&str> {
        self.core.settings.search_path.first().map(String::as_str)
    }

    fn random(&self) -> f64 {
        fastrand::f64()
    }

    fn random_uuid(&self) -> Result<[u8; 16]> {
        let mut bytes = [0; 16];
        let no_bytes = |error| SqlError::new(SqlState::IoError, format!("the system gives no random bytes: {error}"));
        getrandom::fill(&mut bytes).map_err(no_bytes)?;
        Ok(bytes)
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
            "current_setting" => match self.core.settings.show(&text(0)) {
                Ok(value) => Ok(Datum::text(value)),
                Err(_) if matches!(arguments.get(1), Some(Datum::Bool(true))) => Ok(Datum::Null),
                Err(error) => Err(error),
            },
            _ => system::answer(&self.catalog(), function, arguments)?
                .ok_or_else(|| SqlError::unsupported(format!("the function {function}"))),
        }
    }

    fn catalog_rows(&self, relation: &'static str, key: Option<(usize, &Datum)>) -> Result<Vec<Vec<Datum>>> {
        self.catalog().rows(relation, key)
    }
}
