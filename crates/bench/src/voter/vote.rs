//! The transaction `vote`. It takes plain values, as VoltDB's stored procedure does.

use osier::Transaction;
use osier::table::Value;

use super::input::PHONES_MAX;
use super::ledger::Evidence;
use super::{Tables, area_code_state, votes_by_phone_number};
use crate::attempt::{Decision, Failure};

/// The state of area codes that nobody knows.
pub const UNKNOWN_STATE: &str = "XX";

/// Enters a vote under the number `vote_id`, unless nobody has the contestant's number or the telephone has cast `votes_max`
/// votes already.
pub fn run(
    tx: &Transaction<'_>,
    tables: &Tables,
    vote_id: i64,
    phone_number: i64,
    contestant_number: i64,
    votes_max: i64,
) -> Result<Decision<Evidence>, Failure> {
    let (phone, contestant) = (Value::Int(phone_number), Value::Int(contestant_number));
    if tx.get(&tables.contestants, &[contestant])?.is_none() {
        return Ok(Decision::RollBack(Evidence::Nothing));
    }
    let cast = tx.get(&tables.votes_by_phone_number, &[phone])?;
    let num_votes = cast.map_or(0, |row| row.int(votes_by_phone_number::NUM_VOTES));
    if num_votes >= votes_max {
        return Ok(Decision::RollBack(Evidence::Refused { phone_number, num_votes }));
    }
    let area_code = Value::Int(phone_number / i64::from(PHONES_MAX));
    let area = tx.get(&tables.area_code_state, &[area_code])?;
    let state = area.as_ref().map_or(UNKNOWN_STATE, |row| row.text(area_code_state::STATE));

    tx.insert(&tables.votes, &[Value::Int(vote_id), phone, Value::Text(state), contestant])?;
    tx.upsert(&tables.votes_by_phone_number, &[phone, Value::Int(num_votes + 1)])?;
    Ok(Decision::Commit(Evidence::Vote { phone_number, vote_id, contestant_number }))
}
