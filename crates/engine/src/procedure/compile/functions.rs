//! Functions: which types they take, and what they become.

use super::expressions::{as_kind, unified_all, widened};
use super::{Compiled, Compiler, wrong};
use crate::procedure::code::{Kind, Scalar};
use crate::procedure::expression::{Constant, Expression, Function};
use crate::procedure::numeric::Rounding;

impl Compiler<'_> {
    pub(super) fn function(&mut self, function: Function, arguments: &[Expression]) -> Compiled<(Scalar, Kind)> {
        let (least, most) = function.arguments();
        if !(least..=most).contains(&arguments.len()) {
            return wrong(format!("`{}` does not take {} arguments", function.name(), arguments.len()));
        }
        match function {
            Function::Coalesce | Function::Greatest | Function::Least => self.alike(function, arguments),
            Function::NullIf => {
                let (values, kind) = self.unified(arguments)?;
                Ok((Scalar::Call(function, values.into()), kind))
            }
            Function::Abs | Function::Sign => self.of_number(function, arguments),
            Function::Round => self.rounded(Rounding::Nearest, arguments),
            Function::Truncate => self.rounded(Rounding::Truncate, arguments),
            Function::Floor => self.rounded(Rounding::Floor, arguments),
            Function::Ceil => self.rounded(Rounding::Ceil, arguments),
            Function::Sqrt => {
                let argument = self.scalar(&arguments[0])?;
                with_kinds(function, vec![argument], &[Kind::Float], Kind::Float)
            }
            Function::Cardinality => {
                let (array, _) = self.array(&arguments[0])?;
                Ok((Scalar::Cardinality(Box::new(array)), Kind::Int))
            }
            Function::Contains => self.contains(&arguments[0], &arguments[1]),
            Function::NextValue => {
                let Expression::Constant(Constant::Text(name)) = &arguments[0] else {
                    return wrong("`nextval` takes the name of a sequence as a constant text");
                };
                Ok((Scalar::NextValue(self.sequence(name)?), Kind::Int))
            }
            Function::Now => Ok((Scalar::Call(function, Box::default()), Kind::Timestamp)),
            Function::Random => Ok((Scalar::Call(function, Box::default()), Kind::Float)),
            Function::Uuid => Ok((Scalar::Call(function, Box::default()), Kind::Bytes)),
            _ => self.of_text(function, arguments),
        }
    }

    fn unified(&mut self, arguments: &[Expression]) -> Compiled<(Vec<Scalar>, Kind)> {
        unified_all(arguments.iter().map(|argument| self.scalar(argument)).collect::<Compiled<_>>()?)
    }

    /// Functions whose arguments and result are of one kind.
    fn alike(&mut self, function: Function, arguments: &[Expression]) -> Compiled<(Scalar, Kind)> {
        let (values, kind) = self.unified(arguments)?;
        Ok((Scalar::Call(function, values.into()), kind))
    }

    fn of_number(&mut self, function: Function, arguments: &[Expression]) -> Compiled<(Scalar, Kind)> {
        let (value, kind) = self.scalar(&arguments[0])?;
        match kind {
            Kind::Int | Kind::Float | Kind::Numeric(_) | Kind::Null => {
                let result = if function == Function::Sign && kind != Kind::Float { Kind::Int } else { kind };
                Ok((Scalar::Call(function, Box::new([value])), result))
            }
            kind => wrong(format!("`{}` takes a number, and this is {kind}", function.name())),
        }
    }

    fn rounded(&mut self, rounding: Rounding, arguments: &[Expression]) -> Compiled<(Scalar, Kind)> {
        let digits = match arguments.get(1) {
            None => 0,
            Some(Expression::Constant(Constant::Int(digits @ 0..=18))) => *digits as u8,
            Some(_) => return wrong("the number of digits is a constant from 0 to 18"),
        };
        let (value, kind) = self.scalar(&arguments[0])?;
        Ok(match kind {
            Kind::Int | Kind::Null => (value, kind),
            Kind::Float if digits == 0 => (Scalar::RoundFloat(rounding, Box::new(value)), kind),
            Kind::Float => return wrong("a float is rounded to whole numbers only; cast it to numeric"),
            Kind::Numeric(scale) if scale <= digits => (value, kind),
            Kind::Numeric(scale) => (Scalar::Round(rounding, (scale, digits), Box::new(value)), Kind::Numeric(digits)),
            kind => return wrong(format!("a {kind} cannot be rounded")),
        })
    }

    fn contains(&mut self, array: &Expression, element: &Expression) -> Compiled<(Scalar, Kind)> {
        let ((array, of), (element, kind)) = (self.array(array)?, self.scalar(element)?);
        match widened(element, kind, of) {
            Some(element) => Ok((Scalar::Contains(Box::new(array), Box::new(element)), Kind::Bool)),
            None => wrong(format!("an array of {of} cannot be searched for a value of type {kind}; cast it")),
        }
    }

    /// Functions of texts and byte strings.
    fn of_text(&mut self, function: Function, arguments: &[Expression]) -> Compiled<(Scalar, Kind)> {
        use Kind::{Bytes, Int, Text};
        // Each once: what is compiled twice at each of many levels takes for ever.
        let arguments = arguments.iter().map(|argument| self.scalar(argument)).collect::<Compiled<Vec<_>>>()?;
        match (function, arguments[0].1) {
            (Function::Length, Bytes) => with_kinds(function, arguments, &[Bytes], Int),
            (Function::Substring, Bytes) => with_kinds(function, arguments, &[Bytes, Int, Int], Bytes),
            (Function::Length, _) => with_kinds(function, arguments, &[Text], Int),
            (Function::Substring, _) => with_kinds(function, arguments, &[Text, Int, Int], Text),
            (Function::Left | Function::Right, _) => with_kinds(function, arguments, &[Text, Int], Text),
            (Function::Position, _) => with_kinds(function, arguments, &[Text, Text], Int),
            (Function::PadLeft, _) => with_kinds(function, arguments, &[Text, Int, Text], Text),
            _ => with_kinds(function, arguments, &[Text, Text, Text], Text),
        }
    }
}

fn with_kinds(
    function: Function,
    arguments: Vec<(Scalar, Kind)>,
    kinds: &[Kind],
    result: Kind,
) -> Compiled<(Scalar, Kind)> {
    let what = format!("this argument of `{}`", function.name());
    let values = arguments.into_iter().zip(kinds).map(|(value, wanted)| as_kind(value, *wanted, &what));
    Ok((Scalar::Call(function, values.collect::<Compiled<Vec<_>>>()?.into()), result))
}
