//! Reads the streams of generations again, and gives the records that live in the order of their stamps.
//!
//! Invariants:
//! - Generations come one after the other: every stamp of a later one is greater.
//! - Of a stream what was read before is read again and nothing else: as far as its batches are sound, and of a torn one as far
//!   as its records are.
//! - In memory is one chunk of each stream of one generation, and what was copied of them into batches.
//! - A record is checked once here: the bytes that are given are those that were checked.
//!
//! Absent: damage, which the passes before have found; bytes that changed since are damage, too.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use osier_memory::sync::lock;

use crate::catalog::procedure::VersionKey;
use crate::error::RecoveryError;
use crate::ids::{Epoch, LogOffset, Stamp};
use crate::log::format::dependency::Dependency;
use crate::log::format::dependency::LsnVector;
use crate::log::format::layout::RecordLayout;
use crate::log::format::payload::command::Command;
use crate::log::format::payload::{PayloadKind, PayloadReader};
use crate::log::format::record::{Entry, RecordReader};
use crate::log::format::records::Records;
use crate::log::protocol::recovery_rule::{RecoveryRule, with_rule};
use crate::recovery::chain::Limit;
use crate::recovery::cut::Verdict;
use crate::recovery::faults;
use crate::recovery::generation_scan::{ReadBatch, ReadEnd, SegmentId};
use crate::recovery::log_scan::{LogScan, WalkEnd};
use crate::sizes::{gathered_records, scanned_chunk_bytes};

/// A record that lives.
pub(super) struct LiveRecord<'m> {
    pub(super) segment: SegmentId,
    pub(super) offset: LogOffset,
    pub(super) stamp: Stamp,
    pub(super) epoch: Epoch,
    /// The number in its header.
    pub(super) writes: u32,
    pub(super) payload: PayloadReader<'m>,
    /// The payload, where it is a command.
    pub(super) command: Option<Command<'m>>,
    /// The other records of its transaction, where that has several.
    pub(super) others: Vec<(SegmentId, PayloadReader<'m>)>,
}

impl<'m> LiveRecord<'m> {
    /// Returns the record that was found in `bytes`.
    fn of(scan: &LogScan, segment: SegmentId, found: &Found, bytes: &'m [u8]) -> LiveRecord<'m> {
        let protocol = scan.generations[segment.generation].layout.protocol;
        with_rule!(protocol, Rule => {
            let record = RecordReader::<<Rule as RecoveryRule>::Dependency>::of_checked(bytes, found.layout);
            let (header, payload) = (record.header(), record.payload());
            let command = if let PayloadReader::Command(command) = &payload { Some(command.command()) } else { None };
            LiveRecord {
                segment,
                offset: found.offset,
                stamp: found.stamp,
                epoch: header.epoch,
                writes: header.write_count,
                payload,
                command,
                others: Vec::new(),
            }
        })
    }
}

/// A batch has no further record when it has so many bytes.
const BATCH_BYTES: usize = 256 << 10;

/// The next records that live, of one generation, copied out of the log.
#[derive(Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    records: Vec<(SegmentId, Found)>,
}

impl Batch {
    /// How many bytes its records have.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether its memory is that of a large record.
    pub(super) fn is_large(&self) -> bool {
        self.bytes.capacity() > 4 * BATCH_BYTES
    }

    /// Returns the records, in order.
    pub(super) fn records<'b>(&'b self, scan: &'b LogScan) -> impl Iterator<Item = LiveRecord<'b>> {
        (0..self.len()).filter(|at| self.begins_at(*at)).map(|at| self.record(scan, at))
    }

    /// Whether the record at a place is the first one of its transaction.
    pub(super) fn begins_at(&self, at: usize) -> bool {
        !self.records[at].1.continues
    }

    /// How many records the transaction has whose first one is at a place.
    pub(super) fn records_of(&self, at: usize) -> usize {
        1 + (at + 1..self.len()).take_while(|at| !self.begins_at(*at)).count()
    }

    /// Whether the record at a place is a command.
    pub(super) fn is_command(&self, at: usize) -> bool {
        self.records[at].1.is_command
    }

    /// Returns which version of which procedure the command at a place calls; `None`: it is none.
    pub(super) fn called(&self, scan: &LogScan, at: usize) -> Option<VersionKey> {
        let (segment, found) = &self.records[at];
        let (protocol, bytes) = (scan.generations[segment.generation].layout.protocol, &self.bytes[found.at..]);
        with_rule!(protocol, Rule => {
            let record = RecordReader::<<Rule as RecoveryRule>::Dependency>::of_checked(&bytes[..found.length], found.layout);
            let PayloadReader::Command(command) = record.payload() else { return None };
            let (id, version) = command.called();
            Some(VersionKey { id, version })
        })
    }

    /// Returns the stamp of the record at a place.
    pub(super) fn stamp(&self, at: usize) -> Stamp {
        self.records[at].1.stamp
    }

    /// Returns the record at a place in the order.
    pub(super) fn record<'b>(&'b self, scan: &LogScan, at: usize) -> LiveRecord<'b> {
        let one = |(segment, found): &(SegmentId, Found)| {
            LiveRecord::of(scan, *segment, found, &self.bytes[found.at..found.at + found.length])
        };
        let mut record = one(&self.records[at]);
        for other in self.records[at + 1..].iter().take_while(|(_, found)| found.continues).map(one) {
            record.others.push((other.segment, other.payload));
        }
        record
    }

    /// How many records there are.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns the stream of each record, and what orders it among the others.
    pub(super) fn order(&self) -> impl Iterator<Item = (usize, &Found)> {
        self.records.iter().map(|(segment, found)| (segment.stream, found))
    }

    /// The generation of the records, all of one.
    pub(super) fn generation(&self) -> usize {
        self.records[0].0.generation
    }
}

/// The records that live, in order.
pub(super) struct Merge {
    scan: Arc<LogScan>,
    /// By generation.
    verdicts: Arc<[Verdict]>,
    generation: usize,
    /// Of the generation's streams.
    cursors: Vec<Cursor>,
    /// Of the first record of each stream that has one: the stamp, the first stream of its transaction, and its own. So the
    /// records of one transaction come together, and those of others with the same stamp before or behind them.
    firsts: BinaryHeap<Reverse<(Stamp, usize, usize)>>,
    last: Stamp,
}

impl Merge {
    /// Begins before the first record of the generations that `scan` says are replayed in order.
    pub(super) fn new(scan: Arc<LogScan>, verdicts: Arc<[Verdict]>) -> Merge {
        assert_eq!(verdicts.len(), scan.generations.len(), "every generation was judged");
        let generation = scan.ordered().start;
        let (cursors, firsts) = Default::default();
        Merge { scan, verdicts, generation, cursors, firsts, last: Stamp::ZERO }
    }

    /// Returns the next record; `None` behind the last one.
    pub(super) fn next(&mut self) -> Result<Option<LiveRecord<'_>>, RecoveryError> {
        let Some(stream) = self.take()? else { return Ok(None) };
        let mut others = Vec::new();
        while self.goes_on() {
            others.extend(self.take()?);
        }
        let one = |stream: usize| {
            let (segment, found, bytes) = self.cursors[stream].taken();
            LiveRecord::of(&self.scan, segment, found, bytes)
        };
        let mut record = one(stream);
        record.others = others.into_iter().map(one).map(|other| (other.segment, other.payload)).collect();
        Ok(Some(record))
    }

    /// Puts the next records into an empty batch; `false` behind the last one.
    pub(super) fn gather(&mut self, batch: &mut Batch) -> Result<bool, RecoveryError> {
        batch.bytes.clear();
        batch.records.clear();
        while self.goes_on() || batch.records.len() < gathered_records() && batch.bytes.len() < BATCH_BYTES {
            if self.firsts.is_empty() && !batch.records.is_empty() {
                break;
            }
            let Some(stream) = self.take()? else { break };
            let (segment, found, bytes) = self.cursors[stream].taken();
            batch.records.push((segment, Found { at: batch.bytes.len(), ..found.clone() }));
            batch.bytes.extend_from_slice(bytes);
        }
        Ok(!batch.records.is_empty())
    }

    /// Whether the next record is one of the transaction of the one before.
    fn goes_on(&self) -> bool {
        self.firsts.peek().is_some_and(|Reverse((_, first, stream))| first != stream)
    }

    /// Takes the next record, and returns the stream that it is in.
    fn take(&mut self) -> Result<Option<usize>, RecoveryError> {
        while self.firsts.is_empty() {
            if self.generation == self.scan.ordered().end {
                return Ok(None);
            }
            self.begin_generation()?;
        }
        let Reverse((stamp, _, stream)) = self.firsts.pop().expect("there is a record");
        assert!(faults::follows(stamp >= self.last), "transaction {stamp} follows {}", self.last);
        self.last = stamp;
        let cursor = &mut self.cursors[stream];
        cursor.take();
        // What follows in the stream is found before its present record is given: the buffer has the bytes of both, or the record
        // is the last one in it.
        if let Some(next) = cursor.first() {
            self.firsts.push(Reverse((faults::place(next.stamp), next.first, stream)));
        } else {
            self.refill(stream)?;
        }
        Ok(Some(stream))
    }

    /// Begins the next generation that there is.
    fn begin_generation(&mut self) -> Result<(), RecoveryError> {
        let generation = self.generation;
        let streams = 0..self.scan.generations[generation].streams.len();
        self.cursors = streams.clone().map(|stream| Cursor::new(generation, stream)).collect();
        streams.clone().try_for_each(|stream| self.refill(stream))?;
        self.generation += 1;
        Ok(())
    }

    /// Reads on in a stream of which all records were taken.
    fn refill(&mut self, stream: usize) -> Result<(), RecoveryError> {
        let cursor = &mut self.cursors[stream];
        cursor.fill(&self.scan, &self.verdicts[cursor.generation])?;
        self.firsts.extend(cursor.first().map(|next| Reverse((faults::place(next.stamp), next.first, stream))));
        Ok(())
    }
}

/// A record that lives, in the buffer of a cursor or of a batch.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) stamp: Stamp,
    /// What it is to be run after, where the protocol says that of commands.
    pub(super) vector: Option<LsnVector>,
    offset: LogOffset,
    at: usize,
    length: usize,
    layout: RecordLayout,
    pub(super) is_command: bool,
    /// The stream of the first record of its transaction, which has several perhaps.
    first: usize,
    /// Whether it is another one than the first, and so goes on with the transaction of the record before.
    continues: bool,
}

/// A place in a stream.
struct Cursor {
    generation: usize,
    stream: usize,
    /// The segment that is read, and how far.
    index: usize,
    read_end: Option<ReadEnd>,
    /// The bytes of `found` and of the record that was taken.
    bytes: Vec<u8>,
    /// Those of the chunk before, while its last record is given.
    before: Vec<u8>,
    found: VecDeque<Found>,
    /// The record that was taken, and whether it is in `before`.
    taken: Option<(SegmentId, Found, bool)>,
    /// The segment of `found`.
    segment: usize,
}

impl Cursor {
    /// Returns the begin of a stream.
    fn new(generation: usize, stream: usize) -> Cursor {
        let (bytes, before, found) = Default::default();
        Cursor { generation, stream, index: 0, read_end: None, bytes, before, found, taken: None, segment: 0 }
    }

    fn first(&self) -> Option<&Found> {
        self.found.front()
    }

    /// Takes the first record.
    fn take(&mut self) {
        let found = self.found.pop_front().expect("the stream has a record");
        self.taken = Some((self.id(self.segment), found, false));
    }

    fn id(&self, index: usize) -> SegmentId {
        SegmentId { generation: self.generation, stream: self.stream, index }
    }

    /// Returns the record that was taken, and its bytes.
    fn taken(&self) -> (SegmentId, &Found, &[u8]) {
        let (segment, found, is_before) = self.taken.as_ref().expect("a record was taken");
        let bytes = if *is_before { &self.before } else { &self.bytes };
        (*segment, found, &bytes[found.at..found.at + found.length])
    }

    /// Reads on until records are found, or the stream has ended.
    fn fill(&mut self, scan: &LogScan, verdict: &Verdict) -> Result<(), RecoveryError> {
        assert!(self.found.is_empty(), "records were not taken");
        if let Some((_, _, is_before)) = &mut self.taken {
            std::mem::swap(&mut self.bytes, &mut self.before);
            *is_before = true;
        }
        while self.found.is_empty()
            && self.index < scan.generations[self.generation].streams[self.stream].segments.len()
        {
            let id = self.id(self.index);
            let end = lock(&scan.stream(id).segments[id.index].read_end).offset;
            let read_end = self.read_end.unwrap_or_else(|| ReadEnd::begin(scan.segment(id)));
            if read_end.offset == end {
                (self.index, self.read_end) = (self.index + 1, None);
                continue;
            }
            let (batches, begin) = (self.read(scan, id, read_end, end)?, read_end.offset);
            let mut read_end = read_end;
            read_end.pass(&batches);
            (self.read_end, self.segment) = (Some(read_end), id.index);
            let protocol = scan.generations[self.generation].layout.protocol;
            for batch in batches {
                with_rule!(protocol, Rule => self.find::<Rule>(scan, verdict, (id, begin), &batch))?;
            }
        }
        faults::in_order(&mut self.found, |found| found.is_command);
        Ok(())
    }

    /// Reads the next batches into the buffer.
    fn read(
        &mut self,
        scan: &LogScan,
        id: SegmentId,
        read_end: ReadEnd,
        end: LogOffset,
    ) -> Result<Vec<ReadBatch>, RecoveryError> {
        assert!(read_end.offset < end, "the segment goes on");
        let mut want = scanned_chunk_bytes();
        loop {
            self.bytes.resize(want.min(end.0 - read_end.offset.0) as usize, 0);
            scan.read_exactly(id, &mut self.bytes, read_end.offset)?;
            let (batches, walked) = scan.walk(id, &self.bytes, &read_end, Limit { end, exact: true })?;
            match walked {
                WalkEnd::Beyond { length } if batches.is_empty() => want = length,
                WalkEnd::Beyond { .. } | WalkEnd::Limit => return Ok(batches),
                WalkEnd::Invalid { what } => unreachable!("what was sound is exact: {what}"),
            }
        }
    }

    /// Notes the records of a batch that live, by the rule `R` of their generation.
    fn find<R: RecoveryRule>(
        &mut self,
        scan: &LogScan,
        verdict: &Verdict,
        (id, begin): (SegmentId, LogOffset),
        batch: &ReadBatch,
    ) -> Result<(), RecoveryError> {
        let generation = &scan.generations[self.generation];
        let stream = scan.stream(id);
        let cut = match &generation.frozen {
            Some(frozen) => R::frozen(frozen),
            None => verdict.cut::<R>(generation.layout.floor),
        };
        let counts = |record: &RecordReader<'_, R::Dependency>| {
            let order = record.header();
            !faults::is_covered(scan.base.covers(order.stamp, order.epoch))
                && !faults::is_after(order.epoch > generation.until)
                && faults::lives(R::lives(order.stamp, &order.raw_dep, &cut))
        };
        let header = batch.header;
        let torn = lock(&stream.torn).as_ref().filter(|torn| torn.batch == header.offset).map(|torn| torn.record_bytes);
        let at = (header.offset.0 - begin.0) as usize;
        let bytes = &self.bytes[at..at + torn.unwrap_or(header.record_bytes) as usize];
        for (offset, entry) in Records::<R::Dependency>::new(&stream.chain.log, header.offset, bytes) {
            let entry = entry.map_err(|error| scan.damaged(id, offset, error.to_string()))?;
            let Entry::Record(record) = entry else { continue };
            if counts(&record) {
                let header = record.header();
                let stamp = header.stamp;
                let vector = header.raw_dep.as_vector().filter(|_| generation.is_ordered).cloned();
                let (at, length, layout) = ((offset.0 - begin.0) as usize, record.len(), batch.header.layout);
                let is_command = record.kind() == PayloadKind::Command;
                let first = record.participants().map_or(self.stream, |participants| participants.first().0 as usize);
                let continues = faults::continues(first != self.stream);
                self.found.push_back(Found { stamp, vector, offset, at, length, layout, is_command, first, continues });
            }
        }
        Ok(())
    }
}
