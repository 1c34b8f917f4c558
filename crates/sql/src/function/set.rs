//! Functions that return sets of rows.
//!
//! Invariant: rows are made one at a time, as the executor asks for them.

use super::argument::*;
use super::resolve::{Overload, choose, function_error, signature};
use super::{Call, Environment, Parameter, Returns};
use crate::datum::Datum;
use crate::datum::Datum::{Int, Null};
use crate::error::{Result, SqlState};
use crate::types::Type;
use crate::value::numeric::Numeric;

/// The rows of a call. A row of several columns is a [`Datum::Record`].
pub type Rows = Box<dyn Iterator<Item = Result<Datum>>>;

type Evaluate = fn(&Call<'_>, &[Datum]) -> Result<Rows>;

#[derive(Debug)]
struct SetFunction {
    name: &'static str,
    parameters: &'static [Parameter],
    returns: Returns,
    /// The columns, where there are several.
    columns: &'static [(&'static str, Type)],
    is_strict: bool,
    evaluate: Evaluate,
}

impl Overload for SetFunction {
    fn parameters(&self) -> &'static [Parameter] {
        self.parameters
    }

    fn returns(&self) -> Returns {
        self.returns
    }
}

/// A function that returns rows and that a call means.
#[derive(Clone, Debug)]
pub struct ResolvedSet {
    /// What each argument must be cast to.
    pub arguments: Vec<Type>,
    /// The type of a row: `Record` where there are several columns.
    pub returns: Type,
    /// Names and types of the columns.
    pub columns: Vec<(&'static str, Type)>,
    function: &'static SetFunction,
    /// The only field of each row that is meant.
    field: Option<usize>,
}

impl ResolvedSet {
    /// Returns the name of the function.
    pub fn name(&self) -> &'static str {
        self.function.name
    }

    /// Starts a call with arguments of its types. Where one is NULL, most functions return no row.
    ///
    /// # Errors
    /// What the function fails with before its first row.
    pub fn evaluate(&self, environment: &dyn Environment, arguments: &[Datum]) -> Result<Rows> {
        if self.function.is_strict && arguments.iter().any(Datum::is_null) {
            return Ok(Box::new(std::iter::empty()));
        }
        let call = Call { environment, types: &self.arguments, returns: self.returns };
        let rows = (self.function.evaluate)(&call, arguments)?;
        let Some(at) = self.field else { return Ok(rows) };
        Ok(Box::new(rows.map(move |row| match row? {
            Datum::Record(fields) => Ok(fields[at].clone()),
            other => Ok(other),
        })))
    }

    /// Returns the names and types of the fields of a row, where it has several.
    pub fn fields(&self) -> &'static [(&'static str, Type)] {
        self.function.columns
    }

    /// Returns the call with rows of one of the fields alone.
    ///
    /// # Errors
    /// A name that no field has.
    pub fn field(self, name: &str) -> Result<ResolvedSet> {
        let Some(at) = self.function.columns.iter().position(|(field, _)| *field == name) else {
            let message = format!("column \"{name}\" not found in data type {}", self.returns);
            return Err(error(SqlState::UndefinedColumn, message));
        };
        let column = self.function.columns[at];
        Ok(ResolvedSet { returns: column.1, columns: vec![column], field: Some(at), ..self })
    }
}

macro_rules! sets {
    ($($name:literal ($($p:ident),*) -> $r:ident $([$($column:literal $ty:ident),*])? $($lax:literal)? = $evaluate:expr;)*) => {
        static SETS: &[SetFunction] = &[$(SetFunction {
            name: $name,
            parameters: &[$(super::parameter!($p)),*],
            returns: super::returns!($r),
            columns: &[$($(($column, Type::$ty)),*)?],
            is_strict: is_strict(&[$($lax)?]),
            evaluate: $evaluate,
        }),*];
    };
}

sets! {
    "generate_series" (Int4, Int4) -> Int4 = |_, a| whole_series(int(&a[0]), int(&a[1]), 1);
    "generate_series" (Int4, Int4, Int4) -> Int4 = |_, a| whole_series(int(&a[0]), int(&a[1]), int(&a[2]));
    "generate_series" (Int8, Int8) -> Int8 = |_, a| whole_series(int(&a[0]), int(&a[1]), 1);
    "generate_series" (Int8, Int8, Int8) -> Int8 = |_, a| whole_series(int(&a[0]), int(&a[1]), int(&a[2]));
    "generate_series" (Numeric, Numeric) -> Numeric = |_, a| {
        numeric_series(numeric(&a[0]).clone(), numeric(&a[1]).clone(), Numeric::from_i64(1))
    };
    "generate_series" (Numeric, Numeric, Numeric) -> Numeric = |_, a| {
        numeric_series(numeric(&a[0]).clone(), numeric(&a[1]).clone(), numeric(&a[2]).clone())
    };
    "generate_series" (Timestamp, Timestamp, Interval) -> Timestamp = time_series;
    "generate_series" (Timestamptz, Timestamptz, Interval) -> Timestamptz = time_series;
    "generate_subscripts" (AnyArray, Int4) -> Int4 = |call, a| {
        let length = if int(&a[1]) == 1 { elements(&a[0]).len() as i64 } else { 0 };
        let first = super::array::first(call);
        whole_series(first, first + length - 1, 1)
    };
    "_pg_expandarray" (AnyArray) -> Record ["x" Int8, "n" Int4] = |_, a| {
        let elements = elements(&a[0]).clone();
        let numbered = move |place: usize| Ok(Datum::record(vec![elements[place].clone(), Int(place as i64 + 1)]));
        let count = super::argument::elements(&a[0]).len();
        Ok(Box::new((0..count).map(numbered)))
    };
    "unnest" (AnyArray) -> AnyElement = |_, a| {
        let elements = elements(&a[0]).clone();
        Ok(Box::new((0..elements.len()).map(move |place| Ok(elements[place].clone()))))
    };
    "regexp_matches" (Text, Text) -> TextArray = |call, a| matches(call, text(&a[0]), text(&a[1]), "");
    "regexp_matches" (Text, Text, Text) -> TextArray = |call, a| {
        matches(call, text(&a[0]), text(&a[1]), text(&a[2]))
    };
    "regexp_split_to_table" (Text, Text) -> Text = |call, a| {
        super::pattern::split(call, text(&a[0]), text(&a[1]), "").map(list)
    };
    "regexp_split_to_table" (Text, Text, Text) -> Text = |call, a| {
        super::pattern::split(call, text(&a[0]), text(&a[1]), text(&a[2])).map(list)
    };
    "pg_listening_channels" () -> Text = |call, a| {
        call.environment.ask("pg_listening_channels", a).map(|channels| list(elements(&channels).to_vec()))
    };
    // There are no partitions.
    "pg_partition_ancestors" (RegClass) -> RegClass = |_, _| Ok(Box::new(std::iter::empty()));
    "pg_partition_tree" (RegClass) -> Record ["relid" RegClass, "parentrelid" RegClass, "isleaf" Bool, "level" Int4] = |_, _| {
        Ok(Box::new(std::iter::empty()))
    };
    "pg_options_to_table" (TextArray) -> Record ["option_name" Text, "option_value" Text] = |_, a| options(&a[0]);
    "pg_get_keywords" () -> Record [
        "word" Text, "catcode" InternalChar, "barelabel" Bool, "catdesc" Text, "baredesc" Text
    ] = |_, _| Ok(list(super::keyword::rows()));
    "string_to_table" (Text, Text) -> Text "lax" = |_, a| pieces(&a[0], &a[1], &Null);
    "string_to_table" (Text, Text, Text) -> Text "lax" = |_, a| pieces(&a[0], &a[1], &a[2]);
    "json_array_elements" (Json) -> Json = |_, a| super::json::text_elements(text(&a[0]), false).map(list);
    "json_array_elements_text" (Json) -> Text = |_, a| super::json::text_elements(text(&a[0]), true).map(list);
    "jsonb_array_elements" (Jsonb) -> Jsonb = |call, a| super::json::elements_of(call, &a[0], false).map(list);
    "jsonb_array_elements_text" (Jsonb) -> Text = |call, a| super::json::elements_of(call, &a[0], true).map(list);
    "json_each" (Json) -> Record ["key" Text, "value" Json] = |_, a| super::json::text_pairs(text(&a[0]), false).map(list);
    "json_each_text" (Json) -> Record ["key" Text, "value" Text] = |_, a| {
        super::json::text_pairs(text(&a[0]), true).map(list)
    };
    "jsonb_each" (Jsonb) -> Record ["key" Text, "value" Jsonb] = |call, a| {
        super::json::pairs_of(call, &a[0], false).map(list)
    };
    "jsonb_each_text" (Jsonb) -> Record ["key" Text, "value" Text] = |call, a| {
        super::json::pairs_of(call, &a[0], true).map(list)
    };
    "sequence row" (Bytea) -> Record ["last_value" Int8, "log_cnt" Int8, "is_called" Bool] = |call, a| {
        call.environment.ask(super::SEQUENCE_ROW, a).map(|row| list(vec![row]))
    };
    "json_object_keys" (Json) -> Text = |_, a| super::json::text_keys(text(&a[0])).map(list);
    "jsonb_object_keys" (Jsonb) -> Text = |_, a| super::json::keys_of(&a[0]).map(list);
}

/// Whether nothing in a table says that a function sees NULL.
const fn is_strict(flags: &[&str]) -> bool {
    flags.is_empty()
}

/// Returns all functions that return rows.
pub fn sets() -> impl Iterator<Item = super::Signature> {
    let callable = SETS.iter().filter(|set| !super::is_internal(set.name));
    callable.map(|set| (set.name, set.parameters, set.returns))
}

/// Whether a function that returns rows has the name.
pub(super) fn exists(name: &str) -> bool {
    SETS.iter().any(|function| function.name == name)
}

/// Finds the function that a call means; `None` where none that returns rows has the name.
///
/// # Errors
/// 42883 where the arguments do not fit, 42725 where several functions fit equally well.
pub fn resolve_set(name: &str, arguments: &[Type]) -> Result<Option<ResolvedSet>> {
    let candidates: Vec<_> = SETS.iter().filter(|function| function.name == name).collect();
    if candidates.is_empty() {
        return Ok(None);
    }
    let chosen = choose(&candidates, arguments, arguments).and_then(|function| {
        let (arguments, returns) = signature(function, arguments)?;
        let columns = match function.columns {
            [] => vec![(function.name, returns)],
            columns => columns.to_vec(),
        };
        Ok(ResolvedSet { arguments, returns, columns, function, field: None })
    });
    chosen.map(Some).map_err(|failure| function_error(&failure, name, arguments))
}

fn list(values: Vec<Datum>) -> Rows {
    Box::new(values.into_iter().map(Ok))
}

#[cold]
fn zero_step() -> crate::SqlError {
    invalid("step size cannot equal zero")
}

fn whole_series(from: i64, to: i64, step: i64) -> Result<Rows> {
    if step == 0 {
        return Err(zero_step());
    }
    let is_inside = move |value: &i64| if step > 0 { *value <= to } else { *value >= to };
    let series = std::iter::successors(Some(from), move |value| value.checked_add(step));
    Ok(Box::new(series.take_while(is_inside).map(|value| Ok(Int(value)))))
}

fn numeric_series(from: Numeric, to: Numeric, step: Numeric) -> Result<Rows> {
    for (value, what) in [(&from, "start"), (&to, "stop"), (&step, "step size")] {
        if value.is_nan() {
            let what = if what == "step size" { what.to_owned() } else { format!("{what} value") };
            return Err(invalid(format!("{what} cannot be NaN")));
        }
    }
    if step.sign() == 0 {
        return Err(zero_step());
    }
    let is_up = step.sign() > 0;
    let series = std::iter::successors(Some(from), move |value| Some(value.add(&step)));
    let inside = series.take_while(move |value| if is_up { *value <= to } else { *value >= to });
    Ok(Box::new(inside.map(|value| Ok(make_numeric(value)))))
}

/// Moments from one to another, with the steps that clocks of the session's zone make.
fn time_series(call: &Call<'_>, a: &[Datum]) -> Result<Rows> {
    let (from, to, step) = (moment(&a[0]), moment(&a[1]), interval(&a[2]));
    let zero = crate::value::interval::Interval::default();
    if step == zero {
        return Err(zero_step());
    }
    let zone = (call.types[0] == Type::Timestamptz).then(|| call.environment.settings().time_zone.clone());
    let mut next = Some(from);
    Ok(Box::new(std::iter::from_fn(move || {
        let current = next.take().filter(|at| if step > zero { *at <= to } else { *at >= to })?;
        match super::datetime::shifted(current, step, zone.as_ref()) {
            Ok(at) => next = Some(at),
            Err(fault) => return Some(Err(fault)),
        }
        Some(Ok(Datum::Timestamp(current)))
    })))
}

fn matches(call: &Call<'_>, value: &str, pattern: &str, flags: &str) -> Result<Rows> {
    let count = if flags.contains('g') { usize::MAX } else { 1 };
    super::pattern::all_groups(call, value, pattern, flags, count).map(list)
}

fn pieces(value: &Datum, separator: &Datum, null: &Datum) -> Result<Rows> {
    if value.is_null() { Ok(list(Vec::new())) } else { super::string::pieces(value, separator, null).map(list) }
}

/// Options as `name=value`; one without a sign has no value.
fn options(given: &Datum) -> Result<Rows> {
    let option = |option: &Datum| match option {
        Datum::Text(option) => match option.split_once('=') {
            Some((name, value)) => Ok(Datum::record(vec![Datum::text(name), Datum::text(value)])),
            None => Ok(Datum::record(vec![Datum::text(&**option), Null])),
        },
        _ => Err(error(SqlState::NullValueNotAllowed, "null array element not allowed in this context")),
    };
    elements(given).iter().map(option).collect::<Result<_>>().map(list)
}
