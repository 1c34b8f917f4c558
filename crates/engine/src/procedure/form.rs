//! The rules of form: what must hold for a program, whether it was built or parsed, and needs no catalog to be checked.
//!
//! Invariants:
//! - A program that passes is printed as a text that is parsed back to it.
//! - Statements are numbered in the order of their text, from 1. Every message that names one uses [`Statement::place`].
//!
//! Absent: whether names mean anything, and types ([`compile`](super::compile)).

use super::expression::{Constant, Expression, Function};
use super::program::{Block, Bound, DataType, Field, Program, Range, Results, Statement, StatementKind};
use crate::error::ProcedureError;
use crate::table::{NAME_BYTES_MAX, Type};

/// How many parameters, and how many results, a procedure has at most.
pub const FIELDS_MAX: usize = 255;
/// How deep blocks nest; the body of the procedure is the first.
pub const BLOCK_DEPTH_MAX: usize = 64;
/// How deep expressions nest: a variable or a constant is one level, each operator over it one more.
pub const EXPRESSION_DEPTH_MAX: usize = 128;

/// Where the children of an expression are: in boxes, in a list and in pairs.
type Children<'e> = ([Option<&'e Expression>; 2], &'e [Expression], &'e [(Expression, Expression)]);

impl Expression {
    /// Returns what it is computed from, in the order of the text.
    pub fn children(&self) -> impl Iterator<Item = &Expression> {
        let (boxed, list, pairs): Children<'_> = match self {
            Expression::Constant(_) | Expression::Variable(_) | Expression::Column(..) | Expression::Exists(_) => {
                ([None, None], &[], &[])
            }
            Expression::Unary(_, operand) | Expression::Cast(operand, _) => ([Some(operand), None], &[], &[]),
            Expression::Binary(_, left, right) | Expression::Element(left, right) => {
                ([Some(left), Some(right)], &[], &[])
            }
            Expression::Case(branches, otherwise) => ([otherwise.as_deref(), None], &[], branches),
            Expression::Call(_, list) | Expression::Array(list) => ([None, None], list, &[]),
        };
        let pairs = pairs.iter().flat_map(|(condition, value)| [condition, value]);
        pairs.chain(boxed.into_iter().flatten()).chain(list)
    }
}

/// Whether an expression has a function that draws in it.
pub(super) fn is_drawing(expression: &Expression) -> bool {
    matches!(expression, Expression::Call(function, _) if function.is_drawn()) || expression.children().any(is_drawing)
}

impl Statement {
    /// Returns the blocks in it, in the order of the text.
    pub fn blocks(&self) -> Vec<&Block> {
        match &self.kind {
            StatementKind::Get { otherwise, .. }
            | StatementKind::First { otherwise, .. }
            | StatementKind::Replace { otherwise, .. }
            | StatementKind::Update { otherwise, .. }
            | StatementKind::Delete { otherwise, .. } => otherwise.iter().collect(),
            StatementKind::If { branches, otherwise } => {
                branches.iter().map(|(_, body)| body).chain([otherwise]).collect()
            }
            StatementKind::While { body, .. }
            | StatementKind::For { body, .. }
            | StatementKind::ForEach { body, .. }
            | StatementKind::ForRows { body, .. } => vec![body],
            StatementKind::Call { body, .. } => body.iter().collect(),
            StatementKind::Try { body, catches } => {
                [body].into_iter().chain(catches.iter().map(|catch| &catch.body)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns how messages name it: by its line where it was parsed, else by its number, which counts statements in the order of
    /// the text from 1.
    pub fn place(&self, number: usize) -> String {
        let summary = self.summary();
        if self.line > 0 {
            format!("line {} `{summary}`", self.line)
        } else {
            format!("statement {number} `{summary}`")
        }
    }

    fn is_loop(&self) -> bool {
        matches!(
            self.kind,
            StatementKind::While { .. }
                | StatementKind::For { .. }
                | StatementKind::ForEach { .. }
                | StatementKind::ForRows { .. }
                | StatementKind::Call { body: Some(_), .. }
        )
    }
}

impl Program {
    /// Checks what needs no catalog: names, numbers of values, SQLSTATEs, constants, nesting, and where statements stand.
    ///
    /// # Errors
    /// [`ProcedureError::Invalid`], whose place names the statement.
    pub fn check_form(&self) -> Result<(), ProcedureError> {
        let head = |what| self.invalid("head".to_owned(), what);
        name(&self.name, "procedure").map_err(head)?;
        fields(&self.parameters, "parameter").map_err(head)?;
        fields(self.results.fields(), "result").map_err(head)?;
        if self.results != Results::Nothing && self.results.fields().is_empty() {
            return Err(head("`returns` names no results; name one, or leave it out".to_owned()));
        }
        Form { program: self, number: 0 }.block(&self.body, 1, false)
    }

    fn invalid(&self, place: String, what: String) -> ProcedureError {
        ProcedureError::Invalid { procedure: self.name.clone(), place, what }
    }
}

/// What is wrong.
type Checked = Result<(), String>;

/// Gives up with `what` unless `holds`.
fn ensure(holds: bool, what: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(what()) }
}

fn name(name: &str, what: &str) -> Checked {
    ensure(!name.is_empty(), || format!("the name of a {what} is empty; give it one"))?;
    ensure(name.len() <= NAME_BYTES_MAX, || {
        format!("the name {name:?} of a {what} has {} bytes; shorten it to {NAME_BYTES_MAX}", name.len())
    })
}

fn names<'a>(all: impl IntoIterator<Item = &'a String>, what: &str) -> Checked {
    let mut seen = std::collections::BTreeSet::new();
    for of in all {
        name(of, what)?;
        ensure(seen.insert(of), || format!("the {what} {of:?} is named twice; leave one out, or rename it"))?;
    }
    Ok(())
}

fn fields(fields: &[Field], what: &str) -> Checked {
    ensure(fields.len() <= FIELDS_MAX, || {
        format!("there are {} {what}s; the most is {FIELDS_MAX}: pass arrays, or split the procedure", fields.len())
    })?;
    names(fields.iter().map(|field| &field.name), what)?;
    fields.iter().try_for_each(|field| data_type(field.ty))
}

fn data_type(of: DataType) -> Checked {
    match of.ty {
        Type::Numeric { precision, scale } => {
            ensure((1..=Type::PRECISION_MAX).contains(&precision) && scale <= precision, || {
                format!(
                    "there is no type {of}; a precision is 1 to {}, and a scale at most the precision",
                    Type::PRECISION_MAX
                )
            })
        }
        _ => Ok(()),
    }
}

fn sqlstate(of: &str, is_class_allowed: bool) -> Checked {
    let is_right = of.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        && (of.len() == 5 || (is_class_allowed && of.len() == 2));
    ensure(is_right && of != "00000" && of != "00", || {
        let class = if is_class_allowed { ", or the two of a class" } else { "" };
        format!("{of:?} is no SQLSTATE of an error; it has five digits or capital letters{class}, as in 'P0001'")
    })
}

fn constant(constant: &Constant) -> Checked {
    match constant {
        Constant::Numeric(digits, scale) => {
            let max = 10_u64.pow(u32::from(Type::PRECISION_MAX));
            ensure(digits.unsigned_abs() < max && *scale <= Type::PRECISION_MAX, || {
                format!(
                    "a numeric of {digits} with {scale} digits after the point has more than {} digits",
                    Type::PRECISION_MAX
                )
            })
        }
        Constant::Float(float) => ensure(!float.is_nan() || float.to_bits() == f64::NAN.to_bits(), || {
            "a float that is no number has other bits than `f64::NAN`; write that".to_owned()
        }),
        _ => Ok(()),
    }
}

/// Checks an expression, of which `depth` levels are around it.
fn expression(of: &Expression, depth: usize) -> Checked {
    ensure(depth < EXPRESSION_DEPTH_MAX, || {
        format!("an expression is nested more than {EXPRESSION_DEPTH_MAX} levels deep; move a part into a variable")
    })?;
    match of {
        Expression::Constant(of) => constant(of)?,
        Expression::Variable(of) | Expression::Exists(of) => name(of, "variable")?,
        Expression::Column(row, column) => {
            name(row, "row")?;
            name(column, "column")?;
        }
        Expression::Case(branches, _) => {
            ensure(!branches.is_empty(), || "a `case` has no `when`; give it one".to_owned())?;
        }
        Expression::Cast(_, ty) => data_type(*ty)?,
        Expression::Call(function, arguments) => call(*function, arguments)?,
        _ => {}
    }
    of.children().try_for_each(|child| expression(child, depth + 1))
}

fn call(function: Function, arguments: &[Expression]) -> Checked {
    let (least, most) = function.arguments();
    let count = arguments.len();
    ensure((least..=most).contains(&count), || {
        let takes = match (least, most) {
            (least, usize::MAX) => format!("at least {least}"),
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} or {most}"),
        };
        let noun = if takes.ends_with('1') { "argument" } else { "arguments" };
        format!("`{}` takes {takes} {noun}, and {count} are given", function.name())
    })?;
    let is_constant = matches!(arguments, [Expression::Constant(Constant::Text(_))]);
    ensure(function != Function::NextValue || is_constant, || {
        "`nextval` takes the name of the sequence as a constant, as in `nextval('name')`".to_owned()
    })
}

fn range(range: &Range) -> Checked {
    name(&range.table, "table")?;
    range.index.iter().try_for_each(|index| name(index, "index"))?;
    let ends = [&range.low, &range.high];
    let empty = ends.into_iter().flatten().any(|Bound { values, .. }| values.is_empty());
    ensure(!empty, || "an end of the range has no values; give it one, or leave it out".to_owned())
}

/// Checks names and values of a statement.
struct Form<'p> {
    program: &'p Program,
    /// Of the last statement that was visited.
    number: usize,
}

impl Form<'_> {
    fn block(&mut self, block: &Block, depth: usize, in_loop: bool) -> Result<(), ProcedureError> {
        for statement in block {
            self.number += 1;
            let number = self.number;
            let invalid = |what| self.program.invalid(statement.place(number), what);
            let blocks = statement.blocks();
            self.statement(&statement.kind, in_loop)
                .and_then(|()| statement.expressions().into_iter().try_for_each(|of| expression(of, 0)))
                .and_then(|()| {
                    ensure(blocks.is_empty() || depth < BLOCK_DEPTH_MAX, || {
                        format!(
                            "blocks are nested more than {BLOCK_DEPTH_MAX} levels deep; move the inner ones into another \
                             procedure"
                        )
                    })
                })
                .map_err(invalid)?;

            let in_loop = in_loop || statement.is_loop();
            for block in blocks {
                self.block(block, depth + 1, in_loop)?;
            }
        }
        Ok(())
    }

    fn statement(&self, kind: &StatementKind, in_loop: bool) -> Checked {
        match kind {
            StatementKind::Let { variable, ty, value } => {
                name(variable, "variable")?;
                ty.map_or(Ok(()), data_type)?;
                ensure(ty.is_some() || value.is_some(), || {
                    "the variable has neither a type nor a value; give it one of them".to_owned()
                })
            }
            StatementKind::Set { variable, .. } | StatementKind::Append { variable, .. } => name(variable, "variable"),
            StatementKind::Get { table, key, row, .. } => row_of(table, key, Some(row)),
            StatementKind::Update { table, key, row, changes, .. } => {
                row_of(table, key, row.as_ref())?;
                columns(changes)
            }
            StatementKind::Delete { table, key, row, .. } => row_of(table, key, row.as_ref()),
            StatementKind::First { range: of, row, .. } | StatementKind::ForRows { range: of, row, .. } => {
                name(row, "row")?;
                range(of)
            }
            StatementKind::Insert { table, values }
            | StatementKind::Upsert { table, values }
            | StatementKind::Replace { table, values, .. } => {
                name(table, "table")?;
                columns(values)
            }
            StatementKind::DeleteAll { range: of, count } => {
                count.iter().try_for_each(|count| name(count, "variable"))?;
                range(of)
            }
            StatementKind::If { branches, .. } => {
                ensure(!branches.is_empty(), || "an `if` has no condition; give it one".to_owned())
            }
            StatementKind::While { .. } => Ok(()),
            StatementKind::For { variable, .. } => name(variable, "variable"),
            StatementKind::ForEach { variables, arrays, .. } => {
                ensure(!variables.is_empty(), || "a `foreach` goes through no array; name one".to_owned())?;
                ensure(variables.len() == arrays.len(), || {
                    format!("there are {} variables for {} arrays; name one for each", variables.len(), arrays.len())
                })?;
                names(variables, "variable")
            }
            StatementKind::Break => {
                ensure(in_loop, || "`break` stands in no loop; there is nothing to leave".to_owned())
            }
            StatementKind::Continue => {
                ensure(in_loop, || "`continue` stands in no loop; there is nothing to go on with".to_owned())
            }
            StatementKind::Return { values } => self.returned(values.len()),
            StatementKind::Emit { values } => self.emitted(values.len()),
            StatementKind::Abort { sqlstate: of, .. } => sqlstate(of, false),
            StatementKind::Try { catches, .. } => {
                ensure(!catches.is_empty(), || "a `try` has no `catch`; give it one".to_owned())?;
                catches.iter().try_for_each(|catch| {
                    catch.sqlstate.iter().try_for_each(|of| sqlstate(of, true))?;
                    catch.error.iter().try_for_each(|error| name(error, "error"))
                })
            }
            StatementKind::Call { procedure, into, body, .. } => {
                name(procedure, "procedure")?;
                ensure(body.is_none() || !into.is_empty(), || {
                    "the rows of the set have no names; name a variable for each result".to_owned()
                })?;
                names(into, "variable")
            }
        }
    }

    fn returned(&self, count: usize) -> Checked {
        match &self.program.results {
            Results::Nothing => ensure(count == 0, || {
                format!("{count} values are returned, and the procedure returns nothing; declare them with `returns`")
            }),
            Results::Set(_) => ensure(count == 0, || {
                "a procedure that returns a set gives each row with `emit`; `return` has no values in it".to_owned()
            }),
            Results::Values(fields) => ensure(count == fields.len(), || {
                format!("{count} values are returned, and the results are {}", fields.len())
            }),
        }
    }

    fn emitted(&self, count: usize) -> Checked {
        let Results::Set(fields) = &self.program.results else {
            return Err("`emit` stands in a procedure that returns no set; declare it with `returns set`".to_owned());
        };
        ensure(count == fields.len(), || format!("{count} values are emitted, and a row has {}", fields.len()))
    }
}

fn row_of(table: &str, key: &[Expression], row: Option<&String>) -> Checked {
    name(table, "table")?;
    row.into_iter().try_for_each(|row| name(row, "row"))?;
    ensure(!key.is_empty(), || "the key has no values; name those of the primary key".to_owned())
}

fn columns(values: &[(String, Expression)]) -> Checked {
    ensure(!values.is_empty(), || "no columns are named; name one".to_owned())?;
    names(values.iter().map(|(column, _)| column), "column")
}

impl Statement {
    /// Returns the expressions in it, in the order of the text, without those of statements within it.
    pub fn expressions(&self) -> Vec<&Expression> {
        match &self.kind {
            StatementKind::Let { value, .. } => value.iter().collect(),
            StatementKind::Set { value, .. } | StatementKind::Append { value, .. } => vec![value],
            StatementKind::Get { key, .. } | StatementKind::Delete { key, .. } => key.iter().collect(),
            StatementKind::Update { key, changes, .. } => {
                key.iter().chain(changes.iter().map(|(_, value)| value)).collect()
            }
            StatementKind::Insert { values, .. }
            | StatementKind::Upsert { values, .. }
            | StatementKind::Replace { values, .. } => values.iter().map(|(_, value)| value).collect(),
            StatementKind::First { range, .. }
            | StatementKind::ForRows { range, .. }
            | StatementKind::DeleteAll { range, .. } => range.expressions().collect(),
            StatementKind::If { branches, .. } => branches.iter().map(|(condition, _)| condition).collect(),
            StatementKind::While { condition, .. } => vec![condition],
            StatementKind::For { from, to, .. } => vec![from, to],
            StatementKind::ForEach { arrays, .. } => arrays.iter().collect(),
            StatementKind::Return { values } | StatementKind::Emit { values } => values.iter().collect(),
            StatementKind::Abort { message, .. } => vec![message],
            StatementKind::Call { arguments, .. } => arguments.iter().collect(),
            StatementKind::Break | StatementKind::Continue | StatementKind::Try { .. } => Vec::new(),
        }
    }
}

impl Range {
    /// Returns the expressions in it, in the order of the text.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let ends = [&self.low, &self.high].into_iter().flatten().flat_map(|end| &end.values);
        self.prefix.iter().chain(ends).chain(&self.limit)
    }
}
