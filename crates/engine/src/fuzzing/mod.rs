//! What fuzzing calls: for each parser of bytes from disk, and for that of procedures, its name, valid bytes to begin with, and
//! what must hold for any.
//!
//! Invariants, checked for every input as it is and again with its checksums made right, so that what lies behind them is
//! reached:
//! - Nothing panics, whatever the bytes.
//! - What is accepted is what encoding gives again: no two byte strings mean the same, but for older formats, for padding
//!   that nobody reads and for texts, where what was decoded is decoded again.
//! - Encoded keys are ordered as their values.
//!
//! Deliberately absent: where inputs come from (`fuzz/` with cargo-fuzz, `crates/testkit/tests/fuzz.rs` without), and limits
//! on allocations, which those watch.

mod disk;
mod files;
mod log;
mod procedures;
mod values;

use crate::ids::DatabaseId;

/// A parser of bytes that may be damaged or made up.
pub struct Parser {
    /// What it reads.
    pub name: &'static str,
    /// Bytes that it accepts.
    pub samples: fn() -> Vec<Vec<u8>>,
    /// Whether these bytes are accepted, as they are or with their checksums made right.
    ///
    /// # Panics
    /// Where something does not hold for them.
    pub check: fn(&[u8]) -> bool,
}

/// All of them.
pub const PARSERS: &[Parser] = &[
    Parser { name: "record", samples: log::records, check: |bytes| twice(bytes, log::seal_record, log::check_record) },
    Parser { name: "batch", samples: log::batches, check: |bytes| twice(bytes, log::seal_batch, log::check_batch) },
    Parser {
        name: "segment",
        samples: log::segments,
        check: |bytes| twice(bytes, log::seal_segment, log::check_segment),
    },
    Parser {
        name: "manifest",
        samples: files::manifests,
        check: |bytes| twice(bytes, files::seal_manifest, files::check_manifest),
    },
    Parser {
        name: "block",
        samples: files::blocks,
        check: |bytes| twice(bytes, files::seal_block, files::check_block),
    },
    Parser { name: "part", samples: files::parts, check: |bytes| twice(bytes, files::seal_part, files::check_part) },
    Parser { name: "key", samples: values::keys, check: values::check_key },
    Parser { name: "row", samples: values::rows, check: values::check_row },
    Parser { name: "schema", samples: values::schemas, check: values::check_schema },
    Parser { name: "procedure", samples: procedures::texts, check: procedures::check_text },
];

/// Of the database that the samples are from.
const DATABASE: DatabaseId = DatabaseId(7);

fn twice(bytes: &[u8], seal: fn(&mut [u8]), check: fn(&[u8]) -> bool) -> bool {
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    check(bytes) | check(&sealed)
}

fn put_sum(bytes: &mut [u8], at: usize, sum: u32) {
    bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}
