//! Properties of encoded rows, keys and schemas over random schemas: what is encoded comes back, keys order as their
//! values do, a patched row is the row encoded anew, and corrupt bytes are an error or canonical, never a panic.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use osier::table::{ColumnId, KeyCodec, KeyRange, NewColumn, Row, RowCodec, Schema, SchemaError, Type, Value};
use proptest::prelude::*;
use proptest::sample::Index;

/// A value that owns its bytes.
#[derive(Clone, Debug)]
enum Owned {
    Plain(Value<'static>),
    Text(String),
    Bytes(Vec<u8>),
}

impl Owned {
    fn borrow(&self) -> Value<'_> {
        match self {
            Owned::Plain(value) => *value,
            Owned::Text(text) => Value::Text(text),
            Owned::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

fn borrow(row: &[Owned]) -> Vec<Value<'_>> {
    row.iter().map(Owned::borrow).collect()
}

fn any_type() -> impl Strategy<Value = Type> {
    prop_oneof![
        Just(Type::Bool),
        Just(Type::Int16),
        Just(Type::Int32),
        Just(Type::Int64),
        Just(Type::Float64),
        (1..=Type::PRECISION_MAX)
            .prop_flat_map(|precision| (Just(precision), 0..=precision))
            .prop_map(|(precision, scale)| Type::Numeric { precision, scale }),
        Just(Type::Text),
        Just(Type::Bytes),
        Just(Type::Timestamp),
    ]
}

/// Integers of `bits` bits: the ends, the middle and anything.
fn any_int(bits: u32) -> impl Strategy<Value = i64> {
    let shift = 64 - bits;
    prop_oneof![
        -2..3_i64,
        Just(i64::MIN >> shift),
        Just(i64::MAX >> shift),
        any::<i64>().prop_map(move |int| int >> shift)
    ]
}

fn any_float() -> impl Strategy<Value = f64> {
    let special =
        vec![0.0, -0.0, 1.0, -1.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 5e-324];
    prop_oneof![proptest::sample::select(special), any::<u64>().prop_map(f64::from_bits)]
}

/// Values that often agree, share beginnings, and meet the escapes.
fn any_value(ty: Type) -> BoxedStrategy<Owned> {
    let plain = |value: Value<'static>| Owned::Plain(value);
    match ty {
        Type::Bool => any::<bool>().prop_map(move |value| plain(Value::Bool(value))).boxed(),
        Type::Int16 => any_int(16).prop_map(move |value| plain(Value::Int(value))).boxed(),
        Type::Int32 => any_int(32).prop_map(move |value| plain(Value::Int(value))).boxed(),
        Type::Int64 => any_int(64).prop_map(move |value| plain(Value::Int(value))).boxed(),
        Type::Timestamp => any_int(64).prop_map(move |value| plain(Value::Timestamp(value))).boxed(),
        Type::Float64 => any_float().prop_map(move |value| plain(Value::Float(value))).boxed(),
        Type::Numeric { precision, .. } => {
            let limit = 10_i64.pow(precision.into()) - 1;
            prop_oneof![-limit..=limit, Just(limit), Just(-limit), -2_i64.max(-limit)..=2_i64.min(limit)]
                .prop_map(move |value| plain(Value::Numeric(value)))
                .boxed()
        }
        Type::Text => prop_oneof![4 => "[\0\u{1}ab\u{7f}é]{0,3}", 1 => "[a-z\0]{30,80}"].prop_map(Owned::Text).boxed(),
        Type::Bytes => {
            let short = proptest::collection::vec(proptest::sample::select(vec![0, 1, 2, 0xFE, 0xFF]), 0..4);
            prop_oneof![4 => short, 1 => proptest::collection::vec(any::<u8>(), 30..80)].prop_map(Owned::Bytes).boxed()
        }
    }
}

fn any_row(schema: &Schema) -> impl Strategy<Value = Vec<Owned>> + use<> {
    let columns = schema.columns().iter().map(|column| {
        let value = any_value(column.ty());
        if column.is_nullable() { prop_oneof![1 => Just(Owned::Plain(Value::Null)), 3 => value].boxed() } else { value }
    });
    columns.collect::<Vec<_>>()
}

/// Columns for a table with rows: where they go, and of each the type, whether it takes NULL, and what the rows hold.
type Added = (Index, Vec<(Type, bool, Owned)>);

fn any_added() -> impl Strategy<Value = Added> {
    let column = (any_type(), any::<bool>(), any::<bool>()).prop_flat_map(|(ty, is_nullable, is_null)| {
        let value = if is_nullable && is_null { Just(Owned::Plain(Value::Null)).boxed() } else { any_value(ty) };
        (Just(ty), Just(is_nullable), value)
    });
    (any::<Index>(), proptest::collection::vec(column, 1..3))
}

/// The schema with the columns, and where they are.
fn with_added(schema: &Schema, (at, added): &Added) -> (Arc<Schema>, usize) {
    let at = at.index(schema.columns().len() + 1);
    let is_free = |name: &String| schema.column_id(name).is_err();
    let names: Vec<String> = (0..).map(|number| format!("c{number}")).filter(is_free).take(added.len()).collect();
    let columns = names.iter().zip(added).map(|(name, (ty, is_nullable, value))| NewColumn {
        name,
        ty: *ty,
        is_nullable: *is_nullable,
        value: value.borrow(),
    });
    (Arc::new(schema.with_columns(at, &columns.collect::<Vec<_>>()).unwrap()), at)
}

/// A change of the columns of a table with rows.
#[derive(Clone, Debug)]
enum Step {
    Add(Added),
    Drop(Index),
    Nullable(Index, bool),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any_added().prop_map(Step::Add),
        any::<Index>().prop_map(Step::Drop),
        (any::<Index>(), any::<bool>()).prop_map(|(column, is_nullable)| Step::Nullable(column, is_nullable))
    ]
}

impl Step {
    /// The schema behind the step, and what a row with `values` holds then; `None` where a key, or a NULL in it, is in the way.
    fn apply<'v>(&'v self, schema: &Schema, values: &mut Vec<Value<'v>>) -> Option<Arc<Schema>> {
        let chosen = |column: &Index| column.index(schema.columns().len());
        match self {
            Step::Add(added) => {
                let (schema, at) = with_added(schema, added);
                values.splice(at..at, added.1.iter().map(|(_, _, value)| value.borrow()));
                Some(schema)
            }
            Step::Drop(column) => {
                let at = chosen(column);
                let without = schema.without_column(schema.columns()[at].name()).ok()?;
                values.remove(at);
                Some(Arc::new(without))
            }
            Step::Nullable(column, is_nullable) => {
                let at = chosen(column);
                let is_possible = *is_nullable || !values[at].is_null();
                let changed = schema.with_nullable(schema.columns()[at].name(), *is_nullable).ok()?;
                is_possible.then(|| Arc::new(changed))
            }
        }
    }
}

/// Some with columns that were added to rows, or took NULL later or no more.
fn any_schema() -> impl Strategy<Value = Arc<Schema>> {
    let steps = proptest::collection::vec(any_step(), 0..6);
    (any_built_schema(), steps).prop_map(|(schema, steps)| {
        let kept = steps.iter().filter(|step| !matches!(step, Step::Drop(_)));
        kept.fold(schema, |schema, step| {
            let mut values = vec![Value::Bool(true); schema.columns().len()];
            step.apply(&schema, &mut values).unwrap_or(schema)
        })
    })
}
fn any_built_schema() -> impl Strategy<Value = Arc<Schema>> {
    let columns = proptest::collection::vec((any_type(), any::<bool>()), 0..8);
    let indexes = proptest::collection::vec((proptest::collection::vec(any::<Index>(), 1..4), any::<bool>()), 0..3);
    (any_type(), columns, any::<[Index; 2]>(), indexes).prop_map(|(first, columns, key, indexes)| {
        let mut builder = Schema::builder("orders").column("c0", first);
        let mut keys = vec![0];
        for (position, (ty, is_nullable)) in (1..).zip(&columns) {
            let name = format!("c{position}");
            builder = match is_nullable {
                true => builder.nullable_column(name, *ty),
                false => {
                    keys.push(position);
                    builder.column(name, *ty)
                }
            };
        }
        let distinct = |chosen: Vec<usize>| {
            let mut names = Vec::new();
            for name in chosen.into_iter().map(|column| format!("c{column}")) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            names
        };
        builder = builder.primary_key(distinct(key.iter().map(|index| *index.get(&keys)).collect()));
        for (number, (chosen, is_unique)) in indexes.into_iter().enumerate() {
            let names = distinct(chosen.iter().map(|index| index.index(columns.len() + 1)).collect());
            let name = format!("i{number}");
            builder = if is_unique { builder.unique_index(name, names) } else { builder.index(name, names) };
        }
        Arc::new(builder.build().unwrap())
    })
}

fn schema_and_rows(count: usize) -> impl Strategy<Value = (Arc<Schema>, Vec<Vec<Owned>>)> {
    any_schema().prop_flat_map(move |schema| {
        let rows = proptest::collection::vec(any_row(&schema), count);
        (Just(schema), rows)
    })
}

fn codecs(schema: &Arc<Schema>) -> Vec<KeyCodec> {
    let indexes = schema.indexes().iter().map(|index| KeyCodec::index(schema.clone(), index.id()).unwrap());
    std::iter::once(KeyCodec::primary(schema.clone())).chain(indexes).collect()
}

/// The values that a row's entry consists of, by the definition in the documentation.
fn entry<'v>(codec: &KeyCodec, row: &[Value<'v>]) -> Vec<Value<'v>> {
    let mut values = codec.columns().map(|column| row[usize::from(column.0)]).collect::<Vec<_>>();
    if !codec.is_unique() || values.iter().any(|value| value.is_null()) {
        values.extend(codec.schema().primary_key().iter().map(|column| row[usize::from(column.0)]));
    }
    values
}

/// Floats bit by bit, so that the sign of a zero counts.
fn is_same(a: Value<'_>, b: Value<'_>) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}

/// Reads every column in every way that must not panic.
fn read_all(row: &Row<'_>) -> Vec<Owned> {
    let own = |value: Value<'_>| match value {
        Value::Text(text) => Owned::Text(text.to_owned()),
        Value::Bytes(bytes) => Owned::Bytes(bytes.to_owned()),
        Value::Null => Owned::Plain(Value::Null),
        Value::Bool(value) => Owned::Plain(Value::Bool(value)),
        Value::Int(value) => Owned::Plain(Value::Int(value)),
        Value::Float(value) => Owned::Plain(Value::Float(value)),
        Value::Numeric(value) => Owned::Plain(Value::Numeric(value)),
        Value::Timestamp(value) => Owned::Plain(Value::Timestamp(value)),
    };
    assert!(!format!("{row:?}").is_empty());
    row.values().map(own).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_row_comes_back((schema, rows) in schema_and_rows(1)) {
        let codec = RowCodec::new(schema);
        let values = borrow(&rows[0]);
        let bytes = codec.encode(&values).unwrap();
        codec.check(&bytes).unwrap();
        let row = codec.row(&bytes);
        prop_assert!(row.values().zip(&values).all(|(a, b)| is_same(a, *b)), "{row:?}");
        prop_assert_eq!(row.values().len(), values.len());
        // What the buffer held before does not matter.
        let mut dirty = vec![0xAA; bytes.len()];
        codec.encode_into(&values, &mut dirty);
        prop_assert_eq!(dirty, bytes);
    }

    #[test]
    fn a_patched_row_is_the_row_encoded_anew(
        (schema, rows) in schema_and_rows(2), chosen in proptest::collection::vec(any::<bool>(), 16), turned in any::<bool>()
    ) {
        let codec = RowCodec::new(schema);
        let (mut values, new) = (borrow(&rows[0]), borrow(&rows[1]));
        let old = codec.encode(&values).unwrap();
        let mut changes = Vec::new();
        for position in (0..values.len()).filter(|position| chosen[*position % 16]) {
            changes.push((ColumnId(position as u16), new[position]));
            values[position] = new[position];
        }
        if turned {
            changes.reverse();
        }
        let expected = codec.encode(&values).unwrap();
        let mut patched = vec![0xAA; codec.patched_len(&old, &changes).unwrap()];
        codec.patch_into(&old, &changes, &mut patched);
        prop_assert_eq!(patched, expected);
    }

    #[test]
    fn rows_stay_where_columns_change(
        (schema, rows) in schema_and_rows(2), steps in proptest::collection::vec(any_step(), 0..6),
        seed in any::<Index>(), chosen in proptest::collection::vec(any::<bool>(), 16)
    ) {
        let old = RowCodec::new(schema.clone());
        let mut values = borrow(&rows[0]);
        let bytes = old.encode(&values).unwrap();
        let (mut changed, mut is_worn) = (schema.clone(), false);
        for step in &steps {
            let Some(next) = step.apply(&changed, &mut values) else { continue };
            changed = next;
            is_worn |= matches!(step, Step::Drop(_));
            prop_assert_eq!(&Schema::decode(&changed.encode()).unwrap(), &*changed);
            let new = RowCodec::new(changed.clone());
            new.check(&bytes).unwrap();
            let row = new.row(&bytes);
            prop_assert!(row.values().zip(&values).all(|(a, b)| is_same(a, *b)), "{row:?} {values:?}");
            prop_assert_eq!(row.values().len(), values.len());
            let anew = new.encode(&values).unwrap();
            prop_assert!(new.row(&anew) == row && (is_worn || anew == bytes), "{anew:?} {bytes:?}");
            for keys in codecs(&changed) {
                prop_assert_eq!(keys.of_row(&row), keys.of_values(&values).unwrap());
            }
        }
        // One that is written now, from what is there and anew.
        let new = RowCodec::new(changed.clone());
        let mut changes = Vec::new();
        for at in (0..values.len()).filter(|at| chosen[*at % 16]) {
            let column = &changed.columns()[at];
            let of_old = schema.columns().iter().position(|old| old.name() == column.name() && old.ty() == column.ty());
            values[at] = match of_old.map(|old| rows[1][old].borrow()) {
                Some(value) if column.is_nullable() || !value.is_null() => value,
                _ if column.is_nullable() && seed.index(2) == 0 => Value::Null,
                _ => values[at],
            };
            changes.push((ColumnId(at as u16), values[at]));
        }
        let anew = new.encode(&values).unwrap();
        new.check(&anew).unwrap();
        prop_assert!(new.row(&anew).values().zip(&values).all(|(a, b)| is_same(a, *b)));
        let mut patched = vec![0xAA; new.patched_len(&bytes, &changes).unwrap()];
        new.patch_into(&bytes, &changes, &mut patched);
        prop_assert_eq!(&patched, &anew);
        // Whoever has the old schema reads what it knows of it, and writes a row of its own.
        read_all(&old.row(&anew));
        let all: Vec<_> = (0..).zip(borrow(&rows[1])).map(|(at, value)| (ColumnId(at), value)).collect();
        for changes in [&all[..1], &all[..]] {
            let length = match old.patched_len(&anew, changes) {
                // It is NULL where the old schema has NULL no more.
                Err(SchemaError::NotNull { .. }) => continue,
                length => length.unwrap(),
            };
            let mut patched = vec![0xAA; length];
            old.patch_into(&anew, changes, &mut patched);
            old.check(&patched).unwrap();
            prop_assert!(is_same(old.row(&patched).value(ColumnId(0)), all[0].1));
        }
    }

    #[test]
    fn corrupt_rows_are_refused_or_canonical(
        (schema, rows) in schema_and_rows(1), flips in proptest::collection::vec((any::<Index>(), any::<u8>()), 0..4),
        cut in proptest::option::of(any::<Index>()), tail in proptest::collection::vec(any::<u8>(), 0..3)
    ) {
        let codec = RowCodec::new(schema);
        let mut bytes = codec.encode(&borrow(&rows[0])).unwrap();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        bytes.extend(tail);
        if codec.check(&bytes).is_ok() {
            let values = read_all(&codec.row(&bytes));
            prop_assert_eq!(codec.encode(&borrow(&values)).unwrap(), bytes);
        }
    }

    #[test]
    fn random_bytes_are_refused_or_canonical(schema in any_schema(), bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let rows = RowCodec::new(schema.clone());
        if rows.check(&bytes).is_ok() {
            let values = read_all(&rows.row(&bytes));
            prop_assert_eq!(&rows.encode(&borrow(&values)).unwrap(), &bytes);
        }
        for keys in codecs(&schema) {
            keys.describe(&bytes);
            if let Ok(values) = keys.decode(&bytes) {
                let declared = values.iter().take(keys.columns().len()).collect::<Vec<_>>();
                prop_assert!(bytes.starts_with(&keys.of_key(&declared).unwrap()));
            }
        }
        let _ = Schema::decode(&bytes);
    }

    #[test]
    fn keys_order_as_their_values((schema, rows) in schema_and_rows(2)) {
        let codec = RowCodec::new(schema.clone());
        let (a, b) = (borrow(&rows[0]), borrow(&rows[1]));
        for keys in codecs(&schema) {
            let (key_a, key_b) = (keys.of_values(&a).unwrap(), keys.of_values(&b).unwrap());
            let (entry_a, entry_b) = (entry(&keys, &a), entry(&keys, &b));
            prop_assert_eq!(key_a.cmp(&key_b), entry_a.cmp(&entry_b), "{:?} {:?}", &entry_a, &entry_b);
            let encoded = codec.encode(&a).unwrap();
            prop_assert_eq!(&keys.of_row(&codec.row(&encoded)), &key_a);
            let decoded = keys.decode(&key_a).unwrap();
            prop_assert_eq!(decoded.to_values(), entry_a);
            let declared = keys.columns().map(|column| a[usize::from(column.0)]).collect::<Vec<_>>();
            let beginning = keys.of_key(&declared).unwrap();
            prop_assert!(key_a.starts_with(&beginning));
            prop_assert!(!keys.finds_one(&declared) || key_a == beginning);
        }
    }

    #[test]
    fn corrupt_keys_are_refused_or_canonical(
        (schema, rows) in schema_and_rows(1), at in any::<Index>(), byte in any::<u8>(), cut in any::<bool>()
    ) {
        for keys in codecs(&schema) {
            let mut bytes = keys.of_values(&borrow(&rows[0])).unwrap().to_vec();
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at);
                prop_assert!(keys.decode(&bytes).is_err(), "a key is no prefix of another");
                continue;
            }
            bytes[at] = byte;
            if let Ok(values) = keys.decode(&bytes) {
                let mut row = borrow(&rows[0]);
                let ids = keys.columns().chain(schema.primary_key().iter().copied());
                for (column, value) in ids.zip(values.to_values()) {
                    row[usize::from(column.0)] = value;
                }
                // Where the primary key repeats an index column the two may now differ: no row has such an entry.
                if entry(&keys, &row) == values.to_values() {
                    prop_assert_eq!(keys.of_values(&row).unwrap().to_vec(), bytes);
                }
            }
        }
    }

    #[test]
    fn a_range_of_values_is_a_range_of_bytes(
        (schema, rows) in schema_and_rows(12), prefix in 0..3_usize, low in 0..3_usize, high in 0..3_usize,
        is_low_included in any::<bool>(), is_high_included in any::<bool>()
    ) {
        for keys in codecs(&schema) {
            let suffix = if keys.is_unique() { 0 } else { schema.primary_key().len() };
            let known = keys.columns().len() + suffix;
            let entry_of = |row: usize| entry_static(&keys, &rows[row]);
            let prefix = prefix.min(known);
            let (low, high) = (low.min(known - prefix), high.min(known - prefix));
            let (shared, low_row, high_row) = (entry_of(0), entry_of(1), entry_of(2));
            let shared = &borrow(&shared)[..prefix];
            let (low_values, high_values) = (borrow(&low_row), borrow(&high_row));
            let (low_values, high_values) = (&low_values[prefix..prefix + low], &high_values[prefix..prefix + high]);
            let range = KeyRange::prefix(shared);
            let range = if is_low_included { range.from_included(low_values) } else { range.from_excluded(low_values) };
            let range = if is_high_included { range.to_included(high_values) } else { range.to_excluded(high_values) };
            let bounds = range.encode(&keys).unwrap();
            for row in &rows {
                let values = borrow(row);
                let own = entry(&keys, &values);
                let above = match own[prefix..prefix + low].cmp(low_values) {
                    Ordering::Equal => is_low_included,
                    order => order == Ordering::Greater,
                };
                let below = match own[prefix..prefix + high].cmp(high_values) {
                    Ordering::Equal => is_high_included,
                    order => order == Ordering::Less,
                };
                let is_in = own[..prefix] == *shared && above && below;
                let key = keys.of_values(&values).unwrap();
                prop_assert_eq!(bounds.contains(&key), is_in, "{:?} in {:?} = {:?}", own, range, bounds);
                prop_assert!(!is_in || !bounds.is_empty());
            }
        }
    }

    #[test]
    fn a_schema_comes_back(schema in any_schema(), at in any::<Index>(), byte in any::<u8>()) {
        let mut bytes = schema.encode();
        prop_assert_eq!(&Schema::decode(&bytes).unwrap(), &*schema);
        let at = at.index(bytes.len());
        prop_assert!(Schema::decode(&bytes[..at]).is_err(), "cut to {} bytes", at);
        bytes[at] = byte;
        if let Ok(other) = Schema::decode(&bytes) {
            prop_assert_eq!(other.encode(), bytes);
        }
    }

    #[test]
    fn the_successor_follows_every_continuation(
        bytes in proptest::collection::vec(proptest::sample::select(vec![0, 1, 0xFE, 0xFF]), 0..60),
        other in proptest::collection::vec(proptest::sample::select(vec![0, 1, 0xFE, 0xFF]), 0..60)
    ) {
        let key = osier::table::KeyBuf::from(&*bytes);
        prop_assert_eq!(key.as_bytes(), &*bytes);
        let successor = key.clone().successor();
        prop_assert_eq!(successor.is_none(), bytes.iter().all(|byte| *byte == 0xFF));
        let continued = [&*bytes, &*other].concat();
        for probe in [&continued, &other] {
            let is_between = bytes <= *probe && successor.as_ref().is_none_or(|end| **probe < **end);
            prop_assert_eq!(is_between, probe.starts_with(&bytes));
        }
    }
}

fn entry_static(codec: &KeyCodec, row: &[Owned]) -> Vec<Owned> {
    let primary = codec.schema().primary_key().iter().copied();
    codec.columns().chain(primary).map(|column| row[usize::from(column.0)].clone()).collect()
}

/// The encoding of one row, as docs/row-format.md prints it.
#[test]
fn the_documented_row_has_the_documented_bytes() {
    let schema = Schema::builder("t")
        .column("id", Type::Int32)
        .nullable_column("name", Type::Text)
        .nullable_column("paid", Type::Bool)
        .column("note", Type::Text)
        .primary_key(["id"])
        .index("by_name", ["name"])
        .unique_index("by_note", ["note"])
        .build()
        .unwrap();
    let schema = Arc::new(schema);
    let values = [Value::Int(7), Value::Text("ab"), Value::Null, Value::Text("c\0")];
    let bytes = RowCodec::new(schema.clone()).encode(&values).unwrap();
    assert_eq!(bytes, [&[0b10][..], &[7, 0, 0, 0], &[0], &[16, 0, 0, 0], &[18, 0, 0, 0], b"ab", b"c\0"].concat());
    let key = |codec: KeyCodec| codec.of_values(&values).unwrap().to_vec();
    let index = |name| KeyCodec::index(schema.clone(), schema.index(name).unwrap().id()).unwrap();
    assert_eq!(key(KeyCodec::primary(schema.clone())), [0x80, 0, 0, 7]);
    assert_eq!(key(index("by_name")), [&[1][..], b"ab", &[0, 1], &[0x80, 0, 0, 7]].concat());
    assert_eq!(key(index("by_note")), [b"c", &[0, 0xFF][..], &[0, 1]].concat());
}

/// The encoding of a row of a table that got columns, as docs/row-format.md prints it.
#[test]
fn the_documented_row_with_added_columns_has_the_documented_bytes() {
    let schema = Schema::builder("t").column("id", Type::Int32).primary_key(["id"]).build().unwrap();
    let added = |name, ty, value| NewColumn { name, ty, is_nullable: false, value };
    let schema = schema.with_columns(1, &[added("size", Type::Int16, Value::Int(5))]).unwrap();
    let schema = schema.with_columns(2, &[added("color", Type::Text, Value::Text("red"))]).unwrap();
    let codec = RowCodec::new(Arc::new(schema));
    let encoded = |size, color| codec.encode(&[Value::Int(7), Value::Int(size), Value::Text(color)]).unwrap();
    assert_eq!(encoded(5, "red"), [7, 0, 0, 0]);
    assert_eq!(encoded(6, "red"), [7, 0, 0, 0, 6, 0]);
    assert_eq!(encoded(5, "tan"), [&[7, 0, 0, 0, 5, 0, 7, 0, 0, 0][..], b"tan"].concat());
    let left_over = [&[7, 0, 0, 0, 5, 0][..], &[7, 0, 0, 0], b"red"].concat();
    assert!(codec.check(&left_over).is_err() && codec.check(&left_over[..6]).is_err(), "what is missing is left out");
    // The size goes, and the color takes NULL.
    let schema = codec.schema().without_column("size").unwrap().with_nullable("color", true).unwrap();
    let codec = RowCodec::new(Arc::new(schema));
    let encoded = |color| codec.encode(&[Value::Int(7), color]).unwrap();
    assert_eq!(encoded(Value::Text("red")), [7, 0, 0, 0]);
    assert_eq!(encoded(Value::Text("tan")), [&[7, 0, 0, 0, 0, 0, 7, 0, 0, 0][..], b"tan"].concat());
    assert_eq!(encoded(Value::Null), [7, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1]);
}

/// PostgreSQL: "NaN equals itself and is greater than every other value", and the two zeros are equal.
#[test]
fn floats_order_as_in_postgresql() {
    let schema = Schema::builder("t").column("x", Type::Float64).primary_key(["x"]).build().unwrap();
    let codec = KeyCodec::primary(Arc::new(schema));
    let key = |float: f64| codec.of_key(&[Value::Float(float)]).unwrap();
    let ordered =
        [f64::NEG_INFINITY, f64::MIN, -1.0, -f64::MIN_POSITIVE, -5e-324, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY];
    assert!(ordered.windows(2).all(|pair| key(pair[0]) < key(pair[1])));
    assert_eq!(key(-0.0), key(0.0));
    assert!(key(f64::NAN) > key(f64::INFINITY));
    assert_eq!(key(f64::NAN), key(-f64::NAN));
    assert_eq!(key(f64::NAN), key(f64::from_bits(f64::NAN.to_bits() | 1)));
    assert_eq!(Value::Float(f64::NAN), Value::Float(f64::NAN));
    assert_eq!(Value::Float(0.0), Value::Float(-0.0));
}

#[test]
fn a_range_starts_and_ends_where_it_says() {
    let schema = Schema::builder("t").column("a", Type::Int16).column("b", Type::Text).primary_key(["a", "b"]);
    let codec = KeyCodec::primary(Arc::new(schema.build().unwrap()));
    let mut keys = BTreeMap::new();
    for a in -2..3 {
        for b in ["", "x", "xy", "y"] {
            keys.insert(codec.of_key(&[Value::Int(a), Value::Text(b)]).unwrap(), (a, b));
        }
    }
    let found = |range: KeyRange<'_>| {
        let bounds = range.encode(&codec).unwrap();
        let high = bounds.high.as_ref().map_or(Bound::Unbounded, |high| Bound::Excluded(high.as_bytes()));
        let range = (Bound::Included(bounds.low.as_bytes()), high);
        keys.range::<[u8], _>(range).map(|(_, key)| *key).collect::<Vec<_>>()
    };
    assert_eq!(found(KeyRange::all()).len(), 20);
    assert_eq!(found(KeyRange::prefix(&[Value::Int(-1)])), [(-1, ""), (-1, "x"), (-1, "xy"), (-1, "y")]);
    let x = [Value::Text("x")];
    assert_eq!(found(KeyRange::prefix(&[Value::Int(0)]).from_excluded(&x)), [(0, "xy"), (0, "y")]);
    assert_eq!(found(KeyRange::prefix(&[Value::Int(0)]).to_included(&x)), [(0, ""), (0, "x")]);
    let above = KeyRange::all().from_excluded(&[Value::Int(1)]);
    assert_eq!(found(above), [(2, ""), (2, "x"), (2, "xy"), (2, "y")]);
    assert!(found(above.to_included(&[Value::Int(1)])).is_empty());
    assert!(above.reverse().encode(&codec).unwrap().is_reversed);
    assert!(found(KeyRange::all().from_excluded(&[])).is_empty(), "nothing follows all keys");
    let last = KeyRange::prefix(&[Value::Int(i16::MAX.into())]).encode(&codec).unwrap();
    assert_eq!(last.high, None, "no bytes follow the largest prefix");
}
