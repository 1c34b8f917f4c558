//! Expressions: types, conversions, operators.
//!
//! Types, from the literal up: integers of 64 bits, numerics with a number of digits after the point that is known, floats. Where
//! two meet the first becomes the second. A text is shown by `||`, and otherwise only cast.

use super::rows::column;
use super::scope::Variable;
use super::{Compiled, Compiler, fits_as_it_is, wrong};
use crate::procedure::code::{Arithmetic, Array, Comparison, ConstantValue, Conversion, Kind, Output, Scalar};
use crate::procedure::expression::{Binary, Constant, Expression, Function, Unary};
use crate::procedure::numeric;
use crate::procedure::program::DataType;
use crate::table::Type;

/// An expression with the kind of its value or of its elements.
pub(super) enum Typed {
    Scalar(Scalar, Kind),
    Array(Array, Kind),
}

impl Compiler<'_> {
    /// Compiles any expression.
    pub(super) fn typed(&mut self, expression: &Expression) -> Compiled<Typed> {
        let scalar = |(scalar, kind)| Typed::Scalar(scalar, kind);
        match expression {
            Expression::Constant(value) => Ok(scalar(constant(value))),
            Expression::Variable(name) => self.variable(name),
            Expression::Column(row, name) => self.column(row, name).map(scalar),
            Expression::Exists(name) => match self.scope.find(name)? {
                Variable::Row { slot, .. } => Ok(scalar((Scalar::Exists(slot), Kind::Bool))),
                other => wrong(format!("`exists` asks for a row, and `{name}` is {}", other.what())),
            },
            Expression::Unary(operator, operand) => self.unary(*operator, operand),
            Expression::Binary(Binary::Concatenate, a, b) => self.concatenate(a, b),
            Expression::Binary(operator, a, b) => self.binary(*operator, a, b).map(scalar),
            Expression::Case(branches, otherwise) => self.case(branches, otherwise.as_deref()).map(scalar),
            Expression::Cast(value, ty) => self.cast(value, *ty),
            Expression::Call(function @ (Function::Sorted | Function::Distinct), arguments) if arguments.len() == 1 => {
                let (array, kind) = self.array(&arguments[0])?;
                let ordered = if *function == Function::Sorted { Array::Sorted } else { Array::Distinct };
                Ok(Typed::Array(ordered(Box::new(array)), kind))
            }
            Expression::Call(function, arguments) => self.function(*function, arguments).map(scalar),
            Expression::Array(elements) => self.elements(elements),
            Expression::Element(array, number) => {
                let (array, kind) = self.array(array)?;
                let number = self.of_kind(number, Kind::Int, "the number of an element")?;
                Ok(scalar((Scalar::Element(Box::new(array), Box::new(number)), kind)))
            }
        }
    }

    /// Compiles an expression of a value.
    pub(super) fn scalar(&mut self, expression: &Expression) -> Compiled<(Scalar, Kind)> {
        match self.typed(expression)? {
            Typed::Scalar(scalar, kind) => Ok((scalar, kind)),
            Typed::Array(_, kind) => wrong(format!("an array of {kind} stands where a value is needed")),
        }
    }

    /// Compiles an expression of an array.
    pub(super) fn array(&mut self, expression: &Expression) -> Compiled<(Array, Kind)> {
        match self.typed(expression)? {
            Typed::Array(array, kind) => Ok((array, kind)),
            Typed::Scalar(Scalar::Constant(ConstantValue::Null), kind) => Ok((Array::Null, kind)),
            Typed::Scalar(_, kind) => wrong(format!("a value of type {kind} stands where an array is needed")),
        }
    }

    /// Returns the kind of a value or of the elements of an array, and whether it is an array.
    pub(super) fn kind_of(&mut self, expression: &Expression) -> Compiled<(Kind, bool)> {
        Ok(match self.typed(expression)? {
            Typed::Scalar(_, kind) => (kind, false),
            Typed::Array(_, kind) => (kind, true),
        })
    }

    /// Compiles a condition.
    pub(super) fn condition(&mut self, expression: &Expression) -> Compiled<Scalar> {
        self.of_kind(expression, Kind::Bool, "a condition")
    }

    /// Compiles a value that must be of a kind, or become one without loss.
    pub(super) fn of_kind(&mut self, expression: &Expression, wanted: Kind, what: &str) -> Compiled<Scalar> {
        as_kind(self.scalar(expression)?, wanted, what)
    }

    /// Compiles the value of a variable, parameter or result of a type.
    pub(super) fn assigned(&mut self, expression: &Expression, ty: DataType) -> Compiled<Output> {
        let wanted = Kind::of(ty.ty);
        if ty.is_array {
            let (array, kind) = self.array(expression)?;
            let array = match conversion(kind, wanted) {
                Some(steps) => steps.into_iter().fold(array, |array, step| Array::Convert(step, Box::new(array))),
                None => return wrong(format!("an array of {kind} stands where {ty} is needed; cast it")),
            };
            let is_checked =
                fits_as_it_is(wanted, ty.ty) || matches!(array, Array::Null) || self.has_type(expression, ty.ty);
            let check = |array| Array::Convert(Conversion::Check(ty.ty), Box::new(array));
            return Ok(Output::Array(if is_checked { array } else { check(array) }));
        }
        let (scalar, kind) = self.scalar(expression)?;
        let Some(scalar) = self.converted(scalar, kind, wanted) else {
            return wrong(format!("a value of type {kind} stands where {ty} is needed; cast it"));
        };
        let is_null = matches!(scalar, Scalar::Constant(ConstantValue::Null));
        let is_checked = fits_as_it_is(wanted, ty.ty) || is_null || self.has_type(expression, ty.ty);
        Ok(Output::Scalar(if is_checked { scalar } else { convert(Conversion::Check(ty.ty), scalar) }))
    }

    /// Whether an expression names a variable or a column of this type, or elements of it, which were checked when it got them.
    pub(super) fn has_type(&self, expression: &Expression, wanted: Type) -> bool {
        match expression {
            Expression::Variable(name) => match self.scope.find(name) {
                Ok(Variable::Scalar { ty, .. } | Variable::Array { ty, .. }) => ty == wanted,
                _ => false,
            },
            Expression::Column(row, name) => match self.scope.find(row) {
                Ok(Variable::Row { table, .. }) => {
                    let schema = self.schema(table);
                    column(&schema, name).is_ok_and(|column| schema.column(column).ty() == wanted)
                }
                _ => false,
            },
            Expression::Call(Function::Sorted | Function::Distinct, arguments) => {
                arguments.iter().all(|array| self.has_type(array, wanted))
            }
            _ => false,
        }
    }

    /// Returns a value as one of the kind of a column or variable; `None` where it has to be cast.
    pub(super) fn converted(&mut self, scalar: Scalar, kind: Kind, wanted: Kind) -> Option<Scalar> {
        Some(conversion(kind, wanted)?.into_iter().fold(scalar, |scalar, step| convert(step, scalar)))
    }

    /// Returns a value as a text shows it.
    pub(super) fn shown(&mut self, scalar: Scalar, kind: Kind) -> Scalar {
        match kind {
            Kind::Text | Kind::Null => scalar,
            kind => convert(Conversion::ToText(kind), scalar),
        }
    }

    fn variable(&mut self, name: &str) -> Compiled<Typed> {
        Ok(match self.scope.find(name)? {
            Variable::Scalar { slot, ty, .. } => Typed::Scalar(Scalar::Slot(slot), Kind::of(ty)),
            Variable::Array { slot, ty, .. } => Typed::Array(Array::Slot(slot), Kind::of(ty)),
            Variable::Row { .. } => return wrong(format!("`{name}` is a row; write `{name}.column`")),
            Variable::Error { .. } => {
                return wrong(format!("`{name}` is an error; write `{name}.sqlstate` or `{name}.message`"));
            }
        })
    }

    fn column(&mut self, row: &str, name: &str) -> Compiled<(Scalar, Kind)> {
        match self.scope.find(row)? {
            Variable::Row { slot, table } => {
                let schema = self.schema(table);
                let column = column(&schema, name)?;
                Ok((Scalar::Column(slot, column), Kind::of(schema.column(column).ty())))
            }
            Variable::Error { sqlstate, .. } if name == "sqlstate" => Ok((Scalar::Slot(sqlstate), Kind::Text)),
            Variable::Error { message, .. } if name == "message" => Ok((Scalar::Slot(message), Kind::Text)),
            Variable::Error { .. } => wrong(format!("an error has a sqlstate and a message, and no `{name}`")),
            other => wrong(format!("`{row}` is {}, which has no columns", other.what())),
        }
    }

    fn unary(&mut self, operator: Unary, operand: &Expression) -> Compiled<Typed> {
        let scalar = match operator {
            Unary::Not => (Scalar::Not(Box::new(self.condition(operand)?)), Kind::Bool),
            Unary::IsNull => (self.is_null(operand)?, Kind::Bool),
            Unary::IsNotNull => (Scalar::Not(Box::new(self.is_null(operand)?)), Kind::Bool),
            Unary::Negate => match self.scalar(operand)? {
                (operand, kind @ (Kind::Int | Kind::Float | Kind::Numeric(_) | Kind::Null)) => (negated(operand), kind),
                (_, kind) => return wrong(format!("a {kind} has no sign")),
            },
        };
        Ok(Typed::Scalar(scalar.0, scalar.1))
    }

    fn is_null(&mut self, operand: &Expression) -> Compiled<Scalar> {
        Ok(match self.typed(operand)? {
            Typed::Scalar(scalar, _) => Scalar::IsNull(Box::new(scalar)),
            Typed::Array(array, _) => Scalar::IsNull(Box::new(Scalar::Cardinality(Box::new(array)))),
        })
    }

    fn binary(&mut self, operator: Binary, a: &Expression, b: &Expression) -> Compiled<(Scalar, Kind)> {
        let comparison = match operator {
            Binary::And | Binary::Or => {
                let (a, b) = (Box::new(self.condition(a)?), Box::new(self.condition(b)?));
                let both = if operator == Binary::And { Scalar::And(a, b) } else { Scalar::Or(a, b) };
                return Ok((both, Kind::Bool));
            }
            Binary::Add => return self.arithmetic(Arithmetic::Add, a, b),
            Binary::Subtract => return self.arithmetic(Arithmetic::Subtract, a, b),
            Binary::Multiply => return self.arithmetic(Arithmetic::Multiply, a, b),
            Binary::Divide => return self.arithmetic(Arithmetic::Divide, a, b),
            Binary::Remainder => return self.arithmetic(Arithmetic::Remainder, a, b),
            Binary::Concatenate => unreachable!("it was compiled before"),
            Binary::Equal => Comparison::Equal,
            Binary::NotEqual => Comparison::NotEqual,
            Binary::Less => Comparison::Less,
            Binary::LessOrEqual => Comparison::LessOrEqual,
            Binary::Greater => Comparison::Greater,
            Binary::GreaterOrEqual => Comparison::GreaterOrEqual,
            Binary::NotDistinct => Comparison::NotDistinct,
            Binary::Distinct => Comparison::Distinct,
        };
        let ((a, of), (b, to)) = (self.scalar(a)?, self.scalar(b)?);
        let (a, b, kind) = unified((a, of), (b, to), "compared")?;
        let compare = match kind {
            Kind::Int | Kind::Numeric(_) | Kind::Timestamp => Scalar::CompareUnits,
            _ => Scalar::Compare,
        };
        Ok((compare(comparison, Box::new(a), Box::new(b)), Kind::Bool))
    }

    fn arithmetic(&mut self, operator: Arithmetic, a: &Expression, b: &Expression) -> Compiled<(Scalar, Kind)> {
        let ((a, of), (b, to)) = (self.scalar(a)?, self.scalar(b)?);
        if let (Kind::Timestamp, Arithmetic::Add | Arithmetic::Subtract) = (of, operator) {
            let kind = match (operator, to) {
                (_, Kind::Int | Kind::Null) => Kind::Timestamp,
                (Arithmetic::Subtract, Kind::Timestamp) => Kind::Int,
                _ => return wrong(format!("a timestamp and a value of type {to} have no sum or difference")),
            };
            return Ok((Scalar::Shift(operator, Box::new(a), Box::new(b)), kind));
        }
        let is_number = |kind| matches!(kind, Kind::Int | Kind::Float | Kind::Numeric(_) | Kind::Null);
        if !is_number(of) || !is_number(to) {
            return wrong(format!("values of types {of} and {to} cannot be computed with; cast them to numbers"));
        }
        let scales = match (of, to) {
            (Kind::Numeric(a), Kind::Numeric(b)) => Some((a, b)),
            (Kind::Numeric(a), Kind::Int | Kind::Null) => Some((a, 0)),
            (Kind::Int | Kind::Null, Kind::Numeric(b)) => Some((0, b)),
            _ => None,
        };
        if let Some((a_scale, b_scale)) = scales {
            return Ok(numeric_arithmetic(operator, (a, of, a_scale), (b, to, b_scale)));
        }
        let (a, b, kind) = unified((a, of), (b, to), "computed with")?;
        let (a, b) = (Box::new(a), Box::new(b));
        Ok(match kind {
            Kind::Float => (Scalar::Float(operator, a, b), kind),
            _ => (Scalar::Int(operator, a, b), Kind::Int),
        })
    }

    fn concatenate(&mut self, a: &Expression, b: &Expression) -> Compiled<Typed> {
        match (self.typed(a)?, self.typed(b)?) {
            (Typed::Array(a, of), Typed::Array(b, to)) => {
                let (a, b, kind) = unified_arrays((a, of), (b, to))?;
                Ok(Typed::Array(Array::Concatenate(Box::new(a), Box::new(b)), kind))
            }
            (Typed::Array(a, of), Typed::Scalar(b, to)) => {
                let (a, b, kind) = unified_arrays((a, of), (Array::Elements(Box::new([b])), to))?;
                Ok(Typed::Array(Array::Concatenate(Box::new(a), Box::new(b)), kind))
            }
            (Typed::Scalar(a, of), Typed::Array(b, to)) => {
                let (a, b, kind) = unified_arrays((Array::Elements(Box::new([a])), of), (b, to))?;
                Ok(Typed::Array(Array::Concatenate(Box::new(a), Box::new(b)), kind))
            }
            (Typed::Scalar(a, Kind::Bytes), Typed::Scalar(b, Kind::Bytes | Kind::Null)) => {
                Ok(Typed::Scalar(followed(a, b), Kind::Bytes))
            }
            (Typed::Scalar(a, of), Typed::Scalar(b, to)) => {
                let (a, b) = (self.shown(a, of), self.shown(b, to));
                Ok(Typed::Scalar(followed(a, b), Kind::Text))
            }
        }
    }

    fn case(
        &mut self,
        branches: &[(Expression, Expression)],
        otherwise: Option<&Expression>,
    ) -> Compiled<(Scalar, Kind)> {
        let mut conditions = Vec::new();
        let mut values = Vec::new();
        for (condition, value) in branches {
            conditions.push(self.condition(condition)?);
            values.push(self.scalar(value)?);
        }
        let null = (Scalar::Constant(ConstantValue::Null), Kind::Null);
        values.push(otherwise.map_or(Ok(null), |value| self.scalar(value))?);
        let (mut values, kind) = unified_all(values)?;
        let otherwise = values.pop().expect("there is the last one");
        Ok((Scalar::Case(conditions.into_iter().zip(values).collect(), Box::new(otherwise)), kind))
    }

    fn elements(&mut self, elements: &[Expression]) -> Compiled<Typed> {
        let elements = elements.iter().map(|element| self.scalar(element)).collect::<Compiled<_>>()?;
        let (elements, kind) = unified_all(elements)?;
        Ok(Typed::Array(Array::Elements(elements.into()), kind))
    }

    fn cast(&mut self, value: &Expression, ty: DataType) -> Compiled<Typed> {
        let wanted = Kind::of(ty.ty);
        let impossible = |kind: Kind| wrong(format!("a value of type {kind} cannot be cast to {ty}"));
        if ty.is_array {
            let (array, kind) = self.array(value)?;
            let Some(steps) = cast(kind, ty.ty) else { return impossible(kind) };
            let array = steps.into_iter().fold(array, |array, step| Array::Convert(step, Box::new(array)));
            return Ok(Typed::Array(array, wanted));
        }
        let (scalar, kind) = self.scalar(value)?;
        let Some(steps) = cast(kind, ty.ty) else { return impossible(kind) };
        Ok(Typed::Scalar(steps.into_iter().fold(scalar, |scalar, step| convert(step, scalar)), wanted))
    }
}

/// Returns a value as one of a kind, which it must be, or become without loss.
pub(super) fn as_kind((scalar, kind): (Scalar, Kind), wanted: Kind, what: &str) -> Compiled<Scalar> {
    let converted = widened(scalar, kind, wanted);
    converted.ok_or_else(|| format!("{what} is of type {wanted}, and this is {kind}; cast it").into())
}

/// Puts two texts or byte strings together; what was put together before is not copied again.
fn followed(a: Scalar, b: Scalar) -> Scalar {
    match a {
        Scalar::Concatenate(mut parts) => {
            parts.push(b);
            Scalar::Concatenate(parts)
        }
        a => Scalar::Concatenate(vec![a, b]),
    }
}

/// Returns a constant and its kind.
fn constant(constant: &Constant) -> (Scalar, Kind) {
    let (value, kind) = match constant {
        Constant::Null => (ConstantValue::Null, Kind::Null),
        Constant::Bool(value) => (ConstantValue::Bool(*value), Kind::Bool),
        Constant::Int(value) => (ConstantValue::Int(*value), Kind::Int),
        Constant::Numeric(units, scale) => (ConstantValue::Numeric(*units), Kind::Numeric(*scale)),
        Constant::Float(value) => (ConstantValue::Float(*value), Kind::Float),
        Constant::Text(value) => (ConstantValue::Text(value.as_str().into()), Kind::Text),
        Constant::Bytes(value) => (ConstantValue::Bytes(value.as_slice().into()), Kind::Bytes),
        Constant::Timestamp(value) => (ConstantValue::Timestamp(*value), Kind::Timestamp),
    };
    (Scalar::Constant(value), kind)
}

/// Converts a value; a constant at once, where that cannot fail.
pub(super) fn convert(step: Conversion, scalar: Scalar) -> Scalar {
    let folded = match (&step, &scalar) {
        (_, Scalar::Constant(ConstantValue::Null)) => Some(ConstantValue::Null),
        (Conversion::IntToNumeric(scale), Scalar::Constant(ConstantValue::Int(value))) => {
            numeric::rescale(*value, 0, *scale).map(ConstantValue::Numeric)
        }
        (Conversion::Rescale(from, to), Scalar::Constant(ConstantValue::Numeric(units))) => {
            numeric::rescale(*units, *from, *to).map(ConstantValue::Numeric)
        }
        (Conversion::IntToFloat, Scalar::Constant(ConstantValue::Int(value))) => {
            Some(ConstantValue::Float(*value as f64))
        }
        (Conversion::NumericToFloat(scale), Scalar::Constant(ConstantValue::Numeric(units))) => {
            Some(ConstantValue::Float(numeric::to_float(*units, *scale)))
        }
        _ => None,
    };
    folded.map_or_else(|| Scalar::Convert(step, Box::new(scalar)), Scalar::Constant)
}

fn negated(operand: Scalar) -> Scalar {
    match operand {
        Scalar::Constant(ConstantValue::Int(value)) if value != i64::MIN => {
            Scalar::Constant(ConstantValue::Int(-value))
        }
        Scalar::Constant(ConstantValue::Numeric(units)) => Scalar::Constant(ConstantValue::Numeric(-units)),
        Scalar::Constant(ConstantValue::Float(value)) => Scalar::Constant(ConstantValue::Float(-value)),
        operand => Scalar::Negate(Box::new(operand)),
    }
}

/// Sums and differences are of one scale; products and quotients have that of the rule (numeric.rs).
fn numeric_arithmetic(
    operator: Arithmetic,
    (a, of, a_scale): (Scalar, Kind, u8),
    (b, to, b_scale): (Scalar, Kind, u8),
) -> (Scalar, Kind) {
    let numeric = |scalar, kind, scale| match kind {
        Kind::Int => convert(Conversion::IntToNumeric(scale), scalar),
        _ => scalar,
    };
    let (a, b) = (numeric(a, of, a_scale), numeric(b, to, b_scale));
    let whole = |operator, a, b, scale| (Scalar::Numeric(operator, a, b), Kind::Numeric(scale));
    match operator {
        Arithmetic::Multiply => {
            whole(operator, (Box::new(a), a_scale), (Box::new(b), b_scale), numeric::product_scale(a_scale, b_scale))
        }
        Arithmetic::Divide => {
            whole(operator, (Box::new(a), a_scale), (Box::new(b), b_scale), numeric::quotient_scale(a_scale, b_scale))
        }
        Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Remainder => {
            let scale = a_scale.max(b_scale);
            let rescaled = |scalar, from| match from == scale {
                true => (Box::new(scalar), scale),
                false => (Box::new(convert(Conversion::Rescale(from, scale), scalar)), scale),
            };
            whole(operator, rescaled(a, a_scale), rescaled(b, b_scale), scale)
        }
    }
}

/// Returns the kind that two values have in common.
fn common(a: Kind, b: Kind) -> Option<Kind> {
    Some(match (a, b) {
        (a, b) if a == b => a,
        (Kind::Null, other) | (other, Kind::Null) => other,
        (Kind::Numeric(a), Kind::Numeric(b)) => Kind::Numeric(a.max(b)),
        (Kind::Numeric(scale), Kind::Int) | (Kind::Int, Kind::Numeric(scale)) => Kind::Numeric(scale),
        (Kind::Float, Kind::Int | Kind::Numeric(_)) | (Kind::Int | Kind::Numeric(_), Kind::Float) => Kind::Float,
        _ => return None,
    })
}

/// Returns a value as one of a kind that it has in common with others.
pub(super) fn widened(scalar: Scalar, kind: Kind, to: Kind) -> Option<Scalar> {
    (common(kind, to) == Some(to))
        .then(|| conversion(kind, to))
        .flatten()
        .map(|steps| steps.into_iter().fold(scalar, |scalar, step| convert(step, scalar)))
}

fn unified(a: (Scalar, Kind), b: (Scalar, Kind), what: &str) -> Compiled<(Scalar, Scalar, Kind)> {
    let unlike = || format!("values of types {} and {} cannot be {what}; cast one of them", a.1, b.1);
    let kind = common(a.1, b.1).ok_or_else(unlike)?;
    let unlike = unlike();
    let widened = |(scalar, of)| widened(scalar, of, kind);
    match (widened(a), widened(b)) {
        (Some(a), Some(b)) => Ok((a, b, kind)),
        _ => wrong(unlike),
    }
}

/// Returns all values as of one kind.
pub(super) fn unified_all(values: Vec<(Scalar, Kind)>) -> Compiled<(Vec<Scalar>, Kind)> {
    let mut kind = Kind::Null;
    for (_, of) in &values {
        let unlike = || format!("values of types {kind} and {of} stand side by side; cast one of them");
        kind = common(kind, *of).ok_or_else(unlike)?;
    }
    let widened = |(scalar, of)| widened(scalar, of, kind).expect("the kind is common to all");
    Ok((values.into_iter().map(widened).collect(), kind))
}

fn unified_arrays((a, of): (Array, Kind), (b, to): (Array, Kind)) -> Compiled<(Array, Array, Kind)> {
    let Some(kind) = common(of, to) else {
        return wrong(format!("arrays of {of} and {to} cannot be put together; cast one of them"));
    };
    let widened = |array, from| {
        let steps = conversion(from, kind).expect("the kind is common to both");
        steps.into_iter().fold(array, |array, step| Array::Convert(step, Box::new(array)))
    };
    Ok((widened(a, of), widened(b, to), kind))
}

/// Returns how a value becomes one of the kind of a column or a variable: nothing is lost but digits after the point.
fn conversion(from: Kind, to: Kind) -> Option<Vec<Conversion>> {
    Some(match (from, to) {
        (from, to) if from == to => Vec::new(),
        (Kind::Null, _) => Vec::new(),
        (Kind::Numeric(from), Kind::Numeric(to)) => vec![Conversion::Rescale(from, to)],
        (Kind::Int, Kind::Numeric(scale)) => vec![Conversion::IntToNumeric(scale)],
        (Kind::Int, Kind::Float) => vec![Conversion::IntToFloat],
        (Kind::Numeric(scale), Kind::Float) => vec![Conversion::NumericToFloat(scale)],
        _ => return None,
    })
}

/// Returns how a value is cast.
fn cast(from: Kind, ty: Type) -> Option<Vec<Conversion>> {
    let to = Kind::of(ty);
    let mut steps = match (from, to) {
        (Kind::Text, Kind::Text) => Vec::new(),
        (Kind::Text, _) => return Some(vec![Conversion::TextTo(ty)]),
        (Kind::Bytes, Kind::Text) => vec![Conversion::BytesToText],
        (from, Kind::Text) if from != Kind::Null => vec![Conversion::ToText(from)],
        (Kind::Numeric(scale), Kind::Int) => vec![Conversion::NumericToInt(scale)],
        (Kind::Float, Kind::Int) => vec![Conversion::FloatToInt],
        (Kind::Float, Kind::Numeric(scale)) => vec![Conversion::FloatToNumeric(scale)],
        (Kind::Bool, Kind::Int) => vec![Conversion::BoolToInt],
        (Kind::Int, Kind::Timestamp) => vec![Conversion::IntToTimestamp],
        (Kind::Timestamp, Kind::Int) => vec![Conversion::TimestampToInt],
        (from, to) => conversion(from, to)?,
    };
    if !fits_as_it_is(to, ty) {
        steps.push(Conversion::Check(ty));
    }
    Some(steps)
}
