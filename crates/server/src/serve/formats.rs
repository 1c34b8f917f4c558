//! In which of the two formats values go: text or binary.
//!
//! Invariant: a list has one format for all values, or as many as there are values.

use osier_sql::SqlError;

use super::errors::violation;

/// The formats of a list of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formats {
    /// All in the same one.
    All {
        /// Binary, or text.
        is_binary: bool,
    },
    /// Each in its own: whether it is binary.
    Each(Box<[bool]>),
}

impl Formats {
    /// All values as text.
    pub const TEXT: Formats = Formats::All { is_binary: false };

    /// Reads the codes of a `Bind` for `count` values, which `what` names.
    ///
    /// # Errors
    /// Codes that are unknown, or too many or too few of them.
    pub fn of_codes(codes: &[u16], count: usize, what: &str) -> Result<Formats, SqlError> {
        if let Some(unknown) = codes.iter().find(|code| **code > 1) {
            return Err(violation(format!("unsupported format code: {unknown}")));
        }
        match codes {
            [] => Ok(Formats::TEXT),
            [code] => Ok(Formats::All { is_binary: *code == 1 }),
            codes if codes.len() == count => Ok(Formats::Each(codes.iter().map(|code| *code == 1).collect())),
            codes => Err(violation(format!("bind message has {} {what} formats but {count} {what}s", codes.len()))),
        }
    }

    /// Whether the value with that number, from 0 on, is binary.
    pub fn is_binary(&self, number: usize) -> bool {
        match self {
            Formats::All { is_binary } => *is_binary,
            Formats::Each(each) => each.get(number).copied().unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_format_for_all_or_one_for_each() {
        assert_eq!(Formats::of_codes(&[], 3, "result").unwrap(), Formats::TEXT);
        assert!(Formats::of_codes(&[1], 3, "result").unwrap().is_binary(2));
        let each = Formats::of_codes(&[1, 0, 1], 3, "result").unwrap();
        assert_eq!([0, 1, 2].map(|number| each.is_binary(number)), [true, false, true]);
        assert_eq!(Formats::of_codes(&[1, 0], 3, "result").unwrap_err().code(), "08P01");
        assert_eq!(Formats::of_codes(&[2], 3, "result").unwrap_err().code(), "08P01");
    }
}
