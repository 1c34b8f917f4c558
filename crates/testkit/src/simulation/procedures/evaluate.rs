//! Expressions of procedures, evaluated as the reference of the language says (docs/procedures-language.md).
//!
//! Absent: what programs of the generator do not have; it is refused by a panic.

use std::cmp::Ordering;

use osier::procedure::expression::{Binary, Constant, Expression, Function, Unary};
use osier::procedure::program::DataType;
use osier::table::{Datum, Type};

use super::interpret::{Binding, Interpreter};
use super::{Drawn, Raised};

type Evaluated = Result<Datum, Raised>;

/// What a call draws: again what the engine drew.
pub(super) struct Draws {
    pub(super) seen: Drawn,
    pub(super) drawn: Drawn,
    /// The state of SplitMix64.
    random: u64,
}

impl Draws {
    pub(super) fn new(seen: Drawn) -> Draws {
        let random = seen.seed.unwrap_or_default();
        Draws { seen, drawn: Drawn::default(), random }
    }

    pub(super) fn now(&mut self) -> i64 {
        let time = self.seen.time.unwrap_or(i64::MIN);
        self.drawn.time = Some(time);
        time
    }

    fn word(&mut self) -> u64 {
        self.drawn.seed = Some(self.seen.seed.unwrap_or_default());
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        b ^ (b >> 31)
    }

    pub(super) fn random(&mut self) -> f64 {
        (self.word() >> 11) as f64 * (0.5_f64).powi(53)
    }

    fn uuid(&mut self) -> Vec<u8> {
        let mut bytes = [self.word().to_be_bytes(), self.word().to_be_bytes()].concat();
        bytes[6] = 0x40 | bytes[6] & 0x0f;
        bytes[8] = 0x80 | bytes[8] & 0x3f;
        bytes
    }
}

/// Values of keys in their order, NULL first.
pub(super) fn order(a: &Datum, b: &Datum) -> Ordering {
    match (a, b) {
        (Datum::Null, Datum::Null) => Ordering::Equal,
        (Datum::Null, _) => Ordering::Less,
        (_, Datum::Null) => Ordering::Greater,
        (Datum::Int(a), Datum::Int(b)) | (Datum::Timestamp(a), Datum::Timestamp(b)) => a.cmp(b),
        (Datum::Text(a), Datum::Text(b)) => a.cmp(b),
        (Datum::Bytes(a), Datum::Bytes(b)) => a.cmp(b),
        (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
        (Datum::Float(a), Datum::Float(b)) => a.total_cmp(b),
        (a, b) => unreachable!("{a:?} is not compared with {b:?}"),
    }
}

/// Checks that an integer is of a type.
pub(super) fn checked(ty: Type, value: Datum) -> Evaluated {
    let fits = match (ty, &value) {
        (Type::Int16, Datum::Int(value)) => i16::try_from(*value).is_ok(),
        (Type::Int32, Datum::Int(value)) => i32::try_from(*value).is_ok(),
        _ => true,
    };
    if fits { Ok(value) } else { Err(Raised::new("22003")) }
}

impl Interpreter<'_, '_> {
    /// Evaluates an expression.
    pub(super) fn value(&mut self, expression: &Expression) -> Evaluated {
        Ok(match expression {
            Expression::Constant(constant) => of_constant(constant),
            Expression::Variable(name) => match self.binding(name) {
                Binding::Value(_, value) => value.clone(),
                other => unreachable!("{name} is {other:?}"),
            },
            Expression::Column(of, part) => self.column(of, part),
            Expression::Exists(of) => match self.binding(of) {
                Binding::Row(_, row) => Datum::Bool(row.is_some()),
                other => unreachable!("{of} is {other:?}"),
            },
            Expression::Unary(operator, operand) => {
                let operand = self.value(operand)?;
                unary(*operator, operand)?
            }
            Expression::Binary(operator @ (Binary::And | Binary::Or), a, b) => {
                let decided = Datum::Bool(*operator == Binary::Or);
                let a = self.value(a)?;
                if a == decided {
                    return Ok(a);
                }
                match (a, self.value(b)?) {
                    (_, b) if b == decided => b,
                    (Datum::Null, _) | (_, Datum::Null) => Datum::Null,
                    (_, b) => b,
                }
            }
            Expression::Binary(operator, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                binary(*operator, a, b)?
            }
            Expression::Case(branches, otherwise) => {
                for (condition, value) in branches {
                    if self.value(condition)? == Datum::Bool(true) {
                        return self.value(value);
                    }
                }
                match otherwise {
                    Some(value) => self.value(value)?,
                    None => Datum::Null,
                }
            }
            Expression::Cast(value, DataType { ty, is_array: false }) => {
                let value = self.value(value)?;
                cast(*ty, value)?
            }
            Expression::Cast(value, _) => self.value(value)?,
            Expression::Call(function, arguments) => self.function(*function, arguments)?,
            Expression::Array(elements) => {
                Datum::Array(elements.iter().map(|element| self.value(element)).collect::<Result<_, _>>()?)
            }
            Expression::Element(array, number) => self.element(array, number)?,
        })
    }

    /// Whether a condition holds.
    pub(super) fn holds(&mut self, condition: &Expression) -> Result<bool, Raised> {
        Ok(self.value(condition)? == Datum::Bool(true))
    }

    fn element(&mut self, array: &Expression, number: &Expression) -> Evaluated {
        // The number first, as it may decide that there is none.
        let Datum::Int(number) = self.value(number)? else { return Ok(Datum::Null) };
        let Datum::Array(elements) = self.value(array)? else { return Ok(Datum::Null) };
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        Ok(place.and_then(|place| elements.get(place).cloned()).unwrap_or(Datum::Null))
    }

    fn function(&mut self, function: Function, arguments: &[Expression]) -> Evaluated {
        match function {
            Function::Coalesce => {
                for argument in arguments {
                    let value = self.value(argument)?;
                    if value != Datum::Null {
                        return Ok(value);
                    }
                }
                return Ok(Datum::Null);
            }
            Function::Now => return Ok(Datum::Timestamp(self.draws.now())),
            Function::Random => return Ok(Datum::Float(self.draws.random())),
            Function::Uuid => return Ok(Datum::Bytes(self.draws.uuid())),
            Function::NextValue => return Ok(Datum::Int(self.next_value())),
            _ => {}
        }
        let mut values = Vec::new();
        for argument in arguments {
            let value = self.value(argument)?;
            let is_strict = !matches!(function, Function::Greatest | Function::Least | Function::NullIf);
            // What stands behind a NULL is not evaluated; no program can tell but by what it draws.
            if is_strict && value == Datum::Null {
                if function == Function::Contains {
                    values.push(value);
                    continue;
                }
                return Ok(Datum::Null);
            }
            values.push(value);
        }
        of_values(function, values)
    }
}

fn of_constant(constant: &Constant) -> Datum {
    match constant {
        Constant::Null => Datum::Null,
        Constant::Bool(value) => Datum::Bool(*value),
        Constant::Int(value) => Datum::Int(*value),
        Constant::Float(value) => Datum::Float(*value),
        Constant::Text(value) => Datum::Text(value.clone()),
        Constant::Bytes(value) => Datum::Bytes(value.clone()),
        Constant::Timestamp(value) => Datum::Timestamp(*value),
        Constant::Numeric(..) => unreachable!("the generator has no numerics"),
    }
}

fn unary(operator: Unary, operand: Datum) -> Evaluated {
    Ok(match (operator, operand) {
        (Unary::IsNull, operand) => Datum::Bool(operand == Datum::Null),
        (Unary::IsNotNull, operand) => Datum::Bool(operand != Datum::Null),
        (_, Datum::Null) => Datum::Null,
        (Unary::Not, Datum::Bool(value)) => Datum::Bool(!value),
        (Unary::Negate, Datum::Int(value)) => Datum::Int(value.checked_neg().ok_or_else(|| Raised::new("22003"))?),
        (operator, operand) => unreachable!("{operator:?} of {operand:?}"),
    })
}

fn binary(operator: Binary, a: Datum, b: Datum) -> Evaluated {
    let is = |holds: fn(Ordering) -> bool| Datum::Bool(holds(order(&a, &b)));
    Ok(match operator {
        Binary::NotDistinct => Datum::Bool(a == b),
        Binary::Distinct => Datum::Bool(a != b),
        _ if a == Datum::Null || b == Datum::Null => Datum::Null,
        Binary::Equal => is(Ordering::is_eq),
        Binary::NotEqual => is(Ordering::is_ne),
        Binary::Less => is(Ordering::is_lt),
        Binary::LessOrEqual => is(Ordering::is_le),
        Binary::Greater => is(Ordering::is_gt),
        Binary::GreaterOrEqual => is(Ordering::is_ge),
        Binary::Concatenate => match (a, b) {
            (Datum::Bytes(a), Datum::Bytes(b)) => Datum::Bytes([a, b].concat()),
            (Datum::Array(a), Datum::Array(b)) => Datum::Array([a, b].concat()),
            (a, b) => Datum::Text(shown(a) + &shown(b)),
        },
        _ => arithmetic(operator, a, b)?,
    })
}

fn arithmetic(operator: Binary, a: Datum, b: Datum) -> Evaluated {
    let (a, b) = match (a, b) {
        (Datum::Int(a), Datum::Int(b)) => (a, b),
        (Datum::Float(a), Datum::Float(b)) if operator == Binary::Multiply => return Ok(Datum::Float(a * b)),
        (a, b) => unreachable!("{operator:?} of {a:?} and {b:?}"),
    };
    let result = match operator {
        Binary::Add => a.checked_add(b),
        Binary::Subtract => a.checked_sub(b),
        Binary::Multiply => a.checked_mul(b),
        Binary::Divide | Binary::Remainder if b == 0 => return Err(Raised::new("22012")),
        Binary::Divide => a.checked_div(b),
        Binary::Remainder => Some(if b == -1 { 0 } else { a % b }),
        other => unreachable!("{other:?} is no arithmetic"),
    };
    result.map(Datum::Int).ok_or_else(|| Raised::new("22003"))
}

/// A value as `||` shows it.
fn shown(value: Datum) -> String {
    match value {
        Datum::Text(text) => text,
        Datum::Int(value) => value.to_string(),
        Datum::Bool(value) => value.to_string(),
        other => unreachable!("{other:?} is not shown"),
    }
}

fn cast(ty: Type, value: Datum) -> Evaluated {
    Ok(match (ty, value) {
        (_, Datum::Null) => Datum::Null,
        (Type::Int64, Datum::Timestamp(micros)) => Datum::Int(micros),
        // To the nearest, ties to the even one. What is drawn is small.
        (Type::Int64, Datum::Float(value)) => Datum::Int(value.round_ties_even() as i64),
        (Type::Int64, Datum::Text(text)) => match text.trim_ascii().parse() {
            Ok(value) => Datum::Int(value),
            Err(_) => return Err(Raised::new("22P02")),
        },
        (Type::Text, value) => Datum::Text(shown(value)),
        (ty, value) => checked(ty, value)?,
    })
}

fn of_values(function: Function, values: Vec<Datum>) -> Evaluated {
    let best = |wins: fn(Ordering) -> bool| {
        let known = values.iter().filter(|value| **value != Datum::Null);
        let better = |best: Datum, value: &Datum| if wins(order(value, &best)) { value.clone() } else { best };
        known.clone().next().map_or(Datum::Null, |first| known.fold(first.clone(), better))
    };
    Ok(match (function, &values[..]) {
        (Function::Greatest, _) => best(Ordering::is_gt),
        (Function::Least, _) => best(Ordering::is_lt),
        (Function::NullIf, [a, b]) => {
            if a == b {
                Datum::Null
            } else {
                a.clone()
            }
        }
        (Function::Abs, [Datum::Int(value)]) => Datum::Int(value.checked_abs().ok_or_else(|| Raised::new("22003"))?),
        (Function::Sign, [Datum::Int(value)]) => Datum::Int(value.signum()),
        (Function::Length, [Datum::Text(text)]) => Datum::Int(text.chars().count() as i64),
        (Function::Length, [Datum::Bytes(bytes)]) => Datum::Int(bytes.len() as i64),
        (Function::Lower, [Datum::Text(text)]) => Datum::Text(text.to_ascii_lowercase()),
        (Function::Upper, [Datum::Text(text)]) => Datum::Text(text.to_ascii_uppercase()),
        (Function::Cardinality, [Datum::Array(elements)]) => Datum::Int(elements.len() as i64),
        (Function::Contains, [Datum::Array(elements), element]) if *element != Datum::Null => {
            match elements.contains(element) {
                true => Datum::Bool(true),
                false if elements.contains(&Datum::Null) => Datum::Null,
                false => Datum::Bool(false),
            }
        }
        (Function::Contains, _) => Datum::Null,
        (Function::Sorted | Function::Distinct, [Datum::Array(elements)]) => {
            let mut sorted = elements.clone();
            sorted.sort_by(|a, b| (*a == Datum::Null).cmp(&(*b == Datum::Null)).then_with(|| order(a, b)));
            if function == Function::Distinct {
                sorted.dedup();
            }
            Datum::Array(sorted)
        }
        (Function::Substring, [text, Datum::Int(from), Datum::Int(count)]) => {
            // The generator begins at 1 or later and takes no negative number.
            let (skipped, count) = (*from as usize - 1, *count as usize);
            match text {
                Datum::Text(text) => Datum::Text(text.chars().skip(skipped).take(count).collect()),
                Datum::Bytes(bytes) => Datum::Bytes(bytes.iter().skip(skipped).take(count).copied().collect()),
                other => unreachable!("a part of {other:?}"),
            }
        }
        (function, values) => unreachable!("{function:?} of {values:?}"),
    })
}
