//! Takes values out of the text of a statement, so that it can be shown to whoever runs the server: literals may be what only
//! clients may know.
//!
//! Invariant: what is not understood is left out, and not shown: a literal that does not end takes all the rest.

/// What stands for a value.
const VALUE: char = '?';

/// Returns `text` with `?` for each literal, without comments, each gap a space, and no longer than `chars_max`.
pub fn scrubbed(text: &str, chars_max: usize) -> String {
    let mut scrubber = Scrubber { rest: text, shown: String::with_capacity(text.len().min(4 * chars_max)) };
    let mut is_cut = false;
    while let Some(first) = scrubber.rest.chars().next() {
        scrubber.step(first);
        if scrubber.shown.chars().count() > chars_max {
            is_cut = true;
            break;
        }
    }
    let mut shown: String = scrubber.shown.trim_end().chars().take(chars_max).collect();
    if is_cut {
        shown.push('…');
    }
    shown
}

struct Scrubber<'t> {
    rest: &'t str,
    shown: String,
}

impl Scrubber<'_> {
    fn step(&mut self, first: char) {
        match first {
            first if first.is_whitespace() => {
                self.rest = self.rest.trim_start();
                self.space();
            }
            '\'' => self.quoted(false),
            '"' => {
                let end = end_of_quoted(&self.rest[1..], '"', false) + 1;
                self.show(end);
            }
            '$' => self.dollar(),
            '-' if self.rest.starts_with("--") => {
                self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
                self.space();
            }
            '/' if self.rest.starts_with("/*") => {
                self.skip(end_of_comment(self.rest));
                self.space();
            }
            '-' if self.is_sign() => self.skip(1),
            first if first.is_ascii_digit() => self.number(),
            first if first.is_alphabetic() || first == '_' => self.word(),
            first => self.show(first.len_utf8()),
        }
    }

    /// Whether a minus belongs to the number behind it: it would tell what was negative.
    fn is_sign(&self) -> bool {
        let before = self.shown.trim_end().chars().next_back();
        let is_operand = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '"' | ')' | ']' | VALUE));
        self.rest[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.') && !is_operand
    }

    /// A blank, where there is none yet.
    fn space(&mut self) {
        if !self.shown.is_empty() && !self.shown.ends_with(' ') {
            self.shown.push(' ');
        }
    }

    fn show(&mut self, bytes: usize) {
        let bytes = bytes.min(self.rest.len());
        self.shown.push_str(&self.rest[..bytes]);
        self.skip(bytes);
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes.min(self.rest.len())..];
    }

    /// A literal in quotes.
    fn quoted(&mut self, has_escapes: bool) {
        let end = end_of_quoted(&self.rest[1..], '\'', has_escapes) + 1;
        self.skip(end);
        self.shown.push(VALUE);
    }

    /// A parameter, or a literal in dollars.
    fn dollar(&mut self) {
        let tag = self.rest[1..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(self.rest.len(), |at| at + 1);
        if !self.rest[tag..].starts_with('$') {
            self.show(tag);
            return;
        }
        let (quote, body) = self.rest.split_at(tag + 1);
        let end = body.find(quote).map_or(body.len(), |at| at + quote.len());
        self.rest = &body[end..];
        self.shown.push(VALUE);
    }

    fn number(&mut self) {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '.' && c != '_').unwrap_or(self.rest.len());
        let is_exponent = self.rest[..end].ends_with(['e', 'E']) && self.rest[end..].starts_with(['+', '-']);
        self.skip(end + usize::from(is_exponent));
        if is_exponent {
            self.skip(self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len()));
        }
        self.shown.push(VALUE);
    }

    /// A word; with a quote behind it, it says how the literal is written.
    fn word(&mut self) {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        if self.rest[end..].starts_with('\'') && ["e", "b", "x", "n"].contains(&word.to_ascii_lowercase().as_str()) {
            let has_escapes = word.eq_ignore_ascii_case("e");
            self.skip(end);
            self.quoted(has_escapes);
            return;
        }
        self.show(end);
    }
}

/// Where a text in quotes ends, behind the last quote, when it begins behind the first one.
fn end_of_quoted(text: &str, quote: char, has_escapes: bool) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if has_escapes && c == '\\' {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return at + 1;
        }
    }
    text.len()
}

/// Where a comment ends, which may hold others.
fn end_of_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::scrubbed;

    #[test]
    fn no_value_is_shown() {
        for (text, shown) in [
            ("SELECT 1", "SELECT ?"),
            ("SELECT a-1, (-2), b + -3, 4 - 5, f(x) -6", "SELECT a-?, (?), b + ?, ? - ?, f(x) -?"),
            (
                "select  a1,\n\t\"B 2\" from t where x='it''s' and y = -3.5e-7 and z=$1",
                r#"select a1, "B 2" from t where x=? and y = ? and z=$1"#,
            ),
            (r"SELECT E'a\'b' || X'ff', $$ secret $$, $q$ a $$ b $q$ ;", "SELECT ? || ?, ?, ? ;"),
            ("SELECT 'no end", "SELECT ?"),
            ("SELECT /* a /* b */ 'c */ 1 -- 'secret\n, 2", "SELECT ? , ?"),
            ("SELECT $tag$ no end", "SELECT ?"),
            ("SELECT date '2020-01-01', émile, 0xff, 1e10", "SELECT date ?, émile, ?, ?"),
            ("$", "$"),
            ("", ""),
        ] {
            assert_eq!(scrubbed(text, 1000), shown, "{text}");
        }
    }

    #[test]
    fn a_long_text_is_cut() {
        let long = "SELECT a, ".repeat(1000);
        assert_eq!(scrubbed(&long, 10), "SELECT a, …");
        assert_eq!(scrubbed(&"ä".repeat(50), 10), format!("{}…", "ä".repeat(10)));
    }
}
