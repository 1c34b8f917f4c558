//! The tokens of a text.
//!
//! Invariants:
//! - Every token knows the line and the column, in characters, where it begins.
//! - What is no token becomes one that says so, the last but the end: an error is reported when the parser comes to it, so that
//!   the first mistake of a text is the one reported.
//!
//! Absent: which words mean something where.

use crate::procedure::names::{begins_word, is_in_word};

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A keyword or a name, in lower case.
    Word(String),
    /// A name in double quotes.
    Name(String),
    /// Digits, with a point or an exponent where there is one.
    Number(String),
    /// A text in quotes.
    Text(String),
    /// `x'00ff'`
    Bytes(Vec<u8>),
    /// A sign of one or two characters.
    Sign(&'static str),
    /// No token: why, and what could stand there.
    Bad(String),
    /// Where the text ends.
    End,
}

/// A token and where it begins.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub line: u32,
    pub column: u32,
}

/// Signs, the longer ones first. The last ones are known for the sake of hints.
const SIGNS: &[&str] = &[
    "::", "<>", "<=", ">=", "!=", "||", ":=", "==", "&&", "+=", "-=", "..", "=>", "(", ")", "[", "]", "{", "}", ",",
    ";", ".", "=", "<", ">", "+", "-", "*", "/", "%", "!", "$", "?", ":", "&", "|",
];

/// Returns the tokens of `text`; the last is an [`End`](Kind::End).
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0, line: 1, line_begin: 0, column_at: 0, column: 1 };
    let mut tokens = Vec::new();
    loop {
        let skipped = lexer.skip();
        let (line, column) = (lexer.line, lexer.column());
        let kind = match skipped.and_then(|()| lexer.kind()) {
            Ok(kind) => kind,
            Err(what) => {
                tokens.push(Token { kind: Kind::Bad(what), line, column });
                Kind::End
            }
        };
        let is_last = kind == Kind::End;
        tokens.push(Token { kind, line, column });
        if is_last {
            return tokens;
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    /// The byte that comes next.
    at: usize,
    line: u32,
    line_begin: usize,
    /// A byte of the line, and its column: where characters were counted up to.
    column_at: usize,
    column: u32,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Goes on by `bytes`, counting lines.
    fn advance(&mut self, bytes: usize) {
        let passed = &self.text[self.at..self.at + bytes];
        if let Some(last) = passed.rfind('\n') {
            self.line += passed.bytes().filter(|byte| *byte == b'\n').count() as u32;
            self.line_begin = self.at + last + 1;
        }
        self.at += bytes;
    }

    fn column(&mut self) -> u32 {
        if self.column_at < self.line_begin {
            (self.column_at, self.column) = (self.line_begin, 1);
        }
        self.column += self.text[self.column_at..self.at].chars().count() as u32;
        self.column_at = self.at;
        self.column
    }

    /// Goes on to the next token.
    fn skip(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start().len();
            if blanks > 0 {
                self.advance(blanks);
            } else if rest.starts_with("--") {
                self.advance(rest.find('\n').unwrap_or(rest.len()));
            } else if rest.starts_with("/*") {
                let Some(end) = rest.find("*/") else {
                    return Err("the comment that begins here has no end; end it with `*/`".to_owned());
                };
                self.advance(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    fn kind(&mut self) -> Result<Kind, String> {
        let first = self.byte(0);
        match first {
            _ if self.rest().is_empty() => Ok(Kind::End),
            b'\'' => Ok(Kind::Text(self.quoted('\'', "text")?)),
            b'"' => Ok(Kind::Name(self.quoted('"', "name")?)),
            b'x' | b'X' if self.byte(1) == b'\'' => {
                self.advance(1);
                let digits = self.quoted('\'', "byte string")?;
                hexadecimal(&digits)
                    .map(Kind::Bytes)
                    .ok_or("a byte string has two hexadecimal digits for each byte, as in `x'00ff'`".into())
            }
            b'0'..=b'9' => self.number(),
            first if begins_word(first) => {
                let bytes = self.rest().bytes().take_while(|byte| is_in_word(*byte)).count();
                let word = self.rest()[..bytes].to_ascii_lowercase();
                self.advance(bytes);
                Ok(Kind::Word(word))
            }
            _ => {
                let rest = self.rest();
                let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) else {
                    let c = rest.chars().next().expect("the text has not ended");
                    let hint = if c.is_alphabetic() {
                        "; a name with other characters than a to z, 0 to 9 and `_` stands in double quotes"
                    } else {
                        ""
                    };
                    return Err(format!("{c:?} has no meaning here{hint}"));
                };
                self.advance(sign.len());
                Ok(Kind::Sign(sign))
            }
        }
    }

    /// What stands in quotes, a doubled one being one.
    fn quoted(&mut self, quote: char, what: &str) -> Result<String, String> {
        let rest = &self.rest()[1..];
        let mut quotes = rest.match_indices(quote).map(|(at, _)| at).peekable();
        while let Some(at) = quotes.next() {
            if quotes.next_if_eq(&(at + 1)).is_some() {
                continue;
            }
            let doubled = String::from_iter([quote, quote]);
            let text = rest[..at].replace(&doubled, &quote.to_string());
            self.advance(at + 2);
            return Ok(text);
        }
        Err(format!("the {what} that begins here has no end; end it with `{quote}`, and double a `{quote}` within it"))
    }

    fn number(&mut self) -> Result<Kind, String> {
        let bytes = self.rest().as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') {
            end += 1 + digits(end + 1);
        }
        if bytes.get(end).is_some_and(|byte| matches!(byte, b'e' | b'E')) {
            let sign = usize::from(bytes.get(end + 1).is_some_and(|byte| matches!(byte, b'+' | b'-')));
            let exponent = digits((end + 1 + sign).min(bytes.len()));
            end += if exponent > 0 { 1 + sign + exponent } else { 0 };
        }
        if bytes.get(end).is_some_and(|byte| is_in_word(*byte)) {
            return Err("a number goes on with a letter; part them, or put a name that begins with a digit in double \
                        quotes"
                .into());
        }
        let number = self.rest()[..end].to_owned();
        self.advance(end);
        Ok(Kind::Number(number))
    }
}

fn hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some((digit(*high)? * 16 + digit(*low)?) as u8));
    bytes.collect::<Option<Vec<u8>>>().filter(|_| rest.is_empty())
}
