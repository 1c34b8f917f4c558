//! Snapshots: what is retained, what is found, what is freed.

use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, thread};
use crate::{
    Epoch, Epochs, Held, LeafScan, Participant, Pin, Record, ScanFrom, Snapshots, Stamp, Tree, Version, VersionBox,
};

type Records = Tree<Record>;

fn number(version: &Version) -> i64 {
    i64::from_le_bytes(version.bytes().try_into().expect("eight bytes"))
}

struct World {
    epochs: Arc<Epochs>,
    snapshots: Snapshots,
    tree: Records,
    stamps: AtomicU64,
}

impl World {
    fn new(rows: u64) -> Arc<World> {
        let epochs = Epochs::new(8);
        let (snapshots, tree) = (Snapshots::new(Arc::clone(&epochs)), Tree::new(Arc::clone(&epochs)));
        let world = Arc::new(World { epochs, snapshots, tree, stamps: AtomicU64::new(0) });
        let mut participant = world.participant();
        let pin = participant.pin();
        (0..rows).for_each(|key| world.write(&pin, &[key], |_| Some(100)));
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

    /// A transaction that sets each key's value to what `change` makes of it; absent rows count as 0 and go in as such.
    fn write(&self, pin: &Pin<'_>, keys: &[u64], mut change: impl FnMut(i64) -> Option<i64>) {
        let mut records: Vec<_> = keys.iter().map(|key| self.find(pin, *key)).collect();
        records.sort_by_key(Held::address);
        for record in &records {
            pin.get(*record).lock().expect("no record is dead");
        }
        let interval = self.snapshots.interval(pin, pin.current_epoch());
        let stamp = Stamp(self.stamps.fetch_add(1, Ordering::Relaxed) + 1);
        for key in keys {
            let record = pin.get(self.find(pin, *key));
            let before = record.version(pin).map_or(0, number);
            let version = change(before).map(|value| {
                let mut version = VersionBox::copy_of(&value.to_le_bytes());
                version.set_order(stamp, stamp);
                version
            });
            record.install_in(pin, version, stamp, &interval);
        }
    }

    /// Announces and waits until the snapshot can be read.
    fn begin(&self, participant: &mut Participant) {
        let boundary = self.snapshots.announce(&participant.pin());
        while self.epochs.safe() < boundary {
            self.epochs.advance();
            thread::yield_now();
        }
    }

    fn end(&self, participant: &mut Participant) {
        while self.snapshots.release(&participant.pin()) {}
    }

    /// Count and sum of the rows in the snapshot, a leaf per pin.
    fn read(&self, participant: &mut Participant) -> (u64, i64) {
        let (mut rows, mut sum, mut from) = (0, 0, Vec::new());
        loop {
            let pin = participant.pin();
            let snapshot = self.snapshots.active(&pin).expect("it was announced");
            let mut leaf = LeafScan::default();
            self.tree.scan_leaf(&pin, ScanFrom::AtLeast(&from), &mut leaf);
            for version in leaf.entries.iter().filter_map(|record| snapshot.take(*record)) {
                rows += 1;
                sum += number(version);
            }
            match leaf.next(&pin) {
                Some(next) => from = next.to_vec(),
                None => return (rows, sum),
            }
        }
    }
}

#[test]
fn a_snapshot_keeps_what_later_transactions_change() {
    let world = World::new(3);
    let (mut writer, mut scanner) = (world.participant(), world.participant());
    for round in 0..3 {
        let state = world_state(&world, &mut writer);
        world.begin(&mut scanner);
        for change in [Some(7), None, Some(9), None] {
            world.write(&writer.pin(), &[0, 5 + round], |_| change);
        }
        world.write(&writer.pin(), &[1], |value| Some(value + 1));
        assert_eq!(world.read(&mut scanner), state, "round {round}");
        world.end(&mut scanner);
        assert!(!world.snapshots.is_active(&writer.pin()));
        world.write(&writer.pin(), &[0], |_| Some(100));
    }
}

fn world_state(world: &World, participant: &mut Participant) -> (u64, i64) {
    let pin = participant.pin();
    let value = |key| {
        let version = pin.get(world.find(&pin, key)).version(&pin)?;
        Some(number(version))
    };
    let values: Vec<i64> = (0..10).filter_map(value).collect();
    (values.len() as u64, values.iter().sum())
}

#[test]
fn a_commit_before_the_boundary_belongs_to_the_snapshot() {
    let world = World::new(1);
    let (mut writer, mut scanner) = (world.participant(), world.participant());
    let boundary = world.snapshots.announce(&scanner.pin());
    assert!(world.epochs.current() <= boundary);
    world.write(&writer.pin(), &[0], |_| Some(1));
    while world.epochs.safe() < boundary {
        world.epochs.advance();
    }
    world.write(&writer.pin(), &[0], |_| Some(2));
    assert_eq!(world.read(&mut scanner), (1, 1));
    world.end(&mut scanner);
}

#[test]
#[should_panic(expected = "of their own clock")]
fn an_interval_of_another_clock_is_refused() {
    let (world, other) = (World::new(1), World::new(1));
    let (mut participant, mut foreign) = (world.participant(), other.participant());
    let (pin, foreign) = (participant.pin(), foreign.pin());
    other.snapshots.announce(&foreign);
    let record = pin.get(world.find(&pin, 0));
    record.lock().expect("it is not dead");
    let interval = other.snapshots.interval(&foreign, Epoch(u64::MAX));
    record.install_in(&pin, None, Stamp(2), &interval);
}

#[test]
#[should_panic(expected = "one snapshot at a time")]
fn a_second_snapshot_is_refused() {
    let world = World::new(1);
    let mut participant = world.participant();
    world.snapshots.announce(&participant.pin());
    world.snapshots.announce(&participant.pin());
}

#[test]
fn what_is_dropped_halfway_is_freed() {
    let world = World::new(4);
    let (mut writer, mut scanner) = (world.participant(), world.participant());
    world.begin(&mut scanner);
    world.write(&writer.pin(), &[0, 1, 2], |_| None);
    world.snapshots.release(&scanner.pin());
    world.write(&writer.pin(), &[3], |_| None);
}

/// Transfers keep the total; every snapshot must find it, whatever moves, vanishes and comes back meanwhile.
#[test]
fn every_snapshot_of_a_busy_tree_has_the_total() {
    const ROWS: u64 = if cfg!(miri) { 8 } else { 300 };
    const SNAPSHOTS: usize = if cfg!(miri) { 2 } else { 30 };
    let world = World::new(ROWS);
    let stop = Arc::new(AtomicBool::new(false));
    let transfer = |seed| {
        let (world, stop) = (Arc::clone(&world), Arc::clone(&stop));
        thread::spawn(move || {
            let (mut rng, mut participant) = (fastrand::Rng::with_seed(seed), world.participant());
            while !stop.load(Ordering::Relaxed) {
                let (from, to) = (rng.u64(0..ROWS), rng.u64(0..ROWS + 50));
                let (amount, mut is_first) = (rng.i64(0..5), true);
                if from != to {
                    // A row of 0 is as good as none: deletes and re-inserts keep the total too.
                    let some = |value: i64| (value != 0).then_some(value);
                    world.write(&participant.pin(), &[from, to], |value| {
                        let sign = if std::mem::take(&mut is_first) { -1 } else { 1 };
                        some(value + sign * amount)
                    });
                }
            }
        })
    };
    let writers: Vec<_> = (0..2).map(transfer).collect();
    let mut scanner = world.participant();
    for _ in 0..SNAPSHOTS {
        world.begin(&mut scanner);
        assert_eq!(world.read(&mut scanner).1, 100 * ROWS as i64);
        world.end(&mut scanner);
    }
    stop.store(true, Ordering::Relaxed);
    writers.into_iter().for_each(|writer| writer.join().unwrap());
}

#[test]
fn a_partition_cuts_a_tree_into_equal_ranges() {
    const ROWS: u64 = if cfg!(miri) { 500 } else { 20_000 };
    const PARTS: &[usize] = if cfg!(miri) { &[1, 2] } else { &[1, 2, 3, 8, 50] };
    let world = World::new(ROWS);
    let mut participant = world.participant();
    let pin = participant.pin();
    for &parts in PARTS {
        let bounds = world.tree.partition(&pin, parts);
        assert_eq!(bounds.len(), parts - 1);
        let ordinal = |bound: &[u8]| {
            let mut bytes = [0; 8];
            bytes[..bound.len()].copy_from_slice(bound);
            u64::from_be_bytes(bytes)
        };
        let mut edges: Vec<u64> = bounds.iter().map(|bound| ordinal(bound)).collect();
        edges.push(ROWS);
        let mut before = 0;
        for edge in edges {
            assert!(edge > before && edge - before <= 3 * ROWS / parts as u64, "{parts} parts: {before} to {edge}");
            before = edge;
        }
    }
}
