//! A device that fails at a chosen step of a database's life, in one thread, so that what is built into the engine is there
//! in its background tasks, too: what a full device costs, and what a manifest that could not be stored does.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use osier::failpoint::Mutation;
use osier::failpoint::simulated::Variant;
use osier::io::{Clock, Disk, Environment, Spawn};
use osier::table::{Schema, Table, Type, Value};
use osier::{Config, Database, Error, Protocol};
use osier_testkit::clock::ManualClock;
use osier_testkit::disk::{Faults, LogWrites, SimDisk};
use osier_testkit::fiber;
use osier_testkit::spawn::SimSpawn;

/// Steps after which the tasks of a database that nobody uses count as idle; some of them never sleep for good.
const STEPS: usize = 2000;

/// A database whose tasks run when told.
struct World {
    disk: SimDisk,
    clock: Arc<ManualClock>,
    spawn: SimSpawn,
    db: Database,
    table: Table,
}

impl World {
    /// Opens the database on `disk`, or creates one there, with these faults built into the engine.
    fn open(disk: SimDisk, mutations: &[Mutation]) -> World {
        World::open_as(Protocol::Poplar, disk, mutations)
    }

    fn open_as(protocol: Protocol, disk: SimDisk, mutations: &[Mutation]) -> World {
        fiber::start(1, 0.0, Variant::SHIPPED, mutations);
        let clock = Arc::new(ManualClock::new());
        let spawn = SimSpawn::new(1, Arc::clone(&clock));
        let mut config = Config::new("/db").protocol(protocol).streams(1);
        (config.ring_bytes, config.segment_bytes, config.transaction_log_bytes_max) = (64 << 10, 1 << 20, 16 << 10);
        let config = config.environment(Environment {
            disk: Arc::new(disk.clone()) as Arc<dyn Disk>,
            clock: Arc::<ManualClock>::clone(&clock) as Arc<dyn Clock>,
            spawn: Arc::new(spawn.clone()) as Arc<dyn Spawn>,
        });
        let db = Database::open(config).expect("a database");
        let schema = Schema::builder("t").column("id", Type::Int64).column("content", Type::Bytes).primary_key(["id"]);
        let schema = schema.build().expect("a schema");
        let found = db.run(|tx| -> Result<Table, Error> { tx.table("t").or_else(|_| tx.create_table(schema.clone())) });
        let table = found.expect("a table").0;
        World { disk, clock, spawn, db, table }
    }

    fn settle(&self) {
        for _ in 0..STEPS {
            if self.spawn.step().is_none() {
                self.clock.advance(Duration::from_micros(100));
            }
        }
    }

    /// Inserts a row of 8 KB; whether it is acknowledged.
    fn insert(&self, id: i64) -> bool {
        let content = [id as u8; 8000];
        let row = [Value::Int(id), Value::Bytes(&content)];
        let Ok((_, receipt)) = self.db.run(|tx| tx.insert(&self.table, &row)) else { return false };
        let is_there = |receipt: &osier::Receipt| receipt.is_acknowledged().unwrap_or(false);
        for _ in 0..STEPS {
            if is_there(&receipt) {
                return true;
            }
            if self.spawn.step().is_none() {
                self.clock.advance(Duration::from_micros(100));
            }
        }
        false
    }

    /// Takes a checkpoint; the error that it ended with.
    fn checkpoint(&self) -> Option<String> {
        let before = self.db.metrics().checkpoints;
        self.db.request_checkpoint();
        for _ in 0..100 * STEPS {
            let now = self.db.metrics().checkpoints;
            if now.taken > before.taken {
                return None;
            }
            if now.failed > before.failed {
                return Some(now.failure.expect("an error").to_string());
            }
            if self.spawn.step().is_none() {
                self.clock.advance(Duration::from_micros(100));
            }
        }
        panic!("a checkpoint that never ends");
    }

    /// The rows from 0 on that are there after the power has failed.
    fn rows_after_power_loss(&self, seed: u64) -> i64 {
        let after = World::open(self.disk.survive(seed), &[]);
        let has = |id: i64| {
            let found =
                after.db.run(|tx| -> Result<bool, Error> { Ok(tx.get(&after.table, &[Value::Int(id)])?.is_some()) });
            found.expect("a read").0
        };
        (0..).take_while(|id| has(*id)).count() as i64
    }
}

/// A database with a row, whose device is full from now on.
fn on_a_full_device(faults: Faults, mutations: &[Mutation]) -> World {
    let world = World::open(SimDisk::new(1, LogWrites::Synchronous), &[]);
    assert!(world.insert(0), "{:?}", world.db.failure());
    // While the zeros of the next segment are being written.
    fiber::start(1, 0.0, Variant::SHIPPED, mutations);
    world.disk.set_faults(faults);
    world
}

/// How many rows fit into what is left.
fn rows_that_fit(faults: Faults, mutations: &[Mutation]) -> i64 {
    let world = on_a_full_device(faults, mutations);
    world.settle();
    let fit = (1..1000).take_while(|id| world.insert(*id)).count() as i64;
    assert_eq!(world.db.failure().expect("a full device").sqlstate(), "53100");
    assert!(world.rows_after_power_loss(7) > fit, "an acknowledged row is lost");
    fit
}

#[test]
fn a_full_device_costs_nothing_while_the_segment_lasts() {
    let full = Faults { full_at: Some(1), ..Faults::default() };
    // Log that is written ahead in place goes on, as the segment is allocated.
    assert!(rows_that_fit(full, &[]) > 100, "{}", rows_that_fit(full, &[]));
    let copying = Faults { copies_on_write: true, ..full };
    assert_eq!(rows_that_fit(copying, &[]), 0, "there is no room for the log itself");
}

#[test]
fn a_full_device_that_the_preparer_meets_costs_nothing() {
    let life = |mutations: &[Mutation]| {
        let world = World::open(SimDisk::new(1, LogWrites::Synchronous), &[]);
        fiber::start(1, 0.0, Variant::SHIPPED, mutations);
        assert!(world.insert(0), "{:?}", world.db.failure());
        let is_blank = |path: &std::path::PathBuf| path.to_string_lossy().contains("prepared-");
        while !world.disk.list(Path::new("/db/stream-0")).expect("a directory").iter().any(is_blank) {
            assert!(world.spawn.step().is_some(), "the preparer sleeps, and there is no blank");
        }
        // Nothing is logged meanwhile: the background alone meets the full device, at the zeros of the blank.
        world.disk.set_faults(Faults { full_at: Some(1), copies_on_write: true, ..Faults::default() });
        world.settle();
        assert!(world.disk.fault_met(), "zeros are written");
        world.disk.set_faults(Faults::default());
        (1..300).find(|id| !world.insert(*id))
    };
    assert_eq!(life(&[]), None);
    assert_eq!(life(&[Mutation::ZerosDemanded]), Some(1), "the fault shows");
}

/// What a checkpoint does while its `at`-th operation fails, and what its database does afterwards. The first value says whether
/// the fault was met.
fn checkpoint_with(faults: Faults, mutations: &[Mutation]) -> (bool, Option<String>, World) {
    let world = World::open(SimDisk::new(1, LogWrites::Synchronous), &[]);
    assert!(world.insert(0) && world.checkpoint().is_none() && world.insert(1));
    world.settle();
    fiber::start(1, 0.0, Variant::SHIPPED, mutations);
    world.disk.set_faults(faults);
    let error = world.checkpoint();
    let was_met = world.disk.fault_met();
    world.disk.set_faults(Faults::default());
    (was_met, error, world)
}

/// Whether files of checkpoints or of the log go while `world` lives on.
fn something_goes(world: &World) -> bool {
    let files = || {
        let list = |dir: &str| world.disk.list(Path::new(dir)).expect("a directory");
        [list("/db/checkpoints"), list("/db/stream-0")].concat()
    };
    let before = files();
    world.settle();
    let after = files();
    before.iter().any(|file| !after.contains(file))
}

/// Fails each operation of a checkpoint in turn; says which error, if any, left the engine alive although it named the manifest.
fn manifests_that_fail(faults: impl Fn(u64) -> Faults, mutations: &[Mutation]) -> Result<u32, String> {
    let mut ended = 0;
    for at in 1.. {
        let (was_met, error, world) = checkpoint_with(faults(at), mutations);
        if !was_met {
            break;
        }
        let Some(error) = error else { continue };
        let is_manifest = error.contains("MANIFEST") || error.contains("two manifests");
        let goes_on = world.insert(2);
        if is_manifest == goes_on {
            return Err(format!("operation {at}: {error}; and then a row is acknowledged: {goes_on}"));
        }
        ended += u32::from(is_manifest);
        if is_manifest {
            assert_eq!(world.db.failure().expect("a failure").sqlstate(), "58030", "{error}");
            assert!(!something_goes(&world), "operation {at}: {error}; and then files go");
            assert!(world.checkpoint().is_some(), "operation {at}: a checkpoint after that");
            assert!(world.db.close().is_err(), "operation {at}: a clean close after that");
        } else {
            assert_eq!(world.checkpoint(), None, "operation {at}: {error}; and the next checkpoint");
        }
        let rows = 2 + i64::from(goes_on);
        (0..4).for_each(|seed| assert_eq!(world.rows_after_power_loss(seed), rows, "operation {at}, {error}"));
    }
    Ok(ended)
}

#[test]
fn a_manifest_that_cannot_be_stored_ends_the_log() {
    let at = |at| Faults { io_error_at: Some(at), ..Faults::default() };
    let ended = manifests_that_fail(at, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert!(ended >= 5, "create, write, sync, rename and the sync of the directory, but {ended} failed");
    let error = manifests_that_fail(at, &[Mutation::ManifestFailureIgnored]).expect_err("the fault shows");
    assert!(error.contains("acknowledged: true"), "{error}");
}

/// No space for a manifest is a failed checkpoint; a directory that cannot be synced leaves two manifests, whatever it says.
#[test]
fn a_full_device_ends_a_checkpoint_and_not_the_log() {
    let full = Faults { errors_are_full: true, ..Faults::default() };
    let mut goes_on = Vec::new();
    for at in 1.. {
        let (was_met, error, world) = checkpoint_with(Faults { io_error_at: Some(at), ..full }, &[]);
        if !was_met {
            break;
        }
        if let Some(error) = error {
            goes_on.push((world.insert(2), error));
        }
    }
    let ended: Vec<_> = goes_on.iter().filter(|(goes_on, _)| !goes_on).collect();
    assert!(goes_on.len() > ended.len() + 5 && ended.len() == 1, "{goes_on:#?}");
    assert!(ended[0].1.contains("sync the directory /db:"), "{ended:?}");
}

/// Under protocol `none` there is no log to end: no checkpoint follows one whose manifest is in doubt.
#[test]
fn no_checkpoint_follows_a_manifest_in_doubt() {
    let mut doubtful = 0;
    for at in 1.. {
        let world = World::open_as(Protocol::None, SimDisk::new(1, LogWrites::Synchronous), &[]);
        assert!(world.insert(0) && world.checkpoint().is_none() && world.insert(1));
        world.disk.set_faults(Faults { dir_sync_error_at: Some(at), ..Faults::default() });
        let error = world.checkpoint();
        if !world.disk.fault_met() {
            break;
        }
        let error = error.expect("an error");
        if error.contains("two manifests") {
            doubtful += 1;
            assert!(world.checkpoint().is_some_and(|next| next.contains("it is not known which")), "{error}");
            assert!(world.db.close().is_err(), "{error}");
        } else {
            assert_eq!(world.checkpoint(), None, "{error}");
        }
    }
    assert_eq!(doubtful, 1);
}

/// Without a log the first checkpoint creates the directories. Fails each of its operations in turn: the next one goes on from
/// what is there, as does the next open.
fn first_checkpoints_that_fail(faults: impl Fn(u64) -> Faults) -> u32 {
    let mut early = 0;
    for at in 1.. {
        let world = World::open_as(Protocol::None, SimDisk::new(at, LogWrites::Synchronous), &[]);
        assert!(world.insert(0));
        world.disk.set_faults(faults(at));
        let error = world.checkpoint();
        let was_met = world.disk.fault_met();
        world.disk.set_faults(Faults::default());
        if !was_met {
            break;
        }
        let Some(error) = error else { continue };
        for seed in 0..4 {
            let next = World::open_as(Protocol::None, world.disk.survive(seed), &[]);
            assert_eq!(next.checkpoint(), None, "operation {at}: {error}; and then the power failed");
        }
        let is_created = world.disk.exists(Path::new("/db/checkpoints")).expect("a look");
        let second = world.checkpoint();
        if let Some(second) = second {
            assert!(
                is_created && second.contains("it is not known which"),
                "operation {at}: {error}; and then {second}"
            );
            continue;
        }
        early += u32::from(!is_created);
        (0..4).for_each(|seed| assert_eq!(world.rows_after_power_loss(seed), 1, "operation {at}: {error}"));
    }
    early
}

#[test]
fn a_first_checkpoint_goes_on_where_the_one_before_failed() {
    let at = |at| Faults { io_error_at: Some(at), ..Faults::default() };
    let early = [
        first_checkpoints_that_fail(at),
        first_checkpoints_that_fail(|n| Faults { errors_are_full: true, ..at(n) }),
        first_checkpoints_that_fail(|at| Faults { dir_sync_error_at: Some(at), ..Faults::default() }),
    ];
    assert!(early[0] > 15 && early[0] == early[1] && early[2] > 3, "{early:?} failed before there was a database");
}
