//! A parser under cargo-fuzz: the one that the target is named after.
//!
//! Absent: what must hold, which is `osier::fuzzing`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use osier::fuzzing::PARSERS;

fuzz_target!(|bytes: &[u8]| {
    let parser = PARSERS.iter().find(|parser| parser.name == env!("CARGO_BIN_NAME"));
    let _ = (parser.expect("a target is named after a parser").check)(bytes);
});
