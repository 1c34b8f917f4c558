//! The parser of a client's text under cargo-fuzz.
//!
//! Absent: what must hold, which is `osier_sql::fuzzing`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use osier_sql::fuzzing::check_statement;

fuzz_target!(|bytes: &[u8]| {
    check_statement(bytes);
});
