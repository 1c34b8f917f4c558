//! What messages say of a token that cannot stand where it does, and of what its author may have meant.
//!
//! Invariant: a hint only adds to a message. No text is accepted or refused because of one.

use super::Parser;
use super::lexer::{Kind, Token};
use crate::procedure::expression::Function;

/// How much of a text a message shows.
const TEXT_CHARS_MAX: usize = 24;

/// Words of other languages, and how what they say is said here.
const FOREIGN: &[(&str, &str)] = &[
    ("elsif", "write `else if condition { ... }`"),
    ("elseif", "write `else if condition { ... }`"),
    ("elif", "write `else if condition { ... }`"),
    ("then", "a block stands in braces: `if condition { ... }`"),
    ("loop", "a block stands in braces: `while condition { ... }`"),
    ("do", "a block stands in braces: `while condition { ... }`"),
    ("end", "a block ends with `}`"),
    ("begin", "a block stands in braces, and a call is a transaction as it is"),
    ("declare", "a variable is declared where it is needed: `let name type = value;`"),
    ("select", "rows are read with `get table (key) as row;`, `first` and `for row in table (prefix) { ... }`"),
    ("where", "a row is named by its primary key, `table (key)`; other conditions are tested with `if`"),
    ("perform", "a procedure is called with `call name(argument);`"),
    ("execute", "a procedure is called with `call name(argument);`; there is no other code made at run time"),
    ("raise", "a procedure gives up with `abort 'P0001' message;`"),
    ("exception", "errors are caught with `try { ... } catch any as error { ... }`"),
    ("exit", "a loop is left with `break;`"),
    ("commit", "a call is one transaction: it commits at its end, and `abort 'P0001' message;` gives it up"),
    ("rollback", "a call is one transaction: it commits at its end, and `abort 'P0001' message;` gives it up"),
    ("create", "a procedure begins with `procedure name(parameter type) {`"),
    ("function", "a procedure begins with `procedure name(parameter type) {`"),
    ("language", "a procedure has a body in braces and no other clauses"),
    ("like", "there is no `like`; use `left`, `right`, `position` or `substr`"),
    ("isnull", "write `is null`"),
    ("notnull", "write `is not null`"),
    ("lock", "rows need no locks: calls are serializable"),
    ("on", "there is no `on conflict`; write `upsert`, or `try { ... } catch '23505' { ... }`"),
    ("returning", "name the row: `delete from table (key) as row;`"),
    ("return", "results are declared with `returns (name type)`"),
    ("order", "rows come in the order of the key; a range can be `descending`"),
    ("offset", "there is no `offset`; begin the range with `after (key)`"),
    ("next", "a row of the set is given with `emit value;`"),
    ("query", "rows of the set are given one by one with `emit value;`"),
    ("default", "parameters have no defaults: a call gives all of them"),
    ("out", "results are declared with `returns (name type)`"),
    ("inout", "results are declared with `returns (name type)`"),
];

/// Types of other systems, and which type to take here.
const FOREIGN_TYPES: &[(&str, &str)] = &[
    ("varchar", "text"),
    ("char", "text"),
    ("character", "text"),
    ("string", "text"),
    ("uuid", "bytea"),
    ("blob", "bytea"),
    ("bytes", "bytea"),
    ("float", "double precision"),
    ("float4", "double precision"),
    ("real", "double precision"),
    ("double", "double precision"),
    ("date", "timestamp"),
    ("time", "timestamp"),
    ("timestamptz", "timestamp"),
    ("datetime", "timestamp"),
    ("serial", "bigint"),
    ("bigserial", "bigint"),
    ("long", "bigint"),
    ("tinyint", "smallint"),
    ("money", "numeric(18,2)"),
];

/// Functions of other systems, and what to take here.
const FOREIGN_FUNCTIONS: &[(&str, &str)] = &[
    ("substring", "substr"),
    ("char_length", "length"),
    ("character_length", "length"),
    ("octet_length", "length"),
    ("array_length", "cardinality"),
    ("ceiling", "ceil"),
    ("truncate", "trunc"),
    ("mod", "a % b"),
    ("concat", "a || b"),
    ("ifnull", "coalesce"),
    ("nvl", "coalesce"),
    ("gen_random_uuid", "uuid"),
    ("clock_timestamp", "now"),
    ("strpos", "position"),
    ("btrim", "trim"),
];

fn look_up(list: &'static [(&str, &str)], word: &str) -> Option<&'static str> {
    list.iter().find(|(of, _)| *of == word).map(|(_, hint)| *hint)
}

/// What a token is, for a message.
pub(super) fn found(token: &Token) -> String {
    let cut = |text: &str| {
        let is_short = text.chars().count() <= TEXT_CHARS_MAX;
        if is_short { text.to_owned() } else { text.chars().take(TEXT_CHARS_MAX).chain("...".chars()).collect() }
    };
    match &token.kind {
        Kind::Word(word) => format!("`{}`", cut(word)),
        Kind::Name(name) => format!("the name {:?}", cut(name)),
        Kind::Number(digits) => format!("the number {}", cut(digits)),
        Kind::Text(text) => format!("the text '{}'", cut(text).escape_debug()),
        Kind::Bytes(_) => "a byte string".to_owned(),
        Kind::Sign(sign) => format!("`{sign}`"),
        Kind::Bad(what) => what.clone(),
        Kind::End => "the end of the text".to_owned(),
    }
}

/// What is said of a function that there is not.
pub(super) fn no_function(name: &str) -> String {
    let hint = match look_up(FOREIGN_FUNCTIONS, name) {
        Some(other) => format!("; use `{other}`"),
        None => {
            let near = Function::ALL.iter().map(|(_, of, ..)| *of).filter(|of| name.contains(of) || of.contains(name));
            let near = near.min_by_key(|of| of.len().abs_diff(name.len())).filter(|_| name.len() > 2);
            near.map(|of| format!("; did you mean `{of}`?"))
                .unwrap_or("; the functions are in docs/procedures-language.md".to_owned())
        }
    };
    let name: String = name.chars().take(TEXT_CHARS_MAX).collect();
    format!("there is no function `{name}`{hint}")
}

/// What the author may have meant by the token that comes next, where `expected` could stand.
pub(super) fn of(parser: &Parser, expected: &str) -> Option<String> {
    let token = parser.token();
    let is_statement = expected.contains("statement");
    let foreign = |word: &str| look_up(FOREIGN, word).map(str::to_owned);
    match &token.kind {
        Kind::Word(word) if expected.contains("a type") => {
            look_up(FOREIGN_TYPES, word).map(|ty| format!("use `{ty}`")).or_else(|| foreign(word))
        }
        Kind::Word(word) if is_statement && is_assigned(parser) => Some(assignment(parser, word)),
        Kind::Word(word) => foreign(word).or_else(|| missing_end(parser, expected)),
        Kind::Name(name) if is_statement && is_assigned(parser) => Some(assignment(parser, &format!("{name:?}"))),
        Kind::Name(_) => missing_end(parser, expected),
        Kind::Sign(sign) => of_sign(parser, sign, expected),
        Kind::Text(_)
            if expected.contains("a name") || expected.contains("a table") || expected.contains("a column") =>
        {
            Some("a name stands in double quotes, or in none".to_owned())
        }
        Kind::Number(_) if expected.contains("a table") => {
            Some("numbers are counted with `for name = first to last { ... }`".to_owned())
        }
        Kind::End if is_statement => Some("a block is not closed: is a `}` missing?".to_owned()),
        Kind::End => missing_end(parser, expected),
        _ => None,
    }
}

fn is_assigned(parser: &Parser) -> bool {
    [":=", "=", "+=", "-=", ".", "["].iter().any(|sign| parser.is_sign_ahead(1, sign))
}

fn assignment(parser: &Parser, name: &str) -> String {
    if parser.is_sign_ahead(1, ".") {
        return "a row is changed with `update table (key) set column = value;`".to_owned();
    }
    if parser.is_sign_ahead(1, "[") {
        return "an element is not changed in its place; build another array with `append value to name;`".to_owned();
    }
    format!("a value is given to a variable with `set {name} = value;`, and a new one is declared with `let`")
}

/// Says that a `;` is missing where a line has ended without it.
fn missing_end(parser: &Parser, expected: &str) -> Option<String> {
    let before = parser.at.checked_sub(1).map(|at| &parser.tokens[at])?;
    let is_end = expected.contains("`;`") && before.line < parser.token().line;
    is_end.then(|| format!("is a `;` missing at the end of line {}?", before.line))
}

fn of_sign(parser: &Parser, sign: &str, expected: &str) -> Option<String> {
    let hint = match sign {
        "==" => "two values are compared with `=`",
        ":=" if expected.contains("`=`") || expected.contains("operator") => "write `=`",
        ":=" => "a value is given to a variable with `set name = value;`",
        "&&" | "&" => "write `and`",
        "|" => "write `or`, or `||` to put texts together",
        "!" => "write `not`",
        "+=" | "-=" => "write `set name = name + value;`",
        ".." => "numbers are counted with `for name = first to last { ... }`",
        "=>" => "arguments are given in the order of the parameters",
        "$" => "a body stands in braces, and parameters have names",
        "?" => "parameters have names; a condition is `case when condition then value else value end`",
        ";" if expected.contains("statement") => "a block ends a statement, and no `;` follows it",
        "*" if expected.contains("expression") => "columns are named one by one, as in `row.column`",
        "}" | "{" => return missing_end(parser, expected),
        _ => return None,
    };
    Some(hint.to_owned())
}
