//! From a text to a program, by recursive descent: a function for each rule of the grammar in docs/procedures-language.md.
//!
//! Invariants:
//! - What is accepted is printed as a text that is accepted and means the same.
//! - No text makes the parser use more of the stack than a fixed amount: blocks, parentheses and operators nest up to a limit.
//!   Nor more memory than in proportion to the text: what it must repeat is counted.
//! - An error names the first token that cannot stand where it does, and what could.
//!
//! Absent: whether names and types mean anything ([`compile`](super::compile)), and the rules of form that a built program
//! must obey too ([`check_form`](Program::check_form)), which the parser leaves to its users.

mod expressions;
mod hints;
mod lexer;
mod statements;
mod types;

use self::lexer::{Kind, Token};
use super::names::{Name, RESERVED};
use super::program::Program;
use crate::error::ProcedureError;

/// The longest text that is parsed.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// How many parentheses, operators of one operand, and blocks may be open at once. A tree at
/// [`EXPRESSION_DEPTH_MAX`](super::form::EXPRESSION_DEPTH_MAX) that is printed needs no more.
const OPEN_MAX: u32 = 400;

type Parsed<T> = Result<T, ProcedureError>;

impl Program {
    /// Parses the text of one procedure. Its form and meaning are not checked ([`Program::check_form`]).
    ///
    /// # Errors
    /// [`ProcedureError::Syntax`] where it is none, where something follows, and beyond the limits of length and nesting.
    pub fn parse(text: &str) -> Result<Program, ProcedureError> {
        let mut parser = Parser::new(text)?;
        let program = parser.program()?;
        if !parser.is_at_end() {
            return Err(parser.unexpected("the end of the text: it holds one procedure"));
        }
        Ok(program)
    }

    /// Parses a text of any number of procedures, one after the other, as [`Program::parse`] does one.
    ///
    /// # Errors
    /// [`ProcedureError::Syntax`], as there.
    pub fn parse_all(text: &str) -> Result<Vec<Program>, ProcedureError> {
        let mut parser = Parser::new(text)?;
        let mut programs = Vec::new();
        while !parser.is_at_end() {
            programs.push(parser.program()?);
        }
        Ok(programs)
    }
}

/// The tokens of a text, and how far they are used.
struct Parser {
    tokens: Vec<Token>,
    at: usize,
    /// What is open here, of what [`OPEN_MAX`] counts.
    open: u32,
    /// How many blocks are open.
    blocks: usize,
    /// How many more nodes may be made by repeating an operand.
    copies_left: usize,
}

impl Parser {
    fn new(text: &str) -> Parsed<Parser> {
        if text.len() > TEXT_BYTES_MAX {
            let what = format!("the text has {} bytes; shorten it to {TEXT_BYTES_MAX}", text.len());
            return Err(ProcedureError::Syntax { line: 1, column: 1, what });
        }
        let copies_left = 1024 + text.len();
        Ok(Parser { tokens: lexer::tokens(text), at: 0, open: 0, blocks: 0, copies_left })
    }

    /// The token that comes next.
    fn token(&self) -> &Token {
        self.ahead(0)
    }

    fn kind(&self) -> &Kind {
        &self.token().kind
    }

    fn ahead(&self, count: usize) -> &Token {
        &self.tokens[(self.at + count).min(self.tokens.len() - 1)]
    }

    fn is_at_end(&self) -> bool {
        *self.kind() == Kind::End
    }

    /// Takes the next token; the end stays.
    fn take(&mut self) -> Kind {
        let kind = self.kind().clone();
        self.advance();
        kind
    }

    fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn is_word(&self, word: &str) -> bool {
        self.is_word_ahead(0, word)
    }

    fn is_word_ahead(&self, count: usize, word: &str) -> bool {
        matches!(&self.ahead(count).kind, Kind::Word(of) if of == word)
    }

    fn is_sign(&self, sign: &str) -> bool {
        self.is_sign_ahead(0, sign)
    }

    fn is_sign_ahead(&self, count: usize, sign: &str) -> bool {
        matches!(&self.ahead(count).kind, Kind::Sign(of) if *of == sign)
    }

    /// Whether the word came next; it is taken then.
    fn try_word(&mut self, word: &str) -> bool {
        let is_it = self.is_word(word);
        if is_it {
            self.advance();
        }
        is_it
    }

    /// Whether the sign came next; it is taken then.
    fn try_sign(&mut self, sign: &str) -> bool {
        let is_it = self.is_sign(sign);
        if is_it {
            self.advance();
        }
        is_it
    }

    fn word(&mut self, word: &str) -> Parsed<()> {
        if self.try_word(word) { Ok(()) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }

    fn sign(&mut self, sign: &str) -> Parsed<()> {
        self.sign_or(sign, &format!("`{sign}`"))
    }

    /// Takes a sign, where what else could stand there is said.
    fn sign_or(&mut self, sign: &str, expected: &str) -> Parsed<()> {
        if self.try_sign(sign) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Takes a name; `what` says of what.
    fn name(&mut self, what: &str) -> Parsed<String> {
        match self.kind() {
            Kind::Word(word) if RESERVED.contains(&word.as_str()) => {
                let quoted = Name(word).to_string();
                let hint = hints::of(self, what).unwrap_or(format!("a name that is a keyword is written {quoted}"));
                Err(self.failed(format!("expected {what}, found {}; {hint}", hints::found(self.token()))))
            }
            Kind::Word(_) | Kind::Name(_) => match self.take() {
                Kind::Word(name) | Kind::Name(name) => Ok(name),
                _ => unreachable!("it is one of the two"),
            },
            _ => Err(self.unexpected(what)),
        }
    }

    /// Takes a text.
    fn text(&mut self, what: &str) -> Parsed<String> {
        match self.kind() {
            Kind::Text(text) => {
                let text = text.clone();
                self.advance();
                Ok(text)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// One or more of what `item` takes, with commas.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Parser) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.try_sign(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Executes `inner` one level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Parser) -> Parsed<T>) -> Parsed<T> {
        if self.open == OPEN_MAX {
            return Err(self.failed(format!(
                "more than {OPEN_MAX} parentheses, operators and blocks are open; move a part into a variable or another \
                 procedure"
            )));
        }
        self.open += 1;
        let inner = inner(self);
        self.open -= 1;
        inner
    }

    /// An error at the next token, which cannot stand there.
    fn unexpected(&self, expected: &str) -> ProcedureError {
        let found = hints::found(self.token());
        if let Kind::Bad(what) = self.kind() {
            return self.failed(what.clone());
        }
        let hint = hints::of(self, expected).map(|hint| format!("; {hint}")).unwrap_or_default();
        self.failed(format!("expected {expected}, found {found}{hint}"))
    }

    /// An error at the next token.
    fn failed(&self, what: String) -> ProcedureError {
        Parser::failed_at(self.token(), what)
    }

    fn failed_at(token: &Token, what: String) -> ProcedureError {
        ProcedureError::Syntax { line: token.line, column: token.column, what }
    }
}
