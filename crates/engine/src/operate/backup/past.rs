//! Whether a backup is of the past of the database that is to be backed up to the same place. What followed in another copy of
//! the database (one that was restored, say) is nowhere else, and files of both have the same names.
//!
//! What shows that it is not:
//! - Its generations or checkpoints have the numbers of others, or are newer than the database's.
//! - It has a file that the database has not, or one that began differently or goes on where the database's has ended. What one
//!   open writes to a stream of its generation is one sequence of bytes. So two segments of one generation and incarnation that
//!   have the same header are the same as far as both count, and only what counts in the backup alone has to be compared.
//! - It has a stamp or an epoch of an earlier generation above the floors of the database's next one (log-format.md, M4, M8).
//!
//! Absent: proof where a copy has given up the generations in question for its own checkpoint, and its floors have passed them.

use std::collections::BTreeMap;
use std::path::Path;

use super::Source;
use super::image::{self, Piece, is_same_base, log, newest, read};
use super::index::{Index, ListedFile};
use crate::config::{CheckpointKind, Config};
use crate::directory::manifest::{CheckpointEntry, Layout, Manifest};
use crate::error::{BackupError, Error};
use crate::ids::{Generation, Incarnation};
use crate::io::{Disk, OpenMode};
use crate::log::format::segment::{FileName, HEADER_BYTES, segment_path};

/// Fails where `target` has a backup that holds, or may hold, what `source` does not.
pub(super) fn expect(source: &Source<'_>, target: &Path) -> Result<(), Error> {
    let Some(index) = Index::load(source.disk, target)? else { return Ok(()) };
    let now = &source.manifest;
    index.expect(target, now)?;
    let before = index.manifest(target)?;
    let is_past = is_one_life(&before, now)
        && !is_ahead(&before, now)
        && checkpoint_fits(&before, now)
        && generation_fits(source.config, target, &index, &before, now)?
        && files_fit(source, target, &index, &log(source)?)?;
    if is_past { Ok(()) } else { Err(BackupError::OtherCopy { target: target.to_owned() }.into()) }
}

/// Whether files of one name are of one generation, as far as the manifests tell. A copy of the database that went its own way
/// has generations and checkpoints of the same numbers; what was restored from an older backup has fewer checkpoints.
fn is_one_life(before: &Manifest, now: &Manifest) -> bool {
    let is_one_generation =
        |layout: &Layout| find(now, layout.generation).is_none_or(|same| same.incarnation == layout.incarnation);
    let content = |entry: &CheckpointEntry| (entry.kind, entry.boundary, entry.taken_seconds, entry.rows);
    let is_one_checkpoint = |entry: &CheckpointEntry| {
        let same = now.checkpoints.iter().find(|other| other.number == entry.number);
        same.is_none_or(|same| content(same) == content(entry))
    };
    newest(before) <= newest(now)
        && before.layouts().all(is_one_generation)
        && before.checkpoints.iter().all(is_one_checkpoint)
}

/// Whether it was opened or closed since.
fn is_ahead(before: &Manifest, now: &Manifest) -> bool {
    let life = |manifest: &Manifest| (manifest.current.generation, manifest.is_closed());
    life(before) > life(now)
}

fn find(manifest: &Manifest, generation: Generation) -> Option<&Layout> {
    manifest.layouts().find(|layout| layout.generation == generation)
}

/// What began after the newest generation of a backup.
fn next<'m>(before: &Manifest, now: &'m Manifest) -> Option<&'m Layout> {
    now.layouts().find(|layout| layout.generation > before.current.generation)
}

/// Whether the checkpoint of a backup may have been there when the next generation began.
fn checkpoint_fits(before: &Manifest, now: &Manifest) -> bool {
    let (Some(entry), Some(next)) = (before.checkpoints.last(), next(before, now)) else { return true };
    let is_within = entry.kind == CheckpointKind::Fuzzy || entry.boundary <= next.epoch_floor.0;
    is_within && entry.max_seen <= next.floor
}

/// Whether the newest generation of a backup may have been there when the next one began, where only the floors of that tell.
fn generation_fits(
    config: &Config,
    target: &Path,
    index: &Index,
    before: &Manifest,
    now: &Manifest,
) -> Result<bool, Error> {
    let Some(next) = next(before, now).filter(|_| find(now, before.current.generation).is_none()) else {
        return Ok(true);
    };
    if before.current.floor > next.floor || before.current.epoch_floor > next.epoch_floor {
        return Ok(false);
    }
    let judged = match image::judge_log(config, target, before, &index.files).map_err(Error::from) {
        // A backup that is damaged tells nothing more.
        Err(error) if image::is_damage(&error) => return Ok(true),
        judged => judged?,
    };
    // The floors need not reach the epochs of what only a fuzzy checkpoint has made needless.
    let is_fuzzy = now.checkpoints.last().is_some_and(|entry| entry.kind == CheckpointKind::Fuzzy);
    let is_within = judged.max_epoch <= next.epoch_floor || (is_fuzzy && !is_same_base(before, now));
    Ok(judged.max_seen <= next.floor && is_within)
}

/// Whether the database has the segments of a backup, and all that counts in them.
fn files_fit(source: &Source<'_>, target: &Path, index: &Index, pieces: &[Piece]) -> Result<bool, BackupError> {
    let pieces: BTreeMap<&Path, &Piece> = pieces.iter().map(|piece| (piece.name.as_path(), piece)).collect();
    for entry in &index.files {
        let Some(FileName::Segment { generation, sequence }) = FileName::parse(&entry.name) else { continue };
        let Some(layout) = find(&source.manifest, generation) else { continue };
        let fits = match pieces.get(entry.name.as_path()) {
            Some(piece) => {
                let stream = entry.name.parent().unwrap_or(Path::new(""));
                let next = pieces.get(segment_path(stream, generation, sequence + 1).as_path()).copied();
                piece_fits(source.disk, target, entry, piece, layout.incarnation)?
                    || next.map_or(Ok(false), |next| is_tail(source.disk, target, entry, piece, next))?
            }
            // Given up for a checkpoint, or without a batch.
            None => {
                entry.bytes <= HEADER_BYTES as u64
                    || first_sequence(&source.manifest, generation, entry).is_some_and(|first| sequence < first)
            }
        };
        if !fits {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The first segment that the database needs of the stream of `entry`.
fn first_sequence(now: &Manifest, generation: Generation, entry: &ListedFile) -> Option<u64> {
    let stream: usize = entry.name.parent()?.to_str()?.strip_prefix("stream-")?.parse().ok()?;
    match now.frozen_generation(generation) {
        Some(frozen) => Some(frozen.streams.get(stream)?.first_sequence),
        None => Some(now.begins.get(stream)?.sequence),
    }
}

/// Whether a segment of the database begins with what counts of it in a backup.
fn piece_fits(
    disk: &dyn Disk,
    target: &Path,
    entry: &ListedFile,
    piece: &Piece,
    incarnation: Incarnation,
) -> Result<bool, BackupError> {
    let (path, header) = (target.join(&entry.name), HEADER_BYTES as u64);
    if checksum(disk, &path, header)? != checksum(disk, &piece.source, header)? {
        // What is damaged tells nothing, and is found where it is to stay.
        return Ok(checksum(disk, &path, entry.bytes)? != Some(entry.checksum));
    }
    // Versions that named no incarnation began generations that nothing tells apart.
    let is_known = entry.bytes <= piece.bytes && incarnation != Incarnation::NONE;
    // The bytes of a tail that recovery moved to the next segment stay where they are, but not in what is restored.
    Ok(is_known || checksum(disk, &piece.source, entry.bytes)? == Some(entry.checksum))
}

/// Whether what a backup has of a segment beyond the database's is the tail with which the database's `next` one begins.
fn is_tail(
    disk: &dyn Disk,
    target: &Path,
    entry: &ListedFile,
    piece: &Piece,
    next: &Piece,
) -> Result<bool, BackupError> {
    let header = HEADER_BYTES as u64;
    let Some(bytes) = entry.bytes.checked_sub(piece.bytes).filter(|bytes| header + bytes <= next.bytes) else {
        return Ok(false);
    };
    let path = target.join(&entry.name);
    let is_begun = checksum(disk, &path, piece.bytes)? == checksum(disk, &piece.source, piece.bytes)?;
    Ok(is_begun && bytes_at(disk, &path, piece.bytes, bytes)? == bytes_at(disk, &next.source, header, bytes)?)
}

fn bytes_at(disk: &dyn Disk, path: &Path, position: u64, bytes: u64) -> Result<Vec<u8>, BackupError> {
    let file = disk.open(path, OpenMode::Read).map_err(BackupError::io("open", path))?;
    let mut read = vec![0; usize::try_from(bytes).expect("a tail fits in memory")];
    let count = file.read_at(&mut read, position).map_err(BackupError::io("read", path))?;
    read.truncate(count);
    Ok(read)
}

/// The checksum of the first bytes of a file; `None` where it has fewer, or is not there.
fn checksum(disk: &dyn Disk, path: &Path, bytes: u64) -> Result<Option<u32>, BackupError> {
    if !disk.exists(path).map_err(BackupError::io("look for", path))? {
        return Ok(None);
    }
    let file = disk.open(path, OpenMode::Read).map_err(BackupError::io("open", path))?;
    if file.len().map_err(BackupError::io("measure", path))? < bytes {
        return Ok(None);
    }
    read(&*file, path, bytes, |_, _| Ok(())).map(Some)
}
