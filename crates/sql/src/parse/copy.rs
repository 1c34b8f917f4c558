//! What PostgreSQL has in `COPY` and the parser does not.
//!
//! - `FORCE_QUOTE *` names the column `*`, which is all of them.
//! - `HEADER MATCH` is a header, with a name behind `FORCE_NULL` that no column has.
//! - The condition behind `WHERE` is kept as a text where the parser has the data of the statement.

use sqlparser::ast::{CopyOption, Ident, Statement};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::dialect::Postgres;
use super::{is_plain, near, syntax_error};
use crate::error::{Result, SqlError, SqlState};

/// The name behind `FORCE_NULL` that stands for `MATCH`.
const MATCH: &str = "\u{2}match";

fn is(token: Option<&TokenWithSpan>, text: &str) -> bool {
    matches!(token.map(|token| &token.token), Some(Token::Word(word)) if is_plain(word, text))
}

/// Writes the tokens of a `COPY` in words that the parser knows, and returns those behind `WHERE`.
pub(super) fn adapt(tokens: &mut Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    let condition = match condition_of(tokens) {
        Some(at) => tokens.split_off(at),
        None => Vec::new(),
    };
    let mut at = 0;
    while at < tokens.len() {
        let span = tokens[at].span;
        let new = |token| TokenWithSpan::new(token, span);
        let all = || new(Token::make_word("*", Some('"')));
        if is(tokens.get(at), "force_quote") && tokens.get(at + 1).is_some_and(|token| token.token == Token::Mul) {
            tokens.splice(at + 1..at + 2, [new(Token::LParen), all(), new(Token::RParen)]);
        } else if is(tokens.get(at), "force")
            && is(tokens.get(at + 1), "quote")
            && tokens.get(at + 2).is_some_and(|token| token.token == Token::Mul)
        {
            tokens[at + 2] = all();
        } else if is(tokens.get(at), "header") && is(tokens.get(at + 1), "match") {
            let option = [Token::Comma, Token::make_keyword("FORCE_NULL"), Token::LParen];
            let carried = [Token::make_word(MATCH, Some('"')), Token::RParen];
            tokens.splice(at + 1..at + 2, option.into_iter().chain(carried).map(new));
        }
        at += 1;
    }
    condition
}

/// Where `WHERE` stands behind the place that rows come from or go to.
fn condition_of(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Word(word) if depth == 0 && is_plain(word, "where") => return Some(at),
            _ => {}
        }
    }
    None
}

/// Puts a condition into a `COPY`.
pub(super) fn set_condition(statement: &mut Statement, condition: Vec<TokenWithSpan>, text: &str) -> Result<()> {
    let Some(first) = condition.first().map(|token| token.span.start) else { return Ok(()) };
    let Statement::Copy { to, values, .. } = statement else { return Ok(()) };
    if *to {
        let error = SqlError::new(SqlState::SyntaxError, "WHERE clause not allowed with COPY TO");
        return Err(match super::position(text, first) {
            Some(place) => error.at(place),
            None => error,
        });
    }
    let dialect = Postgres::for_tokens(condition.len());
    let mut parser = Parser::new(&dialect).with_tokens_with_locations(condition);
    parser.next_token();
    let parsed = parser.parse_expr();
    if dialect.is_exhausted() {
        return Err(super::too_deep());
    }
    let parsed = parsed.map_err(|error| syntax_error(text, error))?;
    match parser.peek_token() {
        next if matches!(next.token, Token::SemiColon | Token::EOF) => {
            *values = vec![Some(parsed.to_string())];
            Ok(())
        }
        next => Err(near(text, &next.token.to_string(), next.span.start)),
    }
}

/// The condition of a `COPY`, as a text.
pub(crate) fn condition(statement: &Statement) -> Option<&str> {
    match statement {
        Statement::Copy { values, .. } => values.first()?.as_deref(),
        _ => None,
    }
}

/// Whether an option is what stands for `MATCH`.
pub(crate) fn is_match(option: &CopyOption) -> bool {
    matches!(option, CopyOption::ForceNull(columns) if matches!(&columns[..], [Ident { value, .. }] if value == MATCH))
}
