//! Blanks: how they are filled, found again and given up.

use std::path::Path;
use std::time::Duration;

use super::{FIRST_SEQUENCE, PIECE_BYTES, REMOVAL_PAUSE, SPARES_MIN, StreamBegin};
use crate::ids::Stamp;
use crate::log::CommitLog;
use crate::log::world_for_tests::{World, commit, commit_row};

/// A world whose segments take several pieces of zeros.
fn world() -> World {
    let mut world = World::new();
    world.config.segment_bytes = 4 * PIECE_BYTES as u64;
    world
}

fn zero_writes(world: &World) -> usize {
    world.disk.inner.take_calls().iter().filter(|call| call.starts_with("write prepared")).count()
}

#[test]
fn zeros_are_written_gently_while_nothing_hurries() {
    let world = world();
    let log = world.poplar(1);
    world.spawn.settle();
    world.disk.inner.take_calls();
    world.clock.advance(Duration::from_millis(2));
    world.spawn.settle();
    assert_eq!(zero_writes(&world), 1, "one piece per pause");
    world.spawn.settle_for_good();
    assert_eq!(zero_writes(&world), 2, "four in all, the first at once");
    world.spawn.settle_for_good();
    assert_eq!(zero_writes(&world), 0);
    log.close().unwrap();
}

#[test]
fn zeros_keep_ahead_of_the_logger() {
    let world = world();
    let log = world.poplar(1);
    commit(&log, 0, 0);
    world.spawn.settle();
    // The first segment is in use, the next blank has its first piece. The clock stands still for the logger's half.
    world.clock.advance(Duration::from_millis(2));
    for _ in 0..64 {
        commit_row(&log, 0, 1, 1, 7000).unwrap();
        world.spawn.settle();
    }
    world.disk.inner.take_calls();
    world.clock.advance(Duration::from_millis(2));
    world.spawn.settle();
    assert_eq!(zero_writes(&world), 2, "as many as it takes, without a pause");
    log.close().unwrap();
}

#[test]
fn large_batches_are_not_prepared_for() {
    let mut world = world();
    world.config.ring_bytes = 1 << 20;
    world.config.segment_bytes = 8 << 20;
    world.config.transaction_log_bytes_max = 256 << 10;
    let log = world.poplar(1);
    for _ in 0..100 {
        for _ in 0..3 {
            commit_row(&log, 0, 1, 1, 250 << 10).unwrap();
        }
        world.spawn.settle();
    }
    world.disk.inner.take_calls();
    world.clock.advance(Duration::from_secs(1));
    world.spawn.settle_for_good();
    assert_eq!(zero_writes(&world), 0);
    log.close().unwrap();
}

#[test]
fn leftovers_of_the_wrong_length_are_removed_and_numbers_go_on() {
    let world = world();
    let layout = world.layout(1, 1, 0);
    let path = |number: u64| World::directory(0).join(format!("prepared-{number}.log"));
    world.disk.inner.put(&path(3), &[0; 4096]);
    world.disk.inner.put(&path(7), &vec![0; 4 * PIECE_BYTES]);
    world.disk.inner.put(&path(8), &vec![0; 4 * PIECE_BYTES]);
    world.disk.inner.put(Path::new("/db/stream-0/notes.txt"), b"not ours");
    let foreign = Path::new("/db/stream-0/prepared-5.log");
    world.disk.inner.put(foreign, &vec![9; 4 * PIECE_BYTES]);
    let log = CommitLog::start(&world.config, layout).unwrap();
    let files = crate::io::Disk::list(&world.disk, &World::directory(0)).unwrap();
    assert_eq!(files, [Path::new("/db/stream-0/notes.txt"), foreign, &path(7), &path(8)]);
    commit(&log, 0, 0);
    world.spawn.settle_for_good();
    let exists = |number| crate::io::Disk::exists(&world.disk, &path(number)).unwrap();
    assert!(exists(9) && !exists(8), "the next blank is made of what was left over");
    log.close().unwrap();
}

#[test]
fn as_many_segments_are_kept_as_a_checkpoint_gave_back() {
    let mut world = world();
    world.config.checkpoint_log_bytes = 0;
    let layout = world.layout(1, 1, 0);
    let path = |number: u64| World::directory(0).join(format!("prepared-{number}.log"));
    let leftovers = SPARES_MIN as u64 + 4;
    (0..leftovers).for_each(|number| world.disk.inner.put(&path(number), &vec![0; 4 * PIECE_BYTES]));
    let log = CommitLog::start(&world.config, layout).unwrap();
    let count = || crate::io::Disk::list(&world.disk, &World::directory(0)).unwrap().len();
    assert_eq!(count(), leftovers as usize);
    world.spawn.settle();
    let once = count();
    assert!(once + 1 >= leftovers as usize, "they go one by one");
    for _ in 0..leftovers {
        world.clock.advance(REMOVAL_PAUSE);
        world.spawn.settle();
    }
    // One more is the blank.
    assert_eq!(count(), SPARES_MIN + 1);
    log.close().unwrap();
}

#[test]
fn a_segment_that_becomes_a_blank_has_that_name_for_good() {
    let world = world();
    let (log, old) = (world.poplar(1), World::directory(0).join("00000000-00000001.log"));
    world.disk.inner.put(&old, &vec![0; 4 * PIECE_BYTES]);
    log.recycle(&[StreamBegin { sequence: FIRST_SEQUENCE, durable: Stamp(0) }], &[old]);
    world.disk.inner.take_calls();
    commit(&log, 0, 0);
    world.spawn.settle();
    let calls = world.disk.inner.take_calls();
    let renamed = calls.iter().position(|call| call == "rename prepared-2.log").unwrap_or_else(|| panic!("{calls:?}"));
    assert_eq!(calls[renamed + 1], "sync_dir stream-0", "{calls:?}");
    log.close().unwrap();
}
