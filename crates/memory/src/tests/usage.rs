//! What is counted is what is there: after any work, once nothing waits any more.

use fastrand::Rng;

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, thread};
use crate::usage::FOLD_BYTES;
use crate::{Epochs, LeafScan, MemoryUse, Participant, Pin, Reads, Record, ScanFrom, Snapshots, Stamp, Swept, Tree};

const THREADS: u64 = 3;
const STEPS: u64 = if cfg!(miri) { 60 } else { 6_000 };

struct World {
    epochs: Arc<Epochs>,
    snapshots: Arc<Snapshots>,
    tree: Tree<Record>,
    stamps: AtomicU64,
}

impl World {
    fn new() -> World {
        let epochs = Epochs::new(8);
        let (snapshots, tree) = (Snapshots::new(epochs.clone()), Tree::new(epochs.clone()));
        World { epochs, snapshots, tree, stamps: AtomicU64::new(0) }
    }

    fn participant(&self) -> Participant {
        self.epochs.register().expect("a slot")
    }

    /// One transaction on one key, as the engine does it: of a row of any size, of none, or given up.
    fn step(&self, pin: &Pin<'_>, key: &[u8], rng: &mut Rng) {
        let entry = self.tree.get_or_insert(pin, key, |stamp| Record::new_absent(key, stamp)).entry;
        let record = pin.get(entry);
        let len = if rng.u8(..40) == 0 { 100_000 } else { rng.usize(..600) };
        let mut version = (rng.u8(..3) > 0).then(|| pin.new_version(len));
        if rng.u8(..8) == 0 || record.lock().is_err() {
            return;
        }
        let stamp = Stamp(self.stamps.fetch_add(1, Ordering::Relaxed) + 1);
        let s_point = pin.s_point();
        let committer = self.snapshots.committer(pin, s_point.epoch());
        if let Some(version) = &mut version {
            version.bytes_mut().fill(1);
            version.set_order(stamp, stamp);
        }
        record.install_in(pin, version, stamp, &committer, false);
    }

    fn remove(&self, pin: &Pin<'_>, key: &[u8]) {
        self.tree.remove_if(pin, key, |record, _| {
            let word = record.try_lock().ok()?;
            if !record.is_absent() {
                record.unlock();
                return None;
            }
            self.snapshots.orphan(record, self.tree.id());
            record.kill();
            Some(word.stamp())
        });
    }

    /// What is linked, found by walking.
    fn walk(&self, pin: &Pin<'_>) -> MemoryUse {
        let mut found = MemoryUse { nodes: self.tree.memory_bytes(pin) as u64, ..MemoryUse::default() };
        let mut leaf = LeafScan::new();
        self.tree.scan_leaf(pin, ScanFrom::AtLeast(&[]), &mut leaf);
        loop {
            for record in leaf.entries.iter().map(|entry| pin.get(*entry)) {
                found.keys += record.memory_bytes() as u64;
                found.rows += record.version(pin).map_or(0, |version| version.memory_bytes() as u64);
            }
            if !self.tree.scan_next(pin, &mut leaf) {
                return found;
            }
        }
    }

    fn check(&self, participant: &mut Participant) {
        drop(participant.pin());
        for _ in 0..3 {
            self.epochs.advance();
        }
        self.epochs.advance();
        self.epochs.free_spares();
        while participant.reclaim() > 0 {}
        assert_eq!(self.epochs.memory(), self.walk(&participant.pin()));
    }
}

#[test]
fn what_is_counted_is_what_is_there() {
    let world = World::new();
    thread::scope(|scope| {
        for id in 0..THREADS {
            let world = &world;
            scope.spawn(move || {
                let (mut participant, mut rng) = (world.participant(), Rng::with_seed(id));
                for step in 1..=STEPS {
                    let key = format!("{:04}", rng.u64(..1000));
                    let pin = participant.pin();
                    if rng.u8(..4) == 0 {
                        world.remove(&pin, key.as_bytes());
                    } else {
                        world.step(&pin, key.as_bytes(), &mut rng);
                    }
                    drop(pin);
                    if step % 50 == 0 {
                        world.epochs.advance();
                    }
                }
            });
        }
        let world = &world;
        scope.spawn(move || {
            for _ in 0..STEPS / 100 {
                let snapshot = world.snapshots.open(Reads::All).expect("epochs are few");
                world.epochs.advance();
                thread::yield_now();
                drop(snapshot);
                while world.snapshots.sweep() == Swept::Piece {}
            }
        });
    });
    let mut participant = world.participant();
    world.check(&mut participant);
    assert!(world.epochs.memory_peak_bytes() >= world.epochs.memory_bytes());

    let World { epochs, snapshots, tree, .. } = world;
    drop((snapshots, tree, participant));
    for _ in 0..3 {
        epochs.advance();
    }
    assert_eq!(epochs.memory(), MemoryUse::default(), "everything that was counted was taken off");
}

#[test]
fn what_a_snapshot_keeps_is_counted_as_such() {
    let world = World::new();
    let (mut participant, mut rng) = (world.participant(), Rng::with_seed(1));
    let keys: Vec<[u8; 2]> = (0..50_u16).map(u16::to_be_bytes).collect();
    let write = |participant: &mut Participant, rng: &mut Rng| {
        let pin = participant.pin();
        keys.iter().for_each(|key| world.step(&pin, key, rng));
    };
    write(&mut participant, &mut rng);
    world.check(&mut participant);
    let rows = world.epochs.memory().rows;
    let snapshot = world.snapshots.open(Reads::All).expect("epochs are few");
    world.epochs.advance();
    write(&mut participant, &mut rng);
    participant.reclaim();
    let kept = world.epochs.memory().retained;
    let beside = 100 * keys.len() as u64;
    assert!(kept > 0 && kept <= rows + beside, "{kept} of {rows} bytes were overwritten");
    let open = world.snapshots.list();
    assert!(matches!(&open[..], [open] if open.bytes as u64 == kept), "{open:?} of {kept} bytes");
    drop(snapshot);
    while world.snapshots.sweep() == Swept::Piece {}
    world.epochs.advance();
    // What was let go of serves the next versions.
    write(&mut participant, &mut rng);
    participant.reclaim();
    assert!(world.epochs.memory().retained < kept);
    world.check(&mut participant);
}

#[test]
fn a_participant_tells_in_pieces() {
    let world = World::new();
    let (mut participant, mut rng) = (world.participant(), Rng::with_seed(2));
    for key in 0..2_000_u32 {
        let pin = participant.pin();
        world.step(&pin, &key.to_be_bytes(), &mut rng);
        let told = world.epochs.memory_bytes();
        let found = world.walk(&pin).total();
        drop(pin);
        assert!(told.abs_diff(found) < FOLD_BYTES + (200 << 10), "{told} bytes are told, there are {found}");
    }
    world.check(&mut participant);
}
