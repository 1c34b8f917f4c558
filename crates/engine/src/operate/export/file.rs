//! A file of lines, written from front to back and read back.
//!
//! Invariants:
//! - Memory is bounded: by a piece when it is written, by a piece and the longest line when it is read.
//! - Who reads to the end has read the bytes that were written: their number and their checksum are those of the list.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::manifest::{Contents, ListedFile, checksum_text};
use crate::error::ExportError;
use crate::io::{Disk, File, OpenMode};

/// So much is written or read at a time.
const PIECE_BYTES: usize = 1 << 20;
/// No row that a database takes has a longer line: the text of a byte takes six at most.
const LINE_BYTES_MAX: usize = 1 << 29;

/// A file that is being written.
pub(super) struct LineWriter {
    name: String,
    path: PathBuf,
    file: Arc<dyn File>,
    buffer: Vec<u8>,
    written: u64,
    digest: crc_fast::Digest,
}

impl LineWriter {
    /// Creates the file.
    pub(super) fn create(disk: &dyn Disk, dir: &Path, name: String) -> Result<LineWriter, ExportError> {
        let path = dir.join(&name);
        let file = disk.open(&path, OpenMode::Create).map_err(ExportError::io("create", &path))?;
        let buffer = Vec::with_capacity(PIECE_BYTES);
        Ok(LineWriter { name, path, file, buffer, written: 0, digest: digest() })
    }

    /// Adds a line, which `fill` appends without its end.
    pub(super) fn line(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> Result<(), ExportError> {
        let begin = self.buffer.len();
        fill(&mut self.buffer);
        debug_assert!(!self.buffer[begin..].contains(&b'\n'), "a line has one end");
        self.buffer.push(b'\n');
        if self.buffer.len() >= PIECE_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        self.file.write_at(&self.buffer, self.written).map_err(ExportError::io("write", &self.path))?;
        self.digest.update(&self.buffer);
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Makes the file durable, and lists it.
    pub(super) fn finish(mut self, holds: Contents, rows: u64) -> Result<ListedFile, ExportError> {
        self.flush()?;
        self.file.sync().map_err(ExportError::io("sync", &self.path))?;
        let crc32c = checksum_text(self.digest.finalize() as u32);
        Ok(ListedFile { name: self.name, holds, rows, bytes: self.written, crc32c })
    }
}

fn digest() -> crc_fast::Digest {
    crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi)
}

/// A file that is being read.
pub(super) struct LineReader<'l> {
    path: PathBuf,
    file: Arc<dyn File>,
    listed: &'l ListedFile,
    buffer: Vec<u8>,
    /// Where the next line begins.
    begin: usize,
    /// Read so far.
    read: u64,
    /// Lines given so far.
    line: u64,
    digest: crc_fast::Digest,
}

impl<'l> LineReader<'l> {
    /// Opens the file, which is as long as it was listed.
    pub(super) fn open(disk: &dyn Disk, dir: &Path, listed: &'l ListedFile) -> Result<LineReader<'l>, ExportError> {
        let path = dir.join(&listed.name);
        if !disk.exists(&path).map_err(ExportError::io("look for", &path))? {
            return Err(ExportError::Missing { path });
        }
        let file = disk.open(&path, OpenMode::Read).map_err(ExportError::io("open", &path))?;
        let length = file.len().map_err(ExportError::io("measure", &path))?;
        if length != listed.bytes {
            let what = format!("it has {length} bytes, and had {}", listed.bytes);
            return Err(ExportError::Damaged { path, what });
        }
        let (buffer, begin, read, line) = (Vec::new(), 0, 0, 0);
        Ok(LineReader { path, file, listed, buffer, begin, read, line, digest: digest() })
    }

    /// Takes the next line; `None` behind the last one, where the checksum was found to fit.
    pub(super) fn next(&mut self) -> Result<Option<&str>, ExportError> {
        let mut searched = self.begin;
        let end = loop {
            if let Some(at) = self.buffer[searched..].iter().position(|byte| *byte == b'\n') {
                break searched + at;
            }
            searched = self.buffer.len() - self.begin;
            if !self.read_on()? {
                return self.end();
            }
        };
        let line = self.begin..end;
        self.begin = end + 1;
        self.line += 1;
        match std::str::from_utf8(&self.buffer[line]) {
            Ok(line) => Ok(Some(line)),
            Err(_) => Err(damaged_line(&self.path, self.line, "it is not UTF-8".to_owned())),
        }
    }

    /// Reads the next piece; `false` at the end of the file. What is left of the last piece moves to the front.
    fn read_on(&mut self) -> Result<bool, ExportError> {
        self.buffer.drain(..self.begin);
        self.begin = 0;
        let wanted = (self.listed.bytes - self.read).min(PIECE_BYTES as u64) as usize;
        if wanted == 0 {
            return Ok(false);
        }
        let kept = self.buffer.len();
        if kept > LINE_BYTES_MAX {
            return Err(damaged_line(&self.path, self.line + 1, "it is longer than any row".to_owned()));
        }
        self.buffer.resize(kept + wanted, 0);
        let read = self.file.read_at(&mut self.buffer[kept..], self.read);
        let read = read.map_err(ExportError::io("read", &self.path))?;
        if read == 0 {
            let what = format!("it ends after {} of {} bytes", self.read, self.listed.bytes);
            return Err(ExportError::Damaged { path: self.path.clone(), what });
        }
        self.buffer.truncate(kept + read);
        self.digest.update(&self.buffer[kept..]);
        self.read += read as u64;
        Ok(true)
    }

    fn end(&self) -> Result<Option<&str>, ExportError> {
        if !self.buffer.is_empty() {
            return Err(damaged_line(&self.path, self.line + 1, "it is cut short".to_owned()));
        }
        if checksum_text(self.digest.finalize() as u32) != self.listed.crc32c {
            let what = "its checksum does not fit".to_owned();
            return Err(ExportError::Damaged { path: self.path.clone(), what });
        }
        assert_eq!(self.read, self.listed.bytes, "a file is read to its end");
        Ok(None)
    }

    /// What is wrong with the line that was given last.
    pub(super) fn damaged(&self, what: String) -> ExportError {
        damaged_line(&self.path, self.line, what)
    }

    /// What is wrong with the file.
    pub(super) fn damaged_file(&self, what: String) -> ExportError {
        ExportError::Damaged { path: self.path.clone(), what }
    }
}

fn damaged_line(path: &Path, line: u64, what: String) -> ExportError {
    ExportError::DamagedLine { path: path.to_owned(), line, what }
}
