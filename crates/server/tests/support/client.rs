//! Runs commands that are clients, with arguments that may have blanks.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use super::Directory;

/// Runs `osier` with `input`, in `directory`.
pub fn run_with(directory: &Directory, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_osier"));
    for variable in ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSWORD", "PGSSLMODE"] {
        command.env_remove(variable);
    }
    let command = command.args(arguments).current_dir(directory.path());
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // One that reads nothing may have ended.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    child.wait_with_output().unwrap()
}

/// Runs `osier`; returns its status, and what it has printed to both streams.
pub fn run(directory: &Directory, arguments: &[&str]) -> (i32, String, String) {
    let output = run_with(directory, arguments, "");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// Runs `osier`, which must succeed; returns what it prints.
pub fn prints(directory: &Directory, arguments: &[&str]) -> String {
    let (code, out, err) = run(directory, arguments);
    assert_eq!(code, 0, "{arguments:?}: {out}{err}");
    out
}
