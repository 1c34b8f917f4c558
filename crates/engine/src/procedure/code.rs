//! Procedures as they run: instructions and expressions without names.
//!
//! Invariants:
//! - Slots are numbered from 0 and fit the sizes that the [`Code`] gives; every target is an instruction of the code.
//! - Expressions are of the types that they were compiled for: whoever evaluates them does not look at types again.
//! - Parameters are the first slots, and nothing writes them.
//!
//! Absent: what an instruction does (call/machine.rs).

use std::sync::Arc;

use super::expression::Function;
use super::numeric::Rounding;
use super::program::{Program, Results};
use crate::table::{ColumnId, Table, Type};

/// A slot of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u16);

/// A slot of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArraySlot(pub(crate) u16);

/// A slot of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowSlot(pub(crate) u16);

/// A slot of a scan in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanSlot(pub(crate) u16);

/// A table that a procedure uses: its place in [`Code::tables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableSlot(pub(crate) u16);

/// An instruction: its place in [`Code::instructions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target(pub(crate) u32);

/// The kind of a value, with what arithmetic has to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only NULL.
    Null,
    Bool,
    Int,
    Float,
    /// With so many digits after the point.
    Numeric(u8),
    Text,
    Bytes,
    Timestamp,
}

impl Kind {
    /// Returns the kind of the values of a type.
    pub(crate) fn of(ty: Type) -> Kind {
        match ty {
            Type::Bool => Kind::Bool,
            Type::Int16 | Type::Int32 | Type::Int64 => Kind::Int,
            Type::Float64 => Kind::Float,
            Type::Numeric { scale, .. } => Kind::Numeric(scale),
            Type::Text => Kind::Text,
            Type::Bytes => Kind::Bytes,
            Type::Timestamp => Kind::Timestamp,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Null => "NULL",
            Kind::Bool => "boolean",
            Kind::Int => "integer",
            Kind::Float => "double precision",
            Kind::Numeric(_) => "numeric",
            Kind::Text => "text",
            Kind::Bytes => "bytea",
            Kind::Timestamp => "timestamp",
        })
    }
}

/// What a comparison asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    NotDistinct,
    Distinct,
}

/// What arithmetic does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// How a value becomes one of another kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Conversion {
    /// A numeric from one scale to another one, rounded.
    Rescale(u8, u8),
    IntToNumeric(u8),
    IntToFloat,
    NumericToFloat(u8),
    /// Rounded.
    NumericToInt(u8),
    /// Rounded to even.
    FloatToInt,
    FloatToNumeric(u8),
    BoolToInt,
    /// Microseconds.
    IntToTimestamp,
    TimestampToInt,
    /// Of a value of this kind, as SQL shows it.
    ToText(Kind),
    /// What the text shows.
    TextTo(Type),
    /// Of a byte string, its UTF-8.
    BytesToText,
    /// The value stays, if the type takes it.
    Check(Type),
}

/// An expression of one value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Constant(ConstantValue),
    Slot(Slot),
    Column(RowSlot, ColumnId),
    Exists(RowSlot),
    Not(Box<Scalar>),
    IsNull(Box<Scalar>),
    And(Box<Scalar>, Box<Scalar>),
    Or(Box<Scalar>, Box<Scalar>),
    /// Of integers, timestamps or numerics of one scale.
    CompareUnits(Comparison, Box<Scalar>, Box<Scalar>),
    Compare(Comparison, Box<Scalar>, Box<Scalar>),
    /// Of integers.
    Int(Arithmetic, Box<Scalar>, Box<Scalar>),
    Float(Arithmetic, Box<Scalar>, Box<Scalar>),
    /// Of numerics of these scales.
    Numeric(Arithmetic, (Box<Scalar>, u8), (Box<Scalar>, u8)),
    Negate(Box<Scalar>),
    /// A timestamp and microseconds, or two timestamps.
    Shift(Arithmetic, Box<Scalar>, Box<Scalar>),
    /// Of texts, or of byte strings.
    Concatenate(Vec<Scalar>),
    Case(Box<[(Scalar, Scalar)]>, Box<Scalar>),
    Convert(Conversion, Box<Scalar>),
    /// A numeric of one scale rounded to another one.
    Round(Rounding, (u8, u8), Box<Scalar>),
    RoundFloat(Rounding, Box<Scalar>),
    Call(Function, Box<[Scalar]>),
    /// The number of elements of an array.
    Cardinality(Box<Array>),
    /// Whether an array has an element.
    Contains(Box<Array>, Box<Scalar>),
    Element(Box<Array>, Box<Scalar>),
    /// A value of a sequence: its place in [`Code::sequences`].
    NextValue(u16),
}

/// A value that code holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ConstantValue {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Numeric(i64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
    Timestamp(i64),
}

/// An expression of an array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Array {
    Null,
    Slot(ArraySlot),
    Elements(Box<[Scalar]>),
    Concatenate(Box<Array>, Box<Array>),
    /// Each element converted.
    Convert(Conversion, Box<Array>),
    /// The elements in order.
    Sorted(Box<Array>),
    /// In order, and each of them once.
    Distinct(Box<Array>),
}

/// Rows of a table.
#[derive(Clone, Debug)]
pub(crate) struct RowRange {
    pub(crate) table: TableSlot,
    /// The name of the index.
    pub(crate) index: Option<Box<str>>,
    pub(crate) prefix: Box<[Scalar]>,
    pub(crate) low: Option<RangeEnd>,
    pub(crate) high: Option<RangeEnd>,
    pub(crate) is_descending: bool,
    pub(crate) limit: Option<Scalar>,
    /// The rows may be changed then.
    pub(crate) for_update: bool,
}

/// One end of a range.
#[derive(Clone, Debug)]
pub(crate) struct RangeEnd {
    pub(crate) values: Box<[Scalar]>,
    pub(crate) is_included: bool,
}

/// Keys that a call will use: their memory is asked for before the first one is.
#[derive(Clone, Debug)]
pub(crate) struct ExpectedKeys {
    pub(crate) keys: Box<[ExpectedKey]>,
    /// There are such keys in each round of a loop.
    pub(crate) rounds: Option<Rounds>,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExpectedKey {
    pub(crate) table: TableSlot,
    pub(crate) key: Box<[Scalar]>,
}

/// The rounds of a loop that has not begun.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rounds {
    /// Over the elements of arrays.
    Arrays(Each),
    /// From one number to another one, which the slots hold.
    Numbers { variable: Slot, last: Slot },
}

/// A loop over arrays.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Each {
    pub(crate) variables: Box<[Slot]>,
    pub(crate) arrays: Box<[ArraySlot]>,
}

/// One step of a procedure.
#[derive(Clone, Debug)]
pub(crate) enum Instruction {
    Expect(Box<[ExpectedKeys]>),
    Evaluate {
        to: Slot,
        value: Scalar,
    },
    EvaluateArray {
        to: ArraySlot,
        value: Array,
    },
    Append {
        to: ArraySlot,
        value: Scalar,
    },
    Get {
        table: TableSlot,
        key: Box<[Scalar]>,
        row: RowSlot,
        missing: Target,
        /// The row may be changed then.
        for_update: bool,
    },
    First {
        range: RowRange,
        row: RowSlot,
        missing: Target,
    },
    /// All columns of the table.
    Insert {
        table: TableSlot,
        values: Box<[Scalar]>,
    },
    Upsert {
        table: TableSlot,
        values: Box<[Scalar]>,
    },
    Replace {
        table: TableSlot,
        values: Box<[Scalar]>,
        missing: Target,
    },
    Update {
        table: TableSlot,
        key: Box<[Scalar]>,
        row: RowSlot,
        changes: Box<[(ColumnId, Scalar)]>,
        missing: Target,
    },
    Delete {
        table: TableSlot,
        key: Box<[Scalar]>,
        row: RowSlot,
        missing: Target,
    },
    DeleteAll {
        range: RowRange,
        count: Slot,
    },
    Jump {
        to: Target,
    },
    /// Goes on where the condition holds.
    Unless {
        condition: Scalar,
        to: Target,
    },
    /// Begins to count: the last number is the second slot's.
    BeginFor {
        variable: Slot,
        last: Slot,
        end: Target,
    },
    /// Goes on to the next number and to the body, or falls through.
    NextFor {
        variable: Slot,
        last: Slot,
        body: Target,
    },
    /// Takes the next element of each array, by their number in `index`; they are of one length.
    NextEach {
        index: Slot,
        each: Each,
        end: Target,
    },
    OpenRows {
        scan: ScanSlot,
        range: RowRange,
    },
    /// Takes the next row; where there is none, the scan is over.
    NextRow {
        scan: ScanSlot,
        row: RowSlot,
        end: Target,
    },
    /// Ends scans from this one on.
    CloseRows {
        scan: ScanSlot,
    },
    /// What follows is caught by the handler, until as many `EndTry` as `BeginTry` have been passed.
    BeginTry {
        handler: u16,
    },
    EndTry,
    /// Leaves so many `try` statements.
    LeaveTry {
        count: u16,
    },
    Return {
        values: Box<[Output]>,
    },
    Emit {
        values: Box<[Output]>,
    },
    /// Adds a row to the set of a procedure that was called: one array for each field.
    Collect {
        values: Box<[Scalar]>,
        to: Box<[ArraySlot]>,
    },
    Abort {
        sqlstate: [u8; 5],
        message: Scalar,
    },
    /// Only in the code of key spaces (analysis/keys.rs): rows whose keys begin with these values will be accessed.
    Note {
        number: u16,
        table: TableSlot,
        prefix: Box<[Scalar]>,
    },
    End,
}

/// The instructions that may go on elsewhere than behind them, with where that is.
macro_rules! leads_to {
    ($target:ident) => {
        Instruction::Jump { to: $target }
            | Instruction::Unless { to: $target, .. }
            | Instruction::Get { missing: $target, .. }
            | Instruction::First { missing: $target, .. }
            | Instruction::Replace { missing: $target, .. }
            | Instruction::Update { missing: $target, .. }
            | Instruction::Delete { missing: $target, .. }
            | Instruction::BeginFor { end: $target, .. }
            | Instruction::NextFor { body: $target, .. }
            | Instruction::NextEach { end: $target, .. }
            | Instruction::NextRow { end: $target, .. }
    };
}

impl Instruction {
    /// Returns where it may go on but behind it.
    pub(crate) fn target(&self) -> Option<Target> {
        if let leads_to!(target) = self { Some(*target) } else { None }
    }

    /// As [`Instruction::target`], to be changed.
    pub(crate) fn target_mut(&mut self) -> Option<&mut Target> {
        if let leads_to!(target) = self { Some(target) } else { None }
    }
}

/// A value or an array that is returned.
#[derive(Clone, Debug)]
pub(crate) enum Output {
    Scalar(Scalar),
    Array(Array),
}

/// What catches the errors of a `try` statement.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    pub(crate) catches: Box<[CatchCode]>,
    /// Scans that were open when it began: all others end.
    pub(crate) scans: ScanSlot,
}

/// A `catch`.
#[derive(Clone, Debug)]
pub(crate) struct CatchCode {
    /// An SQLSTATE or the beginning of one; empty catches all.
    pub(crate) sqlstate: Box<str>,
    /// Where the error's SQLSTATE and message go.
    pub(crate) error: Option<(Slot, Slot)>,
    pub(crate) body: Target,
}

/// A parameter, and where its argument goes.
#[derive(Clone, Debug)]
pub(crate) enum ParameterSlot {
    Scalar(Slot),
    Array(ArraySlot),
}

/// How many slots a call needs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sizes {
    pub(crate) values: u16,
    pub(crate) arrays: u16,
    pub(crate) rows: u16,
    pub(crate) scans: u16,
}

/// A compiled procedure.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) program: Arc<Program>,
    /// Those of the program.
    pub(crate) results: Arc<Results>,
    pub(crate) parameters: Box<[ParameterSlot]>,
    pub(crate) instructions: Box<[Instruction]>,
    /// The statement that each instruction belongs to, for messages: its place in `places`.
    pub(crate) statements: Box<[u16]>,
    pub(crate) places: Box<[String]>,
    /// Of each place the statement of the program itself, counted from 1 in the order of its text; 0 is its head. Where the place
    /// is in a procedure that is called, it is the statement that calls.
    pub(crate) numbers: Box<[u32]>,
    /// Whether the row that an instruction uses was asked for by an earlier one.
    pub(crate) is_expected: Box<[bool]>,
    pub(crate) handlers: Box<[Handler]>,
    pub(crate) tables: Box<[Table]>,
    /// How many sequences it draws from.
    pub(crate) sequences: usize,
    pub(crate) sizes: Sizes,
}
