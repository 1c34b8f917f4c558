//! Advisory locks as functions: `pg_advisory_lock` and its kin.
//!
//! Invariants:
//! - Locks of the transaction are given back when it ends, wherever it ends, and behind a savepoint to which it goes back.
//! - A statement alone that is run again gives back before what it took for the session; one that has given back what others may
//!   have by now is not run again.
//! - A name that something is to get is locked by its hash: others that have the same one wait, and nothing else.
//! - A wait obeys the limits of the statement and no others: it may last as long as a client likes.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::time::Duration;

use osier::advisory::{Key, Mode, Scope, Space};

use super::Core;
use crate::catalog::name::Name;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};

/// A wait that nothing limits.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3_600);

/// The lock that arguments name: a number, or a pair of them.
fn key(arguments: &[Datum]) -> Key {
    let number = |at: usize| match arguments.get(at) {
        Some(Datum::Int(number)) => *number,
        _ => 0,
    };
    match arguments {
        [_, _] => Key { high: number(0) as u32, low: number(1) as u32, space: Space::Pair },
        _ => Key { high: (number(0) >> 32) as u32, low: number(0) as u32, space: Space::Number },
    }
}

impl Core {
    /// Locks a name for what the transaction is about to give it. Those of what is temporary are the session's own.
    pub(super) fn lock_name(&self, name: &Name) -> Result<()> {
        if self.settings.temporary().is_own(&name.schema) {
            return Ok(());
        }
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one((&name.schema, &name.name));
        let key = Key { high: (hash >> 32) as u32, low: hash as u32, space: Space::Name };
        let limit = self.canceller.wait_max().unwrap_or(FOREVER);
        Ok(self.advisory.lock(key, Mode::Exclusive, Scope::Transaction, limit)?)
    }

    /// Calls a function about advisory locks.
    pub(super) fn advise(&self, function: &str, arguments: &[Datum]) -> Result<Datum> {
        let advisory = &self.advisory;
        if function == "pg_advisory_unlock_all" {
            advisory.unlock_all();
            return Ok(Datum::text(""));
        }
        let key = key(arguments);
        let mode = if function.ends_with("_shared") { Mode::Shared } else { Mode::Exclusive };
        if function.starts_with("pg_advisory_unlock") {
            let was_held = advisory.unlock(key, mode);
            if !was_held {
                let lock = if mode == Mode::Shared { "ShareLock" } else { "ExclusiveLock" };
                let message = format!("you don't own a lock of type {lock}");
                self.warnings.borrow_mut().push(SqlError::new(SqlState::Warning, message));
            }
            return Ok(Datum::Bool(was_held));
        }
        let scope = if function.contains("_xact_") { Scope::Transaction } else { Scope::Session };
        if function.starts_with("pg_try_") {
            return Ok(Datum::Bool(advisory.try_lock(key, mode, scope)));
        }
        let limit = self.canceller.wait_max().unwrap_or(FOREVER);
        advisory.lock(key, mode, scope, limit)?;
        Ok(Datum::text(""))
    }
}
