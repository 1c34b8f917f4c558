//! Tables of workloads, written down as their descriptions do.
//!
//! `table!` writes, for each table, a module with its name, its columns as [`ColumnId`](osier::table::ColumnId)s and its schema.
//!
//! Invariant: the number of a column is its place in the schema, because both come from one list.

use osier::table::Type;

pub(crate) const INT: Type = Type::Int32;
pub(crate) const BIGINT: Type = Type::Int64;
pub(crate) const TEXT: Type = Type::Text;
pub(crate) const TIMESTAMP: Type = Type::Timestamp;
/// Amounts up to ten thousand million, in cents.
pub(crate) const MONEY: Type = Type::Numeric { precision: 12, scale: 2 };

macro_rules! table {
    (
        $(#[$doc:meta])* $table:ident {
            $($column:ident: $ty:ident $($nullable:ident)?,)+
        }
        key ($($key:ident),+)
        $(index $index:ident ($($part:ident),+))*
        $(unique $unique:ident ($($unique_part:ident),+))*
    ) => {
        $(#[$doc])*
        #[expect(missing_docs, reason = "the columns as the workload's description names them")]
        pub mod $table {
            use super::*;

            #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "names as the description has them")]
            enum Position { $($column),+ }
            $(pub const $column: ColumnId = ColumnId(Position::$column as u16);)+
            pub const COLUMNS: usize = [$(Position::$column as usize),+].len();
            pub const TABLE: &str = stringify!($table);

            pub fn schema() -> Result<Schema, SchemaError> {
                let schema = Schema::builder(TABLE);
                $(let schema = table!(@column schema, $column, $ty, $($nullable)?);)+
                let schema = schema.primary_key([$(stringify!($key).to_lowercase()),+]);
                $(let schema = schema.index(stringify!($index), [$(stringify!($part).to_lowercase()),+]);)*
                $(let schema = schema.unique_index(stringify!($unique), [$(stringify!($unique_part).to_lowercase()),+]);)*
                schema.build()
            }
        }
    };
    (@column $schema:ident, $column:ident, $ty:ident, ) => {
        $schema.column(stringify!($column).to_lowercase(), $ty)
    };
    (@column $schema:ident, $column:ident, $ty:ident, nullable) => {
        $schema.nullable_column(stringify!($column).to_lowercase(), $ty)
    };
}

pub(crate) use table;
