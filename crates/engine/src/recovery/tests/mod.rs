//! Recovery over logs that were written byte by byte.

mod damage;
mod deltas;
mod history;
mod inspect;
mod law;
mod ordered;
mod rule;
mod until;
mod world;

use std::path::Path;
use std::sync::{Arc, Mutex};

use world::{Rows, World, delete, plain, put, record_bytes};

use crate::config::Protocol;
use crate::directory::manifest::{StreamEnd, freeze_clean};
use crate::error::RecoveryError;
use crate::ids::{Epoch, Generation, Incarnation, Stamp, StreamId};
use crate::io::{BLOCK_BYTES, Disk};
use crate::log::format::segment::prepared_path;
use crate::recovery::RecoveryPhase;

fn stamps(rows: &Rows) -> Vec<u64> {
    rows.values().map(|(stamp, _)| stamp.0).collect()
}

#[test]
fn a_new_database_is_empty_and_stays_so() {
    let world = World::new(Protocol::Poplar, 3);
    for generation in 1..4 {
        assert_eq!(world.manifest().current.generation, Generation(generation));
        let (report, rows) = world.recover().unwrap();
        assert!(rows.is_empty());
        assert_eq!((report.records, report.cut, report.max_seen), (0, Stamp::ZERO, Stamp::ZERO));
        assert!(world.manifest().frozen.is_empty(), "empty generations leave no trace");
        world.disk.crash();
    }
}

#[test]
fn a_record_lives_up_to_the_cut_or_where_what_it_read_does() {
    let world = World::new(Protocol::Poplar, 2);
    world.writer(0).batch(&[put(1, 0, "a", "1"), put(5, 1, "b", "5")]).flush();
    let mut other = world.writer(1);
    other.batch(&[put(3, 0, "c", "3"), put(8, 6, "d", "dead"), put(9, 4, "e", "live"), put(10, 0, "f", "blind")]);
    other.flush();
    let (report, rows) = world.recover().unwrap();
    assert_eq!(plain(&rows), [("a", "1"), ("b", "5"), ("c", "3"), ("e", "live"), ("f", "blind")]);
    assert_eq!((report.cut, report.max_seen), (Stamp(5), Stamp(10)));
    assert_eq!((report.records, report.replayed, report.discarded, report.writes), (6, 5, 1, 5));
    assert_eq!((report.streams, report.segments, report.generations, report.batches), (2, 2, 1, 2));
    assert!(!report.clean);
    let manifest = world.manifest();
    assert_eq!(manifest.current.floor, Stamp(10));
    assert_eq!((manifest.frozen[0].cut, manifest.frozen[0].clean), (Stamp(5), false));
}

#[test]
fn the_last_writer_wins_over_streams_and_deletes_leave_nothing() {
    let world = World::new(Protocol::Poplar, 2);
    world
        .writer(0)
        .batch(&[put(1, 0, "a", "old"), delete(4, 1, "b"), put(6, 0, "c", "new"), put(9, 0, "z", "")])
        .flush();
    world
        .writer(1)
        .batch(&[put(2, 0, "b", "old"), put(3, 0, "a", "new"), delete(5, 0, "c"), delete(9, 0, "x")])
        .flush();
    let (report, rows) = world.recover().unwrap();
    assert_eq!(plain(&rows), [("a", "new"), ("c", "new"), ("z", "")]);
    assert_eq!(stamps(&rows), [3, 6, 9]);
    assert_eq!(report.writes, 8);
}

#[test]
fn dead_transactions_stay_dead_over_generations() {
    let world = World::new(Protocol::Poplar, 2);
    world.writer(0).batch(&[put(1, 0, "a", "1")]).flush();
    world.writer(1).batch(&[put(2, 0, "b", "2"), put(3, 2, "b", "dead")]).flush();
    let (_, rows) = world.recover().unwrap();
    assert!(rows.is_empty() || plain(&rows) == [("a", "1"), ("b", "2")]);
    for round in 0..3 {
        world.disk.crash();
        let base = world.manifest().current.floor.0;
        world.writer(0).batch(&[put(base + 1, base, "c", &round.to_string())]).flush();
        world.writer(1).batch_with(&[], base + 1, 0, &[]).flush();
        let (report, rows) = world.recover().unwrap();
        let number = round.to_string();
        assert_eq!(plain(&rows), [("a", "1"), ("b", "2"), ("c", number.as_str())]);
        assert_eq!(report.generations, round + 2);
        assert_eq!(report.discarded, 1);
    }
}

#[test]
fn certificates_lift_an_idle_stream() {
    let world = World::new(Protocol::Poplar, 3);
    let mut active = world.writer(0);
    active.batch_with(&[put(1, 0, "a", "1")], 1, 0, &[(1, 1), (2, 1)]);
    active.batch_with(&[put(2, 1, "a", "2")], 2, 1, &[(1, 2)]);
    active.batch_with(&[put(4, 2, "a", "4")], 4, 1, &[(1, 4), (2, 3)]);
    active.flush();
    let (report, rows) = world.recover().unwrap();
    assert_eq!((report.cut, plain(&rows)), (Stamp(3), vec![("a", "4")]));
    assert_eq!(report.replayed, 3, "4 read 2, which is below the cut");
}

#[test]
fn a_floor_holds_the_cut_up_after_rotation() {
    let world = World::new(Protocol::Poplar, 2);
    world.writer(0).batch(&[put(1, 0, "a", "1"), put(7, 1, "a", "7")]).rotate().flush();
    world.writer(1).batch(&[put(6, 1, "b", "6")]).rotate().batch_with(&[], 9, 7, &[]).rotate().flush();
    let (report, rows) = world.recover().unwrap();
    assert_eq!((report.cut, plain(&rows)), (Stamp(7), vec![("a", "7"), ("b", "6")]));
    assert_eq!((report.segments, report.max_seen), (5, Stamp(9)));
}

#[test]
fn serial_lets_everything_live_that_was_read() {
    let world = World::new(Protocol::Serial, 1);
    let mut log = world.writer(0);
    log.batch(&[put(10, 0, "a", "1"), put(20, 10, "b", "2")]).rotate().batch(&[put(30, 20, "a", "3")]).flush();
    let (report, rows) = world.recover().unwrap();
    assert_eq!((report.cut, plain(&rows)), (Stamp(30), vec![("a", "3"), ("b", "2")]));
}

#[test]
fn a_torn_batch_counts_as_far_as_it_is_valid() {
    let world = World::new(Protocol::Serial, 1);
    let row = "x".repeat(500);
    let txns: Vec<_> = (1..=20).map(|stamp| put(stamp, 0, &format!("k{stamp:02}"), &row)).collect();
    let mut log = world.writer(0);
    let before = log.batch(&[put(1, 0, "first", "1")]).end();
    let txns: Vec<_> = txns.into_iter().skip(1).collect();
    let end = log.batch(&txns).end();
    let path = log.flush();
    let position = |offset: u64| BLOCK_BYTES + offset as usize;
    let record = record_bytes(&txns[0]);
    for torn in (before.0..end.0).step_by(512) {
        let world = world.fork();
        world.disk.edit(&path, |bytes| bytes[position(torn)..position(end.0)].fill(0));
        let kept = ((torn as usize).saturating_sub(before.0 as usize + 64) / record).min(txns.len());
        let (report, rows) = world.recover().unwrap();
        assert_eq!(rows.len(), 1 + kept, "torn at {torn}");
        assert_eq!((report.max_seen, report.discarded), (Stamp(if torn > before.0 { 20 } else { 1 }), 0));
        // The rewritten tail says the same, for ever.
        for _ in 0..2 {
            world.disk.crash();
            let (report, again) = world.recover().unwrap();
            assert_eq!((again.len(), report.discarded), (rows.len(), 0));
        }
    }
}

#[test]
fn a_torn_batch_keeps_its_certificates_and_leaves_its_stamp() {
    let world = World::new(Protocol::Poplar, 2);
    let mut log = world.writer(0);
    log.batch_with(&[put(1, 0, "a", "1")], 1, 0, &[(1, 1)]);
    let last = log.end();
    log.batch_with(&[put(2, 1, "b", "2")], 5, 0, &[(1, 5)]);
    let path = log.flush();
    world.disk.edit(&path, |bytes| bytes[BLOCK_BYTES + last.0 as usize + 100] ^= 1);
    let (report, rows) = world.recover().unwrap();
    assert_eq!((report.cut, report.max_seen, plain(&rows)), (Stamp(1), Stamp(5), vec![("a", "1")]));
    world.disk.crash();
    let (report, rows) = world.recover().unwrap();
    assert_eq!((report.records, plain(&rows)), (1, vec![("a", "1")]));
}

#[test]
fn tails_are_copied_and_superseded_bytes_are_not_read() {
    let world = World::new(Protocol::Poplar, 2);
    let mut log = world.writer(0);
    log.batch(&[put(1, 0, "a", "1")]);
    let base = log.end();
    log.batch(&[put(2, 0, "a", "2")]);
    let first = log.flush();
    world.writer(1).batch(&[put(3, 0, "b", "3")]).flush();
    let tail = world.path(0, 2);
    world.recover().unwrap();
    world.disk.crash();
    let bytes = world.disk.bytes(&tail);
    assert_eq!(bytes.len(), 2 * BLOCK_BYTES);
    // What the tail supersedes may rot.
    world.disk.edit(&first, |bytes| bytes[BLOCK_BYTES + base.0 as usize..].fill(0xaa));
    let (_, rows) = world.recover().unwrap();
    assert_eq!(plain(&rows), [("a", "2"), ("b", "3")]);
}

#[test]
fn a_crash_at_any_step_of_recovery_changes_nothing() {
    let world = World::new(Protocol::Poplar, 2);
    let mut log = world.writer(0);
    log.batch(&[put(1, 0, "a", "1"), put(4, 1, "b", "4")]).rotate();
    let torn = log.batch(&[put(6, 0, "a", "6")]).end();
    log.batch(&[put(7, 6, "c", "7"), put(8, 7, "c", "torn")]);
    let path = log.flush();
    world.disk.edit(&path, |bytes| bytes[BLOCK_BYTES + torn.0 as usize - 2 * BLOCK_BYTES + 4096 + 200] ^= 1);
    world.writer(1).batch(&[put(2, 0, "d", "2")]).batch(&[put(5, 4, "d", "5"), put(9, 8, "e", "dead")]).flush();
    let (expected, expected_rows) = world.fork().recover().unwrap();
    for power in [false, true] {
        let mut steps = 0;
        loop {
            let world = world.fork();
            world.disk.fail_after(steps);
            let crashed = world.recover();
            if power {
                world.disk.crash()
            } else {
                world.disk.fail_after(usize::MAX)
            }
            let (report, rows) = world.recover().unwrap();
            assert_eq!(rows, expected_rows, "after {steps} steps");
            assert_eq!(report.max_seen, expected.max_seen);
            assert_eq!(world.manifest().frozen[0].cut, expected.cut);
            world.disk.crash();
            assert_eq!(world.recover().unwrap().1, expected_rows);
            if crashed.is_ok() {
                break;
            }
            steps += 1;
        }
        assert!(steps > 15, "only {steps} steps were tried");
    }
}

#[test]
fn a_clean_close_reads_to_its_exact_ends() {
    let world = World::new(Protocol::Poplar, 2);
    let mut logs = [world.writer(0), world.writer(1)];
    logs[0].batch(&[put(1, 0, "a", "1"), put(4, 3, "b", "4")]).flush();
    logs[1].batch(&[put(3, 1, "b", "3")]).flush();
    let ends: Vec<_> = logs
        .iter()
        .zip(0..)
        .map(|(log, stream)| StreamEnd { stream: StreamId(stream), end: log.end(), stamp: log.stamp() })
        .collect();
    freeze_clean(&world.manifest(), &world.disk, world.home(), &ends, Epoch(9)).unwrap();
    world.disk.take_calls();
    let (report, rows) = world.recover().unwrap();
    assert!(report.clean);
    assert_eq!((report.cut, plain(&rows)), (Stamp(4), vec![("a", "1"), ("b", "4")]));
    let calls = world.disk.take_calls();
    assert!(!calls.iter().any(|call| call.contains(".log")), "a closed database has no tails: {calls:?}");
    assert_eq!((world.manifest().current.epoch_floor, world.manifest().frozen.len()), (Epoch(9), 1));
}

#[test]
fn a_small_buffer_reads_twice_and_finds_the_same() {
    let mut world = World::new(Protocol::Poplar, 2);
    world.writer(0).batch(&[put(1, 0, "a", "1"), put(5, 1, "b", "5"), put(8, 1, "c", "8")]).flush();
    world.writer(1).batch(&[put(3, 0, "c", "3"), put(6, 5, "d", "6"), put(7, 6, "e", "dead")]).flush();
    let (_, expected) = world.fork().recover().unwrap();
    world.config.recovery_buffer_bytes = 0;
    assert_eq!(world.recover().unwrap().1, expected);
    assert_eq!(plain(&expected), [("a", "1"), ("b", "5"), ("c", "8"), ("d", "6"), ("e", "dead")]);
}

#[test]
fn progress_is_told_and_reaches_its_end() {
    let mut world = World::new(Protocol::Poplar, 2);
    world.writer(0).batch(&[put(1, 0, "a", "1"), put(5, 1, "b", "5")]).rotate().batch(&[put(7, 0, "a", "7")]).flush();
    world.writer(1).batch(&[put(3, 0, "c", "3")]).flush();
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = told.clone();
    world.config = world.config.progress(move |progress| listener.lock().unwrap().push(*progress));
    world.recover().unwrap();
    let told = told.lock().unwrap();
    for phase in [RecoveryPhase::Scan, RecoveryPhase::Replay] {
        let of = || told.iter().filter(|progress| progress.phase == phase);
        assert!(of().all(|progress| progress.done <= progress.total), "{told:?}");
        assert!(of().any(|progress| progress.total > 0 && progress.done == progress.total), "{told:?}");
    }
}

#[test]
fn a_thread_that_panics_fails_recovery_and_harms_nothing() {
    let world = World::new(Protocol::Poplar, 2);
    world.writer(0).batch(&[put(1, 0, "a", "1")]).rotate().batch(&[put(7, 0, "a", "7")]).flush();
    world.writer(1).batch(&[put(3, 0, "b", "3")]).flush();
    let mut dying = world.clone();
    dying.config = dying.config.progress(|_| panic!("the listener died"));
    let error = dying.refused();
    assert!(matches!(&error, RecoveryError::Thread { what } if what.contains("the listener died")), "{error}");
    assert_eq!(plain(&world.recover().unwrap().1), [("a", "7"), ("b", "3")]);
}

#[test]
fn spare_files_are_not_read_and_left_overs_go() {
    let world = World::new(Protocol::Poplar, 1);
    let mut log = world.writer(0);
    log.batch(&[put(1, 0, "a", "1")]);
    let path = log.flush();
    let bytes = world.disk.bytes(&path);
    world.disk.put(&prepared_path(&world.directory(0), 3), &bytes);
    let temporary = world.directory(0).join("00000001-00000002.log.tmp");
    world.disk.put(&temporary, &bytes);
    let (report, rows) = world.recover().unwrap();
    assert_eq!((report.segments, plain(&rows)), (1, vec![("a", "1")]));
    assert!(!world.disk.exists(&temporary).unwrap());
    assert!(world.disk.exists(&prepared_path(&world.directory(0), 3)).unwrap());
}

#[test]
fn what_a_recycled_file_still_holds_is_not_read() {
    let world = World::new(Protocol::Poplar, 1);
    let mut old = world.writer(0);
    for stamp in 1..5 {
        old.batch(&[put(stamp, 0, "a", "old")]);
    }
    let old = world.disk.bytes(&old.flush());
    world.recover().unwrap();
    let base = world.manifest().current.floor.0;
    let path = world.writer(0).batch(&[put(base + 1, 0, "b", "new")]).flush_with(old.len() - 2 * BLOCK_BYTES, 0);
    world.disk.edit(&path, |bytes| {
        let used = 2 * BLOCK_BYTES;
        bytes[used..old.len()].copy_from_slice(&old[used..]);
    });
    let (_, rows) = world.recover().unwrap();
    assert_eq!(plain(&rows), [("a", "old"), ("b", "new")]);
}

#[test]
fn the_number_of_streams_and_the_protocol_may_change() {
    let mut world = World::new(Protocol::Serial, 1);
    world.writer(0).batch(&[put(5, 0, "a", "serial")]).flush();
    world.config = world.config.protocol(Protocol::Poplar).streams(3);
    world.recover().unwrap();
    world.writer(2).batch_with(&[put(6, 5, "b", "poplar")], 6, 0, &[(0, 6), (1, 6)]).flush();
    world.config = world.config.protocol(Protocol::None).streams(2);
    world.recover().unwrap();
    assert!(world.manifest().current.streams.is_empty());
    world.config = world.config.protocol(Protocol::Poplar).streams(2);
    let (report, rows) = world.recover().unwrap();
    assert_eq!(plain(&rows), [("a", "serial"), ("b", "poplar")]);
    assert_eq!((report.streams, report.generations), (4, 3));
}

#[test]
fn empty_generations_leave_their_files_as_spares() {
    let world = World::new(Protocol::Poplar, 2);
    let mut config = world.config.clone();
    config.segment_bytes = (9 * BLOCK_BYTES) as u64;
    let world = World { config, ..world };
    let paths = [world.writer(0).flush(), world.writer(1).flush_with(0, 0)];
    world.recover().unwrap();
    assert!(paths.iter().all(|path| !world.disk.exists(path).unwrap()));
    assert!(world.disk.exists(&prepared_path(&world.directory(0), 0)).unwrap());
    assert!(!world.disk.exists(&prepared_path(&world.directory(1), 0)).unwrap(), "it has another length");
}

/// A database from before directories had identities, moved.
#[test]
fn directories_without_identities_are_upgraded() {
    let mut world = World::new(Protocol::Poplar, 1);
    world.config = world.config.dirs(["/db", "/old/two"]).streams(2);
    world.recover().unwrap();
    let mut manifest = world.manifest();
    (manifest.current.incarnation, manifest.records_newest) = (Incarnation::NONE, false);
    manifest.store(&world.disk, world.home()).unwrap();
    world.writer(0).batch_with(&[put(1, 0, "a", "1")], 1, 0, &[(1, 1)]).flush();
    for directory in ["/db", "/old/two"] {
        world.disk.delete(&Path::new(directory).join("IDENTITY"));
    }
    world.disk.delete(Path::new("/db/stream-0/NEWEST"));
    let unmoved = world.fork();
    assert_eq!(plain(&unmoved.recover().unwrap().1), [("a", "1")]);
    let manifest = unmoved.manifest();
    assert!(manifest.incarnation() != Incarnation::NONE && manifest.records_newest);
    assert_eq!(plain(&unmoved.recover().unwrap().1), [("a", "1")]);
    world.config = world.config.dirs(["/db", "/new"]);
    assert!(matches!(world.refused(), RecoveryError::Directory(_)), "where it was is not looked at");
    world.disk.create_dir_all(Path::new("/new/stream-1")).unwrap();
    world.disk.put(Path::new("/new/stream-1/prepared-1.log"), &[0; 4096]);
    assert_eq!(plain(&world.recover().unwrap().1), [("a", "1")]);
    assert_eq!(world.manifest().directories[1].path, Path::new("/new"));
    world.config = world.config.dirs(["/db"]);
    assert!(matches!(world.refused(), RecoveryError::Directory(_)), "it is not named");
}

/// A checkpoint gave up the segments of stream 1 and the certificates about it in those of stream 0; what they said is in the
/// begins of the manifest alone. It must count in every later recovery, not only in the next one.
#[test]
fn what_the_begins_knew_outlives_the_freeze() {
    let world = World::new(Protocol::Poplar, 2);
    let mut manifest = world.manifest();
    manifest.begins[1].durable = Stamp(31);
    manifest.store(&world.disk, world.home()).unwrap();
    world.writer(0).batch_with(&[put(40, 0, "a", "1")], 40, 31, &[]).flush();
    for _ in 0..3 {
        let (report, rows) = world.recover().unwrap();
        assert_eq!(plain(&rows), [("a", "1")]);
        assert!(report.max_seen >= Stamp(40));
    }
}
