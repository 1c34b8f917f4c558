//! What is listed of the catalog agrees with what is made.

use super::relation::{ALL, Kind};
use crate::bind::{Binder, RowNames};
use crate::settings::Settings;

#[test]
fn views_have_the_columns_that_are_listed() {
    let settings = Settings::default();
    let mut wrong = Vec::new();
    let views = ALL.iter().filter(|relation| matches!(relation.kind, Kind::View(_)));
    for view in views.clone() {
        let text = format!("SELECT * FROM {}.{}", view.schema, view.name);
        let statements = crate::parse::statements(&text).expect("a statement");
        let [sqlparser::ast::Statement::Query(query)] = &statements[..] else { panic!("{text}") };
        let bound = match Binder::new(&RowNames(&[]), &settings, &[]).query(query, None) {
            Ok(bound) => bound,
            Err(error) => {
                wrong.push(format!("{}: {error}", view.name));
                continue;
            }
        };
        let given: Vec<_> = bound.columns.iter().map(|column| (&*column.name, column.declared.ty)).collect();
        let listed: Vec<_> = view.columns.iter().map(|column| (column.name, column.ty)).collect();
        for (given, listed) in given.iter().zip(&listed).filter(|(given, listed)| given != listed) {
            wrong.push(format!("{}: {given:?} in place of {listed:?}", view.name));
        }
        if given.len() != listed.len() {
            wrong.push(format!("{}: {} columns in place of {}", view.name, given.len(), listed.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(views.count() > 30);
}

#[test]
fn numbers_of_relations_are_unique() {
    let mut numbers: Vec<u32> = ALL.iter().map(|relation| relation.oid).collect();
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), count);
}
