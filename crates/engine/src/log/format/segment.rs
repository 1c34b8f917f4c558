//! The segment: one file of a stream's chain. Its format, its name, how it comes to be and how a chain is found.
//!
//! Invariants:
//! - A file has a segment's name only once its header is durable: it is written under another name, synced, renamed, and
//!   the directory synced ([`install`]). Nothing in it counts as durable earlier.
//! - Segment n + 1 of a stream is created only after every batch of segment n is durable, and its base is where
//!   segment n ends: whatever segment n holds at or beyond that base is dead.
//! - The floor is a stamp of the stream: every record before the base is at or below it and durable, every record from
//!   the base on is above it.
//!
//! Absent: writing batches (the logger), preparing spare files (the preparer), reading batches (recovery/log_scan.rs).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::ids::{DatabaseId, Generation, Incarnation, LogOffset, Stamp, StreamId};
use crate::io::error::{cause, io_sqlstate};
use crate::io::{BLOCK_BYTES, Disk, File, OpenMode};
use crate::log::format::batch::STREAMS_MAX;
use crate::log::format::bytes::{u32_at, u64_at};
use crate::log::format::{LogIdentity, faults};

/// The first bytes of a segment.
const MAGIC: [u8; 8] = *b"OSIERLOG";
/// The format that this program writes. In the first one no batch carried the time, in the second none said how far other
/// streams are durable, in the third no header named the open that began its generation, in the fourth records had fields of
/// fixed width, and there were no parts.
pub const FORMAT_VERSION: u32 = 5;
/// The bytes before the first batch.
pub const HEADER_BYTES: usize = BLOCK_BYTES;
/// Where the fields of a header end; zeros follow.
const FIELDS_END: usize = 88;
/// The sequence number of a chain's first segment.
pub const FIRST_SEQUENCE: u64 = 1;
/// Where the log of a stream begins in each generation.
pub const FIRST_OFFSET: LogOffset = LogOffset(0);

/// The first block of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Whose log it is a part of.
    pub log: LogIdentity,
    /// Its place in the chain, from [`FIRST_SEQUENCE`].
    pub sequence: u64,
    /// The offset of its first batch.
    pub base: LogOffset,
    /// Every record of the stream before `base` is at or below this, every later one above.
    pub floor: Stamp,
    /// The length of the file.
    pub bytes: u64,
}

/// Returns the checksum of a header. From version 3 on it covers the version, so that none passes for another one.
pub(crate) fn checksum(block: &[u8]) -> u32 {
    let version = u32_at(block, 8);
    crc_fast::crc32_iscsi(&block[16..HEADER_BYTES]) ^ if version < 3 { 0 } else { version }
}

/// What is wrong with a segment's header.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Created and never headed.
    #[error("it has no header")]
    Blank,
    /// Shorter than a header.
    #[error("it has only {found} bytes")]
    Truncated {
        /// The bytes at hand.
        found: u64,
    },
    /// Not a segment.
    #[error("it is not a log segment")]
    Magic,
    /// Written by a newer program.
    #[error("its format is version {found}; this program reads versions up to {FORMAT_VERSION}")]
    Version {
        /// The version in the header.
        found: u32,
    },
    /// Damaged.
    #[error("the checksum of its header is {found:08x} and should be {expected:08x}")]
    Checksum {
        /// The checksum in the header.
        found: u32,
        /// The checksum of its bytes.
        expected: u32,
    },
    /// A file of another database.
    #[error("it belongs to database {found}, not to {expected}")]
    Database {
        /// The database in the header.
        found: DatabaseId,
        /// The manifest's.
        expected: DatabaseId,
    },
    /// A file of another stream.
    #[error("it belongs to stream {found}, not to {expected}")]
    Stream {
        /// The stream in the header.
        found: StreamId,
        /// The directory's.
        expected: StreamId,
    },
    /// A file of another generation.
    #[error("it belongs to generation {found}, not to {expected}")]
    Generation {
        /// The generation in the header.
        found: Generation,
        /// The file name's.
        expected: Generation,
    },
    /// A file of another copy of the database, which was opened separately.
    #[error("it was written by another copy of this database, or after it was taken back to an earlier state")]
    OtherCopy,
    /// Another place in the chain.
    #[error("it is number {found} of its chain, not {expected}")]
    Sequence {
        /// The number in the header.
        found: u64,
        /// The file name's.
        expected: u64,
    },
    /// Sealed and without sense.
    #[error("its header is malformed: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
}

impl SegmentHeader {
    /// Writes the header to `block`, which is [`HEADER_BYTES`] long.
    pub fn encode(&self, block: &mut [u8]) {
        assert_eq!(block.len(), HEADER_BYTES);
        assert_eq!(self.check(), Ok(()));
        block.fill(0);
        block[..8].copy_from_slice(&MAGIC);
        block[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        block[16..32].copy_from_slice(&self.log.database().0.to_le_bytes());
        block[32..36].copy_from_slice(&self.log.stream().0.to_le_bytes());
        block[36..40].copy_from_slice(&self.log.streams().to_le_bytes());
        block[40..48].copy_from_slice(&self.log.generation().0.to_le_bytes());
        block[48..56].copy_from_slice(&self.sequence.to_le_bytes());
        block[56..64].copy_from_slice(&self.base.0.to_le_bytes());
        block[64..72].copy_from_slice(&self.floor.0.to_le_bytes());
        block[72..80].copy_from_slice(&self.bytes.to_le_bytes());
        block[80..88].copy_from_slice(&self.log.incarnation().0.to_le_bytes());
        let checksum = checksum(block);
        block[12..16].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads any segment's header.
    pub fn decode(block: &[u8]) -> Result<SegmentHeader, HeaderError> {
        let block = block.get(..HEADER_BYTES).ok_or(HeaderError::Truncated { found: block.len() as u64 })?;
        if block.iter().all(|byte| *byte == 0) {
            return Err(HeaderError::Blank);
        }
        if block[..8] != MAGIC {
            return Err(HeaderError::Magic);
        }
        let version = u32_at(block, 8);
        if !(1..=FORMAT_VERSION).contains(&version) {
            return Err(HeaderError::Version { found: version });
        }
        let (found, expected) = (u32_at(block, 12), checksum(block));
        if found != expected {
            return Err(HeaderError::Checksum { found, expected });
        }
        let (stream, streams) = (u32_at(block, 32), u32_at(block, 36));
        if stream >= streams || streams > STREAMS_MAX {
            return Err(HeaderError::Malformed { what: "the stream is not one of its streams" });
        }
        if block[FIELDS_END..].iter().any(|byte| *byte != 0) {
            return Err(HeaderError::Malformed { what: "it has bytes that nobody wrote" });
        }
        let mut database = [0; 16];
        database.copy_from_slice(&block[16..32]);
        let database = DatabaseId(u128::from_le_bytes(database));
        let header = SegmentHeader {
            log: LogIdentity::new(database, Generation(u64_at(block, 40)), StreamId(stream), streams)
                .begun_by(Incarnation(u64_at(block, 80))),
            sequence: u64_at(block, 48),
            base: LogOffset(u64_at(block, 56)),
            floor: Stamp(u64_at(block, 64)),
            bytes: u64_at(block, 72),
        };
        header.check().map_err(|what| HeaderError::Malformed { what })?;
        Ok(header)
    }

    /// Whether the header is the one of segment `sequence` of `log`.
    pub fn expect(&self, log: &LogIdentity, sequence: u64) -> Result<(), HeaderError> {
        let (found, expected) = (self.log.database(), log.database());
        if found != expected {
            return Err(HeaderError::Database { found, expected });
        }
        let (found, expected) = (self.log.stream(), log.stream());
        if found != expected {
            return Err(HeaderError::Stream { found, expected });
        }
        let (found, expected) = (self.log.generation(), log.generation());
        if found != expected {
            return Err(HeaderError::Generation { found, expected });
        }
        if self.log.incarnation() != log.incarnation() {
            return Err(HeaderError::OtherCopy);
        }
        if self.sequence != sequence {
            return Err(HeaderError::Sequence { found: self.sequence, expected: sequence });
        }
        if self.log.streams() != log.streams() {
            return Err(HeaderError::Malformed { what: "it was written for another number of streams" });
        }
        Ok(())
    }

    /// Returns the end of the room for batches, as an offset of the log.
    pub fn capacity_end(&self) -> LogOffset {
        LogOffset(self.base.0 + (self.bytes - HEADER_BYTES as u64))
    }

    /// Returns where `offset` of the log lies in the file.
    pub fn position(&self, offset: LogOffset) -> u64 {
        assert!(self.base <= offset && offset <= self.capacity_end(), "offset {offset} in {self:?}");
        HEADER_BYTES as u64 + (offset.0 - self.base.0)
    }

    fn check(&self) -> Result<(), &'static str> {
        let block = BLOCK_BYTES as u64;
        if self.sequence < FIRST_SEQUENCE {
            return Err("its sequence number is zero");
        }
        if !self.base.0.is_multiple_of(block) || self.base.0 > u64::MAX / 2 {
            return Err("its base is not on a block");
        }
        if !self.bytes.is_multiple_of(block) || self.bytes < HEADER_BYTES as u64 || self.bytes > u64::MAX / 4 {
            return Err("its length is not a number of blocks");
        }
        if self.floor > Stamp::MAX {
            return Err("its floor is out of range");
        }
        Ok(())
    }
}

/// What a file in a stream's directory is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileName {
    /// A segment.
    Segment {
        /// Its generation.
        generation: Generation,
        /// Its place in the chain.
        sequence: u64,
    },
    /// A spare file, to become a segment; never read.
    Prepared(u64),
    /// Left over from a creation that did not end; never read.
    Temporary,
}

impl FileName {
    /// Reads a file's name; `None` where it is none of ours.
    pub fn parse(path: &Path) -> Option<FileName> {
        let name = path.file_name()?.to_str()?;
        if let Some(segment) = name.strip_suffix(TEMPORARY_SUFFIX) {
            let is_segment = matches!(FileName::parse(Path::new(segment)), Some(FileName::Segment { .. }));
            return is_segment.then_some(FileName::Temporary);
        }
        let stem = name.strip_suffix(".log")?;
        if let Some(number) = stem.strip_prefix("prepared-") {
            return Some(FileName::Prepared(digits(number, 1)?));
        }
        let (generation, sequence) = stem.split_once('-')?;
        Some(FileName::Segment { generation: Generation(digits(generation, 8)?), sequence: digits(sequence, 8)? })
    }
}

const TEMPORARY_SUFFIX: &str = ".tmp";

fn digits(text: &str, at_least: usize) -> Option<u64> {
    let plain = text.len() >= at_least && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// Returns the directory of `stream` under `root`.
pub fn stream_directory(root: &Path, stream: StreamId) -> PathBuf {
    root.join(format!("stream-{stream}"))
}

/// Whether `path` is named like the directory of a stream.
pub(crate) fn is_stream_directory(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.strip_prefix("stream-")).is_some_and(|number| digits(number, 1).is_some())
}

/// Returns the file of a segment.
pub fn segment_path(directory: &Path, generation: Generation, sequence: u64) -> PathBuf {
    directory.join(format!("{:08}-{sequence:08}.log", generation.0))
}

/// A spare file.
pub fn prepared_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("prepared-{number}.log"))
}

/// An operation on a segment's file that failed, or a segment that is not sound.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The operating system refused.
    #[error("cannot {action} {}: {}", path.display(), cause(source, path))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The header is wrong.
    #[error("log segment {}: {source}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: HeaderError,
    },
    /// The file is shorter than its header says.
    #[error("log segment {} has {found} bytes and was created with {expected}: it is truncated", path.display())]
    Short {
        /// The file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// The length in its header.
        expected: u64,
    },
}

impl SegmentError {
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> SegmentError + 'a {
        move |source| SegmentError::Io { action, path: path.to_owned(), source }
    }

    /// Returns the SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            SegmentError::Io { source, .. } => io_sqlstate(source),
            SegmentError::Header { .. } | SegmentError::Short { .. } => "XX001",
        }
    }
}

/// Turns `file`, known as `from`, into the segment of `header` in `directory`: header, sync, rename, sync of the
/// directory, in this order. `block` is a buffer of [`HEADER_BYTES`], aligned where the file was opened with
/// [`OpenMode::Log`]. When it returns, the segment is durable and empty; its path is returned.
pub fn install(
    disk: &dyn Disk,
    file: &dyn File,
    from: &Path,
    directory: &Path,
    header: &SegmentHeader,
    block: &mut [u8],
) -> Result<PathBuf, SegmentError> {
    header.encode(block);
    file.write_at(block, 0).map_err(SegmentError::io("write the header of", from))?;
    file.sync().map_err(SegmentError::io("sync", from))?;
    publish(disk, from, directory, header)
}

/// Creates the segment of `header` in `directory` with `batches` in it, everything durable when it returns: the way
/// for a stream without spare files, and for tails.
pub fn create(
    disk: &dyn Disk,
    directory: &Path,
    header: &SegmentHeader,
    batches: &[u8],
) -> Result<PathBuf, SegmentError> {
    assert!(batches.len() as u64 <= header.bytes - HEADER_BYTES as u64, "{} bytes in {header:?}", batches.len());
    let mut temporary = segment_path(directory, header.log.generation(), header.sequence).into_os_string();
    temporary.push(TEMPORARY_SUFFIX);
    let temporary = PathBuf::from(temporary);
    if disk.exists(&temporary).map_err(SegmentError::io("look for", &temporary))? {
        disk.remove(&temporary).map_err(SegmentError::io("remove", &temporary))?;
    }
    let file = disk.open(&temporary, OpenMode::Create).map_err(SegmentError::io("create", &temporary))?;
    file.allocate(header.bytes).map_err(SegmentError::io("reserve space for", &temporary))?;
    if !batches.is_empty() {
        file.write_at(batches, HEADER_BYTES as u64).map_err(SegmentError::io("write", &temporary))?;
    }
    // An earlier recovery may have failed before the name of its own tail was durable, which this segment follows.
    faults::sync_before_naming(|| disk.sync_dir(directory))
        .map_err(SegmentError::io("sync the directory", directory))?;
    install(disk, &*file, &temporary, directory, header, &mut vec![0; HEADER_BYTES])
}

fn publish(disk: &dyn Disk, from: &Path, directory: &Path, header: &SegmentHeader) -> Result<PathBuf, SegmentError> {
    let path = segment_path(directory, header.log.generation(), header.sequence);
    disk.rename(from, &path).map_err(SegmentError::io("rename a prepared file to", &path))?;
    faults::sync_name(|| disk.sync_dir(directory)).map_err(SegmentError::io("sync the directory", directory))?;
    Ok(path)
}

/// A segment that was opened for reading.
#[derive(Clone)]
pub struct Segment {
    /// The file's path.
    pub path: PathBuf,
    /// Its header.
    pub header: SegmentHeader,
    /// The file.
    pub file: Arc<dyn File>,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment").field("path", &self.path).field("header", &self.header).finish_non_exhaustive()
    }
}

impl Segment {
    /// Opens the segment `sequence` of `log` in `directory` and checks its header and its length.
    pub fn open(disk: &dyn Disk, directory: &Path, log: &LogIdentity, sequence: u64) -> Result<Segment, SegmentError> {
        let path = segment_path(directory, log.generation(), sequence);
        let (header, file) = read_header(disk, &path)?;
        header.expect(log, sequence).map_err(|source| SegmentError::Header { path: path.clone(), source })?;
        let found = file.len().map_err(SegmentError::io("measure", &path))?;
        if found < header.bytes {
            return Err(SegmentError::Short { path, found, expected: header.bytes });
        }
        Ok(Segment { path, header, file })
    }
}

/// Whose file one with a name of ours is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Its header says so.
    Log(DatabaseId, StreamId),
    /// Without an owner: it has no header and no room for one, or none yet.
    Nobody,
    /// It has a name of ours and bytes that are not.
    Unknown,
}

impl Owner {
    /// Whether the file may be renamed, cut or removed in the directory of a stream of `database`.
    pub(crate) fn may_go(&self, database: DatabaseId, directory: &Path) -> bool {
        let is_ours = match self {
            Owner::Log(of, stream) => *of == database && directory.ends_with(stream_directory(Path::new(""), *stream)),
            Owner::Nobody => true,
            Owner::Unknown => false,
        };
        faults::may_go(is_ours)
    }
}

/// Says whose file `path` is, which is named `name`.
pub(crate) fn owner(disk: &dyn Disk, path: &Path, name: Option<FileName>) -> io::Result<Owner> {
    let file = disk.open(path, OpenMode::Read)?;
    let mut block = vec![0; HEADER_BYTES];
    let read = file.read_at(&mut block, 0)?;
    let is_named = |header: &SegmentHeader| match name {
        Some(FileName::Segment { generation, sequence }) => {
            (header.log.generation(), header.sequence) == (generation, sequence)
        }
        _ => true,
    };
    Ok(match SegmentHeader::decode(&block[..read]) {
        Ok(header) if is_named(&header) => Owner::Log(header.log.database(), header.log.stream()),
        Err(HeaderError::Blank | HeaderError::Truncated { .. }) => Owner::Nobody,
        // The header of a file that is being created is written last, and may be torn.
        Err(_) if name == Some(FileName::Temporary) => Owner::Nobody,
        _ => Owner::Unknown,
    })
}

/// Opens any file as a segment and reads its header, whatever log it belongs to.
pub fn read_header(disk: &dyn Disk, path: &Path) -> Result<(SegmentHeader, Arc<dyn File>), SegmentError> {
    let file = disk.open(path, OpenMode::Read).map_err(SegmentError::io("open", path))?;
    let mut block = vec![0; HEADER_BYTES];
    let read = file.read_at(&mut block, 0).map_err(SegmentError::io("read", path))?;
    let result = if read == 0 { Err(HeaderError::Blank) } else { SegmentHeader::decode(&block[..read]) };
    let header = result.map_err(|source| SegmentError::Header { path: path.to_owned(), source })?;
    Ok((header, file))
}

#[cfg(test)]
#[path = "segment_tests.rs"]
mod tests;
