//! What fuzzing calls of the protocol: the decoder of clients' bytes, with bytes to begin with and what must hold for any.
//!
//! Invariants, checked for every input, as a first packet and as messages:
//! - Nothing panics, and no more is read than is there.
//! - It does not matter in which pieces the bytes come: the messages, and the error at their end, are the same.
//! - No buffer grows beyond what came and what is read at a time, whatever length a message says.
//!
//! Absent: where inputs come from (`fuzz/` with cargo-fuzz, which includes this file; the test below without).

use bytes::BytesMut;

use super::input::Input;
use super::message::Request;
use super::startup_packet::{Packet, settings_of_options};

/// The longest message that is taken.
const MESSAGE_BYTES_MAX: usize = 4096;
/// What an empty buffer may take.
const ROOM_BYTES_MAX: usize = 256 * 1024;

/// Bytes that are accepted: a first packet, and conversations.
pub fn samples() -> Vec<Vec<u8>> {
    [
        &b"\0\0\0\x34\0\x03\0\0user\0osier\0options\0-c x=1 --y=2\0database\0d\0\0"[..],
        b"\0\0\0\x08\x04\xd2\x16\x2f",
        b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x01abcd",
        b"Q\0\0\0\x0dSELECT 1\0S\0\0\0\x04X\0\0\0\x04",
        b"P\0\0\0\x1as\0SELECT $1\0\0\x02\0\0\0\x17\0\0\0\0B\0\0\0\x1ap\0s\0\0\x01\0\x01\0\x02\0\0\0\x02ab\xff\xff\xff\xff\0\0",
        b"D\0\0\0\x07Pp\0E\0\0\0\x0ap\0\0\0\0\x05C\0\0\0\x07Ss\0H\0\0\0\x04",
        b"d\0\0\0\x071\t2c\0\0\0\x04f\0\0\0\x07no\0p\0\0\0\x06x\0F\0\0\0\x08abcd",
    ]
    .map(<[u8]>::to_vec)
    .into()
}

/// The messages in `bytes`, which come in pieces of so many, as texts, and the error behind them.
fn messages(bytes: &[u8], piece_bytes: usize) -> Vec<String> {
    let (mut input, mut told) = (Input::new(BytesMut::new(), MESSAGE_BYTES_MAX), Vec::new());
    for piece in bytes.chunks(piece_bytes.max(1)) {
        input.reserve();
        assert!(input.bytes.capacity() <= ROOM_BYTES_MAX + bytes.len(), "a length takes memory");
        input.bytes.extend_from_slice(piece);
        loop {
            match input.next() {
                Ok(Some((kind, body))) => told.push(match Request::decode(kind, body) {
                    Ok(request) => format!("{request:?}"),
                    Err(error) => format!("{} {error}", error.code()),
                }),
                Ok(None) => break,
                Err(error) => {
                    told.push(format!("{} {error}", error.code()));
                    return told;
                }
            }
        }
    }
    told
}

/// The first packets in `bytes`.
fn packets(bytes: &[u8]) -> bool {
    let (mut left, mut is_accepted) = (BytesMut::from(bytes), false);
    loop {
        let before = left.len();
        match Packet::take(&mut left) {
            Ok(Some(packet)) => {
                assert!(before - left.len() >= 8 && bytes.ends_with(&left), "a packet has a length and a number");
                is_accepted = true;
                if let Packet::Startup(startup) = packet
                    && let Some(options) = startup.parameters.get("options")
                {
                    drop(settings_of_options(options));
                }
            }
            Ok(None) => {
                assert_eq!(left.len(), before, "a part of a packet stays");
                return is_accepted;
            }
            Err(_) => return is_accepted,
        }
    }
}

/// Returns whether a message or a packet is accepted.
///
/// # Panics
/// Where something does not hold for the bytes.
pub fn check_message(bytes: &[u8]) -> bool {
    let whole = messages(bytes, bytes.len());
    for piece_bytes in [1, 3, 7] {
        assert_eq!(messages(bytes, piece_bytes), whole, "in pieces of {piece_bytes}");
    }
    packets(bytes) | whole.first().is_some_and(|first| !first.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::time::{Duration, Instant};

    use fastrand::Rng;

    use super::*;

    fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>, samples: &[Vec<u8>]) {
        let at = rng.usize(..bytes.len().max(1));
        let end = bytes.len().min(at + 1 + rng.usize(..8));
        let other = &samples[rng.usize(..samples.len())];
        match rng.u8(..6) {
            0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << rng.u8(..8)),
            1 => bytes.iter_mut().skip(at).take(4).for_each(|byte| *byte = [0, 0, 1, 0xff][rng.usize(..4)]),
            2 => bytes.truncate(at),
            3 if at < end => drop(bytes.drain(at..end)),
            4 => bytes.extend_from_slice(&other[rng.usize(..other.len())..]),
            _ => bytes.extend_from_slice(other),
        }
    }

    /// `OSIER_FUZZ_SECONDS=60` is how long it takes, `OSIER_FUZZ_SEED=7` the first seed.
    #[test]
    fn any_bytes_are_messages_or_an_error() {
        let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let (time, mut seed) = (variable("OSIER_FUZZ_SECONDS").unwrap_or(2), variable("OSIER_FUZZ_SEED").unwrap_or(0));
        let samples = samples();
        samples.iter().for_each(|sample| assert!(check_message(sample), "{}", sample.escape_ascii()));
        let (begun, mut counts) = (Instant::now(), [0_u64; 2]);
        while begun.elapsed() < Duration::from_secs(time) {
            let mut rng = Rng::with_seed(seed);
            let mut bytes = samples[rng.usize(..samples.len())].clone();
            (0..=rng.u8(..5)).for_each(|_| mutate(&mut rng, &mut bytes, &samples));
            let Ok(is_accepted) = catch_unwind(|| check_message(&bytes)) else {
                panic!("OSIER_FUZZ_SEED={seed}: {}", bytes.escape_ascii())
            };
            counts[usize::from(is_accepted)] += 1;
            seed += 1;
        }
        assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
    }
}
