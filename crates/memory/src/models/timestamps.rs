//! A reader of the past finds a state that one commit left behind, whatever committers and the clock do meanwhile, and what it
//! finds stays what it is while it is pinned.

use super::explore;
use crate::sync::atomic::{Ordering, fence};
use crate::sync::{Arc, thread};
use crate::testing::LoneRecord;
use crate::{AsOf, Epochs, Moment, Observed, Participant, Pin, Record, Snapshots, Stamp, Timestamps, VersionBox};

struct World {
    epochs: Arc<Epochs>,
    snapshots: Arc<Snapshots>,
    timestamps: Timestamps,
    places: [LoneRecord; 2],
}

/// The number that both records have at first; absent counts as zero.
const FIRST: u64 = 7;

impl World {
    fn new(participants: usize) -> Arc<World> {
        let epochs = Epochs::with_histories(participants);
        let places = [b"a", b"b"].map(|key| LoneRecord::new(Record::new_absent(key, Stamp::ZERO), &epochs));
        let mut participant = epochs.register().expect("a slot");
        let pin = participant.pin();
        places.iter().for_each(|place| {
            pin.get(place.find(&pin)).replay(&pin, Stamp(1), Some(row(VersionBox::new(8), FIRST, Stamp(1))));
        });
        drop(pin);
        let snapshots = Snapshots::new(Arc::clone(&epochs));
        Arc::new(World { epochs, snapshots, timestamps: Timestamps::default(), places })
    }

    fn participant(&self) -> Participant {
        self.epochs.register().expect("a slot")
    }

    /// Commits `number` to both records; zero deletes them.
    fn commit(&self, participant: &mut Participant, number: u64) -> (Moment, u64) {
        let pin = participant.pin();
        let records = self.places.each_ref().map(|place| pin.get(place.find(&pin)));
        records.iter().for_each(|record| drop(record.lock().expect("nothing is purged")));
        let timestamp = self.timestamps.draw();
        let s_point = pin.s_point();
        let committer = self.snapshots.committer(&pin, s_point.epoch());
        for record in records {
            let stamp = record.word().stamp().next();
            let version = (number > 0).then(|| row(pin.new_version(8), number, stamp));
            record.install_at(&pin, version, (stamp, timestamp), &committer, false);
        }
        (Moment { epoch: s_point.epoch(), timestamp }, number)
    }

    /// Commits a change of one record, if that is valid.
    fn change(&self, pin: &Pin<'_>, at: usize, is_valid: impl FnOnce() -> bool) -> Option<Moment> {
        let record = pin.get(self.places[at].find(pin));
        let stamp = record.lock().expect("nothing is purged").stamp().next();
        let timestamp = self.timestamps.draw();
        let s_point = pin.s_point();
        if !is_valid() {
            record.unlock();
            return None;
        }
        let committer = self.snapshots.committer(pin, s_point.epoch());
        record.install_at(pin, Some(row(pin.new_version(8), 8, stamp)), (stamp, timestamp), &committer, false);
        Some(Moment { epoch: s_point.epoch(), timestamp })
    }

    /// The numbers in both records as of `at`.
    fn read(&self, pin: &Pin<'_>, at: Moment) -> [u64; 2] {
        self.places.each_ref().map(|place| match pin.get(place.find(pin)).read_at(pin, at) {
            AsOf::Newest(Observed::Present(version)) | AsOf::Older(Observed::Present(version)) => {
                u64::from_le_bytes(version.bytes().try_into().expect("eight bytes"))
            }
            AsOf::Newest(Observed::Absent(_)) | AsOf::Older(Observed::Absent(_)) => 0,
            found => panic!("{found:?}"),
        })
    }
}

fn row(mut version: VersionBox, number: u64, stamp: Stamp) -> VersionBox {
    version.bytes_mut().copy_from_slice(&number.to_le_bytes());
    version.set_order(stamp, stamp);
    version
}

/// Reads twice, as of one moment.
fn look(world: &World, participant: &mut Participant) -> (Moment, u64) {
    let pin = participant.pin();
    let at = world.timestamps.now(&pin);
    let found = world.read(&pin, at);
    assert_eq!(found[0], found[1], "both are of one commit");
    assert_eq!(world.read(&pin, at), found, "the past does not change");
    (at, found[0])
}

fn scenario(numbers: &'static [u64], advances: usize) {
    let world = World::new(4);
    let writer = {
        let (world, mut participant) = (Arc::clone(&world), world.participant());
        thread::spawn(move || {
            let commit = |(at, number): (usize, &u64)| {
                let commit = world.commit(&mut participant, *number);
                (at < advances).then(|| world.epochs.advance());
                commit
            };
            numbers.iter().enumerate().map(commit).collect::<Vec<_>>()
        })
    };
    let beside = look(&world, &mut world.participant());
    let commits = writer.join().expect("the writer ends");
    let behind = look(&world, &mut world.participant());
    assert_eq!(Some(behind.1), numbers.last().copied(), "what has committed is seen");
    for (at, found) in [beside, behind] {
        let last = commits.iter().take_while(|(moment, _)| *moment <= at).last();
        assert_eq!(found, last.map_or(FIRST, |(_, number)| *number), "as of {at:?}");
    }
}

/// Starts a thread that advances the clock and has nothing to do with commits: only fences order them.
fn tick(world: &Arc<World>) -> thread::JoinHandle<()> {
    let world = Arc::clone(world);
    thread::spawn(move || {
        world.epochs.advance();
    })
}

#[test]
fn both_records_are_as_one_commit_left_them() {
    explore(2, || scenario(&[8], 0));
}

#[test]
fn what_was_replaced_twice_is_there_while_the_clock_advances() {
    explore(2, || scenario(&[8, 9], 2));
}

#[test]
fn what_was_deleted_is_there_too() {
    explore(2, || scenario(&[0, 9], 1));
}

#[test]
fn a_clock_apart_is_ordered_by_fences() {
    explore(2, || {
        let world = World::new(4);
        let writer = {
            let (world, mut participant) = (Arc::clone(&world), world.participant());
            thread::spawn(move || world.commit(&mut participant, 8))
        };
        let ticker = tick(&world);
        let (at, found) = look(&world, &mut world.participant());
        let (moment, number) = writer.join().expect("the writer ends");
        ticker.join().expect("the clock is advanced");
        assert_eq!(found, if moment <= at { number } else { FIRST }, "as of {at:?}");
    });
}

/// What is unlocked and unchanged after a later moment is what it was as of that one.
#[test]
fn who_goes_on_to_the_present_sees_one_state() {
    explore(2, || {
        let world = World::new(4);
        let writer = {
            let (world, mut participant) = (Arc::clone(&world), world.participant());
            thread::spawn(move || drop(world.commit(&mut participant, 8)))
        };
        let ticker = tick(&world);
        let mut participant = world.participant();
        {
            let pin = participant.pin();
            let first = pin.get(world.places[0].find(&pin));
            if let AsOf::Newest(Observed::Present(seen)) = first.read_at(&pin, world.timestamps.now(&pin)) {
                let now = world.timestamps.now(&pin);
                fence(Ordering::SeqCst);
                let word = first.word();
                if !word.is_locked() && word.stamp() == seen.stamp() {
                    let number = u64::from_le_bytes(seen.bytes().try_into().expect("eight bytes"));
                    assert_eq!(world.read(&pin, now), [number; 2], "as of {now:?}");
                }
            }
        }
        writer.join().expect("the writer ends");
        ticker.join().expect("the clock is advanced");
    });
}

/// Who has read a record, and then finds it as it was, has an earlier moment than who changes it.
#[test]
fn moments_are_an_order() {
    explore(2, || {
        let world = World::new(4);
        let second = {
            let (world, mut participant) = (Arc::clone(&world), world.participant());
            thread::spawn(move || {
                let pin = participant.pin();
                world.change(&pin, 0, || true).expect("it is changed")
            })
        };
        let ticker = tick(&world);
        let mut participant = world.participant();
        let pin = participant.pin();
        let first = world.change(&pin, 1, || {
            fence(Ordering::SeqCst);
            let word = pin.get(world.places[0].find(&pin)).word();
            !word.is_locked() && word.stamp() == Stamp(1)
        });
        drop(pin);
        let second = second.join().expect("it ends");
        ticker.join().expect("the clock is advanced");
        assert!(first.is_none_or(|first| first < second), "{first:?} {second:?}");
    });
}
