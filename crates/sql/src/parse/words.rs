//! Words of statements that are read here and not by the parser.

use sqlparser::ast::Ident;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{near, syntax_error};
use crate::error::{Result, SqlError};

/// A word without quotes, in small letters.
pub(super) fn word_of(token: &TokenWithSpan) -> Option<String> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
        _ => None,
    }
}

/// Whether the next word is this one.
pub(super) fn is_next(parser: &Parser<'_>, word: &str) -> bool {
    word_of(parser.peek_token_ref()).is_some_and(|next| next == word)
}

/// Takes the next word if it is this one.
pub(super) fn takes(parser: &mut Parser<'_>, word: &str) -> bool {
    let is_next = is_next(parser, word);
    if is_next {
        parser.next_token();
    }
    is_next
}

/// The syntax error of a next token that cannot stand there.
pub(super) fn unexpected(parser: &Parser<'_>, text: &str) -> SqlError {
    let next = parser.peek_token();
    near(text, &next.token.to_string(), next.span.start)
}

/// Takes the next word, which has to be this one.
pub(super) fn needs(parser: &mut Parser<'_>, text: &str, word: &str) -> Result<()> {
    if takes(parser, word) { Ok(()) } else { Err(unexpected(parser, text)) }
}

/// Takes the next token, which has to be this sign.
pub(super) fn needs_sign(parser: &mut Parser<'_>, text: &str, sign: &Token) -> Result<()> {
    if parser.consume_token(sign) { Ok(()) } else { Err(unexpected(parser, text)) }
}

/// Takes a name.
pub(super) fn identifier(parser: &mut Parser<'_>, text: &str) -> Result<Ident> {
    parser.parse_identifier().map_err(|error| syntax_error(text, error))
}
