//! Records and versions.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
#[cfg(target_os = "linux")]
use std::time::Duration;

use proptest::prelude::*;

use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::thread;
use crate::testing::LoneRecord;
use crate::{
    Dead, Epochs, Keyed, LockFailed, Observed, Participant, Pin, Record, Replayed, Stamp, Version, VersionBox,
};

fn version(stamp: u64, len: usize) -> Option<VersionBox> {
    let mut version = VersionBox::new(len);
    version.bytes_mut().fill(stamp as u8);
    version.set_order(Stamp(stamp), Stamp(stamp / 2));
    Some(version)
}

fn present<'a>(record: &'a Record, pin: &'a Pin<'_>) -> &'a Version {
    match record.read(pin) {
        Observed::Present(version) => version,
        other => panic!("a row is expected, not {other:?}"),
    }
}

#[test]
fn a_version_keeps_its_bytes_and_order() {
    for len in [0, 1, 7, 8, 100, 5000] {
        let mut version = VersionBox::new(len);
        assert!(version.bytes().iter().all(|&byte| byte == 0));
        assert_eq!((version.bytes().len(), version.stamp(), version.birth()), (len, Stamp::ZERO, Stamp::ZERO));
        version.bytes_mut().fill(9);
        version.set_order(Stamp(5), Stamp(3));
        assert_eq!((version.stamp(), version.birth()), (Stamp(5), Stamp(3)));
        let copy = VersionBox::copy_of(version.bytes());
        assert_eq!(copy.bytes(), version.bytes());
        assert_eq!(copy.stamp(), Stamp::ZERO);
    }
}

#[test]
#[should_panic(expected = "born no later")]
fn a_row_is_not_written_before_its_birth() {
    VersionBox::new(0).set_order(Stamp(1), Stamp(2));
}

/// What the calling thread has used of a processor, where the system tells.
#[cfg(target_os = "linux")]
fn processor_time() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn who_waits_for_a_lock_for_long_leaves_the_processor() {
    let epochs = Epochs::new(2);
    let place = LoneRecord::new(Record::new_absent(b"key", Stamp(4)), &epochs);
    let (mut holder, mut waiter) = (epochs.register().unwrap(), epochs.register().unwrap());
    let pin = holder.pin();
    let record = pin.get(place.find(&pin));
    record.lock().unwrap();
    let used = thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let (pin, before) = (waiter.pin(), processor_time());
            let record = pin.get(place.find(&pin));
            record.lock().unwrap();
            let used = processor_time().zip(before).map(|(after, before)| after - before);
            record.unlock();
            used
        });
        thread::sleep(Duration::from_millis(600));
        record.unlock();
        waiting.join().unwrap()
    });
    assert!(used.is_none_or(|used| used < Duration::from_millis(120)), "{used:?} of 600 ms");
}

#[test]
fn a_record_is_as_small_as_promised() {
    let epochs = Epochs::new(1);
    let mut participant = epochs.register().unwrap();
    let pin = participant.pin();
    for len in [0, 1, 8, 9, 40] {
        let key = vec![7; len];
        let place = LoneRecord::new(Record::new_absent(&key, Stamp(4)), &epochs);
        let record = pin.get(place.find(&pin));
        assert_eq!(Record::key(record), key);
        assert_eq!(Keyed::key(record), key);
        assert_eq!(mem::size_of_val(record), (32 + len).next_multiple_of(8));
        assert_eq!(mem::size_of_val(&place.find(&pin)), 16);
    }
}

#[test]
fn the_life_of_a_record() {
    let epochs = Epochs::new(1);
    let place = LoneRecord::new(Record::new_absent(b"key", Stamp(4)), &epochs);
    let mut participant = epochs.register().unwrap();
    let pin = participant.pin();
    let record = pin.get(place.find(&pin));
    assert!(matches!(record.read(&pin), Observed::Absent(Stamp(4))));
    assert!(record.is_absent());

    assert_eq!(record.lock().unwrap().stamp(), Stamp(4));
    assert!(record.word().is_locked());
    assert_eq!(record.try_lock(), Err(LockFailed::Locked));
    record.install(&pin, version(6, 10), Stamp(6));
    assert_eq!((record.word().stamp(), record.word().is_locked()), (Stamp(6), false));
    let row = present(record, &pin);
    assert_eq!((row.stamp(), row.birth(), row.bytes()), (Stamp(6), Stamp(3), &[6; 10][..]));

    let before = record.try_lock().unwrap();
    assert!(matches!(record.read(&pin), Observed::Present(_)), "a lock does not hide the row");
    record.unlock();
    assert_eq!(record.word(), before);

    record.lock().unwrap();
    record.install(&pin, None, Stamp(7));
    assert!(matches!(record.read(&pin), Observed::Absent(Stamp(7))));
    assert_eq!(row.bytes(), [6; 10], "what was read stays readable");

    record.lock().unwrap();
    record.kill();
    assert!(record.word().is_dead() && !record.word().is_locked());
    assert!(matches!(record.read(&pin), Observed::Dead));
    assert_eq!(record.lock(), Err(Dead));
    assert_eq!(record.try_lock(), Err(LockFailed::Dead));
}

#[test]
fn the_largest_stamp_fits() {
    let epochs = Epochs::new(1);
    let place = LoneRecord::new(Record::new_absent(b"", Stamp(Stamp::MAX.0 - 1)), &epochs);
    let mut participant = epochs.register().unwrap();
    let pin = participant.pin();
    let record = pin.get(place.find(&pin));
    record.lock().unwrap();
    record.install(&pin, None, Stamp::MAX);
    assert!(matches!(record.read(&pin), Observed::Absent(Stamp::MAX)));
}

/// Whoever breaks the rules of locking is stopped, and what others hold stays valid.
#[test]
fn misuse_panics_and_changes_nothing() {
    let (epochs, others) = (Epochs::new(1), Epochs::new(1));
    let place = LoneRecord::new(Record::new_absent(b"key", Stamp(4)), &epochs);
    let (mut participant, mut stranger) = (epochs.register().unwrap(), others.register().unwrap());
    let (pin, strange) = (participant.pin(), stranger.pin());
    let record = pin.get(place.find(&pin));
    let refused = |act: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(act)).is_err());
    refused(&|| record.install(&pin, version(5, 1), Stamp(5)));
    refused(&|| record.unlock());
    refused(&|| record.kill());
    record.lock().unwrap();
    refused(&|| record.install(&pin, version(4, 1), Stamp(4)));
    refused(&|| record.install(&pin, version(5, 1), Stamp(6)));
    refused(&|| record.install(&strange, version(5, 1), Stamp(5)));
    record.install(&pin, version(5, 1), Stamp(5));
    refused(&|| assert!(matches!(record.read(&strange), Observed::Dead)));
    record.lock().unwrap();
    refused(&|| record.kill());
    record.unlock();
    assert_eq!(present(record, &pin).bytes(), [5]);

    let unshared = Record::new_absent(b"key", Stamp(1));
    unshared.lock().unwrap();
    refused(&|| unshared.install(&pin, None, Stamp(2)));
    assert!(matches!(unshared.word().stamp(), Stamp(1)));
}

/// Two threads that both believe to hold the lock: versions are still retired once each.
#[test]
fn two_installers_retire_each_version_once() {
    let epochs = Epochs::new(2);
    let rounds = if cfg!(miri) { 20 } else { 2000 };
    let place = LoneRecord::new(Record::new_absent(b"key", Stamp(0)), &epochs);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut participant = epochs.register().unwrap();
                for stamp in 1..rounds {
                    let pin = participant.pin();
                    let record = pin.get(place.find(&pin));
                    // Nobody checks who took the lock.
                    let _ = record.try_lock();
                    let _ = catch_unwind(AssertUnwindSafe(|| record.install(&pin, version(stamp, 64), Stamp(stamp))));
                    if let Observed::Present(row) = record.read(&pin) {
                        assert!(row.bytes().iter().all(|&byte| byte == row.stamp().0 as u8));
                    }
                    drop(pin);
                    epochs.advance();
                }
            });
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Replaying writes in any order leaves what the greatest stamp wrote.
    #[test]
    fn replay_is_the_last_writer_by_stamp(writes in prop::collection::vec((1u64..50, any::<bool>()), 1..20)) {
        let mut by_stamp = std::collections::BTreeMap::new();
        let writes: Vec<_> = writes.into_iter().filter(|&(stamp, put)| by_stamp.insert(stamp, put).is_none()).collect();
        let last = writes.iter().max().expect("at least one write");
        let epochs = Epochs::new(1);
        let place = LoneRecord::new(Record::new_absent(b"key", Stamp::ZERO), &epochs);
        let mut participant = epochs.register().unwrap();
        let pin = participant.pin();
        let record = pin.get(place.find(&pin));
        let mut greatest = 0;
        for &(stamp, put) in &writes {
            let wins = record.replay(&pin, Stamp(stamp), if put { version(stamp, 3) } else { None });
            prop_assert_eq!(wins, stamp > greatest);
            greatest = greatest.max(stamp);
        }
        match record.read(&pin) {
            Observed::Present(row) => prop_assert!(last.1 && row.stamp().0 == last.0),
            Observed::Absent(stamp) => prop_assert!(!last.1 && stamp.0 == last.0),
            Observed::Dead => prop_assert!(false, "nothing is purged"),
        }
    }
}

#[test]
fn stress_lock_install_read() {
    let (threads, rounds, records) = if cfg!(miri) { (2, 50, 2) } else { (4, 30_000, 4) };
    let epochs = Epochs::new(threads);
    let places: Vec<LoneRecord> =
        (0..records).map(|_| LoneRecord::new(Record::new_absent(b"key", Stamp::ZERO), &epochs)).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|seed| {
                let (epochs, places) = (&epochs, &places);
                scope.spawn(move || work(seed as u64, rounds, epochs, places))
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                epochs.advance();
                thread::yield_now();
            }
        });
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        done.store(true, Ordering::Release);
    });
    let mut participant = epochs.register().unwrap();
    let pin = participant.pin();
    let total: u64 = places.iter().map(|place| pin.get(place.find(&pin)).word().stamp().0).sum();
    assert_eq!(total, threads as u64 * rounds, "each install counted once");
}

/// Installs `rounds` times with the next stamp, a tombstone each fifth; reads in between never go back.
fn work(seed: u64, rounds: u64, epochs: &std::sync::Arc<Epochs>, places: &[LoneRecord]) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut participant = epochs.register().expect("a slot");
    let mut seen = vec![Stamp::ZERO; places.len()];
    for _ in 0..rounds {
        let pin = participant.pin();
        let chosen = random.usize(..places.len());
        let record = pin.get(places[chosen].find(&pin));
        let observed = match record.read(&pin) {
            Observed::Present(row) => {
                assert!(row.bytes().iter().all(|&byte| byte == row.stamp().0 as u8));
                assert_ne!(row.stamp().0 % 5, 0, "this stamp wrote a tombstone");
                row.stamp()
            }
            Observed::Absent(stamp) => {
                assert_eq!(stamp.0 % 5, 0, "this stamp wrote a row");
                stamp
            }
            Observed::Dead => panic!("nobody purges"),
        };
        assert!(seen[chosen] <= observed, "reads do not go back");
        let stamp = record.lock().expect("nobody purges").stamp().next();
        assert!(observed < stamp);
        let row = if stamp.0.is_multiple_of(5) { None } else { version(stamp.0, random.usize(..200)) };
        record.install(&pin, row, stamp);
        seen[chosen] = stamp;
    }
}

#[test]
fn the_memory_of_a_replaced_version_serves_the_next() {
    let epochs = Epochs::new(2);
    let place = LoneRecord::new(Record::new_absent(b"k", Stamp::ZERO), &epochs);
    let mut writer = epochs.register().unwrap();
    let write = |pin: &Pin<'_>, stamp: u64, len: usize| {
        let mut version = pin.new_version(len);
        let address = version.bytes().as_ptr();
        version.bytes_mut().fill(stamp as u8);
        version.set_order(Stamp(stamp), Stamp(1));
        let record = pin.get(place.find(pin));
        record.lock().unwrap();
        record.install(pin, Some(version), Stamp(stamp));
        address
    };
    let first = write(&writer.pin(), 1, 200);
    let mut reader = epochs.register().unwrap();
    let pin = reader.pin();
    let Observed::Present(seen) = pin.get(place.find(&pin)).read(&pin) else { panic!("a row") };
    let second = write(&writer.pin(), 2, 200);
    for stamp in 3..6 {
        epochs.advance();
        assert_ne!(write(&writer.pin(), stamp, 200), first, "the reader is still there");
        assert_eq!(seen.bytes(), [1; 200]);
    }
    drop(pin);
    epochs.advance();
    assert_eq!(write(&writer.pin(), 6, 190), first, "of the same class, and the oldest");
    assert_eq!(write(&writer.pin(), 7, 199), second);
    assert_eq!(pin_bytes(&mut writer, &place), [7; 199]);
    for stamp in 8..40 {
        // Nobody asks for large versions any more: they are freed some epochs later.
        epochs.advance();
        write(&writer.pin(), stamp, 10);
    }
    assert!(writer.reclaim() <= 2, "what is not asked for does not pile up");
}

fn pin_bytes(participant: &mut Participant, place: &LoneRecord) -> Vec<u8> {
    let pin = participant.pin();
    match pin.get(place.find(&pin)).read(&pin) {
        Observed::Present(version) => version.bytes().to_vec(),
        other => panic!("a row, not {other:?}"),
    }
}

/// As an owner replays: the row, and the stamp.
fn replay_alone(record: &mut crate::RecordBox, stamp: u64, version: Option<VersionBox>) -> bool {
    record.replay_alone(|word, old| {
        assert_eq!(old.map(Version::stamp), old.map(|_| word.stamp()), "a row has the stamp of its word");
        match Stamp(stamp) > word.stamp() {
            true => Replayed::Installed { version, stamp: Stamp(stamp), is_waited_for: false },
            false => Replayed::Superseded,
        }
    })
}

#[test]
fn an_owner_replays_without_a_lock() {
    let mut record = Record::new_absent(b"key", Stamp(2));
    assert!(!record.replay_alone(|_, old| {
        assert!(old.is_none());
        Replayed::Waits
    }));
    assert!(record.word().is_waited_for() && !record.word().is_locked());
    assert!(!replay_alone(&mut record, 2, version(2, 9)), "it has that stamp already");
    assert!(replay_alone(&mut record, 5, version(5, 9)));
    assert!(!record.word().is_waited_for());
    assert!(!replay_alone(&mut record, 4, None), "it is older");
    assert!(replay_alone(&mut record, 6, version(6, 3)));
    let row = record.into_version().expect("a row");
    assert_eq!((row.bytes(), row.stamp()), (&[6; 3][..], Stamp(6)));

    let mut deleted = Record::new_present(b"key", row);
    assert!(replay_alone(&mut deleted, 8, None));
    assert!(deleted.is_absent() && deleted.word().stamp() == Stamp(8));
    assert!(deleted.into_version().is_none());
}

#[test]
#[should_panic(expected = "carries its installer's stamp")]
fn an_owner_installs_versions_with_their_own_stamps() {
    let installed = |_: crate::Word, _: Option<&Version>| Replayed::Installed {
        version: version(4, 1),
        stamp: Stamp(5),
        is_waited_for: false,
    };
    Record::new_absent(b"key", Stamp::ZERO).replay_alone(installed);
}
