//! The tables of a simulation in the engine: their schemas, and each operation as calls of the public API.
//!
//! Invariant: an operation here and in the serial model mean the same; the order of keys is that of their ranks.

use std::collections::{BTreeSet, Bound};

use osier::table::{ColumnId, KeyRange, Row as EngineRow, Schema, Type, Value};
use osier::{Database, Error, Savepoint, Table, Transaction};

use super::model::Model;
use super::operation::{Change, Key, Operation, Outcome, Range, Row, TableName, TransactionId, increment};
use super::oracle::Recovered;

/// Text keys in ascending order of their bytes, with what an escaping codec could get wrong.
const NAMES: [&str; 8] = ["", "\0", "\0\u{1}", "a", "a\0", "a\0b", "ab", "z is a text that no inline key buffer holds"];

/// The SQLSTATE of a duplicate.
const UNIQUE_VIOLATION: &str = "23505";

/// The SQLSTATE of a table that does not exist.
const UNDEFINED_TABLE: &str = "42P01";

/// Handles on the tables.
pub struct Tables {
    plain: Table,
    indexed: Table,
    markers: Table,
}

/// The columns that both tables have after their keys.
struct Columns {
    writer: ColumnId,
    counter: ColumnId,
    code: ColumnId,
    team: ColumnId,
    payload: ColumnId,
}

impl Columns {
    fn after(key_columns: u16) -> Columns {
        let column = |at| ColumnId(key_columns + at);
        Columns { writer: column(0), counter: column(1), code: column(2), team: column(3), payload: column(4) }
    }

    fn of(table: TableName) -> Columns {
        Columns::after(match table {
            TableName::Plain => 1,
            TableName::Indexed => 2,
        })
    }
}

fn schemas() -> [Schema; 3] {
    let body = |builder: osier::table::SchemaBuilder| {
        builder
            .column("writer", Type::Int64)
            .column("counter", Type::Int64)
            .nullable_column("code", Type::Int32)
            .column("team", Type::Int16)
            .nullable_column("payload", Type::Bytes)
    };
    let plain = body(Schema::builder("plain").column("id", Type::Int32)).primary_key(["id"]);
    let indexed = body(Schema::builder("indexed").column("branch", Type::Int16).column("name", Type::Text))
        .primary_key(["branch", "name"])
        .unique_index("by_code", ["code"])
        .index("by_team", ["team"]);
    let markers = Schema::builder("markers").column("id", Type::Int64).primary_key(["id"]);
    [plain, indexed, markers].map(|schema| schema.build().expect("a sound schema"))
}

impl Tables {
    /// Creates the tables inside a transaction.
    pub fn create(transaction: &Transaction<'_>) -> Result<Tables, Error> {
        let [plain, indexed, markers] = schemas();
        // Markers first: what a scan in the order of the tables sees of a transaction later, it sees without its marker.
        let markers = transaction.create_table(markers)?;
        let (plain, indexed) = (transaction.create_table(plain)?, transaction.create_table(indexed)?);
        Ok(Tables { plain, indexed, markers })
    }

    /// Finds the tables; `None` where they were not created.
    pub fn find(transaction: &Transaction<'_>) -> Result<Option<Tables>, Error> {
        let find = |name| match transaction.table(name) {
            Ok(table) => Ok(Some(table)),
            Err(error) if error.sqlstate() == UNDEFINED_TABLE => Ok(None),
            Err(error) => Err(error),
        };
        let (plain, indexed, markers) = (find("plain")?, find("indexed")?, find("markers")?);
        assert!(plain.is_some() == indexed.is_some() && plain.is_some() == markers.is_some(), "half a transaction");
        Ok(plain.zip(indexed).zip(markers).map(|((plain, indexed), markers)| Tables { plain, indexed, markers }))
    }

    fn table(&self, name: TableName) -> &Table {
        match name {
            TableName::Plain => &self.plain,
            TableName::Indexed => &self.indexed,
        }
    }

    /// Marks the transaction as one whose writes count.
    pub fn mark(&self, transaction: &Transaction<'_>, id: TransactionId) -> Result<(), Error> {
        transaction.upsert(&self.markers, &[Value::Int(id.0 as i64)])
    }

    /// Does one operation; `savepoints` are those open in the transaction.
    pub fn execute(
        &self,
        transaction: &Transaction<'_>,
        operation: &Operation,
        savepoints: &mut Vec<Savepoint>,
    ) -> Result<Outcome, Error> {
        let outcome = match operation {
            Operation::Savepoint => {
                savepoints.push(transaction.savepoint());
                Ok(Outcome::Done)
            }
            Operation::RollbackTo(depth) => {
                savepoints.truncate(depth + 1);
                transaction.rollback_to(savepoints[*depth]).map(|()| Outcome::Done).map_err(Error::from)
            }
            Operation::Get(..)
            | Operation::Scan(..)
            | Operation::GetByCode(_)
            | Operation::ScanCodes(_)
            | Operation::ScanTeams(_) => self.read(transaction, operation),
            _ => self.write(transaction, operation),
        };
        match outcome {
            Err(error) if error.sqlstate() == UNIQUE_VIOLATION => Ok(Outcome::Duplicate),
            outcome => outcome,
        }
    }

    fn read(&self, transaction: &Transaction<'_>, operation: &Operation) -> Result<Outcome, Error> {
        let indexed = TableName::Indexed;
        match operation {
            Operation::Get(name, key) => {
                let row = transaction.get(self.table(*name), &key_values(*name, *key))?;
                Ok(Outcome::Row(row.map(|row| decode(*name, &row))))
            }
            Operation::GetByCode(code) => {
                let row = transaction.get_by_index(&self.indexed, "by_code", &[Value::Int(i64::from(*code))])?;
                Ok(Outcome::Row(row.map(|row| decode(indexed, &row))))
            }
            Operation::Scan(name, range) => with_range(
                range,
                |key| key_values(*name, key),
                |keys| {
                    let rows = transaction.scan(self.table(*name), keys)?;
                    collect(*name, rows, range.limit)
                },
            ),
            Operation::ScanCodes(range) => with_range(
                range,
                |code| vec![Value::Int(i64::from(code))],
                |keys| {
                    let rows = transaction.scan_index(&self.indexed, "by_code", keys)?;
                    collect(indexed, rows, range.limit)
                },
            ),
            Operation::ScanTeams(range) => with_range(
                range,
                |team| vec![Value::Int(i64::from(team))],
                |keys| {
                    let rows = transaction.scan_index(&self.indexed, "by_team", keys)?;
                    collect(indexed, rows, range.limit)
                },
            ),
            other => unreachable!("{other:?} is not a read"),
        }
    }

    fn write(&self, transaction: &Transaction<'_>, operation: &Operation) -> Result<Outcome, Error> {
        match operation {
            Operation::Insert(name, key, row) => {
                transaction.insert(self.table(*name), &values(*name, *key, row)).map(|()| Outcome::Done)
            }
            Operation::Upsert(name, key, row) => {
                transaction.upsert(self.table(*name), &values(*name, *key, row)).map(|()| Outcome::Done)
            }
            Operation::Replace(name, key, row) => {
                transaction.replace(self.table(*name), &values(*name, *key, row)).map(Outcome::Existed)
            }
            Operation::Update(name, key, writer, changes) => {
                let columns = Columns::of(*name);
                let mut values = vec![(columns.writer, Value::Int(writer.0 as i64))];
                values.extend(changes.iter().map(|change| change_value(&columns, change)));
                transaction.update(self.table(*name), &key_values(*name, *key), &values).map(Outcome::Existed)
            }
            Operation::Increment(name, key, writer, by) => {
                let columns = Columns::of(*name);
                let existed = transaction.update_with(self.table(*name), &key_values(*name, *key), |row, changes| {
                    changes.set(columns.writer, Value::Int(writer.0 as i64));
                    changes.set(columns.counter, Value::Int(increment(row.int(columns.counter), *by)));
                    Ok::<(), Error>(())
                });
                existed.map(Outcome::Existed)
            }
            Operation::Delete(name, key) => {
                transaction.delete(self.table(*name), &key_values(*name, *key)).map(Outcome::Existed)
            }
            Operation::DeleteBlind(name, key) => {
                transaction.delete_blind(self.table(*name), &key_values(*name, *key)).map(|()| Outcome::Done)
            }
            other => unreachable!("{other:?} is not a write"),
        }
    }
}

/// Reads everything that a database holds.
pub fn recovered(database: &Database) -> Result<Recovered, Error> {
    let mut session = database.session()?;
    let transaction = session.begin();
    let Some(tables) = Tables::find(&transaction)? else { return Ok(Recovered::default()) };
    let mut transactions = BTreeSet::new();
    for row in transaction.scan(&tables.markers, KeyRange::all())? {
        transactions.insert(TransactionId(row?.int(ColumnId(0)) as u64));
    }
    let mut model = Model::default();
    for name in [TableName::Plain, TableName::Indexed] {
        for row in transaction.scan(tables.table(name), KeyRange::all())? {
            let (key, row) = decode(name, &row?);
            assert_eq!(model.put(name, key, Some(row)), None, "a scan returned {key:?} twice");
        }
    }
    check_indexes(&tables, &transaction, &mut model)?;
    Ok(Recovered { transactions, model })
}

/// Secondary indexes are rebuilt at every open: they must say what the rows say.
fn check_indexes(tables: &Tables, transaction: &Transaction<'_>, model: &mut Model) -> Result<(), Error> {
    let all = Range { low: Bound::Unbounded, high: Bound::Unbounded, reverse: false, limit: usize::MAX };
    let teams = Range { low: Bound::Unbounded, high: Bound::Unbounded, reverse: true, limit: usize::MAX };
    for operation in [Operation::ScanCodes(all), Operation::ScanTeams(teams)] {
        let found = tables.execute(transaction, &operation, &mut Vec::new())?;
        assert_eq!(found, model.begin().apply(&operation), "an index differs from its rows");
    }
    Ok(())
}

fn key_values(table: TableName, key: Key) -> Vec<Value<'static>> {
    let rank = usize::from(key.0);
    match table {
        TableName::Plain => vec![Value::Int(rank as i64)],
        TableName::Indexed => {
            vec![Value::Int((rank / NAMES.len()) as i64), Value::Text(NAMES[rank % NAMES.len()])]
        }
    }
}

fn values<'r>(table: TableName, key: Key, row: &'r Row) -> Vec<Value<'r>> {
    let mut values = key_values(table, key);
    values.extend([
        Value::Int(row.writer.0 as i64),
        Value::Int(row.counter),
        row.code.map_or(Value::Null, |code| Value::Int(i64::from(code))),
        Value::Int(i64::from(row.team)),
        row.payload.as_deref().map_or(Value::Null, Value::Bytes),
    ]);
    values
}

fn change_value<'c>(columns: &Columns, change: &'c Change) -> (ColumnId, Value<'c>) {
    match change {
        Change::Counter(counter) => (columns.counter, Value::Int(*counter)),
        Change::Code(code) => (columns.code, code.map_or(Value::Null, |code| Value::Int(i64::from(code)))),
        Change::Team(team) => (columns.team, Value::Int(i64::from(*team))),
        Change::Payload(payload) => (columns.payload, payload.as_deref().map_or(Value::Null, Value::Bytes)),
    }
}

fn decode(table: TableName, row: &EngineRow<'_>) -> (Key, Row) {
    let columns = Columns::of(table);
    let first = row.int(ColumnId(0)) as usize;
    let rank = match table {
        TableName::Plain => first,
        TableName::Indexed => {
            let name = row.text(ColumnId(1));
            first * NAMES.len() + NAMES.iter().position(|known| *known == name).expect("a known name")
        }
    };
    let present = |column| !row.is_null(column);
    let decoded = Row {
        writer: TransactionId(row.int(columns.writer) as u64),
        counter: row.int(columns.counter),
        code: present(columns.code).then(|| row.int(columns.code) as i32),
        team: row.int(columns.team) as i16,
        payload: present(columns.payload).then(|| row.bytes(columns.payload).to_vec()),
    };
    (Key(rank as u16), decoded)
}

fn collect<'t>(
    table: TableName,
    rows: impl Iterator<Item = Result<EngineRow<'t>, Error>>,
    limit: usize,
) -> Result<Outcome, Error> {
    let rows = rows.take(limit).map(|row| row.map(|row| decode(table, &row)));
    rows.collect::<Result<_, Error>>().map(Outcome::Rows)
}

/// Calls `scan` with the range as the engine wants it.
fn with_range<T: Copy, R>(
    range: &Range<T>,
    values: impl Fn(T) -> Vec<Value<'static>>,
    scan: impl FnOnce(KeyRange<'_>) -> R,
) -> R {
    let (low, high) = (range.low.map(&values), range.high.map(&values));
    let keys = match &low {
        Bound::Included(low) => KeyRange::all().from_included(low),
        Bound::Excluded(low) => KeyRange::all().from_excluded(low),
        Bound::Unbounded => KeyRange::all(),
    };
    let keys = match &high {
        Bound::Included(high) => keys.to_included(high),
        Bound::Excluded(high) => keys.to_excluded(high),
        Bound::Unbounded => keys,
    };
    scan(if range.reverse { keys.reverse() } else { keys })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_order_as_keys_do() {
        assert!(NAMES.is_sorted() && BTreeSet::from(NAMES).len() == NAMES.len());
        let [_, indexed, _] = schemas();
        assert_eq!(indexed.primary_key(), [ColumnId(0), ColumnId(1)]);
        assert_eq!(indexed.column(Columns::of(TableName::Indexed).payload).name(), "payload");
        assert_eq!(schemas()[0].column(Columns::of(TableName::Plain).writer).name(), "writer");
    }
}
