//! Where the text of a query names tables, and where it says `*`: so the text of a view can be written anew.
//!
//! Places are numbers of characters, from 0 on, in a text that was parsed with the places of its nodes.

use sqlparser::ast;
use sqlparser::tokenizer::Span;

use super::Binder;
use super::scope::ScopeColumn;
use crate::catalog::name::Name;
use crate::parse::quote::quoted;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) what: What,
}

/// What a piece of a text says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The name of a table or a view, what it means, and the end of an alias behind it; `None`: there is none.
    Table { name: Name, alias_end: Option<usize> },
    /// `*`, and the columns that it stands for.
    Star(String),
}

/// Where a piece of a text is that goes from one span to another.
pub(super) fn bounds(first: Span, last: Span) -> Option<(usize, usize)> {
    let start = crate::parse::column(first)?;
    let end = usize::try_from(last.end.column).ok()?;
    Some((start.checked_sub(1)?, end.checked_sub(1)?))
}

impl Binder<'_> {
    /// Says that places are wanted.
    pub(crate) fn record_places(&self) {
        self.places.replace(Some(Vec::new()));
    }

    /// The places that were found, in their order.
    pub(crate) fn places(&self) -> Vec<Place> {
        let mut places = self.places.take().unwrap_or_default();
        places.sort_by_key(|place| place.start);
        places.dedup_by_key(|place| place.start);
        places
    }

    fn add_place(&self, first: Span, last: Span, what: What) {
        if let (Some(places), Some((start, end))) = (self.places.borrow_mut().as_mut(), bounds(first, last)) {
            places.push(Place { start, end, what });
        }
    }

    fn wants_places(&self) -> bool {
        self.places.borrow().is_some() && !self.is_within_view()
    }

    /// A table is named.
    pub(super) fn place_table(&self, object: &ast::ObjectName, alias: Option<&ast::TableAlias>, name: &Name) {
        let idents: Vec<&ast::Ident> = object.0.iter().filter_map(ast::ObjectNamePart::as_ident).collect();
        if let ([first, ..], [.., last], true) = (&idents[..], &idents[..], self.wants_places()) {
            let alias_end = alias.and_then(|alias| bounds(alias.name.span, alias.name.span)).map(|(_, end)| end);
            self.add_place(first.span, last.span, What::Table { name: name.clone(), alias_end });
        }
    }

    /// `*` stands for some columns; `qualifier` is what stands before it.
    pub(super) fn place_star<'c>(
        &self,
        qualifier: Option<&ast::ObjectName>,
        options: &ast::WildcardAdditionalOptions,
        columns: impl Iterator<Item = &'c ScopeColumn>,
    ) {
        if !self.wants_places() {
            return;
        }
        let shown: Vec<String> = columns
            .map(|column| match &column.table {
                Some(table) => format!("{}.{}", quoted(table), quoted(&column.name)),
                None => quoted(&column.name),
            })
            .collect();
        let star = options.wildcard_token.0.span;
        let first = qualifier.and_then(|name| name.0.first()?.as_ident()).map_or(star, |ident| ident.span);
        if !shown.is_empty() {
            self.add_place(first, star, What::Star(shown.join(", ")));
        }
    }
}

/// Writes other text in some places of one, which do not overlap.
pub(crate) fn edited(text: &str, mut edits: Vec<(usize, usize, String)>) -> String {
    edits.sort_by_key(|(start, end, _)| (*start, *end));
    let chars: Vec<char> = text.chars().collect();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (start, end, new) in edits {
        out.extend(&chars[at.min(start)..start.min(chars.len())]);
        out.push_str(&new);
        at = end.min(chars.len());
    }
    out.extend(&chars[at..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_edited_from_the_front() {
        let edits = vec![(7, 8, "a, b".to_owned()), (14, 15, "s.t".to_owned()), (15, 15, " AS t".to_owned())];
        assert_eq!(edited("SELECT * FROM t WHERE 1", edits), "SELECT a, b FROM s.t AS t WHERE 1");
        assert_eq!(edited("ä", vec![(1, 1, "!".to_owned())]), "ä!");
    }
}
