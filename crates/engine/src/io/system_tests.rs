//! What the real disk asks of the operating system, call by call.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::{OFlags, fcntl_getfl};

use super::Call;
use crate::Database;
use crate::config::{CheckpointKind, Config};
use crate::io::{BLOCK_BYTES, Disk, OpenMode, OsDisk};
use crate::table::{Schema, Type, Value};

/// Of all threads; tests look at files of their own.
pub(super) static CALLS: Mutex<Vec<(Call, PathBuf)>> = Mutex::new(Vec::new());

fn calls_below(directory: &Path) -> Vec<(Call, PathBuf)> {
    let calls = CALLS.lock().unwrap();
    calls.iter().filter(|(_, path)| path.starts_with(directory)).cloned().collect()
}

/// An empty directory. It is where the tests were built, on a device, and not on a file system in memory.
fn directory(name: &str) -> PathBuf {
    let directory = std::env::current_exe().unwrap().with_file_name(format!("osier-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

fn block(value: u8) -> osier_memory::AlignedBuffer {
    let mut block = osier_memory::AlignedBuffer::zeroed(BLOCK_BYTES);
    block.fill(value);
    block
}

/// Writes to a new file of `mode`, with its space allocated or not, and syncs it twice. Whether the system was asked for what
/// makes that durable.
fn is_made_durable(mode: OpenMode, allocates: bool) -> Result<(), String> {
    let directory = directory(&format!("sync-{mode:?}-{allocates}"));
    let path = directory.join("file");
    if !mode.is_new() {
        OsDisk.open(&path, OpenMode::Create).unwrap();
    }
    let file = OsDisk.open(&path, mode).unwrap();
    let mut sums = Vec::new();
    for value in 0..2 {
        if allocates {
            file.allocate((value + 2) * BLOCK_BYTES as u64).unwrap();
        }
        file.write_at(&block(value as u8), value * BLOCK_BYTES as u64).unwrap();
        file.sync().unwrap();
        sums.push(unsynced(&calls_below(&directory)));
    }
    std::fs::remove_dir_all(&directory).unwrap();
    let sums: Vec<_> = sums.into_iter().flatten().filter(|(what, _)| *what != Call::Name).collect();
    if sums.is_empty() { Ok(()) } else { Err(format!("{mode:?}: {sums:?}")) }
}

/// What was done and is not durable.
fn unsynced(calls: &[(Call, PathBuf)]) -> Vec<(Call, PathBuf)> {
    let mut open: BTreeMap<PathBuf, Vec<Call>> = BTreeMap::new();
    for (call, path) in calls {
        let done = open.entry(path.clone()).or_default();
        match call {
            Call::Write | Call::Allocate | Call::Name => done.push(*call),
            Call::WriteThrough => {}
            Call::SyncData => done.retain(|done| *done != Call::Write),
            Call::SyncAll => {
                done.retain(|done| *done == Call::Name);
                let names = open.iter_mut().filter(|(named, _)| named.parent() == Some(path));
                names.for_each(|(_, done)| done.retain(|done| *done != Call::Name));
            }
            // What is not durable is so under its new name, which follows.
            Call::Rename => {}
        }
    }
    open.into_iter().flat_map(|(path, done)| done.into_iter().map(move |done| (done, path.clone()))).collect()
}

#[test]
fn every_kind_of_file_is_synced() {
    for mode in [OpenMode::Create, OpenMode::Write, OpenMode::Stream, OpenMode::Log] {
        for allocates in [false, true] {
            is_made_durable(mode, allocates).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// Parts of checkpoints and the log are written past the page cache, which says nothing of the device's own.
#[cfg(feature = "mutations")]
#[test]
fn a_direct_file_without_a_sync_is_found() {
    use crate::failpoint::{Mutation, simulated::build_in};

    build_in(&[Mutation::DirectUnsynced]);
    is_made_durable(OpenMode::Stream, true).expect_err("a stream");
    is_made_durable(OpenMode::Log, true).expect_err("an allocation");
    build_in(&[]);
}

/// The flag without which a write to the log is durable only after a sync, as the system itself knows it.
#[test]
fn a_log_that_is_not_synced_is_written_through() {
    let directory = directory("log-flags");
    let path = directory.join("file");
    OsDisk.open(&path, OpenMode::Create).unwrap();
    let log = OsDisk.open(&path, OpenMode::Log).unwrap();
    log.write_at(&block(1), 0).unwrap();
    log.sync().unwrap();
    let was_through = calls_below(&directory).iter().any(|(call, _)| *call == Call::WriteThrough);
    // The descriptor that the system has for this path.
    let descriptors = std::fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
    let open: Vec<u32> = descriptors
        .filter_map(|info| {
            let fd = PathBuf::from("/proc/self/fd").join(info.file_name());
            let is_ours = std::fs::read_link(&fd).is_ok_and(|target| target == path);
            let text = if is_ours { std::fs::read_to_string(info.path()).ok()? } else { return None };
            let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?.trim().to_owned();
            u32::from_str_radix(&flags, 8).ok()
        })
        .collect();
    assert_eq!(open.len(), 1, "{open:?}");
    let is_through = OFlags::from_bits_retain(open[0]).intersects(OFlags::DSYNC);
    assert_eq!(was_through, is_through, "{:o}", open[0]);
    let plain = std::fs::File::open(&path).unwrap();
    assert!(!fcntl_getfl(&plain).unwrap().intersects(OFlags::DSYNC));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_name_is_durable_with_its_directory() {
    let directory = directory("names");
    let (from, to) = (directory.join("a"), directory.join("b"));
    OsDisk.open(&from, OpenMode::Create).unwrap().sync().unwrap();
    assert_eq!(unsynced(&calls_below(&directory)), [(Call::Name, from.clone())]);
    OsDisk.sync_dir(&directory).unwrap();
    assert_eq!(unsynced(&calls_below(&directory)), []);
    OsDisk.rename(&from, &to).unwrap();
    assert_eq!(unsynced(&calls_below(&directory)), [(Call::Name, to)]);
    OsDisk.sync_dir(&directory).unwrap();
    assert_eq!(unsynced(&calls_below(&directory)), []);
    std::fs::remove_dir_all(&directory).unwrap();
}

/// A life of a database on the real disk: whenever a manifest takes its place everything that it can name is durable, and
/// at the end everything is.
#[test]
fn whatever_a_manifest_names_is_durable() {
    let directory = directory("database");
    let home = directory.join("home");
    let mut config = Config::new(&home).streams(2);
    config.checkpoint_kind = CheckpointKind::Fuzzy;
    config.checkpoint_threads = 2;
    let db = Database::open(config).unwrap();
    let schema = Schema::builder("t").column("id", Type::Int64).primary_key(["id"]).build().unwrap();
    let table = db.create_table(schema).unwrap();
    for id in 0..20 {
        db.run(|tx| tx.insert(&table, &[Value::Int(id)])).unwrap().1.wait().unwrap();
        if id % 8 == 0 {
            db.checkpoint().unwrap();
        }
    }
    db.close().unwrap();
    let calls = calls_below(&home);
    let is_temporary = |path: &Path| path.to_string_lossy().ends_with(".tmp");
    let mut manifests = 0;
    for (at, (call, path)) in calls.iter().enumerate() {
        if *call == Call::Rename {
            let open = unsynced(&calls[..at]);
            assert!(!open.iter().any(|(call, open)| open == path && *call != Call::Name), "{path:?}: {open:?}");
            if path.ends_with("MANIFEST.tmp") {
                manifests += 1;
                // Of the log a manifest names what is durable, up to where it is.
                let parts: Vec<_> =
                    open.iter().filter(|(_, path)| path.starts_with(home.join("checkpoints"))).collect();
                assert!(parts.is_empty(), "{parts:?}");
            }
        }
    }
    assert!(manifests >= 4, "{manifests} manifests");
    let parts = calls.iter().filter(|(call, path)| *call == Call::SyncAll && path.to_string_lossy().ends_with(".ckpt"));
    assert!(parts.count() >= 3, "parts of checkpoints are synced");
    let left: Vec<_> = unsynced(&calls)
        .into_iter()
        .filter(|(_, path)| path.exists() && !is_temporary(path) && !path.ends_with("LOCK"))
        .filter(|(_, path)| !path.to_string_lossy().contains("prepared-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    std::fs::remove_dir_all(&directory).unwrap();
}
