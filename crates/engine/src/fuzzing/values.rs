//! Keys, rows and schemas, which lie in records and checkpoints.

use std::sync::{Arc, LazyLock};

use crate::table::{KeyCodec, NewColumn, RowCodec, Schema, Type, Value};

fn schema() -> Arc<Schema> {
    SCHEMA.clone()
}

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let columns = [
        ("int", Type::Int64),
        ("small", Type::Int16),
        ("text", Type::Text),
        ("bytes", Type::Bytes),
        ("bool", Type::Bool),
        ("float", Type::Float64),
    ];
    let builder = columns.iter().fold(Schema::builder("all"), |builder, (name, ty)| builder.column(*name, *ty));
    let schema = builder
        .nullable_column("maybe", Type::Text)
        .nullable_column("when", Type::Timestamp)
        .primary_key(columns.map(|(name, _)| name))
        .unique_index("by_maybe", ["maybe", "when"]);
    Arc::new(schema.build().expect("a schema"))
});

/// The same table with columns that it got, lost and changed when it had rows.
static GROWN: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let new = |name, ty, value| NewColumn { name, ty, is_nullable: true, value };
    let numeric = Type::Numeric { precision: 9, scale: 2 };
    let grown =
        SCHEMA.with_columns(8, &[new("size", Type::Int32, Value::Int(4)), new("note", Type::Text, Value::Null)]);
    let grown = grown.and_then(|grown| grown.with_columns(3, &[new("later", Type::Bytes, Value::Bytes(&[7]))]));
    let grown = grown.and_then(|grown| grown.with_columns(0, &[new("price", numeric, Value::Numeric(1))]));
    let grown = grown.and_then(|grown| grown.with_nullable("later", false)?.with_nullable("size", false));
    let grown = grown.and_then(|grown| grown.without_column("price"));
    Arc::new(grown.expect("columns that can change so"))
});

const ROWS: [[Value<'_>; 8]; 2] = [
    [
        Value::Int(-5),
        Value::Int(7),
        Value::Text("a\0b"),
        Value::Bytes(&[0, 255, 0, 1]),
        Value::Bool(true),
        Value::Float(-0.5),
        Value::Null,
        Value::Timestamp(12),
    ],
    [
        Value::Int(i64::MAX),
        Value::Int(-1),
        Value::Text("straße"),
        Value::Bytes(&[]),
        Value::Bool(false),
        Value::Float(f64::INFINITY),
        Value::Text("x"),
        Value::Null,
    ],
];

/// Of the primary key, and of an index with columns that may be NULL.
fn key_codecs() -> [KeyCodec; 2] {
    let index = schema().indexes()[0].id();
    [KeyCodec::primary(schema()), KeyCodec::index(schema(), index).expect("an index of the schema")]
}

pub(super) fn keys() -> Vec<Vec<u8>> {
    let keys =
        |codec: KeyCodec| ROWS.map(|row| codec.of_values(&row).expect("values of the schema").as_bytes().to_vec());
    key_codecs().into_iter().flat_map(keys).collect()
}

pub(super) fn check_key(bytes: &[u8]) -> bool {
    let samples = keys();
    let check = |codec: KeyCodec| {
        let _ = codec.describe(bytes);
        let Ok(found) = codec.decode(bytes) else { return false };
        let values = found.to_values();
        let (declared, primary) = values.split_at(codec.columns().len());
        let mut again = codec.of_key(declared).expect("values that were decoded").as_bytes().to_vec();
        if !primary.is_empty() {
            let codec = KeyCodec::primary(schema());
            again.extend(codec.of_key(primary).expect("values that were decoded").as_bytes());
        }
        assert_eq!(again, bytes, "a key is what is encoded again");
        for other in &samples {
            if let Ok(known) = codec.decode(other) {
                assert_eq!(bytes.cmp(other), values.cmp(&known.to_values()), "keys are ordered as their values");
            }
        }
        true
    };
    key_codecs().map(check).contains(&true)
}

/// Of both tables.
fn row_codecs() -> [RowCodec; 2] {
    [RowCodec::new(schema()), RowCodec::new(GROWN.clone())]
}

pub(super) fn rows() -> Vec<Vec<u8>> {
    let [codec, grown] = row_codecs();
    let mut rows: Vec<Vec<u8>> = ROWS.map(|row| codec.encode(&row).expect("values of the schema")).into();
    for (later, size, note) in [(&[7][..], Value::Int(5), Value::Null), (&[], Value::Int(4), Value::Text("é"))] {
        let mut values = ROWS[0].to_vec();
        values.insert(3, Value::Bytes(later));
        values.extend([size, note]);
        rows.push(grown.encode(&values).expect("values of the schema"));
    }
    rows
}

pub(super) fn check_row(bytes: &[u8]) -> bool {
    let check = |codec: RowCodec| {
        let is_sound = codec.check(bytes).is_ok();
        if is_sound {
            let row = codec.row(bytes);
            let values: Vec<_> = row.values().collect();
            assert_eq!(
                codec.encode(&values).expect("values that were decoded"),
                bytes,
                "a row is what is encoded again"
            );
        }
        is_sound
    };
    row_codecs().map(check).contains(&true)
}

pub(super) fn schemas() -> Vec<Vec<u8>> {
    let numeric = Schema::builder("n").column("price", Type::Numeric { precision: 5, scale: 2 }).primary_key(["price"]);
    vec![schema().encode(), GROWN.encode(), numeric.build().expect("a schema").encode()]
}

pub(super) fn check_schema(bytes: &[u8]) -> bool {
    let Ok(schema) = Schema::decode(bytes) else { return false };
    assert_eq!(schema.encode(), bytes, "a schema is what is encoded again");
    let codec = RowCodec::new(Arc::new(schema));
    for row in rows() {
        let _ = codec.check(&row);
    }
    true
}
