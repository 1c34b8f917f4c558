//! `pg_stats`: what is known of the columns of tables, as far as a plan or `ANALYZE` has asked for it.
//!
//! Invariant: nobody sees values of a column that he may not read.

use super::{Catalog, array, text};
use crate::catalog::relation::{Column, Relation};
use crate::catalog::rights::Rights;
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Float, Int, Null};
use crate::error::Result;
use crate::run::Row;
use crate::statistics::{ColumnStatistics, TableStatistics};
use crate::types::Declared;
use crate::value;

/// Where more than this part of the rows have values of their own, their number is shown as a part of the rows.
const SCALED: f64 = 0.1;

pub(super) fn columns(catalog: &Catalog<'_>) -> Result<Vec<Row>> {
    let snapshot = catalog.snapshot()?;
    let mut rows = Vec::new();
    for table in &snapshot.tables {
        let relation = &table.relation;
        let Some(statistics) = catalog.sql.statistics().known(relation) else { continue };
        let object = relation.object();
        for (column, known) in relation.columns[..relation.visible()].iter().zip(&statistics.columns) {
            let rights = snapshot.beside.rights(catalog.user, &object, &relation.notes.owner, Some(&column.name));
            if catalog.settings.is_superuser() || rights.has(Rights::SELECT) {
                rows.push(row(catalog, relation, &statistics, (column, known)));
            }
        }
    }
    Ok(rows)
}

fn row(
    catalog: &Catalog<'_>,
    relation: &Relation,
    statistics: &TableStatistics,
    (column, known): (&Column, &ColumnStatistics),
) -> Row {
    let distinct = match known {
        known if known.is_unique && known.distinct > 0.0 => -1.0,
        known if known.distinct > statistics.rows * SCALED => -known.distinct / statistics.rows,
        known => known.distinct.round(),
    };
    let values = |values: Vec<Datum>| match column.declared.ty.array() {
        Some(ty) if !values.is_empty() => {
            let mut shown = Vec::new();
            value::push_text(&Datum::Array(values.into()), Declared::from(ty), catalog.settings, &mut shown);
            text(String::from_utf8_lossy(&shown))
        }
        _ => Null,
    };
    let common = known.common.iter().map(|(value, _)| value.clone()).collect();
    let frequencies = match &known.common[..] {
        [] => Null,
        common => array(common.iter().map(|(_, fraction)| Float(f64::from(*fraction as f32)))),
    };
    vec![
        text(&relation.name.schema),
        text(&relation.name.name),
        text(&column.name),
        Bool(false),
        Float(f64::from(known.null_fraction as f32)),
        Int(known.width.round() as i64),
        Float(f64::from(distinct as f32)),
        values(common),
        frequencies,
        values(known.bounds.clone()),
        Null,
        Null,
        Null,
        Null,
    ]
}
