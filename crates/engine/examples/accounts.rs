//! The sample of the README: opens a database, defines a table, commits a transaction and waits until it is durable.

use osier::table::{Schema, Type, Value};
use osier::{Config, Database};

pub(crate) fn main() -> Result<(), osier::Error> {
    let db = Database::open(Config::new("accounts.osier").streams(2))?;
    let schema = Schema::builder("account").column("id", Type::Int64).column("cents", Type::Int64).primary_key(["id"]);
    let schema = schema.build()?;
    let account = db.table("account").or_else(|_| db.create_table(schema))?; // created by the first run
    let cents = account.column("cents")?;

    let mut session = db.session()?; // one per thread
    let (_, receipt) = session.run(|tx| {
        tx.upsert(&account, &[Value::Int(1), Value::Int(500)])?;
        tx.update_with(&account, &[Value::Int(1)], |row, changes| {
            changes.set(cents, Value::Int(row.int(cents) - 200));
            Ok::<_, osier::Error>(())
        })
    })?;
    receipt.wait()?; // or .await it, or drop it: on disk, with everything the transaction read

    drop(session);
    db.close()
}
