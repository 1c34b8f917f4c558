//! A device that is full, in every way in which it can say so: it costs nothing until a logger needs the next segment.

use std::io;

use super::{PIECE_BYTES, StreamBegin};
use crate::ids::{Generation, Stamp};
use crate::io::Disk;
use crate::log::CommitLog;
use crate::log::format::segment::segment_path;
use crate::log::world_for_tests::{World, commit, commit_row, is_acknowledged};

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

/// A world whose segments take several pieces of zeros, and the log of one stream whose first segment is in use.
fn world() -> (World, CommitLog) {
    let mut world = World::new();
    world.config.segment_bytes = 4 * PIECE_BYTES as u64;
    let log = world.poplar(1);
    commit(&log, 0, 0);
    world.spawn.settle();
    (world, log)
}

/// Operations on blanks whose name begins with one of `calls` fail with `error`.
fn fail_on(world: &World, calls: &'static [&'static str], error: i32) {
    let is_refused = move |call: &str| calls.iter().any(|refused| call.starts_with(refused));
    world.disk.set_rule(move |call| is_refused(call).then(|| io::Error::from_raw_os_error(error)));
}

/// Commits `count` rows of about 8 KB, each acknowledged.
fn commit_rows(world: &World, log: &CommitLog, count: usize) {
    for at in 0..count {
        let observed = commit_row(log, 0, 1, 1, 8000).unwrap_or_else(|error| panic!("row {at}: {error}"));
        world.spawn.settle();
        assert!(is_acknowledged(log, &observed), "row {at}: {:?}", log.failure());
    }
}

/// Commits rows until one is refused or not acknowledged; returns how many were acknowledged.
fn commit_to_the_end(world: &World, log: &CommitLog) -> usize {
    let is_acknowledged = |log: &CommitLog| {
        let committed = commit_row(log, 0, 1, 1, 8000);
        world.spawn.settle_for_good();
        committed.is_ok_and(|observed| is_acknowledged(log, &observed))
    };
    (0..10_000).take_while(|_| is_acknowledged(log)).count()
}

/// Lets the preparer meet the full device, checks that the log goes on, and that it has room again once there is.
fn costs_nothing_in_the_meantime(calls: &'static [&'static str]) {
    let (world, log) = world();
    fail_on(&world, calls, ENOSPC);
    world.clock.advance(std::time::Duration::from_millis(2));
    world.spawn.settle_for_good();
    // Not half of the segment.
    commit_rows(&world, &log, 40);
    world.disk.clear_rule();
    commit_rows(&world, &log, 400);
    log.close().unwrap();
}

#[test]
fn zeros_that_are_refused_cost_nothing() {
    costs_nothing_in_the_meantime(&["write prepared"]);
}

#[test]
fn zeros_that_cannot_be_synced_cost_nothing() {
    costs_nothing_in_the_meantime(&["sync prepared"]);
}

#[test]
fn a_device_without_room_at_all_costs_nothing() {
    costs_nothing_in_the_meantime(&["write prepared", "sync prepared", "allocate", "open prepared", "remove"]);
}

/// What could not be synced is given up for ever: nobody asks that file again.
#[test]
fn a_blank_that_was_not_synced_is_not_used() {
    let (world, log) = world();
    let blanks = || {
        let files = world.disk.list(&World::directory(0)).unwrap();
        files.into_iter().filter(|path| path.to_string_lossy().contains("prepared")).collect::<Vec<_>>()
    };
    let before = blanks();
    assert_eq!(before.len(), 1);
    fail_on(&world, &["sync prepared"], ENOSPC);
    world.clock.advance(std::time::Duration::from_millis(2));
    world.spawn.settle_for_good();
    assert!(blanks().is_empty(), "{:?}", blanks());
    world.disk.clear_rule();
    commit_rows(&world, &log, 200);
    assert!(!blanks().is_empty() && blanks() != before, "{:?}", blanks());
    log.close().unwrap();
}

/// A segment's worth of rows, and only then the error.
#[test]
fn the_log_fails_when_a_logger_needs_what_is_not_there() {
    for calls in [&["write prepared"][..], &["sync prepared"], &["allocate", "sync prepared"]] {
        let (world, log) = world();
        fail_on(&world, calls, ENOSPC);
        world.clock.advance(std::time::Duration::from_millis(2));
        world.spawn.settle_for_good();
        let acknowledged = commit_to_the_end(&world, &log);
        assert!(acknowledged >= 80, "{calls:?}: the present segment holds more than {acknowledged} rows");
        assert_eq!(log.failure().expect("a full device").sqlstate(), "53100", "{calls:?}");
    }
}

/// The other streams' spares are worth less than the log.
#[test]
fn spares_make_room_for_a_segment_that_is_needed() {
    let mut world = World::new();
    world.config.segment_bytes = 4 * PIECE_BYTES as u64;
    let log = world.poplar(2);
    let spare = segment_path(&World::directory(1), Generation(0), 1);
    world.disk.inner.put(&spare, &vec![0; 4 * PIECE_BYTES]);
    commit(&log, 0, 0);
    commit(&log, 1, 0);
    world.spawn.settle_for_good();
    let begins = [StreamBegin { sequence: 1, durable: Stamp(0) }; 2];
    log.recycle(&begins, std::slice::from_ref(&spare));
    world.spawn.settle_for_good();
    let disk = world.disk.inner.clone();
    let gone = spare.clone();
    world.disk.set_rule(move |call| {
        let is_full = call.starts_with("allocate") && disk.exists(&gone).unwrap();
        is_full.then(|| io::Error::from_raw_os_error(ENOSPC))
    });
    commit_rows(&world, &log, 300);
    assert!(!world.disk.exists(&spare).unwrap(), "it was given up");
    log.close().unwrap();
}

/// Somebody made room by hand: what he removed is no spare, and the others are given up.
#[test]
fn a_spare_that_is_gone_makes_no_room_and_does_no_harm() {
    let mut world = World::new();
    world.config.segment_bytes = 4 * PIECE_BYTES as u64;
    let log = world.poplar(2);
    let spares = [1, 2].map(|sequence| segment_path(&World::directory(1), Generation(0), sequence));
    spares.iter().for_each(|spare| world.disk.inner.put(spare, &vec![0; 4 * PIECE_BYTES]));
    commit(&log, 0, 0);
    commit(&log, 1, 0);
    world.spawn.settle_for_good();
    log.recycle(&[StreamBegin { sequence: 1, durable: Stamp(0) }; 2], &spares);
    world.spawn.settle_for_good();
    let (disk, gone) = (world.disk.inner.clone(), spares[1].clone());
    world.disk.inner.remove(&spares[0]).unwrap();
    world.disk.set_rule(move |call| {
        let is_full = call.starts_with("allocate") && disk.exists(&gone).unwrap();
        is_full.then(|| io::Error::from_raw_os_error(ENOSPC))
    });
    commit_rows(&world, &log, 300);
    assert!(!world.disk.exists(&spares[1]).unwrap(), "it was given up");
    log.close().unwrap();
}

/// Segments that a checkpoint gives back need no room.
#[test]
fn what_a_checkpoint_gives_back_is_prepared_at_once() {
    let (world, log) = world();
    fail_on(&world, &["allocate", "sync prepared"], ENOSPC);
    world.clock.advance(std::time::Duration::from_millis(2));
    world.spawn.settle_for_good();
    let old = segment_path(&World::directory(0), Generation(0), 1);
    world.disk.inner.put(&old, &vec![0; 4 * PIECE_BYTES]);
    log.recycle(&[StreamBegin { sequence: 1, durable: Stamp(0) }], std::slice::from_ref(&old));
    world.spawn.settle_for_good();
    assert!(!world.disk.exists(&old).unwrap(), "it is the blank, under another name");
    world.disk.clear_rule();
    commit_rows(&world, &log, 200);
    log.close().unwrap();
}

/// What a logger writes ahead of its batches is no more than zeros either. Nothing fills the first segment for it.
#[test]
fn zeros_ahead_of_a_batch_that_are_refused_cost_nothing() {
    let world = World::new();
    let log = world.poplar(1);
    let mut writes = 0;
    world.disk.set_rule(move |call| {
        writes += u32::from(call.starts_with("write 00000001-00000001"));
        (writes == 1).then(|| io::Error::from_raw_os_error(ENOSPC)).filter(|_| call.starts_with("write 0"))
    });
    commit_rows(&world, &log, 40);
    log.close().unwrap();
}

/// A removal that a copy-on-write file system has no room for waits.
#[test]
fn a_removal_that_is_refused_is_tried_again() {
    let (world, log) = world();
    world.spawn.settle_for_good();
    let olds: Vec<_> = (1..=4).map(|number| segment_path(&World::directory(0), Generation(0), number)).collect();
    olds.iter().for_each(|old| world.disk.inner.put(old, &vec![0; 4 * PIECE_BYTES]));
    fail_on(&world, &["remove"], ENOSPC);
    log.recycle(&[StreamBegin { sequence: 1, durable: Stamp(0) }], &olds);
    world.spawn.settle();
    commit_rows(&world, &log, 10);
    world.disk.clear_rule();
    world.spawn.settle_for_good();
    let left = olds.iter().filter(|old| world.disk.exists(old).unwrap()).count();
    assert!(left < olds.len(), "the surplus goes");
    log.close().unwrap();
}

/// Other names lie in the directory, one of which a logger may have given just now: its sync is nobody's alone.
#[test]
fn a_directory_that_cannot_be_synced_ends_the_log() {
    let (world, log) = world();
    world.spawn.settle_for_good();
    let old = segment_path(&World::directory(0), Generation(0), 1);
    world.disk.inner.put(&old, &vec![0; 4 * PIECE_BYTES]);
    log.recycle(&[StreamBegin { sequence: 1, durable: Stamp(0) }], std::slice::from_ref(&old));
    // The blank goes to the logger, the next one is made of the old segment, and only the sync of that name fails.
    let (mut was_renamed, mut failed) = (false, 0);
    world.disk.set_rule(move |call| {
        let is_due = std::mem::replace(&mut was_renamed, call.starts_with("rename prepared"));
        failed += u32::from(is_due && call.starts_with("sync_dir"));
        (is_due && failed == 1).then(|| io::Error::from_raw_os_error(ENOSPC))
    });
    commit_to_the_end(&world, &log);
    assert_eq!(log.failure().expect("a failed sync").sqlstate(), "53100");
}

/// Anything else than a lack of room is the end.
#[test]
fn a_blank_with_an_input_output_error_ends_the_log() {
    for calls in [&["write prepared"][..], &["sync prepared"]] {
        let (world, log) = world();
        fail_on(&world, calls, EIO);
        world.clock.advance(std::time::Duration::from_millis(2));
        world.spawn.settle_for_good();
        assert_eq!(log.failure().expect("a broken device").sqlstate(), "58030", "{calls:?}");
    }
}
