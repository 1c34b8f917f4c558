//! Declared procedures through the public API: what they compute, what they refuse, and that a log of commands brings back what
//! they did.

use osier::config::Logged;
use osier::procedure::program::Program;
use osier::table::{Argument, Datum, Schema, Type, Value};
use osier::{Config, Database, Error, Protocol, SequenceOptions};

mod support;

fn home(test: &str) -> std::path::PathBuf {
    support::directory("procedures", test)
}

fn accounts(db: &Database) -> osier::Table {
    let schema = Schema::builder("accounts")
        .column("id", Type::Int64)
        .column("owner", Type::Text)
        .column("balance", Type::Numeric { precision: 12, scale: 2 })
        .nullable_column("changed", Type::Timestamp)
        .primary_key(["id"])
        .index("by_owner", ["owner"]);
    db.create_table(schema.build().expect("a schema")).expect("a table")
}

fn program(text: &str) -> Program {
    Program::parse(text).expect("a program")
}

const TRANSFER: &str = "
procedure transfer(source bigint, target bigint, amount numeric(12,2)) returns (remains numeric(12,2)) {
    update accounts (source) as payer set balance = payer.balance - amount, changed = now() else {
        abort 'P0002' 'there is no account ' || source;
    }
    if payer.balance < amount {
        abort 'P0001' 'account ' || source || ' has only ' || payer.balance;
    }
    update accounts (target) as payee set balance = payee.balance + amount else {
        abort 'P0002' 'there is no account ' || target;
    }
    return payer.balance - amount;
}";

fn filled(config: Config) -> Database {
    let db = Database::open(config).expect("a database");
    let table = accounts(&db);
    let fill = |tx: &osier::Transaction<'_>| {
        for id in 1..=10 {
            let owner = format!("owner {}", id % 3);
            tx.insert(&table, &[Value::Int(id), Value::Text(&owner), Value::Numeric(10_000), Value::Null])?;
        }
        Ok::<_, Error>(())
    };
    db.run(fn_mut(fill)).expect("rows").1.wait().expect("durable");
    db.create_procedure(&program(TRANSFER)).expect("a procedure");
    db
}

/// Names the type of a closure.
fn fn_mut<T>(
    body: impl FnMut(&osier::Transaction<'_>) -> Result<T, Error>,
) -> impl FnMut(&osier::Transaction<'_>) -> Result<T, Error> {
    body
}

fn state(db: &Database) -> Vec<Vec<Datum>> {
    let body = |tx: &osier::Transaction<'_>| {
        let table = tx.table("accounts")?;
        let rows = tx.scan(&table, osier::table::KeyRange::all())?;
        rows.map(|row| Ok(row?.values().map(Datum::from).collect())).collect::<Result<Vec<_>, Error>>()
    };
    db.run(fn_mut(body)).expect("rows").0
}

fn commands(home: &std::path::Path, protocol: Protocol) -> Config {
    let streams = if protocol == Protocol::Serial { 1 } else { 2 };
    support::config(home, protocol, streams).logged(Logged::Commands).command_hash_interval(1)
}

#[test]
fn a_procedure_moves_money_or_says_why_not() {
    let home = home("1");
    let db = filled(Config::new(&home));
    let mut session = db.session().expect("a session");
    let money = |cents| Argument::from(Value::Numeric(cents));
    let (output, receipt) = session.call("transfer", &[1.into(), 2.into(), money(3050)]).expect("a transfer");
    assert_eq!(output.value("remains"), &Datum::Numeric(6950));
    receipt.wait().expect("durable");

    let refused = session.call("transfer", &[1.into(), 2.into(), money(7000)]).expect_err("too much");
    assert_eq!(refused.sqlstate(), "P0001");
    assert!(refused.to_string().starts_with("account 1 has only 69.50 (SQLSTATE P0001"), "{refused}");
    let refused = session.call("transfer", &[1.into(), 20.into(), money(1)]).expect_err("no such account");
    assert_eq!(refused.sqlstate(), "P0002");
    // An integer is as good as a numeric.
    session.call("transfer", &[2.into(), 1.into(), 5.into()]).expect("a transfer");
    let balances: Vec<_> = state(&db).into_iter().map(|row| row[2].clone()).take(2).collect();
    assert_eq!(balances, [Datum::Numeric(7450), Datum::Numeric(12_550)]);
}

#[test]
fn a_wrong_call_is_refused_before_it_begins() {
    let home = home("2");
    let db = filled(Config::new(&home));
    let mut session = db.session().expect("a session");
    let of = |error: Error| match error {
        Error::Procedure(error) => error.to_string(),
        other => panic!("{other}"),
    };
    let told = of(session.call("transfer", &[1.into()]).expect_err("too few"));
    assert_eq!(
        told,
        "procedure `transfer`: 1 arguments are given for 3 parameters; it takes (source bigint, target bigint, amount \
         numeric(12,2))"
    );
    let told = of(session.call("transfer", &[1.into(), "two".into(), 3.into()]).expect_err("a text"));
    assert!(told.contains("argument 2 `target` is text 'two', which bigint does not take"), "{told}");
    let told = of(session.call("transfers", &[]).expect_err("unknown"));
    assert_eq!(told, "procedure `transfers` does not exist; check the name, or create it");
}

#[test]
fn a_log_of_commands_brings_everything_back() {
    for protocol in [Protocol::Serial, Protocol::Gsn, Protocol::Taurus] {
        let home = home(&protocol.to_string());
        let before = {
            let db = filled(commands(&home, protocol));
            db.create_sequence(&SequenceOptions::new("numbers")).expect("a sequence");
            let draws = "
                procedure open_account(owner text) returns (id bigint, luck double precision) {
                    let id = 1000 + nextval('numbers');
                    let luck = random();
                    insert into accounts (id, owner, balance, changed)
                        values (id, owner || ' ' || (luck * 1000)::bigint, (luck * 100)::numeric(12,2), now());
                    return id, luck;
                }";
            db.create_procedure(&program(draws)).expect("a procedure");
            let mut session = db.session().expect("a session");
            for round in 0..200_i64 {
                let (from, to) = (round % 10 + 1, (round * 7) % 10 + 1);
                let _ = session.call("transfer", &[from.into(), to.into(), (round % 5).into()]);
                if round % 10 == 0 {
                    session.call("open_account", &["new".into()]).expect("an account");
                }
                if round % 25 == 0 {
                    // Not by a procedure: logged as a value, at its place.
                    let table = db.table("accounts").expect("the table");
                    let body = |tx: &osier::Transaction<'_>| {
                        tx.update(&table, &[Value::Int(1)], &[(table.column("balance")?, Value::Numeric(round * 100))])
                    };
                    session.run(fn_mut(body)).expect("an update").1.wait().expect("durable");
                }
                if round == 100 {
                    let replaced =
                        TRANSFER.replace("payer.balance - amount, changed", "payer.balance - amount - 0, changed");
                    let replaced = program(&replaced);
                    db.run(fn_mut(|tx| tx.replace_procedure(&replaced))).expect("replaced").1.wait().expect("durable");
                }
            }
            let before = state(&db);
            drop(session);
            db.close().expect("closed");
            before
        };
        assert_eq!(before.len(), 30);
        let db = Database::open(commands(&home, protocol)).expect("recovered");
        let report = db.recovery().expect("a report");
        assert!(report.commands > 100, "{report:?}");
        assert_eq!(state(&db), before, "{protocol}");
        let mut session = db.session().expect("a session");
        let (output, _) = session.call("open_account", &["again".into()]).expect("an account");
        assert!(output.value("id").int().expect("a number") > 1020, "a number is given once");
    }
}

#[test]
fn a_loop_goes_through_an_array_as_it_was() {
    let home = home("loop");
    let db = Database::open(Config::new(&home)).expect("a database");
    let doubled = "
        procedure doubled(xs bigint[]) returns (all_of_them bigint[]) {
            let ys = xs;
            foreach y in ys {
                append y * 10 to ys;
            }
            return ys;
        }";
    db.create_procedure(&program(doubled)).expect("a procedure");
    let mut session = db.session().expect("a session");
    let xs = Argument::Array(vec![Value::Int(1), Value::Int(2)]);
    let (output, _) = session.call("doubled", &[xs]).expect("an array");
    let expected = [1, 2, 10, 20].map(Datum::Int).to_vec();
    assert_eq!(output.value("all_of_them"), &Datum::Array(expected));
}

#[test]
fn an_array_has_an_order_and_each_element_once() {
    let db = Database::open(Config::new(home("ordered"))).expect("a database");
    let ordered = "
        procedure ordered(xs integer[]) returns (in_order integer[], once integer[], none integer[]) {
            return sorted(xs), distinct(xs || array[null::integer, null::integer]), distinct(null::integer[]);
        }";
    db.create_procedure(&program(ordered)).expect("a procedure");
    let mut session = db.session().expect("a session");
    let xs = Argument::Array([3, 1, 3, 2, 1].map(Value::Int).to_vec());
    let (output, _) = session.call("ordered", &[xs]).expect("arrays");
    let numbers = |numbers: &[i64]| numbers.iter().copied().map(Datum::Int).collect::<Vec<_>>();
    assert_eq!(output.value("in_order"), &Datum::Array(numbers(&[1, 1, 2, 3, 3])));
    let once = numbers(&[1, 2, 3]).into_iter().chain([Datum::Null]).collect();
    assert_eq!(output.value("once"), &Datum::Array(once));
    assert_eq!(output.value("none"), &Datum::Null);
}

/// The parameter of a procedure that is called is its argument, whatever becomes of that afterwards.
#[test]
fn an_argument_stays_what_it_was_when_the_call_began() {
    let db = Database::open(Config::new(home("passed"))).expect("a database");
    let inner = "
        procedure inner(x bigint, xs bigint[]) returns (y bigint, ys bigint[]) {
            let seen = xs;
            append x to seen;
            return x * 10, seen;
        }";
    let outer = "
        procedure outer(x bigint) returns (first bigint, second bigint, third bigint, all_of_them bigint[]) {
            let n = x;
            let list bigint[] = array[n];
            call inner(n, list) into a, as_list;
            set n = n + 1;
            append n to list;
            call inner(n, list) into b, bs;
            return a, b, n, as_list || bs;
        }";
    for text in [inner, outer] {
        db.create_procedure(&program(text)).expect("a procedure");
    }
    let mut session = db.session().expect("a session");
    let (output, _) = session.call("outer", &[7.into()]).expect("numbers");
    let of = |name: &str| output.value(name).int().expect("a number");
    assert_eq!((of("first"), of("second"), of("third")), (70, 80, 8));
    let expected = [7, 7, 7, 8, 8].map(Datum::Int).to_vec();
    assert_eq!(output.value("all_of_them"), &Datum::Array(expected));
}

/// What a caught error leaves of a row or of results is nothing, whoever called.
#[test]
fn what_is_returned_is_returned_whole() {
    let db = Database::open(Config::new(home("whole"))).expect("a database");
    let texts = [
        "procedure set_of(z bigint) returns set (a bigint, b bigint) {
            try {
                emit 1, 1 / z;
            } catch any {
                emit 7, 8;
            }
            emit 2, 3;
        }",
        "procedure sums(z bigint) returns (a bigint, b bigint) {
            let total = 0;
            for a, b in call set_of(z) {
                set total = total * 100 + a * 10 + b;
            }
            return total, 0;
        }",
        "procedure value_of(z bigint) returns (a bigint, b bigint, c bigint) {
            try {
                return 10 / (z + 1), 1 / z, z;
            } catch any {
                let caught = true;
            }
        }",
        "procedure all_values(z bigint) returns (a bigint, b bigint, c bigint) {
            call value_of(z) into a, b, c;
            return a, b, c;
        }",
    ];
    for text in texts {
        db.create_procedure(&program(text)).expect("a procedure");
    }
    let mut session = db.session().expect("a session");
    let mut called = |name: &str, z: i64| session.call(name, &[z.into()]).expect("results").0.rows().to_vec();
    let row = |values: &[i64]| values.iter().copied().map(Datum::Int).collect::<Vec<_>>();
    assert_eq!(called("set_of", 0), [row(&[7, 8]), row(&[2, 3])]);
    assert_eq!(called("sums", 0), [row(&[7823, 0])]);
    assert_eq!(called("sums", 1), [row(&[1123, 0])]);
    assert_eq!(called("value_of", 0), Vec::<Vec<Datum>>::new());
    assert_eq!(called("all_values", 0), [vec![Datum::Null; 3]]);
    assert_eq!(called("all_values", 1), [row(&[5, 1, 1])]);
}

/// Arguments of functions are compiled once at each level, and quotients that no numeric holds are errors.
#[test]
fn deep_functions_and_large_quotients_end() {
    let db = Database::open(Config::new(home("deep"))).expect("a database");
    let (open, close) = ("lower(".repeat(100), ")".repeat(100));
    let deep = format!("procedure deep(s text) returns (t text) {{ return {open}s{close}; }}");
    db.create_procedure(&program(&deep)).expect("a procedure");
    let quotient = "procedure quotient(a bigint, b numeric(18,18)) returns (q text) { return '' || a / b; }";
    db.create_procedure(&program(quotient)).expect("a procedure");
    let mut session = db.session().expect("a session");
    let (output, _) = session.call("deep", &[Value::Text("ABC").into()]).expect("a text");
    assert_eq!(output.value("t"), &Datum::Text("abc".to_owned()));
    let half = Value::Numeric(500_000_000_000_000_000);
    for a in [1000, 1_000_000_000_000_000_000, i64::MIN + 1] {
        let error = session.call("quotient", &[a.into(), half.into()]).expect_err("too large");
        assert_eq!(error.sqlstate(), "22003", "{error}");
    }
}
