//! Tests of casts. What they expect is what PostgreSQL 15 does.

use super::super::network::Network;
use super::*;

fn cast_as(datum: Datum, from: Type, to: impl Into<Declared>, explicit: bool) -> Result<Datum> {
    cast(datum, from, to.into(), explicit, &Settings::default())
}

fn explicit(datum: Datum, from: Type, to: impl Into<Declared>) -> Datum {
    cast_as(datum, from, to, true).unwrap()
}

fn message(datum: Datum, from: Type, to: impl Into<Declared>) -> String {
    cast_as(datum, from, to, true).unwrap_err().message
}

fn numeric(text: &str) -> Datum {
    Datum::Numeric(Arc::new(Numeric::parse(text).unwrap()))
}

fn jsonb(text: &str) -> Datum {
    Datum::Jsonb(Arc::new(json::parse(text).unwrap()))
}

fn length(ty: Type, length: u32) -> Declared {
    Declared { ty, modifier: Modifier::Length(length) }
}

#[test]
fn the_matrix_is_that_of_postgresql() {
    use Conversion::{Assignment, Explicit, Implicit};
    let cases = [
        (Type::Int4, Type::Int8, Some(Implicit)),
        (Type::Int8, Type::Int4, Some(Assignment)),
        (Type::Int4, Type::Bool, Some(Explicit)),
        (Type::Int8, Type::Bool, None),
        (Type::Int2, Type::Bool, None),
        (Type::Bool, Type::Text, Some(Assignment)),
        (Type::Text, Type::Bool, Some(Explicit)),
        (Type::Float8, Type::Numeric, Some(Assignment)),
        (Type::Numeric, Type::Float4, Some(Implicit)),
        (Type::Int4, Type::Text, Some(Assignment)),
        (Type::Text, Type::Int4, Some(Explicit)),
        (Type::Text, Type::Varchar, Some(Implicit)),
        (Type::Text, Type::Name, Some(Implicit)),
        (Type::Name, Type::Varchar, Some(Assignment)),
        (Type::Int4, Type::Oid, Some(Implicit)),
        (Type::Oid, Type::Int8, Some(Assignment)),
        (Type::Oid, Type::Int2, None),
        (Type::Text, Type::RegClass, Some(Implicit)),
        (Type::Date, Type::Timestamptz, Some(Implicit)),
        (Type::Timestamptz, Type::Date, Some(Assignment)),
        (Type::Date, Type::Int4, None),
        (Type::Time, Type::Interval, Some(Implicit)),
        (Type::Json, Type::Jsonb, Some(Assignment)),
        (Type::Jsonb, Type::Int4, Some(Explicit)),
        (Type::Json, Type::Int4, None),
        (Type::Uuid, Type::Text, Some(Assignment)),
        (Type::Uuid, Type::Bytea, None),
        (Type::Cidr, Type::Inet, Some(Implicit)),
        (Type::Inet, Type::Cidr, Some(Assignment)),
        (Type::Text, Type::Inet, Some(Explicit)),
        (Type::MacAddr, Type::Inet, None),
        (Type::Unknown, Type::Uuid, Some(Implicit)),
        (Type::Int4, Type::Unknown, None),
        (Type::Array(&Type::Int4), Type::Array(&Type::Int8), Some(Implicit)),
        (Type::Array(&Type::Text), Type::Array(&Type::Int4), Some(Explicit)),
        (Type::Array(&Type::Int4), Type::Text, Some(Assignment)),
        (Type::Array(&Type::Int4), Type::Int4, None),
        (Type::Text, Type::Array(&Type::Int4), Some(Explicit)),
        (Type::Record, Type::Text, Some(Assignment)),
        (Type::Text, Type::Record, None),
        (Type::InternalChar, Type::Int4, Some(Explicit)),
        (Type::InternalChar, Type::Int8, None),
    ];
    for (from, to, expected) in cases {
        assert_eq!(conversion(from, to), expected, "{from} to {to}");
    }
}

#[test]
fn whole_numbers_keep_their_range() {
    assert_eq!(explicit(Datum::Int(-5), Type::Int8, Type::Int2), Datum::Int(-5));
    assert_eq!(message(Datum::Int(40_000), Type::Int4, Type::Int2), "smallint out of range");
    assert_eq!(message(Datum::Int(1 << 40), Type::Int8, Type::Int4), "integer out of range");
    assert_eq!(explicit(Datum::Int(-1), Type::Int4, Type::Oid), Datum::Int(4_294_967_295));
    assert_eq!(explicit(Datum::Int(4_294_967_295), Type::Oid, Type::Int4), Datum::Int(-1));
    assert_eq!(explicit(Datum::Int(4_294_967_295), Type::Oid, Type::Int8), Datum::Int(4_294_967_295));
    assert_eq!(message(Datum::Int(5_000_000_000), Type::Int8, Type::Oid), "OID out of range");
    assert_eq!(message(Datum::Int(-1), Type::Int8, Type::Oid), "OID out of range");
    assert_eq!(explicit(Datum::Int(7), Type::Int4, Type::Bool), Datum::Bool(true));
    assert_eq!(explicit(Datum::Bool(true), Type::Bool, Type::Int4), Datum::Int(1));
    assert_eq!(explicit(Datum::Int(65), Type::Int4, Type::InternalChar), Datum::text("A"));
    assert_eq!(explicit(Datum::text("A"), Type::InternalChar, Type::Int4), Datum::Int(65));
    assert_eq!(message(Datum::Int(300), Type::Int4, Type::InternalChar), "\"char\" out of range");
}

#[test]
fn floats_round_half_to_even_and_numerics_away_from_zero() {
    let int = |float| explicit(Datum::Float(float), Type::Float8, Type::Int4);
    assert_eq!((int(2.5), int(3.5), int(-2.5)), (Datum::Int(2), Datum::Int(4), Datum::Int(-2)));
    assert_eq!(explicit(numeric("2.5"), Type::Numeric, Type::Int4), Datum::Int(3));
    for float in [f64::NAN, f64::INFINITY, 1e10, -2_147_483_649.0] {
        assert_eq!(message(Datum::Float(float), Type::Float8, Type::Int4), "integer out of range");
    }
    let whole = |float| cast_as(Datum::Float(float), Type::Float8, Type::Int8, false);
    assert_eq!(whole(-9_223_372_036_854_775_808.0).unwrap(), Datum::Int(i64::MIN));
    assert_eq!(whole(9_223_372_036_854_775_808.0).unwrap_err().message, "bigint out of range");
    assert_eq!(message(numeric("9223372036854775807.5"), Type::Numeric, Type::Int8), "bigint out of range");
    assert_eq!(message(numeric("NaN"), Type::Numeric, Type::Int4), "cannot convert NaN to integer");
    assert_eq!(message(numeric("inf"), Type::Numeric, Type::Int2), "cannot convert infinity to smallint");
}

#[test]
fn floats_keep_what_their_width_holds() {
    let real = |float| cast_as(Datum::Float(float), Type::Float8, Type::Float4, true);
    assert_eq!(real(0.1).unwrap(), Datum::Float(f64::from(0.1_f32)));
    assert_eq!(real(f64::INFINITY).unwrap(), Datum::Float(f64::INFINITY));
    assert_eq!(real(1e300).unwrap_err().message, "value out of range: overflow");
    assert_eq!(real(1e-300).unwrap_err().message, "value out of range: underflow");
    let shown = |from, float| match explicit(Datum::Float(float), from, Type::Numeric) {
        Datum::Numeric(numeric) => numeric.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(shown(Type::Float4, f64::from(0.1_f32)), "0.1");
    assert_eq!(shown(Type::Float8, f64::from(0.1_f32)), "0.100000001490116");
    assert_eq!(explicit(numeric("0.1"), Type::Numeric, Type::Float4), Datum::Float(f64::from(0.1_f32)));
    let beyond = format!("\"1{}\" is out of range for type real", "0".repeat(100));
    assert_eq!(message(numeric("1e100"), Type::Numeric, Type::Float4), beyond);
    assert_eq!(explicit(Datum::Int(16_777_217), Type::Int4, Type::Float4), Datum::Float(16_777_216.0));
}

#[test]
fn texts_are_cut_by_casts_alone() {
    let text = |text: &str| Datum::text(text);
    assert_eq!(explicit(text("abcdef"), Type::Text, length(Type::Varchar, 3)), text("abc"));
    assert_eq!(explicit(text("ab cd"), Type::Text, length(Type::Char, 3)), text("ab"));
    let assigned = |datum, to| cast_as(datum, Type::Text, to, false);
    let error = assigned(text("abcd"), length(Type::Varchar, 3)).unwrap_err();
    assert_eq!((error.message.as_str(), error.code()), ("value too long for type character varying(3)", "22001"));
    assert_eq!(assigned(text("abc  "), length(Type::Varchar, 3)).unwrap(), text("abc"));
    assert_eq!(assigned(text("abc  "), length(Type::Varchar, 4)).unwrap(), text("abc "));
    assert_eq!(cast_as(text("abcdef"), Type::Varchar, length(Type::Varchar, 3), true).unwrap(), text("abc"));
    assert_eq!(explicit(text("abcdef"), Type::Unknown, length(Type::Varchar, 3)), text("abc"));
    assert_eq!(explicit(Datum::Bool(true), Type::Bool, Type::Text), text("true"));
    assert_eq!(explicit(Datum::Bool(true), Type::Bool, length(Type::Char, 2)), text("tr"));
    assert_eq!(explicit(Datum::Int(123), Type::Int4, length(Type::Char, 2)), text("12"));
    assert_eq!(explicit(text(" 12 "), Type::Varchar, Type::Int4), Datum::Int(12));
    assert_eq!(explicit(text("abc"), Type::Text, Type::InternalChar), text("a"));
    assert_eq!(explicit(text(&"x".repeat(70)), Type::Text, Type::Name), text(&"x".repeat(63)));
    assert_eq!(message(text("x"), Type::Text, Type::Int4), "invalid input syntax for type integer: \"x\"");
}

#[test]
fn digits_and_fractions_apply() {
    let money = Declared { ty: Type::Numeric, modifier: Modifier::Digits { precision: 4, scale: 2 } };
    assert_eq!(explicit(Datum::Int(5), Type::Int4, money), numeric("5.00"));
    assert_eq!(explicit(numeric("1.005"), Type::Numeric, money), numeric("1.01"));
    assert_eq!(message(Datum::Int(100), Type::Int4, money), "numeric field overflow");
    let fraction = |ty| Declared { ty, modifier: Modifier::Fraction(3) };
    let timestamp = |us| explicit(Datum::Timestamp(us), Type::Timestamp, fraction(Type::Timestamp));
    assert_eq!(timestamp(1_234_567), Datum::Timestamp(1_235_000));
    assert_eq!((timestamp(i64::MAX), timestamp(i64::MIN)), (Datum::Timestamp(i64::MAX), Datum::Timestamp(i64::MIN)));
    assert_eq!(explicit(Datum::Time(1_499), Type::Time, fraction(Type::Time)), Datum::Time(1_000));
}

#[test]
fn times_become_other_times() {
    const DAY: i64 = DAY_US;
    assert_eq!(explicit(Datum::Date(2), Type::Date, Type::Timestamp), Datum::Timestamp(2 * DAY));
    assert_eq!(explicit(Datum::Timestamp(2 * DAY + 5), Type::Timestamp, Type::Date), Datum::Date(2));
    assert_eq!(explicit(Datum::Timestamp(2 * DAY + 5), Type::Timestamptz, Type::Time), Datum::Time(5));
    assert_eq!(explicit(Datum::Timestamp(i64::MAX), Type::Timestamptz, Type::Timestamp), Datum::Timestamp(i64::MAX));
    assert!(explicit(Datum::Timestamp(i64::MIN), Type::Timestamp, Type::Time).is_null());
    let interval = |days, us| Datum::Interval(Interval { months: 0, days, us });
    assert_eq!(explicit(Datum::Time(7), Type::Time, Type::Interval), interval(0, 7));
    assert_eq!(explicit(interval(0, -3_600_000_000), Type::Interval, Type::Time), Datum::Time(DAY - 3_600_000_000));
    assert_eq!(explicit(interval(1, DAY + 9), Type::Interval, Type::Time), Datum::Time(9));
}

#[test]
fn jsonb_becomes_what_it_holds() {
    assert_eq!(explicit(jsonb("1.5"), Type::Jsonb, Type::Int4), Datum::Int(2));
    assert_eq!(explicit(jsonb("1.50"), Type::Jsonb, Type::Numeric), numeric("1.5"));
    assert_eq!(explicit(jsonb("1.5"), Type::Jsonb, Type::Float8), Datum::Float(1.5));
    assert_eq!(explicit(jsonb("true"), Type::Jsonb, Type::Bool), Datum::Bool(true));
    assert_eq!(message(jsonb("\"a\""), Type::Jsonb, Type::Int4), "cannot cast jsonb string to type integer");
    assert_eq!(message(jsonb("null"), Type::Jsonb, Type::Int4), "cannot cast jsonb null to type integer");
    assert_eq!(message(jsonb("[1]"), Type::Jsonb, Type::Bool), "cannot cast jsonb array to type boolean");
    assert_eq!(message(jsonb("1"), Type::Jsonb, Type::Bool), "cannot cast jsonb numeric to type boolean");
    assert_eq!(message(jsonb("true"), Type::Jsonb, Type::Int4), "cannot cast jsonb boolean to type integer");
    assert_eq!(explicit(Datum::text("{ }"), Type::Json, Type::Jsonb), jsonb("{}"));
    assert_eq!(explicit(jsonb("{\"a\":1}"), Type::Jsonb, Type::Json), Datum::text("{\"a\": 1}"));
}

#[test]
fn arrays_are_cast_by_their_elements() {
    let ints = Datum::Array([Datum::Int(1), Datum::Null].into());
    let texts = Datum::Array([Datum::text("1"), Datum::Null].into());
    let (int_array, text_array) = (Type::Array(&Type::Int4), Type::Array(&Type::Text));
    assert_eq!(explicit(ints.clone(), int_array, text_array), texts);
    assert_eq!(explicit(texts, text_array, int_array), ints);
    assert_eq!(explicit(ints, int_array, Type::Text), Datum::text("{1,NULL}"));
    let long = Datum::Array([Datum::text("abcd")].into());
    let short = Datum::Array([Datum::text("abc")].into());
    let declared = length(Type::Array(&Type::Varchar), 3);
    assert_eq!(explicit(long.clone(), text_array, declared), short);
    assert!(cast_as(long, text_array, declared, false).is_err());
    assert_eq!(explicit(Datum::Null, Type::Int4, Type::Text), Datum::Null);
}

#[test]
fn every_conversion_that_is_allowed_is_done() {
    let sample = |ty: Type| -> Option<Datum> {
        Some(match ty {
            Type::Bool => Datum::Bool(true),
            Type::Int2 | Type::Int4 | Type::Int8 => Datum::Int(1),
            Type::Oid | Type::Xid => Datum::Int(1),
            Type::RegClass | Type::RegType | Type::RegProc | Type::RegProcedure => Datum::Int(1),
            Type::RegOperator | Type::RegNamespace | Type::RegRole => Datum::Int(1),
            Type::OidVector | Type::Int2Vector => Datum::Array([Datum::Int(1)].into()),
            Type::Float4 | Type::Float8 => Datum::Float(1.0),
            Type::Numeric => numeric("1"),
            Type::Text | Type::Varchar | Type::Char | Type::Name | Type::InternalChar | Type::Json => Datum::text("1"),
            Type::Bytea => Datum::Bytes([1].into()),
            Type::Date => Datum::Date(1),
            Type::Time => Datum::Time(1),
            Type::Timestamp | Type::Timestamptz => Datum::Timestamp(1),
            Type::Interval => Datum::Interval(Interval::default()),
            Type::Uuid => Datum::Uuid([1; 16]),
            Type::Inet | Type::Cidr => Datum::Network(Network::parse("10.0.0.0/8", ty).unwrap()),
            Type::MacAddr => Datum::MacAddr([1; 6]),
            Type::Jsonb => jsonb("1"),
            Type::Enum(own) => Datum::Enum(own.labels()[0]),
            Type::Record | Type::Void | Type::Trigger | Type::Unknown | Type::Array(_) => return None,
        })
    };
    let all = || Type::scalars().chain([crate::enumeration::tests::sample(&["1", "2"])]);
    for from in all() {
        for to in all().filter(|to| *to != from && sample(*to).is_some()) {
            let Some(datum) = sample(from) else { continue };
            if conversion(from, to).is_none() {
                continue;
            }
            match cast_as(datum, from, to, true) {
                Ok(made) => assert!(same_kind(&made, sample(to)), "{from} to {to}"),
                // The sample is no value of the other type.
                Err(error) => {
                    assert!(from.is_string() || from == Type::Jsonb && to == Type::Bool, "{from} to {to}: {error}")
                }
            }
        }
    }
}

/// Whether two values have the same variant.
fn same_kind(a: &Datum, b: Option<Datum>) -> bool {
    b.is_some_and(|b| std::mem::discriminant(a) == std::mem::discriminant(&b))
}
