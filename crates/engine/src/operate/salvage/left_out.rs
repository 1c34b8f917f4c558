//! What a consistent state leaves out although it can be read.
//!
//! Transactions in places that are damaged, or gone, cannot be counted.

use std::collections::BTreeSet;

use super::prefix::Judged;
use super::sound::SoundBatches;
use super::{origin, report::SalvageReport};
use crate::config::Config;
use crate::directory::manifest::Manifest;
use crate::error::Error;
use crate::ids::{LogOffset, Stamp};
use crate::log::format::batch::header_bytes;
use crate::log::format::record::{self, Entry};
use crate::log::format::segment::{self, Segment};

/// Counts the transactions of the log that can be read behind what was judged last, and that the checkpoint does not hold.
pub(super) fn count(
    damaged: &Config,
    manifest: &Manifest,
    judged: &Judged,
    report: &mut SalvageReport,
) -> Result<(), Error> {
    let (disk, last) = (&*damaged.environment.disk, judged.frozen.layout.generation);
    let mut found = BTreeSet::new();
    for (path, generation, _) in origin::segments(damaged)? {
        let Ok((header, file)) = segment::read_header(disk, &path) else { continue };
        if header.log.database() != manifest.database || generation < last || header.log.generation() != generation {
            continue;
        }
        let stream = header.log.stream();
        let end = judged.frozen.streams.get(stream.0 as usize).map(|stream| stream.end);
        let from = end.filter(|_| generation == last).unwrap_or(LogOffset(0));
        if from >= header.capacity_end() {
            continue;
        }
        let segment = Segment { path, header, file };
        let mut batches = SoundBatches::new(&segment, from);
        while let Some((_, batch)) = batches.next()? {
            let mut at = header_bytes(header.log.streams());
            while let Some(bytes) = batches.bytes().get(at..).filter(|bytes| !bytes.is_empty())
                && let Ok(entry) = record::parse::<Stamp>(bytes, header.log.seal(LogOffset(batch.offset.0 + at as u64)))
            {
                if let Entry::Record(record) = &entry {
                    let (stamp, epoch) = (record.header().stamp, record.header().epoch);
                    if manifest.checkpoints.last().is_none_or(|checkpoint| !checkpoint.covers(stamp, epoch)) {
                        // A tail that a recovery copied is there twice.
                        found.insert((generation, stream, stamp));
                    }
                }
                at += entry.len();
            }
        }
    }
    report.left_out += found.len() as u64;
    Ok(())
}
