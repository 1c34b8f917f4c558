//! What must hold of the votes in every state that a crash can leave.
//!
//! 1. The contestants and the area codes are those that were loaded.
//! 2. Every vote is for a contestant, and has the state of its area code.
//! 3. The number of votes of a telephone is that of its rows in VOTES, at least one.
//! 4. No telephone has more votes than the limit.

use std::collections::BTreeMap;

use osier::Session;

use super::area_codes::area_codes;
use super::input::PHONES_MAX;
use super::{Tables, Voter, area_code_state, contestants, votes, votes_by_phone_number};
use crate::TargetError;
use crate::conditions::{Violation, Violations, visit_rows};

/// How many conditions are checked.
pub const CONDITIONS: usize = 4;

/// Checks all conditions.
pub fn check(
    session: &mut Session,
    tables: &Tables,
    config: &Voter,
    observe: &mut dyn FnMut(u64),
) -> Result<Vec<Violation>, TargetError> {
    let mut violations = Violations::default();
    let last = i64::from(config.contestants);
    let mut contestants = Vec::new();
    let number = |row: &osier::table::Row<'_>| row.int(contestants::CONTESTANT_NUMBER);
    visit_rows(session, &tables.contestants, observe, number, |number| contestants.push(number))?;
    let is_loaded = contestants.iter().copied().eq(1..=last);
    violations.require(is_loaded, 1, || format!("contestants are {contestants:?}, loaded were 1 to {last}"));
    let mut areas = BTreeMap::new();
    visit_rows(
        session,
        &tables.area_code_state,
        observe,
        |row| (row.int(area_code_state::AREA_CODE), row.text(area_code_state::STATE).to_owned()),
        |(code, state)| drop(areas.insert(code, state)),
    )?;
    let is_loaded = areas.len() == area_codes().count()
        && area_codes().all(|(code, state)| areas.get(&code).is_some_and(|found| found == state));
    violations.require(is_loaded, 1, || "the area codes are not those that were loaded".to_owned());

    let mut counted = Vec::new();
    visit_rows(
        session,
        &tables.votes_by_phone_number,
        observe,
        |row| (row.int(votes_by_phone_number::PHONE_NUMBER), row.int(votes_by_phone_number::NUM_VOTES)),
        |phone| counted.push(phone),
    )?;
    let mut cast = Vec::<(i64, i64)>::new();
    visit_rows(
        session,
        &tables.votes,
        observe,
        |row| {
            let (phone, contestant) = (row.int(votes::PHONE_NUMBER), row.int(votes::CONTESTANT_NUMBER));
            let state = areas.get(&(phone / i64::from(PHONES_MAX)));
            (phone, contestant, state.is_some_and(|state| state == row.text(votes::STATE)))
        },
        |(phone, contestant, is_in_state)| {
            let holds = (1..=last).contains(&contestant) && is_in_state;
            violations.require(holds, 2, || format!("a vote of {phone} for {contestant} is wrong, or its state is"));
            match cast.last_mut() {
                Some((last, count)) if *last == phone => *count += 1,
                _ => cast.push((phone, 1)),
            }
        },
    )?;
    compare(&counted, &cast, &mut violations);
    for (phone, count) in cast.iter().chain(&counted) {
        let holds = *count <= i64::from(config.votes_max);
        violations.require(holds, 4, || format!("telephone {phone} has cast {count} votes"));
    }
    Ok(violations.into_vec())
}

/// Compares the numbers of votes of telephones with those of the rows, both in the order of telephones.
fn compare(counted: &[(i64, i64)], cast: &[(i64, i64)], violations: &mut Violations) {
    let (mut counted, mut cast) = (counted.iter().copied().peekable(), cast.iter().copied().peekable());
    loop {
        let phone = match (counted.peek(), cast.peek()) {
            (None, None) => return,
            (Some((phone, _)), None) | (None, Some((phone, _))) => *phone,
            (Some((counted, _)), Some((cast, _))) => *counted.min(cast),
        };
        let number = counted.next_if(|(of, _)| *of == phone).map_or(0, |(_, number)| number);
        let rows = cast.next_if(|(of, _)| *of == phone).map_or(0, |(_, rows)| rows);
        let holds = number == rows && rows > 0;
        violations.require(holds, 3, || format!("telephone {phone} is said to have cast {number} votes, has {rows}"));
    }
}
