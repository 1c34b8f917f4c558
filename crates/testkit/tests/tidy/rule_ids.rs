//! Rules have ids, a letter and a number (the `L` and a number of docs/log-format.md, say). Each id is defined once, in the file
//! that the table of docs/protocols.md gives for its letter, and every id in a comment or a document is defined.
//!
//! Absent: whether code keeps the rules.

use std::collections::{BTreeMap, BTreeSet};

use crate::links::prose;
use crate::{Finding, Report, files, read, top_documents};

/// The document with the table of letters.
const TABLE: &str = "docs/protocols.md";

/// Where rules may be defined: all readers of a rule can be expected to find it there.
const PLACES: &[&str] = &["docs/", "crates/memory/src/"];

/// Code whose strings name rules, besides its comments.
const NAMING: &str = "crates/testkit/src/simulation/mutations.rs";

/// Letters of words that are no rules: transactions of an example (T1), and Adya's anomalies (G2).
const NO_RULES: &[char] = &['G', 'T'];

/// A file, and the lines of it that may define and name rules.
struct Text<'t> {
    path: &'t str,
    lines: Vec<(usize, &'t str)>,
}

impl<'t> Text<'t> {
    fn new(path: &'t str, content: &'t str) -> Text<'t> {
        let is_code = path.ends_with(".rs") && path != NAMING;
        let lines = if path.ends_with(".md") {
            prose(content).collect()
        } else if is_code {
            let comments =
                content.lines().enumerate().filter_map(|(index, line)| Some((index, line.split_once("//")?.1)));
            comments.map(|(index, comment)| (index + 1, comment.trim_start_matches(['/', '!', ' ']))).collect()
        } else {
            content.lines().enumerate().map(|(index, line)| (index + 1, line)).collect()
        };
        Text { path, lines }
    }

    /// The rules that are defined here: `- **L2** A batch is ...`.
    fn definitions(&self) -> impl Iterator<Item = (usize, &'t str)> {
        self.lines.iter().filter_map(|(number, line)| {
            let (id, _) = line.strip_prefix("- **")?.split_once("**")?;
            is_id(id).then_some((*number, id))
        })
    }

    /// The rules that are named here.
    fn names(&self) -> impl Iterator<Item = (usize, &'t str)> {
        self.lines.iter().flat_map(|(number, line)| {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.filter(|word| is_id(word)).map(move |word| (*number, word))
        })
    }

    /// The rows of the table of letters: the letter, and the file that defines its rules.
    fn table(&self) -> BTreeMap<char, (usize, &'t str)> {
        let row = |(number, line): &(usize, &'t str)| {
            let (letter, rest) = line.strip_prefix("| `")?.split_once("` |")?;
            let letter = letter.parse().ok().filter(char::is_ascii_uppercase)?;
            let (_, link) = rest.rsplit_once("[`")?;
            Some((letter, (*number, link.split_once("`]")?.0)))
        };
        self.lines.iter().filter_map(row).collect()
    }
}

/// Whether a word is the id of a rule: a letter and one or two digits.
fn is_id(word: &str) -> bool {
    let mut chars = word.chars();
    let letter = chars.next().is_some_and(|c| c.is_ascii_uppercase() && !NO_RULES.contains(&c));
    letter && matches!(word.len(), 2 | 3) && chars.all(|c| c.is_ascii_digit())
}

/// What is wrong with the definitions and the names of rules in `texts`, one of which has the table.
fn broken_rules(texts: &[Text<'_>]) -> Vec<(String, Finding)> {
    let table = texts.iter().find(|text| text.path == TABLE).map(Text::table).unwrap_or_default();
    let mut findings = Vec::new();
    let mut find = |path: &str, line, what: String| findings.push((path.to_owned(), Finding::new(line, what)));

    let mut defined: BTreeMap<&str, &str> = BTreeMap::new();
    for text in texts.iter().filter(|text| PLACES.iter().any(|place| text.path.starts_with(place))) {
        for (line, id) in text.definitions() {
            if let Some(first) = defined.insert(id, text.path) {
                find(text.path, line, format!("{id} is defined in {first}, too"));
            }
            let place = id.chars().next().and_then(|letter| table.get(&letter)).map(|(_, place)| *place);
            if place != Some(text.path) {
                find(text.path, line, format!("{id} is defined here, and {TABLE} says {}", place.unwrap_or("nothing")));
            }
        }
    }

    let letters: BTreeSet<char> = defined.keys().filter_map(|id| id.chars().next()).collect();
    for (letter, (line, place)) in table.iter().filter(|(letter, _)| !letters.contains(letter)) {
        find(TABLE, *line, format!("no rule of {letter} is defined in {place}"));
    }
    for text in texts {
        for (line, id) in text.names().filter(|(_, id)| !defined.contains_key(id)) {
            find(text.path, line, format!("{id} is defined nowhere"));
        }
    }
    findings
}

#[test]
fn every_rule_is_defined_once() {
    let paths = [files("docs", &[".md"]), top_documents(), files("crates", &[".rs"]), files("fuzz", &[".rs"])].concat();
    // The violations at the end of this file are none.
    let paths = paths.into_iter().filter(|path| !path.ends_with("tidy/rule_ids.rs"));
    let read: Vec<(String, String)> = paths.map(|path| (path.clone(), read(&path))).collect();
    let texts: Vec<Text<'_>> = read.iter().map(|(path, content)| Text::new(path, content)).collect();
    let mut report = Report::default();
    for (path, finding) in broken_rules(&texts) {
        report.add(&path, vec![finding]);
    }
    report.assert_empty();
}

#[test]
fn a_broken_rule_is_found() {
    let found = |table: &str, others: &[(&str, &str)]| {
        let texts: Vec<Text<'_>> =
            others.iter().chain(&[(TABLE, table)]).map(|(path, content)| Text::new(path, content)).collect();
        let findings = broken_rules(&texts).into_iter();
        findings.map(|(path, finding)| (path, finding.line)).collect::<Vec<_>>()
    };
    let at = |path: &str, line| vec![(path.to_owned(), line)];
    let table = "- **X1** Holds.\n| `X` | all | [`docs/protocols.md`](protocols.md) |";
    assert_eq!(found(table, &[("crates/a.rs", "/// By X1, in T1 as in G2.\nlet x = \"X9\";")]), []);
    assert_eq!(found(table, &[("crates/a.rs", "\n/// By X2.")]), at("crates/a.rs", 2), "it is defined nowhere");
    assert_eq!(found(table, &[(NAMING, "\ncase(\"X2: holds\")")]), at(NAMING, 2), "strings count there");
    assert_eq!(found(table, &[("crates/a.rs", "//! - **X2** Holds.")]), at("crates/a.rs", 1), "no place for a rule");
    assert_eq!(found(table, &[("docs/a.md", "- **X2** Holds.")]), at("docs/a.md", 1), "the table says otherwise");
    let twice = format!("{table}\n- **X1** Holds not.");
    assert_eq!(found(&twice, &[]), at(TABLE, 3), "it has two meanings");
    let none = format!("{table}\n| `Y` | all | [`docs/y.md`](y.md) |");
    assert_eq!(found(&none, &[]), at(TABLE, 3), "the table promises more than there is");
    assert_eq!(found("", &[("docs/a.md", "- **X1** Holds.")]), at("docs/a.md", 1), "the table leaves it out");
}
