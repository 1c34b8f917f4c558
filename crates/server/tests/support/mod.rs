//! Runs the real binary.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test file uses a part")]

pub mod client;
pub mod served;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

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

/// A bench beside the test, killed where it is dropped.
pub struct Running(Child);

impl Running {
    /// Starts one, with its database in `db`, and waits until it has committed so many transactions.
    pub fn start(directory: &Directory, line: &str, committed: u64) -> Running {
        let child = Command::new(env!("CARGO_BIN_EXE_osier"))
            .args(format!("bench {line} --dir db").split_whitespace())
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let running = Running(child.unwrap());
        eventually(|| directory.join("db/CONTROL").exists());
        eventually(|| status(directory)["live"]["committed"].as_u64() >= Some(committed));
        running
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), signal).unwrap();
    }

    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Waits until it ends by itself, without an error.
    pub fn wait(mut self) {
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn eventually(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "it never came");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What a command prints with `--json -`.
pub fn json(directory: &Directory, line: &str) -> Value {
    serde_json::from_str(&succeeds(directory, &format!("{line} --json -"))).unwrap()
}

pub fn status(directory: &Directory) -> Value {
    json(directory, "status db")
}
