//! A value or an array of values, as calls of procedures take them.

use std::borrow::Cow;
use std::fmt;

use super::value::Value;

/// An argument of a procedure.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument<'a> {
    /// A value.
    Scalar(Value<'a>),
    /// An array.
    Array(Cow<'a, [Value<'a>]>),
}

impl fmt::Display for Argument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Scalar(value) => value.fmt(f),
            Argument::Array(elements) => {
                f.write_str("{")?;
                for (at, element) in elements.iter().enumerate() {
                    write!(f, "{}{element}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

impl<'a, V: Into<Value<'a>>> From<V> for Argument<'a> {
    fn from(value: V) -> Argument<'a> {
        Argument::Scalar(value.into())
    }
}

impl<'a> From<&'a [Value<'a>]> for Argument<'a> {
    fn from(elements: &'a [Value<'a>]) -> Argument<'a> {
        Argument::Array(Cow::Borrowed(elements))
    }
}
