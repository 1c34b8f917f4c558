//! Comments: `COMMENT ON`, `pg_description`, `pg_shdescription`.
//!
//! What is a part of a table has its comment in the table's notes; everything else has a row in the table `osier.comments`.

use osier::table::{KeyRange, Type};
use osier::{Error, Schema, Table, Transaction, TransactionError, Value};

use super::snapshot::Snapshot;
use super::{Catalog, DATABASE, PG_CATALOG, PUBLIC, class, oid, role, server, text};
use crate::catalog::name::Name;
use crate::datum::Datum;
use crate::datum::Datum::{Int, Null};
use crate::error::Result;
use crate::function::EXTENSIONS;
use crate::run::Row;

/// The table, with columns `kind`, `name` and `comment`.
const TABLE: &str = "osier.comments";

/// The numbers of the relations that list what has comments.
pub(super) const OF_CLASS: u32 = 1259;
pub(super) const OF_CONSTRAINT: u32 = 2606;
pub(super) const OF_NAMESPACE: u32 = 2615;
pub(super) const OF_DATABASE: u32 = 1262;
pub(super) const OF_ROLE: u32 = 1260;
pub(super) const OF_TYPE: u32 = 1247;
pub(super) const OF_EXTENSION: u32 = 3079;

/// What has a comment and is no part of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commented {
    Sequence,
    Schema,
    Database,
    Role,
    Type,
    Extension,
}

impl Commented {
    fn word(self) -> &'static str {
        match self {
            Commented::Sequence => "sequence",
            Commented::Schema => "schema",
            Commented::Database => "database",
            Commented::Role => "role",
            Commented::Type => "type",
            Commented::Extension => "extension",
        }
    }
}

fn found(table: std::result::Result<Table, Error>) -> Result<Option<Table>> {
    match table {
        Ok(table) => Ok(Some(table)),
        Err(Error::Transaction(TransactionError::UnknownTable { .. })) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Comments on something, or removes the comment. A row without a comment says that one that was there from the start is gone.
pub(crate) fn remark(
    transaction: &Transaction<'_>,
    commented: Commented,
    name: &str,
    comment: Option<&str>,
) -> Result<()> {
    let table = match (found(transaction.table(TABLE))?, comment) {
        (Some(table), _) => table,
        (None, None) if commented != Commented::Schema => return Ok(()),
        (None, _) => {
            let schema = Schema::builder(TABLE)
                .column("kind", Type::Text)
                .column("name", Type::Text)
                .nullable_column("comment", Type::Text)
                .primary_key(["kind", "name"]);
            transaction.create_table(schema.build()?)?
        }
    };
    let comment = comment.map_or(Value::Null, Value::Text);
    transaction.upsert(&table, &[Value::Text(commented.word()), Value::Text(name), comment])?;
    Ok(())
}

/// Forgets the comment of what was dropped.
pub(crate) fn forget(transaction: &Transaction<'_>, commented: Commented, name: &str) -> Result<()> {
    if let Some(table) = found(transaction.table(TABLE))? {
        transaction.delete(&table, &[Value::Text(commented.word()), Value::Text(name)])?;
    }
    Ok(())
}

/// The comments that are no part of a table: what they are of, its name, and the comment.
fn others(catalog: &Catalog<'_>) -> Result<Vec<(String, String, Option<String>)>> {
    let given = |kind: &str, name: &str, comment: &str| (kind.to_owned(), name.to_owned(), Some(comment.to_owned()));
    let mut comments = vec![
        given("schema", "public", "standard public schema"),
        given("schema", "pg_catalog", "system catalog schema"),
    ];
    for name in catalog.snapshot()?.beside.extensions.keys() {
        let known = EXTENSIONS.iter().find(|known| known.name == name);
        comments.extend(known.map(|known| given("extension", name, known.comment)));
    }
    let Some(table) = found(catalog.store.table_unvalidated(TABLE))? else { return Ok(comments) };
    let (kind, name, comment) = (table.column("kind")?, table.column("name")?, table.column("comment")?);
    for row in catalog.store.scan_unvalidated(&table)? {
        let row = row?;
        let (kind, name) = (row.text(kind).to_owned(), row.text(name).to_owned());
        let comment = match row.value(comment) {
            Value::Text(comment) => Some(comment.to_owned()),
            _ => None,
        };
        comments.retain(|(known_kind, known, _)| (known_kind, known) != (&kind, &name));
        comments.push((kind, name, comment));
    }
    Ok(comments)
}

/// The comments on things of a kind, with their names.
pub(crate) fn comments(transaction: &Transaction<'_>, of: Commented) -> Result<Vec<(String, String)>> {
    let Some(table) = found(transaction.table(TABLE))? else { return Ok(Vec::new()) };
    let (kind, name, comment) = (table.column("kind")?, table.column("name")?, table.column("comment")?);
    let mut comments = Vec::new();
    for row in transaction.scan(&table, KeyRange::all())? {
        let row = row?;
        if let Value::Text(comment) = row.value(comment)
            && row.text(kind) == of.word()
        {
            comments.push((row.text(name).to_owned(), comment.to_owned()));
        }
    }
    Ok(comments)
}

/// A comment: number of what it is of, relation that lists that, column, and the comment.
type Description = (u32, u32, i64, String);

fn of_tables(snapshot: &Snapshot) -> Vec<Description> {
    let mut all = Vec::new();
    for table in &snapshot.tables {
        let notes = &table.relation.notes;
        let own = notes.comment.iter().map(|comment| (table.oid, OF_CLASS, 0, comment.clone()));
        all.extend(own);
        for (at, note) in notes.columns.iter().enumerate() {
            let comment = note.comment.iter().map(|comment| (table.oid, OF_CLASS, at as i64 + 1, comment.clone()));
            all.extend(comment);
        }
        for index in &table.indexes {
            let of_index = notes.comments.get(&format!("index {}", index.name));
            all.extend(of_index.map(|comment| (index.oid, OF_CLASS, 0, comment.clone())));
            let of_key = notes.comments.get(&format!("constraint {}", index.name)).filter(|_| index.constraint != 0);
            all.extend(of_key.map(|comment| (index.constraint, OF_CONSTRAINT, 0, comment.clone())));
        }
        let checks = notes.checks.iter().map(|check| &check.name).zip(&table.checks);
        let keys = notes.foreign_keys.iter().map(|key| &key.name).zip(&table.foreign_keys);
        for (name, number) in checks.chain(keys) {
            let comment = notes.comments.get(&format!("constraint {name}"));
            all.extend(comment.map(|comment| (*number, OF_CONSTRAINT, 0, comment.clone())));
        }
    }
    for view in &snapshot.views {
        all.extend(view.entry.comment.iter().map(|comment| (view.oid, OF_CLASS, 0, comment.clone())));
        for (at, column) in view.entry.columns.iter().enumerate() {
            all.extend(column.comment.iter().map(|comment| (view.oid, OF_CLASS, at as i64 + 1, comment.clone())));
        }
    }
    all
}

/// All comments; `is_shared`: those of what all databases have in common.
pub(super) fn all(catalog: &Catalog<'_>, is_shared: bool) -> Result<Vec<Description>> {
    let mut all = if is_shared { Vec::new() } else { of_tables(catalog.snapshot()?) };
    for (kind, name, comment) in others(catalog)? {
        let Some(comment) = comment else { continue };
        let of = match (kind.as_str(), is_shared) {
            ("sequence", false) => {
                let number = catalog.snapshot()?.oid_of(&Name::of_engine(&name));
                number.map(|number| (number, OF_CLASS))
            }
            ("schema", false) => match name.as_str() {
                "public" => Some((PUBLIC, OF_NAMESPACE)),
                "pg_catalog" => Some((PG_CATALOG, OF_NAMESPACE)),
                other => class::schema_number(catalog, other)?.map(|number| (number, OF_NAMESPACE)),
            },
            ("type", false) => {
                let types = &catalog.snapshot()?.beside.types;
                types.get(&Name::of_engine(&name)).map(|known| (known.ty.oid(), OF_TYPE))
            }
            ("extension", false) => Some((server::extension_number(&name), OF_EXTENSION)),
            ("database", true) => Some((DATABASE, OF_DATABASE)),
            ("role", true) => Some((role::number(&name), OF_ROLE)),
            _ => None,
        };
        all.extend(of.map(|(number, relation)| (number, relation, 0, comment)));
    }
    Ok(all)
}

pub(super) fn descriptions(catalog: &Catalog<'_>) -> Result<Vec<Row>> {
    let row =
        |(number, relation, column, comment): Description| vec![oid(number), oid(relation), Int(column), text(comment)];
    Ok(all(catalog, false)?.into_iter().map(row).collect())
}

pub(super) fn shared_descriptions(catalog: &Catalog<'_>) -> Result<Vec<Row>> {
    let row = |(number, relation, _, comment): Description| vec![oid(number), oid(relation), text(comment)];
    Ok(all(catalog, true)?.into_iter().map(row).collect())
}

/// The comment on what has a number in a relation, if the relation is given; NULL where there is none.
pub(super) fn of(catalog: &Catalog<'_>, number: u32, relation: Option<u32>, column: i64) -> Result<Datum> {
    let is_shared = matches!(relation, Some(OF_DATABASE | OF_ROLE));
    let fits = |(own, of, at, _): &Description| {
        *own == number && *at == column && relation.is_none_or(|relation| relation == *of)
    };
    Ok(all(catalog, is_shared)?.into_iter().find(fits).map_or(Null, |(.., comment)| text(comment)))
}
