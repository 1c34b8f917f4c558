//! Runs code within a transaction.
//!
//! Invariants:
//! - Every instruction is a step, and steps are bounded; so is the memory of the call (memory.rs).
//! - Between two instructions nothing of the transaction is borrowed but what the variables and scans hold, so a call can stop
//!   there and another one can go on ([`interleave`](super::interleave)).
//! - An error that a `try` statement catches leaves no write of its block behind.
//!
//! Absent: where the code comes from, retries and the log (session.rs).

use std::borrow::Cow;

use super::evaluate::{RowView, Variables};
use super::failure::Failure;
use super::memory::List;
use super::output::Output;
use super::trace::{Access, Hook};
use super::turns::stop;
use crate::concurrency::Intent;
use crate::procedure::code::{
    ArraySlot, Code, Each, ExpectedKey, ExpectedKeys, Handler, Instruction, Rounds, RowRange, RowSlot, Scalar,
    ScanSlot, Slot, TableSlot, Target,
};
use crate::table::{ColumnId, KeyBuf, KeyRange, Row, Table, Value};
use crate::transaction::{RowAhead, Savepoint, Scan, Transaction};

/// Rounds of a loop whose rows are asked for together: what comes later drives out what came first.
const ROUNDS_MAX: usize = 256;

/// Rows of so many columns are put together without a move.
const USUAL_COLUMNS: usize = 16;

/// A `try` statement that is being executed.
struct Try<'a> {
    handler: &'a Handler,
    savepoint: Savepoint,
}

/// A scan that is being gone through.
struct OpenScan<'a, 's> {
    rows: Scan<'a, 's>,
    left: u64,
}

/// A call in progress.
pub(super) struct Machine<'a, 's> {
    code: &'a Code,
    transaction: &'a Transaction<'s>,
    pub(super) variables: Variables<'a>,
    scans: Vec<OpenScan<'a, 's>>,
    tries: Vec<Try<'a>>,
    /// A key or a row that is being put together.
    row: List<'a, Value<'a>>,
    changes: List<'a, (ColumnId, Value<'a>)>,
    /// Rows that are asked for.
    ahead: List<'a, RowAhead<'a>>,
    pub(super) output: Output,
    steps_left: u64,
    steps_max: u64,
    /// The instruction that is executed.
    at: u32,
    /// The one whose row was asked for.
    asked_at: Option<u32>,
    /// Whether what an instruction reads is changed by nobody meanwhile; empty where nothing is known of that.
    unordered: &'a [bool],
}

/// What comes after an instruction.
enum Next {
    Following,
    At(Target),
    /// The following one, once the memory that was asked for is there.
    Asked,
    Over,
}

impl<'a, 's> Machine<'a, 's> {
    pub(super) fn new(
        code: &'a Code,
        transaction: &'a Transaction<'s>,
        variables: Variables<'a>,
        steps_max: u64,
    ) -> Machine<'a, 's> {
        Machine {
            code,
            transaction,
            scans: Vec::new(),
            tries: Vec::new(),
            row: variables.arena.list(USUAL_COLUMNS),
            changes: variables.arena.list(USUAL_COLUMNS),
            ahead: variables.arena.list(0),
            output: Output::new(code.results.clone()),
            steps_left: steps_max,
            steps_max,
            at: 0,
            asked_at: None,
            unordered: &[],
            variables,
        }
    }

    /// Says which instructions read what nobody changes meanwhile.
    pub(super) fn with_unordered(self, unordered: &'a [bool]) -> Machine<'a, 's> {
        Machine { unordered, ..self }
    }

    /// The intent of the read that is executed, whose row may be changed then.
    fn intent(&self, table: &Table, may_change: bool) -> Intent {
        match self.unordered.get(self.at as usize) {
            Some(true) => Intent::Unordered,
            _ => self.transaction.intent(table, may_change),
        }
    }

    /// Returns the statement that is executed, for messages.
    pub(super) fn place(&self) -> &'a str {
        &self.code.places[usize::from(self.code.statements[self.at as usize])]
    }

    /// Runs to the end, and tells `hook` of it. An interleaved call stops at each access whose memory it has asked for.
    pub(super) async fn run<const INTERLEAVED: bool, H: Hook>(&mut self, mut hook: H) -> Result<(), Failure> {
        while self.run_until_asked::<INTERLEAVED, H>(&mut hook)? {
            // One line after the other, of all rows side by side. Others go on while they are on their way.
            let mut is_asked = true;
            while is_asked {
                if INTERLEAVED {
                    stop().await;
                }
                is_asked = false;
                self.ahead.iter_mut().for_each(|row| is_asked |= row.advance());
            }
            self.ahead.clear();
        }
        Ok(())
    }

    /// Runs until memory was asked for, or to the end; tells whether it was asked for.
    fn run_until_asked<const INTERLEAVED: bool, H: Hook>(&mut self, hook: &mut H) -> Result<bool, Failure> {
        let instructions = &self.code.instructions;
        loop {
            let instruction = &instructions[self.at as usize];
            if INTERLEAVED && self.asked_at.take() != Some(self.at) && self.ask_ahead(instruction)? {
                self.asked_at = Some(self.at);
                return Ok(true);
            }
            self.steps_left = self.steps_left.checked_sub(1).ok_or_else(|| Failure::steps(self.steps_max))?;
            let next = self.step(instruction);
            self.tell(hook, instruction, next.is_err());
            self.at = match next {
                Ok(Next::Following) => self.at + 1,
                Ok(Next::At(target)) => target.0,
                Ok(Next::Asked) => {
                    self.at += 1;
                    return Ok(true);
                }
                Ok(Next::Over) => return Ok(false),
                Err(failure) => {
                    let target = self.catch(failure)?;
                    hook.caught(self.transaction, self.place());
                    target.0
                }
            };
        }
    }

    /// Tells of an access.
    #[inline(always)]
    fn tell<H: Hook>(&self, hook: &mut H, instruction: &'a Instruction, has_failed: bool) {
        if !H::IS_ON || has_failed {
            return;
        }
        let row = |row: RowSlot| self.variables.rows[usize::from(row.0)].map(|view| (view.codec, view.bytes));
        let access = match instruction {
            Instruction::Get { table, row: to, .. } => {
                Access::Read { table: self.table(*table), key: Some(&self.row), row: row(*to) }
            }
            Instruction::Update { table, row: to, .. } | Instruction::Delete { table, row: to, .. } => {
                let table = self.table(*table);
                match row(*to) {
                    Some(_) => Access::WriteKey { table, key: &self.row },
                    None => Access::Read { table, key: Some(&self.row), row: None },
                }
            }
            Instruction::First { range, row: to, .. } => {
                Access::Read { table: self.table(range.table), key: None, row: row(*to) }
            }
            Instruction::NextRow { scan, row: to, .. } => {
                let Some(table) = self.scanned_table(*scan) else { return };
                Access::Read { table, key: None, row: row(*to) }
            }
            Instruction::Insert { table, .. }
            | Instruction::Upsert { table, .. }
            | Instruction::Replace { table, .. } => Access::WriteRow { table: self.table(*table), row: &self.row },
            Instruction::DeleteAll { .. } => Access::WriteMany,
            Instruction::Note { number, table, .. } => {
                Access::Note { number: *number, table: self.table(*table), prefix: &self.row }
            }
            _ => return,
        };
        hook.accessed(self.transaction, (self.place(), self.at as usize), &access);
    }

    /// The table of a scan: that of the instruction that opens it.
    fn scanned_table(&self, scan: ScanSlot) -> Option<&'a Table> {
        let before = self.code.instructions[..self.at as usize].iter().rev();
        before.into_iter().find_map(|instruction| match instruction {
            Instruction::OpenRows { scan: opened, range } if *opened == scan => Some(self.table(range.table)),
            _ => None,
        })
    }

    fn table(&self, table: TableSlot) -> &'a Table {
        &self.code.tables[usize::from(table.0)]
    }

    fn step(&mut self, instruction: &'a Instruction) -> Result<Next, Failure> {
        match instruction {
            Instruction::Evaluate { to, value } => {
                let value = self.variables.scalar(value)?;
                self.variables.set(*to, value);
            }
            Instruction::Unless { condition, to } => {
                if !self.variables.holds(condition)? {
                    return Ok(Next::At(*to));
                }
            }
            Instruction::Jump { to } => return Ok(Next::At(*to)),
            Instruction::NextEach { index, each, end } => return self.next_each(*index, each, *end),
            Instruction::Get { table, key, row, missing, for_update } => {
                return self.get((*table, *for_update), key, *row, *missing);
            }
            Instruction::Update { table, key, row, changes, missing } => {
                return self.update((*table, key), *row, changes, *missing);
            }
            Instruction::Insert { table, values } => {
                self.evaluate_row(values)?;
                self.transaction.insert(self.table(*table), &self.row)?;
            }
            Instruction::Upsert { table, values } => {
                self.evaluate_row(values)?;
                self.transaction.upsert(self.table(*table), &self.row)?;
            }
            Instruction::Replace { table, values, missing } => {
                self.evaluate_row(values)?;
                if !self.transaction.replace(self.table(*table), &self.row)? {
                    return Ok(Next::At(*missing));
                }
            }
            Instruction::Delete { table, key, row, missing } => return self.delete(*table, key, *row, *missing),
            Instruction::DeleteAll { range, count } => self.delete_all(range, *count)?,
            Instruction::First { range, row, missing } => return self.first(range, *row, *missing),
            Instruction::OpenRows { scan, range } => {
                assert_eq!(self.scans.len(), usize::from(scan.0), "scans end in the opposite order");
                let opened = self.open(range)?;
                self.scans.push(opened);
            }
            Instruction::NextRow { scan, row, end } => {
                assert_eq!(self.scans.len(), usize::from(scan.0) + 1, "the innermost scan is gone through");
                return self.next_row(*row, *end);
            }
            Instruction::CloseRows { scan } => self.scans.truncate(scan.0.into()),
            _ => return self.other(instruction),
        }
        Ok(Next::Following)
    }

    /// What is rare, or long.
    fn other(&mut self, instruction: &'a Instruction) -> Result<Next, Failure> {
        match instruction {
            Instruction::Expect(expected) => {
                expected.iter().try_for_each(|keys| self.expect(keys))?;
                return Ok(Next::Asked);
            }
            Instruction::EvaluateArray { to, value } => {
                let value = self.variables.array(value)?;
                self.variables.arrays[usize::from(to.0)] = value;
            }
            Instruction::Append { to, value } => {
                let value = self.variables.scalar(value)?;
                self.append(*to, value)?;
            }
            Instruction::BeginFor { variable, last, end } => {
                let (first, last) = (self.number(*variable)?, self.number(*last)?);
                if first > last {
                    return Ok(Next::At(*end));
                }
            }
            Instruction::NextFor { variable, last, body } => {
                let (at, last) = (self.number(*variable)?, self.number(*last)?);
                if at < last {
                    self.variables.set(*variable, Value::Int(at + 1));
                    return Ok(Next::At(*body));
                }
            }
            Instruction::BeginTry { handler } => {
                let (handler, savepoint) = (&self.code.handlers[usize::from(*handler)], self.transaction.savepoint());
                self.tries.push(Try { handler, savepoint });
            }
            Instruction::EndTry => drop(self.tries.pop()),
            Instruction::LeaveTry { count } => self.tries.truncate(self.tries.len() - usize::from(*count)),
            Instruction::Return { values } => {
                self.output.put(&mut self.variables, values)?;
                return Ok(Next::Over);
            }
            Instruction::Emit { values } => self.output.put(&mut self.variables, values)?,
            Instruction::Collect { values, to } => {
                // All of them before the first is added: an error may be caught.
                self.evaluate_row(values)?;
                for (at, to) in to.iter().enumerate() {
                    self.append(*to, self.row[at])?;
                }
            }
            Instruction::Abort { sqlstate, message } => {
                let message = match self.variables.scalar(message)? {
                    Value::Text(message) => message,
                    _ => "",
                };
                return Err(Failure::raised(String::from_utf8_lossy(sqlstate), message));
            }
            Instruction::Note { prefix, .. } => self.evaluate_row(prefix)?,
            Instruction::End => return Ok(Next::Over),
            _ => unreachable!("`step` executes all others"),
        }
        Ok(Next::Following)
    }

    /// The innermost `try` statement that catches an error goes on.
    #[cold]
    fn catch(&mut self, failure: Failure) -> Result<Target, Failure> {
        let Some((sqlstate, message)) = failure.caught() else { return Err(failure) };
        while let Some(Try { handler, savepoint }) = self.tries.pop() {
            let Some(catch) = handler.catches.iter().find(|catch| sqlstate.starts_with(&*catch.sqlstate)) else {
                continue;
            };
            self.scans.truncate(handler.scans.0.into());
            self.transaction.rollback_to(savepoint)?;
            if let Some((to_sqlstate, to_message)) = catch.error {
                let (sqlstate, message) = (self.variables.arena.text(sqlstate)?, self.variables.arena.text(message)?);
                self.variables.set(to_sqlstate, Value::Text(sqlstate));
                self.variables.set(to_message, Value::Text(message));
            }
            return Ok(catch.body);
        }
        Err(failure)
    }

    fn number(&self, slot: Slot) -> Result<i64, Failure> {
        match self.variables.values[usize::from(slot.0)] {
            Value::Int(number) => Ok(number),
            _ => Err(Failure::raised("22004", "the bound of a loop is NULL")),
        }
    }

    fn append(&mut self, to: ArraySlot, value: Value<'a>) -> Result<(), Failure> {
        let array = self.variables.arrays[usize::from(to.0)].get_or_insert_default();
        let copied = if let Cow::Borrowed(elements) = array { elements.len() } else { 0 };
        // Vectors double, so that this is about what they take.
        self.variables.arena.take((copied + 2) * size_of::<Value<'_>>())?;
        array.to_mut().push(value);
        Ok(())
    }

    /// Evaluates a key or a row.
    fn evaluate_row(&mut self, values: &'a [Scalar]) -> Result<(), Failure> {
        self.row.clear();
        for value in values {
            self.row.push(self.variables.scalar(value)?);
        }
        Ok(())
    }

    fn view(&self, row: Row<'a>) -> Result<RowView<'a>, Failure> {
        let (codec, bytes) = row.into_parts();
        let bytes = match bytes {
            Cow::Borrowed(bytes) => bytes,
            Cow::Owned(bytes) => self.variables.arena.bytes(&bytes)?,
        };
        Ok(RowView { codec, bytes })
    }

    fn get(
        &mut self,
        (table, for_update): (TableSlot, bool),
        key: &'a [Scalar],
        row: RowSlot,
        missing: Target,
    ) -> Result<Next, Failure> {
        self.evaluate_row(key)?;
        let table = self.table(table);
        let found = self.transaction.get_to(table, &self.row, self.intent(table, for_update))?;
        let view = found.map(|row| self.view(row)).transpose()?;
        self.variables.set_row(row, view);
        Ok(if view.is_some() { Next::Following } else { Next::At(missing) })
    }

    fn update(
        &mut self,
        (table, key): (TableSlot, &'a [Scalar]),
        row: RowSlot,
        changes: &'a [(ColumnId, Scalar)],
        missing: Target,
    ) -> Result<Next, Failure> {
        self.evaluate_row(key)?;
        let table = self.table(table);
        let Some(found) = self.transaction.row_for_write(table, &self.row)? else {
            self.variables.set_row(row, None);
            return Ok(Next::At(missing));
        };
        let bytes = found.bytes().or_else(|own| self.variables.arena.bytes(own))?;
        self.variables.set_row(row, Some(RowView { codec: &table.rows, bytes }));
        self.changes.clear();
        for (column, value) in changes {
            self.changes.push((*column, self.variables.scalar(value)?));
        }
        self.transaction.change_row(table, &found, &self.changes)?;
        Ok(Next::Following)
    }

    fn delete(&mut self, table: TableSlot, key: &'a [Scalar], row: RowSlot, missing: Target) -> Result<Next, Failure> {
        self.evaluate_row(key)?;
        let table = self.table(table);
        let Some(found) = self.transaction.row_for_write(table, &self.row)? else {
            self.variables.set_row(row, None);
            return Ok(Next::At(missing));
        };
        let bytes = found.bytes().or_else(|own| self.variables.arena.bytes(own))?;
        self.variables.set_row(row, Some(RowView { codec: &table.rows, bytes }));
        self.transaction.delete_row(table, &found)?;
        Ok(Next::Following)
    }

    fn delete_all(&mut self, range: &'a RowRange, count: Slot) -> Result<(), Failure> {
        let table = self.table(range.table);
        let mut scan = self.open(range)?;
        let mut rows = Vec::new();
        while scan.left > 0 {
            let Some(row) = scan.rows.next() else { break };
            scan.left -= 1;
            self.variables.arena.take(size_of::<RowView<'_>>())?;
            self.steps_left = self.steps_left.checked_sub(1).ok_or_else(|| Failure::steps(self.steps_max))?;
            rows.push(self.view(row?)?);
        }
        drop(scan);
        for row in &rows {
            self.row.clear();
            self.row.extend(table.schema().primary_key().iter().map(|column| row.codec.value(row.bytes, *column)));
            self.transaction.delete(table, &self.row)?;
        }
        self.variables.set(count, Value::Int(rows.len() as i64));
        Ok(())
    }

    fn open(&mut self, range: &'a RowRange) -> Result<OpenScan<'a, 's>, Failure> {
        let left = match &range.limit {
            None => u64::MAX,
            Some(limit) => match self.variables.int(limit, "the limit of a range")?.try_into() {
                Ok(limit) => limit,
                Err(_) => return Err(Failure::raised("2201W", "the limit of a range is negative")),
            },
        };
        self.evaluate_row(&range.prefix)?;
        let of_prefix = self.row.len();
        let bounds = [&range.low, &range.high].map(|bound| bound.as_ref());
        for value in bounds.into_iter().flatten().flat_map(|bound| &bound.values) {
            let value = self.variables.scalar(value)?;
            self.row.push(value);
        }
        let (prefix, rest) = self.row.split_at(of_prefix);
        let (low, high) = rest.split_at(bounds[0].map_or(0, |bound| bound.values.len()));
        let mut keys = KeyRange::prefix(prefix);
        if let Some(bound) = bounds[0] {
            keys = if bound.is_included { keys.from_included(low) } else { keys.from_excluded(low) };
        }
        if let Some(bound) = bounds[1] {
            keys = if bound.is_included { keys.to_included(high) } else { keys.to_excluded(high) };
        }
        let keys = if range.is_descending { keys.reverse() } else { keys };
        let table = self.table(range.table);
        let intent = self.intent(table, range.for_update);
        let rows = match &range.index {
            None => self.transaction.scan_to(table, keys, intent)?,
            Some(index) => self.transaction.scan_index_to(table, index, keys, intent)?,
        };
        Ok(OpenScan { rows, left })
    }

    fn first(&mut self, range: &'a RowRange, row: RowSlot, missing: Target) -> Result<Next, Failure> {
        let found = self.open(range)?.rows.next().transpose()?;
        let view = found.map(|row| self.view(row)).transpose()?;
        self.variables.set_row(row, view);
        Ok(if view.is_some() { Next::Following } else { Next::At(missing) })
    }

    fn next_row(&mut self, row: RowSlot, end: Target) -> Result<Next, Failure> {
        let scan = self.scans.last_mut().expect("the scan of a loop is open");
        let found = if scan.left == 0 { None } else { scan.rows.next().transpose()? };
        scan.left = scan.left.saturating_sub(1);
        let view = found.map(|row| self.view(row)).transpose()?;
        self.variables.set_row(row, view);
        Ok(if view.is_some() { Next::Following } else { Next::At(end) })
    }

    fn next_each(&mut self, index: Slot, each: &'a Each, end: Target) -> Result<Next, Failure> {
        let Value::Int(at) = self.variables.values[usize::from(index.0)] else { unreachable!("the loop counts") };
        let is_over = self.element_of_each(each, at as usize)?;
        self.variables.set(index, Value::Int(at + 1));
        Ok(if is_over { Next::At(end) } else { Next::Following })
    }

    /// Gives the variables of a loop over arrays the elements at a place; returns whether there are no more. The arrays stay as
    /// they are while the loop goes through them.
    fn element_of_each(&mut self, each: &'a Each, at: usize) -> Result<bool, Failure> {
        let length = |array: &ArraySlot| self.variables.array_at(*array).map(<[_]>::len);
        let first = length(&each.arrays[0]);
        if at == 0 && !each.arrays.iter().all(|array| first.is_some() && length(array) == first) {
            let is_null = each.arrays.iter().any(|array| length(array).is_none());
            return Err(match is_null {
                true => Failure::raised("22004", "an array that is gone through is NULL"),
                false => Failure::raised("2202E", "arrays that are gone through side by side have different lengths"),
            });
        }
        if first.is_none_or(|length| at >= length) {
            return Ok(true);
        }
        for (array, to) in each.arrays.iter().zip(&each.variables) {
            let element = self.variables.array_at(*array).map_or(Value::Null, |elements| elements[at]);
            self.variables.set(*to, element);
        }
        Ok(false)
    }

    /// Begins to ask for the row that an instruction uses, where nothing asked for it before; returns whether there is one.
    fn ask_ahead(&mut self, instruction: &'a Instruction) -> Result<bool, Failure> {
        match instruction {
            Instruction::Get { table, key, .. }
            | Instruction::Update { table, key, .. }
            | Instruction::Delete { table, key, .. }
                if !self.code.is_expected[self.at as usize] =>
            {
                // What is computed is computed once: it may draw.
                let is_at_hand =
                    |part: &Scalar| matches!(part, Scalar::Slot(_) | Scalar::Constant(_) | Scalar::Column(..));
                if key.iter().all(is_at_hand)
                    && let Some(key) = self.expected_key(*table, key)?
                {
                    self.ahead.push(self.transaction.ask_ahead(self.table(*table), &key));
                }
            }
            _ => {}
        }
        Ok(!self.ahead.is_empty())
    }

    /// Begins to ask for rows whose keys are known beforehand.
    fn expect(&mut self, expected: &'a ExpectedKeys) -> Result<(), Failure> {
        let (transaction, nothing) = (self.transaction, self.variables.arena.list(0));
        let mut ahead = std::mem::replace(&mut self.ahead, nothing);
        let asked = self.expected(expected, &mut |table, key| ahead.push(transaction.ask_ahead(table, key)));
        self.ahead = ahead;
        asked
    }

    /// Gives the keys that are known before the first statement to `found`. What makes no sense is told when it is used.
    pub(super) fn first_expected(&mut self, mut found: impl FnMut(&Table, &KeyBuf)) {
        if let Some(Instruction::Expect(expected)) = self.code.instructions.first() {
            let _ = expected.iter().try_for_each(|keys| self.expected(keys, &mut found));
        }
    }

    fn expected(&mut self, expected: &'a ExpectedKeys, found: &mut impl FnMut(&Table, &KeyBuf)) -> Result<(), Failure> {
        let ExpectedKeys { keys, rounds } = expected;
        match rounds {
            None => self.expected_keys(keys, found),
            Some(Rounds::Arrays(each)) => {
                let mut at = 0;
                while at < ROUNDS_MAX && matches!(self.element_of_each(each, at), Ok(false)) {
                    self.expected_keys(keys, found)?;
                    at += 1;
                }
                Ok(())
            }
            Some(Rounds::Numbers { variable, last }) => {
                let (first, last) = (self.number(*variable)?, self.number(*last)?);
                for number in first..=last.min(first.saturating_add(ROUNDS_MAX as i64 - 1)) {
                    self.variables.set(*variable, Value::Int(number));
                    self.expected_keys(keys, found)?;
                }
                self.variables.set(*variable, Value::Int(first));
                Ok(())
            }
        }
    }

    fn expected_keys(
        &mut self,
        keys: &'a [ExpectedKey],
        found: &mut impl FnMut(&Table, &KeyBuf),
    ) -> Result<(), Failure> {
        keys.iter().try_for_each(|ExpectedKey { table, key }| {
            let key = self.expected_key(*table, key)?;
            key.iter().for_each(|key| found(self.table(*table), key));
            Ok(())
        })
    }

    /// Returns the key of a row; a key that makes no sense is told when it is used.
    fn expected_key(&mut self, table: TableSlot, key: &'a [Scalar]) -> Result<Option<KeyBuf>, Failure> {
        self.evaluate_row(key)?;
        Ok(self.table(table).keys.of_key(&self.row).ok())
    }
}
