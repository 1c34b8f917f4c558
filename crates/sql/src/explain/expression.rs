//! Expressions as text, much as PostgreSQL shows them.

use super::Describer;
use crate::catalog::name::Name;
use crate::catalog::notes::Computed;
use crate::datum::Datum;
use crate::expr::{Asks, Call, Case, Comparison, Expr, Subquery};
use crate::parse::quote;
use crate::plan::window::{WindowCall, WindowFunction};
use crate::plan::{Access, AggregateCall, Item, Scan};
use crate::settings::Settings;
use crate::types::{Declared, Type};
use crate::value;

/// All of several conditions.
pub(super) fn all(conditions: &[String]) -> String {
    match conditions {
        [one] => one.clone(),
        several => format!("({})", several.join(" AND ")),
    }
}

/// The symbol of a comparison.
fn symbol(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

/// The name of a variant as a function is called.
fn snake_case(variant: &str) -> String {
    let mut name = String::new();
    for c in variant.chars() {
        if c.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}

/// A value as it can be written in a statement.
fn constant(value: &Datum) -> String {
    let ty = match value {
        Datum::Null => return "NULL".to_owned(),
        Datum::Bool(value) => return value.to_string(),
        Datum::Int(value) => return value.to_string(),
        Datum::Enum(label) => return quote::literal(&label.text),
        Datum::Record(parts) => {
            let parts: Vec<String> = parts.iter().map(constant).collect();
            return format!("ROW({})", parts.join(", "));
        }
        Datum::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(constant).collect();
            return format!("ARRAY[{}]", elements.join(", "));
        }
        Datum::Float(_) => Type::Float8,
        Datum::Numeric(_) => Type::Numeric,
        Datum::Text(_) => Type::Text,
        Datum::Bytes(_) => Type::Bytea,
        Datum::Date(_) => Type::Date,
        Datum::Time(_) => Type::Time,
        Datum::Timestamp(_) => Type::Timestamp,
        Datum::Interval(_) => Type::Interval,
        Datum::Uuid(_) => Type::Uuid,
        Datum::Network(_) => Type::Inet,
        Datum::MacAddr(_) => Type::MacAddr,
        Datum::Jsonb(_) => Type::Jsonb,
    };
    let mut text = Vec::new();
    value::push_text(value, Declared::from(ty), &Settings::default(), &mut text);
    format!("'{}'::{ty}", String::from_utf8_lossy(&text).replace('\'', "''"))
}

impl Describer<'_> {
    /// An expression over rows whose columns have these names.
    pub(super) fn expr(&mut self, expr: &Expr, names: &[String]) -> String {
        match expr {
            Expr::Constant(value) => constant(value),
            Expr::Parameter(at) => format!("${}", at + 1),
            Expr::Column(at) => names.get(*at).cloned().unwrap_or_else(|| format!("column{}", at + 1)),
            Expr::Operand => "CASE_TEST".to_owned(),
            Expr::Register(at) => self.registers.get(at).cloned().unwrap_or_else(|| format!("$outer{at}")),
            Expr::Aggregate(at) => format!("aggregate{at}"),
            Expr::Window(call) => self.window_call(call, names),
            Expr::Set(call) => format!("{}({})", call.function.name(), self.list(&call.arguments, names).join(", ")),
            Expr::Grouping(parts) => format!("GROUPING({})", self.list(parts, names).join(", ")),
            Expr::Call(call) => self.call(call, names),
            Expr::Cast(cast) => format!("({})::{}", self.expr(&cast.input, names), cast.to),
            Expr::Compare(parts) => {
                let (left, right) = (self.expr(&parts.1, names), self.expr(&parts.2, names));
                format!("({left} {} {right})", symbol(parts.0))
            }
            Expr::And(parts) => format!("({})", self.list(parts, names).join(" AND ")),
            Expr::Or(parts) => format!("({})", self.list(parts, names).join(" OR ")),
            Expr::Not(part) => match &**part {
                Expr::IsNull(inner) => format!("({} IS NOT NULL)", self.expr(inner, names)),
                part => format!("(NOT {})", self.expr(part, names)),
            },
            Expr::IsNull(part) => format!("({} IS NULL)", self.expr(part, names)),
            Expr::Is(part, wanted) => {
                format!("({} IS {})", self.expr(part, names), if *wanted { "TRUE" } else { "FALSE" })
            }
            Expr::IsDistinct(parts) => {
                format!("({} IS DISTINCT FROM {})", self.expr(&parts.0, names), self.expr(&parts.1, names))
            }
            Expr::Case(case) => self.case(case, names),
            Expr::Coalesce(parts) => format!("COALESCE({})", self.list(parts, names).join(", ")),
            Expr::Extreme(parts, is_greatest) => {
                let name = if *is_greatest { "GREATEST" } else { "LEAST" };
                format!("{name}({})", self.list(parts, names).join(", "))
            }
            Expr::InList(parts, is_negated) => {
                let (input, list) = (self.expr(&parts.0, names), self.list(&parts.1, names).join(", "));
                let test = if *is_negated { "<> ALL" } else { "= ANY" };
                format!("({input} {test} (ARRAY[{list}]))")
            }
            Expr::Array(parts) => format!("ARRAY[{}]", self.list(parts, names).join(", ")),
            Expr::Row(parts, _) => format!("ROW({})", self.list(parts, names).join(", ")),
            Expr::Quantified(parts, is_all) => {
                let (left, array) = (self.expr(&parts.1, names), self.expr(&parts.2, names));
                format!("({left} {} {} ({array}))", symbol(parts.0), if *is_all { "ALL" } else { "ANY" })
            }
            Expr::Subscript(parts) => format!("{}[{}]", self.expr(&parts.0, names), self.expr(&parts.1, names)),
            Expr::Slice(parts) => {
                let array = self.expr(&parts.0, names);
                let mut bound = |part: &Option<Expr>| part.as_ref().map(|part| self.expr(part, names));
                let (from, to) = (bound(&parts.1).unwrap_or_default(), bound(&parts.2).unwrap_or_default());
                format!("{array}[{from}:{to}]")
            }
            Expr::Subquery(subquery) => self.subquery(subquery, names),
        }
    }

    fn list(&mut self, parts: &[Expr], names: &[String]) -> Vec<String> {
        parts.iter().map(|part| self.expr(part, names)).collect()
    }

    fn call(&mut self, call: &Call, names: &[String]) -> String {
        let name = call.function.name;
        if let ("nextval", [Expr::Constant(Datum::Bytes(sequence))]) = (name, &call.arguments[..]) {
            let sequence = Name::of_engine(&String::from_utf8_lossy(sequence));
            return format!("nextval({}::regclass)", sequence.literal());
        }
        let arguments = self.list(&call.arguments, names);
        let is_symbol = !name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        match &arguments[..] {
            [left, right] if is_symbol => format!("({left} {name} {right})"),
            [one] if is_symbol => format!("({name} {one})"),
            _ => format!("{name}({})", arguments.join(", ")),
        }
    }

    fn case(&mut self, case: &Case, names: &[String]) -> String {
        let mut shown = "CASE".to_owned();
        if let Some(operand) = &case.operand {
            shown.push_str(&format!(" {}", self.expr(operand, names)));
        }
        for (condition, result) in &case.branches {
            let (condition, result) = (self.expr(condition, names), self.expr(result, names));
            shown.push_str(&format!(" WHEN {condition} THEN {result}"));
        }
        format!("{shown} ELSE {} END", self.expr(&case.otherwise, names))
    }

    /// A subquery, whose plan is shown below the operator at hand.
    fn subquery(&mut self, subquery: &Subquery, names: &[String]) -> String {
        for (register, expr) in &subquery.captures {
            let held = self.expr(expr, names);
            self.registers.insert(*register, held);
        }
        let left = match &subquery.asks {
            Asks::Compares(comparison, left, is_all) => {
                let left = self.list(left, names).join(", ");
                Some(format!("{left} {} {}", symbol(*comparison), if *is_all { "ALL" } else { "ANY" }))
            }
            _ => None,
        };
        self.counted += 1;
        let number = self.counted;
        let is_once = subquery.captures.is_empty();
        let node = self.plan(&subquery.plan).node;
        let label = match (is_once, &left) {
            (true, None) => format!("InitPlan {number} (returns ${})", number - 1),
            _ => format!("SubPlan {number}"),
        };
        self.subplans.push(node.labelled(label));
        match left {
            Some(left) => format!("({left} (SubPlan {number}))"),
            None if is_once => format!("${}", number - 1),
            None => format!("(SubPlan {number})"),
        }
    }

    /// A call of an aggregate function.
    pub(super) fn aggregate_call(&mut self, call: &AggregateCall, names: &[String]) -> String {
        let mut arguments = self.list(&call.arguments, names).join(", ");
        if call.arguments.is_empty() && call.name == "count" {
            arguments = "*".to_owned();
        }
        if call.is_distinct {
            arguments = format!("DISTINCT {arguments}");
        }
        if !call.order.is_empty() {
            let keys: Vec<String> = call.order.iter().map(|key| self.sort_key(key, names)).collect();
            arguments = format!("{arguments} ORDER BY {}", keys.join(", "));
        }
        let filter = call.filter.as_ref().map(|filter| format!(" FILTER (WHERE {})", self.expr(filter, names)));
        format!("{}({arguments}){}", call.name, filter.unwrap_or_default())
    }

    /// A call over a window.
    pub(super) fn window_call(&mut self, call: &WindowCall, names: &[String]) -> String {
        let name = match &call.function {
            WindowFunction::Aggregate(name, _) => name.clone(),
            WindowFunction::Own(function) => snake_case(&format!("{function:?}")),
        };
        format!("{name}({}) OVER (?)", self.list(&call.arguments, names).join(", "))
    }

    /// An expression of a list with sets.
    pub(super) fn item(&mut self, item: &Item, names: &[String]) -> String {
        match item {
            Item::One(expr) => self.expr(expr, names),
            Item::Set(function, arguments) => {
                format!("{}({})", function.name(), self.list(arguments, names).join(", "))
            }
        }
    }

    /// The index by which rows of a table are found, and what it is asked for.
    pub(super) fn access(&mut self, scan: &Scan, names: &[String]) -> (Option<String>, Vec<String>) {
        let relation = &scan.relation;
        let primary = Some(relation.key_name.clone());
        let computed: Vec<(usize, String)> =
            relation.meanings().iter().map(|meaning| (meaning.column, self.expr(&meaning.expr, names))).collect();
        let name = |at: usize| {
            let known = computed.iter().find(|(column, _)| *column == at);
            known.map_or_else(|| names[at].clone(), |(_, shown)| shown.clone())
        };
        let mut equal = |columns: &[usize], exprs: &[Expr]| -> Vec<String> {
            let pairs = columns.iter().zip(exprs);
            // The condition of a partial index is not said.
            let pairs = pairs.filter(|(at, _)| relation.columns[**at].computed != Some(Computed::Predicate));
            pairs.map(|(at, expr)| format!("({} = {})", name(*at), self.expr(expr, &[]))).collect()
        };
        match &scan.access {
            // A scan that gives the order of the key reads all of it.
            Access::All if scan.is_reversed => (primary, Vec::new()),
            Access::All => (None, Vec::new()),
            Access::Key(exprs) => (primary, equal(&relation.key, exprs)),
            Access::Keys(exprs) => {
                let list = exprs.iter().map(|expr| self.expr(expr, &[])).collect::<Vec<_>>().join(", ");
                (primary, vec![format!("({} = ANY (ARRAY[{list}]))", names[relation.key[0]])])
            }
            Access::KeysOf(array) => {
                let array = self.expr(array, &[]);
                (primary, vec![format!("({} = ANY ({array}))", names[relation.key[0]])])
            }
            Access::Range { index, prefix, low, high } => {
                let index = index.map(|at| &relation.indexes[at]);
                let columns = index.map_or(&relation.key, |index| &index.columns);
                let mut conditions = equal(columns, prefix);
                let next = columns.get(prefix.len()).map(|at| name(*at));
                for (bound, exclusive, inclusive) in [(low, ">", ">="), (high, "<", "<=")] {
                    if let (Some((expr, is_included)), Some(next)) = (bound, &next) {
                        let symbol = if *is_included { inclusive } else { exclusive };
                        conditions.push(format!("({next} {symbol} {})", self.expr(expr, &[])));
                    }
                }
                (Some(index.map_or_else(|| relation.key_name.clone(), |index| index.name.clone())), conditions)
            }
        }
    }
}
