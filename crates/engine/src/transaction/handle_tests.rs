//! The handles of definitions that others commit: a wait for one ends with the failure or the close of the database.

use std::thread;
use std::time::Duration;

use super::{Transaction, TransactionOptions};
use crate::catalog::procedure::{ProcedureKind, VersionKey};
use crate::catalog::sequence::Sequence;
use crate::config::Config;
use crate::database::Database;
use crate::error::{Error, LogError, LogFailure};
use crate::ids::ProcedureVersion;
use crate::table::{Schema, Type};
use crate::transaction::SequenceOptions;

/// Long enough that who does not wait has ended.
const WAIT: Duration = Duration::from_millis(30);

type Look = fn(&Transaction<'_>, &Sequence) -> Result<(), Error>;

/// All that wait for a handle, each with whether it reads a snapshot.
const LOOKS: [(&str, bool, Look); 6] = [
    ("table", false, |tx, _| tx.table("t").map(drop)),
    ("table_unvalidated", false, |tx, _| tx.table_unvalidated("t").map(drop)),
    ("table at a snapshot", true, |tx, _| tx.table("t").map(drop)),
    ("sequence", false, |tx, _| tx.sequence("s").map(drop)),
    ("procedure_definition", false, |tx, _| tx.procedure_definition("p").map(drop)),
    ("drop_sequence", false, |tx, handle| tx.drop_sequence(handle)),
];

/// Has a table, a sequence and a procedure, as if they had been committed and nobody were left to publish them.
fn unpublished(name: &str) -> (Database, Sequence) {
    let home = std::env::temp_dir().join(format!("osier-handles-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&home);
    let db = Database::open(Config::new(&home)).expect("opened");
    let schema = Schema::builder("t").column("id", Type::Int64).primary_key(["id"]).build().expect("a schema");
    let defined = db.run(|tx| -> Result<Sequence, Error> {
        tx.create_table(schema.clone())?;
        let of = VersionKey { id: tx.next_procedure_id(), version: ProcedureVersion(1) };
        tx.write_procedure("p", of, ProcedureKind::Declared, b"one")?;
        tx.create_sequence(&SequenceOptions::new("s"))
    });
    let (sequence, receipt) = defined.expect("definitions");
    receipt.wait().expect("durable");
    let mut session = db.session().expect("a session");
    let tx = session.begin();
    for (what, _, look) in LOOKS.into_iter().filter(|(_, is_at_snapshot, _)| !is_at_snapshot) {
        look(&tx, &sequence).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    let catalog = &tx.shared.catalog;
    catalog.open_tables.clear();
    catalog.open_sequences.clear();
    catalog.open_procedures.clear();
    drop(tx);
    drop(session);
    (db, sequence)
}

/// What each look says, which begins before `end` and does not end before it.
fn ended_by(name: &str, end: impl FnOnce(&Database)) -> Vec<(&'static str, LogError)> {
    let (db, sequence) = unpublished(name);
    let found = thread::scope(|scope| {
        let looks: Vec<_> = LOOKS
            .into_iter()
            .map(|(what, snapshot, look)| {
                let (mut session, sequence) = (db.session().expect("a session"), &sequence);
                let look = move || {
                    let options = TransactionOptions { snapshot, read_only: snapshot, ..TransactionOptions::default() };
                    look(&session.begin_with(options), sequence)
                };
                (what, scope.spawn(look))
            })
            .collect();
        thread::sleep(WAIT);
        for (what, look) in &looks {
            assert!(!look.is_finished(), "{what} waits for a handle");
        }
        end(&db);
        let looks = looks.into_iter().map(|(what, look)| match look.join().expect("no panic") {
            Err(Error::Log(error)) => (what, error),
            other => panic!("{what}: {other:?}"),
        });
        looks.collect()
    });
    let home = db.config().dirs[0].clone();
    drop(db);
    let _ = std::fs::remove_dir_all(home);
    found
}

#[test]
fn a_wait_for_a_handle_ends_with_the_failure_of_the_database() {
    let fail = |db: &Database| {
        let mut session = db.session().expect("a session");
        session.begin().shared.log.fail(LogFailure::Stopped("the test fails it".to_owned()));
    };
    for (what, error) in ended_by("failed", fail) {
        assert!(matches!(&error, LogError::Failed(_)), "{what}: {error}");
        assert!(error.to_string().contains("the test fails it") && error.sqlstate() == "XX000", "{what}: {error}");
    }
}

#[test]
fn a_wait_for_a_handle_ends_with_the_close_of_the_database() {
    for (what, error) in ended_by("closed", |db| db.close().expect("closed")) {
        assert!(matches!(&error, LogError::Closed), "{what}: {error}");
    }
}
