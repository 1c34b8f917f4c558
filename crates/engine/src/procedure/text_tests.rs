//! What is printed is parsed.

use proptest::prelude::*;

use super::program::Program;
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
