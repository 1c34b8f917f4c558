//! `pg_index`, `pg_constraint`, `pg_depend`.

use super::class::numbers;
use super::object::Scope;
use super::snapshot::{IndexObject, TableObject};
use super::{Catalog, PUBLIC, array, class, kind, oid, text};
use crate::catalog::notes::Identity;
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Int, Null};
use crate::error::Result;
use crate::run::Row;

/// The numbers of relations of the catalog.
const PG_CLASS: u32 = 1259;
const PG_CONSTRAINT: u32 = 2606;
const PG_ATTRDEF: u32 = 2604;

pub(super) fn indexes(catalog: &Catalog<'_>, scope: Scope<'_>) -> Result<Vec<Row>> {
    let snapshot = catalog.snapshot()?;
    let mut rows = Vec::new();
    for at in scope.tables(catalog)? {
        let table = &snapshot.tables[at];
        rows.extend(table.indexes.iter().map(|index| index_row(table, index)));
    }
    Ok(rows)
}

fn index_row(table: &TableObject, index: &IndexObject) -> Row {
    let types = || index.columns.iter().map(|at| table.relation.columns[*at].declared.ty);
    let count = Int(index.columns.len() as i64);
    vec![
        oid(index.oid),
        oid(table.oid),
        count.clone(),
        count,
        Bool(index.is_unique),
        Bool(false),
        Bool(index.is_primary),
        Bool(false),
        Bool(true),
        Bool(false),
        Bool(true),
        Bool(false),
        Bool(true),
        Bool(true),
        Bool(false),
        numbers(&index.columns),
        array(types().map(|ty| oid(kind::shape(ty).collation))),
        array(types().map(|ty| oid(kind::class_of(ty)))),
        array(types().map(|_| Int(0))),
        Null,
        Null,
    ]
}

/// What sets one constraint apart from another.
pub(super) struct Constraint<'c> {
    pub(super) oid: u32,
    pub(super) name: &'c str,
    pub(super) kind: &'static str,
    pub(super) table: u32,
    pub(super) index: u32,
    pub(super) columns: Datum,
    pub(super) expression: Datum,
}

impl Constraint<'_> {
    fn row(self, namespace: u32) -> Row {
        let (zero, no) = (|| Int(0), || Bool(false));
        vec![
            oid(self.oid),
            text(self.name),
            oid(namespace),
            text(self.kind),
            no(),
            no(),
            Bool(true),
            oid(self.table),
            zero(),
            oid(self.index),
            zero(),
            zero(),
            text(" "),
            text(" "),
            text(" "),
            Bool(true),
            zero(),
            Bool(self.kind != "c"),
            self.columns,
            Null,
            Null,
            Null,
            Null,
            Null,
            Null,
            self.expression,
        ]
    }
}

pub(super) fn constraints(catalog: &Catalog<'_>, scope: Scope<'_>) -> Result<Vec<Row>> {
    let snapshot = catalog.snapshot()?;
    let mut rows = Vec::new();
    for at in scope.tables(catalog)? {
        let table = &snapshot.tables[at];
        let namespace = class::schema_number(catalog, &table.relation.name.schema)?.unwrap_or(PUBLIC);
        for index in table.indexes.iter().filter(|index| index.constraint != 0) {
            let constraint = Constraint {
                oid: index.constraint,
                name: &index.name,
                kind: if index.is_primary { "p" } else { "u" },
                table: table.oid,
                index: index.oid,
                columns: numbers(&index.columns),
                expression: Null,
            };
            rows.push(constraint.row(namespace));
        }
        for (check, number) in table.relation.notes.checks.iter().zip(&table.checks) {
            let named = super::deparse::columns_of(&table.relation, &check.expression);
            let constraint = Constraint {
                oid: *number,
                name: &check.name,
                kind: "c",
                table: table.oid,
                index: 0,
                columns: if named.is_empty() { Null } else { numbers(&named) },
                expression: text(&check.expression),
            };
            rows.push(constraint.row(namespace));
        }
    }
    Ok(rows)
}

/// `pg_depend`: what is dropped with what.
pub(super) fn dependencies(catalog: &Catalog<'_>) -> Result<Vec<Row>> {
    let snapshot = catalog.snapshot()?;
    let row = |(class, object): (u32, u32), (of_class, of, column): (u32, u32, usize), kind: &str| {
        vec![oid(class), oid(object), Int(0), oid(of_class), oid(of), Int(column as i64), text(kind)]
    };
    let mut rows = Vec::new();
    for sequence in &snapshot.sequences {
        let Some((table, column)) = sequence.owner else { continue };
        let table = &snapshot.tables[table];
        let identity: Option<Identity> = table.relation.columns[column].identity;
        let kind = if identity.is_some() { "i" } else { "a" };
        rows.push(row((PG_CLASS, sequence.oid), (PG_CLASS, table.oid, column + 1), kind));
        if table.defaults[column] != 0 {
            rows.push(row((PG_ATTRDEF, table.defaults[column]), (PG_CLASS, sequence.oid, 0), "n"));
        }
    }
    for table in &snapshot.tables {
        for index in &table.indexes {
            if index.constraint != 0 {
                rows.push(row((PG_CLASS, index.oid), (PG_CONSTRAINT, index.constraint, 0), "i"));
            }
            let (class, object) = match index.constraint {
                0 => (PG_CLASS, index.oid),
                constraint => (PG_CONSTRAINT, constraint),
            };
            rows.extend(index.columns.iter().map(|at| row((class, object), (PG_CLASS, table.oid, at + 1), "a")));
        }
        for (check, number) in table.relation.notes.checks.iter().zip(&table.checks) {
            for at in super::deparse::columns_of(&table.relation, &check.expression) {
                rows.push(row((PG_CONSTRAINT, *number), (PG_CLASS, table.oid, at + 1), "a"));
            }
        }
        for (at, number) in table.defaults.iter().enumerate().filter(|(_, number)| **number != 0) {
            rows.push(row((PG_ATTRDEF, *number), (PG_CLASS, table.oid, at + 1), "a"));
        }
    }
    Ok(rows)
}
