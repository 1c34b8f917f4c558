//! Statements that define: tables, indexes, sequences. Each is a part of the transaction that it is in.

mod alter;
mod authority;
mod blueprint;
mod columns;
mod comment;
mod constraint;
mod create;
mod depend;
mod drop;
mod extension;
mod foreign;
mod generated;
mod grant;
mod identity;
mod index;
mod like;
mod literals;
mod materialized;
pub(crate) mod numbers;
mod reach;
mod role;
mod schema;
mod sequence;
mod types;
mod uses;
mod view;
mod view_text;

use std::sync::Arc;

use osier::{Error, Table, Transaction, TransactionError};
use sqlparser::ast::{self, ObjectName, Statement};

use blueprint::Blueprint;

use crate::bind::Binder;
use crate::catalog::listing;
use crate::catalog::name::Name;
use crate::catalog::relation::Relation;
use crate::catalog::system::refuse_change;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::parse::objects::Own;
use crate::plan::Query;
use crate::run::Context;
use crate::settings::Settings;
use crate::sql::{CatalogNames, Sql};
use crate::types::Declared;

/// What a statement has defined.
#[derive(Debug)]
pub(crate) struct Defined {
    pub(crate) tag: &'static str,
    pub(crate) notices: Vec<SqlError>,
    /// What is to be run behind it.
    pub(crate) then: Option<Statement>,
    /// The materialized view that is to get its rows.
    pub(crate) fill: Option<Fill>,
    /// Whether only the session can notice it, as all of it is temporary.
    pub(crate) is_private: bool,
}

/// A materialized view that is to get the rows of its query.
#[derive(Debug)]
pub(crate) struct Fill {
    pub(crate) name: Name,
    /// Whether rows stay that the query gives again; otherwise there is none.
    pub(crate) is_concurrent: bool,
    /// Whether the client is told how many rows there are.
    pub(crate) counts: bool,
}

/// Evaluates expressions for a statement that defines.
pub(crate) trait Runner {
    /// Gives `act` what expressions are evaluated with.
    fn with_context(
        &self,
        transaction: &Transaction<'_>,
        query: &Query,
        act: &mut dyn FnMut(&Context<'_>) -> Result<Datum>,
    ) -> Result<Datum>;

    /// Waits until no other transaction is about to give something this name, and keeps all others from it until this one ends.
    fn claim(&self, name: &Name) -> Result<()>;
}

impl Defined {
    fn tagged(tag: &'static str) -> Defined {
        Defined { tag, notices: Vec::new(), then: None, fill: None, is_private: false }
    }

    /// Nothing was to be done, which the client is told.
    fn noticed(tag: &'static str, state: SqlState, message: String) -> Defined {
        Defined { notices: vec![SqlError::new(state, message)], ..Defined::tagged(tag) }
    }
}

/// Runs statements that define.
pub(crate) struct Definer<'d, 's> {
    pub(crate) sql: &'d Sql,
    pub(crate) transaction: &'d Transaction<'s>,
    pub(crate) settings: &'d Settings,
    pub(crate) user: &'d str,
    pub(crate) runner: &'d dyn Runner,
}

impl<'d, 's> Definer<'d, 's> {
    /// Runs a statement.
    pub(crate) fn define(&self, statement: &Statement) -> Result<Defined> {
        if let Some(own) = parse::objects::carried(statement) {
            return self.define_own(&own);
        }
        match statement {
            Statement::CreateView(create) if create.materialized => self.create_materialized(create),
            Statement::CreateView(create) => self.create_view(create),
            Statement::CreateSchema { schema_name, if_not_exists, .. } => {
                self.create_schema(schema_name, *if_not_exists)
            }
            Statement::CreateTable(create) => self.create_table(create),
            Statement::CreateIndex(create) => self.create_index(create),
            Statement::CreateSequence { .. } => self.create_sequence(statement),
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::Comment { .. } => self.comment(statement),
            Statement::Truncate(truncate) => self.truncate(truncate),
            Statement::Drop { object_type, if_exists, names, cascade, .. } => {
                self.drop(*object_type, *if_exists, names, *cascade)
            }
            other => {
                let text = other.to_string();
                let words: Vec<&str> = text.split_whitespace().take(2).collect();
                Err(SqlError::unsupported(words.join(" ").to_uppercase()))
            }
        }
    }

    fn define_own(&self, own: &Own) -> Result<Defined> {
        match own {
            Own::Alter { kind, if_exists, name, change } => self.alter_named(*kind, *if_exists, name, change),
            Own::CreateRole { name, options } => self.create_role(name, options),
            Own::AlterRole { role, options } => self.alter_role(role, options),
            Own::RenameRole { from, to } => self.rename_role(from, to),
            Own::DropRoles { roles, if_exists } => self.drop_roles(roles, *if_exists),
            Own::Grant(grant) => self.grant(grant),
            Own::GrantRoles { is_revoke, roles, members, admin } => {
                self.grant_roles(*is_revoke, roles, members, *admin)
            }
            Own::Extension(statement) => self.extension_statement(statement),
            Own::Refresh(refresh) => self.refresh(refresh),
            Own::Type(statement) => self.type_statement(statement),
            Own::Refused(what) => Err(SqlError::unsupported(what)),
        }
    }

    /// What a new object is called, which `is_temporary` where the statement says so.
    fn new_name(&self, object: &ObjectName, is_temporary: bool) -> Result<Name> {
        let mut parts = parse::parts(object)?;
        let temporary = self.settings.temporary();
        let name = match (parts.len(), temporary.schema()) {
            (1, Some(own)) if is_temporary => Name::new(own, parts.remove(0)),
            (1, _) => Name::new(self.schema_to_create_in()?, parts.remove(0)),
            (2, _) => Name::new(temporary.meant(parts.remove(0)), parts.remove(0)),
            _ => return Err(SqlError::unsupported(format!("the name {object} with more than a schema"))),
        };
        name.check()?;
        if temporary.is_own(&name.schema) {
            return Ok(name);
        }
        let refused = |message: &str| Err(SqlError::new(SqlState::InvalidTableDefinition, message));
        if is_temporary {
            return refused("cannot create temporary relation in non-temporary schema");
        }
        if self.sql.temporary_schemas().has(&name.schema) && self.objects()?.is_temporary(&name.schema) {
            return refused("cannot create relations in temporary schemas of other sessions");
        }
        if matches!(&*name.schema, "pg_catalog" | "information_schema") {
            let message = format!("permission denied to create \"{}.{}\"", name.schema, name.name);
            return Err(SqlError::new(SqlState::InsufficientPrivilege, message)
                .with_detail("System catalog modifications are currently disallowed."));
        }
        self.need_create(&name.schema)?;
        Ok(name)
    }

    /// The type that a statement declares.
    fn data_type(&self, ty: &ast::DataType) -> Result<Declared> {
        let names = self.names();
        Binder::new(&names, self.settings, &[]).data_type(ty)
    }

    fn names(&self) -> CatalogNames<'d, 's> {
        CatalogNames::new(self.sql, self.transaction)
    }

    /// The table that a name means.
    fn find(&self, object: &ObjectName) -> Result<Option<Arc<Relation>>> {
        refuse_change(&parse::parts(object)?, &self.settings.search_path, "change")?;
        let names = self.names();
        Binder::new(&names, self.settings, &[]).find_relation(object)
    }

    /// As [`Definer::find`], of a temporary table of another session, too.
    fn find_any(&self, object: &ObjectName) -> Result<Option<Arc<Relation>>> {
        refuse_change(&parse::parts(object)?, &self.settings.search_path, "change")?;
        let names = self.names();
        Binder::new(&names, self.settings, &[]).find_any_relation(object)
    }

    /// The table that a name means, which must be there.
    fn relation(&self, object: &ObjectName) -> Result<Arc<Relation>> {
        if let Some(found) = self.find(object)? {
            return Ok(found);
        }
        match self.named(&parse::parts(object)?)? {
            None => Err(crate::bind::undefined_table(object)),
            Some((name, _)) => {
                let message = format!("\"{}\" is not a table", name.name);
                Err(SqlError::new(SqlState::WrongObjectType, message))
            }
        }
    }

    /// The names of all tables that statements see.
    fn table_names(&self) -> Result<Vec<String>> {
        let names = listing::table_names(self.transaction)?;
        Ok(names.into_iter().filter(|name| !Name::of_engine(name).is_own()).collect())
    }

    /// The names of the tables that may have to do with something in a schema: nothing permanent has with what is temporary.
    fn tables_about(&self, schema: &str) -> Result<Vec<String>> {
        let temporary = self.settings.temporary();
        match temporary.is_own(schema) {
            true => Ok(temporary.tables().iter().map(Name::engine).collect()),
            false => self.table_names(),
        }
    }

    /// The names of all sequences that statements see.
    fn sequence_names(&self) -> Result<Vec<String>> {
        let sequences = listing::sequences(self.transaction)?;
        Ok(sequences.iter().map(|sequence| sequence.name.engine()).collect())
    }

    /// The table in a schema that has an index of this name. Whether there is none may change, but for a name that is claimed.
    fn table_of_index(&self, index: &Name) -> Result<Option<Table>> {
        let names = match self.settings.temporary().is_own(&index.schema) {
            true => self.tables_about(&index.schema)?,
            false => listing::table_names_now(self.transaction, Some(&index.schema))?,
        };
        for name in names {
            let engine = Name::of_engine(&name);
            if engine.schema != index.schema || engine.is_own() {
                continue;
            }
            let table = match self.transaction.table(&name) {
                Ok(table) => table,
                Err(Error::Transaction(TransactionError::UnknownTable { .. })) => continue,
                Err(error) => return Err(error.into()),
            };
            let relation = self.sql.relation(&table)?;
            let is_key = !relation.has_hidden_key && relation.key_name == index.name;
            if is_key || table.schema().index(&index.name).is_ok() {
                return Ok(Some(table));
            }
        }
        Ok(None)
    }

    /// An expression as the catalog keeps it: sequences in it are those that the names mean now, and literals are read
    /// [when the table is made](Definer::read_literals).
    fn kept(&self, blueprint: &mut Blueprint, expr: &ast::Expr) -> Result<String> {
        let text = expr.to_string();
        if !parse::expression(&text).is_ok_and(|again| again == *expr) {
            return Err(SqlError::unsupported(format!(
                "an expression that is another one when it is written out: {text}"
            ))
            .with_hint("Put parentheses around its parts."));
        }
        let text = self.with_schemas(&text, false)?;
        blueprint.unread.push(text.clone());
        Ok(text)
    }
}
