//! A table as statements see it: its columns with their SQL types, its keys, and what its rows must keep.
//!
//! Invariants:
//! - Columns have the positions of the engine's schema. A hidden key is the last one, and is left out of [`Relation::visible`].
//! - A relation is made from one handle of the table. Where the table has changed since, the engine refuses the handle.

use std::sync::Arc;

use osier::Table;
use osier::table::ColumnId;

use super::name::{Name, made_name};
use super::notes::{HIDDEN_KEY, Identity, Notes};
use crate::error::{Result, SqlError, SqlState};
use crate::types::{Declared, Type};
use crate::value::storage;

/// A table.
#[derive(Debug)]
pub(crate) struct Relation {
    pub(crate) table: Table,
    pub(crate) name: Name,
    pub(crate) columns: Vec<Column>,
    /// Positions of the columns of the primary key, in key order.
    pub(crate) key: Vec<usize>,
    /// What the key's constraint is called.
    pub(crate) key_name: String,
    pub(crate) has_hidden_key: bool,
    pub(crate) indexes: Vec<Index>,
    pub(crate) notes: Notes,
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) declared: Declared,
    pub(crate) is_nullable: bool,
    /// An expression.
    pub(crate) default: Option<String>,
    /// Whether the default is what each row has, computed of its other columns.
    pub(crate) is_generated: bool,
    pub(crate) identity: Option<Identity>,
    /// The collation that it was declared with.
    pub(crate) collation: Option<String>,
}

/// A secondary index.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub(crate) name: String,
    pub(crate) columns: Vec<usize>,
    pub(crate) is_unique: bool,
}

impl Relation {
    /// Reads what `table` is to SQL.
    pub(crate) fn of(table: &Table) -> Result<Arc<Relation>> {
        let schema = table.schema();
        let name = Name::of_engine(schema.name());
        let notes = Notes::of(schema)?;
        let positions = |ids: &[ColumnId]| ids.iter().map(|id| usize::from(id.0)).collect::<Vec<_>>();
        let mut columns = Vec::with_capacity(schema.columns().len());
        for (at, column) in schema.columns().iter().enumerate() {
            let note = notes.as_ref().map(|notes| &notes.columns[at]);
            columns.push(Column {
                name: column.name().to_owned(),
                declared: match note {
                    Some(note) => declared_named(&note.ty)?,
                    None => storage::declared_of(column.ty()),
                },
                is_nullable: column.is_nullable(),
                default: note.and_then(|note| note.default.clone()),
                is_generated: note.is_some_and(|note| note.is_generated),
                identity: note.and_then(|note| note.identity),
                collation: note.and_then(|note| note.collation.clone()),
            });
        }
        let indexes = schema.indexes().iter().map(|index| Index {
            name: index.name().to_owned(),
            columns: positions(index.columns()),
            is_unique: index.is_unique(),
        });
        let has_hidden_key = columns.last().is_some_and(|column| column.name == HIDDEN_KEY);
        let key_name = notes.as_ref().and_then(|notes| notes.primary_key.clone());
        Ok(Arc::new(Relation {
            key: positions(schema.primary_key()),
            key_name: key_name.unwrap_or_else(|| made_name(&name.name, None, "pkey")),
            indexes: indexes.collect(),
            notes: notes.unwrap_or_else(|| Notes::new(crate::sql::Sql::FIRST_ROLE)),
            table: table.clone(),
            name,
            columns,
            has_hidden_key,
        }))
    }

    /// How many columns statements see: the first ones.
    pub(crate) fn visible(&self) -> usize {
        self.columns.len() - usize::from(self.has_hidden_key)
    }

    /// The position of a column that statements see.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.columns[..self.visible()].iter().position(|column| column.name == name)
    }

    /// The position of a column, which must be there.
    pub(crate) fn need(&self, name: &str) -> Result<usize> {
        self.position(name).ok_or_else(|| {
            let message = format!("column \"{name}\" of relation \"{}\" does not exist", self.name.name);
            SqlError::new(SqlState::UndefinedColumn, message)
        })
    }

    /// The number of the table in the catalog.
    pub(crate) fn oid(&self) -> u32 {
        self.notes.oid.unwrap_or_else(|| super::table_oid(self.table.id()))
    }
}

/// Reads a type as [`Declared`] shows it.
pub(crate) fn declared_named(text: &str) -> Result<Declared> {
    if let Some(ty) = Type::of_name(text) {
        return Ok(ty.into());
    }
    crate::parse::declared(text)
}
