//! `pg_rewrite`, and what is shown of views.

use sqlparser::ast::{self, SelectItem, TableFactor};

use super::object::qualified;
use super::snapshot::{Object, Queried, Snapshot, ViewObject};
use super::{Catalog, oid, text};
use crate::bind::view::updatable;
use crate::catalog::name::Name;
use crate::catalog::objects::{CheckOption, ViewEntry};
use crate::datum::Datum::{self, Bool, Null};
use crate::error::Result;
use crate::parse;
use crate::run::Row;

/// `pg_rewrite`: the rule of each view that shows its query.
pub(super) fn rules(catalog: &Catalog<'_>) -> Result<Vec<Row>> {
    let row = |view: Queried<'_>| {
        vec![
            oid(view.rule),
            text("_RETURN"),
            oid(view.oid),
            text("1"),
            text("O"),
            Bool(true),
            text("<>"),
            text(&view.entry.query),
        ]
    };
    Ok(catalog.snapshot()?.queries().map(row).collect())
}

/// The query of a view, with what its tables are called now.
pub(super) fn definition(catalog: &Catalog<'_>, view: &ViewEntry) -> Result<String> {
    let snapshot = catalog.snapshot()?;
    let shown = |name: &Name| match snapshot.oid_of(name).map(|number| qualified(catalog, number, name)) {
        Some(Ok(shown)) => shown,
        _ => parse::sequence::quoted(&name.schema, &name.name),
    };
    Ok(format!(" {};", view.definition(&shown)))
}

/// What was said of a view beside its query.
pub(super) fn options(view: &ViewObject) -> Datum {
    match view.entry.check {
        None => Null,
        Some(CheckOption::Local) => super::array([text("check_option=local")]),
        Some(CheckOption::Cascaded) => super::array([text("check_option=cascaded")]),
    }
}

/// Which columns of a view are those of the table below it: rows are written through a view that has some.
pub(super) fn written_columns(snapshot: &Snapshot, view: &ViewObject) -> Vec<bool> {
    found(snapshot, view, 0).unwrap_or_default()
}

/// So deep views within views are looked at.
const DEPTH_MAX: usize = 32;

fn found(snapshot: &Snapshot, view: &ViewObject, depth: usize) -> Option<Vec<bool>> {
    let statements = parse::statements(&view.entry.query).ok()?;
    let [ast::Statement::Query(query)] = &statements[..] else { return None };
    let select = updatable(query).ok()?;
    let [table] = &select.from[..] else { return None };
    let TableFactor::Table { name, args: None, .. } = &table.relation else { return None };
    if !table.joins.is_empty() || depth == DEPTH_MAX {
        return None;
    }
    let parts = parse::parts(name).ok()?;
    let reference = view.entry.tables.iter().find(|reference| reference.text == parts)?;
    let below = Name::new(&reference.schema, &reference.name);
    let below: Vec<(String, bool)> = match snapshot.object(snapshot.oid_of(&below)?)? {
        Object::Table(at) if snapshot.tables[at].view.is_none() => {
            let relation = &snapshot.tables[at].relation;
            relation.columns[..relation.visible()].iter().map(|column| (column.name.clone(), true)).collect()
        }
        Object::View(at) => {
            let other = &snapshot.views[at];
            let written = found(snapshot, other, depth + 1)?;
            other.entry.columns.iter().map(|column| column.name.clone()).zip(written).collect()
        }
        _ => return None,
    };
    // What the query calls a column that it knows.
    let known = |text: &str| reference.columns.iter().find(|known| known.text == text).map(|known| known.name.clone());
    let is_written =
        |text: &str| known(text).is_some_and(|name| below.iter().any(|(own, is_written)| *own == name && *is_written));
    let mut columns = Vec::new();
    for item in &select.projection {
        match item {
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                columns.extend(reference.columns.iter().map(|known| is_written(&known.text)));
            }
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => columns.push(match expr {
                ast::Expr::Identifier(ident) => is_written(&parse::name(ident)),
                ast::Expr::CompoundIdentifier(idents) => {
                    idents.last().is_some_and(|last| is_written(&parse::name(last)))
                }
                _ => false,
            }),
            SelectItem::ExprWithAliases { .. } => columns.push(false),
        }
    }
    columns.iter().any(|is_written| *is_written).then_some(columns)
}
