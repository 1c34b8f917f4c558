//! The function that a simulated program registers: steps that the arguments of a call draw, among them errors after which it
//! goes on. The engine runs it, and the one who judges takes the same steps on the model.

use std::fmt::Write;

use fastrand::Rng;
use osier::call::{OpaqueCall, OpaqueProcedure, Procedures};
use osier::procedure::program::DataType;
use osier::table::{Argument, Datum, Type, Value};
use osier::{Error, Transaction};

use super::super::operation::{Key, Operation, Outcome, Range, Row, TableName, TransactionId};
use super::super::tables::{Tables, UNDEFINED_TABLE};
use super::interpret::{Interpreter, Rows};
use super::{Invocation, Raised, SEQUENCE, SLOTS, name};

/// The slot behind those of declared procedures.
pub(super) const FUNCTION: u8 = SLOTS;

/// One step of a call.
enum Step {
    Do(Operation),
    /// Adds a random number to a counter.
    Increase(TableName, Key),
    Time,
    NextValue,
    Savepoint,
    /// To the last savepoint, if there is one.
    RollBack,
    Abort,
}

/// What the program registers.
pub(in super::super) fn functions() -> Procedures {
    let function = OpaqueProcedure::new(name(FUNCTION), 1, run)
        .parameter("me", Type::Int64)
        .parameter("k", Type::Int64)
        .parameter("n", Type::Int64)
        .parameter("xs", DataType::array(Type::Int64))
        .parameter("s", Type::Text)
        .returns("seen", Type::Text);
    Procedures::new().register(function)
}

fn steps(me: TransactionId, key: i64, number: i64) -> Vec<Step> {
    let rng = &mut Rng::with_seed(me.0 << 16 ^ (key << 8) as u64 ^ number as u64);
    (0..rng.usize(1..6)).map(|_| step(rng, me, key)).collect()
}

fn step(rng: &mut Rng, me: TransactionId, key: i64) -> Step {
    let table = if rng.bool() { TableName::Plain } else { TableName::Indexed };
    let key = Key(key as u16 + rng.u16(0..2));
    let code = rng.bool().then(|| rng.i32(-3..9));
    let row = Row { writer: me, counter: rng.i64(0..10), code, team: rng.i16(-2..3), payload: None, added: 0 };
    Step::Do(match rng.u8(0..16) {
        0 => Operation::Get(table, key),
        1 => Operation::GetByCode(rng.i32(-3..9)),
        2 => Operation::Scan(table, Range { limit: rng.usize(0..3), ..Range::all() }),
        3 | 4 => Operation::Insert(table, key, row),
        5 => Operation::Upsert(table, key, row),
        6 | 7 => Operation::Replace(table, key, row),
        8 => Operation::Append(table, key, me),
        9 => Operation::Delete(table, key),
        10 | 11 => return Step::Increase(table, key),
        12 => return Step::NextValue,
        13 => return Step::Savepoint,
        14 => return if rng.bool() { Step::RollBack } else { Step::Time },
        _ => return if rng.u8(0..4) == 0 { Step::Abort } else { Step::NextValue },
    })
}

const ABORTED: (&str, &str) = ("P0002", "the function has seen enough");

fn run(call: &OpaqueCall<'_, '_>) -> Result<Vec<Datum>, Error> {
    let transaction: &Transaction<'_> = call.transaction();
    let int = |at: usize| match call.arguments()[at] {
        Argument::Scalar(Value::Int(value)) => value,
        ref other => unreachable!("{other:?} is no number"),
    };
    let me = TransactionId(int(0) as u64);
    let tables = Tables::find(transaction)?.expect("who calls has looked for the tables");
    tables.mark(transaction, me)?;
    let (mut seen, mut savepoint) = (String::new(), None);
    let execute = |operation| tables.execute(transaction, &operation, &mut Vec::new());
    for step in steps(me, int(1), int(2)) {
        let outcome = match step {
            Step::Do(operation) => execute(operation)?,
            Step::Increase(table, key) => execute(Operation::Increment(table, key, me, by(call.random())))?,
            Step::Time => Outcome::Value(Some(call.now())),
            Step::NextValue => match call.next_value(SEQUENCE) {
                Err(error) if error.sqlstate() == UNDEFINED_TABLE => Outcome::Missing,
                value => Outcome::Value(Some(value?)),
            },
            Step::Savepoint => {
                savepoint = Some(transaction.savepoint());
                Outcome::Done
            }
            Step::RollBack => {
                savepoint.map_or(Ok(()), |savepoint| transaction.rollback_to(savepoint))?;
                Outcome::Done
            }
            Step::Abort => return Err(call.abort(ABORTED.0, ABORTED.1)),
        };
        note(&mut seen, &outcome);
    }
    Ok(vec![Datum::Text(seen)])
}

impl Interpreter<'_, '_> {
    /// A call of the function.
    pub(super) fn take_steps(&mut self, invocation: &Invocation) -> Result<Rows, Raised> {
        let (me, mut seen, mut savepoint) = (invocation.me, String::new(), None);
        for step in steps(me, invocation.key, invocation.number) {
            let outcome = match step {
                Step::Do(operation) => self.execution.apply(&operation),
                Step::Increase(table, key) => {
                    let by = by(self.draws.random());
                    self.execution.apply(&Operation::Increment(table, key, me, by))
                }
                Step::Time => Outcome::Value(Some(self.draws.now())),
                Step::NextValue if self.execution.model().sequence.is_none() => Outcome::Missing,
                Step::NextValue => Outcome::Value(Some(self.next_value())),
                Step::Savepoint => {
                    savepoint = Some(self.execution.mark_here());
                    Outcome::Done
                }
                Step::RollBack => {
                    savepoint.into_iter().for_each(|mark| self.execution.undo_to(mark));
                    Outcome::Done
                }
                Step::Abort => {
                    return Err(Raised { sqlstate: ABORTED.0.to_owned(), message: ABORTED.1.to_owned() });
                }
            };
            note(&mut seen, &outcome);
        }
        Ok(vec![vec![Datum::Text(seen)]])
    }
}

fn by(random: f64) -> i64 {
    (random * 8.0) as i64
}

fn note(seen: &mut String, outcome: &Outcome) {
    write!(seen, "{outcome:?}; ").expect("a string takes all");
}
