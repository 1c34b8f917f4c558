//! What a statement has at hand while it runs.
//!
//! Invariants:
//! - Registers are written by the operator or the subquery that owns them, before what reads them is opened.
//! - Memory that operators have counted is given back with the statement.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use osier::{Sequence, task};

use super::foreign::Pending;
use super::former::Former;
use super::probe::Probe;
use super::store::Store;
use super::{Row, datum_bytes};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::function::Environment;
use crate::plan::Query;
use crate::session::Canceller;
use crate::settings::Settings;

/// So many rows are read between two looks at the clock.
const ROWS_PER_LOOK: u32 = 1024;

/// The rows that a statement is to write may take so much memory.
const BYTES_TO_WRITE_MAX: usize = 4 << 30;

/// Smaller values of expressions are not counted.
const BYTES_HELD_MIN: usize = 32 << 10;

/// What a common table expression has given.
#[derive(Clone)]
struct Given {
    rows: Rc<Vec<Row>>,
    /// The numbers of the writes to the registers that it depends on.
    written: Vec<u64>,
}

/// The state of a running statement.
pub(crate) struct Context<'c> {
    pub(crate) store: &'c dyn Store,
    pub(crate) environment: &'c dyn Environment,
    pub(crate) parameters: &'c [Datum],
    /// What operators do, where somebody asks.
    pub(crate) probe: Option<Probe>,
    limits: Limits<'c>,
    /// What each register holds, and the number of the write that put it there.
    registers: RefCell<Vec<(Datum, u64)>>,
    /// How often something was written to registers.
    writes: Cell<u64>,
    /// The operands of those `CASE` that are being decided, the innermost one last.
    operands: RefCell<Vec<Datum>>,
    /// Results of subqueries that capture nothing.
    slots: RefCell<Vec<Option<Datum>>>,
    commons: RefCell<Vec<Option<Given>>>,
    working: RefCell<Vec<Rc<Vec<Row>>>>,
    /// What foreign keys have to look at when the statement is over.
    pub(crate) pending: RefCell<Pending>,
    /// What was there before the statement of tables that it reads again.
    pub(super) former: Former,
    /// The sequence of hidden keys that was drawn from last, and its name.
    hidden_keys: RefCell<Option<(String, Sequence)>>,
    rows_read: Cell<u32>,
    bytes: Cell<usize>,
    bytes_to_write: Cell<usize>,
    /// What expressions hold that are evaluated right now.
    held: Cell<usize>,
}

/// When a statement ends early.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'c> {
    pub(crate) canceller: &'c Canceller,
    /// How much memory its operators may keep rows in.
    pub(crate) bytes_max: usize,
}

impl<'c> Context<'c> {
    pub(crate) fn new(
        store: &'c dyn Store,
        environment: &'c dyn Environment,
        query: &Query,
        parameters: &'c [Datum],
        limits: Limits<'c>,
    ) -> Context<'c> {
        Context {
            store,
            environment,
            parameters,
            probe: None,
            limits,
            registers: RefCell::new(vec![(Datum::Null, 0); query.registers]),
            writes: Cell::default(),
            operands: RefCell::default(),
            slots: RefCell::new(vec![None; query.slots]),
            commons: RefCell::new(vec![None; query.commons]),
            working: RefCell::new(vec![Rc::default(); query.commons]),
            pending: RefCell::default(),
            former: Former::of(&query.reread),
            hidden_keys: RefCell::default(),
            rows_read: Cell::new(0),
            bytes: Cell::new(0),
            bytes_to_write: Cell::new(0),
            held: Cell::new(0),
        }
    }

    /// Has operators count and time what they do.
    pub(crate) fn watch(&mut self) {
        self.probe = Some(Probe::default());
    }

    pub(crate) fn settings(&self) -> &Settings {
        self.environment.settings()
    }

    /// Ends the statement where it was cancelled or has run too long, and lets others run. Whoever reads many rows calls it for
    /// each.
    pub(crate) fn tick(&self) -> Result<()> {
        let rows = self.rows_read.get().wrapping_add(1);
        self.rows_read.set(rows);
        if rows.is_multiple_of(ROWS_PER_LOOK) { self.look() } else { Ok(()) }
    }

    /// As [`Context::tick`], at once.
    pub(crate) fn look(&self) -> Result<()> {
        task::give_way();
        self.limits.canceller.check()
    }

    /// How much memory operators keep, for [`Context::release`].
    pub(crate) fn kept(&self) -> usize {
        self.bytes.get()
    }

    /// Gives back what operators have kept since: they are gone.
    pub(crate) fn release(&self, kept: usize) {
        self.bytes.set(kept);
    }

    /// Counts memory that an operator keeps.
    pub(crate) fn keep(&self, bytes: usize) -> Result<()> {
        let sum = self.bytes.get() + bytes;
        self.bytes.set(sum);
        if sum <= self.limits.bytes_max {
            return Ok(());
        }
        let message = format!("the statement keeps more rows than {} bytes hold", self.limits.bytes_max);
        let hint = "Read fewer rows at a time, or raise work_mem with SET.";
        Err(SqlError::new(SqlState::OutOfMemory, message).with_hint(hint))
    }

    /// Counts memory of rows that are to be written: they may take as much as a transaction may by itself, whatever `work_mem`
    /// says.
    pub(crate) fn keep_to_write(&self, bytes: usize) -> Result<()> {
        let sum = self.bytes_to_write.get() + bytes;
        self.bytes_to_write.set(sum);
        if sum <= BYTES_TO_WRITE_MAX.max(self.limits.bytes_max) {
            return Ok(());
        }
        let message = format!("the statement writes more rows than {BYTES_TO_WRITE_MAX} bytes hold");
        Err(SqlError::new(SqlState::ProgramLimitExceeded, message).with_hint("Write fewer rows at a time."))
    }

    /// How much memory values take that expressions hold, for [`Context::let_go`].
    pub(crate) fn held(&self) -> usize {
        self.held.get()
    }

    /// Lets go of what expressions have held since.
    pub(crate) fn let_go(&self, held: usize) {
        self.held.set(held);
    }

    /// Counts a value that an expression has made, and that is there until its row is. Large ones take time, too.
    pub(crate) fn hold(&self, value: &Datum) -> Result<()> {
        let bytes = datum_bytes(value);
        if bytes < BYTES_HELD_MIN {
            return Ok(());
        }
        let sum = self.held.get().saturating_add(bytes);
        self.held.set(sum);
        if sum <= self.limits.bytes_max {
            return self.look();
        }
        let message = format!("the values of an expression take more than {} bytes", self.limits.bytes_max);
        let hint = "Make shorter values, or raise work_mem with SET.";
        Err(SqlError::new(SqlState::OutOfMemory, message).with_hint(hint))
    }

    /// Draws a hidden key. A statement does so for each row, mostly of one table.
    pub(crate) fn hidden_key(&self, sequence: &str) -> Result<i64> {
        let mut last = self.hidden_keys.borrow_mut();
        let sequence = match last.take().filter(|(name, _)| name == sequence) {
            Some(found) => last.insert(found),
            None => last.insert((sequence.to_owned(), self.store.sequence(sequence)?)),
        };
        Ok(self.store.next_value(&sequence.1)?)
    }

    pub(crate) fn register(&self, at: usize) -> Datum {
        self.registers.borrow()[at].0.clone()
    }

    pub(crate) fn set_register(&self, at: usize, value: Datum) {
        let writes = self.writes.get() + 1;
        self.writes.set(writes);
        self.registers.borrow_mut()[at] = (value, writes);
    }

    /// Writes what is captured of a row to registers.
    pub(super) fn capture(&self, captures: &[(usize, Expr)], row: &[Datum]) -> Result<()> {
        for (register, expr) in captures {
            // What lies there already is as it was.
            if !matches!(expr, Expr::Register(own) if own == register) {
                let value = expr.evaluate(row, self)?;
                self.set_register(*register, value);
            }
        }
        Ok(())
    }

    /// The operand of the `CASE` that is being decided.
    pub(super) fn operand(&self) -> Datum {
        self.operands.borrow().last().cloned().expect("an operand stands in its CASE")
    }

    /// Decides a `CASE` with this operand.
    pub(super) fn with_operand<T>(&self, operand: Datum, decide: impl FnOnce() -> T) -> T {
        self.operands.borrow_mut().push(operand);
        let decided = decide();
        self.operands.borrow_mut().pop();
        decided
    }

    pub(crate) fn slot(&self, at: usize) -> Option<Datum> {
        self.slots.borrow()[at].clone()
    }

    pub(crate) fn set_slot(&self, at: usize, value: Datum) {
        self.slots.borrow_mut()[at] = Some(value);
    }

    /// What a common table expression has given, unless a register was written since that it depends on.
    pub(crate) fn common(&self, at: usize, captures: &[usize]) -> Option<Rc<Vec<Row>>> {
        let (commons, registers) = (self.commons.borrow(), self.registers.borrow());
        let Given { rows, written } = commons[at].as_ref()?;
        let is_same = captures.iter().map(|register| registers[*register].1).eq(written.iter().copied());
        is_same.then(|| rows.clone())
    }

    pub(crate) fn set_common(&self, at: usize, captures: &[usize], rows: Rc<Vec<Row>>) {
        let registers = self.registers.borrow();
        let written = captures.iter().map(|register| registers[*register].1).collect();
        self.commons.borrow_mut()[at] = Some(Given { rows, written });
    }

    pub(crate) fn working(&self, at: usize) -> Rc<Vec<Row>> {
        self.working.borrow()[at].clone()
    }

    pub(crate) fn set_working(&self, at: usize, rows: Rc<Vec<Row>>) {
        self.working.borrow_mut()[at] = rows;
    }
}
