//! Readers of the past: what they find, and for how long.

use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, thread};
use crate::{
    AsOf, Epochs, Held, Moment, Observed, Participant, Pin, Record, Snapshots, Stamp, Timestamps, Tree, VersionBox,
};

struct World {
    epochs: Arc<Epochs>,
    snapshots: Arc<Snapshots>,
    tree: Tree<Record>,
    timestamps: Timestamps,
    stamps: AtomicU64,
}

/// What every row holds at first.
const FIRST: i64 = 100;

/// The rows of the stress test.
const ROWS: u64 = 12;

impl World {
    fn new(rows: u64) -> Arc<World> {
        let epochs = Epochs::with_histories(16);
        let (snapshots, tree) = (Snapshots::new(Arc::clone(&epochs)), Tree::new(Arc::clone(&epochs)));
        let (timestamps, stamps) = (Timestamps::default(), AtomicU64::new(0));
        let world = Arc::new(World { epochs, snapshots, tree, timestamps, stamps });
        let mut participant = world.participant();
        let pin = participant.pin();
        for key in 0..rows {
            world.write(&pin, &[key], |_| FIRST);
        }
        drop(pin);
        world
    }

    fn participant(&self) -> Participant {
        self.epochs.register().expect("a slot")
    }

    fn find(&self, pin: &Pin<'_>, key: u64) -> Held<Record> {
        let key = key.to_be_bytes();
        self.tree.get_or_insert(pin, &key, |stamp| Record::new_absent(&key, stamp)).entry
    }

    /// Commits what `change` makes of each number; zero is an absent row.
    fn write(&self, pin: &Pin<'_>, keys: &[u64], mut change: impl FnMut(i64) -> i64) -> Moment {
        let mut records: Vec<_> = keys.iter().map(|key| self.find(pin, *key)).collect();
        records.sort_by_key(Held::address);
        for record in &records {
            pin.get(*record).lock().expect("no record is dead");
        }
        let timestamp = self.timestamps.draw();
        let s_point = pin.s_point();
        let committer = self.snapshots.committer(pin, s_point.epoch());
        let stamp = Stamp(self.stamps.fetch_add(1, Ordering::Relaxed) + 1);
        for key in keys {
            let record = pin.get(self.find(pin, *key));
            let number = change(record.version(pin).map_or(0, |version| number(version.bytes())));
            let version = (number != 0).then(|| {
                // Of different sizes, so that memory changes its use.
                let mut version = pin.new_version(8 + 40 * (number as usize % 3));
                version.bytes_mut().fill(0);
                version.bytes_mut()[..8].copy_from_slice(&number.to_le_bytes());
                version.set_order(stamp, stamp);
                version
            });
            record.install_at(pin, version, (stamp, timestamp), &committer, false);
        }
        Moment { epoch: s_point.epoch(), timestamp }
    }

    fn read(&self, pin: &Pin<'_>, key: u64, at: Moment) -> i64 {
        match pin.get(self.find(pin, key)).read_at(pin, at) {
            AsOf::Newest(Observed::Present(version)) | AsOf::Older(Observed::Present(version)) => {
                number(version.bytes())
            }
            AsOf::Newest(Observed::Absent(_)) | AsOf::Older(Observed::Absent(_)) => 0,
            found => panic!("{found:?}"),
        }
    }
}

fn number(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"))
}

#[test]
fn a_reader_finds_each_state_that_its_pin_protects() {
    let world = World::new(1);
    let (mut reader, mut writer) = (world.participant(), world.participant());
    let pin = reader.pin();
    let before = world.timestamps.now(&pin);
    let values = [5, 6, 0, 0, 7];
    let moments = values.map(|value| world.write(&writer.pin(), &[0], |_| value));
    for _ in 0..5 {
        world.epochs.advance();
        writer.reclaim_all();
    }
    assert_eq!(world.read(&pin, 0, before), FIRST);
    for (value, at) in values.into_iter().zip(moments) {
        assert_eq!(world.read(&pin, 0, at), value);
    }
    drop(pin);
    assert_eq!(writer.reclaim_all(), 5, "nobody reads the past, but nothing has advanced since");
    world.epochs.advance();
    assert_eq!(writer.reclaim_all(), 0, "what was replaced is freed");
}

#[test]
fn a_moment_that_the_pin_does_not_protect_is_not_followed() {
    let world = World::new(1);
    let mut participant = world.participant();
    world.write(&participant.pin(), &[0], |_| 5);
    world.epochs.advance();
    let pin = participant.pin();
    let record = pin.get(world.find(&pin, 0));
    assert!(matches!(record.read_at(&pin, Moment::default()), AsOf::Lost));
}

#[test]
fn versions_without_a_history_are_seen_by_all() {
    let world = World::new(0);
    let mut participant = world.participant();
    let pin = participant.pin();
    let record = pin.get(world.find(&pin, 0));
    let mut version = VersionBox::copy_of(&9_i64.to_le_bytes());
    version.set_order(Stamp(1), Stamp(1));
    record.replay(&pin, Stamp(1), Some(version));
    assert_eq!(world.read(&pin, 0, Moment::default()), 9);
    world.stamps.store(1, Ordering::Relaxed);
    world.write(&pin, &[0], |_| 10);
    assert_eq!(world.read(&pin, 0, Moment::default()), 9);
    assert_eq!(world.read(&pin, 0, world.timestamps.now(&pin)), 10);
}

/// Sums of all rows stay what they are as of every moment, while rows come, change and go.
#[test]
fn readers_see_whole_transactions_only() {
    let transfers = if cfg!(miri) { 60 } else { 30_000 };
    let world = World::new(ROWS);
    let is_over = Arc::new(AtomicBool::new(false));
    let spawn = |work: fn(&World, &AtomicBool)| {
        let (world, is_over) = (Arc::clone(&world), Arc::clone(&is_over));
        thread::spawn(move || work(&world, &is_over))
    };
    let others = [spawn(advance), spawn(watch), spawn(watch)];
    let writers = [3, 4].map(|seed| {
        let world = Arc::clone(&world);
        thread::spawn(move || transfer(&world, transfers, seed))
    });
    writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
    is_over.store(true, Ordering::Relaxed);
    others.into_iter().for_each(|other| other.join().expect("a reader"));
}

fn advance(world: &World, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        world.epochs.advance();
        world.epochs.free_more();
        thread::yield_now();
    }
}

fn watch(world: &World, is_over: &AtomicBool) {
    let mut participant = world.participant();
    while !is_over.load(Ordering::Relaxed) {
        let pin = participant.pin();
        let at = world.timestamps.now(&pin);
        for _ in 0..2 {
            let sum: i64 = (0..ROWS).map(|key| world.read(&pin, key, at)).sum();
            assert_eq!(sum, ROWS as i64 * FIRST, "as of {at:?}");
        }
    }
}

fn transfer(world: &World, count: u64, seed: u64) {
    let (mut participant, mut state) = (world.participant(), seed);
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..count {
        let (from, to) = (draw(ROWS), draw(ROWS));
        if from == to {
            continue;
        }
        let (takes_all, amount) = (draw(4) == 0, draw(9) as i64 - 4);
        let mut taken = None;
        world.write(&participant.pin(), &[from, to], |before| match taken {
            None => {
                let moved = if takes_all { before } else { amount };
                taken = Some(moved);
                before - moved
            }
            Some(moved) => before + moved,
        });
    }
}
