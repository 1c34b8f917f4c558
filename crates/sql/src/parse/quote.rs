//! Names and texts as statements write them.

/// Returns a name, in quotes where it has to be.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    let is_word = name.bytes().all(is_plain) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    if is_word && !needs_quotes(name) { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Returns a text as a literal.
pub(crate) fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if text.contains('\\') { format!("E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}

/// Words that are no names without quotes: reserved ones, and those that are names of functions or types.
const RESERVED: &str = " all analyse analyze and any array as asc asymmetric authorization binary both case cast check \
    collate collation column concurrently constraint create cross current_catalog current_date current_role current_schema \
    current_time current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign \
    freeze from full grant group having ilike in initially inner intersect into is isnull join lateral leading left like \
    limit localtime localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references \
    returning right select session_user similar some symmetric table tablesample then to trailing true union unique user \
    using variadic verbose when where window with ";

/// Words that are names of columns without quotes, and of no functions.
const OF_COLUMNS: &str = " between bigint bit boolean char character coalesce dec decimal exists extract float greatest \
    grouping inout int integer interval least national nchar none normalize nullif numeric out overlay position precision \
    real row setof smallint substring time timestamp treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists \
    xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable ";

/// Whether a word, in small letters, is no name without quotes.
pub(crate) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&format!(" {word} "))
}

/// Whether a word, in small letters, is no name of a function or type without quotes, or one that has a form of its own.
pub(crate) fn needs_quotes(word: &str) -> bool {
    is_reserved(word) || OF_COLUMNS.contains(&format!(" {word} "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_need_it() {
        for plain in ["a", "_a1", "name", "key"] {
            assert_eq!(quoted(plain), plain);
        }
        for (name, shown) in [
            ("A", "\"A\""),
            ("1a", "\"1a\""),
            ("a$b", "\"a$b\""),
            ("", "\"\""),
            ("a\"b", "\"a\"\"b\""),
            ("ilike", "\"ilike\""),
        ] {
            assert_eq!(quoted(name), shown);
        }
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\"), "E'a\\\\'");
    }
}
