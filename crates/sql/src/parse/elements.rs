//! Assignments to elements, which the parser does not read: `SET a[1] = 2` is written as a call, `SET a = element(a[1], 2)`, with
//! a name that no function has.
//!
//! Invariant: the time is linear in the number of tokens.

use sqlparser::ast::{AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::is_plain;
use super::solid::{Edits, Solid, apply};

/// What an assignment to an element is called as a function.
const ELEMENT: &str = "\u{1}element";

/// Between `UPDATE` and `SET` are so many words and signs, at most: `schema.table AS alias`.
const TARGET_MAX: usize = 8;

/// Words behind which no assignment goes on.
const ENDS: &[&str] = &["where", "returning", "when"];

/// The subscripts of the element that is assigned, and its value.
pub(crate) fn assigned(expr: &Expr) -> Option<(&[AccessExpr], &Expr)> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else { return None };
    let is_it = name.0.first().and_then(|part| part.as_ident()).is_some_and(|ident| ident.value == ELEMENT);
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(target)), FunctionArg::Unnamed(FunctionArgExpr::Expr(value))] =
        &list.args[..]
    else {
        return None;
    };
    match target {
        Expr::CompoundFieldAccess { access_chain, .. } if is_it => Some((access_chain, value)),
        _ => None,
    }
}

/// Rewrites the statements of a text.
pub(super) fn adapt(tokens: &mut Vec<TokenWithSpan>) {
    let has = |is: &dyn Fn(&Token) -> bool| tokens.iter().any(|token| is(&token.token));
    if !has(&|token| *token == Token::LBracket)
        || !has(&|token| matches!(token, Token::Word(word) if is_plain(word, "update")))
    {
        return;
    }
    let solid = Solid::new(tokens);
    let mut edits = Edits::default();
    for place in 0..solid.places.len() {
        if solid.is(place, &["set"]) && solid.is_of_update(place) {
            solid.assignments(place + 1, &mut edits);
        }
    }
    if !edits.before.is_empty() {
        apply(tokens, edits);
    }
}

impl Solid<'_> {
    /// Whether `SET` is that of an `UPDATE`.
    fn is_of_update(&self, set: usize) -> bool {
        for place in (set.saturating_sub(TARGET_MAX)..set).rev() {
            match self.token(place) {
                _ if self.is(place, &["update"]) => return true,
                Token::Word(_) | Token::Period | Token::Mul => {}
                _ => return false,
            }
        }
        false
    }

    fn assignments(&self, mut place: usize, edits: &mut Edits) {
        loop {
            let end = self.end_of_assignment(place);
            if let Some(equals) = self.behind_subscripts(place).filter(|equals| *self.token(*equals) == Token::Eq) {
                let call = [self.token(place).clone(), Token::Eq, Token::make_word(ELEMENT, Some('"')), Token::LParen];
                edits.before.push((self.at(place), call.to_vec()));
                edits.gone.push(self.at(equals));
                edits.before.push((self.at(equals), vec![Token::Comma]));
                edits.before.push((self.at(end), vec![Token::RParen]));
            }
            if *self.token(end) != Token::Comma {
                return;
            }
            place = end + 1;
        }
    }

    /// The place behind a name with subscripts.
    fn behind_subscripts(&self, name: usize) -> Option<usize> {
        let is_name = matches!(self.token(name), Token::Word(_)) && *self.token(name + 1) == Token::LBracket;
        let (mut place, mut depth) = (name + 1, 0_usize);
        while is_name && place < self.places.len() {
            match self.token(place) {
                Token::LBracket => depth += 1,
                Token::RBracket => depth = depth.checked_sub(1)?,
                _ if depth == 0 => return Some(place),
                _ => {}
            }
            place += 1;
        }
        None
    }

    /// The place behind an assignment: a comma, or what ends the list.
    fn end_of_assignment(&self, start: usize) -> usize {
        let (mut place, mut brackets, mut cases) = (start, 0_usize, 0_usize);
        while place < self.places.len() {
            let is_within = brackets > 0 || cases > 0;
            match self.token(place) {
                Token::LParen => place = self.closes[place],
                Token::LBracket => brackets += 1,
                Token::RBracket => brackets = brackets.saturating_sub(1),
                Token::RParen | Token::SemiColon => return place,
                Token::Comma if !is_within => return place,
                _ if self.is(place, &["case"]) => cases += 1,
                _ if self.is(place, &["end"]) => cases = cases.saturating_sub(1),
                _ if is_within => {}
                _ if self.is(place, ENDS) => return place,
                _ if self.is(place, &["from"]) && !self.is_before(place, &["distinct"]) => return place,
                _ => {}
            }
            place += 1;
        }
        self.places.len()
    }
}
