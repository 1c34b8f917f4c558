//! Names of columns in the lists of a query, which come from the columns that are named there: they are written out, so that they
//! stay when these get other names.

use sqlparser::ast::{self, Expr, SelectItem, SetExpr, TableFactor, TableWithJoins};

use super::select::name_of;

/// Gives the columns of a query, and of those in its `FROM` and `WITH`, the names that they have. Columns that are nothing but a
/// column of a table stay as they are.
pub(crate) fn name(query: &mut ast::Query) {
    for table in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
        name(&mut table.query);
    }
    name_set(&mut query.body);
}

fn name_set(body: &mut SetExpr) {
    match body {
        SetExpr::Query(query) => name(query),
        SetExpr::SetOperation { left, right, .. } => {
            name_set(left);
            name_set(right);
        }
        SetExpr::Select(select) => {
            select.projection.iter_mut().for_each(name_item);
            select.from.iter_mut().for_each(name_tables);
        }
        _ => {}
    }
}

fn name_item(item: &mut SelectItem) {
    let SelectItem::UnnamedExpr(expr) = item else { return };
    if matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) || !has_name_of_column(expr) {
        return;
    }
    let alias = ast::Ident::with_quote('"', name_of(expr));
    let expr = std::mem::replace(expr, Expr::Identifier(alias.clone()));
    *item = SelectItem::ExprWithAlias { expr, alias };
}

/// Whether an expression of a list is called as a column within it.
fn has_name_of_column(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => has_name_of_column(inner),
        Expr::Case { else_result: Some(otherwise), .. } => has_name_of_column(otherwise),
        Expr::CompoundFieldAccess { .. } => true,
        Expr::Subquery(query) => match &*query.body {
            SetExpr::Select(select) => match select.projection.first() {
                Some(SelectItem::UnnamedExpr(expr)) => has_name_of_column(expr),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

fn name_tables(tables: &mut TableWithJoins) {
    let joined = tables.joins.iter_mut().map(|join| &mut join.relation);
    for factor in std::iter::once(&mut tables.relation).chain(joined) {
        match factor {
            TableFactor::Derived { subquery, .. } => name(subquery),
            TableFactor::NestedJoin { table_with_joins, .. } => name_tables(table_with_joins),
            _ => {}
        }
    }
}
