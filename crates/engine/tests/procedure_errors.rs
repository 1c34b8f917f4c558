//! What people get wrong with procedures: each mistake has an error that says what to do, and leaves the database as it was.

use osier::config::{CheckpointKind, Logged};
use osier::procedure::program::Program;
use osier::table::{Argument, Datum, KeyRange, Schema, Type, Value};
use osier::{Config, Create, Database, Error, Protocol, TransactionOptions};

mod support;

fn home(test: &str) -> std::path::PathBuf {
    support::directory("procedure_errors", test)
}

/// A database with the table `items` of a number and a text.
fn database(config: Config) -> Database {
    let db = Database::open(config).expect("a database");
    let schema = Schema::builder("items").column("id", Type::Int64).column("name", Type::Text).primary_key(["id"]);
    db.create_table(schema.build().expect("a schema")).expect("a table");
    db
}

fn create(db: &Database, text: &str) -> Result<(), Error> {
    db.create_procedure(&Program::parse(text).expect("a program"))
}

/// Creates a procedure without parameters or results, and calls it.
fn run(db: &Database, body: &str) -> Result<(), Error> {
    db.replace_procedure(&Program::parse(&format!("procedure test() {{ {body} }}"))?)?;
    let (_, receipt) = db.session()?.call("test", &[])?;
    Ok(receipt.wait()?)
}

fn told(result: Result<(), Error>) -> (String, String) {
    let error = result.expect_err("a mistake");
    (error.sqlstate().to_owned(), error.to_string())
}

fn names(db: &Database) -> Vec<String> {
    let body = |tx: &osier::Transaction<'_>| {
        let (table, mut found) = (tx.table("items")?, Vec::new());
        for row in tx.scan(&table, KeyRange::all())? {
            found.push(row?.text(table.column("name")?).to_owned());
        }
        Ok::<_, Error>(found)
    };
    db.run(body).expect("rows").0
}

#[test]
fn what_a_program_names_must_be_there() {
    let db = database(Config::new(home("names")));
    for (body, expected) in [
        ("insert into item (id) values (1);", "item"),
        ("insert into items (ident) values (1);", "ident"),
        ("call nothing();", "procedure `nothing` does not exist"),
        ("let a = nextval('numbers');", "numbers"),
        ("let a = b + 1;", "`b`"),
        ("let a bigint = 'x';", "bigint"),
    ] {
        let (sqlstate, message) = told(run(&db, body));
        assert!(message.contains(expected) && sqlstate.starts_with("42"), "{body}: {sqlstate} {message}");
    }
    // A procedure that calls itself would be there only when it is there.
    let (_, message) = told(create(&db, "procedure deep(n bigint) { call deep(n - 1); }"));
    assert!(message.contains("deep"), "{message}");
}

#[test]
fn a_procedure_cannot_come_to_call_itself() {
    let db = database(Config::new(home("recursion")));
    create(&db, "procedure a() { let x = 1; }").expect("a");
    create(&db, "procedure b() { call a(); }").expect("b");
    let (sqlstate, message) = told(db.replace_procedure(&Program::parse("procedure a() { call b(); }").expect("a")));
    assert!(sqlstate == "42P13" && message.contains("itself"), "{sqlstate} {message}");
    // A chain without a circle may be long.
    for at in 0..12 {
        let callee = if at == 0 { "b".to_owned() } else { format!("c{}", at - 1) };
        create(&db, &format!("procedure c{at}() {{ call {callee}(); }}")).expect("a link of the chain");
    }
    db.session().expect("a session").call("c11", &[]).expect("a call through the chain");
}

#[test]
fn what_fails_says_where_and_why() {
    let db = database(Config::new(home("failures")));
    for (body, sqlstate, expected) in [
        ("let a = 1; let b = 0; let c = a / b;", "22012", "zero"),
        ("let a = 9223372036854775807; let b = a + 1;", "22003", "out of range"),
        ("let a = 40000; let b smallint = a::smallint;", "22003", "out of range"),
        ("let a bigint; insert into items (id, name) values (a, 'x');", "23502", "id"),
        ("insert into items (id) values (1);", "42P13", "give it a value"),
        (
            "insert into items (id, name) values (1, 'x'); insert into items (id, name) values (1, 'y');",
            "23505",
            "items",
        ),
        ("for i = 1 to 10 { abort 'P0001' 'at ' || i; }", "P0001", "at 1"),
    ] {
        let (found, message) = told(run(&db, body));
        assert!(found == sqlstate && message.contains(expected), "{body}: {found} {message}");
        // Of the text as it is printed.
        assert!(message.contains("line "), "{message}");
    }
    assert!(names(&db).is_empty(), "nothing took effect");
}

#[test]
fn what_is_caught_goes_on_without_what_failed() {
    let db = database(Config::new(home("caught")));
    let body = "
        insert into items (id, name) values (1, 'first');
        try {
            insert into items (id, name) values (2, 'undone');
            insert into items (id, name) values (1, 'again');
        } catch '23505' as error {
            insert into items (id, name) values (3, error.sqlstate);
        }
        try { let a = 0; let b = 1 / a; } catch '22' { insert into items (id, name) values (4, 'class'); }";
    run(&db, body).expect("all is caught");
    assert_eq!(names(&db), ["first", "23505", "class"]);
    // Another SQLSTATE is not.
    let (sqlstate, _) = told(run(&db, "try { abort 'P0001' 'no'; } catch '23505' { let a = 1; }"));
    assert_eq!(sqlstate, "P0001");
}

#[test]
fn a_call_without_an_end_ends() {
    let config = Config::new(home("bounds")).procedure_steps_max(10_000).procedure_bytes_max(64 * 1024);
    let db = database(config);
    let (sqlstate, message) = told(run(&db, "while true { }"));
    assert!(sqlstate == "54001" && message.contains("procedure_steps_max") && message.contains("test"), "{message}");
    // No `catch` keeps it.
    let (sqlstate, _) = told(run(&db, "try { while true { } } catch any { let a = 1; }"));
    assert_eq!(sqlstate, "54001");
    let (sqlstate, message) = told(run(&db, "let a = 'x'; while true { set a = a || a; }"));
    assert!(sqlstate == "53200" && message.contains("procedure_bytes_max"), "{sqlstate} {message}");
    run(&db, "for i = 1 to 100 { let a = i; }").expect("a short loop");
}

#[test]
fn a_read_only_transaction_calls_what_only_reads() {
    let db = database(Config::new(home("read_only")));
    create(&db, "procedure add(id bigint) { insert into items (id, name) values (id, 'x'); }").expect("a procedure");
    create(&db, "procedure find(id bigint) returns (name text) { get items (id) as item; return item.name; }")
        .expect("a procedure");
    let mut session = db.session().expect("a session");
    let options = TransactionOptions { read_only: true, ..TransactionOptions::default() };
    let error = session.call_with(options, "add", &[1.into()]).expect_err("it writes");
    assert!(error.to_string().contains("items") && error.to_string().contains("read-only"), "{error}");
    let (output, _) = session.call_with(options, "find", &[1.into()]).expect("it reads");
    assert_eq!(output.value("name"), &Datum::Null);
}

#[test]
fn arguments_of_the_wrong_type_are_named() {
    let db = database(Config::new(home("arguments")));
    create(&db, "procedure add(id smallint, names text[]) { let a = id; }").expect("a procedure");
    let mut session = db.session().expect("a session");
    let mut told = |arguments: &[Argument<'_>]| {
        let error = session.call("add", arguments).expect_err("wrong");
        assert_eq!(error.sqlstate(), "42883");
        error.to_string()
    };
    assert!(told(&[1.into()]).contains("it takes (id smallint, names text[])"));
    assert!(told(&[40_000.into(), Vec::new().into()]).contains("argument 1 `id`"));
    assert!(told(&[1.into(), "a".into()]).contains("argument 2 `names`"));
    assert!(told(&[1.into(), vec![Value::Int(1)].into()]).contains("argument 2 `names`"));
    assert!(told(&[vec![Value::Int(1)].into(), Vec::new().into()]).contains("argument 1 `id`"));
}

#[test]
fn a_definition_that_goes_is_missed_by_the_next_call() {
    let db = database(Config::new(home("gone")));
    create(&db, "procedure inner_one() returns (a bigint) { return 1; }").expect("a procedure");
    create(&db, "procedure outer_one() returns (a bigint) { call inner_one() into b; return b; }")
        .expect("a procedure");
    create(
        &db,
        "procedure count_items() returns (a bigint) { let n = 0; for i in items { set n = n + 1; } return n; }",
    )
    .expect("a procedure");
    let mut session = db.session().expect("a session");
    let mut call = |name: &str| session.call(name, &[]).map(|(output, _)| output.value("a").int());
    assert_eq!(call("outer_one").expect("a call"), Some(1));
    assert_eq!(call("count_items").expect("a call"), Some(0));

    // A callee that is replaced is the new one at once; one that returns something else no longer fits.
    db.replace_procedure(&Program::parse("procedure inner_one() returns (a bigint) { return 2; }").expect("a program"))
        .expect("replaced");
    assert_eq!(call("outer_one").expect("a call"), Some(2));
    db.replace_procedure(&Program::parse("procedure inner_one() { let a = 1; }").expect("a program"))
        .expect("replaced");
    assert!(call("outer_one").expect_err("it returns nothing").to_string().contains("inner_one"));
    db.drop_procedure("inner_one").expect("dropped");
    assert!(call("outer_one").expect_err("it is gone").to_string().contains("`inner_one` does not exist"));

    db.run(|tx| tx.drop_table(&tx.table("items")?)).expect("dropped");
    let told = call("count_items").expect_err("its table is gone").to_string();
    assert!(told.contains("items"), "{told}");
    let schema = Schema::builder("items").column("id", Type::Int64).primary_key(["id"]);
    db.create_table(schema.build().expect("a schema")).expect("a table");
    assert_eq!(call("count_items").expect("it is there again"), Some(0));
}

#[test]
fn a_database_of_commands_is_opened_in_every_way() {
    let home = home("ways");
    let commands = |protocol| {
        let streams = if protocol == Protocol::Serial { 1 } else { 2 };
        support::config(&home, protocol, streams).logged(Logged::Commands)
    };
    let add = |db: &Database, id: i64| {
        let (_, receipt) = db.session().expect("a session").call("add", &[id.into()]).expect("a call");
        receipt.wait().expect("durable");
    };
    let db = database(commands(Protocol::Serial));
    create(&db, "procedure add(id bigint) { insert into items (id, name) values (id, 'item ' || id); }")
        .expect("created");
    add(&db, 1);
    db.close().expect("closed");

    let refused = |config: Config| Database::open(config).map(drop).expect_err("refused").to_string();
    let told = refused(commands(Protocol::Poplar));
    assert!(told.contains("protocol poplar") && told.contains("serial, gsn or taurus"), "{told}");
    let told = refused(commands(Protocol::Serial).checkpoint_kind(CheckpointKind::Fuzzy));
    assert!(told.contains("checkpoint"), "{told}");

    // Each of these logs what it can, and reads what the one before has logged.
    let values = |protocol, streams| support::config(&home, protocol, streams).create(Create::Never);
    let ways = [
        values(Protocol::Poplar, 2),
        commands(Protocol::Gsn),
        values(Protocol::Poplar, 2).checkpoint_kind(CheckpointKind::Fuzzy),
        commands(Protocol::Serial),
        values(Protocol::Gsn, 3),
        commands(Protocol::Gsn),
        values(Protocol::Taurus, 3),
        commands(Protocol::Taurus),
    ];
    for (id, config) in (2..).zip(ways) {
        let db = Database::open(config).expect("it opens");
        assert_eq!(names(&db).len(), id as usize - 1);
        add(&db, id);
        if db.config().checkpoint_kind == CheckpointKind::Fuzzy {
            db.checkpoint().expect("a checkpoint");
            add(&db, -id);
            db.run(|tx| tx.delete(&tx.table("items")?, &[Value::Int(-id)])).expect("deleted");
        }
        db.close().expect("closed");
    }
    let db = Database::open(values(Protocol::Poplar, 1)).expect("it opens");
    let expected: Vec<String> = (1..=9).map(|id| format!("item {id}")).collect();
    assert_eq!(names(&db), expected);
}
