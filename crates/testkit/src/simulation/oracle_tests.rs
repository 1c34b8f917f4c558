//! Hand-made wrong histories: the oracle must reject each, and accept the right one beside it.

use std::collections::Bound;
use std::time::Duration;

use super::model::Model;
use super::operation::{IndexName, Key, Operation, Outcome, Range, Row, TableName, TransactionId};
use super::oracle::{End, Finished, IndexDifference, Oracle, Phase, Recovered, Violation};
use super::sequences::SequenceModel;

const PLAIN: TableName = TableName::Plain;

fn row(writer: u64, counter: i64) -> Row {
    Row { writer: TransactionId(writer), counter, code: None, team: 0, payload: None, added: 0 }
}

fn coded(writer: u64, code: i32) -> Row {
    Row { code: Some(code), ..row(writer, 0) }
}

fn upsert(key: u16, writer: u64, counter: i64) -> (Operation, Outcome) {
    (Operation::Upsert(PLAIN, Key(key), row(writer, counter)), Outcome::Done)
}

fn get(key: u16, seen: Option<Row>) -> (Operation, Outcome) {
    (Operation::Get(PLAIN, Key(key)), Outcome::Row(seen.map(|row| (Key(key), row))))
}

fn scan(seen: &[(u16, Row)]) -> (Operation, Outcome) {
    let all = Range { low: Bound::Unbounded, high: Bound::Unbounded, reverse: false, limit: 100 };
    let rows = seen.iter().map(|(key, row)| (Key(*key), row.clone())).collect();
    (Operation::Scan(PLAIN, all), Outcome::Rows(rows))
}

fn writer(id: u64, steps: Vec<(Operation, Outcome)>) -> Finished {
    let (end, marked, acknowledged) = (End::Committed, true, false);
    let (since, by) = (Duration::ZERO, Duration::MAX);
    let (id, session, stamp) = (TransactionId(id), 0, (id, 0));
    Finished { id, session, steps, end, marked, at_snapshot: false, order: 0, epoch: 1, stamp, acknowledged, since, by }
}

fn reader(id: u64, steps: Vec<(Operation, Outcome)>) -> Finished {
    Finished { marked: false, ..writer(id, steps) }
}

fn acknowledged(finished: Finished) -> Finished {
    Finished { acknowledged: true, ..finished }
}

fn oracle(history: impl IntoIterator<Item = Finished>) -> Oracle {
    let mut oracle = Oracle::new();
    for finished in history {
        oracle.finish(finished);
    }
    oracle
}

fn recovered(ids: &[u64], rows: &[(u16, Row)]) -> Recovered {
    let mut model = Model::default();
    for (key, row) in rows {
        model.put(PLAIN, Key(*key), Some(row.clone()));
    }
    Recovered { transactions: ids.iter().map(|&id| TransactionId(id)).collect(), model, index: None }
}

fn rejected(result: Result<(), Violation>) -> Violation {
    result.expect_err("a wrong history was accepted")
}

#[test]
fn a_right_history_is_accepted_over_two_generations() {
    let mut oracle = oracle([
        acknowledged(writer(1, vec![upsert(1, 1, 10)])),
        writer(2, vec![get(1, Some(row(1, 10))), upsert(2, 2, 20)]),
        acknowledged(reader(3, vec![get(1, Some(row(1, 10)))])),
        writer(4, vec![upsert(3, 4, 40)]),
    ]);
    assert_eq!(oracle.check_run(), Ok(()));
    // 2 is lost, and 4, which is younger and blind, is not.
    assert_eq!(oracle.check_recovery(&recovered(&[1, 4], &[(1, row(1, 10)), (3, row(4, 40))])), Ok(()));
    oracle.finish(writer(5, vec![scan(&[(1, row(1, 10)), (3, row(4, 40))])]));
    assert_eq!(oracle.check_run(), Ok(()));
    assert_eq!(oracle.check_recovery(&recovered(&[1, 4, 5], &[(1, row(1, 10)), (3, row(4, 40))])), Ok(()));
}

#[test]
fn a_lost_acknowledgement_is_rejected() {
    let mut oracle = oracle([acknowledged(writer(1, vec![upsert(1, 1, 10)]))]);
    assert_eq!(rejected(oracle.check_recovery(&recovered(&[], &[]))), Violation::AcknowledgedLost(TransactionId(1)));
}

#[test]
fn an_acknowledged_read_of_a_lost_write_is_rejected() {
    let history = [writer(1, vec![upsert(1, 1, 10)]), acknowledged(reader(2, vec![get(1, Some(row(1, 10)))]))];
    let violation = rejected(oracle(history).check_recovery(&recovered(&[], &[])));
    assert!(matches!(violation, Violation::Observation { during: Phase::Recovery, id: TransactionId(2), .. }));
}

#[test]
fn an_acknowledged_failure_that_reveals_a_lost_write_is_rejected() {
    let duplicate = (Operation::Insert(PLAIN, Key(1), row(2, 0)), Outcome::Duplicate);
    let failed = Finished { end: End::Aborted, ..acknowledged(reader(2, vec![duplicate])) };
    let history = [writer(1, vec![upsert(1, 1, 10)]), failed];
    let violation = rejected(oracle(history).check_recovery(&recovered(&[], &[])));
    assert!(matches!(violation, Violation::Observation { id: TransactionId(2), .. }));
}

#[test]
fn an_acknowledged_absence_left_by_a_lost_delete_is_rejected() {
    let mut oracle = oracle([acknowledged(writer(1, vec![upsert(1, 1, 10)]))]);
    assert_eq!(oracle.check_recovery(&recovered(&[1], &[(1, row(1, 10))])), Ok(()));
    oracle.finish(writer(2, vec![(Operation::DeleteBlind(PLAIN, Key(1)), Outcome::Done)]));
    oracle.finish(acknowledged(reader(3, vec![get(1, None)])));
    assert_eq!(oracle.check_run(), Ok(()));
    let violation = rejected(oracle.check_recovery(&recovered(&[1], &[(1, row(1, 10))])));
    assert!(matches!(violation, Violation::Observation { id: TransactionId(3), .. }));
}

#[test]
fn a_survivor_that_read_from_the_dead_is_rejected() {
    let history = [writer(1, vec![upsert(1, 1, 10)]), writer(2, vec![get(1, Some(row(1, 10))), upsert(2, 2, 20)])];
    let violation = rejected(oracle(history).check_recovery(&recovered(&[2], &[(2, row(2, 20))])));
    assert!(matches!(violation, Violation::Observation { during: Phase::Recovery, id: TransactionId(2), .. }));
}

#[test]
fn a_broken_isolation_is_rejected_without_a_crash() {
    // Write skew: each read what the other wrote afterwards.
    let history = [
        writer(1, vec![get(1, None), get(2, None), upsert(1, 1, 1)]),
        writer(2, vec![get(1, None), get(2, None), upsert(2, 2, 1)]),
    ];
    let violation = rejected(oracle(history).check_run());
    assert!(matches!(violation, Violation::Observation { during: Phase::Run, id: TransactionId(2), .. }));
    // A phantom.
    let history = [writer(1, vec![upsert(1, 1, 1)]), reader(2, vec![scan(&[])])];
    assert!(matches!(rejected(oracle(history).check_run()), Violation::Observation { id: TransactionId(2), .. }));
    // A dirty read of an aborted transaction.
    let aborted = Finished { end: End::Aborted, ..reader(1, vec![upsert(1, 1, 1)]) };
    let history = [aborted, reader(2, vec![get(1, Some(row(1, 1)))])];
    assert!(matches!(rejected(oracle(history).check_run()), Violation::Observation { id: TransactionId(2), .. }));
}

#[test]
fn half_a_transaction_is_rejected() {
    let mut oracle = oracle([writer(1, vec![upsert(1, 1, 10), upsert(2, 1, 20)])]);
    let violation = rejected(oracle.check_recovery(&recovered(&[1], &[(1, row(1, 10))])));
    assert!(matches!(violation, Violation::State { .. }));
}

#[test]
fn writes_of_the_dead_without_their_marker_are_rejected() {
    let mut oracle = oracle([writer(1, vec![upsert(1, 1, 10)])]);
    let violation = rejected(oracle.check_recovery(&recovered(&[], &[(1, row(1, 10))])));
    assert!(matches!(violation, Violation::State { .. }));
}

#[test]
fn writes_in_the_wrong_order_are_rejected() {
    let mut oracle = oracle([writer(1, vec![upsert(1, 1, 10)]), writer(2, vec![upsert(1, 2, 20)])]);
    let violation = rejected(oracle.check_recovery(&recovered(&[1, 2], &[(1, row(1, 10))])));
    assert!(matches!(violation, Violation::State { .. }));
}

#[test]
fn the_dead_who_come_back_and_the_living_who_leave_are_rejected() {
    let mut oracle = oracle([writer(1, vec![upsert(1, 1, 10)]), writer(2, vec![upsert(2, 2, 20)])]);
    assert_eq!(oracle.check_recovery(&recovered(&[2], &[(2, row(2, 20))])), Ok(()));
    let mut other = oracle.clone();
    let back = recovered(&[1, 2], &[(1, row(1, 10)), (2, row(2, 20))]);
    assert_eq!(rejected(oracle.check_recovery(&back)), Violation::Resurrected(TransactionId(1)));
    assert_eq!(rejected(other.check_recovery(&recovered(&[], &[]))), Violation::RecoveredLost(TransactionId(2)));
}

#[test]
fn a_marker_from_nowhere_is_rejected() {
    let violation = rejected(oracle([]).check_recovery(&recovered(&[9], &[])));
    assert_eq!(violation, Violation::Unknown(TransactionId(9)));
}

#[test]
fn the_model_knows_unique_indexes_savepoints_and_ranges() {
    let indexed = TableName::Indexed;
    let mut model = Model::default();
    let mut execution = model.begin();
    let insert = |key, row| Operation::Insert(indexed, Key(key), row);
    assert_eq!(execution.apply(&insert(1, coded(1, 7))), Outcome::Done);
    assert_eq!(execution.apply(&insert(2, coded(1, 7))), Outcome::Duplicate);
    assert_eq!(execution.apply(&insert(1, coded(1, 8))), Outcome::Duplicate);
    assert_eq!(execution.apply(&Operation::Savepoint), Outcome::Done);
    assert_eq!(execution.apply(&Operation::Delete(indexed, Key(1))), Outcome::Existed(true));
    assert_eq!(execution.apply(&insert(2, coded(1, 7))), Outcome::Done);
    assert_eq!(execution.apply(&Operation::RollbackTo(0)), Outcome::Done);
    assert_eq!(execution.apply(&Operation::GetByCode(7)), Outcome::Row(Some((Key(1), coded(1, 7)))));
    assert_eq!(execution.apply(&insert(3, row(1, 0))), Outcome::Done);
    let codes = Range { low: Bound::Unbounded, high: Bound::Included(7), reverse: true, limit: 2 };
    let expected = vec![(Key(1), coded(1, 7)), (Key(3), row(1, 0))];
    assert_eq!(execution.apply(&Operation::ScanCodes(indexed, codes)), Outcome::Rows(expected));
    drop(execution);
    assert_eq!(model, Model::default(), "an abort leaves nothing behind");
}

fn at(epoch: u64, finished: Finished) -> Finished {
    Finished { epoch, order: finished.id.0, ..finished }
}

#[test]
fn an_epoch_that_cuts_a_dependency_is_rejected() {
    // 1 read what 2 overwrote, so it comes before; only its epoch says otherwise.
    let first = |epoch| at(epoch, writer(1, vec![get(1, None), upsert(2, 1, 0)]));
    let second = || at(7, writer(2, vec![upsert(1, 2, 0)]));
    assert_eq!(oracle([first(7), second()]).check_run(), Ok(()));
    let violation = rejected(oracle([first(8), second()]).check_run());
    assert!(matches!(violation, Violation::Observation { during: Phase::Epochs, id: TransactionId(1), .. }));
}

#[test]
fn a_slice_holds_its_epochs_and_nothing_else() {
    let oracle = oracle([at(1, writer(1, vec![upsert(1, 1, 0)])), at(2, writer(2, vec![upsert(2, 2, 0)]))]);
    let (one, both) = (recovered(&[1], &[(1, row(1, 0))]), recovered(&[1, 2], &[(1, row(1, 0)), (2, row(2, 0))]));
    assert_eq!(oracle.check_slice("it", 1, one.clone()), Ok(()));
    assert_eq!(oracle.check_slice("it", 2, both.clone()), Ok(()));
    assert!(matches!(rejected(oracle.check_slice("it", 1, both.clone())), Violation::Slice { epoch: 1, .. }));
    assert!(matches!(rejected(oracle.check_slice("it", 2, one.clone())), Violation::Slice { epoch: 2, .. }));
    assert!(oracle.check_epoch_cut(&both).is_ok() && oracle.check_epoch_cut(&one).is_ok());
    let torn = rejected(oracle.check_epoch_cut(&recovered(&[2], &[(2, row(2, 0))])));
    assert_eq!(torn, Violation::NotOfTheEpoch { epoch: 2, id: TransactionId(1) });
}

#[test]
fn a_part_holds_what_its_transactions_read() {
    let first = at(1, writer(1, vec![upsert(1, 1, 0)]));
    let mut oracle = oracle([first, at(1, writer(2, vec![get(1, Some(row(1, 0))), upsert(2, 2, 0)]))]);
    oracle.check_recovery(&recovered(&[1, 2], &[(1, row(1, 0)), (2, row(2, 0))])).expect("both live");
    for sound in [recovered(&[], &[]), recovered(&[1], &[(1, row(1, 0))])] {
        assert_eq!(oracle.check_part(&sound), Ok(()));
    }
    let torn = rejected(oracle.check_part(&recovered(&[2], &[(2, row(2, 0))])));
    assert!(matches!(torn, Violation::Observation { id: TransactionId(2), .. }));
    let bare = rejected(oracle.check_part(&recovered(&[1], &[])));
    assert!(matches!(bare, Violation::State { .. }));
}

/// Recovered with both of these, of epochs 1 and 2.
fn two_lives() -> Oracle {
    let second = Finished { since: Duration::from_secs(2), ..at(2, writer(2, vec![upsert(2, 2, 0)])) };
    let mut oracle = oracle([at(1, writer(1, vec![upsert(1, 1, 0)])), second]);
    let both = recovered(&[1, 2], &[(1, row(1, 0)), (2, row(2, 0))]);
    assert_eq!(oracle.check_recovery(&both), Ok(()));
    oracle
}

#[test]
fn what_was_given_up_by_going_back_is_dead() {
    let (one, both) = (recovered(&[1], &[(1, row(1, 0))]), recovered(&[1, 2], &[(1, row(1, 0)), (2, row(2, 0))]));
    let mut oracle = two_lives();
    oracle.go_back(1).expect("no dependency is cut");
    assert_eq!(rejected(oracle.clone().check_recovery(&both)), Violation::Resurrected(TransactionId(2)));
    assert_eq!(
        rejected(oracle.clone().check_recovery(&recovered(&[], &[]))),
        Violation::RecoveredLost(TransactionId(1))
    );
    assert_eq!(oracle.check_recovery(&one), Ok(()));
    // Of this life, too, whatever it was told.
    oracle.finish(acknowledged(at(4, writer(4, vec![upsert(4, 4, 0)]))));
    oracle.go_back(3).expect("no dependency is cut");
    assert_eq!(oracle.check_recovery(&one), Ok(()));
}

#[test]
fn a_time_means_the_last_epoch_that_was_over_by_then() {
    let (one, both) = (recovered(&[1], &[(1, row(1, 0))]), recovered(&[1, 2], &[(1, row(1, 0)), (2, row(2, 0))]));
    let (time, late) = (Duration::from_secs(1), |id| Violation::Untimely { epoch: 1, id: TransactionId(id) });
    let mut oracle = two_lives();
    assert_eq!(oracle.check_time(time, 1, &one), Ok(()));
    assert_eq!(rejected(oracle.check_time(time, 1, &both)), late(2));
    let third = oracle.finish(Finished { since: time, ..at(3, writer(3, vec![])) });
    assert_eq!(oracle.check_time(Duration::from_secs(2), 2, &both), Ok(()));
    oracle.acknowledge(third, time);
    let given_up = rejected(oracle.check_time(Duration::from_secs(2), 2, &both));
    assert_eq!(given_up, Violation::Untimely { epoch: 2, id: TransactionId(3) });
}

fn drawn(value: i64) -> (Operation, Outcome) {
    (Operation::NextValue, Outcome::Value(Some(value)))
}

#[test]
fn a_value_is_given_once() {
    let created = || writer(1, vec![(Operation::CreateSequence(1), Outcome::Done), drawn(1)]);
    let aborted = |value| Finished { end: End::Aborted, ..acknowledged(reader(2, vec![drawn(value)])) };
    let right = [created(), aborted(3), acknowledged(reader(3, vec![drawn(5)]))];
    assert_eq!(oracle(right).check_run(), Ok(()));
    // Again, to one who aborts, to one who was told of it after somebody gave up, and backwards in one session.
    for wrong in [
        vec![created(), aborted(1)],
        vec![created(), aborted(3), reader(3, vec![drawn(3)])],
        vec![created(), aborted(3), reader(3, vec![drawn(2)])],
        vec![reader(1, vec![drawn(1)])],
    ] {
        assert!(matches!(oracle(wrong).check_run(), Err(Violation::Observation { .. })));
    }
    let other = Finished { session: 1, ..reader(3, vec![drawn(2)]) };
    assert_eq!(oracle([created(), aborted(3), other]).check_run(), Ok(()));
    // A sequence that is created anew begins anew.
    let dropped = writer(2, vec![(Operation::DropSequence, Outcome::Done)]);
    let anew = writer(3, vec![(Operation::CreateSequence(1), Outcome::Done), drawn(1)]);
    assert_eq!(oracle([created(), dropped, anew]).check_run(), Ok(()));
}

#[test]
fn what_was_told_of_a_value_is_promised() {
    let model = Model::with(Some(SequenceModel::default()));
    let found = |ids: &[u64]| Recovered { model: model.clone(), ..recovered(ids, &[]) };
    let history = |second: Finished| {
        let created = acknowledged(writer(1, vec![(Operation::CreateSequence(1), Outcome::Done)]));
        let mut oracle = oracle([created, second]);
        oracle.check_recovery(&found(&[1])).expect("recovered");
        oracle.finish(reader(3, vec![drawn(1)]));
        oracle.check_run()
    };
    assert_eq!(history(reader(2, vec![drawn(1)])), Ok(()), "nobody was promised anything");
    assert!(history(acknowledged(reader(2, vec![drawn(1)]))).is_err());
}

#[test]
fn an_index_with_other_rows_than_it_should_have_is_rejected() {
    let indexed = TableName::Indexed;
    let coded = |writer, code| Row { code, ..row(writer, 5) };
    let extra = TableName::Extra(0);
    let mut model = Model::default();
    let mut execution = model.begin();
    let index = |index| Operation::CreateIndex(indexed, index);
    assert_eq!(execution.apply(&index(IndexName::Added)), Outcome::Missing, "there is no such column");
    assert_eq!(execution.apply(&index(IndexName::Coded)), Outcome::Done);
    assert_eq!(execution.apply(&index(IndexName::Pairs)), Outcome::Done);
    for (key, code) in [(1, None), (2, Some(3)), (3, None), (4, Some(-1))] {
        let insert = Operation::Insert(indexed, Key(key), coded(u64::from(key), code));
        assert_eq!(execution.apply(&insert), Outcome::Done, "only rows with a code differ in their pairs");
    }
    let scan = |index, range| Operation::ScanPartial(indexed, index, range);
    let rows = |rows: &[(u16, i32)]| {
        Outcome::Rows(rows.iter().map(|&(key, code)| (Key(key), coded(u64::from(key), Some(code)))).collect())
    };
    let all = Range::all();
    assert_eq!(execution.apply(&scan(IndexName::Coded, all)), rows(&[(4, -1), (2, 3)]), "in the order of codes");
    let above = Range { low: Bound::Excluded(-1), ..all };
    assert_eq!(execution.apply(&scan(IndexName::Pairs, above)), rows(&[(2, 3)]));
    assert_eq!(execution.apply(&scan(IndexName::Added, all)), Outcome::Missing);

    for operation in [Operation::AddColumn(indexed), index(IndexName::Added)] {
        assert_eq!(execution.apply(&operation), Outcome::Done);
    }
    assert_eq!(execution.apply(&scan(IndexName::Added, all)), Outcome::Rows(Vec::new()), "rows from before have none");
    assert_eq!(execution.apply(&Operation::DropColumn(indexed)), Outcome::InUse);
    assert_eq!(execution.apply(&Operation::CreateTable(extra, Some(IndexName::Pairs))), Outcome::Done);
    let twins = [(None, 0, false), (None, 0, false), (Some(7), 0, false), (Some(7), 1, false), (Some(7), 0, true)];
    for (key, (code, team, is_duplicate)) in (0..).zip(twins) {
        let outcome = execution.apply(&Operation::Insert(extra, Key(key), Row { team, ..coded(1, code) }));
        assert_eq!(outcome == Outcome::Duplicate, is_duplicate, "{code:?} {team}: one row with a code has a pair");
    }
    execution.commit();

    let (operation, found, expected) = (scan(IndexName::Coded, all), rows(&[(2, 3)]), rows(&[(4, -1), (2, 3)]));
    let difference = Box::new(IndexDifference { operation, found, expected });
    let sound = recovered(&[1], &[(1, row(1, 10))]);
    let unsound = Recovered { index: Some(difference.clone()), ..sound.clone() };
    let oracle = oracle([acknowledged(writer(1, vec![upsert(1, 1, 10)]))]);
    assert_eq!(oracle.clone().check_recovery(&sound), Ok(()));
    assert_eq!(rejected(oracle.clone().check_recovery(&unsound)), Violation::Index(difference));
}
