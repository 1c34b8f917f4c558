//! The README's sample is the example `accounts`, and that does what the README says.

use std::fs;
use std::path::Path;

use osier::table::Value;
use osier::{Config, Create, Database};

#[path = "../examples/accounts.rs"]
mod accounts;

const EXAMPLE: &str = include_str!("../examples/accounts.rs");
const README: &str = include_str!("../../../README.md");

#[test]
fn the_readme_shows_the_example() {
    let (_, after) = README.split_once("```rust\n").expect("the README has a sample");
    let (sample, _) = after.split_once("```").expect("the sample ends");
    // The test below calls it; the README need not say so.
    let example = EXAMPLE.replace("pub(crate) fn main", "fn main");
    let code: Vec<&str> = example.lines().skip_while(|line| line.is_empty() || line.starts_with("//!")).collect();
    assert_eq!(sample.lines().collect::<Vec<_>>(), code, "README.md and crates/engine/examples/accounts.rs differ");
}

#[test]
fn the_sample_commits_what_it_says() {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&home).expect("a directory of this test");
    // The sample names its database relative to where it runs. Nothing else in this program looks at the working directory.
    std::env::set_current_dir(&home).expect("it exists");
    for run in ["first", "second"] {
        accounts::main().unwrap_or_else(|error| panic!("the {run} run of the sample: {error}"));
    }

    let db = Database::open(Config::new("accounts.osier").create(Create::Never)).expect("it opens again");
    let account = db.table("account").expect("it is defined");
    let cents = account.column("cents").expect("it has the column");
    let (found, _) = db
        .run(|tx| Ok::<_, osier::Error>(tx.get(&account, &[Value::Int(1)])?.map(|row| row.int(cents))))
        .expect("the row can be read");
    assert_eq!(found, Some(300));
    db.close().expect("it closes");
}
