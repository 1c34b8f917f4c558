//! How far every stream of a generation is sound, and the cut that follows.
//!
//! Invariants:
//! - A stream is read in the order it was written, and nothing behind the first unsound byte counts.
//! - What a stream is durable up to, the cut that follows and which records live is for the rule of the protocol to say, as in a
//!   recovery.
//! - A stream that lost something is durable up to the last stamp before the loss and no further, whatever others certify.
//! - A batch counts whole or not at all. A file that is too short counts up to its end, and harms nothing if what counts of it
//!   ended before.
//! - A newest segment that is gone, or its last batches, leave no gap, and certificates hide it. Then a transaction that counts
//!   may have read what no stream holds: that shows the loss, and certificates count no more. Where a stamp may have no record,
//!   because its transaction did not validate, that shows nothing, and is not looked at.

use std::path::Path;

use super::damage::Damage;
use super::report::SalvageReport;
use super::sound::{held, next_batch, read};
use super::unnamed::Unnamed;
use crate::config::Protocol;
use crate::directory::manifest::{FrozenGeneration, FrozenStream, Layout, Manifest, NEVER};
use crate::error::{Error, RecoveryError};
use crate::ids::{Epoch, LogOffset, Stamp, WallTime};
use crate::io::{BLOCK_BYTES, Disk};
use crate::log::format::batch::BatchHeader;
use crate::log::format::dependency::Dependency;
use crate::log::format::promises::{Broken, Promises};
use crate::log::format::record::{Entry, RecordHeader};
use crate::log::format::records::Records;
use crate::log::format::segment::{FIRST_OFFSET, Segment, SegmentError};
use crate::log::protocol::recovery_rule::{Cut, RecoveryRule, StreamEvidence, with_rule};
use crate::operate::faults;
use crate::recovery::chain::Chain;

/// What counts of a generation.
pub(super) struct Judged {
    pub(super) frozen: FrozenGeneration,
    /// Whether that is what the manifest says, so that later generations count.
    pub(super) is_whole: bool,
    /// The greatest epoch of what counts and is in no checkpoint, and when its batch was closed.
    pub(super) reach: Option<(Epoch, WallTime)>,
    /// Transactions that were read, do not count, and would if nothing was lost or the crash had come later.
    pub(super) left_out: u64,
}

/// One stream.
struct Prefix {
    chain: Chain,
    /// The end of the last sound batch; where there is none the begin of the chain.
    end: LogOffset,
    stamp: Stamp,
    damage: Option<Damage>,
    /// What is wrong with a file beyond the end of what counts.
    harmless: Option<Damage>,
}

/// A record of a sound batch.
struct Read<D> {
    order: RecordHeader<D>,
    /// When the batch was closed.
    closed: WallTime,
}

/// What was read of all streams.
struct Found<D> {
    promises: Promises,
    records: Vec<Read<D>>,
}

impl<D: Dependency> Found<D> {
    /// A stamp up to `cut` and beyond `given_up` that was read although no record has it.
    fn unfounded(&self, layout: &Layout, given_up: Stamp, cut: Stamp) -> Option<Stamp> {
        // Where stamps are drawn before the validation, some have no record, and may be depended on nevertheless.
        if matches!(layout.protocol, Protocol::Gsn | Protocol::Taurus) || layout.logged.has_commands() {
            return None;
        }
        let mut stamps: Vec<Stamp> = self.records.iter().map(|record| record.order.stamp).collect();
        stamps.sort_unstable();
        let is_unfounded = |read: &Stamp| (*read > given_up && *read <= cut) && stamps.binary_search(read).is_err();
        self.records.iter().map(|record| record.order.raw_dep.greatest()).find(is_unfounded)
    }

    /// What counts of `frozen`: its reach, and how many records do not count.
    fn weigh<R>(&self, manifest: &Manifest, frozen: &FrozenGeneration) -> (Option<(Epoch, WallTime)>, u64)
    where
        R: RecoveryRule<Dependency = D>,
    {
        let (mut reach, mut left_out) = (None, 0);
        let cut = R::frozen(frozen);
        for Read { order: RecordHeader { stamp, raw_dep, epoch, .. }, closed } in &self.records {
            if manifest.checkpoints.last().is_some_and(|checkpoint| checkpoint.covers(*stamp, *epoch)) {
                continue;
            }
            match R::lives(*stamp, raw_dep, &cut) && *epoch <= frozen.until {
                true => reach = reach.max(Some((*epoch, *closed))),
                false => left_out += 1,
            }
        }
        (reach, left_out)
    }
}

/// Judges the generation at `index` of the frozen ones and the current one.
pub(super) fn judge(
    disk: &dyn Disk,
    home: &Path,
    manifest: &Manifest,
    index: usize,
    unnamed: &Unnamed,
    report: &mut SalvageReport,
) -> Result<Judged, Error> {
    let protocol = manifest.frozen.get(index).map_or(&manifest.current, |frozen| &frozen.layout).protocol;
    with_rule!(protocol, Rule => judge_by::<Rule>(disk, home, manifest, index, unnamed, report))
}

/// Does so by the rule `R` of its protocol.
fn judge_by<R: RecoveryRule>(
    disk: &dyn Disk,
    home: &Path,
    manifest: &Manifest,
    index: usize,
    unnamed: &Unnamed,
    report: &mut SalvageReport,
) -> Result<Judged, Error> {
    let frozen = manifest.frozen.get(index);
    let layout = frozen.map_or(&manifest.current, |frozen| &frozen.layout);
    let streams = layout.streams.len();
    let mut found = Found::<R::Dependency> { promises: Promises::new(streams, layout.floor), records: Vec::new() };
    let mut prefixes = Vec::with_capacity(streams);
    for stream in 0..streams {
        let (chain, broken) = Chain::find(disk, home, manifest, layout, frozen, stream);
        prefixes.push(Prefix::read(chain, broken, layout, &mut found)?);
    }
    let mut durable = Vec::with_capacity(streams);
    for (stream, prefix) in prefixes.iter_mut().enumerate() {
        let (reached, floor, certified) = (prefix.stamp, prefix.chain.floor(), found.promises.certified[stream]);
        let known = R::durable(&StreamEvidence { reached, floor, certified });
        let end = prefix.end;
        let broken = found.promises.broken(stream, known, end).map(|broken| match broken {
            Broken::Reach(reach) => {
                format!("it ends at offset {end}, but others knew it to be durable up to {reach}")
            }
            Broken::Csn(csn) => format!("it ends at stamp {known}, but {csn} was known to be durable"),
        });
        if prefix.damage.is_none()
            && frozen.is_none()
            && let Some(what) = broken
        {
            prefix.damage = Some(Damage::new(&prefix.chain.directory, None, what));
        }
        let damages = prefix.damage.iter().chain(&prefix.harmless);
        // Of a directory that was not named this is known already.
        report.damages.extend(damages.filter(|damage| unnamed.last(&damage.path).is_none()).cloned());
        durable.push(match (&prefix.damage, frozen) {
            (Some(_), _) => faults::damaged_reach(prefix.stamp, known),
            (None, None) => known,
            // As it was when the generation was frozen.
            (None, Some(frozen)) => frozen.streams[stream].durable,
        });
    }
    let cut_of = |durable: &[Stamp]| R::cut(layout.floor, durable).stamp();
    let mut cut = frozen.map_or(Stamp::MAX, |frozen| frozen.cut);
    if !durable.is_empty() {
        cut = cut.min(cut_of(&durable));
    }
    let given_up = prefixes.iter().map(|prefix| prefix.chain.begin_floor()).max().unwrap_or(layout.floor);
    if frozen.is_none()
        && let Some(read) = found.unfounded(layout, given_up, cut)
    {
        report.damage(
            home,
            None,
            format!("what stamp {read} wrote was read, and no stream holds it: files or batches are gone"),
        );
        durable = prefixes.iter().map(|prefix| prefix.stamp).collect();
        cut = cut_of(&durable);
    }
    let is_whole = frozen.is_some() && prefixes.iter().all(|prefix| prefix.damage.is_none());
    let frozen = match frozen {
        Some(frozen) if is_whole => frozen.clone(),
        _ => freeze(manifest, frozen, cut, prefixes.iter().map(|prefix| prefix.end).zip(durable)),
    };
    let (reach, discarded) = found.weigh::<R>(manifest, &frozen);
    Ok(Judged { frozen, is_whole, reach, left_out: if is_whole { 0 } else { discarded } })
}

/// The generation, `frozen` or the current one, as it ends at `ends`, each stream durable up to a stamp.
fn freeze(
    manifest: &Manifest,
    frozen: Option<&FrozenGeneration>,
    cut: Stamp,
    ends: impl Iterator<Item = (LogOffset, Stamp)>,
) -> FrozenGeneration {
    match frozen {
        Some(frozen) => {
            let places = frozen.streams.iter().zip(ends);
            let places = places.map(|(place, (end, durable))| FrozenStream { end, durable, ..*place });
            FrozenGeneration { cut, clean: false, streams: places.collect(), ..frozen.clone() }
        }
        None => {
            let (layout, streams) = (manifest.current.clone(), manifest.frozen_streams(ends));
            let (max_seen, max_epoch) = (Stamp::MAX, NEVER);
            FrozenGeneration { layout, cut, max_seen, max_epoch, clean: false, until: NEVER, streams }
        }
    }
}

impl Prefix {
    /// Reads a chain, of which `broken` says why it has no more segments than it has.
    fn read<D: Dependency>(
        chain: Chain,
        broken: Option<RecoveryError>,
        layout: &Layout,
        found: &mut Found<D>,
    ) -> Result<Prefix, Error> {
        let end = chain.segments.first().map_or(FIRST_OFFSET, |first| first.header.base);
        let mut prefix = Prefix { chain, end, stamp: layout.floor, damage: None, harmless: None };
        let directory = prefix.chain.directory.clone();
        let broken_damage = broken.as_ref().map(|broken| Damage::of(&directory, broken));
        let is_short = matches!(broken, Some(RecoveryError::Segment(SegmentError::Short { .. })));
        for place in 0..prefix.chain.segments.len() {
            let segment = prefix.chain.segments[place].clone();
            let limit = prefix.chain.limit(place);
            let end = limit.end.min(segment.header.capacity_end()).min(held(&segment)?);
            prefix.stamp = prefix.stamp.max(segment.header.floor);
            let mut offset = segment.header.base;
            while offset < end {
                match prefix.batch(&segment, offset, end, found)? {
                    Ok(next) => (offset, prefix.end) = (next, next),
                    Err(what) => {
                        let is_followed =
                            next_batch(&segment, LogOffset(offset.0 + BLOCK_BYTES as u64), end)?.is_some();
                        let is_cut_off = is_short && !is_followed && place + 1 == prefix.chain.segments.len();
                        prefix.damage = match is_followed || (limit.exact && !is_cut_off) {
                            true => Some(Damage::new(&segment.path, Some(segment.header.position(offset)), what)),
                            false => broken_damage,
                        };
                        return Ok(prefix);
                    }
                }
            }
        }
        match prefix.chain.frozen_end {
            Some(end) if broken.is_none() => prefix.end = end,
            Some(end) if is_short && prefix.end == end => prefix.harmless = broken_damage,
            _ => prefix.damage = broken_damage,
        }
        Ok(prefix)
    }

    /// Checks the batch at `offset`; returns where it ends, or what is wrong with it.
    fn batch<D: Dependency>(
        &mut self,
        segment: &Segment,
        offset: LogOffset,
        end: LogOffset,
        found: &mut Found<D>,
    ) -> Result<Result<LogOffset, String>, Error> {
        let log = self.chain.log;
        let mut bytes = vec![0; (end.0 - offset.0).min(BLOCK_BYTES as u64) as usize];
        read(segment, &mut bytes, offset)?;
        let (header, certificates) = match BatchHeader::decode(&bytes, &log, offset) {
            Ok((header, _)) if header.end() > end => return Ok(Err("a batch reaches beyond its segment".to_owned())),
            Ok((header, _)) if header.stamp < self.stamp => return Ok(Err("the stamps of batches fall".to_owned())),
            Ok((header, certificates)) => (header, certificates.collect::<Vec<_>>()),
            Err(error) => return Ok(Err(error.to_string())),
        };
        bytes.resize(header.record_bytes.max(bytes.len() as u64) as usize, 0);
        read(segment, &mut bytes, offset)?;
        let (mut before, mut records) = (self.stamp, Vec::new());
        for (_, entry) in Records::<D>::new(&log, offset, &bytes[..header.record_bytes as usize]) {
            let (stamp, order) = match entry {
                Ok(Entry::Record(record)) => (record.header().stamp, Some(record.header())),
                Ok(Entry::Part(part)) => (part.header().stamp, None),
                Ok(Entry::Skip(_)) => continue,
                Err(error) => return Ok(Err(error.to_string())),
            };
            records.extend(order.map(|order| Read { order, closed: header.closed }));
            if stamp <= before || stamp > header.stamp {
                return Ok(Err(format!("stamp {stamp} follows {before} in a batch up to {}", header.stamp)));
            }
            before = stamp;
        }
        self.stamp = header.stamp;
        found.records.append(&mut records);
        found.promises.note(header.csn, certificates);
        Ok(Ok(header.end()))
    }
}
