//! What loggers put on disk, and how they end: rotation, failures, closing. By hand and over threads.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use crate::error::{LogError, LogFailure};
use crate::ids::{LogOffset, Stamp, StreamId};
use crate::io::Disk;
use crate::log::CommitLog;
use crate::log::acknowledge::Receipt;
use crate::log::world_for_tests::{
    World, commit, commit_row, draw, is_acknowledged, read_stream, reader, receipt_of, write_row,
};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

#[test]
fn every_record_is_found_in_order_across_segments() {
    let world = World::new();
    let log = world.poplar(1);
    let mut stamps = Vec::new();
    for round in 0..300_u64 {
        let base = stamps.last().copied().unwrap_or(0);
        stamps.push(commit_row(&log, 0, base, base, 1000 + (round as usize * 37) % 5000).unwrap().stamp.0);
        if round.is_multiple_of(3) {
            world.spawn.settle();
        }
    }
    let ends = log.close().unwrap();
    world.disk.inner.crash();
    let segments = read_stream(&world.disk, &World::identity(1, 0, 1)).unwrap();
    assert!(segments.len() > 5, "{} segments", segments.len());
    let records = segments.iter().flat_map(|(_, batches)| batches).flat_map(|batch| &batch.records);
    assert_eq!(records.map(|record| record.stamp.0).collect::<Vec<_>>(), stamps);
    assert_eq!(segments.last().unwrap().1.last().unwrap().header.end(), ends[0].end);
    assert_eq!(ends[0].stamp.0, *stamps.last().unwrap());
    // Each floor is the stamp of the last batch before it; P2 across files.
    for pair in segments.windows(2) {
        assert_eq!(pair[1].0.floor, pair[0].1.last().unwrap().header.stamp);
        assert!(pair[1].1.iter().all(|batch| batch.records.iter().all(|record| record.stamp > pair[1].0.floor)));
    }
    assert_eq!(log.metrics().total().segments, segments.len() as u64);
}

#[test]
fn an_unused_stream_leaves_no_segment_and_its_blank_is_used_again() {
    let world = World::new();
    let log = world.poplar(2);
    commit(&log, 0, 0);
    let ends = log.close().unwrap();
    assert_eq!(ends[1].end, LogOffset(0));
    assert_eq!(ends[0].stamp, ends[1].stamp, "stream 1 is certified");
    let files = |stream| {
        let entries = crate::io::Disk::list(&world.disk, &World::directory(stream)).unwrap();
        let names = entries.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(files(1), ["prepared-1.log"]);
    let layout = world.layout(2, 2, ends[0].stamp.0);
    let log = CommitLog::start(&world.config, layout).unwrap();
    assert!(commit(&log, 1, 0).stamp > ends[0].stamp, "new numbers start above the floor");
    log.close().unwrap();
    assert!(files(1).contains(&"00000002-00000001.log".to_owned()), "{:?}", files(1));
    assert!(!files(1).contains(&"prepared-1.log".to_owned()), "{:?}", files(1));
}

/// A log whose process uses all the time of its processors, and the logger of whose only stream knows that and has just
/// written a batch.
fn rested() -> (World, CommitLog) {
    let world = World::new();
    world.spawn.is_short.store(true, Ordering::SeqCst);
    let log = world.poplar(1);
    commit_row(&log, 0, 0, 0, 20).unwrap();
    world.spawn.settle_for_good();
    for _ in 0..3 {
        world.clock.advance(Duration::from_millis(11));
        let asked = receipt_of(&log, &write_row(&log, 0, log.csn().0, log.csn().0, 20).unwrap());
        assert!(!asked.is_acknowledged().unwrap());
        world.spawn.settle();
        assert!(asked.is_acknowledged().unwrap(), "the last batch is long past");
    }
    (world, log)
}

#[test]
fn a_logger_rests_where_processors_are_short_and_nobody_waits() {
    let (world, log) = rested();
    let batches = log.metrics().total().batches;
    let asked = receipt_of(&log, &write_row(&log, 0, log.csn().0, log.csn().0, 20).unwrap());
    for _ in 0..3 {
        assert!(!asked.is_acknowledged().unwrap());
        drop(receipt_of(&log, &write_row(&log, 0, log.last_stamp().0, 0, 20).unwrap()));
        world.spawn.settle();
        world.clock.advance(Duration::from_micros(600));
    }
    assert_eq!(log.metrics().total().batches, batches, "it rests");
    world.clock.advance(Duration::from_micros(600));
    world.spawn.settle();
    assert!(asked.is_acknowledged().unwrap());
    assert_eq!(log.metrics().total().batches, batches + 1, "all of them together");
}

#[test]
fn who_waits_or_awaits_ends_a_rest() {
    let (world, log) = rested();
    let wait: [fn(Receipt); 2] = [
        |receipt| receipt.wait().unwrap(),
        |mut receipt| {
            let mut context = Context::from_waker(Waker::noop());
            assert!(Pin::new(&mut receipt).poll(&mut context).is_pending());
            // Dropped, it wants nothing any more.
            std::mem::forget(receipt);
        },
    ];
    for wait in wait {
        let asked = receipt_of(&log, &write_row(&log, 0, log.last_stamp().0, 0, 20).unwrap());
        assert!(!asked.is_acknowledged().unwrap());
        world.spawn.settle();
        assert!(!asked.is_acknowledged().unwrap(), "it rests");
        wait(receipt_of(&log, &write_row(&log, 0, log.last_stamp().0, 0, 20).unwrap()));
        world.spawn.settle();
        assert!(asked.is_acknowledged().unwrap(), "the clock stands still");
    }
}

#[test]
fn a_logger_does_not_rest_where_processors_are_idle() {
    let (world, log) = rested();
    world.spawn.is_short.store(false, Ordering::SeqCst);
    world.clock.advance(Duration::from_millis(11));
    for _ in 0..3 {
        let asked = receipt_of(&log, &write_row(&log, 0, log.last_stamp().0, 0, 20).unwrap());
        assert!(!asked.is_acknowledged().unwrap());
        world.spawn.settle();
        assert!(asked.is_acknowledged().unwrap(), "the clock stands still");
    }
}

#[test]
fn a_blank_that_somebody_has_removed_is_made_again() {
    let world = World::new();
    let log = world.poplar(1);
    commit(&log, 0, 0);
    world.spawn.settle_for_good();
    let is_prepared = |path: &PathBuf| path.to_string_lossy().contains("prepared-");
    for path in world.disk.list(&World::directory(0)).unwrap().into_iter().filter(is_prepared) {
        world.disk.inner.remove(&path).unwrap();
    }
    for _ in 0..300 {
        let observed = commit_row(&log, 0, 1, 1, 1000).unwrap();
        world.spawn.settle();
        assert!(is_acknowledged(&log, &observed), "{:?}", log.failure());
    }
    log.close().unwrap();
}

#[test]
fn certificates_are_durable_with_the_batch_that_carries_them() {
    let world = World::new();
    let log = world.poplar(3);
    let observed = commit(&log, 1, 9);
    world.spawn.settle();
    drop(log.close().unwrap());
    world.disk.inner.crash();
    let found = read_stream(&world.disk, &World::identity(1, 1, 3)).unwrap();
    let batch = &found[0].1[0];
    let certified: Vec<_> = batch.certificates.iter().map(|word| (word.stream.0, word.stamp)).collect();
    assert_eq!(certified, [(0, observed.stamp), (2, observed.stamp)]);
    assert!(batch.certificates.iter().all(|word| word.reach == LogOffset(0)), "nothing was written there");
}

/// Fails the first call that `matches` with `code`, and all later ones.
fn fail_on(world: &World, matches: &'static str, code: i32) {
    world.disk.set_rule(move |call| call.starts_with(matches).then(|| io::Error::from_raw_os_error(code)));
}

#[test]
fn a_failed_sync_fails_every_receipt_with_the_file_and_the_cure() {
    let world = World::new();
    let log = world.poplar(2);
    let durable = commit(&log, 0, 0);
    world.spawn.settle_for_good();
    let before = receipt_of(&log, &durable);
    fail_on(&world, "sync 00000001-00000001.log", EIO);
    let lost = receipt_of(&log, &commit(&log, 0, 1));
    let elsewhere = receipt_of(&log, &commit(&log, 1, 1));
    assert!(!lost.is_acknowledged().unwrap());
    world.spawn.settle();
    for receipt in [&lost, &elsewhere] {
        let error = receipt.is_acknowledged().unwrap_err();
        assert!(error.to_string().contains("00000001-00000001.log"), "{error}");
        assert!(error.to_string().contains("open it again to recover"), "{error}");
        assert_eq!(error.sqlstate(), "58030");
        assert!(receipt.wait().is_err());
    }
    assert!(before.is_acknowledged().unwrap(), "what was durable stays durable");
    // Nothing is tried again, nothing more is taken.
    world.disk.clear_rule();
    world.disk.inner.take_calls();
    assert!(matches!(draw(&log, StreamId(1), Stamp(3), 64), Err(LogError::Failed(_))));
    world.spawn.settle_for_good();
    assert_eq!(world.disk.inner.take_calls(), Vec::<String>::new());
    assert_eq!(world.spawn.live(), 0, "every task has ended");
    assert!(matches!(log.close(), Err(LogError::Failed(_))));
}

#[test]
fn every_operation_of_a_logger_that_fails_fails_the_log() {
    for matches in ["write 0", "sync 0", "rename", "sync_dir", "open 0", "write prep", "sync prep"] {
        let world = World::new();
        let log = world.poplar(1);
        world.spawn.settle_for_good();
        fail_on(&world, matches, EIO);
        let receipt = receipt_of(&log, &commit(&log, 0, 0));
        world.spawn.settle_for_good();
        let error = receipt.is_acknowledged().unwrap_err();
        assert!(
            matches!(&error, LogError::Failed(failure) if matches!(**failure, LogFailure::Device { .. })),
            "{error}"
        );
    }
}

#[test]
fn a_panicking_logger_fails_the_log() {
    let world = World::new();
    let log = world.poplar(2);
    world.spawn.settle_for_good();
    world.disk.set_rule(|call| if call.starts_with("write 0") { panic!("on purpose") } else { None });
    let receipt = receipt_of(&log, &commit(&log, 1, 0));
    world.spawn.settle_for_good();
    let error = receipt.is_acknowledged().unwrap_err();
    assert!(error.to_string().contains("osier-logger-1"), "{error}");
    assert_eq!(world.spawn.live(), 0);
}

#[test]
fn a_directory_that_cannot_be_written_fails_at_the_start() {
    let world = World::new();
    let layout = world.layout(1, 2, 0);
    world.disk.inner.set_read_only(true);
    let error = CommitLog::start(&world.config, layout).err().unwrap();
    assert!(error.to_string().contains("prepared-1.log"), "{error}");
}

#[test]
fn a_full_device_loses_nothing_that_was_acknowledged_and_says_what_to_do() {
    let world = World::new();
    let log = world.poplar(1);
    world.spawn.settle_for_good();
    commit(&log, 0, 0);
    fail_on(&world, "allocate", ENOSPC);
    world.spawn.settle_for_good();
    let mut acknowledged = Vec::new();
    let error = loop {
        match commit_row(&log, 0, 1, 1, 8000) {
            Ok(observed) => {
                world.spawn.settle();
                if is_acknowledged(&log, &observed) {
                    acknowledged.push(observed.stamp);
                }
            }
            Err(error) => break error,
        }
    };
    assert!(acknowledged.len() > 5, "the segment at hand is used up first: {}", acknowledged.len());
    assert_eq!(error.sqlstate(), "53100");
    assert!(error.to_string().contains("free space on that device"), "{error}");
    world.disk.inner.crash();
    let found = read_stream(&world.disk, &World::identity(1, 0, 1)).unwrap();
    let records: Vec<_> = found.iter().flat_map(|(_, batches)| batches).flat_map(|batch| &batch.records).collect();
    assert!(acknowledged.iter().all(|stamp| records.iter().any(|record| record.stamp == *stamp)));
}

#[test]
fn space_that_is_freed_in_time_is_used() {
    let world = World::new();
    let log = world.poplar(1);
    fail_on(&world, "allocate", ENOSPC);
    commit(&log, 0, 0);
    world.spawn.settle_for_good();
    world.disk.clear_rule();
    for _ in 0..40 {
        let observed = commit_row(&log, 0, 1, 1, 8000).unwrap();
        world.spawn.settle();
        assert!(is_acknowledged(&log, &observed));
    }
    assert!(log.metrics().total().segments > 2);
}

#[test]
fn closing_makes_everything_durable_and_certified_and_refuses_more() {
    for streams in [1, 2, 4] {
        let world = World::new();
        let log = world.poplar(streams);
        let mut last = Stamp::ZERO;
        for round in 0..20 {
            last = last.max(commit(&log, round % streams, last.0).stamp);
        }
        // One flush is in the middle of its stages.
        world.spawn.step("osier-logger-0");
        let ends = log.close().unwrap();
        assert!(is_acknowledged(&log, &reader(last)));
        assert!(ends.iter().all(|end| end.stamp >= last));
        assert_eq!(world.spawn.live(), 0);
        assert!(matches!(draw(&log, StreamId(0), Stamp(1), 64), Err(LogError::Closed)));
        assert!(matches!(log.close(), Err(LogError::Closed)), "closed once");
        for end in ends {
            let found = read_stream(&world.disk, &World::identity(1, end.stream.0, streams)).unwrap();
            let found = found.last().and_then(|(_, batches)| batches.last()).map(|batch| batch.header.end());
            assert_eq!(found.unwrap_or(LogOffset(0)), end.end);
        }
    }
}

#[test]
fn a_log_that_is_dropped_drains_and_ends_its_tasks() {
    let world = World::new();
    let log = world.poplar(2);
    let receipt = receipt_of(&log, &commit(&log, 0, 0));
    drop(log);
    world.spawn.settle_for_good();
    assert!(receipt.is_acknowledged().unwrap());
    assert_eq!(world.spawn.live(), 0);
}

/// Runs `threads` committers over real threads until each has committed `count` rows or was turned away.
fn commit_from_threads(log: &CommitLog, streams: u32, threads: u32, count: u64, wait: bool) -> (u64, u64) {
    let (acknowledged, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for thread in 0..threads {
            let (acknowledged, failed) = (&acknowledged, &failed);
            scope.spawn(move || {
                let mut base = 0;
                for _ in 0..count {
                    let committed = write_row(log, thread % streams, base, base, 3000);
                    let outcome = committed.and_then(|observed| {
                        base = observed.stamp.0;
                        let receipt = receipt_of(log, &observed);
                        if wait { receipt.wait() } else { Ok(()) }
                    });
                    let counter = if outcome.is_ok() { acknowledged } else { failed };
                    counter.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    (acknowledged.into_inner(), failed.into_inner())
}

#[test]
fn threads_that_overrun_the_ring_are_held_back_and_nothing_is_lost() {
    let world = World::threaded();
    let log = world.poplar(2);
    let (committed, failed) = commit_from_threads(&log, 2, 4, 300, false);
    assert_eq!((committed, failed), (1200, 0), "64 KiB rings took 3.6 MB");
    log.close().unwrap();
    world.disk.inner.crash();
    let count = |stream| {
        let found = read_stream(&world.disk, &World::identity(1, stream, 2)).unwrap();
        found.iter().flat_map(|(_, batches)| batches).map(|batch| batch.records.len()).sum::<usize>()
    };
    assert_eq!(count(0) + count(1), 1200);
}

#[test]
fn threads_that_wait_are_all_woken() {
    for streams in [1, 2, 4] {
        let world = World::threaded();
        let log = world.poplar(streams);
        assert_eq!(commit_from_threads(&log, streams, 8, 200, true), (1600, 0));
        assert_eq!(log.metrics().total().records, 1600);
        log.close().unwrap();
    }
}

#[test]
fn threads_that_wait_are_all_told_when_the_device_fails() {
    let world = World::threaded();
    let log = world.poplar(2);
    let syncs = AtomicU64::new(0);
    world.disk.set_rule(move |call| {
        let is_doomed = call.starts_with("sync 0") && syncs.fetch_add(1, Ordering::SeqCst) > 40;
        is_doomed.then(|| io::Error::from_raw_os_error(EIO))
    });
    let (acknowledged, failed) = commit_from_threads(&log, 2, 8, 400, true);
    assert!(acknowledged > 0 && failed > 0, "{acknowledged} acknowledged, {failed} failed");
    assert_eq!(acknowledged + failed, 3200, "nobody hangs");
    assert!(matches!(log.close(), Err(LogError::Failed(_))));
}

#[test]
fn threads_that_wait_for_room_are_told_when_the_device_fails() {
    let world = World::threaded();
    let log = world.poplar(1);
    let is_full = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&is_full);
    world.disk.set_rule(move |call| {
        if !call.starts_with("write 0") {
            return None;
        }
        while !gate.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        Some(io::Error::from_raw_os_error(EIO))
    });
    let (committed, failed) = thread::scope(|scope| {
        let committers = scope.spawn(|| commit_from_threads(&log, 1, 4, 50, false));
        thread::sleep(Duration::from_millis(50));
        is_full.store(true, Ordering::SeqCst);
        committers.join().unwrap()
    });
    assert!(committed > 0 && failed > 0, "{committed} committed, {failed} failed");
    assert_eq!(committed + failed, 200);
}

#[test]
fn closing_answers_those_who_wait() {
    let world = World::threaded();
    let log = world.poplar(2);
    thread::scope(|scope| {
        let committers = scope.spawn(|| commit_from_threads(&log, 2, 6, 100_000, true));
        thread::sleep(Duration::from_millis(30));
        log.close().unwrap();
        let (acknowledged, failed) = committers.join().unwrap();
        assert_eq!(acknowledged, log.metrics().total().records, "whatever was stamped is acknowledged");
        assert_eq!(acknowledged + failed, 600_000);
    });
}
