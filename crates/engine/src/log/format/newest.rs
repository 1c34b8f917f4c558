//! Which segment of a stream is the newest: the file `NEWEST` in its directory (docs/log-format.md, section 9). Without it a
//! segment that was removed could not be told from one that never was.
//!
//! Invariants:
//! - A segment is recorded after it has its name and before it gets its first batch. So the newest segment there is may be one
//!   newer than the record says, and is empty then; one that is older shows that a segment is gone.
//! - Before the manifest of a generation is stored, the file says that the stream has no segment of it yet, beside the newest
//!   segment of an earlier generation: whichever of the two manifests a crash leaves finds its own record. A stream's directory
//!   without the record of the manifest's generation is an older one.
//! - Every generation replaces the file, so that no other name of the old one sees what this one records.
//! - Of its two slots the one is written that does not hold the last record: a torn write leaves that.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::segment::FIRST_SEQUENCE;
use crate::ids::{DatabaseId, Generation, Incarnation, StreamId};
use crate::io::{BLOCK_BYTES, Disk, File, OpenMode};
use crate::log::format::batch::STREAMS_MAX;
use crate::log::format::bytes::{u32_at, u64_at};
use crate::log::format::{LogIdentity, faults};

const NAME: &str = "NEWEST";
const TEMPORARY_NAME: &str = "NEWEST.tmp";
const MAGIC: [u8; 8] = *b"OSIERNEW";
/// The format that this program writes.
pub(crate) const VERSION: u32 = 1;
/// The fields of a slot; zeros follow.
const FIELDS_BYTES: usize = 64;
const SLOTS: usize = 2;

/// What a slot says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NewestRecord {
    /// Whose newest segment it is.
    pub(crate) log: LogIdentity,
    /// Its number; one below [`FIRST_SEQUENCE`] where there is none.
    pub(crate) sequence: u64,
}

/// The file, open for the one logger that writes it.
pub(crate) struct Newest {
    file: Arc<dyn File>,
    log: LogIdentity,
    slot: usize,
}

/// Returns where the record of the stream in `directory` lies.
pub(crate) fn path(directory: &Path) -> PathBuf {
    directory.join(NAME)
}

/// Records that `log` begins and has no segment yet, beside the newest segment of an earlier one; durable when
/// this returns. What another creation of a database left behind, or an open that did not end, is not kept.
pub(crate) fn begin(disk: &dyn Disk, directory: &Path, log: LogIdentity) -> io::Result<()> {
    let is_before = |record: &NewestRecord| {
        let is_earlier = record.log.generation() < log.generation();
        is_earlier && (record.log.database(), record.log.stream()) == (log.database(), log.stream())
    };
    let found = match read(disk, directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        found => found?,
    };
    let before = found.into_iter().filter(is_before).max_by_key(|record| (record.log.generation(), record.sequence));
    let records: Vec<_> = before.into_iter().chain([NewestRecord { log, sequence: FIRST_SEQUENCE - 1 }]).collect();
    replace_by(disk, directory, &records)?;
    faults::sync_begun(|| disk.sync_dir(directory))
}

/// Replaces the file by one with these records; durable once the directory is.
fn replace_by(disk: &dyn Disk, directory: &Path, records: &[NewestRecord]) -> io::Result<Arc<dyn File>> {
    assert!(records.len() <= SLOTS, "{records:?} have a slot each");
    let (temporary, path) = (directory.join(TEMPORARY_NAME), path(directory));
    if disk.exists(&temporary)? {
        disk.remove(&temporary)?;
    }
    let file = disk.open(&temporary, OpenMode::Create)?;
    let mut bytes = vec![0; SLOTS * BLOCK_BYTES];
    bytes.chunks_exact_mut(BLOCK_BYTES).zip(records).for_each(|(block, record)| encode(block, record));
    file.write_at(&bytes, 0)?;
    file.sync()?;
    disk.rename(&temporary, &path)?;
    Ok(file)
}

/// Returns the sound records of the stream in `directory`; `NotFound` where the file is not there.
pub(crate) fn read(disk: &dyn Disk, directory: &Path) -> io::Result<Vec<NewestRecord>> {
    Ok(slots(disk, directory)?.chunks_exact(BLOCK_BYTES).filter_map(decode).collect())
}

/// Returns the version of a record in `directory` that a newer program wrote; `None` where there is none.
pub(crate) fn newer_version(disk: &dyn Disk, directory: &Path) -> io::Result<Option<u32>> {
    let version = |slot: &[u8]| Some(u32_at(slot, 8)).filter(|version| *version > VERSION && is_whole(slot));
    Ok(slots(disk, directory)?.chunks_exact(BLOCK_BYTES).find_map(version))
}

fn slots(disk: &dyn Disk, directory: &Path) -> io::Result<Vec<u8>> {
    let file = disk.open(&path(directory), OpenMode::Read)?;
    let mut bytes = vec![0; SLOTS * BLOCK_BYTES];
    let read = file.read_at(&mut bytes, 0)?;
    bytes.truncate(read);
    Ok(bytes)
}

impl Newest {
    /// Replaces the record of a stream by that of the newest segment of `log`; durable when this returns.
    pub(crate) fn replace(disk: &dyn Disk, directory: &Path, log: LogIdentity, sequence: u64) -> io::Result<Newest> {
        let file = replace_by(disk, directory, &[NewestRecord { log, sequence }])?;
        disk.sync_dir(directory)?;
        Ok(Newest { file, log, slot: 1 })
    }

    /// Records that the stream has the segment `sequence`; durable when this returns.
    pub(crate) fn record(&mut self, sequence: u64) -> io::Result<()> {
        let mut block = vec![0; BLOCK_BYTES];
        encode(&mut block, &NewestRecord { log: self.log, sequence });
        self.file.write_at(&block, (self.slot * BLOCK_BYTES) as u64)?;
        self.slot = (self.slot + 1) % SLOTS;
        self.file.sync()
    }
}

fn encode(block: &mut [u8], record: &NewestRecord) {
    block.fill(0);
    block[..8].copy_from_slice(&MAGIC);
    block[8..12].copy_from_slice(&VERSION.to_le_bytes());
    block[16..32].copy_from_slice(&record.log.database().0.to_le_bytes());
    block[32..36].copy_from_slice(&record.log.stream().0.to_le_bytes());
    block[36..40].copy_from_slice(&record.log.streams().to_le_bytes());
    block[40..48].copy_from_slice(&record.log.generation().0.to_le_bytes());
    block[48..56].copy_from_slice(&record.sequence.to_le_bytes());
    block[56..64].copy_from_slice(&record.log.incarnation().0.to_le_bytes());
    let checksum = checksum(block);
    block[12..16].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(decode(block).as_ref(), Some(record), "a record that cannot be read again");
}

fn checksum(block: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(&block[16..]) ^ u32_at(block, 8)
}

/// Of any version: the magic number, the version and the checksum stay where they are.
fn is_whole(block: &[u8]) -> bool {
    block[..8] == MAGIC && u32_at(block, 12) == checksum(block)
}

fn decode(block: &[u8]) -> Option<NewestRecord> {
    let is_sound = is_whole(block) && u32_at(block, 8) == VERSION;
    let (stream, streams) = (u32_at(block, 32), u32_at(block, 36));
    if !is_sound || stream >= streams || streams > STREAMS_MAX || block[FIELDS_BYTES..].iter().any(|byte| *byte != 0) {
        return None;
    }
    let database = DatabaseId(u128::from(u64_at(block, 16)) | u128::from(u64_at(block, 24)) << 64);
    let log = LogIdentity::new(database, Generation(u64_at(block, 40)), StreamId(stream), streams);
    Some(NewestRecord { log: log.begun_by(Incarnation(u64_at(block, 56))), sequence: u64_at(block, 48) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::disk_for_tests::TestDisk;

    #[test]
    fn a_generation_that_begins_leaves_the_record_of_the_one_before() {
        let (disk, directory) = (TestDisk::new(), Path::new("/db/stream-0"));
        disk.create_dir_all(directory).unwrap();
        let log = |generation, incarnation| {
            let log = LogIdentity::new(DatabaseId(7), Generation(generation), StreamId(0), 1);
            log.begun_by(Incarnation(incarnation))
        };
        let found = || {
            disk.crash();
            read(&disk, directory).unwrap().into_iter().map(|record| (record.log, record.sequence)).collect::<Vec<_>>()
        };
        begin(&disk, directory, log(1, 9)).unwrap();
        assert_eq!(found(), [(log(1, 9), 0)]);
        let mut newest = Newest::replace(&disk, directory, log(1, 9), 1).unwrap();
        newest.record(2).unwrap();
        // Opens that did not come to their manifest, and one that did.
        for incarnation in 10..13 {
            begin(&disk, directory, log(2, incarnation)).unwrap();
            assert_eq!(found(), [(log(1, 9), 2), (log(2, incarnation), 0)]);
        }
        begin(&disk, directory, log(3, 13)).unwrap();
        assert_eq!(found(), [(log(2, 12), 0), (log(3, 13), 0)]);
        // Another database lay here.
        let other = LogIdentity::new(DatabaseId(8), Generation(4), StreamId(0), 1).begun_by(Incarnation(14));
        begin(&disk, directory, other).unwrap();
        assert_eq!(found(), [(other, 0)]);
    }

    #[test]
    fn the_last_record_counts_and_a_torn_one_leaves_the_one_before() {
        let (disk, directory) = (TestDisk::new(), Path::new("/db/stream-1"));
        disk.create_dir_all(directory).unwrap();
        assert_eq!(read(&disk, directory).unwrap_err().kind(), io::ErrorKind::NotFound);
        let log = LogIdentity::new(DatabaseId(5 << 90 | 7), Generation(3), StreamId(1), 2).begun_by(Incarnation(9));
        let mut newest = Newest::replace(&disk, directory, log, 0).unwrap();
        let greatest = || read(&disk, directory).unwrap().into_iter().max_by_key(|record| record.sequence).unwrap();
        for sequence in 0..5 {
            disk.crash();
            assert_eq!(greatest(), NewestRecord { log, sequence });
            newest.record(sequence + 1).unwrap();
        }
        // Slots are written in turn: the fifth record is in the second one.
        disk.edit(&path(directory), |bytes| bytes[BLOCK_BYTES + 20] ^= 1);
        assert_eq!(greatest(), NewestRecord { log, sequence: 4 });
        disk.edit(&path(directory), |bytes| bytes[20] ^= 1);
        assert_eq!(read(&disk, directory).unwrap(), []);
        // A damaged version is none; one that fits its checksum is a newer program's.
        disk.edit(&path(directory), |bytes| bytes[20] ^= 1);
        disk.edit(&path(directory), |bytes| bytes[8] = 2);
        assert_eq!(newer_version(&disk, directory).unwrap(), None);
        disk.edit(&path(directory), |bytes| bytes[12] ^= VERSION as u8 ^ 2);
        assert_eq!((read(&disk, directory).unwrap(), newer_version(&disk, directory).unwrap()), (vec![], Some(2)));
    }
}
