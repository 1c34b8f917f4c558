//! Executes a program on the serial model: statement by statement, on the tree as it was declared.
//!
//! Invariants:
//! - Variables are found by their names, rows by a look at all of them. Nothing is shared with the engine but the tree.
//! - A loop over rows looks for the next row behind the last one each time, among the rows as they are then.
//! - What a failed block has written is undone where its error is caught, and wholly where nobody catches it. What it has
//!   drawn is not given back.

use std::collections::BTreeMap;

use osier::procedure::expression::Expression;
use osier::procedure::program::{Block, Catch, DataType, Program, Range, StatementKind};
use osier::table::{Datum, Type};

use super::super::model::{Execution, TableModel};
use super::super::operation::{IndexName, Key, Row, TableName, TransactionId};
use super::super::tables::{CONSTANT, key_of, key_values};
use super::evaluate::{Draws, checked, order};
use super::function::FUNCTION;
use super::resolve::{index, resolves, table};
use super::{Called, Drawn, INVALID, Invocation, Raised, UNKNOWN, slot};

/// Rows of results.
pub(super) type Rows = Vec<Vec<Datum>>;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    Value(DataType, Datum),
    Row(TableName, Option<(Key, Row)>),
    Error { sqlstate: String, message: String },
}

/// How a block ended.
#[derive(Clone, Copy, PartialEq)]
enum Flow {
    Next,
    Break,
    Continue,
    Return,
}

type Executed = Result<Flow, Raised>;

/// A procedure that is executed.
struct Frame {
    bindings: BTreeMap<String, Binding>,

    rows: Rows,
}

/// A call that is executed.
pub(super) struct Interpreter<'e, 'm> {
    pub(super) execution: &'e mut Execution<'m>,
    session: usize,
    pub(super) draws: Draws,
    frames: Vec<Frame>,
}

/// Executes a call of which it is known what it drew. Where it gives up, it leaves nothing behind.
pub(in super::super) fn call(
    execution: &mut Execution<'_>,
    invocation: &Invocation,
    seen: &Drawn,
    session: usize,
) -> Called {
    let refused = |sqlstate| Called { result: Err(Raised::new(sqlstate)), drawn: Drawn::default() };
    let program = execution.model().procedures.get(&invocation.slot).cloned();
    if program.is_none() && invocation.slot != FUNCTION {
        return refused(UNKNOWN);
    }
    if program.as_ref().is_some_and(|program| !resolves(execution.model(), &program.0)) {
        return refused(INVALID);
    }
    let mark = execution.mark_here();
    let mut interpreter = Interpreter { execution, session, draws: Draws::new(seen.clone()), frames: Vec::new() };
    let result = match program {
        Some(program) => interpreter.procedure(&program.0, invocation.data().into()),
        None => interpreter.take_steps(invocation),
    };
    let drawn = interpreter.draws.drawn;
    if result.is_err() {
        execution.undo_to(mark);
    }
    let result = result.map_err(|raised| match raised.sqlstate.starts_with("P0") {
        true => raised,
        false => Raised::new(&raised.sqlstate),
    });
    Called { result, drawn }
}

impl Interpreter<'_, '_> {
    fn procedure(&mut self, program: &Program, arguments: Vec<Datum>) -> Result<Rows, Raised> {
        let parameters = program.parameters.iter().zip(arguments);
        let bindings = parameters.map(|(field, value)| (field.name.clone(), Binding::Value(field.ty, value))).collect();
        self.frames.push(Frame { bindings, rows: Rows::new() });
        let executed = self.block(&program.body);
        let frame = self.frames.pop().expect("it was begun");
        executed.map(|_| frame.rows)
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a procedure is executed")
    }

    pub(super) fn binding(&self, name: &str) -> &Binding {
        &self.frames.last().expect("a procedure is executed").bindings[name]
    }

    fn bind(&mut self, name: &str, binding: Binding) {
        self.frame().bindings.insert(name.to_owned(), binding);
    }

    fn bind_value(&mut self, name: &str, ty: impl Into<DataType>, value: Datum) {
        self.bind(name, Binding::Value(ty.into(), value));
    }

    /// A column of a row, or a part of an error.
    pub(super) fn column(&self, of: &str, part: &str) -> Datum {
        match self.binding(of) {
            Binding::Row(table, row) => row.as_ref().map_or(Datum::Null, |(key, row)| cell(*table, *key, row, part)),
            Binding::Error { sqlstate, .. } if part == "sqlstate" => Datum::Text(sqlstate.clone()),
            Binding::Error { message, .. } => Datum::Text(message.clone()),
            other => unreachable!("{of} is {other:?}"),
        }
    }

    /// The next value of the sequence; one that nobody may be given where the model knows better.
    pub(super) fn next_value(&mut self) -> i64 {
        let seen = self.draws.seen.values.get(self.draws.drawn.values.len()).copied();
        let value = seen.filter(|value| self.execution.give(*value, self.session)).unwrap_or(i64::MIN);
        self.draws.drawn.values.push(value);
        value
    }

    fn block(&mut self, block: &Block) -> Executed {
        for statement in block {
            match self.statement(&statement.kind)? {
                Flow::Next => {}
                left => return Ok(left),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, kind: &StatementKind) -> Executed {
        match kind {
            StatementKind::Let { variable, ty, value } => {
                let value = value.as_ref().map_or(Ok(Datum::Null), |value| self.value(value))?;
                let ty = ty.expect("the generator gives types");
                let value = if ty.is_array { value } else { checked(ty.ty, value)? };
                self.bind_value(variable, ty, value);
            }
            StatementKind::Set { variable, value } => {
                let value = self.value(value)?;
                let Binding::Value(ty, _) = *self.binding(variable) else { unreachable!("it is a variable") };
                let value = if ty.is_array { value } else { checked(ty.ty, value)? };
                self.bind_value(variable, ty, value);
            }
            StatementKind::Append { variable, value } => {
                let value = self.value(value)?;
                let bound = self.frame().bindings.get_mut(variable);
                match bound {
                    Some(Binding::Value(_, Datum::Array(elements))) => elements.push(value),
                    Some(Binding::Value(_, null)) => *null = Datum::Array(vec![value]),
                    other => unreachable!("{variable} is {other:?}"),
                }
            }
            StatementKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    if self.holds(condition)? {
                        return self.block(body);
                    }
                }
                return self.block(otherwise);
            }
            StatementKind::While { condition, body } => {
                while self.holds(condition)? {
                    match self.block(body)? {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => break,
                        Flow::Return => return Ok(Flow::Return),
                    }
                }
            }
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Continue => return Ok(Flow::Continue),
            StatementKind::Return { values } => {
                self.emit(values)?;
                return Ok(Flow::Return);
            }
            StatementKind::Emit { values } => self.emit(values)?,
            StatementKind::Abort { sqlstate, message } => {
                let message = match self.value(message)? {
                    Datum::Text(message) => message,
                    _ => String::new(),
                };
                return Err(Raised { sqlstate: sqlstate.clone(), message });
            }
            StatementKind::Try { body, catches } => return self.try_(body, catches),
            StatementKind::Call { procedure, arguments, into, body } => {
                return self.call(procedure, arguments, into, body.as_ref());
            }
            kind => return self.loop_or_access(kind),
        }
        Ok(Flow::Next)
    }

    fn loop_or_access(&mut self, kind: &StatementKind) -> Executed {
        match kind {
            StatementKind::For { variable, from, to, body } => {
                let (from, to) = (self.value(from)?, self.value(to)?);
                let (Datum::Int(from), Datum::Int(to)) = (from, to) else { return Err(Raised::new("22004")) };
                self.each((from..=to).map(|number| vec![Datum::Int(number)]), std::slice::from_ref(variable), body)
            }
            StatementKind::ForEach { variables, arrays, body } => {
                let mut columns = Vec::new();
                for array in arrays {
                    columns.push(self.value(array)?);
                }
                let columns: Vec<_> = columns
                    .into_iter()
                    .map(
                        |column| {
                            if let Datum::Array(elements) = column { Ok(elements) } else { Err(Raised::new("22004")) }
                        },
                    )
                    .collect::<Result<_, _>>()?;
                if columns.iter().any(|column| column.len() != columns[0].len()) {
                    return Err(Raised::new("2202E"));
                }
                let rows = (0..columns[0].len()).map(|at| columns.iter().map(|column| column[at].clone()).collect());
                self.each(rows.collect::<Vec<_>>().into_iter(), variables, body)
            }
            StatementKind::ForRows { row, range, body } => self.for_rows(row, range, body),
            access => self.access(access),
        }
    }

    fn each(&mut self, rounds: impl Iterator<Item = Vec<Datum>>, names: &[String], body: &Block) -> Executed {
        for round in rounds {
            for (name, value) in names.iter().zip(round) {
                self.bind_value(name, Type::Int64, value);
            }
            match self.block(body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => break,
                Flow::Return => return Ok(Flow::Return),
            }
        }
        Ok(Flow::Next)
    }

    fn emit(&mut self, values: &[Expression]) -> Result<(), Raised> {
        if values.is_empty() {
            return Ok(());
        }
        let row = values.iter().map(|value| self.value(value)).collect::<Result<_, _>>()?;
        self.frame().rows.push(row);
        Ok(())
    }

    fn try_(&mut self, body: &Block, catches: &[Catch]) -> Executed {
        let (mark, frames) = (self.execution.mark_here(), self.frames.len());
        let raised = match self.block(body) {
            Ok(flow) => return Ok(flow),
            Err(raised) => raised,
        };
        let catch = catches.iter().find(|catch| raised.sqlstate.starts_with(catch.sqlstate.as_deref().unwrap_or("")));
        let Some(Catch { error, body, .. }) = catch else { return Err(raised) };
        self.execution.undo_to(mark);
        self.frames.truncate(frames);
        let Raised { sqlstate, message } = raised;
        error.iter().for_each(|name| {
            self.bind(name, Binding::Error { sqlstate: sqlstate.clone(), message: message.clone() });
        });
        self.block(body)
    }

    fn call(&mut self, name: &str, arguments: &[Expression], into: &[String], body: Option<&Block>) -> Executed {
        let callee = slot(name).and_then(|slot| self.execution.model().procedures.get(&slot)).cloned();
        let callee = callee.expect("it was looked for before").0;
        let arguments = arguments.iter().map(|value| self.value(value)).collect::<Result<_, _>>()?;
        let rows = self.procedure(&callee, arguments)?;
        if let Some(body) = body {
            return self.each(rows.into_iter(), into, body);
        }
        let row = rows.into_iter().next();
        for (at, (name, field)) in into.iter().zip(callee.results.fields()).enumerate() {
            let value = row.as_ref().map_or(Datum::Null, |row| row[at].clone());
            self.bind_value(name, field.ty, value);
        }
        Ok(Flow::Next)
    }

    fn access(&mut self, kind: &StatementKind) -> Executed {
        match kind {
            StatementKind::Get { table: name, key, row, otherwise } => {
                let (of, key) = self.key(name, key)?;
                let found = self.table(of).rows.get(&key).cloned();
                self.found(of, Some(row), found.map(|row| (key, row)), otherwise.as_ref())
            }
            StatementKind::First { range, row, otherwise } => {
                let asked = self.range(range)?;
                let found = self.next_in(&asked, None);
                self.found(asked.table, Some(row), found, otherwise.as_ref())
            }
            StatementKind::Insert { table: name, values } => {
                let Some((of, key, row)) = self.row(name, values)? else { return Ok(Flow::Next) };
                match self.table(of).rows.contains_key(&key) {
                    true => Err(Raised::new("23505")),
                    false => self.put(of, key, row),
                }
            }
            StatementKind::Upsert { table: name, values } => {
                let Some((of, key, row)) = self.row(name, values)? else { return Ok(Flow::Next) };
                self.put(of, key, row)
            }
            StatementKind::Replace { table: name, values, otherwise } => {
                let Some((of, key, row)) = self.row(name, values)? else { return Ok(Flow::Next) };
                match self.table(of).rows.contains_key(&key) {
                    true => self.put(of, key, row),
                    false => otherwise.as_ref().map_or(Ok(Flow::Next), |block| self.block(block)),
                }
            }
            StatementKind::Update { table: name, key, row, changes, otherwise } => {
                self.update(name, key, row.as_deref(), changes, otherwise.as_ref())
            }
            StatementKind::Delete { table: name, key, row, otherwise } => {
                let (of, key) = self.key(name, key)?;
                let found = self.table(of).rows.get(&key).cloned();
                if found.is_some() {
                    self.execution.put_row(of, key, None);
                }
                self.found(of, row.as_deref(), found.map(|row| (key, row)), otherwise.as_ref())
            }
            StatementKind::DeleteAll { range, count } => {
                let asked = self.range(range)?;
                let rows = self.table(asked.table).rows.clone();
                let doomed = asked.select(&rows);
                let number = doomed.len().min(asked.limit);
                for (_, key, _) in doomed.into_iter().take(number) {
                    self.execution.put_row(asked.table, key, None);
                }
                count.iter().for_each(|name| self.bind_value(name, Type::Int64, Datum::Int(number as i64)));
                Ok(Flow::Next)
            }
            other => unreachable!("{other:?} is no access"),
        }
    }

    fn found(
        &mut self,
        of: TableName,
        name: Option<&str>,
        found: Option<(Key, Row)>,
        otherwise: Option<&Block>,
    ) -> Executed {
        let is_missing = found.is_none();
        name.into_iter().for_each(|name| self.bind(name, Binding::Row(of, found.clone())));
        match otherwise.filter(|_| is_missing) {
            Some(block) => self.block(block),
            None => Ok(Flow::Next),
        }
    }

    fn update(
        &mut self,
        name: &str,
        key: &[Expression],
        row: Option<&str>,
        changes: &[(String, Expression)],
        otherwise: Option<&Block>,
    ) -> Executed {
        let (of, key) = self.key(name, key)?;
        let found = self.table(of).rows.get(&key).cloned();
        let Some(before) = found else { return self.found(of, row, None, otherwise) };
        self.found(of, row, Some((key, before.clone())), None)?;
        let mut values = Vec::new();
        for (column, value) in changes {
            values.push((column, self.value(value)?));
        }
        let mut after = before;
        for (column, value) in values {
            set_cell(&mut after, column, value)?;
        }
        self.put(of, key, after)
    }

    fn put(&mut self, of: TableName, key: Key, row: Row) -> Executed {
        if self.table(of).has_duplicate(key, &row) {
            return Err(Raised::new("23505"));
        }
        self.execution.put_row(of, key, Some(row));
        Ok(Flow::Next)
    }

    fn table(&self, of: TableName) -> &TableModel {
        self.execution.model().table(of).expect("it was looked for before")
    }

    fn key(&mut self, name: &str, key: &[Expression]) -> Result<(TableName, Key), Raised> {
        let of = table(name).expect("a known table");
        let values = key.iter().map(|value| self.value(value)).collect::<Result<Vec<_>, _>>()?;
        Ok((of, key_of(of, &values)))
    }

    /// Evaluates a row; `None` where it is a marker, which the model has elsewhere.
    fn row(&mut self, name: &str, values: &[(String, Expression)]) -> Result<Option<(TableName, Key, Row)>, Raised> {
        let values = values.iter().map(|(column, value)| Ok((column, self.value(value)?)));
        let values = values.collect::<Result<Vec<_>, Raised>>()?;
        let Some(of) = table(name) else { return Ok(None) };
        let of_key = key_values(of, Key(0)).len();
        let key: Vec<_> = values[..of_key].iter().map(|(_, value)| value.clone()).collect();
        let key = key_of(of, &key);
        let mut row = Row { writer: TransactionId(0), counter: 0, code: None, team: 0, payload: None, added: 0 };
        for (column, value) in values.into_iter().skip(of_key) {
            set_cell(&mut row, column, value)?;
        }
        Ok(Some((of, key, row)))
    }

    fn range(&mut self, range: &Range) -> Result<Asked, Raised> {
        let limit = match &range.limit {
            None => usize::MAX,
            Some(limit) => match self.value(limit)? {
                Datum::Int(limit) => usize::try_from(limit).map_err(|_| Raised::new("2201W"))?,
                _ => return Err(Raised::new("22004")),
            },
        };
        let mut values =
            |list: &[Expression]| list.iter().map(|value| self.value(value)).collect::<Result<Vec<_>, _>>();
        let prefix = values(&range.prefix)?;
        let mut bound = |bound: &Option<osier::procedure::program::Bound>| {
            bound.as_ref().map(|bound| Ok((values(&bound.values)?, bound.is_included))).transpose()
        };
        let (low, high) = (bound(&range.low)?, bound(&range.high)?);
        let (table, index) = (table(&range.table).expect("a known table"), range.index.as_deref().map(index));
        Ok(Asked { table, index, prefix, low, high, is_descending: range.is_descending, limit })
    }

    /// The first row of a range behind a position.
    fn next_in(&self, asked: &Asked, last: Option<&Vec<Datum>>) -> Option<(Key, Row)> {
        let found = asked.select(&self.table(asked.table).rows);
        let mut behind = found.into_iter().filter(|(position, ..)| {
            last.is_none_or(|last| {
                let order = by_values(position, last);
                if asked.is_descending { order.is_lt() } else { order.is_gt() }
            })
        });
        behind.next().map(|(_, key, row)| (key, row))
    }

    fn for_rows(&mut self, name: &str, range: &Range, body: &Block) -> Executed {
        let asked = self.range(range)?;
        let mut last = None;
        for _ in 0..asked.limit {
            let found = self.next_in(&asked, last.as_ref());
            self.bind(name, Binding::Row(asked.table, found.clone()));
            let Some((key, row)) = found else { break };
            last = Some(asked.position(key, &row));
            match self.block(body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => break,
                Flow::Return => return Ok(Flow::Return),
            }
        }
        Ok(Flow::Next)
    }
}

/// A range with its values.
struct Asked {
    table: TableName,
    index: Option<IndexName>,
    prefix: Vec<Datum>,
    low: Option<(Vec<Datum>, bool)>,
    high: Option<(Vec<Datum>, bool)>,
    is_descending: bool,
    limit: usize,
}

impl Asked {
    /// Where a row stands in the order of the range. In a unique index a row that takes the place of another one, with its value,
    /// stands where that stood.
    fn position(&self, key: Key, row: &Row) -> Vec<Datum> {
        let mut position = match self.index {
            None => Vec::new(),
            Some(IndexName::Codes) if row.code.is_some() => return vec![cell(self.table, key, row, "code")],
            Some(IndexName::Codes) => vec![Datum::Null],
            Some(IndexName::Teams) => vec![cell(self.table, key, row, "team")],
            Some(partial) => unreachable!("no procedure reads {partial:?}"),
        };
        position.extend(key_values(self.table, key).into_iter().map(Datum::from));
        position
    }

    /// Rows in the order of the range, however many.
    fn select(&self, rows: &BTreeMap<Key, Row>) -> Vec<(Vec<Datum>, Key, Row)> {
        let of_prefix = self.prefix.len();
        let begins = |position: &[Datum], with: &[Datum]| by_values(&position[..with.len()], with);
        let is_in = |position: &[Datum]| {
            let rest = &position[of_prefix..];
            begins(position, &self.prefix).is_eq()
                && self.low.as_ref().is_none_or(|(low, is_included)| {
                    let order = begins(rest, low);
                    order.is_gt() || *is_included && order.is_eq()
                })
                && self.high.as_ref().is_none_or(|(high, is_included)| {
                    let order = begins(rest, high);
                    order.is_lt() || *is_included && order.is_eq()
                })
        };
        let mut found: Vec<_> = rows
            .iter()
            .map(|(key, row)| (self.position(*key, row), *key, row.clone()))
            .filter(|(position, ..)| is_in(position))
            .collect();
        found.sort_by(|a, b| by_values(&a.0, &b.0));
        if self.is_descending {
            found.reverse();
        }
        found
    }
}

fn by_values(a: &[Datum], b: &[Datum]) -> std::cmp::Ordering {
    let unequal = a.iter().zip(b).map(|(a, b)| order(a, b)).find(|order| order.is_ne());
    unequal.unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// A column of a row.
fn cell(table: TableName, key: Key, row: &Row, column: &str) -> Datum {
    match column {
        "id" | "branch" => key_values(table, key)[0].into(),
        "name" => key_values(table, key)[1].into(),
        "writer" => Datum::Int(row.writer.0 as i64),
        "counter" => Datum::Int(row.counter),
        "code" => row.code.map_or(Datum::Null, |code| Datum::Int(code.into())),
        "team" => Datum::Int(row.team.into()),
        "payload" => row.payload.clone().map_or(Datum::Null, Datum::Bytes),
        "constant" => Datum::Text(CONSTANT.to_owned()),
        other => unreachable!("there is no column {other}"),
    }
}

/// Gives a column a value that it takes.
fn set_cell(row: &mut Row, column: &str, value: Datum) -> Result<(), Raised> {
    let number = |value: &Datum| value.int().ok_or_else(|| Raised::new("23502"));
    let out_of_range = |_| Raised::new("22003");
    match (column, &value) {
        ("writer", value) => row.writer = TransactionId(number(value)? as u64),
        ("counter", value) => row.counter = number(value)?,
        ("code", Datum::Null) => row.code = None,
        ("code", value) => row.code = Some(number(value)?.try_into().map_err(out_of_range)?),
        ("team", value) => row.team = number(value)?.try_into().map_err(out_of_range)?,
        ("payload", Datum::Null) => row.payload = None,
        ("payload", Datum::Bytes(bytes)) => row.payload = Some(bytes.clone()),
        ("constant", Datum::Text(_)) => {}
        (column, value) => unreachable!("{column} is not set to {value:?}"),
    }
    Ok(())
}
