//! Where the copy of a log that is being written ends.
//!
//! Streams are written independently, so that ends that are read one after the other do not fit together: a batch of one may
//! know more of another to be durable than was copied of that, which recovery takes for a loss (log-format.md, L7 and L9).
//!
//! Invariants:
//! - For every batch before the ends, everything that it knew to be durable lies before the ends, too: batches that know more
//!   are left out, from the last one on, until none is left. What was published before the search began stays: whatever it
//!   knows was published before it.
//! - The ends reach the stamp that is asked for, or the search goes on: what is durable shows up in the files at once.

use std::time::Duration;

use super::Source;
use super::faults;
use super::image::{chains, walk};
use crate::error::{BackupError, Error};
use crate::ids::{LogOffset, Stamp};
use crate::log::format::batch::Certificate;
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
    csn: Stamp,
    certificates: Vec<Certificate>,
}

/// What is known of one stream.
struct Stream {
    /// The end and the stamp of what is certainly copied.
    end: LogOffset,
    stamp: Stamp,
    /// What follows.
    batches: Vec<Batch>,
}

/// Ends that reach `stamp`, which is durable.
pub(super) fn find(shared: &Shared, source: &Source<'_>, stamp: Stamp) -> Result<Vec<LogOffset>, Error> {
    let sure = source.ends.clone().expect("what was copied in bulk has ends");
    for _ in 0..LOOKS_MAX {
        let ends = shared.log.durable_ends();
        let chains = chains(source, &source.manifest.current, None)?;
        assert!(chains.len() == sure.len() && ends.len() == sure.len(), "an end for each stream");
        let mut certified = vec![Stamp::ZERO; chains.len()];
        let mut streams = Vec::new();
        for ((chain, sure), end) in chains.iter().zip(&sure).zip(ends) {
            streams.push(Stream::read(chain, *sure, end, &mut certified)?);
        }
        if faults::fit(|| fit(&chains, &mut streams, &certified) >= stamp) {
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
    fn read(chain: &Chain, sure: LogOffset, end: LogOffset, certified: &mut [Stamp]) -> Result<Stream, Error> {
        assert!(sure <= end, "what is durable stays durable: {sure} and then {end}");
        let begin = chain.segments.first().map_or(sure, |segment| segment.header.base);
        let mut stream = Stream { end: begin, stamp: Stamp::ZERO, batches: Vec::new() };
        walk(chain, begin, end, |header, certificates| {
            if header.end() <= sure {
                (stream.end, stream.stamp) = (header.end(), header.stamp);
                note(certified, &certificates);
            } else {
                let (end, stamp, csn) = (header.end(), header.stamp, header.csn);
                stream.batches.push(Batch { end, stamp, csn, certificates });
            }
        })?;
        Ok(stream)
    }

    fn end(&self) -> LogOffset {
        self.batches.last().map_or(self.end, |batch| batch.end)
    }
}

fn note(certified: &mut [Stamp], certificates: &[Certificate]) {
    for Certificate { stream, stamp, .. } in certificates {
        let known = &mut certified[stream.0 as usize];
        *known = stamp.max(known).to_owned();
    }
}

/// Leaves out what does not fit; returns what is durable on every stream of the rest.
fn fit(chains: &[Chain], streams: &mut [Stream], certified: &[Stamp]) -> Stamp {
    loop {
        let mut certified = certified.to_vec();
        streams.iter().flat_map(|stream| &stream.batches).for_each(|batch| note(&mut certified, &batch.certificates));
        let durable = |((stream, chain), certified): ((&Stream, &Chain), &Stamp)| {
            let reached = stream.batches.last().map_or(stream.stamp, |batch| batch.stamp);
            reached.max(chain.floor_of_copy(stream.end())).max(*certified)
        };
        let stable = streams.iter().zip(chains).zip(&certified).map(durable).min().unwrap_or(Stamp::ZERO);
        let ends: Vec<_> = streams.iter().map(Stream::end).collect();
        let is_there = |known: &Certificate| known.reach <= ends[known.stream.0 as usize];
        let is_known = |batch: &&Batch| batch.csn <= stable && batch.certificates.iter().all(is_there);
        let mut fits = true;
        for stream in streams.iter_mut() {
            let kept = stream.batches.iter().take_while(is_known).count();
            fits &= kept == stream.batches.len();
            stream.batches.truncate(kept);
        }
        if fits {
            return stable;
        }
    }
}
