//! The log ring: reserve, fill, close, release.

use super::explore;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, thread};
use crate::{Batch, Closed, Ring, RingConfig, Stamp};

/// Four blocks of two grains, a header of one: a record of a grain or two.
const TINY: RingConfig =
    RingConfig { capacity_bytes: 64, block_bytes: 16, batch_header_bytes: 8, first_offset: 0, floor: Stamp(0) };

fn put(ring: &Ring) -> Result<Stamp, Closed> {
    let reservation = ring.reserve(8, |last, _| last.next())?;
    let stamp = reservation.stamp();
    reservation.fill(|bytes| bytes.copy_from_slice(&stamp.0.to_le_bytes()));
    Ok(stamp)
}

/// A logger's round on records of one grain; appends the stamps it finds.
fn drain(ring: &Ring, raise_to: Stamp, found: &mut Vec<Stamp>) {
    let mut batch: Batch = ring.close_batch(raise_to);
    ring.wait_filled(&batch);
    ring.header_mut(&mut batch).fill(0xff);
    let bytes = ring.parts(&batch).concat();
    let (header, records) = bytes.split_at(8);
    assert!(header.iter().all(|&byte| byte == 0xff));
    for record in records[..batch.record_bytes() as usize].chunks(8) {
        let stamp = Stamp(u64::from_le_bytes(record.try_into().expect("a grain")));
        assert!(found.last().is_none_or(|&last| last < stamp), "stamps increase along the log");
        assert!(stamp <= batch.stamp());
        found.push(stamp);
    }
    assert!(records[batch.record_bytes() as usize..].iter().all(|&byte| byte == 0));
    ring.release(batch);
}

/// Two workers fill while the logger takes two batches: each record is in one of them, whole, and after what is promised.
#[test]
fn a_batch_holds_what_was_reserved() {
    explore(2, || {
        let ring = Arc::new(Ring::new(TINY));
        let workers = [(); 2].map(|()| {
            let ring = Arc::clone(&ring);
            thread::spawn(move || put(&ring).expect("the ring is open"))
        });
        let mut found = Vec::new();
        drain(&ring, Stamp(5), &mut found);
        assert!(found.iter().all(|stamp| stamp.0 <= 2));
        let early = found.len();
        let mut put = workers.map(|worker| worker.join().expect("a worker is content"));
        drain(&ring, Stamp::ZERO, &mut found);
        assert!(found[early..].iter().all(|stamp| stamp.0 > 5), "later records come after the batch's stamp");
        put.sort();
        assert_eq!(found, put);
    });
}

/// Two workers write more than fits; whoever waits for space is woken, and bytes of an earlier lap are not mistaken.
#[test]
fn a_full_ring_wakes_its_workers() {
    explore(2, || {
        let ring = Arc::new(Ring::new(TINY));
        // A header and seven records leave no room.
        for _ in 0..7 {
            put(&ring).expect("the ring is open");
        }
        let workers = [(); 2].map(|()| {
            let ring = Arc::clone(&ring);
            thread::spawn(move || put(&ring).expect("the ring is open"))
        });
        let mut found = Vec::new();
        drain(&ring, Stamp::ZERO, &mut found);
        let put = workers.map(|worker| worker.join().expect("a worker is content"));
        drain(&ring, Stamp::ZERO, &mut found);
        assert_eq!(found.len(), 9);
        assert!(put.iter().all(|stamp| found.contains(stamp)));
    });
}

/// Closing wakes whoever waits; nobody is left waiting, and what got in is drained.
#[test]
fn closing_wakes_the_workers() {
    explore(3, || {
        let ring = Arc::new(Ring::new(TINY));
        for _ in 0..6 {
            put(&ring).expect("the ring is open");
        }
        let workers = [(); 2].map(|()| {
            let ring = Arc::clone(&ring);
            thread::spawn(move || put(&ring))
        });
        ring.close();
        let put = workers.map(|worker| worker.join().expect("a worker is content"));
        let got_in = put.iter().filter(|result| result.is_ok()).count();
        assert!(got_in <= 1, "there is room for one");
        let mut found = Vec::new();
        drain(&ring, Stamp::ZERO, &mut found);
        assert_eq!(found.len(), 6 + got_in);
    });
}

/// A stream is certified idle only while nothing is reserved and not durable, and keeps the promise.
#[test]
fn a_certificate_is_kept() {
    explore(3, || {
        let ring = Arc::new(Ring::new(TINY));
        let worker = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || put(&ring).expect("the ring is open"))
        };
        let certified = ring.certify_idle(Stamp(9));
        let mut found = Vec::new();
        drain(&ring, Stamp::ZERO, &mut found);
        let stamp = worker.join().expect("the worker is content");
        assert_eq!(certified, stamp > Stamp(9), "certified before the reservation, refused after it");
        drain(&ring, Stamp::ZERO, &mut found);
        assert_eq!(found, [stamp]);
        assert!(ring.certify_idle(Stamp(20)));
        assert_eq!(ring.last(), Stamp(20));
    });
}

/// Records of one stamp in two rings: who has closed a batch with one of them finds the other one reserved, so it certifies no
/// ring that is about to take its share.
#[test]
fn a_stamp_of_several_rings_is_given_in_all_of_them() {
    explore(3, || {
        let rings = Arc::new([Ring::new(TINY), Ring::new(TINY)]);
        let worker = {
            let rings = Arc::clone(&rings);
            thread::spawn(move || {
                put(&rings[1]).expect("the ring is open");
                let wanted = [(&rings[0], 8), (&rings[1], 8)];
                let shares = Ring::try_reserve_together(&wanted, Stamp::next).expect("the rings are open");
                for share in shares.expect("there is room") {
                    let stamp = share.stamp();
                    share.fill(|bytes| bytes.copy_from_slice(&stamp.0.to_le_bytes()));
                }
            })
        };
        let batch = rings[0].close_batch(Stamp::ZERO);
        if batch.records() > 0 {
            assert_eq!(batch.stamp(), Stamp(2), "it follows the last of every ring");
            assert!(!rings[1].certify_idle(batch.stamp()));
            assert_eq!(rings[1].last(), batch.stamp());
        }
        rings[0].wait_filled(&batch);
        rings[0].release(batch);
        worker.join().expect("the worker is content");
        let mut found = Vec::new();
        drain(&rings[1], Stamp::ZERO, &mut found);
        assert_eq!(found, [Stamp(1), Stamp(2)]);
    });
}

/// Another stream's logger asks for a certificate while the batch is written: it gets one only once that is durable.
#[test]
fn a_certificate_waits_for_the_batch_in_flight() {
    explore(3, || {
        let ring = Arc::new(Ring::new(TINY));
        let durable = Arc::new(AtomicBool::new(false));
        let logger = {
            let (ring, durable) = (Arc::clone(&ring), Arc::clone(&durable));
            thread::spawn(move || {
                let stamp = put(&ring).expect("the ring is open");
                let batch = ring.close_batch(Stamp::ZERO);
                ring.wait_filled(&batch);
                durable.store(true, Ordering::Release);
                ring.release(batch);
                stamp
            })
        };
        let is_certified = ring.certify_idle(Stamp(9));
        let is_durable = durable.load(Ordering::Acquire);
        let stamp = logger.join().expect("the logger is content");
        assert!(!is_certified || is_durable || stamp > Stamp(9), "what is behind a certificate is durable");
    });
}

/// The published copies are never ahead of what the latch protects.
#[test]
fn the_published_stamp_was_given() {
    explore(3, || {
        let ring = Arc::new(Ring::new(TINY));
        let worker = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                put(&ring).expect("the ring is open");
                assert!(ring.last() >= Stamp(1), "a worker sees its own stamp");
            })
        };
        let (has_work, last) = (ring.has_work(), ring.last());
        assert!(!has_work || last == Stamp(1));
        worker.join().expect("the worker is content");
        assert!(ring.has_work());
        let mut found = Vec::new();
        drain(&ring, Stamp::ZERO, &mut found);
        assert!(!ring.has_work());
    });
}
