//! `CREATE TYPE`, `ALTER TYPE` and `DROP TYPE`.

use serde::{Deserialize, Serialize};
use sqlparser::tokenizer::Token;

use super::objects::{Change, Own, Parsed, Reader};
use crate::enumeration::Position;

/// A statement about types.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TypeStatement {
    Create { name: Vec<String>, labels: Vec<String> },
    AddLabel { name: Vec<String>, if_not_exists: bool, label: String, position: Position },
    RenameLabel { name: Vec<String>, from: String, to: String },
    Alter { name: Vec<String>, change: Change },
    Drop { names: Vec<Vec<String>>, if_exists: bool, cascades: bool },
}

impl TypeStatement {
    /// The words that it begins with.
    pub(super) fn words(&self) -> &'static str {
        match self {
            TypeStatement::Create { .. } => "CREATE TYPE",
            TypeStatement::Drop { .. } => "DROP TYPE",
            _ => "ALTER TYPE",
        }
    }
}

impl Reader<'_, '_> {
    /// Reads a statement about types, if the next one is one.
    pub(super) fn type_statement(&mut self) -> Parsed<Option<Own>> {
        if self.words(&["create", "type"]) {
            return self.create_type().map(Some);
        }
        if self.words(&["alter", "type"]) {
            return self.alter_type().map(Some);
        }
        if self.words(&["drop", "type"]) {
            let if_exists = self.words(&["if", "exists"]);
            let names = self.list(Reader::object)?;
            let cascades = self.word("cascade");
            self.word("restrict");
            return Ok(Some(Own::Type(TypeStatement::Drop { names, if_exists, cascades })));
        }
        Ok(None)
    }

    fn create_type(&mut self) -> Parsed<Own> {
        let name = self.object()?;
        if !self.words(&["as", "enum"]) {
            self.skip();
            return Ok(Own::Refused("CREATE TYPE with anything but AS ENUM".to_owned()));
        }
        self.0.expect_token(&Token::LParen)?;
        let labels = match self.0.peek_token_ref().token {
            Token::RParen => Vec::new(),
            _ => self.list(|reader| reader.0.parse_literal_string())?,
        };
        self.0.expect_token(&Token::RParen)?;
        Ok(Own::Type(TypeStatement::Create { name, labels }))
    }

    fn alter_type(&mut self) -> Parsed<Own> {
        let name = self.object()?;
        if self.words(&["add", "value"]) {
            let if_not_exists = self.words(&["if", "not", "exists"]);
            let label = self.0.parse_literal_string()?;
            let position = if self.word("before") {
                Position::Before(self.0.parse_literal_string()?)
            } else if self.word("after") {
                Position::After(self.0.parse_literal_string()?)
            } else {
                Position::Last
            };
            return Ok(Own::Type(TypeStatement::AddLabel { name, if_not_exists, label, position }));
        }
        if self.words(&["rename", "value"]) {
            let from = self.0.parse_literal_string()?;
            self.need("to")?;
            let to = self.0.parse_literal_string()?;
            return Ok(Own::Type(TypeStatement::RenameLabel { name, from, to }));
        }
        let change = if self.words(&["rename", "to"]) {
            Change::Name(self.name()?)
        } else if self.words(&["set", "schema"]) {
            Change::Schema(self.name()?)
        } else if self.words(&["owner", "to"]) {
            Change::Owner(self.role()?)
        } else {
            self.skip();
            let what = "ALTER TYPE with anything but ADD VALUE, RENAME, OWNER TO and SET SCHEMA";
            return Ok(Own::Refused(what.to_owned()));
        };
        Ok(Own::Type(TypeStatement::Alter { name, change }))
    }
}
