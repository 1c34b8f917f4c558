//! The two procedures of PACMAN's figures 2 and 4. Each takes plain values, as a stored procedure would.
//!
//! What changes a balance is written into the journal under the number `entry`, where one is kept.

use osier::Transaction;
use osier::table::{Table, Value};

use super::{Tables, current, family, saving, stats};
use crate::attempt::{Decision, Failure, changed, found};
use crate::journal::{Entry, Recorded};

/// What a transfer adds to the saving account of who pays, in cents.
pub const TRANSFER_BONUS: i64 = 100;
/// Deposits that lift an account above this earn a bonus and are counted, in cents.
pub const LARGE: i64 = 1_000_000;

/// Moves `amount` from the current account of `src` to that of the spouse, and adds a dollar to the savings of `src`. Without a
/// spouse nothing happens.
pub fn transfer(
    tx: &Transaction<'_>,
    tables: &Tables,
    entry: i64,
    src: i64,
    amount: i64,
) -> Result<Decision<Recorded>, Failure> {
    let src_key = [Value::Int(src)];
    let person = found(tx.get(&tables.family, &src_key)?, family::TABLE, &src_key)?;
    if person.is_null(family::SPOUSE) {
        return Ok(Decision::Commit(Recorded::NOTHING));
    }
    let dst = person.int(family::SPOUSE);
    add_to_current(tx, tables, src, -amount)?;
    add_to_current(tx, tables, dst, amount)?;
    add_to_saving(tx, tables, src, TRANSFER_BONUS)?;
    let entry = Entry { other: Some((dst, amount)), ..Entry::of_one(entry, src, TRANSFER_BONUS - amount) };
    Ok(Decision::Commit(tables.journal.record(tx, &entry)?))
}

/// Adds `amount` to a current account. Where that makes it large, adds two hundredths of what was there to the saving account,
/// and one to the large deposits of `nation`.
pub fn deposit(
    tx: &Transaction<'_>,
    tables: &Tables,
    entry: i64,
    name: i64,
    amount: i64,
    nation: u32,
) -> Result<Decision<Recorded>, Failure> {
    let tmp = add_to_current(tx, tables, name, amount)?;
    let entry = if tmp + amount > LARGE {
        let bonus = bonus(tmp);
        add_to_saving(tx, tables, name, bonus)?;
        let key = [Value::Int(nation.into())];
        let is_there = tx.update_with(&tables.stats, &key, |row, changes| {
            changes.set(stats::DEPOSITS, Value::Int(row.int(stats::DEPOSITS) + 1));
            Ok::<_, Failure>(())
        })?;
        changed(is_there, stats::TABLE, &key)?;
        Entry { counter: Some(nation), ..Entry::of_one(entry, name, amount + bonus) }
    } else {
        Entry::of_one(entry, name, amount)
    };
    Ok(Decision::Commit(tables.journal.record(tx, &entry)?))
}

/// Two hundredths, in whole cents, halves away from zero: as SQL rounds `0.02 * balance` to two digits.
pub fn bonus(balance: i64) -> i64 {
    (2 * balance.abs() + 50) / 100 * balance.signum()
}

/// Adds to a current account. Returns what was there before.
fn add_to_current(tx: &Transaction<'_>, tables: &Tables, person: i64, amount: i64) -> Result<i64, Failure> {
    add(tx, &tables.current, current::TABLE, current::BALANCE, person, amount)
}

fn add_to_saving(tx: &Transaction<'_>, tables: &Tables, person: i64, amount: i64) -> Result<i64, Failure> {
    add(tx, &tables.saving, saving::TABLE, saving::BALANCE, person, amount)
}

fn add(
    tx: &Transaction<'_>,
    table: &Table,
    name: &'static str,
    column: osier::table::ColumnId,
    person: i64,
    amount: i64,
) -> Result<i64, Failure> {
    let key = [Value::Int(person)];
    let mut before = 0;
    let is_there = tx.update_with(table, &key, |row, changes| {
        before = row.numeric(column);
        changes.set(column, Value::Numeric(before + amount));
        Ok::<_, Failure>(())
    })?;
    changed(is_there, name, &key)?;
    Ok(before)
}
