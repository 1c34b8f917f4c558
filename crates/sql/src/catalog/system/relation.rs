//! Which relations there are, with their columns.
//!
//! Invariant: what is listed in `relations.txt` and has a query in `pg_catalog.sql` or `information_schema.sql` is a view, and
//! its query gives the columns that are listed.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{INFORMATION_SCHEMA, PG_CATALOG};
use crate::error::{Result, SqlError, SqlState};
use crate::types::Type;

/// Lines `kind schema.name number`, each followed by columns as `name:type`, with `!` where it is never NULL.
const RELATIONS: &str = include_str!("relations.txt");
/// Queries, each behind a line `-- name`.
const QUERIES: [(&str, &str); 2] =
    [("pg_catalog", include_str!("pg_catalog.sql")), ("information_schema", include_str!("information_schema.sql"))];

/// A relation of the catalog.
#[derive(Debug)]
pub(crate) struct SystemRelation {
    pub(crate) schema: &'static str,
    pub(crate) name: &'static str,
    pub(crate) oid: u32,
    pub(crate) kind: Kind,
    pub(crate) columns: Vec<SystemColumn>,
}

/// Where its rows come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// They are made.
    Table,
    /// They are made, though PostgreSQL has a view.
    MadeView,
    /// Of a query.
    View(&'static str),
}

/// A column.
#[derive(Debug)]
pub(crate) struct SystemColumn {
    pub(crate) name: &'static str,
    pub(crate) ty: Type,
    pub(crate) is_nullable: bool,
}

impl SystemRelation {
    /// The number of its schema.
    pub(super) fn namespace(&self) -> u32 {
        if self.schema == "pg_catalog" { PG_CATALOG } else { INFORMATION_SCHEMA }
    }

    pub(super) fn is_view(&self) -> bool {
        self.kind != Kind::Table
    }
}

/// All relations by schema and name.
pub(super) static ALL: LazyLock<Vec<SystemRelation>> = LazyLock::new(read);
static BY_NAME: LazyLock<HashMap<(&'static str, &'static str), &'static SystemRelation>> =
    LazyLock::new(|| ALL.iter().map(|relation| ((relation.schema, relation.name), relation)).collect());

fn read() -> Vec<SystemRelation> {
    let mut queries = HashMap::new();
    for (schema, text) in QUERIES {
        for part in text.split("\n-- ").skip(1) {
            let (name, query) = part.split_once('\n').expect("a query follows its name");
            queries.insert((schema, name.trim()), query.trim());
        }
    }
    let mut relations: Vec<SystemRelation> = Vec::new();
    for line in RELATIONS.lines() {
        if let Some(columns) = line.strip_prefix("    ") {
            let relation = relations.last_mut().expect("columns follow a name");
            relation.columns.extend(columns.split(' ').map(column));
            continue;
        }
        let mut words = line.split(' ');
        let (kind, name, oid) = (words.next(), words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (schema, name) = name.split_once('.').expect("a name has a schema");
        let kind = match (kind, queries.get(&(schema, name))) {
            (_, Some(query)) => Kind::View(query),
            (Some("table"), None) => Kind::Table,
            _ => Kind::MadeView,
        };
        let oid = oid.parse().expect("a number");
        relations.push(SystemRelation { schema, name, oid, kind, columns: Vec::new() });
    }
    relations
}

fn column(text: &'static str) -> SystemColumn {
    let (name, ty) = text.split_once(':').expect("a column has a type");
    let bare = ty.trim_end_matches('!');
    let ty_of = |name: &str| Type::of_name(name).unwrap_or_else(|| panic!("no type {name}"));
    SystemColumn { name, ty: ty_of(bare), is_nullable: bare.len() == ty.len() }
}

/// The relation with that schema and name.
pub(super) fn find(schema: &str, name: &str) -> Option<&'static SystemRelation> {
    BY_NAME.get(&(schema, name)).copied()
}

/// The relation whose rows are made, with that name.
pub(super) fn of_table(name: &str) -> &'static SystemRelation {
    find("pg_catalog", name).or_else(|| find("information_schema", name)).expect("a relation that was bound")
}

/// The relation with that number.
pub(super) fn of_oid(oid: u32) -> Option<&'static SystemRelation> {
    ALL.iter().find(|relation| relation.oid == oid)
}

/// The relation that a name means. A name without a schema is looked up in `pg_catalog` before any other one.
pub(crate) fn named(parts: &[String], search_path: &[String]) -> Option<&'static SystemRelation> {
    match parts {
        [name] => find("pg_catalog", name).or_else(|| {
            let is_searched = search_path.iter().any(|schema| schema == "information_schema");
            find("information_schema", name).filter(|_| is_searched)
        }),
        [schema, name] => find(schema, name),
        [database, schema, name] if database == crate::session::DATABASE => find(schema, name),
        _ => None,
    }
}

/// Refuses to change a relation of the catalog: `what` is the beginning of the message about a view.
pub(crate) fn refuse_change(parts: &[String], search_path: &[String], what: &str) -> Result<()> {
    let Some(relation) = named(parts, search_path) else { return Ok(()) };
    let name = relation.name;
    Err(match relation.is_view() {
        true => SqlError::new(SqlState::ObjectNotInPrerequisiteState, format!("cannot {what} view \"{name}\""))
            .with_detail("Views that do not select from a single table or view are not automatically updatable."),
        false => {
            let message = format!("permission denied: \"{name}\" is a system catalog");
            SqlError::new(SqlState::InsufficientPrivilege, message)
        }
    })
}
