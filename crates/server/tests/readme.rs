//! The commands that the README shows are ones that the binary takes.

mod support;

use std::path::Path;

use support::{Directory, succeeds};

const PREFIX: &str = "$ cargo run --release -- ";

#[test]
fn the_readmes_commands_parse() {
    let text = std::fs::read_to_string(Path::new("../../README.md")).unwrap();
    let commands: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix(PREFIX)).collect();
    assert!(commands.len() >= 2, "the README shows the binary: {commands:?}");
    for command in commands {
        let arguments = command.split('#').next().unwrap();
        // With --help everything is parsed and nothing is run.
        let help = succeeds(&Directory::new(), &format!("{arguments} --help"));
        assert!(help.contains("Usage: osier"), "{help}");
    }
}
