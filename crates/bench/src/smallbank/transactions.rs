//! The six transactions (Alomari 2008, section 2). Each takes plain values, as a stored procedure would.
//!
//! Those that change a balance write into the journal under the number `entry`, where one is kept.

use osier::Transaction;
use osier::table::Value;

use super::Tables;
use super::schema::{BY_NAME, accounts, checking, savings};
use crate::attempt::{Decision, Failure, changed, found};
use crate::journal::{Entry, Recorded};

/// What a check that is not covered costs beside its amount, in cents.
pub const PENALTY: i64 = 100;

/// An unknown customer or too little money: nothing is changed.
const REFUSED: Decision<Recorded> = Decision::RollBack(Recorded::NOTHING);

/// Moves all that `from` has to the checking account of `to`.
pub fn amalgamate(
    tx: &Transaction<'_>,
    tables: &Tables,
    entry: i64,
    from: i64,
    to: i64,
) -> Result<Decision<Recorded>, Failure> {
    let (from_key, to_key) = ([Value::Int(from)], [Value::Int(to)]);
    tx.expect(&tables.accounts, [from_key, to_key])?;
    tx.expect(&tables.savings, [from_key])?;
    tx.expect(&tables.checking, [from_key, to_key])?;
    if !is_customer(tx, tables, from)? || !is_customer(tx, tables, to)? {
        return Ok(REFUSED);
    }
    let mut total = 0;
    let is_there = tx.update_with(&tables.savings, &from_key, |row, changes| {
        total += row.numeric(savings::BAL);
        changes.set(savings::BAL, Value::Numeric(0));
        Ok::<_, Failure>(())
    })?;
    changed(is_there, savings::TABLE, &from_key)?;
    let is_there = tx.update_with(&tables.checking, &from_key, |row, changes| {
        total += row.numeric(checking::BAL);
        changes.set(checking::BAL, Value::Numeric(0));
        Ok::<_, Failure>(())
    })?;
    changed(is_there, checking::TABLE, &from_key)?;
    add_to_checking(tx, tables, to, total)?;
    let entry = Entry { other: Some((to, total)), ..Entry::of_one(entry, from, -total) };
    Ok(Decision::Commit(tables.journal.record(tx, &entry)?))
}

/// Reads both balances of a customer. The sum goes to who asked; nothing stores it.
pub fn balance(tx: &Transaction<'_>, tables: &Tables, name: &str) -> Result<Decision<Recorded>, Failure> {
    let Some(custid) = custid_of(tx, tables, name)? else { return Ok(REFUSED) };
    std::hint::black_box(total_of(tx, tables, custid, false)?);
    Ok(Decision::Commit(Recorded::NOTHING))
}

/// Adds `amount` to a checking account; a negative one is refused.
pub fn deposit_checking(
    tx: &Transaction<'_>,
    tables: &Tables,
    entry: i64,
    name: &str,
    amount: i64,
) -> Result<Decision<Recorded>, Failure> {
    let Some(custid) = custid_of(tx, tables, name)?.filter(|_| amount >= 0) else { return Ok(REFUSED) };
    add_to_checking(tx, tables, custid, amount)?;
    Ok(Decision::Commit(tables.journal.record(tx, &Entry::of_one(entry, custid, amount))?))
}

/// Moves `amount` from one checking account to another, where the first one has so much.
pub fn send_payment(
    tx: &Transaction<'_>,
    tables: &Tables,
    entry: i64,
    from: i64,
    to: i64,
    amount: i64,
) -> Result<Decision<Recorded>, Failure> {
    let keys = [[Value::Int(from)], [Value::Int(to)]];
    tx.expect(&tables.accounts, keys)?;
    tx.expect(&tables.checking, keys)?;
    if !is_customer(tx, tables, from)? || !is_customer(tx, tables, to)? {
        return Ok(REFUSED);
    }
    if add_to_checking(tx, tables, from, -amount)? < 0 {
        return Ok(REFUSED);
    }
    add_to_checking(tx, tables, to, amount)?;
    let entry = Entry { other: Some((to, amount)), ..Entry::of_one(entry, from, -amount) };
    Ok(Decision::Commit(tables.journal.record(tx, &entry)?))
}

/// Adds `amount`, which may be negative, to a savings account, unless that would overdraw it.
pub fn transact_savings(
    tx: &Transaction<'_>,
    tables: &Tables,
    entry: i64,
    name: &str,
    amount: i64,
) -> Result<Decision<Recorded>, Failure> {
    let Some(custid) = custid_of(tx, tables, name)? else { return Ok(REFUSED) };
    let mut left = 0;
    let key = [Value::Int(custid)];
    let is_there = tx.update_with(&tables.savings, &key, |row, changes| {
        left = row.numeric(savings::BAL) + amount;
        changes.set(savings::BAL, Value::Numeric(left));
        Ok::<_, Failure>(())
    })?;
    changed(is_there, savings::TABLE, &key)?;
    if left < 0 {
        return Ok(REFUSED);
    }
    Ok(Decision::Commit(tables.journal.record(tx, &Entry::of_one(entry, custid, amount))?))
}

/// Takes `amount` from a checking account, and [`PENALTY`] with it where the customer has less on both accounts.
pub fn write_check(
    tx: &Transaction<'_>,
    tables: &Tables,
    entry: i64,
    name: &str,
    amount: i64,
) -> Result<Decision<Recorded>, Failure> {
    let Some(custid) = custid_of(tx, tables, name)? else { return Ok(REFUSED) };
    let penalty = if total_of(tx, tables, custid, true)? < amount { PENALTY } else { 0 };
    let change = -(amount + penalty);
    add_to_checking(tx, tables, custid, change)?;
    Ok(Decision::Commit(tables.journal.record(tx, &Entry::of_one(entry, custid, change))?))
}

/// The number of the customer with this name.
fn custid_of(tx: &Transaction<'_>, tables: &Tables, name: &str) -> Result<Option<i64>, Failure> {
    let account = tx.get_by_index(&tables.accounts, BY_NAME, &[Value::Text(name)])?;
    Ok(account.map(|account| account.int(accounts::CUSTID)))
}

fn is_customer(tx: &Transaction<'_>, tables: &Tables, custid: i64) -> Result<bool, Failure> {
    Ok(tx.get(&tables.accounts, &[Value::Int(custid)])?.is_some())
}

/// What a customer has on both accounts, perhaps to change the checking account.
fn total_of(tx: &Transaction<'_>, tables: &Tables, custid: i64, for_update: bool) -> Result<i64, Failure> {
    let key = [Value::Int(custid)];
    let savings = found(tx.get(&tables.savings, &key)?, savings::TABLE, &key)?.numeric(savings::BAL);
    let checking = match for_update {
        true => tx.get_for_update(&tables.checking, &key)?,
        false => tx.get(&tables.checking, &key)?,
    };
    Ok(savings + found(checking, checking::TABLE, &key)?.numeric(checking::BAL))
}

/// Adds `amount`, which may be negative, to a checking account. Returns its new balance.
fn add_to_checking(tx: &Transaction<'_>, tables: &Tables, custid: i64, amount: i64) -> Result<i64, Failure> {
    let mut balance = 0;
    let key = [Value::Int(custid)];
    let is_there = tx.update_with(&tables.checking, &key, |row, changes| {
        balance = row.numeric(checking::BAL) + amount;
        changes.set(checking::BAL, Value::Numeric(balance));
        Ok::<_, Failure>(())
    })?;
    changed(is_there, checking::TABLE, &key)?;
    Ok(balance)
}
