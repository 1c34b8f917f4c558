//! A piece of the data of a `COPY`, taken apart into records and fields.
//!
//! Invariants:
//! - A field is a part of the data as it came, unless it is written with escapes or quotes.
//! - Records stand in their order, and what is wrong with the data behind them comes last.
//!
//! It refers to nothing outside of it, so that one thread can take data apart and another one write the rows.

use std::ops::Range;

use crate::error::Result;

/// The memory of a piece that is longer is not kept for the next one.
const KEPT_BYTES: usize = 1 << 20;

/// Where a field is.
#[derive(Clone, Copy, Debug)]
enum Place {
    Null,
    Data { begin: u32, end: u32 },
    Unescaped { begin: u32, end: u32 },
}

/// Records, and what comes after the last one.
#[derive(Debug)]
pub(crate) struct Split {
    data: Vec<u8>,
    /// Fields without their escapes, one behind the other.
    unescaped: Vec<u8>,
    places: Vec<Place>,
    /// Of each record its line, and where its fields end in `places`.
    records: Vec<(u64, usize)>,
    /// What is wrong with the data behind the last record.
    end: Result<()>,
}

impl Default for Split {
    fn default() -> Split {
        Split::new()
    }
}

impl Split {
    pub(crate) fn new() -> Split {
        Split { data: Vec::new(), unescaped: Vec::new(), places: Vec::new(), records: Vec::new(), end: Ok(()) }
    }

    /// Forgets all records.
    pub(crate) fn clear(&mut self) {
        if self.data.capacity().max(self.unescaped.capacity()) > KEPT_BYTES {
            *self = Split::new();
        }
        self.data.clear();
        self.unescaped.clear();
        self.places.clear();
        self.records.clear();
        self.end = Ok(());
    }

    /// Adds a field that is NULL.
    #[inline]
    pub(super) fn null(&mut self) {
        self.places.push(Place::Null);
    }

    /// Adds a field that is this part of the data.
    #[inline]
    pub(super) fn field(&mut self, range: Range<usize>) {
        self.places.push(Place::Data { begin: short(range.start), end: short(range.end) });
    }

    /// Adds a field that `write` writes.
    pub(super) fn unescaped(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let begin = short(self.unescaped.len());
        write(&mut self.unescaped);
        self.places.push(Place::Unescaped { begin, end: short(self.unescaped.len()) });
    }

    /// Ends a record, whose last line has this number.
    pub(super) fn record(&mut self, line: u64) {
        self.records.push((line, self.places.len()));
    }

    /// Ends the piece: the records are in the first `end` bytes of `data`, which keeps the others.
    pub(super) fn finish(&mut self, data: &mut Vec<u8>, end: usize, result: Result<()>) {
        if end > 0 {
            self.data.extend_from_slice(&data[end..]);
            std::mem::swap(&mut self.data, data);
            self.data.truncate(end);
        }
        self.end = result;
    }

    /// Gives all records to `take`, each with its line.
    ///
    /// # Errors
    /// Of `take`, and what is wrong behind the last record.
    pub(crate) fn each(&self, mut take: impl FnMut(u64, Fields<'_>) -> Result<()>) -> Result<()> {
        let mut begin = 0;
        for (line, end) in &self.records {
            take(*line, Fields { split: self, places: &self.places[begin..*end] })?;
            begin = *end;
        }
        self.end.clone()
    }
}

/// A place in a piece. A record and what is added behind it have each at most a quarter of the room.
#[inline]
fn short(place: usize) -> u32 {
    u32::try_from(place).expect("a piece is shorter than 4 GiB")
}

/// The fields of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'s> {
    split: &'s Split,
    places: &'s [Place],
}

impl<'s> Fields<'s> {
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The fields; `None` is NULL.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<&'s [u8]>> {
        let split = self.split;
        self.places.iter().map(move |place| match *place {
            Place::Null => None,
            Place::Data { begin, end } => Some(&split.data[begin as usize..end as usize]),
            Place::Unescaped { begin, end } => Some(&split.unescaped[begin as usize..end as usize]),
        })
    }
}
