//! The canonical text of a procedure.
//!
//! Invariants:
//! - What is printed is parsed back to the same tree, for every program whose form is sound
//!   ([`check_form`](super::program::Program::check_form)).
//! - Equal trees have equal texts: one statement per line, four spaces of indent, words in lower case, parentheses only where
//!   precedence needs them. What is longer than a line goes on at twice the indent.
//!
//! Absent: comments, which are no part of a program.

use std::fmt::{self, Write};

use super::expression::{Binary, Constant, Expression, Unary};
use super::form::EXPRESSION_DEPTH_MAX;
use super::names::Name;
use super::program::{Block, Field, Program, Range, Results, Statement, StatementKind};
use super::timestamps::TimestampText;

/// Where lines are broken.
const LINE_CHARS_MAX: usize = 100;
/// How much of a statement a message shows.
const SUMMARY_CHARS_MAX: usize = 80;
const INDENT: usize = 4;

/// How tightly expressions bind, from the least. A larger one needs no parentheses within a smaller one.
pub(super) mod level {
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const NOT: u8 = 3;
    pub const IS: u8 = 4;
    pub const COMPARISON: u8 = 5;
    pub const RANGE: u8 = 6;
    pub const CONCATENATE: u8 = 7;
    pub const ADD: u8 = 8;
    pub const MULTIPLY: u8 = 9;
    pub const NEGATE: u8 = 10;
    pub const PRIMARY: u8 = 11;
}

impl Binary {
    /// Returns its sign or words.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Binary::Or => "or",
            Binary::And => "and",
            Binary::Equal => "=",
            Binary::NotEqual => "<>",
            Binary::Less => "<",
            Binary::LessOrEqual => "<=",
            Binary::Greater => ">",
            Binary::GreaterOrEqual => ">=",
            Binary::NotDistinct => "is not distinct from",
            Binary::Distinct => "is distinct from",
            Binary::Concatenate => "||",
            Binary::Add => "+",
            Binary::Subtract => "-",
            Binary::Multiply => "*",
            Binary::Divide => "/",
            Binary::Remainder => "%",
        }
    }

    /// Returns how tightly it binds.
    pub(super) fn level(self) -> u8 {
        match self {
            Binary::Or => level::OR,
            Binary::And => level::AND,
            Binary::NotDistinct | Binary::Distinct => level::IS,
            Binary::Concatenate => level::CONCATENATE,
            Binary::Add | Binary::Subtract => level::ADD,
            Binary::Multiply | Binary::Divide | Binary::Remainder => level::MULTIPLY,
            _ => level::COMPARISON,
        }
    }

    /// Whether `a op b op c` is `(a op b) op c`; else it is refused.
    pub(super) fn is_associative(self) -> bool {
        !matches!(self.level(), level::IS | level::COMPARISON)
    }
}

/// A text in pieces between which a line may be broken.
#[derive(Default)]
struct Line {
    pieces: Vec<Piece>,
    /// How many expressions are around the next one.
    depth: usize,
}

#[derive(Default)]
struct Piece {
    text: String,
    /// Whether the line is broken before it as soon as it is too long.
    is_first_choice: bool,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.pieces.is_empty() {
            self.pieces.push(Piece::default());
        }
        self.pieces.last_mut().expect("there is one").text.push_str(text);
        Ok(())
    }
}

impl Line {
    /// A space, where the line may be broken.
    fn space(&mut self) {
        self.pieces.push(Piece::default());
    }

    /// A space, where the line is broken if it must be anywhere.
    fn wide_space(&mut self) {
        self.pieces.push(Piece { text: String::new(), is_first_choice: true });
    }

    /// Words with spaces around them.
    fn words(&mut self, words: &str) -> fmt::Result {
        for word in words.split(' ') {
            self.space();
            self.write_str(word)?;
        }
        self.space();
        Ok(())
    }

    fn list<T>(&mut self, items: &[T], item: impl Fn(&mut Line, &T) -> fmt::Result) -> fmt::Result {
        for (index, of) in items.iter().enumerate() {
            if index > 0 {
                self.write_str(",")?;
                self.space();
            }
            item(self, of)?;
        }
        Ok(())
    }

    fn expressions(&mut self, expressions: &[Expression]) -> fmt::Result {
        self.list(expressions, |line, expression| line.expression(expression, level::OR))
    }

    fn parenthesized(&mut self, expressions: &[Expression]) -> fmt::Result {
        self.write_str("(")?;
        self.expressions(expressions)?;
        self.write_str(")")
    }

    fn names(&mut self, names: &[String]) -> fmt::Result {
        self.list(names, |line, name| write!(line, "{}", Name(name)))
    }

    /// An expression, in parentheses where it binds less tightly than `least`.
    fn expression(&mut self, expression: &Expression, least: u8) -> fmt::Result {
        // The message that refuses a tree that is too deep prints it.
        if self.depth > EXPRESSION_DEPTH_MAX {
            return self.write_str("...");
        }
        let is_parted = expression.level() < least;
        self.depth += 1;
        if is_parted {
            self.write_str("(")?;
        }
        self.bare(expression)?;
        if is_parted {
            self.write_str(")")?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn bare(&mut self, expression: &Expression) -> fmt::Result {
        match expression {
            Expression::Constant(constant) => self.constant(constant),
            Expression::Variable(name) => write!(self, "{}", Name(name)),
            Expression::Column(row, column) => write!(self, "{}.{}", Name(row), Name(column)),
            Expression::Exists(row) => write!(self, "exists({})", Name(row)),
            Expression::Unary(operator, operand) => self.unary(*operator, operand),
            Expression::Binary(operator, left, right) => {
                let own = operator.level();
                self.expression(left, if operator.is_associative() { own } else { own + 1 })?;
                // A line is broken before an operator.
                self.space();
                write!(self, "{} ", operator.sign())?;
                self.expression(right, own + 1)
            }
            Expression::Case(branches, otherwise) => self.case(branches, otherwise.as_deref()),
            Expression::Cast(value, ty) => {
                let is_constant_of_float = matches!(&**value, Expression::Constant(Constant::Text(text))
                    if *ty == crate::table::Type::Float64.into() && special_float(text).is_some());
                if is_constant_of_float {
                    self.write_str("(")?;
                    self.bare(value)?;
                    self.write_str(")")?;
                } else {
                    self.expression(value, level::PRIMARY)?;
                }
                write!(self, "::{ty}")
            }
            Expression::Call(function, arguments) => {
                self.write_str(function.name())?;
                self.parenthesized(arguments)
            }
            Expression::Array(elements) => {
                self.write_str("array[")?;
                self.expressions(elements)?;
                self.write_str("]")
            }
            Expression::Element(array, number) => {
                self.expression(array, level::PRIMARY)?;
                self.write_str("[")?;
                self.expression(number, level::OR)?;
                self.write_str("]")
            }
        }
    }

    fn unary(&mut self, operator: Unary, operand: &Expression) -> fmt::Result {
        match operator {
            Unary::Negate => {
                self.write_str("-")?;
                // `--` begins a comment, and `-5` is a constant.
                let is_parted = operand.level() >= level::NEGATE && operand.begins_with_number_or_minus();
                self.expression(operand, if is_parted { u8::MAX } else { level::NEGATE })
            }
            Unary::Not => {
                self.write_str("not")?;
                self.space();
                self.expression(operand, level::NOT)
            }
            Unary::IsNull | Unary::IsNotNull => {
                self.expression(operand, level::IS + 1)?;
                let words = if operator == Unary::IsNull { " is null" } else { " is not null" };
                self.write_str(words)
            }
        }
    }

    fn case(&mut self, branches: &[(Expression, Expression)], otherwise: Option<&Expression>) -> fmt::Result {
        self.write_str("case")?;
        for (condition, value) in branches {
            self.words("when")?;
            self.expression(condition, level::OR)?;
            self.words("then")?;
            self.expression(value, level::OR)?;
        }
        if let Some(value) = otherwise {
            self.words("else")?;
            self.expression(value, level::OR)?;
        }
        self.space();
        self.write_str("end")
    }

    fn constant(&mut self, constant: &Constant) -> fmt::Result {
        match constant {
            Constant::Null => self.write_str("null"),
            Constant::Bool(value) => write!(self, "{value}"),
            Constant::Int(value) => write!(self, "{value}"),
            Constant::Numeric(digits, scale) => {
                let sign = if *digits < 0 { "-" } else { "" };
                let scale = usize::from(*scale);
                let digits = format!("{:0>width$}", digits.unsigned_abs(), width = scale + 1);
                let (whole, fraction) = digits.split_at(digits.len() - scale);
                write!(self, "{sign}{whole}.{fraction}")
            }
            Constant::Float(value) if value.is_nan() => self.write_str("'NaN'::double precision"),
            Constant::Float(value) if value.is_infinite() => {
                let sign = if *value < 0.0 { "-" } else { "" };
                write!(self, "'{sign}Infinity'::double precision")
            }
            Constant::Float(value) => write!(self, "{value:e}"),
            Constant::Text(text) => write!(self, "{}", Quoted(text)),
            Constant::Bytes(bytes) => {
                self.write_str("x'")?;
                bytes.iter().try_for_each(|byte| write!(self, "{byte:02x}"))?;
                self.write_str("'")
            }
            Constant::Timestamp(micros) => write!(self, "timestamp '{}'", TimestampText(*micros)),
        }
    }

    fn fields(&mut self, fields: &[Field]) -> fmt::Result {
        self.write_str("(")?;
        self.list(fields, |line, field| {
            write!(line, "{}", Name(&field.name))?;
            write!(line, " {}", field.ty)
        })?;
        self.write_str(")")
    }

    fn range(&mut self, range: &Range) -> fmt::Result {
        write!(self, "{}", Name(&range.table))?;
        if let Some(index) = &range.index {
            self.words("using")?;
            write!(self, "{}", Name(index))?;
        }
        if !range.prefix.is_empty() {
            self.space();
            self.parenthesized(&range.prefix)?;
        }
        for (bound, included, excluded) in [(&range.low, "from", "after"), (&range.high, "to", "before")] {
            if let Some(bound) = bound {
                self.words(if bound.is_included { included } else { excluded })?;
                self.parenthesized(&bound.values)?;
            }
        }
        if range.is_descending {
            self.space();
            self.write_str("descending")?;
        }
        if let Some(limit) = &range.limit {
            self.words("limit")?;
            self.expression(limit, level::OR)?;
        }
        Ok(())
    }

    fn named_row(&mut self, row: Option<&String>) -> fmt::Result {
        row.map_or(Ok(()), |row| {
            self.words("as")?;
            write!(self, "{}", Name(row))
        })
    }

    fn new_row(&mut self, words: &str, table: &str, values: &[(String, Expression)]) -> fmt::Result {
        write!(self, "{words}")?;
        self.space();
        write!(self, "{}", Name(table))?;
        self.space();
        self.write_str("(")?;
        self.list(values, |line, (column, _)| write!(line, "{}", Name(column)))?;
        self.write_str(")")?;
        self.wide_space();
        self.write_str("values")?;
        self.space();
        self.write_str("(")?;
        self.list(values, |line, (_, value)| line.expression(value, level::OR))?;
        self.write_str(")")
    }

    /// Words, a table and a key.
    fn row_of(&mut self, words: &str, table: &str, key: &[Expression]) -> fmt::Result {
        write!(self, "{words}")?;
        self.space();
        write!(self, "{}", Name(table))?;
        self.space();
        self.parenthesized(key)
    }

    /// Words and an expression.
    fn with(&mut self, words: &str, expression: &Expression) -> fmt::Result {
        self.write_str(words)?;
        self.space();
        self.expression(expression, level::OR)
    }

    /// What stands before the `;` or the first block of a statement.
    fn head(&mut self, kind: &StatementKind) -> fmt::Result {
        match kind {
            StatementKind::Let { variable, ty, value } => {
                write!(self, "let {}", Name(variable))?;
                if let Some(ty) = ty {
                    write!(self, " {ty}")?;
                }
                value.as_ref().map_or(Ok(()), |value| self.with(" =", value))
            }
            StatementKind::Set { variable, value } => {
                write!(self, "set {} =", Name(variable))?;
                self.with("", value)
            }
            StatementKind::Append { variable, value } => {
                self.with("append", value)?;
                write!(self, " to {}", Name(variable))
            }
            StatementKind::Get { table, key, row, .. } => {
                self.row_of("get", table, key)?;
                self.named_row(Some(row))
            }
            StatementKind::First { range, row, .. } => {
                self.write_str("first ")?;
                self.range(range)?;
                self.named_row(Some(row))
            }
            StatementKind::Insert { table, values } => self.new_row("insert into", table, values),
            StatementKind::Upsert { table, values } => self.new_row("upsert into", table, values),
            StatementKind::Replace { table, values, .. } => self.new_row("replace into", table, values),
            StatementKind::Update { table, key, row, changes, .. } => {
                self.row_of("update", table, key)?;
                self.named_row(row.as_ref())?;
                self.wide_space();
                self.write_str("set")?;
                self.space();
                self.list(changes, |line, (column, value)| {
                    write!(line, "{} =", Name(column))?;
                    line.with("", value)
                })
            }
            StatementKind::Delete { table, key, row, .. } => {
                self.row_of("delete from", table, key)?;
                self.named_row(row.as_ref())
            }
            StatementKind::DeleteAll { range, count } => {
                self.write_str("delete all ")?;
                self.range(range)?;
                count.as_ref().map_or(Ok(()), |count| write!(self, " count {}", Name(count)))
            }
            StatementKind::If { branches, .. } => {
                branches.first().map_or(Ok(()), |(condition, _)| self.with("if", condition))
            }
            StatementKind::Break => self.write_str("break"),
            StatementKind::Continue => self.write_str("continue"),
            StatementKind::Return { values } => {
                self.write_str("return")?;
                self.values(values)
            }
            StatementKind::Emit { values } => {
                self.write_str("emit")?;
                self.values(values)
            }
            StatementKind::Abort { sqlstate, message } => {
                write!(self, "abort {}", Quoted(sqlstate))?;
                self.with("", message)
            }
            StatementKind::Try { .. } => self.write_str("try"),
            loops => self.head_of_loop(loops),
        }
    }

    fn head_of_loop(&mut self, kind: &StatementKind) -> fmt::Result {
        match kind {
            StatementKind::While { condition, .. } => self.with("while", condition),
            StatementKind::For { variable, from, to, .. } => {
                write!(self, "for {} =", Name(variable))?;
                self.with("", from)?;
                self.words("to")?;
                self.expression(to, level::OR)
            }
            StatementKind::ForEach { variables, arrays, .. } => {
                self.write_str("foreach ")?;
                self.names(variables)?;
                self.words("in")?;
                self.expressions(arrays)
            }
            StatementKind::ForRows { row, range, .. } => {
                write!(self, "for {} in ", Name(row))?;
                self.range(range)
            }
            StatementKind::Call { procedure, arguments, into, body } => {
                if body.is_some() {
                    self.write_str("for ")?;
                    self.names(into)?;
                    self.write_str(" in ")?;
                }
                write!(self, "call {}", Name(procedure))?;
                self.parenthesized(arguments)?;
                if body.is_none() && !into.is_empty() {
                    self.words("into")?;
                    self.names(into)?;
                }
                Ok(())
            }
            _ => unreachable!("`head` has the statements that are no loops"),
        }
    }

    fn values(&mut self, values: &[Expression]) -> fmt::Result {
        if !values.is_empty() {
            self.space();
        }
        self.expressions(values)
    }

    /// Writes it to `out`, broken where it is too long; what goes on is indented twice.
    fn fill(&self, out: &mut impl Write, indent: usize) -> fmt::Result {
        let chars: usize = self.pieces.iter().map(|piece| piece.text.chars().count() + 1).sum();
        let is_long = indent + chars > LINE_CHARS_MAX + 1;
        write!(out, "{:indent$}", "")?;
        let mut column = indent;
        for (index, Piece { text, is_first_choice }) in self.pieces.iter().enumerate() {
            let (chars, last) = (text.chars().count(), text.rsplit('\n').next().unwrap_or_default());
            // Room for the `;` or the brace that follows.
            let is_broken = is_long && (*is_first_choice || column + 1 + chars > LINE_CHARS_MAX - 2);
            if index > 0 && is_broken {
                let indent = indent + 2 * INDENT;
                write!(out, "\n{:indent$}", "")?;
                column = indent;
            } else if index > 0 {
                out.write_str(" ")?;
                column += 1;
            }
            out.write_str(text)?;
            column = if last.len() == text.len() { column + chars } else { last.chars().count() };
        }
        Ok(())
    }

    /// All of it, with spaces.
    fn joined(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>().join(" ")
    }
}

/// A text in quotes.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.0.replace('\'', "''"))
    }
}

/// Returns the float that `'text'::double precision` stands for where it has no digits.
pub(super) fn special_float(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

impl Expression {
    /// Returns how tightly its outermost part binds.
    fn level(&self) -> u8 {
        match self {
            Expression::Unary(Unary::Negate, _) => level::NEGATE,
            Expression::Unary(Unary::Not, _) => level::NOT,
            Expression::Unary(Unary::IsNull | Unary::IsNotNull, _) => level::IS,
            Expression::Binary(operator, ..) => operator.level(),
            _ => level::PRIMARY,
        }
    }

    /// Whether its text begins with a digit or a minus, for one that binds as tightly as a minus.
    fn begins_with_number_or_minus(&self) -> bool {
        match self {
            Expression::Constant(Constant::Float(value)) => value.is_finite(),
            Expression::Constant(constant) => matches!(constant, Constant::Int(_) | Constant::Numeric(..)),
            Expression::Unary(Unary::Negate, _) => true,
            Expression::Cast(value, _) | Expression::Element(value, _) => {
                value.level() >= level::PRIMARY && value.begins_with_number_or_minus()
            }
            _ => false,
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Line::default();
        line.expression(self, level::OR)?;
        f.write_str(&line.joined())
    }
}

/// A block in braces, and what follows the opening one.
fn block(f: &mut impl Write, block: &Block, indent: usize) -> fmt::Result {
    if block.is_empty() {
        return f.write_str(" {}");
    }
    f.write_str(" {\n")?;
    for of in block {
        statement(f, of, indent + INDENT)?;
        f.write_str("\n")?;
    }
    write!(f, "{:indent$}}}", "")
}

fn otherwise(f: &mut impl Write, otherwise: Option<&Block>, indent: usize) -> fmt::Result {
    match otherwise {
        None => f.write_str(";"),
        Some(body) => {
            f.write_str(" else")?;
            block(f, body, indent)
        }
    }
}

fn statement(f: &mut impl Write, statement: &Statement, indent: usize) -> fmt::Result {
    let mut line = Line::default();
    line.head(&statement.kind)?;
    line.fill(f, indent)?;
    match &statement.kind {
        StatementKind::Get { otherwise: body, .. }
        | StatementKind::First { otherwise: body, .. }
        | StatementKind::Replace { otherwise: body, .. }
        | StatementKind::Update { otherwise: body, .. }
        | StatementKind::Delete { otherwise: body, .. } => otherwise(f, body.as_ref(), indent),
        StatementKind::If { branches, otherwise: last } => {
            for (index, (condition, body)) in branches.iter().enumerate() {
                if index > 0 {
                    let mut line = Line::default();
                    line.with("} else if", condition)?;
                    // The brace that it begins with is that of the block before.
                    let mut text = String::new();
                    line.fill(&mut text, indent)?;
                    f.write_str(&text[indent + 1..])?;
                }
                block(f, body, indent)?;
            }
            if last.is_empty() { Ok(()) } else { otherwise(f, Some(last), indent) }
        }
        StatementKind::While { body, .. }
        | StatementKind::For { body, .. }
        | StatementKind::ForEach { body, .. }
        | StatementKind::ForRows { body, .. }
        | StatementKind::Call { body: Some(body), .. } => block(f, body, indent),
        StatementKind::Try { body, catches } => {
            block(f, body, indent)?;
            for catch in catches {
                match &catch.sqlstate {
                    Some(sqlstate) => write!(f, " catch {}", Quoted(sqlstate))?,
                    None => f.write_str(" catch any")?,
                }
                if let Some(error) = &catch.error {
                    write!(f, " as {}", Name(error))?;
                }
                block(f, &catch.body, indent)?;
            }
            Ok(())
        }
        _ => f.write_str(";"),
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        statement(f, self, 0)
    }
}

impl Statement {
    /// Returns the first line of its text without the block, cut to what a message has room for.
    pub fn summary(&self) -> String {
        let mut line = Line::default();
        line.head(&self.kind).expect("a text takes what is written");
        let text = line.joined();
        let first = text.split('\n').next().unwrap_or_default();
        if first.len() == text.len() && first.chars().count() <= SUMMARY_CHARS_MAX {
            return text;
        }
        let kept: String = first.chars().take(SUMMARY_CHARS_MAX - 3).collect();
        format!("{}...", kept.trim_end())
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Line::default();
        write!(line, "procedure {}", Name(&self.name))?;
        line.fields(&self.parameters)?;
        let words = match &self.results {
            Results::Nothing => None,
            Results::Values(_) => Some("returns"),
            Results::Set(_) => Some("returns set"),
        };
        if let Some(words) = words {
            line.wide_space();
            write!(line, "{words} ")?;
            line.fields(self.results.fields())?;
        }
        line.fill(f, 0)?;
        block(f, &self.body, 0)?;
        f.write_str("\n")
    }
}
