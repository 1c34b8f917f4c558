//! Generated columns: what their expressions may be, and what `ALTER TABLE` does with them.
//!
//! Invariants:
//! - A generation expression is kept as the default of its column. It names columns of the table that are not generated, without
//!   the name of the table, and its value depends on them alone.

use sqlparser::ast::{self, AlterColumnOperation, GeneratedExpressionMode};

use super::Definer;
use super::blueprint::Blueprint;
use crate::bind::Binder;
use crate::catalog::relation::Relation;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::parse;
use crate::parse::rewrite::{self, IdentityChange};

/// Binds the expressions once, so that one that makes no sense is refused.
pub(super) fn check(binder: &Binder<'_>, relation: &Relation) -> Result<()> {
    // Those of indexes were looked at when these were made.
    let columns = binder.generated(relation)?.into_iter().filter(|(at, _)| *at < relation.visible());
    for (_, expr) in columns {
        let mut named = Vec::new();
        expr.for_each_column(&mut |at| named.push(at));
        if let Some(at) = named.into_iter().find(|at| relation.columns[*at].is_generated) {
            let message = format!(
                "cannot use generated column \"{}\" in column generation expression",
                relation.columns[at].name
            );
            return Err(SqlError::new(SqlState::InvalidObjectDefinition, message)
                .with_detail("A generated column cannot reference another generated column."));
        }
        if expr.any(&|part| matches!(part, Expr::Subquery(_))) {
            return Err(SqlError::new(
                SqlState::FeatureNotSupported,
                "cannot use subquery in column generation expression",
            ));
        }
        if !expr.is_immutable() {
            let message = "generation expression is not immutable";
            return Err(SqlError::new(SqlState::InvalidObjectDefinition, message));
        }
    }
    Ok(())
}

/// The error of a column that is generated and something else as well.
pub(super) fn said_twice(blueprint: &Blueprint, name: &str, what: &str) -> SqlError {
    let table = &blueprint.name.name;
    let message = format!("both {what} and generation expression specified for column \"{name}\" of table \"{table}\"");
    SqlError::new(SqlState::SyntaxError, message)
}

impl Definer<'_, '_> {
    /// `DEFAULT` of a new column.
    pub(super) fn set_default(&self, blueprint: &mut Blueprint, name: &str, expr: &ast::Expr) -> Result<()> {
        if blueprint.column_mut(name)?.is_generated {
            return Err(said_twice(blueprint, name, "default"));
        }
        let text = self.kept(blueprint, expr)?;
        blueprint.column_mut(name)?.default = Some(text);
        Ok(())
    }

    /// `GENERATED ALWAYS AS (...) STORED` of a new column.
    pub(super) fn generate(
        &self,
        blueprint: &mut Blueprint,
        name: &str,
        expr: &ast::Expr,
        mode: Option<&GeneratedExpressionMode>,
    ) -> Result<()> {
        if mode != Some(&GeneratedExpressionMode::Stored) {
            let message = "a generated column must be STORED";
            return Err(SqlError::new(SqlState::SyntaxError, message).with_hint("Write STORED behind the expression."));
        }
        let table = blueprint.name.name.clone();
        let column = blueprint.column_mut(name)?;
        match () {
            () if column.identity.is_some() => return Err(said_twice(blueprint, name, "identity")),
            () if column.is_generated => {
                let message =
                    format!("multiple generation clauses specified for column \"{name}\" of table \"{table}\"");
                return Err(SqlError::new(SqlState::SyntaxError, message));
            }
            () if column.default.is_some() => return Err(said_twice(blueprint, name, "default")),
            () => {}
        }
        let text = parse::columns::unqualified(&self.kept(blueprint, expr)?, &table);
        blueprint.unread.push(text.clone());
        let column = blueprint.column_mut(name)?;
        (column.default, column.is_generated) = (Some(text), true);
        Ok(())
    }

    /// `ALTER COLUMN` of what is a generated column, and `DROP EXPRESSION`. Returns whether it was that, and a notice where there
    /// was nothing to change.
    pub(super) fn alter_generated(
        &self,
        blueprint: &mut Blueprint,
        name: &str,
        operation: &AlterColumnOperation,
    ) -> Result<(bool, Option<SqlError>)> {
        let table = blueprint.name.name.clone();
        let column = blueprint.column_mut(name)?;
        let said = |what: &str| format!("column \"{name}\" of relation \"{table}\" {what}");
        match operation {
            AlterColumnOperation::SetDefault { value } => match rewrite::identity_change(value) {
                Some(IdentityChange::DropExpression { if_exists }) if !column.is_generated => {
                    let message = said("is not a stored generated column");
                    match if_exists {
                        true => {
                            let message = format!("{message}, skipping");
                            Ok((true, Some(SqlError::new(SqlState::SuccessfulCompletion, message))))
                        }
                        false => Err(SqlError::new(SqlState::ObjectNotInPrerequisiteState, message)),
                    }
                }
                Some(IdentityChange::DropExpression { .. }) => {
                    (column.default, column.is_generated) = (None, false);
                    Ok((true, None))
                }
                None if column.is_generated => Err(SqlError::new(SqlState::SyntaxError, said("is a generated column"))),
                _ => Ok((false, None)),
            },
            AlterColumnOperation::DropDefault if column.is_generated => {
                let hint = "Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.";
                Err(SqlError::new(SqlState::SyntaxError, said("is a generated column")).with_hint(hint))
            }
            _ => Ok((false, None)),
        }
    }

    /// The generated columns that statements see and that are computed of a column.
    pub(super) fn generated_of(&self, relation: &Relation, name: &str) -> Result<Vec<String>> {
        let generated = self.generated_columns_of(relation, name)?.into_iter();
        Ok(generated.filter(|at| *at < relation.visible()).map(|at| relation.columns[at].name.clone()).collect())
    }

    /// The positions of all generated columns that are computed of a column.
    pub(super) fn generated_columns_of(&self, relation: &Relation, name: &str) -> Result<Vec<usize>> {
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        let wanted = relation.need(name)?;
        let mut found = Vec::new();
        for (at, expr) in binder.generated(relation)? {
            let mut uses = false;
            expr.for_each_column(&mut |column| uses |= column == wanted);
            if uses {
                found.push(at);
            }
        }
        Ok(found)
    }
}
