//! The engine's folders are floors: each uses what is below it, and nothing above it.
//!
//! An import is judged by the path that it names, in a `use` or anywhere in code, so that no name is taken through a floor
//! that is not there for it. On one floor files may use each other in one direction only; a `mod.rs` and the files of its
//! folder may import each other.
//!
//! Absent: tests, which import from all floors, `lib.rs`, which names everything, and other crates, which have no floors.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::{self, Visit};

use crate::Finding;
use crate::rules::{Source, flatten, is_cfg_test};

/// From the lowest to the highest. A module belongs to the longest of these that it begins with.
pub const FLOORS: &[&str] = &[
    "ids",
    "units",
    "sizes",
    "failpoint",
    "io",
    "config",
    "table",
    "log/format",
    "directory",
    "error",
    "log/acknowledge",
    "log/persist",
    "log/gathering",
    "log/protocol",
    "log",
    "concurrency",
    "procedure",
    "catalog",
    "transaction",
    "call",
    "checkpoint",
    "recovery",
    "database",
    "operate",
    "fuzzing",
];

/// Imports that still go up, or close a circle on one floor: from which module to which. This list gets shorter only.
pub const LEFT: &[(&str, &str)] = &[];

/// Where the modules lie.
const ROOT: &str = "crates/engine/src/";

/// The modules of the engine that ship.
pub struct Modules<'s> {
    floors: &'s [&'s str],
    left: &'s [(&'s str, &'s str)],
    modules: Vec<Module>,
    names: BTreeSet<String>,
}

/// A module that is a file.
struct Module {
    file: String,
    name: String,
    imports: Vec<Import>,
}

/// A path that code names.
struct Import {
    line: usize,
    words: Vec<String>,
    /// The module that the path starts from where it is relative: that of the file, or one within it.
    from: Vec<String>,
}

impl<'s> Modules<'s> {
    /// Reads the sources of the engine; all others, and tests, are left out.
    pub fn new(sources: &[Source], floors: &'s [&'s str], left: &'s [(&'s str, &'s str)]) -> Modules<'s> {
        let is_module = |source: &&Source| {
            source.path.starts_with(ROOT) && !source.is_test() && !source.path.ends_with("_for_tests.rs")
        };
        let modules: Vec<Module> =
            sources.iter().filter(is_module).map(Module::new).filter(|module| module.name != "lib").collect();
        let names = modules.iter().map(|module| module.name.clone()).collect();
        Modules { floors, left, modules, names }
    }

    /// Every broken rule, with its file.
    pub fn check(&self) -> Vec<(String, Finding)> {
        let mut findings = Vec::new();
        for floor in self.floors.iter().filter(|floor| !self.names.iter().any(|name| is_within(name, floor))) {
            findings.push((ROOT.to_owned(), Finding::new(0, format!("there is nothing on the floor `{floor}`"))));
        }
        let mut left: BTreeSet<_> = self.left.iter().copied().collect();
        let mut same_floor: BTreeMap<&str, BTreeMap<&str, (&Module, usize)>> = BTreeMap::new();
        for module in &self.modules {
            let Some(own) = self.floor(&module.name) else {
                findings.push((module.file.clone(), Finding::new(1, "it is on no floor: put it on one of FLOORS")));
                continue;
            };
            for import in &module.imports {
                let Some(target) = self.resolve(import) else { continue };
                if self.left.contains(&(&module.name, target)) {
                    left.remove(&(&module.name, target));
                    continue;
                }
                let path = import.words.join("::");
                match self.floor(target) {
                    None => {
                        let what = format!("`{path}` is the name that `lib.rs` exports; import it from its floor");
                        findings.push((module.file.clone(), Finding::new(import.line, what)));
                    }
                    Some(floor) if floor > own => {
                        let (own, floor) = (self.floors[own], self.floors[floor]);
                        let what = format!("`{path}` goes up, from the floor `{own}` to `{floor}`");
                        findings.push((module.file.clone(), Finding::new(import.line, what)));
                    }
                    Some(floor) if floor == own && !is_kin(&module.name, target) => {
                        same_floor.entry(&module.name).or_default().entry(target).or_insert((module, import.line));
                    }
                    Some(_) => {}
                }
            }
        }
        findings.extend(circles(&same_floor));
        for (from, to) in left {
            findings
                .push((ROOT.to_owned(), Finding::new(0, format!("`{from}` does not import `{to}`: take it off LEFT"))));
        }
        findings
    }

    /// The number of the floor of a module.
    fn floor(&self, name: &str) -> Option<usize> {
        let is_on = |(_, floor): &(usize, &&str)| is_within(name, floor);
        let on = self.floors.iter().enumerate().filter(is_on).max_by_key(|(_, floor)| floor.len());
        on.map(|(number, _)| number)
    }

    /// The module that an import leads to: the file's, or `""` for the crate itself. `None` where it names another crate.
    fn resolve(&self, import: &Import) -> Option<&str> {
        let Import { words, from, .. } = import;
        let mut named = match words[0].as_str() {
            "crate" => words[1..].to_vec(),
            "self" => [from, &words[1..]].concat(),
            "super" => {
                let ups = words.iter().take_while(|word| *word == "super").count();
                [&from[..from.len().saturating_sub(ups)], &words[ups..]].concat()
            }
            _ if self.names.contains(&[from, &words[..1]].concat().join("/")) => [from, words.as_slice()].concat(),
            _ => return None,
        };
        while !named.is_empty() {
            if let Some(name) = self.names.get(&named.join("/")) {
                return Some(name);
            }
            named.pop();
        }
        Some("")
    }
}

/// Whether a module is that of `folder` or below it.
fn is_within(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether one of two modules is in the folder of the other.
fn is_kin(a: &str, b: &str) -> bool {
    is_within(a, b) || is_within(b, a)
}

/// A finding for each import that leads, over others of its floor, back to where it is.
fn circles(edges: &BTreeMap<&str, BTreeMap<&str, (&Module, usize)>>) -> Vec<(String, Finding)> {
    let leads_back = |from: &str, to: &str| {
        let (mut open, mut seen) = (vec![to], BTreeSet::new());
        while let Some(at) = open.pop() {
            if at == from {
                return true;
            }
            if seen.insert(at) {
                open.extend(edges.get(at).into_iter().flat_map(BTreeMap::keys));
            }
        }
        false
    };
    let mut findings = Vec::new();
    for (from, targets) in edges {
        for (to, (module, line)) in targets.iter().filter(|(to, _)| leads_back(from, to)) {
            let what = format!("`{from}` imports `{to}`, which leads back to it on the same floor");
            findings.push((module.file.clone(), Finding::new(*line, what)));
        }
    }
    findings
}

impl Module {
    fn new(source: &Source) -> Module {
        let name = source.path.trim_start_matches(ROOT).trim_end_matches(".rs").trim_end_matches("/mod").to_owned();
        let mut walk = Walk { module: name.split('/').map(str::to_owned).collect(), imports: Vec::new() };
        walk.items(&source.file.items);
        Module { file: source.path.clone(), name, imports: walk.imports }
    }
}

/// Collects what the items of a module name.
struct Walk {
    module: Vec<String>,
    imports: Vec<Import>,
}

impl Walk {
    fn items(&mut self, items: &[syn::Item]) {
        for item in items.iter().filter(|item| !is_cfg_test(item)) {
            match item {
                syn::Item::Mod(syn::ItemMod { ident, content: Some((_, items)), .. }) => {
                    self.module.push(ident.to_string());
                    self.items(items);
                    self.module.pop();
                }
                item => {
                    self.visit_item(item);
                    self.tokens(item.to_token_stream());
                }
            }
        }
    }

    fn name(&mut self, line: usize, words: Vec<String>) {
        self.imports.push(Import { line, words, from: self.module.clone() });
    }

    /// Paths in code, macros included: a run of words with `::` between them. Statements of `use` are visited apart.
    fn tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons, mut is_use, mut line) = (Vec::new(), 0, false, 0);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if ident == "use" => is_use = true,
                _ if is_use => is_use = !matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ';'),
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.path(line, std::mem::take(&mut path));
                        line = ident.span().start().line;
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                token => {
                    self.path(line, std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = token {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.path(line, path);
    }

    fn path(&mut self, line: usize, words: Vec<String>) {
        if words.len() > 1 {
            self.name(line, words);
        }
    }
}

impl<'ast> Visit<'ast> for Walk {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut named = Vec::new();
        flatten(&item.tree, String::new(), &mut named);
        for (line, path) in named {
            self.name(line, path.split("::").map(str::to_owned).collect());
        }
        visit::visit_item_use(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in these files of an engine whose floors are `ids`, `log/format`, `table` and `log`.
    fn found(files: &[(&str, &str)], left: &[(&str, &str)]) -> Vec<(String, usize)> {
        let lowest = [("ids", ""), ("log/format/mod", ""), ("table/mod", ""), ("log/mod", "")];
        let missing = lowest.iter().filter(|(name, _)| !files.iter().any(|(file, _)| file == name));
        let parse = |(name, text): &(&str, &str)| Source::parse(&format!("{ROOT}{name}.rs"), text).unwrap();
        let sources: Vec<Source> = missing.chain(files).map(parse).collect();
        let floors = ["ids", "log/format", "table", "log"];
        let findings = Modules::new(&sources, &floors, left).check();
        findings.into_iter().map(|(file, finding)| (file.trim_start_matches(ROOT).to_owned(), finding.line)).collect()
    }

    fn up(file: &str, line: usize) -> Vec<(String, usize)> {
        vec![(file.to_owned(), line)]
    }

    #[test]
    fn an_import_that_goes_up_is_found() {
        assert_eq!(found(&[("table/key", "use crate::ids::Stamp;\nuse crate::log::format::Seal;")], &[]), []);
        assert_eq!(found(&[("table/key", "\nuse crate::log::Log;")], &[]), up("table/key.rs", 2));
        assert_eq!(
            found(&[("table/key", "use crate::{ids::Stamp,\nlog::{self, format::Seal}};")], &[]),
            up("table/key.rs", 2)
        );
        assert_eq!(found(&[("ids", "fn f() { m!(crate::table::key(1)) }")], &[]), up("ids.rs", 1));
        assert_eq!(found(&[("ids", "fn f() {\n use super::table::Key;\n}")], &[]), up("ids.rs", 2));
        assert_eq!(found(&[("log/format/mod", "pub(crate) use super::Log;")], &[]), up("log/format/mod.rs", 1));
    }

    #[test]
    fn a_name_of_the_library_and_a_module_without_a_floor_are_found() {
        assert_eq!(found(&[("log/mod", "type T = crate::Receipt;")], &[]), up("log/mod.rs", 1));
        assert_eq!(found(&[("elsewhere/mod", "")], &[]), up("elsewhere/mod.rs", 1));
        assert_eq!(found(&[("lib", "pub use log::Log;\nmod log;")], &[]), []);
    }

    #[test]
    fn a_circle_on_one_floor_is_found() {
        let (key, row) = (("table/key", "use super::row::Row;"), ("table/row", "use crate::table::value::Value;"));
        assert_eq!(found(&[key, row, ("table/value", "")], &[]), []);
        let closing = [key, row, ("table/value", "\nfn f() { super::key::g(); }")];
        let circle = [("table/key.rs", 1), ("table/row.rs", 1), ("table/value.rs", 2)];
        assert_eq!(found(&closing, &[]), circle.map(|(file, line)| (file.to_owned(), line)));
        let folder = [("table/mod", "mod key;\nuse key::Key;"), ("table/key", "use super::Table;")];
        assert_eq!(found(&folder, &[]), [], "a mod.rs and a file of its folder may import each other");
    }

    #[test]
    fn tests_may_look_at_every_floor() {
        let inner = "#[cfg(test)]\nmod tests { use crate::log::Log; }\nmod faults { use super::Stamp; }";
        assert_eq!(found(&[("ids", inner)], &[]), []);
        assert_eq!(found(&[("ids_tests", "use crate::log::Log;")], &[]), []);
        assert_eq!(found(&[("ids", "mod faults { use super::super::log::Log; }")], &[]), up("ids.rs", 1));
    }

    #[test]
    fn what_is_left_is_there() {
        let left = [("table/key", "log")];
        assert_eq!(found(&[("table/key", "use crate::log::Log;")], &left), []);
        assert_eq!(found(&[("table/key", "")], &left), [(String::new(), 0)], "it has to come off the list");
    }
}
