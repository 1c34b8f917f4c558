//! A procedure as a program: parameters, results, and statements with names.
//!
//! The printed form of each statement is given with it. Statements end with `;` or with a block in braces.
//!
//! Invariants:
//! - A program is a tree: no statement refers to another one but by the names of variables.
//! - A *row variable* holds a row of one table, or is missing; a column of a missing row is NULL. A *scalar variable* holds a
//!   value or an array.
//! - A variable is known from its statement to the end of its block. A name is not declared twice where it is known.
//!
//! Absent: whether the names mean anything, and types ([`compile`](super::compile)).

use super::expression::Expression;
pub use super::types::DataType;

/// A name with a type: of a parameter or a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The type.
    pub ty: DataType,
}

/// What a procedure returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Results {
    /// Nothing.
    #[default]
    Nothing,
    /// One value for each field, given by `return`. NULL where the end is reached without one. Printed as
    /// `returns (name type, ...)`.
    Values(Vec<Field>),
    /// Any number of rows of these fields, each given by `emit`. Printed as `returns set (name type, ...)`.
    Set(Vec<Field>),
}

impl Results {
    /// Returns the fields.
    pub fn fields(&self) -> &[Field] {
        match self {
            Results::Nothing => &[],
            Results::Values(fields) | Results::Set(fields) => fields,
        }
    }
}

/// A procedure. Printed as `procedure name(parameter type, ...) returns ... { statements }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The name.
    pub name: String,
    /// What a call gives, in order.
    pub parameters: Vec<Field>,
    /// What a call returns.
    pub results: Results,
    /// What it does.
    pub body: Block,
}

/// Statements that are executed in order.
pub type Block = Vec<Statement>;

/// A statement, and where it stands.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// The line of the text that it was parsed from; 0 where it was built.
    pub line: u32,
}

/// Where a statement stands is not a part of it.
impl PartialEq for Statement {
    fn eq(&self, other: &Statement) -> bool {
        self.kind == other.kind
    }
}

impl From<StatementKind> for Statement {
    fn from(kind: StatementKind) -> Statement {
        Statement { kind, line: 0 }
    }
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// Declares a variable: `let name type = value;`. Without a type it has that of the value; without a value it is NULL.
    Let {
        /// The variable.
        variable: String,
        /// Its type.
        ty: Option<DataType>,
        /// Its first value.
        value: Option<Expression>,
    },
    /// Gives a variable another value: `set name = value;`.
    Set {
        /// The variable.
        variable: String,
        /// The value.
        value: Expression,
    },
    /// Adds an element to an array: `append value to name;`.
    Append {
        /// A variable of an array type.
        variable: String,
        /// The element.
        value: Expression,
    },
    /// Reads the row with a primary key: `get table (key) as row;`, with `else { ... }` for the case that there is none.
    Get {
        /// The table.
        table: String,
        /// All columns of the primary key.
        key: Vec<Expression>,
        /// The row variable.
        row: String,
        /// What is done where there is no such row.
        otherwise: Option<Block>,
    },
    /// Reads the first row of a range, or the last one of a descending range: `first table (prefix) ... as row;`, with
    /// `else { ... }`.
    First {
        /// The rows.
        range: Range,
        /// The row variable.
        row: String,
        /// What is done where the range is empty.
        otherwise: Option<Block>,
    },
    /// Adds a row: `insert into table (column, ...) values (value, ...);`. Columns that are not named are NULL. Fails with
    /// SQLSTATE 23505 where the primary key or a unique index has it.
    Insert {
        /// The table.
        table: String,
        /// Columns and their values.
        values: Vec<(String, Expression)>,
    },
    /// Puts a row in place of the one with its primary key, or adds it: `upsert into table (column, ...) values (...);`. It
    /// depends on nothing that was there.
    Upsert {
        /// The table.
        table: String,
        /// Columns and their values.
        values: Vec<(String, Expression)>,
    },
    /// Puts a row in place of the one with its primary key, without reading what was in it:
    /// `replace into table (column, ...) values (...);`, with `else { ... }`.
    Replace {
        /// The table.
        table: String,
        /// Columns and their values.
        values: Vec<(String, Expression)>,
        /// What is done where there is no such row.
        otherwise: Option<Block>,
    },
    /// Changes columns of the row with a primary key: `update table (key) as row set column = value, ...;`, with
    /// `else { ... }`. The row variable, if there is one, holds the row as it was; the values may use it.
    Update {
        /// The table.
        table: String,
        /// All columns of the primary key.
        key: Vec<Expression>,
        /// The row variable.
        row: Option<String>,
        /// Columns and their new values.
        changes: Vec<(String, Expression)>,
        /// What is done where there is no such row.
        otherwise: Option<Block>,
    },
    /// Removes the row with a primary key: `delete from table (key) as row;`, with `else { ... }`. The row variable holds the
    /// row as it was.
    Delete {
        /// The table.
        table: String,
        /// All columns of the primary key.
        key: Vec<Expression>,
        /// The row variable.
        row: Option<String>,
        /// What is done where there is no such row.
        otherwise: Option<Block>,
    },
    /// Removes all rows of a range: `delete all table (prefix) ... count name;`.
    DeleteAll {
        /// The rows.
        range: Range,
        /// A new variable of type bigint that gets their number.
        count: Option<String>,
    },
    /// Chooses: `if condition { ... } else if condition { ... } else { ... }`. A condition that is NULL does not hold.
    If {
        /// Conditions, and what is done where the first of them holds.
        branches: Vec<(Expression, Block)>,
        /// What is done where none holds; empty where there is no `else`.
        otherwise: Block,
    },
    /// Repeats: `while condition { ... }`.
    While {
        /// The condition.
        condition: Expression,
        /// What is repeated.
        body: Block,
    },
    /// Counts: `for name = from to to { ... }`, both inclusive. The variable is of type bigint.
    For {
        /// The variable.
        variable: String,
        /// The first number.
        from: Expression,
        /// The last number.
        to: Expression,
        /// What is repeated.
        body: Block,
    },
    /// Goes through arrays side by side: `foreach name, ... in array, ... { ... }`. They must be of one length.
    ForEach {
        /// A variable for each array.
        variables: Vec<String>,
        /// The arrays.
        arrays: Vec<Expression>,
        /// What is repeated.
        body: Block,
    },
    /// Goes through the rows of a range, in its order: `for row in table (prefix) ... { ... }`. The loop sees the rows as they
    /// are when it comes to them.
    ForRows {
        /// The row variable.
        row: String,
        /// The rows.
        range: Range,
        /// What is repeated.
        body: Block,
    },
    /// Leaves the innermost loop: `break;`.
    Break,
    /// Goes on with the next round of the innermost loop: `continue;`.
    Continue,
    /// Ends the procedure: `return value, ...;`. Without values in one that returns a set or nothing.
    Return {
        /// A value for each field of the results.
        values: Vec<Expression>,
    },
    /// Adds a row to the set that is returned: `emit value, ...;`.
    Emit {
        /// A value for each field of the results.
        values: Vec<Expression>,
    },
    /// Gives the transaction up: `abort 'sqlstate' message;`. Its caller gets both.
    Abort {
        /// Five digits or capital letters.
        sqlstate: String,
        /// A text.
        message: Expression,
    },
    /// Undoes what a block wrote where it fails: `try { ... } catch 'sqlstate' as name { ... }`. Conflicts and exceeded bounds
    /// are not caught.
    Try {
        /// What may fail.
        body: Block,
        /// The first that catches the error is executed.
        catches: Vec<Catch>,
    },
    /// Calls another procedure: `call name(argument, ...) into name, ...;`. The variables are new. Of one that returns a set
    /// the rows are gone through: `for name, ... in call name(argument, ...) { ... }`.
    Call {
        /// The procedure.
        procedure: String,
        /// An argument for each parameter.
        arguments: Vec<Expression>,
        /// A new variable for each result; none where they are not wanted.
        into: Vec<String>,
        /// What is done for each row of a set.
        body: Option<Block>,
    },
}

/// A part of a `try` statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Catch {
    /// The SQLSTATE that is caught, or its class of two characters; `None` catches all: `catch any`.
    pub sqlstate: Option<String>,
    /// The name under which the error is known in the block: `name.sqlstate` and `name.message` are texts.
    pub error: Option<String>,
    /// What is done.
    pub body: Block,
}

/// Rows of a table, in the order of its primary key or of an index. Printed as
/// `table using index (prefix) from (values) before (values) descending limit number`, of which all but the table may be absent.
/// `from` and `to` include what begins with the values, `after` and `before` do not.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The table.
    pub table: String,
    /// The secondary index.
    pub index: Option<String>,
    /// What the first columns of the key are.
    pub prefix: Vec<Expression>,
    /// Where the range begins, in the columns after the prefix.
    pub low: Option<Bound>,
    /// Where it ends.
    pub high: Option<Bound>,
    /// Whether it is gone through from its end.
    pub is_descending: bool,
    /// How many rows at most.
    pub limit: Option<Expression>,
}

impl Range {
    /// Returns the range of all rows of a table.
    pub fn all(table: impl Into<String>) -> Range {
        Range {
            table: table.into(),
            index: None,
            prefix: Vec::new(),
            low: None,
            high: None,
            is_descending: false,
            limit: None,
        }
    }
}

/// One end of a range.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Of the columns after the prefix.
    pub values: Vec<Expression>,
    /// Whether keys that begin with the values are in the range.
    pub is_included: bool,
}
