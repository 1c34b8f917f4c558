//! Commands round trip, have one encoding, and are refused where a byte is missing or says something else.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// A value that owns what it is made of.
#[derive(Clone, Debug)]
enum Owned {
    Null,
    Bool(bool),
    Int(i64),
    Float(u64),
    Numeric(i64),
    Text(String),
    Bytes(Vec<u8>),
    Timestamp(i64),
}

impl Owned {
    fn value(&self) -> Value<'_> {
        match self {
            Owned::Null => Value::Null,
            Owned::Bool(value) => Value::Bool(*value),
            Owned::Int(value) => Value::Int(*value),
            Owned::Float(bits) => Value::Float(f64::from_bits(*bits)),
            Owned::Numeric(value) => Value::Numeric(*value),
            Owned::Text(value) => Value::Text(value),
            Owned::Bytes(value) => Value::Bytes(value),
            Owned::Timestamp(value) => Value::Timestamp(*value),
        }
    }
}

/// Values of the kind with this number, or of any.
fn owned(kind: Option<u8>) -> BoxedStrategy<Owned> {
    match kind {
        Some(0) => Just(Owned::Null).boxed(),
        Some(1) => any::<bool>().prop_map(Owned::Bool).boxed(),
        Some(2) => prop_oneof![any::<i64>(), -3..3_i64].prop_map(Owned::Int).boxed(),
        Some(3) => prop_oneof![any::<u64>(), Just(0), Just(1 << 63)].prop_map(Owned::Float).boxed(),
        Some(4) => any::<i64>().prop_map(Owned::Numeric).boxed(),
        Some(5) => ".{0,9}".prop_map(Owned::Text).boxed(),
        Some(6) => vec(any::<u8>(), 0..9).prop_map(Owned::Bytes).boxed(),
        Some(_) => any::<i64>().prop_map(Owned::Timestamp).boxed(),
        None => (0..8_u8).prop_flat_map(|kind| owned(Some(kind))).boxed(),
    }
}

/// One value, or an array of one kind or of several.
fn argument() -> impl Strategy<Value = Result<Owned, Vec<Owned>>> {
    prop_oneof![
        owned(None).prop_map(Ok),
        (0..8_u8).prop_flat_map(|kind| vec(owned(Some(kind)), 0..5)).prop_map(Err),
        vec(owned(None), 0..5).prop_map(Err),
    ]
}

fn borrowed(argument: &Result<Owned, Vec<Owned>>) -> Argument<'_> {
    match argument {
        Ok(value) => Argument::Scalar(value.value()),
        Err(elements) => Argument::Array(elements.iter().map(Owned::value).collect()),
    }
}

fn encoded(command: &Command<'_>) -> Vec<u8> {
    let mut bytes = vec![0xaa; command.encoded_len()];
    assert_eq!(command.encode(&mut bytes), bytes.len(), "{command}");
    bytes
}

fn call<'a>(arguments: Vec<Argument<'a>>) -> Command<'a> {
    Command {
        procedure: ProcedureId(7),
        version: ProcedureVersion(300),
        time: None,
        seed: None,
        sequence_values: Cow::Borrowed(&[]),
        hash: None,
        arguments: arguments.into(),
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_read_to_the_bit(
        (procedure, version) in (any::<u32>(), any::<u32>()),
        (time, seed) in (any::<Option<i64>>(), any::<Option<u64>>()),
        hash in proptest::option::of((any::<u32>(), prop_oneof![vec(any::<u8>(), 0..4), vec(any::<u8>(), 255)])),
        drawn in vec(prop_oneof![any::<i64>(), 1..9_i64], 0..4),
        arguments in vec(argument(), 0..6),
        behind in vec(any::<u8>(), 0..3),
    ) {
        let command = Command {
            procedure: ProcedureId(procedure),
            version: ProcedureVersion(version),
            time,
            seed,
            sequence_values: drawn.as_slice().into(),
            hash: hash.as_ref().map(|(all, rows)| WriteHash { all: *all, rows: rows.as_slice().into() }),
            arguments: arguments.iter().map(borrowed).collect::<Vec<_>>().into(),
        };
        let mut bytes = encoded(&command);
        let (length, count) = (bytes.len(), arguments.len() as u32);
        bytes.extend(behind);
        prop_assert_eq!(check(&bytes, count).map_err(|error| error.what), Ok(length));
        let read = CommandReader::new(&bytes, count).command();
        prop_assert_eq!(&read, &command);
        prop_assert_eq!(encoded(&read), &bytes[..length], "signs of zeros and payloads of NaNs are kept");
        for cut in 0..length {
            prop_assert!(check(&bytes[..cut], count).is_err(), "cut off at {}", cut);
        }
    }

    /// Whatever is accepted is what encoding gives again, byte for byte.
    #[test]
    fn there_is_one_encoding(mut bytes in vec(prop_oneof![0..12_u8, any::<u8>()], 3..40), count in 0..4_u32) {
        bytes[2] &= 15;
        if let Ok(length) = check(&bytes, count) {
            let again = encoded(&CommandReader::new(&bytes, count).command());
            prop_assert_eq!(again, &bytes[..length]);
        }
    }
}

/// The bytes of docs/log-format.md.
#[test]
fn bytes_are_as_they_are_documented() {
    let mixed = [Value::Int(-1), Value::Null, Value::Bool(true)];
    let command = Command {
        time: Some(2),
        seed: Some(3),
        sequence_values: Cow::Borrowed(&[10, 11, 9]),
        hash: Some(WriteHash { all: 0x0403_0201, rows: Cow::Borrowed(&[8, 9]) }),
        ..call(vec![
            Argument::from(5_i64),
            Argument::from("ab"),
            Argument::Array(vec![Value::Int(1), Value::Int(2)]),
            Argument::Array(vec![Value::Bool(true), Value::Bool(false)]),
            Argument::Array(mixed.to_vec()),
            Argument::Array(vec![]),
        ])
    };
    let mut expected = vec![7, 0xac, 2, 15, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 20, 2, 3];
    expected.extend([1, 2, 3, 4, 2, 8, 9]);
    expected.extend([3, 10, 6, 2, b'a', b'b', 0x39, 2, 2, 4, 0x19, 2, 1, 0, 10, 3, 3, 1, 0, 2, 10, 0]);
    assert_eq!(encoded(&command), expected);
    let shown = "procedure 7 version 300 (5, 'ab', {1, 2}, {true, false}, {-1, NULL, true}, {}), time 2, \
                 seed 0000000000000003, drew 10, 11, 9, hash 04030201 of 2 rows";
    assert_eq!(command.to_string(), shown);
}

#[test]
fn other_encodings_are_refused() {
    let refused = |count, argument: &[u8], what: &str| {
        let bytes = [&[1, 1][..], argument].concat();
        assert_eq!(check(&bytes, count).map_err(|error| error.what), Err(what), "{argument:?}");
    };
    refused(0, &[16], "a command has flags that are not known");
    refused(0, &[SEQUENCES, 0], "a command names no values of sequences where it should");
    refused(1, &[0, 11], "an argument is of a kind that is not known");
    refused(1, &[0, 1 << KIND_BITS], "an argument is of a kind that is not known");
    refused(1, &[0, TRUE << KIND_BITS | ALIKE, 1, 1], "an argument is of a kind that is not known");
    refused(1, &[0, NULL << KIND_BITS | ALIKE, 1], "an argument is of a kind that is not known");
    refused(1, &[0, FALSE << KIND_BITS | ALIKE, 1, 2], "an element is neither true nor false");
    refused(1, &[0, INT << KIND_BITS | ALIKE, 0], "an array is encoded in another way than arrays are");
    refused(1, &[0, MIXED, 2, TRUE, FALSE], "an array is encoded in another way than arrays are");
    refused(1, &[0, MIXED, 1, MIXED, 0], "an argument is of a kind that is not known");
    refused(1, &[0, TEXT, 1, 0xff], "a text is not UTF-8");
    refused(1, &[0, INT, 0x80, 0], "a command is cut short");
    refused(0, &[HASH, 1, 2, 3, 4, 2, 8], "a command is cut short");
    refused(0, &[HASH, 1, 2, 3, 4], "a command is cut short");
    refused(9, &[0, NULL], "a command is cut short");
    let out_of_range = [0xff, 0xff, 0xff, 0xff, 0x7f, 1, 0];
    assert_eq!(check(&out_of_range, 0).map_err(|error| error.what), Err("the number of a procedure is out of range"));
}
