//! What changed in rows, where the log is cut off, lacks a version, or was begun by an earlier program.

use std::sync::Arc;

use osier_memory::Epochs;

use super::world::{TABLE, Txn, World, encoded_writes, plain, put};
use crate::catalog::{Catalog, TABLES, TableRow};
use crate::config::{Config, Protocol, RowReplayKind};
use crate::error::RecoveryError;
use crate::ids::{DatabaseId, Generation, LogOffset, Stamp, StreamId, TableId};
use crate::io::BLOCK_BYTES;
use crate::log::format::LogIdentity;
use crate::log::format::layout::RecordLayout;
use crate::log::format::payload::WriteForm;
use crate::log::format::payload::delta::Delta;
use crate::log::format::payload::in_parts::InParts;
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::log::format::record::{self, Entry};
use crate::recovery::postconditions::expect_bases;
use crate::recovery::replay::machine::{ReplayBatch, ReplayMachine};
use crate::recovery::replay::rows::RowMachine;
use crate::recovery::replay::waiting::WaitingDeltas;
use crate::table::store::Store;
use crate::table::{Schema, Type};

/// One stream, begun by an earlier program: its last batch is torn, and is copied as it was laid out.
#[test]
fn a_log_of_fixed_width_is_recovered_for_ever() {
    for protocol in [Protocol::Serial, Protocol::Poplar, Protocol::Gsn] {
        let world = World::new(protocol, 1);
        let mut log = world.writer(0);
        log.layout = RecordLayout::Fixed;
        log.batch(&[put(1, 0, "a", "first"), put(2, 0, "b", "second")]).rotate();
        let torn = log.batch(&[put(3, 1, "a", "third")]).end();
        let long = "x".repeat(2 * BLOCK_BYTES);
        let gone = Txn { writes: vec![("b".into(), None), ("c".into(), Some(long.into()))], ..put(5, 3, "", "") };
        log.batch(&[put(4, 0, "d", "fourth"), gone]);
        let path = log.flush();
        // One block of it is there.
        let lost = torn.0 as usize + BLOCK_BYTES;
        world.disk.edit(&path, |bytes| bytes[lost..].fill(0));
        for round in 0..3 {
            let (report, rows) = world.recover().unwrap();
            assert_eq!(plain(&rows), [("a", "third"), ("b", "second"), ("d", "fourth")], "round {round}");
            assert_eq!((report.cut >= Stamp(4), report.discarded), (true, 0));
            world.disk.crash();
        }
        // The next program goes on in the present layout, behind it.
        let stamp = world.manifest().current.floor.0 + 1;
        world.writer(0).batch(&[put(stamp, 2, "b", "present")]).flush();
        let (_, rows) = world.recover().unwrap();
        assert_eq!(plain(&rows), [("a", "third"), ("b", "present"), ("d", "fourth")]);
    }
}

/// A store with a table, and a machine that is fed one transaction after the other.
struct Replay {
    store: Store,
    config: Config,
    machine: RowMachine,
    waiting: Arc<WaitingDeltas>,
    stamp: u64,
}

impl Replay {
    fn new(kind: RowReplayKind) -> Replay {
        let config = Config::new("/db").recovery_rows(kind);
        let (store, waiting) = (Store::new(Epochs::new(4)), Arc::new(WaitingDeltas::new()));
        let (mut machines, _) = RowMachine::for_threads(&store, &config, &waiting, 1).unwrap();
        let mut machine = machines.remove(0);
        machine.begin();
        let mut replay = Replay { store, config, machine, waiting, stamp: 0 };
        let catalog = Catalog::new(&replay.store).unwrap();
        let schema = Schema::builder("t").column("id", Type::Int64).column("n", Type::Int64).primary_key(["id"]);
        let row = TableRow { id: TABLE, definition: schema.build().unwrap().encode() };
        let (values, codec) = (row.values("t"), &catalog.tables().rows);
        let mut image = vec![0; codec.encoded_len(&values).unwrap()];
        codec.encode_into(&values, &mut image);
        let key = catalog.tables().keys.of_values(&values).unwrap();
        replay.write(TABLES, key.as_bytes(), Change::Put(&image));
        replay
    }

    /// Replays a transaction of one write; returns its stamp.
    fn write(&mut self, table: TableId, key: &[u8], change: Change<'_>) -> Stamp {
        self.stamp += 10;
        let log = LogIdentity::new(DatabaseId(1), Generation(1), StreamId(0), 1);
        let seal = log.seal(LogOffset(0));
        let bytes = encoded_writes(self.stamp, Stamp::ZERO, &[LoggedWrite { table, key, change }], seal);
        match record::parse::<Stamp>(&bytes, seal, RecordLayout::Compact).unwrap() {
            Entry::Record(record) => self.machine.batch().replay(&record),
            Entry::Part(_) | Entry::Skip(_) => unreachable!("a record was written"),
        }
        Stamp(self.stamp)
    }

    fn ended(mut self) -> Result<(), RecoveryError> {
        while self.machine.finish() {}
        while self.machine.merge() {}
        RowMachine::complete(&self.config, vec![self.machine]).unwrap();
        expect_bases(&self.store, &self.waiting)
    }
}

/// Begins a replay of each kind.
fn replays() -> [Replay; 3] {
    [RowReplayKind::Plr, RowReplayKind::Llr, RowReplayKind::LlrP].map(Replay::new)
}

/// The key of row 7.
fn key() -> [u8; 8] {
    (7_u64 | 1 << 63).to_be_bytes()
}

fn delta(base: Stamp) -> Change<'static> {
    Change::Delta(Delta { base, body: &[1 << 1, 8, 1, 9] })
}

#[test]
fn a_row_whose_base_is_missing_is_named() {
    for mut replay in replays() {
        replay.write(TABLE, &key(), Change::Put(&[1; 16]));
        let stamp = replay.write(TABLE, &key(), delta(Stamp(15)));
        let error = replay.ended().unwrap_err();
        assert!(matches!(&error, RecoveryError::MissingVersion { base: Stamp(15), stamp: of, .. } if *of == stamp));
        let text = error.to_string();
        assert!(
            text.contains("row (id)=(7) of table `t` cannot be recovered") && text.contains("osier salvage"),
            "{text}"
        );
        assert_eq!(error.sqlstate(), "XX001");
    }
}

#[test]
fn a_delta_that_does_not_fit_its_base_is_damage() {
    for mut replay in replays() {
        let base = replay.write(TABLE, &key(), Change::Put(&[1; 8]));
        replay.write(TABLE, &key(), delta(base));
        assert!(matches!(replay.ended(), Err(RecoveryError::MissingVersion { .. })));
    }
}

#[test]
fn what_waits_for_a_row_that_is_gone_or_a_table_that_was_dropped_is_none() {
    for mut replay in replays() {
        replay.write(TABLE, &key(), delta(Stamp(5)));
        replay.write(TABLE, &key(), Change::Delete);
        replay.write(TableId(TABLE.0 + 1), &key(), delta(Stamp(5)));
        replay.ended().unwrap();
    }
}

/// Its checksum holds, and what it names cannot be: no such place is in the log.
#[test]
fn a_record_that_names_impossible_parts_is_damage() {
    for last in [4000, 8192, 1_000_000, u64::MAX - 7] {
        let (world, first) = (World::new(Protocol::Serial, 1), LogOffset(64));
        let form = WriteForm::Values;
        let named = InParts { first, last: LogOffset(last), bytes: 90, parts: 2, checksum: 7, form };
        let mut log = world.writer(0);
        log.batch(&[put(1, 0, "a", "first")])
            .batch(&[Txn { in_parts: Some(named), ..put(2, 0, "b", "second") }])
            .flush();
        let error = world.recover().map(drop).unwrap_err();
        assert!(matches!(error, RecoveryError::Damaged { .. }), "{last}: {error}");
    }
}
