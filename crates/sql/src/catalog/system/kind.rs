//! What the catalog says of types, conversions, collations and the classes of operators of indexes.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::snapshot::{Sort, derived_oid};
use super::{BTREE, Catalog, FIRST_ROLE, PG_CATALOG, class, oid, role, text};
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Int, Null};
use crate::enumeration::EnumType;
use crate::error::Result;
use crate::run::Row;
use crate::types::Type;
use crate::value::{self, Conversion};

/// Of each type: number, name, length, whether it is passed by value, category, whether it is preferred, alignment, storage,
/// collation, type of elements, and the functions with their numbers that read and write it.
const TYPES: &str = include_str!("types.txt");

/// How PostgreSQL stores values of a type.
pub(super) struct Shape {
    pub(super) length: i64,
    pub(super) is_by_value: bool,
    pub(super) alignment: &'static str,
    pub(super) storage: &'static str,
    pub(super) collation: u32,
}

static WORDS: LazyLock<HashMap<u32, Vec<&'static str>>> = LazyLock::new(|| {
    let line = |line: &'static str| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[0].parse().expect("a number"), words)
    };
    TYPES.lines().map(line).collect()
});

fn words(ty: Type) -> &'static [&'static str] {
    WORDS.get(&ty.oid()).expect("every type that is no array is listed")
}

/// How PostgreSQL stores values of a type.
pub(super) fn shape(ty: Type) -> Shape {
    match ty {
        Type::Enum(_) => return Shape { length: 4, is_by_value: true, alignment: "i", storage: "p", collation: 0 },
        Type::Array(Type::Enum(_)) => {
            return Shape { length: -1, is_by_value: false, alignment: "i", storage: "x", collation: 0 };
        }
        _ => {}
    }
    if let Type::Array(element) = ty {
        let element = words(*element);
        let alignment = if element[6] == "d" { "d" } else { "i" };
        let collation = element[8].parse().unwrap_or(0);
        return Shape { length: -1, is_by_value: false, alignment, storage: "x", collation };
    }
    let words = words(ty);
    Shape {
        length: words[2].parse().unwrap_or(-1),
        is_by_value: words[3] == "t",
        alignment: words[6],
        storage: words[7],
        collation: words[8].parse().unwrap_or(0),
    }
}

/// The functions that read and write types, with their numbers.
pub(super) fn functions() -> impl Iterator<Item = (u32, &'static str)> {
    const OF_ARRAYS: [&str; 6] = [
        "750:array_in",
        "751:array_out",
        "2400:array_recv",
        "2401:array_send",
        "6179:array_subscript_handler",
        "3816:array_typanalyze",
    ];
    let of_types = TYPES.lines().flat_map(|line| line.split(' ').skip(10)).filter(|word| *word != "0:-");
    of_types.chain(OF_ARRAYS).filter_map(|word| {
        let (number, name) = word.split_once(':')?;
        Some((number.parse().ok()?, name))
    })
}

fn number_of(word: &str) -> Datum {
    word.split_once(':').and_then(|(number, _)| number.parse().ok()).map_or(Int(0), Int)
}

/// `pg_type`: the types of values, and their arrays.
pub(super) fn types(catalog: &Catalog<'_>) -> Result<Vec<Row>> {
    let all = Type::scalars().flat_map(|ty| [Some(ty), ty.array()]).flatten();
    let mut rows: Vec<Row> = all.map(type_row).collect();
    for known in catalog.snapshot()?.beside.types.values() {
        let schema = class::schema_number(catalog, known.ty.schema())?.unwrap_or(0);
        let owner = role::number(&known.owner);
        rows.extend([Type::Enum(known.ty), known.ty.array()].map(|ty| enum_row(ty, known.ty, schema, owner)));
    }
    Ok(rows)
}

/// An enumeration, or the type of its arrays.
fn enum_row(ty: Type, own: EnumType, schema: u32, owner: u32) -> Row {
    const OF_ENUMS: [u32; 6] = [3506, 3507, 3532, 3533, 0, 0];
    const OF_ARRAYS: [u32; 6] = [750, 751, 2400, 2401, 0, 0];
    let is_array = matches!(ty, Type::Array(_));
    let shape = shape(ty);
    let mut row = vec![
        oid(ty.oid()),
        text(ty.catalog_name()),
        oid(schema),
        oid(owner),
        Int(shape.length),
        Bool(shape.is_by_value),
        text(if is_array { "b" } else { "e" }),
        text(if is_array { "A" } else { "E" }),
        Bool(false),
        Bool(true),
        text(","),
        oid(0),
        oid(if is_array { 6179 } else { 0 }),
        oid(if is_array { own.oid() } else { 0 }),
        oid(if is_array { 0 } else { own.array_oid() }),
    ];
    row.extend(if is_array { OF_ARRAYS } else { OF_ENUMS }.map(oid));
    row.extend([
        Int(if is_array { 3816 } else { 0 }),
        text(shape.alignment),
        text(shape.storage),
        Bool(false),
        oid(0),
        Int(-1),
        Int(0),
        oid(0),
        Null,
        Null,
        Null,
    ]);
    row
}

/// `pg_enum`: the labels of enumerations.
pub(super) fn labels(catalog: &Catalog<'_>) -> Result<Vec<Row>> {
    let (mut rows, mut taken) = (Vec::new(), HashSet::new());
    for known in catalog.snapshot()?.beside.types.values() {
        for (label, order) in known.ty.labels().iter().zip(1_u16..) {
            let mut number = derived_oid(Sort::Label, known.ty.oid(), &label.number.to_string());
            while !taken.insert(number) {
                number += 1;
            }
            rows.push(vec![oid(number), oid(known.ty.oid()), Datum::Float(order.into()), text(&label.text)]);
        }
    }
    Ok(rows)
}

fn type_row(ty: Type) -> Row {
    let array = ["750:array_in", "751:array_out", "2400:array_recv", "2401:array_send", "0:-", "0:-", "6179:-"];
    let shape = shape(ty);
    let is_array = matches!(ty, Type::Array(_));
    let element = if let Type::Array(element) = ty { *element } else { ty };
    let known = words(element);
    let mut functions: Vec<&str> = if is_array { array.to_vec() } else { known[10..17].to_vec() };
    if is_array {
        functions[4..6].copy_from_slice(&known[14..16]);
    }
    let is_pseudo = matches!(element, Type::Unknown | Type::Record | Type::Void | Type::Trigger);
    vec![
        oid(ty.oid()),
        text(ty.catalog_name()),
        oid(PG_CATALOG),
        oid(FIRST_ROLE),
        Int(shape.length),
        Bool(shape.is_by_value),
        text(if is_pseudo { "p" } else { "b" }),
        text(match (is_array, is_pseudo) {
            (true, true) => "P",
            (true, false) => "A",
            _ => known[4],
        }),
        Bool(!is_array && known[5] == "t"),
        Bool(true),
        text(","),
        oid(0),
        number_of(functions[6]),
        if is_array { oid(element.oid()) } else { Int(known[9].parse().unwrap_or(0)) },
        oid(if is_array { 0 } else { ty.array().map_or(0, Type::oid) }),
        number_of(functions[0]),
        number_of(functions[1]),
        number_of(functions[2]),
        number_of(functions[3]),
        number_of(functions[4]),
        number_of(functions[5]),
        Int(if is_array { 3816 } else { 0 }),
        text(shape.alignment),
        text(shape.storage),
        Bool(false),
        oid(0),
        Int(-1),
        Int(0),
        oid(shape.collation),
        Null,
        Null,
        Null,
    ]
}

/// `pg_cast`: the conversions that are not made through text.
pub(super) fn casts() -> Vec<Row> {
    let mut rows = Vec::new();
    for from in Type::scalars() {
        for to in Type::scalars().filter(|to| *to != from && from != Type::Unknown) {
            let context = match value::listed(from, to) {
                Some(Conversion::Implicit) => "i",
                Some(Conversion::Assignment) => "a",
                Some(Conversion::Explicit) => "e",
                None => continue,
            };
            let number = 12_000 + rows.len() as i64;
            rows.push(vec![Int(number), oid(from.oid()), oid(to.oid()), Int(0), text(context), text("b")]);
        }
    }
    rows
}

/// The collations, with their numbers and where their orders come from.
const COLLATIONS: [(i64, &str, &str); 4] =
    [(100, "default", "d"), (950, "C", "c"), (951, "POSIX", "c"), (12_340, "ucs_basic", "c")];

/// `pg_collation`: texts compare by their bytes, whatever the collation is called.
pub(super) fn collations() -> Vec<Row> {
    let row = |(number, name, provider): (i64, &str, &str)| {
        let locale = match provider {
            "d" => Null,
            _ => text(if name == "ucs_basic" { "C" } else { name }),
        };
        vec![
            Int(number),
            text(name),
            oid(PG_CATALOG),
            oid(FIRST_ROLE),
            text(provider),
            Bool(true),
            Int(-1),
            locale.clone(),
            locale,
            Null,
            Null,
        ]
    };
    COLLATIONS.iter().copied().map(row).collect()
}

/// The number of a collation.
pub(super) fn collation_number(name: &str) -> u32 {
    let found = COLLATIONS.iter().find(|(_, known, _)| *known == name);
    found.and_then(|(number, ..)| u32::try_from(*number).ok()).unwrap_or(0)
}

/// `pg_am`: how tables and indexes are stored, in the words that tools know.
pub(super) fn methods() -> Vec<Row> {
    let row =
        |(number, name, handler, kind): (u32, &str, i64, &str)| vec![oid(number), text(name), Int(handler), text(kind)];
    [(super::HEAP, "heap", 3, "t"), (BTREE, "btree", 330, "i")].into_iter().map(row).collect()
}

/// Classes of operators: number, name, family and its name, type, whether it is the default one.
const CLASSES: &[(u32, &str, u32, &str, Type, bool)] = &[
    (1978, "int4_ops", 1976, "integer_ops", Type::Int4, true),
    (1979, "int2_ops", 1976, "integer_ops", Type::Int2, true),
    (1981, "oid_ops", 1989, "oid_ops", Type::Oid, true),
    (3122, "date_ops", 434, "datetime_ops", Type::Date, true),
    (3123, "float8_ops", 1970, "float_ops", Type::Float8, true),
    (3124, "int8_ops", 1976, "integer_ops", Type::Int8, true),
    (3125, "numeric_ops", 1988, "numeric_ops", Type::Numeric, true),
    (3126, "text_ops", 1994, "text_ops", Type::Text, true),
    (3127, "timestamptz_ops", 434, "datetime_ops", Type::Timestamptz, true),
    (3128, "timestamp_ops", 434, "datetime_ops", Type::Timestamp, true),
    (10_003, "bool_ops", 424, "bool_ops", Type::Bool, true),
    (10_004, "bpchar_ops", 426, "bpchar_ops", Type::Char, true),
    (10_006, "bytea_ops", 428, "bytea_ops", Type::Bytea, true),
    (10_007, "char_ops", 429, "char_ops", Type::InternalChar, true),
    (10_009, "cidr_ops", 1974, "network_ops", Type::Inet, false),
    (10_012, "float4_ops", 1970, "float_ops", Type::Float4, true),
    (10_015, "inet_ops", 1974, "network_ops", Type::Inet, true),
    (10_022, "interval_ops", 1982, "interval_ops", Type::Interval, true),
    (10_024, "macaddr_ops", 1984, "macaddr_ops", Type::MacAddr, true),
    (10_028, "name_ops", 1994, "text_ops", Type::Name, true),
    (10_038, "time_ops", 1996, "time_ops", Type::Time, true),
    (10_044, "varchar_ops", 1994, "text_ops", Type::Text, false),
    (10_065, "uuid_ops", 2968, "uuid_ops", Type::Uuid, true),
];

/// The class of operators of enumerations, and its family.
const ENUM_OPS: u32 = 3522;
const ENUM_FAMILY: u32 = 3523;
/// The type that stands for any enumeration.
const ANY_ENUM: u32 = 3500;

/// The class of operators by which an index orders a column; `text` stands for `varchar`, `inet` for `cidr`.
pub(super) fn class_of(ty: Type) -> u32 {
    let ty = match ty {
        Type::Varchar => Type::Text,
        Type::Cidr => Type::Inet,
        ty => ty,
    };
    if let Type::Enum(_) = ty {
        return ENUM_OPS;
    }
    CLASSES.iter().find(|(.., of, is_default)| *of == ty && *is_default).map_or(0, |(number, ..)| *number)
}

/// `pg_opclass`.
pub(super) fn classes() -> Vec<Row> {
    let row = |(number, name, family, _, ty, is_default): &(u32, &str, u32, &str, Type, bool)| {
        vec![
            oid(*number),
            oid(BTREE),
            text(name),
            oid(PG_CATALOG),
            oid(FIRST_ROLE),
            oid(*family),
            oid(ty.oid()),
            Bool(*is_default),
            oid(if *ty == Type::Name { 2275 } else { 0 }),
        ]
    };
    let of_enums = [oid(ENUM_OPS), oid(BTREE), text("enum_ops"), oid(PG_CATALOG), oid(FIRST_ROLE)];
    let of_enums = of_enums.into_iter().chain([oid(ENUM_FAMILY), oid(ANY_ENUM), Bool(true), oid(0)]).collect();
    CLASSES.iter().map(row).chain([of_enums]).collect()
}

/// `pg_opfamily`.
pub(super) fn families() -> Vec<Row> {
    let mut families: Vec<(u32, &str)> = CLASSES.iter().map(|(_, _, family, name, ..)| (*family, *name)).collect();
    families.push((ENUM_FAMILY, "enum_ops"));
    families.sort_unstable();
    families.dedup();
    let row = |(number, name)| vec![oid(number), oid(BTREE), text(name), oid(PG_CATALOG), oid(FIRST_ROLE)];
    families.into_iter().map(row).collect()
}
