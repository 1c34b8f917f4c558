//! The types of SQL, with their names, their numbers in PostgreSQL's catalog, and what the rules of conversion ask of them.
//!
//! Invariants:
//! - A type has one number ([`Type::oid`]) and one name ([`Type::catalog_name`]), those of PostgreSQL, or of an enumeration.
//! - Arrays have one dimension, and elements that are no arrays.
//!
//! Absent: what a column's declaration adds, as the 10 of `varchar(10)` ([`Modifier`] holds it beside the type); domains, ranges
//! and composite types.

use std::fmt;

use crate::catalog::name::PUBLIC;
use crate::enumeration::EnumType;
use crate::parse::quote::quoted;
use crate::value::interval::Fields;

/// A type of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `boolean`.
    Bool,
    /// `smallint`.
    Int2,
    /// `integer`.
    Int4,
    /// `bigint`.
    Int8,
    /// `real`.
    Float4,
    /// `double precision`.
    Float8,
    /// `numeric`, exact.
    Numeric,
    /// `text`.
    Text,
    /// `character varying`.
    Varchar,
    /// `character`, padded with blanks (PostgreSQL's `bpchar`).
    Char,
    /// `name`, the type of identifiers in the catalog.
    Name,
    /// `"char"`, one byte, used by the catalog.
    InternalChar,
    /// `bytea`.
    Bytea,
    /// `date`.
    Date,
    /// `time without time zone`.
    Time,
    /// `timestamp without time zone`.
    Timestamp,
    /// `timestamp with time zone`.
    Timestamptz,
    /// `interval`.
    Interval,
    /// `uuid`.
    Uuid,
    /// `inet`, an address with the length of the prefix that is its network.
    Inet,
    /// `cidr`, an address of a network.
    Cidr,
    /// `macaddr`, an address of a network card.
    MacAddr,
    /// `json`: text that was checked and is kept as it was written.
    Json,
    /// `jsonb`: text in one canonical form.
    Jsonb,
    /// `oid`, a number of the catalog.
    Oid,
    /// `regclass`, a relation's number that is shown as its name.
    RegClass,
    /// `regtype`, a type's number that is shown as its name.
    RegType,
    /// `regproc`, a function's number that is shown as its name.
    RegProc,
    /// `regprocedure`, a function's number that is shown as its name with the types of its arguments.
    RegProcedure,
    /// `regoperator`, an operator's number that is shown as its sign with the types of its operands.
    RegOperator,
    /// `regnamespace`, a schema's number that is shown as its name.
    RegNamespace,
    /// `regrole`, a role's number that is shown as its name.
    RegRole,
    /// `xid`, the number of a transaction.
    Xid,
    /// `oidvector`, numbers of the catalog; the first one has the subscript 0.
    OidVector,
    /// `int2vector`, small integers; the first one has the subscript 0.
    Int2Vector,
    /// An array with these elements.
    Array(&'static Type),
    /// An enumeration.
    Enum(EnumType),
    /// What a literal in quotes and a parameter without a type are until the context tells.
    Unknown,
    /// A row of values.
    Record,
    /// The result of what returns nothing.
    Void,
    /// The result of a function of triggers, of which there are none.
    Trigger,
}

/// The groups in which PostgreSQL looks for a preferred type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// `boolean`.
    Boolean,
    /// Numbers; `double precision` and `oid` are preferred.
    Numeric,
    /// Character strings; `text` is preferred.
    String,
    /// Dates and times; `timestamp with time zone` is preferred.
    DateTime,
    /// `interval`.
    Timespan,
    /// Addresses of hosts and networks; `inet` is preferred.
    Network,
    /// Arrays.
    Array,
    /// Enumerations.
    Enum,
    /// Any other type.
    Other,
    /// `unknown`.
    Unknown,
    /// Types that no column has.
    Pseudo,
}

/// All types of the system that are no arrays, with their number, the number of their array, their name in the catalog and their
/// SQL name.
const SCALARS: &[(Type, u32, u32, &str, &str)] = &[
    (Type::Bool, 16, 1000, "bool", "boolean"),
    (Type::Bytea, 17, 1001, "bytea", "bytea"),
    (Type::InternalChar, 18, 1002, "char", "\"char\""),
    (Type::Name, 19, 1003, "name", "name"),
    (Type::Int8, 20, 1016, "int8", "bigint"),
    (Type::Int2, 21, 1005, "int2", "smallint"),
    (Type::Int2Vector, 22, 1006, "int2vector", "int2vector"),
    (Type::Int4, 23, 1007, "int4", "integer"),
    (Type::RegProc, 24, 1008, "regproc", "regproc"),
    (Type::Text, 25, 1009, "text", "text"),
    (Type::Oid, 26, 1028, "oid", "oid"),
    (Type::Xid, 28, 1011, "xid", "xid"),
    (Type::OidVector, 30, 1013, "oidvector", "oidvector"),
    (Type::Json, 114, 199, "json", "json"),
    (Type::Cidr, 650, 651, "cidr", "cidr"),
    (Type::Float4, 700, 1021, "float4", "real"),
    (Type::Float8, 701, 1022, "float8", "double precision"),
    (Type::Unknown, 705, 0, "unknown", "unknown"),
    (Type::MacAddr, 829, 1040, "macaddr", "macaddr"),
    (Type::Inet, 869, 1041, "inet", "inet"),
    (Type::Char, 1042, 1014, "bpchar", "character"),
    (Type::Varchar, 1043, 1015, "varchar", "character varying"),
    (Type::Date, 1082, 1182, "date", "date"),
    (Type::Time, 1083, 1183, "time", "time without time zone"),
    (Type::Timestamp, 1114, 1115, "timestamp", "timestamp without time zone"),
    (Type::Timestamptz, 1184, 1185, "timestamptz", "timestamp with time zone"),
    (Type::Interval, 1186, 1187, "interval", "interval"),
    (Type::Numeric, 1700, 1231, "numeric", "numeric"),
    (Type::RegProcedure, 2202, 2207, "regprocedure", "regprocedure"),
    (Type::RegOperator, 2204, 2209, "regoperator", "regoperator"),
    (Type::RegClass, 2205, 2210, "regclass", "regclass"),
    (Type::RegType, 2206, 2211, "regtype", "regtype"),
    (Type::Record, 2249, 2287, "record", "record"),
    (Type::Void, 2278, 0, "void", "void"),
    (Type::Trigger, 2279, 0, "trigger", "trigger"),
    (Type::Uuid, 2950, 2951, "uuid", "uuid"),
    (Type::Jsonb, 3802, 3807, "jsonb", "jsonb"),
    (Type::RegNamespace, 4089, 4090, "regnamespace", "regnamespace"),
    (Type::RegRole, 4096, 4097, "regrole", "regrole"),
];

impl Type {
    /// Returns all types of the system that are no arrays.
    pub fn scalars() -> impl Iterator<Item = Type> {
        SCALARS.iter().map(|(ty, ..)| *ty)
    }

    fn entry(self) -> &'static (Type, u32, u32, &'static str, &'static str) {
        SCALARS.iter().find(|(ty, ..)| *ty == self).expect("every type that is no array is listed")
    }

    /// Returns the number in PostgreSQL's catalog.
    pub fn oid(self) -> u32 {
        match self {
            Type::Array(Type::Enum(element)) => element.array_oid(),
            Type::Enum(own) => own.oid(),
            Type::Array(element) => element.entry().2,
            scalar => scalar.entry().1,
        }
    }

    /// Returns the type of the system with that number, if there is one.
    pub fn of_oid(oid: u32) -> Option<Type> {
        let scalar = SCALARS.iter().find(|(_, own, ..)| *own == oid && oid != 0).map(|(ty, ..)| *ty);
        let array = || SCALARS.iter().find(|(_, _, array, ..)| *array == oid && oid != 0);
        scalar.or_else(|| array().map(|(element, ..)| Type::Array(element)))
    }

    /// Returns the name in PostgreSQL's catalog, as `int4` or `_int4`.
    pub fn catalog_name(self) -> String {
        match self {
            Type::Array(Type::Enum(element)) => format!("_{}", element.name()),
            Type::Enum(own) => own.name().to_owned(),
            Type::Array(element) => format!("_{}", element.entry().3),
            scalar => scalar.entry().3.to_owned(),
        }
    }

    /// Returns the type of the system with that name in PostgreSQL's catalog or that SQL name.
    pub fn of_name(name: &str) -> Option<Type> {
        if let Some(element) = name.strip_suffix("[]").or_else(|| name.strip_prefix('_')) {
            return Type::of_name(element)?.array();
        }
        SCALARS.iter().find(|(_, _, _, catalog, sql)| *catalog == name || *sql == name).map(|(ty, ..)| *ty)
    }

    /// Returns the type of the system with that name in PostgreSQL's catalog, as `int4` or `_int4`.
    pub fn of_catalog_name(name: &str) -> Option<Type> {
        let of_system = |name: &str| SCALARS.iter().find(|(_, _, _, catalog, _)| *catalog == name).map(|(ty, ..)| *ty);
        of_system(name).or_else(|| of_system(name.strip_prefix('_')?)?.array())
    }

    /// Returns the type of arrays of this type; `None` where there is none.
    pub fn array(self) -> Option<Type> {
        if let Type::Enum(own) = self {
            return Some(own.array());
        }
        let (element, _, array, ..) = SCALARS.iter().find(|(ty, ..)| *ty == self)?;
        (*array != 0).then_some(Type::Array(element))
    }

    /// Returns the type of the elements of an array or a vector.
    pub fn element(self) -> Option<Type> {
        match self {
            Type::Array(element) => Some(*element),
            Type::OidVector => Some(Type::Oid),
            Type::Int2Vector => Some(Type::Int2),
            _ => None,
        }
    }

    /// The enumeration that its values, or their elements, are of.
    pub(crate) fn enumeration(self) -> Option<EnumType> {
        match self {
            Type::Enum(own) => Some(own),
            Type::Array(element) => element.enumeration(),
            _ => None,
        }
    }

    /// Whether it is an array whose first element has the subscript 0, and whose elements are written side by side.
    pub fn is_vector(self) -> bool {
        matches!(self, Type::OidVector | Type::Int2Vector)
    }

    /// Whether its values are numbers of the catalog that are shown as names.
    pub fn is_registered(self) -> bool {
        matches!(
            self,
            Type::RegClass
                | Type::RegType
                | Type::RegProc
                | Type::RegProcedure
                | Type::RegOperator
                | Type::RegNamespace
                | Type::RegRole
        )
    }

    /// Returns the group of the type.
    pub fn category(self) -> Category {
        match self {
            Type::Bool => Category::Boolean,
            Type::Int2 | Type::Int4 | Type::Int8 | Type::Float4 | Type::Float8 | Type::Numeric => Category::Numeric,
            Type::Oid | Type::RegClass | Type::RegType | Type::RegProc => Category::Numeric,
            Type::RegProcedure | Type::RegOperator | Type::RegNamespace | Type::RegRole => Category::Numeric,
            Type::Text | Type::Varchar | Type::Char | Type::Name | Type::InternalChar => Category::String,
            Type::Date | Type::Time | Type::Timestamp | Type::Timestamptz => Category::DateTime,
            Type::Interval => Category::Timespan,
            Type::Array(_) | Type::OidVector | Type::Int2Vector => Category::Array,
            Type::Enum(_) => Category::Enum,
            Type::Inet | Type::Cidr => Category::Network,
            Type::Xid | Type::Bytea | Type::Uuid | Type::Json | Type::Jsonb | Type::MacAddr => Category::Other,
            Type::Unknown => Category::Unknown,
            Type::Record | Type::Void | Type::Trigger => Category::Pseudo,
        }
    }

    /// Whether the type is preferred in its group.
    pub fn is_preferred(self) -> bool {
        matches!(
            self,
            Type::Bool
                | Type::Float8
                | Type::Oid
                | Type::Text
                | Type::Timestamptz
                | Type::Interval
                | Type::Inet
                | Type::Unknown
        )
    }

    /// Whether its values are whole numbers.
    pub fn is_integer(self) -> bool {
        matches!(self, Type::Int2 | Type::Int4 | Type::Int8)
    }

    /// Whether its values are character strings.
    pub fn is_string(self) -> bool {
        matches!(self, Type::Text | Type::Varchar | Type::Char | Type::Name)
    }

    /// Returns how many bytes PostgreSQL says that a value takes; -1 where values differ.
    pub fn wire_length(self) -> i16 {
        match self {
            Type::Bool | Type::InternalChar => 1,
            Type::Int2 => 2,
            Type::Int4 | Type::Float4 | Type::Date | Type::Oid => 4,
            Type::RegClass | Type::RegType | Type::RegProc | Type::RegProcedure => 4,
            Type::RegOperator | Type::RegNamespace | Type::RegRole => 4,
            Type::Xid | Type::Void | Type::Trigger | Type::Enum(_) => 4,
            Type::Int8 | Type::Float8 | Type::Time | Type::Timestamp | Type::Timestamptz => 8,
            Type::MacAddr => 6,
            Type::Interval | Type::Uuid => 16,
            Type::Name => 64,
            Type::Unknown => -2,
            _ => -1,
        }
    }
}

/// Shows the SQL name, as `integer` or `integer[]`; that of an enumeration with its schema, unless this is `public`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Array(element) => write!(f, "{element}[]"),
            // A name of the system would be found before it.
            Type::Enum(own) if own.schema() == PUBLIC && Type::of_catalog_name(own.name()).is_none() => {
                f.write_str(&quoted(own.name()))
            }
            Type::Enum(own) => f.write_str(&own.qualified()),
            scalar => f.write_str(scalar.entry().4),
        }
    }
}

/// What a declaration adds to a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Modifier {
    /// Nothing.
    #[default]
    None,
    /// The length of `varchar(n)` and `char(n)`, in characters.
    Length(u32),
    /// The digits of `numeric(precision, scale)`.
    Digits {
        /// Decimal digits altogether, 1 to 1000.
        precision: u16,
        /// Decimal digits behind the point.
        scale: i16,
    },
    /// The digits of the fraction of a second that times keep, 0 to 6.
    Fraction(u8),
    /// The fields that intervals keep, and the digits of the fraction of a second.
    Span(Fields, Option<u8>),
    /// The names and types of the fields of a row.
    Fields(&'static [(&'static str, Type)]),
}

impl Modifier {
    /// Returns the number by which PostgreSQL's protocol and catalog call it.
    pub fn wire(self) -> i32 {
        const HEADER: i32 = 4;
        match self {
            Modifier::None | Modifier::Fields(_) => -1,
            Modifier::Length(length) => i32::try_from(length).map_or(-1, |length| length.saturating_add(HEADER)),
            Modifier::Digits { precision, scale } => (i32::from(precision) << 16 | i32::from(scale) & 0x7ff) + HEADER,
            Modifier::Fraction(digits) => i32::from(digits),
            Modifier::Span(fields, digits) => fields.bits() << 16 | digits.map_or(0xffff, i32::from),
        }
    }
}

/// A type as it was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Declared {
    /// The type.
    pub ty: Type,
    /// What was declared beside it.
    pub modifier: Modifier,
}

impl Declared {
    /// The name that means it under every search path.
    pub(crate) fn qualified(self) -> String {
        match (self.ty, self.ty.enumeration()) {
            (_, None) => self.to_string(),
            (Type::Array(_), Some(own)) => format!("{}[]", own.qualified()),
            (_, Some(own)) => own.qualified(),
        }
    }
}

impl From<Type> for Declared {
    fn from(ty: Type) -> Declared {
        Declared { ty, modifier: Modifier::None }
    }
}

/// Shows the declaration as PostgreSQL's `format_type` does, as `numeric(12,2)`.
impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (element, suffix) = match self.ty {
            Type::Array(element) => (*element, "[]"),
            scalar => (scalar, ""),
        };
        match (element, self.modifier) {
            (_, Modifier::None | Modifier::Fields(_)) => write!(f, "{element}")?,
            (_, Modifier::Length(length)) => write!(f, "{element}({length})")?,
            (_, Modifier::Digits { precision, scale }) => write!(f, "{element}({precision},{scale})")?,
            (Type::Time, Modifier::Fraction(digits)) => write!(f, "time({digits}) without time zone")?,
            (Type::Timestamp, Modifier::Fraction(digits)) => write!(f, "timestamp({digits}) without time zone")?,
            (Type::Timestamptz, Modifier::Fraction(digits)) => write!(f, "timestamp({digits}) with time zone")?,
            (_, Modifier::Fraction(digits)) => write!(f, "{element}({digits})")?,
            (_, Modifier::Span(fields, None)) => write!(f, "{element} {fields}")?,
            (_, Modifier::Span(fields, Some(digits))) => write!(f, "{element} {fields}({digits})")?,
        }
        f.write_str(suffix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_found_by_its_number_and_its_names() {
        for ty in Type::scalars().flat_map(|ty| [Some(ty), ty.array()]).flatten() {
            assert_eq!(Type::of_oid(ty.oid()), Some(ty));
            assert_eq!(Type::of_name(&ty.catalog_name()), Some(ty));
            assert_eq!(Type::of_name(&ty.to_string()), Some(ty));
            assert_eq!(Type::of_catalog_name(&ty.catalog_name()), Some(ty));
        }
        assert_eq!((Type::of_oid(0), Type::of_name("nosuch")), (None, None));
        assert_eq!([Type::of_catalog_name("integer"), Type::of_catalog_name("__int4")], [None, None]);
    }

    #[test]
    fn declarations_are_shown_as_postgresql_does() {
        let shown = |ty, modifier| Declared { ty, modifier }.to_string();
        assert_eq!(shown(Type::Varchar, Modifier::Length(10)), "character varying(10)");
        assert_eq!(shown(Type::Numeric, Modifier::Digits { precision: 12, scale: 2 }), "numeric(12,2)");
        assert_eq!(shown(Type::Array(&Type::Int4), Modifier::None), "integer[]");
        assert_eq!(shown(Type::Timestamptz, Modifier::Fraction(3)), "timestamp(3) with time zone");
        assert_eq!((Modifier::Length(10).wire(), Modifier::Digits { precision: 12, scale: 2 }.wire()), (14, 786438));
    }
}
