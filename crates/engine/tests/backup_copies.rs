//! Backups of copies of one database that went their own ways, to one target.

#[path = "support/copying.rs"]
mod copying;
mod support;
#[path = "support/writers.rs"]
mod writers;

use std::fs;
use std::path::{Path, PathBuf};

use osier::{BackupError, Config, Error, Protocol, backup_closed, restore};
use support::config;
use writers::{counts, insert, insert_rows, open};

fn directory(name: &str) -> PathBuf {
    support::directory("backup-copies", name)
}

fn restored(backup: &Path, name: &str, until: Option<u64>) -> Result<Vec<i64>, Error> {
    writers::restored(backup, &directory(name), until)
}

/// What is restored from an older backup goes its own way: its files have the names of others.
#[test]
fn a_backup_of_another_copy_is_not_written_over() {
    let (home, backup, newer) = (directory("copy-db"), directory("copy-backup"), directory("copy-newer"));
    let (db, table) = open(config(&home, Protocol::Poplar, 2));
    insert_rows(&db, &table, 0, 5);
    db.backup(&backup, false).expect("a backup");
    db.close().expect("closed");
    let (db, table) = open(config(&home, Protocol::Poplar, 2));
    insert_rows(&db, &table, 0, 5);
    let found = counts(&db);
    db.backup(&newer, true).expect("a newer backup");
    db.close().expect("closed");
    let other = directory("copy-other");
    restore(config(&other, Protocol::Poplar, 2), &backup).expect("restored");
    let (db, table) = open(config(&other, Protocol::Poplar, 2));
    insert_rows(&db, &table, 1, 3);
    for checkpoint in [false, true] {
        let error = db.backup(&newer, checkpoint).expect_err("another copy").to_string();
        assert!(error.contains("another copy of this database") && error.contains("name another directory"), "{error}");
    }
    db.backup(&backup, false).expect("what it was restored from is its own past");
    db.close().expect("closed");
    assert_eq!(restored(&newer, "copy-again", None).expect("it is as it was"), found);
}

/// Small files, so that a log has several after a few rows.
fn small(home: &Path, streams: u32) -> Config {
    let small = [("ring_bytes", "16384"), ("transaction_log_bytes_max", "4096"), ("segment_bytes", "24576")];
    let config = config(home, Protocol::Poplar, streams);
    small.iter().fold(config, |config, (name, value)| config.set(name, value).expect("a setting"))
}

fn is_other_copy(error: &Error) -> bool {
    let text = error.to_string();
    assert!(!text.contains("damaged") && !text.contains("remove"), "{text}");
    matches!(error, Error::Backup(BackupError::OtherCopy { .. })) && text.contains("name another directory")
}

/// The original goes on in the generation that the restored copy has frozen. Where their last segments have one name, they may
/// even count as many bytes.
#[test]
fn a_restored_copy_does_not_replace_what_the_original_backed_up_since() {
    for (streams, rows, is_small) in [(1, 1, true), (1, 40, true), (2, 1, true), (2, 80, true), (1, 40, false)] {
        let name = |what: &str| directory(&format!("since-{streams}-{rows}-{is_small}-{what}"));
        let (home, target, other) = (name("db"), name("target"), name("other"));
        let settings =
            |home: &Path| if is_small { small(home, streams) } else { config(home, Protocol::Poplar, streams) };
        let segments = || {
            let files = fs::read_dir(home.join("stream-0")).expect("files").flatten();
            files.filter(|entry| entry.file_name().to_string_lossy().starts_with("00")).count()
        };
        let (db, table) = open(settings(&home));
        insert_rows(&db, &table, 0, 12);
        db.backup(&target, false).expect("a backup");
        restore(settings(&other), &target).expect("restored");
        let before = segments();
        while is_small && segments() == before {
            insert(&db, &table, 0);
        }
        insert_rows(&db, &table, 1, rows);
        let found = counts(&db);
        db.backup(&target, false).expect("a newer backup");

        let error = backup_closed(&settings(&other), &target).expect_err("another copy, closed");
        assert!(is_other_copy(&error), "{error}");
        let (mut copy, mut table_of_copy) = open(settings(&other));
        for checkpoint in [false, true] {
            let error = copy.backup(&target, checkpoint).expect_err("another copy, open");
            assert!(is_other_copy(&error), "{error}");
            insert(&copy, &table_of_copy, 1);
        }
        // What was refused took no checkpoint, which would have given up what shows that the target is another copy's.
        for _ in 0..2 {
            insert_rows(&copy, &table_of_copy, 1, 2 * rows);
            copy.close().expect("closed");
            (copy, table_of_copy) = open(settings(&other));
            let error = copy.backup(&target, true).expect_err("another copy, opened again");
            assert!(is_other_copy(&error), "{error}");
        }
        copy.close().expect("closed");
        assert_eq!(restored(&target, "since-again", None).expect("it is as it was"), found);

        insert_rows(&db, &table, 1, 3);
        assert!(db.backup(&target, false).expect("the original's own").continues);
        assert_eq!(restored(&target, "since-again", None).expect("restored"), counts(&db));
        db.close().expect("closed");
    }
}

/// The generation in which the original went on is one in which nothing was written to the copy.
#[test]
fn a_restored_copy_does_not_replace_a_generation_that_it_has_not() {
    for is_checkpointed in [false, true] {
        let name = |what: &str| directory(&format!("skipped-{is_checkpointed}-{what}"));
        let (home, target, other) = (name("db"), name("target"), name("other"));
        let (db, table) = open(config(&home, Protocol::Poplar, 2));
        insert_rows(&db, &table, 0, 10);
        db.close().expect("closed");
        backup_closed(&config(&home, Protocol::Poplar, 2), &target).expect("a backup");
        restore(config(&other, Protocol::Poplar, 2), &target).expect("restored");
        let (db, table) = open(config(&home, Protocol::Poplar, 2));
        insert_rows(&db, &table, 0, 10);
        db.close().expect("closed");
        backup_closed(&config(&home, Protocol::Poplar, 2), &target).expect("a newer backup");

        open(config(&other, Protocol::Poplar, 2)).0.close().expect("nothing was written");
        let (copy, table) = open(config(&other, Protocol::Poplar, 2));
        insert_rows(&copy, &table, 1, 3);
        if is_checkpointed {
            let error = copy.backup(&target, true).expect_err("another copy, open");
            assert!(is_other_copy(&error), "{error}");
        }
        copy.close().expect("closed");
        let error = backup_closed(&config(&other, Protocol::Poplar, 2), &target).expect_err("another copy, closed");
        assert!(is_other_copy(&error), "{error}");
        assert_eq!(restored(&target, "skipped-again", None).expect("it is as it was"), [20, 0]);
    }
}

/// What the copy backed up is not the original's to continue, and nobody's backup is called damaged for it.
#[test]
fn the_original_does_not_replace_what_a_restored_copy_backed_up() {
    let (home, target, other) = (directory("back-db"), directory("back-target"), directory("back-other"));
    let (db, table) = open(small(&home, 1));
    insert_rows(&db, &table, 0, 12);
    db.backup(&target, false).expect("a backup");
    restore(small(&other, 1), &target).expect("restored");
    backup_closed(&small(&other, 1), &target).expect("what it was restored from is its own past");
    insert_rows(&db, &table, 0, 40);
    for checkpoint in [false, true] {
        let error = db.backup(&target, checkpoint).expect_err("another copy");
        assert!(is_other_copy(&error), "{error}");
    }
    assert_eq!(restored(&target, "back-again", None).expect("it is as it was"), [12, 0]);
}

/// The copy has given up the generation in which the original went on, so only what the backup holds tells.
#[test]
fn a_copy_that_gave_up_the_generation_does_not_replace_it() {
    let (home, target, other) = (directory("given-up-db"), directory("given-up-target"), directory("given-up-other"));
    let (db, table) = open(config(&home, Protocol::Poplar, 1));
    insert_rows(&db, &table, 0, 10);
    db.backup(&target, false).expect("a backup");
    restore(config(&other, Protocol::Poplar, 1), &target).expect("restored");
    insert_rows(&db, &table, 0, 40);
    db.backup(&target, false).expect("a newer backup");
    let (copy, table) = open(config(&other, Protocol::Poplar, 1));
    insert_rows(&copy, &table, 1, 1);
    copy.checkpoint().expect("a checkpoint");
    copy.close().expect("closed");

    let error = backup_closed(&config(&other, Protocol::Poplar, 1), &target).expect_err("another copy");
    assert!(is_other_copy(&error), "{error}");
    assert_eq!(restored(&target, "given-up-again", None).expect("it is as it was"), [50, 0]);
}

/// Recovery moved the tail that the older backup counts in the segment where it was written.
#[test]
fn what_was_restored_continues_an_older_backup_from_before_a_crash() {
    let (home, old, new, other) =
        (directory("tail-db"), directory("tail-old"), directory("tail-new"), directory("tail"));
    let (db, table) = open(small(&home, 1));
    insert_rows(&db, &table, 0, 20);
    db.backup(&old, false).expect("a backup");
    let killed = directory("tail-killed");
    copying::copy(&home, &killed);
    drop(db);
    let (db, table) = open(small(&killed, 1));
    insert_rows(&db, &table, 0, 20);
    db.close().expect("closed");
    backup_closed(&small(&killed, 1), &new).expect("a newer backup");
    restore(small(&other, 1), &new).expect("restored");
    backup_closed(&small(&other, 1), &old).expect("what it was restored from is its own past");
    assert_eq!(restored(&old, "tail-again", None).expect("restored"), [40, 0]);
}
