//! Whose rights a session has: `SET ROLE`, `SET SESSION AUTHORIZATION`, and what statements need.
//!
//! Invariants:
//! - Whether the user may do everything is looked at again in the first statement of a transaction that begins after something
//!   was changed that says so.
//! - Rights are looked at whenever a statement runs, and not when it is prepared.

use std::sync::Arc;

use osier::{Transaction, TransactionOptions};
use sqlparser::ast;

use super::statement::{Planned, Task};
use super::{Core, Done};
use crate::catalog::objects::Objects;
use crate::catalog::rights::{Object, Rights};
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::sql::Sql;

impl Core {
    /// A transaction begins: notes whether objects beside tables have changed.
    pub(super) fn look_for_changes(&mut self) {
        self.defines_for_all = false;
        if std::mem::take(&mut self.defines) {
            // It was rolled back: the tables that it made are no more.
            self.sql.forget_dropped();
        }
        let changes = self.sql.changes();
        self.is_stale |= changes != self.changes;
        self.changes = changes;
    }

    /// A transaction was committed: tells other sessions of what it has changed.
    pub(super) fn tell_of_changes(&mut self) {
        if !std::mem::take(&mut self.defines) {
            return;
        }
        self.settings.temporary().forget_gone();
        match std::mem::take(&mut self.defines_for_all) {
            true => self.sql.has_changed(),
            false => {
                self.forget_cached();
                self.sql.forget_dropped();
            }
        }
    }

    /// Whether the user may call all procedures. What cannot be said now is said where the statement runs.
    pub(super) fn may_call_all(&mut self, session: &mut osier::Session) -> bool {
        self.look_for_changes();
        if self.is_stale {
            let options = TransactionOptions { read_only: true, ..self.options(TransactionOptions::default()) };
            let transaction = session.begin_with(options);
            if self.refresh_authority(&transaction).is_err() {
                return false;
            }
        }
        self.settings.is_superuser()
    }

    /// Looks whether the user may do everything, if that may have changed.
    pub(super) fn refresh_authority(&mut self, transaction: &Transaction<'_>) -> Result<()> {
        if !self.is_stale {
            return Ok(());
        }
        let (_, objects) = self.sql.objects(transaction)?;
        for settings in [&mut self.settings, &mut self.lasting, &mut self.before] {
            let is_superuser = objects.is_superuser(settings.user());
            if is_superuser != settings.is_superuser() {
                Arc::make_mut(settings).set_superuser(is_superuser);
            }
        }
        self.is_stale = false;
        Ok(())
    }

    /// Refuses a statement that the user has no rights for.
    pub(super) fn check_rights(&mut self, transaction: &Transaction<'_>, planned: &Planned) -> Result<()> {
        self.objects = None;
        if self.settings.is_superuser() && !planned.needs_rights() {
            return Ok(());
        }
        let (_, objects) = self.sql.objects(transaction)?;
        let user = self.settings.user();
        if let Task::Call(call) = &planned.task {
            let object = Object::Procedure(call.name().to_owned());
            objects.need(user, &object, Sql::FIRST_ROLE, Rights::EXECUTE)?;
        }
        planned.needs.iter().try_for_each(|need| need.check(&objects, user))?;
        if !self.settings.is_superuser() {
            self.objects = Some(objects);
        }
        Ok(())
    }

    /// `SET ROLE` and `SET SESSION AUTHORIZATION`, if it is one of these.
    pub(super) fn set_authority(&mut self, transaction: &Transaction<'_>, set: &ast::Set) -> Result<Option<Done>> {
        let is_local = |scope: &Option<ast::ContextModifier>| *scope == Some(ast::ContextModifier::Local);
        match set {
            ast::Set::SetRole { context_modifier, role_name } => {
                let role = role_name.as_ref().map(parse::name).filter(|role| role != "none");
                self.set_role(transaction, role.as_deref(), is_local(context_modifier))?;
            }
            ast::Set::SetSessionAuthorization(set) => {
                let user = match &set.kind {
                    ast::SetSessionAuthorizationParamKind::Default => None,
                    ast::SetSessionAuthorizationParamKind::User(user) => Some(parse::name(user)),
                };
                self.set_session_user(transaction, user.as_deref(), set.scope == ast::ContextModifier::Local)?;
            }
            ast::Set::SingleAssignment { scope, variable, values, .. } => {
                let name = variable.to_string().to_lowercase();
                if name != "role" && name != "session_authorization" {
                    return Ok(None);
                }
                let [value] = &values[..] else {
                    return Err(SqlError::new(
                        SqlState::InvalidParameterValue,
                        format!("SET {name} takes only one argument"),
                    ));
                };
                let text = super::setting::text_of(value);
                let text = (!text.eq_ignore_ascii_case("default")).then_some(text);
                match name.as_str() {
                    "role" => {
                        let role = text.filter(|role| role != "none");
                        self.set_role(transaction, role.as_deref(), is_local(scope))?;
                    }
                    _ => self.set_session_user(transaction, text.as_deref(), is_local(scope))?,
                }
            }
            _ => return Ok(None),
        }
        Ok(Some(Done::tagged("SET")))
    }

    /// `RESET ROLE` and `RESET SESSION AUTHORIZATION`, if it is one of these.
    pub(super) fn reset_authority(
        &mut self,
        transaction: &Transaction<'_>,
        reset: &ast::ResetStatement,
    ) -> Result<Option<Done>> {
        let ast::Reset::ConfigurationParameter(name) = &reset.reset else { return Ok(None) };
        match name.to_string().to_lowercase().as_str() {
            "role" => self.set_role(transaction, None, false)?,
            "session_authorization" => self.set_session_user(transaction, None, false)?,
            _ => return Ok(None),
        }
        Ok(Some(Done::tagged("RESET")))
    }

    /// All settings become what they were from the start, and the user the one who has connected.
    pub(super) fn reset_all(&mut self, transaction: &Transaction<'_>) -> Result<()> {
        self.set_session_user(transaction, None, false)?;
        self.settings = Arc::new(self.settings.afresh(self.settings.is_superuser()));
        self.lasting = self.settings.clone();
        Ok(())
    }

    fn set_role(&mut self, transaction: &Transaction<'_>, role: Option<&str>, is_local: bool) -> Result<()> {
        let (_, objects) = self.sql.objects(transaction)?;
        let session_user = self.settings.session_user().to_owned();
        if let Some(role) = role {
            known(&objects, role)?;
            let is_member = objects.roles_of(&session_user, false).contains(role);
            if !is_member && !objects.is_superuser(&session_user) {
                let message = format!("permission denied to set role \"{role}\"");
                return Err(SqlError::new(SqlState::InsufficientPrivilege, message));
            }
        }
        let is_superuser = objects.is_superuser(role.unwrap_or(&session_user));
        Arc::make_mut(&mut self.settings).set_role(role, is_superuser);
        if !is_local {
            Arc::make_mut(&mut self.lasting).set_role(role, is_superuser);
        }
        Ok(())
    }

    fn set_session_user(&mut self, transaction: &Transaction<'_>, user: Option<&str>, is_local: bool) -> Result<()> {
        let (_, objects) = self.sql.objects(transaction)?;
        let user = user.unwrap_or(&self.user);
        known(&objects, user)?;
        if *user != self.user && !objects.is_superuser(&self.user) {
            let message = format!("permission denied to set session authorization \"{user}\"");
            return Err(SqlError::new(SqlState::InsufficientPrivilege, message));
        }
        let is_superuser = objects.is_superuser(user);
        let user = user.to_owned();
        Arc::make_mut(&mut self.settings).set_user(&user, is_superuser);
        if !is_local {
            Arc::make_mut(&mut self.lasting).set_user(&user, is_superuser);
        }
        Ok(())
    }
}

/// Refuses the name of a role that is not there.
fn known(objects: &Objects, role: &str) -> Result<()> {
    match objects.roles.contains_key(role) {
        true => Ok(()),
        false => {
            let message = format!("role \"{role}\" does not exist");
            Err(SqlError::new(SqlState::InvalidParameterValue, message))
        }
    }
}
