//! `CREATE VIEW`, and what `ALTER` changes of views.

use std::sync::Arc;

use sqlparser::ast::{self, CreateTableOptions, CreateView, SqlOption};

use super::view_text::Written;
use super::{Defined, Definer};
use crate::bind::view::updatable;
use crate::bind::{Binder, OutColumn};
use crate::catalog::name::Name;
use crate::catalog::notes::kept_type;
use crate::catalog::objects::{self, CheckOption, Kind, ViewColumn, ViewEntry};
use crate::catalog::rights::Object;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::types::Type;

impl Definer<'_, '_> {
    pub(super) fn create_view(&self, create: &CreateView) -> Result<Defined> {
        if let Some(what) = unsupported_part(create) {
            return Err(SqlError::unsupported(what));
        }
        let mut notices = Vec::new();
        if !create.temporary && self.reads_temporary(&create.query)? {
            let message = format!("view \"{}\" will be a temporary view", parse::parts(&create.name)?.concat());
            notices.push(SqlError::new(SqlState::SuccessfulCompletion, message));
        }
        let name = self.new_name(&create.name, create.temporary || !notices.is_empty())?;
        let is_private = self.settings.temporary().is_own(&name.schema);
        // What others are about to make is there before it is looked for.
        let taken = self.claim(&name)?;
        let objects = self.objects()?;
        let before = objects.views.get(&name).filter(|_| create.or_replace);
        match (taken, before) {
            (_, Some(before)) => objects.need_owner(self.user, &Object::View(name.clone()), &before.owner)?,
            (Some(_), None) if create.or_replace => {
                let message = format!("\"{}\" is not a view", name.name);
                return Err(SqlError::new(SqlState::WrongObjectType, message));
            }
            _ => self.need_free(&name)?,
        }
        self.refuse_type_name(&name)?;
        let entry = self.view_of(create, before)?;
        if !is_private {
            self.refuse_temporary_in(&entry.query)?;
        }
        objects::put(self.transaction, Kind::View, &name.engine(), &entry)?;
        Ok(Defined { notices, is_private, ..Defined::tagged("CREATE VIEW") })
    }

    /// Whether a query reads temporary tables or views.
    pub(super) fn reads_temporary(&self, query: &ast::Query) -> Result<bool> {
        let Some(own) = self.settings.temporary().schema() else { return Ok(false) };
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        binder.query(query, None)?;
        Ok(binder.uses().iter().any(|used| used.name.schema == own))
    }

    /// Binds the query of a view, and notes what it means.
    fn view_of(&self, create: &CreateView, before: Option<&Arc<ViewEntry>>) -> Result<ViewEntry> {
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        let bound = binder.query(&create.query, None)?;
        if !binder.parameter_types().is_empty() {
            return Err(SqlError::new(SqlState::UndefinedParameter, "there is no parameter $1"));
        }
        if binder.writes_something() {
            let message = "views must not contain data-modifying statements in WITH";
            return Err(SqlError::new(SqlState::FeatureNotSupported, message));
        }
        let given: Vec<String> = create.columns.iter().map(|column| parse::name(&column.name)).collect();
        let mut columns = view_columns(&bound.columns, &given)?;
        if let Some(before) = before {
            self.refuse_other_columns(&before.columns, &columns)?;
            for (before, now) in before.columns.iter().zip(&mut columns) {
                now.comment.clone_from(&before.comment);
            }
        }
        let Written { query, tables, places, column_places } = self.written(&create.name, &create.query)?;
        let check = check_of(&create.options)?;
        if check.is_some()
            && let Err(why) = updatable(&create.query)
        {
            let message = "WITH CHECK OPTION is supported only on automatically updatable views";
            return Err(SqlError::new(SqlState::FeatureNotSupported, message).with_hint(why));
        }
        let number = match before {
            Some(before) => before.number,
            None => objects::new_number(self.transaction)?,
        };
        let owner = before.map_or_else(|| self.user.to_owned(), |before| before.owner.clone());
        let comment = before.and_then(|before| before.comment.clone());
        Ok(ViewEntry { number, owner, query, columns, tables, places, column_places, check, comment })
    }

    /// Gives a view another name, in the same schema or another one.
    pub(super) fn move_view(&self, old: &Name, new: &Name) -> Result<()> {
        self.need_free(new)?;
        self.refuse_type_name(new)?;
        let objects = self.objects()?;
        let Some(entry) = objects.views.get(old) else { return Ok(()) };
        objects::remove(self.transaction, Kind::View, &old.engine())?;
        objects::put(self.transaction, Kind::View, &new.engine(), &**entry)?;
        self.relation_renamed(old, new)
    }

    pub(super) fn change_view(&self, name: &Name, change: impl FnOnce(&mut ViewEntry)) -> Result<()> {
        let objects = self.objects()?;
        let Some(entry) = objects.views.get(name) else { return Ok(()) };
        let mut entry = ViewEntry::clone(entry);
        change(&mut entry);
        objects::put(self.transaction, Kind::View, &name.engine(), &entry)
    }

    /// Refuses to replace a view by one with other columns.
    fn refuse_other_columns(&self, before: &[ViewColumn], now: &[ViewColumn]) -> Result<()> {
        let refused = |message: String| Err(SqlError::new(SqlState::InvalidTableDefinition, message));
        if now.len() < before.len() {
            return refused("cannot drop columns from view".to_owned());
        }
        for (before, now) in before.iter().zip(now) {
            if before.name != now.name {
                let message = format!("cannot change name of view column \"{}\" to \"{}\"", before.name, now.name);
                return Err(SqlError::new(SqlState::InvalidTableDefinition, message)
                    .with_hint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead."));
            }
            if before.ty != now.ty {
                let name = &before.name;
                let objects = self.objects()?;
                let (before, now) = (objects.read_type(&before.ty)?, objects.read_type(&now.ty)?);
                return refused(format!("cannot change data type of view column \"{name}\" from {before} to {now}"));
            }
        }
        Ok(())
    }
}

/// The columns of a view.
fn view_columns(bound: &[OutColumn], given: &[String]) -> Result<Vec<ViewColumn>> {
    if given.len() > bound.len() {
        let message = "CREATE VIEW specifies more column names than columns";
        return Err(SqlError::new(SqlState::SyntaxError, message));
    }
    let mut columns: Vec<ViewColumn> = Vec::with_capacity(bound.len());
    for (at, column) in bound.iter().enumerate() {
        let name = given.get(at).unwrap_or(&column.name);
        if columns.iter().any(|known| known.name == *name) {
            return Err(SqlError::named_twice(name));
        }
        let ty = match column.declared.ty {
            Type::Unknown => Type::Text.to_string(),
            Type::Record => {
                let message = format!("column \"{name}\" has pseudo-type record");
                return Err(SqlError::new(SqlState::InvalidTableDefinition, message));
            }
            _ => kept_type(column.declared),
        };
        columns.push(ViewColumn { name: name.clone(), ty, comment: None });
    }
    Ok(columns)
}

fn check_of(options: &CreateTableOptions) -> Result<Option<CheckOption>> {
    let options = match options {
        CreateTableOptions::None => return Ok(None),
        CreateTableOptions::With(options) => options,
        other => return Err(SqlError::unsupported(format!("the options {other} of a view"))),
    };
    let mut check = None;
    for option in options {
        let SqlOption::KeyValue { key, value } = option else {
            return Err(SqlError::unsupported(format!("the option {option} of a view")));
        };
        let value = match value {
            ast::Expr::Value(value) => value.value.clone().into_string().unwrap_or_default(),
            other => other.to_string(),
        };
        check = Some(match (parse::name(key).as_str(), value.to_lowercase().as_str()) {
            ("check_option", "local") => CheckOption::Local,
            ("check_option", "cascaded") => CheckOption::Cascaded,
            ("check_option", other) => {
                let message = format!("invalid value for enum option \"check_option\": {other}");
                return Err(SqlError::new(SqlState::InvalidParameterValue, message)
                    .with_detail("Valid values are \"local\" and \"cascaded\"."));
            }
            (other @ ("security_barrier" | "security_invoker"), _) => {
                return Err(SqlError::unsupported(format!("the option {other} of a view")));
            }
            (other, _) => {
                let message = format!("unrecognized parameter \"{other}\"");
                return Err(SqlError::new(SqlState::InvalidParameterValue, message));
            }
        });
    }
    Ok(check)
}

fn unsupported_part(create: &CreateView) -> Option<&'static str> {
    let parts = [
        (create.or_alter, "CREATE OR ALTER VIEW"),
        (create.if_not_exists, "CREATE VIEW IF NOT EXISTS"),
        (create.secure || create.copy_grants || create.with_no_schema_binding, "this option of a view"),
        (!create.cluster_by.is_empty() || create.comment.is_some() || create.to.is_some(), "this option of a view"),
    ];
    parts.into_iter().find_map(|(is_there, what)| is_there.then_some(what))
}
