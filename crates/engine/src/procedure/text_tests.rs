//! What is printed is parsed.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::program::{Block, Program};
use super::programs_for_tests::{expression, program};

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs_are_parsed_from_what_is_printed(program in program()) {
        program.check_form().unwrap();
        let text = program.to_string();
        let parsed = Program::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(&parsed, &program, "{}", text);
        parsed.check_form().unwrap();
        prop_assert_eq!(parsed.to_string(), text);
    }

    #[test]
    fn expressions_are_parsed_from_what_is_printed(expression in expression()) {
        let text = format!("procedure p() {{ set x = {expression}; }}");
        let parsed = Program::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(parsed.body[0].expressions(), vec![&expression], "{}", text);
    }
}

/// Adds the first words of statements.
fn add_words(block: &Block, words: &mut BTreeSet<String>) {
    for statement in block {
        words.extend(statement.summary().split(' ').next().map(str::to_owned));
        statement.blocks().into_iter().for_each(|block| add_words(block, words));
    }
}

#[test]
fn random_programs_have_every_statement() {
    let mut runner = TestRunner::deterministic();
    let mut words = BTreeSet::new();
    for _ in 0..300 {
        let program = program().new_tree(&mut runner).expect("a program").current();
        add_words(&program.body, &mut words);
    }
    let all = "abort append break call continue delete emit first for foreach get if insert let replace return set try \
               update upsert while";
    assert_eq!(words, all.split(' ').map(str::to_owned).collect());
}
