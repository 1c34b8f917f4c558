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
use crate::ids::{Epoch, LogOffset, Stamp};
use crate::log::format::LogIdentity;
use crate::log::format::batch::BatchHeader;
use crate::log::format::record::Entry;
use crate::log::format::records::Records;
use crate::log::format::segment::{self, Segment};
use crate::log::protocol::recovery_rule::{RecoveryRule, with_rule};

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
        let layout = manifest.layouts().find(|layout| layout.generation == generation);
        let protocol = layout.unwrap_or(&manifest.current).protocol;
        let mut batches = SoundBatches::new(&segment, from);
        while let Some((_, batch)) = batches.next()? {
            let records = with_rule!(protocol, Rule => records::<Rule>(&header.log, &batch, batches.bytes()));
            let is_covered =
                |(stamp, epoch)| manifest.checkpoints.last().is_some_and(|checkpoint| checkpoint.covers(stamp, epoch));
            // A tail that a recovery copied is there twice.
            let records = records.into_iter().filter(|record| !is_covered(*record));
            found.extend(records.map(|(stamp, _)| (generation, stream, stamp)));
        }
    }
    report.left_out += found.len() as u64;
    Ok(())
}

/// The stamps and epochs of the sound records of a batch.
fn records<R: RecoveryRule>(log: &LogIdentity, batch: &BatchHeader, bytes: &[u8]) -> Vec<(Stamp, Epoch)> {
    let order = |entry: Entry<'_, R::Dependency>| match entry {
        Entry::Record(record) => Some((record.header().stamp, record.header().epoch)),
        Entry::Part(_) | Entry::Skip(_) => None,
    };
    Records::<R::Dependency>::new(log, batch.offset, bytes).filter_map(|(_, entry)| order(entry.ok()?)).collect()
}
