//! A snapshot is exactly its boundary: whatever overwriters and deleters do meanwhile, the scan finds the version that
//! the last transaction up to the boundary left.

use super::explore;
use crate::sync::{Arc, thread};
use crate::testing::Place;
use crate::{Epoch, Epochs, Participant, Record, Snapshots, Stamp, VersionBox};

struct World {
    epochs: Arc<Epochs>,
    snapshots: Snapshots,
    place: Place,
}

impl World {
    /// One record whose row has stamp 1.
    fn new(participants: usize) -> Arc<World> {
        let epochs = Epochs::new(participants);
        let place = Place::new(Record::new_absent(b"key", Stamp::ZERO), &epochs);
        let mut participant = epochs.register().expect("a slot");
        let pin = participant.pin();
        let record = pin.get(place.find(&pin));
        record.replay(&pin, Stamp(1), Some(row(Stamp(1))));
        drop(pin);
        Arc::new(World { snapshots: Snapshots::new(Arc::clone(&epochs)), place, epochs })
    }

    fn participant(&self) -> Participant {
        self.epochs.register().expect("a slot")
    }

    /// A committed transaction on the record: its epoch and its stamp.
    fn commit(&self, participant: &mut Participant, deletes: bool) -> (Epoch, Stamp) {
        let pin = participant.pin();
        let record = pin.get(self.place.find(&pin));
        let word = record.lock().expect("the record is not dead");
        let epoch = pin.current_epoch();
        let interval = self.snapshots.interval(&pin, epoch);
        let stamp = word.stamp().next();
        record.install_in(&pin, (!deletes).then(|| row(stamp)), stamp, &interval);
        (epoch, stamp)
    }
}

fn row(stamp: Stamp) -> VersionBox {
    let mut version = VersionBox::copy_of(&stamp.0.to_le_bytes());
    version.set_order(stamp, stamp);
    version
}

/// Announces, waits, scans and releases once; returns the boundary and what was found.
fn scan(world: &World, participant: &mut Participant) -> Option<(Epoch, Option<Stamp>)> {
    let boundary = world.snapshots.announce(&participant.pin());
    world.epochs.advance();
    world.epochs.advance();
    let found = (world.epochs.safe() >= boundary).then(|| {
        let pin = participant.pin();
        let snapshot = world.snapshots.active(&pin).expect("it was announced");
        let version = snapshot.version(world.place.find(&pin));
        version.inspect(|version| assert_eq!(version.bytes(), version.stamp().0.to_le_bytes()));
        version.map(|version| version.stamp())
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
                let (epoch, stamp) = world.commit(&mut participant, *deletes);
                (epoch, stamp, *deletes)
            };
            deletes.iter().map(commit).collect::<Vec<_>>()
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

/// A deleter and one who inserts again.
#[test]
fn a_deleter_leaves_the_boundary() {
    explore_writers(2, &[true, false], &[]);
}

/// Two committers race for the first overwrite.
#[test]
fn two_writers_leave_the_boundary() {
    explore_writers(1, &[false], &[true]);
}
