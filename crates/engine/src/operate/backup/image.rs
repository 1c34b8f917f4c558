//! What a backup copies: the files of the newest checkpoint and the log behind it, each as far as it counts.
//!
//! Invariants:
//! - A backup continues the one before only without a gap: either no checkpoint was taken since, so that nothing was
//!   truncated, or the same life of the database goes on and still has the last segment of every stream that was copied.
//! - A backup of another copy of the database is neither continued nor replaced (past.rs).
//! - In a backup everything lies in one directory, under the names that it has in the database.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Source;
use super::faults;
use super::index::{self, Index, ListedFile};
use super::listed::Listed;
use crate::checkpoint::{files, loader};
use crate::config::Config;
use crate::directory::manifest::{DirectoryEntry, FrozenGeneration, Layout, Manifest};
use crate::error::{BackupError, Error, RecoveryError};
use crate::ids::{LogOffset, StreamId};
use crate::io::{BLOCK_BYTES, File};
use crate::log::format::batch::{BatchHeader, Certificate, header_bytes};
use crate::log::format::segment::{FIRST_OFFSET, FileName, HEADER_BYTES, Segment, stream_directory};
use crate::recovery::chain::Chain;
use crate::recovery::dry_run::{self, Judged};
use crate::sizes::copied_piece_bytes;

/// What is to be in a backup.
pub(super) struct Image {
    /// With everything in one directory.
    pub(super) manifest: Manifest,
    pub(super) pieces: Vec<Piece>,
    /// What is in the target already, and stays.
    pub(super) kept: Vec<ListedFile>,
    pub(super) continues: bool,
}

/// A file to copy.
pub(super) struct Piece {
    pub(super) source: PathBuf,
    pub(super) name: PathBuf,
    /// How many bytes count.
    pub(super) bytes: u64,
    pub(super) length: u64,
    /// How many of them are in the target already.
    pub(super) have: u64,
}

impl Image {
    /// Plans what of `source` is to be in `target`, beside what is there already: `done` by this backup, or by the one before.
    pub(super) fn plan(
        source: &Source<'_>,
        target: &Path,
        checkpoint: bool,
        done: &[ListedFile],
    ) -> Result<Image, Error> {
        let index = Index::load(source.disk, target)?;
        let before = match &index {
            Some(index) => {
                index.expect(target, &source.manifest)?;
                let before = index.manifest(target)?;
                Some((index, before))
            }
            None => None,
        };
        let goes_on = before.filter(|(index, before)| !checkpoint && continues(index, before, &source.manifest));
        let mut manifest = flat(&source.manifest);
        if let Some((_, before)) = &goes_on
            && !is_same_base(before, &manifest)
        {
            (manifest.checkpoints, manifest.begins) = (before.checkpoints.clone(), before.begins.clone());
            manifest.frozen = before.frozen.clone();
        }
        let mut pieces = log(source)?;
        let mut there: BTreeMap<PathBuf, ListedFile> = BTreeMap::new();
        match &goes_on {
            Some((index, _)) => there.extend(index.files.iter().map(|entry| (entry.name.clone(), entry.clone()))),
            None => pieces.extend(parts(source)),
        }
        there.extend(done.iter().map(|entry| (entry.name.clone(), entry.clone())));
        pieces.retain(|piece| there.get(&piece.name).is_none_or(|entry| entry.bytes != piece.bytes));
        for piece in &mut pieces {
            piece.have = there.remove(&piece.name).map_or(0, |entry| entry.bytes.min(piece.bytes));
        }
        assert!(pieces.iter().all(|piece| piece.have <= piece.bytes), "what is there already is a part of what counts");
        assert!(pieces.iter().all(|piece| !there.contains_key(&piece.name)), "a file is copied or kept");
        assert_eq!(manifest.directories.len(), 1, "a backup is one directory");
        Ok(Image { manifest, pieces, kept: there.into_values().collect(), continues: goes_on.is_some() })
    }

    /// Those that recovery looks for, also where nothing is in them.
    pub(super) fn directories(&self) -> impl Iterator<Item = PathBuf> {
        let layouts = self.manifest.frozen.iter().map(|frozen| &frozen.layout).chain([&self.manifest.current]);
        let streams = layouts.map(|layout| layout.streams.len()).max().unwrap_or(0);
        let streams = (0..streams).map(|stream| stream_directory(Path::new(""), StreamId(stream as u32)));
        streams.chain([PathBuf::from(index::CHECKPOINTS)])
    }
}

/// The same manifest for a database whose files all lie in its first directory.
fn flat(manifest: &Manifest) -> Manifest {
    let mut flat = manifest.clone();
    flat.directories = vec![DirectoryEntry { path: PathBuf::new(), is_retired: false }];
    // The records of the newest segments stay behind: a copy ends where its index says.
    (flat.records_newest, flat.records_begin) = (false, false);
    flat.current.streams.fill(0);
    flat.frozen.iter_mut().for_each(|frozen| frozen.layout.streams.fill(0));
    flat.checkpoints.iter_mut().flat_map(|entry| &mut entry.parts).for_each(|part| part.directory = 0);
    flat
}

pub(super) fn is_same_base(before: &Manifest, now: &Manifest) -> bool {
    newest(before) == newest(now)
}

pub(super) fn newest(manifest: &Manifest) -> Option<u64> {
    manifest.checkpoints.last().map(|entry| entry.number)
}

/// Whether nothing is missing between what was copied and what there is.
fn continues(index: &Index, before: &Manifest, now: &Manifest) -> bool {
    // What was given up by going back to an epoch is in the copy as if it counted.
    let untils = |manifest: &Manifest| manifest.frozen.iter().map(|frozen| frozen.until).min();
    if !now.layouts().any(|layout| layout.generation == before.current.generation) {
        return false;
    }
    if is_same_base(before, now) {
        return true;
    }
    // Without a log there is nothing that could lead from one checkpoint to the next.
    let is_logged = !now.current.streams.is_empty();
    let is_same_life = is_logged && before.current.generation == now.current.generation && !before.is_closed();
    let last: BTreeMap<&Path, u64> = index.files.iter().fold(BTreeMap::new(), |mut last, entry| {
        if let Some(FileName::Segment { generation, sequence }) = FileName::parse(&entry.name)
            && generation == before.current.generation
        {
            let directory = entry.name.parent().unwrap_or(Path::new(""));
            last.entry(directory).and_modify(|last| *last = sequence.max(*last)).or_insert(sequence);
        }
        last
    });
    let reaches = |(stream, begin): (usize, &crate::directory::manifest::StreamBegin)| {
        let directory = stream_directory(Path::new(""), StreamId(stream as u32));
        let copied = last.get(directory.as_path()).copied();
        faults::follows(begin.sequence <= copied.unwrap_or(before.begins[stream].sequence))
    };
    is_same_life && untils(before) == untils(now) && now.begins.iter().enumerate().all(reaches)
}

/// The files of the newest checkpoint.
fn parts(source: &Source<'_>) -> Vec<Piece> {
    let Some(entry) = source.manifest.checkpoints.last() else { return Vec::new() };
    let part = |(path, _, bytes): (PathBuf, _, u64)| {
        let name = Path::new(index::CHECKPOINTS).join(path.file_name().unwrap_or_default());
        Piece { source: path, name, bytes, length: bytes, have: 0 }
    };
    files::parts_of(source.home, &source.manifest, entry).into_iter().map(part).collect()
}

/// Returns the segments that recovery would read.
pub(super) fn log(source: &Source<'_>) -> Result<Vec<Piece>, Error> {
    let mut pieces = Vec::new();
    for frozen in &source.manifest.frozen {
        for chain in chains(source, &frozen.layout, Some(frozen))? {
            let end = chain.frozen_end.unwrap_or(FIRST_OFFSET);
            pieces.extend(segments(&chain, end));
        }
    }
    if !source.manifest.is_closed() {
        let chains = chains(source, &source.manifest.current, None)?;
        assert!(source.ends.as_ref().is_none_or(|ends| ends.len() == chains.len()), "an end for each stream");
        for (stream, chain) in chains.into_iter().enumerate() {
            let end = match &source.ends {
                Some(ends) => ends[stream],
                None => sound_end(&chain)?,
            };
            pieces.extend(segments(&chain, end));
        }
    }
    Ok(pieces)
}

pub(super) fn chains(
    source: &Source<'_>,
    layout: &Layout,
    frozen: Option<&FrozenGeneration>,
) -> Result<Vec<Chain>, RecoveryError> {
    Chain::find_all(source.disk, source.home, &source.manifest, layout, frozen)
}

/// The segments of a chain up to `end`.
fn segments(chain: &Chain, end: LogOffset) -> Vec<Piece> {
    let is_needed = |(at, segment): &(usize, &Segment)| *at == 0 || segment.header.base <= end;
    let piece = |(at, segment): (usize, &Segment)| {
        let header = &segment.header;
        let used = chain.limit(at).end.min(end).0.saturating_sub(header.base.0);
        let directory = stream_directory(Path::new(""), chain.log.stream());
        Piece {
            source: segment.path.clone(),
            name: directory.join(segment.path.file_name().unwrap_or_default()),
            bytes: HEADER_BYTES as u64 + used,
            length: header.bytes,
            have: 0,
        }
    };
    chain.segments.iter().enumerate().filter(is_needed).map(piece).collect()
}

/// Returns the end of the last batch with a sound header, in a log that is not being written.
fn sound_end(chain: &Chain) -> Result<LogOffset, RecoveryError> {
    let last = chain.segments.len().wrapping_sub(1);
    let Some(segment) = chain.segments.get(last) else { return Ok(FIRST_OFFSET) };
    walk(chain, segment.header.base, chain.limit(last).end, |_, _| ())
}

/// Hands the headers of the batches in `[from, to)` to `take`; returns where the last one ends.
pub(super) fn walk(
    chain: &Chain,
    from: LogOffset,
    to: LogOffset,
    mut take: impl FnMut(&BatchHeader, Vec<Certificate>),
) -> Result<LogOffset, RecoveryError> {
    let mut offset = from;
    let mut block = vec![0; BLOCK_BYTES.max(header_bytes(chain.log.streams()))];
    for (at, segment) in chain.segments.iter().enumerate() {
        let end = chain.limit(at).end.min(to);
        while segment.header.base <= offset && offset < end {
            let position = segment.header.position(offset);
            let read = segment.file.read_at(&mut block, position).map_err(RecoveryError::io("read", &segment.path))?;
            let Ok((header, certificates)) = BatchHeader::decode(&block[..read], &chain.log, offset) else {
                return Ok(offset);
            };
            if header.end() > end {
                return Ok(offset);
            }
            take(&header, certificates.collect());
            offset = header.end();
        }
    }
    Ok(offset)
}

/// A disk that shows of `target` only `files`, and the configuration of a database that lies there.
fn only(config: &Config, target: &Path, files: &[ListedFile]) -> Config {
    let mut of_target = config.clone();
    of_target.environment.disk = std::sync::Arc::new(Listed::new(config.environment.disk.clone(), target, files));
    (of_target.dirs, of_target.until, of_target.progress) = (vec![target.to_owned()], None, None);
    of_target
}

/// Reads the log of the image of `manifest` in `target`, which is `files`, as recovery would.
pub(super) fn judge_log(
    config: &Config,
    target: &Path,
    manifest: &Manifest,
    files: &[ListedFile],
) -> Result<Judged, RecoveryError> {
    dry_run::judge_image(&only(config, target, files), manifest)
}

/// As [`judge_log`], and every block of the checkpoint.
pub(super) fn judge(
    config: &Config,
    target: &Path,
    manifest: &Manifest,
    files: &[ListedFile],
) -> Result<Judged, Error> {
    let judged = judge_log(config, target, manifest, files)?;
    if let Some(entry) = manifest.checkpoints.last() {
        let of_target = only(config, target, files);
        loader::check(&*of_target.environment.disk, target, manifest, entry).map_err(std::sync::Arc::new)?;
    }
    Ok(judged)
}

/// Whether an error tells of damaged or missing files.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(error.sqlstate(), "XX001" | "58P01")
}

/// A damaged copy.
pub(super) fn damaged(path: &Path, what: impl Into<String>) -> BackupError {
    BackupError::Damaged { path: path.to_owned(), what: what.into() }
}

/// Hands the first `bytes` of a file to `take`, a piece at a time; returns their checksum.
pub(super) fn read(
    file: &dyn File,
    path: &Path,
    bytes: u64,
    mut take: impl FnMut(u64, &[u8]) -> Result<(), BackupError>,
) -> Result<u32, BackupError> {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    let mut buffer = vec![0; copied_piece_bytes().min(bytes as usize)];
    let mut offset = 0;
    while offset < bytes {
        let wanted = buffer.len().min((bytes - offset) as usize);
        let read = file.read_at(&mut buffer[..wanted], offset).map_err(BackupError::io("read", path))?;
        if read == 0 {
            return Err(damaged(path, format!("it ends after {offset} of {bytes} bytes")));
        }
        digest.update(&buffer[..read]);
        take(offset, &buffer[..read])?;
        offset += read as u64;
    }
    assert_eq!(offset, bytes, "as many bytes as were asked for");
    Ok(digest.finalize() as u32)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn what_could_not_be_read_is_not_damaged() {
        let error = |code| Error::from(RecoveryError::io("read", Path::new("/t"))(io::Error::from_raw_os_error(code)));
        let (eio, emfile, eacces) = (error(5), error(24), error(13));
        assert!([eio, emfile, eacces].iter().all(|error| !is_damage(error)));
        assert!(is_damage(&BackupError::Damaged { path: "/t".into(), what: String::new() }.into()));
    }
}
