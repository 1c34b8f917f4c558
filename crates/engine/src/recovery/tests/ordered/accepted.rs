//! Commands that do something else, which whoever opens the database accepts.

use super::shop::{ADD, APPEND, MULTIPLY, Procedures, Shop, TOUCH, call, command, contents, row, run};
use crate::database::Database;
use crate::error::{Error, RecoveryError};
use crate::ids::{ProcedureId, Stamp};
use crate::log::format::payload::command::Command;
use crate::recovery::{AcceptedDivergence, CommandError, CommandReplayer};
use crate::table::{Argument, Value};
use crate::transaction::Transaction;

/// A log with (1, 4), * 3, + 1, and 3 at 2, and the stamps of these calls.
fn logged() -> (Shop, [Stamp; 4]) {
    let (shop, db) = Shop::with_counters();
    let mut session = db.session().unwrap();
    let calls = [(ADD, [1, 4]), (MULTIPLY, [1, 3]), (ADD, [1, 1]), (MULTIPLY, [2, 3])];
    let stamps = calls.map(|(procedure, arguments)| {
        let receipt = call(&mut session, procedure, &arguments);
        receipt.wait().unwrap();
        receipt.stamp()
    });
    (shop.crashed(), stamps)
}

/// Opens `shop` and accepts divergence from `from` on.
fn accepting(shop: &Shop, from: Stamp, replayer: &mut dyn CommandReplayer) -> Result<Database, Error> {
    Database::open_replaying(shop.config.clone().accept_divergence(from), replayer)
}

fn counters(db: &Database) -> Vec<String> {
    let short = |row: &String| row.split(" 'a row").next().unwrap_or_default().to_owned();
    contents(db)["counter"].iter().map(short).collect()
}

fn stamps(accepted: &[AcceptedDivergence]) -> Vec<(Stamp, bool)> {
    accepted.iter().map(|accepted| (accepted.stamp, accepted.counts)).collect()
}

/// [`MULTIPLY`] does something else whenever it runs.
#[derive(Default)]
struct Drifts(i64);

impl CommandReplayer for Drifts {
    fn replay(&mut self, transaction: &Transaction<'_>, command: &Command<'_>) -> Result<(), CommandError> {
        if command.procedure == ProcedureId(MULTIPLY) {
            self.0 += 1;
            let Argument::Scalar(Value::Int(id)) = command.arguments[0] else { panic!("{command}") };
            return Ok(transaction.upsert(&transaction.table("counter")?, &row(id, 100 * self.0))?);
        }
        Procedures::Sound.replay(transaction, command)
    }
}

fn diverged(opened: Result<Database, Error>) -> (Stamp, String) {
    match opened {
        Err(Error::Recovery(error @ RecoveryError::Diverged { stamp, .. })) => (stamp, error.to_string()),
        Err(other) => panic!("{other}"),
        Ok(db) => panic!("{:?}", contents(&db)),
    }
}

#[test]
fn what_a_command_does_now_counts_and_is_asked_for_once() {
    let (shop, [_, second, third, fourth]) = logged();
    let mut drifts = Drifts::default();
    let (stamp, told) = diverged(Database::open_replaying(shop.config.clone(), &mut drifts));
    assert_eq!(stamp, second);
    let ways = [format!("osier recover --accept-divergence {second}"), "osier recover --until ".to_owned()];
    assert!(ways.iter().all(|way| told.contains(way)), "{told}");
    // It is the first one, and from a later one on nothing of that is accepted.
    assert_eq!(diverged(accepting(&shop, third, &mut drifts)).0, second);

    let db = accepting(&shop, second, &mut drifts).unwrap();
    let expected = counters(&db);
    assert_eq!(expected, ["1 301", "2 400"]);
    let report = db.recovery().unwrap();
    assert_eq!(stamps(&report.accepted), [(second, true), (third, true), (fourth, true)], "{report}");
    let line = format!("accepted transaction {second} of epoch");
    let text = report.to_string();
    assert!(text.contains(&line) && text.contains("procedure 2 version 1 (1, 3): it wrote rows of hash"), "{text}");
    assert!(text.contains("(id)=(1) of table `counter`, which holds (1, 300,"), "{text}");
    assert!(text.contains("what it does now counts"), "{text}");
    call(&mut db.session().unwrap(), ADD, &[1, 1]).wait().unwrap();

    // Whatever the procedures do by now: nobody comes to these calls again.
    for shop in [shop.crashed(), shop.crashed().crashed()] {
        let db = Database::open_replaying(shop.config.clone(), &mut drifts).unwrap();
        assert_eq!(counters(&db), ["1 302", "2 400"]);
        assert!(db.recovery().unwrap().accepted.is_empty());
    }
}

/// Where no command diverges the setting changes nothing, and costs no checkpoint.
#[test]
fn nothing_is_accepted_where_nothing_diverges() {
    let (shop, [first, ..]) = logged();
    let expected = contents(&shop.crashed().open());
    let db = accepting(&shop, first, &mut Procedures::Sound).unwrap();
    assert_eq!(contents(&db), expected);
    assert!(db.recovery().unwrap().accepted.is_empty());
    assert_eq!(db.metrics().checkpoints.taken, 0);
}

#[test]
fn of_a_command_that_fails_or_does_nothing_now_nothing_counts() {
    for (procedures, what) in [
        (Procedures::Failing, "it failed: table `nowhere` does not exist"),
        (Procedures::Idle, "it wrote nothing, and had written something"),
    ] {
        let (shop, [_, second, third, fourth]) = logged();
        let mut replayer = procedures;
        let db = accepting(&shop, second, &mut replayer).unwrap();
        assert_eq!(counters(&db), ["1 5"]);
        let report = db.recovery().unwrap();
        assert_eq!(stamps(&report.accepted), [(second, false), (third, true), (fourth, false)], "{report}");
        let text = report.to_string();
        assert!(text.contains(what) && text.contains("; nothing of it counts"), "{text}");
        assert_eq!(counters(&shop.crashed().open()), ["1 5"]);
    }
}

#[test]
fn a_procedure_that_is_missing_is_never_accepted() {
    let (shop, [first, ..]) = logged();
    let Err(Error::Recovery(error)) = accepting(&shop, first, &mut Procedures::Unknown) else { panic!("it opened") };
    assert!(matches!(error, RecoveryError::MissingProcedure { commands: 2, .. }), "{error}");
    assert_eq!(counters(&shop.open()), ["1 13", "2 3"], "the log is what it was");
}

/// Defines a table.
struct Defines;

impl CommandReplayer for Defines {
    fn replay(&mut self, transaction: &Transaction<'_>, command: &Command<'_>) -> Result<(), CommandError> {
        if command.procedure == ProcedureId(MULTIPLY) {
            transaction.create_table(super::shop::named("other").build().map_err(Error::from)?)?;
        }
        Procedures::Sound.replay(transaction, command)
    }
}

#[test]
fn a_command_that_changes_definitions_now_is_never_accepted() {
    let (shop, [first, second, ..]) = logged();
    let (stamp, told) = diverged(accepting(&shop, first, &mut Defines));
    assert_eq!(stamp, second);
    assert!(!told.contains("--accept-divergence") && told.contains("--until"), "{told}");
}

/// A crash at any step between the acceptance and the checkpoint leaves either a database that asks again, or what was accepted,
/// which every later open finds.
#[test]
fn a_crash_before_the_checkpoint_asks_again() {
    let (shop, [_, second, ..]) = logged();
    let (mut asked, mut steps) = (0, 0);
    loop {
        let shop = shop.crashed();
        shop.disk.fail_after(steps);
        let opened = accepting(&shop, second, &mut Drifts::default()).map(|db| counters(&db));
        let mut drifts = Drifts(10);
        let after = shop.crashed();
        match Database::open_replaying(after.config.clone(), &mut drifts) {
            Ok(db) => {
                // The open may have failed when its checkpoint was durable already.
                assert_eq!(
                    counters(&db),
                    opened.as_ref().cloned().unwrap_or_else(|_| vec!["1 101".into(), "2 200".into()])
                );
                assert!(db.recovery().unwrap().accepted.is_empty());
            }
            Err(Error::Recovery(RecoveryError::Diverged { stamp, .. })) => {
                assert!(opened.is_err(), "after {steps} steps the database was given away without a checkpoint");
                assert_eq!(stamp, second);
                asked += 1;
                let db = accepting(&after, second, &mut drifts).unwrap();
                assert_eq!(counters(&db), ["1 1201", "2 1300"]);
            }
            Err(other) => panic!("after {steps} steps: {other}"),
        }
        if opened.is_ok() {
            break;
        }
        steps += 1;
    }
    assert!(asked > 15, "only {asked} of {steps} crashes came before the checkpoint");
}

/// What changed in a row is applied to the version that it changed and to no other one: neither to one that is not there, nor to
/// one that holds something else.
#[test]
fn a_change_of_what_is_uncertain_is_refused() {
    // Directly, and through a command without a hash that has read what is different.
    for (is_read, procedures) in
        [(false, Procedures::Otherwise), (true, Procedures::Otherwise), (false, Procedures::Failing)]
    {
        let (shop, db) = Shop::with_counters();
        let mut session = db.session().unwrap();
        call(&mut session, ADD, &[1, 4]);
        let first = call(&mut session, MULTIPLY, &[1, 3]).stamp();
        if is_read {
            run(&mut session, &command(APPEND, &[]), false).unwrap();
        }
        let table = db.table("counter").unwrap();
        let (n, id) = (table.column("n").unwrap(), if is_read { 2 } else { 1 });
        let change = |tx: &Transaction<'_>| tx.update(&table, &[Value::Int(id)], &[(n, Value::Int(9))]).map(drop);
        let receipt = db.run(change).unwrap().1;
        receipt.wait().unwrap();
        let mut replayer = procedures;
        let shop = shop.crashed();
        let Err(Error::Recovery(error)) = accepting(&shop, first, &mut replayer) else { panic!("it opened") };
        let RecoveryError::Unacceptable { stamp, from, .. } = error else { panic!("{error}") };
        assert_eq!((stamp, from), (receipt.stamp(), first), "{error}");
        let told = error.to_string();
        assert!(told.contains(&format!("(id)=({id})")) && told.contains("`counter`"), "{told}");
        assert!(told.contains(&format!("--accept-divergence {first} --until")), "{told}");
    }
}

/// Images of rows fit whatever was there, and so do changes of rows that images and commands with equal hashes made.
#[test]
fn values_that_rest_on_nothing_uncertain_take_their_place() {
    let (shop, db) = Shop::with_counters();
    let mut session = db.session().unwrap();
    call(&mut session, ADD, &[1, 4]);
    let first = call(&mut session, MULTIPLY, &[1, 3]).stamp();
    let table = db.table("counter").unwrap();
    let n = table.column("n").unwrap();
    let set = |id: i64, to: i64| {
        db.run(|tx| tx.update(&table, &[Value::Int(id)], &[(n, Value::Int(to))]).map(drop)).unwrap();
    };
    db.run(|tx| tx.upsert(&table, &row(1, 50))).unwrap();
    set(1, 51);
    call(&mut session, ADD, &[7, 7]);
    set(7, 8);
    let ids = [Value::Int(7), Value::Int(8)];
    run(&mut session, &command(TOUCH, &[Argument::Array(ids.to_vec())]), true).unwrap().wait().unwrap();
    let expected = contents(&db);
    let db = accepting(&shop.crashed(), first, &mut Procedures::Otherwise).unwrap();
    assert_eq!(contents(&db), expected);
    assert_eq!(stamps(&db.recovery().unwrap().accepted), [(first, true)]);
}
