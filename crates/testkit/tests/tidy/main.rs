//! Style as a test: what the house style asks of every file, and what the documents promise about the repository.
//!
//! Every rule is a function from text to findings, and has a test below that shows it a violation.

mod commits;
mod dependencies;
mod documents;
mod floors;
mod links;
mod rule_ids;
mod rules;
mod spelling;
mod widths;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use rules::Source;

/// A broken rule at a line, counted from 1.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    line: usize,
    what: String,
}

impl Finding {
    fn new(line: usize, what: impl Into<String>) -> Finding {
        Finding { line, what: what.into() }
    }
}

/// Findings with the file they are in.
#[derive(Default)]
struct Report(Vec<String>);

impl Report {
    fn add(&mut self, path: &str, findings: Vec<Finding>) {
        self.0.extend(findings.iter().map(|finding| format!("{path}:{}: {}", finding.line, finding.what)));
    }

    fn assert_empty(&self) {
        assert!(self.0.is_empty(), "{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} findings:\n{}", self.0.len(), self.0.join("\n"))
    }
}

fn root() -> PathBuf {
    // Where the test runs, not where it was built: clones may share a target directory.
    Path::new("../..").canonicalize().expect("tests run in the folder of their crate")
}

/// The files below `dir` whose names end in one of `extensions`, relative to the root, sorted.
fn files(dir: &str, extensions: &[&str]) -> Vec<String> {
    let (root, mut found, mut open) = (root(), Vec::new(), vec![root().join(dir)]);
    while let Some(dir) = open.pop() {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries.map(|entry| entry.expect("an entry")) {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if path.is_dir() {
                if !["target", ".git", "__pycache__"].contains(&name.as_str()) {
                    open.push(path);
                }
            } else if extensions.iter().any(|extension| name.ends_with(extension)) {
                found.push(path.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The packages of the workspace.
const WORKSPACE: &[&str] = &["crates"];

/// All packages that people write code in. A peer's library may be unsafe to open, so other rules leave `peers` out.
const CODE: &[&str] = &["crates", "peers"];

/// The documents at the top, all of which must exist.
fn top_documents() -> Vec<String> {
    ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(str::to_owned).to_vec()
}

/// Applies `rule` to every Rust file of `folders`.
fn check_sources(folders: &[&str], rule: impl Fn(&Source) -> Vec<Finding>) {
    let mut report = Report::default();
    let paths: Vec<String> = folders.iter().flat_map(|folder| files(folder, &[".rs"])).collect();
    assert!(paths.len() > 10, "the sources were not found");
    for path in paths {
        let source = Source::parse(&path, &read(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        report.add(&path, rule(&source));
    }
    report.assert_empty();
}

#[test]
fn files_are_short() {
    check_sources(CODE, rules::file_length);
}

#[test]
fn functions_are_short() {
    check_sources(CODE, rules::function_length);
}

#[test]
fn files_say_what_they_are_for() {
    check_sources(CODE, rules::header);
}

#[test]
fn unsafe_code_is_in_one_crate_and_argued() {
    check_sources(WORKSPACE, rules::unsafe_code);
}

#[test]
fn the_world_is_reached_through_the_seams_only() {
    check_sources(WORKSPACE, rules::banned_paths);
}

#[test]
fn steps_read_without_the_switches_of_tests() {
    check_sources(WORKSPACE, rules::deliberate_faults);
}

#[test]
fn the_engines_folders_are_floors() {
    let parse = |path: String| Source::parse(&path, &read(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let sources: Vec<Source> = files("crates/engine/src", &[".rs"]).into_iter().map(parse).collect();
    let mut report = Report::default();
    for (path, finding) in floors::Modules::new(&sources, floors::FLOORS, floors::LEFT).check() {
        report.add(&path, vec![finding]);
    }
    report.assert_empty();
}

#[test]
fn nothing_is_left_to_do() {
    let mut report = Report::default();
    let crates = CODE.iter().flat_map(|folder| files(folder, &[".rs", ".toml"])).collect();
    let code = [crates, files("scripts", &[""]), files(".ci", &[""])].concat();
    for path in [code, files("docs", &[".md"]), top_documents()].concat() {
        report.add(&path, rules::unfinished(&read(&path)));
    }
    report.assert_empty();
}

#[test]
fn every_path_that_a_document_names_exists() {
    let mut report = Report::default();
    let root = root();
    for path in [files("docs", &[".md"]), top_documents()].concat() {
        let dir = Path::new(&path).parent().unwrap().to_owned();
        let exists = |named: &str| root.join(named).exists() || root.join(&dir).join(named).exists();
        report.add(&path, documents::missing_paths(&read(&path), exists));
    }
    report.assert_empty();
}

/// The README opens with two commands: the show, which `crates/server/tests/readme.rs` parses with the binary, and the
/// tests, which continuous integration runs as the README writes them.
#[test]
fn the_readmes_second_command_is_what_ci_runs() {
    let commands = documents::commands(&read("README.md"));
    assert!(commands.len() >= 2, "the README opens with two commands, not {commands:?}");
    assert!(commands[0].starts_with("cargo run --release -- "), "{}", commands[0]);
    assert!(commands[1].starts_with("cargo test --workspace"), "{}", commands[1]);
    let ci = read(".ci/run");
    assert!(ci.lines().any(|line| line.trim().ends_with(&commands[1])), ".ci/run does not run `{}`", commands[1]);
}
