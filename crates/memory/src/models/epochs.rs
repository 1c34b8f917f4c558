//! Pin, retire, advance: nothing is freed that a pin can reach, and the clock never passes a pin.

use super::explore;
use crate::Epochs;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, thread};
use crate::testing::Perch;

/// A reader follows what it finds while a writer replaces it and tries to free it, and the clock advances.
#[test]
fn what_is_held_is_not_freed() {
    explore(2, || {
        let freed = Arc::new(AtomicUsize::new(0));
        let epochs = Epochs::new(2);
        let perch = Arc::new(Perch::new(1, &freed));
        let mut reader = epochs.register().expect("a slot");
        let mut writer = epochs.register().expect("a slot");
        let reading = {
            let perch = Arc::clone(&perch);
            thread::spawn(move || {
                let pin = reader.pin();
                let held = perch.find(&pin).expect("a canary");
                let number = pin.get(held).number();
                assert!(number == 1 || number == 2);
                assert_eq!(pin.get(held).number(), number);
            })
        };
        let advancing = {
            let epochs = Arc::clone(&epochs);
            thread::spawn(move || epochs.advance())
        };
        // Retires; tags what was retired and may free it; may free it.
        perch.replace(&writer.pin(), 2);
        drop(writer.pin());
        drop(writer.pin());
        reading.join().expect("the reader is content");
        advancing.join().expect("the clock advances");
        drop(writer);
        drop(perch);
        drop(epochs);
        assert_eq!(freed.load(Ordering::Relaxed), 2, "everything is freed in the end");
    });
}

/// As above, and the reader comes while the clock advances: its slot is added meanwhile.
#[test]
fn what_a_newcomer_holds_is_not_freed() {
    explore(2, || {
        let freed = Arc::new(AtomicUsize::new(0));
        let epochs = Epochs::new(2);
        let perch = Arc::new(Perch::new(1, &freed));
        let mut writer = epochs.register().expect("a slot");
        let reading = {
            let (perch, epochs) = (Arc::clone(&perch), Arc::clone(&epochs));
            thread::spawn(move || {
                let mut reader = epochs.register().expect("a slot");
                let pin = reader.pin();
                let held = perch.find(&pin).expect("a canary");
                let number = pin.get(held).number();
                assert!(number == 1 || number == 2);
                assert_eq!(pin.get(held).number(), number);
            })
        };
        let advancing = {
            let epochs = Arc::clone(&epochs);
            thread::spawn(move || epochs.advance())
        };
        perch.replace(&writer.pin(), 2);
        drop(writer.pin());
        drop(writer.pin());
        reading.join().expect("the reader is content");
        advancing.join().expect("the clock advances");
        drop(writer);
        drop(perch);
        drop(epochs);
        assert_eq!(freed.load(Ordering::Relaxed), 2, "everything is freed in the end");
    });
}

/// Steps that threads tell each other of, without anything else being ordered by it. Who does not learn of a step gives up:
/// the scenario is about the orders in which all go on.
struct Steps([AtomicUsize; 4]);

impl Steps {
    fn new() -> Arc<Steps> {
        Arc::new(Steps(std::array::from_fn(|_| AtomicUsize::new(0))))
    }

    fn done(&self, step: usize) {
        self.0[step].store(1, Ordering::Relaxed);
    }

    fn is_done(&self, step: usize) -> bool {
        thread::yield_now();
        self.0[step].load(Ordering::Relaxed) == 1
    }
}

/// Reading, retiring, advancing and freeing come one after another on three threads: they must be ordered in memory too.
#[test]
fn reads_are_over_before_freeing() {
    explore(2, || {
        let freed = Arc::new(AtomicUsize::new(0));
        let epochs = Epochs::new(2);
        let perch = Arc::new(Perch::new(1, &freed));
        let (mut reader, mut writer) = (epochs.register().expect("a slot"), epochs.register().expect("a slot"));
        let steps = Steps::new();
        let reading = {
            let (perch, steps) = (Arc::clone(&perch), Arc::clone(&steps));
            thread::spawn(move || {
                let pin = reader.pin();
                pin.get(perch.find(&pin).expect("a canary")).number();
                drop(pin);
                steps.done(1);
                // Dropping it would order more.
                reader
            })
        };
        let advancing = {
            let (epochs, steps) = (Arc::clone(&epochs), Arc::clone(&steps));
            thread::spawn(move || {
                if steps.is_done(2) {
                    epochs.advance();
                    steps.done(3);
                }
            })
        };
        if steps.is_done(1) {
            perch.replace(&writer.pin(), 2);
            drop(writer.pin());
            steps.done(2);
            if steps.is_done(3) {
                // Frees, if this thread sees already that it may.
                drop(writer.pin());
            }
        }
        drop(reading.join().expect("the reader is content"));
        advancing.join().expect("the clock advances");
    });
}

/// A reader that pins after the clock was raised may still find what was unlinked before: the tag of that must be the
/// raised epoch, which is not safe yet.
#[test]
fn a_tag_is_read_after_the_unlink() {
    explore(2, || {
        let freed = Arc::new(AtomicUsize::new(0));
        let epochs = Epochs::new(2);
        let perch = Arc::new(Perch::new(1, &freed));
        let (mut reader, mut writer) = (epochs.register().expect("a slot"), epochs.register().expect("a slot"));
        let pin = writer.pin();
        let advancing = {
            let epochs = Arc::clone(&epochs);
            thread::spawn(move || epochs.advance())
        };
        let reading = {
            let perch = Arc::clone(&perch);
            thread::spawn(move || {
                let pin = reader.pin();
                pin.get(perch.find(&pin).expect("a canary")).number();
                drop(pin);
                reader
            })
        };
        perch.replace(&pin, 2);
        drop(pin);
        // The others go on here first.
        thread::yield_now();
        drop(writer.pin());
        advancing.join().expect("the clock advances");
        drop(reading.join().expect("the reader is content"));
    });
}

/// What a pin retired before it was renewed belongs to the epoch that it announces then, in which others may have begun since.
#[test]
fn a_renewed_pin_frees_after_its_readers() {
    explore(2, || {
        let freed = Arc::new(AtomicUsize::new(0));
        let epochs = Epochs::new(2);
        let perch = Arc::new(Perch::new(1, &freed));
        let (mut reader, mut writer) = (epochs.register().expect("a slot"), epochs.register().expect("a slot"));
        let mut pin = writer.pin();
        epochs.advance();
        let reading = {
            let perch = Arc::clone(&perch);
            thread::spawn(move || {
                let pin = reader.pin();
                pin.get(perch.find(&pin).expect("a canary")).number();
                drop(pin);
                reader
            })
        };
        perch.replace(&pin, 2);
        pin.renew();
        epochs.advance();
        pin.renew();
        drop(pin);
        drop(reading.join().expect("the reader is content"));
    });
}

/// E1: whatever `safe()` says while a pin is active is less than what the pin announces.
#[test]
fn the_clock_does_not_pass_a_pin() {
    explore(3, || {
        let epochs = Epochs::new(1);
        let mut participant = epochs.register().expect("a slot");
        let clock = Arc::clone(&epochs);
        let advancing = thread::spawn(move || {
            clock.advance();
            clock.advance();
        });
        for _ in 0..2 {
            let pin = participant.pin();
            assert!(epochs.safe() < pin.epoch());
            assert!(pin.epoch() <= pin.current_epoch());
            assert!(epochs.safe() < pin.epoch());
        }
        advancing.join().expect("the clock advances");
    });
}

/// What a participant leaves behind, and what is retired outside any pin, is freed by the clock, after its readers.
#[test]
fn orphans_are_freed_after_their_readers() {
    explore(3, || {
        let freed = Arc::new(AtomicUsize::new(0));
        let epochs = Epochs::new(2);
        let perch = Arc::new(Perch::new(1, &freed));
        let mut reader = epochs.register().expect("a slot");
        let mut writer = epochs.register().expect("a slot");
        let reading = {
            let perch = Arc::clone(&perch);
            thread::spawn(move || {
                let pin = reader.pin();
                if let Some(held) = perch.find(&pin) {
                    pin.get(held).number();
                }
            })
        };
        let advancing = {
            let epochs = Arc::clone(&epochs);
            thread::spawn(move || epochs.advance())
        };
        perch.replace(&writer.pin(), 2);
        drop(writer);
        perch.abandon(&epochs);
        reading.join().expect("the reader is content");
        advancing.join().expect("the clock advances");
        epochs.advance();
        assert_eq!(freed.load(Ordering::Relaxed), 2, "everything is freed when the reader has gone");
    });
}

/// Two threads take one slot in turn; a slot that is given back announces nothing.
#[test]
fn a_slot_serves_one_at_a_time() {
    explore(3, || {
        let epochs = Epochs::new(1);
        let other = Arc::clone(&epochs);
        let enter = |epochs: &Arc<Epochs>| {
            if let Some(mut participant) = epochs.register() {
                let pin = participant.pin();
                assert!(epochs.safe() < pin.epoch());
            }
        };
        let entering = thread::spawn(move || enter(&other));
        enter(&epochs);
        entering.join().expect("the other is content");
        let advanced = epochs.advance();
        assert!(epochs.safe() < advanced);
        assert_eq!(epochs.safe().0, advanced.0 - 1, "no slot holds the clock back");
    });
}
