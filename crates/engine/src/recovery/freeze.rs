//! Makes durable what recovery decided, before anything is built on it.
//!
//! The order is the argument:
//! 1. Tails. After the death of a process the last batch of a stream may be in the page cache only. It is copied to a new
//!    segment, number n + 1 with the batch's offset as its base, under the rules of segments: header and batch synced
//!    before the file gets its name, the directory synced. A torn batch is copied as far as it is valid, with a header
//!    that says so. The old bytes stay; readers stop at the new base.
//! 2. The directories of the next generation's streams, and the identities of all directories, with its incarnation.
//! 3. The manifest: the generation is frozen {cut, ends, greatest stamp}, the next one is current.
//! 4. The names that an earlier life gave to files are made durable. Of two renames of one file a power failure could keep the
//!    second alone; the file would have two names, and be used under both.
//! 5. Only now files that no generation needs any more are removed, or renamed to be used again, each of them only if its own
//!    header says that it is of this database, this stream and a generation that is superseded.
//!
//! A crash before 3 leaves the old manifest, and logs that read the same: the chain is one segment longer, its last batch
//! the copy. A crash after 3 leaves a frozen generation that reads to its frozen ends. A crash in 5 leaves files that
//! the next recovery removes.

use std::path::{Path, PathBuf};

use super::cut::{Tail, Verdict};
use super::faults;
use super::generation_scan::GenerationScan;
use super::log_scan::LogScan;
use crate::config::Config;
use crate::directory::manifest::{FrozenGeneration, Layout, Manifest, NEVER, StreamBegin};
use crate::error::RecoveryError;
use crate::ids::{Epoch, Generation, Incarnation, LogOffset};
use crate::io::{BLOCK_BYTES, Disk, OpenMode};
use crate::log::format::batch::{BatchHeader, header_bytes};
use crate::log::format::newest::{self, Newest};
use crate::log::format::segment::{self, FileName, HEADER_BYTES, SegmentHeader, prepared_path};

/// Writes the tails of the generation at `index` again; returns where each stream ends now.
pub(crate) fn persist_tails(
    disk: &dyn Disk,
    scan: &LogScan,
    index: usize,
    verdict: &Verdict,
) -> Result<Vec<LogOffset>, RecoveryError> {
    assert!(scan.generations[index].frozen.is_none(), "a frozen generation has durable tails");
    assert_eq!(verdict.streams.len(), scan.generations[index].streams.len(), "every stream was judged");
    let mut ends = Vec::with_capacity(verdict.streams.len());
    for stream in &verdict.streams {
        ends.push(match faults::tail(stream.tail.as_ref()) {
            Some(tail) => persist_tail(disk, scan, tail)?,
            None => stream.end,
        });
    }
    Ok(ends)
}

/// Writes one tail again; returns where its stream ends now.
fn persist_tail(disk: &dyn Disk, scan: &LogScan, tail: &Tail) -> Result<LogOffset, RecoveryError> {
    let chain = &scan.stream(tail.segment).chain;
    let original = tail.batch.header;
    let header = match &tail.torn {
        None => original,
        Some(torn) => BatchHeader {
            length: torn.record_bytes.next_multiple_of(BLOCK_BYTES as u64),
            record_bytes: torn.record_bytes,
            stamp: torn.stamp,
            ..original
        },
    };
    assert!(header.end() <= original.end() && header.stamp <= original.stamp, "{header:?} is more than {original:?}");
    assert!(header.stamp >= tail.batch.before, "{header:?} has lost what was durable before it");
    let mut bytes = vec![0; header.length as usize];
    scan.read_exactly(tail.segment, &mut bytes, original.offset)?;
    let read = BatchHeader::decode(&bytes, &chain.log, original.offset);
    let (read, certificates) = read.map_err(|error| scan.damaged(tail.segment, original.offset, error.to_string()))?;
    if read != original {
        return Err(scan.damaged(tail.segment, original.offset, "it changed while it was read".to_owned()));
    }
    let certificates: Vec<_> = certificates.collect();
    header.encode(&chain.log, &certificates, &mut bytes[..header_bytes(chain.log.streams())]);
    bytes[header.record_bytes as usize..].fill(0);
    let segment = SegmentHeader {
        log: chain.log,
        sequence: chain.next_sequence(),
        base: header.offset,
        floor: tail.batch.before,
        bytes: HEADER_BYTES as u64 + header.length,
    };
    assert_eq!(segment.capacity_end(), header.end(), "the tail fills its segment");
    segment::create(disk, &chain.directory, &segment, &bytes).map_err(RecoveryError::Write)?;
    let recorded = Newest::replace(disk, &chain.directory, chain.log, segment.sequence);
    recorded.map_err(RecoveryError::io("record the newest segment in", &newest::path(&chain.directory)))?;
    Ok(header.end())
}

/// Returns the manifest of the next generation: `crashed` is frozen, generations without a record are dropped, and nothing of
/// an epoch after `until` counts any more.
pub(crate) fn next_manifest(
    manifest: &Manifest,
    config: &Config,
    crashed: Option<(&GenerationScan, &Verdict, Vec<LogOffset>)>,
    is_empty: impl Fn(Generation) -> bool,
    until: Epoch,
) -> Manifest {
    let mut next = manifest.clone();
    if let Some((generation, verdict, ends)) = crashed {
        assert_eq!(generation.layout, manifest.current, "only the newest generation can crash");
        assert!(!manifest.is_closed(), "a generation that was closed is frozen");
        assert_eq!(ends.len(), generation.streams.len(), "every stream ends");
        let durable = verdict.streams.iter().map(|stream| stream.durable);
        let streams = manifest.frozen_streams(ends.into_iter().zip(durable));
        next.frozen.push(FrozenGeneration {
            layout: generation.layout.clone(),
            cut: verdict.cut,
            max_seen: verdict.max_seen,
            max_epoch: verdict.max_epoch,
            clean: false,
            until: NEVER,
            streams,
        });
    }
    let (floor, epoch_floor) = next.seen();
    let is_cut = |frozen: &&mut FrozenGeneration| faults::is_given_up(frozen.max_epoch > until);
    for frozen in next.frozen.iter_mut().filter(is_cut) {
        frozen.until = frozen.until.min(until);
    }
    next.frozen.retain(|frozen| !is_empty(frozen.layout.generation));
    let streams = next.place_streams(config.protocol, config.streams, &config.dirs);
    next.current = Layout {
        incarnation: Incarnation(fastrand::u64(1..)),
        generation: Generation(manifest.current.generation.0 + 1),
        protocol: config.protocol,
        logged: config.logged.on_disk(),
        floor,
        epoch_floor,
        streams,
    };
    next.begins = StreamBegin::of(&next.current);
    (next.records_newest, next.records_begin) = (true, true);
    let fits = |frozen: &FrozenGeneration| {
        frozen.layout.generation < next.current.generation && frozen.max_seen <= next.current.floor
    };
    assert!(next.frozen.iter().all(fits), "the next generation begins above {:?}", next.frozen);
    next
}

/// Makes segments that the manifest does not need any more into spare files of their streams, and removes those that have no
/// stream now and what crashed creations left over.
pub(crate) fn clear_superseded(
    disk: &dyn Disk,
    home: &Path,
    manifest: &Manifest,
    segment_bytes: u64,
) -> Result<(), RecoveryError> {
    let used = manifest.current_directories(home);
    for directory in stream_directories(disk, home, manifest)? {
        let is_needed = |generation, sequence| manifest.needs(home, &directory, generation, sequence);
        let files = disk.list(&directory).map_err(RecoveryError::io("list", &directory))?;
        let names: Vec<_> = files.iter().map(|path| FileName::parse(path)).collect();
        let spare =
            |name: &Option<FileName>| if let Some(FileName::Prepared(number)) = name { Some(number + 1) } else { None };
        let mut next_spare = names.iter().filter_map(spare).max().unwrap_or(0);
        let sync = || disk.sync_dir(&directory).map_err(RecoveryError::io("sync the directory", &directory));
        faults::sync_names(sync)?;
        let mut is_changed = false;
        for (path, name) in files.iter().zip(names) {
            let is_segment = match name {
                Some(FileName::Segment { generation, sequence }) if !is_needed(generation, sequence) => true,
                Some(FileName::Temporary) => false,
                // Nobody would use it.
                Some(FileName::Prepared(_)) if !used.contains(&directory) => false,
                _ => continue,
            };
            let owner = segment::owner(disk, path, name).map_err(RecoveryError::io("read the header of", path))?;
            if !owner.may_go(manifest.database, &directory) {
                continue;
            }
            let status = disk.status(path).map_err(RecoveryError::io("look at", path))?;
            let is_private = status.is_private() && file_len(disk, path)? == segment_bytes;
            if is_segment && used.contains(&directory) && is_private {
                let spare = prepared_path(&directory, next_spare);
                disk.rename(path, &spare).map_err(RecoveryError::io("rename", path))?;
                next_spare += 1;
            } else {
                disk.remove(path).map_err(RecoveryError::io("remove", path))?;
            }
            is_changed = true;
        }
        if is_changed {
            sync()?;
        }
    }
    Ok(())
}

/// Returns the length of a file in bytes.
fn file_len(disk: &dyn Disk, path: &Path) -> Result<u64, RecoveryError> {
    let file = disk.open(path, OpenMode::Read).map_err(RecoveryError::io("open", path))?;
    file.len().map_err(RecoveryError::io("measure", path))
}

/// Returns the directories of streams, of this and of earlier generations.
fn stream_directories(disk: &dyn Disk, home: &Path, manifest: &Manifest) -> Result<Vec<PathBuf>, RecoveryError> {
    let mut found = Vec::new();
    for directory in manifest.directories_in_use(home) {
        if disk.exists(&directory).map_err(RecoveryError::io("look for", &directory))? {
            let entries = disk.list(&directory).map_err(RecoveryError::io("list", &directory))?;
            found.extend(entries.into_iter().filter(|entry| segment::is_stream_directory(entry)));
        }
    }
    Ok(found)
}
