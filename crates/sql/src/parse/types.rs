//! Names of types: in statements, and in texts that the catalog keeps, as in `'ok'::public.mood`.
//!
//! Invariant: in such a text the name of a type that users have made has its schema, and a literal of the type has the name
//! behind it. So the text means the same under every search path, and shows which types and labels it uses.

use sqlparser::ast::{ArrayElemTypeDef, DataType, Ident, ObjectName, ObjectNamePart};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

/// The name of a type within a text. Places are numbers of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// Its parts.
    pub(crate) parts: Vec<String>,
    pub(crate) is_array: bool,
    /// Whether the last part is in quotes.
    pub(crate) is_quoted: bool,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The literal that is read as one of the type: where it is, and what it says.
    pub(crate) literal: Option<(usize, usize, String)>,
}

/// The name of a type that may be one that users have made, and whether arrays of it are meant.
pub(crate) fn custom(ty: &DataType) -> Option<(ObjectName, bool)> {
    match ty {
        DataType::Custom(name, modifiers) if modifiers.is_empty() => Some((name.clone(), false)),
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => Some((custom(element)?.0, true)),
        // A word that the parser takes for a type of another database.
        other => {
            let text = other.to_string();
            let is_word = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            is_word.then(|| (ObjectName::from(vec![Ident::new(text)]), false))
        }
    }
}

/// The name in PostgreSQL's catalog that a name in quotes, or one with a schema, has to be if it is that of a type of the system;
/// and the modifiers behind it.
pub(super) fn of_catalog(ty: &DataType) -> Option<(String, &[String])> {
    let DataType::Custom(name, modifiers) = ty else { return None };
    let idents: Vec<&Ident> = name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
    match &idents[..] {
        [name] if name.quote_style.is_some() => Some((super::name(name), modifiers)),
        [schema, name] if super::name(schema) == "pg_catalog" => Some((super::name(name), modifiers)),
        _ => None,
    }
}

/// Whether a name can only be that of a type that users have made.
pub(super) fn is_of_users(ty: &DataType) -> bool {
    custom(ty).is_some_and(|(name, _)| name.0.len() > 1)
}

/// The name of the type whose arrays are meant, if a name is that of arrays: `_mood`.
pub(crate) fn element(name: &str) -> Option<&str> {
    name.strip_prefix('_').filter(|element| !element.is_empty())
}

/// A text in tokens, without white space.
struct Tokens {
    tokens: Vec<TokenWithSpan>,
    /// Of each line, the number of its first character.
    lines: Vec<usize>,
}

impl Tokens {
    fn of(text: &str) -> Option<Tokens> {
        let dialect = PostgreSqlDialect {};
        let mut tokens = Tokenizer::new(&dialect, text).tokenize_with_location().ok()?;
        tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
        let ends = text.chars().enumerate().filter(|(_, c)| *c == '\n').map(|(at, _)| at + 1);
        Some(Tokens { tokens, lines: std::iter::once(0).chain(ends).collect() })
    }

    fn token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at).map(|token| &token.token)
    }

    fn is_word(&self, at: usize, word: &str) -> bool {
        matches!(self.token(at), Some(Token::Word(own)) if own.quote_style.is_none() && own.value.eq_ignore_ascii_case(word))
    }

    fn place(&self, location: Location) -> usize {
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
        self.lines.get(number(location.line)).map_or(0, |start| start + number(location.column))
    }

    /// The literal at a place.
    fn literal(&self, at: usize) -> Option<(usize, usize, String)> {
        let text = match self.token(at)? {
            Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => text,
            Token::NationalStringLiteral(text) | Token::UnicodeStringLiteral(text) => text,
            Token::DollarQuotedString(text) => &text.value,
            _ => return None,
        };
        let span = self.tokens[at].span;
        Some((self.place(span.start), self.place(span.end), text.clone()))
    }

    /// The name of a type that begins at a token.
    fn named(&self, first: usize, literal: Option<(usize, usize, String)>) -> Option<Named> {
        let (mut parts, mut last) = (Vec::new(), first);
        let mut is_quoted;
        loop {
            let Token::Word(word) = self.token(last)? else { return None };
            is_quoted = word.quote_style.is_some();
            parts.push(match word.quote_style {
                Some(_) => word.value.clone(),
                None => word.value.to_lowercase(),
            });
            if self.token(last + 1) != Some(&Token::Period) {
                break;
            }
            last += 2;
        }
        let is_array = self.token(last + 1) == Some(&Token::LBracket);
        let (start, end) = (self.tokens[first].span.start, self.tokens[last].span.end);
        Some(Named { parts, is_array, is_quoted, start: self.place(start), end: self.place(end), literal })
    }
}

/// The names of types in a text that was parsed before.
pub(crate) fn in_text(text: &str) -> Vec<Named> {
    if !text.contains("::") && !text.as_bytes().windows(4).any(|part| part.eq_ignore_ascii_case(b"cast")) {
        return Vec::new();
    }
    let Some(tokens) = Tokens::of(text) else { return Vec::new() };
    let mut found = Vec::new();
    // Of each open parenthesis: where it is, if it is that of `CAST`.
    let mut open: Vec<Option<usize>> = Vec::new();
    for at in 0..tokens.tokens.len() {
        match tokens.token(at) {
            Some(Token::DoubleColon) => {
                let literal = at.checked_sub(1).and_then(|before| tokens.literal(before));
                found.extend(tokens.named(at + 1, literal));
            }
            Some(Token::LParen) => open.push((at > 0 && tokens.is_word(at - 1, "cast")).then_some(at)),
            Some(Token::RParen) => drop(open.pop()),
            Some(Token::Word(_)) if tokens.is_word(at, "as") => {
                if let Some(Some(cast)) = open.last() {
                    let literal = if cast + 2 == at { tokens.literal(cast + 1) } else { None };
                    found.extend(tokens.named(at + 1, literal));
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_their_literals_are_found() {
        let found = |text: &str| {
            let shown = |named: &Named| {
                let piece: String = text.chars().skip(named.start).take(named.end - named.start).collect();
                let literal = named.literal.as_ref().map(|(start, end, said)| {
                    let written: String = text.chars().skip(*start).take(end - start).collect();
                    format!("{written} {said}")
                });
                (named.parts.join("/"), piece, named.is_array, literal)
            };
            in_text(text).iter().map(shown).collect::<Vec<_>>()
        };
        let one = |parts: &str, piece: &str, is_array, literal: Option<&str>| {
            (parts.to_owned(), piece.to_owned(), is_array, literal.map(str::to_owned))
        };
        assert_eq!(found("ä = 'it''s'::public.mood"), [one("public/mood", "public.mood", false, Some("'it''s' it's"))]);
        assert_eq!(found("x::A.\"B\"[] = y"), [one("a/B", "A.\"B\"", true, None)]);
        assert_eq!(found("'a\nb' = CAST( 'c' AS mood )"), [one("mood", "mood", false, Some("'c' c"))]);
        assert_eq!(found("cast((a) as t) || (SELECT b AS t)"), [one("t", "t", false, None)]);
        assert_eq!(found("$x$a'b$x$::t"), [one("t", "t", false, Some("$x$a'b$x$ a'b"))]);
        assert_eq!(found("a AS mood"), []);
    }
}
