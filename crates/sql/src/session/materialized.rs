//! Putting the rows of its query into a materialized view.
//!
//! Invariant: the query runs as the owner of the view, whoever asks for that.

use std::sync::Arc;

use osier::Transaction;

use super::Core;
use crate::bind::Binder;
use crate::catalog::objects::ViewEntry;
use crate::catalog::relation::Relation;
use crate::ddl::Fill;
use crate::error::{Result, SqlError, SqlState};
use crate::plan::{Change, Plan};
use crate::run::{materialized, write};
use crate::sql::CatalogNames;

impl Core {
    /// Gives a materialized view the rows of its query; returns how many there are.
    pub(super) fn fill(&mut self, transaction: &Transaction<'_>, fill: &Fill) -> Result<u64> {
        let (_, objects) = self.sql.objects(transaction)?;
        let found = self.sql.find(transaction, &fill.name)?.zip(objects.materialized.get(&fill.name).cloned());
        let Some((relation, view)) = found else {
            let message = format!("materialized view \"{}\" has lost its query", fill.name);
            return Err(SqlError::new(SqlState::DataCorrupted, message).with_hint("Drop it, and create it again."));
        };
        let before = self.settings.clone();
        Arc::make_mut(&mut self.settings).set_role(Some(&view.owner), objects.is_superuser(&view.owner));
        let filled = self.fill_as_owner(transaction, &relation, &view, fill.is_concurrent);
        self.settings = before;
        filled
    }

    fn fill_as_owner(
        &mut self,
        transaction: &Transaction<'_>,
        relation: &Arc<Relation>,
        view: &Arc<ViewEntry>,
        is_concurrent: bool,
    ) -> Result<u64> {
        let names = CatalogNames::new(&self.sql, transaction);
        let binder = Binder::new(&names, &self.settings, &[]);
        let write = binder.filling(relation, view)?;
        binder.check_rights()?;
        self.objects = binder.objects_for_rights()?;
        let query = binder.finish(Plan::Write(Box::new(write)));
        let Plan::Write(write) = &query.plan else { unreachable!("that is what was made") };
        self.with_context(transaction, &query, &[], |context| match &write.change {
            Change::Insert { input, .. } if is_concurrent => materialized::renew(write, input, context).map(|()| 0),
            _ => write::run(write, context).map(|written| written.count).map_err(|error| not_unique(relation, error)),
        })
    }
}

/// The error of rows that break an index which is made for them.
fn not_unique(relation: &Relation, error: SqlError) -> SqlError {
    let (Some(index), Some(detail)) = (error.constraint(), error.detail()) else { return error };
    if error.state != SqlState::UniqueViolation {
        return error;
    }
    let message = format!("could not create unique index \"{index}\"");
    let detail = detail.replace("already exists.", "is duplicated.");
    SqlError::new(SqlState::UniqueViolation, message)
        .with_detail(detail)
        .with_schema(&relation.name.schema)
        .with_table(&relation.name.name)
        .with_constraint(index)
}
