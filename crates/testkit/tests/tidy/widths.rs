//! Lines fit on a screen. `cargo fmt` holds code to `max_width`; this holds everything else, comments and documents, to a little
//! more, so that a small edit need not wrap a whole paragraph anew.

use crate::links::prose;
use crate::{Finding, Report, files, read, top_documents};

/// Characters of a line.
const LINE_CHARS_MAX: usize = 130;

/// Files whose lines cannot be broken: one substitution of a source line each.
const UNBREAKABLE: &[&str] = &["scripts/check-memory"];

/// The lines of code that are too long.
pub fn wide_code(text: &str) -> Vec<Finding> {
    too_wide(text.lines().enumerate().map(|(index, line)| (index + 1, line)))
}

/// The lines of a document that are too long. Tables and fenced blocks are as wide as what they show.
pub fn wide_prose(text: &str) -> Vec<Finding> {
    too_wide(prose(text).filter(|(_, line)| !line.starts_with('|')))
}

fn too_wide<'t>(lines: impl Iterator<Item = (usize, &'t str)>) -> Vec<Finding> {
    let widths = lines.map(|(number, line)| (number, line.chars().count()));
    let wide = widths.filter(|(_, chars)| *chars > LINE_CHARS_MAX);
    wide.map(|(number, chars)| Finding::new(number, format!("{chars} characters; at most {LINE_CHARS_MAX}"))).collect()
}

#[test]
fn lines_are_short() {
    let mut report = Report::default();
    let code = [
        files("crates", &[".rs", ".toml"]),
        files("fuzz", &[".rs", ".toml"]),
        files("peers", &[".rs", ".toml"]),
        files(".ci", &[""]),
        files("scripts", &[""]),
    ];
    for path in code.concat().iter().filter(|path| !UNBREAKABLE.contains(&path.as_str())) {
        report.add(path, wide_code(&read(path)));
    }
    for path in [files("docs", &[".md"]), top_documents()].concat() {
        report.add(&path, wide_prose(&read(&path)));
    }
    report.assert_empty();
}

#[test]
fn a_wide_line_is_found() {
    let (fits, wide) = ("ü".repeat(LINE_CHARS_MAX), "x".repeat(LINE_CHARS_MAX + 1));
    assert!(wide_code(&fits).is_empty());
    assert_eq!(wide_code(&format!("{fits}\n{wide}\n")).len(), 1);
    let shown = format!("| {wide} |\n```\n{wide}\n```\n{fits}");
    assert!(wide_prose(&shown).is_empty());
    assert_eq!(wide_prose(&format!("{shown}\n{wide}"))[0].line, 6);
}
