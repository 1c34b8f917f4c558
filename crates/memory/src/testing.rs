//! What the crate's tests and models share: structures of one place, and values that tell when they are freed.
//!
//! Absent: anything that ships.

use std::ptr::NonNull;

use crate::limbo::Retired;
use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sync::{Arc, RaceCell};
use crate::usage::Tally;
use crate::{Entry, Epochs, Held, Pin, Record, RecordBox};

/// An index of one record.
pub(crate) struct LoneRecord {
    record: NonNull<()>,
}

// SAFETY: the place owns a record, which is shared only under pins.
unsafe impl Send for LoneRecord {}
// SAFETY: as above.
unsafe impl Sync for LoneRecord {}

impl LoneRecord {
    pub(crate) fn new(record: RecordBox, epochs: &Epochs) -> LoneRecord {
        LoneRecord { record: Record::into_raw(record, epochs, &Tally::default()) }
    }

    pub(crate) fn find(&self, pin: &Pin<'_>) -> Held<Record> {
        // SAFETY: the record lives until the place is dropped, which the tests do when nobody is pinned.
        unsafe { pin.hold(self.record) }
    }
}

impl Drop for LoneRecord {
    fn drop(&mut self) {
        // SAFETY: the place owns the record, and its users are gone.
        unsafe { Record::free(self.record, &Tally::default()) }
    }
}

/// A value that checks that it is alive, and counts itself when it is freed.
pub(crate) struct Canary {
    race: RaceCell,
    number: u64,
    check: u64,
    freed: Arc<AtomicUsize>,
}

impl Canary {
    pub(crate) fn number(&self) -> u64 {
        self.race.read();
        assert_eq!(self.check, !self.number, "a freed value is read");
        self.number
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.race.write();
        self.check = self.number;
        self.freed.fetch_add(1, Ordering::Relaxed);
    }
}

/// A shared pointer to the newest canary, the simplest structure that retires what it replaces.
pub(crate) struct Perch {
    canary: AtomicPtr<Canary>,
    freed: Arc<AtomicUsize>,
}

impl Perch {
    pub(crate) fn new(number: u64, freed: &Arc<AtomicUsize>) -> Perch {
        Perch { canary: AtomicPtr::new(Perch::hatch(number, freed)), freed: Arc::clone(freed) }
    }

    fn hatch(number: u64, freed: &Arc<AtomicUsize>) -> *mut Canary {
        let canary = Canary { race: RaceCell::new(), number, check: !number, freed: Arc::clone(freed) };
        Box::into_raw(Box::new(canary))
    }

    pub(crate) fn find(&self, pin: &Pin<'_>) -> Option<Held<Canary>> {
        let canary = NonNull::new(self.canary.load(Ordering::Acquire))?;
        // SAFETY: reachable under this pin; it is retired when it is replaced.
        Some(unsafe { pin.hold(canary.cast()) })
    }

    pub(crate) fn replace(&self, pin: &Pin<'_>, number: u64) {
        let old = self.canary.swap(Perch::hatch(number, &self.freed), Ordering::AcqRel);
        // SAFETY: the exchange unlinked it, and only this thread did.
        unsafe { pin.retire(Perch::retired(old)) }
    }

    /// Takes the canary away for good, outside any pin.
    pub(crate) fn abandon(&self, epochs: &Epochs) {
        let old = self.canary.swap(std::ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: the exchange unlinked it, and only this thread did.
        unsafe { epochs.retire_unpinned(Perch::retired(old)) }
    }

    fn retired(canary: *mut Canary) -> Retired {
        Retired::new(NonNull::new(canary).expect("there is always a canary").cast(), |raw, _| {
            // SAFETY: limbo frees each value once, when nobody can hold it; it came from a box.
            drop(unsafe { Box::from_raw(raw.cast::<Canary>().as_ptr()) });
        })
    }
}

impl Drop for Perch {
    fn drop(&mut self) {
        if let Some(canary) = NonNull::new(self.canary.load(Ordering::Acquire)) {
            // SAFETY: the perch owns its last canary, and its users are gone.
            drop(unsafe { Box::from_raw(canary.as_ptr()) });
        }
    }
}
