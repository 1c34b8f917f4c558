//! The log ring as its two sides see it: workers that reserve and fill, and a logger whose copy of the log is walked.
//!
//! Absent: the orders of memory accesses, which the models in `loom_ring.rs` explore.

#![cfg(not(any(loom, shuttle)))]

use osier_memory::sync::atomic::{AtomicU64, Ordering};
use osier_memory::sync::thread;
use std::time::Duration;

use osier_memory::{Closed, Ring, RingConfig, Stamp};
use proptest::prelude::*;

const SMALL: RingConfig =
    RingConfig { capacity_bytes: 1024, block_bytes: 64, batch_header_bytes: 24, first_offset: 640, floor: Stamp(100) };

/// Writes a record that says where and what it is: length, stamp, offset, then bytes derived from these.
fn put(ring: &Ring, len: usize) -> Result<Stamp, Closed> {
    let reservation = ring.reserve(len, |last, _| last.next())?;
    let (stamp, offset) = (reservation.stamp(), reservation.offset());
    reservation.fill(|bytes| encode(bytes, stamp, offset));
    Ok(stamp)
}

fn encode(bytes: &mut [u8], stamp: Stamp, offset: u64) {
    let len = bytes.len() as u32;
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = (stamp.0 as u8).wrapping_add(i as u8);
    }
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    if bytes.len() >= 24 {
        bytes[8..16].copy_from_slice(&stamp.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&offset.to_le_bytes());
    }
}

/// What the logger has written, and what a reader of it may expect.
struct Log {
    bytes: Vec<u8>,
    base: u64,
    header: usize,
    end: u64,
    stamp: Stamp,
    records: u64,
}

impl Log {
    fn new(config: &RingConfig) -> Log {
        let (base, header) = (config.first_offset, config.batch_header_bytes);
        Log { bytes: Vec::new(), base, header, end: base, stamp: config.floor, records: 0 }
    }

    /// Does a logger's round: close, wait, write, release. Checks the batch.
    fn drain(&mut self, ring: &Ring, raise_to: Stamp) {
        let mut batch = ring.close_batch(raise_to);
        assert_eq!(batch.start(), self.end, "batches follow each other");
        assert!(batch.stamp() >= self.stamp.max(raise_to));
        ring.wait_filled(&batch);
        ring.header_mut(&mut batch).fill(0xee);
        let [first, second] = ring.parts(&batch);
        assert_eq!(first.as_ptr().addr() % 64, 0, "parts lie on block boundaries");
        assert!(first.len() % 64 == 0 && second.len() % 64 == 0, "parts are whole blocks");
        assert_eq!((first.len() + second.len()) as u64, batch.end() - batch.start());
        let at = self.bytes.len();
        self.bytes.extend_from_slice(first);
        self.bytes.extend_from_slice(second);
        self.check(at, batch.record_bytes() as usize, batch.stamp());
        self.end = batch.end();
        self.stamp = batch.stamp();
        ring.release(batch);
        assert!(ring.durable_end() >= self.end);
    }

    fn check(&mut self, at: usize, record_bytes: usize, stamp_max: Stamp) {
        let batch = &self.bytes[at..];
        assert!(batch[..self.header].iter().all(|&byte| byte == 0xee), "the header is where it was written");
        let mut rest = &batch[self.header..][..record_bytes];
        while !rest.is_empty() {
            let length = u32::from_le_bytes(rest[..4].try_into().expect("a slice of the right length"));
            let len = (length & !(1 << 31)) as usize;
            let (record, after) = rest.split_at(len);
            let offset = self.base + (self.bytes.len() - after.len()) as u64 - len as u64;
            let offset = offset - (batch.len() - self.header - record_bytes) as u64;
            if length & (1 << 31) != 0 {
                assert!(record[4..].iter().all(|&byte| byte == 0), "a skip is zeros");
            } else {
                self.records += 1;
                if len >= 24 {
                    let stamp =
                        Stamp(u64::from_le_bytes(record[8..16].try_into().expect("a slice of the right length")));
                    assert!(self.stamp < stamp && stamp <= stamp_max, "stamps increase and lie between batches");
                    assert_eq!(
                        u64::from_le_bytes(record[16..24].try_into().expect("a slice of the right length")),
                        offset
                    );
                    let mut expected = vec![0; len];
                    encode(&mut expected, stamp, offset);
                    assert_eq!(record, expected);
                    self.stamp = stamp;
                }
            }
            rest = after;
        }
        assert!(batch[self.header + record_bytes..].iter().all(|&byte| byte == 0), "padding is zeros");
    }
}

#[test]
fn a_batch_holds_what_was_filled() {
    let ring = Ring::new(SMALL);
    let mut log = Log::new(&SMALL);
    assert!(!ring.has_work());
    assert_eq!(ring.last(), Stamp(100));
    assert_eq!(put(&ring, 40), Ok(Stamp(101)));
    assert_eq!(put(&ring, 24), Ok(Stamp(102)));
    assert!(ring.has_work());
    assert_eq!(ring.pending_bytes(), 64);
    log.drain(&ring, Stamp::ZERO);
    assert_eq!((log.records, log.stamp, log.end), (2, Stamp(102), 640 + 128));
    assert!(!ring.has_work());
    log.drain(&ring, Stamp(500));
    assert_eq!(log.end, 640 + 192, "a marker is one block");
    assert_eq!(put(&ring, 24), Ok(Stamp(501)));
}

#[test]
fn a_record_does_not_go_round_the_end() {
    let ring = Ring::new(SMALL);
    let mut log = Log::new(&SMALL);
    // The first batch starts at 640 of 1024, with a header of 24 bytes: 360 bytes are left in this lap.
    put(&ring, 256).unwrap();
    put(&ring, 64).unwrap();
    let after = ring.reserve(64, |last, offset| {
        assert_eq!(offset, 1024, "the order is told where the record lies");
        last.next()
    });
    let after = after.unwrap();
    assert_eq!(after.offset(), 1024, "40 bytes are skipped");
    let (stamp, offset) = (after.stamp(), after.offset());
    after.fill(|bytes| encode(bytes, stamp, offset));
    log.drain(&ring, Stamp::ZERO);
    assert_eq!(log.records, 3);
}

#[test]
fn who_does_not_want_to_wait_is_told_that_there_is_no_room() {
    let ring = Ring::new(SMALL);
    let mut log = Log::new(&SMALL);
    while let Some(reservation) = ring.try_reserve(256, |last, _| last.next()).unwrap() {
        let (stamp, offset) = (reservation.stamp(), reservation.offset());
        reservation.fill(|bytes| encode(bytes, stamp, offset));
    }
    let last = ring.last();
    assert!(last > Stamp(100), "an empty ring has room");
    let refused = ring.try_reserve(256, |_, _| panic!("no stamp is drawn where there is no room")).unwrap();
    assert!(refused.is_none());
    assert_eq!(ring.last(), last);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| ring.wait_for_room(256));
        thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished(), "there is no room");
        log.drain(&ring, Stamp::ZERO);
        assert_eq!(waiting.join().unwrap(), Ok(()));
    });
    let reserved = ring.try_reserve(256, |last, _| last.next()).unwrap().expect("nobody has taken it");
    reserved.fill(|bytes| bytes.fill(0));
    ring.close();
    assert_eq!(ring.wait_for_room(256), Err(Closed));
    assert!(ring.try_reserve(256, |last, _| last.next()).is_err());
}

/// A stamp of several rings is above all that they gave, and where one of them is full none of them gives anything.
#[test]
fn a_record_in_several_rings_has_one_stamp_or_none() {
    let rings = [Ring::new(SMALL), Ring::new(SMALL), Ring::new(SMALL)];
    for _ in 0..3 {
        put(&rings[1], 64).unwrap();
    }
    let wanted = [(&rings[0], 24), (&rings[1], 256), (&rings[2], 8)];
    let together = || Ring::try_reserve_together(&wanted, Stamp::next).unwrap();
    let shares = together().expect("there is room");
    assert!(shares.iter().all(|share| share.stamp() == Stamp(104)), "above the greatest of them");
    shares.into_iter().for_each(|share| share.fill(|bytes| bytes.fill(1)));
    assert!(rings.iter().all(|ring| ring.last() == Stamp(104)));
    while let Some(shares) = together() {
        shares.into_iter().for_each(|share| share.fill(|bytes| bytes.fill(1)));
    }
    let last = rings[1].last();
    assert!(rings.iter().all(|ring| ring.last() == last), "nobody has drawn a stamp that another one could not");
    assert_eq!(rings[0].pending_bytes() % 24, 0);
    rings[1].close();
    assert!(Ring::try_reserve_together(&wanted, Stamp::next).is_err());
    assert_eq!(rings[0].last(), last);
}

#[test]
fn workers_go_on_while_a_batch_is_written() {
    let ring = Ring::new(SMALL);
    let mut log = Log::new(&SMALL);
    put(&ring, 24).unwrap();
    let early = ring.reserve(24, |last, _| last.next()).unwrap();
    let batch = ring.close_batch(Stamp::ZERO);
    assert!(!ring.is_filled(&batch));
    put(&ring, 32).unwrap();
    assert!(!ring.is_filled(&batch), "a record of the next batch does not stand in for one of this");
    let (stamp, offset) = (early.stamp(), early.offset());
    early.fill(|bytes| encode(bytes, stamp, offset));
    ring.wait_filled(&batch);
    assert_eq!(batch.stamp(), stamp);
    assert!(!ring.certify_idle(Stamp(900)), "a batch is in flight");
    log.end = batch.end();
    log.base += batch.end() - batch.start();
    log.stamp = batch.stamp();
    ring.release(batch);
    assert!(!ring.certify_idle(Stamp(900)), "a record is pending");
    log.drain(&ring, Stamp::ZERO);
    assert_eq!(log.records, 1);
    assert!(ring.certify_idle(Stamp(900)));
    assert!(ring.certify_idle(Stamp(800)));
    assert_eq!(ring.last(), Stamp(900), "a promise is not taken back");
    assert_eq!(put(&ring, 32), Ok(Stamp(901)));
}

#[test]
fn a_full_ring_blocks_until_a_batch_is_released() {
    let ring = Ring::new(SMALL);
    let mut log = Log::new(&SMALL);
    let filled = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..20 {
                put(&ring, 128).unwrap();
                filled.fetch_add(1, Ordering::SeqCst);
            }
        });
        while log.records < 20 {
            if ring.has_work() {
                log.drain(&ring, Stamp::ZERO);
                // In memory at most a ring's worth is ahead of what was released.
                assert!(filled.load(Ordering::SeqCst) <= log.records + 8);
            }
            thread::yield_now();
        }
    });
}

#[test]
fn closing_wakes_those_who_wait() {
    let ring = Ring::new(SMALL);
    thread::scope(|scope| {
        let worker = scope.spawn(|| (0..).map(|_| put(&ring, 256)).take_while(Result::is_ok).count());
        // 256 bytes, a skip of 104, and twice 256.
        while ring.pending_bytes() < 872 {
            thread::yield_now();
        }
        // Let the worker come to wait; where it does not, it finds the ring closed.
        thread::sleep(Duration::from_millis(20));
        ring.close();
        let done = worker.join().unwrap();
        assert_eq!(done, 3, "a ring of 1024 bytes has room for three records of 256");
    });
    assert_eq!(put(&ring, 8), Err(Closed));
    let mut log = Log::new(&SMALL);
    log.drain(&ring, Stamp::ZERO);
    assert_eq!(log.records, 3, "what was reserved is drained");
}

#[test]
fn an_unfilled_reservation_is_reported() {
    static ABANDONED: AtomicU64 = AtomicU64::new(0);
    fn abandoned() {
        ABANDONED.fetch_add(1, Ordering::SeqCst);
    }
    let ring = Ring::with_abandoned(SMALL, abandoned);
    drop(ring.reserve(8, |last, _| last.next()).unwrap());
    assert_eq!(ABANDONED.load(Ordering::SeqCst), 1);
    let reservation = ring.reserve(8, |last, _| last.next()).unwrap();
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        reservation.fill(|_| panic!("the encoder fails"));
    }));
    assert!(panic.is_err());
    assert_eq!(ABANDONED.load(Ordering::SeqCst), 2);
    put(&ring, 8).unwrap();
    assert_eq!(ABANDONED.load(Ordering::SeqCst), 2);
    let batch = ring.close_batch(Stamp::ZERO);
    assert!(!ring.is_filled(&batch), "a hole is never taken for a record");
}

#[test]
fn a_stamp_that_goes_back_changes_nothing() {
    let ring = Ring::new(SMALL);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        std::mem::forget(ring.reserve(8, |last, _| last));
    }));
    assert!(panic.is_err());
    assert!(!ring.has_work());
    assert_eq!(put(&ring, 8), Ok(Stamp(101)));
}

#[test]
#[should_panic(expected = "padded to 8 bytes")]
fn a_ragged_record_is_refused() {
    put(&Ring::new(SMALL), 12).unwrap();
}

#[test]
#[should_panic(expected = "does not fit in the log ring")]
fn a_giant_record_is_refused() {
    put(&Ring::new(SMALL), 264).unwrap();
}

#[test]
#[should_panic(expected = "released the one before")]
fn one_batch_is_in_flight() {
    let ring = Ring::new(SMALL);
    let _first = ring.close_batch(Stamp::ZERO);
    let _second = ring.close_batch(Stamp::ZERO);
}

#[test]
#[should_panic(expected = "with the ring that it came from")]
fn a_batch_belongs_to_its_ring() {
    let (one, other) = (Ring::new(SMALL), Ring::new(SMALL));
    let (_batch, batch) = (one.close_batch(Stamp::ZERO), other.close_batch(Stamp::ZERO));
    one.release(batch);
}

#[test]
#[should_panic(expected = "when all its records are filled")]
fn an_unfilled_batch_is_not_read() {
    let ring = Ring::with_abandoned(SMALL, || ());
    let _reservation = ring.reserve(8, |last, _| last.next());
    let batch = ring.close_batch(Stamp::ZERO);
    ring.parts(&batch);
}

#[derive(Clone, Debug)]
enum Step {
    Put(usize),
    Drain(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (1usize..=32).prop_map(|grains| Step::Put(grains * 8)),
        2 => (0u64..400).prop_map(Step::Drain),
    ];
    prop::collection::vec(step, 1..if cfg!(miri) { 30 } else { 300 })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever the lengths and wherever batches are closed, the log reads back as a sequence of the records.
    #[test]
    fn the_log_reads_back(steps in steps(), header in 0usize..=8, first in 0u64..64) {
        let config = RingConfig { batch_header_bytes: header * 8, first_offset: first * 64, ..SMALL };
        let ring = Ring::new(config);
        let mut log = Log::new(&config);
        let mut expected = 0;
        for step in steps {
            match step {
                Step::Put(len) => {
                    // At most half the ring is open before a record of a quarter and a skip of less than that.
                    if ring.pending_bytes() > 400 {
                        log.drain(&ring, Stamp::ZERO);
                    }
                    put(&ring, len).unwrap();
                    expected += 1;
                }
                Step::Drain(raise) => log.drain(&ring, Stamp(100 + raise)),
            }
        }
        log.drain(&ring, Stamp::ZERO);
        prop_assert_eq!(log.records, expected);
    }
}

#[test]
fn many_workers_and_a_logger() {
    let (workers, records) = if cfg!(miri) { (2, 40) } else { (4, 20_000) };
    let config = RingConfig { capacity_bytes: 8192, batch_header_bytes: 64, ..SMALL };
    let ring = Ring::new(config);
    let mut log = Log::new(&config);
    let left = AtomicU64::new(workers);
    thread::scope(|scope| {
        for seed in 0..workers {
            let (ring, left) = (&ring, &left);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                let mut last = Stamp::ZERO;
                for _ in 0..records {
                    let stamp = put(ring, 8 * random.usize(1..40)).unwrap();
                    assert!(stamp > last);
                    last = stamp;
                }
                left.fetch_sub(1, Ordering::Release);
            });
        }
        let mut random = fastrand::Rng::with_seed(99);
        while left.load(Ordering::Acquire) > 0 || ring.has_work() {
            if ring.has_work() || random.u32(..100) == 0 {
                let raise_to = Stamp(ring.last().0 + random.u64(..3));
                log.drain(&ring, raise_to);
            } else {
                thread::yield_now();
            }
            log.base += log.bytes.len() as u64;
            log.bytes.clear();
        }
    });
    assert_eq!(log.records, workers * records);
}
