//! The rows of procedures: what a transaction sees, what it relies on, and what an open finds.

use std::path::PathBuf;

use crate::catalog::procedure::{ProcedureKind, VersionKey};
use crate::config::Config;
use crate::database::Database;
use crate::error::{Error, TransactionError};
use crate::ids::{ProcedureId, ProcedureVersion};
use crate::table::{KeyRange, Schema, Table, Type, Value};
use crate::transaction::Transaction;

struct World {
    home: PathBuf,
    db: Database,
}

impl World {
    fn new(name: &str) -> World {
        let home = std::env::temp_dir().join(format!("osier-procedures-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&home);
        World { db: Database::open(Config::new(&home)).expect("opened"), home }
    }

    fn reopened(self) -> World {
        let World { home, db } = self;
        db.close().expect("closed");
        drop(db);
        World { db: Database::open(Config::new(&home)).expect("opened again"), home }
    }

    fn table(&self) -> Table {
        let schema = Schema::builder("t").column("id", Type::Int64).primary_key(["id"]);
        self.db.create_table(schema.build().expect("a schema")).expect("a table")
    }

    /// Writes the next version of procedure `p`, created where there is none.
    fn replace(&self, definition: &[u8]) -> VersionKey {
        self.db.run(|tx| replace(tx, definition)).expect("a procedure").0
    }

    fn end(self) {
        self.db.close().expect("closed");
        drop(self.db);
        let _ = std::fs::remove_dir_all(self.home);
    }
}

fn replace(tx: &Transaction<'_>, definition: &[u8]) -> Result<VersionKey, Error> {
    let of = match tx.procedure_definition("p")? {
        Some((current, _)) => {
            let VersionKey { id, version } = current.version();
            VersionKey { id, version: ProcedureVersion(version.0 + 1) }
        }
        None => VersionKey { id: tx.next_procedure_id(), version: ProcedureVersion(1) },
    };
    tx.write_procedure("p", of, ProcedureKind::Declared, definition)?;
    Ok(of)
}

fn current(tx: &Transaction<'_>) -> Result<Option<Vec<u8>>, Error> {
    Ok(tx.procedure_definition("p")?.map(|(_, found)| found.definition))
}

#[test]
fn every_version_is_kept_and_the_last_one_counts() {
    let world = World::new("versions");
    let (one, two) = (world.replace(b"one"), world.replace(b"two"));
    assert_eq!((one.id, two.version), (two.id, ProcedureVersion(2)));
    let world = world.reopened();
    let ((), _) = world
        .db
        .run(|tx| -> Result<(), Error> {
            assert_eq!(current(tx)?, Some(b"two".to_vec()));
            let first = tx.procedure_version(one)?.expect("the first version");
            assert_eq!((first.kind, &first.definition[..]), (ProcedureKind::Declared, &b"one"[..]));
            assert_eq!(tx.procedure_version(VersionKey { version: ProcedureVersion(3), ..one })?, None);
            assert!(tx.erase_procedure("p")? && !tx.erase_procedure("p")?);
            assert_eq!(current(tx)?, None);
            assert!(tx.procedure_version(two)?.is_some(), "versions stay");
            Ok(())
        })
        .expect("dropped");
    // An id is never given again, also where nothing but versions says that it was.
    let world = world.reopened();
    assert!(world.replace(b"another").id > one.id);
    world.end();
}

/// The first use in a session reads the row, the later ones take the session's word for it: all of them notice the change.
#[test]
fn who_uses_a_version_conflicts_with_who_replaces_it() {
    let world = World::new("conflict");
    let table = world.table();
    world.replace(b"at first");
    let mut session = world.db.session().expect("a session");
    for uses_before in 0..3 {
        let (compiled, _) = world.db.run(|tx| tx.procedure_definition("p")).expect("a look").0.expect("it is there");
        for _ in 0..uses_before {
            assert!(session.run(|tx| tx.use_definition(&compiled)).expect("a use").0);
        }
        let tx = session.begin();
        assert!(tx.use_definition(&compiled).expect("a use"));
        tx.upsert(&table, &[Value::Int(1)]).expect("a row");
        world.replace(b"later");
        let error = tx.commit().expect_err("it ran what was replaced");
        assert!(error.is_conflict(), "{uses_before}: {error}");
        assert!(!session.run(|tx| tx.use_definition(&compiled)).expect("a look").0, "it is out of date");
    }
    drop(session);
    world.end();
}

#[test]
fn a_transaction_sees_its_own_versions() {
    let world = World::new("own");
    world.replace(b"one");
    let mut session = world.db.session().expect("a session");
    let tx = session.begin();
    let savepoint = tx.savepoint();
    replace(&tx, b"two").expect("replaced");
    assert_eq!(current(&tx).expect("a look"), Some(b"two".to_vec()));
    let (own, _) = tx.procedure_definition("p").expect("a look").expect("its own");
    assert!(tx.use_definition(&own).expect("a use"));
    tx.rollback_to(savepoint).expect("rolled back");
    assert!(!tx.use_definition(&own).expect("a use"), "it is gone");
    assert_eq!(current(&tx).expect("a look"), Some(b"one".to_vec()));
    replace(&tx, b"three").expect("replaced");
    let (own, _) = tx.procedure_definition("p").expect("a look").expect("its own");
    tx.commit().expect("committed");
    // What was compiled within the transaction is good afterwards.
    assert!(session.run(|tx| tx.use_definition(&own)).expect("a use").0);
    drop(session);
    world.end();
}

#[test]
fn names_of_the_catalog_are_refused() {
    let world = World::new("reserved");
    let of = VersionKey { id: ProcedureId(1), version: ProcedureVersion(1) };
    let error = world.db.run(|tx| tx.write_procedure("osier_p", of, ProcedureKind::Opaque, b"").map(drop));
    assert!(matches!(error, Err(Error::Transaction(TransactionError::ReservedName { .. }))), "{error:?}");
    let rows = world
        .db
        .run(|tx| -> Result<usize, Error> { Ok(tx.scan(&tx.table("osier_procedures")?, KeyRange::all())?.count()) });
    assert_eq!(rows.expect("a scan").0, 0);
    world.end();
}
