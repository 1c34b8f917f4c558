//! The commands for whoever runs databases, on the real binary: beside a process that has the database open, and alone.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{Directory, fails, osier, succeeds};

const SMALL_FILES: &str = "--set ring_bytes=4194304 --set segment_bytes=8388608";

/// A bench that runs until it is dropped.
struct Running(Child);

impl Running {
    /// Starts one, with its database in `db`, and waits until it runs.
    fn start(directory: &Directory, line: &str) -> Running {
        let child = Command::new(env!("CARGO_BIN_EXE_osier"))
            .args(format!("bench {line} --dir db --seconds 300 {SMALL_FILES}").split_whitespace())
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let running = Running(child.unwrap());
        eventually(|| directory.join("db/CONTROL").exists());
        eventually(|| status(directory)["live"]["committed"].as_u64() > Some(2000));
        running
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn eventually(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "it never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn json(directory: &Directory, line: &str) -> Value {
    serde_json::from_str(&succeeds(directory, &format!("{line} --json -"))).unwrap()
}

fn status(directory: &Directory) -> Value {
    json(directory, "status db")
}

#[test]
fn a_running_database_is_looked_at_and_checkpointed() {
    let directory = Directory::new();
    let running = Running::start(&directory, "ycsb --records 1000 --streams 2");
    let before = status(&directory);
    assert_eq!((&before["state"], &before["protocol"]), (&"open".into(), &"poplar".into()), "{before}");
    assert_eq!(before["live"]["pid"], running.0.id());
    assert!(before["blocks"][0].as_str().unwrap().contains("no checkpoint was taken"), "{before}");
    let taken = json(&directory, "checkpoint db");
    assert!(taken["number"].as_u64() == Some(1) && taken["rows"].as_u64() >= Some(1000), "{taken}");
    let after = status(&directory);
    assert_eq!((&after["checkpoints"][0]["number"], &after["live"]["checkpoints_taken"]), (&1.into(), &1.into()));
    assert!(after["blocks"][0].as_str().unwrap().contains("what came after checkpoint 1"), "{after}");
    let text = succeeds(&directory, "status db");
    assert!(text.contains("open in process") && text.contains("durable     everything up to stamp"), "{text}");
    let error = fails(&directory, "recover db", 1);
    assert!(error.contains("open in another process"), "{error}");
    running.kill();
    // Its socket is stale now.
    assert!(directory.join("db/CONTROL").exists());
    let crashed = status(&directory);
    assert_eq!((&crashed["state"], &crashed["live"]), (&"crashed".into(), &Value::Null));
    let taken = json(&directory, "checkpoint db");
    assert_eq!(taken["number"], 2);
    let closed = status(&directory);
    assert_eq!(
        (&closed["state"], &closed["protocol"], &closed["stream_count"]),
        (&"closed".into(), &"poplar".into(), &2.into())
    );
    assert!(!directory.join("db/CONTROL").exists());
}

#[test]
fn a_checkpoint_without_a_log_keeps_the_protocol() {
    let directory = Directory::new();
    let line = "bench ycsb --records 500 --transactions 10 --protocol none --dir db --set checkpoint_at_close=yes";
    succeeds(&directory, line);
    assert_eq!(json(&directory, "checkpoint db")["number"], 2);
    assert_eq!(status(&directory)["protocol"], "none");
    let error = fails(&directory, "status nowhere", 1);
    assert!(error.contains("nowhere holds no database"), "{error}");
}

#[test]
fn a_plan_is_printed_and_a_database_taken_back_only_with_consent() {
    let directory = Directory::new();
    let bench = format!("bench ycsb --records 500 --streams 2 --variant two-access --dir db {SMALL_FILES}");
    succeeds(&directory, &format!("{bench} --transactions 2000 --rate 4000"));
    let files = || {
        let names = |dir: &str| std::fs::read_dir(directory.join(dir)).unwrap().map(|it| it.unwrap().path()).collect();
        let mut all: Vec<Vec<_>> = ["db", "db/stream-0", "db/stream-1"].map(names).to_vec();
        all.iter_mut().for_each(|names| names.sort());
        (all, std::fs::read(directory.join("db/MANIFEST")).unwrap())
    };
    let before = files();
    let text = succeeds(&directory, "recover db --explain");
    for part in ["begin    with the log alone", "stream 1 in db/stream-1", "memory   up to", "time     about"] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    let plan = json(&directory, "recover db --explain");
    let (records, last) = (plan["records"].as_u64().unwrap(), plan["epochs"][1].as_u64().unwrap());
    assert!(records > 1000 && plan["replayed"] == records && plan["after"] == 0, "{plan}");
    let middle = (plan["epochs"][0].as_u64().unwrap() + last) / 2;
    let plan = json(&directory, &format!("recover db --explain --until {middle}"));
    let after = plan["after"].as_u64().unwrap();
    assert!(after > 0 && after < records, "{plan}");
    let refused = osier(&directory, &format!("recover db --until {middle}"));
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(4), "{error}");
    assert!(error.contains(&format!("discard {after} transactions for ever")) && error.contains("--yes"), "{error}");
    let error = fails(&directory, &format!("recover db --until {} --yes", last + 1), 1);
    assert!(error.contains(&format!("it ends with epoch {last}")), "{error}");
    let error = fails(&directory, "recover db --until 2999-01-01T00:00:00Z --yes", 1);
    assert!(error.contains("its last batch was closed at 2"), "{error}");
    assert_eq!(files(), before, "nothing has changed so far");
    let report = json(&directory, &format!("recover db --until {middle} --yes"));
    assert_eq!(report["recovery"]["discarded"], after, "{report}");
    let again = json(&directory, "recover db --explain");
    assert_eq!((&again["after"], &again["replayed"]), (&after.into(), &(records - after).into()), "{again}");
    succeeds(&directory, "log verify db");
}
