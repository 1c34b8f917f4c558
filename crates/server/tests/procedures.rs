//! The commands about procedures, on the real binary: those of docs/procedures.md, and mistakes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use osier::call::{OpaqueProcedure, Procedures};
use osier::config::Logged;
use osier::table::{Datum, Schema, Type, Value};
use osier::{Config, Database, Protocol, SequenceOptions};
use support::{Directory, fails, json, succeeds};

const GUIDE: &str = include_str!("../../../docs/procedures.md");
const PROCEDURES: &str = include_str!("../../engine/examples/bank.procedures");
const MONEY: Type = Type::Numeric { precision: 12, scale: 2 };

/// Two accounts of 100 each, in `bank.osier`.
fn filled(directory: &Directory) -> Config {
    let config = Config::new(directory.join("bank.osier")).protocol(Protocol::Gsn).streams(2).logged(Logged::Commands);
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
    config
}

#[test]
fn the_guides_commands_print_what_it_says() {
    let directory = Directory::new();
    filled(&directory);
    let (_, console) = GUIDE.split_once("```console\n").unwrap();
    let (console, rest) = console.split_once("```").unwrap();
    assert!(!rest.contains("```console"), "one story");
    for step in console.split("$ osier ").skip(1) {
        let (command, expected) = step.split_once('\n').unwrap();
        // Quotes are for the shell.
        assert_eq!(succeeds(&directory, &command.replace('\'', "")), expected, "{command}");
    }
    // The calls were logged, with the settings that the database has.
    let dumped = succeeds(&directory, "log dump bank.osier");
    assert!(dumped.contains("`withdraw` version 1 (account = 1, amount = 30.50)"), "{dumped}");
}

/// What opens a database goes on with what it logs.
#[test]
fn commands_go_on_with_images() {
    let directory = Directory::new();
    let config = filled(&directory);
    Database::open(config.logged(Logged::Physiological)).unwrap().close().unwrap();
    succeeds(&directory, "procedure load bank.procedures --dir bank.osier");
    let status = succeeds(&directory, "status bank.osier");
    assert!(status.contains("gsn, physiological, "), "{status}");
    let dumped = succeeds(&directory, "log dump bank.osier");
    assert!(dumped.contains("gsn, physiological, 2 streams"), "{dumped}");
}

#[test]
fn procedures_are_replaced_printed_and_dropped() {
    let directory = Directory::new();
    filled(&directory);
    let load = "procedure load bank.procedures --dir bank.osier";
    succeeds(&directory, load);
    assert_eq!(succeeds(&directory, load).lines().filter(|line| line.starts_with("left unchanged")).count(), 3);
    std::fs::write(directory.join("bank.procedures"), PROCEDURES.replace("has only", "holds only")).unwrap();
    assert!(succeeds(&directory, load).starts_with("replaced withdraw\n"));
    let listed = json(&directory, "procedure list --dir bank.osier");
    let withdraw = listed.as_array().unwrap().iter().find(|of| of["name"] == "withdraw").unwrap();
    assert_eq!((&withdraw["version"], &withdraw["kept"]), (&2.into(), &serde_json::json!([1])), "{listed}");
    assert!(succeeds(&directory, "procedure print withdraw --dir bank.osier").contains("holds only"));
    assert!(succeeds(&directory, "procedure print withdraw --version 1 --dir bank.osier").contains("has only"));
    let called = json(&directory, "procedure call collect {1,9} {'1.25',NULL} --dir bank.osier");
    assert_eq!(called, serde_json::json!([{ "account": 9, "why": "there is no account 9" }]));

    assert_eq!(succeeds(&directory, "procedure drop total --dir bank.osier"), "dropped total\n");
    assert!(fails(&directory, "procedure print total --dir bank.osier", 1).contains("`total` does not exist"));
}

#[test]
fn mistakes_are_named() {
    let directory = Directory::new();
    let config = filled(&directory);
    succeeds(&directory, "procedure load bank.procedures --dir bank.osier");
    let fails_by = |line: &str, code: i32, expected: &str| {
        let error = fails(&directory, &format!("procedure {line} --dir bank.osier"), code);
        assert!(error.contains(expected), "{line}: {error}");
    };
    fails_by("call withdraw 1", 1, "it takes (account bigint, amount numeric(12,2))");
    fails_by("call withdraw 1 2 3", 1, "3 arguments are given for 2 parameters");
    fails_by("call withdraw one 2", 2, "argument 1 of `withdraw`, account bigint: 'one' is no bigint");
    fails_by("call collect 1 {2}", 2, "an array is written {a, b}");
    fails_by("call withdraw 1 1000", 1, "account 1 has only 100.00");
    fails_by("call withdrow 1 1", 1, "`withdrow` does not exist");
    fails_by("print withdraw --version 7", 1, "version 7 of procedure `withdraw` is not kept");
    fails_by("load missing.procedures", 13, "missing.procedures");

    // All or nothing.
    std::fs::write(
        directory.join("bad.procedures"),
        "procedure one() { let a = 1; }\nprocedure two() { call three(); }",
    )
    .unwrap();
    fails_by("load bad.procedures", 1, "`three` does not exist");
    fails_by("print one", 1, "`one` does not exist");
    std::fs::write(directory.join("bad.procedures"), "procedure one() {\n    let a = ;\n}").unwrap();
    fails_by("load bad.procedures", 2, "bad.procedures, line 2, column 13");

    // Another process has it.
    let db = Database::open(config.clone()).unwrap();
    fails_by("list", 11, "is open in process");
    db.close().unwrap();
    fails(&directory, "procedure list --dir nothing", 14);

    // A function of a program, in the log and then not.
    let function = || {
        Procedures::new().register(
            OpaqueProcedure::new("gift", 1, |call| {
                let tx = call.transaction();
                let row = [Value::Int(7), Value::Text("Bob"), Value::Numeric(1)];
                tx.insert(&tx.table("accounts")?, &row).map(|()| vec![Datum::Int(7)])
            })
            .returns("id", Type::Int64),
        )
    };
    let db = Database::open_with(config.clone(), function()).unwrap();
    db.session().unwrap().call("gift", &[]).unwrap().1.wait().unwrap();
    db.close().unwrap();
    fails_by("list", 1, "there is no procedure 4 `gift` with version 1");
    let db = Database::open_with(config, function()).unwrap();
    db.checkpoint().unwrap();
    db.close().unwrap();
    let listed = succeeds(&directory, "procedure list --dir bank.osier");
    assert!(listed.contains("function  (not registered by this program)"), "{listed}");
    fails_by("call gift", 1, "is a function that this program has not registered");
}
