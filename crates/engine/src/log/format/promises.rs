//! What batches say of all streams of their generation (docs/log-format.md, L6, L7 and L9).
//!
//! Invariant: what is promised was true when the batch was closed, and a crash takes none of it. A stream that falls short of a
//! promise has lost durable bytes.
//!
//! Absent: what a stream is durable up to (log/protocol/), what follows from a loss (recovery/, operate/).

use crate::ids::{LogOffset, Stamp};
use crate::log::format::batch::Certificate;

/// What some batches of a generation promise.
#[derive(Clone, Debug)]
pub(crate) struct Promises {
    /// Every stream is durable up to it.
    pub(crate) csn: Stamp,
    /// The greatest certificate about each stream; zero where there is none.
    pub(crate) certified: Vec<Stamp>,
    /// How far each stream's log is durable.
    pub(crate) reached: Vec<LogOffset>,
}

/// A promise that a stream falls short of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// Its log was durable up to here.
    Reach(LogOffset),
    /// It was durable up to this stamp.
    Csn(Stamp),
}

impl Promises {
    /// Returns what is known of so many streams before any batch is read: all are durable up to `floor`.
    pub(crate) fn new(streams: usize, floor: Stamp) -> Promises {
        Promises { csn: floor, certified: vec![Stamp::ZERO; streams], reached: vec![LogOffset(0); streams] }
    }

    /// Notes what the header of a batch says.
    pub(crate) fn note(&mut self, csn: Stamp, certificates: impl IntoIterator<Item = Certificate>) {
        self.csn = self.csn.max(csn);
        for Certificate { stream, stamp, reach } in certificates {
            let stream = stream.0 as usize;
            self.certified[stream] = self.certified[stream].max(stamp);
            self.reached[stream] = self.reached[stream].max(reach);
        }
    }

    /// Notes what other batches promise.
    pub(crate) fn add(&mut self, other: &Promises) {
        assert_eq!(self.certified.len(), other.certified.len(), "promises about the same streams");
        self.csn = self.csn.max(other.csn);
        for stream in 0..self.certified.len() {
            self.certified[stream] = self.certified[stream].max(other.certified[stream]);
            self.reached[stream] = self.reached[stream].max(other.reached[stream]);
        }
    }

    /// Returns a promise that `stream` falls short of, whose sound batches end at `end` and which is durable up to `durable`.
    pub(crate) fn broken(&self, stream: usize, durable: Stamp, end: LogOffset) -> Option<Broken> {
        if end < self.reached[stream] {
            return Some(Broken::Reach(self.reached[stream]));
        }
        (durable < self.csn).then_some(Broken::Csn(self.csn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::StreamId;

    #[test]
    fn a_stream_falls_short_of_its_reach_or_of_csn() {
        let mut promises = Promises::new(2, Stamp(3));
        promises.note(Stamp(5), [Certificate { stream: StreamId(1), stamp: Stamp(6), reach: LogOffset(8192) }]);
        promises.note(Stamp(4), [Certificate { stream: StreamId(1), stamp: Stamp::ZERO, reach: LogOffset(4096) }]);
        assert_eq!(promises.certified, [Stamp::ZERO, Stamp(6)]);
        assert_eq!(promises.broken(0, Stamp(5), LogOffset(0)), None);
        assert_eq!(promises.broken(0, Stamp(4), LogOffset(0)), Some(Broken::Csn(Stamp(5))));
        assert_eq!(promises.broken(1, Stamp(5), LogOffset(4096)), Some(Broken::Reach(LogOffset(8192))));
        let mut sum = Promises::new(2, Stamp::ZERO);
        sum.add(&promises);
        assert_eq!(sum.broken(1, Stamp(5), LogOffset(8192)), None);
    }
}
