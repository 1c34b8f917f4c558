//! What fuzzing calls of SQL: the parser of a client's text, with texts to begin with and what must hold for any.
//!
//! Invariants, checked for every input:
//! - Nothing panics, and an error that has a place has it within the text or just behind it.
//! - A query that is read back as the same tree from what it is printed as prints as itself: views are kept as such texts.
//!
//! Absent: where inputs come from (`fuzz/` with cargo-fuzz, the tests below without); what a statement means, which needs a
//! catalog (`tests/hostile.rs`).

use sqlparser::ast::{Query, Statement};

use crate::parse;

/// Texts that it accepts.
const TEXTS: [&str; 9] = [
    "SELECT DISTINCT a.x AS \"n\", count(*) FILTER (WHERE y > 1) OVER (PARTITION BY z ORDER BY w DESC NULLS LAST ROWS \
     BETWEEN 1 PRECEDING AND CURRENT ROW) FROM s.t AS a LEFT JOIN LATERAL (SELECT 1) b ON true WHERE x IN (1, 2) LIMIT 3",
    "WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 5) TABLE r ORDER BY 1 OFFSET 2",
    "SELECT CASE x WHEN 1 THEN 'it''s' ELSE E'\\n' END, x::numeric(5,2), CAST('1' AS int[]), a[1], a[1:2], -x ^ 2 || 'b'",
    "SELECT EXTRACT(year FROM ts), substring('abc' FROM 2 FOR 1), trim(BOTH 'x' FROM y), interval '1 day', $1 -> 'k' ->> 2",
    "INSERT INTO t (a, b) VALUES (1, DEFAULT), ($1, NULL) ON CONFLICT (a) DO UPDATE SET b = excluded.b RETURNING *",
    "UPDATE t SET a = 1 FROM u WHERE t.id = u.id; DELETE FROM t USING u WHERE t.id = u.id RETURNING t.a",
    "CREATE TABLE t (id serial PRIMARY KEY, n numeric(5,2) DEFAULT 1.5 CHECK (n > 0), r int REFERENCES u ON DELETE CASCADE)",
    "BEGIN; SAVEPOINT a; ROLLBACK TO a; COMMIT; DECLARE c CURSOR FOR SELECT 1; FETCH 3 FROM c; EXPLAIN ANALYZE SELECT 1",
    "CREATE OR REPLACE VIEW v AS SELECT x, y FROM t GROUP BY ROLLUP (x), y HAVING x IS NOT DISTINCT FROM 2; \
     GRANT SELECT ON t TO r",
];

/// Returns texts that are accepted.
pub fn samples() -> Vec<Vec<u8>> {
    TEXTS.map(|text| text.as_bytes().to_vec()).into()
}

/// The query of a statement whose text is kept, or read again.
fn query_of(statement: &Statement) -> Option<&Query> {
    match statement {
        Statement::Query(query) => Some(query),
        Statement::CreateView(view) => Some(&view.query),
        Statement::CreateTable(table) => table.query.as_deref(),
        _ => None,
    }
}

/// Returns whether these bytes are accepted.
///
/// # Panics
/// Where something does not hold for them.
pub fn check_statement(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    // No text of a client has zeros.
    if text.contains('\0') {
        return false;
    }
    match parse::of_client(text) {
        Ok(statements) => {
            statements.iter().for_each(|statement| drop(parse::own::text(statement)));
            for query in statements.iter().filter_map(query_of) {
                let printed = query.to_string();
                // What is read back must print as itself; what is not is no query of a view.
                if parse::reads_back(query, &printed) {
                    let again = parse::statements(&printed).unwrap_or_default();
                    assert_eq!(again[0].to_string(), printed, "a tree has one text");
                }
            }
            true
        }
        Err(error) => {
            let characters = text.chars().count();
            let is_within = error.position().is_none_or(|place| (1..=characters + 1).contains(&place));
            assert!(is_within, "{:?} of {characters} characters: {error}", error.position());
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::time::{Duration, Instant};

    use fastrand::Rng;

    use super::*;

    /// Pieces of a text: words, and the signs between them.
    fn tokens(text: &[u8]) -> Vec<Vec<u8>> {
        let text = String::from_utf8_lossy(text);
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut tokens: Vec<String> = Vec::new();
        for c in text.chars() {
            match tokens.last_mut() {
                Some(last) if is_word(c) && last.chars().all(is_word) => last.push(c),
                _ => tokens.push(c.into()),
            }
        }
        tokens.into_iter().map(String::into_bytes).collect()
    }

    fn mutate(rng: &mut Rng, tokens: &mut Vec<Vec<u8>>, samples: &[Vec<Vec<u8>>]) {
        let at = rng.usize(..tokens.len().max(1));
        let end = tokens.len().min(at + 1 + rng.usize(..8));
        let other = &samples[rng.usize(..samples.len())];
        let from = rng.usize(..other.len());
        let piece = &other[from..other.len().min(from + 1 + rng.usize(..8))];
        match rng.u8(..6) {
            0 if at < end => drop(tokens.drain(at..end)),
            1 if at < end => {
                let copy: Vec<_> = tokens[at..end].to_vec();
                drop(tokens.splice(at..at, copy));
            }
            2 if at < end => tokens.swap(at, end - 1),
            3 if at < end => tokens[at].iter_mut().for_each(|byte| *byte ^= u8::from(rng.u8(..4) == 0) << rng.u8(..8)),
            4 => drop(tokens.splice(at.min(tokens.len())..end, piece.iter().cloned())),
            _ => drop(tokens.splice(at.min(tokens.len())..at.min(tokens.len()), piece.iter().cloned())),
        }
    }

    /// `OSIER_FUZZ_SECONDS=60` is how long it takes, `OSIER_FUZZ_SEED=7` the first seed.
    #[test]
    fn any_text_is_a_statement_or_an_error() {
        let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let (time, mut seed) = (variable("OSIER_FUZZ_SECONDS").unwrap_or(2), variable("OSIER_FUZZ_SEED").unwrap_or(0));
        let samples = samples();
        for text in TEXTS {
            assert!(check_statement(text.as_bytes()), "{text}");
            let statements = parse::of_client(text).expect("a sample");
            let mut queries = statements.iter().filter_map(query_of);
            assert!(queries.all(|query| parse::reads_back(query, &query.to_string())), "{text}");
        }
        let samples: Vec<_> = samples.iter().map(|sample| tokens(sample)).collect();
        let (begun, mut counts) = (Instant::now(), [0_u64; 2]);
        while begun.elapsed() < Duration::from_secs(time) {
            let mut rng = Rng::with_seed(seed);
            let mut drawn = samples[rng.usize(..samples.len())].clone();
            (0..=rng.u8(..5)).for_each(|_| mutate(&mut rng, &mut drawn, &samples));
            let bytes = drawn.concat();
            let Ok(is_accepted) = catch_unwind(|| check_statement(&bytes)) else {
                panic!("OSIER_FUZZ_SEED={seed}: {:?}", String::from_utf8_lossy(&bytes))
            };
            counts[usize::from(is_accepted)] += 1;
            seed += 1;
        }
        assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
    }
}
