//! `CREATE TABLE` and `CREATE TABLE AS`.

use osier::{SequenceOptions, Table};
use sqlparser::ast::{self, ColumnOption, CreateTable, GeneratedAs, TableConstraint};

use super::blueprint::{Blueprint, ColumnPlan, IndexPlan};
use super::index::key_columns;
use super::{Defined, Definer};
use crate::bind::Binder;
use crate::bind::forms::collated;
use crate::bind::scope::Typed;
use crate::catalog::name::Name;
use crate::catalog::notes::{CheckNote, Identity, OnCommit};
use crate::catalog::relation::Relation;
use crate::catalog::rights::Object;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::parse;
use crate::parse::quote::quoted;
use crate::types::Type;

/// So many hidden keys a session takes at once.
const HIDDEN_KEYS_CACHE: i64 = 1024;

impl Definer<'_, '_> {
    pub(super) fn create_table(&self, create: &CreateTable) -> Result<Defined> {
        if let Some(what) = unsupported_part(create) {
            return Err(SqlError::unsupported(what));
        }
        let name = self.new_name(&create.name, create.temporary)?;
        let on_commit = self.on_commit(create, &name)?;
        let mut notices = Vec::new();
        if create.global == Some(true) {
            let warning = "GLOBAL is deprecated in temporary table creation";
            notices.push(SqlError::new(SqlState::Warning, warning));
        }
        if self.claim(&name)?.is_some() {
            let message = format!("relation \"{}\" already exists", name.name);
            if create.if_not_exists {
                let message = format!("{message}, skipping");
                return Ok(Defined::noticed("CREATE TABLE", SqlState::DuplicateTable, message));
            }
            return Err(SqlError::new(SqlState::DuplicateTable, message));
        }
        self.refuse_type_name(&name)?;
        let mut blueprint = Blueprint { on_commit, ..Blueprint::new(name, self.user) };
        self.settings.temporary().note(&blueprint.name, on_commit);
        let is_private = on_commit.is_some();
        for column in &create.columns {
            match parse::rewrite::like_of(column) {
                Some(like) => self.like(&mut blueprint, &like)?,
                None => self.column(&mut blueprint, column)?,
            }
        }
        for constraint in &create.constraints {
            self.constraint(&mut blueprint, constraint)?;
        }
        // One with that name may have been dropped without SQL.
        self.forget_rights(&Object::Table(blueprint.name.clone()))?;
        self.resolve_keys(&mut blueprint)?;
        blueprint.refuse_same_names()?;
        match &create.query {
            None => drop(self.make(&mut blueprint)?),
            Some(query) => return Ok(Defined { notices, is_private, ..self.create_as(blueprint, query)? }),
        }
        Ok(Defined { notices, is_private, ..Defined::tagged("CREATE TABLE") })
    }

    /// What becomes of a new table when transactions commit, if it is temporary.
    fn on_commit(&self, create: &CreateTable, name: &Name) -> Result<Option<OnCommit>> {
        let is_temporary = self.settings.temporary().is_own(&name.schema);
        if create.on_commit.is_some() && !is_temporary {
            let message = "ON COMMIT can only be used on temporary tables";
            return Err(SqlError::new(SqlState::InvalidTableDefinition, message));
        }
        Ok(is_temporary.then_some(match create.on_commit {
            None | Some(ast::OnCommit::PreserveRows) => OnCommit::PreserveRows,
            Some(ast::OnCommit::DeleteRows) => OnCommit::DeleteRows,
            Some(ast::OnCommit::Drop) => OnCommit::Drop,
        }))
    }

    /// Makes a table, and the sequence of its hidden keys where it has some.
    pub(super) fn make(&self, blueprint: &mut Blueprint) -> Result<Table> {
        if blueprint.key.is_none() && blueprint.hidden_sequence.is_none() {
            let base = format!("osier.{}.row", blueprint.name.engine());
            let make = |name: String| SequenceOptions::new(name).cache(HIDDEN_KEYS_CACHE);
            let named = |number: u32| if number == 0 { base.clone() } else { format!("{base}{number}") };
            blueprint.hidden_sequence = Some(self.free_sequence(&named, &make)?);
        }
        self.read_literals(blueprint)?;
        self.note_types(blueprint)?;
        let table = self.transaction.create_table(blueprint.schema()?)?;
        self.check_expressions(&table)?;
        Ok(table)
    }

    /// Binds defaults and checks once, so that one that makes no sense is refused here.
    pub(super) fn check_expressions(&self, table: &Table) -> Result<()> {
        let relation = Relation::of(table)?;
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        let refuse = |expr: &Expr, place: &str| match expr.any(&|part| matches!(part, Expr::Subquery(_))) {
            true => Err(SqlError::new(SqlState::FeatureNotSupported, format!("cannot use subquery in {place}"))),
            false => Ok(()),
        };
        self.refuse_temporary_sequences(&relation)?;
        super::generated::check(&binder, &relation)?;
        let is_default = |at: &usize| relation.columns[*at].default.is_some() && !relation.columns[*at].is_generated;
        for at in (0..relation.visible()).filter(is_default) {
            refuse(&binder.default_of(&relation, at)?, "DEFAULT expression")?;
        }
        binder.checks(&relation)?.iter().try_for_each(|(_, check)| refuse(check, "check constraint"))
    }

    /// Adds a column as it is declared.
    pub(super) fn column(&self, blueprint: &mut Blueprint, column: &ast::ColumnDef) -> Result<()> {
        let name = parse::name(&column.name);
        let serial = serial(&column.data_type);
        let declared = serial.map_or_else(|| self.data_type(&column.data_type), |ty| Ok(ty.into()))?;
        let mut plan = ColumnPlan::new(name.clone(), declared);
        if serial.is_some() {
            let sequence = self.own_sequence(blueprint, &name, declared.ty, &[])?;
            plan.default = Some(format!("nextval({})", Name::of_engine(&sequence).literal()));
            plan.sequence = Some(sequence);
            plan.is_nullable = false;
        }
        blueprint.add(plan)?;
        for option in &column.options {
            let constraint = option.name.as_ref().map(parse::name);
            self.column_option(blueprint, &name, constraint, &option.option)?;
        }
        Ok(())
    }

    fn column_option(
        &self,
        blueprint: &mut Blueprint,
        name: &str,
        constraint: Option<String>,
        option: &ColumnOption,
    ) -> Result<()> {
        let columns = || vec![name.to_owned()];
        match option {
            ColumnOption::Null => {}
            ColumnOption::NotNull => blueprint.column_mut(name)?.is_nullable = false,
            ColumnOption::Default(expr) => self.set_default(blueprint, name, expr)?,
            ColumnOption::PrimaryKey(key) => {
                refuse_deferrable(key.characteristics)?;
                self.primary_key(blueprint, constraint, columns())?;
            }
            ColumnOption::Unique(unique) => {
                refuse_deferrable(unique.characteristics)?;
                refuse_not_distinct(unique.nulls_distinct)?;
                self.unique(blueprint, constraint, columns())?;
            }
            ColumnOption::Check(check) => {
                let note = CheckNote {
                    name: constraint.unwrap_or_else(|| blueprint.check_name(Some(name))),
                    expression: self.kept(blueprint, &check.expr)?,
                };
                blueprint.checks.push(note);
            }
            ColumnOption::Generated { generation_expr: Some(expr), generation_expr_mode: mode, .. } => {
                self.generate(blueprint, name, expr, mode.as_ref())?;
            }
            ColumnOption::Generated { generated_as, sequence_options, .. } => {
                let identity = match generated_as {
                    GeneratedAs::Always => Identity::Always,
                    GeneratedAs::ByDefault => Identity::ByDefault,
                    GeneratedAs::ExpStored => return Err(SqlError::unsupported("a generated column")),
                };
                if blueprint.column_mut(name)?.is_generated {
                    return Err(super::generated::said_twice(blueprint, name, "identity"));
                }
                let ty = blueprint.column_mut(name)?.declared.ty;
                let options = super::sequence::given(sequence_options.as_deref().unwrap_or_default());
                let sequence = self.own_sequence(blueprint, name, ty, &options)?;
                let column = blueprint.column_mut(name)?;
                column.identity = Some(identity);
                column.sequence = Some(sequence);
                column.is_nullable = false;
            }
            ColumnOption::Collation(collation) => {
                let text = Typed::new(Expr::NULL, blueprint.column_mut(name)?.declared);
                collated(text, collation)?;
                let name_of_it = parse::parts(collation)?.pop().filter(|collation| collation != "default");
                blueprint.column_mut(name)?.collation = name_of_it;
            }
            ColumnOption::ForeignKey(key) => {
                let mut key = key.clone();
                key.columns = vec![ast::Ident::with_quote('"', name)];
                key.name = constraint.map(|name| ast::Ident::with_quote('"', name));
                blueprint.declared_keys.push(key);
            }
            other => return Err(SqlError::unsupported(format!("the column option {other}"))),
        }
        Ok(())
    }

    /// Adds a constraint of the table.
    pub(super) fn constraint(&self, blueprint: &mut Blueprint, constraint: &TableConstraint) -> Result<()> {
        let name = |ident: &Option<ast::Ident>| ident.as_ref().map(parse::name);
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                refuse_deferrable(key.characteristics)?;
                self.primary_key(blueprint, name(&key.name), key_columns(&key.columns)?)
            }
            TableConstraint::Unique(unique) => {
                refuse_deferrable(unique.characteristics)?;
                refuse_not_distinct(unique.nulls_distinct)?;
                self.unique(blueprint, name(&unique.name), key_columns(&unique.columns)?)
            }
            TableConstraint::Check(check) => {
                let note = CheckNote {
                    name: name(&check.name)
                        .unwrap_or_else(|| blueprint.check_name(only_column(blueprint, &check.expr))),
                    expression: self.kept(blueprint, &check.expr)?,
                };
                blueprint.checks.push(note);
                Ok(())
            }
            TableConstraint::ForeignKey(key) => {
                blueprint.declared_keys.push(key.clone());
                Ok(())
            }
            other => Err(SqlError::unsupported(format!("the constraint {other}"))),
        }
    }

    fn primary_key(&self, blueprint: &mut Blueprint, name: Option<String>, columns: Vec<String>) -> Result<()> {
        let name = self.index_name(blueprint, name, None, "pkey")?;
        blueprint.set_key(name, columns)
    }

    /// The name of a new index: the one that is said, which must be free, or one that is.
    pub(super) fn index_name(
        &self,
        blueprint: &Blueprint,
        said: Option<String>,
        columns: Option<&[String]>,
        label: &str,
    ) -> Result<String> {
        let named = |name: &str| Name::new(&blueprint.name.schema, name);
        if let Some(said) = said {
            return self.need_free(&named(&said)).map(|()| said);
        }
        let columns = columns.map(|columns| columns.join("_"));
        for name in blueprint.numbered(columns.as_deref(), label) {
            if blueprint.index_names().all(|own| own != name) && self.claim(&named(&name))?.is_none() {
                return Ok(name);
            }
        }
        unreachable!("there are names without end")
    }

    fn unique(&self, blueprint: &mut Blueprint, name: Option<String>, columns: Vec<String>) -> Result<()> {
        blueprint.need_columns(&columns)?;
        let name = self.index_name(blueprint, name, Some(&columns), "key")?;
        blueprint.indexes.push(IndexPlan { name, columns, orders: Vec::new(), is_unique: true, is_constraint: true });
        Ok(())
    }

    /// Makes a table of the rows of a query.
    fn create_as(&self, mut blueprint: Blueprint, query: &ast::Query) -> Result<Defined> {
        if !blueprint.columns.is_empty() {
            return Err(SqlError::unsupported("CREATE TABLE AS with columns"));
        }
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        for column in binder.query(query, None)?.columns {
            let declared = if column.declared.ty == Type::Unknown { Type::Text.into() } else { column.declared };
            blueprint.add(ColumnPlan::new(column.name, declared))?;
        }
        let name = blueprint.name.clone();
        self.make(&mut blueprint)?;
        let insert =
            parse::statements(&format!("INSERT INTO {}.{} {query}", quoted(&name.schema), quoted(&name.name)))?;
        Ok(Defined { then: insert.into_iter().next(), ..Defined::tagged("CREATE TABLE AS") })
    }
}

/// The column that an expression names, if it is only one: the constraint is called after it.
fn only_column<'b>(blueprint: &'b Blueprint, expr: &ast::Expr) -> Option<&'b str> {
    let text = expr.to_string();
    let mut named = blueprint.columns.iter().filter(|column| super::alter::mentions(&text, &column.name));
    match (named.next(), named.next()) {
        (Some(column), None) => Some(&column.name),
        _ => None,
    }
}

/// Refuses a key whose duplicates are to be looked for at the end of the transaction.
fn refuse_deferrable(characteristics: Option<ast::ConstraintCharacteristics>) -> Result<()> {
    match characteristics.is_some_and(|said| said.deferrable == Some(true) || said.initially.is_some()) {
        true => Err(SqlError::unsupported("a unique constraint that is DEFERRABLE").with_hint("Leave DEFERRABLE out.")),
        false => Ok(()),
    }
}

/// Refuses a constraint for which NULLs are equal.
fn refuse_not_distinct(nulls: ast::NullsDistinctOption) -> Result<()> {
    match nulls {
        ast::NullsDistinctOption::NotDistinct => Err(SqlError::unsupported("NULLS NOT DISTINCT")),
        _ => Ok(()),
    }
}

/// The integer that a column holds which has a sequence of its own.
fn serial(ty: &ast::DataType) -> Option<Type> {
    let ast::DataType::Custom(name, modifiers) = ty else { return None };
    let [part] = &name.0[..] else { return None };
    match parse::name(part.as_ident().filter(|_| modifiers.is_empty())?).as_str() {
        "smallserial" | "serial2" => Some(Type::Int2),
        "serial" | "serial4" => Some(Type::Int4),
        "bigserial" | "serial8" => Some(Type::Int8),
        _ => None,
    }
}

fn unsupported_part(create: &CreateTable) -> Option<&'static str> {
    let parts = [
        (create.global.is_some() && !create.temporary, "LOCAL or GLOBAL of a table that is not temporary"),
        (create.or_replace, "CREATE OR REPLACE TABLE"),
        (create.like.is_some(), "LIKE in CREATE TABLE"),
        (create.inherits.is_some(), "INHERITS"),
        (create.partition_by.is_some() || create.partition_of.is_some(), "a partitioned table"),
    ];
    parts.into_iter().find_map(|(is_there, what)| is_there.then_some(what))
}
