//! `ALTER TABLE`.
//!
//! Names, notes and indexes change where the table lies, and so do columns that come with the same value in every row, go, or
//! take NULL or not. What else changes rows or the primary key makes a new table and copies the rows, within the transaction: as
//! many rows as a transaction can write.

use osier::table::KeyRange;
use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef, DropBehavior, ObjectName, RenameTableNameKind,
};

use super::blueprint::{Blueprint, ColumnPlan, is_reserved_column, reserved_column};
use super::reach::violated_by_some_row;
use super::{Defined, Definer};
use crate::bind::Binder;
use crate::bind::scope::Level;
use crate::catalog::name::Name;
use crate::catalog::notes::CheckNote;
use crate::catalog::relation::Relation;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::{Cast, Expr};
use crate::parse;
use crate::parse::objects::{Change, Kind};
use crate::plan::Query;
use crate::types::{Declared, Modifier, Type};
use crate::value::{self, Conversion};

/// How the rows of the new table come from those of the old one.
#[derive(Default)]
pub(super) struct Rewrite {
    /// The value of each column that is there again under the same name, where it is not the old one.
    values: Vec<(String, Expr)>,
    /// Foreign keys that the rows must keep then: the tables that have them, and their names.
    pub(super) validate: Vec<(String, String)>,
    /// What the client is told of what goes with what is dropped.
    pub(super) notices: Vec<SqlError>,
}

impl Definer<'_, '_> {
    pub(super) fn alter_table(&self, alter: &AlterTable) -> Result<Defined> {
        let Some(relation) = self.find(&alter.name)? else {
            if alter.if_exists {
                let message = format!("relation \"{}\" does not exist, skipping", alter.name);
                return Ok(Defined::noticed("ALTER TABLE", SqlState::SuccessfulCompletion, message));
            }
            return self.alter_other(alter);
        };
        self.need_table(&relation)?;
        if relation.is_materialized() {
            return self.alter_materialized(&relation, alter);
        }
        let mut defined = Defined { is_private: relation.is_temporary(), ..Defined::tagged("ALTER TABLE") };
        let mut relation = relation;
        for operation in &alter.operations {
            let mut blueprint = Blueprint::of(&relation);
            let mut rewrite = Rewrite::default();
            if let Some(notice) = self.operation(&relation, &mut blueprint, &mut rewrite, operation, &mut defined)? {
                defined.notices.push(notice);
                continue;
            }
            let table = self.reach(&relation, &mut blueprint, &rewrite.values)?;
            relation = Relation::of(&table)?;
            rewrite.validate.iter().try_for_each(|(table, key)| self.validate_key(table, key))?;
            defined.notices.extend(rewrite.notices);
        }
        Ok(defined)
    }

    /// `ALTER TABLE` of what is no table: a view or a sequence gets another name so.
    pub(super) fn alter_other(&self, alter: &AlterTable) -> Result<Defined> {
        let parts = parse::parts(&alter.name)?;
        match (&alter.operations[..], self.named(&parts)?) {
            (_, None) => Err(crate::bind::undefined_table(&alter.name)),
            ([AlterTableOperation::RenameTable { table_name }], Some(_)) => {
                let (RenameTableNameKind::To(name) | RenameTableNameKind::As(name)) = table_name;
                let name = parse::parts(name)?.pop().unwrap_or_default();
                self.alter_named(Kind::Table, false, &parts, &Change::Name(name))
            }
            (_, Some((name, taken))) => {
                let message = format!("\"{}\" is not a table", name.name);
                debug_assert!(taken.word() != "table", "tables were looked up");
                Err(SqlError::new(SqlState::WrongObjectType, message))
            }
        }
    }

    /// Moves a table to another schema, or gives it another name.
    pub(super) fn move_table(&self, relation: &Relation, new: Name) -> Result<()> {
        self.need_free(&new)?;
        self.refuse_type_name(&new)?;
        let mut blueprint = Blueprint::of(relation);
        self.claim_indexes(&blueprint)?;
        if new.schema != relation.name.schema {
            for name in blueprint.index_names() {
                self.need_free(&Name::new(&new.schema, name))?;
            }
            for at in 0..blueprint.columns.len() {
                let Some(old) = &blueprint.columns[at].sequence else { continue };
                let moved = Name::new(&new.schema, Name::of_engine(old).name);
                self.need_free(&moved)?;
                self.move_own_sequence(&mut blueprint, at, &moved)?;
            }
        }
        self.relation_renamed(&relation.name, &new)?;
        self.settings.temporary().note(&new, blueprint.on_commit);
        blueprint.unqualify_checks();
        let old = std::mem::replace(&mut blueprint.name, new).engine();
        self.rename_table_in_keys(&mut blueprint, &old)?;
        if relation.is_materialized() {
            self.move_materialized(&relation.name, &blueprint.name)?;
        }
        self.reach(relation, &mut blueprint, &[]).map(|_| ())
    }

    /// Gives the sequence of a column another name. Defaults of the table are those of the blueprint.
    pub(super) fn move_own_sequence(&self, blueprint: &mut Blueprint, at: usize, new: &Name) -> Result<()> {
        let Some(old) = blueprint.columns[at].sequence.replace(new.engine()) else { return Ok(()) };
        self.move_sequence(&old, &new.engine(), Some(&blueprint.name))?;
        let shown = |name: &Name| format!("nextval({})", name.literal());
        let (before, after) = (shown(&Name::of_engine(&old)), shown(new));
        for column in &mut blueprint.columns {
            column.default = column.default.take().map(|text| text.replace(&before, &after));
        }
        Ok(())
    }

    /// Makes the change of one operation to the blueprint; returns a notice where there is nothing to change.
    fn operation(
        &self,
        relation: &Relation,
        blueprint: &mut Blueprint,
        rewrite: &mut Rewrite,
        operation: &AlterTableOperation,
        defined: &mut Defined,
    ) -> Result<Option<SqlError>> {
        match operation {
            AlterTableOperation::AddColumn { column_def, if_not_exists, .. } => {
                let notice = self.add_column(blueprint, column_def, *if_not_exists)?;
                let own = blueprint.name.engine();
                let names = self.resolve_keys(blueprint)?.into_iter();
                rewrite.validate.extend(names.map(|name| (own.clone(), name)));
                return Ok(notice);
            }
            AlterTableOperation::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                let cascades = *drop_behavior == Some(DropBehavior::Cascade);
                for name in column_names.iter().map(parse::name) {
                    let notice =
                        self.drop_named_column(relation, blueprint, rewrite, &name, (*if_exists, cascades), defined)?;
                    if notice.is_some() {
                        return Ok(notice);
                    }
                }
            }
            AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
                let (old, new) = (parse::name(old_column_name), parse::name(new_column_name));
                rename_column(blueprint, &old, &new)?;
                self.rename_column_in_keys(blueprint, &old, &new)?;
                self.column_renamed(&relation.name, &old, &new)?;
            }
            AlterTableOperation::RenameTable { table_name } => {
                let (RenameTableNameKind::To(name) | RenameTableNameKind::As(name)) = table_name;
                self.rename_table(relation, blueprint, name)?;
            }
            AlterTableOperation::AddConstraint { .. }
            | AlterTableOperation::DropConstraint { .. }
            | AlterTableOperation::RenameConstraint { .. }
            | AlterTableOperation::ValidateConstraint { .. } => {
                return self.alter_constraint(relation, blueprint, rewrite, operation);
            }
            AlterTableOperation::AlterColumn { column_name, op } => {
                let name = parse::name(column_name);
                match self.alter_generated(blueprint, &name, op)? {
                    (_, Some(notice)) => return Ok(Some(notice)),
                    (true, None) => return Ok(None),
                    (false, None) => {}
                }
                match self.alter_identity(blueprint, &name, op)? {
                    (_, Some(notice)) => return Ok(Some(notice)),
                    (true, None) => {}
                    (false, None) => self.alter_column(relation, blueprint, rewrite, &name, op)?,
                }
            }
            other => return Err(SqlError::unsupported(format!("ALTER TABLE ... {other}"))),
        }
        Ok(None)
    }

    /// Keeps others from looking for the indexes of a table while it gets another name: they look through tables by their names.
    fn claim_indexes(&self, blueprint: &Blueprint) -> Result<()> {
        let mut names = blueprint.index_names().map(|name| Name::new(&blueprint.name.schema, name));
        names.try_for_each(|name| self.runner.claim(&name))
    }

    fn rename_table(&self, relation: &Relation, blueprint: &mut Blueprint, name: &ObjectName) -> Result<()> {
        let name = Name::new(&relation.name.schema, parse::parts(name)?.pop().unwrap_or_default());
        if !relation.is_temporary() {
            self.need_create(&name.schema)?;
        }
        name.check()?;
        self.need_free(&name)?;
        self.refuse_type_name(&name)?;
        self.claim_indexes(blueprint)?;
        self.relation_renamed(&relation.name, &name)?;
        self.settings.temporary().note(&name, blueprint.on_commit);
        blueprint.unqualify_checks();
        let old = std::mem::replace(&mut blueprint.name, name).engine();
        self.rename_table_in_keys(blueprint, &old)
    }

    /// Drops a column with what depends on it; returns a notice where it is not there and need not be.
    pub(super) fn drop_named_column(
        &self,
        relation: &Relation,
        blueprint: &mut Blueprint,
        rewrite: &mut Rewrite,
        name: &str,
        (if_exists, cascades): (bool, bool),
        defined: &mut Defined,
    ) -> Result<Option<SqlError>> {
        if if_exists && blueprint.column(name).is_none() {
            let table = &blueprint.name.name;
            let message = format!("column \"{name}\" of relation \"{table}\" does not exist, skipping");
            return Ok(Some(SqlError::new(SqlState::SuccessfulCompletion, message)));
        }
        blueprint.column_mut(name)?;
        let what = format!("table {}", self.shown(&relation.name));
        let mut going = vec![name.to_owned()];
        if relation.position(name).is_some() {
            going.extend(
                self.generated_of(relation, name)?.into_iter().filter(|other| blueprint.column(other).is_some()),
            );
        }
        if let [_, other, ..] = &going[..]
            && !cascades
        {
            let column = format!("column {name} of {what}");
            let message = format!("cannot drop {column} because other objects depend on it");
            return Err(SqlError::new(SqlState::DependentObjectsStillExist, message)
                .with_detail(format!("column {other} of {what} depends on {column}"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let lines: Vec<String> = going[1..].iter().map(|other| format!("column {other} of {what}")).collect();
        self.say_gone(&lines, defined);
        for name in &going {
            if relation.position(name).is_some() {
                // Indexes that read the column go with it.
                let computed = self.computed_of(relation, name)?;
                blueprint.indexes.retain(|index| !index.columns.iter().any(|column| computed.contains(column)));
            }
            self.release(&what, &relation.name, Some(name), cascades, &[], defined)?;
            self.drop_checks(relation, blueprint, name)?;
            rewrite.notices.extend(self.drop_column(blueprint, name, cascades)?);
            self.column_dropped(&relation.name, name)?;
        }
        Ok(None)
    }

    fn add_column(
        &self,
        blueprint: &mut Blueprint,
        column: &ColumnDef,
        if_not_exists: bool,
    ) -> Result<Option<SqlError>> {
        let name = parse::name(&column.name);
        if blueprint.column(&name).is_none() {
            self.column(blueprint, column)?;
            blueprint.refuse_same_names()?;
            return Ok(None);
        }
        let message = format!("column \"{name}\" of relation \"{}\" already exists", blueprint.name.name);
        match if_not_exists {
            true => Ok(Some(SqlError::new(SqlState::DuplicateColumn, format!("{message}, skipping")))),
            false => Err(SqlError::new(SqlState::DuplicateColumn, message)),
        }
    }

    fn alter_column(
        &self,
        relation: &Relation,
        blueprint: &mut Blueprint,
        rewrite: &mut Rewrite,
        name: &str,
        operation: &AlterColumnOperation,
    ) -> Result<()> {
        let column = blueprint.column_mut(name)?;
        match operation {
            AlterColumnOperation::SetDefault { value } => {
                let text = self.kept(blueprint, value)?;
                blueprint.column_mut(name)?.default = Some(text);
            }
            AlterColumnOperation::DropDefault => column.default = None,
            AlterColumnOperation::SetNotNull => column.is_nullable = false,
            AlterColumnOperation::DropNotNull => {
                column.is_nullable = true;
                let is_key = blueprint.key.as_ref().is_some_and(|(_, columns)| columns.iter().any(|key| key == name));
                if is_key {
                    let message = format!("column \"{name}\" is in a primary key");
                    return Err(SqlError::new(SqlState::InvalidTableDefinition, message));
                }
            }
            AlterColumnOperation::SetDataType { data_type, using, .. } => {
                let to = self.data_type(data_type)?;
                let from = blueprint.column_mut(name)?.declared;
                let value = self.retype_column(relation, blueprint, name, to, using.as_ref())?;
                if using.is_some() || !keeps_values(from, to) {
                    rewrite.values.push((name.to_owned(), value));
                    rewrite.validate.extend(self.keys_of_column(blueprint, name)?);
                }
            }
            other @ AlterColumnOperation::AddGenerated { .. } => {
                return Err(SqlError::unsupported(format!("ALTER COLUMN {other}")));
            }
        }
        Ok(())
    }

    /// Gives a column another type; returns its values in the new rows.
    fn retype_column(
        &self,
        relation: &Relation,
        blueprint: &mut Blueprint,
        name: &str,
        to: Declared,
        using: Option<&sqlparser::ast::Expr>,
    ) -> Result<Expr> {
        let column = blueprint.column_mut(name)?;
        let (from, is_generated) = (column.declared, column.is_generated);
        self.refuse_new_type(&relation.name, name)?;
        if let Some(generated) = self.generated_of(relation, name)?.first() {
            let message = "cannot alter type of a column used by a generated column";
            let detail = format!("Column \"{name}\" is used by generated column \"{generated}\".");
            return Err(SqlError::new(SqlState::FeatureNotSupported, message).with_detail(detail));
        }
        if is_generated && using.is_some() {
            let message = "cannot specify USING when altering type of generated column";
            let detail = format!("Column \"{name}\" is a generated column.");
            return Err(SqlError::new(SqlState::InvalidColumnDefinition, message).with_detail(detail));
        }
        let value = match using {
            Some(using) => self.row_value(relation, using, name, to)?,
            None if value::conversion(from.ty, to.ty).is_some_and(|place| place <= Conversion::Assignment) => {
                let input = Expr::Column(relation.need(name)?);
                Expr::Cast(Box::new(Cast { input, from: from.ty, to, is_explicit: false }))
            }
            None => {
                let message = format!("column \"{name}\" cannot be cast automatically to type {}", to.ty);
                let hint = format!("You might need to specify \"USING {name}::{}\".", to.ty);
                return Err(SqlError::new(SqlState::DatatypeMismatch, message).with_hint(hint));
            }
        };
        if from.ty != to.ty {
            self.type_literals(blueprint, name, to)?;
        }
        let column = blueprint.column_mut(name)?;
        (column.declared, column.collation) = (to, None);
        Ok(value)
    }

    /// Drops the checks that name a column. One that has the whole row has no column by its name.
    fn drop_checks(&self, relation: &Relation, blueprint: &mut Blueprint, name: &str) -> Result<()> {
        let Some(at) = relation.position(name) else { return Ok(()) };
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        let mut kept = Vec::with_capacity(blueprint.checks.len());
        for check in std::mem::take(&mut blueprint.checks) {
            let condition = binder.check(relation, &check)?;
            let reads = condition.any(&|part| matches!(part, Expr::Column(column) if *column == at));
            if !reads || !may_mention(&check.expression, name) {
                kept.push(check);
            }
        }
        blueprint.checks = kept;
        Ok(())
    }

    fn drop_column(&self, blueprint: &mut Blueprint, name: &str, cascades: bool) -> Result<Vec<SqlError>> {
        blueprint.column_mut(name)?;
        let has = |columns: &[String]| columns.iter().any(|column| column == name);
        let keys: Vec<_> = blueprint.foreign_keys.iter().filter(|key| has(&key.columns)).cloned().collect();
        for key in keys {
            self.drop_key(blueprint, &key.name)?;
        }
        let depends_on = format!("column {name} of table {}", blueprint.name);
        let mut notices =
            self.drop_references(blueprint, (&depends_on, &depends_on), cascades, &|_, _, key| has(&key.referenced))?;
        if blueprint.key.as_ref().is_some_and(|(_, columns)| has(columns)) {
            blueprint.key = None;
        }
        blueprint.indexes.retain(|index| !has(&index.columns));
        blueprint.forget_unused();
        let at = blueprint.columns.iter().position(|column| column.name == name);
        if let Some(ColumnPlan { sequence: Some(sequence), .. }) = at.map(|at| blueprint.columns.remove(at)) {
            let mut defined = Defined::tagged("ALTER TABLE");
            let name = Name::of_engine(&sequence);
            self.release_sequence_of(
                &depends_on,
                &name,
                std::slice::from_ref(&blueprint.name),
                cascades,
                &mut defined,
            )?;
            notices.extend(defined.notices);
            self.drop_engine_sequence(&sequence)?;
        }
        Ok(notices)
    }

    /// Binds what `USING` says of the new values of a column.
    fn row_value(&self, relation: &Relation, expr: &sqlparser::ast::Expr, name: &str, to: Declared) -> Result<Expr> {
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        let registers = std::cell::Cell::default();
        let mut level = Level::new(None, &registers);
        level.columns = crate::bind::from::relation_columns(relation, &relation.name.name);
        level.refuse_aggregates("transform expressions");
        let bound = binder.expr(expr, &level)?;
        if bound.expr.any(&|part| matches!(part, Expr::Subquery(_))) {
            let message = "cannot use subquery in transform expression";
            return Err(SqlError::new(SqlState::FeatureNotSupported, message));
        }
        binder.convert(bound, to, Conversion::Assignment).map_err(|error| match error.state {
            SqlState::DatatypeMismatch => {
                let message = format!(
                    "result of USING clause for column \"{name}\" cannot be cast automatically to type {}",
                    to.ty
                );
                SqlError::new(SqlState::DatatypeMismatch, message).with_hint("You might need to add an explicit cast.")
            }
            _ => error,
        })
    }

    /// Refuses a check that a row breaks.
    pub(super) fn check_rows(&self, relation: &Relation, check: &CheckNote) -> Result<()> {
        let names = self.names();
        let condition = Binder::new(&names, self.settings, &[]).check(relation, check)?;
        for row in self.transaction.scan(&relation.table, KeyRange::all())? {
            let row = crate::run::scan::loaded(&row?, relation)?;
            if let Datum::Bool(false) = self.evaluate(&condition, &row)? {
                return Err(violated_by_some_row(relation, &check.name));
            }
        }
        Ok(())
    }

    pub(super) fn evaluate(&self, expr: &Expr, row: &[Datum]) -> Result<Datum> {
        let query = Query::none();
        self.runner.with_context(self.transaction, &query, &mut |context| expr.evaluate(row, context))
    }
}

/// Whether values of one type are those of another as they are.
fn keeps_values(from: Declared, to: Declared) -> bool {
    let is_unbounded = to.modifier == Modifier::None;
    let is_text = |ty| matches!(ty, Type::Text | Type::Varchar);
    let is_longer = match (from.modifier, to.modifier) {
        (Modifier::Length(from), Modifier::Length(to)) => from <= to,
        _ => is_unbounded,
    };
    from == to || is_text(from.ty) && is_text(to.ty) && is_longer
}

/// Whether an expression names a column.
pub(super) fn mentions(expression: &str, name: &str) -> bool {
    expression.split(|c| !is_of_word(c)).any(|word| word == name)
}

/// Whether an expression may name a column: of a name that is no word that is not known.
pub(super) fn may_mention(expression: &str, name: &str) -> bool {
    !name.chars().all(is_of_word) || mentions(expression, name)
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub(super) fn rename_column(blueprint: &mut Blueprint, old: &str, new: &str) -> Result<()> {
    if blueprint.column(new).is_some() {
        let table = &blueprint.name.name;
        let message = format!("column \"{new}\" of relation \"{table}\" already exists");
        return Err(SqlError::new(SqlState::DuplicateColumn, message));
    }
    if is_reserved_column(new) {
        return Err(reserved_column(new));
    }
    blueprint.column_mut(old)?.name = new.to_owned();
    blueprint.unqualify_checks();
    for check in &mut blueprint.checks {
        check.expression = parse::columns::renamed(&check.expression, old, new);
    }
    for column in blueprint.columns.iter_mut().filter(|column| column.is_generated) {
        column.default = column.default.take().map(|text| parse::columns::renamed(&text, old, new));
    }
    let lists = blueprint.key.iter_mut().map(|(_, columns)| columns);
    let lists = lists.chain(blueprint.indexes.iter_mut().map(|index| &mut index.columns));
    for column in lists.flatten().filter(|column| *column == old) {
        new.clone_into(column);
    }
    Ok(())
}
