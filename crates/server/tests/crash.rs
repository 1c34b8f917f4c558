//! `osier crash` as a user runs it, short and small: kills the process, recovers, and finds everything.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::{Directory, succeeds};

/// So small that segments are left behind within a round.
const SMALL_FILES: &str = "--set ring_bytes=4194304 --set segment_bytes=8388608";

fn crash(arguments: &str) -> serde_json::Value {
    let directory = Directory::new();
    let output = succeeds(&directory, &format!("crash {arguments} {SMALL_FILES} --json report.json"));
    assert!(output.contains("0 lost"), "{output}");
    let json = std::fs::read_to_string(directory.join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["lost"], 0, "{report}");
    assert_eq!(report["consistent"], true, "{report}");
    assert!(report["acknowledged"].as_u64().unwrap() > 0, "{report}");
    assert!(report["latency_us"]["p50"].as_f64().unwrap() > 0.0, "{report}");
    assert!(report["syncs"].as_u64().unwrap() > 0, "{report}");
    assert!(report["recovery"]["records"].as_u64().unwrap() > 0, "{report}");
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["report.json"], "the temporary directory is removed");
    report
}

#[test]
fn tpcc_survives_kills_on_two_streams() {
    let report = crash("tpcc --streams 2 --rounds 2 --seconds 0.3 --warehouses 1 --items 200 --customers 60 --seed 1");
    assert_eq!(report["rounds"], 2);
    assert_eq!(report["streams"], 2);
}

#[test]
fn ycsb_survives_kills_on_one_stream() {
    crash("ycsb --rounds 2 --seconds 0.3 --records 500 --seed 2");
}

#[test]
fn ycsb_survives_kills_of_blind_writes_and_of_the_serial_protocol() {
    crash("ycsb --rounds 1 --seconds 0.2 --records 500 --variant write-only --streams 2 --seed 3");
    crash("ycsb --rounds 1 --seconds 0.2 --records 500 --protocol serial --blocking --seed 4");
}

#[test]
fn banks_and_votes_survive_kills() {
    let short = "--rounds 2 --seconds 0.3 --streams 2";
    crash(&format!("smallbank {short} --accounts 500 --hot-percent 50 --hot-accounts 10 --seed 6"));
    crash(&format!("voter {short} --phones 2 --seed 7"));
    crash(&format!("bank {short} --people 500 --seed 8"));
}

/// Where a checkpoint takes longer than a round, every kill hits one; the first recovery is killed at once.
#[test]
fn kills_hit_checkpoints_and_recoveries_and_are_counted() {
    let checkpoints = "--checkpoint-interval 10ms --set checkpoint_bytes_per_second=65536";
    let report = crash(&format!(
        "ycsb --rounds 4 --seconds 0.4 --records 2000 --fields 10 --field-bytes 100 --seed 5 {checkpoints}"
    ));
    let kills = |figures: &serde_json::Value, what: &str| figures["kills"][what].as_u64().unwrap();
    assert!(kills(&report, "total") > 4 && kills(&report, "in_recovery") >= 1, "{report}");
    assert!(kills(&report, "in_checkpoint") >= 2, "{report}");
    let rounds = report["round_details"].as_array().unwrap();
    for what in ["total", "in_checkpoint", "in_recovery"] {
        assert_eq!(
            rounds.iter().map(|round| kills(round, what)).sum::<u64>(),
            kills(&report, what),
            "{what}: {report}"
        );
    }
}
