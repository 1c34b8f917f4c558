//! Functions that PostgreSQL has in extensions: `pgcrypto` and `uuid-ossp`. They are there whether the extension is created or
//! not.
//!
//! Absent: ciphers, and `crypt`, which would keep a thread of all sessions busy for as long as its salt says.

use md5::Md5;
use ring::digest;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::argument::*;
use super::{Call, functions};
use crate::datum::Datum;
use crate::error::{Result, SqlState};

/// An extension.
pub(crate) struct Extension {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) comment: &'static str,
    /// Its functions that there are.
    pub(crate) functions: &'static [&'static str],
}

/// The extensions that can be created.
pub(crate) const EXTENSIONS: &[Extension] = &[
    Extension {
        name: "pgcrypto",
        version: "1.3",
        comment: "cryptographic functions",
        functions: &["digest", "gen_random_bytes", "gen_random_uuid", "hmac"],
    },
    Extension {
        name: "uuid-ossp",
        version: "1.1",
        comment: "generate universally unique identifiers (UUIDs)",
        functions: &[
            "uuid_generate_v1",
            "uuid_generate_v1mc",
            "uuid_generate_v3",
            "uuid_generate_v4",
            "uuid_generate_v5",
            "uuid_nil",
            "uuid_ns_dns",
            "uuid_ns_oid",
            "uuid_ns_url",
            "uuid_ns_x500",
        ],
    },
];

/// The name spaces of RFC 9562, appendix C: they differ in one digit.
const fn name_space(digit: u8) -> [u8; 16] {
    [0x6b, 0xa7, 0xb8, digit, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8]
}

/// Between 1582-10-15, from where the first version of uuids counts, and 1970-01-01.
const GREGORIAN_US: i64 = 12_219_292_800_000_000;

/// The most bytes that one call draws.
const RANDOM_BYTES_MAX: i64 = 1024;

functions! {
    /// Functions of extensions.
    FUNCTIONS:
    "digest" (Text, Text) -> Bytea = |_, a| digested(text(&a[0]).as_bytes(), text(&a[1]));
    "digest" (Bytea, Text) -> Bytea = |_, a| digested(bytes(&a[0]), text(&a[1]));
    "hmac" (Text, Text, Text) -> Bytea = |_, a| signed(text(&a[0]).as_bytes(), text(&a[1]).as_bytes(), text(&a[2]));
    "hmac" (Bytea, Bytea, Text) -> Bytea = |_, a| signed(bytes(&a[0]), bytes(&a[1]), text(&a[2]));
    "gen_random_bytes" (Int4) -> Bytea [volatile] = |call, a| random_bytes(call, int(&a[0]));
    "uuid_generate_v1" () -> Uuid [volatile] = |call, _| of_time(call);
    "uuid_generate_v1mc" () -> Uuid [volatile] = |call, _| of_time(call);
    "uuid_generate_v3" (Uuid, Text) -> Uuid = |_, a| Ok(versioned(Md5::digest(named(a)).into(), 3));
    "uuid_generate_v4" () -> Uuid [volatile] = |call, _| Ok(versioned(call.environment.random_uuid()?, 4));
    "uuid_generate_v5" (Uuid, Text) -> Uuid = |_, a| {
        let whole = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &named(a));
        let mut first = [0; 16];
        first.copy_from_slice(&whole.as_ref()[..16]);
        Ok(versioned(first, 5))
    };
    "uuid_nil" () -> Uuid = |_, _| Ok(Datum::Uuid([0; 16]));
    "uuid_ns_dns" () -> Uuid = |_, _| Ok(Datum::Uuid(name_space(0x10)));
    "uuid_ns_url" () -> Uuid = |_, _| Ok(Datum::Uuid(name_space(0x11)));
    "uuid_ns_oid" () -> Uuid = |_, _| Ok(Datum::Uuid(name_space(0x12)));
    "uuid_ns_x500" () -> Uuid = |_, _| Ok(Datum::Uuid(name_space(0x14)));
}

/// Makes sixteen bytes a uuid of a version, of the variant of RFC 9562.
fn versioned(mut bytes: [u8; 16], version: u8) -> Datum {
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Datum::Uuid(bytes)
}

/// A name within its name space.
fn named(arguments: &[Datum]) -> Vec<u8> {
    let Datum::Uuid(space) = &arguments[0] else { return Vec::new() };
    [space, text(&arguments[1]).as_bytes()].concat()
}

/// A uuid of the time, in steps of 100 ns, with random bits in place of the number of a network card.
fn of_time(call: &Call<'_>) -> Result<Datum> {
    let mut bytes = call.environment.random_uuid()?;
    let steps = call.environment.clock_us().saturating_add(GREGORIAN_US).saturating_mul(10);
    // The clock has no more digits.
    let time = (steps as u64).wrapping_add(u64::from(bytes[0] % 10)).to_be_bytes();
    let [high, middle, low] = [&time[..2], &time[2..4], &time[4..]];
    for (at, byte) in [low, middle, high].concat().into_iter().enumerate() {
        bytes[at] = byte;
    }
    // A group address is that of no card.
    bytes[10] |= 1;
    Ok(versioned(bytes, 1))
}

fn random_bytes(call: &Call<'_>, count: i64) -> Result<Datum> {
    if !(1..=RANDOM_BYTES_MAX).contains(&count) {
        return Err(error(SqlState::ExternalRoutineInvocationException, "Length not in range"));
    }
    let count = usize::try_from(count).unwrap_or_default();
    let mut drawn = Vec::with_capacity(count + 16);
    while drawn.len() < count {
        drawn.extend(call.environment.random_uuid()?);
    }
    Ok(Datum::Bytes(drawn[..count].into()))
}

/// Digests an input; an algorithm may be called `sha-256`, too.
fn digested_by(name: &str, input: &[u8]) -> Result<Vec<u8>> {
    Ok(match name.to_ascii_lowercase().replace('-', "").as_str() {
        "md5" => Md5::digest(input).to_vec(),
        "sha1" => digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, input).as_ref().to_vec(),
        "sha224" => Sha224::digest(input).to_vec(),
        "sha256" => Sha256::digest(input).to_vec(),
        "sha384" => Sha384::digest(input).to_vec(),
        "sha512" => Sha512::digest(input).to_vec(),
        _ => {
            let message = format!("Cannot use \"{name}\": No such hash algorithm");
            let hint = "There are md5, sha1, sha224, sha256, sha384 and sha512.";
            return Err(error(SqlState::InvalidParameterValue, message).with_hint(hint));
        }
    })
}

fn digested(input: &[u8], name: &str) -> Result<Datum> {
    Ok(Datum::Bytes(digested_by(name, input)?.into()))
}

/// HMAC (RFC 2104).
fn signed(input: &[u8], key: &[u8], name: &str) -> Result<Datum> {
    let is_wide = digested_by(name, &[])?.len() > 32;
    let block = if is_wide { 128 } else { 64 };
    let mut padded = if key.len() > block { digested_by(name, key)? } else { key.to_vec() };
    padded.resize(block, 0);
    let keyed = |pad: u8| padded.iter().map(|byte| byte ^ pad).collect::<Vec<u8>>();
    let inner = digested_by(name, &[&keyed(0x36)[..], input].concat())?;
    digested(&[keyed(0x5c), inner].concat(), name)
}

/// The extension that a function is of.
pub(crate) fn of_function(name: &str) -> Option<&'static Extension> {
    EXTENSIONS.iter().find(|extension| extension.functions.contains(&name))
}
