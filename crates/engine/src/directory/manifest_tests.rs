//! Round trips of the manifest, every single-bit error in one, its atomic replacement, and its absence.

use super::*;
use crate::directory::create_streams;
use crate::io::disk_for_tests::TestDisk;
use crate::log::format::segment::SegmentHeader;

fn home() -> &'static Path {
    Path::new("/db")
}

/// Stores a manifest in a directory that is there.
fn put(manifest: &Manifest, disk: &TestDisk) {
    disk.create_dir_all(home()).unwrap();
    manifest.store(disk, home()).unwrap();
}

fn sample() -> Manifest {
    let dirs = [PathBuf::from("/db"), PathBuf::from("/fast/two"), PathBuf::from("/db/three")];
    let mut manifest = Manifest::new(DatabaseId(0xfeed), Protocol::Poplar, 4, &dirs);
    let frozen = FrozenGeneration {
        layout: manifest.current.clone(),
        cut: Stamp(90),
        max_seen: Stamp(100),
        max_epoch: Epoch(8),
        clean: false,
        until: Epoch(6),
        streams: (1..=4)
            .map(|n| FrozenStream { first_sequence: n, end: LogOffset(4096 * n), durable: Stamp(90 + n) })
            .collect(),
    };
    manifest.frozen.push(frozen);
    manifest.current.generation = Generation(2);
    manifest.current.floor = Stamp(100);
    manifest.current.epoch_floor = Epoch(8);
    manifest.begins = StreamBegin::of(&manifest.current);
    manifest.begins[1] = StreamBegin { sequence: 3, durable: Stamp(120) };
    manifest.checkpoints.push(CheckpointEntry {
        number: 3,
        kind: CheckpointKind::Epoch,
        boundary: 7,
        max_seen: Stamp(80),
        max_epoch: Epoch(7),
        taken_seconds: 1_700_000_000,
        rows: 1000,
        raw_bytes: 50_000,
        parts: vec![CheckpointPart { directory: 0, bytes: 8192 }, CheckpointPart { directory: 2, bytes: 12288 }],
    });
    manifest
}

#[test]
fn what_is_written_is_read() {
    let disk = TestDisk::new();
    for manifest in [sample(), Manifest::new(DatabaseId(1), Protocol::None, 4, &[home().to_owned()])] {
        put(&manifest, &disk);
        disk.crash();
        assert_eq!(Manifest::load(&disk, home(), &[]).unwrap(), Some(manifest));
    }
}

#[test]
fn directories_are_relative_to_home_where_they_lie_in_it() {
    let manifest = sample();
    let paths: Vec<&Path> = manifest.directories.iter().map(|entry| entry.path.as_path()).collect();
    assert_eq!(paths, [Path::new(""), Path::new("/fast/two"), Path::new("three")]);
    assert_eq!(manifest.current.streams, [0, 1, 2, 0]);
    let directory =
        |home: &str, stream| manifest.stream_directory(Path::new(home), &manifest.current, StreamId(stream));
    assert_eq!(directory("/db", 3), Path::new("/db/stream-3"));
    assert_eq!(directory("/moved", 2), Path::new("/moved/three/stream-2"));
    assert_eq!(directory("/moved", 1), Path::new("/fast/two/stream-1"));
}

#[test]
fn every_flipped_bit_and_every_lost_byte_is_found() {
    let disk = TestDisk::new();
    put(&sample(), &disk);
    let path = home().join(FILE_NAME);
    let sound = disk.bytes(&path);
    for bit in 0..sound.len() * 8 {
        disk.edit(&path, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        let error = Manifest::load(&disk, home(), &[]).unwrap_err();
        let expected = match bit / 8 {
            // Also the number of another version that is read, which has other fields.
            8..12 => matches!(error, ManifestError::Version { .. } | ManifestError::Damaged { .. }),
            _ => matches!(error, ManifestError::Damaged { .. }),
        };
        assert!(expected, "bit {bit}: {error}");
        assert!(error.to_string().contains("/db/MANIFEST"), "{error}");
        disk.edit(&path, |bytes| bytes.copy_from_slice(&sound));
    }
    for length in 0..sound.len() {
        disk.edit(&path, |bytes| bytes.truncate(length));
        assert!(matches!(Manifest::load(&disk, home(), &[]), Err(ManifestError::Damaged { .. })), "{length}");
        disk.edit(&path, |bytes| *bytes = sound.clone());
    }
    disk.edit(&path, |bytes| bytes.push(0));
    assert!(matches!(Manifest::load(&disk, home(), &[]), Err(ManifestError::Damaged { .. })));
}

/// Each format version added fields at the end.
#[test]
fn earlier_formats_are_read() {
    let disk = TestDisk::new();
    let mut manifest = sample();
    manifest.directories[1].is_retired = true;
    put(&manifest, &disk);
    assert_eq!(Manifest::load(&disk, home(), &[]).unwrap().as_ref(), Some(&manifest));
    manifest.directories[1].is_retired = false;
    let reads = |version: u8, less: usize, manifest: &Manifest| {
        put(manifest, &disk);
        disk.edit(&home().join(FILE_NAME), |bytes| {
            bytes.truncate(bytes.len() - less);
            bytes[8] = version;
            let checksum = crc_fast::crc32_iscsi(&bytes[16..]);
            bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        });
        assert_eq!(Manifest::load(&disk, home(), &[]).unwrap().as_ref(), Some(manifest));
    };
    let durable = 8 * manifest.frozen[0].streams.len();
    let frozen = &mut manifest.frozen[0];
    frozen.streams.iter_mut().for_each(|stream| stream.durable = frozen.cut);
    let added = durable + 2 * 8 + 1 + manifest.directories.len() + manifest.layouts().count();
    manifest.frozen[0].layout.incarnation = Incarnation(7);
    for logged in [Logged::Physiological, Logged::Values] {
        (manifest.frozen[0].layout.logged, manifest.current.logged) = (Logged::Commands, logged);
        put(&manifest, &disk);
        assert_eq!(Manifest::load(&disk, home(), &[]).unwrap().as_ref(), Some(&manifest));
    }
    manifest.frozen[0].layout.logged = Logged::Values;
    reads(6, durable, &manifest);
    reads(5, durable + 2, &manifest);
    manifest.records_begin = false;
    reads(4, durable + 2, &manifest);
    manifest.frozen[0].layout.incarnation = Incarnation::NONE;
    (manifest.current.incarnation, manifest.records_newest) = (Incarnation::NONE, false);
    reads(3, added, &manifest);
    manifest.frozen[0].until = NEVER;
    reads(2, added + 8 + 8, &manifest);
    manifest.checkpoints.clear();
    let streams = manifest.begins.len();
    manifest.begins = StreamBegin::of(&manifest.current);
    reads(1, added + 4 + 16 * streams + 8, &manifest);
}

#[test]
fn a_checkpoint_is_covered_by_what_is_seen() {
    let mut manifest = sample();
    assert_eq!(manifest.seen(), (Stamp(100), Epoch(8)));
    manifest.checkpoints[0].boundary = 12;
    manifest.checkpoints[0].max_epoch = Epoch(12);
    manifest.checkpoints[0].max_seen = Stamp(111);
    assert_eq!(manifest.seen(), (Stamp(111), Epoch(12)), "epochs and stamps go on above a checkpoint");
    // Rows of a fuzzy one may be of later epochs than any record that is left.
    (manifest.checkpoints[0].kind, manifest.checkpoints[0].boundary) = (CheckpointKind::Fuzzy, 90);
    assert_eq!(manifest.seen(), (Stamp(111), Epoch(12)));
    manifest.checkpoints[0].max_epoch = NEVER;
    assert_eq!(manifest.seen(), (Stamp(111), Epoch(8)));
}

#[test]
fn a_checkpoint_supersedes_what_it_covers() {
    let mut manifest = sample();
    let last = manifest.checkpoints.last().unwrap().clone();
    let entry = CheckpointEntry { number: last.number + 1, ..last };
    let frozen = manifest.frozen.len();
    assert!(frozen > 0);
    let begins = vec![StreamBegin { sequence: 4, durable: Stamp(200) }; manifest.begins.len()];

    let of_epoch = |boundary| CheckpointEntry { kind: CheckpointKind::Epoch, boundary, ..entry.clone() };
    let last = manifest.frozen.last().unwrap().clone();
    assert!(manifest.clone().supersede(of_epoch(last.max_epoch.0 - 1), begins.clone()).len() < frozen);
    let fuzzy = |boundary| CheckpointEntry { kind: CheckpointKind::Fuzzy, boundary, ..entry.clone() };
    assert!(manifest.clone().supersede(fuzzy(last.max_seen.0 - 1), begins.clone()).len() < frozen);
    assert_eq!(manifest.clone().supersede(fuzzy(last.max_seen.0), begins.clone()).len(), frozen);

    assert_eq!(manifest.supersede(of_epoch(last.max_epoch.0), begins.clone()).len(), frozen);
    assert_eq!((manifest.frozen.len(), &manifest.begins), (0, &begins));
    let directory = manifest.stream_directory(home(), &manifest.current, StreamId(0));
    let current = manifest.current.generation;
    for (generation, sequence, needed) in [(current, 3, false), (current, 4, true), (last.layout.generation, 9, false)]
    {
        assert_eq!(manifest.needs(home(), &directory, generation, sequence), needed, "{generation} {sequence}");
    }
    assert!(!manifest.needs(home(), Path::new("/elsewhere/stream-0"), current, 4));
}

#[test]
fn random_manifests_never_panic() {
    let sound = codec::encode(&sample()).unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    let mut decoded = 0;
    for _ in 0..50_000 {
        let mut bytes = sound.clone();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(12..bytes.len());
            bytes[at] = if random.bool() { random.u8(..) } else { bytes[at] ^ 1 };
        }
        bytes.truncate(random.usize(sound.len() / 2..sound.len() * 2).max(17));
        let checksum = crc_fast::crc32_iscsi(&bytes[16..]);
        bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        if let Ok(manifest) = codec::decode(&bytes) {
            assert_eq!(codec::encode(&manifest).unwrap(), bytes);
            decoded += 1;
        }
    }
    assert!(decoded > 0, "the test reached no sound manifest");
}

#[test]
fn replacing_is_atomic_at_every_step() {
    let old = sample();
    let mut new = old.clone();
    new.current.floor = Stamp(1234);
    new.begins = StreamBegin::of(&new.current);
    for changes in 0..=5 {
        for power in [false, true] {
            let disk = TestDisk::new();
            put(&old, &disk);
            disk.fail_after(changes);
            let stored = new.store(&disk, home());
            assert_eq!(stored.is_ok(), changes == 5, "{changes}");
            if power {
                disk.crash();
            } else {
                disk.fail_after(usize::MAX);
            }
            let found = Manifest::load(&disk, home(), &[]).unwrap().unwrap();
            assert!(found == old || found == new);
            assert!(stored.is_err() || found == new, "a stored manifest is durable");
            new.store(&disk, home()).unwrap();
        }
    }
}

#[test]
fn the_order_of_the_replacement_is_write_sync_rename_sync() {
    let disk = TestDisk::new();
    disk.create_dir_all(home()).unwrap();
    disk.take_calls();
    sample().store(&disk, home()).unwrap();
    let expected = ["create MANIFEST.tmp", "write MANIFEST.tmp", "sync MANIFEST.tmp", "rename MANIFEST", "sync_dir db"];
    assert_eq!(disk.take_calls(), expected);
}

#[test]
fn no_manifest_is_a_new_database_only_where_there_is_no_log() {
    let disk = TestDisk::new();
    let dirs = [home().to_owned(), PathBuf::from("/other")];
    assert_eq!(Manifest::load(&disk, home(), &dirs).unwrap(), None);
    // A creation that crashed before its manifest leaves directories.
    let manifest = Manifest::new(DatabaseId(1), Protocol::Poplar, 2, &dirs);
    create_streams(&disk, home(), &manifest).unwrap();
    assert_eq!(Manifest::load(&disk, home(), &dirs).unwrap(), None);
    let log = manifest.current.log(manifest.database, StreamId(1));
    let header = SegmentHeader { log, sequence: 1, base: LogOffset(0), floor: Stamp::ZERO, bytes: 4096 };
    segment::create(&disk, Path::new("/other/stream-1"), &header, &[]).unwrap();
    let error = Manifest::load(&disk, home(), &dirs).unwrap_err();
    assert!(matches!(error, ManifestError::Missing { .. }));
    assert!(error.to_string().contains("/other/stream-1/00000001-00000001.log"), "{error}");
}

#[test]
fn a_clean_close_freezes_at_the_exact_ends() {
    let disk = TestDisk::new();
    let manifest = Manifest::new(DatabaseId(1), Protocol::Poplar, 2, &[home().to_owned()]);
    put(&manifest, &disk);
    let end = |stream, end, stamp| StreamEnd { stream: StreamId(stream), end: LogOffset(end), stamp: Stamp(stamp) };
    let ends = [end(0, 8192, 40), end(1, 4096, 30)];
    let closed = freeze_clean(&manifest, &disk, home(), &ends, Epoch(5)).unwrap();
    disk.crash();
    assert_eq!(Manifest::load(&disk, home(), &[]).unwrap().unwrap(), closed);
    assert!(closed.is_closed() && !manifest.is_closed());
    assert_eq!(closed.seen(), (Stamp(40), Epoch(5)));
    let frozen = &closed.frozen[0];
    assert_eq!((frozen.cut, frozen.max_seen, frozen.clean), (Stamp(40), Stamp(40), true));
    assert_eq!(frozen.streams[1], FrozenStream { first_sequence: 1, end: LogOffset(4096), durable: Stamp(40) });
}

#[test]
fn a_read_only_directory_is_named() {
    let disk = TestDisk::new();
    put(&sample(), &disk);
    disk.set_read_only(true);
    let error = sample().store(&disk, home()).unwrap_err();
    assert_eq!(error.sqlstate(), "42501");
    assert!(error.to_string().contains("/db/MANIFEST"), "{error}");
}
