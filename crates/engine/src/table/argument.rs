//! Arguments of stored procedures: values, and arrays of values.
//!
//! Invariant: an array holds values and no arrays. Its elements may be of different kinds; what a procedure takes is its
//! own business.

use std::fmt;
use std::ops::Deref;

use super::{Datum, Value};

/// One argument of a stored procedure.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument<'a> {
    /// One value.
    Scalar(Value<'a>),
    /// Any number of values, in their order.
    Array(Vec<Value<'a>>),
}

impl<'a> Argument<'a> {
    /// Returns the value; `None` where it is an array.
    pub fn scalar(&self) -> Option<Value<'a>> {
        match self {
            Argument::Scalar(value) => Some(*value),
            Argument::Array(_) => None,
        }
    }

    /// Returns the elements; `None` where it is no array.
    pub fn array(&self) -> Option<&[Value<'a>]> {
        match self {
            Argument::Scalar(_) => None,
            Argument::Array(elements) => Some(elements),
        }
    }
}

impl<'a, T: Into<Value<'a>>> From<T> for Argument<'a> {
    fn from(value: T) -> Argument<'a> {
        Argument::Scalar(value.into())
    }
}

/// Borrows what a datum owns.
impl<'a> From<&'a Datum> for Argument<'a> {
    fn from(datum: &'a Datum) -> Argument<'a> {
        match datum {
            Datum::Array(elements) => {
                Argument::Array(elements.iter().map(|element| element.value().unwrap_or(Value::Null)).collect())
            }
            value => Argument::Scalar(value.value().unwrap_or(Value::Null)),
        }
    }
}

impl<'a> From<Vec<Value<'a>>> for Argument<'a> {
    fn from(elements: Vec<Value<'a>>) -> Argument<'a> {
        Argument::Array(elements)
    }
}

/// The arguments of a call: those that were given, or others that were made of them. As a `Cow`, which does not do here because
/// it fixes the lifetime of what it holds.
#[derive(Clone, Debug)]
pub enum Arguments<'a> {
    /// As they were given.
    Given(&'a [Argument<'a>]),
    /// Made for the call.
    Made(Vec<Argument<'a>>),
}

impl<'a> Deref for Arguments<'a> {
    type Target = [Argument<'a>];

    fn deref(&self) -> &[Argument<'a>] {
        match self {
            Arguments::Given(arguments) => arguments,
            Arguments::Made(arguments) => arguments,
        }
    }
}

impl PartialEq for Arguments<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<'a> From<Vec<Argument<'a>>> for Arguments<'a> {
    fn from(arguments: Vec<Argument<'a>>) -> Arguments<'a> {
        Arguments::Made(arguments)
    }
}

/// Shows an array as `{1, 2}`.
impl fmt::Display for Argument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Scalar(value) => write!(f, "{value}"),
            Argument::Array(elements) => {
                f.write_str("{")?;
                for (at, element) in elements.iter().enumerate() {
                    write!(f, "{}{element}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_shown_as_sql_shows_them() {
        let elements = [Value::Int(1), Value::Null, Value::Text("it's")];
        let argument = Argument::Array(elements.to_vec());
        assert_eq!(argument.to_string(), "{1, NULL, 'it''s'}");
        assert_eq!(Argument::Array(Vec::new()).to_string(), "{}");
        assert_eq!(Argument::from(true).to_string(), "true");
        assert_eq!((argument.array().map(<[_]>::len), argument.scalar()), (Some(3), None));
    }
}
