//! The text of a view's query as it is kept, so that it means the same whatever becomes of its tables.
//!
//! Invariants:
//! - Tables have their schemas and columns their tables, `*` is written out, and `USING` and `NATURAL` are conditions: a new
//!   column makes no name ambiguous, and nothing that was not there belongs to a join.
//! - Where the text names tables and columns is kept with it, so that it is shown with their current names. What a list or a
//!   subquery calls a column stays.
//! - A join with a name is a subquery, whose columns are those of then, too.
//! - Literals say by themselves what they mean: see `bind/literals.rs`.
//!
//! Absent: `NATURAL JOIN` with a function or a join in parentheses, and a name that has the alias of another table within its
//! query, stay as they were written.

use std::collections::BTreeMap;
use std::rc::Rc;

use sqlparser::ast;

use super::Definer;
use crate::bind::Binder;
use crate::bind::outputs;
use crate::bind::places::{Alias, ColumnText, Place, What, edited};
use crate::bind::uses::Use;
use crate::catalog::objects::{ColumnPlace, KnownColumn, Reference, TablePlace};
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::parse::quote::quoted;

/// The query of a view as it is kept.
pub(super) struct Written {
    pub(super) query: String,
    pub(super) tables: Vec<Reference>,
    pub(super) places: Vec<TablePlace>,
    pub(super) column_places: Option<Vec<ColumnPlace>>,
}

/// What is found in the text of a query.
struct Placed {
    places: Vec<Place>,
    uses: Vec<Rc<Use>>,
    literals: Vec<Edit>,
}

/// A piece of a text, and what is to be there.
type Edit = (usize, usize, String);

impl Definer<'_, '_> {
    /// The query of a view as it is kept.
    pub(super) fn written(&self, name: &ast::ObjectName, query: &ast::Query) -> Result<Written> {
        let shown = query.to_string();
        if shown.contains(['\0', '\u{1}']) {
            return Err(SqlError::unsupported("EXCLUDE or ROWS FROM in the query of a view"));
        }
        if !parse::reads_back(query, &shown) {
            return Err(SqlError::unsupported("a view whose query is another one when it is written out")
                .with_hint("Put parentheses around its expressions."));
        }
        let mut query = query.clone();
        outputs::name(&mut query);
        let text = self.with_schemas(&query.to_string(), true)?;
        let what = format!("view \"{}\"", parse::parts(name)?.join("."));
        let found = self.placed(&what, &text)?;
        let full = edited(&text, Writer::new(&text, &found.places).edits(&found.literals));
        if let Ok(placed) = self.placed(&what, &full) {
            return Ok(kept(full, &placed, true));
        }
        // A name means something else with its table: it is kept without.
        let plain = edited(&text, plain_edits(&found));
        let placed = self.placed(&what, &plain)?;
        Ok(kept(plain, &placed, false))
    }

    /// Where a query names tables and columns, what it does with them, and the literals to be written in another way.
    fn placed(&self, what: &str, text: &str) -> Result<Placed> {
        let statements = parse::of_client(text)?;
        let [ast::Statement::Query(query)] = &statements[..] else {
            return Err(SqlError::new(SqlState::InternalError, "the text of a view is no query"));
        };
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        binder.record_places();
        binder.record_literals();
        binder.query(query, None)?;
        let literals = binder.literals(what)?;
        Ok(Placed { places: binder.places(), uses: binder.uses(), literals })
    }
}

/// A text with where it names tables and, where it `is_full`, columns.
fn kept(query: String, placed: &Placed, is_full: bool) -> Written {
    let tables = references(&placed.uses);
    let (mut places, mut column_places) = (Vec::new(), Vec::new());
    for place in &placed.places {
        let (start, end) = (place.start, place.end);
        match &place.what {
            What::Table { name, alias } => {
                // Relations of the catalog keep their names.
                let Some(of) = tables.iter().position(|reference| reference.is_to(name)) else { continue };
                let has_columns = alias.as_ref().is_some_and(|alias| alias.list_end.is_some());
                let alias_end = alias.as_ref().map(|alias| alias.end);
                places.push(TablePlace { start, end, alias_end, has_columns, of });
            }
            What::Column { text: ColumnText { of: Some((table, column)), .. }, is_item, .. } => {
                let Some(of) = tables.iter().position(|reference| reference.is_to(table)) else { continue };
                column_places.push(ColumnPlace { start, end, of, column: column.clone(), is_item: *is_item });
            }
            _ => {}
        }
    }
    Written { query, tables, places, column_places: is_full.then_some(column_places) }
}

/// Schemas for tables and columns for `*` alone.
fn plain_edits(found: &Placed) -> Vec<Edit> {
    let edit = |place: &Place| match &place.what {
        What::Star(columns) => {
            let columns: Vec<String> = columns.iter().map(ColumnText::here).collect();
            Some((place.start, place.end, columns.join(", ")))
        }
        What::Table { name, .. } => Some((place.start, place.end, parse::sequence::quoted(&name.schema, &name.name))),
        // The parenthesis stands right behind the alias, which is printed as one more column.
        What::Using { alias: Some((alias, end)), .. } => Some((*end, place.end + 1, format!(") AS {}", quoted(alias)))),
        _ => None,
    };
    found.places.iter().filter_map(edit).chain(found.literals.iter().cloned()).collect()
}

/// The row of an alias of `USING`: the fields of `ROW(...)` would have no names.
fn row_of_alias(columns: &[ColumnText]) -> Option<String> {
    let list = columns.iter().map(|column| column.whole(true)).collect::<Option<Vec<_>>>()?;
    // No column has this name, which would be found before the row.
    let alias = quoted("*USING*");
    Some(format!("(SELECT {alias} FROM (SELECT {}) AS {alias})", list.join(", ")))
}

/// Writes a query in which columns have their tables.
struct Writer<'w> {
    text: Vec<char>,
    places: &'w [Place],
}

impl<'w> Writer<'w> {
    fn new(text: &str, places: &'w [Place]) -> Writer<'w> {
        Writer { text: text.chars().collect(), places }
    }

    fn edits(&self, literals: &[Edit]) -> Vec<Edit> {
        let mut edits = literals.to_vec();
        for place in self.places {
            self.edit(place, &mut edits);
        }
        edits
    }

    fn edit(&self, Place { start, end, what }: &Place, edits: &mut Vec<Edit>) {
        let (start, end) = (*start, *end);
        match what {
            What::Table { name, alias } => {
                edits.push((start, end, parse::sequence::quoted(&name.schema, &name.name)));
                edits.extend(alias.as_ref().and_then(|alias| self.list_of(alias)));
            }
            What::Star(columns) => {
                let whole = |column: &ColumnText| column.whole(true).unwrap_or_else(|| column.here());
                let columns: Vec<String> = columns.iter().map(whole).collect();
                edits.push((start, end, columns.join(", ")));
            }
            What::Column { text, is_item, is_whole: false } => {
                edits.push((start, end, text.last(*is_item)));
            }
            What::Column { text, is_item, .. } => {
                edits.extend(text.whole(*is_item).map(|text| (start, end, text)));
            }
            What::Row { columns: Some(columns), .. } => {
                edits.extend(row_of_alias(columns).map(|text| (start, end, text)));
            }
            What::Row { table, is_item: false, .. } => edits.push((start, end, format!("({}.*)", quoted(table)))),
            What::Row { .. } => {}
            What::Using { pairs, .. } => edits.extend(self.using(start, end, pairs)),
            What::Natural { pairs, has_list } => {
                let end = if *has_list { self.behind_parenthesis(end) } else { Some(end) };
                edits.extend(end.and_then(|end| self.natural(start, end, pairs)).into_iter().flatten());
            }
            What::NamedJoin { alias, columns } => {
                edits.extend(self.named_join(start, alias, columns).into_iter().flatten());
            }
        }
    }

    /// Leaves out the list of names behind an alias.
    fn list_of(&self, alias: &Alias) -> Option<Edit> {
        let end = alias.list_end?;
        Some((alias.end, self.behind_parenthesis(end)?, String::new()))
    }

    fn behind_parenthesis(&self, from: usize) -> Option<usize> {
        let rest = self.text.get(from..)?;
        let blanks = rest.iter().take_while(|c| c.is_whitespace()).count();
        (rest.get(blanks) == Some(&')')).then_some(from + blanks + 1)
    }

    /// That all pairs are equal.
    fn condition(&self, pairs: &[(ColumnText, ColumnText)]) -> Option<String> {
        let equal = |(left, right): &(ColumnText, ColumnText)| {
            Some(format!("{} = {}", left.whole(false)?, right.whole(false)?))
        };
        let conditions = pairs.iter().map(equal).collect::<Option<Vec<_>>>()?;
        Some(if conditions.is_empty() { "true".to_owned() } else { conditions.join(" AND ") })
    }

    /// `ON` in place of `USING`, whose columns go from `start` to `end`.
    fn using(&self, start: usize, end: usize, pairs: &[(ColumnText, ColumnText)]) -> Option<Edit> {
        let before: String = self.text.get(..start)?.iter().collect();
        let word = before.trim_end().strip_suffix('(')?.trim_end().strip_suffix("USING")?;
        let condition = self.condition(pairs)?;
        Some((word.chars().count(), self.behind_parenthesis(end)?, format!("ON {condition}")))
    }

    /// A condition behind the table of a `NATURAL JOIN`, which goes from `start` to `end`.
    fn natural(&self, start: usize, end: usize, pairs: &[(ColumnText, ColumnText)]) -> Option<Vec<Edit>> {
        const WORD: &str = "NATURAL ";
        let before: String = self.text.get(..start)?.iter().collect();
        let at = before.rfind(WORD)?;
        let between = &before[at + WORD.len()..];
        let is_join = between.trim_end_matches([' ', '(']).trim_end_matches("LATERAL").trim_end().ends_with("JOIN");
        let is_plain = between.chars().all(|c| c.is_ascii_uppercase() || c == ' ' || c == '(');
        if !is_join || !is_plain {
            return None;
        }
        let condition = format!(" ON {}", self.condition(pairs)?);
        let at = before[..at].chars().count();
        Some(vec![(at, at + WORD.len(), String::new()), (end, end, condition)])
    }

    /// A subquery in place of a join with a name, whose first table begins at `start`.
    fn named_join(&self, start: usize, alias: &Alias, columns: &[(ColumnText, String)]) -> Option<Vec<Edit>> {
        if self.text.get(start.checked_sub(1)?) != Some(&'(') {
            return None;
        }
        let list = columns.iter().map(|(column, name)| column.named(name)).collect::<Option<Vec<_>>>()?;
        let mut edits = vec![(start, start, format!("SELECT {} FROM ", list.join(", ")))];
        edits.extend(self.list_of(alias));
        Some(edits)
    }
}

/// What the names in a query mean.
fn references(uses: &[Rc<Use>]) -> Vec<Reference> {
    let mut found: BTreeMap<Vec<String>, Reference> = BTreeMap::new();
    for used in uses.iter().filter(|used| !used.is_within_view) {
        let reference = found.entry(used.text.clone()).or_insert_with(|| Reference {
            text: used.text.clone(),
            schema: used.name.schema.clone(),
            name: used.name.name.clone(),
            columns: used
                .columns
                .iter()
                .map(|(text, name)| KnownColumn { text: text.clone(), name: name.clone(), is_used: false })
                .collect(),
        });
        let read = used.read.borrow();
        for (at, column) in reference.columns.iter_mut().enumerate() {
            column.is_used |= used.pins_all.get() || read.contains(&at);
        }
    }
    found.into_values().collect()
}
