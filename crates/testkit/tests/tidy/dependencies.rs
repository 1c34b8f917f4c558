//! What the program is made of: licences and sources of the packages that it is built from, and the features of what ships.
//!
//! Absent: advisories. Their database is not in a package registry, so a check that needs no other network cannot read it.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::root;

/// The licences that a dependency may be used under.
const LICENCES: &[&str] =
    &["Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-3-Clause", "ISC", "MIT", "Unicode-3.0", "Zlib"];

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The packages that make the binary and the library.
const SHIPPED: &[&str] = &["osier", "osier-memory", "osier-bench", "osier-sql", "osier-server"];

/// What is wrong with the packages of `cargo metadata` that are part of the build: their licence or where they come from.
fn bad_packages(metadata: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let used: BTreeSet<String> =
        list(&metadata["resolve"]["nodes"]).iter().map(|node| node["id"].to_string()).collect();
    let mut bad = Vec::new();
    for package in list(&metadata["packages"]).iter().filter(|package| used.contains(&package["id"].to_string())) {
        let name = format!("{} {}", package["name"], package["version"]).replace('"', "");
        let licence = package["license"].as_str().unwrap_or_default();
        if !is_allowed(licence) {
            bad.push(format!("{name} has the licence `{licence}`, which is not one of {}", LICENCES.join(", ")));
        }
        if package["source"].as_str().is_some_and(|source| source != REGISTRY) {
            bad.push(format!("{name} comes from {}, which is not the registry", package["source"]));
        }
    }
    bad
}

/// Tells whether an SPDX expression leaves a choice of which every part is allowed. `/` is an old way to write OR.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut tokens: Vec<&str> = spaced.split_whitespace().rev().collect();
    alternatives(&mut tokens).is_some_and(|allowed| allowed && tokens.is_empty())
}

/// Parses `a OR b ...` off the end of the reversed tokens; `None` where it is malformed.
fn alternatives(tokens: &mut Vec<&str>) -> Option<bool> {
    let mut allowed = conjunction(tokens)?;
    while tokens.pop_if(|token| *token == "OR").is_some() {
        allowed |= conjunction(tokens)?;
    }
    Some(allowed)
}

fn conjunction(tokens: &mut Vec<&str>) -> Option<bool> {
    let mut allowed = licence(tokens)?;
    while tokens.pop_if(|token| *token == "AND").is_some() {
        allowed &= licence(tokens)?;
    }
    Some(allowed)
}

fn licence(tokens: &mut Vec<&str>) -> Option<bool> {
    let first = tokens.pop()?;
    if first == "(" {
        let allowed = alternatives(tokens)?;
        return tokens.pop_if(|token| *token == ")").map(|_| allowed);
    }
    if tokens.pop_if(|token| *token == "WITH").is_some() {
        let exception = tokens.pop()?;
        return Some(LICENCES.contains(&format!("{first} WITH {exception}").as_str()));
    }
    Some(LICENCES.contains(&first))
}

/// The features, other than `default`, of our own packages in what `cargo tree --edges features` prints.
fn own_features(tree: &str) -> BTreeSet<String> {
    let named =
        tree.lines().filter_map(|line| line.trim_start_matches([' ', '│', '├', '└', '─']).split_once(" feature \""));
    let own = named.filter(|(package, _)| SHIPPED.contains(package));
    let features = own.filter_map(|(package, rest)| Some((package, rest.split_once('"')?.0)));
    features
        .filter(|(_, feature)| *feature != "default")
        .map(|(package, feature)| format!("{package}/{feature}"))
        .collect()
}

/// Runs cargo on the locked versions. It asks the registry only for a package that no build has needed so far.
fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo).args(arguments).arg("--locked").current_dir(root()).output();
    let output = output.expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

#[test]
fn every_dependency_is_free_and_from_the_registry() {
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let text = cargo(&["metadata", "--format-version", "1", "--filter-platform", &host]);
    let metadata: Value = serde_json::from_str(&text).expect("cargo prints JSON");
    assert!(metadata["packages"].as_array().is_some_and(|packages| packages.len() > SHIPPED.len()));
    let bad = bad_packages(&metadata);
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Cargo unifies features over a workspace, so that the tests of the whole workspace run another program than the one that ships.
/// `.ci/run` tests these packages alone, too, and here it is shown that this leaves out what only tests may have.
#[test]
fn what_ships_has_no_feature_of_the_tests() {
    let packages = SHIPPED.iter().flat_map(|package| ["-p", package]);
    let arguments: Vec<&str> = ["tree", "--edges", "features"].into_iter().chain(packages).collect();
    let tree = cargo(&arguments);
    assert!(tree.contains("osier feature \"default\""), "cargo tree prints something else now:\n{tree}");
    assert_eq!(own_features(&tree), BTreeSet::new());
}

#[test]
fn ci_tests_what_ships_alone() {
    let packages: String = SHIPPED.iter().map(|package| format!(" -p {package}")).collect();
    let ci = crate::read(".ci/run");
    let wanted = format!("cargo test --locked{packages}");
    assert!(ci.lines().any(|line| line.trim().ends_with(&wanted)), ".ci/run does not run `{wanted}`");
    let builds = ["test", "clippy", "doc", "check"].map(|command| format!("cargo {command} "));
    for line in ci.lines().filter(|line| builds.iter().any(|build| line.contains(build)) && !line.contains("--version"))
    {
        assert!(line.contains("--locked"), "without --locked: {line}");
    }
}

#[test]
fn a_licence_that_is_not_allowed_is_found() {
    for licence in
        ["MIT", "MIT/GPL-3.0", "(MIT OR GPL-2.0) AND Unicode-3.0", "Apache-2.0 WITH LLVM-exception", "GPL-2.0 OR Zlib"]
    {
        assert!(is_allowed(licence), "{licence}");
    }
    for licence in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "MIT WITH LLVM-exception",
        "(MIT",
        "MIT OR",
        "MIT MIT",
        "MIT AND (GPL-2.0 OR SSPL-1.0)",
    ] {
        assert!(!is_allowed(licence), "{licence}");
    }
}

#[test]
fn a_package_from_elsewhere_is_found() {
    let package = |id: &str, licence: &str, source: Value| {
        let mut package = serde_json::json!({ "id": id, "name": id, "version": "1.0.0", "license": licence });
        package["source"] = source;
        package
    };
    let metadata = serde_json::json!({
        "packages": [
            package("ours", "Apache-2.0", Value::Null),
            package("theirs", "MIT", REGISTRY.into()),
            package("git", "MIT", "git+https://example.org/git".into()),
            package("closed", "Proprietary", REGISTRY.into()),
            package("unused", "Proprietary", REGISTRY.into()),
        ],
        "resolve": { "nodes": [{ "id": "ours" }, { "id": "theirs" }, { "id": "git" }, { "id": "closed" }] },
    });
    let bad = bad_packages(&metadata);
    assert_eq!(bad.len(), 2, "{bad:?}");
    assert!(
        bad[0].starts_with("git 1.0.0 comes from") && bad[1].starts_with("closed 1.0.0 has the licence"),
        "{bad:?}"
    );
}

#[test]
fn a_feature_of_the_tests_is_found() {
    let tree = "osier-server v0.1.0\n├── osier feature \"mutations\"\n│   ├── osier feature \"default\" (*)\n\
                │   └── osier-memory feature \"simulated\" (*)\n└── clap feature \"derive\"";
    assert_eq!(own_features(tree), BTreeSet::from(["osier/mutations".to_owned(), "osier-memory/simulated".to_owned()]));
}
