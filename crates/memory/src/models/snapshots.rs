//! A snapshot is exactly its boundary: whatever overwriters and deleters do meanwhile, the scan finds the version that
//! the last transaction up to the boundary left.

use super::explore;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, thread};
use crate::testing::LoneRecord;
use crate::{Epoch, Epochs, Participant, Record, Snapshots, Stamp, VersionBox};

struct World {
    epochs: Arc<Epochs>,
    snapshots: Snapshots,
    place: LoneRecord,
    /// The record has left its index, as far as the scan is concerned.
    is_gone: AtomicBool,
}

impl World {
    /// One record whose row has stamp 1.
    fn new(participants: usize) -> Arc<World> {
        let epochs = Epochs::new(participants);
        let place = LoneRecord::new(Record::new_absent(b"key", Stamp::ZERO), &epochs);
        let mut participant = epochs.register().expect("a slot");
        let pin = participant.pin();
        let record = pin.get(place.find(&pin));
        record.replay(&pin, Stamp(1), Some(row(Stamp(1))));
        drop(pin);
        let is_gone = AtomicBool::new(false);
        Arc::new(World { snapshots: Snapshots::new(Arc::clone(&epochs)), place, is_gone, epochs })
    }

    fn participant(&self) -> Participant {
        self.epochs.register().expect("a slot")
    }

    /// A committed transaction on the record, unless that was purged: its epoch and its stamp.
    fn commit(&self, participant: &mut Participant, deletes: bool) -> Option<(Epoch, Stamp)> {
        let pin = participant.pin();
        let record = pin.get(self.place.find(&pin));
        let word = record.lock().ok()?;
        let epoch = pin.current_epoch();
        let interval = self.snapshots.interval(&pin, epoch);
        let stamp = word.stamp().next();
        record.install_in(&pin, (!deletes).then(|| row(stamp)), stamp, &interval);
        Some((epoch, stamp))
    }

    /// Purges the record.
    fn purge(&self, participant: &mut Participant) {
        let pin = participant.pin();
        let record = pin.get(self.place.find(&pin));
        if record.lock().is_err() {
            return;
        }
        if !record.is_absent() {
            return record.unlock();
        }
        if let Some(snapshot) = self.snapshots.active(&pin) {
            snapshot.orphan(record, 0);
        }
        record.kill();
        self.is_gone.store(true, Ordering::Release);
    }
}

fn row(stamp: Stamp) -> VersionBox {
    let mut version = VersionBox::copy_of(&stamp.0.to_le_bytes());
    version.set_order(stamp, stamp);
    version
}

/// Announces, waits, scans, takes the orphans and releases once; returns the boundary and what was found.
fn scan(world: &World, participant: &mut Participant) -> Option<(Epoch, Option<Stamp>)> {
    let boundary = world.snapshots.announce(&participant.pin());
    world.epochs.advance();
    world.epochs.advance();
    let found = (world.epochs.safe() >= boundary).then(|| {
        let pin = participant.pin();
        let snapshot = world.snapshots.active(&pin).expect("it was announced");
        let is_gone = world.is_gone.load(Ordering::Acquire);
        let taken = (!is_gone).then(|| snapshot.take(world.place.find(&pin))).flatten();
        let orphans = world.snapshots.take_orphans(&pin).expect("nothing that was kept is left over");
        let found: Vec<_> = taken.into_iter().chain(orphans.rows().map(|(_, _, version)| version)).collect();
        found.iter().for_each(|version| assert_eq!(version.bytes(), version.stamp().0.to_le_bytes()));
        assert!(found.len() <= 1, "a row is taken once: {found:?}");
        found.first().map(|version| version.stamp())
    });
    while world.snapshots.release(&participant.pin()) {}
    found.map(|found| (boundary, found))
}

/// What a snapshot of `boundary` holds after these commits: (epoch, stamp, deleted).
fn expected(boundary: Epoch, commits: &[(Epoch, Stamp, bool)]) -> Option<Stamp> {
    let inside = commits.iter().filter(|(epoch, ..)| *epoch <= boundary);
    match inside.max_by_key(|(_, stamp, _)| *stamp) {
        None => Some(Stamp(1)),
        Some((_, stamp, deleted)) => (!deleted).then_some(*stamp),
    }
}

fn explore_writers(preemptions: usize, first: &'static [bool], second: &'static [bool]) {
    explore(preemptions, move || {
        let world = World::new(3);
        let write = |world: Arc<World>, mut participant: Participant, deletes: &'static [bool]| {
            let commit = |deletes: &bool| {
                let (epoch, stamp) = world.commit(&mut participant, *deletes)?;
                if *deletes {
                    world.purge(&mut participant);
                }
                Some((epoch, stamp, *deletes))
            };
            deletes.iter().filter_map(commit).collect::<Vec<_>>()
        };
        let mut scanner = world.participant();
        let spawn = |deletes: &'static [bool]| {
            let (world, participant) = (Arc::clone(&world), world.participant());
            thread::spawn(move || write(world, participant, deletes))
        };
        let writers: Vec<_> = [first, second].into_iter().filter(|it| !it.is_empty()).map(spawn).collect();
        let scanned = scan(&world, &mut scanner);
        let join = |writer: thread::JoinHandle<Vec<_>>| writer.join().expect("a writer is content");
        let commits: Vec<_> = writers.into_iter().flat_map(join).collect();
        if let Some((boundary, found)) = scanned {
            assert_eq!(found, expected(boundary, &commits), "boundary {boundary}, commits {commits:?}");
        }
    });
}

/// The first overwriter keeps the version, the second finds nothing to keep.
#[test]
fn overwriters_leave_the_boundary() {
    explore_writers(2, &[false, false], &[]);
}

/// A deleter, his purge, and one who inserts again.
#[test]
fn a_deleter_leaves_the_boundary() {
    explore_writers(2, &[true, false], &[]);
}

/// Two committers race for the first overwrite.
#[test]
fn two_writers_leave_the_boundary() {
    explore_writers(1, &[false], &[true]);
}
