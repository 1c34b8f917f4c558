//! Opens the accounts, from several threads.
//!
//! A task draws from a generator seeded with its number, so what is loaded depends on the seed and not on the threads.

use std::ops::RangeInclusive;

use osier::Database;
use osier::table::Value;

use super::{Bank, Tables};
use crate::random::worker_rng;
use crate::{TargetError, loading};

/// People of one task; the log record must stay well below the limit.
const TASK_PEOPLE: usize = 250;
/// The opening balance of a current account, in cents: half of them are large.
pub const CURRENT: RangeInclusive<i64> = 0..=2_000_000;
/// The opening balance of a saving account, in cents.
pub const SAVING: RangeInclusive<i64> = 0..=100_000;
/// One couple of so many is two people without a spouse.
pub const UNMARRIED_EVERY: i64 = 10;

/// The spouse of a person among `people`: the other one of 1 and 2, of 3 and 4, and so on.
pub fn spouse(person: i64, people: i64) -> Option<i64> {
    let couple = (person - 1) / 2;
    let spouse = couple * 4 + 3 - person;
    (couple % UNMARRIED_EVERY != UNMARRIED_EVERY - 1 && spouse <= people).then_some(spouse)
}

/// Adds the people with their accounts, and the nations. Returns the number of rows.
pub fn load(
    db: &Database,
    tables: &Tables,
    config: &Bank,
    threads: u32,
    seed: u64,
    observe: &(impl Fn(u64) + Sync),
) -> Result<u64, TargetError> {
    let last = i64::try_from(config.people).map_err(TargetError::new)?;
    let tasks: Vec<_> = (1..=last).step_by(TASK_PEOPLE).collect();
    loading::run(db, threads, &tasks, observe, |tx, number, first| {
        let mut rng = worker_rng(seed, number);
        let mut rows = 0;
        if *first == 1 {
            for nation in 1..=config.nations {
                tx.insert(&tables.stats, &[Value::Int(nation.into()), Value::Int(0)])?;
                rows += 1;
            }
        }
        for person in *first..(first + TASK_PEOPLE as i64).min(last + 1) {
            let spouse = spouse(person, last).map_or(Value::Null, Value::Int);
            let (current, saving) = (rng.i64(CURRENT), rng.i64(SAVING));
            tx.insert(&tables.family, &[Value::Int(person), spouse])?;
            tx.insert(&tables.current, &[Value::Int(person), Value::Numeric(current)])?;
            tx.insert(&tables.saving, &[Value::Int(person), Value::Numeric(saving)])?;
            rows += 3 + tables.journal.open_account(tx, person, current + saving)?;
        }
        Ok(rows)
    })
}
