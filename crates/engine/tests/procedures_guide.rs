//! The code of docs/procedures.md is that of the example `bank`, and that does what the page says.

use std::fs;
use std::path::Path;

use osier::procedure::program::Program;
use osier::table::Datum;
use osier::{Create, Database};

#[path = "../examples/bank.rs"]
mod bank;

const GUIDE: &str = include_str!("../../../docs/procedures.md");
const EXAMPLE: &str = include_str!("../examples/bank.rs");
const PROCEDURES: &str = include_str!("../examples/bank.procedures");

/// The fenced blocks of the page in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let fences = GUIDE.split(&fence).skip(1);
    fences.map(|after| after.split_once("```").expect("a block ends").0).collect()
}

#[test]
fn the_page_shows_the_example() {
    let (code, procedures) = (blocks("rust"), blocks("procedure"));
    assert!(code.len() >= 6 && procedures.len() >= 3, "{} and {}", code.len(), procedures.len());
    for block in code {
        // The test below calls it; the page need not say so.
        assert!(EXAMPLE.replace("pub(crate) fn", "fn").contains(block), "not in examples/bank.rs:\n{block}");
    }
    for block in &procedures {
        assert!(PROCEDURES.contains(block), "not in examples/bank.procedures:\n{block}");
    }
    let known = Program::parse_all(PROCEDURES).expect("procedures").len();
    assert_eq!(known, procedures.len(), "the page shows them all");
    let fences = GUIDE.lines().filter(|line| line.starts_with("```") && *line != "```");
    assert!(
        // What commands print is shown as a text.
        fences.into_iter().all(|fence| matches!(fence, "```rust" | "```procedure" | "```console" | "```text")),
        "all code and commands are tested"
    );
}

#[test]
fn the_example_does_what_it_says() {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("procedures_guide");
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&home).expect("a directory of this test");
    // The sample names its database relative to where it runs. Nothing else in this program looks at the working directory.
    std::env::set_current_dir(&home).expect("it exists");
    let config = || osier::Config::new("bank.osier").protocol(osier::Protocol::Gsn).create(Create::Never);
    let mut before = None;
    for run in ["first", "second"] {
        bank::main().unwrap_or_else(|error| panic!("the {run} run of the sample: {error}"));
        let db = Database::open_with(config(), bank::functions()).expect("it opens");
        let (output, _) = db.session().expect("a session").call("total", &["Ada".into()]).expect("a call");
        let &[Datum::Numeric(total), Datum::Int(1)] = &*output.rows()[0] else { panic!("{output:?}") };
        // Of each run: 25.50 and 1 withdrawn, 50 deposited, by calls that the second run's recovery ran again.
        assert_eq!(before.map(|before| total - before).unwrap_or(2350), 2350);
        assert!((12_350..15_700).contains(&total), "{total}");
        before = Some(total);
        db.close().expect("it closes");
    }
}
