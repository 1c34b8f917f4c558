//! The ordered index beside the ordered maps that a Rust program would use in its place.
//!
//! All maps hold the same keys and one 64-bit value per key; what is measured reads the values of what it finds. Peers
//! keep keys of up to 31 bytes inline, which is the best that they can do. Rounds go through the maps in turn, so a
//! disturbance of the machine hits all alike; the table gives medians over the rounds and the median of the ratios to
//! Osier within a round. Times are processor time of the threads that work.
//!
//! Run with `cargo bench -p osier-bench --bench tree -- [--keys N] [--rounds N] [--only WORD]`. Without `--bench` (which
//! cargo adds) it only shows that it works.
//!
//! Deliberately absent: a harness. Ratios within one run are the result, not the times.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Bound;
use std::sync::{Arc, Barrier, RwLock};

use fastrand::Rng;
use osier_memory::{Epochs, LeafScan, Lookup, Record, ScanFrom, Stamp, Tree};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Operations under one pin or guard: about what a transaction does.
const PINNED: usize = 32;
const SCAN_ENTRIES: usize = 100;
const THREADS: usize = 2;

/// A key of up to 31 bytes without an allocation.
#[derive(Clone, Copy)]
struct Key {
    len: u8,
    bytes: [u8; 31],
}

impl Key {
    fn new(key: &[u8]) -> Key {
        let mut bytes = [0; 31];
        bytes[..key.len()].copy_from_slice(key);
        Key { len: key.len() as u8, bytes }
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len as usize]
    }
}

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Key) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    #[inline]
    fn partial_cmp(&self, other: &Key) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    #[inline]
    fn cmp(&self, other: &Key) -> std::cmp::Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl artmap::AsBytes for Key {
    #[inline]
    fn as_bytes(&self) -> &[u8] {
        self.as_slice()
    }
}

/// A map under test. Each method does all of `keys` and returns a sum of what it read.
trait Map: Sync {
    fn name(&self) -> &'static str;
    fn insert(&self, keys: &[Key]) -> u64;
    fn get(&self, keys: &[Key]) -> u64;
    fn scan(&self, keys: &[Key]) -> u64;
}

/// The tree, over the records that the database keeps in it. The value is the stamp of the record.
struct Osier {
    epochs: Arc<Epochs>,
    tree: Tree<Record>,
}

impl Osier {
    fn new() -> Self {
        let epochs = Epochs::new(8);
        Osier { tree: Tree::new(Arc::clone(&epochs)), epochs }
    }
}

fn value_of(key: &Key) -> u64 {
    u64::from(key.bytes[usize::from(key.len) - 1]) + 1
}

impl Map for Osier {
    fn name(&self) -> &'static str {
        "osier"
    }

    fn insert(&self, keys: &[Key]) -> u64 {
        let mut participant = self.epochs.register().expect("a free participant");
        let mut inserted = 0;
        for keys in keys.chunks(PINNED) {
            let pin = participant.pin();
            for key in keys {
                let make = |_| Record::new_absent(key.as_slice(), Stamp(value_of(key)));
                inserted += u64::from(self.tree.insert_or_get(&pin, key.as_slice(), make).change.is_some());
            }
        }
        self.epochs.advance();
        inserted
    }

    fn get(&self, keys: &[Key]) -> u64 {
        let mut participant = self.epochs.register().expect("a free participant");
        let mut sum = 0;
        for keys in keys.chunks(PINNED) {
            let pin = participant.pin();
            for key in keys {
                if let Lookup::Found(record) = self.tree.get(&pin, key.as_slice()) {
                    sum += pin.get(record).word().stamp().0;
                }
            }
        }
        sum
    }

    fn scan(&self, keys: &[Key]) -> u64 {
        let mut participant = self.epochs.register().expect("a free participant");
        let mut leaf = LeafScan::new();
        let mut sum = 0;
        for key in keys {
            let pin = participant.pin();
            let mut left = SCAN_ENTRIES;
            self.tree.scan_leaf(&pin, ScanFrom::AtLeast(key.as_slice()), &mut leaf);
            loop {
                let taken = left.min(leaf.entries.len());
                sum += leaf.entries[..taken].iter().map(|&record| pin.get(record).word().stamp().0).sum::<u64>();
                left -= taken;
                if left == 0 || !self.tree.scan_next(&pin, &mut leaf) {
                    break;
                }
            }
        }
        sum
    }
}

struct Art(artmap::ArtMap<Key, u64>);

impl Map for Art {
    fn name(&self) -> &'static str {
        "artmap"
    }

    fn insert(&self, keys: &[Key]) -> u64 {
        let mut inserted = 0;
        for keys in keys.chunks(PINNED) {
            let guard = self.0.pin();
            for key in keys {
                inserted += u64::from(self.0.insert_with_guard(*key, value_of(key), &guard).is_none());
            }
        }
        inserted
    }

    fn get(&self, keys: &[Key]) -> u64 {
        let mut sum = 0;
        for keys in keys.chunks(PINNED) {
            let guard = self.0.pin();
            for key in keys {
                sum += self.0.get_with_guard(key, &guard).map_or(0, |entry| *entry.value());
            }
        }
        sum
    }

    fn scan(&self, keys: &[Key]) -> u64 {
        let mut sum = 0;
        for key in keys {
            let mut left = SCAN_ENTRIES;
            self.0.scan::<_, Key, _>((Bound::Included(key), Bound::Unbounded), |_, value| {
                sum += value;
                left -= 1;
                left > 0
            });
        }
        sum
    }
}

struct Scc(scc::TreeIndex<Key, u64>);

impl Map for Scc {
    fn name(&self) -> &'static str {
        "scc TreeIndex"
    }

    fn insert(&self, keys: &[Key]) -> u64 {
        keys.iter().map(|key| u64::from(self.0.insert_sync(*key, value_of(key)).is_ok())).sum()
    }

    fn get(&self, keys: &[Key]) -> u64 {
        let mut sum = 0;
        for keys in keys.chunks(PINNED) {
            let guard = scc::Guard::new();
            sum += keys.iter().map(|key| self.0.peek(key, &guard).copied().unwrap_or(0)).sum::<u64>();
        }
        sum
    }

    fn scan(&self, keys: &[Key]) -> u64 {
        let mut sum = 0;
        for key in keys {
            let guard = scc::Guard::new();
            sum += self.0.range(*key.., &guard).take(SCAN_ENTRIES).map(|(_, value)| value).sum::<u64>();
        }
        sum
    }
}

/// Not concurrent: one lock around each call, none within.
struct Std(RwLock<BTreeMap<Key, u64>>);

impl Map for Std {
    fn name(&self) -> &'static str {
        "BTreeMap, 1 thread"
    }

    fn insert(&self, keys: &[Key]) -> u64 {
        let mut map = self.0.write().expect("no holder panics");
        keys.iter().map(|key| u64::from(map.insert(*key, value_of(key)).is_none())).sum()
    }

    fn get(&self, keys: &[Key]) -> u64 {
        let map = self.0.read().expect("no holder panics");
        keys.iter().map(|key| map.get(key).copied().unwrap_or(0)).sum()
    }

    fn scan(&self, keys: &[Key]) -> u64 {
        let map = self.0.read().expect("no holder panics");
        keys.iter().map(|key| map.range(*key..).take(SCAN_ENTRIES).map(|(_, value)| value).sum::<u64>()).sum()
    }
}

fn maps() -> Vec<Box<dyn Map>> {
    vec![
        Box::new(Osier::new()),
        Box::new(Art(artmap::ArtMap::new())),
        Box::new(Scc(scc::TreeIndex::new())),
        Box::new(Std(RwLock::default())),
    ]
}

/// A kind of keys: its name, and the `n`th key.
type KeyKind = (&'static str, fn(u64) -> Key);

const KEY_KINDS: [KeyKind; 4] = [
    ("u64 sparse", |n| Key::new(&scatter(n).to_be_bytes())),
    ("u64 dense", |n| Key::new(&n.to_be_bytes())),
    ("composite 24 B", |n| {
        let mut key = b"t042".to_vec();
        key.extend((n % 8).to_be_bytes());
        key.extend((n / 8 % 10).to_be_bytes()[4..].iter());
        key.extend((n / 80).to_be_bytes());
        Key::new(&key)
    }),
    ("strings 16-31 B", |n| {
        let mut rng = Rng::with_seed(n);
        let len = 16 + rng.usize(..16);
        Key::new(&std::iter::repeat_with(|| rng.alphanumeric() as u8).take(len).collect::<Vec<_>>())
    }),
];

fn scatter(n: u64) -> u64 {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Processor time of this thread in nanoseconds: what others do on the machine in between is not counted.
fn thread_ns() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// The processor time that `work` takes on this thread, and its sum.
fn timed(work: impl FnOnce() -> u64) -> (f64, u64) {
    let start = thread_ns();
    let sum = black_box(work());
    (thread_ns() - start, sum)
}

/// The times of one operation: a list per map, an item per round.
struct Measure {
    kind: &'static str,
    what: &'static str,
    nanoseconds: Vec<Vec<f64>>,
}

impl Measure {
    fn new(kind: &'static str, what: &'static str) -> Self {
        Measure { kind, what, nanoseconds: Vec::new() }
    }

    /// Runs `work`, which tells its time and a sum, on every map in turn; all must read the same.
    fn round(&mut self, maps: &[Box<dyn Map>], operations: usize, work: impl Fn(&dyn Map) -> (f64, u64)) {
        self.nanoseconds.resize(maps.len(), Vec::new());
        let mut expected = None;
        for (map, times) in maps.iter().zip(&mut self.nanoseconds) {
            let (time, sum) = work(&**map);
            assert_eq!(*expected.get_or_insert(sum), sum, "{} reads what the others read", map.name());
            times.push(time / operations as f64);
        }
    }

    fn print(&self, maps: &[Box<dyn Map>]) {
        for (map, times) in maps.iter().zip(&self.nanoseconds) {
            let ratios: Vec<f64> = times.iter().zip(&self.nanoseconds[0]).map(|(time, ours)| time / ours).collect();
            let (kind, what, name) = (self.kind, self.what, map.name());
            println!("| {kind:<16}| {what:<22}| {name:<19}| {:>8.0} | {:>6.2} |", median(times), median(&ratios));
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

struct Options {
    keys: usize,
    rounds: usize,
    only: Option<String>,
}

impl Options {
    fn parse() -> Options {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let value = |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1));
        let number = |name: &str, default| value(name).map_or(default, |v| v.parse().expect("a number"));
        let (keys, rounds) = if arguments.iter().any(|a| a == "--bench") { (1_000_000, 5) } else { (2_000, 1) };
        Options { keys: number("--keys", keys), rounds: number("--rounds", rounds), only: value("--only").cloned() }
    }
}

fn main() {
    let options = Options::parse();
    println!(
        "{} keys, {} rounds; processor nanoseconds per operation, and the ratio to osier (above 1: osier is faster)",
        options.keys, options.rounds
    );
    println!("| {:<16}| {:<22}| {:<19}| {:>8} | {:>6} |", "keys", "operation", "map", "ns", "ratio");
    println!(
        "|{}|{}|{}|{}|{}|",
        "-".repeat(17),
        "-".repeat(23),
        "-".repeat(20),
        "-".repeat(9) + ":",
        "-".repeat(7) + ":"
    );
    for (kind, key) in KEY_KINDS {
        if options.only.as_ref().is_none_or(|only| kind.contains(only.as_str())) {
            measure(kind, key, &options);
        }
    }
}

fn measure(kind: &'static str, key: fn(u64) -> Key, options: &Options) {
    let (count, rounds) = (options.keys, options.rounds);
    let mut rng = Rng::with_seed(1);
    let mut keys: Vec<Key> = (0..count as u64 * 3 / 2).map(key).collect();
    rng.shuffle(&mut keys);
    let (old, new) = keys.split_at(count);
    let mut maps = maps();

    let mut insert = Measure::new(kind, "insert");
    // In parts, so that the maps grow in turn too.
    for part in old.chunks(count.div_ceil(rounds)) {
        insert.round(&maps, part.len(), |map| timed(|| map.insert(part)));
    }
    insert.print(&maps);
    let mut measures = ["get", "get, absent", "scan 100"].map(|what| Measure::new(kind, what));
    for _ in 0..rounds {
        let present: Vec<Key> = (0..count / 4).map(|_| old[rng.usize(..count)]).collect();
        let absent: Vec<Key> = (0..count / 8).map(|_| key(2 * count as u64 + rng.u64(..1 << 30))).collect();
        let starts = &present[..count / 100];
        measures[0].round(&maps, present.len(), |map| timed(|| map.get(&present)));
        measures[1].round(&maps, absent.len(), |map| timed(|| map.get(&absent)));
        measures[2].round(&maps, starts.len(), |map| timed(|| map.scan(starts)));
    }
    measures.iter().for_each(|measure| measure.print(&maps));
    // The last one is not concurrent.
    maps.pop();
    let mut mix = Measure::new(kind, "2 threads, 50% insert");
    for part in new.chunks(new.len().div_ceil(rounds)) {
        mix.round(&maps, 2 * part.len(), |map| mixed(map, old, part));
    }
    mix.print(&maps);
}

/// Threads that insert `new` keys and get `old` ones in turn; the processor time of all of them, and their sum.
fn mixed(map: &dyn Map, old: &[Key], new: &[Key]) -> (f64, u64) {
    let barrier = &Barrier::new(THREADS);
    let work = |thread: usize, mine: &[Key]| {
        barrier.wait();
        let turn = |(turn, some): (usize, &[Key])| {
            let from = (thread * old.len() / THREADS + turn * PINNED) % (old.len() - PINNED);
            map.insert(some) + map.get(&old[from..from + some.len()])
        };
        timed(|| mine.chunks(PINNED).enumerate().map(turn).sum())
    };
    std::thread::scope(|scope| {
        let parts = new.chunks(new.len().div_ceil(THREADS)).enumerate();
        let workers: Vec<_> = parts.map(|(thread, mine)| scope.spawn(move || work(thread, mine))).collect();
        let joined = workers.into_iter().map(|worker| worker.join().expect("no worker panics"));
        joined.fold((0.0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    })
}
