//! Temporary tables, views and sequences: objects of one session, which go with it.
//!
//! A session that makes its first one gets a number, and with it the schema `pg_temp_1`, `pg_temp_2` and so on. What is in it is
//! logged and recovered as everything is, so that a transaction may mix it with anything else: what is special is its name, and
//! when it is dropped.
//!
//! Invariants:
//! - A schema is of one session at a time. Its number is free again when nothing temporary is left in it.
//! - Only what is marked is dropped: a table by its notes, a sequence by its entry, and a view by its schema, as nobody else can
//!   make one there. A program that works without SQL may call a table `pg_temp_1.t`, and an earlier version may have a user's
//!   own schema of that name: no session gets such a number.
//! - Nothing permanent names anything temporary: no foreign key, default, check or view.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use osier::{Error, Transaction, TransactionError};

use super::listing;
use super::name::Name;
use super::notes::OnCommit;
use super::objects::{self, Kind, Objects};
use super::relation::Relation;
use super::rights::{Object, Rights};
use super::system::{self, Commented};
use crate::error::{Result, SqlError, SqlState};
use crate::settings::Settings;
use crate::sql::Sql;

/// What a session calls its own temporary schema, whatever its number is.
pub(crate) const ALIAS: &str = "pg_temp";

/// How the names of temporary schemas begin.
const PREFIX: &str = "pg_temp_";

/// The number of a temporary schema with this name.
fn number_of(schema: &str) -> Option<u32> {
    schema.strip_prefix(PREFIX)?.parse().ok().filter(|number| *schema == name_of(*number))
}

/// Whether a schema is called as temporary ones are.
pub(crate) fn has_number(schema: &str) -> bool {
    number_of(schema).is_some()
}

fn name_of(number: u32) -> String {
    format!("{PREFIX}{number}")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The temporary schema of a session, which all of its settings share.
#[derive(Debug, Default)]
pub(crate) struct Temporary {
    schema: OnceLock<String>,
    /// All of its tables, and maybe some that are no more: nobody else makes one there, so that the catalog need not be asked, in
    /// which others make theirs.
    tables: Mutex<BTreeMap<Name, Made>>,
}

/// A table that a session has made, or given its name.
#[derive(Clone, Copy, Debug)]
struct Made {
    /// Whether there may be something to do when a transaction commits.
    is_watched: bool,
    /// Whether it will be no more once the transaction has committed.
    will_be_gone: bool,
}

impl Temporary {
    /// The schema, once the session has one.
    pub(crate) fn schema(&self) -> Option<&str> {
        self.schema.get().map(String::as_str)
    }

    /// Whether a schema is the session's own.
    pub(crate) fn is_own(&self, schema: &str) -> bool {
        self.schema() == Some(schema)
    }

    /// Gives the session a schema, if it has none. Returns whether it is new.
    pub(crate) fn begin(&self, sql: &Sql) -> bool {
        let mut is_new = false;
        self.schema.get_or_init(|| {
            is_new = true;
            sql.temporary_schemas().take()
        });
        is_new
    }

    /// The schema that a name of one means.
    pub(crate) fn meant(&self, schema: String) -> String {
        match self.schema() {
            Some(own) if schema == ALIAS => own.to_owned(),
            _ => schema,
        }
    }

    /// Notes that a table is made, or gets this name, if it is temporary.
    pub(crate) fn note(&self, name: &Name, on_commit: Option<OnCommit>) {
        let Some(on_commit) = on_commit else { return };
        let is_watched = matches!(on_commit, OnCommit::DeleteRows | OnCommit::Drop);
        let mut tables = locked(&self.tables);
        let made = tables.entry(name.clone()).or_insert(Made { is_watched, will_be_gone: false });
        made.is_watched |= is_watched;
    }

    /// The tables, and maybe some that are no more.
    pub(crate) fn tables(&self) -> Vec<Name> {
        locked(&self.tables).keys().cloned().collect()
    }

    /// The tables to be looked at before a commit, of a transaction that has defined something or not.
    pub(crate) fn to_settle(&self, has_defined: bool) -> Vec<Name> {
        let mut tables = locked(&self.tables);
        tables.values_mut().for_each(|made| made.will_be_gone = false);
        tables.iter().filter(|(_, made)| has_defined || made.is_watched).map(|(name, _)| name.clone()).collect()
    }

    /// Says that a table will be no more once the transaction has committed.
    pub(crate) fn will_be_gone(&self, name: &Name) {
        locked(&self.tables).entry(name.clone()).and_modify(|made| made.will_be_gone = true);
    }

    /// The transaction has committed.
    pub(crate) fn forget_gone(&self) {
        locked(&self.tables).retain(|_, made| !made.will_be_gone);
    }

    /// Refuses a table of another session.
    pub(crate) fn refuse_other(&self, relation: &Relation) -> Result<()> {
        match relation.is_temporary() && !self.is_own(&relation.name.schema) {
            true => Err(of_other_session()),
            false => Ok(()),
        }
    }
}

/// The error of what another session has.
pub(crate) fn of_other_session() -> SqlError {
    let message = "cannot access temporary tables of other sessions";
    SqlError::new(SqlState::FeatureNotSupported, message)
}

impl Relation {
    pub(crate) fn is_temporary(&self) -> bool {
        self.notes.on_commit.is_some()
    }
}

impl Objects {
    /// Whether a schema is a session's temporary one: no user has made it.
    pub(crate) fn is_temporary(&self, schema: &str) -> bool {
        has_number(schema) && !self.schemas.contains_key(schema)
    }

    /// Whether a user sees what is in a schema.
    pub(crate) fn may_use(&self, settings: &Settings, schema: &str) -> bool {
        let may_use = || self.need_schema(settings.user(), schema, Rights::USAGE).is_ok();
        settings.temporary().is_own(schema) || (self.has_schema(schema) && may_use())
    }
}

/// The temporary schemas of a database.
#[derive(Debug, Default)]
pub(crate) struct Schemas(Mutex<Numbers>);

#[derive(Debug, Default)]
struct Numbers {
    taken: BTreeSet<u32>,
    /// Those whose sessions are over, and in which something may be left.
    left: BTreeSet<u32>,
}

impl Schemas {
    /// Takes the schema with the smallest number that is free.
    fn take(&self) -> String {
        let taken = &mut locked(&self.0).taken;
        let number = (1..).find(|number| !taken.contains(number)).expect("there are more numbers than sessions");
        taken.insert(number);
        name_of(number)
    }

    /// Whether a schema is that of a session.
    pub(crate) fn has(&self, schema: &str) -> bool {
        number_of(schema).is_some_and(|number| locked(&self.0).taken.contains(&number))
    }

    /// Drops what a crash has left, and finds the names that are no session's.
    pub(crate) fn prepare(&self, sql: &Sql) -> Result<()> {
        let (taken, receipt) = sql.database().run(|transaction| -> Result<BTreeSet<u32>> {
            clear(sql, transaction, None)?;
            let (_, objects) = sql.objects(transaction)?;
            let tables = listing::table_names(transaction)?.into_iter().map(|name| Name::of_engine(&name).schema);
            let sequences = listing::sequences(transaction)?.into_iter().map(|sequence| sequence.name.schema);
            let schemas = objects.schemas.keys().cloned().chain(tables).chain(sequences);
            Ok(schemas.filter_map(|schema| number_of(&schema)).collect())
        })?;
        locked(&self.0).taken.extend(taken);
        receipt.wait().map_err(Error::from)?;
        Ok(())
    }

    /// A session is over that had a schema: drops what is in it. What cannot be dropped now goes when the next session ends, or
    /// when the database is opened again.
    pub(crate) fn end(&self, sql: &Sql, schema: &str) {
        locked(&self.0).left.extend(number_of(schema));
        // What a defect has left is not touched in its midst.
        if std::thread::panicking() {
            return;
        }
        // Nobody else clears the same schema: it may be another session's as soon as it is clear.
        let left = std::mem::take(&mut locked(&self.0).left);
        for number in left {
            let schema = name_of(number);
            let cleared = sql.database().run(|transaction| clear(sql, transaction, Some(&schema)));
            let mut numbers = locked(&self.0);
            match cleared {
                Ok(_) => drop(numbers.taken.remove(&number)),
                Err(_) => drop(numbers.left.insert(number)),
            }
        }
        sql.forget_dropped();
    }
}

/// Drops what is temporary in a schema, or with `None` in all.
pub(crate) fn clear(sql: &Sql, transaction: &Transaction<'_>, schema: Option<&str>) -> Result<()> {
    let (_, objects) = sql.objects(transaction)?;
    let is_meant = |name: &Name| match schema {
        Some(schema) => name.schema == schema,
        None => has_number(&name.schema),
    };
    for name in objects.views.keys().filter(|name| is_meant(name) && objects.is_temporary(&name.schema)) {
        objects::remove(transaction, Kind::View, &name.engine())?;
        forget_rights(transaction, &objects, &Object::View(name.clone()))?;
    }
    for name in listing::table_names_now(transaction, schema)? {
        let name = Name::of_engine(&name);
        let Some(relation) = (if is_meant(&name) { sql.find(transaction, &name)? } else { None }) else { continue };
        if relation.is_temporary() {
            transaction.drop_table(&relation.table)?;
            forget_rights(transaction, &objects, &Object::Table(name))?;
            for sequence in relation.notes.columns.iter().filter_map(|note| note.sequence.as_deref()) {
                drop_sequence(transaction, &objects, sequence)?;
            }
        }
    }
    for (name, entry) in &objects.sequences {
        if is_meant(name) && entry.is_temporary {
            drop_sequence(transaction, &objects, &name.engine())?;
        }
    }
    Ok(())
}

/// Drops a sequence, if it is there yet, and what is known of it.
fn drop_sequence(transaction: &Transaction<'_>, objects: &Objects, engine: &str) -> Result<()> {
    match transaction.sequence(engine) {
        Ok(sequence) => transaction.drop_sequence(&sequence)?,
        Err(Error::Transaction(TransactionError::UnknownSequence { .. })) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    system::forget(transaction, Commented::Sequence, engine)?;
    let name = Name::of_engine(engine);
    if objects.sequences.contains_key(&name) {
        objects::remove(transaction, Kind::Sequence, engine)?;
    }
    forget_rights(transaction, objects, &Object::Sequence(name))
}

fn forget_rights(transaction: &Transaction<'_>, objects: &Objects, object: &Object) -> Result<()> {
    match objects.lists.contains_key(&object.key()) {
        true => objects::remove(transaction, Kind::Rights, &object.key()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_a_number_are_of_sessions() {
        for (name, number) in [("pg_temp_1", Some(1)), ("pg_temp_4294967295", Some(u32::MAX))] {
            assert_eq!(number_of(name), number, "{name}");
        }
        for name in ["pg_temp", "pg_temp_", "pg_temp_01", "pg_temp_+1", "pg_temp_x", "pg_temp_4294967296", "public"] {
            assert_eq!(number_of(name), None, "{name}");
        }
    }

    #[test]
    fn the_smallest_free_number_is_taken() {
        let schemas = Schemas::default();
        locked(&schemas.0).taken.insert(2);
        assert_eq!([schemas.take(), schemas.take()], ["pg_temp_1", "pg_temp_3"]);
    }
}
