//! The words and signs of a text without the white space between them, and changes of these.
//!
//! A *place* counts the words and signs alone, a position all tokens. Invariant: changes name tokens by their positions.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::is_plain;

/// What is to change: tokens that go, and tokens that come before others.
#[derive(Default)]
pub(super) struct Edits {
    pub(super) gone: Vec<usize>,
    pub(super) before: Vec<(usize, Vec<Token>)>,
}

/// The words and signs of a text.
pub(super) struct Solid<'t> {
    tokens: &'t [TokenWithSpan],
    pub(super) places: Vec<usize>,
    /// Where the parenthesis ends that a place opens.
    pub(super) closes: Vec<usize>,
}

/// Makes the changes.
pub(super) fn apply(tokens: &mut Vec<TokenWithSpan>, mut edits: Edits) {
    edits.gone.sort_unstable();
    // Stable: what was put before a token first stays first.
    edits.before.sort_by_key(|(at, _)| *at);
    let mut before = edits.before.into_iter().peekable();
    let mut out = Vec::with_capacity(tokens.len() + 8);
    let end = tokens.len();
    let last = tokens.last().map(|token| token.span);
    for (at, token) in std::mem::take(tokens).into_iter().enumerate() {
        while let Some((_, new)) = before.next_if(|(place, _)| *place == at) {
            out.extend(new.into_iter().map(|new| TokenWithSpan::new(new, token.span)));
        }
        if edits.gone.binary_search(&at).is_err() {
            out.push(token);
        }
    }
    for (place, new) in before {
        debug_assert_eq!(place, end, "nothing stands behind the end");
        out.extend(new.into_iter().filter_map(|new| Some(TokenWithSpan::new(new, last?))));
    }
    *tokens = out;
}

impl Solid<'_> {
    pub(super) fn new(tokens: &[TokenWithSpan]) -> Solid<'_> {
        let places: Vec<usize> =
            (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
        let mut closes = vec![places.len(); places.len()];
        let mut open = Vec::new();
        for (place, at) in places.iter().enumerate() {
            match tokens[*at].token {
                Token::LParen => open.push(place),
                Token::RParen => {
                    if let Some(start) = open.pop() {
                        closes[start] = place;
                    }
                }
                _ => {}
            }
        }
        Solid { tokens, places, closes }
    }

    pub(super) fn token(&self, place: usize) -> &Token {
        self.places.get(place).map_or(&Token::EOF, |at| &self.tokens[*at].token)
    }

    /// The position of a place among all tokens.
    pub(super) fn at(&self, place: usize) -> usize {
        self.places.get(place).copied().unwrap_or(self.tokens.len())
    }

    pub(super) fn is(&self, place: usize, words: &[&str]) -> bool {
        matches!(self.token(place), Token::Word(word) if words.iter().any(|it| is_plain(word, it)))
    }

    pub(super) fn is_before(&self, place: usize, words: &[&str]) -> bool {
        place.checked_sub(1).is_some_and(|before| self.is(before, words))
    }
}
