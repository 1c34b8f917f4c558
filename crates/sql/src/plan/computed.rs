//! Expressions of indexes, and conditions of partial ones, in the conditions of a query.
//!
//! Invariant: an expression is taken for a computed column only over a row of the table itself, where both have the same value: a
//! column of a partial index is in no other one, and such an index is read only where its condition holds.

use std::cmp::Ordering;
use std::ops::Range;

use crate::catalog::notes::Computed;
use crate::catalog::relation::Relation;
use crate::datum::Datum;
use crate::expr::{Comparison, Expr};

/// The computed columns of a table whose columns have certain positions in the conditions at hand.
pub(crate) struct ComputedColumns {
    /// Each column of the table with its expression over those positions.
    expressions: Vec<(usize, Expr)>,
    /// Each column that is first in partial indexes, with the parts of their condition.
    predicates: Vec<(usize, Vec<Expr>)>,
}

impl ComputedColumns {
    pub(crate) fn of(relation: &Relation, columns: &Range<usize>) -> ComputedColumns {
        let mut found = ComputedColumns { expressions: Vec::new(), predicates: Vec::new() };
        for meaning in relation.meanings() {
            let mut expr = meaning.expr.clone();
            expr.move_columns(&|at| columns.start + at);
            match meaning.computed {
                Computed::Expression => found.expressions.push((meaning.column, expr)),
                Computed::Predicate => found.predicates.push((meaning.column, parts(expr))),
            }
        }
        found
    }

    /// The columns of the table that have the value of an expression, those of a partial index only where its condition holds.
    pub(crate) fn columns_of(&self, expr: &Expr) -> impl Iterator<Item = usize> {
        self.expressions.iter().filter(|(_, known)| is_same(known, expr)).map(|(column, _)| *column)
    }

    /// The columns that are true in all rows of which the conditions hold, each with the position of a condition that says a part
    /// of that. `is_exact`: the condition is that part itself, and says no more.
    pub(crate) fn held(&self, conditions: &[&Expr], is_exact: bool) -> Vec<(usize, usize)> {
        let implied_by = |part: &Expr| {
            let is_it = |condition: &&Expr| if is_exact { is_same(condition, part) } else { implies(condition, part) };
            conditions.iter().position(is_it)
        };
        let held = |(column, parts): &(usize, Vec<Expr>)| {
            let places = parts.iter().map(implied_by).collect::<Option<Vec<_>>>()?;
            Some((*column, *places.first()?))
        };
        self.predicates.iter().filter_map(held).collect()
    }
}

/// What all holds where a condition does.
fn parts(condition: Expr) -> Vec<Expr> {
    match condition {
        Expr::And(parts) => parts.into_iter().flat_map(self::parts).collect(),
        other => vec![other],
    }
}

/// Whether two expressions are the same to the last digit: equal numbers may be shown in other ways, as 1.0 and 1.00.
fn is_same(one: &Expr, other: &Expr) -> bool {
    one == other && (matches!(one, Expr::Column(_)) || format!("{one:?}") == format!("{other:?}"))
}

/// Whether `part` is true wherever `condition` is.
fn implies(condition: &Expr, part: &Expr) -> bool {
    if is_same(condition, part) {
        return true;
    }
    match condition {
        Expr::And(conditions) => return conditions.iter().any(|one| implies(one, part)),
        Expr::Or(alternatives) => return alternatives.iter().all(|one| implies(one, part)),
        Expr::InList(list, false) if !matches!(part, Expr::InList(..)) => {
            let equal = |value: &Expr| Expr::Compare(Box::new((Comparison::Equal, list.0.clone(), value.clone())));
            if list.1.iter().all(|value| implies(&equal(value), part)) {
                return true;
            }
        }
        _ => {}
    }
    match part {
        Expr::Or(alternatives) => alternatives.iter().any(|one| implies(condition, one)),
        Expr::Not(within) => match &**within {
            Expr::IsNull(value) => is_strict_in(condition, value),
            value => says(condition, value, false),
        },
        Expr::InList(list, false) => {
            let has = |value: &Expr| list.1.contains(value);
            match condition {
                Expr::InList(own, false) => is_same(&own.0, &list.0) && own.1.iter().all(has),
                _ => compared(condition, &list.0)
                    .is_some_and(|(comparison, value)| comparison == Comparison::Equal && has(value)),
            }
        }
        Expr::Compare(parts) => match &**parts {
            (Comparison::Equal, value, Expr::Constant(Datum::Bool(wanted)))
            | (Comparison::Equal, Expr::Constant(Datum::Bool(wanted)), value) => says(condition, value, *wanted),
            _ => bounds(condition, part),
        },
        value => says(condition, value, true),
    }
}

/// Whether a condition says that an expression is true, or false.
fn says(condition: &Expr, value: &Expr, wanted: bool) -> bool {
    match condition {
        Expr::Not(within) if !wanted => is_same(within, value),
        Expr::Is(within, is) => *is == wanted && is_same(within, value),
        Expr::Compare(_) => compared(condition, value).is_some_and(|(comparison, said)| {
            comparison == Comparison::Equal && *said == Expr::Constant(Datum::Bool(wanted))
        }),
        other => wanted && is_same(other, value),
    }
}

/// What a condition compares an expression with.
fn compared<'c>(condition: &'c Expr, value: &Expr) -> Option<(Comparison, &'c Expr)> {
    let Expr::Compare(parts) = condition else { return None };
    match &**parts {
        (comparison, left, right) if is_same(left, value) => Some((*comparison, right)),
        (comparison, left, right) if is_same(right, value) => Some((comparison.swapped(), left)),
        _ => None,
    }
}

/// Whether a condition is true only where an expression is not NULL.
fn is_strict_in(condition: &Expr, value: &Expr) -> bool {
    match condition {
        Expr::Compare(_) => compared(condition, value).is_some(),
        Expr::InList(list, _) => is_same(&list.0, value),
        Expr::Quantified(parts, false) => is_same(&parts.1, value),
        _ => says(condition, value, true) || says(condition, value, false),
    }
}

/// Whether a comparison of an expression with a constant follows from another one.
fn bounds(condition: &Expr, part: &Expr) -> bool {
    let Expr::Compare(parts) = part else { return false };
    let (wanted, value, limit) = match &**parts {
        (wanted, value, Expr::Constant(limit)) => (*wanted, value, limit),
        (wanted, Expr::Constant(limit), value) => (wanted.swapped(), value, limit),
        _ => return false,
    };
    let Some((said, Expr::Constant(known))) = compared(condition, value) else { return false };
    if std::mem::discriminant(known) != std::mem::discriminant(limit) {
        return false;
    }
    let Some(order) = known.compare(limit) else { return false };
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    match (said, wanted) {
        (Equal, wanted) => wanted.holds(order),
        (Greater, Greater | GreaterOrEqual) | (GreaterOrEqual, GreaterOrEqual) => order != Ordering::Less,
        (GreaterOrEqual, Greater | NotEqual) => order == Ordering::Greater,
        (Greater, NotEqual) => order != Ordering::Less,
        (Less, Less | LessOrEqual) | (LessOrEqual, LessOrEqual) => order != Ordering::Greater,
        (LessOrEqual, Less | NotEqual) => order == Ordering::Less,
        (Less, NotEqual) => order != Ordering::Greater,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::value::numeric::Numeric;

    fn column(at: usize) -> Expr {
        Expr::Column(at)
    }

    fn is(comparison: Comparison, at: usize, value: i64) -> Expr {
        Expr::Compare(Box::new((comparison, column(at), Expr::Constant(Datum::Int(value)))))
    }

    fn not(expr: Expr) -> Expr {
        Expr::Not(Box::new(expr))
    }

    /// Which of three numbers a condition holds of, as far as it is a comparison of one column.
    fn holds(condition: &Expr, value: i64) -> bool {
        let Expr::Compare(parts) = condition else { panic!("a comparison") };
        let (comparison, _, Expr::Constant(Datum::Int(limit))) = &**parts else { panic!("with a number") };
        comparison.holds(value.cmp(limit))
    }

    #[test]
    fn bounds_follow_from_bounds() {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let all = [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual];
        let mut count = 0;
        for (said, wanted) in all.into_iter().flat_map(|said| all.map(|wanted| (said, wanted))) {
            for (known, limit) in (0..4).flat_map(|known| (0..4).map(move |limit| (known, limit))) {
                let (condition, part) = (is(said, 0, known), is(wanted, 0, limit));
                if implies(&condition, &part) {
                    count += 1;
                    // Whole numbers alone say more than what holds of all numbers.
                    let follows = (-1..6).all(|value| !holds(&condition, value) || holds(&part, value));
                    assert!(follows, "{said:?} {known} does not say {wanted:?} {limit}");
                }
            }
        }
        assert!(count > 150, "only {count}");
        assert!(!implies(&is(Equal, 1, 2), &is(Equal, 0, 2)), "of another column");
        assert!(!implies(&is(Equal, 0, 2), &Expr::Compare(Box::new((Less, column(0), Expr::Constant(Datum::Null))))));
    }

    #[test]
    fn a_condition_says_its_parts() {
        use Comparison::{Equal, Greater};
        let both = Expr::And(vec![is(Greater, 0, 5), column(1)]);
        let one_of = |numbers: &[i64]| {
            let values = numbers.iter().map(|number| Expr::Constant(Datum::Int(*number)));
            Expr::InList(Box::new((column(0), values.collect())), false)
        };
        let there = |at| not(Expr::IsNull(Box::new(column(at))));
        assert!(implies(&both, &is(Greater, 0, 3)) && implies(&both, &column(1)) && !implies(&both, &column(2)));
        assert!(implies(&both, &Expr::Or(vec![column(2), column(1)])));
        assert!(!implies(&Expr::Or(vec![column(2), column(1)]), &column(1)));
        assert!(implies(&Expr::Or(vec![is(Equal, 0, 7), is(Equal, 0, 8)]), &is(Greater, 0, 3)));
        assert!(implies(&is(Equal, 0, 7), &there(0)) && !implies(&is(Equal, 0, 7), &there(1)));
        assert!(implies(&one_of(&[1, 2]), &there(0)) && implies(&one_of(&[1, 2]), &one_of(&[2, 3, 1])));
        assert!(implies(&one_of(&[4, 5]), &is(Greater, 0, 3)) && !implies(&one_of(&[3, 4]), &is(Greater, 0, 3)));
        assert!(!implies(&one_of(&[1, 4]), &one_of(&[2, 3, 1])) && implies(&is(Equal, 0, 2), &one_of(&[2, 3])));
        assert!(implies(&Expr::Is(Box::new(column(1)), true), &column(1)));
        assert!(implies(&Expr::Is(Box::new(column(1)), false), &not(column(1))));
        assert!(!implies(&Expr::Is(Box::new(column(1)), false), &column(1)) && !implies(&not(column(1)), &column(1)));
        assert!(!implies(&there(0), &is(Equal, 0, 7)) && !implies(&there(1), &column(1)));
    }

    #[test]
    fn numbers_that_are_shown_in_other_ways_are_others() {
        let number = |text: &str| Expr::Constant(Datum::Numeric(Arc::new(Numeric::parse(text).expect("a number"))));
        assert!(number("1.0") == number("1.00") && !is_same(&number("1.0"), &number("1.00")));
    }
}
