//! The dialect of the parser: that of PostgreSQL, without expressions as names of arguments.
//!
//! With these the parser reads each argument of a call twice: as a name, then as a value. A call in a call in a call then takes
//! twice as long with each level, and some 30 of them keep a thread busy for good.
//!
//! Invariant: all that PostgreSQL's dialect sets is passed on. A new version of the parser may set more.

use std::any::TypeId;
use std::cell::Cell;

use sqlparser::ast::{BinaryOperator, CastKind, DataType, Expr, Ident, UnaryOperator};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::is_plain;
use super::quote::needs_quotes;

/// The dialect.
///
/// The parser tries a special form such as `CAST(` and, if that fails, the same word as a name: what is wrong in the innermost of
/// many forms would be read twice with each level. So it may look at so many expressions, in proportion to the tokens; whoever
/// asks for more gets an error at once, on every level.
#[derive(Debug)]
pub(super) struct Postgres {
    left: Cell<usize>,
}

/// So many expressions may be looked at for each token. A statement that is right needs less than one.
const LOOKS_PER_TOKEN: usize = 16;

impl Postgres {
    /// The dialect for a statement of so many tokens.
    pub(super) fn for_tokens(count: usize) -> Postgres {
        Postgres { left: Cell::new(1_000 + count * LOOKS_PER_TOKEN) }
    }

    /// Whether the parser has looked at too many expressions.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }
}

impl Default for Postgres {
    /// Without a bound, for texts of the database itself.
    fn default() -> Postgres {
        Postgres { left: Cell::new(usize::MAX) }
    }
}

const PARENT: PostgreSqlDialect = PostgreSqlDialect {};

/// The operator that a sign before an expression is.
fn sign(token: &Token) -> Option<UnaryOperator> {
    Some(match token {
        Token::Plus => UnaryOperator::Plus,
        Token::Minus => UnaryOperator::Minus,
        Token::Tilde => UnaryOperator::BitwiseNot,
        Token::DoubleExclamationMark => UnaryOperator::PGPrefixFactorial,
        Token::PGSquareRoot => UnaryOperator::PGSquareRoot,
        Token::PGCubeRoot => UnaryOperator::PGCubeRoot,
        Token::AtSign => UnaryOperator::PGAbs,
        _ => return None,
    })
}

fn is_comparison(token: &Token) -> bool {
    matches!(token, Token::Eq | Token::Neq | Token::Lt | Token::LtEq | Token::Gt | Token::GtEq)
}

/// Whether an operator matches a text with a pattern.
fn matches(token: &Token) -> bool {
    matches!(
        token,
        Token::Tilde
            | Token::TildeAsterisk
            | Token::ExclamationMarkTilde
            | Token::ExclamationMarkTildeAsterisk
            | Token::DoubleTilde
            | Token::DoubleTildeAsterisk
            | Token::ExclamationMarkDoubleTilde
            | Token::ExclamationMarkDoubleTildeAsterisk
    )
}

fn compares(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// What stands behind `COLLATE`, and more of these: one after the other, each would copy those before it.
fn parse_collated(parser: &mut Parser, mut expr: Expr) -> Result<Expr, ParserError> {
    loop {
        let collation = parser.parse_object_name(false)?;
        expr = Expr::Collate { expr: Box::new(expr), collation };
        if !parser.parse_keyword(Keyword::COLLATE) {
            return Ok(expr);
        }
    }
}

/// Whether the word behind `BETWEEN` is `SYMMETRIC`.
fn is_symmetric(parser: &Parser) -> bool {
    let is = |token: &Token, text: &str| matches!(token, Token::Word(word) if is_plain(word, text));
    is(&parser.peek_token_ref().token, "symmetric") && is(&parser.get_current_token().token, "between")
}

fn is_literal(token: &Token) -> bool {
    matches!(token, Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) | Token::DollarQuotedString(_))
}

/// Whether a name and a literal come next: a literal of the type with that name.
fn is_typed_literal(parser: &Parser) -> bool {
    let Token::Word(first) = &parser.peek_token_ref().token else { return false };
    let mut at = 1;
    while parser.peek_nth_token_ref(at).token == Token::Period
        && matches!(parser.peek_nth_token_ref(at + 1).token, Token::Word(_))
    {
        at += 2;
    }
    is_literal(&parser.peek_nth_token_ref(at).token)
        && (first.quote_style.is_some() || !needs_quotes(&first.value.to_lowercase()))
}

/// A literal behind the name of its type, where the parser does not know the type: it is one behind which the name stands.
fn parse_typed_literal(parser: &mut Parser) -> Result<Option<Expr>, ParserError> {
    parser.maybe_parse(|parser| match parser.parse_data_type()? {
        data_type @ DataType::Custom(..) => {
            let expr = Box::new(Expr::Value(parser.parse_value()?));
            Ok(Expr::Cast { kind: CastKind::DoubleColon, expr, data_type, array: false, format: None })
        }
        _ => parser.expected("the name of a type", parser.peek_token_ref().clone()),
    })
}

impl Postgres {
    /// The first bound of `BETWEEN SYMMETRIC`, with that word before it.
    fn parse_symmetric(&self, parser: &mut Parser) -> Result<Expr, ParserError> {
        parser.advance_token();
        let value = Box::new(parser.parse_subexpr(self.prec_value(Precedence::Between))?);
        Ok(Expr::Prefixed { prefix: Ident::new("SYMMETRIC"), value })
    }

    /// An expression behind a sign. In PostgreSQL `+` and `-` bind closer than any operator between two, the others less close
    /// than `+` and `-` between two.
    fn parse_signed(&self, op: UnaryOperator, parser: &mut Parser) -> Result<Expr, ParserError> {
        parser.advance_token();
        let precedence = match op {
            UnaryOperator::Plus | UnaryOperator::Minus => Precedence::AtTz,
            _ => Precedence::PgOther,
        };
        let has_more_signs = sign(&parser.peek_token_ref().token).is_some();
        let operand = Box::new(parser.parse_subexpr(self.prec_value(precedence))?);
        // Signs behind each other would be printed as one that is another, or as a comment.
        let expr = if has_more_signs { Box::new(Expr::Nested(operand)) } else { operand };
        Ok(Expr::UnaryOp { op, expr })
    }
}

/// Methods that are passed on.
macro_rules! pass_on {
    ($($name:ident)*) => {
        $(fn $name(&self) -> bool {
            PARENT.$name()
        })*
    };
}

impl Dialect for Postgres {
    fn dialect(&self) -> TypeId {
        PARENT.dialect()
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        if left == 0 {
            return Some(Err(ParserError::RecursionLimitExceeded));
        }
        if is_symmetric(parser) {
            return Some(self.parse_symmetric(parser));
        }
        if is_typed_literal(parser)
            && let Some(expr) = parse_typed_literal(parser).transpose()
        {
            return Some(expr);
        }
        match sign(&parser.peek_token_ref().token) {
            Some(op) => Some(self.parse_signed(op, parser)),
            None => PARENT.parse_prefix(parser),
        }
    }

    /// The parser takes all that follows `IS DISTINCT FROM` for its right side, with `AND` and `OR`, and reads `COLLATE` only
    /// behind what is no operator. A comparison of what a comparison gives needs parentheses in PostgreSQL, and so does a test of
    /// what `IS DISTINCT FROM` gives.
    fn parse_infix(&self, parser: &mut Parser, left: &Expr, _: u8) -> Option<Result<Expr, ParserError>> {
        if parser.parse_keyword(Keyword::COLLATE) {
            return Some(parse_collated(parser, left.clone()));
        }
        let next = parser.peek_token_ref();
        let is_chained = is_comparison(&next.token) && matches!(left, Expr::BinaryOp { op, .. } if compares(op));
        if is_chained {
            return Some(parser.expected("an operator", next.clone()));
        }
        let is_negated = if parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]) {
            false
        } else if parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]) {
            true
        } else {
            return None;
        };
        let right = parser.parse_subexpr(self.prec_value(Precedence::Is));
        let next = parser.peek_token_ref();
        let goes_on =
            matches!(&next.token, Token::Word(word) if matches!(word.keyword, Keyword::IS | Keyword::NOTNULL));
        if goes_on && right.is_ok() {
            return Some(parser.expected("an operator", next.clone()));
        }
        let left = Box::new(left.clone());
        Some(right.map(|right| match is_negated {
            false => Expr::IsDistinctFrom(left, Box::new(right)),
            true => Expr::IsNotDistinctFrom(left, Box::new(right)),
        }))
    }

    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        PARENT.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        PARENT.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        PARENT.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        PARENT.is_identifier_part(ch)
    }

    /// What begins an expression of its own is nothing else where that cannot be read: to try both at each level of a nested one
    /// would take for ever.
    fn is_reserved_for_identifier(&self, kw: Keyword) -> bool {
        matches!(kw, Keyword::ARRAY | Keyword::CASE | Keyword::CAST | Keyword::NOT)
            || PARENT.is_reserved_for_identifier(kw)
    }

    fn is_custom_operator_part(&self, ch: char) -> bool {
        PARENT.is_custom_operator_part(ch)
    }

    /// All operators that PostgreSQL has no level of its own for are on one, `~` and `OPERATOR(...)` among them.
    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        match &parser.peek_token_ref().token {
            Token::Word(word) if word.keyword == Keyword::OPERATOR => Some(Ok(self.prec_value(Precedence::PgOther))),
            token if matches(token) => Some(Ok(self.prec_value(Precedence::PgOther))),
            _ => PARENT.get_next_precedence(parser),
        }
    }

    /// `ON` is reserved, and a list may end before it: `INSERT INTO t SELECT 1 ON CONFLICT DO NOTHING`.
    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        *keyword != Keyword::ON && PARENT.is_column_alias(keyword, parser)
    }

    fn prec_value(&self, prec: Precedence) -> u8 {
        PARENT.prec_value(prec)
    }

    pass_on! {
        supports_unicode_string_literal
        supports_filter_during_aggregation
        supports_group_by_expr
        allow_extract_custom
        allow_extract_single_quotes
        supports_create_index_with_clause
        supports_explain_with_utility_options
        supports_listen_notify
        supports_factorial_operator
        supports_bitwise_shift_operators
        supports_comment_on
        supports_load_extension
        supports_named_fn_args_with_colon_operator
        supports_empty_projections
        supports_nested_comments
        supports_string_escape_constant
        supports_numeric_literal_underscores
        supports_array_typedef_with_brackets
        supports_geometric_types
        supports_set_names
        supports_alter_column_type_using
        supports_notnull_operator
        supports_interval_options
        supports_insert_table_alias
        supports_create_table_like_parenthesized
        supports_select_wildcard_with_alias
        supports_comma_separated_trim
        supports_xml_expressions
        supports_comment_optimizer_hint
    }
}
