//! Statistics of tables: how many rows there are, and what is in their columns, about.
//!
//! Invariants:
//! - They are taken from a sample of committed rows, which nobody conflicts with, and are never stored.
//! - They are of one version of the table's definition: positions of columns are those of its relation.
//! - No answer depends on them: only which plan finds it.

mod column;
mod kept;

use std::sync::Arc;

use osier::{SampleLimits, Transaction};

pub(crate) use column::ColumnStatistics;
pub(crate) use kept::Kept;

use crate::catalog::relation::Relation;
use crate::datum::Datum;
use crate::error::Result;
use crate::run::datum_bytes;
use crate::run::scan::loaded;
use crate::types::Type;

/// So many rows are looked at.
const SAMPLE_ROWS: usize = 4096;
/// So many encoded bytes of rows are looked at.
const SAMPLE_BYTES: usize = 8 << 20;
/// What a `numeric` takes.
const NUMERIC_BYTES: f64 = 8.0;
/// What a table without rows is taken to have: it is about to be filled.
const ROWS_ASSUMED: f64 = 1000.0;

/// What is known of a table.
#[derive(Debug)]
pub(crate) struct TableStatistics {
    /// How many rows there are.
    pub(crate) rows: f64,
    /// Whether there was no row to look at: the number of rows is an assumption.
    pub(crate) is_assumed: bool,
    /// Of each column of the relation; empty where nothing is known.
    pub(crate) columns: Vec<ColumnStatistics>,
}

impl TableStatistics {
    /// What is taken of a table whose rows nobody has looked at.
    pub(crate) fn assumed() -> TableStatistics {
        TableStatistics { rows: ROWS_ASSUMED, is_assumed: true, columns: Vec::new() }
    }

    /// Looks at some rows of a table.
    pub(crate) fn collect(transaction: &Transaction<'_>, relation: &Relation) -> Result<TableStatistics> {
        let mut columns: Vec<Vec<Datum>> = vec![Vec::new(); relation.columns.len()];
        let mut outcome = Ok(());
        let limits = SampleLimits { rows_max: SAMPLE_ROWS, bytes_max: SAMPLE_BYTES };
        let rows = transaction.sample(&relation.table, limits, &mut |row| {
            if outcome.is_err() {
                return;
            }
            match loaded(row, relation) {
                Ok(row) => row.into_iter().zip(&mut columns).for_each(|(value, column)| column.push(value)),
                Err(error) => outcome = Err(error),
            }
        });
        outcome?;
        if columns.first().is_none_or(Vec::is_empty) {
            return Ok(TableStatistics::assumed());
        }
        let types = relation.columns.iter().map(|column| column.declared.ty);
        let columns =
            columns.into_iter().zip(types).map(|(values, ty)| ColumnStatistics::of(values, ty, rows)).collect();
        Ok(TableStatistics { rows: rows.max(1.0), is_assumed: false, columns })
    }

    /// What is known of a column.
    pub(crate) fn column(&self, at: usize) -> Option<&ColumnStatistics> {
        self.columns.get(at)
    }
}

/// Says what is known of a table.
pub(crate) trait Known {
    fn of(&self, relation: &Arc<Relation>) -> Arc<TableStatistics>;
}

/// Of whoever has no database at hand.
pub(crate) struct NothingKnown;

impl Known for NothingKnown {
    fn of(&self, _relation: &Arc<Relation>) -> Arc<TableStatistics> {
        Arc::new(TableStatistics::assumed())
    }
}

/// How many bytes a value of a type takes, about as PostgreSQL stores it.
fn width(value: &Datum, ty: Type) -> f64 {
    match value {
        Datum::Text(text) => text.len() as f64 + 1.0,
        Datum::Bytes(bytes) => bytes.len() as f64 + 1.0,
        Datum::Numeric(_) => NUMERIC_BYTES,
        _ if ty.wire_length() > 0 => f64::from(ty.wire_length()),
        value => (datum_bytes(value) - size_of::<Datum>()) as f64,
    }
}
