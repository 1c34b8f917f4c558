//! The commands as users type them, right and wrong: figures and errors.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{Directory, fails, osier, succeeds};

const SMALL_TPCC: &str = "--warehouses 1 --items 200 --customers 60";

/// Small files: a test has several databases.
const SMALL_FILES: &str = "--set ring_bytes=4194304 --set segment_bytes=8388608";
/// How many of the 500 transactions of [`database`] write something, at least: three of four are drawn so.
const WRITERS: u64 = 300;

/// A closed database with a few transactions in `db`.
fn database() -> Directory {
    let directory = Directory::new();
    let line = "bench ycsb --dir db --records 200 --transactions 500 --streams 2 --variant two-access";
    succeeds(&directory, &format!("{line} {SMALL_FILES}"));
    directory
}

/// The segment files of the database in `db`.
fn segments(directory: &Directory) -> Vec<PathBuf> {
    let mut segments: Vec<_> = ["db/stream-0", "db/stream-1"]
        .into_iter()
        .flat_map(|stream| fs::read_dir(directory.join(stream)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with("prepared"))
        .collect();
    segments.sort();
    segments
}

fn report(directory: &Directory, line: &str) -> serde_json::Value {
    serde_json::from_str(&succeeds(directory, &format!("{line} --json -"))).unwrap()
}

#[test]
fn a_bench_reports_the_scans_beside_it() {
    let directory = Directory::new();
    for workload in ["ycsb --records 500 --variant one-access", &format!("tpcc {SMALL_TPCC}")] {
        let report =
            report(&directory, &format!("bench {workload} --seconds 0.5 --workers 1 --snapshot-scans 2 {SMALL_FILES}"));
        let scans = &report["snapshot_scans"];
        let figure = |name: &str| scans[name].as_f64().unwrap();
        assert!(figure("threads") == 2.0 && figure("scans") > 1.0 && figure("ended") == 0.0, "{scans}");
        assert!(figure("rows") >= 500.0 * figure("scans") && figure("rows_per_s") > 0.0, "{scans}");
        assert!(figure("oldest_seconds") > 0.0 && figure("seconds") >= 0.5, "{scans}");
        assert!(report["acknowledged"].as_u64() > Some(0) && report["consistent"] != false, "{report}");
    }
    let line = format!("bench ycsb --records 500 --seconds 0.5 --snapshot-scans 1 {SMALL_FILES}");
    let text = succeeds(&directory, &line);
    assert!(text.contains(" by 1 thread, ") && text.contains("the oldest snapshot was"), "{text}");
    assert!(!succeeds(&directory, "bench ycsb --records 500 --transactions 10").contains("oldest snapshot"));
}

#[test]
fn a_bench_reports_what_was_acknowledged() {
    let directory = Directory::new();
    for protocol in ["none", "serial", "poplar"] {
        let line = format!("bench tpcc {SMALL_TPCC} --transactions 300 --protocol {protocol} {SMALL_FILES}");
        let report = report(&directory, &line);
        assert_eq!(report["workload"], "tpcc");
        assert_eq!(report["protocol"], protocol);
        assert_eq!(report["acknowledged"], 300);
        assert_eq!(report["consistent"], true);
        assert_eq!(report["log_bytes"].as_u64().unwrap() > 0, protocol != "none", "{report}");
        assert_eq!(report["syncs"].as_u64().unwrap() > 0, protocol != "none", "{report}");
        assert!(report["latency_us"]["p50"].as_f64().unwrap() > 0.0);
    }
    for variant in ["write-only", "hybrid", "one-access", "two-access"] {
        let line = format!("bench ycsb --records 500 --transactions 300 --variant {variant} --streams 2");
        assert_eq!(report(&directory, &line)["acknowledged"], 300);
    }
    for workload in
        ["smallbank --accounts 500", "smallbank --accounts 500 --journal", "voter", "bank --people 50 --journal"]
    {
        let report = report(&directory, &format!("bench {workload} --transactions 300 --streams 2"));
        assert_eq!(report["workload"], workload.split(' ').next().unwrap());
        assert_eq!(report["acknowledged"], 300);
        assert_eq!(report["consistent"], true);
    }
    assert_eq!(report(&directory, "bench ycsb --records 500 --seconds 0.2 --rate 500 --warmup 0.1")["rate"], 500.0);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "temporary directories are removed");
}

#[test]
fn a_database_is_loaded_once_and_recovered() {
    let directory = database();
    let again = "bench ycsb --dir db --records 200 --transactions 500 --streams 2";
    let second = report(&directory, again);
    assert!(second["load"].is_null() && second["recovery"]["records"].as_u64().unwrap() >= WRITERS, "{second}");
    let recovered = report(&directory, "recover db --set streams=2");
    assert!(recovered["recovery"]["records"].as_u64().unwrap() >= WRITERS + 500, "{recovered}");
    assert!(recovered["memory"]["accounted"]["rows"].as_u64().unwrap() > 200 * 1000, "{recovered}");
    let error = fails(&directory, "bench ycsb --dir db --records 300 --transactions 1", 1);
    assert!(error.contains("db holds ycsb with 200 records") && error.contains("--dir"), "{error}");
}

#[test]
fn logs_are_dumped_and_verified() {
    let directory = database();
    assert!(succeeds(&directory, "log verify db").contains("sound"));
    let detail = |detail| succeeds(&directory, &format!("log dump db --detail {detail}")).lines().count();
    assert!(detail("segments") < detail("batches") && detail("batches") < detail("records"));
    succeeds(&directory, "checkpoint db");
    assert!(succeeds(&directory, "log verify db").contains("checkpoint 1: 2"));
    let dump = succeeds(&directory, "log dump db");
    let part = dump.lines().skip_while(|line| !line.starts_with("  checkpoint 1: Epoch up to ")).collect::<Vec<_>>();
    assert!(part[1].contains(" bytes, db/checkpoints/00000001-0000.ckpt") && part[2].contains(" rows in "), "{dump}");
    fs::write(directory.join("db/checkpoints/00000001-0000.ckpt"), "").unwrap();
    let output = osier(&directory, "log dump db");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("      ! checkpoint part db/checkpoints/00000001-0000.ckpt")
    );
    assert_eq!(output.status.code(), Some(10), "damage is damage");
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: 1 place is damaged"), "{output:?}");
}

#[test]
fn a_wrong_directory_is_named() {
    let directory = Directory::new();
    for command in ["recover nowhere", "log verify nowhere", "log dump nowhere"] {
        let error = fails(&directory, command, 14);
        assert!(error.contains("nowhere"), "{error}");
    }
    // Beside a database, and where the system lets nobody create one.
    succeeds(&directory, &format!("bench ycsb --dir db --records 10 --transactions 1 {SMALL_FILES}"));
    for command in ["recover db nothere", "log verify db nothere", "status db nothere", "checkpoint db nothere"] {
        let error = fails(&directory, command, 14);
        assert!(error.contains("nothere") && error.contains("check the path"), "{error}");
    }
    let error = fails(&directory, "bench ycsb --records 10 --transactions 1 --dir /proc/osier", 13);
    assert!(error.contains("/proc/osier"), "{error}");
    fs::remove_dir_all(directory.join("db")).unwrap();
    fs::write(directory.join("notes.txt"), "mine").unwrap();
    let error = fails(&directory, "bench ycsb --records 10 --transactions 1 --dir .", 14);
    assert!(error.contains("notes.txt"), "{error}");
    assert_eq!(fs::read_to_string(directory.join("notes.txt")).unwrap(), "mine");
}

#[test]
fn a_truncated_segment_is_named() {
    let directory = database();
    let segment = &segments(&directory)[0];
    let length = fs::metadata(segment).unwrap().len();
    fs::OpenOptions::new().write(true).open(segment).unwrap().set_len(length / 2).unwrap();
    let name = segment.file_name().unwrap().to_string_lossy().into_owned();
    for command in ["recover db", "log verify db"] {
        let error = fails(&directory, command, 10);
        assert!(error.contains(&name), "{error}");
    }
}

#[test]
fn a_flipped_byte_in_the_middle_is_named() {
    let directory = database();
    let segment = &segments(&directory)[0];
    let mut bytes = fs::read(segment).unwrap();
    // In the first record of the first batch.
    bytes[4096 + 120] ^= 1;
    fs::write(segment, bytes).unwrap();
    let name = segment.file_name().unwrap().to_string_lossy().into_owned();
    for command in ["recover db", "log verify db"] {
        let error = fails(&directory, command, 10);
        assert!(error.contains(&name), "{error}");
    }
}

#[test]
fn options_that_do_not_fit_are_explained() {
    let directory = Directory::new();
    let error = fails(&directory, "bench ycsb --protocol sillo", 2);
    assert!(error.contains("none, serial, poplar, gsn, plover, silo"), "{error}");
    let error = fails(&directory, "bench ycsb --protokol poplar", 2);
    assert!(error.contains("--protocol"), "{error}");
    let error = fails(&directory, "bench ycsb --protocol serial --streams 2", 2);
    assert!(error.contains("streams"), "{error}");
    let error = fails(&directory, "bench ycsb --set rink_bytes=1", 2);
    assert!(error.contains("ring_bytes"), "{error}");
    for unfit in ["--protocol none", "--set protocol=none", "--durability relaxed", "--seconds 0"] {
        let error = fails(&directory, &format!("crash ycsb {unfit}"), 2);
        assert!(
            error.contains("a crash test needs ") && error.contains("choose ") | error.contains("leave out "),
            "{error}"
        );
    }
    let error = fails(&directory, "bench smallbank --accounts 50 --hot-percent 5", 2);
    assert!(error.contains("--hot-accounts"), "{error}");
    let error = fails(&directory, "crash ycsb --fields 1 --field-bytes 7", 2);
    assert!(error.contains("--field-bytes"), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_database_keeps_its_log_but_where_it_is_told_otherwise() {
    let directory = database();
    succeeds(&directory, "backup db copy");
    for refused in [
        "backup db more --set streams=1",
        "restore copy new --set protocol=gsn",
        "export --dir db --to out --set logged=physiological",
        "procedure list --dir db --set protocol=silo",
    ] {
        let error = fails(&directory, refused, 2);
        assert!(
            error.contains(" of a database: leave out --set ") && error.contains("osier recover DIR..."),
            "{error}"
        );
    }
    let protocol = |expected: &str| {
        let text = succeeds(&directory, "status db");
        assert!(text.contains(&format!("protocol    {expected}, generation")), "{text}");
    };
    protocol("poplar, values");
    // One stream follows from the protocol.
    succeeds(&directory, &format!("recover db {SMALL_FILES} --set protocol=serial --set logged=commands"));
    protocol("serial, commands");
    succeeds(&directory, &format!("recover db {SMALL_FILES}"));
    protocol("serial, commands");
    succeeds(&directory, &format!("recover db {SMALL_FILES} --set protocol=silo"));
    protocol("silo, values");
}

#[test]
fn a_directory_that_is_in_use_or_closed_to_writing_is_named() {
    let directory = Directory::new();
    fs::write(directory.join("file"), "").unwrap();
    // Below a file nothing can be created, whoever asks.
    let error = fails(&directory, "bench ycsb --records 10 --transactions 1 --dir file/db", 13);
    assert!(error.contains("file/db"), "{error}");
    let json = osier(&directory, "bench ycsb --records 10 --transactions 1 --json file/report.json");
    let error = String::from_utf8_lossy(&json.stderr);
    assert!(!json.status.success() && error.contains("file/report.json"), "{error}");
}

/// At any moment: also before the database is opened, which would make the directory anew.
#[test]
fn an_interrupted_run_removes_its_temporary_directory() {
    let directory = Directory::new();
    let is_empty = || std::fs::read_dir(directory.path()).unwrap().next().is_none();
    for wait_ms in [0, 0, 1, 2, 5, 20, 100, 400] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_osier"))
            .args("bench ycsb --records 1000 --seconds 60".split_whitespace())
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while is_empty() {
            assert!(Instant::now() < deadline, "no temporary directory was made");
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(wait_ms));
        rustix::process::kill_process(rustix::process::Pid::from_child(&run), rustix::process::Signal::INT).unwrap();
        assert_eq!(run.wait().unwrap().code(), Some(130));
        assert!(is_empty(), "the directory is gone, interrupted after {wait_ms} ms");
    }
}
