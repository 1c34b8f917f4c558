//! What must hold of the bank in every state that a crash can leave.
//!
//! 1. People 1 to n have one row each in FAMILY, CURRENT and SAVING and nobody else has; nations 1 to m have one in STATS.
//! 2. FAMILY is as it was loaded, so a person is the spouse of the spouse.
//! 3. Where a journal is kept: what each person has on both accounts is the sum of what the journal says. So the sum of all
//!    money is the sum of the opening balances, of the recorded deposits and of the bonuses.
//! 4. Where a journal is kept: the large deposits of each nation are as many as the journal says.

use osier::Session;

use super::loader::spouse;
use super::{Bank, Tables, current, family, saving, stats};
use crate::TargetError;
use crate::conditions::{Violation, Violations, rows_by_number};

/// How many conditions are checked.
pub const CONDITIONS: usize = 4;

/// Checks all conditions.
pub fn check(
    session: &mut Session,
    tables: &Tables,
    config: &Bank,
    observe: &mut dyn FnMut(u64),
) -> Result<Vec<Violation>, TargetError> {
    let mut violations = Violations::default();
    let last = config.people as i64;
    let nations = config.nations.into();
    let spouses = rows_by_number(session, &tables.family, last, observe, (&mut violations, 1), |row| {
        (!row.is_null(family::SPOUSE)).then(|| row.int(family::SPOUSE))
    })?;
    let current = rows_by_number(session, &tables.current, last, observe, (&mut violations, 1), |row| {
        row.numeric(current::BALANCE)
    })?;
    let saving = rows_by_number(session, &tables.saving, last, observe, (&mut violations, 1), |row| {
        row.numeric(saving::BALANCE)
    })?;
    let deposits =
        rows_by_number(session, &tables.stats, nations, observe, (&mut violations, 1), |row| row.int(stats::DEPOSITS))?;
    for (person, found) in (1..).zip(&spouses) {
        let loaded = spouse(person, last);
        let holds = found.is_none_or(|found| found == loaded);
        violations.require(holds, 2, || format!("{person} has the spouse {found:?}, not {loaded:?}"));
    }

    if let Some(sums) = tables.journal.sums(session, config.people, config.nations, observe)? {
        for (person, (current, saving)) in (1..).zip(current.iter().zip(&saving)) {
            let (has, sum) = (current.unwrap_or(0) + saving.unwrap_or(0), sums.of_account(person));
            violations.require(has == sum, 3, || format!("{person} has {has} cents, the journal says {sum}"));
        }
        for (nation, found) in (1..).zip(&deposits) {
            let (found, sum) = (found.unwrap_or(0), sums.of_counter(nation));
            violations.require(found == sum, 4, || format!("nation {nation} has {found} deposits, recorded are {sum}"));
        }
        let unknown = &sums.unknown;
        violations.require(unknown.is_empty(), 3, || format!("the journal tells of unknown people: {unknown:?}"));
    }
    Ok(violations.into_vec())
}
