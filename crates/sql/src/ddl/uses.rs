//! Who names a sequence: defaults of columns, checks and views.

use std::cell::RefCell;
use std::sync::Arc;

use super::blueprint::Blueprint;
use super::{Defined, Definer};
use crate::catalog::name::{Name, PUBLIC};
use crate::catalog::objects::Kind;
use crate::catalog::relation::Relation;
use crate::catalog::temporary::has_number;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;

/// The tables and the views that name a sequence.
type Users = (Vec<Arc<Relation>>, Vec<(Kind, Name)>);

/// Whether a text that the catalog keeps names a sequence.
fn names(text: &str, sequence: &Name) -> Result<bool> {
    let found = RefCell::new(false);
    parse::sequence::renamed(text, &|name| {
        *found.borrow_mut() |= is_it(name, sequence);
        Ok(None)
    })?;
    Ok(found.into_inner())
}

/// Whether a name in such a text is that of a sequence: one without a schema is of `public`.
fn is_it(name: &str, sequence: &Name) -> bool {
    match parse::object_name(name).unwrap_or_default().as_slice() {
        [name] => sequence.schema == PUBLIC && sequence.name == *name,
        [schema, name] => sequence.schema == *schema && sequence.name == *name,
        _ => false,
    }
}

impl Definer<'_, '_> {
    /// Refuses that something permanent names a temporary sequence in a text.
    pub(super) fn refuse_temporary_in(&self, text: &str) -> Result<()> {
        let refuse = |name: &str| match &parse::object_name(name)?[..] {
            [schema, name] if has_number(schema) && self.objects()?.is_temporary(schema) => {
                let message = format!("something permanent cannot use the temporary sequence \"{name}\"");
                Err(SqlError::new(SqlState::InvalidTableDefinition, message)
                    .with_hint("Make it temporary, too, or use a sequence that is not."))
            }
            _ => Ok(None),
        };
        parse::sequence::renamed(text, &refuse).map(drop)
    }

    /// Refuses that a permanent table names a temporary sequence.
    pub(super) fn refuse_temporary_sequences(&self, relation: &Relation) -> Result<()> {
        if relation.is_temporary() {
            return Ok(());
        }
        let defaults = relation.columns.iter().filter_map(|column| column.default.as_deref());
        let checks = relation.notes.checks.iter().map(|check| check.expression.as_str());
        defaults.chain(checks).try_for_each(|text| self.refuse_temporary_in(text))
    }

    /// The tables that name a sequence in a default, but for some, and the views that do.
    fn users_of_sequence(&self, sequence: &Name, but: &[Name]) -> Result<Users> {
        let mut tables = Vec::new();
        for engine in self.tables_about(&sequence.schema)? {
            let name = Name::of_engine(&engine);
            let Some(relation) = self.sql.find(self.transaction, &name)? else { continue };
            if but.contains(&name) {
                continue;
            }
            let defaults = relation.columns.iter().filter_map(|column| column.default.as_deref());
            let checks = relation.notes.checks.iter().map(|check| check.expression.as_str());
            let mut uses = false;
            for text in defaults.chain(checks) {
                uses |= names(text, sequence)?;
            }
            if uses {
                tables.push(relation);
            }
        }
        let mut views = Vec::new();
        for (kind, name, view) in self.objects()?.queries() {
            if view.tables.iter().any(|reference| reference.is_to(sequence)) || names(&view.query, sequence)? {
                views.push((kind, name.clone()));
            }
        }
        Ok((tables, views))
    }

    /// Refuses to drop a sequence that something names, or takes it from the defaults that name it.
    pub(super) fn release_sequence(&self, sequence: &Name, cascades: bool, defined: &mut Defined) -> Result<()> {
        let what = format!("sequence {}", self.shown(sequence));
        self.release_sequence_of(&what, sequence, &[], cascades, defined)
    }

    /// As [`Definer::release_sequence`], of the sequence of something that is dropped with it, as tables are that are not asked.
    pub(super) fn release_sequence_of(
        &self,
        dropped: &str,
        sequence: &Name,
        but: &[Name],
        cascades: bool,
        defined: &mut Defined,
    ) -> Result<()> {
        let (tables, views) = self.users_of_sequence(sequence, but)?;
        let mut lines = Vec::new();
        for relation in &tables {
            for column in &relation.columns {
                if column.default.as_deref().map_or(Ok(false), |text| names(text, sequence))? {
                    let table = self.shown(&relation.name);
                    lines.push(format!("default value for column {} of table {table}", column.name));
                }
            }
        }
        lines.extend(views.iter().map(|(kind, view)| format!("{} {}", kind.text(), self.shown(view))));
        if lines.is_empty() {
            return Ok(());
        }
        let what = format!("sequence {}", self.shown(sequence));
        if !cascades {
            let lines: Vec<String> = lines.iter().map(|line| format!("{line} depends on {what}")).collect();
            let message = format!("cannot drop {dropped} because other objects depend on it");
            return Err(SqlError::new(SqlState::DependentObjectsStillExist, message)
                .with_detail(lines.join("\n"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        if let Some((kind, view)) = views.first() {
            let message = format!("dropping a sequence that the {} {} uses", kind.text(), self.shown(view));
            return Err(SqlError::unsupported(message).with_hint("Drop the view first."));
        }
        for relation in &tables {
            let mut blueprint = Blueprint::of(relation);
            for column in &mut blueprint.columns {
                if column.default.as_deref().map_or(Ok(false), |text| names(text, sequence))? {
                    column.default = None;
                }
            }
            self.transaction.annotate_table(&relation.table, blueprint.schema()?.notes().to_owned())?;
        }
        self.say_gone(&lines, defined);
        Ok(())
    }

    /// Says in defaults and checks what a sequence is called now; `but` is a table that is made anew with it.
    pub(super) fn sequence_renamed(&self, old: &Name, new: &Name, but: Option<&Name>) -> Result<()> {
        let but = but.cloned().into_iter().collect::<Vec<_>>();
        let (tables, views) = self.users_of_sequence(old, &but)?;
        if let Some((kind, view)) = views.first() {
            let message = format!("another name for a sequence that the {} {} uses", kind.text(), self.shown(view));
            return Err(SqlError::unsupported(message).with_hint("Drop the view first."));
        }
        let rename = |name: &str| Ok(is_it(name, old).then(|| parse::sequence::shown(new)));
        for relation in tables {
            let mut blueprint = Blueprint::of(&relation);
            for column in &mut blueprint.columns {
                let default = column.default.take();
                column.default = default.map(|text| parse::sequence::renamed(&text, &rename)).transpose()?;
            }
            for check in &mut blueprint.checks {
                check.expression = parse::sequence::renamed(&check.expression, &rename)?;
            }
            self.transaction.annotate_table(&relation.table, blueprint.schema()?.notes().to_owned())?;
        }
        Ok(())
    }
}
