//! What SQL keeps of a table in the notes of its schema, as JSON: declared types, defaults, constraints, and who owns it.
//!
//! Invariants:
//! - A table whose notes are empty was made without SQL. Everything that they would say follows from its schema then.
//! - Expressions are kept as text and bound when they are needed: they name functions and columns, which may change.
//! - `version` grows when a member is added that an earlier program must not overlook: it refuses notes of a later version.

use osier::table::Schema;
use serde::{Deserialize, Serialize};

use crate::error::{Result, SqlError, SqlState};

/// The version that is written.
const VERSION: u32 = 1;

/// The notes of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    pub(crate) owner: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) comment: Option<String>,
}

/// A column as it was declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ColumnNote {
    /// As `format_type` shows it.
    #[serde(rename = "type")]
    pub(crate) ty: String,
    /// An expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) identity: Option<Identity>,
    /// The sequence that belongs to the column, as the engine names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sequence: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) comment: Option<String>,
}

/// How an identity column takes values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Identity {
    Always,
    ByDefault,
}

/// A condition that all rows keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CheckNote {
    pub(crate) name: String,
    pub(crate) expression: String,
}

/// The column that is the primary key of tables that were declared without one. Statements do not see it.
pub(crate) const HIDDEN_KEY: &str = "osier_row";

impl Notes {
    /// Notes that say nothing but who the owner is.
    pub(crate) fn new(owner: &str) -> Notes {
        Notes { version: VERSION, owner: owner.to_owned(), ..Notes::default() }
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
        serde_json::to_string(self).expect("notes are strings, numbers and lists")
    }
}
