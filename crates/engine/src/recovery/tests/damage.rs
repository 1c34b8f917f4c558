//! Logs that are not what was written: each fault has an error of its own, which names the file, and never is anything
//! silently dropped.

use super::world::{Rows, World, put};
use crate::config::Protocol;
use crate::directory::Claim;
use crate::directory::manifest::{FILE_NAME, Manifest, ManifestError, StreamEnd, freeze_clean};
use crate::error::RecoveryError;
use crate::ids::{Epoch, Incarnation, LogOffset, Stamp, StreamId};
use crate::io::BLOCK_BYTES;
use crate::log::format::segment::{self, HeaderError, SegmentError};

/// Two streams, three segments in the first.
fn sample() -> World {
    let world = World::new(Protocol::Poplar, 2);
    let mut log = world.writer(0);
    log.batch(&[put(1, 0, "a", "1")]).batch(&[put(3, 1, "b", "3")]).rotate();
    log.batch_with(&[put(5, 3, "c", "5")], 5, 2, &[]).batch(&[put(7, 5, "d", "7")]).rotate();
    log.batch_with(&[put(9, 7, "e", "9")], 9, 6, &[]).batch(&[put(11, 9, "f", "11")]).flush();
    let mut other = world.writer(1);
    other
        .batch(&[put(2, 0, "g", "2")])
        .batch_with(&[put(6, 2, "h", "6")], 6, 5, &[])
        .batch_with(&[], 12, 9, &[])
        .flush();
    world
}

/// The sample, closed.
fn closed() -> World {
    let world = sample();
    let end = |stream, blocks: u64, stamp| {
        let end = crate::ids::LogOffset(blocks * BLOCK_BYTES as u64);
        StreamEnd { stream: StreamId(stream), end, stamp: Stamp(stamp) }
    };
    freeze_clean(&world.manifest(), &world.disk, world.home(), &[end(0, 6, 11), end(1, 3, 12)], Epoch(3)).unwrap();
    world
}

fn assert_names(error: &RecoveryError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[test]
fn the_samples_are_sound() {
    let (report, rows) = sample().recover().unwrap();
    assert_eq!((report.cut, rows.len()), (Stamp(11), 8));
    assert_eq!(closed().recover().unwrap().1, rows);
}

#[test]
fn a_missing_stream_directory() {
    let world = sample();
    world.disk.delete(&world.directory(1));
    let error = world.refused();
    assert!(matches!(error, RecoveryError::MissingDirectory { stream: StreamId(1), .. }));
    assert_names(&error, &["/db/stream-1", "mount"]);
    assert_eq!(error.sqlstate(), "58P01");
}

#[test]
fn a_missing_segment() {
    for sequence in [1, 2] {
        let world = sample();
        world.disk.delete(&world.path(0, sequence));
        let error = world.refused();
        assert!(matches!(error, RecoveryError::MissingSegment { .. }));
        assert_names(&error, &[&format!("/db/stream-0/00000001-0000000{sequence}.log"), "restore"]);
    }
}

#[test]
fn a_missing_newest_segment_is_noticed_by_the_other_streams() {
    let world = sample();
    world.disk.delete(&world.path(0, 3));
    let error = world.refused();
    assert!(matches!(error, RecoveryError::LostDurable { found: Stamp(7), promised: Stamp(9), .. }), "{error}");
    assert_names(&error, &["/db/stream-0"]);
    let world = sample();
    world.disk.delete(&world.path(1, 1));
    assert!(matches!(world.refused(), RecoveryError::LostDurable { .. }));
    let world = closed();
    world.disk.delete(&world.path(0, 3));
    assert!(matches!(world.refused(), RecoveryError::MissingSegment { .. }));
}

/// Stream 1 knew the first `blocks` of stream 0 to be durable; certificates and frontiers say nothing of them.
fn known(blocks: u64) -> World {
    let world = World::new(Protocol::Poplar, 2);
    let mut log = world.writer(0);
    log.batch(&[put(1, 0, "a", "1")]).batch(&[put(3, 0, "b", "3")]).rotate();
    log.batch(&[put(5, 0, "c", "5")]).batch(&[put(7, 0, "d", "7")]).flush_with(BLOCK_BYTES, 0);
    let mut other = world.writer(1);
    other.know(0, 1).batch(&[put(2, 0, "g", "2")]).know(0, blocks).batch_with(&[], 12, 0, &[(0, 12)]).flush();
    world
}

#[test]
fn what_another_stream_knew_to_be_durable_must_be_there() {
    assert_eq!(known(4).recover().unwrap().1.len(), 5);
    let world = known(4);
    world.disk.delete(&world.path(0, 2));
    let error = world.refused();
    assert!(matches!(error, RecoveryError::MissingSegment { promised: Some(LogOffset(16_384)), .. }), "{error}");
    assert_names(&error, &["/db/stream-0/00000001-00000002.log", "durable up to log offset 16384", "restore"]);
    let block = BLOCK_BYTES as u64;
    for (blocks, flipped, position) in
        [(4, 2 * block, 2 * block), (4, 2 * block + 100, 2 * block + 80), (5, 0, 3 * block)]
    {
        let world = known(blocks);
        let path = world.path(0, 2);
        world.disk.edit(&path, |bytes| bytes[flipped as usize] ^= u8::from(flipped > 0));
        let error = world.refused();
        assert!(matches!(error, RecoveryError::Damaged { position: found, .. } if found == position), "{error}");
        assert_names(&error, &[path.to_str().unwrap(), &format!("durable up to {}", blocks * block), "restore"]);
    }
    // Nobody knew of the last batch: it looks torn, and that counts for what it said, too.
    for (blocks, of, kept) in [(3, 0, 4), (2, 0, 4), (4, 1, 5)] {
        let world = known(blocks);
        world.disk.edit(&world.path(of, 2 - u64::from(of)), |bytes| bytes[2 * BLOCK_BYTES + 20] ^= 1);
        let (_, rows) = world.recover().unwrap();
        assert_eq!(rows.len(), kept);
        world.disk.crash();
        assert_eq!(world.recover().unwrap().1, rows, "a tail that was written again is as long as what is known of it");
    }
}

#[test]
fn a_segment_that_the_manifest_names_must_be_there() {
    let world = World::new(Protocol::Serial, 1);
    let mut manifest = world.manifest();
    manifest.begins[0].sequence = 2;
    manifest.store(&world.disk, world.home()).unwrap();
    assert_names(&world.refused(), &["/db/stream-0/00000001-00000002.log is missing"]);
}

#[test]
fn a_truncated_segment() {
    for sequence in [1, 2, 3] {
        let world = sample();
        let path = world.path(0, sequence);
        world.disk.edit(&path, |bytes| bytes.truncate(bytes.len() - 1));
        let error = world.refused();
        assert!(matches!(error, RecoveryError::Segment(SegmentError::Short { .. })));
        assert_names(&error, &[path.to_str().unwrap(), "truncated", "restore"]);
        assert_eq!(error.sqlstate(), "XX001");
        for length in [0, 100] {
            world.disk.edit(&path, |bytes| bytes.truncate(length));
            assert!(matches!(world.refused(), RecoveryError::Segment(SegmentError::Header { .. })));
        }
    }
}

#[test]
fn a_segment_without_a_header_or_of_another_database() {
    let world = sample();
    let path = world.path(0, 3);
    world.disk.edit(&path, |bytes| bytes[..BLOCK_BYTES].fill(0));
    let error = world.refused();
    assert!(matches!(error, RecoveryError::Segment(SegmentError::Header { source: HeaderError::Blank, .. })));
    let stranger = World::new(Protocol::Poplar, 2);
    let mut log = stranger.writer(0);
    log.batch(&[put(1, 0, "a", "1")]);
    let mut bytes = stranger.disk.bytes(&log.flush());
    bytes[16] ^= 0xff;
    let checksum = segment::checksum(&bytes);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    world.disk.put(&path, &bytes);
    let error = world.refused();
    assert!(matches!(error, RecoveryError::Segment(SegmentError::Header { source: HeaderError::Database { .. }, .. })));
    assert_names(&error, &[path.to_str().unwrap(), "belongs to database"]);
}

#[test]
fn swapped_streams() {
    let world = sample();
    let (one, two) = (world.path(0, 1), world.path(1, 1));
    let (first, second) = (world.disk.bytes(&one), world.disk.bytes(&two));
    world.disk.put(&one, &second);
    world.disk.put(&two, &first);
    let error = world.refused();
    assert!(matches!(error, RecoveryError::Segment(SegmentError::Header { source: HeaderError::Stream { .. }, .. })));
}

#[test]
fn every_flipped_bit_of_what_is_not_the_tail() {
    let world = sample();
    let (_, sound) = world.fork().recover().unwrap();
    let tails = [(world.path(0, 3), 2), (world.path(1, 1), 3)];
    for (path, batches) in [(world.path(0, 1), 3), (world.path(0, 2), 3), tails[0].clone(), tails[1].clone()] {
        for block in 0..batches {
            for bit in (0..140 * 8).step_by(5) {
                let world = world.fork();
                let position = block * BLOCK_BYTES + bit / 8;
                world.disk.edit(&path, |bytes| bytes[position] ^= 1 << (bit % 8));
                match world.recover() {
                    Err(RecoveryError::Damaged { path: named, position: at, .. }) => {
                        assert_eq!(named, path);
                        assert!(at / BLOCK_BYTES as u64 == block as u64, "{position} was reported at {at}");
                    }
                    Err(RecoveryError::Segment(error)) => {
                        assert!(block == 0, "{error}");
                    }
                    // Padding behind the records.
                    Ok((_, rows)) => assert_eq!(rows, sound, "bit {bit} of block {block} in {}", path.display()),
                    Err(error) => panic!("bit {bit} of block {block} in {}: {error}", path.display()),
                }
            }
        }
    }
}

#[test]
fn a_flipped_byte_in_a_closed_log_is_always_found() {
    let world = closed();
    let (_, sound) = world.fork().recover().unwrap();
    for (path, blocks) in [(world.path(0, 3), 3), (world.path(1, 1), 4)] {
        for position in 0..blocks * BLOCK_BYTES {
            let in_records = position % BLOCK_BYTES < 120;
            if !in_records && position % 97 != 0 {
                continue;
            }
            let world = world.fork();
            world.disk.edit(&path, |bytes| bytes[position] ^= 0x10);
            match world.recover() {
                Err(error) => assert_names(&error, &[path.to_str().unwrap()]),
                Ok((_, rows)) => assert_eq!(rows, sound, "byte {position} of {}", path.display()),
            }
        }
    }
}

#[test]
fn a_frozen_log_that_lost_its_end() {
    let world = closed();
    let path = world.path(1, 1);
    world.disk.edit(&path, |bytes| bytes[3 * BLOCK_BYTES..4 * BLOCK_BYTES].fill(0));
    let error = world.refused();
    assert!(matches!(error, RecoveryError::Damaged { .. }), "{error}");
    assert_names(&error, &["/db/stream-1/00000001-00000001.log", "byte 12288"]);
}

#[test]
fn durable_bytes_that_were_lost() {
    let world = sample();
    // The stream's last batch but one is gone with everything behind it, as if the device had lied.
    let path = world.path(0, 3);
    world.disk.edit(&path, |bytes| bytes[BLOCK_BYTES..].fill(0));
    let error = world.refused();
    assert!(matches!(error, RecoveryError::LostDurable { found: Stamp(7), promised: Stamp(9), .. }), "{error}");
}

#[test]
fn a_manifest_with_streams_that_its_protocol_does_not_write() {
    for protocol in [Protocol::None, Protocol::Serial] {
        let world = World::new(Protocol::Poplar, 2);
        world.writer(0).batch(&[put(1, 0, "a", "1")]).flush();
        let mut manifest = world.manifest();
        manifest.current.protocol = protocol;
        Claim::take(&world.config).unwrap().0.store(&manifest).unwrap();
        let error = world.refused();
        assert!(matches!(&error, RecoveryError::Contradiction { what, .. } if what.contains("2 streams")), "{error}");
    }
}

#[test]
fn an_old_manifest() {
    let world = sample();
    let old = world.disk.bytes(&world.home().join(FILE_NAME));
    world.recover().unwrap();
    world.writer(0).batch(&[put(20, 0, "x", "new")]).flush();
    world.disk.put(&world.home().join(FILE_NAME), &old);
    let error = world.refused();
    assert_names(&error, &["/db/IDENTITY does not fit /db/MANIFEST", "an earlier or later state"]);
    // Before there were identities only the log could tell.
    let mut manifest = Manifest::from_bytes(world.home(), &old).unwrap();
    manifest.current.incarnation = Incarnation::NONE;
    manifest.store(&world.disk, world.home()).unwrap();
    world.disk.delete(&world.home().join("IDENTITY"));
    let error = world.refused();
    assert!(matches!(error, RecoveryError::ManifestTooOld { .. }), "{error}");
    assert_names(&error, &["00000002-00000001.log", "manifest is old"]);
}

#[test]
fn a_missing_or_damaged_manifest() {
    let world = sample();
    let path = world.home().join(FILE_NAME);
    let bytes = world.disk.bytes(&path);
    world.disk.delete(&path);
    assert!(matches!(world.refused(), RecoveryError::Manifest(ManifestError::Missing { .. })));
    world.disk.put(&path, &bytes);
    world.disk.edit(&path, |bytes| bytes[20] ^= 1);
    assert!(matches!(world.refused(), RecoveryError::Manifest(ManifestError::Damaged { .. })));
}

#[test]
fn a_read_only_or_full_disk_harms_nothing() {
    let world = sample();
    world.disk.set_read_only(true);
    let error = world.refused();
    assert!(matches!(error, RecoveryError::Write(_)), "{error}");
    assert_names(&error, &["/db/stream-0/", "writable"]);
    assert_eq!(error.sqlstate(), "42501");
    world.disk.set_read_only(false);
    assert_eq!(world.recover().unwrap().1.len(), 8);
    let world = closed();
    world.disk.set_read_only(true);
    assert_names(&world.refused(), &["/db", "writable"]);
}

#[test]
fn chains_that_do_not_fit() {
    let world = sample();
    let path = world.path(0, 2);
    let change = |at: usize, new: u8, what: &str| {
        let world = world.fork();
        world.disk.edit(&path, |bytes| {
            bytes[at] = new;
            let checksum = segment::checksum(bytes);
            bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        });
        let error = world.refused();
        assert_names(&error, &[what]);
    };
    change(64, 2, "its floor is 2, but the one before it reached stamp 3");
    change(57, 0x80, "it begins at 32768");
    change(48, 9, "number 9 of its chain, not 2");
    change(40, 9, "generation 9");
}

/// Whatever happens to the files: no panic, and never less than what the other files prove.
#[test]
fn random_damage_never_gives_an_empty_database() {
    let mut random = fastrand::Rng::with_seed(4);
    let worlds = [(sample(), 5), (closed(), 8)];
    let sound: Vec<Rows> = worlds.iter().map(|(world, _)| world.fork().recover().unwrap().1).collect();
    let mut refused = 0;
    for round in 0..3000 {
        let which = round % 2;
        let world = worlds[which].0.fork();
        let paths =
            [world.path(0, 1), world.path(0, 2), world.path(0, 3), world.path(1, 1), world.home().join(FILE_NAME)];
        let path = &paths[random.usize(..paths.len())];
        world.disk.edit(path, |bytes| {
            let at = random.usize(..bytes.len());
            match random.u8(..5) {
                0 => bytes.truncate(at),
                1 => bytes[at..].fill(0),
                2 => bytes[at] = random.u8(..),
                3 => bytes.rotate_left(at),
                _ => (0..random.usize(1..20)).for_each(|_| {
                    let at = random.usize(..bytes.len());
                    bytes[at] = random.u8(..);
                }),
            }
        });
        match world.recover() {
            Ok((_, rows)) => {
                assert!(rows.len() >= worlds[which].1, "round {round}: {} rows", rows.len());
                assert!(rows.iter().all(|(key, row)| sound[which].get(key) == Some(row)), "round {round}");
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty() && error.sqlstate().len() == 5);
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}
