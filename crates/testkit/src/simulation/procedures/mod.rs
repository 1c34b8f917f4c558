//! Procedures of a simulation: programs that a seed draws, calls of them, and what each call gave.
//!
//! Invariants:
//! - What a procedure takes and returns depends on its slot alone, so that one that is replaced still fits those that call it. It
//!   calls only procedures of greater slots.
//! - The one who judges executes the tree of a program by itself ([`interpret`]): nothing of the compiler and of the machine is
//!   in it. From the engine it takes what a call drew.
//! - The slot behind them is that of the [`function`] of the program, which is always there.
//! - A procedure of a slot that writes marks its transaction before it does anything else.

mod evaluate;
mod function;
mod generate;
mod interpret;
mod resolve;

use std::fmt;
use std::sync::Arc;

use osier::call::Output;
use osier::procedure::program::Program;
use osier::table::{Argument, Datum, Value};
use osier::{Error, ProcedureError};

pub(super) use function::functions;
pub use generate::Generator;
pub(super) use interpret::call;
pub(super) use resolve::resolves;

use super::operation::TransactionId;

/// How many declared procedures there may be at a time.
pub const SLOTS: u8 = 5;

/// The sequence that procedures draw from.
pub(super) const SEQUENCE: &str = "numbers";

/// The name of the procedure of a slot.
pub fn name(slot: u8) -> String {
    format!("p{slot}")
}

/// The slot of a procedure.
pub(super) fn slot(name: &str) -> Option<u8> {
    (0..SLOTS).find(|slot| self::name(*slot) == name)
}

/// Whether the procedures of a slot write.
pub fn writes(slot: u8) -> bool {
    !matches!(slot, 2 | 4)
}

/// A program that is a part of an operation.
#[derive(Clone, PartialEq)]
pub struct Declared(pub Arc<Program>);

/// Constants are equal where their bits are.
impl Eq for Declared {}

impl fmt::Debug for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A call with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// Which procedure.
    pub slot: u8,
    /// Who calls.
    pub me: TransactionId,
    /// A number that keys are made of.
    pub key: i64,
    /// Any number.
    pub number: i64,
    /// Any numbers, NULLs among them.
    pub list: Vec<Option<i64>>,
    /// A text.
    pub text: String,
}

impl Invocation {
    /// Whether it calls the function of the program.
    pub fn is_of_function(&self) -> bool {
        self.slot == function::FUNCTION
    }

    /// The arguments.
    pub fn arguments(&self) -> Vec<Argument<'_>> {
        let int = |value| Argument::Scalar(Value::Int(value));
        let list = self.list.iter().map(|element| element.map_or(Value::Null, Value::Int)).collect();
        let text = Argument::Scalar(Value::Text(&self.text));
        vec![int(self.me.0 as i64), int(self.key), int(self.number), Argument::Array(list), text]
    }

    fn data(&self) -> [Datum; 5] {
        let list = self.list.iter().map(|element| element.map_or(Datum::Null, Datum::Int)).collect();
        let text = Datum::Text(self.text.clone());
        [Datum::Int(self.me.0 as i64), Datum::Int(self.key), Datum::Int(self.number), Datum::Array(list), text]
    }
}

/// What a call drew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    /// The time.
    pub time: Option<i64>,
    /// The seed of random numbers.
    pub seed: Option<u64>,
    /// Values of the sequence.
    pub values: Vec<i64>,
}

/// Why a call gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// Its SQLSTATE.
    pub sqlstate: String,
    /// What the program said; empty where the engine says it in its own words.
    pub message: String,
}

impl Raised {
    pub(super) fn new(sqlstate: &str) -> Raised {
        Raised { sqlstate: sqlstate.to_owned(), message: String::new() }
    }
}

/// What a call returned, or why it gave up.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    /// Its rows.
    pub result: Result<Vec<Vec<Datum>>, Raised>,
    /// What it drew meanwhile.
    pub drawn: Drawn,
}

/// No result is a NaN.
impl Eq for Called {}

/// SQLSTATEs of calls that did not begin: there is no such procedure, or it makes no sense any more.
const UNKNOWN: &str = "42883";
const INVALID: &str = "42P13";

impl Called {
    /// What a call in the engine gave; `None` where it failed for a reason that is none of the procedure's.
    pub fn of(result: Result<&Output, &Error>, drawn: Drawn) -> Option<Called> {
        match result {
            Ok(output) => Some(Called { result: Ok(output.rows().to_vec()), drawn }),
            Err(Error::Procedure(error)) => Some(Called::refused(error, drawn)),
            Err(_) => None,
        }
    }

    fn refused(error: &ProcedureError, drawn: Drawn) -> Called {
        let sqlstate = error.sqlstate();
        let said = |message: &String| if sqlstate.starts_with("P0") { message.clone() } else { String::new() };
        let message = if let ProcedureError::Aborted { message, .. } = error { said(message) } else { String::new() };
        let called = Called { result: Err(Raised { message, ..Raised::new(sqlstate) }), drawn };
        match called.has_begun() {
            true => called,
            // What an earlier attempt drew is nobody's.
            false => Called { drawn: Drawn::default(), ..called },
        }
    }

    /// Whether there was a procedure.
    pub fn has_begun(&self) -> bool {
        !matches!(&self.result, Err(raised) if raised.sqlstate == UNKNOWN || raised.sqlstate == INVALID)
    }
}
