//! Tests of values as the engine stores them.

use super::*;

fn declared(ty: Type, modifier: Modifier) -> Declared {
    Declared { ty, modifier }
}

fn digits(precision: u16, scale: i16) -> Declared {
    declared(Type::Numeric, Modifier::Digits { precision, scale })
}

fn numeric(text: &str) -> Datum {
    Datum::Numeric(Arc::new(Numeric::parse(text).unwrap()))
}

fn bytes_of(datum: &Datum, declared: impl Into<Declared>) -> Vec<u8> {
    let mut scratch = Vec::new();
    match store(datum, declared.into(), &mut scratch).unwrap().value(&scratch) {
        Value::Bytes(bytes) => bytes.to_vec(),
        other => panic!("{other} is no bytes"),
    }
}

#[test]
fn columns_have_the_types_of_the_engine() {
    assert_eq!(stored_type(digits(18, 2)).unwrap(), Column::Numeric { precision: 18, scale: 2 });
    for unbounded in [digits(19, 2), digits(2, 4), digits(2, -1), Type::Numeric.into()] {
        assert_eq!(stored_type(unbounded).unwrap(), Column::Bytes);
    }
    assert_eq!(stored_type(Type::Date.into()).unwrap(), Column::Int32);
    assert_eq!(stored_type(Type::Record.into()).unwrap_err().code(), "42P16");
    let columns = [
        Column::Bool,
        Column::Int16,
        Column::Int32,
        Column::Int64,
        Column::Float64,
        Column::Numeric { precision: 5, scale: 2 },
        Column::Text,
        Column::Bytes,
        Column::Timestamp,
    ];
    for column in columns {
        assert_eq!(stored_type(declared_of(column)).unwrap(), column);
    }
}

#[test]
fn rows_of_numbers_and_texts_need_no_scratch() {
    let row = [
        (Datum::Int(7), Type::Int4.into()),
        (Datum::text("text"), Type::Varchar.into()),
        (Datum::Null, Type::Int4.into()),
        (Datum::Date(3), Type::Date.into()),
        (numeric("1.50"), digits(12, 2)),
        (Datum::Uuid([3; 16]), Type::Uuid.into()),
    ];
    let mut scratch = Vec::new();
    for (datum, declared) in &row {
        store(datum, *declared, &mut scratch).unwrap();
    }
    assert_eq!(scratch.capacity(), 0);
}

#[test]
fn several_values_share_the_scratch_bytes() {
    let jsonb = Datum::Jsonb(Arc::new(json::parse("{\"a\":1.50}").unwrap()));
    let array = Datum::Array([Datum::Int(1), Datum::Null].into());
    let number = numeric("1.50");
    let mut scratch = Vec::new();
    let stored = [
        store(&jsonb, Type::Jsonb.into(), &mut scratch).unwrap(),
        store(&number, Type::Numeric.into(), &mut scratch).unwrap(),
        store(&array, Type::Array(&Type::Int4).into(), &mut scratch).unwrap(),
    ];
    let types = [Type::Jsonb, Type::Numeric, Type::Array(&Type::Int4)];
    for ((stored, datum), ty) in stored.into_iter().zip([&jsonb, &number, &array]).zip(types) {
        assert_eq!(load(stored.value(&scratch), ty.into()).unwrap(), *datum);
    }
    assert_eq!(stored[0].value(&scratch), Value::Text("{\"a\": 1.50}"));
    assert_eq!(stored[2].value(&scratch), Value::Bytes(&[2, 5, 1, 0, 0, 0, 0]));
}

#[test]
fn intervals_order_by_their_span() {
    let interval = |months, days, us| Datum::Interval(Interval { months, days, us });
    let day = DAY_US as i64;
    let ordered = [
        interval(i32::MIN, i32::MIN, i64::MIN),
        interval(-1, 0, 0),
        interval(0, -1, 0),
        interval(0, 0, -1),
        interval(0, 0, 0),
        interval(0, 0, 1),
        interval(0, 1, 0),
        interval(0, 29, 0),
        interval(1, 0, 0),
        interval(1, 0, 1),
        interval(i32::MAX, i32::MAX, i64::MAX),
    ];
    assert!(ordered.each_ref().map(|datum| bytes_of(datum, Type::Interval)).is_sorted_by(|a, b| a < b));
    let equal = [interval(1, 0, 0), interval(0, 30, 0), interval(0, 0, 30 * day), interval(2, -30, 0)];
    let spans = equal.each_ref().map(|datum| bytes_of(datum, Type::Interval)[..16].to_vec());
    assert!(spans.iter().all(|span| *span == spans[0]));
    for datum in ordered.iter().chain(&equal) {
        let Datum::Interval(parts) = datum else { unreachable!() };
        let Datum::Interval(loaded) =
            load(Value::Bytes(&bytes_of(datum, Type::Interval)), Type::Interval.into()).unwrap()
        else {
            panic!("an interval is loaded as one")
        };
        assert_eq!((loaded.months, loaded.days, loaded.us), (parts.months, parts.days, parts.us));
    }
}

#[test]
fn numbers_that_units_do_not_hold_are_refused() {
    let fails = |text| store(&numeric(text), digits(5, 2), &mut Vec::new()).unwrap_err().code().to_owned();
    assert_eq!((fails("NaN"), fails("Infinity"), fails("1e30")), ("0A000".into(), "22003".into(), "22003".into()));
    let not_a_number = numeric("NaN");
    assert_eq!(
        load(Value::Bytes(&bytes_of(&not_a_number, Type::Numeric)), Type::Numeric.into()).unwrap(),
        not_a_number
    );
}

#[test]
fn damaged_values_are_refused() {
    let labels = crate::enumeration::tests::sample(&["a", "b"]);
    assert_eq!(load(Value::Int(5), labels.into()).unwrap_err().code(), "XX001", "no label has the number");
    let fails = |value: Value<'_>, declared: Declared| {
        assert_eq!(load(value, declared).unwrap_err().state, SqlState::DataCorrupted, "{value}");
    };
    let array = Type::Array(&Type::Int4);
    let good = bytes_of(&Datum::Array([Datum::Int(1), Datum::Null, Datum::Int(-1)].into()), array);
    for end in 0..good.len() {
        fails(Value::Bytes(&good[..end]), array.into());
    }
    fails(Value::Bytes(&[0xff; 12]), array.into());
    fails(Value::Bytes(&[0xff, 0xff, 0xff, 0xff, 0x0f]), array.into());
    fails(Value::Bytes(&[1, 4, 1, 2, 3]), array.into());
    fails(Value::Bytes(&[1, 2, 0xff]), Type::Array(&Type::Text).into());
    fails(Value::Bytes(&[1; 15]), Type::Uuid.into());
    fails(Value::Bytes(&[1; 5]), Type::MacAddr.into());
    for bytes in
        [&[][..], &[5, 0, 0, 0, 0, 8], &[4, 10, 0, 0, 0], &[4, 10, 0, 0, 0, 33], &[4, 10, 0, 0, 0, 8, 10, 0, 0, 0]]
    {
        fails(Value::Bytes(bytes), Type::Inet.into());
    }
    fails(Value::Bytes(&[1; 31]), Type::Interval.into());
    fails(Value::Bytes(&[9]), Type::Numeric.into());
    fails(Value::Bytes(&[]), Type::Int4.into());
    fails(Value::Text("{"), Type::Jsonb.into());
    fails(Value::Int(1 << 40), Type::Date.into());
    fails(Value::Numeric(1), Type::Numeric.into());
}
