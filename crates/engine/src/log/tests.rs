//! The protocols over hand-stepped tasks: who is acknowledged when, and what it costs.

use std::future::Future;
use std::time::Duration;

use super::world_for_tests::{World, commit, commit_row, draw, is_acknowledged, reader, receipt_of, row_record_bytes};
use super::{CommitLog, with_protocol};
use crate::error::LogError;
use crate::ids::{Epoch, Stamp, StreamId};
use crate::log::format::batch;
use crate::log::persist::StreamMetrics;
use crate::log::protocol::Committed;

const FIRST_SEGMENT_SYNCS: u64 = 3;

#[test]
fn a_commit_is_acknowledged_after_its_sync_and_not_before() {
    let world = World::new();
    let log = world.poplar(1);
    world.spawn.settle_for_good();
    let observed = commit(&log, 0, 0);
    world.disk.inner.take_calls();
    let logger = "osier-logger-0";
    for _ in 0..2 {
        assert!(!is_acknowledged(&log, &observed));
        world.spawn.step(logger);
    }
    let calls = world.disk.inner.take_calls();
    assert_eq!(calls.last().map(String::as_str), Some("write 00000001-00000001.log"), "{calls:?}");
    assert!(!is_acknowledged(&log, &observed), "written is not durable");
    world.spawn.step(logger);
    assert_eq!(world.disk.inner.take_calls(), ["sync 00000001-00000001.log"]);
    assert!(is_acknowledged(&log, &observed));
    assert_eq!(log.csn(), observed.stamp);
}

#[test]
fn a_lone_writer_over_four_streams_pays_one_sync_per_batch() {
    let world = World::new();
    let log = world.poplar(4);
    world.spawn.settle_for_good();
    let mut base = 0;
    for _ in 0..25 {
        let observed = commit(&log, 2, base);
        base = observed.stamp.0;
        world.spawn.settle();
        assert!(is_acknowledged(&log, &observed), "certificates carry every stream along");
        assert_eq!(log.csn(), observed.stamp);
    }
    world.spawn.settle_for_good();
    assert_eq!(world.disk.log_syncs(), 25, "one device sync per batch, none by the idle streams");
    let metrics = log.metrics();
    assert_eq!(metrics.total().batches, 25);
    assert_eq!(metrics.total().records, 25);
    assert_eq!(metrics.total().markers, 0);
    assert_eq!(metrics.total().syncs, 25 + FIRST_SEGMENT_SYNCS);
    assert_eq!(metrics.streams[2].certificates, 3 * 25);
    assert_eq!(metrics.streams[0], StreamMetrics::default());
}

#[test]
fn a_reader_of_an_idle_database_is_acknowledged_without_further_commits() {
    for streams in [1, 2, 4] {
        for wait in [false, true] {
            let world = World::new();
            let log = world.poplar(streams);
            let written = commit(&log, 0, 0);
            let receipt = receipt_of(&log, &reader(written.stamp));
            assert!(!receipt.is_acknowledged().unwrap());
            if wait {
                world.spawn.settle();
            } else {
                world.spawn.settle_for_good();
            }
            assert!(receipt.is_acknowledged().unwrap(), "{streams} streams");
            let late = receipt_of(&log, &reader(written.stamp));
            assert!(late.is_acknowledged().unwrap());
        }
    }
}

/// Both streams are in flight at the same time, so neither certifies the other; stream 0 ends up behind.
fn one_behind_the_other(world: &World) -> (CommitLog, Committed<Stamp>) {
    let log = world.poplar(2);
    world.spawn.settle_for_good();
    commit(&log, 0, 0);
    world.spawn.step("osier-logger-0");
    let ahead = commit(&log, 1, 100);
    for _ in 0..3 {
        world.spawn.step("osier-logger-1");
    }
    assert!(log.csn() < ahead.stamp);
    (log, ahead)
}

#[test]
fn a_stream_that_fell_behind_writes_a_marker_at_once_when_somebody_waits() {
    let world = World::new();
    let (log, ahead) = one_behind_the_other(&world);
    world.spawn.settle();
    assert!(!is_acknowledged(&log, &reader(ahead.stamp)), "nobody waits, so nothing is hurried");
    let mut receipt = receipt_of(&log, &reader(ahead.stamp));
    assert!(poll(&mut receipt).is_pending());
    world.spawn.settle();
    assert!(poll(&mut receipt).is_ready(), "the clock has not moved");
    assert_eq!(log.metrics().total().markers, 1);
}

#[test]
fn a_stream_that_fell_behind_catches_up_when_nobody_waits_and_then_all_sleep() {
    let world = World::new();
    let (log, ahead) = one_behind_the_other(&world);
    world.spawn.settle();
    world.clock.advance(Duration::from_millis(2));
    world.spawn.settle();
    assert!(is_acknowledged(&log, &reader(ahead.stamp)));
    world.spawn.settle_for_good();
    world.clock.advance(Duration::from_secs(3600));
    assert!(world.spawn.awake().is_empty(), "nothing to write, nobody active: everyone sleeps for ever");
    assert_eq!(log.metrics().total().markers, 1);
    assert_eq!(log.metrics().total().batches, 3);
}

#[test]
fn stamps_rise_above_what_a_stream_was_certified_for() {
    let world = World::new();
    let log = world.poplar(3);
    let first = commit(&log, 0, 500);
    assert_eq!(first.stamp, Stamp(501));
    world.spawn.settle();
    // Stream 1 wrote nothing and is durable up to 501 all the same: P2 binds its next record.
    let blind = commit(&log, 1, 0);
    assert!(blind.stamp > first.stamp);
    assert!(!is_acknowledged(&log, &blind));
    world.spawn.settle();
    assert!(is_acknowledged(&log, &blind));
}

#[test]
fn a_blind_write_waits_for_its_own_stream_only() {
    let world = World::new();
    let log = world.poplar(2);
    world.spawn.settle_for_good();
    let slow = commit(&log, 0, 0);
    world.spawn.step("osier-logger-0");
    let blind = commit_row(&log, 1, slow.stamp.0, 0, 20).unwrap();
    let reading = commit_row(&log, 1, blind.stamp.0, blind.stamp.0, 20).unwrap();
    for _ in 0..3 {
        world.spawn.step("osier-logger-1");
    }
    assert!(!is_acknowledged(&log, &slow));
    assert!(is_acknowledged(&log, &blind), "what it overwrote need not be durable (Poplar's Qww)");
    assert!(!is_acknowledged(&log, &reading), "what it read may lean on stream 0");
    world.spawn.settle();
    assert!(is_acknowledged(&log, &slow));
    world.spawn.settle_for_good();
    assert!(is_acknowledged(&log, &reading));
}

#[test]
fn serial_lsns_are_positions_above_the_floor() {
    let world = World::new();
    let log = world.serial(1_000_000);
    let row = [0; 20];
    let bytes = row_record_bytes(Stamp::ZERO, &row) as u64;
    let first = commit(&log, 0, 0);
    let second = commit(&log, 0, first.stamp.0);
    assert_eq!(first.stamp, Stamp(1_000_000 + batch::header_bytes(1) as u64 + bytes));
    assert_eq!(second.stamp, Stamp(first.stamp.0 + bytes));
    assert!(!is_acknowledged(&log, &reader(first.stamp)));
    world.spawn.settle();
    assert!(is_acknowledged(&log, &second));
    assert!(is_acknowledged(&log, &reader(second.stamp)));
    let third = commit(&log, 0, second.stamp.0);
    assert!(third.stamp > second.stamp && !is_acknowledged(&log, &third));
    let ends = log.close().unwrap();
    assert_eq!(ends[0].stamp, third.stamp);
    assert!(is_acknowledged(&log, &third));
}

#[test]
fn without_a_log_everything_is_acknowledged_at_once() {
    let log = CommitLog::unlogged();
    let slot = draw(&log, StreamId(0), Stamp(41), 0).unwrap();
    let slot = slot.expect("nothing is ever full");
    assert_eq!(slot.stamp(), Stamp(42));
    slot.fill(|_, _| panic!("there is no log to write to"));
    let observed = Committed { stamp: Stamp(42), stream: StreamId(0), epoch: Epoch(3), raw_dep: Stamp(41) };
    assert!(is_acknowledged(&log, &observed));
    let receipt = receipt_of(&log, &observed);
    assert!(receipt.is_acknowledged().unwrap());
    receipt.wait().unwrap();
    assert_eq!((receipt.stamp(), receipt.epoch()), (Stamp(42), Epoch(3)));
    assert_eq!(log.close().unwrap(), []);
}

#[test]
fn a_relaxed_receipt_is_born_acknowledged() {
    let world = World::new();
    let log = world.poplar(1);
    let observed = commit(&log, 0, 0);
    assert!(
        log.receipts().relaxed(with_protocol!(log, protocol => observed.outcome(protocol))).is_acknowledged().unwrap()
    );
    assert!(!receipt_of(&log, &observed).is_acknowledged().unwrap());
}

#[test]
fn a_record_beyond_the_limit_is_refused_before_anything_is_drawn() {
    let world = World::new();
    let log = world.poplar(1);
    let error = commit_row(&log, 0, 0, 0, 17 << 10).unwrap_err();
    assert!(matches!(error, LogError::RecordTooLarge { limit: 16_384, .. }), "{error}");
    assert!(error.to_string().contains("transaction_log_bytes_max"));
    assert_eq!(commit(&log, 0, 0).stamp, Stamp(1));
}

#[test]
fn timed_group_commit_gathers_until_its_time() {
    let mut world = World::new();
    world.config.group_commit_interval = Duration::from_millis(5);
    let log = world.poplar(2);
    world.spawn.settle();
    world.clock.advance(Duration::from_millis(20));
    world.spawn.settle();
    let first = commit(&log, 0, 0);
    world.spawn.settle();
    world.clock.advance(Duration::from_millis(5));
    world.spawn.settle();
    assert!(is_acknowledged(&log, &first));
    for _ in 0..10 {
        commit(&log, 0, 1);
        world.spawn.settle();
    }
    assert_eq!(log.metrics().total().batches, 1, "all ten wait for the clock");
    world.clock.advance(Duration::from_millis(5));
    world.spawn.settle();
    assert_eq!(log.metrics().total().batches, 2);
    assert_eq!(log.metrics().total().records, 11);
    // A ring that fills up is written before its time.
    while log.metrics().total().batches == 2 {
        commit_row(&log, 0, 1, 1, 8 << 10).unwrap();
        world.spawn.settle();
    }
    assert_eq!(log.close().unwrap().len(), 2);
}

pub(super) fn poll(receipt: &mut crate::Receipt) -> std::task::Poll<Result<(), LogError>> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    std::pin::Pin::new(receipt).poll(&mut context)
}
