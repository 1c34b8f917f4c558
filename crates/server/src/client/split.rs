//! Where statements end in a text that comes by lines.
//!
//! Invariant: as PostgreSQL's scanner sees it: a semicolon within quotes, dollar quotes, comments or parentheses ends nothing.

/// What the text is in the middle of.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Within {
    /// Nothing that hides semicolons.
    Plain,
    /// A literal in quotes; with backslashes.
    Literal(bool),
    /// A name in quotes.
    Name,
    /// A literal in dollars, with its tag.
    Dollars(String),
    /// Comments, so many within each other.
    Comment(usize),
}

/// Statements that are not whole yet.
#[derive(Debug)]
pub struct Splitter {
    text: String,
    within: Within,
    parentheses: usize,
    /// Whether there is more than blanks and comments.
    has_words: bool,
}

impl Default for Splitter {
    fn default() -> Splitter {
        Splitter { text: String::new(), within: Within::Plain, parentheses: 0, has_words: false }
    }
}

impl Splitter {
    /// Takes a line, with its end, up to the end of the first statement in it. Returns that statement, and what is left of the
    /// line; `None` where no statement ends in it.
    pub fn take<'l>(&mut self, line: &'l str) -> Option<(String, &'l str)> {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let (bytes, ends) = self.step(rest, first);
            self.text.push_str(&rest[..bytes]);
            rest = &rest[bytes..];
            if ends {
                let has_words = std::mem::take(&mut self.has_words);
                let text = std::mem::take(&mut self.text);
                if has_words {
                    return Some((text, rest));
                }
            }
        }
        None
    }

    /// How many bytes belong together, and whether a statement ends with them.
    fn step(&mut self, rest: &str, first: char) -> (usize, bool) {
        let plain = |bytes: usize| (bytes, false);
        match &self.within {
            Within::Plain => return self.step_plain(rest, first),
            Within::Literal(true) if first == '\\' => {
                return plain(1 + rest[1..].chars().next().map_or(0, char::len_utf8));
            }
            Within::Literal(_) if first == '\'' => self.within = Within::Plain,
            Within::Name if first == '"' => self.within = Within::Plain,
            Within::Dollars(tag) if rest.starts_with(&**tag) => {
                let bytes = tag.len();
                self.within = Within::Plain;
                return plain(bytes);
            }
            Within::Comment(depth) if rest.starts_with("*/") => {
                self.within = if *depth > 1 { Within::Comment(depth - 1) } else { Within::Plain };
                return plain(2);
            }
            Within::Comment(depth) if rest.starts_with("/*") => {
                self.within = Within::Comment(depth + 1);
                return plain(2);
            }
            _ => {}
        }
        plain(first.len_utf8())
    }

    fn step_plain(&mut self, rest: &str, first: char) -> (usize, bool) {
        let is_blank = first.is_whitespace();
        match first {
            '-' if rest.starts_with("--") => return (rest.find('\n').unwrap_or(rest.len()), false),
            '/' if rest.starts_with("/*") => {
                self.within = Within::Comment(1);
                return (2, false);
            }
            ';' if self.parentheses == 0 => return (1, true),
            '(' => self.parentheses += 1,
            ')' => self.parentheses = self.parentheses.saturating_sub(1),
            '\'' => self.within = Within::Literal(self.has_escapes()),
            '"' => self.within = Within::Name,
            '$' if !self.is_in_word() => {
                let end = rest[1..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(rest.len(), |at| at + 1);
                let is_tag = rest[end..].starts_with('$') && !rest[1..].starts_with(|c: char| c.is_ascii_digit());
                if is_tag {
                    self.has_words = true;
                    self.within = Within::Dollars(rest[..=end].to_owned());
                    return (end + 1, false);
                }
            }
            _ => {}
        }
        self.has_words |= !is_blank;
        (first.len_utf8(), false)
    }

    /// Whether what comes next is a part of the word before it.
    fn is_in_word(&self) -> bool {
        self.text.chars().next_back().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
    }

    /// Whether the quote that comes next begins a literal with backslashes: `E'...'`.
    fn has_escapes(&self) -> bool {
        let mut before = self.text.chars().rev();
        let is_marked = before.next().is_some_and(|c| matches!(c, 'e' | 'E'));
        is_marked && !before.next().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
    }

    /// Whether a statement has begun.
    pub fn has_begun(&self) -> bool {
        self.has_words || self.within != Within::Plain
    }

    /// Returns what a prompt shows for what the text is in the middle of.
    pub fn prompt(&self) -> char {
        match &self.within {
            Within::Plain if self.parentheses > 0 => '(',
            Within::Plain if self.has_words => '-',
            Within::Plain => '=',
            Within::Literal(_) => '\'',
            Within::Name => '"',
            Within::Dollars(_) => '$',
            Within::Comment(_) => '*',
        }
    }

    /// Returns what is left at the end, and begins anew; `None` where that is nothing.
    pub fn rest(&mut self) -> Option<String> {
        let left = std::mem::take(self);
        left.has_begun().then_some(left.text)
    }
}

#[cfg(test)]
mod tests {
    use super::Splitter;

    fn split(text: &str) -> Vec<String> {
        let mut splitter = Splitter::default();
        let mut statements = Vec::new();
        for line in text.split_inclusive('\n') {
            let mut line = line;
            while let Some((statement, rest)) = splitter.take(line) {
                statements.push(statement.trim().to_owned());
                line = rest;
            }
        }
        statements.extend(splitter.rest().map(|rest| rest.trim().to_owned()));
        statements
    }

    #[test]
    fn semicolons_that_are_hidden_end_nothing() {
        for text in [
            "SELECT ';' ;",
            "SELECT 'it'';' ;",
            r"SELECT E'\';' ;",
            "SELECT \"a;\"\"b\" ;",
            "SELECT $$;$$, $a$ ; $$ ; $a$ ;",
            "SELECT 1 -- ;\n+ 2 ;",
            "SELECT /* ; /* ; */ ; */ 1 ;",
            "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2) ;",
            "SELECT a$1;",
            r"SELECT '\';",
        ] {
            assert_eq!(split(text), [text]);
        }
    }

    #[test]
    fn statements_end_at_semicolons() {
        assert_eq!(
            split("SELECT 1; SELECT 2;\n;;-- nothing\nSELECT 3"),
            ["SELECT 1;", "SELECT 2;", "-- nothing\nSELECT 3"]
        );
        assert_eq!(split("-- nothing at all\n ; "), Vec::<String>::new());
        assert_eq!(split("SELECT 'no end;"), ["SELECT 'no end;"]);
    }
}
