//! Arguments as people write them, read by the types of parameters, and values as they are shown.
//!
//! ```text
//! NULL   true   12   -3.50   1.5e0   'it''s'   it is   \x00ff   2026-01-31 12:00:00   {1, NULL, 3}   {'a', "b, c", d}
//! ```
//!
//! A text needs quotes only where it would be `NULL` or begins with a quote, and in an array where it has a comma, a brace or
//! spaces around it.

use bumpalo::Bump;

use super::convert;
use super::failure::Failure;
use super::memory::Arena;
use super::output::Output;
use crate::procedure::code::Kind;
use crate::procedure::program::DataType;
use crate::table::{Datum, Type, Value};

impl DataType {
    /// Returns the value of this type that a text stands for.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse_value(self, text: &str) -> Result<Datum, String> {
        let trimmed = text.trim();
        if trimmed.eq_ignore_ascii_case("null") {
            return Ok(Datum::Null);
        }
        if !self.is_array {
            return scalar(self.ty, text);
        }
        let elements = trimmed.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let elements = elements.ok_or_else(|| format!("`{text}` is no {self}: an array is written {{a, b}}"))?;
        let elements = split(elements)?.into_iter().map(|element| match element {
            element if element.eq_ignore_ascii_case("null") => Ok(Datum::Null),
            element => scalar(self.ty, element),
        });
        elements.collect::<Result<_, _>>().map(Datum::Array)
    }

    /// Returns a value of this type as people write it, without quotes but within arrays; `None` of NULL.
    pub fn show_value(self, value: &Datum) -> Option<String> {
        match value {
            Datum::Null => None,
            Datum::Array(elements) => {
                let show = |element: &Datum| match (DataType::from(self.ty).show_value(element), element) {
                    (None, _) => "NULL".to_owned(),
                    (Some(text), Datum::Text(_)) => format!("'{}'", text.replace('\'', "''")),
                    (Some(text), _) => text,
                };
                Some(format!("{{{}}}", elements.iter().map(show).collect::<Vec<_>>().join(", ")))
            }
            value => Some(value.value().map_or_else(String::new, |of| {
                convert::shown(Kind::of(self.ty), of).unwrap_or_else(|_| value.to_string())
            })),
        }
    }
}

impl Output {
    /// Returns the rows as people read them; `None` where a value is NULL.
    pub fn to_texts(&self) -> Vec<Vec<Option<String>>> {
        let show =
            |row: &Vec<Datum>| self.fields().iter().zip(row).map(|(of, value)| of.ty.show_value(value)).collect();
        self.rows().iter().map(show).collect()
    }
}

/// Reads one value, which may be in quotes.
fn scalar(ty: Type, text: &str) -> Result<Datum, String> {
    let trimmed = text.trim();
    let unquoted = ['\'', '"'].iter().find_map(|quote| {
        let inner = trimmed.strip_prefix(*quote)?.strip_suffix(*quote)?;
        Some(inner.replace(&format!("{quote}{quote}"), &quote.to_string()))
    });
    let text = unquoted.as_deref().unwrap_or(text);
    let arena = Arena::new(Bump::new(), usize::MAX);
    let read = convert::read(&arena, ty, text);
    read.map(|value: Value<'_>| Datum::from(value)).map_err(|failure: Failure| match failure.caught() {
        Some((_, message)) => message.to_owned(),
        None => format!("`{text}` is no {ty}"),
    })
}

/// Returns the elements of an array, with their quotes.
fn split(text: &str) -> Result<Vec<&str>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let (mut elements, mut begin, mut quote) = (Vec::new(), 0, None);
    for (at, character) in text.char_indices() {
        match (character, quote) {
            // A doubled quote ends a quotation and begins the next.
            (character, Some(open)) if character == open => quote = None,
            ('\'' | '"', None) if quote.is_some() || is_quote_begin(&text[begin..at]) => quote = Some(character),
            (',', None) => {
                elements.push(text[begin..at].trim());
                begin = at + 1;
            }
            ('{' | '}', None) => {
                return Err("an array has no arrays in it; put a text with a brace in quotes".to_owned());
            }
            _ => {}
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".to_owned());
    }
    elements.push(text[begin..].trim());
    Ok(elements)
}

/// Whether a quote after this much of an element opens a quotation.
fn is_quote_begin(before: &str) -> bool {
    let before = before.trim();
    before.is_empty() || before.starts_with(['\'', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(ty: Type, text: &str) -> Result<String, String> {
        DataType::from(ty).parse_value(text).map(|value| value.to_string())
    }

    fn read_array(ty: Type, text: &str) -> Result<String, String> {
        DataType::array(ty).parse_value(text).map(|value| value.to_string())
    }

    #[test]
    fn values_are_read_by_their_types() {
        let good = |ty, text| read(ty, text).expect(text);
        assert_eq!(good(Type::Int64, "-12"), "-12");
        assert_eq!(good(Type::Text, "it is"), "'it is'");
        assert_eq!(good(Type::Text, "'it''s'"), "'it''s'");
        assert_eq!(good(Type::Text, "12"), "'12'");
        assert_eq!(good(Type::Text, "'null'"), "'null'");
        assert_eq!(good(Type::Text, "null"), "NULL");
        assert_eq!(read(Type::Int64, "two"), Err("'two' is no bigint".to_owned()));
        assert!(read(Type::Int16, "40000").is_err());
        assert!(read(Type::Numeric { precision: 4, scale: 2 }, "100.00").is_err());
        let price = DataType::from(Type::Numeric { precision: 6, scale: 2 });
        let read = price.parse_value("12.5").expect("a price");
        assert_eq!((price.show_value(&read), read), (Some("12.50".to_owned()), Datum::Numeric(1250)));
    }

    #[test]
    fn arrays_are_read_by_the_types_of_their_elements() {
        assert_eq!(read_array(Type::Int64, "{1, NULL,3}"), Ok("{1, NULL, 3}".to_owned()));
        assert_eq!(read_array(Type::Int64, "{ }"), Ok("{}".to_owned()));
        assert_eq!(
            read_array(Type::Text, "{a b, 'c, d', \"e}\", 'f''s', it's}").as_deref(),
            Ok("{'a b', 'c, d', 'e}', 'f''s', 'it''s'}")
        );
        for wrong in ["1, 2", "{1, 2", "{{1}}", "{'a}", "{1,}"] {
            assert!(read_array(Type::Int64, wrong).is_err(), "{wrong}");
        }
        let of = DataType::array(Type::Text);
        let shown = of.show_value(&of.parse_value("{a, 'b''s', null}").expect("an array"));
        assert_eq!(shown.as_deref(), Some("{'a', 'b''s', NULL}"));
    }
}
