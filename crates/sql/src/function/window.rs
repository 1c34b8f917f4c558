//! Window functions: their names and types. The executor runs them.
//!
//! Absent: aggregates over windows, which the executor runs with [`resolve_aggregate`](super::resolve_aggregate).

use super::resolve::{Failure, function_error};
use crate::error::Result;
use crate::types::Type;
use crate::value::{Conversion, conversion};

/// A function of a row and its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// The number of the row, from 1 on.
    RowNumber,
    /// The number of the first peer.
    Rank,
    /// The number of the group of peers.
    DenseRank,
    /// `(rank - 1) / (rows - 1)`.
    PercentRank,
    /// The share of rows up to the last peer.
    CumeDist,
    /// The number of the bucket.
    Ntile,
    /// A value of an earlier row.
    Lag,
    /// A value of a later row.
    Lead,
    /// The value in the first row of the frame.
    FirstValue,
    /// The value in the last row of the frame.
    LastValue,
    /// The value in a row of the frame.
    NthValue,
}

/// A window function that a call means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedWindow {
    /// The function.
    pub window: Window,
    /// What each argument must be cast to.
    pub arguments: Vec<Type>,
    /// The type of the result.
    pub returns: Type,
}

/// Names, functions, types of results (`None`: that of the first argument), and the least and the greatest count of arguments.
const WINDOWS: &[(&str, Window, Option<Type>, usize, usize)] = &[
    ("row_number", Window::RowNumber, Some(Type::Int8), 0, 0),
    ("rank", Window::Rank, Some(Type::Int8), 0, 0),
    ("dense_rank", Window::DenseRank, Some(Type::Int8), 0, 0),
    ("percent_rank", Window::PercentRank, Some(Type::Float8), 0, 0),
    ("cume_dist", Window::CumeDist, Some(Type::Float8), 0, 0),
    ("ntile", Window::Ntile, Some(Type::Int4), 1, 1),
    ("lag", Window::Lag, None, 1, 3),
    ("lead", Window::Lead, None, 1, 3),
    ("first_value", Window::FirstValue, None, 1, 1),
    ("last_value", Window::LastValue, None, 1, 1),
    ("nth_value", Window::NthValue, None, 2, 2),
];

/// Whether a window function has the name.
pub(super) fn exists(name: &str) -> bool {
    WINDOWS.iter().any(|(known, ..)| *known == name)
}

/// Finds the window function that a call means; `None` where none has the name.
///
/// # Errors
/// 42883 where the arguments do not fit.
pub fn resolve_window(name: &str, arguments: &[Type]) -> Result<Option<ResolvedWindow>> {
    let Some((_, window, returns, least, greatest)) = WINDOWS.iter().find(|(known, ..)| *known == name) else {
        return Ok(None);
    };
    let fault = || function_error(&Failure::None, name, arguments);
    if !(*least..=*greatest).contains(&arguments.len()) {
        return Err(fault());
    }
    let value = arguments.first().copied().map(|ty| if ty == Type::Unknown { Type::Text } else { ty });
    let mut wanted: Vec<Type> = match (window, value) {
        (Window::Ntile, _) => vec![Type::Int4],
        (_, Some(value)) => vec![value, Type::Int4, value],
        (_, None) => Vec::new(),
    };
    wanted.truncate(arguments.len());
    // `lag(bigint, integer, integer)`: the default becomes the value's type, or both become the default's.
    if let [value, _, default] = arguments[..]
        && conversion(default, value) != Some(Conversion::Implicit)
        && conversion(value, default) == Some(Conversion::Implicit)
    {
        (wanted[0], wanted[2]) = (default, default);
    }
    let fits =
        |(from, to): (&Type, &Type)| *from == Type::Unknown || conversion(*from, *to) == Some(Conversion::Implicit);
    if !arguments.iter().zip(&wanted).all(fits) {
        return Err(fault());
    }
    let returns = returns.or(wanted.first().copied()).ok_or_else(fault)?;
    Ok(Some(ResolvedWindow { window: *window, arguments: wanted, returns }))
}
