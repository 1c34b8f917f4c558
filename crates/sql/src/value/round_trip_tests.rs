//! Random values of all types, written and read again: as text, as bytes of the protocol, and as the engine stores them.

use std::net::IpAddr;
use std::sync::Arc;

use fastrand::Rng;

use super::interval::Interval;
use super::network::Network;
use super::numeric::Numeric;
use super::{json, parse, parse_binary, push_binary, push_text, storage};
use crate::datum::Datum;
use crate::settings::Settings;
use crate::types::{Declared, Modifier, Type};

const DAY_US: i64 = 86_400_000_000;
/// 0001-01-01 and 9999-12-31.
const DAYS: std::ops::Range<i32> = -719_162..2_932_896;

fn random_text(random: &mut Rng, least: usize) -> String {
    const CHARACTERS: [char; 14] = ['a', 'B', '1', ',', '{', '}', '"', '\\', '\n', ' ', 'é', '漢', '(', '\u{7f}'];
    // No blank at the end, which a `char(n)` does not keep.
    let text: String = (0..random.usize(least..12)).map(|_| CHARACTERS[random.usize(..CHARACTERS.len())]).collect();
    text.trim_end().to_owned() + if least > 0 { "x" } else { "" }
}

fn random_int(random: &mut Rng) -> i64 {
    match random.u8(..8) {
        0 => i64::MIN,
        1 => i64::MAX,
        2 => 0,
        _ => random.i64(..) >> random.u32(..64),
    }
}

fn random_numeric(random: &mut Rng) -> Numeric {
    let text = format!("{}{}e{}", random_int(random), random.u64(..), random.i32(-40..40));
    match random.u8(..10) {
        0 => Numeric::NAN,
        1 => Numeric::INFINITY,
        2 => Numeric::NEGATIVE_INFINITY,
        3 => Numeric::parse(&text).unwrap(),
        _ => Numeric::from_units(random_int(random), random.u8(..20)),
    }
}

fn random_json(random: &mut Rng, depth: u8) -> serde_json::Value {
    match random.u8(..if depth == 0 { 4 } else { 6 }) {
        0 => serde_json::Value::Null,
        1 => random.bool().into(),
        2 => serde_json::Value::Number(json::number_of(&Numeric::from_units(random_int(random), random.u8(..4)))),
        3 => random_text(random, 0).into(),
        4 => (0..random.u8(..4)).map(|_| random_json(random, depth - 1)).collect(),
        _ => (0..random.u8(..4)).map(|_| (random_text(random, 0), random_json(random, depth - 1))).collect(),
    }
}

fn random_datum(random: &mut Rng, ty: Type) -> Datum {
    match ty {
        Type::Bool => Datum::Bool(random.bool()),
        Type::Int2 => Datum::Int(random.i16(..).into()),
        Type::Int4 => Datum::Int(random.i32(..).into()),
        Type::Int8 => Datum::Int(random_int(random)),
        Type::OidVector => Datum::Array((0..random.u8(..4)).map(|_| random_datum(random, Type::Oid)).collect()),
        Type::Int2Vector => Datum::Array((0..random.u8(..4)).map(|_| random_datum(random, Type::Int2)).collect()),
        ty if matches!(ty, Type::Oid | Type::Xid) || ty.is_registered() => {
            Datum::Int((random.u32(..) >> random.u32(..32)).into())
        }
        Type::Float4 => Datum::Float(f32::from_bits(random.u32(..)).into()),
        Type::Float8 => Datum::Float(f64::from_bits(random.u64(..))),
        Type::Numeric => Datum::Numeric(Arc::new(random_numeric(random))),
        Type::Text | Type::Varchar | Type::Char | Type::Name | Type::Unknown => Datum::text(random_text(random, 0)),
        Type::InternalChar => Datum::text(if random.bool() { "" } else { "c" }),
        Type::Bytea => Datum::Bytes((0..random.u8(..9)).map(|_| random.u8(..)).collect()),
        Type::Date => Datum::Date(random.i32(DAYS)),
        Type::Time => Datum::Time(random.i64(0..=DAY_US)),
        Type::Timestamp | Type::Timestamptz => {
            Datum::Timestamp(i64::from(random.i32(DAYS)) * DAY_US + random.i64(0..DAY_US))
        }
        Type::Interval => {
            let (months, days) = (random.i32(-9_999..9_999), random.i32(-99_999..99_999));
            Datum::Interval(Interval { months, days, us: random.i64(-DAY_US * 9..DAY_US * 9) })
        }
        Type::Uuid => Datum::Uuid(random.u128(..).to_be_bytes()),
        Type::Inet => Datum::Network(random_network(random)),
        Type::Cidr => Datum::Network(random_network(random).network()),
        Type::MacAddr => Datum::MacAddr(std::array::from_fn(|_| random.u8(..))),
        Type::Enum(own) => Datum::Enum(own.labels()[random.usize(..own.labels().len())]),
        Type::Json => Datum::text(random_json(random, 3).to_string()),
        Type::Jsonb => Datum::Jsonb(Arc::new(random_json(random, 3))),
        Type::Array(element) => {
            let mut element = || if random.u8(..5) == 0 { Datum::Null } else { random_datum(random, *element) };
            let first = element();
            Datum::Array([first, element(), element()].into())
        }
        other => unreachable!("{other} has no values that are written"),
    }
}

/// Addresses of which some have much in common.
fn random_network(random: &mut Rng) -> Network {
    let bits = random.u128(..) & (u128::MAX << random.u32(..128)) & (u128::MAX >> random.u32(..128));
    let address =
        if random.bool() { IpAddr::from((bits as u32).to_be_bytes()) } else { IpAddr::from(bits.to_be_bytes()) };
    let host = Network::host(address);
    host.with_length(random.i64(0..=host.length_max().into())).expect("a length")
}

/// All types whose values can be written and read.
fn types() -> impl Iterator<Item = Type> {
    let scalars = Type::scalars().filter(|ty| !matches!(ty, Type::Record | Type::Void | Type::Trigger | Type::Unknown));
    let labels = crate::enumeration::tests::sample(&["sad", "it's", "a,b", "{", "", "null", "\\"]);
    scalars.chain([labels]).flat_map(|ty| [Some(ty), ty.array()]).flatten()
}

fn for_random_values(check: impl Fn(&Datum, Declared)) {
    let mut random = Rng::with_seed(11);
    for ty in types() {
        for _ in 0..200 {
            check(&random_datum(&mut random, ty), ty.into());
        }
    }
}

#[test]
fn text_is_read_as_the_value_that_was_shown() {
    let other = Settings { escapes_bytea: true, extra_float_digits: 3, ..Settings::default() };
    for settings in &[Settings::default(), other] {
        for_random_values(|datum, declared| {
            let mut out = Vec::new();
            push_text(datum, declared, settings, &mut out);
            let text = String::from_utf8(out).unwrap();
            assert_eq!(&parse(&text, declared, settings).unwrap(), datum, "{declared} {text}");
        });
    }
}

#[test]
fn bytes_are_read_as_the_value_that_was_sent() {
    for_random_values(|datum, declared| {
        let mut out = Vec::new();
        push_binary(datum, declared, &mut out);
        let again = parse_binary(&out, declared.ty).unwrap();
        assert_eq!(&again, datum, "{declared}");
        if let (Datum::Numeric(again), Datum::Numeric(numeric)) = (again, datum) {
            assert_eq!(again.scale(), numeric.scale());
        }
        // All that is shorter is refused or is another value, and never a panic.
        for end in 0..out.len() {
            let _ = parse_binary(&out[..end], declared.ty);
        }
    });
}

#[test]
fn what_was_stored_is_loaded() {
    let mut scratch = Vec::new();
    for_random_values(|datum, declared| {
        let mut scratch = Vec::new();
        let value = storage::store(datum, declared, &mut scratch).unwrap().value(&scratch);
        assert_eq!(&storage::load(value, declared).unwrap(), datum, "{declared}");
    });

    let mut random = Rng::with_seed(5);
    for _ in 0..1_000 {
        let scale = random.u8(..18);
        let declared =
            Declared { ty: Type::Numeric, modifier: Modifier::Digits { precision: 18, scale: i16::from(scale) } };
        let units = random.i64(-999_999_999_999_999_999..=999_999_999_999_999_999);
        let datum = Datum::Numeric(Arc::new(Numeric::from_units(units, scale)));
        let value = storage::store(&datum, declared, &mut scratch).unwrap().value(&scratch);
        assert_eq!(value, osier::Value::Numeric(units));
        assert_eq!(storage::load(value, declared).unwrap(), datum);
    }
}

#[test]
fn damage_is_refused_without_a_panic() {
    let settings = Settings::default();
    let mut random = Rng::with_seed(17);
    let mut refused = 0;
    for ty in types() {
        for _ in 0..300 {
            let declared = Declared::from(ty);
            let datum = random_datum(&mut random, ty);
            let (mut text, mut bytes, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
            push_text(&datum, declared, &settings, &mut text);
            push_binary(&datum, declared, &mut bytes);
            let damage = |bytes: &mut Vec<u8>, random: &mut Rng| {
                for _ in 0..random.usize(1..4) {
                    let at = random.usize(..=bytes.len());
                    bytes.insert(at, random.u8(..));
                }
            };
            damage(&mut text, &mut random);
            damage(&mut bytes, &mut random);
            refused += u32::from(parse(&String::from_utf8_lossy(&text), declared, &settings).is_err());
            refused += u32::from(parse_binary(&bytes, ty).is_err());
            if let osier::Value::Bytes(stored) = storage::store(&datum, declared, &mut scratch).unwrap().value(&scratch)
            {
                let mut stored = stored.to_vec();
                damage(&mut stored, &mut random);
                refused += u32::from(storage::load(osier::Value::Bytes(&stored), declared).is_err());
            }
        }
    }
    assert!(refused > 10_000, "{refused} refused");
}
