//! Names in the text of procedures: which words are names, which must stand in quotes, and how they are printed.
//!
//! Invariant: a printed name is read back as the same name, whatever characters it has.
//!
//! Absent: how long a name may be ([`form`](super::form)).

use std::fmt;

/// Words that are no names unless they stand in double quotes: each stands where a name could.
pub(super) const RESERVED: &[&str] = &[
    "and",
    "array",
    "as",
    "between",
    "break",
    "call",
    "case",
    "catch",
    "continue",
    "delete",
    "else",
    "end",
    "exists",
    "false",
    "for",
    "foreach",
    "from",
    "if",
    "in",
    "insert",
    "into",
    "is",
    "let",
    "not",
    "null",
    "or",
    "procedure",
    "return",
    "returns",
    "set",
    "then",
    "true",
    "try",
    "update",
    "upsert",
    "using",
    "values",
    "when",
    "while",
];

/// Whether a character begins a word.
pub(super) fn begins_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// Whether a character goes on with a word.
pub(super) fn is_in_word(byte: u8) -> bool {
    begins_word(byte) || byte.is_ascii_digit()
}

/// Whether a name is read back as itself without quotes.
fn is_plain(name: &str) -> bool {
    let is_lower = |byte: u8| is_in_word(byte) && !byte.is_ascii_uppercase();
    name.bytes().next().is_some_and(begins_word) && name.bytes().all(is_lower) && !RESERVED.contains(&name)
}

/// A name as it is printed: in double quotes where it must be.
pub(super) struct Name<'a>(pub(super) &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_plain(self.0) { f.write_str(self.0) } else { write!(f, "\"{}\"", self.0.replace('"', "\"\"")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_must_be() {
        for (name, printed) in [
            ("w_id", "w_id"),
            ("count", "count"),
            ("_1", "_1"),
            ("1st", "\"1st\""),
            ("Owner", "\"Owner\""),
            ("from", "\"from\""),
            ("a\"b", "\"a\"\"b\""),
            ("größe", "\"größe\""),
            ("", "\"\""),
        ] {
            assert_eq!(Name(name).to_string(), printed);
        }
    }

    #[test]
    fn reserved_words_are_sorted() {
        assert!(RESERVED.is_sorted());
    }
}
