//! What a call returns.

use std::sync::Arc;

use super::evaluate::Variables;
use super::failure::Failure;
use crate::procedure::code;
use crate::procedure::program::{Field, Results};
use crate::table::{Datum, Value};

/// The results of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    results: Arc<Results>,
    rows: Vec<Vec<Datum>>,
}

impl Output {
    pub(super) fn new(results: Arc<Results>) -> Output {
        Output { results, rows: Vec::new() }
    }

    /// Returns the values that a function has returned.
    pub(super) fn of(results: Arc<Results>, values: Vec<Datum>) -> Output {
        Output { results, rows: if values.is_empty() { Vec::new() } else { vec![values] } }
    }

    /// Returns the names and types of the results.
    pub fn fields(&self) -> &[Field] {
        self.results.fields()
    }

    /// Returns the rows of a set; of a procedure that returns values the one row of these, none where it ended without
    /// a `return`.
    pub fn rows(&self) -> &[Vec<Datum>] {
        &self.rows
    }

    /// Returns the result of this name, of a procedure that returns values; [`Datum::Null`] where it ended without a `return`.
    ///
    /// # Panics
    /// Where the procedure has no such result, or returns a set.
    pub fn value(&self, name: &str) -> &Datum {
        assert!(matches!(*self.results, Results::Values(_)), "the procedure returns no values");
        let Some(at) = self.fields().iter().position(|field| field.name == name) else {
            panic!("the procedure has no result {name}");
        };
        self.rows.first().map_or(&Datum::Null, |row| &row[at])
    }

    /// Adds a row.
    pub(super) fn put<'a>(&mut self, variables: &mut Variables<'a>, values: &'a [code::Output]) -> Result<(), Failure> {
        if values.is_empty() {
            return Ok(());
        }
        let mut row = Vec::with_capacity(values.len());
        for value in values {
            row.push(match value {
                code::Output::Scalar(value) => {
                    let value = variables.scalar(value)?;
                    variables.arena.take(memory_bytes(value))?;
                    value.into()
                }
                code::Output::Array(array) => match variables.array(array)? {
                    None => Datum::Null,
                    Some(elements) => {
                        let bytes = elements.iter().map(|value| memory_bytes(*value)).sum();
                        variables.arena.take(bytes)?;
                        Datum::Array(elements.iter().map(|value| Datum::from(*value)).collect())
                    }
                },
            });
        }
        self.rows.push(row);
        Ok(())
    }
}

fn memory_bytes(value: Value<'_>) -> usize {
    size_of::<Datum>()
        + match value {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
}
