//! Logs as a logger would leave them, written byte by byte, and what recovery makes of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_memory::{Epochs, LeafScan, Observed, ScanFrom};

use crate::config::{Config, Protocol};
use crate::directory::Claim;
use crate::directory::manifest::Manifest;
use crate::error::RecoveryError;
use crate::ids::{DatabaseId, Epoch, Generation, LogOffset, Stamp, StreamId, TableId, WallTime};
use crate::io::disk_for_tests::TestDisk;
use crate::io::{BLOCK_BYTES, Environment};
use crate::log::format::batch::{BatchHeader, Certificate, header_bytes};
use crate::log::format::dependency::Dependency;
use crate::log::format::layout::RecordLayout;
use crate::log::format::payload::PayloadKind;
use crate::log::format::payload::in_parts::{self, InParts};
use crate::log::format::payload::values::{self, LoggedWrite, ValuesWriter};
use crate::log::format::record::{RecordHeader, encode, encoded_len};
use crate::log::format::segment::{self, FIRST_SEQUENCE, HEADER_BYTES, SegmentHeader, segment_path};
use crate::log::format::{LogIdentity, Seal, fixed_for_tests};
use crate::recovery::{RecoveryReport, run};
use crate::table::store::Store;

pub(super) const TABLE: TableId = TableId(16);

/// The rows of a store: (table, key) to (stamp, row).
pub(super) type Rows = BTreeMap<(TableId, Vec<u8>), (Stamp, Vec<u8>)>;

/// A transaction.
#[derive(Clone, Debug)]
pub(super) struct Txn {
    pub(super) stamp: u64,
    pub(super) raw_dep: u64,
    /// `None` deletes.
    pub(super) writes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// What its record names in place of the writes.
    pub(super) in_parts: Option<InParts>,
}

/// A transaction that writes one row.
pub(super) fn put(stamp: u64, raw_dep: u64, key: &str, row: &str) -> Txn {
    Txn { stamp, raw_dep, writes: vec![(key.into(), Some(row.into()))], in_parts: None }
}

/// A transaction that deletes one row.
pub(super) fn delete(stamp: u64, raw_dep: u64, key: &str) -> Txn {
    Txn { stamp, raw_dep, writes: vec![(key.into(), None)], in_parts: None }
}

/// A disk with a database on it.
#[derive(Clone)]
pub(super) struct World {
    pub(super) disk: TestDisk,
    pub(super) config: Config,
}

impl World {
    /// A new database.
    pub(super) fn new(protocol: Protocol, streams: u32) -> World {
        let disk = TestDisk::new();
        let environment = Environment { disk: Arc::new(disk.clone()), ..Environment::os() };
        let mut config = Config::new("/db").protocol(protocol).streams(streams).environment(environment);
        config.recovery_threads = 2;
        let world = World { disk, config };
        let manifest = Manifest::new(DatabaseId(77), protocol, streams, &world.config.dirs);
        let (mut claim, _) = Claim::take(&world.config).unwrap();
        claim.store(&manifest).unwrap();
        world
    }

    /// The same disk, for another future.
    pub(super) fn fork(&self) -> World {
        let disk = self.disk.fork();
        let mut config = self.config.clone();
        config.environment.disk = Arc::new(disk.clone());
        World { disk, config }
    }

    pub(super) fn home(&self) -> &Path {
        &self.config.dirs[0]
    }

    pub(super) fn manifest(&self) -> Manifest {
        Manifest::load(&self.disk, self.home(), &self.config.dirs).unwrap().unwrap()
    }

    pub(super) fn directory(&self, stream: u32) -> PathBuf {
        segment::stream_directory(self.home(), StreamId(stream))
    }

    /// A segment of the current generation.
    pub(super) fn path(&self, stream: u32, sequence: u64) -> PathBuf {
        segment_path(&self.directory(stream), self.manifest().current.generation, sequence)
    }

    /// Writes the log of a stream of the current generation.
    pub(super) fn writer(&self, stream: u32) -> Writer {
        let manifest = self.manifest();
        let floor = manifest.current.floor;
        Writer {
            world: self.clone(),
            log: manifest.current.log(manifest.database, StreamId(stream)),
            sequence: FIRST_SEQUENCE,
            base: LogOffset(0),
            floor,
            bytes: Vec::new(),
            stamp: floor,
            layout: RecordLayout::Compact,
            known: vec![0; manifest.current.streams.len()],
        }
    }

    /// Recovers; everything that recovery says, and the rows.
    pub(super) fn recover(&self) -> Result<(RecoveryReport, Rows), RecoveryError> {
        let store = Store::new(Epochs::new(16));
        let (mut claim, manifest) = Claim::take(&self.config)?;
        let recovered = run(&self.config, &mut claim, manifest.expect("a database"), &store)?;
        assert_eq!(recovered.manifest, self.manifest());
        assert_eq!(recovered.manifest.current.floor, recovered.report.max_seen);
        Ok((recovered.report, rows(&store)))
    }

    /// The error of a recovery that fails.
    pub(super) fn refused(&self) -> RecoveryError {
        match self.recover() {
            Ok((report, rows)) => panic!("recovered {} rows:\n{report}", rows.len()),
            Err(error) => error,
        }
    }
}

/// The rows of a store in which every tombstone was purged.
pub(super) fn rows(store: &Store) -> Rows {
    let mut rows = Rows::new();
    let mut participant = store.epochs().register().unwrap();
    let pin = participant.pin();
    for table in store.table_ids() {
        let tree = store.tree(table);
        tree.assert_sound(&pin);
        let mut scan = LeafScan::new();
        tree.scan_leaf(&pin, ScanFrom::AtLeast(&[]), &mut scan);
        loop {
            for entry in &scan.entries {
                let record = pin.get(*entry);
                match record.read(&pin) {
                    Observed::Present(version) => {
                        assert!(version.birth() == version.stamp() || version.birth() == Stamp::ZERO);
                        let row = (version.stamp(), version.bytes().to_vec());
                        assert_eq!(rows.insert((table, record.key().to_vec()), row), None);
                    }
                    Observed::Absent(Stamp::ZERO) if record.word().is_waited_for() => {}
                    other => panic!("{:?} was not purged: {other:?}", record.key()),
                }
            }
            if !tree.scan_next(&pin, &mut scan) {
                break;
            }
        }
    }
    rows
}

/// The rows (key, row) of [`TABLE`], stamps left out.
pub(super) fn plain(rows: &Rows) -> Vec<(&str, &str)> {
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    rows.iter().map(|((_, key), (_, row))| (text(key), text(row))).collect()
}

/// The log of one stream, batch by batch.
pub(super) struct Writer {
    world: World,
    log: LogIdentity,
    sequence: u64,
    base: LogOffset,
    floor: Stamp,
    /// The batches of the present segment.
    bytes: Vec<u8>,
    stamp: Stamp,
    /// Of the records to come.
    pub(super) layout: RecordLayout,
    /// What the batches to come say of other streams.
    known: Vec<u64>,
}

impl Writer {
    /// A batch with `txns`, closed at the last one's stamp.
    pub(super) fn batch(&mut self, txns: &[Txn]) -> &mut Writer {
        let stamp = txns.last().map_or(self.stamp.0, |txn| txn.stamp);
        self.batch_with(txns, stamp, 0, &[])
    }

    /// From now on `stream` is known to be durable up to a number of blocks.
    pub(super) fn know(&mut self, stream: u32, blocks: u64) -> &mut Writer {
        self.known[stream as usize] = blocks * BLOCK_BYTES as u64;
        self
    }

    /// A batch with `txns`, closed at `stamp` with the frontier `csn`, certifying (stream, stamp).
    pub(super) fn batch_with(
        &mut self,
        txns: &[Txn],
        stamp: u64,
        csn: u64,
        certificates: &[(u32, u64)],
    ) -> &mut Writer {
        self.batch_as(txns, |txn| Stamp(txn.raw_dep), stamp, csn, certificates)
    }

    /// As [`Writer::batch_with`], with records that depend on what `raw_dep` says.
    pub(super) fn batch_as<D: Dependency>(
        &mut self,
        txns: &[Txn],
        raw_dep: impl Fn(&Txn) -> D,
        stamp: u64,
        csn: u64,
        certificates: &[(u32, u64)],
    ) -> &mut Writer {
        let offset = self.end();
        let mut bytes = vec![0; header_bytes(self.log.streams())];
        for txn in txns {
            let at = LogOffset(offset.0 + bytes.len() as u64);
            bytes.extend(match self.layout {
                RecordLayout::Compact => encoded_as(txn, raw_dep(txn), self.log.seal(at)),
                RecordLayout::Fixed => encoded_fixed(txn, self.log.seal(at)),
            });
        }
        let record_bytes = bytes.len() as u64;
        bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0xee);
        let header = BatchHeader {
            offset,
            length: bytes.len() as u64,
            record_bytes,
            stamp: Stamp(stamp),
            csn: Stamp(csn),
            closed: WallTime(stamp * 1_000_000),
            layout: self.layout,
        };
        let word = |(stream, reach): (u32, &u64)| {
            let certified = certificates.iter().find(|certified| certified.0 == stream);
            let stamp = certified.map_or(Stamp::ZERO, |certified| Stamp(certified.1));
            Certificate { stream: StreamId(stream), stamp, reach: LogOffset(*reach) }
        };
        let words = (0..).zip(&self.known).filter(|(stream, _)| *stream != self.log.stream().0).map(word);
        header.encode(&self.log, &words.collect::<Vec<_>>(), &mut bytes[..header_bytes(self.log.streams())]);
        self.bytes.extend(bytes);
        self.stamp = Stamp(stamp);
        self
    }

    /// The end of the log so far.
    pub(super) fn end(&self) -> LogOffset {
        LogOffset(self.base.0 + self.bytes.len() as u64)
    }

    /// The stream's stamp.
    pub(super) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Puts the segment on the disk, with room for `spare` more bytes that hold `fill`; returns its path.
    pub(super) fn flush_with(&self, spare: usize, fill: u8) -> PathBuf {
        let header = SegmentHeader {
            log: self.log,
            sequence: self.sequence,
            base: self.base,
            floor: self.floor,
            bytes: (HEADER_BYTES + self.bytes.len() + spare) as u64,
        };
        let mut bytes = vec![0; HEADER_BYTES];
        header.encode(&mut bytes);
        bytes.extend(&self.bytes);
        bytes.resize(bytes.len() + spare, fill);
        let directory = segment::stream_directory(self.world.home(), self.log.stream());
        let path = segment_path(&directory, self.log.generation(), self.sequence);
        self.world.disk.put(&path, &bytes);
        path
    }

    /// Puts the segment on the disk, with some room left; returns its path.
    pub(super) fn flush(&self) -> PathBuf {
        self.flush_with(8 * BLOCK_BYTES, 0)
    }

    /// Puts the segment on the disk and begins the next one.
    pub(super) fn rotate(&mut self) -> &mut Writer {
        self.flush_with(BLOCK_BYTES, 0x55);
        self.base = self.end();
        self.sequence += 1;
        self.floor = self.stamp;
        self.bytes.clear();
        self
    }
}

/// The length of the record of `txn`.
pub(super) fn record_bytes(txn: &Txn) -> usize {
    let log = LogIdentity::new(DatabaseId(1), Generation(1), StreamId(0), 1);
    encoded_as(txn, Stamp(txn.raw_dep), log.seal(LogOffset(0))).len()
}

fn logged(txn: &Txn) -> Vec<LoggedWrite<'_>> {
    txn.writes.iter().map(|(key, row)| LoggedWrite { table: TABLE, key, change: row.as_deref().into() }).collect()
}

fn encoded_as<D: Dependency>(txn: &Txn, raw_dep: D, seal: Seal) -> Vec<u8> {
    let Some(named) = txn.in_parts else { return encoded_writes(txn.stamp, raw_dep, &logged(txn), seal) };
    let header = header(txn.stamp, raw_dep, txn.writes.len());
    let mut bytes = vec![0; encoded_len(&header, in_parts::ENCODED_BYTES)];
    encode(&mut bytes, &header, PayloadKind::InParts, seal, |payload| named.encode(payload));
    bytes
}

fn encoded_fixed(txn: &Txn, seal: Seal) -> Vec<u8> {
    fixed_for_tests::encoded(&header(txn.stamp, Stamp(txn.raw_dep), txn.writes.len()), &logged(txn), seal)
}

fn header<D: Dependency>(stamp: u64, raw_dep: D, writes: usize) -> RecordHeader<D> {
    RecordHeader { stamp: Stamp(stamp), raw_dep, epoch: Epoch(stamp / 10 + 1), write_count: writes as u32 }
}

/// The record of a transaction with these writes.
pub(super) fn encoded_writes<D: Dependency>(stamp: u64, raw_dep: D, writes: &[LoggedWrite<'_>], seal: Seal) -> Vec<u8> {
    let header = header(stamp, raw_dep, writes.len());
    let mut bytes = vec![0; encoded_len(&header, values::encoded_len(writes))];
    encode(&mut bytes, &header, PayloadKind::Values, seal, |payload| ValuesWriter::new(payload).write_all(writes));
    bytes
}
