//! Roles: what they may do at all, passwords, and memberships.
//!
//! Invariant: there is always a superuser who can log in.

use super::{Defined, Definer};
use crate::catalog::name::Name;
use crate::catalog::objects::{self, Kind, Objects, RoleEntry};
use crate::catalog::roles;
use crate::catalog::system::{self, Commented};
use crate::error::{Result, SqlError, SqlState};
use crate::parse::objects::{RoleOption, RoleSpec};
use crate::scram;
use crate::sql::{Role, Sql};

fn denied(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::InsufficientPrivilege, message)
}

impl Definer<'_, '_> {
    pub(super) fn create_role(&self, name: &RoleSpec, options: &[RoleOption]) -> Result<Defined> {
        let name = match name {
            RoleSpec::Named(name) => name.clone(),
            _ => return Err(SqlError::new(SqlState::ReservedName, "role name is reserved")),
        };
        if name == "none" || name.starts_with("pg_") {
            let message = format!("role name \"{name}\" is reserved");
            return Err(SqlError::new(SqlState::ReservedName, message));
        }
        let objects = self.objects()?;
        self.need_create_role(&objects, options, "permission denied to create role")?;
        if objects.roles.contains_key(&name) {
            return Err(SqlError::new(SqlState::DuplicateObject, format!("role \"{name}\" already exists")));
        }
        let mut entry = RoleEntry { number: objects::new_number(self.transaction)?, ..RoleEntry::new() };
        let mut role = Role { name: name.clone(), is_superuser: false, can_login: false, secret: None };
        apply(&mut entry, &mut role, options)?;
        self.put_role(&entry, &role)?;
        for option in options {
            match option {
                RoleOption::InRole(of) => {
                    let of = of.iter().map(|of| self.role_of(of)).collect::<Result<Vec<_>>>()?;
                    self.need_to_grant(&of)?;
                    self.join(&of, std::slice::from_ref(&name), false)?;
                }
                RoleOption::Members(members, admin) => {
                    let members = members.iter().map(|member| self.role_of(member)).collect::<Result<Vec<_>>>()?;
                    self.join(std::slice::from_ref(&name), &members, *admin)?;
                }
                _ => {}
            }
        }
        Ok(Defined::tagged("CREATE ROLE"))
    }

    /// Refuses who may not make or change a role in such a way.
    fn need_create_role(&self, objects: &Objects, options: &[RoleOption], message: &str) -> Result<()> {
        if objects.is_superuser(self.user) {
            return Ok(());
        }
        if options.iter().any(|option| matches!(option, RoleOption::Superuser(true))) {
            return Err(denied("must be superuser to create superusers"));
        }
        match self.may_create_roles(objects) {
            true => Ok(()),
            false => Err(denied(message)),
        }
    }

    fn may_create_roles(&self, objects: &Objects) -> bool {
        objects.roles.get(self.user).is_some_and(|role| role.is_superuser || role.create_role)
    }

    fn put_role(&self, entry: &RoleEntry, role: &Role) -> Result<()> {
        roles::put(self.transaction, role)?;
        objects::put(self.transaction, Kind::Role, &role.name, entry)
    }

    /// A role that is there, with its password.
    fn stored(&self, name: &str) -> Result<(RoleEntry, Role)> {
        let unknown = || SqlError::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist"));
        let entry = self.objects()?.roles.get(name).cloned().ok_or_else(unknown)?;
        let role = roles::get(self.transaction, name)?.ok_or_else(unknown)?;
        Ok((entry, role))
    }

    pub(super) fn alter_role(&self, role: &RoleSpec, options: &[RoleOption]) -> Result<Defined> {
        let name = self.role_of(role)?;
        let objects = self.objects()?;
        let (mut entry, mut role) = self.stored(&name)?;
        if !objects.is_superuser(self.user) {
            let touches = |option: &RoleOption| matches!(option, RoleOption::Superuser(_));
            if entry.is_superuser || options.iter().any(touches) {
                return Err(denied("must be superuser to alter superuser roles or change superuser attribute"));
            }
            let is_own_password = name == self.user
                && options.iter().all(|option| matches!(option, RoleOption::Password(_)))
                && !options.is_empty();
            if !is_own_password && !self.may_create_roles(&objects) {
                return Err(denied("permission denied"));
            }
        }
        if options.iter().any(|option| matches!(option, RoleOption::InRole(_) | RoleOption::Members(..))) {
            return Err(SqlError::unsupported("memberships in ALTER ROLE").with_hint("Use GRANT role TO role."));
        }
        apply(&mut entry, &mut role, options)?;
        self.put_role(&entry, &role)?;
        self.refuse_without_superuser()?;
        Ok(Defined::tagged("ALTER ROLE"))
    }

    /// Refuses a state in which nobody can do everything any more.
    fn refuse_without_superuser(&self) -> Result<()> {
        let objects = self.objects()?;
        match objects.roles.values().any(|role| role.is_superuser && role.can_login) {
            true => Ok(()),
            false => {
                let message = "there must be a superuser who can log in";
                Err(SqlError::new(SqlState::ObjectNotInPrerequisiteState, message)
                    .with_hint("Make another superuser with LOGIN first."))
            }
        }
    }

    pub(super) fn drop_roles(&self, specs: &[RoleSpec], if_exists: bool) -> Result<Defined> {
        let mut defined = Defined::tagged("DROP ROLE");
        let objects = self.objects()?;
        if !self.may_create_roles(&objects) {
            return Err(denied("permission denied to drop role"));
        }
        for spec in specs {
            let RoleSpec::Named(name) = spec else {
                let message = "cannot use special role specifier in DROP ROLE";
                return Err(SqlError::new(SqlState::InvalidParameterValue, message));
            };
            let objects = self.objects()?;
            let Some(entry) = objects.roles.get(name) else {
                let message = format!("role \"{name}\" does not exist");
                if !if_exists {
                    return Err(SqlError::new(SqlState::UndefinedObject, message));
                }
                defined.notices.push(SqlError::new(SqlState::SuccessfulCompletion, format!("{message}, skipping")));
                continue;
            };
            let in_use = |message: &str| SqlError::new(SqlState::ObjectInUse, message);
            if name == self.user {
                return Err(in_use("current user cannot be dropped"));
            }
            if name == self.settings.session_user() {
                return Err(in_use("session user cannot be dropped"));
            }
            if entry.is_superuser && !objects.is_superuser(self.user) {
                return Err(denied("must be superuser to drop superusers"));
            }
            if name == Sql::FIRST_ROLE {
                return Err(SqlError::unsupported("dropping the first role")
                    .with_hint("Tables that programs make belong to it. Take LOGIN from it instead."));
            }
            self.refuse_used_role(name, &objects)?;
            roles::remove(self.transaction, name)?;
            objects::remove(self.transaction, Kind::Role, name)?;
            system::forget(self.transaction, Commented::Role, name)?;
            for (member, entry) in objects.roles.iter().filter(|(_, entry)| entry.member_of.contains_key(name)) {
                let mut entry = entry.clone();
                entry.member_of.remove(name);
                objects::put(self.transaction, Kind::Role, member, &entry)?;
            }
            self.refuse_without_superuser()?;
        }
        Ok(defined)
    }

    /// What a role owns or has rights on.
    fn refuse_used_role(&self, role: &str, objects: &Objects) -> Result<()> {
        let mut uses = Vec::new();
        for engine in self.table_names()? {
            let name = Name::of_engine(&engine);
            if let Some(relation) = self.sql.find(self.transaction, &name)?
                && relation.notes.owner == role
            {
                uses.push(format!("owner of {} {}", relation.object().kind(), self.shown(&name)));
            }
        }
        let views = objects.views.iter().filter(|(_, view)| view.owner == role);
        uses.extend(views.map(|(name, _)| format!("owner of view {}", self.shown(name))));
        let own = objects.sequences.iter().filter(|(_, sequence)| sequence.owner == role);
        uses.extend(own.map(|(name, _)| format!("owner of sequence {}", self.shown(name))));
        let extensions = objects.extensions.iter().filter(|(_, entry)| entry.owner == role);
        uses.extend(extensions.map(|(name, _)| format!("owner of extension {name}")));
        let types = objects.types.iter().filter(|(_, known)| known.owner == role);
        uses.extend(types.map(|(name, _)| format!("owner of type {}", self.shown(name))));
        let schemas = objects.schemas.iter().filter(|(_, schema)| schema.owner == role);
        uses.extend(schemas.map(|(name, _)| format!("owner of schema {name}")));
        let lists = objects.lists.iter();
        let named =
            lists.filter(|(_, list)| list.iter().any(|grant| grant.to.as_deref() == Some(role) || grant.by == role));
        uses.extend(named.map(|(key, _)| format!("privileges for {key}")));
        if uses.is_empty() {
            return Ok(());
        }
        let message = format!("role \"{role}\" cannot be dropped because some objects depend on it");
        Err(SqlError::new(SqlState::DependentObjectsStillExist, message).with_detail(uses.join("\n")))
    }

    pub(super) fn rename_role(&self, from: &str, to: &str) -> Result<Defined> {
        let objects = self.objects()?;
        let (entry, mut role) = self.stored(from)?;
        if from == self.settings.session_user() || from == self.user {
            let what = if from == self.user { "current user" } else { "session user" };
            let message = format!("{what} cannot be renamed");
            return Err(SqlError::new(SqlState::FeatureNotSupported, message));
        }
        if objects.roles.contains_key(to) {
            return Err(SqlError::new(SqlState::DuplicateObject, format!("role \"{to}\" already exists")));
        }
        if to == "none" || to == "public" || to.starts_with("pg_") {
            return Err(SqlError::new(SqlState::ReservedName, format!("role name \"{to}\" is reserved")));
        }
        if !self.may_create_roles(&objects) || (entry.is_superuser && !objects.is_superuser(self.user)) {
            return Err(denied("permission denied to rename role"));
        }
        if from == Sql::FIRST_ROLE {
            return Err(SqlError::unsupported("renaming the first role"));
        }
        to.clone_into(&mut role.name);
        roles::remove(self.transaction, from)?;
        objects::remove(self.transaction, Kind::Role, from)?;
        self.put_role(&entry, &role)?;
        self.move_comment(Commented::Role, from, to)?;
        self.rename_in_objects(from, to, &objects)?;
        for engine in self.table_names()? {
            if let Some(relation) = self.sql.find(self.transaction, &Name::of_engine(&engine))?
                && relation.notes.owner == from
            {
                self.change_table_owner(&relation, to)?;
            }
        }
        Ok(Defined::tagged("ALTER ROLE"))
    }

    fn rename_in_objects(&self, from: &str, to: &str, objects: &Objects) -> Result<()> {
        for (name, schema) in objects.schemas.iter().filter(|(_, schema)| schema.owner == from) {
            let entry = objects::SchemaEntry { owner: to.to_owned(), ..schema.clone() };
            objects::put(self.transaction, Kind::Schema, name, &entry)?;
        }
        for (name, sequence) in objects.sequences.iter().filter(|(_, sequence)| sequence.owner == from) {
            let entry = objects::SequenceEntry { owner: to.to_owned(), ..sequence.clone() };
            objects::put(self.transaction, Kind::Sequence, &name.engine(), &entry)?;
        }
        for (name, known) in objects.types.iter().filter(|(_, known)| known.owner == from) {
            let entry = objects::TypeEntry { owner: to.to_owned(), definition: known.ty.definition() };
            objects::put(self.transaction, Kind::Type, &name.engine(), &entry)?;
        }
        for (name, entry) in objects.extensions.iter().filter(|(_, entry)| entry.owner == from) {
            let entry = objects::ExtensionEntry { owner: to.to_owned(), ..entry.clone() };
            objects::put(self.transaction, Kind::Extension, name, &entry)?;
        }
        for (name, _) in objects.views.iter().filter(|(_, view)| view.owner == from) {
            self.change_view(name, |view| to.clone_into(&mut view.owner))?;
        }
        for (member, entry) in objects.roles.iter().filter(|(_, entry)| entry.member_of.contains_key(from)) {
            let mut entry = entry.clone();
            if let Some(admin) = entry.member_of.remove(from) {
                entry.member_of.insert(to.to_owned(), admin);
            }
            objects::put(self.transaction, Kind::Role, member, &entry)?;
        }
        for (key, list) in &objects.lists {
            let mut list = list.clone();
            let mut has_changed = false;
            for grant in &mut list {
                if grant.to.as_deref() == Some(from) {
                    grant.to = Some(to.to_owned());
                    has_changed = true;
                }
                if grant.by == from {
                    to.clone_into(&mut grant.by);
                    has_changed = true;
                }
            }
            if has_changed {
                objects::put(self.transaction, Kind::Rights, key, &list)?;
            }
        }
        Ok(())
    }

    pub(super) fn grant_roles(
        &self,
        is_revoke: bool,
        roles: &[String],
        members: &[RoleSpec],
        admin: bool,
    ) -> Result<Defined> {
        let members = members.iter().map(|member| self.role_of(member)).collect::<Result<Vec<_>>>()?;
        let tag = if is_revoke { "REVOKE ROLE" } else { "GRANT ROLE" };
        for role in roles {
            self.role_of(&RoleSpec::Named(role.clone()))?;
        }
        self.need_to_grant(roles)?;
        let mut defined = Defined::tagged(tag);
        if !is_revoke {
            self.join(roles, &members, admin)?;
            return Ok(defined);
        }
        for member in &members {
            let (mut entry, _) = self.stored(member)?;
            for role in roles {
                let was = match admin {
                    true => entry.member_of.insert(role.clone(), false),
                    false => entry.member_of.remove(role),
                };
                if was.is_none() {
                    entry.member_of.remove(role);
                    let message = format!("role \"{member}\" is not a member of role \"{role}\"");
                    defined.notices.push(SqlError::new(SqlState::Warning, message));
                }
            }
            objects::put(self.transaction, Kind::Role, member, &entry)?;
        }
        Ok(defined)
    }

    /// Refuses who may not make others members of some roles.
    fn need_to_grant(&self, roles: &[String]) -> Result<()> {
        let objects = self.objects()?;
        if objects.is_superuser(self.user) {
            return Ok(());
        }
        for role in roles {
            if objects.is_superuser(role) {
                return Err(denied("must be superuser to alter superusers"));
            }
            let is_admin = objects.roles.get(self.user).is_some_and(|own| own.member_of.get(role) == Some(&true));
            if !is_admin && !self.may_create_roles(&objects) {
                return Err(denied(format!("must have admin option on role \"{role}\"")));
            }
        }
        Ok(())
    }

    /// Makes roles members of others.
    fn join(&self, roles: &[String], members: &[String], admin: bool) -> Result<()> {
        for member in members {
            let (mut entry, _) = self.stored(member)?;
            for role in roles {
                if self.objects()?.roles_of(role, false).contains(member.as_str()) {
                    let message = format!("role \"{role}\" is a member of role \"{member}\"");
                    return Err(SqlError::new(SqlState::InvalidGrantOperation, message));
                }
                let has = entry.member_of.get(role).copied().unwrap_or(false);
                entry.member_of.insert(role.clone(), admin || has);
            }
            objects::put(self.transaction, Kind::Role, member, &entry)?;
        }
        Ok(())
    }

    /// The roles that statements name, `None` being everybody.
    pub(super) fn grantees(&self, specs: &[RoleSpec]) -> Result<Vec<Option<String>>> {
        let of = |spec: &RoleSpec| match spec {
            RoleSpec::Public => Ok(None),
            spec => self.role_of(spec).map(Some),
        };
        specs.iter().map(of).collect()
    }
}

/// Sets what a statement says of a role.
fn apply(entry: &mut RoleEntry, role: &mut Role, options: &[RoleOption]) -> Result<()> {
    for option in options {
        match option {
            RoleOption::Superuser(is) => (entry.is_superuser, role.is_superuser) = (*is, *is),
            RoleOption::Login(is) => (entry.can_login, role.can_login) = (*is, *is),
            RoleOption::CreateDb(is) => entry.create_db = *is,
            RoleOption::CreateRole(is) => entry.create_role = *is,
            RoleOption::Inherit(is) => entry.inherits = *is,
            RoleOption::Password(None) => role.secret = None,
            RoleOption::Password(Some(password)) => role.secret = Some(secret(password)?),
            RoleOption::ValidUntil(until) if until == "infinity" => entry.valid_until = None,
            RoleOption::ValidUntil(_) => {
                return Err(
                    SqlError::unsupported("VALID UNTIL").with_hint("Take the password away with PASSWORD NULL.")
                );
            }
            RoleOption::Absent(what) if what.is_empty() => {}
            RoleOption::Absent(what) => return Err(SqlError::unsupported(format!("the attribute {what} of a role"))),
            RoleOption::InRole(_) | RoleOption::Members(..) => {}
        }
    }
    Ok(())
}

/// What is kept of a password.
fn secret(password: &str) -> Result<String> {
    if scram::Verifier::of_secret(password).is_some() {
        return Ok(password.to_owned());
    }
    let is_md5 =
        password.len() == 35 && password.starts_with("md5") && password[3..].chars().all(|c| c.is_ascii_hexdigit());
    if is_md5 {
        return Err(SqlError::unsupported("a password that is encrypted with MD5")
            .with_hint("Give the password itself, or its SCRAM-SHA-256 secret."));
    }
    Ok(scram::secret_of(password))
}
