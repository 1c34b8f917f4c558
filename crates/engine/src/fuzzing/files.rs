//! The manifest and checkpoints: blocks, and a part as recovery loads it.

use std::path::{Path, PathBuf};

use super::disk::{HOME, ReadOnly};
use super::{DATABASE, put_sum};
use crate::checkpoint::files;
use crate::checkpoint::format::{
    self, BLOCK_HEADER_BYTES, BlockBuilder, BlockHeader, HEADER_BYTES, PartIdentity, Totals,
};
use crate::checkpoint::loader::PartReader;
use crate::config::{CheckpointKind, Protocol};
use crate::directory::manifest::{
    CheckpointEntry, CheckpointPart, FrozenGeneration, FrozenStream, Manifest, NEVER, StreamBegin, codec,
};
use crate::ids::{Epoch, LogOffset, Stamp, TableId};

pub(super) fn manifests() -> Vec<Vec<u8>> {
    let new = Manifest::new(DATABASE, Protocol::Poplar, 3, &[PathBuf::from("/a"), PathBuf::from("/b")]);
    let mut frozen = new.clone();
    let (max_seen, streams) =
        (Stamp(80), vec![FrozenStream { first_sequence: 1, end: LogOffset(8192), durable: Stamp(70) }; 3]);
    let layout = new.current.clone();
    let (cut, max_epoch) = (Stamp(70), Epoch(9));
    frozen.frozen.push(FrozenGeneration { layout, cut, max_seen, max_epoch, clean: false, until: NEVER, streams });
    frozen.current.generation.0 += 1;
    (frozen.current.floor, frozen.current.epoch_floor) = (max_seen, max_epoch);
    frozen.begins = StreamBegin::of(&frozen.current);
    let mut covered = new.clone();
    covered.checkpoints.push(CheckpointEntry {
        number: 4,
        kind: CheckpointKind::Epoch,
        boundary: 17,
        max_seen: Stamp(90),
        max_epoch: Epoch(18),
        taken_seconds: 1_700_000_000,
        rows: 1000,
        raw_bytes: 100_000,
        parts: vec![CheckpointPart { directory: 0, bytes: 8192 }, CheckpointPart { directory: 1, bytes: 4096 }],
    });
    [new, frozen, covered].iter().map(|sample| codec::encode(sample).expect("names are UTF-8")).collect()
}

pub(super) fn seal_manifest(bytes: &mut [u8]) {
    if bytes.len() >= 16 {
        let sum = crc_fast::crc32_iscsi(&bytes[16..]);
        put_sum(bytes, 12, sum);
    }
}

pub(super) fn check_manifest(bytes: &[u8]) -> bool {
    let Ok(manifest) = codec::decode(bytes) else { return false };
    let again = codec::encode(&manifest).expect("names were read as UTF-8");
    assert_eq!(codec::decode(&again).ok(), Some(manifest), "a manifest is what is encoded again");
    assert!(bytes[8..12] != again[8..12] || again == bytes, "of the present format there is one encoding");
    true
}

fn part() -> PartIdentity {
    let (kind, boundary) = (CheckpointKind::Epoch, 17);
    PartIdentity { database: DATABASE, checkpoint: 4, part: 0, parts: 2, kind, boundary }
}

fn block(index: u64, rows: u8, compress: bool) -> Vec<u8> {
    let (mut builder, mut out) = (BlockBuilder::default(), Vec::new());
    for row in 0..rows {
        builder.push(TableId(3), &[index as u8, row], Stamp(u64::from(row) + 1), &[5; 90]);
    }
    builder.build(&part(), index, compress, &mut out);
    out
}

fn footer(totals: &Totals) -> Vec<u8> {
    let mut out = Vec::new();
    format::footer(&part(), totals, &mut out);
    out
}

pub(super) fn blocks() -> Vec<Vec<u8>> {
    let footer = footer(&Totals::default());
    vec![part().encode(), block(0, 1, false), block(0, 40, false), block(0, 40, true), footer]
}

pub(super) fn parts() -> Vec<Vec<u8>> {
    let totals = Totals { rows: 61, blocks: 2, raw_bytes: 61 * (14 + 2 + 90) };
    let blocks = [part().encode(), block(0, 21, false), block(1, 40, true), footer(&totals)];
    vec![blocks.concat(), [part().encode(), footer(&Totals::default())].concat()]
}

pub(super) fn seal_block(bytes: &mut [u8]) {
    seal_at(bytes, 0);
}

/// Seals the block `index` at the start of `bytes`; returns where the next one is.
fn seal_at(bytes: &mut [u8], index: u64) -> Option<u64> {
    let (header, stored) = block_of(bytes)?;
    let sum = part().seal(index).checksum(&bytes[4..BLOCK_HEADER_BYTES + stored]);
    put_sum(bytes, 0, sum);
    Some(header.len())
}

pub(super) fn seal_part(bytes: &mut [u8]) {
    let (mut at, mut index) = (HEADER_BYTES, 0);
    while let Some(length) = bytes.get_mut(at..).and_then(|bytes| seal_at(bytes, index)) {
        (at, index) = (at + length as usize, index + 1);
    }
}

/// The header, and the length of what is stored, where it is all there.
fn block_of(bytes: &[u8]) -> Option<(BlockHeader, usize)> {
    let header = BlockHeader::decode(bytes.first_chunk()?).ok()?;
    let stored = header.stored as usize;
    (bytes.len() - BLOCK_HEADER_BYTES >= stored).then_some((header, stored))
}

pub(super) fn check_block(bytes: &[u8]) -> bool {
    if part().check(bytes).is_ok() {
        assert!(bytes.starts_with(&part().encode()), "a header is what is encoded again");
        return true;
    }
    let Some((header, stored)) = block_of(bytes) else { return false };
    let (stored, mut buffer) = (&bytes[..BLOCK_HEADER_BYTES + stored], Vec::new());
    let Ok(raw) = format::open_block(&part(), 0, &header, stored, &mut buffer) else { return false };
    if header.is_footer() {
        let totals = format::read_footer(raw);
        if let Ok(totals @ Totals { blocks: 0, .. }) = totals {
            assert!(footer(&totals).starts_with(stored), "a footer is what is encoded again");
        }
        return totals.is_ok();
    }
    let (mut builder, mut rest) = (BlockBuilder::default(), raw);
    while !rest.is_empty() {
        let Ok(Some(row)) = format::next_row(&mut rest) else { return false };
        builder.push(header.table, row.key, row.stamp, row.row);
    }
    assert_eq!(builder.raw(), raw, "rows are what is encoded again");
    true
}

/// A part as recovery loads it, in one go and in runs of blocks; both must agree.
pub(super) fn check_part(bytes: &[u8]) -> bool {
    let manifest = Manifest::new(DATABASE, Protocol::Poplar, 1, &[PathBuf::from(HOME)]);
    let path = files::part_path(Path::new(HOME), part().checkpoint, part().part);
    let disk = ReadOnly::new(&manifest, &path, bytes);
    let open = || PartReader::open(&disk, path.clone(), part(), bytes.len() as u64);
    let Ok(mut whole) = open() else { return false };
    let mut rows = Vec::new();
    let is_whole = loop {
        match whole.next_block(|table, row| rows.push((table, row.key.to_vec(), row.stamp, row.row.to_vec()))) {
            Ok(true) => {}
            ended => break ended.is_ok(),
        }
    };
    let is_ascending = rows.windows(2).all(|pair| (pair[0].0, &pair[0].1) < (pair[1].0, &pair[1].1));
    assert!(!is_whole || is_ascending, "the keys of a sound part ascend");
    let mut part = open().expect("it was opened before");
    let mut taken = 0;
    let in_runs = loop {
        match part.take_run(1) {
            Ok(Some(mut run)) => match run.next_block(|_, _| taken += 1) {
                Ok(_) => part.join(run),
                Err(_) => break false,
            },
            Ok(None) => break part.finish().is_ok(),
            Err(_) => break false,
        }
    };
    assert_eq!((is_whole, rows.len()), (in_runs, if in_runs { taken } else { rows.len() }), "runs are the part");
    is_whole
}
