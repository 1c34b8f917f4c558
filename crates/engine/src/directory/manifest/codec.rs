//! The bytes of the manifest (docs/log-format.md, section 7).
//!
//! Invariant: what is decoded is what was encoded, or an error; every byte is covered by the checksum or compared.

use std::path::PathBuf;

use super::{
    CheckpointEntry, CheckpointPart, DirectoryEntry, FrozenGeneration, FrozenStream, Layout, Manifest, NEVER,
    StreamBegin,
};
use crate::config::{CheckpointKind, Logged, Protocol};
use crate::ids::{DatabaseId, Epoch, Generation, Incarnation, LogOffset, Stamp};
use crate::log::format::batch::STREAMS_MAX;
use crate::log::format::segment::FIRST_SEQUENCE;

const MAGIC: [u8; 8] = *b"OSIERMAN";
/// The format that this program writes.
pub(crate) const VERSION: u32 = 7;
/// The first format, which had no checkpoints.
const VERSION_1: u32 = 1;
/// The second one, which knew no epochs to go back to.
const VERSION_2: u32 = 2;
/// The third one, which knew neither incarnations nor the newest segments.
const VERSION_3: u32 = 3;
/// The fourth one, in which the streams of a generation did not record that it begins.
const VERSION_4: u32 = 4;
/// The fifth one, in which every generation logged values.
const VERSION_5: u32 = 5;
/// The sixth one, in which a frozen generation had one cut for all streams.
const VERSION_6: u32 = 6;
/// Whether the streams of the newest generation record their newest segments, and did so from its begin on.
const RECORDS_NEWEST: u8 = 1;
const RECORDS_BEGIN: u8 = 2;
/// More than any manifest: a limit on what is read into memory.
pub(super) const BYTES_MAX: u64 = 64 << 20;
const HEADER_BYTES: usize = 16;

/// Why bytes are no manifest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Error {
    Version(u32),
    Damaged(String),
}

/// Encodes the manifest; `Err` names a directory that has no UTF-8 name.
pub(crate) fn encode(manifest: &Manifest) -> Result<Vec<u8>, PathBuf> {
    let mut out = Vec::with_capacity(4096);
    out.extend(MAGIC);
    out.extend(VERSION.to_le_bytes());
    out.extend([0; 4]);
    out.extend(manifest.database.0.to_le_bytes());
    put_u32(&mut out, manifest.directories.len());
    for directory in &manifest.directories {
        let name = directory.path.to_str().ok_or_else(|| directory.path.clone())?;
        put_u32(&mut out, name.len());
        out.extend(name.as_bytes());
    }
    put_layout(&mut out, &manifest.current);
    put_u32(&mut out, manifest.frozen.len());
    for frozen in &manifest.frozen {
        put_layout(&mut out, &frozen.layout);
        out.extend(frozen.cut.0.to_le_bytes());
        out.extend(frozen.max_seen.0.to_le_bytes());
        out.extend(frozen.max_epoch.0.to_le_bytes());
        out.push(u8::from(frozen.clean));
        assert_eq!(frozen.streams.len(), frozen.layout.streams.len(), "an end for each stream");
        for stream in &frozen.streams {
            out.extend(stream.first_sequence.to_le_bytes());
            out.extend(stream.end.0.to_le_bytes());
        }
    }
    put_u32(&mut out, manifest.checkpoints.len());
    manifest.checkpoints.iter().for_each(|checkpoint| put_checkpoint(&mut out, checkpoint));
    assert_eq!(manifest.begins.len(), manifest.current.streams.len(), "a begin for each stream");
    for begin in &manifest.begins {
        out.extend(begin.sequence.to_le_bytes());
        out.extend(begin.durable.0.to_le_bytes());
    }
    let untils = manifest.frozen.iter().map(|frozen| frozen.until);
    let max_epochs = manifest.checkpoints.iter().map(|checkpoint| checkpoint.max_epoch);
    untils.chain(max_epochs).for_each(|epoch| out.extend(epoch.0.to_le_bytes()));
    manifest.layouts().for_each(|layout| out.extend(layout.incarnation.0.to_le_bytes()));
    let flag = |is_set, flag| if is_set { flag } else { 0 };
    out.push(flag(manifest.records_newest, RECORDS_NEWEST) | flag(manifest.records_begin, RECORDS_BEGIN));
    out.extend(manifest.directories.iter().map(|directory| u8::from(directory.is_retired)));
    out.extend(manifest.layouts().map(|layout| logged_tag(layout.logged)));
    let streams = manifest.frozen.iter().flat_map(|frozen| &frozen.streams);
    streams.for_each(|stream| out.extend(stream.durable.0.to_le_bytes()));
    let checksum = crc_fast::crc32_iscsi(&out[HEADER_BYTES..]);
    out[12..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    Ok(out)
}

/// Decodes the manifest in `bytes`.
pub(crate) fn decode(bytes: &[u8]) -> Result<Manifest, Error> {
    let mut input = Input { rest: bytes };
    if input.array::<8>()? != MAGIC {
        return damaged("it does not begin like a manifest");
    }
    let version = input.u32()?;
    if !(VERSION_1..=VERSION).contains(&version) {
        return Err(Error::Version(version));
    }
    let (found, expected) = (input.u32()?, crc_fast::crc32_iscsi(input.rest));
    if found != expected {
        return damaged(format!("its checksum is {found:08x} and should be {expected:08x}"));
    }
    let database = DatabaseId(u128::from_le_bytes(input.array()?));
    let count = input.count(4)?;
    let mut directories = (0..count).map(|_| input.directory()).collect::<Result<Vec<_>, _>>()?;
    if directories.is_empty() {
        return damaged("it lists no directory");
    }
    let current = input.layout(directories.len())?;
    let count = input.count(1)?;
    let mut frozen = (0..count).map(|_| input.frozen(directories.len())).collect::<Result<Vec<_>, _>>()?;
    let count = if version == VERSION_1 { 0 } else { input.count(1)? };
    let mut checkpoints = (0..count).map(|_| input.checkpoint(directories.len())).collect::<Result<Vec<_>, _>>()?;
    if !checkpoints.windows(2).all(|pair| pair[0].number < pair[1].number) {
        return damaged("its checkpoints do not grow");
    }
    let begins = if version == VERSION_1 { StreamBegin::of(&current) } else { input.begins(&current)? };
    if version > VERSION_2 {
        let untils = frozen.iter_mut().map(|frozen| &mut frozen.until);
        let max_epochs = checkpoints.iter_mut().map(|checkpoint| &mut checkpoint.max_epoch);
        for epoch in untils.chain(max_epochs) {
            epoch.0 = input.u64()?;
        }
    }
    let (mut current, mut records) = (current, 0);
    if version > VERSION_3 {
        let layouts = frozen.iter_mut().map(|frozen| &mut frozen.layout).chain([&mut current]);
        for layout in layouts {
            layout.incarnation = Incarnation(input.u64()?);
        }
        records = input.u8()?;
        let known = if version > VERSION_4 { RECORDS_NEWEST | RECORDS_BEGIN } else { RECORDS_NEWEST };
        if records & !known != 0 {
            return damaged(format!("{records} says nothing of the newest segments"));
        }
        for directory in &mut directories {
            directory.is_retired = input.flag()?;
        }
    }
    if version > VERSION_5 {
        let layouts = frozen.iter_mut().map(|frozen| &mut frozen.layout).chain([&mut current]);
        for layout in layouts {
            layout.logged = input.logged()?;
        }
    }
    if version > VERSION_6 {
        for stream in frozen.iter_mut().flat_map(|frozen| &mut frozen.streams) {
            stream.durable = input.stamp()?;
        }
    }
    if !input.rest.is_empty() {
        return damaged("it is longer than what it says");
    }
    check(&current, &frozen)?;
    let (records_newest, records_begin) = (records & RECORDS_NEWEST != 0, records & RECORDS_BEGIN != 0);
    Ok(Manifest { database, directories, records_newest, records_begin, current, frozen, begins, checkpoints })
}

fn check(current: &Layout, frozen: &[FrozenGeneration]) -> Result<(), Error> {
    let growing = frozen.windows(2).all(|pair| pair[0].layout.generation < pair[1].layout.generation);
    if !growing || frozen.last().is_some_and(|last| last.layout.generation > current.generation) {
        return damaged("its generations do not grow");
    }
    for pair in frozen.windows(2) {
        if pair[1].layout.floor < pair[0].max_seen {
            return damaged("a generation begins below the stamps of the one before it");
        }
    }
    if frozen.iter().any(|one| one.cut > one.max_seen || one.cut < one.layout.floor) {
        return damaged("a cut is out of range");
    }
    if frozen.iter().any(|one| one.streams.iter().any(|stream| stream.durable < one.cut)) {
        return damaged("a stream ends below the cut of its generation");
    }
    let earlier = frozen.iter().rfind(|one| one.layout.generation < current.generation);
    if earlier.is_some_and(|one| one.max_seen > current.floor) {
        return damaged("the current generation begins below the stamps of an earlier one");
    }
    Ok(())
}

fn put_u32(out: &mut Vec<u8>, value: usize) {
    out.extend(u32::try_from(value).expect("a manifest is small").to_le_bytes());
}

fn put_layout(out: &mut Vec<u8>, layout: &Layout) {
    out.extend(layout.generation.0.to_le_bytes());
    out.push(protocol_tag(layout.protocol));
    out.extend(layout.floor.0.to_le_bytes());
    out.extend(layout.epoch_floor.0.to_le_bytes());
    put_u32(out, layout.streams.len());
    for directory in &layout.streams {
        out.extend(directory.to_le_bytes());
    }
}

fn put_checkpoint(out: &mut Vec<u8>, checkpoint: &CheckpointEntry) {
    out.extend(checkpoint.number.to_le_bytes());
    out.push(checkpoint.kind.tag());
    for field in
        [checkpoint.boundary, checkpoint.max_seen.0, checkpoint.taken_seconds, checkpoint.rows, checkpoint.raw_bytes]
    {
        out.extend(field.to_le_bytes());
    }
    put_u32(out, checkpoint.parts.len());
    for part in &checkpoint.parts {
        out.extend(part.directory.to_le_bytes());
        out.extend(part.bytes.to_le_bytes());
    }
}

fn protocol_tag(protocol: Protocol) -> u8 {
    match protocol {
        Protocol::None => 0,
        Protocol::Serial => 1,
        Protocol::Poplar => 2,
        Protocol::Gsn => 3,
        Protocol::Taurus => 4,
        Protocol::Silo => 5,
        Protocol::Plover => 6,
    }
}

fn logged_tag(logged: Logged) -> u8 {
    match logged.on_disk() {
        Logged::Values => 0,
        Logged::Physiological => 2,
        _ => 1,
    }
}

struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    fn bytes(&mut self, length: usize) -> Result<&'a [u8], Error> {
        match self.rest.split_at_checked(length) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => damaged("it is cut short"),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    fn u8(&mut self) -> Result<u8, Error> {
        Ok(self.array::<1>()?[0])
    }

    fn u32(&mut self) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn stamp(&mut self) -> Result<Stamp, Error> {
        match Stamp(self.u64()?) {
            stamp if stamp <= Stamp::MAX => Ok(stamp),
            stamp => damaged(format!("stamp {stamp} is out of range")),
        }
    }

    /// A count of items of at least `item_bytes`, so that no count makes us reserve more than the file holds.
    fn count(&mut self, item_bytes: usize) -> Result<usize, Error> {
        let count = self.u32()? as usize;
        if count > self.rest.len() / item_bytes { damaged("it is cut short") } else { Ok(count) }
    }

    fn directory(&mut self) -> Result<DirectoryEntry, Error> {
        let length = self.u32()? as usize;
        match std::str::from_utf8(self.bytes(length)?) {
            Ok(name) => Ok(DirectoryEntry { path: PathBuf::from(name), is_retired: false }),
            Err(_) => damaged("a directory's name is not UTF-8"),
        }
    }

    fn flag(&mut self) -> Result<bool, Error> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => damaged(format!("{other} is neither yes nor no")),
        }
    }

    fn logged(&mut self) -> Result<Logged, Error> {
        match self.u8()? {
            0 => Ok(Logged::Values),
            1 => Ok(Logged::Commands),
            2 => Ok(Logged::Physiological),
            tag => damaged(format!("{tag} is nothing that records hold")),
        }
    }

    fn layout(&mut self, directories: usize) -> Result<Layout, Error> {
        let generation = Generation(self.u64()?);
        let protocol = match self.u8()? {
            0 => Protocol::None,
            1 => Protocol::Serial,
            2 => Protocol::Poplar,
            3 => Protocol::Gsn,
            4 => Protocol::Taurus,
            5 => Protocol::Silo,
            6 => Protocol::Plover,
            tag => return damaged(format!("protocol {tag} is unknown")),
        };
        let (floor, epoch_floor) = (self.stamp()?, Epoch(self.u64()?));
        let count = self.count(4)?;
        let streams = (0..count).map(|_| self.u32()).collect::<Result<Vec<_>, _>>()?;
        if streams.len() > STREAMS_MAX as usize {
            return damaged(format!("{count} streams are too many"));
        }
        if streams.iter().any(|directory| *directory as usize >= directories) {
            return damaged("a stream lies in a directory that is not listed");
        }
        let (incarnation, logged) = (Incarnation::NONE, Logged::Values);
        Ok(Layout { incarnation, generation, protocol, logged, floor, epoch_floor, streams })
    }

    fn frozen(&mut self, directories: usize) -> Result<FrozenGeneration, Error> {
        let layout = self.layout(directories)?;
        let (cut, max_seen, max_epoch) = (self.stamp()?, self.stamp()?, Epoch(self.u64()?));
        let clean = self.flag()?;
        // What is known of each stream where a version knows nothing more.
        let durable = cut;
        let stream =
            |input: &mut Self| Ok(FrozenStream { first_sequence: input.u64()?, end: LogOffset(input.u64()?), durable });
        let streams = (0..layout.streams.len()).map(|_| stream(self)).collect::<Result<Vec<_>, _>>()?;
        Ok(FrozenGeneration { layout, cut, max_seen, max_epoch, clean, until: NEVER, streams })
    }
}

impl Input<'_> {
    fn begins(&mut self, layout: &Layout) -> Result<Vec<StreamBegin>, Error> {
        let mut begin = |_| Ok(StreamBegin { sequence: self.u64()?, durable: self.stamp()? });
        let begins = layout.streams.iter().map(&mut begin).collect::<Result<Vec<_>, Error>>()?;
        if begins.iter().any(|begin| begin.sequence < FIRST_SEQUENCE || begin.durable < layout.floor) {
            return damaged("a stream begins before its generation");
        }
        Ok(begins)
    }

    fn checkpoint(&mut self, directories: usize) -> Result<CheckpointEntry, Error> {
        let number = self.u64()?;
        let kind = match self.u8()? {
            1 => CheckpointKind::Epoch,
            2 => CheckpointKind::Fuzzy,
            tag => return damaged(format!("kind {tag} of a checkpoint is unknown")),
        };
        let (boundary, max_seen, taken_seconds) = (self.u64()?, self.stamp()?, self.u64()?);
        let (rows, raw_bytes) = (self.u64()?, self.u64()?);
        let count = self.count(12)?;
        let part = |input: &mut Self| Ok(CheckpointPart { directory: input.u32()?, bytes: input.u64()? });
        let parts = (0..count).map(|_| part(self)).collect::<Result<Vec<_>, Error>>()?;
        if parts.iter().any(|part| part.directory as usize >= directories) {
            return damaged("a checkpoint lies in a directory that is not listed");
        }
        let max_epoch = if kind == CheckpointKind::Epoch { Epoch(boundary) } else { NEVER };
        Ok(CheckpointEntry { number, kind, boundary, max_seen, max_epoch, taken_seconds, rows, raw_bytes, parts })
    }
}

fn damaged<T>(what: impl Into<String>) -> Result<T, Error> {
    Err(Error::Damaged(what.into()))
}
