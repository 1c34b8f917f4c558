//! What a log holds, for people: prints and checks the files of a database without opening it.
//!
//! Invariants:
//! - Nothing is written.
//! - [`dump`] prints whatever can be read and says where and why it stops; [`verify`] is recovery's own judgement.
//!
//! The database must not be open meanwhile: a log that grows looks torn.

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::path::Path;

use crate::checkpoint::files;
use crate::checkpoint::loader::{PartReader, Totals};
use crate::config::Config;
use crate::ids::{LogOffset, Stamp, TableId};
use crate::io::BLOCK_BYTES;
use crate::log::batch::{BatchHeader, Certificate, header_bytes};
use crate::log::record::{self, Entry, RecordReader};
use crate::persist::manifest::{CheckpointEntry, FrozenGeneration, Layout, Manifest};
use crate::persist::segment::Segment;
use crate::recovery::RecoveryError;
use crate::recovery::chain::{Chain, Limit};
use crate::recovery::check::lives;
pub use crate::recovery::examine::{GenerationReport, StreamReport, VerifyReport, verify};

/// How much [`dump`] prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// The manifest and the segments.
    Segments,
    /// Each batch, too.
    Batches,
    /// Each transaction, too.
    #[default]
    Records,
}

/// Prints the database in the configured directories to `out`.
///
/// # Errors
/// Where there is no readable manifest, or `out` fails. What is wrong with a log is printed.
pub fn dump(config: &Config, detail: Detail, out: &mut dyn Write) -> Result<(), RecoveryError> {
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    let manifest = Manifest::load(disk, home, &config.dirs)?;
    let mut manifest = manifest.ok_or_else(|| RecoveryError::NoDatabase { path: home.to_owned() })?;
    manifest.relocate(disk, &config.dirs)?;
    let mut dump = Dump { config, manifest: &manifest, home, detail, out };
    dump.run().map_err(|source| RecoveryError::Io { action: "write", path: "the output".into(), source })
}

struct Dump<'d> {
    config: &'d Config,
    manifest: &'d Manifest,
    home: &'d Path,
    detail: Detail,
    out: &'d mut dyn Write,
}

impl Dump<'_> {
    fn run(&mut self) -> io::Result<()> {
        let manifest = self.manifest;
        writeln!(self.out, "database {:032x} in {}", manifest.database.0, self.home.display())?;
        for (index, directory) in manifest.directories.iter().enumerate() {
            writeln!(self.out, "  directory {index}: {}", self.home.join(directory).display())?;
        }
        for checkpoint in &manifest.checkpoints {
            let CheckpointEntry { number, kind, boundary, max_seen, rows, parts, .. } = checkpoint;
            let parts = parts.len();
            writeln!(
                self.out,
                "  checkpoint {number}: {kind:?} up to {boundary}, greatest stamp {max_seen}, {rows} rows in {parts} parts"
            )?;
            self.parts(checkpoint)?;
        }
        for frozen in &manifest.frozen {
            self.layout("frozen", &frozen.layout)?;
            let state = if frozen.clean { "closed" } else { "crashed" };
            let FrozenGeneration { cut, max_seen, max_epoch, .. } = frozen;
            writeln!(self.out, "  {state}: cut {cut}, greatest stamp {max_seen}, greatest epoch {max_epoch}")?;
            self.streams(&frozen.layout, Some(frozen))?;
        }
        if !manifest.is_closed() {
            self.layout("current", &manifest.current)?;
            self.streams(&manifest.current, None)?;
        }
        Ok(())
    }

    /// The parts of a checkpoint; what they hold is read where batches are.
    fn parts(&mut self, checkpoint: &CheckpointEntry) -> io::Result<()> {
        for (path, part, length) in files::parts_of(self.home, self.manifest, checkpoint) {
            writeln!(self.out, "    part {}: {length} bytes, {}", part.part, path.display())?;
            if self.detail >= Detail::Batches {
                match PartReader::read_all(&*self.config.environment.disk, path, part, length) {
                    Ok(Totals { rows, blocks, .. }) => writeln!(self.out, "      {rows} rows in {blocks} blocks")?,
                    Err(error) => writeln!(self.out, "      ! {error}")?,
                }
            }
        }
        Ok(())
    }

    fn layout(&mut self, state: &str, layout: &Layout) -> io::Result<()> {
        let Layout { generation, protocol, floor, epoch_floor, streams } = layout;
        let streams = streams.len();
        writeln!(
            self.out,
            "{state} generation {generation}: {protocol:?}, {streams} streams, floor {floor}, epoch floor {epoch_floor}"
        )
    }

    fn streams(&mut self, layout: &Layout, frozen: Option<&FrozenGeneration>) -> io::Result<()> {
        let disk = &*self.config.environment.disk;
        match Chain::find_all(disk, self.home, self.manifest, layout, frozen) {
            Ok(chains) => chains.iter().try_for_each(|chain| self.chain(chain, frozen.map(|frozen| frozen.cut))),
            Err(error) => writeln!(self.out, "  ! {error}"),
        }
    }

    fn chain(&mut self, chain: &Chain, cut: Option<Stamp>) -> io::Result<()> {
        writeln!(self.out, "  stream {} in {}", chain.log.stream(), chain.directory.display())?;
        for (place, segment) in chain.segments.iter().enumerate() {
            let header = &segment.header;
            writeln!(
                self.out,
                "    segment {}: base {}, floor {}, {} bytes, {}",
                header.sequence,
                header.base,
                header.floor,
                header.bytes,
                segment.path.display()
            )?;
            if self.detail >= Detail::Batches {
                self.segment(chain, segment, chain.limit(place), cut)?;
            }
        }
        Ok(())
    }

    fn segment(&mut self, chain: &Chain, segment: &Segment, limit: Limit, cut: Option<Stamp>) -> io::Result<()> {
        let mut offset = segment.header.base;
        let mut bytes = Vec::new();
        while offset < limit.end {
            let head = BLOCK_BYTES.max(header_bytes(chain.log.streams()));
            if let Err(error) = read(segment, offset, head, &mut bytes) {
                return writeln!(self.out, "      ! {}: {error}", segment.path.display());
            }
            let (header, certificates) = match BatchHeader::decode(&bytes, &chain.log, offset) {
                Ok((header, certificates)) => (header, certificates.collect::<Vec<_>>()),
                Err(error) if limit.exact => return writeln!(self.out, "      ! at {offset}: {error}"),
                Err(error) => return writeln!(self.out, "      the log ends at {offset}: {error}"),
            };
            let BatchHeader { length, record_bytes, stamp, stable, .. } = header;
            write!(
                self.out,
                "      batch {offset}: {length} bytes, {record_bytes} used, stamp {stamp}, stable {stable}"
            )?;
            for Certificate { stream, stamp, reach } in certificates {
                if stamp > Stamp::ZERO {
                    write!(self.out, ", certifies {stamp} at stream {stream}")?;
                }
                if reach > LogOffset(0) {
                    write!(self.out, ", stream {stream} reaches {reach}")?;
                }
            }
            writeln!(self.out)?;
            if self.detail >= Detail::Records {
                if let Err(error) = read(segment, offset, record_bytes as usize, &mut bytes) {
                    return writeln!(self.out, "      ! {}: {error}", segment.path.display());
                }
                self.records(chain, offset, &bytes, cut)?;
            }
            offset = header.end();
        }
        Ok(())
    }

    fn records(&mut self, chain: &Chain, batch: LogOffset, bytes: &[u8], cut: Option<Stamp>) -> io::Result<()> {
        let mut at = header_bytes(chain.log.streams());
        while at < bytes.len() {
            let offset = LogOffset(batch.0 + at as u64);
            match record::parse(&bytes[at..], chain.log.seal(offset)) {
                Ok(entry) => {
                    match &entry {
                        Entry::Record(record) => self.record(offset, record, cut)?,
                        Entry::Skip(length) => writeln!(self.out, "        {offset}: skip of {length} bytes")?,
                    }
                    at += entry.len();
                }
                Err(error) => return writeln!(self.out, "        ! at {offset}: {error}"),
            }
        }
        Ok(())
    }

    fn record(&mut self, offset: LogOffset, record: &RecordReader<'_>, cut: Option<Stamp>) -> io::Result<()> {
        let order = record.header();
        let fate = match cut {
            Some(cut) if !lives(&order, cut) => ", beyond the cut",
            _ => "",
        };
        writeln!(
            self.out,
            "        {offset}: stamp {}, raw_dep {}, epoch {}, {} writes{fate}",
            order.stamp, order.raw_dep, order.epoch, order.write_count
        )?;
        for write in record.writes() {
            let (TableId(table), key) = (write.table, Bytes(write.key));
            match write.row {
                Some(row) => writeln!(self.out, "          put table {table} key {key}: {} bytes", row.len())?,
                None => writeln!(self.out, "          delete table {table} key {key}")?,
            }
        }
        Ok(())
    }
}

/// Reads `length` bytes at `offset` of the log.
fn read(segment: &Segment, offset: LogOffset, length: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.resize(length, 0);
    let read = segment.file.read_at(bytes, segment.header.position(offset))?;
    if read < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// Bytes in hexadecimal, the long ones shortened.
struct Bytes<'a>(&'a [u8]);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 32;
        for byte in self.0.iter().take(SHOWN) {
            write!(f, "{byte:02x}")?;
        }
        if self.0.len() > SHOWN { f.write_char('…') } else { Ok(()) }
    }
}
