//! Records as programs wrote them up to version 4 of segments: tests see that they are still read.

use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::log::format::record::{ALIGNMENT, RecordHeader};
use crate::log::format::seal::Seal;

/// Returns a record of rows and deletes, with fields of fixed width.
pub(crate) fn encoded(header: &RecordHeader, writes: &[LoggedWrite<'_>], seal: Seal) -> Vec<u8> {
    const VALUES: u32 = 0;
    let mut bytes = vec![0; 8];
    [header.stamp.0, header.raw_dep.0, header.epoch.0].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    [header.write_count, VALUES].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    for LoggedWrite { table, key, change } in writes {
        let (kind, row) = match change {
            Change::Put(row) => (1, *row),
            Change::Delete => (2, &[][..]),
            Change::Delta(_) => panic!("there were none"),
        };
        bytes.extend(table.0.to_le_bytes());
        bytes.extend([kind, 0]);
        bytes.extend((key.len() as u16).to_le_bytes());
        bytes.extend((row.len() as u32).to_le_bytes());
        bytes.extend([*key, row].concat());
    }
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    let checksum = seal.checksum(&bytes[8..]);
    bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
    bytes
}
