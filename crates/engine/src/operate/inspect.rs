//! What a log holds, for people: prints and checks the files of a database without opening it.
//!
//! Invariants:
//! - Nothing is written.
//! - [`dump`] prints whatever can be read, also behind damage, and says where and why it stops; [`verify`] is recovery's own
//!   judgement. Where a dump that reads batches finds no damage, that judgement is asked, too: the two agree.
//! - Each line that tells of damage begins with `!` and is counted.
//!
//! The database is locked meanwhile: a log that grows looks torn.

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use crate::call::{Procedures, Replayer};
use crate::checkpoint::files;
use crate::checkpoint::loader::{PartReader, Totals};
use crate::config::{Config, Logged, Protocol};
use crate::directory;
use crate::directory::manifest::{CheckpointEntry, FrozenGeneration, Layout, Manifest};
use crate::error::{Error, RecoveryError};
use crate::ids::{LogOffset, Stamp};
use crate::io::BLOCK_BYTES;
use crate::log::format::batch::{BatchHeader, Certificate, header_bytes};
use crate::log::format::part::PartHeader;
use crate::log::format::payload::delta::Delta;
use crate::log::format::payload::in_parts::InParts;
use crate::log::format::payload::physiological::{Before, ImagedWrite};
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::log::format::payload::{PayloadKind, PayloadReader};
use crate::log::format::record::{Entry, RecordReader};
use crate::log::format::records::Records;
use crate::log::format::segment::Segment;
use crate::log::protocol::recovery_rule::{RecoveryRule, with_rule};
use crate::operate::salvage::{Unnamed, next_batch};
use crate::recovery::chain::{Chain, Limit};
use crate::recovery::names::Names;
use crate::recovery::one;
use crate::recovery::verify::verify_locked;
pub use crate::recovery::verify::{GenerationReport, StreamReport, VerifyReport, verify};
pub use crate::recovery::{ReplayedTransaction, RowChange};
use crate::units::count;

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

/// Prints the database in the configured directories to `out`. Returns how many places were found damaged; what is not printed
/// is not read.
///
/// # Errors
/// Where there is no readable manifest, another process has the database open, or `out` fails. What is wrong with a log is
/// printed.
pub fn dump(config: &Config, detail: Detail, out: &mut dyn Write) -> Result<u64, RecoveryError> {
    let home = config.dirs[0].as_path();
    let _locks = directory::lock_to_read(config)?;
    let found = directory::find_damaged(config)?;
    let (manifest, missing) = found.ok_or_else(|| RecoveryError::NoDatabase { path: home.to_owned() })?;
    let unnamed = Unnamed::find(config, &manifest)?;
    let names = names(config, &manifest, detail);
    let mut dump = Dump { config, manifest: &manifest, home, unnamed, names, detail, out, damages: 0 };
    let unfinished = directory::refuse_unfinished(config).err().map(|error| error.to_string());
    let printed = dump.run(&unfinished.into_iter().chain(missing).collect::<Vec<_>>());
    printed.map_err(|source| RecoveryError::Io { action: "write", path: "the output".into(), source })?;
    Ok(dump.damages)
}

/// Returns what the ids of commands mean, where some are printed.
fn names(config: &Config, manifest: &Manifest, detail: Detail) -> Option<Names> {
    let logs_commands = manifest.layouts().any(|layout| layout.logged == Logged::Commands);
    let names = (logs_commands && detail >= Detail::Records).then(|| Names::of(config, manifest));
    // Without names there are ids.
    names.and_then(Result::ok)
}

/// Runs the transaction of the database in the configured directories that has a stamp again, upon the state just before it, and
/// returns what it does; with `is_traced` what each statement of a declared procedure does, too. Functions that are procedures
/// are among `procedures`. Nothing is written. Two transactions without a conflict may have one stamp.
///
/// Where protocol `poplar`, `plover` or `silo` wrote the log there is no such state, and the rows are those that the log holds.
///
/// # Errors
/// [`RecoveryError::NoReplay`] where there is no such transaction, it does not count, or a checkpoint holds it. What a recovery
/// up to there would fail with. [`DirectoryError`](crate::DirectoryError) where another process has the database open.
pub fn replay(
    config: &Config,
    procedures: Procedures,
    stamp: Stamp,
    is_traced: bool,
) -> Result<Vec<ReplayedTransaction>, Error> {
    one::show(config, &mut Replayer::new(Arc::new(procedures)), stamp, is_traced)
}

/// By which protocol a generation was written, and what the manifest says of its end.
#[derive(Clone, Copy)]
struct Written<'m> {
    protocol: Protocol,
    frozen: Option<&'m FrozenGeneration>,
}

struct Dump<'d> {
    config: &'d Config,
    manifest: &'d Manifest,
    home: &'d Path,
    unnamed: Unnamed,
    /// Of procedures and their parameters, where they are printed.
    names: Option<Names>,
    detail: Detail,
    out: &'d mut dyn Write,
    damages: u64,
}

impl Dump<'_> {
    fn damage(&mut self, indent: usize, what: impl fmt::Display) -> io::Result<()> {
        self.damages += 1;
        writeln!(self.out, "{:indent$}! {what}", "")
    }

    fn run(&mut self, missing: &[String]) -> io::Result<()> {
        let manifest = self.manifest;
        writeln!(self.out, "database {:032x} in {}", manifest.database.0, self.home.display())?;
        for (index, entry) in (0..).zip(&manifest.directories) {
            let path = manifest.directory(self.home, index);
            let (path, state) = match (entry.is_retired, self.unnamed.last(&path)) {
                (true, last) => (last.map_or(path, |(last, _)| last), ", left out"),
                (false, Some((last, _))) => (last, ", not among those named"),
                (false, None) => (path, ""),
            };
            writeln!(self.out, "  directory {index}: {}{state}", path.display())?;
        }
        missing.iter().try_for_each(|missing| self.damage(2, missing))?;
        for checkpoint in &manifest.checkpoints {
            let CheckpointEntry { number, kind, boundary, max_seen, rows, parts, .. } = checkpoint;
            let parts = parts.len();
            writeln!(
                self.out,
                "  checkpoint {number}: {kind:?} up to {boundary}, greatest stamp {max_seen}, {} in {}",
                count(*rows, "row"),
                count(parts as u64, "part")
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
        if self.damages > 0 || self.detail < Detail::Batches {
            return Ok(());
        }
        verify_locked(self.config).map_or_else(|error| self.damage(2, error), |_| Ok(()))
    }

    /// The parts of a checkpoint; what they hold is read where batches are.
    fn parts(&mut self, checkpoint: &CheckpointEntry) -> io::Result<()> {
        for (path, part, length) in files::parts_of(self.home, self.manifest, checkpoint) {
            let unnamed = self.unnamed.last(&path);
            let shown = unnamed.as_ref().map_or(&path, |(last, _)| last);
            writeln!(self.out, "    part {}: {length} bytes, {}", part.part, shown.display())?;
            if unnamed.is_none() && self.detail >= Detail::Batches {
                match PartReader::read_all(&*self.config.environment.disk, path, part, length) {
                    Ok(Totals { rows, blocks, .. }) => {
                        writeln!(self.out, "      {} in {}", count(rows, "row"), count(blocks, "block"))?
                    }
                    Err(error) => self.damage(6, error)?,
                }
            }
        }
        Ok(())
    }

    fn layout(&mut self, state: &str, layout: &Layout) -> io::Result<()> {
        let Layout { generation, protocol, logged, floor, epoch_floor, streams, .. } = layout;
        let streams = count(streams.len() as u64, "stream");
        let logs = match logged {
            Logged::Values => "values",
            Logged::Commands | Logged::Adaptive => "commands",
            Logged::Physiological => "physiological",
        };
        writeln!(
            self.out,
            "{state} generation {generation}: {protocol}, {logs}, {streams}, floor {floor}, epoch floor {epoch_floor}"
        )
    }

    /// Each stream as far as its segments are there.
    fn streams(&mut self, layout: &Layout, frozen: Option<&FrozenGeneration>) -> io::Result<()> {
        let disk = &*self.config.environment.disk;
        for stream in 0..layout.streams.len() {
            let (chain, broken) = Chain::find(disk, self.home, self.manifest, layout, frozen, stream);
            match self.unnamed.last(&chain.directory) {
                // It is missing, which the list of directories says.
                Some((last, _)) => writeln!(self.out, "  stream {stream} was in {}", last.display())?,
                None => {
                    self.chain(&chain, Written { protocol: layout.protocol, frozen })?;
                    broken.map_or(Ok(()), |error| self.damage(4, error))?;
                }
            }
        }
        Ok(())
    }

    fn chain(&mut self, chain: &Chain, written: Written<'_>) -> io::Result<()> {
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
                self.segment(chain, segment, chain.limit(place), written)?;
            }
        }
        Ok(())
    }

    /// The batches of a segment, also those behind damage.
    fn segment(&mut self, chain: &Chain, segment: &Segment, limit: Limit, written: Written<'_>) -> io::Result<()> {
        let mut offset = segment.header.base;
        // Where later segments are missing it is the last one, and the generation ends beyond it.
        let end = limit.end.min(segment.header.capacity_end());
        while offset < end {
            let Unsound { what, is_damage } =
                match self.batch(chain, segment, (offset, Limit { end, ..limit }), written)? {
                    Ok(next) => {
                        offset = next;
                        continue;
                    }
                    Err(unsound) => unsound,
                };
            match next_batch(segment, LogOffset(offset.0 + BLOCK_BYTES as u64), end) {
                Ok(Some(next)) => {
                    let what = format_args!("at {offset}: {what}, although a sound batch follows at log offset {next}");
                    self.damage(6, what)?;
                    offset = next;
                }
                Ok(None) if is_damage => return self.damage(6, format_args!("at {offset}: {what}")),
                Ok(None) => return writeln!(self.out, "      the log ends at {offset}: {what}"),
                Err(error) => return self.damage(6, error),
            }
        }
        Ok(())
    }

    /// The batch at `offset`; returns where it ends, or what is wrong with it.
    fn batch(
        &mut self,
        chain: &Chain,
        segment: &Segment,
        (offset, limit): (LogOffset, Limit),
        written: Written<'_>,
    ) -> io::Result<Result<LogOffset, Unsound>> {
        let mut bytes = Vec::new();
        let head = BLOCK_BYTES.max(header_bytes(chain.log.streams()));
        if let Err(error) = read(segment, offset, head, &mut bytes) {
            return Ok(Err(Unsound::unreadable(segment, &error)));
        }
        let (header, certificates) = match BatchHeader::decode(&bytes, &chain.log, offset) {
            Ok((header, certificates)) => (header, certificates.collect::<Vec<_>>()),
            Err(error) => return Ok(Err(Unsound { what: error.to_string(), is_damage: limit.exact })),
        };
        let BatchHeader { length, record_bytes, stamp, csn, .. } = header;
        if header.end() > limit.end {
            let what = format!("a batch of {length} bytes reaches beyond {}", limit.end);
            return Ok(Err(Unsound { what, is_damage: true }));
        }
        write!(self.out, "      batch {offset}: {length} bytes, {record_bytes} used, stamp {stamp}, csn {csn}")?;
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
                return Ok(Err(Unsound::unreadable(segment, &error)));
            }
            let is_exact = || limit.exact || !matches!(next_batch(segment, header.end(), limit.end), Ok(None));
            let Written { protocol, frozen } = written;
            with_rule!(protocol, Rule => self.records::<Rule>(chain, offset, &bytes, frozen, is_exact))?;
        }
        Ok(Ok(header.end()))
    }

    /// The records of the batch at `batch`; `is_exact` says whether that was durable.
    fn records<R: RecoveryRule>(
        &mut self,
        chain: &Chain,
        batch: LogOffset,
        bytes: &[u8],
        frozen: Option<&FrozenGeneration>,
        is_exact: impl FnOnce() -> bool,
    ) -> io::Result<()> {
        for (offset, entry) in Records::<R::Dependency>::new(&chain.log, batch, bytes) {
            match entry {
                Ok(Entry::Record(record)) => self.record::<R>(offset, &record, frozen)?,
                Ok(Entry::Part(part)) => {
                    let PartHeader { stamp, first, position, bytes, .. } = part.header();
                    let of =
                        format_args!("{bytes} bytes from byte {position} of the transaction in parts from {first}");
                    writeln!(self.out, "        {offset}: stamp {stamp}, part: {of}")?;
                }
                Ok(Entry::Skip(length)) => writeln!(self.out, "        {offset}: skip of {length} bytes")?,
                // The last batch of a stream that crashed may be torn.
                Err(error) if !is_exact() => return writeln!(self.out, "        the log ends at {offset}: {error}"),
                Err(error) => return self.damage(8, format_args!("at {offset}: {error}")),
            }
        }
        Ok(())
    }

    fn record<R: RecoveryRule>(
        &mut self,
        offset: LogOffset,
        record: &RecordReader<'_, R::Dependency>,
        frozen: Option<&FrozenGeneration>,
    ) -> io::Result<()> {
        let order = record.header();
        let lives = |frozen| R::lives(order.stamp, &order.raw_dep, &R::frozen(frozen));
        let fate = match frozen {
            Some(frozen) if !lives(frozen) => ", beyond the cut",
            Some(frozen) if order.epoch > frozen.until => ", given up",
            _ => "",
        };
        writeln!(
            self.out,
            "        {offset}: stamp {}, raw_dep {}, epoch {}, {}{fate}",
            order.stamp,
            order.raw_dep,
            order.epoch,
            match record.kind() {
                PayloadKind::Command => count(order.write_count, "argument"),
                PayloadKind::Values
                | PayloadKind::InParts
                | PayloadKind::Physiological
                | PayloadKind::PhysiologicalInParts
                | PayloadKind::Share
                | PayloadKind::PhysiologicalShare => count(order.write_count, "write"),
            }
        )?;
        if let Some(participants) = record.participants() {
            let streams: Vec<String> = participants.iter().map(|stream| stream.to_string()).collect();
            writeln!(self.out, "          a share of a transaction in streams {}", streams.join(", "))?;
        }
        let writes = match record.payload() {
            PayloadReader::Values(writes) => writes,
            PayloadReader::InParts(InParts { first, last, bytes, parts, .. }) => {
                let parts = count(parts, "part");
                return writeln!(self.out, "          {bytes} bytes in {parts} from {first} to {last}");
            }
            PayloadReader::Command(command) => {
                let command = command.command();
                let call = self.names.as_ref().map_or_else(|| command.to_string(), |names| names.call(&command));
                return writeln!(self.out, "          {call}");
            }
            PayloadReader::Physiological(mut images) => {
                return images.try_for_each(|ImagedWrite { write, before }| self.write(write, before));
            }
        };
        let mut writes = writes;
        writes.try_for_each(|write| self.write(write, Before::NotLogged))
    }

    /// What became of a row, and what it was before where that is logged.
    fn write(&mut self, write: LoggedWrite<'_>, before: Before<'_>) -> io::Result<()> {
        let name = self.names.as_ref().and_then(|names| names.table(write.table));
        let name = name.map_or_else(String::new, |table| format!(" `{}`", table.name));
        let (table, key) = (format!("{}{name}", write.table.0), Bytes(write.key));
        match write.change {
            Change::Put(row) => write!(self.out, "          put table {table} key {key}: {} bytes", row.len())?,
            Change::Delete => write!(self.out, "          delete table {table} key {key}")?,
            Change::Delta(Delta { base, body }) => {
                write!(self.out, "          change table {table} key {key}: {} bytes against {base}", body.len())?
            }
        }
        match before {
            Before::NotLogged => writeln!(self.out),
            Before::Absent => writeln!(self.out, "; before: no row"),
            Before::Image(row) => writeln!(self.out, "; before: {} bytes, {}", row.len(), Bytes(row)),
            Before::Ranges(body) => writeln!(self.out, "; before: {} bytes of ranges, {}", body.len(), Bytes(body)),
        }
    }
}

/// Why the bytes at an offset are no batch.
struct Unsound {
    what: String,
    /// Whether it is damage even if nothing follows.
    is_damage: bool,
}

impl Unsound {
    fn unreadable(segment: &Segment, error: &io::Error) -> Unsound {
        Unsound { what: format!("{}: {error}", segment.path.display()), is_damage: true }
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
