//! Forms of PostgreSQL that the parser does not read, in words that it does.
//!
//! - `ONLY` of a table means the table: none has others below it. `UNLOGGED` tables are logged as all others are.
//! - A right side of a join that is a join itself gets parentheses: `a JOIN b JOIN c ON .. ON ..`.
//! - `VALUES` within `ANY`, `ALL` or a comparison becomes a query. A list of `SELECT` that is empty gets a row without columns.
//! - `LIKE ANY` is the operator of `LIKE` with `ANY`.
//! - `FOR UPDATE` before `LIMIT` goes behind it.
//! - `interval(1) 'text'` becomes a cast.
//! - The alias of `USING (names) AS alias` is one of the names, with a sign before it. `(t.*)` in a list is `t.*`, unless an
//!   operator follows: then `t.*` is `(t.*)`.
//! - An expression of `ROLLUP` and its like that begins with a parenthesis gets another one.
//! - `type ARRAY` and `type ARRAY[4]` are `type[]`.
//! - `DROP INDEX CONCURRENTLY` is `DROP INDEX`.
//! - The names of columns in `CREATE TABLE t (names) AS` go to the query, `WITH NO DATA` is `LIMIT 0`, and `(t).*` is `t.*`.
//!
//! Invariants:
//! - What is written is valid in PostgreSQL too, but for that alias and `ROWS FROM`: views keep their queries so.
//! - The time is linear in the number of tokens.

use sqlparser::ast::ObjectName;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::is_plain;
use super::quote::is_reserved;
use super::solid::{Edits, Solid, apply};

/// What stands before the alias of `USING` among the names of columns.
const USING_ALIAS: char = '\u{2}';

/// The names of columns in `USING`, and the alias behind them.
pub(crate) fn split_alias(names: &[ObjectName]) -> (&[ObjectName], Option<String>) {
    let alias = |name: &ObjectName| Some(name.0.last()?.as_ident()?.value.strip_prefix(USING_ALIAS)?.to_owned());
    match names.split_last().and_then(|(last, names)| Some((names, alias(last)?))) {
        Some((names, alias)) => (names, Some(alias)),
        None => (names, None),
    }
}

/// Words that tell that there may be something to write.
const WORDS: &[&str] = &[
    "only",
    "join",
    "values",
    "any",
    "all",
    "some",
    "trim",
    "substring",
    "using",
    "create",
    "rows",
    "asymmetric",
    "for",
    "interval",
    "concurrently",
    "array",
    "rollup",
    "cube",
    "sets",
];

/// Words behind which no more of a join follows.
const ENDS_OF_FROM: &[&str] = &[
    "where",
    "group",
    "order",
    "having",
    "window",
    "limit",
    "offset",
    "fetch",
    "for",
    "union",
    "intersect",
    "except",
    "returning",
    "set",
    "from",
    "select",
];

/// Words that stand behind a list of `SELECT` that is empty.
const ENDS_OF_LIST: &[&str] = &["where", "union", "intersect", "except", "limit"];

/// A join whose condition is to come.
struct Pending {
    /// Where its right side begins.
    right: usize,
    /// Whether that is a join.
    is_join: bool,
}

/// Whether there may be something to write.
fn is_possible(tokens: &[TokenWithSpan]) -> bool {
    let is_select = |token: &Token| matches!(token, Token::Word(word) if is_plain(word, "select"));
    let mut last = &Token::SemiColon;
    for token in tokens.iter().map(|token| &token.token).filter(|token| !matches!(token, Token::Whitespace(_))) {
        let is_found = match token {
            Token::Word(word) => {
                WORDS.iter().any(|it| is_plain(word, it))
                    || is_select(last) && ENDS_OF_LIST.iter().any(|it| is_plain(word, it))
            }
            Token::Period => *last == Token::RParen,
            Token::Mul => *last == Token::Period,
            Token::RParen | Token::SemiColon => is_select(last),
            _ => false,
        };
        if is_found {
            return true;
        }
        last = token;
    }
    is_select(last)
}

/// Rewrites the statements of a text.
pub(super) fn adapt(tokens: &mut Vec<TokenWithSpan>) {
    if !is_possible(tokens) {
        return;
    }
    let solid = Solid::new(tokens);
    let (mut edits, mut locks_end) = (Edits::default(), 0);
    for place in 0..solid.places.len() {
        solid.edit(place, &mut locks_end, &mut edits);
    }
    solid.nest_joins(&mut edits);
    solid.tables_of_queries(&mut edits);
    if !edits.gone.is_empty() || !edits.before.is_empty() {
        apply(tokens, edits);
    }
}

/// `SELECT * FROM (`.
fn query_of() -> Vec<Token> {
    vec![Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM"), Token::LParen]
}

/// `) AS "name"`.
fn named(name: &str) -> Vec<Token> {
    vec![Token::RParen, Token::make_keyword("AS"), Token::make_word(name, Some('"'))]
}

impl Solid<'_> {
    /// Writes what begins at a place. Up to `locks_end` every `FOR UPDATE` was looked at.
    fn edit(&self, place: usize, locks_end: &mut usize, edits: &mut Edits) {
        let Token::Word(word) = self.token(place) else {
            match self.token(place) {
                Token::LParen => {
                    self.open_row(place, edits);
                    self.open_values(place, edits);
                }
                Token::Mul => self.open_star(place, edits),
                _ => {}
            }
            return;
        };
        if word.quote_style.is_some() {
            return;
        }
        let begins = |text: &str| word.value.eq_ignore_ascii_case(text);
        if begins("only") && self.is_before(place, &["from", "update", "join", "using"]) {
            self.open_only(place, edits);
        } else if begins("unlogged") && self.is_before(place, &["create"]) && self.is(place + 1, &["table"])
            || begins("asymmetric") && self.is_before(place, &["between"])
        {
            edits.gone.push(self.at(place));
        } else if begins("concurrently") && self.is_before(place, &["index"]) && self.is_drop(place - 1) {
            // An index goes with its transaction, and nobody waits longer for that.
            edits.gone.push(self.at(place));
        } else if begins("trim") && *self.token(place + 1) == Token::LParen {
            let from = place + 2 + usize::from(self.is(place + 2, &["both", "leading", "trailing"]));
            edits.gone.extend(self.is(from, &["from"]).then(|| self.at(from)));
        } else if begins("substring") && *self.token(place + 1) == Token::LParen {
            self.open_substring(place + 1, edits);
        } else if begins("rollup") || begins("cube") || begins("sets") && self.is_before(place, &["grouping"]) {
            self.open_groups(place + 1, edits);
        } else if begins("using") {
            let direction = match self.token(place + 1) {
                Token::Lt => "ASC",
                Token::Gt => "DESC",
                Token::LParen => return self.open_using(place + 1, edits),
                _ => return,
            };
            edits.gone.extend([self.at(place), self.at(place + 1)]);
            edits.before.push((self.at(place), vec![Token::make_keyword(direction)]));
        } else if begins("array") && self.ends_type(place) {
            self.open_array(place, edits);
        } else if begins("interval") {
            self.open_interval(place, edits);
        } else if begins("for") && place >= *locks_end {
            *locks_end = self.open_lock(place, edits);
        } else if begins("select") {
            self.open_list(place, edits);
        } else if begins("like") || begins("ilike") {
            self.open_like(place, begins("ilike"), edits);
        } else if begins("rows") && self.is(place + 1, &["from"]) && *self.token(place + 2) == Token::LParen {
            edits.gone.extend([self.at(place), self.at(place + 1)]);
            edits.before.push((self.at(place), vec![Token::make_word(super::ROWS_FROM, Some('"'))]));
        }
    }

    /// Whether the word before a place is the `DROP` that a statement begins with.
    fn is_drop(&self, place: usize) -> bool {
        let is_first = |place: usize| place == 0 || *self.token(place - 1) == Token::SemiColon;
        self.is_before(place, &["drop"]) && is_first(place - 1)
    }

    /// `USING (names) AS alias`.
    fn open_using(&self, open: usize, edits: &mut Edits) {
        let close = self.closes[open];
        let has_alias = self.is(close + 1, &["as"]) && self.are_names(open, close);
        if let (true, Token::Word(alias)) = (has_alias, self.token(close + 2)) {
            let name = if alias.quote_style.is_some() { alias.value.clone() } else { alias.value.to_lowercase() };
            let carried = Token::make_word(&format!("{USING_ALIAS}{name}"), Some('"'));
            edits.before.push((self.at(close), vec![Token::Comma, carried]));
            edits.gone.extend([self.at(close + 1), self.at(close + 2)]);
        }
    }

    /// `ONLY t` and `ONLY (t)`.
    fn open_only(&self, place: usize, edits: &mut Edits) {
        match self.token(place + 1) {
            Token::Word(_) => edits.gone.push(self.at(place)),
            Token::LParen if matches!(self.token(place + 2), Token::Word(_)) => {
                let close = self.closes[place + 1];
                edits.gone.extend([place, place + 1, close].map(|place| self.at(place)));
            }
            _ => {}
        }
    }

    /// `(t).*` in a list.
    fn open_row(&self, place: usize, edits: &mut Edits) {
        let is_row = matches!(self.token(place + 1), Token::Word(_))
            && self.closes[place] == place + 2
            && *self.token(place + 3) == Token::Period
            && *self.token(place + 4) == Token::Mul;
        if is_row && self.begins_entry(place) {
            edits.gone.extend([self.at(place), self.at(place + 2)]);
        }
        // `(t.*)` is `t.*`.
        let is_star = matches!(self.token(place + 1), Token::Word(_))
            && *self.token(place + 2) == Token::Period
            && *self.token(place + 3) == Token::Mul
            && self.closes[place] == place + 4;
        if is_star && self.begins_entry(place) && !self.is_operand(place + 5) && *self.token(place + 5) != Token::Period
        {
            edits.gone.extend([self.at(place), self.at(place + 4)]);
        }
    }

    /// Whether an entry of a list begins at a place.
    fn begins_entry(&self, place: usize) -> bool {
        self.is_before(place, &["select", "distinct", "all", "returning"])
            || place.checked_sub(1).is_some_and(|before| *self.token(before) == Token::Comma)
    }

    /// Whether an operator stands at a place, so that a row is before it and not the columns of an entry.
    fn is_operand(&self, place: usize) -> bool {
        let sign = matches!(
            self.token(place),
            Token::Eq | Token::Neq | Token::Lt | Token::LtEq | Token::Gt | Token::GtEq | Token::DoubleColon
        );
        sign || self.is(place, &["is", "isnull", "notnull", "in", "not"])
    }

    /// `t.*` before an operator, where it would be the columns of an entry, is `(t.*)`.
    fn open_star(&self, place: usize, edits: &mut Edits) {
        let mut first = place;
        while first >= 2 && *self.token(first - 1) == Token::Period && matches!(self.token(first - 2), Token::Word(_)) {
            first -= 2;
        }
        if first < place && self.is_operand(place + 1) && self.begins_entry(first) {
            edits.before.push((self.at(first), vec![Token::LParen]));
            edits.before.push((self.at(place + 1), vec![Token::RParen]));
        }
    }

    /// `VALUES` in parentheses, behind a word or a sign that takes a value or a column of them.
    fn open_values(&self, place: usize, edits: &mut Edits) {
        let Some(before) = place.checked_sub(1).filter(|_| self.is(place + 1, &["values"])) else { return };
        let is_set = self.is(before, &["all"]) && self.is_before(before, &["union", "intersect", "except"]);
        let takes = self.is(before, &["any", "some", "all", "select"])
            || matches!(self.token(before), Token::Eq | Token::Neq | Token::Lt | Token::LtEq | Token::Gt | Token::GtEq);
        if takes && !is_set {
            edits.before.push((self.at(place + 1), query_of()));
            edits.before.push((self.at(self.closes[place]), named("*VALUES*")));
        }
    }

    /// `substring(text SIMILAR pattern ESCAPE character)` is the call with three arguments.
    fn open_substring(&self, open: usize, edits: &mut Edits) {
        let mut place = open + 1;
        let mut is_similar = false;
        while place < self.closes[open] {
            let is_next = self.is(place, &[if is_similar { "escape" } else { "similar" }]);
            if is_next && !self.is(place + 1, &["to"]) {
                is_similar = true;
                edits.gone.push(self.at(place));
                edits.before.push((self.at(place), vec![Token::Comma]));
            }
            place = if *self.token(place) == Token::LParen { self.closes[place] } else { place } + 1;
        }
    }

    /// `ROLLUP((a)::text, b)`: what begins with a parenthesis is a list of expressions to the parser, so it gets another one.
    fn open_groups(&self, open: usize, edits: &mut Edits) {
        let mut start = open + 1;
        while *self.token(open) == Token::LParen && start < self.closes[open] {
            let mut end = start;
            while end < self.closes[open] && *self.token(end) != Token::Comma {
                end = if *self.token(end) == Token::LParen { self.closes[end] } else { end } + 1;
            }
            if *self.token(start) == Token::LParen && self.closes[start] + 1 < end {
                edits.before.push((self.at(start), vec![Token::LParen]));
                edits.before.push((self.at(end), vec![Token::RParen]));
            }
            start = end + 1;
        }
    }

    /// `interval(1) 'text'`, of which the parser forgets the number, is `CAST('text' AS interval(1))`.
    fn open_interval(&self, place: usize, edits: &mut Edits) {
        let has_digits = *self.token(place + 1) == Token::LParen
            && matches!(self.token(place + 2), Token::Number(..))
            && *self.token(place + 3) == Token::RParen;
        if let (true, text @ (Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_))) =
            (has_digits, self.token(place + 4))
        {
            let cast = [Token::make_keyword("CAST"), Token::LParen, text.clone(), Token::make_keyword("AS")];
            edits.before.push((self.at(place), cast.to_vec()));
            edits.gone.push(self.at(place + 4));
            edits.before.push((self.at(place + 5), vec![Token::RParen]));
        }
    }

    /// Whether the name of a type may end before a place, and not a clause that goes on with an expression.
    fn ends_type(&self, place: usize) -> bool {
        let is_name = |place: Option<usize>| match place.map(|place| self.token(place)) {
            Some(Token::Word(word)) if word.quote_style.is_none() => {
                let word = word.value.to_lowercase();
                !is_reserved(&word) && !["by", "between", "value", "escape", "operator"].contains(&word.as_str())
            }
            Some(Token::Word(_)) => true,
            _ => false,
        };
        // `numeric(10,2)`.
        let opens = |back: usize| place.checked_sub(back).filter(|place| *self.token(*place) == Token::LParen);
        match place.checked_sub(1).map(|before| self.token(before)) {
            Some(Token::RParen) => {
                let name = opens(3).or_else(|| opens(5)).and_then(|open| open.checked_sub(1));
                name.is_some() && matches!(self.token(place - 2), Token::Number(..)) && is_name(name)
            }
            _ => is_name(place.checked_sub(1)),
        }
    }

    /// `type ARRAY`.
    fn open_array(&self, place: usize, edits: &mut Edits) {
        edits.before.push((self.at(place), vec![Token::LBracket, Token::RBracket]));
        edits.gone.push(self.at(place));
        let has_length = *self.token(place + 1) == Token::LBracket
            && matches!(self.token(place + 2), Token::Number(..))
            && *self.token(place + 3) == Token::RBracket;
        if has_length {
            edits.gone.extend((place + 1..=place + 3).map(|place| self.at(place)));
        }
    }

    /// `FOR UPDATE` before `LIMIT`: the limit comes first. Returns the place behind what was looked at.
    fn open_lock(&self, place: usize, edits: &mut Edits) -> usize {
        let mut end = place;
        while self.is(end, &["for"]) && self.is(end + 1, &["update", "share"]) {
            end = self.end_of_lock(end + 2);
        }
        if end == place || !self.is(end, &["limit", "offset", "fetch"]) {
            return end;
        }
        let mut behind = end;
        while !matches!(self.token(behind), Token::RParen | Token::SemiColon | Token::EOF) {
            behind = if *self.token(behind) == Token::LParen { self.closes[behind] } else { behind } + 1;
        }
        edits.gone.extend((place..end).map(|place| self.at(place)));
        edits.before.push((self.at(behind), (place..end).map(|place| self.token(place).clone()).collect()));
        behind
    }

    /// Where `OF names`, `NOWAIT` and `SKIP LOCKED` end.
    fn end_of_lock(&self, mut place: usize) -> usize {
        if self.is(place, &["of"]) {
            place += 2;
            while matches!(self.token(place), Token::Comma | Token::Period) {
                place += 2;
            }
        }
        match () {
            () if self.is(place, &["nowait"]) => place + 1,
            () if self.is(place, &["skip"]) && self.is(place + 1, &["locked"]) => place + 2,
            () => place,
        }
    }

    /// A list of `SELECT` that is empty, and no `FROM` behind it.
    fn open_list(&self, place: usize, edits: &mut Edits) {
        let ends = matches!(self.token(place + 1), Token::EOF | Token::SemiColon | Token::RParen)
            || self.is(place + 1, ENDS_OF_LIST);
        if ends {
            let mut row = vec![Token::make_keyword("FROM"), Token::LParen];
            row.extend([Token::make_keyword("VALUES"), Token::LParen, Token::Number("1".to_owned(), false)]);
            row.push(Token::RParen);
            row.extend(named("*SELECT*"));
            edits.before.push((self.at(place + 1), row));
        }
    }

    /// `[NOT] LIKE ANY (...)`.
    fn open_like(&self, place: usize, ignores_case: bool, edits: &mut Edits) {
        if !self.is(place + 1, &["any", "some", "all"]) || *self.token(place + 2) != Token::LParen {
            return;
        }
        let is_negated = self.is_before(place, &["not"]);
        let operator = match (ignores_case, is_negated) {
            (false, false) => Token::DoubleTilde,
            (false, true) => Token::ExclamationMarkDoubleTilde,
            (true, false) => Token::DoubleTildeAsterisk,
            (true, true) => Token::ExclamationMarkDoubleTildeAsterisk,
        };
        edits.gone.extend(is_negated.then(|| self.at(place - 1)));
        edits.gone.push(self.at(place));
        edits.before.push((self.at(place), vec![operator]));
    }

    /// Puts parentheses around joins that are right sides of joins.
    fn nest_joins(&self, edits: &mut Edits) {
        let mut levels: Vec<Vec<Pending>> = vec![Vec::new()];
        for place in 0..self.places.len() {
            let depth = levels.len();
            let pending = levels.last_mut().expect("the outermost one is never closed");
            match self.token(place) {
                Token::LParen => levels.push(Vec::new()),
                Token::RParen if depth > 1 => drop(levels.pop()),
                Token::RParen | Token::Comma | Token::SemiColon => pending.clear(),
                Token::Word(_) if self.is(place, ENDS_OF_FROM) => pending.clear(),
                Token::Word(_) if self.is(place, &["join"]) => {
                    if let Some(outer) = pending.last_mut() {
                        outer.is_join = true;
                    }
                    if self.takes_condition(place) {
                        pending.push(Pending { right: place + 1, is_join: false });
                    }
                }
                Token::Word(_) if self.is(place, &["on", "using"]) => {
                    if let Some(Pending { right, is_join: true }) = pending.pop() {
                        edits.before.push((self.at(right), vec![Token::LParen]));
                        edits.before.push((self.at(place), vec![Token::RParen]));
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether a join has a condition.
    fn takes_condition(&self, join: usize) -> bool {
        let kind = ["inner", "left", "right", "full", "outer"];
        let mut first = join;
        while self.is_before(first, &kind) {
            first -= 1;
        }
        !self.is_before(first, &["cross", "natural"])
    }

    /// All `CREATE TABLE ... AS`.
    fn tables_of_queries(&self, edits: &mut Edits) {
        let mut start = 0;
        for end in 0..=self.places.len() {
            if end < self.places.len() && *self.token(end) != Token::SemiColon {
                continue;
            }
            let kind = start + 1 + usize::from(self.is(start + 1, &["local", "global"]));
            let table = kind + usize::from(self.is(kind, &["unlogged", "temp", "temporary"]));
            if self.is(start, &["create"]) && self.is(table, &["table"]) {
                self.table_of_query(table, end, edits);
            }
            start = end + 1;
        }
    }

    /// `t (names) [ON COMMIT ...] AS query WITH [NO] DATA`.
    fn table_of_query(&self, start: usize, end: usize, edits: &mut Edits) {
        let (mut query, mut parentheses) = (start, None);
        while query < end && !self.is(query, &["as"]) {
            if *self.token(query) == Token::LParen {
                parentheses = Some((query, self.closes[query]));
                query = self.closes[query];
            }
            query += 1;
        }
        if query >= end {
            return;
        }
        let is_last = |close: usize| close + 1 == query || self.is(close + 1, &["on"]);
        let names = parentheses.filter(|(open, close)| is_last(*close) && self.are_names(*open, *close));
        let has_data = end >= query + 3 && self.is(end - 1, &["data"]);
        let is_empty = has_data && self.is(end - 2, &["no"]);
        let with = if has_data { end - 2 - usize::from(is_empty) } else { end };
        if has_data && !self.is(with, &["with"]) {
            return;
        }
        edits.gone.extend((with..end).map(|place| self.at(place)));
        if names.is_none() && !is_empty {
            return;
        }

        edits.before.push((self.at(query + 1), query_of()));
        let mut behind = named("*SELECT*");
        if let Some((open, close)) = names {
            edits.gone.extend((open..=close).map(|place| self.at(place)));
            behind.extend((open..=close).map(|place| self.token(place).clone()));
        }
        if is_empty {
            behind.extend([Token::make_keyword("LIMIT"), Token::Number("0".to_owned(), false)]);
        }
        edits.before.push((self.at(with), behind));
    }

    /// Whether names and commas alone stand between two parentheses.
    fn are_names(&self, open: usize, close: usize) -> bool {
        (open + 1..close).all(|place| match self.token(place) {
            Token::Word(_) => !(place - open).is_multiple_of(2),
            Token::Comma => (place - open).is_multiple_of(2),
            _ => false,
        })
    }
}
