//! `pg_authid`, `pg_auth_members`.
//!
//! Invariant: the first role has the number of PostgreSQL's first one; every other one has a number of its name.

use osier::table::KeyRange;
use osier::{Error, TransactionError, Value};

use super::snapshot::{Sort, derived_oid};
use super::{Catalog, FIRST_ROLE, oid, text};
use crate::datum::Datum::{Bool, Int, Null};
use crate::error::Result;
use crate::run::Row;
use crate::sql::{Role, Sql};

/// All roles by name.
pub(super) fn all(catalog: &Catalog<'_>) -> Result<Vec<Role>> {
    let table = match catalog.store.table("osier.roles") {
        Ok(table) => table,
        Err(Error::Transaction(TransactionError::UnknownTable { .. })) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let (name, superuser, login) = (table.column("name")?, table.column("superuser")?, table.column("login")?);
    let mut roles = Vec::new();
    for row in catalog.store.scan(&table, None, KeyRange::all(), false)? {
        let row = row?;
        roles.push(Role {
            name: row.text(name).to_owned(),
            is_superuser: row.value(superuser) == Value::Bool(true),
            can_login: row.value(login) == Value::Bool(true),
            secret: None,
        });
    }
    Ok(roles)
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
    let row = |role: Role| {
        let all = || Bool(role.is_superuser);
        vec![
            oid(number(&role.name)),
            text(&role.name),
            all(),
            Bool(true),
            all(),
            all(),
            Bool(role.can_login),
            all(),
            all(),
            Int(-1),
            Null,
            Null,
        ]
    };
    Ok(all(catalog)?.into_iter().map(row).collect())
}

/// `pg_auth_members`.
pub(super) fn members(_: &Catalog<'_>) -> Result<Vec<Row>> {
    Ok(Vec::new())
}
