//! Random programs of sound form, for properties that hold for all of them.
//!
//! Invariant: every program passes [`Program::check_form`]; its names and types mean nothing.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::expression::{Binary, Constant, Expression, Function, Unary};
use super::program::{Block, Bound, Catch, DataType, Field, Program, Range, Results, Statement, StatementKind};
use crate::table::Type;

/// Returns programs.
pub fn program() -> impl Strategy<Value = Program> {
    (name(), fields(0..9), results()).prop_flat_map(|(name, parameters, results)| {
        block(&results).prop_map(move |body| {
            let (name, parameters, results) = (name.clone(), parameters.clone(), results.clone());
            Program { name, parameters, results, body }
        })
    })
}

/// Returns expressions.
pub fn expression() -> BoxedStrategy<Expression> {
    let leaf = prop_oneof![
        3 => constant().prop_map(Expression::Constant),
        2 => name().prop_map(Expression::Variable),
        2 => (name(), name()).prop_map(|(row, column)| Expression::Column(row, column)),
        1 => name().prop_map(Expression::Exists),
        1 => Just(Expression::Array(Vec::new())),
        1 => drawn(),
    ];
    leaf.prop_recursive(7, 32, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new).boxed();
        let (binary, unary) = (select(BINARY), select(UNARY));
        prop_oneof![
            6 => (binary, boxed.clone(), boxed.clone()).prop_map(|(of, left, right)| Expression::Binary(of, left, right)),
            3 => (unary, boxed.clone()).prop_map(|(of, operand)| Expression::Unary(of, operand)),
            2 => (boxed.clone(), data_type()).prop_map(|(value, ty)| Expression::Cast(value, ty)),
            1 => (boxed.clone(), boxed.clone()).prop_map(|(array, number)| Expression::Element(array, number)),
            1 => vec(inner.clone(), 0..4).prop_map(Expression::Array),
            1 => (vec((inner.clone(), inner.clone()), 1..3), option::of(boxed))
                .prop_map(|(branches, otherwise)| Expression::Case(branches, otherwise)),
            2 => call(inner),
        ]
    })
    .boxed()
}

const UNARY: &[Unary] = &[Unary::Negate, Unary::Not, Unary::IsNull, Unary::IsNotNull];
const BINARY: &[Binary] = &[
    Binary::Or,
    Binary::And,
    Binary::Equal,
    Binary::NotEqual,
    Binary::Less,
    Binary::LessOrEqual,
    Binary::Greater,
    Binary::GreaterOrEqual,
    Binary::NotDistinct,
    Binary::Distinct,
    Binary::Concatenate,
    Binary::Add,
    Binary::Subtract,
    Binary::Multiply,
    Binary::Divide,
    Binary::Remainder,
];

fn drawn() -> impl Strategy<Value = Expression> {
    let next = name().prop_map(|sequence| {
        Expression::Call(Function::NextValue, vec![Expression::Constant(Constant::Text(sequence))])
    });
    prop_oneof![select(vec![Function::Now, Function::Random]).prop_map(|of| Expression::Call(of, Vec::new())), next]
}

fn call(argument: impl Strategy<Value = Expression> + Clone) -> impl Strategy<Value = Expression> {
    let functions = Function::ALL.iter().filter(|(of, ..)| *of != Function::NextValue).collect::<Vec<_>>();
    (select(functions), vec(argument, 4)).prop_flat_map(|((function, _, least, most), arguments)| {
        (*least..=(*most).min(4)).prop_map(move |count| Expression::Call(*function, arguments[..count].to_vec()))
    })
}

fn constant() -> impl Strategy<Value = Constant> {
    let numeric_max = 10_i64.pow(18) - 1;
    let int = prop_oneof![select(vec![i64::MIN, i64::MAX, 0, -1]), -20..20_i64, any::<i64>()];
    let special = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.5, -2e300, f64::MIN_POSITIVE / 4.0];
    let random = any::<u64>().prop_map(f64::from_bits).prop_filter("another NaN", |float| !float.is_nan());
    prop_oneof![
        Just(Constant::Null),
        any::<bool>().prop_map(Constant::Bool),
        int.prop_map(Constant::Int),
        (-numeric_max..=numeric_max, 0..=18_u8).prop_map(|(digits, scale)| Constant::Numeric(digits, scale)),
        (-300..300_i64, 0..4_u8).prop_map(|(digits, scale)| Constant::Numeric(digits, scale)),
        prop_oneof![select(special), random].prop_map(Constant::Float),
        text().prop_map(Constant::Text),
        vec(any::<u8>(), 0..5).prop_map(Constant::Bytes),
        any::<i64>().prop_map(Constant::Timestamp),
    ]
}

fn text() -> impl Strategy<Value = String> {
    let special =
        ["", "'", "''", "\"", "NaN", "-Infinity", "Infinity", "a\nb", "--", "/* */", "\\n", "\r\n", "größe", ";\t"];
    prop_oneof![select(special.to_vec()).prop_map(str::to_owned), "[a-z' \n]{0,12}", "[a-z ]{60,130}"]
}

/// Returns names: plain ones, keywords, and ones that need quotes.
pub fn name() -> impl Strategy<Value = String> {
    let special =
        ["from", "case", "Name", "a b", "1st", "x\"y", "x", "e1", "timestamp", "abs", "größe", "a.b", "to", "array"];
    prop_oneof![3 => "[a-z_][a-z0-9_]{0,10}", 1 => select(special.to_vec()).prop_map(str::to_owned)]
}

fn names(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<String>> {
    vec(name(), count).prop_map(|names| names.into_iter().enumerate().map(distinct).collect())
}

/// Makes a name one that no other has.
fn distinct((index, name): (usize, String)) -> String {
    if index == 0 { name } else { format!("{name}_{index}_") }
}

fn data_type() -> impl Strategy<Value = DataType> {
    let plain = vec![
        Type::Bool,
        Type::Int16,
        Type::Int32,
        Type::Int64,
        Type::Float64,
        Type::Text,
        Type::Bytes,
        Type::Timestamp,
    ];
    let numeric = (1..=18_u8).prop_flat_map(|precision| (Just(precision), 0..=precision));
    let numeric = numeric.prop_map(|(precision, scale)| Type::Numeric { precision, scale });
    let ty = prop_oneof![3 => select(plain), 1 => numeric];
    (ty, any::<bool>()).prop_map(|(ty, is_array)| DataType { ty, is_array })
}

fn fields(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Field>> {
    (names(count.clone()), vec(data_type(), count.end))
        .prop_map(|(names, types)| names.into_iter().zip(types).map(|(name, ty)| Field { name, ty }).collect())
}

fn results() -> impl Strategy<Value = Results> {
    prop_oneof![Just(Results::Nothing), fields(1..5).prop_map(Results::Values), fields(1..5).prop_map(Results::Set),]
}

fn range() -> impl Strategy<Value = Range> {
    let bound = || {
        let values = vec(expression(), 1..3);
        option::of((values, any::<bool>()).prop_map(|(values, is_included)| Bound { values, is_included }))
    };
    let limit = option::of(expression());
    (name(), option::of(name()), vec(expression(), 0..3), bound(), bound(), any::<bool>(), limit).prop_map(
        |(table, index, prefix, low, high, is_descending, limit)| Range {
            table,
            index,
            prefix,
            low,
            high,
            is_descending,
            limit,
        },
    )
}

fn pairs() -> impl Strategy<Value = Vec<(String, Expression)>> {
    (names(1..6), vec(expression(), 6)).prop_map(|(names, values)| names.into_iter().zip(values).collect())
}

/// Statements without blocks.
fn simple(results: &Results) -> BoxedStrategy<StatementKind> {
    let value = expression();
    let (let_value, ty) = (option::of(value.clone()), option::of(data_type()));
    let some = |ty: Option<DataType>, value: &Option<Expression>| ty.or(value.is_none().then(|| Type::Int64.into()));
    let mut all = vec![
        (name(), ty, let_value)
            .prop_map(move |(variable, ty, value)| StatementKind::Let { variable, ty: some(ty, &value), value })
            .boxed(),
        (name(), value.clone()).prop_map(|(variable, value)| StatementKind::Set { variable, value }).boxed(),
        (name(), value.clone()).prop_map(|(variable, value)| StatementKind::Append { variable, value }).boxed(),
        (name(), pairs()).prop_map(|(table, values)| StatementKind::Insert { table, values }).boxed(),
        (name(), pairs()).prop_map(|(table, values)| StatementKind::Upsert { table, values }).boxed(),
        (range(), option::of(name())).prop_map(|(range, count)| StatementKind::DeleteAll { range, count }).boxed(),
        ("[A-Z1-9]{5}", value.clone())
            .prop_map(|(sqlstate, message)| StatementKind::Abort { sqlstate, message })
            .boxed(),
        (name(), vec(value.clone(), 0..4), names(0..4))
            .prop_map(|(procedure, arguments, into)| StatementKind::Call { procedure, arguments, into, body: None })
            .boxed(),
    ];
    let count = results.fields().len();
    match results {
        Results::Set(_) => {
            all.push(vec(value, count).prop_map(|values| StatementKind::Emit { values }).boxed());
            all.push(Just(StatementKind::Return { values: Vec::new() }).boxed());
        }
        _ => all.push(vec(value, count).prop_map(|values| StatementKind::Return { values }).boxed()),
    }
    proptest::strategy::Union::new(all).boxed()
}

/// Statements about a row, with `inner` where there is none.
fn of_row(inner: &BoxedStrategy<Block>) -> BoxedStrategy<StatementKind> {
    let key = vec(expression(), 1..4);
    let otherwise = option::of(inner.clone());
    prop_oneof![
        (name(), key.clone(), name(), otherwise.clone()).prop_map(|(table, key, row, otherwise)| StatementKind::Get {
            table,
            key,
            row,
            otherwise
        }),
        (range(), name(), otherwise.clone()).prop_map(|(range, row, otherwise)| StatementKind::First {
            range,
            row,
            otherwise
        }),
        (name(), pairs(), otherwise.clone()).prop_map(|(table, values, otherwise)| StatementKind::Replace {
            table,
            values,
            otherwise
        }),
        (name(), key.clone(), option::of(name()), pairs(), otherwise.clone()).prop_map(
            |(table, key, row, changes, otherwise)| StatementKind::Update { table, key, row, changes, otherwise }
        ),
        (name(), key, option::of(name()), otherwise).prop_map(|(table, key, row, otherwise)| StatementKind::Delete {
            table,
            key,
            row,
            otherwise
        }),
    ]
    .boxed()
}

/// Statements with blocks in them.
fn compound(inner: &BoxedStrategy<Block>) -> BoxedStrategy<StatementKind> {
    let (value, body) = (expression(), inner.clone());
    // A loop may be left where it stands, whatever is in it.
    let looped = (body.clone(), option::of(any::<bool>())).prop_map(|(mut body, jump)| {
        let jump = jump.map(|is_break| if is_break { StatementKind::Break } else { StatementKind::Continue });
        body.extend(jump.map(Statement::from));
        body
    });
    let looped = looped.boxed();
    let catch = (option::of("[A-Z1-9]{2}([A-Z0-9]{3})?"), option::of(name()), body.clone())
        .prop_map(|(sqlstate, error, body)| Catch { sqlstate, error, body });
    let otherwise = prop_oneof![Just(Block::new()), body.clone()];
    prop_oneof![
        (vec((value.clone(), body.clone()), 1..4), otherwise)
            .prop_map(|(branches, otherwise)| StatementKind::If { branches, otherwise }),
        (value.clone(), looped.clone()).prop_map(|(condition, body)| StatementKind::While { condition, body }),
        (name(), value.clone(), value.clone(), looped.clone())
            .prop_map(|(variable, from, to, body)| StatementKind::For { variable, from, to, body }),
        (names(1..4), vec(value.clone(), 4), looped.clone()).prop_map(|(variables, mut arrays, body)| {
            arrays.truncate(variables.len());
            StatementKind::ForEach { variables, arrays, body }
        }),
        (name(), range(), looped.clone()).prop_map(|(row, range, body)| StatementKind::ForRows { row, range, body }),
        (body, vec(catch, 1..3)).prop_map(|(body, catches)| StatementKind::Try { body, catches }),
        (name(), vec(value, 0..3), names(1..4), looped).prop_map(|(procedure, arguments, into, body)| {
            StatementKind::Call { procedure, arguments, into, body: Some(body) }
        }),
    ]
    .boxed()
}

fn block(results: &Results) -> BoxedStrategy<Block> {
    let simple = simple(results);
    let leaf = vec(simple.clone().prop_map(Statement::from), 0..3);
    let mut block: BoxedStrategy<Block> = leaf.boxed();
    for _ in 0..3 {
        let kind = prop_oneof![3 => simple.clone(), 2 => of_row(&block), 2 => compound(&block)];
        block = vec(kind.prop_map(Statement::from), 0..4).boxed();
    }
    block
}
