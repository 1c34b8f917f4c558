//! Voter on a small database without a log: what the transaction does, and that the checks can fail.

use std::collections::BTreeSet;

use osier::table::Value;

use super::consistency::CONDITIONS;
use super::input::NO_CONTESTANT;
use super::vote::UNKNOWN_STATE;
use super::*;
use crate::Outcome;
use crate::trial::{Break, change, delete, execute_one, loaded, run_collecting, violations};

/// Few telephones, so that some of them vote too often.
const VOTER: Voter = Voter { contestants: 6, votes_max: 2, phones: 3 };
/// A telephone in Alaska.
const PHONE: i64 = 9_070_000_001;

#[test]
fn a_vote_is_checked_and_counted() {
    let (db, tables) = loaded(&VOTER);
    let call =
        |vote_id, phone, contestant| execute_one(&db, |tx| vote::run(tx, &tables, vote_id, phone, contestant, 2));
    let entered = |vote_id, contestant_number| Evidence::Vote { phone_number: PHONE, vote_id, contestant_number };
    assert_eq!(call(1, PHONE, NO_CONTESTANT), (Outcome::RolledBack, Evidence::Nothing));
    assert_eq!(call(2, PHONE, 6), (Outcome::Committed, entered(2, 6)));
    assert_eq!(call(3, PHONE, 1), (Outcome::Committed, entered(3, 1)));
    let refused = Evidence::Refused { phone_number: PHONE, num_votes: 2 };
    assert_eq!(call(4, PHONE, 1), (Outcome::RolledBack, refused));
    assert_eq!(violations(&db, &tables, &VOTER), []);

    let state = |phone, vote_id| {
        let key = [Value::Int(phone), Value::Int(vote_id)];
        db.run(|tx| Ok::<_, osier::Error>(tx.get(&tables.votes, &key)?.map(|row| row.text(votes::STATE).to_owned())))
    };
    assert_eq!(state(PHONE, 2).unwrap().0.as_deref(), Some("AK"));
    assert_eq!(state(PHONE, 4).unwrap().0, None);
    assert_eq!(call(5, 1_000_000_000, 1).0, Outcome::Committed, "an area code that nobody knows");
    assert_eq!(state(1_000_000_000, 5).unwrap().0.as_deref(), Some(UNKNOWN_STATE));
}

#[test]
fn every_condition_can_be_violated() {
    let row = |vote_id, state, contestant| {
        [Value::Int(vote_id), Value::Int(PHONE), Value::Text(state), Value::Int(contestant)]
    };
    let enter = |tx: &Transaction<'_>, tables: &Tables, row: [Value<'_>; 4], votes: i64| -> Result<(), Failure> {
        tx.insert(&tables.votes, &row)?;
        Ok(tx.upsert(&tables.votes_by_phone_number, &[Value::Int(PHONE), Value::Int(votes)])?)
    };
    let breaks: [(u8, Break<'_, Tables>); 8] = [
        (1, &|tx, tables| delete(tx, &tables.contestants, &[Value::Int(6)])),
        (1, &|tx, tables| delete(tx, &tables.area_code_state, &[Value::Int(201)])),
        (2, &|tx, tables| enter(tx, tables, row(2, "AK", 7), 2)),
        (2, &|tx, tables| enter(tx, tables, row(2, "AL", 1), 2)),
        (3, &|tx, tables| enter(tx, tables, row(2, "AK", 1), 1)),
        (3, &|tx, tables| delete(tx, &tables.votes, &[Value::Int(PHONE), Value::Int(1)])),
        (3, &|tx, tables| delete(tx, &tables.votes_by_phone_number, &[Value::Int(PHONE)])),
        (4, &|tx, tables| {
            enter(tx, tables, row(2, "AK", 1), 2)?;
            enter(tx, tables, row(3, "AK", 1), 3)
        }),
    ];
    for (condition, breaks) in breaks {
        let (db, tables) = loaded(&VOTER);
        change(&db, |tx| enter(tx, &tables, row(1, "AK", 5), 1));
        assert_eq!(violations(&db, &tables, &VOTER), []);
        change(&db, |tx| breaks(tx, &tables));
        let found: BTreeSet<_> = violations(&db, &tables, &VOTER).iter().map(|v| v.condition).collect();
        assert_eq!(found, BTreeSet::from([condition]));
    }
    assert_eq!(breaks.map(|(condition, _)| condition).into_iter().collect::<BTreeSet<_>>().len(), CONDITIONS);
}

#[test]
fn a_run_keeps_the_conditions_and_facts_are_found() {
    let (db, tables) = loaded(&VOTER);
    let (result, facts) = run_collecting(&db, &VOTER, 4000);
    assert_eq!(violations(&db, &tables, &VOTER), []);
    let phones = 3 * area_codes().count() as u64;
    assert!(result.committed > phones && result.committed <= 2 * phones, "{result:?}");
    let (votes, refused): (Vec<_>, Vec<_>) = facts.iter().partition(|fact| matches!(fact, VoterFact::Vote { .. }));
    assert_eq!(votes.len() as u64, result.committed);
    assert!(refused.len() > 1000, "{} were refused", refused.len());
    let is_found = |fact: &VoterFact| db.run(|tx| VOTER.is_found(tx, &tables, fact)).unwrap().0;
    for fact in facts {
        assert!(is_found(&fact), "{fact:?}");
    }
    for fact in votes.iter().chain(&refused) {
        match *fact {
            VoterFact::Vote { phone_number, vote_id, .. } => {
                db.run(|tx| tx.delete(&tables.votes, &[Value::Int(phone_number), Value::Int(vote_id)])).unwrap();
            }
            VoterFact::Refused { phone_number, .. } => {
                let row = [Value::Int(phone_number), Value::Int(1)];
                db.run(|tx| tx.upsert(&tables.votes_by_phone_number, &row)).unwrap();
            }
        }
        assert!(!is_found(fact), "{fact:?}");
    }
}
