//! Names of tables, views and sequences: a schema and a name within it.
//!
//! Invariants:
//! - The engine calls what is in schema `public` by its name alone, and everything else `schema.name`. So a table that was made
//!   without SQL is in `public`.
//! - Neither part contains a full stop. A name that was given without SQL may: it is taken for that of another schema.

use std::fmt;

use crate::error::{Result, SqlError, SqlState};
use crate::parse::quote::{literal, quoted};
use crate::value::text::NAME_BYTES_MAX;

/// The schema in which everything is by itself.
pub(crate) const PUBLIC: &str = "public";

/// A name with its schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) schema: String,
    pub(crate) name: String,
}

/// The name of what belongs to a table or its columns, as PostgreSQL makes it: where it would be longer than names may be, the
/// longer one of the first two parts is cut.
pub(crate) fn made_name(table: &str, columns: Option<&str>, label: &str) -> String {
    let (mut table, mut columns) = (table.to_owned(), columns.map(|columns| format!("_{columns}")).unwrap_or_default());
    while table.len() + columns.len() + label.len() + 1 > NAME_BYTES_MAX {
        let longer = if table.len() >= columns.len() { &mut table } else { &mut columns };
        longer.pop();
    }
    format!("{table}{columns}_{label}")
}

impl Name {
    /// Makes a name.
    pub(crate) fn new(schema: impl Into<String>, name: impl Into<String>) -> Name {
        Name { schema: schema.into(), name: name.into() }
    }

    /// What the engine calls it.
    pub(crate) fn engine(&self) -> String {
        match self.schema.as_str() {
            PUBLIC => self.name.clone(),
            schema => format!("{schema}.{}", self.name),
        }
    }

    /// What the engine calls so.
    pub(crate) fn of_engine(name: &str) -> Name {
        match name.split_once('.') {
            Some((schema, name)) if !schema.is_empty() && !name.is_empty() => Name::new(schema, name),
            _ => Name::new(PUBLIC, name),
        }
    }

    /// Whether it is in the schema of what SQL keeps for itself.
    pub(crate) fn is_own(&self) -> bool {
        self.schema == crate::sql::OWN_SCHEMA
    }

    /// The literal by which functions as `nextval` find it: quoted as a name where it needs quotes, and as a literal.
    pub(crate) fn literal(&self) -> String {
        let name = quoted(&self.name);
        literal(&match self.schema.as_str() {
            PUBLIC => name,
            schema => format!("{}.{name}", quoted(schema)),
        })
    }

    /// Whether the engine's name means this again. A quoted name with a full stop may not: it would mean another schema's.
    pub(crate) fn is_sound(&self) -> bool {
        Name::of_engine(&self.engine()) == *self
    }

    /// Refuses what cannot be a new name.
    pub(crate) fn check(&self) -> Result<()> {
        for part in [&self.schema, &self.name] {
            if part.contains('.') || part.is_empty() {
                let message = format!("\"{part}\" cannot be a name: it must not be empty or contain a full stop");
                return Err(SqlError::new(SqlState::InvalidName, message));
            }
        }
        if self.name.starts_with("osier_") && self.schema == PUBLIC {
            let message = format!("the name \"{}\" is reserved: names do not begin with \"osier_\"", self.name);
            return Err(SqlError::new(SqlState::ReservedName, message));
        }
        Ok(())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.schema.as_str() {
            PUBLIC => f.write_str(&self.name),
            schema => write!(f, "{schema}.{}", self.name),
        }
    }
}
