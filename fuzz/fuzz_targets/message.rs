//! The decoder of a client's bytes under cargo-fuzz. The server is no library, so its files are read here.
//!
//! Absent: what must hold, which is `serve/fuzzing.rs`.

#![no_main]
#![allow(dead_code, reason = "the server uses more of these files")]

#[path = "../../crates/server/src/serve"]
mod serve {
    pub mod fuzzing;
    mod input;
    mod message;
    mod startup_packet;
}

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    serve::fuzzing::check_message(bytes);
});
