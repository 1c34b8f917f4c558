//! What depends on what: views, and materialized ones, on tables and on each other.

use std::sync::Arc;

use super::{Defined, Definer};
use crate::catalog::name::{Name, PUBLIC};
use crate::catalog::objects::{self, Kind, ViewEntry};
use crate::catalog::rights::Object;
use crate::error::{Result, SqlError, SqlState};

/// A view that goes, and why.
pub(super) struct Dependent {
    pub(super) view: Name,
    /// Whether it is one or a materialized one.
    pub(super) kind: Kind,
    /// As in `view v depends on table t`.
    pub(super) line: String,
}

impl Definer<'_, '_> {
    /// A name as messages show it.
    pub(super) fn shown(&self, name: &Name) -> String {
        match name.schema == PUBLIC || self.settings.schemas().any(|schema| schema == name.schema) {
            true => name.name.clone(),
            false => format!("{}.{}", name.schema, name.name),
        }
    }

    /// The views that use a table or view, or a column of it, in the order in which they were made.
    fn views_on(&self, name: &Name, column: Option<&str>) -> Result<Vec<(Kind, Name, Arc<ViewEntry>)>> {
        let uses = |view: &ViewEntry| {
            view.tables.iter().filter(|reference| reference.is_to(name)).any(|reference| match column {
                None => true,
                Some(column) => reference.columns.iter().any(|known| known.is_used && known.name == column),
            })
        };
        let objects = self.objects()?;
        let found = objects.queries().filter(|(_, _, view)| uses(view));
        let mut found: Vec<_> = found.map(|(kind, name, view)| (kind, name.clone(), view.clone())).collect();
        found.sort_by_key(|(_, _, view)| view.number);
        Ok(found)
    }

    /// Adds the views that use a table or view, or a column of it, and those that use these.
    pub(super) fn dependents(
        &self,
        what: &str,
        name: &Name,
        column: Option<&str>,
        found: &mut Vec<Dependent>,
    ) -> Result<()> {
        for (kind, view, _) in self.views_on(name, column)? {
            if found.iter().any(|known| known.view == view) {
                continue;
            }
            let shown = format!("{} {}", kind.text(), self.shown(&view));
            found.push(Dependent { line: format!("{shown} depends on {what}"), kind, view: view.clone() });
            self.dependents(&shown, &view, None, found)?;
        }
        Ok(())
    }

    /// Refuses that something goes which views depend on, or drops these. `what` is as in `table t`.
    pub(super) fn release(
        &self,
        what: &str,
        name: &Name,
        column: Option<&str>,
        cascade: bool,
        going: &[Name],
        defined: &mut Defined,
    ) -> Result<()> {
        let mut found = Vec::new();
        let of_column = column.map(|column| format!("column {column} of {what}"));
        let what = of_column.as_deref().unwrap_or(what);
        self.dependents(what, name, column, &mut found)?;
        found.retain(|dependent| !going.contains(&dependent.view));
        if found.is_empty() {
            return Ok(());
        }
        let lines: Vec<&str> = found.iter().map(|dependent| dependent.line.as_str()).collect();
        if !cascade {
            let message = format!("cannot drop {what} because other objects depend on it");
            return Err(SqlError::new(SqlState::DependentObjectsStillExist, message)
                .with_detail(lines.join("\n"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let gone: Vec<String> = found.iter().map(|dependent| self.shown_dependent(dependent)).collect();
        found.iter().try_for_each(|dependent| self.remove_dependent(dependent))?;
        self.say_gone(&gone, defined);
        Ok(())
    }

    /// Tells what went with something else.
    pub(super) fn say_gone(&self, gone: &[String], defined: &mut Defined) {
        let notice = match gone {
            [] => return,
            [one] => SqlError::new(SqlState::SuccessfulCompletion, format!("drop cascades to {one}")),
            several => {
                let message = format!("drop cascades to {} other objects", several.len());
                let lines: Vec<String> = several.iter().map(|one| format!("drop cascades to {one}")).collect();
                SqlError::new(SqlState::SuccessfulCompletion, message).with_detail(lines.join("\n"))
            }
        };
        defined.notices.push(notice);
    }

    pub(super) fn shown_dependent(&self, dependent: &Dependent) -> String {
        format!("{} {}", dependent.kind.text(), self.shown(&dependent.view))
    }

    pub(super) fn remove_dependent(&self, dependent: &Dependent) -> Result<()> {
        match dependent.kind {
            Kind::Materialized => self.remove_materialized(&dependent.view),
            _ => self.remove_view(&dependent.view),
        }
    }

    /// Removes a view and what is known of it.
    pub(super) fn remove_view(&self, name: &Name) -> Result<()> {
        objects::remove(self.transaction, Kind::View, &name.engine())?;
        self.forget_rights(&Object::View(name.clone()))
    }

    /// Refuses another type for a column that a view uses.
    pub(super) fn refuse_new_type(&self, name: &Name, column: &str) -> Result<()> {
        match self.views_on(name, Some(column))?.first() {
            None => Ok(()),
            Some((kind, view, _)) => {
                let view = format!("{} {}", kind.text(), self.shown(view));
                let detail = format!("rule _RETURN on {view} depends on column \"{column}\"");
                let message = "cannot alter type of a column used by a view or rule";
                Err(SqlError::new(SqlState::FeatureNotSupported, message).with_detail(detail))
            }
        }
    }

    /// Changes what views know of a table or view.
    fn change_references(&self, name: &Name, change: &dyn Fn(&mut objects::Reference)) -> Result<()> {
        for (kind, view, entry) in self.views_on(name, None)? {
            let mut entry = ViewEntry::clone(&entry);
            entry.tables.iter_mut().filter(|reference| reference.is_to(name)).for_each(change);
            objects::put(self.transaction, kind, &view.engine(), &entry)?;
        }
        Ok(())
    }

    /// A table or a view has another name.
    pub(super) fn relation_renamed(&self, old: &Name, new: &Name) -> Result<()> {
        self.change_references(old, &|reference| {
            reference.schema.clone_from(&new.schema);
            reference.name.clone_from(&new.name);
        })?;
        self.move_rights(&Object::Table(old.clone()), &Object::Table(new.clone()))
    }

    /// A column has another name.
    pub(super) fn column_renamed(&self, table: &Name, old: &str, new: &str) -> Result<()> {
        self.change_references(table, &|reference| {
            for known in reference.columns.iter_mut().filter(|known| known.name == old) {
                new.clone_into(&mut known.name);
            }
        })?;
        self.change_columns_in_rights(table, old, Some(new))
    }

    /// A column is gone.
    pub(super) fn column_dropped(&self, table: &Name, column: &str) -> Result<()> {
        self.change_references(table, &|reference| reference.columns.retain(|known| known.name != column))?;
        self.change_columns_in_rights(table, column, None)
    }

    fn change_columns_in_rights(&self, table: &Name, old: &str, new: Option<&str>) -> Result<()> {
        let object = Object::Table(table.clone());
        let objects = self.objects()?;
        let Some(list) = objects.lists.get(&object.key()) else { return Ok(()) };
        let mut list = list.clone();
        match new {
            None => list.retain(|grant| grant.column.as_deref() != Some(old)),
            Some(new) => {
                for grant in list.iter_mut().filter(|grant| grant.column.as_deref() == Some(old)) {
                    grant.column = Some(new.to_owned());
                }
            }
        }
        objects::put(self.transaction, Kind::Rights, &object.key(), &list)
    }
}
