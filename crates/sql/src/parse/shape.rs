//! The shape of a statement: its text with a parameter for each literal.
//!
//! Programs that write values into their statements send the same few shapes again and again. A statement is found by its shape
//! without being parsed (`session/cache.rs`).
//!
//! Invariants:
//! - With its literals as parameters, a shape means what the text means, or it is refused when it is parsed or bound. So numbers
//!   stay where they may be places of a list: between `BY` and `LIMIT`.
//! - What is not plain has no shape: comments, escapes, strings of other kinds, parameters, several statements.

use std::sync::Arc;

use crate::datum::Datum;
use crate::types::Type;
use crate::value::numeric::Numeric;

/// Longer texts have no shape.
pub(crate) const BYTES_MAX: usize = 4096;
/// Texts with more literals have no shape: rows that are loaded by it differ in number.
const LITERALS_MAX: usize = 32;

/// A text without its literals.
#[derive(Debug, PartialEq)]
pub(crate) struct Shape<'t> {
    /// The text with `$1` in the place of the first literal, and so on.
    pub(crate) text: String,
    /// The types of numbers; strings have the type that is wanted of them.
    pub(crate) types: Vec<Option<Type>>,
    /// The literals.
    pub(crate) literals: Vec<Literal<'t>>,
}

/// A value in a text.
#[derive(Debug, PartialEq)]
pub(crate) enum Literal<'t> {
    Number(Datum),
    /// What stands between the quotation marks.
    String(&'t str),
}

impl<'t> Shape<'t> {
    /// Returns the shape of a text, if it has one.
    pub(crate) fn of(text: &'t str) -> Option<Shape<'t>> {
        if text.len() > BYTES_MAX {
            return None;
        }
        let shape = Shape { text: String::with_capacity(text.len() + 16), types: Vec::new(), literals: Vec::new() };
        let reader = Reader { text, at: 0, shape, last: "", depth: 0, keeping: None };
        reader.read()
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    shape: Shape<'t>,
    /// The word that was read last.
    last: &'t str,
    /// How many parentheses are open.
    depth: u32,
    /// Numbers are kept since the `BY` within so many parentheses: they may be places of columns.
    keeping: Option<u32>,
}

impl<'t> Reader<'t> {
    fn read(mut self) -> Option<Shape<'t>> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'\'' => self.string()?,
                b'"' => self.name()?,
                b'0'..=b'9' => self.number()?,
                b'.' if bytes.get(self.at + 1).is_some_and(u8::is_ascii_digit) => return None,
                b'-' if self.text[self.at..].starts_with("--") => return None,
                b'/' if self.text[self.at..].starts_with("/*") => return None,
                b'$' | b'\\' => return None,
                b';' if !self.text[self.at + 1..].trim_ascii().is_empty() => return None,
                b'(' | b')' => {
                    self.depth = if *byte == b'(' { self.depth + 1 } else { self.depth.checked_sub(1)? };
                    self.pass(1);
                }
                byte if is_of_word(*byte) => self.word()?,
                _ => self.pass(1),
            }
        }
        Some(self.shape)
    }

    /// Passes so many bytes on as they are.
    fn pass(&mut self, count: usize) {
        // A character that is no ASCII is a part of a word or of what is quoted.
        self.shape.text.push_str(&self.text[self.at..self.at + count]);
        self.at += count;
    }

    fn word(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let length = rest.bytes().position(|byte| !is_of_word(byte)).unwrap_or(rest.len());
        let word = &rest[..length];
        // `E'...'` and its like.
        if rest.as_bytes().get(length) == Some(&b'\'') || word.eq_ignore_ascii_case("uescape") {
            return None;
        }
        if word.eq_ignore_ascii_case("on") && self.last.eq_ignore_ascii_case("distinct") {
            return None;
        }
        let is_clause = !self.text[..self.at].ends_with('.');
        if word.eq_ignore_ascii_case("by") {
            self.keeping = Some(self.keeping.map_or(self.depth, |outer| outer.min(self.depth)));
        } else if is_clause && (word.eq_ignore_ascii_case("limit") || word.eq_ignore_ascii_case("offset")) {
            // One within more parentheses ends another list.
            self.keeping = self.keeping.filter(|outer| *outer < self.depth);
        }
        self.last = word;
        self.pass(length);
        Some(())
    }

    /// A quoted name.
    fn name(&mut self) -> Option<()> {
        let length = self.text[self.at + 1..].find('"')? + 2;
        self.last = "";
        self.pass(length);
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        let begin = self.at + 1;
        let end = begin + self.text[begin..].find('\'')?;
        let content = &self.text[begin..end];
        let next = self.text.as_bytes().get(end + 1);
        // A quotation mark within it, or what is read as something else.
        if next == Some(&b'\'') || self.text.as_bytes()[self.at.saturating_sub(1)] == b'&' {
            return None;
        }
        self.literal(None, Literal::String(content), end + 1)
    }

    fn number(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let is_part = |byte: u8| byte.is_ascii_digit() || byte == b'.';
        let length = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let digits = &rest[..length];
        // `1e5`, `0x1f`, `1_000`, and what is no number.
        if rest[length..].bytes().next().is_some_and(is_of_word) || digits.ends_with('.') {
            return None;
        }
        if self.keeping.is_some() {
            self.pass(length);
            return Some(());
        }
        let (ty, value) = match digits.parse::<i64>() {
            // Its negative counterpart has another type than it has itself.
            Ok(value) if value == i64::from(i32::MAX) + 1 => return None,
            Ok(value) if i32::try_from(value).is_ok() => (Type::Int4, Datum::Int(value)),
            Ok(value) => (Type::Int8, Datum::Int(value)),
            Err(_) if !digits.contains('.') => return None,
            Err(_) => (Type::Numeric, Datum::Numeric(Arc::new(Numeric::parse(digits)?))),
        };
        self.literal(Some(ty), Literal::Number(value), self.at + length)
    }

    fn literal(&mut self, ty: Option<Type>, literal: Literal<'t>, end: usize) -> Option<()> {
        if self.shape.literals.len() == LITERALS_MAX {
            return None;
        }
        self.shape.types.push(ty);
        self.shape.literals.push(literal);
        let number = self.shape.literals.len();
        // A literal may stand against a word, a parameter may not.
        self.shape.text.push_str(&format!(" ${number} "));
        (self.at, self.last) = (end, "");
        Some(())
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Whether a text may have a literal that means a moment, such as `'now'`, which a plan keeps as it was.
pub(crate) fn may_name_moment(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(|first: char| first.is_ascii_alphabetic()) {
        let word = &rest[at..];
        let end = word.find(|next: char| !next.is_ascii_alphabetic()).unwrap_or(word.len());
        let is_call = word[end..].starts_with("()");
        let is_moment = |moment: &&str| word[..end].eq_ignore_ascii_case(moment);
        if ["now", "today", "tomorrow", "yesterday", "uescape"].iter().any(is_moment) && !is_call {
            return true;
        }
        rest = &word[end..];
    }
    text.contains('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Option<(String, usize)> {
        Shape::of(text).map(|shape| (shape.text, shape.literals.len()))
    }

    fn found(text: &str, shaped: &str, literals: usize) {
        assert_eq!(shape(text), Some((shaped.to_owned(), literals)), "{text}");
    }

    #[test]
    fn literals_become_parameters() {
        found("UPDATE t2 SET a = a + -5 WHERE id = 17;", "UPDATE t2 SET a = a + - $1  WHERE id =  $2 ;", 2);
        found("SELECT 'a b', \"it's 1\", x1 FROM é2", "SELECT  $1 , \"it's 1\", x1 FROM é2", 1);
        found("SELECT 1.50, 3000000000", "SELECT  $1 ,  $2 ", 2);
        found("SELECT a[1:2]", "SELECT a[ $1 : $2 ]", 2);
        let Some(known) = Shape::of("SELECT 'x', 1, 1.5, 3000000000") else { panic!("it is plain") };
        assert_eq!(known.types, [None, Some(Type::Int4), Some(Type::Numeric), Some(Type::Int8)]);
        assert_eq!(known.literals[..2], [Literal::String("x"), Literal::Number(Datum::Int(1))]);
    }

    #[test]
    fn places_of_lists_stay() {
        found("SELECT a, 5 FROM t ORDER BY 2, 1 LIMIT 3", "SELECT a,  $1  FROM t ORDER BY 2, 1 LIMIT  $2 ", 2);
        found("SELECT 5 GROUP BY 1 OFFSET 2", "SELECT  $1  GROUP BY 1 OFFSET  $2 ", 2);
    }

    #[test]
    fn what_is_not_plain_has_none() {
        for text in [
            "SELECT 'it''s'",
            "SELECT E'a'",
            "SELECT U&'a'",
            "SELECT 'a",
            "SELECT 1; SELECT 2",
            "SELECT $1",
            "SELECT $$a$$",
            "SELECT 1 -- x",
            "SELECT /* x */ 1",
            "SELECT 1e5",
            "SELECT 0x10",
            "SELECT 1_000",
            "SELECT .5",
            "SELECT 1.",
            "SELECT 1..2",
            "SELECT -2147483648",
            "SELECT 99999999999999999999",
            "SELECT DISTINCT ON (1) a",
        ] {
            assert_eq!(shape(text), None, "{text}");
        }
        assert_eq!(shape(&format!("SELECT {}", "1, ".repeat(LITERALS_MAX + 1))), None);
        assert_eq!(shape(&format!("SELECT {}", "a".repeat(BYTES_MAX))), None);
    }

    #[test]
    fn moments_are_found() {
        for text in ["SELECT 'now'::date", "SELECT 'TODAY 10:00'", "SELECT date '10:00today'", r"SELECT E'n\x6fw'"] {
            assert!(may_name_moment(text), "{text}");
        }
        for text in ["SELECT now()", "SELECT 'unknown', knowing", "SELECT $1"] {
            assert!(!may_name_moment(text), "{text}");
        }
    }
}
