//! One call within a transaction: arguments in, results and draws out.

use std::borrow::Cow;
use std::cell::RefCell;

use super::compiled::{Body, Compiled};
use super::convert;
use super::draws::{Drawn, Draws, Source};
use super::evaluate::Variables;
use super::machine::Machine;
use super::memory::Arena;
use super::opaque::{OpaqueCall, OpaqueProcedure};
use super::output::Output;
use super::trace::Hook;
use crate::catalog::sequence::Sequence;
use crate::error::{Error, ProcedureError};
use crate::procedure::code::{Code, Conversion, Kind, ParameterSlot};
use crate::procedure::program::Field;
use crate::table::{Argument, Arguments, Datum, KeyBuf, Table, Type, Value};
use crate::transaction::Transaction;

/// Runs a call to its end, and tells `hook` of what a program does; an interleaved one stops where its memory is on the way.
/// `unordered` are the instructions that read what nobody changes meanwhile.
pub(super) async fn run<'a, const INTERLEAVED: bool, H: Hook>(
    transaction: &'a Transaction<'_>,
    compiled: &'a Compiled,
    arguments: &'a [Argument<'a>],
    arena: &'a Arena,
    (source, unordered): (Source<'a>, &'a [bool]),
    hook: H,
) -> Result<(Output, Drawn), Error> {
    match &compiled.body {
        Body::Opaque(procedure) => run_opaque(transaction, procedure, arguments, source),
        Body::Declared { code, sequences, .. } => {
            let variables = variables((code, sequences), arguments, arena, source);
            declared::<INTERLEAVED, H>(transaction, code, variables, unordered, hook).await
        }
    }
}

/// Runs code.
async fn declared<'a, const INTERLEAVED: bool, H: Hook>(
    transaction: &'a Transaction<'_>,
    code: &'a Code,
    variables: Variables<'a>,
    unordered: &'a [bool],
    hook: H,
) -> Result<(Output, Drawn), Error> {
    let steps_max = transaction.config().procedure_steps_max;
    let mut machine = Machine::new(code, transaction, variables, steps_max).with_unordered(unordered);
    match machine.run::<INTERLEAVED, H>(hook).await {
        Ok(()) => Ok((machine.output, machine.variables.draws.into_drawn())),
        Err(failure) => Err(failure.into_error(&code.program.name, machine.place())),
    }
}

/// Gives the keys that arguments alone say will be used to `found`, of a declared procedure.
pub(super) fn expected_keys(
    transaction: &Transaction<'_>,
    compiled: &Compiled,
    arguments: &[Argument<'_>],
    arena: &Arena,
    found: impl FnMut(&Table, &KeyBuf),
) {
    let Body::Declared { code, sequences, .. } = &compiled.body else { return };
    let drawn = Drawn::default();
    let variables = variables((code, sequences), arguments, arena, Source::Earlier { drawn: &drawn, taken: 0 });
    Machine::new(code, transaction, variables, 0).first_expected(found);
}

/// The variables of a call that begins.
pub(super) fn variables<'a>(
    (code, sequences): (&'a Code, &'a [Sequence]),
    arguments: &'a [Argument<'a>],
    arena: &'a Arena,
    source: Source<'a>,
) -> Variables<'a> {
    assert_eq!(sequences.len(), code.sequences, "the sequences are those of the code");
    let sizes = code.sizes;
    let mut variables = Variables {
        values: arena.slots(sizes.values, Value::Null),
        rows: arena.slots(sizes.rows, None),
        arrays: arena.list(sizes.arrays.into()),
        arena,
        draws: Draws::new(source, sequences),
    };
    variables.arrays.resize(sizes.arrays.into(), None);
    for (argument, parameter) in arguments.iter().zip(&code.parameters) {
        match (argument, parameter) {
            (Argument::Scalar(value), ParameterSlot::Scalar(slot)) => variables.set(*slot, *value),
            (Argument::Array(elements), ParameterSlot::Array(slot)) => {
                variables.arrays[usize::from(slot.0)] = Some(Cow::Borrowed(elements.as_slice()));
            }
            (Argument::Scalar(Value::Null), ParameterSlot::Array(..)) => {}
            _ => unreachable!("the arguments were checked"),
        }
    }
    variables
}

fn run_opaque<'a>(
    transaction: &'a Transaction<'_>,
    procedure: &'a OpaqueProcedure,
    arguments: &'a [Argument<'a>],
    source: Source<'a>,
) -> Result<(Output, Drawn), Error> {
    let draws = RefCell::new(Draws::new(source, &[]));
    let call = OpaqueCall { transaction, arguments, draws, name: &procedure.name };
    transaction.set_in_function(true);
    let returned = (procedure.function)(&call);
    transaction.set_in_function(false);
    let values = returned?;
    let (found, expected) = (values.len(), procedure.results.fields().len());
    if found != expected {
        let what = format!("its function returned {found} values for {expected} results");
        let (procedure, place) = (procedure.name.clone(), "its function".to_owned());
        return Err(ProcedureError::Invalid { procedure, place, what }.into());
    }
    for (field, value) in procedure.results.fields().iter().zip(&values) {
        if !returns(field, value) {
            let what = format!("its function returned {value} for the result `{}`, which is {}", field.name, field.ty);
            let (procedure, place) = (procedure.name.clone(), "its function".to_owned());
            return Err(ProcedureError::Invalid { procedure, place, what }.into());
        }
    }
    let output = Output::of(procedure.results.clone(), values);
    Ok((output, call.draws.into_inner().into_drawn()))
}

/// Whether a function may return a value for a result.
fn returns(field: &Field, value: &Datum) -> bool {
    let fits = |value: &Datum| value.value().is_some_and(|value| value.is_null() || field.ty.ty.takes(value));
    match value {
        Datum::Array(elements) => field.ty.is_array && elements.iter().all(fits),
        Datum::Null => true,
        value => !field.ty.is_array && fits(value),
    }
}

/// Returns the arguments as values of the types of the parameters.
///
/// # Errors
/// [`ProcedureError::Arguments`].
pub(super) fn checked<'a>(
    compiled: &Compiled,
    arguments: &'a [Argument<'a>],
    arena: &'a Arena,
) -> Result<Arguments<'a>, Error> {
    match &compiled.body {
        Body::Declared { code, .. } => conformed(&code.program.name, &code.program.parameters, arguments, arena),
        Body::Opaque(procedure) => conformed(&procedure.name, &procedure.parameters, arguments, arena),
    }
}

/// As [`checked`], for a procedure with this name and these parameters.
pub(super) fn conformed<'a>(
    name: &str,
    parameters: &[Field],
    arguments: &'a [Argument<'a>],
    arena: &'a Arena,
) -> Result<Arguments<'a>, Error> {
    let refused = |what| {
        let signature: Vec<_> = parameters.iter().map(|field| format!("{} {}", field.name, field.ty)).collect();
        Error::from(ProcedureError::Arguments { procedure: name.to_owned(), what, signature: signature.join(", ") })
    };
    if arguments.len() != parameters.len() {
        return Err(refused(format!("{} arguments are given for {} parameters", arguments.len(), parameters.len())));
    }
    let fits = |(field, argument): (&Field, &Argument<'_>)| is_of(field, argument);
    if parameters.iter().zip(arguments).all(fits) {
        return Ok(Arguments::Given(arguments));
    }
    let mut converted = Vec::with_capacity(arguments.len());
    for (at, (field, argument)) in parameters.iter().zip(arguments).enumerate() {
        let wrong = |what| refused(format!("argument {} `{}` {what}", at + 1, field.name));
        converted.push(as_parameter(field, argument, arena).map_err(wrong)?);
    }
    Ok(Arguments::Made(converted))
}

/// Whether an argument is of the type of a parameter as it is.
fn is_of(field: &Field, argument: &Argument<'_>) -> bool {
    let fits = |value: &Value<'_>| value.is_null() || field.ty.ty.takes(*value);
    match argument {
        Argument::Scalar(value) => fits(value) && (!field.ty.is_array || value.is_null()),
        Argument::Array(elements) => field.ty.is_array && elements.iter().all(fits),
    }
}

fn as_parameter<'a>(field: &Field, argument: &'a Argument<'a>, arena: &'a Arena) -> Result<Argument<'a>, String> {
    match (argument, field.ty.is_array) {
        (Argument::Scalar(Value::Null), _) => Ok(Argument::Scalar(Value::Null)),
        (Argument::Scalar(value), false) => as_type(field.ty.ty, *value, arena).map(Argument::Scalar),
        (Argument::Array(elements), true) => {
            let elements = elements.iter().map(|element| as_type(field.ty.ty, *element, arena));
            elements.collect::<Result<_, _>>().map(Argument::Array)
        }
        (Argument::Scalar(_), true) => Err(format!("is a value, and the parameter is {}", field.ty)),
        (Argument::Array(_), false) => Err(format!("is an array, and the parameter is {}", field.ty)),
    }
}

/// Integers are taken for numerics and floats, too.
fn as_type<'a>(ty: Type, value: Value<'a>, arena: &'a Arena) -> Result<Value<'a>, String> {
    let conversion = match (Kind::of(ty), value) {
        (Kind::Numeric(scale), Value::Int(_)) => Some(Conversion::IntToNumeric(scale)),
        (Kind::Float, Value::Int(_)) => Some(Conversion::IntToFloat),
        _ => None,
    };
    let value = match conversion {
        Some(conversion) => {
            convert::convert(arena, &conversion, value).map_err(|_| format!("is out of range for {ty}"))?
        }
        None => value,
    };
    if value.is_null() || ty.takes(value) {
        return Ok(value);
    }
    Err(format!("is {} {value}, which {ty} does not take", value.kind()))
}
