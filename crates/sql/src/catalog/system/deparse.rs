//! Expressions of defaults and checks as PostgreSQL shows them: with the conversions that it adds, and with parentheses.
//!
//! Invariant: what is shown means what was kept. What this does not know is shown as it was kept.
//!
//! Absent: queries, which are shown as they were written.

use std::cell::Cell;

use sqlparser::ast::{self, BinaryOperator, Expr, UnaryOperator, Value};

use crate::bind::from::relation_columns;
use crate::bind::scope::Level;
use crate::bind::{Binder, RowNames};
use crate::catalog::relation::Relation;
use crate::function;
use crate::parse;
use crate::parse::quote::quoted;
use crate::settings::Settings;
use crate::types::{Declared, Modifier, Type};

/// What is shown of a part, and whether it needs parentheses within another one.
struct Shown {
    text: String,
    is_simple: bool,
}

fn simple(text: impl Into<String>) -> Shown {
    Shown { text: text.into(), is_simple: true }
}

fn compound(text: impl Into<String>) -> Shown {
    Shown { text: text.into(), is_simple: false }
}

/// Shows expressions over the rows of a table.
struct Deparser<'d> {
    binder: Binder<'d>,
    level: Level<'d>,
    /// Of whoever asks: times are shown in the zone that is set.
    settings: &'d Settings,
    is_pretty: bool,
}

/// Gives `act` what shows expressions over the rows of `relation`.
fn with<T>(relation: &Relation, settings: &Settings, is_pretty: bool, act: impl FnOnce(&Deparser<'_>) -> T) -> T {
    let initial = Settings::default();
    let registers = Cell::default();
    let mut level = Level::new(None, &registers);
    level.columns = relation_columns(relation, &relation.name.name);
    let names = RowNames(&relation.types);
    act(&Deparser { binder: Binder::new(&names, &initial, &[]).of_kept(), level, settings, is_pretty })
}

/// What `pg_attrdef` has in place of PostgreSQL's tree: the expression, and the column whose type its literals have.
pub(super) fn tree(column: usize, kept: &str) -> String {
    format!("{{DEFAULT {column} {kept}}}")
}

/// What stands between the expressions of an index.
const BETWEEN: char = '\u{1f}';

/// What `pg_index` has in place of PostgreSQL's trees of its expressions.
pub(super) fn list<'k>(kept: impl Iterator<Item = &'k str>) -> Option<String> {
    let joined = kept.collect::<Vec<_>>().join(&BETWEEN.to_string());
    (!joined.is_empty()).then(|| format!("{{INDEX {joined}}}"))
}

/// What [`tree`] was made of.
fn of_tree(text: &str) -> Option<(usize, &str)> {
    let (column, kept) = text.strip_prefix("{DEFAULT ")?.strip_suffix('}')?.split_once(' ')?;
    Some((column.parse().ok()?, kept))
}

/// An expression of `pg_attrdef`, `pg_constraint` or `pg_index` as PostgreSQL shows it.
pub(super) fn expression(relation: &Relation, text: &str, settings: &Settings, is_pretty: bool) -> String {
    if let Some(list) = text.strip_prefix("{INDEX ").and_then(|list| list.strip_suffix('}')) {
        let shown = list.split(BETWEEN).map(|kept| value(relation, kept, settings, is_pretty));
        return shown.collect::<Vec<_>>().join(", ");
    }
    let Some((column, kept)) = of_tree(text) else { return condition(relation, text, settings, is_pretty) };
    let Ok(parsed) = parse::expression(kept) else { return kept.to_owned() };
    let wanted = relation.columns.get(column).map(|column| column.declared.ty);
    with(relation, settings, is_pretty, |deparser| deparser.top(&parsed, wanted)).unwrap_or_else(|| kept.to_owned())
}

/// A check as PostgreSQL shows it, within its parentheses.
pub(super) fn condition(relation: &Relation, kept: &str, settings: &Settings, is_pretty: bool) -> String {
    let Ok(parsed) = parse::expression(kept) else { return kept.to_owned() };
    let shown = with(relation, settings, is_pretty, |deparser| deparser.show(&parsed, Some(Type::Bool)));
    shown.map_or_else(|| kept.to_owned(), |shown| shown.text)
}

/// An expression of an index as PostgreSQL shows it.
pub(super) fn value(relation: &Relation, kept: &str, settings: &Settings, is_pretty: bool) -> String {
    let Ok(parsed) = parse::expression(kept) else { return kept.to_owned() };
    let shown = with(relation, settings, is_pretty, |deparser| deparser.show(&parsed, None));
    shown.map_or_else(|| kept.to_owned(), |shown| shown.text)
}

/// The positions of the columns that an expression names.
pub(super) fn columns_of(relation: &Relation, kept: &str) -> Vec<usize> {
    let Ok(parsed) = parse::expression(kept) else { return Vec::new() };
    let bound = with(relation, &Settings::default(), false, |deparser| deparser.binder.expr(&parsed, &deparser.level));
    let mut columns = Vec::new();
    if let Ok(bound) = bound {
        bound.expr.for_each_column(&mut |at| {
            if !columns.contains(&at) {
                columns.push(at);
            }
        });
    }
    columns.sort_unstable();
    columns
}

/// A text as a literal.
fn literal(text: &str) -> String {
    let escaped = text.replace('\'', "''");
    if escaped.contains('\\') { format!("E'{}'", escaped.replace('\\', "\\\\")) } else { format!("'{escaped}'") }
}

impl Deparser<'_> {
    fn type_of(&self, expr: &Expr) -> Option<Type> {
        self.binder.expr(expr, &self.level).ok().map(|typed| typed.declared.ty)
    }

    /// Shows a default: the conversion to the type of the column is left out where it is implicit.
    fn top(&self, expr: &Expr, wanted: Option<Type>) -> Option<String> {
        let own = self.type_of(expr)?;
        let wanted = if own == Type::Unknown { wanted } else { Some(own) };
        Some(self.show(expr, wanted)?.text)
    }

    /// Shows an expression as a value of a type.
    fn show(&self, expr: &Expr, wanted: Option<Type>) -> Option<Shown> {
        let own = self.type_of(expr)?;
        let shown = match (own, wanted) {
            (Type::Unknown, Some(wanted)) => return self.unknown(expr, wanted),
            _ => self.plain(expr)?,
        };
        match wanted {
            Some(wanted) if wanted != own && own != Type::Unknown => Some(self.cast(&shown, wanted.into())),
            _ => Some(shown),
        }
    }

    fn constant(&self, text: &str, to: Declared) -> Shown {
        constant(text, to, self.settings)
    }

    fn cast(&self, shown: &Shown, to: Declared) -> Shown {
        let (text, to) = (&shown.text, type_name(to, self.settings));
        simple(if self.is_pretty && shown.is_simple { format!("{text}::{to}") } else { format!("({text})::{to}") })
    }

    /// A literal without a type of its own.
    fn unknown(&self, expr: &Expr, wanted: Type) -> Option<Shown> {
        let Expr::Value(value) = strip(expr) else { return self.plain(expr) };
        Some(match text_of(&value.value)? {
            None => simple(format!("NULL::{}", type_name(wanted.into(), self.settings))),
            Some(text) => self.constant(&text, wanted.into()),
        })
    }

    /// An expression as a value of its own type.
    fn plain(&self, expr: &Expr) -> Option<Shown> {
        Some(match expr {
            Expr::Nested(inner) => self.plain(inner)?,
            Expr::Identifier(ident) => self.word(ident)?,
            Expr::CompoundIdentifier(idents) => simple(quoted(&parse::name(idents.last()?))),
            Expr::Value(value) => self.value(&value.value)?,
            Expr::UnaryOp { op, expr } => self.unary(*op, expr)?,
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right)?,
            Expr::Cast { expr, data_type, .. } => self.explicit_cast(expr, self.binder.data_type(data_type).ok()?)?,
            Expr::TypedString(typed) => match text_of(&typed.value.value)? {
                Some(text) => self.constant(&text, self.binder.data_type(&typed.data_type).ok()?),
                None => return None,
            },
            Expr::IsNull(inner) => self.suffixed(inner, "IS NULL")?,
            Expr::IsNotNull(inner) => self.suffixed(inner, "IS NOT NULL")?,
            Expr::IsTrue(inner) => self.suffixed(inner, "IS TRUE")?,
            Expr::IsNotTrue(inner) => self.suffixed(inner, "IS NOT TRUE")?,
            Expr::IsFalse(inner) => self.suffixed(inner, "IS FALSE")?,
            Expr::IsNotFalse(inner) => self.suffixed(inner, "IS NOT FALSE")?,
            Expr::Between { expr, negated, low, high } => self.between(expr, *negated, low, high)?,
            Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated)?,
            Expr::Array(array) => self.array(&array.elem, self.type_of(expr)?.element()?)?,
            Expr::AnyOp { left, compare_op, right, .. } => self.quantified(left, compare_op, "ANY", right)?,
            Expr::AllOp { left, compare_op, right } => self.quantified(left, compare_op, "ALL", right)?,
            Expr::Like { negated, expr, pattern, escape_char: None, .. } => {
                self.operation(expr, if *negated { "!~~" } else { "~~" }, pattern)?
            }
            Expr::ILike { negated, expr, pattern, escape_char: None, .. } => {
                self.operation(expr, if *negated { "!~~*" } else { "~~*" }, pattern)?
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(expr, operand.as_deref(), conditions, else_result.as_deref())?
            }
            Expr::Function(call) => self.call(expr, call)?,
            _ => return None,
        })
    }

    fn word(&self, ident: &ast::Ident) -> Option<Shown> {
        let name = parse::name(ident);
        let is_column = matches!(self.level.resolve(None, &name), Ok(Some(_)));
        let is_function = !is_column && crate::bind::special::is_bare_function(&name);
        Some(simple(if is_function { name.to_uppercase() } else { quoted(&name) }))
    }

    fn value(&self, value: &Value) -> Option<Shown> {
        Some(match value {
            Value::Boolean(value) => simple(value.to_string()),
            Value::Number(text, _) => {
                let is_large = text.parse::<i64>().is_ok_and(|value| i32::try_from(value).is_err());
                simple(if is_large { format!("'{text}'::bigint") } else { text.clone() })
            }
            Value::Null => simple("NULL"),
            other => self.constant(&text_of(other)??, Type::Text.into()),
        })
    }

    fn unary(&self, op: UnaryOperator, expr: &Expr) -> Option<Shown> {
        if let (UnaryOperator::Minus, Expr::Value(value)) = (op, expr)
            && let Value::Number(text, _) = &value.value
        {
            let ty = self.type_of(expr)?;
            return Some(simple(format!("'-{text}'::{ty}")));
        }
        let own = self.type_of(expr);
        let part = self.show(expr, own)?;
        let text = match op {
            UnaryOperator::Not if self.is_pretty && is_chain(strip(expr)) => format!("NOT ({})", part.text),
            UnaryOperator::Not => format!("NOT {}", part.text),
            op => format!("{op} {}", self.within(&part)),
        };
        Some(self.parenthesized(text))
    }

    /// A part of an operation: PostgreSQL's parts have parentheses of their own unless it shows few of them.
    fn within(&self, part: &Shown) -> String {
        if self.is_pretty && !part.is_simple { format!("({})", part.text) } else { part.text.clone() }
    }

    fn parenthesized(&self, text: String) -> Shown {
        if self.is_pretty { compound(text) } else { simple(format!("({text})")) }
    }

    fn binary(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<Shown> {
        if let BinaryOperator::And | BinaryOperator::Or = op {
            let mut parts = Vec::new();
            self.connected(left, op, &mut parts)?;
            self.connected(right, op, &mut parts)?;
            return Some(self.parenthesized(parts.join(&format!(" {op} "))));
        }
        let symbol = match op {
            BinaryOperator::NotEq => "<>".to_owned(),
            BinaryOperator::PGCustomBinaryOperator(parts) => parts.last()?.clone(),
            op => op.to_string(),
        };
        self.operation(left, &symbol, right)
    }

    /// Gathers the parts of a chain of `AND` or `OR`.
    fn connected(&self, expr: &Expr, op: &BinaryOperator, parts: &mut Vec<String>) -> Option<()> {
        match strip(expr) {
            Expr::BinaryOp { left, op: inner, right } if inner == op => {
                self.connected(left, op, parts)?;
                self.connected(right, op, parts)
            }
            other => {
                let shown = self.show(other, Some(Type::Bool))?;
                parts.push(if self.is_pretty && is_chain(other) { format!("({})", shown.text) } else { shown.text });
                Some(())
            }
        }
    }

    fn operation(&self, left: &Expr, symbol: &str, right: &Expr) -> Option<Shown> {
        let (own_left, own_right) = (self.type_of(left)?, self.type_of(right)?);
        let resolved = function::resolve_operator(symbol, Some(own_left), own_right).ok()?;
        let (left, right) =
            (self.show(left, Some(resolved.arguments[0]))?, self.show(right, Some(resolved.arguments[1]))?);
        Some(self.parenthesized(format!("{} {symbol} {}", self.within(&left), self.within(&right))))
    }

    fn explicit_cast(&self, inner: &Expr, to: Declared) -> Option<Shown> {
        if let Expr::Value(value) = strip(inner)
            && self.type_of(inner)? == Type::Unknown
        {
            return Some(match text_of(&value.value)? {
                Some(text) => self.constant(&text, to),
                None => simple(format!("NULL::{}", type_name(to, self.settings))),
            });
        }
        if let (Expr::Array(array), Some(element), Modifier::None) = (inner, to.ty.element(), to.modifier) {
            return self.array(&array.elem, element);
        }
        let shown = self.plain(inner)?;
        if self.type_of(inner)? == to.ty && to.modifier == Modifier::None {
            return Some(shown);
        }
        Some(self.cast(&shown, to))
    }

    fn suffixed(&self, inner: &Expr, suffix: &str) -> Option<Shown> {
        let own = self.type_of(inner);
        let shown = self.show(inner, own)?;
        Some(self.parenthesized(format!("{} {suffix}", self.within(&shown))))
    }

    fn between(&self, expr: &Expr, is_negated: bool, low: &Expr, high: &Expr) -> Option<Shown> {
        let (first, word, second) = if is_negated { ("<", "OR", ">") } else { (">=", "AND", "<=") };
        let (from, to) = (self.operation(expr, first, low)?, self.operation(expr, second, high)?);
        Some(self.parenthesized(format!("{} {word} {}", from.text, to.text)))
    }

    /// An array of elements that each are of a type.
    fn array(&self, elements: &[Expr], element: Type) -> Option<Shown> {
        let shown = |part: &Expr| Some(self.show(part, Some(element))?.text);
        let parts = elements.iter().map(shown).collect::<Option<Vec<_>>>()?;
        (!parts.is_empty()).then(|| simple(format!("ARRAY[{}]", parts.join(", "))))
    }

    /// A comparison with all elements of an array.
    fn quantified(&self, left: &Expr, op: &BinaryOperator, word: &str, right: &Expr) -> Option<Shown> {
        let own = self.type_of(left)?;
        let wanted = if self.type_of(right)? == Type::Unknown { own.array()? } else { self.type_of(right)? };
        // What has to be converted is shown as it was kept.
        if wanted.element() != Some(own) {
            return None;
        }
        let symbol = if *op == BinaryOperator::NotEq { "<>".to_owned() } else { op.to_string() };
        let (left, right) = (self.show(left, Some(own))?, self.show(right, Some(wanted))?);
        Some(self.parenthesized(format!("{} {symbol} {word} ({})", self.within(&left), right.text)))
    }

    /// `IN` becomes a comparison with an array.
    fn in_list(&self, expr: &Expr, list: &[Expr], is_negated: bool) -> Option<Shown> {
        let own = self.type_of(expr)?;
        let types = list.iter().map(|element| self.type_of(element)).collect::<Option<Vec<_>>>()?;
        let element = self.binder.common_type("IN", std::iter::once(own).chain(types)).ok()?;
        let shown = list.iter().map(|part| Some(self.show(part, Some(element))?.text)).collect::<Option<Vec<_>>>()?;
        let (symbol, word) = if is_negated { ("<>", "ALL") } else { ("=", "ANY") };
        let mut array = format!("ARRAY[{}]", shown.join(", "));
        let compared = function::resolve_operator(symbol, Some(own), element).ok()?.arguments[0];
        if compared != element {
            let of = compared.array()?;
            array = if self.is_pretty { format!("{array}::{of}") } else { format!("({array})::{of}") };
        }
        let left = self.show(expr, Some(compared))?;
        Some(self.parenthesized(format!("{} {symbol} {word} ({array})", self.within(&left))))
    }

    fn case(
        &self,
        whole: &Expr,
        operand: Option<&Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&Expr>,
    ) -> Option<Shown> {
        let result = self.type_of(whole);
        let (line, end) = if self.is_pretty { ("\n    ", "\n") } else { (" ", " ") };
        let mut text = "CASE".to_owned();
        let of = operand.map(|operand| self.type_of(operand)).unwrap_or(Some(Type::Bool));
        if let Some(operand) = operand {
            text += &format!(" {}", self.show(operand, of)?.text);
        }
        for ast::CaseWhen { condition, result: value } in conditions {
            let (condition, value) = (self.show(condition, of)?.text, self.show(value, result)?.text);
            text += &format!("{line}WHEN {condition} THEN {value}");
        }
        let otherwise = match otherwise {
            Some(otherwise) => self.show(otherwise, result)?.text,
            None => format!("NULL::{}", result?),
        };
        Some(simple(format!("{text}{line}ELSE {otherwise}{end}END")))
    }

    fn call(&self, whole: &Expr, call: &ast::Function) -> Option<Shown> {
        let name = parse::parts(&call.name).ok()?.pop()?;
        let list = match &call.args {
            ast::FunctionArguments::List(list) => &list.args[..],
            ast::FunctionArguments::None if crate::bind::special::is_bare_function(&name) => {
                return Some(simple(name.to_uppercase()));
            }
            _ => &[],
        };
        let given = list.iter().map(|argument| match argument {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        });
        let given = given.collect::<Option<Vec<_>>>()?;
        if matches!(name.as_str(), "nextval" | "currval" | "setval")
            && let Some(Expr::Value(value)) = given.first().map(|first| strip(first))
            && let Some(text) = text_of(&value.value)?
        {
            let sequence = self.constant(&text, Type::RegClass.into()).text;
            let rest = given[1..].iter().map(|part| Some(self.plain(part)?.text)).collect::<Option<Vec<_>>>()?;
            return Some(simple(format!("{name}({})", [vec![sequence], rest].concat().join(", "))));
        }
        let types = given.iter().map(|part| self.type_of(part)).collect::<Option<Vec<_>>>()?;
        let is_form = matches!(name.as_str(), "coalesce" | "greatest" | "least" | "nullif");
        let wanted = match is_form {
            true => vec![self.type_of(whole)?; types.len()],
            false => function::resolve(&name, &types).ok()?.arguments,
        };
        let parts = given.iter().zip(wanted).map(|(part, ty)| Some(self.show(part, Some(ty))?.text));
        let parts = parts.collect::<Option<Vec<_>>>()?.join(", ");
        let name = if is_form { name.to_uppercase() } else { quoted(&name) };
        Some(simple(format!("{name}({parts})")))
    }
}

/// Whether an expression is a chain of `AND` or `OR`.
fn is_chain(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. })
}

/// An expression without the parentheses around it.
fn strip(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => strip(inner),
        other => other,
    }
}

/// The text of a literal in quotes; `Some(None)` of NULL.
fn text_of(value: &Value) -> Option<Option<String>> {
    match value {
        Value::Null => Some(None),
        Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) | Value::UnicodeStringLiteral(text) => {
            Some(Some(text.clone()))
        }
        Value::DollarQuotedString(text) => Some(Some(text.value.clone())),
        _ => None,
    }
}

/// A literal of a type. Truth values and numbers that are read as they are written need no type.
fn constant(text: &str, to: Declared, settings: &Settings) -> Shown {
    let is_read = |ty: Type| crate::value::parse(text, ty.into(), &Settings::default());
    match to.ty {
        Type::Bool => match is_read(Type::Bool) {
            Ok(crate::Datum::Bool(value)) => simple(value.to_string()),
            _ => simple(format!("{}::boolean", literal(text))),
        },
        Type::Int4 if text.trim().parse::<u32>().is_ok_and(|value| i32::try_from(value).is_ok()) => simple(text.trim()),
        Type::Varchar | Type::Char | Type::Numeric if to.modifier != Modifier::None => {
            let bare = Declared { modifier: Modifier::None, ..to };
            let inner = if to.ty == Type::Char { "bpchar".to_owned() } else { bare.to_string() };
            simple(format!("{}::{inner}", literal(text)))
        }
        Type::Char => simple(format!("{}::bpchar", literal(text))),
        ty @ (Type::Date | Type::Time | Type::Timestamp | Type::Timestamptz | Type::Interval) => match is_read(ty) {
            Ok(value) => {
                let mut shown = Vec::new();
                crate::value::push_text(&value, ty.into(), settings, &mut shown);
                simple(format!("{}::{to}", literal(&String::from_utf8_lossy(&shown))))
            }
            Err(_) => simple(format!("{}::{to}", literal(text))),
        },
        _ => simple(format!("{}::{}", literal(text), type_name(to, settings))),
    }
}

/// The name of a type, with its schema where that is not one in which names are looked up.
fn type_name(to: Declared, settings: &Settings) -> String {
    match (to.ty, to.ty.enumeration()) {
        (ty, Some(own))
            if Type::of_catalog_name(own.name()).is_none() && settings.schemas().any(|path| path == own.schema()) =>
        {
            let suffix = if let Type::Array(_) = ty { "[]" } else { "" };
            format!("{}{suffix}", quoted(own.name()))
        }
        _ => to.qualified(),
    }
}
