//! `CREATE MATERIALIZED VIEW` and `REFRESH MATERIALIZED VIEW`.

use serde::{Deserialize, Serialize};
use sqlparser::ast::{CreateTableOptions, CreateView, Statement, ViewColumnDef};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::objects::{Own, Parsed, Reader};
use super::words::{identifier, needs, needs_sign, takes, unexpected, word_of};
use super::{name, near, syntax_error};
use crate::error::{Result, SqlError, SqlState};

/// `REFRESH MATERIALIZED VIEW`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refresh {
    pub(crate) name: Vec<String>,
    pub(crate) is_concurrent: bool,
    pub(crate) with_data: bool,
}

/// Whether `WITH NO DATA` stands behind a materialized view. Of the parser's node it is a member that PostgreSQL has no use for.
pub(crate) fn is_without_data(create: &CreateView) -> bool {
    create.with_no_schema_binding
}

/// Whether the next statement makes a materialized view. PostgreSQL has no temporary ones, and replaces none.
pub(super) fn is_next(parser: &Parser<'_>) -> bool {
    let word = |at: usize| word_of(parser.peek_nth_token_ref(at)).unwrap_or_default();
    let (second, third, fourth) = (word(1), word(2), word(3));
    let is_it = |word: &str| word == "materialized";
    is_it(&second)
        || is_it(&third) && matches!(second.as_str(), "unlogged" | "temp" | "temporary")
        || is_it(&fourth) && matches!((second.as_str(), third.as_str()), ("or", "replace") | ("local" | "global", _))
}

/// Reads `CREATE MATERIALIZED VIEW` behind its first word.
pub(super) fn create(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    let is_unlogged = takes(parser, "unlogged");
    if !takes(parser, "materialized") {
        while word_of(parser.peek_token_ref()).is_some_and(|word| word != "materialized") {
            parser.next_token();
        }
        return Err(unexpected(parser, text));
    }
    needs(parser, text, "view")?;
    let if_not_exists = takes(parser, "if");
    if if_not_exists {
        needs(parser, text, "not")?;
        needs(parser, text, "exists")?;
    }
    let object = parser.parse_object_name(false).map_err(|error| syntax_error(text, error))?;
    let columns = columns(parser, text)?;
    storage(parser, text)?;
    needs(parser, text, "as")?;
    let first = parser.peek_token();
    if ["insert", "update", "delete", "merge"].iter().any(|word| super::words::is_next(parser, word)) {
        return Err(near(text, &first.token.to_string(), first.span.start));
    }
    let query = parser.parse_query().map_err(|error| syntax_error(text, error))?;
    let has_data = data(parser, text)?;
    if is_unlogged {
        return Err(SqlError::new(SqlState::FeatureNotSupported, "materialized views cannot be unlogged"));
    }
    Ok(Statement::CreateView(CreateView {
        or_alter: false,
        or_replace: false,
        materialized: true,
        secure: false,
        name: object,
        name_before_not_exists: false,
        columns,
        query,
        options: CreateTableOptions::None,
        cluster_by: Vec::new(),
        comment: None,
        with_no_schema_binding: !has_data,
        if_not_exists,
        temporary: false,
        copy_grants: false,
        to: None,
        params: None,
    }))
}

/// The names of columns.
fn columns(parser: &mut Parser<'_>, text: &str) -> Result<Vec<ViewColumnDef>> {
    let mut columns = Vec::new();
    if !parser.consume_token(&Token::LParen) {
        return Ok(columns);
    }
    loop {
        columns.push(ViewColumnDef { name: identifier(parser, text)?, data_type: None, options: None });
        if !parser.consume_token(&Token::Comma) {
            needs_sign(parser, text, &Token::RParen)?;
            return Ok(columns);
        }
    }
}

/// Reads how rows are to be stored, of which there is one way.
fn storage(parser: &mut Parser<'_>, text: &str) -> Result<()> {
    if takes(parser, "using") {
        let method = name(&identifier(parser, text)?);
        if method != "heap" {
            let message = format!("access method \"{method}\" does not exist");
            return Err(SqlError::new(SqlState::UndefinedObject, message));
        }
    }
    if takes(parser, "with") {
        needs_sign(parser, text, &Token::LParen)?;
        parser.parse_comma_separated(Parser::parse_sql_option).map_err(|error| syntax_error(text, error))?;
        needs_sign(parser, text, &Token::RParen)?;
    }
    if takes(parser, "tablespace") {
        identifier(parser, text)?;
    }
    Ok(())
}

/// Reads `WITH [NO] DATA`, if it is next; returns whether rows are wanted.
fn data(parser: &mut Parser<'_>, text: &str) -> Result<bool> {
    if !takes(parser, "with") {
        return Ok(true);
    }
    let has_data = !takes(parser, "no");
    needs(parser, text, "data")?;
    Ok(has_data)
}

impl Reader<'_, '_> {
    /// Reads `REFRESH MATERIALIZED VIEW`, if it is next.
    pub(super) fn refresh(&mut self) -> Parsed<Option<Own>> {
        if !self.words(&["refresh", "materialized", "view"]) {
            return Ok(None);
        }
        let is_concurrent = self.word("concurrently");
        let name = self.object()?;
        let mut with_data = true;
        if self.word("with") {
            with_data = !self.word("no");
            self.need("data")?;
        }
        Ok(Some(Own::Refresh(Refresh { name, is_concurrent, with_data })))
    }
}
