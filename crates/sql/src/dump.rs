//! The definitions of a database as statements, which `SHOW osier.definitions` returns: with the rows, which `COPY` returns, they
//! are a logical dump. PostgreSQL reads them, too.
//!
//! The sections, in the order in which a reader takes them: [`BEFORE`] what rows need, [`ROWS`] the tables whose rows come now,
//! each as what stands behind `COPY`, and [`AFTER`] what is made once they are there.
//!
//! Invariants:
//! - The same database gives the same text, and so does the one that is made of it.
//! - Every name is shown with its schema and quoted where it needs quotes.
//! - All of it is of the transaction's moment, a snapshot where it reads one.
//!
//! Absent: roles with their memberships, procedures with the rights on them, what belongs to other programs than SQL, and what is
//! temporary.

mod objects;

use std::cell::Cell;
use std::collections::BTreeSet;

use osier::Transaction;

use crate::catalog::listing::{self, Sequence};
use crate::catalog::name::{Name, PUBLIC, made_name};
use crate::catalog::notes::{Identity, shown_order};
use crate::catalog::objects::Objects;
use crate::catalog::relation::{Index, Relation};
use crate::catalog::system::{Commented, comments, foreign_key_to};
use crate::ddl::numbers::type_of;
use crate::error::Result;
use crate::parse;
use crate::parse::quote::{literal, quoted};
use crate::parse::sequence::with_public;
use crate::sql::Sql;
use crate::types::Type;

/// The name under which `SHOW` shows the definitions.
pub(crate) const SHOWN: &str = "osier.definitions";
/// The columns that it shows.
pub(crate) const COLUMNS: [&str; 3] = ["section", "name", "definition"];

/// What comes before the rows.
const BEFORE: &str = "before";
/// The rows of a table.
const ROWS: &str = "rows";
/// What comes behind all rows.
const AFTER: &str = "after";

/// How many values a sequence gives a session at once, unless it is told otherwise.
const CACHE: i64 = osier::SequenceOptions::CACHE;

/// A statement, or a table with rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) section: &'static str,
    /// What it defines.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Returns the definitions of all that users have made, in the order in which they can be run.
pub(crate) fn definitions(sql: &Sql, transaction: &Transaction<'_>) -> Result<Vec<Definition>> {
    let all_tables = tables(sql, transaction)?;
    let (materialized, tables): (Vec<_>, Vec<_>) =
        all_tables.iter().cloned().partition(|table| table.is_materialized());
    let mut sequences = listing::sequences(transaction)?;
    sequences.sort_by(|one, other| one.name.cmp(&other.name));
    let (_, all) = sql.objects(transaction)?;
    let is_lasting = |name: &Name| !all.is_temporary(&name.schema);
    sequences.retain(|sequence| is_lasting(&sequence.name));
    let mut beside = Objects::clone(&all);
    beside.views.retain(|name, _| is_lasting(name));
    beside.materialized.retain(|name, _| materialized.iter().any(|relation| relation.name == *name));
    let names = all_tables.iter().map(|table| &table.name).chain(sequences.iter().map(|sequence| &sequence.name));
    let mut made = objects::schemas(&beside, names.map(|name| name.schema.clone()).collect());
    made.extend(objects::extensions(&beside));
    made.extend(objects::types(&beside));
    let mut add = |section, name: &Name, text: String| {
        made.push(Definition { section, name: shown(name), text });
    };

    // A column's own sequence gets a free name when the table is made, which these must not take first or leave to others.
    let owned = OwnedSequences::of(&tables, &sequences);
    for sequence in sequences.iter().filter(|sequence| !owned.holds(&sequence.name)) {
        add(BEFORE, &sequence.name, sequence.definition());
    }
    for table in &tables {
        add(BEFORE, &table.name, table_definition(table, &owned));
    }
    made.extend(late_defaults(&tables, &owned));
    made.extend(indexes(&tables, true, BEFORE));
    let mut add = |section, name: &Name, text: String| {
        made.push(Definition { section, name: shown(name), text });
    };
    for table in by_reference(&tables) {
        // A list of no columns cannot be written.
        let columns = column_list(table, (0..table.visible()).filter(|at| !table.columns[*at].is_generated));
        let columns = if columns.is_empty() { columns } else { format!(" ({columns})") };
        add(ROWS, &table.name, format!("{}{columns}", shown(&table.name)));
    }

    for sequence in &sequences {
        let name = owned.new_name(&sequence.name).unwrap_or(&sequence.name);
        if let Some(text) = sequence.restart(name) {
            add(AFTER, name, text);
        }
    }
    made.extend(keys_and_indexes(&tables));
    made.extend(objects::views(&beside));
    made.extend(indexes(&materialized, true, AFTER));
    made.extend(indexes(&materialized, false, AFTER));
    made.extend(all_comments(transaction, &all_tables, &owned, &is_lasting)?);
    let dumped = |sequence: &Sequence| {
        let name = sequence.name.clone();
        let new_name = owned.new_name(&name).unwrap_or(&name).clone();
        objects::DumpedSequence { comes_with_column: owned.holds(&name), name, new_name }
    };
    let dumped: Vec<_> = sequences.iter().map(dumped).collect();
    made.extend(objects::owners_and_rights(&beside, &all_tables, &dumped));
    // Only where both have the same owner, as they have now.
    made.extend(owned.links(&tables));
    made.extend(objects::refreshes(&beside, &materialized));
    Ok(made)
}

/// Defaults that name the sequence of a column that is made later, also in a circle.
fn late_defaults(tables: &[std::sync::Arc<Relation>], owned: &OwnedSequences) -> Vec<Definition> {
    let mut made = Vec::new();
    for table in tables {
        for (at, column) in table.columns.iter().enumerate().take(table.visible()) {
            if let Some(default) = owned.late_default(table, at) {
                let (name, column) = (shown(&table.name), quoted(&column.name));
                let text = format!("ALTER TABLE {name} ALTER COLUMN {column} SET DEFAULT {default};");
                made.push(Definition { section: BEFORE, name, text });
            }
        }
    }
    made
}

/// The keys of an index, and its condition.
fn index_keys(table: &Relation, index: &Index) -> String {
    let keys = table.keys(&index.columns).iter().enumerate();
    let ordered = |(place, at): (usize, &usize)| table.key_text(*at) + shown_order(&index.orders, place);
    let keys: Vec<String> = keys.map(ordered).collect();
    let predicate = table.predicate(&index.columns).map(|text| format!(" WHERE {text}"));
    format!("({}){}", keys.join(", "), predicate.unwrap_or_default())
}

/// The indexes that compute something, which is a part of each row, or the other ones.
fn indexes(tables: &[std::sync::Arc<Relation>], computes: bool, section: &'static str) -> Vec<Definition> {
    let mut made = Vec::new();
    for table in tables {
        let is_meant = |index: &&Index| {
            let is_computed = index.columns.iter().any(|at| table.columns[*at].computed.is_some());
            is_computed == computes && !table.notes.unique.contains(&index.name)
        };
        for index in table.indexes.iter().filter(is_meant) {
            let unique = if index.is_unique { "UNIQUE " } else { "" };
            let (name, keys) = (quoted(&index.name), index_keys(table, index));
            let text = format!("CREATE {unique}INDEX {name} ON {} {keys};", shown(&table.name));
            let name = shown(&Name::new(&table.name.schema, &index.name));
            made.push(Definition { section, name, text });
        }
    }
    made
}

/// What of tables comes behind their rows.
fn keys_and_indexes(tables: &[std::sync::Arc<Relation>]) -> Vec<Definition> {
    let mut made = indexes(tables, false, AFTER);
    // All tables have their keys and rows by now.
    for table in tables {
        for key in &table.notes.foreign_keys {
            let (name, to) = (quoted(&key.name), foreign_key_to(&shown(&Name::of_engine(&key.table)), key));
            let text = format!("ALTER TABLE {} ADD CONSTRAINT {name} {to};", shown(&table.name));
            made.push(Definition { section: AFTER, name: shown(&table.name), text });
        }
    }
    made
}

/// Comments on anything but views.
fn all_comments(
    transaction: &Transaction<'_>,
    tables: &[std::sync::Arc<Relation>],
    owned: &OwnedSequences,
    is_lasting: &dyn Fn(&Name) -> bool,
) -> Result<Vec<Definition>> {
    let mut made = Vec::new();
    let mut add = |name: &Name, text: String| made.push(Definition { section: AFTER, name: shown(name), text });
    for table in tables {
        for (what, comment) in comments_of(table) {
            add(&table.name, comment_on(&what, comment));
        }
    }
    for (name, comment) in comments(transaction, Commented::Sequence)? {
        let name = Name::of_engine(&name);
        if !is_lasting(&name) {
            continue;
        }
        let name = owned.new_name(&name).unwrap_or(&name);
        add(name, comment_on(&format!("SEQUENCE {}", shown(name)), &comment));
    }
    for (name, comment) in comments(transaction, Commented::Extension)? {
        let name = Name::new(name, "");
        add(&name, comment_on(&format!("EXTENSION {}", shown(&name)), &comment));
    }
    for (name, comment) in comments(transaction, Commented::Type)? {
        let name = Name::of_engine(&name);
        add(&name, comment_on(&format!("TYPE {}", shown(&name)), &comment));
    }
    for (schema, comment) in comments(transaction, Commented::Schema)? {
        add(&Name::new(&schema, ""), comment_on(&format!("SCHEMA {}", quoted(&schema)), &comment));
    }
    Ok(made)
}

/// A name as statements have it.
fn shown(name: &Name) -> String {
    match name.name.as_str() {
        "" => quoted(&name.schema),
        relation => format!("{}.{}", quoted(&name.schema), quoted(relation)),
    }
}

fn column_list(table: &Relation, columns: impl IntoIterator<Item = usize>) -> String {
    let names = columns.into_iter().map(|at| quoted(&table.columns[at].name));
    names.collect::<Vec<_>>().join(", ")
}

/// All tables that statements see, by name.
fn tables(sql: &Sql, transaction: &Transaction<'_>) -> Result<Vec<std::sync::Arc<Relation>>> {
    let names = listing::table_names(transaction)?;
    let mut tables = Vec::new();
    for name in names.iter().map(|name| Name::of_engine(name)).filter(|name| !name.is_own()) {
        tables.extend(sql.find(transaction, &name)?.filter(|relation| !relation.is_temporary()));
    }
    tables.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(tables)
}

/// The tables, each behind those that its foreign keys refer to, as far as there are no circles: so rows may come where the keys
/// are there already.
fn by_reference(tables: &[std::sync::Arc<Relation>]) -> Vec<&Relation> {
    let mut left: Vec<&Relation> = tables.iter().map(|table| &**table).collect();
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waits = |table: &Relation| {
            table.notes.foreign_keys.iter().any(|key| {
                let referenced = Name::of_engine(&key.table);
                referenced != table.name && left.iter().any(|other| other.name == referenced)
            })
        };
        let next = left.iter().position(|table| !waits(table)).unwrap_or(0);
        ordered.push(left.remove(next));
    }
    ordered
}

impl Sequence {
    /// The bounds that a sequence of numbers of a type has by itself.
    fn own_bounds(&self, ty: Type) -> (i64, i64) {
        let (least, greatest) = match ty {
            Type::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
            Type::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
            _ => (i64::MIN, i64::MAX),
        };
        if self.increment > 0 { (1, greatest) } else { (least, -1) }
    }

    /// What it is declared as, where it is of that type.
    fn options(&self, ty: Type) -> Vec<String> {
        let (minimum, maximum) = self.own_bounds(ty);
        let own_start = if self.increment > 0 { self.minimum } else { self.maximum };
        let said = [
            (self.increment != 1, format!("INCREMENT BY {}", self.increment)),
            (self.minimum != minimum, format!("MINVALUE {}", self.minimum)),
            (self.maximum != maximum, format!("MAXVALUE {}", self.maximum)),
            (self.start != own_start, format!("START WITH {}", self.start)),
            (self.cache != CACHE, format!("CACHE {}", self.cache)),
            (self.cycles, "CYCLE".to_owned()),
        ];
        said.into_iter().filter_map(|(is_said, text)| is_said.then_some(text)).collect()
    }

    fn definition(&self) -> String {
        let outermost = if self.increment > 0 { self.maximum } else { self.minimum };
        let (ty, declared) = match type_of(outermost) {
            ty @ (Type::Int2 | Type::Int4) => (ty, format!(" AS {ty}")),
            _ => (Type::Int8, String::new()),
        };
        let parts = [format!("CREATE SEQUENCE {}{declared}", shown(&self.name))];
        parts.into_iter().chain(self.options(ty)).collect::<Vec<_>>().join(" ") + ";"
    }

    /// The statement after which it gives what it gives next here; `None` where it does so when it is new.
    fn restart(&self, name: &Name) -> Option<String> {
        let name = literal(&shown(name));
        match self.next {
            Some(next) if next == self.start => None,
            Some(next) => Some(format!("SELECT setval({name}, {next}, false);")),
            None => {
                let last = if self.increment > 0 { self.maximum } else { self.minimum };
                Some(format!("SELECT setval({name}, {last}, true);"))
            }
        }
    }
}

/// The sequences that come with their columns, and what they are called then.
struct OwnedSequences(Vec<OwnedSequence>);

struct OwnedSequence {
    table: Name,
    column: usize,
    /// What it is called here.
    name: Name,
    /// What it is called where the table is made anew.
    new_name: Name,
    /// How it is declared with the column.
    options: Vec<String>,
}

impl OwnedSequences {
    fn of(tables: &[std::sync::Arc<Relation>], sequences: &[Sequence]) -> OwnedSequences {
        let find = |name: &Name| sequences.iter().find(|sequence| sequence.name == *name);
        let mut owned = Vec::new();
        for table in tables {
            for at in 0..table.visible() {
                let Some(name) = table.notes.columns.get(at).and_then(|note| note.sequence.as_deref()) else {
                    continue;
                };
                let name = Name::of_engine(name);
                let Some(sequence) = find(&name) else { continue };
                let options = sequence.options(table.columns[at].declared.ty);
                // A serial column says no options, and its default names the sequence.
                let is_plain = options.is_empty() && is_default_of(table, at, &name);
                if table.columns[at].identity.is_some() || is_plain {
                    let new_name = name.clone();
                    owned.push(OwnedSequence { table: table.name.clone(), column: at, name, new_name, options });
                }
            }
        }
        OwnedSequences::renamed(owned, tables, sequences)
    }

    /// Finds what they will be called; a serial column whose sequence would get another name keeps it as one of its own.
    fn renamed(
        mut owned: Vec<OwnedSequence>,
        tables: &[std::sync::Arc<Relation>],
        sequences: &[Sequence],
    ) -> OwnedSequences {
        loop {
            let is_owned = |name: &Name| owned.iter().any(|one| one.name == *name);
            let free = sequences.iter().map(|sequence| &sequence.name).filter(|name| !is_owned(name));
            let mut taken: BTreeSet<Name> = free.cloned().collect();
            let mut lost = None;
            for (place, one) in owned.iter_mut().enumerate() {
                let Some(table) = tables.iter().find(|table| table.name == one.table) else { continue };
                let column = &table.columns[one.column];
                let named = |number: u32| {
                    let label = if number == 0 { "seq".to_owned() } else { format!("seq{number}") };
                    Name::new(&one.table.schema, made_name(&one.table.name, Some(&column.name), &label))
                };
                let new_name = (0..).map(named).find(|name| !taken.contains(name));
                one.new_name = new_name.unwrap_or_else(|| one.name.clone());
                taken.insert(one.new_name.clone());
                if one.new_name != one.name && column.identity.is_none() {
                    lost = Some(place);
                    break;
                }
            }
            match lost {
                Some(place) => drop(owned.remove(place)),
                None => return OwnedSequences(owned),
            }
        }
    }

    /// Gives columns the sequences that belong to them and are made on their own.
    fn links(&self, tables: &[std::sync::Arc<Relation>]) -> Vec<Definition> {
        let mut made = Vec::new();
        for table in tables {
            let notes = table.columns.iter().zip(&table.notes.columns).take(table.visible());
            for (column, note) in notes {
                let Some(name) = note.sequence.as_deref().map(Name::of_engine) else { continue };
                if self.holds(&name) {
                    continue;
                }
                let (sequence, table) = (shown(&name), shown(&table.name));
                let text = format!("ALTER SEQUENCE {sequence} OWNED BY {table}.{};", quoted(&column.name));
                made.push(Definition { section: AFTER, name: sequence, text });
            }
        }
        made
    }

    fn holds(&self, name: &Name) -> bool {
        self.0.iter().any(|owned| owned.name == *name)
    }

    fn new_name(&self, name: &Name) -> Option<&Name> {
        self.0.iter().find(|owned| owned.name == *name).map(|owned| &owned.new_name)
    }

    /// The default of a column that names the sequence of another one, as it is where the dump is read.
    fn late_default(&self, table: &Relation, at: usize) -> Option<String> {
        let column = &table.columns[at];
        if column.is_generated || column.identity.is_some() || self.of_column(table, at).is_some() {
            return None;
        }
        let is_late = Cell::new(false);
        let rename = |name: &str| {
            let name = match &parse::object_name(name)?[..] {
                [name] => Name::new(PUBLIC, name),
                [schema, name] => Name::new(schema, name),
                _ => return Ok(None),
            };
            let new_name = self.new_name(&name);
            is_late.set(is_late.get() || new_name.is_some());
            Ok(new_name.map(parse::sequence::shown))
        };
        let text = parse::sequence::renamed(column.default.as_deref()?, &rename).ok()?;
        is_late.get().then(|| with_public(&text))
    }

    fn of_column(&self, table: &Relation, column: usize) -> Option<&OwnedSequence> {
        self.0.iter().find(|owned| owned.table == table.name && owned.column == column)
    }
}

/// Whether the default of a column is that the sequence gives a value.
fn is_default_of(table: &Relation, column: usize, sequence: &Name) -> bool {
    let default = table.columns[column].default.as_deref();
    default.is_some_and(|default| default == format!("nextval({})", sequence.literal()))
}

fn comment_on(what: &str, comment: &str) -> String {
    format!("COMMENT ON {what} IS {};", literal(comment))
}

/// What has comments of a table and its parts, with these.
fn comments_of(table: &Relation) -> Vec<(String, &str)> {
    let (name, notes) = (shown(&table.name), &table.notes);
    let kind = table.object().kind().to_uppercase();
    let mut found = Vec::new();
    found.extend(notes.comment.as_deref().map(|comment| (format!("{kind} {name}"), comment)));
    for (column, note) in table.columns[..table.visible()].iter().zip(&notes.columns) {
        let comment = note.comment.as_deref();
        found.extend(comment.map(|comment| (format!("COLUMN {name}.{}", quoted(&column.name)), comment)));
    }
    for (part, comment) in &notes.comments {
        let what = match part.split_once(' ') {
            Some(("index", index)) => {
                format!("INDEX {}", shown(&Name::new(&table.name.schema, index)))
            }
            Some(("constraint", constraint)) => format!("CONSTRAINT {} ON {name}", quoted(constraint)),
            _ => continue,
        };
        found.push((what, comment.as_str()));
    }
    found
}

fn table_definition(table: &Relation, owned: &OwnedSequences) -> String {
    let mut parts: Vec<String> = (0..table.visible()).map(|at| column_definition(table, at, owned)).collect();
    if !table.has_hidden_key {
        let key = column_list(table, table.key.iter().copied());
        parts.push(format!("CONSTRAINT {} PRIMARY KEY ({key})", quoted(&table.key_name)));
    }
    for index in table.indexes.iter().filter(|index| table.notes.unique.contains(&index.name)) {
        let columns = column_list(table, index.columns.iter().copied());
        parts.push(format!("CONSTRAINT {} UNIQUE ({columns})", quoted(&index.name)));
    }
    for check in &table.notes.checks {
        parts.push(format!("CONSTRAINT {} CHECK ({})", quoted(&check.name), with_public(&check.expression)));
    }
    let body = parts.iter().map(|part| format!("\n    {part}")).collect::<Vec<_>>().join(",");
    format!("CREATE TABLE {} ({body}\n);", shown(&table.name))
}

fn column_definition(table: &Relation, at: usize, owned: &OwnedSequences) -> String {
    let column = &table.columns[at];
    let sequence = owned.of_column(table, at);
    let mut text = quoted(&column.name);
    text.push(' ');
    match (&column.identity, sequence, column.declared.ty) {
        (None, Some(_), ty) => text.push_str(match ty {
            Type::Int2 => "smallserial",
            Type::Int4 => "serial",
            _ => "bigserial",
        }),
        _ => text.push_str(&column.declared.qualified()),
    }
    if let Some(collation) = &column.collation {
        text.push_str(&format!(" COLLATE {}", quoted(collation)));
    }
    match (&column.identity, &column.default) {
        (Some(identity), _) => {
            let how = match identity {
                Identity::Always => "ALWAYS",
                Identity::ByDefault => "BY DEFAULT",
            };
            text.push_str(&format!(" GENERATED {how} AS IDENTITY"));
            if let Some(options) = sequence.map(|sequence| &sequence.options).filter(|options| !options.is_empty()) {
                text.push_str(&format!(" ({})", options.join(" ")));
            }
        }
        (None, Some(expr)) if column.is_generated => {
            text.push_str(&format!(" GENERATED ALWAYS AS ({expr}) STORED"));
        }
        (None, Some(_)) if owned.late_default(table, at).is_some() => {}
        (None, Some(default)) if sequence.is_none() => text.push_str(&format!(" DEFAULT {}", with_public(default))),
        _ => {}
    }
    if !column.is_nullable {
        text.push_str(" NOT NULL");
    }
    text
}
