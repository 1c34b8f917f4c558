//! What a dump has beside tables and sequences: schemas, views, materialized ones, owners and rights.
//!
//! Invariant: views come behind those that they read. Where views read each other in a circle, the first one is made with other
//! rows before, and again with its own query at the end. Materialized views get their rows behind all else, each behind those
//! that it reads.

use std::collections::{BTreeMap, BTreeSet};

use super::{AFTER, BEFORE, Definition, comment_on, shown};
use crate::catalog::name::{Name, PUBLIC};
use crate::catalog::objects::{CheckOption, ExtensionEntry, Kind, Objects, UserType, ViewColumn, ViewEntry};
use crate::catalog::relation::Relation;
use crate::catalog::rights::{Grant, Object, Rights, initial};
use crate::parse::quote::{literal, quoted};
use crate::sql::Sql;
use crate::types::Declared;

fn define(section: &'static str, name: &Name, text: String) -> Definition {
    Definition { section, name: shown(name), text }
}

/// The schemas but `public`; `used` are those of tables and sequences.
pub(super) fn schemas(objects: &Objects, used: BTreeSet<String>) -> Vec<Definition> {
    let all: BTreeSet<String> = objects.schemas.keys().cloned().chain(used).collect();
    let of = all.iter().filter(|schema| *schema != PUBLIC);
    of.map(|schema| define(BEFORE, &Name::new(schema, ""), format!("CREATE SCHEMA {};", quoted(schema)))).collect()
}

/// The extensions that were created.
pub(super) fn extensions(objects: &Objects) -> Vec<Definition> {
    let of = |(name, entry): (&String, &ExtensionEntry)| {
        let (extension, schema) = (quoted(name), quoted(&entry.schema));
        let text = format!("CREATE EXTENSION IF NOT EXISTS {extension} WITH SCHEMA {schema};");
        define(BEFORE, &Name::new(name, ""), text)
    };
    objects.extensions.iter().map(of).collect()
}

/// The types that users have made.
pub(super) fn types(objects: &Objects) -> Vec<Definition> {
    let of = |(name, known): (&Name, &UserType)| {
        let labels: Vec<String> = known.ty.labels().iter().map(|label| literal(&label.text)).collect();
        define(BEFORE, name, format!("CREATE TYPE {} AS ENUM ({});", shown(name), labels.join(", ")))
    };
    objects.types.iter().map(of).collect()
}

fn create(kind: Kind, name: &Name, view: &ViewEntry, replaces: bool) -> String {
    let columns: Vec<String> = view.columns.iter().map(|column| quoted(&column.name)).collect();
    let (kind, check) = match view.check {
        _ if kind == Kind::Materialized => ("MATERIALIZED VIEW", " WITH NO DATA"),
        check => ("VIEW", checked(check)),
    };
    let or_replace = if replaces { "OR REPLACE " } else { "" };
    let list = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
    format!("CREATE {or_replace}{kind} {}{list} AS {}{check};", shown(name), view.definition(&shown))
}

fn checked(check: Option<CheckOption>) -> &'static str {
    match check {
        None => "",
        Some(CheckOption::Local) => " WITH LOCAL CHECK OPTION",
        Some(CheckOption::Cascaded) => " WITH CASCADED CHECK OPTION",
    }
}

/// A view with the same columns that reads nothing.
fn placeholder(objects: &Objects, name: &Name, view: &ViewEntry) -> String {
    let ty =
        |column: &ViewColumn| objects.read_type(&column.ty).map_or_else(|_| column.ty.clone(), Declared::qualified);
    let columns: Vec<String> =
        view.columns.iter().map(|column| format!("NULL::{} AS {}", ty(column), quoted(&column.name))).collect();
    format!("CREATE VIEW {} AS SELECT {};", shown(name), columns.join(", "))
}

/// The views, with what is said of them, and materialized ones without their rows.
pub(super) fn views(objects: &Objects) -> Vec<Definition> {
    let mut made = Vec::new();
    let all = objects.queries().map(|(kind, name, view)| (name, (kind, &**view)));
    let mut left: BTreeMap<&Name, (Kind, &ViewEntry)> = all.collect();
    let mut again = Vec::new();
    while !left.is_empty() {
        let waits = |view: &ViewEntry| {
            let reads = view.tables.iter().map(|reference| Name::new(&reference.schema, &reference.name));
            reads.into_iter().any(|read| left.contains_key(&read))
        };
        let next = left.iter().find(|(_, (_, view))| !waits(view)).map(|(name, found)| (*name, *found, false));
        // There is a view in every circle: nothing replaces the query of a materialized one.
        let mut views = left.iter().filter(|(_, (kind, _))| *kind == Kind::View);
        let first = views.next().map(|(name, found)| (*name, *found, true));
        let Some((name, (kind, view), is_in_circle)) = next.or(first) else { break };
        left.remove(name);
        if is_in_circle {
            made.push(define(AFTER, name, placeholder(objects, name, view)));
            again.push(define(AFTER, name, create(kind, name, view, true)));
        } else {
            made.push(define(AFTER, name, create(kind, name, view, false)));
        }
    }
    made.extend(again);
    for (name, view) in &objects.views {
        if let Some(comment) = &view.comment {
            made.push(define(AFTER, name, comment_on(&format!("VIEW {}", shown(name)), comment)));
        }
        for column in &view.columns {
            let what = format!("COLUMN {}.{}", shown(name), quoted(&column.name));
            made.extend(column.comment.iter().map(|comment| define(AFTER, name, comment_on(&what, comment))));
        }
    }
    made
}

/// What gives materialized views their rows, each behind those that it reads. One that reads one without rows gets none.
pub(super) fn refreshes(objects: &Objects, materialized: &[std::sync::Arc<Relation>]) -> Vec<Definition> {
    let is_populated = |name: &Name| {
        let found = materialized.iter().find(|relation| relation.name == *name);
        found.is_some_and(|relation| relation.need_populated().is_ok())
    };
    let mut left: BTreeMap<&Name, BTreeSet<Name>> = BTreeMap::new();
    for relation in materialized {
        let mut read = BTreeSet::new();
        add_read(objects, &relation.name, &mut read);
        if is_populated(&relation.name) && read.iter().all(is_populated) {
            left.insert(&relation.name, read);
        }
    }
    let mut made = Vec::new();
    while !left.is_empty() {
        let waits = |name: &Name, read: &BTreeSet<Name>| read.iter().any(|one| one != name && left.contains_key(one));
        let next = left.iter().find(|(name, read)| !waits(name, read)).or_else(|| left.iter().next());
        let Some(name) = next.map(|(name, _)| *name) else { break };
        left.remove(name);
        made.push(define(AFTER, name, format!("REFRESH MATERIALIZED VIEW {};", shown(name))));
    }
    made
}

/// Adds the materialized views that a view reads, also through others.
fn add_read(objects: &Objects, name: &Name, read: &mut BTreeSet<Name>) {
    let mut open = vec![name.clone()];
    let mut seen = BTreeSet::new();
    while let Some(next) = open.pop() {
        let Some(view) = objects.views.get(&next).or_else(|| objects.materialized.get(&next)) else { continue };
        for reference in &view.tables {
            let below = Name::new(&reference.schema, &reference.name);
            if objects.materialized.contains_key(&below) {
                read.insert(below.clone());
            }
            if seen.insert(below.clone()) {
                open.push(below);
            }
        }
    }
}

/// Something with an owner and rights, and how statements name it.
struct Owned {
    object: Object,
    name: Name,
    owner: String,
    /// The kind in `ALTER` and in `GRANT`.
    kinds: (&'static str, &'static str),
    /// Whether it has an owner of its own, and not that of a table.
    is_free: bool,
}

/// A sequence as it is dumped.
pub(super) struct DumpedSequence {
    pub(super) name: Name,
    /// What it is called where the dump is read.
    pub(super) new_name: Name,
    /// Whether it is made there with its column.
    pub(super) comes_with_column: bool,
}

/// Who owns what, and who may do what with it.
pub(super) fn owners_and_rights(
    objects: &Objects,
    tables: &[std::sync::Arc<Relation>],
    sequences: &[DumpedSequence],
) -> Vec<Definition> {
    let mut all: Vec<Owned> = Vec::new();
    let schemas = objects.schemas.keys().map(String::as_str).chain([PUBLIC]).collect::<BTreeSet<_>>();
    all.extend(schemas.into_iter().map(|schema| Owned {
        object: Object::Schema(schema.to_owned()),
        name: Name::new(schema, ""),
        owner: objects.schema_owner(schema).to_owned(),
        kinds: ("SCHEMA", "SCHEMA"),
        is_free: true,
    }));
    all.extend(tables.iter().map(|table| Owned {
        object: table.object(),
        name: table.name.clone(),
        owner: table.notes.owner.clone(),
        kinds: (if table.is_materialized() { "MATERIALIZED VIEW" } else { "TABLE" }, "TABLE"),
        is_free: true,
    }));
    all.extend(sequences.iter().map(|sequence| Owned {
        object: Object::Sequence(sequence.name.clone()),
        name: sequence.new_name.clone(),
        owner: objects.sequence_owner(&sequence.name).to_owned(),
        kinds: ("SEQUENCE", "SEQUENCE"),
        is_free: !sequence.comes_with_column,
    }));
    all.extend(objects.views.iter().map(|(name, view)| Owned {
        object: Object::View(name.clone()),
        name: name.clone(),
        owner: view.owner.clone(),
        kinds: ("VIEW", "TABLE"),
        is_free: true,
    }));
    all.extend(objects.types.iter().map(|(name, known)| Owned {
        object: Object::Type(name.clone()),
        name: name.clone(),
        owner: known.owner.clone(),
        kinds: ("TYPE", "TYPE"),
        is_free: true,
    }));
    let mut made = Vec::new();
    for owned in all.iter().filter(|owned| owned.is_free && owned.owner != Sql::FIRST_ROLE) {
        let text = format!("ALTER {} {} OWNER TO {};", owned.kinds.0, shown(&owned.name), quoted(&owned.owner));
        made.push(define(AFTER, &owned.name, text));
    }
    for owned in &all {
        let Some(list) = objects.lists.get(&owned.object.key()) else { continue };
        made.extend(rights(owned, list).into_iter().map(|text| define(AFTER, &owned.name, text)));
    }
    made
}

fn words(rights: Rights, column: Option<&str>) -> String {
    let column = column.map_or_else(String::new, |column| format!(" ({})", quoted(column)));
    let of = Rights::WORDS.iter().filter(|(right, _)| rights.has(*right)).map(|(_, word)| format!("{word}{column}"));
    of.collect::<Vec<_>>().join(", ")
}

/// The statements that make the list of rights of what has been made anew.
fn rights(owned: &Owned, list: &[Grant]) -> Vec<String> {
    let on = format!("{} {}", owned.kinds.1, shown(&owned.name));
    let role = |to: Option<&str>| to.map_or_else(|| "PUBLIC".to_owned(), quoted);
    let mut texts = Vec::new();
    // What it has from the start and lacks here.
    for start in initial(&owned.object, &owned.owner) {
        let kept = list.iter().find(|grant| grant.to == start.to && grant.by == start.by && grant.column.is_none());
        let lost = start.rights.without(kept.map_or(Rights::NONE, |kept| kept.rights));
        if lost != Rights::NONE {
            texts.push(format!("REVOKE {} ON {on} FROM {};", words(lost, None), role(start.to.as_deref())));
        }
    }
    for grant in list {
        let is_owners = grant.to.as_deref() == Some(&owned.owner) && grant.column.is_none();
        let had = initial(&owned.object, &owned.owner)
            .into_iter()
            .find(|start| start.to == grant.to && start.by == grant.by && grant.column.is_none());
        let had = had.map_or(Rights::NONE, |start| start.rights);
        let to = role(grant.to.as_deref());
        let column = grant.column.as_deref();
        let with_option = if is_owners { Rights::NONE } else { grant.rights.common(grant.options) };
        let plain = grant.rights.without(with_option).without(had);
        for (rights, option) in [(plain, ""), (with_option, " WITH GRANT OPTION")] {
            if rights == Rights::NONE {
                continue;
            }
            let text = format!("GRANT {} ON {on} TO {to}{option};", words(rights, column));
            texts.push(match grant.by == owned.owner {
                true => text,
                false => {
                    let by = quoted(&grant.by);
                    format!("SET SESSION AUTHORIZATION {by};\n{text}\nRESET SESSION AUTHORIZATION;")
                }
            });
        }
    }
    texts
}
