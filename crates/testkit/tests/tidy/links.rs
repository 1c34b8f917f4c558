//! Links in documents lead to a heading or a line that exists. That their files exist is asked in `documents`.

use std::collections::HashMap;
use std::path::Path;

use crate::{Finding, Report, files, read, root, top_documents};

/// The links of `text` whose part after `#` is not in the file that they lead to; `target` reads such a file, and the document
/// itself for a link without a file.
pub fn broken_anchors(text: &str, target: impl Fn(&str) -> Option<(bool, String)>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in prose(text) {
        for link in line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()) {
            let Some((path, anchor)) = link.split_once('#').filter(|(path, _)| !path.contains("://")) else { continue };
            let Some((is_document, content)) = target(path) else { continue };
            let exists = match anchor.strip_prefix('L').and_then(|line| line.parse::<usize>().ok()) {
                Some(line) if !is_document => (1..=content.lines().count()).contains(&line),
                _ => is_document && anchors(&content).iter().any(|known| known == anchor),
            };
            if !exists {
                findings.push(Finding::new(number, format!("`{link}` leads to nothing in that file")));
            }
        }
    }
    findings
}

/// The lines of a document outside of fenced blocks, with their numbers.
pub fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((index + 1, line))
    })
}

/// The anchors that GitHub gives the headings of a document.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let headings = prose(text)
        .filter_map(|(_, line)| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    headings
        .map(|heading| {
            let slug = slug(heading);
            let count = seen.entry(slug.clone()).or_default();
            *count += 1;
            if *count == 1 { slug } else { format!("{slug}-{}", *count - 1) }
        })
        .collect()
}

/// A heading without its marks, in lower case, with dashes for spaces.
fn slug(heading: &str) -> String {
    let mut visible = String::new();
    for (index, part) in heading.split("](").enumerate() {
        visible += if index == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) };
    }
    let kept = visible.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[test]
fn every_link_leads_to_a_heading_or_a_line() {
    let mut report = Report::default();
    for path in [files("docs", &[".md"]), top_documents()].concat() {
        let dir = Path::new(&path).parent().expect("a file has a directory").to_owned();
        let target = |link: &str| {
            let named = if link.is_empty() { root().join(&path) } else { root().join(&dir).join(link) };
            let is_document = named.extension().is_some_and(|extension| extension == "md");
            Some((is_document, std::fs::read_to_string(named).ok()?))
        };
        report.add(&path, broken_anchors(&read(&path), target));
    }
    report.assert_empty();
}

#[test]
fn a_broken_anchor_is_found() {
    let here = "# One, two\n## A `word` of [it](x)\n## A word of it\n```\n# no\n```\n";
    let target = |path: &str| match path {
        "" => Some((true, here.to_owned())),
        "code.rs" => Some((false, "1\n2\n".to_owned())),
        _ => None,
    };
    let sound =
        "[a](#one-two) [b](#a-word-of-it) [c](#a-word-of-it-1) [d](code.rs#L2) [e](https://x.y#z)\n```\n[f](#no)\n```";
    assert!(broken_anchors(sound, target).is_empty());
    let broken = "[a](#one)\n[b](#no)\n[c](code.rs#L3)\n[d](code.rs#one)";
    let lines: Vec<usize> = broken_anchors(broken, target).iter().map(|finding| finding.line).collect();
    assert_eq!(lines, [1, 2, 3, 4]);
}
