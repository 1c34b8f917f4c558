//! Commits say what they do: `area: imperative`, short enough for a list. Asked of every commit after [`BASE`]; those before are
//! as they are.

use std::process::Command;

use crate::root;

/// The last commit that was written before this rule.
const BASE: &str = "6a93250ada0510843b589272e27950092b761100";

const SUBJECT_CHARS_MAX: usize = 72;

/// First words that show that no imperative follows.
const NO_VERBS: &[&str] = &[
    "a", "all", "an", "another", "both", "each", "every", "for", "how", "in", "it", "its", "more", "most", "new", "no",
    "not", "of", "on", "one", "some", "that", "the", "there", "these", "this", "two", "what", "when", "where", "who",
    "with",
];

/// Imperatives that end like another form of a verb.
const VERBS: &[&str] = &["bring", "embed", "feed", "focus", "need", "seed", "speed", "string"];

/// What is wrong with the subject of a commit; `None` where nothing is.
pub fn bad_subject(subject: &str) -> Option<String> {
    let chars = subject.chars().count();
    if chars > SUBJECT_CHARS_MAX {
        return Some(format!("{chars} characters; at most {SUBJECT_CHARS_MAX}"));
    }
    let Some((area, rest)) = subject.split_once(": ") else { return Some("it is not `area: imperative`".to_owned()) };
    let is_area = |part: &str| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-' | '/' | '.');
        part.starts_with(|c: char| c.is_ascii_lowercase() || c == '.') && part.chars().all(fits)
    };
    if !area.split(", ").all(is_area) {
        return Some(format!("`{area}` is no area: a crate, a folder or a file in lower case"));
    }
    let verb = rest.split([' ', ',', ':']).next().unwrap_or_default();
    let is_lower = !verb.is_empty() && verb.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let is_inflected = verb.ends_with("ed") || verb.ends_with("ing") || (verb.ends_with('s') && !verb.ends_with("ss"));
    if !is_lower || NO_VERBS.contains(&verb) || (is_inflected && !VERBS.contains(&verb)) {
        return Some(format!("`{verb}` is no imperative, as in `add` or `refuse`"));
    }
    rest.ends_with('.').then(|| "a subject ends without a full stop".to_owned())
}

#[test]
fn commits_say_what_they_do() {
    if !root().join(".git").exists() {
        eprintln!("no repository here, so no commits to ask");
        return;
    }
    let range = format!("{BASE}..HEAD");
    let log = Command::new("git").args(["log", "--no-merges", "--format=%h %s", &range]).current_dir(root()).output();
    let log = log.expect("git runs");
    let errors = String::from_utf8_lossy(&log.stderr);
    assert!(log.status.success(), "{errors}(the whole history is needed: git fetch --unshallow)");
    let text = String::from_utf8_lossy(&log.stdout);
    let bad: Vec<String> = text
        .lines()
        .filter_map(|line| {
            let (_, subject) = line.split_once(' ').unwrap_or((line, ""));
            Some(format!("{line}: {}", bad_subject(subject)?))
        })
        .collect();
    assert!(bad.is_empty(), "{} subjects:\n{}", bad.len(), bad.join("\n"));
}

#[test]
fn bad_subjects_are_found() {
    for subject in [
        "log: refuse a batch that does not rise",
        "engine/log, docs: embed the place in the checksum",
        ".ci: pass --locked everywhere",
        "scripts/check-memory: focus on rings",
    ] {
        assert_eq!(bad_subject(subject), None, "{subject}");
    }
    for subject in [
        "refuse a batch",
        "Log: refuse a batch",
        "log: Refuse a batch",
        "log: refused a batch",
        "log: refuses a batch",
        "log: refusing a batch",
        "log: a batch that does not rise is refused",
        "log: refuse a batch.",
        "log: ",
        "the log: refuse a batch",
        &format!("log: refuse {}", "x".repeat(SUBJECT_CHARS_MAX)),
    ] {
        assert!(bad_subject(subject).is_some(), "{subject}");
    }
}
