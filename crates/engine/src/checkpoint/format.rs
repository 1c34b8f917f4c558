//! The bytes of a checkpoint's parts; docs/checkpoint-format.md is the contract.
//!
//! Invariants:
//! - What is decoded is what was encoded at that place, or an error: a block's checksum is sealed by the database, the
//!   checkpoint, the part and the block's index, so that a sound block of another place is not sound.
//! - Nothing is allocated for a length that was read before it was compared with what the file holds.
//!
//! Absent: files (writer.rs, loader.rs).

use std::ops::RangeInclusive;

use crate::config::CheckpointKind;
use crate::ids::{DatabaseId, Stamp, TableId};
use crate::io::BLOCK_BYTES;
use crate::log::format::Seal;
use crate::log::format::bytes::{u32_at, u64_at};

const MAGIC: [u8; 8] = *b"OSIERCKP";
/// The format that this program writes.
pub(super) const VERSION: u32 = 1;
/// A part begins with a header of this length.
pub(crate) const HEADER_BYTES: usize = BLOCK_BYTES;
/// Before the rows of a block.
pub(crate) const BLOCK_HEADER_BYTES: usize = 32;
/// Before the key of a row.
const ROW_HEADER_BYTES: usize = 14;
const FOOTER_BYTES: usize = 24;
const COMPRESSED: u32 = 1;
const FOOTER: u32 = 2;

/// A reason why bytes are not what they should be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unsound {
    Version(u32),
    Foreign(String),
    Damaged(String),
}

fn damaged<T>(what: impl Into<String>) -> Result<T, Unsound> {
    Err(Unsound::Damaged(what.into()))
}

/// Which part of which checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartIdentity {
    pub(crate) database: DatabaseId,
    pub(crate) checkpoint: u64,
    pub(crate) part: u32,
    pub(crate) parts: u32,
    pub(crate) kind: CheckpointKind,
    /// The epoch E, or RSN.
    pub(crate) boundary: u64,
}

impl PartIdentity {
    pub(crate) fn seal(&self, block: u64) -> Seal {
        Seal::of_checkpoint(self.database, self.checkpoint, self.part, block)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES);
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend([0; 4]);
        out.extend(self.database.0.to_le_bytes());
        out.extend(self.checkpoint.to_le_bytes());
        out.extend(self.part.to_le_bytes());
        out.extend(self.parts.to_le_bytes());
        out.extend(u64::from(self.kind.tag()).to_le_bytes());
        out.extend(self.boundary.to_le_bytes());
        assert!(self.part < self.parts, "part {} of {}", self.part, self.parts);
        out.resize(HEADER_BYTES, 0);
        let checksum = crc_fast::crc32_iscsi(&out[16..]);
        out[12..16].copy_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Returns the part that a sound header names.
    pub(crate) fn decode(bytes: &[u8]) -> Option<PartIdentity> {
        let fields = bytes.get(..HEADER_BYTES)?;
        let part = PartIdentity {
            database: DatabaseId(u128::from_le_bytes(*fields[16..].first_chunk()?)),
            checkpoint: u64_at(fields, 32),
            part: u32_at(fields, 40),
            parts: u32_at(fields, 44),
            kind: if u64_at(fields, 48) == 1 { CheckpointKind::Epoch } else { CheckpointKind::Fuzzy },
            boundary: u64_at(fields, 56),
        };
        (part.part < part.parts && part.check(bytes).is_ok()).then_some(part)
    }

    /// Whether `bytes` are this part's header.
    pub(crate) fn check(&self, bytes: &[u8]) -> Result<(), Unsound> {
        let expected = self.encode();
        if bytes.len() < HEADER_BYTES {
            return damaged("it is cut short");
        }
        if bytes[..8] != MAGIC {
            return damaged("it does not begin like a checkpoint part");
        }
        let version = u32_at(bytes, 8);
        if version != VERSION {
            return Err(Unsound::Version(version));
        }
        let (found, sum) = (u32_at(bytes, 12), crc_fast::crc32_iscsi(&bytes[16..HEADER_BYTES]));
        if found != sum {
            return damaged(format!("its header's checksum is {found:08x} and should be {sum:08x}"));
        }
        if bytes[16..32] != expected[16..32] {
            return Err(Unsound::Foreign("it belongs to another database".to_owned()));
        }
        if bytes[..HEADER_BYTES] != expected[..] {
            let (checkpoint, part, parts) = (u64_at(bytes, 32), u32_at(bytes, 40), u32_at(bytes, 44));
            let what = format!("it says part {part} of {parts} of checkpoint {checkpoint}");
            return Err(Unsound::Foreign(what));
        }
        Ok(())
    }
}

/// What stands before the rows of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    checksum: u32,
    /// Length of what follows, as stored.
    pub(crate) stored: u32,
    /// Length of the rows.
    pub(super) raw: u32,
    pub(crate) table: TableId,
    pub(super) rows: u32,
    flags: u32,
}

/// The totals that end a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) rows: u64,
    /// Blocks of rows.
    pub(crate) blocks: u64,
    /// Of the rows, uncompressed.
    pub(crate) raw_bytes: u64,
}

impl BlockHeader {
    /// Returns the length of the block in the file.
    pub(crate) fn len(&self) -> u64 {
        (BLOCK_HEADER_BYTES as u64 + u64::from(self.stored)).next_multiple_of(BLOCK_BYTES as u64)
    }

    pub(crate) fn is_footer(&self) -> bool {
        self.flags & FOOTER != 0
    }

    pub(crate) fn decode(bytes: &[u8; BLOCK_HEADER_BYTES]) -> Result<BlockHeader, Unsound> {
        if bytes[24..].iter().any(|&byte| byte != 0) {
            return damaged("the header of a block has bytes beyond its end");
        }
        let field = |at| u32_at(bytes, at);
        let (checksum, stored, raw) = (field(0), field(4), field(8));
        let header =
            BlockHeader { checksum, stored, raw, table: TableId(field(12)), rows: field(16), flags: field(20) };
        match header.flags {
            0 | FOOTER if raw != stored => damaged("a block that is not compressed has two lengths"),
            FOOTER if header.table != TableId(0) || header.rows != 0 => damaged("a footer has no rows"),
            0 | COMPRESSED | FOOTER => Ok(header),
            other => damaged(format!("the flags {other:#x} of a block are unknown")),
        }
    }
}

/// Rows on their way into a block.
#[derive(Debug, Default)]
pub(crate) struct BlockBuilder {
    table: TableId,
    rows: u32,
    raw: Vec<u8>,
}

impl BlockBuilder {
    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub(super) fn table(&self) -> TableId {
        self.table
    }

    pub(super) fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the rows as they will be before compression.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn raw(&self) -> &[u8] {
        &self.raw
    }

    pub(super) fn raw_bytes(&self) -> usize {
        self.raw.len()
    }

    /// Adds a row; all rows of a block are of one table.
    pub(crate) fn push(&mut self, table: TableId, key: &[u8], stamp: Stamp, row: &[u8]) {
        assert!(self.is_empty() || self.table == table, "a block holds rows of one table");
        self.table = table;
        self.rows += 1;
        self.raw.extend(u16::try_from(key.len()).expect("keys are limited").to_le_bytes());
        self.raw.extend(u32::try_from(row.len()).expect("rows are limited").to_le_bytes());
        self.raw.extend(stamp.0.to_le_bytes());
        self.raw.extend(key);
        self.raw.extend(row);
    }

    /// The block with number `index` of its part, padded; the builder is empty again.
    pub(crate) fn build(&mut self, part: &PartIdentity, index: u64, compress: bool, out: &mut Vec<u8>) {
        let BlockBuilder { table, rows, raw } = self;
        assert!(
            *rows > 0 && raw.len() >= *rows as usize * ROW_HEADER_BYTES,
            "a block has rows; a reader takes zeros for none"
        );
        let compressed = compress.then(|| lz4_flex::block::compress(raw)).filter(|stored| stored.len() < raw.len());
        let (flags, stored) = compressed.as_ref().map_or((0, &*raw), |stored| (COMPRESSED, stored));
        put_block(part, index, flags, (*table, *rows, raw.len()), stored, out);
        (self.rows, self.raw) = (0, std::mem::take(raw));
        self.raw.clear();
    }
}

/// The block that ends a part.
pub(crate) fn footer(part: &PartIdentity, totals: &Totals, out: &mut Vec<u8>) {
    let mut bytes = Vec::with_capacity(FOOTER_BYTES);
    bytes.extend(totals.rows.to_le_bytes());
    bytes.extend(totals.blocks.to_le_bytes());
    bytes.extend(totals.raw_bytes.to_le_bytes());
    put_block(part, totals.blocks, FOOTER, (TableId(0), 0, FOOTER_BYTES), &bytes, out);
}

fn put_block(
    part: &PartIdentity,
    index: u64,
    flags: u32,
    (table, rows, raw): (TableId, u32, usize),
    stored: &[u8],
    out: &mut Vec<u8>,
) {
    let length = |bytes: usize| u32::try_from(bytes).expect("a block is small");
    out.clear();
    out.extend([0; 4]);
    for field in [length(stored.len()), length(raw), table.0, rows, flags, 0, 0] {
        out.extend(field.to_le_bytes());
    }
    let header = out.first_chunk::<BLOCK_HEADER_BYTES>().map(BlockHeader::decode);
    assert!(matches!(header, Some(Ok(_))) && out.len() == BLOCK_HEADER_BYTES, "a reader takes the header: {header:?}");
    out.extend(stored);
    let checksum = part.seal(index).checksum(&out[4..]);
    out[..4].copy_from_slice(&checksum.to_le_bytes());
    out.resize(out.len().next_multiple_of(BLOCK_BYTES), 0);
}

/// A row in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowRef<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) stamp: Stamp,
    pub(crate) row: &'a [u8],
}

/// Checks block `index` of a part, `bytes` from its header to the end of what is stored, and returns its content, for which `raw`
/// is a buffer.
pub(crate) fn open_block<'a>(
    part: &PartIdentity,
    index: u64,
    header: &BlockHeader,
    bytes: &'a [u8],
    raw: &'a mut Vec<u8>,
) -> Result<&'a [u8], Unsound> {
    let expected = part.seal(index).checksum(&bytes[4..]);
    if header.checksum != expected {
        return damaged(format!(
            "the checksum of block {index} is {:08x} and should be {expected:08x}",
            header.checksum
        ));
    }
    let stored = &bytes[BLOCK_HEADER_BYTES..];
    if header.flags & COMPRESSED == 0 {
        return Ok(stored);
    }
    // No input of LZ4 becomes more than 255 times as long: a length that is wrong must not make this allocate.
    if header.raw as usize > stored.len().saturating_mul(255) {
        return damaged(format!("block {index} cannot hold {} bytes in {}", header.raw, stored.len()));
    }
    raw.resize(header.raw as usize, 0);
    match lz4_flex::block::decompress_into(stored, raw) {
        Ok(length) if length == raw.len() => Ok(raw),
        Ok(length) => damaged(format!("block {index} holds {length} bytes, not {}", raw.len())),
        Err(error) => damaged(format!("block {index} cannot be decompressed: {error}")),
    }
}

/// Under which of `indexes` a block is sound: its bytes have one sum, to which each index adds a seal.
pub(super) fn find_index(
    part: &PartIdentity,
    header: &BlockHeader,
    bytes: &[u8],
    mut indexes: RangeInclusive<u64>,
) -> Option<u64> {
    // Zeros look like a block without rows.
    if header.rows == 0 && !header.is_footer() {
        return None;
    }
    let sum = crc_fast::crc32_iscsi(&bytes[4..]);
    indexes.find(|&index| part.seal(index).checksum(&[]) ^ sum == header.checksum)
}

/// Returns the totals in a footer.
pub(crate) fn read_footer(raw: &[u8]) -> Result<Totals, Unsound> {
    if raw.len() != FOOTER_BYTES {
        return damaged(format!("its footer has {} bytes", raw.len()));
    }
    Ok(Totals { rows: u64_at(raw, 0), blocks: u64_at(raw, 8), raw_bytes: u64_at(raw, 16) })
}

/// Takes the first row off `raw`; `None` at its end.
pub(crate) fn next_row<'a>(raw: &mut &'a [u8]) -> Result<Option<RowRef<'a>>, Unsound> {
    if raw.is_empty() {
        return Ok(None);
    }
    let Some((header, rest)) = raw.split_at_checked(ROW_HEADER_BYTES) else { return damaged("a row is cut short") };
    let (key, row) = (usize::from(u16::from_le_bytes([header[0], header[1]])), u32_at(header, 2) as usize);
    let stamp = Stamp(u64_at(header, 6));
    if stamp == Stamp::ZERO || stamp > Stamp::MAX {
        return damaged(format!("stamp {stamp} is out of range"));
    }
    let Some((key, rest)) = rest.split_at_checked(key) else { return damaged("a key is cut short") };
    let Some((row, rest)) = rest.split_at_checked(row) else { return damaged("a row is cut short") };
    *raw = rest;
    Ok(Some(RowRef { key, stamp, row }))
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
