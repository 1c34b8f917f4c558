//! Names and texts as statements write them.

/// Returns a name, in quotes where it has to be.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    let is_word = name.bytes().all(is_plain) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    if is_word && !is_reserved(name) { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Returns a text as a literal.
pub(crate) fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if text.contains('\\') { format!("E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}

/// Words that are no names without quotes: those that PostgreSQL reserves, and those that are names of functions or types.
fn is_reserved(word: &str) -> bool {
    const WORDS: &str = " all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean \
        both case cast char character check coalesce collate collation column concurrently constraint create cross \
        current_catalog current_date current_role current_schema current_time current_timestamp current_user dec decimal \
        default deferrable desc distinct do else end except exists extract false fetch float for foreign freeze from full \
        grant greatest group grouping having ilike in initially inner inout int integer intersect interval into is isnull \
        join lateral leading least left like limit localtime localtimestamp national natural nchar none normalize not \
        notnull null nullif numeric offset on only or order out outer overlaps overlay placing position precision primary \
        real references returning right row select session_user setof similar smallint some substring symmetric table \
        tablesample then time timestamp to trailing treat trim true union unique user using values varchar variadic verbose \
        when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot \
        xmlserialize xmltable ";
    WORDS.contains(&format!(" {word} "))
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
