//! The system tables: ordinary tables of the engine with fixed ids and schemas, which only definitions write. A table that a
//! database does not have yet is empty.
//!
//! ```text
//! osier_tables             1  (name text primary key, id bigint, definition bytea)
//! osier_sequences          2  (name text primary key, id bigint, increment bigint, minimum bigint, maximum bigint,
//!                              start bigint, cycle boolean, cache bigint, next bigint null)
//! osier_procedures         3  (name text primary key, id bigint, version bigint)
//! osier_procedure_versions 4  (id bigint, version bigint, name text, kind text, definition bytea, primary key (id, version))
//! ```
//!
//! Invariants:
//! - Ids and schemas never change, and no system table has a row in `osier_tables`.
//! - Nothing but a system table gets a name that begins with [`RESERVED_PREFIX`].

use crate::ids::{Stamp, TableId};
use crate::table::store::Store;
use crate::table::{Schema, SchemaBuilder, SchemaError, Table, Type};

/// The table of tables.
pub(crate) const TABLES: TableId = TableId(1);
/// The table of sequences.
pub(crate) const SEQUENCES: TableId = TableId(2);
/// The table of the current definitions of procedures.
pub(crate) const PROCEDURES: TableId = TableId(3);
/// The table of all versions of procedures.
pub(crate) const PROCEDURE_VERSIONS: TableId = TableId(4);

/// How the names of system tables begin.
pub(crate) const RESERVED_PREFIX: &str = "osier_";

/// Handles on the system tables.
#[derive(Clone)]
pub(crate) struct SystemTables {
    pub(crate) tables: Table,
    pub(crate) sequences: Table,
    pub(crate) procedures: Table,
    pub(crate) procedure_versions: Table,
}

impl SystemTables {
    /// Opens them over the trees of `store`.
    pub(crate) fn new(store: &Store) -> Result<SystemTables, SchemaError> {
        let open = |id, schema: SchemaBuilder| {
            assert!(id < TableId::FIRST_USER, "the ids of system tables are below those of others");
            Table::new(id, schema.build()?, store.tree(id), |_| store.new_tree(), Some(Stamp::ZERO))
        };
        Ok(SystemTables {
            tables: open(TABLES, tables())?,
            sequences: open(SEQUENCES, sequences())?,
            procedures: open(PROCEDURES, procedures())?,
            procedure_versions: open(PROCEDURE_VERSIONS, procedure_versions())?,
        })
    }

    /// Returns all of them, by id.
    pub(crate) fn all(&self) -> [&Table; 4] {
        [&self.tables, &self.sequences, &self.procedures, &self.procedure_versions]
    }

    /// Whether `table` is one of these handles.
    pub(crate) fn holds(&self, table: &Table) -> bool {
        table.id < TableId::FIRST_USER && self.all().into_iter().any(|system| system.is_same(table))
    }

    /// Returns the one of that name.
    pub(crate) fn named(&self, name: &str) -> Option<&Table> {
        if !name.starts_with(RESERVED_PREFIX) {
            return None;
        }
        self.all().into_iter().find(|table| table.name() == name)
    }
}

fn tables() -> SchemaBuilder {
    let schema = Schema::builder("osier_tables").column("name", Type::Text).column("id", Type::Int64);
    schema.column("definition", Type::Bytes).primary_key(["name"])
}

fn sequences() -> SchemaBuilder {
    let schema = Schema::builder("osier_sequences").column("name", Type::Text).column("id", Type::Int64);
    let schema = schema.column("increment", Type::Int64).column("minimum", Type::Int64).column("maximum", Type::Int64);
    let schema = schema.column("start", Type::Int64).column("cycle", Type::Bool).column("cache", Type::Int64);
    schema.nullable_column("next", Type::Int64).primary_key(["name"])
}

fn procedures() -> SchemaBuilder {
    let schema = Schema::builder("osier_procedures").column("name", Type::Text).column("id", Type::Int64);
    schema.column("version", Type::Int64).primary_key(["name"])
}

fn procedure_versions() -> SchemaBuilder {
    let schema = Schema::builder("osier_procedure_versions").column("id", Type::Int64).column("version", Type::Int64);
    let schema = schema.column("name", Type::Text).column("kind", Type::Text).column("definition", Type::Bytes);
    schema.primary_key(["id", "version"])
}
