//! The commands for whoever runs databases, on the real binary: beside a process that has the database open, and alone.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use osier::{Config, Database};
use serde_json::Value;
use support::{Directory, Running, eventually, fails, json, osier, status, succeeds};

const SMALL_FILES: &str = "--set ring_bytes=4194304 --set segment_bytes=8388608";

/// A bench in `db`, which lasts.
fn running(directory: &Directory, line: &str) -> Running {
    Running::start(directory, &format!("{line} --seconds 300 {SMALL_FILES}"), 2000)
}

#[test]
fn a_damaged_database_is_salvaged() {
    let directory = Directory::new();
    let bench = "bench ycsb --records 1000 --transactions 2000 --streams 2";
    succeeds(&directory, &format!("{bench} --dir db {SMALL_FILES}"));
    let log = directory.join("db/stream-1/00000001-00000001.log");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[3 * 4096 + 100] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    fails(&directory, &format!("recover db {SMALL_FILES}"), 10);
    let report = json(&directory, &format!("salvage db saved {SMALL_FILES}"));
    // Of the batch that is damaged.
    let position = report["damages"][0]["position"].as_u64().unwrap();
    assert!(report["consistent"] == true && position <= 3 * 4096, "{report}");
    succeeds(&directory, &format!("recover saved {SMALL_FILES}"));
    assert!(fails(&directory, &format!("salvage db saved {SMALL_FILES}"), 14).contains("not empty"));
    let report = json(&directory, &format!("salvage db rows --rows {SMALL_FILES}"));
    assert!(report["tables"][0]["rows"].as_u64() > Some(0), "{report}");
}

#[test]
fn a_salvage_that_saved_no_row_says_so_by_its_status() {
    let directory = Directory::new();
    succeeds(&directory, &format!("bench ycsb --records 1000 --transactions 2000 --streams 2 --dir db {SMALL_FILES}"));
    std::fs::remove_dir_all(directory.join("db/stream-1")).unwrap();
    let salvaged = osier(&directory, &format!("salvage db saved {SMALL_FILES}"));
    let report = String::from_utf8_lossy(&salvaged.stdout).into_owned();
    assert!(report.starts_with("salvaged no row") && salvaged.status.code() == Some(10), "{report}");
    assert!(fails(&directory, &format!("salvage db saved {SMALL_FILES}"), 14).contains("not empty"));
}

#[test]
fn rows_that_a_damaged_checkpoint_lost_are_named() {
    let directory = Directory::new();
    succeeds(
        &directory,
        &format!(
            "bench ycsb --records 1000 --transactions 1 --dir db {SMALL_FILES} --set checkpoint_at_close=yes \
             --set checkpoint_threads=2"
        ),
    );
    // Of its two parts the one with the rows: which thread gets them is chance.
    let parts = ["00000001-0000.ckpt", "00000001-0001.ckpt"];
    let read = |part: &str| std::fs::read(directory.join("db/checkpoints").join(part)).unwrap();
    let name = parts.into_iter().max_by_key(|part| read(part).len()).unwrap();
    let (part, mut bytes) = (directory.join("db/checkpoints").join(name), read(name));
    // Padding between blocks is zeros, and says nothing.
    let middle = bytes.len() / 2;
    *bytes[middle..].iter_mut().find(|byte| **byte != 0).unwrap() ^= 1;
    std::fs::write(&part, bytes).unwrap();
    let report = json(&directory, &format!("salvage db saved --rows {SMALL_FILES}"));
    let lost = &report["lost"][0];
    let key = |row: &Value| {
        assert_eq!(row["table"], "usertable", "{report}");
        row["key"].as_str().unwrap().to_owned()
    };
    assert!(lost["path"].as_str().unwrap().ends_with(name) && key(&lost["after"]) < key(&lost["before"]), "{report}");
}

#[test]
fn a_running_database_is_looked_at_and_checkpointed() {
    let directory = Directory::new();
    let running = running(&directory, "ycsb --records 1000 --streams 2");
    let before = status(&directory);
    assert_eq!((&before["state"], &before["protocol"]), (&"open".into(), &"poplar".into()), "{before}");
    assert_eq!(before["live"]["pid"], running.id());
    assert!(before["blocks"][0].as_str().unwrap().contains("no checkpoint was taken"), "{before}");
    let taken = json(&directory, "checkpoint db");
    assert!(taken["number"].as_u64() == Some(1) && taken["rows"].as_u64() >= Some(1000), "{taken}");
    let after = status(&directory);
    assert_eq!((&after["checkpoints"][0]["number"], &after["live"]["checkpoints_taken"]), (&1.into(), &1.into()));
    assert!(after["blocks"][0].as_str().unwrap().contains("what came after checkpoint 1"), "{after}");
    let text = succeeds(&directory, "status db");
    assert!(text.contains("open in process") && text.contains("durable     everything up to stamp"), "{text}");
    // A copy with another name of its socket, or a link to it, is not it.
    for name in ["linked", "hard"] {
        std::fs::create_dir(directory.join(name)).unwrap();
        std::fs::copy(directory.join("db/MANIFEST"), directory.join(name).join("MANIFEST")).unwrap();
    }
    std::os::unix::fs::symlink(directory.join("db/CONTROL"), directory.join("linked/CONTROL")).unwrap();
    std::fs::hard_link(directory.join("db/CONTROL"), directory.join("hard/CONTROL")).unwrap();
    std::os::unix::fs::symlink(directory.join("db"), directory.join("alias")).unwrap();
    for (name, line) in [("linked", "status"), ("hard", "checkpoint"), ("hard", "status")] {
        let error = fails(&directory, &format!("{line} {name}"), 14);
        let open = format!("leads to process {}, which has {}", running.id(), directory.join("db").display());
        assert!(error.contains(&open) && error.contains(&format!("remove {name}/CONTROL")), "{error}");
    }
    assert_eq!(json(&directory, "status alias")["live"]["checkpoints_taken"], 1);
    // The log is not read while somebody writes it: it would look torn.
    for line in ["recover db", "recover db --explain", "log verify db", "log dump db", "salvage db saved"] {
        let error = fails(&directory, line, 11);
        let open = format!("the directory db is open in process {}; close that database first", running.id());
        assert!(error.contains(&open) || error.contains("open in another process"), "{line}: {error}");
    }
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
    let error = fails(&directory, "status nowhere", 14);
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
    let error = fails(&directory, &format!("recover db --until {} --yes", last + 1), 2);
    assert!(error.contains(&format!("it ends with epoch {last}")), "{error}");
    let error = fails(&directory, "recover db --until 2999-01-01T00:00:00Z --yes", 2);
    assert!(error.contains("its last batch was closed at 2"), "{error}");
    assert_eq!(files(), before, "nothing has changed so far");
    let report = json(&directory, &format!("recover db --until {middle} --yes"));
    assert_eq!(report["recovery"]["discarded"], after, "{report}");
    let again = json(&directory, "recover db --explain");
    let told = ["given_up", "after", "replayed"].map(|what| again[what].as_u64());
    assert_eq!(told, [Some(after), Some(0), Some(records - after)], "{again}");
    // What lies between is gone, and nothing takes it for a state that there still is.
    let error = fails(&directory, &format!("recover db --until {} --yes", middle + 1), 2);
    assert!(error.contains(&format!("it was taken back to epoch {middle}")), "{error}");
    for report in [again, status(&directory), json(&directory, "backup db copy")] {
        assert_eq!(report["taken_back"][0]["to"], middle, "{report}");
    }
    assert!(succeeds(&directory, "status db").contains(&format!("history     taken back to epoch {middle}")));
    assert!(succeeds(&directory, "backup db copy").contains(&format!("everything up to epoch {middle},")));
    succeeds(&directory, "log verify db");
}

/// A copy that was killed half way: what is left opens never, or whole.
fn kill_soon(mut child: Child, after: Duration) {
    std::thread::sleep(after);
    let _ = child.kill();
    child.wait().unwrap();
}

fn spawn(directory: &Directory, line: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_osier"));
    command.args(line.split_whitespace()).current_dir(directory.path()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn a_backup_beside_a_bench_is_continued_and_restored() {
    let directory = Directory::new();
    let running = running(&directory, "ycsb --records 1000 --streams 2 --rate 3000");
    let first = json(&directory, "backup db copy");
    assert_eq!((&first["continues"], &first["checkpoint"]), (&false.into(), &1.into()), "{first}");
    let second = json(&directory, "backup db copy");
    assert_eq!(second["continues"], true, "{second}");
    let epoch = second["epoch"].as_u64().unwrap();
    assert!(epoch > first["epoch"].as_u64().unwrap(), "{second}");
    // Killed in the middle of backups; the last whole one stays.
    kill_soon(spawn(&directory, "backup db copy --checkpoint"), Duration::from_millis(5));
    running.kill();
    let report = json(&directory, &format!("restore copy restored --until {epoch}"));
    assert!(report["backup"]["epoch"].as_u64() >= Some(epoch), "{report}");
    let plan = json(&directory, "recover restored --explain");
    assert_eq!((&plan["state"], &plan["beyond_cut"]), (&"closed".into(), &0.into()), "{plan}");
    succeeds(&directory, "log verify restored");
    let used = format!("bench ycsb --records 1000 --streams 2 --dir restored --transactions 100 {SMALL_FILES}");
    assert_eq!(json(&directory, &used)["acknowledged"], 100);
    // What the killed database left continues the backup.
    assert_eq!(json(&directory, "backup db copy")["continues"], true);
    assert!(succeeds(&directory, "restore copy again").contains("restored"));
    let error = fails(&directory, "restore copy again", 14);
    assert!(error.contains("again is not empty"), "{error}");
    // What is no backup is named for what it is, and nobody is told to remove it.
    std::fs::create_dir(directory.join("empty")).unwrap();
    let wrong = [("db", "holds a database, not a backup"), ("nowhere", "does not exist"), ("empty", "holds no backup")];
    for (name, what) in wrong {
        let error = fails(&directory, &format!("restore {name} elsewhere"), 14);
        assert!(error.contains(&format!("{name} {what}; ")) && !error.contains("remove"), "{error}");
        assert!(!directory.join("elsewhere").exists(), "nothing has changed");
    }
    for line in [
        "status copy",
        "recover copy",
        "log verify copy",
        "log dump copy",
        "checkpoint copy",
        "backup copy elsewhere",
        "salvage copy elsewhere",
    ] {
        let error = fails(&directory, line, 14);
        assert!(error.contains("copy holds a backup, not a database; osier restore makes"), "{line}: {error}");
    }
    assert!(!fails(&directory, "status nowhere", 14).contains("backup"), "there is none");
    let error = fails(&directory, "backup restored db", 14);
    assert!(error.contains("is in the way"), "{error}");
}

/// A program that embeds the library has no control socket, unless it asks for one: then it cannot be asked.
#[test]
fn a_program_without_a_socket_is_told_how_to_have_one() {
    let directory = Directory::new();
    let open = |has_socket: bool| Database::open(Config::new(directory.join("db")).control_socket(has_socket)).unwrap();
    let db = open(false);
    for line in ["backup db copy", "backup db copy --checkpoint", "checkpoint db"] {
        let error = fails(&directory, line, 11);
        let cure = "close that database first, or let it open with control_socket=yes and ask again";
        assert!(error.contains("db is open in ") && error.contains(cure), "{line}: {error}");
    }
    for line in ["recover db", "log verify db"] {
        assert!(!fails(&directory, line, 11).contains("control_socket"), "{line} asks nobody");
    }
    db.close().unwrap();
    let db = open(true);
    succeeds(&directory, "backup db copy");
    db.close().unwrap();
}

#[test]
fn a_restore_that_is_killed_leaves_nothing_that_opens_in_part() {
    let directory = Directory::new();
    succeeds(&directory, &format!("bench ycsb --records 20000 --transactions 20000 --dir db {SMALL_FILES}"));
    succeeds(&directory, "backup db copy");
    let records = json(&directory, "recover db --explain")["records"].as_u64().unwrap();
    let mut refused = 0;
    for round in 0..12 {
        let name = format!("half-{round}");
        let mark = directory.join(&name).join("UNFINISHED");
        let mut restore = spawn(&directory, &format!("restore copy {name}"));
        // Every other one is killed as soon as it has begun, wherever it is by then.
        if round % 2 == 0 {
            eventually(|| mark.exists() || restore.try_wait().unwrap().is_some());
        }
        kill_soon(restore, Duration::from_millis(round % 2 * 6 * round));
        let is_begun = mark.exists();
        let opened = osier(&directory, &format!("recover {name} --json -"));
        if opened.status.success() {
            let report: Value = serde_json::from_slice(&opened.stdout).unwrap();
            assert_eq!(report["recovery"]["records"].as_u64(), Some(records), "{report}");
        } else {
            let error = String::from_utf8_lossy(&opened.stderr).into_owned();
            let refusal = match is_begun {
                true => "was being restored, salvaged or imported into, which was not finished",
                false => "holds no database",
            };
            assert!(error.contains(refusal), "{error}");
            refused += u64::from(is_begun);
        }
    }
    assert!(refused > 0, "no restore was killed half way");
}

#[test]
fn damage_in_the_middle_of_a_log_is_marked_and_dumped_through() {
    let directory = Directory::new();
    let bench = "bench ycsb --records 1000 --transactions 2000 --streams 2";
    succeeds(&directory, &format!("{bench} --dir db {SMALL_FILES}"));
    assert!(!succeeds(&directory, "log dump db").contains('!'));
    let whole = succeeds(&directory, "log dump db").lines().count();
    let log = directory.join("db/stream-1/00000001-00000001.log");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[4096 + 8..4096 + 12].fill(0xee);
    std::fs::write(&log, bytes).unwrap();
    fails(&directory, "log verify db", 10);
    let output = osier(&directory, "log dump db");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(10), "{text}");
    assert!(text.contains("! at 0: ") && text.contains("although a sound batch follows"), "{text}");
    assert!(text.lines().count() > whole / 2, "what follows is there");
}
