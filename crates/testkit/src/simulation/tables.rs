//! The tables of a simulation in the engine: their schemas, and each operation as calls of the public API.
//!
//! Invariant: an operation here and in the serial model mean the same; the order of keys is that of their ranks.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, Bound};
use std::sync::Arc;

use osier::failpoint::Draw;
use osier::table::{ColumnId, Datum, KeyRange, NewColumn, Row as EngineRow, Schema, SchemaBuilder, Type, Value};
use osier::{Database, Error, Savepoint, Table, Transaction};

use super::early;
use super::model::{Model, TableModel};
use super::operation::{
    ADDED_MAX, Change, EXTRAS, IndexName, Key, Operation, Outcome, Range, Row, TableName, TransactionId, added_int,
    appended, increment,
};
use super::oracle::{IndexDifference, Recovered};
use super::procedures::{self, Called, Declared, Drawn};
use super::sequences::{self, Numbers};
use crate::fiber;

/// Text keys in ascending order of their bytes, with what an escaping codec could get wrong.
pub(super) const NAMES: [&str; 8] =
    ["", "\0", "\0\u{1}", "a", "a\0", "a\0b", "ab", "z is a text that no inline key buffer holds"];

/// The names of the column with that, of which a table has one.
const CONSTANT_NAMES: [&str; 2] = ["constant", "unvaried"];

/// What each row has at its end: enough that what changes in a row is logged, and not the row.
pub(super) const CONSTANT: &str = "what no transaction changes, neither by what it reads nor by what it replaces";

/// The SQLSTATE of a duplicate.
const UNIQUE_VIOLATION: &str = "23505";

/// The SQLSTATE of a table or a sequence that does not exist.
pub(super) const UNDEFINED_TABLE: &str = "42P01";

/// The SQLSTATE of an index that does not exist.
const UNDEFINED_OBJECT: &str = "42704";

/// The SQLSTATE of a table, an index or a sequence that exists.
const DUPLICATE_TABLE: &str = "42P07";

/// The SQLSTATE of a column that does not exist.
const UNDEFINED_COLUMN: &str = "42703";

/// The SQLSTATE of a column that exists.
const DUPLICATE_COLUMN: &str = "42701";

/// The SQLSTATE of a column that something needs.
const DEPENDENT_OBJECTS: &str = "2BP01";

/// The SQLSTATE of a procedure that does not exist.
const UNDEFINED_FUNCTION: &str = "42883";

/// The SQLSTATE of a procedure that makes no sense.
const INVALID_FUNCTION: &str = "42P13";

/// The SQLSTATE of a handle that is out of date.
const TABLE_CHANGED: &str = "0A000";

/// The SQLSTATE of a handle that is not of the snapshot.
const NOT_OF_SNAPSHOT: &str = "55000";

/// Handles on the tables.
pub struct Tables {
    /// Of those whose definitions change. Some may be out of date.
    changing: RefCell<BTreeMap<TableName, Table>>,
    plain: Table,
    markers: Table,
    numbers: Numbers,
}

/// The columns that both tables have after their keys.
pub(super) struct Columns {
    pub(super) writer: ColumnId,
    pub(super) counter: ColumnId,
    code: ColumnId,
    team: ColumnId,
    payload: ColumnId,
    constant: ColumnId,
}

impl Columns {
    fn after(key_columns: u16) -> Columns {
        let column = |at| ColumnId(key_columns + at);
        let (writer, counter, code) = (column(0), column(1), column(2));
        Columns { writer, counter, code, team: column(3), payload: column(4), constant: column(5) }
    }

    pub(super) fn of(table: TableName) -> Columns {
        Columns::after(match table {
            TableName::Plain | TableName::Extra(_) => 1,
            TableName::Indexed => 2,
        })
    }
}

fn body(builder: SchemaBuilder) -> SchemaBuilder {
    builder
        .column("writer", Type::Int64)
        .column("counter", Type::Int64)
        .nullable_column("code", Type::Int32)
        .column("team", Type::Int16)
        .nullable_column("payload", Type::Bytes)
        .column(CONSTANT_NAMES[0], Type::Text)
}

/// Of a table like `plain`.
fn plain(name: impl Into<String>) -> SchemaBuilder {
    body(Schema::builder(name).column("id", Type::Int32)).primary_key(["id"])
}

fn schemas() -> [Schema; 3] {
    let plain = plain("plain");
    let indexed = body(Schema::builder("indexed").column("branch", Type::Int16).column("name", Type::Text))
        .primary_key(["branch", "name"])
        .unique_index(IndexName::Codes.name(), ["code"])
        .index(IndexName::Teams.name(), ["team"]);
    let markers = Schema::builder("markers").column("id", Type::Int64).primary_key(["id"]);
    [plain, indexed, markers].map(|schema| schema.build().expect("a sound schema"))
}

impl IndexName {
    fn name(self) -> &'static str {
        match self {
            IndexName::Codes => "by_code",
            IndexName::Teams => "by_team",
            IndexName::Coded => "of_coded",
            IndexName::Pairs => "of_pairs",
            IndexName::Added => "of_added",
        }
    }

    fn columns(self) -> &'static [&'static str] {
        match self {
            IndexName::Codes => &["code"],
            IndexName::Teams => &["team"],
            IndexName::Coded => &["code", "counter"],
            IndexName::Pairs => &["code", "team"],
            IndexName::Added => &["added0"],
        }
    }

    /// The schema of a new table with this index.
    fn of(self, schema: SchemaBuilder) -> SchemaBuilder {
        let (name, columns) = (self.name(), self.columns().iter().copied());
        match (self.is_partial(), self.is_unique()) {
            (true, is_unique) => schema.partial_index(name, columns, is_unique),
            (false, true) => schema.unique_index(name, columns),
            (false, false) => schema.index(name, columns),
        }
    }

    /// Adds it to a table that there is.
    fn add(self, transaction: &Transaction<'_>, table: &Table) -> Result<Table, Error> {
        match self.is_partial() {
            true => transaction.create_partial_index(table, self.name(), self.columns(), self.is_unique()),
            false => transaction.create_index(table, self.name(), self.columns(), self.is_unique()),
        }
    }
}

fn extra_name(slot: u8) -> String {
    format!("extra{slot}")
}

/// The name of a table whose definition changes.
pub(super) fn table_name(name: TableName) -> String {
    if name == TableName::Plain { "plain".to_owned() } else { changing_name(name) }
}

fn changing_name(name: TableName) -> String {
    match name {
        TableName::Plain => unreachable!("its definition does not change"),
        TableName::Indexed => "indexed".to_owned(),
        TableName::Extra(slot) => extra_name(slot),
    }
}

impl Tables {
    /// Creates the tables inside a transaction.
    pub fn create(transaction: &Transaction<'_>) -> Result<Tables, Error> {
        let [plain, indexed, markers] = schemas();
        // Markers first: what a scan in the order of the tables sees of a transaction later, it sees without its marker.
        let markers = transaction.create_table(markers)?;
        let (plain, indexed) = (transaction.create_table(plain)?, transaction.create_table(indexed)?);
        Ok(Tables::of(plain, indexed, markers))
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
        Ok(plain.zip(indexed).zip(markers).map(|((plain, indexed), markers)| Tables::of(plain, indexed, markers)))
    }

    fn of(plain: Table, indexed: Table, markers: Table) -> Tables {
        let changing = RefCell::new([(TableName::Indexed, indexed)].into());
        Tables { plain, markers, changing, numbers: Numbers::default() }
    }

    /// The handle that was used last, or a new one.
    fn table(&self, transaction: &Transaction<'_>, name: TableName) -> Result<Table, Error> {
        if name == TableName::Plain {
            return Ok(self.plain.clone());
        }
        if let Some(table) = self.changing.borrow().get(&name) {
            return Ok(table.clone());
        }
        let table = transaction.table(&changing_name(name))?;
        self.changing.borrow_mut().insert(name, table.clone());
        Ok(table)
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
            _ if operation.is_of_procedures() => self.execute_procedure(transaction, operation),
            _ if operation.is_of_sequence() => self.numbers.execute(transaction, operation),
            _ => self.execute_now(transaction, operation),
        };
        outcome.or_else(|error| match error.sqlstate() {
            UNIQUE_VIOLATION | DUPLICATE_TABLE | DUPLICATE_COLUMN => Ok(Outcome::Duplicate),
            UNDEFINED_TABLE | UNDEFINED_COLUMN | UNDEFINED_OBJECT | UNDEFINED_FUNCTION => Ok(Outcome::Missing),
            DEPENDENT_OBJECTS => Ok(Outcome::InUse),
            INVALID_FUNCTION => Ok(Outcome::Invalid),
            _ => Err(error),
        })
    }

    fn execute_procedure(&self, transaction: &Transaction<'_>, operation: &Operation) -> Result<Outcome, Error> {
        match operation {
            Operation::Declare(_, declared) => transaction.replace_procedure(&declared.0).map(|()| Outcome::Done),
            Operation::DropProcedure(slot) => {
                transaction.drop_procedure(&procedures::name(*slot)).map(|()| Outcome::Done)
            }
            Operation::Call(invocation) => {
                // What a call that fails has written until then stays: that is taken back here.
                let (begin, mut has_failed) = (transaction.savepoint(), false);
                loop {
                    fiber::take_draws();
                    let result = transaction.call(&procedures::name(invocation.slot), &invocation.arguments());
                    if result.is_err() {
                        transaction.rollback_to(begin)?;
                    }
                    let called = Called::of(result.as_ref(), drawn());
                    match (called, result) {
                        (Some(called), _) => return Ok(Outcome::Called(called)),
                        // Compiled for a table that has changed since.
                        (_, Err(error)) if error.sqlstate() == TABLE_CHANGED && !has_failed => has_failed = true,
                        (_, Err(error)) => return Err(error),
                        (None, Ok(_)) => unreachable!("a call that returned is called"),
                    }
                }
            }
            other => unreachable!("{other:?} is not of procedures"),
        }
    }

    /// Again with a new handle, as long as the one at hand is out of date.
    fn execute_now(&self, transaction: &Transaction<'_>, operation: &Operation) -> Result<Outcome, Error> {
        loop {
            match (self.execute_once(transaction, operation), operation.table()) {
                (Err(error), Some(name @ (TableName::Indexed | TableName::Extra(_))))
                    if [TABLE_CHANGED, NOT_OF_SNAPSHOT].contains(&error.sqlstate()) =>
                {
                    self.changing.borrow_mut().remove(&name);
                }
                (outcome, _) => return outcome,
            }
        }
    }

    fn execute_once(&self, transaction: &Transaction<'_>, operation: &Operation) -> Result<Outcome, Error> {
        match operation {
            Operation::CreateTable(..)
            | Operation::DropTable(_)
            | Operation::RenameTable(..)
            | Operation::AddColumn(_)
            | Operation::DropColumn(_)
            | Operation::RenameColumn(_)
            | Operation::CreateIndex(..)
            | Operation::DropIndex(..) => self.define(transaction, operation).map(|()| Outcome::Done),
            operation if operation.is_read() => self.read(transaction, operation),
            _ => self.write(transaction, operation),
        }
    }

    fn define(&self, transaction: &Transaction<'_>, operation: &Operation) -> Result<(), Error> {
        let name = operation.table().expect("a definition is of a table");
        let changed = match (operation, name) {
            (Operation::CreateTable(_, index), TableName::Extra(slot)) => {
                let schema = plain(extra_name(slot));
                let schema = if let Some(index) = index { index.of(schema) } else { schema };
                Some(transaction.create_table(schema.build().expect("a sound schema"))?)
            }
            (Operation::DropTable(_), _) => {
                transaction.drop_table(&self.table(transaction, name)?)?;
                None
            }
            (Operation::RenameTable(_, new @ TableName::Extra(slot)), _) => {
                let table = transaction.rename_table(&self.table(transaction, name)?, &extra_name(*slot))?;
                self.changing.borrow_mut().insert(*new, table);
                None
            }
            (Operation::AddColumn(_), _) => {
                let table = self.table(transaction, name)?;
                // There is one of this name where there are as many as there may be.
                let at = added(name, table.schema()).count().min(ADDED_MAX - 1);
                let (name, value) = (format!("added{at}"), value_before(at));
                let ty = if is_text(at) { Type::Text } else { Type::Int32 };
                let column = NewColumn { name: &name, ty, is_nullable: value.is_null(), value };
                Some(transaction.add_columns(&table, None, &[column])?)
            }
            (Operation::DropColumn(_), _) => {
                let table = self.table(transaction, name)?;
                let last = added(name, table.schema()).count().wrapping_sub(1);
                Some(transaction.drop_column(&table, &format!("added{last}"))?)
            }
            (Operation::RenameColumn(_), _) => {
                let table = self.table(transaction, name)?;
                let [mut old, mut new] = CONSTANT_NAMES;
                if is_renamed(table.schema()) {
                    std::mem::swap(&mut old, &mut new);
                }
                Some(transaction.rename_column(&table, old, new)?)
            }
            (Operation::CreateIndex(_, index), _) => Some(index.add(transaction, &self.table(transaction, name)?)?),
            (Operation::DropIndex(_, index), _) => {
                Some(transaction.drop_index(&self.table(transaction, name)?, index.name())?)
            }
            other => unreachable!("{other:?} is no definition that is drawn"),
        };
        let mut changing = self.changing.borrow_mut();
        match changed {
            Some(table) => changing.insert(name, table),
            None => changing.remove(&name),
        };
        Ok(())
    }

    fn read(&self, transaction: &Transaction<'_>, operation: &Operation) -> Result<Outcome, Error> {
        let name = operation.table().expect("it reads a table");
        let table = self.table(transaction, name)?;
        match operation {
            Operation::Get(_, key) => {
                let values = key_values(name, *key);
                let row = if key.0 % 2 == 0 {
                    transaction.expect(&table, [key_values(name, Key(key.0 + 1)), values.clone()])?;
                    transaction.get_many(&table, [values])?.pop().flatten()
                } else {
                    transaction.get(&table, &values)?
                };
                Ok(Outcome::Row(row.map(|row| decode(name, &row))))
            }
            Operation::GetByCode(code) => {
                let code = [Value::Int(i64::from(*code))];
                let row = transaction.get_by_index(&table, IndexName::Codes.name(), &code)?;
                Ok(Outcome::Row(row.map(|row| decode(name, &row))))
            }
            Operation::Scan(_, range) => with_range(
                range,
                |key| key_values(name, key),
                |keys| collect(name, transaction.scan(&table, keys)?, range.limit),
            ),
            Operation::ScanCodes(_, range) => with_range(
                range,
                |code| vec![Value::Int(i64::from(code))],
                |keys| collect(name, transaction.scan_index(&table, IndexName::Codes.name(), keys)?, range.limit),
            ),
            Operation::ScanTeams(_, range) => with_range(
                range,
                |team| vec![Value::Int(i64::from(team))],
                |keys| collect(name, transaction.scan_index(&table, IndexName::Teams.name(), keys)?, range.limit),
            ),
            Operation::ScanPartial(_, index, range) => with_range(
                range,
                |first| vec![Value::Int(i64::from(first))],
                |keys| collect(name, transaction.scan_index(&table, index.name(), keys)?, range.limit),
            ),
            other => unreachable!("{other:?} is not a read"),
        }
    }

    fn write(&self, transaction: &Transaction<'_>, operation: &Operation) -> Result<Outcome, Error> {
        let name = &operation.table().expect("it writes to a table");
        let table = &self.table(transaction, *name)?;
        match operation {
            Operation::Insert(_, key, row) => {
                transaction.insert(table, &values(*name, table, *key, row)).map(|()| Outcome::Done)
            }
            Operation::Upsert(_, key, row) => {
                transaction.upsert(table, &values(*name, table, *key, row)).map(|()| Outcome::Done)
            }
            Operation::Replace(_, key, row) => {
                transaction.replace(table, &values(*name, table, *key, row)).map(Outcome::Existed)
            }
            Operation::Update(_, key, writer, changes) => {
                let columns = Columns::of(*name);
                let mut values = vec![(columns.writer, Value::Int(writer.0 as i64))];
                values.extend(changes.iter().map(|change| change_value(&columns, change)));
                values.extend(added(*name, table.schema()).map(|(at, column)| (column, added_value(*key, at))));
                transaction.update(table, &key_values(*name, *key), &values).map(Outcome::Existed)
            }
            Operation::Increment(_, key, writer, by) => {
                let columns = Columns::of(*name);
                let existed = transaction.update_with(table, &key_values(*name, *key), |row, changes| {
                    changes.set(columns.writer, Value::Int(writer.0 as i64));
                    changes.set(columns.counter, Value::Int(increment(row.int(columns.counter), *by)));
                    Ok::<(), Error>(())
                });
                existed.map(Outcome::Existed)
            }
            Operation::Append(_, key, writer) => {
                let key = key_values(*name, *key);
                let before = transaction.get(table, &key)?.map(|row| decode(*name, &row));
                if let Some((_, row)) = &before {
                    let (columns, list) = (Columns::of(*name), appended(row.payload.as_deref(), *writer));
                    let changes =
                        [(columns.writer, Value::Int(writer.0 as i64)), (columns.payload, Value::Bytes(&list))];
                    transaction.update(table, &key, &changes)?;
                }
                Ok(Outcome::Row(before))
            }
            Operation::Delete(_, key) => transaction.delete(table, &key_values(*name, *key)).map(Outcome::Existed),
            Operation::DeleteBlind(_, key) => {
                transaction.delete_blind(table, &key_values(*name, *key)).map(|()| Outcome::Done)
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
    let (mut model, mut index) = (Model::with(sequences::recovered(&transaction)?), None);
    for name in [TableName::Plain, TableName::Indexed].into_iter().chain((0..EXTRAS).map(TableName::Extra)) {
        let table = match tables.table(&transaction, name) {
            Err(error) if error.sqlstate() == UNDEFINED_TABLE => continue,
            table => table?,
        };
        let schema = table.schema();
        let indexes = IndexName::ALL.into_iter().filter(|index| schema.index(index.name()).is_ok()).collect();
        let (added, is_renamed) = (added(name, schema).count(), is_renamed(schema));
        model.add(name, TableModel { indexes, added, is_renamed, ..TableModel::default() });
        for row in transaction.scan(&table, KeyRange::all())? {
            let (key, row) = decode(name, &row?);
            assert_eq!(model.put(name, key, Some(row)), None, "a scan returned {key:?} twice");
        }
        index = index.or(differing_index(&tables, &transaction, &mut model, name)?);
    }
    for slot in 0..procedures::SLOTS {
        match transaction.procedure(&procedures::name(slot)) {
            Ok(program) => drop(model.procedures.insert(slot, Declared(Arc::new(program)))),
            Err(error) if error.sqlstate() == UNDEFINED_FUNCTION => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Recovered { transactions, model, index })
}

/// Secondary indexes are rebuilt at every open, and kept in step until the next one: they must say what the rows say.
fn differing_index(
    tables: &Tables,
    transaction: &Transaction<'_>,
    model: &mut Model,
    name: TableName,
) -> Result<Option<Box<IndexDifference>>, Error> {
    let teams = Range { reverse: true, ..Range::all() };
    let partial = IndexName::ALL.into_iter().filter(|index| index.is_partial());
    let partial = partial.map(|index| Operation::ScanPartial(name, index, Range::all()));
    let all = [Operation::ScanCodes(name, Range::all()), Operation::ScanTeams(name, teams)];
    for operation in all.into_iter().chain(partial) {
        let found = tables.execute(transaction, &operation, &mut Vec::new())?;
        let expected = model.begin().apply(&operation);
        if found != expected {
            return Ok(Some(Box::new(IndexDifference { operation, found, expected })));
        }
    }
    Ok(None)
}

/// The key of these values.
pub(super) fn key_of(table: TableName, values: &[Datum]) -> Key {
    let number = |value: &Datum| match value {
        Datum::Int(value) => u16::try_from(*value).expect("keys are ranks"),
        other => unreachable!("a key has {other:?}"),
    };
    Key(match (table, values) {
        (TableName::Indexed, [branch, Datum::Text(name)]) => {
            let at = NAMES.iter().position(|known| known == name).expect("a known name");
            number(branch) * NAMES.len() as u16 + at as u16
        }
        (_, [id]) => number(id),
        (table, values) => unreachable!("{values:?} is no key of {table:?}"),
    })
}

/// What the calling fiber has drawn for its last call.
pub(super) fn drawn() -> Drawn {
    let mut drawn = Drawn::default();
    for draw in fiber::take_draws() {
        match draw {
            Draw::Time(time) => drawn.time = Some(time),
            Draw::Seed(seed) => drawn.seed = Some(seed),
            Draw::Value(value) => drawn.values.push(value),
            other => unreachable!("{other:?} is nothing drawn"),
        }
    }
    drawn
}

pub(super) fn key_values(table: TableName, key: Key) -> Vec<Value<'static>> {
    let rank = usize::from(key.0);
    match table {
        TableName::Plain | TableName::Extra(_) => vec![Value::Int(rank as i64)],
        TableName::Indexed => {
            vec![Value::Int((rank / NAMES.len()) as i64), Value::Text(NAMES[rank % NAMES.len()])]
        }
    }
}

/// The columns that a table was given later, and how many it had been given before each.
fn added(name: TableName, schema: &Schema) -> impl DoubleEndedIterator<Item = (usize, ColumnId)> + use<> {
    let first = Columns::of(name).constant.0 + 1;
    (first..schema.columns().len() as u16).map(move |column| (usize::from(column - first), ColumnId(column)))
}

/// Whether the column of what nobody changes has its other name.
fn is_renamed(schema: &Schema) -> bool {
    schema.column_id(CONSTANT_NAMES[1]).is_ok()
}

/// Whether a column that was given later is a text.
fn is_text(at: usize) -> bool {
    at & 1 == 1
}

/// What rows hold that were there before a column.
fn value_before(at: usize) -> Value<'static> {
    if is_text(at) { Value::Text("before") } else { Value::Null }
}

/// What is written to a column that was given later; a text of as many bytes as the key says.
fn added_value(key: Key, at: usize) -> Value<'static> {
    match is_text(at) {
        true => Value::Text(&"0123456789"[..usize::from(key.0) % 10]),
        false => Value::Int(i64::from(added_int(key, at))),
    }
}

fn values<'r>(name: TableName, table: &Table, key: Key, row: &'r Row) -> Vec<Value<'r>> {
    let mut values = key_values(name, key);
    values.extend([
        Value::Int(row.writer.0 as i64),
        Value::Int(row.counter),
        row.code.map_or(Value::Null, |code| Value::Int(i64::from(code))),
        Value::Int(i64::from(row.team)),
        row.payload.as_deref().map_or(Value::Null, Value::Bytes),
        Value::Text(CONSTANT),
    ]);
    values.extend(added(name, table.schema()).map(|(at, _)| added_value(key, at)));
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

pub(super) fn decode(table: TableName, row: &EngineRow<'_>) -> (Key, Row) {
    let columns = Columns::of(table);
    let first = row.int(ColumnId(0)) as usize;
    let rank = match table {
        TableName::Plain | TableName::Extra(_) => first,
        TableName::Indexed => {
            let name = row.text(ColumnId(1));
            first * NAMES.len() + NAMES.iter().position(|known| *known == name).expect("a known name")
        }
    };
    assert_eq!(row.text(columns.constant), CONSTANT, "what nobody changes");
    let key = Key(rank as u16);
    let is_written = |(at, column): &(usize, ColumnId)| row.value(*column) == added_value(key, *at);
    let written = added(table, row.schema()).take_while(is_written).count();
    let is_before = |(at, column)| row.value(column) == value_before(at);
    assert!(added(table, row.schema()).skip(written).all(is_before), "{row:?} holds what nobody wrote to {key:?}");
    let present = |column| !row.is_null(column);
    let decoded = Row {
        writer: TransactionId(row.int(columns.writer) as u64),
        counter: row.int(columns.counter),
        code: present(columns.code).then(|| row.int(columns.code) as i32),
        team: row.int(columns.team) as i16,
        payload: present(columns.payload).then(|| row.bytes(columns.payload).to_vec()),
        added: written,
    };
    (key, early::as_it_was(decoded))
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
