//! What SQL keeps of a table in the notes of its schema, as JSON: declared types, defaults, constraints, and who owns it.
//!
//! Invariants:
//! - A table whose notes are empty was made without SQL. Everything that they would say follows from its schema then.
//! - Expressions are kept as text and bound when they are needed: they name functions and columns, which may change.
//! - `version` grows when a member is added that an earlier program must not overlook: it refuses notes of a later version. Notes
//!   are written with the least version that has all of their members, and notes with an unknown member are refused.
//! - A foreign key is in the notes of the table that refers, and is named in those of the table that it refers to. So whoever
//!   writes either of them depends on the definition of the key.

use std::collections::BTreeMap;

use osier::table::Schema;
use serde::{Deserialize, Serialize};

use crate::enumeration::{Definition, EnumType};
use crate::error::{Result, SqlError, SqlState};
use crate::types::{Declared, Type};

/// The version that knows all members, and those without materialized views, orders of indexes, types that users have made,
/// columns that are computed for indexes, collations, temporary tables, generated columns, and foreign keys.
const VERSION: u32 = 9;
const VERSION_WITHOUT_MATERIALIZED: u32 = 8;
const VERSION_WITHOUT_ORDERS: u32 = 7;
const VERSION_WITHOUT_TYPES: u32 = 6;
const VERSION_WITHOUT_COMPUTED: u32 = 5;
const VERSION_WITHOUT_COLLATIONS: u32 = 4;
const VERSION_WITHOUT_TEMPORARY: u32 = 3;
const VERSION_WITHOUT_GENERATED: u32 = 2;
const VERSION_WITHOUT_KEYS: u32 = 1;

/// The notes of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Notes {
    version: u32,
    pub(crate) columns: Vec<ColumnNote>,
    /// The name of the primary key's constraint; `None`: the key is [a hidden column](HIDDEN_KEY).
    pub(crate) primary_key: Option<String>,
    /// The unique indexes that are constraints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unique: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) checks: Vec<CheckNote>,
    /// In the order in which they were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) foreign_keys: Vec<ForeignKeyNote>,
    /// The foreign keys that refer to the table, in the order in which they were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) referenced_by: Vec<ReferenceNote>,
    pub(crate) owner: String,
    /// How indexes were declared that say an order: for each key, [descending](DESCENDING) and [NULLs first](NULLS_FIRST).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) orders: BTreeMap<String, Vec<u8>>,
    /// The types that users have made which its columns have, and its expressions name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) types: Vec<Definition>,
    /// Of a temporary table: what becomes of it when a transaction commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) on_commit: Option<OnCommit>,
    /// Of a materialized view, whose query is beside the tables: whether it has the rows of its query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) populated: Option<bool>,
    /// The number of the table in the catalog, where that is not the one of its id: it was made anew since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) oid: Option<u32>,
    /// Comments on indexes and constraints, as `index NAME` and `constraint NAME`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) comments: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) comment: Option<String>,
}

/// A column as it was declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ColumnNote {
    /// As [`kept_type`] has it.
    #[serde(rename = "type")]
    pub(crate) ty: String,
    /// An expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<String>,
    /// Whether the default is what each row has, computed of its other columns.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) is_generated: bool,
    /// Of a generated column that statements do not see: what it is to the indexes that have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) computed: Option<Computed>,
    /// Of a column with the value of an expression: the one with the condition of the index. It is NULL where that does not hold,
    /// and nothing is computed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) within: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) identity: Option<Identity>,
    /// The sequence that belongs to the column, as the engine names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sequence: Option<String>,
    /// The collation that it was declared with: all order texts in the same way here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) collation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) comment: Option<String>,
}

/// What a column that statements do not see is to indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Computed {
    /// It has the value of an expression.
    Expression,
    /// It is true where a condition is, and NULL elsewhere. It is the first column of a partial index.
    Predicate,
}

/// Of a key of an index: it was declared `DESC`.
pub(crate) const DESCENDING: u8 = 1;
/// Of a key of an index: NULLs come first, as they do where it is descending and nothing else is said.
pub(crate) const NULLS_FIRST: u8 = 2;

/// The order of a key as an index declares it, behind a blank.
pub(crate) fn shown_order(orders: &[u8], key: usize) -> &'static str {
    let order = orders.get(key).copied().unwrap_or(0);
    match (order & DESCENDING != 0, order & NULLS_FIRST != 0) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
    }
}

/// A type as the catalog keeps it of columns: as `format_type` shows it, and one that users have made by its number, as `#8` or
/// `#8[]`.
pub(crate) fn kept_type(declared: Declared) -> String {
    match declared.ty {
        Type::Enum(own) => format!("#{}", own.oid()),
        Type::Array(Type::Enum(own)) => format!("#{}[]", own.oid()),
        _ => declared.to_string(),
    }
}

/// Reads a type that is kept. `known` has the types that users have made.
pub(crate) fn read_type(kept: &str, known: &dyn Fn(u32) -> Option<EnumType>) -> Result<Declared> {
    let Some(number) = kept.strip_prefix('#') else {
        let system = Type::of_name(kept).map(Declared::from);
        return system.map_or_else(|| crate::parse::declared(kept), Ok);
    };
    let (number, is_array) = number.strip_suffix("[]").map_or((number, false), |number| (number, true));
    let own = number.parse().ok().and_then(known).ok_or_else(|| {
        SqlError::new(SqlState::DataCorrupted, format!("the catalog has no type with the number {number}"))
    })?;
    Ok(if is_array { own.array() } else { Type::Enum(own) }.into())
}

/// How an identity column takes values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Identity {
    Always,
    ByDefault,
}

/// What becomes of a temporary table when a transaction commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnCommit {
    PreserveRows,
    DeleteRows,
    Drop,
}

/// A condition that all rows keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckNote {
    pub(crate) name: String,
    pub(crate) expression: String,
}

/// Columns whose values are those of a row of another table, or of this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForeignKeyNote {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    /// The table that it refers to, as the engine names it.
    pub(crate) table: String,
    /// The columns there, one for each of `columns`.
    pub(crate) referenced: Vec<String>,
    /// `MATCH FULL`: of several columns all are NULL or none.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) is_full: bool,
    #[serde(default, skip_serializing_if = "Action::is_none")]
    pub(crate) on_delete: Action,
    #[serde(default, skip_serializing_if = "Action::is_none")]
    pub(crate) on_update: Action,
    /// The columns that `ON DELETE` sets; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) set_columns: Vec<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) is_deferrable: bool,
    /// Whether it is deferred as long as nothing else is said.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) is_deferred: bool,
    /// `NOT VALID`: rows from before may violate it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) is_not_valid: bool,
}

/// A foreign key that refers to the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReferenceNote {
    /// The table that has the key, as the engine names it.
    pub(crate) table: String,
    pub(crate) key: String,
}

/// What becomes of rows that refer to a row which is deleted, or whose key changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// They must be gone at the end of the statement, or of the transaction.
    #[default]
    None,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

impl Action {
    fn is_none(&self) -> bool {
        *self == Action::None
    }

    /// Whether it writes the rows that refer.
    pub(crate) fn writes(self) -> bool {
        !matches!(self, Action::None | Action::Restrict)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// The column that is the primary key of tables that were declared without one. Statements do not see it.
pub(crate) const HIDDEN_KEY: &str = "osier_row";

impl Notes {
    /// Notes that say nothing but who the owner is.
    pub(crate) fn new(owner: &str) -> Notes {
        Notes { version: VERSION_WITHOUT_KEYS, owner: owner.to_owned(), ..Notes::default() }
    }

    /// Reads the notes of a schema; `None` where the table was made without SQL.
    pub(crate) fn of(schema: &Schema) -> Result<Option<Notes>> {
        if schema.notes().is_empty() {
            return Ok(None);
        }
        let damaged = |what: String| {
            let message = format!("the notes of table \"{}\" cannot be read: {what}", schema.name());
            SqlError::new(SqlState::DataCorrupted, message)
        };
        let notes: Notes = serde_json::from_str(schema.notes()).map_err(|error| damaged(error.to_string()))?;
        if notes.version > VERSION {
            return Err(damaged(format!("they are of version {}; use a later program", notes.version)));
        }
        if notes.columns.len() != schema.columns().len() {
            return Err(damaged("they are of other columns".to_owned()));
        }
        Ok(Some(notes))
    }

    /// The text that the schema keeps.
    pub(crate) fn text(&self) -> String {
        let version = match () {
            () if self.populated.is_some() => VERSION,
            () if !self.orders.is_empty() => VERSION_WITHOUT_MATERIALIZED,
            () if !self.types.is_empty() => VERSION_WITHOUT_ORDERS,
            () if self.columns.iter().any(|column| column.computed.is_some()) => VERSION_WITHOUT_TYPES,
            () if self.columns.iter().any(|column| column.collation.is_some()) => VERSION_WITHOUT_COMPUTED,
            () if self.on_commit.is_some() => VERSION_WITHOUT_COLLATIONS,
            () if self.columns.iter().any(|column| column.is_generated) => VERSION_WITHOUT_TEMPORARY,
            () if self.foreign_keys.is_empty() && self.referenced_by.is_empty() => VERSION_WITHOUT_KEYS,
            () => VERSION_WITHOUT_GENERATED,
        };
        let notes = Notes { version, ..self.clone() };
        serde_json::to_string(&notes).expect("notes are strings, numbers and lists")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(notes: &str) -> Result<Option<Notes>> {
        let schema = Schema::builder("t").column("id", osier::table::Type::Int64).primary_key(["id"]);
        Notes::of(&schema.build().expect("a schema").with_notes(notes).expect("short notes"))
    }

    #[test]
    fn notes_of_other_versions_are_told_apart() {
        let old = r#"{"version":1,"columns":[{"type":"bigint"}],"primary_key":"t_pkey","owner":"osier"}"#;
        let notes = read(old).expect("readable").expect("notes");
        assert_eq!((notes.foreign_keys.len(), notes.text().as_str()), (0, old), "written as they were read");
        let reference = ReferenceNote { table: "c".to_owned(), key: "c_t_fkey".to_owned() };
        let referenced = Notes { referenced_by: vec![reference], ..notes };
        let text = referenced.text();
        assert!(text.starts_with(r#"{"version":2,"#), "an earlier program must refuse {text}");
        assert_eq!(read(&text).expect("readable").expect("notes").referenced_by, referenced.referenced_by);
        let unknown = old.replace(r#""owner""#, r#""flavour":1,"owner""#);
        assert_eq!(read(&unknown).unwrap_err().code(), "XX001");
        let generated = old.replace(r#""bigint"}"#, r#""bigint","default":"1","is_generated":true}"#);
        let text = read(&generated).expect("readable").expect("notes").text();
        assert!(text.starts_with(r#"{"version":3,"#), "an earlier program must refuse {text}");
        let temporary = old.replace(r#""owner""#, r#""on_commit":"delete_rows","owner""#);
        let text = read(&temporary).expect("readable").expect("notes").text();
        assert!(text.starts_with(r#"{"version":4,"#), "an earlier program must refuse {text}");
        let collated = old.replace(r#""bigint"}"#, r#""text","collation":"C"}"#);
        let text = read(&collated).expect("readable").expect("notes").text();
        assert!(text.starts_with(r#"{"version":5,"#), "an earlier program must refuse {text}");
        let computed =
            old.replace(r#""bigint"}"#, r#""bigint","default":"1","is_generated":true,"computed":"expression"}"#);
        let text = read(&computed).expect("readable").expect("notes").text();
        assert!(text.starts_with(r#"{"version":6,"#), "an earlier program must refuse {text}");
        let typed = old.replace(r#""owner""#, r##""types":[{"oid":8,"schema":"s","name":"t","labels":[]}],"owner""##);
        let text = read(&typed).expect("readable").expect("notes").text();
        assert!(text.starts_with(r#"{"version":7,"#), "an earlier program must refuse {text}");
        let ordered = old.replace(r#""owner""#, r#""orders":{"i":[3]},"owner""#);
        let text = read(&ordered).expect("readable").expect("notes").text();
        assert!(text.starts_with(r#"{"version":8,"#), "an earlier program must refuse {text}");
        let materialized = old.replace(r#""owner""#, r#""populated":false,"owner""#);
        let text = read(&materialized).expect("readable").expect("notes").text();
        assert!(text.starts_with(r#"{"version":9,"#), "an earlier program must refuse {text}");
        assert_eq!(read(&old.replace(r#""version":1"#, r#""version":10"#)).unwrap_err().code(), "XX001");
    }
}
