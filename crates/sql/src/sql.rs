//! A database as SQL sees it, shared by the sessions of all clients.
//!
//! Invariant: what is kept of a table here is of one handle of the engine, and is used with that handle alone.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use osier::ids::TableId;
use osier::{Database, Error, Table, Transaction, TransactionError, Value};

use crate::bind::{Names, View};
use crate::catalog::name::Name;
use crate::catalog::relation::Relation;
use crate::catalog::roles;
use crate::error::Result;

/// The schema of the tables that SQL keeps for itself. No statement sees them.
pub(crate) const OWN_SCHEMA: &str = "osier";

/// A database with its SQL catalog.
pub struct Sql {
    db: Arc<Database>,
    relations: Mutex<HashMap<TableId, Arc<Relation>>>,
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
    /// The role that there is from the start; it may do everything.
    pub const FIRST_ROLE: &str = "osier";

    /// Begins to serve a database, whose SQL catalog is made if there is none.
    ///
    /// # Errors
    /// Where the catalog cannot be read or made.
    pub fn new(db: Arc<Database>) -> Result<Arc<Sql>> {
        roles::prepare(&db)?;
        Ok(Arc::new(Sql { db, relations: Mutex::default() }))
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

    /// What `table` is to SQL.
    pub(crate) fn relation(&self, table: &Table) -> Result<Arc<Relation>> {
        let mut relations = self.relations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = relations.get(&table.id())
            && Arc::ptr_eq(known.table.schema(), table.schema())
        {
            return Ok(known.clone());
        }
        let relation = Relation::of(table)?;
        relations.insert(table.id(), relation.clone());
        Ok(relation)
    }

    /// The table with this name, as a transaction sees it.
    pub(crate) fn find(&self, transaction: &Transaction<'_>, name: &Name) -> Result<Option<Arc<Relation>>> {
        if name.schema == OWN_SCHEMA {
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
}

impl<'n, 's> CatalogNames<'n, 's> {
    pub(crate) fn new(sql: &'n Sql, transaction: &'n Transaction<'s>) -> CatalogNames<'n, 's> {
        CatalogNames { sql, transaction, used: RefCell::default(), beside: RefCell::default() }
    }

    /// The tables that were looked up.
    pub(crate) fn used(&self) -> Vec<Arc<Relation>> {
        self.used.take()
    }

    /// The tables that were looked up beside those which the statement names.
    pub(crate) fn used_beside(&self) -> Vec<Arc<Relation>> {
        self.beside.take()
    }
}

impl Names for CatalogNames<'_, '_> {
    fn relation(&self, name: &Name) -> Result<Option<Arc<Relation>>> {
        let found = self.sql.find(self.transaction, name)?;
        self.used.borrow_mut().extend(found.clone());
        Ok(found)
    }

    fn beside(&self, name: &Name) -> Result<Option<Arc<Relation>>> {
        let found = self.sql.find(self.transaction, name)?;
        self.beside.borrow_mut().extend(found.clone());
        Ok(found)
    }

    fn view(&self, _name: &Name) -> Result<Option<View>> {
        Ok(None)
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
