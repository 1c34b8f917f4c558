//! Stamps of reads: of a reader that validates and a writer of what it read, the writer gets the greater stamp. Rows by their
//! slots ([`KeyStamps`]), absences and ranges by the stamps of their leaves.

use super::explore;
use super::tree::{Model, ONE_LEAF, TWO_LEAVES, absence, insert, remove, tree_of};
use crate::sync::atomic::{Ordering, fence};
use crate::sync::{Arc, thread};
use crate::testing::LoneRecord;
use crate::{Epochs, Isa, KeyHash, KeyStamps, Participant, Pin, Record, Stamp};

/// What the reader draws: above every other stamp.
const READER: Stamp = Stamp(9);

/// A record and the stamps of its key in so many lanes, for a writer and a reader.
fn row(lanes: usize) -> (Arc<(LoneRecord, KeyStamps)>, Participant, Participant) {
    let epochs = Epochs::new(2);
    let place = LoneRecord::new(Record::new_absent(b"key", Stamp(1)), &epochs);
    let [writer, reader] = [(); 2].map(|()| epochs.register().expect("a slot"));
    (Arc::new((place, KeyStamps::new(1, lanes))), writer, reader)
}

#[test]
fn a_writer_is_above_the_readers_of_its_row() {
    explore(3, || {
        let (shared, mut writer, mut reader) = row(1);
        let writing = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let pin = writer.pin();
                let record = pin.get(shared.0.find(&pin));
                let before = record.lock().expect("the record is not dead").stamp();
                let stamp = before.max(shared.1.greatest([record.key()])).next();
                record.install(&pin, None, stamp);
                stamp
            })
        };
        let pin = reader.pin();
        let record = pin.get(shared.0.find(&pin));
        let seen = record.word();
        shared.1.raise(KeyHash::of(record.key()), 0, READER);
        fence(Ordering::SeqCst);
        let again = record.word();
        let is_valid = !seen.is_locked() && again == seen;
        let written = writing.join().expect("the writer is content");
        assert!(!is_valid || seen.stamp() == written || written > READER, "{written} overwrites what {READER} read");
    });
}

/// Who sees a row sees what its writer has left under its key.
#[test]
fn a_reader_sees_the_stamps_of_the_writer_of_a_row() {
    const WRITER: Stamp = Stamp(5);
    explore(3, || {
        let (shared, mut writer, mut reader) = row(2);
        let writing = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let pin = writer.pin();
                let record = pin.get(shared.0.find(&pin));
                record.lock().expect("the record is not dead");
                shared.1.raise(KeyHash::of(record.key()), 1, WRITER);
                record.install(&pin, None, WRITER);
            })
        };
        let pin = reader.pin();
        let record = pin.get(shared.0.find(&pin));
        let (seen, mut lanes) = (record.word().stamp(), [0, 0]);
        shared.1.merge_into(KeyHash::of(record.key()), &mut lanes, Isa::SCALAR);
        assert!(seen < WRITER || lanes == [0, WRITER.0], "{seen} was seen, and {lanes:?} under its key");
        writing.join().expect("the writer is content");
    });
}

/// Runs `write` beside a reader of the leaf in which `key` is not. If the leaf has not changed for the reader, everything that
/// comes into its range afterwards gets the reader's stamp.
fn beside_a_reader(
    keys: &'static [u8],
    key: u8,
    write: impl Fn(&Model, &Pin<'_>) -> Option<Stamp> + Copy + Send + Sync + 'static,
) {
    explore(2, move || {
        let (model, mut first, mut second) = tree_of(keys);
        let reading = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                let pin = second.pin();
                let Some(leaf) = absence(&model, &pin, key) else { return false };
                leaf.raise_max_stamp(&pin, READER);
                fence(Ordering::SeqCst);
                leaf.is_unchanged(&pin)
            })
        };
        let given = write(&model, &first.pin());
        let is_valid = reading.join().expect("the reader is content");
        let pin = first.pin();
        let inserted = model.insert(&pin, &[key + 1], 1).change.expect("the key is new");
        let later = inserted.before.max_stamp();
        if is_valid {
            assert!(given.is_none_or(|given| given >= READER), "{given:?} came into what {READER} read");
            assert!(later >= READER, "{later} came later into what {READER} read");
        }
    });
}

#[test]
fn an_insert_is_above_the_readers_of_its_leaf() {
    beside_a_reader(&[10, 20, 30], 25, |model, pin| {
        let inserted = model.insert(pin, &[25], 1).change.expect("the key is new");
        Some(inserted.before.max_stamp())
    });
}

#[test]
fn a_split_hands_on_what_was_read() {
    beside_a_reader(ONE_LEAF, 25, |model, pin| {
        insert(model, pin, 15);
        None
    });
}

#[test]
fn a_join_hands_on_what_was_read() {
    beside_a_reader(TWO_LEAVES, 25, |model, pin| {
        remove(model, pin, 50, 2);
        None
    });
}

/// The removal writes its stamp over that of the reader, or sees it.
#[test]
fn a_removal_keeps_what_was_read() {
    beside_a_reader(&[10, 20, 30], 25, |model, pin| {
        remove(model, pin, 20, 2);
        None
    });
}
