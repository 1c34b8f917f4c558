//! `ANALYZE`: the statistics of tables are collected at once, and not when a plan first needs them.

use osier::Transaction;
use sqlparser::ast;

use super::{Core, Done};
use crate::bind::{Binder, undefined_table};
use crate::catalog::listing;
use crate::catalog::name::Name;
use crate::catalog::relation::Relation;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::sql::CatalogNames;

impl Core {
    /// Collects the statistics of a table, or of all that the user may.
    pub(super) fn analyze(&mut self, transaction: &Transaction<'_>, analyze: &ast::Analyze) -> Result<Done> {
        let Some(object) = &analyze.table_name else {
            for name in listing::table_names(transaction)?.iter().map(|name| Name::of_engine(name)) {
                if let Some(relation) = self.sql.find(transaction, &name)?
                    && self.settings.temporary().refuse_other(&relation).is_ok()
                    && self.may_analyze(transaction, &relation)?
                {
                    self.sql.statistics().collect(transaction, &relation)?;
                }
            }
            return Ok(Done::tagged("ANALYZE"));
        };
        let names = CatalogNames::new(&self.sql, transaction);
        let binder = Binder::new(&names, &self.settings, &[]);
        let Some(relation) = binder.find_relation(object)? else {
            let Some((name, _)) = binder.find_view(object)? else { return Err(undefined_table(object)) };
            self.skip(&name, "cannot analyze non-tables or special system tables");
            return Ok(Done::tagged("ANALYZE"));
        };
        if !self.may_analyze(transaction, &relation)? {
            self.skip(&relation.name, "only table or database owner can analyze it");
            return Ok(Done::tagged("ANALYZE"));
        }
        check_columns(&relation, &analyze.columns)?;
        self.sql.statistics().collect(transaction, &relation)?;
        Ok(Done::tagged("ANALYZE"))
    }

    fn may_analyze(&self, transaction: &Transaction<'_>, relation: &Relation) -> Result<bool> {
        if self.settings.is_superuser() {
            return Ok(true);
        }
        Ok(self.sql.objects(transaction)?.1.is_owner(self.settings.user(), &relation.notes.owner))
    }

    /// Warns that nothing was done with a table.
    fn skip(&mut self, name: &Name, why: &str) {
        let message = format!("skipping \"{}\" --- {why}", name.name);
        self.notices.push(SqlError::new(SqlState::Warning, message));
    }
}

/// Refuses columns that are not there, or named twice.
fn check_columns(relation: &Relation, columns: &[ast::Ident]) -> Result<()> {
    for (at, column) in columns.iter().enumerate() {
        let name = parse::name(column);
        relation.need(&name)?;
        if columns[..at].iter().any(|earlier| parse::name(earlier) == name) {
            let message = format!("column \"{name}\" of relation \"{}\" appears more than once", relation.name.name);
            return Err(SqlError::new(SqlState::DuplicateColumn, message));
        }
    }
    Ok(())
}
