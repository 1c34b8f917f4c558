//! Words are spelled right: no word of a source or a document is a known misspelling. The list is that of the `typos` project, so
//! a word that nobody misspells is never asked about, and names need no dictionary of their own.

use unicase::UniCase;

use crate::{Finding, Report, files, read, top_documents};

/// Words that are right here and a misspelling elsewhere.
const RIGHT_HERE: &[&str] = &[
    // North Dakota, several `Until`s, the messages EmptyQueryResponse and ReadyForQuery, and the template of an ISO year.
    "nd", "untils", "iz", "iy",
];

/// The misspelled words of `text`. What a command wrote between markers may be cut in the middle of a word.
pub fn misspelled(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_generated = false;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("<!-- ") {
            is_generated = line.contains("begin") || (is_generated && !line.contains("end"));
        }
        if is_generated {
            continue;
        }
        for word in words(line) {
            let right = RIGHT_HERE.contains(&word.as_str());
            if let Some(better) = typos_dict::WORD.find(&UniCase::new(word.as_str())).filter(|_| !right) {
                findings.push(Finding::new(index + 1, format!("`{word}`: {}", better.join(" or "))));
            }
        }
    }
    findings
}

/// The words of a line in lower case; `CamelCase` and `snake_case` are several.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in line.chars() {
        if !c.is_alphabetic() || (c.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            words.last_mut().expect("there is a word").extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn words_are_spelled_right() {
    let mut report = Report::default();
    let code = [
        files("crates", &[".rs", ".toml"]),
        files("fuzz", &[".rs", ".toml"]),
        files("peers", &[".rs", ".toml"]),
        files(".ci", &[""]),
        files("scripts", &[""]),
    ];
    for path in code.concat().into_iter().chain(files("docs", &[".md"])).chain(top_documents()) {
        report.add(&path, misspelled(&read(&path)));
    }
    report.assert_empty();
}

#[test]
fn a_misspelled_word_is_found() {
    // Put together here, so that this file does not contain them.
    let (receive, separate) = (concat!("reci", "eve"), concat!("sepe", "rate"));
    assert!(misspelled("receive, separate, rawDep, Poplar, untils").is_empty());
    let found = misspelled(&format!("{receive}\nfine\nfn {separate}_it() {{}}\n"));
    assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [1, 3]);
    let camel = format!("can{}", receive.replacen('r', "R", 1));
    assert_eq!(misspelled(&camel).len(), 1);
    let generated = format!("<!-- begin: a command -->\n{receive}\n<!-- end: a command -->\n{receive}");
    assert_eq!(misspelled(&generated)[0].line, 4);
}
