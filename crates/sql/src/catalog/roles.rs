//! Roles: who may connect, with what password.
//!
//! They are rows of a table of the engine in a schema that no statement sees, so that they are logged, recovered and backed up
//! like any other.

use osier::table::{Schema, Type};
use osier::{Database, Error, Row, Table, Transaction, TransactionError, Value};

use crate::error::{Result, SqlError, SqlState};
use crate::sql::{Role, Sql};

/// The table, with columns `name`, `superuser`, `login` and `secret`.
const TABLE: &str = "osier.roles";

/// Makes the table with the first role, if there is none.
pub(crate) fn prepare(db: &Database) -> Result<()> {
    let ((), receipt) = db.run(|transaction| -> std::result::Result<(), Error> {
        if found(transaction)?.is_some() {
            return Ok(());
        }
        let schema = Schema::builder(TABLE)
            .column("name", Type::Text)
            .column("superuser", Type::Bool)
            .column("login", Type::Bool)
            .nullable_column("secret", Type::Text)
            .primary_key(["name"]);
        let table = transaction.create_table(schema.build()?)?;
        let first = [Value::Text(Sql::FIRST_ROLE), Value::Bool(true), Value::Bool(true), Value::Null];
        transaction.insert(&table, &first)
    })?;
    receipt.wait().map_err(Error::from)?;
    Ok(())
}

fn found(transaction: &Transaction<'_>) -> std::result::Result<Option<Table>, Error> {
    match transaction.table(TABLE) {
        Ok(table) => Ok(Some(table)),
        Err(Error::Transaction(TransactionError::UnknownTable { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

fn role_of(row: &Row<'_>) -> Role {
    let mut values = row.values();
    let text = |value: Option<Value<'_>>| match value {
        Some(Value::Text(text)) => Some(text.to_owned()),
        _ => None,
    };
    Role {
        name: text(values.next()).unwrap_or_default(),
        is_superuser: values.next() == Some(Value::Bool(true)),
        can_login: values.next() == Some(Value::Bool(true)),
        secret: text(values.next()),
    }
}

/// The role of that name.
pub(crate) fn find(db: &Database, name: &str) -> Result<Option<Role>> {
    let (role, _) = db.run(|transaction| -> std::result::Result<_, Error> {
        let Some(table) = found(transaction)? else { return Ok(None) };
        let row = transaction.get(&table, &[Value::Text(name)])?;
        Ok(row.as_ref().map(role_of))
    })?;
    Ok(role)
}

/// All roles.
pub(crate) fn all(transaction: &Transaction<'_>) -> Result<Vec<Role>> {
    let Some(table) = found(transaction)? else { return Ok(Vec::new()) };
    let rows = transaction.scan(&table, osier::table::KeyRange::all())?;
    rows.map(|row| Ok(role_of(&row?))).collect()
}

/// The role of that name, as a transaction sees it.
pub(crate) fn get(transaction: &Transaction<'_>, name: &str) -> Result<Option<Role>> {
    let Some(table) = found(transaction)? else { return Ok(None) };
    let row = transaction.get(&table, &[Value::Text(name)])?;
    Ok(row.as_ref().map(role_of))
}

/// Writes a role.
pub(crate) fn put(transaction: &Transaction<'_>, role: &Role) -> Result<()> {
    let table = transaction.table(TABLE)?;
    let secret = role.secret.as_deref().map_or(Value::Null, Value::Text);
    let row = [Value::Text(&role.name), Value::Bool(role.is_superuser), Value::Bool(role.can_login), secret];
    Ok(transaction.upsert(&table, &row)?)
}

/// Removes a role.
pub(crate) fn remove(transaction: &Transaction<'_>, name: &str) -> Result<()> {
    let table = transaction.table(TABLE)?;
    transaction.delete(&table, &[Value::Text(name)])?;
    Ok(())
}

/// Gives a role another secret, and waits until that is durable.
pub(crate) fn set_secret(db: &Database, name: &str, secret: &str) -> Result<()> {
    let (is_there, receipt) = db.run(|transaction| -> std::result::Result<bool, Error> {
        let Some(table) = found(transaction)? else { return Ok(false) };
        let column = table.column("secret")?;
        transaction.update(&table, &[Value::Text(name)], &[(column, Value::Text(secret))])
    })?;
    receipt.wait().map_err(Error::from)?;
    match is_there {
        true => Ok(()),
        false => Err(SqlError::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist"))),
    }
}
