//! Foreign keys of a table that is written: those that it has, those that refer to it, and those of tables that these write.

use std::sync::Arc;

use super::Binder;
use crate::catalog::name::Name;
use crate::catalog::notes::{Action, ForeignKeyNote};
use crate::catalog::relation::Relation;
use crate::error::{Result, SqlError, SqlState};
use crate::plan::foreign::{ForeignKey, KeyedTable, Keys, Lookup};

impl Binder<'_> {
    /// The foreign keys that concern writes of a table; `None` where there are none. Rows that are only added concern no key
    /// that refers to the table.
    pub(crate) fn keys(&self, relation: &Arc<Relation>, only_adds: bool) -> Result<Option<Arc<Keys>>> {
        let notes = &relation.notes;
        if notes.foreign_keys.is_empty() && (only_adds || notes.referenced_by.is_empty()) {
            return Ok(None);
        }
        let mut keys = Keys::default();
        self.keyed_table(&mut keys, relation)?;
        let mut at = 0;
        while at < keys.tables.len() {
            self.own_keys(&mut keys, at)?;
            if at > 0 || !only_adds {
                self.referring_keys(&mut keys, at)?;
            }
            at += 1;
        }
        Ok(Some(Arc::new(keys)))
    }

    /// The position of a table, which is added where it is not there yet.
    fn keyed_table(&self, keys: &mut Keys, relation: &Arc<Relation>) -> Result<usize> {
        let is_it = |table: &KeyedTable| table.relation.table.id() == relation.table.id();
        if let Some(at) = keys.tables.iter().position(is_it) {
            return Ok(at);
        }
        let (checks, generated) = (self.checks(relation)?, self.generated(relation)?);
        let relation = relation.clone();
        keys.tables.push(KeyedTable { relation, checks, generated, own: Vec::new(), referring: Vec::new() });
        Ok(keys.tables.len() - 1)
    }

    fn own_keys(&self, keys: &mut Keys, at: usize) -> Result<()> {
        let relation = keys.tables[at].relation.clone();
        for note in &relation.notes.foreign_keys {
            let key = self.key(keys, &relation, note)?;
            keys.tables[at].own.push(key);
        }
        Ok(())
    }

    fn referring_keys(&self, keys: &mut Keys, at: usize) -> Result<()> {
        let relation = keys.tables[at].relation.clone();
        for reference in &relation.notes.referenced_by {
            let child = match reference.table == relation.table.name() {
                true => Some(relation.clone()),
                false => self.names.beside(&Name::of_engine(&reference.table))?,
            };
            // A table that was dropped without SQL refers to nothing any more.
            let Some(child) = child else { continue };
            let is_it = |note: &&ForeignKeyNote| note.name == reference.key && note.table == relation.table.name();
            let Some(note) = child.notes.foreign_keys.iter().find(is_it) else { continue };
            let key = self.key(keys, &child, note)?;
            keys.tables[at].referring.push(key);
            if note.on_delete.writes() || note.on_update.writes() {
                keys.keys[key].child_table = Some(self.keyed_table(keys, &child)?);
            }
        }
        Ok(())
    }

    fn key(&self, keys: &mut Keys, child: &Arc<Relation>, note: &ForeignKeyNote) -> Result<usize> {
        let is_it = |key: &ForeignKey| key.child.table.id() == child.table.id() && key.note.name == note.name;
        if let Some(at) = keys.keys.iter().position(is_it) {
            return Ok(at);
        }
        keys.keys.push(self.foreign_key(child, note)?);
        Ok(keys.keys.len() - 1)
    }

    /// A foreign key with its tables and columns.
    pub(crate) fn foreign_key(&self, child: &Arc<Relation>, note: &ForeignKeyNote) -> Result<ForeignKey> {
        let lost = |what: String| {
            let message = format!("foreign key \"{}\" of table \"{}\" {what}", note.name, child.name);
            SqlError::new(SqlState::ObjectNotInPrerequisiteState, message)
                .with_hint("The table was changed without SQL. Drop the constraint.")
        };
        let parent = match note.table == child.table.name() {
            true => Some(child.clone()),
            false => self.names.beside(&Name::of_engine(&note.table))?,
        };
        let parent = parent.ok_or_else(|| lost(format!("refers to table \"{}\", which is not there", note.table)))?;
        let positions = |relation: &Relation, names: &[String]| {
            let position =
                |name: &String| relation.position(name).ok_or_else(|| lost(format!("misses column \"{name}\"")));
            names.iter().map(position).collect::<Result<Vec<_>>>()
        };
        let (columns, referenced) = (positions(child, &note.columns)?, positions(&parent, &note.referenced)?);
        let parent_lookup = Lookup::find(&parent, &referenced, true)
            .ok_or_else(|| lost(format!("misses a unique index of table \"{}\"", parent.name)))?;
        let defaults = match note.on_delete == Action::SetDefault || note.on_update == Action::SetDefault {
            true => columns.iter().map(|at| self.default_of(child, *at)).collect::<Result<_>>()?,
            false => Vec::new(),
        };
        let is_set = |name: &String| note.set_columns.is_empty() || note.set_columns.contains(name);
        Ok(ForeignKey {
            set_on_delete: (0..columns.len()).filter(|at| is_set(&note.columns[*at])).collect(),
            child_lookup: Lookup::find(child, &columns, false),
            note: note.clone(),
            child: child.clone(),
            child_table: None,
            columns,
            defaults,
            parent,
            referenced,
            parent_lookup,
        })
    }
}
