//! Snapshots: what is retained, what is found, what is freed.

use std::ops::Bound;

use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, thread};
use crate::{
    Ended, Epoch, Epochs, Held, Page, PageStart, Participant, Pin, Reads, Record, ScanFrom, Snapshot, Snapshots, Stamp,
    Swept, Tree, Version, VersionBox,
};

type Records = Tree<Record>;

fn number(version: &Version) -> i64 {
    i64::from_le_bytes(version.bytes().try_into().expect("eight bytes"))
}

struct World {
    epochs: Arc<Epochs>,
    snapshots: Arc<Snapshots>,
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
        let s_point = pin.s_point();
        let committer = self.snapshots.committer(pin, s_point.epoch());
        let stamp = Stamp(self.stamps.fetch_add(1, Ordering::Relaxed) + 1);
        for key in keys {
            let record = pin.get(self.find(pin, *key));
            let before = record.version(pin).map_or(0, number);
            let version = change(before).map(|value| {
                let mut version = VersionBox::copy_of(&value.to_le_bytes());
                version.set_order(stamp, stamp);
                version
            });
            record.install_in(pin, version, stamp, &committer, false);
        }
    }

    /// Opens a snapshot and waits until it can be read.
    fn open(&self, reads: Reads) -> Snapshot {
        let snapshot = self.snapshots.open(reads).expect("epochs are few");
        while !snapshot.is_readable() {
            self.epochs.advance();
            thread::yield_now();
        }
        snapshot
    }

    fn sweep(&self) {
        while self.snapshots.sweep() == Swept::Piece {}
        // What was let go is freed.
        for _ in 0..3 {
            self.epochs.advance();
        }
        while self.epochs.free_more() {}
        self.epochs.free_spares();
    }

    /// Removes keys without a row from the index.
    fn purge(&self, pin: &Pin<'_>, key: u64) {
        self.tree.remove_if(pin, &key.to_be_bytes(), |record, _| {
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

    /// Count and sum of the rows in the snapshot, a page per pin, upwards or downwards.
    fn read(&self, participant: &mut Participant, snapshot: &Snapshot) -> Result<(u64, i64), Ended> {
        let is_reversed = snapshot.boundary().0 % 2 == 1;
        let (mut rows, mut sum) = (0, 0);
        let (mut page, mut start, mut last) = (Page::default(), None::<PageStart>, None::<Vec<u8>>);
        loop {
            let pin = participant.pin();
            let begin = if is_reversed { ScanFrom::Last } else { ScanFrom::AtLeast(b"") };
            let from = start.as_ref().map_or(begin, |start| start.from(is_reversed));
            page.read(&pin, &self.tree, from, Some((snapshot, 2)));
            for listed in page.listed() {
                let key = listed.key(&pin);
                assert!(
                    last.as_deref().is_none_or(|last| is_reversed == (key < last) && key != last),
                    "{last:?} {key:?}"
                );
                last = Some(key.to_vec());
                if let Some(version) = listed.read(&pin, snapshot, &self.tree)? {
                    rows += 1;
                    sum += number(version);
                }
            }
            match page.next() {
                Some(next) => start = Some(next.clone()),
                None => return Ok((rows, sum)),
            }
        }
    }

    /// What the store has, by its count and by the account.
    fn retained(&self) -> (usize, u64) {
        (self.snapshots.list().iter().map(|open| open.versions).sum(), self.epochs.memory().retained)
    }
}

#[test]
fn a_snapshot_keeps_what_later_transactions_change() {
    for reads in [Reads::All, Reads::RowsOnce] {
        let world = World::new(3);
        let (mut writer, mut reader) = (world.participant(), world.participant());
        for round in 0..3 {
            let state = world_state(&world, &mut writer);
            let snapshot = world.open(reads);
            for change in [Some(7), None, Some(9), None] {
                world.write(&writer.pin(), &[0, 5 + round], |_| change);
            }
            world.write(&writer.pin(), &[1], |value| Some(value + 1));
            for _ in 0..if reads == Reads::All { 2 } else { 1 } {
                let found = world.read(&mut reader, &snapshot);
                assert_eq!(found, Ok(state), "round {round}");
            }
            snapshot.complete();
            drop(snapshot);
            assert!(!world.snapshots.is_open(&writer.pin()));
            world.write(&writer.pin(), &[0], |_| Some(100));
        }
    }
}

/// Snapshots of different ages, closed in different orders: each has its state to its end, and nothing is kept longer.
#[test]
fn many_snapshots_have_their_own_states() {
    for seed in 0..if cfg!(miri) { 2 } else { 50 } {
        let mut rng = fastrand::Rng::with_seed(seed);
        let world = World::new(8);
        let (mut writer, mut reader) = (world.participant(), world.participant());
        let mut open: Vec<(Snapshot, (u64, i64))> = Vec::new();
        for _ in 0..60 {
            match rng.u8(0..10) {
                0 | 1 => {
                    let state = world_state(&world, &mut writer);
                    open.push((world.open(Reads::All), state));
                }
                2 if !open.is_empty() => drop(open.swap_remove(rng.usize(..open.len()))),
                3 => world.sweep(),
                4 => world.purge(&writer.pin(), rng.u64(0..10)),
                _ => {
                    let key = rng.u64(0..10);
                    let value = (rng.u8(0..3) > 0).then(|| rng.i64(0..1000));
                    world.write(&writer.pin(), &[key], |_| value);
                }
            }
            for (snapshot, state) in &open {
                assert_eq!(world.read(&mut reader, snapshot), Ok(*state), "seed {seed}");
            }
        }
        open.clear();
        world.sweep();
        writer.reclaim_all();
        assert_eq!(world.retained(), (0, 0), "seed {seed}");
        assert_eq!(world.snapshots.sweep(), Swept::Nothing);
    }
}

#[test]
fn a_version_that_no_snapshot_sees_is_not_kept() {
    let world = World::new(2);
    let mut writer = world.participant();
    let first = world.open(Reads::All);
    world.write(&writer.pin(), &[0], |_| Some(1));
    assert_eq!(world.retained().0, 1);
    // Written and replaced between two snapshots.
    world.write(&writer.pin(), &[0], |_| Some(2));
    assert_eq!(world.retained().0, 1);
    let second = world.open(Reads::All);
    world.write(&writer.pin(), &[0], |_| Some(3));
    world.write(&writer.pin(), &[1], |_| Some(3));
    assert_eq!(world.retained().0, 3);
    drop(first);
    world.sweep();
    // The row that both see is the second one's now.
    assert_eq!(world.retained().0, 2);
    drop(second);
    world.sweep();
    writer.reclaim_all();
    assert_eq!(world.retained(), (0, 0));
}

#[test]
fn what_a_scan_has_passed_is_not_kept_for_it() {
    let world = World::new(4);
    let (mut writer, mut reader) = (world.participant(), world.participant());
    for round in 0..3 {
        let scan = world.open(Reads::RowsOnce);
        world.write(&writer.pin(), &[0], |_| Some(round));
        assert_eq!(world.retained().0, 1);
        world.read(&mut reader, &scan).expect("nobody ends it");
        // It was taken.
        assert_eq!(world.retained().0, 0);
        world.write(&writer.pin(), &[0, 1, 2], |_| Some(round));
        assert_eq!(world.retained().0, 0);
        let other = world.open(Reads::All);
        world.write(&writer.pin(), &[3], |_| Some(round));
        assert_eq!(world.retained().0, 1);
        drop(other);
        scan.complete();
    }
}

#[test]
fn a_snapshot_that_is_ended_says_so() {
    let world = World::new(1);
    let (mut writer, mut reader) = (world.participant(), world.participant());
    let snapshot = world.open(Reads::All);
    let again = snapshot.clone();
    assert!(world.snapshots.end(snapshot.boundary()) && !world.snapshots.end(snapshot.boundary()));
    world.write(&writer.pin(), &[0], |_| Some(1));
    assert_eq!(world.read(&mut reader, &again), Err(Ended));
    drop(snapshot);
    assert!(world.snapshots.list().is_empty());
    let later = world.open(Reads::All);
    drop(again);
    assert_eq!(world.read(&mut reader, &later), Ok((1, 1)));
}

#[test]
fn who_comes_in_the_same_epoch_shares_a_snapshot() {
    let world = World::new(1);
    let (one, two) = (
        world.snapshots.open(Reads::All).expect("epochs are few"),
        world.snapshots.open(Reads::All).expect("epochs are few"),
    );
    let scan = world.snapshots.open(Reads::RowsOnce).expect("epochs are few");
    assert!(one.boundary() == two.boundary() && scan.boundary() > two.boundary());
    drop(one);
    assert_eq!(world.snapshots.list().iter().map(|open| open.handles).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn what_is_gone_from_the_index_is_found_by_its_key() {
    let world = World::new(6);
    let (mut writer, mut reader) = (world.participant(), world.participant());
    let (older, younger) = (world.open(Reads::All), world.open(Reads::All));
    let delete = |writer: &mut Participant, key| {
        world.write(&writer.pin(), &[key], |_| None);
        world.purge(&writer.pin(), key);
    };
    (1..4).for_each(|key| delete(&mut writer, key));
    // Back, and gone once more.
    world.write(&writer.pin(), &[2], |_| Some(7));
    let youngest = world.open(Reads::All);
    delete(&mut writer, 2);
    for (snapshot, state) in [(&older, (6, 600)), (&younger, (6, 600)), (&youngest, (4, 307))] {
        assert_eq!(world.read(&mut reader, snapshot), Ok(state));
    }
    let key = |number: u64| number.to_be_bytes();
    let (low, high) = (key(2), key(4));
    let within = (Bound::Excluded(&low[..]), Bound::Included(&high[..]));
    let orphans = |bounds, is_reversed, most| older.orphans(world.tree.id(), bounds, is_reversed, most);
    assert_eq!(orphans(within, false, 9), [Box::from(key(3))]);
    assert_eq!(orphans((Bound::Unbounded, Bound::Unbounded), true, 2), [Box::from(key(3)), Box::from(key(2))]);
    assert!(orphans((Bound::Excluded(&low[..]), Bound::Excluded(&low[..])), false, 9).is_empty());
    drop(older);
    world.sweep();
    assert_eq!(world.read(&mut reader, &younger), Ok((6, 600)));
    drop((younger, youngest));
    world.sweep();
    writer.reclaim_all();
    assert_eq!(world.retained(), (0, 0));
}

/// A transaction that is open and does not commit holds no snapshot up; one that commits does.
#[test]
fn a_snapshot_waits_for_commits_alone() {
    let world = World::new(1);
    let (mut idle, mut writer) = (world.participant(), world.participant());
    let (_open, pin) = (idle.pin(), writer.pin());
    let s_point = pin.s_point();
    let snapshot = world.snapshots.open(Reads::All).expect("epochs are few");
    world.epochs.advance();
    assert!(!snapshot.is_readable() && s_point.epoch() <= snapshot.boundary());
    drop(s_point);
    assert!(snapshot.is_readable());
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
    let (mut writer, mut reader) = (world.participant(), world.participant());
    let snapshot = world.snapshots.open(Reads::All).expect("epochs are few");
    assert!(world.epochs.current() <= snapshot.boundary());
    world.write(&writer.pin(), &[0], |_| Some(1));
    while !snapshot.is_readable() {
        world.epochs.advance();
    }
    world.write(&writer.pin(), &[0], |_| Some(2));
    assert_eq!(world.read(&mut reader, &snapshot), Ok((1, 1)));
}

#[test]
#[should_panic(expected = "of their own clock")]
fn a_commit_under_another_clock_is_refused() {
    let (world, other) = (World::new(1), World::new(1));
    let (mut participant, mut foreign) = (world.participant(), other.participant());
    let (pin, foreign) = (participant.pin(), foreign.pin());
    let record = pin.get(world.find(&pin, 0));
    record.lock().expect("it is not dead");
    let committer = other.snapshots.committer(&foreign, Epoch(u64::MAX));
    record.install_in(&pin, None, Stamp(2), &committer, false);
}

#[test]
#[should_panic(expected = "one scan at a time")]
fn a_second_scan_is_refused() {
    let world = World::new(1);
    let _first = world.open(Reads::RowsOnce);
    world.open(Reads::RowsOnce);
}

#[test]
fn what_is_dropped_halfway_is_freed() {
    let world = World::new(4);
    let mut writer = world.participant();
    let snapshot = world.open(Reads::All);
    world.write(&writer.pin(), &[0, 1, 2], |_| None);
    drop(snapshot);
    world.snapshots.sweep();
    let _other = world.open(Reads::All);
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
    let mut reader = world.participant();
    let mut open = Vec::new();
    for at in 0..SNAPSHOTS {
        let reads = if at % 3 == 0 { Reads::RowsOnce } else { Reads::All };
        let snapshot = world.open(reads);
        let mut has_total = |snapshot: &Snapshot| {
            let read = world.read(&mut reader, snapshot);
            assert_eq!(read.expect("nobody ends it").1, 100 * ROWS as i64);
        };
        has_total(&snapshot);
        if reads == Reads::All {
            open.push(snapshot);
            has_total(&open[at % open.len()]);
        }
        if at % 4 == 0 && !open.is_empty() {
            open.swap_remove(at % open.len());
        }
        world.snapshots.sweep();
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
