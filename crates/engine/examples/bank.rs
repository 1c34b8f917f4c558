//! The sample of docs/procedures.md: procedures in text, by the builder and as a function, in a database that logs calls.

use osier::call::{Call, OpaqueProcedure, Procedures};
use osier::config::Logged;
use osier::procedure::builder::{column, var};
use osier::procedure::program::Program;
use osier::table::{Argument, Datum, Schema, Type, Value};
use osier::{Config, Database, Error, ProcedureError, Protocol, SequenceOptions, TransactionOptions};

const MONEY: Type = Type::Numeric { precision: 12, scale: 2 };

fn create_tables(db: &Database) -> Result<(), Error> {
    let accounts = Schema::builder("accounts").column("id", Type::Int64).column("owner", Type::Text);
    let accounts = accounts.column("balance", MONEY).primary_key(["id"]).index("by_owner", ["owner"]);
    db.create_table(accounts.build()?)?;
    let journal = Schema::builder("journal").column("id", Type::Int64).column("account", Type::Int64);
    let journal = journal.column("amount", MONEY).column("at", Type::Timestamp).primary_key(["id"]);
    db.create_table(journal.build()?)?;
    db.create_sequence(&SequenceOptions::new("journal_ids"))?;
    Ok(())
}

fn create_procedures(db: &Database) -> Result<(), Error> {
    let programs = Program::parse_all(include_str!("bank.procedures"))?;
    // All of them, or none.
    let (_, receipt) = db.run(|tx| programs.iter().try_for_each(|program| tx.replace_procedure(program)))?;
    Ok(receipt.wait()?)
}

fn create_deposit(db: &Database) -> Result<(), Error> {
    let deposit = Program::builder("deposit")
        .parameter("account", Type::Int64)
        .parameter("amount", MONEY)
        .returns("balance", MONEY)
        .body(|body| {
            let balance = || column("a", "balance") + var("amount");
            body.update("accounts", [var("account")], [("balance", balance())])
                .bind("a")
                .or_else(|body| body.abort("P0002", "there is no such account"));
            body.return_([balance()]);
        })
        .build()?;
    db.replace_procedure(&deposit)
}

pub(crate) fn functions() -> Procedures {
    let open_account = OpaqueProcedure::new("open_account", 1, |call| {
        let [Argument::Scalar(id), Argument::Scalar(owner)] = call.arguments() else {
            return Err(call.abort("22004", "an id and an owner are needed"));
        };
        let (tx, gift) = (call.transaction(), (call.random() * 1000.0) as i64);
        tx.insert(&tx.table("accounts")?, &[*id, *owner, Value::Numeric(10_000 + gift)])?;
        Ok(vec![Datum::Numeric(gift)])
    });
    let open_account = open_account.parameter("id", Type::Int64).parameter("owner", Type::Text);
    Procedures::new().register(open_account.returns("gift", MONEY))
}

fn call_procedures(db: &Database) -> Result<(), Error> {
    let mut session = db.session()?;
    let (output, receipt) = session.call("withdraw", &[1.into(), Value::Numeric(25_50).into()])?;
    receipt.wait()?; // on disk; or drop it, or .await it
    println!("left: {}", output.value("rest"));

    let (output, _) = session.call("collect", &[vec![1.into(), 9.into()].into(), vec![1.into(), 1.into()].into()])?;
    for row in output.to_texts() {
        println!("{row:?}"); // [Some("9"), Some("there is no account 9")]
    }

    // Two of them, where a server would have hundreds.
    let arguments: [[Argument<'_>; 2]; 2] = [[1.into(), 30.into()], [1.into(), (-30).into()]];
    let calls: Vec<_> = arguments.iter().map(|arguments| Call { procedure: "deposit", arguments }).collect();
    for ended in session.call_all(TransactionOptions::default(), &calls) {
        let (output, receipt) = ended?;
        receipt.wait()?;
        println!("then: {}", output.value("balance"));
    }

    match session.call("withdraw", &[1.into(), 1_000_000.into()]) {
        Err(Error::Procedure(ProcedureError::Aborted { sqlstate, message, .. })) => println!("{sqlstate}: {message}"),
        other => drop(other?),
    }
    Ok(())
}

pub(crate) fn main() -> Result<(), Error> {
    let config = Config::new("bank.osier").protocol(Protocol::Gsn).streams(2).logged(Logged::Commands);
    let db = Database::open_with(config, functions())?;
    if db.table("accounts").is_err() {
        create_tables(&db)?;
        create_procedures(&db)?;
        create_deposit(&db)?;
        db.session()?.call("open_account", &[1.into(), "Ada".into()])?;
    }
    call_procedures(&db)?;
    db.session()?.call("deposit", &[1.into(), 50.into()])?.1.wait()?;
    db.close()
}
