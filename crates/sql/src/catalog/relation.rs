//! A table as statements see it: its columns with their SQL types, its keys, and what its rows must keep.
//!
//! Invariants:
//! - Columns have the positions of the engine's schema. Those that statements see are the first ones ([`Relation::visible`]);
//!   behind them are those that are computed for indexes, and then a hidden key.
//! - A relation is made from one handle of the table. Where the table has changed since, the engine refuses the handle.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use osier::Table;
use osier::table::ColumnId;
use sqlparser::ast;

use super::name::{Name, made_name};
use super::notes::{Computed, HIDDEN_KEY, Identity, Notes, read_type};
use super::rights::Object;
use crate::enumeration::EnumType;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::parse::quote::quoted;
use crate::types::Declared;
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
    /// The types that users have made which columns have, and expressions name.
    pub(crate) types: Vec<EnumType>,
    /// What the columns mean that are computed for indexes, once that was asked for.
    meanings: OnceLock<Vec<Meaning>>,
}

/// What a column means that is computed for indexes.
#[derive(Debug)]
pub(crate) struct Meaning {
    pub(crate) column: usize,
    pub(crate) computed: Computed,
    /// Over the rows of the table.
    pub(crate) expr: Expr,
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
    /// What it is to indexes, where statements do not see it.
    pub(crate) computed: Option<Computed>,
    /// The column that says where it is computed, if it is not everywhere.
    pub(crate) within: Option<String>,
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
    /// Of its keys, as they were declared; empty where nothing was said. Rows lie in ascending order in any case.
    pub(crate) orders: Vec<u8>,
}

impl Relation {
    /// Reads what `table` is to SQL.
    pub(crate) fn of(table: &Table) -> Result<Arc<Relation>> {
        let schema = table.schema();
        let name = Name::of_engine(schema.name());
        let notes = Notes::of(schema)?;
        let types: Vec<EnumType> = notes.iter().flat_map(|notes| &notes.types).map(EnumType::of).collect();
        let known = |number| types.iter().find(|ty| ty.oid() == number).copied();
        let positions = |ids: &[ColumnId]| ids.iter().map(|id| usize::from(id.0)).collect::<Vec<_>>();
        let mut columns = Vec::with_capacity(schema.columns().len());
        for (at, column) in schema.columns().iter().enumerate() {
            let note = notes.as_ref().map(|notes| &notes.columns[at]);
            columns.push(Column {
                name: column.name().to_owned(),
                declared: match note {
                    Some(note) => read_type(&note.ty, &known)?,
                    None => storage::declared_of(column.ty()),
                },
                is_nullable: column.is_nullable(),
                default: note.and_then(|note| note.default.clone()),
                is_generated: note.is_some_and(|note| note.is_generated),
                computed: note.and_then(|note| note.computed),
                within: note.and_then(|note| note.within.clone()),
                identity: note.and_then(|note| note.identity),
                collation: note.and_then(|note| note.collation.clone()),
            });
        }
        let indexes = schema.indexes().iter().map(|index| Index {
            name: index.name().to_owned(),
            columns: positions(index.columns()),
            is_unique: index.is_unique(),
            orders: notes.as_ref().and_then(|notes| notes.orders.get(index.name())).cloned().unwrap_or_default(),
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
            types,
            has_hidden_key,
            meanings: OnceLock::new(),
        }))
    }

    /// Whether it has the rows of a query, which no statement changes.
    pub(crate) fn is_materialized(&self) -> bool {
        self.notes.populated.is_some()
    }

    /// Refuses to read a materialized view that nothing has been put into.
    pub(crate) fn need_populated(&self) -> Result<()> {
        if self.notes.populated != Some(false) {
            return Ok(());
        }
        let message = format!("materialized view \"{}\" has not been populated", self.name.name);
        Err(SqlError::new(SqlState::ObjectNotInPrerequisiteState, message)
            .with_hint("Use the REFRESH MATERIALIZED VIEW command."))
    }

    /// What rights on it are on.
    pub(crate) fn object(&self) -> Object {
        match self.is_materialized() {
            true => Object::Materialized(self.name.clone()),
            false => Object::Table(self.name.clone()),
        }
    }

    /// How many columns statements see: the first ones.
    pub(crate) fn visible(&self) -> usize {
        self.computed().start
    }

    /// The positions of the columns that are computed for indexes.
    pub(crate) fn computed(&self) -> Range<usize> {
        let end = self.columns.len() - usize::from(self.has_hidden_key);
        let count = self.columns[..end].iter().rev().take_while(|column| column.computed.is_some()).count();
        end - count..end
    }

    /// Says what the columns mean that are computed for indexes.
    pub(crate) fn set_meanings(&self, meanings: Vec<Meaning>) {
        // Whoever was faster said the same.
        drop(self.meanings.set(meanings));
    }

    /// What the columns mean that are computed for indexes.
    pub(crate) fn meanings(&self) -> &[Meaning] {
        self.meanings.get().map_or(&[], Vec::as_slice)
    }

    /// The text of the condition of a partial index with these columns.
    pub(crate) fn predicate(&self, columns: &[usize]) -> Option<&str> {
        let first = &self.columns[*columns.first()?];
        first.default.as_deref().filter(|_| first.computed == Some(Computed::Predicate))
    }

    /// The columns of an index without its condition.
    pub(crate) fn keys<'c>(&self, columns: &'c [usize]) -> &'c [usize] {
        &columns[usize::from(self.predicate(columns).is_some())..]
    }

    /// The text of the expression of a computed column.
    pub(crate) fn expression(&self, at: usize) -> Option<&str> {
        let column = &self.columns[at];
        column.computed.and(column.default.as_deref())
    }

    /// A column of a key as an index declares it: its name, or an expression.
    pub(crate) fn key_text(&self, at: usize) -> String {
        self.expression(at).map_or_else(|| quoted(&self.columns[at].name), shown_expression)
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

/// An expression as an index declares it: a call of a function stands by itself.
pub(crate) fn shown_expression(text: &str) -> String {
    match crate::parse::expression(text) {
        Ok(ast::Expr::Function(_)) => text.to_owned(),
        _ => format!("({text})"),
    }
}
