//! Copies the files of an image into a backup, and reads back what it wrote.
//!
//! Invariant: what is returned is durable under its name, and reads as the source did.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Source;
use super::faults;
use super::image::{Image, Piece, damaged, read};
use super::index::ListedFile;
use crate::error::BackupError;
use crate::failpoint::{Point, yield_at};
use crate::io::{Disk, File, OpenMode};

/// Copies what is missing; returns all files of the backup, and how many bytes were copied.
pub(super) fn copy(source: &Source<'_>, target: &Path, image: &Image) -> Result<(Vec<ListedFile>, u64), BackupError> {
    let disk = source.disk;
    let (mut entries, mut copied) = (image.kept.clone(), 0);
    let directories: Vec<PathBuf> = image.directories().map(|directory| target.join(directory)).collect();
    for directory in &directories {
        disk.create_dir_all(directory).map_err(BackupError::io("create", directory))?;
    }
    for piece in &image.pieces {
        entries.push(copy_piece(disk, target, piece)?);
        copied += piece.bytes - piece.have;
    }
    let counted: u64 =
        image.kept.iter().map(|file| file.bytes).chain(image.pieces.iter().map(|piece| piece.bytes)).sum();
    assert_eq!(entries.iter().map(|file| file.bytes).sum::<u64>(), counted, "a backup is what was kept and copied");
    for directory in directories.iter().map(PathBuf::as_path).chain([target]) {
        let sync = || disk.sync_dir(directory).map_err(BackupError::io("sync the directory", directory));
        faults::sync_directory(sync)?;
    }
    Ok((entries, copied))
}

/// Fails where what stays in a backup is not what its index says: it could not be restored.
pub(super) fn verify(disk: &dyn Disk, target: &Path, kept: &[ListedFile]) -> Result<(), BackupError> {
    for entry in kept {
        let path = target.join(&entry.name);
        let file = match disk.open(&path, OpenMode::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(damaged(&path, "it is missing")),
            file => file.map_err(BackupError::io("open", &path))?,
        };
        if read(&*file, &path, entry.bytes, |_, _| Ok(()))? != entry.checksum {
            return Err(damaged(&path, "its checksum is not the one in the index"));
        }
    }
    Ok(())
}

fn copy_piece(disk: &dyn Disk, target: &Path, piece: &Piece) -> Result<ListedFile, BackupError> {
    assert!(
        piece.have <= piece.bytes && piece.bytes <= piece.length,
        "{} counts within its length",
        piece.name.display()
    );
    let path = target.join(&piece.name);
    let from = disk.open(&piece.source, OpenMode::Read).map_err(BackupError::io("open", &piece.source))?;
    let to = open_or_create(disk, &path)?;
    let mut end = piece.have;
    let checksum = read(&*from, &piece.source, piece.bytes, |offset, bytes| {
        let skipped = piece.have.saturating_sub(offset).min(bytes.len() as u64);
        let bytes = &bytes[skipped as usize..];
        if bytes.is_empty() {
            return Ok(());
        }
        assert_eq!(offset + skipped, end, "a copy goes on where it has come to");
        end += bytes.len() as u64;
        to.write_at(bytes, offset + skipped).map_err(BackupError::io("write", &path))
    })?;
    assert_eq!(end, piece.bytes, "a copy ends where what counts does");
    extend(&*to, &path, piece.length)?;
    faults::sync_file(|| to.sync().map_err(BackupError::io("sync", &path)))?;
    yield_at(Point::Copied);
    let back = disk.open(&path, OpenMode::Read).map_err(BackupError::io("open", &path))?;
    if read(&*back, &path, piece.bytes, |_, _| Ok(()))? != checksum {
        return Err(damaged(&path, "what was written to it does not read back"));
    }
    Ok(ListedFile { name: piece.name.clone(), bytes: piece.bytes, length: piece.length, checksum })
}

/// A file that may be there.
pub(super) fn open_or_create(disk: &dyn Disk, path: &Path) -> Result<Arc<dyn File>, BackupError> {
    let is_there = disk.exists(path).map_err(BackupError::io("look for", path))?;
    let mode = if is_there { OpenMode::Write } else { OpenMode::Create };
    disk.open(path, mode).map_err(BackupError::io("create", path))
}

/// Makes a file so long, without taking room for what is not written. It may seem to be so long already, and not be where a sync
/// has failed before: its last byte is written in any case.
pub(super) fn extend(file: &dyn File, path: &Path, length: u64) -> Result<(), BackupError> {
    let (last, mut byte) = (length.saturating_sub(1), [0]);
    file.read_at(&mut byte, last).map_err(BackupError::io("read", path))?;
    file.write_at(&byte, last).map_err(BackupError::io("extend", path))
}
