//! A database as SQL sees it, shared by the sessions of all clients.
//!
//! Invariant: what is kept of a table here is of one handle of the engine, and is used with that handle alone.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use osier::ids::TableId;
use osier::table::Schema;
use osier::{Database, Error, Table, Transaction, TransactionError, Value};

use crate::backends::Backends;
use crate::bind::{Binder, Names, RowNames};
use crate::catalog::name::Name;
use crate::catalog::numbers;
use crate::catalog::objects::{self, Objects, ViewEntry};
use crate::catalog::relation::Relation;
use crate::catalog::roles;
use crate::catalog::temporary::Schemas;
use crate::error::Result;
use crate::notify::Exchange;
use crate::run::store::Store;
use crate::session::Cache;
use crate::settings::Settings;
use crate::statistics::{Kept, Known, TableStatistics};

/// The schema of the tables that SQL keeps for itself. No statement sees them.
pub(crate) const OWN_SCHEMA: &str = "osier";

/// So many states of the objects beside tables are kept: that of most transactions, and those of some that change them.
const OBJECTS_KEPT: usize = 8;

/// A database with its SQL catalog.
pub struct Sql {
    db: Arc<Database>,
    relations: Mutex<HashMap<TableId, Arc<Relation>>>,
    objects: Mutex<Vec<(Arc<Schema>, Arc<Objects>)>>,
    /// How often objects beside tables have changed since the start.
    changes: AtomicU64,
    statistics: Kept,
    /// What sessions keep of statements.
    caches: Mutex<Vec<Weak<Mutex<Cache>>>>,
    temporary: Schemas,
    exchange: Exchange,
    backends: Backends,
}

/// Who may connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// Whether it may do everything.
    pub is_superuser: bool,
    /// Whether it may connect.
    pub can_login: bool,
    /// What its password is checked with, as PostgreSQL writes it: `SCRAM-SHA-256$iterations:salt$stored key:server key`.
    pub secret: Option<String>,
}

impl Sql {
    /// The name of the only database.
    pub const DATABASE: &str = "osier";
    /// The role that there is from the start; it may do everything.
    pub const FIRST_ROLE: &str = "osier";

    /// Begins to serve a database, whose SQL catalog is made if there is none. Temporary tables that are left of a run which
    /// crashed are dropped.
    ///
    /// # Errors
    /// Where the catalog cannot be read or made.
    pub fn new(db: Arc<Database>) -> Result<Arc<Sql>> {
        roles::prepare(&db)?;
        objects::prepare(&db)?;
        numbers::prepare(&db)?;
        let sql = Arc::new(Sql {
            db,
            relations: Mutex::default(),
            objects: Mutex::default(),
            changes: AtomicU64::new(0),
            statistics: Kept::default(),
            caches: Mutex::default(),
            temporary: Schemas::default(),
            exchange: Exchange::default(),
            backends: Backends::default(),
        });
        sql.temporary.prepare(&sql)?;
        Ok(sql)
    }

    /// Returns the database.
    pub fn database(&self) -> &Arc<Database> {
        &self.db
    }

    /// Returns the role of that name, if there is one.
    ///
    /// # Errors
    /// Where the catalog cannot be read.
    pub fn role(&self, name: &str) -> Result<Option<Role>> {
        roles::find(&self.db, name)
    }

    /// Gives a role the secret of a new password; waits until that is durable.
    ///
    /// # Errors
    /// Where there is no such role, or the catalog cannot be written.
    pub fn set_secret(&self, role: &str, secret: &str) -> Result<()> {
        roles::set_secret(&self.db, role, secret)
    }

    /// How many bytes of memory the rows and indexes take.
    pub(crate) fn bytes(&self) -> i64 {
        i64::try_from(self.db.metrics().memory.used.total()).unwrap_or(i64::MAX)
    }

    /// How often objects beside tables have changed. It has grown when a transaction that changes some is committed.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Says that objects beside tables have changed, or tables.
    pub(crate) fn has_changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.live_caches().iter().for_each(|cache| cache.lock().unwrap_or_else(PoisonError::into_inner).clear());
        self.forget_dropped();
    }

    /// What sessions keep of statements, of those sessions that there are.
    fn live_caches(&self) -> Vec<Arc<Mutex<Cache>>> {
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        caches.retain(|cache| cache.strong_count() > 0);
        caches.iter().filter_map(Weak::upgrade).collect()
    }

    /// What a new session keeps of statements.
    pub(crate) fn new_cache(&self) -> Arc<Mutex<Cache>> {
        let cache = Arc::default();
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        if caches.len() == caches.capacity() {
            caches.retain(|cache| cache.strong_count() > 0);
        }
        caches.push(Arc::downgrade(&cache));
        cache
    }

    /// Forgets tables that are no more, so that their memory is freed.
    pub(crate) fn forget_dropped(&self) {
        let mut relations = self.relations.lock().unwrap_or_else(PoisonError::into_inner);
        relations.retain(|_, relation| self.db.is_current(&relation.table));
    }

    /// The temporary schemas of sessions.
    pub(crate) fn temporary_schemas(&self) -> &Schemas {
        &self.temporary
    }

    /// What sessions send each other.
    pub(crate) fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// The sessions of clients.
    pub(crate) fn backends(&self) -> &Backends {
        &self.backends
    }

    /// The statistics of tables.
    pub(crate) fn statistics(&self) -> &Kept {
        &self.statistics
    }

    /// The objects beside tables, as a transaction sees them, and what is another one when they have changed.
    pub(crate) fn objects(&self, transaction: &Transaction<'_>) -> Result<(Arc<Schema>, Arc<Objects>)> {
        let table = transaction.table(objects::TABLE)?;
        let known = |kept: &[(Arc<Schema>, Arc<Objects>)]| {
            kept.iter().find(|(schema, _)| Arc::ptr_eq(schema, table.schema())).cloned()
        };
        if let Some(found) = known(&self.objects.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(found);
        }
        let found = (table.schema().clone(), Arc::new(Objects::of(transaction, &table)?));
        let mut kept = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == OBJECTS_KEPT {
            kept.remove(0);
        }
        kept.push(found.clone());
        Ok(found)
    }

    /// What `table` is to SQL.
    pub(crate) fn relation(&self, table: &Table) -> Result<Arc<Relation>> {
        let mut relations = self.relations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = relations.get(&table.id())
            && Arc::ptr_eq(known.table.schema(), table.schema())
        {
            return Ok(known.clone());
        }
        let relation = Relation::of(table)?;
        if !relation.computed().is_empty() {
            let initial = Settings::default();
            let names = RowNames(&relation.types);
            // What cannot be bound is refused when a row is written. The table can still be seen, changed and dropped.
            relation.set_meanings(Binder::new(&names, &initial, &[]).meanings(&relation).unwrap_or_default());
        }
        relations.insert(table.id(), relation.clone());
        Ok(relation)
    }

    /// The table with this name, as a transaction sees it.
    pub(crate) fn find(&self, transaction: &Transaction<'_>, name: &Name) -> Result<Option<Arc<Relation>>> {
        if name.schema == OWN_SCHEMA || !name.is_sound() {
            return Ok(None);
        }
        match transaction.table(&name.engine()) {
            Ok(table) => self.relation(&table).map(Some),
            Err(Error::Transaction(TransactionError::UnknownTable { .. })) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The catalog as one transaction sees it.
pub(crate) struct CatalogNames<'n, 's> {
    sql: &'n Sql,
    transaction: &'n Transaction<'s>,
    used: RefCell<Vec<Arc<Relation>>>,
    beside: RefCell<Vec<Arc<Relation>>>,
    used_objects: RefCell<Option<Arc<Schema>>>,
    absent: RefCell<Vec<Name>>,
    estimated: RefCell<Vec<(Arc<Relation>, f64)>>,
}

impl<'n, 's> CatalogNames<'n, 's> {
    pub(crate) fn new(sql: &'n Sql, transaction: &'n Transaction<'s>) -> CatalogNames<'n, 's> {
        CatalogNames {
            sql,
            transaction,
            used: RefCell::default(),
            beside: RefCell::default(),
            used_objects: RefCell::default(),
            absent: RefCell::default(),
            estimated: RefCell::default(),
        }
    }

    /// The tables that were looked up.
    pub(crate) fn used(&self) -> Vec<Arc<Relation>> {
        self.used.take()
    }

    /// The tables that were looked up beside those which the statement names.
    pub(crate) fn used_beside(&self) -> Vec<Arc<Relation>> {
        self.beside.take()
    }

    /// What the objects beside tables were, if some were looked up.
    pub(crate) fn used_objects(&self) -> Option<Arc<Schema>> {
        self.used_objects.take()
    }

    /// Names that no table has.
    pub(crate) fn absent(&self) -> Vec<Name> {
        self.absent.take()
    }

    /// The tables whose statistics were asked for, with how many rows they were taken to have.
    pub(crate) fn estimated(&self) -> Vec<(Arc<Relation>, f64)> {
        self.estimated.take()
    }
}

impl Known for CatalogNames<'_, '_> {
    fn of(&self, relation: &Arc<Relation>) -> Arc<TableStatistics> {
        let statistics = self.sql.statistics.of(self.transaction, relation);
        let mut estimated = self.estimated.borrow_mut();
        if !estimated.iter().any(|(known, _)| known.table.id() == relation.table.id()) {
            estimated.push((relation.clone(), statistics.rows));
        }
        statistics
    }
}

impl Names for CatalogNames<'_, '_> {
    fn statistics(&self) -> &dyn Known {
        self
    }

    fn relation(&self, name: &Name) -> Result<Option<Arc<Relation>>> {
        let found = self.sql.find(self.transaction, name)?;
        match &found {
            Some(relation) => self.used.borrow_mut().push(relation.clone()),
            None => self.absent.borrow_mut().push(name.clone()),
        }
        Ok(found)
    }

    fn beside(&self, name: &Name) -> Result<Option<Arc<Relation>>> {
        let found = self.sql.find(self.transaction, name)?;
        self.beside.borrow_mut().extend(found.clone());
        Ok(found)
    }

    fn view(&self, name: &Name) -> Result<Option<Arc<ViewEntry>>> {
        Ok(self.objects()?.views.get(name).cloned())
    }

    fn sequence_owner(&self, name: &Name) -> Result<Option<String>> {
        let is_there = name.is_sound() && !name.is_own() && self.transaction.has_sequence(&name.engine());
        if is_there { Ok(Some(self.objects()?.sequence_owner(name).to_owned())) } else { Ok(None) }
    }

    fn objects(&self) -> Result<Arc<Objects>> {
        let (schema, objects) = self.sql.objects(self.transaction)?;
        *self.used_objects.borrow_mut() = Some(schema);
        Ok(objects)
    }

    fn has_procedure(&self, name: &str) -> Result<bool> {
        match self.transaction.signature(name) {
            Ok(_) => Ok(true),
            // At a snapshot they are only seen.
            Err(Error::Transaction(TransactionError::NotAtSnapshot { .. })) => {
                let procedures = self.transaction.table("osier_procedures")?;
                Ok(self.transaction.exists(&procedures, &[Value::Text(name)])?)
            }
            Err(Error::Procedure(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
