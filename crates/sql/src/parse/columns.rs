//! Names of columns within expressions that the catalog keeps.
//!
//! Invariant: what a text means is not looked at here. Whoever changes one binds it afterwards.

use sqlparser::ast::Value;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Tokenizer, Word};

use super::dialect::Postgres;
use super::quote::quoted;

/// What a word means as a name.
fn meant(word: &Word) -> String {
    if word.quote_style.is_some() { word.value.clone() } else { word.value.to_lowercase() }
}

fn is_name(token: Option<&Token>, name: &str) -> bool {
    matches!(token, Some(Token::Word(word)) if meant(word) == name)
}

/// Writes an expression again, with other texts in place of some tokens: `change` gets all tokens that are no white space, and
/// the position of one of them.
fn rewritten(text: &str, change: impl Fn(&[&Token], usize) -> Option<String>) -> String {
    // It was parsed before.
    let Ok(tokens) = Tokenizer::new(&Postgres::default(), text).with_unescape(false).tokenize() else {
        return text.to_owned();
    };
    let solid: Vec<&Token> = tokens.iter().filter(|token| !matches!(token, Token::Whitespace(_))).collect();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for token in &tokens {
        if matches!(token, Token::Whitespace(_)) {
            out.push_str(&token.to_string());
            continue;
        }
        match (change(&solid, at), token) {
            (Some(other), _) => out.push_str(&other),
            // The tokenizer has taken the escapes from these, and prints none.
            (None, Token::EscapedStringLiteral(text)) => {
                out.push_str(&Value::EscapedStringLiteral(text.clone()).to_string());
            }
            (None, Token::UnicodeStringLiteral(text)) => {
                out.push_str(&Value::UnicodeStringLiteral(text.clone()).to_string());
            }
            (None, token) => out.push_str(&token.to_string()),
        }
        at += 1;
    }
    out
}

/// Whether a name that begins at a token is that of a type, or goes on with a name before it.
fn is_of_type(tokens: &[&Token], at: usize) -> bool {
    match at.checked_sub(1).and_then(|before| tokens.get(before)) {
        Some(Token::Word(word)) => word.keyword == Keyword::AS,
        before => matches!(before, Some(Token::DoubleColon | Token::Period)),
    }
}

/// Leaves out the name of a table in front of its columns.
pub(crate) fn unqualified(text: &str, table: &str) -> String {
    rewritten(text, |tokens, at| {
        let begins = |at: usize| {
            is_name(tokens.get(at).copied(), table)
                && matches!(tokens.get(at + 1), Some(Token::Period))
                && matches!(tokens.get(at + 2), Some(Token::Word(_)))
                && !is_of_type(tokens, at)
        };
        let is_period = at > 0 && matches!(tokens[at], Token::Period) && begins(at - 1);
        (begins(at) || is_period).then(String::new)
    })
}

/// Gives a column another name.
pub(crate) fn renamed(text: &str, old: &str, new: &str) -> String {
    rewritten(text, |tokens, at| {
        // A function, or the type of a literal.
        let is_function = matches!(tokens.get(at + 1), Some(Token::LParen | Token::SingleQuotedString(_)));
        (is_name(tokens.get(at).copied(), old) && !is_of_type(tokens, at) && !is_function).then(|| quoted(new))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_get_other_names() {
        assert_eq!(renamed("a + lower(A) || 'a'", "a", "b c"), r#""b c" + lower("b c") || 'a'"#);
        assert_eq!(renamed(r#""a" + "A" + a(a) + x::a"#, "a", "z"), r#"z + "A" + a(z) + x::a"#);
        assert_eq!(
            renamed("CAST(date AS date) > date '2020-01-01'", "date", "day"),
            "CAST(day AS date) > date '2020-01-01'"
        );
        assert_eq!(renamed(r"a || E'a\'a' || 'it''s a'", "a", "z"), r"z || E'a\'a' || 'it''s a'");
    }

    #[test]
    fn the_name_of_the_table_is_left_out() {
        assert_eq!(unqualified("t.a + T . b + u.t + 't.a'", "t"), "a +   b + u.t + 't.a'");
        assert_eq!(unqualified("(t.a).b + t", "t"), "(a).b + t");
        assert_eq!(unqualified("t.a::t.b = CAST(t.c AS t.d)", "t"), "a::t.b = CAST(c AS t.d)");
    }
}
