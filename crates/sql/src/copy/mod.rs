//! The formats of `COPY`: text, CSV and binary, as PostgreSQL's page on `COPY` gives them.
//!
//! Invariants:
//! - Data comes in pieces of any length: a record that has not ended is kept until it has.
//! - Every error says which record it is about.

pub(crate) mod ahead;
pub(crate) mod direct;
pub(crate) mod options;
pub(crate) mod read;
pub(crate) mod split;
pub(crate) mod write;

pub(crate) use options::{Format, Options};

/// What a binary copy begins with: a signature, flags, and the length of an extension.
pub(crate) const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
