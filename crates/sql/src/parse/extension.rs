//! `CREATE EXTENSION`, `ALTER EXTENSION` and `DROP EXTENSION`.

use serde::{Deserialize, Serialize};

use super::objects::{Own, Parsed, Reader};

/// A statement about extensions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ExtensionStatement {
    Create {
        name: String,
        if_not_exists: bool,
        schema: Option<String>,
    },
    /// `UPDATE` without a schema, or `SET SCHEMA`.
    Alter {
        name: String,
        schema: Option<String>,
    },
    Drop {
        names: Vec<String>,
        if_exists: bool,
    },
}

impl ExtensionStatement {
    /// The words that it begins with.
    pub(super) fn words(&self) -> &'static str {
        match self {
            ExtensionStatement::Create { .. } => "CREATE EXTENSION",
            ExtensionStatement::Alter { .. } => "ALTER EXTENSION",
            ExtensionStatement::Drop { .. } => "DROP EXTENSION",
        }
    }
}

impl Reader<'_, '_> {
    /// Reads a statement about extensions, if the next one is one.
    pub(super) fn extension_statement(&mut self) -> Parsed<Option<Own>> {
        let statement = if self.words(&["create", "extension"]) {
            let if_not_exists = self.words(&["if", "not", "exists"]);
            let name = self.name()?;
            self.word("with");
            let schema = if self.word("schema") { Some(self.name()?) } else { None };
            if self.word("version") {
                // There is one of each.
                self.name()?;
            }
            self.word("cascade");
            ExtensionStatement::Create { name, if_not_exists, schema }
        } else if self.words(&["drop", "extension"]) {
            let if_exists = self.words(&["if", "exists"]);
            let names = self.list(Reader::name)?;
            if !self.word("cascade") {
                self.word("restrict");
            }
            ExtensionStatement::Drop { names, if_exists }
        } else if self.words(&["alter", "extension"]) {
            let name = self.name()?;
            let schema = if self.words(&["set", "schema"]) {
                Some(self.name()?)
            } else {
                self.need("update")?;
                if self.word("to") {
                    self.name()?;
                }
                None
            };
            ExtensionStatement::Alter { name, schema }
        } else {
            return Ok(None);
        };
        Ok(Some(Own::Extension(statement)))
    }
}
