//! Programs built in Rust: the same trees that texts are parsed to.
//!
//! ```
//! use osier::procedure::builder::{column, text, var};
//! use osier::procedure::program::Program;
//! use osier::table::Type;
//!
//! # fn main() -> Result<(), osier::ProcedureError> {
//! let transfer = Program::builder("transfer")
//!     .parameter("source", Type::Int64)
//!     .parameter("target", Type::Int64)
//!     .parameter("amount", Type::Int64)
//!     .returns("left", Type::Int64)
//!     .body(|b| {
//!         b.get("accounts", [var("source")]).bind("payer");
//!         b.if_(column("payer", "balance").lt(var("amount")), |b| b.abort("P0001", text("too little")));
//!         let left = column("payer", "balance") - var("amount");
//!         b.update("accounts", [var("source")], [("balance", left.clone())]);
//!         b.get("accounts", [var("target")]).bind("payee");
//!         b.update("accounts", [var("target")], [("balance", column("payee", "balance") + var("amount"))]);
//!         b.return_([left]);
//!     })
//!     .build()?;
//! assert_eq!(Program::parse(&transfer.to_string())?, transfer);
//! # Ok(())
//! # }
//! ```
//!
//! Invariant: what is built has passed [`Program::check_form`].
//!
//! Absent: shorthands that repeat an operand, as `between` does in a text: what an expression draws is drawn where it stands.

use std::ops;

use super::expression::{Binary, Constant, Expression, Function, Unary};
use super::program::{Block, Bound, Catch, DataType, Field, Program, Range, Results, Statement, StatementKind};
use crate::error::ProcedureError;

/// Returns the value of a parameter or a scalar variable.
pub fn var(name: impl Into<String>) -> Expression {
    Expression::Variable(name.into())
}

/// Returns a column of a row variable, or a part of a caught error.
pub fn column(row: impl Into<String>, column: impl Into<String>) -> Expression {
    Expression::Column(row.into(), column.into())
}

/// Returns whether a row variable holds a row.
pub fn exists(row: impl Into<String>) -> Expression {
    Expression::Exists(row.into())
}

/// Returns the constant NULL.
pub fn null() -> Expression {
    Expression::Constant(Constant::Null)
}

/// Returns a constant truth value.
pub fn boolean(value: bool) -> Expression {
    Expression::Constant(Constant::Bool(value))
}

/// Returns a constant integer.
pub fn int(value: i64) -> Expression {
    Expression::Constant(Constant::Int(value))
}

/// Returns a constant numeric: `numeric(1250, 2)` is 12.50.
pub fn numeric(digits: i64, scale: u8) -> Expression {
    Expression::Constant(Constant::Numeric(digits, scale))
}

/// Returns a constant float. All that are no number are the same one.
pub fn float(value: f64) -> Expression {
    Expression::Constant(Constant::Float(if value.is_nan() { f64::NAN } else { value }))
}

/// Returns a constant text.
pub fn text(value: impl Into<String>) -> Expression {
    Expression::Constant(Constant::Text(value.into()))
}

/// Returns a constant byte string.
pub fn bytes(value: impl Into<Vec<u8>>) -> Expression {
    Expression::Constant(Constant::Bytes(value.into()))
}

/// Returns a constant timestamp, in microseconds since 1970-01-01 00:00:00.
pub fn timestamp(micros: i64) -> Expression {
    Expression::Constant(Constant::Timestamp(micros))
}

/// Returns an array of these elements. An empty one needs a [`cast`](Expression::cast) that says of what.
pub fn array(elements: impl IntoIterator<Item = impl Into<Expression>>) -> Expression {
    Expression::Array(all(elements))
}

/// Returns what a function gives.
pub fn function(function: Function, arguments: impl IntoIterator<Item = impl Into<Expression>>) -> Expression {
    Expression::Call(function, all(arguments))
}

/// Returns the first of these that is not NULL.
pub fn coalesce(values: impl IntoIterator<Item = impl Into<Expression>>) -> Expression {
    function(Function::Coalesce, values)
}

/// Returns when the call began.
pub fn now() -> Expression {
    Expression::Call(Function::Now, Vec::new())
}

/// Returns a random float from 0 up to 1.
pub fn random() -> Expression {
    Expression::Call(Function::Random, Vec::new())
}

/// Returns 16 random bytes, a UUID of version 4.
pub fn uuid() -> Expression {
    Expression::Call(Function::Uuid, Vec::new())
}

/// Returns the next value of a sequence.
pub fn next_value(sequence: impl Into<String>) -> Expression {
    Expression::Call(Function::NextValue, vec![text(sequence)])
}

/// Returns the opposite of a condition; of NULL it is NULL.
pub fn not(condition: impl Into<Expression>) -> Expression {
    !condition.into()
}

/// Begins a choice between values: `case_when(condition, value).when(condition, value).otherwise(value)`.
pub fn case_when(condition: impl Into<Expression>, value: impl Into<Expression>) -> CaseBuilder {
    CaseBuilder { branches: Vec::new() }.when(condition, value)
}

/// A choice between values that goes on.
#[derive(Clone, Debug)]
pub struct CaseBuilder {
    branches: Vec<(Expression, Expression)>,
}

impl CaseBuilder {
    /// Adds a value for where no condition before holds and this one does.
    pub fn when(mut self, condition: impl Into<Expression>, value: impl Into<Expression>) -> CaseBuilder {
        self.branches.push((condition.into(), value.into()));
        self
    }

    /// Returns the choice, with a value for where no condition holds.
    pub fn otherwise(self, value: impl Into<Expression>) -> Expression {
        Expression::Case(self.branches, Some(Box::new(value.into())))
    }

    /// Returns the choice; where no condition holds it is NULL.
    pub fn end(self) -> Expression {
        Expression::Case(self.branches, None)
    }
}

fn all(expressions: impl IntoIterator<Item = impl Into<Expression>>) -> Vec<Expression> {
    expressions.into_iter().map(Into::into).collect()
}

fn names(names: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    names.into_iter().map(Into::into).collect()
}

fn pairs(
    values: impl IntoIterator<Item = (impl Into<String>, impl Into<Expression>)>,
) -> impl Iterator<Item = (String, Expression)> {
    values.into_iter().map(|(name, value)| (name.into(), value.into()))
}

impl From<i64> for Expression {
    fn from(value: i64) -> Expression {
        int(value)
    }
}

impl From<i32> for Expression {
    fn from(value: i32) -> Expression {
        int(value.into())
    }
}

impl From<f64> for Expression {
    fn from(value: f64) -> Expression {
        float(value)
    }
}

impl From<bool> for Expression {
    fn from(value: bool) -> Expression {
        boolean(value)
    }
}

/// A constant text, no variable.
impl From<&str> for Expression {
    fn from(value: &str) -> Expression {
        text(value)
    }
}

/// A constant text, no variable.
impl From<String> for Expression {
    fn from(value: String) -> Expression {
        text(value)
    }
}

macro_rules! operators {
    ($($operator:ident, $method:ident, $binary:ident;)*) => {$(
        impl<E: Into<Expression>> ops::$operator<E> for Expression {
            type Output = Expression;

            fn $method(self, other: E) -> Expression {
                self.binary(Binary::$binary, other)
            }
        }
    )*};
}

operators! {
    Add, add, Add;
    Sub, sub, Subtract;
    Mul, mul, Multiply;
    Div, div, Divide;
    Rem, rem, Remainder;
}

impl ops::Neg for Expression {
    type Output = Expression;

    fn neg(self) -> Expression {
        Expression::Unary(Unary::Negate, Box::new(self))
    }
}

impl ops::Not for Expression {
    type Output = Expression;

    fn not(self) -> Expression {
        Expression::Unary(Unary::Not, Box::new(self))
    }
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $method:ident, $binary:ident;)*) => {$(
        $(#[$doc])*
        pub fn $method(self, other: impl Into<Expression>) -> Expression {
            self.binary(Binary::$binary, other)
        }
    )*};
}

impl Expression {
    fn binary(self, operator: Binary, other: impl Into<Expression>) -> Expression {
        Expression::Binary(operator, Box::new(self), Box::new(other.into()))
    }

    comparisons! {
        /// Returns `self = other`.
        eq, Equal;
        /// Returns `self <> other`.
        ne, NotEqual;
        /// Returns `self < other`.
        lt, Less;
        /// Returns `self <= other`.
        le, LessOrEqual;
        /// Returns `self > other`.
        gt, Greater;
        /// Returns `self >= other`.
        ge, GreaterOrEqual;
        /// Returns `self is distinct from other`.
        distinct_from, Distinct;
        /// Returns `self is not distinct from other`.
        not_distinct_from, NotDistinct;
        /// Returns `self and other`.
        and, And;
        /// Returns `self or other`.
        or, Or;
        /// Returns `self || other`.
        concatenate, Concatenate;
    }

    /// Returns `self is null`.
    pub fn is_null(self) -> Expression {
        Expression::Unary(Unary::IsNull, Box::new(self))
    }

    /// Returns `self is not null`.
    pub fn is_not_null(self) -> Expression {
        Expression::Unary(Unary::IsNotNull, Box::new(self))
    }

    /// Returns `self::ty`.
    pub fn cast(self, ty: impl Into<DataType>) -> Expression {
        Expression::Cast(Box::new(self), ty.into())
    }

    /// Returns `self[number]`; the first element is number 1.
    pub fn element(self, number: impl Into<Expression>) -> Expression {
        Expression::Element(Box::new(self), Box::new(number.into()))
    }
}

impl Range {
    /// Takes the order of a secondary index.
    pub fn using(mut self, index: impl Into<String>) -> Range {
        self.index = Some(index.into());
        self
    }

    /// Takes only rows whose key begins with these values.
    pub fn prefix(mut self, values: impl IntoIterator<Item = impl Into<Expression>>) -> Range {
        self.prefix = all(values);
        self
    }

    /// Begins with these values, after the prefix.
    pub fn from(mut self, values: impl IntoIterator<Item = impl Into<Expression>>) -> Range {
        self.low = Some(Bound { values: all(values), is_included: true });
        self
    }

    /// Begins behind all keys that begin with these values, after the prefix.
    pub fn after(mut self, values: impl IntoIterator<Item = impl Into<Expression>>) -> Range {
        self.low = Some(Bound { values: all(values), is_included: false });
        self
    }

    /// Ends with these values, after the prefix.
    pub fn to(mut self, values: impl IntoIterator<Item = impl Into<Expression>>) -> Range {
        self.high = Some(Bound { values: all(values), is_included: true });
        self
    }

    /// Ends before all keys that begin with these values, after the prefix.
    pub fn before(mut self, values: impl IntoIterator<Item = impl Into<Expression>>) -> Range {
        self.high = Some(Bound { values: all(values), is_included: false });
        self
    }

    /// Goes from its end to its beginning.
    pub fn descending(mut self) -> Range {
        self.is_descending = true;
        self
    }

    /// Takes at most so many rows.
    pub fn limit(mut self, rows: impl Into<Expression>) -> Range {
        self.limit = Some(rows.into());
        self
    }
}

/// A program that is being built.
#[derive(Clone, Debug)]
pub struct ProgramBuilder {
    name: String,
    parameters: Vec<Field>,
    values: Vec<Field>,
    set: Vec<Field>,
    body: Block,
}

impl Program {
    /// Begins a procedure.
    pub fn builder(name: impl Into<String>) -> ProgramBuilder {
        let name = name.into();
        ProgramBuilder { name, parameters: Vec::new(), values: Vec::new(), set: Vec::new(), body: Block::new() }
    }
}

impl ProgramBuilder {
    /// Adds a parameter.
    pub fn parameter(mut self, name: impl Into<String>, ty: impl Into<DataType>) -> ProgramBuilder {
        self.parameters.push(Field { name: name.into(), ty: ty.into() });
        self
    }

    /// Adds a result.
    pub fn returns(mut self, name: impl Into<String>, ty: impl Into<DataType>) -> ProgramBuilder {
        self.values.push(Field { name: name.into(), ty: ty.into() });
        self
    }

    /// Adds a field to the rows of the set that the procedure returns.
    pub fn returns_set(mut self, name: impl Into<String>, ty: impl Into<DataType>) -> ProgramBuilder {
        self.set.push(Field { name: name.into(), ty: ty.into() });
        self
    }

    /// Adds statements.
    pub fn body(mut self, statements: impl FnOnce(&mut BlockBuilder)) -> ProgramBuilder {
        self.body.extend(block(statements));
        self
    }

    /// Returns the procedure, checked as [`Program::check_form`] does.
    ///
    /// # Errors
    /// [`ProcedureError::Invalid`] as there, and where it returns a set and values beside it.
    pub fn build(self) -> Result<Program, ProcedureError> {
        let ProgramBuilder { name, parameters, values, set, body } = self;
        if !values.is_empty() && !set.is_empty() {
            let what = "it returns values and a set; choose `returns` or `returns_set`".to_owned();
            return Err(ProcedureError::Invalid { procedure: name, place: "head".to_owned(), what });
        }
        let results = match (values.is_empty(), set.is_empty()) {
            (true, true) => Results::Nothing,
            (false, _) => Results::Values(values),
            (true, false) => Results::Set(set),
        };
        let program = Program { name, parameters, results, body };
        program.check_form()?;
        Ok(program)
    }
}

/// Returns the statements that `statements` adds.
pub fn block(statements: impl FnOnce(&mut BlockBuilder)) -> Block {
    let mut block = BlockBuilder { statements: Block::new() };
    statements(&mut block);
    block.statements
}

/// A block that is being built. Each method adds a statement; see [`StatementKind`] for what they do.
#[derive(Debug)]
pub struct BlockBuilder {
    statements: Block,
}

impl BlockBuilder {
    /// Adds a statement that is a tree already.
    pub fn statement(&mut self, kind: impl Into<Statement>) {
        self.statements.push(kind.into());
    }

    fn last(&mut self, kind: StatementKind) -> &mut StatementKind {
        self.statement(kind);
        &mut self.statements.last_mut().expect("one was added").kind
    }

    /// Declares a variable that is NULL.
    pub fn declare(&mut self, variable: impl Into<String>, ty: impl Into<DataType>) {
        self.statement(StatementKind::Let { variable: variable.into(), ty: Some(ty.into()), value: None });
    }

    /// Declares a variable of the type of its value.
    pub fn let_(&mut self, variable: impl Into<String>, value: impl Into<Expression>) {
        self.statement(StatementKind::Let { variable: variable.into(), ty: None, value: Some(value.into()) });
    }

    /// Declares a variable of a type, with a value.
    pub fn let_typed(&mut self, variable: impl Into<String>, ty: impl Into<DataType>, value: impl Into<Expression>) {
        let (ty, value) = (Some(ty.into()), Some(value.into()));
        self.statement(StatementKind::Let { variable: variable.into(), ty, value });
    }

    /// Gives a variable another value.
    pub fn set(&mut self, variable: impl Into<String>, value: impl Into<Expression>) {
        self.statement(StatementKind::Set { variable: variable.into(), value: value.into() });
    }

    /// Adds an element to an array.
    pub fn append(&mut self, variable: impl Into<String>, value: impl Into<Expression>) {
        self.statement(StatementKind::Append { variable: variable.into(), value: value.into() });
    }

    /// Reads the row with a primary key; [`bind`](RowStatement::bind) must name it.
    pub fn get(
        &mut self,
        table: impl Into<String>,
        key: impl IntoIterator<Item = impl Into<Expression>>,
    ) -> RowStatement<'_> {
        let kind = StatementKind::Get { table: table.into(), key: all(key), row: String::new(), otherwise: None };
        RowStatement(self.last(kind))
    }

    /// Reads the first row of a range; [`bind`](RowStatement::bind) must name it.
    pub fn first(&mut self, range: Range) -> RowStatement<'_> {
        RowStatement(self.last(StatementKind::First { range, row: String::new(), otherwise: None }))
    }

    /// Adds a row.
    pub fn insert(
        &mut self,
        table: impl Into<String>,
        values: impl IntoIterator<Item = (impl Into<String>, impl Into<Expression>)>,
    ) {
        self.statement(StatementKind::Insert { table: table.into(), values: pairs(values).collect() });
    }

    /// Adds a row or puts it in place of the one with its primary key.
    pub fn upsert(
        &mut self,
        table: impl Into<String>,
        values: impl IntoIterator<Item = (impl Into<String>, impl Into<Expression>)>,
    ) {
        self.statement(StatementKind::Upsert { table: table.into(), values: pairs(values).collect() });
    }

    /// Puts a row in place of the one with its primary key.
    pub fn replace(
        &mut self,
        table: impl Into<String>,
        values: impl IntoIterator<Item = (impl Into<String>, impl Into<Expression>)>,
    ) -> ReplaceStatement<'_> {
        let values = pairs(values).collect();
        ReplaceStatement(self.last(StatementKind::Replace { table: table.into(), values, otherwise: None }))
    }

    /// Changes columns of the row with a primary key.
    pub fn update(
        &mut self,
        table: impl Into<String>,
        key: impl IntoIterator<Item = impl Into<Expression>>,
        changes: impl IntoIterator<Item = (impl Into<String>, impl Into<Expression>)>,
    ) -> RowStatement<'_> {
        let changes = pairs(changes).collect();
        let (table, key) = (table.into(), all(key));
        RowStatement(self.last(StatementKind::Update { table, key, row: None, changes, otherwise: None }))
    }

    /// Removes the row with a primary key.
    pub fn delete(
        &mut self,
        table: impl Into<String>,
        key: impl IntoIterator<Item = impl Into<Expression>>,
    ) -> RowStatement<'_> {
        let kind = StatementKind::Delete { table: table.into(), key: all(key), row: None, otherwise: None };
        RowStatement(self.last(kind))
    }

    /// Removes all rows of a range.
    pub fn delete_all(&mut self, range: Range) {
        self.statement(StatementKind::DeleteAll { range, count: None });
    }

    /// Removes all rows of a range, and declares a variable with their number.
    pub fn delete_all_counted(&mut self, range: Range, count: impl Into<String>) {
        self.statement(StatementKind::DeleteAll { range, count: Some(count.into()) });
    }

    /// Does something where a condition holds.
    pub fn if_(&mut self, condition: impl Into<Expression>, body: impl FnOnce(&mut BlockBuilder)) -> IfStatement<'_> {
        let branches = vec![(condition.into(), block(body))];
        IfStatement(self.last(StatementKind::If { branches, otherwise: Block::new() }))
    }

    /// Repeats something while a condition holds.
    pub fn while_(&mut self, condition: impl Into<Expression>, body: impl FnOnce(&mut BlockBuilder)) {
        self.statement(StatementKind::While { condition: condition.into(), body: block(body) });
    }

    /// Counts from one number to another.
    pub fn for_(
        &mut self,
        variable: impl Into<String>,
        from: impl Into<Expression>,
        to: impl Into<Expression>,
        body: impl FnOnce(&mut BlockBuilder),
    ) {
        let (variable, from, to) = (variable.into(), from.into(), to.into());
        self.statement(StatementKind::For { variable, from, to, body: block(body) });
    }

    /// Goes through arrays side by side, each with a variable for its elements.
    pub fn for_each(
        &mut self,
        arrays: impl IntoIterator<Item = (impl Into<String>, impl Into<Expression>)>,
        body: impl FnOnce(&mut BlockBuilder),
    ) {
        let (variables, arrays) = pairs(arrays).unzip();
        self.statement(StatementKind::ForEach { variables, arrays, body: block(body) });
    }

    /// Goes through the rows of a range.
    pub fn for_rows(&mut self, row: impl Into<String>, range: Range, body: impl FnOnce(&mut BlockBuilder)) {
        self.statement(StatementKind::ForRows { row: row.into(), range, body: block(body) });
    }

    /// Leaves the innermost loop.
    pub fn break_(&mut self) {
        self.statement(StatementKind::Break);
    }

    /// Goes on with the next round of the innermost loop.
    pub fn continue_(&mut self) {
        self.statement(StatementKind::Continue);
    }

    /// Ends the procedure with a value for each result.
    pub fn return_(&mut self, values: impl IntoIterator<Item = impl Into<Expression>>) {
        self.statement(StatementKind::Return { values: all(values) });
    }

    /// Ends a procedure that returns a set or nothing.
    pub fn return_nothing(&mut self) {
        self.statement(StatementKind::Return { values: Vec::new() });
    }

    /// Adds a row to the set that is returned.
    pub fn emit(&mut self, values: impl IntoIterator<Item = impl Into<Expression>>) {
        self.statement(StatementKind::Emit { values: all(values) });
    }

    /// Gives the transaction up.
    pub fn abort(&mut self, sqlstate: impl Into<String>, message: impl Into<Expression>) {
        self.statement(StatementKind::Abort { sqlstate: sqlstate.into(), message: message.into() });
    }

    /// Tries something; what the statement returns catches errors.
    pub fn try_(&mut self, body: impl FnOnce(&mut BlockBuilder)) -> TryStatement<'_> {
        TryStatement(self.last(StatementKind::Try { body: block(body), catches: Vec::new() }))
    }

    /// Calls another procedure, without its results.
    pub fn call(&mut self, procedure: impl Into<String>, arguments: impl IntoIterator<Item = impl Into<Expression>>) {
        self.call_into(procedure, arguments, [""; 0]);
    }

    /// Calls another procedure, and declares a variable for each of its results.
    pub fn call_into(
        &mut self,
        procedure: impl Into<String>,
        arguments: impl IntoIterator<Item = impl Into<Expression>>,
        into: impl IntoIterator<Item = impl Into<String>>,
    ) {
        let (procedure, arguments, into) = (procedure.into(), all(arguments), names(into));
        self.statement(StatementKind::Call { procedure, arguments, into, body: None });
    }

    /// Calls a procedure that returns a set and goes through its rows, with a variable for each field.
    pub fn for_call(
        &mut self,
        variables: impl IntoIterator<Item = impl Into<String>>,
        procedure: impl Into<String>,
        arguments: impl IntoIterator<Item = impl Into<Expression>>,
        body: impl FnOnce(&mut BlockBuilder),
    ) {
        let (procedure, arguments, into) = (procedure.into(), all(arguments), names(variables));
        self.statement(StatementKind::Call { procedure, arguments, into, body: Some(block(body)) });
    }
}

/// A statement about one row, which may get more parts.
#[derive(Debug)]
pub struct RowStatement<'b>(&'b mut StatementKind);

impl RowStatement<'_> {
    /// Names the row.
    pub fn bind(self, name: impl Into<String>) -> Self {
        match self.0 {
            StatementKind::Get { row, .. } | StatementKind::First { row, .. } => *row = name.into(),
            StatementKind::Update { row, .. } | StatementKind::Delete { row, .. } => *row = Some(name.into()),
            _ => unreachable!("these statements are about a row"),
        }
        self
    }

    /// Says what is done where there is no such row.
    pub fn or_else(self, body: impl FnOnce(&mut BlockBuilder)) {
        match self.0 {
            StatementKind::Get { otherwise, .. }
            | StatementKind::First { otherwise, .. }
            | StatementKind::Update { otherwise, .. }
            | StatementKind::Delete { otherwise, .. } => *otherwise = Some(block(body)),
            _ => unreachable!("these statements are about a row"),
        }
    }
}

/// A `replace` statement, which may get one more part.
#[derive(Debug)]
pub struct ReplaceStatement<'b>(&'b mut StatementKind);

impl ReplaceStatement<'_> {
    /// Says what is done where there is no such row.
    pub fn or_else(self, body: impl FnOnce(&mut BlockBuilder)) {
        let StatementKind::Replace { otherwise, .. } = self.0 else { unreachable!("it was made from one") };
        *otherwise = Some(block(body));
    }
}

/// An `if` statement, which may get more branches.
#[derive(Debug)]
pub struct IfStatement<'b>(&'b mut StatementKind);

impl IfStatement<'_> {
    /// Says what is done where no condition before holds and this one does.
    pub fn else_if(self, condition: impl Into<Expression>, body: impl FnOnce(&mut BlockBuilder)) -> Self {
        let StatementKind::If { branches, .. } = &mut *self.0 else { unreachable!("it was made from one") };
        branches.push((condition.into(), block(body)));
        self
    }

    /// Says what is done where no condition holds.
    pub fn or_else(self, body: impl FnOnce(&mut BlockBuilder)) {
        let StatementKind::If { otherwise, .. } = self.0 else { unreachable!("it was made from one") };
        *otherwise = block(body);
    }
}

/// A `try` statement, which must get a `catch`.
#[derive(Debug)]
pub struct TryStatement<'b>(&'b mut StatementKind);

impl TryStatement<'_> {
    fn push(self, sqlstate: Option<String>, error: Option<String>, body: impl FnOnce(&mut BlockBuilder)) -> Self {
        let StatementKind::Try { catches, .. } = &mut *self.0 else { unreachable!("it was made from one") };
        catches.push(Catch { sqlstate, error, body: block(body) });
        self
    }

    /// Catches errors of an SQLSTATE, or of a class of two characters.
    pub fn catch(self, sqlstate: impl Into<String>, body: impl FnOnce(&mut BlockBuilder)) -> Self {
        self.push(Some(sqlstate.into()), None, body)
    }

    /// Catches errors as [`catch`](TryStatement::catch) does, and names the error.
    pub fn catch_as(
        self,
        sqlstate: impl Into<String>,
        error: impl Into<String>,
        body: impl FnOnce(&mut BlockBuilder),
    ) -> Self {
        self.push(Some(sqlstate.into()), Some(error.into()), body)
    }

    /// Catches all errors.
    pub fn catch_any(self, body: impl FnOnce(&mut BlockBuilder)) -> Self {
        self.push(None, None, body)
    }

    /// Catches all errors, and names the error.
    pub fn catch_any_as(self, error: impl Into<String>, body: impl FnOnce(&mut BlockBuilder)) -> Self {
        self.push(None, Some(error.into()), body)
    }
}
