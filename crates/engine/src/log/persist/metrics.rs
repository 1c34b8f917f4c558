//! What the log did, in numbers.
//!
//! Invariant: each counter has one writer, the stream's logger; workers count nothing here.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of one stream, written by its logger alone.
#[derive(Debug, Default)]
pub(crate) struct StreamCounters {
    pub(crate) bytes: Counter,
    pub(crate) record_bytes: Counter,
    pub(crate) records: Counter,
    pub(crate) batches: Counter,
    pub(crate) markers: Counter,
    pub(crate) certificates: Counter,
    pub(crate) syncs: Counter,
    pub(crate) segments: Counter,
}

/// A counter with one writer: a load and a store, no read-modify-write.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds `count`.
    pub(crate) fn add(&self, count: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What one stream wrote since the database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamMetrics {
    /// Bytes written to segments, in whole blocks, segment headers apart.
    pub bytes: u64,
    /// Bytes of records among them.
    pub record_bytes: u64,
    /// Records logged, one for each transaction, and parts of large ones.
    pub records: u64,
    /// Batches written, markers included.
    pub batches: u64,
    /// Batches without a record: heartbeats of a stream that lagged behind the others.
    pub markers: u64,
    /// Certificates given about idle streams.
    pub certificates: u64,
    /// Syncs of the device by the logger: one for each batch and two for each segment.
    pub syncs: u64,
    /// Segments begun.
    pub segments: u64,
}

/// What the log wrote since the database was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogMetrics {
    /// By stream; empty without a log.
    pub streams: Vec<StreamMetrics>,
    /// Bytes of the segments of this generation that recovery needs; a checkpoint makes them obsolete.
    pub retained_bytes: u64,
}

impl LogMetrics {
    /// Returns the sums over all streams.
    pub fn total(&self) -> StreamMetrics {
        self.streams.iter().fold(StreamMetrics::default(), |sum, stream| StreamMetrics {
            bytes: sum.bytes + stream.bytes,
            record_bytes: sum.record_bytes + stream.record_bytes,
            records: sum.records + stream.records,
            batches: sum.batches + stream.batches,
            markers: sum.markers + stream.markers,
            certificates: sum.certificates + stream.certificates,
            syncs: sum.syncs + stream.syncs,
            segments: sum.segments + stream.segments,
        })
    }
}

impl StreamCounters {
    /// Returns the present values.
    pub(crate) fn read(&self) -> StreamMetrics {
        StreamMetrics {
            bytes: self.bytes.get(),
            record_bytes: self.record_bytes.get(),
            records: self.records.get(),
            batches: self.batches.get(),
            markers: self.markers.get(),
            certificates: self.certificates.get(),
            syncs: self.syncs.get(),
            segments: self.segments.get(),
        }
    }
}
