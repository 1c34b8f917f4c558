//! Expressions: what a [`Scalar`] or an [`Array`] gives with the variables of a call.
//!
//! Invariants:
//! - NULL in, NULL out, but where the expression says otherwise.
//! - Values are of the kinds that the expression was compiled for; another one is a defect of the compiler.

use std::borrow::Cow;

use super::convert::{convert, numeric_result, numeric_units};
use super::draws::Draws;
use super::failure::Failure;
use super::floats::{float, float_arithmetic, round_float};
use super::functions;
use super::memory::{Arena, List};
use crate::procedure::code::{Arithmetic, Array, ArraySlot, Comparison, ConstantValue, RowSlot, Scalar, Slot};
use crate::procedure::expression::Function;
use crate::procedure::numeric;
use crate::table::{ColumnId, RowCodec, Value};

/// A row that a call has read.
#[derive(Clone, Copy)]
pub(super) struct RowView<'a> {
    pub(super) codec: &'a RowCodec,
    pub(super) bytes: &'a [u8],
}

/// An array; `None` is NULL.
pub(super) type ArrayValue<'a> = Option<Cow<'a, [Value<'a>]>>;

/// The variables of a call.
pub(super) struct Variables<'a> {
    pub(super) values: &'a mut [Value<'a>],
    pub(super) rows: &'a mut [Option<RowView<'a>>],
    pub(super) arrays: List<'a, ArrayValue<'a>>,
    pub(super) arena: &'a Arena,
    pub(super) draws: Draws<'a>,
}

type Evaluated<'a> = Result<Value<'a>, Failure>;

impl<'a> Variables<'a> {
    pub(super) fn set(&mut self, slot: Slot, value: Value<'a>) {
        self.values[usize::from(slot.0)] = value;
    }

    pub(super) fn set_row(&mut self, slot: RowSlot, row: Option<RowView<'a>>) {
        self.rows[usize::from(slot.0)] = row;
    }

    pub(super) fn array_at(&self, slot: ArraySlot) -> Option<&[Value<'a>]> {
        self.arrays[usize::from(slot.0)].as_deref()
    }

    /// Evaluates an expression.
    #[inline]
    pub(super) fn scalar(&mut self, scalar: &'a Scalar) -> Evaluated<'a> {
        match scalar {
            Scalar::Slot(slot) => Ok(self.values[usize::from(slot.0)]),
            _ => self.computed(scalar),
        }
    }

    fn computed(&mut self, scalar: &'a Scalar) -> Evaluated<'a> {
        Ok(match scalar {
            Scalar::Constant(value) => constant(value),
            Scalar::Slot(slot) => self.values[usize::from(slot.0)],
            Scalar::Column(row, column) => self.column(*row, *column),
            Scalar::Not(..)
            | Scalar::IsNull(..)
            | Scalar::And(..)
            | Scalar::Or(..)
            | Scalar::CompareUnits(..)
            | Scalar::Compare(..)
            | Scalar::Exists(..) => self.truth(scalar)?.map_or(Value::Null, Value::Bool),
            Scalar::Int(..) => self.units(scalar)?.map_or(Value::Null, Value::Int),
            Scalar::Numeric(..) => self.units(scalar)?.map_or(Value::Null, Value::Numeric),
            Scalar::Float(operator, a, b) => float_arithmetic(*operator, self.scalar(a)?, self.scalar(b)?)?,
            Scalar::Negate(operand) => negate(self.scalar(operand)?)?,
            Scalar::Shift(operator, a, b) => shift(*operator, self.scalar(a)?, self.scalar(b)?)?,
            Scalar::Concatenate(parts) => return self.concatenated(parts),
            Scalar::Case(branches, otherwise) => {
                let branch = self.branch(branches, otherwise)?;
                return self.scalar(branch);
            }
            Scalar::Convert(conversion, operand) => {
                let value = self.scalar(operand)?;
                convert(self.arena, conversion, value)?
            }
            Scalar::Round(rounding, (from, to), operand) => match self.scalar(operand)? {
                Value::Numeric(units) => numeric_result(numeric::round(units, *from, *to, *rounding))?,
                _ => Value::Null,
            },
            Scalar::RoundFloat(rounding, operand) => match self.scalar(operand)? {
                Value::Float(value) => float(round_float(*rounding, value)),
                _ => Value::Null,
            },
            Scalar::Call(function, arguments) => return self.call(*function, arguments),
            Scalar::NextValue(sequence) => Value::Int(self.draws.next_value(*sequence)?),
            Scalar::Cardinality(array) => match self.array(array)? {
                Some(elements) => Value::Int(elements.len() as i64),
                None => Value::Null,
            },
            Scalar::Contains(array, element) => self.contains(array, element)?,
            Scalar::Element(array, number) => self.element(array, number)?,
        })
    }

    #[inline]
    fn column(&self, row: RowSlot, column: ColumnId) -> Value<'a> {
        match self.rows[usize::from(row.0)] {
            Some(row) => row.codec.value(row.bytes, column),
            None => Value::Null,
        }
    }

    /// Evaluates an expression whose value is a number in units: an integer, a numeric or a timestamp. Without a [`Value`] in
    /// between, which does not fit into registers.
    fn units(&mut self, scalar: &'a Scalar) -> Result<Option<i64>, Failure> {
        match scalar {
            Scalar::Slot(slot) => Ok(units_of(self.values[usize::from(slot.0)])),
            Scalar::Column(row, column) => Ok(units_of(self.column(*row, *column))),
            Scalar::Int(operator, a, b) => {
                let (Some(a), Some(b)) = (self.units(a)?, self.units(b)?) else { return Ok(None) };
                int_arithmetic(*operator, a, b).map(Some)
            }
            Scalar::Numeric(operator, (a, of), (b, to)) => {
                let (Some(a), Some(b)) = (self.units(a)?, self.units(b)?) else { return Ok(None) };
                numeric_arithmetic(*operator, (a, *of), (b, *to)).map(Some)
            }
            Scalar::Case(branches, otherwise) => {
                let branch = self.branch(branches, otherwise)?;
                self.units(branch)
            }
            other => self.computed(other).map(units_of),
        }
    }

    /// Evaluates a condition; `None` is NULL.
    fn truth(&mut self, scalar: &'a Scalar) -> Result<Option<bool>, Failure> {
        Ok(match scalar {
            Scalar::Exists(row) => Some(self.rows[usize::from(row.0)].is_some()),
            Scalar::Not(operand) => self.truth(operand)?.map(|holds| !holds),
            Scalar::IsNull(operand) => Some(self.scalar(operand)?.is_null()),
            Scalar::And(a, b) => self.both(a, b, false)?,
            Scalar::Or(a, b) => self.both(a, b, true)?,
            Scalar::CompareUnits(comparison, a, b) => compare_units(*comparison, self.units(a)?, self.units(b)?),
            Scalar::Compare(comparison, a, b) => compare(*comparison, self.scalar(a)?, self.scalar(b)?),
            other => match self.scalar(other)? {
                Value::Bool(holds) => Some(holds),
                _ => None,
            },
        })
    }

    /// Whether a condition holds; NULL does not.
    pub(super) fn holds(&mut self, condition: &'a Scalar) -> Result<bool, Failure> {
        self.truth(condition).map(|holds| holds == Some(true))
    }

    /// Evaluates an integer that must not be NULL.
    pub(super) fn int(&mut self, scalar: &'a Scalar, what: &str) -> Result<i64, Failure> {
        match self.scalar(scalar)? {
            Value::Int(value) => Ok(value),
            _ => Err(Failure::raised("22004", format!("{what} is NULL"))),
        }
    }

    /// AND, where `decided` is false, and OR, where it is true.
    fn both(&mut self, a: &'a Scalar, b: &'a Scalar, decided: bool) -> Result<Option<bool>, Failure> {
        let a = self.truth(a)?;
        if a == Some(decided) {
            return Ok(a);
        }
        let b = self.truth(b)?;
        Ok(if b == Some(decided) || a.is_some() { b } else { None })
    }

    /// Returns what a `case` evaluates to.
    fn branch(&mut self, branches: &'a [(Scalar, Scalar)], otherwise: &'a Scalar) -> Result<&'a Scalar, Failure> {
        for (condition, value) in branches {
            if self.holds(condition)? {
                return Ok(value);
            }
        }
        Ok(otherwise)
    }

    fn concatenated(&mut self, parts: &'a [Scalar]) -> Evaluated<'a> {
        let arena = self.arena;
        let mut pieces = arena.list(parts.len());
        let (mut is_null, mut is_text) = (false, false);
        for part in parts {
            pieces.push(match self.scalar(part)? {
                Value::Text(text) => {
                    is_text = true;
                    text.as_bytes()
                }
                Value::Bytes(bytes) => bytes,
                _ => {
                    is_null = true;
                    &[]
                }
            });
        }
        if is_null {
            return Ok(Value::Null);
        }
        let whole = arena.joined(&pieces)?;
        Ok(match is_text {
            true => Value::Text(str::from_utf8(whole).expect("texts that follow each other are a text")),
            false => Value::Bytes(whole),
        })
    }

    fn call(&mut self, function: Function, arguments: &'a [Scalar]) -> Evaluated<'a> {
        match function {
            Function::Coalesce => {
                for argument in arguments {
                    let value = self.scalar(argument)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            Function::Greatest => self.extreme(arguments, |value, best| value > best),
            Function::Least => self.extreme(arguments, |value, best| value < best),
            Function::NullIf => {
                let (a, b) = (self.scalar(&arguments[0])?, self.scalar(&arguments[1])?);
                Ok(if !a.is_null() && a == b { Value::Null } else { a })
            }
            Function::Now => Ok(Value::Timestamp(self.draws.now())),
            Function::Random => Ok(Value::Float(self.draws.random())),
            Function::Uuid => Ok(Value::Bytes(self.arena.bytes(&self.draws.uuid())?)),
            _ => {
                let mut values = [Value::Null; 3];
                assert!(arguments.len() <= values.len(), "{} takes three arguments at most", function.name());
                let mut has_null = false;
                for (value, argument) in values.iter_mut().zip(arguments) {
                    *value = self.scalar(argument)?;
                    has_null |= value.is_null();
                }
                match has_null {
                    true => Ok(Value::Null),
                    false => functions::strict(self.arena, function, &values[..arguments.len()]),
                }
            }
        }
    }

    fn extreme(&mut self, arguments: &'a [Scalar], is_better: impl Fn(Value<'a>, Value<'a>) -> bool) -> Evaluated<'a> {
        let mut best = Value::Null;
        for argument in arguments {
            let value = self.scalar(argument)?;
            if !value.is_null() && (best.is_null() || is_better(value, best)) {
                best = value;
            }
        }
        Ok(best)
    }

    /// Evaluates an expression of an array.
    pub(super) fn array(&mut self, array: &'a Array) -> Result<ArrayValue<'a>, Failure> {
        Ok(match array {
            Array::Null => None,
            Array::Slot(slot) => {
                let elements = self.arrays[usize::from(slot.0)].clone();
                if let Some(Cow::Owned(elements)) = &elements {
                    self.arena.take(size_of_val(&**elements))?;
                }
                elements
            }
            Array::Elements(elements) => {
                self.arena.take(elements.len() * size_of::<Value<'_>>())?;
                Some(Cow::Owned(elements.iter().map(|element| self.scalar(element)).collect::<Result<_, _>>()?))
            }
            Array::Concatenate(a, b) => {
                let (Some(a), Some(b)) = (self.array(a)?, self.array(b)?) else { return Ok(None) };
                self.arena.take((a.len() + b.len()) * size_of::<Value<'_>>())?;
                let mut whole = a.into_owned();
                whole.extend_from_slice(&b);
                Some(Cow::Owned(whole))
            }
            Array::Sorted(array) => self.sorted(array)?,
            Array::Distinct(array) => self.sorted(array)?.map(|elements| {
                let mut elements = elements.into_owned();
                elements.dedup();
                Cow::Owned(elements)
            }),
            Array::Convert(conversion, array) => match self.array(array)? {
                None => None,
                Some(mut elements) => {
                    self.arena.take(elements.len() * size_of::<Value<'_>>())?;
                    for element in elements.to_mut() {
                        *element = convert(self.arena, conversion, *element)?;
                    }
                    Some(elements)
                }
            },
        })
    }

    fn sorted(&mut self, array: &'a Array) -> Result<ArrayValue<'a>, Failure> {
        let Some(elements) = self.array(array)? else { return Ok(None) };
        self.arena.take(size_of_val(&*elements))?;
        let mut sorted = elements.into_owned();
        sorted.sort_by(|a, b| (a.is_null(), a).cmp(&(b.is_null(), b)));
        Ok(Some(Cow::Owned(sorted)))
    }

    fn contains(&mut self, array: &'a Array, element: &'a Scalar) -> Evaluated<'a> {
        let (elements, element) = (self.array(array)?, self.scalar(element)?);
        let (Some(elements), false) = (elements, element.is_null()) else { return Ok(Value::Null) };
        Ok(match elements.contains(&element) {
            true => Value::Bool(true),
            // It may be equal to what is not known.
            false if elements.iter().any(|element| element.is_null()) => Value::Null,
            false => Value::Bool(false),
        })
    }

    fn element(&mut self, array: &'a Array, number: &'a Scalar) -> Evaluated<'a> {
        let Value::Int(number) = self.scalar(number)? else { return Ok(Value::Null) };
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        // Without a copy of an array of which one element is wanted.
        let element = |elements: &[Value<'a>]| place.and_then(|place| elements.get(place).copied());
        let found = match array {
            Array::Slot(slot) => self.array_at(*slot).and_then(element),
            array => self.array(array)?.as_deref().and_then(element),
        };
        Ok(found.unwrap_or(Value::Null))
    }
}

pub(super) fn constant(value: &ConstantValue) -> Value<'_> {
    match value {
        ConstantValue::Null => Value::Null,
        ConstantValue::Bool(value) => Value::Bool(*value),
        ConstantValue::Int(value) => Value::Int(*value),
        ConstantValue::Float(value) => Value::Float(*value),
        ConstantValue::Numeric(units) => Value::Numeric(*units),
        ConstantValue::Text(text) => Value::Text(text),
        ConstantValue::Bytes(bytes) => Value::Bytes(bytes),
        ConstantValue::Timestamp(micros) => Value::Timestamp(*micros),
    }
}

/// Returns the number in a value that has one.
#[inline]
fn units_of(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(units) | Value::Numeric(units) | Value::Timestamp(units) => Some(units),
        _ => None,
    }
}

/// Compares what is known to be there.
#[inline]
fn is_so<T: Ord>(comparison: Comparison, a: T, b: T) -> bool {
    match comparison {
        Comparison::Equal | Comparison::NotDistinct => a == b,
        Comparison::NotEqual | Comparison::Distinct => a != b,
        Comparison::Less => a < b,
        Comparison::LessOrEqual => a <= b,
        Comparison::Greater => a > b,
        Comparison::GreaterOrEqual => a >= b,
    }
}

#[inline]
fn compare_units(comparison: Comparison, a: Option<i64>, b: Option<i64>) -> Option<bool> {
    match (comparison, a, b) {
        (_, Some(a), Some(b)) => Some(is_so(comparison, a, b)),
        (Comparison::NotDistinct | Comparison::Distinct, a, b) => Some(is_so(comparison, a, b)),
        _ => None,
    }
}

fn compare(comparison: Comparison, a: Value<'_>, b: Value<'_>) -> Option<bool> {
    let is_known = !a.is_null() && !b.is_null() || matches!(comparison, Comparison::NotDistinct | Comparison::Distinct);
    is_known.then(|| is_so(comparison, a, b))
}

#[inline]
fn int_arithmetic(operator: Arithmetic, a: i64, b: i64) -> Result<i64, Failure> {
    let result = match operator {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide | Arithmetic::Remainder if b == 0 => return Err(Failure::division_by_zero()),
        Arithmetic::Divide => a.checked_div(b),
        // The rest of the smallest number by -1 is 0.
        Arithmetic::Remainder => Some(a.wrapping_rem(b)),
    };
    result.ok_or_else(|| Failure::out_of_range("bigint"))
}

fn numeric_arithmetic(operator: Arithmetic, (a, of): (i64, u8), (b, to): (i64, u8)) -> Result<i64, Failure> {
    numeric_units(match operator {
        Arithmetic::Add => numeric::add(a, b),
        Arithmetic::Subtract => numeric::add(a, -b),
        Arithmetic::Multiply => numeric::multiply((a, of), (b, to)),
        Arithmetic::Divide | Arithmetic::Remainder if b == 0 => return Err(Failure::division_by_zero()),
        Arithmetic::Divide => numeric::divide((a, of), (b, to)),
        Arithmetic::Remainder => Some(a % b),
    })
}

fn negate(value: Value<'_>) -> Evaluated<'_> {
    Ok(match value {
        Value::Int(value) => Value::Int(value.checked_neg().ok_or_else(|| Failure::out_of_range("bigint"))?),
        Value::Numeric(units) => Value::Numeric(-units),
        Value::Float(value) => float(-value),
        _ => Value::Null,
    })
}

fn shift<'a>(operator: Arithmetic, a: Value<'a>, b: Value<'a>) -> Evaluated<'a> {
    let out_of_range = || Failure::out_of_range("timestamp");
    Ok(match (a, b) {
        (Value::Timestamp(a), Value::Int(b)) => Value::Timestamp(
            if operator == Arithmetic::Add { a.checked_add(b) } else { a.checked_sub(b) }.ok_or_else(out_of_range)?,
        ),
        (Value::Timestamp(a), Value::Timestamp(b)) => Value::Int(a.checked_sub(b).ok_or_else(out_of_range)?),
        _ => Value::Null,
    })
}
