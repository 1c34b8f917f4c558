//! `pg_authid`, `pg_auth_members`.
//!
//! Invariant: the first role has the number of PostgreSQL's first one; every other one has a number of its name.

use super::snapshot::{Sort, derived_oid};
use super::{Catalog, FIRST_ROLE, oid, text};
use crate::catalog::objects::RoleEntry;
use crate::datum::Datum::{Bool, Int, Null};
use crate::error::Result;
use crate::run::Row;
use crate::sql::{Role, Sql};

/// All roles by name.
pub(super) fn all(catalog: &Catalog<'_>) -> Result<Vec<Role>> {
    let role = |(name, entry): (&String, &RoleEntry)| Role {
        name: name.clone(),
        is_superuser: entry.is_superuser,
        can_login: entry.can_login,
        secret: None,
    };
    Ok(catalog.snapshot()?.beside.roles.iter().map(role).collect())
}

/// The number of a role, whether it is there or not.
pub(super) fn number(name: &str) -> u32 {
    if name == Sql::FIRST_ROLE { FIRST_ROLE } else { derived_oid(Sort::Role, 0, name) }
}

/// The number of the role that owns something.
pub(super) fn number_of(_: &Catalog<'_>, name: &str) -> Result<u32> {
    Ok(number(name))
}

/// The name of the role with a number.
pub(super) fn name_of(catalog: &Catalog<'_>, wanted: u32) -> Result<Option<String>> {
    if wanted == FIRST_ROLE {
        return Ok(Some(Sql::FIRST_ROLE.to_owned()));
    }
    Ok(all(catalog)?.into_iter().map(|role| role.name).find(|name| number(name) == wanted))
}

/// `pg_authid`; secrets are not shown.
pub(super) fn roles(catalog: &Catalog<'_>) -> Result<Vec<Row>> {
    let row = |(name, role): (&String, &RoleEntry)| {
        vec![
            oid(number(name)),
            text(name),
            Bool(role.is_superuser),
            Bool(role.inherits),
            Bool(role.is_superuser || role.create_role),
            Bool(role.is_superuser || role.create_db),
            Bool(role.can_login),
            Bool(role.is_superuser),
            Bool(role.is_superuser),
            Int(-1),
            Null,
            Null,
        ]
    };
    Ok(catalog.snapshot()?.beside.roles.iter().map(row).collect())
}

/// `pg_auth_members`. Who has granted a membership is not kept: the first role stands for it.
pub(super) fn members(catalog: &Catalog<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (member, entry) in &catalog.snapshot()?.beside.roles {
        for (of, is_admin) in &entry.member_of {
            rows.push(vec![oid(number(of)), oid(number(member)), oid(FIRST_ROLE), Bool(*is_admin)]);
        }
    }
    Ok(rows)
}
