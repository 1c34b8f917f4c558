//! Times and sizes of settings: numbers with units.
//!
//! Invariant: a value is a whole number of the unit that the setting has by itself, and is shown in the largest unit of which it
//! is a whole number.

use crate::error::{Result, SqlError, SqlState};

/// A kind of unit: names with how many of the smallest one here they are, from the largest on.
pub(super) struct Units {
    /// What a number without a unit is of.
    own: &'static str,
    /// Names, and how many of `own` they are.
    all: &'static [(&'static str, f64)],
}

/// Times in milliseconds.
pub(super) const TIMES: Units = Units {
    own: "ms",
    all: &[("d", 86_400_000.0), ("h", 3_600_000.0), ("min", 60_000.0), ("s", 1_000.0), ("ms", 1.0), ("us", 0.001)],
};

/// Sizes in kilobytes.
pub(super) const SIZES: Units = Units {
    own: "kB",
    all: &[("TB", 1_073_741_824.0), ("GB", 1_048_576.0), ("MB", 1_024.0), ("kB", 1.0), ("B", 1.0 / 1_024.0)],
};

impl Units {
    /// Reads a value of a setting.
    ///
    /// # Errors
    /// 22023: it is no number, has another unit, or is out of range.
    pub(super) fn read(&self, name: &str, text: &str, least: i64, greatest: i64) -> Result<i64> {
        let refused = || {
            let message = format!("invalid value for parameter \"{name}\": \"{text}\"");
            SqlError::new(SqlState::InvalidParameterValue, message)
        };
        let trimmed = text.trim();
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
        let end = trimmed.find(|c: char| !is_part(c)).unwrap_or(trimmed.len());
        let number: f64 = trimmed[..end].parse().map_err(|_| refused())?;
        let factor = match trimmed[end..].trim() {
            "" => 1.0,
            unit => self.all.iter().find(|(known, _)| *known == unit).map(|(_, factor)| *factor).ok_or_else(|| {
                let mut names: Vec<String> = self.all.iter().rev().map(|(known, _)| format!("\"{known}\"")).collect();
                let last = names.pop().unwrap_or_default();
                refused().with_hint(format!("Valid units for this parameter are {}, and {last}.", names.join(", ")))
            })?,
        };
        let value = (number * factor).round_ties_even();
        if value >= least as f64 && value <= greatest as f64 {
            return Ok(value as i64);
        }
        let own = self.own;
        let message = format!(
            "{value} {own} is outside the valid range for parameter \"{name}\" ({least} {own} .. {greatest} {own})"
        );
        Err(SqlError::new(SqlState::InvalidParameterValue, message))
    }

    /// Shows a value as PostgreSQL does.
    pub(super) fn shown(&self, value: i64) -> String {
        let whole = self.all.iter().find(|(_, factor)| *factor >= 1.0 && value % (*factor as i64) == 0);
        match whole {
            Some((unit, factor)) if value != 0 => format!("{}{unit}", value / (*factor as i64)),
            _ => value.to_string(),
        }
    }
}
