//! The statistics that a database keeps in memory, for all sessions.
//!
//! They are collected when a plan first needs them, and anew when the table has grown or shrunk since.
//!
//! Invariants:
//! - What is kept is of the version of the definition that it is asked for, or is collected anew.
//! - Nobody waits for another one's collecting: the lock is held to look and to store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use osier::Transaction;
use osier::ids::TableId;
use osier::table::Schema;

use super::TableStatistics;
use crate::catalog::relation::Relation;
use crate::error::Result;

/// How long a number of rows is believed.
const BELIEVED: Duration = Duration::from_millis(100);
/// A table is not looked at for so many times as long as the last look took.
const REST_FACTOR: u32 = 50;
/// Statistics are collected anew where the number of rows has changed by this part.
const CHANGE: f64 = 0.2;
/// So few rows more or less change nothing.
const CHANGE_ROWS: f64 = 10.0;
/// Of so many tables statistics are kept.
const TABLES_MAX: usize = 4096;

/// The statistics of a database.
#[derive(Default)]
pub(crate) struct Kept(Mutex<HashMap<TableId, Entry>>);

/// The statistics of a table.
struct Entry {
    schema: Arc<Schema>,
    statistics: Arc<TableStatistics>,
    /// Until when they are believed.
    until: Instant,
}

impl Kept {
    /// What is known of a table.
    pub(crate) fn of(&self, transaction: &Transaction<'_>, relation: &Relation) -> Arc<TableStatistics> {
        let (table, now) = (&relation.table, Instant::now());
        let known = {
            let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = kept.get(&table.id()).filter(|entry| Arc::ptr_eq(&entry.schema, table.schema()));
            if let Some(entry) = entry.filter(|entry| now < entry.until) {
                return entry.statistics.clone();
            }
            entry.map(|entry| entry.statistics.clone())
        };
        if let Some(known) = known
            && !has_changed(&known, transaction.estimate_rows(table))
        {
            self.store(relation, known.clone(), now);
            return known;
        }
        // Whoever cannot read a row meets the same where it matters.
        self.collect(transaction, relation).unwrap_or_else(|_| Arc::new(TableStatistics::assumed()))
    }

    /// What is known of a table already.
    pub(crate) fn known(&self, relation: &Relation) -> Option<Arc<TableStatistics>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = kept.get(&relation.table.id())?;
        Arc::ptr_eq(&entry.schema, relation.table.schema()).then(|| entry.statistics.clone())
    }

    /// Collects the statistics of a table.
    pub(crate) fn collect(&self, transaction: &Transaction<'_>, relation: &Relation) -> Result<Arc<TableStatistics>> {
        let begun = Instant::now();
        let statistics = Arc::new(TableStatistics::collect(transaction, relation)?);
        self.store(relation, statistics.clone(), begun);
        Ok(statistics)
    }

    /// Keeps statistics that a look has shown to be right, which began then.
    fn store(&self, relation: &Relation, statistics: Arc<TableStatistics>, begun: Instant) {
        let now = Instant::now();
        let until = now + BELIEVED.max((now - begun) * REST_FACTOR);
        let (id, schema) = (relation.table.id(), relation.table.schema().clone());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= TABLES_MAX && !kept.contains_key(&id) {
            // Most are of tables that are gone.
            kept.clear();
        }
        kept.insert(id, Entry { schema, statistics, until });
    }
}

/// Whether a table has so many more or fewer rows by now that its statistics say too little.
fn has_changed(known: &TableStatistics, rows: f64) -> bool {
    if known.is_assumed {
        return rows > 0.0;
    }
    (rows - known.rows).abs() > (known.rows * CHANGE).max(CHANGE_ROWS)
}
