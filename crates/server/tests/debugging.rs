//! The commands that look at transactions of a log, on the real binary: calls by their names, one transaction run again, and what
//! is said where that cannot be.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use osier::call::{OpaqueProcedure, Procedures};
use osier::config::Logged;
use osier::table::{Datum, Schema, Type, Value};
use osier::{Config, Database, Protocol, SequenceOptions};
use support::{Directory, fails, json, osier, succeeds};

const PROCEDURES: &str = include_str!("../../engine/examples/bank.procedures");
const MONEY: Type = Type::Numeric { precision: 12, scale: 2 };

/// Two accounts of 100 each in `db`, and the procedures of the guide.
fn filled(directory: &Directory, protocol: Protocol, logged: Logged) -> Config {
    let config = Config::new(directory.join("db")).protocol(protocol).logged(logged).command_hash_interval(1);
    let db = Database::open(config.clone()).unwrap();
    let accounts = Schema::builder("accounts").column("id", Type::Int64).column("owner", Type::Text);
    let accounts = accounts.column("balance", MONEY).primary_key(["id"]).index("by_owner", ["owner"]);
    let accounts = db.create_table(accounts.build().unwrap()).unwrap();
    let journal = Schema::builder("journal").column("id", Type::Int64).column("account", Type::Int64);
    let journal = journal.column("amount", MONEY).column("at", Type::Timestamp).primary_key(["id"]);
    db.create_table(journal.build().unwrap()).unwrap();
    db.create_sequence(&SequenceOptions::new("journal_ids")).unwrap();
    for id in 1..=2 {
        let row = [Value::Int(id), Value::Text("Ada"), Value::Numeric(10_000)];
        db.run(|tx| tx.insert(&accounts, &row)).unwrap().1.wait().unwrap();
    }
    db.close().unwrap();
    std::fs::write(directory.join("bank.procedures"), PROCEDURES).unwrap();
    succeeds(directory, "procedure load bank.procedures --dir db");
    config
}

/// The stamps of the transactions that are printed with `what` in the line behind.
fn stamps(dumped: &str, what: &str) -> Vec<u64> {
    let lines: Vec<_> = dumped.lines().collect();
    let found = lines.windows(2).filter(|pair| pair[1].contains(what));
    let stamp = |pair: &[&str]| {
        let (_, rest) = pair[0].split_once(": stamp ").unwrap();
        rest.split_once(',').unwrap().0.parse().unwrap()
    };
    found.map(stamp).collect()
}

#[test]
fn calls_are_printed_by_name_and_run_again() {
    for protocol in [Protocol::Serial, Protocol::Gsn] {
        let directory = Directory::new();
        let config = filled(&directory, protocol, Logged::Commands);
        succeeds(&directory, "procedure call withdraw 1 30.50 --dir db");
        succeeds(&directory, "procedure call collect {1,2} {5,500} --dir db");
        let dumped = succeeds(&directory, "log dump db");
        let call = "`withdraw` version 1 (account = 1, amount = 30.50), time ";
        assert!(dumped.contains(call) && dumped.contains(", drew 1\n"), "{dumped}");
        assert!(dumped.contains("`collect` version 1 (ids = {1, 2}, amounts = {5.00, 500.00}), time "), "{dumped}");
        assert!(!succeeds(&directory, "log dump db --detail batches").contains("withdraw"));

        let [stamp] = stamps(&dumped, call)[..] else { panic!("{dumped}") };
        let shown = succeeds(&directory, &format!("log replay db --to {stamp}"));
        assert!(shown.starts_with(&format!("transaction {stamp} of epoch ")) && shown.contains(call), "{shown}");
        let change = "wrote    (id)=(1) of table `accounts`\n             before (1, 'Ada', 100.00)\n             \
                      after  (1, 'Ada', 69.50)\n";
        assert!(
            shown.contains(change) && shown.contains("outcome  it runs to its end; the log has no hash"),
            "{shown}"
        );
        assert!(!shown.contains("step"), "{shown}");
        let traced = succeeds(&directory, &format!("log replay db --to {stamp} --trace"));
        let step = "wrote (id)=(1) of table `accounts`: (1, 'Ada', 69.50) in place of (1, 'Ada', 100.00)";
        assert!(traced.contains("  step     ") && traced.contains(step), "{traced}");
        // The rows of others, from the log.
        let [inserted, ..] = stamps(&dumped, "put table 16 `accounts` key")[..] else { panic!("{dumped}") };
        let shown = succeeds(&directory, &format!("log replay db --to {inserted}"));
        assert!(shown.contains("before nothing\n             after  (1, 'Ada', 100.00)"), "{shown}");
        assert!(shown.contains("its rows are in the log"), "{shown}");

        let error = fails(&directory, "log replay db --to 999999999", 2);
        assert!(error.contains("transaction 999999999") && error.contains("the nearest one is "), "{error}");
        assert!(fails(&directory, "log replay nowhere --to 1", 14).contains("nowhere"));
        let db = Database::open(config.clone()).unwrap();
        let error = fails(&directory, &format!("log replay db --to {stamp}"), 11);
        assert!(error.contains("close that database first"), "{error}");
        db.close().unwrap();

        succeeds(&directory, "checkpoint db");
        let error = fails(&directory, &format!("log replay db --to {stamp}"), 2);
        assert!(error.contains("checkpoint 1 holds what it did"), "{error}");
        // From the checkpoint alone names are known, too.
        succeeds(&directory, "procedure call withdraw 2 1 --dir db");
        let dumped = succeeds(&directory, "log dump db");
        assert!(dumped.contains("`withdraw` version 1 (account = 2, amount = 1.00)"), "{dumped}");
    }
}

#[test]
fn of_values_the_rows_are_shown() {
    let directory = Directory::new();
    filled(&directory, Protocol::Poplar, Logged::Values);
    let dumped = succeeds(&directory, "log dump db");
    let [stamp, ..] = stamps(&dumped, "put table 16 key")[..] else { panic!("{dumped}") };
    let shown = succeeds(&directory, &format!("log replay db --to {stamp} --trace"));
    assert!(shown.contains("wrote    (id)=(1) of table `accounts`\n             after  (1, 'Ada', 100.00)"), "{shown}");
    assert!(!shown.contains("before (") && shown.contains("stamps of protocol poplar order no read"), "{shown}");
}

#[test]
fn a_recovery_that_may_accept_says_what_it_has_accepted() {
    let directory = Directory::new();
    let config = filled(&directory, Protocol::Gsn, Logged::Commands);
    succeeds(&directory, "procedure call withdraw 1 30.50 --dir db");
    // Nothing diverges.
    let report = json(&directory, "recover db --accept-divergence 1");
    assert!(report["recovery"]["accepted"].is_null() && report["recovery"]["replayed"].as_u64() > Some(1), "{report}");
    assert!(fails(&directory, "recover db --accept-divergence 1 --explain", 2).contains("--explain"));
    assert!(fails(&directory, "recover db --set accept_divergence=1", 2).contains("accept_divergence"));

    // A function that is not there is accepted by nobody.
    let gift = OpaqueProcedure::new("gift", 1, |call| {
        let tx = call.transaction();
        tx.insert(&tx.table("accounts")?, &[Value::Int(7), Value::Text("Bob"), Value::Numeric(1)])?;
        Ok(vec![Datum::Int(7)])
    });
    let db = Database::open_with(config, Procedures::new().register(gift.returns("id", Type::Int64))).unwrap();
    db.session().unwrap().call("gift", &[]).unwrap().1.wait().unwrap();
    db.close().unwrap();
    let error = fails(&directory, "recover db --accept-divergence 1", 1);
    assert!(error.contains("there is no procedure 4 `gift` with version 1"), "{error}");
    // Its name is known, its parameters are not.
    assert!(succeeds(&directory, "log dump db").contains("procedure 4 `gift` version 1 (), hash "));
}

#[test]
fn rows_in_place_of_commands_are_warned_of() {
    let directory = Directory::new();
    let small = "--set ring_bytes=4194304 --set segment_bytes=8388608";
    let bench = |options: &str| {
        let line = format!("bench bank --nations 2 --transactions 50 --protocol gsn {small} {options}");
        let output = osier(&directory, &line);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let is_warned = |told: &str| told.lines().filter(|line| line.starts_with("warning: ")).count();
    let told = bench("--payload commands");
    assert!(is_warned(&told) == 1 && told.contains("add --procedures"), "{told}");
    assert_eq!(is_warned(&bench("--set logged=commands")), 1);
    assert_eq!(is_warned(&bench("--payload commands --procedures")), 0);
    assert_eq!(is_warned(&bench("--procedures")), 0);
    let line = format!("crash bank --nations 2 --seconds 1 --rounds 1 --protocol gsn --payload commands {small}");
    let output = osier(&directory, &line);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && is_warned(&told) == 1 && told.contains("add --procedures"), "{told}");
}

#[test]
fn a_replay_is_simulated_and_the_figures_are_written() {
    let directory = Directory::new();
    let line = "bench smallbank --accounts 300 --dir db --protocol gsn --payload commands --procedures --workers 2";
    succeeds(&directory, &format!("{line} --transactions 2000 --set ring_bytes=4194304 --set segment_bytes=8388608"));
    let text = succeeds(&directory, "recover db --simulate 1,2,40 --rounds 1");
    for part in
        ["  order    ", " calls of `amalgamate` version 1, in order", "  limits   planning ", "  replay   40 threads: "]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let found = json(&directory, "recover db --simulate 1,2,40 --rounds 1 --replay pacman-synchronous");
    assert_eq!(found["replays"].as_array().unwrap().len(), 3, "{found}");
    assert!(
        found["transactions"].as_u64() > Some(1000) && found["steps"]["in_order_us"].as_f64() > Some(0.0),
        "{found}"
    );
    assert_eq!(found["replays"][0]["speedup"], 1.0, "{found}");
    assert!(found["replays"][0]["measured_seconds"].as_f64() > Some(0.0), "{found}");

    let error = fails(&directory, "recover db --simulate 2 --replay serial", 2);
    assert!(error.contains("cannot be simulated") && error.contains("recovery_replay=pacman"), "{error}");
    succeeds(&directory, "bench ycsb --dir rows --records 200 --transactions 100");
    let error = fails(&directory, "recover rows --simulate 2", 2);
    assert!(error.contains("no call is to be run again"), "{error}");
    assert!(fails(&directory, "recover nowhere --simulate 2", 14).contains("nowhere"));
}
