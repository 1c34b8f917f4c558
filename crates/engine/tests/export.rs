//! Exports and imports: what comes back, what an export is a snapshot of, and what is refused.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use osier::call::{OpaqueProcedure, Procedures};
use osier::io::{Disk, File, FileStatus, Lock, OpenMode, OsDisk};
use osier::procedure::program::Program;
use osier::table::{KeyRange, Schema, Type, Value};
use osier::{Database, DirectoryError, Error, ExportError, Protocol, SequenceOptions, TransactionError, import};

fn directory(name: &str) -> PathBuf {
    support::directory("export", name)
}

fn open(home: &Path) -> Database {
    Database::open(support::config(home, Protocol::Poplar, 2)).unwrap()
}

fn kinds() -> Schema {
    let schema = Schema::builder("kinds").column("id", Type::Int32).nullable_column("flag", Type::Bool);
    let schema = schema.nullable_column("small", Type::Int16).nullable_column("big", Type::Int64);
    let schema = schema.nullable_column("real", Type::Float64).nullable_column("note", Type::Text);
    let schema = schema.nullable_column("amount", Type::Numeric { precision: 12, scale: 3 });
    let schema = schema.nullable_column("raw", Type::Bytes).nullable_column("at", Type::Timestamp);
    schema.primary_key(["id"]).unique_index("by_note", ["note"]).index("by_real", ["real", "id"]).build().unwrap()
}

/// A row with every type at an end of its range.
fn extreme(id: i64, real: f64, note: &str) -> Vec<Value<'_>> {
    let sign = if id % 2 == 0 { 1 } else { -1 };
    vec![
        Value::Int(id * sign),
        Value::Bool(sign > 0),
        Value::Int(if sign > 0 { 32_767 } else { -32_768 }),
        Value::Int(if sign > 0 { i64::MAX } else { i64::MIN }),
        Value::Float(real),
        Value::Text(note),
        Value::Numeric(sign * 999_999_999_999),
        Value::Bytes(&[0, 10, 34, 92, 255]),
        Value::Timestamp(if sign > 0 { i64::MAX } else { i64::MIN }),
    ]
}

/// Everything that there is to export.
fn fill(db: &Database) {
    let table = db.create_table(kinds()).unwrap();
    let odd = Schema::builder("../odd \"name\"\n\u{e9}").column("x", Type::Float64).column("y", Type::Bytes);
    let odd = db.create_table(odd.column("z", Type::Text).primary_key(["z", "x", "y"]).build().unwrap()).unwrap();
    let empty = Schema::builder("empty").column("id", Type::Int64).primary_key(["id"]).build().unwrap();
    db.create_table(empty).unwrap();
    let many = Schema::builder("many").column("id", Type::Int64).column("text", Type::Text).primary_key(["id"]);
    let many = db.create_table(many.build().unwrap()).unwrap();
    let strange_nan = f64::from_bits(f64::NAN.to_bits() | 5);
    let reals = [0.1, -0.0, f64::NAN, strange_nan, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE / 4.0, 1e308];
    let notes = ["", "'\"\\/\n\r\t\u{1}\u{7f}", "\u{2028}\u{1F600}", "null", "[1,2]", "a", "b", "\u{0}"];
    db.run(|tx| -> Result<(), Error> {
        for ((id, real), note) in (0..).zip(reals).zip(notes) {
            tx.insert(&table, &extreme(id, real, note))?;
            tx.insert(&odd, &[Value::Float(real), Value::Bytes(note.as_bytes()), Value::Text(note)])?;
        }
        let nulls = [Value::Int(i32::MIN.into())].into_iter().chain([Value::Null; 8]).collect::<Vec<_>>();
        tx.insert(&table, &nulls)
    })
    .unwrap();
    for id in 0..2500 {
        let text = "x".repeat(id as usize % 1500);
        db.run(|tx| tx.insert(&many, &[Value::Int(id), Value::Text(&text)])).unwrap();
    }
    for options in [
        SequenceOptions::new("plain"),
        SequenceOptions::new("down").increment(-7).minimum(-1000).maximum(50).start(20).cache(1),
        SequenceOptions::new("ring").increment(2).minimum(1).maximum(5).cycle(true).cache(1),
        SequenceOptions::new("spent").minimum(1).maximum(3).cache(5),
        SequenceOptions::new("untouched").start(77),
    ] {
        let sequence = db.create_sequence(&options).unwrap();
        let draws = [("plain", 5), ("down", 3), ("ring", 4), ("spent", 3), ("untouched", 0)];
        let draws = draws.iter().find(|(name, _)| *name == sequence.name()).unwrap().1;
        (0..draws).for_each(|_| drop(db.run(|tx| tx.next_value(&sequence)).unwrap()));
    }
    let gone = Schema::builder("gone").column("id", Type::Int64).primary_key(["id"]).build().unwrap();
    let gone = db.create_table(gone).unwrap();
    for text in [
        "procedure z_callee(a bigint) returns (b bigint) { return a + 1; }",
        "procedure a_caller(a bigint) returns (b bigint) { call z_callee(a) into b; return b * 2; }",
        "procedure broken() { insert into gone (id) values (1); }",
    ] {
        let program = Program::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        db.create_procedure(&program).unwrap();
    }
    db.run(|tx| tx.drop_table(&gone)).unwrap();
}

fn exported(db: &Database, target: &Path) -> osier::ExportReport {
    db.export(&db.snapshot().unwrap(), target).unwrap()
}

/// The files of an export but the manifest.
fn files(dir: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let text =
        |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap());
    entries.map(text).filter(|(name, _)| name != "EXPORT").collect()
}

#[test]
fn everything_comes_back() {
    let (home, target) = (directory("all-db"), directory("all-export"));
    let db = open(&home);
    fill(&db);
    let report = exported(&db, &target);
    assert_eq!((report.rows, report.sequences, report.procedures, report.tables.len()), (2517, 5, 3, 4));
    let written = files(&target);
    assert_eq!(written.len(), 6, "{:?}", written.keys());

    // A new database, an existing one, and one without a log.
    let (fresh, used, unlogged) = (directory("all-new"), directory("all-used"), directory("all-unlogged"));
    let imported = import(support::config(&fresh, Protocol::Gsn, 2), &target).unwrap();
    assert_eq!((imported.rows, imported.tables.len(), &imported.home), (2517, 4, &fresh));
    let other = open(&used);
    let own = Schema::builder("own").column("id", Type::Int64).primary_key(["id"]).build().unwrap();
    other.create_table(own).unwrap();
    other.import(&target).unwrap();
    other.close().unwrap();
    import(support::config(&unlogged, Protocol::None, 1), &target).unwrap();
    for (home, protocol) in [(&fresh, Protocol::Gsn), (&used, Protocol::Poplar), (&unlogged, Protocol::None)] {
        let again = Database::open(support::config(home, protocol, 2)).unwrap();
        if home == &used {
            let own = again.table("own").unwrap();
            again.run(|tx| tx.drop_table(&own)).unwrap();
        }
        let second = directory("all-again");
        exported(&again, &second);
        // Byte by byte: rows, schemas, what sequences have left, texts of procedures.
        assert_eq!(files(&second), written);
        check_use(&again);
    }
    check_use(&db);
}

/// Indexes are filled, sequences go on, procedures can be called.
fn check_use(db: &Database) {
    let table = db.table("kinds").unwrap();
    let id = table.column("id").unwrap();
    let found = db.run(|tx| -> Result<Vec<i64>, Error> {
        let range = KeyRange::prefix(&[Value::Float(f64::INFINITY)]);
        tx.scan_index(&table, "by_real", range)?.map(|row| Ok(row?.int(id))).collect()
    });
    assert_eq!(found.unwrap().0, [4]);
    let twice = db.run(|tx| tx.insert(&table, &extreme(100, 1.0, "null"))).map(|_| ()).unwrap_err();
    assert!(matches!(twice, Error::Transaction(TransactionError::DuplicateKey { .. })), "{twice}");
    let mut session = db.session().unwrap();
    let next = |name: &str| {
        let sequence = db.sequence(name).unwrap();
        db.run(|tx| tx.next_value(&sequence)).map(|(value, _)| value)
    };
    // The exported database goes on within its block, another one behind it.
    assert!(next("plain").unwrap() > 5);
    assert_eq!((next("down").unwrap(), next("ring").unwrap(), next("untouched").unwrap()), (-1, 3, 77));
    assert_eq!(next("spent").unwrap_err().sqlstate(), "2200H");
    let (output, _) = session.call("a_caller", &[20.into()]).unwrap();
    assert_eq!(output.to_texts(), [[Some("42".to_owned())]]);
    assert!(session.call("broken", &[]).is_err(), "as before");
}

/// The rows of an export are those of one moment, and what is exported stays as it was while others go on.
#[test]
fn an_export_is_one_snapshot() {
    const ACCOUNTS: i64 = 400;
    let (home, target) = (directory("moment-db"), directory("moment-export"));
    let db = open(&home);
    let schema = |name: &str| Schema::builder(name).column("id", Type::Int64).column("cents", Type::Int64);
    let tables =
        ["left", "right"].map(|name| db.create_table(schema(name).primary_key(["id"]).build().unwrap()).unwrap());
    for table in &tables {
        db.run(|tx| (0..ACCOUNTS).try_for_each(|id| tx.insert(table, &[Value::Int(id), Value::Int(100)]))).unwrap();
    }
    let is_over = AtomicBool::new(false);
    let moved = AtomicU64::new(0);
    thread::scope(|scope| {
        for seed in 0..2 {
            let (db, tables, is_over, moved) = (&db, &tables, &is_over, &moved);
            scope.spawn(move || {
                let (mut session, mut random) = (db.session().unwrap(), fastrand::Rng::with_seed(seed));
                let cents = tables[0].column("cents").unwrap();
                while !is_over.load(Ordering::Relaxed) {
                    let changes = [
                        (random.usize(..2), random.i64(0..ACCOUNTS), -3),
                        (random.usize(..2), random.i64(0..ACCOUNTS), 3),
                    ];
                    let transfer = session.run(|tx| -> Result<(), Error> {
                        for (table, id, change) in changes {
                            let old = tx.get(&tables[table], &[Value::Int(id)])?.map_or(0, |row| row.int(cents));
                            tx.upsert(&tables[table], &[Value::Int(id), Value::Int(old + change)])?;
                        }
                        Ok(())
                    });
                    transfer.unwrap();
                    moved.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let _end = SetAtEnd(&is_over);
        for round in 0..20 {
            let before = moved.load(Ordering::Relaxed);
            while moved.load(Ordering::Relaxed) < before + 20 {
                thread::yield_now();
            }
            let snapshot = db.snapshot().unwrap();
            let report = db.export(&snapshot, &target).unwrap();
            assert_eq!((report.rows, report.epoch), (2 * ACCOUNTS as u64, snapshot.epoch().0));
            let first = files(&target);
            let total: i64 = first.values().flat_map(|text| text.lines()).filter_map(cents_of).sum();
            assert_eq!(total, 2 * ACCOUNTS * 100, "round {round}");
            fs::remove_dir_all(&target).unwrap();
            db.export(&snapshot, &target).unwrap();
            assert_eq!(files(&target), first, "the same snapshot");
            fs::remove_dir_all(&target).unwrap();
        }
    });
}

/// Set when the value goes, also by a panic: who waits for that must not wait for ever.
struct SetAtEnd<'f>(&'f AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn cents_of(line: &str) -> Option<i64> {
    let values: serde_json::Value = serde_json::from_str(line).unwrap();
    values.get(1)?.as_i64()
}

#[test]
fn functions_of_a_program_are_left_out_by_name() {
    let (home, target, fresh) = (directory("functions-db"), directory("functions-export"), directory("functions-new"));
    let function = OpaqueProcedure::new("tell", 1, |_| Ok(vec![])).returns("nothing", Type::Int64);
    let procedures = Procedures::new().register(function);
    let db = Database::open_with(support::config(&home, Protocol::Poplar, 1), procedures).unwrap();
    let report = exported(&db, &target);
    assert_eq!((report.procedures, &report.functions[..]), (0, &["tell".to_owned()][..]));
    assert!(report.to_string().contains("left out  tell"), "{report}");
    let report = import(support::config(&fresh, Protocol::Poplar, 1), &target).unwrap();
    assert_eq!(report.functions, ["tell"]);
}

/// An export of two tables of 20 rows, one sequence and one procedure.
fn small_export(name: &str) -> (Database, PathBuf) {
    let (db, target) = (open(&directory(&format!("{name}-db"))), directory(&format!("{name}-export")));
    for table in ["a", "b"] {
        let schema = Schema::builder(table).column("id", Type::Int64).column("text", Type::Text).primary_key(["id"]);
        let table = db.create_table(schema.build().unwrap()).unwrap();
        db.run(|tx| (0..20).try_for_each(|id| tx.insert(&table, &[Value::Int(id), Value::Text("row")]))).unwrap();
    }
    db.create_sequence(&SequenceOptions::new("s")).unwrap();
    db.create_procedure(&Program::parse("procedure p() { }").unwrap()).unwrap();
    exported(&db, &target);
    (db, target)
}

/// Changes the manifest, which then is as sound as it can be.
fn edit(target: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let path = target.join("EXPORT");
    let text = fs::read_to_string(&path).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    change(&mut manifest);
    let line = manifest.to_string();
    let sum = crc_fast::crc32_iscsi(line.as_bytes());
    fs::write(path, format!("{line}\ncrc32c {sum:08x}\n")).unwrap();
}

/// Changes a file, and lists it as it is then.
fn relist(target: &Path, at: usize, change: impl FnOnce(String) -> String) {
    edit(target, |manifest| {
        let listed = &mut manifest["files"][at];
        let path = target.join(listed["name"].as_str().unwrap());
        let text = change(fs::read_to_string(&path).unwrap());
        listed["bytes"] = text.len().into();
        listed["crc32c"] = format!("{:08x}", crc_fast::crc32_iscsi(text.as_bytes())).into();
        fs::write(path, text).unwrap();
    });
}

/// Asserts that nothing of `target` is imported, into an open database or a new one, and that the error says why.
fn refused(name: &str, target: &Path, sqlstate: &str, says: &[&str]) {
    let (home, fresh) = (directory(&format!("{name}-used")), directory(&format!("{name}-new")));
    let db = open(&home);
    let errors =
        [db.import(target).unwrap_err(), import(support::config(&fresh, Protocol::Poplar, 1), target).unwrap_err()];
    for error in errors {
        let text = error.to_string();
        assert!(matches!(error, Error::Export(_)) && error.sqlstate() == sqlstate, "{name}: {text}");
        assert!(says.iter().all(|part| text.contains(part)), "{name}: {text}");
    }
    assert!(!fresh.exists(), "{name}: nothing was created");
    assert!(db.table("a").is_err() && db.sequence("s").is_err(), "{name}: nothing was changed");
}

#[test]
fn damaged_files_are_named_with_the_line() {
    let cure = "use another copy of the export, or export again";
    let (_db, target) = small_export("damage");
    let (table, sound) = (target.join("table-1.jsonl"), files(&target));
    let text = sound["table-1.jsonl"].clone();
    let with = |changed: String, line: &str, what: &str| {
        assert_eq!(changed.len(), text.len());
        fs::write(&table, changed).unwrap();
        refused("damage", &target, "XX001", &["table-1.jsonl", line, what, cure]);
        fs::write(&table, &text).unwrap();
    };
    with(text.replacen("[4,", "[x,", 1), "line 6", "expected value");
    with(text.replacen("[4,", "[1,", 1), "line 6", "not behind that of the row before");
    with(text.replacen("\"row\"", "12345", 1), "line 2", "column text: 12345 is no text");
    with(text.replacen("bigint", "bigger", 1), "line 1", "unknown type `bigger`");
    with(text.replacen("row", "raw", 1), "", "its checksum does not fit");
    with(text.replacen("\"row\"]\n", "\"row\"] ", 1), "line 2", "");
    with(text.replace(']', "}"), "line 1", "");

    fs::write(&table, &text[..text.len() - 5]).unwrap();
    refused("damage", &target, "XX001", &["table-1.jsonl", "bytes, and had", cure]);
    fs::write(&table, &sound["table-2.jsonl"]).unwrap();
    refused("damage", &target, "XX001", &["table-1.jsonl", "line 1", "is of table `b`, and should be of `a`"]);
    fs::write(&table, &text).unwrap();

    for (file, what) in [("sequences.jsonl", "line 1"), ("procedures.jsonl", "line 1"), ("EXPORT", "checksum")] {
        let before = fs::read(target.join(file)).unwrap();
        let mut after = before.clone();
        after[20] ^= 0x80;
        fs::write(target.join(file), after).unwrap();
        refused("damage", &target, "XX001", &[file, cure, if file == "EXPORT" { "is damaged" } else { what }]);
        fs::write(target.join(file), before).unwrap();
    }
    let manifest = fs::read(target.join("EXPORT")).unwrap();
    fs::write(target.join("EXPORT"), &manifest[..50]).unwrap();
    refused("damage", &target, "XX001", &["EXPORT", "cut short", cure]);
    fs::write(target.join("EXPORT"), manifest).unwrap();
    open(&directory("damage-end")).import(&target).unwrap();
}

/// What is listed with the checksum that it has.
#[test]
fn what_no_export_writes_is_refused() {
    let (_db, target) = small_export("forged");
    let sound = files(&target);
    let manifest = fs::read(target.join("EXPORT")).unwrap();
    let with = |at: usize, change: &dyn Fn(String) -> String, sqlstate: &str, says: &[&str]| {
        relist(&target, at, change);
        refused("forged", &target, sqlstate, says);
        sound.iter().for_each(|(name, text)| fs::write(target.join(name), text).unwrap());
        fs::write(target.join("EXPORT"), &manifest).unwrap();
    };
    with(0, &|text| text + "[20,\"row\"]\n", "XX001", &["table-1.jsonl", "holds 21 rows and had 20"]);
    with(0, &|text| text + "[19,\"row\"]\n", "XX001", &["line 22", "not behind"]);
    with(0, &|text| text + "[20,\"row\"]", "XX001", &["line 22", "cut short"]);
    with(0, &|_| String::new(), "XX001", &["table-1.jsonl", "no lines"]);
    with(2, &|text| text.replace("\"increment\":1", "\"increment\":0"), "XX001", &["sequences.jsonl", "line 1", "`s`"]);
    with(2, &|text| text.clone() + &text, "XX001", &["sequences.jsonl", "do not ascend"]);
    with(3, &|text| text.replace("p()", "q()"), "XX001", &["procedures.jsonl", "line 1", "`q`"]);
    with(3, &|text| text.replace("procedure p", "procedur p"), "XX001", &["procedures.jsonl", "line 1"]);
    for (change, state, what) in [
        (("version", 2.into()), "0A000", "this program reads up to 1: use a newer osier"),
        (("version", serde_json::Value::Null), "0A000", "format version 0"),
        (("files", serde_json::json!([])), "XX001", "too few files"),
        (("more", 1.into()), "XX001", "unknown field"),
    ] {
        edit(&target, |manifest| manifest[change.0] = change.1);
        refused("forged", &target, state, &["EXPORT", what]);
        fs::write(target.join("EXPORT"), &manifest).unwrap();
    }
    edit(&target, |manifest| manifest["files"][0]["name"] = "../forged-db/MANIFEST".into());
    refused("forged", &target, "XX001", &["`../forged-db/MANIFEST` is no name of a file of an export"]);
}

#[test]
fn what_is_no_whole_export_is_refused() {
    let (db, target) = small_export("whole");
    let refuse = |state: &str, says: &[&str]| refused("whole", &target, state, says);
    fs::write(target.join("table-3.jsonl"), "").unwrap();
    refuse("42P04", &["table-3.jsonl is not of this export; move it"]);
    fs::remove_file(target.join("table-3.jsonl")).unwrap();
    fs::rename(target.join("table-2.jsonl"), target.join("kept")).unwrap();
    refuse("42P04", &["kept is not of this export"]);
    fs::remove_file(target.join("kept")).unwrap();
    refuse("58P01", &["table-2.jsonl is missing", "export again"]);
    fs::rename(target.join("EXPORT"), target.join("EXPORT.tmp")).unwrap();
    refuse("58P01", &["an export that did not end", "export again"]);
    fs::remove_file(target.join("EXPORT.tmp")).unwrap();
    refuse("3D000", &["holds no export", "check the path"]);
    fs::remove_dir_all(&target).unwrap();
    refuse("3D000", &["does not exist"]);

    // Where an export may not go.
    fs::create_dir_all(&target).unwrap();
    fs::write(target.join("mine"), "").unwrap();
    let snapshot = db.snapshot().unwrap();
    let error = db.export(&snapshot, &target).unwrap_err();
    assert!(matches!(error, Error::Export(ExportError::NotEmpty { .. })) && error.sqlstate() == "42P04", "{error}");
    assert_eq!(fs::read_dir(&target).unwrap().count(), 1, "nothing was changed");
    let error = db.export(&snapshot, &db.config().dirs[0].join("export")).unwrap_err();
    assert!(matches!(error, Error::Directory(DirectoryError::Within { .. })), "{error}");
    let error = open(&directory("whole-other")).export(&snapshot, &directory("whole-foreign")).unwrap_err();
    assert!(matches!(error, Error::Transaction(TransactionError::ForeignSnapshot { .. })), "{error}");
    assert!(!directory("whole-foreign").exists());
}

#[test]
fn what_exists_is_not_replaced() {
    let (db, target) = small_export("exists");
    let refuse = |db: &Database, says: &str| {
        let error = db.import(&target).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Export(ExportError::Exists { .. })) && error.sqlstate() == "42710", "{text}");
        assert!(text.contains(says) && text.contains("drop it, or import into a new directory"), "{text}");
    };
    refuse(&db, "table `a` exists");
    let other = open(&directory("exists-other"));
    other.create_sequence(&SequenceOptions::new("s")).unwrap();
    refuse(&other, "sequence `s` exists");
    assert!(other.table("a").is_err(), "all or nothing");
    let sequence = other.sequence("s").unwrap();
    other.run(|tx| tx.drop_sequence(&sequence)).unwrap();
    other.create_procedure(&Program::parse("procedure p() { }").unwrap()).unwrap();
    refuse(&other, "procedure `p` exists");
    other.drop_procedure("p").unwrap();
    other.import(&target).unwrap();
    let occupied = import(support::config(&db.config().dirs[0].clone(), Protocol::Poplar, 1), &target).unwrap_err();
    assert!(matches!(occupied, Error::Export(ExportError::Occupied { .. })), "{occupied}");
}

/// Somebody moves the directory of an export away, and something else lies there by the time that the export goes on, or fails.
#[test]
fn an_export_touches_nothing_that_is_not_its_own() {
    let db = open(&directory("moved"));
    let many = Schema::builder("many").column("id", Type::Int64).column("text", Type::Text).primary_key(["id"]);
    let many = db.create_table(many.build().unwrap()).unwrap();
    let text = "x".repeat(2000);
    for id in 0..20_000 {
        db.run(|tx| tx.insert(&many, &[Value::Int(id), Value::Text(&text)])).unwrap();
    }
    for attempt in 0.. {
        assert!(attempt < 20, "an export takes long enough to be met");
        let target = directory("moved-export");
        let aside = directory("moved-aside");
        let exported = thread::scope(|scope| {
            let export = scope.spawn(|| db.export(&db.snapshot().unwrap(), &target));
            while !target.join("table-1.jsonl").exists() && !export.is_finished() {
                thread::yield_now();
            }
            fs::rename(&target, &aside).unwrap();
            // Another export that was interrupted, say.
            fs::create_dir(&target).unwrap();
            for name in ["EXPORT.tmp", "table-1.jsonl", "MANIFEST"] {
                fs::write(target.join(name), name).unwrap();
            }
            export.join().unwrap()
        });
        for name in ["EXPORT.tmp", "table-1.jsonl", "MANIFEST"] {
            assert_eq!(fs::read_to_string(target.join(name)).unwrap(), name);
        }
        assert_eq!(fs::read_dir(&target).unwrap().count(), 3);
        match exported {
            // It had ended before.
            Ok(_) => {}
            Err(Error::Export(ExportError::Displaced { path })) => {
                assert_eq!(path, target);
                assert!(aside.join("EXPORT.tmp").exists());
                return;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// A row that the settings of the database refuse comes late: nothing that came before it stays.
#[test]
fn an_import_that_fails_leaves_nothing() {
    let (_db, target) = small_export("fails");
    relist(&target, 1, |text| text.replacen("\"row\"", &format!("\"{}\"", "x".repeat(5000)), 1));
    let config = |home: &Path| support::config(home, Protocol::Poplar, 1).set("row_bytes_max", "4096").unwrap();
    let (home, fresh) = (directory("fails-used"), directory("fails-new"));
    let db = Database::open(config(&home)).unwrap();
    let error = db.import(&target).unwrap_err();
    assert_eq!(error.sqlstate(), "54000", "{error}");
    assert!(db.table("a").is_err() && db.table("b").is_err() && db.sequence("s").is_err());
    assert!(db.run(|tx| tx.procedure("p")).is_err());
    let error = import(config(&fresh), &target).unwrap_err();
    assert_eq!(error.sqlstate(), "54000", "{error}");
    let error = Database::open(config(&fresh)).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Directory(DirectoryError::Unfinished { .. })), "{error}");
}

/// The system's disk, until so many changes were made to files of exports: then every change fails, as if the process had died.
struct Dying {
    left: Arc<AtomicU64>,
}

impl Dying {
    fn spend(left: &AtomicU64, path: &Path) -> io::Result<()> {
        if !path.to_string_lossy().contains("dying-export") {
            return Ok(());
        }
        let spent = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        spent.map(|_| ()).map_err(|_| io::Error::other("dead"))
    }
}

impl Disk for Dying {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        Dying::spend(&self.left, dir)?;
        OsDisk.create_dir_all(dir)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        OsDisk.list(dir)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        OsDisk.exists(path)
    }
    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        OsDisk.status(path)
    }
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        if mode == OpenMode::Create {
            Dying::spend(&self.left, path)?;
        }
        let (file, path) = (OsDisk.open(path, mode)?, path.to_owned());
        Ok(Arc::new(DyingFile { file, path, left: self.left.clone() }))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Dying::spend(&self.left, from)?;
        OsDisk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        Dying::spend(&self.left, path)?;
        OsDisk.remove(path)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        Dying::spend(&self.left, dir)?;
        OsDisk.sync_dir(dir)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        OsDisk.lock(path)
    }
}

struct DyingFile {
    file: Arc<dyn File>,
    path: PathBuf,
    left: Arc<AtomicU64>,
}

impl File for DyingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let spent = Dying::spend(&self.left, &self.path);
        // A part of it arrives.
        let arrives = if spent.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        self.file.write_at(arrives, offset).and(spent)
    }
    fn allocate(&self, length: u64) -> io::Result<()> {
        self.file.allocate(length)
    }
    fn sync(&self) -> io::Result<()> {
        Dying::spend(&self.left, &self.path)?;
        self.file.sync()
    }
}

#[test]
fn an_export_that_dies_anywhere_is_no_export() {
    let left = Arc::new(AtomicU64::new(u64::MAX));
    let mut config = support::config(&directory("dying-db"), Protocol::Poplar, 1);
    config.environment.disk = Arc::new(Dying { left: left.clone() });
    let db = Database::open(config).unwrap();
    let schema = Schema::builder("a").column("id", Type::Int64).primary_key(["id"]).build().unwrap();
    let table = db.create_table(schema).unwrap();
    db.run(|tx| (0..100).try_for_each(|id| tx.insert(&table, &[Value::Int(id)]))).unwrap();
    let snapshot = db.snapshot().unwrap();
    let mut deaths = 0;
    loop {
        let target = directory("dying-export");
        left.store(deaths, Ordering::Relaxed);
        let exported = db.export(&snapshot, &target);
        let is_whole = target.join("EXPORT").exists();
        if exported.is_ok() {
            assert_eq!(left.load(Ordering::Relaxed), 0, "every change was tried");
            break;
        }
        let imported = open(&directory("dying-new")).import(&target);
        // Renamed, and not known to be durable.
        assert_eq!(imported.is_ok(), is_whole, "{deaths}: {imported:?}");
        // What is left is refused with its name, or nothing is.
        left.store(u64::MAX, Ordering::Relaxed);
        let is_empty = !target.exists() || fs::read_dir(&target).unwrap().count() == 0;
        match db.export(&snapshot, &target) {
            Err(error) => assert!(error.to_string().contains("is not empty") && !is_empty, "{deaths}: {error}"),
            Ok(_) => assert!(is_empty, "{deaths}"),
        }
        deaths += 1;
    }
    assert!(deaths > 12, "{deaths}");
    let fresh = open(&directory("dying-end"));
    assert_eq!(fresh.import(&directory_kept("dying-export")).unwrap().rows, 100);
}

fn directory_kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("export").join(name)
}
