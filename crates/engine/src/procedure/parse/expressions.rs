//! Expressions, by precedence climbing.
//!
//! Invariants:
//! - No tree is deeper than [`EXPRESSION_DEPTH_MAX`], however many operators stand side by side.
//! - What is written once is drawn once: an operand that becomes several ones draws nothing.

use super::lexer::Kind;
use super::{Parsed, Parser};
use crate::procedure::expression::{Binary, Constant, Expression, Function, Unary};
use crate::procedure::form::{EXPRESSION_DEPTH_MAX, is_drawing};
use crate::procedure::print::{level, special_float};
use crate::procedure::timestamps::parse_timestamp;
use crate::table::Type;

/// Digits of a numeric.
const NUMERIC_DIGITS_MAX: usize = Type::PRECISION_MAX as usize;

/// An expression and how deep it is.
struct Tree {
    of: Expression,
    depth: usize,
}

impl Tree {
    fn leaf(of: Expression) -> Tree {
        Tree { of, depth: 1 }
    }
}

/// What an operator between or after operands is.
enum Infix {
    Binary(Binary),
    IsNull,
    IsNotNull,
    Between(bool),
    In(bool),
}

impl Infix {
    fn level(&self) -> u8 {
        match self {
            Infix::Binary(operator) => operator.level(),
            Infix::IsNull | Infix::IsNotNull => level::IS,
            Infix::Between(_) | Infix::In(_) => level::RANGE,
        }
    }
}

fn boxed(tree: Expression) -> Box<Expression> {
    Box::new(tree)
}

/// Joins conditions to a tree that is no deeper than it must be.
fn joined(operator: Binary, mut conditions: Vec<Tree>) -> Tree {
    while conditions.len() > 1 {
        let mut pairs = conditions.into_iter();
        conditions = Vec::new();
        while let Some(left) = pairs.next() {
            conditions.push(match pairs.next() {
                None => left,
                Some(right) => Tree {
                    depth: left.depth.max(right.depth) + 1,
                    of: Expression::Binary(operator, boxed(left.of), boxed(right.of)),
                },
            });
        }
    }
    conditions.pop().expect("there is a condition")
}

/// The nodes of an expression, long constants and names as more.
fn weight(expression: &Expression) -> usize {
    let own = match expression {
        Expression::Constant(Constant::Text(text)) => text.len() / 32,
        Expression::Constant(Constant::Bytes(bytes)) => bytes.len() / 32,
        Expression::Variable(name) | Expression::Exists(name) => name.len() / 32,
        Expression::Column(row, column) => (row.len() + column.len()) / 32,
        _ => 0,
    };
    1 + own + expression.children().map(weight).sum::<usize>()
}

impl Parser {
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        Ok(self.tree(level::OR)?.of)
    }

    /// Zero or more expressions up to a sign, which is taken.
    pub(super) fn expressions_to(&mut self, end: &str) -> Parsed<Vec<Expression>> {
        Ok(self.trees_to(end)?.0)
    }

    fn trees_to(&mut self, end: &str) -> Parsed<(Vec<Expression>, usize)> {
        let (mut expressions, mut depth) = (Vec::new(), 0);
        if !self.try_sign(end) {
            loop {
                let tree = self.tree(level::OR)?;
                depth = depth.max(tree.depth);
                expressions.push(tree.of);
                if !self.try_sign(",") {
                    break;
                }
            }
            self.sign_or(end, &format!("an operator, `,` or `{end}`"))?;
        }
        Ok((expressions, depth))
    }

    /// An expression of operators that bind at least as tightly as `least`.
    fn tree(&mut self, least: u8) -> Parsed<Tree> {
        self.nested(|parser| {
            let mut left = parser.operand()?;
            let mut no_more = u8::MAX;
            loop {
                let begin = parser.at;
                let Some((infix, words)) = parser.infix() else { return Ok(left) };
                let own = infix.level();
                if own == no_more {
                    return Err(parser.failed(
                        "comparisons and `is` have no order among themselves; put one of them in parentheses, or join \
                         two with `and`"
                            .to_owned(),
                    ));
                }
                if own < least || own > no_more {
                    return Ok(left);
                }
                parser.at += words;
                left = parser.with_infix(left, infix, begin)?;
                let is_associative = !matches!(own, level::IS | level::COMPARISON | level::RANGE);
                no_more = if is_associative { u8::MAX } else { own };
            }
        })
    }

    /// The operator that comes next, and of how many tokens it is.
    fn infix(&self) -> Option<(Infix, usize)> {
        let binary = |operator| Some((Infix::Binary(operator), 1));
        match self.kind() {
            Kind::Sign(sign) => match *sign {
                "=" => binary(Binary::Equal),
                "<>" | "!=" => binary(Binary::NotEqual),
                "<" => binary(Binary::Less),
                "<=" => binary(Binary::LessOrEqual),
                ">" => binary(Binary::Greater),
                ">=" => binary(Binary::GreaterOrEqual),
                "||" => binary(Binary::Concatenate),
                "+" => binary(Binary::Add),
                "-" => binary(Binary::Subtract),
                "*" => binary(Binary::Multiply),
                "/" => binary(Binary::Divide),
                "%" => binary(Binary::Remainder),
                _ => None,
            },
            Kind::Word(word) => match word.as_str() {
                "or" => binary(Binary::Or),
                "and" => binary(Binary::And),
                "between" => Some((Infix::Between(true), 1)),
                "in" => Some((Infix::In(true), 1)),
                "not" if self.is_word_ahead(1, "between") => Some((Infix::Between(false), 2)),
                "not" if self.is_word_ahead(1, "in") => Some((Infix::In(false), 2)),
                "is" => self.is_operator(),
                _ => None,
            },
            _ => None,
        }
    }

    fn is_operator(&self) -> Option<(Infix, usize)> {
        let is_not = self.is_word_ahead(1, "not");
        let at = 1 + usize::from(is_not);
        if self.is_word_ahead(at, "null") {
            return Some((if is_not { Infix::IsNotNull } else { Infix::IsNull }, at + 1));
        }
        let operator = if is_not { Binary::NotDistinct } else { Binary::Distinct };
        // The rest of the words is checked where they are taken.
        Some((Infix::Binary(operator), at))
    }

    /// `left` with an operator whose words are taken; it begins at the token `begin`.
    fn with_infix(&mut self, left: Tree, infix: Infix, begin: usize) -> Parsed<Tree> {
        let (of, depth) = match infix {
            Infix::IsNull => (Expression::Unary(Unary::IsNull, boxed(left.of)), left.depth),
            Infix::IsNotNull => (Expression::Unary(Unary::IsNotNull, boxed(left.of)), left.depth),
            Infix::Between(is_within) => {
                let low = self.tree(level::RANGE + 1)?;
                if !self.try_word("and") {
                    return Err(self.unexpected("`and`, as in `a between b and c`"));
                }
                let high = self.tree(level::RANGE + 1)?;
                return self.between(left, low, high, is_within, begin);
            }
            Infix::In(is_within) => return self.is_in(left, is_within, begin),
            Infix::Binary(operator) => {
                if operator.level() == level::IS {
                    if !self.is_word("distinct") {
                        return Err(self.unexpected("`null`, `not null`, `distinct from` or `not distinct from`"));
                    }
                    self.advance();
                    self.word("from")?;
                }
                let right = self.tree(operator.level() + 1)?;
                (Expression::Binary(operator, boxed(left.of), boxed(right.of)), left.depth.max(right.depth))
            }
        };
        self.deeper(of, depth, begin)
    }

    /// A node over what is `depth` deep; an error is at the token `begin`.
    fn deeper(&self, of: Expression, depth: usize, begin: usize) -> Parsed<Tree> {
        if depth >= EXPRESSION_DEPTH_MAX {
            let what = format!(
                "the expression is nested more than {EXPRESSION_DEPTH_MAX} levels deep, and each operator in a row counts; \
                 move a part into a variable"
            );
            return Err(Parser::failed_at(&self.tokens[begin], what));
        }
        Ok(Tree { of, depth: depth + 1 })
    }

    fn between(&mut self, of: Tree, low: Tree, high: Tree, is_within: bool, begin: usize) -> Parsed<Tree> {
        self.may_repeat(&of.of, 1, "between", begin)?;
        let (join, below, above) = if is_within {
            (Binary::And, Binary::GreaterOrEqual, Binary::LessOrEqual)
        } else {
            (Binary::Or, Binary::Less, Binary::Greater)
        };
        let depth = of.depth.max(low.depth).max(high.depth) + 1;
        let low = Expression::Binary(below, boxed(of.of.clone()), boxed(low.of));
        let high = Expression::Binary(above, boxed(of.of), boxed(high.of));
        self.deeper(Expression::Binary(join, boxed(low), boxed(high)), depth, begin)
    }

    fn is_in(&mut self, of: Tree, is_within: bool, begin: usize) -> Parsed<Tree> {
        self.sign_or("(", "`(`, as in `a in (b, c)`")?;
        if self.is_sign(")") {
            return Err(self.unexpected("an expression"));
        }
        let (values, depth) = self.trees_to(")")?;
        self.may_repeat(&of.of, values.len() - 1, "in", begin)?;
        let (join, compare) = if is_within { (Binary::Or, Binary::Equal) } else { (Binary::And, Binary::NotEqual) };
        let depth = depth.max(of.depth) + 1;
        let condition = |value| {
            let of = Expression::Binary(compare, boxed(of.of.clone()), boxed(value));
            Tree { of, depth }
        };
        let all = joined(join, values.into_iter().map(condition).collect());
        // The root is counted once more.
        self.deeper(all.of, all.depth - 1, begin)
    }

    /// Whether `expression` may stand for `copies` more of it.
    fn may_repeat(&mut self, expression: &Expression, copies: usize, construct: &str, begin: usize) -> Parsed<()> {
        let fail = |what| Err(Parser::failed_at(&self.tokens[begin], what));
        if copies > 0 && is_drawing(expression) {
            return fail(format!(
                "the operand of `{construct}` draws a value and would draw it for each comparison; move it into a variable \
                 first: `let name = ...;`"
            ));
        }
        match self.copies_left.checked_sub(weight(expression).saturating_mul(copies)) {
            Some(left) => {
                self.copies_left = left;
                Ok(())
            }
            None => fail(format!("the operand of `{construct}` is too long to repeat; move it into a variable first")),
        }
    }

    /// An operand with the operators of one operand before it.
    fn operand(&mut self) -> Parsed<Tree> {
        let begin = self.at;
        if self.is_word("not") {
            self.advance();
            let of = self.tree(level::NOT)?;
            return self.deeper(Expression::Unary(Unary::Not, boxed(of.of)), of.depth, begin);
        }
        if self.is_sign("-") && !matches!(self.ahead(1).kind, Kind::Number(_)) {
            self.advance();
            let of = self.tree(level::NEGATE)?;
            return self.deeper(Expression::Unary(Unary::Negate, boxed(of.of)), of.depth, begin);
        }
        let mut tree = self.primary()?;
        loop {
            let begin = self.at;
            if self.try_sign("::") {
                let of = Expression::Cast(boxed(tree.of), self.data_type()?);
                tree = self.deeper(of, tree.depth, begin)?;
            } else if self.try_sign("[") {
                let number = self.tree(level::OR)?;
                self.sign_or("]", "an operator or `]`")?;
                let of = Expression::Element(boxed(tree.of), boxed(number.of));
                tree = self.deeper(of, tree.depth.max(number.depth), begin)?;
            } else {
                return Ok(tree);
            }
        }
    }

    fn primary(&mut self) -> Parsed<Tree> {
        let begin = self.at;
        let is_call = self.is_sign_ahead(1, "(");
        match self.kind() {
            Kind::Number(_) => self.number("").map(Tree::leaf),
            Kind::Sign("-") => {
                self.advance();
                self.number("-").map(Tree::leaf)
            }
            Kind::Sign("(") => {
                self.advance();
                let tree = self.tree(level::OR)?;
                self.sign_or(")", "an operator or `)`")?;
                Ok(tree)
            }
            Kind::Text(_) | Kind::Bytes(_) => Ok(Tree::leaf(Expression::Constant(self.quoted_constant()?))),
            Kind::Word(word) => match word.as_str() {
                "null" => Ok(self.constant(Constant::Null)),
                "true" => Ok(self.constant(Constant::Bool(true))),
                "false" => Ok(self.constant(Constant::Bool(false))),
                "case" => self.case(),
                "array" => {
                    self.advance();
                    self.sign_or("[", "`[`, as in `array[a, b]`")?;
                    let (elements, depth) = self.trees_to("]")?;
                    self.deeper(Expression::Array(elements), depth, begin)
                }
                "timestamp" if matches!(self.ahead(1).kind, Kind::Text(_)) => self.timestamp(),
                "exists" => {
                    self.advance();
                    self.sign("(")?;
                    let row = self.name("a row variable")?;
                    self.sign(")")?;
                    Ok(Tree::leaf(Expression::Exists(row)))
                }
                _ if is_call => self.call(),
                _ => self.variable(),
            },
            Kind::Name(_) => self.variable(),
            _ => Err(self.unexpected("an expression")),
        }
    }

    fn constant(&mut self, constant: Constant) -> Tree {
        self.advance();
        Tree::leaf(Expression::Constant(constant))
    }

    fn variable(&mut self) -> Parsed<Tree> {
        let name = self.name("an expression")?;
        Ok(Tree::leaf(if self.try_sign(".") {
            Expression::Column(name, self.name("a column")?)
        } else {
            Expression::Variable(name)
        }))
    }

    fn call(&mut self) -> Parsed<Tree> {
        let begin = self.at;
        let Kind::Word(name) = self.kind() else { unreachable!("a call begins with a word") };
        let Some(function) = Function::of(name) else {
            let what = super::hints::no_function(name);
            return Err(self.failed(what));
        };
        self.advance();
        self.advance();
        let (arguments, depth) = self.trees_to(")")?;
        self.deeper(Expression::Call(function, arguments), depth, begin)
    }

    fn case(&mut self) -> Parsed<Tree> {
        let begin = self.at;
        self.advance();
        let of = if self.is_word("when") { None } else { Some(self.tree(level::OR)?) };
        let mut depth = of.as_ref().map_or(0, |of| of.depth + 1);
        let mut branches = Vec::new();
        while branches.is_empty() || self.is_word("when") {
            if !self.try_word("when") {
                return Err(self.unexpected("`when`, as in `case when condition then value else value end`"));
            }
            let mut condition = self.tree(level::OR)?;
            if let Some(of) = &of {
                self.may_repeat(&of.of, usize::from(!branches.is_empty()), "case", begin)?;
                condition.of = Expression::Binary(Binary::Equal, boxed(of.of.clone()), boxed(condition.of));
                condition.depth += 1;
            }
            if !self.try_word("then") {
                return Err(self.unexpected("an operator or `then`"));
            }
            let value = self.tree(level::OR)?;
            depth = depth.max(condition.depth).max(value.depth);
            branches.push((condition.of, value.of));
        }
        let otherwise = if self.try_word("else") { Some(self.tree(level::OR)?) } else { None };
        if !self.try_word("end") {
            return Err(self.unexpected("an operator, `when`, `else` or `end`"));
        }
        let depth = otherwise.as_ref().map_or(depth, |of| of.depth.max(depth));
        self.deeper(Expression::Case(branches, otherwise.map(|of| boxed(of.of))), depth, begin)
    }

    fn timestamp(&mut self) -> Parsed<Tree> {
        self.advance();
        let token = self.token().clone();
        let text = self.text("a timestamp")?;
        let Some(micros) = parse_timestamp(&text) else {
            let what = format!("{text:?} is no timestamp; write it like `timestamp '2026-01-31 12:00:00.000000'`");
            return Err(Parser::failed_at(&token, what));
        };
        Ok(Tree::leaf(Expression::Constant(Constant::Timestamp(micros))))
    }

    /// A text or a byte string; or a float that has no digits, with its cast.
    fn quoted_constant(&mut self) -> Parsed<Constant> {
        let text = match self.take() {
            Kind::Text(text) => text,
            Kind::Bytes(bytes) => return Ok(Constant::Bytes(bytes)),
            _ => unreachable!("the caller has seen a quote"),
        };
        if let Some(float) = special_float(&text)
            && self.is_sign("::")
        {
            let begin = self.at;
            self.advance();
            if self.data_type()? == Type::Float64.into() {
                return Ok(Constant::Float(float));
            }
            self.at = begin;
        }
        Ok(Constant::Text(text))
    }

    /// A number, of which the sign was taken.
    fn number(&mut self, sign: &str) -> Parsed<Expression> {
        let token = self.token().clone();
        let Kind::Number(digits) = self.take() else { unreachable!("the caller has seen a number") };
        let constant = if digits.contains(['e', 'E']) {
            let float: Option<f64> = format!("{sign}{digits}").parse().ok();
            let float = float.filter(|float| float.is_finite());
            float.map(Constant::Float).ok_or("the number is larger than a double precision can be".to_owned())
        } else if let Some((whole, fraction)) = digits.split_once('.') {
            numeric(sign, whole, fraction)
        } else {
            let int = format!("{sign}{digits}").parse().map(Constant::Int);
            int.map_err(|_| {
                "the number is no integer of 64 bits; with a point it is a numeric, with an exponent a float".into()
            })
        };
        constant.map(Expression::Constant).map_err(|what| Parser::failed_at(&token, what))
    }
}

fn numeric(sign: &str, whole: &str, fraction: &str) -> Result<Constant, String> {
    let digits = whole.trim_start_matches('0').len() + fraction.len();
    if digits > NUMERIC_DIGITS_MAX {
        return Err(format!("a numeric has at most {NUMERIC_DIGITS_MAX} digits, this one has {digits}"));
    }
    let value = format!("{sign}{whole}{fraction}").parse().expect("so many digits fit in 64 bits");
    Ok(Constant::Numeric(value, fraction.len() as u8))
}
