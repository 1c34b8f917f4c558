//! Rows as values.
//!
//! Invariants:
//! - Records are equal, and have an order, by their fields alone.
//! - One that has a row type is a row as a value: of a table, or `ROW(...)`. One without is a list of values beside each other.

use std::ops::Deref;
use std::sync::Arc;

use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::types::{Declared, Type};

/// A row as a value.
#[derive(Clone, Debug)]
pub struct Record {
    fields: Vec<Datum>,
    row_type: Option<Arc<RowType>>,
}

/// What the fields of a row are called, and their types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowType(pub Vec<(String, Declared)>);

impl Record {
    /// Makes a row of a type with as many fields.
    pub fn of_type(fields: Vec<Datum>, row_type: Option<Arc<RowType>>) -> Record {
        debug_assert!(
            row_type.as_ref().is_none_or(|row_type| row_type.0.len() == fields.len()),
            "a field has a name and a type"
        );
        Record { fields, row_type }
    }

    /// Returns what its fields are, where that is known.
    pub fn row_type(&self) -> Option<&RowType> {
        self.row_type.as_deref()
    }

    /// Returns the type of a field, where that is known.
    pub fn declared(&self, at: usize) -> Option<Declared> {
        self.row_type()?.0.get(at).map(|(_, declared)| *declared)
    }
}

impl RowType {
    /// Refuses rows that cannot be compared.
    ///
    /// # Errors
    /// 42804 where they have other numbers of fields, or fields of other types.
    pub(crate) fn check_comparable(&self, other: &RowType) -> Result<()> {
        let mismatch = |message: String| Err(SqlError::new(SqlState::DatatypeMismatch, message));
        if self.0.len() != other.0.len() {
            return mismatch("cannot compare record types with different numbers of columns".to_owned());
        }
        let alike = |ty: Type| if matches!(ty, Type::Varchar | Type::Unknown) { Type::Text } else { ty };
        for (at, ((_, left), (_, right))) in self.0.iter().zip(&other.0).enumerate() {
            if alike(left.ty) != alike(right.ty) {
                let (left, right, number) = (left.ty, right.ty, at + 1);
                return mismatch(format!(
                    "cannot compare dissimilar column types {left} and {right} at record column {number}"
                ));
            }
        }
        Ok(())
    }
}

impl From<Vec<Datum>> for Record {
    fn from(fields: Vec<Datum>) -> Record {
        Record { fields, row_type: None }
    }
}

impl Deref for Record {
    type Target = [Datum];

    fn deref(&self) -> &[Datum] {
        &self.fields
    }
}
