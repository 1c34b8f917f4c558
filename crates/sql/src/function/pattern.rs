//! Patterns: `LIKE`, `SIMILAR TO`, and regular expressions.
//!
//! Invariant: a regular expression is compiled once for many rows; each thread keeps those that it used last.
//!
//! Absent: back references and look-around. Of several matches that start at one place, the first alternative is taken, where
//! PostgreSQL takes the longest match.

use std::cell::RefCell;
use std::collections::HashMap;

use regex::{Captures, Regex, RegexBuilder};

use super::argument::*;
use super::bound::{Pace, fits, pieces_fit};
use super::string::{in_case, lower};
use super::{Call, functions};
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Int, Null};
use crate::error::{Result, SqlState};

functions! {
    /// Operators of patterns.
    OPERATORS:
    "~~" (Text, Text) -> Bool = |call, a| like(call, text(&a[0]), text(&a[1])).map(Bool);
    "!~~" (Text, Text) -> Bool = |call, a| like(call, text(&a[0]), text(&a[1])).map(|is_like| Bool(!is_like));
    "~~*" (Text, Text) -> Bool = |call, a| like_any_case(call, text(&a[0]), text(&a[1])).map(Bool);
    "!~~*" (Text, Text) -> Bool = |call, a| like_any_case(call, text(&a[0]), text(&a[1])).map(|is_like| Bool(!is_like));
    "~" (Text, Text) -> Bool = |_, a| matches(&a[0], &a[1], "").map(Bool);
    "!~" (Text, Text) -> Bool = |_, a| matches(&a[0], &a[1], "").map(|is_match| Bool(!is_match));
    "~*" (Text, Text) -> Bool = |_, a| matches(&a[0], &a[1], "i").map(Bool);
    "!~*" (Text, Text) -> Bool = |_, a| matches(&a[0], &a[1], "i").map(|is_match| Bool(!is_match));
    "^@" (Text, Text) -> Bool = |_, a| Ok(Bool(text(&a[0]).starts_with(text(&a[1]))));
}

functions! {
    /// Functions of patterns.
    FUNCTIONS:
    "like" (Text, Text) -> Bool = |call, a| like(call, text(&a[0]), text(&a[1])).map(Bool);
    "notlike" (Text, Text) -> Bool = |call, a| like(call, text(&a[0]), text(&a[1])).map(|is_like| Bool(!is_like));
    "like_escape" (Text, Text) -> Text = |_, a| like_escape(text(&a[0]), text(&a[1]));
    "similar_to_escape" (Text) -> Text = |_, a| similar(text(&a[0]), "\\", false);
    "similar_to_escape" (Text, Text) -> Text = |_, a| similar(text(&a[0]), text(&a[1]), false);
    "substring" (Text, Text, Text) -> Text = |_, a| substring(&a[0], &similar(text(&a[1]), text(&a[2]), true)?);
    "substring" (Text, Text) -> Text = |_, a| substring(&a[0], &a[1]);
    "regexp_like" (Text, Text) -> Bool = |_, a| matches(&a[0], &a[1], "").map(Bool);
    "regexp_like" (Text, Text, Text) -> Bool = |_, a| matches(&a[0], &a[1], text(&a[2])).map(Bool);
    "regexp_count" (Text, Text) -> Int4 = |call, a| with_regex(text(&a[1]), "", text(&a[0]), |regex| {
        let (mut pace, mut count) = (Pace::of(call), 0);
        for found in regex.find_iter(text(&a[0])) {
            pace.step(work(text(&a[0]), found.start()))?;
            count += 1;
        }
        Ok(Int(count))
    });
    "regexp_substr" (Text, Text) -> Text = |_, a| with_regex(text(&a[1]), "", text(&a[0]), |regex| {
        Ok(regex.find(text(&a[0])).map_or(Null, |found| Datum::text(found.as_str())))
    });
    "regexp_match" (Text, Text) -> TextArray = |_, a| first_match(&a[0], &a[1], "");
    "regexp_match" (Text, Text, Text) -> TextArray = |_, a| first_match(&a[0], &a[1], text(&a[2]));
    "regexp_replace" (Text, Text, Text) -> Text = |call, a| replace(call, &a[0], &a[1], text(&a[2]), "");
    "regexp_replace" (Text, Text, Text, Text) -> Text = |call, a| replace(call, &a[0], &a[1], text(&a[2]), text(&a[3]));
    "regexp_split_to_array" (Text, Text) -> TextArray = |call, a| split(call, text(&a[0]), text(&a[1]), "").map(array);
    "regexp_split_to_array" (Text, Text, Text) -> TextArray = |call, a| {
        split(call, text(&a[0]), text(&a[1]), text(&a[2])).map(array)
    };
}

/// What a match counts as work: to find it, the text may have been looked through to its end.
fn work(text: &str, start: usize) -> usize {
    const LEAST: usize = 64;
    LEAST + text.len() - start
}

/// Matches a whole text with a pattern of `%` and `_`.
///
/// # Errors
/// 22025: the pattern ends with the escape character.
fn like(call: &Call<'_>, text: &str, pattern: &str) -> Result<bool> {
    like_bytes(call, text.as_bytes(), pattern.as_bytes(), |byte| byte)
}

fn like_any_case(call: &Call<'_>, text: &str, pattern: &str) -> Result<bool> {
    if text.is_ascii() && pattern.is_ascii() {
        return like_bytes(call, text.as_bytes(), pattern.as_bytes(), |byte| byte.to_ascii_lowercase());
    }
    like(call, &in_case(text, lower), &in_case(pattern, lower))
}

/// Returns where the character behind the one at a place starts.
fn next_character(text: &[u8], place: usize) -> usize {
    let is_inside = |byte: &&u8| **byte & 0xc0 == 0x80;
    place + 1 + text[place + 1..].iter().take_while(is_inside).count()
}

/// Matches greedily, and on a mismatch lets the last `%` take one more character: earlier ones need not change.
fn like_bytes(call: &Call<'_>, text: &[u8], pattern: &[u8], fold: impl Fn(u8) -> u8) -> Result<bool> {
    let mut pace = Pace::of(call);
    let (mut at, mut place) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match pattern.get(place).copied() {
            None if at == text.len() => return Ok(true),
            Some(b'%') => {
                place += 1;
                if place == pattern.len() {
                    return Ok(true);
                }
                retry = Some((place, at));
                continue;
            }
            Some(b'_') if at < text.len() => {
                (at, place) = (next_character(text, at), place + 1);
                continue;
            }
            Some(b'\\') if at < text.len() => {
                let Some(escaped) = pattern.get(place + 1) else {
                    let message = "LIKE pattern must not end with escape character";
                    return Err(error(SqlState::InvalidEscapeSequence, message));
                };
                if text.get(at).is_some_and(|byte| fold(*byte) == fold(*escaped)) {
                    (at, place) = (at + 1, place + 2);
                    continue;
                }
            }
            Some(byte)
                if !matches!(byte, b'_' | b'\\') && text.get(at).is_some_and(|other| fold(*other) == fold(byte)) =>
            {
                (at, place) = (at + 1, place + 1);
                continue;
            }
            _ => {}
        }
        match retry {
            Some((start, from)) if from < text.len() => {
                pace.step(at - from + 1)?;
                at = next_character(text, from);
                place = start;
                retry = Some((start, at));
            }
            _ => return Ok(false),
        }
    }
}

/// Returns the one escape character; `None` where there is none.
fn escape_character(escape: &str) -> Result<Option<char>> {
    let mut characters = escape.chars();
    match (characters.next(), characters.next()) {
        (first, None) => Ok(first),
        _ => Err(error(SqlState::InvalidEscapeSequence, "invalid escape string")
            .with_hint("Escape string must be empty or one character.")),
    }
}

/// Rewrites a pattern of `LIKE` with another escape character to one with a backslash.
fn like_escape(pattern: &str, escape: &str) -> Result<Datum> {
    let escape = escape_character(escape)?;
    if escape == Some('\\') {
        return Ok(Datum::text(pattern));
    }
    let mut out = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if Some(character) == escape {
            out.push('\\');
            out.extend(characters.next());
        } else if character == '\\' {
            out.push_str("\\\\");
        } else {
            out.push(character);
        }
    }
    Ok(Datum::text(out))
}

/// Rewrites a pattern of `SIMILAR TO` to a regular expression.
///
/// Where a part of the text is wanted, it is the group: what lies between two escape characters with a quotation mark each. As
/// little as possible lies before it.
fn similar(pattern: &str, escape: &str, wants_part: bool) -> Result<Datum> {
    let escape = escape_character(escape)?;
    let has_part = wants_part && escape.is_some_and(|escape| pattern.contains(&format!("{escape}\"")));
    let mut out = String::from("^(?:");
    let (mut is_class, mut marks) = (false, 0);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            _ if Some(character) == escape => {
                let escaped = characters.next().unwrap_or('\\');
                if has_part && escaped == '"' {
                    out.push_str(match marks {
                        0 => ")(",
                        1 => ")(?:",
                        _ => {
                            let message =
                                "SQL regular expression may not contain more than two escape-double-quote separators";
                            return Err(error(SqlState::InvalidParameterValue, message).with_code("2200C"));
                        }
                    });
                    marks += 1;
                    continue;
                }
                out.push_str(&regex::escape(escaped.encode_utf8(&mut [0; 4])));
            }
            ']' if is_class => {
                is_class = false;
                out.push(']');
            }
            _ if is_class => out.push(character),
            '[' => {
                is_class = true;
                out.push('[');
            }
            '%' if has_part && marks == 0 => out.push_str(".*?"),
            '*' | '+' | '?' | '}' if has_part && marks == 0 => out.extend([character, '?']),
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '.' | '^' | '$' | '\\' => out.extend(['\\', character]),
            _ => out.push(character),
        }
    }
    out.push_str(")$");
    Ok(Datum::text(out))
}

/// How many regular expressions a thread keeps.
const KEPT_EXPRESSIONS: usize = 64;

/// How large the program of an expression may be, in bytes, and how long the text in which it searches: a search cannot be
/// ended, and in the worst case takes as many steps as the product of both.
const SIZES: [(usize, usize); 3] = [(32 << 10, usize::MAX), (256 << 10, 16 << 20), (10 << 20, 1 << 20)];

/// An expression that is compiled, and the longest text in which it searches.
#[derive(Clone)]
struct Compiled {
    regex: Regex,
    text_bytes_max: usize,
}

impl Compiled {
    fn check(&self, text: &str) -> Result<&Regex> {
        if text.len() <= self.text_bytes_max {
            return Ok(&self.regex);
        }
        let message = "regular expression is too complex for a text of this length";
        let detail = format!("It searches in texts of up to {} bytes.", self.text_bytes_max);
        Err(error(SqlState::ProgramLimitExceeded, message).with_detail(detail))
    }
}

thread_local! {
    /// Expressions by their flags and their text.
    static EXPRESSIONS: RefCell<HashMap<String, HashMap<String, Compiled>>> = RefCell::default();
}

/// Calls a function with a compiled regular expression, which searches in a text.
pub(super) fn with_regex<T>(
    pattern: &str,
    flags: &str,
    text: &str,
    call: impl FnOnce(&Regex) -> Result<T>,
) -> Result<T> {
    let kept = EXPRESSIONS.with_borrow(|all| all.get(flags).and_then(|kept| kept.get(pattern)).cloned());
    if let Some(compiled) = kept {
        return call(compiled.check(text)?);
    }
    let compiled = compile(pattern, flags)?;
    EXPRESSIONS.with_borrow_mut(|all| {
        if all.values().map(HashMap::len).sum::<usize>() >= KEPT_EXPRESSIONS {
            all.clear();
        }
        all.entry(flags.to_owned()).or_default().insert(pattern.to_owned(), compiled.clone());
    });
    call(compiled.check(text)?)
}

fn compile(pattern: &str, flags: &str) -> Result<Compiled> {
    let mut is_literal = false;
    let (mut any_case, mut many_lines, mut dot_is_all, mut is_spaced) = (false, false, true, false);
    for flag in flags.chars() {
        match flag {
            'i' => any_case = true,
            'c' => any_case = false,
            'n' | 'm' => (many_lines, dot_is_all) = (true, false),
            'p' => dot_is_all = false,
            'w' => many_lines = true,
            's' => (many_lines, dot_is_all) = (false, true),
            'x' => is_spaced = true,
            'q' => is_literal = true,
            'g' | 'e' | 't' | 'b' => {}
            _ => return Err(invalid(format!("invalid regular expression option: \"{flag}\""))),
        }
    }
    let translated = if is_literal { regex::escape(pattern) } else { translated(pattern) };
    let mut builder = RegexBuilder::new(&translated);
    builder.case_insensitive(any_case).multi_line(many_lines).dot_matches_new_line(dot_is_all);
    builder.ignore_whitespace(is_spaced);
    for (program_bytes_max, text_bytes_max) in SIZES {
        match builder.size_limit(program_bytes_max).build() {
            Ok(regex) => return Ok(Compiled { regex, text_bytes_max }),
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(fault) => {
                let fault = fault.to_string();
                let reason = fault.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                let message = format!("invalid regular expression: {reason}");
                return Err(error(SqlState::InvalidRegularExpression, message));
            }
        }
    }
    Err(error(SqlState::ProgramLimitExceeded, "regular expression is too complex"))
}

/// Rewrites what PostgreSQL writes otherwise: the ends of words and of the text, and brackets within brackets.
fn translated(pattern: &str) -> String {
    let pattern = pattern.strip_prefix("***:").unwrap_or(pattern);
    let mut out = String::with_capacity(pattern.len());
    let mut is_class = false;
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, is_class) {
            ('\\', _) => match (characters.next(), is_class) {
                (Some('m'), false) => out.push_str("\\b{start}"),
                (Some('M'), false) => out.push_str("\\b{end}"),
                (Some('y'), false) => out.push_str("\\b"),
                (Some('Y'), false) => out.push_str("\\B"),
                (Some('Z'), false) => out.push_str("\\z"),
                (next, _) => {
                    out.push('\\');
                    out.extend(next);
                }
            },
            ('[', true) if characters.peek() == Some(&':') => {
                out.push('[');
                for inner in characters.by_ref() {
                    out.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            ('[' | '&' | '~', true) => out.extend(['\\', character]),
            ('[', false) => {
                is_class = true;
                out.push('[');
                if characters.peek() == Some(&'^') {
                    out.extend(characters.next());
                }
                if characters.peek() == Some(&']') {
                    characters.next();
                    out.push_str("\\]");
                }
            }
            (']', true) => {
                is_class = false;
                out.push(']');
            }
            _ => out.push(character),
        }
    }
    out
}

fn matches(value: &Datum, pattern: &Datum, flags: &str) -> Result<bool> {
    with_regex(text(pattern), flags, text(value), |regex| Ok(regex.is_match(text(value))))
}

/// Returns the groups of a match, or all of it where there are no groups.
pub(super) fn groups(found: &Captures<'_>) -> Datum {
    let first = usize::from(found.len() > 1);
    texts(found.iter().skip(first).map(|group| group.map(|group| group.as_str())))
}

/// Returns the groups of so many matches.
///
/// # Errors
/// 54000 where they take too much memory.
pub(super) fn all_groups(call: &Call<'_>, value: &str, pattern: &str, flags: &str, count: usize) -> Result<Vec<Datum>> {
    with_regex(pattern, flags, value, |regex| {
        let (mut pace, mut all, mut pieces, mut bytes) = (Pace::of(call), Vec::new(), 0, 0);
        for found in regex.captures_iter(value).take(count) {
            pace.step(work(value, found.get(0).map_or(0, |all| all.start())))?;
            pieces += found.len() + 1;
            bytes += found.iter().flatten().map(|group| group.len()).sum::<usize>();
            pieces_fit(pieces, bytes)?;
            all.push(groups(&found));
        }
        Ok(all)
    })
}

fn first_match(value: &Datum, pattern: &Datum, flags: &str) -> Result<Datum> {
    if flags.contains('g') {
        return Err(invalid("regexp_match() does not support the \"global\" option")
            .with_hint("Use the regexp_matches function instead."));
    }
    with_regex(text(pattern), flags, text(value), |regex| {
        Ok(regex.captures(text(value)).map_or(Null, |found| groups(&found)))
    })
}

fn substring(value: &Datum, pattern: &Datum) -> Result<Datum> {
    with_regex(text(pattern), "", text(value), |regex| {
        let Some(found) = regex.captures(text(value)) else { return Ok(Null) };
        let group = found.get(usize::from(found.len() > 1));
        Ok(group.map_or(Null, |group| Datum::text(group.as_str())))
    })
}

/// Appends what takes the place of a match: `\1` to `\9` and `\&` mean groups.
fn push_replacement(found: &Captures<'_>, replacement: &str, out: &mut String) -> Result<()> {
    let mut characters = replacement.chars();
    loop {
        let rest = characters.as_str();
        let plain = rest.find('\\').unwrap_or(rest.len());
        fits(out.len() + plain)?;
        out.push_str(&rest[..plain]);
        characters = rest[plain..].chars();
        if characters.next().is_none() {
            return Ok(());
        }
        let group = match characters.next() {
            Some('&') => 0,
            Some(digit @ '1'..='9') => digit as usize - '0' as usize,
            Some('\\') | None => {
                out.push('\\');
                continue;
            }
            Some(other) => {
                out.extend(['\\', other]);
                continue;
            }
        };
        out.push_str(found.get(group).map_or("", |group| group.as_str()));
        fits(out.len())?;
    }
}

fn replace(call: &Call<'_>, value: &Datum, pattern: &Datum, replacement: &str, flags: &str) -> Result<Datum> {
    let whole = text(value);
    let count = if flags.contains('g') { usize::MAX } else { 1 };
    with_regex(text(pattern), flags, whole, |regex| {
        let (mut pace, mut out) = (Pace::of(call), String::with_capacity(whole.len()));
        let mut copied = 0;
        for found in regex.captures_iter(whole).take(count) {
            let all = found.get(0).expect("group 0 is the match");
            out.push_str(&whole[copied..all.start()]);
            push_replacement(&found, replacement, &mut out)?;
            fits(out.len())?;
            pace.step(work(whole, all.start()))?;
            copied = all.end();
        }
        out.push_str(&whole[copied..]);
        fits(out.len())?;
        Ok(Datum::text(out))
    })
}

/// Splits at the matches. An empty match at either end, or behind another match, splits nothing.
pub(super) fn split(call: &Call<'_>, value: &str, pattern: &str, flags: &str) -> Result<Vec<Datum>> {
    if flags.contains('g') {
        return Err(invalid("regexp_split_to_table() does not support the \"global\" option"));
    }
    with_regex(pattern, flags, value, |regex| {
        let (mut pace, mut pieces) = (Pace::of(call), Vec::new());
        let mut start = 0;
        for found in regex.find_iter(value) {
            pace.step(work(value, found.start()))?;
            if found.is_empty() && (found.start() == start || found.end() == value.len()) {
                continue;
            }
            pieces.push(Datum::text(&value[start..found.start()]));
            pieces_fit(pieces.len(), value.len())?;
            start = found.end();
        }
        pieces.push(Datum::text(&value[start..]));
        Ok(pieces)
    })
}
