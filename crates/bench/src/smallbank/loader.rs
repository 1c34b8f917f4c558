//! Opens the accounts, from several threads.
//!
//! A task draws from a generator seeded with its number, so what is loaded depends on the seed and not on the threads.

use osier::Database;
use osier::table::Value;

use super::Tables;
use super::input::CustomerName;
use crate::random::worker_rng;
use crate::{TargetError, loading};

/// Customers of one task; the log record must stay well below the limit.
const TASK_ACCOUNTS: usize = 250;
/// The opening balance of an account, in cents: OLTP-Bench has 10,000 to 50,000.
pub const OPENING_BALANCE: std::ops::RangeInclusive<i64> = 1_000_000..=5_000_000;

/// Adds customers 1 to `accounts` with their accounts. Returns the number of rows.
pub fn load(
    db: &Database,
    tables: &Tables,
    accounts: u64,
    threads: u32,
    seed: u64,
    observe: &(impl Fn(u64) + Sync),
) -> Result<u64, TargetError> {
    let last = i64::try_from(accounts).map_err(TargetError::new)?;
    let tasks: Vec<_> = (1..=last).step_by(TASK_ACCOUNTS).collect();
    loading::run(db, threads, &tasks, observe, |tx, number, first| {
        let mut rng = worker_rng(seed, number);
        let mut rows = 0;
        for custid in *first..(first + TASK_ACCOUNTS as i64).min(last + 1) {
            let name = CustomerName::of(custid);
            let (savings, checking) = (rng.i64(OPENING_BALANCE), rng.i64(OPENING_BALANCE));
            tx.insert(&tables.accounts, &[Value::Int(custid), Value::Text(name.as_str())])?;
            tx.insert(&tables.savings, &[Value::Int(custid), Value::Numeric(savings)])?;
            tx.insert(&tables.checking, &[Value::Int(custid), Value::Numeric(checking)])?;
            rows += 3 + tables.journal.open_account(tx, custid, savings + checking)?;
        }
        Ok(rows)
    })
}
