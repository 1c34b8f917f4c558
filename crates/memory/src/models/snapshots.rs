//! A snapshot is exactly its boundary: whatever overwriters and deleters do meanwhile, a reader finds the version that
//! the last transaction up to the boundary left.

use super::explore;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, thread};
use crate::testing::LoneRecord;
use crate::{Epoch, Epochs, Participant, Reads, Record, Snapshot, Snapshots, Stamp, Swept, VersionBox};

struct World {
    epochs: Arc<Epochs>,
    snapshots: Arc<Snapshots>,
    place: LoneRecord,
    /// The record has left its index.
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
        let s_point = pin.s_point();
        let committer = self.snapshots.committer(&pin, s_point.epoch());
        let stamp = word.stamp().next();
        record.install_in(&pin, (!deletes).then(|| row(stamp)), stamp, &committer, false);
        Some((s_point.epoch(), stamp))
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
        self.snapshots.orphan(record, 0);
        record.kill();
        self.is_gone.store(true, Ordering::Release);
    }

    fn sweep(&self) {
        while self.snapshots.sweep() == Swept::Piece {}
    }
}

fn row(stamp: Stamp) -> VersionBox {
    let mut version = VersionBox::copy_of(&stamp.0.to_le_bytes());
    version.set_order(stamp, stamp);
    version
}

/// Reads, where it can be read; returns the boundary and what was found.
fn read(world: &World, participant: &mut Participant, snapshot: &Snapshot) -> Option<(Epoch, Option<Stamp>)> {
    snapshot.is_readable().then(|| {
        let pin = participant.pin();
        let is_gone = world.is_gone.load(Ordering::Acquire);
        let found = match is_gone {
            false => snapshot.read(&pin, 0, world.place.find(&pin)),
            true => snapshot.read_orphan(&pin, 0, b"key"),
        };
        let found = found.expect("nobody ends it");
        found.inspect(|version| assert_eq!(version.bytes(), version.stamp().0.to_le_bytes()));
        (snapshot.boundary(), found.map(|version| version.stamp()))
    })
}

/// Opens snapshots, reads each as often as it may be, closes them and lets go of what was kept.
fn scan(world: &World, participant: &mut Participant, kinds: &[Reads]) -> Vec<(Epoch, Option<Stamp>)> {
    let open = |kind: &Reads| {
        let snapshot = world.snapshots.open(*kind).expect("epochs are few");
        world.epochs.advance();
        snapshot
    };
    let snapshots: Vec<_> = kinds.iter().map(open).collect();
    let mut found = Vec::new();
    for snapshot in snapshots {
        found.extend(read(world, participant, &snapshot));
        drop(snapshot);
        world.sweep();
    }
    found
}

/// What a snapshot of `boundary` holds after these commits: (epoch, stamp, deleted).
fn expected(boundary: Epoch, commits: &[(Epoch, Stamp, bool)]) -> Option<Stamp> {
    let inside = commits.iter().filter(|(epoch, ..)| *epoch <= boundary);
    match inside.max_by_key(|(_, stamp, _)| *stamp) {
        None => Some(Stamp(1)),
        Some((_, stamp, deleted)) => (!deleted).then_some(*stamp),
    }
}

fn explore_writers(preemptions: usize, kinds: &'static [Reads], first: &'static [bool], second: &'static [bool]) {
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
        let scanned = scan(&world, &mut scanner, kinds);
        let join = |writer: thread::JoinHandle<Vec<_>>| writer.join().expect("a writer is content");
        let commits: Vec<_> = writers.into_iter().flat_map(join).collect();
        for (boundary, found) in scanned {
            assert_eq!(found, expected(boundary, &commits), "boundary {boundary}, commits {commits:?}");
        }
    });
}

/// The first overwriter keeps the version, the second finds nothing to keep.
#[test]
fn overwriters_leave_the_boundary() {
    explore_writers(2, &[Reads::All], &[false, false], &[]);
}

/// What the scan has passed is kept no more.
#[test]
fn overwriters_leave_the_boundary_of_a_scan() {
    explore_writers(2, &[Reads::RowsOnce], &[false, false], &[]);
}

/// A deleter, his purge, and one who inserts again.
#[test]
fn a_deleter_leaves_the_boundary() {
    explore_writers(2, &[Reads::All], &[true, false], &[]);
}

/// What one snapshot leaves goes to the other.
#[test]
fn two_snapshots_have_their_boundaries() {
    explore_writers(2, &[Reads::All, Reads::RowsOnce], &[false], &[]);
}

/// Two committers race for the first overwrite.
#[test]
fn two_writers_leave_the_boundary() {
    explore_writers(1, &[Reads::All], &[false], &[true]);
}
