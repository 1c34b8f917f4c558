//! The record word and the version pointer: locks exclude, reads are consistent, the last writer wins a replay.

use super::explore;
use crate::sync::{Arc, RaceCell, thread};
use crate::testing::LoneRecord;
use crate::{Epochs, LockFailed, Observed, Pin, Record, Stamp, VersionBox};

/// A row whose bytes follow from its stamp.
fn row(stamp: Stamp) -> Option<VersionBox> {
    let mut version = VersionBox::copy_of(&stamp.0.to_le_bytes());
    version.set_order(stamp, stamp);
    Some(version)
}

/// What a reader finds must be a state that the record was in: even stamps write rows, odd ones tombstones.
fn observe(record: &Record, pin: &Pin<'_>) -> Stamp {
    match record.read(pin) {
        Observed::Present(version) => {
            assert_eq!(version.bytes(), version.stamp().0.to_le_bytes());
            assert_eq!(version.stamp().0 % 2, 0);
            version.stamp()
        }
        Observed::Absent(stamp) => {
            assert_eq!(stamp.0 % 2, 1, "an absence has a tombstone's stamp");
            stamp
        }
        Observed::Dead => panic!("nobody killed the record"),
    }
}

/// Rows and tombstones are installed in turn under a reader.
#[test]
fn a_read_is_consistent() {
    explore(3, || {
        let epochs = Epochs::new(2);
        let place = Arc::new(LoneRecord::new(Record::new_absent(b"key", Stamp(1)), &epochs));
        let mut writer = epochs.register().expect("a slot");
        let mut reader = epochs.register().expect("a slot");
        let writing = {
            let place = Arc::clone(&place);
            thread::spawn(move || {
                for stamp in [Stamp(2), Stamp(3), Stamp(4)] {
                    let pin = writer.pin();
                    let record = pin.get(place.find(&pin));
                    record.lock().expect("the record is not dead");
                    let version = if stamp.0 % 2 == 0 { row(stamp) } else { None };
                    record.install(&pin, version, stamp);
                }
            })
        };
        {
            let pin = reader.pin();
            let record = pin.get(place.find(&pin));
            assert_eq!(record.key(), b"key");
            let first = observe(record, &pin);
            let second = observe(record, &pin);
            assert!(first <= second, "reads do not go back");
        }
        writing.join().expect("the writer is content");
    });
}

/// The memory of a replaced version becomes another one under a reader and an advancing clock.
#[test]
fn memory_is_handed_on_when_nobody_reads_it() {
    explore(2, || {
        let epochs = Epochs::new(2);
        let place = Arc::new(LoneRecord::new(Record::new_absent(b"key", Stamp(1)), &epochs));
        let mut writer = epochs.register().expect("a slot");
        let mut reader = epochs.register().expect("a slot");
        let write = |pin: &Pin<'_>, stamp: Stamp| {
            let mut version = pin.new_version(8);
            version.bytes_mut().copy_from_slice(&stamp.0.to_le_bytes());
            version.set_order(stamp, stamp);
            let record = pin.get(place.find(pin));
            record.lock().expect("the record is not dead");
            record.install(pin, Some(version), stamp);
        };
        write(&writer.pin(), Stamp(2));
        let reading = {
            let place = Arc::clone(&place);
            thread::spawn(move || {
                let pin = reader.pin();
                observe(pin.get(place.find(&pin)), &pin);
            })
        };
        write(&writer.pin(), Stamp(4));
        drop(writer.pin());
        epochs.advance();
        write(&writer.pin(), Stamp(6));
        reading.join().expect("the reader is content");
    });
}

/// The lock excludes, and hands over what was done under it.
#[test]
fn a_lock_excludes() {
    explore(3, || {
        let epochs = Epochs::new(2);
        let shared = Arc::new((LoneRecord::new(Record::new_absent(b"", Stamp(1)), &epochs), RaceCell::new()));
        let work = |epochs: Arc<Epochs>, shared: Arc<(LoneRecord, RaceCell)>| {
            let mut participant = epochs.register().expect("a slot");
            let pin = participant.pin();
            let record = pin.get(shared.0.find(&pin));
            let word = record.lock().expect("the record is not dead");
            shared.1.write();
            assert_eq!(record.try_lock(), Err(LockFailed::Locked));
            let stamp = Stamp(word.stamp().0 + 1);
            record.install(&pin, None, stamp);
        };
        let other = (Arc::clone(&epochs), Arc::clone(&shared));
        let working = thread::spawn(move || work(other.0, other.1));
        work(Arc::clone(&epochs), Arc::clone(&shared));
        working.join().expect("the other is content");
        let mut participant = epochs.register().expect("a slot");
        let pin = participant.pin();
        let word = pin.get(shared.0.find(&pin)).word();
        assert_eq!((word.stamp(), word.is_locked()), (Stamp(3), false));
    });
}

/// A writer that loses the record to a purge is told so.
#[test]
fn a_dead_record_stays_dead() {
    explore(3, || {
        let epochs = Epochs::new(2);
        let place = Arc::new(LoneRecord::new(Record::new_absent(b"key", Stamp(1)), &epochs));
        let mut purger = epochs.register().expect("a slot");
        let mut reader = epochs.register().expect("a slot");
        let purging = {
            let place = Arc::clone(&place);
            thread::spawn(move || {
                let pin = purger.pin();
                let record = pin.get(place.find(&pin));
                let locked = record.try_lock().is_ok();
                let kills = locked && record.is_absent();
                if kills {
                    record.kill();
                } else if locked {
                    record.unlock();
                }
                kills
            })
        };
        let pin = reader.pin();
        let record = pin.get(place.find(&pin));
        let installed = record.lock().is_ok();
        if installed {
            record.install(&pin, row(Stamp(2)), Stamp(2));
        }
        let killed = purging.join().expect("the purger is content");
        match record.read(&pin) {
            Observed::Present(version) => assert!(installed && !killed && version.stamp() == Stamp(2)),
            Observed::Absent(_) => panic!("one of them got the lock first"),
            Observed::Dead => assert!(killed && !installed),
        }
    });
}

/// The last writer by stamp wins, whoever comes last.
#[test]
fn a_replay_keeps_the_last_writer() {
    explore(3, || {
        let epochs = Epochs::new(3);
        let place = Arc::new(LoneRecord::new(Record::new_absent(b"key", Stamp(1)), &epochs));
        let replay = |epochs: Arc<Epochs>, place: Arc<LoneRecord>, stamp: Stamp, version: Option<VersionBox>| {
            let mut participant = epochs.register().expect("a slot");
            let pin = participant.pin();
            pin.get(place.find(&pin)).replay(&pin, stamp, version)
        };
        let other = (Arc::clone(&epochs), Arc::clone(&place));
        let replaying = thread::spawn(move || replay(other.0, other.1, Stamp(3), None));
        replay(Arc::clone(&epochs), Arc::clone(&place), Stamp(2), row(Stamp(2)));
        assert!(replaying.join().expect("the other is content"), "the greatest stamp always wins");
        let mut participant = epochs.register().expect("a slot");
        let pin = participant.pin();
        let observed = pin.get(place.find(&pin)).read(&pin);
        assert!(matches!(observed, Observed::Absent(Stamp(3))));
    });
}
