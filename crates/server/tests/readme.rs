//! The command that the README opens with is one that the binary takes.

mod support;

use std::path::Path;

use support::{Directory, succeeds};

const PREFIX: &str = "cargo run --release -- ";

#[test]
fn the_readmes_first_command_parses() {
    let text = std::fs::read_to_string(Path::new("../../README.md")).unwrap();
    let line = text.lines().find_map(|line| line.trim().trim_start_matches("$ ").strip_prefix(PREFIX));
    let arguments = line.expect("the README shows the binary").split('#').next().unwrap();
    // With --help everything is parsed and nothing is run.
    let help = succeeds(&Directory::new(), &format!("{arguments} --help"));
    assert!(help.contains("Usage: osier"), "{help}");
}
