//! Which columns are equal in all rows of an inner join: what two equalities say of a third one.
//!
//! Invariants:
//! - Columns that are taken together have types whose values compare in one way, so that equality is transitive among them.
//! - Conditions that are left and the classes together say what the conditions said: where a value is known each column of its
//!   class is compared with that, else the classes stand for the equalities of columns.

use crate::expr::{Comparison, Expr};
use crate::types::Type;

/// What conditions of an inner join say.
pub(super) struct Equalities {
    /// Columns that are equal to each other, ascending; two or more.
    pub(super) classes: Vec<Vec<usize>>,
    /// What else they say.
    pub(super) conditions: Vec<Expr>,
}

/// The type that stands for all whose values compare with each other.
pub(super) fn compared_as(ty: Type) -> Type {
    match ty {
        Type::Int2 | Type::Int4 => Type::Int8,
        Type::Varchar => Type::Text,
        other => other,
    }
}

/// That two expressions are equal.
pub(super) fn equal(a: Expr, b: Expr) -> Expr {
    Expr::Compare(Box::new((Comparison::Equal, a, b)))
}

/// Takes equalities of columns out of conditions. `type_of` says the type of a column, where it is known.
pub(super) fn split(conditions: Vec<Expr>, type_of: &dyn Fn(usize) -> Option<Type>) -> Equalities {
    let mut classes: Vec<Vec<usize>> = Vec::new();
    let mut left = Vec::with_capacity(conditions.len());
    for condition in conditions {
        match columns(&condition, type_of) {
            Some((a, b)) => unite(&mut classes, a, b),
            None => left.push(condition),
        }
    }
    classes.retain_mut(|class| {
        class.sort_unstable();
        !give_value(class, &mut left)
    });
    Equalities { classes, conditions: left }
}

/// The columns that a condition says are equal.
fn columns(condition: &Expr, type_of: &dyn Fn(usize) -> Option<Type>) -> Option<(usize, usize)> {
    let Expr::Compare(parts) = condition else { return None };
    let (Comparison::Equal, Expr::Column(a), Expr::Column(b)) = &**parts else { return None };
    let (one, other) = (compared_as(type_of(*a)?), compared_as(type_of(*b)?));
    (a != b && one == other).then_some((*a, *b))
}

fn unite(classes: &mut Vec<Vec<usize>>, a: usize, b: usize) {
    let find = |classes: &[Vec<usize>], column| classes.iter().position(|class| class.contains(&column));
    match (find(classes, a), find(classes, b)) {
        (Some(one), Some(other)) if one == other => {}
        (Some(one), Some(other)) => {
            let moved = classes.remove(one.max(other));
            classes[one.min(other)].extend(moved);
        }
        (Some(one), None) => classes[one].push(b),
        (None, Some(other)) => classes[other].push(a),
        (None, None) => classes.push(vec![a, b]),
    }
}

/// Says of each column of a class that it has the value which one of them has, if one has. Returns whether it does.
fn give_value(class: &[usize], conditions: &mut Vec<Expr>) -> bool {
    let found = conditions.iter().enumerate().find_map(|(at, condition)| {
        let (column, value) = column_and_value(condition)?;
        class.contains(&column).then(|| (at, column, value.clone()))
    });
    let Some((at, given, value)) = found else { return false };
    let others = class.iter().filter(|column| **column != given);
    let derived: Vec<Expr> = others.map(|column| equal(Expr::Column(*column), value.clone())).collect();
    for condition in derived.into_iter().rev() {
        if !conditions.contains(&condition) {
            conditions.insert(at + 1, condition);
        }
    }
    true
}

/// A column and the value that a condition says it has.
fn column_and_value(condition: &Expr) -> Option<(usize, &Expr)> {
    let Expr::Compare(parts) = condition else { return None };
    let (column, value) = match &**parts {
        (Comparison::Equal, Expr::Column(at), value) | (Comparison::Equal, value, Expr::Column(at)) => (*at, value),
        _ => return None,
    };
    matches!(value, Expr::Constant(_) | Expr::Parameter(_) | Expr::Register(_)).then_some((column, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datum::Datum;

    fn column(at: usize) -> Expr {
        Expr::Column(at)
    }

    fn split_ints(conditions: Vec<Expr>) -> Equalities {
        split(conditions, &|at| Some(if at < 10 { Type::Int4 } else { Type::Text }))
    }

    #[test]
    fn columns_that_are_equal_to_one_are_equal_to_each_other() {
        let found =
            split_ints(vec![equal(column(0), column(3)), equal(column(5), column(3)), equal(column(1), column(2))]);
        assert_eq!(found.classes, [vec![0, 3, 5], vec![1, 2]]);
        assert!(found.conditions.is_empty());
    }

    #[test]
    fn classes_grow_together() {
        let found =
            split_ints(vec![equal(column(0), column(1)), equal(column(2), column(3)), equal(column(3), column(0))]);
        assert_eq!(found.classes, [vec![0, 1, 2, 3]]);
    }

    #[test]
    fn a_value_is_that_of_all_columns_of_its_class() {
        let seven = || Expr::Constant(Datum::Int(7));
        let found =
            split_ints(vec![equal(column(0), column(1)), equal(seven(), column(1)), equal(column(1), column(2))]);
        assert!(found.classes.is_empty());
        assert_eq!(found.conditions, [equal(seven(), column(1)), equal(column(0), seven()), equal(column(2), seven())]);
    }

    #[test]
    fn columns_of_other_types_stay_apart() {
        let condition = equal(column(0), column(10));
        let found = split_ints(vec![condition.clone()]);
        assert_eq!((found.classes.len(), found.conditions), (0, vec![condition]));
    }
}
