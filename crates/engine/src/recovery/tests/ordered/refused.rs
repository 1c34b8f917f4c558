//! Commands that do not do what they did, and logs in which there should be none.

use std::sync::Arc;

use osier_memory::Epochs;

use super::shop::{ADD, MULTIPLY, Procedures, Shop, TOUCH, call, command, contents, row, run, schema};
use crate::catalog::Catalog;
use crate::config::{CheckpointKind, Config, Logged, Protocol};
use crate::database::Database;
use crate::directory::manifest::{CheckpointEntry, Manifest};
use crate::error::{DivergedRow, Error, LogError, RecoveryError};
use crate::ids::{Epoch, ProcedureId, ProcedureVersion, Stamp};
use crate::log::CommitLog;
use crate::log::format::payload::command::Command;
use crate::log::protocol::replayed::ReplayedStamp;
use crate::operate::inspect::{self, Detail};
use crate::operate::salvage::salvage;
use crate::recovery::base::Base;
use crate::recovery::{CommandError, CommandReplayer, find_generations, ordered};
use crate::table::store::Store;
use crate::table::{Argument, Value};
use crate::transaction::shared::Shared;
use crate::transaction::{Session, Transaction};

/// A log with a call of each kind: (1, 4), * 3 with the hash of what it wrote, and + 1.
fn shop() -> Shop {
    let (shop, db) = Shop::with_counters();
    let mut session = db.session().unwrap();
    call(&mut session, ADD, &[1, 4]);
    call(&mut session, MULTIPLY, &[1, 3]);
    call(&mut session, ADD, &[1, 1]);
    call(&mut session, MULTIPLY, &[2, 3]).wait().unwrap();
    shop.crashed()
}

fn refused(shop: &Shop, procedures: Procedures) -> RecoveryError {
    match shop.open_by(procedures) {
        Err(Error::Recovery(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(db) => panic!("{:?}", contents(&db)),
    }
}

#[test]
fn a_command_that_does_otherwise_is_named_and_nothing_is_lost() {
    let shop = shop();
    let expected = contents(&shop.crashed().open());
    let cases = [
        (Procedures::Otherwise, "it wrote rows of hash"),
        (Procedures::Failing, "it failed: table `nowhere` does not exist"),
        (Procedures::Idle, "it wrote nothing, and had written something"),
    ];
    for (procedures, what) in cases {
        let shop = shop.crashed();
        for _ in 0..2 {
            let error = refused(&shop, procedures);
            let text = error.to_string();
            let RecoveryError::Diverged { procedure, version, ref arguments, .. } = error else { panic!("{text}") };
            assert_eq!((procedure, version, &**arguments), (ProcedureId(MULTIPLY), ProcedureVersion(1), "1, 3"));
            assert!(text.contains(what) && text.contains("procedure 2 version 1 (1, 3)"), "{text}");
            let RecoveryError::Diverged { ref row, .. } = error else { unreachable!() };
            let now = "(1, 15, 'a row of more than a few bytes')".to_owned();
            let named = DivergedRow { table: "counter".to_owned(), key: "(id)=(1)".to_owned(), now: Some(now) };
            let expected = (procedures == Procedures::Otherwise).then_some(named);
            assert_eq!(row.as_deref(), expected.as_ref(), "{text}");
            assert_eq!(error.sqlstate(), "XX001");
        }
        assert_eq!(contents(&shop.open()), expected, "the log is what it was");
    }
}

#[test]
fn a_procedure_that_is_missing_is_named_with_the_number_of_its_calls() {
    let shop = shop();
    let error = refused(&shop, Procedures::Unknown);
    let text = error.to_string();
    assert!(matches!(error, RecoveryError::MissingProcedure { commands: 2, procedure: ProcedureId(MULTIPLY), .. }));
    assert!(text.contains("no procedure 2 with version 1, and 2 transactions"), "{text}");
    assert_eq!(error.sqlstate(), "42883");
    // No program knows any yet.
    let Err(Error::Recovery(error)) = Database::open(shop.config.clone()) else { panic!("it opened") };
    assert!(
        matches!(error, RecoveryError::MissingProcedure { commands: 2, procedure: ProcedureId(ADD), .. }),
        "{error}"
    );
    assert_eq!(contents(&shop.open())["counter"].len(), 2);
}

/// Writes rows of these numbers, each with the same.
struct Writes<'i>(&'i [i64], i64);

impl CommandReplayer for Writes<'_> {
    fn replay(&mut self, transaction: &Transaction<'_>, _: &Command<'_>) -> Result<(), CommandError> {
        let table = transaction.table("counter")?;
        Ok(self.0.iter().try_for_each(|id| transaction.insert(&table, &row(*id, self.1)))?)
    }
}

/// Rows in the order of their keys, whatever order they are written in.
#[test]
fn the_first_row_that_differs_is_named_whatever_the_order() {
    let logged = |ids: &[i64]| {
        let (shop, db) = Shop::with_counters();
        let ids: Vec<_> = ids.iter().map(|id| Value::Int(*id)).collect();
        run(&mut db.session().unwrap(), &command(TOUCH, &[Argument::Array(ids)]), true).unwrap().wait().unwrap();
        shop
    };
    // `TOUCH` writes 1.
    let told_of =
        |shop: &Shop, ids: &[i64], n| match Database::open_replaying(shop.crashed().config, &mut Writes(ids, n)) {
            Err(Error::Recovery(RecoveryError::Diverged { what, row, .. })) => (what, row.map(|row| row.key)),
            other => panic!("{:?}", other.map(drop)),
        };
    let told = |shop: &Shop, ids: &[i64]| told_of(shop, ids, 1);
    let padding = "'a row of more than a few bytes'";
    let shop = logged(&[9, 1, 5]);
    let (what, key) = told_of(&shop, &[5, 9, 1], 2);
    assert!(what.contains("it wrote 3 rows, and had written 3 rows: the first that differs, 1, is (id)=(1)"), "{what}");
    assert!(what.ends_with(&format!("of table `counter`, which holds (1, 2, {padding})")), "{what}");
    assert_eq!(key.as_deref(), Some("(id)=(1)"));

    let (what, key) = told(&shop, &[9, 7, 1, 5]);
    assert!(
        what.contains("the first that differs, 3, is (id)=(7)") && what.contains("was not written before"),
        "{what}"
    );
    assert_eq!(key.as_deref(), Some("(id)=(7)"));
    let (what, key) = told(&shop, &[9, 1]);
    assert!(what.contains("the first that differs, 2, is (id)=(9)"), "{what}");
    assert!(
        what.contains("it wrote 2 rows, and had written 3 rows") && what.contains("1 row before it missing"),
        "{what}"
    );
    assert_eq!(key.as_deref(), Some("(id)=(9)"));
    let (what, key) = told(&shop, &[1, 5]);
    assert!(what.ends_with("those behind (id)=(5) of table `counter` are missing"), "{what}");
    assert_eq!(key, None);
    // Of many rows there is the hash alone.
    let many: Vec<_> = (0..256).collect();
    let (what, key) = told(&logged(&many), &many[1..]);
    assert!(what.ends_with("of more than 255 rows none is named"), "{what}");
    assert_eq!(key, None);
    let (what, key) = told(&logged(&many[1..]), &many[2..]);
    assert!(what.contains("the first that differs, 1, is (id)=(2)"), "{what}");
    assert_eq!(key.as_deref(), Some("(id)=(2)"));
}

/// A transaction that rests on what does not come before it is not the one that was logged.
#[test]
fn a_transaction_that_rests_on_another_of_its_stamp_is_refused() {
    let (stamp, store) = (Arc::new(ReplayedStamp::new(1)), Store::new(Epochs::new(8)));
    let (catalog, log) = (Catalog::new(&store).unwrap(), CommitLog::replaying(&stamp));
    let config = Config { sessions_max: 4, ..Config::new("/db").protocol(Protocol::None) };
    let mut session =
        Session::new(Arc::new(Shared::new(config, store, catalog, log, Arc::new(crate::call::Procedures::new()))))
            .unwrap();
    let define = |tx: &Transaction<'_>| tx.create_table(schema());
    stamp.set(Stamp(10));
    let (table, receipt) = session.run(define).unwrap();
    assert_eq!(receipt.stamp(), Stamp(10));
    let refused = session.run(|tx| tx.insert(&table, &row(1, 1))).map(drop).unwrap_err();
    let of = (Stamp(10), Stamp(10));
    assert!(matches!(refused, Error::Log(LogError::OutOfOrder { stamp, base }) if (stamp, base) == of), "{refused}");
    assert!(refused.to_string().contains("rests on a row of transaction 10"), "{refused}");
    stamp.set(Stamp(11));
    let ((), receipt) = session.run(|tx| tx.insert(&table, &row(1, 1))).unwrap();
    assert_eq!(receipt.stamp(), Stamp(11), "nothing of it took effect before");
}

/// The manifest says that a generation logs values: a command in it is damage, and no value machine meets it.
#[test]
fn a_command_where_values_are_logged_is_damage() {
    let shop = shop();
    let home = shop.config.dirs[0].clone();
    let mut manifest = Manifest::load(&shop.disk, &home, &[]).unwrap().unwrap();
    assert_eq!(manifest.current.logged, Logged::Commands);
    manifest.current.logged = Logged::Values;
    manifest.store(&shop.disk, &home).unwrap();
    let error = refused(&shop, Procedures::Sound);
    assert!(matches!(&error, RecoveryError::Damaged { what, .. } if what.contains("holds a command")), "{error}");
}

#[test]
fn a_fuzzy_checkpoint_of_commands_is_refused_and_one_from_before_is_not() {
    let shop = shop();
    let (disk, home) = (&shop.disk, shop.config.dirs[0].as_path());
    let manifest = Manifest::load(disk, home, &[]).unwrap().unwrap();
    let generations = find_generations(disk, home, &manifest, Epoch(u64::MAX)).unwrap();
    let base = |kind, max_seen| Base {
        checkpoint: Some(CheckpointEntry {
            number: 1,
            kind,
            boundary: 0,
            max_seen,
            max_epoch: Epoch(1),
            taken_seconds: 0,
            rows: 0,
            raw_bytes: 0,
            parts: Vec::new(),
        }),
    };
    let floor = manifest.current.floor;
    let expect = |base| ordered::expect_base(&base, &generations, home);
    let error = expect(base(CheckpointKind::Fuzzy, floor.next())).unwrap_err().to_string();
    assert!(error.contains("checkpoint 1 is fuzzy"), "{error}");
    expect(base(CheckpointKind::Fuzzy, floor)).unwrap();
    expect(base(CheckpointKind::Epoch, Stamp(77))).unwrap();
    let mut config = shop.config.clone();
    config.checkpoint_kind = CheckpointKind::Fuzzy;
    assert!(config.check().is_err());
}

/// Were a fuzzy checkpoint a base, a command that the log holds behind RSN would be run upon what it wrote. The order of stamps
/// shows that, too.
#[cfg(feature = "mutations")]
#[test]
fn a_command_upon_a_fuzzy_checkpoint_meets_what_it_wrote() {
    use std::time::Duration;

    use crate::failpoint::{Mutation, simulated::build_in};

    build_in(&[Mutation::FuzzyBaseTaken]);
    let mut shop = Shop::new();
    shop.config.checkpoint_kind = CheckpointKind::Fuzzy;
    // What is called last is not durable yet when the checkpoint begins.
    shop.config.group_commit_interval = Duration::from_millis(300);
    let db = shop.open();
    db.create_table(schema()).unwrap();
    let mut session = db.session().unwrap();
    call(&mut session, ADD, &[1, 4]).wait().unwrap();
    let arguments = [Argument::from(1_i64), Argument::from(3_i64)];
    run(&mut session, &command(MULTIPLY, &arguments), false).unwrap();
    db.checkpoint().unwrap();
    let mut crashed = shop.crashed();
    let error = refused(&crashed, Procedures::Sound);
    let RecoveryError::Diverged { procedure: ProcedureId(MULTIPLY), what, .. } = &error else { panic!("{error}") };
    assert!(what.contains("rests on a row of transaction"), "{error}");
    build_in(&[]);

    assert!(crashed.config.check().is_err());
    crashed = shop.crashed();
    crashed.config.checkpoint_kind = CheckpointKind::Epoch;
    let error = refused(&crashed, Procedures::Sound).to_string();
    assert!(error.contains("is fuzzy"), "{error}");
}

#[test]
fn salvage_says_that_it_cannot_run_commands() {
    let shop = shop();
    let target = |name: &str| Config { dirs: vec![name.into()], ..shop.config.clone() };
    let error = salvage(&shop.config, target("/consistent"), false).unwrap_err();
    assert!(matches!(error, Error::Recovery(RecoveryError::MissingProcedure { .. })), "{error}");
    let report = salvage(&shop.config, target("/rows"), true).unwrap();
    assert_eq!((report.commands, report.records, report.replayed), (4, 5, 1), "{report}");
    assert!(report.to_string().contains("4 transactions logged as commands"), "{report}");
}

#[test]
fn a_dump_and_a_verification_know_commands() {
    let shop = shop();
    let mut out = Vec::new();
    assert_eq!(inspect::dump(&shop.config, Detail::Records, &mut out).unwrap(), 0);
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains("serial, commands, 1 stream"), "{out}");
    assert!(out.contains("procedure 2 version 1 (1, 3), hash "), "{out}");
    assert!(out.contains(", 2 arguments"), "{out}");
    let report = inspect::verify(&shop.config).unwrap();
    assert_eq!((report.records(), report.generations[0].commands), (5, 4), "{report}");
    assert!(report.to_string().contains("4 of them commands"), "{report}");
}

/// Multiplies another row.
struct Elsewhere;

impl CommandReplayer for Elsewhere {
    fn replay(&mut self, transaction: &Transaction<'_>, command: &Command<'_>) -> Result<(), CommandError> {
        if command.procedure == ProcedureId(MULTIPLY) {
            return Ok(transaction.insert(&transaction.table("counter")?, &row(31, 1))?);
        }
        Procedures::Sound.replay(transaction, command)
    }
}

/// A command does nothing to a row that a later transaction changed: the hash tells, and where there is none, the change does.
#[test]
fn a_change_of_a_row_without_its_base_is_named() {
    for with_hash in [true, false] {
        let (shop, db) = Shop::with_counters();
        let table = db.table("counter").unwrap();
        let n = table.column("n").unwrap();
        let arguments = [Argument::from(30_i64), Argument::from(3_i64)];
        run(&mut db.session().unwrap(), &command(MULTIPLY, &arguments), with_hash).unwrap();
        let change = |tx: &Transaction<'_>| tx.update(&table, &[Value::Int(30)], &[(n, Value::Int(9))]).map(drop);
        db.run(change).unwrap().1.wait().unwrap();
        let Err(Error::Recovery(error)) = Database::open_replaying(shop.crashed().config, &mut Elsewhere) else {
            panic!("it opened")
        };
        match &error {
            RecoveryError::Diverged { .. } => assert!(with_hash, "{error}"),
            RecoveryError::MissingVersion { table, .. } => assert!(!with_hash && table == "counter", "{error}"),
            _ => panic!("{error}"),
        }
    }
}
