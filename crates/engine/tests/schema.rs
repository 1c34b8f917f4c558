//! What schemas, rows and keys refuse, with which SQLSTATE, and that the message names the object.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::sync::Arc;

use osier::table::{
    COLUMNS_MAX, ColumnId, GROUPS_MAX, INDEXES_MAX, IndexId, KEY_COLUMNS_MAX, KeyCodec, KeyRange, MISSING_BYTES_MAX,
    NAME_BYTES_MAX, NewColumn, RowCodec, Schema, SchemaBuilder, SchemaError, Type, Value,
};

fn items() -> SchemaBuilder {
    Schema::builder("items")
        .column("id", Type::Int16)
        .column("price", Type::Numeric { precision: 5, scale: 2 })
        .nullable_column("name", Type::Text)
        .nullable_column("size", Type::Int32)
        .primary_key(["id"])
}

/// The error must have the state, and a message with all the words.
fn check(error: &SchemaError, sqlstate: &str, words: &[&str]) {
    let message = error.to_string();
    assert_eq!(error.sqlstate(), sqlstate, "{message}");
    for word in words {
        assert!(message.contains(word), "{word:?} is not in: {message}");
    }
}

fn refused(builder: SchemaBuilder, sqlstate: &str, words: &[&str]) {
    check(&builder.build().unwrap_err(), sqlstate, words);
}

#[test]
fn definitions_are_refused() {
    refused(Schema::builder("t").column("a", Type::Bool), "42P16", &["primary key", "table t"]);
    refused(Schema::builder("t").primary_key(["a"]), "42703", &["table t", "column a"]);
    refused(Schema::builder("").column("a", Type::Bool).primary_key(["a"]), "42602", &["table"]);
    refused(items().column("a\0b", Type::Bool), "42602", &["column"]);
    refused(items().column("c".repeat(NAME_BYTES_MAX + 1), Type::Bool), "42622", &["column", "63"]);
    refused(items().column("name", Type::Bool), "42701", &["items", "name"]);
    refused(items().primary_key(["name"]), "42P16", &["items", "name", "NOT NULL"]);
    refused(items().primary_key(["id", "id"]), "42701", &["items", "primary key", "id"]);
    refused(items().index("i", ["nobody"]), "42703", &["items", "nobody", "columns are id, price, name, size"]);
    refused(items().index("i", [""; 0]), "42P16", &["items", "index i"]);
    refused(items().index("i", ["name"]).unique_index("i", ["size"]), "42P07", &["items", "index i"]);
    for (precision, scale) in [(0, 0), (19, 0), (3, 4)] {
        refused(items().column("n", Type::Numeric { precision, scale }), "22023", &["items", "column n", "numeric"]);
    }
}

#[test]
fn definitions_are_bounded() {
    let wide = |count| {
        let columns = (0..count).map(|number| format!("c{number}")).collect::<Vec<_>>();
        let start = Schema::builder("wide").primary_key(["c0"]);
        (columns.iter().fold(start, |builder, name| builder.column(name, Type::Text)), columns)
    };
    let (builder, columns) = wide(COLUMNS_MAX);
    let schema = builder.clone().build().unwrap();
    assert_eq!(Schema::decode(&schema.encode()), Ok(schema.clone()));
    let annotated = schema.clone().with_notes("{\"a\": \"é\"}").unwrap();
    assert_eq!(Schema::decode(&annotated.encode()), Ok(annotated.clone()));
    let values = vec![Value::Text("x"); COLUMNS_MAX];
    let codec = RowCodec::new(Arc::new(schema));
    let bytes = codec.encode(&values).unwrap();
    codec.check(&bytes).unwrap();
    assert_eq!(codec.row(&bytes).text(ColumnId(1599)), "x");
    refused(wide(COLUMNS_MAX + 1).0, "54011", &["wide", "1601", "1600"]);

    let key = columns.iter().take(KEY_COLUMNS_MAX);
    builder.clone().primary_key(key).build().unwrap();
    let key = columns.iter().take(KEY_COLUMNS_MAX + 1);
    refused(builder.primary_key(key), "54011", &["wide", "primary key", "33"]);

    let indexed = (0..INDEXES_MAX).fold(items(), |builder, number| builder.index(format!("i{number}"), ["name"]));
    let schema = indexed.build().unwrap();
    check(&schema.with_index("one_more", ["name"], false).unwrap_err(), "54000", &["items", "64"]);
}

#[test]
fn an_index_id_is_never_used_again() {
    let schema = items().index("a", ["name"]).index("b", ["size"]).build().unwrap();
    let schema = schema.without_index("b").unwrap();
    let (schema, id) = schema.with_index("c", ["size", "name"], true).unwrap();
    assert_eq!(id, IndexId(2));
    let schema = Schema::decode(&schema.encode()).unwrap();
    assert_eq!(schema.with_index("b", ["size"], false).unwrap().1, IndexId(3));
    let index = schema.index("c").unwrap();
    assert_eq!((index.id(), index.is_unique(), index.columns()), (id, true, &[ColumnId(3), ColumnId(2)][..]));
    assert_eq!(schema.index_by_id(id).unwrap().name(), "c");
    check(&schema.index("b").unwrap_err(), "42704", &["items", "b", "indexes are a, c"]);
    check(&schema.without_index("b").unwrap_err(), "42704", &["items", "b"]);
    check(&KeyCodec::index(Arc::new(schema), IndexId(1)).unwrap_err(), "42704", &["items", "1"]);
}

#[test]
fn values_are_refused() {
    let codec = RowCodec::new(Arc::new(items().build().unwrap()));
    let good = [Value::Int(1), Value::Numeric(99_999), Value::Null, Value::Null];
    let old = codec.encode(&good).unwrap();
    let with = |column: usize, value| {
        let mut values = good;
        values[column] = value;
        let error = codec.encoded_len(&values).unwrap_err();
        // A change is checked as a whole row is, and so is a key.
        assert_eq!(codec.patched_len(&old, &[(ColumnId(column as u16), value)]), Err(error.clone()));
        error
    };
    check(&with(0, Value::Null), "23502", &["items", "column id", "NULL"]);
    check(&with(0, Value::Text("1")), "42804", &["items", "column id", "smallint", "text"]);
    check(&with(0, Value::Int(32_768)), "22003", &["items", "column id", "32768", "smallint"]);
    check(&with(1, Value::Int(1)), "42804", &["items", "price", "numeric(5,2)", "integer"]);
    check(&with(1, Value::Numeric(-100_000)), "22003", &["items", "price", "-100000"]);
    check(&with(1, Value::Numeric(i64::MIN)), "22003", &["items", "price"]);
    check(&with(2, Value::Bytes(b"x")), "42804", &["items", "name", "text", "bytes"]);
    check(&with(3, Value::Int(1 << 31)), "22003", &["items", "size", "2147483648"]);
    check(&codec.encoded_len(&good[1..]).unwrap_err(), "42601", &["items", "4", "3", "give one for each"]);
    let twice = [(ColumnId(2), Value::Null), (ColumnId(2), Value::Text("a"))];
    check(&codec.patched_len(&old, &twice).unwrap_err(), "42601", &["items", "name", "twice"]);
    check(&codec.patched_len(&old, &[(ColumnId(4), Value::Null)]).unwrap_err(), "42703", &["items", "4"]);
}

#[test]
fn key_values_are_refused() {
    let schema = Arc::new(items().index("by_size", ["size"]).unique_index("by_name", ["name"]).build().unwrap());
    let primary = KeyCodec::primary(schema.clone());
    check(&primary.of_key(&[Value::Int(-40_000)]).unwrap_err(), "22003", &["items", "column id", "-40000"]);
    check(&primary.of_key(&[Value::Null]).unwrap_err(), "23502", &["items", "column id"]);
    check(&primary.of_key(&[]).unwrap_err(), "42601", &["items", "primary key", "1", "0"]);
    check(&primary.of_values(&[Value::Int(1)]).unwrap_err(), "42601", &["items", "4", "1"]);
    let two = [Value::Int(1), Value::Int(2)];
    check(&KeyRange::prefix(&two).encode(&primary).unwrap_err(), "42601", &["items", "primary key"]);
    let wrong = [Value::Text("x")];
    check(&KeyRange::all().from_included(&wrong).encode(&primary).unwrap_err(), "42804", &["items", "column id"]);
    check(&primary.decode(&[0]).unwrap_err(), "XX001", &["items", "primary key", "column id"]);

    let by_size = KeyCodec::index(schema.clone(), schema.index("by_size").unwrap().id()).unwrap();
    by_size.prefix(&two).expect("the primary key follows in an index that is not unique");
    assert!(!by_size.finds_one(&two[..1]));
    let by_name = KeyCodec::index(schema.clone(), schema.index("by_name").unwrap().id()).unwrap();
    let name = [Value::Text("x"), Value::Int(1)];
    check(&by_name.prefix(&name).unwrap_err(), "42601", &["items", "by_name"]);
    assert!(by_name.finds_one(&name[..1]) && !by_name.finds_one(&[Value::Null]));
}

#[test]
fn rows_without_a_name_do_not_violate_uniqueness() {
    let schema = Arc::new(items().unique_index("by_name", ["name"]).build().unwrap());
    let codec = KeyCodec::index(schema, IndexId(0)).unwrap();
    let entry = |id, name| codec.of_values(&[Value::Int(id), Value::Numeric(0), name, Value::Null]).unwrap();
    assert_eq!(entry(1, Value::Text("a")), entry(2, Value::Text("a")));
    assert_ne!(entry(1, Value::Null), entry(2, Value::Null));
    assert!(codec.depends_on(&[(ColumnId(2), Value::Null)]) && codec.depends_on(&[(ColumnId(0), Value::Int(3))]));
    assert!(!codec.depends_on(&[(ColumnId(3), Value::Null)]));
}

#[test]
fn entries_are_shown_as_sql_would() {
    let schema = Schema::builder("t")
        .column("n", Type::Numeric { precision: 6, scale: 3 })
        .column("s", Type::Text)
        .column("b", Type::Bytes)
        .primary_key(["n", "s", "b"]);
    let codec = KeyCodec::primary(Arc::new(schema.build().unwrap()));
    let key = codec.of_key(&[Value::Numeric(-1_050), Value::Text("o'k"), Value::Bytes(&[0, 171])]).unwrap();
    assert_eq!(codec.describe(&key), r"(n, s, b)=(-1.050, 'o''k', '\x00ab')");
    assert_eq!(codec.describe(&[1, 2]), "(n, s, b)=x0102");
}

#[test]
#[should_panic(expected = "column name of table items was read as integer; it is of type text and holds NULL")]
fn a_getter_of_the_wrong_type_names_the_column() {
    let codec = RowCodec::new(Arc::new(items().build().unwrap()));
    let bytes = codec.encode(&[Value::Int(1), Value::Numeric(0), Value::Null, Value::Null]).unwrap();
    codec.row(bytes).int(ColumnId(2));
}

#[test]
fn every_getter_reads_its_type() {
    let schema = Schema::builder("t")
        .column("a", Type::Bool)
        .column("b", Type::Int16)
        .column("c", Type::Int32)
        .column("d", Type::Int64)
        .column("e", Type::Float64)
        .column("f", Type::Numeric { precision: 18, scale: 0 })
        .column("g", Type::Text)
        .column("h", Type::Bytes)
        .column("i", Type::Timestamp)
        .primary_key(["a"]);
    let codec = RowCodec::new(Arc::new(schema.build().unwrap()));
    let values = [
        Value::from(true),
        Value::from(-2_i16),
        Value::from(-3_i32),
        Value::from(i64::MIN),
        Value::from(-0.5),
        Value::Numeric(999_999_999_999_999_999),
        Value::from("é"),
        Value::from(&b"\0"[..]),
        Value::Timestamp(-1),
    ];
    let bytes = codec.encode(&values).unwrap();
    let row = codec.row(&bytes);
    let id = |name| row.schema().column_id(name).unwrap();
    assert!(row.boolean(id("a")));
    assert_eq!([row.int(id("b")), row.int(id("c")), row.int(id("d"))], [-2, -3, i64::MIN]);
    assert_eq!(row.float(id("e")), -0.5);
    assert_eq!(row.numeric(id("f")), 999_999_999_999_999_999);
    assert_eq!(row.text(id("g")), "é");
    assert_eq!(row.bytes(id("h")), b"\0");
    assert_eq!(row.timestamp(id("i")), -1);
    assert!(!row.is_null(id("i")));
    check(&row.schema().column_id("z").unwrap_err(), "42703", &["table t", "column z"]);
}

#[test]
fn a_schema_of_a_later_program_is_refused_as_such() {
    let mut bytes = items().build().unwrap().encode();
    bytes[0] = 4;
    check(&Schema::decode(&bytes).unwrap_err(), "0A000", &["format 4", "newer program"]);
    // Format 2 ends with notes, which are not empty.
    bytes[0] = 2;
    check(&Schema::decode(&bytes).unwrap_err(), "XX001", &["ends too early"]);
    bytes.extend([0; 4]);
    check(&Schema::decode(&bytes).unwrap_err(), "XX001", &["notes"]);
    // Format 3 ends with a layout.
    bytes[0] = 3;
    check(&Schema::decode(&bytes).unwrap_err(), "XX001", &["ends too early"]);
    bytes.extend([0; 2]);
    check(&Schema::decode(&bytes).unwrap_err(), "XX001", &["no layout"]);
    bytes[0] = 0;
    check(&Schema::decode(&bytes).unwrap_err(), "XX001", &["corrupt schema"]);
}

#[test]
fn columns_that_are_added_are_checked() {
    fn new<'v>(name: &'v str, ty: Type, value: Value<'v>) -> NewColumn<'v> {
        NewColumn { name, ty, is_nullable: false, value }
    }
    let schema = Schema::builder("t").column("id", Type::Int32).primary_key(["id"]).build().unwrap();
    let refused = |column, sqlstate, words: &[&str]| {
        check(&schema.with_columns(1, &[column]).unwrap_err(), sqlstate, words);
    };
    refused(new("id", Type::Bool, Value::Bool(true)), "42701", &["table t", "id"]);
    refused(new("", Type::Bool, Value::Bool(true)), "42602", &["column"]);
    refused(new("a", Type::Bool, Value::Null), "23502", &["table t", "column a"]);
    refused(new("a", Type::Int16, Value::Int(40_000)), "22003", &["table t", "column a"]);
    refused(new("a", Type::Int16, Value::Text("1")), "42804", &["table t", "column a"]);
    let long = "x".repeat(MISSING_BYTES_MAX);
    refused(new("a", Type::Text, Value::Text(&long)), "54000", &["table t", "65540 bytes"]);
    let mut grown = schema.clone();
    for number in 1..GROUPS_MAX {
        let name = format!("c{number}");
        grown = grown.with_columns(number % 2, &[new(&name, Type::Bool, Value::Bool(true))]).unwrap();
        assert_eq!(Schema::decode(&grown.encode()).unwrap(), grown);
    }
    let error = grown.with_columns(0, &[new("more", Type::Bool, Value::Bool(true))]).unwrap_err();
    check(&error, "54000", &["table t", "64 times"]);
    // Behind the notes: three groups, each with one column.
    let grown = schema.with_columns(1, &[new("a", Type::Bool, Value::Bool(true))]).unwrap();
    let grown = grown.with_columns(2, &[new("b", Type::Bool, Value::Bool(true))]).unwrap().encode();
    let groups =
        [&[3, 0][..], &[1, 0, 0, 0, 0, 0, 0, 0, 0], &[1, 0, 0, 1, 0, 1, 0, 0, 0, 1], &[1, 0, 0, 2, 0, 1, 0, 0, 0, 1]];
    assert!(grown.ends_with(&groups.concat()), "{grown:?}");
    let changed = |from_end: usize, byte: u8| {
        let mut bytes = grown.clone();
        let at = bytes.len() - from_end;
        bytes[at] = byte;
        Schema::decode(&bytes).unwrap_err()
    };
    // The last column's place is that of another one, of none, or of a NULL; the first one's is that of the key.
    for (from_end, byte) in [(7, 0), (7, 1), (7, 3), (8, 2), (26, 1)] {
        check(&changed(from_end, byte), "XX001", &["table t", "cannot lie"]);
    }
    check(&changed(8, 6), "XX001", &["kind 6"]);
    // What is missing has no room for the null bit of the last column, which takes NULL no more.
    let names: Vec<String> = (0..9).map(|number| format!("n{number}")).collect();
    let nulls = names.iter().map(|name| NewColumn { is_nullable: true, ..new(name, Type::Bool, Value::Null) });
    let nulls =
        schema.with_columns(1, &nulls.collect::<Vec<_>>()).unwrap().with_nullable("n8", false).unwrap().encode();
    let length = nulls.len() - 15;
    assert_eq!(nulls[length..length + 4], [11, 0, 0, 0]);
    check(
        &Schema::decode(&[&nulls[..length], &[1, 0, 0, 0, 0]].concat()).unwrap_err(),
        "XX001",
        &["1 bytes of at least 11"],
    );
    // The type of a column that is gone.
    let price = schema.with_columns(1, &[new("price", Type::Numeric { precision: 18, scale: 2 }, Value::Numeric(0))]);
    let mut gone = price.unwrap().without_column("price").unwrap().encode();
    let at = gone.windows(4).position(|bytes| bytes == [3, 6, 18, 2]).unwrap();
    gone[at + 2] = 19;
    check(&Schema::decode(&gone).unwrap_err(), "XX001", &["table t", "cannot lie"]);
    check(&changed(1, 2), "XX001", &["table t", "column b", "neither true nor false"]);
}

#[test]
fn columns_of_keys_stay_as_they_are() {
    let schema = items().index("by_size", ["size"]).build().unwrap();
    let index = schema.indexes()[0].clone();
    let (of_index, of_key) = (schema.column(index.columns()[0]).name(), schema.column(schema.primary_key()[0]).name());
    check(&schema.without_column(of_index).unwrap_err(), "2BP01", &["table items", of_index, "index", index.name()]);
    check(&schema.without_column(of_key).unwrap_err(), "2BP01", &["table items", of_key, "primary key"]);
    check(&schema.with_nullable(of_key, true).unwrap_err(), "42P16", &["table items", of_key]);
    check(&schema.with_nullable(of_index, true).unwrap_err(), "2BP01", &["table items", of_index, index.name()]);
    check(&schema.without_column("nobody").unwrap_err(), "42703", &["table items", "nobody"]);
    // What is taken back leaves nothing behind.
    let free = schema.without_index(index.name()).unwrap();
    let there = free.with_nullable(of_index, !free.column(index.columns()[0]).is_nullable()).unwrap();
    let back = there.with_nullable(of_index, free.column(index.columns()[0]).is_nullable()).unwrap();
    assert_eq!(back.encode() == free.encode(), free.column(index.columns()[0]).is_nullable());
}

#[test]
fn texts_are_checked_where_they_are_not_ascii() {
    let schema =
        Schema::builder("t").column("a", Type::Text).column("b", Type::Bytes).primary_key(["a"]).build().unwrap();
    let codec = RowCodec::new(Arc::new(schema));
    let mut bytes = codec.encode(&[Value::Text("Käse"), Value::Bytes(&[0xFF])]).unwrap();
    codec.check(&bytes).unwrap();
    let umlaut = bytes.iter().position(|byte| !byte.is_ascii()).unwrap();
    bytes.swap(umlaut, umlaut + 1);
    check(&codec.check(&bytes).unwrap_err(), "XX001", &["table t", "column a", "UTF-8"]);
}

#[test]
fn what_follows_the_end_is_corrupt() {
    let schema = Arc::new(items().build().unwrap());
    let primary = KeyCodec::primary(schema.clone());
    let key = primary.of_key(&[Value::Int(1)]).unwrap();
    check(&primary.decode(&[&key[..], &[0]].concat()).unwrap_err(), "XX001", &["items", "1 bytes"]);
    let codec = RowCodec::new(schema.clone());
    let row = codec.encode(&[Value::Int(1), Value::Numeric(0), Value::Null, Value::Null]).unwrap();
    check(&codec.check(&[&row[..], &[0]].concat()).unwrap_err(), "XX001", &["items"]);
    check(&Schema::decode(&[&schema.encode()[..], &[0]].concat()).unwrap_err(), "XX001", &["bytes follow"]);
}

#[test]
fn a_decoded_schema_obeys_the_rules_of_a_built_one() {
    let schema =
        Schema::builder("t").column("xa", Type::Bool).column("xb", Type::Bool).primary_key(["xa"]).index("i", ["xb"]);
    let bytes = schema.build().unwrap().encode();
    let at = bytes.windows(2).position(|name| name == b"xb").unwrap();
    let mut doubled = bytes.clone();
    doubled[at + 1] = b'a';
    check(&Schema::decode(&doubled).unwrap_err(), "42701", &["table t", "xa"]);
    // After the columns: the key's count and column, then the next index's number.
    let mut reused = bytes;
    assert_eq!(reused[at + 6..at + 12], [1, 0, 0, 0, 1, 0]);
    reused[at + 10] = 0;
    check(&Schema::decode(&reused).unwrap_err(), "XX001", &["corrupt schema", "index numbers"]);
}
