//! `ALTER COLUMN` of identity columns.

use sqlparser::ast::AlterColumnOperation;

use super::Definer;
use super::blueprint::Blueprint;
use crate::catalog::notes::Identity;
use crate::error::{Result, SqlError, SqlState};
use crate::parse::objects::SequenceOption;
use crate::parse::rewrite::{self, IdentityChange};

impl Definer<'_, '_> {
    /// Makes a change of a column's identity. Returns whether it was one, and a notice where there was nothing to change.
    pub(super) fn alter_identity(
        &self,
        blueprint: &mut Blueprint,
        name: &str,
        operation: &AlterColumnOperation,
    ) -> Result<(bool, Option<SqlError>)> {
        let table = blueprint.name.name.clone();
        let column = blueprint.column_mut(name)?;
        let said = |what: &str| format!("column \"{name}\" of relation \"{table}\" {what}");
        let refused = |what: &str| Err(SqlError::new(SqlState::ObjectNotInPrerequisiteState, said(what)));
        let is_identity = column.identity.is_some();
        match operation {
            AlterColumnOperation::SetDefault { value } => match rewrite::identity_change(value) {
                Some(IdentityChange::Add { is_always, sequence, options }) => {
                    let identity = if is_always { Identity::Always } else { Identity::ByDefault };
                    self.add_identity(blueprint, name, identity, (sequence, &options)).map(|()| (true, None))
                }
                None if is_identity => Err(SqlError::new(SqlState::SyntaxError, said("is an identity column"))),
                None | Some(IdentityChange::DropExpression { .. }) => Ok((false, None)),
                Some(IdentityChange::Drop { if_exists }) if !is_identity => {
                    let message = said("is not an identity column");
                    match if_exists {
                        true => {
                            let message = format!("{message}, skipping");
                            Ok((true, Some(SqlError::new(SqlState::SuccessfulCompletion, message))))
                        }
                        false => refused("is not an identity column"),
                    }
                }
                Some(IdentityChange::Drop { .. }) => {
                    column.identity = None;
                    match column.sequence.take() {
                        Some(sequence) => self.drop_engine_sequence(&sequence).map(|_| (true, None)),
                        None => Ok((true, None)),
                    }
                }
                Some(IdentityChange::Set { .. }) if !is_identity => refused("is not an identity column"),
                Some(IdentityChange::Set { is_always, options }) => {
                    if let Some(is_always) = is_always {
                        column.identity = Some(if is_always { Identity::Always } else { Identity::ByDefault });
                    }
                    match column.sequence.as_deref() {
                        Some(sequence) if !options.is_empty() => self.renumber(sequence, &options)?,
                        _ => {}
                    }
                    Ok((true, None))
                }
            },
            AlterColumnOperation::DropDefault if is_identity => {
                let hint = "Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.";
                Err(SqlError::new(SqlState::SyntaxError, said("is an identity column")).with_hint(hint))
            }
            AlterColumnOperation::DropNotNull if is_identity => {
                Err(SqlError::new(SqlState::SyntaxError, said("is an identity column")))
            }
            _ => Ok((false, None)),
        }
    }

    /// Makes a column one that takes its values from a sequence of its own.
    fn add_identity(
        &self,
        blueprint: &mut Blueprint,
        name: &str,
        identity: Identity,
        (called, options): (Option<Vec<String>>, &[SequenceOption]),
    ) -> Result<()> {
        let table = blueprint.name.name.clone();
        let column = blueprint.column_mut(name)?;
        let refused = |what: &str| {
            let message = format!("column \"{name}\" of relation \"{table}\" {what}");
            Err(SqlError::new(SqlState::ObjectNotInPrerequisiteState, message))
        };
        let ty = column.declared.ty;
        if !ty.is_integer() {
            let message = "identity column type must be smallint, integer, or bigint";
            return Err(SqlError::new(SqlState::InvalidParameterValue, message));
        }
        if column.is_nullable {
            return refused("must be declared NOT NULL before identity can be added");
        }
        if column.identity.is_some() {
            return refused("is already an identity column");
        }
        if column.default.is_some() {
            return refused("already has a default value");
        }
        if column.sequence.is_some() {
            return Err(SqlError::unsupported(format!("an identity column \"{name}\" that owns a sequence"))
                .with_hint("Give up that sequence with ALTER SEQUENCE ... OWNED BY NONE."));
        }
        let sequence = match called {
            Some(parts) => self.called_sequence(blueprint, parts, ty, options)?,
            None => self.own_sequence(blueprint, name, ty, options)?,
        };
        let column = blueprint.column_mut(name)?;
        (column.identity, column.sequence) = (Some(identity), Some(sequence));
        Ok(())
    }
}
