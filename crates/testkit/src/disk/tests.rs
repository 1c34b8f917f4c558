//! The simulated disk keeps its promises, and breaks everything else.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use osier::io::{Disk, File, OpenMode};

use super::{Faults, LogWrites, SECTOR_BYTES, SimDisk, is_simulated_crash};

const SEEDS: u64 = 200;

fn disk() -> SimDisk {
    let disk = SimDisk::new(1, LogWrites::Synchronous);
    disk.create_dir_all(Path::new("/d")).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    disk
}

/// A durable file of `bytes` at `path`.
fn durable_file(disk: &SimDisk, path: &str, bytes: &[u8]) -> Arc<dyn File> {
    let file = disk.open(Path::new(path), OpenMode::Create).unwrap();
    file.write_at(bytes, 0).unwrap();
    file.sync().unwrap();
    disk.sync_dir(Path::new("/d")).unwrap();
    file
}

fn read(disk: &SimDisk, path: &str) -> Option<Vec<u8>> {
    let file = disk.open(Path::new(path), OpenMode::Read).ok()?;
    let mut bytes = vec![0; file.len().unwrap() as usize];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    Some(bytes)
}

/// Everything that `path` may hold after a power loss.
fn outcomes(disk: &SimDisk, path: &str) -> BTreeSet<Option<Vec<u8>>> {
    (0..SEEDS).map(|seed| read(&disk.survive(seed), path)).collect()
}

fn aligned(blocks: usize, value: u8) -> (Vec<u8>, std::ops::Range<usize>) {
    let bytes = vec![value; (blocks + 1) * 4096];
    let start = bytes.as_ptr().align_offset(4096);
    (bytes, start..start + blocks * 4096)
}

#[test]
fn synced_bytes_and_entries_survive() {
    let disk = disk();
    durable_file(&disk, "/d/a", b"hello");
    assert_eq!(outcomes(&disk, "/d/a"), BTreeSet::from([Some(b"hello".to_vec())]));
}

#[test]
fn an_entry_needs_its_directory_synced_and_bytes_need_the_file_synced() {
    let disk = disk();
    let file = disk.open(Path::new("/d/a"), OpenMode::Create).unwrap();
    file.write_at(b"xy", 0).unwrap();
    file.sync().unwrap();
    assert_eq!(outcomes(&disk, "/d/a"), BTreeSet::from([None, Some(b"xy".to_vec())]));

    let file = disk.open(Path::new("/d/b"), OpenMode::Create).unwrap();
    disk.sync_dir(Path::new("/d")).unwrap();
    file.write_at(b"xy", 0).unwrap();
    let seen = outcomes(&disk, "/d/b");
    assert!(seen.contains(&Some(Vec::new())) && seen.contains(&Some(b"xy".to_vec())), "{seen:?}");
    assert!(seen.iter().all(Option::is_some));
}

#[test]
fn unsynced_writes_tear_at_sectors_and_reorder() {
    let disk = disk();
    let file = durable_file(&disk, "/d/a", &[0; 4 * SECTOR_BYTES]);
    file.write_at(&[1; 4 * SECTOR_BYTES], 0).unwrap();
    file.write_at(&[2; 2 * SECTOR_BYTES], SECTOR_BYTES as u64).unwrap();
    let mut shapes = BTreeSet::new();
    for bytes in outcomes(&disk, "/d/a").into_iter().flatten() {
        assert_eq!(bytes.len(), 4 * SECTOR_BYTES);
        let shape: Vec<u8> = bytes
            .chunks(SECTOR_BYTES)
            .map(|sector| {
                assert!(sector.iter().all(|&byte| byte == sector[0]), "a sector is atomic");
                sector[0]
            })
            .collect();
        assert!(matches!((shape[0], shape[3]), (0 | 1, 0 | 1)));
        shapes.insert(shape);
    }
    for expected in [[0, 0, 0, 0], [1, 2, 2, 1], [0, 2, 2, 0], [1, 1, 1, 1]] {
        assert!(shapes.contains(expected.as_slice()), "{expected:?} is missing from {shapes:?}");
    }
    assert!(shapes.iter().any(|shape| shape[0] != shape[3]), "nothing is torn in {shapes:?}");
}

#[test]
fn synchronous_writes_are_durable_on_return_and_win_over_earlier_ones() {
    let disk = disk();
    let file = durable_file(&disk, "/d/a", &[0; 4096]);
    file.write_at(&[1; 4096], 0).unwrap();
    let log = disk.open(Path::new("/d/a"), OpenMode::Log).unwrap();
    let (bytes, range) = aligned(1, 2);
    log.write_at(&bytes[range], 0).unwrap();
    assert_eq!(outcomes(&disk, "/d/a"), BTreeSet::from([Some(vec![2; 4096])]));

    let buffered = SimDisk::new(1, LogWrites::Buffered);
    buffered.create_dir_all(Path::new("/d")).unwrap();
    buffered.sync_dir(Path::new("/")).unwrap();
    durable_file(&buffered, "/d/a", &[0; 4096]);
    let log = buffered.open(Path::new("/d/a"), OpenMode::Log).unwrap();
    let (bytes, range) = aligned(1, 2);
    log.write_at(&bytes[range], 0).unwrap();
    assert!(outcomes(&buffered, "/d/a").contains(&Some(vec![0; 4096])));
    log.sync().unwrap();
    assert_eq!(outcomes(&buffered, "/d/a"), BTreeSet::from([Some(vec![2; 4096])]));
}

#[test]
fn direct_transfers_must_be_aligned() {
    let disk = disk();
    durable_file(&disk, "/d/a", &[0; 8192]);
    let log = disk.open(Path::new("/d/a"), OpenMode::Log).unwrap();
    let (bytes, range) = aligned(1, 2);
    assert_eq!(log.write_at(&bytes[range.clone()], 512).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(log.write_at(&bytes[range.start..range.end - 8], 0).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(log.write_at(&bytes[range.start + 8..range.end + 8], 0).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_rename_is_atomic_and_durable_with_its_directory() {
    let disk = disk();
    durable_file(&disk, "/d/a", b"old");
    let new = disk.open(Path::new("/d/a.new"), OpenMode::Create).unwrap();
    new.write_at(b"new", 0).unwrap();
    new.sync().unwrap();
    disk.rename(Path::new("/d/a.new"), Path::new("/d/a")).unwrap();
    assert_eq!(read(&disk, "/d/a"), Some(b"new".to_vec()));
    assert_eq!(outcomes(&disk, "/d/a"), BTreeSet::from([Some(b"old".to_vec()), Some(b"new".to_vec())]));
    disk.sync_dir(Path::new("/d")).unwrap();
    assert_eq!(outcomes(&disk, "/d/a"), BTreeSet::from([Some(b"new".to_vec())]));
    assert_eq!(outcomes(&disk, "/d/a.new"), BTreeSet::from([None]));
}

#[test]
fn a_rename_of_an_unsynced_file_may_leave_it_empty() {
    let disk = disk();
    durable_file(&disk, "/d/a", b"old");
    let new = disk.open(Path::new("/d/a.new"), OpenMode::Create).unwrap();
    new.write_at(b"new", 0).unwrap();
    disk.rename(Path::new("/d/a.new"), Path::new("/d/a")).unwrap();
    disk.sync_dir(Path::new("/d")).unwrap();
    assert!(outcomes(&disk, "/d/a").contains(&Some(Vec::new())));
}

#[test]
fn a_later_unlink_may_overtake_an_earlier_rename() {
    let disk = disk();
    durable_file(&disk, "/d/manifest", b"old");
    durable_file(&disk, "/d/segment", b"needed by old");
    durable_file(&disk, "/d/next", b"new");
    disk.rename(Path::new("/d/next"), Path::new("/d/manifest")).unwrap();
    disk.remove(Path::new("/d/segment")).unwrap();
    let overtaken = (0..SEEDS)
        .map(|seed| disk.survive(seed))
        .any(|disk| read(&disk, "/d/manifest") == Some(b"old".to_vec()) && read(&disk, "/d/segment").is_none());
    assert!(overtaken, "the unlink never came first");
}

#[test]
fn a_kill_loses_nothing_and_makes_nothing_durable() {
    let disk = disk();
    let file = durable_file(&disk, "/d/a", b"old");
    file.write_at(b"new", 0).unwrap();
    let killed = disk.kill(3);
    assert_eq!(read(&killed, "/d/a"), Some(b"new".to_vec()));
    assert_eq!(outcomes(&killed, "/d/a"), BTreeSet::from([Some(b"old".to_vec()), Some(b"new".to_vec())]));
}

#[test]
fn an_unlink_before_a_kill_may_be_undone_by_a_power_loss() {
    let disk = disk();
    durable_file(&disk, "/d/a", b"old");
    disk.remove(Path::new("/d/a")).unwrap();
    let killed = disk.kill(3);
    assert_eq!(read(&killed, "/d/a"), None);
    killed.open(Path::new("/d/b"), OpenMode::Create).unwrap();
    assert_eq!(outcomes(&killed, "/d/a"), BTreeSet::from([None, Some(b"old".to_vec())]));
}

#[test]
fn after_a_crash_every_operation_fails_and_changes_nothing() {
    let disk = disk();
    let file = durable_file(&disk, "/d/a", b"old");
    disk.set_faults(Faults { crash_at: Some(2), ..Faults::default() });
    file.write_at(b"mid", 0).unwrap();
    let crash = file.sync().unwrap_err();
    assert!(is_simulated_crash(&crash), "{crash}");
    assert!(disk.is_crashed());
    assert!(is_simulated_crash(&file.write_at(b"new", 0).unwrap_err()));
    assert!(is_simulated_crash(&file.read_at(&mut [0; 3], 0).unwrap_err()));
    assert!(is_simulated_crash(&disk.sync_dir(Path::new("/d")).unwrap_err()));
    assert!(disk.lock(Path::new("/d/a")).is_err_and(|error| is_simulated_crash(&error)));
    assert_eq!(outcomes(&disk, "/d/a"), BTreeSet::from([Some(b"old".to_vec()), Some(b"mid".to_vec())]));
}

#[test]
fn a_failed_sync_drops_what_it_did_not_write_and_the_next_one_lies() {
    let disk = disk();
    let file = durable_file(&disk, "/d/a", b"old");
    let mut seen = BTreeSet::new();
    for _ in 0..SEEDS {
        file.write_at(b"old", 0).unwrap();
        file.sync().unwrap();
        file.write_at(b"new", 0).unwrap();
        disk.set_faults(Faults { io_error_at: Some(1), ..Faults::default() });
        assert!(!disk.fault_met());
        assert_eq!(file.sync().unwrap_err().raw_os_error(), Some(5));
        assert!(disk.fault_met());
        file.sync().unwrap();
        assert_eq!(read(&disk, "/d/a"), Some(b"new".to_vec()), "the page cache shows what was lost");
        let other = disk.kill(0);
        other.copy_tree(Path::new("/d"), Path::new("/e"));
        assert_eq!(read(&other.survive(0), "/e/a"), Some(b"new".to_vec()), "and it is what a copy holds");
        seen.extend(read(&disk.survive(0), "/d/a"));
    }
    assert_eq!(seen, BTreeSet::from([b"old".to_vec(), b"new".to_vec()]));
}

#[test]
fn a_full_disk_refuses_growth_and_takes_overwrites() {
    let disk = disk();
    let file = durable_file(&disk, "/d/a", b"old");
    disk.set_faults(Faults { full_at: Some(1), ..Faults::default() });
    assert_eq!(file.allocate(4096).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(file.write_at(b"longer", 0).unwrap_err().kind(), ErrorKind::StorageFull);
    assert!(disk.open(Path::new("/d/b"), OpenMode::Create).is_err_and(|error| error.kind() == ErrorKind::StorageFull));
    file.write_at(b"new", 0).unwrap();
    file.sync().unwrap();
    assert_eq!(outcomes(&disk, "/d/a"), BTreeSet::from([Some(b"new".to_vec())]));
}

#[test]
fn a_lock_is_exclusive_until_dropped_and_ends_with_the_process() {
    let disk = disk();
    let held = disk.lock(Path::new("/d/LOCK")).unwrap();
    assert!(disk.lock(Path::new("/d/LOCK")).is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
    assert!(disk.kill(1).lock(Path::new("/d/LOCK")).is_ok());
    drop(held);
    assert!(disk.lock(Path::new("/d/LOCK")).is_ok());
}

#[test]
fn names_and_modes_are_checked() {
    let disk = disk();
    durable_file(&disk, "/d/a", b"old");
    let kind = |result: std::io::Result<Arc<dyn File>>| result.err().map(|error| error.kind());
    assert_eq!(kind(disk.open(Path::new("/d/a"), OpenMode::Create)), Some(ErrorKind::AlreadyExists));
    assert_eq!(kind(disk.open(Path::new("/d/b"), OpenMode::Read)), Some(ErrorKind::NotFound));
    assert_eq!(kind(disk.open(Path::new("/e/b"), OpenMode::Create)), Some(ErrorKind::NotFound));
    let reader = disk.open(Path::new("/d/a"), OpenMode::Read).unwrap();
    assert_eq!(reader.write_at(b"x", 0).unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert_eq!(disk.list(Path::new("/d")).unwrap(), [Path::new("/d/a")]);
    assert!(disk.exists(Path::new("/d/a")).unwrap() && !disk.exists(Path::new("/d/b")).unwrap());
    disk.corrupt(Path::new("/d/a"), |bytes| bytes[0] = b'O');
    assert_eq!(read(&disk.survive(0), "/d/a"), Some(b"Old".to_vec()));
}
