//! What must hold of the accounts in every state that a crash can leave.
//!
//! 1. Customers 1 to n have one row each in ACCOUNTS, with their name, in SAVINGS and in CHECKING, and nobody else has.
//! 2. No savings balance is negative.
//! 3. Where a journal is kept: what each customer has on both accounts is the sum of what the journal says, so that the sum of
//!    all balances is the sum of the opening balances and of all recorded changes.

use osier::Session;

use super::Tables;
use super::input::CustomerName;
use super::schema::{accounts, checking, savings};
use crate::TargetError;
use crate::conditions::{Violation, Violations, rows_by_number};

/// How many conditions are checked.
pub const CONDITIONS: usize = 3;

/// Checks all conditions for customers 1 to `customers`.
pub fn check(
    session: &mut Session,
    tables: &Tables,
    customers: u64,
    observe: &mut dyn FnMut(u64),
) -> Result<Vec<Violation>, TargetError> {
    let mut violations = Violations::default();
    let last = customers as i64;
    let names = rows_by_number(session, &tables.accounts, last, observe, (&mut violations, 1), |row| {
        row.text(accounts::NAME) == CustomerName::of(row.int(accounts::CUSTID)).as_str()
    })?;
    for (custid, _) in (1..).zip(&names).filter(|(_, is_named)| **is_named == Some(false)) {
        violations.require(false, 1, || format!("customer {custid} has another name"));
    }
    let savings =
        rows_by_number(session, &tables.savings, last, observe, (&mut violations, 1), |row| row.numeric(savings::BAL))?;
    let checking = rows_by_number(session, &tables.checking, last, observe, (&mut violations, 1), |row| {
        row.numeric(checking::BAL)
    })?;
    for (custid, balance) in (1..).zip(&savings) {
        let overdrawn = balance.filter(|balance| *balance < 0);
        violations.require(overdrawn.is_none(), 2, || format!("savings of {custid} are {overdrawn:?} cents"));
    }

    if let Some(sums) = tables.journal.sums(session, customers, 0, observe)? {
        for (custid, (savings, checking)) in (1..).zip(savings.iter().zip(&checking)) {
            let (has, sum) = (savings.unwrap_or(0) + checking.unwrap_or(0), sums.of_account(custid));
            violations.require(has == sum, 3, || format!("{custid} has {has} cents, the journal says {sum}"));
        }
        let unknown = &sums.unknown;
        violations.require(unknown.is_empty(), 3, || format!("the journal tells of unknown customers: {unknown:?}"));
    }
    Ok(violations.into_vec())
}
