//! Tests of values as text. What they expect is what PostgreSQL 15 prints and refuses.

use super::*;

fn declared(ty: Type, modifier: Modifier) -> Declared {
    Declared { ty, modifier }
}

fn read(text: &str, to: impl Into<Declared>) -> Result<Datum> {
    parse(text, to.into(), &Settings::default())
}

fn fails(text: &str, to: impl Into<Declared>) -> (String, String) {
    let error = read(text, to).unwrap_err();
    (error.message.clone(), error.code().to_owned())
}

fn shown_with(datum: &Datum, of: impl Into<Declared>, settings: &Settings) -> String {
    let mut out = Vec::new();
    push_text(datum, of.into(), settings, &mut out);
    String::from_utf8(out).unwrap()
}

fn again(text: &str, of: impl Into<Declared> + Copy) -> String {
    shown_with(&read(text, of).unwrap(), of, &Settings::default())
}

#[test]
fn truth_values_have_many_names() {
    for text in ["t", "TRUE", " TR ", "y", "yes", "on", "1"] {
        assert_eq!(again(text, Type::Bool), "t", "{text}");
    }
    for text in ["f", "False", "n", "no", "of", "off", "0"] {
        assert_eq!(again(text, Type::Bool), "f", "{text}");
    }
    for text in ["", "o", "truee", "2", "yess", "oof", "é"] {
        let message = format!("invalid input syntax for type boolean: \"{text}\"");
        assert_eq!(fails(text, Type::Bool), (message, "22P02".into()));
    }
}

#[test]
fn integers_keep_their_range() {
    assert_eq!(again(" -32768 ", Type::Int2), "-32768");
    assert_eq!(again("+2147483647", Type::Int4), "2147483647");
    assert_eq!(again("-9223372036854775808", Type::Int8), "-9223372036854775808");
    let range = |text: &str, name: &str| (format!("value \"{text}\" is out of range for type {name}"), "22003".into());
    assert_eq!(fails("32768", Type::Int2), range("32768", "smallint"));
    assert_eq!(fails("99999999999", Type::Int4), range("99999999999", "integer"));
    assert_eq!(fails("9223372036854775808", Type::Int8), range("9223372036854775808", "bigint"));
    let huge = "9".repeat(60);
    assert_eq!(fails(&huge, Type::Int8), range(&huge, "bigint"));
    for text in ["", "abc", "1 2", "1.5", "0x10", "-", "1e3"] {
        let message = format!("invalid input syntax for type integer: \"{text}\"");
        assert_eq!(fails(text, Type::Int4), (message, "22P02".into()));
    }
}

#[test]
fn numbers_of_the_catalog_are_read() {
    assert_eq!((again("-1", Type::Oid), again("0", Type::Oid)), ("4294967295".into(), "0".into()));
    assert_eq!(fails("4294967296", Type::Oid).0, "value \"4294967296\" is out of range for type oid");
    assert_eq!(fails("x", Type::Oid).0, "invalid input syntax for type oid: \"x\"");
    assert_eq!((again("-", Type::RegClass), again("1259", Type::RegClass)), ("-".into(), "1259".into()));
    assert_eq!(fails("x", Type::RegClass), ("relation \"x\" does not exist".into(), "42P01".into()));
    assert_eq!(fails("x", Type::RegType), ("type \"x\" does not exist".into(), "42704".into()));
    assert_eq!(fails("x", Type::RegProc), ("function \"x\" does not exist".into(), "42883".into()));
}

#[test]
fn texts_keep_their_length() {
    let varchar = declared(Type::Varchar, Modifier::Length(3));
    let char = declared(Type::Char, Modifier::Length(3));
    assert_eq!((again("abc  ", varchar), again("éàü", varchar), again("ab ", varchar)), {
        ("abc".into(), "éàü".into(), "ab ".into())
    });
    assert_eq!(fails("abcd", varchar), ("value too long for type character varying(3)".into(), "22001".into()));
    assert_eq!(fails("abcd", char), ("value too long for type character(3)".into(), "22001".into()));
    assert_eq!(read("é    ", char).unwrap(), Datum::text("é"));
    assert_eq!(again("é    ", char), "é  ");
    assert_eq!(again(&"é".repeat(40), Type::Name), "é".repeat(31));
    assert_eq!((again("abc", Type::InternalChar), again("", Type::InternalChar)), ("a".into(), String::new()));
    let array = declared(Type::Array(&Type::Varchar), Modifier::Length(3));
    assert_eq!(fails("{abcd}", array).0, "value too long for type character varying(3)");
    assert_eq!(
        again("{1,2.555}", declared(Type::Array(&Type::Numeric), Modifier::Digits { precision: 4, scale: 2 })),
        { "{1.00,2.56}" }
    );
}

#[test]
fn bytes_are_read_in_both_forms() {
    assert_eq!(again("\\x00 fF", Type::Bytea), "\\x00ff");
    assert_eq!(again("a\\\\\\001", Type::Bytea), "\\x615c01");
    let escape = Settings { escapes_bytea: true, ..Settings::default() };
    let datum = read("\\x615c0141ff", Type::Bytea).unwrap();
    let shown = shown_with(&datum, Type::Bytea, &escape);
    assert_eq!(shown, "a\\\\\\001A\\377");
    assert_eq!(read(&shown, Type::Bytea).unwrap(), datum);
    assert_eq!(fails("\\xg1", Type::Bytea), ("invalid hexadecimal digit: \"g\"".into(), "22023".into()));
    assert_eq!(fails("\\x123", Type::Bytea), ("invalid hexadecimal data: odd number of digits".into(), "22023".into()));
    for text in ["a\\1", "\\", "\\400", "\\9"] {
        assert_eq!(fails(text, Type::Bytea), ("invalid input syntax for type bytea".into(), "22P02".into()));
    }
}

#[test]
fn uuids_are_read_in_all_forms() {
    let shown = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
    let forms = [
        shown,
        "{a0eebc999c0b4ef8bb6d6bb9bd380a11}",
        "A0EEBC999C0B4EF8BB6D6BB9BD380A11",
        "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
    ];
    for form in forms {
        assert_eq!(again(form, Type::Uuid), shown);
    }
    for text in ["", "zz", "{a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0-eebc999c0b4ef8bb6d6bb9bd380a11", &shown[1..]] {
        assert_eq!(fails(text, Type::Uuid).0, format!("invalid input syntax for type uuid: \"{text}\""));
    }
    assert!(read(&format!("{shown}0"), Type::Uuid).is_err() && read(&format!("{shown}-"), Type::Uuid).is_err());
}

#[test]
fn json_is_kept_and_jsonb_is_canonical() {
    let text = r#" {"b" : 1.0,  "a":[]} "#;
    assert_eq!(again(text, Type::Json), text);
    assert_eq!(again(text, Type::Jsonb), r#"{"a": [], "b": 1.0}"#);
    assert_eq!(fails("{", Type::Json), ("invalid input syntax for type json".into(), "22P02".into()));
    assert_eq!(fails("{", Type::Jsonb), ("invalid input syntax for type json".into(), "22P02".into()));
}

#[test]
fn floats_follow_the_setting_of_digits() {
    let settings = Settings { extra_float_digits: 0, ..Settings::default() };
    assert_eq!(shown_with(&Datum::Float(0.1 + 0.2), Type::Float8, &settings), "0.3");
    assert_eq!(again("0.1", Type::Float4), "0.1");
    assert_eq!(again("0.1", Type::Float8), "0.1");
    assert_eq!(fails("1e50", Type::Float4).1, "22003");
}

#[test]
fn numerics_keep_their_digits() {
    let money = declared(Type::Numeric, Modifier::Digits { precision: 4, scale: 2 });
    assert_eq!((again("1.5", money), again("1.500", Type::Numeric)), ("1.50".into(), "1.500".into()));
    assert_eq!(fails("100", money).0, "numeric field overflow");
    assert_eq!(fails("x", money).0, "invalid input syntax for type numeric: \"x\"");
}
