//! Where the copy of a log that is being written ends.
//!
//! Streams are written independently, so that ends that are read one after the other do not fit together: a batch of one may
//! know more of another to be durable than was copied of that, which recovery takes for a loss (log-format.md, L7 and L9).
//!
//! Invariants:
//! - What is durable of the copy is what recovery would find in it: the rule of the protocol says so.
//! - For every batch before the ends, everything that it knew to be durable lies before the ends, too: batches that know more
//!   are left out, from the last one on, until none is left. What was published before the search began stays: whatever it
//!   knows was published before it.
//! - The ends reach the stamp that is asked for, by what the copy itself can tell: its base may be an older one than the
//!   database's, which knows less to be durable. Else the search goes on: what is durable shows up in the files at once.

use std::time::Duration;

use super::Source;
use super::faults;
use super::image::{chains, walk};
use crate::directory::manifest::{Layout, StreamBegin};
use crate::error::{BackupError, Error};
use crate::ids::{LogOffset, Stamp};
use crate::log::format::promises::Promises;
use crate::log::protocol::recovery_rule::{Cut, RecoveryRule, StreamEvidence, with_rule};
use crate::recovery::chain::Chain;
use crate::transaction::shared::Shared;

/// Between two looks at what is durable.
const PAUSE: Duration = Duration::from_millis(1);
/// How often to look.
const LOOKS_MAX: usize = 10_000;

/// A batch that may be left out.
struct Batch {
    end: LogOffset,
    stamp: Stamp,
    /// What it knew to be durable.
    promises: Promises,
}

/// What is known of one stream.
struct Stream {
    /// What the copy's base says is durable.
    durable: Stamp,
    /// Where each segment begins, and its floor.
    floors: Vec<(LogOffset, Stamp)>,
    /// The end and the stamp of what is certainly copied.
    end: LogOffset,
    stamp: Stamp,
    /// What follows.
    batches: Vec<Batch>,
}

/// Ends that reach `stamp`, which is durable, in a copy whose log begins with `begins`.
pub(super) fn find(
    shared: &Shared,
    source: &Source<'_>,
    begins: &[StreamBegin],
    stamp: Stamp,
) -> Result<Vec<LogOffset>, Error> {
    let sure = source.ends.clone().expect("what was copied in bulk has ends");
    for _ in 0..LOOKS_MAX {
        let ends = shared.log.durable_ends();
        let chains = chains(source, &source.manifest.current, None)?;
        assert!(chains.len() == sure.len() && ends.len() == sure.len(), "an end for each stream");
        let Layout { protocol, floor, .. } = source.manifest.current;
        let mut promises = Promises::new(chains.len(), floor);
        let mut streams = Vec::new();
        for (((chain, begin), sure), end) in chains.iter().zip(begins).zip(&sure).zip(ends) {
            streams.push(Stream::read(chain, begin.durable, *sure, end, &mut promises)?);
        }
        if faults::fit(|| with_rule!(protocol, Rule => fit::<Rule>(&mut streams, floor, &promises)) >= stamp) {
            let ends: Vec<_> = streams.iter().map(Stream::end).collect();
            assert!(ends.iter().zip(&sure).all(|(end, sure)| end >= sure), "{ends:?} cut off what was copied in bulk");
            return Ok(ends);
        }
        shared.config.environment.clock.sleep(PAUSE);
    }
    Err(BackupError::Unsettled { home: source.home.to_owned(), stamp }.into())
}

impl Stream {
    /// Everything before `sure` was known to be durable before the stamp was drawn that is to be reached.
    fn read(
        chain: &Chain,
        durable: Stamp,
        sure: LogOffset,
        end: LogOffset,
        promises: &mut Promises,
    ) -> Result<Stream, Error> {
        assert!(sure <= end, "what is durable stays durable: {sure} and then {end}");
        let begin = chain.segments.first().map_or(sure, |segment| segment.header.base);
        let floors = chain.segments.iter().map(|segment| (segment.header.base, segment.header.floor)).collect();
        let mut stream = Stream { durable, floors, end: begin, stamp: Stamp::ZERO, batches: Vec::new() };
        walk(chain, begin, end, |header, certificates| {
            if header.end() <= sure {
                (stream.end, stream.stamp) = (header.end(), header.stamp);
                promises.note(header.csn, certificates);
            } else {
                let (end, stamp) = (header.end(), header.stamp);
                let mut promises = Promises::new(chain.log.streams() as usize, Stamp::ZERO);
                promises.note(header.csn, certificates);
                stream.batches.push(Batch { end, stamp, promises });
            }
        })?;
        Ok(stream)
    }

    fn end(&self) -> LogOffset {
        self.batches.last().map_or(self.end, |batch| batch.end)
    }

    /// What recovery would know of it, where others certify it up to `certified`.
    fn evidence(&self, certified: Stamp) -> StreamEvidence {
        let end = self.end();
        let floors = self.floors.iter().take_while(|(base, _)| *base <= end).map(|(_, floor)| *floor);
        let reached = self.batches.last().map_or(self.stamp, |batch| batch.stamp);
        StreamEvidence { reached, floor: floors.last().unwrap_or_default().max(self.durable), certified }
    }
}

/// Leaves out what does not fit; returns up to where everything counts of the rest. `promises` are those of what is certainly
/// copied, and all stamps are above `floor`.
fn fit<R: RecoveryRule>(streams: &mut [Stream], floor: Stamp, promises: &Promises) -> Stamp {
    loop {
        let mut all = promises.clone();
        streams.iter().flat_map(|stream| &stream.batches).for_each(|batch| all.add(&batch.promises));
        let durable = streams.iter().zip(&all.certified).map(|(stream, certified)| stream.evidence(*certified));
        let durable: Vec<Stamp> = durable.map(|evidence| R::durable(&evidence)).collect();
        let ends: Vec<_> = streams.iter().map(Stream::end).collect();
        let is_kept = |batch: &Batch, stream| batch.promises.broken(stream, durable[stream], ends[stream]).is_none();
        let is_known = |batch: &&Batch| (0..ends.len()).all(|stream| is_kept(batch, stream));
        let mut fits = true;
        for stream in streams.iter_mut() {
            let kept = stream.batches.iter().take_while(is_known).count();
            fits &= kept == stream.batches.len();
            stream.batches.truncate(kept);
        }
        if fits {
            return R::cut(floor, &durable).stamp();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Protocol;
    use crate::ids::StreamId;
    use crate::log::format::batch::Certificate;

    fn batch(end: u64, stamp: u64, certificates: Vec<Certificate>) -> Batch {
        let mut promises = Promises::new(3, Stamp::ZERO);
        promises.note(Stamp(10), certificates);
        Batch { end: LogOffset(end), stamp: Stamp(stamp), promises }
    }

    fn fit(streams: &mut [Stream; 3]) -> Stamp {
        let promises = Promises::new(3, Stamp::ZERO);
        with_rule!(Protocol::Poplar, Rule => super::fit::<Rule>(streams, Stamp::ZERO, &promises))
    }

    fn stream(durable: u64, batches: Vec<Batch>) -> Stream {
        let floors = vec![(LogOffset(0), Stamp(3))];
        Stream { durable: Stamp(durable), floors, end: LogOffset(8192), stamp: Stamp(10), batches }
    }

    /// Stream 0 wrote a batch that certifies stream 1 and knows that stream 2 is durable further than was looked at.
    fn knows_more(durable: u64) -> [Stream; 3] {
        let idle = Certificate { stream: StreamId(1), stamp: Stamp(13), reach: LogOffset(8192) };
        let ahead = Certificate { stream: StreamId(2), stamp: Stamp::ZERO, reach: LogOffset(12288) };
        let first = vec![batch(12288, 13, vec![idle, ahead])];
        [stream(durable, first), stream(durable, Vec::new()), stream(durable, vec![batch(8192, 13, Vec::new())])]
    }

    /// What the base of the database knows to be durable the base of the copy may not.
    #[test]
    fn a_batch_that_knows_more_than_is_copied_does_not_count() {
        let mut streams = knows_more(11);
        assert_eq!(fit(&mut streams), Stamp(11), "what the batch certified went with it");
        assert_eq!(streams.map(|stream| stream.end()), [LogOffset(8192); 3]);
    }

    #[test]
    fn what_the_base_knows_to_be_durable_counts() {
        assert_eq!(fit(&mut knows_more(13)), Stamp(13));
    }

    #[test]
    fn everything_fits_where_all_was_looked_at() {
        let mut streams = knows_more(11);
        streams[2].batches.push(batch(12288, 13, Vec::new()));
        assert_eq!(fit(&mut streams), Stamp(13));
        assert_eq!(streams[0].end(), LogOffset(12288));
    }
}
