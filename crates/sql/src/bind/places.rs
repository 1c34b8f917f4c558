//! Where the text of a query names tables, and where it says `*`: so the text of a view can be written anew.
//!
//! Places are numbers of characters, from 0 on, in a text that was parsed with the places of its nodes.

use sqlparser::ast::{self, Spanned};
use sqlparser::tokenizer::Span;

use super::Binder;
use super::scope::{Level, ScopeColumn};
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
    /// The name of a table or a view, and what it means.
    Table { name: Name, alias: Option<Alias> },
    /// `*`, and the columns that it stands for.
    Star(Vec<ColumnText>),
    /// The name of a column; `is_item` where a list has it without another name.
    Column { text: ColumnText, is_item: bool, is_whole: bool },
    /// The row of a table, under the table's name; `is_item` as above. Of an alias of `USING`, with its columns.
    Row { table: String, is_item: bool, columns: Option<Vec<ColumnText>> },
    /// The columns in `USING`, and which of both sides are equal; with the alias, and where the columns end before it.
    Using { pairs: Vec<(ColumnText, ColumnText)>, alias: Option<(String, usize)> },
    /// The table behind `NATURAL JOIN`, which may end with a list of names.
    Natural { pairs: Vec<(ColumnText, ColumnText)>, has_list: bool },
    /// The first table of a join in parentheses with a name, and the columns that it has.
    NamedJoin { alias: Alias, columns: Vec<(ColumnText, String)> },
}

/// An alias of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alias {
    pub(crate) end: usize,
    /// The end of the last name in the list behind it.
    pub(crate) list_end: Option<usize>,
}

/// How a column is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnText {
    /// The table, as it is called here.
    pub(super) table: Option<String>,
    /// Its name here.
    name: String,
    /// Its name where the list of names behind the alias of its table is left out.
    own: String,
    /// Both columns that a full join has made one, where the name means that.
    merged: Option<String>,
    /// The table or view that it is a column of, and what it is called there, unless it has another name here.
    pub(crate) of: Option<(Name, String)>,
    /// Whether the name of another table is the same here.
    is_hidden: bool,
}

impl ColumnText {
    /// How a column is written; `is_bare` where its name stands without the table's.
    pub(super) fn of(column: &ScopeColumn, is_bare: bool, is_hidden: bool) -> ColumnText {
        let of = column.origin_use.as_ref().and_then(|(used, at)| Some((used.name.clone(), used.columns.get(*at)?)));
        ColumnText {
            table: column.table.clone(),
            name: column.name.clone(),
            own: column.own_name.as_ref().unwrap_or(&column.name).clone(),
            merged: column.merged.as_ref().filter(|_| is_bare || column.of_using.is_some()).map(|it| it.text.clone()),
            of: of.filter(|(_, (text, _))| *text == column.name).map(|(name, (text, _))| (name, text.clone())),
            is_hidden,
        }
    }

    /// With the name of its table; `None` where that does not say which column is meant.
    pub(crate) fn whole(&self, is_item: bool) -> Option<String> {
        let table = self.table.as_ref().filter(|_| !self.is_hidden)?;
        let text = self.merged.clone().unwrap_or_else(|| format!("{}.{}", quoted(table), quoted(&self.own)));
        let has_name = !is_item || (self.merged.is_none() && self.own == self.name);
        Some(if has_name { text } else { format!("{text} AS {}", quoted(&self.name)) })
    }

    /// As [`ColumnText::whole`], in a list under a name.
    pub(crate) fn named(&self, name: &str) -> Option<String> {
        Some(format!("{} AS {}", self.whole(false)?, quoted(name)))
    }

    /// Its name behind that of its table.
    pub(crate) fn last(&self, is_item: bool) -> String {
        let own = quoted(&self.own);
        if is_item && self.own != self.name { format!("{own} AS {}", quoted(&self.name)) } else { own }
    }

    /// With the name of its table, if it has one, and its name here.
    pub(crate) fn here(&self) -> String {
        match &self.table {
            Some(table) => format!("{}.{}", quoted(table), quoted(&self.name)),
            None => quoted(&self.name),
        }
    }
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
        // A table that is joined begins where its name does.
        let kind = |what: &What| match what {
            What::NamedJoin { .. } => 0,
            What::Natural { .. } => 2,
            _ => 1,
        };
        let key = |place: &Place| (place.start, kind(&place.what));
        places.sort_by_key(key);
        places.dedup_by_key(|place| key(place));
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
            let alias = alias.and_then(alias_of);
            self.add_place(first.span, last.span, What::Table { name: name.clone(), alias });
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
        let shown: Vec<ColumnText> = columns.map(|column| ColumnText::of(column, qualifier.is_none(), false)).collect();
        let star = options.wildcard_token.0.span;
        let first = qualifier.and_then(|name| name.0.first()?.as_ident()).map_or(star, |ident| ident.span);
        if !shown.is_empty() {
            self.add_place(first, star, What::Star(shown));
        }
    }

    /// A column is named, with or without its table.
    pub(super) fn place_column(
        &self,
        idents: &[ast::Ident],
        (table, name): (Option<&str>, &str),
        is_item: bool,
        level: &Level<'_>,
    ) {
        let ([first, ..], [.., last], true) = (idents, idents, self.wants_places()) else { return };
        let Some((column, is_hidden)) = level.found(table, name) else { return };
        let text = ColumnText::of(column, table.is_none(), is_hidden);
        // `(t).a` has something between the table and the column, and an alias of `USING` is no table.
        let is_whole = idents.len() != 2 || column.of_using.is_some();
        let first = if is_whole { first } else { last };
        self.add_place(first.span, last.span, What::Column { text, is_item, is_whole });
    }

    /// The row of a table is named.
    pub(super) fn place_row(&self, ident: &ast::Ident, is_item: bool, level: &Level<'_>) {
        if self.wants_places() {
            let table = crate::parse::name(ident);
            let columns = level.of_using(&table);
            self.add_place(ident.span, ident.span, What::Row { table, is_item, columns });
        }
    }

    /// Columns of two sides are equal, as `USING` or `NATURAL` says.
    pub(super) fn place_join(
        &self,
        constraint: &ast::JoinConstraint,
        factor: &ast::TableFactor,
        pairs: Vec<(ColumnText, ColumnText)>,
    ) {
        match constraint {
            _ if !self.wants_places() => {}
            ast::JoinConstraint::Using(columns) => {
                let idents: Vec<&ast::Ident> = columns.iter().filter_map(|name| name.0.last()?.as_ident()).collect();
                let (names, alias) = crate::parse::forms::split_alias(columns);
                let end = idents.get(names.len() - 1).and_then(|last| bounds(last.span, last.span));
                if let ([first, ..], [.., last], Some((_, end))) = (&idents[..], &idents[..], end) {
                    let alias = alias.map(|alias| (alias, end));
                    self.add_place(first.span, last.span, What::Using { pairs, alias });
                }
            }
            ast::JoinConstraint::Natural => {
                let Some((first, last, has_list)) = ends_of(factor) else { return };
                self.add_place(first, last, What::Natural { pairs, has_list });
            }
            _ => {}
        }
    }

    /// A join in parentheses has a name. `first` is what is joined first, and `columns` are what it has.
    pub(super) fn place_named_join<'c>(
        &self,
        first: &ast::TableFactor,
        alias: &ast::TableAlias,
        columns: impl Iterator<Item = &'c ScopeColumn>,
    ) {
        let (Some((first, _, _)), Some(place), true) = (ends_of(first), alias_of(alias), self.wants_places()) else {
            return;
        };
        let names = alias.columns.iter().map(|column| Some(crate::parse::name(&column.name)));
        let names = names.chain(std::iter::repeat(None));
        let named = columns.zip(names).map(|(column, name)| {
            let name = name.unwrap_or_else(|| column.name.clone());
            (ColumnText::of(column, true, false), name)
        });
        self.add_place(first, first, What::NamedJoin { alias: place, columns: named.collect() });
    }
}

fn alias_of(alias: &ast::TableAlias) -> Option<Alias> {
    let end = |ident: &ast::Ident| bounds(ident.span, ident.span).map(|(_, end)| end);
    let list_end = alias.columns.last().and_then(|column| end(&column.name));
    Some(Alias { end: end(&alias.name)?, list_end })
}

/// The first and the last name of a table in `FROM`, or of a subquery there, and whether the last one is in a list.
fn ends_of(factor: &ast::TableFactor) -> Option<(Span, Span, bool)> {
    let last = |alias: &ast::TableAlias| match alias.columns.last() {
        Some(column) => (column.name.span, true),
        None => (alias.name.span, false),
    };
    match factor {
        ast::TableFactor::Table { name, alias, args: None, .. } => {
            let ident = |part: Option<&ast::ObjectNamePart>| Some(part?.as_ident()?.span);
            let (first, end) = (ident(name.0.first())?, ident(name.0.last())?);
            let (end, has_list) = alias.as_ref().map_or((end, false), last);
            Some((first, end, has_list))
        }
        ast::TableFactor::Derived { subquery, alias: Some(alias), .. } => {
            let (end, has_list) = last(alias);
            Some((subquery.span(), end, has_list))
        }
        _ => None,
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
