//! Literals and names in forms that are printed as they are read: queries and expressions are kept as texts.
//!
//! The parser prints a quotation mark twice, unless it takes it for escaped already: where there are two of them in a row, or one
//! behind a backslash. Such a literal was another one when it was read again, or ended in its middle, and the rest of it was read
//! as SQL. So it becomes one with escapes, which is printed right. `N'...'` is printed without any care and becomes one of these.
//!
//! Invariant: no literal without escapes and no name has two quotation marks of its kind in a row, or one behind a backslash.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Result, SqlError, SqlState};

/// Whether a text is not printed as it is.
fn is_doubtful(text: &str, quote: u8) -> bool {
    text.as_bytes().windows(2).any(|pair| pair[1] == quote && (pair[0] == quote || pair[0] == b'\\'))
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
