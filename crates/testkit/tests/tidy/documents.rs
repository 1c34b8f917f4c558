//! What the documents promise: the paths they name exist, the commands they show are those that run.

use crate::Finding;

/// The folders that a path in backticks may start with.
const ROOTS: &[&str] = &["crates/", "docs/", "peers/", "scripts/", ".ci/"];

/// The paths of `text` for which `exists` says no: targets of relative links, and paths in backticks.
pub fn missing_paths(text: &str, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let named = link_targets(line).chain(quoted_paths(line));
        for path in named.filter(|path| !exists(path)) {
            findings.push(Finding::new(index + 1, format!("`{path}` does not exist")));
        }
    }
    findings
}

/// Targets of `[text](target)` that are files.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split([')', ' ']).next()?;
        let path = target.split('#').next()?;
        (!path.is_empty() && !path.contains("://") && !path.starts_with("mailto:")).then_some(path)
    })
}

/// Paths in backticks, a line number or a `::item` after them allowed; patterns are not paths.
fn quoted_paths(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter_map(|quoted| {
        let path = quoted.split([':', ' ']).next()?;
        let is_path = ROOTS.iter().any(|root| path.starts_with(root)) && !path.contains(['*', '<', '{']);
        is_path.then_some(path)
    })
}

/// The shell commands in fenced blocks, in order, without prompts.
pub fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut shell = false;
    for line in text.lines() {
        if let Some(language) = line.trim().strip_prefix("```") {
            shell = matches!(language, "sh" | "bash" | "shell" | "console");
        } else if shell {
            let command = line.trim().trim_start_matches("$ ");
            let command = command.split(" #").next().unwrap_or(command).trim();
            if command.starts_with("cargo ") {
                commands.push(command.to_owned());
            }
        }
    }
    commands
}

#[test]
fn a_missing_path_is_found() {
    let text =
        "See [disk](crates/a.rs#L3) and [web](https://x.y) and `docs/b.md`.\n`scripts/c --fast` `std::fs` `docs/*.md`";
    let findings = missing_paths(text, |path| path == "crates/a.rs");
    assert_eq!(
        findings,
        [Finding::new(1, "`docs/b.md` does not exist"), Finding::new(2, "`scripts/c` does not exist")]
    );
}

#[test]
fn commands_are_read_from_shell_blocks() {
    let text = "```rust\ncargo no\n```\n```sh\n$ cargo run -- x   # shows it\nls\ncargo test\n```\ncargo prose";
    assert_eq!(commands(text), ["cargo run -- x", "cargo test"]);
}
