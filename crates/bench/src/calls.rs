//! Transactions as calls of declared procedures: the same requests as in Rust, and the same evidence of what they did.
//!
//! Invariants:
//! - A call has all of its input in its arguments. It draws nothing, so that the request alone says what it does.
//! - The procedures are in the catalog before the first request is issued, with the text that this program has.

use osier::call::Output;
use osier::procedure::program::Program;
use osier::table::{Argument, Datum};
use osier::{Database, Error, ProcedureError, Receipt, Transaction};
use serde::{Deserialize, Serialize};

use crate::error::BenchError;
use crate::{Executed, TargetError};

/// The SQLSTATE with which a procedure refuses what a workload asks for now and then.
pub(crate) const REFUSED: &str = "P0001";

/// How the requests of a workload are issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Issue {
    /// As transactions in Rust.
    #[default]
    Rust,
    /// As calls of procedures.
    Calls {
        /// So many of 100 are transactions in Rust nevertheless.
        ad_hoc_percent: u8,
    },
}

impl Issue {
    /// Whether the request with this number is issued as a call: as drawn from the number, so that it is the same in each run.
    pub(crate) fn is_call(self, number: i64) -> bool {
        match self {
            Issue::Rust => false,
            Issue::Calls { ad_hoc_percent: 0 } => true,
            Issue::Calls { ad_hoc_percent } => {
                fastrand::Rng::with_seed(number.cast_unsigned()).u8(0..100) >= ad_hoc_percent
            }
        }
    }

    /// Whether some requests are transactions in Rust.
    pub(crate) fn has_ad_hoc(self) -> bool {
        self != Issue::Calls { ad_hoc_percent: 0 }
    }

    /// As reports say it; nothing where everything is Rust.
    pub fn description(self) -> String {
        match self {
            Issue::Rust => String::new(),
            Issue::Calls { ad_hoc_percent: 0 } => ", as calls".to_owned(),
            Issue::Calls { ad_hoc_percent } => format!(", {ad_hoc_percent} % ad hoc among calls"),
        }
    }
}

/// A request as a call.
#[derive(Debug)]
pub struct Call<'a> {
    /// The procedure.
    pub procedure: &'static str,
    /// What it is called with.
    pub arguments: Vec<Argument<'a>>,
}

impl<'a> Call<'a> {
    /// A call with these arguments.
    pub fn new(procedure: &'static str, arguments: impl Into<Vec<Argument<'a>>>) -> Call<'a> {
        Call { procedure, arguments: arguments.into() }
    }
}

/// Why a procedure gave up.
#[derive(Debug)]
pub struct Refusal<'a> {
    /// Its SQLSTATE.
    pub sqlstate: &'a str,
    /// What it said.
    pub message: &'a str,
}

impl Refusal<'_> {
    /// The number at the end of the message.
    pub fn last_number(&self) -> Option<i64> {
        self.message.rsplit(' ').next()?.parse().ok()
    }
}

/// Returns what a call proves, as its workload says; the error of the call where the workload knows no reason for it.
pub(crate) fn conclude<E>(
    executed: Executed<Receipt, Result<Output, Error>>,
    returned: impl FnOnce(&Output) -> Option<E>,
    refused: impl FnOnce(&Refusal<'_>) -> Option<E>,
) -> Result<Executed<Receipt, E>, TargetError> {
    let Executed { receipt, outcome, conflicts, evidence: result } = executed;
    let evidence = match result {
        Ok(output) => returned(&output).ok_or_else(|| TargetError::new(format!("a call returned {output:?}")))?,
        Err(error) => {
            let proved = match &error {
                Error::Procedure(ProcedureError::Aborted { sqlstate, message, .. }) => {
                    refused(&Refusal { sqlstate, message })
                }
                _ => None,
            };
            proved.ok_or_else(|| TargetError::new(error))?
        }
    };
    Ok(Executed { receipt, outcome, conflicts, evidence })
}

/// Creates the procedures of these texts where they are missing, and replaces those that are different. They stand in the order
/// of their calls, who is called first.
pub fn create(db: &Database, texts: &[&str]) -> Result<(), BenchError> {
    let mut programs = Vec::new();
    for text in texts {
        programs.extend(Program::parse_all(text).map_err(Error::from)?);
    }
    let ((), receipt) = db.run(|tx| programs.iter().try_for_each(|program| create_one(tx, program)))?;
    receipt.wait().map_err(Error::from)?;
    Ok(())
}

fn create_one(tx: &Transaction<'_>, program: &Program) -> Result<(), Error> {
    match tx.procedure(&program.name) {
        Ok(found) if found == *program => Ok(()),
        Ok(_) | Err(Error::Procedure(ProcedureError::Unknown { .. })) => tx.replace_procedure(program),
        Err(error) => Err(error),
    }
}

/// A result that is an integer.
pub(crate) fn int(output: &Output, name: &str) -> Option<i64> {
    output.value(name).int()
}

/// A result that is a number with digits after its point, in units of the last of them.
pub(crate) fn numeric(output: &Output, name: &str) -> Option<i64> {
    match output.value(name) {
        Datum::Numeric(units) => Some(*units),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_requests_are_calls_as_were_asked_for() {
        let calls = |issue: Issue| (0..10_000).filter(|number| issue.is_call(*number)).count();
        assert_eq!(calls(Issue::Rust), 0);
        assert_eq!(calls(Issue::Calls { ad_hoc_percent: 0 }), 10_000);
        assert!(calls(Issue::Calls { ad_hoc_percent: 20 }).abs_diff(8000) < 200);
        assert_eq!(calls(Issue::Calls { ad_hoc_percent: 100 }), 0);
    }

    #[test]
    fn the_number_is_the_last_word() {
        let number = |message| Refusal { sqlstate: "P0001", message }.last_number();
        assert_eq!(number("the order would be 3001"), Some(3001));
        assert_eq!(number("no number"), None);
    }
}
