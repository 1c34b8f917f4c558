//! `pg_index`, `pg_constraint`, `pg_depend`.

use super::class::numbers;
use super::object::Scope;
use super::snapshot::{IndexObject, Snapshot, TableObject};
use super::{Catalog, PUBLIC, array, class, kind, oid, text};
use crate::catalog::name::Name;
use crate::catalog::notes::{Action, ForeignKeyNote, Identity};
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Int, Null};
use crate::error::Result;
use crate::run::Row;

/// The numbers of relations of the catalog.
const PG_CLASS: u32 = 1259;
const PG_CONSTRAINT: u32 = 2606;
const PG_ATTRDEF: u32 = 2604;
const PG_REWRITE: u32 = 2618;
/// The operator `=` of integers.
const EQUAL: u32 = 96;

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
    let is_expression = |at: &usize| table.relation.expression(*at).is_some();
    let expressions = super::deparse::list(index.columns.iter().filter_map(|at| table.relation.expression(*at)));
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
        array(index.columns.iter().map(|at| Int(if is_expression(at) { 0 } else { *at as i64 + 1 }))),
        array(types().map(|ty| oid(kind::shape(ty).collation))),
        array(types().map(|ty| oid(kind::class_of(ty)))),
        array((0..index.columns.len()).map(|at| Int(index.orders.get(at).copied().unwrap_or(0).into()))),
        expressions.map_or(Null, text),
        index.predicate.as_ref().map_or(Null, text),
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
    /// What sets a foreign key apart from other constraints.
    pub(super) foreign: Option<Foreign<'c>>,
}

/// What a foreign key refers to.
pub(super) struct Foreign<'c> {
    note: &'c ForeignKeyNote,
    table: u32,
    columns: Vec<usize>,
    /// The columns that `ON DELETE` sets, where they are said.
    set_columns: Vec<usize>,
}

fn letter(action: Action) -> &'static str {
    match action {
        Action::None => "a",
        Action::Restrict => "r",
        Action::Cascade => "c",
        Action::SetNull => "n",
        Action::SetDefault => "d",
    }
}

impl Constraint<'_> {
    fn row(self, namespace: u32) -> Row {
        let zero = || Int(0);
        let foreign = self.foreign.as_ref();
        let note = foreign.map(|foreign| foreign.note);
        let of_note = |letter: fn(&ForeignKeyNote) -> &'static str| text(note.map_or(" ", letter));
        let columns_of = |columns: Option<&Vec<usize>>| match columns {
            Some(columns) if !columns.is_empty() => numbers(columns),
            _ => Null,
        };
        // The operator `=` of each column; which one it is tools do not ask.
        let operators = || foreign.map_or(Null, |foreign| array(foreign.columns.iter().map(|_| oid(EQUAL))));
        vec![
            oid(self.oid),
            text(self.name),
            oid(namespace),
            text(self.kind),
            Bool(note.is_some_and(|note| note.is_deferrable)),
            Bool(note.is_some_and(|note| note.is_deferred)),
            Bool(!note.is_some_and(|note| note.is_not_valid)),
            oid(self.table),
            zero(),
            oid(self.index),
            zero(),
            oid(foreign.map_or(0, |foreign| foreign.table)),
            of_note(|note| letter(note.on_update)),
            of_note(|note| letter(note.on_delete)),
            of_note(|note| if note.is_full { "f" } else { "s" }),
            Bool(true),
            zero(),
            Bool(self.kind != "c"),
            self.columns,
            columns_of(foreign.map(|foreign| &foreign.columns)),
            operators(),
            operators(),
            operators(),
            columns_of(foreign.map(|foreign| &foreign.set_columns)),
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
                foreign: None,
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
                foreign: None,
            };
            rows.push(constraint.row(namespace));
        }
        for (note, number) in table.relation.notes.foreign_keys.iter().zip(&table.foreign_keys) {
            rows.extend(foreign_key(snapshot, table, note, *number)?.map(|constraint| constraint.row(namespace)));
        }
    }
    Ok(rows)
}

/// A foreign key; `None` where the table that it refers to was dropped by a program that knows nothing of SQL.
fn foreign_key<'s>(
    snapshot: &'s Snapshot,
    table: &TableObject,
    note: &'s ForeignKeyNote,
    number: u32,
) -> Result<Option<Constraint<'s>>> {
    let Some(parent) = snapshot.table_named(&note.table) else { return Ok(None) };
    let positions = |of: &TableObject, names: &[String]| -> Result<Vec<usize>> {
        names.iter().map(|name| of.relation.need(name)).collect()
    };
    let columns = positions(parent, &note.referenced)?;
    let is_index = |index: &&IndexObject| {
        index.is_unique && index.columns.len() == columns.len() && columns.iter().all(|at| index.columns.contains(at))
    };
    Ok(Some(Constraint {
        oid: number,
        name: &note.name,
        kind: "f",
        table: table.oid,
        index: parent.indexes.iter().find(is_index).map_or(0, |index| index.oid),
        columns: numbers(&positions(table, &note.columns)?),
        expression: Null,
        foreign: Some(Foreign { note, table: parent.oid, columns, set_columns: positions(table, &note.set_columns)? }),
    }))
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
    for view in snapshot.queries() {
        rows.push(row((PG_REWRITE, view.rule), (PG_CLASS, view.oid, 0), "i"));
        rows.extend((1..=view.columns).map(|at| row((PG_REWRITE, view.rule), (PG_CLASS, view.oid, at), "n")));
        for reference in &view.entry.tables {
            let name = Name::new(&reference.schema, &reference.name);
            let Some(number) = snapshot.oid_of(&name) else { continue };
            rows.push(row((PG_REWRITE, view.rule), (PG_CLASS, number, 0), "n"));
            for column in reference.columns.iter().filter(|column| column.is_used) {
                let at = snapshot.column_of(number, &column.name);
                rows.extend(at.map(|at| row((PG_REWRITE, view.rule), (PG_CLASS, number, at + 1), "n")));
            }
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
            for at in &index.columns {
                let columns = match table.relation.expression(*at) {
                    Some(text) => super::deparse::columns_of(&table.relation, text),
                    None => vec![*at],
                };
                rows.extend(columns.iter().map(|at| row((class, object), (PG_CLASS, table.oid, at + 1), "a")));
            }
        }
        for (check, number) in table.relation.notes.checks.iter().zip(&table.checks) {
            for at in super::deparse::columns_of(&table.relation, &check.expression) {
                rows.push(row((PG_CONSTRAINT, *number), (PG_CLASS, table.oid, at + 1), "a"));
            }
        }
        for (note, number) in table.relation.notes.foreign_keys.iter().zip(&table.foreign_keys) {
            let Some(parent) = snapshot.table_named(&note.table) else { continue };
            for (of, names, kind) in [(table, &note.columns, "a"), (parent, &note.referenced, "n")] {
                for name in names {
                    let column = of.relation.need(name)? + 1;
                    rows.push(row((PG_CONSTRAINT, *number), (PG_CLASS, of.oid, column), kind));
                }
            }
        }
        for (at, number) in table.defaults.iter().enumerate().filter(|(_, number)| **number != 0) {
            rows.push(row((PG_ATTRDEF, *number), (PG_CLASS, table.oid, at + 1), "a"));
        }
    }
    Ok(rows)
}
