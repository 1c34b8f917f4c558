//! Text becomes statements, by `sqlparser`.
//!
//! Invariants:
//! - Names without quotes are lower case from here on, and no longer than PostgreSQL's.
//! - What the parser does not know is a syntax error with its place in the text.
//! - All tokens lie in one line, whatever the text has: the column of a span is the number of its character in the text.

pub(crate) mod columns;
pub(crate) mod copy;
mod dialect;
pub(crate) mod elements;
pub(crate) mod enums;
pub(crate) mod extension;
pub(crate) mod foreign;
pub(crate) mod forms;
pub(crate) mod frame;
mod literal;
pub(crate) mod materialized;
pub(crate) mod merge;
pub(crate) mod objects;
mod operator;
pub(crate) mod options;
pub(crate) mod own;
pub(crate) mod quote;
pub(crate) mod rewrite;
pub(crate) mod sequence;
pub(crate) mod shape;
mod solid;
pub(crate) mod types;
mod words;

use sqlparser::ast::{
    ArrayElemTypeDef, DataType, Expr, Ident, ObjectName, ObjectNamePart, Query, SelectItem, SetExpr, Spanned, Statement,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};

use dialect::Postgres;

use crate::error::{Result, SqlError, SqlState};
use crate::types::{Declared, Modifier, Type};
use crate::value::interval::Fields;
use crate::value::text::NAME_BYTES_MAX;

/// What `ROWS FROM` is called as a function of its calls: a name that no function has.
pub(crate) const ROWS_FROM: &str = "\u{1}rows from";

/// So many operators may stand in one expression, with those of the expressions around it: a tree of them is as deep, and who
/// goes down it needs as much of the stack.
const OPERATORS_MAX: usize = 5000;

/// Splits the text of a client into its statements; their nodes have places in it.
pub(crate) fn of_client(text: &str) -> Result<Vec<Statement>> {
    parsed(text, |tokens| flatten(text, tokens))
}

/// Splits a text that no client has sent into its statements.
pub(crate) fn statements(text: &str) -> Result<Vec<Statement>> {
    parsed(text, forget)
}

/// A query of a list and nothing else.
pub(crate) fn query_of_list(list: Vec<SelectItem>) -> Result<Query> {
    let statements = statements("SELECT 1")?;
    let Some(Statement::Query(mut query)) = statements.into_iter().next() else {
        return Err(SqlError::new(SqlState::SyntaxError, "a query was expected"));
    };
    if let SetExpr::Select(select) = &mut *query.body {
        select.projection = list;
    }
    Ok(*query)
}

/// Whether the text of a query, as it is printed, is read back as that query.
pub(crate) fn reads_back(query: &Query, printed: &str) -> bool {
    matches!(statements(printed).as_deref(), Ok([Statement::Query(again)]) if **again == *query)
}

fn parsed(text: &str, place: impl FnOnce(&mut [TokenWithSpan])) -> Result<Vec<Statement>> {
    let tokens = Tokenizer::new(&Postgres::default(), text).tokenize_with_location();
    let mut tokens = tokens.map_err(|error| syntax_error(text, ParserError::TokenizerError(error.to_string())))?;
    refuse_depth(&tokens)?;
    refuse_junk(&tokens)?;
    literal::join(&mut tokens);
    place(&mut tokens);
    literal::adapt(&mut tokens)?;
    refuse_current_of(&tokens)?;
    merge::hide(&mut tokens)?;
    adapt(&mut tokens);
    forms::adapt(&mut tokens);
    elements::adapt(&mut tokens);
    operator::adapt(&mut tokens);
    foreign::adapt(&mut tokens);
    frame::adapt(&mut tokens);
    write_out_tables(&mut tokens, text)?;
    rewrite::adapt(&mut tokens, text)?;
    let (mut statements, mut part) = (Vec::new(), Vec::new());
    for token in tokens {
        let is_end = token.token == Token::SemiColon;
        // The parser takes what stands behind `COPY ... FROM STDIN;` for data.
        if !is_end || !is_copy(&part) {
            part.push(token);
        }
        if is_end {
            statements.extend(statement(std::mem::take(&mut part), text)?);
        }
    }
    statements.extend(statement(part, text)?);
    Ok(statements)
}

/// The words and signs of a statement.
fn signs(tokens: &[TokenWithSpan]) -> impl Iterator<Item = &Token> {
    let tokens = tokens.iter().map(|token| &token.token);
    tokens.filter(|token| !matches!(token, Token::Whitespace(_) | Token::SemiColon))
}

fn is_copy(tokens: &[TokenWithSpan]) -> bool {
    matches!(signs(tokens).next(), Some(Token::Word(word)) if word.keyword == Keyword::COPY)
}

/// Parses one statement; `None`: there is nothing.
fn statement(mut tokens: Vec<TokenWithSpan>, text: &str) -> Result<Option<Statement>> {
    if signs(&tokens).next().is_none() {
        return Ok(None);
    }
    let condition = if is_copy(&tokens) { copy::adapt(&mut tokens) } else { Vec::new() };
    let dialect = Postgres::for_tokens(tokens.len());
    let mut parser = Parser::new(&dialect).with_tokens_with_locations(tokens);
    let parsed = own::statement(&mut parser, text);
    if dialect.is_exhausted() {
        return Err(too_deep());
    }
    let mut statement = parsed?;
    copy::set_condition(&mut statement, condition, text)?;
    match parser.peek_token() {
        next if matches!(next.token, Token::SemiColon | Token::EOF) => Ok(Some(statement)),
        next => Err(near(text, &next.token.to_string(), next.span.start)),
    }
}

fn too_deep() -> SqlError {
    SqlError::new(SqlState::StatementTooComplex, "the statement is nested too deeply")
        .with_hint("Write it with fewer levels.")
}

/// Gives each token the place that it has where the text is one line.
fn flatten(text: &str, tokens: &mut [TokenWithSpan]) {
    let mut starts = vec![0_u64];
    let mut sum = 0;
    for line in text.split('\n') {
        sum += line.chars().count() as u64 + 1;
        starts.push(sum);
    }
    let flat = |at: Location| match usize::try_from(at.line).ok().and_then(|line| starts.get(line.checked_sub(1)?)) {
        Some(start) => Location { line: 1, column: start + at.column },
        None => at,
    };
    for token in tokens {
        token.span.start = flat(token.span.start);
        token.span.end = flat(token.span.end);
    }
}

/// Refuses an alias that is a literal, which the parser takes for a name.
pub(crate) fn refuse_literal(alias: &Ident) -> Result<()> {
    match alias.quote_style {
        Some('\'') => {
            let message = format!("syntax error at or near \"'{}'\"", alias.value);
            Err(SqlError::new(SqlState::SyntaxError, message).at_ident(alias))
        }
        _ => Ok(()),
    }
}

/// Refuses a number with letters right behind it.
fn refuse_junk(tokens: &[TokenWithSpan]) -> Result<()> {
    for (at, token) in tokens.iter().enumerate() {
        let Token::Number(number, is_long) = &token.token else { continue };
        let behind = match tokens.get(at + 1).map(|next| &next.token) {
            Some(Token::Word(word)) if word.quote_style.is_none() && !*is_long => word.value.as_str(),
            _ if *is_long => "L",
            _ => continue,
        };
        let message = format!("trailing junk after numeric literal at or near \"{number}{behind}\"");
        return Err(SqlError::new(SqlState::SyntaxError, message));
    }
    Ok(())
}

/// Takes the places from tokens of a text that no client has sent: errors are not to name them.
fn forget(tokens: &mut [TokenWithSpan]) {
    for token in tokens {
        token.span = Span::empty();
    }
}

/// Which character of its text a node begins at, from 1 on.
pub(crate) fn place(node: &impl Spanned) -> Option<usize> {
    column(node.span())
}

/// Which character of its text a span begins at, from 1 on.
pub(crate) fn column(span: Span) -> Option<usize> {
    if span.start.line == 0 { None } else { usize::try_from(span.start.column).ok() }
}

/// Refuses `WHERE CURRENT OF`, which the parser does not read.
fn refuse_current_of(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut last: [&str; 2] = [""; 2];
    for token in tokens {
        let word = match &token.token {
            Token::Whitespace(_) => continue,
            Token::Word(word) if word.quote_style.is_none() => word.value.as_str(),
            _ => "",
        };
        let is = |found: &str, word: &str| found.eq_ignore_ascii_case(word);
        if is(last[0], "where") && is(last[1], "current") && is(word, "of") {
            return Err(SqlError::unsupported("WHERE CURRENT OF")
                .with_hint("Name the row by its key: WHERE id = the value that was fetched."));
        }
        last = [last[1], word];
    }
    Ok(())
}

/// What stands between two parentheses, as far as it was read.
#[derive(Default)]
struct Between {
    /// Operators of the expression at hand.
    expression: usize,
    /// Operators between queries, each of which is a level more of the tree, whatever their lists are.
    queries: usize,
}

/// Refuses expressions that are too deep.
fn refuse_depth(tokens: &[TokenWithSpan]) -> Result<()> {
    // The expression at hand, and those around it.
    let mut open = vec![Between::default()];
    let mut sum = 0;
    for token in tokens {
        let is_within = open.len() > 1;
        let last = open.last_mut().expect("the outermost one is never closed");
        match &token.token {
            Token::Whitespace(_) => {}
            Token::LParen | Token::LBracket | Token::LBrace => open.push(Between::default()),
            closing @ (Token::RParen | Token::RBracket | Token::RBrace) if is_within => {
                sum -= open.pop().map_or(0, |between| between.expression + between.queries);
                // `[1]` and `[]` are operators of what stands before them.
                if *closing == Token::RBracket {
                    open.last_mut().expect("there is one around it").expression += 1;
                    sum += 1;
                }
            }
            Token::Comma => sum -= std::mem::take(&mut last.expression),
            Token::SemiColon => sum -= std::mem::take(&mut last.expression) + std::mem::take(&mut last.queries),
            Token::Word(word) if matches!(word.keyword, Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT) => {
                sum -= std::mem::take(&mut last.expression);
                last.queries += 2;
                sum += 2;
            }
            // Names, literals and all operators: an expression has about as many of one as of the other.
            _ => {
                last.expression += 1;
                sum += 1;
            }
        }
        if sum > 2 * OPERATORS_MAX {
            let message = format!("an expression has more than {OPERATORS_MAX} operators");
            return Err(SqlError::new(SqlState::StatementTooComplex, message)
                .with_hint("Use IN or = ANY with an array in place of a long OR."));
        }
    }
    Ok(())
}

/// Writes what PostgreSQL understands and the parser does not in words that it does.
fn adapt(tokens: &mut Vec<TokenWithSpan>) {
    let is_word = |token: &TokenWithSpan, word: &str| match &token.token {
        Token::Word(found) => found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word),
        _ => false,
    };
    // `VACUUM` takes options and tables here, which mean nothing.
    let (mut is_first, mut is_vacuum) = (true, false);
    tokens.retain(|token| {
        let is_end = token.token == Token::SemiColon;
        let is_kept = !is_vacuum || is_end || is_first;
        if is_end {
            (is_first, is_vacuum) = (true, false);
        } else if is_first && !matches!(token.token, Token::Whitespace(_)) {
            (is_first, is_vacuum) = (false, is_word(token, "vacuum"));
        }
        is_kept
    });
    merge_session_authorization(tokens);
    let words: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    name_constraints(tokens, &words);
    let mut gone = Vec::new();
    for pair in words.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        let is_option = ["freeze", "header"].iter().any(|word| is_word(&tokens[first], word));
        // The switches of COPY.
        for (switch, value) in [("on", "TRUE"), ("off", "FALSE")] {
            if is_option && is_word(&tokens[second], switch) {
                tokens[second].token = Token::make_keyword(value);
            }
        }
        // One kind of lock stands for all: `FOR NO KEY UPDATE`, `FOR KEY SHARE`.
        if is_word(&tokens[first], "no") && is_word(&tokens[second], "key") {
            gone.extend([first, second]);
        }
        if is_word(&tokens[first], "for") && is_word(&tokens[second], "key") {
            gone.push(second);
        }
    }
    let mut at = 0;
    tokens.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
}

/// Writes `COMMENT ON CONSTRAINT c ON t` as `COMMENT ON DOMAIN c.t`: there are no domains, and a constraint has a table.
fn name_constraints(tokens: &mut [TokenWithSpan], words: &[usize]) {
    let is_word = |token: &TokenWithSpan, word: &str| match &token.token {
        Token::Word(found) => found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word),
        _ => false,
    };
    for group in words.windows(5) {
        let matches = |place: usize, word: &str| is_word(&tokens[group[place]], word);
        if matches(0, "comment") && matches(1, "on") && matches(2, "constraint") && matches(4, "on") {
            tokens[group[2]].token = Token::make_keyword("DOMAIN");
            tokens[group[4]].token = Token::Period;
        }
    }
}

/// `TABLE t` is `SELECT * FROM t`: the parser does not tell what of its name was quoted.
fn write_out_tables(tokens: &mut Vec<TokenWithSpan>, text: &str) -> Result<()> {
    let is = |token: &Token, text: &str| matches!(token, Token::Word(word) if is_plain(word, text));
    if !tokens.iter().any(|token| is(&token.token, "table")) {
        return Ok(());
    }
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    // Elsewhere it is the word of another statement, or a name.
    let begins = |before: &Token| match before {
        Token::SemiColon | Token::LParen | Token::RParen => true,
        Token::Word(word) => {
            ["as", "union", "all", "intersect", "except", "explain"].iter().any(|it| is_plain(word, it))
        }
        _ => false,
    };
    let names = |next: &Token| match next {
        Token::Word(word) => word.quote_style.is_some() || !quote::quoted(&word.value.to_lowercase()).starts_with('"'),
        _ => false,
    };
    let mut found = Vec::new();
    for (place, at) in solid.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| &tokens[solid[before]].token);
        let Some(next) = solid.get(place + 1).map(|next| &tokens[*next]) else { break };
        if !is(&tokens[*at].token, "table") || !before.is_none_or(begins) {
            continue;
        }
        if names(&next.token) {
            found.push(*at);
        } else if matches!(next.token, Token::Word(_)) && !before.is_some_and(|before| is(before, "as")) {
            return Err(near(text, &next.token.to_string(), next.span.start));
        }
    }
    for at in found.into_iter().rev() {
        let span = tokens[at].span;
        let new = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")];
        tokens.splice(at..=at, new.into_iter().map(|token| TokenWithSpan::new(token, span)));
    }
    Ok(())
}

fn is_plain(word: &sqlparser::tokenizer::Word, text: &str) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text)
}

/// `RESET SESSION AUTHORIZATION` is `RESET` of the setting with that name.
fn merge_session_authorization(tokens: &mut Vec<TokenWithSpan>) {
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let is = |at: usize, word: &str| match &tokens[at].token {
        Token::Word(found) => found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word),
        _ => false,
    };
    let begins = |place: usize| place == 0 || tokens[solid[place - 1]].token == Token::SemiColon;
    let found: Vec<[usize; 2]> = (0..solid.len().saturating_sub(2))
        .filter(|place| begins(*place) && is(solid[*place], "reset"))
        .map(|place| [solid[place + 1], solid[place + 2]])
        .filter(|[session, authorization]| is(*session, "session") && is(*authorization, "authorization"))
        .collect();
    for [session, authorization] in found.into_iter().rev() {
        tokens[session].token = Token::make_word("session_authorization", None);
        tokens.remove(authorization);
    }
}

/// Parses an expression that the catalog keeps.
pub(crate) fn expression(text: &str) -> Result<Expr> {
    parsed_expression(text, forget)
}

/// As [`expression`]; its nodes have places in the text.
pub(crate) fn placed_expression(text: &str) -> Result<Expr> {
    parsed_expression(text, |tokens| flatten(text, tokens))
}

fn parsed_expression(text: &str, place: impl FnOnce(&mut [TokenWithSpan])) -> Result<Expr> {
    let dialect = Postgres::default();
    let tokens = Tokenizer::new(&dialect, text).tokenize_with_location();
    let mut tokens = tokens.map_err(|error| syntax_error(text, ParserError::TokenizerError(error.to_string())))?;
    place(&mut tokens);
    let mut parser = Parser::new(&dialect).with_tokens_with_locations(tokens);
    parser.parse_expr().map_err(|error| syntax_error(text, error))
}

fn near(text: &str, token: &str, at: Location) -> SqlError {
    let message = match token {
        "EOF" => "syntax error at end of input".to_owned(),
        token => format!("syntax error at or near \"{token}\""),
    };
    let error = SqlError::new(SqlState::SyntaxError, message);
    match position(text, at) {
        Some(position) => error.at(position),
        None if token == "EOF" => error.at(text.chars().count() + 1),
        None => error,
    }
}

/// The error of the parser, in the words of PostgreSQL where it says which token it met.
fn syntax_error(text: &str, error: ParserError) -> SqlError {
    let said = match error {
        ParserError::RecursionLimitExceeded => {
            return too_deep();
        }
        ParserError::ParserError(said) | ParserError::TokenizerError(said) => said,
    };
    let (what, place) = said.rsplit_once(" at Line: ").unwrap_or((&said, ""));
    let location = place.split_once(", Column: ").and_then(|(line, column)| {
        Some(Location { line: line.trim().parse().ok()?, column: column.trim().parse().ok()? })
    });
    match (what.split_once(", found: "), location) {
        (Some((_, token)), location) => near(text, token, location.unwrap_or(Location { line: 0, column: 0 })),
        (_, Some(location)) => {
            let error = SqlError::new(SqlState::SyntaxError, format!("syntax error: {what}"));
            position(text, location).map_or(error.clone(), |at| error.at(at))
        }
        _ => SqlError::new(SqlState::SyntaxError, format!("syntax error: {said}")),
    }
}

/// Which character of the text a location is, from 1 on.
pub(crate) fn position(text: &str, at: Location) -> Option<usize> {
    let line = usize::try_from(at.line).ok()?.checked_sub(1)?;
    let before: usize = text.split('\n').take(line).map(|line| line.chars().count() + 1).sum();
    Some(before + usize::try_from(at.column).ok()?)
}

/// A name as the catalog has it.
pub(crate) fn name(ident: &Ident) -> String {
    let mut name = match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    };
    let mut end = NAME_BYTES_MAX.min(name.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.truncate(end);
    name
}

/// The parts of a name with full stops.
pub(crate) fn parts(object: &ObjectName) -> Result<Vec<String>> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) => Ok(name(ident)),
        ObjectNamePart::Function(_) => Err(SqlError::new(SqlState::SyntaxError, format!("{object} is no name"))),
    };
    object.0.iter().map(part).collect()
}

/// The parts of a name that is written within a text, as the argument of `nextval` is.
pub(crate) fn object_name(text: &str) -> Result<Vec<String>> {
    let dialect = Postgres::default();
    let invalid = |_| SqlError::new(SqlState::InvalidName, format!("invalid name syntax: \"{text}\""));
    let mut parser = Parser::new(&dialect).try_with_sql(text).map_err(invalid)?;
    parts(&parser.parse_object_name(false).map_err(invalid)?)
}

/// The type of the system that a statement declares.
///
/// # Errors
/// 42704 where it is none.
pub(crate) fn data_type(ty: &DataType) -> Result<Declared> {
    let text = ty.to_string();
    let unknown = || unknown_type(&text);
    if let DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) = ty {
        let Declared { ty, modifier } = data_type(element)?;
        let array = if ty.element().is_some() && !ty.is_vector() { Some(ty) } else { ty.array() };
        return Ok(Declared { ty: array.ok_or_else(unknown)?, modifier });
    }
    if let Some((name, modifiers)) = types::of_catalog(ty) {
        let ty = Type::of_catalog_name(&name).ok_or_else(unknown)?;
        let numbers: Option<Vec<i64>> = modifiers.iter().map(|part| part.trim().parse().ok()).collect();
        return Ok(Declared { ty, modifier: modifier(ty, &name, &numbers.ok_or_else(unknown)?)? });
    }
    if types::is_of_users(ty) { Err(unknown()) } else { declared(&text) }
}

/// Reads a type that is named within a text, as the argument of `to_regtype` is.
///
/// # Errors
/// 42601.
pub(crate) fn named_type(text: &str) -> Result<DataType> {
    let dialect = Postgres::default();
    let tokens = Tokenizer::new(&dialect, text).tokenize_with_location();
    let mut tokens = tokens.map_err(|error| syntax_error(text, ParserError::TokenizerError(error.to_string())))?;
    forget(&mut tokens);
    forms::adapt(&mut tokens);
    let mut parser = Parser::new(&dialect).with_tokens_with_locations(tokens);
    let ty = parser.parse_data_type().map_err(|error| syntax_error(text, error))?;
    match parser.peek_token().token {
        Token::EOF => Ok(ty),
        other => Err(near(text, &other.to_string(), Location::empty())),
    }
}

fn unknown_type(text: &str) -> SqlError {
    SqlError::new(SqlState::UndefinedObject, format!("type \"{}\" does not exist", text.to_lowercase()))
}

/// Reads a type, as `numeric(12,2)` or `timestamp with time zone`.
pub(crate) fn declared(text: &str) -> Result<Declared> {
    let unknown = || unknown_type(text);
    let lower = text.trim().to_lowercase();
    if let Some(open) = lower.strip_suffix(']').and_then(|text| text.rfind('[')) {
        let element = declared(&lower[..open])?;
        return Ok(Declared { ty: element.ty.array().ok_or_else(unknown)?, modifier: element.modifier });
    }
    let (head, rest) = lower.split_once('(').unwrap_or((&lower, ""));
    let (arguments, tail) = rest.split_once(')').unwrap_or(("", ""));
    let name = format!("{}{tail}", head.trim_end());
    let name = name.trim();
    let numbers: Option<Vec<i64>> =
        arguments.split(',').filter(|part| !part.trim().is_empty()).map(|part| part.trim().parse().ok()).collect();
    let numbers = numbers.ok_or_else(unknown)?;
    if let Some(fields) = name.strip_prefix("interval ") {
        return span(fields, &numbers).ok_or_else(unknown);
    }
    let ty = match name {
        "int" => Type::Int4,
        "decimal" | "dec" => Type::Numeric,
        "float" => match numbers.first() {
            Some(1..=24) => return Ok(Type::Float4.into()),
            Some(25..=53) | None => return Ok(Type::Float8.into()),
            Some(_) => {
                return Err(SqlError::new(
                    SqlState::InvalidParameterValue,
                    "precision for type float must be from 1 to 53",
                ));
            }
        },
        "char varying" | "nvarchar" => Type::Varchar,
        "char" | "character" | "bpchar" => Type::Char,
        "timestamp" => Type::Timestamp,
        "timestamp with time zone" => Type::Timestamptz,
        "time" => Type::Time,
        "bool" => Type::Bool,
        "double" => Type::Float8,
        other => Type::of_name(other).ok_or_else(unknown)?,
    };
    Ok(Declared { ty, modifier: modifier(ty, name, &numbers)? })
}

/// An interval of some fields, as `day to second` with the digits of seconds.
fn span(fields: &str, digits: &[i64]) -> Option<Declared> {
    let (first, last) = fields.split_once(" to ").map_or((fields, None), |(first, last)| (first, Some(last)));
    let fields = Fields::named(first.trim(), last.map(str::trim))?;
    let digits = match digits {
        [] => None,
        [digits] if fields.have_seconds() => Some(u8::try_from(*digits).ok().filter(|digits| *digits <= 6)?),
        _ => return None,
    };
    Some(Declared { ty: Type::Interval, modifier: Modifier::Span(fields, digits) })
}

/// What the numbers behind a type's name mean.
fn modifier(ty: Type, name: &str, numbers: &[i64]) -> Result<Modifier> {
    let refused = |message: String| Err(SqlError::new(SqlState::InvalidParameterValue, message));
    match (ty, numbers) {
        (Type::Char, []) if name != "bpchar" => Ok(Modifier::Length(1)),
        (_, []) => Ok(Modifier::None),
        (Type::Varchar | Type::Char, [length]) => match u32::try_from(*length) {
            Ok(length @ 1..=10_485_760) => Ok(Modifier::Length(length)),
            Ok(0) | Err(_) => refused(format!("length for type {ty} must be at least 1")),
            Ok(_) => refused(format!("length for type {ty} cannot exceed 10485760")),
        },
        (Type::Numeric, [precision, scale @ ..]) if scale.len() <= 1 => {
            let scale = scale.first().copied().unwrap_or(0);
            let (Ok(digits @ 1..=1000), Ok(places @ -1000..=1000)) = (u16::try_from(*precision), i16::try_from(scale))
            else {
                return refused(format!("NUMERIC precision {precision} must be between 1 and 1000"));
            };
            Ok(Modifier::Digits { precision: digits, scale: places })
        }
        (Type::Time | Type::Timestamp | Type::Timestamptz | Type::Interval, [digits]) => match u8::try_from(*digits) {
            Ok(digits @ 0..=6) => Ok(Modifier::Fraction(digits)),
            _ => refused(format!("{ty} precision {digits} must be between 0 and 6")),
        },
        _ => Err(SqlError::new(SqlState::SyntaxError, format!("type modifier is not allowed for type \"{ty}\""))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read() {
        let read = |text| declared(text).expect(text).to_string();
        assert_eq!(read("VARCHAR(10)"), "character varying(10)");
        assert_eq!(read("numeric(12, 2)"), "numeric(12,2)");
        assert_eq!(read("CHAR"), "character(1)");
        assert_eq!(read("INT[]"), "integer[]");
        assert_eq!(read("timestamp(3) with time zone"), "timestamp(3) with time zone");
        assert_eq!(read("DOUBLE PRECISION"), "double precision");
        assert_eq!(read("character varying(3)[]"), "character varying(3)[]");
        assert_eq!(declared("nosuch").unwrap_err().code(), "42704");
    }

    #[test]
    fn syntax_errors_have_a_place() {
        let error = of_client("select 1;\nselect 1 +, 2").unwrap_err();
        assert_eq!((error.code(), error.position()), ("42601", Some(21)), "{error}");
        assert_eq!(statements("select 1 2").unwrap_err().message, "syntax error at or near \"2\"");
        assert_eq!(statements(" ; ;").expect("no statement").len(), 0);
        assert_eq!(statements("select 1; select 2").expect("two").len(), 2);
    }

    #[test]
    fn a_literal_goes_on_behind_a_line_break() {
        let same = |one: &str, other: &str| assert_eq!(statements(one).expect(one), statements(other).expect(other));
        same("select 'p'\n'q'", "select 'pq'");
        same("select 'p' -- a comment\n  \n\t'q'\r\n'r' as x", "select 'pqr' as x");
        same("select E'p\\n'\n'q\\t', N'p'\n'q'", "select E'p\\nq\\t', N'pq'");
        same("select 'it''s'\n'it''s'", "select 'it''sit''s'");
        for text in ["select 'p' 'q'", "select 'p' /* one\ntwo */ 'q'", "select 'p'\n/* one */ 'q'"] {
            let read = statements(text).expect(text);
            assert_eq!(read, statements("select 'p' AS 'q'").expect("an alias, which is refused later"), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let sum = |terms: usize| format!("select {}", vec!["f(1, 2)"; terms].join(" + "));
        assert_eq!(statements(&sum(10_000)).unwrap_err().code(), "54001");
        assert_eq!(statements(&format!("select {}1", "(".repeat(1000))).unwrap_err().code(), "54001");
        let rows = format!("insert into t values {}", vec!["(1, -2)"; 20_000].join(", "));
        assert_eq!(statements(&rows).expect("many rows").len(), 1);
        assert_eq!(statements(&sum(1000)).expect("some terms").len(), 1);
        // Each level of these is one more of the tree, whether there are commas or not.
        let endless = |first: &str, more: &str| {
            statements(&format!("{first}{}", more.repeat(20_000))).unwrap_err().code().to_owned()
        };
        assert_eq!(endless("select 1::int", "[]"), "54001");
        assert_eq!(endless("create table t (a int", "[]"), "54001");
        assert_eq!(endless("select a", "[1, 2]"), "54001");
        assert_eq!(endless("select 1, 1", " union select 1, 1"), "54001");
        let queries = |count: usize| format!("values (1, 2){}", " union all values (1, 2)".repeat(count));
        assert_eq!(statements(&queries(4000)).expect("many queries").len(), 1);
    }

    /// What the parser tries in two ways on each level takes no time that doubles with each.
    #[test]
    fn forms_in_forms_end() {
        const LEVELS: usize = 60;
        let forms =
            ["cast(", "array[", "substring(", "ceil(", "overlay(", "position(", "not (", "extract(", "trim(", "case ("];
        for form in
            forms.iter().chain(&["interval (", "exists (select ", "(select ", "row(", "coalesce(", "1 in (", "date ("])
        {
            let error = statements(&format!("select {}", form.repeat(LEVELS))).unwrap_err();
            assert!(["42601", "54001"].contains(&error.code()), "{form}: {error}");
        }
        for form in ["(", "(select * from ", "lateral (", "a join ("] {
            let error = statements(&format!("select * from {}", form.repeat(LEVELS))).unwrap_err();
            assert!(["42601", "54001"].contains(&error.code()), "{form}: {error}");
            let whole = format!("select * from {}t{}", form.repeat(LEVELS), ")".repeat(LEVELS));
            drop(statements(&whole));
        }
        let casts = |levels: usize| format!("select {}1{}", "cast(".repeat(levels), " as int)".repeat(levels));
        assert_eq!(statements(&casts(1000)).unwrap_err().code(), "54001");
        assert_eq!(statements(&casts(20)).expect("a query").len(), 1);
    }

    #[test]
    fn texts_have_no_passwords() {
        for text in ["create role r login password 'secret'", "alter user r with encrypted password 'secret'"] {
            let shown = own::text(&statements(text).expect(text)[0]);
            assert!(!shown.contains("secret") && shown.ends_with(" ROLE"), "{shown}");
        }
    }

    /// What stands behind a statement is no data of it.
    #[test]
    fn statements_behind_copy_are_read() {
        let read = statements("begin; copy t from stdin; commit").expect("three");
        assert_eq!(read.len(), 3, "{read:?}");
        assert_eq!(
            statements("copy t from stdin; select 1 +; select 2").unwrap_err().message,
            "syntax error at or near \";\""
        );
    }

    #[test]
    fn calls_in_calls_are_read_once() {
        let nested = format!("select {}1{}", "abs(".repeat(40), ")".repeat(40));
        assert_eq!(statements(&nested).expect("a query").len(), 1);
        assert_eq!(statements("select make_interval(days => 1)").expect("a name").len(), 1);
    }

    #[test]
    fn windows_are_adapted() {
        let shown = |text: &str| statements(text).expect(text)[0].to_string();
        assert_eq!(shown("select f() over (rows 1 preceding exclude ties)").matches('\u{1}').count(), 1);
        assert!(shown("select f() over (w rows 1 preceding) from t window w as (order by 1)").contains(r#"("w" ROWS"#));
        let error = statements("select f() over (rows 1 preceding exclude nothing)").unwrap_err();
        assert_eq!(error.message, "syntax error at or near \"exclude\"");
        assert_eq!(frame::split_name("w\u{1}ties"), (Some("w"), Some("ties")));
        assert_eq!(frame::split_name("w"), (Some("w"), None));
    }

    #[test]
    fn what_the_parser_does_not_know_is_adapted() {
        for text in [
            "copy t from stdin with (freeze on, format csv, header off)",
            "vacuum analyze t",
            "VACUUM (VERBOSE) t, u; select 1",
            "select * from t for no key update",
            "select * from t for key share",
            "set constraints all deferred; SET CONSTRAINTS a, s.\"B\" IMMEDIATE",
            "create table c (a int references p on delete set null (a) on update cascade, b int)",
            "alter table c add foreign key (a, b) references s.p (x, y) match full on delete set default (b, \"A\")",
        ] {
            statements(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }
}
