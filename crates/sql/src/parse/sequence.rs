//! Names of sequences within texts that the catalog keeps, as in `nextval('s')`.
//!
//! Invariant: a name without a schema in such a text is one of `public`. So it means the same under every search path.

use sqlparser::ast::Value;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::quote;
use crate::catalog::name::{Name, PUBLIC};
use crate::error::Result;

/// The functions whose first argument is the name of a sequence.
const FUNCTIONS: &[&str] = &["nextval", "currval", "setval"];

/// Rewrites the names of sequences in an expression or a query. What `rename` does not know stays.
pub(crate) fn renamed(text: &str, rename: &dyn Fn(&str) -> Result<Option<String>>) -> Result<String> {
    let is_possible = FUNCTIONS.iter().any(|function| {
        text.as_bytes().windows(function.len()).any(|part| part.eq_ignore_ascii_case(function.as_bytes()))
    });
    if !is_possible {
        return Ok(text.to_owned());
    }
    let dialect = PostgreSqlDialect {};
    // It was parsed before.
    let Ok(tokens) = Tokenizer::new(&dialect, text).with_unescape(false).tokenize() else {
        return Ok(text.to_owned());
    };
    let mut out = String::with_capacity(text.len());
    let mut before: [Option<bool>; 2] = [None, None];
    for token in &tokens {
        match token {
            Token::SingleQuotedString(name) if before == [Some(true), Some(false)] => {
                let name = name.replace("''", "'");
                let name = rename(&name)?.unwrap_or(name);
                out.push_str(&format!("'{}'", name.replace('\'', "''")));
            }
            // The tokenizer has taken the escapes from these, and prints none.
            Token::EscapedStringLiteral(text) => out.push_str(&Value::EscapedStringLiteral(text.clone()).to_string()),
            Token::UnicodeStringLiteral(text) => out.push_str(&Value::UnicodeStringLiteral(text.clone()).to_string()),
            token => out.push_str(&token.to_string()),
        }
        if !matches!(token, Token::Whitespace(_)) {
            let is_named = |word: &str| FUNCTIONS.iter().any(|known| word.eq_ignore_ascii_case(known));
            let is_function = matches!(token, Token::Word(word) if is_named(&word.value));
            let is_open = matches!(token, Token::LParen);
            before = [before[1].filter(|_| is_open), if is_function { Some(true) } else { is_open.then_some(false) }];
        }
    }
    Ok(out)
}

/// Says `public` where an expression says no schema.
pub(crate) fn with_public(text: &str) -> String {
    let rename = |name: &str| {
        Ok(match super::object_name(name) {
            Ok(parts) if parts.len() == 1 => Some(quoted(PUBLIC, &parts[0])),
            _ => None,
        })
    };
    renamed(text, &rename).unwrap_or_else(|_| text.to_owned())
}

/// A name as it is written in a text that the catalog keeps.
pub(crate) fn shown(name: &Name) -> String {
    match name.schema.as_str() {
        PUBLIC => quote::quoted(&name.name),
        schema => quoted(schema, &name.name),
    }
}

/// A name with its schema, as it is written in a text.
pub(crate) fn quoted(schema: &str, name: &str) -> String {
    format!("{}.{}", quote::quoted(schema), quote::quoted(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_a_schema() {
        assert_eq!(with_public("nextval('s')"), "nextval('public.s')");
        assert_eq!(with_public("1 + NEXTVAL ( 'a.s' ) * lower('s')"), "1 + NEXTVAL ( 'a.s' ) * lower('s')");
        assert_eq!(with_public(r"nextval('s') || E'a\'\\b'"), r"nextval('public.s') || E'a\'\\b'");
        assert_eq!(with_public("setval('\"S\"', 1) || 'it''s'"), "setval('public.\"S\"', 1) || 'it''s'");
    }
}
