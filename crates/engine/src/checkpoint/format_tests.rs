//! The documented bytes, every flipped bit, and blocks out of place.

use super::*;

fn part() -> PartIdentity {
    let (checkpoint, part, parts) = (3, 1, 2);
    PartIdentity { database: DatabaseId(0xfeed), checkpoint, part, parts, kind: CheckpointKind::Epoch, boundary: 7 }
}

fn block(index: u64, compress: bool) -> Vec<u8> {
    let mut builder = BlockBuilder::default();
    builder.push(TableId(16), b"key", Stamp(5), b"row one");
    builder.push(TableId(16), b"kez", Stamp(6), &[9; 300]);
    let mut out = Vec::new();
    builder.build(&part(), index, compress, &mut out);
    assert!(builder.is_empty() && builder.raw_bytes() == 0);
    out
}

fn open(bytes: &[u8], part: &PartIdentity, index: u64) -> Result<Vec<u8>, Unsound> {
    let mut header = [0; BLOCK_HEADER_BYTES];
    header.copy_from_slice(&bytes[..BLOCK_HEADER_BYTES]);
    let header = BlockHeader::decode(&header)?;
    if header.len() != bytes.len() as u64 {
        return damaged("its length is another");
    }
    let mut raw = Vec::new();
    let stored = &bytes[..BLOCK_HEADER_BYTES + header.stored as usize];
    open_block(part, index, &header, stored, &mut raw).map(<[u8]>::to_vec)
}

/// The bytes of docs/checkpoint-format.md; where this fails, the format has changed.
#[test]
fn the_bytes_are_the_documented_ones() {
    let header = part().encode();
    assert_eq!(header.len(), 4096);
    assert_eq!(&header[..12], b"OSIERCKP\x01\0\0\0");
    assert_eq!(header[16..18], [0xed, 0xfe]);
    assert_eq!((header[32], header[40], header[44], header[48], header[56]), (3, 1, 2, 1, 7));
    assert!(header[64..].iter().all(|&byte| byte == 0));
    let block = block(0, false);
    assert_eq!(block.len(), 4096);
    assert_eq!(u32_at(&block, 4), 341);
    assert_eq!(u32_at(&block, 8), 341);
    assert_eq!((u32_at(&block, 12), u32_at(&block, 16), u32_at(&block, 20)), (16, 2, 0));
    assert_eq!(&block[32..56], b"\x03\0\x07\0\0\0\x05\0\0\0\0\0\0\0keyrow one");
    let sums = [u32_at(&header, 12), u32_at(&block, 0)];
    assert_eq!(sums.map(|sum| format!("{sum:08x}")), GOLDEN, "the checksums and seals");
}

/// Of the header and of the block.
const GOLDEN: [&str; 2] = ["7f3639d2", "a3bda8cd"];

#[test]
fn what_is_written_is_read() {
    for compress in [false, true] {
        let bytes = block(4, compress);
        assert_eq!(u32_at(&bytes, 20), u32::from(compress), "it pays to compress this block");
        let raw = open(&bytes, &part(), 4).unwrap();
        let mut rest = &raw[..];
        let one = next_row(&mut rest).unwrap().unwrap();
        assert_eq!(one, RowRef { key: b"key", stamp: Stamp(5), row: b"row one" });
        assert_eq!(next_row(&mut rest).unwrap().unwrap().row, [9; 300]);
        assert_eq!(next_row(&mut rest).unwrap(), None);
    }
    let (totals, mut out) = (Totals { rows: 2, blocks: 1, raw_bytes: 341 }, Vec::new());
    footer(&part(), &totals, &mut out);
    assert_eq!(read_footer(&open(&out, &part(), 1).unwrap()), Ok(totals));
    part().check(&part().encode()).unwrap();
}

#[test]
fn every_flipped_bit_is_found() {
    for compress in [false, true] {
        let sound = block(4, compress);
        let end = BLOCK_HEADER_BYTES + u32_at(&sound, 4) as usize;
        for bit in 0..end * 8 {
            let mut bytes = sound.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(open(&bytes, &part(), 4), Err(Unsound::Damaged(_))), "bit {bit}");
        }
    }
    let sound = part().encode();
    for bit in (0..80 * 8).chain((640..sound.len() * 8).step_by(37)) {
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(part().check(&bytes).is_err(), "bit {bit}");
    }
}

#[test]
fn a_sound_block_of_another_place_is_not_sound() {
    let bytes = block(4, false);
    open(&bytes, &part(), 4).unwrap();
    assert!(open(&bytes, &part(), 5).is_err());
    let others = [
        PartIdentity { database: DatabaseId(0xbeef), ..part() },
        PartIdentity { checkpoint: 4, ..part() },
        PartIdentity { part: 0, ..part() },
    ];
    for other in others {
        assert!(open(&bytes, &other, 4).is_err());
        assert!(matches!(other.check(&part().encode()), Err(Unsound::Foreign(_))));
    }
}

#[test]
fn random_rows_never_panic() {
    let mut random = fastrand::Rng::with_seed(5);
    let sound = open(&block(0, false), &part(), 0).unwrap();
    for _ in 0..20_000 {
        let mut bytes = sound.clone();
        bytes.truncate(random.usize(..=bytes.len()));
        for _ in 0..random.usize(0..4) {
            if !bytes.is_empty() {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
        }
        let mut rest = &bytes[..];
        while let Ok(Some(row)) = next_row(&mut rest) {
            assert!(row.key.len() + row.row.len() <= bytes.len());
        }
        let _ = read_footer(&bytes);
    }
}
