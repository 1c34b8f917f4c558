//! LSN vectors, as they are gathered (Taurus, sections 3.2 and 4; docs/protocols.md, "Taurus").
//!
//! A record of a row has its writer's stamp and not its vector. Everything at or below CSN is durable on every stream, so that
//! to depend on all of it costs no wait: for a row that old no vector is looked for. Of rows that were written since, the
//! vector of the writer is found under the key in a table of lanes ([`KeyStamps`]), one for each stream. Nothing is evicted
//! from it: what is in a lane and at or below CSN costs no wait, and matters where a device has lost it.
//!
//! Invariants:
//! - Y1: when it is closed, the vector is at or above that of every transaction whose row was read, and in that one's stream at
//!   or above its LSN. Where commands are logged, so it is of those whose rows are overwritten, and at or above the LSNs of those
//!   who have read what is overwritten.
//! - Y2: what is in a lane was reserved before it got there, and the commit reserves after it has looked. So no two
//!   transactions wait for each other when they are run again.
//! - A stamp stands for everything at or below it in every stream, wherever the key is not known that it came from: absences,
//!   whose stamps are those of leaves, and definitions. A transaction's stamp is above all of its vector, so that is enough.

use std::sync::atomic::{Ordering, fence};

use osier_memory::{Isa, KeyHash, KeyStamps, LANES_MAX};

use super::{Gathered, Gathering, Overwritten, faults};
use crate::ids::{Stamp, StreamId};
use crate::log::format::dependency::{Dependency, LsnVector};

/// A session keeps the memory of so many keys from one transaction to the next.
const KEPT_CAPACITY: usize = 16 << 10;

/// What is known of the vectors of transactions, by the keys that they wrote and read.
#[derive(Debug)]
pub(crate) struct Lsns {
    /// A lane for each stream, and the last one for what whoever wrote the key depends on in all of them.
    written: KeyStamps,
    /// Where commands are logged: the LSNs of those who have read a key.
    read: Option<KeyStamps>,
    isa: Isa,
}

impl Lsns {
    /// Of a log of so many streams, with so many slots for keys; `orders_reads`: whoever overwrites follows those who have read.
    pub(crate) fn new(streams: usize, slots: usize, orders_reads: bool) -> Lsns {
        assert!(streams <= LANES_MAX, "{streams} streams");
        let read = orders_reads.then(|| KeyStamps::new(slots, streams));
        Lsns { written: KeyStamps::new(slots, streams + 1), read, isa: Isa::best() }
    }

    /// Returns how many streams there are.
    fn streams(&self) -> usize {
        self.written.lanes() - 1
    }

    /// Returns the LSNs of readers.
    #[inline]
    pub(crate) fn read(&self) -> Option<&KeyStamps> {
        self.read.as_ref()
    }
}

/// The vector of an open transaction.
#[derive(Clone, Default)]
pub(crate) struct LsnGathering {
    /// Up to here everything was durable when it began.
    durable: Stamp,
    greatest: Stamp,
    /// The rows that were written since and read, or overwritten.
    rows: Vec<KeyHash>,
    /// Where that was looked at, those that are overwritten.
    keys: Vec<KeyHash>,
    /// For their memory.
    lanes: Vec<u64>,
    vector: LsnVector,
}

impl Gathered for LsnVector {
    type Gathering = LsnGathering;
}

impl Gathering for LsnGathering {
    type Dependency = LsnVector;
    type Source = Lsns;
    const COVERS_READERS: bool = true;

    fn begin(&mut self, durable: impl FnOnce() -> Stamp) {
        self.durable = durable();
        self.greatest = self.durable;
        self.rows.clear();
        self.rows.shrink_to(KEPT_CAPACITY);
        self.keys.clear();
        self.keys.shrink_to(KEPT_CAPACITY);
        self.vector = LsnVector::of_all(self.durable);
    }

    #[inline]
    fn add(&mut self, stamp: Stamp) {
        self.greatest = self.greatest.max(stamp);
        self.vector.raise_all(stamp);
    }

    #[inline]
    fn add_row(&mut self, stamp: Stamp, key: impl FnOnce() -> KeyHash) {
        if stamp > self.vector.all() {
            self.greatest = self.greatest.max(stamp);
            self.rows.push(key());
        }
    }

    fn close<'k>(&mut self, source: &Lsns, own: StreamId, overwritten: impl Iterator<Item = Overwritten<'k>>) {
        let LsnGathering { rows, keys, lanes, vector, .. } = self;
        keys.clear();
        let readers = faults::readers(source.read.as_ref());
        if rows.is_empty() && readers.is_none() {
            return;
        }
        lanes.clear();
        lanes.resize(source.written.lanes(), 0);
        let mut is_logged = false;
        match readers {
            None => is_logged = overwritten.into_iter().next().is_some(),
            Some(read) => {
                // Pairs with the fence between the raise and the validation of every reader.
                fence(Ordering::SeqCst);
                for Overwritten { key, stamp, is_absent } in overwritten {
                    let (key, stamp) = (KeyHash::of(key), faults::overwritten(stamp));
                    keys.push(key);
                    read.merge_into(key, &mut lanes[..source.streams()], source.isa);
                    match is_absent {
                        true => vector.raise_all(stamp),
                        false if stamp > vector.all() => rows.push(key),
                        false => {}
                    }
                }
            }
        }
        rows.drain(..).for_each(|key| source.written.merge_into(key, lanes, source.isa));
        let [streams @ .., all] = &mut lanes[..] else { unreachable!("there is a lane for all streams") };
        for (stream, lsn) in vector.iter() {
            let lane = &mut streams[stream.0 as usize];
            *lane = lsn.0.max(*lane);
        }
        if is_logged {
            // The record is behind it in the same stream, so that it cannot live without it.
            streams[own.0 as usize] = 0;
        }
        vector.raise_all(Stamp(*all));
        vector.set_above(source.isa.above(streams, vector.all()), streams);
        self.greatest = self.greatest.max(self.vector.greatest());
    }

    fn publish<'k>(&self, source: &Lsns, (own, stamp): (StreamId, Stamp), keys: impl Iterator<Item = &'k [u8]>) {
        let publish = |key| {
            // Even what is at or below CSN: where a device has lost that, a salvage asks for it.
            source.written.raise(key, source.streams(), faults::of_all(self.vector.all()));
            for (stream, lsn) in faults::handed_on(&self.vector) {
                source.written.raise(key, stream.0 as usize, lsn);
            }
            source.written.raise(key, own.0 as usize, faults::own_lsn(stamp));
        };
        match self.keys.is_empty() {
            true => keys.map(KeyHash::of).for_each(publish),
            false => self.keys.iter().copied().for_each(publish),
        }
    }

    #[inline]
    fn dependency(&self) -> &LsnVector {
        &self.vector
    }

    #[inline]
    fn greatest(&self) -> Stamp {
        self.greatest
    }

    fn encoded_len_max(&self, source: &Lsns) -> usize {
        LsnVector::encoded_len_max(source.streams())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transaction that began when everything up to `csn` was durable, and has read the row of `key` that `stamp` wrote.
    fn reader(csn: u64, key: &[u8], stamp: u64) -> LsnGathering {
        let mut gathering = LsnGathering::default();
        gathering.begin(|| Stamp(csn));
        gathering.add_row(Stamp(stamp), || KeyHash::of(key));
        gathering
    }

    /// Y1 holds for what is durable, too: V depends on what was durable when it began, and W, which had begun before, reads what
    /// V wrote. Where a device has lost that, W does not live without V.
    #[test]
    fn who_began_earlier_takes_over_what_is_durable_by_now() {
        let (lsns, [a, b]) = (Lsns::new(2, 1 << 10, false), [StreamId(0), StreamId(1)]);
        let close = |gathering: &mut LsnGathering, own, key: &[u8]| {
            let overwritten = Overwritten { key, stamp: Stamp::ZERO, is_absent: false };
            gathering.close(&lsns, own, [overwritten].into_iter());
        };
        let mut v = reader(150, b"x", 140);
        close(&mut v, a, b"y");
        v.publish(&lsns, (a, Stamp(170)), [&b"y"[..]].into_iter());
        for own in [a, b] {
            let mut w = reader(120, b"y", 170);
            close(&mut w, own, b"z");
            assert_eq!(w.dependency().all(), Stamp(150), "{own}");
            let names_v = w.dependency().iter().any(|entry| entry == (a, Stamp(170)));
            assert_eq!(names_v, own != a, "in its own stream V is before it");
        }
    }
}
