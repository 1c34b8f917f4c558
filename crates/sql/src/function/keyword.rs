//! `pg_get_keywords`: the key words of PostgreSQL 15 ([`keywords.txt`](../../../src/function/keywords.txt)).

use crate::datum::Datum;

/// Lines of a word, its group, and whether it is an alias without `AS`.
const KEYWORDS: &str = include_str!("keywords.txt");

/// Returns the rows.
pub(super) fn rows() -> Vec<Datum> {
    KEYWORDS.lines().map(row).collect()
}

fn row(line: &'static str) -> Datum {
    let mut parts = line.split(' ');
    let mut part = || parts.next().unwrap_or_default();
    let (word, group, is_bare) = (part(), part(), part() == "t");
    let said = match group {
        "U" => "unreserved",
        "C" => "unreserved (cannot be function or type name)",
        "T" => "reserved (can be function or type name)",
        _ => "reserved",
    };
    let bare = if is_bare { "can be bare label" } else { "requires AS" };
    Datum::record(vec![
        Datum::text(word),
        Datum::text(group),
        Datum::Bool(is_bare),
        Datum::text(said),
        Datum::text(bare),
    ])
}
