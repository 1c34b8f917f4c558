//! Windows in words that the parser understands.
//!
//! Invariants:
//! - The parser knows no `EXCLUDE`. What a frame leaves out stands behind the name of the window that it extends, after
//!   [`MARK`], which is a character that no name has; [`split_name`] takes the two apart.
//! - A name is quoted, so that no keyword of other dialects hides it.
//! - A literal in quotes that is an offset stands in parentheses, because the parser takes it for an interval otherwise.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// What stands between the name of a window and what the frame leaves out.
const MARK: char = '\u{1}';

/// Splits what the parser holds for the name of a window into that name and what the frame leaves out.
pub(crate) fn split_name(name: &str) -> (Option<&str>, Option<&str>) {
    let (name, exclusion) = name.split_once(MARK).map_or((name, None), |(name, exclusion)| (name, Some(exclusion)));
    (Some(name).filter(|name| !name.is_empty()), exclusion)
}

fn is_word(token: &Token, words: &[&str]) -> bool {
    match token {
        Token::Word(found) => {
            found.quote_style.is_none() && words.iter().any(|word| found.value.eq_ignore_ascii_case(word))
        }
        _ => false,
    }
}

/// Rewrites all definitions of windows.
pub(super) fn adapt(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| is_word(&token.token, &["over", "window"])) {
        return;
    }
    let mut opens = definitions(tokens);
    // From the last to the first, so that those before stay where they are.
    opens.sort_unstable();
    for open in opens.into_iter().rev() {
        rewrite(tokens, open);
    }
}

/// The positions of the parentheses that open definitions: behind `OVER`, and in the list behind `WINDOW`.
fn definitions(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let token = |place: usize| solid.get(place).map_or(&Token::EOF, |at| &tokens[*at].token);
    let is_open = |place: usize| *token(place) == Token::LParen;
    let mut opens = Vec::new();
    for place in 0..solid.len() {
        if is_word(token(place), &["over"]) && is_open(place + 1) {
            opens.push(solid[place + 1]);
        }
        if !is_word(token(place), &["window"]) {
            continue;
        }
        let mut name = place + 1;
        while is_word(token(name + 1), &["as"]) && is_open(name + 2) {
            opens.push(solid[name + 2]);
            let (mut depth, mut end) = (1, name + 3);
            while depth > 0 && end < solid.len() {
                depth += i32::from(*token(end) == Token::LParen) - i32::from(*token(end) == Token::RParen);
                end += 1;
            }
            if *token(end) != Token::Comma {
                break;
            }
            name = end + 1;
        }
    }
    opens
}

/// The tokens of a definition that are not within parentheses, without spaces: their positions.
fn outermost(tokens: &[TokenWithSpan], open: usize) -> Vec<usize> {
    let (mut depth, mut found) = (0, Vec::new());
    for (at, token) in tokens.iter().enumerate().skip(open + 1) {
        match token.token {
            Token::Whitespace(_) => continue,
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return found,
            Token::RParen => depth -= 1,
            _ if depth == 0 => {}
            _ => continue,
        }
        found.push(at);
    }
    found
}

fn rewrite(tokens: &mut Vec<TokenWithSpan>, open: usize) {
    let exclusion = take_exclusion(tokens, open);
    wrap_offsets(tokens, open);
    let first = outermost(tokens, open).first().copied();
    let name = first.and_then(|at| match &tokens[at].token {
        Token::Word(_) if is_word(&tokens[at].token, &["partition", "order", "rows", "range", "groups"]) => None,
        Token::Word(word) if word.quote_style.is_some() => Some((at, word.value.clone())),
        Token::Word(word) => Some((at, word.value.to_lowercase())),
        _ => None,
    });
    let mark = |name: String| match exclusion {
        Some(exclusion) => format!("{name}{MARK}{exclusion}"),
        None => name,
    };
    let quoted = |value| Token::Word(Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword });
    match name {
        Some((at, name)) => tokens[at].token = quoted(mark(name)),
        None if exclusion.is_some() => {
            let span = tokens[open].span;
            tokens.insert(open + 1, TokenWithSpan { token: quoted(mark(String::new())), span });
        }
        None => {}
    }
}

/// Removes `EXCLUDE` from a definition, and returns what it says.
fn take_exclusion(tokens: &mut Vec<TokenWithSpan>, open: usize) -> Option<&'static str> {
    let outermost = outermost(tokens, open);
    let place = outermost.iter().position(|at| is_word(&tokens[*at].token, &["exclude"]))?;
    let word =
        |step: usize, words: &[&str]| outermost.get(place + step).is_some_and(|at| is_word(&tokens[*at].token, words));
    let (exclusion, count) = if word(1, &["current"]) && word(2, &["row"]) {
        ("current row", 3)
    } else if word(1, &["no"]) && word(2, &["others"]) {
        ("no others", 3)
    } else if word(1, &["group"]) {
        ("group", 2)
    } else if word(1, &["ties"]) {
        ("ties", 2)
    } else {
        return None;
    };
    // It is the last part: anything behind it is a syntax error that the parser finds.
    if outermost.len() != place + count {
        return None;
    }
    for at in outermost[place..].iter().rev() {
        tokens.remove(*at);
    }
    Some(exclusion)
}

/// Puts offsets that begin with a literal in quotes into parentheses.
fn wrap_offsets(tokens: &mut Vec<TokenWithSpan>, open: usize) {
    let outermost = outermost(tokens, open);
    let is = |place: usize, words: &[&str]| outermost.get(place).is_some_and(|at| is_word(&tokens[*at].token, words));
    let Some(unit) = (0..outermost.len()).rev().find(|place| is(*place, &["rows", "range", "groups"])) else { return };
    let mut wrapped = Vec::new();
    for place in unit + 1..outermost.len() {
        let begins = is(place - 1, &["rows", "range", "groups", "between"])
            || is(place - 1, &["and"]) && is(place - 2, &["preceding", "following", "row"]);
        let is_text = matches!(tokens[outermost[place]].token, Token::SingleQuotedString(_));
        let end = (place..outermost.len()).find(|place| is(*place, &["preceding", "following"]));
        if let Some(end) = end.filter(|_| begins && is_text) {
            wrapped.push((outermost[place], outermost[end]));
        }
    }
    for (start, end) in wrapped.into_iter().rev() {
        let (before, after) = (tokens[start].span, tokens[end].span);
        tokens.insert(end, TokenWithSpan { token: Token::RParen, span: after });
        tokens.insert(start, TokenWithSpan { token: Token::LParen, span: before });
    }
}
