//! What PostgreSQL has in `INSERT`, `CREATE` and `ALTER TABLE` and the parser does not, in words that it understands.
//!
//! - `OVERRIDING SYSTEM VALUE` becomes `INSERT OVERWRITE`, `OVERRIDING USER VALUE` becomes `INSERT INTO TABLE`: both are syntax
//!   errors where a client writes them.
//! - Options of sequences are put into the order in which the parser reads them.
//! - `LIKE t INCLUDING ...` becomes a column, and a change of an identity column a default, which carry the rest as JSON.
//! - The target of `ON CONFLICT (lower(a)) WHERE b` becomes a column whose name carries it.
//!
//! Invariant: what is carried is a kind of literal that no text of a client becomes.

use serde::{Deserialize, Serialize};
use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::dialect::Postgres;
use super::objects::{Reader, SequenceOption};
use super::{is_plain, near, syntax_error};
use crate::error::{Result, SqlError, SqlState};

/// What the columns are called that stand for tables in `LIKE`.
const LIKE_COLUMN: &str = "\0like";

/// What the names of columns begin with that carry the target of `ON CONFLICT`.
const INFERENCE_COLUMN: &str = "\0conflict";

/// What `ON CONFLICT` says of the index that is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inference {
    /// Names of columns, and expressions.
    pub(crate) keys: Vec<String>,
    pub(crate) predicate: Option<String>,
}

/// What `LIKE` in `CREATE TABLE` copies beside names, types and `NOT NULL`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Like {
    /// The table, by its schema, if it is said, and its name.
    pub(crate) table: Vec<String>,
    pub(crate) comments: bool,
    pub(crate) constraints: bool,
    pub(crate) defaults: bool,
    pub(crate) generated: bool,
    pub(crate) identity: bool,
    pub(crate) indexes: bool,
}

/// A change of an identity column, or of a generated one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum IdentityChange {
    Drop {
        if_exists: bool,
    },
    DropExpression {
        if_exists: bool,
    },
    Set {
        /// Whether it is `GENERATED ALWAYS` from then on; `None`: as before.
        is_always: Option<bool>,
        options: Vec<SequenceOption>,
    },
    /// An identity where there was none.
    Add {
        is_always: bool,
        /// What the sequence is called, with its schema.
        sequence: Option<Vec<String>>,
        options: Vec<SequenceOption>,
    },
}

/// The words and signs of a statement, without white space.
struct Solid<'t> {
    tokens: &'t [TokenWithSpan],
    text: &'t str,
}

/// Tokens that take the place of others.
type Edit = (std::ops::Range<usize>, Vec<Token>);

/// Whether something in a statement may have to be rewritten. Most have nothing, and may be long.
fn is_possible(tokens: &[TokenWithSpan]) -> bool {
    const FIRST_WORDS: [&str; 5] = ["alter", "begin", "create", "set", "start"];
    let is_word = |token: Option<&Token>, word: &str| matches!(token, Some(Token::Word(it)) if is_plain(it, word));
    let mut last: [Option<&Token>; 2] = [None, None];
    for token in tokens.iter().map(|token| &token.token) {
        if matches!(token, Token::Whitespace(_)) {
            continue;
        }
        let is_first = last[1].is_none() && FIRST_WORDS.iter().any(|word| is_word(Some(token), word));
        let is_insert = is_word(last[0], "insert") && is_word(Some(token), "table");
        let is_target = last.iter().zip(["on", "conflict"]).all(|(token, word)| is_word(*token, word));
        if is_first
            || is_insert
            || is_target && *token == Token::LParen
            || is_word(Some(token), "overriding")
            || is_word(Some(token), "overwrite")
        {
            return true;
        }
        last = [last[1], Some(token)];
    }
    false
}

/// Rewrites the statements of a text.
pub(super) fn adapt(tokens: &mut Vec<TokenWithSpan>, text: &str) -> Result<()> {
    let is_solid = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    if !tokens.split_inclusive(|token| token.token == Token::SemiColon).any(is_possible) {
        return Ok(());
    }
    let mut out = Vec::with_capacity(tokens.len());
    let mut is_edited = false;
    for part in tokens.split_inclusive(|token| token.token == Token::SemiColon) {
        if !is_possible(part) {
            out.extend_from_slice(part);
            continue;
        }
        let solid: Vec<TokenWithSpan> = part.iter().filter(is_solid).cloned().collect();
        let mut edits = Solid { tokens: &solid, text }.edits()?;
        if edits.is_empty() {
            out.extend_from_slice(part);
            continue;
        }
        is_edited = true;
        edits.sort_by_key(|(range, _)| range.start);
        let mut at = 0;
        for (range, new) in edits {
            out.extend_from_slice(&solid[at..range.start]);
            let span = solid[range.start.min(solid.len() - 1)].span;
            out.extend(new.into_iter().map(|token| TokenWithSpan::new(token, span)));
            at = range.end;
        }
        out.extend_from_slice(&solid[at..]);
    }
    if is_edited {
        *tokens = out;
    }
    Ok(())
}

impl Solid<'_> {
    fn is(&self, at: usize, word: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| matches!(&token.token, Token::Word(found) if is_plain(found, word)))
    }

    fn are(&self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(place, word)| self.is(at + place, word))
    }

    fn sign(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at).map(|token| &token.token)
    }

    fn unexpected(&self, at: usize) -> SqlError {
        let token = &self.tokens[at];
        near(self.text, &token.token.to_string(), token.span.start)
    }

    /// Where the list ends that began before a place: at a comma, a closing parenthesis or the end.
    fn end_of_item(&self, from: usize) -> usize {
        let mut depth = 0;
        for at in from..self.tokens.len() {
            match self.tokens[at].token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => return at,
                Token::RParen => depth -= 1,
                Token::Comma if depth == 0 => return at,
                Token::SemiColon | Token::EOF => return at,
                _ => {}
            }
        }
        self.tokens.len()
    }

    fn edits(&self) -> Result<Vec<Edit>> {
        let mut edits = self.overriding()?;
        edits.extend(self.inferences()?);
        if ["begin", "start", "set"].iter().any(|word| self.is(0, word)) {
            edits.extend(self.deferrable());
        }
        if let Some(sequence) = self.created("sequence") {
            edits.extend(self.ordered_sequence(sequence)?);
        }
        let makes_table = self.created("table").is_some();
        if makes_table {
            edits.extend(self.likes()?);
        }
        if makes_table || self.are(0, &["alter", "table"]) {
            edits.extend(self.ordered_identities()?);
        }
        if self.are(0, &["alter", "table"]) {
            edits.extend(self.identity_changes()?);
        }
        Ok(edits)
    }

    /// The place of the word for what a statement makes, if it makes that.
    fn created(&self, what: &str) -> Option<usize> {
        let is_kind = |at: usize| ["local", "global", "temp", "temporary"].iter().any(|word| self.is(at, word));
        let at = (1..self.tokens.len()).find(|at| !is_kind(*at))?;
        (self.is(0, "create") && self.is(at, what)).then_some(at)
    }

    /// `[NOT] DEFERRABLE` of a transaction: one that only reads waits for nobody anyway.
    fn deferrable(&self) -> Option<Edit> {
        let at = (1..self.tokens.len()).find(|at| self.is(*at, "deferrable"))?;
        let is_constraint = (0..at).any(|at| self.is(at, "constraints"));
        let mut start = if self.is(at - 1, "not") { at - 1 } else { at };
        let mut end = at + 1;
        if self.sign(start - 1) == Some(&Token::Comma) {
            start -= 1;
        } else if self.sign(end) == Some(&Token::Comma) {
            end += 1;
        }
        (!is_constraint).then_some((start..end, Vec::new()))
    }

    fn overriding(&self) -> Result<Vec<Edit>> {
        let mut edits = Vec::new();
        for at in 0..self.tokens.len() {
            if self.are(at, &["insert", "overwrite"]) {
                return Err(self.unexpected(at + 1));
            }
            if self.are(at, &["insert", "into", "table"]) {
                return Err(self.unexpected(at + 2));
            }
            let is_system = self.are(at, &["overriding", "system", "value"]);
            let begins = is_system || self.are(at, &["overriding", "user", "value"]);
            if !begins || self.is(at + 3, "default") {
                continue;
            }
            let Some(into) = self.insert_before(at) else { continue };
            let place = if is_system { into } else { into + 1 };
            let word = if is_system { "OVERWRITE" } else { "TABLE" };
            edits.push((place..place, vec![Token::make_keyword(word)]));
            edits.push((at..at + 3, Vec::new()));
        }
        Ok(edits)
    }

    /// Targets of `ON CONFLICT` that are more than names.
    fn inferences(&self) -> Result<Vec<Edit>> {
        let mut edits = Vec::new();
        for at in 0..self.tokens.len() {
            if !self.are(at, &["on", "conflict"]) || self.sign(at + 2) != Some(&Token::LParen) {
                continue;
            }
            let start = at + 3;
            let (mut from, mut keys, mut is_plain) = (start, Vec::new(), true);
            let end = loop {
                let end = self.end_of_item(from);
                is_plain &= end == from + 1;
                keys.push(from..end);
                match self.sign(end) {
                    Some(Token::Comma) => from = end + 1,
                    Some(Token::RParen) => break end,
                    _ => return Ok(edits),
                }
            };
            let has_predicate = self.is(end + 1, "where");
            if is_plain && !has_predicate {
                continue;
            }
            let expr = |range| self.read(range, |reader| Ok(reader.0.parse_expr()?.to_string()));
            let keys = keys.into_iter().map(&expr).collect::<Result<Vec<_>>>()?;
            let mut behind = end;
            let mut predicate = None;
            if has_predicate {
                behind = (end + 2..self.tokens.len()).find(|at| self.is(*at, "do")).unwrap_or(self.tokens.len()) - 1;
                predicate = Some(expr(end + 2..behind + 1)?);
            }
            let carried = serde_json::to_string(&Inference { keys, predicate }).expect("texts");
            let name = Token::make_word(&format!("{INFERENCE_COLUMN}{carried}"), Some('"'));
            edits.push((start..behind + 1, vec![name, Token::RParen]));
        }
        Ok(edits)
    }

    /// The `INTO` of the `INSERT` that a place before its rows belongs to.
    fn insert_before(&self, place: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in (1..place).rev() {
            match self.tokens[at].token {
                Token::RParen => depth += 1,
                Token::LParen => depth = depth.checked_sub(1)?,
                _ if depth == 0 && self.are(at - 1, &["insert", "into"]) => return Some(at),
                _ => {}
            }
        }
        None
    }

    /// Options of a sequence in the order of the parser; `None` where some are unknown: the parser says which.
    fn ordered(&self, range: std::ops::Range<usize>) -> Result<Option<Vec<Token>>> {
        const FIRST_WORDS: [&str; 9] =
            ["as", "increment", "minvalue", "maxvalue", "start", "cache", "cycle", "no", "owned"];
        let starts: Vec<usize> = range.clone().filter(|at| FIRST_WORDS.iter().any(|word| self.is(*at, word))).collect();
        let mut groups: Vec<(usize, std::ops::Range<usize>)> = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let named = if self.is(at, "no") { at + 1 } else { at };
            let Some(rank) = FIRST_WORDS.iter().position(|word| self.is(named, word)) else { return Ok(None) };
            // `NO` is no option by itself, and the word behind it begins none.
            let next = starts.iter().copied().find(|start| *start > named).unwrap_or(range.end);
            if groups.iter().any(|(known, _)| *known == rank) {
                let error = SqlError::new(SqlState::SyntaxError, "conflicting or redundant options");
                return Err(match super::position(self.text, self.tokens[at].span.start) {
                    Some(place) => error.at(place),
                    None => error,
                });
            }
            groups.push((rank, at..next));
            at = next;
        }
        groups.sort_by_key(|(rank, _)| *rank);
        let tokens = groups.into_iter().flat_map(|(_, range)| &self.tokens[range]).map(|token| token.token.clone());
        Ok(Some(tokens.collect()))
    }

    fn ordered_sequence(&self, sequence: usize) -> Result<Option<Edit>> {
        let mut at = sequence + 1;
        if self.are(at, &["if", "not", "exists"]) {
            at += 3;
        }
        // The name.
        at += 1;
        while self.sign(at) == Some(&Token::Period) {
            at += 2;
        }
        let end = self.end_of_item(at);
        if at >= end {
            return Ok(None);
        }
        Ok(self.ordered(at..end)?.map(|tokens| (at..end, tokens)))
    }

    fn ordered_identities(&self) -> Result<Vec<Edit>> {
        let mut edits = Vec::new();
        for at in 0..self.tokens.len() {
            // Those of `ALTER COLUMN` are read whole.
            let is_added = (3..=4).any(|back| at > back && self.are(at - back, &["add", "generated"]));
            if !is_added && self.are(at, &["as", "identity"]) && self.sign(at + 2) == Some(&Token::LParen) {
                let end = self.end_of_item(at + 3);
                edits.extend(self.ordered(at + 3..end)?.map(|tokens| (at + 3..end, tokens)));
            }
        }
        Ok(edits)
    }

    /// The elements of a new table that are `LIKE`.
    fn likes(&self) -> Result<Vec<Edit>> {
        let Some(open) = (0..self.tokens.len()).find(|at| self.sign(*at) == Some(&Token::LParen)) else {
            return Ok(Vec::new());
        };
        let is_list = (2..open).all(|at| !["as", "of", "partition"].iter().any(|word| self.is(at, word)));
        let (mut edits, mut at) = (Vec::new(), open);
        while is_list && matches!(self.sign(at), Some(Token::LParen | Token::Comma)) {
            let end = self.end_of_item(at + 1);
            if self.is(at + 1, "like") {
                let like = self.read(at + 2..end, |reader| reader.like())?;
                let carried = carry(&like);
                let name = Token::make_word(LIKE_COLUMN, Some('"'));
                edits.push((
                    at + 1..end,
                    vec![name, Token::make_keyword("INT"), Token::make_keyword("DEFAULT"), carried],
                ));
            }
            at = end;
        }
        Ok(edits)
    }

    /// `ALTER COLUMN c ADD GENERATED ...`, `SET GENERATED ...`, `RESTART`, options of its sequence, `DROP IDENTITY` and
    /// `DROP EXPRESSION`.
    fn identity_changes(&self) -> Result<Vec<Edit>> {
        const OPTIONS: [&str; 9] =
            ["generated", "increment", "minvalue", "maxvalue", "no", "start", "cache", "cycle", "restart"];
        let mut edits = Vec::new();
        for alter in 2..self.tokens.len() {
            let begins_item = alter == 2 || !matches!(self.sign(alter - 1), Some(Token::Period));
            if !self.is(alter, "alter") || !begins_item {
                continue;
            }
            let name = if self.is(alter + 1, "column") { alter + 2 } else { alter + 1 };
            let at = name + 1;
            let is_set = self.is(at, "set") && OPTIONS.iter().any(|word| self.is(at + 1, word));
            let is_drop = self.are(at, &["drop", "identity"]) || self.are(at, &["drop", "expression"]);
            let is_added = self.are(at, &["add", "generated"]);
            if !(is_set || is_drop || is_added || self.is(at, "restart")) {
                continue;
            }
            let end = self.end_of_item(at);
            let change = self.read(at..end, |reader| reader.identity_change())?;
            edits.push((at..end, vec![Token::make_keyword("SET"), Token::make_keyword("DEFAULT"), carry(&change)]));
        }
        Ok(edits)
    }

    /// Reads all of some tokens.
    fn read<T>(
        &self,
        range: std::ops::Range<usize>,
        read: impl FnOnce(&mut Reader<'_, '_>) -> std::result::Result<T, sqlparser::parser::ParserError>,
    ) -> Result<T> {
        let dialect = Postgres::default();
        let mut parser = Parser::new(&dialect).with_tokens_with_locations(self.tokens[range.clone()].to_vec());
        let value = read(&mut Reader(&mut parser)).map_err(|error| match parser.peek_token().token {
            Token::EOF if range.end < self.tokens.len() => self.unexpected(range.end),
            _ => syntax_error(self.text, error),
        })?;
        match parser.peek_token() {
            next if next.token == Token::EOF => Ok(value),
            next => Err(near(self.text, &next.token.to_string(), next.span.start)),
        }
    }
}

fn carry(value: &impl Serialize) -> Token {
    Token::TripleSingleQuotedString(serde_json::to_string(value).expect("words and lists"))
}

/// What a literal carries.
fn carried<T: for<'de> Deserialize<'de>>(expr: &ast::Expr) -> Option<T> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::TripleSingleQuotedString(text) => serde_json::from_str(text).ok(),
            _ => None,
        },
        _ => None,
    }
}

/// What a column of a new table stands for, if that is `LIKE`.
pub(crate) fn like_of(column: &ast::ColumnDef) -> Option<Like> {
    match &column.options[..] {
        [option] if column.name.value == LIKE_COLUMN => match &option.option {
            ast::ColumnOption::Default(expr) => carried(expr),
            _ => None,
        },
        _ => None,
    }
}

/// The target of `ON CONFLICT` that the name of a column stands for.
pub(crate) fn inference_of(column: &ast::Ident) -> Option<Inference> {
    serde_json::from_str(column.value.strip_prefix(INFERENCE_COLUMN)?).ok()
}

/// The change of an identity column that a new default stands for.
pub(crate) fn identity_change(default: &ast::Expr) -> Option<IdentityChange> {
    carried(default)
}
