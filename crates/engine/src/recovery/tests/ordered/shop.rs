//! A database whose transactions are calls of a few procedures, and what runs these again.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::{Config, Logged, Protocol};
use crate::database::Database;
use crate::error::{Error, TransactionError};
use crate::ids::{Epoch, ProcedureId, ProcedureVersion};
use crate::io::Environment;
use crate::io::disk_for_tests::TestDisk;
use crate::log::acknowledge::Receipt;
use crate::log::format::payload::command::Command;
use crate::recovery::{CommandError, CommandReplayer};
use crate::table::{Argument, Arguments, KeyRange, Schema, Table, Type, Value};
use crate::transaction::{Session, Transaction};

/// `n = n + by` of a row, which is made where there is none.
pub(super) const ADD: u32 = 1;
/// `n = n * by`: with [`ADD`] the order shows.
pub(super) const MULTIPLY: u32 = 2;
/// A row behind the last one, with the sum of all.
pub(super) const APPEND: u32 = 3;
/// An amount from a row to another one, or half of it, if there is less; the first one goes where nothing is left.
pub(super) const MOVE: u32 = 4;
/// Adds 1 to all rows of an array.
pub(super) const TOUCH: u32 = 5;
/// A row of what was drawn.
pub(super) const DRAW: u32 = 6;

/// The procedures, and how they go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Procedures {
    #[default]
    Sound,
    /// [`MULTIPLY`] adds 1 more.
    Otherwise,
    /// [`MULTIPLY`] fails.
    Failing,
    /// [`MULTIPLY`] does nothing.
    Idle,
    /// There is no [`MULTIPLY`].
    Unknown,
}

impl CommandReplayer for Procedures {
    fn replay(&mut self, transaction: &Transaction<'_>, command: &Command<'_>) -> Result<(), CommandError> {
        let fails = TransactionError::UnknownTable { table: "nowhere".to_owned() };
        match (command.procedure.0, *self) {
            (MULTIPLY, Procedures::Unknown) => return Err(CommandError::Missing),
            (MULTIPLY, Procedures::Failing) => return Err(CommandError::Failed(fails.into())),
            (MULTIPLY, Procedures::Idle) => return Ok(()),
            (MULTIPLY, Procedures::Otherwise) => add(transaction, 1, 1)?,
            _ => {}
        }
        Ok(execute(transaction, command)?)
    }
}

/// The padding makes changes of rows shorter than their images.
const PADDING: &str = "a row of more than a few bytes";

pub(super) fn schema() -> Schema {
    named("counter").build().unwrap()
}

pub(super) fn named(name: &str) -> crate::table::SchemaBuilder {
    Schema::builder(name)
        .column("id", Type::Int64)
        .column("n", Type::Int64)
        .column("padding", Type::Text)
        .primary_key(["id"])
}

pub(super) fn row(id: i64, n: i64) -> [Value<'static>; 3] {
    [Value::Int(id), Value::Int(n), Value::Text(PADDING)]
}

fn n_of(tx: &Transaction<'_>, table: &Table, id: i64) -> Result<Option<i64>, Error> {
    let n = table.column("n")?;
    Ok(tx.get(table, &[Value::Int(id)])?.map(|row| row.int(n)))
}

fn set(tx: &Transaction<'_>, table: &Table, id: i64, n: i64) -> Result<(), Error> {
    match tx.update(table, &[Value::Int(id)], &[(table.column("n")?, Value::Int(n))])? {
        true => Ok(()),
        false => tx.insert(table, &row(id, n)),
    }
}

fn add(tx: &Transaction<'_>, id: i64, by: i64) -> Result<(), Error> {
    let table = tx.table("counter")?;
    let n = n_of(tx, &table, id)?.unwrap_or(0);
    set(tx, &table, id, n.wrapping_add(by))
}

/// Does what a command says.
fn execute(tx: &Transaction<'_>, command: &Command<'_>) -> Result<(), Error> {
    let table = tx.table("counter")?;
    let int = |at: usize| match command.arguments.get(at).and_then(Argument::scalar) {
        Some(Value::Int(int)) => int,
        other => panic!("argument {at} of {command} is {other:?}"),
    };
    match command.procedure.0 {
        ADD => add(tx, int(0), int(1)),
        MULTIPLY => {
            let n = n_of(tx, &table, int(0))?.unwrap_or(1);
            set(tx, &table, int(0), n.wrapping_mul(int(1)))
        }
        APPEND => {
            let (id, n) = (table.column("id")?, table.column("n")?);
            let (mut last, mut sum) = (0, 0_i64);
            for row in tx.scan(&table, KeyRange::all())? {
                let row = row?;
                (last, sum) = (row.int(id), sum.wrapping_add(row.int(n)));
            }
            tx.insert(&table, &row(last + 1, sum))
        }
        MOVE => {
            let there = n_of(tx, &table, int(0))?.unwrap_or(0);
            let amount = if there >= int(2) { int(2) } else { there / 2 };
            add(tx, int(1), amount)?;
            match there - amount {
                0 => tx.delete(&table, &[Value::Int(int(0))]).map(drop),
                rest => set(tx, &table, int(0), rest),
            }
        }
        TOUCH => {
            let ids = command.arguments[0].array().expect("an array");
            ids.iter().try_for_each(|id| match id {
                Value::Int(id) => add(tx, *id, 1),
                other => panic!("{other:?}"),
            })
        }
        DRAW => {
            let drawn = command.sequence_values.iter().sum::<i64>();
            let (time, seed) = (command.time.expect("a time"), command.seed.expect("a seed"));
            set(tx, &table, drawn, time ^ seed as i64)
        }
        other => panic!("there is no procedure {other}"),
    }
}

/// A call.
pub(super) fn command<'a>(procedure: u32, arguments: &'a [Argument<'a>]) -> Command<'a> {
    Command {
        procedure: ProcedureId(procedure),
        version: ProcedureVersion(1),
        time: None,
        seed: None,
        sequence_values: Cow::Borrowed(&[]),
        hash: None,
        arguments: Arguments::Given(arguments),
    }
}

/// Runs a command and logs it, again after a conflict.
pub(super) fn run(session: &mut Session, command: &Command<'_>, with_hash: bool) -> Result<Receipt, Error> {
    loop {
        let tx = session.begin();
        let outcome = match execute(&tx, command) {
            Ok(()) => tx.commit_command(command.clone(), with_hash, 0).map(|(receipt, _)| receipt),
            // An error may follow from rows of different moments.
            Err(error) => tx.abort().and(Err(error)),
        };
        match outcome {
            Err(error) if error.is_conflict() => {}
            outcome => return outcome,
        }
    }
}

/// Waits until `epoch` is over.
pub(super) fn pass(db: &Database, epoch: Epoch) {
    while db.run(|tx| tx.table("counter")).unwrap().1.epoch() <= epoch {
        std::thread::yield_now();
    }
}

/// Calls a procedure with integers.
pub(super) fn call(session: &mut Session, procedure: u32, arguments: &[i64]) -> Receipt {
    let arguments: Vec<_> = arguments.iter().map(|argument| Argument::from(*argument)).collect();
    run(session, &command(procedure, &arguments), true).unwrap()
}

/// All rows of tables, as text.
pub(super) type Contents = BTreeMap<String, Vec<String>>;

/// Returns the rows of the tables that there are, having compared them with their indexes.
pub(super) fn contents(db: &Database) -> Contents {
    let mut contents = Contents::new();
    for name in ["counter", "other", "third"] {
        let Ok(table) = db.table(name) else { continue };
        let rows = |index: Option<&str>| {
            let rows = db.run(|tx| -> Result<Vec<String>, Error> {
                let scan = match index {
                    None => tx.scan(&table, KeyRange::all())?,
                    Some(index) => tx.scan_index(&table, index, KeyRange::all())?,
                };
                let text = |row: crate::table::Row<'_>| {
                    row.values().map(|value| value.to_string()).collect::<Vec<_>>().join(" ")
                };
                scan.map(|row| Ok(text(row?))).collect()
            });
            rows.unwrap().0
        };
        let found = rows(None);
        for index in table.schema().indexes() {
            let (mut by_index, mut by_key) = (rows(Some(index.name())), found.clone());
            by_index.sort_unstable();
            by_key.sort_unstable();
            assert_eq!(by_index, by_key, "index {} of {name}", index.name());
        }
        contents.insert(name.to_owned(), found);
    }
    contents
}

/// A disk with a database on it that logs commands.
#[derive(Clone)]
pub(super) struct Shop {
    pub(super) disk: TestDisk,
    pub(super) config: Config,
}

impl Shop {
    pub(super) fn new() -> Shop {
        let disk = TestDisk::new();
        let environment = Environment { disk: Arc::new(disk.clone()), ..Environment::os() };
        let mut config =
            Config::new("/db").protocol(Protocol::Serial).logged(Logged::Commands).environment(environment);
        config.recovery_threads = 2;
        (config.transaction_log_bytes_max, config.ring_bytes, config.segment_bytes) = (16 << 10, 64 << 10, 128 << 10);
        (config.checkpoint_log_bytes, config.sessions_max) = (0, 64);
        Shop { disk, config }
    }

    /// Its database with its table.
    pub(super) fn with_counters() -> (Shop, Database) {
        let shop = Shop::new();
        let db = shop.open();
        db.create_table(schema()).unwrap();
        // There is an epoch to go back to.
        pass(&db, Epoch(1));
        (shop, db)
    }

    /// Opens it, with other settings.
    pub(super) fn as_of(&self, protocol: Protocol, streams: u32, logged: Logged) -> Shop {
        let mut shop = self.clone();
        (shop.config.protocol, shop.config.streams, shop.config.logged) = (protocol, streams, logged);
        shop
    }

    pub(super) fn open(&self) -> Database {
        self.open_by(Procedures::Sound).unwrap()
    }

    pub(super) fn open_by(&self, mut procedures: Procedures) -> Result<Database, Error> {
        Database::open_replaying(self.config.clone(), &mut procedures)
    }

    /// What a crash just now leaves.
    pub(super) fn crashed(&self) -> Shop {
        let disk = self.disk.fork();
        disk.crash();
        let mut shop = Shop { disk, config: self.config.clone() };
        shop.config.environment.disk = Arc::new(shop.disk.clone());
        shop
    }
}

/// Checks that a crash just now leaves what there is, whatever is opened how often; returns the last of these.
pub(super) fn survives(shop: &Shop, db: &Database) -> Shop {
    let expected = contents(db);
    let mut shop = shop.crashed();
    for round in 0..2 {
        let recovered = shop.open();
        assert_eq!(contents(&recovered), expected, "round {round}");
        shop = shop.crashed();
    }
    shop
}
