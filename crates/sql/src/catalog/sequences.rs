//! Sequences: who owns them, and which column they belong to.

use std::sync::Arc;

use osier::Transaction;

use super::listing;
use super::name::Name;
use super::objects::Objects;
use super::relation::Relation;
use crate::error::Result;
use crate::sql::Sql;

/// The owner of a sequence.
pub(crate) fn owner<'o>(objects: &'o Objects, sequence: &Name) -> &'o str {
    objects.sequences.get(sequence).map_or(Sql::FIRST_ROLE, |entry| &entry.owner)
}

/// The table and the position of the column that a sequence belongs to.
pub(crate) fn of_column(transaction: &Transaction<'_>, sequence: &Name) -> Result<Option<(Arc<Relation>, usize)>> {
    let engine = sequence.engine();
    for name in listing::table_names(transaction)? {
        if Name::of_engine(&name).is_own() {
            continue;
        }
        let Ok(table) = transaction.table(&name) else { continue };
        // A look at the text first: most tables have no such sequence.
        if !table.schema().notes().contains(&sequence.name) {
            continue;
        }
        let relation = Relation::of(&table)?;
        let at = relation.notes.columns.iter().position(|note| note.sequence.as_deref() == Some(&engine));
        if let Some(at) = at {
            return Ok(Some((relation, at)));
        }
    }
    Ok(None)
}
