//! Materialized views: tables with the rows of a query, which `REFRESH` works out again.
//!
//! Invariants:
//! - The rows are those of a table, whose notes say that it is a materialized view and whether it has rows. Its query lies beside
//!   the tables, as those of views do.
//! - The table and the query have the same name and the same owner, and their columns the same names.
//!
//! The rows come behind the definition: see `session/materialized.rs`.

use sqlparser::ast::{AlterColumnOperation, AlterTable, AlterTableOperation, CreateView};

use super::alter::rename_column;
use super::authority::Taken;
use super::blueprint::{Blueprint, ColumnPlan};
use super::view_text::Written;
use super::{Defined, Definer, Fill};
use crate::bind::{Binder, OutColumn};
use crate::catalog::name::Name;
use crate::catalog::notes::kept_type;
use crate::catalog::objects::{self, Kind, ViewColumn, ViewEntry};
use crate::catalog::relation::Relation;
use crate::catalog::rights::Object;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::parse::materialized::{Refresh, is_without_data};
use crate::parse::objects::{Change, Kind as Altered};
use crate::parse::rewrite::{IdentityChange, identity_change};
use crate::types::{Declared, Type};

const CREATED: &str = "CREATE MATERIALIZED VIEW";

impl Definer<'_, '_> {
    pub(super) fn create_materialized(&self, create: &CreateView) -> Result<Defined> {
        let name = self.new_name(&create.name, false)?;
        if self.settings.temporary().is_own(&name.schema) {
            return Err(SqlError::unsupported("a temporary materialized view").with_hint("Use CREATE TEMP TABLE AS."));
        }
        if self.claim(&name)?.is_some() {
            let message = format!("relation \"{}\" already exists", name.name);
            if create.if_not_exists {
                let message = format!("{message}, skipping");
                return Ok(Defined::noticed(CREATED, SqlState::DuplicateTable, message));
            }
            return Err(SqlError::new(SqlState::DuplicateTable, message));
        }
        self.refuse_type_name(&name)?;
        let has_data = !is_without_data(create);
        let mut blueprint = Blueprint { populated: Some(has_data), ..Blueprint::new(name.clone(), self.user) };
        let entry = self.materialized_of(create, &mut blueprint)?;
        // One with that name may have been dropped without SQL.
        self.forget_rights(&Object::Materialized(name.clone()))?;
        objects::put(self.transaction, Kind::Materialized, &name.engine(), &entry)?;
        self.make(&mut blueprint)?;
        let fill = has_data.then_some(Fill { name, is_concurrent: false, counts: true });
        Ok(Defined { fill, ..Defined::tagged(CREATED) })
    }

    /// Binds the query, and notes what it means; its columns become those of the table.
    fn materialized_of(&self, create: &CreateView, blueprint: &mut Blueprint) -> Result<ViewEntry> {
        let refused = |message: &str| Err(SqlError::new(SqlState::FeatureNotSupported, message));
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        let bound = binder.query(&create.query, None)?;
        if !binder.parameter_types().is_empty() {
            return Err(SqlError::new(SqlState::UndefinedParameter, "there is no parameter $1"));
        }
        if binder.writes_something() {
            return refused("materialized views must not use data-modifying statements in WITH");
        }
        if self.reads_temporary(&create.query)? {
            return refused("materialized views must not use temporary tables or views");
        }
        let given: Vec<String> = create.columns.iter().map(|column| parse::name(&column.name)).collect();
        if given.len() > bound.columns.len() {
            return Err(SqlError::new(SqlState::SyntaxError, "too many column names were specified"));
        }
        let mut columns = Vec::with_capacity(bound.columns.len());
        for (at, column) in bound.columns.iter().enumerate() {
            let plan = column_of(column, given.get(at))?;
            columns.push(ViewColumn { name: plan.name.clone(), ty: kept_type(plan.declared), comment: None });
            blueprint.add(plan)?;
        }
        let Written { query, tables, places, column_places } = self.written(&create.name, &create.query)?;
        self.refuse_temporary_in(&query)?;
        let (number, owner) = (objects::new_number(self.transaction)?, self.user.to_owned());
        let (check, comment) = (None, None);
        Ok(ViewEntry { number, owner, query, columns, tables, places, column_places, check, comment })
    }

    pub(super) fn refresh(&self, refresh: &Refresh) -> Result<Defined> {
        let relation = self.refreshed(&refresh.name)?;
        let name = relation.name.clone();
        if refresh.is_concurrent {
            self.refuse_concurrent(&relation, refresh)?;
        } else {
            self.transaction.drop_table(&relation.table)?;
            let blueprint = Blueprint { populated: Some(refresh.with_data), ..Blueprint::of(&relation) };
            self.transaction.create_table(blueprint.schema()?)?;
        }
        let fill = Fill { name, is_concurrent: refresh.is_concurrent, counts: false };
        let fill = refresh.with_data.then_some(fill);
        // Where rows change one by one, no definition does.
        Ok(Defined { fill, is_private: refresh.is_concurrent, ..Defined::tagged("REFRESH MATERIALIZED VIEW") })
    }

    /// The materialized view that is to be refreshed.
    fn refreshed(&self, parts: &[String]) -> Result<std::sync::Arc<Relation>> {
        let undefined = || {
            let message = format!("relation \"{}\" does not exist", parts.join("."));
            SqlError::new(SqlState::UndefinedTable, message)
        };
        let (name, taken) = self.named(parts)?.ok_or_else(undefined)?;
        let refused = |state, what: &str| Err(SqlError::new(state, format!("\"{}\" is not {what}", name.name)));
        match taken {
            Taken::Materialized => {}
            Taken::Table => return refused(SqlState::FeatureNotSupported, "a materialized view"),
            _ => return refused(SqlState::WrongObjectType, "a table or materialized view"),
        }
        let relation = self.sql.find(self.transaction, &name)?.ok_or_else(undefined)?;
        self.need_table(&relation)?;
        Ok(relation)
    }

    fn refuse_concurrent(&self, relation: &Relation, refresh: &Refresh) -> Result<()> {
        if relation.notes.populated == Some(false) {
            let message = "CONCURRENTLY cannot be used when the materialized view is not populated";
            return Err(SqlError::new(SqlState::FeatureNotSupported, message));
        }
        if !refresh.with_data {
            let message = "CONCURRENTLY and WITH NO DATA options cannot be used together";
            return Err(SqlError::new(SqlState::SyntaxError, message));
        }
        let has_key = relation.indexes.iter().any(|index| {
            index.is_unique && index.columns.iter().all(|column| relation.columns[*column].computed.is_none())
        });
        if has_key {
            return Ok(());
        }
        let Name { schema, name } = &relation.name;
        let message = format!("cannot refresh materialized view \"{schema}.{name}\" concurrently");
        let hint = "Create a unique index with no WHERE clause on one or more columns of the materialized view.";
        Err(SqlError::new(SqlState::ObjectNotInPrerequisiteState, message).with_hint(hint))
    }

    /// Removes a materialized view and what is known of it.
    pub(super) fn remove_materialized(&self, name: &Name) -> Result<()> {
        objects::remove(self.transaction, Kind::Materialized, &name.engine())?;
        let Some(relation) = self.sql.find(self.transaction, name)?.filter(|found| found.is_materialized()) else {
            return Ok(());
        };
        self.transaction.drop_table(&relation.table)?;
        if let Some(sequence) = Blueprint::of(&relation).hidden_sequence {
            self.drop_engine_sequence(&sequence)?;
        }
        self.forget_rights(&relation.object())
    }

    /// Changes what is kept of the query of a materialized view.
    pub(super) fn change_materialized(&self, name: &Name, change: impl FnOnce(&mut ViewEntry)) -> Result<()> {
        let objects = self.objects()?;
        let Some(entry) = objects.materialized.get(name) else { return Ok(()) };
        let mut entry = ViewEntry::clone(entry);
        change(&mut entry);
        objects::put(self.transaction, Kind::Materialized, &name.engine(), &entry)
    }

    /// The table of a materialized view has another name: its query gets that, too.
    pub(super) fn move_materialized(&self, old: &Name, new: &Name) -> Result<()> {
        let objects = self.objects()?;
        let Some(entry) = objects.materialized.get(old) else { return Ok(()) };
        objects::remove(self.transaction, Kind::Materialized, &old.engine())?;
        objects::put(self.transaction, Kind::Materialized, &new.engine(), &**entry)
    }

    /// `ALTER TABLE` of a materialized view: names change so, and nothing else.
    pub(super) fn alter_materialized(&self, relation: &Relation, alter: &AlterTable) -> Result<Defined> {
        for operation in &alter.operations {
            match operation {
                AlterTableOperation::RenameTable { .. } => return self.alter_other(alter),
                AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
                    let (old, new) = (parse::name(old_column_name), parse::name(new_column_name));
                    self.rename_materialized_column(relation, &old, &new)?;
                }
                AlterTableOperation::RenameConstraint { old_name, .. } => {
                    let (constraint, table) = (parse::name(old_name), &relation.name.name);
                    let message = format!("constraint \"{constraint}\" for table \"{table}\" does not exist");
                    return Err(SqlError::new(SqlState::UndefinedObject, message));
                }
                other => {
                    let action =
                        action(other).ok_or_else(|| SqlError::unsupported(format!("ALTER TABLE ... {other}")))?;
                    let table = &relation.name.name;
                    let message = format!("ALTER action {action} cannot be performed on relation \"{table}\"");
                    return Err(SqlError::new(SqlState::WrongObjectType, message)
                        .with_detail("This operation is not supported for materialized views."));
                }
            }
        }
        Ok(Defined::tagged("ALTER TABLE"))
    }

    /// Gives a column of a materialized view another name.
    pub(super) fn rename_materialized_column(&self, relation: &Relation, old: &str, new: &str) -> Result<()> {
        let mut blueprint = Blueprint::of(relation);
        blueprint.column_mut(old)?;
        rename_column(&mut blueprint, old, new)?;
        self.column_renamed(&relation.name, old, new)?;
        self.change_materialized(&relation.name, |entry| {
            for column in entry.columns.iter_mut().filter(|column| column.name == old) {
                new.clone_into(&mut column.name);
            }
        })?;
        self.reach(relation, &mut blueprint, &[]).map(|_| ())
    }

    /// `ALTER MATERIALIZED VIEW ... RENAME COLUMN`.
    pub(super) fn alter_materialized_column(&self, name: &Name, change: &Change) -> Result<()> {
        let Change::Column { from, to } = change else { return Ok(()) };
        match self.sql.find(self.transaction, name)? {
            Some(relation) => self.rename_materialized_column(&relation, from, to),
            None => Ok(()),
        }
    }
}

/// What `ALTER` of a kind needs to find; `None`: anything that is no index.
pub(super) fn wanted(kind: Altered) -> Option<Taken> {
    match kind {
        Altered::View => Some(Taken::View),
        Altered::Materialized => Some(Taken::Materialized),
        Altered::Sequence => Some(Taken::Sequence),
        Altered::Table | Altered::Schema | Altered::Index => None,
    }
}

/// The column of the table that a column of the query becomes.
fn column_of(column: &OutColumn, given: Option<&String>) -> Result<ColumnPlan> {
    let name = given.unwrap_or(&column.name).clone();
    let declared: Declared = match column.declared.ty {
        Type::Unknown => Type::Text.into(),
        Type::Record => {
            let message = format!("column \"{name}\" has pseudo-type record");
            return Err(SqlError::new(SqlState::InvalidTableDefinition, message));
        }
        _ => column.declared,
    };
    Ok(ColumnPlan::new(name, declared))
}

/// What PostgreSQL calls an operation that only tables know.
fn action(operation: &AlterTableOperation) -> Option<&'static str> {
    Some(match operation {
        AlterTableOperation::AddColumn { .. } => "ADD COLUMN",
        AlterTableOperation::DropColumn { .. } => "DROP COLUMN",
        AlterTableOperation::AddConstraint { .. } => "ADD CONSTRAINT",
        AlterTableOperation::DropConstraint { .. } => "DROP CONSTRAINT",
        AlterTableOperation::ValidateConstraint { .. } => "VALIDATE CONSTRAINT",
        AlterTableOperation::AlterColumn { op, .. } => match op {
            AlterColumnOperation::SetDefault { value } => match identity_change(value) {
                None => "ALTER COLUMN ... SET DEFAULT",
                Some(IdentityChange::Add { .. }) => "ALTER COLUMN ... ADD IDENTITY",
                Some(IdentityChange::Set { .. }) => "ALTER COLUMN ... SET IDENTITY",
                Some(IdentityChange::Drop { .. }) => "ALTER COLUMN ... DROP IDENTITY",
                Some(IdentityChange::DropExpression { .. }) => "ALTER COLUMN ... DROP EXPRESSION",
            },
            AlterColumnOperation::DropDefault => "ALTER COLUMN ... SET DEFAULT",
            AlterColumnOperation::SetNotNull => "ALTER COLUMN ... SET NOT NULL",
            AlterColumnOperation::DropNotNull => "ALTER COLUMN ... DROP NOT NULL",
            AlterColumnOperation::SetDataType { .. } => "ALTER COLUMN ... SET DATA TYPE",
            AlterColumnOperation::AddGenerated { .. } => "ALTER COLUMN ... ADD IDENTITY",
        },
        _ => return None,
    })
}
