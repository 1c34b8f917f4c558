//! Pins, handles, reclamation.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Arc, thread};
use crate::testing::{LoneRecord, Perch};
use crate::{Epoch, Epochs, Observed, Participant, Pin, Record, Stamp};

fn setting(participants: usize) -> (Arc<Epochs>, Perch, Arc<AtomicUsize>) {
    let freed = Arc::new(AtomicUsize::new(0));
    let perch = Perch::new(0, &freed);
    (Epochs::new(participants), perch, freed)
}

#[test]
fn a_pin_holds_back_the_safe_epoch_only() {
    let epochs = Epochs::new(2);
    assert_eq!((epochs.current(), epochs.safe()), (Epoch(1), Epoch(0)));
    let mut participant = epochs.register().unwrap();
    let pin = participant.pin();
    assert_eq!(pin.epoch(), Epoch(1));
    assert_eq!(epochs.advance(), Epoch(2));
    assert_eq!(epochs.advance(), Epoch(3));
    assert_eq!((epochs.current(), epochs.safe()), (Epoch(3), Epoch(0)));
    assert_eq!((pin.epoch(), pin.current_epoch()), (Epoch(1), Epoch(3)));
    drop(pin);
    epochs.advance();
    assert_eq!((epochs.current(), epochs.safe()), (Epoch(4), Epoch(3)));
}

#[test]
fn the_clock_goes_on_after_recovery() {
    let epochs = Epochs::new(1);
    epochs.resume_at(Epoch(70));
    assert_eq!(epochs.current(), Epoch(70));
    epochs.resume_at(Epoch(7));
    assert_eq!(epochs.advance(), Epoch(71));
    assert_eq!(epochs.safe(), Epoch(70));
}

#[test]
fn slots_are_limited_and_given_back() {
    let epochs = Epochs::new(2);
    let first = epochs.register().unwrap();
    let mut second = epochs.register().unwrap();
    assert!(epochs.register().is_none());
    std::mem::forget(second.pin());
    drop(second);
    let third = epochs.register().unwrap();
    assert!(epochs.register().is_none());
    drop((first, third));
    epochs.advance();
    assert_eq!(epochs.safe(), Epoch(1), "a forgotten pin ends with its participant");
}

/// More than one chunk of slots: each of them counts, and those that are given back serve again.
#[test]
fn slots_are_added_as_participants_come() {
    const MANY: usize = 300;
    let epochs = Epochs::new(MANY);
    for _ in 0..2 {
        let mut participants: Vec<_> = (0..MANY).map(|_| epochs.register().expect("a slot")).collect();
        assert!(epochs.register().is_none());
        for at in [0, 63, 64, 127, 128, MANY - 1] {
            let now = epochs.advance();
            assert_eq!(epochs.safe(), Epoch(now.0 - 1), "nobody is pinned");
            let pin = participants[at].pin();
            epochs.advance();
            epochs.advance();
            assert_eq!((pin.epoch(), epochs.safe()), (now, Epoch(now.0 - 1)), "participant {at} holds the clock back");
        }
    }
}

#[test]
fn a_handle_is_followed_under_its_own_pin() {
    let (epochs, perch, _) = setting(2);
    let (mut one, mut other) = (epochs.register().unwrap(), epochs.register().unwrap());
    let pin = one.pin();
    let held = perch.find(&pin).unwrap();
    assert_eq!(pin.get(held).number(), 0);
    let foreign = other.pin();
    assert!(catch_unwind(AssertUnwindSafe(|| foreign.get(held).number())).is_err());
    drop(pin);
    let later = one.pin();
    assert!(catch_unwind(AssertUnwindSafe(|| later.get(held).number())).is_err());
    let again = perch.find(&later).unwrap();
    assert_eq!(again, held, "handles are compared by address");
    assert_eq!(again.address(), held.address());
}

#[test]
fn pins_know_their_clock() {
    let (one, other) = (Epochs::new(1), Epochs::new(1));
    let mut participant = one.register().unwrap();
    let pin = participant.pin();
    assert!(pin.is_of(&one));
    assert!(!pin.is_of(&other));
}

#[test]
fn a_retired_value_lives_as_long_as_a_pin() {
    let (epochs, perch, freed) = setting(2);
    let (mut writer, mut reader) = (epochs.register().unwrap(), epochs.register().unwrap());
    let pin = reader.pin();
    let held = perch.find(&pin).unwrap();
    perch.replace(&writer.pin(), 1);
    for _ in 0..5 {
        epochs.advance();
        drop(writer.pin());
        assert_eq!(pin.get(held).number(), 0);
        assert_eq!(freed.load(Ordering::Relaxed), 0);
    }
    drop(pin);
    epochs.advance();
    assert_eq!(writer.reclaim(), 0);
    assert_eq!(freed.load(Ordering::Relaxed), 1);
}

/// A reader that begins between the pin of who replaces a value and its renewal announces a later epoch than that pin, and
/// may hold the value: what was retired before a renewal belongs to the epoch after it.
#[test]
fn a_renewed_pin_frees_nothing_that_a_later_reader_holds() {
    let (epochs, perch, freed) = setting(2);
    let place = LoneRecord::new(Record::new_absent(b"key", Stamp(1)), &epochs);
    let (mut writer, mut reader) = (epochs.register().unwrap(), epochs.register().unwrap());
    let write = |pin: &Pin<'_>, stamp: Stamp| {
        let mut version = pin.new_version(64);
        version.bytes_mut().fill(stamp.0 as u8);
        version.set_order(stamp, stamp);
        let record = pin.get(place.find(pin));
        record.lock().unwrap();
        record.install(pin, Some(version), stamp);
    };
    let mut pin = writer.pin();
    write(&pin, Stamp(2));
    epochs.advance();
    let later = reader.pin();
    assert!(later.epoch() > pin.epoch());
    let held = perch.find(&later).unwrap();
    let Observed::Present(row) = later.get(place.find(&later)).read(&later) else { panic!("there is a row") };
    perch.replace(&pin, 1);
    write(&pin, Stamp(3));
    for stamp in 4..10 {
        pin.renew();
        epochs.advance();
        // Takes the memory of what was replaced, if it may.
        write(&pin, Stamp(stamp));
        assert_eq!(freed.load(Ordering::Relaxed), 0);
        assert_eq!(later.get(held).number(), 0);
        assert_eq!((row.stamp(), row.bytes()), (Stamp(2), &[2; 64][..]));
    }
    drop(later);
    for _ in 0..2 {
        epochs.advance();
        pin.renew();
    }
    assert_eq!(freed.load(Ordering::Relaxed), 1, "it is freed when the reader has gone");
}

#[test]
fn limbo_is_bounded_by_what_an_epoch_retires() {
    let (epochs, perch, _) = setting(1);
    let mut writer = epochs.register().unwrap();
    let (rounds, round) = if cfg!(miri) { (8, 20) } else { (100, 1000) };
    let mut waiting_max = 0;
    for _ in 0..rounds {
        for number in 0..round {
            let pin = writer.pin();
            perch.replace(&pin, number);
            perch.replace(&pin, number + 1);
        }
        epochs.advance();
        waiting_max = waiting_max.max(writer.reclaim());
    }
    // Values wait for one whole epoch and part of the one before; a round retires twice as many as it has pins.
    assert!(waiting_max <= 4 * round as usize + 64, "{waiting_max} values wait");
}

#[test]
fn a_backlog_is_worked_off() {
    let (epochs, perch, freed) = setting(2);
    let (mut writer, mut sleeper) = (epochs.register().unwrap(), epochs.register().unwrap());
    let pin = sleeper.pin();
    let backlog = if cfg!(miri) { 100 } else { 10_000 };
    for number in 0..backlog {
        perch.replace(&writer.pin(), number);
        if number % 64 == 0 {
            epochs.advance();
        }
    }
    assert_eq!(freed.load(Ordering::Relaxed), 0);
    drop(pin);
    let mut pins = 0;
    loop {
        epochs.advance();
        perch.replace(&writer.pin(), 0);
        pins += 1;
        if writer.reclaim() <= 2 {
            break;
        }
    }
    assert!(pins <= backlog, "limbo shrinks although values are retired");
}

#[test]
fn orphans_are_freed_by_the_clock_or_with_it() {
    let (epochs, perch, freed) = setting(2);
    let mut reader = epochs.register().unwrap();
    let mut writer = epochs.register().unwrap();
    perch.replace(&writer.pin(), 1);
    perch.replace(&writer.pin(), 2);
    let pin = reader.pin();
    drop(writer);
    perch.abandon(&epochs);
    epochs.advance();
    epochs.advance();
    assert_eq!(freed.load(Ordering::Relaxed), 0);
    drop(pin);
    epochs.advance();
    assert_eq!(freed.load(Ordering::Relaxed), 3);

    let (epochs, perch, freed) = setting(1);
    let mut writer = epochs.register().unwrap();
    perch.replace(&writer.pin(), 1);
    drop(writer);
    assert_eq!(freed.load(Ordering::Relaxed), 0);
    drop(epochs);
    assert_eq!(freed.load(Ordering::Relaxed), 1);
}

#[test]
fn a_participant_may_move_between_threads() {
    let (epochs, perch, _) = setting(1);
    let mut participant = epochs.register().unwrap();
    perch.replace(&participant.pin(), 1);
    let participant: Participant = thread::spawn(move || {
        let mut participant = participant;
        perch.replace(&participant.pin(), 2);
        participant
    })
    .join()
    .unwrap();
    assert!(epochs.register().is_none());
    drop(participant);
    assert!(epochs.register().is_some());
}

#[test]
fn stress_replace_and_follow() {
    let (threads, rounds, perches) = if cfg!(miri) { (2, 60, 2) } else { (4, 30_000, 8) };
    let freed = Arc::new(AtomicUsize::new(0));
    let epochs = Epochs::new(threads);
    let perches: Vec<Perch> = (0..perches).map(|number| Perch::new(number, &freed)).collect();
    let done = AtomicBool::new(false);
    let replaced = AtomicUsize::new(0);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|seed| {
                let (epochs, perches, replaced) = (&epochs, &perches, &replaced);
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed as u64);
                    let mut participant = epochs.register().unwrap();
                    for _ in 0..rounds {
                        let pin = participant.pin();
                        assert!(epochs.safe() < pin.epoch());
                        let held: Vec<_> = perches.iter().map(|perch| perch.find(&pin).unwrap()).collect();
                        for _ in 0..random.usize(..3) {
                            perches[random.usize(..perches.len())].replace(&pin, random.u64(..));
                            replaced.fetch_add(1, Ordering::Relaxed);
                        }
                        held.iter().for_each(|&held| {
                            pin.get(held).number();
                        });
                        drop(pin);
                        if random.usize(..500) == 0 {
                            participant = {
                                drop(participant);
                                epochs.register().unwrap()
                            };
                        }
                    }
                })
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
    drop(epochs);
    assert_eq!(freed.load(Ordering::Relaxed), replaced.load(Ordering::Relaxed));
}
