//! Literals and names in forms that are printed as they are read: queries and expressions are kept as texts.
//!
//! The parser prints a quotation mark twice, unless it takes it for escaped already: where there are two of them in a row, or one
//! behind a backslash. Such a literal was another one when it was read again, or ended in its middle, and the rest of it was read
//! as SQL. So it becomes one with escapes, which is printed right. `N'...'` and `U&'...'`
//! are printed without any care and become one of these.
//!
//! Literals with a line break between them are one.
//!
//! Invariant: no literal without escapes and no name has two quotation marks of its kind in a row, or one behind a backslash.

use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace};

use super::dialect::Postgres;

use crate::error::{Result, SqlError, SqlState};

/// Whether a text is not printed as it is.
fn is_doubtful(text: &str, quote: u8) -> bool {
    text.as_bytes().windows(2).any(|pair| pair[1] == quote && (pair[0] == quote || pair[0] == b'\\'))
}

/// Makes one of literals between which a line ends, and nothing stands but blanks and comments that end with their line.
pub(super) fn join(tokens: &mut [TokenWithSpan]) {
    // The literal that another one may go on with, and whether a line has ended behind it.
    let mut open: Option<(usize, bool)> = None;
    let mut joined = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        open = match (&token.token, open) {
            (Token::Whitespace(Whitespace::MultiLineComment(_)), _) => None,
            (Token::Whitespace(space), Some((first, has_ended))) => Some((first, has_ended || ends_line(space))),
            (Token::SingleQuotedString(_), Some((first, true))) => {
                joined.push((first, at));
                Some((first, false))
            }
            (token, _) if goes_on(token) => Some((at, false)),
            _ => None,
        };
    }

    for (first, second) in joined {
        let second = std::mem::replace(&mut tokens[second].token, Token::Whitespace(Whitespace::Space));
        let Token::SingleQuotedString(more) = second else { continue };
        match &mut tokens[first].token {
            // Its escapes go on, too.
            Token::EscapedStringLiteral(text) => text.push_str(&unescaped("E", more)),
            Token::UnicodeStringLiteral(text) => text.push_str(&unescaped("U&", more)),
            Token::SingleQuotedString(text)
            | Token::NationalStringLiteral(text)
            | Token::SingleQuotedByteStringLiteral(text)
            | Token::HexStringLiteral(text) => text.push_str(&more),
            _ => {}
        }
    }
}

fn ends_line(space: &Whitespace) -> bool {
    matches!(space, Whitespace::Newline | Whitespace::SingleLineComment { .. })
}

/// Whether a literal may go on in the next line.
fn goes_on(token: &Token) -> bool {
    matches!(
        token,
        Token::SingleQuotedString(_)
            | Token::NationalStringLiteral(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::HexStringLiteral(_)
    )
}

/// What a text means in a literal with escapes that begins so.
fn unescaped(start: &str, text: String) -> String {
    let literal = format!("{start}'{}'", text.replace('\'', "''"));
    match Tokenizer::new(&Postgres::default(), &literal).tokenize().as_deref() {
        Ok([Token::EscapedStringLiteral(text) | Token::UnicodeStringLiteral(text)]) => text.clone(),
        _ => text,
    }
}

/// Gives literals their forms.
///
/// # Errors
/// A name that cannot be printed.
pub(super) fn adapt(tokens: &mut [TokenWithSpan]) -> Result<()> {
    for token in tokens {
        match &mut token.token {
            Token::SingleQuotedString(text) if is_doubtful(text, b'\'') => {
                token.token = Token::EscapedStringLiteral(std::mem::take(text));
            }
            Token::NationalStringLiteral(text) => token.token = Token::EscapedStringLiteral(std::mem::take(text)),
            Token::UnicodeStringLiteral(text) if !text.contains('\0') => {
                token.token = Token::EscapedStringLiteral(std::mem::take(text));
            }
            Token::Word(word) if word.quote_style.is_some() && is_doubtful(&word.value, b'"') => {
                let message = "a name with two quotation marks in a row, or one behind a backslash, is not supported";
                let error = SqlError::new(SqlState::InvalidName, message);
                return Err(error.with_hint("Choose another name."));
            }
            _ => {}
        }
    }
    Ok(())
}
