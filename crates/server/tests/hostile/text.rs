//! Statements that nobody would write: those of the suite of `osier-sql`, with words lost, swapped, doubled and nested.

use std::path::Path;

use fastrand::Rng;

/// A statement is no longer.
const BYTES_MAX: usize = 400_000;

/// The statements of the suite.
pub fn samples() -> Vec<String> {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/tests/suite");
    let mut files: Vec<_> =
        std::fs::read_dir(suite).expect("the suite").map(|entry| entry.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "sql"));
    files.sort();
    let lines = files.iter().flat_map(|file| {
        let text = std::fs::read_to_string(file).expect("a file of the suite");
        text.lines().filter(|line| !line.is_empty() && !line.starts_with("--")).map(str::to_owned).collect::<Vec<_>>()
    });
    let samples: Vec<String> = lines.collect();
    assert!(samples.len() > 1000, "{} statements", samples.len());
    samples
}

/// Splits into words, numbers, texts, blanks and signs.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(first) = rest.next() {
        let mut token = String::from(first);
        let goes_on = |next: &char| match first {
            '\'' | '"' => *next != first,
            first if first.is_alphanumeric() || first == '_' => next.is_alphanumeric() || *next == '_' || *next == '.',
            first if first.is_whitespace() => next.is_whitespace(),
            _ => false,
        };
        while let Some(next) = rest.next_if(goes_on) {
            token.push(next);
        }
        if matches!(first, '\'' | '"') {
            token.extend(rest.next());
        }
        tokens.push(token);
    }
    tokens
}

/// Something that stands where another thing stood.
fn literal(rng: &mut Rng) -> String {
    let edges = [
        "0",
        "-1",
        "1",
        "NULL",
        "2147483647",
        "2147483648",
        "-2147483648",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "1e308",
        "1e309",
        "1e-400",
        "'NaN'",
        "'Infinity'",
        "''",
        "'\\'",
        "E'\\xff'",
        "E'\\u0000'",
        "'{}'",
        "'{\"a\":[1,{}]}'",
        "'{1,NULL,\"x\"}'",
        "'infinity'",
        "'-infinity'",
        "'4714-11-24 BC'",
        "'294277-01-01'",
        "'178956970 years'",
        "$1",
        "$65535",
        "$0",
        "ARRAY[]::int[]",
        "ROW()",
        "*",
        "DEFAULT",
        "'\u{1f600}\u{0301}'",
        "U&'\\+10FFFF'",
        "B'101'",
        "X'zz'",
        "'2024-02-30'",
        "'24:00:00.0000001'",
        "current_timestamp",
        "pg_catalog",
        "generate_series(1, 3)",
        "(SELECT 1)",
        "'a'::regclass",
        "1::numeric(1000,1000)",
        "'1 mon -1 day'",
        "$$a$$",
    ];
    match rng.u8(..8) {
        0 => "9".repeat(1 << rng.u32(..14)),
        1 => format!("'{}'", rng.alphanumeric().to_string().repeat(1 << rng.u32(..17))),
        2 => format!("0.{}1", "0".repeat(1 << rng.u32(..12))),
        3 => format!("\"{}\"", "\u{e4}".repeat(1 << rng.u32(..10))),
        _ => edges[rng.usize(..edges.len())].to_owned(),
    }
}

/// What can stand within itself, before and after.
const FORMS: [(&str, &str); 16] = [
    ("(", ")"),
    ("(SELECT ", ")"),
    ("- ", ""),
    ("NOT ", ""),
    ("ARRAY[", "]"),
    ("CASE WHEN true THEN ", " END"),
    ("coalesce(", ", 1)"),
    ("CAST(", " AS text)"),
    ("1 + ", ""),
    ("", "::text"),
    ("", " || 'x'"),
    ("EXISTS (SELECT ", ")"),
    ("abs(", ")"),
    ("", "[1]"),
    ("1 IN (", ")"),
    ("", " COLLATE \"C\""),
];

fn mutate(rng: &mut Rng, tokens: &mut Vec<String>, samples: &[String]) {
    let at = rng.usize(..tokens.len().max(1));
    let other = rng.usize(..tokens.len().max(1));
    if tokens.is_empty() {
        return tokens.push(literal(rng));
    }
    match rng.u8(..12) {
        0 | 1 => drop(tokens.remove(at)),
        2 => tokens.swap(at, other),
        3 => tokens.insert(other, tokens[at].clone()),
        4 | 5 => tokens[at] = literal(rng),
        6 | 7 => {
            let from = self::tokens(&samples[rng.usize(..samples.len())]);
            let begin = rng.usize(..from.len());
            let end = from.len().min(begin + 1 + rng.usize(..6));
            drop(tokens.splice(at..at + usize::from(rng.bool()), from[begin..end].iter().cloned()));
        }
        8 => {
            let piece = tokens[at..tokens.len().min(at + 1 + rng.usize(..4))].concat();
            tokens[at] = piece.repeat(1 << rng.u32(..8));
        }
        9 => {
            let (before, after) = FORMS[rng.usize(..FORMS.len())];
            // Few levels are taken, many are refused.
            let levels = if rng.bool() { rng.usize(1..60) } else { 1 << rng.u32(5..14) };
            tokens[at] = format!("{}{}{}", before.repeat(levels), tokens[at], after.repeat(levels));
        }
        10 => tokens[at] = tokens[at].chars().rev().collect(),
        _ => tokens.truncate(at),
    }
}

/// A text for the server; not all of them are UTF-8.
pub fn draw(rng: &mut Rng, samples: &[String]) -> Vec<u8> {
    let text = &samples[rng.usize(..samples.len())];
    let mut tokens = tokens(text);
    if rng.u8(..3) > 0 {
        for _ in 0..=rng.u8(..4) {
            mutate(rng, &mut tokens, samples);
        }
    }
    let mut bytes = tokens.concat().into_bytes();
    if rng.u8(..12) == 0 {
        bytes.truncate(rng.usize(..=bytes.len()));
    }
    if rng.u8(..24) == 0 {
        let at = rng.usize(..=bytes.len());
        drop(bytes.splice(at..at, [0xf0, 0x9f, 0x98].into_iter().take(rng.usize(..4))));
    }
    bytes.truncate(BYTES_MAX);
    bytes
}
