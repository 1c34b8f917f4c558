//! Bounds of what one call of a function takes: memory of its result, and time.
//!
//! Invariants:
//! - A function knows how large its result becomes before it takes the memory, or looks as it grows.
//! - A function whose work grows faster than its arguments counts it with a [`Pace`], so that the statement can be ended.

use serde_json::Value;

use super::{Call, Environment};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};

/// The most bytes of a value that a function makes.
pub(super) const LONGEST: usize = 256 << 20;

/// The longest template of numbers, dates and times, in bytes.
const TEMPLATE_BYTES_MAX: usize = 1 << 20;

/// So much work is done between two looks at the clock: about as many bytes that are compared.
const WORK_PER_LOOK: usize = 1 << 20;

#[cold]
pub(super) fn too_large() -> SqlError {
    SqlError::new(SqlState::ProgramLimitExceeded, "requested length too large")
        .with_detail(format!("A function makes values of up to {LONGEST} bytes."))
}

/// Refuses a result of more bytes than a value may have.
///
/// # Errors
/// 54000.
pub(super) fn fits(bytes: usize) -> Result<()> {
    if bytes > LONGEST { Err(too_large()) } else { Ok(()) }
}

/// As [`fits`], of so many pieces that together are pieces of a text of so many bytes.
pub(super) fn pieces_fit(pieces: usize, bytes: usize) -> Result<()> {
    /// The counts before the text of a value, rounded up as an allocation is.
    const OVERHEAD: usize = size_of::<Datum>() + 32;
    fits(pieces.saturating_mul(OVERHEAD).saturating_add(bytes))
}

/// Refuses trees of JSON that are too large together for one value.
pub(super) fn trees_fit(trees: &[&Value]) -> Result<()> {
    let bytes = trees.iter().map(|tree| crate::value::json::bytes(tree)).sum::<usize>();
    if bytes > crate::value::json::TREE_BYTES_MAX { Err(crate::value::json::too_large()) } else { Ok(()) }
}

/// Refuses a template whose pieces would take much memory.
pub(super) fn template_fits(template: &str) -> Result<()> {
    if template.len() <= TEMPLATE_BYTES_MAX {
        return Ok(());
    }
    let message = format!("a template may have {TEMPLATE_BYTES_MAX} bytes");
    Err(SqlError::new(SqlState::ProgramLimitExceeded, message))
}

/// Counts the work of a call, and looks now and then whether its statement is to end.
pub(super) struct Pace<'a> {
    environment: &'a dyn Environment,
    work: usize,
}

impl<'a> Pace<'a> {
    pub(super) fn of(call: &Call<'a>) -> Pace<'a> {
        Pace { environment: call.environment, work: 0 }
    }

    /// Counts work, about as many bytes that are compared.
    ///
    /// # Errors
    /// 57014 where the statement is to end.
    pub(super) fn step(&mut self, work: usize) -> Result<()> {
        self.work = self.work.saturating_add(work);
        if self.work < WORK_PER_LOOK {
            return Ok(());
        }
        self.work = 0;
        self.environment.look()
    }
}
