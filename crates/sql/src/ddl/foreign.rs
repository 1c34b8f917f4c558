//! Foreign keys of tables: how they are declared, and what becomes of them when tables, columns and keys change.
//!
//! Invariants:
//! - The table that refers has the key in its notes, and the one that it refers to names it in its own: both change in one
//!   transaction.
//! - What is changed of the table of the statement is changed in its blueprint, and of other tables in their notes at once.

use sqlparser::ast::{ConstraintReferenceMatchKind, DeferrableInitial, ForeignKeyConstraint, Ident, ReferentialAction};

use super::Definer;
use super::blueprint::Blueprint;
use crate::bind::{Binder, undefined_table};
use crate::catalog::name::made_name;
use crate::catalog::notes::{Action, ForeignKeyNote, ReferenceNote};
use crate::catalog::rights::{Object, Rights};
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::types::{Declared, Type};
use crate::value::{self, Conversion};

impl Definer<'_, '_> {
    /// Resolves the foreign keys that were declared, and returns their names.
    pub(super) fn resolve_keys(&self, blueprint: &mut Blueprint) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for declared in std::mem::take(&mut blueprint.declared_keys) {
            let note = self.resolved_key(blueprint, declared)?;
            let reference = ReferenceNote { table: blueprint.name.engine(), key: note.name.clone() };
            self.change_keys(blueprint, &note.table, &mut |parent| parent.referenced_by.push(reference.clone()))?;
            names.push(note.name.clone());
            blueprint.foreign_keys.push(note);
        }
        Ok(names)
    }

    fn resolved_key(&self, blueprint: &Blueprint, mut declared: ForeignKeyConstraint) -> Result<ForeignKeyNote> {
        let set_columns = parse::foreign::take_set_columns(&mut declared.referred_columns);
        let parent = self.parent_of(blueprint, &declared)?;
        self.refuse_mixed(blueprint, &parent)?;
        let columns: Vec<String> = declared.columns.iter().map(parse::name).collect();
        let mut named = columns.iter().chain(&set_columns);
        if let Some(name) = named.find(|name| blueprint.column(name).is_none()) {
            let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
            return Err(SqlError::new(SqlState::UndefinedColumn, message));
        }
        let referenced = referenced_columns(&parent, &declared.referred_columns, columns.len())?;
        if let Some(name) = set_columns.iter().find(|name| !columns.contains(name)) {
            let message = format!("column \"{name}\" referenced in ON DELETE SET action must be part of foreign key");
            return Err(SqlError::new(SqlState::InvalidColumnReference, message));
        }
        self.need_reference(blueprint, &parent, &referenced)?;
        let name = match declared.name.as_ref().map(parse::name) {
            Some(name) if blueprint.has_constraint(&name) => {
                let message = format!("constraint \"{name}\" for relation \"{}\" already exists", blueprint.name.name);
                return Err(SqlError::new(SqlState::DuplicateObject, message));
            }
            Some(name) => name,
            None => blueprint.key_name(&columns),
        };
        for (own, its) in columns.iter().zip(&referenced) {
            refuse_types(&name, (blueprint, own), (&parent, its))?;
        }
        refuse_actions(blueprint, &declared, &columns)?;
        let (is_deferrable, is_deferred) = waits(&declared)?;
        Ok(ForeignKeyNote {
            name,
            columns,
            table: parent.name.engine(),
            referenced,
            is_full: match declared.match_kind {
                Some(ConstraintReferenceMatchKind::Partial) => {
                    let message = "MATCH PARTIAL not yet implemented";
                    return Err(SqlError::new(SqlState::FeatureNotSupported, message));
                }
                kind => kind == Some(ConstraintReferenceMatchKind::Full),
            },
            on_delete: action_of(declared.on_delete),
            on_update: action_of(declared.on_update),
            set_columns,
            is_deferrable,
            is_deferred,
            is_not_valid: false,
        })
    }

    /// The table that a key refers to, which may be the one that is being made.
    fn parent_of(&self, blueprint: &Blueprint, declared: &ForeignKeyConstraint) -> Result<Blueprint> {
        let names = self.names();
        for name in Binder::new(&names, self.settings, &[]).candidates(&declared.foreign_table)? {
            if name == blueprint.name {
                return Ok(blueprint.clone());
            }
            if let Some(relation) = self.sql.find(self.transaction, &name)?
                && !relation.is_materialized()
            {
                return Ok(Blueprint::of(&relation));
            }
            if self.taken(&name)?.is_some() {
                let message = format!("referenced relation \"{}\" is not a table", name.name);
                return Err(SqlError::new(SqlState::WrongObjectType, message));
            }
        }
        Err(undefined_table(&declared.foreign_table))
    }

    /// Refuses a key between a temporary table and one that is not, or that is another session's.
    fn refuse_mixed(&self, blueprint: &Blueprint, parent: &Blueprint) -> Result<()> {
        let message = match (blueprint.on_commit, parent.on_commit) {
            (None, None) => return Ok(()),
            (None, Some(_)) => "constraints on permanent tables may reference only permanent tables",
            (Some(_), None) => "constraints on temporary tables may reference only temporary tables",
            (Some(_), Some(_)) if self.settings.temporary().is_own(&parent.name.schema) => return Ok(()),
            (Some(_), Some(_)) => "constraints on temporary tables must involve temporary tables of this session",
        };
        Err(SqlError::new(SqlState::InvalidTableDefinition, message))
    }

    /// Refuses who may not refer to a table: the right must be had on all of it, or on each of the columns.
    fn need_reference(&self, blueprint: &Blueprint, parent: &Blueprint, columns: &[String]) -> Result<()> {
        if parent.name == blueprint.name || self.settings.is_superuser() {
            return Ok(());
        }
        let (objects, object) = (self.objects()?, Object::Table(parent.name.clone()));
        let has =
            |column: Option<&str>| objects.rights(self.user, &object, &parent.owner, column).has(Rights::REFERENCES);
        match has(None) || columns.iter().all(|column| has(Some(column))) {
            true => Ok(()),
            false => Err(object.denied()),
        }
    }

    /// Changes what a table has of foreign keys: in the blueprint, if that is of this table. A table that is not there, because
    /// it was dropped without SQL, has nothing to change.
    fn change_keys(
        &self,
        blueprint: &mut Blueprint,
        table: &str,
        change: &mut dyn FnMut(&mut Blueprint),
    ) -> Result<()> {
        if table == blueprint.name.engine() {
            change(blueprint);
            return Ok(());
        }
        let Some(relation) = self.sql.find(self.transaction, &crate::catalog::name::Name::of_engine(table))? else {
            return Ok(());
        };
        let mut other = Blueprint::of(&relation);
        change(&mut other);
        self.transaction.annotate_table(&relation.table, other.schema()?.notes().to_owned())?;
        Ok(())
    }

    /// The key of another table, or of this one, that refers to this one.
    fn referring_key(&self, blueprint: &Blueprint, reference: &ReferenceNote) -> Result<Option<ForeignKeyNote>> {
        let own = blueprint.name.engine();
        let is_it = |note: &&ForeignKeyNote| note.name == reference.key && note.table == own;
        if reference.table == own {
            return Ok(blueprint.foreign_keys.iter().find(is_it).cloned());
        }
        let name = crate::catalog::name::Name::of_engine(&reference.table);
        let child = self.sql.find(self.transaction, &name)?;
        Ok(child.and_then(|child| child.notes.foreign_keys.iter().find(is_it).cloned()))
    }

    /// Drops a foreign key of the table, and returns whether it was there.
    pub(super) fn drop_key(&self, blueprint: &mut Blueprint, name: &str) -> Result<bool> {
        let Some(at) = blueprint.foreign_keys.iter().position(|key| key.name == name) else { return Ok(false) };
        let note = blueprint.foreign_keys.remove(at);
        let own = blueprint.name.engine();
        self.change_keys(blueprint, &note.table, &mut |parent| {
            parent.referenced_by.retain(|reference| reference.table != own || reference.key != name);
        })?;
        Ok(true)
    }

    /// Drops the foreign keys that refer to the table and lose what they need, or refuses where there is one and the statement
    /// does not say `CASCADE`. `depends_on` says what they need, `dropped` what the statement drops.
    pub(super) fn drop_references(
        &self,
        blueprint: &mut Blueprint,
        (dropped, depends_on): (&str, &str),
        cascades: bool,
        is_lost: &dyn Fn(&Blueprint, &ReferenceNote, &ForeignKeyNote) -> bool,
    ) -> Result<Vec<SqlError>> {
        let mut lost = Vec::new();
        for reference in blueprint.referenced_by.clone() {
            let Some(note) = self.referring_key(blueprint, &reference)? else { continue };
            if is_lost(blueprint, &reference, &note) {
                let child = self.shown(&crate::catalog::name::Name::of_engine(&reference.table));
                lost.push((reference, format!("constraint {} on table {child}", note.name)));
            }
        }
        if !cascades && !lost.is_empty() {
            let details: Vec<String> = lost.iter().map(|(_, what)| format!("{what} depends on {depends_on}")).collect();
            let message = format!("cannot drop {dropped} because other objects depend on it");
            return Err(SqlError::new(SqlState::DependentObjectsStillExist, message)
                .with_detail(details.join("\n"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        for (reference, _) in &lost {
            blueprint.referenced_by.retain(|kept| kept != reference);
            self.change_keys(blueprint, &reference.table, &mut |child| {
                child.foreign_keys.retain(|key| key.name != reference.key);
            })?;
        }
        let whats: Vec<String> = lost.into_iter().map(|(_, what)| what).collect();
        Ok(cascaded(&whats))
    }

    /// Drops the foreign keys that refer to a unique key which the table does not have any more.
    pub(super) fn drop_keyless_references(
        &self,
        blueprint: &mut Blueprint,
        (dropped, index): (&str, &str),
        cascades: bool,
    ) -> Result<Vec<SqlError>> {
        let depends_on = format!("index {index}");
        self.drop_references(blueprint, (dropped, &depends_on), cascades, &|blueprint, _, note| {
            !blueprint.is_unique(&note.referenced)
        })
    }

    /// Says in the keys on both sides what a column is called now.
    pub(super) fn rename_column_in_keys(&self, blueprint: &mut Blueprint, old: &str, new: &str) -> Result<()> {
        let rename = |columns: &mut Vec<String>| {
            columns.iter_mut().filter(|column| *column == old).for_each(|column| new.clone_into(column));
        };
        for key in &mut blueprint.foreign_keys {
            rename(&mut key.columns);
            rename(&mut key.set_columns);
        }
        let own = blueprint.name.engine();
        for reference in blueprint.referenced_by.clone() {
            self.change_keys(blueprint, &reference.table, &mut |child| {
                let its = child.foreign_keys.iter_mut();
                its.filter(|key| key.name == reference.key && key.table == own)
                    .for_each(|key| rename(&mut key.referenced));
            })?;
        }
        Ok(())
    }

    /// Says in the keys on both sides what the table is called now, as its blueprint does already.
    pub(super) fn rename_table_in_keys(&self, blueprint: &mut Blueprint, old: &str) -> Result<()> {
        let new = blueprint.name.engine();
        let parents: Vec<String> = blueprint.foreign_keys.iter().map(|key| key.table.clone()).collect();
        let children: Vec<String> = blueprint.referenced_by.iter().map(|reference| reference.table.clone()).collect();
        for table in parents.into_iter().chain(children) {
            let table = if table == old { new.clone() } else { table };
            self.change_keys(blueprint, &table, &mut |other| {
                let keys = other.foreign_keys.iter_mut().map(|key| &mut key.table);
                let references = other.referenced_by.iter_mut().map(|reference| &mut reference.table);
                keys.chain(references).filter(|name| *name == old).for_each(|name| new.clone_into(name));
            })?;
        }
        Ok(())
    }

    /// Says in the notes of the other side what a key is called now.
    pub(super) fn rename_key(&self, blueprint: &mut Blueprint, old: &str, new: &str) -> Result<bool> {
        let Some(key) = blueprint.foreign_keys.iter_mut().find(|key| key.name == old) else { return Ok(false) };
        new.clone_into(&mut key.name);
        let (parent, own) = (key.table.clone(), blueprint.name.engine());
        self.change_keys(blueprint, &parent, &mut |parent| {
            let its = parent.referenced_by.iter_mut();
            its.filter(|reference| reference.table == own && reference.key == old)
                .for_each(|reference| new.clone_into(&mut reference.key));
        })?;
        Ok(true)
    }

    /// The keys of which a column is a part, on either side: the tables that have them, and their names.
    pub(super) fn keys_of_column(&self, blueprint: &Blueprint, column: &str) -> Result<Vec<(String, String)>> {
        let own = blueprint.name.engine();
        let has = |columns: &[String]| columns.iter().any(|name| name == column);
        let keys = blueprint.foreign_keys.iter().filter(|key| has(&key.columns) && !key.is_not_valid);
        let mut found: Vec<_> = keys.map(|key| (own.clone(), key.name.clone())).collect();
        for reference in &blueprint.referenced_by {
            let note = self.referring_key(blueprint, reference)?;
            if note.is_some_and(|note| has(&note.referenced) && !note.is_not_valid) {
                found.push((reference.table.clone(), reference.key.clone()));
            }
        }
        Ok(found)
    }
}

impl Blueprint {
    /// Whether a constraint of the table has this name.
    pub(super) fn has_constraint(&self, name: &str) -> bool {
        self.key.as_ref().is_some_and(|(key, _)| key == name)
            || self.indexes.iter().any(|index| index.name == name)
            || self.checks.iter().any(|check| check.name == name)
            || self.foreign_keys.iter().any(|key| key.name == name)
    }

    /// Whether no two rows have the same values of these columns.
    pub(super) fn is_unique(&self, columns: &[String]) -> bool {
        let is_it = |own: &[String]| own.len() == columns.len() && columns.iter().all(|column| own.contains(column));
        self.key.as_ref().is_some_and(|(_, own)| is_it(own))
            || self.indexes.iter().any(|index| index.is_unique && is_it(&index.columns))
    }

    /// A name that no constraint of the table has yet.
    fn key_name(&self, columns: &[String]) -> String {
        let names = (0..).map(|number: u32| {
            let label = if number == 0 { "fkey".to_owned() } else { format!("fkey{number}") };
            made_name(&self.name.name, Some(&columns.join("_")), &label)
        });
        let mut free = names.filter(|name| !self.has_constraint(name));
        free.next().unwrap_or_default()
    }
}

fn action_of(action: Option<ReferentialAction>) -> Action {
    match action {
        None | Some(ReferentialAction::NoAction) => Action::None,
        Some(ReferentialAction::Restrict) => Action::Restrict,
        Some(ReferentialAction::Cascade) => Action::Cascade,
        Some(ReferentialAction::SetNull) => Action::SetNull,
        Some(ReferentialAction::SetDefault) => Action::SetDefault,
    }
}

/// Whether a key can wait for the end of the transaction, and whether it does by itself.
fn waits(declared: &ForeignKeyConstraint) -> Result<(bool, bool)> {
    let Some(characteristics) = declared.characteristics else { return Ok((false, false)) };
    if characteristics.enforced.is_some() {
        return Err(SqlError::unsupported("ENFORCED"));
    }
    let is_deferred = characteristics.initially == Some(DeferrableInitial::Deferred);
    if is_deferred && characteristics.deferrable == Some(false) {
        let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
        return Err(SqlError::new(SqlState::SyntaxError, message));
    }
    Ok((is_deferred || characteristics.deferrable == Some(true), is_deferred))
}

/// The columns that a key refers to: a primary key, or all columns of a unique index.
fn referenced_columns(parent: &Blueprint, named: &[Ident], count: usize) -> Result<Vec<String>> {
    let invalid = |message: String| Err(SqlError::new(SqlState::InvalidForeignKey, message));
    let table = &parent.name.name;
    let referenced: Vec<String> = match (named, &parent.key) {
        ([], Some((_, columns))) => columns.clone(),
        ([], None) => {
            let message = format!("there is no primary key for referenced table \"{table}\"");
            return Err(SqlError::new(SqlState::UndefinedObject, message));
        }
        (named, _) => named.iter().map(parse::name).collect(),
    };
    if let Some(name) = referenced.iter().find(|name| parent.column(name).is_none()) {
        let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
        return Err(SqlError::new(SqlState::UndefinedColumn, message));
    }
    if (1..referenced.len()).any(|at| referenced[..at].contains(&referenced[at])) {
        return invalid("foreign key referenced-columns list must not contain duplicates".to_owned());
    }
    if !parent.is_unique(&referenced) {
        return invalid(format!("there is no unique constraint matching given keys for referenced table \"{table}\""));
    }
    if referenced.len() != count {
        return invalid("number of referencing and referenced columns for foreign key disagree".to_owned());
    }
    Ok(referenced)
}

/// Refuses a column whose values cannot be those of the one that it refers to.
pub(super) fn refuse_types(key: &str, own: (&Blueprint, &str), its: (&Blueprint, &str)) -> Result<()> {
    let declared = |(table, name): (&Blueprint, &str)| table.column(name).map(|column| column.declared);
    let (Some(from), Some(to)) = (declared(own), declared(its)) else { return Ok(()) };
    if are_alike(from.ty, to.ty) {
        return Ok(());
    }
    let is_day = |ty: Type| matches!(ty, Type::Date | Type::Timestamp | Type::Timestamptz);
    let is_implicit = value::conversion(from.ty, to.ty).is_some_and(|place| place == Conversion::Implicit);
    if is_implicit || (is_day(from.ty) && is_day(to.ty)) {
        let message = format!("a foreign key from type {} to type {}", shown(from), shown(to));
        return Err(SqlError::unsupported(message).with_hint("Declare both columns with the same type."));
    }
    let message = format!("foreign key constraint \"{key}\" cannot be implemented");
    let detail = format!(
        "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
        own.1,
        its.1,
        shown(from),
        shown(to)
    );
    Err(SqlError::new(SqlState::DatatypeMismatch, message).with_detail(detail))
}

fn shown(declared: Declared) -> String {
    Declared::from(declared.ty).to_string()
}

/// Whether equal values of two types are the same datum.
fn are_alike(a: Type, b: Type) -> bool {
    let family = |ty: Type| match ty {
        Type::Int2 | Type::Int4 | Type::Int8 => 1,
        Type::Float4 | Type::Float8 => 2,
        Type::Text | Type::Varchar => 3,
        _ => 0,
    };
    a == b || (family(a) != 0 && family(a) == family(b))
}

/// What the client is told of objects that were dropped with what they depended on.
pub(super) fn cascaded(whats: &[String]) -> Vec<SqlError> {
    let notice = |message: String| SqlError::new(SqlState::SuccessfulCompletion, message);
    match whats {
        [] => Vec::new(),
        [what] => vec![notice(format!("drop cascades to {what}"))],
        whats => {
            let details: Vec<String> = whats.iter().map(|what| format!("drop cascades to {what}")).collect();
            vec![notice(format!("drop cascades to {} other objects", whats.len())).with_detail(details.join("\n"))]
        }
    }
}

/// Refuses actions that would write a generated column.
fn refuse_actions(blueprint: &Blueprint, declared: &ForeignKeyConstraint, columns: &[String]) -> Result<()> {
    let is_generated = |name: &String| blueprint.column(name).is_some_and(|column| column.is_generated);
    if !columns.iter().any(is_generated) {
        return Ok(());
    }
    let (on_update, on_delete) = (action_of(declared.on_update), action_of(declared.on_delete));
    let wrong = match () {
        () if on_update.writes() => "UPDATE",
        () if on_delete.writes() && on_delete != Action::Cascade => "DELETE",
        () => return Ok(()),
    };
    let message = format!("invalid ON {wrong} action for foreign key constraint containing generated column");
    Err(SqlError::new(SqlState::SyntaxError, message))
}
