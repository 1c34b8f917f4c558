//! Operators as PostgreSQL reads them, where the parser reads them otherwise.
//!
//! - An operator of several characters ends in `+` or `-` only if it has one of `~ ! @ # % ^ & | ?` or a backquote in it. So
//!   `4>-1` is a comparison with a number below zero.
//! - `ISNULL` and `NOTNULL` behind an operand are `IS NULL` and `IS NOT NULL`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::dialect::Postgres;
use super::is_plain;

/// What an operator has in it that may end in a sign.
const SIGNS_ALLOWED_BY: [char; 10] = ['~', '!', '@', '#', '%', '^', '&', '|', '?', '`'];

/// Writes operators as the parser understands them.
pub(super) fn adapt(tokens: &mut Vec<TokenWithSpan>) {
    let mut last = None;
    let mut edits: Vec<(usize, Vec<Token>)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let edit = match &token.token {
            Token::Whitespace(_) => continue,
            Token::CustomBinaryOperator(symbol) => without_signs(symbol),
            Token::Word(_) if is_plain_word(&token.token, "isnull") => test_of(last, &["IS", "NULL"]),
            Token::Word(_) if is_plain_word(&token.token, "notnull") => test_of(last, &["IS", "NOT", "NULL"]),
            _ => None,
        };
        edits.extend(edit.map(|edit| (at, edit)));
        last = Some(&token.token);
    }
    for (at, edit) in edits.into_iter().rev() {
        let span = tokens[at].span;
        tokens.splice(at..=at, edit.into_iter().map(|token| TokenWithSpan { token, span }));
    }
}

fn is_plain_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found) if is_plain(found, word))
}

/// An operator and the signs behind it, if these are no part of it.
fn without_signs(symbol: &str) -> Option<Vec<Token>> {
    let operator = symbol.trim_end_matches(['+', '-']);
    if operator.is_empty() || operator.len() == symbol.len() || symbol.contains(SIGNS_ALLOWED_BY) {
        return None;
    }
    let mut tokens = Tokenizer::new(&Postgres::default(), operator).tokenize().ok()?;
    let signs = symbol[operator.len()..].chars();
    tokens.extend(signs.map(|sign| if sign == '+' { Token::Plus } else { Token::Minus }));
    Some(tokens)
}

/// The words of a test, where what stands before it is an operand.
fn test_of(last: Option<&Token>, words: &[&str]) -> Option<Vec<Token>> {
    let is_operand = match last? {
        Token::Word(word) => word.quote_style.is_some() || word.keyword != Keyword::AS,
        Token::Number(..) | Token::RParen | Token::RBracket | Token::Placeholder(_) => true,
        Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) | Token::DollarQuotedString(_) => true,
        _ => false,
    };
    is_operand.then(|| words.iter().map(|word| Token::make_keyword(word)).collect())
}
