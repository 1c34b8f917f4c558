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

/// The global dependency graph that `procedure graph` prints: blocks with their slices.
fn blocks(printed: &str) -> Vec<&str> {
    let (_, global) = printed.split_once("global dependency graph\n").unwrap();
    global.lines().map(str::trim).collect()
}

/// PACMAN, figures 3 to 5.
#[test]
fn the_bank_is_divided_as_in_the_paper() {
    let directory = Directory::new();
    succeeds(&directory, "bench bank --procedures --transactions 1 --dir bank");
    let printed = succeeds(&directory, "procedure graph --dir bank --draw bank.svg");
    let (_, shown) = GUIDE.split_once("```text\nprocedure transfer\n").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    assert!(printed.contains(shown.trim_end()), "the page shows what is printed:\n{printed}");
    let expected = [
        "block Bα: T1; reads family",
        "block Bβ: D1, T2; modifies current; after Bα",
        "block Bγ: D2, T3; modifies saving; after Bβ",
        "block Bδ: D3; modifies stats; after Bβ",
    ];
    assert_eq!(blocks(&printed), expected);
    let drawn = std::fs::read_to_string(directory.join("bank.svg")).unwrap();
    for name in ["Start", "End", "Block Bα", "Block Bδ", "T1  transfer", "write saving"] {
        assert!(drawn.contains(&format!(">{name}</text>")), "{name}:\n{drawn}");
    }
    // Two local graphs of two edges, and six edges of the global one.
    assert_eq!(drawn.matches("<polyline").count(), 2 + 2 + 6);

    let graph = json(&directory, "procedure graph transfer deposit --dir bank");
    assert_eq!(graph["edges"], serde_json::json!([[0, 1], [1, 2], [1, 3]]));
    assert_eq!(graph["procedures"][0]["slices"][1]["tables"][0]["table"], "current");
    let chopped = succeeds(&directory, "procedure graph transfer deposit --chopping --dir bank");
    assert_eq!(blocks(&chopped).len(), 2, "{chopped}");
}

/// PACMAN, figure 21.
#[test]
fn tpc_c_is_divided_as_in_the_paper() {
    let directory = Directory::new();
    let scale = "--warehouses 1 --items 100 --customers 30";
    succeeds(&directory, &format!("bench tpcc {scale} --procedures --transactions 1 --dir tpcc"));
    let printed = succeeds(&directory, "procedure graph --dir tpcc --draw tpcc.dot");
    let expected = [
        "block Bα: N1, P1; modifies warehouse",
        "block Bβ: N2, P2; modifies district",
        "block Bγ: D1, N5; modifies new_order; after Bβ",
        "block Bδ: D2, N4; modifies orders; after Bγ",
        "block Bε: N6; reads item",
        "block Bζ: N7; modifies stock",
        "block Bη: D3, N8; modifies order_line; after Bδ, Bε, Bζ",
        "block Bθ: D4, N3, P3; modifies customer; after Bη",
        "block Bι: P4; modifies history; after Bα, Bθ",
    ];
    assert_eq!(blocks(&printed), expected);
    let drawn = std::fs::read_to_string(directory.join("tpcc.dot")).unwrap();
    assert_eq!(drawn.matches("style=dashed").count(), expected.len(), "{drawn}");
    // What New-Order reads of warehouses and customers nobody changes.
    let printed = succeeds(&directory, "procedure graph --dependencies columns --dir tpcc");
    assert!(blocks(&printed).contains(&"block Bα: N1; reads warehouse"), "{printed}");
}

#[test]
fn a_graph_of_nothing_or_into_nothing_is_refused() {
    let directory = Directory::new();
    filled(&directory);
    let said = fails(&directory, "procedure graph nothing --dir bank.osier", 1);
    assert!(said.contains("nothing"), "{said}");
    let said = fails(&directory, "procedure graph --draw graph.png --dir bank.osier", 2);
    assert!(said.contains(".svg or .dot"), "{said}");
}
