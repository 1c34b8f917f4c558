//! Digests of texts and bytes.

use std::fmt::Write;

use md5::Md5;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::argument::*;
use super::functions;
use crate::datum::Datum;

functions! {
    /// Digests.
    FUNCTIONS:
    "md5" (Text) -> Text = |_, a| Ok(md5_text(text(&a[0]).as_bytes()));
    "md5" (Bytea) -> Text = |_, a| Ok(md5_text(bytes(&a[0])));
    "sha224" (Bytea) -> Bytea = |_, a| Ok(Datum::Bytes(Sha224::digest(bytes(&a[0])).as_slice().into()));
    "sha256" (Bytea) -> Bytea = |_, a| Ok(Datum::Bytes(Sha256::digest(bytes(&a[0])).as_slice().into()));
    "sha384" (Bytea) -> Bytea = |_, a| Ok(Datum::Bytes(Sha384::digest(bytes(&a[0])).as_slice().into()));
    "sha512" (Bytea) -> Bytea = |_, a| Ok(Datum::Bytes(Sha512::digest(bytes(&a[0])).as_slice().into()));
}

fn md5_text(input: &[u8]) -> Datum {
    let mut out = String::with_capacity(32);
    for byte in Md5::digest(input) {
        let _ = write!(out, "{byte:02x}");
    }
    Datum::text(out)
}
