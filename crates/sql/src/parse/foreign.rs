//! Foreign keys and `SET CONSTRAINTS`, in words that the parser understands.
//!
//! Invariant: what is added bears a mark that no text of a client can contain.

use sqlparser::ast::{Expr, Ident, Set};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Begins the names that are added.
const MARK: char = '\0';

/// What `SET CONSTRAINTS` says.
pub(crate) struct SetConstraints {
    /// The constraints; empty: all.
    pub(crate) names: Vec<Vec<String>>,
    pub(crate) is_deferred: bool,
}

/// Rewrites the statements of a text.
pub(super) fn adapt(tokens: &mut Vec<TokenWithSpan>) {
    while let Some((at, edit)) = set_constraints(tokens).or_else(|| set_columns(tokens)) {
        let span = tokens[at.start].span;
        tokens.splice(at, edit.into_iter().map(|token| TokenWithSpan::new(token, span)));
    }
}

type Edit = (std::ops::Range<usize>, Vec<Token>);

fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}

/// The positions of what is no white space.
fn words(tokens: &[TokenWithSpan]) -> Vec<usize> {
    (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect()
}

/// `SET CONSTRAINTS a, b DEFERRED` becomes `SET mark TO a, b, 'deferred'`.
fn set_constraints(tokens: &[TokenWithSpan]) -> Option<Edit> {
    let words = words(tokens);
    let is = |at: usize, word: &str| words.get(at).is_some_and(|at| is_word(&tokens[*at].token, word));
    let is_end = |at: usize| words.get(at).is_none_or(|at| matches!(tokens[*at].token, Token::SemiColon | Token::EOF));
    let begins = |at: usize| at == 0 || tokens[words[at - 1]].token == Token::SemiColon;
    let set = (0..words.len()).find(|at| begins(*at) && is(*at, "set") && is(at + 1, "constraints"))?;
    let end = (set..).find(|at| is_end(*at))?;
    let mode = ["deferred", "immediate"].into_iter().find(|mode| end >= set + 4 && is(end - 1, mode))?;
    let mut edit = vec![Token::make_word(&format!("{MARK}constraints"), Some('"')), Token::make_keyword("TO")];
    let names = &tokens[words[set + 2]..words[end - 1]];
    if !(end == set + 4 && is(set + 2, "all")) {
        edit.extend(names.iter().map(|token| token.token.clone()));
        edit.push(Token::Comma);
    }
    edit.push(Token::SingleQuotedString(mode.to_owned()));
    Some((words[set + 1]..words[end - 1] + 1, edit))
}

/// The columns of `ON DELETE SET NULL (a, b)` become marked columns of what is referred to.
fn set_columns(tokens: &[TokenWithSpan]) -> Option<Edit> {
    let words = words(tokens);
    let token = |at: usize| words.get(at).map(|at| &tokens[*at].token);
    let is = |at: usize, word: &str| token(at).is_some_and(|token| is_word(token, word));
    let begins = |at: usize| {
        is(at, "on") && is(at + 1, "delete") && is(at + 2, "set") && (is(at + 3, "null") || is(at + 3, "default"))
    };
    let on = (0..words.len()).find(|at| begins(*at) && token(at + 4) == Some(&Token::LParen))?;
    let close = (on..words.len()).find(|at| token(*at) == Some(&Token::RParen))?;
    let mut columns = Vec::new();
    for at in (on + 5..close).step_by(2) {
        let Some(Token::Word(word)) = token(at) else { return None };
        if at + 1 != close && token(at + 1) != Some(&Token::Comma) {
            return None;
        }
        let name = if word.quote_style.is_some() { word.value.clone() } else { word.value.to_lowercase() };
        columns.push(Token::make_word(&format!("{MARK}{name}"), Some('"')));
    }
    let references = (0..on).rev().find(|at| is(*at, "references"))?;
    let mut behind = references + 2;
    while token(behind) == Some(&Token::Period) {
        behind += 2;
    }
    if columns.is_empty() || behind > on {
        return None;
    }
    let has_list = token(behind) == Some(&Token::LParen);
    let mut edit = vec![Token::LParen];
    for (at, column) in columns.into_iter().enumerate() {
        if at > 0 {
            edit.push(Token::Comma);
        }
        edit.push(column);
    }
    edit.push(if has_list { Token::Comma } else { Token::RParen });
    let rest = if has_list { words[behind] + 1 } else { words[behind] };
    edit.extend(tokens[rest..words[on + 4]].iter().map(|token| token.token.clone()));
    Some((words[behind]..words[close] + 1, edit))
}

/// Takes the marked columns out of those that are referred to: `ON DELETE` sets them.
pub(crate) fn take_set_columns(referred: &mut Vec<Ident>) -> Vec<String> {
    let marked = referred.iter().filter_map(|ident| ident.value.strip_prefix(MARK).map(str::to_owned)).collect();
    referred.retain(|ident| !ident.value.starts_with(MARK));
    marked
}

/// What `SET CONSTRAINTS` says; `None` where the statement is another one.
pub(crate) fn constraints_of(set: &Set) -> Option<SetConstraints> {
    let Set::SingleAssignment { variable, values, .. } = set else { return None };
    let is_marked = |part: &sqlparser::ast::ObjectNamePart| {
        part.as_ident().is_some_and(|ident| ident.value.strip_prefix(MARK) == Some("constraints"))
    };
    if !variable.0.first().is_some_and(is_marked) {
        return None;
    }
    let (mode, names) = values.split_last()?;
    let name = |expr: &Expr| match expr {
        Expr::Identifier(ident) => Some(vec![super::name(ident)]),
        Expr::CompoundIdentifier(idents) => Some(idents.iter().map(super::name).collect()),
        _ => None,
    };
    let names = names.iter().map(name).collect::<Option<Vec<_>>>()?;
    Some(SetConstraints { names, is_deferred: mode.to_string() == "'deferred'" })
}
