//! `pg_catalog` and `information_schema`: relations whose rows are made from what the transaction that asks sees.
//!
//! A relation is either a table, whose rows a function of this folder makes, or a view with a query over others. Names, columns
//! and types are those of PostgreSQL 15 ([`relations.txt`](../../../src/catalog/system/relations.txt)).
//!
//! Invariants:
//! - A relation whose rows nothing makes is empty: there is nothing of what it lists.
//! - Rows that a key leaves out are left out of nothing else: conditions stay with the scan.
//! - Types that there are none of here are replaced: `pg_node_tree`, `pg_lsn` and `anyarray` by `text`, `aclitem[]` and
//!   `regtype[]` by `text[]`.

mod acl;
mod answer;
mod class;
mod comment;
mod definition;
mod deparse;
mod describe;
mod key;
mod kind;
mod object;
mod privilege;
mod registered;
mod relation;
mod role;
mod routine;
mod server;
mod snapshot;
mod statistics;
mod view;

pub(crate) use answer::{answer, sequence_name};
pub(crate) use comment::{Commented, comments, forget, remark};
pub(crate) use definition::foreign_key_to;
pub(crate) use relation::{Kind, SystemColumn, SystemRelation, named, refuse_change};

use std::cell::OnceCell;

use crate::datum::Datum;
use crate::error::Result;
use crate::run::Row;
use crate::run::store::Store;
use crate::settings::Settings;
use crate::sql::Sql;
use crate::types::Type;
use snapshot::Snapshot;

/// The number of the schema `pg_catalog`.
pub(crate) const PG_CATALOG: u32 = 11;
/// The number of the schema `public`.
const PUBLIC: u32 = 2200;
/// The number of the schema `information_schema`.
const INFORMATION_SCHEMA: u32 = 13_207;
/// The number of the role that there is from the start.
const FIRST_ROLE: u32 = 10;
/// The number of the only database.
const DATABASE: u32 = 5;
/// The number of the method in which tables are stored.
const HEAP: u32 = 2;
/// The number of the method of all indexes.
const BTREE: u32 = 403;

/// What a statement has seen of the catalog, which is read when it is asked for first.
#[derive(Default)]
pub(crate) struct Seen(OnceCell<Snapshot>);

/// The catalog as a statement sees it.
#[derive(Clone, Copy)]
pub(crate) struct Catalog<'c> {
    pub(crate) sql: &'c Sql,
    pub(crate) store: &'c dyn Store,
    pub(crate) settings: &'c Settings,
    pub(crate) user: &'c str,
    pub(crate) statement_start_us: i64,
    pub(crate) advisory: &'c osier::advisory::Advisory,
    /// The statements that the session has prepared under names.
    pub(crate) prepared: &'c dyn Statements,
    pub(crate) seen: &'c Seen,
}

/// Statements that a session has prepared.
pub(crate) trait Statements {
    /// Those that have names.
    fn listed(&self) -> Vec<PreparedRow>;
}

/// A statement that was prepared under a name.
pub(crate) struct PreparedRow {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) since_us: i64,
    pub(crate) parameters: Vec<Type>,
    /// Whether `PREPARE` has made it, and not a message of the protocol.
    pub(crate) is_of_sql: bool,
}

/// A value that a column of the wanted rows has.
pub(crate) type Wanted<'w> = Option<(usize, &'w Datum)>;

impl<'c> Catalog<'c> {
    /// All objects.
    fn snapshot(&self) -> Result<&'c Snapshot> {
        if let Some(known) = self.seen.0.get() {
            return Ok(known);
        }
        let read = Snapshot::read(self)?;
        Ok(self.seen.0.get_or_init(|| read))
    }

    /// The schemas in which names are looked up: those of the path that are there and that the user may use.
    fn schemas(&self) -> Result<Vec<&'c str>> {
        let objects = &self.snapshot()?.beside;
        let mut seen = Vec::new();
        for schema in self.settings.schemas().filter(|schema| objects.may_use(self.settings, schema)) {
            if !seen.contains(&schema) {
                seen.push(schema);
            }
        }
        Ok(seen)
    }

    /// The rows of a relation.
    pub(crate) fn rows(&self, relation: &str, wanted: Wanted<'_>) -> Result<Vec<Row>> {
        let relation = relation::of_table(relation);
        let scope = object::Scope::of(relation, wanted);
        let rows = match relation.name {
            "pg_rewrite" => view::rules(self)?,
            "pg_namespace" => class::namespaces(self)?,
            "pg_class" => class::classes(self, scope)?,
            "pg_attribute" => class::attributes(self, scope)?,
            "pg_attrdef" => class::defaults(self, scope)?,
            "pg_sequence" => class::sequences(self, scope)?,
            "pg_index" => key::indexes(self, scope)?,
            "pg_constraint" => key::constraints(self, scope)?,
            "pg_depend" => key::dependencies(self)?,
            "pg_type" => kind::types(self)?,
            "pg_enum" => kind::labels(self)?,
            "pg_cast" => kind::casts(),
            "pg_collation" => kind::collations(),
            "pg_am" => kind::methods(),
            "pg_opfamily" => kind::families(),
            "pg_opclass" => kind::classes(),
            "pg_language" => routine::languages(),
            "pg_proc" => routine::routines(self)?,
            "pg_operator" => routine::operators(),
            "pg_authid" => role::roles(self)?,
            "pg_auth_members" => role::members(self)?,
            "pg_description" => comment::descriptions(self)?,
            "pg_shdescription" => comment::shared_descriptions(self)?,
            "pg_database" => server::databases(),
            "pg_tablespace" => server::tablespaces(),
            "pg_stats" => statistics::columns(self)?,
            "pg_extension" => server::extensions(self)?,
            "pg_available_extensions" => server::available_extensions(self)?,
            "pg_settings" => server::settings(self),
            "pg_stat_activity" => server::activity(self)?,
            "pg_locks" => server::locks(self),
            "pg_prepared_statements" => server::prepared(self),
            "pg_timezone_names" => server::time_zones(self),
            // There is nothing of what it lists.
            _ => Vec::new(),
        };
        debug_assert!(rows.iter().all(|row| row.len() == relation.columns.len()), "{}", relation.name);
        Ok(rows)
    }
}

/// A text of the catalog.
fn text(text: impl AsRef<str>) -> Datum {
    Datum::text(text.as_ref())
}

/// A number of the catalog.
fn oid(oid: u32) -> Datum {
    Datum::Int(oid.into())
}

/// An array of values.
fn array(values: impl IntoIterator<Item = Datum>) -> Datum {
    Datum::Array(values.into_iter().collect())
}

#[cfg(test)]
mod tests;
