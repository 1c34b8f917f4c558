//! LSN vectors, as they are gathered (Taurus, sections 3.2 and 4; docs/protocols.md, "Taurus").
//!
//! A record of a row has its writer's stamp and not its vector. What everybody may depend on already is durable, so it does not
//! matter which it was: a stamp at or below CSN stands for itself. Of rows that were written since, the vector of the writer is
//! found under the key in a table of lanes ([`KeyStamps`]), one for each stream. Nothing is evicted from it: what is in a lane
//! and at or below CSN has no effect.
//!
//! Invariants:
//! - **T1** When it is closed, the vector is at or above that of every transaction whose row was read, and in that one's stream at
//!   or above its LSN. Where commands are logged, so it is of those whose rows are overwritten, and at or above the LSNs of those
//!   who have read what is overwritten.
//! - **T2** What is in a lane was reserved before it got there, and the commit reserves after it has looked. So no two
//!   transactions wait for each other when they are run again.
//! - A stamp stands for everything at or below it in every stream, wherever the key is not known that it came from: absences,
//!   whose stamps are those of leaves, and definitions. A transaction's stamp is above all of its vector, so that is enough.

use std::sync::atomic::{Ordering, fence};

use osier_memory::{Isa, KeyHash, KeyStamps, LANES_MAX};

use super::{Gathered, Gathering, Overwritten, faults};
use crate::ids::{Stamp, StreamId};
use crate::log::format::dependency::Dependency;
use crate::log::format::lsn_vector::LsnVector;

/// The lanes of all streams, and that for all of them together.
const LANES: usize = LANES_MAX + 1;

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
        assert!(streams < LANES, "{streams} streams");
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
    vector: LsnVector,
}

impl Gathered for LsnVector {
    type Gathering = LsnGathering;
}

impl Gathering for LsnGathering {
    type Dependency = LsnVector;
    type Source = Lsns;

    fn begin(&mut self, durable: impl FnOnce() -> Stamp) {
        self.durable = durable();
        self.greatest = self.durable;
        self.rows.clear();
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
        if self.rows.is_empty() && source.read.is_none() {
            return;
        }
        let (mut vector, mut other) = ([0; LANES], [0; LANES]);
        let (vector, other) = (&mut vector[..=source.streams()], &mut other[..=source.streams()]);
        let mut raise = |stamps: &KeyStamps, key| {
            let lanes = stamps.lanes();
            stamps.load(key, &mut other[..lanes]);
            source.isa.raise(&mut vector[..lanes], &other[..lanes]);
        };
        let mut is_logged = false;
        match faults::readers(source.read.as_ref()) {
            None => is_logged = overwritten.into_iter().next().is_some(),
            Some(read) => {
                // Pairs with the fence between the raise and the validation of every reader.
                fence(Ordering::SeqCst);
                for Overwritten { key, stamp, is_absent } in overwritten {
                    is_logged = true;
                    let key = KeyHash::of(key);
                    raise(read, key);
                    match is_absent {
                        true => self.vector.raise_all(faults::overwritten(stamp)),
                        false if faults::overwritten(stamp) > self.vector.all() => raise(&source.written, key),
                        false => {}
                    }
                }
            }
        }
        self.rows.drain(..).for_each(|key| raise(&source.written, key));
        self.vector.iter().for_each(|(stream, lsn)| vector[stream.0 as usize] = lsn.0.max(vector[stream.0 as usize]));
        if is_logged && source.read.is_none() {
            // The record is behind it in the same stream, so that it cannot live without it.
            vector[own.0 as usize] = 0;
        }
        let [streams @ .., all] = vector else { unreachable!("a vector has a lane for all streams") };
        self.vector.raise_all(Stamp(*all));
        let above = source.isa.above(streams, self.vector.all());
        self.vector.set_above(above, streams);
        self.greatest = self.greatest.max(self.vector.greatest());
    }

    fn publish<'k>(&self, source: &Lsns, (own, stamp): (StreamId, Stamp), keys: impl Iterator<Item = &'k [u8]>) {
        for key in keys {
            let key = KeyHash::of(key);
            if self.vector.all() > self.durable {
                source.written.raise(key, source.streams(), faults::of_all(self.vector.all()));
            }
            for (stream, lsn) in faults::handed_on(&self.vector) {
                source.written.raise(key, stream.0 as usize, lsn);
            }
            source.written.raise(key, own.0 as usize, faults::own_lsn(stamp));
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
