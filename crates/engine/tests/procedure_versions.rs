//! Versions of procedures: which are kept and for how long, and that no recovery misses one that was collected.

use std::path::Path;

use osier::config::Logged;
use osier::procedure::program::Program;
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Config, Create, Database, Error, Protocol};

#[path = "support/copying.rs"]
mod copying;
mod support;

const PROTOCOLS: [Protocol; 3] = [Protocol::Serial, Protocol::Gsn, Protocol::Taurus];

fn config(home: &Path, protocol: Protocol) -> Config {
    let streams = if protocol == Protocol::Serial { 1 } else { 2 };
    support::config(home, protocol, streams).logged(Logged::Commands).command_hash_interval(1)
}

/// A procedure that adds a row and says which version it is.
fn program(version: i64) -> Program {
    let text = format!("procedure add(id bigint) {{ insert into items (id, version) values (id, {version}); }}");
    Program::parse(&text).expect("a program")
}

fn call(db: &Database, id: i64) {
    db.session().expect("a session").call("add", &[id.into()]).expect("a call").1.wait().expect("durable");
}

fn filled(home: &Path, protocol: Protocol) -> Database {
    let db = Database::open(config(home, protocol)).expect("a database");
    let schema = Schema::builder("items").column("id", Type::Int64).column("version", Type::Int64).primary_key(["id"]);
    db.create_table(schema.build().expect("a schema")).expect("a table");
    for version in 1..=3 {
        db.replace_procedure(&program(version)).expect("a procedure");
        call(&db, version);
    }
    db
}

/// The version and those that are kept, of `add`.
fn versions(db: &Database) -> (u32, Vec<u32>) {
    let (listed, _) = db.run(|tx| tx.procedures()).expect("procedures");
    let add = listed.into_iter().find(|of| of.name == "add").expect("there is one");
    (add.version, add.kept)
}

/// Which version added each row, in their order.
fn rows(db: &Database) -> Vec<i64> {
    let body = |tx: &osier::Transaction<'_>| {
        let (table, mut found) = (tx.table("items")?, Vec::new());
        for row in tx.scan(&table, KeyRange::all())? {
            found.push(row?.int(table.column("version")?));
        }
        Ok::<_, Error>(found)
    };
    db.run(body).expect("rows").0
}

#[test]
fn versions_are_kept_until_a_checkpoint_holds_what_they_did() {
    for protocol in PROTOCOLS {
        let home = support::directory("procedure_versions", &format!("kept-{protocol}"));
        let db = filled(&home, protocol);
        assert_eq!(versions(&db), (3, vec![1, 2]), "without a checkpoint none goes");
        db.replace_procedure(&program(4)).expect("replaced");
        assert_eq!(versions(&db), (4, vec![1, 2, 3]), "nor by a definition alone");
        let shown = db.run(|tx| tx.procedure_of_version("add", 2)).expect("it is kept").0;
        assert_eq!(shown, program(2));

        // Each was seen to be superseded before the boundary of this one, but for the third: nobody has looked since.
        db.checkpoint().expect("a checkpoint");
        assert_eq!(versions(&db), (4, vec![1, 2, 3]), "a checkpoint removes none by itself");
        db.replace_procedure(&program(5)).expect("replaced");
        assert_eq!(versions(&db), (5, vec![3, 4]));
        let gone = db.run(|tx| tx.procedure_of_version("add", 2)).expect_err("it is collected");
        assert!(gone.to_string().contains("version 2 of procedure `add` is not kept"), "{gone}");

        // What a database finds when it is opened is superseded already.
        db.close().expect("closed");
        let db = Database::open(config(&home, protocol)).expect("it opens");
        assert_eq!(versions(&db), (5, vec![3, 4]));
        db.replace_procedure(&program(5)).expect("replaced");
        db.checkpoint().expect("a checkpoint");
        db.replace_procedure(&program(6)).expect("replaced");
        assert_eq!(versions(&db), (7, vec![5, 6]));
        assert_eq!(rows(&db), [1, 2, 3]);
    }
}

#[test]
fn no_recovery_misses_a_version_that_was_collected() {
    for protocol in PROTOCOLS {
        let home = support::directory("procedure_versions", &format!("recovery-{protocol}"));
        let copy = support::directory("procedure_versions", &format!("crashed-{protocol}"));
        let db = filled(&home, protocol);
        db.replace_procedure(&program(4)).expect("replaced");
        call(&db, 4);
        db.checkpoint().expect("a checkpoint");
        call(&db, 5);
        db.replace_procedure(&program(5)).expect("it collects");
        call(&db, 6);
        assert_eq!(versions(&db), (5, vec![3, 4]));
        // As a crash leaves it: calls of the versions 4 and 5 are in the log, and so is the end of the versions 1 and 2.
        copying::copy(&home, &copy);
        let expected = rows(&db);
        assert_eq!(expected, [1, 2, 3, 4, 4, 5]);
        db.close().expect("closed");

        for path in [&home, &copy] {
            let db = Database::open(config(path, protocol).create(Create::Never)).expect("it opens");
            let report = db.recovery().expect("a recovery");
            assert_eq!(report.commands, 2, "{report}");
            assert_eq!((rows(&db), versions(&db)), (expected.clone(), (5, vec![3, 4])), "{protocol}");
            call(&db, 7);
            db.close().expect("closed");
        }
    }
}

/// Ids that only the log knows were given again: the new procedure took the place of the old one's definition.
#[test]
fn a_procedure_of_the_log_keeps_its_id_to_itself() {
    for protocol in PROTOCOLS {
        let home = support::directory("procedure_versions", &format!("ids-{protocol}"));
        let named = |name: &str| Program::parse(&format!("procedure {name}() {{ let a = 1; }}")).expect("a program");
        let db = filled(&home, protocol);
        db.create_procedure(&named("second")).expect("created");
        db.close().expect("closed");
        let db = Database::open(config(&home, protocol)).expect("it opens");
        db.create_procedure(&named("third")).expect("created");
        db.create_procedure(&named("fourth")).expect("created");
        call(&db, 4);
        db.close().expect("closed");
        let db = Database::open(config(&home, protocol)).expect("it opens");
        assert_eq!(db.run(|tx| tx.procedure("add")).expect("it is there").0, program(3), "{protocol}");
        for name in ["second", "third", "fourth"] {
            assert_eq!(db.run(|tx| tx.procedure(name)).expect("it is there").0, named(name), "{protocol}");
        }
        assert_eq!(rows(&db), [1, 2, 3, 3]);
    }
}

#[test]
fn a_dropped_procedure_goes_and_its_id_is_never_given_again() {
    let home = support::directory("procedure_versions", "dropped");
    let db = filled(&home, Protocol::Serial);
    let versions = |db: &Database| {
        let body = |tx: &osier::Transaction<'_>| {
            let (table, mut found) = (tx.table("osier_procedure_versions")?, Vec::new());
            for row in tx.scan(&table, KeyRange::all())? {
                let row = row?;
                found.push((row.int(table.column("id")?), row.int(table.column("version")?)));
            }
            Ok::<_, Error>(found)
        };
        db.run(body).expect("rows").0
    };
    db.drop_procedure("add").expect("dropped");
    let other = Program::parse("procedure other() { let a = 1; }").expect("a program");
    // In one transaction, and without a look at it: nothing is collected.
    db.run(|tx| tx.replace_procedure(&other).and_then(|()| tx.drop_procedure("other")))
        .expect("both")
        .1
        .wait()
        .expect("durable");
    assert_eq!(versions(&db), [(1, 1), (1, 2), (1, 3), (2, 1)]);
    db.checkpoint().expect("a checkpoint");
    db.run(|tx| tx.create_procedure(&other).and_then(|()| tx.drop_procedure("other")))
        .expect("both")
        .1
        .wait()
        .expect("durable");
    assert_eq!(versions(&db), [(2, 1), (3, 1)]);
    db.close().expect("closed");

    let db = Database::open(config(&home, Protocol::Serial)).expect("it opens");
    // The first definition of this life sees what is superseded, the second one collects it.
    db.create_procedure(&other).expect("created");
    db.drop_procedure("other").expect("dropped");
    db.checkpoint().expect("a checkpoint");
    db.create_procedure(&program(1)).expect("created");
    assert_eq!(versions(&db), [(4, 1), (5, 1)], "what was dropped after the look stays");
    call(&db, 10);
    assert_eq!(rows(&db), [1, 2, 3, 1]);
    assert!(
        db.run(|tx| tx.delete(&tx.table("osier_procedures")?, &[Value::Text("add")])).is_err(),
        "by hand nothing goes"
    );
}
