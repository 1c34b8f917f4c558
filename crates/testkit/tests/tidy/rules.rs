//! The rules about Rust files. Each takes a parsed file and returns what breaks the rule.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::Finding;

const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;

/// The only crate that may contain unsafe code.
const UNSAFE_CRATE: &str = "crates/memory/";

/// How many lines of a statement may stand between its `SAFETY:` comment and the `unsafe` in it.
const SAFETY_DISTANCE_LINES_MAX: usize = 5;

/// Paths that code may not name: where the rule applies, where it does not, what is banned, and what to use.
const BANS: &[Ban] = &[
    Ban {
        within: "crates/engine/src/",
        except: &["crates/engine/src/io/"],
        paths: &["std::fs", "std::thread", "Instant::now", "SystemTime::now", "thread::spawn", "thread::sleep"],
        instead: "the traits of crates/engine/src/io",
    },
    Ban {
        within: "crates/memory/src/",
        except: &["crates/memory/src/sync.rs"],
        paths: &["std::sync", "core::sync", "std::thread", "std::cell::UnsafeCell", "core::cell::UnsafeCell"],
        instead: "crate::sync, so that the models run the shipped code",
    },
    Ban {
        within: "crates/memory/src/",
        except: &[],
        paths: &["std::fs", "Instant::now", "SystemTime::now"],
        instead: "nothing: this crate knows keys, stamps and bytes",
    },
];

struct Ban {
    within: &'static str,
    except: &'static [&'static str],
    paths: &'static [&'static str],
    instead: &'static str,
}

/// A Rust file.
pub struct Source {
    pub path: String,
    text: String,
    pub file: syn::File,
}

impl Source {
    pub fn parse(path: &str, text: &str) -> syn::Result<Source> {
        Ok(Source { path: path.to_owned(), text: text.to_owned(), file: syn::parse_file(text)? })
    }

    /// Whether nothing of the file ships.
    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/")
            || ["/tests.rs", "_tests.rs", "/models.rs"].iter().any(|end| self.path.ends_with(end))
    }
}

pub fn file_length(source: &Source) -> Vec<Finding> {
    let lines = source.text.lines().count();
    let finding = Finding::new(lines, format!("{lines} lines; at most {FILE_LINES_MAX}"));
    Vec::from_iter((lines > FILE_LINES_MAX).then_some(finding))
}

pub fn header(source: &Source) -> Vec<Finding> {
    let opens = source.text.lines().next().is_some_and(|line| line.starts_with("//!") && line.len() > 10);
    Vec::from_iter((!opens).then(|| Finding::new(1, "the file does not open with `//!` and what it is for")))
}

pub fn function_length(source: &Source) -> Vec<Finding> {
    #[derive(Default)]
    struct Lengths(Vec<Finding>);
    impl Lengths {
        fn measure(&mut self, signature: &syn::Signature, block: &syn::Block) {
            let first = signature.span().start().line;
            let lines = block.span().end().line + 1 - first;
            if lines > FUNCTION_LINES_MAX {
                let what = format!("fn {} has {lines} lines; at most {FUNCTION_LINES_MAX}", signature.ident);
                self.0.push(Finding::new(first, what));
            }
        }
    }
    impl<'ast> Visit<'ast> for Lengths {
        fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
            self.measure(&item.sig, &item.block);
            visit::visit_item_fn(self, item);
        }
        fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
            self.measure(&item.sig, &item.block);
            visit::visit_impl_item_fn(self, item);
        }
        fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
            if let Some(block) = &item.default {
                self.measure(&item.sig, block);
            }
            visit::visit_trait_item_fn(self, item);
        }
    }
    let mut lengths = Lengths::default();
    lengths.visit_file(&source.file);
    lengths.0
}

/// Unsafe blocks and impls are in one crate, each with its argument above it. Macros are searched too.
pub fn unsafe_code(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    unsafe_tokens(source.file.to_token_stream(), &mut found);
    let lines: Vec<&str> = source.text.lines().collect();
    let mut findings = Vec::new();
    for line in found {
        if !source.path.starts_with(UNSAFE_CRATE) {
            findings.push(Finding::new(line, format!("unsafe code outside {UNSAFE_CRATE}")));
        } else if !has_safety_comment(&lines, line) {
            findings.push(Finding::new(line, "unsafe without a `// SAFETY:` above it"));
        }
    }
    findings
}

/// The lines of `unsafe {` and `unsafe impl`; an `unsafe fn` is a promise asked of its callers, not one made here.
fn unsafe_tokens(tokens: TokenStream, found: &mut Vec<usize>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Group(group) => unsafe_tokens(group.stream(), found),
            TokenTree::Ident(ident) if ident == "unsafe" => {
                let asserts = match tokens.peek() {
                    Some(TokenTree::Group(_)) => true,
                    Some(TokenTree::Ident(next)) => next == "impl",
                    _ => false,
                };
                if asserts {
                    found.push(ident.span().start().line);
                }
            }
            _ => {}
        }
    }
}

fn has_safety_comment(lines: &[&str], line: usize) -> bool {
    let mut code_lines = 0;
    for text in lines[..line].iter().rev() {
        if text.contains("SAFETY:") {
            return true;
        }
        if !text.trim_start().starts_with("//") {
            code_lines += 1;
        }
        if code_lines > SAFETY_DISTANCE_LINES_MAX {
            return false;
        }
    }
    false
}

/// Names of the outside world outside the seams, in code that ships.
pub fn banned_paths(source: &Source) -> Vec<Finding> {
    let bans: Vec<&Ban> = BANS
        .iter()
        .filter(|ban| source.path.starts_with(ban.within) && !source.is_test())
        .filter(|ban| !ban.except.iter().any(|except| source.path.starts_with(except)))
        .collect();
    if bans.is_empty() {
        return Vec::new();
    }
    let mut named = Vec::new();
    for item in source.file.items.iter().filter(|item| !is_cfg_test(item)) {
        named_paths(item.to_token_stream(), &mut named);
        Uses(&mut named).visit_item(item);
    }
    let mut findings = Vec::new();
    for (line, path) in named {
        for ban in &bans {
            let names = |banned: &&&str| path == **banned || path.starts_with(&format!("{banned}::"));
            if let Some(banned) = ban.paths.iter().find(names) {
                findings.push(Finding::new(line, format!("`{banned}` is banned here; use {}", ban.instead)));
            }
        }
    }
    findings.dedup();
    findings
}

/// The spine, in which hooks take a line each.
const SPINE: &str = "crates/engine/src/transaction/lifecycle.rs";

/// Deliberate faults of the engine: only in hooks with names, beside the steps, and in wrappers of the seams, so that the
/// steps read without them. A hook takes what ships and gives it back: a branch that asks a hook alone is a switch, too.
pub fn deliberate_faults(source: &Source) -> Vec<Finding> {
    let is_hook = ["/faults.rs", "/faulty_scheme.rs", "/failpoint.rs"].iter().any(|name| source.path.ends_with(name));
    if !source.path.starts_with("crates/engine/src/") || is_hook || source.is_test() {
        return Vec::new();
    }
    let mut found = Vec::new();
    fault_switches(source.file.to_token_stream(), &mut found);
    let finding = |line| Finding::new(line, "a step asks for a `Mutation`; move that into a hook in `faults.rs`");
    let mut findings: Vec<Finding> = found.into_iter().map(finding).collect();

    let mut branches = Branches::default();
    branches.visit_file(&source.file);
    let finding =
        |line| Finding::new(line, "a branch asks a hook alone; give the hook the step or what the step decides");
    findings.extend(branches.0.into_iter().map(finding));

    if source.path == SPINE {
        let is_line = |line: &str| line.ends_with(';') && (line.starts_with("let ") || line.starts_with("faults::"));
        let lines = (1..).zip(source.text.lines().map(str::trim));
        let bent = lines.filter(|(_, line)| line.contains("faults::") && !line.starts_with("use ") && !is_line(line));
        findings.extend(bent.map(|(line, _)| Finding::new(line, "in the spine a hook is one statement on one line")));
    }
    findings
}

/// The lines of branches whose whole condition is a call of a hook without an argument, or its opposite, in code that ships.
#[derive(Default)]
struct Branches(Vec<usize>);

impl Branches {
    fn look_at(&mut self, condition: &syn::Expr) {
        let condition = match condition {
            syn::Expr::Unary(not) => &*not.expr,
            condition => condition,
        };
        if let syn::Expr::Call(call) = condition
            && call.args.is_empty()
            && let syn::Expr::Path(hook) = &*call.func
            && hook.path.segments.iter().rev().nth(1).is_some_and(|module| module.ident == "faults")
        {
            self.0.push(call.span().start().line);
        }
    }
}

impl<'ast> Visit<'ast> for Branches {
    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        self.look_at(&branch.cond);
        visit::visit_expr_if(self, branch);
    }
    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        arm.guard.iter().for_each(|(_, guard)| self.look_at(guard));
        visit::visit_arm(self, arm);
    }
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_simulated(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }
    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_simulated(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }
}

/// Whether attributes say that something is built for the simulation only.
fn is_simulated(attributes: &[syn::Attribute]) -> bool {
    let is_mutations = |attribute: &syn::Attribute| {
        attribute.to_token_stream().to_string().replace(' ', "") == "#[cfg(feature=\"mutations\")]"
    };
    attributes.iter().any(is_mutations)
}

/// The lines of `has(Mutation ...)` and `unless(Mutation ...)`.
fn fault_switches(tokens: TokenStream, found: &mut Vec<usize>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Group(group) => fault_switches(group.stream(), found),
            TokenTree::Ident(ident) if ident == "has" || ident == "unless" => {
                let Some(TokenTree::Group(group)) = tokens.peek() else { continue };
                let mut words = group.stream().into_iter().filter(|token| matches!(token, TokenTree::Ident(_)));
                if words.any(|word| word.to_string() == "Mutation") {
                    found.push(ident.span().start().line);
                }
            }
            _ => {}
        }
    }
}

/// Whether an item is built for tests only.
pub fn is_cfg_test(item: &syn::Item) -> bool {
    let attributes = match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| {
        let text = attribute.to_token_stream().to_string().replace(' ', "");
        text == "#[test]" || (text.starts_with("#[cfg(") && text.contains("test") && !text.contains("not(test)"))
    })
}

/// Every run of `a::b::c` in the tokens, and every tail of it (`b::c`), so that `time::Instant::now` is found by its end.
fn named_paths(tokens: TokenStream, named: &mut Vec<(usize, String)>) {
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut colons = 0;
    let mut end = |path: &mut Vec<(usize, String)>| {
        for first in 0..path.len() {
            let words: Vec<&str> = path[first..].iter().map(|(_, word)| word.as_str()).collect();
            named.push((path[first].0, words.join("::")));
        }
        path.clear();
    };
    let mut groups = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                if colons != 2 {
                    end(&mut path);
                }
                path.push((ident.span().start().line, ident.to_string()));
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            token => {
                end(&mut path);
                colons = 0;
                if let TokenTree::Group(group) = token {
                    groups.push(group.stream());
                }
            }
        }
    }
    end(&mut path);
    for group in groups {
        named_paths(group, named);
    }
}

/// Flattens `use a::{b, c::d}`.
struct Uses<'n>(&'n mut Vec<(usize, String)>);

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_cfg_test(&syn::Item::Mod(item.clone())) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        flatten(&item.tree, String::new(), self.0);
    }
}

/// The paths that a `use` names, with their lines.
pub fn flatten(tree: &syn::UseTree, prefix: String, named: &mut Vec<(usize, String)>) {
    let join = |name: &syn::Ident| if prefix.is_empty() { name.to_string() } else { format!("{prefix}::{name}") };
    match tree {
        syn::UseTree::Path(path) => flatten(&path.tree, join(&path.ident), named),
        syn::UseTree::Name(name) => named.push((name.span().start().line, join(&name.ident))),
        syn::UseTree::Rename(rename) => named.push((rename.span().start().line, join(&rename.ident))),
        syn::UseTree::Glob(glob) => named.push((glob.span().start().line, prefix)),
        syn::UseTree::Group(group) => {
            group.items.iter().for_each(|tree| flatten(tree, prefix.clone(), named));
        }
    }
}

/// Marks of unfinished work. The marks are put together here so that this file does not contain them.
pub fn unfinished(text: &str) -> Vec<Finding> {
    let marks =
        [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("unimple", "mented!"), concat!("to", "do!"), "XX\u{58}"];
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for mark in marks.iter().filter(|mark| line.contains(**mark)) {
            findings.push(Finding::new(index + 1, format!("`{mark}`: finish it or write an issue")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source::parse(path, text).unwrap()
    }

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn long_files_and_functions_are_found() {
        let long = "\n".repeat(FILE_LINES_MAX + 1);
        assert_eq!(file_length(&source("crates/a.rs", &long)).len(), 1);
        assert!(file_length(&source("crates/a.rs", &long[1..])).is_empty());
        let body = "let _ = 1;\n".repeat(FUNCTION_LINES_MAX - 2);
        let fits = format!("/// doc\n#[inline]\nfn f() {{\n{body}}}");
        assert!(function_length(&source("crates/a.rs", &fits)).is_empty());
        let method = format!("struct S;\nimpl S {{\n    fn f() {{\n{body}\n}}\n}}");
        assert_eq!(lines(&function_length(&source("crates/a.rs", &method))), [3]);
        let nested = format!("mod m {{\ntrait T {{ fn f() {{\n{body}\n\n}} }} }}");
        assert_eq!(lines(&function_length(&source("crates/a.rs", &nested))), [2]);
    }

    #[test]
    fn a_missing_header_is_found() {
        assert_eq!(header(&source("crates/a.rs", "\n\nuse std::fmt;\nfn f() {}")).len(), 1);
        assert_eq!(header(&source("crates/a.rs", "//!\nuse std::fmt;\n\nfn f() {}")).len(), 1);
        assert!(header(&source("crates/a.rs", "//! What it is for.\nuse std::fmt;")).is_empty());
    }

    #[test]
    fn unsafe_code_is_found() {
        let text = "fn f() {\n unsafe { g() };\n // SAFETY: fine\n unsafe { g() };\n}\nunsafe fn g() {}\n";
        assert_eq!(lines(&unsafe_code(&source("crates/engine/src/a.rs", text))), [2, 4]);
        assert_eq!(lines(&unsafe_code(&source("crates/memory/src/a.rs", text))), [2]);
        let in_macro = "fn f() { m!(unsafe { g() }); }\nunsafe impl Send for S {}";
        assert_eq!(lines(&unsafe_code(&source("crates/memory/src/a.rs", in_macro))), [1, 2]);
    }

    #[test]
    fn banned_paths_are_found() {
        let text = "use std::{fs, io};\nuse std::time::{Duration, SystemTime};\nfn f() { time::Instant::now(); }\n\
                    fn g() { vec![std::thread::current()]; }\n#[cfg(test)]\nmod tests { use std::fs; }";
        assert_eq!(lines(&banned_paths(&source("crates/engine/src/a.rs", text))), [1, 3, 4]);
        assert!(banned_paths(&source("crates/engine/src/io/os.rs", text)).is_empty());
        assert!(banned_paths(&source("crates/engine/src/log/tests.rs", text)).is_empty());
        assert!(banned_paths(&source("crates/server/src/main.rs", text)).is_empty());
        let atomics = "use std::sync::atomic::AtomicU64;";
        assert_eq!(banned_paths(&source("crates/memory/src/a.rs", atomics)).len(), 1);
        assert!(banned_paths(&source("crates/memory/src/sync.rs", atomics)).is_empty());
    }

    #[test]
    fn switches_of_faults_are_found() {
        let text = "fn f() {\n if has(Mutation::A) {}\n m!(!has(crate::failpoint::Mutation::B));\n unless(Mutation::C, g);\n\
                    other(Mutation::D);\n set.has(x);\n}";
        assert_eq!(lines(&deliberate_faults(&source("crates/engine/src/a.rs", text))), [2, 3, 4]);
        assert!(deliberate_faults(&source("crates/engine/src/log/faults.rs", text)).is_empty());
        assert!(deliberate_faults(&source("crates/engine/src/failpoint.rs", text)).is_empty());
        assert!(deliberate_faults(&source("crates/testkit/src/a.rs", text)).is_empty());
    }

    #[test]
    fn branches_on_hooks_alone_are_found() {
        let text = "fn f() {\n if faults::is_off() {}\n if !super::faults::is_on() {}\n match x { _ if faults::is_off() => {} }\n\
                    if faults::is_due(due) {}\n faults::sync(|| g());\n}\n\
                    #[cfg(feature = \"mutations\")]\nfn g() { if faults::is_off() {} }";
        assert_eq!(lines(&deliberate_faults(&source("crates/engine/src/a.rs", text))), [2, 3, 4]);
        let spine = "use super::faults::{self, A};\nfn f() {\n let epoch = faults::epoch(epoch);\n faults::log(x);\n\
                     let x = y.unwrap_or_else(\n || faults::other(y));\n run(faults::other(y));\n}";
        assert_eq!(lines(&deliberate_faults(&source(SPINE, spine))), [6, 7]);
        assert!(deliberate_faults(&source("crates/engine/src/a.rs", spine)).is_empty());
    }

    #[test]
    fn unfinished_work_is_found() {
        let text = format!("fine\n// {} later\nfn f() {{ {}() }}", concat!("TO", "DO"), concat!("to", "do!"));
        assert_eq!(lines(&unfinished(&text)), [2, 3]);
        assert!(unfinished("todos are fine in prose").is_empty());
    }
}
