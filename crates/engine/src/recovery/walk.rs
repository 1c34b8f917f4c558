//! Goes through the records of a log that can be read, for people: whatever lies behind damage in its segment is left out, and
//! nothing is judged.
//!
//! Absent: recovery's own pass (first_pass.rs), which refuses damage.

use std::io;

use super::chain::{Chain, Limit};
use crate::config::Config;
use crate::directory::manifest::{FrozenGeneration, Layout, Manifest};
use crate::ids::{Epoch, LogOffset, Stamp};
use crate::io::BLOCK_BYTES;
use crate::log::format::LogIdentity;
use crate::log::format::batch::{BatchHeader, header_bytes};
use crate::log::format::parts_reader::{self, PartSource, RecordInParts};
use crate::log::format::payload::PayloadReader;
use crate::log::format::payload::values::LoggedWrite;
use crate::log::format::record::Entry;
use crate::log::format::records::Records;
use crate::log::format::segment::Segment;
use crate::log::protocol::recovery_rule::{RecoveryRule, with_rule};

/// A record on the way.
pub(crate) struct WalkedRecord<'w> {
    pub(crate) layout: &'w Layout,
    pub(crate) stamp: Stamp,
    pub(crate) epoch: Epoch,
    /// Why it does not count, where the manifest says so.
    pub(crate) given_up: Option<&'static str>,
    payload: PayloadReader<'w>,
    /// The number in its header, and where it is.
    writes: u32,
    offset: LogOffset,
    chain: &'w Chain,
}

impl WalkedRecord<'_> {
    /// Gives the rows that it logs to `each`, as far as they can be read.
    pub(crate) fn for_each_write(&self, mut each: impl FnMut(LoggedWrite<'_>)) {
        match &self.payload {
            PayloadReader::Values(writes) => writes.clone().for_each(each),
            PayloadReader::Physiological(images) => images.clone().writes().for_each(each),
            PayloadReader::InParts(named) => {
                let (offset, stamp, writes) = (self.offset, self.stamp, self.writes);
                let record = RecordInParts { offset, stamp, writes, named: *named };
                // What is unreadable is left out.
                let _ = parts_reader::for_each_write(&PartsOf(self.chain), &record, &mut each);
            }
            PayloadReader::Command(_) => {}
        }
    }
}

/// Gives every record of the log of `manifest` that can be read to `each`.
pub(crate) fn for_each_record(config: &Config, manifest: &Manifest, each: &mut dyn FnMut(&WalkedRecord<'_>)) {
    let frozen = manifest.frozen.iter().map(|frozen| (&frozen.layout, Some(frozen)));
    let current = (!manifest.is_closed()).then_some((&manifest.current, None));
    for (layout, frozen) in frozen.chain(current) {
        for stream in 0..layout.streams.len() {
            let (disk, home) = (&*config.environment.disk, &config.dirs[0]);
            let (chain, _) = Chain::find(disk, home, manifest, layout, frozen, stream);
            let walk = Walk { layout, frozen, chain: &chain };
            with_rule!(layout.protocol, Rule => walk.run::<Rule>(each));
        }
    }
}

/// The way through one stream.
struct Walk<'w> {
    layout: &'w Layout,
    frozen: Option<&'w FrozenGeneration>,
    chain: &'w Chain,
}

impl Walk<'_> {
    fn run<R: RecoveryRule>(&self, each: &mut dyn FnMut(&WalkedRecord<'_>)) {
        let mut bytes = Vec::new();
        for (place, segment) in self.chain.segments.iter().enumerate() {
            let Limit { end, .. } = self.chain.limit(place);
            let (mut offset, end) = (segment.header.base, end.min(segment.header.capacity_end()));
            while offset < end {
                match self.batch::<R>(segment, offset, &mut bytes, each) {
                    Some(next) if next <= end => offset = next,
                    _ => break,
                }
            }
        }
    }

    /// Gives the records of a batch to `each`; returns where it ends. `None`: it cannot be read.
    fn batch<R: RecoveryRule>(
        &self,
        segment: &Segment,
        offset: LogOffset,
        bytes: &mut Vec<u8>,
        each: &mut dyn FnMut(&WalkedRecord<'_>),
    ) -> Option<LogOffset> {
        let log = &self.chain.log;
        read(segment, offset, bytes, BLOCK_BYTES.max(header_bytes(log.streams()))).ok()?;
        let (header, _) = BatchHeader::decode(bytes, log, offset).ok()?;
        read(segment, offset, bytes, header.record_bytes as usize).ok()?;
        for (offset, entry) in Records::<R::Dependency>::new(log, offset, bytes) {
            let Ok(Entry::Record(record)) = entry else { continue };
            let order = record.header();
            let given_up = self.frozen.and_then(|frozen| match () {
                () if !R::lives(order.stamp, &order.raw_dep, &R::frozen(frozen)) => {
                    Some("it is beyond the cut of its generation: what it read may be lost, and nobody was told of it")
                }
                () if order.epoch > frozen.until => Some("it was given up when the database was taken back"),
                () => None,
            });
            each(&WalkedRecord {
                layout: self.layout,
                stamp: order.stamp,
                epoch: order.epoch,
                given_up,
                payload: record.payload(),
                writes: order.write_count,
                offset,
                chain: self.chain,
            });
        }
        Some(header.end())
    }
}

/// Reads `length` bytes at `offset` of the log.
fn read(segment: &Segment, offset: LogOffset, bytes: &mut Vec<u8>, length: usize) -> io::Result<()> {
    bytes.resize(length, 0);
    let read = segment.file.read_at(bytes, segment.header.position(offset))?;
    if read < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// The parts in a stream.
struct PartsOf<'c>(&'c Chain);

impl PartSource for PartsOf<'_> {
    type Error = io::Error;

    fn log(&self) -> &LogIdentity {
        &self.0.log
    }

    fn read(&self, offset: LogOffset, buffer: &mut [u8]) -> io::Result<()> {
        let behind = self.0.segments.partition_point(|segment| segment.header.base <= offset);
        let segment = behind.checked_sub(1).map(|index| &self.0.segments[index]);
        let segment = segment.ok_or(io::ErrorKind::UnexpectedEof)?;
        let read = segment.file.read_at(buffer, segment.header.position(offset))?;
        if read < buffer.len() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn damaged(&self, _offset: LogOffset, what: String) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, what)
    }
}
