//! `pg_cancel_backend` and `pg_terminate_backend`: a session ends the statement of another one, or the whole session.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::environment::Environment;
use crate::backends::Backend;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};

/// How long a session waits between two looks at whether another one has ended.
const LOOK_SECONDS: f64 = 0.01;

impl Environment<'_> {
    pub(super) fn signal(&self, function: &str, arguments: &[Datum]) -> Result<Datum> {
        let (pid, wait_ms) = match arguments {
            [Datum::Int(pid)] => (*pid, 0),
            [Datum::Int(pid), Datum::Int(wait_ms)] => (*pid, *wait_ms),
            _ => return Ok(Datum::Null),
        };
        if wait_ms < 0 {
            let message = "\"timeout\" must not be negative";
            return Err(SqlError::new(SqlState::NumericValueOutOfRange, message));
        }
        let find = || i32::try_from(pid).ok().and_then(|pid| self.core.sql.backends().find(pid));
        let Some(backend) = find() else {
            return self.warn(format!("PID {pid} is not a PostgreSQL server process"));
        };
        let terminates = function == "pg_terminate_backend";
        self.need_signal(&backend, terminates)?;
        if !terminates {
            backend.cancel();
            return Ok(Datum::Bool(true));
        }
        backend.terminate();
        if wait_ms == 0 {
            return Ok(Datum::Bool(true));
        }
        let (begun, at_most) = (Instant::now(), Duration::from_millis(wait_ms.unsigned_abs()));
        while begun.elapsed() < at_most {
            self.sleep(LOOK_SECONDS)?;
            if !find().is_some_and(|known| Arc::ptr_eq(&known, &backend)) {
                return Ok(Datum::Bool(true));
            }
        }
        self.warn(format!("backend with PID {pid} did not terminate within {wait_ms} milliseconds"))
    }

    fn warn(&self, message: String) -> Result<Datum> {
        self.core.warnings.borrow_mut().push(SqlError::new(SqlState::Warning, message));
        Ok(Datum::Bool(false))
    }

    /// Refuses who may not end what another session does: its role must be one that the user has, and only those who may do
    /// everything end sessions of such.
    fn need_signal(&self, backend: &Backend, terminates: bool) -> Result<()> {
        if self.core.settings.is_superuser() {
            return Ok(());
        }
        let objects = self.store.objects(&self.core.sql)?;
        let (ending, what) = if terminates { ("terminate", "process") } else { ("cancel", "query") };
        let message = match () {
            () if objects.is_superuser(&backend.user) => format!("must be a superuser to {ending} superuser {what}"),
            () if objects.is_owner(self.core.settings.user(), &backend.user) => return Ok(()),
            () => {
                let ended = if terminates { "terminated" } else { "canceled" };
                format!("must be a member of the role whose {what} is being {ended} or member of pg_signal_backend")
            }
        };
        Err(SqlError::new(SqlState::InsufficientPrivilege, message))
    }
}
