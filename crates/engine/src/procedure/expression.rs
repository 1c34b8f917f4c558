//! Expressions of procedures: values computed from variables, columns of rows and constants, with SQL's logic of NULL.
//!
//! Invariants:
//! - An operator gives NULL where an operand is NULL, but for AND, OR, the tests for NULL and what says otherwise.
//! - Integers are of 64 bits, and arithmetic that leaves them fails with SQLSTATE 22003. A numeric is exact and has at most 18
//!   digits.
//! - Equal operands give equal results on every machine: no function of the mathematics library that may round differently, no
//!   order that is not defined.
//!
//! Absent: types, which are checked when a program is compiled ([`compile`](super::compile)).

use super::types::DataType;

/// A constant.
#[derive(Clone, Debug)]
pub enum Constant {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// `12`
    Int(i64),
    /// `12.50`: its digits without the point, and how many stand after it.
    Numeric(i64, u8),
    /// `1.5e0`, `'NaN'::double precision`
    Float(f64),
    /// `'text'`, a quote doubled
    Text(String),
    /// `x'00ff'`
    Bytes(Vec<u8>),
    /// `timestamp '2026-01-31 12:00:00.000000'`; microseconds since 1970-01-01 00:00:00
    Timestamp(i64),
}

/// Bits of a float decide, so that a program equals itself.
impl PartialEq for Constant {
    fn eq(&self, other: &Constant) -> bool {
        match (self, other) {
            (Constant::Null, Constant::Null) => true,
            (Constant::Bool(a), Constant::Bool(b)) => a == b,
            (Constant::Int(a), Constant::Int(b)) | (Constant::Timestamp(a), Constant::Timestamp(b)) => a == b,
            (Constant::Numeric(a, of), Constant::Numeric(b, to)) => a == b && of == to,
            (Constant::Float(a), Constant::Float(b)) => a.to_bits() == b.to_bits(),
            (Constant::Text(a), Constant::Text(b)) => a == b,
            (Constant::Bytes(a), Constant::Bytes(b)) => a == b,
            _ => false,
        }
    }
}

/// An operator of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `-a`
    Negate,
    /// `not a`
    Not,
    /// `a is null`
    IsNull,
    /// `a is not null`
    IsNotNull,
}

/// An operator of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `a or b`
    Or,
    /// `a and b`
    And,
    /// `a = b`
    Equal,
    /// `a <> b`
    NotEqual,
    /// `a < b`
    Less,
    /// `a <= b`
    LessOrEqual,
    /// `a > b`
    Greater,
    /// `a >= b`
    GreaterOrEqual,
    /// `a is not distinct from b`: as equal, and NULL is equal to NULL
    NotDistinct,
    /// `a is distinct from b`
    Distinct,
    /// `a || b`: of texts, byte strings or arrays; what is neither is shown as a text
    Concatenate,
    /// `a + b`; of a timestamp and an integer, so many microseconds later
    Add,
    /// `a - b`; of two timestamps, the microseconds between them
    Subtract,
    /// `a * b`
    Multiply,
    /// `a / b`: of integers without the rest, towards zero; of numerics with six more digits after the point
    Divide,
    /// `a % b`: the rest, with the sign of a
    Remainder,
}

/// A function. Those from [`Function::Now`] on draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `coalesce(a, ...)`: the first that is not NULL
    Coalesce,
    /// `nullif(a, b)`: NULL where they are equal, else a
    NullIf,
    /// `greatest(a, ...)`: NULLs are ignored
    Greatest,
    /// `least(a, ...)`: NULLs are ignored
    Least,
    /// `abs(a)`
    Abs,
    /// `sign(a)`: -1, 0 or 1
    Sign,
    /// `round(a)` or `round(a, digits)`: digits is a constant; half away from zero
    Round,
    /// `trunc(a)` or `trunc(a, digits)`: digits is a constant; towards zero
    Truncate,
    /// `floor(a)`
    Floor,
    /// `ceil(a)`
    Ceil,
    /// `sqrt(a)`: of a float
    Sqrt,
    /// `length(a)`: characters of a text, bytes of a byte string
    Length,
    /// `lower(a)`: of the letters A to Z
    Lower,
    /// `upper(a)`: of the letters a to z
    Upper,
    /// `substr(a, from, count)`: characters or bytes, the first is number 1; without count to the end
    Substring,
    /// `left(a, count)`
    Left,
    /// `right(a, count)`
    Right,
    /// `position(a, b)`: where b begins in a, 0 where it does not
    Position,
    /// `trim(a)`: without spaces at both ends
    Trim,
    /// `lpad(a, length, fill)`: fill before it, or cut at its end
    PadLeft,
    /// `replace(a, what, by)`
    Replace,
    /// `cardinality(a)`: the number of elements of an array
    Cardinality,
    /// `contains(a, b)`: whether the array a has the element b
    Contains,
    /// `sorted(a)`: the elements of an array in order, NULLs last
    Sorted,
    /// `distinct(a)`: each element of an array once, in that order
    Distinct,
    /// `now()`: when the call began, a timestamp
    Now,
    /// `random()`: a float from 0 up to 1
    Random,
    /// `uuid()`: 16 random bytes with the marks of version 4
    Uuid,
    /// `nextval('sequence')`: the name is a constant
    NextValue,
}

impl Function {
    /// All functions with their names and how many arguments they take.
    pub const ALL: &'static [(Function, &'static str, usize, usize)] = &[
        (Function::Coalesce, "coalesce", 1, usize::MAX),
        (Function::NullIf, "nullif", 2, 2),
        (Function::Greatest, "greatest", 1, usize::MAX),
        (Function::Least, "least", 1, usize::MAX),
        (Function::Abs, "abs", 1, 1),
        (Function::Sign, "sign", 1, 1),
        (Function::Round, "round", 1, 2),
        (Function::Truncate, "trunc", 1, 2),
        (Function::Floor, "floor", 1, 1),
        (Function::Ceil, "ceil", 1, 1),
        (Function::Sqrt, "sqrt", 1, 1),
        (Function::Length, "length", 1, 1),
        (Function::Lower, "lower", 1, 1),
        (Function::Upper, "upper", 1, 1),
        (Function::Substring, "substr", 2, 3),
        (Function::Left, "left", 2, 2),
        (Function::Right, "right", 2, 2),
        (Function::Position, "position", 2, 2),
        (Function::Trim, "trim", 1, 1),
        (Function::PadLeft, "lpad", 3, 3),
        (Function::Replace, "replace", 3, 3),
        (Function::Cardinality, "cardinality", 1, 1),
        (Function::Contains, "contains", 2, 2),
        (Function::Sorted, "sorted", 1, 1),
        (Function::Distinct, "distinct", 1, 1),
        (Function::Now, "now", 0, 0),
        (Function::Random, "random", 0, 0),
        (Function::Uuid, "uuid", 0, 0),
        (Function::NextValue, "nextval", 1, 1),
    ];

    /// Returns the function of this name.
    pub fn of(name: &str) -> Option<Function> {
        Function::ALL.iter().find(|(_, of, ..)| *of == name).map(|(function, ..)| *function)
    }

    fn entry(self) -> &'static (Function, &'static str, usize, usize) {
        Function::ALL.iter().find(|(function, ..)| *function == self).expect("every function is in the list")
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// Returns how many arguments it takes, at least and at most.
    pub fn arguments(self) -> (usize, usize) {
        let (.., least, most) = self.entry();
        (*least, *most)
    }

    /// Whether its result is drawn: from the clock, by chance or from a sequence. It is then a part of the call.
    pub fn is_drawn(self) -> bool {
        matches!(self, Function::Now | Function::Random | Function::Uuid | Function::NextValue)
    }
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A constant.
    Constant(Constant),
    /// A parameter or a scalar variable: `name`.
    Variable(String),
    /// A column of a row variable, or a part of a caught error: `row.column`.
    Column(String, String),
    /// Whether a row variable holds a row: `exists(row)`.
    Exists(String),
    /// An operator of one operand.
    Unary(Unary, Box<Expression>),
    /// An operator of two operands.
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// `case when condition then value ... else value end`; NULL without an `else`.
    Case(Vec<(Expression, Expression)>, Option<Box<Expression>>),
    /// `value::type`
    Cast(Box<Expression>, DataType),
    /// `name(argument, ...)`
    Call(Function, Vec<Expression>),
    /// `array[element, ...]`
    Array(Vec<Expression>),
    /// `array[number]`: the first element is number 1; NULL where there is none.
    Element(Box<Expression>, Box<Expression>),
}
