//! Calls that take turns on one thread: each is a transaction of its own, whatever the others do.

use osier::call::Call;
use osier::config::Logged;
use osier::procedure::program::Program;
use osier::table::{Argument, Datum, KeyRange, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, Transaction, TransactionOptions};

mod support;

const ACCOUNTS: i64 = 2000;

const MOVE: &str = "
procedure move_cents(source bigint, target bigint, cents bigint) returns (remains bigint) {
    update accounts (source) as payer set cents = payer.cents - cents;
    update accounts (target) as payee set cents = payee.cents + cents else {
        abort 'P0002' 'there is no account ' || target;
    }
    return payer.cents - cents;
}";

fn open(config: Config) -> Database {
    let db = Database::open(config).expect("a database");
    if db.table("accounts").is_err() {
        let schema = Schema::builder("accounts").column("id", Type::Int64).column("cents", Type::Int64);
        let table = db.create_table(schema.primary_key(["id"]).build().expect("a schema")).expect("a table");
        let fill = |tx: &Transaction<'_>| {
            (0..ACCOUNTS).try_for_each(|id| tx.insert(&table, &[Value::Int(id), Value::Int(100)]))
        };
        db.run(fill).expect("rows").1.wait().expect("durable");
        db.create_procedure(&Program::parse(MOVE).expect("a program")).expect("a procedure");
    }
    db
}

fn balances(db: &Database) -> Vec<i64> {
    let table = db.table("accounts").expect("the table");
    let read = |tx: &Transaction<'_>| {
        let rows = tx.scan(&table, KeyRange::all())?;
        rows.map(|row| Ok(row?.int(osier::table::ColumnId(1)))).collect::<Result<Vec<_>, Error>>()
    };
    db.run(read).expect("rows").0
}

/// Batches in which nearly all calls conflict, and one without conflicts.
#[test]
fn calls_of_a_batch_are_transactions_of_their_own() {
    let home = support::directory("interleaved", "batches");
    let config = || support::config(&home, Protocol::Gsn, 2).logged(Logged::Commands).command_hash_interval(1);
    let mut expected = vec![100; ACCOUNTS as usize];
    {
        let db = open(config());
        let mut session = db.session().expect("a session");
        for batch in 0..60_i64 {
            let hot = if batch % 3 == 0 { 5 } else { ACCOUNTS };
            let pair = |call: i64| ((call * 7 + batch) % hot, (call * 11 + 3) % hot);
            let arguments: Vec<[Argument<'_>; 3]> = (0..64)
                .map(|call| {
                    let (source, target) = pair(call);
                    [source.into(), target.into(), (call % 4).into()]
                })
                .collect();
            let calls: Vec<_> = arguments.iter().map(|arguments| Call { procedure: "move_cents", arguments }).collect();
            let ended = session.call_all(TransactionOptions::default(), &calls);
            assert_eq!(ended.len(), calls.len());
            for (call, ended) in (0..).zip(ended) {
                let (output, receipt) = ended.expect("a transfer");
                assert!(matches!(output.value("remains"), Datum::Int(_)));
                receipt.wait().expect("durable");
                let (source, target) = pair(call);
                expected[source as usize] -= call % 4;
                expected[target as usize] += call % 4;
            }
        }
        assert_eq!(balances(&db), expected);
        drop(session);
        db.close().expect("closed");
    }
    let db = open(config());
    assert!(db.recovery().is_some_and(|report| report.commands > 1000));
    assert_eq!(balances(&db), expected, "a log of what was interleaved brings it back");
}

#[test]
fn an_error_is_that_of_its_call() {
    // With 4, a batch gets fewer sessions than it asks for.
    for sessions_max in [4, 64] {
        let home = support::directory("interleaved", "errors");
        let db = open(support::config(&home, Protocol::Poplar, 1).sessions_max(sessions_max));
        errors_are_those_of_their_calls(&db);
    }
}

fn errors_are_those_of_their_calls(db: &Database) {
    let mut session = db.session().expect("a session");
    let arguments: Vec<[Argument<'_>; 3]> =
        (0..40).map(|call: i64| [call.into(), (if call % 10 == 0 { -1 } else { call + 1 }).into(), 1.into()]).collect();
    let calls: Vec<_> = arguments.iter().map(|arguments| Call { procedure: "move_cents", arguments }).collect();
    for _ in 0..8 {
        let ended = session.call_all(TransactionOptions::default(), &calls);
        for (call, ended) in ended.iter().enumerate() {
            match ended {
                Ok(_) => assert_ne!(call % 10, 0),
                Err(error) => assert_eq!((call % 10, error.sqlstate()), (0, "P0002"), "{error}"),
            }
        }
    }
    assert_eq!(balances(db).iter().sum::<i64>(), 100 * ACCOUNTS);
    assert!(session.call_all(TransactionOptions::default(), &[]).is_empty());
}
