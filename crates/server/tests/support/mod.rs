//! Runs the real binary.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test file uses a part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that goes with the value.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new() -> Directory {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Runs `osier` with arguments separated by spaces, in `directory`.
pub fn osier(directory: &Directory, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_osier"));
    command.args(line.split_whitespace()).current_dir(directory.path()).output().unwrap()
}

/// What a run that must succeed prints.
pub fn succeeds(directory: &Directory, line: &str) -> String {
    let output = osier(directory, line);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{line}: {}\n{out}{err}", output.status);
    out
}

/// What a run that must fail says, which is an error and no panic.
pub fn fails(directory: &Directory, line: &str, code: i32) -> String {
    let output = osier(directory, line);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{line}: {out}{err}");
    assert!(err.starts_with("error: ") && !err.contains("panicked"), "{line}: {err}");
    err
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
